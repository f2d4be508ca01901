"""Mᵀx for rows M of a sparse matrix and a narrow dense x, enclosed: both ends in one visit to the entries.

`intervals.matvec` multiplies twice, for the centre and for the radius, and reads the matrix for each. The compiled loop
adds both to the same lines of memory, in the order in which `matvec` adds: the ends are the same floats.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from workbench.arithmetic.compiled import available, compiled_function
from workbench.arithmetic.intervals import SPARE, TINY, Interval, centred, gamma
from workbench.contracts import Ints

MANY = 300_000  # products from which the compiled loop saves more than it takes to find it


def scattered(indptr, indices, values, held, x, sums):
    """sums[column] += value x₀ and |value| x₁, over the rows `held`; x (rows, 2, k), sums (columns, 2, k)."""
    k = x.shape[2]
    for r in range(len(held)):
        i, middle, radius = held[r], x[r, 0], x[r, 1]
        for j in range(indptr[i], indptr[i + 1]):
            value, centre, width = values[j], sums[indices[j], 0], sums[indices[j], 1]
            for y in range(k):
                centre[y] += value * middle[y]
            value = abs(value)
            for y in range(k):
                width[y] += value * radius[y]


def ended(sums, wider, least, low, high):
    """Both ends (k, columns) of sums (columns, 2, k): centre ∓ (width · wider + least)."""
    for j in range(sums.shape[0]):
        for y in range(sums.shape[2]):
            width = sums[j, 1, y] * wider + least
            low[y, j] = sums[j, 0, y] - width
            high[y, j] = sums[j, 0, y] + width


def turned(matrix: sparse.csr_array, held: Ints, x: Interval, longest: int) -> Interval | None:
    """Encloses M[held]ᵀ x, x (rows, k), as an interval (k, columns); `longest` entries of a column of M at most.

    None where numba is missing, or where the product is small: `matvec` is as fast there.
    """
    k, columns = x.lo.shape[1], matrix.shape[1]
    if matrix.nnz * k < MANY or not available():
        return None
    middle, radius = centred(x)
    count = longest + SPARE
    both = np.stack([middle, gamma(count) * np.abs(middle) + radius], axis=1)
    sums, low, high = np.zeros((columns, 2, k)), np.empty((k, columns)), np.empty((k, columns))
    place = matrix.indptr, matrix.indices, matrix.data, held, both, sums
    compiled_function(scattered, place, "void")(*place)
    ends = sums, 1 + 2 * gamma(count), count * TINY, low, high
    compiled_function(ended, ends, "void")(*ends)
    return Interval(low, high)
