"""Enclosures of exp, log and square roots (§6, §7) by whole numbers; every rounding is outward.

A positive number is enclosed as a `Positive` (low, high, e): it lies in [low·2^e, high·2^e], low and high whole
numbers of about `bits` bits. Sums, products and quotients keep the relative precision whatever the exponents are.
"""

import math
from fractions import Fraction
from functools import lru_cache


class Positive:
    """An interval [low·2^e, high·2^e], low ≥ 0."""

    def __init__(self, low, high, e, bits):
        excess = high.bit_length() - bits
        if excess > 0:
            low, high, e = low >> excess, -(-high >> excess), e + excess
        self.low, self.high, self.e, self.bits = low, high, e, bits

    def __mul__(self, other):
        return Positive(self.low * other.low, self.high * other.high, self.e + other.e, self.bits)

    def __add__(self, other):
        great, small = (
            (self, other) if self.e + self.high.bit_length() >= other.e + other.high.bit_length() else (other, self)
        )
        lift = max(0, min(great.e - small.e, 2 * self.bits))
        e = great.e - lift
        low, high = great.low << lift, great.high << lift
        drop = e - small.e
        if drop >= 0:
            gone = drop > 4 * self.bits
            low += 0 if gone else small.low >> drop
            high += 1 if gone else -(-small.high >> drop)
        else:
            low += small.low << -drop
            high += small.high << -drop
        return Positive(low, high, e, self.bits)

    def share(self, whole):
        """self/whole ∈ [0, 1] as a pair of Fractions on the grid 2^−bits."""
        shift = self.e - whole.e + self.bits
        if shift < -8 * self.bits:
            return Fraction(0), Fraction(1, 1 << self.bits)

        def scaled(number):
            return Fraction(number << shift) if shift >= 0 else Fraction(number, 1 << -shift)

        low = math.floor(scaled(self.low) / whole.high)
        high = math.ceil(scaled(self.high) / whole.low) if whole.low else 1 << self.bits
        return Fraction(low, 1 << self.bits), min(Fraction(high, 1 << self.bits), Fraction(1))


def series_exp(x, bits):
    """An interval [low, high]/2^bits for exp(x/2^bits), whole 0 ≤ x < 2^bits: Taylor after 32 halvings' worth less.

    exp(r) = Σ r^j/j! with r = x/2^(bits+16); after the last term below one unit the rest is below two units more.
    """
    work, one = bits + 64, 1 << (bits + 64)
    r = x << (64 - 16)
    total, term, j = one, one, 0
    while term:
        j += 1
        term = term * r // (j << work)
        total += term
    low, high = total, total + 2 * j + 4  # each floor loses below one unit, carried on by factors below 1
    for _ in range(16):
        low, high = low * low >> work, -(-high * high >> work)
    return low >> 64, -(-high >> 64)


@lru_cache(maxsize=64)
def log_two(bits):
    """A pair of whole numbers around 2^bits·log 2 = 2^bits·2·artanh(1/3)."""
    low, high = artanh_third(bits)
    return 2 * low, 2 * high


def artanh_third(bits):
    return artanh(1, 3, bits)


def artanh(p, q, bits):
    """A pair of whole numbers around 2^bits·artanh(p/q), 0 ≤ p/q ≤ 1/3: Σ (p/q)^(2j+1)/(2j+1)."""
    work = bits + 32
    power, total, j = (p << work) // q, 0, 0
    while power:
        total += power // (2 * j + 1)
        power = power * p * p // (q * q)
        j += 1
    return total >> 32, ((total + 3 * j + 6) >> 32) + 1


def exp(x, bits):
    """A Positive around exp(x) for a Fraction x."""
    work = bits + 8
    size = max(0, abs(math.floor(x)).bit_length()) + 8
    low2, high2 = log_two(work + size)
    fixed = math.floor(x * (1 << (work + size)))
    n = fixed // high2 - (fixed < 0)
    rest_low = fixed - n * (high2 if n >= 0 else low2)
    rest_high = fixed + 1 - n * (low2 if n >= 0 else high2)
    one = 1 << (work + size)
    while rest_low < 0:
        n -= 1
        rest_low, rest_high = rest_low + low2, rest_high + high2
    while rest_high >= one:
        n += 1
        rest_low, rest_high = max(0, rest_low - high2), rest_high - low2
    low = series_exp(rest_low >> size, work)[0]
    high = series_exp(-(-rest_high >> size), work)[1]
    return Positive(low, high, n - work, bits)


def log(number):
    """A pair of Fractions around the logarithm of a Positive."""
    bits = number.bits + 16

    def one(mantissa, side):
        if mantissa == 0:
            raise ArithmeticError("the logarithm of 0")
        length = mantissa.bit_length() - 1
        n = number.e + length
        p, q = mantissa - (1 << length), mantissa + (1 << length)  # m = (1 + t)/(1 − t), t = (m − 1)/(m + 1) ≤ 1/3
        size = abs(n).bit_length() + 1
        mant, two = artanh(p, q, bits), log_two(bits + size)
        far = two[side if n >= 0 else 1 - side]
        return Fraction(2 * mant[side], 1 << bits) + Fraction(n * far, 1 << (bits + size))

    return one(number.low, 0), one(number.high, 1)


def roots(number, bits=200):
    """A pair of Fractions around √number, relative width below 2^(2−bits)."""
    if number == 0:
        return Fraction(0), Fraction(0)
    shift = max(0, 2 * bits - number.numerator.bit_length() + number.denominator.bit_length())
    shift += shift % 2
    scaled = number * (1 << shift)
    low = math.isqrt(math.floor(scaled))
    return Fraction(low, 1 << shift // 2), Fraction(low + (low * low < scaled), 1 << shift // 2)
