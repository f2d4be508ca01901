"""Chain: one label of K per position of a sequence, scored by letters and by neighbouring pairs.

    ⟨w, φ(x, y)⟩ = Σ_t ⟨W_{y_t}, x_t⟩ + Σ_{t>1} A_{y_{t−1} y_t}          w = [W (K, p), A (K, K)] row by row

so d = K p + K². With `pairs`, features f_t of the gap between two neighbours, pair scores read the input: A_ab
becomes ⟨A_ab, f_t⟩, w = [W (K, p), A (K², q)] and d = K p + K² q; f_t = 1 is the plain form. The loss is a sum of
position costs, 0/1 by default, divided by the length T_i under "hamming-normalised". The argmax is exact by Viterbi,
O(T K²); for slack rescaling the same recursion also carries the number of errors, O(T² K²); the hinge has a compact
form with one message per position and label (M³N; Taskar, Guestrin, Koller 2003; docs/mathematics.md §2, §3).

Ties go to the lowest last label, then backwards to the lowest previous label (`_viterbi`).
Letters are kept as one CSR matrix: for 20 % dense bits its product with Wᵀ costs 1.6 ms for 4,617
letters where a dense one costs 0.7–1.2 ms, and text needs the sparse one. With `pairs` a sequence is also the path of a
`Tree` with the same weights, which brings features, the kernel, sums and the compact form.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from workbench.arithmetic.arrays import (
    checked_cost,
    checked_learned,
    checked_weights,
    kept_rows,
    saved_rows,
    sparse_product,
)
from workbench.arithmetic.compiled import available, compiled
from workbench.arithmetic.intervals import gamma, up
from workbench.contracts import CompactHinge, Floats, Ints, Kernel, Sourced
from workbench.errors import BadInput, MissingCapability
from workbench.outputs import _chain_kernels, _messages, _paths, _viterbi
from workbench.outputs._exact_chain import ExactChain
from workbench.outputs._featured import Featured
from workbench.outputs._graph import compact
from workbench.outputs._graph.sums import TreeSums
from workbench.outputs._marginals import ForwardBackward
from workbench.outputs._named import Names, of_dicts
from workbench.outputs._parts import MOST_OUTPUTS, summed_exactly
from workbench.outputs._sequences import checked_labels, checked_sequences

MOST_LEVELS = 10_000
CHUNK = 4_000_000  # numbers that `decode` may hold at once

MATRIX, TENSOR, INDICES = "float64[:,::1]", "float64[:,:,::1]", "int64[::1]"
SIGNATURES = {
    "viterbi": f"void({MATRIX}, {TENSOR}, {INDICES}, int64[:,::1])",
    "slack_viterbi": f"void({MATRIX}, {TENSOR}, {INDICES}, int64[:,::1], {MATRIX}, float64[::1], int64[:,::1])",
    "runner_up": f"void({MATRIX}, {TENSOR}, {INDICES}, {INDICES}, int64[:,::1])",
}

Loss = Literal["hamming-normalised", "hamming"]


class Chain(Featured, Sourced):
    """Sequences of feature vectors, each with a sequence of labels.

    Parameters
    ----------
    sequences : list of (T_i, p) arrays or scipy.sparse matrices, finite, T_i ≥ 1; or of lists of dicts, one a position,
        {name: number or text}, whose names `columns` keeps
    labels : list of (T_i,) labels of any sortable kind; a string stands for its characters.
        `classes` holds the distinct ones in order
    loss : "hamming-normalised", Σ_t cost / T_i, or "hamming", Σ_t cost
    cost : (K, K) with cost[true, predicted] ≥ 0 and a zero diagonal; default 0/1
    weights : (n,) sample weights ≥ 0, not all zero; default 1
    classes : labels to admit besides those seen
    pairs : list of (T_i − 1, q) arrays, finite, the features f of each pair of neighbours; default one constant 1 each

    Attributes
    ----------
    letters : (N, p) CSR, all positions of all sequences, N = Σ T_i;  offsets : (n + 1,) where each starts
    labels : (N,) their labels as indices into `classes`;  lengths : (n,) T_i
    gaps : (N, q) the features of the pair that ends at each position, 0 for first ones;  paired : if given
    path : the `Tree` of the same weights, None without `pairs`
    depth : (n,) the roundings that meet one number on its way into a score (`Nested`): the inputs of one letter, and
        two additions a position; with `pairs` those of the whole sum

    Raises
    ------
    BadInput : no, empty or ragged sequences, widths or lengths that differ, NaN or inf, unknown
        labels, fewer than two classes, a bad cost matrix, an unknown loss
    """

    name = "chain"
    oracle_kind = "exact"
    concurrent = True

    def __init__(
        self,
        sequences: Sequence[ArrayLike | Any],
        labels: Sequence[ArrayLike],
        loss: Loss = "hamming-normalised",
        cost: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        pairs: Sequence[ArrayLike] | None = None,
    ):
        if of_dicts(sequences):
            names = Names.of(sequences)
            self.columns, sequences = names.names, [names.rows(each) for each in sequences]
        self.letters, self.offsets = checked_sequences(sequences)
        self.lengths: Ints = np.diff(self.offsets)
        self.classes, self.labels = checked_labels(labels, self.lengths, classes)
        if loss not in ("hamming-normalised", "hamming"):
            raise BadInput(f"There is no loss called {loss!r} for chains; use hamming-normalised or hamming.")
        self.loss_name = str(loss)
        self.n_samples, self.n_classes = len(self.lengths), len(self.classes)
        self.cost = checked_cost(cost, self.n_classes)
        self.weights = checked_weights(weights, self.n_samples)
        self.n_inputs = self.letters.shape[1]
        self.paired, self.gaps = pairs is not None, _paths.checked_gaps(pairs, self.offsets)
        self.n_pairs = self.gaps.shape[1]
        self.n_features = self.n_classes * (self.n_inputs + self.n_classes * self.n_pairs)
        self.width = int(self.lengths.max())
        self.truth: Ints = np.full((self.n_samples, self.width), -1, np.int64)
        self.truth[self.within(self.lengths)] = self.labels

        starts, used = self.offsets[:-1], self.cost[np.unique(self.labels)]
        self.divisors: Floats = self.lengths.astype(float) if loss == "hamming-normalised" else np.ones(self.n_samples)
        self.max_loss: Floats = np.add.reduceat(self.cost.max(axis=1)[self.labels], starts) / self.divisors
        cheapest = np.where(self.cost > 0, self.cost, np.inf).min(axis=1)[self.labels]
        self.least_loss = float((np.minimum.reduceat(cheapest, starts) / self.divisors).min())
        self.free_outputs = bool((used == 0).sum() > len(used))
        sizes, counts = abs(self.letters).sum(axis=1), np.diff(self.letters.indptr)
        self.terms = int((np.add.reduceat(counts, starts) + 4 * self.lengths).max())
        self.depth: Ints = np.maximum.reduceat(counts, starts) + 4 * self.lengths + 8
        size = np.add.reduceat(sizes, starts) + self.lengths - 1
        self.magnitude: Floats = up(size * (1 + 2 * gamma(self.terms)))
        self.path = _paths.path(self.offsets, self.gaps, self.plain_arrays()) if self.paired else None
        if self.path is not None:
            self.terms, self.magnitude = self.path.terms, self.path.magnitude
            self.depth = np.full(self.n_samples, 2 * self.terms + 8)

    # ── positions of a batch ──────────────────────────────────────────────────────────────────────

    def within(self, lengths: Ints) -> NDArray[np.bool_]:
        """(m, width) mask of the entries of an output row that are positions, not padding."""
        return np.arange(self.width) < lengths[:, None]

    def positions(self, samples: Ints) -> tuple[Ints | slice, Ints]:
        """The rows of `letters` that belong to a batch, in order, and the batch's own offsets (m + 1,)."""
        if len(samples) == self.n_samples and (samples == np.arange(self.n_samples)).all():
            return slice(None), self.offsets
        lengths = self.lengths[samples]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return np.arange(offsets[-1]) + np.repeat(self.offsets[samples] - offsets[:-1], lengths), offsets

    # ── features and loss ─────────────────────────────────────────────────────────────────────────

    def _features(self, samples: Ints, outputs: Ints) -> sparse.csr_array:
        """Letters summed by (sample, label) in one sparse product, pairs counted; then laid out row by row."""
        if self.path is not None:
            return self.path.features(samples, outputs)
        m, k, p, total = len(samples), self.n_classes, self.n_inputs, len(self.labels)
        at, offsets = self.positions(samples)
        at = np.arange(total) if isinstance(at, slice) else at
        labels, sample = outputs[self.within(self.lengths[samples])], np.repeat(np.arange(m), np.diff(offsets))
        cell = sample * k + labels
        order = np.argsort(cell, kind="stable")
        pointers = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=m * k))])
        picks = sparse.csr_array((np.ones(len(at)), at[order], pointers), shape=(m * k, total))
        sums = sparse_product(picks, self.letters)
        sums.sort_indices()
        later = np.ones(len(at), bool)
        later[offsets[:-1]] = False
        later = np.flatnonzero(later)
        pairs, counts = np.unique(
            (cell[later] - labels[later] + labels[later - 1]) * k + labels[later], return_counts=True
        )
        rows = pairs // (k * k)
        unary_ends, pair_ends = sums.indptr[::k], np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=m))])
        indices, data = np.empty(sums.nnz + len(pairs), np.int64), np.empty(sums.nnz + len(pairs))
        place = np.arange(sums.nnz) + np.repeat(pair_ends[:-1], np.diff(unary_ends))
        indices[place] = sums.indices + np.repeat(np.tile(np.arange(k) * p, m), np.diff(sums.indptr))
        data[place] = sums.data
        place = np.arange(len(pairs)) + unary_ends[rows + 1]
        indices[place], data[place] = k * p + pairs % (k * k), counts
        return sparse.csr_array((data, indices, unary_ends + pair_ends), shape=(m, self.n_features))

    @cached_property
    def exact_features(self) -> bool:
        """Whether every sum of letters, and of features of pairs, is exact."""
        if self.path is not None:
            return self.path.exact_features
        return summed_exactly(self.letters.data, float(self.magnitude.max()))

    @cached_property
    def exact_loss(self) -> bool:
        """Whether losses are free of rounding: whole costs, not divided."""
        return self.loss_name == "hamming" and not (self.cost % 1).any()

    def loss(self, samples: Ints, outputs: Ints) -> Floats:
        _, offsets = self.positions(samples)
        within = self.within(self.lengths[samples])
        costs = self.cost[self.truth[samples][within], outputs[within]]
        return np.add.reduceat(costs, offsets[:-1]) / self.divisors[samples]

    # ── argmax ────────────────────────────────────────────────────────────────────────────────────

    def split(self, w: Floats) -> tuple[Floats, Floats]:
        """W (K, p) and A (K, K), with `pairs` (K, K, q), of a weight vector."""
        k, edges = self.n_classes, self.n_classes * self.n_inputs
        shape = (k, k, self.n_pairs) if self.paired else (k, k)
        return w[:edges].reshape(k, self.n_inputs), w[edges:].reshape(shape).astype(float)

    def transitions(self, A: Floats, gaps: Floats) -> Floats:
        """A_ab at each of these gaps (m, K, K); (1, K, K) where A is the same for all."""
        k = self.n_classes
        return (gaps @ A.reshape(k * k, -1).T).reshape(-1, k, k) if self.paired else A[None]

    @cached_property
    def augmentation(self) -> Floats:
        """(N, K) what each label at each position adds to the loss."""
        return self.cost[self.labels] * np.repeat(1 / self.divisors, self.lengths)[:, None]

    @property
    def inputs(self) -> sparse.csr_array:
        return self.letters

    def places(self, samples: Ints) -> tuple[Ints, Ints]:
        at, offsets = self.positions(samples)
        return np.repeat(np.arange(len(samples)), np.diff(offsets)), np.arange(len(self.labels))[at]

    def argmax(self, w: Floats, samples: Ints, augment: bool | Floats = True) -> Ints:
        unary, A = self.split(w)
        at, offsets = self.positions(samples)
        scores = self.letters[at] @ unary.T if not isinstance(at, slice) else self.letters @ unary.T
        if augment is not False:
            scores += self.augmentation[at] if augment is True else augment
        return self.decode("viterbi", scores, self.transitions(A, self.gaps[at]), offsets, self.width)

    def slack_argmax(self, w: Floats, samples: Ints) -> Ints:
        """Exact; the costs must be small integers, so that total costs can be counted.

        Raises
        ------
        MissingCapability : costs that are not integers, or whose totals exceed 10,000
        """
        levels, most = self.levels
        unary, A = self.split(w)
        at, offsets = self.positions(samples)
        transitions = self.transitions(A, self.gaps[at])
        truth, edge = self.labels[at], np.ones(offsets[-1], bool)
        scores = np.ascontiguousarray(self.letters[at] @ unary.T)
        own = scores[np.arange(offsets[-1]), truth]
        edge[offsets[:-1]] = False
        steps = np.broadcast_to(transitions, (len(truth), *transitions.shape[1:]))
        own[edge] += steps[np.flatnonzero(edge), truth[:-1][edge[1:]], truth[1:][edge[1:]]]
        losses = np.arange(most + 1) / self.divisors[samples][:, None]
        extra = (levels[truth], losses, np.add.reduceat(own, offsets[:-1]))
        return self.decode("slack_viterbi", scores, transitions, offsets, self.width, *extra)

    def runner_up(self, w: Floats, samples: Ints) -> Ints:
        unary, A = self.split(w)
        at, offsets = self.positions(samples)
        scores = np.ascontiguousarray(self.letters[at] @ unary.T)
        out = np.full((len(samples), self.width), -1, np.int64)
        loop = compiled(_viterbi.runner_up, SIGNATURES["runner_up"]) if available() else _viterbi.runner_up
        loop(scores, self.transitions(A, self.gaps[at]), offsets, self.labels[at], out)
        return out

    @cached_property
    def levels(self) -> tuple[Ints, int]:
        """The cost matrix in integers and the greatest total cost of any output."""
        most = float(np.add.reduceat(self.cost.max(axis=1)[self.labels], self.offsets[:-1]).max())
        if (self.cost % 1).any() or most > MOST_LEVELS:
            raise MissingCapability(
                "slack rescaling on chains counts total costs, which needs integer costs whose sum over a sequence "
                f"stays below {MOST_LEVELS}; use rescaling=margin, or integer costs."
            )
        return self.cost.astype(np.int64), int(most)

    @staticmethod
    def decode(loop: str, scores: Floats, transitions: Floats, offsets: Ints, width: int, *extra: Any) -> Ints:
        """The labellings (m, width) found by a loop of `_viterbi`, compiled if it can be."""
        out = np.full((len(offsets) - 1, width), -1, np.int64)
        if available():
            compiled(getattr(_viterbi, loop), SIGNATURES[loop])(scores, transitions, offsets, *extra, out)
            return out
        levels, losses, own = extra or (None, None, None)
        each = width * scores.shape[1] * (1 if losses is None else losses.shape[1])
        step = max(1, CHUNK // each)
        for i in range(0, len(out), step):
            part, piece = slice(i, i + step), offsets[i : i + step + 1]
            rows = slice(piece[0], piece[-1])
            more = () if losses is None else (levels[rows], losses[part], own[part])
            steps = transitions if len(transitions) == 1 else transitions[rows]
            _viterbi.decode(scores[rows], steps, piece - piece[0], out[part], *more)
        return out

    def kernel(self, augment: bool | Floats = True) -> Kernel:
        return _chain_kernels.margin(self, augment, False)

    def slack_kernel(self) -> Kernel:
        """The kernel of slack rescaling; `MissingCapability` as `slack_argmax`."""
        return _chain_kernels.slack(self, self.levels[0], False)

    def rival_kernel(self, arranged: bool = False) -> Kernel:
        """The kernel of unit margins; `arranged` as below."""
        return _chain_kernels.rival(self, arranged)

    def arranged(self, augment: bool | Floats = True, slack: bool = False) -> Kernel:
        """The kernel for weights in the order Wᵀ, A, in which the weights of one input stand together."""
        if slack:
            return _chain_kernels.slack(self, self.levels[0], True)
        return _chain_kernels.margin(self, augment, True)

    def predict(
        self,
        w: Floats,
        sequences: Sequence[ArrayLike | Any],
        bias: Floats | None = None,
        pairs: Sequence[ArrayLike] | None = None,
    ) -> list[NDArray]:
        """The labels (T,) of the highest score for each of `sequences`, (T, p) each, with `pairs` as in training;
        `bias` (K,) adds to labels'.
        """
        if self.names is not None and of_dicts(sequences):
            sequences = [Names(self.names).rows(each) for each in sequences]
        letters, offsets = checked_sequences(sequences)
        if letters.shape[1] != self.n_inputs:
            raise BadInput(
                f"The sequences have {letters.shape[1]} features per position but the weights were learned on "
                f"{self.n_inputs}."
            )
        unary, A = self.split(checked_learned(w, self.n_features))
        lengths, gaps = np.diff(offsets), _paths.asked_gaps(self, pairs, offsets)
        scores = letters @ unary.T + (0.0 if bias is None else bias)
        best = self.decode("viterbi", scores, self.transitions(A, gaps), offsets, int(lengths.max()))
        return [self.classes[row[:length]] for row, length in zip(best, lengths, strict=True)]

    def exact(self) -> ExactChain:
        """This problem in rational arithmetic."""
        return ExactChain(self)

    # ── outputs ───────────────────────────────────────────────────────────────────────────────────

    def outputs(self, sample: int) -> Ints:
        """All K^T labellings; `MissingCapability` above 100,000."""
        k, length = self.n_classes, int(self.lengths[sample])
        if k**length > MOST_OUTPUTS:
            raise MissingCapability(
                f"Sequence {sample} has {k}^{length} labellings, too many to list; shorten it or use the argmax."
            )
        listed = np.full((k**length, self.width), -1, np.int64)
        listed[:, :length] = np.indices((k,) * length).reshape(length, -1).T
        return listed

    def describe(self, sample: int, output: Ints) -> str:
        names = [str(c) for c in self.classes[output[: self.lengths[sample]]]]
        return f'labels "{"".join(names)}"' if all(len(c) == 1 for c in names) else f"labels {' '.join(names)}"

    def weight_names(self) -> list[str]:
        """LABEL: x[j], or the name of the feature, for the inputs; LABEL→NEXT, or LABEL→NEXT: f[j], for pairs."""
        columns = self.names or [f"x[{j}]" for j in range(self.n_inputs)]
        inputs = [f"{label}: {column}" for label in self.classes for column in columns]
        ends = [f": f[{j}]" for j in range(self.n_pairs)] if self.paired else [""]
        return inputs + [f"{label}→{after}{end}" for label in self.classes for after in self.classes for end in ends]

    def marginals(self) -> ForwardBackward | TreeSums:
        """The likelihood of its labellings, by sum-product."""
        return ForwardBackward(self) if self.path is None else TreeSums(self.path)

    def compact(self, w: Any) -> CompactHinge:
        return _messages.compact(self, w) if self.path is None else compact.tree(self.path, w)

    # ── files and examples ────────────────────────────────────────────────────────────────────────

    def arrays(self) -> dict[str, NDArray]:
        return {**self.plain_arrays(), **({"pairs": self.gaps[_paths.later(self.offsets)]} if self.paired else {})}

    def plain_arrays(self) -> dict[str, NDArray]:
        """The arrays of the chain but for the features of pairs."""
        return {
            **kept_rows(self.letters),
            "n_inputs": np.array(self.n_inputs),
            "offsets": self.offsets,
            "labels": self.labels,
            "classes": self.classes,
            "loss": np.array(self.loss_name),
            "cost": self.cost,
            "weights": self.weights,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> Chain:
        shape = (len(arrays["labels"]), int(arrays["n_inputs"]))
        letters = saved_rows(arrays, shape)
        labels, bounds = arrays["classes"][arrays["labels"]], arrays["offsets"]
        pieces = [slice(start, stop) for start, stop in pairwise(bounds)]
        sequences, named = [letters[piece] for piece in pieces], [labels[piece] for piece in pieces]
        pairs, ends = arrays.get("pairs"), bounds - np.arange(len(bounds))
        given = None if pairs is None else [pairs[start:stop] for start, stop in pairwise(ends)]
        loss = cast(Loss, str(arrays["loss"]))  # checked when it is built
        return cls(sequences, named, loss, arrays["cost"], arrays["weights"], arrays["classes"], given)

    @classmethod
    def random(cls, rng: np.random.Generator, n: int, d: int, labels: int) -> Chain:
        """n ≥ 2 sequences, d features, K = `labels`, K^T ≤ 36; a third with `pairs` (benchmarks/instances.py)."""
        longest = int(np.log(36.5) / np.log(labels))
        lengths = 1 + rng.permutation(n) % longest
        cost = rng.integers(1, 4, (labels, labels)) * (1 - np.eye(labels)) if rng.random() < 0.5 else None
        weights = np.append([1, 1], rng.integers(0, 4, n - 2)) if rng.random() < 0.3 else None
        sequences, truth = [rng.normal(size=(t, d)) for t in lengths], [rng.integers(0, labels, t) for t in lengths]
        truth[1][0] = truth[1][0] if truth[1][0] != truth[0][0] else (truth[0][0] + 1) % labels
        loss = ("hamming", "hamming-normalised")[int(rng.random() < 0.5)]
        return cls(sequences, truth, loss, cost, weights, np.arange(labels), _paths.drawn_gaps(rng, lengths))

    @classmethod
    def tiny(cls, rng: np.random.Generator) -> Chain:
        """A random instance small enough to enumerate: T ≤ 3, K ≤ 3, two labels occur, a third with `pairs`."""
        n, p, k = int(rng.integers(2, 5)), int(rng.integers(1, 4)), int(rng.integers(2, 4))
        lengths = rng.integers(1, 4, n)
        sequences = [rng.normal(size=(t, p)) for t in lengths]
        if rng.random() < 0.5:
            sequences = [np.round(2 * s) for s in sequences]
        cost = None if rng.random() < 0.5 else rng.integers(1, 4, (k, k)) * (1 - np.eye(k))
        loss = ("hamming", "hamming-normalised")[rng.integers(2)]
        labels = [rng.integers(0, k, t) for t in lengths]
        if len(np.unique(np.concatenate(labels))) == 1:
            labels[-1][-1] = (labels[-1][-1] + 1) % k
        return cls(sequences, labels, loss, cost, None, np.arange(k), _paths.drawn_gaps(rng, lengths))


NAMES = {"chain": Chain}
