"""Faults to plant in the learners of `_plain_learners.py`, one at a time: a fault is what one small method becomes.

`self.clean` is the learner as it was, so `self.clean.loss(i, y) / 2` is the right loss, halved. Kinds:

    oracle     another output than the highest one is found        loss       a wrong loss
    features   wrong slopes                                       scaling    λ, 1/n, weights: another trade-off
    step       wrong lengths or directions of steps               average    a wrong average
    projection onto the wrong set, or in the wrong metric         sampling   not all samples, or not as drawn
    dual       dual weights, offsets or the Gram matrix wrong      report     what is returned is not what was learned
    number     too few digits                                     stop       ends before it is done

Each says what evidence about it is right, by what it means and not by what a judge says: the convention of
judging/conventions.py that it amounts to (`λ` is another λ without a reason), the audits of judging/audits.py
that must contradict it where the learner lends what they ask for (`dual`: its dual weights), or nothing beyond
the excess. A wrong output is no argmax, and its slope no subgradient; a wrong feature makes both wrong.

No fault here only slows a learner down: each settles where the objective is higher (`cutbench bench planted-bugs`
measures by how much), or never settles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Fault:
    """`methods` in place of a learner's own; `hosts` are the learners, "METHOD: FAMILY FAMILY; METHOD: …".

    evidence : what the fault amounts to, with commas: names of conventions and audits, any of which is right
    """

    name: str
    kind: str
    hosts: str
    methods: dict[str, Any]
    evidence: str = ""

    @property
    def right(self) -> list[str]:
        """The names in `evidence`; without one, there is none beyond the excess."""
        return [each.strip() for each in self.evidence.split(",") if each]

    def pairs(self) -> list[tuple[str, str]]:
        """(method, family) of all hosts."""
        split = (host.split(":") for host in self.hosts.split(";"))
        return [(method.strip(), family) for method, families in split for family in families.split()]


def fault(name: str, kind: str, hosts: str, evidence: str = "", **methods: Any) -> Fault:
    return Fault(name, kind, hosts, methods, evidence)


def both(first: Callable[..., Any], second: Callable[..., Any]) -> Callable[..., None]:
    """A method that does one thing after the other."""

    def method(self: Any, *given: Any) -> None:
        first(self, *given)
        second(self, *given)

    return method


def spared(self: Any, w: Any) -> Any:
    """λw but for the last coordinate."""
    return self.lam * np.append(w[:-1], 0.0)


def without(values: Any, index: int, by: float = 0.0) -> Any:
    """The same with another number at `index`."""
    changed = np.array(values)
    changed[index] = by
    return changed


def sample_of(self: Any, row: int) -> int:
    """The sample that an output's row belongs to."""
    return int(np.searchsorted(self.ends, row, side="right")) - 1


def of_sample(self: Any, step: float, up: int, down: int) -> None:
    """Refreshes the margins of one sample's outputs only."""
    rows = slice(*self.ends[(i := sample_of(self, up)) : i + 2])
    self.m[rows] -= step * (self.K[rows, up] - self.K[rows, down])


def stop_if_same(self: Any, k: int) -> None:
    """Stops once a pass changed no prediction."""
    guess = [int((A @ self.w).argmax()) for A in self.slopes]
    self.stopped, self.guess = guess == getattr(self, "guess", None), guess


def stop_if(small: Callable[[Any], bool]) -> Callable[[Any, int], None]:
    def check(self: Any, k: int) -> None:
        self.stopped = small(self)

    return check


def blank_ends(self: Any, problem: Any, formulation: Any) -> None:
    for word in self.words:
        word[-1] = 0


def late_shrinkage(self: Any, k: int) -> None:
    self.w = self.w - self.rate() * self.lam * self.w


def momentum(self: Any, i: int) -> Any:
    """The slope with momentum 0.7, not normalised; the shrinkage without."""
    self.speed = 0.7 * getattr(self, "speed", 0.0) + self.slope(i)
    return self.shrinkage() + self.speed


def clipped(self: Any, i: int) -> Any:
    g = self.clean.direction(i)
    return g / max(1.0, np.linalg.norm(g))


def greedy(self: Any, best: Any, pairs: Any, scores: Any) -> Any:
    """Every label follows the label that led before."""
    leader = int(best.argmax())
    return best[leader] + pairs[leader] + scores, np.full(self.k, leader)


def note(self: Any, i: int) -> Any:
    g = self.clean.slope(i)
    self.hit = bool(g.any())
    return g


def of_mistakes(self: Any) -> None:
    """Sums over the visits that were mistakes, divided by all visits."""
    self.mean = self.mean + (self.hit * self.w - self.mean) / self.t


def onto_l1(self: Any, w: Any) -> Any:
    """The nearest point with ‖w‖₁ ≤ radius."""
    sizes = np.sort(abs(w))[::-1]
    levels = (np.cumsum(sizes) - self.radius) / np.arange(1, len(w) + 1)
    return np.sign(w) * np.maximum(abs(w) - max(0.0, levels.max()), 0)


def active(self: Any) -> Any:
    """The samples that had a mistake in the first pass."""
    if not hasattr(self, "kept"):
        self.kept = np.arange(self.n)
    elif len(self.kept) == self.n:
        self.kept = np.flatnonzero(self.alpha[self.ends[:-1] + self.own] < 1)
    return self.rng.permutation(self.kept)


FAULTS = [
    # ── oracle ────────────────────────────────────────────────────────────────────────────────────
    fault(
        "argmax without loss",
        "oracle",
        "subgradient: multiclass chain; bcfw: matching",
        evidence="no loss augmentation, oracle, subgradient",
        argmax=lambda self, i, w: int((self.slopes[i] @ w).argmax()),
    ),
    fault(
        "loss subtracted in the argmax",
        "oracle",
        "subgradient: multiclass; bcfw: matching",
        evidence="oracle, subgradient",
        scores=lambda self, i, w: self.slopes[i] @ w - self.losses[i],
    ),
    fault(
        "argmax remembered for ever",
        "oracle",
        "subgradient: multiclass chain; bcfw: chain",
        evidence="oracle, subgradient",
        argmax=lambda self, i, w: self.__dict__.setdefault("seen", {}).setdefault(i, self.clean.argmax(i, w)),
    ),
    fault(
        "first output never considered",
        "oracle",
        "subgradient: multiclass; bcfw: multiclass",
        evidence="oracle, subgradient",
        argmax=lambda self, i, w: 1 + int(self.scores(i, w)[1:].argmax()),
    ),
    fault(
        "last output never considered",
        "oracle",
        "subgradient: multiclass; bcfw: linear",
        evidence="oracle, subgradient",
        argmax=lambda self, i, w: int(self.scores(i, w)[:-1].argmax()),
    ),
    fault(
        "own output excluded",
        "oracle",
        "subgradient: multiclass linear",
        evidence="oracle, subgradient",
        argmax=lambda self, i, w: int(without(self.scores(i, w), self.own[i], -np.inf).argmax()),
    ),
    fault(
        "Viterbi follows its pointers in reading order",
        "oracle",
        "subgradient: chain; bcfw: chain",
        evidence="oracle, subgradient",
        backwards=lambda self, back: back,
    ),
    fault(
        "Viterbi reads transitions transposed",
        "oracle",
        "subgradient: chain; bcfw: chain",
        evidence="oracle, subgradient",
        forward=lambda self, best, pairs, scores: self.clean.forward(best, pairs.T, scores),
    ),
    fault(
        "Viterbi without transitions",
        "oracle",
        "bcfw: chain",
        evidence="oracle, subgradient",
        forward=lambda self, best, pairs, scores: self.clean.forward(best, 0 * pairs, scores),
    ),
    fault("greedy in place of Viterbi", "oracle", "bcfw: chain", evidence="oracle, subgradient", forward=greedy),
    fault(
        "slack rescaling's output",
        "oracle",
        "subgradient: multiclass matching",
        evidence="oracle, subgradient",
        scores=lambda self, i, w: self.losses[i] * (1 + self.slopes[i] @ w),
    ),
    # ── loss ──────────────────────────────────────────────────────────────────────────────────────
    fault(
        "cost of true and predicted label exchanged",
        "loss",
        "subgradient: multiclass; dual-ascent: multiclass",
        evidence="transposed costs, oracle, subgradient",
        loss=lambda self, i, y: self.cost[y, self.truth(i)],
    ),
    fault(
        "0/1 loss in place of costs",
        "loss",
        "bcfw: multiclass; dual-ascent: chain matching",
        evidence="no cost matrix, unit loss, oracle, subgradient",
        loss=lambda self, i, y: float(y != self.truth(i)),
    ),
    fault(
        "loss not divided by length",
        "loss",
        "subgradient: chain",
        evidence="length, oracle, subgradient",
        augmented=lambda self, i, truth: self.cost[truth],
    ),
    fault(
        "loss of the position before",
        "loss",
        "subgradient: chain",
        evidence="oracle, subgradient",
        augmented=lambda self, i, truth: self.cost[np.roll(truth, 1)] / len(truth),
    ),
    fault(
        "missed links cost nothing",
        "loss",
        "dual-ascent: matching",
        load=both(
            lambda self, problem, formulation: self.clean.load(problem, formulation),
            lambda self, problem, formulation: setattr(self, "false_negative", 0.0),
        ),
    ),
    fault(
        "loss halved",
        "loss",
        "dual-ascent: multiclass matching linear",
        evidence="loss half",
        loss=lambda self, i, y: self.clean.loss(i, y) / 2,
    ),
    # ── features ──────────────────────────────────────────────────────────────────────────────────
    fault(
        "last feature dropped",
        "features",
        "subgradient: linear; dual-ascent: linear",
        evidence="no intercept, oracle, subgradient, dual",
        features=lambda self, i, y: without(self.clean.features(i, y), -1),
    ),
    fault(
        "first feature dropped",
        "features",
        "bcfw: multiclass linear",
        evidence="zero weights, oracle, subgradient",
        features=lambda self, i, y: without(self.clean.features(i, y), 0),
    ),
    fault(
        "features of the next sample",
        "features",
        "bcfw: multiclass; lbfgs: linear",
        evidence="oracle, subgradient",
        features=lambda self, i, y: self.clean.features((i + 1) % self.n, y),
        load=both(
            lambda self, problem, formulation: self.clean.load(problem, formulation),
            lambda self, problem, formulation: setattr(self, "n", problem.n_samples),
        ),
    ),
    fault(
        "truth's features not subtracted",
        "features",
        "dual-ascent: multiclass; lbfgs: linear",
        evidence="subgradient, dual",
        differences=lambda self, i, outputs: np.array([self.features(i, y) for y in outputs]),
    ),
    fault(
        "first transition skipped",
        "features",
        "dual-ascent: chain; lbfgs: chain",
        evidence="subgradient, dual",
        neighbours=lambda self, y: self.clean.neighbours(y)[1:],
    ),
    fault(
        "transitions two apart",
        "features",
        "dual-ascent: chain; lbfgs: chain",
        evidence="subgradient, dual",
        neighbours=lambda self, y: list(zip(y[:-2], y[2:], strict=True)),
    ),
    fault(
        "transitions transposed",
        "features",
        "dual-ascent: chain; saga: chain",
        evidence="transposed transitions, subgradient, dual",
        neighbours=lambda self, y: [(after, before) for before, after in self.clean.neighbours(y)],
    ),
    fault(
        "last letter read as blank",
        "features",
        "dual-ascent: chain; gradient: chain",
        evidence="subgradient, dual",
        load=both(lambda self, problem, formulation: self.clean.load(problem, formulation), blank_ends),
    ),
    # ── scaling ───────────────────────────────────────────────────────────────────────────────────
    fault(
        "λ twice",
        "scaling",
        "subgradient: multiclass linear",
        evidence="λ twice",
        shrinkage=lambda self: 2 * self.lam * self.w,
    ),
    fault(
        "gradient of λ‖w‖²",
        "scaling",
        "saga: multiclass linear",
        evidence="λ twice",
        shrinkage=lambda self, w: 2 * self.lam * w,
    ),
    fault(
        "n forgotten in the slope",
        "scaling",
        "subgradient: multiclass matching",
        evidence="mean twice, subgradient",
        slope=lambda self, i: self.clean.slope(i) / self.n,
    ),
    fault(
        "sum of losses, not mean",
        "scaling",
        "dual-ascent: matching; lbfgs: multiclass linear",
        evidence="sum for mean, dual",
        prices=lambda self, weights: weights,
    ),
    fault(
        "divided by n twice",
        "scaling",
        "bcfw: multiclass; dual-ascent: matching; saga: linear",
        evidence="mean twice, dual",
        prices=lambda self, weights: self.clean.prices(weights) / len(weights),
    ),
    fault(
        "weights of samples ignored",
        "scaling",
        "dual-ascent: multiclass linear; lbfgs: multiclass chain",
        evidence="no sample weights, dual",
        prices=lambda self, weights: np.full(len(weights), 1 / len(weights)),
    ),
    fault(
        "1/λ taken for λ",
        "scaling",
        "bcfw: multiclass matching; gradient: linear",
        evidence="λ read as C/n",
        regularisation=lambda self, formulation: 1 / formulation.lam,
    ),
    fault(
        "half of λ",
        "scaling",
        "dual-ascent: multiclass chain; gradient: linear",
        evidence="λ half, dual",
        regularisation=lambda self, formulation: formulation.lam / 2,
    ),
    fault(
        "last weight not penalised",
        "scaling",
        "subgradient: linear",
        evidence="intercept not penalised",
        shrinkage=lambda self: spared(self, self.w),
    ),
    fault(
        "intercept not penalised", "scaling", "gradient: linear", evidence="intercept not penalised", shrinkage=spared
    ),
    fault(
        "regulariser once a pass",
        "scaling",
        "subgradient: multiclass linear",
        evidence="sum for mean",
        shrinkage=lambda self: 0.0,
        sweep=both(lambda self, k: self.clean.sweep(k), late_shrinkage),
    ),
    fault(
        "shrinks only what the slope touches",
        "scaling",
        "subgradient: multiclass linear",
        direction=lambda self, i: (s := self.slope(i)) + self.lam * self.w * (s != 0),
    ),
    fault(
        "shrinks by λ/n",
        "scaling",
        "saga: chain linear",
        evidence="sum for mean",
        shrinkage=lambda self, w: self.lam * w / self.n,
    ),
    fault(
        "temperature 2",
        "scaling",
        "lbfgs: multiclass chain; gradient: linear",
        evidence="subgradient",
        logits=lambda self, i, w: self.clean.logits(i, w) / 2,
    ),
    # ── step ──────────────────────────────────────────────────────────────────────────────────────
    fault(
        "steps fall like 1/t²", "step", "subgradient: multiclass linear", rate=lambda self: 1 / (self.lam * self.t**2)
    ),
    fault(
        "steps fall like t^−1.5",
        "step",
        "subgradient: multiclass chain",
        rate=lambda self: 1 / (self.lam * self.t**1.5),
    ),
    fault("steps never fall", "step", "subgradient: multiclass chain", rate=lambda self: 0.2 / self.lam),
    fault(
        "slope's sign wrong",
        "step",
        "subgradient: multiclass matching",
        evidence="subgradient",
        slope=lambda self, i: -self.clean.slope(i),
    ),
    fault("gradient clipped", "step", "subgradient: multiclass chain", direction=clipped),
    fault(
        "only the gradient's signs",
        "step",
        "subgradient: multiclass linear",
        direction=lambda self, i: np.sign(self.clean.direction(i)),
    ),
    fault("shrinkage outside the momentum", "step", "subgradient: multiclass linear", evidence="λ", direction=momentum),
    fault(
        "line search without λ",
        "step",
        "bcfw: chain linear",
        step=lambda self, delta, gain: float(np.clip((gain - self.w @ delta) / max(delta @ delta, 1e-300), 0, 1)),
    ),
    fault(
        "line search without loss",
        "step",
        "bcfw: multiclass matching",
        step=lambda self, delta, gain: self.clean.step(delta, 0.0),
    ),
    fault(
        "w moves by γ/n",
        "step",
        "bcfw: multiclass linear",
        evidence="mean twice",  # at rest w is 1/n of the sum of its blocks: the optimum for nλ
        follow=lambda self, w, change: w + change / self.n,
    ),
    fault("gradient without λw", "step", "lbfgs: multiclass linear", shrinkage=lambda self, w: 0 * w),
    fault(
        "gradient of the best output only",
        "step",
        "gradient: multiclass",
        evidence="subgradient",
        expected=lambda self, i, w: self.slopes[i][int(self.logits(i, w).argmax())],
    ),
    # ── average ───────────────────────────────────────────────────────────────────────────────────
    fault(
        "2 of 2/(t(t+1)) forgotten",
        "average",
        "subgradient: multiclass matching",
        evidence="averaging",
        report=lambda self: self.mean / 2,
    ),
    fault(
        "averages mistakes, divides by visits",
        "average",
        "subgradient: multiclass linear",
        evidence="averaging",
        slope=note,
        average=of_mistakes,
    ),
    fault(
        "mean of the blocks, not their sum",
        "average",
        "bcfw: chain matching",
        evidence="averaging",
        report=lambda self: self.mean / self.n,
    ),
    # ── projection ────────────────────────────────────────────────────────────────────────────────
    fault(
        "onto the sphere",
        "projection",
        "projected: multiclass chain matching",
        evidence="λ",
        projected=lambda self, w: w * self.radius / max(np.linalg.norm(w), 1e-300),
    ),
    fault(
        "radius of the whole for each weight",
        "projection",
        "projected: multiclass chain",
        evidence="λ",
        reach=lambda self: self.clean.reach() / self.d,
    ),
    fault("onto ‖w‖₁, not ‖w‖₂", "projection", "projected: chain", projected=onto_l1),
    fault(
        "onto w ≥ 0",
        "projection",
        "projected: multiclass matching",
        evidence="zero weights",
        projected=lambda self, w: np.maximum(self.clean.projected(w), 0),
    ),
    fault(
        "Euclidean, not in the metric",
        "projection",
        "adagrad: shares",
        evidence="prox",
        onto_simplex=lambda self, v, H: self.clean.onto_simplex(v, np.ones(len(v))),
    ),
    fault(
        "cut at 0 and divided by the sum",
        "projection",
        "adagrad: shares",
        evidence="prox",
        onto_simplex=lambda self, v, H: np.maximum(v, 0) / max(np.maximum(v, 0).sum(), 1e-300),
    ),
    # ── sampling ──────────────────────────────────────────────────────────────────────────────────
    fault(
        "last sample never visited",
        "sampling",
        "subgradient: multiclass linear; bcfw: linear",
        order=lambda self: self.rng.integers(self.n - 1, size=self.n),
    ),
    fault(
        "stops short of the last sample",
        "sampling",
        "dual-ascent: multiclass linear",
        order=lambda self: self.rng.permutation(self.n - 1),
    ),
    fault(
        "first half only",
        "sampling",
        "bcfw: multiclass chain linear",
        order=lambda self: self.rng.integers(self.n // 2, size=self.n),
    ),
    fault(
        "drawn by weight and weighted again",
        "sampling",
        "subgradient: chain linear",
        order=lambda self: self.rng.choice(self.n, self.n, p=self.p),
    ),
    fault(
        "generator made anew every pass",
        "sampling",
        "bcfw: multiclass chain; saga: linear",
        order=lambda self: np.random.default_rng(0).integers(self.n, size=self.n),
    ),
    # ── dual ──────────────────────────────────────────────────────────────────────────────────────
    fault(
        "steps not cut at α = 0",
        "dual",
        "dual-ascent: multiclass linear",
        evidence="dual",
        clipped=lambda self, step, up, down: step,
    ),
    fault(
        "α sums to 1/n, not to 1",
        "dual",
        "dual-ascent: multiclass matching",
        evidence="mean twice, dual",
        mass=lambda self, i: np.full(np.shape(i), 1 / self.n),
    ),
    fault(
        "Gram matrix without λ",
        "dual",
        "dual-ascent: chain linear",
        evidence="Gram matrix without λ, loss half",  # losses ℓ/λ, and λ is 2 on chains
        gram=lambda self: self.A @ self.A.T,
    ),
    fault("margins of other samples stale", "dual", "dual-ascent: multiclass linear", refresh=of_sample),
    fault(
        "loser's column forgotten",
        "dual",
        "dual-ascent: multiclass matching",
        refresh=lambda self, step, up, down: self.m.__isub__(step * self.K[:, up]),
    ),
    fault("shrinking never undone", "dual", "dual-ascent: multiclass linear", order=active),
    fault(
        "w starts at random, blocks at zero",
        "dual",
        "bcfw: multiclass chain",
        begin=lambda self: self.rng.normal(size=self.d),
    ),
    fault(
        "offsets without weights",
        "dual",
        "bcfw: multiclass matching",
        corner=lambda self, i, z: (self.clean.corner(i, z)[0], self.losses[i][z]),
    ),
    fault("mean gradient not refreshed", "dual", "saga: multiclass chain", refreshed=lambda self, i, change: self.mean),
    fault(
        "mean gradient refreshed without weights",
        "dual",
        "saga: multiclass linear",
        evidence="no sample weights",  # its table settles, and then mean + λw = 0
        refreshed=lambda self, i, change: self.mean + change / self.n,
    ),
    fault("table keeps changes", "dual", "saga: multiclass linear", kept=lambda self, new, i: new - self.table[i]),
    # ── report ────────────────────────────────────────────────────────────────────────────────────
    fault(
        "rows of W in reverse",
        "report",
        "bcfw: multiclass; lbfgs: multiclass",
        evidence="labels permuted, averaging",
        report=lambda self: self.clean.report().reshape(self.k, -1)[::-1].ravel(),
    ),
    fault(
        "W read column by column",
        "report",
        "bcfw: multiclass; lbfgs: multiclass",
        evidence="feature-major layout, averaging",
        report=lambda self: self.clean.report().reshape(-1, self.k).T.ravel(),
    ),
    fault(
        "last block left out",
        "report",
        "bcfw: multiclass linear",
        evidence="averaging",
        report=lambda self: self.blocks[:-1].sum(axis=0),
    ),
    fault(
        "weights without 1/λ",
        "report",
        "dual-ascent: chain matching",
        evidence="dual",
        report=lambda self: self.lam * self.clean.report(),
    ),
    fault(
        "weights of length 1",
        "report",
        "subgradient: multiclass linear",
        evidence="averaging",
        report=lambda self: self.mean / max(np.linalg.norm(self.mean), 1e-300),
    ),
    fault(
        "weights rounded to one digit",
        "report",
        "dual-ascent: multiclass linear",
        evidence="dual",
        report=lambda self: np.round(self.clean.report(), 1),
    ),
    # ── number ────────────────────────────────────────────────────────────────────────────────────
    fault(
        "half precision weights",
        "number",
        "subgradient: multiclass chain",
        move=both(lambda self, g: self.clean.move(g), lambda self, g: setattr(self, "w", self.w.astype(np.float16))),
    ),
    fault(
        "half precision scores",
        "number",
        "lbfgs: uncentred",
        evidence="subgradient",
        logits=lambda self, i, w: (self.slopes[i].astype(np.float16) @ w.astype(np.float16)).astype(float),
    ),
    # ── stop ──────────────────────────────────────────────────────────────────────────────────────
    fault(
        "stops once predictions stay",
        "stop",
        "gradient: multiclass linear; saga: linear",
        sweep=both(lambda self, k: self.clean.sweep(k), stop_if_same),
    ),
    fault(
        "stops at a gap divided by n",
        "stop",
        "bcfw: multiclass linear",
        sweep=both(lambda self, k: self.clean.sweep(k), stop_if(lambda self: self.claim() / self.n < 1e-2)),
    ),
    fault(
        "stops on its upper bound alone",
        "stop",
        "bcfw: multiclass linear",
        sweep=both(
            lambda self, k: self.clean.sweep(k),
            stop_if(lambda self: self.objective(self.report()) < self.objective(np.zeros(self.d))),
        ),
    ),
    # ── cost learning ─────────────────────────────────────────────────────────────────────────────
    fault(
        "costs of the wrong pair",
        "loss",
        "adagrad: costs shares",
        evidence="oracle, subgradient",
        charge=lambda self, i, y: np.roll(self.clean.charge(i, y), 1),
    ),
    fault(
        "K forgotten in the slope",
        "scaling",
        "adagrad: costs shares",
        evidence="oracle, subgradient",
        charge=lambda self, i, y: self.clean.charge(i, y) / self.K,
    ),
    fault(
        "costs never move",
        "step",
        "adagrad: costs shares",
        evidence="prox",
        costs=lambda self, v, H, eta: self.theta[self.ends[1] :],
    ),
    fault(
        "biases penalised",
        "scaling",
        "adagrad: costs shares",
        evidence="prox",
        biases=lambda self, b, eta: b / (1 + 2 * eta * self.formulation.lam2 / self.P),
    ),
    fault(
        "decay not in the metric",
        "step",
        "adagrad: costs shares",
        evidence="prox",
        shrunk=lambda self, w, eta: self.clean.shrunk(w, eta.mean()),
    ),
    fault(
        "λ of a sum taken for a mean's",
        "scaling",
        "adagrad: costs",
        evidence="mean for sum, prox",
        shrunk=lambda self, w, eta: self.clean.shrunk(w, self.P * eta),
    ),
    fault(
        "expected errors all 1",
        "scaling",
        "adagrad: costs",
        evidence="prox",
        towards_one=lambda self, v, H, eta: np.maximum((H * v + (pull := eta * self.K / self.P)) / (H + pull), 0),
    ),
    fault(
        "biases never learned",
        "features",
        "adagrad: costs",
        evidence="oracle, subgradient",
        label=lambda self, y: np.zeros(self.k),
    ),
]
