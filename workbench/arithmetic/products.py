"""M x and Mᵀx for rows M of a sparse matrix and a narrow dense x, compiled, so that threads may work side by side.

SciPy's products hold Python's lock. These add in the same order, so they find the same floats.

Mᵀx is enclosed, both ends in one visit to the entries. `intervals.matvec` computes a radius for every entry, with a
second product; here one radius serves all k entries of a column of M, that of the widest and largest of the k in each
row:

    |(Mᵀx)_jy − c_jy| ≤ Σ_i |M_ij| max_y (γ |mid x_iy| + rad x_iy)

Threads share the k columns of x, so that each entry is summed in the same order by any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from workbench.arithmetic.arrays import taken
from workbench.arithmetic.compiled import available, compiled_function
from workbench.arithmetic.intervals import SPARE, TINY, Interval, centred, gamma
from workbench.contracts import Floats, Ints

BLOCK = 64  # columns that are turned at a time, so that their sums stay in the nearest cache
MANY = 300_000  # products from which the compiled loop saves more than it takes to find it


def gathered(indptr, indices, values, held, x, sums):
    """sums (rows, k) = M[held] x, the terms of each entry one after the other."""
    k = x.shape[1]
    for r in range(len(held)):
        i, found = held[r], sums[r]
        for y in range(k):
            found[y] = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            value, row = values[j], x[indices[j]]
            for y in range(k):
                found[y] += value * row[y]


def product(matrix: sparse.csr_array, held: Ints, x: Floats) -> Floats:
    """M[held] x, x (columns, k), rounded as SciPy rounds it."""
    if matrix.nnz * x.shape[1] < MANY or not available():
        return taken(matrix, held) @ x
    sums = np.empty((len(held), x.shape[1]))
    place = matrix.indptr, matrix.indices, matrix.data, held, x, sums
    compiled_function(gathered, place, "void")(*place)
    return sums


def scattered(indptr, indices, values, held, x, first, radius, sums, widths):
    """sums[j] += M_ij x_i (columns, k) and widths[j] += |M_ij| radius_i (columns,), over the rows i `held`.

    Of x, the k columns from `first` on are meant.
    """
    k = sums.shape[1]
    for r in range(len(held)):
        i, row, size = held[r], x[r, first : first + k], radius[r]
        for j in range(indptr[i], indptr[i + 1]):
            value, found = values[j], sums[indices[j]]
            for y in range(k):
                found[y] += value * row[y]
            widths[indices[j]] += abs(value) * size


def ended(sums, widths, wider, least, low, high):
    """Both ends (k, columns) of sums (columns, k): centre ∓ (width · wider + least)."""
    for first in range(0, len(sums), BLOCK):
        last = min(first + BLOCK, len(sums))
        for y in range(sums.shape[1]):
            for j in range(first, last):
                width = widths[j] * wider + least
                low[y, j] = sums[j, y] - width
                high[y, j] = sums[j, y] + width


def turned(
    matrix: sparse.csr_array, held: Ints, x: Interval, longest: int, spread: Callable[..., Any] | None = None
) -> Interval | None:
    """Encloses M[held]ᵀ x, x (rows, k), as an interval (k, columns); `longest` entries of a column of M at most.

    spread : calls a function with runs of an array, side by side
    None where numba is missing, or where the product is small: `matvec` is as fast there.
    """
    k, columns = x.lo.shape[1], matrix.shape[1]
    if matrix.nnz * k < MANY or not available():
        return None
    middle, radius = centred(x)
    count = longest + SPARE
    radius = (gamma(count) * np.abs(middle) + radius).max(axis=1)
    low, high = np.empty((2, k, columns))

    def some(labels: Ints) -> None:
        first, last = int(labels[0]), int(labels[-1]) + 1
        sums, widths = np.zeros((columns, last - first)), np.zeros(columns)
        place = matrix.indptr, matrix.indices, matrix.data, held, middle, first, radius, sums, widths
        compiled_function(scattered, place, "void")(*place)
        ends = sums, widths, 1 + 2 * gamma(count), count * TINY, low[first:last], high[first:last]
        compiled_function(ended, ends, "void")(*ends)

    if spread is None:
        some(np.arange(k))
    else:
        spread(some, np.arange(k))
    return Interval(low, high)
