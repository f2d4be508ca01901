"""The semidefinite lower bound of dyadic models: proven, near the program's value, never above any model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.dyads.dual import spectral
from workbench.dyads.dyadic import Dyadic, regularised_risk
from workbench.dyads.nuclear import alternate, given_left, lower_at, nuclear_bound, parts_of
from workbench.dyads.pairs import Dyads, Factors, simulated

LOSSES = ("hinge", "squared")


def small(seed):
    rng = np.random.default_rng(seed)
    n = 30
    left, right = rng.integers(0, 5, n), rng.integers(0, 6, n)
    y = np.sign(rng.normal(size=5)[left] * rng.normal(size=6)[right] + 0.3 * rng.normal(size=n))
    y[:2] = -1, 1
    return Dyads(left, right, y, importance=rng.uniform(0.5, 2, n)), rng


def drawn(dyads, rng, k, size):
    shapes = (dyads.left.shape[1], 1, k), (dyads.right.shape[1], 1, k), (dyads.linear.shape[1], 1)
    return Factors(*(size * rng.normal(size=shape) for shape in shapes))


@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 9), columns=st.integers(1, 9))
def test_the_bound_on_the_spectral_norm_is_one_and_sharp(seed, rows, columns):
    S = np.random.default_rng(seed).normal(size=(rows, columns))
    true = np.linalg.norm(S, 2)
    assert true * (1 - 1e-14) <= spectral(S) <= true * 1.002
    assert spectral(np.zeros((2, 3))) == 0


@pytest.mark.parametrize("loss", LOSSES)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(0, 3), scale=st.floats(-3, 0.5))
def test_any_slopes_are_below_any_model(loss, seed, k, scale):
    dyads, rng = small(seed)
    lam = 10 ** rng.uniform(-2, 0)
    y = dyads.targets
    g = -y * rng.random(30) if loss == "hinge" else rng.normal(size=30)
    lower = lower_at(parts_of(dyads), lam, k, loss, g * 10**scale)
    for size in (0.0, 0.1, 1.0):
        assert lower <= regularised_risk(dyads, drawn(dyads, rng, k, size), lam, loss)


@pytest.mark.parametrize("slope", [1.001, -0.001])
def test_slopes_outside_the_conjugates_domain_prove_nothing(slope):
    """One slope with −yg = 1.001, or below 0, has ℓ*(g) = ∞ for the hinge; the square takes any."""
    dyads, rng = small(40)
    g = -dyads.targets * rng.random(30)
    parts = parts_of(dyads)
    assert np.isfinite(lower_at(parts, 5.0, 1, "hinge", g))
    g[7] = -dyads.targets[7] * slope
    assert lower_at(parts, 5.0, 1, "hinge", g) == -np.inf
    assert np.isfinite(lower_at(parts, 5.0, 1, "squared", g))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("k", "learned", "alternated"), [(1, 2.0, 2.0), (6, 1.15, 1.01)])
def test_the_learner_stays_above_the_proven_bound(loss, k, learned, alternated):
    """The bound is nearly the program's value; with as many dimensions as G has rank nothing is lost."""
    dyads, _ = small(1)
    lam = 0.05
    bound = nuclear_bound(dyads, lam, k, loss)
    assert bound.lower <= bound.value + 1e-6
    assert bound.lower >= 0.999 * bound.value
    factors = Dyadic(k, loss, step=0.2, power=0.7, lam=lam, spread=0.5).fit(dyads, 300).factors
    risk = regularised_risk(dyads, factors, lam, loss)
    risks = [regularised_risk(dyads, each, lam, loss) for each in alternate(dyads, factors, lam, 4, loss)]
    assert bound.lower <= min(risks)
    assert (np.diff([risk, *risks]) <= 1e-6).all()
    assert risk <= learned * bound.lower
    assert risks[-1] <= alternated * bound.lower


@pytest.mark.parametrize("loss", LOSSES)
def test_the_best_right_side_is_certified(loss):
    dyads, rng = small(3)
    A = rng.normal(size=(5, 2))
    factors, bound = given_left(dyads, A, 0.1, loss)
    risk = regularised_risk(dyads, factors, 0.1, loss)
    assert bound.lower <= risk
    assert risk - bound.lower <= 1e-5 * risk
    for _ in range(20):
        other = Factors(factors.A, factors.B + 0.1 * rng.normal(size=factors.B.shape), factors.W)
        assert regularised_risk(dyads, other, 0.1, loss) >= bound.lower


def test_what_the_bound_refuses():
    dyads, _ = small(0)
    with pytest.raises(wb.BadInput, match="lam is 0"):
        nuclear_bound(dyads, 0, 1)
    with pytest.raises(wb.BadInput, match="choose hinge or squared"):
        nuclear_bound(dyads, 0.1, 1, "logistic")
    with pytest.raises(wb.BadInput, match="at most 200"):
        nuclear_bound(simulated(300, 2, 20, classes=2), 0.1, 1)
    with pytest.raises(wb.BadInput, match="no ±1 targets"):
        nuclear_bound(simulated(10, 2, 5, classes=3), 0.1, 1)
