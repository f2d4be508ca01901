"""A learner's values for a user's own convex program: judged by the proven optimum."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

import workbench as wb
from workbench.errors import BadInput


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
    assert f"violate the constraint that {signed.name()} declares by 1.0e+00" in told.reason


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


def test_a_wrong_gradient_settles_above_it(least_squares):
    problem, _, A, b = least_squares
    verdict = wb.crosscheck(descent(A, b, 512, wrong=np.array([3.0, 0, 0])), problem)
    assert (verdict.verdict, verdict.rule) == ("not converged", "history")
    assert "settled" in verdict.reason


def test_values_outside_of_the_constraints_are_told(least_squares):
    problem, _, A, b = least_squares
    verdict = wb.crosscheck(np.linalg.lstsq(A, b)[0] + 5, problem)
    assert (verdict.verdict, verdict.rule) == ("not converged", "feasibility")
    assert verdict.evidence["violation"] > 1


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
    problem = cp.Problem(cp.Maximize(1 - cp.square(x - 2)), [x <= 1])
    assert wb.crosscheck(np.array(1.0), problem).verdict == "agrees"
    below = wb.crosscheck(np.array(0.0), problem)
    assert below.verdict == "not converged"
    assert below.evidence["objective"] == -3
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
