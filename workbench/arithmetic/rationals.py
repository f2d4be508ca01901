"""Exact arithmetic on arrays: whole numbers over one common denominator.

Every finite float is a whole number times a power of two, so an array of floats is an array of
Python integers over one unit (`ratios`). Sums and maxima then cost an integer operation each and no
greatest common divisor; a `Fraction` is made only where a single number leaves.

Matrix products of whole numbers go through float64: both factors are cut into pieces so short that
every sum of products stays below 2⁵³, where floats are exact (`product`). Conversions and pieces are those
of the trusted checker (proofs/checker/whole.py), which stands below everything else.

The contract of exact output structures stands here, too: `ExactOutputs`, what `problem.exact()`
returns (workbench/outputs), and `ExactOracle`, what `oracle.exact()` makes of it (objectives/oracles.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from workbench.contracts import Ints
from workbench.proofs.checker import whole
from workbench.proofs.checker.whole import EXACT, bits, exact, pieces


def objects(numbers: Iterable[Any]) -> NDArray[np.object_]:
    """An array (n,) of Python's whole numbers or fractions, as objects; a None at the end keeps NumPy from floats.

    (The checker, which imports nothing of this, has the like for whole numbers: checker/whole.py.)
    """
    return np.array([*numbers, None], object)[:-1]


class Ratios:
    """An array of rationals: `whole` (an object array of Python integers) over `unit` > 0.

    It supports +, −, ×, /, abs, max and sum with numbers, fractions and arrays of them, as `Interval` does. So formulas
    of regularizers run on it unchanged, and an entry costs an operation on integers.
    """

    __slots__ = ("unit", "whole")
    __array_ufunc__ = None

    def __init__(self, whole: Any, unit: int):
        self.whole, self.unit = whole, unit

    @classmethod
    def of(cls, numbers: Iterable[int], unit: int) -> Ratios:
        """The rationals `numbers` (n,) over `unit`."""
        return cls(objects(numbers), unit)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.whole, self.unit))

    def __getitem__(self, index: Any) -> Ratios:
        return Ratios(self.whole[index], self.unit)

    def __neg__(self) -> Ratios:
        return Ratios(-self.whole, self.unit)

    def __abs__(self) -> Ratios:
        return Ratios(abs(self.whole), self.unit)

    def __add__(self, other: Any) -> Ratios:
        other = as_ratios(other)
        unit = math.lcm(self.unit, other.unit)
        return Ratios(self.whole * (unit // self.unit) + other.whole * (unit // other.unit), unit)

    def __sub__(self, other: Any) -> Ratios:
        return self + (-as_ratios(other))

    def __rsub__(self, other: Any) -> Ratios:
        return (-self) + other

    def __mul__(self, other: Any) -> Ratios:
        other = as_ratios(other)
        return Ratios(self.whole * other.whole, self.unit * other.unit)

    def __truediv__(self, other: Any) -> Ratios:
        """By fractions, or by an object array of them."""
        return self * (1 / (other if isinstance(other, np.ndarray) else Fraction(other)))

    __radd__ = __add__
    __rmul__ = __mul__

    def positive(self) -> Ratios:
        """max(x, 0), entry by entry."""
        return Ratios(np.maximum(self.whole, 0), self.unit)

    def max(self) -> Fraction:
        return Fraction(int(self.whole.max()), self.unit)

    def sum(self) -> Fraction:
        return Fraction(int(self.whole.sum()), self.unit)

    def fractions(self) -> NDArray:
        """The same numbers as an object array of `Fraction`."""
        flat = [Fraction(int(x), self.unit) for x in self.whole.ravel()]
        return objects(flat).reshape(self.whole.shape)


def as_ratios(x: Any) -> Ratios:
    """Ratios of ratios, numbers, and arrays of fractions, whole numbers or bools."""
    if isinstance(x, Ratios):
        return x
    if not isinstance(x, np.ndarray):
        number = Fraction(x)
        return Ratios(number.numerator, number.denominator)
    if x.dtype.kind not in "biuO":
        raise TypeError(f"An array of {x.dtype} holds no whole numbers; make it exact with ratios(x).")
    return common(x.tolist()) if x.dtype == object else Ratios(x.astype(object), 1)


def joined(parts: list[Ratios]) -> Ratios:
    """One after the other, over their common unit."""
    unit = math.lcm(*(part.unit for part in parts))
    return Ratios(np.concatenate([part.whole * (unit // part.unit) for part in parts]), unit)


def ratios(x: ArrayLike) -> Ratios:
    """Finite floats, exactly; the unit is the least power of two that makes all of them whole."""
    found = exact(x)
    return Ratios(found.values, found.unit)


def common(fractions: list[Fraction]) -> Ratios:
    """Fractions over their least common denominator."""
    found = whole.common(fractions)
    return Ratios(found.values, found.unit)


class Entries(NamedTuple):
    """A sparse matrix of rationals as its entries (row, column, whole value) over one unit."""

    rows: Ints
    columns: Ints
    values: NDArray
    unit: int

    def combined(self, weights: NDArray, dim: int) -> NDArray:
        """Σ_r weights_r · row_r as whole numbers (dim,), over unit × the weights' unit."""
        total = np.zeros(dim, object)
        if len(self.columns):
            order = np.argsort(self.columns, kind="stable")
            at, starts = np.unique(self.columns[order], return_index=True)
            total[at] = np.add.reduceat((self.values * weights[self.rows])[order], starts)
        return total

    def matrix(self, shape: tuple[int, int]) -> NDArray:
        """The dense whole matrix; entries at one place add up."""
        dense = np.zeros(shape, object)
        np.add.at(dense, (self.rows, self.columns), self.values)
        return dense


def entries_of(parts: list[tuple[Ints, Ints, NDArray]], unit: int) -> Entries:
    """The entries (rows, columns, values) of several parts, one part after the other."""
    rows, columns, values = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Entries(rows, columns, values, unit)


class Rows:
    """A CSR matrix of floats as whole numbers (m, p) over `unit`."""

    def __init__(self, matrix: sparse.csr_array):
        self.pattern, (self.values, self.unit) = matrix, ratios(matrix.data)

    def entries(self, rows: Ints) -> tuple[Ints, Ints, NDArray]:
        """(number in the list, column, whole value) of all entries of the listed rows."""
        starts, lengths = self.pattern.indptr[rows], np.diff(self.pattern.indptr)[rows]
        number = np.repeat(np.arange(len(rows)), lengths)
        at = np.arange(len(number)) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
        return number, self.pattern.indices[at].astype(np.int64), self.values[at]

    def scores(self, rows: Ints, weights: NDArray) -> NDArray:
        """row · weightᵀ for whole weights (k, p): (len(rows), k) whole numbers over unit × theirs."""
        number, columns, values = self.entries(rows)
        shape = (len(rows), self.pattern.shape[1])
        return product(values, lambda piece: sparse.csr_array((piece, (number, columns)), shape=shape), weights.T)


def product(values: NDArray, matrix: Any, right: NDArray) -> NDArray:
    """matrix(values) @ right in whole numbers; `matrix` lays float entries out as (sparse) rows.

    Pieces of b and c bits with b + c + log₂(inner) ≤ 53 have exact float64 products.
    """
    room = EXACT - int(right.shape[0]).bit_length()
    left_bits = min(bits(values), room // 2)
    lefts = [matrix(piece) for piece in pieces(values, left_bits)]
    total = np.zeros((lefts[0].shape[0], right.shape[1]), object)
    right_bits = room - left_bits
    rights = pieces(right, right_bits)
    for i, left in enumerate(lefts):
        part = np.zeros(total.shape, object)
        for piece in reversed(rights):
            part = (part << right_bits) + (left @ piece).astype(np.int64).astype(object)
        total = total + (part << (i * left_bits))
    return total


class ExactOutputs(Protocol):
    """An output structure in rational arithmetic: `problem.exact()`; see outputs/_exact_multiclass.py.

    least_loss : the least positive loss of any output
    The maxima run over all of 𝒴_i, by enumeration or by a decoder that is exact on whole numbers.
    """

    least_loss: Fraction

    def fault(self, samples: Ints, outputs: Ints) -> int | None:
        """The number of the first row that is no output of its sample, or None."""
        ...

    def slopes(self, samples: Ints, outputs: Ints) -> Entries:
        """φ(x_i, y) − φ(x_i, y_i) = −ψ_i(y), one row a pair."""
        ...

    def loss(self, samples: Ints, outputs: Ints) -> Ratios:
        """ℓ_i(y) (m,), the true rational where the float one is rounded."""
        ...

    def margin(self, w: Ratios, samples: Ints) -> Ratios:
        """max_y ℓ_i(y) − ⟨w, ψ_i(y)⟩ (m,)."""
        ...

    def augmented(self, w: Ratios, samples: Ints, table: Ratios) -> Ratios:
        """max_y Σ_t table[t, y_t] − ⟨w, ψ_i(y)⟩ (m,), t the places of the batch; only of `Labelled` problems."""
        ...

    def slack(self, w: Ratios, samples: Ints) -> Ratios:
        """max_y ℓ_i(y) (1 − ⟨w, ψ_i(y)⟩) (m,); only where the output has a `slack_argmax`."""
        ...

    def free(self, w: Ratios, samples: Ints) -> Ratios:
        """max of −⟨w, ψ_i(y)⟩ over the outputs of zero loss, the truth among them: ≥ 0 (m,)."""
        ...


@runtime_checkable
class ExactRivals(Protocol):
    """What `ExactOutputs` of a problem with a `runner_up` has besides; slopes are those of `ExactOutputs`."""

    def slopes(self, samples: Ints, outputs: Ints) -> Entries: ...

    def rival(self, w: Ratios, samples: Ints) -> Ratios:
        """max of −⟨w, ψ_i(y)⟩ over y ≠ y_i (m,)."""
        ...


class ExactOracle(Protocol):
    """A formulation's view of `ExactOutputs`: cuts ⟨a, θ⟩ + o in rational numbers."""

    outputs: ExactOutputs

    def rows(self, samples: Ints, witnesses: Ints) -> tuple[Entries, Ratios]:
        """Slopes and offsets of the cuts with these witnesses."""
        ...

    def highest(self, theta: Ratios, samples: Ints) -> Ratios:
        """h_i(θ) (m,)."""
        ...


@runtime_checkable
class ExactMargins(ExactOracle, Protocol):
    """What hard constraints ask besides, to scale a θ that misses them.

    least_loss : the least positive offset;  free : the greatest value of a cut of zero offset, ≥ 0 (m,)
    """

    least_loss: Fraction

    def free(self, theta: Ratios, samples: Ints) -> Ratios: ...
