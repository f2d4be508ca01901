"""The proven value of dyadic slopes against fractions; with the solver's answer spoiled, and roundings made large."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from workbench.arithmetic.intervals import Interval
from workbench.dyads import dual
from workbench.dyads.dual import (
    Parts,
    admitted,
    lower_at,
    lower_beside,
    negative_conjugate,
    norm_of,
    parts_of,
    schur,
    spectral,
)
from workbench.dyads.pairs import Dyads

LOSSES = ("hinge", "squared")


def drawn(seed: int) -> tuple[Parts, Any]:
    """Up to six pairs with real features, the slopes in the domain of either loss."""
    rng = np.random.default_rng(seed)
    n, sizes = int(rng.integers(1, 7)), rng.integers(1, 4, 3)
    sides = [sparse.csr_array(rng.normal(size=(n, size)) * (rng.random((n, size)) < 0.8)) for size in sizes]
    y = rng.choice([-1.0, 1.0], n)
    return Parts(*sides, y, rng.uniform(0.1, 1, n)), -y * rng.choice([0.0, 0.3, 1.0, rng.random()], n)


def exact(array: Any) -> Any:
    array = array.toarray() if sparse.issparse(array) else np.asarray(array, float)
    return np.array([*map(Fraction, array.ravel().tolist()), None], object)[:-1].reshape(array.shape)


def solved(matrix: Any, right: Any) -> Any:
    """By elimination of fractions; the leading minors are positive."""
    rows = np.concatenate([matrix, right[:, None]], axis=1)
    for j in range(len(rows)):
        rows[j] = rows[j] / rows[j, j]
        for i in range(len(rows)):
            if i != j:
                rows[i] = rows[i] - rows[i, j] * rows[j]
    return rows[:, -1]


def true_lower(parts: Parts, lam: float, k: int, loss: str, g: Any) -> Fraction:
    """Σ π_i (−ℓ*(g_i)) − k cᵀQ⁻¹c − ‖Σ ω_i x_i‖²/(2λ) in fractions."""
    (L, R, X), y, prices, g = map(exact, parts[:3]), exact(parts.y), exact(parts.prices), exact(g)
    gains, omega = -g * y - (g * g / 2 if loss == "squared" else 0), prices * g
    S, c = (L.T * omega) @ R, np.concatenate([L.T @ omega, R.T @ omega]) / 2
    own, other = (np.array([[Fraction(int(i == j)) for j in range(m)] for i in range(m)], object) for m in S.shape)
    Q = np.concatenate([np.concatenate([own * Fraction(lam), S], 1), np.concatenate([S.T, other * Fraction(lam)], 1)])
    push = X.T @ omega
    return (prices * gains).sum() - k * (c @ solved(Q / 2, c)) - (push @ push) / (2 * Fraction(lam))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dense", [2000, 0])
def test_the_value_is_that_of_fractions_rounded_down(loss, dense, monkeypatch):
    """By the dense solver, and by conjugate gradients with Schur's test for the norm, which is not sharp."""
    monkeypatch.setattr(dual, "DENSE", dense)
    for seed in range(25):
        parts, g = drawn(seed)
        S = (parts.left.T * (parts.prices * g)) @ parts.right.toarray()
        lam, k = float(np.linalg.norm(abs(S), 2) * (1.05 + seed / 10) + 1e-3), seed % 4
        found, true = lower_at(parts, lam, k, loss, g), true_lower(parts, lam, k, loss, g)
        assert Fraction(found) <= true
        assert found == pytest.approx(float(true), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_value_holds_whatever_the_solver_says(loss, monkeypatch):
    honest, rng = dual.solution, np.random.default_rng(0)
    for seed in range(25):
        parts, g = drawn(seed)
        S = (parts.left.T * (parts.prices * g)) @ parts.right.toarray()
        lam = float(np.linalg.norm(S, 2) * 1.2 + 1e-3)
        true = true_lower(parts, lam, 2, loss, g)
        for size in (1e-3, 1.0):
            monkeypatch.setattr(
                dual, "solution", lambda *of, size=size: honest(*of) + size * rng.normal(size=len(of[2]))
            )
            assert Fraction(lower_at(parts, lam, 2, loss, g)) <= true
        monkeypatch.setattr(dual, "solution", lambda *of: 0 * of[2])
        assert Fraction(lower_at(parts, lam, 2, loss, g)) <= true


def one_pair(slope: float, left: float = 1.0, right: float = 1.0) -> tuple[Parts, Any]:
    side = [sparse.csr_array(np.array([[each]])) for each in (left, right, 0.0)]
    return Parts(*side, np.array([-np.sign(slope)]), np.ones(1)), np.array([slope])


@pytest.mark.parametrize("slope", [-0.5, -0.3])
def test_without_a_solver_the_least_eigenvalue_bounds_what_is_missed(slope, monkeypatch):
    """c = ω/2 (1, 1) is an eigenvector of Q, of the least eigenvalue (λ − |ω|)/2 for ω < 0: nothing is lost."""
    monkeypatch.setattr(dual, "solution", lambda S, lam, c: 0 * c)
    for lam in (0.6, 1.0, 7.0):
        parts, g = one_pair(slope)
        true = true_lower(parts, lam, 3, "hinge", g)
        assert Fraction(lower_at(parts, lam, 3, "hinge", g)) <= true
        assert lower_at(parts, lam, 3, "hinge", g) == pytest.approx(float(true), rel=1e-9)


def test_there_is_no_value_unless_the_norm_is_below_lambda():
    for slope in (0.5, -0.5):
        parts, g = one_pair(slope)
        for lam, proven in ((0.4, False), (0.5, False), (0.5 * (1 + 1e-9), True), (0.6, True)):
            assert np.isfinite(lower_at(parts, lam, 1, "hinge", g)) == proven, lam


def test_a_norm_whose_distance_from_lambda_is_not_certain_gives_no_value():
    """Around λ = ‖S‖₂ the interval of their difference holds 0, by which nothing may be divided."""
    parts, g = one_pair(0.5)
    found, lam = [], 0.5 * (1 - 40 * 2.0**-53)
    for _ in range(400):
        found.append(np.isfinite(lower_at(parts, lam, 1, "hinge", g)))
        lam = float(np.nextafter(lam, 1))
    assert found == sorted(found)
    assert (found[0], found[-1]) == (False, True)


def test_the_rounding_of_the_matrix_counts_in_its_norm(monkeypatch):
    """With γ a tenth, a matrix may be told a tenth too small: its true norm is above λ."""
    honest, slack = dual.product, 0.1
    monkeypatch.setattr(dual, "gamma", lambda k: slack)
    monkeypatch.setattr(dual, "norm_of", lambda S: float(np.linalg.norm(S.toarray(), 2)))
    monkeypatch.setattr(dual, "product", lambda *of: honest(*of) * (1 - slack))
    for left in (1.0, -1.0):
        parts, g = one_pair(-0.5, left)
        assert lower_at(parts, 0.5 * (1 - slack / 2), 1, "hinge", g) == -np.inf
        assert np.isfinite(lower_at(parts, 0.55, 1, "hinge", g))


def test_more_roundings_are_counted_than_there_are_pairs(monkeypatch):
    asked, honest = [], dual.gamma
    monkeypatch.setattr(dual, "gamma", lambda k: asked.append(k) or honest(k))
    parts, g = drawn(3)
    lower_at(parts, 50.0, 1, "hinge", g)
    assert asked[0] == len(parts.y) + 16


def test_signs_of_features_do_not_hide_the_rounding_of_the_matrix(monkeypatch):
    """Two pairs cancel in S, or not: with γ = 1/10 it may be off by 2/10 either way."""
    monkeypatch.setattr(dual, "gamma", lambda k: 0.1)
    monkeypatch.setattr(dual, "norm_of", lambda S: float(np.linalg.norm(S.toarray(), 2)))
    for first, slopes in ((1.0, [-1.0, -1.0]), (-1.0, [-1.0, -1.0]), (1.0, [-1.0, 1.0])):
        left, right, linear = (sparse.csr_array(np.array([[each], [1.0]])) for each in (first, 1.0, 0.0))
        g, norm = np.array(slopes), abs(first * slopes[0] + slopes[1])
        for sides in ((left, right), (right, left)):
            parts = Parts(*sides, linear, -np.sign(slopes), np.ones(2))
            assert lower_at(parts, norm + 0.19, 1, "hinge", g) == -np.inf
            assert np.isfinite(lower_at(parts, norm + 0.21, 1, "hinge", g))


def test_conjugates_and_where_they_are_finite():
    y, g = np.array([1.0, -1.0, 1.0]), np.array([-0.25, 0.5, 0.0])
    np.testing.assert_array_equal(negative_conjugate(g, y, "hinge"), [0.25, 0.5, 0])
    np.testing.assert_array_equal(negative_conjugate(g, y, "squared"), [0.25 - 1 / 32, 0.5 - 1 / 8, 0])
    enclosed = negative_conjugate(Interval(g), y, "squared")
    assert (enclosed.lo <= negative_conjugate(g, y, "squared")).all()
    assert (enclosed.hi >= negative_conjugate(g, y, "squared")).all()
    one = np.ones(1)
    for slope, hinge in ((0.0, True), (-1.0, True), (-0.5, True), (1e-300, False), (-1 - 1e-15, False), (1.0, False)):
        assert admitted(np.array([slope]), one, "hinge") is hinge
        assert admitted(np.array([slope]), one, "squared")
        assert not admitted(np.array([slope, np.nan]), np.ones(2), "hinge")
        assert not admitted(np.array([slope, np.inf]), np.ones(2), "squared")
        assert not admitted(np.array([np.nan, slope]), np.ones(2), "squared")
    assert not admitted(np.array([-0.5, 0.5]), np.ones(2), "hinge")


def test_parts_of_dyads_are_their_sides_targets_and_prices():
    dyads = Dyads([0, 1, 1], [1, 0, 1], [1, -1, 1], importance=np.array([1.0, 2.0, 0.5]))
    parts = parts_of(dyads)
    np.testing.assert_allclose(parts.prices, [1 / 3, 2 / 3, 0.5 / 3])
    assert parts.y.tolist() == [1, -1, 1]
    assert (parts.left.toarray() == dyads.left.toarray()).all()
    assert (parts.right.toarray() == dyads.right.toarray()).all()
    assert (parts.linear.toarray() == dyads.linear.toarray()).all()


# ── norms ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("norm", [spectral, schur])
def test_norms_of_rank_one_are_never_below_and_hardly_above(norm):
    """‖uvᵀ‖₂² = ‖u‖²‖v‖², in whole numbers: here the norm is the Frobenius norm, and any rounding down would show."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        u, v = rng.integers(1, 99, int(rng.integers(1, 9))), rng.integers(1, 99, int(rng.integers(1, 9)))
        true = int(u @ u) * int(v @ v)
        for sign in (1, -1):
            found = Fraction(norm(sparse.csr_array(np.outer(u, sign * v).astype(float)))) ** 2
            assert true <= found <= true * (1 + Fraction(1, 10**5 if norm is schur else 10**10))


@pytest.mark.parametrize(("norm", "sharp"), [(spectral, 1.002), (schur, np.inf)])
def test_norms_are_no_smaller_than_those_of_linear_algebra(norm, sharp):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        S = rng.normal(size=rng.integers(1, 9, 2)) * 10.0 ** rng.integers(-5, 5)
        true = np.linalg.norm(S, 2)
        assert true * (1 - 1e-14) <= norm(sparse.csr_array(S)) <= true * sharp
        size = np.linalg.norm(abs(S), 2)
        assert schur(sparse.csr_array(abs(S))) <= size * 1.01, "sharp where no entry is below 0"
    assert spectral(np.zeros((2, 3))) == 0


def test_the_dense_norm_is_taken_up_to_as_many_features(monkeypatch):
    monkeypatch.setattr(dual, "spectral", lambda S: "dense")
    monkeypatch.setattr(dual, "schur", lambda S: "sparse")
    monkeypatch.setattr(dual, "DENSE", 3)
    shapes = {(3, 9): "dense", (9, 3): "dense", (4, 4): "sparse", (2, 2): "dense", (4, 9): "sparse"}
    for shape, told in shapes.items():
        assert norm_of(sparse.csr_array(shape)) == told


def test_slopes_without_a_value_prove_nothing():
    parts, g = one_pair(-0.5)
    assert lower_at(parts, 1.0, 1, "hinge", 3 * g) == -np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        alone, g = one_pair(1e160, left=0.0)
        assert lower_at(alone, 1.0, 1, "squared", g) == -np.inf
        assert lower_at(parts, 1e308, 0, "squared", np.array([1e200])) == -np.inf
        assert lower_at(parts, 1e308, 0, "squared", np.array([-1e200])) == -np.inf


def test_norms_widen_each_step_by_what_it_rounds(monkeypatch):
    """Of a number a, with γ = 1/100: √(b + γ)(1 + γ) for each of 16 roots and the last, from b = 1 + γ on."""
    asked, slack, a = [], 0.01, 3.0
    monkeypatch.setattr(dual, "gamma", lambda k: asked.append(k) or slack)
    bound = 1 + slack
    for _ in range(17):
        bound = np.sqrt(bound + slack) * (1 + slack)
    assert spectral(sparse.csr_array([[a]])) == pytest.approx(a * bound, rel=1e-14)
    assert schur(sparse.csr_array([[-a]])) == pytest.approx(a * np.sqrt(1 + slack) * (1 + slack), rel=1e-14)
    for shape in ((2, 7), (7, 2)):
        spectral(np.ones(shape))
        schur(sparse.csr_array(np.ones(shape)))
    assert asked == [17, 18, 23, 30, 23, 30]


@pytest.mark.parametrize("least", [0.05, 0.3, 0.6])
def test_norms_hold_where_the_last_power_still_changes(least):
    """diag(1, r) with r^65536 = 0.05, …: its norm is 1, and the last of 17 squarings counts."""
    for power in (15, 16, 17):
        found = spectral(np.diag([1.0, least ** (2.0**-power)]))
        assert 1 <= found <= 1 + 1e-5


@pytest.mark.parametrize("loss", LOSSES)
def test_the_value_beside_a_fixed_left_side_is_that_of_fractions_rounded_down(loss):
    for seed in range(25):
        (parts, g), rng = drawn(seed), np.random.default_rng([seed, 1])
        given, lam = rng.normal(size=(parts.left.shape[1], seed % 3)), float(rng.uniform(0.1, 2))
        (L, R, X), y, prices, A, slopes = map(exact, parts[:3]), *map(exact, (parts.y, parts.prices, given, g))
        gains, omega, a = -slopes * y - (slopes * slopes / 2 if loss == "squared" else 0), prices * slopes, L @ A
        pushes = [X.T @ omega, *(R.T @ (omega * (each + 1)) for each in a.T)]
        true = (prices * gains).sum() + Fraction(lam) / 2 * (A * A).sum() + sum(omega @ each for each in a.T)
        true -= sum((push * push).sum() for push in pushes) / (2 * Fraction(lam))
        found = lower_beside(parts, given, lam, loss, g)
        assert Fraction(found) <= true
        assert found == pytest.approx(float(true), rel=1e-9, abs=1e-12)
    assert lower_beside(parts, given, lam, "hinge", g + 3 * parts.y) == -np.inf
    alone, g = one_pair(1e160, left=0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        assert lower_beside(alone, np.zeros((1, 0)), 1.0, "squared", g) == -np.inf
