"""The loop and its masters on real data, metamorphic relations, faults, bounds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

import workbench as wb
from workbench.backends import BACKENDS, solve_cvxpy
from workbench.contracts import Cuts
from workbench.proofs.bounds import Bounds
from workbench.solving.masters.declared import written

OPTIMUM = 0.503184388308  # digits, n = 300, λ = 0.1
SOME = 0.380180147708  # n = 100


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return wb.Multiclass(X[:300] / 16, y[:300])


@pytest.fixture(scope="module")
def some():
    X, y = load_digits(return_X_y=True)
    return wb.Multiclass(X[:100] / 16, y[:100])


@pytest.fixture(scope="module")
def few():
    X, y = load_digits(return_X_y=True)
    return wb.Multiclass(X[:60] / 16, y[:60])


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return np.c_[X, np.ones(len(X))], y


@pytest.mark.parametrize("groups", ["all", "one", 30, None])
def test_every_grouping_has_the_same_optimum(digits, groups):
    s = wb.solve(wb.SoftMargin(lam=0.1), digits, gap=1e-9, groups=groups)
    assert s.status == "optimal"
    assert 0 <= s.gap <= 1e-9
    assert s.upper == pytest.approx(OPTIMUM, abs=1e-9)
    assert s.lower == pytest.approx(OPTIMUM, abs=1e-9)


@pytest.mark.parametrize("name", ["CLARABEL", "ECOS", "PIQP", "SCS", "OSQP"])
def test_every_backend_has_the_same_optimum(some, name):
    if not BACKENDS[name].installed:
        pytest.skip(f"{name} has no wheel for this Python")
    s = wb.solve(wb.SoftMargin(lam=0.1), some, gap=1e-9, backend=name, groups="all")
    assert s.status == "optimal"
    assert s.upper == pytest.approx(SOME, abs=1e-9)
    assert s.backend.startswith(name + " ")


@pytest.mark.parametrize("name", ["CLARABEL", "PIQP", "SCS", "OSQP"])
def test_every_backend_through_the_compiled_declaration(few, name):
    s = wb.solve(wb.SoftMargin(lam=0.1), few, gap=1e-9, backend=name, master="compiled", groups="all")
    assert s.status == "optimal"
    assert s.upper == pytest.approx(wb.solve(wb.SoftMargin(lam=0.1), few, gap=1e-9).upper, rel=1e-8)


def test_all_cuts_in_one_program(digits):
    program, _ = written(wb.SoftMargin(lam=0.1), digits)
    solve_cvxpy(program, "CLARABEL")
    assert program.value == pytest.approx(OPTIMUM, rel=1e-8)


def test_weak_duality_and_monotone_bounds_every_round(digits):
    seen = []
    s = wb.solve(wb.SoftMargin(lam=0.1), digits, observe=seen.append)
    assert len(seen) == s.rounds
    assert all(r["lower"] <= r["upper"] for r in seen)
    assert all(a["upper"] >= b["upper"] and a["lower"] <= b["lower"] for a, b in itertools.pairwise(seen))


def test_without_pruning_the_same_optimum(few, monkeypatch):
    pruned = wb.solve(wb.SoftMargin(lam=0.1), few, groups="one")
    from workbench.solving.cutting_planes import Generation

    monkeypatch.setattr(Generation, "prune", lambda self: None)
    kept = wb.solve(wb.SoftMargin(lam=0.1), few, groups="one")
    assert pruned.upper == pytest.approx(kept.upper, abs=1e-9)
    assert kept.cuts > pruned.cuts


def test_limits_end_with_a_valid_interval(digits):
    s = wb.solve(wb.SoftMargin(lam=0.1), digits, max_rounds=3)
    assert s.status == "limit"
    assert s.rounds == 3
    assert s.lower <= OPTIMUM <= s.upper
    s = wb.solve(wb.SoftMargin(lam=0.1), digits, groups="one", time_limit=0.05)
    assert s.status == "limit"
    assert s.lower <= OPTIMUM <= s.upper


def test_an_unreachable_gap_ends_stalled(few):
    s = wb.solve(wb.SoftMargin(lam=0.1), few, gap=1e-17)
    assert s.status == "stalled"
    assert 0 <= s.gap < 1e-11


# ── hard margin ──


def test_hard_margin_on_separable_classes(iris):
    X, y = iris
    s = wb.solve(wb.HardMargin(), wb.Multiclass(X[y < 2], y[y < 2]), gap=1e-8)
    assert s.status == "optimal"
    assert s.gap <= 1e-8
    # Two classes: w_0 = −w_1 = u/2 with u the usual hard-margin SVM at margin 1, ½‖w‖² = ¼‖u‖².
    from sklearn.svm import SVC

    u = SVC(kernel="linear", C=1e10, tol=1e-10).fit(X[y < 2][:, :4], y[y < 2])
    assert s.upper >= 0.25 * float((u.coef_**2).sum()) * (1 - 1e-6)  # ours also pays for the bias
    margins = -s.formulation.oracle(s.problem).rows(np.arange(100), 1 - s.problem.truth)[0] @ s.theta_flat
    assert margins.min() >= 1 - 1e-12


@pytest.mark.parametrize("master", ["gram", "compiled"])
def test_hard_margin_names_the_conflict(iris, master):
    X, y = iris
    with pytest.raises(wb.NotSeparable) as caught:
        wb.solve(wb.HardMargin(), wb.Multiclass(X, y), master=master)
    error = caught.value
    slopes, offsets = wb.HardMargin().oracle(wb.Multiclass(X, y)).rows(error.samples, error.outputs)
    assert np.linalg.norm(slopes.T @ error.weights) < 1e-6
    assert offsets @ error.weights == pytest.approx(1)
    assert f"sample {error.samples[0]} " in str(error)


def test_contradictory_duplicates():
    X = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]])
    with pytest.raises(wb.NotSeparable) as caught:
        wb.solve(wb.HardMargin(), wb.Multiclass(X, [0, 1, 1]))
    assert set(caught.value.samples) == {0, 1}


def test_outputs_of_zero_loss_must_not_win():
    """A competitor that costs nothing still needs ⟨w, ψ⟩ ≥ 0, which scaling alone cannot repair."""
    cost = np.array([[0, 0, 1.0], [0, 0, 1.0], [1.0, 1.0, 0]])
    X = np.array([[1.0, 0], [0.9, 0.1], [0, 1.0], [0.1, 1.0]])
    problem = wb.Multiclass(X, [0, 1, 2, 2], cost)
    s = wb.solve(wb.HardMargin(), problem, gap=1e-7)
    program, _ = written(wb.HardMargin(), problem)
    solve_cvxpy(program, "CLARABEL")
    assert s.upper == pytest.approx(program.value, rel=1e-6)


# ── metamorphic relations (docs/mathematics.md §9) ──


@pytest.fixture
def small():
    rng = np.random.default_rng(3)
    return rng.normal(size=(30, 4)), rng.integers(0, 3, 30)


def optimum(X, y, lam=0.2, cost=None, weights=None):
    return wb.solve(wb.SoftMargin(lam=lam), wb.Multiclass(X, y, cost, weights), gap=1e-10)


def test_metamorphic_relations(small):
    X, y = small
    base = optimum(X, y)
    close = {"rel": 1e-8}
    order = np.random.default_rng(0).permutation(30)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    assert optimum(X[order], y[order]).upper == pytest.approx(base.upper, **close)
    assert optimum(np.r_[X, X], np.r_[y, y]).upper == pytest.approx(base.upper, **close)
    assert optimum(X, 2 - y).upper == pytest.approx(base.upper, **close)
    assert optimum(X @ rotation, y).upper == pytest.approx(base.upper, **close)
    scaled = optimum(3 * X, y, lam=0.2 * 9)
    assert scaled.upper == pytest.approx(base.upper, **close)
    np.testing.assert_allclose(scaled.theta_flat * 3, base.theta_flat, atol=1e-4)
    costly = optimum(X, y, lam=0.2 / 5, cost=5 * (1 - np.eye(3)))
    assert costly.upper == pytest.approx(5 * base.upper, **close)
    doubled = np.ones(30)
    doubled[:7] = 2
    assert optimum(X, y, weights=doubled).upper == pytest.approx(
        optimum(np.r_[X, X[:7]], np.r_[y, y[:7]]).upper, **close
    )
    dropped = np.ones(30)
    dropped[5] = 0
    assert optimum(X, y, weights=dropped).upper == pytest.approx(
        optimum(np.delete(X, 5, 0), np.delete(y, 5)).upper, **close
    )


def test_distance_to_the_optimum_is_bounded_by_the_gap(small):
    rough = wb.solve(wb.SoftMargin(lam=0.2), wb.Multiclass(*small), gap=1e-3)
    fine = optimum(*small)
    square = float(((rough.theta_flat - fine.theta_flat) ** 2).sum())
    assert square <= 2 / 0.2 * (rough.upper - fine.lower)


# ── faults ──


class LyingLoss(wb.Multiclass):
    """Its oracle maximises without the loss, so the certified upper bound is too low."""

    def argmax(self, w, samples, augment=True):
        return super().argmax(w, samples, augment=False)


def test_an_oracle_that_misses_the_maximum_is_noticed(small):
    """Weak duality fails as soon as other cuts prove a higher value."""
    honest, lying = wb.Multiclass(*small), LyingLoss(*small)
    bounds = Bounds(wb.SoftMargin(lam=0.2), lying)
    cuts = Cuts(bounds.oracle.dim, 1)
    s = wb.solve(wb.SoftMargin(lam=0.2), honest)
    ids = cuts.add(s.certificate.samples, s.certificate.witnesses, bounds.oracle.rows)
    lower = bounds.lower(cuts, np.bincount(ids, s.certificate.weights, len(cuts)))
    assert lower > bounds.upper(s.theta_flat * 0)


def test_sparse_input_equals_dense(small):
    from scipy import sparse

    X, y = small
    X = np.where(np.abs(X) > 0.5, X, 0)
    dense, thin = wb.Multiclass(X, y), wb.Multiclass(sparse.csr_matrix(X), y)
    assert wb.solve(wb.SoftMargin(), dense).upper == wb.solve(wb.SoftMargin(), thin).upper


def test_lower_bound_survives_any_scaling_of_the_weights(small):
    """Weights are renormalised: a backend that returns 2μ or μ + noise proves no more than the truth."""
    s = optimum(*small)
    bounds = Bounds(wb.SoftMargin(lam=0.2), s.problem)
    cuts = Cuts(bounds.oracle.dim, 1)
    ids = cuts.add(s.certificate.samples, s.certificate.witnesses, bounds.oracle.rows)
    weights = np.bincount(ids, s.certificate.weights, len(cuts))
    reference = bounds.lower(cuts, weights)
    assert bounds.lower(cuts, 2 * weights) == pytest.approx(reference, rel=1e-12)
    assert bounds.lower(cuts, np.abs(weights + 1e-3)) <= s.upper
    assert bounds.lower(cuts, np.zeros_like(weights)) == -np.inf


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: wb.Multiclass(np.eye(2) * 1j, [0, 1]), "complex"),
        (lambda: wb.Multiclass(np.ma.masked_array(np.eye(2), np.eye(2) > 0), [0, 1]), "masked"),
        (lambda: wb.Multiclass(np.eye(2) * 1e300, [0, 1]), "rescale"),
        (lambda: wb.Multiclass(np.eye(2), [0, 1], weights=[1e308, 1e308]), "sample weight"),
        (lambda: wb.SoftMargin(lam="1"), "lam is '1'"),
        (lambda: wb.HardMargin(lam=1e-300), "lam is 1e-300"),
    ],
)
def test_numbers_that_cannot_be_meant(make, words):
    with pytest.raises(wb.BadInput, match=words):
        make()
