"""Linear scores in rational arithmetic: two outputs, φ(x, −y_i) − φ(x, y_i) = −y_i x.

With p = ⟨w, x_i⟩ the maxima are

    margin, slack  max(1 − y_i p, 0)      rival  −y_i p      free  0
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from workbench.arithmetic.rationals import Entries, Ratios, Rows
from workbench.contracts import Ints


class ExactLinear:
    """The exact view of a `Linear` problem (contract: rationals.ExactOutputs)."""

    least_loss = Fraction(1)

    def __init__(self, problem: Any):
        self.inputs, self.labels = Rows(problem.X), problem.labels

    def fault(self, samples: Ints, outputs: Ints) -> int | None:
        wrong = (outputs[:, 0] < 0) | (outputs[:, 0] > 1)
        return int(wrong.argmax()) if wrong.any() else None

    def slopes(self, samples: Ints, outputs: Ints) -> Entries:
        number, columns, values = self.inputs.entries(samples)
        step = (outputs[:, 0] - self.labels[samples])[number]
        keep = step != 0
        return Entries(number[keep], columns[keep], values[keep] * step[keep].astype(object), self.inputs.unit)

    def loss(self, samples: Ints, outputs: Ints) -> Ratios:
        return Ratios((outputs[:, 0] != self.labels[samples]).astype(int).astype(object), 1)

    def rival(self, w: Ratios, samples: Ints) -> Ratios:
        scores = self.inputs.scores(samples, w.whole.reshape(1, -1))[:, 0]
        return Ratios(scores * (1 - 2 * self.labels[samples]).astype(object), self.inputs.unit * w.unit)

    def margin(self, w: Ratios, samples: Ints) -> Ratios:
        gains = self.rival(w, samples)
        return Ratios(np.maximum(gains.whole + gains.unit, 0), gains.unit)

    slack = margin

    def free(self, w: Ratios, samples: Ints) -> Ratios:
        return Ratios(np.zeros(len(samples), object), 1)
