"""Motifs in rational arithmetic: every window is looked at, on whole numbers.

Features are counts, so what a window adds to the score is a whole number over the weights' unit. With s_h for that,
s_i for the true position's (0 for a negative sample) and the label −1 at 0, the maxima are

    margin  y_i = +1: max(1, max s_h) − s_i,  y_i = −1: max(0, 1 + max s_h)
    rival   y_i = +1: max(0, max over h ≠ h_i of s_h) − s_i,  y_i = −1: max s_h
    free    y_i = +1: max s_h − s_i,  y_i = −1: 0
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.rationals import Entries, Ratios
from workbench.contracts import Ints


class ExactMotif:
    """The exact view of a `Motif` with known positions (contract: rationals.ExactOutputs)."""

    least_loss = Fraction(1)

    def __init__(self, problem: Any):
        self.motif = problem

    def fault(self, samples: Ints, outputs: Ints) -> int | None:
        label, position = outputs.T
        first, last = self.motif.spans[samples].T
        placed = (first <= position) & (position <= last)
        wrong = np.where(label == 1, ~placed, (label != 0) | (position != -1))
        return int(wrong.argmax()) if wrong.any() else None

    def slopes(self, samples: Ints, outputs: Ints) -> Entries:
        problem = self.motif
        moved = (problem.features(samples, outputs) - problem.features(samples, problem.truth[samples])).tocoo()
        values = moved.data.astype(np.int64).astype(object)
        return Entries(moved.row.astype(np.int64), moved.col.astype(np.int64), values, 1)

    def loss(self, samples: Ints, outputs: Ints) -> Ratios:
        return Ratios((outputs[:, 0] != self.motif.labels[samples]).astype(int).astype(object), 1)

    def added(self, w: Ratios, samples: Ints) -> list[tuple[int, NDArray, int]]:
        """(label, what every window adds, what the truth's adds) of each sample, over the weights' unit."""
        self.motif.check_known(samples, self.motif.truth[samples])
        found = []
        for i, scores in zip(samples, self.motif.windows(w.whole, samples), strict=True):
            label, position = self.motif.truth[i]
            found.append((int(label), scores, scores[position - self.motif.spans[i, 0]] if label else 0))
        return found

    def margin(self, w: Ratios, samples: Ints) -> Ratios:
        one = w.unit
        return Ratios.of(
            [max(one, s.max()) - own if y else max(0, one + s.max()) for y, s, own in self.added(w, samples)], one
        )

    def rival(self, w: Ratios, samples: Ints) -> Ratios:
        found = []
        for i, (label, scores, own) in zip(samples, self.added(w, samples), strict=True):
            others = np.delete(scores, self.motif.truth[i, 1] - self.motif.spans[i, 0]) if label else scores
            found.append(max([0, *others]) - own if label else max(others))
        return Ratios.of(found, w.unit)

    def free(self, w: Ratios, samples: Ints) -> Ratios:
        return Ratios.of([s.max() - own if y else 0 for y, s, own in self.added(w, samples)], w.unit)
