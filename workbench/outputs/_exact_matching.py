"""Matchings in rational arithmetic: the Hungarian method on whole numbers.

Edges have the unit u, weights the unit v and the two costs the unit c, so every gain of a link is a
whole number over u·v·c. What is returned for the heaviest matching is the weight Σ_j u_j + Σ_k v_k of a
cover u, v ≥ 0 with u_j + v_k ≥ g_jk (`_matching_kernel`). No matching outweighs a cover, so it is an
upper bound whatever the steps that led to it, and the maximum because the method ends with equality.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.rationals import Entries, Ratios, Rows, ratios
from workbench.contracts import Ints


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
        return int(wrong.argmax()) if wrong.any() else None

    def slopes(self, samples: Ints, outputs: Ints) -> Entries:
        """Links that only the output has, added; links that only the truth has, taken away."""
        truth, parts = self.matching.truth[samples], []
        for sign, here, there in ((1, outputs, truth), (-1, truth, outputs)):
            row, edges = self.matching.linked(samples, np.where(here == there, -1, here))
            number, columns, values = self.edges.entries(edges)
            parts.append((row[number], columns, values * sign))
        return Entries(*map(np.concatenate, zip(*parts, strict=True)), self.edges.unit)

    def loss(self, samples: Ints, outputs: Ints) -> Ratios:
        wrong, missed = (count.astype(object) for count in self.matching.mistakes(samples, outputs))
        plus, minus = self.costs.whole
        return Ratios(wrong * plus + missed * minus, self.costs.unit)

    def tables(self, w: Ratios, samples: Ints, augment: int) -> tuple[list[NDArray], list[Ints], int]:
        """Gains (J, K) of each sample over a unit, with the loss if `augment` is 1; where its truth is; the unit."""
        problem = self.matching
        at, starts = problem.positions(samples)
        unit, cost_unit, gold = self.edges.unit * w.unit, self.costs.unit, problem.gold[at]
        scores = self.edges.scores(at, w.whole[None, :])[:, 0] * cost_unit
        gains = scores + (self.costs.whole * [augment, -augment])[gold.astype(int)] * unit
        shapes = zip(problem.heights[samples], problem.widths[samples], strict=True)
        tables = [part.reshape(shape) for part, shape in zip(np.split(gains, starts[1:-1]), shapes, strict=True)]
        return tables, [problem.truth[i, : problem.heights[i]] for i in samples], unit * cost_unit

    def margin(self, w: Ratios, samples: Ints) -> Ratios:
        tables, truths, unit = self.tables(w, samples, 1)
        found = [heaviest(table) - worth(table, mates) for table, mates in zip(tables, truths, strict=True)]
        return Ratios(np.array(found, object), unit)

    def rival(self, w: Ratios, samples: Ints) -> Ratios:
        tables, truths, unit = self.tables(w, samples, 0)
        found = [
            heaviest_rival(table, mates) - worth(table, mates) for table, mates in zip(tables, truths, strict=True)
        ]
        return Ratios(np.array(found, object), unit)

    def free(self, w: Ratios, samples: Ints) -> Ratios:
        """Only the truth has no loss."""
        return Ratios(np.zeros(len(samples), object), 1)


def worth(gains: NDArray, mates: Ints) -> int:
    """The weight of the matching with these k of each j (J,)."""
    j = np.flatnonzero(mates >= 0)
    return int(gains[j, mates[j]].sum())


def heaviest_rival(gains: NDArray, mates: Ints) -> int:
    """The weight of a heaviest matching but the one given: it lacks a link of that, or has all and more."""
    weights = []
    for j in np.flatnonzero(mates >= 0):
        without = gains.copy()
        without[j, mates[j]] = 0
        weights.append(heaviest(without))
    room = np.delete(gains[mates < 0], mates[mates >= 0], axis=1)
    if room.size:
        weights.append(worth(gains, mates) + (heaviest(room) or int(room.max())))
    return max(weights)


def heaviest(gains: NDArray) -> int:
    """The weight of a heaviest matching for whole gains (J, K) of any sign."""
    gains = np.maximum(gains, 0)
    (rows, columns), far = gains.shape, int(gains.max()) * 4 + 1
    u, v = np.zeros(rows, object), np.zeros(columns, object)
    mate, mates = np.full(columns, -1), np.full(rows, -1)
    for new in range(rows):
        u[new] = max(int((gains[new] - v).max()), 0)
        entered, reached = {new: 0}, np.full(columns, far, object)
        parent, settled = np.full(columns, -1), np.zeros(columns, bool)
        row, here, leaver, length = new, 0, new, u[new]
        while True:
            distance = here + u[row] + v - gains[row]
            closer = (distance < reached) & ~settled
            reached[closer], parent[closer] = distance[closer], row
            column = int(np.where(settled, far, reached).argmin())
            nearest = reached[column]
            if settled[column] or nearest >= length:
                column, mates[leaver] = mates[leaver], -1
                break
            if mate[column] < 0:
                length = nearest
                break
            settled[column] = True
            row, here = int(mate[column]), nearest
            entered[row] = here
            if here + u[row] < length:
                leaver, length = row, here + u[row]
        for j, at in entered.items():
            u[j] -= length - at
        v[settled] += length - reached[settled]
        while column >= 0:
            row = parent[column]
            former = mates[row]
            mates[row], mate[column] = column, row
            column = former
    v = np.maximum((gains - u[:, None]).max(axis=0), 0)  # the lightest v that covers with this u
    return int(u.sum() + v.sum())
