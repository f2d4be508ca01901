"""Outward-rounded interval arithmetic: float formulas that return proven enclosures.

An `Interval` holds arrays lo ≤ hi; each operation rounds its lower end down and its upper end up by
one unit in the last place, sums use `math.fsum` (correctly rounded), products with sparse matrices a
running error bound. Regularizers and bounds use only + − × / abs sum, so the same code runs on
floats, on intervals, and on object arrays of `Fraction`.

Units: u = 2⁻⁵³ is the unit roundoff, γ_k = ku/(1 − ku) bounds the relative error of k roundings
(Higham, Accuracy and Stability of Numerical Algorithms, §3.1).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

U = 2.0**-53
TINY = 2.0**-1022
LEAST = 2.0**-1074  # the smallest float
SMALL = 2.0**-900  # a size from which on γ times a number is no smaller than TINY
LONG = 1000  # numbers whose squares are summed block by block
MANY = 400  # numbers from which layers save time
BLOCK = 256  # numbers that are summed in any order
RUN = 128 * BLOCK  # numbers whose sizes are made at a time
LARGE = 2.0**900  # beyond which a layer might overflow
SPARE = 8  # roundings of a product of vectors beside those of its sum (`matvec`)


def gamma(k: Any) -> Any:
    """γ_k = ku/(1 − ku), rounded up."""
    return (k * U) / (1 - k * U) * (1 + 4 * U)


def down(x: Any) -> Any:
    return np.nextafter(x, -np.inf)


def up(x: Any) -> Any:
    return np.nextafter(x, np.inf)


def positive(x: Any) -> Any:
    """max(x, 0), entry by entry, for floats, fractions, and what has a method of this name."""
    if hasattr(x, "positive"):
        return x.positive()
    return np.maximum(x, x * 0 if isinstance(x, np.ndarray) and x.dtype.kind == "O" else 0)  # fractions stay fractions


def squared(x: Any) -> Any:
    """Σ x², for floats, fractions, and what has a method of this name."""
    return x.squared() if hasattr(x, "squared") else (x * x).sum()


class Interval:
    """An array of enclosures [lo, hi]; plain numbers and arrays take part as exact points."""

    __slots__ = ("hi", "lo")
    __array_ufunc__ = None

    def __init__(self, lo: ArrayLike, hi: ArrayLike | None = None):
        self.lo = np.asarray(lo, float)
        self.hi = self.lo if hi is None else np.asarray(hi, float)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.lo.shape

    def __repr__(self) -> str:
        return f"Interval({self.lo}, {self.hi})"

    def __getitem__(self, index: Any) -> Interval:
        return Interval(self.lo[index], self.hi[index])

    def __neg__(self) -> Interval:
        return Interval(-self.hi, -self.lo)

    def __add__(self, other: Any) -> Interval:
        other = as_interval(other)
        return Interval(down(self.lo + other.lo), up(self.hi + other.hi))

    def __sub__(self, other: Any) -> Interval:
        return self + (-as_interval(other))

    def __rsub__(self, other: Any) -> Interval:
        return (-self) + other

    def __mul__(self, other: Any) -> Interval:
        other = as_interval(other)
        if self.lo is self.hi and other.lo is other.hi:
            product = self.lo * other.lo
            return Interval(down(product), up(product))
        if other.lo is other.hi:
            return between(self.lo * other.lo, self.hi * other.lo)
        if self.lo is self.hi:
            return between(self.lo * other.lo, self.lo * other.hi)
        return spanned(self.lo * other.lo, self.lo * other.hi, self.hi * other.lo, self.hi * other.hi)

    def __truediv__(self, other: Any) -> Interval:
        other = as_interval(other)
        if np.any((other.lo <= 0) & (other.hi >= 0)):
            raise ZeroDivisionError("division by an interval that holds zero")
        if other.lo is other.hi:
            return between(self.lo / other.lo, self.hi / other.lo)
        if self.lo is self.hi:
            return between(self.lo / other.lo, self.lo / other.hi)
        return spanned(self.lo / other.lo, self.lo / other.hi, self.hi / other.lo, self.hi / other.hi)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rtruediv__(self, other: Any) -> Interval:
        return as_interval(other) / self

    def __abs__(self) -> Interval:
        if self.lo is self.hi:
            return Interval(np.abs(self.lo))
        return Interval(np.maximum(np.maximum(self.lo, -self.hi), 0.0), np.maximum(-self.lo, self.hi))

    def positive(self) -> Interval:
        """max(x, 0), entry by entry."""
        return Interval(positive(self.lo), positive(self.hi))

    def squared(self) -> Interval:
        """Σ x² of all entries, of the least and of the largest size of each."""
        if self.lo.size < LONG:
            size = abs(self)
            return (size * size).sum()
        lo, hi = self.lo.ravel(), self.hi.ravel()
        if self.lo is self.hi:
            found = squares(blocks(lo), len(lo))
            return Interval(max(found.lo, 0.0), found.hi)
        low, high = [], []
        for at in range(0, len(lo), RUN):  # so that a run's sizes stay in the cache
            size = abs(Interval(lo[at : at + RUN], hi[at : at + RUN]))
            low.append(blocks(size.lo))
            high.append(blocks(size.hi))
        return of_squares(np.concatenate(low), np.concatenate(high), len(lo))

    def sum(self) -> Interval:
        """Σ of all entries; `math.fsum` is correctly rounded, so one outward step encloses it."""
        if self.lo is self.hi and np.isfinite(found := total(self.lo, np.inf)):
            return Interval(down(found), up(found))
        return Interval(down(total(self.lo, -np.inf)), up(total(self.hi, np.inf)))


def between(a: Any, b: Any) -> Interval:
    """From the smaller to the larger of two arrays of rounded numbers, entry by entry."""
    return Interval(down(np.minimum(a, b)), up(np.maximum(a, b)))


def spanned(a: Any, b: Any, c: Any, d: Any) -> Interval:
    """From the least to the largest of four arrays of rounded numbers, entry by entry."""
    return Interval(
        down(np.minimum(np.minimum(a, b), np.minimum(c, d))), up(np.maximum(np.maximum(a, b), np.maximum(c, d)))
    )


def length(*vectors: Interval) -> Interval:
    """The Euclidean norm of vectors laid end to end, from above."""
    return Interval(up(np.sqrt(sum((each.squared() for each in vectors), start=Interval(0.0)).hi)))


def blocks(entries: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ x_j² over blocks of BLOCK numbers, and over those left, rounded."""
    whole = len(entries) // BLOCK * BLOCK
    rows, rest = entries[:whole].reshape(-1, BLOCK), entries[whole:]
    return np.append(np.einsum("ij,ij->i", rows, rows), rest @ rest)  # without an array of all products


def squares(blocks: NDArray[np.float64], count: int) -> Interval:
    """Encloses Σ_j x_j² of so many numbers by sums over blocks, in whatever order each is summed.

    A product and the sum of a block err by at most γ of BLOCK + 1 relatively, but for products that underflow.
    """
    found, rounding, least = total(blocks, np.inf), gamma(BLOCK + BLOCK), count * TINY
    return Interval(min(found, LARGE), found) * Interval(1 - rounding, 1 + rounding) + Interval(-least, least)


def of_squares(low: NDArray[np.float64], high: NDArray[np.float64], count: int) -> Interval:
    """Σ x² from sums over blocks of the squares of least and of largest sizes, of so many numbers."""
    return Interval(max(squares(low, count).lo, 0.0), squares(high, count).hi)


def total(entries: NDArray[np.float64], beyond: float) -> float:
    """Σ of the entries, rounded correctly; `beyond` if a part of the sum is too large for a float."""
    try:
        return math.fsum(few(entries.ravel()))
    except OverflowError:
        return beyond


def few(entries: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fewer numbers of the same exact sum: ten times as fast to sum up as many numbers of similar size.

    Each layer takes q = (σ + x) − σ off the entries x, with σ a power of two and σ ≥ n·max|x|. Then x − q is exact, all
    q are multiples of σu, and no partial sum of q exceeds σ, so that Σ q is exact, too (Rump, Ogita & Oishi 2008,
    Accurate floating-point summation I, §3). What the layers leave, mostly nothing, stands behind their sums.
    """
    layers = []
    while len(entries) >= MANY:
        size = float(np.abs(entries).max())
        if not size < LARGE:
            break
        sigma = 2.0 ** (math.frexp(size)[1] + len(entries).bit_length())
        part = (sigma + entries) - sigma
        layers.append(float(part.sum()))
        entries = entries - part
        entries = entries[entries != 0]
    return np.append(entries, layers)


def as_interval(x: Any) -> Interval:
    return x if isinstance(x, Interval) else Interval(x)


def matvec(matrix: Any, x: Interval, entry_error: ArrayLike = 0.0, longest: int | None = None) -> Interval:
    """Encloses M x for every M whose entries differ by at most `entry_error` (per column) from `matrix`.

    Centre c = fl(M·mid x); radius = (γ_k |M||mid x| + |M| rad x + Σ_j e_j |x_j|)(1 + 2γ_k), and an absolute term for
    underflow. With n the largest number of entries in a row, c errs by γ_n |M||mid x|, the radius is computed with
    n + 6 roundings, and both ends are rounded once more; k = n + 8 covers all of them. M is dense, CSR, or CSC, as
    transposes are: the terms of a row are summed one after the other in each. The same for every column of a matrix x.
    `longest` is n, if it is known.
    """
    middle, radius = centred(x)
    k = (longest_row(matrix) if longest is None else longest) + SPARE
    size = np.abs(middle)
    reach = gamma(k) * size + radius
    if ((size > 0) & (size < SMALL)).any():
        reach = reach + LEAST  # γ |x| may have underflown, and the matrix be large
    width = magnitudes(matrix) @ reach
    if np.any(entry_error):
        width = width + total(np.asarray(entry_error) * (size + radius), np.inf)
    width = width * (1 + 2 * gamma(k)) + k * TINY
    centre = matrix @ middle
    return Interval(centre - width, centre + width)


def grouped_sum(values: Interval, groups: NDArray[np.int64], n: int) -> Interval:
    """Σ of non-negative `values` within each group, enclosed."""
    most = int(np.bincount(groups).max(initial=0))
    found, rounding = Interval(np.bincount(groups, values.lo, n), np.bincount(groups, values.hi, n)), gamma(most)
    if most <= 1:
        return found  # nothing was added
    return found * Interval(1 - rounding, 1 + rounding)  # a sum of k sizes errs by γ_{k−1}, and its ends by one more


def inner(x: Interval, y: Interval) -> Interval:
    """Encloses Σ_j x_j y_j, in whatever order it is summed, as `matvec` does; `(x * y).sum()` is narrower, and slow."""
    (x_mid, x_rad), (y_mid, y_rad) = centred(x), centred(y)
    k = len(x_mid) + SPARE
    x_size, y_size = np.abs(x_mid), np.abs(y_mid)
    width = gamma(k) * (x_size @ y_size) + x_size @ y_rad + x_rad @ y_size + x_rad @ y_rad
    width = width * (1 + 2 * gamma(k)) + k * TINY
    centre = x_mid @ y_mid
    return Interval(centre - width, centre + width)


def centred(x: Interval) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Middles, and radii up to a rounding."""
    if x.lo is x.hi:
        return x.lo, np.zeros_like(x.lo)
    middle = (x.lo + x.hi) / 2
    return middle, np.maximum(x.hi - middle, middle - x.lo)


def magnitudes(matrix: Any) -> Any:
    """|M|, of compressed ones with the index arrays of M, or M itself; entries that stand twice count twice."""
    if getattr(matrix, "format", "dense") not in ("csr", "csc"):
        return np.abs(matrix)
    if matrix.data.min(initial=0.0) >= 0:
        return matrix
    return type(matrix)((np.abs(matrix.data), matrix.indices, matrix.indptr), shape=matrix.shape)


def longest_row(matrix: Any) -> int:
    """The largest number of entries in a row."""
    kind = getattr(matrix, "format", "dense")
    if kind == "dense":
        return matrix.shape[1]
    counts = np.bincount(matrix.indices) if kind == "csc" else np.diff(matrix.tocsr().indptr)
    return int(counts.max(initial=0))
