"""Interval arithmetic encloses the exact rational result, always."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from workbench.intervals import Interval, matvec, positive
from workbench.regularizers import SquaredNorm

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
