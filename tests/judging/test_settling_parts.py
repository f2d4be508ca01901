"""The fit behind `settled` against its definition, and the questions of a history at the very boundary."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import lsq_linear, nnls

import workbench as wb
from workbench.judging import settling as module
from workbench.judging.reports import Report
from workbench.judging.settling import (
    Settling,
    chosen,
    doubling,
    downhill,
    ended,
    fitted,
    frozen,
    least,
    moving,
    needed,
    on_its_way,
    pauses,
    roaming,
    settling,
    stands,
    went_on,
)
from workbench.judging.verdicts import Hearing
from workbench.proofs.any_bounds import bounds_for

NOISE, SIGNIFICANT, WINDOW, GRADED, LEAST = 0.01, 10.0, 16, 120, 1e-100  # written out, not imported
POWERS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, *np.arange(1.0, 3.1, 0.25)]
T = 2.0 ** np.arange(9)


def told(thetas, passes):
    return [Report(float(p), np.atleast_1d(np.asarray(theta, float))) for p, theta in zip(passes, thetas, strict=True)]


# ── the fit ───────────────────────────────────────────────────────────────────────────────────────


def defined(t, e, threshold):
    """(limit, misfit) by general solvers of least squares: the least residuals of null curves, and of all curves."""
    null, best, limit, one = np.inf, np.inf, 0.0, np.ones(len(e))
    for p in POWERS:
        shape = t**-p / e
        null = min([null, *(nnls(shape[:, None], one - end / e)[1] ** 2 for end in (0.0, threshold / 2, threshold))])
        found = lsq_linear(np.stack([1 / e, shape], axis=1), one, ([0.0, -np.inf], [np.inf, np.inf]), tol=1e-14)
        if 2 * found.cost < best:
            best, limit = 2 * found.cost, min(found.x[0], e[-1])
    return limit, max(null - best, 0.0) / (best / (len(e) - 3) + NOISE**2)


def curves():
    rng, t = np.random.default_rng(0), np.array([0.08, 0.125, 0.2, 0.4, 0.7, 1.0])
    for power in (0.15, 0.6, 2.8):
        for end in (0.0, 0.3):
            for noise in (0.0, 0.1):
                yield t, (end + 0.4 * t**-power) * (1 + noise * rng.normal(size=6))
    yield t, np.array([1.0, 1.1, 1.3, 1.2, 1.6, 1.5])  # it rises
    yield t, np.array([9.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    yield t[1:], np.array([0.2, 0.9, 0.4, 0.8, 0.3])


def test_the_fit_is_its_definition():
    for t, e in curves():
        for threshold in (1e-9, 0.2, 1.0):
            limit, misfit = fitted(t, e, threshold)
            wanted = defined(t, e, threshold)
            assert limit == pytest.approx(wanted[0], rel=1e-4, abs=1e-5), (t, e, threshold)
            assert misfit == pytest.approx(wanted[1], rel=1e-4, abs=1e-4), (t, e, threshold)


def test_five_checkpoints_are_fitted_and_four_compared():
    passes = T[:5]
    e = 0.3 + 0.5 / passes
    assert np.isnan(settling(passes[1:], e[1:], 1e-4).misfit)
    five = settling(passes, e, 1e-4)
    assert (five.limit, five.misfit) == fitted(passes / 16, e, 1e-4)
    assert five.limit == pytest.approx(0.3)


def single():
    """Histories of six checkpoints by chance, whose one checkpoint left out changes the answer."""
    rng, passes = np.random.default_rng(3), np.array([1.0, 2.0, 4.0, 8.0, 12.0, 16.0])
    for _ in range(40):
        e = (0.25 + 0.4 * passes**-0.5) * (1 + 0.05 * rng.normal(size=6))
        limit, misfit = fitted(passes / 16, e, 1e-4)
        if limit >= e[-1] / 2 and misfit > SIGNIFICANT:
            yield passes, e


def test_the_others_must_say_the_same_when_any_one_is_left_out():
    answers = set()
    for passes, e in single():
        others = [defined(np.delete(passes, j) / 16, np.delete(e, j), 1e-4) for j in range(6)]
        answers.add(all(limit >= e[-1] / 2 and misfit > SIGNIFICANT / 2 for limit, misfit in others))
        assert settling(passes, e, 1e-4).settled == all(
            limit >= e[-1] / 2 and misfit > SIGNIFICANT / 2 for limit, misfit in others
        )
    assert answers == {True, False}


def test_what_is_fitted_is_the_last_sixteenth():
    """A checkpoint at exactly a sixteenth belongs to it, and none before."""
    passes = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    e = np.array([0.9, 0.5, 0.4, 0.37, 0.36])
    assert settling(passes, e, 1e-4).misfit == fitted(passes / 16, e, 1e-4)[1]
    for last in (16.01, 16.9):
        passes[-1] = last
        assert np.isnan(settling(passes, e, 1e-4).misfit)


def test_excesses_beyond_floats_are_left_out():
    e = np.array([np.inf, 0.9, 0.5, 0.4, 0.37, 0.36])
    passes = np.array([1.0, 1.5, 2.0, 4.0, 8.0, 16.0])
    assert settling(passes, e, 1e-4) == settling(passes[1:], e[1:], 1e-4)


def test_one_time_alone_says_nothing():
    found = settling(np.array([5.0, 5.0, 5.0]), np.array([1.0, 0.7, 0.5]), 1e-4)
    assert (found.limit, found.misfit, found.settled) == (0.0, 0.0, False)
    assert np.isnan(found.power)


def test_few_checkpoints_are_compared_with_the_last():
    passes = np.array([5.0, 8.0, 10.0])
    still = settling(passes, np.array([3.0, 3.01, 3.0]), 1e-4)
    assert (still.settled, still.limit) == (True, 3.0)
    for e in ([1.0, 1.0, 2.0], [2.0, 1.0, 1.0], [1.0, 0.9, 1.0]):  # it rose, it fell, it jumped
        found = settling(passes, np.array(e), 1e-4)
        assert (found.settled, found.limit) == (False, 0.0)


def test_few_checkpoints_lie_about_the_last_one_and_end_there():
    passes = np.array([1.0, 2.0, 3.0, 4.0])
    for e in ([0.992, 1.009, 1.0, 1.0], [1.009, 0.992, 1.0, 1.0]):
        found = settling(passes, np.array(e), 1e-4)
        assert (found.settled, found.limit) == (True, 1.0)


@pytest.mark.parametrize(
    ("limit", "misfit", "settled"),
    [
        (0.25, np.nextafter(SIGNIFICANT, 11), True),
        (0.25, SIGNIFICANT, False),
        (np.nextafter(0.25, 0), 2 * SIGNIFICANT, False),
    ],
)
def test_half_of_the_excess_and_ten_times_the_variance(limit, misfit, settled, monkeypatch):
    """An end of half of the excess is none yet to fall to; a misfit of ten is what chance may bring."""
    monkeypatch.setattr(module, "fitted", lambda *told: (limit, misfit))
    assert settling(T[:5], np.full(5, 0.5), 1e-4).settled == settled


@pytest.mark.parametrize(("count", "settled"), [(5, True), (6, False)])
def test_of_six_checkpoints_any_one_is_left_out_and_of_five_none(count, settled, monkeypatch):
    """Where all of them say that it has settled, and any fewer that it has not."""
    monkeypatch.setattr(module, "fitted", lambda t, *told: (0.5, 99.0) if len(t) == count else (0.0, 0.0))
    assert settling(np.linspace(2.0, 16.0, count), np.full(count, 0.5), 1e-4).settled == settled


def test_curves_that_fit_without_a_fault_have_no_misfit():
    """A null curve may be the best curve, and fit better by a rounding: the misfit is 0, not below."""
    t = np.array([0.08, 0.125, 0.2, 0.4, 0.7, 1.0])
    worst = [fitted(t, (0.1 + 0.01 * k) * t**-power, 1e-9)[1] for k in range(9) for power in (0.5, 1.0, 2.0)]
    assert min(worst) >= 0


def test_an_optimum_that_is_touched_has_a_power():
    found = settling(np.array([1.0, 2.0]), np.array([1.0, 0.0]), 1e-4)
    assert found.power == pytest.approx(-np.log2(LEAST), rel=1e-12)
    assert settling(np.array([1.0, 4.0]), np.array([8.0, 1.0]), 1e-4).power == pytest.approx(1.5)
    assert doubling(np.array([1.0, 2.0]), np.array([3e-100, 0.0])) == pytest.approx(3.0)


def test_the_need_without_a_fall_or_beyond_telling():
    flat = Settling(0.0, 0.0, 0.0, False)
    assert needed(10.0, 1.0, 0.1, flat) == np.inf
    assert needed(10.0, 1.0, 0.1, flat._replace(power=-1.0)) == np.inf
    assert needed(10.0, 1.0, 0.1, flat._replace(power=np.nan)) == np.inf
    assert needed(10.0, 1.0, 0.1, flat._replace(power=1.0, settled=True)) == np.inf
    assert needed(10.0, 1.0, 0.1, flat._replace(power=0.5)) == pytest.approx(1000.0)
    for times in (0.99, 1.01):
        need = needed(1.0, 10.0 ** (6 + np.log10(times)), 1.0, flat._replace(power=1.0))
        here = SimpleNamespace(needed=need, passes=np.array([1.0]), threshold=1.0)
        assert ("over a million times as many" in Hearing.trend(here, 1.0)[1]) == (times > 1)


# ── ended, at rest, roaming ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("away", "same"), [(0.9, True), (1.0, True), (1.1, False)])
def test_the_same_weights_are_so_relative_to_their_size(away, same):
    """Of length 1e10, by a difference of 1; the other length is that of a zero."""
    reports = told([[away, 1e10], [0.0, 1e10]], [1.0, 2.0])
    assert (ended(reports) == 1.0) == same
    assert ended(told([[0.0], [0.0]], [1.0, 2.0])) == 1.0
    assert np.isnan(ended(told([[1e-109], [0.0]], [1.0, 2.0])))


@pytest.mark.parametrize(("away", "moves"), [(0.9, False), (1.0, False), (1.1, True)])
def test_rest_is_relative_to_the_size_of_the_weights(away, moves):
    """Of length 1000, by a difference of 1; the farthest of the last half counts, and what was before does not."""
    rows = [[0.0, 0.0], [away, 1000.0], [0.1, 1000.0], [0.0, 1000.0]]
    assert moving(told(rows, [49.0, 50.0, 60.0, 100.0])) == moves


def test_the_last_checkpoint_but_one_roams_too():
    reports = told([[1.0, 1.0], [1.0, 4.0], [1.0, 0.0]], [30.0, 90.0, 100.0])
    assert roaming(reports, np.array([1.0, 2.0])) == 2.0


# ── stands ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("times", "fall"), [(8, 1.5), (4, 1.15)])
def test_what_fell_by_exactly_the_factor_fell(times, fall):
    passes = np.array([16.0 / times, 15.0, 16.0])
    for before, expected in ((fall * 2.0, False), (np.nextafter(fall * 2.0, 0), True)):
        assert stands(passes, np.array([before, 2.0, 2.0])) == (expected or (times == 8 and before < 1.15 * 2))


def test_the_checkpoint_at_an_eighth_is_the_last_one_before_it():
    """One just after an eighth of the passes does not count: from there on nothing has fallen."""
    passes = np.array([1.9, 2.2, 4.0, 16.0])
    assert not stands(passes, np.array([9.0, 1.0, 9.0, 1.0]))
    assert stands(passes, np.array([1.4, 9.0, 9.0, 1.0]))


def test_what_comes_after_the_eighth_counts_and_the_eighth_itself_does_not():
    """The checkpoint at an eighth or a quarter of the passes is what the later ones are measured by."""
    passes = np.array([1.0, 2.0, 4.0, 16.0])
    assert stands(passes, np.array([9.0, 1.4, 1.3, 1.3]))  # from 1.4 on, nothing is 1.5 times smaller
    assert not stands(passes, np.array([0.1, 1.6, 1.2, 1.0]))  # what was before does not count
    assert not stands(np.array([2.0, 4.0, 16.0]), np.array([1.6, 1.2, 1.0]))
    assert not stands(np.array([3.0, 16.0]), np.array([1.2, 1.0]))  # a quarter: 1.15 times smaller


def test_what_was_before_the_eighth_does_not_count_nor_an_excess_of_0_there():
    assert stands(np.array([0.5, 1.0, 2.0, 16.0]), np.array([9.0, 0.1, 1.0, 1.0]))
    assert stands(np.array([1.0, 16.0]), np.array([0.0, 1.0]))


def test_a_quarter_of_the_passes_and_no_fifth():
    assert least(np.array([22.0, 50.0, 100.0]), np.array([0.1, 2.0, 3.0])) == 2.0
    assert least(np.array([25.0, 50.0, 100.0]), np.array([0.1, 2.0, 3.0])) == 0.1


def test_the_last_checkpoint_alone_may_have_fallen():
    passes = np.array([1.0, 2.0, 3.9, 5.0, 16.0])
    assert not stands(passes, np.array([2.0, 2.0, 2.0, 2.0, 1.0]))
    assert not stands(passes, np.array([2.0, 2.0, 2.0, 1.0, 2.0]))
    assert stands(passes, np.array([2.0, 2.0, 2.0, 2.0, 1.8]))


# ── pauses ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("rows", "passes", "paused"),
    [
        ([[1.0], [1.0], [2.0]], [1.0, 2.0, 3.0], True),  # the same while the passes doubled, then moved
        ([[1.0], [1.0], [2.0]], [1.0, 1.99, 3.0], False),
        ([[1.0], [1.0], [1.0]], [1.0, 2.0, 4.0], False),  # it has not moved since
        ([[1.0], [2.0], [3.0]], [1.0, 2.0, 4.0], False),  # it never stayed
        ([[0.0], [1.0], [1.0], [1.0], [2.0]], [1.0, 2.0, 3.0, 4.0, 5.0], True),  # later on
        ([[0.0], [1.0], [1.0], [1.0], [2.0]], [1.0, 2.0, 3.0, 3.9, 5.0], False),
        ([[0.0], [1.0], [1.0], [2.0], [2.0]], [1.0, 2.0, 3.0, 4.0, 8.0], False),  # the last stay is not over
        ([[1.0], [1.0], [-1.0], [-1.0]], [2.0, 4.0, 5.0, 6.0], True),
        ([[1e-5], [1e-5], [2.0]], [1.0, 2.0, 3.0], True),  # of small weights, too
        ([[0.0], [0.0], [2.0]], [1.0, 2.0, 3.0], True),  # and of none
        ([[1e-5], [2e-5], [2.0]], [1.0, 2.0, 3.0], False),
    ],
)
def test_who_stayed_while_the_passes_doubled_and_moved_afterwards(rows, passes, paused):
    assert pauses(told(rows, passes)) == paused


@pytest.mark.parametrize(("away", "same"), [(0.9, True), (1.0, True), (1.1, False)])
def test_a_stay_is_relative_to_the_size_of_the_weights(away, same):
    """Of length 1e10, by a difference of 1."""
    assert pauses(told([[0.0, 1e10], [away, 1e10], [9.0, 1e10]], [1.0, 2.0, 3.0])) == same


# ── on its way ────────────────────────────────────────────────────────────────────────────────────


def way(gains, best=1.0, passes=(1.0, 2.0, 4.0, 8.0)):
    """On a line that ends in 0, with the gains of the last doublings, the last one first, as lengths."""
    places = -np.append(np.cumsum(gains)[::-1], 0.0)
    return on_its_way(np.array(passes), [np.array([each]) for each in places], np.array([best]))


def test_an_even_pace_at_the_boundary():
    assert way([0.003, 0.003, 0.003])
    assert not way([np.nextafter(0.003, 0), 0.003, 0.003])
    assert not way([0.0029, 0.0031, 0.0031])  # the last doubling counts
    assert way([27.0, 30.0, 30.0], best=4096.0)  # a ratio of 0.9, 0.7 % of the way
    assert not way([26.9, 30.0, 30.0], best=4096.0)
    assert not way([27.0, 30.0, 34.0], best=4096.0)


def test_half_of_the_way_is_enough():
    assert way([1.0, 2.0, 4.0], best=1023 / 512)  # (1/2 + 1/4 + …, ten terms) of it are half of the way
    assert not way([1.0, 2.0, 4.0], best=1024 / 512)


def test_gains_are_measured_by_the_way_that_is_left():
    for scale in (1e-3, 1.0, 1e3):
        assert way([0.3 * scale, 0.5 * scale, 0.8 * scale], best=0.5 * scale)
        assert not way([0.02 * scale, 0.05 * scale, 0.12 * scale], best=0.5 * scale)


def test_the_places_are_those_at_the_parts_of_the_passes():
    """At 8, 4, 2 and 1 of 8 passes; what is between, and a checkpoint a rounding late, changes nothing."""
    assert way([0.3, 0.3, 0.3], passes=(1.0 + 1e-12, 2.0, 4.0 + 1e-12, 8.0))
    assert way([0.3, 0.3, 0.3], passes=(1.0 + 0.9e-9, 2.0, 4.0, 8.0))
    assert not way([0.3, 0.3, 0.3], passes=(1.0 + 1.5e-9, 2.0, 4.0, 8.0))
    thetas = [[-0.9], [-0.1], [-0.6], [-0.1], [-0.3], [0.0]]
    passes = np.array([1.0, 1.1, 2.0, 2.1, 4.0, 8.0])
    assert on_its_way(passes, [np.array(each) for each in thetas], np.array([1.0]))


@pytest.mark.parametrize("first", [1, 2, 3])
def test_a_history_that_begins_late_tells_no_way(first):
    passes, thetas = 2.0 ** np.arange(first, 4), [np.array([0.3 * k]) for k in range(first, 4)]
    assert not on_its_way(passes, thetas, np.array([1.5]))


# ── which checkpoints are graded ──────────────────────────────────────────────────────────────────


def test_half_of_the_checkpoints_are_evenly_spaced_and_half_of_them_early():
    reports = told(np.ones(1000), np.arange(1.0, 1001.0))
    kept = np.array([each.passes for each in chosen(reports)])
    assert len(kept) <= GRADED
    assert (kept[0], kept[-1]) == (1.0, 1000.0)
    even = np.linspace(0, 999, 60).astype(int) + 1.0
    assert set(even) <= set(kept)
    assert set(range(1, 10)) <= set(kept)  # a checkpoint for each factor of 1.12
    assert np.diff(kept).max() <= 17
    assert len(chosen(told(np.ones(1000), np.append(0.0, np.arange(1.0, 1000.0))))) <= GRADED


def test_the_checkpoints_that_are_kept_are_those_of_the_definition():
    """60 of equal steps, and the first at or behind each of 60 passes of equal ratios, with 1e-9 for the pass 0."""
    for passes in (np.arange(1000.0), np.arange(1.0, 400.0) ** 2, np.linspace(0.5, 7.0, 300)):
        from_zero = np.where(passes > 0, passes, 1e-9)
        late = [int(np.flatnonzero(from_zero >= each * (1 - 1e-12))[0]) for each in ratios(from_zero)]
        wanted = {*np.linspace(0, len(passes) - 1, 60).astype(int), *late, len(passes) - 1}
        kept = [each.passes for each in chosen(told(np.ones(len(passes)), passes))]
        assert kept == [passes[k] for k in sorted(wanted)]


def test_passes_that_hardly_grow_are_checkpoints_like_any():
    """The ratios between 1 and the next float may be rounded beyond the last of them."""
    passes = 1.0 + 2.0**-52 * np.arange(GRADED + 30)
    reports = told(np.ones(len(passes)), passes)
    kept = chosen(reports)
    assert (kept[0], kept[-1]) == (reports[0], reports[-1])
    assert len(kept) <= GRADED


def ratios(passes):
    return passes[0] * (passes[-1] / passes[0]) ** (np.arange(60) / 59)


# ── slopes ─────────────────────────────────────────────────────────────────────────

STEPS, STRAIGHT = 3, 0.99  # written out, not imported


def on_slopes(steps, minimum=(0.0, 0.0), turn=0.0):
    """A squared risk of two features, and weights that go by these lengths along the slope, turned by an angle."""
    problem = wb.Linear(np.eye(2), [1.0, 1.0])
    bounds = bounds_for(wb.WeightedRisk(lam=1.0, loss="squared"), problem)
    theta, found = np.array([3.0, -2.0]), [np.array([3.0, -2.0])]
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    for length in steps:
        theta = theta - length * rotation @ bounds.value_and_gradient(theta)[1]
        found.append(theta)
    return told(found, range(1, len(found) + 1)), bounds


@pytest.mark.parametrize(
    ("turn", "straight"),
    [(0.0, True), (0.99 * np.arccos(STRAIGHT), True), (1.01 * np.arccos(STRAIGHT), False), (np.pi, False)],
)
def test_steps_of_steepest_descent_go_downhill(turn, straight):
    reports, bounds = on_slopes([0.1, 0.01, 1e-3, 1e-4], turn=turn)
    assert downhill(reports, bounds) is straight


def test_three_steps_at_least_go_downhill_and_all_of_the_last_three_do():
    reports, bounds = on_slopes([0.1] * STEPS)
    assert downhill(reports, bounds)
    assert not downhill(reports[1:], bounds)
    for k in range(1, STEPS + 1):
        others = reports.copy()
        others[-k] = Report(others[-k].passes, 2 * others[-k - 1].theta - others[-k].theta)
        assert not downhill(others, bounds), "one step uphill"
    assert not downhill([reports[0]] * 4, bounds), "no step at all"
    hinge = bounds_for(wb.SoftMargin(), wb.Multiclass(np.eye(2), [0, 1]))
    assert not downhill(reports, hinge), "no gradient"


@pytest.mark.parametrize(
    ("longer", "passes", "moves"),
    [
        ([1.0, 2.0], [10.0, 20.0], True),
        ([1.0, 1.0], [10.0, 20.0], False),
        ([1.0 + 0.9e-10, 2.0], [10.0, 20.0], True),
        ([1.0 + 1.1e-10, 2.0], [10.0, 20.0], False),
        ([1.0, 1.0 + 0.9e-6], [10.0, 20.0], False),  # at that pace nobody arrives
        ([1.0, 1.0 + 1.1e-6], [10.0, 20.0], True),
        ([1.0, 3.0, 2.0], [9.0, 10.0, 20.0], False),  # where the shorter one ends, it is elsewhere
        ([1.0, 2.0], [9.0, 10.1], True),
        ([2.0, 3.0], [11.0, 20.0], False),  # nothing is known of the first ten passes
    ],
)
def test_a_longer_history_that_goes_on_from_where_the_shorter_one_ends(longer, passes, moves):
    shorter = told([[0.5], [1.0]], [5.0, 10.0])
    assert went_on(shorter, told([[each] for each in longer], passes)) == moves


@pytest.mark.parametrize(
    ("gains", "stops"),
    [
        ([1.0, 0.80], False),  # 0.8·0.8/0.2 = 3.2 times the way that is left
        ([0.01, 0.0080], True),  # the same share, 0.032 of the way
        ([0.01, 0.00809], True),  # 0.9² = 0.81 is the share from which nothing freezes
        ([0.001, 0.000811], False),
        ([1.0, 0.499], True),  # 0.499²/0.501 = 0.497 of the way
        ([1.0, 0.501], False),
        ([0.01, -0.5], True),  # at rest, or thrown back
        ([0.9e-10, 0.0], False),  # rounding
        ([1.1e-10, 0.0], True),
        ([-0.1, 0.01], False),
    ],
)
def test_gains_that_shrink_so_fast_stop_short_of_the_optimum(gains, stops):
    """Of weights with T, 4T and 16T passes on a line, the optimum at distance 1 from the last ones."""
    places = np.cumsum([0.0, *gains])
    assert frozen([np.array([each]) for each in places], np.array([places[-1] + 1.0])) == stops


def test_who_is_at_the_optimum_is_not_frozen():
    assert not frozen([np.zeros(1), np.ones(1), np.ones(1)], np.ones(1))


# ── at the very boundary ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("length", [1 / 16, 1.0, 16.0])
@pytest.mark.parametrize("origin", [0.0, 4096.0])
@pytest.mark.parametrize(("first", "second", "stops"), [(64.0, 31.0, True), (64.0, 33.0, False), (4.0, 3.0, True)])
def test_where_weights_freeze_does_not_depend_on_where_the_way_is_nor_on_its_length(
    length, origin, first, second, stops
):
    """Gains of so many 64ths of the way that is left."""
    ends = [origin + length * each for each in (-(first + second) / 64, -second / 64, 0.0)]
    assert frozen([np.array([each]) for each in ends], np.array([origin + length])) == stops


@pytest.mark.parametrize(("gain", "stops"), [(1e-10, False), (np.nextafter(1e-10, 1), True)])
def test_a_gain_of_a_ten_billionth_of_the_way_is_rounding(gain, stops):
    assert frozen([np.array([-gain]), np.zeros(1), np.zeros(1)], np.ones(1)) == stops


@pytest.mark.parametrize(("first", "second", "stops"), [(100, 81, False), (101, 81, True)])
def test_gains_that_shrink_by_a_tenth_a_doubling_do_not_freeze(first, second, stops):
    places = np.cumsum([0, first, second]) / 2**20
    assert frozen([np.array([each]) for each in places], places[-1:] + 1.0) == stops


@pytest.mark.parametrize(("second", "stops"), [(0.5, False), (np.nextafter(0.5, 0), True)])
def test_gains_to_come_of_just_half_of_the_way_do_not_freeze(second, stops):
    assert frozen([np.array([-1.0]), np.zeros(1), np.array([second])], np.array([1.0 + second])) == stops


def test_a_longer_history_goes_on_from_the_last_weights_of_the_shorter_one():
    shorter = told([[0.5], [0.7], [1.0]], [2.0, 5.0, 10.0])
    assert went_on(shorter, told([[1.0], [2.0]], [10.0, 20.0]))
    assert not went_on(shorter, told([[0.7], [2.0]], [10.0, 20.0]))


@pytest.mark.parametrize(
    ("ends", "moves"), [([1.0, 9.0, 8.0], True), ([1.0, 9.0, 1.0], False), ([1.0, 1.0, 1.0, 9.0], True)]
)
def test_where_a_longer_history_ends_tells_whether_it_went_on(ends, moves):
    passes = [10.0, 20.0, 30.0, 40.0][: len(ends)]
    assert went_on(told([[1.0]], [10.0]), told([[each] for each in ends], passes)) == moves


@pytest.mark.parametrize(("meets", "end", "moves"), [(1.0, 3e4, True), (2.1, 3e4, False), (1.0, 9e3, False)])
def test_going_on_is_relative_to_the_size_of_the_weights(meets, end, moves):
    """Of length 1e10, where a difference of 1 is still rounding at the beginning, and one of 1e4 no move at the end."""
    longer = told([[meets, 1e10], [end, 1e10]], [10.0, 20.0])
    assert went_on(told([[0.0, 1e10]], [10.0]), longer) == moves


@pytest.mark.parametrize(
    ("passes", "moves"), [(10.0 * (1 + 1e-9), True), (10.0 * (1 + 1.5e-9), False), (10.0 * (1 + 3e-9), False)]
)
def test_passes_are_the_same_within_a_billionth(passes, moves):
    assert went_on(told([[1.0]], [10.0]), told([[1.0], [2.0]], [passes, 20.0])) == moves


def test_steps_before_the_last_three_may_go_uphill():
    reports, bounds = on_slopes([-0.1, 0.1, 0.1, 0.1])
    assert downhill(reports, bounds)
    assert not downhill(on_slopes([0.1, -0.1, 0.1, 0.1])[0], bounds)


@pytest.mark.parametrize(("aside", "straight"), [(0.0, True), (0.1424, True), (0.1426, False)])
def test_steps_of_exactly_the_stated_straightness_go_downhill(aside, straight, monkeypatch):
    """tan(arccos 0.99) = 0.14249."""
    _, bounds = on_slopes([])
    monkeypatch.setattr(bounds, "value_and_gradient", lambda theta: (0.0, np.array([1.0, 0.0])))
    reports = told([[-1.0 * k, aside * k] for k in range(4)], range(1, 5))
    assert downhill(reports, bounds) is straight


@pytest.mark.parametrize(("last", "on"), [(21.0, True), (21.01, False)])
def test_steps_that_differ_by_a_twentieth_are_of_equal_length(last, on):
    """In the last doubling, of four passes, and 20 in a pass of the two before; of a way of 2^30."""
    assert way([4 * last, 40.0, 20.0], best=2.0**30) == on


def test_steps_of_equal_length_are_so_in_each_pass_and_not_in_each_doubling():
    """The places at a half, a quarter and an eighth of 16 passes are those after 7, 3 and 1.5."""
    passes = (1.5, 3.0, 7.0, 16.0)
    assert way([9e-6, 4e-6, 1.5e-6], passes=passes)
    assert not way([9e-6, 4.5e-6, 2.25e-6], passes=passes)


@pytest.mark.parametrize(("first", "on"), [(1e-10, True), (np.nextafter(1e-10, 0), False)])
def test_a_first_gain_of_a_ten_billionth_of_the_way_is_motion(first, on):
    """Then twice and four times as much, up to a place from which the optimum is exactly 1 away."""
    end = np.round(7e-10 * 2.0**52) / 2.0**52
    places = [np.array([each]) for each in (0.0, first, 3e-10, end)]
    assert on_its_way(np.array([1.0, 2.0, 4.0, 8.0]), places, np.array([1.0 + end])) == on
