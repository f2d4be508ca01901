"""Chains: a label for each of T_i letters, φ = Σ_t e_{y_t} ⊗ x_t and counts of neighbouring pairs (docs/certificate-
format.md §3).

Maxima by Viterbi (`_viterbi`), sums by the forward–backward recursion (`_sums`), over whole numbers both. With `pairs`,
features of neighbouring letters, the sequences are the paths of a `tree` of the same weights, from which features and
sums are taken.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.contracts import Labelled, Sums
from workbench.proofs.checker.faults import Malformed, demand
from workbench.proofs.checker.outputs._common import read_classes, read_cost, read_rows, read_weights
from workbench.proofs.checker.outputs._paths import chained, path_of
from workbench.proofs.checker.outputs._sums import chain_sums
from workbench.proofs.checker.outputs._viterbi import Chained, by_total_cost, highest, highest_other, part
from workbench.proofs.checker.whole import Array, Whole, check_work, exact, grouped, objects, zeros

MOST_OUTPUTS = 100_000
MOST_COST = 10_000


class Chain(Labelled):
    name = "chain"

    def __init__(self, fields: Fields):
        self.k, self.p = read_classes(fields), fields.number("n_inputs", 1)
        self.labels, self.offsets = fields.ints("labels", None, within=(0, self.k - 1)), fields.ints("offsets", None)
        ends = self.offsets
        rising = len(ends) > 1 and ends[0] == 0 and ends[-1] == len(self.labels) and (ends[1:] > ends[:-1]).all()
        demand(rising, f"{fields.of}offsets do not say where sequences start")
        self.n, self.lengths = len(ends) - 1, np.diff(ends)
        self.width, self.blocks, self.dim = int(self.lengths.max()), self.k, self.k * (self.p + self.k)
        self.X, self.cost = read_rows(fields, len(self.labels), self.p), exact(read_cost(fields, self.k))
        self.weights, self.owner = read_weights(fields, self.n), np.repeat(np.arange(self.n), self.lengths)
        loss = fields.word("loss")
        demand(loss in ("hamming", "hamming-normalised"), f"{fields.of}loss is none that is known")
        self.divisors = self.lengths.astype(object) if loss == "hamming-normalised" else zeros(self.n) + 1
        self.path = path_of(fields, self.offsets) if fields.has("pairs") else None
        if self.path is not None:
            self.dim, self.count_unit = self.path.dim, self.path.count_unit
        self.truth = np.full((self.n, self.width), -1, np.int64)
        self.truth[np.arange(self.width) < self.lengths[:, None]] = self.labels

    def words(self) -> str:
        found = f"chain: one of {self.k} labels for each of {len(self.labels)} positions in {self.n} sequences"
        return found if self.path is None else f"{found}, pairs of neighbours scored by {self.path.q} features"

    def is_output(self, samples: Array, outputs: Array) -> Array:
        inside = np.arange(self.width) < self.lengths[samples][:, None]
        return np.where(inside, (outputs >= 0) & (outputs < self.k), outputs == -1).all(axis=1)

    def labels_of(self, samples: Array, outputs: Array) -> tuple[Array, Array, Array]:
        number, t = np.nonzero(np.arange(self.width) < self.lengths[samples][:, None])
        return number, self.offsets[samples[number]] + t, outputs[number, t]

    parts = labels_of

    def units(self, samples: Array, outputs: Array) -> tuple[Array, Array, Array]:
        if self.path is not None:
            return self.path.units(samples, outputs)
        number, t = np.nonzero(np.arange(1, self.width) < self.lengths[samples][:, None])
        places = self.k * self.p + outputs[number, t] * self.k + outputs[number, t + 1]
        return number, places, np.ones(len(number), np.int64)

    def shared(self, values: Array, samples: Array, unit: int) -> Whole:
        """value_i/(unit · T_i), over one unit."""
        lcm = math.lcm(*self.divisors[samples].tolist())
        return Whole(objects(values) * (lcm // self.divisors[samples]), unit * lcm)

    def loss(self, samples: Array, outputs: Array) -> Whole:
        number, place, label = self.labels_of(samples, outputs)
        costs = grouped(self.cost.values[self.labels[place], label], number, len(samples))
        return self.shared(costs, samples, self.cost.unit)

    def place_losses(self, samples: Array) -> Whole:
        lcm, places = math.lcm(*self.divisors[samples].tolist()), np.flatnonzero(np.isin(self.owner, samples))
        shares = lcm // self.divisors[self.owner[places]]
        return Whole(self.cost.values[self.labels[places]] * shares[:, None], self.cost.unit * lcm)

    def least_loss(self, samples: Array) -> Fraction | None:
        cheapest = [min((int(c) for c in row if c > 0), default=None) for row in self.cost.values]
        found = []
        for i in samples.tolist():
            own = [cheapest[label] for label in set(self.labels[self.offsets[i] : self.offsets[i + 1]].tolist())]
            found += [Fraction(c, self.cost.unit * self.divisors[i]) for c in own if c is not None]
        return min(found, default=None)

    def scores(self, w: Whole, samples: Array) -> Chained:
        return chained(self, w, samples)

    def augmented(self, w: Whole, samples: Array, table: Whole) -> Whole:
        s, found = self.scores(w, samples), []
        unary, pairs = s.unary * table.unit + table.values * s.unit, s.pairs * table.unit
        for start, stop in pairwise(s.starts.tolist()):
            found.append(highest(unary[start:stop], part(pairs, start, stop)))
        return Whole(objects(found) - s.own * table.unit, s.unit * table.unit)

    def margin(self, w: Whole, samples: Array) -> Whole:
        s, found = self.scores(w, samples), []
        for i, own, (start, stop) in zip(samples.tolist(), s.own, pairwise(s.starts.tolist()), strict=True):
            factor = self.cost.unit * self.divisors[i]
            unary = s.unary[start:stop] * factor + self.cost.values[s.labels[start:stop]] * s.unit
            found.append(highest(unary, part(s.pairs, start, stop) * factor) - own * factor)
        return self.shared(found, samples, s.unit * self.cost.unit)

    def rival(self, w: Whole, samples: Array) -> Whole:
        s = self.scores(w, samples)
        floor, found = s.floor, []
        for start, stop in pairwise(s.starts.tolist()):
            found.append(highest_other(s.unary[start:stop], part(s.pairs, start, stop), s.labels[start:stop], floor))
        return Whole(objects(found) - s.own, s.unit)

    def slack(self, w: Whole, samples: Array) -> Whole:
        s, (costs, most) = self.scores(w, samples), self.levels(samples)
        floor, found = s.floor, []
        check_work(len(s.labels) * self.k**2 * (most + 1))
        for own, (start, stop) in zip(s.own, pairwise(s.starts.tolist()), strict=True):
            best = by_total_cost(s.unary[start:stop], part(s.pairs, start, stop), costs[s.labels[start:stop]], floor)
            found.append(max(e * (gain - own + s.unit) for e, gain in enumerate(best)))  # a cost out of reach is less
        return self.shared(found, samples, s.unit)

    def levels(self, samples: Array) -> tuple[Array, int]:
        """The costs as whole numbers, and the greatest total of any labelling."""
        totals = np.add.reduceat(self.cost.values.max(axis=1)[self.labels], self.offsets[:-1])
        if self.cost.unit != 1 or totals.max() > MOST_COST:
            raise Malformed(f"slack rescaling of chains takes whole costs that add up to {MOST_COST} at most")
        return self.cost.values.astype(np.int64), int(totals.max())

    def outputs(self, sample: int) -> Array:
        length = int(self.lengths[sample])
        if self.k ** min(length, MOST_OUTPUTS) > MOST_OUTPUTS:
            raise Malformed(f"sequence {sample} has {self.k}^{length} labellings, too many to list")
        found = np.full((self.k**length, self.width), -1, np.int64)
        found[:, :length] = np.indices((self.k,) * length).reshape(length, self.k**length).T
        return found

    def magnitudes(self) -> Array:
        if self.path is not None:
            return self.path.magnitudes()
        return grouped(self.X.sizes(), self.owner, self.n) + (self.lengths - 1).astype(object) * self.X.unit

    def log_sums(self, w: Whole, samples: Array, masses: Array | None, P: int) -> Sums:
        if self.path is not None:
            return self.path.log_sums(w, samples, masses, P)
        return chain_sums(self.X, self.scores(w, samples), masses, P)
