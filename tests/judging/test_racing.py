"""Races: who shows what is graded by us, clocks stop while we do, refusals are told, and the time is kept."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from workbench.errors import MissingCapability
from workbench.formulations.crf import CRF
from workbench.formulations.soft_margin import SoftMargin
from workbench.judging import racing
from workbench.judging.racing import RACES, Track, growing, race, unit
from workbench.outputs.chain import Chain
from workbench.outputs.multiclass import Multiclass
from workbench.proofs.bounds import Bounds
from workbench.registries import registry
from workbench.solving.solve import solve


@cache
def points(n=40):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return Multiclass(np.eye(3, 4)[y] + 0.7 * rng.normal(size=(n, 4)), y)


FORM = SoftMargin(0.05)


@cache
def raced():
    return race(FORM, points(), ["dual-block", "bcfw", "solve", "one-slack", "cvxpy"], gap=1e-4, seconds=5.0)


def test_everybody_arrives_and_gaps_are_ours():
    tracks = raced()
    best = solve(FORM, points(), gap=1e-9)
    for name, track in tracks.items():
        assert track.refusal == ""
        assert track.laps[-1][1] <= 1e-4, name
        assert track.lower <= best.upper
        assert track.reached(1e-1) <= track.reached(1e-4) or name in ("solve", "one-slack"), name
        assert track.reached(-1.0) is None
    assert 0 < unit(tracks) < 0.1


def test_passes_of_a_solver_only_add_to_its_clock():
    seconds = [spent for spent, _ in raced()["bcfw"].laps]
    assert (np.diff(seconds) >= 0).all()


def test_grading_is_on_nobodys_clock(monkeypatch):
    def dear(bounds, w):
        for _ in range(200):
            bounds.oracle.argmax(w, bounds.samples)

    track = Track(Bounds(FORM, points()), 0.0, 0.0, np.inf)
    monkeypatch.setattr(racing, "one_pass", dear)
    for _ in range(5):
        track.show(np.zeros(12))
    assert sum(track.units) > 10 * track.spent


def test_a_liar_is_graded_by_its_weights(monkeypatch):
    learners = registry("learner")
    monkeypatch.setitem(learners.objects, "liar", lambda problem, *_: np.full(problem.n_features, 7.0))
    track = race(FORM, points(), ["liar"], gap=1e-3, seconds=0.01)["liar"]
    bounds = Bounds(FORM, points())
    assert track.laps[0][1] == bounds.gap(bounds.upper(np.full(12, 7.0)), track.lower) > 0.5
    assert track.reached(1e-3) is None


def test_budgets_double_until_the_seconds_would_not_do(monkeypatch):
    """On a clock of ours, which a fit moves by its budget."""
    clock, asked = [0.0], []

    def slow(problem, formulation, budget, rng):
        asked.append(budget)
        clock[0] += budget
        return np.full(12, float(budget))

    monkeypatch.setattr(racing.time, "process_time", lambda: clock[0])
    track = Track(Bounds(FORM, points()), -np.inf, 0.0, 20.0)
    racing.fits(slow)(FORM, points(), track)
    assert asked == [1, 2, 4, 8, 16]
    assert [spent for spent, _ in track.laps] == asked


def test_the_smallest_budgets_that_reach_a_gap_are_found_to_fifteen_percent(monkeypatch):
    """On a clock of ours; the gap of a fit is 10/budget."""
    clock, asked = [0.0], []

    def slow(problem, formulation, budget, rng):
        asked.append(budget)
        clock[0] += budget
        return np.full(12, float(budget))

    bounds = Bounds(FORM, points())
    monkeypatch.setattr(racing.time, "process_time", lambda: clock[0])
    monkeypatch.setattr(bounds, "upper", lambda w: 10 / w[0])
    monkeypatch.setattr(bounds, "gap", lambda upper, lower: upper)
    track = Track(bounds, 0.0, 1e-2, 1e9)
    racing.fits(slow)(FORM, points(), track)
    assert 100 <= track.reached(1e-1) <= 115
    assert 1000 <= track.reached(1e-2) <= 1150
    assert len(asked) <= 11 + 2 * 4
    assert [spent for spent, _ in track.laps] == sorted(asked)


def test_a_learner_that_ends_by_itself_is_not_asked_for_ever():
    track = Track(Bounds(FORM, points()), -np.inf, 0.0, 1e9)
    racing.fits(lambda problem, formulation, budget, rng: np.full(12, min(budget, 8.0)))(FORM, points(), track)
    assert len(track.laps) == 5


def test_a_learner_that_shows_itself_is_asked_for_each_gap_from_scratch():
    asked, clocks = [], []

    class Shows:
        @staticmethod
        def observed(problem, formulation, budget, observe, epsilon, aside):
            asked.append(epsilon)
            aside(0.25)
            aside(0.5)
            clocks.append(track.spent)
            return 10.0 * epsilon * np.ones(12)

    bounds = Bounds(FORM, points())
    least = bounds.upper(np.full(12, 1e-3))
    track = Track(bounds, 0.5 * least, bounds.gap(least, 0.5 * least), 10.0)
    with pytest.raises(racing.Enough):
        racing.watched(Shows)(FORM, points(), track)
    assert clocks == [0.0] * len(clocks)
    assert track.glue == 0.75  # of the last run alone
    np.testing.assert_allclose(asked, 0.5 * least * 10.0 ** -np.arange(1, len(asked) + 1))


def test_refusals_are_told():
    long = Chain([np.eye(30)[:20]] * 2, [np.arange(20)] * 2)
    tracks = race(FORM, long, ["cvxpy", "crf-stochastic", "sklearn-logistic"], seconds=1.0)
    assert "too many to list" in tracks["cvxpy"].refusal
    assert all(track.refusal and not track.laps for track in tracks.values())
    likely = race(CRF(0.05), points(), ["solve", "one-slack", "bcfw", "crf-lbfgs"], seconds=2.0)
    assert [name for name, track in likely.items() if track.refusal] == ["one-slack", "bcfw"]
    assert all(likely[name].reached(1e-4) for name in ("solve", "crf-lbfgs"))
    with pytest.raises(MissingCapability, match="constraints"):
        racing.written_out(FORM, points(3000), Track(Bounds(FORM, points(3000)), 0.0, 0.0, 1.0))


def test_looks_become_rarer():
    more = [step for step, _ in zip(growing(1.5), range(8), strict=False)]
    assert more == [1, 1, 1, 1, 2, 3, 4, 6]


@pytest.mark.parametrize("name", RACES)
def test_the_standing_races_name_what_there_is(name):
    case = RACES[name]
    for each in (case.problem, case.standby):
        assert each in registry("problem").names()
    for each in case.methods:
        racing.runner(each)
    _, form, problem = case.built(12)
    assert problem.n_samples == 12
    assert form.lam == (case.lam or 1 / 12)
