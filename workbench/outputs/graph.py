"""Graph: labels at the nodes of any graph, with associative edge scores (the lecture's cliques; Taskar et al. 2004).

    ⟨w, φ(x, y)⟩ = Σ_v ⟨W_{y_v}, x_v⟩ + Σ_{e=(u,v)} ⟨w_e, f_e⟩ 1[y_u = y_v]        w = [W (K, p), w_e (q)],  f_e ≥ 0

With w_e ≥ 0, part of the problem (`signed`; the soft margin then has the regularizer λ/2 ‖w‖² on that cone), no pair of
neighbours loses by being alike. Two labels: the argmax is a minimum cut, exact (`_graph/kernels.py`). The
oracle is asked at w with its negative w_e set to 0; outside the cone F = ∞ anyway.

More labels: maximising is NP-hard, and `oracle` says what is done.

    exact       all labellings are listed, where there are few
    under       α-expansion (Boykov, Veksler & Zabih 2001): a labelling that no switch of any nodes to one label
                improves. Cuts are true, so lower bounds hold; the maximum may be missed, so upper bounds do not
    relaxed     the local polytope's optimum: node shares in place of labels. Upper bounds of the true problem hold,
                its lower bounds do not: what is learned is the relaxed problem, whose outputs these are
    enclosed    a labelling, as under, and a proven bound on how much it may miss, by the relaxation's dual. Both bounds
                hold for the true problem, and they meet where the relaxation is tight

An output row of `relaxed` holds K numbers per node, shares in units of 1/720720, which add up to 1; pairs count
Σ_a min(share_u(a), share_v(a)).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from workbench.arithmetic.arrays import compiled_rows
from workbench.contracts import CompactHinge, Floats, Ints, Kernel
from workbench.errors import BadInput, MissingCapability
from workbench.outputs._graph import compact, kernels
from workbench.outputs._graph import labels as labels_of
from workbench.outputs._graph.exact import EnclosedExact, ExactGraph
from workbench.outputs._graph.pairwise import Pairwise


class Graph(Pairwise):
    """Graphs whose neighbours are rather alike; `pairs` are features f_e ≥ 0, see `Pairwise` for the other parameters.

    oracle : "exact", "under", "relaxed" or "enclosed"; two labels have the exact one only

    Raises
    ------
    BadInput : as `Pairwise`; negative edge features; an unknown oracle, or another than exact for two labels
    """

    name = "graph"
    concurrent = True
    no_marginals = "summing over the labellings of a graph with circles is #P-hard"

    @staticmethod
    def table_of(k: int) -> Ints:
        """The class of a pair of labels (k, k): 0 for equal ones, −1, which has no weights, for others."""
        return np.where(np.eye(k, dtype=bool), 0, -1).astype(np.int64)

    def __new__(cls, *settings: Any, oracle: str = "exact", **others: Any) -> Graph:
        if oracle not in KINDS:
            raise BadInput(f"There is no oracle called {oracle!r} for graphs; use {', '.join(KINDS)}.")
        return object.__new__(KINDS[oracle] if cls is Graph else cls)

    def __init__(
        self,
        nodes: Sequence[ArrayLike | Any],
        edges: Sequence[ArrayLike],
        labels: Sequence[ArrayLike],
        pairs: Sequence[ArrayLike] | None = None,
        loss: Literal["hamming-normalised", "hamming"] = "hamming-normalised",
        cost: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        oracle: Literal["exact", "under", "relaxed", "enclosed"] = "exact",
    ):
        super().__init__(nodes, edges, labels, pairs, loss, cost, weights, classes)
        if self.n_classes == 2 and oracle != "exact":
            raise BadInput(f"Two labels have an exact oracle; use oracle=exact in place of {oracle}.")
        self.oracle = oracle
        if (self.pairs < 0).any():
            e = int((self.pairs < 0).any(axis=1).argmax())
            raise BadInput(
                f"Edge {e - self.ends[self.sample_of_edges[e]]} of graph {self.sample_of_edges[e]} has a "
                "negative feature; give features from 0 on, such as x and −x apart."
            )
        self.signed: NDArray[np.bool_] = np.arange(self.n_features) >= self.n_classes * self.n_inputs

    def scores(self, w: Floats, augment: bool) -> tuple[Floats, Floats]:
        unary, pairs = super().scores(w, augment)
        return unary, np.maximum(pairs, 0.0)

    def argmax(self, w: Floats, samples: Ints, augment: bool = True) -> Ints:
        if self.n_classes == 2:
            return super().argmax(w, samples, augment)
        unary, pairs = self.scores(w, augment)
        return np.stack([self.answer(unary, pairs, i) for i in samples.tolist()])

    def barred(self, unary: Floats, pairs: Floats, i: int, node: int, price: float) -> Ints:
        if self.n_classes == 2:
            return super().barred(unary, pairs, i, node, price)
        dearer = unary.copy()
        dearer[node, self.labels[node]] -= price
        return self.answer(dearer, pairs, i)

    def part(self, unary: Floats, pairs: Floats, i: int) -> labels_of.Scores:
        """The scores of sample i."""
        nodes, edges = slice(*self.offsets[i : i + 2]), slice(*self.ends[i : i + 2])
        return labels_of.Scores(unary[nodes], pairs[edges, 0], self.edges[edges])

    def answer(self, unary: Floats, pairs: Floats, i: int) -> Ints:
        """The row of the best of all labellings of sample i."""
        outputs, scores = self.outputs(i), self.part(unary, pairs, i)
        u, v = scores.edges.T
        values = (outputs[:, u] == outputs[:, v]) @ scores.pairs
        values += scores.nodes[np.arange(self.sizes[i]), outputs[:, : self.sizes[i]]].sum(axis=1)
        return outputs[values.argmax()]

    # ── cuts ──────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def arcs(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Both directions of every edge by tail: where nodes' arcs start (N + 1,), heads, opposite arcs, and edges.

        Edge e has the losses 2e where its first end is 1 and its second 0, and 2e + 1 the other way round.
        """
        first = self.offsets[self.sample_of_edges]
        tails = np.concatenate([self.edges[:, 0] + first, self.edges[:, 1] + first])
        heads, count = np.concatenate([self.edges[:, 1], self.edges[:, 0]]), len(self.edges)
        loss = np.concatenate([2 * np.arange(count), 2 * np.arange(count) + 1])
        order = np.lexsort((heads, tails))
        place = np.empty(2 * count, np.int64)
        place[order] = np.arange(2 * count)
        back = place[(order + count) % (2 * count)] if count else place
        starts = np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=len(self.labels)))]).astype(np.int64)
        return starts, heads[order], back, loss[order]

    def search(self) -> Kernel:
        N, count = len(self.labels), 2 * len(self.edges)
        data = (self.offsets, self.ends, *self.arcs, 2 * N, np.zeros(count), np.zeros(N))
        return Kernel(data, kernels.best_cut, kernels.add_side)

    def gains(self, unary: Floats, pairs: Floats) -> Floats:
        return np.concatenate([unary.ravel(), np.repeat(pairs[:, 0], 2)])

    def kernel(self, augment: bool = True) -> Kernel:
        if self.n_classes > 2:
            from workbench.objectives.oracles import Decoding, MarginRescaling, called_kernel

            return called_kernel((MarginRescaling if augment else Decoding)(self, cone=True))
        X, scratch = self.nodes, np.zeros(2 * (len(self.labels) + len(self.edges)))
        table = compiled_rows(X)
        data = (
            *(self.search(), scratch, self.offsets, self.ends, *table, self.edges, self.pairs, self.labels),
            *(self.cost * float(augment), 1 / self.divisors, self.table, self.n_inputs, self.n_features),
        )
        return Kernel(data, kernels.cut_into, kernels.add_slope, kernels.slope_into, self.n_features)

    def compact(self, w: Any) -> CompactHinge:
        if self.n_classes > 2:
            raise MissingCapability("Graphs of more than two labels have no compact form; use declare=cuts.")
        return compact.graph(self, w)

    def exact(self) -> ExactGraph:
        """This problem in rational arithmetic."""
        return ExactGraph(self)

    def arrays(self) -> dict[str, NDArray]:
        return super().arrays() | {"oracle": np.array(self.oracle)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> Graph:
        return super().from_arrays(arrays, oracle=str(arrays["oracle"]))

    @classmethod
    def at(cls, nodes: Any, edges: Any, problem: Any, pairs: Any) -> Graph:
        return super().at(nodes, edges, problem, pairs, oracle=problem.oracle)

    # ── examples ──────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def random(cls, rng: np.random.Generator, n: int, d: int, labels: int) -> Graph:
        """n ≥ 2 graphs of at most 4 nodes and two labels, at most max(d, 3) features; `labels` is not used."""
        q = 1 + (d - 1) % 2
        sizes, p = 1 + rng.permutation(n) % 4, max((d - q) // 2, 1)
        nodes = [rng.normal(size=(size, p)) for size in sizes]
        edges = [
            np.array([(u, v) for u in range(size) for v in range(u) if rng.random() < 0.7], np.int64) for size in sizes
        ]
        edges = [each.reshape(-1, 2) for each in edges]
        pairs = [np.abs(rng.normal(size=(len(each), q))) for each in edges]
        truth = [rng.integers(0, 2, size) for size in sizes]
        cost = rng.integers(1, 4, (2, 2)) * (1 - np.eye(2)) if rng.random() < 0.5 else None
        weights = np.append([1, 1], rng.integers(0, 4, n - 2)) if rng.random() < 0.3 else None
        loss = ("hamming", "hamming-normalised")[int(rng.random() < 0.5)]
        return cls(nodes, edges, truth, pairs, loss, cost, weights, [0, 1])

    @classmethod
    def tiny(cls, rng: np.random.Generator) -> Graph:
        """A random instance small enough to enumerate, for the conformance tests."""
        problem = cls.random(rng, int(rng.integers(2, 5)), int(rng.integers(3, 6)), 2)
        arrays = problem.arrays() | {"weights": np.ones(problem.n_samples)}
        if rng.random() < 0.5:
            arrays |= {"data": np.round(2 * arrays["data"]), "pairs": np.round(2 * arrays["pairs"])}
        return cls.from_arrays(arrays)


class ExpandedGraph(Graph):
    """A `Graph` of more than two labels with α-expansion for its oracle."""

    concurrent = True
    oracle_kind = "under"
    runner_up: ClassVar[None] = None  # no search here is exact

    def answer(self, unary: Floats, pairs: Floats, i: int) -> Ints:
        scores = self.part(unary, pairs, i)
        return self.padded(self.improved(scores, i, scores.nodes.argmax(axis=1)))

    def padded(self, y: Ints) -> Ints:
        return np.concatenate([y, np.full(self.width - len(y), -1)])

    def improved(self, scores: labels_of.Scores, i: int, y: Ints) -> Ints:
        """The labelling (V,) that expansions from y end in."""
        kernel, N, E = self.ready, len(self.labels), len(self.edges)
        gains, out = np.zeros(2 * (N + E)), np.empty(self.width, np.int64)
        nodes, edges = slice(*2 * self.offsets[i : i + 2]), slice(*2 * (N + self.ends[i : i + 2]))

        def cut(unary: Floats, losses: Floats) -> Ints:
            gains[nodes], gains[edges] = unary.ravel(), losses.ravel()
            kernel.argmax_into(kernel.data, gains, i, out)
            return out[: len(y)]

        return labels_of.expanded(scores, y, cut)

    def relaxation(self, scores: labels_of.Scores, i: int) -> tuple[Ints, Floats]:
        """`labels.relaxed` of sample i, the last answer remembered: the bound asks what the argmax has asked."""
        known = self.remembered.get(i)
        if known is None or not all(np.array_equal(a, b) for a, b in zip(known[0], scores, strict=True)):
            known = self.remembered[i] = scores, labels_of.relaxed(scores)
        return known[1]

    @cached_property
    def remembered(self) -> dict[int, tuple[labels_of.Scores, tuple[Ints, Floats]]]:
        return {}

    def gap(self, w: Floats, worth: Callable[[labels_of.Scores, int, Ints], float]) -> Floats:
        """(n,) the relaxation's dual bound less what `argmax` attains, for samples with weight."""
        samples, missed = np.flatnonzero(self.weights), np.zeros(self.n_samples)
        unary, pairs = self.scores(w, augment=True)
        for i, row in zip(samples.tolist(), self.argmax(w, samples), strict=True):
            scores = self.part(unary, pairs, i)
            missed[i] = max(scores.bound(self.relaxation(scores, i)[1]) - worth(scores, i, row), 0.0)
        return missed

    def exact(self) -> None:
        """None: no decoder here is exact, in rationals either."""
        return


class EnclosedGraph(ExpandedGraph):
    """A `Graph` of more than two labels whose labellings come with a proven bound on what they miss."""

    concurrent = True
    oracle_kind = "exact"  # up to `missed`, which enters the upper bounds

    def answer(self, unary: Floats, pairs: Floats, i: int) -> Ints:
        scores = self.part(unary, pairs, i)
        starts = self.relaxation(scores, i)[0].argmax(axis=1), scores.nodes.argmax(axis=1)
        return self.padded(max((self.improved(scores, i, y) for y in starts), key=scores.value))

    def missed(self, w: Floats) -> Floats:
        """(n,) by how much more than `argmax` the loss-augmented maximum may be, by the relaxation's dual."""
        return self.gap(w, lambda scores, i, row: scores.value(row[: self.sizes[i]]))

    def hints(self, w: Floats) -> dict[str, NDArray]:
        """For a certificate: the shares (E, K) whose dual bounds the maxima at w (docs/certificate-format.md §3)."""
        shares, (unary, pairs) = np.full((len(self.edges), self.n_classes), 0.5), self.scores(w, augment=True)
        for i in np.flatnonzero(self.weights).tolist():
            shares[self.ends[i] : self.ends[i + 1]] = self.relaxation(self.part(unary, pairs, i), i)[1]
        return {"shares": shares}

    def exact(self) -> EnclosedExact:
        """The relaxation's dual in rational arithmetic: bounds on the maxima."""
        return EnclosedExact(self)


class RelaxedGraph(ExpandedGraph):
    """The local polytope in place of the labellings: outputs are node shares."""

    oracle_kind = "relaxed"

    def _declare(self) -> None:
        super()._declare()
        n, k = self.n_samples, self.n_classes
        self.width *= k
        self.truth = np.full((n, self.width), -1, np.int64)
        for i, size in enumerate(self.sizes):
            own = self.labels[self.offsets[i] : self.offsets[i + 1]]
            self.truth[i, : size * k] = (np.eye(k, dtype=np.int64)[own] * labels_of.SHARES).ravel()
        self.least_loss /= labels_of.SHARES
        self.terms += 4 * int(self.sizes.max()) * k

    @cached_property
    def exact_features(self) -> bool:
        return False

    @cached_property
    def exact_loss(self) -> bool:
        return False

    def shares(self, i: int, row: Ints) -> Ints:
        """The shares (V, K) in an output row."""
        return row[: self.sizes[i] * self.n_classes].reshape(-1, self.n_classes)

    def _features(self, samples: Ints, outputs: Ints) -> sparse.csr_array:
        return sparse.csr_array(np.stack([self.mean(i, row) for i, row in zip(samples, outputs, strict=True)]))

    def mean(self, i: int, row: Ints) -> Floats:
        """φ (d,) of node shares."""
        mu, nodes = self.shares(i, row) / labels_of.SHARES, self.nodes[self.offsets[i] : self.offsets[i + 1]]
        edges = slice(*self.ends[i : i + 2])
        u, v = self.edges[edges].T
        return np.concatenate([(nodes.T @ mu).T.ravel(), np.minimum(mu[u], mu[v]).sum(axis=1) @ self.pairs[edges]])

    def loss(self, samples: Ints, outputs: Ints) -> Floats:
        found = np.empty(len(samples))
        for m, (i, row) in enumerate(zip(samples, outputs, strict=True)):
            costs = self.cost[self.labels[self.offsets[i] : self.offsets[i + 1]]]
            found[m] = (costs * self.shares(i, row)).sum() / labels_of.SHARES / self.divisors[i]
        return found

    def answer(self, unary: Floats, pairs: Floats, i: int) -> Ints:
        return self.padded(self.relaxation(self.part(unary, pairs, i), i)[0].ravel())

    def missed(self, w: Floats) -> Floats:
        """(n,) by how much more than `argmax` the relaxation's maximum may be, by its dual."""
        return self.gap(w, lambda scores, i, row: scores.worth(self.shares(i, row)))

    def outputs(self, sample: int) -> Ints:
        raise MissingCapability("A local polytope cannot be listed; use the argmax.")

    def describe(self, sample: int, output: Ints) -> str:
        split = int((self.shares(sample, output).max(axis=1) < labels_of.SHARES).sum())
        return f"shares of labels, {split} of {self.sizes[sample]} nodes undecided"


KINDS = {"exact": Graph, "under": ExpandedGraph, "relaxed": RelaxedGraph, "enclosed": EnclosedGraph}
NAMES = {"graph": Graph}
