"""Motifs: a sample is negative, or holds a motif of m letters at one of its windows (docs/certificate-format.md §3).

Over q letters a window h adds s_h = Σ_j w_{qj + x_{h+j}} − w_{qm + x_{h+j}} to the score of the label −1. With s_i that
of the true window (0 for a negative sample), the maxima over all windows are

    margin  positive max(1, max s_h) − s_i,  negative max(0, 1 + max s_h)
    rival   positive max(0, max over h ≠ h_i of s_h) − s_i,  negative max s_h
"""

from __future__ import annotations

from copy import copy
from fractions import Fraction

import numpy as np

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.contracts import Structure
from workbench.proofs.checker.faults import demand
from workbench.proofs.checker.outputs._common import read_weights
from workbench.proofs.checker.whole import Array, Whole, objects


class Motif(Structure):
    name = "motif"
    width = 2

    def __init__(self, fields: Fields):
        self.m = fields.number("length", 1)
        self.labels = fields.ints("labels", None, within=(0, 1))
        self.q = read_alphabet(fields)
        self.n, self.dim = len(self.labels), self.q * (self.m + 1)
        self.letters = fields.ints("letters", None, within=(0, self.q - 1), kind="|u1")
        lengths = fields.ints("lengths", self.n, within=(self.m, len(self.letters)))
        self.spans, positions = fields.ints("spans", self.n, 2), fields.ints("positions", self.n)
        self.offsets = np.concatenate([[0], np.cumsum(lengths)])
        demand(self.offsets[-1] == len(self.letters), f"{fields.of}lengths do not add up to the letters")
        first, last = self.spans.T
        demand(((first >= 0) & (first <= last) & (last <= lengths - self.m)).all(), f"{fields.of}spans: a span is none")
        known = (self.labels == 1) & (positions >= first) & (positions <= last)
        demand((known | (positions == -1)).all(), f"{fields.of}positions: a position lies outside its span")
        self.truth = np.stack([self.labels, positions], axis=1)
        self.weights = read_weights(fields, self.n)

    def words(self) -> str:
        return f"motif: whether, and where, {self.n} sequences hold a motif of {self.m} letters"

    def usable(self) -> None:
        hidden = (self.labels == 1) & (self.truth[:, 1] == -1)
        demand(not hidden.any(), f"the position of sample {int(hidden.argmax())} is hidden")

    def revealed(self) -> Motif | None:
        if not ((self.labels == 1) & (self.truth[:, 1] == -1)).any():
            return None
        known, (first, _) = copy(self), self.spans.T  # the window cancels in what is asked of a hidden truth
        known.truth = np.stack([self.labels, first], axis=1)
        return known

    def completed(self, states: Array) -> Motif:
        """The same with these positions as the only windows of the positive samples."""
        inside = (states >= self.spans[:, 0]) & (states <= self.spans[:, 1])
        demand(np.where(self.labels == 1, inside, states == -1).all(), "a state lies outside its span")
        known = copy(self)
        known.truth = np.stack([self.labels, states], axis=1)
        known.spans = np.where(self.labels[:, None] == 1, states[:, None], self.spans)
        return known

    def is_output(self, samples: Array, outputs: Array) -> Array:
        (label, position), (first, last) = outputs.T, self.spans[samples].T
        placed = (first <= position) & (position <= last)
        return np.where(label == 1, placed, (label == 0) & (position == -1))

    def units(self, samples: Array, outputs: Array) -> tuple[Array, Array, Array]:
        """What a window adds; the letters' counts without one are the same for all outputs and leave Δ alone."""
        held = np.flatnonzero(outputs[:, 0] == 1)
        j = np.tile(np.arange(self.m), len(held))
        number = np.repeat(held, self.m)
        letters = self.letters[self.offsets[samples[number]] + outputs[number, 1] + j]
        places, ones = np.concatenate([self.q * j + letters, self.q * self.m + letters]), np.ones(len(j), np.int64)
        return np.tile(number, 2), places, np.concatenate([ones, -ones])

    def loss(self, samples: Array, outputs: Array) -> Whole:
        return Whole((outputs[:, 0] != self.labels[samples]).astype(int).astype(object))

    def least_loss(self, samples: Array) -> Fraction | None:
        return Fraction(1) if len(samples) else None

    def windows(self, w: Whole, samples: Array) -> list[tuple[int, Array, int, int]]:
        """(label, s_h of every window, s_i, the true window's number) of each sample."""
        inside = self.q * self.m
        table = w.values[:inside].reshape(self.m, self.q) - w.values[inside:]
        found = []
        for i in samples.tolist():
            first, count = self.offsets[i] + self.spans[i, 0], self.spans[i, 1] - self.spans[i, 0] + 1
            added = sum(row[self.letters[first + j : first + j + count]] for j, row in enumerate(table))
            own = int(self.truth[i, 1] - self.spans[i, 0])
            found.append((int(self.labels[i]), added, added[own] if self.labels[i] else 0, own))
        return found

    def margin(self, w: Whole, samples: Array) -> Whole:
        one = w.unit
        found = [max(one, s.max()) - own if y else max(0, one + s.max()) for y, s, own, _ in self.windows(w, samples)]
        return Whole(objects(found), one)

    def rival(self, w: Whole, samples: Array) -> Whole:
        found = []
        for label, scores, own, at in self.windows(w, samples):
            found.append(max([0, *np.delete(scores, at)]) - own if label else scores.max())
        return Whole(objects(found), w.unit)

    def outputs(self, sample: int) -> Array:
        first, last = self.spans[sample]
        windows = np.arange(first, last + 1)
        return np.concatenate([[[0, -1]], np.stack([np.ones_like(windows), windows], axis=1)])

    def magnitudes(self) -> Array:
        """Of φ without the counts that all outputs share: a window moves m letters."""
        return np.full(self.n, 2 * self.m, object)


def read_alphabet(fields: Fields) -> int:
    """q: the number of different letters of `alphabet`, 4 where the file has none."""
    if not fields.has("alphabet"):
        return 4
    codes = fields.ints("alphabet", None, kind="|u1")
    demand(len(set(codes.tolist())) == len(codes) >= 2, f"{fields.of}alphabet has no two letters, or one twice")
    return len(codes)
