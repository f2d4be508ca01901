"""Multiclass: one label of k per sample, φ(x, y) = e_y ⊗ x, losses from a cost matrix (docs/certificate-format.md §3).

With g_i(y) = ⟨W_y − W_{y_i}, x_i⟩ every label is looked at: margin max ℓ + g, slack max ℓ(1 + g), rival max of g over
y ≠ y_i.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.contracts import Labelled
from workbench.proofs.checker.outputs._common import read_classes, read_cost, read_rows, read_weights
from workbench.proofs.checker.whole import Array, Whole, exact


class Multiclass(Labelled):
    name = "multiclass"
    width = 1

    def __init__(self, fields: Fields):
        self.k, self.p = read_classes(fields), fields.number("n_inputs", 1)
        self.labels = fields.ints("labels", None, within=(0, self.k - 1))
        self.n, self.dim, self.blocks = len(self.labels), self.k * self.p, self.k
        self.X, self.cost = read_rows(fields, self.n, self.p), exact(read_cost(fields, self.k))
        self.weights, self.truth = read_weights(fields, self.n), self.labels[:, None]
        self.owner = np.arange(self.n)

    def words(self) -> str:
        return f"multiclass: one of {self.k} labels for each of {self.n} samples with {self.p} inputs"

    def is_output(self, samples: Array, outputs: Array) -> Array:
        return ((outputs >= 0) & (outputs < self.k)).ravel()

    def parts(self, samples: Array, outputs: Array) -> tuple[Array, Array, Array]:
        return np.arange(len(samples)), samples, outputs.ravel()

    def loss(self, samples: Array, outputs: Array) -> Whole:
        return Whole(self.cost.values[self.labels[samples], outputs.ravel()], self.cost.unit)

    def least_loss(self, samples: Array) -> Fraction | None:
        costs = self.cost.values[np.unique(self.labels[samples])]
        return Fraction(int(costs[costs > 0].min()), self.cost.unit) if (costs > 0).any() else None

    def advantages(self, w: Whole, samples: Array) -> Whole:
        """g (m, k)."""
        scores = self.X.scores(samples, w.values.reshape(self.k, self.p))
        own = scores[np.arange(len(samples)), self.labels[samples]]
        return Whole(scores - own[:, None], self.X.unit * w.unit)

    def augmented(self, w: Whole, samples: Array, table: Whole) -> Whole:
        found = self.advantages(w, samples) + table
        return Whole(found.values.max(axis=1), found.unit)

    def place_losses(self, samples: Array) -> Whole:
        return Whole(self.cost.values[self.labels[samples]], self.cost.unit)

    def margin(self, w: Whole, samples: Array) -> Whole:
        return self.augmented(w, samples, self.place_losses(samples))

    def slack(self, w: Whole, samples: Array) -> Whole:
        gains, costs = self.advantages(w, samples), self.cost.values[self.labels[samples]]
        return Whole((costs * (gains.values + gains.unit)).max(axis=1), gains.unit * self.cost.unit)

    def rival(self, w: Whole, samples: Array) -> Whole:
        gains = self.advantages(w, samples)
        others = np.arange(self.k) != self.labels[samples][:, None]
        return Whole(gains.values[others].reshape(len(samples), self.k - 1).max(axis=1), gains.unit)

    def labels_of(self, samples: Array, outputs: Array) -> tuple[Array, Array, Array]:
        return np.arange(len(samples)), samples, outputs.ravel()

    def outputs(self, sample: int) -> Array:
        return np.arange(self.k)[:, None]

    def magnitudes(self) -> Array:
        return self.X.sizes()
