"""Flows: disjoint paths through detections in the order of time (docs/certificate-format.md §3).

With gains g of entries, exits, detections and links, sets of disjoint paths are the matchings of what follows what:

    j – k   gains  g_jk − g_exit,j − g_entry,k                  k follows j
    j – j   gains  −(g_entry,j + g_node,j + g_exit,j)           j is left out

on top of Σ_j (g_entry + g_node + g_exit)_j, every detection as a track of its own. What is returned is that sum and
the weight of a cover of the gains (`_hungarian`), which no matching outweighs. The best but the true paths are a rival.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.contracts import Structure
from workbench.proofs.checker.faults import demand
from workbench.proofs.checker.outputs._common import extended, read_rows, read_weights
from workbench.proofs.checker.outputs._detections import ENTRY, EXIT, LINKS, NODE, Detections
from workbench.proofs.checker.outputs._hungarian import heaviest, heaviest_rival, worth
from workbench.proofs.checker.whole import Array, Whole, check_work, exact, grouped, objects, zeros

MOST_OUTPUTS = 100_000


class Flow(Detections, Structure):
    name = "flow"
    blocks = 1

    def __init__(self, fields: Fields):
        self.read_links(fields)
        self.X, self.weights = read_rows(fields, len(self.node), self.dim), read_weights(fields, self.n)
        self.width = int(self.sizes.max())
        self.truth = fields.ints("truth", self.n, self.width)
        everyone = np.arange(self.n)
        demand(self.is_output(everyone, self.truth).all(), f"{fields.of}truth: a row is no set of paths")
        self.costs = exact([fields.floats(name, least=5e-324) for name in ("false_positive", "false_negative")])
        self.gold = np.zeros(len(self.node), bool)
        sample, rows, _ = self.parts(everyone, self.truth)
        self.gold[rows] = True
        self.true_arcs = np.bincount(sample[self.place[rows] >= NODE], minlength=self.n)

    def words(self) -> str:
        return f"flow: disjoint paths through {len(self.own)} detections of {self.n} samples"

    def is_output(self, samples: Array, outputs: Array) -> Array:
        sizes = self.sizes[samples][:, None]
        fits = np.where(np.arange(self.width) < sizes, (outputs >= -1) & (outputs < sizes), outputs == -1).all(axis=1)
        ordered = np.sort(outputs, axis=1)
        fits &= ~((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != -1)).any(axis=1)
        number, _, _, known = self.followed(samples, outputs * fits[:, None])
        fits[number[~known]] = False
        return fits

    def parts(self, samples: Array, outputs: Array) -> tuple[Array, Array, Array]:
        active = (np.arange(self.width) < self.sizes[samples][:, None]) & (outputs != np.arange(self.width))
        begins, ends = active.copy(), active & (outputs == -1)
        number, j, links, _ = self.followed(samples, outputs)
        begins[number, outputs[number, j]] = False
        found = [(number, links)]
        for offset, mask in ((NODE, active), (ENTRY, begins), (EXIT, ends)):
            row, j = np.nonzero(mask)
            found.append((row, self.first[self.starts[samples[row]] + j] + offset))
        number, rows = (np.concatenate(each) for each in zip(*found, strict=True))
        return number, rows, np.zeros(len(rows), np.int64)

    def loss(self, samples: Array, outputs: Array) -> Whole:
        number, rows, _ = self.parts(samples, outputs)
        priced = self.place[rows] >= NODE
        right, whole = (np.bincount(number[priced & of], minlength=len(samples)) for of in (self.gold[rows], True))
        (plus, minus), missed = self.costs.values, self.true_arcs[samples] - right
        return Whole((whole - right).astype(object) * plus + missed.astype(object) * minus, self.costs.unit)

    def least_loss(self, samples: Array) -> Fraction | None:
        plus, minus = self.costs.fractions()
        return min([plus, minus]) if self.true_arcs[samples].any() else plus if len(samples) else None

    def margin(self, w: Whole, samples: Array) -> Whole:
        unit, found = self.X.unit * w.unit, []
        extra = objects([self.costs.values[0], -self.costs.values[1], 0]) * unit
        for i in samples.tolist():
            rows, gains = self.row_scores(w, i)
            gains = gains * self.costs.unit + extra[np.where(self.place[rows] >= NODE, self.gold[rows], 2)]
            alone, table = self.following(i, rows, gains)
            found.append(alone + heaviest(np.maximum(table, 0)) - int(gains[self.gold[rows]].sum()))
        return Whole(objects(found), unit * self.costs.unit)

    def rival(self, w: Whole, samples: Array) -> Whole:
        found = []
        for i in samples.tolist():
            _, table = self.following(i, *self.row_scores(w, i))
            mates = self.truth[i, : self.sizes[i]]
            found.append(heaviest_rival(table, mates) - worth(table, mates))
        return Whole(objects(found), self.X.unit * w.unit)

    def row_scores(self, w: Whole, i: int) -> tuple[Array, Array]:
        """The rows of a sample, and what each scores."""
        rows = np.arange(self.first[self.starts[i]], self.first[self.starts[i + 1]])
        return rows, self.X.scores(rows, w.values[None, :]).ravel()

    def following(self, i: int, rows: Array, gains: Array) -> tuple[int, Array]:
        """All detections alone at these gains of a sample's rows, and the gains (V, V) of what follows what.

        Far below 0 where there is no link.
        """
        size, base = int(self.sizes[i]), int(self.first[self.starts[i]])
        check_work(size**3)
        first = self.first[self.starts[i] : self.starts[i + 1]] - base
        begins, ends = gains[first], gains[first + EXIT]
        alone = begins + ends + gains[first + NODE]
        table, links = zeros(size, size), np.flatnonzero(self.place[rows] >= LINKS)
        table -= 4 * (int(abs(gains).sum()) + 1)
        tail, head = self.own[self.node[rows[links]]], self.heads[rows[links]]
        table[tail, head] = gains[links] - ends[tail] - begins[head]
        table[np.arange(size), np.arange(size)] = -alone
        return int(alone.sum()), table

    def outputs(self, sample: int) -> Array:
        listed: list[tuple[int, ...]] = [()]
        for j in range(int(self.sizes[sample])):
            node = int(self.starts[sample]) + j
            choices = [-1, j, *self.heads[self.first[node] + LINKS : self.first[node + 1]].tolist()]
            listed = extended(listed, choices, MOST_OUTPUTS, f"sample {sample} has too many sets of paths to list")
        table = np.full((len(listed), self.width), -1, np.int64)
        table[:, : int(self.sizes[sample])] = listed
        return table

    def magnitudes(self) -> Array:
        """All arcs of the sample, more than any set of paths has."""
        owner = np.repeat(np.arange(self.n), self.sizes)[self.node]
        return grouped(self.X.sizes(), owner, self.n)
