"""Matchings: links between J rows and K columns, each row and column in at most one (docs/certificate-format.md §3).

ℓ_i(y) + ⟨w, φ(x_i, y)⟩ = c⁻|y_i| + Σ_{(j,k)∈y} g_jk with gains g_jk = ⟨w, x_jk⟩ + c⁺ outside y_i and − c⁻ inside. The
maximum is a heaviest matching (`_hungarian`).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.contracts import Structure
from workbench.proofs.checker.faults import demand
from workbench.proofs.checker.outputs._common import extended, read_rows, read_weights
from workbench.proofs.checker.outputs._hungarian import heaviest, heaviest_rival, worth
from workbench.proofs.checker.whole import Array, Whole, exact, grouped, objects

MOST_OUTPUTS = 100_000


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
        demand(self.is_output(np.arange(self.n), self.truth).all(), f"{fields.of}truth: a row is no matching")
        costs = [fields.floats(name, least=5e-324) for name in ("false_positive", "false_negative")]
        self.costs, self.sizes = exact(costs), (self.truth >= 0).sum(axis=1)

    def words(self) -> str:
        return f"matching: links between rows and columns of {self.n} samples with {self.dim} features of an edge"

    def is_output(self, samples: Array, outputs: Array) -> Array:
        inside = np.arange(self.width) < self.heights[samples][:, None]
        fits = np.where(inside, (outputs >= -1) & (outputs < self.columns[samples][:, None]), outputs == -1).all(axis=1)
        ordered = np.sort(outputs, axis=1)
        return fits & ~((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)

    def parts(self, samples: Array, outputs: Array) -> tuple[Array, Array, Array]:
        number, j = np.nonzero(outputs >= 0)
        i = samples[number]
        return number, self.starts[i] + j * self.columns[i] + outputs[number, j], np.zeros(len(number), np.int64)

    def loss(self, samples: Array, outputs: Array) -> Whole:
        right = ((outputs == self.truth[samples]) & (outputs >= 0)).sum(axis=1)
        wrong, missed = (outputs >= 0).sum(axis=1) - right, self.sizes[samples] - right
        plus, minus = self.costs.values
        return Whole(wrong.astype(object) * plus + missed.astype(object) * minus, self.costs.unit)

    def least_loss(self, samples: Array) -> Fraction | None:
        room = (self.sizes < np.minimum(self.heights, self.columns))[samples].any()
        plus, minus = self.costs.fractions()
        return min([plus] * bool(room) + [minus] * bool(self.sizes[samples].any()), default=None)

    def tables(self, w: Whole, samples: Array, augment: int) -> tuple[list[tuple[Array, Array]], int]:
        """(gains (J, K), the truth's k of each j) of each sample, over a unit, with the loss if `augment` is 1."""
        found, (plus, minus) = [], self.costs.values * augment
        for i in samples.tolist():
            rows, mates = np.arange(self.starts[i], self.starts[i + 1]), self.truth[i, : self.heights[i]]
            scores = self.X.scores(rows, w.values[None, :]).ravel() * self.costs.unit + plus * self.X.unit * w.unit
            gains, held = scores.reshape(self.heights[i], -1), np.flatnonzero(mates >= 0)
            gains[held, mates[held]] -= (plus + minus) * self.X.unit * w.unit
            found.append((gains, mates))
        return found, self.X.unit * w.unit * self.costs.unit

    def margin(self, w: Whole, samples: Array) -> Whole:
        tables, unit = self.tables(w, samples, 1)
        return Whole(objects(heaviest(gains) - worth(gains, mates) for gains, mates in tables), unit)

    def rival(self, w: Whole, samples: Array) -> Whole:
        tables, unit = self.tables(w, samples, 0)
        return Whole(objects(heaviest_rival(gains, mates) - worth(gains, mates) for gains, mates in tables), unit)

    def outputs(self, sample: int) -> Array:
        rows, columns = int(self.heights[sample]), int(self.columns[sample])
        refusal = f"sample {sample} has {rows} × {columns} edges, too many matchings to list"
        listed: list[tuple[int, ...]] = [()]
        for _ in range(rows):
            listed = extended(listed, range(-1, columns), MOST_OUTPUTS, refusal)
        table = np.full((len(listed), self.width), -1, np.int64)
        table[:, :rows] = listed
        return table

    def magnitudes(self) -> Array:
        """All edges of the sample, more than any matching has."""
        owner = np.repeat(np.arange(self.n), np.diff(self.starts))
        return grouped(self.X.sizes(), owner, self.n)
