"""Margin rescaling with intercepts, θ = (w, b): version 2 of `soft-margin` (docs/certificate-format.md §4).

    min over w, b   λ/2‖w‖² + Σ p_i max_y ℓ_i(y) + ⟨w, Δ_i(y)⟩ + ⟨b, l(y) − l(y_i)⟩

b is free; B of the format's document bounds it at some optimum, given U ≥ min F.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np

from workbench.proofs.checker.archive import Header
from workbench.proofs.checker.contracts import Formulation, Labelled, Setting, Structure, one_of
from workbench.proofs.checker.faults import Malformed
from workbench.proofs.checker.formulations._free_labels import reach
from workbench.proofs.checker.formulations.soft_margin import SoftMargin
from workbench.proofs.checker.regularizers import Free, SquaredNorm, Stacked
from workbench.proofs.checker.whole import Array, Whole, grouped, joined


class Intercepts(Formulation):
    name = "soft-margin"
    version = 2
    settings: ClassVar = SoftMargin.settings | {
        "rescaling": Setting(one_of("margin"), "margin"),
        "declare": Setting(one_of("cuts"), "cuts"),
        "intercept": Setting(lambda value: value is True, True),
    }
    formula = (
        "min over w, b of λ/2 ‖w‖² + Σ_i p_i max_y ℓ_i(y) − ⟨w, ψ_i(y)⟩ + ⟨b, l(y) − l(y_i)⟩, l(y) the counts of "
        "labels in y, p_i = weight_i / Σ weights, λ = lam"
    )

    def __init__(self, structure: Structure, given: Header):
        if not isinstance(structure, Labelled):
            raise Malformed(f"intercepts are not defined for {structure.name}")
        super().__init__(structure, given)
        self.lam, self.sizes, self.labelled = Fraction(given["lam"]), (structure.dim, structure.k), structure
        self.dim = sum(self.sizes)
        self.regularizer = Stacked(self.sizes, (SquaredNorm(self.lam), Free(self.box)))

    def box(self, upper: Fraction | float) -> Fraction:
        """B for U = min(upper, M), M the greatest loss of any output of any sample."""
        losses = self.labelled.place_losses(np.arange(self.labelled.n))
        most = Whole(grouped(losses.values.max(axis=1), self.labelled.owner, self.labelled.n), losses.unit).max()
        return reach(self.labelled, self.weights, self.total, self.lam / 2, min(most, Fraction(upper)), most)

    def push(self, samples: Array, witnesses: Array, beta: Whole) -> tuple[Whole, Fraction]:
        number, place, label = self.labelled.labels_of(samples, witnesses)
        mass, k = beta.values[number], self.labelled.k
        counts = grouped(mass, label, k) - grouped(mass, self.labelled.labels[place], k)
        slope = joined(self.structure.combined(samples, witnesses, beta), Whole(counts, beta.unit))
        return slope, (self.structure.loss(samples, witnesses) * beta).sum()

    def highest(self, theta: Whole, samples: Array) -> Whole:
        d, _ = self.sizes
        losses, b = self.labelled.place_losses(samples), theta[d:]
        truth = self.labelled.labels[np.isin(self.labelled.owner, samples)]
        added = Whole(b.values - b.values[truth][:, None], b.unit)
        return self.labelled.augmented(theta[:d], samples, losses + added)
