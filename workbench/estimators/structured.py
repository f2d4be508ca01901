"""Structural SVM over anything, by three functions (`wb.Structured`), to a proven gap.

min over w   ½‖w‖² + C Σ_i s_i max_y loss(y_i, y) + ⟨w, features(x_i, y) − features(x_i, y_i)⟩
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from workbench.arithmetic.arrays import checked_weights
from workbench.errors import checked_positive
from workbench.estimators._certified import Certified, Rescaling
from workbench.formulations.soft_margin import SoftMargin
from workbench.outputs.structured import Structured


class StructuredSVC(Certified):
    """Structural SVM; X and y are lists of Python objects. After `fit`: coef_ (d,), problem_.

    Parameters
    ----------
    features, loss, argmax, candidates, slack_argmax : as of `wb.Structured`
    C : price of the hinges, > 0;  rescaling : "margin" or "slack"
    gap, time_limit, max_rounds : as of `MulticlassSVC`
    """

    def __init__(
        self,
        features: Callable[..., Any],
        loss: Callable[..., float],
        argmax: Callable[..., Any] | None = None,
        *,
        candidates: Callable[..., Any] | None = None,
        slack_argmax: Callable[..., Any] | None = None,
        C: float = 1.0,
        rescaling: Rescaling = "margin",
        gap: float = 1e-6,
        time_limit: float | None = None,
        max_rounds: int | None = None,
    ):
        self.features, self.loss, self.argmax = features, loss, argmax
        self.candidates, self.slack_argmax, self.C = candidates, slack_argmax, C
        self.rescaling: Rescaling = rescaling
        self.gap, self.time_limit, self.max_rounds = gap, time_limit, max_rounds

    def fit(self, X: Sequence[Any], y: Sequence[Any], sample_weight: ArrayLike | None = None) -> StructuredSVC:
        """Solve for inputs X with outputs y."""
        checked_positive(C=self.C)
        weights = checked_weights(sample_weight, len(y))
        kept = np.flatnonzero(weights > 0)
        more = {"candidates": self.candidates, "slack_argmax": self.slack_argmax, "weights": weights[kept]}
        inputs, outputs = [X[i] for i in kept.tolist()], [y[i] for i in kept.tolist()]
        self.problem_ = Structured(inputs, outputs, self.features, self.loss, self.argmax, **more)
        form = SoftMargin(lam=1 / (self.C * weights.sum()), rescaling=self.rescaling)
        self.coef_ = self.solved(form, self.problem_)["w"]
        return self

    def predict(self, X: Sequence[Any]) -> list[Any]:
        """The output of highest score for each input."""
        check_is_fitted(self)
        return self.problem_.predict(self.coef_, X)

    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float:
        """Minus the mean loss of what is predicted."""
        return -float(np.mean([self.loss(truth, found) for truth, found in zip(y, self.predict(X), strict=True)]))
