"""Regularizers r over whole numbers: value, conjugate r*(s) = max ⟨s, θ⟩ − r(θ), domain, minimiser (docs/certificate-
format.md §4).

SquaredNorm    λ/2‖θ‖²                              ‖s‖²/(2λ)
SignedNorm     the same on θ_j ≥ 0 for j ∈ J        the same, with (s_j)₊ on J
ElasticNet     λ₂‖w‖² + λ₁‖w‖₁                      Σ (|s_j| − λ₁)₊²/(4λ₂)
Free, Box      0, an optimum being in |b_k| ≤ B     B Σ|s_k|
Simplex        0 on v ≥ 0, Σ v = 1, live entries    max s_S over live S
CountedCosts   (K/2) Σ n_S (1 − v_S)² on v ≥ 0      Σ (Kn_S/2)((1 + s_S/(Kn_S))₊² − 1) over n_S > 0
Stacked        a sum over consecutive blocks
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from workbench.proofs.checker.whole import Array, Whole, common, joined, zeros


class Regularizer:
    def feasible(self, x: Whole) -> Whole:
        """A point of r's domain, x itself if it is one."""
        return x

    def start(self, size: int) -> Whole:
        """The minimiser of r."""
        return Whole(zeros(size))

    def within(self, upper: Fraction | float) -> Regularizer:
        """The same where min F ≤ `upper` is known."""
        return self


@dataclass(frozen=True)
class SquaredNorm(Regularizer):
    lam: Fraction

    def value(self, x: Whole) -> Fraction:
        return self.lam / 2 * x.squares()

    def conjugate(self, s: Whole) -> Fraction:
        return s.squares() / (2 * self.lam)

    def argmax(self, s: Whole) -> Whole:
        """The θ that attains r*(s)."""
        return s * (1 / self.lam)


@dataclass(frozen=True)
class SignedNorm(Regularizer):
    """λ/2‖θ‖² on θ_j ≥ 0 for the entries that are `signed` (p,)."""

    lam: Fraction
    signed: Array

    def value(self, x: Whole) -> Fraction:
        return self.lam / 2 * x.squares()

    def conjugate(self, s: Whole) -> Fraction:
        return self.feasible(s).squares() / (2 * self.lam)

    def feasible(self, x: Whole) -> Whole:
        return Whole(np.where(self.signed, np.maximum(x.values, 0), x.values), x.unit)


@dataclass(frozen=True)
class ElasticNet(Regularizer):
    lam2: Fraction
    lam1: Fraction

    def value(self, x: Whole) -> Fraction:
        return self.lam2 * x.squares() + self.lam1 * x.sizes()

    def conjugate(self, s: Whole) -> Fraction:
        beyond = Whole(abs(s.values), s.unit) - Whole(zeros(len(s)) + self.lam1.numerator, self.lam1.denominator)
        return beyond.positive().squares() / (4 * self.lam2)


@dataclass(frozen=True)
class Free(Regularizer):
    """0; `bound` gives B for a known U ≥ min F, so that some optimum is in the box |b_k| ≤ B."""

    bound: Callable[[Fraction | float], Fraction]

    def within(self, upper: Fraction | float) -> Box:
        return Box(self.bound(upper))

    def value(self, x: Whole) -> Fraction:
        return Fraction(0)


@dataclass(frozen=True)
class Box(Regularizer):
    level: Fraction

    def conjugate(self, s: Whole) -> Fraction:
        return self.level * s.sizes()


@dataclass(frozen=True)
class Simplex(Regularizer):
    live: Array  # (m,) bool

    def value(self, x: Whole) -> Fraction:
        return Fraction(0)

    def conjugate(self, s: Whole) -> Fraction:
        return s[self.live].max()

    def feasible(self, x: Whole) -> Whole:
        kept = np.where(self.live, np.maximum(x.values, 0), 0)
        return Whole(kept, int(kept.sum())) if kept.any() else self.start(len(x))

    def start(self, size: int) -> Whole:
        return Whole(self.live.astype(int).astype(object), int(self.live.sum()))


@dataclass(frozen=True)
class CountedCosts(Regularizer):
    K: Fraction
    n: tuple[Fraction, ...]  # (m,)

    @property
    def live(self) -> Array:
        return np.array([each > 0 for each in self.n], bool)

    def value(self, x: Whole) -> Fraction:
        pairs = zip(x.fractions(), self.n, strict=True)
        return self.K / 2 * sum((n * (1 - v) ** 2 for v, n in pairs), Fraction(0))

    def conjugate(self, s: Whole) -> Fraction:
        pairs = [(each, self.K * n) for each, n in zip(s.fractions(), self.n, strict=True) if n > 0]
        return sum((kn / 2 * (max(1 + each / kn, Fraction(0)) ** 2 - 1) for each, kn in pairs), Fraction(0))

    def feasible(self, x: Whole) -> Whole:
        return Whole(np.where(self.live, np.maximum(x.values, 0), 0), x.unit)

    def start(self, size: int) -> Whole:
        return common([Fraction(int(each)) for each in self.live])


@dataclass(frozen=True)
class Stacked(Regularizer):
    sizes: tuple[int, ...]
    parts: tuple[Regularizer, ...]

    def blocks(self, x: Whole) -> list[tuple[Regularizer, Whole]]:
        ends = np.cumsum(self.sizes).tolist()
        return [(part, x[end - size : end]) for part, size, end in zip(self.parts, self.sizes, ends, strict=True)]

    def value(self, x: Whole) -> Fraction:
        return sum((part.value(block) for part, block in self.blocks(x)), Fraction(0))

    def conjugate(self, s: Whole) -> Fraction:
        return sum((part.conjugate(block) for part, block in self.blocks(s)), Fraction(0))

    def feasible(self, x: Whole) -> Whole:
        return joined(*(part.feasible(block) for part, block in self.blocks(x)))

    def start(self, size: int) -> Whole:
        return joined(*(part.start(own) for part, own in zip(self.parts, self.sizes, strict=True)))

    def within(self, upper: Fraction | float) -> Stacked:
        return Stacked(self.sizes, tuple(part.within(upper) for part in self.parts))
