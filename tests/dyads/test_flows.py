"""Importance-aware flows against the full gradient flow, against themselves, and over hard cases."""

from __future__ import annotations

from functools import cache

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.special import wrightomega

import workbench as wb
from workbench.arithmetic.compiled import compiled, signed
from workbench.backends import solve_cvxpy
from workbench.dyads import flows

seeds = st.integers(0, 2**32 - 1)


@cache
def ours():
    """The functions of flows.py, compiled where numba is."""
    return flows.machine()


def drawn(seed):
    """(a, b, w, x, y, T) at random, sizes within what an ODE solver takes."""
    rng = np.random.default_rng(seed)
    (a, b), (w, x) = rng.normal(size=(2, rng.integers(1, 4))), rng.normal(size=(2, rng.integers(1, 4)))
    return a * 10 ** rng.uniform(-1, 0.5), b, w, x, float(rng.choice([-1, 1])), float(10 ** rng.uniform(-2, 1))


def tame(loss, at, y):
    """Whether the exponential loss is small enough for floats to follow the flow."""
    return loss != "exponential" or y * at.p > -6


def full_flow(loss, a, b, w, x, y, T):
    """(a, b, w) by DOP853 on all parameters."""
    k, slope = len(a), flows.SLOPE[loss]

    def field(t, z):
        rate = slope(z[:k] @ z[k : 2 * k] + z[2 * k :] @ x, y)
        return -rate * np.concatenate([z[k : 2 * k], z[:k], x])

    margin = lambda t, z: y * (z[:k] @ z[k : 2 * k] + z[2 * k :] @ x) - 1  # noqa: E731
    margin.terminal = loss == "hinge"
    if loss == "hinge" and margin(0, np.concatenate([a, b, w])) >= 0:
        return np.concatenate([a, b, w])
    done = solve_ivp(field, (0, T), np.concatenate([a, b, w]), "DOP853", rtol=1e-12, atol=1e-13, events=margin)
    return done.y[:, -1]


@pytest.mark.parametrize("loss", flows.SLOPE)
def test_updates_are_the_full_gradient_flow(loss):
    for seed in range(12):
        a, b, w, x, y, T = drawn(seed)
        at = flows.curve(a, b, w, x)
        if tame(loss, at, y):
            found = np.concatenate(flows.moved(a, b, w, x, flows.stepper(loss, ours())(*at, y, T)))
            np.testing.assert_allclose(found, full_flow(loss, a, b, w, x, y, T), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("loss", flows.SLOPE)
@given(seed=seeds, part=st.floats(0, 1), size=st.floats(-3, 4))
def test_two_updates_are_one(loss, seed, part, size):
    """h₁ then h₂ = h₁ + h₂; each a_i² − b_i² and UV stay; the prediction never passes the label or the margin."""
    a, b, w, x, y, _ = drawn(seed)
    at, step, T = flows.curve(a, b, w, x), flows.stepper(loss, ours()), 10.0**size
    if not tame(loss, at, y):
        return
    s = step(*at, y, T)
    once = flows.moved(a, b, w, x, s)
    half = flows.moved(a, b, w, x, step(*at, y, part * T))
    twice = flows.moved(*half, x, step(*flows.curve(*half, x), y, T - part * T))
    scale = max(1.0, *(np.abs(each).max() for each in once))
    np.testing.assert_allclose(np.concatenate(once), np.concatenate(twice), rtol=1e-10, atol=1e-10 * scale)
    np.testing.assert_allclose(once[0] ** 2 - once[1] ** 2, a**2 - b**2, rtol=1e-10, atol=1e-10 * scale**2)
    after = flows.curve(*once, x)
    assert pytest.approx(at.U * at.V, rel=1e-10) == after.U * after.V
    assert ours().predicted(s, *at) == pytest.approx(after.p, rel=1e-9, abs=1e-9 * scale**2)
    slope = flows.SLOPE[loss]
    before, now = slope(at.p, y), slope(after.p, y)
    assert abs(now) <= abs(before) * (1 + 1e-9)
    assert before * now >= -1e-8 * scale**2 * abs(before)


@pytest.mark.parametrize("loss", flows.SLOPE)
@pytest.mark.parametrize("T", [1.0, 40.0, 1e4])
@pytest.mark.parametrize("kind", ["flat", "diagonal", "steep", "neither"])
def test_hard_curves(loss, T, kind):
    """Curves flat for long that rise then, a hyperdiagonal, a steep one, none at all: no step goes too far."""
    at = {
        "flat": flows.Curve(-4.3e-7, 2.4e-15, 3.2e-13, 2.2e-12),
        "diagonal": flows.Curve(2.0, 8.0, 0.0, 0.0),
        "steep": flows.Curve(1437.0, 6500.0, 700.0, 0.35),
        "neither": flows.Curve(0.5, 0.0, 0.0, 0.0),
    }[kind]
    step, y = flows.stepper(loss, ours()), -1.0
    if not tame(loss, at, y) or (loss == "exponential" and at.p > 100):
        return
    s = step(*at, y, T)
    half = step(*at, y, 0.3 * T)
    moved = flows.Curve(ours().predicted(half, *at), at.U * np.exp(-2 * half), at.V * np.exp(2 * min(half, 300)), at.X)
    assert half + step(*moved, y, 0.7 * T) == pytest.approx(s, rel=1e-8)
    if loss in ("hinge", "squared", "cosh"):
        assert s >= 0
        assert ours().predicted(s, *at) >= y - 1e-8 * max(1.0, abs(at.p))


@given(seed=seeds)
def test_h_in_many_small_steps(seed):
    """A thousand gradient steps of size T/1000 come near the flow, and nearer with ten times as many."""
    a, b, w, x, y, _ = drawn(seed % 20)
    at = flows.curve(a, b, w, x)
    exact = np.concatenate(flows.moved(a, b, w, x, flows.stepper("logistic", ours())(*at, y, 0.5)))
    errors = []
    for count in (100, 1000):
        u, v, z = a.copy(), b.copy(), w.copy()
        for _ in range(count):
            rate = 0.5 / count * flows.logistic_slope(u @ v + z @ x, y)
            u, v, z = u - rate * v, v - rate * u, z - rate * x
        errors.append(np.abs(np.concatenate([u, v, z]) - exact).max())
    assert errors[1] <= 0.2 * errors[0] + 1e-12
    assert errors[1] <= 0.02


@pytest.mark.parametrize("loss", flows.TRAVEL)
def test_the_general_flow_is_the_closed_form_on_lines(loss):
    rng = np.random.default_rng(1)
    for _ in range(300):
        p, y = rng.normal() * 10 ** rng.uniform(-2, 1), float(rng.choice([-1, 1]))
        X, T = 10 ** rng.uniform(-2, 2), 10 ** rng.uniform(-3, 3)
        s = flows.TRAVEL[loss](p, y, T * X) / X
        assert flows.stepper(loss, ours())(p, 0.0, 0.0, X, y, T) == pytest.approx(s, rel=1e-10)


@given(m=st.floats(-700, 700), tau=st.floats(1e-12, 1e12))
def test_logistic_travel_is_a_wright_omega_function(m, tau):
    found = flows.logistic_travel(m, 1.0, tau)
    assert np.isfinite(found)
    assert found <= 0
    if m < 300:
        c = m + np.exp(m) + tau
        assert m - found == pytest.approx(c - wrightomega(c).real, rel=1e-9, abs=1e-9 * (abs(c) + 1))


def test_a_hinge_update_is_the_passive_aggressive_program():
    """argmin ½‖w' − w‖² + ηh·hinge(w') in CVXPY, at every finite h (PA-I: Crammer et al. 2006)."""
    rng = np.random.default_rng(2)
    for eta in (0.01, 0.1, 1.0, 10.0):
        w, x, y = rng.normal(size=4), rng.normal(size=4), float(rng.choice([-1, 1]))
        new = cp.Variable(4)
        program = cp.Problem(cp.Minimize(cp.sum_squares(new - w) / 2 + eta * cp.pos(1 - y * (new @ x))))
        solve_cvxpy(program, "CLARABEL")
        s = flows.stepper("hinge", ours())(w @ x, 0.0, 0.0, x @ x, y, eta)
        np.testing.assert_allclose(w - s * x, new.value, atol=1e-6)
        assert s == pytest.approx(flows.hinge_travel(w @ x, y, eta * (x @ x)) / (x @ x))


# ── the inverse ───────────────────────────────────────────────────────────────────────────────────


def hard_cases(n, seed):
    """Targets and curves: hyperdiagonals, X = 0, norms from 1e-150 to 1e150, targets at and next to p."""
    rng = np.random.default_rng(seed)

    def size(low, high, present=1.0):
        return 10 ** rng.uniform(low, high, n) * (rng.random(n) < present)

    U, X = size(-150, 150, 0.8), size(-100, 100, 0.6)
    V = np.where(rng.random(n) < 0.3, U * size(-16, 0), size(-150, 150, 0.8))
    tame = rng.random(n) < 0.5
    for array in (U, V, X):
        array[tame] = size(-3, 3, 0.8)[tame]
    p = np.where(rng.random(n) < 0.5, (U - V) / 4, rng.normal(size=n) * size(-3, 3))
    target = rng.normal(size=n) * size(-8, 8)
    target = np.select([rng.random(n) < 0.1, rng.random(n) < 0.1], [p, p * (1 + 1e-9)], target)
    return target, p, U, V, X


def each(function, target, p, U, V, X, out):
    for i in range(len(p)):
        out[i] = function(target[i], p[i], U[i], V[i], X[i])


def over(name, *arrays):
    """A function of five floats over arrays, compiled."""
    out, one = np.empty(len(arrays[0])), np.empty(1)
    loop = compiled(each, signed(None, flows.signature(name), *[one] * 6)) if ours().reach is not flows.reach else each
    loop(getattr(ours(), name), *arrays, out)
    return out


def test_the_inverse_over_a_million_hard_cases():
    """Sixty steps always do: p(s) = target to rounding, never NaN, ±∞ exactly where nothing gets there."""
    cases = hard_cases(1_200_000 if ours().reach is not flows.reach else 20_000, 0)
    target, p, U, V, X = cases
    s = over("reach", *cases)
    assert not np.isnan(s).any()
    short, rest = np.where(target < p, U, V), np.where(target < p, V, U)
    lost = (rest == 0) & (X == 0) & (4 * abs(target - p) >= short) & (target != p)
    np.testing.assert_array_equal(lost, np.isinf(s))
    assert lost.sum() > len(p) / 100
    assert (np.sign(s) == np.sign(p - target)).all()
    s, target, p, U, V, X = (array[~lost] for array in (s, *cases))
    with np.errstate(over="ignore", invalid="ignore"):
        up, down = np.exp(np.abs(s)), np.exp(-np.abs(s))
        grows, falls = np.where(s < 0, U, V), np.where(s < 0, V, U)
        steep = 0.5 * (np.where(grows > 0, grows * up * up, 0) + falls * down * down) + X
    error = np.abs(over("predicted", s, p, U, V, X) - target)
    assert (error <= 2.0**-52 * (8 * abs(target - p) + 4 * abs(p) + 4 * abs(s) * steep)).all()


def test_compiled_is_interpreted_to_the_last_bit():
    if ours().reach is flows.reach:
        pytest.skip("numba is not installed")
    plain = flows.machine(fast=False)
    for seed in range(20):
        a, b, w, x, y, T = drawn(seed)
        at = flows.curve(a, b, w, x)
        assert ours().reach(y, *at) == plain.reach(y, *at)
        for loss in ("hinge", "squared", "logistic"):
            fast, slow = (flows.stepper(loss, tools)(*at, y, T) for tools in (ours(), plain))
            assert fast == pytest.approx(slow, rel=1e-14)


# ── the least importance ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("loss", flows.SLOPE)
def test_h_min_is_the_importance_that_gets_there(loss):
    for seed in range(20):
        a, b, w, x, y, T = drawn(seed)
        at = flows.curve(a, b, w, x)
        if (loss == "hinge" and y * at.p >= 1) or not tame(loss, at, y):
            continue
        s = flows.stepper(loss, ours())(*at, y, 0.1 * T)
        target = ours().predicted(0.9 * s, *at)
        h = flows.least_importance(target, at, y, loss, step=0.5)
        again = flows.stepper(loss, ours())(*at, y, 0.5 * h)
        assert ours().predicted(again, *at) == pytest.approx(target, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("loss", ["hinge", "squared", "logistic"])
def test_h_min_is_infinite_away_from_the_label(loss):
    at = flows.Curve(0.5, 1.0, 0.5, 1.0)
    assert flows.least_importance(0.2, at, 1.0, loss) == np.inf
    assert flows.least_importance(0.5, at, 1.0, loss) == 0
    assert 0 < flows.least_importance(0.2, at, -1.0, loss) < np.inf


def test_h_min_says_what_no_update_reaches():
    diagonal = flows.Curve(1.0, 4.0, 0.0, 0.0)  # a = b, no linear features: p stays positive
    assert flows.least_importance(-0.5, diagonal, -1.0) == np.inf
    assert flows.least_importance(0.5, diagonal, -1.0) < np.inf
    assert flows.least_importance(1.5, flows.Curve(0.0, 1.0, 1.0, 1.0), 1.0) == np.inf  # beyond the margin
    with pytest.raises(wb.BadInput, match="no loss 'hinje'"):
        flows.stepper("hinje", ours())
