"""The verdict on solvers that learn from mistakes: there is no optimum to reach; of two inequalities one is checked.

    ‖Σψ‖² ≤ Σ‖ψ‖²        every update was a mistake, so that the norm cannot have grown faster
    mistakes ≤ Σ_k counts_k (1 − ⟨u, ψ_k⟩)₊ + ‖u‖ √(Σ ‖ψ‖²)        for any weights u (solvers/perceptron.py)

The second follows from the first, as Σ_k counts_k (1 − ⟨u, ψ_k⟩) ≥ mistakes − ‖u‖ ‖Σψ‖, so it is told and not checked.
The weights reported must be those of the log. The weights u are certified: the separating ones, or, where no weights
separate the data, soft-margin ones for each λ of COMPARED.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from scipy import sparse

from workbench.contracts import CutForm, Floats, Ints, Trace
from workbench.formulations.soft_margin import SoftMargin
from workbench.judging.claims import DRIFT
from workbench.judging.reference import Reference
from workbench.judging.words import AGREES, DISAGREES, NOT_COMPARABLE, Verdict
from workbench.solving.solve import solve

COMPARED = (1e-1, 1e-2, 1e-3)  # λ of soft-margin comparators: the least bound of three is near the least of all


def mistaken(trace: Trace, reference: Reference) -> Verdict:
    """The verdict on a solver that learns from its mistakes; the reference may be a ray."""
    if type(trace.formulation) is not type(reference.formulation):
        sentence = f"The learner follows {trace.formulation}, not {reference.formulation}."
        return Verdict(NOT_COMPARABLE, np.nan, sentence, rule="objective")
    form = cast("CutForm", reference.formulation)  # no others have solvers that learn from mistakes
    assert trace.mistakes is not None
    samples, witnesses, counts = trace.mistakes
    slopes, _ = form.oracle(reference.problem).rows(samples, witnesses)
    made, squares = int(counts.sum()), float(slopes.multiply(slopes).sum(axis=1) @ counts)
    growth = float(np.linalg.norm(slopes.T @ counts) ** 2 / max(squares, np.finfo(float).tiny))
    bound = min(mistake_bound(u, slopes, counts, squares) for u in comparators(reference))
    evidence = {"mistakes": made, "bound": bound, "growth": growth, "drift": float(trace.drift[-1])}
    faults = [
        (evidence["drift"] > DRIFT, f"The weights it reports are {evidence['drift']:.1e} away from its own updates'."),
        (growth > 1 + DRIFT, f"Its updates were no mistakes: the squared norm grew {growth:.2g} times their squares."),
    ]
    for fault, sentence in faults:
        if fault:
            return Verdict(DISAGREES, np.nan, sentence, evidence, "mistakes")
    sentence = f"It made {made} mistakes; comparison with certified weights allows {bound:.1f}."
    return Verdict(AGREES, np.nan, sentence, evidence, "mistakes")


def mistake_bound(u: Floats, slopes: sparse.csr_array, counts: Ints, squares: float) -> float:
    """Σ_k counts_k (1 − ⟨u, ψ_k⟩)₊ + ‖u‖ √(Σ ‖ψ‖²); the slopes are −ψ."""
    return float(np.maximum(1 + slopes @ u, 0) @ counts + np.linalg.norm(u) * np.sqrt(squares))


def comparators(reference: Reference) -> list[Floats]:
    """Weights to compare mistakes with: the certified separating ones, or certified soft-margin ones."""
    if reference.ray is None:
        return [reference.theta]
    return [solve(SoftMargin(lam=lam), reference.problem, gap=1e-3).theta_flat for lam in COMPARED]
