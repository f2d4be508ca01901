"""The numbers that the judge decides by, each on both sides: written out here, not imported."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import workbench as wb
import workbench.judging.conventions.scaling as scaling
import workbench.judging.kin as kin
from workbench.judging.audits import audit_reports
from workbench.judging.claims import false_claim
from workbench.judging.conventions.detective import Detective, verdict
from workbench.judging.conventions.features import subspaces
from workbench.judging.conventions.neighbours import Explanation, Fit, Neighbour, Suspect
from workbench.judging.conventions.one_vs_rest import described
from workbench.judging.reference import reference_of
from workbench.judging.reports import Report
from workbench.judging.seeds import Run
from workbench.judging.settling import settling
from workbench.judging.verdicts import Hearing, crosscheck
from workbench.judging.words import AGREES, Verdict
from workbench.solvers.subgradient import Subgradient
from workbench.solving.stochastic import run

BELOW, ABOVE = 0.99, 1.01


@cache
def reference():
    rng = np.random.default_rng(4)
    X = np.hstack([rng.normal(size=(30, 3)), np.ones((30, 1))])
    return reference_of(wb.solve(wb.SoftMargin(0.1), wb.Multiclass(X, X[:, :3].argmax(axis=1)), gap=1e-9))


def traced():
    return run(Subgradient(), reference().formulation, reference().problem, passes=5)


@pytest.mark.parametrize("times", [BELOW, ABOVE])
def test_a_hundred_times_the_published_rate(times):
    trace = traced()
    trace.bound[-1] = (reference().value(trace.thetas[-1]) - reference().lower) / (100 * times)
    assert (crosscheck(trace, reference()).rule == "rate") == (times > 1)


@pytest.mark.parametrize("times", [BELOW, ABOVE])
def test_a_millionth_of_the_weights_is_drift(times):
    trace = traced()
    trace.drift[-1] = 1e-6 * times
    assert (crosscheck(trace, reference()).rule == "drift") == (times > 1)


@pytest.mark.parametrize("times", [BELOW, ABOVE])
def test_a_millionth_of_the_objective_is_a_false_claim(times):
    """F(θ) = 3 and a known value of 2: objective, lower bound, a negative gap, and a gap that is too small."""
    known, off = SimpleNamespace(upper=2.0), 1e-6 * times
    for claims, value in (({"objective": 3 + 3 * off}, 3.0), ({"lower": 2 + 3 * off}, 3.0), ({"gap": -3 * off}, 1.0)):
        assert bool(false_claim({"gap": np.inf} | claims, value, known, 3.0)) == (times > 1)
    assert bool(false_claim({"gap": (1 - 3 * off) / 3}, 3.0, known, 3.0)) == (times > 1)


@pytest.mark.parametrize("times", [BELOW, ABOVE])
def test_a_millionth_of_an_average_is_another(times):
    iterates = [np.array([1.0, 0.0]), np.array([0.0, 1.0])]
    mean = np.array([0.5, 0.5])
    off = mean + 1e-6 * times * np.linalg.norm(mean) * np.array([1.0, 0.0])
    reports = [
        Report(float(k + 1), theta, {"iterate": iterate, "share": 1.0})
        for k, (theta, iterate) in enumerate(zip((iterates[0], off), iterates, strict=True))
    ]
    (found,) = audit_reports(reports)
    assert bool(found.sentence) == (times > 1), found


@pytest.mark.parametrize(
    ("took", "again", "fits", "cheap"),
    [(0.099, 9, 0, True), (0.11, 0.09, 1, True), (4.9, 0.11, 1, False), (5.1, 0, 0, False)],
)
def test_a_tenth_of_a_second_is_cheap_and_up_to_five_are_tried_again(took, again, fits, cheap, monkeypatch):
    asked = []

    def fitted(passes, seed):
        asked.append(passes)
        return [], again

    monkeypatch.setattr(kin, "related", lambda reference: iter(()))
    learner, known = SimpleNamespace(ours=False), SimpleNamespace(certified=True)
    stand = SimpleNamespace(learner=learner, reference=known, fitted=fitted, remarks=[])
    runs = [Run(0, AGREES, 0.0, "optimum", took)]
    assert kin.cheap(stand, Verdict(AGREES, 0.0, ""), 50, runs) == cheap
    assert len(asked) == fits


def test_related_problems_allow_ten_times_the_tolerance(monkeypatch):
    asked = []

    def on_relative(stand, passes, seed, tolerance):
        asked.append(tolerance)
        return Verdict(AGREES, 0.0, ""), False

    monkeypatch.setattr(kin, "on_relative", on_relative)
    wb.judge(lambda problem, formulation, budget, rng: reference().theta, reference(), audit=True, tolerance=1e-4)
    assert asked
    assert asked == pytest.approx([1e-3] * len(asked))


# ── the detective ─────────────────────────────────────────────────────────────────────────────────


def said(given, most, rival=1.0, name="λ twice"):
    """The explanation by one candidate with e = `most` and a rival with e₋ = `rival`."""
    of = {each: Neighbour(each, "errs", None, None, np.zeros(1)) for each in (name, "another")}
    return verdict(given, [Fit(of[name], most, 0.0), Fit(of["another"], np.inf, rival)])


def test_who_is_named_and_who_is_sure():
    assert said(1.0, 0.99e-3).confident
    assert said(1.0, 1.01e-3).confident is False  # an excess by which the judge would not say that it agrees
    assert said(1.0, 2.9e-3).confident is False
    assert said(1.0, 3.1e-3) is None
    assert said(0.99e-2, 1e-3) is None
    assert said(1.01e-2, 1e-3).confident
    assert said(1.0, 1e-3, rival=1.01e-2).confident
    assert not said(1.0, 1e-3, rival=0.99e-2).confident
    assert said(3.1e-3, 1e-5).confident
    assert not said(2.9e-3, 1e-5).confident
    assert not said(1.0, 1e-5, name="zero weights").confident
    assert not said(1.0, 1e-5, name="λ").confident
    assert not said(1.0, 1e-5, name="absolute penalty").confident


@pytest.mark.parametrize(
    ("moved", "bound", "far", "certain"),
    [
        (0.0, 0.029, 9.0, True),
        (0.0, 0.031, 9.0, False),
        (0.029, 0.0, 9.0, True),
        (0.031, 0.0, 9.0, False),
        (0.0, 0.02, 0.201, True),
        (0.0, 0.02, 0.199, False),
        (0.02, 0.0, 0.201, True),
        (0.02, 0.0, 0.199, False),
    ],
)
def test_certain_identity(moved, bound, far, certain):
    """Weights of length 1: within 3 % of another optimum, and ten times as far from the one asked for."""
    last = np.array([1.0, 0.0])
    detective = Detective(reference())
    detective.reference = SimpleNamespace(theta=last + np.array([0.0, far]))
    told = Explanation("λ twice", "errs", {"distance_bound": bound}, True)
    detective.explain = lambda theta, history=(), several=True: told
    assert (detective.identity([(5.0, last + np.array([0.0, moved])), (10.0, last)]) is not None) == certain


@pytest.mark.parametrize("times", [BELOW, ABOVE])
def test_a_millionth_of_the_largest_weight_is_zero(times):
    theta = reference().theta.reshape(3, 4).copy()
    theta[:, 3] = 1e-6 * times * np.abs(theta[:, :3]).max()
    names = {each.name for each in subspaces(Suspect(theta.ravel(), reference()))}
    assert ("no intercept" in names) == (times < 1)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("away", [0.019, 0.021])
def test_two_per_cent_of_a_multiple_that_is_meant(away, sign):
    suspect = SimpleNamespace(n=50, form=SimpleNamespace(lam=0.3))
    assert ("C = 1 " in described("hinge", "", "", suspect, np.exp(sign * away) / 50)[1]) == (away < 0.02)
    assert ("times as large" in described("hinge", "", "", suspect, np.exp(sign * away) * 0.3)[1]) == (away > 0.02)


@pytest.mark.parametrize(
    ("kappa", "name", "tried"),
    [(59.0, "λ twice", True), (61.0, "λ twice", False), (1.49, "λ", False), (1.51, "λ", True), (0.66, "λ", True)],
)
def test_ratios_within_thirty_times_are_tried_and_none_within_half_more(kappa, name, tried, monkeypatch):
    monkeypatch.setattr(scaling, "best_multiple", lambda suspect, key, within: kappa)
    monkeypatch.setattr(scaling, "open_ones", lambda suspect: (-np.inf, np.inf))
    names = {each.name for each in scaling.multiples(Suspect(reference().theta, reference()))}
    assert (name in names) == tried


# ── histories ─────────────────────────────────────────────────────────────────────────────────────


def test_ten_times_the_variance_is_significant():
    """Of five checkpoints, for curves that bend more and more: from 10 on, if the limit is half of the end."""
    passes, misfits = 2.0 ** np.arange(5), []
    for bend in np.geomspace(0.1, 2.0, 60):
        excesses = 0.3 * (1 + bend / passes) * (1 + 0.05 * np.array([1, -1, 1, -1, 1]))
        found = settling(passes, excesses, 1e-4)
        assert found.settled == (found.misfit > 10 and found.limit >= excesses[-1] / 2)
        misfits.append(found.misfit)
    assert any(1 < each < 10 for each in misfits)
    assert any(10 < each < 100 for each in misfits)


@pytest.mark.parametrize("times", [BELOW, ABOVE])
def test_a_million_times_the_passes_are_not_told(times):
    here = SimpleNamespace(needed=1e6 * 100 * times, passes=np.array([100.0]), threshold=1e-4)
    assert ("over a million times as many" in Hearing.trend(here, 0.5)[1]) == (times > 1)
