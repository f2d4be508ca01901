"""Hard constraints: r = λ/2‖θ‖², p_i = ∞ for every sample of positive weight.

hard-margin   ⟨w, ψ_i(y)⟩ ≥ ℓ_i(y) for all y        cuts Δ_i(z), ℓ_i(z)
perceptron    ⟨w, ψ_i(y)⟩ ≥ 1 for all y ≠ y_i       cuts Δ_i(z), 1[z ≠ y_i]
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from workbench.proofs.checker.contracts import Setting, is_positive
from workbench.proofs.checker.formulations.soft_margin import Hinge
from workbench.proofs.checker.whole import Array, Whole


class HardMargin(Hinge):
    name = "hard-margin"
    hard = True
    settings: ClassVar = {"lam": Setting(is_positive, 1.0)}
    formula = "min over w of λ/2 ‖w‖² s.t. ⟨w, ψ_i(y)⟩ ≥ ℓ_i(y) for all y and all samples of positive weight, λ = lam"


class Separation(HardMargin):
    name = "perceptron"
    formula = "min over w of λ/2 ‖w‖² s.t. ⟨w, ψ_i(y)⟩ ≥ 1 for all y ≠ y_i and all samples of positive weight, λ = lam"

    def push(self, samples: Array, witnesses: Array, beta: Whole) -> tuple[Whole, Fraction]:
        other = (witnesses != self.structure.truth[samples]).any(axis=1).astype(int).astype(object)
        return self.structure.combined(samples, witnesses, beta), Whole(other * beta.values, beta.unit).sum()

    def highest(self, theta: Whole, samples: Array) -> Whole:
        """Without the true output, whose 0 violates nothing."""
        found = self.structure.rival(theta, samples)
        return Whole(found.values + found.unit, found.unit)

    def least_offset(self, samples: Array) -> Fraction | None:
        return Fraction(1) if len(samples) else None
