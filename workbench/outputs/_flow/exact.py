"""Disjoint paths in rational arithmetic: the same search on whole numbers, and the cover as its proof.

Arcs have the unit u, weights the unit v and the two costs the unit c, so every gain is a whole number over
u·v·c. What is returned is base + Σ_j u_j + Σ_k v_k of a cover (outputs/_flow/paths.py): no circulation outweighs
that, whatever the search did, and it is the maximum because the search ends with equality.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.rationals import Entries, Ratios, Rows, entries_of, ratios
from workbench.contracts import Ints
from workbench.outputs._flow.paths import best_paths
from workbench.proofs.checker.outputs._hungarian import heaviest_rival, worth


class ExactFlow:
    """The exact view of a `Flow` (contract: rationals.ExactOutputs)."""

    def __init__(self, problem: Any):
        self.flow, self.arcs = problem, Rows(problem.arcs)
        self.costs = ratios([problem.false_positive, problem.false_negative])
        self.least_loss = Fraction(problem.least_loss)

    def fault(self, samples: Ints, outputs: Ints) -> int | None:
        return self.flow.fault(samples, outputs)

    def slopes(self, samples: Ints, outputs: Ints) -> Entries:
        """Arcs that only the output has, added; arcs that only the truth has, taken away."""
        flow, parts = self.flow, []
        for sign, here, there in ((1, outputs, flow.truth[samples]), (-1, flow.truth[samples], outputs)):
            row, arcs = flow.used(samples, here)
            other = np.stack(flow.used(samples, there))
            fresh = ~np.isin(row * len(flow.gold) + arcs, other[0] * len(flow.gold) + other[1])
            number, columns, values = self.arcs.entries(arcs[fresh])
            parts.append((row[fresh][number], columns, values * sign))
        return entries_of(parts, self.arcs.unit)

    def loss(self, samples: Ints, outputs: Ints) -> Ratios:
        wrong, missed = (count.astype(object) for count in self.flow.mistakes(samples, outputs))
        plus, minus = self.costs.whole
        return Ratios(wrong * plus + missed * minus, self.costs.unit)

    def margin(self, w: Ratios, samples: Ints) -> Ratios:
        flow, unit = self.flow, self.arcs.unit * w.unit
        rows = flow.rows_of(samples)
        gains = np.zeros(len(flow.gold), object)
        gains[rows] = self.arcs.scores(rows, w.whole[None, :]).ravel() * self.costs.unit
        plus, minus = self.costs.whole
        extra = np.where(flow.priced, 1 - 2 * flow.gold.astype(int), 0)[rows]  # 1 costs c⁺, −1 saves c⁻
        gains[rows] += np.array([0, plus * unit, -minus * unit], object)[extra]
        found = [best_weight(flow, gains, i) - gains[flow.own(i)].sum() for i in samples]
        return Ratios.of(found, unit * self.costs.unit)

    def rival(self, w: Ratios, samples: Ints) -> Ratios:
        flow, unit = self.flow, self.arcs.unit * w.unit
        gains, found = self.arcs.scores(np.arange(len(flow.gold)), w.whole[None, :]).ravel(), []
        for i in samples.tolist():
            table, truth = flow.following(gains, i), flow.truth[i, : flow.sizes[i]]
            found.append(heaviest_rival(table, truth) - worth(table, truth))
        return Ratios.of(found, unit)

    def free(self, w: Ratios, samples: Ints) -> Ratios:
        """Only the truth has no loss."""
        return Ratios(np.zeros(len(samples), object), 1)


def best_weight(flow: Any, gains: NDArray, i: int) -> int:
    """The weight of a cover at whole gains (R,), which is that of the best paths of sample i."""
    where, size = flow.layout, int(flow.sizes[i])
    nodes = slice(int(where.starts[i]), int(where.starts[i + 1]))
    first = where.first[nodes]
    rows = slice(int(where.first[nodes.start]), int(where.first[nodes.stop]))
    scratch = flow.scratch(object)
    best_paths((*where, *scratch), gains, i, np.empty(flow.width, np.int64))
    begins, ends, alone = gains[first], gains[first + 1], gains[first] + gains[first + 1] + gains[first + 2]
    tail, head, place = where.node_of()[rows] - nodes.start, where.heads[rows], where.offsets()[rows]
    kept = place >= 2
    tail, head, place = tail[kept], head[kept], place[kept]
    edges = np.where(place == 2, -alone[tail], gains[rows][kept] - ends[tail] - begins[head])
    u, v = np.maximum(scratch[1][:size], 0), np.zeros(size, object)
    np.maximum.at(v, head, edges - u[tail])  # the lightest v ≥ 0 that covers with this u
    return int(alone.sum() + u.sum() + v.sum())
