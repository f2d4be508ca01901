"""Audits get a share of the learner's time, stand inside the limit of seconds, and say what they leave out."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest

import workbench as wb
from workbench.judging import judge
from workbench.judging.audits import AUDITS, audit
from workbench.judging.hooks import hooks_of
from workbench.judging.reference import reference_of
from workbench.judging.share import LARGE, LEAST, MOST, Allowance, allowed
from workbench.solvers.bcfw import BCFW
from workbench.system.processes import OutOfTime


@pytest.fixture(scope="module")
def reference():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 40)
    return reference_of(wb.solve(wb.SoftMargin(lam=0.1), wb.Multiclass(rng.normal(size=(40, 4)) + y[:, None], y)))


def test_the_share_is_the_learners_time_within_the_limit():
    assert allowed(2.0, 2.0, None, LARGE) == 2.0
    assert allowed(2.0, 3.0, None, LARGE) == 1.0  # a second of grading is the judge's own
    assert allowed(20.0, 20.0, None, LARGE) == MOST
    assert allowed(0.1, 0.1, None, LARGE) == LEAST
    assert allowed(20.0, 20.0, 21.0, LARGE) == 1.0
    assert allowed(20.0, 20.0, 19.0, LARGE) == 0.0
    assert allowed(0.1, 0.1, None, LARGE - 1) == np.inf
    assert allowed(0.1, 0.1, 1.0, LARGE - 1) == pytest.approx(0.9)


class Ticking:
    """A clock on which a second passes with each look."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


def test_audits_that_do_not_fit_are_named(reference):
    lent = hooks_of(BCFW(), reference.formulation, reference.problem)
    full = audit(lent, reference)
    every = list(AUDITS)
    for seconds in (0.0, 20.0, 200.0, 1e9):
        allowance = Allowance(seconds, Ticking())
        found = audit(lent.__class__(**vars(lent) | {"allowance": allowance}), reference)
        assert len(found) + len(allowance.skipped) >= len(full) - 1  # prox is no part of bcfw
        assert allowance.skipped == [name for name in every if name in allowance.skipped]
        assert bool(allowance.skipped) == (seconds < 1e9)
    assert allowance.clock.now < 1e6


def test_a_limit_covers_the_audits_and_the_remark_says_so(reference):
    found = wb.judge("subgradient", reference, passes=200, seconds=1e-9)
    assert "oracle, subgradient" in found.reason
    assert "did not fit" in found.reason
    assert "did not fit" not in wb.judge("subgradient", reference, passes=200).reason


def test_the_search_for_a_cause_is_left_when_its_seconds_are_spent(reference, monkeypatch):
    """A learner at the optimum of another λ is accused with the cause, or, without time, without it."""
    wrong = wb.solve(wb.SoftMargin(lam=1.0), reference.problem).theta_flat

    def fit(problem, formulation, budget, rng):
        return [(k, wrong) for k in range(1, budget + 1)]

    assert wb.judge(fit, reference, passes=8).causes
    reference.known.pop("detective")
    monkeypatch.setattr("workbench.judging.share.LARGE", 0)
    monkeypatch.setattr("workbench.judging.judge.SEARCH", 0.0)
    monkeypatch.setattr("workbench.judging.judge.allowed", lambda fits, spent, limit, size, least: 0.0)
    hurried = wb.judge(fit, reference, passes=8)
    assert hurried.verdict == "disagrees"
    assert not hurried.causes
    assert "did not fit" in hurried.reason


def test_an_alarm_ends_a_step_that_is_long_itself():
    def endless():
        with Allowance(0.05).held():
            while True:
                sum(range(1000))

    with pytest.raises(OutOfTime):
        endless()
    with Allowance(0.05).held():
        pass  # an alarm that is not needed does not go off later
    began = time.process_time()
    while time.process_time() - began < 0.1:
        sum(range(1000))


def test_on_large_problems_who_falls_is_asked_for_no_more_passes(reference, monkeypatch):
    """The row of a learner on its way appears after its fit; a patience, and an accused learner, bring more fits."""
    budgets = []

    def fit(problem, formulation, budget, rng):
        budgets.append(budget)
        return [(k, reference.theta * (1 - 0.5 * k**-0.5)) for k in range(1, budget + 1)]

    def stops(problem, formulation, budget, rng):
        budgets.append(budget)
        return [(k, reference.theta * 0.5) for k in range(1, budget + 1)]

    monkeypatch.setattr("workbench.judging.stand.LARGE", 0)
    assert wb.judge(fit, reference, passes=16, audit=False).verdict == "not converged"
    assert budgets == [16]
    wb.judge(fit, reference, passes=16, audit=False, patience=5.0)
    assert max(budgets) > 16
    budgets.clear()
    wb.judge(stops, reference, passes=16, audit=False)
    assert max(budgets) > 16


def test_a_point_that_a_run_has_graded_is_not_graded_again(reference, monkeypatch):
    theta = 0.3 * reference.theta
    value = reference.bounds.upper(theta)
    reference.graded([theta], [value])
    monkeypatch.setattr(type(reference.bounds), "upper", lambda *_: pytest.fail("graded twice"))
    assert reference.value(theta.copy()) == value


def test_an_error_that_native_code_makes_of_the_alarm_is_the_end_of_the_time():
    """PIQP says that it failed; an error before the time is over is one."""

    def native(allowance):
        try:
            while 0 < allowance.left < 1:
                pass
            raise ArithmeticError
        except BaseException as error:
            raise ArithmeticError from error

    for seconds, raised in ((1e-3, OutOfTime), (60.0, ArithmeticError)):
        allowance = Allowance(seconds, time.perf_counter)
        with pytest.raises(raised), allowance.held():
            native(allowance)


def test_the_search_for_another_objective_has_its_time_on_the_wall(monkeypatch):
    """Where nobody is accused, less than where somebody is; a remark says that it did not fit."""
    seen = []

    def explained(verdict, reports, reference, learner, search):
        seen.append(verdict.verdict)
        while True:
            time.sleep(1e-3)

    monkeypatch.setattr(judge, "explained", explained)
    monkeypatch.setattr(judge, "OPEN_SEARCH", 0.02)
    monkeypatch.setattr(judge, "SEARCH", 0.04)
    for name in ("not converged", "disagrees"):
        stand = SimpleNamespace(longer=[], reports=[], learner=None, remarks=[])
        verdict = SimpleNamespace(verdict=name)
        assert judge.searched(verdict, stand, None, Allowance()) == (verdict, [])
        assert stand.remarks == ["The search for what it minimises instead did not fit into the time of the audits."]
    assert seen == ["not converged", "disagrees"]
