"""Linear systems in whole numbers, solved exactly by p-adic lifting (Dixon 1982).

For a Gram matrix M and right side b: with C = M⁻¹ mod p, the digits d_t = C r_t mod p of the p-adic
solution follow from r_0 = b, r_{t+1} = (r_t − M d_t)/p, each an exact float64 product of pieces. Once
pᵗ is large enough all entries are fractions y/q with one denominator q (rational reconstruction,
Wang 1981). The answer is checked: M y = q b in whole numbers.

Elimination goes without pivoting: of a Gram matrix the leading minors vanish exactly from the first
row on that depends on those before it, so the same sweep finds dependent rows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.rationals import product
from workbench.proofs.checker.whole import EXACT, bits, pieces

PRIMES = (33554393, 33554383, 33554371)  # below 2²⁵: products of two, summed 2¹² times, fit into int64


def dependent_row(matrix: NDArray) -> int | None:
    """The first row of a Gram matrix that depends on those before it, or None."""
    return inverse_modulo(matrix)[1]


def inverse_modulo(matrix: NDArray) -> tuple[NDArray, int | None, int]:
    """(M⁻¹ mod p, None, p), or the first dependent row in place of None (so says each of PRIMES)."""
    dependent, work = None, np.empty(0)
    for p in PRIMES:
        work, dependent = eliminated((matrix % p).astype(np.int64), p)
        if dependent is None:
            return work, None, p
    return work, dependent, PRIMES[-1]


def eliminated(matrix: NDArray, p: int) -> tuple[NDArray, int | None]:
    """Gauss–Jordan in place of the identity, modulo p."""
    m = len(matrix)
    work = np.concatenate([matrix, np.eye(m, dtype=np.int64)], axis=1)
    for j in range(m):
        if work[j, j] == 0:
            return work, j
        work[j] = work[j] * pow(int(work[j, j]), -1, p) % p
        factors = work[:, j].copy()
        factors[j] = 0
        work = (work - factors[:, None] * work[j]) % p
    return work[:, m:], None


def solve_whole(matrix: NDArray, right: NDArray) -> tuple[NDArray, int]:
    """(y, q) with matrix · y = q · right, q > 0, for an invertible Gram matrix of whole numbers."""
    m = len(matrix)
    if not m:
        return right, 1
    inverse, _, p = inverse_modulo(matrix)
    width = EXACT - 25 - m.bit_length()
    parts = pieces(matrix, width)
    total, modulus, rest, checkpoint = right * 0, 1, right, 4
    most = 2 * (m * (bits(matrix) + m.bit_length()) + bits(right)) // 24 + 8  # Hadamard's bound, and some
    for step in range(1, most + 1):
        digit = inverse @ (rest % p).astype(np.int64) % p
        moved = right * 0
        for part in reversed(parts):
            moved = (moved << width) + (part @ digit.astype(float)).astype(np.int64).astype(object)
        total, modulus, rest = total + digit.astype(object) * modulus, modulus * p, (rest - moved) // p
        if step in (checkpoint, most):
            checkpoint = checkpoint * 3 // 2
            if (found := reconstructed(total, modulus)) is not None:
                y, q = found
                flat, column = matrix.ravel(), y[:, None]
                if (product(flat, lambda piece: piece.reshape(m, m), column).ravel() == q * right).all():
                    return y, q
    raise ArithmeticError("lifting did not end within Hadamard's bound")  # pragma: no cover


def reconstructed(residues: NDArray, modulus: int) -> tuple[NDArray, int] | None:
    """Small y and q > 0 with q · residues ≡ y, or None if there are none below √(modulus/2)."""
    bound, q, y = math.isqrt(modulus // 2), 1, np.zeros(len(residues), object)
    for residue in residues.tolist():
        if abs(centred(residue * q, modulus)) > bound:
            q *= denominator(residue * q % modulus, modulus, bound)
            if q > bound:
                return None
    for j, residue in enumerate(residues.tolist()):
        y[j] = centred(residue * q, modulus)
    return (y, q) if abs(y).max() <= bound else None


def centred(x: int, modulus: int) -> int:
    x %= modulus
    return x - modulus if 2 * x > modulus else x


def denominator(residue: int, modulus: int, bound: int) -> int:
    """The b of the fraction a/b ≡ residue with |a|, b ≤ bound (Euclid's algorithm, stopped half-way)."""
    before, after, b_before, b_after = modulus, residue, 0, 1
    while after > bound:
        quotient = before // after
        before, after = after, before - quotient * after
        b_before, b_after = b_after, b_before + quotient * b_after  # sizes: the signs alternate
    return b_after
