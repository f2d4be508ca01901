"""Bounds hold, and little more, when data, argmax and prices err as far as they say they may.

The oracle below lies: each row is off by what `slope_error` and `offset_error` admit, in the direction that hurts, and
the argmax misses the maximum by what `rounding` admits. What is true is known as fractions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import workbench as wb
from workbench.arithmetic.intervals import Interval, grouped_sum
from workbench.contracts import Cuts, Prices
from workbench.errors import Contradiction, MissingCapability
from workbench.formulations.hard_margin import HardMargin
from workbench.objectives.regularizers import Box, SquaredNorm, Stacked
from workbench.proofs.any_bounds import bounds_for
from workbench.proofs.bounds import Bounds, Evidence, checked_theta
from workbench.proofs.exact import ExactBounds
from workbench.proofs.smooth import SmoothBounds

LAM = 0.25
seeds = st.integers(0, 2**32 - 1)


def exact(x: Any) -> Any:
    return np.array([*map(Fraction, np.ravel(x).tolist()), None], object)[:-1].reshape(np.shape(x))


def eighths(rng: np.random.Generator, *shape: int) -> Any:
    return rng.integers(-16, 17, shape) / 8


@dataclass
class Liar:
    """Formulation and oracle in one: cuts with true `slopes` (n, k, p) and `offsets` (n, k), told with lies added."""

    slopes: Any
    offsets: Any
    weights: Any
    chosen: Any = None  # r, λ/2 ‖θ‖² if not given
    slope_lie: Any = 0.0  # (p,) or a number
    offset_lie: Any = 0.0
    missed: Any = 0.0  # (n,)
    width: int = 1
    free_outputs: bool = False

    def __post_init__(self) -> None:
        self.n_samples, _, self.dim = self.slopes.shape

    def prices(self, problem: Any) -> Prices:
        return Prices.of_mean(self.weights)

    def regularizer(self, problem: Any) -> Any:
        return self.chosen or SquaredNorm(LAM)

    def oracle(self, problem: Any) -> Any:
        return self

    def value(self, theta: Any) -> Any:
        """True values (n, k) as fractions."""
        return exact(self.slopes) @ exact(theta) + exact(self.offsets)

    def argmax(self, theta: Any, samples: Any) -> Any:
        """The lowest cut that is allowed."""
        values = self.value(theta)[samples]
        allowed = (
            values >= values.max(axis=1, keepdims=True) - exact(self.missed * np.ones(self.n_samples))[samples, None]
        )
        return np.where(allowed, values, values.max() + 1).argmin(axis=1)[:, None]

    def rows(self, samples: Any, witnesses: Any) -> Any:
        at = samples, witnesses[:, 0]
        slopes, offsets = self.slopes + self.slope_lie, self.offsets + self.offset_lie
        return sparse.csr_array(slopes[at]), offsets[at]

    def slope_error(self, samples: Any) -> Any:
        return np.full(len(samples), np.abs(self.slope_lie).max())

    def offset_error(self, samples: Any) -> Any:
        return np.full(len(samples), np.abs(self.offset_lie).max())

    def rounding(self, theta: Any) -> Any:
        return self.missed * np.ones(self.n_samples)

    def reach(self, samples: Any) -> Any:
        return np.abs(self.slopes).sum(axis=2).max(axis=1)[samples]

    def objective(self, theta: Any) -> Fraction:
        prices = exact(self.weights) / exact(self.weights).sum()
        return (exact(theta) ** 2).sum() * Fraction(LAM) / 2 + prices @ self.value(theta).max(axis=1)


def some_liar(rng: np.random.Generator, theta: Any = None, direction: Any = None) -> Liar:
    """Lies against θ's upper bound (values told too low), or against a push in the given direction."""
    n, k, p = rng.integers(1, 4), rng.integers(1, 4), 3
    weights = rng.choice([0.1, 1.0, 3.0], n)
    sign = np.sign(direction if theta is None else theta)
    lie, other, missed = rng.integers(0, 2, 3) * 2.0 ** rng.integers(-6, -2, 3)
    offset_lie = other if theta is None else -other
    return Liar(
        eighths(rng, n, k, p), eighths(rng, n, k), weights, slope_lie=-lie * sign, offset_lie=offset_lie, missed=missed
    )


@given(seeds)
def test_the_upper_bound_holds_against_every_lie_and_is_no_larger_than_they_make_it(seed):
    rng = np.random.default_rng(seed)
    theta = eighths(rng, 3)
    liar = some_liar(rng, theta)
    bounds, true = Bounds(liar, None), liar.objective(theta)
    room = 2 * np.abs(liar.slope_lie).max() * np.abs(theta).sum() + 2 * np.abs(liar.offset_lie) + liar.missed
    assert true <= bounds.upper(theta) <= true + Fraction(room) + Fraction(1, 10**12)
    assert bounds.scale == bounds.upper(np.zeros(3))


@given(seeds)
def test_every_lie_alone_is_needed(seed):
    """One sample with two cuts, the lower one found, its row told too low: the bound is the true value to rounding."""
    rng = np.random.default_rng(seed)
    theta, missed = eighths(rng, 3), 2.0 ** -rng.integers(3, 9)
    slope, sign = eighths(rng, 3), np.sign(theta)
    slope_lie, offset_lie = rng.integers(0, 2, 2) * 0.125
    liar = Liar(np.array([[slope, slope]]), np.array([[0.5, 0.5 + missed]]), np.ones(1),
                slope_lie=-slope_lie * sign, offset_lie=-offset_lie, missed=missed)  # fmt: skip
    true = liar.objective(theta)
    loose = 2 * (Fraction(slope_lie) * exact(np.abs(theta)).sum() + Fraction(offset_lie))
    found = Fraction(Bounds(liar, None).upper(theta))
    assert true <= found <= true + Fraction(1, 10**12)
    values = Bounds(liar, None).hinges(theta, np.zeros((1, 1), np.int64))
    assert Fraction(values.lo[0]) <= true - (exact(theta) ** 2).sum() * Fraction(LAM) / 2 - Fraction(missed) - loose
    assert (
        Fraction(values.lo[0])
        >= true - (exact(theta) ** 2).sum() * Fraction(LAM) / 2 - Fraction(missed) - loose - 1e-12
    )


@given(seeds)
def test_hinges_hold_at_every_point_near_theta(seed):
    """θ moves by ± away in each entry; the cut that was not asked for gains twice reach × away on the other."""
    rng = np.random.default_rng(seed)
    theta, slope, away = eighths(rng, 3), eighths(rng, 3), 0.125
    liar = Liar(np.array([[slope, -slope]]), np.array([[-slope @ theta, slope @ theta]]), np.ones(1))
    values = Bounds(liar, None).hinges(theta, np.zeros((1, 1), np.int64), Interval(theta - away, theta + away))
    farthest = theta - away * np.sign(slope)
    assert liar.value(farthest).max() <= Fraction(values.hi[0])
    assert values.hi[0] <= 3 * away * np.abs(slope).sum() + 1e-12
    assert Fraction(values.lo[0]) <= liar.value(farthest)[0, 0]


@pytest.mark.parametrize(("sign", "ends"), [(1.0, ([-0.5, 0.0], [0.0, 0.0])), (-1.0, ([0.0, 0.0], [0.5, 0.0]))])
def test_hinges_hold_where_a_point_moves_to_one_side_in_one_entry(sign, ends):
    """Both cuts are 0 at θ = 0; at the far end the one that was not asked for is ½."""
    slope = np.array([sign, 0.0])
    liar = Liar(np.array([[slope, -slope]]), np.zeros((1, 2)), np.ones(1))
    values = Bounds(liar, None).hinges(np.zeros(2), np.zeros((1, 1), np.int64), Interval(*ends))
    assert 0.5 <= values.hi[0] <= 1 + 1e-12


@pytest.mark.parametrize("sign", [1, -1])
def test_a_slope_that_is_told_too_low_counts_at_the_far_end_of_a_point(sign):
    """s, told as s − e, at θ ± ½ for s, θ ≥ 0: the value is at most ⟨s, θ + ½⟩, and e Σ(θ_j + ½) of it is not told."""
    slope, theta = sign * np.array([0.5, 2.0]), sign * np.array([1.0, 0.25])
    liar = Liar(np.array([[slope]]), np.zeros((1, 1)), np.ones(1), slope_lie=np.full(2, -0.125 * sign))
    liar.reach = np.zeros_like  # there is no other cut
    values = Bounds(liar, None).hinges(theta, np.zeros((1, 1), np.int64), Interval(theta - 0.5, theta + 0.5))
    assert 0 <= values.hi[0] - slope @ (theta + 0.5 * sign) <= 1e-12


def test_a_slope_error_of_one_sample_counts_for_that_sample():
    liar = Liar(np.zeros((2, 1, 2)), np.zeros((2, 1)), np.ones(2))
    liar.slope_error = lambda samples: np.array([0.0, 0.25])[samples]
    found = Bounds(liar, None).hinges(np.array([1.0, -2.0]), np.zeros((2, 1), np.int64))
    assert -1e-300 <= found.lo[0] <= 0 <= found.hi[0] <= 1e-300
    assert -0.75 - 1e-15 <= found.lo[1] <= -0.75
    assert 0.75 <= found.hi[1] <= 0.75 + 1e-15


def test_threads_share_hinges_and_rows_of_labels_only():
    rng = np.random.default_rng(0)
    theta, witnesses = eighths(rng, 3), np.zeros((5, 1), np.int64)
    bounds = Bounds(Liar(eighths(rng, 5, 2, 3), eighths(rng, 5, 2), np.ones(5), slope_lie=0.125), None)
    alone, rows = bounds.hinges(theta, witnesses), bounds.rows(bounds.samples, witnesses)
    assert bounds.beside is None
    for threads, listing, shared in (
        *((1, object(), True), (2, object(), True), (3, object(), True)),
        *((2, None, True), (2, object(), False)),
    ):
        asked = []
        bounds.sweeps = SimpleNamespace(threads=threads, listing=listing, shared=shared, spread=halves(asked))
        assert bounds.beside is (bounds.sweeps if threads > 1 and listing and shared else None)
        found, (slopes, offsets) = bounds.hinges(theta, witnesses), bounds.rows(bounds.samples, witnesses)
        assert len(asked) == (2 if bounds.beside else 0)
        assert (found.lo.tolist(), found.hi.tolist()) == (alone.lo.tolist(), alone.hi.tolist())
        assert (slopes.toarray().tolist(), offsets.tolist()) == (rows[0].toarray().tolist(), rows[1].tolist())
        known = bounds.hinges(theta, witnesses, rows=(slopes, offsets + 8))
        assert (np.abs(known.lo - alone.lo - 8) < 1e-12).all()
        assert len(asked) == (2 if bounds.beside else 0), "rows that are known are not computed again"


def halves(asked: list[Any]) -> Any:
    """`Sweeps.spread` of two parts, which writes down what it is asked for."""

    def spread(function: Any, *arrays: Any) -> list[Any]:
        asked.append(function)
        return [function(*part) for part in ([each[:2] for each in arrays], [each[2:] for each in arrays])]

    return spread


@given(seeds)
def test_offsets_are_enclosed_with_their_error(seed):
    rng = np.random.default_rng(seed)
    told, lie = rng.normal(size=8), rng.random() * 10.0 ** rng.integers(-17, 0)
    liar = Liar(np.ones((1, 1, 1)), np.ones((1, 1)), np.ones(1), offset_lie=lie)
    found = Bounds(liar, None).enclosed(np.zeros(8, int), told)
    for lo, offset, hi in zip(found.lo, told, found.hi, strict=True):
        assert Fraction(lo) <= Fraction(offset) - Fraction(lie) <= Fraction(offset) + Fraction(lie) <= Fraction(hi)
        assert hi - lo <= 2 * lie + 1e-14


def test_offsets_without_an_error_are_themselves():
    found = Bounds(Liar(np.ones((1, 1, 1)), np.ones((1, 1)), np.ones(1)), None).enclosed(np.zeros(2, int), np.ones(2))
    assert found.lo.tolist() == found.hi.tolist() == [1.0, 1.0]


def small_numbers(rng: np.random.Generator, n: int, on: bool) -> Any:
    return rng.random(n) * 10.0 ** rng.integers(-3, 1, n) * on


REGIMES = [(1, 0, 0, 0, 0), (1, 0, 0, 0, 1), (1, 0, 0, 0, -1), (0, 0, 0, 1, 0), (1, 0, 1, 1, 1), (0, 1, 1, 1, 1)]
REGIMES += [(1, 0, 0, 0, -8), (1, 0, 1, 0, 0), (0, 0, 1, 0, -8), (0, 0, 1, 1, 0)]


@pytest.mark.parametrize("regime", REGIMES)
def test_every_rounding_of_a_hinge_is_outward(regime):
    """Slopes of 0, so that each end is a sum of errors, known as a fraction; where it cancels the last bits count."""
    (lies, errs, misses, moves, cancels), n, p = regime, 300, 1 if regime[-1] == -8 else 7
    rng = np.random.default_rng([each + 8 for each in regime])
    theta = rng.normal(size=p)
    at = Interval(theta - moves * rng.random(p) / 3, theta + moves * rng.random(p) / 3)
    off, wrong, missed, reach = (small_numbers(rng, n, on) for on in (lies, errs, misses, moves))
    offsets = -cancels * (off * abs(theta).sum() + wrong + missed + reach / 2) * (1 + rng.random(n) / 100)
    liar = Liar(np.zeros((n, 1, p)), np.zeros((n, 1)), np.ones(n))
    liar.slope_error, liar.offset_error = lambda samples: off[samples], lambda samples: wrong[samples]
    liar.rounding, liar.reach = lambda theta: missed, lambda samples: reach[samples]
    bounds = Bounds(liar, None)
    found = bounds.hinges(theta, np.zeros((n, 1), int), at, (sparse.csr_array((n, p)), offsets))
    size = sum(map(max, map(abs, exact(at.lo)), map(abs, exact(at.hi))))
    away = max([*(exact(at.hi) - exact(theta)), *(exact(theta) - exact(at.lo))])
    error = exact(off) * size + exact(wrong)
    high = exact(offsets) + error + exact(missed) + 2 * exact(reach) * away
    assert (exact(found.hi) >= high).all()
    assert (exact(found.lo) <= exact(offsets) - error).all()
    assert (exact(found.hi) - high <= Fraction(1, 10**13)).all()
    assert (exact(offsets) - error - exact(found.lo) <= Fraction(1, 10**13)).all()


def test_a_sum_of_weights_that_is_rounded_is_enclosed():
    one = np.ones((3, 1, 1))
    for weights, rounded in (([0.1, 0.2, 0.7], True), ([1.0, 2.0, 4.0], False)):
        total, true = Bounds(Liar(one, one[:, 0], np.array(weights)), None).total, sum(map(Fraction, weights))
        assert Fraction(float(total.lo)) <= true <= Fraction(float(total.hi))
        assert (total.lo < sum(weights) < total.hi) == rounded


def dual_value(liar: Liar, samples: Any, witnesses: Any, weights: Any) -> Fraction:
    """Σ μ o − ‖Σ μ a‖²/(2λ) for the true cuts, μ on the simplex of each sample times its price."""
    mass = [exact(weights)[samples == i].sum() for i in range(liar.n_samples)]
    total = exact(liar.weights).sum()
    mu = np.array(
        [Fraction(w) / mass[i] * Fraction(liar.weights[i]) / total for w, i in zip(weights, samples, strict=True)]
    )
    at = samples, witnesses[:, 0]
    push = mu @ exact(liar.slopes[at])
    return mu @ exact(liar.offsets[at]) - (push * push).sum() / Fraction(LAM) / 2


@given(seeds)
def test_the_lower_bound_holds_against_every_lie_and_is_no_smaller_than_they_make_it(seed):
    """Slopes that push further than they are told to, offsets that are told too high."""
    rng = np.random.default_rng(seed)
    liar = some_liar(rng, direction=np.ones(3))
    liar.slopes = liar.slopes + 4.0  # so that every entry of Σ μ a is positive, in truth more than told
    samples = np.repeat(np.arange(liar.n_samples), 2)
    witnesses = rng.integers(0, liar.offsets.shape[1], (len(samples), 1))
    weights = rng.choice([0.1, 0.7, 1.0, 5.0], len(samples))
    bounds = Bounds(liar, None)
    lower, upper = bounds.recheck(Evidence(np.zeros(3), samples, witnesses, weights))
    true = dual_value(liar, samples, witnesses, weights)
    assert true - Fraction(1, 10**9) <= Fraction(lower) <= true
    assert upper == bounds.upper(np.zeros(3))
    cuts = Cuts(3, 1)
    cuts.add(samples, witnesses, liar.rows)
    assert bounds.lower(cuts, np.zeros(len(cuts))) == -np.inf
    assert bounds.lower(cuts, np.full(len(cuts), np.inf)) == -np.inf
    assert np.isnan(bounds.lower_at(np.zeros(3)))


def test_weights_on_samples_without_a_price_count_for_nothing():
    liar = Liar(np.ones((2, 1, 1)), np.ones((2, 1)), np.array([1.0, 0.0]))
    cuts, bounds = Cuts(1, 1), Bounds(liar, None)
    cuts.add(np.arange(2), np.zeros((2, 1), np.int64), liar.rows)
    assert bounds.samples.tolist() == [0]
    assert bounds.lower(cuts, np.array([1.0, 0.0])) == pytest.approx(-1.0)
    assert bounds.lower(cuts, np.array([0.0, 1.0])) == -np.inf


def test_what_is_known_from_above_shrinks_the_room_of_free_entries():
    """r = λ/2 w² on |b| ≤ √U: with push (s, t) the lower bound is Σ μ o − s²/(2λ) − √U |t|."""
    r = Stacked((1, 1), (SquaredNorm(LAM), Box(0.0, root=1.0, level=100.0)))
    liar = Liar(np.array([[[1.0, 0.5]]]), np.array([[3.0]]), np.ones(1), r)
    cuts, bounds = Cuts(2, 1), Bounds(liar, None)
    cuts.add(np.zeros(1, np.int64), np.zeros((1, 1), np.int64), liar.rows)
    for upper, beta in ((np.inf, 10.0), (400.0, 10.0), (4.0, 2.0), (9.0, 3.0)):
        assert bounds.lower(cuts, np.ones(1), upper) == pytest.approx(
            3 - 1 / (2 * LAM) - beta * 0.5, rel=1e-8, abs=1e-8
        )


def test_no_bound_at_what_is_no_number():
    bounds = Bounds(Liar(np.ones((1, 1, 1)), np.ones((1, 1)), np.ones(1)), None)
    assert bounds.upper(np.array([np.nan])) == bounds.upper(np.array([np.inf])) == np.inf
    bounds = Bounds(Liar(np.ones((1, 1, 2)), np.ones((1, 1)), np.ones(1)), None)
    assert bounds.upper(np.array([1.0, np.nan])) == bounds.upper(np.array([-np.inf, 1.0])) == np.inf
    cuts = Cuts(2, 1)
    cuts.add(np.zeros(1, int), np.zeros((1, 1), int), bounds.oracle.rows)
    assert bounds.lower(cuts, np.array([np.nan])) == -np.inf
    cuts.add(np.zeros(1, int), np.ones((1, 1), int), Liar(np.ones((1, 2, 2)), np.ones((1, 2)), np.ones(1)).rows)
    for weight in (np.nan, np.inf):
        assert bounds.lower(cuts, np.array([weight, 1.0])) == bounds.lower(cuts, np.array([1.0, weight])) == -np.inf


def test_the_start_is_a_vector_of_its_own_without_a_negative_zero():
    start = Bounds(Liar(np.ones((1, 1, 2)), np.ones((1, 1)), np.ones(1)), None).start
    assert not np.signbit(start).any()
    start[0] = 1.0
    assert not Bounds(Liar(np.ones((1, 1, 2)), np.ones((1, 1)), np.ones(1)), None).start.any()


def test_the_price_of_a_weight_that_is_not_used_is_not_asked():
    """Weights of 0 on cuts add nothing, and cuts of samples without a price nothing at all."""
    liar = Liar(np.ones((2, 2, 1)), np.array([[1.0, 7.0], [1.0, 9.0]]), np.array([1.0, 0.0]))
    cuts, bounds = Cuts(1, 1), Bounds(liar, None)
    cuts.add(np.array([0, 0, 1, 1]), np.array([[0], [1], [0], [1]]), liar.rows)
    alone = bounds.lower(cuts, np.array([1.0, 0.0, 0.0, 0.0]))
    assert alone == pytest.approx(1 - 1 / (2 * LAM))
    assert bounds.lower(cuts, np.array([1.0, 0.0, 3.0, 4.0])) == alone
    assert bounds.lower(cuts, np.array([0.0, 1.0, 3.0, 0.0])) == pytest.approx(7 - 1 / (2 * LAM))


def test_ends_that_cross_are_a_contradiction_and_ends_that_meet_are_none():
    liar = Liar(np.ones((1, 1, 1)), np.ones((1, 1)), np.ones(1))
    bounds = Bounds(liar, SimpleNamespace(oracle_kind="exact"))
    assert bounds.gap(1.0, 1.0) == 0.0
    with pytest.raises(Contradiction, match=r"above the proven upper bound 1\.0: there is a bug"):
        bounds.gap(1.0, float(np.nextafter(1.0, 2.0)))
    bounds.problem.oracle_kind = "under"
    with pytest.raises(Contradiction, match="kind under: it missed higher ones"):
        bounds.gap(1.0, 2.0)


def test_the_size_of_a_start_that_is_infinite_is_0():
    assert Bounds(HardMargin(), wb.Multiclass([[1.0], [2.0]], ["a", "b"])).scale == 0.0


@given(seeds)
def test_pushes_are_enclosed_where_r_leaves_theta_free_and_elsewhere(seed):
    rng = np.random.default_rng(seed)
    r = Stacked((1, 2), (SquaredNorm(LAM), Box(0.0, root=1.0, level=100.0)))
    liar = Liar(rng.normal(size=(2, 3, 3)), rng.normal(size=(2, 3)), rng.random(2) + 0.1, r)
    cuts, bounds = Cuts(3, 1), Bounds(liar, None)
    samples, witnesses, weights = np.repeat(np.arange(2), 3), np.tile(np.arange(3), 2)[:, None], rng.random(6)
    cuts.add(samples, witnesses, liar.rows)
    offset, push = bounds.dual(cuts, weights)
    prices, mass = exact(liar.weights) / exact(liar.weights).sum(), exact(weights).reshape(2, 3).sum(axis=1)
    mu = exact(weights) / mass[samples] * prices[samples]
    at = samples, witnesses[:, 0]
    true = -(mu @ exact(liar.slopes[at]))
    assert ((exact(push.lo) <= true) & (true <= exact(push.hi))).all()
    assert Fraction(float(offset.lo)) <= mu @ exact(liar.offsets[at]) <= Fraction(float(offset.hi))
    assert (push.hi - push.lo <= 1e-13).all()


def test_the_gap_is_relative_to_the_larger_end_and_floored():
    bounds = Bounds(Liar(np.ones((1, 1, 1)), np.array([[2.0]]), np.ones(1)), None)
    assert bounds.scale == pytest.approx(2.0)
    assert bounds.gap(2.0, 1.0) == 0.5
    assert bounds.gap(1.0, -4.0) == 1.25
    assert bounds.gap(1e-9, 0.0) == pytest.approx(1e-9 / 2e-6)
    assert bounds.gap(-1e-9, -2e-9) == pytest.approx(1e-9 / 2e-6)
    assert bounds.gap(np.inf, 1.0) == bounds.gap(1.0, -np.inf) == np.inf
    bounds.scale = 0.0
    assert bounds.gap(0.0, 0.0) == 0.0
    bounds.scale = -2.0
    assert bounds.gap(1e-9, 0.0) == pytest.approx(1e-9 / 2e-6)


# ── outputs of zero loss under hard constraints ───────────────────────────────────────────────────


def test_an_output_of_zero_loss_above_the_truth_cannot_be_scaled_away():
    """Labels a and b cost nothing when confused: w must still provably put the truth on top; a tie is not proven."""
    cost = np.array([[0.0, 0, 1], [0, 0, 1], [1, 1, 0]])
    problem = wb.Multiclass([[1.0], [1.0]], ["a", "c"], cost, classes=["a", "b", "c"], weights=[1.0, 0.0])
    bounds = Bounds(HardMargin(), problem)
    assert bounds.oracle.free_outputs
    for w, feasible in (([2.0, 1.0, 0.0], True), ([2.0, 2.0, 0.0], False), ([2.0, 3.0, 0.0], False)):
        theta = np.array(w)
        assert bounds.keeps_free_outputs(theta) is feasible
        assert np.isfinite(bounds.upper(theta)) == feasible
        np.testing.assert_allclose(bounds.repaired(theta), theta)
    assert bounds.upper(np.array([0.75, 0.5, 0.25])) == pytest.approx((1.5**2 + 1 + 0.5**2) / 2)
    np.testing.assert_allclose(bounds.repaired(np.array([0.75, 0.5, 0.25])), [1.5, 1.0, 0.5])
    wide = wb.Multiclass([[1.0], [1.0]], ["a", "c"], cost, classes=["a", "b", "c"], weights=[1.0, 0.0])
    for error, feasible in ((0.02, True), (0.05, False)):  # times ‖w‖₁ = 3.9, beside an advantage of 0.1
        wide.feature_error = np.full(2, error)
        assert Bounds(HardMargin(), wide).keeps_free_outputs(np.array([2.0, 1.9, 0.0])) is feasible
    for error, feasible in ((0.01, True), (0.02, False)):  # times ‖w‖₁ = 7.9, though the entries cancel
        wide.feature_error = np.full(2, error)
        assert Bounds(HardMargin(), wide).keeps_free_outputs(np.array([2.0, 1.9, -4.0])) is feasible
    short = SimpleNamespace(**{name: getattr(problem, name) for name in ("truth", "weights")})
    bounds.problem = short  # cannot be enumerated
    assert not bounds.keeps_free_outputs(np.array([2.0, 1.0, 0.0]))


def test_the_hardest_sample_says_by_how_much_a_point_is_scaled():
    """Advantages 2 and 1/2, of which the second is to be 1: twice the point, whichever sample comes first."""
    for order in ([0, 1], [1, 0]):
        problem = wb.Multiclass(np.array([[2.0], [-0.5]])[order], np.array(["a", "b"])[order], classes=["a", "b"])
        bounds, theta = Bounds(HardMargin(), problem), np.array([0.5, -0.5])
        assert bounds.upper(theta) == pytest.approx(1.0)
        np.testing.assert_allclose(bounds.repaired(theta), [1.0, -1.0])


def test_the_norm_of_a_scaled_point_is_rounded_up():
    """‖c·θ‖²/2 of c = 1/(least advantage), in fractions, of θ that have no short form."""
    bounds = Bounds(HardMargin(), wb.Multiclass([[1.0], [-1.0]], ["a", "b"]))
    for x in np.random.default_rng(0).random(40) + 0.1:
        theta = np.array([x, -x / 3])
        scale = bounds.feasible_scale(theta, bounds.hinges(theta, None))
        value = sum((Fraction(scale) * Fraction(each)) ** 2 for each in theta.tolist()) / 2
        assert value <= Fraction(bounds.upper(theta)) <= value * (1 + Fraction(1, 10**14))


def test_an_output_of_zero_loss_may_share_letters_with_the_truth():
    """Only (a, b) is above the truth (a, a), and costs nothing."""
    cost = np.array([[0.0, 0, 1], [0, 0, 1], [1, 1, 0]])
    problem = wb.Chain([np.eye(2)], [["a", "a"]], "hamming", cost, classes=["a", "b", "c"])
    bounds, theta = Bounds(HardMargin(), problem), np.zeros(problem.n_features)
    theta[:4] = 3.0, 1.0, 0.0, 2.0  # of a and of b, for the first and the second letter
    assert not bounds.keeps_free_outputs(theta)
    theta[3] = 0.5
    assert bounds.keeps_free_outputs(theta)


# ── smooth terms ──────────────────────────────────────────────────────────────────────────────────


@dataclass
class SmoothLiar:
    """h_i(θ) = ⟨a_i, θ⟩ + o_i, values told off by `value_lie`, Σ s_i a_i by the vector `lie`."""

    slopes: Any
    offsets: Any
    weights: Any
    value_lie: float = 0.0
    lie: Any = 0.0
    assumption: str = "none"

    def terms(self, problem: Any) -> Any:
        return self

    def prices(self, problem: Any) -> Prices:
        return Prices.of_mean(self.weights)

    def regularizer(self, problem: Any) -> SquaredNorm:
        return SquaredNorm(LAM)

    @property
    def dim(self) -> int:
        return self.slopes.shape[1]

    def evaluate(self, theta: Any, samples: Any, weights: Any) -> Any:
        self.asked = getattr(self, "asked", 0) + 1
        return self.slopes @ theta + self.offsets + self.value_lie, weights @ self.slopes - self.lie

    def errors(self, theta: Any, samples: Any, weights: Any) -> Any:
        return np.full(len(samples), abs(self.value_lie)), float(np.linalg.norm(self.lie))


@given(seeds)
def test_smooth_bounds_hold_against_every_lie(seed):
    """With a slope of (3, 4)·t in truth and (3, 4)·(t − u) as told, the lower bound is the least value, to rounding."""
    rng = np.random.default_rng(seed)
    n, value_lie = rng.integers(1, 4), rng.integers(-1, 2) * 0.125
    weights, theta, slopes, offsets = rng.choice([1.0, 3.0], n), eighths(rng, 2), eighths(rng, n, 2), eighths(rng, n)
    total, (t, u) = weights.sum(), (rng.integers(2, 5), rng.integers(0, 2) * 0.5)
    slopes[-1] += (total * (np.array([3.0, 4.0]) * t - LAM * theta) - weights @ slopes) / weights[-1]
    liar = SmoothLiar(slopes, offsets, weights, value_lie, np.array([3.0, 4.0]) * u * total)
    bounds = SmoothBounds(liar, None)
    value = LAM / 2 * theta @ theta + weights @ (slopes @ theta + offsets) / total
    least = value - 25 * t * t / (2 * LAM)
    lower, upper = bounds.recheck(Evidence(theta))
    assert upper == bounds.upper(theta)
    assert lower == bounds.lower_at(theta)
    assert least - 2 * abs(value_lie) - 1e-10 <= lower <= least + value_lie - abs(value_lie) + 1e-10
    assert value + value_lie + abs(value_lie) - 1e-10 <= upper <= value + 2 * abs(value_lie) + 1e-10
    if not value_lie and not u:
        assert lower <= least + 1e-14 * abs(least)
    told, slope = bounds.value_and_gradient(theta)
    assert told == pytest.approx(value + value_lie)
    np.testing.assert_allclose(slope, np.array([3.0, 4.0]) * (t - u), atol=1e-12)


def test_smooth_terms_are_evaluated_once_a_point():
    liar = SmoothLiar(np.ones((1, 1)), np.ones(1), np.ones(1))
    bounds, theta, liar.asked = SmoothBounds(liar, None), np.array([0.5]), 0
    before = liar.asked
    ends = [bounds.recheck(Evidence(theta)), bounds.recheck(Evidence(theta.copy()))]
    assert liar.asked == before + 1
    assert ends[0] == ends[1]
    assert liar.asked == before + 1
    elsewhere = Evidence(theta + 1)
    assert bounds.recheck(elsewhere) == SmoothBounds(liar, None).recheck(elsewhere) != ends[0]
    assert bounds.value_and_gradient(theta)[0] == pytest.approx(float(ends[0][1]))


@pytest.mark.parametrize("theta", [1e100, -1e100, 1e200])
def test_far_out_smooth_bounds_say_nothing(theta):
    bounds = SmoothBounds(SmoothLiar(np.ones((1, 1)), np.ones(1), np.ones(1)), None)
    assert bounds.recheck(Evidence(np.array([theta]))) == (-np.inf, np.inf)
    assert bounds.upper(np.array([theta])) == np.inf
    value, norm = bounds.enclosed(np.array([theta]))
    assert (value.lo, value.hi, norm) == (-np.inf, np.inf, np.inf)
    assert np.isfinite(bounds.recheck(Evidence(np.array([1e99])))[1])


def test_one_entry_that_is_far_out_leaves_nothing_to_say():
    bounds = SmoothBounds(SmoothLiar(np.array([[0.0, 1.0]]), np.ones(1), np.ones(1)), None)
    for theta in ([1e100, 0.0], [0.0, -1e100]):
        assert bounds.recheck(Evidence(np.array(theta))) == (-np.inf, np.inf)


def test_one_value_that_overflows_leaves_nothing_to_say():
    bounds = SmoothBounds(SmoothLiar(np.ones((2, 1)), np.array([np.inf, 1.0]), np.ones(2)), None)
    assert bounds.recheck(Evidence(np.zeros(1))) == (-np.inf, np.inf)


def test_smooth_bounds_need_a_curvature():
    liar = SmoothLiar(np.ones((1, 1)), np.ones(1), np.ones(1))
    liar.regularizer = lambda problem: Box(0.0, root=1.0, level=1.0)
    with pytest.raises(MissingCapability, match="SmoothLiar has smooth terms, which need r = μ/2"):
        SmoothBounds(liar, None).lower_at(np.zeros(1))


@given(seeds)
def test_the_norm_of_a_smooth_gradient_is_rounded_up(seed):
    """‖λθ + (g ± e)/total‖ ≤ ‖λθ + g/total‖ + e/total, in fractions of squares."""
    rng = np.random.default_rng(seed)
    n, p = 3, 4
    liar = SmoothLiar(rng.normal(size=(n, p)), rng.normal(size=n), rng.random(n) + 0.1, lie=rng.normal(size=p) / 10)
    bounds, theta = SmoothBounds(liar, None), rng.normal(size=p) * 10.0 ** rng.integers(-3, 3)
    gradient, total = exact(bounds.evaluate(theta)[1]), exact(liar.weights).sum()
    value, norm = bounds.enclosed(theta)
    squares = ((Fraction(LAM) * exact(theta) + gradient / total) ** 2).sum()
    rest = Fraction(norm) - Fraction(float(np.linalg.norm(liar.lie))) / total
    assert rest > 0
    assert rest**2 >= squares
    assert rest**2 <= squares * (1 + Fraction(1, 10**12))
    values = exact(bounds.evaluate(theta)[0])
    true = Fraction(LAM) / 2 * (exact(theta) ** 2).sum() + exact(liar.weights) @ values / total
    assert Fraction(float(value.lo)) <= true <= Fraction(float(value.hi))


def test_the_least_total_makes_the_largest_gradient():
    bounds = SmoothBounds(SmoothLiar(np.zeros((1, 2)), np.zeros(1), np.ones(1), lie=np.array([3.0, 4.0])), None)
    bounds.total, bounds.proven = Interval(1.0, 2.0), None
    assert bounds.lower_at(np.zeros(2)) <= -(10**2) / (2 * LAM)  # 5 as told, and 5 that it may be off


def test_evidence_of_a_point_alone_holds_no_cuts():
    alone = Evidence(np.ones(2))
    assert [each.shape for each in (alone.samples, alone.witnesses, alone.weights)] == [(0,), (0, 0), (0,)]


def test_every_kind_of_formulation_has_its_bounds():
    problem = wb.Multiclass([[0.0], [1.0]], ["a", "b"])
    assert type(bounds_for(wb.SoftMargin(), problem)) is Bounds
    assert type(bounds_for(wb.CRF(), problem)) is SmoothBounds
    assert bounds_for(wb.CRF(), problem).arithmetic.startswith("interval (")


# ── helpers ───────────────────────────────────────────────────────────────────────────────────────


@given(seeds)
def test_sums_of_groups_are_enclosed(seed):
    rng = np.random.default_rng(seed)
    values, groups = rng.random(40) * 10.0 ** rng.integers(-8, 8, 40), rng.integers(0, 3, 40)
    wide = Interval(values, values * rng.choice([1.0, 2.0], 40))
    found = grouped_sum(wide, groups, 4)
    for i in range(4):
        lo, hi = exact(wide.lo)[groups == i].sum(), exact(wide.hi)[groups == i].sum()
        assert Fraction(found.lo[i]) <= lo <= hi <= Fraction(found.hi[i])
        assert found.lo[i] >= float(lo) * (1 - 1e-13) - 1e-300
        assert found.hi[i] <= float(hi) * (1 + 1e-13) + 1e-300


def test_the_group_of_most_terms_says_how_far_all_may_err():
    """4,000 equal terms err to one side; the other group has one."""
    groups = np.append(np.zeros(4000, int), 1)
    for x in np.linspace(0.1, 0.9, 9):
        found = grouped_sum(Interval(np.full(4001, x)), groups, 2)
        for terms, lo, hi in zip((4000, 1), found.lo, found.hi, strict=True):
            assert Fraction(float(lo)) <= terms * Fraction(x) <= Fraction(float(hi))


def test_a_group_of_one_is_its_term_to_the_last_bit():
    """Nothing was added there, so nothing rounds; dual weights of a table are such groups."""
    wide = Interval(np.array([0.1, 0.3, 0.7]), np.array([0.2, 0.4, 0.8]))
    found = grouped_sum(wide, np.array([3, 0, 2]), 4)
    assert found.lo.tolist() == [0.3, 0.0, 0.7, 0.1]
    assert found.hi.tolist() == [0.4, 0.0, 0.8, 0.2]


def test_weights_of_another_size_are_refused():
    assert checked_theta([[1, 2]], 2).tolist() == [1.0, 2.0]
    with pytest.raises(wb.BadInput, match="have 2 entries but the problem needs 3"):
        checked_theta([1, 2], 3)


def asked(form, problem, theta):
    """Bounds, the cuts that the oracle answers at θ, and the price of each sample as its weight."""
    bounds = Bounds(form, problem)
    cuts = Cuts(bounds.oracle.dim, bounds.oracle.width)
    cuts.add(bounds.samples, bounds.oracle.argmax(theta, bounds.samples), bounds.oracle.rows)
    return bounds, cuts, bounds.prices.floats()


@pytest.mark.parametrize("form", [wb.NormalizedCostLearning(lam2=0.5), wb.SimplexCostLearning(lam2=0.5)])
def test_the_lower_bound_is_the_exact_one_where_r_is_lopsided(form):
    """Costs are ≥ 0, so r*(s) differs from r*(−s): a push with the wrong sign shows."""
    rng = np.random.default_rng(2)
    problem = wb.Multiclass(rng.normal(size=(9, 2)), np.arange(9) % 3)
    theta = form.regularizer(problem).feasible(rng.normal(size=form.blocks(problem).dim))
    bounds, cuts, weights = asked(form, problem, theta)
    rules = ExactBounds(form, problem)
    truth = rules.lower(cuts.samples, cuts.witnesses, rules.multipliers(cuts.samples, weights))
    found = bounds.lower(cuts, weights)
    assert found <= truth
    assert found == pytest.approx(float(truth), rel=1e-9)


def test_one_sample_without_weight_leaves_no_bound():
    problem = wb.Multiclass(np.eye(3), [0, 1, 0])
    bounds, cuts, weights = asked(wb.SoftMargin(lam=0.5), problem, np.ones(6))
    assert np.isfinite(bounds.lower(cuts, weights))
    assert bounds.lower(cuts, weights * [1, 0, 1]) == -np.inf


def test_a_pool_of_distinct_cuts_leaves_the_arrays_that_it_was_made_of_alone():
    problem = wb.load_problem("toy")()
    oracle = wb.Bounds(wb.SoftMargin(), problem).oracle
    samples = np.arange(problem.n_samples)
    slopes, offsets = oracle.rows(samples, problem.truth)
    kept = [each.copy() for each in (samples, problem.truth, offsets, slopes.toarray())]
    cuts = Cuts.distinct(samples, problem.truth, slopes, offsets)
    others = (problem.truth + 1) % len(problem.classes)
    ids = cuts.add(np.append(samples, samples), np.vstack([problem.truth, others]), oracle.rows)
    assert ids.tolist() == list(range(2 * problem.n_samples))
    for before, after in zip(kept, (samples, problem.truth, offsets, slopes.toarray()), strict=True):
        assert (before == after).all()
    more, losses = oracle.rows(samples, others)
    assert (cuts.slopes[problem.n_samples :] != more).nnz == 0
    assert (cuts.offsets == np.append(offsets, losses)).all()
    assert (cuts.witnesses == np.vstack([problem.truth, others])).all()


def test_the_shape_follows_the_regularizer():
    bounds = Bounds(wb.SoftMargin(0.5), wb.Multiclass([[1.0], [-1.0]], ["a", "b"]))
    assert bounds.shape is bounds.shape
    assert (bounds.shape.square == 0.25).all()
    bounds.regularizer = SquaredNorm(2.0)
    assert (bounds.shape.square == 1.0).all()


def test_answers_of_workers_are_taken_as_they_are():
    """Those below the maximum make F at r's minimiser, to which gaps are relative, no larger."""
    bounds, own = (Bounds(wb.SoftMargin(0.5), wb.load_problem("synthetic-chain")(n=5)) for _ in range(2))
    bounds.open_with(bounds.truth)
    assert bounds.opening is bounds.truth
    assert bounds.at_start() < own.at_start()


def test_the_truth_is_that_of_the_problem_which_the_oracle_asks():
    bounds = Bounds(wb.SoftMargin(0.5), wb.load_problem("toy")())
    bounds.oracle = SimpleNamespace(problem=SimpleNamespace(truth="states and all"))
    assert bounds.truth == "states and all"


def test_threads_end_with_the_block():
    bounds = Bounds(wb.SoftMargin(0.5), wb.load_problem("synthetic-chain")(n=5))
    with bounds.sweeping(2):
        hands = bounds.sweeps.hands
    assert bounds.sweeps is None
    with pytest.raises(RuntimeError, match="after shutdown"):
        hands.share([int, int])


def test_a_hard_constraint_is_scaled_by_the_upper_end_of_its_violation():
    problem = wb.Multiclass([[1.0], [-1.0]], ["a", "b"])
    bounds = Bounds(HardMargin(), problem)
    ends = Interval(np.array([0.0, 0.25]), np.array([0.5, 0.25]))
    assert bounds.feasible_scale(np.ones(2), ends) == HardMargin().feasible_scale(problem, 0.5)
    assert HardMargin().feasible_scale(problem, 0.5) > HardMargin().feasible_scale(problem, 0.25)


def test_weights_are_repaired_before_the_oracle_is_asked():
    """It would answer for weights that are not admitted, and its cuts miss the highest ones at those that are."""
    bounds = Bounds(wb.SoftMargin(0.5), wb.load_problem("grid")(n=4))
    theta = np.random.default_rng(7).normal(size=bounds.oracle.dim)
    repaired = bounds.regularizer.feasible(theta)
    assert (repaired != theta).any()
    assert bounds.upper(theta) == bounds.upper(repaired)


def test_the_start_is_the_minimiser_of_the_regularizer():
    @dataclass(frozen=True)
    class Shifted(SquaredNorm):
        def argmin(self, s):
            return s / self.lam + 1

    rng = np.random.default_rng(0)
    for chosen, start in ((SquaredNorm(2.0), 0.0), (Shifted(2.0), 1.0), (SquaredNorm(np.nan), np.nan)):
        bounds = Bounds(Liar(eighths(rng, 5, 2, 3), eighths(rng, 5, 2), np.ones(5), chosen), None)
        assert np.array_equal(bounds.start, [start] * 3, equal_nan=True)
