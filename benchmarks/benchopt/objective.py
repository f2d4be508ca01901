"""Structured prediction in benchopt's format: how far weights are above an optimum that is proven.

    value = (F(θ) rounded up − L)/max(F(θ), L, 10⁻⁶ F(0)),    L ≤ min F proven, within 10⁻⁹ of an upper bound

So the value is itself proven: the relative gap of θ is at most that, whatever a solver says of itself.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from benchopt import BaseObjective

import workbench as wb


class Objective(BaseObjective):
    name = "Structured prediction, gap proven"
    min_benchopt_version = "1.10"
    requirements: ClassVar = ["pip::cutbench"]
    parameters: ClassVar = {"formulation": ["soft-margin"], "lam": [0.1]}
    sampling_strategy = "iteration"

    def set_data(self, problem: Any) -> None:
        """Solve once: the reference of every gap."""
        self.problem = problem
        self.form = wb.registry("formulation").get(self.formulation)(lam=self.lam)
        self.bounds = wb.Bounds(self.form, problem)
        self.lower = wb.solve(self.form, problem, gap=1e-9).lower

    def get_objective(self) -> dict[str, Any]:
        return {"problem": self.problem, "formulation": self.form}

    def evaluate_result(self, theta: Any) -> dict[str, float]:
        upper = self.bounds.upper(np.asarray(theta, float))
        return {"value": self.bounds.gap(upper, self.lower), "upper": upper, "lower": self.lower}

    def get_one_result(self) -> dict[str, Any]:
        return {"theta": np.zeros(self.bounds.oracle.dim)}
