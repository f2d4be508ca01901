"""Costs by difficulty: measures and steps against their definitions, and the one alternating loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.costs import classes_of
from workbench.difficulty import MEASURES, STEPS, Model, base_rates, kappa, perceptron_loss, shares
from workbench.errors import CutbenchError
from workbench.majorize import alternate

seeds = st.integers(0, 2**32 - 1)
ALL = np.ones(5, bool)


def clouds(seed=0, n=30, k=3, spread=1.0):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.choice(k, n - k, p=np.arange(k, 0, -1) / (k * (k + 1) / 2))])
    return wb.Multiclass(spread * rng.normal(size=(n, 4)) + np.eye(k, 4)[y], y)


def predictions(problem, seed=0):
    rng = np.random.default_rng(seed)
    guess = np.where(rng.random(problem.n_samples) < 0.6, problem.labels, rng.integers(0, 3, problem.n_samples))
    return guess[:, None]


def model(problem, factoring, seed=0):
    rng = np.random.default_rng(seed)
    return Model(problem, classes_of(problem, factoring), rng.normal(size=12), rng.normal(size=3), predictions(problem))


# ── cost steps against their declarations ─────────────────────────────────────────────────────────


@given(seed=seeds)
@settings(max_examples=25)
def test_the_dot_step_is_the_linear_program(seed):
    D = np.random.default_rng(seed).normal(size=5)
    v = cp.Variable(5)
    program = cp.Problem(cp.Minimize(D @ v), [v >= 0, cp.sum(v) == 1])
    program.solve(solver=cp.CLARABEL)
    found = STEPS["dot"](D, np.full(5, 0.2), ALL)
    assert D @ found == pytest.approx(program.value, abs=1e-7)
    np.testing.assert_allclose(found, v.value, atol=1e-6)


@given(seed=seeds)
@settings(max_examples=25)
def test_the_cosine_step_is_the_declared_projection(seed):
    """Some D < 0: min ‖v‖ s.t. ⟨−D, v⟩ = 1, v ≥ 0, rescaled to the simplex."""
    D = np.random.default_rng(seed).normal(size=5)
    D[0] = -abs(D[0])
    v = cp.Variable(5)
    cp.Problem(cp.Minimize(cp.sum_squares(v)), [v >= 0, -D @ v == 1]).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12
    )
    np.testing.assert_allclose(STEPS["cosine"](D, np.full(5, 0.2), ALL), v.value / v.value.sum(), atol=1e-8)


@given(seed=seeds)
@settings(max_examples=50)
def test_no_point_of_the_simplex_has_a_smaller_cosine(seed):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=5) if seed % 3 else rng.integers(0, 3, 5).astype(float)
    if not D.any():
        D[0] = 1.0
    best = STEPS["cosine"](D, np.full(5, 0.2), ALL)
    cosine = D @ best / np.linalg.norm(best)
    for v in np.concatenate([rng.dirichlet(np.full(5, 0.3), 200), np.eye(5)]):
        assert cosine <= D @ v / np.linalg.norm(v) + 1e-12


def test_the_special_cases_of_steps():
    kept = np.array([0.1, 0.2, 0.3, 0.4, 0.0])
    np.testing.assert_array_equal(STEPS["cosine"](np.zeros(5), kept, ALL), kept)
    np.testing.assert_allclose(STEPS["cosine"](np.array([0, 1.0, 0, 2, 3]), kept, ALL), [0.5, 0, 0.5, 0, 0])
    np.testing.assert_array_equal(STEPS["cosine"](np.array([2, 1.0, 4, 2, 3]), kept, ALL), [0, 1, 0, 0, 0])
    np.testing.assert_allclose(
        STEPS["inverted"](np.array([0.5, 0, 0, 0.5, 1]), kept, ALL), [1 / 6, 1 / 3, 1 / 3, 1 / 6, 0]
    )
    np.testing.assert_array_equal(STEPS["inverted"](np.ones(5), kept, ALL), kept)
    np.testing.assert_allclose(STEPS["inverted"](np.array([4, 2, 0, 4, 4.0]), kept, ALL), [0, 1 / 3, 2 / 3, 0, 0])
    some = np.array([True, False, True, True, True])
    for step in STEPS.values():
        v = step(np.array([0.3, -9.0, 0.2, 0.1, 0.4]), kept, some)
        assert v[1] == 0
        assert v.sum() == pytest.approx(1)


# ── measures against their definitions ────────────────────────────────────────────────────────────


@pytest.mark.parametrize("factoring", ["ordered", "unordered", "true", "predicted", "constant"])
def test_kappa_is_the_formula(factoring):
    """P(B) of docs/mathematics.md §5, spelled out for each factoring."""
    problem = clouds()
    asked = model(problem, factoring)
    y, guess, n = problem.labels, asked.predictions[:, 0], problem.n_samples
    true, said = np.bincount(y, minlength=3) / n, np.bincount(guess, minlength=3) / n
    base = {
        "ordered": [true[a] * said[b] for a in range(3) for b in range(3) if a != b],
        "unordered": [true[a] * said[b] + true[b] * said[a] for a, b in [(0, 1), (0, 2), (1, 2)]],
        "true": [true[a] * (1 - said[a]) for a in range(3)],
        "predicted": [said[a] * (1 - true[a]) for a in range(3)],
        "constant": [1 - true @ said],
    }[factoring]
    np.testing.assert_allclose(base_rates(asked), base, atol=1e-12)
    table = asked.classes.table[0]
    share = np.array([np.mean(table[y, guess] == s) for s in range(len(base))])
    np.testing.assert_allclose(shares(asked), share, atol=1e-12)
    np.testing.assert_allclose(kappa(asked), (share - base) / (1 - np.array(base)), atol=1e-12)


def test_perceptron_loss_is_the_mean_score_lost():
    problem = clouds()
    asked = model(problem, "unordered")
    scores, table = problem.X @ asked.w.reshape(3, 4).T, asked.classes.table[0]
    lost, count = np.zeros(3), np.zeros(3)
    for i, (y, guess) in enumerate(zip(problem.labels, asked.predictions[:, 0], strict=True)):
        if y != guess:
            lost[table[y, guess]] += scores[i, guess] - scores[i, y]
            count[table[y, guess]] += 1
    np.testing.assert_allclose(perceptron_loss(asked), lost / count, atol=1e-12)
    right = asked._replace(predictions=problem.truth)
    assert not perceptron_loss(right).any()


def test_kappa_of_one_label_everywhere_is_zero_where_the_denominator_is():
    problem = wb.Multiclass(np.arange(4.0)[:, None], [0, 0, 0, 0], classes=[0, 1])
    asked = Model(problem, classes_of(problem, "ordered"), np.zeros(2), np.zeros(2), np.ones((4, 1), np.int64))
    np.testing.assert_array_equal(kappa(asked), [0, 0])


# ── the loop ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("measure", MEASURES)
def test_every_variant_ends_with_certified_inner_programs(measure, step):
    problem = clouds(2, n=18, spread=1.3)
    solution = wb.solve(
        wb.KappaDifficulty(lam2=0.5, difficulty=measure, step_rule=step), problem, gap=1e-6, max_rounds=8
    )
    assert solution.status in {"stationary", "cycle", "limit"}
    assert np.isnan(solution.gap)
    assert solution.lower_kind == "none"
    assert all(entry["gap"] <= 1e-6 for entry in solution.history)
    assert all(sum(entry["v"]) == pytest.approx(1) for entry in solution.history)
    if solution.status == "stationary":
        again = wb.KappaDifficulty(lam2=0.5, difficulty=measure, step_rule=step)
        v = np.array(solution.history[-1]["v"])
        moved, _ = again.step(problem, solution.theta_flat, v, lambda form: wb.solve(form, problem, gap=1e-6))
        np.testing.assert_allclose(moved, v, atol=1e-5)


def test_inner_certificates_are_proven_exactly(tmp_path):
    solution = wb.solve(wb.KappaDifficulty(lam2=0.5), clouds(2, n=18, spread=1.3), gap=1e-7, max_rounds=3)
    assert wb.verify(solution.certificate.save(tmp_path / "c"))["proven"]


def test_fixed_costs_of_one_are_the_svm_with_biases():
    problem = clouds()
    solution = wb.solve(wb.FixedCostLearning(lam2=0.4, lam1=0.1, K=2.0), problem, gap=1e-9)
    W, b = cp.Variable((3, 4)), cp.Variable(3)
    X, own = problem.X.toarray(), np.eye(3)[problem.labels]
    scores = X @ W.T + np.ones((problem.n_samples, 1)) @ cp.reshape(b, (1, 3), order="C")
    true = cp.reshape(cp.sum(cp.multiply(scores, own), axis=1), (problem.n_samples, 1), order="C")
    risk = cp.sum(cp.max(scores - true @ np.ones((1, 3)) + 2 * (1 - own), axis=1))
    program = cp.Problem(cp.Minimize(0.4 * cp.sum_squares(W) + 0.1 * cp.sum(cp.abs(W)) + risk), [cp.sum(b) == 0])
    program.solve(solver=cp.CLARABEL)
    assert solution.upper == pytest.approx(program.value, rel=1e-7)


@dataclass(frozen=True)
class Turning:
    """States 0 → 1 → 2 → 0 around the same inner program."""

    monotone: ClassVar[bool] = False
    period: int = 3

    def start(self, problem):
        return np.zeros(1)

    def surrogate(self, problem, state):
        return wb.SoftMargin(lam=1.0 + state[0])

    def step(self, problem, theta, state, solve):
        return (state + 1) % self.period, {}

    def value(self, problem, theta):
        return float(theta @ theta)


def inner(form, problem):
    return wb.solve(form, problem, gap=1e-6)


def test_cycles_are_found_and_measured():
    found = alternate(Turning(), clouds(), inner)
    assert (found.status, found.cycle, len(found.history)) == ("cycle", 3, 3)
    assert alternate(Turning(period=1), clouds(), inner).status == "stationary"
    assert alternate(Turning(period=9), clouds(), inner, max_rounds=4).status == "limit"


def test_a_rise_of_what_claims_to_be_monotone_is_an_error():
    @dataclass(frozen=True)
    class Rising(Turning):
        monotone: ClassVar[bool] = True

        def value(self, problem, theta):
            return -float(theta @ theta)  # shrinks as λ grows, so this rises

    with pytest.raises(CutbenchError, match="Rising rose from"):
        alternate(Rising(), clouds(), inner)


@pytest.mark.parametrize(("setting", "sentence"), [({"v": (1.0, -1.0)}, "costs"), ({"parts": 1}, "part 0 of 1")])
def test_bad_costs_are_refused(setting, sentence):
    with pytest.raises(wb.BadInput, match=sentence):
        wb.FixedCostLearning(**setting)


def test_a_wrong_number_of_costs_is_refused():
    with pytest.raises(wb.BadInput, match="2 costs for 3 error classes"):
        wb.solve(wb.FixedCostLearning(v=(1.0, 1.0)), clouds())
