"""Smooth terms with r = λ/2‖θ‖² and mean prices: likelihoods, squared and logistic risk (docs/certificate-format.md
§6).

crf        h_i(w) = log Σ_y exp⟨w, Δ_i(y)⟩
squared    h_i(w) = ½(⟨w, x_i⟩ − target_i)²
logistic   h_i(w) = log(1 + exp(−y_i ⟨w, x_i⟩)), which is `crf` on two outputs
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np

from workbench.proofs.checker.archive import Header
from workbench.proofs.checker.balls import exp, logs
from workbench.proofs.checker.contracts import Formulation, Setting, Structure, Sums, is_positive, one_of
from workbench.proofs.checker.faults import demand
from workbench.proofs.checker.formulations.soft_margin import HingeRisk
from workbench.proofs.checker.regularizers import SquaredNorm
from workbench.proofs.checker.whole import Array, Whole, zeros


class Likelihood(Formulation):
    name = "crf"
    proof = "tangent"
    settings: ClassVar = {"lam": Setting(is_positive, 0.1)}
    formula = (
        "min over w of λ/2 ‖w‖² + Σ_i p_i [log Σ_y exp⟨w, φ(x_i, y)⟩ − ⟨w, φ(x_i, y_i)⟩], "
        "p_i = weight_i / Σ weights, λ = lam"
    )

    def __init__(self, structure: Structure, given: Header):
        super().__init__(structure, given)
        demand(structure.signed is None, f"{self.name} is not defined for {structure.name}")
        self.regularizer = SquaredNorm(Fraction(given["lam"]))

    def sums(self, theta: Whole, P: int, gradient: bool = True) -> tuple[Sums, str]:
        """The terms of `samples`, Σ weight_i ∇h_i if asked for, and in which arithmetic; P bits behind the point."""
        masses = self.weights.values[self.samples] if gradient else None
        found = self.structure.log_sums(theta, self.samples, masses, P)
        return found or listed_sums(self.structure, theta, self.samples, masses, P), f"ball ({P} bits)"


def listed_sums(structure: Structure, theta: Whole, samples: Array, masses: Array | None, P: int) -> Sums:
    """h_i, all outputs being listed, with q(y) = exp⟨w, Δ_i(y)⟩/Σ …, every number enclosed."""
    owners, outputs = structure.listed(samples)
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    number = np.repeat(np.arange(len(samples)), np.diff(np.append(starts, len(owners))))
    gains = structure.gains(theta, owners, outputs)
    tops = np.maximum.reduceat(gains.values, starts)
    low, high = exp(gains.values - tops[number], gains.unit, P)
    least, most = np.add.reduceat(low, starts), np.add.reduceat(high, starts)
    lo, hi = logs(least, most, P, P)
    lo, hi = lo + (tops << P) // gains.unit, hi - ((-tops << P) // gains.unit)
    if masses is None:
        return Sums(Whole(lo, 1 << P), Whole(hi, 1 << P), Whole(zeros(0)), Fraction(0))
    least_q, most_q = (low << P) // most[number], -((-high << P) // least[number])
    middle = (least_q + most_q) >> 1
    gradient = structure.combined(owners, outputs, Whole(middle * masses[number], 1 << P))
    reach = structure.magnitudes()[owners] * masses[number]  # twice that, of half an interval and half a unit
    radius = Fraction(int(((most_q - least_q + 1) * reach).sum()), structure.unit << P)
    return Sums(Whole(lo, 1 << P), Whole(hi, 1 << P), gradient, radius)


class WeightedRisk(Likelihood):
    name = "weighted-risk"
    settings: ClassVar = {
        "lam": Setting(is_positive, 0.1),
        "loss": Setting(one_of("hinge", "squared", "logistic"), "hinge"),
    }

    @classmethod
    def chosen(cls, given: Header) -> type[Formulation]:
        return HingeRisk if given["loss"] == "hinge" else cls

    @property
    def formula(self) -> str:
        term = "½ (⟨w, x_i⟩ − y_i)²" if self.given["loss"] == "squared" else "log(1 + exp(−y_i ⟨w, x_i⟩))"
        return f"min over w of λ/2 ‖w‖² + Σ_i p_i {term}, p_i = importance_i / Σ importances, λ = lam"

    def __init__(self, structure: Structure, given: Header):
        demand(structure.name == "linear", f"weighted-risk is not defined for {structure.name}")
        super().__init__(structure, given)

    def sums(self, theta: Whole, P: int, gradient: bool = True) -> tuple[Sums, str]:
        if self.given["loss"] == "logistic":
            return super().sums(theta, P, gradient)
        at, linear = self.samples, self.structure
        residual = linear.scores(theta, at) - linear.targets[at]
        values = residual * residual * Fraction(1, 2)
        masses = residual.values * self.weights.values[at]
        rows = linear.X.spread(at, np.zeros(len(at), np.int64), masses, 1)
        return Sums(values, values, Whole(rows, residual.unit * linear.X.unit), Fraction(0)), "rational"
