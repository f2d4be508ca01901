"""A training loop as PyTorch users write it: shuffled mini-batches, Adam, float32, a schedule for the learning rate.

    g ← (1/B) Σ n p_i ∇h_i(w) + λ w,     m ← β₁m + (1 − β₁)g,     v ← β₂v + (1 − β₂)g²
    w ← w − rate_t · m̂/(√v̂ + ε),         rate_t = rate₀ · 10^(−4 t/steps)

with rate₀ = √(2F(0)/λ)/(10√d): the optimum has λ/2‖w‖² ≤ F(0), and Adam moves each of d weights by about rate_t a step.
Batches are as equal as possible: a last batch of two samples would weigh as much as a batch of eight. Returned: the
last w. Each step of the loop is a field; a fault replaces one of them.

The loop lends its steps for audits: `subgradient`, and `iterates` where it returns a mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from workbench.contracts import Floats, Formulation, Ints, Problem
from workbench.judging.faults.second import tensors
from workbench.judging.faults.second.tensors import Batch, Head, Layout

DECADES = 4.0
LENT_PASSES = 4  # of the run whose iterates are lent
Value = TypeVar("Value")


class Clock(NamedTuple):
    """Where a run is: `epoch` of `epochs`, `step` of `steps`, λ, and the layout of w."""

    epoch: int
    epochs: int
    step: int
    steps: int
    lam: float
    layout: Layout
    rng: np.random.Generator


def unchanged(value: Value, *_: object) -> Value:
    return value


def shuffled(n: int, size: int, clock: Clock) -> list[Ints]:
    """All samples once, in random order, in equal batches of at most `size`."""
    return np.array_split(clock.rng.permutation(n), -(-n // size))


def squared_norm(w: NDArray, clock: Clock) -> NDArray:
    """∇ λ/2 ‖w‖²."""
    return clock.lam * w


def decayed(clock: Clock) -> float:
    """The share of rate₀ at this step: from 1 to 10^−DECADES."""
    return 10 ** (-DECADES * clock.step / clock.steps)


def last(mean: NDArray, w: NDArray, clock: Clock) -> NDArray:
    """What is returned if this step was the last one."""
    return w


class Adam:
    """First and second moments of the gradient, corrected for their start at 0."""

    beta1, beta2, epsilon = 0.9, 0.999, 1e-8

    def __init__(self, size: int, dtype: DTypeLike):
        self.m, self.v, self.t = np.zeros(size, dtype), np.zeros(size, dtype), 0

    def step(self, w: NDArray, g: NDArray, rate: float, clock: Clock) -> NDArray:
        self.t += 1
        self.m = self.beta1 * self.m + (1 - self.beta1) * g
        self.v = self.beta2 * self.v + (1 - self.beta2) * g * g
        m, v = self.m / (1 - self.beta1**self.t), self.v / (1 - self.beta2**self.t)
        return w - rate * m / (np.sqrt(v) + self.epsilon)


@dataclass(frozen=True)
class Loop:
    """The loop; each field is one of its steps, clean by default.

    data(batch, rng) : all samples before training;     seen(batch, clock) : a mini-batch when it is loaded
    sampler(batch, rng) : the samples that are drawn from, and the share of each in the mean
    batches(n, size, clock) : the samples of each mini-batch of a pass
    head(clean head) : the head that is used;           model(layout, batch, w, head) : gradient and value
    change(g, clock) : what is done to the gradient of the terms;   penalty(w, clock) : the gradient that is added to it
    rate(clock) : the share of rate₀;                   keep(mean, w, clock) : what is returned
    returned(w, layout) : the weights in the order of the problem
    """

    data: Callable[..., Batch] = unchanged
    sampler: Callable[..., Batch] = unchanged
    seen: Callable[..., Batch] = unchanged
    batches: Callable[..., list[Ints]] = shuffled
    head: Callable[[Head], Head] = unchanged
    model: Callable[..., tuple[NDArray, float]] = tensors.mean_slope
    penalty: Callable[..., NDArray] = squared_norm
    change: Callable[..., NDArray] = unchanged
    optimiser: type[Adam] = Adam
    rate: Callable[[Clock], float] = decayed
    keep: Callable[..., NDArray] = last
    returned: Callable[..., NDArray] = unchanged
    size: int = 8
    dtype: type[np.floating] = np.float32

    def __call__(
        self, problem: Problem, formulation: Formulation, budget: int, rng: int | np.random.Generator
    ) -> NDArray:
        """Weights (d,) after `budget` passes."""
        for mean, _, layout in self._run(problem, formulation, budget, np.random.default_rng(rng)):
            returned = mean, layout
        return np.asarray(self.returned(*returned), float)

    def _run(
        self, problem: Problem, formulation: Formulation, budget: int, rng: np.random.Generator
    ) -> Iterator[tuple[NDArray, NDArray, Layout]]:
        """What is kept, w, and the layout of both: at the start, and after each step."""
        clean, lam = tensors.head_of(problem, formulation), float(formulation.lam)
        samples = self.sampler(self.data(tensors.gathered(problem, formulation, self.dtype), rng), rng)
        head, layout = self.head(clean), tensors.layout_of(problem)._replace(p=samples.x.shape[2])
        n = len(samples.share)
        w = np.zeros(layout.dim, self.dtype)
        start = tensors.mean_slope(layout, samples, w, clean)[1]
        first_rate = self.dtype(np.sqrt(2 * start / lam / layout.dim) / 10)
        optimiser, mean, step, steps = self.optimiser(len(w), w.dtype), w, 0, budget * -(-n // self.size)
        yield mean, w, layout
        for epoch in range(budget):
            for index in self.batches(n, self.size, Clock(epoch, budget, step, steps, lam, layout, rng)):
                clock = Clock(epoch, budget, step, steps, lam, layout, rng)
                batch = self.seen(samples.take(index), clock)
                g = self.change(self.model(layout, batch, w, head)[0], clock) + self.penalty(w, clock)
                w = optimiser.step(w, g, first_rate * self.rate(clock), clock).astype(w.dtype)
                mean, step = self.keep(mean, w, clock), step + 1
                yield mean, w, layout

    def subgradient(self, problem: Problem, formulation: Formulation, theta: Floats, i: int) -> Floats:
        """∇h_i(θ) (d,), by the loop's own data, head and model on a batch that holds sample i alone.

        The batch is that of the first step of the first pass, with a generator seeded by i. All samples have share 1
        when they are loaded. θ and the result are in the problem's order; inputs of the loop's own have weight 0.
        What belongs to the batch and not to the sample is left out: who is drawn, clipping, the penalty, the optimiser.
        """
        own, rng = tensors.layout_of(problem), np.random.default_rng(i)
        head = self.head(tensors.head_of(problem, formulation))
        samples = self.data(tensors.gathered(problem, formulation, self.dtype).unweighted(), rng)
        layout = own._replace(p=samples.x.shape[2])
        batch = self.seen(samples.take(np.array([i])), Clock(0, 1, 0, 1, float(formulation.lam), layout, rng))
        g, _ = self.model(layout, batch, own.resized(np.asarray(theta, self.dtype), layout.p), head)
        return np.asarray(layout.resized(g, own.p), float)

    @property
    def iterates(self) -> Callable[[Problem, Formulation], Iterator[tuple[Floats, Floats, float]]] | None:
        """`averaged`, or None where the last w is returned and nothing is averaged."""
        return None if self.keep is last else self.averaged

    def averaged(self, problem: Problem, formulation: Formulation) -> Iterator[tuple[Floats, Floats, float]]:
        """(what is kept, w, 1/(t+1)) after steps t = 0, 1, … of a run of `LENT_PASSES`: the shares of a plain mean."""
        run = self._run(problem, formulation, LENT_PASSES, np.random.default_rng(0))
        for t, (mean, w, layout) in enumerate(islice(run, 1, None)):
            yield *(np.asarray(self.returned(weights, layout), float) for weights in (mean, w)), 1 / (t + 1)
