"""python-crfsuite and dlib as a user wraps them, and the mistakes of such wrappers.

    CRFsuite   c₂‖w‖² + Σ h_i                      c₂ = λn/2;  a value a position and input, pairs of labels
    dlib       ½‖w‖² + C · mean of h_i             C = 1/λ;    a search that returns a loss and a feature vector

Neither knows sample weights. CRFsuite ends by its `delta`, dlib by its `epsilon`; dlib has no limit on iterations.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from workbench.contracts import Floats, Formulation, Ints, Problem
from workbench.errors import MissingCapability
from workbench.judging.faults.second import tensors
from workbench.judging.faults.second.adam import unchanged
from workbench.judging.faults.second.contract import CRF_CHAINS, HINGE_CHAINS, HINGE_LABELS, Fault, Host, loss_of
from workbench.judging.faults.second.tensors import Batch, Layout


def equally_weighted(problem: Problem, package: str) -> None:
    """MissingCapability for what both packages cannot be told."""
    if np.ptp(problem.weights) > 0:
        raise MissingCapability(f"{package} knows no sample weights; choose samples of equal weight.")
    if len(np.unique(problem.labels)) < len(problem.classes):
        raise MissingCapability(f"{package} learns from labels that it sees; choose data in which every label occurs.")


# ── CRFsuite ──────────────────────────────────────────────────────────────────────────────────────


def named(row: Floats) -> dict[str, float]:
    """The inputs of one position, by name."""
    return {f"x{j}": float(value) for j, value in enumerate(row)}


def sorted_labels(labels: Sequence[str]) -> Ints:
    """The place in w of each label of the package."""
    return np.array([int(name) for name in labels])


EXACT = {
    "feature.possible_states": True,
    "feature.possible_transitions": True,
    "feature.minfreq": -1e30,  # a feature's frequency is the sum of its values, which may be negative
    "period": 10,
    "delta": 1e-9,
    "epsilon": 1e-7,
}


@dataclass(frozen=True)
class Suite:
    """CRFsuite behind `fit`: `named` writes an input row, `places` reads the order of labels back.

    algorithm, settings : what is passed on;  constant(λ, n) : the settings that hold the penalty
    """

    algorithm: str = "lbfgs"
    settings: dict[str, float | bool] = field(default_factory=lambda: EXACT)
    constant: Callable[[float, int], dict[str, float]] = lambda lam, n: {"c2": lam * n / 2}
    named: Callable[[Floats], dict[str, float]] = named
    places: Callable[[Sequence[str]], Ints] = sorted_labels
    returned: Callable[[Floats, Floats], tuple[Floats, Floats]] = lambda W, A: (W, A)

    def __call__(
        self, problem: Problem, formulation: Formulation, budget: int, rng: int | np.random.Generator
    ) -> Floats:
        """Weights (d,) after at most `budget` iterations."""
        import pycrfsuite

        if problem.name != "chain" or loss_of(problem, formulation) != "likelihood":
            raise MissingCapability("CRFsuite maximises the likelihood of sequences; choose a chain and crf.")
        equally_weighted(problem, "CRFsuite")
        trainer, rows = pycrfsuite.Trainer(verbose=False), problem.letters.toarray()
        for start, end in zip(problem.offsets[:-1], problem.offsets[1:], strict=True):
            trainer.append([self.named(row) for row in rows[start:end]], [str(y) for y in problem.labels[start:end]])
        trainer.select(self.algorithm)
        settings = {"max_iterations": budget} | self.settings | self.constant(float(formulation.lam), problem.n_samples)
        trainer.set_params({name: value for name, value in settings.items() if value is not None})
        with tempfile.TemporaryDirectory() as folder:
            file = str(Path(folder) / "model")
            trainer.train(file)
            tagger = pycrfsuite.Tagger()
            tagger.open(file)
            info, labels = tagger.info(), tagger.labels()
            tagger.close()
        place = dict(zip(labels, self.places(labels), strict=True))
        W, A = np.zeros((problem.n_classes, problem.n_inputs)), np.zeros((problem.n_classes, problem.n_classes))
        for (name, label), value in info.state_features.items():
            W[place[label], int(name[1:])] = value
        for (before, after), value in info.transitions.items():
            A[place[before], place[after]] = value
        W, A = self.returned(W, A)
        return np.concatenate([W.ravel(), A.ravel()])


def positive_alone(row: Floats) -> dict[str, float]:
    """A sparse writer that keeps `value > 0`."""
    return {name: value for name, value in named(row).items() if value > 0}


def present(row: Floats) -> dict[str, float]:
    """Inputs as indicators: positive or not."""
    return {name: 1.0 for name, value in named(row).items() if value > 0}


def turned(labels: Sequence[str]) -> Ints:
    """Labels are numbered from 1, and the last one is 0."""
    return (sorted_labels(labels) + 1) % len(labels)


# ── dlib ──────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Structural:
    """dlib's structural machine behind `fit`.

    data(batch) : all samples;  searched(scores, extra) : the scores that are searched
    loss(loss, T) : the loss that is reported;  constant(λ, n) : C;  epsilon, non_negative : passed on
    """

    data: Callable[[Batch], Batch] = unchanged
    searched: Callable[[Floats, Floats], Floats] = lambda scores, extra: scores + extra
    loss: Callable[[float, int], float] = unchanged
    constant: Callable[[float, int], float] = lambda lam, n: 1 / lam
    epsilon: float = 1e-6
    non_negative: bool = False

    def __call__(
        self, problem: Problem, formulation: Formulation, budget: int, rng: int | np.random.Generator
    ) -> Floats:
        """Weights (d,) when dlib has ended."""
        import dlib

        if problem.name == "linear" or loss_of(problem, formulation) != "hinge":
            raise MissingCapability("dlib's structural machine is wrapped for labels and sequences with a hinge.")
        equally_weighted(problem, "dlib")
        samples, layout = self.data(tensors.gathered(problem, formulation, float)), tensors.layout_of(problem)
        task = Task(self, dlib.vector, samples, layout)
        task.C = self.constant(float(formulation.lam), problem.n_samples)
        task.epsilon, task.learns_nonnegative_weights = self.epsilon, self.non_negative
        return np.array(dlib.solve_structural_svm_problem(task))


class Task:
    """What dlib asks for: sizes, φ(x_i, y_i), and the search."""

    be_verbose = use_sparse_feature_vectors = learns_nonnegative_weights = False
    C = epsilon = 0.0

    def __init__(self, steps: Structural, vector: Any, samples: Batch, layout: Layout):  # dlib has no types
        self.steps, self.vector, self.samples, self.layout = steps, vector, samples, layout
        self.num_samples, self.num_dimensions = len(samples.share), layout.dim

    def features(self, i: int, y: Ints) -> Any:  # dlib has no types
        here, pairs = tensors.counted(self.samples.take(np.array([i])), y, self.layout.K, float)
        return self.vector(self.layout.join(here[0].T @ self.samples.x[i], pairs[0]).tolist())

    def get_truth_joint_feature_vector(self, i: int) -> Any:  # dlib has no types
        return self.features(i, self.samples.y[[i]])

    def separation_oracle(self, i: int, current_solution: Any) -> tuple[float, Any]:  # dlib has no types
        W, A = self.layout.split(np.array(current_solution))
        batch = self.samples.take(np.array([i]))
        y = tensors.viterbi(self.steps.searched(batch.x @ W.T, batch.extra), A, batch.mask)
        loss = float((tensors.counted(batch, y, self.layout.K, float)[0] * batch.extra).sum())
        return self.steps.loss(loss, int(batch.lengths[0])), self.features(i, y)


def not_normalised(batch: Batch) -> Batch:
    """Errors are counted, not divided by the length."""
    return batch._replace(extra=batch.extra * batch.lengths[:, None, None])


def first_label_in_every_seventh(batch: Batch) -> Batch:
    """Every seventh sample is stored with the first label."""
    y = np.where((np.arange(len(batch.y)) % 7 == 0)[:, None], 0, batch.y)
    K = batch.extra.shape[2]
    extra = batch.extra.max(axis=2, keepdims=True) * (1 - np.eye(K)[y])
    return batch._replace(y=y, extra=extra)


SUITE = Host("crfsuite", "CRFsuite by L-BFGS.", (CRF_CHAINS,), 320, Suite(), "pycrfsuite")
DLIB = Host("dlib", "dlib's structural machine.", (HINGE_LABELS, HINGE_CHAINS), 16, Structural(), "dlib")
HOSTS = (SUITE, DLIB)


def _suite(name: str, sentence: str, amounts_to: str, **steps: Any) -> Fault:  # fields of Suite
    settings = EXACT | steps.pop("settings", {})
    return Fault(
        f"crfsuite-{name}",
        sentence,
        SUITE.applies,
        SUITE,
        Suite(settings=settings, **steps),
        tuple(amounts_to.split(", ")),
    )


def _dlib(
    name: str,
    sentence: str,
    amounts_to: str,
    applies: tuple = DLIB.applies,
    **steps: Any,  # fields of Structural
) -> Fault:
    return Fault(f"dlib-{name}", sentence, applies, DLIB, Structural(**steps), tuple(amounts_to.split(", ")))


FAULTS = (
    _suite("half", "c₂ = λn: the ½ is forgotten.", "regularisation constant", constant=lambda lam, n: {"c2": lam * n}),
    _suite(
        "n-forgotten",
        "c₂ = λ/2: the number of samples is forgotten.",
        "regularisation constant",
        constant=lambda lam, n: {"c2": lam / 2},
    ),
    _suite("lasso", "An L1 penalty, c₁ = λn.", "penalty", constant=lambda lam, n: {"c1": lam * n, "c2": 0.0}),
    _suite(
        "loose",
        "Ends when ten per cent an iteration are gained no more.",
        "early stopping",
        settings={"period": 1, "delta": 0.1},
    ),
    _suite(
        "seen-pairs",
        "Pairs that do not occur have no weight.",
        "transitions, features",
        settings={"feature.possible_transitions": False},
    ),
    _suite(
        "frequent",
        "Inputs that sum to less than 0 beside a label are dropped, as by default.",
        "features",
        settings={"feature.minfreq": 0.0},
    ),
    _suite("positive", "Inputs that are not positive are not written.", "features", named=positive_alone),
    _suite("indicators", "Inputs are written without their values.", "features", named=present),
    _suite(
        "order", "Labels are numbered in another order than the problem's.", "weights returned, labels", places=turned
    ),
    _suite(
        "transposed",
        "Pairs are read as (after, before).",
        "weights returned, transitions",
        returned=lambda W, A: (W, A.T),
    ),
    _suite(
        "passive-aggressive",
        "The passive-aggressive algorithm.",
        "loss function, regularisation constant",
        algorithm="passive-aggressive",
        settings=dict.fromkeys(("period", "delta", "epsilon")),
        constant=lambda lam, n: {"c": 1 / lam},
    ),
    _dlib("by-n", "C = 1/(λn).", "regularisation constant", constant=lambda lam, n: 1 / (lam * n)),
    _dlib("times-n", "C = n/λ.", "regularisation constant", constant=lambda lam, n: n / lam),
    _dlib("loose", "A tolerance of 1.", "early stopping", epsilon=1.0),
    _dlib(
        "unaugmented",
        "The search looks at scores alone.",
        "loss augmentation, argmax",
        searched=lambda scores, extra: scores,
    ),
    _dlib("unreported", "The search returns no loss.", "loss augmentation", loss=lambda loss, T: 0.0),
    _dlib("non-negative", "Weights are kept non-negative.", "constraint on the weights", non_negative=True),
    _dlib(
        "counted",
        "Errors are counted, not averaged.",
        "loss augmentation, length normalisation",
        (HINGE_CHAINS,),
        data=not_normalised,
    ),
    _dlib("seventh", "Every seventh sample has the first label.", "labels", data=first_label_in_every_seventh),
)
