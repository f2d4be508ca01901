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
    if s == 0:
        return r <= 0 <= t
    return s > 0 and t > 0 and below_log(r, s, t, s)


def dual_exponential(u: int, v: int, w: int) -> bool:
    """(u, v, w) ∈ EXP*."""
    if u == 0:
        return v >= 0 and w >= 0
    return u < 0 and w > 0 and below_log(-v + u, -u, w, -u)


def below_log(p: int, q: int, a: int, b: int) -> bool:
    """p/q ≤ log(a/b) for q, a, b > 0, proven by log(a/b) ≥ (lowest log a − highest log b)."""
    return p << PRECISION <= q * (log(a)[0] - log(b)[1])


def log(m: int) -> tuple[int, int]:
    """Whole numbers lo ≤ 2^PRECISION · log m ≤ hi, for m > 0.

    m = f 2^k with 1 ≤ f < 2 cut to Q = PRECISION + 64 bits; log f = 2 Σ_j y^(2j+1)/(2j+1) at y = (f − 1)/(f + 1) ≤ ⅓,
    and log 2 the same at y = ⅓. All roundings are down: the cut of f and that of y lower log f by at most 2 and 4 units of
    2^−Q, each of N terms by at most 4 in y^(2j+1), once in the quotient, twice for the factor; the rest is below 4.
    """
    Q, k = PRECISION + 64, m.bit_length() - 1
    one, f = 1 << Q, m << Q >> k
    fraction, terms = series(((f - one) << Q) // (f + one), Q)
    two, more = series(one // 3, Q)
    value, error = fraction + k * two, 10 * (terms + 2) + k * 10 * (more + 2)
    return value >> 64, ((value + error) >> 64) + 1


def series(y: int, Q: int) -> tuple[int, int]:
    """2 Σ_j y^(2j+1)/(2j+1) in units of 2^−Q, rounded down, and the number of terms."""
    total, power, square, j = 0, y, y * y >> Q, 0
    while power:
        total += power // (2 * j + 1)
        power, j = power * square >> Q, j + 1
    return 2 * total, j
