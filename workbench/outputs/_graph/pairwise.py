"""Pairwise models over graphs: what `Graph` and `Tree` share. One label of K per node, scores of nodes and of edges.

    ⟨w, φ(x, y)⟩ = Σ_v ⟨W_{y_v}, x_v⟩ + Σ_{e=(u,v)} ⟨A_{c(y_u, y_v)}, f_e⟩         w = [W (K, p), A (C, q)] row by row

so d = K p + C q. The structure says by its table c (K, K) which class a pair of labels has, −1 for none: `Tree` tells
all K² pairs apart, `Graph` only equal ones, C = 1. The loss is a sum of node costs, 0/1 by default, divided by the
number V_i of nodes under "hamming-normalised". An output row holds the labels of the nodes, padded with −1.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from workbench.arithmetic.arrays import (
    LARGEST,
    checked_cost,
    checked_learned,
    checked_weights,
    kept_rows,
    numbers,
    saved_rows,
    taken,
)
from workbench.arithmetic.compiled import available, entirely
from workbench.arithmetic.intervals import gamma, up
from workbench.contracts import Floats, Ints, Kernel, Sourced
from workbench.errors import BadInput, MissingCapability
from workbench.outputs._featured import Featured
from workbench.outputs._parts import MOST_OUTPUTS, summed_exactly
from workbench.outputs._sequences import checked_labels, checked_sequences

Loss = Literal["hamming-normalised", "hamming"]
LOSSES: tuple[Loss, Loss] = ("hamming-normalised", "hamming")


class Pairwise(Featured, Sourced):
    """Graphs with features and labels at their nodes and features at their edges.

    Parameters
    ----------
    nodes : list of (V_i, p) arrays or scipy.sparse matrices, finite, V_i ≥ 1
    edges : list of (E_i, 2) pairs (u, v) of different nodes, counted from 0; E_i may be 0
    labels : list of (V_i,) labels of any sortable kind
    pairs : list of (E_i, q) features of edges; default one constant 1 each
    loss : "hamming-normalised", Σ_v cost / V_i, or "hamming", Σ_v cost
    cost : (K, K) with cost[true, predicted] ≥ 0 and a zero diagonal; default 0/1
    weights : (n,) sample weights ≥ 0, not all zero; default 1
    classes : labels to admit besides those seen

    Attributes
    ----------
    nodes : (N, p) CSR, all nodes of all samples;  offsets : (n + 1,) where each sample starts
    edges : (E, 2) nodes within their samples;  ends : (n + 1,) where each sample's edges start;  pairs : (E, q)
    labels : (N,) indices into `classes`;  sizes : (n,) V_i
    """

    oracle_kind = "exact"
    table_of: ClassVar[Any]  # k -> (K, K) classes of pairs of labels

    def __init__(
        self,
        nodes: Sequence[ArrayLike | Any],
        edges: Sequence[ArrayLike],
        labels: Sequence[ArrayLike],
        pairs: Sequence[ArrayLike] | None = None,
        loss: Loss = "hamming-normalised",
        cost: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ):
        self.nodes, self.offsets = checked_sequences(nodes)
        self.sizes: Ints = np.diff(self.offsets)
        self.classes, self.labels = checked_labels(labels, self.sizes, classes)
        if loss not in LOSSES:
            raise BadInput(f"There is no loss called {loss!r} for graphs; use {' or '.join(LOSSES)}.")
        self.loss_name, self.n_samples, self.n_classes = str(loss), len(self.sizes), len(self.classes)
        self.cost = checked_cost(cost, self.n_classes)
        self.weights = checked_weights(weights, self.n_samples)
        self.edges, self.ends, self.pairs = checked_edges(edges, pairs, self.sizes)
        self.n_inputs, self.n_pairs = self.nodes.shape[1], self.pairs.shape[1]
        self.table: Ints = type(self).table_of(self.n_classes)
        self.n_features = self.n_classes * self.n_inputs + (int(self.table.max()) + 1) * self.n_pairs
        self.width = int(self.sizes.max())
        self.truth: Ints = np.full((self.n_samples, self.width), -1, np.int64)
        self.truth[self.within(np.arange(self.n_samples))] = self.labels
        self._declare()

    def _declare(self) -> None:
        """The sizes that the bounds rely on (contract: contracts.Problem)."""
        starts, used = self.offsets[:-1], self.cost[np.unique(self.labels)]
        self.divisors: Floats = self.sizes.astype(float) if self.loss_name == LOSSES[0] else np.ones(self.n_samples)
        self.max_loss: Floats = np.add.reduceat(self.cost.max(axis=1)[self.labels], starts) / self.divisors
        cheapest = np.where(self.cost > 0, self.cost, np.inf).min(axis=1)[self.labels]
        self.least_loss = float((np.minimum.reduceat(cheapest, starts) / self.divisors).min())
        self.free_outputs = bool((used == 0).sum() > len(used))
        counts = np.add.reduceat(np.diff(self.nodes.indptr), starts)
        edges = np.diff(self.ends)
        self.terms = int((counts + 48 * self.sizes + (32 + 2 * self.n_pairs) * edges).max()) + 64
        size = np.add.reduceat(np.asarray(abs(self.nodes).sum(axis=1)).ravel(), starts)
        size += np.bincount(self.sample_of_edges, np.abs(self.pairs).sum(axis=1), self.n_samples)
        self.magnitude: Floats = up(size * (1 + 2 * gamma(self.terms)))

    # ── nodes and edges of a batch ────────────────────────────────────────────────────────────────

    @cached_property
    def sample_of_edges(self) -> Ints:
        """(E,) the sample of each edge."""
        return np.repeat(np.arange(self.n_samples), np.diff(self.ends))

    def within(self, samples: Ints) -> NDArray[np.bool_]:
        """(m, width) mask of the entries of an output row that are nodes, not padding."""
        return np.arange(self.width) < self.sizes[samples][:, None]

    def rows(self, samples: Ints, starts: Ints) -> tuple[Ints, Ints]:
        """(number in the batch, row) of all nodes, or edges, of a batch; `starts` says where samples' rows start."""
        counts = np.diff(starts)[samples]
        first = np.cumsum(counts) - counts
        number = np.repeat(np.arange(len(samples)), counts)
        return number, np.arange(len(number)) + (starts[samples] - first)[number]

    def classes_at(self, number: Ints, edges: Ints, outputs: Ints) -> Ints:
        """The class of the labels at the ends of each of these edges."""
        u, v = self.edges[edges].T
        return self.table[outputs[number, u], outputs[number, v]]

    # ── features and loss ─────────────────────────────────────────────────────────────────────────

    def _features(self, samples: Ints, outputs: Ints) -> sparse.csr_array:
        """The nodes' features laid out by label, then what the pairs add."""
        k, p, q = self.n_classes, self.n_inputs, self.n_pairs
        number, at = self.rows(samples, self.offsets)
        nodes = taken(self.nodes, at).tocoo()
        labels = outputs[self.within(samples)]
        chosen, edges = self.rows(samples, self.ends)
        kind = self.classes_at(chosen, edges, outputs)
        kept = np.flatnonzero(kind >= 0)
        row, place = np.repeat(chosen[kept], q), (k * p + kind[kept][:, None] * q + np.arange(q)).ravel()
        rows = np.concatenate([number[nodes.coords[0]], row])
        columns = np.concatenate([nodes.coords[1] + labels[nodes.coords[0]] * p, place])
        data = np.concatenate([nodes.data, self.pairs[edges[kept]].ravel()])
        found = sparse.csr_array((data, (rows, columns)), shape=(len(samples), self.n_features))
        found.sort_indices()
        return found

    @cached_property
    def exact_features(self) -> bool:
        """Whether every sum of features is exact."""
        return summed_exactly(np.concatenate([self.nodes.data, self.pairs.ravel()]), float(self.magnitude.max()))

    @cached_property
    def exact_loss(self) -> bool:
        """Whether losses are free of rounding: whole costs, not divided."""
        return self.loss_name == "hamming" and not (self.cost % 1).any()

    def loss(self, samples: Ints, outputs: Ints) -> Floats:
        within = self.within(samples)
        costs = self.cost[self.truth[samples][within], outputs[within]]
        number = np.repeat(np.arange(len(samples)), self.sizes[samples])
        return np.bincount(number, costs, len(samples)) / self.divisors[samples]

    @cached_property
    def augmentation(self) -> Floats:
        """(N, K) what each label at each node adds to the loss."""
        return self.cost[self.labels] * np.repeat(1 / self.divisors, self.sizes)[:, None]

    # ── argmax ────────────────────────────────────────────────────────────────────────────────────

    def split(self, w: Floats) -> tuple[Floats, Floats]:
        """W (K, p) and A (C, q) of a weight vector."""
        k, p = self.n_classes, self.n_inputs
        return w[: k * p].reshape(k, p), w[k * p :].reshape(-1, self.n_pairs)

    def scores(self, w: Floats, augment: bool) -> tuple[Floats, Floats]:
        """θ_v(a) (N, K), with the loss if asked, and θ_e(c) (E, C), of all samples."""
        W, A = self.split(w)
        unary = self.nodes @ W.T
        return unary + self.augmentation if augment else unary, self.pairs @ A.T

    @abstractmethod
    def search(self) -> Kernel:
        """The search for the best labelling, as a kernel whose θ are its gains."""

    @abstractmethod
    def gains(self, unary: Floats, pairs: Floats) -> Floats:
        """θ of `search` for these scores."""

    @cached_property
    def ready(self) -> Kernel:
        """`search`, compiled if it can be."""
        return entirely(self.search()) if available() else self.search()

    def argmax(self, w: Floats, samples: Ints, augment: bool = True) -> Ints:
        gains, out = self.gains(*self.scores(w, augment)), np.full((len(samples), self.width), -1, np.int64)
        for row, i in zip(out, samples.tolist(), strict=True):
            self.ready.argmax_into(self.ready.data, gains, i, row)
        return out

    def runner_up(self, w: Floats, samples: Ints) -> Ints:
        """argmax over y ≠ y_i: the best over all nodes v of the best labelling with y_v ≠ y_iv, O(V) searches."""
        out, (unary, pairs) = self.argmax(w, samples, augment=False), self.scores(w, augment=False)
        room = 2 * np.abs(unary).max(axis=1, initial=0.0) + 1.0  # more than a node can win by its true label
        for end in (0, 1):
            widest = 2 * np.abs(pairs).max(axis=1, initial=0.0)
            np.add.at(room, self.offsets[self.sample_of_edges] + self.edges[:, end], widest)
        for number, i in enumerate(samples.tolist()):
            if (out[number] == self.truth[i]).all():
                rivals = [self.barred(unary, pairs, i, v, room[v]) for v in range(*self.offsets[i : i + 2])]
                scores = self.features(np.full(len(rivals), i), np.stack(rivals)) @ w
                out[number] = rivals[int(scores.argmax())]
        return out

    def barred(self, unary: Floats, pairs: Floats, i: int, node: int, price: float) -> Ints:
        """The best labelling (width,) of sample i if the true label of a node costs `price`."""
        dearer, out = unary.copy(), np.full(self.width, -1, np.int64)
        dearer[node, self.labels[node]] -= price
        self.ready.argmax_into(self.ready.data, self.gains(dearer, pairs), i, out)
        return out

    @classmethod
    def at(cls, nodes: Any, edges: Any, problem: Any, pairs: Any, **settings: Any) -> Self:
        """A problem of that kind on other graphs, of no labels known."""
        labels = [np.full(np.shape(each)[0], problem.classes[0]) for each in nodes]
        return cls(nodes, edges, labels, pairs, classes=problem.classes, **settings)

    def predict(self, w: Floats, nodes: Sequence[Any], edges: Sequence[Any], pairs: Any = None) -> list[NDArray]:
        """The labels (V,) of the highest score for each graph, given as to the class."""
        asked = type(self).at(nodes, edges, self, pairs)
        if (asked.n_inputs, asked.n_pairs) != (self.n_inputs, self.n_pairs):
            raise BadInput(
                f"The graphs have {asked.n_inputs} features a node and {asked.n_pairs} an edge but the weights were "
                f"learned on {self.n_inputs} and {self.n_pairs}."
            )
        found = asked.argmax(checked_learned(w, self.n_features), np.arange(asked.n_samples), augment=False)
        return [self.classes[row[:size]] for row, size in zip(found, asked.sizes, strict=True)]

    # ── outputs ───────────────────────────────────────────────────────────────────────────────────

    def outputs(self, sample: int) -> Ints:
        """All K^V labellings; `MissingCapability` above 100,000."""
        k, size = self.n_classes, int(self.sizes[sample])
        if size * np.log(k) > np.log(MOST_OUTPUTS):
            raise MissingCapability(f"Sample {sample} has {k}^{size} labellings, too many to list; use the argmax.")
        listed = np.full((k**size, self.width), -1, np.int64)
        listed[:, :size] = np.indices((k,) * size).reshape(size, -1).T
        return listed

    def describe(self, sample: int, output: Ints) -> str:
        return f"labels {' '.join(str(c) for c in self.classes[output[: self.sizes[sample]]])}"

    # ── files ─────────────────────────────────────────────────────────────────────────────────────

    def arrays(self) -> dict[str, NDArray]:
        return {
            **kept_rows(self.nodes),
            "n_inputs": np.array(self.n_inputs),
            "offsets": self.offsets,
            "labels": self.labels,
            "classes": self.classes,
            "edges": self.edges,
            "ends": self.ends,
            "pairs": self.pairs,
            "loss": np.array(self.loss_name),
            "cost": self.cost,
            "weights": self.weights,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray], **settings: Any) -> Self:
        nodes = saved_rows(arrays, (len(arrays["labels"]), int(arrays["n_inputs"])))
        named, loss = arrays["classes"][arrays["labels"]], cast(Loss, str(arrays["loss"]))  # checked when it is built
        own, between = ([slice(a, b) for a, b in pairwise(arrays[name])] for name in ("offsets", "ends"))
        return cls(
            [nodes[piece] for piece in own],
            [arrays["edges"][piece] for piece in between],
            [named[piece] for piece in own],
            [arrays["pairs"][piece] for piece in between],
            loss,
            arrays["cost"],
            arrays["weights"],
            arrays["classes"],
            **settings,
        )


def checked_edges(edges: Any, pairs: Any, sizes: Ints) -> tuple[Ints, Ints, Floats]:
    """All edges (E, 2), where each sample's start (n + 1,), and their features (E, q); or `BadInput`."""
    for name, given in (("edges", edges), ("pairs", pairs)):
        if given is not None and (not hasattr(given, "__len__") or len(given) != len(sizes)):
            raise BadInput(f"There are {len(sizes)} graphs; give one table of {name} each.")
    tables = [checked_table(i, table, int(size)) for i, (table, size) in enumerate(zip(edges, sizes, strict=True))]
    ends = np.concatenate([[0], np.cumsum([len(table) for table in tables])]).astype(np.int64)
    if pairs is None:
        return np.concatenate(tables), ends, np.ones((int(ends[-1]), 1))
    features = [numbers(table, f"The edge features of graph {i}", "repair them") for i, table in enumerate(pairs)]
    for i, (table, each) in enumerate(zip(tables, features, strict=True)):
        if each.ndim != 2 or len(each) != len(table) or each.shape[1] != features[0].shape[1] or each.shape[1] == 0:
            raise BadInput(
                f"The edge features of graph {i} have shape {each.shape}; give ({len(table)}, q), one q ≥ 1."
            )
        if not (np.abs(each) <= LARGEST).all():
            raise BadInput(f"An edge feature of graph {i} is infinite, missing or beyond {LARGEST:g}; repair it.")
    return np.concatenate(tables), ends, np.ascontiguousarray(np.concatenate(features))


def checked_table(i: int, given: Any, size: int) -> Ints:
    """The edges (E, 2) of one graph of `size` nodes, or `BadInput`."""
    table = np.asarray(given)
    if table.size == 0:
        return np.empty((0, 2), np.int64)
    if table.ndim != 2 or table.shape[1] != 2 or table.dtype.kind not in "ui":
        raise BadInput(f"The edges of graph {i} are {table.dtype} {table.shape}; give pairs (u, v) of whole numbers.")
    table = table.astype(np.int64)
    wrong = ((table < 0) | (table >= size)).any(axis=1) | (table[:, 0] == table[:, 1])
    if wrong.any():
        u, v = table[wrong][0]
        raise BadInput(f"Edge ({u}, {v}) of graph {i} is none between two of its nodes 0 to {size - 1}; correct it.")
    return table
