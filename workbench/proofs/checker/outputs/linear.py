"""Linear scores: two outputs, φ(x, y) = y·x, 0/1 loss; with p = ⟨w, x_i⟩ and y_i ∈ {0, 1}, sign_i = 2y_i − 1.

margin and slack  max(0, 1 − sign_i p)      rival  −sign_i p
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.contracts import Structure
from workbench.proofs.checker.outputs._common import read_rows, read_weights
from workbench.proofs.checker.whole import Array, Whole, exact


class Linear(Structure):
    name = "linear"
    width = 1
    blocks = 1

    def __init__(self, fields: Fields):
        self.dim = fields.number("n_features", 1)
        targets = fields.floats("targets", None)
        self.n, self.targets = len(targets), exact(targets)
        self.X, self.weights = read_rows(fields, self.n, self.dim), read_weights(fields, self.n)
        self.labels = (targets >= 0).astype(np.int64)
        self.truth, self.signs = self.labels[:, None], (2 * self.labels - 1).astype(object)

    def words(self) -> str:
        return f"linear: the sign of a score for each of {self.n} samples with {self.dim} inputs"

    def is_output(self, samples: Array, outputs: Array) -> Array:
        return ((outputs == 0) | (outputs == 1)).ravel()

    def parts(self, samples: Array, outputs: Array) -> tuple[Array, Array, Array]:
        held = np.flatnonzero(outputs)
        return held, samples[held], np.zeros(len(held), np.int64)

    def loss(self, samples: Array, outputs: Array) -> Whole:
        return Whole((outputs.ravel() != self.labels[samples]).astype(int).astype(object))

    def least_loss(self, samples: Array) -> Fraction | None:
        return Fraction(1) if len(samples) else None

    def scores(self, w: Whole, samples: Array) -> Whole:
        """p (m,)."""
        return Whole(self.X.scores(samples, w.values[None, :]).ravel(), self.X.unit * w.unit)

    def rival(self, w: Whole, samples: Array) -> Whole:
        found = self.scores(w, samples)
        return Whole(-found.values * self.signs[samples], found.unit)

    def margin(self, w: Whole, samples: Array) -> Whole:
        found = self.rival(w, samples)
        return Whole(np.maximum(found.values + found.unit, 0), found.unit)

    slack = margin

    def outputs(self, sample: int) -> Array:
        return np.array([[0], [1]])

    def magnitudes(self) -> Array:
        return self.X.sizes()
