"""Verdicts: mutants are found out, clean learners never accused, slow ones told to run longer."""

from __future__ import annotations

import json
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_digits, load_iris

from workbench.command.cli import cli
from workbench.contracts import Cuts
from workbench.formulations.self_paced import SelfPaced
from workbench.formulations.soft_margin import SoftMargin
from workbench.judging.controls import Control
from workbench.judging.reports import Report
from workbench.judging.settling import settling
from workbench.judging.verdicts import (
    AGREES,
    DISAGREES,
    FAILED,
    NOT_COMPARABLE,
    NOT_CONVERGED,
    VERDICTS,
    crosscheck,
)
from workbench.outputs.multiclass import Multiclass
from workbench.proofs.bounds import Bounds
from workbench.solvers.bcfw import BCFW
from workbench.solvers.dual_block import DualBlock
from workbench.solvers.subgradient import Subgradient
from workbench.solving.solve import solve
from workbench.solving.stochastic import run

SOLVERS = [Subgradient(), BCFW(), DualBlock()]


@cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    return X[:300] / 16, y[:300]


@cache
def reference(name: str = "digits", lam: float = 0.1, scale: float = 0.0) -> SimpleNamespace:
    """The optimum by the compact program and a convex solver, certified by our bounds."""
    cvxpy = pytest.importorskip("cvxpy")
    X, y = digits() if name == "digits" else load_iris(return_X_y=True)
    problem = Multiclass(X * 10.0 ** np.linspace(-scale, scale, X.shape[1]), y)
    formulation = SoftMargin(lam)
    program, w, atoms = formulation.compact_program(problem)
    program.solve(cvxpy.CLARABEL)
    samples, witnesses, weights = atoms()
    bounds, cuts = Bounds(formulation, problem), Cuts(problem.n_features, 1)
    cuts.add(samples, witnesses, bounds.oracle.rows)
    upper, lower = bounds.upper(w.value), bounds.lower(cuts, np.asarray(weights).ravel())
    gap = bounds.gap(upper, lower)
    return SimpleNamespace(
        upper=upper, lower=lower, gap=gap, theta_flat=w.value, formulation=formulation, problem=problem
    )


class Unaugmented(Multiclass):
    """Its argmax forgets the loss."""

    def argmax(self, w, samples, augment=True):
        return super().argmax(w, samples, augment=False)

    def kernel(self):
        kernel = super().kernel()
        return kernel._replace(data=(*kernel.data[:4], np.zeros_like(self.cost), kernel.data[5]))


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_missing_loss_augmentation_disagrees(solver, seed):
    trace = run(solver, SoftMargin(0.1), Unaugmented(*digits()), passes=50, rng=seed)
    judged = crosscheck(trace, reference())
    assert judged.verdict == DISAGREES, judged
    if judged.rule == "settled":
        assert judged.evidence["limit"] > 100 * judged.evidence["control"] / 2
    assert ("stays" if judged.rule == "settled" else "stops by itself") in judged.reason


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_wrong_loss_and_wrong_weights_disagree(solver):
    X, y = digits()
    for mutant in (
        Multiclass(X, y, 0.5 - np.eye(10) / 2),
        Multiclass(X, y, weights=np.where(np.arange(300) % 3, 1, 3)),
    ):
        assert crosscheck(run(solver, SoftMargin(0.1), mutant, passes=55), reference()).verdict == DISAGREES


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_a_clean_learner_stopped_early_has_not_converged(solver):
    judged = crosscheck(run(solver, SoftMargin(0.1), reference().problem, passes=2), reference())
    assert judged.verdict == NOT_CONVERGED
    assert "run it longer" in judged.reason


def test_bcfw_agrees_with_the_proven_optimum():
    trace = run(BCFW(), SoftMargin(0.1), reference().problem, passes=400)
    judged = crosscheck(trace, reference())
    assert judged.verdict == AGREES, judged
    assert judged.excess <= 1e-4
    assert trace.lower[-1] <= reference().upper


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("passes", [10, 55])
@pytest.mark.parametrize("scale", [0.0, 2.0])
@pytest.mark.parametrize("lam", [1e-4, 1e-2, 1.0, 100.0])
def test_clean_learners_are_never_accused(solver, passes, scale, lam):
    solution = reference("iris", lam, scale)
    for seed in range(3):
        judged = crosscheck(run(solver, SoftMargin(lam), solution.problem, passes, rng=seed), solution)
        assert judged.verdict in (AGREES, NOT_CONVERGED), judged


def test_reported_weights_that_are_not_the_duals_disagree():
    trace = run(BCFW(), SoftMargin(0.1), reference().problem, passes=5)
    trace.drift[-1] = 1e-3
    judged = crosscheck(trace, reference())
    assert judged.verdict == DISAGREES
    assert "its own dual" in judged.reason


def test_weights_without_a_history():
    best, solution = reference().theta_flat, reference()
    assert crosscheck(best, solution).verdict == AGREES
    assert crosscheck(1.1 * best, solution).verdict == NOT_CONVERGED
    assert "give [(passes, weights), …]" in crosscheck(1.1 * best, solution).reason


def test_weights_that_stay_when_the_budget_doubles_disagree():
    """Two to four answers; a longer history may be of the best weights so far, of a learner at work."""
    best, solution = reference().theta_flat, reference()
    assert crosscheck([(50, 1.2 * best), (25, 1.2 * best)], solution).verdict == DISAGREES
    assert crosscheck([(25, 1.3 * best), (50, 1.2 * best)], solution).verdict == NOT_CONVERGED
    assert crosscheck([(40, 1.2 * best), (50, 1.2 * best)], solution).verdict == NOT_CONVERGED
    answers = [(float(k), 1.2 * best) for k in (10, 20, 40, 80, 160)]
    assert crosscheck(answers[:4], solution).verdict == DISAGREES
    assert crosscheck([Report(*each) for each in answers], solution).verdict == DISAGREES
    for every in ([1, 2, 3], [1, 2, 4], [1, 3], [10, 19, 40], [2, 3, 6]):  # passes of one run
        assert crosscheck([(float(k), 1.2 * best) for k in every], solution).verdict == NOT_CONVERGED
    assert crosscheck([(float(k), 1.2 * best) for k in (2, 4, 9)], solution).verdict == DISAGREES
    judged = crosscheck(answers, solution)
    assert (judged.verdict, judged.rule) == (NOT_CONVERGED, "settled")
    assert "the same from pass 10 to pass 160; `judge` the learner" in judged.reason


def test_crashes_and_broken_weights_have_failed():
    nan = np.full(reference().problem.n_features, np.nan)
    for learned in (ZeroDivisionError("no samples"), nan, np.zeros(3)):
        judged = crosscheck(learned, reference())
        assert judged.verdict == FAILED
        assert judged.reason.endswith(".") or "no samples" in judged.reason


def test_another_objective_is_not_comparable():
    trace = run(BCFW(), SoftMargin(0.2), reference().problem, passes=2)
    assert crosscheck(trace, reference()).verdict == NOT_COMPARABLE
    trace = run(BCFW(), SoftMargin(0.1, declare="compact"), reference().problem, passes=2)
    assert crosscheck(trace, reference()).verdict == NOT_CONVERGED
    uncertified = SimpleNamespace(**vars(reference()) | {"gap": None})
    assert crosscheck(reference().theta_flat, uncertified).verdict == NOT_COMPARABLE


def test_far_above_the_published_rate_disagrees():
    trace = run(Subgradient(), SoftMargin(0.1), reference().problem, passes=5)
    trace.thetas[-1] *= 1e6
    assert crosscheck(trace, reference()).verdict == DISAGREES


@pytest.mark.parametrize(("limit", "power"), [(0.3, 1.0), (0.0, 0.3), (0.0, 1.0), (0.0, 2.0), (0.3, 0.5)])
def test_settling_tells_a_limit_from_a_slow_fall(limit, power):
    t = np.array([1, 2, 3, 5, 8, 13, 21, 34, 55.0])
    noise = 1 + 0.005 * np.random.default_rng(0).normal(size=9)
    curve = settling(t, (limit + 0.5 * t**-power) * noise, 1e-4)
    assert curve.settled == (limit > 0)
    if limit:
        assert curve.limit == pytest.approx(limit, rel=0.3)


def test_verdicts_are_the_five_of_the_design():
    assert VERDICTS == ("agrees", "not converged", "disagrees", "not comparable", "failed")


def test_every_verdict_names_its_rule():
    best, solution = reference().theta_flat, reference()
    trace = run(BCFW(), SoftMargin(0.1), solution.problem, passes=5)
    expected = {
        "optimum": best,
        "history": 1.1 * best,
        "settled": [(50, 1.2 * best), (25, 1.2001 * best)],
        "ended": [Report(50, 1.2 * best), Report(25, 1.2 * best)],
        "crash": ZeroDivisionError("no samples"),
        "weights": np.zeros(3),
        "objective": run(BCFW(), SoftMargin(0.2), solution.problem, passes=2),
    }
    assert {rule: crosscheck(learned, solution).rule for rule, learned in expected.items()} == {r: r for r in expected}
    trace.drift[-1] = 1e-3
    assert crosscheck(trace, solution).rule == "drift"


def test_capped_terms_are_judged_as_what_they_are():
    """A search's objective caps its terms: the weights of the certified optimum agree, those of the uncapped do not."""
    rng = np.random.default_rng(0)
    problem = Multiclass(rng.normal(size=(8, 2)), np.arange(8) % 2)
    solution = solve(SelfPaced(C=100.0, K=2.0), problem, gap=1e-6)
    assert crosscheck(solution.theta_flat, solution).verdict == AGREES
    everyone = solve(SoftMargin(0.01), problem, gap=1e-6).theta_flat
    assert crosscheck(everyone, solution).evidence["upper"] > solution.upper


SAID = {
    (0.02, False): (DISAGREES, "where clean runs with its budget end"),
    (2.0, True): (NOT_CONVERGED, "above it, too; run it longer"),
    (np.inf, True): (NOT_CONVERGED, "no solver of ours fits to be compared with"),
}


@pytest.mark.parametrize(("share", "excuses"), SAID, ids=str)
def test_what_is_said_of_clean_runs_is_so(share, excuses, monkeypatch):
    """They end at this share of the limit."""
    history = [Report(25, 1.5001 * reference().theta_flat), Report(50, 1.5 * reference().theta_flat)]
    away = crosscheck(history, reference()).evidence["limit"]
    monkeypatch.setattr("workbench.judging.verdicts.control", lambda *_: Control(share * away, excuses))
    judged = crosscheck(history, reference())
    verdict, words = SAID[share, excuses]
    assert judged.verdict == verdict
    assert words in judged.reason, judged.reason


def test_searches_have_no_clean_runs():
    rng = np.random.default_rng(0)
    solution = solve(SelfPaced(C=100.0, K=2.0), Multiclass(rng.normal(size=(8, 2)), np.arange(8) % 2), gap=1e-6)
    judged = crosscheck(
        [Report(25, np.full(4, 1e-3)), Report(50, np.full(4, 1.0001e-3))], solution
    )  # at rest, not the same
    assert judged.verdict == NOT_CONVERGED
    assert "no solver of ours fits" in judged.reason


def test_learners_that_the_settings_leave_out_are_named_with_the_reason():
    """Those that fit the formulation as it stands by default, and no others."""
    command = ["crosscheck", "toy", "soft-margin", "--set", "n=12", "--passes", "2"]
    plain = json.loads(CliRunner().invoke(cli, [*command, "--json"]).stdout)
    assert "left_out" not in plain
    free = json.loads(CliRunner().invoke(cli, [*command, "--set", "intercept=true", "--json"]).stdout)
    judged = {row["name"] for row in free["learners"]}
    assert judged | free["left_out"].keys() == {row["name"] for row in plain["learners"]}
    assert free["left_out"].keys() >= {"bcfw", "dual-block", "subgradient"}
    told = CliRunner().invoke(cli, [*command, "--set", "intercept=true"]).stdout
    for name, why in free["left_out"].items():
        assert why.startswith(f"{name} would penalise the intercepts, which is another objective")
        assert f"{name} is left out: {why}" in told
    asked = json.loads(CliRunner().invoke(cli, [*command, "--learners", "adagrad", "--json"]).stdout)
    assert "left_out" not in asked
