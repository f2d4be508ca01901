"""Learners of other packages: optional imports, and the mapping between their parameters and ours.

Each of these learners minimises a multiple of  μ/2 ‖w‖² + Σ_i p_i h_i(w)  with h_i a hinge or a negative
log-likelihood; the functions here say whether a pair (formulation, problem) is of this kind, and return μ and p. For
two classes most packages learn one vector c with the score ⟨c, x⟩ in place of W = [W_0; W_1]. Of all W with W_1 − W_0
= c, the one with W_0 = −W_1 has the least norm, so the optimum of the multiclass problem is W = [−c/2; c/2], and

    μ/2 ‖W‖² = (μ/2)/2 ‖c‖²:      the μ of c is half of the μ of W.

All refusals are `MissingCapability`, one sentence each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from workbench.contracts import (
    Costed,
    CutForm,
    Floats,
    Intercepted,
    Ints,
    Labelled,
    LinearRisk,
    LinearScores,
    Problem,
    SmoothForm,
)
from workbench.errors import MissingCapability
from workbench.objectives.likelihoods import Likelihood
from workbench.objectives.oracles import MarginRescaling, SlackRescaling
from workbench.objectives.regularizers import SquaredNorm


class Risk(NamedTuple):
    """μ and the prices p (n,) of one formulation on one problem."""

    mu: float
    prices: Floats

    @property
    def samples(self) -> Ints:
        """The samples that count, those with p_i > 0."""
        return np.flatnonzero(self.prices)


class Signs(NamedTuple):
    """Linear scores with labels ±1: inputs X (n, d), signs (n,), what μ is to be multiplied with, and w of c."""

    X: Any
    signs: Floats
    share: float
    unfold: Callable[[Floats], Floats]


def needs(package: str, wheel: str) -> Callable[[Callable], Callable]:
    """A learner of that importable package; where it is absent, `list` and every row say so, with the pip line."""

    def decorate(fit: Callable) -> Callable:
        absence = f"{wheel} is absent here; pip install {wheel}"

        @wraps(fit)
        def guarded(problem: Any, formulation: Any, budget: int, rng: Any) -> Floats:
            if find_spec(package) is None:
                raise MissingCapability(f"{absence}.")
            return fit(problem, formulation, budget, rng)

        if find_spec(package) is None:
            guarded.__doc__ = f"absent ({absence}): {fit.__doc__}"
        return guarded

    return decorate


def ridge(formulation: Any, problem: Any, learner: str) -> Risk:
    """μ and p of any formulation with r = μ/2 ‖θ‖² and finite prices."""
    regularizer = formulation.regularizer(problem) if isinstance(formulation, CutForm | SmoothForm) else None
    if not isinstance(regularizer, SquaredNorm) or formulation.prices(problem).hard:
        free = isinstance(formulation, Intercepted) and formulation.intercept
        name = type(formulation).__name__ + " with intercepts" * free
        raise MissingCapability(f"{learner} needs finite prices and the regularizer λ/2 ‖w‖², which {name} has not.")
    return Risk(float(regularizer.lam), formulation.prices(problem).floats())


def hinge(formulation: Any, problem: Any, learner: str) -> Risk:
    """μ and p of the soft margin with losses 0 and 1, for which margin and slack rescaling are the same."""
    risk = ridge(formulation, problem, learner)
    oracle = formulation.oracle(problem) if isinstance(formulation, CutForm) else None
    if type(oracle) not in (MarginRescaling, SlackRescaling):
        raise MissingCapability(
            f"{learner} minimises hinges and {type(formulation).__name__} has none; use soft-margin."
        )
    if isinstance(problem, Costed) and not np.array_equal(problem.cost, 1 - np.eye(len(problem.cost))):
        raise MissingCapability(f"{learner} knows the losses 0 and 1 only; leave out the problem's costs.")
    return risk


def likelihood(formulation: Any, problem: Any, learner: str) -> Risk:
    """μ and p of conditional likelihood; on linear scores that is the logistic loss."""
    risk = ridge(formulation, problem, learner)
    terms = formulation.terms(problem) if isinstance(formulation, SmoothForm) else None
    if not isinstance(terms, Likelihood) and not (isinstance(terms, LinearRisk) and terms.loss == "logistic"):
        name = type(formulation).__name__
        raise MissingCapability(f"{learner} maximises likelihood and {name} does not; use crf, or loss=logistic.")
    return risk


def labels_of(problem: Problem, risk: Risk, learner: str) -> Ints:
    """The labels (n,) of a multiclass problem all of whose classes occur: the packages know of no others."""
    if not isinstance(problem, Labelled) or problem.n_features != len(problem.classes) * problem.inputs.shape[1]:
        raise MissingCapability(f"{learner} needs a table with a label a row; {type(problem).__name__} is none.")
    missing = np.setdiff1d(np.arange(len(problem.classes)), problem.labels[risk.samples])
    if len(missing):
        raise MissingCapability(
            f"{learner} learns nothing about the label {problem.classes[missing[0]]}, which no sample has; leave it "
            "out of the classes."
        )
    return problem.labels


def signs_of(problem: Any, risk: Risk, learner: str) -> Signs:
    """A problem of two classes as linear scores."""
    if isinstance(problem, LinearScores):
        return Signs(problem.X, problem.signs, 1.0, lambda c: c)
    labels = labels_of(problem, risk, learner)
    if len(problem.classes) != 2:
        raise MissingCapability(f"{learner} tells two classes apart and there are {len(problem.classes)}; take two.")
    return Signs(problem.inputs, (2 * labels - 1).astype(float), 0.5, unfolded)


def unfolded(c: Floats) -> Floats:
    """[−c/2, c/2], the rows of two classes with ⟨W_1 − W_0, x⟩ = ⟨c, x⟩."""
    return np.concatenate([-c / 2, c / 2])


def rows_of(X: Any, held: Ints) -> sparse.csr_array:
    """These rows with 32-bit indices, the only ones that scikit-learn takes."""
    rows = sparse.csr_array(X[held])
    return sparse.csr_array((rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)), rows.shape)


def equal(risk: Risk, learner: str) -> int:
    """The number n of samples, whose prices are all 1/n."""
    if np.ptp(risk.prices[risk.samples]) > 0:
        raise MissingCapability(f"{learner} has no sample weights; make them equal.")
    return len(risk.samples)


def seed_of(rng: Any) -> int:
    """A seed as the packages take it, below 2³¹."""
    return int(np.random.default_rng(rng).integers(2**31))
