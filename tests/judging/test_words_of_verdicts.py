"""The rules of one history, each on both sides, on a line: F(θ) = 2 + θ₁ with optimum 0, a lower bound 2 and size 2."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import workbench as wb
from workbench.errors import BadInput
from workbench.judging import verdicts
from workbench.judging.controls import Control
from workbench.judging.reference import Reference, reference_of
from workbench.judging.reports import Report
from workbench.judging.verdicts import Hearing, crosscheck, standing, unusable
from workbench.judging.words import AGREES, DISAGREES, FAILED, NOT_COMPARABLE, NOT_CONVERGED
from workbench.solvers.subgradient import Subgradient
from workbench.solving.stochastic import run

PASSES = 2.0 ** np.arange(9)


def line(gap=1e-9, reach=np.inf):
    """A reference without a problem; F = ∞ from `reach` on."""
    return SimpleNamespace(
        bounds=None,
        value=lambda theta: 2.0 + theta[0] if theta[0] < reach else np.inf,
        excess=lambda value: (value - 2.0) / 2.0 if np.isfinite(value) else np.inf,
        lower=2.0,
        upper=2.5,
        size=2.0,
        gap=gap,
        theta=np.zeros(2),
    )


def told(ends, asides=0.0):
    """Reports after 1, 2, 4, … passes at θ = (end, aside)."""
    rows = np.column_stack([ends, np.broadcast_to(asides, len(ends))])
    return [Report(float(p), row) for p, row in zip(PASSES, rows, strict=False)]


def heard(ends, asides=0.0, tolerance=1e-4, trace=None, **settings):
    return Hearing(told(ends, asides), trace, line(**settings), tolerance)


def controlled(monkeypatch, end, excuses):
    asked = []
    monkeypatch.setattr(verdicts, "control", lambda *those: asked.append(those[-1]) or Control(end, excuses))
    return asked


@cache
def reference():
    X = np.random.default_rng(6).normal(size=(20, 3))
    return reference_of(wb.solve(wb.SoftMargin(0.1), wb.Multiclass(X, X.argmax(axis=1)), gap=1e-9))


# ── what is measured ──────────────────────────────────────────────────────────────────────────────


def test_the_evidence_is_of_the_last_weights():
    known = line()
    known.theta = np.array([0.0, 1.0])
    found = Hearing(told([5.0, 3.0, 0.4], [0.0, 0.0, 1.3]), None, known, 1e-2)
    assert found.evidence == {
        "upper": 2.4,
        "reference_lower": 2.0,
        "reference_gap": 1e-9,
        "threshold": 1e-2,
        "passes": 4.0,
        "distance": pytest.approx(0.5),
    }
    assert found.excess == pytest.approx(0.2)
    np.testing.assert_allclose(found.excesses, [5.0, 3.0, 0.4])
    verdict = found.verdict(NOT_CONVERGED, "history", f"{found.far}, so far")
    assert verdict.reason == "Its objective is 2.0e-01 (relative, 4.0e-01 absolute) above the proven optimum, so far."
    assert (verdict.excess, verdict.absolute) == (pytest.approx(0.2), pytest.approx(0.4))
    assert np.isnan(verdict.needed)


def first(hearing):
    """The verdict of the first rule that applies, contradictions aside; None if none does."""
    return next(filter(None, (rule() for rule in hearing.rules[1:])), None)


def test_drift_and_bound_are_those_of_the_end():
    trace = SimpleNamespace(drift=np.array([9.0, 8.0, 1e-9]), bound=np.array([7.0, 6.0, 5.0]))
    found = heard([5.0, 3.0, 1.0], trace=trace)
    assert (found.evidence["drift"], found.evidence["bound"]) == (1e-9, 5.0)
    trace = SimpleNamespace(drift=np.array([9.0, 8.0, np.nan]), bound=np.array([7.0, 6.0, np.inf]))
    assert not {"drift", "bound"} & set(heard([5.0, 3.0, 1.0], trace=trace).evidence)


@pytest.mark.parametrize(("gap", "threshold"), [(1e-9, 1e-4), (1e-3, 3e-3)])
def test_the_threshold_is_the_tolerance_or_three_gaps(gap, threshold):
    assert heard([1.0], gap=gap).threshold == pytest.approx(threshold)


def test_at_the_threshold_it_agrees():
    assert heard([0.5], tolerance=0.25).near().verdict == AGREES
    assert heard([0.4], tolerance=0.25).near().verdict == AGREES
    assert heard([0.51], tolerance=0.25).near() is None


# ── rules ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("key", "rule"), [("drift", "drift"), ("outside", "feasibility")])
@pytest.mark.parametrize("times", [1.0, 1.01])
def test_a_millionth_contradicts(monkeypatch, key, rule, times):
    monkeypatch.setattr(verdicts, "contradicted", lambda *those: ("", {key: times * 1e-6}))
    found = heard([1.0])
    contradiction = found.contradicted()
    assert found.evidence[key] == times * 1e-6
    assert (contradiction.rule if contradiction else None) == (rule if times > 1 else None)


def test_what_is_false_contradicts(monkeypatch):
    monkeypatch.setattr(verdicts, "contradicted", lambda *those: ("it says so", {}))
    assert heard([1.0]).contradicted().rule == "reported"
    monkeypatch.setattr(verdicts, "contradicted", lambda *those: ("", {}))
    assert heard([1.0]).contradicted() is None


@pytest.mark.parametrize(("bound", "slow"), [(0.0099, True), (0.01, False), (0.0101, False), (np.nan, False)])
def test_the_last_excess_is_held_against_a_hundred_rates(bound, slow):
    trace = SimpleNamespace(drift=np.full(3, np.nan), bound=np.array([1e-9, 1e-9, bound]))
    found = heard([500.0, 300.0, 1.0], trace=trace).too_slow()
    assert (found is not None) == slow
    if found:
        assert (found.verdict, found.rule) == (DISAGREES, "rate")
        assert "over 100 times" in found.reason


def test_who_has_ended():
    found = heard([9.0, 7.0, 1.0, 1.0, 1.0])
    verdict = found.ended()
    assert (verdict.verdict, verdict.rule, verdict.needed) == (DISAGREES, "ended", np.inf)
    assert (verdict.evidence["ended"], verdict.evidence["limit"]) == (4.0, 1.0)
    assert "the same from pass 4 to pass 16" in verdict.reason
    assert heard([9.0, 7.0, 1.0, 1.0, 1.001]).ended() is None
    assert first(heard([9.0, 9.0, 9.0, 9.0], reach=5.0)).rule == "feasibility"  # whoever may yet meet a constraint
    assert heard([9.0, 1.0, 1.0, 1.0], reach=5.0).ended() is not None


# ── open ──────────────────────────────────────────────────────────────────────────────────────────


def test_weights_that_are_not_feasible_or_alone_are_open():
    found = heard([1.0, 9.0], reach=5.0)
    assert (first(found).rule, first(found).reason) == ("feasibility", "Its weights are not feasible.")
    found.evidence["violation"] = 0.25
    assert first(found).reason == "Its weights are not feasible, a constraint is missed by 2.5e-01."
    assert "one answer tells neither whether it moves nor why" in first(heard([1.0])).reason
    assert "has not settled" in first(heard([9.0, 1.0])).reason
    assert first(heard([9.0, 9.0, 1.0], reach=5.0)).rule == "history"


def test_who_falls_is_told_how_far_it_is():
    found = heard(PASSES**-0.5).unsettled()
    assert (found.verdict, found.rule) == (NOT_CONVERGED, "history")
    assert found.needed == pytest.approx((1 / (2 * 1e-4)) ** 2, rel=1e-6)
    assert found.evidence["doubling"] == pytest.approx(2**0.5)
    assert found.evidence["power"] == pytest.approx(0.5)
    assert found.evidence["roaming"] == pytest.approx(1.0)
    assert found.evidence["limit"] < 1e-3
    assert found.evidence["misfit"] == pytest.approx(0.0, abs=1e-6)
    assert "falls like passes^-0.5; run it longer, at that rate about 2.5e+07 passes reach 1.0e-04" in found.reason


def test_who_has_settled_is_left_to_clean_runs():
    """On a curve to 1, and turning about the optimum, so that nothing leads there."""
    found = heard(1.0 + 0.3 * PASSES**-1.0)
    assert found.unsettled() is None
    assert found.settled
    assert found.evidence["limit"] == pytest.approx(1.0)
    standing_still = heard(np.where(np.arange(9) % 2, 1.0, 1.3), tolerance=0.01)
    assert standing_still.unsettled() is None
    assert not standing_still.settled
    assert standing_still.evidence["limit"] == pytest.approx(
        1.0
    )  # the best of late where it stands, whatever a curve would say
    on_its_way = Hearing(told(np.ones(9), 3.0 - 0.1 * np.arange(9)), None, line(), 1e-4)
    assert on_its_way.unsettled().rule == "history"


@pytest.mark.parametrize(
    ("count", "asides", "left"),
    [(5, [0.01, -0.01, 0.01, -0.01, 0.01], True), (4, [0.01, -0.01, 0.01, -0.01], False), (4, 0.01, True)],
)
def test_a_curve_of_five_answers_or_weights_at_rest(count, asides, left):
    """To fewer answers no curve can be fitted, so who stands must rest, too, before clean runs are asked."""
    found = heard(np.ones(count), asides).unsettled()
    assert (found is None) == left
    assert left or (found.verdict, found.rule) == (NOT_CONVERGED, "history")


def test_the_curve_that_ends_within_the_tolerance_is_measured_absolutely(monkeypatch):
    asked, fit = [], verdicts.settling
    monkeypatch.setattr(verdicts, "settling", lambda *those: asked.append(those[2]) or fit(*those))
    heard(PASSES**-0.5, tolerance=0.25).unsettled()
    assert asked == [0.5]  # of a size of 2


def test_who_has_ended_is_measured_by_its_end():
    found = heard([3.0, 1.0, 1.0 + 4e-11, 1.0])
    assert (found.ended().rule, found.evidence["limit"], found.evidence["ended"]) == ("ended", 1.0, 2.0)


def test_the_last_weights_of_alternating_costs_are_judged(monkeypatch):
    asked = []
    monkeypatch.setattr(verdicts, "alternated", lambda theta, *others: asked.append(theta.tolist()))
    known = Reference(wb.KappaDifficulty(), reference().problem, np.zeros(1), 1.0, 1.0, 0.0)
    crosscheck([(1, [0.1]), (2, [0.2]), (4, [0.4])], known)
    assert asked == [[0.4]]


def trend(power, needed):
    return Hearing.trend(SimpleNamespace(needed=needed, passes=np.array([3.0, 100.0]), threshold=1e-4), power)


def test_a_trend_in_words():
    assert trend(0.0, 1e3) == trend(-1.0, 1e3) == trend(np.nan, 1e3) == ("is not falling yet", "run it longer")
    slow = ("falls like passes^-0.01", "run it longer, at that rate about 1e+07 passes reach 1.0e-04")
    assert trend(0.01, 1e7) == slow
    nowhere = "at that rate over a million times as many passes reach 1.0e-04, so look at its steps and "
    nowhere += "at what it minimises"
    assert trend(0.5, 1e8) == ("falls like passes^-0.5", nowhere)
    assert trend(0.5, 0.99e8)[1].endswith("passes reach 1.0e-04")


# ── clean runs ────────────────────────────────────────────────────────────────────────────────────


def test_clean_runs_are_asked_for_the_limit(monkeypatch):
    asked = controlled(monkeypatch, 0.02, excuses=False)
    found = heard(1.0 + 0.3 * PASSES**-1.0)
    assert first(found) is None
    verdict = found.stays()
    (question,) = asked
    assert (question.passes, question.stands, question.moves) == (256.0, False, True)
    assert question.limit == pytest.approx(1.0)
    assert question.tolerance == 1e-4
    assert (verdict.verdict, verdict.rule, verdict.needed) == (DISAGREES, "settled", np.inf)
    assert verdict.evidence["control"] == 0.02
    assert "about 5.0e-01 above it, where clean runs with its budget end 1.0e-02 above it" in verdict.reason


@pytest.mark.parametrize(
    ("end", "said"), [(20.0, "stays, about 1.0e+00 above it"), (20.1, "stays, no nearer than 1.0e+00")]
)
def test_who_goes_away_is_not_said_to_be_where_it_was(end, said, monkeypatch):
    """The limit is the least excess of late; beyond ten times as much, two such numbers contradict each other."""
    controlled(monkeypatch, 0.02, excuses=False)
    hearing = heard([2.0] * 8 + [end])
    hearing.evidence["limit"] = 2.0
    verdict = hearing.stays()
    assert verdict.verdict == DISAGREES
    assert said in verdict.reason


def test_steps_straight_down_excuse_before_clean_runs_are_asked(monkeypatch):
    asked, seen = controlled(monkeypatch, 0.5, False), []
    hearing = heard([1.0] * 9)
    hearing.evidence["limit"] = 1.0
    monkeypatch.setattr(verdicts, "downhill", lambda *those: seen.append(those) or True)
    found = hearing.stays()
    assert (found.verdict, found.rule, asked) == (NOT_CONVERGED, "settled", [])
    assert found.reason.endswith("for now, but its last steps go down this objective; run it longer.")
    assert seen == [(hearing.reports, hearing.reference.bounds)]


def test_who_is_excused_by_its_steps_is_marked(monkeypatch):
    controlled(monkeypatch, 0.0, excuses=False)
    for down in (True, False):
        hearing = heard([1.0] * 9)
        hearing.evidence["limit"] = 1.0
        monkeypatch.setattr(verdicts, "downhill", lambda *those, down=down: down)
        assert hearing.stays().evidence.get("excused") == (1.0 if down else None)


@pytest.mark.parametrize(("height", "open_yet"), [(0.99, True), (1.01, False)])
@pytest.mark.parametrize("moves", [True, False])
def test_weights_that_move_within_ten_thresholds_may_be_noise(height, open_yet, moves, monkeypatch):
    controlled(monkeypatch, 0.0, excuses=False)
    hearing = heard([1.0] * 9)
    monkeypatch.setattr(verdicts, "moving", lambda reports: moves)
    hearing.evidence["limit"] = height * 10 * 1e-4 * hearing.reference.size
    found = hearing.stays()
    assert (found.verdict, found.rule) == (NOT_CONVERGED if moves and open_yet else DISAGREES, "settled")
    assert ("but its weights still move: noise may fall as slowly; run it longer." in found.reason) == (
        moves and open_yet
    )


# ── loops that are watched ────────────────────────────────────────────────────────────────────────


def watched(ends, asides=0.0):
    """What is heard of a learner that is alone, with these excesses after 1, 2, 3, … steps."""
    rows = np.column_stack([ends, np.broadcast_to(asides, len(ends))])
    return Hearing([Report(k + 1.0, row) for k, row in enumerate(rows)], None, line(), 1e-4, alone=True)


def test_no_rest_accuses_a_loop():
    """With the same weights in half of its steps, or at the same height."""
    found = watched(np.maximum(16 - np.arange(1.0, 31), 1.0)).ended()
    assert (found.verdict, found.rule) == (NOT_CONVERGED, "settled")
    assert (
        "and its weights are the same from pass 15 to pass 30; learning rates that fall to 0 bring any loop to rest"
        in found.reason
    )
    hearing = watched(np.ones(40), (-1.0) ** np.arange(40))
    assert hearing.unsettled() is None
    found = hearing.stays()
    assert (found.verdict, found.rule) == (NOT_CONVERGED, "settled")
    assert "has settled for now, about 5.0e-01 above it; learning rates that fall" in found.reason


def test_clean_runs_excuse_or_are_missing(monkeypatch):
    controlled(monkeypatch, 0.9, excuses=True)
    found = heard(1.0 + 0.3 * PASSES**-1.0)
    assert first(found) is None
    excused = found.stays()
    assert (excused.verdict, excused.rule) == (NOT_CONVERGED, "settled")
    assert "clean runs of ours settle 4.5e-01 above it, too" in excused.reason
    controlled(monkeypatch, np.inf, excuses=True)
    assert "no solver of ours fits" in found.stays().reason


@pytest.mark.parametrize(("ends", "limit"), [([9, 9, 9, 0.5, 3, 2, 4], 2.0), ([9, 9, 9, 9, 1.5, 3, 2], 1.5)])
def test_who_is_known_to_stand_is_measured_by_its_best_since_a_quarter_of_the_passes(monkeypatch, ends, limit):
    asked = controlled(monkeypatch, 0.0, excuses=False)
    monkeypatch.setattr(verdicts, "reference_of", lambda solution: solution)
    history = [(each.passes, each.theta) for each in told(ends)]
    found = standing(history, line(), 1e-4)
    assert (found.verdict, found.rule) == (DISAGREES, "settled")
    assert asked[0].limit == limit
    assert asked[0].stands
    assert standing(history, line(reach=2.5), 1e-4).verdict == NOT_CONVERGED
    on_its_way = [(float(p), np.array([1.0, 3.0 - 0.1 * k])) for k, p in enumerate(PASSES)]
    assert standing(on_its_way, line(), 1e-4).verdict == NOT_CONVERGED


def stood(ends, monkeypatch, **settings):
    """What `standing` says of these excesses after 1, 2, 4, … passes, where no clean run excuses."""
    controlled(monkeypatch, 0.0, excuses=False)
    monkeypatch.setattr(verdicts, "reference_of", lambda solution: solution)
    return standing([(each.passes, each.theta) for each in told(ends)], line(**settings), 1e-4)


@pytest.mark.parametrize(
    ("ends", "judged"),
    [
        ([9, 9, 9, 9, 1.5, 3, 2], True),
        ([9, 9, 9, 9, 10, 3, 2], False),  # at a quarter of the passes
        ([9, 9, 9, 10, 1.5, 3, 2], True),  # and before
        ([9, 9, 9, 9, 1.5, 10, 2], False),
        ([9, 9, 9, 9, 1.5, 3, 10], False),
    ],
)
def test_who_stands_must_be_feasible_since_a_quarter_of_the_passes(ends, judged, monkeypatch):
    found = stood(ends, monkeypatch, reach=10)
    assert (found.verdict, found.rule) == ((DISAGREES, "settled") if judged else (NOT_CONVERGED, "history"))


def test_a_fifth_and_a_third_of_the_passes_are_no_quarter(monkeypatch):
    controlled(monkeypatch, 0.0, excuses=False)
    monkeypatch.setattr(verdicts, "reference_of", lambda solution: solution)
    for at, judged in ((24.0, True), (26.0, False), (30.0, False)):
        history = [(4.0, [3.0, 0.0]), (at, [10.0, 0.0]), (60.0, [2.0, 1.0]), (100.0, [2.0, 0.0])]
        found = standing(history, line(reach=10), 1e-4)
        assert (found.verdict == DISAGREES) == judged


def test_who_stands_and_pauses_goes_on_and_who_has_ended_is_asked_for(monkeypatch):
    paused = stood([9, 5, 5, 4, 3, 2, 2], monkeypatch)
    assert (paused.verdict, paused.rule) == (NOT_CONVERGED, "history")
    assert "the same from pass 32 to pass 64, but so they were for as long before, and went on: run it" in paused.reason
    ended = stood([9, 5, 4.5, 4, 3, 2, 2], monkeypatch)
    assert (ended.verdict, ended.rule) == (DISAGREES, "settled")


# ── what can be judged ────────────────────────────────────────────────────────────────────────────


def steps(*thetas):
    return [Report(k + 1.0, theta, shape=theta.shape) for k, theta in enumerate(thetas)]


def test_weights_that_are_none():
    good = reference().theta
    dim = len(good)
    assert unusable(steps(good, good), None, reference()) is None
    assert unusable(steps(good * np.nan, good), None, reference()) is None  # the last ones count
    assert "shape (2,)" in unusable(steps(good, np.zeros(2)), None, reference()).reason
    assert "not (9,)" in unusable(steps(np.zeros(2), good), None, reference()).reason
    for bad in (np.nan, np.inf):
        some = np.where(np.arange(dim) == 1, bad, good)
        found = unusable(steps(good, good, some), None, reference())
        assert (found.verdict, found.reason) == (FAILED, "1 of the 9 weights are not finite numbers.")
    for size, broken in ((1e300, True), (-1e300, True), (verdicts.LARGEST, False)):
        some = np.where(np.arange(dim) == 1, size, 0.0)
        found = unusable(steps(good, good, some), None, reference())
        assert (found is not None) == broken
        assert not found or "too large" in found.reason


@pytest.mark.parametrize(
    ("shape", "told"),
    [
        ((8,), ""),
        ((1, 8), ""),
        ((2, 4), ""),
        ((4, 2), "have shape (4, 2), inputs by classes; give the transpose, a row for each class."),
        ((9,), "have shape (9,), not (8,), 2 rows of 4 weights, a row for each label."),
        ((4,), "If they are one vector c for two labels, give −c/2 and c/2"),
    ],
)
def test_a_matrix_of_weights_has_a_row_for_each_class(shape, told):
    found = wb.crosscheck(np.zeros(shape), two_classes())
    assert (found.verdict == FAILED) == bool(told)
    assert told in found.reason


def test_weights_and_biases_are_one_flat_array():
    for shape, told in (((2, 5), "shape (2, 5); give a flat array (10,)"), ((8,), "shape (8,), not (10,)")):
        found = wb.crosscheck(np.zeros(shape), two_classes(intercept=True))
        assert f"{told}, 8 of w, then 2 of b." in found.reason
    assert wb.crosscheck(np.zeros(10), two_classes(intercept=True)).verdict == NOT_CONVERGED


@pytest.mark.parametrize("learned", ["abc", {"v": np.zeros(8)}, None, [(1, "abc")]])
def test_what_is_no_array_of_numbers_is_refused(learned):
    with pytest.raises(wb.BadInput, match=r"The learner returned|The weights are a dict of v; give one flat array"):
        wb.crosscheck(learned, two_classes())


def test_steps_among_other_things_are_no_history():
    with pytest.raises(wb.BadInput, match="The learner returned"):
        verdicts.history([(1, [1.0]), [2.0]])


def test_rows_of_one_number_are_weights():
    (alone,) = verdicts.history([[1.0], [2.0]])
    assert (alone.theta.tolist(), alone.shape) == ([1.0, 2.0], (2, 1))


def test_a_solution_is_judged_by_its_weights_and_its_objective():
    known = two_classes()
    assert wb.crosscheck(known, known).verdict == AGREES
    found = wb.crosscheck(two_classes(lam=0.2), known)
    assert (found.verdict, found.rule) == (NOT_COMPARABLE, "objective")


def test_a_nested_list_is_a_matrix_and_a_list_of_pairs_a_history():
    known = two_classes()
    rows = known.theta_flat.reshape(2, 4).tolist()
    assert wb.crosscheck(rows, known).verdict == AGREES
    found = wb.crosscheck([(4, known.theta_flat), [2, np.zeros(8)]], known)
    assert (found.verdict, found.evidence["passes"]) == (AGREES, 4.0)


@cache
def two_classes(lam=0.1, intercept=False):
    X = np.random.default_rng(3).normal(size=(20, 4))
    return wb.solve(wb.SoftMargin(lam, intercept=intercept), wb.Multiclass(X, (X[:, 0] > 0).astype(int)))


def test_another_objective_is_not_compared_and_another_declaration_is():
    trace = run(Subgradient(), wb.SoftMargin(0.1), reference().problem, passes=3)
    assert unusable(steps(*trace.thetas), trace.formulation, reference()) is None
    other = run(Subgradient(), wb.SoftMargin(0.2), reference().problem, passes=3)
    assert crosscheck(other, reference()).verdict == "not comparable"
    assert crosscheck(trace, reference()).verdict != "not comparable"
    kind = wb.SoftMargin(0.1)
    assert verdicts.objective(replace(kind, declare="compact")) == verdicts.objective(kind)
    assert verdicts.objective(replace(kind, lam=0.2)) != verdicts.objective(kind)


@pytest.mark.parametrize("tolerance", [-1e-9, np.inf, np.nan, "1e-4", None])
def test_tolerances_that_are_none(tolerance):
    with pytest.raises(BadInput, match="give a number of at least 0"):
        crosscheck(reference().theta, reference(), tolerance)
    assert crosscheck(reference().theta, reference(), 0.0).verdict == AGREES  # three gaps remain


def test_the_default_tolerance_is_a_ten_thousandth():
    assert crosscheck(reference().theta, reference()).evidence["threshold"] == 1e-4


@pytest.mark.parametrize(
    ("passes", "several"),
    [
        ([2, 4], True),
        ([1.01, 2.02], True),
        ([3, 6, 12, 24], True),
        ([2, 4, 8, 16, 32], False),
        ([1, 2], False),
        ([2, 3.99], False),
        ([2, 4, 7.99], False),
        ([2, 3, 6], False),
    ],
)
def test_a_few_answers_each_with_twice_the_passes_are_those_of_several_fits(passes, several):
    assert verdicts.budgets(np.array(passes, float)) == several


@pytest.mark.parametrize("several", [True, False])
def test_answers_that_are_the_same_accuse_if_they_are_those_of_several_fits(several):
    best = reference()
    history = [(2, best.theta + 1.0), (4 if several else 3, best.theta + 1.0)]
    assert crosscheck(history, best).verdict == (DISAGREES if several else NOT_CONVERGED)


@pytest.mark.parametrize("bad", [-1, np.nan, np.inf, "two", None])
def test_a_history_counts_its_passes(bad):
    with pytest.raises(BadInput, match=r"passes (are|is a)"):
        verdicts.history([(bad, [1.0]), (2, [2.0])])


def test_a_history_is_read_in_the_order_of_passes():
    history = verdicts.history([(4, [1.0]), (1, [[2.0, 3.0]]), (2, np.ones(3), {"gap": 1.0})])
    assert [each.passes for each in history] == [1.0, 2.0, 4.0]
    assert [each.theta.shape for each in history] == [(2,), (3,), (1,)]
    assert [each.claims for each in history] == [{}, {"gap": 1.0}, {}]
    (alone,) = verdicts.history([0.5, 1.5])
    assert alone.theta.tolist() == [0.5, 1.5]
    assert np.isnan(alone.passes)
    assert crosscheck(ValueError("no\n luck"), reference()).reason == "The learner crashed: ValueError: no luck"


@pytest.mark.parametrize("bare", [True, False])
def test_a_users_history_accuses_nobody_who_has_settled(bare, monkeypatch):
    controlled(monkeypatch, 0.0, excuses=False)
    hearing = heard([1.0] * 9)
    hearing.bare = bare
    hearing.evidence |= {"limit": 1.0}
    assert (hearing.stays().verdict == DISAGREES) == (not bare)


@pytest.mark.parametrize("kind", [tuple, list, Report])
def test_pairs_are_a_users_history_and_reports_are_the_judges(kind, monkeypatch):
    seen, reference = [], line()
    reference.formulation = reference.problem = None
    monkeypatch.setattr(verdicts, "reference_of", lambda solution: reference)
    monkeypatch.setattr(Hearing, "rules", property(lambda self: (lambda: seen.append(self.bare) or "told",)))
    history = [(1.0, np.array([1.0, 0.0])), (2.0, np.array([1.0, 0.0]))]
    given = [Report(*each) if kind is Report else kind(each) for each in history]
    monkeypatch.setattr(verdicts, "unusable", lambda *those: None)
    monkeypatch.setattr(verdicts, "blocks_of", lambda *those: None)
    assert verdicts.crosscheck(given, None) == "told"
    assert seen == [kind is not Report]
