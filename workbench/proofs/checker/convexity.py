"""Proofs that a symmetric rational matrix is positive semidefinite, in whole numbers.

M ⪰ 0 if M = LLᵀ + E where E is diagonally dominant after scaling: d_i E_ii ≥ Σ_{j≠i} d_j |E_ij| for some d > 0.
L = 0 or a Cholesky factor of M − εI in floats, whose product is taken exactly, so that its rounding is part of E.

Without that, each connected block of M is eliminated without fractions (Bareiss 1968), the largest diagonal entry
first: M ⪰ 0 if and only if no diagonal entry becomes negative and a diagonal of zeros leaves a block of zeros.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from workbench.proofs.checker.whole import dense_product, objects

MOST_WORK = 10**13  # of an elimination: its numbers, each times the square of 128 and its bits
Entries = list[tuple[int, int, int]]  # (row, column, whole number), each place once


def semidefinite(entries: Entries, unit: int, n: int, root: tuple[list[int], int] | None) -> bool:
    """Whether M = entries/unit ⪰ 0. root : (numbers, their unit), L row by row on the rows of M that are not 0."""
    places = sorted({row for row, _, value in entries if value})
    number = {place: k for k, place in enumerate(places)}
    whole = np.zeros((len(places),) * 2, object)
    for row, column, value in entries:
        if value:
            whole[number[row], number[column]] = value
    if dominant(whole):
        return True
    if root is not None and len(root[0]) == len(places) ** 2:
        L = np.array([*root[0], None], object)[:-1].reshape(whole.shape)
        if dominant(whole * root[1] ** 2 - dense_product(L, L.T) * unit):
            return True
    return all(eliminated(whole[np.ix_(block, block)]) for block in blocks(whole))


def dominant(E: np.ndarray) -> bool:
    """d_i E_ii ≥ Σ_{j≠i} d_j |E_ij| with d_i a power of two near E_ii^(−1/2)."""
    if not len(E):
        return True
    diagonal = [int(value) for value in np.diag(E)]
    sizes = [value.bit_length() // 2 for value in diagonal]
    top = max(sizes)
    d = objects(1 << (top - size) for size in sizes)
    total = (abs(E) * d).sum(axis=1)
    return all(2 * value * each >= row for value, each, row in zip(diagonal, d, total, strict=True))


def blocks(M: np.ndarray) -> Iterable[list[int]]:
    """The connected components of M's pattern."""
    left = set(range(len(M)))
    while left:
        found, new = set[int](), {left.pop()}
        while new:
            found |= new
            left -= new
            new = {int(j) for i in new for j in np.flatnonzero(M[i])} - found
        yield sorted(found)


def eliminated(M: np.ndarray) -> bool:
    """Fraction-free symmetric elimination finds no negative pivot; False, too, if that takes more than MOST_WORK."""
    before, work = 1, 0
    while len(M):
        work += M.size * (before.bit_length() + 128) ** 2
        if work > MOST_WORK:
            return False
        diagonal = np.diag(M)
        k = int(diagonal.argmax())
        if diagonal.min() < 0:
            return False
        pivot = M[k, k]
        if pivot == 0:
            return not M.any()
        column, keep = M[:, k].copy(), np.arange(len(M)) != k
        M = ((M * pivot - np.outer(column, column)) // before)[np.ix_(keep, keep)]
        before = pivot
    return True
