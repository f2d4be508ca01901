"""The smaller parts of a verdict, each asked directly: seeds, shares of time, claims."""

from __future__ import annotations

import time
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import workbench as wb
from workbench.judging import claims, share
from workbench.judging.reference import reference_of
from workbench.judging.reports import Report
from workbench.judging.seeds import together
from workbench.judging.words import AGREES, DISAGREES, FAILED, NOT_COMPARABLE, NOT_CONVERGED, Verdict
from workbench.system.processes import OutOfTime


@cache
def reference():
    rng = np.random.default_rng(0)
    return reference_of(wb.solve(wb.SoftMargin(), wb.Multiclass(rng.normal(size=(12, 3)), np.arange(12) % 3), gap=1e-9))


# ── seeds ─────────────────────────────────────────────────────────────────────────────────────────


def runs(*told):
    """Verdicts from (word, rule, excess)."""
    return [Verdict(word, excess, f"Run {k}.", {"k": float(k)}, rule) for k, (word, rule, excess) in enumerate(told)]


GOOD, FAR = (AGREES, "optimum", 1e-9), (NOT_CONVERGED, "history", 0.5)
CHANCE, CERTAIN = (DISAGREES, "settled", 0.3), (DISAGREES, "drift", 0.1)
BROKEN, OTHER = (FAILED, "crash", np.inf), (NOT_COMPARABLE, "objective", np.nan)


@pytest.mark.parametrize(
    ("told", "verdict", "k"),
    [
        ([CERTAIN, BROKEN], FAILED, 1),
        ([CHANCE, CERTAIN, GOOD], DISAGREES, 1),
        ([CHANCE, GOOD], NOT_CONVERGED, 0),
        ([GOOD, CHANCE, CHANCE], DISAGREES, 1),
        ([GOOD, CHANCE, CHANCE, GOOD], NOT_CONVERGED, 1),
        ([CHANCE, OTHER, GOOD], NOT_COMPARABLE, 1),
        ([CHANCE, CHANCE, OTHER], DISAGREES, 0),
        ([GOOD, (AGREES, "optimum", 1e-5), GOOD], AGREES, 1),
        ([GOOD, FAR, GOOD], NOT_CONVERGED, 1),
        ([FAR, (NOT_CONVERGED, "history", 0.7), FAR], NOT_CONVERGED, 1),
        ([(DISAGREES, "rate", 0.9), FAR, FAR], NOT_CONVERGED, 0),
        ([(DISAGREES, "ended", 0.2), FAR], NOT_CONVERGED, 1),
        ([(AGREES, "residuals", np.nan), GOOD], AGREES, 1),
        ([(AGREES, "mistakes", -1e-12), (AGREES, "mistakes", np.nan)], AGREES, 0),
    ],
)
def test_the_run_that_decides(told, verdict, k):
    found = together(runs(*told))
    assert (found.verdict, found.evidence["k"]) == (verdict, k)
    assert found.evidence["seeds"] == len(told)


def test_the_excess_of_the_worst_run_is_told_where_none_is_known():
    """A run whose excess is not known counts as one that lies below the optimum by all of its size."""
    found = together(runs((AGREES, "mistakes", np.nan), (AGREES, "mistakes", -0.5)))
    assert found.evidence["k"] == 1
    found = together(runs((AGREES, "mistakes", -1.5), (AGREES, "mistakes", np.nan)))
    assert found.evidence["k"] == 1


@pytest.mark.parametrize(
    ("told", "verdict"),
    [([CHANCE, GOOD], NOT_CONVERGED), ([CHANCE, CHANCE, GOOD], DISAGREES), ([CHANCE, GOOD, GOOD], NOT_CONVERGED)],
)
def test_improbable_runs_must_be_more_than_half(told, verdict):
    assert together(runs(*told)).verdict == verdict


def test_a_strange_run_decides_where_half_of_the_runs_are_improbable():
    assert together(runs(CHANCE, OTHER)).verdict == NOT_COMPARABLE
    assert together(runs(CHANCE, OTHER)).evidence["k"] == 1
    assert together(runs(OTHER, CHANCE, CHANCE)).evidence["k"] == 1


@pytest.mark.parametrize("only", [GOOD, FAR, CHANCE, CERTAIN, BROKEN, OTHER])
def test_one_seed_is_its_own_verdict(only):
    (one,) = runs(only)
    assert together([one]) is one


def test_the_verdict_counts_its_runs():
    found = together(runs(GOOD, FAR, GOOD))
    assert found.reason == "Run 1 (2 agrees, 1 not converged)."
    assert found.evidence == {"k": 1.0, "seeds": 3, "seeds_agrees": 2, "seeds_not_converged": 1}
    alike = together(runs(GOOD, GOOD))
    assert alike.reason == "Run 0."
    assert alike.evidence == {"k": 0.0, "seeds": 2, "seeds_agrees": 2}


# ── shares of time ────────────────────────────────────────────────────────────────────────────────

LARGE, LEAST, MOST, SEARCH = 10_000_000, 0.3, 2.0, 120.0  # written out, not imported


def test_the_judges_own_time_is_bounded_on_large_problems_only():
    assert share.allowed(1.5, 1.75, None, LARGE) == 1.25
    assert share.allowed(9.0, 9.0, None, LARGE) == MOST
    assert share.allowed(9.0, 9.0 + MOST, None, LARGE) == LEAST
    assert share.allowed(1.0, 9.0, None, LARGE, SEARCH) == SEARCH
    assert share.allowed(1.0, 2.0, None, LARGE - 1) == np.inf
    assert share.allowed(1.0, 2.0, 7.0, LARGE - 1) == 5.0
    assert share.allowed(1.0, 2.0, 1.0, LARGE - 1) == 0.0
    assert (share.SEARCH, share.LARGE, share.MOST, share.LEAST) == (SEARCH, LARGE, MOST, LEAST)


def test_an_allowance_is_spent_when_nothing_is_left():
    now = [5.0]
    allowance = share.Allowance(2.0, lambda: now[0])
    assert allowance.left == 2.0
    with allowance.held():  # a clock without an alarm
        now[0] = 6.999
        allowance.spend()
    now[0] = 7.0
    assert allowance.left == 0.0
    for spent in (allowance.spend, lambda: allowance.held().__enter__()):
        with pytest.raises(OutOfTime):
            spent()
    now[0] = 9.0
    assert allowance.left == 0.0


@pytest.mark.parametrize("clock", [time.process_time, time.perf_counter])
def test_an_allowance_without_end_sets_no_alarm(clock, monkeypatch):
    monkeypatch.setattr(share, "processor_alarm", lambda *those: pytest.fail("an alarm"))
    monkeypatch.setattr(share, "alarm", lambda *those: pytest.fail("an alarm"))
    with share.Allowance(clock=clock).held():
        pass


def test_work_in_the_middle_of_a_step_ends_when_the_seconds_are_spent():
    def long():
        with share.Allowance(0.05).held():
            while True:
                sum(range(1000))

    with pytest.raises(OutOfTime):
        long()


def test_what_did_not_fit_is_said():
    told = "Of the audits, oracle, prox were left out, since audits may take 2.5 s, no longer than the fits"
    assert share.skipping(["oracle", "prox"], 2.5) == f"{told}; --audit makes them all."


# ── claims ────────────────────────────────────────────────────────────────────────────────────────


def false(**told):
    """Of weights with F = 3 where a value of 2 is known."""
    return claims.false_claim(told, 3.0, SimpleNamespace(upper=2.0), 3.0)


def test_claims_in_words():
    assert false(objective=2.5) == "it reports the objective 2.5, its weights have 3"
    assert false(lower=2.5) == "it reports the lower bound 2.5, but weights with 2 are known"
    assert false(gap=-0.5) == "it reports the gap -0.5, and no gap is negative"
    assert false(gap=0.25) == "it reports the gap 0.25, but 1 is proven to be missing"


def test_what_claims_nothing_or_is_true():
    assert false() == false(gap=np.nan) == false(gap=np.inf) == false(lower=-np.inf) == false(lower=np.nan) == ""
    assert false(objective=3.0, lower=2.0, gap=1.0) == ""
    assert false(gap=1 / 3) == ""  # relative
    assert "objective" in false(objective=np.nan)
    assert claims.false_claim({"objective": np.inf}, np.inf, SimpleNamespace(upper=2.0), np.inf) == ""


@pytest.mark.parametrize("claim", ["objective", "lower", "gap"])
def test_the_first_false_report_of_a_history_is_told(claim):
    theta, wrong = reference().theta, {"objective": 1e9, "lower": 1e9, "gap": -1e9}[claim]
    history = [Report(1.0, theta, {}), Report(2.0, theta, {claim: wrong}), Report(3.0, theta, {claim: wrong / 2})]
    said, found = claims.contradicted(history, np.full(3, reference().value(theta)), reference())
    assert f"{wrong:.9g}" in said or f"{wrong:.3g}" in said
    assert found == {f"reported_{claim}": wrong / 2}


def test_the_size_of_a_claim_is_that_of_the_objective():
    theta = reference().theta
    value = reference().value(theta)
    for off, fault in ((0.9e-6, False), (1.1e-6, True)):
        said, _ = claims.contradicted([Report(1.0, theta, {"objective": value * (1 + off)})], [value], reference())
        assert bool(said) == fault
    far = np.full_like(theta, 50.0) * np.arange(9)
    value = reference().value(far)
    for off, fault in ((0.9e-6, False), (1.1e-6, True)):
        said, _ = claims.contradicted([Report(1.0, far, {"objective": value * (1 + off)})], [value], reference())
        assert bool(said) == fault


def dual(**changed):
    certificate = reference().certificate
    told = {"samples": certificate.samples, "outputs": certificate.witnesses, "mu": certificate.weights} | changed
    return told["samples"], told["outputs"], told["mu"]


def fault(told, theta=None):
    theta = reference().theta if theta is None else theta
    return claims.dual_fault(Report(1.0, theta, {"dual": told}), reference().bounds)


def test_sound_dual_weights_have_a_value_and_no_drift():
    said, found = fault(dual())
    assert said == ""
    assert found["dual"] == pytest.approx(reference().lower, abs=1e-9)
    assert found["drift"] < 1e-6
    _, far = fault(dual(), 2 * reference().theta)
    assert far["drift"] == pytest.approx(1.0, rel=1e-6)


def test_dual_weights_that_cannot_be():
    samples, outputs, mu = dual()
    count = len(mu)
    assert fault(dual(mu=mu[:-1]))[0] == (
        f"its dual weights have shape ({count - 1},), for samples ({count},) and outputs {outputs.shape}"
    )
    assert "its dual weights have shape" in fault(dual(outputs=outputs[:-1]))[0]
    assert fault(dual(outputs=np.hstack([outputs] * 2)))[0] == (
        f"its {count} dual weights have outputs of shape ({count}, 2)"
    )
    bad = np.where(np.arange(count) < 2, np.nan, mu)
    assert fault(dual(mu=bad))[0] == "2 of its dual weights are not finite numbers"
    for strange in (-1, 12):
        assert fault(dual(samples=np.where(np.arange(count) == 1, strange, samples)))[0] == (
            f"its dual weights are about sample {strange}, and there are 12"
        )
    assert fault(dual(outputs=outputs + 3))[0].startswith("its dual weights are about outputs that there are not (")
    assert all(found == {} for found in (fault(dual(mu=mu[:-1]))[1], fault(dual(mu=bad))[1]))


@pytest.mark.parametrize(("times", "said"), [(0.9, ""), (1.1, "sum to")])
def test_a_millionth_of_a_samples_mass_or_of_the_largest_weight(times, said):
    """By μ_i(z) of one sample raised, or of another output lowered below 0, by so many millionths."""
    samples, outputs, mu = dual()
    first = int(np.argmax(mu * (samples == 7)))
    price = 1 / 12
    for sign in (1, -1):
        changed = mu.copy()
        changed[first] += sign * times * 1e-6 * price
        found = fault(dual(mu=changed))[0]
        assert bool(found) == bool(said)
        assert "of sample 7 sum to" in found if said else True
    other = outputs[[first]]
    least = -times * 1e-6 * mu.max()
    changed = mu.copy()
    changed[first] -= least
    told = np.append(samples, 7), np.vstack([outputs, other]), np.append(changed, least)
    assert ("none may be negative" in fault(told)[0]) == (times > 1)


@pytest.mark.parametrize(("above", "said"), [(0.9e-6, False), (1.1e-6, True)])
def test_a_lower_bound_above_what_the_dual_weights_prove(above, said):
    """Equal weights on the truths prove 0; the claim is measured against the optimum's size."""
    told = np.arange(12), np.arange(12)[:, None] % 3, np.full(12, 1 / 12)
    lower = above * reference().upper
    theta = np.zeros(9)
    report = Report(1.0, theta, {"dual": told, "lower": lower})
    found, evidence = claims.contradicted([report], [reference().value(theta)], reference())
    assert ("its dual weights prove" in found) == said
    assert evidence["dual"] == pytest.approx(0.0, abs=1e-15)
