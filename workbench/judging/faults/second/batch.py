"""Smooth objectives by SciPy's L-BFGS on all samples at once, in float64, and mistakes in its objective.

F(w) = λ/2‖w‖² + (1/n) Σ n p_i h_i(w),     ∇F(w) = λw + (1/n) Σ n p_i ∇h_i(w)

It lends ∇h_i for audits, by the functions that make ∇F.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Floats, Formulation, Problem
from workbench.errors import MissingCapability
from workbench.judging.faults.second import tensors
from workbench.judging.faults.second.adam import unchanged
from workbench.judging.faults.second.contract import (
    CRF_CHAINS,
    CRF_LABELS,
    LIKELIHOODS,
    SQUARED_RISK,
    Case,
    Fault,
    Host,
    loss_of,
)
from workbench.judging.faults.second.tensors import Batch, Derivatives, Head

SMOOTH = (*LIKELIHOODS, SQUARED_RISK)
CLOSE = {"ftol": 1e-15, "gtol": 1e-9}


def both(w: Floats, lam: float) -> tuple[float, Floats]:
    """λ/2‖w‖² and its gradient."""
    return lam / 2 * float(w @ w), lam * w


@dataclass(frozen=True)
class Descent:
    """L-BFGS; `data`, `head` and `penalty` are the parts of F, `options` and `bounds` go to SciPy."""

    data: Callable[[Batch], Batch] = unchanged
    head: Callable[[Head], Head] = unchanged
    penalty: Callable[[Floats, float], tuple[float, Floats]] = both
    passes: Callable[[int], int] = unchanged
    options: dict[str, float] = field(default_factory=lambda: CLOSE)
    bounds: tuple[float | None, float | None] = (None, None)

    def __call__(
        self, problem: Problem, formulation: Formulation, budget: int, rng: int | np.random.Generator
    ) -> Floats:
        """Weights (d,) after at most `budget` iterations."""
        from scipy.optimize import minimize

        head, layout, lam = self._head(problem, formulation), tensors.layout_of(problem), float(formulation.lam)
        samples = self.data(tensors.gathered(problem, formulation, float))

        def objective(w: Floats) -> tuple[float, Floats]:
            gradient, value = tensors.mean_slope(layout, samples, w, head)
            more, slope = self.penalty(w, lam)
            return value + more, gradient + slope

        box = [self.bounds] * layout.dim if self.bounds != (None, None) else None
        options = {"maxiter": self.passes(budget), "maxfun": 3 * self.passes(budget), **self.options}
        return minimize(objective, np.zeros(layout.dim), jac=True, method="L-BFGS-B", bounds=box, options=options).x

    def _head(self, problem: Problem, formulation: Formulation) -> Head:
        if loss_of(problem, formulation) == "hinge":
            raise MissingCapability("L-BFGS wants derivatives; choose a likelihood or the squared loss.")
        return self.head(tensors.head_of(problem, formulation))

    def subgradient(self, problem: Problem, formulation: Formulation, theta: Floats, i: int) -> Floats:
        """∇h_i(θ) (d,), of sample i as `data` leaves it; all samples have share 1 when they are loaded."""
        head, layout, at = self._head(problem, formulation), tensors.layout_of(problem), np.array([i])
        samples = tensors.gathered(problem, formulation, float).unweighted()
        loaded = self.data(samples)
        joined = len(loaded.share) < len(samples.share)  # sample i is no more; alone, it is joined to nothing
        one = self.data(samples.take(at)) if joined else loaded.take(at)
        return tensors.mean_slope(layout, one, theta, head)[0]


# ── mistakes ──────────────────────────────────────────────────────────────────────────────────────


def without_last_position(batch: Batch) -> Batch:
    """`range(T − 1)`: the last position of every longer sequence is left out."""
    following = np.append(batch.mask[:, 1:], np.zeros((len(batch.mask), 1), bool), axis=1)
    mask = batch.mask & (following | (batch.lengths == 1)[:, None])
    return batch._replace(mask=mask)


def one_long_sequence(batch: Batch) -> Batch:
    """Sequences are joined end to end, and pairs counted across their borders."""
    x, y, extra = (part[batch.mask][None] for part in (batch.x, batch.y, batch.extra))
    share = np.full(1, 1 / len(batch.share))
    return Batch(x, y, np.ones(y.shape, bool), extra, share, share)


def most_common_relabelled(batch: Batch) -> Batch:
    """Every tenth sample has label 0, as a missing value does."""
    y = np.where((np.arange(len(batch.y)) % 10 == 9)[:, None], 0, batch.y)
    return batch._replace(y=y)


def given_true_neighbours(head: Head) -> Head:
    """The pseudo-likelihood: each position by itself, its neighbours as they are in the truth."""

    def pseudo(batch: Batch, scores: NDArray, A: NDArray) -> Derivatives:
        K, mask = scores.shape[2], batch.mask
        truth = np.eye(K)[batch.y] * mask[:, :, None]
        before, after = np.zeros_like(truth), np.zeros_like(truth)
        before[:, 1:], after[:, :-1] = truth[:, :-1], truth[:, 1:]
        local = scores + before @ A + after @ A.T
        log_q = local - tensors.log_sum_exp(local, 2)[:, :, None]
        ds = (np.exp(log_q) - truth) * mask[:, :, None]
        return ds, before.transpose(0, 2, 1) @ ds + ds.transpose(0, 2, 1) @ after, -(truth * log_q).sum(axis=(1, 2))

    return pseudo


def clipped_scores(head: Head) -> Head:
    """Scores are cut to [−1, 1] so that no exponential overflows."""

    def cut(batch: Batch, scores: NDArray, A: NDArray) -> Derivatives:
        ds, dA, value = head(batch, np.clip(scores, -1, 1), A)
        return ds * (np.abs(scores) <= 1), dA, value

    return cut


def absolute_residuals(head: Head) -> Head:
    """Huber's loss with its corner at 0.1 in place of the squared one."""

    def huber(batch: Batch, scores: NDArray, A: NDArray) -> Derivatives:
        ds, dA, value = head(batch, scores, A)
        size = np.sqrt(2 * value)
        return np.clip(ds, -0.1, 0.1), dA, np.where(size <= 0.1, value, 0.1 * size - 0.005)

    return huber


def value_alone(w: Floats, lam: float) -> tuple[float, Floats]:
    """The penalty is in the value and not in the gradient."""
    return both(w, lam)[0], np.zeros_like(w)


def gradient_alone(w: Floats, lam: float) -> tuple[float, Floats]:
    return 0.0, both(w, lam)[1]


def quarter(w: Floats, lam: float) -> tuple[float, Floats]:
    return both(w, lam / 4)


def by_dimension(w: Floats, lam: float) -> tuple[float, Floats]:
    """The mean of the squared weights, not their sum."""
    return both(w, lam / len(w))


HOST = Host("l-bfgs", "SciPy's L-BFGS in float64.", SMOOTH, 200, Descent())


def _fault(
    name: str,
    sentence: str,
    applies: tuple[Case, ...],
    amounts_to: str,
    **steps: Any,  # fields of Descent
) -> Fault:
    return Fault(f"l-bfgs-{name}", sentence, applies, HOST, Descent(**steps), tuple(amounts_to.split(", ")))


CHAINS = (CRF_CHAINS,)
FAULTS = (
    _fault(
        "loose", "Ends when an iteration gains less than a tenth of F.", SMOOTH, "early stopping", options={"ftol": 0.1}
    ),
    _fault("two-iterations", "Two iterations, whatever the budget.", SMOOTH, "early stopping", passes=lambda budget: 2),
    _fault(
        "value",
        "The gradient lacks the penalty.",
        SMOOTH,
        "gradient, regularisation constant, early stopping",
        penalty=value_alone,
    ),
    _fault(
        "slope",
        "The value lacks the penalty.",
        SMOOTH,
        "gradient, regularisation constant, early stopping",
        penalty=gradient_alone,
    ),
    _fault("quarter", "λ/4 is minimised with.", SMOOTH, "regularisation constant", penalty=quarter),
    _fault(
        "mean-of-squares",
        "The penalty is the mean of the squares.",
        SMOOTH,
        "regularisation constant",
        penalty=by_dimension,
    ),
    _fault("non-negative", "Weights are kept non-negative.", SMOOTH, "constraint on the weights", bounds=(0, None)),
    _fault("box", "Weights are kept within ±0.2.", SMOOTH, "constraint on the weights", bounds=(-0.2, 0.2)),
    _fault("clipped-scores", "Scores are cut to ±1.", LIKELIHOODS, "loss function, arithmetic", head=clipped_scores),
    _fault(
        "every-tenth",
        "Every tenth sample has the first label.",
        (CRF_LABELS, CRF_CHAINS),
        "labels",
        data=most_common_relabelled,
    ),
    _fault("pseudo", "The pseudo-likelihood.", CHAINS, "loss function", head=given_true_neighbours),
    _fault(
        "last-position",
        "Last positions are left out.",
        CHAINS,
        "data used, length normalisation",
        data=without_last_position,
    ),
    _fault(
        "joined", "Sequences are joined into one.", CHAINS, "transitions, padding, data used", data=one_long_sequence
    ),
    _fault("huber", "Huber's loss.", (SQUARED_RISK,), "loss function", head=absolute_residuals),
)
