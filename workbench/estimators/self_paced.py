"""Multiclass SVM that gives up the samples that cost more than 1/K (docs/mathematics.md §6).

    min over W, v ∈ {0, 1}ⁿ   ½‖W‖² + (C/n) Σ_i v_i h_i(W) + (1/K) Σ_i (1 − v_i)

Not convex. The search proves a gap, in time that may double with each sample; `max_rounds` ends the search with the
best W found and the gap that is proven by then.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from workbench.errors import checked_switch
from workbench.estimators._certified import Tabular, with_constant
from workbench.formulations.self_paced import SelfPaced
from workbench.outputs.multiclass import Multiclass
from workbench.proofs.any_bounds import bounds_for


class SelfPacedSVC(Tabular):
    """Self-paced learning; `selected_` says which of the distinct samples of positive weight were kept.

    Parameters
    ----------
    C, K : as above, > 0
    fit_intercept : whether there is a column of ones, whose weights are the intercepts
    class_weight, gap, time_limit, max_rounds : as of `MulticlassSVC`
    """

    def __init__(
        self,
        C: float = 10.0,
        K: float = 1.0,
        *,
        fit_intercept: bool = True,
        class_weight: Any = None,
        gap: float = 1e-3,
        time_limit: float | None = None,
        max_rounds: int | None = 100,
    ):
        self.C, self.K, self.fit_intercept = C, K, fit_intercept
        self.class_weight, self.gap, self.time_limit, self.max_rounds = class_weight, gap, time_limit, max_rounds

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> SelfPacedSVC:
        """Search for rows X (n, p) and labels y (n,)."""
        checked_switch(fit_intercept=self.fit_intercept)
        X, labels, weights = self.table(X, y, sample_weight)
        X = with_constant(X) if self.fit_intercept else X
        form = SelfPaced(C=self.C, K=self.K)
        problem = Multiclass(X, labels, weights=weights, classes=np.arange(len(self.classes_)))
        parts = self.solved(form, problem)
        W, p = parts["w"].reshape(len(self.classes_), -1), self.n_features_in_
        self.coef_, self.intercept_ = W[:, :p], W[:, p:].sum(axis=1)
        price, charge = (np.array(list(map(float, each))) for each in form.charges(problem))
        every = np.arange(problem.n_samples)
        oracle = bounds_for(form, problem).oracle
        slopes, offsets = oracle.rows(every, oracle.argmax(parts["w"], every))
        self.selected_ = price * (slopes @ parts["w"] + offsets) < charge
        return self
