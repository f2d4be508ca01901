"""Enclosures of exp and log over whole numbers: no library function is trusted, every rounding is bounded here.

A number x is held as whole numbers lo ≤ x·2^P ≤ hi. Inside, P + GUARD = Q bits are carried, "unit" means 2^−Q.

*ln 2* = 2 Σ_j 1/((2j+1) 3^(2j+1)), each of N terms rounded down at 2^−(Q+32): ln2_Q ≤ ln 2·2^Q < ln2_Q + 2 for N < 2³¹.

*exp(x), x ≤ 0.* X = ⌊x 2^Q⌋, k = ⌊X/ln2_Q⌋ ≤ 0, r = X − k ln2_Q, so that x = k ln 2 + (r + e)/2^Q with |e| ≤ 1 +
2|k|, 0 ≤ r 2^−Q < 0.7. Terms T_{j+1} = ⌊T_j r/((j+1) 2^Q)⌋ from T_0 = 2^Q lie below the true ones, by err_{j+1} ≤ 1 +
0.7 err_j/(j+1) ≤ 3. When a term is 0, the true one is at most 3 and the rest of the series at most 10. So N terms are
wrong by at most 3N + 10 units, and e^{e/2^Q} − 1 ≤ 2|e|2^−Q of a number below 2.1 adds at most 5|e|: |error| ≤ 3N +
10 + 5(1 + 2|k|) units before the factor 2^k.

*log m* of a whole number m > 0 of b bits: m = f 2^b, ½ ≤ f < 1, log f = −2 atanh(y), y = (1 − f)/(1 + f) ≤ ⅓. f is
cut to Q bits, y rounded down, so both are wrong by at most 2 and 4 units; d/dy 2 atanh(y) ≤ 9/4; N terms
y^(2j+1)/(2j+1), each rounded down after a product rounded down, are wrong by at most 3 each: |error| ≤ 2·(3N + 10) +
2·4 units, and b·2 more from b ln 2.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from workbench.proofs.checker.whole import Array, objects, zeros

GUARD = 64


@cache
def log_two(Q: int) -> int:
    """ln 2 · 2^Q, rounded down by less than 2."""
    power, terms = (2 << (Q + 32)) // 3, list[int]()
    while power:
        terms.append(power // (2 * len(terms) + 1))
        power //= 9
    return sum(terms) >> 32


def exp(values: Array, unit: int, P: int) -> tuple[Array, Array]:
    """(lo, hi) of exp(x) at 2^P, for x = values/unit ≤ 0."""
    Q = P + GUARD
    two, lo, hi = log_two(Q), zeros(len(values)), zeros(len(values)) + 1  # e^x < 2^−P far out
    near = np.flatnonzero(values >= -P * unit)
    if not len(near):
        return lo, hi
    X = (values[near] << Q) // unit
    k = X // two
    r = X - k * two
    term, total, count = zeros(len(near)) + (1 << Q), zeros(len(near)), 0
    while term.any():
        total = total + term
        count += 1
        term = term * r // (count << Q)
    error = 3 * count + 15 - 10 * k
    shift = GUARD - k
    lo[near] = (total - error) >> shift
    hi[near] = ((total + error) >> shift) + 1
    return lo, hi


def log(number: int, P: int) -> tuple[int, int]:
    """(lo, hi) of log(number) at 2^P, for a whole number > 0."""
    Q = P + GUARD
    length, one = number.bit_length(), 1 << Q
    f = (number << Q) >> length
    y = ((one - f) << Q) // (one + f)
    square, power, terms = (y * y) >> Q, y, list[int]()
    while power:
        terms.append(power // (2 * len(terms) + 1))
        power = (power * square) >> Q
    value = length * log_two(Q) - 2 * sum(terms)
    error = 2 * (3 * len(terms) + 10) + 8 + 2 * length
    return (value - error) >> GUARD, ((value + error) >> GUARD) + 1


def logs(lo: Array, hi: Array, P: int, Q: int) -> tuple[Array, Array]:
    """(lo, hi) at 2^P of log(x) for x between lo/2^Q and hi/2^Q, lo > 0."""
    two_lo, two_hi = log(2, P)
    low = objects(log(int(each), P)[0] - Q * two_hi for each in lo)
    return low, objects(log(int(each), P)[1] - Q * two_lo for each in hi)
