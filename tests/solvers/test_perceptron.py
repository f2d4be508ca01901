"""The structured perceptron: its reference, its replay, its bounds, and faults planted in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.arithmetic.rationals import ratios
from workbench.contracts import Clipped, RunnerUp, Signed
from workbench.registries import registry
from workbench.solvers import perceptron

OUTPUTS = {
    name: output
    for name, output in registry("output").items()
    if isinstance(tiny := output.tiny(np.random.default_rng(0)), RunnerUp) and not isinstance(tiny, Signed)
}  # weights of any sign, as the perceptron takes; tests/outputs/test_rivals.py has the others
seeds = st.integers(0, 2**32 - 1)


def separable(seed, n=20, p=4, k=3):
    """Random points labelled by a random linear rule, those too close to its boundaries left out."""
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(10 * n, p)), rng.normal(size=(k, p))
    scores = np.sort(X @ W.T, axis=1)
    X = X[scores[:, -1] - scores[:, -2] > 0.3][:n]
    return wb.Multiclass(X, (X @ W.T).argmax(axis=1), classes=np.arange(k))


def by_hand(problem, order, step, averaged):
    """An independent perceptron: dense vectors and the mean of all iterates; ties are broken as the kernel does."""
    w, iterates, answers, kernel = np.zeros(problem.n_features), [], [], problem.kernel(augment=False)
    for i in order:
        sample, answer = np.array([i]), np.empty((1, problem.width), np.int64)
        kernel.argmax_into(kernel.data, w, i, answer[0])
        best = problem.argmax(w, sample, augment=False)
        scores = problem.features(np.repeat(sample, 3), np.concatenate([answer, best, problem.truth[sample]])) @ w
        clipped = isinstance(problem, Clipped) and problem.outside[i]  # then the truth is a candidate, too
        assert scores[0] == pytest.approx(max(scores[1:]) if clipped else scores[1], abs=1e-9)
        difference = problem.features(sample, problem.truth[sample]) - problem.features(sample, answer)
        w = w + step * difference.toarray()[0]
        iterates.append(w)
        answers.append(answer[0])
    return np.mean(iterates, axis=0) if averaged else w, np.array(answers)


def orders(problem, seed, passes):
    rng, weighty = np.random.default_rng(seed), np.flatnonzero(problem.weights > 0)
    return np.concatenate([weighty[rng.integers(len(weighty), size=len(weighty))] for _ in range(passes)])


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("average", ["uniform", "last"])
@given(seed=seeds)
@settings(max_examples=15)
def test_the_iterate_equals_an_independent_replay(name, average, seed):
    problem = OUTPUTS[name].tiny(np.random.default_rng(seed))
    trace = wb.run(wb.Perceptron(average=average), wb.Separation(), problem, passes=7, rng=seed, compiled=False)
    theta, _ = by_hand(problem, orders(problem, seed, 7), 1.0, average == "uniform")
    np.testing.assert_allclose(trace.thetas[-1], theta, atol=1e-10)
    assert trace.drift[-1] < 1e-10 or not np.linalg.norm(theta) > 1e-9


def test_the_mean_before_the_visits_leaves_out_what_the_visit_learns():
    """Weights that were predicted with: 0 first, and never the last ones; the sum of the others is the same."""
    problem = OUTPUTS["multiclass"].tiny(np.random.default_rng(1))
    ends = [
        wb.run(wb.Perceptron(average=average), wb.Separation(), problem, passes=7, rng=1, compiled=False).thetas[-1]
        for average in ("uniform", "before", "last")
    ]
    visits = 7 * problem.n_samples
    np.testing.assert_allclose(visits * ends[1] + ends[2], visits * ends[0], atol=1e-12)
    assert np.abs(ends[0] - ends[1]).max() > 0


@pytest.mark.parametrize("name", OUTPUTS)
def test_compiled_and_interpreted_runs_are_one(name):
    problem = OUTPUTS[name].tiny(np.random.default_rng(3))
    fast, slow = (wb.run(wb.Perceptron(), wb.Separation(), problem, passes=9, compiled=c) for c in (True, False))
    np.testing.assert_array_equal(fast.thetas, slow.thetas)


@given(seed=seeds, step=st.sampled_from([0.5, 4.0, 2.0**-30]))
@settings(max_examples=20)
def test_predictions_do_not_depend_on_the_step(seed, step):
    problem = separable(seed)
    one, other = (
        wb.run(wb.Perceptron(step=s), wb.Separation(), problem, passes=6, compiled=False) for s in (1.0, step)
    )
    np.testing.assert_array_equal(one.thetas * step, other.thetas)  # powers of two scale without rounding
    np.testing.assert_array_equal(one.mistakes.counts, other.mistakes.counts)


@given(seed=seeds)
@settings(max_examples=15)
def test_mistakes_stay_below_the_certified_bound(seed):
    """Novikoff's R²‖u‖² with ‖u‖² = 2 · the certified lower bound: never violated on separable data."""
    problem = separable(seed)
    reference = wb.solve(wb.Separation(), problem)
    trace = wb.run(wb.Perceptron(), wb.Separation(), problem, passes=60, rng=seed, compiled=False)
    slopes, _ = wb.Separation().oracle(problem).rows(trace.mistakes.samples, trace.mistakes.witnesses)
    radius = np.sqrt(slopes.multiply(slopes).sum(axis=1).max())
    assert trace.mistakes.counts.sum() <= radius**2 * 2 * reference.upper
    verdict = wb.crosscheck(trace, reference)
    assert verdict.verdict == "agrees"
    assert verdict.evidence["mistakes"] == trace.mistakes.counts.sum() <= verdict.evidence["bound"]


def test_unit_margins_are_hard_margins_where_losses_are_one():
    problem = separable(5)
    ours, usual = wb.solve(wb.Separation(), problem), wb.solve(wb.HardMargin(), problem)
    assert ours.upper == pytest.approx(usual.upper, rel=1e-8)
    np.testing.assert_allclose(ours.theta_flat, usual.theta_flat, atol=1e-5)


def test_unit_margins_ask_less_of_chains_than_hamming_margins():
    rng = np.random.default_rng(2)
    words = [rng.normal(size=(4, 3)) for _ in range(3)]
    chain = wb.Chain(words, [w.argmax(axis=1) for w in words], loss="hamming", classes=np.arange(3))
    unit, hamming = wb.solve(wb.Separation(), chain), wb.solve(wb.HardMargin(), chain)
    assert unit.upper < hamming.lower
    scores = [chain.features(np.full(81, i), chain.outputs(i)) @ unit.theta_flat for i in range(3)]
    own = chain.features(np.arange(3), chain.truth) @ unit.theta_flat
    margins = [value - score for value, score in zip(own, scores, strict=True)]
    others = [np.sort(margin)[1] for margin in margins]  # the least is the truth's own 0
    assert min(others) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("name", OUTPUTS)
@given(seed=seeds)
@settings(max_examples=20)
def test_exact_rivals_equal_enumeration(name, seed):
    rng = np.random.default_rng(seed)
    problem = OUTPUTS[name].tiny(rng)
    exact = problem.exact()
    if not hasattr(exact, "rival"):
        pytest.fail(f"{name} finds runners-up but not exactly; give its exact view a `rival`")
    w = rng.integers(-3, 4, problem.n_features) / 4
    everyone = np.arange(problem.n_samples)
    found = exact.rival(ratios(w), everyone).fractions()
    for i in everyone:
        outputs = problem.outputs(i)
        other = outputs[(outputs != problem.truth[i]).any(axis=1)]
        slopes = exact.slopes(np.full(len(other), i), other)
        dense = slopes.matrix((len(other), problem.n_features))
        gains = [sum(Fraction(int(a), slopes.unit) * Fraction(b) for a, b in zip(row, w, strict=True)) for row in dense]
        assert found[i] == max(gains)


def test_certificates_of_separation_are_proven_exactly(tmp_path):
    for problem in (separable(1), wb.load_problem("synthetic-chain")(n=4, seed=1)):
        try:
            solution = wb.solve(wb.Separation(), problem)
        except wb.NotSeparable:
            continue
        proof = wb.verify(solution.certificate.save(tmp_path / "c"))
        assert proof["proven"]
        assert proof["arithmetic"] == "rational"
        break
    else:
        pytest.fail("no instance was separable")


def test_regret_takes_over_where_nothing_separates():
    X = np.array([[1.0, 0.2], [1.0, 0.2], [-1.0, 0.5], [0.3, 1.0]])
    problem = wb.Multiclass(X, [0, 1, 1, 0])
    with pytest.raises(wb.NotSeparable) as ray:
        wb.solve(wb.Separation(), problem)
    trace = wb.run(wb.Perceptron(), wb.Separation(), problem, passes=100)
    verdict = wb.crosscheck(trace, ray.value)
    assert verdict.verdict == "agrees"
    assert verdict.evidence["mistakes"] > 100
    assert verdict.evidence["mistakes"] <= verdict.evidence["bound"]


def test_the_soft_margin_is_not_comparable_and_other_solvers_refuse():
    problem = separable(0)
    with pytest.raises(wb.MissingCapability, match="formulation perceptron"):
        wb.run(wb.Perceptron(), wb.SoftMargin(lam=0.1), problem)
    trace = wb.run(wb.Perceptron(), wb.Separation(), problem, passes=2)
    verdict = wb.crosscheck(trace, wb.solve(wb.SoftMargin(lam=0.1), problem))
    assert verdict.verdict == "not comparable"
    for solver in (wb.BCFW(), wb.Subgradient()):
        assert solver.misfit(wb.Separation(), problem)


@pytest.mark.parametrize(("setting", "value"), [("average", "mean"), ("step", 0.0), ("step", float("nan"))])
def test_bad_settings_are_refused(setting, value):
    with pytest.raises(wb.BadInput, match=setting):
        wb.Perceptron(**{setting: value})


# ── planted faults ────────────────────────────────────────────────────────────────────────────────


def stale(argmax_into, add_slope, data, order, prices, witnesses, steps, state):
    """Answers once a pass with the weights of its start."""
    w, late, visits, step = state
    old = w.copy()
    for k in range(len(order)):
        argmax_into(data, old, order[k], witnesses[k])
        add_slope(data, order[k], witnesses[k], -step, w)
        add_slope(data, order[k], witnesses[k], -step * visits[0], late)
        visits[0] += 1


def half_updates(argmax_into, add_slope, data, order, prices, witnesses, steps, state):
    """Forgets every second update."""
    w, late, visits, step = state
    for k in range(len(order)):
        argmax_into(data, w, order[k], witnesses[k])
        if visits[0] % 2 == 0:
            add_slope(data, order[k], witnesses[k], -step, w)
            add_slope(data, order[k], witnesses[k], -step * visits[0], late)
        visits[0] += 1


def wrong_sign(argmax_into, add_slope, data, order, prices, witnesses, steps, state):
    w, late, visits, step = state
    for k in range(len(order)):
        argmax_into(data, w, order[k], witnesses[k])
        add_slope(data, order[k], witnesses[k], step, w)
        add_slope(data, order[k], witnesses[k], step * visits[0], late)
        visits[0] += 1


def late_average(argmax_into, add_slope, data, order, prices, witnesses, steps, state):
    """Averages the iterates after the update with those before."""
    w, late, visits, step = state
    for k in range(len(order)):
        argmax_into(data, w, order[k], witnesses[k])
        add_slope(data, order[k], witnesses[k], -step, w)
        add_slope(data, order[k], witnesses[k], -step * (visits[0] + 1), late)
        visits[0] += 1


@pytest.mark.parametrize("fault", [stale, half_updates, wrong_sign, late_average])
def test_planted_faults_disagree(fault):
    problem = wb.load_problem("digits")(n=60)
    reference = wb.solve(wb.Separation(), problem)

    @dataclass(frozen=True)
    class Faulty(wb.Perceptron):
        sweep = staticmethod(fault)

    trace = wb.run(Faulty(), wb.Separation(), problem, passes=5, checkpoints=[5], compiled=False)
    assert wb.crosscheck(trace, reference).verdict == "disagrees"
    clean = wb.run(wb.Perceptron(), wb.Separation(), problem, passes=5, compiled=False)
    assert wb.crosscheck(clean, reference).verdict == "agrees"
    assert wb.crosscheck(replace(clean, drift=np.array([1e-3])), reference).verdict == "disagrees"


def test_sweep_is_the_registered_one():
    assert wb.Perceptron.sweep is perceptron.sweep
