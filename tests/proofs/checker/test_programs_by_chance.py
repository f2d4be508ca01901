"""The trusted checker on programs by chance, with one number moved, and on borders of the cones (plain functions)."""

from __future__ import annotations

from fractions import Fraction

from chance.against import about, check_verdict, said
from chance.programs import programs

from workbench.proofs.checker.cones import Cones
from workbench.proofs.checker.convexity import semidefinite


def test_programs_are_judged_as_by_the_second_checker():
    for case in about(programs()):
        check_verdict(case, lambda case=case: said(case))


def test_every_conclusion_is_proven_of_some_program():
    proven = {case.header["formulation"]["settings"]["conclusion"] for case in programs() if case.verdict.proven}
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
