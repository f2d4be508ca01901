"""Learners on related problems, each rule by itself: stands and relations that are made up."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

import workbench as wb
from workbench.judging import kin
from workbench.judging.reports import Report
from workbench.judging.seeds import Run
from workbench.judging.share import Allowance
from workbench.judging.words import AGREES, DISAGREES, FAILED, NOT_CONVERGED, Verdict

CHEAP, SLOW, RELAXED = 0.1, 5.0, 10.0  # written out, not imported
TOLERANCE = 1e-3


def said(verdict=AGREES, rule="optimum", excess=0.5):
    return Verdict(verdict, excess, f"It {verdict}.", {"own": excess}, rule)


class Stand:
    """A learner of somebody else, to whom the verdicts happen that are listed, one a fit."""

    def __init__(self, verdicts=(), ours=False, certified=True, fits=()):
        self.learner, self.reference = SimpleNamespace(ours=ours), SimpleNamespace(certified=certified)
        self.verdicts, self.fits, self.asked, self.remarks = list(verdicts), list(fits), [], []
        self.reports = [Report(1.0, None)]

    def tried(self, passes, seed, tolerance, ways=True):
        self.asked.append((self.reference, passes, seed, tolerance, ways))
        return self.verdicts.pop(0), 0.0

    def fitted(self, passes, seed):
        self.asked.append((passes, seed))
        return [], self.fits.pop(0)

    @contextmanager
    def beside(self, reference):
        kept, self.reference = self.reference, reference
        yield self
        self.reference = kept


def kind(name, beyond=False):
    """A related reference; with `beyond`, its problem has what the original had not."""
    what = SimpleNamespace(what="sample weights", without=f"{name} without") if beyond else None
    return name, SimpleNamespace(formulation="form", beyond=what, name=name)


def relate(monkeypatch, *kinds):
    monkeypatch.setattr(kin, "related", lambda reference: iter(kinds))


def runs(*seconds):
    return [Run(seed, AGREES, 0.0, "optimum", took) for seed, took in enumerate(seconds, 7)]


def relatives(stand, rest=None):
    return kin.judged_on_relatives(stand, said(), 12, 7, TOLERANCE, rest or Allowance())


# ── when relations are asked for ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("audit", "cheap", "asked"), [(True, False, 1), (None, True, 1), (None, False, 0), (False, True, 0)]
)
def test_relations_are_made_if_asked_for_or_cheap(audit, cheap, asked, monkeypatch):
    relate(monkeypatch, kind("twice"))
    stand = Stand([said()])
    took = runs(*[0.01 if cheap else 9.0] * 2)
    found = kin.judged_on_relations(stand, said(), audit, 12, took, TOLERANCE, Allowance())
    assert [each[2] for each in stand.asked] == [7] * asked  # by the first seed
    assert found.evidence.get("relations", 0) == asked


@pytest.mark.parametrize(
    ("seconds", "again", "cheap"),
    [
        ((0.0999, 3.0), None, True),
        ((CHEAP, 3.0), 0.0999, True),  # the first fit imports packages, too
        ((CHEAP, 3.0), CHEAP, False),
        ((4.999, 9.0), 0.05, True),
        ((SLOW, 9.0), None, False),
    ],
)
def test_a_fit_of_less_than_a_tenth_of_a_second_is_cheap(seconds, again, cheap, monkeypatch):
    relate(monkeypatch, kind("twice"))
    stand = Stand(fits=[] if again is None else [again])
    assert kin.cheap(stand, said(), 12, runs(*seconds)) == cheap
    assert stand.asked == ([] if again is None else [(12, 7)])
    took = min(seconds) if again is None else again
    told = f"It was not judged on related problems, since a fit takes {took:.2g} s; --audit judges it on them, too."
    assert stand.remarks == ([] if cheap else [told])


def test_what_has_no_relations_has_no_remark(monkeypatch):
    relate(monkeypatch)
    stand = Stand()
    assert not kin.cheap(stand, said(), 12, runs(SLOW))
    assert not stand.remarks


def test_ours_and_who_does_not_agree_are_left_alone(monkeypatch):
    relate(monkeypatch, kind("twice"))
    assert kin.cheap(Stand(), said(), 12, runs(0.01))
    for stand, verdict in (
        (Stand(ours=True), said()),
        (Stand(), said(NOT_CONVERGED)),
        (Stand(certified=False), said()),
    ):
        assert not kin.cheap(stand, verdict, 12, runs(0.01))
        assert not stand.remarks
    stand = Stand(certified=False)
    verdict = said()
    assert kin.judged_on_relatives(stand, verdict, 12, 7, TOLERANCE, Allowance()) is verdict


# ── what is made of them ──────────────────────────────────────────────────────────────────────────


def test_every_relation_that_holds_is_counted(monkeypatch):
    relate(monkeypatch, kind("one"), kind("two"), kind("three"))
    stand = Stand([said(), said(NOT_CONVERGED), said()])
    found = relatives(stand)
    assert (found.verdict, found.evidence) == (AGREES, {"own": 0.5, "relations": 3})
    assert [(each[0].name, *each[1:]) for each in stand.asked] == [
        (name, 12, 7, RELAXED * TOLERANCE, True) for name in ("one", "two", "three")
    ]


@pytest.mark.parametrize("verdict", [DISAGREES, FAILED])
def test_a_relation_that_does_not_hold_accuses(verdict, monkeypatch):
    relate(monkeypatch, kind("one"), kind("two"), kind("three"))
    bad = Verdict(verdict, 0.25, "It is WRONG.", {"there": 1.0}, "drift")
    monkeypatch.setattr(kin, "described", lambda name, reference, changed: f"a copy of {changed.name}")
    monkeypatch.setattr(kin, "read_by", lambda name, reference, changed: f"what {name} changes")
    stand = Stand([said(), bad])
    found = relatives(stand)
    assert (found.verdict, found.excess, found.rule) == (DISAGREES, 0.25, "relation: two")
    assert found.reason == (
        "On a copy of two (relation two): it is WRONG. It agrees on the problem itself (excess 5.0e-01); let `fit` "
        "read what two changes, or judge it on this problem alone by audit=False of `judge`."
    )
    assert found.evidence == {"own": 0.5, "there": 1.0}


def test_spent_seconds_end_the_relations(monkeypatch):
    relate(monkeypatch, kind("one"), kind("two"), kind("three"))
    now = [0.0]
    stand, rest = Stand([said(), said()]), Allowance(1.0, lambda: now[0])
    tried = stand.tried

    def slowly(*asked, **settings):
        now[0] += 1.0
        return tried(*asked, **settings)

    stand.tried = slowly
    assert relatives(stand, rest).evidence["relations"] == 1
    told = "It was not judged under the relation two and what follows: --seconds is spent."
    assert stand.remarks == [told]


@pytest.mark.parametrize(
    ("one", "two", "verdict", "count"),
    [
        (said(DISAGREES, "settled"), said(DISAGREES, "settled"), DISAGREES, 2),
        (said(DISAGREES, "settled"), said(DISAGREES, "drift"), DISAGREES, 2),
        (said(DISAGREES, "ended"), said(NOT_CONVERGED), NOT_CONVERGED, 2),
        (said(DISAGREES, "drift"), said(), DISAGREES, 1),
        (said(NOT_CONVERGED, "settled"), said(DISAGREES), NOT_CONVERGED, 1),
    ],
)
def test_chance_gets_another_seed(one, two, verdict, count):
    stand = Stand([one, two])
    found = kin.twice(stand, 12, 7, TOLERANCE)
    assert found.verdict == verdict
    assert verdict != DISAGREES or found is one
    assert [each[2] for each in stand.asked] == [7, 8][:count]


def excused(verdicts, without, monkeypatch):
    """(verdict, excuse, seeds, solves) on a problem with a new feature; without it the answers are as listed."""
    told, solves = list(without), []
    monkeypatch.setattr(kin, "solve", lambda form, problem, gap: solves.append((form, problem, gap)) or "best")
    monkeypatch.setattr(kin, "crosscheck", lambda reports, best, tolerance: said(told.pop(0)))
    stand = Stand(verdicts)
    stand.reference = kind("split", beyond=True)[1]
    found, excuse = kin.on_relative(stand, 12, 7, TOLERANCE)
    return found, excuse, stand.asked, solves


@pytest.mark.parametrize(("verdict", "excuse"), [(AGREES, False), (FAILED, True), ("not comparable", False)])
def test_who_refuses_what_is_new_is_excused(verdict, excuse, monkeypatch):
    found, told, asked, solves = excused([said(verdict)], [], monkeypatch)
    assert (found.verdict, told, solves) == (verdict, excuse, [])
    assert [each[1:] for each in asked] == [(12, 7, TOLERANCE, False)]


@pytest.mark.parametrize("verdict", [DISAGREES, NOT_CONVERGED])
def test_who_is_right_without_what_is_new_is_excused(verdict, monkeypatch):
    found, told, asked, solves = excused([said(verdict)], [AGREES], monkeypatch)
    assert (found.verdict, told) == (verdict, True)
    assert solves == [("form", "split without", TOLERANCE / 3)]
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("there", "without", "excuse"),
    [
        (said(DISAGREES, "drift"), NOT_CONVERGED, True),
        (said(DISAGREES, "drift"), AGREES, True),
        (said(DISAGREES, "drift"), DISAGREES, False),
        (said(NOT_CONVERGED), NOT_CONVERGED, False),
        (said(), NOT_CONVERGED, False),
    ],
)
def test_who_may_be_on_its_way_without_what_is_new_is_excused(there, without, excuse, monkeypatch):
    found, told, asked, _ = excused([said(NOT_CONVERGED), there], [NOT_CONVERGED, without], monkeypatch)
    assert (found, told) == (there, excuse)
    assert [each[-1] for each in asked] == [False, True]


@pytest.mark.parametrize(
    ("verdict", "ends"), [(FAILED, "failed there"), (DISAGREES, "ignored them (5.0e-01 above the optimum)")]
)
def test_the_remark_on_who_ignores_what_is_new_or_fails(verdict, ends, monkeypatch):
    def made(there, *asked):
        return (said(verdict), True) if there.reference.beyond else (said(), False)

    relate(monkeypatch, kind("split", beyond=True), kind("two"))
    monkeypatch.setattr(kin, "on_relative", made)
    stand = Stand()
    assert relatives(stand).evidence["relations"] == 1
    (remark,) = stand.remarks
    assert f"a copy of this problem with sample weights (relation split), and the learner {ends};" in remark


def test_who_does_not_agree_on_the_problem_itself_is_not_said_to(monkeypatch):
    relate(monkeypatch, kind("two"))
    monkeypatch.setattr(kin, "described", lambda name, reference, changed: "a copy")
    found = kin.judged_on_relatives(Stand([said(DISAGREES)]), said(NOT_CONVERGED), 12, 7, TOLERANCE, Allowance())
    assert found.reason == "On a copy (relation two): it disagrees."


def test_a_learner_with_settings_of_its_own_is_told_what_to_read():
    """One that knows λ and n by heart is right on the problem, and wrong where every sample is listed twice."""
    problem = wb.Multiclass(np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 3)
    solution = wb.solve(wb.SoftMargin(lam=0.5), problem)
    found = wb.judge(lambda problem, formulation, budget, rng: solution.theta_flat, solution, audit=True)
    assert (found.verdict, found.rule.split(":")[0]) == (DISAGREES, "relation")
    assert "It agrees on the problem itself (excess" in found.reason
    assert "audit=False of `judge`." in found.reason
    assert kin.read_by("duplicate", *both(lam=0.5, gone=0.25)) == "`formulation.lam` and `problem.n_samples`"
    assert kin.read_by("permute", *both(lam=0.5, gone=0.5)) == "all of the `problem` that it is given"


def both(lam, gone):
    return [SimpleNamespace(formulation=SimpleNamespace(lam=each, other=1)) for each in (lam, gone)]
