"""Faults of a method: lengths and directions of steps, averages, projections, the order of samples."""

from __future__ import annotations

import numpy as np

from workbench.contracts import Floats
from workbench.judging.faults.learners import Projected, Subgradient
from workbench.judging.faults.planting import fault


def momentum(self: Subgradient, i: int) -> Floats:
    """The slope with momentum 0.7, not normalised; the shrinkage without."""
    self.speed = 0.7 * getattr(self, "speed", 0.0) + self.slope(i)  # the fault's own memory
    return self.shrinkage() + self.speed


def clipped(self: Subgradient, i: int) -> Floats:
    g = self.clean.direction(i)
    return g / max(1.0, np.linalg.norm(g))


def note(self: Subgradient, i: int) -> Floats:
    g = self.clean.slope(i)
    self.hit = bool(g.any())
    return g


def of_mistakes(self: Subgradient) -> None:
    """Sums over the visits that were mistakes, divided by all visits."""
    self.mean = self.mean + (self.hit * self.w - self.mean) / self.t


def onto_l1(self: Projected, w: Floats) -> Floats:
    """The nearest point with ‖w‖₁ ≤ radius."""
    sizes = np.sort(abs(w))[::-1]
    levels = (np.cumsum(sizes) - self.radius) / np.arange(1, len(w) + 1)
    return np.sign(w) * np.maximum(abs(w) - max(0.0, levels.max()), 0)


STEPS = [
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
]
