"""Costs of error classes, given: θ = (w, b), K⟨v, c_i(z)⟩ is the offset of a cut (docs/certificate-format.md §4)."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from workbench.proofs.checker.archive import Header
from workbench.proofs.checker.contracts import Setting, Structure, is_number, is_whole, list_of, or_none
from workbench.proofs.checker.faults import demand
from workbench.proofs.checker.formulations._errors import one_unit
from workbench.proofs.checker.formulations.costs import HINGE, Costs
from workbench.proofs.checker.regularizers import ElasticNet, Free, Stacked
from workbench.proofs.checker.whole import Array, Whole, common, joined


class FixedCosts(Costs):
    name = "fixed-cost"
    settings: ClassVar = Costs.settings | {
        "v": Setting(or_none(list_of(is_number(0, 1e300))), None),
        "parts": Setting(is_whole(0), 0),
        "left_out": Setting(is_whole(0), 0),
    }
    formula = f"min over w, b of λ₂ ‖w‖² + λ₁ ‖w‖₁ + Σ_i weight_i {HINGE} at the costs v given"
    open = ("the costs are given: nothing is proven about choosing them (kappa-difficulty, cost learning)",)

    def __init__(self, structure: Structure, given: Header):
        super().__init__(structure, given)
        m, parts, left_out = self.errors.m, given["parts"], given["left_out"]
        demand(given["v"] is None or len(given["v"]) == m, f"there are not {m} costs, one for each error class")
        demand(parts == left_out == 0 or (parts > 1 and left_out < parts), f"part {left_out} of {parts} does not exist")
        if parts:
            folds = np.random.default_rng(parts).permutation(np.arange(structure.n) % parts)
            self.weights = Whole(
                self.weights.values * (folds != left_out).astype(int).astype(object), self.weights.unit
            )
        demand(self.weights.values.any(), "no sample with weight is left")
        self.sizes = self.sizes[:2]
        self.dim = sum(self.sizes)

    @cached_property
    def v(self) -> Whole:
        """The costs (m,), 1 each if none are given; written out only after θ was found to be as long."""
        return common([Fraction(each) for each in (self.given["v"] or [1] * self.errors.m)])

    @cached_property
    def regularizer(self) -> Stacked:
        return Stacked(self.sizes, (ElasticNet(*self.penalty), Free(self.box)))

    def starting(self) -> tuple[Fraction, Fraction]:
        most = max(self.v.fractions())
        return self.K * most * self.places(), most

    def push(self, samples: Array, witnesses: Array, beta: Whole) -> tuple[Whole, Fraction]:
        w, b, v = self.errors.pushed(samples, witnesses, beta)
        return joined(w, b), self.K * (v * self.v).sum()

    def highest(self, theta: Whole, samples: Array) -> Whole:
        return self.errors.highest(*one_unit(*self.split(theta), self.v), self.K, samples)
