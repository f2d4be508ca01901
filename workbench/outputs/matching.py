"""Matching: links between J rows and K columns, each row and each column in at most one (word alignment).

    φ(x, y) = Σ_{(j,k)∈y} x_jk            ⟨w, φ(x, y)⟩ = Σ_{(j,k)∈y} ⟨w, x_jk⟩
    ℓ_i(y) = c⁺ |y \\ y_i| + c⁻ |y_i \\ y|    false positives and false negatives

so d is the number of features of an edge. With gains g_jk = ⟨w, x_jk⟩ + c⁺ outside y_i and − c⁻ inside it,
ℓ_i(y) + ⟨w, φ(x_i, y)⟩ = c⁻ |y_i| + Σ_{(j,k)∈y} g_jk: the argmax is a heaviest matching, O(J² K), of the
positive gains. The hinge has a compact form with J + K variables (Taskar, Lacoste-Julien & Klein 2005;
docs/mathematics.md §3). There is no oracle for slack rescaling.

Annotations that are no matching, since links share a row or a column, are refused, or kept by `clipped`. No matching
equals such a y_i, the maximum over matchings may be negative, and the hinge is clipped at 0:

    h_i(w) = [max over matchings y of ℓ_i(y) − ⟨w, ψ_i(y)⟩]₊

which is the maximum over the matchings and y_i itself, whose cut is 0. A row of −2 stands for that y_i, which the
argmax with the loss may answer; predictions, and the argmax without the loss, are matchings. A likelihood sums over the
matchings and that y_i.

Rounding. Gains are put on a grid: θ̂ = (max(θ, 0) + L) − L with L = 8 max θ moves each by at most L's own
rounding error, and on the grid every number that the Hungarian method meets (none above 4 max θ) is
exact in floats. So what is found is a heaviest matching for θ̂, and `terms` bounds what θ̂ may have lost.

Ties. Links of gain 0 or less are left out; between equally heavy matchings the choice is SciPy's,
always the same for the same gains. A kernel may choose another one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from workbench.arithmetic.arrays import checked_learned, checked_weights, compiled_rows, kept_rows, saved_rows
from workbench.arithmetic.intervals import gamma, up
from workbench.contracts import CompactHinge, Floats, Ints, Kernel
from workbench.errors import BadInput, MissingCapability
from workbench.outputs import _matching_compact, _matching_kernel
from workbench.outputs._exact_matching import ExactMatching
from workbench.outputs._matching_checks import checked_edges, checked_links, checked_price
from workbench.outputs._parts import MOST_OUTPUTS, Parts, unweighted

ITSELF = _matching_kernel.ITSELF  # in a row: the annotation of the sample, which is no matching


class Matching(Parts):
    """Samples of J_i × K_i edges with features, each with a true matching.

    Parameters
    ----------
    edge_features : list of (J_i, K_i, d) arrays, finite, J_i and K_i ≥ 1; or, with `shapes`, of
        (J_i K_i, d) arrays or scipy.sparse matrices, edge (j, k) in row j K_i + k
    gold : list of links (j, k), counted from 0; may be empty. Links that share a row or a column are
        refused unless `clipped`; `nearest_matching` makes them a matching
    false_positive, false_negative : c⁺ > 0 and c⁻ > 0. A loss per word or per link is a matter of `weights`
    weights : (n,) sample weights ≥ 0, not all zero; default 1
    shapes : (n, 2) pairs (J_i, K_i) for edges given as tables
    clipped : keep links that are no matching as they are; the hinge of their sample is clipped at 0

    Attributes
    ----------
    edges : (N, d) CSR, all edges of all samples, N = Σ J_i K_i;  starts : (n + 1,) where each sample starts
    heights, widths : (n,) J_i and K_i;  sizes : (n,) |y_i|;  gold : (N,) whether an edge is a true link
    truth : (n, max J) the k of each j, −1 where there is none and behind the end; or −2 in place of every k
    outside : (n,) whether y_i is no matching

    Raises
    ------
    BadInput : no samples, ragged or empty features, NaN or inf, links that lie outside, come twice or
        are no matching, costs that are not positive
    """

    name = "matching"
    oracle_kind = "exact"
    concurrent = True
    free_outputs = False  # an output that is not the truth has an error, and errors cost
    no_marginals = "summing over all matchings is #P-hard"

    def __init__(
        self,
        edge_features: Sequence[ArrayLike | Any],
        gold: Sequence[ArrayLike],
        false_positive: float = 1.0,
        false_negative: float = 1.0,
        weights: ArrayLike | None = None,
        shapes: ArrayLike | None = None,
        clipped: bool = False,
    ):
        self.edges, self.heights, self.widths = checked_edges(edge_features, shapes)
        self.false_positive = checked_price("false_positive", false_positive)
        self.false_negative = checked_price("false_negative", false_negative)
        self.n_samples, self.n_features = len(self.heights), self.edges.shape[1]
        self.weights = checked_weights(weights, self.n_samples)
        self.starts: Ints = np.concatenate([[0], np.cumsum(self.heights * self.widths)])
        self.width = int(self.heights.max())
        self.gold: NDArray[np.bool_] = np.zeros(self.edges.shape[0], bool)
        self.outside: NDArray[np.bool_] = np.zeros(self.n_samples, bool)
        self.truth: Ints = self.checked_truth(gold, clipped)
        self.sizes: Ints = np.add.reduceat(self.gold, self.starts[:-1], dtype=np.int64)

        least = np.minimum(self.heights, self.widths)
        self.least_loss = self.cheapest(least)
        self.max_loss: Floats = up(up(self.false_positive * least) + up(self.false_negative * self.sizes)) * (1 + 1e-15)
        links, entries = int(max(least.max(), self.sizes.max())), int(np.diff(self.edges.indptr).max())
        self.terms = min(self.n_features, links * entries) + 5 * links + 4
        self.magnitude: Floats = up(self.heaviest_features() * (1 + 2 * gamma(self.terms)))

    def checked_truth(self, gold: Any, clipped: bool) -> Ints:
        """The truth as rows (n, max J), and its links into `gold`; or `BadInput`."""
        if not hasattr(gold, "__len__") or len(gold) != self.n_samples:
            count = f"{len(gold)} lists of links" if hasattr(gold, "__len__") else "no list of links"
            raise BadInput(f"There are {self.n_samples} samples but {count}; give one list of links each.")
        truth = np.full((self.n_samples, self.width), -1, np.int64)
        for i, given in enumerate(gold):
            links = checked_links(f"sample {i}", given, (int(self.heights[i]), int(self.widths[i])))
            self.gold[self.starts[i] + links[:, 0] * self.widths[i] + links[:, 1]] = True
            shared = shared_end(links)
            if shared is not None and not clipped:
                raise BadInput(
                    f"The links of sample {i} are no matching: {shared} of them; drop some, take "
                    "nearest_matching(links, shape), or keep them by clipped=True."
                )
            self.outside[i] = shared is not None
            if self.outside[i]:
                truth[i, : self.heights[i]] = ITSELF
            else:
                truth[i, links[:, 0]] = links[:, 1]
        return truth

    def cheapest(self, least: Ints) -> float:
        """The least positive loss: one link more, one less, or a largest matching inside links that are none."""
        plain = ~self.outside
        prices = [self.false_positive] * bool((self.sizes < least)[plain].any())  # room for one more link
        prices += [self.false_negative] * bool(self.sizes[plain].any())
        for i in np.flatnonzero(self.outside).tolist():
            inside = self.gold[self.starts[i] : self.starts[i + 1]].reshape(self.heights[i], -1)
            prices.append(
                self.false_negative * int(self.sizes[i] - (heaviest_matching(inside.astype(float)) >= 0).sum())
            )
        return float(min(prices))

    def heaviest_features(self) -> Floats:
        """(n,) bound on max_y ‖φ(x_i, y)‖₁: the largest edges of all rows, or of all columns, or the true ones."""
        sizes, bounds = abs(self.edges).sum(axis=1), np.empty(self.n_samples)
        for i, table in enumerate(self.tables(sizes)):
            bounds[i] = min(table.max(axis=0).sum(), table.max(axis=1).sum())
        return np.maximum(bounds, np.add.reduceat(sizes * self.gold, self.starts[:-1]))

    # ── edges of a batch ──────────────────────────────────────────────────────────────────────────

    def tables(self, values: NDArray) -> Iterable[NDArray]:
        """One value per edge (N,) as one table (J_i, K_i) per sample."""
        for i, (j, k) in enumerate(zip(self.heights, self.widths, strict=True)):
            yield values[self.starts[i] : self.starts[i + 1]].reshape(j, k)

    def positions(self, samples: Ints) -> tuple[Ints, Ints]:
        """The rows of `edges` that belong to a batch, in order, and the batch's own starts (m + 1,)."""
        counts = (self.heights * self.widths)[samples]
        starts = np.concatenate([[0], np.cumsum(counts)])
        return np.arange(starts[-1]) + np.repeat(self.starts[samples] - starts[:-1], counts), starts

    @property
    def parts(self) -> sparse.csr_array:
        """The features of every link, (links, d)."""
        return self.edges

    def used(self, samples: Ints, outputs: Ints) -> tuple[Ints, Ints]:
        """(number in the batch, row of `edges`) of every link of the outputs."""
        number, j = np.nonzero(outputs >= 0)
        i = samples[number]
        rows = self.starts[i] + j * self.widths[i] + outputs[number, j]
        themselves = np.flatnonzero(outputs[:, 0] == ITSELF)
        if not len(themselves):
            return number, rows
        own = [
            np.flatnonzero(self.gold[self.starts[i] : self.starts[i + 1]]) + self.starts[i] for i in samples[themselves]
        ]
        number = np.concatenate([number, np.repeat(themselves, [len(each) for each in own])])
        order = np.argsort(number, kind="stable")
        return number[order], np.concatenate([rows, *own])[order]

    # ── features and loss ─────────────────────────────────────────────────────────────────────────

    def mistakes(self, samples: Ints, outputs: Ints) -> tuple[Ints, Ints]:
        """|y \\ y_i| and |y_i \\ y| for a batch, (m,) each."""
        number, rows = self.used(samples, outputs)
        right, whole = (np.bincount(each, minlength=len(samples)) for each in (number[self.gold[rows]], number))
        return whole - right, self.sizes[samples] - right

    @cached_property
    def augmentation(self) -> Floats:
        """(N,) what linking each edge adds to the loss: c⁺, or − c⁻ for a true link."""
        return np.where(self.gold, -self.false_negative, self.false_positive)

    # ── argmax ────────────────────────────────────────────────────────────────────────────────────

    def gains(self, w: Floats, samples: Ints, augment: bool) -> list[Floats]:
        """⟨w, x_jk⟩ [+ what the loss adds] of a batch's edges, a table (J, K) per sample."""
        whole = len(samples) == self.n_samples and (samples == np.arange(self.n_samples)).all()
        at, starts = (slice(None), self.starts) if whole else self.positions(samples)
        values = (self.edges if whole else self.edges[at]) @ w
        if augment:
            values += self.augmentation[at]
        shapes = zip(self.heights[samples], self.widths[samples], strict=True)
        return [part.reshape(shape) for part, shape in zip(np.split(values, starts[1:-1]), shapes, strict=True)]

    def argmax(self, w: Floats, samples: Ints, augment: bool = True) -> Ints:
        """The heaviest matchings; with the loss, y_i itself where it is none and outweighs all of them."""
        out = np.full((len(samples), self.width), -1, np.int64)
        for row, i, table in zip(out, samples.tolist(), self.gains(w, samples, augment), strict=True):
            mates = row[: len(table)] = heaviest_matching(table)
            if augment and self.outside[i]:
                linked = np.flatnonzero(mates >= 0)
                own = table.ravel()[self.gold[self.starts[i] : self.starts[i + 1]]].sum()
                if table[linked, mates[linked]].sum() < own:
                    row[: len(table)] = ITSELF
        return out

    def runner_up(self, w: Floats, samples: Ints) -> Ints:
        out = np.full((len(samples), self.width), -1, np.int64)
        for row, table, truth in zip(out, self.gains(w, samples, augment=False), self.truth[samples], strict=True):
            itself = truth[0] == ITSELF
            row[: len(table)] = heaviest_matching(table) if itself else heaviest_rival(table, truth[: len(table)])
        return out

    def kernel(self, augment: bool = True) -> Kernel:
        """With the loss or without; y_i itself is an answer in both where it is no matching."""
        X, share = self.edges, float(augment)
        data = (
            self.starts,
            self.heights,
            self.widths,
            *compiled_rows(X),
            self.gold,
            self.outside,
            share * self.false_positive,
            share * self.false_negative,
        )
        most = int(self.heights.max() + self.sizes.max()) * int(np.diff(X.indptr).max(initial=0))
        functions = _matching_kernel.argmax_into, _matching_kernel.add_slope, _matching_kernel.slope_into
        return Kernel(data, *functions, most)

    def predict(
        self, w: Floats, edge_features: Sequence[ArrayLike | Any], shapes: ArrayLike | None = None
    ) -> list[Ints]:
        """The links (m, 2) of the highest score for each of `edge_features`, given as to the class."""
        edges, heights, widths = checked_edges(edge_features, shapes)
        if edges.shape[1] != self.n_features:
            raise BadInput(
                f"The edges have {edges.shape[1]} features but the weights were learned on {self.n_features}."
            )
        tables = np.split(edges @ checked_learned(w, self.n_features), np.cumsum(heights * widths)[:-1])
        found = [heaviest_matching(t.reshape(j, k)) for t, j, k in zip(tables, heights, widths, strict=True)]
        return [links_of(mates) for mates in found]

    def exact(self) -> ExactMatching:
        """This problem in rational arithmetic."""
        return ExactMatching(self)

    def compact(self, w: Any) -> CompactHinge:
        return _matching_compact.compact(self, w)

    # ── outputs ───────────────────────────────────────────────────────────────────────────────────

    def outputs(self, sample: int) -> Ints:
        """All Σ_m C(J, m) C(K, m) m! matchings, then y_i where it is none; `MissingCapability` above 100,000."""
        rows, columns = int(self.heights[sample]), int(self.widths[sample])
        sizes = range(min(rows, columns) + 1)
        if sum(math.comb(rows, m) * math.comb(columns, m) * math.factorial(m) for m in sizes) > MOST_OUTPUTS:
            raise MissingCapability(
                f"Sample {sample} has {rows} × {columns} edges, too many matchings to list; use the argmax."
            )
        listed: list[tuple[int, ...]] = [()]
        for _ in range(rows):
            listed = [(*y, k) for y in listed for k in range(-1, columns) if k < 0 or k not in y]
        listed += [(ITSELF,) * rows] * int(self.outside[sample])
        table = np.full((len(listed), self.width), -1, np.int64)
        table[:, :rows] = listed
        return table

    def describe(self, sample: int, output: Ints) -> str:
        if output[0] == ITSELF:
            return f"its {self.sizes[sample]} annotated links, which are no matching"
        return f"links {' '.join(f'{j}-{k}' for j, k in links_of(output))}" if (output >= 0).any() else "no links"

    # ── files and examples ────────────────────────────────────────────────────────────────────────

    def arrays(self) -> dict[str, NDArray]:
        return {
            **kept_rows(self.edges),
            "n_inputs": np.array(self.n_features),
            "shapes": np.stack([self.heights, self.widths], axis=1),
            "truth": self.truth,
            "false_positive": np.array(self.false_positive),
            "false_negative": np.array(self.false_negative),
            "weights": self.weights,
            **({"annotated": self.annotated()} if self.outside.any() else {}),
        }

    def annotated(self) -> Ints:
        """(L, 3) sample, j and k of every link of the annotations that are no matchings, in order."""
        sample = np.repeat(np.arange(self.n_samples), np.diff(self.starts))
        rows = np.flatnonzero(self.gold & self.outside[sample])
        j, k = np.divmod(rows - self.starts[sample[rows]], self.widths[sample[rows]])
        return np.stack([sample[rows], j, k], axis=1)

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> Matching:
        shapes = arrays["shapes"]
        ends = np.cumsum(shapes.prod(axis=1))
        shape = (int(ends[-1]), int(arrays["n_inputs"]))
        edges = saved_rows(arrays, shape)
        pieces = [edges[end - j * k : end] for end, (j, k) in zip(ends, shapes, strict=True)]
        gold = [links_of(row) for row in arrays["truth"]]
        if "annotated" in arrays:
            owner, links = arrays["annotated"][:, 0], arrays["annotated"][:, 1:]
            for i in np.unique(owner).tolist():
                gold[i] = links[owner == i]
        clipped = "annotated" in arrays
        more, less = float(arrays["false_positive"]), float(arrays["false_negative"])
        return cls(pieces, gold, more, less, arrays["weights"], shapes, clipped)

    @classmethod
    def random(cls, rng: np.random.Generator, n: int, d: int, labels: int) -> Matching:
        """n samples of J, K ≤ 3 and d features, half the time separable but for ties; `labels` is not used.

        In a quarter of the draws some annotations are no matchings.
        """
        shapes = 1 + rng.integers(0, 3, (n, 2))
        features = [rng.normal(size=(j, k, d)) for j, k in shapes]
        hidden, separable = rng.normal(size=d), rng.random() < 0.5
        gains = [x @ hidden if separable else rng.normal(size=x.shape[:2]) for x in features]
        costs = (1.0, 1.0) if rng.random() < 0.5 else rng.uniform(0.3, 3, 2)
        weights = np.append(1, rng.integers(0, 4, n - 1)) if rng.random() < 0.3 else None
        gold = [links_of(heaviest_matching(table)) for table in gains]
        clipped = bool(rng.random() < 0.25)
        if clipped:
            gold = [
                np.argwhere(rng.random(t.shape) < 0.6) if rng.random() < 0.5 else y
                for t, y in zip(gains, gold, strict=True)
            ]
        return cls(features, gold, costs[0], costs[1], weights, clipped=clipped)

    @classmethod
    def tiny(cls, rng: np.random.Generator) -> Matching:
        """A random instance small enough to enumerate, for the conformance tests: J, K ≤ 3."""
        return cls.from_arrays(
            unweighted(cls.random(rng, int(rng.integers(2, 5)), int(rng.integers(1, 4)), 0).arrays(), rng)
        )


def heaviest_matching(gains: Floats) -> Ints:
    """The k of each j (J,), −1 for none, of the heaviest matching for gains (J, K), links of gain ≤ 0 left out."""
    from scipy.optimize import linear_sum_assignment  # a quarter of a second, which most runs do without

    lift = 8 * gains.max(initial=0.0)
    rounded = (np.maximum(gains, 0) + lift) - lift
    rows, columns = linear_sum_assignment(rounded, maximize=True)
    kept = rounded[rows, columns] > 0
    mates = np.full(len(gains), -1, np.int64)
    mates[rows[kept]] = columns[kept]
    return mates


def heaviest_rival(gains: Floats, mates: Ints) -> Ints:
    """The k of each j (J,) of the heaviest matching other than `mates` (J,).

    Such a matching lacks a link of `mates`, so each link is left out in turn; or it contains all links of `mates` and
    more: the heaviest links between free rows and columns, or the best single one if no gain is positive there.
    """
    best = heaviest_matching(gains)
    if (best != mates).any():
        return best
    rivals, linked = [], np.flatnonzero(mates >= 0)
    for j in linked:
        without = gains.copy()
        without[j, mates[j]] = 0
        rivals.append(heaviest_matching(without))
    rows, columns = np.flatnonzero(mates < 0), np.setdiff1d(np.arange(gains.shape[1]), mates)
    if len(rows) and len(columns):
        room = gains[np.ix_(rows, columns)]
        more = heaviest_matching(room)
        if (more < 0).all():
            j, k = np.unravel_index(room.argmax(), room.shape)
            more[j] = k
        rival = mates.copy()
        rival[rows] = np.where(more >= 0, columns[more], -1)
        rivals.append(rival)
    return max(rivals, key=lambda y: gains[np.flatnonzero(y >= 0), y[y >= 0]].sum())


def shared_end(links: Ints) -> str | None:
    """What several of these links (m, 2) share, in words; None if they are a matching."""
    for axis, what in enumerate(("row", "column")):
        ends, counts = np.unique(links[:, axis], return_counts=True)
        if (counts > 1).any():
            return f"{what} {ends[counts.argmax()]} has {counts.max()}"
    return None


def nearest_matching(links: ArrayLike, shape: tuple[int, int]) -> Ints:
    """A largest matching inside `links` (m, 2), pairs (j, k) of a J × K table; (m', 2) in order.

    Among the largest ones, that nearest to the diagonal: with least Σ |j/J − k/K|, compared in whole
    numbers. A matching is returned as it is.
    """
    rows, columns = (int(size) for size in shape)
    table = checked_links("the matching", links, (rows, columns))
    far = np.abs(table[:, 0] * columns - table[:, 1] * rows)  # J K |j/J − k/K|
    gains = np.zeros((rows, columns))
    gains[table[:, 0], table[:, 1]] = min(rows, columns) * int(far.max(initial=0)) + 1 - far
    return links_of(heaviest_matching(gains))


def links_of(mates: Ints) -> Ints:
    """The links (m, 2) of a row that holds the k of each j, or −1."""
    j = np.flatnonzero(mates >= 0)
    return np.stack([j, mates[j]], axis=1)


NAMES = {"matching": Matching}
