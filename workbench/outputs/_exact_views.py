"""Views in rational arithmetic: every label and view is looked at, on whole numbers.

With s_i(y, h) = ⟨W_y, x_{i,h}⟩, s_i the truth's, and y ≠ y_i in every view, the maxima are

    margin  max(s_i, 1 + max s_i(y, h)) − s_i      rival  max s_i(y, h) − s_i      free  0: the view of y_i is known
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from workbench.arithmetic.rationals import Entries, Ratios, Rows, entries_of
from workbench.contracts import Ints


class ExactViews:
    """The exact view of a `Views` problem with known states (contract: rationals.ExactOutputs)."""

    least_loss = Fraction(1)

    def __init__(self, problem: Any):
        self.views, self.rows = problem, Rows(problem.X)

    def fault(self, samples: Ints, outputs: Ints) -> int | None:
        (label, view), (true, state) = outputs.T, self.views.truth[samples].T
        wrong = (label < 0) | (label >= len(self.views.classes)) | (view < 0) | (view >= self.views.n_views[samples])
        wrong |= (label == true) & (view != state) & (state >= 0)
        return int(wrong.argmax()) if wrong.any() else None

    def slopes(self, samples: Ints, outputs: Ints) -> Entries:
        self.views.check_known(samples, self.views.truth[samples])
        parts, p = [], self.views.n_inputs
        for sign, (label, view) in ((1, outputs.T), (-1, self.views.truth[samples].T)):
            number, columns, values = self.rows.entries(self.views.offsets[samples] + view)
            keep = (outputs != self.views.truth[samples]).any(axis=1)[number]
            parts.append((number[keep], columns[keep] + label[number[keep]] * p, sign * values[keep]))
        return entries_of(parts, self.rows.unit)

    def loss(self, samples: Ints, outputs: Ints) -> Ratios:
        return Ratios((outputs[:, 0] != self.views.labels[samples]).astype(int).astype(object), 1)

    def advantage(self, w: Ratios, samples: Ints) -> tuple[list[int], int]:
        """max of s_i(y, h) − s_i over y ≠ y_i and all views, and the unit."""
        self.views.check_known(samples, self.views.truth[samples])
        W, found = w.whole.reshape(-1, self.views.n_inputs), []
        for i in samples.tolist():
            scores = self.rows.scores(np.arange(self.views.offsets[i], self.views.offsets[i + 1]), W)
            label, state = self.views.truth[i]
            found.append(np.delete(scores, label, axis=1).max() - scores[state, label])
        return found, self.rows.unit * w.unit

    def margin(self, w: Ratios, samples: Ints) -> Ratios:
        found, unit = self.advantage(w, samples)
        return Ratios.of([max(0, unit + each) for each in found], unit)

    def rival(self, w: Ratios, samples: Ints) -> Ratios:
        return Ratios.of(*self.advantage(w, samples))

    def free(self, w: Ratios, samples: Ints) -> Ratios:
        return Ratios.of([0] * len(samples), 1)
