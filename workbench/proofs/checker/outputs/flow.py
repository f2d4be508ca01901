"""Disjoint paths through detections in the order of time (docs/certificate-format.md §3).

With gains g_e = ⟨w, ψ_e⟩ + c⁺ outside y_i, − c⁻ inside it (entries and exits cost nothing), ℓ_i(y) + ⟨w, φ(x_i, y)⟩ =
c⁻|y_i| + Σ_{e∈y} g_e. Any potentials a_j of out_j and b_k of in_k bound every circulation: with

    out_j → in_k gains g_jk − exit_j − entry_k, leaving j out gains −(entry_j + node_j + exit_j), both written e_jk,
    Σ_{e∈y} g_e ≤ Σ_j (entry + node + exit)_j + Σ_j a_j + Σ_k b_k      if a, b ≥ 0 and a_j + b_k ≥ e_jk for all these.

`heaviest` finds the a, b of a maximum; b is recomputed here, so nothing rests on how a was found.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.contracts import Structure
from workbench.proofs.checker.faults import Malformed, demand
from workbench.proofs.checker.outputs._common import read_rows, read_weights
from workbench.proofs.checker.outputs._paths import heaviest
from workbench.proofs.checker.whole import Array, Whole, exact, grouped, objects

MOST_OUTPUTS = 100_000
ENTRY, EXIT, NODE, LINKS = 0, 1, 2, 3


class Flow(Structure):
    name = "flow"
    blocks = 1

    def __init__(self, fields: Fields):
        self.sizes = fields.ints("sizes", None, within=(1, 1 << 30))
        self.n, self.width = len(self.sizes), int(self.sizes.max())
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])
        total = int(self.starts[-1])
        counts = fields.ints("counts", total, within=(0, 1 << 30))
        heads = fields.ints("heads", int(counts.sum()), within=(0, self.width))
        self.first = np.concatenate([[0], np.cumsum(counts + LINKS)])
        self.node = np.repeat(np.arange(total), counts + LINKS)
        self.place = np.arange(len(self.node)) - self.first[self.node]
        self.owner = np.repeat(np.arange(self.n), self.sizes)
        within = np.arange(total) - self.starts[self.owner]
        self.links = np.flatnonzero(self.place >= LINKS)
        tails = self.node[self.links]
        ordered = (np.diff(heads) > 0) | (np.diff(tails) > 0)
        later = (heads > within[tails]) & (heads < self.sizes[self.owner[tails]])
        demand(ordered.all() and later.all(), f"{fields.of}heads: a link leads backwards, outside or comes twice")
        self.head = np.where(self.place == NODE, within[self.node], -1)
        self.head[self.links] = heads
        self.keys = tails * self.width + heads
        self.dim = int(fields.ints("blocks", 4, within=(0, 1 << 30)).sum())
        demand(self.dim > 0, f"{fields.of}blocks hold no feature")
        self.X, self.weights = read_rows(fields, len(self.node), self.dim), read_weights(fields, self.n)
        self.truth = fields.ints("truth", self.n, self.width)
        every = np.arange(self.n)
        demand(self.is_output(every, self.truth).all(), f"{fields.of}truth: a row is no set of paths")
        self.costs = exact([fields.floats(name, least=5e-324) for name in ("false_positive", "false_negative")])
        self.gold, self.priced = np.zeros(len(self.node), bool), self.place >= NODE
        sample, rows, _ = self.parts(every, self.truth)
        self.gold[rows] = True
        self.counted = np.bincount(sample[self.priced[rows]], minlength=self.n)

    def words(self) -> str:
        return f"flow: disjoint paths through {self.starts[-1]} detections of {self.n} samples with {self.dim} features"

    def following(self, samples: Array, outputs: Array) -> tuple[Array, Array, Array, Array]:
        """(number, j, row of the link that j takes, whether there is one) of every j that takes one."""
        number, j = np.nonzero((outputs >= 0) & (outputs != np.arange(self.width)))
        wanted = (self.starts[samples[number]] + j) * self.width + outputs[number, j]
        if not len(self.keys):
            return number, j, number, np.zeros(len(number), bool)
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return number, j, self.links[at], self.keys[at] == wanted

    def is_output(self, samples: Array, outputs: Array) -> Array:
        size = self.sizes[samples][:, None]
        inside = np.arange(self.width) < size
        fits = np.where(inside, (outputs >= -1) & (outputs < size), outputs == -1).all(axis=1)
        ordered = np.sort(outputs, axis=1)
        fits &= ~((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
        number, _, _, known = self.following(samples, np.where(fits[:, None], outputs, -1))
        fits[number[~known]] = False
        return fits

    def parts(self, samples: Array, outputs: Array) -> tuple[Array, Array, Array]:
        active = (np.arange(self.width) < self.sizes[samples][:, None]) & (outputs != np.arange(self.width))
        begins, ends = active.copy(), active & (outputs < 0)
        number, j, links, _ = self.following(samples, outputs)
        begins[number, outputs[number, j]] = False
        numbers, rows = [number], [links]
        for offset, mask in ((NODE, active), (ENTRY, begins), (EXIT, ends)):
            here, j = np.nonzero(mask)
            numbers.append(here)
            rows.append(self.first[self.starts[samples[here]] + j] + offset)
        number = np.concatenate(numbers)
        return number, np.concatenate(rows), np.zeros(len(number), np.int64)

    def loss(self, samples: Array, outputs: Array) -> Whole:
        number, rows, _ = self.parts(samples, outputs)
        kept = self.priced[rows]
        chosen = np.bincount(number[kept], minlength=len(samples))
        right = np.bincount(number[kept & self.gold[rows]], minlength=len(samples))
        plus, minus = self.costs.values
        wrong, missed = (chosen - right).astype(object), (self.counted[samples] - right).astype(object)
        return Whole(wrong * plus + missed * minus, self.costs.unit)

    def least_loss(self, samples: Array) -> Fraction | None:
        """c⁺ if a single detection or link may be added to some truth, c⁻ if one of a truth may be left out."""
        plus, minus = self.costs.fractions()
        return min([plus] * self.room(samples) + [minus] * bool(self.counted[samples].any()), default=None)

    def room(self, samples: Array) -> bool:
        """Whether a detection is on no track, or a link leads from the end of a track to the start of another."""
        truth, size = self.truth[samples], self.sizes[samples][:, None]
        j = np.arange(self.width)
        ends = (truth < 0) & (j < size)
        starts = (truth != j) & (j < size)
        number, head = np.nonzero((truth >= 0) & (truth != j))
        starts[number, truth[number, head]] = False
        at = np.full(self.n, -1)
        at[samples] = np.arange(len(samples))
        tails, owner = self.node[self.links], at[self.owner[self.node[self.links]]]
        kept = owner >= 0
        owner, tails, heads = owner[kept], tails[kept], self.head[self.links[kept]]
        tails = tails - self.starts[samples[owner]]
        return bool(((truth == j) & (j < size)).any() or (ends[owner, tails] & starts[owner, heads]).any())

    def margin(self, w: Whole, samples: Array) -> Whole:
        found, (plus, minus), unit = [], self.costs.values, self.X.unit * w.unit
        for i in samples.tolist():
            rows = np.arange(self.first[self.starts[i]], self.first[self.starts[i + 1]])
            gains = self.X.scores(rows, w.values[None, :])[:, 0] * self.costs.unit
            gains += objects(
                plus * unit if p and not g else -minus * unit if p else 0
                for p, g in zip(self.priced[rows], self.gold[rows], strict=True)
            )
            found.append(self.bound(gains, rows, i) - int(gains[self.gold[rows]].sum()))
        return Whole(objects(found), unit * self.costs.unit)

    def bound(self, gains: Array, rows: Array, i: int) -> int:
        """What no circulation of sample i outweighs."""
        begin, size, offset = int(self.starts[i]), int(self.sizes[i]), int(rows[0])
        first = self.first[begin : begin + size] - offset
        alone, ends, begins = (
            gains[first] + gains[first + EXIT] + gains[first + NODE],
            gains[first + EXIT],
            gains[first],
        )
        kept = np.flatnonzero(self.place[rows] >= NODE)
        tail, head = self.node[rows[kept]] - begin, self.head[rows[kept]]
        edges = np.where(self.place[rows[kept]] == NODE, -alone[tail], gains[kept] - ends[tail] - begins[head])
        u = objects(max(each, 0) for each in heaviest(size, tail.tolist(), head.tolist(), edges.tolist()))
        v = objects([0] * size)
        np.maximum.at(v, head, edges - u[tail])
        return int(alone.sum() + u.sum() + v.sum())

    def rival(self, w: Whole, samples: Array) -> Whole:
        raise Malformed("the best set of paths but the true one is not defined for flow")

    def outputs(self, sample: int) -> Array:
        start, listed = int(self.starts[sample]), [()]
        for j in range(int(self.sizes[sample])):
            rows = slice(self.first[start + j] + NODE, self.first[start + j + 1])
            choices = [-1, *self.head[rows].tolist()]
            listed = [(*y, k) for y in listed for k in choices if k < 0 or k not in y]
            demand(len(listed) <= MOST_OUTPUTS, f"sample {sample} has too many sets of paths to list")
        table = np.full((len(listed), self.width), -1, np.int64)
        table[:, : int(self.sizes[sample])] = listed
        return table

    def magnitudes(self) -> Array:
        """All arcs of the sample, more than any set of paths has."""
        return grouped(self.X.sizes(), self.owner[self.node], self.n)
