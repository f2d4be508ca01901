"""Interval arithmetic encloses the exact rational result, always."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from workbench.arithmetic import intervals
from workbench.arithmetic.intervals import (
    Interval,
    few,
    gamma,
    grouped_sum,
    inner,
    length,
    magnitudes,
    matvec,
    positive,
    total,
)
from workbench.objectives.regularizers import SquaredNorm

number = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: 0.0 if abs(x) < 1e-30 else x)
vectors = st.integers(1, 8).flatmap(
    lambda n: st.tuples(arrays(float, n, elements=number), arrays(float, n, elements=number))
)


def exact(x):
    return np.array([Fraction(float(v)) for v in np.ravel(x)], dtype=object)


def encloses(interval, value):
    pairs = zip(np.ravel(interval.lo), np.ravel(interval.hi), np.ravel(value), strict=True)
    return all(Fraction(float(lo)) <= v <= Fraction(float(hi)) for lo, hi, v in pairs)


@given(vectors)
def test_elementwise_operations_enclose(pair):
    x, y = pair
    a, b = exact(x), exact(y)
    assert encloses(Interval(x) + y, a + b)
    assert encloses(x - Interval(y), a - b)
    assert encloses(Interval(x) * Interval(y), a * b)
    assert encloses(abs(Interval(x) - y), abs(a - b))
    assert encloses(positive(Interval(x) * y), np.array([max(v, Fraction(0)) for v in a * b]))
    assert encloses((Interval(x) * y).sum(), np.array([(a * b).sum()]))
    if (y != 0).all():
        assert encloses(Interval(x) / y, np.array([u / v for u, v in zip(a, b, strict=True)]))


def test_division_by_zero_is_refused():
    with pytest.raises(ZeroDivisionError):
        Interval(1.0) / Interval(-1.0, 1.0)
    for divisor in (Interval(0.0), Interval(0.0, 0.5), Interval(-0.5, 0.0), Interval([1.0, -0.5], [2.0, 0.5])):
        with pytest.raises(ZeroDivisionError):
            1.0 / divisor
    assert float((1.0 / Interval(0.5, 4.0)).hi) == pytest.approx(2.0)


@given(st.integers(0, 2**32 - 1))
def test_matvec_encloses(seed):
    rng = np.random.default_rng(seed)
    matrix = sparse.random_array((rng.integers(1, 6), rng.integers(1, 30)), density=0.5, rng=rng, format="csr")
    matrix.data = rng.normal(size=matrix.nnz) * 10.0 ** rng.integers(-8, 8, matrix.nnz)
    x = rng.normal(size=matrix.shape[1])
    dense = matrix.toarray()
    value = [sum((Fraction(a) * Fraction(b) for a, b in zip(row, x, strict=True)), Fraction(0)) for row in dense]
    result = matvec(matrix, Interval(x))
    assert encloses(result, np.array(value))
    assert (result.hi - result.lo <= 1e-12 * (abs(dense) @ abs(x)) + 1e-300).all()


@given(vectors, st.floats(1e-3, 1e3))
def test_regularizers_agree_in_three_arithmetics(pair, lam):
    x, s = pair
    r = SquaredNorm(lam)
    rational = r.over(Fraction)
    for name, point in (("value", x), ("conjugate", s)):
        value = getattr(rational, name)(exact(point))
        assert encloses(getattr(r, name)(Interval(point)), np.array([value]))
        assert float(value) == pytest.approx(getattr(r, name)(point), rel=1e-12, abs=1e-300)
    # Fenchel–Young, with equality at the argmin, exactly.
    slack = rational.value(exact(x)) + rational.conjugate(exact(s)) - (exact(x) * exact(s)).sum()
    assert slack >= 0
    at = rational.argmin(exact(s))
    assert rational.value(at) + rational.conjugate(exact(s)) == (at * exact(s)).sum()


# ── intervals with an inside ──────────────────────────────────────────────────────────────────────

some = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0]) | number
ends = st.tuples(some, some).map(sorted)
OPERATIONS = {"+": operator.add, "−": operator.sub, "×": operator.mul, "÷": operator.truediv}


def just_encloses(interval, least, greatest):
    """The interval holds [least, greatest], and each of its ends is one of the two floats next to what it encloses."""
    lo, hi = float(interval.lo), float(interval.hi)
    near = np.nextafter(np.nextafter([float(least), float(greatest)], [-np.inf, np.inf]), [-np.inf, np.inf])
    return near[0] <= lo <= least and greatest <= hi <= near[1]


@pytest.mark.parametrize("name", OPERATIONS)
@given(x=ends, y=ends)
def test_operations_enclose_what_is_inside_and_little_more(name, x, y):
    assume(name != "÷" or not y[0] <= 0 <= y[1])
    operation = OPERATIONS[name]
    corners = [operation(Fraction(a), Fraction(b)) for a in x for b in y]
    assert just_encloses(operation(Interval(*x), Interval(*y)), min(corners), max(corners))
    point = [operation(Fraction(x[0]), Fraction(b)) for b in y]  # from the left, a plain number
    assert just_encloses(operation(x[0], Interval(*y)), min(point), max(point))
    assert just_encloses(operation(Interval(x[0]), Interval(*y)), min(point), max(point))
    assume(name != "÷" or x[0])
    point = [operation(Fraction(b), Fraction(x[0])) for b in y]
    assert just_encloses(operation(Interval(*y), x[0]), min(point), max(point))


@given(ends, ends)
def test_signs_sums_and_parts_of_what_is_inside(x, y):
    both = Interval(*np.array([x, y]).T)
    assert both.shape == (2,)
    one, other, minus, size, plus = both[0], both[1], -both, abs(both), positive(both)
    assert [float(one.lo), float(one.hi), float(other.lo), float(other.hi)] == [*x, *y]
    for j, (lo, hi) in enumerate((x, y)):
        sizes = (abs(lo), abs(hi))
        assert (minus.lo[j], minus.hi[j]) == (-hi, -lo)
        assert (size.lo[j], size.hi[j]) == (0 if lo <= 0 <= hi else min(sizes), max(sizes))
        assert (plus.lo[j], plus.hi[j]) == (max(lo, 0), max(hi, 0))
    for value in x:
        assert (float(abs(Interval(value)).lo), float(abs(Interval(value)).hi)) == (abs(value), abs(value))
    assert just_encloses(both.sum(), Fraction(x[0]) + Fraction(y[0]), Fraction(x[1]) + Fraction(y[1]))
    assert Interval(np.array([x, y])).shape == (2, 2)


def test_positive_keeps_the_kind_of_its_numbers():
    found = positive(np.array([Fraction(-1, 3), Fraction(0), Fraction(2)]))
    assert all(type(x) is Fraction for x in found)
    assert found.tolist() == [0, 0, 2]
    assert positive(np.array([-np.inf, np.inf])).tolist() == [0, np.inf]
    assert (positive(-1.5), positive(1.5)) == (0, 1.5)


def test_units_and_gamma_are_rounded_up_from_their_definitions():
    u = Fraction(float(np.finfo(float).eps)) / 2
    assert (Fraction(intervals.U), intervals.TINY) == (u, np.finfo(float).tiny)
    for k in (1, 2, 3, 7, 1000, 12345, 10**6, 10**9):
        assert k * u / (1 - k * u) <= Fraction(float(gamma(k))) <= k * u / (1 - k * u) * (1 + 8 * u)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@given(seed=st.integers(0, 2**32 - 1))
def test_matvec_encloses_the_farthest_matrix_and_point_and_little_more(kind, seed):
    """M ± e and x at the corners that make row i largest and smallest: Σ_j M_ij x_j ± Σ_j (|M_ij| ρ_j + e_j |x_j|)."""
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 4), rng.integers(1, 12)
    matrix = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.7)
    middle = rng.integers(-8, 9, n) * 10.0 ** rng.integers(-3, 4, n)
    radius, error = (
        rng.integers(0, 2, n) * 2.0 ** rng.integers(-9, 3),
        rng.integers(0, 2, n) * 2.0 ** rng.integers(-9, 3),
    )
    x = Interval(middle - radius, middle + radius)
    result = matvec(kind(matrix), x, error)
    lo, hi = exact(x.lo), exact(x.hi)
    for row, low, high in zip(matrix, result.lo, result.hi, strict=True):
        spread = sum(Fraction(e) * max(abs(a), abs(b)) for e, a, b in zip(error, lo, hi, strict=True))
        pairs = [(Fraction(c) * a, Fraction(c) * b) for c, a, b in zip(row, lo, hi, strict=True)]
        least, greatest = sum(map(min, pairs)) - spread, sum(map(max, pairs)) + spread
        room = Fraction(1, 10**13) * (sum(max(map(abs, pair)) for pair in pairs) + spread) + Fraction(1, 10**300)
        assert least - room <= Fraction(low) <= least
        assert greatest <= Fraction(high) <= greatest + room


@given(seed=st.integers(0, 2**32 - 1))
def test_inner_products_enclose_the_farthest_points_and_little_more(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 12)
    ends = []
    for _ in range(2):
        middle = rng.integers(-8, 9, n) * 10.0 ** rng.integers(-3, 4, n)
        radius = rng.integers(0, 2) * rng.integers(0, 2, n) * 2.0 ** rng.integers(-9, 3)
        ends.append(Interval(middle - radius, middle + radius) if radius.any() else Interval(middle))
    corners = [
        [exact(a)[j] * exact(b)[j] for a in (ends[0].lo, ends[0].hi) for b in (ends[1].lo, ends[1].hi)]
        for j in range(n)
    ]
    least, greatest, found = sum(map(min, corners)), sum(map(max, corners)), inner(*ends)
    radii = [(exact(each.hi) - exact(each.lo)) / 2 for each in ends]
    room = 2 * radii[0] @ radii[1] + Fraction(1, 10**13) * sum(max(map(abs, each)) for each in corners)
    assert least - room - Fraction(1, 10**300) <= Fraction(float(found.lo)) <= least
    assert greatest <= Fraction(float(found.hi)) <= greatest + room + Fraction(1, 10**300)


@pytest.mark.parametrize("wide", [False, True])
def test_inner_products_count_their_roundings(wide):
    """4,000 equal terms err to one side, the middles' and the radii's alike."""
    for a in np.linspace(0.1, 0.9, 9):
        x, y = np.full(4000, a), np.full(4000, 0.1)
        found = inner(Interval(-x, x) if wide else Interval(x), Interval(y))
        reach = 4000 * Fraction(float(a)) * Fraction(0.1)
        assert Fraction(float(found.lo)) <= (-reach if wide else reach) <= reach <= Fraction(float(found.hi))
        assert float(found.hi) <= float(reach) * (1 + 1e-11)


def test_inner_products_count_what_underflows():
    least = 2.0**-1074
    found = inner(Interval(np.full(40, least)), Interval(np.full(40, 0.4)))
    assert Fraction(float(found.lo)) <= 40 * Fraction(0.4) * Fraction(least) <= Fraction(float(found.hi))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_matvec_counts_the_roundings_of_its_longest_row(kind):
    """4,000 equal terms err to one side; the other row has one."""
    matrix = np.zeros((2, 4000))
    matrix[0], matrix[1, 0] = 0.1, 0.1
    for x in np.linspace(0.1, 0.9, 9):
        result = matvec(kind(matrix), Interval(np.full(4000, x)))
        for terms, lo, hi in zip((4000, 1), result.lo, result.hi, strict=True):
            assert Fraction(lo) <= terms * Fraction(0.1) * Fraction(x) <= Fraction(hi)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_matvec_counts_the_roundings_of_its_own_radius(kind):
    """0.1 · [−x, x], 4,000 times: the radius is a sum like any other, and so is what the entries may be off."""
    matrix = np.full((1, 4000), 0.1)
    for x in np.linspace(0.1, 0.9, 9):
        wide, point = Interval(np.full(4000, -x), np.full(4000, x)), Interval(np.full(4000, x))
        result, off = matvec(kind(matrix), wide), matvec(kind(0 * matrix), point, np.full(4000, 0.1))
        reach = 4000 * Fraction(0.1) * Fraction(x)
        for each in (result, off):
            assert Fraction(float(each.lo[0])) <= -reach
            assert reach <= Fraction(float(each.hi[0])) <= reach * (1 + Fraction(1, 10**11))


@pytest.mark.parametrize("ends", [(0.0, 5e-324), (-5e-324, 0.0)])
def test_matvec_of_the_least_floats_which_have_no_middle(ends):
    result = matvec(np.full((1, 1), 2.0**1000), Interval(*([end] * 1 for end in ends)))
    assert result.lo[0] <= 2.0**1000 * ends[0] <= 2.0**1000 * ends[1] <= result.hi[0]


def test_matvec_counts_what_underflows():
    """Each product is 0.4 of the least float and vanishes; forty of them are sixteen of it."""
    least = 2.0**-1074
    result = matvec(np.full((1, 40), 0.4), Interval(np.full(40, least)))
    assert Fraction(float(result.lo[0])) <= 40 * Fraction(0.4) * Fraction(least) <= Fraction(float(result.hi[0]))
    empty = matvec(sparse.csr_array((2, 0)), Interval(np.zeros(0)))
    assert empty.shape == (2,)
    assert ((empty.lo <= 0) & (empty.hi >= 0)).all()


@pytest.mark.parametrize("x", [2.0**-1074, 3.3e-310, -3.3e-310, 2.0**-1022, 1e-292])
def test_matvec_of_points_whose_errors_underflow(x):
    """γ |x| is no float, and the matrix makes a large number of what is lost."""
    for entry, others in product((1.1e100, -(2.0**1000) / 3), ([0.0, 0.0], [1.0, 0.0])):
        result = matvec(np.diag([entry, 1.0, 1.0]), Interval([x, *others]))
        true = Fraction(entry) * Fraction(x)
        assert Fraction(float(result.lo[0])) <= true <= Fraction(float(result.hi[0]))
        assert float(result.hi[0] - result.lo[0]) <= abs(entry) * max(abs(x) * 1e-14, 3 * 2.0**-1074)
        assert float(result.hi[2] - result.lo[2]) <= 40 * 2.0**-1022


@pytest.mark.parametrize("seed", range(4))
def test_sums_of_groups_are_enclosed(seed):
    """Both ends, of groups of none to many numbers; a number alone is its own sum."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 9, 40 if seed else 7)
    low = rng.random(len(groups)) * 10.0 ** rng.integers(-9, 9, len(groups))
    values = Interval(low, low * (1 + rng.random(len(groups))))
    found = grouped_sum(values, groups, 10)
    for g in range(10):
        least, most = (sum(Fraction(each) for each in end[groups == g].tolist()) for end in (values.lo, values.hi))
        assert Fraction(float(found.lo[g])) <= least <= most <= Fraction(float(found.hi[g]))
        assert float(found.lo[g]) >= float(least) * (1 - 1e-14) - 1e-300
        assert float(found.hi[g]) <= float(most) * (1 + 1e-14) + 1e-300
    alone = grouped_sum(Interval([1.0, 3.0], [2.0, 4.0]), np.array([2, 0]), 3)
    assert (alone.lo.tolist(), alone.hi.tolist()) == ([3, 0, 1], [4, 0, 2])


def test_sums_of_groups_count_the_roundings_of_the_longest():
    """1 and 3000 numbers u, of which a sum in order loses all; also where another group is short, and for two."""
    for n in (2, 3001):
        column = np.append(1.0, np.full(n - 1, 2.0**-53))
        found = grouped_sum(Interval(np.append(column, 5.0)), np.append(np.zeros(n, int), 1), 2)
        assert Fraction(float(found.lo[0])) <= 1 + (n - 1) * Fraction(2) ** -53 <= Fraction(float(found.hi[0]))
        wide = grouped_sum(Interval(np.append(column[::-1], 5.0)), np.append(np.zeros(n, int), 1), 2)
        assert Fraction(float(wide.lo[0])) <= 1 + (n - 1) * Fraction(2) ** -53 <= Fraction(float(wide.hi[0]))


def test_sums_beyond_floats_are_enclosed():
    """Partial sums overflow, though the sum itself is a float."""
    total = Interval(np.array([1e308, 1e308, -1e308])).sum()
    assert (total.lo, total.hi) == (-np.inf, np.inf)


@pytest.mark.parametrize("spread", [0, 5, 80, 290])
@pytest.mark.parametrize("n", [0, 3, 999, 5000, 60_000])
def test_sums_in_layers_are_rounded_correctly(n, spread):
    """Entries of any size, signs that cancel, underflow: the same bits as `math.fsum` of them all."""
    rng = np.random.default_rng(n + spread)
    x = rng.normal(size=n) * 10.0 ** rng.uniform(-spread, spread, n)
    x = rng.permutation(np.concatenate([x, -x[: n // 3], np.zeros(n), np.full(n, -5e-324)]))
    assert total(x, np.inf) == math.fsum(x)
    assert len(few(x)) < 1100 or spread > 5


def test_sums_in_layers_of_numbers_near_the_power_above_them():
    """4,095 numbers just below 1, or −1: their sum needs each bit of a layer."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x = 1 - rng.random(4095) * 1e-3
        for each in (x, -x, np.append(-x * 1e10, 1e-5), np.append(x, 2.0**-60)):
            assert total(each, np.inf) == math.fsum(each)
        steps = rng.choice([2.0**80, -(2.0**80), 1.0, -1.0, 0.0], 3000)
        assert total(steps, np.inf) == math.fsum(steps)


def test_sums_are_rounded_outward():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=3) * 10.0 ** rng.integers(-8, 8, 3)
        assert just_encloses(Interval(x).sum(), sum(exact(x)), sum(exact(x)))
        above = x + rng.random(3)
        assert just_encloses(Interval(x, above).sum(), sum(exact(x)), sum(exact(above)))


def test_sums_beyond_floats():
    assert total(np.full(5000, 1e308), np.inf) == np.inf
    assert np.isnan(total(np.full(5000, np.nan), np.inf))


# ── squares of long vectors, by centres and radii ─────────────────────────────────────────────────


def long_interval(seed: int, length: int, width: float) -> Interval:
    rng = np.random.default_rng(seed)
    lo = rng.normal(size=length) * 10.0 ** rng.integers(-3, 3)
    return Interval(lo, lo + rng.random(length) * width * np.abs(lo).max()) if width else Interval(lo)


@pytest.mark.parametrize("length", [999, 1000, 1001, 1500])
@pytest.mark.parametrize("width", [0.0, 1e-16, 1e-3, 2.0])
def test_squares_of_long_vectors_are_enclosed_and_not_by_much(length, width):
    for seed in range(2):
        x = long_interval(seed, length, width)
        found = x.squared()
        low, high = exact(x.lo), exact(x.hi)
        least = sum(0 if a <= 0 <= b else min(a * a, b * b) for a, b in zip(low, high, strict=True))
        most = sum(max(a * a, b * b) for a, b in zip(low, high, strict=True))
        lo, hi = Fraction(float(found.lo)), Fraction(float(found.hi))
        assert lo <= least <= most <= hi
        assert hi <= most * (1 + Fraction(1, 10**12))
        assert lo >= least * (1 - Fraction(1, 10**12))


def test_lengths_are_rounded_up():
    for seed in range(20):
        x, y = np.random.default_rng(seed).normal(size=(2, 5))
        found = length(Interval(x), Interval(y))
        true = sum(Fraction(each) ** 2 for each in [*x.tolist(), *y.tolist()])
        assert true <= Fraction(float(found.lo)) ** 2 <= true * (1 + Fraction(1, 10**14))
        assert found.lo == found.hi


def test_squares_that_leave_the_floats_are_infinite_above():
    for lo, hi in ((1e160, 1e160), (1e200, 1e200), (-3.0, 1e200), (-1e200, 3.0)):
        with np.errstate(over="ignore", invalid="ignore"):
            found = Interval(np.full(1200, lo), np.full(1200, hi)).squared()
        assert found.hi == np.inf
        assert not found.lo > 1200 * 9.0 or lo > 0


def test_squares_that_underflow_and_squares_that_err_to_one_side():
    found = Interval(np.full(2000, 1e-170)).squared()
    assert found.lo == 0
    assert 2000 * Fraction(1e-170) ** 2 <= Fraction(float(found.hi)) < Fraction(1, 10**300)
    for x in np.linspace(0.1, 0.9, 17):
        for n in (1024, 1100, 2047, 1 << 18):
            found, true = Interval(np.full(n, x)).squared(), n * Fraction(x) ** 2
            assert Fraction(float(found.lo)) <= true <= Fraction(float(found.hi))


def test_squares_all_but_too_large_for_floats_have_a_lower_end_below_them():
    with np.errstate(over="ignore"):
        found = Interval(np.full(1024, 2.0**507)).squared()
    assert Fraction(float(found.lo)) < 1024 * Fraction(2) ** 1014 == Fraction(2) ** 1024
    assert found.lo > 2.0**899
    assert found.hi == np.inf


def test_an_array_that_is_both_ends_is_a_point():
    x = np.linspace(-1, 1, 1200)
    point, wide = Interval(x).squared(), Interval(x, x.copy()).squared()
    true = (exact(x) ** 2).sum()
    for found in (point, wide):
        assert Fraction(float(found.lo)) <= true <= Fraction(float(found.hi))
    assert Fraction(float(point.hi)) - Fraction(float(point.lo)) <= true / 10**12


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
def test_magnitudes_copy_nothing_where_nothing_is_negative(form):
    whole = form(np.array([[0.5, 0.0], [0.0, 2.0]]))
    assert magnitudes(whole) is whole
    turned = form(np.array([[0.5, 0.0], [-1.0, 2.0]]))
    assert magnitudes(turned).toarray().tolist() == [[0.5, 0.0], [1.0, 2.0]]
    assert turned.toarray()[1, 0] == -1.0
    assert magnitudes(np.array([1.0, -2.0])).tolist() == [1.0, 2.0]
