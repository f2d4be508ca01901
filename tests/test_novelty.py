"""Novelty: the compiled batch against the declared program, closed forms, and its own proofs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import workbench as wb
from workbench import compiled, least_change
from workbench.backends import solve_cvxpy
from workbench.bounds import Bounds
from workbench.errors import BackendFailed
from workbench.formulations._novelty import least_change_program
from workbench.registries import registry

OUTPUTS = dict(registry("output").items())
seeds = st.integers(0, 2**32 - 1)


def declared(states):
    """min over h of the declared program's value, by CVXPY."""
    values = []
    for rows, needs in states:
        program, _ = least_change_program(rows, needs)
        try:
            solve_cvxpy(program, "CLARABEL")
        except BackendFailed:
            return np.nan
        values.append(program.value)
    return min(values)


def keepable(rng, states, m, d):
    """States whose rows some δ keeps with room, so that several hold with equality at the least one."""
    drawn = []
    for _ in range(states):
        rows = rng.normal(size=(m, d))
        drawn.append((rows, rows @ rng.normal(size=d) - rng.exponential(size=m)))
    return drawn


@pytest.mark.parametrize("seed", range(12))
def test_the_batch_is_the_declared_program(seed):
    rng = np.random.default_rng(seed)
    cases = [keepable(rng, 3, int(rng.integers(2, 12)), 6) for _ in range(5)]
    found = wb.novelties(cases)
    for value, lower, upper, states in zip(found.values, found.lower, found.upper, cases, strict=True):
        assert value == pytest.approx(declared(states), rel=1e-8)
        assert lower <= upper <= lower * (1 + 1e-9)
        assert lower <= value * (1 + 1e-9)


@given(seed=seeds)
def test_bounds_are_proven_and_the_change_suffices(seed):
    rng = np.random.default_rng(seed)
    states = keepable(rng, int(rng.integers(1, 5)), int(rng.integers(1, 15)), int(rng.integers(1, 8)))
    if seed % 2:  # dependent rows, ties, degenerate vertices
        states = [(np.round(rows), np.round(needs)) for rows, needs in states]
    found = wb.novelties([states])
    if found.values[0] == np.inf:
        assert found.states[0] == -1
        assert "hidden state" in found.reasons[0]
        for rows, needs in states:
            assert linprog(np.zeros(rows.shape[1]), -rows, -needs, bounds=(None, None)).status == 2
        return
    rows, needs = states[found.states[0]]
    kept = rows @ found.changes[0] - needs
    assert (kept >= -1e-9 * (1 + np.abs(needs))).all()
    assert found.values[0] == pytest.approx(found.changes[0] @ found.changes[0] / 2)
    assert found.lower[0] == pytest.approx(found.values[0], rel=1e-8, abs=1e-12)
    if np.isfinite(found.upper[0]):
        assert (kept >= 0).all()
        assert found.lower[0] <= found.upper[0]


def test_one_rival_has_a_closed_form():
    rng = np.random.default_rng(0)
    cases = [[(rng.normal(size=(1, 4)), rng.normal(size=1)) for _ in range(6)] for _ in range(50)]
    forms = [min(max(b[0], 0) ** 2 / (2 * (a @ a.T).item()) for a, b in states) for states in cases]
    np.testing.assert_allclose(wb.novelties(cases).values, forms, rtol=1e-9)


@pytest.mark.parametrize("angle", [0.3, 1.2, 2.5, 3.1])
def test_two_rivals_have_a_closed_form(angle):
    """Two unit rows at an angle, both to be reached at 1: δ lies on their bisector at 1/cos(angle/2)."""
    rows = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
    found = wb.novelties([[(rows, np.ones(2))]])
    assert found.values[0] == pytest.approx(0.5 / np.cos(angle / 2) ** 2)
    assert found.active[0] == 2


def test_scaling():
    """b → cb scales Nov by c², A → cA by 1/c²."""
    states = keepable(np.random.default_rng(3), 2, 8, 5)
    value = wb.novelties([states]).values[0]
    for c in (1e-6, 0.1, 1e5):
        assert wb.novelties([[(a, c * b) for a, b in states]]).values[0] == pytest.approx(c**2 * value, rel=1e-9)
        assert wb.novelties([[(c * a, b) for a, b in states]]).values[0] == pytest.approx(value / c**2, rel=1e-9)


def test_contradicting_rows_are_infinite_with_a_reason():
    against = [(np.array([[1.0, 2.0], [-1.0, -2.0]]), np.ones(2))]
    same = [(np.array([[1.0, 0.0], [0.0, 0.0]]), np.ones(2))]
    nearly = [(np.array([[1.0, 0.0, 0.0], [-0.3, 0.1, 0.7], [-0.7, -0.1, -0.7]]), np.ones(3))]
    found = wb.novelties([[each[0]] for each in (against, same)])
    assert (found.values == np.inf).all()
    assert (found.states == -1).all()
    assert found.lower[0] > 1e12
    assert found.lower[1] == np.inf
    assert "contradict" in found.reasons[0]
    assert "same features" in found.reasons[1]
    rounded = wb.novelties([nearly])
    assert rounded.values[0] == np.inf
    assert rounded.lower[0] > 1e12
    mixed = wb.novelties([[against[0], (np.eye(2), np.ones(2))]])
    assert mixed.values[0] == pytest.approx(1)
    assert mixed.states[0] == 1


def test_rows_that_meet_in_a_point():
    """Feasible without interior: the value is right, the lower bound proven, the upper one honestly missing."""
    rows = np.array([[1.0, 1.0], [-1.0, -1.0], [0.0, 1.0]])
    found = wb.novelties([[(rows, np.array([1.0, -1.0, 2.0]))]])
    assert found.values[0] == pytest.approx(2.5)
    assert found.lower[0] == pytest.approx(2.5)
    assert found.lower[0] <= 2.5


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("seed", range(4))
def test_novelty_vanishes_with_the_slack(output, seed):
    """Nov = 0 exactly if ξ = 0, for outputs whose losses are positive; the optimum's own δ = 0."""
    rng = np.random.default_rng(seed)
    problem = OUTPUTS[output].tiny(rng)
    solution = wb.solve(wb.SoftMargin(lam=1e-2), problem)
    w = solution.theta["w"] * rng.choice([0.5, 1.0, 3.0])
    found = wb.novelty(problem, w)
    hinges = Bounds(wb.SoftMargin(), problem)
    everyone = np.arange(problem.n_samples)
    slopes, offsets = hinges.oracle.rows(everyone, problem.argmax(w, everyone))
    slack = slopes @ w + offsets
    assert ((found.values > 1e-12) == (slack > 1e-6)).all()
    for i in np.flatnonzero(np.isfinite(found.upper) & (found.values > 1e-12)):
        changed = w + found.changes[i]
        best = problem.argmax(changed, np.array([i]))
        slope, offset = hinges.oracle.rows(np.array([i]), best)
        assert (slope @ changed + offset)[0] <= 1e-9
        assert np.isfinite(declared([least_change.rivals(problem, w, i)]))


def test_novelty_of_some_samples():
    problem = OUTPUTS["multiclass"].tiny(np.random.default_rng(1))
    w = np.random.default_rng(2).normal(size=problem.n_features)
    whole = wb.novelty(problem, w)
    part = wb.novelty(problem, w, [2, 0])
    np.testing.assert_array_equal(part.values, whole.values[[2, 0]])


def test_interpreted_equals_compiled(monkeypatch):
    cases = [keepable(np.random.default_rng(seed), 3, 6, 4) for seed in range(5)]
    fast = wb.novelties(cases)
    monkeypatch.setattr(least_change, "available", lambda: False)
    slow = wb.novelties(cases)
    assert compiled.available()
    np.testing.assert_allclose(fast.values, slow.values, rtol=1e-12)
    np.testing.assert_array_equal(fast.states, slow.states)


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([[]], "Sample 0 has no hidden state"),
        ([[([[1.0, 2.0]], [1.0, 2.0])]], r"give \(m, d\) and \(m,\)"),
        ([[([[np.nan, 2.0]], [1.0])]], "not finite"),
        ([[([[1.0, 2.0]], [1.0])], [([[1.0]], [1.0])]], "same number"),
    ],
)
def test_faulty_programs(samples, message):
    with pytest.raises(wb.BadInput, match=message):
        wb.novelties(samples)


def test_faulty_problems():
    problem = OUTPUTS["multiclass"].tiny(np.random.default_rng(1))
    with pytest.raises(wb.BadInput, match="the problem needs"):
        wb.novelty(problem, [1.0])
    with pytest.raises(wb.MissingCapability, match="outputs listed"):
        wb.novelty(object(), [1.0])
