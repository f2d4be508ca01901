"""A stochastic solver or a learner of Cutbench's registries, `n_iter` passes over the samples."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from benchopt import BaseSolver

import workbench as wb


class Solver(BaseSolver):
    name = "registered"
    parameters: ClassVar = {
        "method": ["dual-block", "bcfw", "subgradient", "adagrad", "sklearn-crammer-singer", "dlib"]
    }
    requirements: ClassVar = ["pip::cutbench"]
    sampling_strategy = "iteration"

    def set_objective(self, problem: Any, formulation: Any) -> None:
        self.problem, self.form, self.theta = problem, formulation, np.zeros(formulation.blocks(problem).dim)

    def skip(self, problem: Any, formulation: Any) -> tuple[bool, str | None]:
        """The refusal of the method itself: objectives that it does not minimise, packages that are absent."""
        self.set_objective(problem, formulation)
        try:
            self.run(1)
        except (wb.MissingCapability, wb.BadInput) as refusal:
            return True, str(refusal)
        return False, None

    def run(self, n_iter: int) -> None:
        if not n_iter:
            return
        if self.method in wb.registry("solver").names():
            method = wb.registry("solver").get(self.method)()
            self.theta = wb.run(method, self.form, self.problem, passes=n_iter, rng=0).thetas[-1]
        else:
            self.theta = wb.registry("learner").get(self.method)(self.problem, self.form, n_iter, 0)

    def get_result(self) -> dict[str, Any]:
        return {"theta": self.theta}
