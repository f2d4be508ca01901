"""`wb.solve` itself, ended after `n_iter` rounds of cutting planes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from benchopt import BaseSolver

import workbench as wb


class Solver(BaseSolver):
    name = "solve"
    requirements: ClassVar = ["pip::cutbench"]
    sampling_strategy = "iteration"

    def set_objective(self, problem: Any, formulation: Any) -> None:
        self.problem, self.form, self.theta = problem, formulation, np.zeros(formulation.blocks(problem).dim)

    def run(self, n_iter: int) -> None:
        if n_iter:
            self.theta = wb.solve(self.form, self.problem, gap=1e-9, max_rounds=n_iter).theta_flat

    def get_result(self) -> dict[str, Any]:
        return {"theta": self.theta}
