"""`ConeProgram`, the input of every backend, and `Answer`, the output.

    minimise  ½xᵀPx + qᵀx   subject to   b − Ax ∈ K = {0}^zero × R₊^nonneg × SOC(k₁) × … × EXP^exp

    SOC(k) = {(t, u) : ‖u‖ ≤ t, u ∈ R^(k−1)}        EXP = closure {(r, s, t) : s > 0, s·exp(r/s) ≤ t}

The Lagrangian is ½xᵀPx + qᵀx + zᵀ(Ax − b) with z in the dual cone K*, so (x, z) is optimal when

    Px + q + Aᵀz = 0,     b − Ax ∈ K,     z ∈ K*,     zᵀ(b − Ax) = 0,

and a ray z ∈ K* with Aᵀz = 0 and bᵀz < 0 (Farkas) proves that no x is feasible. Under `lower_zero` x ≥ 0
holds, too, and both "= 0" after Aᵀz become "≥ 0": the difference is the multiplier of the bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from workbench.errors import CutbenchError

Floats = NDArray[np.float64]
Matrix = sparse.csc_array | np.ndarray  # an ndarray asks for dense algebra


@dataclass(frozen=True, eq=False)
class ConeProgram:
    """min ½xᵀPx + qᵀx  s.t.  b − Ax ∈ {0}^zero × R₊^nonneg × SOC(soc[0]) × … × EXP^exp, in that order."""

    P: Matrix  # (n, n) symmetric, both triangles
    q: Floats  # (n,)
    A: Matrix  # (m, n)
    b: Floats  # (m,)
    zero: int
    nonneg: int
    soc: tuple[int, ...] = ()
    exp: int = 0
    lower_zero: bool = False  # x ≥ 0 besides the rows

    def __post_init__(self) -> None:
        m, n, rows = self.b.size, self.q.size, self.zero + self.nonneg + sum(self.soc) + 3 * self.exp
        shapes, wanted = (self.P.shape, self.q.shape, self.A.shape, self.b.shape, rows), ((n, n), (n,), (m, n), (m,), m)
        if shapes != wanted:  # compiled solvers read past the end of short arrays
            raise CutbenchError(f"The shapes of P, q, A, b and the cones' rows are {shapes}; make them {wanted}.")

    @property
    def below(self) -> Floats:
        """l in l ≤ Ax ≤ b, the form in which solvers of quadratic programs take rows of {0} and R₊."""
        return np.append(self.b[: self.zero], np.full(self.nonneg, -np.inf))


@dataclass(frozen=True, eq=False)
class Answer:
    """The backend's answer, which is never trusted. If `infeasible`, z is a Farkas ray (maximum 1) and x is nan.

    stopped : the time limit came before the backend had an x
    """

    x: Floats  # (n,)
    z: Floats  # (m,); nan where the backend gave none; ≥ 0 on nonneg rows
    status: str  # the backend's own
    infeasible: bool
    iterations: int | None
    stopped: bool = False

    @classmethod
    def said(cls, x: ArrayLike | None, z: ArrayLike | None, status: str, infeasible: bool, steps: int | None) -> Answer:
        """The answer from a solver's own vectors, in any array-like form; None for a vector that the solver lacks."""
        return cls(flat(x), flat(z), status, bool(infeasible), steps)

    def fits(self, program: ConeProgram) -> bool:
        """Whether this answer, to another program, can be a hint for `program`."""
        pairs = (self.x, program.q), (self.z, program.b)
        return all(hint.shape == like.shape and bool(np.isfinite(hint).all()) for hint, like in pairs)


def flat(vector: ArrayLike | None) -> Floats:
    """A copy of the vector as floats, empty for None."""
    return np.array([] if vector is None else vector, float).ravel()


def of_length(vector: ArrayLike | None, size: int) -> Floats:
    """A copy of the vector; nan where a solver returned nothing or something of another length."""
    values = flat(vector)
    return values if values.size == size else np.full(size, np.nan)


def bounds_as_rows(program: ConeProgram, hint: Answer | None) -> tuple[ConeProgram, Answer | None]:
    """The same program with x ≥ 0 as rows −x ≤ 0 after its own nonneg rows, and the same hint."""
    A, n, cut = as_csc(program.A), program.q.size, program.zero + program.nonneg
    A, at = sparse.vstack([A[:cut], -sparse.eye_array(n), A[cut:]], format="csc"), np.full(n, cut)
    if hint is not None:
        hint = replace(hint, z=np.insert(hint.z, at, price_of_bounds(program, hint)))
    b, nonneg = np.insert(program.b, at, 0.0), program.nonneg + n
    return replace(program, A=A, b=b, nonneg=nonneg, lower_zero=False), hint


def price_of_bounds(program: ConeProgram, answer: Answer) -> Floats:
    """The multipliers of x ≥ 0: Px + q + Aᵀz."""
    return np.maximum(program.P @ answer.x + program.q + program.A.T @ answer.z, 0)


# ── helpers of several adapters ───────────────────────────────────────────────────────────────────


def as_csc(matrix: sparse.sparray | sparse.spmatrix | np.ndarray) -> sparse.csc_matrix:
    """The one sparse type that all solvers accept: ECOS crashes on a csc_array, OSQP refuses 64-bit indices."""
    matrix = sparse.csc_array(matrix, dtype=float)
    matrix.sort_indices()
    indices, starts = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return sparse.csc_matrix((matrix.data, indices, starts), shape=matrix.shape)


def as_dense(matrix: Matrix) -> np.ndarray:
    """The entries as a matrix in rows."""
    return np.ascontiguousarray(matrix.toarray() if isinstance(matrix, sparse.sparray) else matrix, dtype=float)


def configured(settings: object, options: Mapping[str, object]) -> object:
    """A solver's own object of settings with the options as its attributes."""
    for key, value in options.items():
        setattr(settings, key, value)
    return settings
