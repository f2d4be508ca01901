"""Oracles: what a formulation asks of a problem, as cuts ⟨a, θ⟩ + o.

    MarginRescaling   h_i(w) = max_y ℓ_i(y) − ⟨w, ψ_i(y)⟩           a = −ψ_i(y),        o = ℓ_i(y)
    SlackRescaling    h_i(w) = max_y ℓ_i(y) (1 − ⟨w, ψ_i(y)⟩)       a = −ℓ_i(y) ψ_i(y), o = ℓ_i(y)
    UnitMargin        h_i(w) = max_y 1[y ≠ y_i] − ⟨w, ψ_i(y)⟩       a = −ψ_i(y),        o = 1[y ≠ y_i]
    Decoding          h_i(w) = max_y −⟨w, ψ_i(y)⟩                   a = −ψ_i(y),        o = 0
    HiddenMargin      h_i(w) = min_h max_z Δ_z − ⟨w, Φ_h − Φ_z⟩     a = Φ_z − Φ_h,      o = Δ_z       not convex

with ψ_i(y) = φ(x_i, y_i) − φ(x_i, y) (docs/mathematics.md §0, §2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from workbench.arithmetic.intervals import gamma
from workbench.arithmetic.rationals import Entries, ExactOutputs, ExactRivals, Ratios
from workbench.contracts import (
    Arranged,
    BoundedFeatures,
    Clipped,
    Exact,
    ExactLoss,
    Floats,
    Ints,
    Kernel,
    Kernelled,
    Latent,
    Listable,
    Listing,
    Missing,
    Nested,
    Problem,
    RivalKernelled,
    RunnerUp,
    SlackArgmax,
    SlackKernelled,
)
from workbench.errors import MissingCapability
from workbench.objectives.regularizers import unsigned


@dataclass(frozen=True)
class MarginRescaling:
    """The structured hinge of a problem; θ is its weight vector w (d,).

    cone : whether the formulation keeps to weights w_j ≥ 0 where the problem is `signed`; without it such problems are
        refused, for their argmax is one on that cone only
    """

    problem: Any
    cone: bool = field(default=False, kw_only=True)
    concurrent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.cone:
            unsigned(self.problem)

    @property
    def kind(self) -> str:
        return self.problem.oracle_kind

    @property
    def n_samples(self) -> int:
        return self.problem.n_samples

    @property
    def dim(self) -> int:
        return self.problem.n_features

    @property
    def width(self) -> int:
        return self.problem.width

    @property
    def least_loss(self) -> float:
        return self.problem.least_loss

    @property
    def free_outputs(self) -> bool:
        return self.problem.free_outputs

    def argmax(self, theta: Floats, samples: Ints) -> Ints:
        return self.problem.argmax(theta, samples, augment=True)

    def decode(self, theta: Floats, samples: Ints) -> Ints:
        return self.problem.argmax(theta, samples, augment=False)

    def rows(self, samples: Ints, witnesses: Ints) -> tuple[sparse.csr_array, Floats]:
        truth, loss = self.problem.truth[samples], self.problem.loss(samples, witnesses)
        wrong = np.flatnonzero((witnesses != truth).any(axis=1))
        if 2 * len(wrong) > len(samples):
            return sparse.csr_array(
                self.problem.features(samples, witnesses) - self.problem.features(samples, truth)
            ), loss
        if not len(wrong):  # a problem's features need not stand for no samples at all
            return sparse.csr_array((len(samples), self.problem.n_features)), loss
        i, y, t = samples[wrong], witnesses[wrong], truth[wrong]
        rows = self.problem.features(i, y) - self.problem.features(i, t)
        ends = np.zeros(len(samples) + 1, rows.indptr.dtype)
        ends[wrong + 1] = np.diff(rows.indptr)
        slopes = (rows.data, rows.indices, np.cumsum(ends, dtype=ends.dtype))
        return sparse.csr_array(slopes, shape=(len(samples), rows.shape[1])), loss

    # What a problem says of itself is asked once: Python looks as long for a member as a small problem computes.

    @cached_property
    def bounded_features(self) -> bool:
        return isinstance(self.problem, BoundedFeatures)

    @cached_property
    def misses(self) -> bool:
        return isinstance(self.problem, Missing)

    @cached_property
    def loss_terms(self) -> int:
        """Roundings of a loss: none where the problem says `exact_loss`."""
        return 0 if exact_loss(self.problem) else self.problem.terms

    def slope_error(self, samples: Ints) -> Floats:
        if self.bounded_features:
            return self.problem.feature_error[samples]
        hidden = 0 if self.problem.exact_features else self.problem.terms
        return gamma(hidden) * 2 * self.problem.magnitude[samples]

    def offset_error(self, samples: Ints) -> Floats:
        """A loss is a sum of ≤ k costs, divided once; zero where the problem says `exact_loss`."""
        return gamma(self.loss_terms) * self.problem.max_loss[samples]

    def exact(self) -> ExactMargin | None:
        """The same cuts and maxima in rational arithmetic, where the output structure brings them."""
        outputs = self.problem.exact() if isinstance(self.problem, Exact) else None
        return None if outputs is None else ExactMargin(outputs)

    @cached_property
    def roundings(self) -> Ints | int:
        """The roundings k that meet any one number of a score of the argmax, an array (n,) or one for all samples."""
        return self.problem.depth if isinstance(self.problem, Nested) else 2 * self.problem.terms + 8

    def rounding(self, theta: Floats) -> Floats:
        """Two scores, each a sum whose terms come to ‖w‖_∞ ‖φ‖₁ + ℓ: 2 γ_k of that; and what the search misses."""
        size = np.abs(theta).max(initial=0.0) * self.problem.magnitude + self.problem.max_loss
        missed = self.problem.missed(theta) if self.misses else 0.0
        return 2 * gamma(self.roundings) * size + missed

    def reach(self, samples: Ints) -> Floats:
        return 2 * self.problem.magnitude[samples]

    def kernel(self, arranged: bool = False) -> Kernel:
        """With `arranged` it may expect the weights in another order, which `Kernel.place` tells."""
        if arranged and isinstance(self.problem, Arranged):
            return self.problem.arranged()
        if isinstance(self.problem, Kernelled):
            return self.problem.kernel()
        return called_kernel(self)

    def listing(self) -> Listing | None:
        """All cuts as tables, where every output is one label."""
        if not isinstance(self.problem, Listable):
            return None
        return self.problem.listing(1 - np.eye(len(self.problem.cost)), self.problem.cost)


@dataclass(frozen=True)
class HiddenMargin(MarginRescaling):
    """The hinge of a problem that hides states, ξ_i(w) = min over h of the convex max_z Δ_z − ⟨w, Φ_h − Φ_z⟩, or 0.

    A witness (2·width,) is a rival z and the truth (y_i, h) in one of its states, hence a cut of that h's hinge.
    """

    @property
    def width(self) -> int:
        return 2 * self.problem.width

    def argmax(self, theta: Floats, samples: Ints) -> Ints:
        known = self.problem.completed(self.problem.impute(theta))
        return np.hstack([known.argmax(theta, samples, augment=True), known.truth[samples]])

    def rows(self, samples: Ints, witnesses: Ints) -> tuple[sparse.csr_array, Floats]:
        rivals, truths = np.hsplit(witnesses, 2)
        slopes = self.problem.features(samples, rivals) - self.problem.features(samples, truths)
        return sparse.csr_array(slopes), self.problem.loss(samples, rivals)

    def every(self, samples: Ints) -> tuple[Ints, Ints]:
        """All witnesses, state by state of each sample: samples (R,) and witnesses (R, 2·width)."""
        found = []
        for i in samples.tolist():
            outputs = self.problem.outputs(i)
            free = self.problem.loss(np.full(len(outputs), i), outputs) == 0
            rivals, truths = outputs[~free], outputs[free]
            found.append(np.hstack([np.tile(rivals, (len(truths), 1)), np.repeat(truths, len(rivals), axis=0)]))
        return np.repeat(samples, [len(each) for each in found]), np.concatenate(found)

    def exact(self) -> ExactHidden | None:
        return ExactHidden(self.problem) if isinstance(self.problem, Exact) else None

    def kernel(self, arranged: bool = False) -> Kernel:
        return called_kernel(self)

    def listing(self) -> None:
        return None


@dataclass(frozen=True)
class SlackRescaling(MarginRescaling):
    """The slack-rescaled hinge; needs the problem's `slack_argmax`."""

    concurrent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.problem, SlackArgmax):
            raise MissingCapability(
                f"slack rescaling needs slack_argmax and {type(self.problem).__name__} has none; use rescaling=margin."
            )

    def argmax(self, theta: Floats, samples: Ints) -> Ints:
        return self.problem.slack_argmax(theta, samples)

    def rows(self, samples: Ints, witnesses: Ints) -> tuple[sparse.csr_array, Floats]:
        slopes, loss = super().rows(samples, witnesses)
        return sparse.csr_array(slopes.multiply(loss[:, None])), loss

    def slope_error(self, samples: Ints) -> Floats:
        exact = self.problem.exact_features and exact_loss(self.problem)
        size = 2 * (self.problem.magnitude * self.problem.max_loss)[samples]
        if self.bounded_features:  # then losses are exact, too
            return super().slope_error(samples) * self.problem.max_loss[samples] + gamma(4) * size
        return gamma(1 if exact else 2 * self.problem.terms + 1) * size

    def exact(self) -> ExactSlack | None:
        return ExactSlack(self.problem.exact()) if isinstance(self.problem, Exact) else None

    @cached_property
    def roundings(self) -> int:
        """`Nested` speaks of scores to which losses are added, not of products with losses."""
        return 2 * self.problem.terms + 8

    def rounding(self, theta: Floats) -> Floats:
        return super().rounding(theta) * 2 * np.maximum(1.0, self.problem.max_loss)

    def reach(self, samples: Ints) -> Floats:
        return super().reach(samples) * self.problem.max_loss[samples]

    def kernel(self, arranged: bool = False) -> Kernel:
        if arranged and isinstance(self.problem, Arranged):
            return self.problem.arranged(slack=True)
        if isinstance(self.problem, SlackKernelled):
            return self.problem.slack_kernel()
        return called_kernel(self)

    def listing(self) -> Listing | None:
        if not isinstance(self.problem, Listable):
            return None
        return self.problem.listing(self.problem.cost, self.problem.cost)


@dataclass(frozen=True)
class UnitMargin(MarginRescaling):
    """Every output but the truth at margin 1, whatever its loss; needs the problem's `runner_up`."""

    least_loss: ClassVar[float] = 1.0
    free_outputs: ClassVar[bool] = False
    concurrent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.problem, RunnerUp):
            name = type(self.problem).__name__
            raise MissingCapability(
                f"unit margins need the best output but the truth and {name} has no runner_up; use hard-margin."
            )
        super().__post_init__()

    def argmax(self, theta: Floats, samples: Ints) -> Ints:
        """The runner-up where it comes within 1 of the truth or passes it, else the truth."""
        rivals, truth = self.problem.runner_up(theta, samples), self.problem.truth[samples]
        slopes, offsets = self.rows(samples, rivals)
        return np.where((slopes @ theta + offsets > 0)[:, None], rivals, truth)

    def rows(self, samples: Ints, witnesses: Ints) -> tuple[sparse.csr_array, Floats]:
        slopes, _ = super().rows(samples, witnesses)
        return slopes, (witnesses != self.problem.truth[samples]).any(axis=1).astype(float)

    def offset_error(self, samples: Ints) -> Floats:
        return np.zeros(len(samples))

    def listing(self) -> Listing | None:
        if not isinstance(self.problem, Listable):
            return None
        other = 1 - np.eye(len(self.problem.cost))
        return self.problem.listing(other, other)

    def exact(self) -> ExactUnit | None:
        outputs = exact_outputs(self.problem)
        return ExactUnit(outputs, self.problem.truth) if isinstance(outputs, ExactRivals) else None

    def rounding(self, theta: Floats) -> Floats:
        size = np.abs(theta).max(initial=0.0) * self.problem.magnitude + 1
        return 4 * gamma(2 * self.problem.terms + 8) * size

    def kernel(self, arranged: bool = False) -> Kernel:
        return self.problem.rival_kernel(arranged) if isinstance(self.problem, RivalKernelled) else called_kernel(self)


@dataclass(frozen=True)
class Decoding(MarginRescaling):
    """Prediction: no loss at all; clipped at 0 where the truth is no prediction."""

    def argmax(self, theta: Floats, samples: Ints) -> Ints:
        found, truth = self.decode(theta, samples), self.problem.truth[samples]
        if not isinstance(self.problem, Clipped):
            return found
        below = self.problem.outside[samples] & (self.rows(samples, found)[0] @ theta < 0)
        return np.where(below[:, None], truth, found)

    def rows(self, samples: Ints, witnesses: Ints) -> tuple[sparse.csr_array, Floats]:
        return super().rows(samples, witnesses)[0], np.zeros(len(samples))

    def offset_error(self, samples: Ints) -> Floats:
        return np.zeros(len(samples))

    def exact(self) -> None:
        return None

    def kernel(self, arranged: bool = False) -> Kernel:
        return self.problem.kernel(augment=False) if isinstance(self.problem, Kernelled) else called_kernel(self)


@dataclass(frozen=True)
class ExactMargin:
    """`MarginRescaling` in rational arithmetic (contract: rationals.ExactOracle)."""

    outputs: ExactOutputs

    def rows(self, samples: Ints, witnesses: Ints) -> tuple[Entries, Ratios]:
        return self.outputs.slopes(samples, witnesses), self.outputs.loss(samples, witnesses)

    def highest(self, theta: Ratios, samples: Ints) -> Ratios:
        return self.outputs.margin(theta, samples)

    @property
    def least_loss(self) -> Fraction:
        return self.outputs.least_loss

    def free(self, theta: Ratios, samples: Ints) -> Ratios:
        return self.outputs.free(theta, samples)


@dataclass(frozen=True)
class ExactSlack(ExactMargin):
    """`SlackRescaling` in rational arithmetic."""

    def rows(self, samples: Ints, witnesses: Ints) -> tuple[Entries, Ratios]:
        slopes, loss = super().rows(samples, witnesses)
        values = slopes.values * loss.whole[slopes.rows]
        return Entries(slopes.rows, slopes.columns, values, slopes.unit * loss.unit), loss

    def highest(self, theta: Ratios, samples: Ints) -> Ratios:
        return self.outputs.slack(theta, samples)


@dataclass(frozen=True)
class ExactUnit(ExactMargin):
    """`UnitMargin` in rational arithmetic; truth (n, width)."""

    outputs: ExactRivals
    truth: Ints

    least_loss: ClassVar[Fraction] = Fraction(1)

    def rows(self, samples: Ints, witnesses: Ints) -> tuple[Entries, Ratios]:
        other = (witnesses != self.truth[samples]).any(axis=1)
        return self.outputs.slopes(samples, witnesses), Ratios(other.astype(int).astype(object), 1)

    def highest(self, theta: Ratios, samples: Ints) -> Ratios:
        gains = self.outputs.rival(theta, samples)
        return Ratios(np.maximum(gains.whole + gains.unit, 0), gains.unit)

    def free(self, theta: Ratios, samples: Ints) -> Ratios:
        return Ratios(np.zeros(len(samples), object), 1)


@dataclass(frozen=True)
class ExactHidden:
    """`HiddenMargin` in rational arithmetic: ξ_i(w; h) at the states h that floats find best, so never below ξ_i(w)."""

    problem: Any

    def highest(self, theta: Ratios, samples: Ints) -> Ratios:
        point = np.array([float(each) for each in theta.fractions()])
        known = self.problem.completed(self.problem.impute(point))
        return ExactMargin(known.exact()).highest(theta, samples)


def hides(problem: Problem) -> bool:
    """Whether samples hide states, so that the truth is not known as an output."""
    return isinstance(problem, Latent) and problem.hides


def exact_outputs(problem: Problem) -> ExactOutputs | None:
    """The problem's outputs in rational arithmetic, where it has them."""
    return problem.exact() if isinstance(problem, Exact) else None


def exact_loss(problem: Problem) -> bool:
    """Whether the problem says that its losses are free of rounding."""
    return isinstance(problem, ExactLoss) and problem.exact_loss


def called_kernel(oracle: Any) -> Kernel:
    """A kernel that calls the oracle's own methods: for oracles that bring none (never compiled)."""

    def argmax_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
        sample = np.array([i])
        out[:] = oracle.argmax(theta, sample)[0]
        slopes, offsets = oracle.rows(sample, out[None, :])
        return float((slopes @ theta)[0] + offsets[0])

    def add_slope(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
        slopes, _ = oracle.rows(np.array([i]), out[None, :])
        theta[slopes.indices] += scale * slopes.data

    def slope_into(data: Any, i: int, out: Ints, indices: Ints, values: Floats) -> int:
        slopes, _ = oracle.rows(np.array([i]), out[None, :])
        indices[: slopes.nnz], values[: slopes.nnz] = slopes.indices, slopes.data
        return slopes.nnz

    return Kernel((), argmax_into, add_slope, slope_into, oracle.dim)
