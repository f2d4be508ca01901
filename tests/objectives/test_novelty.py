"""Novelty: the compiled batch against the declared program, closed forms, and its own proofs."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import workbench as wb
from workbench.arithmetic import compiled
from workbench.backends import solve_cvxpy
from workbench.errors import BackendFailed
from workbench.objectives import least_change
from workbench.objectives.novelty_program import least_change_program
from workbench.proofs.bounds import Bounds
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


def in_fractions(rows, needs):
    """min ½‖δ‖² exactly, by the optimality conditions of every set of active rows; None if no δ keeps the rows."""
    A = [[Fraction(x) for x in row] for row in np.asarray(rows, float).tolist()]
    b = [Fraction(x) for x in np.asarray(needs, float).tolist()]
    gram = [[sum(x * y for x, y in zip(one, other, strict=True)) for other in A] for one in A]
    for size in range(min(np.shape(rows)) + 1):
        for active in itertools.combinations(range(len(b)), size):
            weights = solved([[gram[r][s] for s in active] for r in active], [b[r] for r in active])
            if weights is None or min(weights, default=0) < 0:
                continue
            reached = [sum(v * gram[r][s] for v, s in zip(weights, active, strict=True)) for r in range(len(b))]
            if all(got >= need for got, need in zip(reached, b, strict=True)):
                return sum(v * b[r] for v, r in zip(weights, active, strict=True)) / 2
    return None


def solved(matrix, right):
    """Gauss–Jordan in fractions; None if singular."""
    table = [[*row, last] for row, last in zip(matrix, right, strict=True)]
    for j in range(len(table)):
        pivot = next((i for i in range(j, len(table)) if table[i][j] != 0), None)
        if pivot is None:
            return None
        table[j], table[pivot] = table[pivot], table[j]
        table[j] = [x / table[j][j] for x in table[j]]
        for i in range(len(table)):
            if i != j:
                table[i] = [x - table[i][j] * y for x, y in zip(table[i], table[j], strict=True)]
    return [row[-1] for row in table]


def assert_true(found, rows, needs, i=0):
    """Value, interval and δ of sample i against fractions; ∞ only for what is, or is 1e14 times its hardest row."""
    true, value = in_fractions(rows, needs), found.values[i]
    if true is None:
        assert value == found.upper[i] == np.inf
        assert "contradict" in found.reasons[i]
        return
    assert Fraction(min(found.lower[i], 1.7e308)) <= true
    assert found.upper[i] == np.inf or true <= Fraction(found.upper[i])
    if value == np.inf:
        assert true >= Fraction(10) ** 28 * Fraction(least_change.floor(rows, needs)) * Fraction(0.99)
        return
    assert abs(Fraction(value) - true) <= true * Fraction(1e-8)
    assert found.upper[i] <= found.lower[i] * (1 + 1e-8)
    length = np.linalg.norm(found.changes[i])
    assert (rows @ found.changes[i] - needs >= -1e-14 * np.linalg.norm(rows, axis=1) * length).all()


def conditioned(rng, family, scale):
    """A small program that gets worse as `scale` falls from 1."""
    m, d = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    rows, needs = rng.normal(size=(m, d)), rng.uniform(0.5, 1.5, size=m)
    if family == "columns":
        rows[:, 1:] *= scale
    if family == "nearly parallel":
        rows[1:] = rows[0] * rng.choice([-1, 1], size=(m - 1, 1)) + scale * rows[1:]
    if family == "opposite parts":
        rows[:, d // 2 :] *= scale
        rows[1, : d // 2] = -rows[0, : d // 2]
    if family == "units":
        rows, needs = rows * 10.0 ** rng.uniform(np.log10(scale), 0, size=(m, 1)), needs * scale
    if family == "whole":
        rows, needs = np.round(2 * rows) + (rows > 0), np.round(needs)
        rows[:, 1:] *= 2.0 ** np.round(np.log2(scale))
    if family == "all but contradictory":
        rows[1:] = -rows[:1] * rng.choice([1, 0.5, 0.3], size=(m - 1, 1))
        needs[1:] = -needs[0] * rng.choice([1, 0.5, 0.3], size=m - 1) - rng.choice([0, -1, 1], size=m - 1) * scale
    return rows, needs


FAMILIES = ["columns", "nearly parallel", "opposite parts", "units", "whole", "all but contradictory"]


@settings(max_examples=60)
@given(seed=seeds, family=st.sampled_from(FAMILIES), exponent=st.floats(0, 6))
def test_badly_conditioned_rows_against_fractions(seed, family, exponent):
    rows, needs = conditioned(np.random.default_rng(seed), family, 10.0**-exponent)
    assert_true(wb.novelties([[(rows, needs)]]), rows, needs)


@settings(max_examples=20)
@given(seed=seeds, family=st.sampled_from(FAMILIES), exponent=st.floats(0, 6))
def test_the_least_of_badly_conditioned_states(seed, family, exponent):
    rng = np.random.default_rng(seed)
    states = [conditioned(rng, family, 10.0**-exponent) for _ in range(3)]
    states = [(np.pad(rows, ((0, 0), (0, 4 - rows.shape[1]))), needs) for rows, needs in states]
    found = wb.novelties([states])
    exact = [in_fractions(*state) for state in states]
    true = min((each for each in exact if each is not None), default=None)
    if found.states[0] < 0:
        assert true is None or true >= 10**20
    else:
        assert abs(Fraction(found.values[0]) - true) <= true * Fraction(1e-8)
        assert Fraction(found.lower[0]) <= true <= Fraction(found.upper[0])
        assert_true(found, *states[found.states[0]])


@pytest.mark.parametrize("small", 10.0 ** -np.arange(0, 13.1, 0.5))
def test_nearly_opposite_rows_have_a_closed_form(small):
    """(1, 0)·δ ≥ 1 and (−1, ε)·δ ≥ 1: δ = (1, 2/ε)."""
    found = wb.novelties([[([[1, 0], [-1, small]], [1, 1])]])
    assert found.values[0] == pytest.approx((1 + 4 / small**2) / 2, rel=1e-8)
    assert found.changes[0] == pytest.approx([1, 2 / small], rel=1e-8)
    assert found.lower[0] <= found.values[0] <= found.upper[0] <= found.lower[0] * (1 + 1e-8)


def test_numbers_at_the_ends_of_floats():
    found = wb.novelties([[([[entry, 0.0]], [1.0])] for entry in (1e160, 1e200, 1e-150, 1e-160)])
    assert 0 < found.values[0] == pytest.approx(5e-321, rel=1e-2)
    assert found.changes[0] == pytest.approx([1e-160, 0], rel=1e-15, abs=0)
    assert found.lower[1] == 0 < found.upper[1]
    assert found.values[2] == pytest.approx(5e299, rel=1e-14)
    assert (found.values[3], found.upper[3], found.states[3]) == (np.inf, np.inf, -1)
    assert 1e308 < found.lower[3] < np.inf
    assert "beyond floats" in found.reasons[3]
    mixed = (np.array([[1e150, 1e-140], [-1e-150, 1e-290]]), np.array([1e100, -1e-200]))
    assert_true(wb.novelties([[mixed]]), *mixed)


def test_evidence_is_a_proof():
    """Opposite rows whose needs all but agree: no δ, however long; the bound is that of every δ, not of one λ."""
    rows = np.array([[1.0, 2.0], [-1.0, -2.0]])
    found = wb.novelties([[(rows, [1.0, -1 + 1e-9])], [(rows, [1.0, -1 - 1e-9])], [(rows, [1.0, -1.0])]])
    assert found.lower[0] == found.values[0] == np.inf
    assert found.values[1:] == pytest.approx([0.1, 0.1], rel=1e-12)
    assert (found.upper[1:] <= found.lower[1:] * (1 + 1e-9)).all()


@given(seed=seeds)
def test_fractions_end_where_floats_do_from_any_start(seed):
    rng = np.random.default_rng(seed)
    (rows, needs) = keepable(rng, 1, int(rng.integers(1, 9)), int(rng.integers(1, 6)))[0]
    assume((needs > 0).any())
    value = wb.novelties([[(rows, needs)]]).values[0]
    start = rng.exponential(size=len(needs)) * (rng.random(len(needs)) < 0.5)
    answer = least_change.exact_answer(rows, needs, start)
    assert answer.value == pytest.approx(value, rel=1e-9)
    assert answer.lower <= answer.value <= answer.upper <= answer.lower * (1 + 1e-15) + 1e-323


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
    """Feasible without interior, where no float δ surely keeps the rows: fractions prove both bounds."""
    rows = np.array([[1.0, 1.0], [-1.0, -1.0], [0.0, 1.0]])
    found = wb.novelties([[(rows, np.array([1.0, -1.0, 2.0]))]])
    assert found.values[0] == pytest.approx(2.5)
    assert found.lower[0] == pytest.approx(2.5)
    assert found.lower[0] <= 2.5 <= found.upper[0] <= 2.5 + 1e-14


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
    mask = np.arange(problem.n_samples) == 1
    for samples, chosen in (([2, 0], [2, 0]), (mask, [1]), (~mask, np.flatnonzero(~mask)), ([], [])):
        np.testing.assert_array_equal(wb.novelty(problem, w, samples).values, whole.values[chosen])


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
        (None, "a list of samples"),
        ([1.0], "a list of samples"),
        ([[[[1.0, 2.0]]]], "a list of samples"),
        ([[([[1.0, 2.0], [1.0]], [1.0, 1.0])]], "a list of samples"),
    ],
)
def test_faulty_programs(samples, message):
    with pytest.raises(wb.BadInput, match=message):
        wb.novelties(samples)


def test_faulty_problems():
    problem = OUTPUTS["multiclass"].tiny(np.random.default_rng(1))
    with pytest.raises(wb.BadInput, match="the problem needs"):
        wb.novelty(problem, [1.0])
    w = np.zeros(problem.n_features)
    for samples in ([99], [0, -1], [problem.n_samples]):
        with pytest.raises(wb.BadInput, match="There is no sample"):
            wb.novelty(problem, w, samples)
    for samples in (0, [0.5], [[0]], "ab", [True], [None]):
        with pytest.raises(wb.BadInput, match="a list of indices, or a mask"):
            wb.novelty(problem, w, samples)
    with pytest.raises(wb.MissingCapability, match="outputs listed"):
        wb.novelty(object(), [1.0])
