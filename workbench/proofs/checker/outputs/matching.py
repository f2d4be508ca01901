"""Matchings: links between J rows and K columns, each row and column in at most one (docs/certificate-format.md §3).

ℓ_i(y) + ⟨w, φ(x_i, y)⟩ = c⁻|y_i| + Σ_{(j,k)∈y} g_jk with gains g_jk = ⟨w, x_jk⟩ + c⁺ outside y_i and − c⁻ inside. The
maximum is a heaviest matching (`_hungarian`). An annotation that is no matching, a row of −2, is one output more of its
sample, of slope 0 and loss 0: the maximum is at least 0.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.contracts import Structure
from workbench.proofs.checker.faults import demand
from workbench.proofs.checker.outputs._common import extended, read_rows, read_weights
from workbench.proofs.checker.outputs._hungarian import heaviest, heaviest_rival
from workbench.proofs.checker.whole import Array, Whole, check_work, exact, grouped, objects

MOST_OUTPUTS = 100_000
ITSELF = -2  # in a row: the annotation of the sample, which is no matching


class Matching(Structure):
    name = "matching"
    blocks = 1

    def __init__(self, fields: Fields):
        shapes = fields.ints("shapes", None, 2, within=(1, 1 << 15))
        self.heights, self.columns = shapes.T
        self.n, self.dim = len(shapes), fields.number("n_inputs", 1)
        self.starts = np.concatenate([[0], np.cumsum(shapes.prod(axis=1))])
        self.X = read_rows(fields, int(self.starts[-1]), self.dim)
        self.weights = read_weights(fields, self.n)
        self.width = int(self.heights.max())
        self.truth = fields.ints("truth", self.n, self.width)
        self.gold, self.outside = np.zeros(int(self.starts[-1]), bool), np.zeros(self.n, bool)
        self.read_annotated(fields)
        everyone = np.arange(self.n)
        right = self.is_output(everyone, self.truth) & ((self.truth[:, 0] == ITSELF) == self.outside)
        demand(right.all(), f"{fields.of}truth: a row is no matching")
        self.gold[self.parts(everyone, self.truth)[1]] = True
        costs = [fields.floats(name, least=5e-324) for name in ("false_positive", "false_negative")]
        self.costs, self.sizes = exact(costs), np.add.reduceat(self.gold, self.starts[:-1], dtype=np.int64)

    def read_annotated(self, fields: Fields) -> None:
        """The links of annotations that are no matchings, into `gold` and `outside`."""
        if not fields.has("annotated"):
            return
        links = fields.ints("annotated", None, 3)
        i, j, k = links.T
        within = len(links) and ((i >= 0) & (i < self.n)).all()
        within = within and ((j >= 0) & (j < self.heights[i]) & (k >= 0) & (k < self.columns[i])).all()
        demand(within, f"{fields.of}annotated: a link lies outside, or there is none")
        rows = self.starts[i] + j * self.columns[i] + k
        demand((np.diff(rows) > 0).all(), f"{fields.of}annotated: links are not in order, or come twice")
        self.gold[rows], self.outside[i] = True, True
        for sample in np.flatnonzero(self.outside).tolist():
            own = links[i == sample]
            alone = all(len(np.unique(own[:, side])) == len(own) for side in (1, 2))
            demand(not alone, f"{fields.of}annotated: the links of sample {sample} are a matching")

    def words(self) -> str:
        return f"matching: links between rows and columns of {self.n} samples with {self.dim} features of an edge"

    def is_output(self, samples: Array, outputs: Array) -> Array:
        inside = np.arange(self.width) < self.heights[samples][:, None]
        fits = np.where(inside, (outputs >= -1) & (outputs < self.columns[samples][:, None]), outputs == -1).all(axis=1)
        ordered = np.sort(outputs, axis=1)
        fits &= ~((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
        return fits | ((outputs == np.where(inside, ITSELF, -1)).all(axis=1) & self.outside[samples])

    def parts(self, samples: Array, outputs: Array) -> tuple[Array, Array, Array]:
        number, j = np.nonzero(outputs >= 0)
        i = samples[number]
        rows = self.starts[i] + j * self.columns[i] + outputs[number, j]
        for each in np.flatnonzero(outputs[:, 0] == ITSELF).tolist():
            own = self.own(int(samples[each]))
            number, rows = np.append(number, np.full(len(own), each)), np.append(rows, own)
        return number, rows, np.zeros(len(number), np.int64)

    def own(self, i: int) -> Array:
        """The rows of X of the true links of sample i."""
        return np.flatnonzero(self.gold[self.starts[i] : self.starts[i + 1]]) + self.starts[i]

    def loss(self, samples: Array, outputs: Array) -> Whole:
        number, rows, _ = self.parts(samples, outputs)
        right, whole = (np.bincount(each, minlength=len(samples)) for each in (number[self.gold[rows]], number))
        wrong, missed = whole - right, self.sizes[samples] - right
        plus, minus = self.costs.values
        return Whole(wrong.astype(object) * plus + missed.astype(object) * minus, self.costs.unit)

    def least_loss(self, samples: Array) -> Fraction | None:
        """Of one link more, of one less, or of a largest matching inside an annotation that is none."""
        plain = samples[~self.outside[samples]]
        room = (self.sizes < np.minimum(self.heights, self.columns))[plain].any()
        plus, minus = self.costs.fractions()
        found = [plus] * bool(room) + [minus] * bool(self.sizes[plain].any())
        for i in samples[self.outside[samples]].tolist():
            links = self.gold[self.starts[i] : self.starts[i + 1]].reshape(self.heights[i], -1)
            found.append(minus * (int(self.sizes[i]) - heaviest(links.astype(int).astype(object))))
        return min(found, default=None)

    def tables(self, w: Whole, samples: Array, augment: int) -> tuple[list[tuple[int, Array, int]], int]:
        """(sample, gains (J, K), their sum over y_i) of each, over a unit, with the loss if `augment` is 1."""
        found, (plus, minus) = [], self.costs.values * augment
        for i in samples.tolist():
            check_work(int(self.heights[i]) ** 2 * int(self.columns[i]))
            rows = np.arange(self.starts[i], self.starts[i + 1])
            gains = self.X.scores(rows, w.values[None, :]).ravel() * self.costs.unit + plus * self.X.unit * w.unit
            gains[self.gold[rows]] -= (plus + minus) * self.X.unit * w.unit
            found.append((i, gains.reshape(self.heights[i], -1), int(gains[self.gold[rows]].sum())))
        return found, self.X.unit * w.unit * self.costs.unit

    def margin(self, w: Whole, samples: Array) -> Whole:
        tables, unit = self.tables(w, samples, 1)
        clipped = [
            max(heaviest(gains) - own, 0) if self.outside[i] else heaviest(gains) - own for i, gains, own in tables
        ]
        return Whole(objects(clipped), unit)

    def rival(self, w: Whole, samples: Array) -> Whole:
        """Of an annotation that is no matching, every matching is a rival."""
        tables, unit = self.tables(w, samples, 0)
        found = []
        for i, gains, own in tables:
            mates = self.truth[i, : self.heights[i]]
            found.append((heaviest(gains) if self.outside[i] else heaviest_rival(gains, mates)) - own)
        return Whole(objects(found), unit)

    def outputs(self, sample: int) -> Array:
        rows, columns = int(self.heights[sample]), int(self.columns[sample])
        refusal = f"sample {sample} has {rows} × {columns} edges, too many matchings to list"
        listed: list[tuple[int, ...]] = [()]
        for _ in range(rows):
            listed = extended(listed, range(-1, columns), MOST_OUTPUTS, refusal)
        listed += [(ITSELF,) * rows] * int(self.outside[sample])
        table = np.full((len(listed), self.width), -1, np.int64)
        table[:, :rows] = listed
        return table

    def magnitudes(self) -> Array:
        """All edges of the sample, more than any matching has."""
        owner = np.repeat(np.arange(self.n), np.diff(self.starts))
        return grouped(self.X.sizes(), owner, self.n)
