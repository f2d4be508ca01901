"""Matchings in rational arithmetic: the Hungarian method on whole numbers.

Edges have the unit u, weights the unit v and the two costs the unit c, so every gain of a link is a
whole number over u·v·c. The heaviest matching's weight is that of a cover, by the trusted checker's own
method (proofs/checker/outputs/_hungarian.py).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.rationals import Entries, Ratios, Rows, entries_of, ratios
from workbench.contracts import Ints
from workbench.outputs._matching_kernel import ITSELF
from workbench.proofs.checker.outputs._hungarian import heaviest, heaviest_rival


class ExactMatching:
    """The exact view of a `Matching` (contract: rationals.ExactOutputs)."""

    def __init__(self, problem: Any):
        self.matching, self.edges = problem, Rows(problem.edges)
        self.costs = ratios([problem.false_positive, problem.false_negative])
        self.least_loss = Fraction(problem.least_loss)

    def fault(self, samples: Ints, outputs: Ints) -> int | None:
        problem = self.matching
        j = np.arange(problem.width)
        outside = (outputs < -1) | (outputs >= problem.widths[samples][:, None])
        wrong = np.where(j < problem.heights[samples][:, None], outside, outputs != -1).any(axis=1)
        ordered = np.sort(outputs, axis=1)
        wrong |= ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
        itself = (outputs == np.where(j < problem.heights[samples][:, None], ITSELF, -1)).all(axis=1)
        wrong &= ~(itself & problem.outside[samples])
        return int(wrong.argmax()) if wrong.any() else None

    def slopes(self, samples: Ints, outputs: Ints) -> Entries:
        """Links that only the output has, added; links that only the truth has, taken away."""
        truth, parts = self.matching.truth[samples], []
        for sign, here, there in ((1, outputs, truth), (-1, truth, outputs)):
            row, edges = self.matching.used(samples, np.where(here == there, -1, here))
            number, columns, values = self.edges.entries(edges)
            parts.append((row[number], columns, values * sign))
        return entries_of(parts, self.edges.unit)

    def loss(self, samples: Ints, outputs: Ints) -> Ratios:
        wrong, missed = (count.astype(object) for count in self.matching.mistakes(samples, outputs))
        plus, minus = self.costs.whole
        return Ratios(wrong * plus + missed * minus, self.costs.unit)

    def tables(self, w: Ratios, samples: Ints, augment: int) -> tuple[list[NDArray], list[int], int]:
        """Gains (J, K) of each sample over a unit, with the loss if `augment` is 1; their sum over y_i; the unit."""
        problem = self.matching
        at, starts = problem.positions(samples)
        unit, cost_unit, gold = self.edges.unit * w.unit, self.costs.unit, problem.gold[at]
        scores = self.edges.scores(at, w.whole[None, :]).ravel() * cost_unit
        gains = scores + (self.costs.whole * [augment, -augment])[gold.astype(int)] * unit
        shapes = zip(problem.heights[samples], problem.widths[samples], strict=True)
        tables = [part.reshape(shape) for part, shape in zip(np.split(gains, starts[1:-1]), shapes, strict=True)]
        own = [int(part.sum()) for part in np.split(gains * gold, starts[1:-1])]
        return tables, own, unit * cost_unit

    def margin(self, w: Ratios, samples: Ints) -> Ratios:
        """Clipped at 0 where y_i is no matching."""
        tables, own, unit = self.tables(w, samples, 1)
        found = np.array([heaviest(table) - truth for table, truth in zip(tables, own, strict=True)], object)
        return Ratios(np.where(self.matching.outside[samples], np.maximum(found, 0), found), unit)

    def rival(self, w: Ratios, samples: Ints) -> Ratios:
        tables, own, unit = self.tables(w, samples, 0)
        problem, found = self.matching, []
        for i, table, truth in zip(samples.tolist(), tables, own, strict=True):
            mates = problem.truth[i, : len(table)]
            found.append((heaviest(table) if problem.outside[i] else heaviest_rival(table, mates)) - truth)
        return Ratios(np.array(found, object), unit)

    def free(self, w: Ratios, samples: Ints) -> Ratios:
        """Only the truth has no loss."""
        return Ratios(np.zeros(len(samples), object), 1)
