"""Multiclass support vector machine of Crammer and Singer, with any costs, to a proven gap.

    min over W, b   ½‖W‖² + C Σ_i s_i h_i,      h_i = max_y cost[y_i, y] + ⟨W_y − W_{y_i}, x_i⟩ + b_y − b_{y_i}

or, with slack rescaling, h_i = max_y cost[y_i, y] (1 − ⟨W_{y_i} − W_y, x_i⟩ − b_{y_i} + b_y). Intercepts b are not
penalised under margin rescaling; under slack rescaling they are the weights of a column of ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from workbench.errors import checked_choice, checked_positive, checked_switch
from workbench.estimators._certified import Rescaling, Tabular, with_constant
from workbench.formulations.soft_margin import SoftMargin
from workbench.outputs.multiclass import Multiclass


class MulticlassSVC(Tabular):
    """Multiclass SVM.

    Parameters
    ----------
    C : price of the hinges, > 0
    rescaling : "margin" or "slack"
    cost : (k, k) with cost[true, predicted] ≥ 0 and a zero diagonal, classes in the order of `classes_`; None is 0/1
    fit_intercept : whether each class has an intercept
    class_weight : None, "balanced" or {class: weight}
    gap : relative gap to prove;  time_limit, max_rounds : end before, with a warning
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        rescaling: Rescaling = "margin",
        cost: ArrayLike | None = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        gap: float = 1e-9,
        time_limit: float | None = None,
        max_rounds: int | None = None,
    ):
        self.C, self.cost, self.fit_intercept = C, cost, fit_intercept
        self.rescaling: Rescaling = rescaling
        self.class_weight, self.gap, self.time_limit, self.max_rounds = class_weight, gap, time_limit, max_rounds

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> MulticlassSVC:
        """Solve for rows X (n, p) and labels y (n,)."""
        checked_positive(C=self.C)
        checked_choice("margin", "slack", rescaling=self.rescaling)
        checked_switch(fit_intercept=self.fit_intercept)
        X, labels, weights = self.table(X, y, sample_weight)
        k, free = len(self.classes_), self.fit_intercept and self.rescaling == "margin"
        X = with_constant(X) if self.fit_intercept and not free else X
        problem = Multiclass(X, labels, self.cost, weights, np.arange(k))
        form = SoftMargin(lam=1 / (self.C * weights.sum()), rescaling=self.rescaling, intercept=free)
        parts = self.solved(form, problem)
        W, p = parts["w"].reshape(k, -1), self.n_features_in_
        self.coef_, self.intercept_ = W[:, :p], parts["b"] if free else W[:, p:].sum(axis=1)
        return self
