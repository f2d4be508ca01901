"""Self-paced selection: F(w) = ½‖w‖² + Σ_i min(c_i h_i(w), κ_i), h_i = max_y ℓ_i(y) + ⟨w, Δ_i(y)⟩ (docs/certificate-
format.md §7).
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from workbench.proofs.checker.archive import Header
from workbench.proofs.checker.contracts import Setting, Structure, is_positive
from workbench.proofs.checker.formulations.soft_margin import Hinge
from workbench.proofs.checker.whole import Whole, common


class SelfPaced(Hinge):
    name = "self-paced"
    proof = "tree"
    loose = True
    settings: ClassVar = {"C": Setting(is_positive, 10.0), "K": Setting(is_positive, 1.0)}
    formula = (
        "min over w of ½ ‖w‖² + Σ_i min(c_i max_y ℓ_i(y) − ⟨w, ψ_i(y)⟩, κ_i), "
        "c_i = C weight_i / Σ weights, κ_i = weight_i / K"
    )

    def __init__(self, structure: Structure, given: Header):
        super().__init__(structure, given | {"lam": 1})
        priced = Whole(self.weights.values[self.samples], self.weights.unit)
        self.costs, self.caps = priced * (Fraction(given["C"]) / self.total), priced * (1 / Fraction(given["K"]))

    def capped(self, values: Whole) -> Fraction:
        """Σ min(c_i h_i, κ_i) of values (m,) of `samples`."""
        pairs = zip((self.costs * values).fractions(), self.caps.fractions(), strict=True)
        return common([min(pair) for pair in pairs]).sum()
