"""The questions asked of a history, each at the boundary of its constants."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.judging import settling
from workbench.judging.reports import Report
from workbench.judging.settling import chosen, ended, fitted, moving, needed, on_its_way, stands

# written out, not imported: every constant is tested on both sides
WINDOW, SIGNIFICANT, NOISE, STILL, QUIET = 16, 10.0, 0.01, 1e-10, 1e-3
FALL, LITTLE, AHEAD, DOUBLINGS, MOST, GRADED = 1.5, 1.15, 0.5, 10, 1e6, 120

T = np.array([2.0**k for k in range(9)])


def told(thetas, passes=T):
    return [Report(float(p), np.atleast_1d(np.asarray(theta, float))) for p, theta in zip(passes, thetas, strict=True)]


# ── ended ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("change", "same"), [(0.9 * STILL, True), (1.1 * STILL, False), (0.0, True)])
def test_weights_that_are_the_same_to_rounding_have_ended(change, same):
    thetas = np.ones((9, 1))
    thetas[:-2] += 1.0
    thetas[-2] = 1.0 + change
    assert (ended(told(thetas)) == 128.0) == same


def test_only_half_of_the_passes_tell_an_end():
    assert ended(told(np.ones((3, 1)), [60.0, 80.0, 100.0])) != ended(told(np.ones((3, 1)), [50.0, 80.0, 100.0]))
    assert np.isnan(ended(told([[1.0], [2.0], [2.0]], [10.0, 51.0, 100.0])))
    assert ended(told([[1.0], [2.0], [2.0]], [10.0, 50.0, 100.0])) == 50.0
    assert np.isnan(ended(told([[1.0]], [10.0])))


def test_who_comes_back_has_not_ended():
    assert np.isnan(ended(told([[1.0], [1.0], [2.0], [1.0]], [10.0, 20.0, 60.0, 100.0])))


# ── stands ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("times", "fall"), [(8, FALL), (4, LITTLE)])
def test_to_stand_is_to_fall_by_less_than_the_stated_factor(times, fall):
    """The other window is made to fall by much, so that the one in question decides."""
    for factor, expected in ((0.99 * fall, True), (1.01 * fall, False)):
        e = np.full(9, 100.0)
        e[-1] = 1.0
        e[-4 if times == 8 else -3] = factor
        assert stands(T, e) == expected


def test_a_history_too_short_to_stand():
    assert not stands(np.array([1.0, 2.0, 3.9]), np.ones(3))
    assert stands(np.array([1.0, 2.0, 4.0]), np.ones(3))


# ── on its way ────────────────────────────────────────────────────────────────────────────────────


def travelled(gains):
    """Weights on a line, gains of the last three doublings, the optimum at distance 1 from the last ones."""
    places = np.cumsum([0.0, *gains])
    return [np.array([place, 0.3]) for place in places], np.array([places[-1] + 1.0, 0.3])


@pytest.mark.parametrize("ratio", [0.5, 0.85, 1.89])
def test_the_doublings_to_come_must_cover_half_of_the_way(ratio):
    pace = float(np.sum(ratio ** np.arange(1, DOUBLINGS + 1)))
    for share, expected in ((1.02 * AHEAD, True), (0.98 * AHEAD, False)):
        last = share / pace
        thetas, best = travelled([last / ratio**2, last / ratio, last])
        assert on_its_way(np.array([1.0, 2.0, 4.0, 8.0]), thetas, best) == expected


def test_a_pace_is_believed_up_to_a_factor_of_two_a_doubling():
    pace = float(np.sum(2.0 ** np.arange(1, DOUBLINGS + 1)))
    for share, expected in ((1.02 * AHEAD, True), (0.98 * AHEAD, False)):
        last = share / pace
        thetas, best = travelled([last / 100, last / 10, last])
        assert on_its_way(np.array([1.0, 2.0, 4.0, 8.0]), thetas, best) == expected


@pytest.mark.parametrize(
    ("gains", "straight"),
    [
        ([1.0, 2.0, 4.0], True),
        ([1.04, 2.0, 4.0], True),
        ([1.0, 2.08, 4.0], True),
        ([1.0, 2.0, 4.16], True),
        ([1.06, 2.0, 4.0], False),
        ([1.0, 2.12, 4.0], False),
        ([1.0, 2.0, 4.24], False),
        ([-1.0, -2.0, -4.0], False),
    ],
)
def test_steps_of_equal_length_lead_there_however_small_they_are(gains, straight):
    """As of a method with a step that is far too small, above rounding."""
    passes = np.array([1.0, 2.0, 4.0, 8.0])
    for scale in (1e-6, 2e-10):
        assert on_its_way(passes, *travelled(scale * np.array(gains))) == straight
    assert not on_its_way(passes, *travelled(0.9e-10 * np.array(gains)))


@pytest.mark.parametrize(("change", "steady"), [(0.98, False), (1.02, True)])
def test_an_even_pace_is_no_rest_however_long_the_way(change, steady):
    """Weights that go like log t have no limit; half of the way may take them a hundred doublings."""
    passes = np.array([1.0, 2.0, 4.0, 8.0])
    for gains in (3 * [change * 3e-3], [0.02 / (change * 0.9) ** 2, 0.02 / (change * 0.9), 0.02]):
        thetas, best = travelled(gains)
        assert on_its_way(passes, thetas, best) == steady


def test_steps_like_those_of_adagrad_on_slopes_that_stay_are_not_taken_for_rest():
    """θ = θ₀ + c log t on a line: the excess of a steep direction hides it, and any fit of t^−p calls it settled."""
    passes = 2.0 ** np.arange(8)
    thetas = [np.array([0.02 * np.log2(t)]) for t in passes]
    assert on_its_way(passes, thetas, np.array([1.2]))
    assert not on_its_way(passes, [np.array([0.14 - 0.1 * t**-0.5]) for t in passes], np.array([1.2]))


@pytest.mark.parametrize(("change", "moves"), [(0.9 * QUIET, False), (1.1 * QUIET, True)])
def test_weights_that_change_less_than_the_stated_share_are_at_rest(change, moves):
    assert moving(told([[9.0], [1.0 + change], [1.0]], [10.0, 50.0, 100.0])) == moves
    assert moving(told([[1.0], [1.0]], [10.0, 100.0]))  # nothing is known of the last half


def test_who_turns_back_or_stands_still_is_not_on_its_way():
    passes = np.array([1.0, 2.0, 4.0, 8.0])
    for gains in ([0.5, -0.1, 0.5], [0.5, 0.5, -0.01], [0.0, 0.0, 0.0]):
        thetas, best = travelled(gains)
        assert not on_its_way(passes, thetas, best)
    thetas, best = travelled([0.3, 0.3, 0.3])
    assert on_its_way(passes, thetas, best)
    assert not on_its_way(passes[1:], thetas[1:], best)  # too short to tell
    assert not on_its_way(passes, thetas, thetas[-1])


# ── settled ───────────────────────────────────────────────────────────────────────────────────────


def test_only_the_last_factor_of_the_passes_is_fitted():
    """What was before WINDOW is forgotten: however wild, it changes nothing."""
    e = 0.3 + 0.5 / T
    wild = np.where(T[-1] / WINDOW > T, 50.0, e)
    assert settling.settling(T, wild, 1e-4) == settling.settling(T, e, 1e-4)
    inside = np.where(T[-1] / WINDOW >= T, 50.0, e)
    assert settling.settling(T, inside, 1e-4) != settling.settling(T, e, 1e-4)


def test_few_points_are_settled_if_they_differ_by_less_than_the_noise():
    for change, expected in ((0.99 * NOISE, True), (1.01 * NOISE, False)):
        assert settling.settling(np.array([5.0, 10.0]), np.array([1.0 + change, 1.0]), 1e-4).settled == expected
    assert not settling.settling(np.array([5.1, 10.0]), np.ones(2), 1e-4).settled


def test_the_significance_decides(monkeypatch):
    """A curve of limit 0.2 with little noise: its misfit decides, at half of what is asked without one checkpoint."""
    e = (0.2 + 0.3 * T**-0.5) * (1 + 0.02 * np.random.default_rng(1).normal(size=9))
    recent = T[-1] / WINDOW <= T
    t, late = T[recent] / T[-1], e[recent]
    _, misfit = fitted(t, late, 1e-4)
    assert misfit != SIGNIFICANT
    monkeypatch.setattr(settling, "SIGNIFICANT", 1e9)
    assert not settling.settling(T, e, 1e-4).settled
    monkeypatch.setattr(settling, "SIGNIFICANT", 0.0)
    assert settling.settling(T, e, 1e-4).settled


def test_a_limit_below_half_of_the_excess_has_not_settled():
    """e∞ = 0.45 of the last excess, exactly a curve of the family: however significant, it is still on its way."""
    for limit, expected in ((0.45, False), (0.55, True)):
        e = limit + (1 - limit) * (T / T[-1]) ** -0.5
        assert settling.settling(T, e, 1e-4).settled == expected


def test_what_is_slower_than_the_slowest_power_counts_as_standing():
    slow, slower = (np.maximum(T, 1.0) ** -power for power in (0.2, 0.01))
    assert not settling.settling(T, slow, 1e-4).settled
    assert fitted(T[-5:] / T[-1], slower[-5:], 1e-4)[0] > 0.8 * slower[-1]


# ── what is left ──────────────────────────────────────────────────────────────────────────────────


def test_the_passes_that_are_needed_follow_the_fall():
    e = 3.0 * T**-0.5
    curve = settling.settling(T, e, 1e-3)
    assert needed(T[-1], e[-1], 1e-3, curve) == pytest.approx((3.0 / 1e-3) ** 2, rel=1e-6)
    flat = settling.settling(T, np.full(9, 0.5) + 1e-9 * T, 1e-3)
    assert needed(T[-1], 0.5, 1e-3, flat) == np.inf
    assert needed(1.0, 1.0, 1e-3, curve._replace(power=1e-3)) > MOST


def test_a_doubling_is_measured_where_half_of_the_passes_are():
    assert settling.doubling(T, 3.0 * T**-0.5) == pytest.approx(2**0.5)
    assert settling.doubling(np.array([1.0, 49.0, 51.0, 100.0]), np.array([9.0, 6.0, 4.0, 2.0])) == 3.0
    assert np.isnan(settling.doubling(np.array([60.0, 100.0]), np.array([2.0, 1.0])))


def test_who_roams_is_as_far_from_himself_as_from_the_optimum():
    """Only the last three quarters of the passes count."""
    thetas = np.array([[9.0, 0.0], [1.0, 3.0], [1.0, 0.5], [1.0, 0.0]])
    reports = told(thetas, np.array([24.0, 25.0, 50.0, 100.0]))
    assert settling.roaming(reports, np.array([1.0, -6.0])) == 0.5
    assert settling.roaming(reports[:1] + reports[3:], np.zeros(2)) == np.inf


def test_no_more_than_the_stated_number_is_graded():
    assert len(chosen(told(np.ones((GRADED, 1)), np.arange(1.0, GRADED + 1)))) == GRADED
    assert len(chosen(told(np.ones((GRADED + 1, 1)), np.arange(1.0, GRADED + 2)))) <= GRADED
