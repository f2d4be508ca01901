"""The finish on a face: the best weights on the rows that have weight, whether or not rows depend on one another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from workbench.backends import BACKENDS, ConeProgram
from workbench.contracts import Rows
from workbench.solving.masters import face
from workbench.solving.masters.face import products, settled


def drawn(rng, groups=4, each=5, p=6, hard=False):
    """Rows of a few groups, multipliers on all of them, and prices; with p below the rows' number they depend."""
    count = groups * each
    table = np.round(3 * rng.normal(size=(count, p)), 2)
    owners = np.full(count, -1) if hard else np.repeat(np.arange(groups), each)
    rows = Rows(sparse.csr_array(table), rng.uniform(0, 2, count), owners)
    prices = np.empty(0) if hard else rng.uniform(0.5, 2, groups)
    weights = rng.uniform(0.1, 1, count)
    if not hard:
        weights *= (prices / np.bincount(owners, weights))[owners]
    return rows, weights, prices


def dual(rows, beta, curvature):
    push = rows.slopes.T @ beta
    return rows.offsets @ beta - push @ push / (2 * curvature)


def best_dual(rows, prices, curvature):
    """The optimum over all rows by an interior-point method."""
    gram = products(rows.slopes, rows.slopes) / curvature
    members = sparse.csc_array((np.arange(len(prices))[:, None] == rows.groups).astype(float))
    program = ConeProgram(gram, -rows.offsets, members, prices, zero=len(prices), nonneg=0, lower_zero=True)
    return dual(rows, np.maximum(BACKENDS["CLARABEL"].solve(program, 1e-10).x, 0), curvature)


@given(seed=st.integers(0, 2**32 - 1), p=st.integers(1, 25))
@settings(max_examples=60)
def test_no_step_lowers_the_dual_and_the_weights_stay_a_distribution(seed, p):
    rng = np.random.default_rng(seed)
    rows, weights, prices = drawn(rng, p=p)
    found = settled(rows, weights, prices, 0.5)
    assert found is not None
    assert (found >= 0).all()
    np.testing.assert_allclose(np.bincount(rows.groups, found), prices, rtol=1e-12)
    assert dual(rows, found, 0.5) >= dual(rows, weights, 0.5) - 1e-12


@given(seed=st.integers(0, 2**32 - 1), each=st.integers(2, 25), p=st.integers(1, 12), even=st.booleans())
@settings(max_examples=60)
def test_rows_that_become_zero_at_once_leave_the_sums_alone(seed, each, p, even):
    """Counts as features, equal weights: a row that falls by rounding only must not leave, since the directions after
    it would be combined by 1/rounding.
    """
    rng = np.random.default_rng(seed)
    owners = np.repeat(np.arange(8), each)
    table, offsets = rng.integers(-1, 2, (8 * each, p)).astype(float), rng.integers(0, 3, 8 * each).astype(float)
    rows, prices = Rows(sparse.csr_array(table), offsets, owners), np.full(8, 1 / 8)
    weights = np.ones(8 * each) if even else rng.integers(1, 9, 8 * each).astype(float)
    weights *= (prices / np.bincount(owners, weights))[owners]
    found = settled(rows, weights, prices, 0.05)
    np.testing.assert_allclose(np.bincount(owners, found), prices, rtol=1e-12)
    before = dual(rows, weights, 0.05)
    assert dual(rows, found, 0.05) >= before - 1e-12 * abs(before)


@given(seed=st.integers(0, 2**32 - 1), p=st.integers(2, 25))
@settings(max_examples=60)
def test_the_finish_repeated_makes_the_rows_of_a_group_equally_high(seed, p):
    """Once no weight turns negative, heights are equal on the rows that are left, and these are independent."""
    rows, beta, prices = drawn(np.random.default_rng(seed), p=p)
    for _ in range(20):
        beta = settled(rows, beta, prices, 0.5)
    heights = rows.offsets - rows.slopes @ (rows.slopes.T @ beta) / 0.5
    held = np.flatnonzero(beta)
    for group in range(len(prices)):
        own = heights[held[rows.groups[held] == group]]
        assert own.max() - own.min() <= 1e-8 * (1 + np.abs(own).max())
    first = np.unique(rows.groups[held], return_index=True)[1]
    table = rows.slopes.toarray()[held]
    beside = np.delete(table - table[first][rows.groups[held]], first, axis=0)
    assert np.linalg.matrix_rank(beside) == len(beside)


@pytest.mark.parametrize("p", [3, 30])
def test_with_the_rows_of_the_optimum_it_is_the_optimum(p):
    rng = np.random.default_rng(p)
    rows, _, prices = drawn(rng, groups=6, p=p)
    gram = products(rows.slopes, rows.slopes) / 0.5
    members = sparse.csc_array((np.arange(len(prices))[:, None] == rows.groups).astype(float))
    program = ConeProgram(gram, -rows.offsets, members, prices, zero=len(prices), nonneg=0, lower_zero=True)
    rough = np.maximum(BACKENDS["CLARABEL"].solve(program, 1e-6).x, 0)
    found = settled(rows, rough, prices, 0.5, 1e-4)
    assert dual(rows, found, 0.5) == pytest.approx(best_dual(rows, prices, 0.5), rel=1e-9)
    heights = rows.offsets - rows.slopes @ (rows.slopes.T @ found) / 0.5
    risk = sum(p * heights[rows.groups == g].max() for g, p in enumerate(prices))
    assert risk - found @ heights <= 1e-10 * abs(risk)  # no other row is higher


def test_rows_that_are_the_same_leave_the_better_offset():
    """Two rows of one slope: the weight goes to the one of the greater offset, and θ stays."""
    slopes = sparse.csr_array(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]]))
    rows = Rows(slopes, np.array([0.3, 0.1, 0.0]), np.zeros(3, np.int64))
    found = settled(rows, np.array([0.2, 0.3, 0.5]), np.ones(1), 1e6)
    assert found[1] == 0
    assert found.sum() == pytest.approx(1)


def test_faint_weights_are_none_and_groups_of_one_row_stay():
    rows, weights, prices = drawn(np.random.default_rng(3))
    faint = weights.copy()
    faint[::5] = prices[0] * 1e-9
    assert (settled(rows, faint, prices, 0.5, 1e-6)[::5] == 0).all()
    alone = np.zeros(20)
    alone[::5] = prices
    np.testing.assert_array_equal(settled(rows, alone, prices, 0.5), alone)


def test_without_weights_or_with_too_many_rows_there_is_no_finish(monkeypatch):
    rows, weights, prices = drawn(np.random.default_rng(4))
    assert settled(rows, 0 * weights, prices, 0.5) is None
    assert settled(rows, np.where(rows.groups == 2, 0, weights), prices, 0.5) is None
    monkeypatch.setattr(face, "FEW", 19)
    assert settled(rows, weights, prices, 0.5) is None


def test_hard_rows_reach_their_margins_and_contradictions_have_no_finish():
    rng = np.random.default_rng(5)
    rows, weights, prices = drawn(rng, groups=1, each=3, p=8, hard=True)
    found = settled(rows, weights, prices, 0.5)
    heights = rows.offsets - rows.slopes @ (rows.slopes.T @ found) / 0.5
    assert np.abs(heights[found > 0]).max() < 1e-10
    against = Rows(sparse.csr_array(np.array([[1.0, 2.0], [-1.0, -2.0]])), np.ones(2), np.full(2, -1))
    assert settled(against, np.ones(2), prices, 0.5) is None


def test_a_run_ends_after_few_solves_with_weights_that_gained():
    rows, weights, prices = drawn(np.random.default_rng(6), groups=3, each=40, p=200)
    found = settled(rows, weights, prices, 1e-3)
    assert dual(rows, found, 1e-3) > dual(rows, weights, 1e-3)


def test_inner_products_of_sparse_and_of_dense_rows(monkeypatch):
    monkeypatch.setattr(face, "PIECE", 3)
    rng = np.random.default_rng(7)
    for density in (0.02, 0.9):
        table = sparse.csr_array(sparse.random(7, 40, density, rng=rng))
        np.testing.assert_allclose(products(table, table), (table @ table.T).toarray())
