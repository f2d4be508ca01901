"""Flow: disjoint paths through detections in the order of time (multi-object tracking).

    φ(x, y) = Σ_{arcs e of y} ψ_e            ψ_e in the block of its kind: detection, entry, exit or link
    ℓ_i(y) = c⁺ |y \\ y_i| + c⁻ |y_i \\ y|     over detections and links

A track enters at a detection, follows links to later ones and leaves; a detection is on one track at most. Source
and sink are one node, so several tracks make one circulation y ∈ {0, 1}^E, N y = 0, in the graph in which every
detection is an arc in → out: N is totally unimodular, and the argmax is a network program (Zhang, Li & Nevatia
2008; docs/mathematics.md §3). Links that skip frames bridge occlusions.

    h_i(w) = max_y Σ_{e∈y} c_e + c⁻|y_i| − ⟨w, φ(x_i, y_i)⟩,     c_e = ⟨w, ψ_e⟩ + c⁺ outside y_i, − c⁻ inside it

An output row holds what follows each detection: k > j a later one, −1 nothing, j itself if j is on no track. The
oracle is exact: shortest augmenting paths on gains rounded to a grid, on which floats do not round
(outputs/_flow/paths.py). The hinge has a compact form, one potential a node. No oracle for slack rescaling.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from workbench.arithmetic.arrays import checked_learned, checked_weights, compiled_rows, kept_rows, saved_rows
from workbench.arithmetic.compiled import available, entirely
from workbench.arithmetic.intervals import gamma, up
from workbench.contracts import CompactHinge, Floats, Ints, Kernel
from workbench.errors import BadInput, MissingCapability
from workbench.outputs._flow import compact, paths
from workbench.outputs._flow.exact import ExactFlow
from workbench.outputs._flow.layout import ENTRY, EXIT, LINKS, NODE, Detections, checked_tracks, laid_out, layout
from workbench.outputs._matching_checks import checked_price
from workbench.outputs._parts import MOST_OUTPUTS, Parts, unweighted
from workbench.outputs.matching import heaviest_rival


class Flow(Parts):
    """Samples of detections with links between them, each with its true tracks.

    Parameters
    ----------
    graphs : list of (detections, entries, exits, links, link_features), see `Detections`: tables (V, a), (V, b),
        (V, c), pairs j < k (L, 2), and (L, e); V ≥ 1; any of b, c, e may be 0. So d = a + b + c + e
    tracks : for each sample a list of tracks, a track being a list of detections whose neighbours are linked.
        `split_tracks` cuts tracks where a link is missing; detections on none are false ones
    false_positive, false_negative : c⁺ > 0 and c⁻ > 0
    weights : (n,) sample weights ≥ 0, not all zero; default 1

    Attributes
    ----------
    arcs : (R, d) CSR, all arcs of all samples;  layout : where they stand (outputs/_flow/layout.py)
    sizes : (n,) detections V_i;  gold : (R,) whether an arc is true;  priced : (R,) whether the loss counts it
    truth : (n, max V) what follows each detection

    Raises
    ------
    BadInput : no samples, tables that do not fit, NaN or inf, links that lead backwards or come twice, tracks
        that share a detection or need a link that is not there, costs that are not positive
    """

    name = "flow"
    oracle_kind = "exact"
    concurrent = True
    free_outputs = False  # detections and links fix entries and exits, and each wrong one costs
    no_marginals = "summing over sets of disjoint paths is #P-hard"

    def __init__(
        self,
        graphs: Sequence[Detections],
        tracks: Sequence[Sequence[ArrayLike]],
        false_positive: float = 1.0,
        false_negative: float = 1.0,
        weights: ArrayLike | None = None,
    ):
        arcs, where, self.blocks = laid_out(graphs)
        truth = checked_tracks(where, tracks, int(np.diff(where.starts).max()))
        self._prepare(arcs, where, truth, (false_positive, false_negative), weights)

    def _prepare(self, arcs: Any, where: Any, truth: Ints, costs: tuple[float, float], weights: Any) -> None:
        self.arcs, self.layout, self.truth = arcs, where, truth
        self.false_positive = checked_price("false_positive", costs[0])
        self.false_negative = checked_price("false_negative", costs[1])
        self.n_samples, self.n_features = len(where.starts) - 1, arcs.shape[1]
        self.weights = checked_weights(weights, self.n_samples)
        self.sizes: Ints = np.diff(where.starts)
        self.width = int(self.sizes.max())
        self.priced: NDArray[np.bool_] = where.offsets() >= NODE
        self.gold: NDArray[np.bool_] = np.zeros(len(where.heads), bool)
        sample, rows = self.used(np.arange(self.n_samples), truth)
        self.gold[rows] = True
        self.true_arcs: Ints = np.bincount(sample[self.priced[rows]], minlength=self.n_samples)
        alone = [self.false_positive] * self.room()
        self.least_loss = float(min(alone + [self.false_negative] * bool(self.true_arcs.any())))
        self.magnitude, self.max_loss = self._sizes()

    def room(self) -> bool:
        """Whether one detection, or one link from the end of a track to the start of another, may join a truth."""
        own, truth = np.arange(self.width), self.truth
        within = own < self.sizes[:, None]
        starts, ends = within & (truth != own), within & (truth < 0)
        number, j = np.nonzero((truth >= 0) & (truth != own))
        starts[number, truth[number, j]] = False
        node, head = np.divmod(self.link_keys[1], self.width)
        sample = self.layout.sample_of()[node]
        tail = node - self.layout.starts[sample]
        return bool((within & (truth == own)).any() or (ends[sample, tail] & starts[sample, head]).any())

    def _sizes(self) -> tuple[Floats, Floats]:
        """(n,) bounds on ‖φ(x_i, y)‖₁ and ℓ_i(y): per detection itself, its entry, and its exit or one link."""
        entries = int(np.diff(self.arcs.indptr).max(initial=0))
        self.terms = 3 * self.width + self.n_features + entries + 64 * self.width + 8  # 64 for the grid, see `paths`
        first, node, place = self.layout.first[:-1], self.layout.node_of(), self.layout.offsets()
        size = abs(self.arcs).sum(axis=1)
        onward, links = np.zeros(len(first)), np.zeros(len(first))
        np.maximum.at(onward, node[place != NODE], np.where(place == ENTRY, 0.0, size)[place != NODE])
        np.maximum.at(links, node[place >= LINKS], ~self.gold[place >= LINKS] + 0.0)
        most = self.false_positive * (~self.gold[first + NODE] + links)
        magnitude, loss = (
            np.add.reduceat(x, self.layout.starts[:-1])
            for x in (size[first + NODE] + size[first + ENTRY] + onward, most)
        )
        loss = up(loss + self.false_negative * self.true_arcs) * (1 + 2 * gamma(2 * self.width + 4))
        return up(magnitude * (1 + 2 * gamma(self.terms))), loss

    # ── arcs of a batch ───────────────────────────────────────────────────────────────────────────

    @property
    def parts(self) -> sparse.csr_array:
        """The features of every arc, (arcs, d)."""
        return self.arcs

    def rows_of(self, samples: Ints) -> Ints:
        """The rows of `arcs` that belong to a batch, in order."""
        first, starts = self.layout.first, self.layout.starts
        return np.concatenate([np.arange(first[starts[i]], first[starts[i + 1]]) for i in samples])

    def own(self, i: int) -> Ints:
        """The rows of the true arcs of sample i."""
        rows = self.rows_of(np.array([i]))
        return rows[self.gold[rows]]

    @cached_property
    def link_keys(self) -> tuple[Ints, Ints]:
        """The rows of all links, and node · width + head of each, which rises."""
        rows = np.flatnonzero(self.layout.offsets() >= LINKS)
        return rows, self.layout.node_of()[rows] * self.width + self.layout.heads[rows]

    def followed(self, samples: Ints, outputs: Ints) -> tuple[Ints, Ints, Ints, NDArray[np.bool_]]:
        """(number in the batch, j, row of the link j → k, whether there is one) of every j that goes on to a k."""
        number, j = np.nonzero((outputs >= 0) & (outputs != np.arange(outputs.shape[1])))
        rows, keys = self.link_keys
        wanted = (self.layout.starts[samples[number]] + j) * self.width + outputs[number, j]
        at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        known = keys[at] == wanted if len(keys) else np.zeros(len(wanted), bool)
        return number, j, rows[at] if len(keys) else np.zeros(len(wanted), np.int64), known

    def used(self, samples: Ints, outputs: Ints) -> tuple[Ints, Ints]:
        """(number in the batch, row of `arcs`) of every arc of the outputs, by number and row."""
        within = np.arange(outputs.shape[1]) < self.sizes[samples][:, None]
        active = within & (outputs != np.arange(outputs.shape[1]))
        begins, ends = active.copy(), active & (outputs < 0)
        number, j, links, _ = self.followed(samples, outputs)
        begins[number, outputs[number, j]] = False
        parts = [(number, links)]
        for offset, mask in ((NODE, active), (ENTRY, begins), (EXIT, ends)):
            row, j = np.nonzero(mask)
            parts.append((row, self.layout.first[self.layout.starts[samples[row]] + j] + offset))
        numbers, rows = map(np.concatenate, zip(*parts, strict=True))
        order = np.lexsort((rows, numbers))
        return numbers[order], rows[order]

    def fault(self, samples: Ints, outputs: Ints) -> int | None:
        """The number of the first row that is no set of paths of its sample, or None."""
        j = np.arange(self.width)
        inside = j < self.sizes[samples][:, None]
        wrong = np.where(inside, (outputs < -1) | (outputs >= self.sizes[samples][:, None]), outputs != -1).any(axis=1)
        ordered = np.sort(outputs, axis=1)
        wrong |= ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
        number, _, _, known = self.followed(samples, np.where(wrong[:, None], -1, outputs))
        wrong[number[~known]] = True
        return int(wrong.argmax()) if wrong.any() else None

    # ── features and loss ─────────────────────────────────────────────────────────────────────────

    def mistakes(self, samples: Ints, outputs: Ints) -> tuple[Ints, Ints]:
        """Detections and links in y but not in y_i, and in y_i but not in y, for a batch, (m,) each."""
        number, rows = self.used(samples, outputs)
        number, rows = number[self.priced[rows]], rows[self.priced[rows]]
        right, whole = (np.bincount(each, minlength=len(samples)) for each in (number[self.gold[rows]], number))
        return whole - right, self.true_arcs[samples] - right

    @cached_property
    def augmentation(self) -> Floats:
        """(R,) what using each arc adds to the loss: c⁺, − c⁻ for a true one, 0 for entries and exits."""
        return np.where(self.gold, -self.false_negative, self.false_positive) * self.priced

    # ── argmax ────────────────────────────────────────────────────────────────────────────────────

    def scratch(self, kind: type = float) -> tuple[NDArray, ...]:
        """Room for the search: gains of its edges (R,), the cover u and v, distances, and where rows entered."""
        return np.zeros(len(self.gold), kind), *(np.zeros(self.width + 1, kind) for _ in range(4))

    @cached_property
    def search(self) -> Kernel:
        """The search as a kernel whose θ is the gains of all arcs, compiled if it can be."""
        return entirely(self._plain()) if available() else self._plain()

    def _plain(self) -> Kernel:
        """`search`, interpreted."""
        return Kernel((*self.layout, *self.scratch()), paths.best_paths, paths.add_paths)

    def argmax(self, w: Floats, samples: Ints, augment: bool = True) -> Ints:
        gains = self.arcs @ w + (self.augmentation if augment else 0.0)
        out = np.full((len(samples), self.width), -1, np.int64)
        for row, i in zip(out, samples.tolist(), strict=True):
            self.search.argmax_into(self.search.data, gains, i, row)
        return out

    def runner_up(self, w: Floats, samples: Ints) -> Ints:
        """The best paths but the true ones: rivals of a matching (outputs/_flow/paths.py); O(V⁴) where truth wins."""
        out, gains = self.argmax(w, samples, augment=False), self.arcs @ w
        for row, i in zip(out, samples.tolist(), strict=True):
            if (row == self.truth[i]).all():
                size = self.sizes[i]
                row[:size] = heaviest_rival(self.following(gains, i), self.truth[i, :size])
        return out

    def following(self, gains: NDArray, i: int) -> NDArray:
        """(V, V) what "k follows j" is worth for gains (R,) of any kind, "j is left out" on the diagonal.

        On top of Σ_j (entry + detection + exit); far below 0 where there is no link.
        """
        rows, size = self.rows_of(np.array([i])), int(self.sizes[i])
        heads, place = self.layout.heads[rows], self.layout.offsets()[rows]
        tails = self.layout.node_of()[rows] - self.layout.starts[i]
        own = [gains[rows[place == kind]] for kind in (ENTRY, EXIT, NODE)]
        table = np.full((size, size), -4 * (np.abs(gains[rows]).sum() + 1), gains.dtype)
        links, every = place >= LINKS, np.arange(size)
        table[tails[links], heads[links]] = gains[rows[links]] - own[1][tails[links]] - own[0][heads[links]]
        table[every, every] = -(own[0] + own[1] + own[2])
        return table

    def kernel(self, augment: bool = True) -> Kernel:
        X, R = self.arcs, len(self.gold)
        inner = Kernel((*self.layout, *self.scratch()), paths.best_paths, paths.add_paths)
        table = compiled_rows(X)
        extra = self.augmentation if augment else np.zeros(R)
        data = (inner, np.zeros(R), *table, extra, self.gold + 0.0, np.zeros(R), self.n_features)
        return Kernel(data, paths.argmax_into, paths.add_slope, paths.slope_into, self.n_features)

    def predict(self, w: Floats, graphs: Sequence[Detections]) -> list[list[Ints]]:
        """The tracks of the highest score of each of `graphs`, given as to the class."""
        asked = Flow(graphs, [[] for _ in graphs])
        if asked.blocks != self.blocks:
            raise BadInput(f"The graphs have {asked.blocks} features but the weights were learned on {self.blocks}.")
        everyone = np.arange(asked.n_samples)
        found = asked.argmax(checked_learned(w, self.n_features), everyone, augment=False)
        return [tracks_of(row[:size]) for row, size in zip(found, asked.sizes, strict=True)]

    def exact(self) -> ExactFlow:
        """This problem in rational arithmetic."""
        return ExactFlow(self)

    def compact(self, w: Any) -> CompactHinge:
        return compact.compact(self, w)

    # ── outputs ───────────────────────────────────────────────────────────────────────────────────

    def outputs(self, sample: int) -> Ints:
        """All sets of disjoint paths; `MissingCapability` above 100,000."""
        start, listed = int(self.layout.starts[sample]), [()]
        for j in range(int(self.sizes[sample])):
            rows = slice(self.layout.first[start + j] + NODE, self.layout.first[start + j + 1])
            choices = [-1, *self.layout.heads[rows].tolist()]
            listed = [(*y, k) for y in listed for k in choices if k < 0 or k not in y]
            if len(listed) > MOST_OUTPUTS:
                raise MissingCapability(f"Sample {sample} has too many sets of paths to list; use the argmax.")
        table = np.full((len(listed), self.width), -1, np.int64)
        table[:, : int(self.sizes[sample])] = listed
        return table

    def describe(self, sample: int, output: Ints) -> str:
        found = tracks_of(output[: self.sizes[sample]])
        return f"tracks {' '.join('-'.join(map(str, track)) for track in found)}" if found else "no tracks"

    # ── files and examples ────────────────────────────────────────────────────────────────────────

    def arrays(self) -> dict[str, NDArray]:
        return {
            **kept_rows(self.arcs),
            "blocks": np.array(self.blocks),
            "sizes": self.sizes,
            "counts": np.diff(self.layout.first) - LINKS,
            "heads": self.layout.heads[self.link_keys[0]],
            "truth": self.truth,
            "false_positive": np.array(self.false_positive),
            "false_negative": np.array(self.false_negative),
            "weights": self.weights,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> Flow:
        where = layout(*(arrays[name].astype(np.int64) for name in ("sizes", "counts", "heads")))
        truth, blocks = arrays["truth"].astype(np.int64), tuple(arrays["blocks"].astype(np.int64).tolist())
        if truth.shape != (len(where.starts) - 1, int(np.diff(where.starts).max())) or min(blocks, default=-1) < 0:
            raise BadInput(f"the truth has shape {truth.shape}, or a block of features has a negative size")
        found, rows = cls.__new__(cls), saved_rows(arrays, (len(where.heads), sum(blocks)))
        if not np.isfinite(rows.data).all():
            raise BadInput("a feature of an arc is not finite")
        found.blocks = blocks
        costs = float(arrays["false_positive"]), float(arrays["false_negative"])
        everyone = np.arange(len(truth))
        found.sizes, found.width, found.layout = np.diff(where.starts), truth.shape[1], where
        if (wrong := found.fault(everyone, truth)) is not None:
            raise BadInput(f"the truth of sample {wrong} is no set of paths")
        found._prepare(rows, where, truth, costs, arrays["weights"])
        return found

    @classmethod
    def random(cls, rng: np.random.Generator, n: int, d: int, labels: int) -> Flow:
        """n samples of at most 4 detections and d ≥ 2 features, half the time separable; `labels` is not used."""
        widths = np.bincount(np.append([0, 3], rng.integers(0, 4, d - 2)), minlength=4)
        graphs = []
        for size in 1 + rng.integers(0, 4, n):
            links = [(j, k) for j in range(size) for k in range(j + 1, size) if rng.random() < 0.7]
            rows = size, size, size, len(links)
            *own, linked = (rng.normal(size=shape) for shape in zip(rows, widths.tolist(), strict=True))
            selected, starts, ends = own
            graphs.append(Detections(selected, starts, ends, np.array(links, np.int64).reshape(-1, 2), linked))
        blank = cls(graphs, [[] for _ in graphs])
        blank.search = blank._plain()  # of a few detections: it ends sooner than numba is loaded
        truth = blank.argmax(rng.normal(size=d), np.arange(n), augment=False)
        if rng.random() < 0.5:
            truth = np.stack([row[rng.integers(len(row))] for row in map(blank.outputs, range(n))])
        costs = (1.0, 1.0) if rng.random() < 0.5 else tuple(rng.uniform(0.3, 3, 2))
        weights = np.append(1, rng.integers(0, 4, n - 1)) if rng.random() < 0.3 else None
        tracks = [tracks_of(row[:size]) for row, size in zip(truth, blank.sizes, strict=True)]
        return cls(graphs, tracks, costs[0], costs[1], weights)

    @classmethod
    def tiny(cls, rng: np.random.Generator) -> Flow:
        """A random instance small enough to enumerate, for the conformance tests."""
        return cls.from_arrays(
            unweighted(cls.random(rng, int(rng.integers(2, 5)), int(rng.integers(2, 5)), 0).arrays(), rng)
        )


def tracks_of(follows: Ints) -> list[Ints]:
    """The tracks of a row (V,), each the detections in order."""
    heads = set(follows[(follows >= 0) & (follows != np.arange(len(follows)))].tolist())
    found = []
    for start in np.flatnonzero(follows != np.arange(len(follows))).tolist():
        if start not in heads:
            track = [start]
            while follows[track[-1]] >= 0:
                track.append(int(follows[track[-1]]))
            found.append(np.array(track, np.int64))
    return found


def split_tracks(tracks: Sequence[ArrayLike], links: ArrayLike) -> list[Ints]:
    """Tracks cut wherever two neighbours are not linked, as at gaps longer than the longest link."""
    known = set(map(tuple, np.asarray(links).reshape(-1, 2).tolist()))
    found = []
    for track in tracks:
        path = np.asarray(track, np.int64)
        cuts = [t + 1 for t in range(len(path) - 1) if (int(path[t]), int(path[t + 1])) not in known]
        found += [piece for piece in np.split(path, cuts) if len(piece)]
    return found


NAMES = {"flow": Flow}
