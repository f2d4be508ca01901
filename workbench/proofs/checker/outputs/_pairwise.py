"""Labels at the nodes of graphs, scores of nodes and edges: what `tree` and `graph` share (docs/certificate-format.md
§3).

    ⟨w, φ(x, y)⟩ = Σ_v ⟨W_{y_v}, x_v⟩ + Σ_{e=(u,v)} ⟨A_{c(y_u, y_v)}, f_e⟩         w = [W (K, p), A (C, q)] row by row

`kinds` (K, K) says which class c a pair of labels has, −1 for none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.contracts import Structure
from workbench.proofs.checker.faults import Malformed, demand
from workbench.proofs.checker.outputs._common import read_classes, read_cost, read_rows, read_weights
from workbench.proofs.checker.whole import Array, Whole, exact, grouped, objects, zeros

MOST_OUTPUTS = 100_000


class Scored(NamedTuple):
    """One sample: θ_v(a) (V, K), θ_e(c) (E, C), whole over one unit; edges (E, 2), true labels (V,), number."""

    nodes: Array
    pairs: Array
    edges: Array
    truth: Array
    sample: int


class Pairwise(Structure):
    best_unit: int = 1  # of what `best` finds, over the unit of the scores

    def __init__(self, fields: Fields):
        self.k, self.p = read_classes(fields), fields.number("n_inputs", 1)
        self.labels, self.offsets = fields.ints("labels", None, within=(0, self.k - 1)), fields.ints("offsets", None)
        edges, self.ends = fields.ints("edges", None, 2), fields.ints("ends", len(self.offsets))
        for name, ends, total in (("offsets", self.offsets, len(self.labels)), ("ends", self.ends, len(edges))):
            least = 1 if name == "offsets" else 0
            rising = len(ends) > 1 and ends[0] == 0 and ends[-1] == total and (ends >= 0).all()
            rising = rising and (np.diff(ends) >= least).all()  # which wrap around for numbers below 0 only
            demand(rising, f"{fields.of}{name} do not say where samples start")
        self.n, self.sizes, self.edges = len(self.offsets) - 1, np.diff(self.offsets), edges
        self.of_edge, self.of_node = (np.repeat(np.arange(self.n), np.diff(e)) for e in (self.ends, self.offsets))
        inside = (edges >= 0) & (edges < self.sizes[self.of_edge][:, None])
        demand(inside.all() and (edges[:, 0] != edges[:, 1]).all(), f"{fields.of}edges: an edge is none")
        self.features = fields.floats("pairs", len(edges), None)
        self.q, pairs = self.features.shape[1], exact(self.features)
        demand(self.q, f"{fields.of}pairs have no features")
        self.X, self.cost = read_rows(fields, len(self.labels), self.p), exact(read_cost(fields, self.k))
        self.sizes_of_rows = self.X.sizes()  # Σ|entries| of each node's features, over X's unit
        self.pairs, self.count_unit = pairs.values, pairs.unit
        self.width, self.blocks = int(self.sizes.max()), self.k
        self.dim = self.k * self.p + (int(self.kinds.max()) + 1) * self.q
        self.weights, loss = read_weights(fields, self.n), fields.word("loss")
        demand(loss in ("hamming", "hamming-normalised"), f"{fields.of}loss is none that is known")
        self.divisors = self.sizes.astype(object) if loss == "hamming-normalised" else zeros(self.n) + 1
        self.truth = np.full((self.n, self.width), -1, np.int64)
        self.truth[self.within(np.arange(self.n))] = self.labels

    @property
    def kinds(self) -> Array:
        raise NotImplementedError

    def words(self) -> str:
        return f"{self.name}: one of {self.k} labels for each of {len(self.labels)} nodes of {self.n} graphs"

    def within(self, samples: Array) -> Array:
        return np.arange(self.width) < self.sizes[samples][:, None]

    def is_output(self, samples: Array, outputs: Array) -> Array:
        return np.where(self.within(samples), (outputs >= 0) & (outputs < self.k), outputs == -1).all(axis=1)

    def parts(self, samples: Array, outputs: Array) -> tuple[Array, Array, Array]:
        number, v = np.nonzero(self.within(samples))
        return number, self.offsets[samples[number]] + v, outputs[number, v]

    def units(self, samples: Array, outputs: Array) -> tuple[Array, Array, Array]:
        counts = np.diff(self.ends)[samples]
        number = np.repeat(np.arange(len(samples)), counts)
        edge = np.arange(len(number)) + np.repeat(self.ends[samples] - np.cumsum(counts) + counts, counts)
        kind = self.kinds[outputs[number, self.edges[edge, 0]], outputs[number, self.edges[edge, 1]]]
        kept = np.flatnonzero(kind >= 0)
        places = self.k * self.p + kind[kept][:, None] * self.q + np.arange(self.q)
        return np.repeat(number[kept], self.q), places.ravel(), self.pairs[edge[kept]].ravel()

    def loss(self, samples: Array, outputs: Array) -> Whole:
        number, node, label = self.parts(samples, outputs)
        costs = grouped(self.cost.values[self.labels[node], label], number, len(samples))
        lcm = math.lcm(*self.divisors[samples].tolist())
        return Whole(costs * (lcm // self.divisors[samples]), self.cost.unit * lcm)

    def least_loss(self, samples: Array) -> Fraction | None:
        found = []
        for i in samples.tolist():
            costs = self.cost.values[self.labels[self.offsets[i] : self.offsets[i + 1]]]
            found += [Fraction(int(c), self.cost.unit * self.divisors[i]) for c in costs[costs > 0]]
        return min(found, default=None)

    def scored(self, w: Whole, i: int, augment: bool = True) -> tuple[Scored, int]:
        """The scores of a sample, with the loss if asked; and their unit."""
        nodes, edges = slice(*self.offsets[i : i + 2]), slice(*self.ends[i : i + 2])
        rows, truth = np.arange(nodes.start, nodes.stop), self.labels[nodes]
        factor = self.cost.unit * self.divisors[i] if augment else 1
        unary = self.X.scores(rows, w.values[: self.k * self.p].reshape(self.k, self.p))
        unary = unary * (self.unit // self.X.unit * factor)
        if augment:
            unary = unary + self.cost.values[truth] * (self.unit * w.unit)
        pairs = self.pairs[edges] @ w.values[self.k * self.p :].reshape(-1, self.q).T
        pairs = pairs * (self.unit // self.count_unit * factor)
        return Scored(unary, pairs, self.edges[edges], truth, i), self.unit * w.unit * factor

    def best(self, scored: Scored) -> int:
        """The highest score of any labelling, over `best_unit`."""
        raise NotImplementedError

    def value(self, scored: Scored, y: Array) -> int:
        """The score of a labelling (V,)."""
        kind = self.kinds[y[scored.edges[:, 0]], y[scored.edges[:, 1]]]
        kept = np.flatnonzero(kind >= 0)
        return int(scored.nodes[np.arange(len(y)), y].sum()) + int(scored.pairs[kept, kind[kept]].sum())

    def margin(self, w: Whole, samples: Array) -> Whole:
        return self.over_truths([self.scored(w, i) for i in samples.tolist()], self.best)

    def rival(self, w: Whole, samples: Array) -> Whole:
        return self.over_truths([self.scored(w, i, augment=False) for i in samples.tolist()], self.best_rival)

    def over_truths(self, found: list[tuple[Scored, int]], best: Callable[[Scored], int]) -> Whole:
        """What the best labelling scores above the true one, sample by sample, over one unit."""
        lcm = math.lcm(*(unit for _, unit in found)) * self.best_unit
        gains = (best(each) - self.value(each, each.truth) * self.best_unit for each, _ in found)
        return Whole(objects(g * (lcm // (u * self.best_unit)) for g, (_, u) in zip(gains, found, strict=True)), lcm)

    def best_rival(self, scored: Scored) -> int:
        """The best labelling but the truth differs from the truth at some node, whose true label is barred.

        Labellings that differ at one node read different entries, so all entries together are more than the difference.
        """
        found, reach = [], int(abs(scored.nodes).sum()) + int(abs(scored.pairs).sum())
        for v, label in enumerate(scored.truth.tolist()):
            nodes = scored.nodes.copy()
            nodes[v, label] -= reach
            found.append(self.best(scored._replace(nodes=nodes)))
        return max(found)

    def outputs(self, sample: int) -> Array:
        size = int(self.sizes[sample])
        if self.k ** min(size, MOST_OUTPUTS) > MOST_OUTPUTS:
            raise Malformed(f"sample {sample} has {self.k}^{size} labellings, too many to list")
        found = np.full((self.k**size, self.width), -1, np.int64)
        found[:, :size] = np.indices((self.k,) * size).reshape(size, self.k**size).T
        return found

    def magnitudes(self) -> Array:
        nodes = grouped(self.sizes_of_rows * (self.unit // self.X.unit), self.of_node, self.n)
        edges = abs(self.pairs).sum(axis=1) if len(self.pairs) else zeros(0)
        return nodes + grouped(edges * (self.unit // self.count_unit), self.of_edge, self.n)
