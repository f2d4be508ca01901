"""Patience: when the judge asks for more passes, and what it makes of them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import workbench as wb
from workbench.errors import BadInput
from workbench.judging import patience as patience_module
from workbench.judging import stand
from workbench.judging.patience import (
    Ruling,
    Try,
    alike,
    allowed,
    calm,
    cheap,
    confirmable,
    decides,
    exhausted,
    given_longer,
    given_two_longer,
    leaves,
    not_accused,
    risen,
    ruling,
    slackens,
    stopped,
    stops_short,
    under_way,
    unmoved,
    waits,
    works_on,
)
from workbench.judging.reports import Report
from workbench.judging.words import AGREES, DISAGREES, NOT_CONVERGED, Verdict, far

# written out, not imported: every constant is tested on both sides
FURTHER, ENOUGH, NEAR, PATIENCE, LEAST, FALL, LITTLE = 4, 4.0, 0.1, 30.0, 2.0, 1.5, 1.15
LONGEST, FARTHEST = 4, 8


def said(verdict=DISAGREES, rule="settled", absolute=1.0, passes=100.0, needed=np.inf):
    evidence = {"passes": passes, "threshold": 1e-4}
    return Verdict(verdict, absolute, "It is far; run it longer.", evidence, rule, absolute, needed, "It is far")


def test_more_is_asked_for_before_a_history_accuses():
    assert waits(said(rule="settled"))
    assert waits(said(rule="ended"))
    for rule in ("drift", "rate", "reported", "feasibility"):
        assert not waits(said(rule=rule))
    assert not waits(said(AGREES, "optimum"))
    assert not waits(said(NOT_CONVERGED, "feasibility"))
    assert not waits(said(NOT_CONVERGED, "history", absolute=np.inf))


@pytest.mark.parametrize(("times", "asked"), [(0.99 * ENOUGH, False), (1.01 * ENOUGH, True), (np.inf, True)])
def test_a_trend_that_leads_there_soon_is_believed(times, asked):
    assert waits(said(NOT_CONVERGED, "history", needed=100 * times)) == asked


@pytest.mark.parametrize(("took", "tried"), [(LEAST / FURTHER, True), (np.nextafter(LEAST / FURTHER, 1), False)])
def test_a_trend_is_tried_and_a_fall_does_not_decide_where_passes_cost_little(took, tried):
    soon = said(NOT_CONVERGED, "history", needed=101.0)
    assert waits(soon, took) == tried
    falling = said(NOT_CONVERGED, "history", absolute=0.1, passes=400.0)
    assert decides(said(), falling, took) == (not tried)
    for certain in (said(AGREES, "optimum", passes=400.0), said(passes=400.0)):
        assert decides(said(), certain, took)


@pytest.mark.parametrize(("part", "verdict"), [(0.99, DISAGREES), (1.01, NOT_CONVERGED)])
def test_who_falls_or_jumps_with_the_further_passes_is_not_accused(part, verdict):
    for further in (1.0 / (part * LITTLE), part * FALL):
        found = given_longer(said(absolute=1.0), said(absolute=further, passes=400.0))
        assert found.verdict == verdict
        assert found.excess == 1.0  # the numbers are those of the budget asked for
        assert found.evidence["further_passes"] == 400.0
        assert found.evidence["further_excess"] == pytest.approx(further)
        assert ("run it longer" in found.reason) == (verdict == NOT_CONVERGED)


@pytest.mark.parametrize(("end", "told"), [(0.5, True), (0.5 / 1.49, True), (0.5 / 1.51, False)])
def test_a_rate_that_further_passes_contradict_is_left_out(end, told):
    """At passes^-0.5 four times the passes halve the excess."""
    first = said(NOT_CONVERGED, "history", absolute=1.0)
    first.evidence["power"] = 0.5
    reason = given_longer(first, said(NOT_CONVERGED, "history", absolute=end, passes=400.0)).reason
    beginning = "It is far" if told else f"{far(1.0, 1.0)} after 100 passes"
    assert reason.startswith(f"{beginning}; 400 passes bring it")
    first.evidence["power"] = -0.5
    assert given_longer(first, said(NOT_CONVERGED, "history", absolute=1e-3, passes=400.0)).reason.startswith(
        "It is far"
    )


def test_two_histories_must_say_so():
    """Who settles with the further passes only is asked once more, and that history decides."""
    first, further = said(NOT_CONVERGED, "history", absolute=2.0), said(DISAGREES, "settled", passes=400.0)
    assert given_longer(first, further).verdict == NOT_CONVERGED
    found = given_two_longer(first, further, said(DISAGREES, "ended", passes=1600.0))
    assert (found.verdict, found.rule, found.excess) == (DISAGREES, "ended", 2.0)
    assert found.reason == "After 1600 passes it is far; the 100 asked for end 2.0e+00 above."
    for last in (said(absolute=0.5, passes=1600.0), said(NOT_CONVERGED, "history", passes=1600.0)):
        assert given_two_longer(first, further, last).verdict == NOT_CONVERGED
    assert not decides(first, further)
    assert decides(further, said(passes=1600.0))
    arrived = given_two_longer(first, further, said(AGREES, "optimum", absolute=1e-9, passes=1600.0))
    assert (arrived.verdict, arrived.needed) == (NOT_CONVERGED, 1600.0)


@pytest.mark.parametrize(
    ("end", "same"),
    [(1 / (0.999 * LITTLE), True), (1 / (1.001 * LITTLE), False), (0.999 * FALL, True), (1.001 * FALL, False)],
)
def test_two_histories_that_accuse_decide_unless_the_longer_one_leads_lower_or_far_higher(end, same):
    first, further = said(absolute=1.0), said(absolute=end, passes=400.0)
    assert alike(first, further) == same
    assert decides(first, further) == same
    assert (given_longer(first, further).verdict == DISAGREES) == same
    before = said(NOT_CONVERGED, "history", absolute=9.0)
    assert (given_two_longer(before, first, further).verdict == DISAGREES) == same


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize(("factor", "stands"), [(0.99 * FALL, True), (1.01 * FALL, False)])
def test_who_was_not_better_with_four_nor_with_sixteen_times_the_passes_stands(place, factor, stands):
    """It may jump, and even rise: what counts is that neither of the longer histories is FALL times better."""
    ends = [3.0, 9.0]
    ends[place] = 1.0 / factor
    second, last = (said(NOT_CONVERGED, "history", absolute=end, passes=400.0) for end in ends)
    assert unmoved(said(absolute=1.0), second, last) == stands
    assert not unmoved(said(absolute=1.0), second, said(AGREES, "optimum", absolute=9.0))


def test_who_ends_higher_with_64_times_the_passes_has_risen():
    """Whatever the histories between: sound methods that jump fall on the whole."""
    assert risen(said(absolute=np.nextafter(1.0, 0)), said(NOT_CONVERGED, "history", absolute=1.0))
    assert not risen(said(absolute=1.0), said(NOT_CONVERGED, "history", absolute=1.0))
    assert not risen(said(absolute=1.0), said(AGREES, "optimum", absolute=9.0))


def tries_of(*histories, took=0.01):
    """Tries with these excesses; a pair (excess, "settled") accuses."""
    pairs = [each if isinstance(each, tuple) else (each, "history") for each in histories]
    verdicts = [
        said(DISAGREES if rule == "settled" else NOT_CONVERGED, rule, excess, 100.0 * FURTHER**k)
        for k, (excess, rule) in enumerate(pairs)
    ]
    rest = np.zeros(1)
    return [Try([Report(verdict.evidence["passes"], rest)], verdict, took) for verdict in verdicts]


def rulings(tries):
    """What the first two, three, … say, each told what those before said."""
    found = [Ruling(None)]
    for count in range(2, len(tries) + 1):
        found.append(ruling(tries[:count], None, 1e-4, found[-1].verdict))
    return found[1:]


def test_who_jumps_and_ends_higher_after_64_times_the_passes_is_accused(monkeypatch):
    monkeypatch.setattr(patience_module, "standing", lambda *told: said(passes=6400.0))
    tries = tries_of(4.0, 1.0, 2.0, 5.0)
    assert [ruling(tries[:count], None, 1e-4).asks for count in (2, 3)] == [True, True]
    found = ruling(tries, None, 1e-4).verdict
    assert (found.verdict, found.excess) == (DISAGREES, 4.0)
    assert ruling(tries_of(4.0, 1.0, 2.0, 3.9), None, 1e-4).verdict.verdict == NOT_CONVERGED


@pytest.mark.parametrize(("last", "verdict"), [(1.01, DISAGREES), (0.99, NOT_CONVERGED)])
@pytest.mark.parametrize(
    "histories", [((1.5, "settled"), (1.5, "settled"), (1.5, "settled")), (1.5, 1.4, (1.5, "settled"))]
)
def test_where_passes_cost_little_more_of_them_confirm_what_fewer_accuse_of(histories, last, verdict, monkeypatch):
    """Unless they lead FALL times lower."""
    monkeypatch.setattr(patience_module, "standing", lambda *told: said(passes=1600.0))
    found = rulings(tries_of(*histories, last))
    for each in found[:-1] if isinstance(histories[0], tuple) else found[1:-1]:
        assert (each.verdict.verdict, each.asks) == (DISAGREES, True)
    assert (found[-1].verdict.verdict, found[-1].asks) == (verdict, verdict == DISAGREES)
    dear = rulings(tries_of(*histories, took=0.51))[-1]
    assert (dear.verdict.verdict, dear.asks) == (DISAGREES, False)


@pytest.mark.parametrize(("rule", "most"), [("ended", LONGEST), ("settled", FARTHEST)])
def test_an_accusation_is_confirmed_by_so_many_histories(rule, most):
    """A learner that has ended takes no longer for more passes."""
    tries = [Try([], said(rule=rule), LEAST / FURTHER)] * most
    assert confirmable(tries[:-1])
    assert not confirmable(tries)
    assert not confirmable([*tries[:-2], Try([], said(rule=rule), 1.01 * LEAST / FURTHER)])


@pytest.mark.parametrize(
    ("end", "took", "rule", "stands"),
    [
        (1.0, 1.0, "ended", True),
        (1 / 1.0099, 1.99, "ended", True),
        (1.0099, 0.1, "ended", True),
        (1 / 1.011, 1.0, "ended", False),
        (1.011, 1.0, "ended", False),
        (1.0, 2.0, "ended", False),  # at work
        (1.0, 1.0, "settled", False),
    ],
)
def test_who_ends_where_a_quarter_of_the_passes_led_has_stopped(end, took, rule, stands):
    shorter = Try([], said(NOT_CONVERGED, "history", absolute=1.0), 1.0)
    assert stopped(shorter, Try([], said(rule=rule, absolute=end), took)) == stands


@pytest.mark.parametrize(("factor", "decided"), [(0.99 * FALL, False), (1.01 * FALL, True)])
def test_who_falls_and_has_not_settled_is_not_asked_again(factor, decided):
    further = said(NOT_CONVERGED, "history", absolute=1.0 / factor, passes=400.0)
    assert decides(said(NOT_CONVERGED, "history"), further) == decided
    assert decides(said(), said(AGREES, "optimum"))


@pytest.mark.parametrize(
    ("doubling", "asked"), [(0.999 * LITTLE, True), (LITTLE, False), (1.001 * LITTLE, False), (np.nan, False)]
)
def test_who_falls_but_no_longer_in_the_last_doubling_is_asked_once_more(doubling, asked):
    """Unless its trend leads there soon."""
    further = said(NOT_CONVERGED, "history", absolute=0.1, passes=400.0)
    further.evidence["doubling"] = doubling
    assert slackens(further) == asked
    assert decides(said(NOT_CONVERGED, "history"), further) == (not asked)
    assert not slackens(said(NOT_CONVERGED, "history", absolute=0.1, needed=100.0))
    assert not slackens(said(absolute=0.1))


@pytest.mark.parametrize("rising", [False, True])
@pytest.mark.parametrize(("factor", "verdict"), [(0.999 * LITTLE, DISAGREES), (1.001 * LITTLE, NOT_CONVERGED)])
def test_who_fell_at_first_is_accused_where_four_times_as_many_passes_change_nothing(factor, verdict, rising):
    """And the last history must say so itself: calm alone accuses nobody."""
    first, second = said(NOT_CONVERGED, "history", absolute=1.0), said(NOT_CONVERGED, "history", absolute=0.1)
    last = said(absolute=0.1 * factor if rising else 0.1 / factor, passes=1600.0)
    assert not calm(second, last)
    last.evidence["roaming"] = 1.001 * NEAR
    assert not calm(second, last)
    last.evidence["roaming"] = 0.999 * NEAR
    assert calm(second, last) == (verdict == DISAGREES)
    assert given_two_longer(first, second, last).verdict == verdict
    assert given_two_longer(first, second, said(NOT_CONVERGED, "history", absolute=0.1)).verdict == NOT_CONVERGED


def under_way_tries(*ends):
    """Histories that settle, each with these absolute excesses and ways of the weights."""
    tries = []
    for k, (absolute, roaming) in enumerate(ends):
        verdict = said(absolute=absolute, passes=100.0 * 4**k)
        if roaming is not None:
            verdict.evidence["roaming"] = roaming
        tries.append(Try([Report(100.0, np.zeros(1))], verdict, 0.0))
    return tries


@pytest.mark.parametrize(
    ("ends", "stands"),
    [
        ([(1.0, 0.002), (0.99, 0.0025)], True),
        ([(1.0, 0.002), (0.99, np.nextafter(0.0025, 0))], False),
        ([(1.0, 0.002), (1.0, 0.004)], False),  # no lower
        ([(1.0, 0.002), (0.99, 0.004), (0.97, 0.008)], True),
        ([(1.0, 0.002), (0.99, 0.004), (0.97, 0.004)], False),  # no farther
        ([(1.0, 0.002), (1.01, 0.004), (0.97, 0.008)], False),
        ([(1.0, None), (0.99, 0.004)], False),
        ([(1.0, 0.002), (0.99, None)], False),
    ],
)
def test_who_ends_lower_and_moves_farther_each_time_is_under_way(ends, stands):
    """Of the last four histories; an accusation by two that settle alike is not made then."""
    tries = under_way_tries(*ends)
    assert under_way(tries) == stands
    if stands:
        ruled = ruling(tries, None, 1e-3)
        assert (ruled.verdict.verdict, ruled.asks) == (NOT_CONVERGED, True)


def test_the_last_four_histories_tell_who_is_under_way(monkeypatch):
    seen = []
    monkeypatch.setattr(patience_module, "under_way", lambda tries: seen.append(len(tries)) or True)
    for count in range(2, 7):
        ruling(under_way_tries(*[(1.0, 0.1)] * count), None, 1e-3)
    assert seen == [2, 3, 4, 4, 4]


def test_who_is_under_way_is_asked_as_long_as_passes_are_cheap():
    ends = [(1.0 - 0.01 * 2**k, 0.001 * 2**k) for k in range(8)]
    for count in range(2, 8):
        ruled = ruling(under_way_tries(*ends[:count]), None, 1e-3)
        assert (ruled.verdict.verdict, ruled.asks) == (NOT_CONVERGED, True)
        dear = [each._replace(took=0.6) for each in under_way_tries(*ends[:count])]
        assert ruling(dear, None, 1e-3).asks == (count < 4)
    assert not ruling(under_way_tries(*ends), None, 1e-3).asks


def test_accusations_are_confirmed_as_long_as_passes_are_cheap():
    """Of a learner that has ended up to four histories, of others up to eight."""
    for rule, most in (("ended", 4), ("settled", 8)):
        for count in (2, 3, 4, 5, 7, 8):
            first = said(NOT_CONVERGED, "history")
            tries = [Try([], first, 0.0) for _ in range(count - 1)] + [Try([], said(rule=rule), 0.5)]
            assert confirmable(tries) == (count < most)
            assert not confirmable([*tries[:-1], tries[-1]._replace(took=np.nextafter(0.5, 1))])


def test_what_is_cheap_and_who_has_left():
    assert cheap(0.5)
    assert not cheap(np.nextafter(0.5, 1))
    second = said(absolute=1.5)
    for places in ((second, second), (second, said(absolute=9.0)), (said(absolute=9.0), second)):  # below both
        assert leaves(*places, said(absolute=1.0))
        assert not leaves(*places, said(absolute=np.nextafter(1.0, 2)))
        assert leaves(*places, said(AGREES, "optimum", absolute=1.5))
    moved = said(rule="settled")
    assert not_accused(moved) == replace(moved, verdict=NOT_CONVERGED)
    assert not_accused(said(rule="drift")) == said(rule="drift")


def test_who_takes_twice_the_seconds_at_rest_is_at_work():
    rest, other = said(rule="ended"), said(rule="settled")

    def after(verdict, seconds):
        return Try([], verdict, seconds)

    assert works_on(after(rest, 1.0), after(rest, 2.0))
    assert not works_on(after(rest, 1.0), after(rest, np.nextafter(2.0, 0)))
    assert not works_on(after(rest, 1.0), after(other, 9.0))
    assert not works_on(after(other, 1.0), after(rest, 9.0))


def test_who_was_at_rest_and_moves_is_said_to_pause():
    first = said(rule="ended")
    first.evidence["ended"] = 25.0
    moves = said(NOT_CONVERGED, "history", absolute=0.9, passes=1600.0)
    for last in (moves, replace(moves, verdict=DISAGREES, rule="settled")):
        found = given_two_longer(first, first, last)
        assert found.verdict == NOT_CONVERGED
        pause = "and its weights pause there: its weights are the same from pass 25 to pass 100"
        assert found.fact == f"{far(1.0, 1.0)}, {pause}"
        assert found.reason.startswith(f"{found.fact}; 1600 passes")


def best_so_far(problem, clock):
    """Pegasos with its first weights at 0, that returns the best weights that it has seen; a pass takes a second."""
    X, y, n = problem.X.toarray(), problem.labels, problem.n_samples

    def value(W, lam):
        scores = X @ W.T + 1
        scores[np.arange(n), y] -= 1
        return lam / 2 * (W**2).sum() + (scores.max(axis=1) - scores[np.arange(n), y]).mean()

    def fit(problem, formulation, budget, rng):
        rng, lam, W, t = np.random.default_rng(rng), formulation.lam, np.zeros((3, 4)), 0
        best, least = W.copy(), value(W, lam)
        for _ in range(budget):
            clock.now += 1.0
            for i in rng.permutation(n):
                t += 1
                scores = W @ X[i] + (np.arange(3) != y[i])
                W *= 1 - 1 / t
                W[scores.argmax()] -= X[i] / (lam * t)
                W[y[i]] += X[i] / (lam * t)
            if (now := value(W, lam)) < least:
                best, least = W.copy(), now
        return best

    return fit


def test_who_returns_the_best_weights_so_far_has_not_ended(monkeypatch):
    """From 1 to 160 passes the best weights are 0, with 640 passes others."""
    problem, clock = wb.load_problem("iris")(), SimpleNamespace(now=0.0)
    monkeypatch.setattr(stand, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    reference = wb.solve(wb.SoftMargin(lam=1e-4), problem)
    found = wb.judge(best_so_far(problem, clock), reference, passes=10, patience=1e6)
    assert found.verdict == NOT_CONVERGED, found.reason
    assert "its weights pause there" in found.reason


def test_at_the_boundary_nobody_is_calm():
    """An excess of 1.15 times the other one, and weights at a tenth of their distance, have moved."""
    second, last = said(absolute=LITTLE), said(absolute=1.0)
    last.evidence["roaming"] = 0.05
    assert not calm(second, last)
    assert not calm(last, said(absolute=LITTLE))
    assert calm(said(absolute=np.nextafter(LITTLE, 1)), last)
    last.evidence["roaming"] = NEAR
    assert not calm(said(absolute=1.0), last)
    last.evidence["roaming"] = np.nextafter(NEAR, 0)
    assert calm(said(absolute=1.0), last)


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (1 / 1.16, "400 passes bring it to 8.6e-01, so it is not at its end"),
        (1 / 1.15, "400 passes bring it to 8.7e-01, so"),  # 1.15 times is a fall, and less decides nothing
        (1 / 1.14, "400 passes leave it 8.8e-01 above; this decides nothing: run it longer, or change its steps."),
        (1.01, "400 passes leave it 1.0e+00 above; this decides"),
        (1.02, "400 passes end higher, 1.0e+00 above; this decides nothing: run it longer, or change its steps."),
    ],
)
def test_what_further_passes_did_is_told_as_it_is(factor, words):
    assert words in given_longer(said(), said(NOT_CONVERGED, "history", absolute=factor, passes=400.0)).reason


@pytest.mark.parametrize("size", [0.25, 1.0, 4.0])
@pytest.mark.parametrize(
    ("factor", "words"), [(0.86, "bring it to"), (0.88, "leave it"), (1.005, "leave it"), (1.02, "end higher,")]
)
def test_the_same_words_whatever_the_size(size, factor, words):
    found = given_longer(said(absolute=size), said(NOT_CONVERGED, "history", absolute=size * factor, passes=400.0))
    assert f"400 passes {words} {size * factor:.1e}" in found.reason


def test_an_excess_exactly_that_much_lower_has_fallen():
    for first, words in ((LITTLE, "bring it to"), (np.nextafter(LITTLE, 1), "leave it")):
        found = given_longer(said(absolute=first), said(NOT_CONVERGED, "history", absolute=1.0, passes=400.0))
        assert f"400 passes {words} 1.0e+00" in found.reason


def tried(places, excused):
    """Histories that end at these places on a way to 1, all that were made before at 0.5; excesses that fall late."""
    found = []
    for k, place in enumerate(places):
        end = said(NOT_CONVERGED, "settled", absolute=0.5 if k == len(places) - 1 else 1.0, passes=100.0 * 4**k)
        end.evidence.update({"excused": 1.0} if excused else {})
        here = [Report(each, np.array([0.5])) for each in (1.0, 2.0, 3.0)]
        found.append(Try([*here, Report(100.0 * 4**k, np.array([place]))], end, 1.0))
    return found


@pytest.mark.parametrize(
    ("places", "excused", "stops"),
    [
        ([0.0, 0.01, 0.011], True, True),  # a tenth of the gain before
        ([0.0, 0.01, 0.011], False, False),  # only of steps that go down F
        ([0.0, 0.01, 0.02], True, False),
        ([0.0, 0.001, 0.011, 0.012], True, True),  # the last three histories count
        ([0.0, 0.010, 0.011, 0.021], True, False),
    ],
)
def test_steps_that_go_down_and_freeze_with_the_last_two_longer_histories_stop_short(places, excused, stops):
    told = ruling(tried(places, excused), SimpleNamespace(theta=np.ones(1)), 1e-4).verdict
    assert (told.verdict == DISAGREES) == stops
    assert ("so it stops short of the optimum" in told.reason) == stops


def test_who_freezes_is_told_where():
    first = said(NOT_CONVERGED, "history", absolute=2.0)
    last = replace(said(NOT_CONVERGED, "settled", passes=1600.0), fact="It is far, but its last steps go down")
    found = stops_short(first, last)
    assert (found.verdict, found.rule, found.excess, found.needed) == (DISAGREES, "settled", 2.0, np.inf)
    assert found.reason.startswith(
        "After 1600 passes it is far, but its last steps go down; four times the passes bring"
    )
    assert found.reason.endswith("stops short of the optimum; the 100 asked for end 2.0e+00 above.")


def test_what_is_said_of_who_still_falls():
    """That it seemed settled, where it leads, and the passes if the fit can know them."""
    first, further = said(), said(NOT_CONVERGED, "history", absolute=0.5, passes=400.0, needed=5e3)
    found = given_longer(first, further)
    told = (
        f"{far(1.0, 1.0)} and seemed settled after 100 passes; 400 passes bring it to 5.0e-01, so it is not at its end"
    )
    told += ": run it longer"
    assert (found.reason, found.needed) == (f"{told}, at its latest rate about 5e+03 passes.", 5e3)
    assert found.evidence["threshold"] == 1e-4
    for needed, ends in ((0.99e6 * 400, "about 4e+08 passes."), (1e6 * 400, "run it longer."), (np.inf, "longer.")):
        assert given_longer(first, said(NOT_CONVERGED, "history", 0.5, 400.0, needed)).reason.endswith(ends)


def test_what_is_said_after_two_longer_histories():
    first = said(NOT_CONVERGED, "history", absolute=2.0)
    second, last = said(absolute=1.1, passes=400.0), said(absolute=1.0, passes=1600.0)
    assert (
        given_two_longer(first, second, last).reason
        == "After 1600 passes it is far; the 100 asked for end 2.0e+00 above."
    )
    found = given_two_longer(said(absolute=2.0), second, last)
    assert found.reason == "It is far; after 1600 passes it is 1.0e+00 above."
    assert found.evidence == {"passes": 100.0, "threshold": 1e-4, "further_passes": 1600.0, "further_excess": 1.0}
    assert (found.excess, found.needed) == (2.0, np.inf)


def test_two_histories_alike_need_both_to_accuse():
    falling = said(NOT_CONVERGED, "history", absolute=1.0, passes=400.0)
    assert given_longer(falling, said()).verdict == given_longer(said(), falling).verdict == NOT_CONVERGED
    assert not decides(said(), falling)
    assert not decides(said(absolute=9.0), said(absolute=1.0))  # settled, but elsewhere: it is asked once more
    assert decides(said(), said(DISAGREES, "drift"))
    assert not unmoved(said(), said(absolute=1.0), said(absolute=1.0))  # settled, so its curve decides
    assert unmoved(said(), said(absolute=1.0), said(absolute=9.0))


def test_exactly_the_stated_factor_is_a_fall_at_any_size():
    """Excesses of 1.5 and 1, and of 6 and 4: on the boundary they have fallen."""
    for high, low in ((1.5, 1.0), (6.0, 4.0)):
        assert not alike(said(absolute=LITTLE * low), said(absolute=low))
        assert not alike(said(absolute=low), said(absolute=high))
        assert alike(said(absolute=0.99 * LITTLE * low), said(absolute=low))
        assert alike(said(absolute=low), said(absolute=0.99 * high))
        falling = [said(NOT_CONVERGED, "history", absolute=each, passes=400.0) for each in (high, low)]
        assert not unmoved(falling[0], falling[1], falling[1])
        assert unmoved(falling[1], falling[0], falling[0])
        assert decides(*falling)
        assert not waits(said(NOT_CONVERGED, "history", needed=400.0))


def test_who_arrives_with_the_further_passes_needed_them():
    found = given_longer(said(), said(AGREES, "optimum", absolute=1e-9, passes=400.0))
    assert (found.verdict, found.needed) == (NOT_CONVERGED, 400.0)
    assert "400 passes bring it within 1.0e-04" in found.reason


def test_certain_evidence_in_the_further_passes_is_certain():
    further = said(DISAGREES, "reported", passes=400.0)
    assert given_longer(said(NOT_CONVERGED, "history"), further) == further


def test_the_limit_of_time_is_the_users_or_a_few_times_the_learners_own():
    assert allowed(None, 3.0) == PATIENCE * 3.0 + LEAST
    assert allowed(7.0, 3.0) == 7.0
    assert "took more than the 7 s of patience" in exhausted(said(), 7.0).reason
    assert exhausted(said(), 7.0).verdict == NOT_CONVERGED


# ── at work ───────────────────────────────────────────────────────────────────────────────────────


@cache
def reference():
    X = np.random.default_rng(5).normal(size=(30, 4))
    return wb.solve(wb.SoftMargin(0.1), wb.Multiclass(X, X[:, :3].argmax(axis=1)), gap=1e-9)


class Counting:
    """Weights at a share of the optimum that depends on the budget; remembers what it was asked."""

    def __init__(self, share):
        self.share, self.asked = share, []

    def fit(self, problem, formulation, budget, rng):
        self.asked.append(budget)
        return self.share(budget) * reference().theta_flat


def test_a_learner_that_has_ended_is_asked_once_more_and_accused(monkeypatch):
    """All fits take the same time, by a clock that advances with every look."""
    ticks = itertools.count()
    monkeypatch.setattr(stand, "time", SimpleNamespace(perf_counter=lambda: 1e-4 * next(ticks)))
    learner = Counting(lambda budget: 0.8)
    found = wb.judge(learner, reference(), passes=40, audit=False)
    assert (found.verdict, found.rule) == (DISAGREES, "ended")
    assert max(learner.asked) == FURTHER**3 * 40  # three times, for that is cheap
    assert "its weights are the same from pass 2 to pass 40; after 2560 passes" in found.reason
    assert found.excess == pytest.approx(found.absolute / reference().upper, rel=1e-6)
    assert [passes for passes, _ in found.history] == sorted(passes for passes, _ in found.history)


def test_a_learner_that_pauses_is_not_accused():
    """The same weights up to 40 passes, and then the optimum: what has ended has not."""
    found = wb.judge(Counting(lambda budget: 0.8 if budget <= 40 else 1.0), reference(), passes=40, audit=False)
    assert (found.verdict, found.needed) == (NOT_CONVERGED, 160)


def test_without_patience_the_history_alone_decides():
    learner = Counting(lambda budget: 0.8)
    assert wb.judge(learner, reference(), passes=40, audit=False, patience=0).rule == "ended"
    assert max(learner.asked) == 40
    with pytest.raises(BadInput, match="patience is -1"):
        wb.judge(learner, reference(), patience=-1)


def test_a_setting_of_its_own_is_named_to_who_stops_early():
    class Tolerant(Counting):
        def __init__(self):
            super().__init__(lambda budget: 0.97)
            self.tol = 1e-2

    found = wb.judge(Tolerant(), reference(), passes=40, audit=False)
    assert found.verdict == DISAGREES
    assert "tighten its own `tol`" in found.reason or found.causes[0].confident


# ── whose seconds count ───────────────────────────────────────────────────────────────────────────


def took(tries, *seconds):
    return [each._replace(took=second) for each, second in zip(tries, seconds, strict=True)]


def test_the_seconds_of_the_longest_history_tell_what_costs_little():
    """Of a learner that falls, and of one that is accused."""
    falling = tries_of(4.0, 1.0)
    assert ruling(took(falling, 9.0, 0.1), None, 1e-4).asks
    assert not ruling(took(falling, 0.1, 9.0), None, 1e-4).asks
    longer = tries_of(4.0, 1.0, 0.25)
    assert ruling(took(longer, 9.0, 9.0, 0.1), None, 1e-4).asks
    assert not ruling(took(longer, 0.1, 0.1, 9.0), None, 1e-4).asks
    accused = tries_of((1.0, "settled"), (1.0, "settled"))
    assert confirmable(took(accused, 9.0, 0.1))
    assert not confirmable(took(accused, 0.1, 9.0))


def test_sixteen_times_the_passes_that_end_higher_may_be_a_jump(monkeypatch):
    monkeypatch.setattr(patience_module, "standing", lambda *told: said(passes=1600.0))
    assert ruling(tries_of(4.0, 1.0, 5.0), None, 1e-4).verdict.verdict == NOT_CONVERGED


def test_who_settled_and_was_excused_seemed_settled_too():
    first, further = said(NOT_CONVERGED, "settled"), said(NOT_CONVERGED, "history", absolute=0.5, passes=400.0)
    assert "and seemed settled after 100 passes; 400 passes bring it" in given_longer(first, further).reason
    first = said(NOT_CONVERGED, "history")
    assert given_longer(first, further).reason.startswith("It is far; 400 passes bring it")


@pytest.mark.parametrize(("end", "took", "stands"), [(1.01, 1.0, True), (1.0, 3.99, True), (1.0, 4.0, False)])
def test_a_learner_has_stopped_at_the_boundaries(end, took, stands):
    shorter = Try([], said(NOT_CONVERGED, "history", absolute=1.0), 2.0)
    assert stopped(shorter, Try([], said(rule="ended", absolute=end), took)) == stands
