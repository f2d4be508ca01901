"""Clean runs of ours: whom they excuse, at the boundary of each constant."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import workbench as wb
from workbench.judging import controls
from workbench.judging.controls import Asked, CleanRun, Control, control
from workbench.judging.reference import Reference, reference_of
from workbench.judging.reports import Report
from workbench.judging.verdicts import crosscheck
from workbench.solvers.bcfw import BCFW
from workbench.solving.stochastic import run

SEEDS, SETTLED, STANDING, BUDGET, STOP = tuple(range(101, 109)), 2.0, 10.0, 500, 1e-6  # written out, not imported


@cache
def reference() -> Reference:
    X = np.random.default_rng(5).normal(size=(20, 3))
    return reference_of(wb.solve(wb.SoftMargin(0.1), wb.Multiclass(X, X.argmax(axis=1)), gap=1e-9))


def ending(monkeypatch, end, settled=False, only=None):
    """Clean runs that end there, one of them if `only` says its seed, and how often one was asked for."""
    asked = []

    def clean(solver, reference, passes, seed, tolerance):
        asked.append((solver.name, passes, seed))
        here = end if only in (None, seed) else 0.0
        return CleanRun(np.array([1.0]), np.array([here]), settled)

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
    asked = ending(monkeypatch, 0.0)
    excused(passes=0.3)
    assert {passes for _, passes, _ in asked} == {1}  # and no less than a pass
    monkeypatch.undo()
    fresh = reference_of(wb.solve(wb.SoftMargin(0.1), reference().problem, gap=1e-9))
    one = controls.clean(BCFW(), fresh, 3, 101, 1e-4)
    assert controls.clean(BCFW(), fresh, 3, 101, 1e-4) is one
    assert fresh.excess(fresh.lower + one.end) > STOP
    trace = run(BCFW(), fresh.formulation, fresh.problem, 3, 101)
    np.testing.assert_allclose(one.excesses, trace.upper - fresh.lower, rtol=1e-12)


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
    history = [Report(float(2**k), far * (1 + 1e-6 * rng.normal(size=len(far)))) for k in range(8)]
    found = crosscheck(history, reference())
    assert (found.verdict, found.rule) == ("disagrees", "settled")


# ── the worst of all clean runs counts, and the boundary excuses ──────────────────────────────────


def test_the_worst_of_the_clean_runs_is_the_one_that_counts(monkeypatch):
    trace = run(BCFW(), reference().formulation, reference().problem, passes=2)
    ending(monkeypatch, 0.9, only=105)
    assert control(trace, reference(), Asked(10.0, 1.0, False, False, 1e-4)) == Control(0.9, True)
    ending(monkeypatch, 0.9, only=102)
    assert control(None, reference(), Asked(10.0, 1.0, False, False, 1e-4)) == Control(0.9, False)


@pytest.mark.parametrize(("stands", "margin"), [(False, SETTLED), (True, STANDING)])
def test_a_clean_run_exactly_at_the_share_excuses(monkeypatch, stands, margin):
    ending(monkeypatch, 1 / margin)
    trace = run(BCFW(), reference().formulation, reference().problem, passes=2)
    assert excused(stands, trace=trace)
    strange = SimpleNamespace(method=object(), solver="of somebody else")
    assert excused(stands, trace=strange) == stands  # one that has settled is asked as other learners are
    ending(monkeypatch, 0.999 / margin)
    assert not excused(stands, trace=strange)
    ending(monkeypatch, 1 / margin, settled=True)
    assert excused(stands)
    ending(monkeypatch, 1.0)
    assert excused(stands, moves=True)


def test_a_trace_is_compared_with_its_own_solver_and_its_settings():
    mine = BCFW()
    assert controls.own_solver(SimpleNamespace(method=mine, solver="bcfw")) is mine
    assert type(controls.own_solver(SimpleNamespace(method=None, solver="bcfw"))) is BCFW
    assert controls.own_solver(SimpleNamespace(method=None, solver="of somebody else")) is None


def looks(excesses, thetas=None):
    """Whether a clean run with these excesses (in units of the threshold) after 1, 2, 4, … passes looks settled."""
    e = np.asarray(excesses, float) * 1e-3 * reference().size
    far = [1.5 * reference().theta] * len(e) if thetas is None else thetas
    trace = SimpleNamespace(passes=2.0 ** np.arange(len(e)), thetas=far)
    return controls.seems_settled(trace, e, reference(), 1e-3)


def test_which_clean_runs_look_settled():
    assert looks([2.0] * 6)
    assert looks([2.0] * 3)
    assert not looks([2.0])
    assert looks([2.0, 2.0])
    assert not looks([1.0] * 6)  # it has arrived
    assert not looks([np.inf] * 6)
    assert not looks([2.0] * 5 + [np.inf])  # its end tells nothing
    assert looks([0.5] + [2.0] * 5)  # and its beginning does not count
    assert not looks([2.0] * 5 + [1.0])
    assert not looks(2.0 * 2.0 ** np.arange(5.0, -1, -1))  # it falls
    on_its_way = [(1.5 - 0.05 * k) * reference().theta for k in range(6)]
    assert not looks([2.0] * 6, on_its_way)


@pytest.mark.parametrize(
    ("excess", "spent", "ends"),
    [(1.1e-6, 4.9, False), (0.9e-6, 0.1, True), (1.0, 5.1, True), (1e-6, 0.0, True), (1.0, 5.0, False)],
)
def test_a_clean_run_ends_near_the_optimum_or_after_five_seconds(monkeypatch, excess, spent, ends):
    told = []

    def running(solver, formulation, problem, passes, seed, observe):
        rows = [SimpleNamespace(upper=9.0), SimpleNamespace(upper=excess)]
        told.extend(observe(row) for row in rows)
        return SimpleNamespace(passes=np.array([1.0]), thetas=[reference().theta])

    clock = iter([100.0, 100.0 + spent, 100.0 + spent])
    monkeypatch.setattr(controls, "run", running)
    monkeypatch.setattr(controls, "time", SimpleNamespace(process_time=lambda: next(clock)))
    here = SimpleNamespace(
        known={}, excess=lambda value: value, formulation=None, problem=None, bounds=reference().bounds, lower=0.0
    )
    monkeypatch.setattr(controls, "seems_settled", lambda *told: False)
    controls.clean(BCFW(), here, 3, 101, 1e-4)
    assert told == [False, ends]


def test_two_clean_runs_of_every_solver_that_fits_are_asked_and_one_is_enough(monkeypatch):
    asked = ending(monkeypatch, 1.0, settled=True, only=102)
    assert excused()  # the other one arrives
    names = {name for name, _, _ in asked}
    assert {"bcfw", "subgradient"} <= names
    assert sorted(asked) == sorted((name, 100, seed) for name in names for seed in (101, 102))
    assert CleanRun(np.array([1.0, 2.0, 3.0]), np.array([5.0, 4.0, 3.0]), False).end == 3.0
