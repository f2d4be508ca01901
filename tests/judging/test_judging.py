"""The judge: what learners may return, how they may end, what they may claim, and how seeds decide together."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench.errors import BadInput, MissingCapability, UnknownName
from workbench.judging.reports import KEPT, reports_of
from workbench.judging.seeds import CHANCE, together
from workbench.judging.settling import GRADED, chosen, settling
from workbench.judging.verdicts import (
    AGREES,
    DISAGREES,
    FAILED,
    NOT_COMPARABLE,
    NOT_CONVERGED,
    Report,
    Verdict,
    crosscheck,
)


@cache
def reference():
    rng = np.random.default_rng(0)
    return wb.solve(wb.SoftMargin(), wb.Multiclass(rng.normal(size=(12, 3)), np.arange(12) % 3), gap=1e-9)


def best():
    return reference().theta_flat.copy()


# ── what a learner returns ────────────────────────────────────────────────────────────────────────


def weights(problem, formulation, budget, rng):
    return best()


def matrix(problem, formulation, budget, rng):
    return best().reshape(3, 3)


def reported(problem, formulation, budget, rng):
    return best(), {"objective": reference().upper, "gap": 1e-8, "lower": reference().lower}


def mapping(problem, formulation, budget, rng):
    certificate = reference().certificate
    return {"weights": best(), "dual": (certificate.samples, certificate.witnesses, certificate.weights)}


def checkpoints(problem, formulation, budget, rng):
    return [(budget // 2, 2 * best()), (budget, best())]


def generated(problem, formulation, budget, rng):
    for passes in (1, 2, budget):
        print("noise")
        yield {"passes": passes, "weights": best() * (1 + 1 / passes - 1 / budget)}


@pytest.mark.parametrize("fit", [weights, matrix, reported, mapping, checkpoints, generated])
def test_every_form_of_an_answer(fit, capsys):
    found = wb.judge(fit, reference(), passes=40, audit=False)
    assert found.verdict == AGREES, found
    assert (found.name, found.rule, found.passes) == (fit.__name__, "optimum", 40)
    assert capsys.readouterr().out == ""


def test_the_forms_are_told_apart():
    assert [each.passes for each in reports_of(iter([np.zeros(2), np.ones(2)]), 7)] == [3.5, 7]
    assert [each.passes for each in reports_of([(3, [1.0]), (9, [2.0])], 7)] == [3, 9]
    assert reports_of([0.0, 1.0], 7)[0].theta.tolist() == [0, 1]
    assert reports_of(([1.0, 2.0], {"gap": 1}), 7)[0].claims == {"gap": 1.0}
    for strange in ({"gap": 1.0}, iter([]), "abc", None, {"weights": [1.0], "gap": "small"}, [(np.nan, [1.0])]):
        with pytest.raises(BadInput):
            reports_of(strange, 7)


def reused(problem, formulation, budget, rng):
    """Yields one array again and again, as it changes."""
    theta = np.zeros(9)
    for passes in (1, 2):
        theta += 1
        yield passes, theta


def test_checkpoints_are_copies():
    assert [each.theta[0] for each in reports_of(reused(None, None, 2, 0), 2)] == [1, 2]


def test_histories_that_stand_still_or_touch_the_optimum_are_judged():
    assert not settling(np.array([5.0, 5.0]), np.array([1.0, 0.5]), 1e-4).settled
    touched = settling(np.arange(1.0, 8.0), np.array([1.0, 0.5, 0.0, 0.25, 0.2, 0.15, 0.1]), 1e-4)
    assert not touched.settled
    assert np.isfinite(touched.misfit)


def bare(problem, formulation, budget, rng):
    yield np.ones(9)


def huge(problem, formulation, budget, rng):
    return np.full(9, 1e300)


def diverged(problem, formulation, budget, rng):
    return [(1, np.full(9, 1e300)), (budget, best())]


def unreal(problem, formulation, budget, rng):
    return best() * (1 + 1j)


def falling(problem, formulation, budget, rng):
    return [(5, best()), (3, best())]


def wordy(problem, formulation, budget, rng):
    raise ValueError("one line,\nand another")


ANSWERS = {
    bare: (
        DISAGREES,
        "stops by itself there: its weights are the same from pass 1 to pass 8",
    ),
    huge: (FAILED, "The weights reach 1.0e+300, too large"),
    diverged: (AGREES, "above the proven optimum"),
    unreal: (FAILED, "The learner returned complex weights; return real ones."),
    falling: (FAILED, "The learner's passes go from 5 to 3; count them upwards."),
    wordy: (FAILED, "The learner crashed: ValueError: one line, and another"),
}


@pytest.mark.parametrize("fit", ANSWERS)
def test_a_strange_answer_is_a_verdict_in_our_words(fit):
    found = wb.judge(fit, reference(), passes=8, audit=False)
    verdict, words = ANSWERS[fit]
    assert found.verdict == verdict, found
    assert words in found.reason
    assert "crashed" not in found.reason or fit is wordy


def spoils(problem, formulation, budget, rng):
    problem.X.data[:] *= 2
    problem.labels[:] = 0
    return best()


def test_data_that_are_changed_in_place_are_copies_and_a_remark():
    found = wb.judge(spoils, reference(), passes=8, seeds=range(2), audit=False)
    assert found.verdict == AGREES
    assert found.remarks == ["It changes the data it is given (data, labels); each fit had a copy."]
    assert found.reason.endswith(found.remarks[0])
    assert reference().problem.labels.max() == 2


def numbered(problem, formulation, budget, rng):
    """No end, but passes that count."""
    passes = 0
    while True:
        passes += 1
        yield passes, best()


def standing(problem, formulation, budget, rng):
    """No end, and always the first pass."""
    while True:
        yield 1, best()


def untold(problem, formulation, budget, rng):
    while True:
        yield best()


def test_what_yields_without_end_is_judged_by_its_budget(monkeypatch):
    monkeypatch.setattr("workbench.judging.reports.ENDLESS", 50)
    found = wb.judge(numbered, reference(), passes=8, audit=False)
    assert (found.verdict, found.evidence["passes"], found.remarks) == (AGREES, 9, [])
    found = wb.judge(standing, reference(), passes=8, audit=False)
    assert found.verdict == AGREES
    assert "50 checkpoints, at pass 1 of 8" in found.remarks[0]
    found = wb.judge(untold, reference(), passes=8, audit=False)
    assert (found.verdict, "tell those" in found.reason) == (FAILED, True)


def test_of_many_checkpoints_some_are_kept_and_few_graded():
    many = reports_of(((k / 100, [float(k)]) for k in range(5001)), 50)
    assert KEPT / 2 <= len(many) <= 2 * KEPT
    assert many[-1].theta[0] == 5000
    assert len(reports_of(({"weights": [1.0], "iterate": [1.0]} for _ in range(3000)), 50)) == 3000
    assert np.all(np.diff([each.passes for each in many]) > 0)
    few = chosen([Report(float(k), np.zeros(1)) for k in range(1, 20001)])
    assert GRADED / 2 <= len(few) <= GRADED
    assert (few[0].passes, few[-1].passes) == (1, 20000)
    assert sum(each.passes >= 20000 / 16 for each in few) > GRADED / 3


# ── what a learner claims ─────────────────────────────────────────────────────────────────────────


def dual(change=lambda mu: mu):
    certificate = reference().certificate
    return certificate.samples, certificate.witnesses, change(certificate.weights.copy())


CLAIMS = {
    "objective": (lambda: {"objective": 0.9}, "it reports the objective 0.9"),
    "lower": (lambda: {"lower": 2.0}, "it reports the lower bound 2"),
    "negative gap": (lambda: {"gap": -0.1}, "no gap is negative"),
    "dual": (lambda: {"dual": dual(lambda mu: mu[::-1])}, "dual"),
    "no number": (lambda: {"objective": float("nan")}, "it reports the objective nan, its weights have"),
    "above everything": (lambda: {"lower": float("inf")}, "it reports the lower bound inf"),
    "mass": (lambda: {"dual": dual(lambda mu: 2 * mu)}, "sum to"),
    "NaN": (lambda: {"dual": dual(lambda mu: mu * np.nan)}, "are not finite numbers"),
    "lengths": (lambda: {"dual": (*dual()[:2], np.ones((3, 3)))}, "its dual weights have shape (3, 3)"),
    "strange outputs": (lambda: {"dual": (dual()[0], dual()[1] + 99, dual()[2])}, "outputs that there are not"),
    "negative": (lambda: {"dual": dual(lambda mu: mu - mu.max())}, "none may be negative"),
    "above its dual": (
        lambda: {"dual": (np.arange(12), np.arange(12)[:, None] % 3, np.full(12, 1 / 12)), "lower": 0.5},
        "",
    ),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_a_false_report_is_contradicted_though_the_weights_are_right(name):
    claims, words = CLAIMS[name]
    found = crosscheck([Report(9, best(), claims())], reference())
    assert (found.verdict, found.rule in ("reported", "drift")) == (DISAGREES, True), found
    assert words.lower() in found.reason.lower()


REMARKS = {
    "misspelt": ({"objektive": 0.9}, "Its report says 'objektive', which nobody reads; did you mean 'objective'?"),
    "unknown": ({"colour": 3}, "Its report says 'colour', which nobody reads; known: weights, passes,"),
    "open": ({"gap": float("inf")}, "The gap it reports is inf, which claims nothing; leave it out."),
    "nothing": ({"lower": float("nan")}, "The lower it reports is nan, which claims nothing; leave it out."),
}


@pytest.mark.parametrize("name", REMARKS)
def test_what_a_report_says_for_nothing_is_a_remark(name):
    claims, words = REMARKS[name]
    found = wb.judge(lambda problem, formulation, budget, rng: (best(), claims), reference(), audit=False)
    assert (found.verdict, found.remarks[0].startswith(words)) == (AGREES, True), found.remarks


def test_dual_weights_that_are_none_did_not_crash():
    for told in ("yes", ["a", "b", "c"], [[1.0], [1.0, 2.0]]):
        found = wb.judge(lambda problem, formulation, budget, rng, told=told: (best(), {"dual": told}), reference())
        assert (found.verdict, found.rule, "crashed" in found.reason) == (FAILED, "weights", False)


def test_a_gap_that_is_less_than_what_is_missing():
    far = 3 * best()
    missing = crosscheck(far, reference()).evidence["upper"] - reference().upper
    assert crosscheck([Report(9, far, {"gap": 1.01 * missing})], reference()).verdict == NOT_CONVERGED
    found = crosscheck([Report(9, far, {"gap": missing / 2})], reference())
    assert (found.verdict, found.rule) == (DISAGREES, "reported")
    assert found.evidence["reported_gap"] == pytest.approx(missing / 2)


def test_true_reports_pass_and_leave_their_numbers():
    found = crosscheck([Report(9, best(), {"objective": reference().upper, "dual": dual()})], reference())
    assert found.verdict == AGREES
    assert found.evidence["drift"] < 1e-4
    assert found.evidence["dual"] == pytest.approx(reference().lower, abs=1e-9)


def test_weights_of_another_dual_drift():
    found = crosscheck([Report(9, 1.001 * best(), {"dual": dual()})], reference())
    assert (found.verdict, found.rule) == (DISAGREES, "drift")


def test_dual_weights_as_a_table_of_all_outputs():
    certificate, table = reference().certificate, np.zeros((12, 3))
    table[certificate.samples, certificate.witnesses[:, 0]] = certificate.weights
    assert crosscheck([Report(9, best(), {"dual": table})], reference()).verdict == AGREES
    assert crosscheck([Report(9, best(), {"dual": table[:, ::-1].copy()})], reference()).verdict == DISAGREES


def test_weights_outside_of_the_domain():
    rng = np.random.default_rng(0)
    data = wb.Multiclass(rng.normal(size=(9, 2)), np.arange(9) % 3)
    solution = wb.solve(wb.SimplexCostLearning(), data, gap=1e-7)
    theta = solution.theta_flat.copy()
    theta[-3:] *= 1.5
    found = crosscheck(theta, solution)
    assert (found.verdict, found.rule) == (DISAGREES, "feasibility")
    assert found.evidence["outside"] > 0.01


def test_hard_margins_tell_by_how_much_they_are_missed():
    X, y = 3 * np.repeat(np.eye(3), 3, 0) + np.random.default_rng(0).normal(size=(9, 3)) / 5, np.repeat(np.arange(3), 3)
    solution = wb.solve(wb.HardMargin(), wb.Multiclass(X, y), gap=1e-7)
    found = crosscheck(np.zeros(9), solution)
    assert found.verdict == NOT_CONVERGED
    assert found.evidence["violation"] == pytest.approx(1.0)
    assert "a constraint is missed by 1.0e+00" in found.reason


# ── how it ends ───────────────────────────────────────────────────────────────────────────────────

ENDS = """
import os, time
import numpy as np
import workbench as wb

def exact(problem, formulation, budget, rng):
    print("noise on stdout")
    os.write(1, b"and from below")
    return wb.solve(formulation, problem, gap=1e-7).theta_flat

def raises(problem, formulation, budget, rng):
    raise ZeroDivisionError("no samples")

def leaves(problem, formulation, budget, rng):
    raise SystemExit(3)

def vanishes(problem, formulation, budget, rng):
    os._exit(7)

def crashes(problem, formulation, budget, rng):
    os.kill(os.getpid(), 11)

def hangs(problem, formulation, budget, rng):
    time.sleep(60)

def late(problem, formulation, budget, rng):
    time.sleep(1.3)
    return wb.solve(formulation, problem, gap=1e-7).theta_flat

def endless(problem, formulation, budget, rng):
    theta = wb.solve(formulation, problem, gap=1e-7).theta_flat
    while True:
        time.sleep(0.02)
        yield 1, theta

def refuses(problem, formulation, budget, rng):
    raise wb.MissingCapability("refuses takes nothing at all.")

def reads(problem, formulation, budget, rng):
    return input()

class Streams:
    def fit(self, problem, formulation, budget, rng):
        theta = wb.solve(formulation, problem, gap=1e-7).theta_flat
        for passes in (budget // 2, budget):
            yield {"passes": passes, "weights": theta, "iterate": theta, "share": 2.0, "gap": 1e-3}

    def oracle(self, problem, formulation, theta, i):
        return formulation.oracle(problem).argmax(theta, np.array([i]))[0]

each = (exact, raises, leaves, vanishes, crashes, hangs, late, endless, refuses, reads)
NAMES = {fit.__name__: fit for fit in each} | {"streams": Streams()}
"""
EXPECTED = {
    "exact": (AGREES, "above the proven optimum"),
    "raises": (FAILED, "The learner crashed: ZeroDivisionError: no samples"),
    "leaves": (FAILED, "it left with exit code 3"),
    "vanishes": (FAILED, "its process ended with exit code 7, so run the `fit` of ends.py by itself"),
    "crashes": (FAILED, "its process ended with SIGSEGV, so run the `fit` of ends.py by itself to see where"),
    "hangs": (FAILED, "did not return within 1 s"),
    "late": (FAILED, "did not return within 1 s"),
    "endless": (AGREES, "checkpoints, at pass 1 of 6"),
    "refuses": (NOT_COMPARABLE, "refuses takes nothing at all."),
    "reads": (FAILED, "EOFError"),
    "streams": (AGREES, "above the proven optimum"),
}


@pytest.fixture
def ends(tmp_path):
    path = tmp_path / "ends.py"
    path.write_text(ENDS)
    return path


def test_however_a_users_learner_ends_it_is_a_verdict(ends, capfd):
    from workbench.judging.learners import learners_named

    for learner in learners_named([str(ends)]):
        limit = {"hangs": 1.0, "late": 1.0, "endless": 3.0}.get(learner.name, 30.0)
        found = wb.judge(learner, reference(), passes=6, seconds=limit, audit=False)
        verdict, words = EXPECTED[learner.name]
        assert found.verdict == verdict, found
        assert words in found.reason
    assert "noise" not in capfd.readouterr().out


def test_an_object_in_a_file_lends_its_oracle_there(ends):
    from workbench.judging.learners import learners_named

    streams = next(each for each in learners_named([str(ends)]) if each.name == "streams")
    found = wb.judge(streams, reference(), passes=8)
    assert found.verdict == AGREES
    assert {"oracle", "averaging", "reported_gap"} <= set(found.evidence)


def test_a_limit_needs_a_learner_that_can_be_found_again():
    with pytest.raises(MissingCapability, match="put it into a file"):
        wb.judge(lambda problem, formulation, budget, rng: best(), reference(), seconds=5)
    with pytest.raises(UnknownName):
        wb.judge("bcwf", reference())
    with pytest.raises(BadInput, match="is no learner"):
        wb.judge(7, reference())


def test_ours_stop_at_the_first_checkpoint_after_the_limit():
    found = wb.judge("subgradient", reference(), passes=2000, seconds=1e-9)
    assert found.verdict == NOT_CONVERGED
    assert found.evidence["passes"] == 1


# ── started at the optimum ────────────────────────────────────────────────────────────────────────


def stays(problem, formulation, budget, rng, start=None):
    return best() if start is None else start["weights"]


def moves(problem, formulation, budget, rng, start=None):
    return best() if start is None else 0.9 * start["weights"]


def test_what_takes_a_start_stays_there():
    found = wb.judge(stays, reference(), audit=False)
    assert found.verdict == AGREES
    assert found.evidence["fixed point"] < 1e-4
    found = wb.judge(moves, reference(), audit=False)
    assert (found.verdict, found.rule) == (DISAGREES, "audit: fixed point")
    assert "Started at the proven optimum it moves away" in found.reason


# ── what is wrong with it ─────────────────────────────────────────────────────────────────────────


class Doubled:
    """Takes λ to be twice as large, and lends a subgradient that is right."""

    def fit(self, problem, formulation, budget, rng):
        return wb.solve(wb.SoftMargin(2 * formulation.lam), problem, gap=1e-8).theta_flat

    def subgradient(self, problem, formulation, theta, i):
        oracle = formulation.oracle(problem)
        return oracle.rows(np.array([i]), oracle.argmax(theta, np.array([i])))[0].toarray()[0]


class Reversed(Doubled):
    def subgradient(self, problem, formulation, theta, i):
        return -super().subgradient(problem, formulation, theta, i)


def test_who_settles_elsewhere_is_told_why():
    """By the convention, and by the step that is wrong: the one does not hide the other."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 4))
    noisy = wb.solve(wb.SoftMargin(0.1), wb.Multiclass(X, (X[:, :3] + rng.gumbel(size=(60, 3))).argmax(axis=1)))
    right, wrong = wb.judge(Doubled(), noisy, passes=200), wb.judge(Reversed(), noisy, passes=200)
    assert (right.verdict, right.rule, wrong.rule) == (DISAGREES, "ended", "audit: subgradient")
    assert [(each.kind, each.name) for each in right.causes] == [("convention", "λ twice")]
    assert [each.name for each in wrong.causes] == ["subgradient", "λ twice"]
    assert all(each.sentence in wrong.reason for each in wrong.causes)
    assert "λ twice as large" in wrong.reason


def test_costs_off_their_domain_are_explained():
    rng = np.random.default_rng(0)
    form = wb.SimplexCostLearning(lam2=2.0)
    proven = wb.solve(form, wb.Multiclass(rng.normal(size=(12, 3)), np.arange(12) % 3), gap=1e-6)

    def unprojected(problem, formulation, budget, rng):
        theta = proven.theta_flat.copy()
        theta[-proven.theta["v"].size :] *= 1.5
        return theta

    told = wb.judge(unprojected, proven)
    assert (told.verdict, told.rule) == (DISAGREES, "feasibility")
    assert [each.name for each in told.causes] == ["no projection"]


def test_who_agrees_has_no_causes():
    assert wb.judge(weights, reference()).causes == []


# ── several seeds ─────────────────────────────────────────────────────────────────────────────────


def verdict(name, rule="", excess=0.0):
    return Verdict(name, excess, f"It {name}.", {"e": excess}, rule)


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([verdict(AGREES)] * 3, AGREES),
        ([verdict(AGREES)] * 2 + [verdict(NOT_CONVERGED)], NOT_CONVERGED),
        ([verdict(AGREES)] * 2 + [verdict(DISAGREES, "settled")], NOT_CONVERGED),
        ([verdict(AGREES)] + [verdict(DISAGREES, "settled")] * 2, DISAGREES),
        ([verdict(DISAGREES, "rate"), verdict(AGREES)], NOT_CONVERGED),
        ([verdict(AGREES)] * 2 + [verdict(DISAGREES, "drift")], DISAGREES),
        ([verdict(DISAGREES, "drift")] * 2 + [verdict(FAILED)], FAILED),
        ([verdict(NOT_COMPARABLE)] * 3, NOT_COMPARABLE),
        ([verdict(DISAGREES, "rate")], DISAGREES),
    ],
)
def test_the_decision_rule(runs, expected):
    found = together(runs)
    assert found.verdict == expected
    if len(runs) > 1:
        assert found.evidence["seeds"] == len(runs)


def test_the_stated_error_rate():
    """Σ_{k>S/2} C(S, k) ε^k (1−ε)^{S−k} at ε = 1 %, by simulation of the rule itself."""
    from math import comb

    rates = {s: sum(comb(s, k) * 0.01**k * 0.99 ** (s - k) for k in range(s // 2 + 1, s + 1)) for s in (1, 3, 5)}
    assert rates[1] == pytest.approx(0.01)
    assert rates[3] < 3e-4
    assert rates[5] < 1e-5
    rng, accused = np.random.default_rng(0), 0
    for _ in range(2000):
        bad = rng.random(3) < 0.1
        accused += (
            together([verdict(DISAGREES, CHANCE[0]) if each else verdict(AGREES) for each in bad]).verdict == DISAGREES
        )
    assert accused / 2000 == pytest.approx(3 * 0.01 * 0.9 + 0.001, abs=0.012)


def test_seeds_are_runs_of_their_own():
    found = wb.judge("bcfw", reference(), passes=4, seeds=range(3))
    assert [each.seed for each in found.runs] == [0, 1, 2]
    assert len({each.excess for each in found.runs}) == 3
    assert found.excess == max(each.excess for each in found.runs)
    with pytest.raises(BadInput):
        wb.judge("bcfw", reference(), seeds=[])


def test_a_cheap_deterministic_learner_is_judged_on_relations(monkeypatch):
    monkeypatch.setattr("workbench.judging.kin.CHEAP", 60.0)
    found = wb.judge(cheap, reference())
    assert found.verdict == AGREES
    assert found.evidence["relations"] == 7


def cheap(problem, formulation, budget, rng):
    return wb.solve(formulation, problem, gap=1e-6).theta_flat


def test_relations_that_are_left_out_are_a_remark(monkeypatch):
    monkeypatch.setattr("workbench.judging.kin.CHEAP", 0.0)
    found = wb.judge(cheap, reference())
    assert "relations" not in found.evidence
    assert found.remarks[0].startswith("It was not judged on related problems, since a fit takes")
    assert wb.judge("bcfw", reference(), passes=300, tolerance=0.01).remarks == []


def shaking(problem, formulation, budget, rng):
    """λ written down as a number, and an answer that is never the same."""
    theta = wb.solve(wb.SoftMargin(reference().formulation.lam), problem, gap=1e-7).theta_flat
    return theta * (1 + 1e-9 * np.random.default_rng(rng).normal())


def test_seeds_that_differ_hide_nothing_from_relations(monkeypatch):
    monkeypatch.setattr("workbench.judging.kin.CHEAP", 60.0)
    found = wb.judge(shaking, reference(), passes=64)
    assert (found.verdict, found.rule) == (DISAGREES, "relation: features")


def with_costs(change, refuse=None):
    """A learner that takes `change(costs)` for the costs; `refuse` raises where they are not 0/1."""

    def fit(problem, formulation, budget, rng):
        if refuse and not np.array_equal(problem.cost, 1 - np.eye(3)):
            raise refuse("It is made for 0/1 losses.")
        other = wb.Multiclass(problem.X, problem.labels, change(problem.cost), problem.weights)
        return wb.solve(formulation, other, gap=1e-6).theta_flat

    return fit


@cache
def proven(cost=None):
    """λ so small that not all margins are missed, so that the size of the losses matters."""
    X = np.random.default_rng(0).normal(size=(12, 3))
    labels = np.append(np.arange(3), X[3:].argmax(axis=1))
    return wb.solve(wb.SoftMargin(0.3), wb.Multiclass(X, labels, cost and np.array(cost)), gap=1e-9)


def test_losses_that_the_problem_has_not_accuse_nobody_who_does_not_read_them():
    blind = wb.judge(with_costs(np.sign), proven(), passes=512, audit=True)
    assert (blind.verdict, blind.evidence["relations"]) == (AGREES, 6)
    (told,) = blind.remarks
    assert "losses other than 0/1 (relation loss)" in told
    assert "ignored them" in told
    assert "MissingCapability" in told
    fragile = wb.judge(with_costs(np.sign, ValueError), proven(), passes=512, audit=True)
    assert (fragile.verdict, "the learner failed there;" in fragile.remarks[0]) == (AGREES, True)
    declared = wb.judge(with_costs(np.sign, MissingCapability), proven(), passes=512, audit=True)
    assert (declared.verdict, declared.remarks) == (AGREES, [])


def test_losses_that_are_read_wrongly_accuse():
    """Where the problem has 0/1 losses, who squares others; where it has others, who sees only their ratios."""
    squares = wb.judge(with_costs(np.square), proven(), passes=512, audit=True)
    assert (squares.verdict, squares.rule) == (DISAGREES, "relation: loss")
    uneven = proven(((0, 1, 0.5), (0.7, 0, 1), (0.6, 1, 0)))
    ratios = wb.judge(with_costs(lambda cost: cost / cost.max()), uneven, passes=512, audit=True)
    assert (ratios.verdict, ratios.rule) == (DISAGREES, "relation: loss")
    assert wb.judge(cheap, uneven, passes=512, audit=True).evidence["relations"] == 7


# ── the command ───────────────────────────────────────────────────────────────────────────────────


def test_the_command_shows_seeds_and_keeps_its_record(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from workbench.command.cli import cli

    monkeypatch.chdir(tmp_path)
    words = "crosscheck toy soft-margin --learners bcfw,perceptron --passes 300 --tolerance 0.01 --seeds 3 --out kept"
    result = CliRunner().invoke(cli, words.split())
    assert result.exit_code == 3  # the perceptron minimises something else
    assert "3 of 3" in result.stdout
    record = json.loads(Path("kept/crosscheck.json").read_text())
    rows = {row["name"]: row for row in record["learners"]}
    assert [rows[name]["verdict"] for name in ("bcfw", "perceptron")] == [AGREES, NOT_COMPARABLE]
    assert [run["seed"] for run in rows["bcfw"]["runs"]] == [0, 1, 2]
    assert wb.verify(record["reference"]["certificate"])["proven"]


@pytest.mark.parametrize("out", [True, False])
def test_an_interruption_keeps_what_is_judged(out, tmp_path, monkeypatch):
    from click.testing import CliRunner

    from workbench.command.cli import cli
    from workbench.judging import judge as judging

    judge = judging.judge

    def interrupted(learner, *arguments, **options):
        if learner.name == "subgradient":
            raise KeyboardInterrupt
        return judge(learner, *arguments, **options)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(judging, "judge", interrupted)
    words = f"crosscheck toy soft-margin --learners bcfw,subgradient,dual-block --passes 5 --json {'--out kept' * out}"
    result = CliRunner().invoke(cli, words.split())
    assert result.exit_code == 130
    again = "; `cutbench resume kept` continues" if out else ""
    assert result.stderr == f"cutbench: interrupted; 1 of 3 learners were judged{again}.\n"
    record = json.loads(result.stdout)
    assert record["interrupted"]
    assert [row["name"] for row in record["learners"]] == ["bcfw"]
    if out:
        assert json.loads(Path("kept/crosscheck.json").read_text())["learners"] == record["learners"]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"passes": 0}, "passes is 0"),
        ({"passes": 2.5}, "passes is 2.5"),
        ({"passes": None}, "passes is None"),
        ({"seeds": "a"}, "seed is 'a'"),
        ({"seeds": [-1]}, "seed is -1"),
        ({"seeds": ()}, "seeds is empty"),
        ({"tolerance": -1.0}, "tolerance is -1.0"),
        ({"tolerance": float("nan")}, "tolerance is nan"),
        ({"seconds": 0}, "seconds is 0"),
        ({"patience": -1.0}, "patience is -1.0"),
    ],
)
def test_settings_that_are_none_are_refused_before_a_learner_runs(settings, told):
    with pytest.raises(BadInput, match=told):
        wb.judge(lambda *asked: pytest.fail("it ran"), reference(), **settings)


def test_an_assertion_without_words_is_named():
    def fit(problem, formulation, budget, rng):
        raise AssertionError

    found = wb.judge(fit, reference(), passes=4, audit=False)
    assert found.reason.startswith("The learner crashed: AssertionError, test_judging.py line ")


def test_a_fit_of_another_signature_is_told_the_wanted_one():
    found = wb.judge(lambda X, y: None, reference(), passes=4, audit=False)
    assert found.reason.rstrip(".").endswith("were given, define fit(problem, formulation, budget, rng)")

    def fit(problem, formulation, budget, rng):
        return sorted(1, 2, 3)

    assert "define fit" not in wb.judge(fit, reference(), passes=4, audit=False).reason
