"""The trusted checker on programs by chance, with one number moved, and on borders of the cones (plain functions)."""

from __future__ import annotations

from fractions import Fraction

from chance.against import about, check_verdict, limited, said, word
from chance.programs import programs as by_chance

from workbench.proofs.checker import programs
from workbench.proofs.checker.cones import Cones
from workbench.proofs.checker.convexity import semidefinite
from workbench.proofs.checker.programs import Claim, Finding, Numbers, check


def test_programs_are_judged_as_by_the_second_checker():
    for case in about(by_chance()):
        check_verdict(case, lambda case=case: said(case))


def test_every_conclusion_is_proven_of_some_program():
    proven = {case.header["formulation"]["settings"]["conclusion"] for case in by_chance() if case.verdict.proven}
    assert proven == {"optimal", "bounded", "infeasible", "unbounded", "nonconvex"}


def form(rows):
    return [(i, j, value) for i, row in enumerate(rows) for j, value in enumerate(row) if value]


def test_a_form_is_semidefinite_by_its_diagonal_its_root_or_elimination():
    zero, one, two = [], ([3], 1), ([1, 1, 0, 1], 1)
    assert semidefinite(form([[0]]), 1, 1, None)
    assert semidefinite(form([[2, 1], [1, 1]]), 1, 2, None)
    assert semidefinite(form([[1, 1], [1, 1]]), 1, 2, None)
    assert not semidefinite(form([[1, 2], [2, 1]]), 1, 2, None)
    assert not semidefinite(form([[0, 1], [1, 0]]), 1, 2, None)
    assert not semidefinite(form([[0, 0, 1], [0, 1, 0], [1, 0, 9]]), 1, 3, None)
    assert not semidefinite(form([[-1]]), 1, 1, one)
    assert semidefinite(form([[2, 1, 0], [1, 2, 0], [0, 0, 0]]), 1, 3, two)
    assert not semidefinite(form([[4, 0, 0], [0, 1, 2], [0, 2, 1]]), 1, 3, (zero or [1] * 9, 1))
    assert semidefinite(form([[4, 2, 2], [2, 2, 1], [2, 1, 2]]), 3, 3, ([2, 0, 0, 1, 1, 0, 1, 0, 1], 2))
    rank = [[sum(a * b for a, b in zip(u, v, strict=True)) for v in ROWS] for u in ROWS]
    assert semidefinite(form(rank), 7, len(rank), None)
    for i in range(len(rank)):
        lower = [[value - (i == k == j) for j, value in enumerate(row)] for k, row in enumerate(rank)]
        assert not semidefinite(form(lower), 7, len(rank), None)


ROWS = [(1, 2, 3), (2, -1, 0), (3, 1, 3), (0, 5, 1), (4, 0, -2)]


def test_points_of_cones():
    cones = Cones(1, 2, (3,), 1)
    inside = [0, 0, 4, 5, 3, -4, 0, 1, 1]
    assert cones.size == 9
    assert cones.holds(inside)
    assert not cones.holds(inside[1:])
    assert not cones.holds([*inside, 0])
    for at, value in ((0, 1), (0, -1), (1, -1), (2, -1), (3, 4), (3, -5), (4, 4), (5, 4 + 1), (6, 1), (7, -1), (8, 0)):
        assert not cones.holds([*inside[:at], value, *inside[at + 1 :]]), at
    dual = [-7, 0, 4, 5, 3, -4, -1, 0, 1]
    assert cones.holds(dual, dual=True)
    assert not cones.holds(dual)
    for at, value in ((1, -1), (2, -1), (3, 4), (6, 1), (8, 0), (7, -3)):
        assert not cones.holds([*dual[:at], value, *dual[at + 1 :]], dual=True), at


def test_logarithms_decide_to_many_digits():
    """e is between these two fractions, which differ by 4·10⁻³⁰."""
    near = Fraction(2718281828459045235360287471352, 10**30), Fraction(2718281828459045235360287471353 + 3, 10**30)
    cones = Cones(0, 0, (), 1)
    low, high = ([each.denominator, each.denominator, each.numerator] for each in near)
    assert not cones.holds(low)
    assert cones.holds(high)


# ── conclusions, one by one ───────────────────────────────────────────────────────────────────────


def numbers(A, b, zero=0, q=(0,), P=()):
    """A program over {0}^zero and R₊, all numbers over units of their own."""
    cones = Cones(zero, len(b) - zero, (), 0)
    return Numbers((form(P), 2), (list(q), 3), (form(A), 5), (list(b), 7), Fraction(1, 2), cones)


def test_rows_that_contradict_one_another():
    """x ≤ 0, x ≤ 0, x ≥ 1: rows 0 and 2 are irreducible, all three are not."""
    one = numbers([[1], [1], [-1]], [0, 0, -1])
    assert check(one, "infeasible", Claim(y=([1, 0, 1], 1))) == Finding(True, rows=(0, 2))
    assert check(one, "infeasible", Claim(y=([1, 1, 2], 1))) == Finding(True, rows=())
    for y in ([1, 0, 2], [1, 0, -1], [0, 0, 0], [-1, 0, -1], [1, -1, 0]):
        assert check(one, "infeasible", Claim(y=(y, 1))) == Finding(False), y
    assert check(one, "infeasible", Claim()) == Finding(False)
    touching = numbers([[1], [-1]], [0, 0])
    assert check(touching, "infeasible", Claim(y=([1, 1], 1))) == Finding(False)
    many = numbers([[2, 1, 0], [-1, 3, 1], [0, -1, 1], [-1, -3, -2]], [3, 1, 2, -99], q=(0, 0, 0))
    assert check(many, "infeasible", Claim(y=([1, 1, 1, 1], 1))).rows == (0, 1, 2, 3)
    equal = numbers([[3, 3], [-3, -3], [1, 1]], [1, 1, 5], zero=2, q=(0, 0))
    assert check(equal, "infeasible", Claim(y=([-1, -1, 0], 4))) == Finding(True, rows=(0, 1))
    ball = Cones(0, 1, (2,), 0)
    mixed = Numbers(([], 1), ([0], 1), (form([[1], [-1], [0]]), 1), ([0, -1, 0], 1), Fraction(0), ball)
    assert check(mixed, "infeasible", Claim(y=([1, 1, 0], 1))) == Finding(True, rows=())


def test_a_chain_of_rows_is_irreducible():
    """x₁ ≤ 0, x₂ ≤ x₁, x₃ ≤ 2x₂, x₃ ≥ 1, and the same twice over."""
    A = [[1, 0, 0], [-1, 1, 0], [0, -2, 1], [0, 0, -1]]
    b = [0, 0, 0, -1]
    assert check(numbers(A, b, q=(0,) * 3), "infeasible", Claim(y=([2, 2, 1, 1], 1))).rows == (0, 1, 2, 3)
    twice = numbers([*A, *A], [*b, *b], q=(0,) * 3)
    assert check(twice, "infeasible", Claim(y=([2, 2, 1, 1, 2, 2, 1, 1], 1))) == Finding(True, rows=())
    assert check(twice, "infeasible", Claim(y=([2, 0, 0, 1, 0, 2, 1, 0], 1))).rows == (0, 3, 5, 6)


def test_what_is_left_open_after_many_steps():
    """The chain above: 3 other rows and a number, 2 rows, a row and a number."""
    chain = numbers([[1, 0, 0], [-1, 1, 0], [0, -2, 1], [0, 0, -1]], [0, 0, 0, -1], q=(0,) * 3)
    for most, rows in ((8, ()), (9, (0, 1, 2, 3))):
        with limited(programs, MOST_STEPS=most):
            assert check(chain, "infeasible", Claim(y=([2, 2, 1, 1], 1))) == Finding(True, rows=rows)


def test_ends_of_a_linear_and_of_a_quadratic_program():
    """q/3 = 5/3·x on −x/5 ≤ −7/7, so x ≥ 5: units of A 5, of b 7, of q 3; the constant is ½."""
    line = numbers([[-1]], [-7], q=(5,))
    best = Fraction(25, 3) + Fraction(1, 2)
    assert check(line, "optimal", Claim(x=([5], 1), y=([25], 3))) == Finding(True, best, best)
    assert check(line, "bounded", Claim(x=([6], 1), y=([25], 3))) == Finding(True, best, best + Fraction(5, 3))
    assert check(line, "bounded", Claim(x=([6], 1))) == Finding(True, None, best + Fraction(5, 3))
    assert check(line, "bounded", Claim(y=([25], 3))) == Finding(True, best, None)
    assert not check(line, "optimal", Claim(x=([6], 1), y=([25], 3))).proven
    assert not check(line, "bounded", Claim()).proven
    assert not check(line, "bounded", Claim(x=([4], 1), y=([25], 3))).proven
    assert not check(line, "bounded", Claim(x=([6], 1), y=([24], 3))).proven
    for missing in (Claim(x=([5], 1)), Claim(y=([25], 3))):
        assert not check(line, "optimal", missing).proven
    curve = numbers([[-1]], [-7], q=(-6,), P=[[4]])  # x² − 2x + ½ on x ≥ 5
    assert check(curve, "optimal", Claim(x=([5], 1), y=([40], 1))) == Finding(True, Fraction(31, 2), Fraction(31, 2))
    assert check(curve, "bounded", Claim(w=([1], 1), y=([0], 1))) == Finding(True, Fraction(-1, 2), None)
    assert not check(curve, "bounded", Claim(y=([0], 1))).proven
    assert not check(numbers([[-1]], [-7], P=[[-4]]), "bounded", Claim(w=([0], 1), y=([0], 1))).proven


def test_rays_and_directions():
    down = numbers([[-1, 0]], [-7], q=(0, 1))
    assert check(down, "unbounded", Claim(x=([5, 0], 1), d=([0, -1], 1))).proven
    assert check(down, "unbounded", Claim(x=([5, 0], 1), d=([1, -1], 1))).proven
    for x, d in (([4, 0], [0, -1]), ([5, 0], [0, 1]), ([5, 0], [0, 0]), ([5, 0], [-1, -1])):
        assert not check(down, "unbounded", Claim(x=(x, 1), d=(d, 1))).proven
    assert not check(down, "unbounded", Claim(x=([5, 0], 1))).proven
    assert not check(down, "unbounded", Claim(d=([0, -1], 1))).proven
    curved = numbers([[-1, 0]], [-7], q=(0, 1), P=[[0, 0], [0, 1]])
    assert not check(curved, "unbounded", Claim(x=([5, 0], 1), d=([0, -1], 1))).proven
    saddle = numbers([[1, 0]], [1], q=(0, 0), P=[[1, 2], [2, 4]])
    assert not check(saddle, "nonconvex", Claim(d=([2, -1], 1))).proven
    assert not check(saddle, "nonconvex", Claim()).proven
    saddle = numbers([[1, 0]], [1], q=(0, 0), P=[[1, 2], [2, 3]])
    assert check(saddle, "nonconvex", Claim(d=([2, -1], 1))).proven


def test_what_the_verdict_says():
    for case in about(by_chance()):
        if not case.verdict.proven or "," in case.name.rpartition(")")[2]:
            continue
        verdict, words = said(case), case.header["formulation"]["settings"]["conclusion"]
        cones = case.arrays["data_cones"].tolist()
        assert ("second-order" in verdict.statement.structure) == bool(cones[2] or cones[3:]), case.name
        assert ("contradict" in verdict.statement.structure) <= (words == "infeasible"), case.name
        assert (verdict.statement.n, verdict.statement.dim) == (len(case.arrays["data_b"]), len(case.arrays["data_q"]))
        assert not verdict.statement.rounded_claims
        assert (verdict.optimum is not None) == (
            words == "optimal" or verdict.ends.lower == verdict.ends.upper != 0
        ) or (abs(verdict.ends.lower) == float("inf"))
        if words == "optimal":
            assert word(case, optimum=str(verdict.optimum)) == "proven", case.name
            assert word(case, optimum=str(verdict.optimum + 1)) == "not proven", case.name
        else:
            assert word(case, optimum="1") == "not proven", case.name


def test_rows_that_contradict_one_another_are_named():
    named = [
        said(case).statement.structure for case in by_chance() if "infeasible" in case.name and case.verdict.proven
    ]
    assert any("contradict" in words for words in named)


def test_ends_that_are_equal_by_chance_are_no_claimed_optimum():
    proven = [case for case in by_chance() if case.verdict.proven and case.verdict.lower == case.verdict.upper]
    for case in proven:
        if case.header["formulation"]["settings"]["conclusion"] == "bounded":
            assert word(case, optimum=str(case.verdict.lower)) == "not proven"
