"""The active-set finish: from a backend's rough multipliers to machine accuracy, and Farkas rays.

With r = μ/2‖θ‖² and S the rows with weight, the optimal multipliers solve the linear system

    [ H_SS  Gᵀ ] [β]   [o_S]         H = RRᵀ/μ,  G the group memberships, p the group prices
    [ G     0  ] [ν] = [ p ]         (for hard rows: H_SS β = o_S)

`polished` solves it in the least-squares sense (rows may be dependent), drops rows whose weight
comes out negative, and repeats. Its answer is a proposal: the loop keeps it only if the certified
bounds improve.

`farkas_ray` looks for α ≥ 0 with Σαa = 0 and Σαo > 0, which proves that no θ satisfies the hard
rows, as a vertex of a linear program: few rows, so that a person can read them.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse

from workbench.backends import BACKENDS, ConeProgram
from workbench.structures import Floats, Rows

FEW = 3000  # rows beyond which a dense solve costs more than another round


def polished(rows: Rows, multipliers: Floats, prices: Floats, curvature: float) -> Floats | None:
    """β (rows,) on the rows with weight, or None if there are too many or none."""
    support = np.flatnonzero(multipliers > 1e-6 * multipliers.max(initial=0.0))
    for _ in range(50):
        if not 0 < len(support) <= FEW:
            return None
        active = rows.take(support)
        gram = np.asarray((active.slopes @ active.slopes.T).todense()) / curvature
        groups = active.membership(len(prices)).toarray()
        groups = groups[:, groups.any(axis=0)] if len(prices) else groups
        price = prices[np.unique(active.groups)] if len(prices) else np.empty(0)
        system = np.block([[gram, groups], [groups.T, np.zeros((groups.shape[1],) * 2)]])
        weights = linalg.lstsq(system, np.concatenate([active.offsets, price]), lapack_driver="gelsy")[0]
        weights = weights[: len(support)]
        if (weights > 0).all():
            full = np.zeros(len(multipliers))
            full[support] = weights
            return full
        support = support[weights > 0]
    return None


def farkas_ray(rows: Rows) -> tuple[Floats, float] | None:
    """α (rows,) ≥ 0 with Σαo = 1 and ‖Σαa‖ numerically zero, and that norm; None if there is none.

    Maximises Σαo subject to Σαa = 0, Σα = 1 with HiGHS; its answer counts only for its residual.
    """
    m = len(rows.offsets)
    A = sparse.csc_array(sparse.vstack([rows.slopes.T, np.ones((1, m))]))
    b = np.concatenate([np.zeros(rows.slopes.shape[1]), [1.0]])
    solver = BACKENDS["HIGHS"] if BACKENDS["HIGHS"].installed else BACKENDS["CLARABEL"]
    program = ConeProgram(sparse.csc_array((m, m)), -rows.offsets, A, b, zero=len(b), nonneg=0, lower_zero=True)
    answer = solver.solve(program, 1e-9)
    if answer.infeasible or not np.isfinite(answer.x).all():
        return None
    ray = np.where(answer.x > 1e-9, answer.x, 0.0)
    if ray @ rows.offsets <= 1e-9 * np.abs(rows.offsets).max(initial=0.0):
        return None
    ray = ray / (ray @ rows.offsets)
    norm = float(np.linalg.norm(rows.slopes.T @ ray))
    size = float(sparse.linalg.norm(rows.slopes, axis=1) @ ray)
    return (ray, norm) if norm <= 1e-7 * size else None
