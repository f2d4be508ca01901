"""Conjugates, their maximisers and domains, in floats, intervals and fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.arithmetic.intervals import Interval
from workbench.arithmetic.rationals import ratios
from workbench.objectives.regularizers import (
    Box,
    CountedCosts,
    ElasticNet,
    SignedNorm,
    Simplex,
    SquaredNorm,
    Stacked,
    kept,
    projected,
    projection,
    unsigned,
)

LIVE, COUNTS = np.array([True, False, True, True]), np.array([2.0, 0.0, 0.5, 4.0])
PARTS = [
    SquaredNorm(0.3),
    SignedNorm(0.3, LIVE),
    ElasticNet(0.7, 0.4),
    ElasticNet(0.7, 0.0),
    Box(2.5),
    Simplex(LIVE),
    CountedCosts(1.5, COUNTS),
]
WHOLE = Stacked((4, 4, 4), (ElasticNet(0.7, 0.4), Box(2.5), Simplex(LIVE)))
seeds = st.integers(0, 2**32 - 1)


def inside(part, x):
    """A point of the domain on which r* is taken."""
    return np.clip(x, -part.bound, part.bound) if isinstance(part, Box) else part.feasible(x)


@pytest.mark.parametrize("part", PARTS, ids=lambda p: type(p).__name__)
@given(seed=seeds)
@settings(max_examples=50)
def test_the_conjugate_is_the_greatest_value_and_argmin_attains_it(part, seed):
    rng = np.random.default_rng(seed)
    s = rng.normal(size=4) * 3
    best = part.conjugate(s)
    at = part.argmin(s)
    assert s @ at - part.value(at) == pytest.approx(best, rel=1e-12, abs=1e-12)
    for _ in range(5):
        x = inside(part, rng.normal(size=4) * 3)
        assert s @ x - part.value(x) <= best + 1e-9 * (1 + abs(best))


@pytest.mark.parametrize("part", [*PARTS, WHOLE], ids=lambda p: type(p).__name__)
@given(seed=seeds)
@settings(max_examples=20)
def test_one_text_in_four_arithmetics(part, seed):
    """Intervals enclose the fractions' result, floats come near it, ratios are it."""
    n = 12 if part is WHOLE else 4
    x, s = np.random.default_rng(seed).normal(size=(2, n)) * 2
    exact = part.over(Fraction)
    point = exact.feasible(ratios(x).fractions())
    truths = {"conjugate": exact.conjugate(ratios(s).fractions()), "value": exact.value(point)}
    whole = exact.feasible(ratios(x))
    assert (whole.fractions() == point).all()
    assert truths == {"conjugate": exact.conjugate(ratios(s)), "value": exact.value(whole)}
    found = {"conjugate": part.conjugate(Interval(s)), "value": part.value(part.feasible(Interval(x)))}
    floats = {"conjugate": part.conjugate(s), "value": part.value(part.feasible(x))}
    for name, truth in truths.items():
        assert Fraction(float(found[name].lo)) <= truth <= Fraction(float(found[name].hi))
        assert floats[name] == pytest.approx(float(truth), rel=1e-12, abs=1e-12)
    enclosed = part.feasible(Interval(x))
    lo, hi = np.broadcast_to(enclosed.lo, n), np.broadcast_to(enclosed.hi, n)
    assert all(Fraction(a) <= p <= Fraction(b) for a, p, b in zip(lo.tolist(), point, hi.tolist(), strict=True))


def test_the_simplex_is_uniform_where_nothing_is_positive():
    v = Simplex(LIVE).feasible(np.array([-1.0, 5.0, -2.0, 0.0]))
    np.testing.assert_allclose(v, [1 / 3, 0, 1 / 3, 1 / 3])


def test_boxes_are_free_entries_of_a_stack():
    np.testing.assert_array_equal(WHOLE.free, [4, 5, 6, 7])
    assert not len(SquaredNorm(1.0).free)


@pytest.mark.parametrize("number", [float, Fraction])
def test_a_box_is_as_large_as_what_is_known_makes_it_rounded_up(number):
    """β = 1 + U/2 + 2√U: 7 at U = 4, 11.5 at U = 9; the constant alone where no U is known."""
    assert Box(1.0) == Box(1.0, 0.0, 0.0, 0.0)
    assert Box(1.0, 0.5, 2.0).over(number).bound == 1
    box = Box(1.0, 0.5, 2.0, 9.0).over(number)
    for upper, beta in ((4.0, 7.0), (9.0, 11.5), (25.0, 11.5), (0.25, 2.125)):
        bound = box.within(number(upper)).bound
        assert type(bound) is number
        assert beta < bound < beta * (1 + 1.5e-9)
    for upper in (np.inf, 0.0, -1.0):
        assert box.within(upper) == box
    s = np.array([number(-3), number(2)])
    assert box.conjugate(s) == 5 * box.bound


def test_the_greatest_of_intervals_has_the_greatest_of_their_ends():
    found = Simplex(LIVE).conjugate(Interval([-1.0, 9.0, 0.0, -4.0], [0.5, 9.0, 1.0, 3.0]))
    assert (found.lo, found.hi) == (0.0, 3.0)


def test_the_simplex_shares_among_the_best_and_in_proportion():
    simplex = Simplex(LIVE)
    np.testing.assert_array_equal(simplex.argmin(np.array([1.0, 9.0, 1.0, 0.0])), [0.5, 0, 0.5, 0])
    np.testing.assert_allclose(simplex.feasible(np.array([0.2, 9.0, 0.1, 0.1])), [0.5, 0, 0.25, 0.25])


def test_counted_costs_live_where_something_is_counted_and_are_not_negative():
    costs = CountedCosts(1.5, COUNTS)
    assert costs.live.tolist() == [True, False, True, True]
    np.testing.assert_array_equal(costs.feasible(np.array([-1.0, 2.0, 3.0, -0.5])), [0, 0, 3, 0])


def test_a_stack_is_worth_the_sum_of_its_parts():
    x = WHOLE.feasible(np.linspace(-2, 3, 12))
    pieces = list(zip(WHOLE.parts, np.split(x, 3), strict=True))
    assert WHOLE.value(x) == pytest.approx(sum(float(part.value(piece)) for part, piece in pieces))
    assert WHOLE.conjugate(x) == pytest.approx(sum(float(part.conjugate(piece)) for part, piece in pieces))


def test_weights_of_one_sign_are_refused_where_all_are_taken():
    chain = wb.Chain([np.eye(2)], [["a", "b"]])
    assert unsigned(chain) is chain
    with pytest.raises(wb.MissingCapability, match="Graph needs some weights ≥ 0; use soft-margin"):
        unsigned(wb.Graph.tiny(np.random.default_rng(0)))


def test_weights_of_one_sign_are_not_negative_and_what_pulls_them_there_counts_for_nothing():
    r = SignedNorm(0.5, LIVE)
    s = np.array([-1.0, -2.0, 3.0, 0.0])
    np.testing.assert_array_equal(r.argmin(s), [0, -4, 6, 0])
    assert r.conjugate(s) == 13.0
    enclosed = r.feasible(Interval(s - 2, s + 2))
    assert enclosed.lo.tolist() == [0, -4, 1, 0]
    assert enclosed.hi.tolist() == [1, 0, 5, 2]


def test_only_what_lies_on_a_simplex_is_projected():
    assert projection(np.array([3])) is projected
    assert projection(np.zeros(0, int)) is kept
    assert kept(1.5, None) == 1.5
