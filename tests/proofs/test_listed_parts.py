"""The parts of the bounds by tables, each against its definition in fractions: sizes, heights, sums of cuts, limits.

Where a bound has room to spare, the true number cannot tell whether all of its terms are there. There γ_k is k/1024, or
a step outward a quarter, and the bound is computed by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from workbench.arithmetic import intervals
from workbench.arithmetic.intervals import TINY, Interval, U
from workbench.contracts import Listing
from workbench.objectives.oracles import MarginRescaling
from workbench.outputs.multiclass import Multiclass
from workbench.proofs import listed
from workbench.proofs.listed import Tables, tables_of

FAR = 1e100
STEP = 0.25  # outward, where it is as coarse


def tables_from(rows, truth, offset, kind=None):
    """`Tables` of rows x_i, and of the true labels and offsets of their kinds; each row is of its own, if not told."""
    X, (kinds, k) = sparse.csr_array(np.array(rows, float)), np.shape(offset)
    kind, truth, offset = np.arange(len(rows)) if kind is None else np.array(kind), np.array(truth), np.array(offset)
    scale, nothing = 1.0 * (np.arange(k) != truth[:, None]), np.full((kinds, k), -1)
    place, square = (X.indptr, X.indices, X.data), X.power(2).sum(axis=1)
    return Tables(Listing(*place, square, kind, truth, scale, offset.astype(float), 0, nothing, 0.0, X.shape[1]))


def exact(numbers):
    return [Fraction(each) for each in np.ravel(numbers).tolist()]


def height(tables, i, W):
    """h_i, in fractions."""
    x, t = exact(tables.X.toarray()[i]), tables.truth[i]
    scores = [sum(w * each for w, each in zip(row, x, strict=True) if each) for row in map(exact, W)]
    offset = exact(tables.listing.offset[tables.listing.kind[i]])
    return max(o + score - scores[t] for o, score in zip(offset, scores, strict=True))


def alone(function, samples):
    """All samples in one run."""
    return [function(samples)]


def ends(tables, W, away=0.0):
    """Both ends of h_i of all samples, in fractions."""
    found = tables.hinges(np.ravel(W).astype(float), away, np.arange(tables.n), alone)
    return list(zip(exact(found.lo), exact(found.hi), strict=True))


def lost(count):
    """1 and as many numbers u, whose sum one after the other is 1."""
    return np.append(1.0, np.full(count, U))


@pytest.fixture
def coarse(monkeypatch):
    monkeypatch.setattr(listed, "gamma", lambda k: k / 1024)


# ── sizes ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "row", [lost(3000), -lost(3000), lost(1), [TINY], [5e-324, -TINY], [0.1, -0.2, 0.3], [0.0], [1e90]]
)
def test_sizes_are_those_of_the_rows_at_least_and_hardly_more(row):
    true = sum(map(abs, exact(row)))
    (size,) = exact(tables_from([row], [0], [[0.0, 1.0]]).sizes)
    assert true <= size <= true * (1 + Fraction(1, 10**11)) + len(row) * Fraction(TINY)


def test_sizes_are_computed_with_a_rounding_for_each_entry_of_the_longest_row_and_one_more(coarse):
    tables = tables_from([[2, -1, 1], [0, 0.5, 0], [0, 0, 0]], [0, 1, 1], np.zeros((3, 2)))
    assert tables.sizes.tolist() == [4 * (1 + 4 / 1024), 0.5 * (1 + 4 / 1024), 3 * TINY]


def test_the_longest_row_and_the_entries_of_columns():
    tables = tables_from([[1, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]], [0, 1, 1, 0], np.zeros((4, 2)))
    assert (tables.longest, tables.entries.tolist()) == (4, [3, 1, 1, 1])


@pytest.mark.parametrize("n", [0, 1, 3])
def test_rows_without_entries_and_no_rows_at_all(n):
    """Their heights are the offsets."""
    tables = tables_from(np.zeros((n, 2)), [0, 1], [[0.0, -1.0], [3.0, 0.0]], kind=np.array([0, 1, 1])[:n])
    assert (tables.longest, tables.entries.tolist()) == (0, [0, 0])
    assert tables.sizes.tolist() == [0.0] * n
    for (low, high), true in zip(ends(tables, [5.0, 6.0, 7.0, 8.0]), (0, 3, 3)[:n], strict=True):
        assert true - Fraction(1e-14) <= low <= true <= high <= true + Fraction(1e-14)


# ── heights ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("sign", [1, -1])
def test_heights_where_each_rounding_of_a_long_sum_counts(sign):
    """Both scores round 1 + 3000u to 1, where the weights are 1 and −1."""
    tables = tables_from([lost(3000)], [0], [[0.0, 0.0]])
    W = sign * np.array([[-1.0], [1.0]]) * np.ones((1, 3001))
    ((low, high),) = ends(tables, W)
    true = height(tables, 0, W)
    assert true == max(0, sign * 2 * (1 + 3000 * Fraction(U)))
    assert low <= true <= high
    assert high - low <= 2 * (2 * 3050 * Fraction(U))


def test_heights_below_the_least_float():
    """x_ij θ_j = 1e-400, which rounds to 0."""
    tables = tables_from([[1e-200, 1e-200, 1e-200]], [0], [[0.0, 0.0]])
    W = [[0.0] * 3, [1e-200] * 3]
    ((low, high),) = ends(tables, W)
    assert low <= 0 < height(tables, 0, W) <= high <= 4 * Fraction(TINY)


def test_weights_below_zero_are_as_large_as_those_above():
    tables = tables_from([[1.0, 2.0], [-1.0, 0.5]], [0, 1], [[0.0, 1.0], [1.0, 0.0]])
    W = np.array([[-3.0, -0.7], [-0.1, -0.2]])
    for i, (low, high) in enumerate(ends(tables, W)):
        assert low <= height(tables, i, W) <= high
        assert high - low <= Fraction(1e-13)


def test_weights_of_zero_give_the_largest_offset(monkeypatch):
    """To one step outward, and without a product."""
    monkeypatch.setattr(listed, "highest", None)
    tables = tables_from([[1.0, 2.0], [0.1, 0.3]], [0, 2], [[0.0, -0.1, -7.0], [0.1, -9.0, 0.0]])
    found = tables.hinges(np.zeros(6), 0.0, np.arange(2), alone)
    assert found.lo.tolist() == np.nextafter([0.0, 0.1], -1).tolist()
    assert found.hi.tolist() == np.nextafter([0.0, 0.1], 1).tolist()


@pytest.mark.parametrize("away", [1e-300, 1e-20, 0.1, 3.0, 1e99])
@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 1e9])
def test_heights_at_the_farthest_points(away, scale):
    """Where every weight of the true label moves against those of the others, as the entries of the sample have it."""
    rng = np.random.default_rng(1)
    rows = np.vstack([rng.normal(size=(3, 4)), [[0.1, 0, 0, 0]]])
    tables = tables_from(rows, [0, 1, 2, 0], [[0, 1, 1], [1, 0, 0.1], [-1, -0.3, 0], [0, 1, 1]])
    W = rng.normal(size=(3, 4)) * scale
    for i, (low, high) in enumerate(ends(tables, W, away)):
        against = np.sign(rows[i]) * np.where(np.arange(3) == tables.truth[i], -1, 1)[:, None]
        point, step = (np.reshape(exact(each), (3, 4)) for each in (W, against * away))
        least, most = (height(tables, i, point + way * step) for way in (-1, 1))
        assert low <= least <= most <= high
        wide = 4 * Fraction(away) * Fraction(float(tables.sizes[i]))
        assert high - low <= wide * Fraction(1.001) + Fraction(1e-12 * (1 + scale))


@pytest.mark.parametrize("away", [0.0, 0.5])
@pytest.mark.parametrize("scale", [0.0, 1.0, -0.5])
def test_heights_err_by_the_terms_that_the_docstring_names(away, scale, monkeypatch, coarse):
    """γ of 3 entries and SPARE for 2 ‖x‖₁ ‖θ‖_∞ + o, then 2 ‖x‖₁ δ; a step outward after each but the first."""
    monkeypatch.setattr(listed, "up", lambda x: x + STEP)
    monkeypatch.setattr(listed, "down", lambda x: x - STEP)
    tables = tables_from([[2, -1, 1], [0, 0.5, 0]], [0, 2], [[0, -4, 2], [1, -8, 0]])
    W = scale * np.array([[1.0, 2.0, 0.0], [0.5, 1.0, 4.0], [0.0, 1.0, 1.0]])
    for i, (low, high) in enumerate(ends(tables, W, away)):
        norm, most = ((4, 4), (Fraction(1, 2), 8))[i]
        norm *= 1 + Fraction(4, 1024)
        error = Fraction(11, 1024) * (2 * norm * Fraction(4 * abs(scale)) + most) if scale else 0
        error += 2 * norm * Fraction(away) + 2 * Fraction(STEP) if away else 0
        assert (low, high) == tuple(height(tables, i, W) + way * (error + Fraction(STEP)) for way in (-1, 1))


def test_labels_of_highest_score_of_the_last_product_of_all_samples():
    rng = np.random.default_rng(0)
    tables = tables_from(rng.normal(size=(7, 2)), np.arange(7) % 3, np.ones((7, 3)))
    theta, everyone = rng.normal(size=6), np.arange(7)
    best = (tables.X @ theta.reshape(3, 2).T).argmax(axis=1)
    assert len(set(best.tolist())) > 1
    assert tables.decoded(theta) is None, "there was no product"
    tables.hinges(theta, 0.0, everyone, lambda function, some: [function(some[:1]), function(some[1:])])
    assert tables.decoded(theta).tolist() == best.tolist()
    assert tables.decoded(theta + 1e-9) is None
    tables.hinges(theta, 0.0, everyone[:6], alone)
    assert tables.decoded(theta) is None, "one sample is missing"
    tables.hinges(theta, 0.0, everyone, alone)
    kept = theta.copy()
    theta[:] = 0.0
    assert tables.decoded(kept).tolist() == best.tolist()
    assert tables.decoded(theta) is None
    theta[0] = 1.0
    tables.hinges(np.zeros(6), 0.0, everyone, alone)
    assert tables.decoded(np.zeros(6)).tolist() == [0] * 7
    assert tables.decoded(theta) is None


@pytest.mark.parametrize("place", range(6))
def test_threads_compare_all_inputs(place):
    """Runs of two inputs and of one; any weight that differs is seen, beside zeros, too."""
    rng = np.random.default_rng(1)
    tables = tables_from(rng.normal(size=(7, 3)), np.arange(7) % 2, np.ones((7, 2)))

    def spread(function, some):
        asked.extend(map(len, np.array_split(some, 2)))
        return [function(run) for run in np.array_split(some, 2)]

    for told in (np.arange(1.0, 7), np.zeros(6)):
        asked, other = [], told.copy()
        tables.hinges(told, 0.0, np.arange(7), alone)
        assert tables.decoded(told.copy(), spread) is not None
        assert asked == [2, 1]
        other[place] += 1.0
        assert tables.decoded(other, spread) is None


# ── limits ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("beyond", [FAR, 1.5 * FAR, 1e300, np.inf, np.nan])
def test_no_number_from_the_limit_on(beyond):
    """Neither a weight, nor how far it may be off, nor the size of a single row."""
    near = np.nextafter(FAR, 0)
    tables, everyone = tables_from([[1.0], [1.0]], [0, 1], [[0.0, 1.0], [1.0, 0.0]]), np.arange(2)
    for sign in (1, -1):
        assert tables.hinges(sign * np.array([1.0, near]), 1.0, everyone, alone)
        assert tables.hinges(sign * np.array([1.0, beyond]), 1.0, everyone, alone) is None
    assert tables.hinges(np.ones(2), near, everyone, alone)
    assert tables.hinges(np.ones(2), beyond, everyone, alone) is None
    tables.sizes = np.array([1.0, near])
    assert tables.hinges(np.ones(2), 0.0, everyone, alone)
    tables.sizes = np.array([1.0, beyond])
    assert tables.hinges(np.ones(2), 0.0, everyone, alone) is None


def test_numbers_near_the_limit_are_enclosed():
    near = float(np.nextafter(FAR, 0))
    tables = tables_from([[near / 2, -near / 4]], [0], [[0.0, 1.0]])
    W = [[-near, near], [near, near]]
    ((low, high),) = ends(tables, W, near)
    assert low <= height(tables, 0, W) <= high < Fraction(10) ** 202


def test_full_where_labels_are_few_for_each_cut_of_a_sample(monkeypatch):
    """Cuts of true labels do not count, and neither do samples without others."""
    monkeypatch.setattr(listed, "FULL", 2)
    tables = tables_from(np.ones((16, 1)), [0], np.zeros((1, 4)), kind=np.zeros(16, int))
    for samples, labels, full in (
        ([], [], True),
        ([3, 5], [0, 0], True),
        ([3], [1], False),
        ([3, 3], [1, 2], True),
        ([3, 3, 5], [1, 2, 3], False),
        ([3, 3, 5], [1, 2, 0], True),
        ([3, 5, 3, 5], [1, 1, 2, 3], True),
    ):
        assert tables.full(np.array(samples, int), np.array(labels, int)) == full


# ── sums of cuts ──────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def seen(monkeypatch):
    """What the products with Xᵀ are asked for."""
    found, matvec = [], listed.matvec

    def told(matrix, x, longest):
        found.append((matrix.shape, x, longest))
        return matvec(matrix, x, longest=longest)

    def turned(matrix, held, x, entries, spread):
        found.append((entries, held.tolist()))

    monkeypatch.setattr(listed, "matvec", told)
    monkeypatch.setattr(listed, "turned", turned)
    return found


def test_masses_of_true_labels_err_by_the_roundings_of_the_longest_sum(seen, monkeypatch):
    """And are rounded outward; the others are the weights. Rows without a mass are left out; columns have up to 3."""
    monkeypatch.setattr(intervals, "gamma", lambda k: k / 1024)
    tables = tables_from([[1.0, 3.0], [2.0, 1.0], [0, 4.0]], [2, 0, 1], np.zeros((3, 3)))
    samples, labels = np.array([0, 0, 0, 1, 2, 2, 2]), np.array([0, 1, 2, 1, 0, 1, 2])
    low = np.array([0.5, 0.25, 9.0, 0.0, 3.0, 9.0, 0.0])
    tables.push(samples, labels, Interval(low, 2 * low))
    (entries, held), (shape, some, longest) = seen
    assert (entries.tolist(), longest, held, shape) == ([2, 3], 3, [0, 2], (2, 2))
    least = np.nextafter(np.array([0.75, 3.0]) * (1 - 2 / 1024), -np.inf).tolist()
    most = np.nextafter(np.array([1.5, 6.0]) * (1 + 2 / 1024), np.inf).tolist()
    assert some.lo.tolist() == [[-1.0, -0.5, least[0]], [-6.0, least[1], 0.0]]
    assert some.hi.tolist() == [[-0.5, -0.25, most[0]], [-3.0, most[1], 0.0]]


@pytest.mark.parametrize("samples", [[0, 0, 0, 1], [0, 0, 1, 0], [1, 0, 0, 0]])
def test_a_cut_that_stands_there_twice_counts_twice(samples):
    """Side by side or apart, and one of them with a weight that may be zero."""
    tables = tables_from([[1.0], [10.0]], [1, 1], np.zeros((2, 2)))
    low, high = np.array([1.0, 2.0, 2.0, 0.0]), np.array([1.0, 8.0, 2.0, 4.0])
    found, own = tables.push(np.array(samples), np.zeros(4, int), Interval(low, high)), [1.0, 10.0]
    for ends, worst in ((low, found.hi[0]), (high, found.lo[0])):
        assert worst == pytest.approx(-sum(own[i] * weight for i, weight in zip(samples, ends, strict=True)))
    np.testing.assert_allclose([found.lo[1], found.hi[1]], [-found.hi[0], -found.lo[0]])


def test_masses_of_many_labels_where_each_rounding_counts():
    """64 ones, then 2560 numbers u, which are lost beside a one or more; sums by 64 at a time lose them all, too."""
    masses = np.append(np.ones(64), np.full(2560, U))
    tables = tables_from([[1.0]], [len(masses)], np.zeros((1, len(masses) + 1)))
    found = tables.push(np.zeros(len(masses), int), np.arange(len(masses)), Interval(masses))
    sums = [-Fraction(each) for each in masses.tolist()]
    sums.append(-sum(sums))
    for low, true, high in zip(exact(found.lo), sums, exact(found.hi), strict=True):
        assert low <= true <= high


def test_sums_of_deep_columns_where_each_rounding_counts(seen):
    """A column of 1 and 3000 numbers u."""
    n = 3001
    tables = tables_from(lost(n - 1)[:, None], np.zeros(n, int), np.zeros((n, 2)))
    found = tables.push(np.arange(n), np.ones(n, int), Interval(np.ones(n)))
    true = 1 + (n - 1) * Fraction(U)
    assert seen[-1][-1] == n
    for low, each, high in zip(exact(found.lo), (true, -true), exact(found.hi), strict=True):
        assert low <= each <= high


def test_offsets_are_those_of_the_samples_kinds():
    tables = tables_from(np.ones((3, 1)), [0, 1], [[0.0, 5.0], [7.0, 0.0]], kind=[1, 0, 1])
    assert tables.offsets(np.array([2, 1, 0]), np.array([0, 1, 1])).tolist() == [7.0, 5.0, 0.0]


# ── whose tables speak ────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Rounded(MarginRescaling):
    """Slopes or offsets of single samples that are rounded."""

    slope: tuple[float, ...] = (0.0, 0.0, 0.0)
    offset: tuple[float, ...] = (0.0, 0.0, 0.0)

    def slope_error(self, samples):
        return np.array(self.slope)[samples]

    def offset_error(self, samples):
        return np.array(self.offset)[samples]

    def listing(self):
        return super().listing()


def test_one_rounded_cut_is_one_too_many():
    problem = Multiclass(np.eye(3), [0, 1, 2])
    for slope in ((0.0, 0.0, 0.0), (0.0, 1e-300, 0.0), (1.0, 1.0, 1.0)):
        for offset in ((0.0, 0.0, 0.0), (0.0, 0.0, 1e-300), (1.0, 1.0, 1.0)):
            oracle = Rounded(problem, slope=slope, offset=offset)
            assert listed.speaks(oracle)
            assert (tables_of(oracle, problem, oracle.listing()) is None) == any(slope + offset)
