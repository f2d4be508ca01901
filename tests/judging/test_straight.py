"""Learners that follow −∇F in the time log t: four times the passes bring them a little lower each time."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import workbench as wb
from workbench.judging import patience as patience_module
from workbench.judging.patience import Ruling, Try, confirmable, confirmed, falls, goes_on, ruling
from workbench.judging.reports import Report
from workbench.judging.settling import straight, went_straight
from workbench.judging.verdicts import crosscheck
from workbench.judging.words import DISAGREES, NOT_CONVERGED, Verdict

KEPT, COSINE, FAINT = 0.7, 0.8, 1e-6  # written out, not imported: each is tested on both sides


def at(*places):
    return [np.array(each, dtype=float) for each in places]


@pytest.mark.parametrize("size", [2.0**-10, 1.0, 2.0**10])
@pytest.mark.parametrize(("share", "goes"), [(1.01, True), (0.99, False)])
def test_a_move_as_long_as_the_one_before_up_to_a_share_goes_on(share, goes, size):
    assert straight(*at([0.0], [size], [size * (1 + share * KEPT)])) == goes


@pytest.mark.parametrize(("turn", "goes"), [(0.99, True), (1.01, False)])
def test_a_move_goes_on_within_an_angle(turn, goes):
    angle = turn * np.arccos(COSINE)
    assert straight(*at([0.0, 0.0], [1.0, 0.0], [1 + np.cos(angle), np.sin(angle)])) == goes
    assert not straight(*at([0.0, 0.0], [1.0, 0.0], [1 - np.cos(angle), np.sin(angle)])), "it turns back"


@pytest.mark.parametrize(("far", "goes"), [(0.99, True), (1.01, False)])
def test_moves_of_rounding_are_none(far, goes):
    """The second moves are 1, of weights of length 10⁶, a little less or more."""
    length = far / FAINT
    assert straight(*at([0.0, length], [1.0, length], [2.0, length])) == goes


def test_who_has_not_moved_does_not_go_on():
    assert not straight(*at([1.0], [1.0], [1.0]))
    assert not straight(*at([1.0], [1.0], [2.0]))


@pytest.mark.parametrize(
    ("excesses", "goes"),
    [([4.0, 9.0, 3.0, 9.0, 2.0], True), ([3.0, 9.0, 3.0, 9.0, 2.0], False), ([4.0, 9.0, 3.0, 1.0, 3.0], False)],
)
def test_the_checkpoints_after_a_sixteenth_and_a_quarter_of_the_passes_tell(excesses, goes):
    thetas = at([0.0], [7.0], [1.0], [-7.0], [2.0])
    assert went_straight(np.array([1.0, 2.0, 4.0, 8.0, 16.0]), thetas, np.array(excesses)) == goes


def test_a_history_without_these_checkpoints_does_not_tell():
    thetas, excesses = at([0.0], [1.0], [2.0]), np.array([3.0, 2.0, 1.0])
    assert went_straight(np.array([1.0, 4.0, 16.0]), thetas, excesses)
    assert went_straight(np.array([0.9, 3.9, 16.0]), thetas, excesses), "the last ones before count"
    assert not went_straight(np.array([1.1, 4.0, 16.0]), thetas, excesses), "nothing by then"
    assert not went_straight(np.array([0.5, 1.0, 16.0]), thetas, excesses), "one checkpoint for both"


# ── among longer histories ────────────────────────────────────────────────────────────────────────


def said(absolute, passes, verdict=DISAGREES):
    evidence = {"passes": passes, "threshold": 1e-4}
    return Verdict(verdict, absolute, "It is far.", evidence, "settled", absolute, np.inf, "It is far")


def tries_of(excesses, places, took=0.0):
    """Histories that settle, with these ends."""
    pairs = zip(excesses, places, strict=True)
    return [
        Try([Report(100.0, np.array([0.5])), Report(100.0 * 4**k, np.array([place]))], said(e, 100.0 * 4**k), took)
        for k, (e, place) in enumerate(pairs)
    ]


@pytest.mark.parametrize(
    ("excesses", "places", "goes"),
    [
        ((1.0, 0.99, 0.98), (1.0, 2.0, 3.0), True),
        ((1.0, 0.99, 0.98), (1.0, 2.0, 1.0), False),  # turned back
        ((1.0, 0.99, 0.99), (1.0, 2.0, 3.0), False),
        ((0.99, 0.99, 0.98), (1.0, 2.0, 3.0), False),
        ((1.0, 0.99), (1.0, 2.0), False),  # two do not tell
    ],
)
def test_the_ends_of_three_histories_tell_who_goes_on(excesses, places, goes):
    assert goes_on(tries_of(excesses, places)) == goes


def test_the_last_three_tell_and_nobody_who_goes_on_is_accused():
    """What the shorter ones said together does not stand either."""
    tries = tries_of((9.0, 1.0, 0.99, 0.98), (7.0, 1.0, 2.0, 3.0))
    shorter = said(1.0, 1600.0)
    assert ruling(tries, None, 1e-3, shorter).verdict.verdict == NOT_CONVERGED
    assert ruling(tries, None, 1e-3, shorter).asks, "passes cost little"
    back = tries_of((9.0, 1.0, 0.99, 0.98), (7.0, 1.0, 2.0, 1.0))
    assert ruling(back, None, 1e-3, shorter).verdict.verdict == DISAGREES


def test_an_accusation_that_is_confirmed_tells_the_last_history():
    tries = tries_of((1.0, 1.0, 1.0, 1.0), (1.0, 2.0, 1.0, 2.0))
    ruled = Ruling(None)
    for count in (2, 3, 4):
        ruled = ruling(tries[:count], None, 1e-3, ruled.verdict)
        assert ruled.verdict.verdict == DISAGREES
        assert ruled.verdict.evidence["further_passes"] == 100.0 * 4 ** (count - 1)
    told = confirmed(said(1.0, 100.0), said(0.5, 6400.0))
    assert told.reason == "It is far; after 6400 passes it is 5.0e-01 above."
    assert (told.excess, told.evidence["further_excess"]) == (1.0, 0.5)


@pytest.mark.parametrize(
    ("ends", "times", "fell"),
    [
        ((1.0, 0.99, 0.98), 1.0, True),
        ((1.0, 1.0, 0.98), 1.0, False),
        ((1.0, 0.98, 0.98), 1.0, False),
        ((1.04 * 1.04, 1.04, 1.0), 1.03, True),
        ((1.02 * 1.04, 1.04, 1.0), 1.03, False),
        ((1.04 * 1.02, 1.02, 1.0), 1.03, False),
        ((1.0, 0.9), 1.0, False),
    ],
)
def test_who_falls_ends_lower_twice(ends, times, fell):
    assert falls(tries_of(ends, [1.0] * len(ends)), times) == fell


@pytest.mark.parametrize(("step", "verdict"), [(1.0301, NOT_CONVERGED), (1.0299, DISAGREES)])
def test_whose_last_two_histories_fall_is_not_accused(step, verdict):
    """However the weights turn."""
    places = (1.0, 2.0, 1.0, 2.0, 1.0)
    tries = tries_of((1.0, 1.0, step * step, step, 1.0), places)
    assert ruling(tries, None, 1e-3, said(1.0, 6400.0)).verdict.verdict == verdict
    fewer = tries_of((1.0, step * step, step, 1.0), places[:4])
    assert ruling(fewer, None, 1e-3, said(1.0, 1600.0)).verdict.verdict == verdict


@pytest.mark.parametrize("count", range(2, 9))
def test_who_rests_at_no_further_cost_is_asked_less_often(count):
    """Up to 64 times the passes; who is at work, up to 16,384 times."""
    tries = [
        each._replace(verdict=replace(each.verdict, rule="ended"), took=0.001)
        for each in tries_of([1.0] * count, [1.0] * count)
    ]
    assert confirmable(tries) == (count < 4)
    works = [*tries[:-1], tries[-1]._replace(took=0.002)]
    assert confirmable(works) == (count < 8)


# ── whole learners ────────────────────────────────────────────────────────────────────────────────


@cache
def few():
    """Five points with two labels, by chance."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(5, 13)), np.array([0, 1, 1, 0, 1])
    return wb.solve(wb.SoftMargin(0.07), wb.Multiclass(X, y), gap=1e-9)


def small_steps(problem, formulation, budget, rng, c=0.05):
    """Proximal subgradient steps of length c/t in epoch t, which add up to ∞; the excess falls like t^−cλn."""
    X, y, k = problem.X.toarray(), problem.labels, len(problem.classes)
    W, random = np.zeros((k, X.shape[1])), np.random.default_rng(rng)
    for epoch in range(1, budget + 1):
        for i in random.permutation(len(y)):
            highest = int(((np.arange(k) != y[i]) + W @ X[i]).argmax())
            W[highest] -= c / epoch * X[i]
            W[y[i]] += c / epoch * X[i]
            W /= 1 + c / epoch * formulation.lam
        if epoch & (epoch - 1) == 0 or epoch == budget:
            yield epoch, W.copy()


def test_small_steps_that_fall_like_one_over_t_are_not_accused():
    found = wb.judge(small_steps, few(), passes=20, seeds=0)
    assert found.verdict == NOT_CONVERGED, found
    ends = dict(found.history)
    assert ends[20] > ends[512] > ends[max(ends)] > 0.1 * few().upper


def test_one_long_history_tells_it_too(monkeypatch):
    """Where passes are dear, two histories decide, and each looks as if it had settled."""
    monkeypatch.setattr(patience_module, "cheap", lambda took: False)
    found = wb.judge(small_steps, few(), passes=64, seeds=0)
    assert found.verdict == NOT_CONVERGED, found


def test_who_settles_on_another_objective_is_still_accused():
    """The same learner with a λ a hundred times too large, and steps long enough to get there."""

    def other(problem, formulation, budget, rng):
        yield from small_steps(problem, replace(formulation, lam=100 * formulation.lam), budget, rng, c=0.5)

    assert wb.judge(other, few(), passes=20, seeds=0).verdict == DISAGREES


def test_clean_runs_that_end_higher_and_have_not_settled_are_told_so(monkeypatch):
    from workbench.judging import verdicts
    from workbench.judging.controls import Control

    settled = [Report(float(t), few().theta_flat * 0.2 * (1 + 1e-6 * (-1) ** t)) for t in range(1, 40)]
    reached = crosscheck(settled, few())
    for times, told in ((1.01, "go on: the slowest ends"), (0.99, "end")):
        end = times * reached.absolute
        monkeypatch.setattr(verdicts, "control", lambda *told, end=end: Control(end, excuses=False))
        verdict = crosscheck(settled, few())
        assert verdict.verdict == DISAGREES
        assert f"where clean runs with its budget {told} {end / few().upper:.1e} above it" in verdict.reason
