"""Views: one label of k per sample, in one of its K_i views, φ = e_y ⊗ x_{i,h} (docs/certificate-format.md §3).

The true label of a known view has no other view. With s_i the true output's score and y ≠ y_i in every view, the maxima
are margin max(0, 1 + max ⟨W_y, x_{i,h}⟩ − s_i) and rival max ⟨W_y, x_{i,h}⟩ − s_i.
"""

from __future__ import annotations

from copy import copy
from fractions import Fraction

import numpy as np

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.contracts import Structure
from workbench.proofs.checker.faults import demand
from workbench.proofs.checker.outputs._common import read_classes, read_rows, read_weights
from workbench.proofs.checker.whole import Array, Whole, objects


class Views(Structure):
    name = "views"
    width = 2

    def __init__(self, fields: Fields):
        self.k, self.p = read_classes(fields), fields.number("n_inputs", 1)
        self.labels = fields.ints("labels", None, within=(0, self.k - 1))
        self.n, self.dim, self.blocks = len(self.labels), self.k * self.p, self.k
        self.offsets = fields.ints("offsets", self.n + 1)
        rising = self.offsets[0] == 0 and (self.offsets[1:] > self.offsets[:-1]).all()
        demand(rising, f"{fields.of}offsets do not rise from 0")
        self.views = np.diff(self.offsets)
        self.X = read_rows(fields, int(self.offsets[-1]), self.p)
        self.states = fields.ints("states", self.n)
        known = (self.states >= 0) & (self.states < self.views)
        demand((known | ((self.states == -1) & (self.views > 1))).all(), f"{fields.of}states: a state is no view")
        self.weights, self.truth = read_weights(fields, self.n), np.stack([self.labels, self.states], axis=1)

    def words(self) -> str:
        return f"views: one of {self.k} labels for each of {self.n} samples, seen in {len(self.X.indptr) - 1} views"

    def usable(self) -> None:
        hidden = self.truth[:, 1] == -1
        demand(not hidden.any(), f"the view of sample {int(hidden.argmax())} is hidden")

    def revealed(self) -> Views | None:
        if not (self.states == -1).any():
            return None
        known = copy(self)
        known.truth = np.stack([self.labels, np.maximum(self.states, 0)], axis=1)
        return known

    def completed(self, states: Array) -> Views:
        """The same with these views as the only ones of the true labels."""
        inside = (states >= 0) & (states < self.views) & ((self.states == -1) | (self.states == states))
        demand(inside.all(), "a state is no view of its sample")
        known = copy(self)
        known.states, known.truth = states, np.stack([self.labels, states], axis=1)
        return known

    def is_output(self, samples: Array, outputs: Array) -> Array:
        (label, view), state = outputs.T, self.states[samples]
        free = (label != self.labels[samples]) | (state == -1) | (view == state)
        return (label >= 0) & (label < self.k) & (view >= 0) & (view < self.views[samples]) & free

    def parts(self, samples: Array, outputs: Array) -> tuple[Array, Array, Array]:
        return np.arange(len(samples)), self.offsets[samples] + outputs[:, 1], outputs[:, 0]

    def loss(self, samples: Array, outputs: Array) -> Whole:
        return Whole((outputs[:, 0] != self.labels[samples]).astype(int).astype(object))

    def least_loss(self, samples: Array) -> Fraction | None:
        return Fraction(1) if len(samples) else None

    def rival(self, w: Whole, samples: Array) -> Whole:
        found = []
        for i in samples.tolist():
            rows = np.arange(self.offsets[i], self.offsets[i + 1])
            scores, (label, state) = self.X.scores(rows, w.values.reshape(self.k, self.p)), self.truth[i]
            found.append(np.delete(scores, label, axis=1).max() - scores[state, label])
        return Whole(objects(found), self.X.unit * w.unit)

    def margin(self, w: Whole, samples: Array) -> Whole:
        gains = self.rival(w, samples)
        return Whole(np.maximum(gains.values + gains.unit, 0), gains.unit)

    def outputs(self, sample: int) -> Array:
        views, state = self.views[sample], self.states[sample]
        every = np.stack(np.divmod(np.arange(self.k * views), views), axis=1)
        return every[(every[:, 0] != self.labels[sample]) | (state == -1) | (every[:, 1] == state)]

    def magnitudes(self) -> Array:
        sizes = self.X.sizes()
        return np.array([max(sizes[a:b]) for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True)], object)
