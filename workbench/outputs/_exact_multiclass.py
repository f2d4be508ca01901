"""Multiclass outputs in rational arithmetic: every label is looked at, on whole numbers.

With gains g_i(y) = ⟨W_y − W_{y_i}, x_i⟩ the maxima are

    margin  max_y ℓ_i(y) + g_i(y)      slack  max_y ℓ_i(y) (1 + g_i(y))      free  max of g_i(y), ℓ_i(y) = 0
    rival   max of g_i(y), y ≠ y_i
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.rationals import Entries, Ratios, Rows, ratios
from workbench.contracts import Ints


class ExactMulticlass:
    """The exact view of a `Multiclass` problem (contract: rationals.ExactOutputs)."""

    def __init__(self, problem: Any):
        self.inputs, self.labels, self.n_inputs = Rows(problem.X), problem.labels, problem.n_inputs
        self.cost = ratios(problem.cost)
        costs = self.cost.whole[np.unique(self.labels)]
        self.least_loss = Fraction(int(costs[costs > 0].min(initial=1 << 2000)), self.cost.unit)

    def fault(self, samples: Ints, outputs: Ints) -> int | None:
        wrong = (outputs[:, 0] < 0) | (outputs[:, 0] >= len(self.cost.whole))
        return int(wrong.argmax()) if wrong.any() else None

    def slopes(self, samples: Ints, outputs: Ints) -> Entries:
        number, columns, values = self.inputs.entries(samples)
        there, here = outputs[number, 0], self.labels[samples][number]
        keep = there != here
        number, columns, values = np.tile(number[keep], 2), columns[keep], values[keep]
        columns = np.concatenate([columns + there[keep] * self.n_inputs, columns + here[keep] * self.n_inputs])
        return Entries(number, columns, np.concatenate([values, -values]), self.inputs.unit)

    def loss(self, samples: Ints, outputs: Ints) -> Ratios:
        return Ratios(self.cost.whole[self.labels[samples], outputs[:, 0]], self.cost.unit)

    def gains(self, w: Ratios, samples: Ints) -> tuple[NDArray, NDArray, int]:
        """g (m, k) over a unit, the costs of the same labels, and that unit."""
        scores = self.inputs.scores(samples, w.whole.reshape(-1, self.n_inputs))
        labels = self.labels[samples]
        own = scores[np.arange(len(samples)), labels]
        return scores - own[:, None], self.cost.whole[labels], self.inputs.unit * w.unit

    def margin(self, w: Ratios, samples: Ints) -> Ratios:
        gains, costs, unit = self.gains(w, samples)
        return Ratios((costs * unit + gains * self.cost.unit).max(axis=1), unit * self.cost.unit)

    def augmented(self, w: Ratios, samples: Ints, table: Ratios) -> Ratios:
        gains, _, unit = self.gains(w, samples)
        return Ratios((table.whole * unit + gains * table.unit).max(axis=1), unit * table.unit)

    def slack(self, w: Ratios, samples: Ints) -> Ratios:
        gains, costs, unit = self.gains(w, samples)
        return Ratios((costs * (unit + gains)).max(axis=1), unit * self.cost.unit)

    def rival(self, w: Ratios, samples: Ints) -> Ratios:
        gains, _, unit = self.gains(w, samples)
        others = np.arange(gains.shape[1]) != self.labels[samples][:, None]
        return Ratios(gains[others].reshape(len(gains), -1).max(axis=1), unit)

    def free(self, w: Ratios, samples: Ints) -> Ratios:
        gains, costs, unit = self.gains(w, samples)
        return Ratios(np.where(costs == 0, gains, 0).max(axis=1), unit)
