"""Audits at the very violation that is allowed, on ties, and next to 0: what is allowed is told of nobody."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from test_audit_parts import THETA, VISITS, Averaging, Cone, draws, flowing, inequality, mean, only

import workbench as wb
from workbench.judging import audits
from workbench.judging.audits import audit_average, audit_prox, relative
from workbench.judging.hooks import Hooks, hooks_of
from workbench.judging.share import Allowance
from workbench.solvers.importance_aware import ImportanceAware
from workbench.system.processes import OutOfTime

HALF = 0.5  # in the place of what is allowed: a violation of exactly a half can be had, one of 1e-6 cannot


@pytest.fixture
def half(monkeypatch):
    monkeypatch.setattr(audits, "SLACK", HALF)


def steps(prox, r):
    """What is found about a proximal step for r."""
    form = SimpleNamespace(regularizer=lambda problem: r)
    return only(audit_prox(Hooks(prox=prox), SimpleNamespace(formulation=form, problem=None, theta=THETA)))


def test_a_slope_that_is_off_by_just_what_is_allowed(half, monkeypatch):
    for height, told in ((3.0, False), (3.001, True)):
        found = only(inequality([0.0], height, 1.0, monkeypatch=monkeypatch))  # 3 − 1 of 3 + 1
        assert (found.worst, bool(found.sentence)) == (pytest.approx(HALF, rel=1e-3), told)


def test_a_mean_that_is_off_by_just_what_is_allowed(monkeypatch):
    """2 √(μ gap) = 1 for μ = gap = ½, and no rounding: off by (0, 1) or by (0, 1.001)."""
    monkeypatch.setattr(audits, "SLACK", 0.0)
    for second, told in ((3.0, False), (3.001, True)):
        (found,) = mean([[-1.5, second]] * 2, monkeypatch, 0.5, (2.5, 2.0))
        assert (found.worst, found.allowed, bool(found.sentence)) == (pytest.approx(1.0, rel=2e-3), 1.0, told)


def test_a_step_that_is_off_by_just_what_is_allowed(half):
    """Of values so large that they hardly differ, it is outside by a half."""
    for outside, told in ((0.5, False), (0.501, True)):
        found = steps(lambda *asked, outside=outside: np.array([0.0, outside]), Cone(-1e12))
        assert (found.worst, bool(found.sentence)) == (pytest.approx(outside), told)


def test_a_step_outside_by_just_what_is_allowed_is_told_for_its_value_alone(half):
    for outside, told in ((0.5, False), (0.501, True)):
        found = steps(lambda *asked, outside=outside: np.array([40.0, outside]), Cone())
        assert found.worst > HALF
        assert ("outside of the domain" in found.sentence) == told


def test_of_steps_that_are_as_bad_the_first_is_told():
    x, r = np.array([3.0, 4.0]), Cone(-1e12)  # outside by 4 of 5 at every draw
    u, metric, step = next(draws())
    value, least = (metric @ (each - u) ** 2 / 2 + step * r.value(each) for each in (x, r.prox(u, metric, step)))
    found = steps(lambda *asked: x, r)
    assert found.worst == pytest.approx(0.8)
    assert found.sentence.startswith(f"Its proximal step is {value - least:.2g} above")


def test_values_next_to_0_are_held_against_a_size_that_can_divide():
    """Nothing but roundings of 0: a step of the value 1.5e-306 η, where the least value is 0."""
    values = iter([1.5e-306, 0.0] * 3)
    r = SimpleNamespace(value=lambda x: next(values), prox=lambda u, metric, step: u, feasible=lambda x: x)
    found = steps(lambda u, metric, step: u, r)
    assert found.worst == pytest.approx(1.5e-6 * max(step for _, _, step in draws()))
    assert relative(np.array([1e-100]), np.zeros(1)) == pytest.approx(1e200)


def test_an_average_that_is_off_by_just_what_is_allowed(half, monkeypatch):
    """All iterates are (1, 0), so any average is."""
    monkeypatch.setattr(audits, "bounds_for", lambda form, problem: SimpleNamespace(samples=np.arange(20)))
    prices = SimpleNamespace(weights=np.ones(20))
    reference = SimpleNamespace(formulation=SimpleNamespace(prices=lambda problem: prices), problem=None)
    for first, told in ((1.5, False), (1.501, True)):
        shown = {"last": np.tile([1.0, 0.0], (VISITS, 1)), "uniform": np.array([[first, 0.0]])}
        monkeypatch.setattr(audits, "iterates", lambda solver, *others, shown=shown: shown[solver.average])
        found = only(audit_average(Hooks(solver=Averaging()), reference))
        assert (found.worst, bool(found.sentence)) == (pytest.approx(first - 1), told)


def test_flows_that_are_off_by_just_what_is_allowed(half, monkeypatch):
    for away, told in ((0.5, False), (0.501, True)):
        monkeypatch.setattr(audits, "relative", lambda theta, expected, away=away: away)
        found, _ = flowing(monkeypatch, 0.0)
        assert (found.worst, bool(found.sentence)) == (away, told)


def test_of_updates_that_are_as_far_off_the_first_is_told(monkeypatch):
    monkeypatch.setattr(audits, "relative", lambda theta, expected: np.inf)
    found, asked = flowing(monkeypatch, 0.0)
    i, h, _ = asked[0]
    assert f"by pair {i} with importance {h:g} is inf" in found.sentence


def test_a_solver_that_asks_for_scores_lends_its_iterates_alone():
    """There is no maximum that an argmax or a slope could miss."""
    form, problem = wb.WeightedRisk(0.1, "squared"), wb.Linear(np.eye(3), np.array([1.0, -1.0, 1.0]))
    solver = ImportanceAware()
    assert not solver.misfit(form, problem)
    lent = hooks_of(solver, form, problem)
    assert (lent.solver, lent.oracle, lent.subgradient, lent.push) == (solver, None, None, None)


def test_iterates_are_what_is_reported_after_each_visit(monkeypatch):
    """Each visit is of one sample, with room for one witness and one pair of numbers; time is asked for before it."""
    visits = []

    def visit(order, witnesses, numbers):
        assert (order.shape, witnesses.shape, numbers.shape) == ((1,), (1, 3), (1, 2))
        visits.append(int(order[0]))

    asked = SimpleNamespace(kernel=lambda: None, width=3)
    bounds = SimpleNamespace(oracle=asked, prices=SimpleNamespace(floats=lambda: np.ones(4)))
    monkeypatch.setattr(audits, "bounds_for", lambda form, problem: bounds)
    monkeypatch.setattr(audits, "visitor", lambda *given: visit)
    solver = SimpleNamespace(
        init=lambda form, problem: "state", oracle=lambda problem: None, report=lambda state: [float(len(visits))]
    )
    found = audits.iterates(solver, None, None, np.array([3, 1, 3]), Allowance())
    assert (visits, found.tolist()) == ([3, 1, 3], [[1.0], [2.0], [3.0]])
    with pytest.raises(OutOfTime):
        audits.iterates(solver, None, None, np.array([3]), Allowance(0.0))
    assert visits == [3, 1, 3]
