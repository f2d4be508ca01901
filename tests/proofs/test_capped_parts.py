"""The arithmetic of search trees, part by part: with roundings so large that each can be seen, and boxes by hand."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import workbench as wb
from workbench.arithmetic.intervals import Interval
from workbench.proofs import capped
from workbench.proofs.bounds import Evidence
from workbench.proofs.capped import Box, CappedBounds, enclosing, product, row_sums, tabled, widened
from workbench.proofs.tree import Tree


@cache
def bounds_of(kind: str) -> CappedBounds:
    rng = np.random.default_rng(5)
    if kind == "plain":
        return CappedBounds(wb.SelfPaced(C=3.0, K=0.7), wb.Multiclass(rng.normal(size=(4, 2)), [0, 1, 2, 1]))
    return CappedBounds(wb.SelfPaced(C=3.0, K=0.7), wb.Motif(["ACGT", "ACG", "CGATC", "TTGC"], [1, 1, 1, -1], 3))


@pytest.fixture
def large(monkeypatch):
    """γ_k = k/64, up and down by 1/8, and 1/16 for the least normal number."""
    monkeypatch.setattr(capped, "gamma", lambda k: k / 64)
    monkeypatch.setattr(capped, "up", lambda x: x + 0.125)
    monkeypatch.setattr(capped, "down", lambda x: x - 0.125)
    monkeypatch.setattr(capped, "TINY", 0.0625)


def test_widened_is_rounded_outward():
    found = widened(np.array([1.0]), np.array([3.0]), np.array([0.5]))
    assert (found.lo[0], found.hi[0]) == (np.nextafter(0.5, 0), np.nextafter(3.5, 4))


def test_every_rounding_of_sums_is_counted(large):
    weights, matrix = np.array([[1.0, 2, 0.5]]), np.array([[1.0, -2], [-3, 0.5], [4, 4]])
    error = np.array([0.25, 0.5, 1.0])
    found = product(weights, matrix, error)
    width = (5 / 64 * (weights @ abs(matrix)) + weights @ error) * (1 + 2 * 7 / 64) + 4 / 16
    np.testing.assert_allclose(found.lo, weights @ matrix - width - 0.125, rtol=1e-14)
    np.testing.assert_allclose(found.hi, weights @ matrix + width + 0.125, rtol=1e-14)
    sums = row_sums(Interval(np.array([[1.0, -5, 2]]), np.array([[2.0, 1, 3]])))
    width = 14 / 64 * (2 + 5 + 3)
    np.testing.assert_allclose([sums.lo[0], sums.hi[0]], [-2 - width - 0.125, 6 + width + 0.125], rtol=1e-14)


@pytest.mark.parametrize("kind", ["plain", "hidden"])
def test_every_rounding_of_norms_is_counted(kind, large):
    bounds = bounds_of(kind)
    dim = bounds.oracle.dim
    rows, errors = np.vstack([np.arange(dim) / 4, np.ones(dim)]), np.array([0.5, 0.25])
    squares = (rows**2).sum(axis=1) * (1 + (dim + 2) / 64) + 0.0625
    sizes = np.sqrt(squares + 0.125) + 0.125 + (np.sqrt(dim) + 0.125) * errors + 0.125 + 0.125
    np.testing.assert_allclose(bounds.lengths(rows, errors), sizes, rtol=1e-14)


def test_two_states_have_a_mean_whose_error_is_rounded_up(large):
    slopes = np.array([[0.0, 0], [1, -4], [0, 0], [2, 2]])
    table, error = tabled(slopes, np.zeros(4), np.array([0, 2, 4]), np.zeros(2, int), np.array([0, 0.5, 0, 0.25]))
    assert table.several.tolist() == [0]
    np.testing.assert_allclose(error, [0, 0.5, 0, 0.25, *[0.5 + 5 / 64 * 4 + 0.125] * 2])


def test_errors_of_the_oracle_are_rounded_up(large, monkeypatch):
    bounds = bounds_of("hidden")
    kind, found = type(bounds.oracle), {"slope_error": 0.25, "offset_error": 0.5}
    for name, value in found.items():
        monkeypatch.setattr(kind, name, lambda self, samples, value=value: value * (1 + samples))
    again = CappedBounds(bounds.formulation, bounds.problem)
    samples = np.repeat(again.cuts.owner, np.diff(again.cuts.starts))
    states = np.arange(len(samples)) < again.cuts.starts[len(again.cuts.spread)]
    np.testing.assert_allclose(again.offset_error[states], 0.5 * (1 + samples[states]) + 0.125)
    np.testing.assert_allclose(again.offset_error[~states], again.offset_error[states].max())
    np.testing.assert_allclose(again.slope_error[states], 0.25 * (1 + samples[states]) + 0.125)


@pytest.mark.parametrize("kind", ["plain", "hidden"])
def test_every_rounding_of_scores_is_counted(kind, large):
    """Both ends of the terms, from a point that is an interval, to one side of each entry or the other."""
    bounds, rng = bounds_of(kind), np.random.default_rng(2)
    table, dim = bounds.cuts, bounds.oracle.dim
    whole = bounds.start_box(1e9)
    for scale in (0.01, 1.0, 100.0):
        lo = rng.normal(size=(2, dim)) * scale
        hi = lo + rng.random((2, dim)) * scale / 8
        excess = np.array([0.5, 2.0]) * scale**2
        middle, around, radius = (lo + hi) / 2, (hi - lo) / 2, np.sqrt(2 * excess)[:, None]
        sizes = (abs(middle) + around).sum(axis=1, keepdims=True)

        def scores(
            rows: Any, offsets: Any, slope: Any, offset: Any, norms: Any, at: Any = (middle, around, sizes, radius)
        ):
            middle, around, sizes, radius = at
            error = (dim + 3) / 64 * (abs(middle) @ abs(rows).T + offsets) + around @ abs(rows).T + slope * sizes
            error = (error + offset + radius * norms) * (1 + 4 * (dim + 8) / 64) + 0.0625 + 0.125
            return middle @ rows.T + offsets - error, middle @ rows.T + offsets + error

        both = scores(table.slopes, table.offsets, bounds.slope_error, bounds.offset_error, bounds.norms)
        low, high = (np.maximum(np.maximum.reduceat(each, table.starts[:-1], axis=1), 0) for each in both)
        box = bounds.shrunk(Interval(lo, hi), excess, whole)
        costs = bounds.costs.hi[table.owner]
        np.testing.assert_allclose(box.low, np.maximum(costs * low, whole.low), rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose(box.high, np.minimum(costs * high, whole.high), rtol=1e-12)
        if len(table.several):
            _, far = scores(table.spread, np.zeros(len(table.spread)), bounds.spread_error, 0.0, bounds.spread_norms)
            reach = np.maximum(np.maximum.reduceat(far, table.firsts[:-1], axis=1), 0)
            np.testing.assert_allclose(box.reach, np.minimum(reach, whole.reach), rtol=1e-12)


def boxed(bounds: CappedBounds, rng: Any, chosen: bool) -> Box:
    table, n = bounds.cuts, len(bounds.cuts.means)
    low = rng.random((2, len(table.owner)))
    reach = np.where(np.diff(table.firsts) > 1, 0.2 * rng.random((2, n)), 0.0)
    active = np.stack([table.means, table.firsts[:-1] if chosen else table.means])
    return Box(low, low + 2 * rng.random(low.shape), reach, active)


@pytest.mark.parametrize("kind", ["plain", "hidden"])
@pytest.mark.parametrize("chosen", [True, False])
@pytest.mark.parametrize("slack", [0.0, 1 / 64])
def test_dual_values_are_the_sums_of_the_docstring(kind, chosen, slack, monkeypatch):
    """Of weights on all cuts, also on those of terms that stand for no sample; caps that are intervals."""
    bounds, rng = CappedBounds(bounds_of(kind).formulation, bounds_of(kind).problem), np.random.default_rng(3)
    table, R = bounds.cuts, len(bounds.cuts.offsets)
    bounds.caps, bounds.costs = (
        Interval(bounds.caps.lo, bounds.caps.hi + 0.5),
        Interval(bounds.costs.lo, bounds.costs.hi * 1.5),
    )
    box, weights = boxed(bounds, rng, chosen), rng.random((2, R))
    if slack:
        monkeypatch.setattr(capped, "gamma", lambda k: k * slack)
        monkeypatch.setattr(capped, "row_sums", lambda x: Interval(x.lo.sum(axis=1), x.hi.sum(axis=1)))
        monkeypatch.setattr(capped, "product", lambda w, m, e: Interval(w @ m))
        monkeypatch.setattr(capped, "up", lambda x: x + 1.0)
    asked: list[Any] = []
    monkeypatch.setattr(bounds, "shrunk", lambda point, excess, box: asked.append((point, excess)) or box)
    found, _ = bounds.checked(weights, box, np.array([50.0, 60.0]))
    for row in range(2):
        value, push = 0.0, np.zeros(bounds.oracle.dim)
        for i, term in enumerate(box.active[row]):
            own = slice(table.starts[term], table.starts[term + 1])
            mass, cap = weights[row, own].sum(), bounds.caps.lo[i]
            cost, most = bounds.costs.lo[i], bounds.costs.hi[i]
            reach = box.reach[row, i] if term >= len(table.spread) else 0.0
            ends = [max(box.low[row, term] - most * reach, 0), max(box.high[row, term] - cost * reach, 0)]
            error = (R + 2) * slack * mass + (slack > 0)
            value += min(min(t, cap) - (mass + error) * t / cost for t in ends) - (mass + error) * reach
            value += weights[row, own] @ table.offsets[own]
            push += weights[row, own] @ table.slopes[own]
        assert found[row] == pytest.approx(value - push @ push / 2, rel=1e-9)
        ((point, excess),) = asked
        np.testing.assert_allclose(point.lo[row], -push, rtol=1e-9, atol=1e-9)
        assert excess[row] == pytest.approx((50.0, 60.0)[row] - found[row] + (slack > 0), rel=1e-14)


def test_a_box_of_one_point_is_not_empty(monkeypatch):
    bounds = bounds_of("plain")
    for off, empty in ((0.0, False), (1e-9, True)):
        box = Box(
            np.full((1, 4), 0.5), np.array([[0.5, 0.5, 0.5 - off, 0.5]]), np.zeros((1, 4)), bounds.cuts.means[None]
        )
        with monkeypatch.context() as patch:
            patch.setattr(bounds, "shrunk", lambda point, excess, box: box)
            lower, _ = bounds.checked(np.zeros((1, len(bounds.cuts.offsets))), box, np.array([9.0]))
        assert (lower[0] == np.inf) == empty


@pytest.mark.parametrize("kind", ["plain", "hidden"])
def test_nothing_is_proven_from_no_upper_bound_or_weights_beyond_floats(kind):
    """And floats do not warn of an infinite cutoff, which is what a problem without a known point has."""
    bounds = bounds_of(kind)
    R = len(bounds.cuts.offsets)
    root = Tree(np.zeros(1, int), np.array([-1]), np.array([np.inf]), sparse.csr_array(np.zeros((1, R))))
    assert bounds.proven(root, np.inf) == -np.inf
    for size in (1e200, 1.7e308):
        huge = Tree(np.zeros(1, int), np.array([-1]), np.array([9.0]), sparse.csr_array(np.full((1, R), size)))
        with np.errstate(over="ignore", invalid="ignore"):
            assert bounds.proven(huge, 9.0) == -np.inf


def test_branches_narrow_the_box_to_the_sound_end_of_caps():
    bounds = CappedBounds(bounds_of("hidden").formulation, bounds_of("hidden").problem)
    bounds.caps = Interval(bounds.caps.lo, bounds.caps.lo + 0.5)
    i = int(bounds.cuts.several[0])
    first, last = bounds.cuts.firsts[i], bounds.cuts.firsts[i + 1]
    cap, T = float(bounds.caps.lo[i]), len(bounds.cuts.owner)

    def box(high: float) -> Box:
        found = bounds.start_box(1e9)
        return found._replace(low=np.zeros((1, T)), high=high + np.arange(T)[None].astype(float))

    wide = box(100.0)
    bounds.choose(wide, np.array([2 * (first + 1)]))
    assert (wide.high[0, first + 1], wide.active[0, i]) == (cap + 0.5, first + 1)
    narrow = box(-float(first) + cap / 2)
    bounds.choose(narrow, np.array([2 * (first + 1)]))
    assert narrow.high[0, first + 1] == pytest.approx(cap / 2)
    out = box(100.0)
    bounds.choose(out, np.array([2 * first + 1]))
    assert out.low[0, first:last].tolist() == [cap] * (last - first)
    assert out.low.sum() == pytest.approx(cap * (last - first))


def test_upper_bounds_take_the_upper_ends(monkeypatch):
    bounds = CappedBounds(bounds_of("plain").formulation, bounds_of("plain").problem)
    theta, costs, caps = np.full(bounds.oracle.dim, 0.25), bounds.costs, bounds.caps
    half = float(theta @ theta) / 2
    bounds.costs, bounds.caps = costs, Interval(caps.lo, caps.lo + 1000)
    high = bounds.upper(theta)
    bounds.costs = Interval(costs.lo / 2, costs.hi)
    assert bounds.upper(theta) == pytest.approx(high, rel=1e-12)
    bounds.costs, bounds.caps = costs * 1e6, Interval(caps.lo / 2, caps.lo)
    assert bounds.upper(theta) == pytest.approx(half + caps.lo.sum(), rel=1e-12)
    monkeypatch.setattr(type(bounds.oracle), "exact", lambda self: None)
    with pytest.raises(wb.MissingCapability, match="no exact decoder"):
        bounds.exact_upper(theta)
    monkeypatch.setattr(bounds, "proven", lambda tree, upper: -1.0)
    tree: Any = object()
    assert bounds.recheck(Evidence(theta, tree=tree)) == (-1.0, bounds.upper(theta))


def test_fractions_that_are_no_floats_lie_between_two():
    found = enclosing([Fraction(1, 3), Fraction(2, 3)])
    near = np.array([1 / 3, 2 / 3])
    assert found.lo.tolist() == np.nextafter(near, 0).tolist()
    assert found.hi.tolist() == np.nextafter(near, 1).tolist()


def test_a_bound_that_is_no_number_proves_nothing(monkeypatch):
    bounds = bounds_of("plain")
    monkeypatch.setattr(capped, "row_sums", lambda values: Interval(np.array([np.nan]), np.array([1.0])))
    lower, _ = bounds.checked(np.zeros((1, len(bounds.cuts.offsets))), bounds.start_box(9.0), np.array([9.0]))
    assert lower.tolist() == [-np.inf]


def test_the_reach_of_two_states_is_not_nothing():
    bounds = bounds_of("hidden")
    assert np.diff(bounds.cuts.firsts).tolist() == [2, 1, 3, 1]
    assert (bounds.start_box(1.0).reach[0] > 0).tolist() == [True, False, True, False]


def test_the_rivals_of_one_state_stand_together():
    views = wb.Views(np.arange(10.0).reshape(5, 2) / 8, [0, 1, 2], [0, 2, 3, 5])
    table = CappedBounds(wb.SelfPaced(C=3.0, K=0.7), views).cuts
    assert np.diff(table.starts).tolist() == [4, 4, 2, 4, 4, 4, 4]  # the last two of mean states
    assert (table.firsts.tolist(), table.owner.tolist()) == ([0, 2, 3, 5], [0, 0, 1, 2, 2, 0, 2])


def test_a_lower_bound_is_a_lower_end(monkeypatch):
    bounds = bounds_of("plain")
    monkeypatch.setattr(capped, "row_sums", lambda values: Interval(np.array([-2.0]), np.array([5.0])))
    lower, _ = bounds.checked(np.zeros((1, len(bounds.cuts.offsets))), bounds.start_box(9.0), np.array([9.0]))
    assert lower == pytest.approx(-2 - 5 / 2, abs=1e-9)
