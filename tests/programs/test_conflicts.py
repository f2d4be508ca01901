"""`infeasible`: domains are members of a conflict, names tell apart, changes are of right sides that users wrote."""

from __future__ import annotations

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

import workbench as wb

x, t = cp.Variable(2, name="x"), cp.Variable(name="t")
BELOW = t <= -1
DOMAINS = {
    "log": (cp.Minimize(-cp.log(t)), [BELOW], ["t <= -1.0", "the domain of log(t) in the objective"]),
    "among others": (
        cp.Minimize(x[0] - cp.log(t)),
        [x >= 3, BELOW, cp.norm(x) <= 9],
        ["t <= -1.0", "the domain of log(t) in the objective"],
    ),
    "one of several": (
        cp.Maximize(cp.sqrt(t + 5) + cp.sum(cp.entr(x))),
        [BELOW, x <= -2],
        ["x <= -2.0", "the domain of entr(x) in the objective"],
    ),
    "a cone": (
        cp.Minimize(cp.inv_pos(t) + cp.norm(x)),
        [BELOW, x >= 1, cp.sum(x) == 3],
        ["t <= -1.0", "the domain of inv_pos(t) in the objective"],
    ),
    "an inner atom": (
        cp.Maximize(cp.log(1 + cp.sqrt(t))),
        [BELOW],
        ["t <= -1.0", "the domain of sqrt(t) in the objective"],
    ),
    "an outer atom": (
        cp.Maximize(cp.log(cp.sqrt(t) - 3)),
        [t <= 4],
        ["t <= 4.0", "the domain of log(sqrt(t) + -3.0) in the objective"],
    ),
    "of a constraint": (
        cp.Minimize(t),
        [cp.log(t) >= -5, BELOW],
        ["t <= -1.0", "the domain of log(t) in -5.0 <= log(t)"],
    ),
    "a whole constraint": (cp.Minimize(t), [cp.log(t) >= 5, t <= 1], ["5.0 <= log(t)", "t <= 1.0"]),
    "one atom against another": (
        cp.Maximize(cp.log(t) + cp.sqrt(-1 - t)),
        [x >= 1],
        ["the domain of log(t) in the objective", "the domain of sqrt(-1.0 + -t) in the objective"],
    ),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_a_domain_is_a_member_and_each_member_is_necessary(name):
    objective, constraints, expected = DOMAINS[name]
    conflict = wb.infeasible(cp.Problem(objective, constraints))
    assert conflict.irreducible
    assert sorted(conflict.names) == sorted(expected)
    for left_out in conflict.constraints:
        rest = [each for each in conflict.constraints if each is not left_out]
        assert cp.Problem(cp.Minimize(0 * cp.sum(x) + 0 * t), rest).solve(cp.CLARABEL) == pytest.approx(0)


def test_the_bounds_of_a_variable_against_a_domain():
    u = cp.Variable(nonpos=True, name="u")
    conflict = wb.infeasible(cp.Problem(cp.Minimize(-cp.log(u - 1)), [x >= 1]))
    assert str(conflict).startswith("the domain of log(u + -1.0) in the objective has no solution within")
    assert wb.infeasible(cp.Problem(cp.Minimize(-cp.log(t)), [t >= 0])) is None


def test_one_label_twice_is_told_apart():
    a, b = x >= 1, cp.sum(x) <= 1
    for constraint in (a, b):
        constraint.set_label("a")
    conflict = wb.infeasible(cp.Problem(cp.Minimize(t), [a, b]))
    assert conflict.names == ["a (constraint 1)", "a (constraint 2)"]
    assert list(conflict.changes) in (["a (constraint 1)"], ["a (constraint 2)"])
    assert wb.prove(cp.Problem(cp.Minimize(t), [a, b])).names == ["a (constraint 1)", "a (constraint 2)"]


def test_single_rows_of_a_constraint_are_named():
    """Row 19 of the demands asks for 19 where row 19 of the limits allows 3; all other rows agree."""
    x = cp.Variable(30, name="x")
    demand, limit = x >= np.arange(30), x[:20] <= np.append(np.full(19, 99.0), 3.0)
    program = cp.Problem(cp.Minimize(cp.sum(x)), [demand.set_label("demand"), limit.set_label("limit")])
    proof, conflict = wb.prove(program), wb.infeasible(program)
    assert "demand [19], limit [19] contradict one another" in proof.statement
    assert str(conflict).startswith("demand [19], limit [19] contradict one another, and no fewer of them do.")
    assert proof.names == conflict.names == ["demand", "limit"]


def test_a_constraint_all_of_whose_rows_are_meant_is_named_without_them():
    x = cp.Variable(5, name="x")
    some, all_of = (cp.sum(x[:4]) <= 3).set_label("some"), (cp.sum(x) <= 4).set_label("all")
    floor = (x >= 1).set_label("floor")
    told = {some: "floor [0, 1, 2, 1 more], some", all_of: "floor, all"}
    for limit, words in told.items():
        program = cp.Problem(cp.Minimize(x[0]), [floor, limit])
        assert str(wb.infeasible(program)).startswith(f"{words} contradict one another")


def test_changes_are_of_rows_that_somebody_wrote():
    conflict = wb.infeasible(cp.Problem(cp.Minimize(t), [cp.norm1(x) <= -1, t >= x[0]]))
    assert conflict.changes == {"norm1(x) <= -1.0": Fraction(1)}
    conflict = wb.infeasible(cp.Problem(cp.Minimize(t), [cp.norm1(x) <= 1, x >= 1]))
    assert set(conflict.changes) <= {"norm1(x) <= 1.0", "1.0 <= x"}
    y = cp.Variable(nonneg=True, name="y")
    told = str(wb.infeasible(cp.Problem(cp.Minimize(y), [y <= -1])))
    assert "variable's own" not in told
    assert "y <= -1.0 by 1" in told or "the bound of y by 1" in told


def test_what_was_rounded_is_told_with_the_conflict():
    conflict = wb.infeasible(cp.Problem(cp.Minimize(t), [0.1 * (0.3 * t) + x[0] <= -1, t >= 0, x >= 0]))
    assert "Rounded before the proof: 0.1 * 0.3 * t" in str(conflict)
    assert len(conflict.rounded) == 1


def test_conflicts_by_chance_are_irreducible():
    """Each conflict contradicts itself and no part of it does, by a solver of other people's."""
    rng = np.random.default_rng(5)
    for _ in range(6):
        y = cp.Variable(3)
        rows = [rng.integers(-3, 4, 3).astype(float) @ y >= float(rng.integers(0, 3)) for _ in range(4)]
        atoms = [-cp.log(rng.integers(-2, 3, 3).astype(float) @ y - 1 + y[0]), cp.inv_pos(y[1]), cp.norm(y)]
        problem = cp.Problem(cp.Minimize(sum(atoms)), [*rows, y <= -0.5 + float(rng.integers(0, 2)), y >= -4])
        conflict = wb.infeasible(problem)
        if conflict is None:
            continue
        assert conflict.irreducible
        for left_out in [None, *conflict.constraints]:
            rest = [each for each in conflict.constraints if each is not left_out]
            status = cp.Problem(cp.Minimize(0 * cp.sum(y)), rest)
            status.solve(cp.CLARABEL)
            assert (status.status == "optimal") == (left_out is not None)


def test_a_domain_that_a_bound_only_touches_is_no_crash():
    """1/t has no value at t ≤ 0, and no ray proves it: the rays of backends improve by nothing."""
    with pytest.raises(wb.BadInput, match="Neither a contradiction nor a feasible point could be proven") as told:
        wb.infeasible(cp.Problem(cp.Minimize(cp.inv_pos(t)), [t <= 0]))
    assert told.value.exit_code == 3, "the input was fine"
