"""Certificates of programs and their parts: refusals in their words, vectors, cones, forms (plain functions)."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
from chance.against import limited, refusal, said
from chance.certificates import WIDE
from chance.programs import case_of

from workbench.proofs.checker import convexity
from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.balls import log
from workbench.proofs.checker.cones import PRECISION, Cones, below_log, dual_exponential, exponential
from workbench.proofs.checker.convexity import blocks, dominant, eliminated, semidefinite
from workbench.proofs.checker.kinds._vectors import decimal, stored, vector
from workbench.proofs.checker.kinds.program import ProgramProof, ends_of
from workbench.proofs.checker.programs import PRIME, Claim, Finding, Numbers, check
from workbench.proofs.checker.programs import form as value_of

INFINITE = float("inf")


def whole(rows):
    return np.array(rows, object)


def entries(rows):
    return [(i, j, value) for i, row in enumerate(rows) for j, value in enumerate(row) if value]


# ── the two files ─────────────────────────────────────────────────────────────────────────────────


def small(**arrays):
    """min x₁ + x₂ over x ≥ 1 entry by entry, at x = (1, 1), with some arrays changed."""
    found = case_of("bounded", [[2, 1], [1, 2]], [1, 1], [[-1, 0], [0, -1]], [-1, -1], (0, 2, (), 0), x=[1, 1])
    found.header |= WIDE
    for name, value in arrays.items():
        found.arrays[name] = np.array(value)
    found.sign()
    return found


def test_programs_that_are_refused():
    assert said(small()).proven
    none = np.zeros(0)
    ends = "data_{} does not say where the 2 columns end"
    for arrays, told in (
        ({"data_q": none}, "it has no variable"),
        ({"data_cones": [0, 2]}, "its cones are fewer than three numbers"),
        ({"data_cones": [0, 1, 0]}, "its cones do not add up to its 2 rows"),
        ({"data_cones": [0, 2, 0, 0]}, "its cones do not add up to its 2 rows"),
        ({"data_cones": [0, 0, 0, 2, 0]}, "its cones do not add up to its 2 rows"),
        ({"data_cones": [0, 1, 0, 2]}, "its cones do not add up to its 2 rows"),
        ({"data_cones": [0, 0, 1]}, "its cones do not add up to its 2 rows"),
        ({"data_cones": [-1, 2, 0, 1]}, "data_cones holds a number that is not in 0 … 2"),
        ({"data_cones": [0, 3, 0]}, "data_cones holds a number that is not in 0 … 2"),
        ({"data_P_data": [2.0, 1.0, 1.5, 2.0]}, "P is not symmetric"),
        ({"data_P_data": [2.0, 0.0, 1.0, 2.0]}, "P is not symmetric"),
        ({"data_A_indptr": [1, 1, 2]}, ends.format("A_indptr")),
        ({"data_A_indptr": [0, 1, 1]}, ends.format("A_indptr")),
        ({"data_A_indptr": [0, 1, 3]}, ends.format("A_indptr")),
        ({"data_A_indptr": [0, 3, 2]}, ends.format("A_indptr")),
        ({"data_P_indptr": [0, -1, 4]}, ends.format("P_indptr")),
        ({"data_P_indices": [0, 0, 0, 1]}, "the rows of a column of P do not rise"),
        ({"data_P_indices": [1, 0, 0, 1]}, "the rows of a column of P do not rise"),
        ({"data_P_indices": [0, 2, 0, 1]}, "data_P_indices holds a number that is not in 0 … 1"),
        ({"data_A_indices": [0, -1]}, "data_A_indices holds a number that is not in 0 … 1"),
        ({"data_A_indptr": [0, 2]}, "data_A_indptr has the shape (2,), not (3,)"),
        ({"data_more": none}, "it holds an array that it should not, data_more"),
        ({"more": none}, "it holds an array that it should not, more"),
        ({"root": [1.0]}, "root has the shape (1,), not (4,)"),
    ):
        assert refusal(said, small(**arrays)) == told, arrays
    assert said(small(data_P_data=[2.0, 0.0, 0.0, 2.0])).proven
    assert said(small(root=[1.0, 0.0, 0.0, 1.0])).proven


def test_what_a_program_is_called():
    for part, key, value, told in (
        ("formulation", "name", "x" * 70, f"its formulation is {'x' * 60!r}, not a program"),
        ("problem", "output", "chain", "its problem is 'chain', not a program"),
        ("formulation", "version", 2, "no formulation called 'program', version 2, is known; known: program"),
        ("problem", "version", 2, "no problem called 'program', version 2, is known; known: program"),
    ):
        found = small()
        found.header[part][key] = value
        assert refusal(said, found) == told
    for key, value in (("conclusion", "best"), ("reading", "text"), ("sense", "min")):
        found = small()
        found.header["formulation"]["settings"][key] = value
        assert refusal(said, found) == f"{key} is {value}, which program does not take"


def test_what_the_statement_says():
    words = said(small()).statement
    assert (words.formulation, words.n, words.dim, words.oracle, words.rounded_claims, words.open) == (
        "program",
        2,
        2,
        "exact",
        False,
        (),
    )
    assert words.structure == "2 variables, 0 equalities, 2 inequalities"
    assert words.formula == (
        "minimise ½xᵀPx + qᵀx + constant subject to b − Ax in K: the optimum lies between the ends"
    )
    part = small()
    part.header["problem"]["generated"] = True
    assert len(said(part).statement.open) == 2
    for sizes, told in (
        ((1, 0, (2,), 0), "1 variables, 1 equalities, 0 inequalities, 1 second-order and 0 exponential cones"),
        ((0, 0, (), 1), "1 variables, 0 equalities, 0 inequalities, 0 second-order and 1 exponential cones"),
        ((0, 0, (1, 1, 1), 0), "1 variables, 0 equalities, 0 inequalities, 3 second-order and 0 exponential cones"),
    ):
        case = case_of("bounded", [[0]], [1], [[0], [0], [0]], [0, 1, 1], sizes, x=[1])
        assert said(case, **WIDE).statement.structure == told
    rows = case_of("infeasible", [[0]], [1], [[1], [1], [-1]], [0, 0, -1], (0, 3, (), 0), y=[1, 0, 1])
    told = (
        "1 variables, 0 equalities, 3 inequalities; rows 0, 2 (from 0 on) contradict one another, and no fewer of them"
    )
    assert said(rows, **WIDE).statement.structure == f"{told} do"
    wrong = case_of("infeasible", [[0]], [1], [[1], [1], [-1]], [0, 0, -1], (0, 3, (), 0), y=[1, 0, 2])
    assert said(wrong, **WIDE).faults == ["its vectors do not prove that no x satisfies the constraints"]


def test_only_the_conclusion_optimal_attains_an_optimum():
    for conclusion in ("optimal", "bounded", "infeasible", "unbounded", "nonconvex"):
        header = {"formulation": {"settings": {"conclusion": conclusion}}}
        assert ProgramProof.attains(header, {}) == (conclusion == "optimal")


def test_the_ends_of_each_conclusion():
    half = Fraction(1, 2)
    for conclusion, finding, ends in (
        ("infeasible", Finding(True), (INFINITE, INFINITE)), ("infeasible", Finding(False), (-INFINITE, INFINITE)),
        ("unbounded", Finding(True), (-INFINITE, -INFINITE)), ("unbounded", Finding(False), (-INFINITE, INFINITE)),
        ("bounded", Finding(True, half, None), (half, INFINITE)), ("bounded", Finding(True, None, half),
        (-INFINITE, half)),
        ("optimal", Finding(True, half, half), (half, half)), ("nonconvex", Finding(True), (-INFINITE, INFINITE)),
    ):  # fmt: skip
        assert ends_of(conclusion, finding) == ends
    found = said(small())
    assert (found.ends.lower, found.ends.upper, found.ends.reached) == (-INFINITE, Fraction(11, 2), Fraction(11, 2))
    assert found.ends.start == 10**6
    assert found.ends.arithmetic == "rational"
    largest = small()
    largest.header["formulation"]["settings"]["sense"] = "maximise"
    ends = said(largest).ends
    assert (ends.lower, ends.upper, ends.reached) == (-Fraction(11, 2), INFINITE, INFINITE)


def test_a_vector_is_a_unit_and_whole_numbers():
    def read(words, size=2):
        return vector(Fields({"x": np.frombuffer(words, np.uint8)}), "x", size)

    assert read(b"a\n-1\n0ff") == ([-1, 255], 10)
    assert vector(Fields({}), "x", 2) is None
    assert read(b"1", 0) == ([], 1)
    for words, told in (
        (b"1\n1", "x has 1 numbers, not 2"), (b"1\n1\n1\n1", "x has 3 numbers, not 2"), (b"", "x has 0 numbers, not 2"),
        (b"1\n1\n", "x holds a line that is no whole number"), (b"1\n+1\n1", "x holds a line that is no whole number"),
        (b"\n1\n1", "x holds a line that is no whole number"), (b"1\nA\n1", "x holds a line that is no whole number"),
        (b"0\n1\n1", "the unit of x is not positive"), (b"-1\n1\n1", "the unit of x is not positive"),
    ):  # fmt: skip
        assert refusal(read, words) == told, words


def test_floats_are_read_as_stored_or_as_written():
    numbers = [0.1, -0.25, 0.0, 3.0, 1e22, 1.5e-7, -1e300, 5e-324, 123456.789, 1e16, -0.0, 12345678901234567.0, 2e-05]
    for values in (numbers, numbers[:2], [0.0], [3.0, -4.0], [1e22], [7e-9], [100.0]):
        array = np.array(values)
        for read, exact in ((stored, Fraction), (decimal, lambda x: Fraction(Decimal(repr(x))))):
            found, unit = read(array)
            assert [Fraction(x, unit) for x in found] == [exact(x) for x in values], values
            assert all(type(x) is int for x in found)
            assert unit > 0
    assert decimal(np.array([3.0, 100.0]))[1] == 10
    assert decimal(np.array([0.5, 0.25]))[1] == 100
    assert decimal(np.zeros(0)) == ([], 1)
    assert stored(np.zeros(0)) == ([], 1)


# ── conclusions ───────────────────────────────────────────────────────────────────────────────────


def test_what_is_not_optimal_shows_both_ends():
    line = Numbers(([], 1), ([5], 3), ([(0, 0, -1)], 5), ([-7], 7), Fraction(1, 2), Cones(0, 1, (), 0))
    best = Fraction(25, 3) + Fraction(1, 2)
    assert check(line, "optimal", Claim(x=([6], 1), y=([25], 3))) == Finding(False, best, best + Fraction(5, 3))
    assert check(line, "optimal", Claim(x=([6], 1))) == Finding(False, None, best + Fraction(5, 3))
    assert check(line, "optimal", Claim(y=([25], 3))) == Finding(False, best, None)
    assert check(line, "optimal", Claim()) == Finding(False, None, None)
    assert value_of(([(0, 0, 2), (0, 1, 3), (1, 0, 3)], 7), ([1, 2], 5)) == Fraction(14, 175)


def test_the_lower_end_of_a_quadratic_program_subtracts_half_of_its_form():
    """½·(4/2)x² with w = 3/2: −½wᵀPw = −9/4 over the units given."""
    curve = Numbers(([(0, 0, 4)], 2), ([-3], 1), ([], 1), ([], 1), Fraction(0), Cones(0, 0, (), 0))
    assert check(curve, "bounded", Claim(w=([3], 2), y=([], 1))) == Finding(True, Fraction(-9, 4), None)
    assert not check(curve, "bounded", Claim(w=([2], 1), y=([], 1))).proven
    assert check(curve, "optimal", Claim(x=([3], 2), y=([], 1))) == Finding(True, Fraction(-9, 4), Fraction(-9, 4))
    assert not check(curve, "bounded", Claim(y=([], 1))).proven


def test_rows_of_cones_are_never_called_irreducible():
    """x ≤ 0, z ≤ x − 1, (z, 0) in a cone: the three contradict one another, and the third is no row of R₊."""
    A = [(0, 0, 1), (1, 0, -1), (1, 1, 1), (2, 1, -1)]
    one = Numbers(([], 1), ([0, 0], 1), (A, 1), ([0, -1, 0, 0], 1), Fraction(0), Cones(0, 2, (2,), 0))
    assert check(one, "infeasible", Claim(y=([1, 1, 1, 0], 1))) == Finding(True, rows=())
    flat = one._replace(cones=Cones(0, 4, (), 0))
    assert check(flat, "infeasible", Claim(y=([1, 1, 1, 0], 1))) == Finding(True, rows=(0, 1, 2))


def test_ranks_are_counted_modulo_a_prime():
    assert PRIME == 2**61 - 1
    for factor in (2, 3, 6, 2 * 3 * 5 * 7 * 11 * 13 * 31 * 41 * 61, 2147483647, 715827883, PRIME + 1):
        A = [(0, 0, factor), (1, 0, -factor), (1, 1, factor), (2, 1, -factor)]
        one = Numbers(([], 1), ([0, 0], 1), (A, 1), ([factor, -3 * factor, factor], 1), Fraction(0), Cones(0, 3, (), 0))
        assert check(one, "infeasible", Claim(y=([1, 1, 1], 1))) == Finding(True, rows=(0, 1, 2)), factor
    lost = Numbers(
        ([], 1), ([0], 1), ([(0, 0, PRIME), (1, 0, -PRIME)], 1), ([0, -PRIME], 1), Fraction(0), Cones(0, 2, (), 0)
    )
    assert check(lost, "infeasible", Claim(y=([1, 1], 1))) == Finding(
        True, rows=()
    )  # a rank is lost, and nothing claimed


def test_irreducible_rows_are_those_of_full_rank():
    """Against the rank over the rationals, by chance."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        m, n = int(rng.integers(2, 7)), int(rng.integers(1, 6))
        y = rng.integers(0, 3, m)
        A = rng.integers(-2, 3, (m, n)) * (rng.random((m, n)) < 0.5)
        k = int(np.flatnonzero(y == 1)[0]) if (y == 1).any() else None
        if k is None:
            continue
        A[k] = -(np.delete(y, k) @ np.delete(A, k, axis=0))
        b = rng.integers(-2, 3, m) * (rng.random(m) < 0.5)
        b[k] -= b @ y + 1
        one = Numbers(([], 1), ([0] * n, 1), (entries(A.tolist()), 1), (b.tolist(), 1), Fraction(0), Cones(0, m, (), 0))
        support = np.flatnonzero(y)
        full = np.linalg.matrix_rank(np.hstack([A, b[:, None]])[support]) == len(support)
        rows = tuple(support.tolist()) if full else ()
        assert check(one, "infeasible", Claim(y=(y.tolist(), 1))) == Finding(True, rows=rows)
    A = [(0, 0, 1), (1, 0, -1), (2, 1, 1), (3, 1, -1)]  # two rows contradict each other, two others cancel
    one = Numbers(([], 1), ([0, 0], 1), (A, 1), ([0, -1, 0, 0], 1), Fraction(0), Cones(0, 4, (), 0))
    assert check(one, "infeasible", Claim(y=([1, 1, 1, 1], 1))) == Finding(True, rows=())
    assert check(one, "infeasible", Claim(y=([1, 1, 0, 0], 1))) == Finding(True, rows=(0, 1))


# ── cones ─────────────────────────────────────────────────────────────────────────────────────────


def test_borders_of_the_exponential_cones():
    for point, inside in (
        ((0, 0, 0), True), ((-1, 0, 0), True), ((-1, 0, 1), True), ((1, 0, 1), False), ((0, 0, -1), False),
        ((0, -1, 5), False),
        ((0, 1, 1), True), ((0, 1, 0), False), ((-5, 1, 0), False), ((1, 1, 3), True), ((1, 1, 2), False),
        ((-1, -1, 1), False),
        ((2, 2, 6), True), ((2, 2, 5), False), ((0, 2, 1), False), ((0, 2, 2), True), ((-3, 1, 1), True),
    ):  # fmt: skip
        assert exponential(*point) == inside, point
    for point, inside in (
        ((0, 0, 0), True), ((0, 1, 0), True), ((0, 0, 1), True), ((0, -1, 0), False), ((0, 0, -1), False),
        ((1, 0, 1), False),
        ((-1, 0, 1), True), ((-1, 0, 0), False), ((-1, -1, 1), True), ((-1, -2, 1), False), ((-1, -2, 3), True),
        ((-2, -2, 2), True), ((-2, -2, 1), False), ((-1, 5, 1), True), ((-3, -3, 2), False), ((-3, -3, 3), True),
        ((1, 1, 0), False),
    ):  # fmt: skip
        assert dual_exponential(*point) == inside, point
    assert below_log(0, 1, 5, 5)
    assert not below_log(0, 1, 4, 5)
    context = Context(prec=60)
    third = int(context.multiply(context.ln(Decimal(3)), Decimal(10) ** 50))
    for p, inside in ((third - 1, True), (third, True), (third + 1, False)):
        assert below_log(p, 10**50, 3, 1) == inside
        assert below_log(-p - 1, 10**50, 1, 3) == (p >= third)


def test_logarithms_are_proven_up_to_the_last_bit_that_is_carried():
    for a, b in ((3, 7), (7, 3), (10**9, 1), (5, 10**7)):
        edge = log(a, PRECISION)[0] - log(b, PRECISION)[1]
        assert below_log(edge, 1 << PRECISION, a, b)
        assert not below_log(edge + 1, 1 << PRECISION, a, b)


def test_what_is_to_be_zero_is_free_in_the_dual():
    cones = Cones(1, 0, (), 0)
    assert not cones.holds([1])
    assert cones.holds([0])
    assert cones.holds([1], dual=True)


def test_several_cones_stand_one_behind_the_other():
    cones = Cones(1, 1, (2, 3), 2)
    good = [0, 0, 1, -1, 5, 3, 4, 0, 1, 1, -1, 0, 0]
    assert cones.size == len(good)
    assert cones.holds(good)
    for at, value in ((0, 1), (1, -1), (2, 0), (4, 4), (9, 0), (10, 1), (7, 1)):
        assert not cones.holds([*good[:at], value, *good[at + 1 :]]), at
    assert not Cones(0, 0, (1,), 0).holds([-1])
    assert Cones(0, 0, (1,), 0).holds([0])
    assert Cones(2, 0, (), 0).holds([-1, 1], dual=True)
    assert not Cones(2, 0, (), 0).holds([0, 1])
    assert not Cones(2, 0, (), 0).holds([0], dual=True)


# ── forms ─────────────────────────────────────────────────────────────────────────────────────────


def test_dominance_by_rows_after_scaling():
    for rows, good in (
        ([[2, -2], [-2, 2]], True), ([[2, -3], [-3, 2]], False), ([[0]], True), ([[-1]], False),
        ([[1, 0], [0, 0]], True),
        ([[16, 4], [4, 1]], True), ([[100, 10], [10, 2]], False), ([[100, 10], [10, 3]], True),
        ([[1, 1, 1], [1, 2, 0], [1, 0, 2]], True), ([[1, 1, 1], [1, 2, 0], [1, 0, 1]], False),
        ([[-1, 0], [0, 5]], False), ([[0, 1], [1, 0]], False), ([[4, 1, -1], [1, 4, 1], [-1, 1, 4]], True),
    ):  # fmt: skip
        assert dominant(whole(rows)) == good, rows
    assert dominant(np.zeros((0, 0), object))


def test_blocks_are_the_connected_components():
    M = np.zeros((6, 6), object)
    for i, j in ((0, 3), (3, 5), (1, 1), (2, 4)):
        M[i, j] = M[j, i] = 7
    assert sorted(map(tuple, blocks(M))) == [(0, 3, 5), (1,), (2, 4)]
    assert list(blocks(np.zeros((0, 0), object))) == []


def test_elimination_finds_the_sign_of_every_form():
    rng = np.random.default_rng(0)
    seen = set()
    for size in (1, 2, 3, 4, 5):
        for rank in range(size + 1):
            F = rng.integers(-3, 4, (rank, size))
            M = (F.T @ F).astype(object) if rank else np.zeros((size, size), object)
            assert eliminated(M.copy())
            assert semidefinite(entries(M.tolist()), 3, size, None)
            for i in range(size):
                lower = M.copy()
                lower[i, i] -= 1
                good = bool(np.linalg.eigvalsh(lower.astype(float)).min() > -1e-9)
                assert eliminated(lower) == good, lower
                assert semidefinite(entries(lower.tolist()), 3, size, None) == good
                seen.add(good)
    assert seen == {False, True}
    assert not eliminated(whole([[0, 1], [1, 0]]))
    assert not eliminated(whole([[0, 0, 0], [0, 0, 1], [0, 1, 0]]))
    big = [[10**30 + 1, 10**30], [10**30, 10**30 - 1]]
    assert not eliminated(whole(big))
    assert eliminated(whole([[10**30 + 1, 10**30], [10**30, 10**30]]))
    full = whole([[3, 2, 2], [2, 3, 2], [2, 2, 3]])  # pivots of 1, 2 and 3 bits
    work = 9 * 129**2 + 4 * 130**2 + 131**2
    for most, good in ((work, True), (work - 1, False)):
        with limited(convexity, MOST_WORK=most):
            assert eliminated(full) == good, most


def test_a_root_helps_where_its_rest_is_dominant():
    """M = LLᵀ + E over a unit; L on the rows that are not 0, and nothing else."""
    M = [[4, 0, 6], [0, 0, 0], [6, 0, 10]]  # L = [2 0; 3 1]
    with limited(convexity, eliminated=lambda block: False):
        for root, good in (
            (([2, 0, 3, 1], 1), True), (([4, 0, 6, 2], 2), True), (([2, 0, 3, 2], 1), False),
            (([2, 0, 3], 1), False), (None, False),
            (([2, 0, 0, 3, 1, 0, 0, 0, 0], 1), False), (([2, 0, 3, 1], 2), False),
        ):  # fmt: skip
            assert semidefinite(entries(M), 1, 3, root) == good, root
        three = [[4, 2, 6], [2, 2, 4], [6, 4, 11]]  # L = [2 0 0; 1 1 0; 3 1 1]
        assert semidefinite(entries(three), 1, 3, ([2, 0, 0, 1, 1, 0, 3, 1, 1], 1))
        assert not semidefinite(entries(three), 1, 3, ([2, 0, 0, 1, 1, 0], 1))
        third = [[4 * 3, 6 * 3], [6 * 3, 10 * 3]]
        assert semidefinite(entries(third), 3, 2, ([2, 0, 3, 1], 1))
        assert not semidefinite(entries(third), 4, 2, ([2, 0, 3, 1], 1))
        assert semidefinite([(0, 0, 3), (0, 1, 0), (1, 1, 2)], 1, 2, None)
        assert semidefinite([], 1, 2, None)
