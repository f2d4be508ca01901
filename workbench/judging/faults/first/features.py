"""Faults of the features, and of what trades the penalty for the loss: λ, 1/n, sample weights."""

from __future__ import annotations

import numpy as np

from workbench.contracts import Floats, Formulation
from workbench.judging.faults.learners import Learner, Subgradient
from workbench.judging.faults.planting import both, fault, without
from workbench.judging.faults.views import Words
from workbench.outputs.chain import Chain


def spared(self: Learner, w: Floats) -> Floats:
    """λw but for the last coordinate."""
    return self.lam * np.append(w[:-1], 0.0)


def blank_ends(self: Words, problem: Chain, formulation: Formulation) -> None:
    for word in self.words:
        word[-1] = 0


def late_shrinkage(self: Subgradient, k: int) -> None:
    self.w = self.w - self.rate() * self.lam * self.w


FEATURES = [
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
        evidence="features half as large, subgradient",
        logits=lambda self, i, w: self.clean.logits(i, w) / 2,
    ),
]
