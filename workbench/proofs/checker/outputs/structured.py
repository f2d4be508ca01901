"""Outputs that are listed: row r of X is φ(x_i, y) of one output y of the sample i = owners[r], with losses[r].

Rows 0 … n − 1 are the true outputs. margin  max_r losses[r] + ⟨w, Δ(r)⟩ over the rows of a sample, by listing them.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.contracts import Structure
from workbench.proofs.checker.faults import Unknown, demand
from workbench.proofs.checker.outputs._common import read_rows, read_weights
from workbench.proofs.checker.whole import Array, Whole, exact


class Listed(Structure):
    name = "structured"
    width = 1
    blocks = 1

    def __init__(self, fields: Fields):
        if not fields.typed("listed", "|b1", ()):
            raise Unknown("output structure", "structured whose outputs are not listed", 1, ["structured"])
        self.dim, self.n = fields.number("n_features", 1), fields.get("weights").size
        self.owners = fields.ints("owners", None, within=(0, self.n - 1))
        rows, losses = len(self.owners), fields.floats("losses", len(self.owners), least=0.0)
        self.X, self.losses, self.floats = read_rows(fields, rows, self.dim), exact(losses), losses
        self.weights, self.truth = read_weights(fields, self.n), np.arange(self.n)[:, None]
        first = self.n <= rows and (self.owners[: self.n] == np.arange(self.n)).all() and not losses[: self.n].any()
        demand(first, "its first rows are not the true outputs in order")
        order = np.argsort(self.owners, kind="stable")
        self.rows = np.split(order, np.flatnonzero(np.diff(self.owners[order])) + 1)
        for told in ("source", "names"):  # where the features come from; nothing rests on these
            fields.typed(told, "|u1", (None,))

    def words(self) -> str:
        return f"structured: {len(self.owners)} listed outputs of {self.n} samples, with {self.dim} features"

    def is_output(self, samples: Array, outputs: Array) -> Array:
        rows, inside = outputs.ravel(), ((outputs >= 0) & (outputs < len(self.owners))).ravel()
        inside[inside] = self.owners[rows[inside]] == samples[inside]
        return inside

    def parts(self, samples: Array, outputs: Array) -> tuple[Array, Array, Array]:
        return np.arange(len(samples)), outputs.ravel(), np.zeros(len(samples), np.int64)

    def loss(self, samples: Array, outputs: Array) -> Whole:
        return Whole(self.losses.values[outputs.ravel()], self.losses.unit)

    def least_loss(self, samples: Array) -> Fraction | None:
        found = self.floats[np.isin(self.owners, samples) & (self.floats > 0)]
        return Fraction(float(found.min())) if len(found) else None

    def outputs(self, sample: int) -> Array:
        return self.rows[sample][:, None]

    def highest(self, samples: Array, values: Array, unit: int) -> Whole:
        """The greatest of `values`, one an output of the samples, within each sample."""
        counts = np.array([len(self.rows[i]) for i in samples.tolist()])
        return Whole(np.maximum.reduceat(values, np.cumsum(counts) - counts), unit)

    def margin(self, w: Whole, samples: Array) -> Whole:
        owners, outputs = self.listed(samples)
        gains, loss = self.gains(w, owners, outputs), self.loss(owners, outputs)
        return self.highest(samples, gains.values * loss.unit + loss.values * gains.unit, gains.unit * loss.unit)

    def slack(self, w: Whole, samples: Array) -> Whole:
        owners, outputs = self.listed(samples)
        gains, loss = self.gains(w, owners, outputs), self.loss(owners, outputs)
        return self.highest(samples, loss.values * (gains.values + gains.unit), gains.unit * loss.unit)

    def rival(self, w: Whole, samples: Array) -> Whole:
        owners, outputs = self.listed(samples)
        gains = self.gains(w, owners, outputs)
        lowest = -sum(map(abs, gains.values)) - gains.unit  # no rival gains less, and −1 violates nothing
        return self.highest(samples, np.where(outputs.ravel() == owners, lowest, gains.values), gains.unit)

    def magnitudes(self) -> Array:
        sizes = self.X.sizes()
        return np.array([max(sizes[rows]) for rows in self.rows], object)
