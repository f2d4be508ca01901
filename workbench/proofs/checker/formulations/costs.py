"""Costs of error classes, learned or given: θ = (w, b, v) or (w, b) (docs/certificate-format.md §4).

    simplex      λ₂‖w‖² + λ₁‖w‖₁ + Σ p_i h_i                               v ≥ 0, Σ v = 1
    normalized   λ₂‖w‖² + λ₁‖w‖₁ + Σ p_i h_i + (K/2) Σ n_S (1 − v_S)²      v ≥ 0
    fixed        the first at a given v

b is free; B of the format's document bounds it at some optimum, given U ≥ min F.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from workbench.proofs.checker.archive import Header
from workbench.proofs.checker.contracts import (
    Formulation,
    Setting,
    Structure,
    is_number,
    is_positive,
    list_of,
    one_of,
    or_none,
)
from workbench.proofs.checker.faults import demand
from workbench.proofs.checker.formulations._errors import FACTORINGS, Errors, labelled
from workbench.proofs.checker.formulations._free_labels import reach
from workbench.proofs.checker.formulations._rounding import rounded
from workbench.proofs.checker.regularizers import CountedCosts, ElasticNet, Free, Regularizer, Simplex, Stacked
from workbench.proofs.checker.whole import Array, Whole, joined

HINGE = "max_y ⟨w, φ(y) − φ(y_i)⟩ + ⟨b, l(y) − l(y_i)⟩ + K⟨v, c_i(y)⟩"


class Costs(Formulation):
    """What the three share; `parts` of r besides w and b, and bounds U₀ on F at one point and V on v."""

    rounded_claims = True
    settings: ClassVar = {
        "lam2": Setting(is_positive, 0.1),
        "lam1": Setting(is_number(0, 1e100), 0.0),
        "K": Setting(is_positive, 1.0),
        "factoring": Setting(one_of(*FACTORINGS), "unordered"),
    }

    def __init__(self, structure: Structure, given: Header):
        super().__init__(labelled(structure), given)
        self.errors, self.total = Errors(structure, given["factoring"]), Fraction(1)
        self.K, d, k = Fraction(given["K"]), structure.dim, structure.k
        self.sizes, self.penalty = (d, k, self.errors.m), (Fraction(given["lam2"]), Fraction(given["lam1"]))
        self.dim = sum(self.sizes)

    @cached_property
    def regularizer(self) -> Stacked:
        return Stacked(self.sizes, (ElasticNet(*self.penalty), Free(self.box), self.costs))

    @cached_property
    def costs(self) -> Regularizer:
        raise NotImplementedError

    def starting(self) -> tuple[Fraction, Fraction]:
        """U₀ and V."""
        raise NotImplementedError

    def places(self) -> Fraction:
        """N̂ = Σ p_i T_i."""
        return Whole(self.weights.values[self.structure.owner], self.weights.unit).sum()

    def box(self, upper: Fraction | float) -> Fraction:
        """B for U = min(upper, U₀)."""
        start, most = self.starting()
        dearest = self.K * int(np.bincount(self.structure.owner).max()) * most
        return reach(self.structure, self.weights, self.total, self.penalty[0], min(start, Fraction(upper)), dearest)

    def split(self, theta: Whole) -> list[Whole]:
        ends = np.cumsum(self.sizes).tolist()
        return [theta[end - size : end] for end, size in zip(ends, self.sizes, strict=True)]

    def push(self, samples: Array, witnesses: Array, beta: Whole) -> tuple[Whole, Fraction]:
        w, b, v = self.errors.pushed(samples, witnesses, beta)
        return joined(w, b, v * self.K), Fraction(0)

    def highest(self, theta: Whole, samples: Array) -> Whole:
        return self.errors.highest(*self.split(theta), self.K, samples)


class SimplexCosts(Costs):
    name = "simplex-cost-learning"
    formula = f"min over w, b, v ≥ 0 with Σ v = 1 of λ₂ ‖w‖² + λ₁ ‖w‖₁ + Σ_i weight_i {HINGE}"

    @cached_property
    def costs(self) -> Simplex:
        live = self.errors.reachable()
        demand(live.any(), "no error can be reached, so there is nothing to learn costs from")
        return Simplex(live)

    def starting(self) -> tuple[Fraction, Fraction]:
        return self.K * self.places(), Fraction(1)


class NormalizedCosts(Costs):
    name = "normalized-cost-learning"
    settings: ClassVar = Costs.settings | {
        "counts": Setting(one_of("expected", "logical", "logical-max", "none", "total", "baseline"), "expected"),
        "baseline": Setting(or_none(list_of(is_number(0, 1e300))), None),
    }
    formula = f"min over w, b, v ≥ 0 of λ₂ ‖w‖² + λ₁ ‖w‖₁ + Σ_i weight_i {HINGE} + (K/2) Σ_S n_S (1 − v_S)²"

    def __init__(self, structure: Structure, given: Header):
        super().__init__(structure, given)
        demand(
            (given["counts"] == "baseline") == (given["baseline"] is not None),
            "counts and baseline do not fit together",
        )

    @cached_property
    def costs(self) -> CountedCosts:
        if self.given["baseline"] is not None:
            found = [Fraction(each) for each in self.given["baseline"]]
            demand(len(found) == self.errors.m, f"there are {len(found)} counts for {self.errors.m} error classes")
        else:
            found = [rounded(each) for each in self.errors.expected(self.given["counts"])]
        pairs = zip(found, self.errors.reachable().tolist(), strict=True)
        return CountedCosts(self.K, tuple(each if live else Fraction(0) for each, live in pairs))

    def starting(self) -> tuple[Fraction, Fraction]:
        return self.K / 2 * sum(self.costs.n, Fraction(0)), Fraction(1)
