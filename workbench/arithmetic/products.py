"""The highest of M x + o in each row, and Mᵀx, for rows M of a sparse matrix and a narrow dense x, in compiled loops.

SciPy's products hold Python's lock, and these loops do not, so that threads may work side by side. Both add in SciPy's
order, so they find the same floats.

Mᵀx is enclosed, both ends in one visit to the entries. `intervals.matvec` computes a radius for every entry, with a
second product; here one radius serves all k entries of a column of M, that of the widest and largest of the k in each
row:

    |(Mᵀx)_jy − c_jy| ≤ Σ_i |M_ij| max_y (γ |mid x_iy| + rad x_iy)

Threads share the columns of M, in runs of about as many entries, so that each entry of Mᵀx is summed in the same order
by any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from workbench.arithmetic.arrays import size_of, taken
from workbench.arithmetic.compiled import available, compiled_function
from workbench.arithmetic.intervals import BLOCK as SUMMED
from workbench.arithmetic.intervals import LEAST, SPARE, TINY, Interval, centred, gamma, magnitudes, of_squares
from workbench.arithmetic.lines import apart
from workbench.contracts import Floats, Ints

Tops = tuple[Ints, Floats]  # labels and heights
Spread = Callable[..., list[Any]]  # calls a function with runs of an array, side by side, and returns what it returns

BLOCK = 64  # columns that are turned at a time, so that their sums stay in the nearest cache
RUNS = 64  # of columns, among which threads share them
COUNTED = 30_000  # entries up to which NumPy counts them faster than it takes to find the compiled loop
MANY = 300_000  # products from which the compiled loop saves more than it takes to find it


def serially(function: Callable[[Ints], Any], some: Ints) -> list[Any]:
    """`Spread` where nothing works side by side."""
    return [function(some)]


def surveyed(indptr, indices, values, sizes, entries):
    """sizes_i = Σ_j |M_ij|, and how many entries a column has; whether each row has its columns in order."""
    falls = 0
    for i in range(len(sizes)):
        size = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            size += abs(values[j])
        row = indices[indptr[i] : indptr[i + 1]]
        after = row[1:]
        for j in range(len(after)):
            falls += after[j] < row[j]
        sizes[i] = size
    for j in range(indptr[0], indptr[len(sizes)]):
        entries[indices[j]] += 1
    return falls == 0


def survey(matrix: sparse.csr_array, spread: Spread = serially) -> tuple[Floats, Ints]:
    """Σ_j |M_ij| of each row, rounded, and how many entries a column has; SciPy keeps whether rows are in order."""
    rows, columns = size_of(matrix)
    if matrix.nnz < COUNTED or not available():
        return magnitudes(matrix) @ np.ones(columns), np.bincount(matrix.indices, minlength=columns)
    sizes = np.empty(rows)

    def some(held: Ints) -> tuple[Ints, bool]:
        run, entries = slice(held[0], held[-1] + 1), np.zeros(columns, np.int64)
        place = matrix.indptr[held[0] : held[-1] + 2], matrix.indices, matrix.data, sizes[run], entries
        return entries, bool(compiled_function(surveyed, place, "boolean")(*place))

    everyone = np.arange(rows)
    counts, ordered = zip(*spread(some, everyone), strict=True)
    matrix.has_sorted_indices = all(ordered)
    return sizes, np.sum(counts, axis=0)


def summed_squares(indptr, values, squares):
    """squares_i = Σ_j M_ij², in four sums, so that the processor need not wait for one before it adds to the next."""
    for i in range(len(squares)):
        a = b = c = d = 0.0
        row = values[indptr[i] : indptr[i + 1]]
        whole = len(row) - len(row) % 4
        for j in range(0, whole, 4):
            a += row[j] * row[j]
            b += row[j + 1] * row[j + 1]
            c += row[j + 2] * row[j + 2]
            d += row[j + 3] * row[j + 3]
        for j in range(whole, len(row)):
            a += row[j] * row[j]
        squares[i] = (a + b) + (c + d)


def squares_of(matrix: sparse.csr_array) -> Floats:
    """Σ_j M_ij² of each row, rounded."""
    rows, columns = size_of(matrix)
    if matrix.nnz < COUNTED or not available():
        return sparse.csr_array((matrix.data**2, matrix.indices, matrix.indptr), matrix.shape) @ np.ones(columns)
    place = matrix.indptr, matrix.data, np.empty(rows)
    compiled_function(summed_squares, place, "void")(*place)
    return place[-1]


def topped(indptr, indices, values, held, x, offset, kinds, truths, sums, labels, heights):
    """Of each row s = M_i x, i of `held`: its first greatest entry, and max_y (s_y − s_t) + offset_cy, c = kinds_i."""
    k = len(sums)
    for r in range(len(held)):
        i, kind = held[r], kinds[held[r]]
        t = truths[kind]
        for y in range(k):
            sums[y] = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            value, row = values[j], x[indices[j]]
            for y in range(k):
                sums[y] += value * row[y]
        label, height = 0, sums[0] - sums[t] + offset[kind, 0]
        for y in range(1, k):
            height = max(height, sums[y] - sums[t] + offset[kind, y])
            label = y if sums[y] > sums[label] else label
        labels[r], heights[r] = label, height


def highest(matrix: sparse.csr_array, held: Ints, x: Floats, offset: Floats, kinds: Ints, truths: Ints) -> Tops:
    """Of each row s of M[held] x the first y of greatest s_y, and max_y (s_y − s_t) + offset_cy, rounded in this order.

    x : (columns, k);  offset : (C, k);  kinds : c of each row of M;  truths : (C,) t
    """
    if matrix.nnz * x.shape[1] < MANY or not available():
        sums, kind = taken(matrix, held) @ x, kinds[held]
        heights = sums - np.take_along_axis(sums, truths[kind][:, None], axis=1) + offset[kind]
        return sums.argmax(axis=1), heights.max(axis=1)
    labels, heights = np.empty(len(held), np.int64), np.empty(len(held))
    place = matrix.indptr, matrix.indices, matrix.data, held, x, offset, kinds, truths
    place = *place, apart(x.shape[1]), labels, heights
    compiled_function(topped, place, "void")(*place)
    return labels, heights


class Few(NamedTuple):
    """Rows x (m, k), of whose entries few are not zero: each in a row and column of its own."""

    rows: Ints
    columns: Ints
    entries: Interval
    k: int

    def dense(self, m: int) -> Interval:
        """The ends of x, zeros among them."""
        low, high = np.zeros((2, m, self.k))
        low[self.rows, self.columns], high[self.rows, self.columns] = self.entries.lo, self.entries.hi
        return Interval(low, high)


def scattered(
    indptr, indices, values, held, starts, places, middles, radii, rounding, first, last, row, sums, widths
):  # fmt: skip
    """sums[j] += Σ_i M_ij x_i (columns, k) and widths[j] += Σ_i |M_ij| max_y (γ |x_iy| + rad x_iy), over rows `held`.

    The entries of x_i from starts_i to before starts_{i+1} stand at `places`. Of the columns j, those from `first` to
    before `last` are meant; all of them, or each row has them in order. `row` (k,) is zero, before and after.
    """
    k = sums.shape[1]
    for r in range(len(held)):
        size = 0.0
        for a in range(starts[r], starts[r + 1]):
            row[places[a]] = middles[a]
            size = max(size, rounding * abs(middles[a]) + (radii[a] + LEAST))  # where the product underflows, too
        low, high = indptr[held[r]], indptr[held[r] + 1]
        if first > 0:
            low += np.searchsorted(indices[low:high], first)
        if last < len(sums):
            high = low + np.searchsorted(indices[low:high], last)
        for j in range(low, high):
            value, found = values[j], sums[indices[j]]
            for y in range(k):
                found[y] += value * row[y]
            widths[indices[j]] += abs(value) * size
        for a in range(starts[r], starts[r + 1]):
            row[places[a]] = 0.0


def ended(sums, widths, low, high):
    """Both ends (k, columns) of sums (columns, k): centre ∓ width."""
    for first in range(0, len(sums), BLOCK):
        last = min(first + BLOCK, len(sums))
        for y in range(sums.shape[1]):
            for j in range(first, last):
                low[y, j] = sums[j, y] - widths[j]
                high[y, j] = sums[j, y] + widths[j]


def sized(sums, widths, run, low, high):
    """low_b = Σ_jy (|c_jy| − width_j)₊² and high_b = Σ_jy (|c_jy| + width_j)² over run b of so many columns j."""
    for first in range(0, len(sums), run):
        least = most = 0.0
        for j in range(first, min(first + run, len(sums))):
            for y in range(sums.shape[1]):
                size = abs(sums[j, y])
                least += max(size - widths[j], 0.0) * max(size - widths[j], 0.0)
                most += (size + widths[j]) * (size + widths[j])
        low[first // run], high[first // run] = least, most


class Turned(Interval):
    """sums (columns, k) ∓ widths (columns,), label by label (k · columns,); ends are made when they are asked for.

    Σ x² needs no ends, which take as long to write as the product takes. Threads of `spread` share the sums.
    """

    __slots__ = ("ends", "spread", "sums", "widths")

    def __init__(self, sums: Floats, widths: Floats, spread: Spread = serially):
        self.sums, self.widths, self.spread = sums, widths, spread
        self.ends: tuple[Floats, Floats] | None = None

    @property
    def lo(self) -> Floats:
        return self.made()[0]

    @property
    def hi(self) -> Floats:
        return self.made()[1]

    def made(self) -> tuple[Floats, Floats]:
        if self.ends is None:
            low, high = np.empty((2, *self.sums.shape[::-1]))
            place = self.sums, self.widths, low, high
            compiled_function(ended, place, "void")(*place)
            self.ends = low.ravel(), high.ravel()
        return self.ends

    def __reduce__(self) -> tuple[type[Interval], tuple[Floats, Floats]]:
        return Interval, self.made()  # copies, and what other processes get, are plain ones

    def squared(self) -> Interval:
        columns, k = self.sums.shape
        if k > SUMMED or columns == 0:
            return super().squared()
        run = SUMMED // k
        low, high = np.empty((2, -(-columns // run)))

        def some(runs: Ints) -> None:
            first, last = runs[0], runs[-1] + 1
            columns = slice(first * run, last * run)
            place = self.sums[columns], self.widths[columns], run, low[first:last], high[first:last]
            compiled_function(sized, place, "void")(*place)

        self.spread(some, np.arange(len(low)))
        return of_squares(low, high, self.sums.size)


def turned(matrix: sparse.csr_array, held: Ints, x: Few, entries: Ints, spread: Spread = serially) -> Turned | None:
    """Encloses M[held]ᵀ x, x (rows, k), label by label (k · columns,).

    entries : (columns,) how many a column of M has, at most
    None where numba is missing, or where the product is small: `matvec` is as fast there.
    """
    k, columns = x.k, matrix.shape[1]
    if matrix.nnz * k < MANY or not available():
        return None
    order, starts = np.argsort(x.rows, kind="stable"), np.append(0, np.bincount(x.rows, minlength=len(held)).cumsum())
    places, (middles, radii) = x.columns[order], centred(x.entries[order])
    count = int(entries.max(initial=0)) + SPARE
    before = np.append(0, entries.cumsum())
    ends = np.searchsorted(before, before[-1] * np.arange(1, RUNS) / RUNS)
    ends = np.concatenate([[0], ends, [columns]])
    sums, widths = np.zeros((columns, k)), np.zeros(columns)

    def some(runs: Ints) -> None:
        first, last = int(ends[runs[0]]), int(ends[runs[-1] + 1])
        rows, told = (matrix.indptr, matrix.indices, matrix.data, held), (starts, places, middles, radii)
        place = *rows, *told, gamma(count), first, last, apart(k), sums, widths
        compiled_function(scattered, place, "void")(*place)

    (spread if matrix.has_sorted_indices else serially)(some, np.arange(RUNS))
    return Turned(sums, widths * (1 + 2 * gamma(count)) + count * TINY, spread)
