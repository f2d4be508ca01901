"""Nuclear dyadic: bilinear scores of pairs, θ = (A, B, W), and squared norms (docs/certificate-format.md §12)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from workbench.proofs.checker.archive import Header
from workbench.proofs.checker.contracts import Formulation, Setting, Structure, is_positive, is_whole, one_of
from workbench.proofs.checker.faults import Malformed
from workbench.proofs.checker.outputs.dyads import Dyads
from workbench.proofs.checker.whole import Array, Whole

MOST_DIMENSIONS = 1000


class NuclearDyadic(Formulation):
    name = "nuclear-dyadic"
    proof = "slopes"
    settings: ClassVar = {
        "lam": Setting(is_positive, 0.01),
        "dimensions": Setting(lambda value: is_whole(1)(value) and value <= MOST_DIMENSIONS, 1),
        "loss": Setting(one_of("hinge", "squared"), "hinge"),
    }
    formula = (
        "min over A, B, W of λ/2 (‖A‖² + ‖B‖² + ‖W‖²) + Σ_i p_i Σ_c ℓ(p_c(i), ±1), p_i = weight_i / Σ weights, "
        "p_c(i) = ⟨A_cᵀl_i + 1, B_cᵀr_i + 1⟩ − k + ⟨w_c, x_i⟩"
    )

    def __init__(self, structure: Structure, given: Header):
        if not isinstance(structure, Dyads):
            raise Malformed(f"nuclear-dyadic is about pairs and not about {structure.name}")
        super().__init__(structure, given)
        self.pairs, self.k, self.loss = structure, int(given["dimensions"]), given["loss"]
        self.count = 1 if structure.k == 2 else structure.k
        self.sizes = structure.left.columns * self.count * self.k, structure.right.columns * self.count * self.k
        self.dim = sum(self.sizes) + structure.p * self.count

    @property
    def targets(self) -> Array:
        """(n, L) of ±1: +1 for the second of two classes, else for the class that is the label."""
        labels = self.pairs.labels[:, None]
        right = labels == 1 if self.count == 1 else labels == np.arange(self.count)
        return np.where(right, 1, -1).astype(object)

    def scores(self, theta: Whole) -> Whole:
        """p (n, L)."""
        pairs, everyone, unit = self.pairs, np.arange(self.pairs.n), theta.unit
        A, B, W = np.split(theta.values, np.cumsum(self.sizes))
        ones = pairs.left.unit * unit, pairs.right.unit * unit
        a = pairs.left.scores(everyone, A.reshape(pairs.left.columns, -1).T) + ones[0]
        b = pairs.right.scores(everyone, B.reshape(pairs.right.columns, -1).T) + ones[1]
        inner = (a * b).reshape(pairs.n, self.count, self.k).sum(axis=2)
        straight = Whole(pairs.X.scores(everyone, W.reshape(pairs.p, -1).T), pairs.X.unit * unit)
        return Whole(inner - self.k * ones[0] * ones[1], ones[0] * ones[1]) + straight

    def losses(self, scores: Whole) -> Whole:
        """Σ_c ℓ(p_c(i), ±1) (n,)."""
        if self.loss == "hinge":
            return Whole(np.maximum(scores.unit - self.targets * scores.values, 0).sum(axis=1), scores.unit)
        missed = scores.values - self.targets * scores.unit
        return Whole((missed * missed).sum(axis=1), 2 * scores.unit**2)
