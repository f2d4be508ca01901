"""Tree: labels at the nodes of rooted forests, every pair of labels scored (taxonomies, dependencies).

    ⟨w, φ(x, y)⟩ = Σ_v ⟨W_{y_v}, x_v⟩ + Σ_{e=(u,v)} ⟨A_{y_u y_v}, f_e⟩     w = [W (K, p), A (K², q)], u the parent of v

so d = K p + K² q; a chain is the forest of parents t − 1 with f = 1. The argmax is exact by max-sum from the leaves to
the roots, O(V K²), and so is the conditional random field, by sum-product (`_graph/sums.py`; docs/mathematics.md §4).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.arithmetic.arrays import compiled_rows
from workbench.contracts import CompactHinge, Floats, Ints, Kernel
from workbench.errors import BadInput
from workbench.outputs._graph import compact, kernels
from workbench.outputs._graph.exact import ExactPairwise
from workbench.outputs._graph.pairwise import Pairwise
from workbench.outputs._graph.sums import TreeSums


class Tree(Pairwise):
    """Forests; `edges` are (parent, child), a node has one parent at most. See `Pairwise` for the parameters.

    order (N,) : nodes of each sample, children before parents
    above (N,), link (N,) : the parent of each node, and the row of `edges` that leads to it; −1 for roots

    Raises
    ------
    BadInput : as `Pairwise`; a node with two parents, or a circle
    """

    name = "tree"
    concurrent = True

    @staticmethod
    def table_of(k: int) -> Ints:
        """The class of a pair of labels (k, k): one for each pair."""
        return np.arange(k * k).reshape(k, k)

    def _declare(self) -> None:
        super()._declare()
        self.above, self.link = (np.full(len(self.labels), -1, np.int64) for _ in range(2))
        child = self.edges[:, 1] + self.offsets[self.sample_of_edges]
        count = np.bincount(child, minlength=len(self.labels))
        if (count > 1).any():
            raise BadInput(f"Node {self.named(int(count.argmax()))} has {count.max()} parents; give it one.")
        self.above[child], self.link[child] = self.edges[:, 0], np.arange(len(self.edges))
        self.order: Ints = self.leaves_first()

    def named(self, node: int) -> str:
        """A node in words: its number within its graph, and the graph."""
        i = int(np.searchsorted(self.offsets, node, side="right") - 1)
        return f"{node - self.offsets[i]} of graph {i}"

    def leaves_first(self) -> Ints:
        """Nodes by falling depth, or `BadInput` where a circle has none."""
        first = np.repeat(self.offsets[:-1], self.sizes)
        at, depth = np.where(self.above >= 0, self.above + first, -1), np.zeros(len(self.above), np.int64)
        for _ in range(self.width):
            climbing = at >= 0
            if not climbing.any():
                break
            depth += climbing
            at = np.where(climbing, np.where(self.above[at] >= 0, self.above[at] + first, -1), -1)
        if (at >= 0).any():
            raise BadInput(f"Node {self.named(int((at >= 0).argmax()))} lies on or below a circle; break it.")
        return np.lexsort((-depth, first)) - first

    def search(self) -> Kernel:
        k, N = self.n_classes, len(self.labels)
        data = self.offsets, self.order, self.above, self.link, k, N * k, np.zeros(N * k)
        return Kernel(data, kernels.best_tree, kernels.add_labelling)

    def gains(self, unary: Floats, pairs: Floats) -> Floats:
        return np.concatenate([unary.ravel(), pairs.ravel()])

    def kernel(self, augment: bool | Floats = True) -> Kernel:
        """With the loss, without, or with a table (K, K) of costs in its place, not divided."""
        X, k, given = self.nodes, self.n_classes, not isinstance(augment, bool)
        table = compiled_rows(X)
        scratch = np.zeros(len(self.labels) * k + len(self.edges) * k * k)
        data = (
            *(self.search(), scratch, self.offsets, self.ends, *table, self.edges, self.pairs, self.labels),
            augment if given else self.cost * float(augment),
            np.ones(self.n_samples) if given else 1 / self.divisors,
            *(self.table, self.n_inputs, self.n_features),
        )
        return Kernel(data, kernels.tree_into, kernels.add_slope, kernels.slope_into, self.n_features)

    def exact(self) -> ExactPairwise:
        """This problem in rational arithmetic."""
        return ExactPairwise(self)

    def compact(self, w: Any) -> CompactHinge:
        return compact.tree(self, w)

    def marginals(self) -> TreeSums:
        """The likelihood of its labellings, by sum-product."""
        return TreeSums(self)

    @classmethod
    def random(cls, rng: np.random.Generator, n: int, d: int, labels: int) -> Tree:
        """n ≥ 2 forests with K = `labels`, K^V ≤ 36, of about d features a node (benchmarks/instances.py)."""
        longest = int(np.log(36.5) / np.log(labels))
        sizes = 1 + rng.permutation(n) % longest
        edges = []
        for size in sizes:
            name, kept = rng.permutation(size), rng.random(size) < 0.8
            above = [(name[int(rng.integers(0, v))], name[v]) for v in range(1, size) if kept[v]]
            edges.append(np.array(above, np.int64).reshape(-1, 2))
        q = 1 + d % 2
        nodes, pairs = (
            [rng.normal(size=(len(each), width)) for each in rows] for rows, width in ((sizes_of(sizes), d), (edges, q))
        )
        truth = [rng.integers(0, labels, size) for size in sizes]
        cost = rng.integers(1, 4, (labels, labels)) * (1 - np.eye(labels)) if rng.random() < 0.5 else None
        weights = np.append([1, 1], rng.integers(0, 4, n - 2)) if rng.random() < 0.3 else None
        loss = ("hamming", "hamming-normalised")[int(rng.random() < 0.5)]
        return cls(nodes, edges, truth, pairs, loss, cost, weights, np.arange(labels))

    @classmethod
    def tiny(cls, rng: np.random.Generator) -> Tree:
        """A random instance small enough to enumerate, for the conformance tests."""
        problem = cls.random(rng, int(rng.integers(2, 5)), int(rng.integers(1, 4)), int(rng.integers(2, 4)))
        arrays = problem.arrays() | {"weights": np.ones(problem.n_samples)}
        if rng.random() < 0.5:
            arrays |= {"data": np.round(2 * arrays["data"]), "pairs": np.round(2 * arrays["pairs"])}
        return cls.from_arrays(arrays)


def sizes_of(sizes: Ints) -> list[range]:
    """Something of each of these lengths."""
    return [range(size) for size in sizes]


NAMES = {"tree": Tree}
