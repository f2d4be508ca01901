"""Chains in rational arithmetic: Viterbi on whole numbers, in which no rounding can hide a labelling.

Scores ⟨w, φ⟩, losses and 1/T_i are brought to one denominator: letters have the unit u, gaps g, weights the
unit v, costs the unit c, and t = lcm of the lengths. Then every score of a labelling is a whole
number over u·g·v·c·t. The recursions for margin, slack and rival are the trusted checker's own
(proofs/checker/outputs/_viterbi.py); free is margin's without loss, labels of positive cost forbidden.
What is forbidden or out of reach scores −F, with F beyond the spread of all scores.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.rationals import Entries, Ratios, Rows, ratios
from workbench.contracts import Ints
from workbench.proofs.checker.outputs._viterbi import by_total_cost, floor_of, highest, highest_other, part


class Scores(NamedTuple):
    """θ (N, K) of a batch's letters, A (1 or N, K, K) and each truth's score (m,), whole over `unit`."""

    unary: NDArray
    transitions: NDArray
    own: NDArray
    unit: int

    def times(self, factor: int) -> Scores:
        return Scores(self.unary * factor, self.transitions * factor, self.own * factor, self.unit * factor)

    @property
    def forbidden(self) -> int:
        """−F."""
        return floor_of(self.unary, self.transitions)

    def highest(self, offsets: Ints) -> NDArray:
        """The highest score of any labelling of each sequence, less its truth's (m,)."""
        found = [
            highest(self.unary[start:stop], part(self.transitions, start, stop)) for start, stop in pairwise(offsets)
        ]
        return np.array(found, object) - self.own


class ExactChain:
    """The exact view of a `Chain` (contract: rationals.ExactOutputs)."""

    def __init__(self, problem: Any):
        self.chain, self.letters, self.cost = problem, Rows(problem.letters), ratios(problem.cost)
        self.gaps = ratios(problem.gaps)  # of unit 1 if they are constants
        self.divisors = [int(d) for d in problem.divisors]
        self.lcm = math.lcm(*self.divisors)
        self.shares = np.array([self.lcm // d for d in self.divisors], object)  # lcm/T_i
        self.least_loss = min(
            (Fraction(int(c), self.cost.unit * d) for d, c in self.cheapest() if c), default=Fraction(1 << 2000)
        )

    def cheapest(self) -> list[tuple[int, int]]:
        """(T_i, least positive whole cost of a label of sample i, 0 if none) for every sample."""
        none = 1 << 2000
        least = np.where(self.cost.whole > 0, self.cost.whole, none).min(axis=1)[self.chain.labels]
        lows = np.minimum.reduceat(least, self.chain.offsets[:-1])
        return [(d, 0 if c == none else c) for d, c in zip(self.divisors, lows, strict=True)]

    def fault(self, samples: Ints, outputs: Ints) -> int | None:
        within = self.chain.within(self.chain.lengths[samples])
        wrong = np.where(within, (outputs < 0) | (outputs >= self.chain.n_classes), outputs != -1).any(axis=1)
        return int(wrong.argmax()) if wrong.any() else None

    def slopes(self, samples: Ints, outputs: Ints) -> Entries:
        """Letters whose label differs, once added and once taken away; then pairs that differ."""
        k, p = self.chain.n_classes, self.chain.n_inputs
        truth = self.chain.truth[samples]
        cut, t = np.nonzero(outputs != truth)
        number, columns, values = self.letters.entries(self.chain.offsets[samples[cut]] + t)
        there, here = outputs[cut, t][number], truth[cut, t][number]
        two, after = np.nonzero((outputs[:, 1:] != truth[:, 1:]) | (outputs[:, :-1] != truth[:, :-1]))
        inside = after + 1 < self.chain.lengths[samples[two]]
        two, after = two[inside], after[inside]
        q, gaps = self.chain.n_pairs, self.gaps.whole[self.chain.offsets[samples[two]] + after + 1]
        kinds = [each[two, after] * k + each[two, after + 1] for each in (outputs, truth)]
        pairs = [(k * p + kind[:, None] * q + np.arange(q)).ravel() for kind in kinds]
        two, counts, values = np.repeat(two, q), gaps.ravel() * self.letters.unit, values * self.gaps.unit
        return Entries(
            np.concatenate([cut[number], cut[number], two, two]),
            np.concatenate([columns + there * p, columns + here * p, *pairs]),
            np.concatenate([values, -values, counts, -counts]),
            self.letters.unit * self.gaps.unit,
        )

    def loss(self, samples: Ints, outputs: Ints) -> Ratios:
        within = self.chain.within(self.chain.lengths[samples])
        costs = np.zeros(outputs.shape, object)
        costs[within] = self.cost.whole[self.chain.truth[samples][within], outputs[within]]
        return Ratios(costs.sum(axis=1) * self.shares[samples], self.cost.unit * self.lcm)

    def scores(self, w: Ratios, samples: Ints) -> tuple[Scores, Ints, Ints]:
        """The scores of a batch, its own offsets (m + 1,) and the labels of its letters."""
        k, p = self.chain.n_classes, self.chain.n_inputs
        at, offsets = self.chain.positions(samples)
        at = np.arange(len(self.chain.labels))[at]
        unary = self.letters.scores(at, w.whole[: k * p].reshape(k, p))
        unary, transitions = unary * self.gaps.unit, self.transitions(w.whole[k * p :], at) * self.letters.unit
        labels = self.chain.labels[at]
        own = unary[np.arange(len(at)), labels]
        later = np.setdiff1d(np.arange(len(at)), offsets)
        steps = np.broadcast_to(transitions, (len(at), k, k))
        own[later] += steps[later, labels[later - 1], labels[later]]
        unit = self.letters.unit * self.gaps.unit * w.unit
        return Scores(unary, transitions, np.add.reduceat(own, offsets[:-1]), unit), offsets, labels

    def transitions(self, A: NDArray, at: Ints) -> NDArray:
        """A_ab of the gaps before these letters (N, K, K), whole over the units of both; (1, K, K) of constants."""
        k = self.chain.n_classes
        if not self.chain.paired:
            return A.reshape(1, k, k)
        return (self.gaps.whole[at] @ A.reshape(k * k, -1).T).reshape(-1, k, k)

    def margin(self, w: Ratios, samples: Ints) -> Ratios:
        at, offsets = self.chain.positions(samples)
        shares = np.repeat(self.shares[samples], np.diff(offsets))
        losses = self.cost.whole[self.chain.labels[at]] * shares[:, None]
        return self.augmented(w, samples, Ratios(losses, self.cost.unit * self.lcm))

    def augmented(self, w: Ratios, samples: Ints, table: Ratios) -> Ratios:
        scores, offsets, _ = self.scores(w, samples)
        added, scores = table.whole * scores.unit, scores.times(table.unit)
        return Ratios(scores._replace(unary=scores.unary + added).highest(offsets), scores.unit)

    def free(self, w: Ratios, samples: Ints) -> Ratios:
        scores, offsets, labels = self.scores(w, samples)
        unary = scores.unary + np.where(self.cost.whole[labels] > 0, np.array(scores.forbidden, object), 0)
        return Ratios(scores._replace(unary=unary).highest(offsets), scores.unit)

    def rival(self, w: Ratios, samples: Ints) -> Ratios:
        scores, offsets, labels = self.scores(w, samples)
        floor = scores.forbidden
        found = [
            highest_other(scores.unary[start:stop], part(scores.transitions, start, stop), labels[start:stop], floor)
            for start, stop in pairwise(offsets)
        ]
        return Ratios(np.array(found, object) - scores.own, scores.unit)

    def slack(self, w: Ratios, samples: Ints) -> Ratios:
        scores, offsets, labels = self.scores(w, samples)
        costs, floor = self.chain.levels[0][labels], scores.forbidden
        found = []
        for i, (start, stop) in enumerate(pairwise(offsets)):
            steps = part(scores.transitions, start, stop)
            best = by_total_cost(scores.unary[start:stop], steps, costs[start:stop], floor)
            gains = scores.unit + best - scores.own[i]
            found.append(max(e * int(self.shares[samples[i]]) * gain for e, gain in enumerate(gains)))  # ≥ 0, at e = 0
        return Ratios(np.array(found, object), scores.unit * self.lcm)
