"""The completed structural SVM: hidden states given, some samples kept; the convex program inside CCCP and self-paced
learning.

r = ½‖θ‖², cuts of the margin, p_i = w_i kept_i/T with T = fl64(Σw/C).
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np

from workbench.proofs.checker.archive import Header
from workbench.proofs.checker.contracts import (
    Setting,
    Structure,
    is_positive,
    is_whole,
    list_of,
    one_of_numbers,
    or_none,
)
from workbench.proofs.checker.faults import demand
from workbench.proofs.checker.formulations._rounding import rounded
from workbench.proofs.checker.formulations.soft_margin import Hinge
from workbench.proofs.checker.whole import Whole, exact


class Completed(Hinge):
    name = "completed-ssvm"
    rounded_claims = True
    settings: ClassVar = {
        "C": Setting(is_positive, 10.0),
        "states": Setting(or_none(list_of(is_whole(-1))), None),
        "kept": Setting(or_none(list_of(one_of_numbers(0, 1))), None),
    }
    formula = (
        "min over w of ½ ‖w‖² + Σ_i p_i max_z ℓ_i(z) − ⟨w, ψ_i(z)⟩ at the hidden states given, "
        "p_i = C weight_i kept_i / Σ weights"
    )
    open = ("the hidden states and the selection are given: nothing is proven about learning them",)

    def __init__(self, structure: Structure, given: Header):
        states, kept = given["states"], given["kept"]
        if states is not None:
            demand(len(states) == structure.n, f"there are {len(states)} states for {structure.n} samples")
            structure = structure.completed(np.array(states, np.int64))
        super().__init__(structure, given | {"lam": 1})
        kept = [1] * structure.n if kept is None else kept
        demand(len(kept) == structure.n, f"kept has {len(kept)} entries for {structure.n} samples")
        self.total = rounded(self.weights.sum() / Fraction(given["C"]))
        demand(self.total > 0, "the sum of its weights over C rounds to 0")
        self.weights = Whole(exact(structure.weights).values * np.array(kept, int).astype(object), self.weights.unit)
        demand(self.weights.values.any(), "kept leaves no sample with weight")
