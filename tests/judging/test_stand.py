"""A stand: which fits are made, what is made of their histories, and how a learner's end is told; fits are made up."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import workbench as wb
from workbench.errors import MissingCapability, OutOfMemory
from workbench.judging import patience as patience_module
from workbench.judging import stand as module
from workbench.judging.audits import Finding
from workbench.judging.learners import Learner
from workbench.judging.reference import Reference, reference_of
from workbench.judging.reports import BadAnswer, Report
from workbench.judging.stand import OwnStand, Stand, crashed, exception_of, line_in, ours, stayed
from workbench.judging.words import AGREES, DISAGREES, FAILED, NOT_COMPARABLE, NOT_CONVERGED, Verdict
from workbench.system.processes import Died, OutOfTime, Raised

BUDGETS, FEW, FURTHER = 5, 5, 4  # written out, not imported
DATA = wb.Multiclass(np.eye(3), np.arange(3))


def known(certificate="a certificate", missing="", form=None):
    return Reference(form or wb.SoftMargin(), DATA, np.zeros(9), 2.0, 2.0, 0.0, certificate, missing)


def said(verdict=NOT_CONVERGED, rule="history", excess=0.5, passes=8.0, needed=np.inf):
    evidence = {"passes": passes, "threshold": 1e-4, "doubling": 9.0}
    return Verdict(verdict, excess, f"It {verdict}.", evidence, rule, excess, needed)


def fit(problem, formulation, budget, rng):
    return np.zeros(9)


def at(*passes):
    return [Report(float(each), np.zeros(9)) for each in passes]


class Fitted(Stand):
    """A stand whose fits return one answer, or checkpoints after the parts of the budget in `checks`; 0.25 s each."""

    def __init__(self, checks=(1,), patience=None, learner=None, reference=None):
        super().__init__(learner or Learner("mine", fit), reference or known(), None, patience)
        self.checks, self.asked, self.starts = checks, [], []

    def fitted(self, budget, seed, start=False, within=None):
        self.asked.append((budget, seed, within))
        self.starts.append(start)
        return at(*(budget * each for each in self.checks)), 0.25


def hearing(monkeypatch, *verdicts):
    """The histories that are judged, each by the next verdict."""
    heard, left = [], list(verdicts)

    def crosscheck(reports, reference, tolerance=None):
        heard.append([each.passes for each in reports] if isinstance(reports, list) else reports)
        return left.pop(0)

    monkeypatch.setattr(module, "crosscheck", crosscheck)
    return heard


# ── histories ─────────────────────────────────────────────────────────────────────────────────────


def test_one_answer_above_the_optimum_is_followed_by_fits_of_smaller_budgets(monkeypatch):
    heard = hearing(monkeypatch, said(), said(AGREES))
    stand = Fitted()
    verdict, took = stand.judged(100, 3, 1e-4)
    assert [each[0] for each in stand.asked] == [100, 50, 25, 12, 6]
    assert {each[1] for each in stand.asked} == {3}
    assert heard == [[100.0], [6.0, 12.0, 25.0, 50.0, 100.0]]
    assert (verdict.verdict, took) == (AGREES, 0.25)
    assert [each.passes for each in stand.reports] == heard[1]
    assert [each.passes for each in stand.yielded] == [100.0]


def test_of_fits_of_smaller_budgets_the_end_counts(monkeypatch):
    heard = hearing(monkeypatch, said(), said(AGREES))
    stand = Fitted()
    monkeypatch.setattr(stand, "fitted", lambda budget, seed: (at(budget) if budget == 8 else at(0.5, budget), 0.25))
    stand.judged(8, 3, 1e-4)
    assert heard[1] == [1.0, 2.0, 4.0, 8.0]
    assert module.GRACE == 1.0  # seconds for an answer to come through


@pytest.mark.parametrize(("passes", "budgets"), [(1, [1]), (2, [2, 1]), (5, [5, 2, 1]), (40, [40, 20, 10, 5, 2])])
def test_no_budget_comes_twice_or_is_none(passes, budgets, monkeypatch):
    hearing(monkeypatch, said(), said(AGREES))
    stand = Fitted()
    stand.judged(passes, 0, 1e-4)
    assert [each[0] for each in stand.asked] == budgets
    assert len(budgets) <= BUDGETS


@pytest.mark.parametrize(
    ("verdict", "checks", "ways"), [(AGREES, (1,), True), (NOT_CONVERGED, (1,), False), (DISAGREES, (1,), True)]
)
def test_who_needs_no_history_is_fitted_once(verdict, checks, ways, monkeypatch):
    hearing(monkeypatch, said(verdict, "drift"))
    stand = Fitted(checks)
    found, _ = stand.judged(8, 0, 1e-4, ways)
    assert (found.verdict, len(stand.asked)) == (verdict, 1)


def test_the_end_alone_is_judged_where_no_way_is_wanted(monkeypatch):
    heard = hearing(monkeypatch, said(), said())
    stand = Fitted((0.25, 0.5, 1))
    stand.judged(8, 0, 1e-4, ways=False)
    assert heard == [[8.0]]
    assert [each.passes for each in stand.reports] == [8.0]
    assert len(stand.yielded) == 3
    monkeypatch.setattr(stand, "insists", lambda verdict: False)
    stand.judged(8, 0, 1e-4)
    assert heard[1:] == [[2.0, 4.0, 8.0]]


def test_a_stand_knows_the_seconds_of_its_last_run(monkeypatch):
    hearing(monkeypatch, said(AGREES))
    stand = Fitted()
    assert stand.took == 0.0
    stand.judged(8, 0, 1e-4)
    assert stand.took == 0.25


def test_remarks_of_reports_are_kept(monkeypatch):
    hearing(monkeypatch, said(AGREES))
    stand = Fitted()
    monkeypatch.setattr(stand, "fitted", lambda *asked: ([Report(1.0, np.zeros(9), {}, ("Odd.",))], 0.0))
    stand.judged(8, 0, 1e-4)
    assert stand.remarks == ["Odd."]


# ── further passes ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("large", "patience", "verdict", "insists"),
    [
        (False, None, NOT_CONVERGED, True),
        (True, None, NOT_CONVERGED, False),
        (True, 5.0, NOT_CONVERGED, True),
        (True, 0.0, NOT_CONVERGED, True),
        (True, None, DISAGREES, True),
        (False, 5.0, AGREES, False),
    ],
)
def test_on_large_problems_further_passes_are_made_for_the_accused(large, patience, verdict, insists, monkeypatch):
    monkeypatch.setattr(module, "LARGE", 27 if large else 28)  # 3 samples, 9 weights
    assert Fitted(patience=patience).insists(said(verdict, "settled")) == insists


def test_patience_is_a_few_times_the_learners_seconds(monkeypatch):
    asked = []
    for patience, wanted in ((None, 30 * 0.25 + 2), (7.0, 7.0)):
        hearing(monkeypatch, said(DISAGREES, "settled"))
        stand = Fitted((0.5, 1), patience)
        monkeypatch.setattr(stand, "waited", lambda *told: asked.append(told) or said())
        stand.judged(8, 3, 1e-4)
        first, reports, *others = asked[-1]
        assert (first.verdict, [each.passes for each in reports], others) == (
            DISAGREES,
            [4.0, 8.0],
            [8, 3, 1e-4, wanted],
        )
    hearing(monkeypatch, said(), said(DISAGREES, "settled"))
    stand = Fitted()
    monkeypatch.setattr(stand, "waited", lambda *told: asked.append(told) or said())
    stand.judged(8, 3, 1e-4)
    assert asked[-1][-1] == 30 * 4 * 0.25 + 2  # of 8, 4, 2 and 1 passes


def waiting(monkeypatch, first, *verdicts, checks=(0.2, 0.4, 0.6, 0.8, 1), patience=100.0):
    heard = hearing(monkeypatch, *verdicts)
    stand = Fitted(checks)
    return stand.waited(first, at(1, 2, 4, 8), 8, 3, 1e-4, patience), stand, heard


def test_without_patience_the_first_verdict_stays(monkeypatch):
    first = said(DISAGREES, "settled")
    for patience in (0.0, -1.0):
        found, stand, _ = waiting(monkeypatch, first, patience=patience)
        assert found is first
        assert not stand.asked
    monkeypatch.setattr(patience_module, "cheap", lambda took: False)
    _, stand, _ = waiting(monkeypatch, first, said(DISAGREES, "settled", passes=32.0), patience=0.5)
    assert stand.asked


@pytest.mark.parametrize(
    ("took", "excess", "asked", "verdict"),
    [
        (0.5, 0.34, [8 * 4**k for k in range(1, 8)], DISAGREES),
        (0.5, 0.33, [32, 128], NOT_CONVERGED),  # 1.5 times lower than with 32 passes
        (0.51, 0.01, [32], DISAGREES),  # two seconds are no longer enough
    ],
)
def test_before_anybody_is_accused_passes_that_cost_little_are_made(took, excess, asked, verdict, monkeypatch):
    settled = said(DISAGREES, "settled", 0.5, 32.0)
    hearing(
        monkeypatch, settled, *[said(DISAGREES, "settled", excess, passes) for passes in 32.0 * 4.0 ** np.arange(1, 7)]
    )
    stand, budgets = Fitted(), []

    def further(reports, budget, *told):
        budgets.append(budget)
        stand.took = took
        return at(8, budget)

    monkeypatch.setattr(stand, "further", further)
    found = stand.waited(said(DISAGREES, "settled", 0.5), at(1, 2, 4, 8), 8, 3, 1e-4, 100.0)
    assert (budgets, found.verdict) == (asked, verdict)
    assert found.evidence["further_passes"] == asked[-1], "the last history is told"


def test_who_moves_on_with_passes_that_cost_little_is_not_accused(monkeypatch):
    hearing(monkeypatch, *[said(DISAGREES, "ended", 0.5, 8.0 * 4**k) for k in (1, 2)])
    stand, budgets = Fitted(), []

    def further(reports, budget, *told):
        budgets.append(budget)
        stand.took = 0.1
        moved = [Report(128.0, np.ones(9), {}, ())] if budget == 128 else []
        return [Report(8.0, np.zeros(9), {}, ()), Report(32.0, np.zeros(9), {}, ()), *moved]

    monkeypatch.setattr(stand, "further", further)
    found = stand.waited(said(DISAGREES, "ended", 0.5), at(8), 8, 3, 1e-4, 100.0)
    assert (budgets, found.verdict) == ([32, 128], NOT_CONVERGED)


def test_four_times_the_passes_may_be_enough(monkeypatch):
    monkeypatch.setattr(patience_module, "cheap", lambda took: False)
    found, stand, heard = waiting(monkeypatch, said(DISAGREES, "settled"), said(DISAGREES, "settled", passes=32.0))
    assert [each[:2] for each in stand.asked] == [(FURTHER * 8, 3)]
    assert 99.0 < stand.asked[0][2] <= 100.0
    assert (found.verdict, found.evidence["further_passes"]) == (DISAGREES, 32.0)
    assert [each.passes for each in stand.longer] == heard[0] == pytest.approx([6.4, 12.8, 19.2, 25.6, 32.0])


def test_sixteen_times_the_passes_decide_else(monkeypatch):
    second, last = said(DISAGREES, "settled", 0.5, 32.0), said(DISAGREES, "settled", 0.5, 128.0)
    monkeypatch.setattr(patience_module, "cheap", lambda took: False)
    found, stand, _ = waiting(monkeypatch, said(), second, last)
    assert [each[0] for each in stand.asked] == [32, 128]
    assert (found.verdict, found.evidence["further_passes"]) == (DISAGREES, 128.0)
    assert stand.asked[1][2] < 100.0  # what is left
    assert [each.passes for each in stand.longer][-1] == 128.0


@pytest.mark.parametrize(
    ("place", "moved", "verdict"), [(1.0, 2.0, NOT_CONVERGED), (3.0, 2.0, DISAGREES), (1.0, 1.0, DISAGREES)]
)
@pytest.mark.parametrize("late", [0, 1])
def test_who_had_ended_and_moves_on_from_there_is_not_accused_by_a_rest(late, place, moved, verdict, monkeypatch):
    """The weights are 1 up to 8 or 32 passes, `place` is where a longer fit is then, and `moved` where it ends."""

    def reports(*weights):
        return [Report(8.0 * 4**k, np.full(9, weight), {}, ()) for k, weight in enumerate(weights)]

    fits = [reports(1.0, 1.0), reports(1.0, place, moved)] if late else [reports(place, moved)]
    hearing(monkeypatch, *[said(DISAGREES, "ended", 0.5 if late or moved == 1.0 else 0.6, 32.0)] * 3)
    stand, asked = Fitted(), []
    stand.took = 1.0

    def further(before, budget, *told):
        asked.append(budget)
        stand.took *= 4 if late else 1  # who works is asked again
        return fits[min(len(asked), len(fits)) - 1]

    monkeypatch.setattr(stand, "further", further)
    found = stand.waited(said(DISAGREES, "ended"), reports(1.0), 8, 3, 1e-4, 100.0)
    assert found.verdict == verdict
    if verdict == NOT_CONVERGED:
        assert len(asked) == len(fits)


@pytest.mark.parametrize(
    ("ends", "budgets", "verdict"),
    [  # excesses with 4, 16 and 64 times the passes, where 1.6 is that of those asked for
        ((0.65, ("settled", 0.8), ("settled", 0.7)), [32, 128, 512], DISAGREES),
        ((1.0, ("settled", 0.8), ("settled", 0.7)), [32, 128, 512], NOT_CONVERGED),  # it falls twice
        ((0.65, ("settled", 0.8), ("settled", 0.5)), [32, 128, 512], NOT_CONVERGED),
        ((1.0, ("settled", 0.8), 0.7), [32, 128, 512], NOT_CONVERGED),
        ((0.8, 0.8, ("settled", 0.7)), [32, 128, 512], DISAGREES),  # calm: within LITTLE
        ((0.8, 0.8, ("settled", 0.69)), [32, 128, 512], NOT_CONVERGED),
        ((1.0, ("settled", 0.98)), [32, 128], DISAGREES),  # calm before
        ((1.0, ("settled", 0.96), ("settled", 0.95)), [32, 128, 512], DISAGREES),  # it fell twice: asked again
        ((("settled", 1.0), ("settled", 0.98)), [32, 128], DISAGREES),  # settled twice
        ((("settled", 1.0), ("settled", 0.86), ("settled", 0.84)), [32, 128, 512], DISAGREES),  # it fell: asked again
        ((("settled", 1.0), ("settled", 0.86), ("settled", 0.7)), [32, 128, 512], NOT_CONVERGED),
        ((("settled", 1.0), ("settled", 0.86), 0.7), [32, 128, 512], NOT_CONVERGED),
        (
            (1.0, 0.6),
            [32, 128],
            NOT_CONVERGED,
        ),  # who falls in the last doubling, and as far as FALL, is not asked again
    ],
)
def test_what_four_and_sixteen_times_the_passes_leave_open_64_times_decide(ends, budgets, verdict, monkeypatch):
    monkeypatch.setattr(patience_module, "standing", lambda *told: said())

    def heard(end, passes):
        rule, excess = end if isinstance(end, tuple) else ("history", end)
        found = said(DISAGREES if rule == "settled" else NOT_CONVERGED, rule, excess, passes)
        found.evidence.update(doubling=2.0 if end == 0.6 else 1.0, roaming=0.01)
        return found

    hearing(monkeypatch, *[heard(end, 32.0 * 4**k) for k, end in enumerate(ends)])
    stand, asked = Fitted(), []
    stand.took = 1.0
    monkeypatch.setattr(stand, "further", lambda reports, budget, *told: asked.append(budget) or at(8, budget))
    first = said(excess=1.6)
    first.evidence["doubling"] = 1.0
    found = stand.waited(first, at(1, 2, 4, 8), 8, 3, 1e-4, 100.0)
    assert (asked, found.verdict, found.excess) == (budgets, verdict, 1.6)


@pytest.mark.parametrize(("each", "asked"), [(49.0, [32, 128, 512]), (51.0, [32, 128])])
def test_64_times_the_passes_are_asked_for_if_half_of_them_come_in_time(each, asked, monkeypatch):
    hearing(monkeypatch, *[said(excess=1.0, passes=8.0 * 4**k) for k in (1, 2, 3)])
    stand, budgets = Fitted(), []
    monkeypatch.setattr(patience_module, "standing", lambda *told: said())

    def further(reports, budget, *told):
        budgets.append(budget)
        stand.took = each
        return at(8, budget)

    monkeypatch.setattr(stand, "further", further)
    found = stand.waited(said(excess=1.0), at(1, 2, 4, 8), 8, 3, 1e-4, 100.0)
    assert (budgets, found.verdict) == (asked, NOT_CONVERGED)


@pytest.mark.parametrize(("patience", "asked"), [(100.0, [32, 128, 512]), (np.nextafter(100.0, 0), [32, 128])])
def test_half_of_64_times_the_passes_may_take_all_of_the_time_that_is_left(patience, asked, monkeypatch):
    """50 seconds for 128 passes, and so 100 for 256, by a clock that stands still."""
    hearing(monkeypatch, *[said(excess=1.0, passes=8.0 * 4**k) for k in (1, 2, 3)])
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: 5.0))
    monkeypatch.setattr(patience_module, "standing", lambda *told: said())
    stand, budgets, before = Fitted(), [], []

    def further(reports, budget, *told):
        budgets.append(budget)
        before.append(reports[-1].passes)
        stand.took = 50.0
        return at(8, budget)

    monkeypatch.setattr(stand, "further", further)
    stand.waited(said(excess=1.0), at(1, 2, 4, 8), 8, 3, 1e-4, patience)
    assert budgets == asked
    assert before == [8.0, *map(float, asked[:-1])]  # each history goes on from the one before


@pytest.mark.parametrize(("end", "verdict"), [(0.98, DISAGREES), (0.96, NOT_CONVERGED), (0.86, NOT_CONVERGED)])
def test_who_settles_lower_is_not_accused_where_there_is_no_time_for_more(end, verdict, monkeypatch):
    hearing(monkeypatch, said(DISAGREES, "settled", 1.0, 32.0), said(DISAGREES, "settled", end, 128.0))
    stand, asked = Fitted(), []

    def further(reports, budget, *told):
        asked.append(budget)
        stand.took = 50.0
        return at(8, budget)

    monkeypatch.setattr(stand, "further", further)
    found = stand.waited(said(excess=1.6), at(1, 2, 4, 8), 8, 3, 1e-4, 99.0)
    assert (asked, found.verdict) == ([32, 128], verdict)
    assert ("not at its end: run it longer" in found.reason) == (verdict == NOT_CONVERGED)


@pytest.mark.parametrize(
    ("seconds", "rules", "budgets", "verdict"),
    [
        ((1.0, 1.9), ("ended",), [32], DISAGREES),  # of the fits asked for and of 32: at rest, it takes no longer
        ((1.0, 2.0, 3.9), ("ended", "ended"), [32, 128], DISAGREES),
        ((1.0, 4.0, 16.0, 64.0), ("ended",) * 3, [32, 128, 512], DISAGREES),
        ((1.0, 4.0, 16.0), ("ended", "history"), [32, 128], NOT_CONVERGED),
        ((1.0, 4.0, 16.0), ("ended", "settled"), [32, 128], NOT_CONVERGED),  # what moves again had not ended
        ((1.0, 4.0, 16.0, 64.0), ("ended", "ended", "settled"), [32, 128, 512], NOT_CONVERGED),
        ((1.0, 4.0, 16.0), ("settled",), [32], DISAGREES),
        ((0.4, 0.1, 0.2, 0.8), ("ended",) * 3, [32, 128, 512], DISAGREES),  # the first fit was slow to begin
        ((0.4, 0.1, 0.2, 0.8), ("ended", "ended", "settled"), [32, 128, 512], NOT_CONVERGED),
        ((0.4, 0.1, 0.19, 0.2), ("ended",) * 3, [32, 128, 512], DISAGREES),
        ((0.6, 0.6, 0.6), ("ended",) * 2, [32], DISAGREES),  # four times as many would cost more than they may
    ],
)
def test_who_rests_and_works_is_asked_for_more(seconds, rules, budgets, verdict, monkeypatch):
    """Weights that stay the same are those of a learner that has ended if more passes take it no more time."""
    ends = [said(NOT_CONVERGED if rule == "history" else DISAGREES, rule) for rule in rules]
    hearing(monkeypatch, *ends)
    stand, spent, asked = Fitted(), iter(seconds), []
    stand.took = next(spent)

    def further(reports, budget, *told):
        asked.append(budget)
        stand.took = next(spent)
        return at(8, budget)

    monkeypatch.setattr(stand, "further", further)
    first = said(DISAGREES, "ended" if rules[0] == "ended" else "settled")
    found = stand.waited(first, at(1, 2, 4, 8), 8, 3, 1e-4, 100.0)
    assert (asked, found.verdict) == (budgets, verdict)


@pytest.mark.parametrize("late", [1, 2])
def test_who_rests_and_works_without_time_for_more_is_judged_by_what_there_is(late, monkeypatch):
    hearing(monkeypatch, *[said(DISAGREES, "ended")] * 3)
    stand, asked = Fitted(), []
    stand.took = 1.0

    def further(reports, budget, *told):
        asked.append(budget)
        if len(asked) > late:
            raise OutOfTime
        stand.took *= 4
        return at(8, budget)

    monkeypatch.setattr(stand, "further", further)
    found = stand.waited(said(DISAGREES, "ended"), at(1, 2, 4, 8), 8, 3, 1e-4, 100.0)
    assert (len(asked), found.verdict) == (late + 1, DISAGREES)


def test_who_does_not_move_may_stand(monkeypatch):
    asked = []
    monkeypatch.setattr(
        patience_module, "standing", lambda reports, *told: asked.append(reports) or said(DISAGREES, "settled")
    )
    monkeypatch.setattr(patience_module, "cheap", lambda took: False)
    second, last = said(passes=32.0), said(passes=128.0)
    found, _, _ = waiting(monkeypatch, said(), second, last)
    assert [each.passes for each in asked[0]][-1] == 128.0
    assert found.verdict == DISAGREES
    waiting(monkeypatch, said(excess=5.0), said(excess=3.0), said(excess=1.0))
    assert len(asked) == 1


@pytest.mark.parametrize("late", [0, 1])
def test_further_passes_that_do_not_come_in_time(late, monkeypatch):
    stand, count = Fitted(), []

    def further(*asked):
        count.append(asked)
        if len(count) > late:
            raise OutOfTime
        return at(8, 16, 32)

    hearing(monkeypatch, said(passes=32.0))
    monkeypatch.setattr(stand, "further", further)
    found = stand.waited(said(DISAGREES, "settled"), at(1, 2, 4, 8), 8, 3, 1e-4, 7.0)
    assert (found.verdict, found.rule) == (NOT_CONVERGED, "history")
    assert "took more than the 7 s" in found.reason


def test_few_checkpoints_are_joined_to_the_earlier_ones():
    for checks, wanted in (
        ((0.2, 0.4, 0.6, 0.8, 1), [6.4, 12.8, 19.2, 25.6, 32.0]),
        ((0.25, 0.5, 0.75, 1), [1.0, 2.0, 8.0, 12.0, 16.0, 16.0, 24.0, 32.0]),
        ((1,), [1.0, 2.0, 8.0, 16.0, 32.0]),
    ):
        stand = Fitted(checks)
        found = stand.further(at(1, 2, 8), 32, 3, 9.0)
        wanted = [1.0, 2.0, 8.0, 12.0, 16.0, 16.0, 24.0, 32.0] if len(checks) == 4 else wanted
        assert sorted(each.passes for each in found) == pytest.approx(wanted)
        assert [each[0] for each in stand.asked] == ([32] if len(checks) >= FEW else [32, 16])
        assert stand.asked[0] == (32, 3, 9.0)


@pytest.mark.parametrize(("spent", "between"), [(4.4, True), (4.5, False), (9.0, False)])
def test_half_of_the_budget_is_made_too_where_time_allows(spent, between, monkeypatch):
    stand = Fitted()
    monkeypatch.setattr(stand, "fitted", lambda budget, seed, within=None: (at(budget), spent))
    found = stand.further(at(1, 8), 32, 3, 9.0)
    assert [each.passes for each in found] == ([1.0, 8.0, 16.0, 32.0] if between else [1.0, 8.0, 32.0])


def test_who_is_cut_short_before_half_of_the_budget_is_out_of_time(monkeypatch):
    for passes, remarks, late in ((15.9, ("cut",), True), (16.0, ("cut",), False), (15.9, (), False)):
        stand = Fitted()
        answers = [*at(*range(1, 9)), Report(passes, np.zeros(9), {}, remarks)]
        monkeypatch.setattr(stand, "fitted", lambda *asked, answers=answers, **told: (answers, 1.0))
        if late:
            with pytest.raises(OutOfTime):
                stand.further(at(1), 32, 3, 9.0)
        else:
            assert stand.further(at(1), 32, 3, 9.0) is answers
    alone = [Report(4.0, np.zeros(9), {}, ("odd",))]  # one answer was not cut short
    monkeypatch.setattr(stand, "fitted", lambda *asked, **told: (alone, 1.0))
    assert stand.further(at(1), 32, 3, 9.0)
    cut = [*at(4), Report(8.0, np.zeros(9), {}, ("cut",))]
    monkeypatch.setattr(stand, "fitted", lambda *asked, **told: (cut, 1.0))
    with pytest.raises(OutOfTime):
        stand.further(at(1), 32, 3, 9.0)
    for within in (0.0, -1.0):
        with pytest.raises(OutOfTime):
            Fitted().further(at(1), 32, 3, within)
    assert Fitted().further(at(1), 32, 3, 0.5)


# ── fits ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_fit_is_read_until_its_limit():
    def yields(problem, formulation, budget, rng):
        for k in range(1, 10):
            yield k, np.full(9, float(k))

    stand = Stand(Learner("mine", yields), known(), limit=1e-9)
    reports, took = stand.fitted(9, 0)
    assert (len(reports), len(reports[-1].remarks)) == (1, 1)
    assert 0 <= took < 60
    assert len(stand.fitted(9, 0, within=100.0)[0]) == 9
    assert len(Stand(Learner("mine", yields), known()).fitted(9, 0)[0]) == 9


def test_data_that_are_changed_are_copied_anew():
    seen = []

    def spoils(problem, formulation, budget, rng):
        seen.append(problem.labels.copy())
        if budget > 1:
            problem.labels[:] = 0
        return np.zeros(9)

    stand = Stand(Learner("mine", spoils), known())
    stand.fitted(1, 0)
    kept = stand.copy
    assert kept is not DATA
    stand.fitted(1, 0)
    assert stand.copy is kept
    assert not stand.remarks
    stand.fitted(2, 0)
    assert stand.remarks == ["It changes the data it is given (labels); each fit had a copy."]
    stand.fitted(1, 0)
    assert [each.tolist() for each in seen] == [[0, 1, 2]] * 4


# ── how a learner ends ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("error", "verdict", "rule", "words"),
    [
        (MissingCapability("not for chains"), NOT_COMPARABLE, "objective", "not for chains"),
        (OutOfTime(), FAILED, "crash", "did not return within 5 s; give it more by --seconds (`seconds` of `judge`)"),
        (BadAnswer("no weights"), FAILED, "weights", "no weights"),
        (ValueError("no luck"), FAILED, "crash", "ValueError: no luck"),
        (Died("its process ended with SIGKILL"), FAILED, "crash", "SIGKILL, so run the `fit` of "),
        (SystemExit(3), FAILED, "crash", "it left with exit code 3"),
        (MemoryError("much"), FAILED, "crash", "MemoryError: much"),
    ],
)
def test_whatever_is_raised_is_a_verdict(error, verdict, rule, words, monkeypatch):
    def raising(*asked):
        raise error

    stand = Fitted()
    stand.limit = 5.0
    monkeypatch.setattr(stand, "judged", raising)
    found, took = stand.tried(8, 0, 1e-4)
    assert (found.verdict, found.rule) == (verdict, rule)
    assert words in found.reason
    assert took == 0 if verdict == NOT_COMPARABLE else 0 <= took < 60


@pytest.mark.parametrize("error", [MemoryError("much"), OutOfMemory("much")])
def test_memory_that_does_not_suffice_for_ours_says_nothing_about_it(error, monkeypatch):
    def raising(*asked):
        raise error

    stand = Fitted(learner=Learner("bcfw", wb.BCFW()))
    monkeypatch.setattr(stand, "judged", raising)
    found, took = stand.tried(8, 0, 1e-4)
    assert (found.verdict, found.rule) == (NOT_COMPARABLE, "memory")
    assert "does not suffice for bcfw (" in found.reason
    assert 0 <= took < 5


def test_the_line_of_the_users_own_file():
    def raises():
        raise ValueError("no luck")

    try:
        raises()
    except ValueError as error:
        told = error
    at_line = raises.__code__.co_firstlineno + 1
    assert line_in(Learner("mine", raises), told) == f"test_stand.py line {at_line}"
    assert line_in(Learner("mine", fit, "elsewhere.py"), told) == ""
    assert line_in(Learner("mine", SimpleNamespace(fit=max)), told) == ""
    assert line_in(Learner("bcfw", wb.BCFW()), told) == ""
    far = Raised("ValueError", "no luck", [("mine.py", 3), ("numpy.py", 5), ("mine.py", 7), ("numpy.py", 9)])
    assert line_in(Learner("mine", fit, "mine.py"), far) == "mine.py line 7"
    assert "mine.py line 7" in crashed(far, Learner("mine", fit, "mine.py"), known()).reason


ADVICE = "define fit(problem, formulation, budget, rng)"


@pytest.mark.parametrize(
    ("error", "advised"),
    [
        (TypeError("fit() takes 2 positional arguments but 4 were given"), True),
        (TypeError("no luck"), False),
        (ValueError("an argument of mine"), False),
        (Raised("TypeError", "fit() got an unexpected keyword argument 'rng'"), True),
        (Raised("TypeError", "one argument", [("mine.py", 7)]), False),  # it was raised inside of the learner
    ],
)
def test_who_cannot_be_called_is_told_how_to_define_fit(error, advised):
    found = crashed(error, Learner("mine", fit, "mine.py"), known())
    assert (found.verdict, found.rule) == (FAILED, "crash")
    assert found.reason.endswith(f", {ADVICE}") == advised
    assert (ADVICE in found.reason) == advised


def test_what_a_learner_died_of():
    assert str(exception_of(Raised("SystemExit", "3"))) == "it left with exit code 3"
    told = exception_of(Raised("Odd", "no luck"))
    assert (type(told).__name__, str(told)) == ("Odd", "no luck")
    assert str(exception_of(SystemExit(4))) == "it left with exit code 4"
    error = ValueError("no luck")
    assert exception_of(error) is error
    assert "KeyboardInterrupt" in str(exception_of(KeyboardInterrupt()))


@pytest.mark.parametrize(
    ("error", "learner", "mine"),
    [
        (MemoryError(), fit, True),
        (OutOfMemory("much"), fit, True),
        (Raised("MemoryError", ""), fit, True),
        (Raised("_ArrayMemoryError", ""), fit, True),
        (ValueError(), fit, False),
        (ValueError(), wb.BCFW(), True),
        (SystemExit(), wb.BCFW(), False),
    ],
)
def test_whose_failure_it_is(error, learner, mine):
    assert ours(error, Learner("one", learner)) == mine


# ── audits ────────────────────────────────────────────────────────────────────────────────────────

FINE, BAD, WORSE = Finding("oracle", 0.1, 0.2, ""), Finding("prox", 0.3, 0.2, "It errs."), Finding("flow", 9, 1, "Too.")


def audited(monkeypatch, verdict, findings=(), raised=None, reference=None, learner=None):
    stand = Fitted(learner=learner, reference=reference)
    stand.limit = 5.0

    def found(within):
        stand.asked.append(within)
        if raised:
            raise raised
        return list(findings)

    monkeypatch.setattr(stand, "findings", found)
    return *stand.audited(verdict, 1e-4, 3.0), stand


def test_findings_within_what_is_allowed_are_numbers(monkeypatch):
    verdict = said(AGREES)
    found, against, stand = audited(monkeypatch, verdict, [FINE])
    assert (found.verdict, found.reason, against) == (AGREES, verdict.reason, [])
    assert found.evidence == verdict.evidence | {"oracle": 0.1}
    assert stand.asked == [3.0]


def test_the_first_that_contradicts_is_the_reason(monkeypatch):
    found, against, _ = audited(monkeypatch, said(AGREES), [FINE, BAD, WORSE])
    assert (found.verdict, found.rule, found.reason, against) == (DISAGREES, "audit: prox", "It errs.", [BAD, WORSE])
    assert {"oracle", "prox", "flow"} <= set(found.evidence)
    found, _, _ = audited(monkeypatch, said(DISAGREES, "settled"), [BAD])
    assert found.reason == "It disagrees. It errs."


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("warns", [False, True])
def test_an_audit_counts_as_a_call_of_the_learner_if_it_warns(warns, monkeypatch):
    stand = Stand(Learner("mine", fit), known())
    monkeypatch.setattr(module, "audit", lambda *told: warnings.warn("Odd.", stacklevel=1) if warns else None)
    stand.findings()
    assert stand.tally.calls == int(warns)


def test_what_has_no_certificate_is_not_audited(monkeypatch):
    for reference in (known(None), known(missing="no optimum")):
        verdict = said(AGREES)
        assert audited(monkeypatch, verdict, [BAD], reference=reference)[:2] == (verdict, [])
    found, _, _ = audited(monkeypatch, said(AGREES), [BAD], reference=known(None, form=wb.NuclearDyadic()))
    assert found.verdict == DISAGREES  # flows need no certificate


def test_what_is_raised_in_an_audit(monkeypatch):
    found, against, _ = audited(monkeypatch, said(AGREES), raised=ValueError("no\n luck"))
    assert (found.verdict, against) == (FAILED, [])
    assert "ValueError: no luck" in found.reason
    found, _, _ = audited(monkeypatch, said(AGREES), raised=OutOfTime())
    assert "an audit did not return within 5 s; give it more by --seconds" in found.reason
    verdict = said(AGREES)
    found, against, stand = audited(monkeypatch, verdict, raised=MemoryError("too\n much"))
    assert (found, against) == (verdict, [])
    (remark,) = stand.remarks
    assert "(MemoryError: too much); that says nothing about it" in remark


def test_who_takes_a_start_is_started_at_the_optimum(monkeypatch):
    def starts(problem, formulation, budget, rng, start=None):
        return np.zeros(9)

    asked = []
    monkeypatch.setattr(module, "stayed", lambda theta, reference, tolerance: asked.append(tolerance) or BAD)
    found, against, stand = audited(monkeypatch, said(AGREES), learner=Learner("mine", starts))
    assert (found.verdict, against, asked) == (DISAGREES, [BAD], [1e-4])
    assert stand.asked[1] == (1, 0, None)
    assert stand.starts == [True]
    audited(monkeypatch, said(AGREES))
    assert len(asked) == 1
    places = [Report(1.0, np.full(9, 1.0)), Report(2.0, np.full(9, 2.0))]
    monkeypatch.setattr(Fitted, "fitted", lambda *those, **told: (places, 0.0))
    monkeypatch.setattr(module, "stayed", lambda theta, *others: asked.append(theta[0]) or BAD)
    audited(monkeypatch, said(AGREES), learner=Learner("mine", starts))
    assert asked[1] == 2.0


@pytest.mark.parametrize(
    ("excess", "gap", "away"), [(1e-2, 0.0, False), (1.01e-2, 0.0, True), (3e-2, 1e-2, False), (3.1e-2, 1e-2, True)]
)
def test_staying_is_within_the_tolerance_or_three_gaps(excess, gap, away):
    reference = SimpleNamespace(excess=lambda value: value, value=lambda theta: excess, gap=gap)
    found = stayed(np.zeros(9), reference, 1e-2)
    assert (found.name, found.worst, bool(found.sentence)) == ("fixed point", excess, away)
    assert found.allowed == max(1e-2, 3 * gap)
    nothing = SimpleNamespace(excess=lambda value: np.nan, value=lambda theta: np.nan, gap=0.0)
    assert stayed(np.zeros(9), nothing, 1e-2).sentence


# ── solvers of ours ───────────────────────────────────────────────────────────────────────────────


def test_our_own_are_run_and_asked_for_more(monkeypatch):
    reference = reference_of(wb.solve(wb.SoftMargin(0.1), wb.Multiclass(np.eye(3), np.arange(3)), gap=1e-9))
    stand = OwnStand(Learner("subgradient", wb.Subgradient()), reference, None, 5.0)
    traces, graded, run = [], [], module.run
    monkeypatch.setattr(module, "run", lambda *those, **told: traces.append(run(*those, **told)) or traces[-1])
    monkeypatch.setattr(Reference, "graded", lambda self, *those: graded.append(those))
    found, took = stand.judged(8, 3, 1e-9)
    assert took == traces[0].seconds[-1]
    assert graded[0][0] is traces[0].thetas
    assert graded[0][1] is traces[0].upper
    assert [each.passes for each in stand.reports][-1] == 8.0
    assert found.evidence["passes"] == 8.0
    assert "further_passes" in found.evidence
    assert took > 0
    assert [each.passes for each in stand.longer][-1] in (32.0, 128.0, 512.0)
    alone, _ = stand.judged(8, 3, 1e-9, ways=False)
    assert "further_passes" not in alone.evidence
    assert not stand.longer
    with pytest.raises(OutOfTime):
        stand.further([], 32, 3, 0.0)
    assert stand.further([], 32, 3, 9.0).passes[-1] == 32.0
    limited = OwnStand(Learner("subgradient", wb.Subgradient()), reference, 1e-12, 5.0)
    limited.judged(64, 3, 1e-9)
    assert limited.reports[-1].passes < 64
    assert not limited.longer  # who did not come to the end is asked for no more
    with limited.lent() as data:
        assert data is reference.problem
    with pytest.raises(MissingCapability):
        OwnStand(Learner("perceptron", wb.Perceptron()), reference).judged(8, 0, 1e-4)


def test_the_seconds_of_further_passes_of_our_own_are_those_of_their_last_row(monkeypatch):
    trace = SimpleNamespace(passes=np.array([8.0, 16.0, 24.0, 32.0]), seconds=np.array([1.0, 2.0, 4.0, 8.0]))
    monkeypatch.setattr(module, "run", lambda *those, **told: trace)
    stand = OwnStand(Learner("subgradient", wb.Subgradient()), known())
    assert stand.further([], 32, 3, 9.0) is trace
    assert stand.took == 8.0
