"""Sparse matrices of rationals; linear systems are factored in floats and their solutions refined to exact fractions.

A `Matrix` is a list of entries (row, column, whole number) over one unit. Its products with `Ratios` are exact.

`solved` finds the rational z with B z = r for a square B of full rank. B is equilibrated by powers of two and factored
in floats, then refined in whole numbers: with Z = 0, R = r at the start,

    d = round(2ᵏ · LU⁻¹R),     Z ← 2ᵏZ + d,     R ← 2ᵏR − B d,     so that  B Z + R = 2^(Σk) r  at any time

(Wan 2006; the whole numbers that enter B d stay short). Once Σk bits suffice, the fractions are read off by
continued fractions, all over one denominator q, and B y = q r is checked in whole numbers: nothing is taken on trust.
Where floats fail, `lifting` solves BᵀB z = Bᵀr modulo primes; python-flint, if installed, is faster.

`completed` does the same for systems of any shape and rank: the solution next to a float point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from importlib import util
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import structural_rank
from scipy.sparse.linalg import splu

from workbench.arithmetic.lifting import PRIMES, dependent_row, solve_whole
from workbench.arithmetic.rationals import Ratios, common, ratios
from workbench.contracts import Floats, Ints

STEPS, PRECISION, LEAST = 4000, 44, 6  # of the refinement: bits a step at first, and at least
FIRST, GROWTH = 96, 1.6  # bits at the first attempt to read fractions off, and their growth
DENSE = 3000  # rows and columns above which no rank is sought
LIFTED = 400  # rows above which no system is lifted: dense, cubic in Python
FLINT = util.find_spec("flint") is not None


class Matrix(NamedTuple):
    """A sparse matrix of rationals: entries sorted by row, each place once, whole values over `unit` > 0."""

    rows: Ints
    columns: Ints
    whole: NDArray
    unit: int
    shape: tuple[int, int]

    def __matmul__(self, x: Ratios) -> Ratios:  # type: ignore[override]
        return Ratios(summed(self.rows, self.whole * x.whole[self.columns], self.shape[0]), self.unit * x.unit)

    @property
    def T(self) -> Matrix:
        order = np.lexsort((self.rows, self.columns))
        return Matrix(
            self.columns[order], self.rows[order], self.whole[order], self.unit, (self.shape[1], self.shape[0])
        )

    def take(self, rows: Ints | None = None, columns: Ints | None = None) -> Matrix:
        """The listed rows and columns, in that order."""
        keep, places, shape = np.ones(len(self.rows), bool), [self.rows, self.columns], list(self.shape)
        for axis, chosen in enumerate((rows, columns)):
            if chosen is not None:
                number = np.full(self.shape[axis], -1)
                number[chosen] = np.arange(len(chosen))
                places[axis], shape[axis] = number[places[axis]], len(chosen)
                keep &= places[axis] >= 0
        at, across, whole = places[0][keep], places[1][keep], self.whole[keep]
        order = np.lexsort((across, at))
        return Matrix(at[order], across[order], whole[order], self.unit, (shape[0], shape[1]))

    def floats(self) -> sparse.csr_array:
        """Rounded; entries that no float holds become ∞ or 0."""
        data = np.array([rounded(value, self.unit) for value in self.whole.tolist()], float)
        return sparse.csr_array((data, (self.rows, self.columns)), shape=self.shape)


def rounded(whole: int, unit: int) -> float:
    try:
        return whole / unit
    except OverflowError:
        return math.inf if whole > 0 else -math.inf


def summed(places: Ints, values: NDArray, size: int) -> NDArray:
    """Σ of the values at each place, as whole numbers; `places` is sorted."""
    total = np.zeros(size, object)
    if len(places):
        starts = np.flatnonzero(np.diff(places, prepend=-1))
        total[places[starts]] = np.add.reduceat(values, starts)
    return total


def stacked(blocks: Sequence[Sequence[Matrix | None]], heights: list[int], widths: list[int]) -> Matrix:
    """A block matrix; None is a block of zeros."""
    parts = [(i, j, block) for i, line in enumerate(blocks) for j, block in enumerate(line) if block is not None]
    unit, down, right = math.lcm(*(each.unit for *_, each in parts)), np.cumsum([0, *heights]), np.cumsum([0, *widths])
    rows = np.concatenate([each.rows + down[i] for i, _, each in parts] or [np.empty(0, np.int64)])
    columns = np.concatenate([each.columns + right[j] for _, j, each in parts] or [np.empty(0, np.int64)])
    whole = np.concatenate([each.whole * (unit // each.unit) for *_, each in parts] or [np.empty(0, object)])
    order = np.lexsort((columns, rows))
    return Matrix(rows[order], columns[order], whole[order], unit, (int(down[-1]), int(right[-1])))


def floats(x: Ratios) -> Floats:
    return np.array([rounded(value, x.unit) for value in x.whole.tolist()], float)


def inner(x: Ratios, y: Ratios) -> Fraction:
    """⟨x, y⟩."""
    return Fraction(int((x.whole * y.whole).sum()) if len(x.whole) else 0, x.unit * y.unit)


# ── square systems ────────────────────────────────────────────────────────────────────────────────────


def solved(matrix: Matrix, right: Ratios, transposed: Ratios | None = None) -> Any:
    """The z with B z = right, and with `transposed` also the y with Bᵀy = transposed; None if B is found singular."""
    scaled = Equilibrated(matrix)
    factor = scaled.factor()
    if factor is None:
        return None
    z = refined(scaled, right, factor, "N") or lifted(matrix, right)
    if transposed is None or z is None:
        return z
    y = refined(scaled.T, transposed, factor, "T") or lifted(matrix.T, transposed)
    return None if y is None else (z, y)


def lifted(matrix: Matrix, right: Ratios) -> Ratios | None:
    """The same modulo primes, for matrices that floats cannot invert; None if B is singular or too large for that."""
    n = matrix.shape[0]
    if n > LIFTED:
        return None
    dense = np.zeros((n, n), object)
    dense[matrix.rows, matrix.columns] = matrix.whole
    solve = by_flint if FLINT else by_gram
    found = solve(dense, right.whole)
    if found is None:
        return None
    y, q = found
    z = Ratios(y * matrix.unit, q * right.unit)
    return z if equal(matrix @ z, right) else None


def by_flint(dense: NDArray, right: NDArray) -> tuple[NDArray, int] | None:
    """(y, q) with dense · y = q · right by python-flint's Dixon lifting, or None if dense is singular."""
    import flint

    try:
        found = flint.fmpz_mat(dense.tolist()).solve(flint.fmpz_mat([[value] for value in right.tolist()]))
    except ZeroDivisionError:
        return None
    fractions = [Fraction(int(each.p), int(each.q)) for each in found.entries()]
    one = common(fractions)
    return one.whole, one.unit


def by_gram(dense: NDArray, right: NDArray) -> tuple[NDArray, int] | None:
    """The same by `lifting`, which takes Gram matrices."""
    gram = dense.T @ dense
    return None if dependent_row(gram) is not None else solve_whole(gram, dense.T @ right)


class Equilibrated:
    """B scaled by powers of two to entries of size 1 at most: whole · 2^(row_i + column_j − up) = unit · B."""

    def __init__(self, matrix: Matrix | None):
        if matrix is None:
            return
        self.matrix, n = matrix, matrix.shape[0]
        sizes = np.array([abs(value).bit_length() for value in matrix.whole.tolist()], np.int64)
        self.row, self.column = np.zeros(n, np.int64), np.zeros(n, np.int64)
        for scale, places in ((self.row, matrix.rows), (self.column, matrix.columns)):
            left = np.full(n, np.iinfo(np.int64).min)
            np.maximum.at(left, places, sizes - self.row[matrix.rows] - self.column[matrix.columns])
            scale += np.where(left == np.iinfo(np.int64).min, 0, left)
        shift = self.row[matrix.rows] + self.column[matrix.columns]
        self.up = int(shift.max(initial=0))
        self.whole = np.left_shift(matrix.whole, (self.up - shift).astype(object)) if len(shift) else matrix.whole
        data = [leading(value, self.up) for value in self.whole.tolist()]
        self.floats = sparse.csc_array((data, (matrix.rows, matrix.columns)), shape=matrix.shape)

    @property
    def T(self) -> Equilibrated:
        turned, self_matrix = Equilibrated(None), self.matrix
        order = np.lexsort((self_matrix.rows, self_matrix.columns))
        turned.matrix, turned.whole, turned.up = self_matrix.T, self.whole[order], self.up
        turned.row, turned.column, turned.floats = self.column, self.row, self.floats
        return turned

    def factor(self) -> Any:
        """LU of the floats, or None where they are singular; SuperLU may crash on a structurally singular matrix."""
        n = self.matrix.shape[0]
        if n and structural_rank(sparse.csr_matrix(self.floats)) < n:
            return None
        try:
            return splu(sparse.csc_matrix(self.floats)) if n else ()
        except RuntimeError:
            return None


def leading(whole: int, down: int) -> float:
    """whole / 2^down, rounded, whatever the size of either."""
    cut = max(whole.bit_length() - 64, 0)
    return math.ldexp(float(whole >> cut), max(cut - down, -1200)) if cut - down < 900 else math.inf


def refined(scaled: Equilibrated, right: Ratios, factor: Any, way: str) -> Ratios | None:
    """The module's refinement; None where the floats are too poor."""
    matrix, n = scaled.matrix, scaled.matrix.shape[0]
    if not n or not right.whole.any():
        return Ratios(np.zeros(n, object), 1)
    lift = int(scaled.row.max())
    rest = np.left_shift(right.whole, (lift - scaled.row).astype(object))  # B' Z = rest, B' the scaled whole numbers
    total, bits, precision, goal = np.zeros(n, object), 0, PRECISION, FIRST
    for _ in range(STEPS):
        small = np.array([leading(value, scaled.up) for value in rest.tolist()])
        step = factor.solve(small, trans=way)
        largest = float(np.abs(step).max())
        if not 0 < largest < math.inf:
            if largest == 0 and not rest.any():
                return returned(scaled, total, 1 << bits, lift, right)
            return None
        size = math.frexp(largest)[1]
        gain = max(0, precision - size)
        digits = np.array([int(value) for value in np.rint(np.ldexp(step, gain)).tolist()], object)
        before, rest = (
            int(abs(rest).max()).bit_length() + gain,
            (rest << gain) - summed(matrix.rows, scaled.whole * digits[matrix.columns], n),
        )
        total, bits = (total << gain) + digits, bits + gain
        after = int(abs(rest).max()).bit_length()
        if after > max(before - precision + 8, scaled.up + 8):
            precision -= 4
            if precision < LEAST:
                return None
        known = bits - max(0, after - scaled.up + size - math.frexp(float(np.abs(small).max()))[1]) - 2
        if known >= goal:
            goal = int(known * GROWTH)
            found = fractions_near(total, bits, known)
            if found is not None and (answer := returned(scaled, *found, lift, right)) is not None:
                return answer
    return None


def returned(scaled: Equilibrated, y: NDArray, q: int, lift: int, right: Ratios) -> Ratios | None:
    """Undo the scaling of a candidate y/q; None unless B z = right holds."""
    matrix = scaled.matrix
    whole = np.left_shift(y, (scaled.column.max() - scaled.column).astype(object))
    power = scaled.up - lift - int(scaled.column.max())
    unit = q * right.unit
    whole, unit = (whole * matrix.unit << power, unit) if power >= 0 else (whole * matrix.unit, unit << -power)
    divisor = math.gcd(unit, *whole.tolist())
    z = Ratios(whole // divisor, unit // divisor)
    return z if equal(matrix @ z, right) else None


def equal(x: Ratios, y: Ratios) -> bool:
    return bool((x.whole * y.unit == y.whole * x.unit).all())


def fractions_near(total: NDArray, bits: int, known: int) -> tuple[NDArray, int] | None:
    """y and q with |total/2^bits − y/q| ≤ 2^−known and q² below 2^known, or None."""
    q, y, most = 1, np.zeros(len(total), object), max(known // 2, 1)
    half = 1 << (bits - 1) if bits else 0
    for value in total.tolist():
        if abs(centred_rest(value * q, bits, half)).bit_length() > bits - known + q.bit_length() + 1:
            q *= simplest(value * q, bits, bits - known + q.bit_length() + 1)
            if q.bit_length() > most:
                return None
    for j, value in enumerate(total.tolist()):
        y[j] = (value * q + half) >> bits
    return y, q


def centred_rest(value: int, bits: int, half: int) -> int:
    """value modulo 2^bits, from −half on."""
    return ((value + half) & ((1 << bits) - 1)) - half


def simplest(value: int, bits: int, spare: int) -> int:
    """The least denominator d of a convergent with |d·value mod 2^bits| < 2^spare."""
    modulus = 1 << bits
    before, after, b_before, b_after = modulus, value % modulus, 0, 1
    while after.bit_length() > spare + b_after.bit_length():
        quotient = before // after
        before, after = after, before - quotient * after
        b_before, b_after = b_after, b_before + quotient * b_after
    return b_after


# ── systems of any rank ───────────────────────────────────────────────────────────────────────────────


def completed(matrix: Matrix, right: Ratios, guess: Floats, weights: Floats | None = None) -> Ratios | None:
    """A rational z with B z = right next to the float `guess`; None where none is found.

    Only ρ = rank B columns of z move, those of large `weights` (room to move) if these are given.
    """
    z = ratios(np.where(np.isfinite(guess), guess, 0.0))
    rest = right - matrix @ z
    if not rest.whole.any():
        return z
    pivots = independent(matrix, weights)
    if pivots is None:
        return None
    rows, columns = pivots
    step = solved(matrix.take(rows, columns), Ratios(rest.whole[rows], rest.unit))
    if step is None:
        return None
    move = np.zeros(matrix.shape[1], object)
    move[columns] = step.whole
    z = z + Ratios(move, step.unit)
    return z if equal(matrix @ z, right) else None


def independent(matrix: Matrix, weights: Floats | None = None) -> tuple[Ints, Ints] | None:
    """ρ rows and ρ columns of a nonsingular block, by pivoted QR of floats, ρ the rank modulo a prime."""
    if max(matrix.shape) > DENSE or not len(matrix.rows):
        return None
    dense = matrix.floats().toarray()
    size = np.abs(dense)
    for axis in (1, 0):
        size = size / np.maximum(size.max(axis=axis, keepdims=True), 1e-300)
    dense = np.sign(dense) * size
    rank = rank_modulo(matrix)
    scaled = dense if weights is None else dense * weights
    columns = np.asarray(linalg.qr(scaled, mode="r", pivoting=True)[-1][:rank], np.int64)
    rows = np.asarray(linalg.qr(dense[:, columns].T, mode="r", pivoting=True)[-1][:rank], np.int64)
    return np.sort(rows), np.sort(columns)


def rank_modulo(matrix: Matrix) -> int:
    """The rank of the whole numbers modulo a prime: never above the true one, and nearly always equal to it."""
    return len(pivots_modulo(matrix.T if matrix.shape[0] > matrix.shape[1] else matrix))


def pivots_modulo(matrix: Matrix) -> Ints:
    """The columns that are no combination of those before them, modulo a prime: independent ones."""
    p, found = PRIMES[0], list[int]()
    work = np.zeros(matrix.shape, np.int64)
    work[matrix.rows, matrix.columns] = (matrix.whole % p).astype(np.int64)
    for column in range(work.shape[1]):
        rank = len(found)
        below = np.flatnonzero(work[rank:, column]) + rank
        if not len(below):
            continue
        work[[rank, below[0]]] = work[[below[0], rank]]
        pivot = work[rank, column:] * pow(int(work[rank, column]), -1, p) % p
        others = np.flatnonzero(work[rank + 1 :, column]) + rank + 1
        work[others, column:] = (work[others, column:] - work[others, column, None] * pivot) % p
        found.append(column)
        if len(found) == work.shape[0]:
            break
    return np.array(found, np.int64)
