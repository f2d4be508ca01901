"""Multilabel in rational arithmetic: with g_j = (1 − 2y_ij)⟨W_j, x_i⟩ the gain of changing label j

margin  Σ_j (1 + g_j)₊      slack  max_m m (1 + Σ of the m greatest g)      rival  Σ_j (g_j)₊, or max g      free  0
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from workbench.arithmetic.rationals import Entries, Ratios, Rows
from workbench.contracts import Ints


class ExactMultilabel:
    """The exact view of a `Multilabel` problem (contract: rationals.ExactOutputs)."""

    least_loss = Fraction(1)

    def __init__(self, problem: Any):
        self.inputs, self.truth, (self.k, self.p) = Rows(problem.X), problem.truth, (problem.width, problem.n_inputs)

    def fault(self, samples: Ints, outputs: Ints) -> int | None:
        wrong = ((outputs < 0) | (outputs > 1)).any(axis=1)
        return int(wrong.argmax()) if wrong.any() else None

    def slopes(self, samples: Ints, outputs: Ints) -> Entries:
        row, label = np.nonzero(outputs != self.truth[samples])
        number, columns, values = self.inputs.entries(samples[row])
        sign = (outputs - self.truth[samples])[row, label].astype(object)
        return Entries(row[number], columns + label[number] * self.p, values * sign[number], self.inputs.unit)

    def loss(self, samples: Ints, outputs: Ints) -> Ratios:
        return Ratios((outputs != self.truth[samples]).sum(axis=1).astype(object), 1)

    def gains(self, w: Ratios, samples: Ints) -> Ratios:
        """g (m, k)."""
        scores = self.inputs.scores(samples, w.whole.reshape(self.k, self.p))
        return Ratios(scores * (1 - 2 * self.truth[samples]).astype(object), self.inputs.unit * w.unit)

    def margin(self, w: Ratios, samples: Ints) -> Ratios:
        gains = self.gains(w, samples)
        return Ratios(np.maximum(gains.whole + gains.unit, 0).sum(axis=1), gains.unit)

    def slack(self, w: Ratios, samples: Ints) -> Ratios:
        gains = self.gains(w, samples)
        sums = np.sort(gains.whole, axis=1)[:, ::-1].cumsum(axis=1)
        values = np.arange(1, self.k + 1).astype(object) * (sums + gains.unit)
        return Ratios(np.maximum(values.max(axis=1), 0), gains.unit)

    def rival(self, w: Ratios, samples: Ints) -> Ratios:
        gains = self.gains(w, samples)
        best = np.minimum(gains.whole.max(axis=1), 0)  # counts where no gain is positive
        return Ratios(np.maximum(gains.whole, 0).sum(axis=1) + best, gains.unit)

    def free(self, w: Ratios, samples: Ints) -> Ratios:
        return Ratios(np.zeros(len(samples), object), 1)
