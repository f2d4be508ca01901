"""A learner's values for a user's own convex program: judged by the proven optimum."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import workbench as wb


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
