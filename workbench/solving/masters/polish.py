"""The active-set finish of compiled programs: a backend's rough answer brought to machine accuracy; and Farkas rays.

The answer is a proposal: the loop keeps the answer only if the certified bounds improve. The finish of masters with
r = μ/2‖θ‖² is face.py.

`finished` is an active-set method for any quadratic program in the compiled form, min ½xᵀPx + qᵀx s.t. b − Ax ≥ 0
(= 0): with rows I held at equality the optimum solves  Px + A_Iᵀz = −q,  A_I x = b_I. The most violated row enters I;
if there is none, the row of least z < 0 leaves.

`farkas_ray` looks for α ≥ 0 with Σαa = 0 and Σαo > 0, which proves that no θ satisfies the hard
rows, as a vertex of a linear program: a vertex has few rows, so that a person can read the proof. Where a column has
entries of one sign alone, its rows have α = 0; `opposed` drops them first, which are nearly all rows of sparse data.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from workbench.backends import BACKENDS, ConeProgram
from workbench.contracts import Floats, Ints, Rows

ACTIVE_SETS, REFINEMENTS, SHIFT = 30, 12, 1e-8
FEW = 4000  # unknowns beyond which the finish costs more than another round
ZERO = 1e-12  # of the largest entry: what sums of features leave where they cancel


def finished(program: ConeProgram, x: Floats, z: Floats, size: float) -> tuple[Floats, Floats] | None:
    """(x, z) to machine accuracy from a backend's rough ones; None where no set of rows gives a point, or for cones.

    At a degenerate vertex x settles at once, but the multipliers need not: z then stays the backend's.
    size : about the optimal value, the unit in which multipliers and slacks compare
    """
    n, m = len(x), len(z)
    if program.soc or program.exp or program.lower_zero or not np.isfinite(x).all() or not np.isfinite(z).all():
        return None
    P, A = sparse.csc_array(program.P), sparse.csr_array(program.A)
    fixed, vertex, rough = np.arange(m) < program.zero, None, z
    held = fixed | (z > size * (program.b - A @ x))
    for _ in range(ACTIVE_SETS):
        rows = np.flatnonzero(held)
        if n + len(rows) > FEW:
            break
        found = equality_solved(P, A[rows], -program.q, program.b[rows])
        if found is None:
            break
        x, multipliers = found
        slack = program.b - A @ x
        tiny = 1e-10 * (1 + np.abs(program.b))
        leaving = rows[(multipliers < 0) & ~fixed[rows]]
        entering = np.flatnonzero(~held & (slack < -tiny))
        if len(entering):
            held[entering[slack[entering].argmin()]] = True
        elif len(leaving):
            vertex = x if vertex is None else vertex
            held[rows[np.where(fixed[rows], 0.0, multipliers).argmin()]] = False
        else:
            full = np.zeros(m)
            full[rows] = multipliers
            return x, full
    return None if vertex is None else (vertex, rough)


def equality_solved(P: sparse.csc_array, A: sparse.csr_array, q: Floats, b: Floats) -> tuple[Floats, Floats] | None:
    """x and z with Px + Aᵀz = q, Ax = b: a quasi-definite factorisation, refined on the true system."""
    from scipy.sparse.linalg import splu  # loads much that most runs do without

    n, m = P.shape[0], A.shape[0]
    true = sparse.block_array([[P, A.T], [A, None]], format="csc") if m else sparse.csc_array(P)
    shift = SHIFT * sparse.diags_array(np.concatenate([np.ones(n), -np.ones(m)]))
    try:
        factor = splu(sparse.csc_matrix(true + shift))
    except RuntimeError:  # exactly singular
        return None
    right, found = np.concatenate([q, b]), np.zeros(n + m)
    for _ in range(REFINEMENTS):
        found = found + factor.solve(right - true @ found)
    residual = np.abs(right - true @ found).max(initial=0.0)
    return (found[:n], found[n:]) if residual <= 1e-9 * (1 + np.abs(right).max(initial=0.0)) else None


def farkas_ray(rows: Rows, most: float = np.inf, seconds: float = np.inf) -> tuple[Floats, float] | None:
    """α (rows,) ≥ 0 with Σαo = 1 and ‖Σαa‖ numerically zero, and that norm; None if no such α is found.

    Maximises Σαo subject to Σαa = 0, Σα = 1 with HiGHS; the residual of the answer decides, not its status.
    most : entries of the rows that `opposed` leaves, beyond which nothing is looked for
    seconds : of the search; none is begun where there are none
    """
    if not seconds > 0:
        return None
    kept = opposed(rows.slopes)
    core, m = rows.take(kept), len(kept)
    if not m or core.slopes.nnz > most:
        return None
    used, columns = np.unique(core.slopes.indices, return_inverse=True)
    slopes = sparse.csr_array((core.slopes.data, columns, core.slopes.indptr), shape=(m, len(used)))
    A = sparse.csc_array(sparse.vstack([slopes.T, np.ones((1, m))]))
    b = np.concatenate([np.zeros(len(used)), [1.0]])
    solver = BACKENDS["HIGHS"] if BACKENDS["HIGHS"].installed else BACKENDS["CLARABEL"]
    program = ConeProgram(sparse.csc_array((m, m)), -core.offsets, A, b, zero=len(b), nonneg=0, lower_zero=True)
    answer = solver.solve(program, 1e-9, None if np.isinf(seconds) else seconds)
    if answer.infeasible or not np.isfinite(answer.x).all():
        return None
    ray = np.zeros(len(rows.offsets))
    ray[kept] = np.where(answer.x > 1e-9, answer.x, 0.0)
    if ray @ rows.offsets <= 1e-9 * np.abs(rows.offsets).max(initial=0.0):
        return None
    ray = ray / (ray @ rows.offsets)
    norm = float(np.linalg.norm(rows.slopes.T @ ray))
    size = float(sparse.linalg.norm(rows.slopes, axis=1) @ ray)
    return (ray, norm) if norm <= 1e-7 * size else None


def opposed(slopes: sparse.csr_array) -> Ints:
    """The rows (m,) that are left when rows go which have the only sign of a column, again and again."""
    kept = np.arange(slopes.shape[0])
    least = ZERO * np.abs(slopes.data).max(initial=0.0)
    while True:
        part = slopes[kept]
        rows, dim = np.repeat(np.arange(len(kept)), np.diff(part.indptr)), slopes.shape[1]
        up, down = (
            np.bincount(part.indices[sign], minlength=dim) > 0 for sign in (part.data > least, part.data < -least)
        )
        alone = (up != down)[part.indices] & (np.abs(part.data) > least)
        stay = np.bincount(rows[alone], minlength=len(kept)) == 0
        if stay.all():
            return kept
        kept = kept[stay]
