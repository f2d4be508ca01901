"""Clean runs of ours: whom they excuse, at the boundary of each constant."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import workbench as wb
from workbench.judging import controls
from workbench.judging.controls import BUDGET, SEEDS, SETTLED, STANDING, STOP, Asked, CleanRun, Control, control
from workbench.judging.reference import Reference, reference_of
from workbench.judging.verdicts import crosscheck
from workbench.solvers.bcfw import BCFW
from workbench.solving.stochastic import run


@cache
def reference() -> Reference:
    X = np.random.default_rng(5).normal(size=(20, 3))
    return reference_of(wb.solve(wb.SoftMargin(0.1), wb.Multiclass(X, X.argmax(axis=1)), gap=1e-9))


def ending(monkeypatch, end, settled=False):
    """Clean runs that end there, and how often one was asked for."""
    asked = []

    def clean(solver, reference, passes, seed, tolerance):
        asked.append((solver.name, passes, seed))
        return CleanRun(np.array([1.0]), np.array([end]), settled)

    monkeypatch.setattr(controls, "clean", clean)
    return asked


def excused(stands=False, moves=False, limit=1.0, passes=100.0, trace=None):
    return control(trace, reference(), Asked(passes, limit, stands, moves, 1e-4)).excuses


@pytest.mark.parametrize(("stands", "margin"), [(False, SETTLED), (True, STANDING)])
def test_a_clean_run_that_looks_settled_excuses_from_the_stated_share_on(monkeypatch, stands, margin):
    for end, expected in ((0.99 / margin, False), (1.01 / margin, True)):
        ending(monkeypatch, end, settled=True)
        assert excused(stands) == expected
    ending(monkeypatch, 1.01 / margin, settled=False)
    assert not excused(stands)


@pytest.mark.parametrize("stands", [False, True])
def test_slowness_excuses_who_moves_and_nobody_at_rest(monkeypatch, stands):
    for end, expected in ((0.99, False), (1.01, True)):
        ending(monkeypatch, end)
        assert excused(stands, moves=True) == expected
        assert not excused(stands, moves=False)


def test_our_own_solver_is_compared_with_eight_of_its_runs(monkeypatch):
    trace = run(BCFW(), reference().formulation, reference().problem, passes=2)
    for end, expected in ((0.99 / SETTLED, False), (1.01 / SETTLED, True)):
        asked = ending(monkeypatch, end)
        assert excused(trace=trace) == expected
        assert asked == [("bcfw", 100, seed) for seed in SEEDS]
    for end, expected in ((0.99 / STANDING, False), (1.01 / STANDING, True)):
        asked = ending(monkeypatch, end)
        assert excused(stands=True, trace=trace) == expected
        assert asked == [("bcfw", 100, seed) for seed in SEEDS]


def test_clean_runs_get_no_more_than_the_budget_and_are_run_once(monkeypatch):
    asked = ending(monkeypatch, 0.0)
    excused(passes=10.0 * BUDGET)
    assert {passes for _, passes, _ in asked} == {BUDGET}
    monkeypatch.undo()
    fresh = reference_of(wb.solve(wb.SoftMargin(0.1), reference().problem, gap=1e-9))
    one = controls.clean(BCFW(), fresh, 3, 101, 1e-4)
    assert controls.clean(BCFW(), fresh, 3, 101, 1e-4) is one
    assert fresh.excess(fresh.lower + one.end) > STOP


def test_a_clean_run_ends_where_it_has_told_enough():
    found = controls.clean(BCFW(), reference(), 400, 101, 1e-4)
    relative = found.excesses / reference().size
    assert (relative[:-1] > STOP).all()
    assert found.passes[-1] == 400 or relative[-1] <= STOP


def test_where_no_solver_fits_nobody_is_accused_of_having_settled(monkeypatch):
    monkeypatch.setattr(controls, "fitting", lambda reference: iter(()))
    assert control(None, reference(), Asked(10.0, 1.0, False, False, 1e-4)) == Control(np.inf, True)


def test_at_rest_above_the_optimum_no_slow_clean_run_is_an_excuse(monkeypatch):
    """The history of a learner whose own noise keeps it from ending: its weights stand, its excess too."""
    ending(monkeypatch, 5.0 * reference().size)
    rng, far = np.random.default_rng(0), 1.2 * reference().theta
    history = [(float(2**k), far * (1 + 1e-6 * rng.normal(size=len(far)))) for k in range(8)]
    found = crosscheck(history, reference())
    assert (found.verdict, found.rule) == ("disagrees", "settled")
