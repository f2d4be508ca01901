"""The parts of the exact bounds, each against its definition in fractions: multipliers, simplex, scale, gap."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.arithmetic.rationals import Ratios, ratios
from workbench.errors import BadInput
from workbench.formulations.hard_margin import HardMargin
from workbench.proofs.checker.check import MOST_DIGITS
from workbench.proofs.ends import above, below, parsed
from workbench.proofs.exact import ExactBounds, exact_bounds, exact_optimum, optimum

X, LABELS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), ["a", "b", "b"]


def rules(hard: bool = False, weights: Any = (1.0, 0.0, 2.0)) -> ExactBounds:
    return ExactBounds(HardMargin() if hard else wb.SoftMargin(lam=0.5), wb.Multiclass(X, LABELS, weights=weights))


SAMPLES = np.array([0, 2, 0, 2, 1])


@pytest.mark.parametrize(
    "weights", [[0.1, 0.3, 0.7, 0.2, 5.0], [0.0, 1e-300, 1.0, 0.0, 0.0], [3.0, 1 / 3, 2.0, 0.1, 0.0]]
)
def test_multipliers_are_the_shares_of_the_weights_and_add_up_to_the_prices(weights):
    exact, shares = rules(), np.array(weights)
    mu = exact.multipliers(SAMPLES, shares)
    assert exact.on_simplex(SAMPLES, mu)
    found = mu.fractions()
    for sample, price in ((0, Fraction(1, 3)), (2, Fraction(2, 3)), (1, Fraction(0))):
        own = np.flatnonzero(sample == SAMPLES)
        assert sum(found[k] for k in own) == price
        mass = sum(Fraction(weights[k]) for k in own)
        heaviest = max(own, key=lambda k: weights[k])
        for k in own:
            share = price * Fraction(weights[k]) / mass if mass else 0
            assert abs(found[k] - share) < Fraction(1, 2**60), (sample, k)
            assert found[k] <= share or k == heaviest, "what is left goes to the heaviest"


def test_a_sample_without_weight_has_no_multipliers():
    assert rules().multipliers(SAMPLES, np.array([1.0, 0.0, 1.0, 0.0, 1.0])) is None
    assert rules().multipliers(SAMPLES, np.array([0.0, 1.0, 0.0, 1.0, 1.0])) is None
    assert rules().multipliers(SAMPLES, np.array([0.0, 1.0, 1.0, 0.0, 0.0])) is not None


def test_hard_multipliers_are_the_weights_but_of_samples_without_a_price():
    exact, weights = rules(hard=True), np.array([0.5, 0.0, 0.25, 7.0, 3.0])
    assert list(exact.multipliers(SAMPLES, weights).fractions()) == [0.5, 0, 0.25, 7, 0]
    assert exact.lower(SAMPLES, np.ones((5, 1), int), None) == -np.inf


def test_the_simplex_to_the_last_digit():
    exact, hard = rules(), rules(hard=True)

    def simple(*numbers: Fraction | int) -> Ratios:
        unit = 3 * 10**6
        return Ratios(np.array([int(Fraction(each) * unit) for each in numbers], object), unit)

    third, tiny = Fraction(1, 3), Fraction(1, 3 * 10**6)
    assert exact.on_simplex(SAMPLES, simple(third, third, 0, third, 0))
    assert not exact.on_simplex(SAMPLES, simple(third, third, 0, third, tiny))
    assert not exact.on_simplex(SAMPLES, simple(third + tiny, third, 0, third, 0))
    assert not exact.on_simplex(SAMPLES, simple(third, third, 0, third - tiny, 0))
    assert not exact.on_simplex(SAMPLES, simple(third + tiny, third, -tiny, third, 0))
    assert hard.on_simplex(SAMPLES, simple(5, 0, third, third, 0))
    assert not hard.on_simplex(SAMPLES, simple(5, 0, third, third, tiny))
    assert not hard.on_simplex(SAMPLES, simple(5, 0, third, -tiny, 0))


def test_prices_are_shares_of_weights_of_any_unit():
    """p_i = C w_i / Σ w, where neither the weights nor their sum over C are whole."""
    weights = (0.75, 0.0, 0.125)
    exact = ExactBounds(wb.CompletedSSVM(C=4.0), wb.Multiclass(X, LABELS, weights=weights))
    prices = [4 * Fraction(each) / Fraction(0.875) for each in weights]
    assert [Fraction(each) / exact.total for each in exact.weights] == prices
    mu = exact.multipliers(SAMPLES, np.array([0.3, 1.0, 0.1, 0.0, 2.0]))
    assert exact.on_simplex(SAMPLES, mu)
    found = mu.fractions()
    assert [sum(found[k] for k in np.flatnonzero(i == SAMPLES)) for i in range(3)] == prices
    assert not exact.on_simplex(SAMPLES, Ratios(mu.whole * 2, mu.unit))


def test_a_hard_margin_is_scaled_by_the_hardest_sample():
    """Margins 1/2 and 4: the point is doubled until both are 1, and F is half its squared norm."""
    exact = ExactBounds(HardMargin(), wb.Linear(np.array([[1.0, 0.0], [0.0, -8.0]]), [1.0, -1.0]))
    theta = ratios(np.array([0.5, 0.5]))
    assert exact.upper(theta) == Fraction(1, 2) * (1 + 1)
    assert exact.upper(ratios(np.array([2.0, 0.5]))) == Fraction(1, 2) * (4 + Fraction(1, 4))
    assert exact.upper(ratios(np.array([-1.0, 0.5]))) == np.inf


def test_floats_below_and_above_a_fraction_are_the_nearest():
    for x in (Fraction(1, 3), Fraction(-1, 3), Fraction(2), Fraction(10) ** 400, -(Fraction(10) ** 400), np.inf):
        lo, hi = below(x), above(x)
        assert lo <= x <= hi
        assert lo == hi or math.nextafter(lo, math.inf) == hi
    assert above(Fraction(10) ** 400) == np.inf
    assert below(-(Fraction(10) ** 400)) == -np.inf


def test_a_scale_makes_margins_hold_and_there_is_none_beyond_the_least_loss():
    exact, theta = rules(hard=True), ratios(np.array([1.0, 0.0, 0.0, 1.0]))
    none, some = ratios(np.zeros(2)), ratios(np.array([0.0, 1.0]))
    asked = {"outputs": (), "rows": len, "highest": len}  # of the protocol, and not used here
    oracle = SimpleNamespace(least_loss=Fraction(1), free=lambda *_: none, **asked)
    exact.oracle = oracle
    for violation in (Fraction(1, 3), Fraction(0), Fraction(-5), Fraction(2, 3)):
        scale = exact.feasible_scale(theta, violation)
        assert scale == 1 / (1 - max(violation, 0))
    assert exact.feasible_scale(theta, Fraction(1)) is None
    assert exact.feasible_scale(theta, Fraction(9, 8)) is None
    oracle.free = lambda *_: some
    assert exact.feasible_scale(theta, Fraction(0)) is None, "an output without loss is above the truth"


def test_the_gap_is_relative_to_the_largest_of_both_ends_and_of_the_start():
    exact, tiny = rules(), Fraction(1, 10**9)
    exact.upper = lambda theta: Fraction(-3)
    for upper, lower, size in (
        (Fraction(5), Fraction(4), 5),
        (Fraction(-4), Fraction(-5), 5),
        (Fraction(1), Fraction(-3), 3),
        (Fraction(3), Fraction(-1), 3),
        (tiny, Fraction(0), Fraction(3, 10**6)),
        (Fraction(1, 10**5), Fraction(0), Fraction(1, 10**5)),
        (Fraction(9, 10**6), Fraction(0), Fraction(9, 10**6)),
        (-tiny, -2 * tiny, Fraction(3, 10**6)),
    ):
        assert exact.gap(upper, lower) == (upper - lower) / size, (upper, lower)
    exact.upper = lambda theta: Fraction(-3) if not theta.whole.any() else Fraction(7)
    assert exact.gap(tiny, Fraction(0)) == tiny / Fraction(3, 10**6), "the start is 0"
    exact.upper = lambda theta: np.inf
    assert exact.gap(tiny, Fraction(0)) == 1
    exact.upper = lambda theta: Fraction(0)
    assert exact.gap(Fraction(0), Fraction(0)) == 0
    assert exact.gap(np.inf, Fraction(1)) == exact.gap(Fraction(1), -np.inf) == np.inf


def test_the_start_is_looked_at_only_where_it_can_matter():
    exact = rules()

    def never(theta: Any) -> Any:
        raise AssertionError("dear")

    exact.upper = never
    assert exact.gap(Fraction(1, 10**5), Fraction(0)) == 1
    with pytest.raises(AssertionError, match="dear"):
        exact.gap(Fraction(1, 10**5) - Fraction(1, 10**12), Fraction(0))


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (wb.CRF(lam=0.1), "hold exp and log"),
        (wb.WeightedRisk(loss="squared"), "are no maxima"),
        (wb.SelfPaced(), "are no maxima"),
    ],
)
def test_what_has_no_rational_values_says_why(form, words):
    problem = wb.Linear(X, [1, -1, 1]) if isinstance(form, wb.WeightedRisk) else wb.Multiclass(X, LABELS)
    with pytest.raises(wb.MissingCapability, match=f"its terms {words}"):
        ExactBounds(form, problem)


def certificate() -> Any:
    return wb.solve(wb.SoftMargin(lam=0.5), wb.Multiclass(X, LABELS)).certificate


def test_a_witness_that_is_no_output_bounds_nothing():
    honest = certificate()
    false = honest.witnesses.copy()
    false[-1] = 2
    with pytest.raises(wb.BadInput, match="no output of sample"):
        exact_bounds(replace(honest, witnesses=false))


def test_a_negative_weight_is_none():
    honest = certificate()
    _, lower, upper = exact_bounds(honest)
    assert honest.lower <= lower <= upper <= honest.upper
    more = {"samples": honest.samples[[0, -1]], "witnesses": 1 - honest.witnesses[[0, -1]]}
    more = {name: np.concatenate([getattr(honest, name), rows]) for name, rows in more.items()}
    for weight in (0.0, -0.25):
        changed = replace(honest, **more, weights=np.append(honest.weights, [weight, weight]))
        assert exact_bounds(changed)[1:] == (lower, upper)


def test_fractions_that_are_no_multipliers_prove_nothing():
    honest = certificate()
    polished = optimum(honest)
    rules = ExactBounds(polished.formulation, polished.problem)
    assert exact_optimum(rules, polished) == (polished.optimum, polished.optimum)
    doubled = replace(polished, fractions=[2 * each for each in polished.fractions])
    assert exact_optimum(rules, doubled) == (-np.inf, np.inf)


def test_an_optimum_is_read_as_it_is_written_and_nothing_else_is_read():
    assert parsed("3/4") == Fraction(3, 4)
    assert (parsed("-7"), parsed("0/12"), parsed("5/010")) == (-7, 0, Fraction(1, 2))
    assert parsed("1" + "0" * (MOST_DIGITS - 1)) == 10 ** (MOST_DIGITS - 1)
    for words in ("1" + "0" * MOST_DIGITS, "5/0", "1/2/3", "0.5", " 1", "1_0", "٣", "", "+1", "1e3", 3, None):
        with pytest.raises(BadInput, match=f"the optimum {str(words)[:30]!r} is no fraction p/q".replace("+", "[+]")):
            parsed(words)
