"""What all estimators share: the call of `solve`, what it leaves on the estimator, and tables of labelled rows."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from workbench.arithmetic.arrays import class_weights, summed
from workbench.contracts import Floats
from workbench.errors import BadInput
from workbench.solving.solve import solve

SOLVED = ("optimal", "stationary")
Rescaling = Literal["margin", "slack"]


class Certified(BaseEstimator):
    """An estimator that `solve` fits.

    After `fit`: gap_ (the proven relative gap; NaN for an alternation), lower_ ≤ F* ≤ upper_, certificate_ (`save`
    writes it), status_, n_iter_ (rounds), converged_ (whether the gap asked for was reached).
    """

    gap: float
    time_limit: float | None
    max_rounds: int | None

    def solved(self, formulation: Any, problem: Any) -> dict[str, Floats]:
        """The blocks of θ; a `ConvergenceWarning` if a limit came first."""
        limits = {"gap": self.gap, "time_limit": self.time_limit, "max_rounds": self.max_rounds}
        solution = solve(formulation, problem, **limits)
        self.gap_, self.lower_, self.upper_ = solution.gap, solution.lower, solution.upper
        self.certificate_, self.status_ = solution.certificate, solution.status
        self.n_iter_, self.converged_ = max(solution.rounds, 1), solution.status in SOLVED
        if not self.converged_:
            name, proven = type(self).__name__, f"the proven gap is {solution.gap:.2g}"
            fix = "give a larger gap" if solution.status == "stalled" else "raise the limits"
            said = f"{name} ended with status {solution.status}: {proven}, not {self.gap:.2g}; {fix}."
            warnings.warn(said, ConvergenceWarning, stacklevel=3)
        return solution.theta


class Tabular(ClassifierMixin, Certified):
    """A classifier of rows of a table.

    After `fit`: classes_ (k,), coef_ (k, p), intercept_ (k,), n_features_in_.
    """

    class_weight: Any = None  # of the estimators that have none
    classes_: NDArray
    coef_: Floats
    intercept_: Floats
    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def table(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray, Floats]:
        """Rows, labels as indices into `classes_`, weights: equal samples are one, with the sum of their weights.

        So weight 2 is the sample twice and weight 0 is no sample, to the last bit of the answer.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        kept = np.flatnonzero(weights > 0)
        if not len(kept):
            raise BadInput("All sample weights are 0; give at least one sample of two classes a positive weight.")
        X, y, weights = X[kept], y[kept], weights[kept]
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise BadInput(f"The data hold only one class, {self.classes_[0]}; give samples of at least two classes.")
        if self.class_weight is not None:
            weights = weights * class_weights(self.class_weight, labels, self.classes_)
        return merged(X, labels, weights)

    def decision_function(self, X: Any) -> Floats:
        """Scores (m, k); of two classes the difference, (m,), positive for the second."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        scores = X @ self.coef_.T + self.intercept_
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray:
        """The class of the highest score, (m,)."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]


def with_constant(X: Any) -> Any:
    """X with a column of ones behind it: an intercept that is penalised like a weight."""
    ones = np.ones((X.shape[0], 1))
    return sparse.csr_array(sparse.hstack([X, ones])) if sparse.issparse(X) else np.hstack([X, ones])


def merged(X: Any, labels: NDArray, weights: Floats) -> tuple[Any, NDArray, Floats]:
    """Equal samples made one, in an order that depends on them alone."""
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        X.sum_duplicates()
        X.eliminate_zeros()
        columns = X.indices.astype(np.int64)
        keys = [columns[a:b].tobytes() + X.data[a:b].tobytes() for a, b in pairwise(X.indptr)]
    else:
        keys = [row.tobytes() for row in np.ascontiguousarray(X + 0.0)]  # −0 is 0
    first: dict[tuple[int, bytes], int] = {}
    pairs = enumerate(zip(labels.tolist(), keys, strict=True))
    group = np.array([first.setdefault((label, key), k) for k, (label, key) in pairs])
    chosen = [first[key] for key in sorted(first)]
    return X[chosen], labels[chosen], summed(group, weights, len(group))[chosen]
