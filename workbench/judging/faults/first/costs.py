"""Faults of learned costs: their classes, their trade-off, their proximal steps."""

from __future__ import annotations

import numpy as np

from workbench.judging.faults.planting import fault

COSTS = [
    # ── cost learning ─────────────────────────────────────────────────────────────────────────────
    fault(
        "costs of the wrong pair",
        "loss",
        "adagrad: costs shares",
        evidence="oracle, subgradient",
        charge=lambda self, i, y: np.roll(self.clean.charge(i, y), 1),
    ),
    fault(
        "K forgotten in the slope",
        "scaling",
        "adagrad: costs shares",
        evidence="oracle, subgradient",
        charge=lambda self, i, y: self.clean.charge(i, y) / self.K,
    ),
    fault(
        "costs never move",
        "step",
        "adagrad: costs shares",
        evidence="prox",
        costs=lambda self, v, H, eta: self.theta[self.ends[1] :],
    ),
    fault(
        "biases penalised",
        "scaling",
        "adagrad: costs shares",
        evidence="prox",
        biases=lambda self, b, eta: b / (1 + 2 * eta * self.formulation.lam2 / self.P),
    ),
    fault(
        "decay not in the metric",
        "step",
        "adagrad: costs shares",
        evidence="prox",
        shrunk=lambda self, w, eta: self.clean.shrunk(w, eta.mean()),
    ),
    fault(
        "λ of a sum taken for a mean's",
        "scaling",
        "adagrad: costs",
        evidence="mean for sum, prox",
        shrunk=lambda self, w, eta: self.clean.shrunk(w, self.P * eta),
    ),
    fault(
        "expected errors all 1",
        "scaling",
        "adagrad: costs",
        evidence="prox",
        towards_one=lambda self, v, H, eta: np.maximum((H * v + (pull := eta * self.K / self.P)) / (H + pull), 0),
    ),
    fault(
        "biases never learned",
        "features",
        "adagrad: costs",
        evidence="oracle, subgradient",
        label=lambda self, y: np.zeros(self.k),
    ),
]
