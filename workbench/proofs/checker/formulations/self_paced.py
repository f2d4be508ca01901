"""Self-paced selection: F(w) = ½‖w‖² + Σ_i min(c_i h_i(w), κ_i) (docs/certificate-format.md §7).

h_i(w) = max_y ℓ_i(y) + ⟨w, Δ_i(y)⟩                            where the truth is known
h_i(w) = (max_z ℓ_i(z) + ⟨w, φ_i(z)⟩ − max_t ⟨w, φ_i(t)⟩)₊     where it is an output t of zero loss, z the others
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np

from workbench.proofs.checker.archive import Header
from workbench.proofs.checker.contracts import Setting, Structure, is_positive
from workbench.proofs.checker.faults import demand
from workbench.proofs.checker.formulations.soft_margin import Hinge
from workbench.proofs.checker.whole import Array, Whole, common, objects


class SelfPaced(Hinge):
    name = "self-paced"
    proof = "tree"
    rounded_claims = True
    settings: ClassVar = {"C": Setting(is_positive, 10.0), "K": Setting(is_positive, 1.0)}

    @property
    def formula(self) -> str:
        known, hidden = "max_y ℓ_i(y) − ⟨w, ψ_i(y)⟩", "(max_z ℓ_i(z) + ⟨w, φ_i(z)⟩ − max_t ⟨w, φ_i(t)⟩)₊"
        told = ", t the outputs of zero loss, z the others" if self.hidden else ""
        return (
            f"min over w of ½ ‖w‖² + Σ_i min(c_i {hidden if self.hidden else known}, κ_i), "
            f"c_i = C weight_i / Σ weights, κ_i = weight_i / K{told}"
        )

    def __init__(self, structure: Structure, given: Header):
        revealed = structure.revealed()
        self.hidden = revealed is not None
        super().__init__(structure if revealed is None else revealed, given | {"lam": 1})
        priced = Whole(self.weights.values[self.samples], self.weights.unit)
        self.costs, self.caps = priced * (Fraction(given["C"]) / self.total), priced * (1 / Fraction(given["K"]))

    def capped(self, values: Whole) -> Fraction:
        """Σ min(c_i h_i, κ_i) of values (m,) of `samples`."""
        pairs = zip((self.costs * values).fractions(), self.caps.fractions(), strict=True)
        return common([min(pair) for pair in pairs]).sum()

    def highest(self, theta: Whole, samples: Array) -> Whole:
        if not self.hidden:
            return super().highest(theta, samples)
        owners, outputs = self.structure.listed(samples)
        losses, gains = self.structure.loss(owners, outputs), self.structure.gains(theta, owners, outputs)
        heights, found = (losses + gains), []
        for own in np.split(np.arange(len(owners)), np.flatnonzero(np.diff(owners)) + 1):
            free = losses.values[own] == 0
            found.append(max(heights.values[own[~free]].max() - heights.values[own[free]].max(), 0))
        return Whole(objects(found), heights.unit)

    def pairs(self) -> tuple[Array, Array, Array | None]:
        """Every cut's sample, output, and of the cut of a hidden truth this truth: rivals in order, truth by truth."""
        owners, outputs = self.structure.listed(self.samples)
        if not self.hidden:
            return owners, outputs, None
        free, found = self.structure.loss(owners, outputs).values == 0, []
        for own in np.split(np.arange(len(owners)), np.flatnonzero(np.diff(owners)) + 1):
            truths, rivals = own[free[own]], own[~free[own]]
            demand(len(rivals) > 0, f"sample {owners[own[0]]} has no output of positive loss")
            found.append(np.stack([np.tile(rivals, len(truths)), np.repeat(truths, len(rivals))]))
        rivals, truths = np.concatenate(found, axis=1)
        return owners[rivals], outputs[rivals], outputs[truths]
