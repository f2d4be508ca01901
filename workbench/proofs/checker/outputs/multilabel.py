"""Multilabel: any subset of k labels per sample, φ(x, y) = Σ_j y_j (e_j ⊗ x), ℓ counts wrong labels
(docs/certificate-format.md §3).

With g_j = (1 − 2y_ij)⟨W_j, x_i⟩ the gain of changing label j: margin Σ_j (1 + g_j)₊, slack the greatest
m (1 + the sum of the m greatest g), rival Σ_j (g_j)₊ or, where no g is positive, the greatest.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.contracts import Structure
from workbench.proofs.checker.faults import Malformed
from workbench.proofs.checker.outputs._common import read_classes, read_rows, read_weights
from workbench.proofs.checker.whole import Array, Whole

MOST_LABELS = 16  # of outputs listed


class Multilabel(Structure):
    name = "multilabel"

    def __init__(self, fields: Fields):
        self.k, self.p = read_classes(fields), fields.number("n_inputs", 1)
        self.truth = fields.ints("truth", None, self.k, within=(0, 1))
        self.n, self.width, self.blocks, self.dim = len(self.truth), self.k, self.k, self.k * self.p
        self.X, self.weights = read_rows(fields, self.n, self.p), read_weights(fields, self.n)

    def words(self) -> str:
        return f"multilabel: any of {self.k} labels for each of {self.n} samples with {self.p} inputs"

    def is_output(self, samples: Array, outputs: Array) -> Array:
        return ((outputs == 0) | (outputs == 1)).all(axis=1)

    def parts(self, samples: Array, outputs: Array) -> tuple[Array, Array, Array]:
        number, label = np.nonzero(outputs)
        return number, samples[number], label

    def loss(self, samples: Array, outputs: Array) -> Whole:
        return Whole((outputs != self.truth[samples]).sum(axis=1).astype(object))

    def least_loss(self, samples: Array) -> Fraction | None:
        return Fraction(1) if len(samples) else None

    def advantages(self, w: Whole, samples: Array) -> Whole:
        """g (m, k)."""
        scores = self.X.scores(samples, w.values.reshape(self.k, self.p))
        return Whole(scores * (1 - 2 * self.truth[samples]).astype(object), self.X.unit * w.unit)

    def margin(self, w: Whole, samples: Array) -> Whole:
        found = self.advantages(w, samples)
        return Whole(np.maximum(found.values + found.unit, 0).sum(axis=1), found.unit)

    def slack(self, w: Whole, samples: Array) -> Whole:
        found = self.advantages(w, samples)
        sums = np.sort(found.values, axis=1)[:, ::-1].cumsum(axis=1)
        values = np.arange(1, self.k + 1).astype(object) * (sums + found.unit)
        return Whole(np.maximum(values.max(axis=1), 0), found.unit)

    def rival(self, w: Whole, samples: Array) -> Whole:
        found = self.advantages(w, samples)
        best = np.minimum(found.values.max(axis=1), 0)  # counts where no gain is positive
        return Whole(np.maximum(found.values, 0).sum(axis=1) + best, found.unit)

    def outputs(self, sample: int) -> Array:
        if self.k > MOST_LABELS:
            raise Malformed(f"sample {sample} has 2^{self.k} sets of labels, too many to list")
        return np.indices((2,) * self.k).reshape(self.k, -1).T

    def magnitudes(self) -> Array:
        return self.X.sizes() * self.k
