"""Audits of single steps: solvers of ours pass all, and each planted fault is found by the audit it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

import workbench as wb
from workbench.contracts import Solver
from workbench.judging.audits import AUDITS, SLACK, audit, audit_reports
from workbench.judging.hooks import hooks_of
from workbench.judging.reference import reference_of
from workbench.judging.reports import Report
from workbench.registries import registry
from workbench.solvers.bcfw import BCFW
from workbench.solvers.dual_block import DualBlock
from workbench.solvers.subgradient import Subgradient

PAIRS = [
    ("multiclass", "soft-margin"),
    ("multiclass", "crf"),
    ("multiclass", "simplex-cost-learning"),
    ("multiclass", "perceptron"),
    ("chain", "soft-margin"),
    ("matching", "soft-margin"),
    ("linear", "weighted-risk"),
]


@cache
def reference(output: str = "multiclass", name: str = "soft-margin"):
    rng = np.random.default_rng(1)
    data = registry("output").get(output).tiny(rng)
    if name == "perceptron":
        data = wb.Multiclass(3 * np.repeat(np.eye(3), 4, 0) + rng.normal(size=(12, 3)), np.repeat(np.arange(3), 4))
    return reference_of(wb.solve(registry("formulation").get(name)(), data, gap=1e-8))


@pytest.mark.parametrize(("output", "name"), PAIRS)
def test_solvers_of_ours_pass(output, name):
    best, tried = reference(output, name), set()
    for solver in (each() for _, each in registry("solver").items()):
        if solver.misfit(best.formulation, best.problem) is None:
            findings = audit(hooks_of(solver, best.formulation, best.problem), best)
            assert not [each for each in findings if each.sentence], solver
            tried |= {each.name for each in findings}
    assert {"subgradient", "averaging"} & tried


class Lender:
    """Right in all it lends; subclasses are wrong in one thing."""

    def fit(self, problem, formulation, budget, rng):
        return wb.solve(formulation, problem, gap=1e-6).theta_flat

    def oracle(self, problem, formulation, theta, i):
        return formulation.oracle(problem).argmax(theta, np.array([i]))[0]

    def subgradient(self, problem, formulation, theta, i):
        slopes, _ = formulation.oracle(problem).rows(np.array([i]), self.oracle(problem, formulation, theta, i)[None])
        return slopes.toarray()[0]

    def prox(self, problem, formulation, u, metric, step):
        return formulation.regularizer(problem).prox(u, metric, step)


class Unaugmented(Lender):
    def oracle(self, problem, formulation, theta, i):
        return problem.argmax(theta, np.array([i]), augment=False)[0]


class Reversed(Lender):
    def subgradient(self, problem, formulation, theta, i):
        return -super().subgradient(problem, formulation, theta, i)


class Euclidean(Lender):
    def prox(self, problem, formulation, u, metric, step):
        return super().prox(problem, formulation, u, np.ones_like(metric), step)


class Short(Lender):
    def subgradient(self, problem, formulation, theta, i):
        return np.zeros(2)


FAULTS = {Unaugmented: "oracle", Reversed: "subgradient", Euclidean: "prox", Short: "subgradient"}


def test_a_right_lender_passes():
    best = reference()
    findings = audit(hooks_of(Lender(), best.formulation, best.problem), best)
    assert [each.name for each in findings] == ["oracle", "subgradient", "prox"]
    assert all(each.worst <= SLACK and not each.sentence for each in findings)
    assert wb.judge(Lender(), best).verdict == "agrees"


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.__name__)
def test_a_fault_is_found_though_the_weights_are_right(kind):
    """Each returns certified weights, so that nothing but the audit can tell."""
    found = wb.judge(kind(), reference())
    assert (found.verdict, found.rule) == ("disagrees", f"audit: {FAULTS[kind]}")
    assert found.evidence[FAULTS[kind]] > SLACK
    assert found.reason.endswith(".")


def test_projection_outside_of_the_domain():
    best = reference("multiclass", "simplex-cost-learning")

    class Unprojected(Lender):
        def prox(self, problem, formulation, u, metric, step):
            x = super().prox(problem, formulation, u, metric, step)
            x[-1] += 0.1
            return x

    findings = audit(hooks_of(Unprojected(), best.formulation, best.problem), best)
    assert [each.name for each in findings if each.sentence] == ["prox"]
    assert "outside of the domain" in next(each.sentence for each in findings if each.sentence)


@dataclass(frozen=True)
class HalfAveraged(Subgradient):
    """Forgets the factor of its average."""

    def report(self, state):
        return super().report(state) * (0.5 if self.average == "weighted" else 1.0)


@dataclass(frozen=True)
class Restarted(BCFW):
    """Averages the last iterate with zero."""

    def report(self, state):
        return super().report(state) / 2 if self.average == "weighted" else super().report(state)


@pytest.mark.parametrize("solver", [HalfAveraged(), Restarted()], ids=lambda each: type(each).__name__)
def test_an_average_of_nothing(solver):
    best = reference()
    findings = audit(hooks_of(solver, best.formulation, best.problem), best)
    assert "averaging" in [each.name for each in findings if each.sentence]


def halving(argmax_into, add_slope, data, order, prices, witnesses, steps, state):
    """Half-way to the argmax, whatever the line search would say."""
    for k, i in enumerate(order):
        argmax_into(data, state.w, i, witnesses[k])
        goal = np.zeros_like(state.w)
        add_slope(data, i, witnesses[k], -prices[i] / state.lam, goal)
        state.w[:] += (goal - state.blocks[i]) / 2
        state.blocks[i] += (goal - state.blocks[i]) / 2
        state.mean[:] = state.w


@dataclass(frozen=True)
class Halving(BCFW):
    sweep = staticmethod(halving)


@dataclass(frozen=True)
class Shifted(DualBlock):
    """Writes down the label after the best one, with the best one's height and a loss of 1 on top."""

    def visitor(self, kernel, prices, state, compiled):
        def argmax_into(data, theta, i, out):
            value = kernel.argmax_into(data, theta, i, out) + 1.0
            out[0] = (out[0] + 1) % 3
            return value

        return super().visitor(kernel._replace(argmax_into=argmax_into), prices, state, compiled)


@dataclass(frozen=True)
class Forgetful(DualBlock):
    """Starts from the cuts, but with the weights of nothing learned."""

    def start(self, formulation, problem, samples, witnesses, weights):
        return self.init(formulation, problem)


def staying(solver, best):
    hooks = hooks_of(solver, best.formulation, best.problem)
    [found] = [each for each in audit(hooks, best) if each.name == "fixed point"]
    return not found.sentence


@pytest.mark.parametrize("output", ["multiclass", "chain", "matching"])
def test_dual_methods_stay_where_they_are_optimal(output):
    best = reference(output)
    solvers = [each() for _, each in registry("solver").items()]
    started = [each for each in solvers if type(each).start is not Solver.start]
    assert {each.name for each in started} == {"bcfw", "dual-block"}
    assert all(staying(each, best) for each in [*started, BCFW(average="last"), DualBlock(sweeps=0)])


@pytest.mark.parametrize("solver", [Halving(), Shifted(), Forgetful()], ids=lambda each: type(each).__name__)
def test_a_fault_that_moves_away_from_the_optimum(solver):
    assert not staying(solver, reference())


@pytest.mark.parametrize("solver", [BCFW(), DualBlock()], ids=lambda each: each.name)
def test_a_started_state_is_that_of_its_dual_weights(solver):
    """θ(μ) and D(μ), written out from the features and losses of the problem."""
    best = reference("chain")
    form, problem, proof = best.formulation, best.problem, best.certificate
    theta = solver.report(solver.start(form, problem, proof.samples, proof.witnesses, proof.weights))
    slopes = problem.features(proof.samples, proof.witnesses) - problem.features(
        proof.samples, problem.truth[proof.samples]
    )
    np.testing.assert_allclose(theta, -(slopes.T @ proof.weights) / form.lam, atol=1e-12)
    if isinstance(solver, DualBlock):
        state = solver.start(form, problem, proof.samples, proof.witnesses, proof.weights)
        samples, witnesses, weights = solver.duals(state)
        assert weights @ problem.loss(samples, witnesses) == pytest.approx(
            proof.weights @ problem.loss(proof.samples, proof.witnesses)
        )
        assert weights.sum() == pytest.approx(proof.weights.sum())


def test_a_deterministic_learner_of_ours_that_is_started_stays():
    best = reference("multiclass", "crf")
    told = wb.judge("crf-lbfgs", best, passes=100)
    assert told.verdict == "agrees"
    assert told.evidence["fixed point"] <= 1e-4


class Twisted(wb.Multiclass):
    """Its kernel subtracts the wrong label's features."""

    def kernel(self, augment=True):
        kernel = super().kernel(augment)

        def add_slope(data, i, out, scale, theta):
            kernel.add_slope(data, i, out, -scale, theta)

        return kernel._replace(add_slope=add_slope)


def test_directions_that_do_not_vanish_at_the_optimum():
    best = reference()
    twisted = Twisted(best.problem.X, best.problem.labels, best.problem.cost)
    findings = audit(hooks_of(BCFW(), best.formulation, twisted), best)
    assert {each.name for each in findings if each.sentence} >= {"subgradient", "stationarity"}


def test_iterates_that_are_reported_are_averaged_again():
    rng = np.random.default_rng(0)
    steps, shares = rng.normal(size=(4, 3)), np.arange(1.0, 5)
    means = [shares[: k + 1] @ steps[: k + 1] / shares[: k + 1].sum() for k in range(4)]
    told = [{"iterate": step, "share": share} for step, share in zip(steps, shares, strict=True)]
    reports = [Report(k + 1, mean, claims) for k, (mean, claims) in enumerate(zip(means, told, strict=True))]
    [right] = audit_reports(reports)
    assert right.worst < 1e-12
    [wrong] = audit_reports([each._replace(theta=steps[k]) for k, each in enumerate(reports)])
    assert "away from the average of its iterates" in wrong.sentence
    assert audit_reports([each._replace(claims={}) for each in reports]) == []


def test_the_audits_are_named():
    assert list(AUDITS) == ["oracle", "subgradient", "stationarity", "prox", "averaging", "fixed point", "flow"]
