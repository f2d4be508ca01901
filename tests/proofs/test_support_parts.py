"""What holds an optimum, number by number: certificates written by hand against sums in floats, without a solver."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.arithmetic.intervals import down, up
from workbench.errors import BadInput, MissingCapability
from workbench.proofs.any_bounds import bounds_for
from workbench.proofs.certificate import Certificate
from workbench.proofs.support import FULL, Tangents, Weighted, changed, explain, without

X = np.array([[1.0, 0], [0, 1], [1, 1], [2, 0], [0, 0], [0.5, 0.25], [3, 1], [1, 0]])
TRUTH = np.array([0, 1, 0, 0, 1, 2, 2, 0])
SHARES = np.array([1.0, 2, 1, 1, 1, 3, 0, 1])
THETA = np.array([0.5, -0.25, -0.125, 0.5, -0.375, 0.0625])
WEIGHTS = {  # sample → output → weight
    0: {1: 0.5, 0: 0.5},
    1: {0: FULL, 1: 1 - FULL},  # exactly full
    2: {1: FULL, 2: 1e-6},  # the second holds exactly nothing
    3: {1: 0.25, 0: 0.75},  # as strong a pull as sample 0 and 7, of half their weight
    4: {0: 0.25, 1: 0.5},  # its features are 0
    5: {0: 0.125, 1: 0.25, 2: 0.5},
    6: {1: 1.0},  # of no price
    7: {1: 0.5, 0: 0.25},
}
LAM = 0.75


def written(formulation: Any, problem: Any, weights: dict[int, dict[int, float]], theta: Any = THETA) -> Certificate:
    cuts = [(i, z, weight) for i, own in weights.items() for z, weight in own.items()]
    samples, outputs, numbers = (np.array(each) for each in zip(*cuts, strict=True))
    ends = {"upper": np.inf, "lower": -np.inf, "gap": np.inf, "status": "", "backend": ""}
    return Certificate(formulation, problem, theta, samples, outputs[:, None], numbers, **ends)


def problem() -> Any:
    return wb.Multiclass(X, TRUTH, weights=SHARES, classes=[0, 1, 2])


def soft(weights: Any = WEIGHTS) -> Certificate:
    return written(wb.SoftMargin(lam=LAM), problem(), weights)


def slope(i: int, z: int) -> Any:
    """Φ(x_i, z) − Φ(x_i, y_i)."""
    found = np.zeros((3, 2))
    found[z] += X[i]
    found[TRUTH[i]] -= X[i]
    return found.ravel()


def height(i: int, z: int, theta: Any = THETA) -> float:
    return float(slope(i, z) @ theta + (z != TRUTH[i]))


def hinge(i: int, theta: Any = THETA) -> float:
    return max(height(i, z, theta) for z in range(3))


def ends(prices: Any, weights: Any = WEIGHTS, lam: float = LAM) -> tuple[float, float]:
    """Both bounds of a mean, in floats."""
    upper, offset, push = lam / 2 * THETA @ THETA, 0.0, np.zeros(6)
    for i, price in enumerate(prices):
        upper += price * hinge(i)
        mass = sum(weights[i].values())
        for z, weight in weights[i].items():
            offset += price * weight / mass * (z != TRUTH[i])
            push = push + price * weight / mass * slope(i, z)
    return offset - push @ push / (2 * lam), upper


def test_every_number_of_a_certificate_with_cuts():
    found = explain(soft(), most=20)
    held = {i: {z: m for z, m in own.items() if z != TRUTH[i] and m > 2e-6} for i, own in WEIGHTS.items() if i != 6}
    pulls = {i: np.linalg.norm(sum(m * slope(i, z) for z, m in own.items())) for i, own in held.items()}
    assert [each.sample for each in found.samples] == [2, 1, 0, 7, 3, 5, 4]
    assert (found.n_samples, found.support, found.full, found.cuts) == (8, 7, 2, 8)
    prices = SHARES / SHARES.sum()
    lower, upper = ends(prices)
    assert (found.lower, found.upper) == pytest.approx((lower, upper), rel=1e-12)
    assert found.lower <= lower + 1e-13
    for each in found.samples:
        i = each.sample
        assert each.truth == f"label {TRUTH[i]}"
        mass = sum(WEIGHTS[i].values())
        assert each.share == pytest.approx(sum(held[i].values()) / mass, rel=1e-14)
        assert each.pull == pytest.approx(pulls[i], rel=1e-14)
        assert each.hinge == pytest.approx(hinge(i), rel=1e-14)
        order = sorted(held[i], key=lambda z, i=i: -held[i][z])
        assert [cut.output for cut in each.cuts] == [f"label {z}" for z in order]
        for cut, z in zip(each.cuts, order, strict=True):
            assert (cut.witness, cut.weight, cut.loss) == ((z,), held[i][z], 1.0)
            assert cut.share == pytest.approx(held[i][z] / mass, rel=1e-14)
            assert cut.height == pytest.approx(height(i, z), rel=1e-14)
        others = np.where(np.arange(8) == i, 0, SHARES)
        assert each.left is not None
        least, most = ends(others / others.sum())
        assert (each.left.lower, each.left.upper) == pytest.approx((least, most), rel=1e-12)
        assert each.left.change == pytest.approx((least - upper, most - lower), rel=1e-12)
        assert each.left.moved == pytest.approx(np.sqrt(2 * (most - least) / LAM), rel=1e-12)


def test_the_strongest_first_and_no_more_than_asked():
    for most in (1, 3):
        assert [each.sample for each in explain(soft(), most=most).samples] == [2, 1, 0][:most]
    assert len(explain(soft()).samples) == 7
    for most in (0, -1, 1.5):
        with pytest.raises(BadInput, match="most"):
            explain(soft(), most=most)


def test_ten_samples_are_told_unless_more_are_asked_for():
    points = np.vstack([X[:1]] * 11)
    many = wb.Multiclass(points, np.zeros(11, int), classes=[0, 1, 2])
    found = explain(written(wb.SoftMargin(), many, {i: {1: 1.0} for i in range(11)}))
    assert [each.sample for each in found.samples] == list(range(10))
    assert (found.support, found.full, found.cuts) == (11, 11, 11)


def test_cuts_that_are_given_twice_are_one():
    once, twice = soft(), soft()
    twice.samples, twice.witnesses = np.tile(once.samples, 2), np.tile(once.witnesses, (2, 1))
    twice.weights = np.tile(once.weights / 2, 2)
    assert explain(twice) == explain(once)


def test_proofs_without_dual_weights_are_refused():
    with pytest.raises(MissingCapability, match="search tree"):
        explain(replace(soft(), tree=SimpleNamespace()))
    with pytest.raises(MissingCapability, match="slopes of pairs"):
        explain(replace(soft(), slopes=np.zeros(1)))


def separable(weights: dict[int, float]) -> Weighted:
    apart = wb.Multiclass([[2.0, 0.0], [-1.0, 0.5], [1.5, 1.0]], [0, 1, 0])
    truth = apart.truth.ravel()
    hard = wb.HardMargin(lam=LAM)
    theta = np.array([3.0, 0, -3, 0])
    held = written(hard, apart, {i: {1 - int(truth[i]): w} for i, w in weights.items()}, theta)
    return Weighted(held, bounds_for(hard, apart))


@pytest.mark.parametrize("size", [0.0625, 1.0, 4.0])
def test_weights_of_hard_margins_are_scaled_to_their_best(size):
    held = separable({0: size, 1: size / 2, 2: size / 4})
    kept = np.where(held.pool.samples == 1, 0.0, held.weights)
    push, offset = held.pool.slopes.T @ kept, held.pool.offsets @ kept
    best = held.scaled(kept)
    np.testing.assert_allclose(best, kept * LAM * offset / (push @ push), rtol=1e-14)
    left = held.left(1)
    assert left is not None
    dual = LAM * offset**2 / (2 * push @ push)
    assert left.lower == pytest.approx(dual, rel=1e-12)
    assert left.lower <= dual * (1 + 1e-15)
    assert left.upper == pytest.approx(LAM / 2 * 18, rel=1e-12)
    assert left.moved == pytest.approx(np.sqrt(2 * (LAM * 9 - dual) / LAM), rel=1e-12)


def test_what_cannot_be_scaled_stays():
    held = separable({0: 1.0, 1: 0.5, 2: 0.25})
    first = np.where(held.pool.samples == 0, held.weights, 0.0)  # ψ = ±(2, 0): half of its entries are 0
    np.testing.assert_allclose(held.scaled(first), first * LAM / 8, rtol=1e-14)
    nothing = np.zeros(3)
    assert held.scaled(nothing) is nothing
    of_mean = Weighted(soft(), bounds_for(soft().formulation, problem()))
    assert of_mean.scaled(of_mean.weights) is of_mean.weights
    flat = SimpleNamespace(regularizer=SimpleNamespace(curvature=None), prices=held.bounds.prices)
    held.bounds = flat  # type: ignore[assignment]
    assert held.scaled(held.weights) is held.weights
    steep = SimpleNamespace(regularizer=SimpleNamespace(curvature=1.0), prices=held.bounds.prices)
    held.bounds = steep  # type: ignore[assignment]
    held.pool = SimpleNamespace(slopes=np.eye(3), offsets=-np.ones(3))  # type: ignore[assignment]
    assert held.scaled(np.ones(3)).tolist() == [0, 0, 0]


def test_shares_of_hard_margins_are_measured_by_the_greatest_weight():
    held = separable({0: 1.0, 1: 2e-6, 2: 9e-7}).explanation(10)
    assert [(each.sample, each.share) for each in held.samples] == [(0, 1.0), (1, 1.0)]
    assert [(each.sample, each.share) for each in separable({0: 1.0, 1: 1e-6, 2: 0.5}).explanation(10).samples] == [
        (0, 1.0),
        (2, 1.0),
    ]
    assert separable({0: 0.0}).explanation(10).samples == ()
    small = separable({0: 1e-7, 1: 1e-12}).explanation(10)
    assert [(each.sample, each.share) for each in small.samples] == [(0, 1.0), (1, 1.0)]
    assert (held.support, held.full, held.cuts) == (2, 2, 2)


def test_every_number_of_a_certificate_of_smooth_terms():
    lam, theta = 0.75, THETA
    held = written(wb.CRF(lam=lam), problem(), {0: {0: 0.0}})
    bounds = bounds_for(held.formulation, held.problem)
    scores = X @ theta.reshape(3, 2).T
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    values = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(8), TRUTH]
    gradients = np.array([sum(chances[i, z] * slope(i, z) for z in range(3)) for i in range(8)])

    def both(shares: Any) -> tuple[float, float]:
        prices = shares / shares.sum()
        upper = lam / 2 * theta @ theta + prices @ values
        steep = lam * theta + prices @ gradients
        return upper - steep @ steep / (2 * lam), upper

    lower, upper = both(SHARES)
    found = explain(held, most=20)
    assert found == Tangents(held, bounds).explanation(20)
    assert (found.lower, found.upper) == pytest.approx((lower, upper), rel=1e-9)
    assert (found.n_samples, found.support, found.full, found.cuts) == (8, 7, 7, 7)
    pulls = SHARES / SHARES.sum() * np.linalg.norm(gradients, axis=1)
    assert [each.sample for each in found.samples] == sorted(set(range(8)) - {6}, key=lambda i: (-pulls[i], i))
    for each in found.samples:
        i = each.sample
        likeliest = int(scores[i].argmax())
        (cut,) = each.cuts
        assert (each.truth, each.share, cut.share) == (f"label {TRUTH[i]}", 1.0, 1.0)
        assert each.pull == pytest.approx(pulls[i], rel=1e-12)
        assert each.hinge == cut.height == pytest.approx(values[i], rel=1e-12)
        assert cut.output == f"the model's distribution, likeliest label {likeliest}"
        assert (cut.witness, cut.loss) == ((likeliest,), float(likeliest != TRUTH[i]))
        assert cut.weight == pytest.approx(SHARES[i] / SHARES.sum(), rel=1e-14)
        least, most = both(np.where(np.arange(8) == i, 0, SHARES))
        assert each.left is not None
        assert (each.left.lower, each.left.upper) == pytest.approx((least, most), rel=1e-9)
        assert each.left.change == pytest.approx((least - upper, most - lower), rel=1e-9)
        assert each.left.moved == pytest.approx(np.sqrt(2 * (most - least) / lam), rel=1e-6)
    assert [each.sample for each in explain(held, most=1).samples] == [found.samples[0].sample]


def test_a_sample_leaves_by_its_weight_alone():
    held = soft()
    bounds = without(held, 1)
    assert bounds is not None
    assert bounds.problem.weights.tolist() == [1, 0, 1, 1, 1, 3, 0, 1]
    assert held.problem.weights.tolist() == SHARES.tolist()
    alone = wb.Multiclass(X, TRUTH, weights=np.eye(8)[2], classes=[0, 1, 2])
    for formulation in (wb.SoftMargin(lam=LAM), wb.CRF(lam=LAM)):
        held = written(formulation, alone, {2: {1: 1.0}})
        assert without(held, 2) is None
        assert without(held, 3) is not None
        assert [each.left for each in explain(held).samples] == [None]


def test_changes_are_rounded_outward():
    for new, old, curvature in (((0.1, 0.3), (0.2, 0.25), 0.7), ((-0.3, 0.7), (-0.1, 0.1), 3.0)):
        left = changed(new, old, curvature)
        assert (left.lower, left.upper) == new
        assert left.change == (down(new[0] - old[1]), up(new[1] - old[0]))
        assert left.moved == up(np.sqrt(up(2 * up(new[1] - new[0]) / curvature)))
        assert changed(new, old, None).moved is None
    assert changed((0.5, 0.5), (0.5, 0.5), 1.0).upper == 0.5
    with pytest.raises(BadInput, match="contradict each other"):
        changed((0.5, 0.25), (0.0, 1.0), 1.0)
