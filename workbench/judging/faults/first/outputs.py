"""Faults of the oracle, which finds another output than the highest one, and of the loss."""

from __future__ import annotations

import numpy as np

from workbench.contracts import Floats, Ints
from workbench.judging.faults.planting import both, fault, without
from workbench.judging.faults.views import Words


def greedy(self: Words, best: Floats, pairs: Floats, scores: Floats) -> tuple[Floats, Ints]:
    """Every label follows the label that led before."""
    leader = int(best.argmax())
    return best[leader] + pairs[leader] + scores, np.full(self.k, leader)


OUTPUTS = [
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
]
