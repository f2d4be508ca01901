"""The judge: what learners may return, how they may end, what they may claim, and how seeds decide together."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench.errors import BadInput, MissingCapability, UnknownName
from workbench.judging import CHANCE, reports_of, together
from workbench.verdicts import (
    AGREES,
    DISAGREES,
    FAILED,
    NOT_COMPARABLE,
    NOT_CONVERGED,
    Report,
    Verdict,
    crosscheck,
    settling,
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
    bare: (DISAGREES, "above the proven optimum and stays"),
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


# ── what a learner claims ─────────────────────────────────────────────────────────────────────────


def dual(change=lambda mu: mu):
    certificate = reference().certificate
    return certificate.samples, certificate.witnesses, change(certificate.weights.copy())


CLAIMS = {
    "objective": ({"objective": 0.9}, "it reports the objective 0.9"),
    "lower": ({"lower": 2.0}, "it reports the lower bound 2"),
    "negative gap": ({"gap": -0.1}, "no gap is negative"),
    "dual": ({"dual": dual(lambda mu: mu[::-1])}, "dual"),
    "mass": ({"dual": dual(lambda mu: 2 * mu)}, "sum to"),
    "negative": ({"dual": dual(lambda mu: mu - mu.max())}, "none may be negative"),
    "above its dual": ({"dual": (np.arange(12), np.arange(12)[:, None] % 3, np.full(12, 1 / 12)), "lower": 0.5}, ""),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_a_false_report_is_contradicted_though_the_weights_are_right(name):
    claims, words = CLAIMS[name]
    found = crosscheck([Report(9, best(), claims)], reference())
    assert (found.verdict, found.rule in ("reported", "drift")) == (DISAGREES, True), found
    assert words.lower() in found.reason.lower()


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

each = (exact, raises, leaves, vanishes, crashes, hangs, refuses, reads)
NAMES = {fit.__name__: fit for fit in each} | {"streams": Streams()}
"""
EXPECTED = {
    "exact": (AGREES, "above the proven optimum"),
    "raises": (FAILED, "The learner crashed: ZeroDivisionError: no samples"),
    "leaves": (FAILED, "it left with exit code 3"),
    "vanishes": (FAILED, "its process ended with exit code 7"),
    "crashes": (FAILED, "its process ended with SIGSEGV"),
    "hangs": (FAILED, "did not return within 1 s"),
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
    from workbench.judging import learners_named

    for learner in learners_named([str(ends)]):
        found = wb.judge(learner, reference(), passes=6, seconds=1.0 if learner.name == "hangs" else 30.0)
        verdict, words = EXPECTED[learner.name]
        assert found.verdict == verdict, found
        assert words in found.reason
    assert "noise" not in capfd.readouterr().out


def test_an_object_in_a_file_lends_its_oracle_there(ends):
    from workbench.judging import learners_named

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
    assert (right.verdict, right.rule, wrong.rule) == (DISAGREES, "settled", "audit: subgradient")
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
    monkeypatch.setattr("workbench.judging.CHEAP", 60.0)
    found = wb.judge(cheap, reference())
    assert found.verdict == AGREES
    assert found.evidence["relations"] == 7


def cheap(problem, formulation, budget, rng):
    return wb.solve(formulation, problem, gap=1e-6).theta_flat


# ── the command ───────────────────────────────────────────────────────────────────────────────────


def test_the_command_shows_seeds_and_keeps_its_record(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from workbench.cli import cli

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
