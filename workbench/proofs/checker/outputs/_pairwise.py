"""What trees and graphs share: labels at nodes, scores of nodes and of edges (docs/certificate-format.md §3).

φ is the rows of nodes, into K blocks of p places, then rows f_e of edges, into C blocks of q places, by the class of
the labels at their ends; class −1 is none. Edges are a dense table, so their part of every sum is added here.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.contracts import Structure
from workbench.proofs.checker.faults import Malformed, demand
from workbench.proofs.checker.outputs._common import read_classes, read_cost, read_rows, read_weights
from workbench.proofs.checker.whole import Array, Whole, exact, grouped, objects, zeros

MOST_OUTPUTS = 100_000


class Pairwise(Structure):
    table: Array  # (K, K) classes of pairs of labels

    def __init__(self, fields: Fields):
        self.k, p = read_classes(fields), fields.number("n_inputs", 1)
        self.labels = fields.ints("labels", None, within=(0, self.k - 1))
        self.offsets, self.ends = (fields.ints(name, None) for name in ("offsets", "ends"))
        self.n, self.blocks = len(self.offsets) - 1, self.k
        self.edges = fields.ints("edges", None, 2)
        self.pairs = exact(fields.floats("pairs", len(self.edges), None))
        self.q = self.pairs.values.shape[1]
        rising = self.n >= 1 and self.offsets[0] == 0 and (np.diff(self.offsets) > 0).all()
        demand(rising and self.offsets[-1] == len(self.labels), f"{fields.of}offsets do not part the nodes")
        parted = len(self.ends) == self.n + 1 and self.ends[0] == 0 and (np.diff(self.ends) >= 0).all()
        demand(parted and self.ends[-1] == len(self.edges) and self.q >= 1, f"{fields.of}ends do not part the edges")
        self.sizes, self.width = np.diff(self.offsets), int(np.diff(self.offsets).max())
        self.sample = np.repeat(np.arange(self.n), np.diff(self.ends))
        u, v = self.edges.T
        good = (self.edges >= 0).all() and (self.edges < self.sizes[self.sample][:, None]).all() and (u != v).all()
        demand(good, f"{fields.of}edges join nodes that there are not")
        self.X, self.weights = read_rows(fields, len(self.labels), p), read_weights(fields, self.n)
        self.cost = exact(read_cost(fields, self.k))
        kind = str(fields.get("loss"))
        demand(kind in ("hamming", "hamming-normalised"), f"{fields.of}loss is {kind[:40]!r}")
        self.divisors = self.sizes if kind == "hamming-normalised" else np.ones(self.n, np.int64)
        self.table = self.classes_of(self.k)
        self.inner = self.k * p
        self.dim = self.inner + (int(self.table.max()) + 1) * self.q
        self.truth = np.full((self.n, self.width), -1, np.int64)
        self.truth[np.arange(self.width) < self.sizes[:, None]] = self.labels

    def classes_of(self, k: int) -> Array:
        raise NotImplementedError

    def words(self) -> str:
        return f"{self.name}: {self.k} labels at {len(self.labels)} nodes of {self.n} samples, {len(self.edges)} edges"

    def is_output(self, samples: Array, outputs: Array) -> Array:
        inside = np.arange(self.width) < self.sizes[samples][:, None]
        return np.where(inside, (outputs >= 0) & (outputs < self.k), outputs == -1).all(axis=1)

    def rows_of(self, samples: Array, starts: Array) -> tuple[Array, Array]:
        """(number in the batch, row) of all nodes, or all edges, of the samples."""
        counts = np.diff(starts)[samples]
        number = np.repeat(np.arange(len(samples)), counts)
        return number, np.arange(len(number)) + (starts[samples] - np.cumsum(counts) + counts)[number]

    def parts(self, samples: Array, outputs: Array) -> tuple[Array, Array, Array]:
        number, row = self.rows_of(samples, self.offsets)
        return number, row, outputs[number, row - self.offsets[samples[number]]]

    def edge_changes(self, samples: Array, outputs: Array) -> list[tuple[int, Array, Array, Array]]:
        """(sign, number, edge, class) of what the edges change, for the outputs and for the truth."""
        number, edge = self.rows_of(samples, self.ends)
        (u, v), truth = self.edges[edge].T, self.truth[samples]
        mine, own = (self.table[each[number, u], each[number, v]] for each in (outputs, truth))
        found = []
        for sign, kind in ((1, mine), (-1, own)):
            kept = np.flatnonzero((mine != own) & (kind >= 0))
            found.append((sign, number[kept], edge[kept], kind[kept]))
        return found

    def combined(self, samples: Array, outputs: Array, masses: Whole) -> Whole:
        total = zeros(self.dim)
        for sign, number, edge, kind in self.edge_changes(samples, outputs):
            for j in range(self.q):
                values = self.pairs.values[edge, j] * masses.values[number] * sign
                total += grouped(values, self.inner + kind * self.q + j, self.dim)
        return super().combined(samples, outputs, masses) + Whole(total, self.pairs.unit * masses.unit)

    def gains(self, w: Whole, samples: Array, outputs: Array) -> Whole:
        total, scores = zeros(len(samples)), self.edge_scores(w)
        for sign, number, edge, kind in self.edge_changes(samples, outputs):
            total += grouped(scores[edge, kind] * sign, number, len(samples))
        return super().gains(w, samples, outputs) + Whole(total, self.pairs.unit * w.unit)

    def dense(self, samples: Array, outputs: Array) -> Whole:
        total = zeros(len(samples) * self.dim)
        for sign, number, edge, kind in self.edge_changes(samples, outputs):
            for j in range(self.q):
                place = number * self.dim + self.inner + kind * self.q + j
                total += grouped(self.pairs.values[edge, j] * sign, place, len(total))
        return super().dense(samples, outputs) + Whole(total.reshape(-1, self.dim), self.pairs.unit)

    def edge_scores(self, w: Whole) -> Array:
        """⟨A_c, f_e⟩ (E, C), whole over pairs' unit × w's."""
        return self.pairs.values @ w.values[self.inner :].reshape(-1, self.q).T

    def plain_scores(self, w: Whole, i: int) -> tuple[Array, Array, int]:
        """θ_v(a) (V, K), θ_e(c) (E, C) and the unit of both, of one sample."""
        nodes, edges = np.arange(*self.offsets[i : i + 2]), slice(*self.ends[i : i + 2])
        unit = math.lcm(self.X.unit, self.pairs.unit)
        unary = self.X.scores(nodes, w.values[: self.inner].reshape(self.k, -1)) * (unit // self.X.unit)
        return unary, self.edge_scores(w)[edges] * (unit // self.pairs.unit), unit * w.unit

    def scores(self, w: Whole, i: int) -> tuple[Array, Array, int]:
        """The same with the loss in."""
        (unary, pairs, whole), nodes = self.plain_scores(w, i), slice(*self.offsets[i : i + 2])
        factor = self.cost.unit * int(self.divisors[i])
        return unary * factor + self.cost.values[self.labels[nodes]] * whole, pairs * factor, whole * factor

    def value(self, unary: Array, pairs: Array, i: int, y: Array) -> int:
        """The score of the labels y (V,)."""
        u, v = self.edges[slice(*self.ends[i : i + 2])].T
        kind = self.table[y[u], y[v]]
        kept = np.flatnonzero(kind >= 0)
        return int(unary[np.arange(len(y)), y].sum() + pairs[kept, kind[kept]].sum())

    def margin(self, w: Whole, samples: Array) -> Whole:
        found = []
        for i in samples.tolist():
            unary, pairs, unit = self.scores(w, i)
            own = self.value(unary, pairs, i, self.labels[slice(*self.offsets[i : i + 2])])
            found.append(Fraction(self.bound(unary, pairs, i) - own, unit))
        unit = math.lcm(*(each.denominator for each in found))
        return Whole(objects(each.numerator * (unit // each.denominator) for each in found), unit)

    def bound(self, unary: Array, pairs: Array, i: int) -> int:
        """A number that no labelling's score exceeds, and one attains."""
        raise NotImplementedError

    def loss(self, samples: Array, outputs: Array) -> Whole:
        number, row = self.rows_of(samples, self.offsets)
        costs = self.cost.values[self.labels[row], outputs[number, row - self.offsets[samples[number]]]]
        lcm = math.lcm(*map(int, self.divisors[samples]))
        share = objects(lcm // int(d) for d in self.divisors[samples])
        return Whole(grouped(costs, number, len(samples)) * share, self.cost.unit * lcm)

    def least_loss(self, samples: Array) -> Fraction | None:
        cheapest = [min((c for c in row if c > 0), default=0) for row in self.cost.values.tolist()]
        number, row = self.rows_of(samples, self.offsets)
        found = [
            Fraction(cheapest[label], self.cost.unit * int(self.divisors[samples[m]]))
            for m, label in zip(number.tolist(), self.labels[row].tolist(), strict=True)
            if cheapest[label]
        ]
        return min(found, default=None)

    def rival(self, w: Whole, samples: Array) -> Whole:
        raise Malformed(f"the best labelling but the true one is not defined for {self.name}")

    def outputs(self, sample: int) -> Array:
        size = int(self.sizes[sample])
        if size * math.log(self.k) > math.log(MOST_OUTPUTS + 0.5):
            raise Malformed(f"sample {sample} has {self.k}^{size} labellings, too many to list")
        found = np.full((self.k**size, self.width), -1, np.int64)
        found[:, :size] = np.indices((self.k,) * size).reshape(size, -1).T
        return found

    def magnitudes(self) -> Array:
        edges = grouped(abs(self.pairs.values).sum(axis=1), self.sample, self.n)
        owner = np.repeat(np.arange(self.n), self.sizes)
        return grouped(self.X.sizes(), owner, self.n) - (-edges * self.X.unit // self.pairs.unit)
