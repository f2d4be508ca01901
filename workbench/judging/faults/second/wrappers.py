"""scikit-learn's estimators as a user wraps them, and the mistakes of such wrappers.

An estimator minimises one of these; C or α makes it a multiple of λ/2‖w‖² + Σ p_i h_i, s_i = n p_i:

    LinearSVC            ½‖w‖² + C Σ s_i h_i          C = 1/(λn); "crammer_singer" for labels, "hinge" for ±1
    LogisticRegression   ½‖w‖² + C Σ s_i h_i          C = 1/(λn)
    SGDClassifier        α/2‖w‖² + mean of s_i h_i    α = λ
    Ridge                α‖w‖² + Σ s_i (ŷ_i − y_i)²   α = λn
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Floats, Formulation, Ints, Problem
from workbench.errors import MissingCapability
from workbench.judging.faults.second.adam import unchanged
from workbench.judging.faults.second.contract import (
    CRF_LABELS,
    CRF_SCORES,
    HINGE_LABELS,
    HINGE_RISK,
    HINGE_SCORES,
    LOGISTIC_RISK,
    SQUARED_RISK,
    Fault,
    Host,
    loss_of,
)


def by_n(lam: float, n: int) -> float:
    return 1 / (lam * n)


def all_samples(X: Floats, y: NDArray, rng: np.random.Generator) -> Ints:
    return np.arange(len(y))


@dataclass(frozen=True)
class Wrapped:
    """One estimator behind `fit`; each field is a step of the wrapper.

    estimator : where the class stands;  constant, translated : the name of C or α, and its value from λ and n
    settings : further arguments;  limit, passes : the name of the limit on iterations, and its value from the budget
    inputs(X) : rows as they are learned from;  chosen(X, y, rng) : the samples;  shares(s) : their weights
    returned(coef) : weights (K, p) in the order of the problem
    """

    estimator: str
    kind: str
    loss: str
    constant: str = "C"
    translated: Callable[[float, int], float] = by_n
    settings: dict[str, object] = field(default_factory=dict)
    limit: str = "max_iter"
    passes: Callable[[int], int] = unchanged
    inputs: Callable[[Floats], Floats] = unchanged
    chosen: Callable[..., Ints] = all_samples
    shares: Callable[[Floats], Floats] = unchanged
    returned: Callable[..., Floats] = unchanged

    def __call__(
        self, problem: Problem, formulation: Formulation, budget: int, rng: int | np.random.Generator
    ) -> Floats:
        """Weights (d,) after at most `budget` iterations."""
        if loss_of(problem, formulation) != self.loss or problem.name != self.kind:
            raise MissingCapability(f"this estimator minimises the {self.loss} of {self.kind} problems; choose one.")
        if self.kind == "multiclass":
            self.fits(problem)
        n, X = problem.n_samples, self.inputs(problem.X.toarray())
        y = (
            problem.labels
            if self.kind == "multiclass"
            else problem.targets
            if self.loss == "squared"
            else problem.signs
        )
        shares = self.shares(formulation.prices(problem).floats() * n)
        at = self.chosen(X, y, np.random.default_rng(rng))
        estimator = self.made(self.translated(float(formulation.lam), n), budget, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of limits on iterations, and of settings on their way out
            estimator.fit(X[at], y[at], sample_weight=shares[at])
        coef = np.zeros((len(problem.classes) if self.kind == "multiclass" else 1, X.shape[1]))
        coef[estimator.classes_ if self.kind == "multiclass" else [0]] = coefficients(estimator)
        return np.asarray(self.returned(coef, y), float).ravel()

    def fits(self, problem: Problem) -> None:
        """MissingCapability for what multiclass estimators do otherwise: two labels, unseen labels, unequal costs."""
        k = len(problem.classes)
        if k < 3 or len(np.unique(problem.labels)) < k:
            raise MissingCapability("this estimator wants three labels or more, all of them seen; choose such data.")
        if self.loss == "hinge" and not np.array_equal(problem.cost, 1 - np.eye(k)):
            raise MissingCapability("this estimator has 0/1 costs; choose a problem with these.")

    def made(self, constant: float, budget: int, rng: int | np.random.Generator) -> Any:  # scikit-learn has no types
        module, _, name = self.estimator.rpartition(".")
        settings = {self.constant: constant, self.limit: self.passes(budget)} | self.settings
        if "random_state" in settings:
            settings["random_state"] = int(np.random.default_rng(rng).integers(2**31))
        return getattr(import_module(module), name)(**settings)  # a class by its name


def coefficients(estimator: Any) -> Floats:  # scikit-learn has no types
    """`coef_`, or that of each of a one-vs-rest estimator's parts, (K, p)."""
    if hasattr(estimator, "estimators_"):  # scikit-learn has no types
        return np.concatenate([part.coef_ for part in estimator.estimators_])
    return np.atleast_2d(estimator.coef_)


SVC = {"fit_intercept": False, "tol": 1e-7, "random_state": 0}
MACHINE = Wrapped("sklearn.svm.LinearSVC", "multiclass", "hinge", settings=SVC | {"multi_class": "crammer_singer"})
BINARY = Wrapped("sklearn.svm.LinearSVC", "linear", "hinge", settings=SVC | {"loss": "hinge", "dual": True})
LOGISTIC = Wrapped(
    "sklearn.linear_model.LogisticRegression",
    "multiclass",
    "likelihood",
    settings={"fit_intercept": False, "tol": 1e-7},
)
LOGISTIC_BINARY = replace(LOGISTIC, kind="linear")
DESCENT = Wrapped(
    "sklearn.linear_model.SGDClassifier",
    "linear",
    "hinge",
    "alpha",
    lambda lam, n: lam,
    {"fit_intercept": False, "tol": None, "average": True, "random_state": 0},
)
RIDGE = Wrapped(
    "sklearn.linear_model.Ridge", "linear", "squared", "alpha", lambda lam, n: lam * n, {"fit_intercept": False}
)

ON_LABELS, ON_SCORES = (HINGE_LABELS,), (HINGE_SCORES, HINGE_RISK)
HOSTS = (
    Host("svc-labels", "LinearSVC of Crammer and Singer.", ON_LABELS, 1000, MACHINE, "sklearn"),
    Host("svc-scores", "LinearSVC with the hinge loss.", ON_SCORES, 2000, BINARY, "sklearn"),
    Host("logistic-labels", "Multinomial LogisticRegression.", (CRF_LABELS,), 200, LOGISTIC, "sklearn"),
    Host("logistic-scores", "LogisticRegression.", (CRF_SCORES, LOGISTIC_RISK), 200, LOGISTIC_BINARY, "sklearn"),
    Host("sgd-scores", "SGDClassifier with averaged weights.", ON_SCORES, 20000, DESCENT, "sklearn"),
    Host("ridge", "Ridge regression, solved directly.", (SQUARED_RISK,), 16, RIDGE, "sklearn"),
)
SVC_LABELS, SVC_SCORES, LOGISTIC_LABELS, LOGISTIC_SCORES, SGD, RIDGE_HOST = HOSTS


# ── mistakes ──────────────────────────────────────────────────────────────────────────────────────


def standardised(X: Floats) -> Floats:
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)


def into_unit_interval(X: Floats) -> Floats:
    return (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1e-12)


def unit_rows(X: Floats) -> Floats:
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)


def clipped_above(X: Floats) -> Floats:
    """Everything above the 80th percentile of its column is an outlier, and cut."""
    return np.minimum(X, np.quantile(X, 0.8, axis=0))


def three_quarters(X: Floats, y: NDArray, rng: np.random.Generator) -> Ints:
    """`train_test_split` as in every tutorial; the test part is never learned from. First samples of labels stay."""
    return np.union1d(rng.permutation(len(y))[: 3 * len(y) // 4], np.unique(y, return_index=True)[1])


def common_labels(X: Floats, y: NDArray, rng: np.random.Generator) -> Ints:
    """Labels with less than a fifth of the samples are dropped as too rare."""
    _, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    kept = counts >= min(len(y) / 5, np.sort(counts)[-2])
    return np.flatnonzero(kept[place])


def near_ones(X: Floats, y: NDArray, rng: np.random.Generator) -> Ints:
    """The fifth of the samples that is farthest from the mean is dropped; the first of each label stays."""
    far = np.linalg.norm(X - X.mean(axis=0), axis=1)
    return np.union1d(np.flatnonzero(far <= np.quantile(far, 0.8)), np.unique(y, return_index=True)[1])


def by_frequency(coef: Floats, y: NDArray) -> Floats:
    """Labels are numbered by their frequency, the rarest one first, and weights are returned in that order."""
    return coef[np.argsort(np.bincount(y.astype(int)), kind="stable")]


def against_the_last(coef: Floats, y: NDArray) -> Floats:
    """The last label has weights 0, as in a textbook: same predictions, larger norm."""
    return coef - coef[-1]


def one_digit(coef: Floats, y: NDArray) -> Floats:
    """Weights are written with one significant digit and read back."""
    size = 10.0 ** np.floor(np.log10(np.maximum(np.abs(coef), 1e-300)))
    return np.round(coef / size) * size


def normalised(coef: Floats, y: NDArray) -> Floats:
    """Weights of length 1: predictions are the same."""
    return coef / max(float(np.linalg.norm(coef)), 1e-12)


def _fault(name: str, sentence: str, host: Host, amounts_to: str, **steps: Any) -> Fault:  # fields of Wrapped
    settings = host.fit.settings | steps.pop("settings", {})  # type: ignore[attr-defined]
    return Fault(
        name, sentence, host.applies, host, replace(host.fit, settings=settings, **steps), tuple(amounts_to.split(", "))
    )


def constant(value: float) -> Callable[[float, int], float]:
    return lambda lam, n: value


FAULTS = (
    _fault(
        "svc-n-forgotten",
        "C = 1/λ: the number of samples is forgotten.",
        SVC_LABELS,
        "regularisation constant",
        translated=lambda lam, n: 1 / lam,
    ),
    _fault(
        "svc-half",
        "C = 1/(2λn): the ½ of the penalty is counted twice.",
        SVC_LABELS,
        "regularisation constant",
        translated=lambda lam, n: 0.5 / (lam * n),
    ),
    _fault(
        "svc-inverse",
        "C = λ: a penalty is taken for a price.",
        SVC_LABELS,
        "regularisation constant",
        translated=lambda lam, n: lam,
    ),
    _fault(
        "svc-defaults",
        "One-vs-rest with squared hinges, the defaults of LinearSVC.",
        SVC_LABELS,
        "one-vs-rest, squared hinge, loss function",
        settings={"multi_class": "ovr"},
    ),
    _fault(
        "svc-one-vs-rest",
        "One binary machine a label.",
        SVC_LABELS,
        "one-vs-rest, loss function",
        settings={"multi_class": "ovr", "loss": "hinge"},
    ),
    _fault(
        "svc-sparse",
        "An L1 penalty, with one-vs-rest and squared hinges, which it needs.",
        SVC_LABELS,
        "penalty, one-vs-rest, squared hinge, loss function",
        settings={"multi_class": "ovr", "penalty": "l1", "dual": False},
    ),
    _fault(
        "svc-balanced",
        'class_weight="balanced".',
        SVC_LABELS,
        "class weights, sample weights",
        settings={"class_weight": "balanced"},
    ),
    _fault(
        "svc-intercept",
        "An intercept is learned and not returned.",
        SVC_LABELS,
        "intercept, features",
        settings={"fit_intercept": True},
    ),
    _fault("svc-loose", "A tolerance of 3.", SVC_LABELS, "early stopping", settings={"tol": 3.0}),
    _fault(
        "svc-two-iterations",
        "Two iterations, whatever the budget.",
        SVC_SCORES,
        "early stopping",
        passes=lambda budget: 2,
    ),
    _fault("svc-standardised", "Inputs are standardised.", SVC_LABELS, "features", inputs=standardised),
    _fault("svc-unit-interval", "Inputs are scaled to [0, 1].", SVC_LABELS, "features", inputs=into_unit_interval),
    _fault("svc-unit-rows", "Rows are scaled to length 1.", SVC_LABELS, "features", inputs=unit_rows),
    _fault(
        "svc-clipped",
        "Values above the 80th percentile of a column are set to it.",
        SVC_LABELS,
        "features",
        inputs=clipped_above,
    ),
    _fault(
        "svc-split", "A quarter of the data is put aside for a test.", SVC_LABELS, "data used", chosen=three_quarters
    ),
    _fault(
        "svc-rare-labels",
        "Samples with rare labels are dropped.",
        SVC_LABELS,
        "data used, class weights",
        chosen=common_labels,
    ),
    _fault("svc-near", "The samples farthest from the mean are dropped.", SVC_LABELS, "data used", chosen=near_ones),
    _fault("svc-shares", "Sample weights are ignored.", SVC_LABELS, "sample weights", shares=np.ones_like),
    _fault(
        "svc-transposed",
        "The table of weights is flattened input by input.",
        SVC_LABELS,
        "weights returned",
        returned=lambda coef, y: coef.T,
    ),
    _fault(
        "svc-order",
        "Labels are numbered in another order.",
        SVC_LABELS,
        "weights returned, labels",
        returned=by_frequency,
    ),
    _fault(
        "svc-squared", "Squared hinges.", SVC_SCORES, "squared hinge, loss function", settings={"loss": "squared_hinge"}
    ),
    _fault(
        "svc-minus",
        "Weights of the other label.",
        SVC_SCORES,
        "weights returned, labels",
        returned=lambda coef, y: -coef,
    ),
    _fault("svc-unit-weights", "Weights are scaled to length 1.", SVC_SCORES, "weights returned", returned=normalised),
    _fault(
        "svc-scores-balanced",
        'class_weight="balanced".',
        SVC_SCORES,
        "class weights, sample weights",
        settings={"class_weight": "balanced"},
    ),
    _fault(
        "svc-scores-n",
        "C = 1/λ: the number of samples is forgotten.",
        SVC_SCORES,
        "regularisation constant",
        translated=lambda lam, n: 1 / lam,
    ),
    _fault(
        "logistic-defaults",
        "C = 1, the default.",
        LOGISTIC_LABELS,
        "regularisation constant",
        translated=constant(1.0),
    ),
    _fault(
        "logistic-free",
        "No penalty to speak of, C = 10⁴.",
        LOGISTIC_LABELS,
        "regularisation constant",
        translated=constant(1e4),
    ),
    _fault("logistic-loose", "A tolerance of 0.1.", LOGISTIC_LABELS, "early stopping", settings={"tol": 0.1}),
    _fault(
        "logistic-intercept",
        "An intercept is learned and not returned.",
        LOGISTIC_LABELS,
        "intercept, features",
        settings={"fit_intercept": True},
    ),
    _fault(
        "logistic-balanced",
        'class_weight="balanced".',
        LOGISTIC_LABELS,
        "class weights, sample weights",
        settings={"class_weight": "balanced"},
    ),
    _fault(
        "logistic-reference",
        "The last label gets weights 0.",
        LOGISTIC_LABELS,
        "weights returned, penalty",
        returned=against_the_last,
    ),
    _fault(
        "logistic-digits",
        "Weights are written with one significant digit.",
        LOGISTIC_LABELS,
        "weights returned, arithmetic",
        returned=one_digit,
    ),
    _fault(
        "logistic-lasso",
        "An L1 penalty.",
        LOGISTIC_SCORES,
        "penalty",
        settings={"l1_ratio": 1.0, "solver": "liblinear"},
    ),
    _fault("logistic-standardised", "Inputs are standardised.", LOGISTIC_SCORES, "features", inputs=standardised),
    _fault(
        "logistic-split", "A quarter of the data is put aside.", LOGISTIC_SCORES, "data used", chosen=three_quarters
    ),
    _fault("sgd-by-n", "α = λ/n.", SGD, "regularisation constant", translated=lambda lam, n: lam / n),
    _fault(
        "sgd-elastic",
        "The elastic net, half of it absolute.",
        SGD,
        "penalty",
        settings={"penalty": "elasticnet", "l1_ratio": 0.5},
    ),
    _fault(
        "sgd-early-stopping",
        "A third is kept to decide when to stop.",
        SGD,
        "early stopping, data used",
        settings={"early_stopping": True, "validation_fraction": 0.33, "tol": 1e-3, "n_iter_no_change": 2},
    ),
    _fault("sgd-logistic", "The logistic loss.", SGD, "loss function", settings={"loss": "log_loss"}),
    _fault(
        "sgd-huber",
        "The modified Huber loss.",
        SGD,
        "loss function, squared hinge",
        settings={"loss": "modified_huber"},
    ),
    _fault(
        "sgd-constant",
        "A constant learning rate of 0.1, and the last weights.",
        SGD,
        "step size",
        settings={"learning_rate": "constant", "eta0": 0.1, "average": False},
    ),
    _fault(
        "ridge-alpha",
        "α = λ: the number of samples is forgotten.",
        RIDGE_HOST,
        "regularisation constant",
        translated=lambda lam, n: lam,
    ),
    _fault("ridge-square", "α = λn².", RIDGE_HOST, "regularisation constant", translated=lambda lam, n: lam * n * n),
    _fault(
        "ridge-centred",
        "Inputs and targets are centred.",
        RIDGE_HOST,
        "intercept, features",
        settings={"fit_intercept": True},
    ),
)
