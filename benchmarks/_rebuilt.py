"""The masters of `masters.py` that write and compile their CVXPY program anew in every round."""

from __future__ import annotations

import numpy as np

from workbench.backends import solve_cvxpy
from workbench.solving.family import Family
from workbench.solving.masters.declared import WrittenCuts
from workbench.solving.masters.master import Master, MasterAnswer


class Stacked(WrittenCuts):
    """All rows in one constraint; remembers it, for its dual values."""

    def __call__(self, theta, xi=None):
        self.constraints = super().__call__(theta, xi)
        return self.constraints


class Scalar(WrittenCuts):
    """One constraint a row."""

    def __call__(self, theta, xi=None):
        self.theta, self.xi = list(theta), xi
        rows, (w,) = zip(self.rows.slopes.toarray(), self.rows.offsets, self.rows.groups, strict=True), theta
        self.constraints = [slope @ w + offset <= xi[int(group)] for slope, offset, group in rows]
        return self.constraints


class RebuiltMaster(Master):
    """Writes and compiles the whole CVXPY problem anew in every round."""

    def __init__(self, family: Family, name: str, written: type[Stacked] | type[Scalar]):
        super().__init__(family.cuts.dim, name)
        self.family, self.written = family, written

    def solve(self, tolerance: float, slack: float, time_limit: float | None = None) -> MasterAnswer:
        cuts = self.written(self.family.prices, self.rows)
        program = self.family.bounds.formulation.program(self.family.bounds.problem, cuts)
        status = solve_cvxpy(program, self.name, tolerance)
        beta = np.concatenate([np.ravel(constraint.dual_value) for constraint in cuts.constraints])
        return MasterAnswer(np.asarray(cuts.theta[0].value), np.maximum(beta, 0.0), status)


WRITTEN = {"stacked": Stacked, "scalar": Scalar}
