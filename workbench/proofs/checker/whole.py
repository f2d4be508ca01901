"""Whole numbers over one unit: exact arithmetic on arrays, without a greatest common divisor per operation.

    Whole(values, unit)     the rationals values/unit: an object array of Python integers, and unit > 0
    Rows                    a sparse matrix of floats as whole numbers; row · weights, and Σ coefficient · row

Every finite float is a whole number times a power of two (`exact`). Sparse products cut both factors into pieces of
so few bits that every sum of products stays below 2⁵³, where float64 is exact; numbers of very many bits go as Python
integers.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.proofs.checker.faults import demand

EXACT = 53  # float64 holds every whole number up to 2⁵³
MOST_PIECES = 48  # of a factor, beyond which Python integers are the faster way
MOST_WORK = 4 * 10**10  # products of pieces in one call
MOST_DENSE = 10**12  # of dense factors, which take less time each
MOST_BITS = 1 << 60  # of a common denominator, unless told otherwise
MOST_AT_ONCE = 4_000_000  # entries laid out at a time

Array = NDArray[Any]  # of floats, whole numbers or bytes


class Whole:
    """An array of rationals values/unit; `values` is an object array of Python integers."""

    __array_ufunc__ = None
    __slots__ = ("unit", "values")

    def __init__(self, values: Array, unit: int = 1):
        self.values, self.unit = values, unit

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Whole:  # whatever NumPy takes
        return Whole(self.values[index], self.unit)

    def __neg__(self) -> Whole:
        return Whole(-self.values, self.unit)

    def __add__(self, other: Whole) -> Whole:
        unit = math.lcm(self.unit, other.unit)
        return Whole(self.values * (unit // self.unit) + other.values * (unit // other.unit), unit)

    def __sub__(self, other: Whole) -> Whole:
        return self + (-other)

    def __mul__(self, other: Whole | Fraction | int) -> Whole:
        if isinstance(other, Whole):
            return Whole(self.values * other.values, self.unit * other.unit)
        factor = Fraction(other)
        return Whole(self.values * factor.numerator, self.unit * factor.denominator)

    def positive(self) -> Whole:
        """max(x, 0), entry by entry."""
        return Whole(np.maximum(self.values, 0), self.unit)

    def sum(self) -> Fraction:
        return Fraction(int(self.values.sum()), self.unit)

    def sizes(self) -> Fraction:
        """Σ|x|."""
        return Fraction(int(abs(self.values).sum()), self.unit)

    def squares(self) -> Fraction:
        """Σ x²."""
        return Fraction(int((self.values * self.values).sum()), self.unit**2)

    def max(self) -> Fraction:
        return Fraction(int(self.values.max()), self.unit)

    def fractions(self) -> list[Fraction]:
        return [Fraction(int(x), self.unit) for x in self.values]


def objects(numbers: Iterable[int]) -> Array:
    """An object array (n,) of whole numbers as Python's, whose products never overflow."""
    return np.array([*map(operator.index, numbers), None], object)[:-1]


def zeros(*shape: int) -> Array:
    return np.zeros(shape, object)


def exact(floats: ArrayLike) -> Whole:
    """Finite floats, whole over the least power of two that makes all of them so."""
    mantissa, exponent = np.frexp(np.asarray(floats, float))
    whole = np.ldexp(mantissa, EXACT).astype(np.int64)
    lowest = np.maximum(whole & -whole, 1)
    trailing = np.frexp(lowest.astype(float))[1] - 1  # zero bits at the end
    power = np.where(whole == 0, 0, exponent - EXACT + trailing)
    least = int(power.min(initial=0))
    odd, shift = whole // lowest, power - least
    return Whole(np.left_shift(odd.astype(object), shift.astype(object)), 1 << -least)


def common(fractions: list[Fraction], most_bits: int = MOST_BITS) -> Whole:
    """Fractions over their least common denominator, which may not be longer than `most_bits`."""
    unit = 1
    for each in fractions:
        if unit % each.denominator:
            unit = math.lcm(unit, each.denominator)
            demand(unit.bit_length() <= most_bits, f"the fractions' common denominator has over {most_bits} bits")
    return Whole(objects(f.numerator * (unit // f.denominator) for f in fractions), unit)


def joined(*parts: Whole) -> Whole:
    """One after the other, over their common unit."""
    unit = math.lcm(*(part.unit for part in parts))
    return Whole(np.concatenate([part.values * (unit // part.unit) for part in parts]), unit)


def grouped(values: Array, groups: Array, count: int) -> Array:
    """The sums of the values (whole numbers) of each group 0 … count − 1."""
    total = zeros(count)
    if len(values):
        order = np.argsort(groups, kind="stable")
        at, starts = np.unique(groups[order], return_index=True)
        total[at] = np.add.reduceat(values[order], starts)
    return total


def root_up(square: Fraction, unit: int) -> Fraction:
    """The least multiple of 1/unit whose square is at least `square` ≥ 0."""
    scaled = -(-square.numerator * unit**2 // square.denominator)
    root = math.isqrt(scaled)
    return Fraction(root + (root * root < scaled), unit)


# ── products in pieces ────────────────────────────────────────────────────────────────────────────


def bits(whole: Array) -> int:
    """The bits of the largest entry, at least 1."""
    return int(abs(whole).max(initial=1)).bit_length()


def pieces(whole: Array, width: int) -> list[Array]:
    """Float arrays P with whole = Σ_l P_l 2^(width·l) and |P_l| < 2^width."""
    sign, rest, found = np.sign(whole).astype(float), abs(whole), []
    for _ in range(-(-bits(whole) // width)):
        found.append((rest & ((1 << width) - 1)).astype(float) * sign)
        rest = rest >> width
    return found


def widths(left: Array, right: Array, terms: int) -> tuple[int, int] | None:
    """Bits of the pieces of two factors whose products, `terms` of them added up, are exact; None if there would be
    too many.
    """
    room, first, second = EXACT - terms.bit_length(), bits(left), bits(right)
    half = room // 2
    if first <= half:
        pair = first, room - first
    elif second <= half:
        pair = room - second, second
    else:
        pair = half, half
    many = max(-(-first // pair[0]), -(-second // pair[1])) > MOST_PIECES
    return None if many or half < 4 else pair


def convolved(a: list[Array], b: list[Array], steps: tuple[int, int], add: Callable) -> Iterator[tuple[int, Array]]:
    """(shift, Σ of the products of all pieces of both factors that belong there, int64), the highest first; `add` sums
    exact products.
    """
    found: dict[int, Array] = {}
    for i, left in enumerate(a):
        for j, right in enumerate(b):
            if left.any() and right.any():
                shift = i * steps[0] + j * steps[1]
                part = add(left * right).astype(np.int64)
                found[shift] = found[shift] + part if shift in found else part
    yield from sorted(found.items(), reverse=True)


def assembled(parts: Iterator[tuple[int, Array]], size: int) -> Array:
    """Σ part · 2^shift as Python integers (size,)."""
    total, last = zeros(size), None
    for shift, part in parts:
        total = (total if last is None else total << (last - shift)) + part.astype(object)
        last = shift
    return total << (last or 0)


class Rows:
    """A sparse matrix (m, p) of floats as whole numbers `values` over `unit`."""

    def __init__(self, data: Array, indices: Array, indptr: Array, columns: int):
        self.indices, self.indptr, self.columns = indices, indptr, columns
        whole = exact(data)
        self.values, self.unit = whole.values, whole.unit

    def entries(self, rows: Array) -> tuple[Array, Array]:
        """(number in the list, place in `values`) of all entries of the listed rows."""
        starts, lengths = self.indptr[rows], np.diff(self.indptr)[rows]
        number = np.repeat(np.arange(len(rows)), lengths)
        return number, np.arange(len(number)) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)

    def sizes(self) -> Array:
        """Σ|entries| of each row, over the unit."""
        number, at = self.entries(np.arange(len(self.indptr) - 1))
        return grouped(abs(self.values[at]), number, len(self.indptr) - 1)

    def scores(self, rows: Array, weights: Array) -> Array:
        """row · weight for whole weights (k, p): whole numbers (len(rows), k) over unit × theirs."""
        found = zeros(len(rows), len(weights))
        number, at = self.entries(rows)
        columns, values = self.indices[at], self.values[at]
        if not len(at):
            return found
        size, most = len(rows), int(np.bincount(number).max())
        steps = widths(values, weights, most)
        if steps is None:
            for label, row in enumerate(weights):
                found[:, label] = grouped(values * row[columns], number, size)
            return found
        lefts, rights = pieces(values, steps[0]), pieces(weights, steps[1])
        check_work(len(at) * len(weights) * len(lefts) * len(rights))
        for label in range(len(weights)):
            own = [right[label][columns] for right in rights]
            parts = convolved(lefts, own, steps, lambda products: np.bincount(number, products, size))
            found[:, label] = assembled(parts, size)
        return found

    def spread(self, rows: Array, blocks: Array, coefficients: Array, count: int) -> Array:
        """Σ coefficient · row, each into its block of p places: whole numbers (count · p,) over unit × theirs."""
        total, lengths = zeros(count * self.columns), np.cumsum(np.diff(self.indptr)[rows])
        cuts = np.searchsorted(lengths, np.arange(MOST_AT_ONCE, lengths.max(initial=MOST_AT_ONCE), MOST_AT_ONCE))
        for chunk in np.split(np.arange(len(rows)), np.unique(cuts)):
            number, at = self.entries(rows[chunk])
            place, target = np.unique(blocks[chunk][number] * self.columns + self.indices[at], return_inverse=True)
            if len(at):
                total[place] += self.summed(at, coefficients[chunk], number, target)
        return total

    def summed(self, at: Array, factors: Array, number: Array, target: Array) -> Array:
        """Σ of value · factor at each target, for the entries `at` whose factors are factors[number]."""
        counts = np.bincount(target)
        size, steps = len(counts), widths(self.values, factors, int(counts.max()))
        if steps is None:
            return grouped(self.values[at] * factors[number], target, size)
        lefts = [piece[at] for piece in pieces(self.values, steps[0])]
        rights = [piece[number] for piece in pieces(factors, steps[1])]
        check_work(len(at) * len(lefts) * len(rights))
        return assembled(convolved(lefts, rights, steps, lambda products: np.bincount(target, products, size)), size)


def check_work(products: int, dense: bool = False) -> None:
    most = MOST_DENSE if dense else MOST_WORK
    demand(products <= most, f"checking would take {products} products of pieces, more than {most}")


def dense_product(left: Array, right: Array) -> Array:
    """left (m, q) @ right (q, p), whole numbers both."""
    steps, products = widths(left, right, left.shape[1]), left.shape[0] * left.shape[1] * right.shape[1]
    if steps is None:
        check_work(products * MOST_PIECES**3, dense=True)
        return left @ right
    total, lefts, rights = zeros(left.shape[0], right.shape[1]), pieces(left, steps[0]), pieces(right, steps[1])
    check_work(products * len(lefts) * len(rights), dense=True)
    for i, one in enumerate(lefts):
        for j, other in enumerate(rights):
            total = total + ((one @ other).astype(np.int64).astype(object) << (i * steps[0] + j * steps[1]))
    return total
