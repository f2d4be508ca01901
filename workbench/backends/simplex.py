"""Bases of linear programs by HiGHS's simplex method; a basis is only a proposal, as is every backend's answer.

    minimise  cᵀδ + gᵀσ   subject to   A δ + σ = 0,   σ_i ≥ lower_i,  and σ_i = lower_i for the first `zero` rows

One model solves programs with many c, g and lower, each from the basis of the program before.
"""

from __future__ import annotations

from importlib import util

import numpy as np
from scipy import sparse

from workbench.backends.silence import highs_model
from workbench.contracts import Floats, Ints

TIGHT = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
TINY, HUGE = 1e-9, 1e15  # coefficients that HiGHS would drop or refuse


def installed() -> bool:
    return util.find_spec("highspy") is not None


class Simplex:
    """The program above for a float matrix A (m, n) whose first `zero` rows are equalities."""

    def __init__(self, A: sparse.csr_array, zero: int):

        m, n = A.shape  # pyright: ignore[reportGeneralTypeIssues] (SciPy's own code types shape as possibly None)
        self.shape, self.zero, self.warm = (m, n), zero, False
        both = sparse.csc_array(sparse.hstack([A, sparse.eye_array(m)]))
        self.usable = bool((np.abs(A.data) > TINY).all() and (np.abs(A.data) < HUGE).all())
        self.model, free = highs_model(), np.full(n + m, np.inf)
        # Not `threads`: HiGHS refuses another number than the process's first model had.
        for option, value in (TIGHT | {"parallel": "off", "random_seed": 0}).items():
            self.model.setOptionValue(option, value)
        none = np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0)
        sizes = n + m, m, both.nnz, 0, 1, 1, 1, 0.0
        matrix = both.indptr.astype(np.int32), both.indices.astype(np.int32), np.asarray(both.data, float)
        kinds = np.zeros(n + m, np.int32)
        self.model.passModel(*sizes, np.zeros(n + m), -free, free, np.zeros(m), np.zeros(m), *matrix, *none, kinds)

    def solve(self, c: Floats, g: Floats, lower: Floats, limit: float = np.inf) -> tuple[str, tuple[Ints, Ints] | None]:
        """HiGHS's status and, if that is `Optimal`, the rows W that hold with equality and the basic columns J."""
        import highspy

        m, n = self.shape
        model, every = self.model, np.arange(n + m, dtype=np.int32)
        below = np.concatenate([np.full(n, -np.inf), lower])
        above = np.concatenate([np.full(n, np.inf), lower[: self.zero], np.full(m - self.zero, np.inf)])
        model.changeColsCost(n + m, every, np.concatenate([c, g]))
        model.changeColsBounds(n + m, every, below, above)
        if np.isfinite(limit):
            model.setOptionValue("time_limit", model.getRunTime() + limit)
        model.run()
        status = model.modelStatusToString(model.getModelStatus())
        basis, basic = model.getBasis(), highspy.HighsBasisStatus.kBasic
        if status != "Optimal" or not basis.valid:
            return status, None
        columns = np.array([each == basic for each in basis.col_status], bool)
        rows = np.array([each == basic for each in basis.row_status], bool)
        held = ~columns[n:] & ~rows
        return status, (np.flatnonzero(held), np.flatnonzero(columns[:n]))

    def forget(self) -> None:
        """Start the next solve without a basis."""
        self.model.clearSolver()
