"""M x and Mᵀx by the compiled loops: the same floats as SciPy's, and true bounds beside those of `matvec`."""

from __future__ import annotations

import math
from copy import deepcopy
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from workbench.arithmetic import products
from workbench.arithmetic.intervals import TINY, Interval, U, matvec


def drawn(seed, signed=True, rows=9, columns=7, k=3):
    rng = np.random.default_rng(seed)
    matrix = sparse.random_array((rows, columns), density=0.4, rng=rng, format="csr")
    matrix.data[:] = rng.normal(size=matrix.nnz) if signed else rng.random(matrix.nnz)
    held = np.flatnonzero(rng.random(rows) < 0.7)
    low = rng.normal(size=(len(held), k)) * 10.0 ** rng.integers(-6, 6, (len(held), k))
    low, high = (each * (rng.random(low.shape) < 0.8) for each in (low, low + rng.random(low.shape) * 1e-9))
    return sparse.csr_array(matrix), held, Interval(np.minimum(low, high), np.maximum(low, high))


@pytest.fixture(autouse=True, params=["compiled", "plain"])
def always(monkeypatch, request):
    """The loops as they are compiled, and as they stand there."""
    monkeypatch.setattr(products, "MANY", 0)
    if request.param == "compiled":
        pytest.importorskip("numba")
    else:
        monkeypatch.setattr(products, "available", lambda: True)
        monkeypatch.setattr(products, "compiled_function", lambda function, *_: function)


def entries_of(matrix):
    return np.bincount(matrix.indices, minlength=matrix.shape[1])


def few(x):
    """The rows of x by those entries that are not zero, in an order of their own."""
    rows, columns = np.nonzero((x.lo != 0.0) | (x.hi != 0.0))
    order = np.random.default_rng(len(rows)).permutation(len(rows))
    rows, columns = rows[order], columns[order]
    return products.Few(rows, columns, x[rows, columns], x.lo.shape[1])


def turned(matrix, held, x, entries=None, spread=products.serially):
    """The ends as an interval (k, columns), None if there are none."""
    found = products.turned(matrix, held, few(x), entries_of(matrix) if entries is None else entries, spread)
    if found is None:
        return None
    assert found.shape == (x.lo.shape[1] * matrix.shape[1],)
    assert np.isfinite(found.lo).all()
    assert np.isfinite(found.hi).all()
    squares = found.squared()
    shape = x.lo.shape[1], matrix.shape[1]
    ends = Interval(found.lo.reshape(shape), found.hi.reshape(shape))
    check_squares(ends, squares)
    return ends


def check_squares(ends, squares):
    """Σ x² at the point of each interval next to 0 and at the farthest, as fractions, and hardly more."""
    low = sum(max(Fraction(a), -Fraction(b), Fraction(0)) ** 2 for a, b in zip(ends.lo.flat, ends.hi.flat, strict=True))
    high = sum(max(-Fraction(a), Fraction(b)) ** 2 for a, b in zip(ends.lo.flat, ends.hi.flat, strict=True))
    assert Fraction(float(squares.lo)) <= low <= high <= Fraction(float(squares.hi))
    assert float(squares.hi) <= float(high) * (1 + 1e-12) + 1e-290
    assert float(squares.lo) >= float(low) * (1 - 1e-12) - 1e-290


@given(seed=st.integers(0, 2**32 - 1), kinds=st.booleans())
@settings(max_examples=25)
def test_the_same_floats_as_scipy(seed, kinds):
    """Where the table of offsets has a row for each of three kinds, and where it has one for each label."""
    (matrix, held, _), rng = drawn(seed), np.random.default_rng(seed)
    table, truths = rng.normal(size=(7, 3)), np.array([2, 0, 1]) if kinds else np.arange(3)
    offset, kind = rng.normal(size=(3, 3)), rng.integers(3, size=9)
    place = matrix, held, table, offset, kind, truths
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "available", lambda: False)
        plain = products.highest(*place)
    scores = [(matrix[[i]] @ table)[0] for i in held]
    own = [scores[r][truths[kind[i]]] for r, i in enumerate(held)]
    found = products.highest(*place)
    assert found[0].tolist() == plain[0].tolist() == [int(np.argmax(each)) for each in scores]
    heights = [float(max(scores[r] - own[r] + offset[kind[i]])) for r, i in enumerate(held)]
    assert found[1].tolist() == plain[1].tolist() == heights


def test_the_first_of_equal_scores():
    matrix, nothing = sparse.csr_array(np.ones((1, 2))), np.zeros(1, np.int64)
    table = np.array([[1.0, 2.0, 2.0], [1.0, 1.0, 1.0]])
    labels, heights = products.highest(matrix, nothing, table, np.array([[0.0, 5.0, 7.0]]), nothing, nothing)
    assert (labels.tolist(), heights.tolist()) == ([1], [8.0])


@given(seed=st.integers(0, 2**32 - 1), signed=st.booleans(), columns=st.sampled_from([7, 64, 65, 200]))
@settings(max_examples=25)
def test_the_middles_of_two_products_and_no_narrower_ends(seed, signed, columns):
    """Of each column no wider than `matvec` finds it where all entries of a row of x are the largest of the row."""
    matrix, held, x = drawn(seed, signed, columns=columns)
    longest = int(entries_of(matrix).max())
    found, narrow = turned(matrix, held, x), matvec(matrix[held].T, x, longest=longest)
    middle = (x.lo + x.hi) / 2
    size, radius = (abs(each).max(axis=1, keepdims=True) * np.ones((1, 3)) for each in (middle, x.hi - x.lo))
    wide = matvec(abs(matrix[held]).T, Interval(size - radius, size + radius), longest=longest)
    assert (found.lo <= narrow.lo.T).all()
    assert (found.hi >= narrow.hi.T).all()
    assert ((found.hi - found.lo) <= (wide.hi - wide.lo).T * (1 + 1e-9)).all()
    np.testing.assert_allclose((found.lo + found.hi) / 2, (narrow.lo.T + narrow.hi.T) / 2, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_exact_sums_lie_inside(seed):
    """At both ends of x, entry by entry the least and the greatest exact sum."""
    matrix, held, x = drawn(seed)
    found = turned(matrix, held, x)
    dense = matrix[held].toarray()
    for j in range(dense.shape[1]):
        for y in range(x.lo.shape[1]):
            ends = zip(dense[:, j], x.lo[:, y], x.hi[:, y], strict=True)
            terms = [sorted(Fraction(m) * Fraction(end) for end in (low, high)) for m, low, high in ends]
            assert Fraction(found.lo[y, j]) <= sum(least for least, _ in terms)
            assert sum(most for _, most in terms) <= Fraction(found.hi[y, j])


def test_small_products_are_left_to_others(monkeypatch):
    matrix, held, x = drawn(0)
    monkeypatch.setattr(products, "MANY", matrix.nnz * 3 + 1)
    assert turned(matrix, held, x, np.full(7, 9)) is None
    monkeypatch.setattr(products, "MANY", matrix.nnz * 3)
    assert turned(matrix, held, x, np.full(7, 9)) is not None
    monkeypatch.setattr(products, "available", lambda: False)
    assert turned(matrix, held, x, np.full(7, 9)) is None


def test_small_products_are_left_to_scipy(monkeypatch):
    """And all of them, where numba is missing."""
    matrix, held, _ = drawn(0)
    loops = []
    monkeypatch.setattr(products, "compiled_function", lambda function, *_: loops.append(function) or function)
    for many, there, compiled in ((0, True, True), (0, False, False), (1, True, False)):
        monkeypatch.setattr(products, "MANY", matrix.nnz * 3 + many)
        monkeypatch.setattr(products, "available", lambda there=there: there)
        zeros = np.zeros(9, np.int64)
        _, heights = products.highest(matrix, held, np.ones((7, 3)), np.ones((3, 3)), zeros, np.arange(3))
        assert heights.shape == held.shape
        assert loops == [products.topped] * compiled
        loops.clear()


def test_ends_err_by_the_terms_that_the_docstring_names(monkeypatch):
    """With γ_k = k/1024, of which nothing is rounded: one radius for both entries of a row, and 1 + 2γ of their sum."""
    monkeypatch.setattr(products, "gamma", lambda k: k / 1024)
    matrix = sparse.csr_array(np.array([[2.0, 0.0, 9.0], [-1.0, 0.5, 9.0], [9.0, 9.0, 9.0]]))
    x = Interval([[1.0, -5.0], [3.0, 1.0]], [[2.0, -3.0], [3.0, 3.0]])
    found, gamma = turned(matrix, np.array([0, 1]), x, np.array([2, 4, 3])), 12 / 1024
    radii = np.array([gamma * 4 + 1, gamma * 2 + 1])
    assert radii[0] > gamma * 1.5 + 0.5
    assert radii[1] > gamma * 3
    width = (abs(matrix.toarray())[:2].T @ radii) * (1 + 2 * gamma)
    centre = np.array([[1.5, -4.0], [3.0, 2.0]]).T @ matrix.toarray()[:2]
    assert found.lo.tolist() == (centre - width).tolist()
    assert found.hi.tolist() == (centre + width).tolist()


def test_a_column_without_entries_errs_by_what_underflows():
    """TINY for each entry of the longest column, and for each rounding beside."""
    matrix = sparse.csr_array(np.array([[1e-200, 0.0], [1e-200, 0.0]]))
    found = turned(matrix, np.arange(2), Interval(np.full((2, 1), 1e-200)))
    assert found.hi.tolist() == [[10 * TINY, 10 * TINY]]
    assert found.lo.tolist() == [[-10 * TINY, -10 * TINY]]
    assert 0 < 2 * Fraction(1e-200) ** 2 < Fraction(found.hi[0, 0])


@pytest.mark.parametrize("x", [2.0**-1074, 3.3e-310, -3.3e-310, 2.0**-1022, 1e-292])
def test_weights_whose_errors_underflow(x):
    """γ |x| is no float, and the matrix makes a large number of what is lost."""
    found = turned(sparse.csr_array(np.array([[1.1e100]])), np.arange(1), Interval(np.full((1, 1), x)))
    assert Fraction(found.lo[0, 0]) <= Fraction(1.1e100) * Fraction(x) <= Fraction(found.hi[0, 0])
    assert found.hi[0, 0] - found.lo[0, 0] <= 1.1e100 * max(abs(x) * 1e-14, 3 * 2.0**-1074)


@pytest.mark.parametrize("k", [1, 2, 20, 200])
def test_squares_whose_sum_loses_them(k):
    """1 and 6000 numbers u/2, which vanish one by one beside it: no sum takes more of them than its error counts."""
    sums = np.full((6000 // k + 1, k), 2.0**-27)
    sums[0, 0] = 1.0
    found = products.Turned(sums, np.zeros(len(sums))).squared()
    true = 1 + (sums.size - 1) * Fraction(1, 2**54)
    assert Fraction(float(found.lo)) <= true <= Fraction(float(found.hi))


def test_a_copy_is_a_plain_interval():
    """A product keeps sums, a copy of it the ends: among the knots of a path, and for another process."""
    found = products.Turned(np.arange(6.0).reshape(3, 2), np.arange(3.0))
    copied = deepcopy(found)
    assert type(copied) is Interval
    assert (copied.lo.tolist(), copied.hi.tolist()) == ([0, 1, 2, 1, 2, 3], [0, 3, 6, 1, 4, 7])
    assert (found.lo.tolist(), found.hi.tolist()) == (copied.lo.tolist(), copied.hi.tolist())


def test_radii_whose_sum_rounds_down():
    """A column of 1 and 3000 numbers u, whose sum is 1: x may be 1 or −1 throughout."""
    column = np.append(1.0, np.full(3000, U))
    x = Interval(-np.ones((3001, 1)), np.ones((3001, 1)))
    found = turned(sparse.csr_array(column[:, None]), np.arange(3001), x)
    assert Fraction(found.lo[0, 0]) <= -1 - 3000 * Fraction(U) < -1
    assert 1 < 1 + 3000 * Fraction(U) <= Fraction(found.hi[0, 0])


def test_few_entries_among_zeros():
    x = products.Few(np.array([1, 0, 1]), np.array([0, 2, 1]), Interval([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), 3)
    assert x.dense(3).lo.tolist() == [[0, 0, 2], [1, 3, 0], [0, 0, 0]]
    assert x.dense(3).hi.tolist() == [[0, 0, 5], [4, 6, 0], [0, 0, 0]]


@given(seed=st.integers(0, 2**32 - 1), shuffled=st.booleans())
@settings(max_examples=25)
def test_a_survey_of_rows_and_columns(seed, shuffled):
    """By three runs of rows: NumPy's floats and counts, and whether rows are in order, as SciPy finds it."""
    (matrix, _, _), rng = drawn(seed), np.random.default_rng(seed)
    indices, data = matrix.indices.copy(), matrix.data.copy()
    if shuffled:
        for low, high in pairwise(matrix.indptr):
            order = low + rng.permutation(high - low)
            indices[low:high], data[low:high] = matrix.indices[order], matrix.data[order]
    elif seed % 2:
        indices[1:] = np.where(np.diff(np.repeat(np.arange(9), np.diff(matrix.indptr))), indices[1:], indices[:-1])
    place = data, indices, matrix.indptr

    def runs(function, some):
        return [function(run) for run in np.array_split(some, 3)]

    looked, fresh, plain = (sparse.csr_array(place, shape=matrix.shape) for _ in range(3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "COUNTED", 0)
        sizes, entries = products.survey(looked, runs)
        patch.setattr(products, "COUNTED", len(data) + 1)
        others = products.survey(plain)
    assert looked.has_sorted_indices == fresh.has_sorted_indices
    assert (sizes.tolist(), entries.tolist()) == tuple(each.tolist() for each in others)
    assert entries.tolist() == np.bincount(indices, minlength=7).tolist()


@pytest.mark.parametrize("row", [[1, 0, 2], [0, 2, 1], [2, 1, 0]])
def test_a_survey_sees_each_fall(row, monkeypatch):
    monkeypatch.setattr(products, "COUNTED", 0)
    matrix = sparse.csr_array((np.ones(4), np.array([2, *row]), np.array([0, 1, 4])), shape=(2, 3))
    products.survey(matrix)
    assert not matrix.has_sorted_indices


@pytest.mark.parametrize(("few", "there", "compiled"), [(0, True, True), (0, False, False), (1, True, False)])
def test_few_entries_are_left_to_numpy(few, there, compiled, monkeypatch):
    matrix, loops = drawn(0)[0], []
    monkeypatch.setattr(products, "COUNTED", matrix.nnz + few)
    monkeypatch.setattr(products, "available", lambda: there)
    monkeypatch.setattr(products, "compiled_function", lambda function, *_: loops.append(function) or function)
    sizes, _ = products.survey(matrix)
    assert loops == [products.surveyed] * compiled
    np.testing.assert_allclose(sizes, abs(matrix).sum(axis=1))


def test_a_matrix_without_columns_has_no_ends():
    found = turned(sparse.csr_array((2, 0)), np.arange(2), Interval(np.ones((2, 3))))
    assert found.shape == (3, 0)


def test_squares_ask_for_no_ends_but_where_rows_are_longer_than_a_block():
    rng = np.random.default_rng(1)
    for labels, made in ((1, False), (100, False), (256, False), (257, True)):
        found = products.Turned(rng.normal(size=(3, labels)), rng.random(3))
        squares = found.squared()
        assert (found.ends is not None) == made
        check_squares(found, squares)
    assert found.made() is found.made()


@pytest.mark.parametrize("runs", [1, 2, 3, 64])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_threads_that_share_the_columns_find_the_same_ends(runs, seed):
    """Runs of columns, called one after the other, the first one first or the last one."""
    (matrix, held, x), columns, asked = drawn(seed, columns=200), 200, []
    matrix.sort_indices()
    order = np.random.default_rng(seed).permutation(columns) if seed % 2 else np.arange(columns)
    entries = entries_of(matrix) * (order < 50)  # most of the entries stand in a few columns, or are said to

    def spread(function, some):
        for run in np.array_split(some, min(runs, len(some)))[:: 1 if seed % 3 else -1]:
            asked.append(run.tolist())
            function(run)

    entries[0] = max(entries.max(), entries_of(matrix).max())
    whole, parts = (products.turned(matrix, held, few(x), entries, each) for each in (products.serially, spread))
    for pieces in (products.RUNS, -(-columns // (products.SUMMED // 3))):  # of the columns, and of the squares
        assert sorted(each for run in asked for each in run) == list(range(pieces))
        assert len(asked) == min(runs, pieces)
        asked.clear()
        squares = [each.squared() for each in (whole, parts)]
    assert len({(float(each.lo), float(each.hi)) for each in squares}) == 1
    assert (parts.lo.tolist(), parts.hi.tolist()) == (whole.lo.tolist(), whole.hi.tolist())


def test_threads_share_about_as_many_entries(monkeypatch):
    """The first of 100 columns has half of all entries."""
    matrix = sparse.csr_array(np.vstack([np.ones((1, 100)), np.ones((99, 1)) @ np.eye(1, 100)]))
    seen, sound = [], products.scattered
    monkeypatch.setattr(products, "scattered", lambda *place: seen.append(place[9:11]) or sound(*place))
    monkeypatch.setattr(products, "compiled_function", lambda function, *_: function)
    x = few(Interval(np.ones((100, 2))))
    products.turned(matrix, np.arange(100), x, entries_of(matrix), halves)
    assert seen == [(0, 1), (1, 100)]
    products.turned(matrix, np.arange(100), x, np.full(100, 100), halves)
    assert seen[2:] == [(0, 50), (50, 100)]


def halves(function, runs):
    for run in np.array_split(runs, 2):
        function(run)


def test_rows_out_of_order_are_not_shared():
    matrix = sparse.csr_array((np.arange(1.0, 4.0), np.array([2, 0, 1]), np.array([0, 3])), shape=(1, 3))
    asked = []
    x, one = Interval(np.ones((1, 2))), np.ones(3, np.int64)
    found = products.turned(matrix, np.zeros(1, np.int64), few(x), one, lambda *_: asked.append(1))
    assert not asked
    np.testing.assert_allclose(found.lo, [2.0, 3.0, 1.0] * 2)


@pytest.mark.parametrize("few", [-3, 0, 1])
@pytest.mark.parametrize("there", [True, False])
def test_squares_of_rows_come_from_the_compiled_loop_where_there_are_many(few, there, monkeypatch):
    """COUNTED entries or more."""
    matrix, loops, compiled = drawn(1)[0], [], products.compiled_function
    monkeypatch.setattr(products, "COUNTED", matrix.nnz + few)
    monkeypatch.setattr(products, "available", lambda: there)
    monkeypatch.setattr(products, "compiled_function", lambda *place: loops.append(place[0]) or compiled(*place))
    np.testing.assert_allclose(products.squares_of(matrix), matrix.multiply(matrix) @ np.ones(7), rtol=1e-15)
    assert loops == [products.summed_squares] * (there and few <= 0)


def test_squares_of_rows_of_any_length():
    """Rows of 0 to 12 entries, each of a size of its own, behind which four sums meet."""
    values = np.sqrt(2.0) ** np.arange(-40, 38)
    starts, squares = np.cumsum([0, *range(13)]), np.empty(13)
    products.summed_squares(starts, values, squares)
    wanted = [math.fsum(values[a:b] ** 2) for a, b in pairwise(starts)]
    np.testing.assert_allclose(squares, wanted, rtol=1e-15)


def test_threads_sum_squares_of_columns_of_their_own(monkeypatch):
    """Two threads, of 40 runs of three columns in 118: each sees to its half, and to no column of the other."""
    seen, sound = [], products.sized
    monkeypatch.setattr(products, "sized", lambda *place: seen.append(place) or sound(*place))
    monkeypatch.setattr(products, "compiled_function", lambda function, *_: function)
    rng = np.random.default_rng(2)
    found = products.Turned(rng.normal(size=(118, 80)), rng.random(118), halves)
    squares = found.squared()
    assert [len(sums) for sums, *_ in seen] == [60, 58]
    assert [len(low) for *_, low, _ in seen] == [20, 20]
    check_squares(found, squares)
