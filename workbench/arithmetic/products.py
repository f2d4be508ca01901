"""M x and Mᵀx for rows M of a sparse matrix and a narrow dense x, compiled, so that threads may work side by side.

SciPy's products hold Python's lock. These add in the same order, so they find the same floats.

Mᵀx is enclosed, both ends in one visit to the entries: `intervals.matvec` multiplies twice, for the centre and for the
radius, and reads the matrix for each.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from workbench.arithmetic.arrays import taken
from workbench.arithmetic.compiled import available, compiled_function
from workbench.arithmetic.intervals import SPARE, TINY, Interval, centred, gamma
from workbench.contracts import Floats, Ints

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


def turned(matrix: sparse.csr_array, held: Ints, x: Interval, longest: int, low: Floats, high: Floats) -> bool:
    """Both ends of M[held]ᵀ x, x (rows, k), into low and high (k, columns); `longest` entries of a column of M at most.

    False, and nothing is written, where numba is missing or the product is small: `matvec` is as fast there.
    """
    k, columns = x.lo.shape[1], matrix.shape[1]
    if matrix.nnz * k < MANY or not available():
        return False
    middle, radius = centred(x)
    count = longest + SPARE
    both = np.stack([middle, gamma(count) * np.abs(middle) + radius], axis=1)
    sums = np.zeros((columns, 2, k))
    place = matrix.indptr, matrix.indices, matrix.data, held, both, sums
    compiled_function(scattered, place, "void")(*place)
    ends = sums, 1 + 2 * gamma(count), count * TINY, low, high
    compiled_function(ended, ends, "void")(*ends)
    return True
