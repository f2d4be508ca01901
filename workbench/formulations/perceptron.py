"""The structured perceptron's reference: weights that separate the truth from every other output.

The perceptron (solvers/perceptron.py) is a subgradient method on

    (1/n) Σ_i [max_y ⟨w, φ(x_i, y)⟩ − ⟨w, φ(x_i, y_i)⟩]

(docs/mathematics.md §4; the lecture's soft-margin problem with λ = 0, ℓ = 0). The minimum of this
objective is 0, attained at w = 0, so the objective cannot tell a good perceptron from a bad one. The reference is
instead the separator of greatest margin:

    u = argmin ½‖w‖²    s.t.  ⟨w, ψ_i(y)⟩ ≥ 1  for all i and y ≠ y_i

that is, the hard margin at unit losses.

*Dual.* Over one weight α_i(y) ≥ 0 for each sample and output y ≠ y_i:

    max   Σ_i Σ_y α_i(y) − ½‖Σ_i Σ_y α_i(y) ψ_i(y)‖²

at whose optimum u = Σ αψ, and both values are ½‖u‖².

1/‖u‖ is the margin of the data, and a perceptron makes at most R²‖u‖² mistakes, R = max ‖ψ_i(y)‖ (Novikoff 1962;
Collins 2002, Theorem 1). Data that no w separates are refused with a Farkas ray (`NotSeparable`); regret against
soft-margin weights then takes u's place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.contracts import OF_MEANS, Row
from workbench.formulations.hard_margin import HardMargin
from workbench.objectives.oracles import UnitMargin


@dataclass(frozen=True)
class Separation(HardMargin):
    """Greatest margin between the truth and every other output; the perceptron's reference."""

    def oracle(self, problem: Any) -> UnitMargin:
        return UnitMargin(problem)

    def relations(self) -> Row:
        """Unit margins do not look at ℓ."""
        return OF_MEANS


NAMES = {"perceptron": Separation}
