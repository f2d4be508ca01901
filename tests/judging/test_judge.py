"""`judge` step by step, with stands, detectives and verdicts that are made up."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import workbench as wb
from workbench.errors import BadInput
from workbench.judging import judge as module
from workbench.judging.audits import Finding
from workbench.judging.conventions.neighbours import Explanation
from workbench.judging.judge import Cause, Judgement, bench, excesses, explained, searched, stopped_early, whole_run
from workbench.judging.learners import Learner
from workbench.judging.reference import Reference
from workbench.judging.remote import RemoteStand
from workbench.judging.reports import Report
from workbench.judging.share import Allowance
from workbench.judging.stand import OwnStand, Stand
from workbench.judging.warned import Tally
from workbench.judging.words import AGREES, DISAGREES, FAILED, NOT_COMPARABLE, NOT_CONVERGED, Verdict
from workbench.system.processes import OutOfTime

DATA = wb.Multiclass(np.eye(3), np.arange(3))


def known(**settings):
    told = {"upper": 2.0, "lower": 1.5, "gap": 0.0} | settings
    found = Reference(wb.SoftMargin(), DATA, np.zeros(9), **told)
    found.__dict__["bounds"] = SimpleNamespace(upper=lambda theta: 2.0 + theta[0], oracle=SimpleNamespace(dim=9))
    found.__dict__["size"] = 1.0
    return found


def said(verdict=NOT_CONVERGED, rule="history", excess=0.5):
    return Verdict(verdict, excess, f"It {verdict}.", {"own": 1.0}, rule, 0.25, 77.0)


def fit(problem, formulation, budget, rng):
    return np.zeros(9)


class Told:
    """A stand on which the verdicts happen that are listed, after a second of the clock and 0.75 of the fit each."""

    def __init__(self, verdicts, audit=()):
        self.verdicts, self.against, self.asked = list(verdicts), list(audit), []
        self.remarks, self.reports, self.longer, self.now, self.tally = [], [], [], 100.0, Tally()
        self.learner = Learner("mine", fit)

    def clock(self):
        return self.now

    def tried(self, passes, seed, tolerance):
        self.asked.append(("tried", passes, seed, tolerance))
        self.now += 1.0
        return self.verdicts.pop(0), 0.75

    def audited(self, verdict, tolerance, within):
        self.asked.append(("audited", within))
        return (replace(verdict, verdict=DISAGREES, rule="audit: oracle") if self.against else verdict), self.against


def judged(monkeypatch, verdicts, against=(), found=None, seeds=(3,), **settings):
    """(judgement, what was asked for) of a learner with these verdicts."""
    stand = Told(verdicts, against)

    @contextmanager
    def benched(*asked):
        stand.asked.append(("bench", *asked[2:]))
        yield stand

    def search(verdict, stand, reference, allowance):
        stand.asked.append(("searched", allowance.ends - stand.now))
        cause = Cause("convention", "λ", "", True)
        return (verdict, []) if found is None else (replace(verdict, verdict=found), [cause])

    def related(stand, verdict, audit, passes, runs, tolerance, rest):
        stand.asked.append(("related", audit, passes, [each.seed for each in runs], tolerance, rest.ends - stand.now))
        return verdict

    monkeypatch.setattr(module, "bench", benched)
    monkeypatch.setattr(module, "searched", search)
    monkeypatch.setattr(module, "judged_on_relations", related)
    told = wb.judge(fit, known(), seeds=list(seeds), **settings)
    return told, stand.asked


def steps(asked):
    return [each[0] for each in asked[1:]]


# ── which steps follow which verdict ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("verdict", "rule", "wanted"),
    [
        (AGREES, "optimum", ["audited", "related"]),
        (NOT_CONVERGED, "history", ["audited", "searched", "related"]),
        (DISAGREES, "settled", ["audited", "searched"]),
        (DISAGREES, "ended", ["audited", "searched"]),
        (DISAGREES, "rate", ["audited", "searched"]),
        (DISAGREES, "feasibility", ["searched"]),
        (DISAGREES, "drift", []),
        (FAILED, "crash", []),
        (NOT_COMPARABLE, "objective", []),
    ],
)
def test_what_follows_a_verdict(verdict, rule, wanted, monkeypatch):
    found, asked = judged(monkeypatch, [said(verdict, rule)])
    assert steps(asked) == ["tried", *wanted]
    assert (found.verdict, found.rule, found.causes) == (verdict, rule, [])


def test_whoever_watches_hears_what_the_judge_does_next(monkeypatch):
    heard: list[str] = []
    judged(monkeypatch, [said(NOT_CONVERGED)] * 2, seeds=(3, 5), watch=heard.append)
    last = ["its single steps", "the objective that it minimises", "relations between its runs"]
    assert heard == ["its runs, seed 3", "its runs, seed 5", *last]


def test_a_step_that_is_wrong_is_a_certain_cause(monkeypatch):
    finding = Finding("oracle", 1.0, 0.1, "Its oracle errs.")
    found, asked = judged(monkeypatch, [said(AGREES, "optimum")], [finding])
    assert found.causes == [Cause("audit", "oracle", "Its oracle errs.", True)]
    assert steps(asked) == ["tried", "audited"]
    found, asked = judged(monkeypatch, [said(DISAGREES, "settled")], [finding], found=DISAGREES)
    assert [each.kind for each in found.causes] == ["audit", "convention"]
    assert steps(asked) == ["tried", "audited", "searched"]


def test_who_is_accused_by_an_identity_has_no_relations(monkeypatch):
    found, asked = judged(monkeypatch, [said()], found=DISAGREES)
    assert (found.verdict, [each.kind for each in found.causes]) == (DISAGREES, ["convention"])
    assert steps(asked) == ["tried", "audited", "searched"]


# ── time ──────────────────────────────────────────────────────────────────────────────────────────


def within(asked):
    return {each[0]: each[-1] for each in asked if each[0] in ("audited", "searched", "related")}


def test_the_judge_has_its_share_on_large_problems(monkeypatch):
    """Of 27 = n·p numbers: a fit of 0.75 s in one second leaves 0.5 s for audits, and 120 s for a cause."""
    monkeypatch.setattr("workbench.judging.share.LARGE", 27)
    _, asked = judged(monkeypatch, [said()])
    assert within(asked) == {"audited": 0.5, "searched": 0.5, "related": np.inf}
    _, asked = judged(monkeypatch, [said(DISAGREES, "settled")])
    assert within(asked) == {"audited": 0.5, "searched": 120.0}
    _, asked = judged(monkeypatch, [said()], audit=True)
    assert within(asked) == dict.fromkeys(("audited", "searched", "related"), np.inf)
    monkeypatch.setattr("workbench.judging.share.LARGE", 1)
    _, asked = judged(monkeypatch, [said()], audit=True)
    assert within(asked)["audited"] == np.inf
    monkeypatch.setattr("workbench.judging.share.LARGE", 28)
    _, asked = judged(monkeypatch, [said()])
    assert within(asked) == dict.fromkeys(("audited", "searched", "related"), np.inf)


def test_the_limit_of_seconds_is_for_each_run(monkeypatch):
    _, asked = judged(monkeypatch, [said(), said()], seeds=(3, 4), seconds=5.0)
    assert asked[0] == ("bench", 5.0, None)
    assert within(asked) == dict.fromkeys(("audited", "searched", "related"), 8.0)


def test_fits_take_no_longer_than_their_judging(monkeypatch):
    monkeypatch.setattr("workbench.judging.share.LARGE", 0)
    monkeypatch.setattr(Told, "tried", lambda self, *asked: (said(), 9.0))
    _, asked = judged(monkeypatch, [])
    assert within(asked)["audited"] == pytest.approx(0.3)  # the clock stood still, so the fits took nothing


# ── what a judgement holds ────────────────────────────────────────────────────────────────────────


def test_a_judgement_is_of_the_run_that_decided(monkeypatch):
    runs = [said(AGREES, "optimum", 0.1), said(excess=0.5), said(excess=0.3)]
    found, asked = judged(monkeypatch, runs, seeds=(3, 4, 9), passes=12, tolerance=0.01, patience=2.5)
    assert [each[1:] for each in asked if each[0] == "tried"] == [(12, seed, 0.01) for seed in (3, 4, 9)]
    assert [(each.seed, each.verdict, each.excess, each.rule, each.seconds) for each in found.runs] == [
        (3, AGREES, 0.1, "optimum", 0.75),
        (4, NOT_CONVERGED, 0.5, "history", 0.75),
        (9, NOT_CONVERGED, 0.3, "history", 0.75),
    ]
    assert (found.name, found.passes, found.seconds, found.excess) == ("fit", 12, 0.75, 0.5)
    assert (found.absolute, found.needed, found.history) == (0.25, 77.0, [])
    assert asked[0] == ("bench", None, 2.5)
    assert asked[-1] == ("related", None, 12, [3, 4, 9], 0.01, np.inf)


def test_remarks_follow_the_reason_once(monkeypatch):
    def remarking(self, *asked):
        self.remarks += ["One.", "Two.", "One."]
        return said(), 0.0

    monkeypatch.setattr(Told, "tried", remarking)
    found, _ = judged(monkeypatch, [])
    assert (found.reason, found.remarks) == ("It not converged. One. Two.", ["One.", "Two."])
    monkeypatch.setattr(Told, "tried", lambda self, *asked: (said(), 0.0))
    found, _ = judged(monkeypatch, [])
    assert (found.reason, found.remarks) == ("It not converged.", [])


def test_words_that_ask_for_nothing():
    with pytest.raises(BadInput, match="seeds is empty"):
        wb.judge(fit, known(), seeds=[])
    for patience in (-1.0, np.nan):
        with pytest.raises(BadInput, match="give seconds from 0 on, such as patience=60"):
            wb.judge(fit, known(), patience=patience)
    assert wb.judge(fit, known(), patience=0.0, audit=False).runs[0].seed == 0
    assert [each.seed for each in wb.judge(fit, known(), seeds=5, audit=False, patience=0).runs] == [5]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"passes": 0}, "passes is 0; give a whole number from 1 on"),
        ({"passes": 2.5}, "passes is 2.5"),
        ({"seeds": -1}, "seed is -1; give a whole number from 0 on"),
        ({"seeds": [0, -1]}, "seed is -1"),
        ({"seconds": 0}, "seconds is 0; it must be positive"),
        ({"tolerance": -1e-9}, "The tolerance is -1e-09"),
        ({"tolerance": np.inf}, "The tolerance is inf"),
    ],
)
def test_settings_that_are_no_such_numbers_are_refused_before_the_learner_is_called(settings, words):
    called = []
    with pytest.raises(BadInput, match=words):
        wb.judge(lambda *asked: called.append(asked), known(), **settings)
    assert not called


def test_the_least_of_all_settings_are_taken(monkeypatch):
    found, asked = judged(monkeypatch, [said()], passes=1, seeds=(0,), tolerance=0.0, seconds=1e-100)
    assert asked[1] == ("tried", 1, 0, 0.0)
    assert found.passes == 1


def test_a_judgement_of_which_nothing_is_said_counts_no_calls():
    assert Judgement("mine", AGREES, 0.0, 1, 0.0, "It agrees.", {}, "optimum").calls == 0


def test_fifty_passes_and_a_ten_thousandth_by_default(monkeypatch):
    _, asked = judged(monkeypatch, [said()])
    assert asked[1] == ("tried", 50, 3, 1e-4)
    wb_default = judged(monkeypatch, [said()], seeds=(0,))[1]
    assert wb_default[1] == ("tried", 50, 0, 1e-4)


# ── where a learner runs ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("learner", "limit", "kind"),
    [
        (Learner("mine", fit), None, Stand),
        (Learner("mine", fit), 0.0, Stand),
        (Learner("mine", fit), 5.0, RemoteStand),
        (Learner("mine", fit, "mine.py"), None, RemoteStand),
        (Learner("bcfw", wb.BCFW()), None, OwnStand),
        (Learner("bcfw", wb.BCFW()), 5.0, OwnStand),
    ],
)
def test_where_a_learner_runs(learner, limit, kind):
    with bench(learner, known(), limit, 7.0) as stand:
        assert type(stand) is kind
        assert (stand.limit, stand.patience, stand.learner) == (limit, 7.0, learner)


# ── causes ────────────────────────────────────────────────────────────────────────────────────────

TOLD = Explanation("λ twice", "It is λ.", {"multiple": 2.0}, True)
HISTORY = [Report(1.0, np.ones(9)), Report(2.0, np.zeros(9))]


class Sleuth:
    def __init__(self, explain=None, identity=None):
        self.told, self.same, self.asked = explain, identity, []

    def explain(self, theta, history):
        self.asked.append(("explain", theta.tolist(), len(history)))
        return self.told

    def identity(self, history):
        self.asked.append(("identity", len(history)))
        return self.same


def causes(verdict, sleuth, reports=HISTORY, learner=None, **settings):
    reference = known(**settings)
    reference.known["detective"] = sleuth
    return explained(verdict, reports, reference, learner)


def test_who_is_accused_is_explained():
    sleuth = Sleuth(TOLD)
    found, why = causes(said(DISAGREES, "settled"), sleuth)
    assert (found.verdict, found.rule, found.needed) == (DISAGREES, "settled", 77.0)
    assert (found.reason, found.evidence) == ("It disagrees. It is λ.", {"own": 1.0, "multiple": 2.0})
    assert why == [Cause("convention", "λ twice", "It is λ.", True)]
    assert sleuth.asked == [("explain", [0.0] * 9, 2)]
    causes(said(DISAGREES, "settled"), sleuth, [*HISTORY, HISTORY[0]])
    assert sleuth.asked[1] == ("explain", [1.0] * 9, 3)


def test_who_is_on_his_way_is_accused_by_identity_only():
    sleuth = Sleuth(TOLD, TOLD)
    found, why = causes(said(), sleuth)
    assert (found.verdict, found.rule, found.needed) == (DISAGREES, "identity", np.inf)
    assert sleuth.asked == [("identity", 2)]
    assert why[0].name == "λ twice"
    verdict = said()
    assert causes(verdict, Sleuth(TOLD, None)) == (verdict, [])


def test_what_cannot_be_explained():
    verdict = said(DISAGREES, "settled")
    sleuth = Sleuth(TOLD, TOLD)
    assert causes(verdict, sleuth, []) == (verdict, [])
    assert causes(verdict, sleuth, missing="no optimum") == (verdict, [])
    bilinear = replace(known(), formulation=wb.NuclearDyadic())
    bilinear.known["detective"] = sleuth
    assert explained(verdict, HISTORY, bilinear) == (verdict, [])
    assert not sleuth.asked
    assert causes(verdict, Sleuth()) == (verdict, [])


def test_what_the_detective_learns_serves_the_next_learner(monkeypatch):
    made = []
    monkeypatch.setattr(module, "Detective", lambda reference: made.append(reference) or Sleuth())
    reference, allowance = known(), Allowance(5.0)
    for _ in range(2):
        explained(said(DISAGREES, "settled"), HISTORY, reference, None, allowance)
    assert reference.known["detective"].allowance is allowance
    explained(said(DISAGREES, "settled"), HISTORY, reference)
    assert reference.known["detective"].allowance.left == np.inf
    assert len(made) in (1, 3)


def test_who_stops_early_is_told_so():
    def stops(problem, formulation, budget, rng, tol=0.1):
        return np.zeros(9)

    ended = said(DISAGREES, "ended")
    assert stopped_early(said(DISAGREES, "settled"), Learner("mine", stops)) is None
    assert stopped_early(ended, None) is None
    found = stopped_early(ended, Learner("mine", stops))
    assert (found.name, found.confident) == ("stops early", False)
    assert found.sentence.endswith("if it stops too early, tighten its own `tol`.")
    assert "its own rule for stopping, if it has one" in stopped_early(ended, Learner("mine", fit)).sentence
    told, why = causes(ended, Sleuth(), learner=Learner("mine", stops))
    assert why == [Cause("convention", "stops early", found.sentence, False)]
    assert told.reason.endswith(found.sentence)


def test_a_search_that_does_not_fit_is_a_remark(monkeypatch):
    stand = SimpleNamespace(reports=HISTORY[:1], longer=[], learner="mine", remarks=[])
    asked = []
    monkeypatch.setattr(module, "explained", lambda *told: asked.append(told) or ("found", ["cause"]))
    allowance = Allowance()
    assert searched(said(), stand, "reference", allowance) == ("found", ["cause"])
    stand.longer = HISTORY
    searched(said(), stand, "reference", allowance)
    assert [each[1] for each in asked] == [HISTORY[:1], HISTORY]
    assert asked[0][2:] == ("reference", "mine", allowance)
    assert not stand.remarks

    def spent(*told):
        raise OutOfTime

    monkeypatch.setattr(module, "explained", spent)
    verdict = said()
    assert searched(verdict, stand, "reference", allowance) == (verdict, [])
    (remark,) = stand.remarks
    assert "did not fit" in remark


def test_the_history_goes_on_behind_the_budget():
    at = [Report(float(k), np.full(9, 1.0 / k)) for k in (1, 2, 4, 8)]
    stand = SimpleNamespace(reports=at[:2], longer=at[1:])
    assert excesses(whole_run(stand), known()) == [(float(k), pytest.approx(0.5 + 1.0 / k)) for k in (1, 2, 4, 8)]
    assert whole_run(SimpleNamespace(reports=[], longer=at)) == []
    assert excesses(whole_run(stand), known(missing="no optimum")) == []
