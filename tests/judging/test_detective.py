"""The detective's bookkeeping, with objectives, bounds and solves that are made up; F(θ) = 2 + θ₁ as asked for."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import workbench as wb
from workbench.errors import MissingCapability
from workbench.judging.conventions import detective
from workbench.judging.conventions.detective import (
    BetterByFar,
    Detective,
    Optimum,
    as_given,
    ranked,
    since_half,
    verdict,
)
from workbench.judging.conventions.neighbours import ALONG, Explanation, Fit, Neighbour, Suspect
from workbench.judging.reference import Reference
from workbench.judging.share import Allowance
from workbench.objectives.regularizers import SquaredNorm
from workbench.system.processes import OutOfTime

CLOSE, WORSE, FINE, SECONDS, ROUNDS = 3e-3, 10.0, 3e-5, 60.0, 300  # written out, not imported
NEARBY, AWAY, SHARE = 0.03, 10.0, 30.0


class Plain:
    """Bounds of an objective: F(θ) = base + θ₁, with r of no known shape."""

    regularizer = SimpleNamespace(curvature=None)

    def __init__(self, base=2.0, curvature=None, regularizer=None):
        self.base = base
        self.regularizer = regularizer or SimpleNamespace(curvature=curvature)

    def upper(self, theta):
        return self.base + float(theta[0]) if np.isfinite(theta[0]) else np.inf


def neighbour(theta=(1.0, 0.0), name="another", **settings):
    return Neighbour(name, f"follows {name}", "form", "problem", np.array(theta), **settings)


def known(monkeypatch, bounds, lower=1.0, upper=None, theta=(0.0, 0.0), status="optimal", along=()):
    """A detective whose neighbours have these bounds and solves, and what was asked of `solve`."""
    asked = []

    def solve(form, problem, gap, time_limit, max_rounds, observe):
        asked.append((gap, time_limit, max_rounds, observe))
        best = lower if upper is None else upper
        observe({"upper": best})
        return SimpleNamespace(lower=lower, upper=best, theta_flat=np.array(theta), status=status)

    monkeypatch.setattr(detective, "bounds_for", lambda form, problem: bounds)
    monkeypatch.setattr(detective, "solve", solve)
    monkeypatch.setattr(detective, "ALONG", along)
    reference = Reference(wb.SoftMargin(), None, np.array([4.0, 0.0]), 6.0, 6.0, 0.0)
    found = Detective(reference)
    return found, Suspect(np.array([1.0, 0.0]), reference), asked


# ── what is known of another objective ────────────────────────────────────────────────────────────


def test_an_optimum_starts_at_the_reference_or_for_hidden_weights_at_0(monkeypatch):
    known(monkeypatch, Plain())
    at = Optimum(neighbour(), np.array([4.0, 0.0]))
    assert (at.upper, at.at_reference, at.lower, at.theta.tolist()) == (6.0, 6.0, -np.inf, [4.0, 0.0])
    assert at.found == 6.0
    at = Optimum(neighbour(hidden=np.array([True, False])), np.array([4.0, 0.0]))
    assert (at.upper, at.theta.tolist()) == (2.0, [0.0, 0.0])


def test_an_optimum_is_solved_for_within_a_minute_and_three_hundred_rounds(monkeypatch):
    _, _, asked = known(monkeypatch, Plain(), lower=0.5, upper=1.5, theta=(9.0, 9.0))
    seen, at = [], Optimum(neighbour(), np.array([4.0, 0.0]))
    at.solve(seen.append, Allowance())
    ((gap, seconds, rounds, _),) = asked
    assert (gap, seconds, rounds) == (FINE, SECONDS, ROUNDS)
    assert seen == [1.5]
    assert (at.lower, at.upper, at.theta.tolist()) == (0.5, 1.5, [9.0, 9.0])
    at.upper = 1.0  # of a point that was seen
    at.solve(seen.append, Allowance())
    assert at.upper == 1.0


@pytest.mark.parametrize(
    ("left", "status", "late"),
    [(SECONDS - 1, "limit", True), (SECONDS, "limit", False), (SECONDS + 1, "limit", False), (1.0, "optimal", False)],
)
def test_an_end_for_want_of_time_leaves_no_lower_bound(left, status, late, monkeypatch):
    _, _, asked = known(monkeypatch, Plain(), lower=0.5, upper=1.5, status=status)
    at, allowance = Optimum(neighbour(), np.array([4.0, 0.0])), Allowance(left, lambda: 0.0)
    if late:
        with pytest.raises(OutOfTime):
            at.solve(lambda value: None, allowance)
        assert (at.lower, at.upper) == (-np.inf, 1.5)
        at.upper = 1.0
        with pytest.raises(OutOfTime):
            at.solve(lambda value: None, allowance)
        assert at.upper == 1.0
    else:
        at.solve(lambda value: None, allowance)
        assert at.lower == 0.5
    assert asked[0][1] == min(left, SECONDS)


def test_without_time_nothing_is_solved_for(monkeypatch):
    found, suspect, asked = known(monkeypatch, Plain())
    with pytest.raises(OutOfTime):
        Optimum(neighbour(), np.array([4.0, 0.0])).solve(lambda value: None, Allowance(0.0))
    found.allowance = Allowance(0.0)
    monkeypatch.setattr(detective, "CONVENTIONS", [lambda suspect: pytest.fail("no time for it")])
    with pytest.raises(OutOfTime):
        list(found.tried(suspect, detective.CONVENTIONS))
    clock = iter([0.0, 0.0, 2.0])
    found.allowance = Allowance(1.0, lambda: next(clock))
    monkeypatch.setattr(detective, "CONVENTIONS", [lambda suspect: iter([Fit(neighbour(), 1.0, 1.0)])])
    with pytest.raises(OutOfTime):
        list(found.tried(suspect, detective.CONVENTIONS))
    assert not asked


# ── which weights can be explained ────────────────────────────────────────────────────────────────


def test_weights_and_objectives_that_nothing_explains():
    data = wb.Multiclass(np.eye(3), np.arange(3))
    good, ends = np.arange(9.0), (1.0, 1.0, 0.0)
    asked = []

    def explained(theta, form=None, **settings):
        found = Detective(Reference(form or wb.SoftMargin(), data, np.zeros(9), *ends, **settings))
        found.tried = lambda suspect, entries: asked.append(entries) or iter(())
        assert found.explain(theta) is None

    explained(np.arange(8.0))
    explained(np.where(good == 3, np.nan, good))
    explained(np.where(good == 3, np.inf, good))
    explained(good, missing="no optimum")
    explained(good, wb.HardMargin())
    explained(good, wb.LatentSSVM())
    assert not asked
    explained(good)
    assert asked == [detective.CONVENTIONS, (*detective.LIKELY, *detective.SEVERAL)]
    found = Detective(Reference(wb.SoftMargin(), data, np.zeros(9), *ends))
    found.tried = lambda suspect, entries: asked.append(entries) or iter(())
    found.explain(good, several=False)
    assert asked[2:] == [detective.CONVENTIONS]


LIKELY = [(FINE, False), (1e-3, False), (1.001e-3, True), (CLOSE, True)]  # of likelihoods, where none is sure or fine


@pytest.mark.parametrize(
    ("form", "most", "joined"),
    [(wb.SoftMargin(), CLOSE, False), (wb.SoftMargin(), 1.001 * CLOSE, True), *((wb.CRF(), *each) for each in LIKELY)],
)
def test_changes_at_once_are_tried_where_no_single_one_explains(form, most, joined):
    """And what they say is a guess, however well it fits."""
    data = wb.Multiclass(np.eye(3), np.arange(3))
    found = Detective(Reference(form, data, np.zeros(9), 0.5, 0.5, 0.0))
    pair = fit(1e-9, 1.0, "two", evidence={"multiple": 2.0, "ratio": 2.0, "several": 2.0})
    asked = []

    def tried(suspect, entries):
        asked.extend(entries)
        return iter([pair if detective.SEVERAL[0] in entries else fit(most)])

    found.tried = tried
    told = found.explain(np.arange(9.0))
    assert (told.name, told.confident) == (("two", False) if joined else ("another", told.confident))
    assert (detective.LIKELY[0] in asked) == (joined or most > 1e-3)  # whatever the form, where none is sure


def test_what_an_outputs_structure_cannot_do_no_learner_does(monkeypatch):
    found, suspect, _ = known(monkeypatch, Plain())

    def unable(suspect):
        yield fit(0.5)
        raise MissingCapability("not there")

    def fit(most):
        return Fit(neighbour(), most, 0.0)

    monkeypatch.setattr(detective, "CONVENTIONS", [unable, lambda suspect: iter([fit(0.25)])])
    assert [each.most for each in found.tried(suspect, detective.CONVENTIONS)] == [0.5, 0.25]


def test_others_are_discarded_against_the_least_so_far(monkeypatch):
    """From CLOSE down to FINE, below which no optimum is known."""
    found, suspect, _ = known(monkeypatch, Plain())
    closes = []
    found.examined = lambda each, suspect, close: closes.append(close) or Fit(each, np.inf, np.inf)
    fits = [Fit(neighbour(), most, 0.0) for most in (1.0, 1e-3, 2e-3, 1e-9)]
    entries = [lambda suspect, each=each: iter([each, neighbour()]) for each in fits]
    monkeypatch.setattr(detective, "CONVENTIONS", entries)
    list(found.tried(suspect, detective.CONVENTIONS))
    assert closes == [CLOSE, 1e-3, 1e-3, FINE]


# ── e and e₋ ──────────────────────────────────────────────────────────────────────────────────────


def test_both_residuals_and_the_distance(monkeypatch):
    found, suspect, _ = known(monkeypatch, Plain(9.0, curvature=0.5), lower=9.94, upper=9.98)
    at = found.examined(neighbour(), suspect)  # F = 10, of the optimum between 9.94 and 9.98
    assert at.most == pytest.approx(0.06 / 10)
    assert at.least == pytest.approx(0.02 / 10)
    assert at.distance == pytest.approx(np.sqrt(2 * 0.06 / 0.5))
    known(monkeypatch, Plain(9.0), lower=9.94, upper=9.98)
    assert found.examined(neighbour(name="no curvature"), suspect).distance == np.inf
    known(monkeypatch, Plain(9.0, curvature=0.5), lower=10.0 + 1e-12, upper=10.0)
    assert found.examined(neighbour(name="at it"), suspect).distance == 0.0


@pytest.mark.parametrize(
    ("base", "regularizer", "size", "wanted"),
    [
        (9.0, None, 0.0, 10.0),
        (-11.0, None, 0.0, 10.0),
        (9.0, None, 7.0, 7.0),
        (9.0, 0.1, 0.0, SHARE * 0.1),
        (9.0, 0.5, 0.0, 10.0),
        (9.0, 0.1, 7.0, 7.0),
        (-1.0, None, 0.0, 1e-200),
    ],
)
def test_what_residuals_are_divided_by(base, regularizer, size, wanted, monkeypatch):
    """|F′|, or 30 times r where that is less, or what the neighbour says."""
    norm = None if regularizer is None else SquaredNorm(2 * regularizer)
    bounds = Plain(base, regularizer=norm)
    value = bounds.upper(np.array([1.0, 0.0]))
    found, suspect, _ = known(monkeypatch, bounds, lower=value - 1e-3 * wanted, upper=value - 5e-4 * wanted)
    at = found.examined(neighbour(size=size), suspect, close=1e9)
    assert (at.most, at.least) == (pytest.approx(1e-3, rel=1e-6), pytest.approx(5e-4, rel=1e-6))


def test_who_is_better_by_far_ends_the_search(monkeypatch):
    for upper, ends in ((10 - 0.299, False), (10 - 0.301, True)):
        found, suspect, asked = known(monkeypatch, Plain(9.0), lower=9.0, upper=upper)
        at = found.examined(neighbour(), suspect)
        assert (at.most == np.inf) == ends
        assert at.least == pytest.approx((10 - upper) / 10)
        assert asked
    found, suspect, _ = known(monkeypatch, Plain(9.0), lower=6.0, upper=6.875)
    assert found.examined(neighbour(), suspect, close=0.03125).most == 0.4  # by ten times exactly that it is not
    found, suspect, asked = known(monkeypatch, Plain(9.0), lower=9.0, upper=9.99)
    found.examined(neighbour(), suspect)
    again = found.examined(neighbour(), suspect)  # the optimum is known
    assert (len(asked), again.most) == (1, pytest.approx(0.1))


def test_the_reference_and_the_end_of_a_search_are_points_too(monkeypatch):
    found, suspect, asked = known(monkeypatch, Plain(9.0), lower=9.0)
    assert found.examined(neighbour([9.0, 0.0]), suspect).most == np.inf
    assert not asked  # the reference is better by 5 of 18
    found, suspect, _ = known(monkeypatch, Plain(9.0))
    best = SimpleNamespace(lower=9.0, upper=9.5, theta_flat=np.zeros(2), status="optimal")
    monkeypatch.setattr(detective, "solve", lambda *those, **limits: best)  # which tells nothing on its way
    assert found.examined(neighbour(), suspect).most == np.inf


def test_multiples_of_the_weights_are_points_too(monkeypatch):
    """0.7 times the weights are better by 0.3 here, without a solve."""
    found, suspect, asked = known(monkeypatch, Plain(0.5), lower=-9.0, along=ALONG)
    at = found.examined(neighbour(), suspect)
    assert (at.most, at.least, asked) == (np.inf, pytest.approx(0.3 / 1.5), [])


def test_no_other_objective_on_these_data(monkeypatch):
    found, suspect, asked = known(monkeypatch, Plain())
    suspect.__dict__["values"] = (3.0, 6.0)  # F at the weights and at the reference, as asked for
    at = found.examined(neighbour()._replace(theta=suspect.theta), suspect)
    assert (at.most, at.least, asked) == (np.inf, np.inf, [])
    found, suspect, _ = known(monkeypatch, Plain(), lower=2.999, upper=2.9995)
    suspect.__dict__["values"] = (3.0, 6.0)
    assert found.examined(neighbour(), suspect).most < 1  # other weights of the same value may be another objective's
    suspect.__dict__["values"] = (3.0, 6.5)
    assert found.examined(neighbour(name="b")._replace(theta=suspect.theta), suspect).most < 1


def test_weights_off_the_domain_of_another_objective(monkeypatch):
    found, suspect, asked = known(monkeypatch, Plain())
    at = found.examined(neighbour([np.inf, 0.0]), suspect)
    assert (at.most, at.least, asked) == (np.inf, np.inf, [])


def test_hidden_weights_are_those_of_the_optimum(monkeypatch):
    found, suspect, asked = known(monkeypatch, Plain(9.0), lower=8.99, upper=9.0, theta=(0.005, 0.0))
    for _ in range(2):
        at = found.examined(neighbour([1.0, 7.0], hidden=np.array([True, False])), suspect)
        assert at.most == pytest.approx(0.015 / 9.005)
        assert len(asked) == 1


def test_objectives_of_one_name_are_told_apart_by_what_they_are(monkeypatch):
    found, suspect, asked = known(monkeypatch, Plain(9.0), lower=9.99, upper=9.995)
    for objective in ("a", "b", "a", ()):
        found.examined(neighbour(objective=objective), suspect)
    assert len(asked) == 3
    assert set(found.optima) == {"a", "b", "another"}


# ── identity ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("moved", "bound", "far", "certain"),
    [
        (NEARBY, 0.0, AWAY * NEARBY, True),
        (1.001 * NEARBY, 0.0, 1.0, False),
        (0.0, NEARBY, AWAY * NEARBY, True),
        (0.0, 1.001 * NEARBY, 1.0, False),
        (0.0, NEARBY, 0.999 * AWAY * NEARBY, False),
        (0.0, np.inf, 9.0, False),
    ],
)
@pytest.mark.parametrize("length", [1.0, 1024.0])
def test_the_ball_of_identity_is_relative_to_the_weights(moved, bound, far, certain, length, monkeypatch):
    last = np.array([length, 0.0])
    found = Detective(Reference(wb.SoftMargin(), None, last + np.array([0.0, far * length]), 1.0, 1.0, 0.0))
    told = Explanation("another", "", {"distance_bound": bound * length}, True)
    found.explain = lambda theta, history, several: told if theta is history[-1][1] and not several else None
    monkeypatch.setattr(detective, "since_half", lambda history: moved * length)
    assert found.identity([(1.0, -last), (2.0, -last), (4.0, last)]) is (told if certain else None)


def test_a_guess_or_no_distance_is_no_identity():
    last = np.array([1.0, 0.0])
    found = Detective(Reference(wb.SoftMargin(), None, last + 5, 1.0, 1.0, 0.0))
    history = [(50.0, last), (100.0, last)]
    for told in (None, Explanation("a", "", {"distance_bound": 0.0}, False), Explanation("a", "", {}, True)):
        found.explain = lambda theta, history, several, told=told: told
        assert found.identity(history) is None


def test_how_far_weights_were_in_the_last_half():
    history = [(49.0, np.array([9.0])), (50.0, np.array([3.0])), (80.0, np.array([2.0])), (100.0, np.array([1.0]))]
    assert since_half(history) == 2.0
    assert since_half(history[-1:]) == since_half(history[:1] + history[-1:]) == np.inf


# ── the rule ──────────────────────────────────────────────────────────────────────────────────────


def fit(most, least=1.0, name="another", **settings):
    return Fit(neighbour(name=name, **settings), most, least)


def test_who_is_close_is_named_if_the_objective_asked_for_is_ten_times_worse():
    assert verdict(1.0, [fit(CLOSE)]).name == "another"
    assert verdict(1.0, [fit(1.001 * CLOSE)]) is None
    assert verdict(1e-3, [fit(1e-4)]).name == "another"
    assert verdict(0.999e-3, [fit(1e-4)]) is None
    assert verdict(1.0, []) is None


@pytest.mark.parametrize(
    ("given", "rival", "sure"),
    [
        (CLOSE, 1e-3, True),
        (np.nextafter(CLOSE, 0), 1e-3, False),
        (1.0, np.nextafter(1e-3, 0), False),
        (1.0, 1e-3, True),
    ],
)
def test_it_is_sure_if_all_others_are_ten_times_worse(given, rival, sure):
    found = verdict(given, [fit(1e-4), fit(1e-3, 0.0), fit(1.0, rival, "a rival"), fit(2.0, 5.0, "a third")])
    assert found.confident == sure
    assert found.sentence.startswith("The learner follows" if sure else "Perhaps the learner follows")
    assert found.evidence["next"] == rival
    assert verdict(1.0, [fit(1e-4, name="λ")]).confident is False
    assert verdict(1.0, [fit(1e-4, name="zero weights")]).confident is False
    assert verdict(1.0, [fit(1e-4, size=1.0)]).confident is False


def test_a_multiple_of_lambda_with_a_reason_comes_before_one_without():
    free, meant = fit(1e-4, 0.0, "λ"), fit(2e-4, 0.0, "λ twice", evidence={"multiple": 2.0, "ratio": 2.0})
    assert verdict(1.0, [free, meant]).name == "λ twice"
    assert verdict(1.0, [free, meant._replace(most=2.001e-4)]).name == "λ"
    far = fit(CLOSE, 0.0, "λ twice", evidence={"multiple": 2.0, "ratio": 2.0})
    assert verdict(1.0, [fit(0.9 * CLOSE, 0.0, "λ"), far]).name == "λ twice"
    assert verdict(1.0, [fit(0.9 * CLOSE, 0.0, "λ"), far._replace(most=1.001 * CLOSE)]).name == "λ"
    assert verdict(1.0, [free, fit(2e-4, 0.0, "λ twice")]).name == "λ"  # what is no multiple
    assert verdict(1.0, [free, meant._replace(most=3e-4), fit(1e-3, 0.0, "λ")]).name == "λ"


@pytest.mark.parametrize(("most", "least_risk"), [(1e-4, 1e-3), (1e-6, 3e-4)])
def test_it_is_sure_of_a_multiple_if_half_of_it_fits_worse(most, least_risk):
    """Half of the multiple fits up to (e + ρ)/(1 + ρ) with ρ the risk's share, that is for ρ up to 10 max(e, 3e-5)."""
    meant = fit(most, 1.0, "λ half", evidence={"multiple": 0.5, "ratio": 0.5})
    assert verdict(1.0, [meant._replace(risk=1.001 * least_risk)]).confident
    found = verdict(1.0, [meant._replace(risk=least_risk)])
    assert not found.confident
    assert found.sentence.endswith("above the one asked for, and half of that λ fits as well.")
    assert verdict(1.0, [fit(most)._replace(risk=0.0)]).confident, "what is no multiple"


@pytest.mark.parametrize("share", [1 / 2, 1 / 150])
def test_where_all_margins_are_met_no_multiple_is_sure(share):
    """The optima for λ/2 and for λ/n are the same, so weights cannot tell which one a learner minimises."""
    problem = wb.load_problem("digits")(n=150)
    reference = wb.solve(wb.SoftMargin(lam=0.01), problem)
    weights = wb.solve(wb.SoftMargin(lam=0.01 * share), problem).theta_flat
    found = detective.explain(weights, reference)
    assert found is not None
    assert (found.name, found.confident) == ("λ half", False)


def test_it_is_sure_of_weights_only_by_which_it_would_say_that_they_agree():
    """SURE is the judge's tolerance: few weights, rounded to a digit, come within CLOSE of some optimum by chance."""
    assert verdict(1.0, [fit(1e-3)]).confident
    found = verdict(1.0, [fit(np.nextafter(1e-3, 1))])
    assert (found.name, found.confident) == ("another", False)
    assert not verdict(1.0, [fit(1e-6, name="absolute penalty")]).confident


def test_who_rests_beside_an_optimum_is_not_at_it():
    """Farther from it than REST times the way of the last half of the passes; without a history nobody rests."""
    beside = fit(1e-4)._replace(apart=0.01)
    assert verdict(1.0, [beside]).confident
    assert verdict(1.0, [beside], 0.001).confident
    found = verdict(1.0, [beside], np.nextafter(0.001, 0))
    assert (found.name, found.confident) == ("another", False)
    assert verdict(1.0, [fit(1e-4)], 1e-9).confident  # no farther than the point that was found may be
    assert not verdict(1.0, [beside], np.nextafter(1e-10, 1)).confident
    for moved in (0.0, 1e-10):  # it has stopped, perhaps short of that optimum
        assert verdict(1.0, [beside], moved).confident


def test_how_far_weights_are_from_another_optimum_at_least(monkeypatch):
    """From the point found, less √(2 (U − L)/μ) by which that may be off; relative to their length."""
    known(monkeypatch, Plain(), lower=1.0, upper=1.5, theta=(3.0, 0.0))
    at = Optimum(neighbour(), np.array([4.0, 0.0]))
    at.solve(lambda value: None, Allowance())
    at.upper = 1.2  # of another point
    assert at.apart(np.array([8.0, 0.0]), 0.25) == pytest.approx((5.0 - 2.0) / 8.0)
    assert at.apart(np.array([4.0, 0.0]), 0.25) == 0.0
    at.lower = 1.6  # by rounding
    assert at.apart(np.array([4.0, 0.0]), 0.25) == pytest.approx(0.25)
    assert at.apart(np.zeros(2), 0.25) == pytest.approx(3.0 / detective.LEAST)


@pytest.mark.parametrize(
    ("history", "moved"),
    [
        ((), np.inf),
        ([(10.0, np.array([3.0, 4.0]))], np.inf),
        ([(5.0, np.array([3.0, 3.0])), (10.0, np.array([3.0, 4.0]))], 0.2),
    ],
)
def test_the_way_of_the_last_half_is_relative_to_the_weights(history, moved, monkeypatch):
    problem = wb.Multiclass(np.eye(2, 1), np.array([0, 1]))
    reference = Reference(wb.SoftMargin(), problem, np.zeros(2), 1.0, 0.0, 1.0)
    monkeypatch.setattr(detective, "CONVENTIONS", [])
    monkeypatch.setattr(detective, "verdict", lambda given, findings, moved: moved)
    assert Detective(reference).explain(np.array([3.0, 4.0]), history, several=False) == pytest.approx(moved)


@pytest.mark.parametrize(("share", "far"), [(0.0999, False), (0.1001, True), (np.inf, False)])
def test_far_from_its_optimum_a_name_is_a_guess_and_needs_a_lead(share, far):
    """Of ‖θ′‖; where no distance is certified, nothing is far."""
    length = float(np.linalg.norm(neighbour().theta))
    assert length > 0
    sure = fit(1e-4)._replace(distance=share * length)
    assert verdict(1.0, [sure]).confident == (not far)
    for lead, told in ((1.99, not far), (2.01, True)):
        assert (verdict(1.0, [sure, fit(1e-3, lead * 1e-4, "other")]) is not None) == told


@pytest.mark.parametrize(("joint", "first"), [(1.001e-4, "single"), (0.999e-4, "joint")])
def test_a_single_change_goes_before_several_that_fit_as_well(joint, first):
    single = fit(1.2e-4 + FINE, name="single")
    several = fit(joint, name="joint", evidence={"several": 2.0})
    assert ranked([several, single])[0].neighbour.name == first
    assert ranked([single, several])[0].neighbour.name == first


def test_several_changes_leave_a_single_multiple_of_lambda_in_the_list():
    free = fit(1e-4, name="λ", evidence={"multiple": 3.3, "ratio": 3.3})
    several = fit(2e-4, name="λ, x", evidence={"several": 2.0, "multiple": 3.3, "ratio": 3.3})
    assert verdict(1.0, ranked([several, free])).name == "λ"


def test_chance_may_bring_a_multiple_beside_one_that_has_a_reason():
    """Sure up to CHANCE · e of the best multiple, and FINE, by which either e may be off."""
    most = 1.2 * 1e-4 + FINE
    free, meant = fit(1e-4, 0.0, "λ"), {"name": "λ twice", "evidence": {"multiple": 2.01, "ratio": 2.0}}
    assert verdict(1.0, [free, fit(most, 0.0, **meant)]).confident
    found = verdict(1.0, [free, fit(np.nextafter(most, 1), 0.0, **meant)])
    assert (found.name, found.confident) == ("λ twice", False)
    assert verdict(1.0, [fit(2e-5, 0.0, **meant)]).confident  # no other multiple was worth a look


@pytest.mark.parametrize(
    ("ratio", "most", "sure"),
    [
        (2.0 * 1.0099, 1e-4, True),
        (2.0 / 1.0099, 1e-4, True),
        (2.0 * 1.0102, 1e-4, False),
        (2.0 / 1.0102, 1e-4, False),
        (2.0 * 1.1, FINE, True),
        (2.0 * 1.1, 1.01 * FINE, False),
    ],
)
def test_a_multiple_with_a_reason_is_near_the_best_one_or_fits_to_rounding(ratio, most, sure):
    """Within one in a hundred, since a multiple that is drawn at random may lie beside one that has a reason."""
    meant = {"name": "λ twice", "evidence": {"multiple": ratio, "ratio": 2.0}}
    assert verdict(1.0, [fit(most, 0.0, **meant)]).confident == sure


@pytest.mark.parametrize(("ways", "sure"), [(999.0, False), (1000.0, True)])
def test_features_that_the_data_single_out_among_few_are_a_guess(ways, sure):
    meant = {"name": "no positive count", "evidence": {"ways": ways}}
    assert verdict(1.0, [fit(1e-5, 0.0, **meant)]).confident == sure


@pytest.mark.parametrize(
    ("free", "most", "least", "sure"),
    [
        (True, 1e-5, 0.999e-3, False),
        (True, 1e-5, 1e-3, True),
        (False, 1e-5, 5e-4, True),
        (True, 3.01e-7, 5e-4, False),
        (True, 2.99e-7, 5e-4, True),
    ],
)
def test_under_a_multiple_of_lambda_without_a_reason_no_other_objective_may_be_near(free, most, least, sure):
    """Weights that have hardly left 0 lie near the optima of many objectives."""
    meant = fit(most, 0.0, name="one-vs-rest, likelihood", evidence={"lam": 3.0} | ({"free": 1.0} if free else {}))
    other = fit(least, least, name="another")
    assert verdict(1.0, [meant, other]).confident == sure


def test_off_the_domain_the_objective_asked_for_is_infinitely_far(monkeypatch):
    bounds = SimpleNamespace(upper=lambda theta: 3.0, relative=lambda upper, lower: (upper - lower) / 4)
    suspect = SimpleNamespace(theta=None, reference=SimpleNamespace(bounds=bounds, upper=1.0))
    for off in ([], [None]):
        monkeypatch.setattr(detective, "projection", lambda suspect, off=off: iter(off))
        assert as_given(suspect) == 0.5
    monkeypatch.setattr(detective, "projection", lambda suspect: iter(["another"]))
    assert as_given(suspect) == np.inf
    assert issubclass(BetterByFar, Exception)


@pytest.mark.parametrize(
    ("most", "moved", "told"), [(1.01e-4, 1e-10, True), (1e-4, 1e-10, False), (1.01e-4, 2e-10, False)]
)
def test_who_rests_short_of_the_optimum_that_is_named_may_have_changed_something_else(most, moved, told):
    found = verdict(1.0, [fit(most, 1.0)], moved)
    assert found.confident
    assert ("as they rest short of that optimum, something else may be changed, too." in found.sentence) == told
    assert "something else" not in verdict(1.0, [fit(most, 0.0), fit(most, 0.0, "rival")], moved).sentence, "a guess"
