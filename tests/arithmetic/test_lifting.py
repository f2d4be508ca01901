"""Whole systems solved by lifting, against elimination in fractions; each part against its definition."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.arithmetic import lifting
from workbench.arithmetic.lifting import (
    PRIMES,
    centred,
    denominator,
    dependent_row,
    eliminated,
    inverse_modulo,
    reconstructed,
    solve_whole,
)


def whole(numbers: Any) -> Any:
    return np.array([*numbers, None], object)[:-1]


def gram(rng: np.random.Generator, m: int, bits: int) -> Any:
    """The Gram matrix of m whole rows of m + 1 entries of up to so many bits."""
    rows = whole(int(rng.integers(-9, 10)) << int(rng.integers(bits)) for _ in range(m * (m + 1))).reshape(m, m + 1)
    return rows @ rows.T


def solved(matrix: Any, right: Any) -> list[Fraction]:
    """By elimination of fractions, with the first row that has a pivot."""
    rows = [[*map(Fraction, row), Fraction(b)] for row, b in zip(matrix.tolist(), right.tolist(), strict=True)]
    for j in range(len(rows)):
        k = next(k for k in range(j, len(rows)) if rows[k][j])
        rows[j], rows[k] = rows[k], rows[j]
        rows[j] = [each / rows[j][j] for each in rows[j]]
        for i, row in enumerate(rows):
            if i != j:
                rows[i] = [a - row[j] * b for a, b in zip(row, rows[j], strict=True)]
    return [row[-1] for row in rows]


@given(st.integers(0, 2**32 - 1))
def test_whole_systems_are_solved_as_in_fractions(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(7))
    matrix = gram(rng, m, int(rng.choice([1, 8, 60, 200])))
    right = whole(int(rng.integers(-(10**9), 10**9)) << int(rng.integers(90)) for _ in range(m))
    row = dependent_row(matrix)
    if row is not None:
        matrix, right = matrix[:row, :row], right[:row]
    y, q = solve_whole(matrix, right)
    assert q > 0
    assert (matrix @ y == q * right).all()
    assert [Fraction(a, q) for a in y.tolist()] == solved(matrix, right)


def test_a_system_without_rows_has_the_denominator_1():
    y, q = solve_whole(np.zeros((0, 0), object), np.zeros(0, object))
    assert (y.shape, q) == ((0,), 1)


def test_answers_as_long_as_hadamards_bound():
    """The denominator is the product of the diagonal: 600 bits."""
    primes = [2**200 - 75, 2**199 - 49, 2**198 - 17, 2**197 - 75]
    for size in (1, 2, 4):
        right = whole([1, -1, 2**200 + 1, 7][:size])
        y, q = solve_whole(np.diag(whole(primes[:size])), right)
        assert [Fraction(a, q) for a in y.tolist()] == [Fraction(b, p) for b, p in zip(right, primes, strict=False)]


def test_an_answer_is_tried_at_a_few_lengths_only(monkeypatch):
    """After 4, 6, 9, 13, 19, 28, … digits: half as many again each time, and at last at Hadamard's bound."""
    moduli, honest = [], lifting.reconstructed
    monkeypatch.setattr(lifting, "reconstructed", lambda r, modulus: moduli.append(modulus) or honest(r, modulus))
    for primes, last in (([2**200 - 75, 2**199 - 49], [41]), ([2**200 - 75, 2**199 - 49, 2**198 - 17], [42, 58])):
        moduli.clear()
        solve_whole(np.diag(whole(primes)), whole([1] * len(primes)))
        assert moduli == [PRIMES[0] ** t for t in (4, 6, 9, 13, 19, 28, *last)]
    monkeypatch.setattr(lifting, "reconstructed", lambda residues, modulus: None)
    with pytest.raises(ArithmeticError, match="within Hadamard's bound"):
        solve_whole(np.diag(whole([3])), whole([1]))


def test_products_of_long_entries_are_exact():
    """Pieces of ones only, and so many rows that their products with digits all but fill a float."""
    for m in (3, 7):
        for seed in range(3):
            rng = np.random.default_rng(seed)
            matrix = whole((1 << 300) - 1 - int(x) for x in rng.integers(0, 99, m * m)).reshape(m, m)
            right = whole([*range(1, m + 1)])
            y, q = solve_whole(matrix, right)
            assert (matrix @ y == q * right).all()


def test_an_answer_that_does_not_solve_the_system_is_passed_over(monkeypatch):
    honest, given = lifting.reconstructed, []

    def first_wrong(residues: Any, modulus: int) -> Any:
        found = honest(residues, modulus)
        if found is None or given:
            return found
        given.append(found)
        return found[0] + [1, 0], found[1]

    monkeypatch.setattr(lifting, "reconstructed", first_wrong)
    y, q = solve_whole(np.diag(whole([3, 5])), whole([1, 2]))
    assert given
    assert [Fraction(a, q) for a in y.tolist()] == [Fraction(1, 3), Fraction(2, 5)]


def test_the_first_row_that_depends_on_those_before_it():
    rows = np.array([[1, 2, 0], [0, 1, 5], [2, 5, 5], [7, 0, 0]], object)
    assert dependent_row(rows @ rows.T) == 2
    assert dependent_row(rows[[0, 1, 3]] @ rows[[0, 1, 3]].T) is None
    assert dependent_row(np.zeros((1, 1), object)) == 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = rng.integers(-9, 10, (6, 8)).astype(object)
        place = int(rng.integers(1, 6))
        rows[place] = rng.integers(1, 9, place).astype(object) @ rows[:place]
        assert dependent_row(rows @ rows.T) == place


def test_a_prime_that_divides_a_pivot_is_passed_over():
    first, second, third = PRIMES
    for matrix, prime in (([[first]], second), ([[first * second]], third), ([[5]], first)):
        inverse, row, p = inverse_modulo(np.array(matrix, object))
        assert (row, p) == (None, prime)
        assert int(inverse[0, 0]) * matrix[0][0] % p == 1
    assert inverse_modulo(np.array([[first * second * third]], object))[1:] == (0, third)
    y, q = solve_whole(np.array([[first, 0], [0, 3]], object), whole([1, 1]))
    assert [Fraction(a, q) for a in y.tolist()] == [Fraction(1, first), Fraction(1, 3)]


@pytest.mark.parametrize("p", [7, 101, PRIMES[0]])
def test_elimination_modulo_a_prime_finds_the_inverse(p):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        matrix = rng.integers(0, p, (int(rng.integers(1, 6)),) * 2)
        before = matrix.copy()
        inverse, row = eliminated(matrix, p)
        assert (matrix == before).all()
        if row is None:
            assert ((inverse.astype(object) @ matrix) % p == np.eye(len(matrix), dtype=int)).all()
            assert ((inverse >= 0) & (inverse < p)).all()
        else:
            leading = matrix[: row + 1, : row + 1].astype(object)
            assert round(np.linalg.det(leading.astype(float))) % p == 0


def test_fractions_come_back_from_their_residues():
    """(1/2, −5/6, 0, 7) modulo p, with the common denominator 6; None where numbers are too long for the modulus."""
    p = 10007
    values = [Fraction(1, 2), Fraction(-5, 6), Fraction(0), Fraction(7)]
    residues = whole(f.numerator * pow(f.denominator, -1, p) % p for f in values)
    y, q = reconstructed(residues, p)
    assert (y.tolist(), q) == ([3, -5, 0, 42], 6)
    assert reconstructed(np.array([5], object), 7) is None
    for value in (50, -50):  # 3 · 50 is beyond √(p/2) = 70
        assert reconstructed(whole([value, pow(3, -1, p)]), p) is None
    bound = 70  # ⌊√(10007/2)⌋
    for top, fits in ((bound, True), (bound + 1, False)):
        found = reconstructed(whole([top, pow(1, -1, p)]), p)
        assert (found is not None and found[0].tolist() == [top, 1] and found[1] == 1) == fits
    for low, fits in ((bound, True), (bound + 1, False)):
        found = reconstructed(whole([pow(low, -1, p)]), p)
        assert (found is not None and (found[0].tolist(), found[1]) == ([1], low)) == fits


def test_denominators_multiply_up_to_the_bound():
    """1/7 and 1/11 have 77 > 70 in common; 1/7 and 1/9 have 63."""
    p = 10007
    assert reconstructed(whole([pow(7, -1, p), pow(11, -1, p)]), p) is None
    y, q = reconstructed(whole([pow(7, -1, p), pow(9, -1, p)]), p)
    assert (y.tolist(), q) == ([9, 7], 63)
    assert (centred(3, 5), centred(2, 5), centred(-7, 5), centred(2, 4), centred(3, 4)) == (-2, 2, -2, 2, -1)
    for a in range(1, 71):
        for b in (1, 3, 64, 70):
            assert denominator(Fraction(a, b).numerator * pow(Fraction(a, b).denominator, -1, p) % p, p, 70) == (
                Fraction(a, b).denominator
            )
