"""Margin and slack rescaling with r = λ/2‖θ‖² and mean prices: `soft-margin`, and the hinge of `weighted-risk`.

margin   h_i(w) = max_y ℓ_i(y) + ⟨w, Δ_i(y)⟩           cuts Δ_i(z), ℓ_i(z)
slack    h_i(w) = max_y ℓ_i(y) (1 + ⟨w, Δ_i(y)⟩)       cuts ℓ_i(z) Δ_i(z), ℓ_i(z)
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from workbench.proofs.checker.archive import Header
from workbench.proofs.checker.contracts import Formulation, Setting, Structure, is_positive, one_of
from workbench.proofs.checker.faults import demand
from workbench.proofs.checker.regularizers import SignedNorm, SquaredNorm
from workbench.proofs.checker.whole import Array, Whole


class Hinge(Formulation):
    """Cuts Δ_i(z), ℓ_i(z), and r = λ/2‖θ‖² for a setting `lam`; `cone` admits weights that must be ≥ 0."""

    cone: ClassVar[bool] = False

    def __init__(self, structure: Structure, given: Header):
        super().__init__(structure, given)
        lam, signed = Fraction(given["lam"]), structure.signed
        demand(signed is None or self.cone, f"{self.name} is not defined for {structure.name}")
        self.regularizer = SquaredNorm(lam) if signed is None else SignedNorm(lam, signed)

    def push(self, samples: Array, witnesses: Array, beta: Whole) -> tuple[Whole, Fraction]:
        losses = self.structure.loss(samples, witnesses)
        return self.structure.combined(samples, witnesses, beta), (losses * beta).sum()

    def highest(self, theta: Whole, samples: Array) -> Whole:
        return self.structure.margin(theta, samples)

    def least_offset(self, samples: Array) -> Fraction | None:
        return self.structure.least_loss(samples)


class SoftMargin(Hinge):
    name = "soft-margin"
    cone = True
    settings = {  # noqa: RUF012
        "lam": Setting(is_positive, 0.1),
        "rescaling": Setting(one_of("margin", "slack"), "margin"),
        "declare": Setting(one_of("cuts", "compact"), "cuts"),
    }

    @property
    def formula(self) -> str:
        term = "ℓ_i(y) − ⟨w, ψ_i(y)⟩" if self.given["rescaling"] == "margin" else "ℓ_i(y) (1 − ⟨w, ψ_i(y)⟩)"
        return f"min over w of λ/2 ‖w‖² + Σ_i p_i max_y {term}, p_i = weight_i / Σ weights, λ = lam"

    def push(self, samples: Array, witnesses: Array, beta: Whole) -> tuple[Whole, Fraction]:
        if self.given["rescaling"] == "margin":
            return super().push(samples, witnesses, beta)
        losses = self.structure.loss(samples, witnesses) * beta
        return self.structure.combined(samples, witnesses, losses), losses.sum()

    def highest(self, theta: Whole, samples: Array) -> Whole:
        return (self.structure.margin if self.given["rescaling"] == "margin" else self.structure.slack)(theta, samples)


class HingeRisk(Hinge):
    """`weighted-risk` with the hinge (formulations/weighted_risk.py chooses)."""

    formula = "min over w of λ/2 ‖w‖² + Σ_i p_i (1 − y_i ⟨w, x_i⟩)₊, p_i = importance_i / Σ importances, λ = lam"

    def __init__(self, structure: Structure, given: Header):
        demand(structure.name == "linear", f"weighted-risk is not defined for {structure.name}")
        super().__init__(structure, given)
