"""Scores of predicted label sequences, position by position, as sklearn-crfsuite has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from sklearn import metrics


def flat(score: Callable[..., Any]) -> Callable[..., Any]:
    """A score of lists of labels as one of lists of sequences of labels."""

    def flattened(y_true: Iterable[Iterable[Any]], y_pred: Iterable[Iterable[Any]], **settings: Any) -> Any:
        return score(list(chain.from_iterable(y_true)), list(chain.from_iterable(y_pred)), **settings)

    flattened.__doc__ = f"sklearn.metrics.{score.__name__} over all positions of all sequences."
    return flattened


flat_accuracy_score = flat(metrics.accuracy_score)
flat_precision_score = flat(metrics.precision_score)
flat_recall_score = flat(metrics.recall_score)
flat_f1_score = flat(metrics.f1_score)
flat_fbeta_score = flat(metrics.fbeta_score)
flat_classification_report = flat(metrics.classification_report)


def sequence_accuracy_score(y_true: Iterable[Iterable[Any]], y_pred: Iterable[Iterable[Any]]) -> float:
    """The share of sequences whose labels are all right."""
    right = [list(truth) == list(found) for truth, found in zip(y_true, y_pred, strict=True)]
    return sum(right) / len(right)
