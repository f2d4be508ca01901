"""The second catalogue lends its steps: those of clean hosts are right, and a fault's hold its mistake, if it is there.

Right steps are computed from all outputs of a sample, with slopes and offsets that the catalogue does not use.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from workbench.contracts import CutForm
from workbench.errors import MissingCapability
from workbench.formulations.soft_margin import SoftMargin
from workbench.judging.audits import audit
from workbench.judging.faults.second import FAULTS, HOSTS
from workbench.judging.faults.second.adam import Loop
from workbench.judging.faults.second.contract import HINGE_CHAINS, SQUARED_RISK
from workbench.judging.faults.second.examples import example
from workbench.judging.faults.strangers import right
from workbench.judging.hooks import hooks_of
from workbench.judging.reference import reference_of
from workbench.solving.solve import solve

LENDING = {"subgradient": ("adam-loop", "l-bfgs"), "oracle": ("dual-ascent",)}
SINGLE = 2e-5  # of numbers below 100 in float32
# Faults whose mistake is in the gradient of a sample; the others are in what is drawn, clipped, added, moved or kept.
WRONG_SLOPES = {
    f"adam-{name}"
    for name in (
        *("ignored-label", "token-mean", "standardised", "negatives", "whole-numbers", "unit-rows", "dropout"),
        *("input-noise", "seventh-pass", "padding", "no-augmentation", "minus-loss", "double-loss", "longest"),
        *("smoothing", "softmax-twice", "temperature", "focal", "squared-hinge", "detached", "no-transitions"),
        *("greedy", "half-weights"),
    )
} | {f"l-bfgs-{name}" for name in ("clipped-scores", "every-tenth", "pseudo", "last-position", "huber")}

# On eleven samples the pseudo-likelihood's gradients are too near those of the likelihood for the inequality.
WRONG_STEPS = (WRONG_SLOPES - {"l-bfgs-pseudo"}) | {"dual-rare", "dual-last-label", "adam-early-mean"}
HAND_WRITTEN = [*LENDING["subgradient"], *LENDING["oracle"]]


def pairs(step):
    return [(host, case) for host in HOSTS if host.name in LENDING[step] for case in host.applies]


def words(value):
    return getattr(value, "name", None) or "-".join(filter(None, value))


@cache
def small(case):
    """Eleven weighted samples, and weights θ (d,) that are single-precision numbers."""
    problem, formulation = example(case, seed=4, n=11, weighted=True)
    dim = SoftMargin(lam=1.0).oracle(problem).dim
    return problem, formulation, np.random.default_rng(6).normal(size=dim, scale=0.3).astype(np.float32).astype(float)


def outputs(problem, i):
    """All witnesses (m, width) of sample i."""
    if problem.name != "chain":
        return np.arange(2 if problem.name == "linear" else len(problem.classes))[:, None]
    T = problem.lengths[i]
    every = list(product(range(len(problem.classes)), repeat=T))
    return np.pad(np.array(every), ((0, 0), (0, problem.lengths.max() - T)), constant_values=-1)


def cuts(problem, i, witnesses):
    """Slopes (m, d) and offsets (m,) of the hinge."""
    return SoftMargin(lam=1.0).oracle(problem).rows(np.full(len(witnesses), i), witnesses)


def term(case, theta, i):
    """h_i(θ), from all outputs."""
    problem, formulation, _ = small(case)
    if case == SQUARED_RISK:
        return (problem.X.toarray()[i] @ theta - problem.targets[i]) ** 2 / 2
    slopes, offsets = cuts(problem, i, outputs(problem, i))
    scores = slopes @ theta
    return (scores + offsets).max() if isinstance(formulation, CutForm) else np.log(np.exp(scores).sum())


@cache
def right_slopes(case, step=1e-5):
    """∇h_i(θ) for all i, (n, d), by central differences; θ is at no kink."""
    problem, _, theta = small(case)
    around = step * np.eye(len(theta))
    return np.array(
        [
            [(term(case, theta + e, i) - term(case, theta - e, i)) / (2 * step) for e in around]
            for i in range(problem.n_samples)
        ]
    )


def lent_slopes(fit, case):
    problem, formulation, theta = small(case)
    return np.array([fit.subgradient(problem, formulation, theta, i) for i in range(problem.n_samples)])


def shortfall(fit, case):
    """By how much the outputs of the lent oracle miss the maximum, (n,)."""
    problem, formulation, theta = small(case)

    def missed(i):
        slopes, offsets = cuts(problem, i, fit.oracle(problem, formulation, theta, i)[None])
        return term(case, theta, i) - (slopes @ theta + offsets).item()

    return np.array([missed(i) for i in range(problem.n_samples)])


def departures(fit, case):
    """‖θ̄_t − (1 − s_t) θ̄_{t−1} − s_t θ_t‖∞ for every t."""
    problem, formulation, theta = small(case)
    mean, found = np.zeros_like(theta), []
    for kept, w, share in fit.iterates(problem, formulation):
        found.append(np.abs(kept - (1 - share) * mean - share * w).max())
        mean = kept
    return np.array(found)


@pytest.mark.parametrize(("host", "case"), pairs("subgradient"), ids=words)
def test_a_clean_host_lends_subgradients(host, case):
    np.testing.assert_allclose(lent_slopes(host.fit, case), right_slopes(case), rtol=0, atol=SINGLE)


@pytest.mark.parametrize(("host", "case"), pairs("oracle"), ids=words)
def test_a_clean_host_lends_maxima(host, case):
    assert np.abs(shortfall(host.fit, case)).max() <= 1e-12


def test_a_lent_subgradient_holds_the_mistake_that_is_in_it():
    """On some case of the fault, and for the other faults on none."""
    wrong = {
        fault.name
        for fault in FAULTS
        if hasattr(fault.fit, "subgradient")
        and any(np.abs(lent_slopes(fault.fit, case) - right_slopes(case)).max() > SINGLE for case in fault.applies)
    }
    assert wrong == WRONG_SLOPES


def test_a_lent_oracle_holds_the_mistake_that_is_in_it():
    """But that of every seventh pass: what is lent is the search of the first one."""
    ascents = [fault for fault in FAULTS if hasattr(fault.fit, "oracle")]
    wrong = {fault.name for fault in ascents if any(shortfall(fault.fit, case).max() > 1e-6 for case in fault.applies)}
    assert wrong == {"dual-rare", "dual-last-label"}


def test_steps_are_lent_by_the_learners_that_are_written_by_hand():
    for step, hosts in LENDING.items():
        assert {host.name for host in HOSTS if hasattr(host.fit, step)} == set(hosts)
        assert {fault.host.name for fault in FAULTS if hasattr(fault.fit, step)} == set(hosts)


def test_iterates_are_lent_where_a_mean_is_returned():
    averaging = [fault for fault in FAULTS if getattr(fault.fit, "iterates", None)]
    assert [fault.name for fault in averaging] == ["adam-early-mean"]
    assert not any(getattr(host.fit, "iterates", None) for host in HOSTS)


def test_the_mean_that_ends_early_is_no_mean():
    """The first tenth of four passes of two batches is the first step."""
    fit = next(fault.fit for fault in FAULTS if fault.name == "adam-early-mean")
    found = departures(fit, HINGE_CHAINS)
    assert found[0] == 0
    assert found[1:].min() > 1e-3


def test_a_plain_mean_satisfies_its_recurrence():
    loop = Loop(keep=lambda mean, w, clock: mean + (w - mean) / (clock.step + 1))
    found = departures(loop, HINGE_CHAINS)
    assert len(found) == 8
    assert found.max() <= 1e-6


def test_the_last_iterate_is_what_the_loop_returns():
    loop = Loop(keep=lambda mean, w, clock: w)
    problem, formulation, _ = small(HINGE_CHAINS)
    *_, (kept, w, _) = loop.iterates(problem, formulation)
    assert np.array_equal(kept, w)
    assert np.array_equal(kept, loop(problem, formulation, 4, 0))


def test_steps_are_refused_where_the_learner_is():
    by_name = {host.name: host.fit for host in HOSTS}
    arguments = (*small(HINGE_CHAINS), 0)
    for lent in (by_name["l-bfgs"].subgradient, by_name["dual-ascent"].oracle):
        with pytest.raises(MissingCapability):
            lent(*arguments)


# ── what the judge makes of them ──────────────────────────────────────────────────────────────────


@cache
def proven(case):
    problem, formulation, _ = small(case)
    return reference_of(solve(formulation, problem, gap=1e-9))


def contradicted(fit, case):
    """The audits that contradict what is lent, and all that are made."""
    reference = proven(case)
    findings = audit(hooks_of(fit, reference.formulation, reference.problem), reference)
    return {each.name for each in findings if each.sentence}, {each.name for each in findings}


@pytest.mark.parametrize(("host", "case"), [*pairs("subgradient"), *pairs("oracle")], ids=words)
def test_no_audit_contradicts_a_clean_host(host, case):
    against, lent = contradicted(host.fit, case)
    assert not against
    assert lent


FAULTY = [fault for fault in FAULTS if fault.host.name in HAND_WRITTEN]


@pytest.mark.parametrize("fault", FAULTY, ids=lambda fault: fault.name)
def test_audits_contradict_faults_of_a_lent_step_and_no_others(fault):
    """On some case; and the catalogue counts it as right."""
    found = [contradicted(fault.fit, case) for case in fault.applies]
    assert any(against for against, _ in found) == (fault.name in WRONG_STEPS)
    assert all(against <= {*right(fault, lent)} for against, lent in found)
    assert not {*right(fault, set())} & {"oracle", "subgradient", "averaging"}
