"""Multiclass SVM that learns what its errors should cost (docs/costs.md), to a proven gap.

normalized   min  λ₂‖W‖² + λ₁‖W‖₁ + Σ_i s_i h_i + (K/2) Σ_S n_S (1 − v_S)²,   v ≥ 0
simplex      min  λ₂‖W‖² + λ₁‖W‖₁ + Σ_i s_i h_i,                                v ≥ 0, Σ_S v_S = 1

h_i = max_y ⟨W_y − W_{y_i}, x_i⟩ + b_y − b_{y_i} + K v_S(y_i, y)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from workbench.errors import checked_choice
from workbench.estimators._certified import Tabular
from workbench.outputs.multiclass import Multiclass
from workbench.registries import registry


class CostLearningSVC(Tabular):
    """Cost learning; `costs_` (m,) are the learned v of the error classes `cost_names_`.

    Parameters
    ----------
    objective : "normalized" or "simplex"
    lam2, lam1, K : as above;  factoring : which errors share a cost, as of the formulation
    counts : n_S of the normalized objective: expected, logical, logical-max, none or total
    gap, time_limit, max_rounds : as of `MulticlassSVC`

    There is no `class_weight`: what errors cost is what is learned.
    """

    def __init__(
        self,
        objective: str = "normalized",
        *,
        lam2: float = 0.5,
        lam1: float = 0.0,
        K: float = 1.0,
        factoring: str = "unordered",
        counts: str = "expected",
        gap: float = 1e-6,
        time_limit: float | None = None,
        max_rounds: int | None = None,
    ):
        self.objective, self.lam2, self.lam1, self.K = objective, lam2, lam1, K
        self.factoring, self.counts = factoring, counts
        self.gap, self.time_limit, self.max_rounds = gap, time_limit, max_rounds

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> CostLearningSVC:
        """Solve for rows X (n, p) and labels y (n,)."""
        checked_choice("normalized", "simplex", objective=self.objective)
        X, labels, weights = self.table(X, y, sample_weight)
        settings = {name: getattr(self, name) for name in ("lam2", "lam1", "K", "factoring")}
        settings |= {"counts": self.counts} if self.objective == "normalized" else {}
        form = registry("formulation").get(f"{self.objective}-cost-learning")(**settings)
        problem = Multiclass(X, labels, weights=weights, classes=np.arange(len(self.classes_)))
        parts = self.solved(form, problem)
        self.coef_, self.intercept_ = parts["w"].reshape(len(self.classes_), -1), parts["b"]
        self.costs_, self.cost_names_ = parts["v"], list(form.classes(problem).names)
        return self
