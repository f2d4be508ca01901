"""Linear chains over sequences: large margins or conditional likelihood, to a proven gap.

    min over w   ½‖w‖² + C Σ_i s_i h_i(w)

    ChainSVC   h_i = max_y ℓ_i(y) + ⟨w, φ(x_i, y) − φ(x_i, y_i)⟩         ℓ the number of wrong labels, or its share
    ChainCRF   h_i = log Σ_y exp⟨w, φ(x_i, y)⟩ − ⟨w, φ(x_i, y_i)⟩

φ holds the features of each position with its label, and the pairs of neighbouring labels (`wb.Chain`).
X is a list of sequences: arrays (T, p), or lists of dicts {name: number or text}; y a list of label sequences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from workbench.arithmetic.arrays import checked_cost, checked_weights, class_weights
from workbench.errors import BadInput, checked_positive, checked_switch
from workbench.estimators._certified import Certified, Rescaling
from workbench.estimators.metrics import flat_accuracy_score
from workbench.formulations.crf import CRF
from workbench.formulations.soft_margin import SoftMargin
from workbench.outputs._named import Names, of_dicts
from workbench.outputs._sequences import checked_labels
from workbench.outputs.chain import Chain


class ChainModel(Certified):
    """What both share. After `fit`: classes_, coef_ (k, p), transitions_ (k, k), intercept_ (k,), feature_names_."""

    C: float

    def learned(self, X: Sequence[Any], y: Sequence[Any], sample_weight: ArrayLike | None, **more: Any) -> Any:
        """Fit by the settings in `more`: keeps weights, names and the certified solution."""
        checked_positive(C=self.C)
        if len(X) != len(y):
            raise BadInput(f"There are {len(X)} sequences and {len(y)} label sequences; give one label sequence each.")
        self.names_ = Names.of(X) if of_dicts(X) else None
        weights = checked_weights(sample_weight, len(y))
        kept = np.flatnonzero(weights > 0)
        sequences, labels = self.rows(X), [list(row) for row in y]
        named = [labels[i] for i in kept]
        problem = Chain([sequences[i] for i in kept], named, weights=weights[kept], cost=self.costs(named), **more)
        parts = self.solved(self.formulation(1 / (self.C * weights.sum())), problem)
        self.classes_, self.chain_ = problem.classes, problem
        self.coef_, self.transitions_ = problem.split(parts["w"])
        self.intercept_ = parts.get("b", np.zeros(len(problem.classes)))
        return self

    def formulation(self, lam: float) -> Any:
        """The formulation of these settings with this λ."""
        raise NotImplementedError

    def costs(self, labels: list[Any]) -> ArrayLike | None:
        """(k, k) what each label costs for another, of the sequences of labels given; None is 0/1."""
        return None

    @property
    def feature_names_(self) -> list[str]:
        """The names of the inputs, or x0, x1, … without names."""
        check_is_fitted(self)
        return self.names_.names if self.names_ else [f"x{j}" for j in range(self.coef_.shape[1])]

    def rows(self, X: Sequence[Any]) -> list[Any]:
        return [self.names_.rows(each) for each in X] if self.names_ else list(X)

    def predict(self, X: Sequence[Any]) -> list[list[Any]]:
        """The labels of each sequence."""
        check_is_fitted(self)
        w = np.concatenate([self.coef_.ravel(), self.transitions_.ravel()])
        return [row.tolist() for row in self.chain_.predict(w, self.rows(X), self.intercept_)] if len(X) else []

    def predict_single(self, sequence: Any) -> list[Any]:
        """The labels of one sequence."""
        return self.predict([sequence])[0]

    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float:
        """The share of positions whose label is right."""
        return float(flat_accuracy_score(y, self.predict(X)))


class ChainSVC(ChainModel):
    """Structural SVM over chains.

    Parameters
    ----------
    C : price of the hinges, > 0
    loss : "hamming", wrong labels counted, or "hamming-normalised", their share
    rescaling : "margin" or "slack"
    cost : (k, k) cost of each label for another in place of 0/1, labels in the order of `classes_`
    class_weight : None, "balanced" or {label: factor}: what an error costs at a position whose true label it is,
        cost[true, ·] times the factor; "balanced" is N/(k N_label) for N_label of N positions
    fit_intercept : whether each label has an intercept, which is not penalised; rescaling="margin" only
    gap, time_limit, max_rounds : as of `MulticlassSVC`
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "hamming",
        rescaling: Rescaling = "margin",
        cost: ArrayLike | None = None,
        class_weight: Any = None,
        fit_intercept: bool = False,
        gap: float = 1e-6,
        time_limit: float | None = None,
        max_rounds: int | None = None,
    ):
        self.C, self.loss, self.cost, self.fit_intercept = C, loss, cost, fit_intercept
        self.rescaling: Rescaling = rescaling
        self.class_weight, self.gap, self.time_limit, self.max_rounds = class_weight, gap, time_limit, max_rounds

    def costs(self, labels: list[Any]) -> ArrayLike | None:
        """The cost matrix, the row of each true label times the factor of its class."""
        if self.class_weight is None:
            return self.cost
        known, index = checked_labels(labels, np.array([len(row) for row in labels]), None)
        factors = class_weights(self.class_weight, index, known)
        rows = np.unique(index, return_index=True)[1]  # a position of each label
        return factors[rows, None] * checked_cost(self.cost, len(known))

    def formulation(self, lam: float) -> SoftMargin:
        """The formulation of these settings with this λ."""
        checked_switch(fit_intercept=self.fit_intercept)
        return SoftMargin(lam=lam, rescaling=self.rescaling, intercept=self.fit_intercept)

    def fit(self, X: Sequence[Any], y: Sequence[Any], sample_weight: ArrayLike | None = None) -> ChainSVC:
        """Solve for sequences X with label sequences y."""
        return self.learned(X, y, sample_weight, loss=self.loss)


class ChainCRF(ChainModel):
    """Conditional random field over chains.

    Parameters
    ----------
    C : price of the likelihood, > 0; sklearn-crfsuite's c2 is 1/(2C), its c1 is 0
    class_weight : None; a likelihood is of a whole sequence, in which no position has a price of its own
    gap, time_limit, max_rounds : as of `MulticlassSVC`
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        class_weight: None = None,
        gap: float = 1e-6,
        time_limit: float | None = None,
        max_rounds: int | None = None,
    ):
        self.C, self.class_weight = C, class_weight
        self.gap, self.time_limit, self.max_rounds = gap, time_limit, max_rounds

    def formulation(self, lam: float) -> CRF:
        """The formulation of these settings with this λ."""
        return CRF(lam=lam)

    def fit(self, X: Sequence[Any], y: Sequence[Any], sample_weight: ArrayLike | None = None) -> ChainCRF:
        """Solve for sequences X with label sequences y."""
        if self.class_weight is not None:
            raise BadInput(
                "A likelihood is of whole sequences, so ChainCRF has no class_weight; give `fit` a sample_weight for "
                "each sequence, or use ChainSVC."
            )
        return self.learned(X, y, sample_weight)
