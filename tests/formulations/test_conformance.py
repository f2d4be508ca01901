"""Every output structure × every formulation in the folders, against the fully written program.

A new file in workbench/outputs or workbench/formulations is picked up here without a line of test.
"""

from __future__ import annotations

import itertools

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.backends import solve_cvxpy
from workbench.contracts import (
    Clipped,
    Compact,
    CutForm,
    Enumerable,
    Kernelled,
    Majorized,
    Problem,
    RunnerUp,
    SlackArgmax,
)
from workbench.errors import BackendFailed
from workbench.objectives.regularizers import norm_of
from workbench.proofs.bounds import Bounds
from workbench.proofs.certificate import load
from workbench.proofs.checker import Formulation, Structure
from workbench.proofs.verify import verify
from workbench.registries import misfit, registry, settings_of
from workbench.solving.masters.declared import written

OUTPUTS = dict(registry("output").items())
FORMULATIONS = dict(registry("formulation").items())
FITTING = [  # the others are pinned, with their reasons, in tests/test_registry.py
    (output, name)
    for output, name in itertools.product(OUTPUTS, FORMULATIONS)
    if misfit(FORMULATIONS[name](), OUTPUTS[output].tiny(np.random.default_rng(0))) is None
]
PAIRS = [pair for pair in FITTING if isinstance(FORMULATIONS[pair[1]](), CutForm)]
seeds = st.integers(0, 2**32 - 1)


def tiny(name, seed):
    rng = np.random.default_rng(seed)
    return OUTPUTS[name].tiny(rng), rng


def drawn(problem, rng, whole=False):
    """Weights that the problem admits, whole ones to make ties likely."""
    w = rng.integers(-2, 3, problem.n_features).astype(float) if whole else rng.normal(size=problem.n_features)
    return norm_of(problem, 1.0).feasible(w)


@pytest.mark.parametrize("output", OUTPUTS)
def test_outputs_follow_the_protocol(output):
    problem, _ = tiny(output, 0)
    assert isinstance(problem, Problem)
    assert isinstance(problem, Enumerable)
    everyone = np.arange(problem.n_samples)
    assert problem.truth.shape == (problem.n_samples, problem.width)
    assert problem.truth.dtype == np.int64
    assert (problem.loss(everyone, problem.truth) == 0).all()
    assert problem.features(everyone, problem.truth).shape == (problem.n_samples, problem.n_features)
    assert isinstance(problem.describe(0, problem.truth[0]), str)


@pytest.mark.parametrize("output", OUTPUTS)
@given(seed=seeds)
def test_oracles_equal_enumeration_by_score(output, seed):
    problem, rng = tiny(output, seed)
    w = drawn(problem, rng, whole=bool(seed % 2))
    everyone = np.arange(problem.n_samples)
    found = {
        "plain": problem.argmax(w, everyone, augment=False),
        "augmented": problem.argmax(w, everyone, augment=True),
        "slack": problem.slack_argmax(w, everyone) if isinstance(problem, SlackArgmax) else None,
        "other": problem.runner_up(w, everyone) if isinstance(problem, RunnerUp) else None,
    }
    for i in everyone:
        outputs = problem.outputs(i)
        batch = np.full(len(outputs), i)
        scores, loss = problem.features(batch, outputs) @ w, problem.loss(batch, outputs)
        true = (problem.features(np.array([i]), problem.truth[[i]]) @ w)[0]
        others = np.where((outputs != problem.truth[i]).any(axis=1), scores, -np.inf)
        searched = others if isinstance(problem, Clipped) and problem.outside[i] else scores
        values = {"plain": searched, "augmented": scores + loss, "slack": loss * (1 + scores - true), "other": others}
        for kind, best in found.items():
            if best is not None:
                at = np.flatnonzero((outputs == best[i]).all(axis=1))
                assert len(at) == 1, f"{kind} oracle returned an output that the enumeration lacks"
                assert values[kind][at[0]] == pytest.approx(values[kind].max(), abs=1e-9)


def rounded(a, b):
    """The rounding errors of a − b, by which it differs from the true difference (Knuth's TwoSum)."""
    found = a - b
    part = found - a
    return (a - (found - part)) - (b + part)


@pytest.mark.parametrize("output", OUTPUTS)
@given(seed=seeds)
def test_declared_sizes_hold(output, seed):
    """magnitude, max_loss, least_loss, free_outputs, terms and exact_features are what the bounds rely on."""
    problem, _ = tiny(output, seed)
    positive, free = [], False
    for i in range(problem.n_samples):
        outputs = problem.outputs(i)
        batch = np.full(len(outputs), i)
        loss = problem.loss(batch, outputs)
        rows = problem.features(batch, outputs).toarray()
        assert abs(rows).sum(axis=1).max() <= problem.magnitude[i] * (1 + 1e-12)
        assert (rows != 0).sum(axis=1).max() <= problem.terms
        assert not problem.exact_features or not rounded(rows, rows[:1]).any()
        assert loss.max() <= problem.max_loss[i] * (1 + 1e-12)
        positive += loss[loss > 0].tolist()
        free |= bool((loss[(outputs != problem.truth[i]).any(axis=1)] == 0).any())
    assert problem.least_loss <= min(positive) * (1 + 1e-12)
    assert problem.free_outputs or not free


@pytest.mark.parametrize("output", OUTPUTS)
@given(seed=seeds)
def test_kernels_are_the_oracle(output, seed):
    problem, rng = tiny(output, seed)
    if not isinstance(problem, Kernelled):
        pytest.fail(f"{output} brings no kernel: say so here if that is meant")
    w, kernel = drawn(problem, rng), problem.kernel()
    oracle = FORMULATIONS["soft-margin"]().oracle(problem)
    for i in range(problem.n_samples):
        out = np.empty(problem.width, np.int64)
        value = kernel.argmax_into(kernel.data, w, i, out)
        slopes, offsets = oracle.rows(np.array([i]), out[None, :])
        best, best_offset = oracle.rows(np.array([i]), oracle.argmax(w, np.array([i])))
        assert value == pytest.approx((slopes @ w + offsets)[0], abs=1e-9)
        assert value == pytest.approx((best @ w + best_offset)[0], abs=1e-9)
        moved = w.copy()
        kernel.add_slope(kernel.data, i, out, 0.5, moved)
        np.testing.assert_allclose(moved, w + 0.5 * slopes.toarray()[0], atol=1e-12)


@pytest.mark.parametrize("output", OUTPUTS)
@given(seed=seeds)
def test_arrays_rebuild_the_problem(output, seed):
    problem, rng = tiny(output, seed)
    again = OUTPUTS[output].from_arrays(problem.arrays())
    w, everyone = rng.normal(size=problem.n_features), np.arange(problem.n_samples)
    np.testing.assert_array_equal(problem.argmax(w, everyone), again.argmax(w, everyone))
    assert {k: v.tobytes() for k, v in problem.arrays().items()} == {k: v.tobytes() for k, v in again.arrays().items()}


@pytest.mark.parametrize(("output", "name"), PAIRS)
@pytest.mark.parametrize("seed", range(4))
def test_the_loop_reaches_the_written_optimum(output, name, seed):
    """Cutting planes (both masters, one-slack to n-slack) = every cut in one CVXPY program."""
    problem, rng = tiny(output, seed)
    kind = FORMULATIONS[name]
    strength = {"lam": float(10.0 ** rng.uniform(-2, 1))} if "lam" in settings_of(kind) else {}
    formulation = kind(**strength)
    program, _ = written(formulation, problem)
    status = by_some_backend(program)
    settings = [{"groups": "all"}, {"groups": "one"}, {"master": "compiled"}]
    if status == cp.INFEASIBLE:
        for setting in settings:
            with pytest.raises(wb.NotSeparable) as caught:
                wb.solve(formulation, problem, **setting)
            check_ray(formulation, problem, caught.value)
        return
    for setting in settings:
        solution = wb.solve(formulation, problem, gap=1e-9, **setting)
        assert solution.status == "optimal"
        assert 0 <= solution.gap <= 1e-9
        assert solution.upper == pytest.approx(program.value, rel=2e-8, abs=1e-9)


def by_some_backend(program):
    """The status by the first backend that does not fail; Clarabel fails on one of these programs."""
    try:
        return solve_cvxpy(program, "CLARABEL")
    except BackendFailed:
        return solve_cvxpy(program, "ECOS")


def check_ray(formulation, problem, error):
    """α ≥ 0 with Σαa = 0 and Σαo > 0, from the data."""
    slopes, offsets = formulation.oracle(problem).rows(error.samples, error.outputs)
    assert (error.weights > 0).all()
    assert np.linalg.norm(slopes.T @ error.weights) <= 1e-6 * np.abs(slopes).sum(axis=1).max()
    assert offsets @ error.weights == pytest.approx(1)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("seed", range(4))
def test_slack_rescaling_and_compact(output, seed):
    problem, _ = tiny(output, seed)
    for formulation in (wb.SoftMargin(lam=0.3, rescaling="slack"), wb.SoftMargin(lam=0.3)):
        if formulation.rescaling == "slack" and not isinstance(problem, SlackArgmax):
            with pytest.raises(wb.MissingCapability):
                wb.solve(formulation, problem)
            continue
        program, _ = written(formulation, problem)
        solve_cvxpy(program, "CLARABEL")
        assert wb.solve(formulation, problem).upper == pytest.approx(program.value, rel=1e-8, abs=1e-9)
    compact = wb.SoftMargin(lam=0.3, declare="compact")
    if isinstance(problem, Compact):
        solution = wb.solve(compact, problem, gap=1e-6)
        assert solution.status == "optimal"
        assert solution.upper == pytest.approx(wb.solve(wb.SoftMargin(lam=0.3), problem).upper, rel=1e-7, abs=1e-8)
    else:
        with pytest.raises(wb.MissingCapability):
            wb.solve(compact, problem)


@pytest.mark.parametrize(("output", "name"), PAIRS)
@given(seed=seeds)
def test_weak_duality_at_random_points(output, name, seed):
    """Any θ is above any dual weights, in the outward-rounded numbers themselves."""
    problem, rng = tiny(output, seed)
    bounds = Bounds(FORMULATIONS[name](), problem)
    from workbench.contracts import Cuts

    cuts = Cuts(bounds.oracle.dim, bounds.oracle.width)
    for _ in range(3):
        w = rng.normal(size=bounds.oracle.dim)
        cuts.add(bounds.samples, bounds.oracle.argmax(w, bounds.samples), bounds.oracle.rows)
    weights = rng.exponential(size=len(cuts)) * (rng.random(len(cuts)) < 0.8)
    lower = bounds.lower(cuts, weights)
    for scale in (0.0, 0.01, 1.0, 100.0):
        assert lower <= bounds.upper(scale * rng.normal(size=bounds.oracle.dim))


@pytest.mark.parametrize(("output", "name"), FITTING)
def test_certificates_round_trip(output, name, tmp_path):
    for seed in range(10):
        problem, _ = tiny(output, seed)
        try:
            solution = wb.solve(FORMULATIONS[name](), problem)
        except wb.NotSeparable:
            continue
        path = solution.certificate.save(tmp_path / f"c{seed}")
        proof = verify(path)
        claim = solution.certificate  # of an alternation, its last convex program's
        known = {each for each, _ in Structure.known}, {each for each, _ in Formulation.known}
        defined = output in known[0] and proof["formulation"] in known[1]
        assert (proof["proven"], bool(proof["conditional_on"]), proof["refuted"]) == (defined, not defined, False)
        assert claim.lower - 1e-12 <= proof["lower"] <= proof["upper"] <= claim.upper + 1e-12
        again, header = load(path)
        assert again.formulation == claim.formulation
        assert isinstance(FORMULATIONS[name](), Majorized) or header["formulation"]["name"] == name
        np.testing.assert_array_equal(again.theta, solution.certificate.theta)
        return
    pytest.fail("no tiny instance was solvable")
