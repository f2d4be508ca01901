"""Exact membership of rational vectors in the cones K of a program and in their duals K*.

    {0}^zero (dual: anything)   R₊^nonneg   SOC(k) = {(t, u) : ‖u‖ ≤ t}
    EXP = closure {(r, s, t) : s > 0, s e^(r/s) ≤ t}
    EXP* = closure {(u, v, w) : u < 0, −u e^(v/u) ≤ e w}

R₊ and SOC are their own duals, and ‖u‖ ≤ t is u₁² + … ≤ t², t ≥ 0 in whole numbers. For EXP the question is always
α ≤ log β, with rational α and β > 0: with s > 0, r/s ≤ log(t/s); with u < 0, v/u − 1 ≤ log(−w/u). The logarithm is
bounded from below, so that a "yes" is proven and a "no" may be a tie.
"""

from __future__ import annotations

from typing import NamedTuple

from workbench.proofs.checker.balls import log

PRECISION = 192  # bits of logarithms


class Cones(NamedTuple):
    """The sizes of the cones, in the order of the rows."""

    zero: int
    nonneg: int
    soc: tuple[int, ...]
    exp: int

    @property
    def size(self) -> int:
        return self.zero + self.nonneg + sum(self.soc) + 3 * self.exp

    def holds(self, s: list[int], dual: bool = False) -> bool:
        """Whether s, whole numbers over any positive unit, lies in K, or in K*."""
        if len(s) != self.size or not (dual or not any(s[: self.zero])):
            return False
        at = self.zero + self.nonneg
        if any(value < 0 for value in s[self.zero : at]):
            return False
        for size in self.soc:
            t, u = s[at], s[at + 1 : at + size]
            if t < 0 or sum(value * value for value in u) > t * t:
                return False
            at += size
        inside = dual_exponential if dual else exponential
        return all(inside(*s[k : k + 3]) for k in range(at, len(s), 3))


def exponential(r: int, s: int, t: int) -> bool:
    """(r, s, t) ∈ EXP."""
    if s <= 0:
        return s == 0 and r <= 0 <= t
    return t > 0 and below_log(r, s, t, s)


def dual_exponential(u: int, v: int, w: int) -> bool:
    """(u, v, w) ∈ EXP*."""
    if u >= 0:
        return u == 0 and v >= 0 and w >= 0
    return w > 0 and below_log(-v + u, -u, w, -u)


def below_log(p: int, q: int, a: int, b: int) -> bool:
    """p/q ≤ log(a/b) for q, a, b > 0, proven by log(a/b) ≥ (lowest log a − highest log b)."""
    if p == 0:
        return a >= b
    return p << PRECISION <= q * (log(a, PRECISION)[0] - log(b, PRECISION)[1])
