"""A learner's values for a user's own convex program: judged by the proven optimum."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.errors import BadInput, MissingCapability
from workbench.judging.programs import (
    TERMS,
    Ends,
    Missed,
    at_proven,
    checkpoints,
    crosscheck_program,
    judged,
    missed_by,
    most_violated,
    out_of_order,
    rows_of,
    size_of,
    terms_in,
    terms_of,
    units,
)
from workbench.judging.terms import reach
from workbench.programs.compiled import compiled


@pytest.fixture
def least_squares():
    rng = np.random.default_rng(0)
    A, b = np.round(rng.normal(size=(20, 3)), 2), np.round(rng.normal(size=20), 2)
    x = cp.Variable(3, name="x")
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(A @ x - b)), [cp.sum(x) <= 0.25, x >= -1])
    return problem, x, A, b


def descent(A, b, steps, wrong=0.0):
    """Projected gradient steps on ½‖Ax − b‖² over the half-space (the box is not active); `wrong` errs the gradient."""
    x, found = np.zeros(A.shape[1]), []
    for step in range(1, steps + 1):
        x = x - (A.T @ (A @ x - b) + wrong) / np.linalg.norm(A, 2) ** 2
        x = x - max(x.sum() - 0.25, 0.0) / len(x)
        if step & (step - 1) == 0:
            found.append((step, {"x": x.copy()}))
    return found


def test_a_solved_problem_stands_for_the_values_of_its_variables(least_squares):
    problem = least_squares[0]
    with pytest.raises(BadInput, match=r"A Proof is nothing to compare with; give .* the cp\.Problem itself"):
        wb.crosscheck(problem, wb.prove(problem))
    assert "The values of x are missing" in wb.crosscheck(problem, problem).reason
    problem.solve(cp.CLARABEL)
    assert wb.crosscheck(problem, problem).verdict == "agrees"


def test_the_constraint_that_is_violated_most_is_named(least_squares):
    problem, x, _, _ = least_squares
    for values, name in (([0.5, 0.0, 0.0], "Sum(x"), ([-3.0, 0.0, 0.0], "-1.0 <= x")):
        verdict = wb.crosscheck({x: values}, problem)
        assert (verdict.verdict, verdict.rule) == ("not converged", "feasibility")
        assert f"violate the constraint {name}" in verdict.reason
        assert verdict.absolute == pytest.approx(verdict.evidence["objective"] - verdict.evidence["reference_lower"])
    assert x.value is None
    signed = cp.Variable(2, nonneg=True)
    told = wb.crosscheck([-1.0, 1.0], cp.Problem(cp.Minimize(cp.sum(signed)), [signed[1] >= 1]))
    assert f"violate the constraint that {signed.name()} declares by 1.0e+00, 1.0e+00 of the size" in told.reason


@pytest.mark.parametrize(("end", "side"), [(1 + 1e-6, "above"), (1 - 1e-6, "below")])
def test_the_side_of_the_optimum_is_told(end, side):
    x = cp.Variable()
    verdict = wb.crosscheck(end, cp.Problem(cp.Minimize(x), [x >= 1]))
    assert verdict.verdict == "agrees"
    assert f"1.0e-06 (relative) {side} the proven optimum" in verdict.reason


def test_a_method_that_reaches_the_optimum_agrees(least_squares):
    problem, x, A, b = least_squares
    verdict = wb.crosscheck(descent(A, b, 512), problem)
    assert (verdict.verdict, verdict.rule) == ("agrees", "optimum")
    assert x.value is None
    problem.solve(cp.CLARABEL)
    assert wb.crosscheck({x: x.value}, problem).verdict == "agrees"
    assert wb.crosscheck(x.value, problem).verdict == "agrees"


def test_a_wrong_gradient_stops_above_it_and_disagrees(least_squares):
    problem, _, A, b = least_squares
    verdict = wb.crosscheck(descent(A, b, 512, wrong=np.array([3.0, 0, 0])), problem)
    assert (verdict.verdict, verdict.rule) == ("disagrees", "ended")
    assert "it stops by itself there: its values are the same from pass" in verdict.reason


def test_values_outside_of_the_constraints_are_told(least_squares):
    problem, _, A, b = least_squares
    verdict = wb.crosscheck(np.linalg.lstsq(A, b)[0] + 5, problem)
    assert (verdict.verdict, verdict.rule) == ("not converged", "feasibility")
    assert verdict.evidence["violation"] > 0.5


def test_faults_are_sentences(least_squares):
    problem, x, _, _ = least_squares
    for learned, words in (
        ({}, "missing"),
        (np.zeros(4), "shape"),
        (np.full(3, np.nan), "finite"),
        ({"x": "abc"}, "not numbers"),
        (RuntimeError("out of luck"), "out of luck"),
    ):
        verdict = wb.crosscheck(learned, problem)
        assert verdict.verdict == "failed"
        assert words in verdict.reason
    unbounded = cp.Problem(cp.Minimize(x[0]))
    assert wb.crosscheck(np.zeros(3), unbounded).verdict == "not comparable"


def test_a_maximum_is_judged_as_a_maximum():
    x = cp.Variable()
    problem = cp.Problem(cp.Maximize(2 - cp.square(x - 2)), [x <= 1])
    assert wb.crosscheck(np.array(1.0), problem).verdict == "agrees"
    below = wb.crosscheck(np.array(0.0), problem)
    assert below.verdict == "not converged"
    assert below.evidence["objective"] == -2
    assert below.excess == pytest.approx(3)
    assert "below the proven optimum" in below.reason
    above = wb.crosscheck(np.array(1.5), problem, tolerance=0.6)
    assert (above.verdict, above.rule) == ("not converged", "feasibility")
    assert "above the proven optimum, so its values are infeasible" in above.reason
    far = wb.crosscheck(np.array(2.0), problem, tolerance=0.99)
    assert (far.verdict, far.rule) == ("not converged", "feasibility")
    assert wb.crosscheck([(1, np.array(0.0)), (9, np.array(1.0))], problem).verdict == "agrees"


WIDE = [  # values of x², proven to lie between these ends
    (0, 10, 2.0, "not comparable", "reference"),
    (0, 10, 0.001, "agrees", "optimum"),
    (0, 10, 3.2, "not converged", "history"),
    (None, 10, 2.0, "not comparable", "reference"),
    (None, 10, 4.0, "not converged", "history"),
    (3, None, 2.0, "not comparable", "reference"),
    (3, None, 1.0, "not converged", "feasibility"),
    (None, None, 2.0, "not comparable", "reference"),
    (4, 4 + Fraction(1, 10**5), 2.0, "agrees", "optimum"),
    (4, 4 + Fraction(1, 10**5), 2.1, "not converged", "history"),
]


@pytest.mark.parametrize("maximise", [False, True])
@pytest.mark.parametrize(("lower", "upper", "value", "verdict", "rule"), WIDE)
def test_a_wide_interval_agrees_with_nothing_that_it_does_not_prove(
    lower, upper, value, verdict, rule, maximise, monkeypatch
):
    x = cp.Variable(name="x")
    problem = cp.Problem(cp.Maximize(-cp.square(x)) if maximise else cp.Minimize(cp.square(x)), [x >= -9])
    ends = [None if end is None else Fraction(end) for end in (lower, upper)]
    if maximise:
        ends = [None if end is None else -end for end in reversed(ends)]
    proof = replace(wb.prove(problem), kind="bounded", lower=ends[0], upper=ends[1], remark="no interior")
    monkeypatch.setattr("workbench.judging.programs.prove", lambda problem: proof)
    found = wb.crosscheck({"x": value}, problem)
    assert (found.verdict, found.rule) == (verdict, rule)
    if verdict == "not comparable" and (lower, upper) != (None, None):
        told = [end for end in ends if end is not None]
        assert all(f"{float(end):g}" in found.reason for end in told)


def test_a_cone_without_interior_agrees_with_nothing():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(x[0]), [cp.norm(x) <= x[1]])
    assert wb.prove(problem).width > 1
    assert wb.crosscheck(np.array([0.0, 5.0]), problem).verdict == "not comparable"


def test_odd_keys_histories_and_tolerances(least_squares):
    problem, x, A, b = least_squares
    good = descent(A, b, 512)[-1][1]["x"]
    for learned, words in (
        ({x: good, 7: good}, "no variable"),
        ({x: good, cp.Variable(name="other"): 1.0}, "no variable"),
        ({None: good}, "no variable"),
        ({(1, 2): good}, "no variable"),
        ({"x": good, "y": good}, "no variable"),
        ({x: good * 1j}, "complex"),
        ({x: None}, "missing"),
        ({x: [[1], [2, 3]]}, "not numbers"),
        ([(None, good)], "passes"),
        ([("two", good)], "passes"),
        ([(np.nan, good)], "passes"),
        ([(-1, good), (2, good)], "passes"),
        ([(4, good), (2, good)], "increase"),
        ([], "shape"),
        (None, "missing"),
    ):
        verdict = wb.crosscheck(learned, problem)
        assert verdict.verdict == "failed", learned
        assert words in verdict.reason, verdict.reason
    for tolerance in (-1, np.inf, np.nan, None, "1e-4"):
        with pytest.raises(BadInput, match="tolerance"):
            wb.crosscheck(good, problem, tolerance)
    twins = cp.Variable(name="t"), cp.Variable(name="t")
    both = cp.Problem(cp.Minimize(sum(twins)), [twins[0] >= 1, twins[1] >= 2])
    assert "Several variables" in wb.crosscheck({"t": 1.0}, both).reason
    assert wb.crosscheck({twins[0]: 1.0, twins[1]: 2.0}, both).verdict == "agrees"


@pytest.mark.filterwarnings("error")
def test_values_outside_of_a_domain_are_infeasible():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(x) - cp.sum(cp.log(x))), [cp.exp(x) <= 9])
    assert wb.crosscheck(np.array([1.0, 1.0]), problem).verdict == "agrees"
    for values in ([-1.0, 1.0], [0.0, 1.0], [1e6, 1.0]):
        assert wb.crosscheck(np.array(values), problem).verdict == "not converged"


# ── units: what is multiplied by a number stays the same problem ─────────────────────────────────────────────────

A_ROWS = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0], [3.0, -1.0, 2.0]])
GOALS = {  # optima of about 2.6, of exactly 0 of terms that are not, and 0 but for rounding
    "positive": lambda x: cp.sum(x) + cp.norm(x),
    "cancels": lambda x: 3 * x[0] + 2 * x[1] - 5 * x[2],
    "squares": lambda x: cp.sum_squares(A_ROWS @ x - A_ROWS @ np.ones(3)),
    "rounded": lambda x: 0.1 * x[0] + 0.2 * x[1] - 0.3 * x[2],
}
POINTS = st.tuples(*[st.sampled_from([-2.0, -1e-3, -1e-9, 0.0, 1e-9, 1e-3, 1.0])] * 3)
SEARCH = (Phase.explicit, Phase.reuse, Phase.generate)  # each example proves two programs
POWERS = st.integers(-12, 12).map(lambda k: 2.0**k)


def stated(goal, offset, rows=(1.0,) * 6, objective=1.0, unit=1.0):
    """The verdict on 1 + `offset`, with each constraint, the objective and x in units of their own."""
    x = cp.Variable(3, name="x")
    own, (a, b, c, d, e, f) = x / unit, rows
    constraints = [a * own[0] >= a, b * (own[1] - own[0]) >= 0, c * own[2] <= c, d * cp.norm(own) <= 4 * d]
    constraints += [e * own >= -e, cp.SOC(5 * f, f * (own - 1))]
    problem = cp.Problem(cp.Minimize(objective * GOALS[goal](own)), constraints)
    return wb.crosscheck(unit * (1 + np.array(offset)), problem)


@pytest.mark.parametrize("goal", GOALS)
@settings(max_examples=6, deadline=None, phases=SEARCH)
@given(POINTS, st.lists(POWERS, min_size=6, max_size=6), POWERS, POWERS)
def test_the_verdict_does_not_change_with_the_units_of_rows_objective_and_variables(
    goal, offset, rows, objective, unit
):
    plain, other = stated(goal, offset), stated(goal, offset, rows, objective, unit)
    assume(max(each.evidence["reference_gap"] for each in (plain, other)) < 1e-7)  # in other units less may be proven
    assert (plain.verdict, plain.rule) == (other.verdict, other.rule)
    assert other.excess == pytest.approx(plain.excess, rel=1e-3, abs=1e-6)
    assert other.evidence["violation"] == pytest.approx(plain.evidence["violation"], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(("miss", "verdict"), [(1e-9, "agrees"), (1e-2, "not converged")])
def test_the_unit_of_a_row_does_not_matter(scale, miss, verdict):
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [scale * x >= scale * np.array([1.0, 0.0])])
    for values in ([1.0 - miss, miss], [1.0 + miss, -miss]):
        found = wb.crosscheck(values, problem)
        assert (found.verdict, found.rule) == (verdict, "optimum" if miss < 1e-4 else "feasibility")


def test_a_row_of_huge_terms_may_be_missed_by_their_rounding():
    x = cp.Variable(3, name="x")
    problem = cp.Problem(cp.Minimize(x[2]), [1e9 * x[0] - 1e9 * x[1] == 0.1, x[0] == 1 / 3, x[2] >= 1])
    assert abs(1e9 * (1 / 3) - 1e9 * (1 / 3 - 1e-10) - 0.1) > 1e-9
    assert wb.crosscheck([1 / 3, 1 / 3 - 1e-10, 1.0], problem).verdict == "agrees"


def test_a_distance_is_not_hidden_by_the_terms_of_the_point_where_the_optimum_is_0():
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(x[0] - x[1]), [x[0] >= x[1], x[1] >= 1, x <= 1e12])
    assert wb.prove(problem).optimum == 0
    found = wb.crosscheck([1e10 + 1, 1e10], problem)
    assert (found.verdict, found.rule) == ("not converged", "history")


@pytest.mark.parametrize(("least", "verdict"), [(-0.9e-4, "agrees"), (-1.1e-4, "not converged")])
def test_a_row_without_a_constant_is_measured_in_the_unit_of_its_variable(least, verdict):
    """x*= (1000, 0): 1e-4 of the largest entry is allowed, and not of the violation itself."""
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(x[0]), [x[0] >= 1000, x >= 0, cp.sum(x) <= 1000])
    found = wb.crosscheck([1000.0, 1000 * least], problem)
    assert found.verdict == verdict
    assert found.evidence["violation"] == pytest.approx(-least)


@pytest.mark.parametrize(("value", "verdict"), [(0.9e-6, "agrees"), (0.8e-6, "not converged")])
def test_a_constant_next_to_nothing_is_measured_in_a_thousandth_of_that_unit(value, verdict):
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(x[0] + x[1]), [x[0] >= 1, x[1] >= 1e-6])
    assert wb.crosscheck([1.0, value], problem).verdict == verdict


ZERO_GOALS = {  # optima of 0, of the goals' sums and squares
    "linear": lambda x: x[0] + 2 * x[1] + 3 * x[2],
    "squares": lambda x: cp.sum_squares(x),
    "norm": lambda x: cp.norm1(x),
}


def at_zero(goal, offset, rows=(1.0,) * 4, objective=1.0, unit=(1.0,) * 3):
    """The verdict on values of three variables that are all 0 at the optimum, each told in a unit of its own.

    The third has no constraint with a number, and is tied to the second.
    """
    x = [cp.Variable(name=name) for name in "abc"]
    own, (a, b, c, d) = [each / u for each, u in zip(x, unit, strict=True)], rows
    constraints = [a * own[0] + 2 * a * own[1] <= 4 * a, b * own[0] >= 0, c * own[1] >= 0, d * own[1] >= d * own[2]]
    constraints += [cp.SOC(cp.Constant(3.0), cp.hstack([own[0], own[1]])), own[2] >= 0]
    problem = cp.Problem(cp.Minimize(objective * ZERO_GOALS[goal](cp.hstack(own))), constraints)
    return wb.crosscheck({each: u * v for each, u, v in zip(x, unit, offset, strict=True)}, problem)


NEAR_ZERO = st.sampled_from([-1e-2, -1e-6, 0.0, 1e-9, 1e-6, 5e-3, 5e-2, 1.0])


@pytest.mark.parametrize("goal", ZERO_GOALS)
@settings(max_examples=6, deadline=None, phases=SEARCH)
@given(st.tuples(*[NEAR_ZERO] * 3), st.lists(POWERS, min_size=4, max_size=4), POWERS, st.tuples(*[POWERS] * 3))
def test_the_verdict_at_0_does_not_change_with_the_unit_of_any_single_variable(goal, offset, rows, objective, unit):
    plain, other = at_zero(goal, offset), at_zero(goal, offset, rows, objective, unit)
    assume(max(each.evidence["reference_gap"] for each in (plain, other)) < 1e-7)
    assert (plain.verdict, plain.rule) == (other.verdict, other.rule)
    assert other.excess == pytest.approx(plain.excess, rel=1e-3, abs=1e-6)
    assert other.evidence["violation"] == pytest.approx(plain.evidence["violation"], rel=1e-3, abs=1e-12)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(("off", "agrees"), [(1e-9, True), (5e-2, False)])
@pytest.mark.parametrize("goal", ["linear", "squares"])
def test_at_an_optimum_of_0_the_rows_say_what_is_large(goal, off, agrees, unit):
    x = cp.Variable(3, name="x")
    rows = A_ROWS[:2] @ (x / unit) <= [4, 6]
    found = wb.crosscheck(np.full(3, off * unit), cp.Problem(cp.Minimize(ZERO_GOALS[goal](x / unit)), [rows, x >= 0]))
    assert found.verdict == ("agrees" if agrees else "not converged")
    assert found.rule == ("optimum" if agrees else "history")


def test_a_variable_without_a_unit_is_named():
    x = cp.Variable(2, name="speed")
    alone = cp.Problem(cp.Minimize(cp.sum_squares(x)))
    told = "no constraint gives speed a unit, so state it in units of about 1"
    assert told in wb.crosscheck(np.full(2, 1e-3), alone).reason
    tied = cp.Problem(cp.Minimize(cp.sum_squares(x)), [x <= 5])
    assert "gives" not in wb.crosscheck(np.full(2, 1e-3), tied).reason


def unit_of(problem, made, proof):
    return units(problem, at_proven(problem, made, proof), proof)


def test_the_lower_end_is_told_in_the_sense_of_the_objective():
    x = cp.Variable(name="x")
    for goal, optimum in ((cp.Minimize(x), 2.0), (cp.Maximize(-x), -2.0), (cp.Maximize(x), 3.0)):
        found = wb.crosscheck(2.5, cp.Problem(goal, [x >= 2, x <= 3])).evidence
        assert found["reference_lower"] == pytest.approx(optimum)


def test_the_sizes_that_rows_give_a_variable():
    x, y = cp.Variable(2, name="x"), cp.Variable(name="y")
    none = {x.id: 0.0, y.id: 0.0}

    def size(*constraints, known=none, of=x):
        return reach(constraints, of, known)

    assert size(x >= 0) is size() is size(y <= 4) is size(cp.exp(x) <= 4) is None
    assert size(x <= [4, 6]) == size(x >= [-4, 0]) == pytest.approx(4)
    assert size(x[0] + 3 * x[1] <= 8, x <= 5) == pytest.approx(2)
    assert size(1e-30 * x <= 4) == pytest.approx(4e30)
    assert size(cp.sum_squares(x) <= 8) == pytest.approx(2, rel=1e-5)
    assert size(cp.norm(x) <= np.sqrt(8) * 1e-9) == pytest.approx(2e-9, rel=1e-5)
    assert size(x <= [1e-17, 1.0]) == pytest.approx(1), "a constant that is 0 but for rounding"
    assert size(x <= 3 * y, known=none | {y.id: 2.0}) == pytest.approx(6)
    bounded = cp.Variable(2, name="z", bounds=[[0.0, -3.0], [np.inf, 9.0]])
    assert reach([], bounded, {bounded.id: 0.0}) == 3


def test_a_point_that_is_0_but_for_noise_gives_no_unit():
    x, y = cp.Variable(3, name="x"), cp.Variable(2, name="y")
    problem = cp.Problem(cp.Minimize(cp.norm(x) + cp.sum(y)), [A_ROWS @ x <= [4, 6, 6], y >= 0.3])
    made, proof = compiled(problem), wb.prove(problem)
    assert 0 < np.abs(at_proven(problem, made, proof)[x.id]).max() < 1e-9
    assert unit_of(problem, made, proof) == ({x.id: pytest.approx(1), y.id: pytest.approx(0.3)}, ())


def test_a_variable_beside_the_objective_has_the_unit_of_its_point():
    x, y = cp.Variable(name="x"), cp.Variable(name="y")
    problem = cp.Problem(cp.Minimize(x), [x >= 1, y >= 7, y <= 9e3, y == 5e3 * x])
    found = unit_of(problem, compiled(problem), wb.prove(problem))
    assert found == ({x.id: pytest.approx(1), y.id: pytest.approx(5e3)}, ())


def test_a_constant_of_the_objective_does_not_hide_what_is_noise():
    x, y = cp.Variable(name="x"), cp.Variable(name="y")
    problem = cp.Problem(cp.Minimize(x + 2 * y + 1000), [x >= 0, x <= 4, y >= 5, y <= 6])
    there = {x.id: np.array(1e-7), y.id: np.array(5.0)}
    proof = SimpleNamespace(lower=Fraction(1010), upper=Fraction(1010) + Fraction(1, 10**6))
    assert units(problem, there, proof).sizes == {x.id: 4.0, y.id: 5.0}
    proof.upper = proof.lower + Fraction(1, 10**8)
    assert units(problem, there, proof).sizes == {x.id: 1e-7, y.id: 5.0}


@pytest.mark.parametrize("values", [1.0, [1.0], [[1.0]], np.float64(1.0)])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_entry_may_have_any_shape(values, shape):
    problem = cp.Problem(cp.Minimize(cp.sum(x := cp.Variable(shape, name="x"))), [x >= 1])
    assert wb.crosscheck(values, problem).verdict == "agrees"
    assert wb.crosscheck([(1, values), (2, values)], problem).verdict == "agrees"


def test_the_units_of_variables():
    """That of a variable that is 0 at the optimum is the largest of all, and where all are 0 it is 1."""
    x, y, z = (cp.Variable(2, name=name) for name in "xyz")
    problem = cp.Problem(cp.Minimize(cp.sum(x + y + z)), [x >= [1, 3], y >= [2, 0], z >= 0])
    made = compiled(problem)
    assert unit_of(problem, made, wb.prove(problem)) == ({x.id: 3.0, y.id: 2.0, z.id: 3.0}, ("z",))
    nothing = cp.Problem(cp.Minimize(cp.sum(z)), [z >= 0])
    assert unit_of(nothing, compiled(nothing), wb.prove(nothing)) == ({z.id: 1.0}, ("z",))


def test_units_and_terms_are_sizes_where_the_optimum_is_negative():
    x, y = (cp.Variable(2, name=name) for name in "xy")
    problem = cp.Problem(cp.Maximize(cp.sum(x) - cp.sum(y)), [x <= [-5, 0], y >= [-1, -3]])
    made, proof = compiled(problem), wb.prove(problem)
    assert unit_of(problem, made, proof) == ({x.id: 5.0, y.id: 3.0}, ())
    assert objective_terms(problem) == 9.0


@pytest.mark.parametrize(("price", "terms"), [(1e-10, 1000.0), (1.5e-9, 1.5e-9)])
def test_terms_that_are_0_but_for_rounding_are_told_in_units(price, terms):
    x, y = cp.Variable(name="x"), cp.Variable(name="y")
    problem = cp.Problem(cp.Minimize(price * x + 1000 * y), [x >= 1, y >= 0])
    assert objective_terms(problem) == pytest.approx(terms)


def test_units_and_terms_below_1_are_as_small_as_they_are():
    x = cp.Variable(name="x")
    problem = cp.Problem(cp.Minimize(x), [x >= 0.25])
    made, proof = compiled(problem), wb.prove(problem)
    assert unit_of(problem, made, proof) == ({x.id: 0.25}, ())
    assert objective_terms(problem) == 0.25


def test_what_is_0_but_for_rounding():
    """The least size, and the share of the terms up to which an optimum counts as 0."""
    assert size_of(1e-9, 1e-9, 1.0) == (1e-6, "relative")
    assert size_of(1e-12, 1e-12, 1.0) == (1.0, TERMS)
    assert size_of(np.nextafter(1e-12, 1), 1.1e-12, 1.0) == (1e-6, "relative")
    assert size_of(1e-13, 0.5, 1.0) == (0.5, "relative")
    assert size_of(-2.0, -1.0, 5.0) == (2.0, "relative")
    assert size_of(3.0, np.inf, 5.0) == (3.0, "relative")
    assert size_of(0.0, 0.0, 5.0, ["x", "y"])[1].startswith(f"{TERMS}; no constraint gives x and others a unit")
    assert size_of(-np.inf, np.inf, 5.0) == size_of(-1.0, 0.0, 5.0) == (5.0, TERMS)


@pytest.mark.parametrize(("value", "relative"), [(-0.05, 0.05 / 1000), (-3000.0, 1.0)])
def test_attributes_are_measured_in_units_or_by_the_value(value, relative):
    x = cp.Variable(2, name="x", nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x[0] >= 1000])
    found = wb.crosscheck([4000.0, value], problem)
    assert found.evidence["violation"] == pytest.approx(relative)


def test_a_row_without_any_terms_has_the_size_1():
    x = cp.Variable(2, name="x")
    assert rows_of(np.array([0.0, 2.0]) @ cp.diag(x) >= 0, {x.id: np.ones(2)}, {x.id: 3.0}).tolist() == [1.0, 6.0]


def test_violations_are_blamed_for_values_that_are_too_good_alone():
    assert "allow" not in told(-0.125).reason
    assert "allow" not in told(0.125, violations=[0.125]).reason
    assert "missed by 1.2e-01 of the size of their terms, allow" in told(-0.125, violations=[0.125]).reason


def test_a_violation_that_is_no_number_is_infinite():
    assert missed_by(np.array([np.nan, 1.0]), np.array([2.0, 2.0])) == (np.inf, np.inf)
    assert missed_by(np.zeros(0), np.zeros(0)) == (0.0, 0.0)
    assert missed_by(np.array([1.0, 3.0]), np.array([1.0, 6.0])) == (1.0, 1.0)
    assert missed_by(3.0, np.array([1.0, 6.0])) == (3.0, 0.5)


def test_each_cone_of_a_list_of_cones_has_its_own_size():
    t, X = cp.Variable(2, name="t"), cp.Variable((2, 2), name="X")
    cones = cp.SOC(t, X, axis=0)
    given = {t.id: np.array([1.0, 2.0]), X.id: np.array([[10.0, 20.0], [100.0, 200.0]])}
    np.testing.assert_array_equal(terms_in(cones, given), [111.0, 222.0])
    np.testing.assert_array_equal(terms_in(cp.SOC(t, X, axis=1), given), [31.0, 302.0])
    assert terms_in(cp.SOC(t[0], X[0]), given) == 31.0
    assert terms_in(cp.ExpCone(t, X[0], X[1]), given) == 333.0


# ── made-up numbers: 0 ≤ p* ≤ 0 of size 1 and a tolerance of a quarter, unless something else is said ────────────


def told(*objectives, ends=(0.0, 0.0, 1.0), tolerance=0.25, violations=None, broken=""):
    """The verdict on checkpoints after 1, 2, 4, … passes with these objectives and violations."""
    missed = violations or [0.0] * len(objectives)
    seen = [(2.0**k, f, v) for k, (f, v) in enumerate(zip(objectives, missed, strict=True))]
    return judged(seen, Ends(*ends), tolerance, broken)


def test_a_tolerance_is_reached_at_exactly_its_value():
    assert told(0.25).verdict == told(-0.25).verdict == "agrees"
    above, below = told(np.nextafter(0.25, 1)), told(np.nextafter(-0.25, -1))
    assert (above.verdict, above.rule) == ("not converged", "history")
    assert (below.verdict, below.rule) == ("not converged", "feasibility")


def test_a_constraint_may_be_missed_by_exactly_the_tolerance():
    assert told(0.0, violations=[0.25]).verdict == "agrees"
    assert told(0.0, violations=[np.nextafter(0.25, 1)]).rule == "feasibility"


def test_at_the_optimum_itself_the_side_is_that_of_what_may_be_reached():
    assert "0.0e+00 (relative) above the proven optimum" in told(0.0).reason
    assert "0.0e+00 (relative) below the proven optimum" in told(0.0, ends=(0.0, 0.0, 1.0, "relative", -1)).reason


@pytest.mark.parametrize(("upper", "threshold"), [(0.125, 0.375), (0.25, 0.5), (np.nextafter(0.25, 1), 0.25)])
def test_an_interval_up_to_the_width_of_the_tolerance_is_added_to_it(upper, threshold):
    assert told(0.0, ends=(0.0, upper, 1.0)).evidence["threshold"] == threshold
    assert told(threshold, ends=(0.0, upper, 1.0)).verdict == "agrees"
    assert told(np.nextafter(threshold, 1), ends=(0.0, upper, 1.0)).verdict != "agrees"


@pytest.mark.parametrize("lower", [0.0, -np.inf])
def test_what_lies_within_exactly_the_tolerance_of_a_wide_interval_cannot_be_told(lower):
    assert told(1.25, ends=(lower, 1.0, 1.0)).verdict == "not comparable"
    assert told(np.nextafter(1.25, 2), ends=(lower, 1.0, 1.0)).verdict == "not converged"


def test_what_lies_above_a_wide_interval_is_measured_from_its_upper_end():
    narrow, wide = told(1.0, ends=(0.0, 0.25, 1.0)), told(1.0, ends=(0.0, 0.5, 1.0))
    assert "its objective is 1.0e+00 (relative) above the proven optimum" in narrow.reason.lower()
    assert "its objective is 5.0e-01 (relative) above the proven end 0.5" in wide.reason.lower()
    assert (wide.excess, wide.absolute) == (1.0, 1.0)  # as of all others, over the lower end


def test_differences_are_divided_by_the_size():
    found = told(12.0, ends=(2.0, 6.0, 8.0))
    assert "its objective is 7.5e-01 (relative) above the proven end 6" in found.reason.lower()
    assert (found.excess, found.absolute) == (1.25, 10.0)
    wanted = {"objective": 12.0, "threshold": 0.25, "reference_lower": 2.0, "reference_gap": 0.5, "violation": 0.0}
    assert found.evidence == wanted
    assert told(7.9, ends=(2.0, 6.0, 8.0)).verdict == "not comparable"  # 1.9 above it, of 2 that are allowed


def test_where_no_lower_end_is_proven_the_excess_is_over_the_upper_one():
    found = told(8.0, ends=(-np.inf, 2.0, 4.0))
    assert (found.verdict, found.excess, found.absolute) == ("not converged", 1.5, 6.0)


def test_the_last_checkpoint_is_the_one_that_is_judged():
    found = told(5.0, 0.125, violations=[9.0, 0.125])
    assert (found.verdict, found.excess, found.absolute) == ("agrees", 0.125, 0.125)
    assert (found.evidence["objective"], found.evidence["violation"]) == (0.125, 0.125)
    assert told(5.0, -5.0).rule == "feasibility"
    assert told(-5.0, 5.0).rule == "history"
    assert told(5.0, 0.5, ends=(-np.inf, 0.5, 1.0)).verdict == "not comparable"
    broken = told(0.0, 0.0, violations=[np.inf, 2.0], broken="the constraint x >= 1 by 8.0e+00")
    assert broken.reason == "Its values violate the constraint x >= 1 by 8.0e+00, 2.0e+00 of the size of its terms."
    undefined = told(0.0, np.inf, violations=[2.0, np.inf])
    assert undefined.reason == "Its values violate a constraint, which its objective depends on."


def test_two_answers_are_a_history_and_one_is_none():
    assert "one answer tells not whether it moves" in told(2.0).reason
    assert "falls like passes^-1" in told(4.0, 2.0).reason


@pytest.mark.parametrize("height", [0.5, 3.0])
def test_who_stays_above_the_optimum_has_settled_where_it_is(height):
    found = told(height, height)
    assert "seems to stay there" in found.reason
    assert found.evidence["limit"] == height
    assert found.evidence["power"] == pytest.approx(0.0)


def test_a_checkpoint_below_the_optimum_counts_as_one_at_it():
    """Its excess is next to nothing, and not negative, so that the history rises from there."""
    assert told(-1.0, 1.0).evidence["power"] < -100


@pytest.mark.parametrize(("tolerance", "settled"), [(0.125, False), (1e-6, True)])
def test_a_fall_to_what_the_tolerance_allows_at_the_problems_size_has_not_settled(tolerance, settled):
    """Excesses 1 + 3·8/t of size 8, an eighth of which is 1; they fall too much for a learner that stands."""
    found = told(*(1 + 24 / 2.0**k for k in range(8)), ends=(0.0, 0.0, 8.0), tolerance=tolerance)
    assert (found.verdict, found.rule) == ("not converged", "history")
    assert ("seems to stay there" in found.reason, "falls like" in found.reason) == (settled, not settled)


def test_who_stands_has_settled_whatever_a_curve_would_say():
    assert "seems to stay there" in told(1.3, 1.0, 1.3, 1.0, 1.3, 1.0, 1.3, 1.0).reason


@pytest.mark.parametrize(
    ("sign", "told_as", "worse", "better"),
    [(1, "at least 2 and at most 3", "above", "below"), (-1, "at least -3 and at most -2", "below", "above")],
)
def test_ends_are_told_in_the_users_sense(sign, told_as, worse, better):
    found = Ends(2.0, 3.0, 1.0, "relative", sign)
    assert (found.told, found.worse, found.better) == (told_as, worse, better)


def test_ends_are_those_of_a_minimisation_if_nothing_is_said():
    assert Ends(2.0, 3.0, 1.0).told == "at least 2 and at most 3"
    assert Ends(-np.inf, 3.0, 1.0).told == "at most 3"
    assert Ends(2.0, np.inf, 1.0).told == "at least 2"


# ── what is handed over ───────────────────────────────────────────────────────────────────────────


def test_values_that_are_no_pairs_are_one_answer_after_one_pass():
    values, problem = np.zeros(3), cp.Problem(cp.Minimize(cp.sum(cp.Variable(3))))
    assert checkpoints(values, problem) == [(1.0, values)]
    mixed = [(1.0, values), values]
    assert checkpoints(mixed, problem) == [(1.0, mixed)]
    assert checkpoints([(4, values), (8, values)], problem) == [(4, values), (8, values)]


def test_pairs_of_numbers_are_rows_where_the_variable_has_two_columns():
    rows = [(1.0, 2.0), (3.0, 4.0)]
    table, number = (cp.Problem(cp.Minimize(cp.sum(cp.Variable(shape)))) for shape in ((2, 2), ()))
    assert checkpoints(rows, table) == [(1.0, rows)]
    assert checkpoints(rows, number) == rows
    assert checkpoints([(1, np.eye(2)), (2, np.eye(2))], table)[1][0] == 2


@pytest.mark.parametrize(
    ("history", "told"),
    [
        ([(1, 2.0), (2, 4.0)], "and was 3.1e-01 before, so it rises; look at its steps"),
        ([(1, 2.0), (2, 2.2)], "and does not fall yet; run it longer"),
        ([(1, 4.0), (2, 4.0)], "and it stops by itself there: its values are the same from pass 1 to pass 2"),
        ([(1, 4.0), (2, 2.0)], "and falls like passes^-"),
        ([(1, 2.0), (2, -1.0)], "Its values lie outside of the domain of the objective"),
        ([(1, -1.0), (2, 2.0)], "and does not fall yet"),
    ],
)
def test_a_trend_is_told_where_there_is_one(history, told):
    x = cp.Variable()
    verdict = wb.crosscheck(history, cp.Problem(cp.Minimize(x - cp.log(x))))
    assert verdict.verdict == ("disagrees" if "stops" in told else "not converged")
    assert told in verdict.reason


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_unit_of_the_objective_does_not_matter(scale):
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(scale * (x[0] + 2 * x[1])), [x >= 1, x <= 9])
    nine, near = wb.crosscheck([9.0, 9.0], problem), wb.crosscheck([1.0 + 1e-4, 1.0], problem)
    assert (nine.verdict, near.verdict) == ("not converged", "agrees")
    assert nine.excess == pytest.approx(8)
    assert "8.0e+00 (relative) above" in nine.reason


@pytest.mark.parametrize(("value", "verdict"), [(0.9e-4, "agrees"), (1.1e-4, "not converged")])
def test_where_the_optimum_and_all_terms_are_0_the_excess_is_that_in_units_of_the_objective(value, verdict):
    x = cp.Variable()
    found = wb.crosscheck(value, cp.Problem(cp.Minimize(x), [x >= 0]))
    assert (found.verdict, found.excess) == (verdict, value)
    assert "(relative to the size of its terms, since the optimum may be 0; no constraint gives" in found.reason


def objective_terms(problem):
    made, proof = compiled(problem), wb.prove(problem)
    return terms_of(problem, at_proven(problem, made, proof), proof, unit_of(problem, made, proof).sizes)


def test_an_optimum_that_is_0_but_for_rounding_is_measured_by_its_terms():
    """0.1 + 0.2 − 0.3 is 5.6e-17 in stored floats, of terms of 0.6."""
    x = cp.Variable(3, name="x")
    problem = cp.Problem(cp.Minimize(x[0] + x[1] - x[2]), [x[0] >= 0.1, x[1] >= 0.2, x[2] <= 0.3, x <= 1])
    proof = wb.prove(problem)
    assert 0 < proof.optimum < 1e-16
    assert objective_terms(problem) == pytest.approx(0.6)
    found = wb.crosscheck([0.1 + 1e-6, 0.2, 0.3], problem)
    assert (found.verdict, found.excess) == ("agrees", pytest.approx(1e-6 / 0.6, rel=1e-3))
    assert "relative to the size of its terms, since the optimum may be 0" in found.reason


def test_the_terms_of_a_quadratic_objective():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x) - 2 * x[0] + 3), [x >= 1, x[1] <= 1])
    assert objective_terms(problem) == pytest.approx(3 + 2 + 2)


def test_values_below_the_optimum_miss_a_constraint():
    x = cp.Variable()
    reason = wb.crosscheck(1 - 5e-5, cp.Problem(cp.Minimize(x), [x >= 1])).reason
    assert (
        "below the proven optimum, which its constraints, missed by 2.5e-05 of the size of their terms, allow, within"
        in reason
    )


@pytest.mark.parametrize(
    ("passes", "words"),
    [
        ([0], "checkpoint 1 are no positive number"),
        ([0.5, 0], "checkpoint 2 are no positive number"),
        ([1, np.inf], "checkpoint 2 are no positive number"),
        ([1, 2, 2], "do not increase"),
    ],
)
def test_passes_that_are_no_history_are_told(passes, words):
    assert words in out_of_order(passes)


def test_positive_passes_that_increase_are_a_history():
    assert out_of_order([1e-9, 0.5, 1, 1e300]) is None


def missed(*numbers):
    return [Missed(10 * each, each) for each in numbers]


def test_nothing_is_violated_most_where_nothing_is_violated():
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1, x <= 5])
    assert most_violated(problem, missed(0.0, 0.0, 0.0)) == most_violated(problem, []) == ""
    assert most_violated(problem, missed(0.0, 1.0, 0.0)) == "the constraint x <= 5.0 by 1.0e+01"
    assert most_violated(problem, missed(0.0, 1e-300, 0.0)) == "the constraint x <= 5.0 by 1.0e-299"
    assert most_violated(problem, missed(1.0, 0.0, 2.0)) == "the constraint that x declares by 2.0e+01"
    assert most_violated(problem, missed(1.0, np.inf, 2.0)) == "the constraint x <= 5.0"


def test_a_long_constraint_is_told_by_its_first_sixty_characters():
    x = cp.Variable(name="x" * 61)
    told = most_violated(cp.Problem(cp.Minimize(x), [x <= 1]), missed(1.0, 0.0))
    assert told == f"the constraint {'x' * 60} by 1.0e+01"


def proven(monkeypatch, lower, upper):
    """What `prove` is made to say of any minimisation."""
    proof = SimpleNamespace(program=SimpleNamespace(sign=1), lower=Fraction(lower), upper=Fraction(upper), x=None)
    monkeypatch.setattr("workbench.judging.programs.prove", lambda problem: proof)


def test_a_ten_thousandth_is_tolerated_if_nothing_is_said(monkeypatch):
    proven(monkeypatch, 0, 0)
    x = cp.Variable(name="x")
    problem = cp.Problem(cp.Minimize(x), [x >= 0])
    assert crosscheck_program(0.99e-4, problem).verdict == "agrees"
    assert crosscheck_program(1.01e-4, problem).verdict == "not converged"


@pytest.mark.parametrize(("lower", "upper", "gap"), [(-8, -4, 0.5), (4, 8, 0.5), (0, 0.5, 0.5), (-0.25, 0.25, 0.5)])
def test_the_size_is_that_of_the_larger_end_and_1_where_the_optimum_may_be_0(lower, upper, gap, monkeypatch):
    proven(monkeypatch, lower, upper)
    x = cp.Variable(name="x")
    found = crosscheck_program(float(upper), cp.Problem(cp.Minimize(x), [x >= -1]))
    assert found.evidence["reference_gap"] == gap


def test_the_constraint_that_the_last_values_violate_is_told(monkeypatch):
    proven(monkeypatch, 0, 0)
    x = cp.Variable(name="x")
    found = crosscheck_program([(1, -5.0), (2, 5.0)], cp.Problem(cp.Minimize(x), [x >= 0, x <= 1]))
    assert found.reason == "Its values violate the constraint x <= 1.0 by 4.0e+00, 6.7e-01 of the size of its terms."


def test_one_entry_that_is_not_finite_is_one_too_many(monkeypatch):
    proven(monkeypatch, 0, 0)
    x = cp.Variable(2, name="x")
    found = crosscheck_program([0.0, np.nan], cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0]))
    assert (found.verdict, found.reason) == ("failed", "The values of x are not finite numbers.")


def test_a_problem_that_cannot_be_proven_is_refused_before_any_values_are_looked_at():
    x = cp.Variable(2, name="x", boolean=True)
    with pytest.raises(MissingCapability, match="integer or boolean"):
        crosscheck_program({}, cp.Problem(cp.Minimize(cp.sum(x))))
