"""Rational bounds: inside the interval ones, equal to plain enumeration, and equal to each other at the optimum."""

from __future__ import annotations

import itertools
import sys
from fractions import Fraction

import numpy as np
import pytest
from declared import proven_structures
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.arithmetic.rationals import Entries, as_ratios, common, product, ratios
from workbench.contracts import CutForm, Cuts, SlackArgmax
from workbench.proofs import exact
from workbench.proofs.bounds import Bounds
from workbench.proofs.checker.whole import pieces
from workbench.proofs.ends import above, below, text
from workbench.proofs.exact import ExactBounds
from workbench.proofs.verify import verify
from workbench.registries import misfit, registry, settings_of

OUTPUTS = {name: registry("output").get(name) for name in proven_structures()}
FORMULATIONS = {name: kind for name, kind in registry("formulation").items() if isinstance(kind(), CutForm)}
TINY = {name: output.tiny(np.random.default_rng(0)) for name, output in OUTPUTS.items()}
PAIRS = [(o, f) for o, f in itertools.product(OUTPUTS, FORMULATIONS) if misfit(FORMULATIONS[f](), TINY[o]) is None]
SQUARED = [(o, f) for o, f in PAIRS if FORMULATIONS[f]().regularizer(TINY[o]).curvature is not None]
DRAWS = settings.default.max_examples // 2  # problems a pair: 25 in `make test`, 1,000 in `make fuzz`


def instance(output, rng):
    """A tiny problem; often degenerate: ties, repeated or constant features, odd or zero sample weights."""
    problem = OUTPUTS[output].tiny(rng)
    arrays = problem.arrays()
    kind = rng.integers(6)
    if "data" in arrays and kind < 4:
        data = arrays["data"]
        changes = [np.round(data), np.ones_like(data), data[rng.integers(len(data), size=len(data))], data * 1e-9]
        arrays["data"] = changes[kind]
    if "weights" in arrays and rng.random() < 0.5:
        weights = rng.choice([0.0, 0.1, 1 / 3, 1.0, 7.0], problem.n_samples)
        arrays["weights"] = np.where(weights.any(), weights, 1.0)
    return type(problem).from_arrays(arrays)


def one_label(problem):
    """Whether all samples of positive weight hold one label, from which no error can be learned."""
    _, places = problem.places(np.flatnonzero(problem.weights > 0))
    return len(np.unique(problem.labels[places])) == 1


def some_formulation(name, problem, rng):
    """The formulation of that name with random settings: what it can be told to rescale included."""
    told = settings_of(FORMULATIONS[name])
    settings = {each: float(10.0 ** rng.uniform(-4, 2)) for each in ("lam", "lam2") if each in told}
    if name == "soft-margin" and rng.random() < 0.4 and isinstance(problem, SlackArgmax):
        whole = not (getattr(problem, "cost", np.zeros(1)) % 1).any()
        settings |= {"rescaling": "slack"} if whole else {}
    return FORMULATIONS[name](**settings)


def some_weights(bounds, rng):
    """Cuts with random dual weights, all samples covered."""
    cuts, listed = Cuts(bounds.oracle.dim, bounds.oracle.width), [bounds.problem.outputs(i) for i in bounds.samples]
    chosen = np.concatenate([outputs[rng.integers(len(outputs), size=3)] for outputs in listed])
    cuts.add(np.repeat(bounds.samples, 3), chosen, bounds.oracle.rows)
    weights = rng.exponential(size=len(cuts)) * 10.0 ** rng.integers(-9, 3, len(cuts))
    return cuts, weights


def plain(problem, formulation):
    """The cuts of all outputs in Fractions, from the public feature map and loss, where those are exact."""
    terms = []
    for i in np.flatnonzero(problem.weights > 0):
        outputs = problem.outputs(i)
        batch = np.full(len(outputs), i)
        slopes, offsets = formulation.oracle(problem).rows(batch, outputs)
        terms.append([(list(map(Fraction, a)), Fraction(o)) for a, o in zip(slopes.toarray(), offsets, strict=True)])
    return terms


# ── exact bounds lie inside the interval bounds ───────────────────────────────────────────────────


@pytest.mark.hypothesis
@pytest.mark.parametrize(("output", "name"), PAIRS)
def test_exact_bounds_lie_inside_the_interval_bounds(output, name):
    checked = 0
    for seed in range(DRAWS):
        rng = np.random.default_rng([seed, 7])
        problem = instance(output, rng)
        formulation = some_formulation(name, problem, rng)
        try:
            bounds = Bounds(formulation, problem)
        except wb.BadInput:  # weights of 0 may leave one label only
            assert one_label(problem)
            continue
        checked += 1
        try:
            rules = ExactBounds(formulation, problem)
        except wb.MissingCapability:
            pytest.skip(f"{output} brings no exact decoder, its certificates say so")
        cuts, weights = some_weights(bounds, rng)
        mu = rules.multipliers(cuts.samples, weights)
        assert rules.on_simplex(cuts.samples, mu)
        lower = rules.lower(cuts.samples, cuts.witnesses, mu)
        assert bounds.lower(cuts, weights) <= lower
        implied = bounds.regularizer.argmin(-(cuts.slopes.T @ weights))
        for theta in (implied, rng.normal(size=bounds.oracle.dim) * 10.0 ** rng.integers(-3, 4)):
            upper, enclosing = rules.upper(ratios(theta)), bounds.upper(theta)
            assert lower <= upper <= enclosing
            assert bounds.prices.hard or enclosing - upper <= 1e-9 * (1 + abs(upper))  # and not by much
    assert checked >= 0.6 * DRAWS


@pytest.mark.hypothesis
@pytest.mark.parametrize(("output", "name"), PAIRS)
def test_solved_certificates_are_proven_without_allowance(output, name):
    solved = tried = 0
    for seed in range(DRAWS):
        rng = np.random.default_rng([seed, 8])
        problem = instance(output, rng)
        try:
            certificate = wb.solve(some_formulation(name, problem, rng), problem, gap=1e-7, max_rounds=100).certificate
            rules, lower, upper = exact.exact_bounds(certificate)
        except (wb.NotSeparable, wb.MissingCapability):
            continue
        except wb.BadInput:
            assert one_label(problem)
            continue
        tried += 1
        assert certificate.lower <= lower <= upper <= certificate.upper
        if certificate.status == "optimal":
            solved += 1
            assert rules.gap(upper, lower) <= 1e-7
        if tried == DRAWS // 5:  # of those that are not refused
            break
    assert solved >= 3


@pytest.mark.hypothesis
@pytest.mark.parametrize("output", OUTPUTS)
def test_the_decoders_equal_enumeration(output):
    """With whole-numbered data features and losses are exact in floats, so enumeration needs none of our rationals."""
    checked = 0
    for seed in range(2 * DRAWS):  # problems of inexact losses are left out
        rng = np.random.default_rng([seed, 9])
        problem = OUTPUTS[output].tiny(rng)
        arrays = problem.arrays()
        if "data" in arrays:
            arrays["data"] = np.round(arrays["data"])
        problem = type(problem).from_arrays(arrays)
        if not getattr(problem, "exact_loss", False) or not problem.exact_features:
            continue
        for name in (f for o, f in PAIRS if o == output):
            formulation = some_formulation(name, problem, rng)
            rules, terms = ExactBounds(formulation, problem), plain(problem, formulation)
            w = rng.integers(-3, 4, rules.dim) if seed % 2 else rng.normal(size=rules.dim)
            w = np.where(getattr(problem, "signed", False), np.abs(w), w)  # elsewhere F = ∞ and no maximum is asked for
            theta = list(map(Fraction, w.tolist()))
            found = rules.oracle.highest(ratios(w), rules.samples).fractions()
            for cuts, value in zip(terms, found, strict=True):
                assert value == max(sum(x * y for x, y in zip(a, theta, strict=True)) + o for a, o in cuts)
                checked += 1
    assert checked >= 30


def test_the_loss_of_a_chain_is_the_fraction_that_it_says():
    chain = wb.Chain([np.ones((10, 1))] * 2, [[0] * 10, [1] * 10])
    outputs = np.array([[1] * 3 + [0] * 7, [1] * 10])
    assert chain.exact().loss(np.arange(2), outputs).fractions().tolist() == [Fraction(3, 10), 0]
    assert chain.loss(np.arange(2), outputs)[0] != Fraction(3, 10)
    bounds = Bounds(wb.SoftMargin(), chain)
    assert (
        bounds.enclosed(np.arange(1), np.array([0.3])).lo[0]
        < Fraction(3, 10)
        < bounds.enclosed([0], np.array([0.3])).hi[0]
    )


def test_prices_are_exact():
    problem = wb.Multiclass(np.eye(3), [0, 1, 2], weights=[0.1, 0.2, 0.7])
    prices = wb.SoftMargin().prices(problem)
    assert prices.rational_total == Fraction(0.1) + Fraction(0.2) + Fraction(0.7)
    assert prices.rational_total != Fraction(prices.total)
    assert prices.rounded
    assert not wb.SoftMargin().prices(wb.Multiclass(np.eye(3), [0, 1, 2])).rounded


class Inexact(wb.Multiclass):
    exact = None


def test_an_output_without_exact_arithmetic_is_proven_by_the_checkers_own(tmp_path):
    solution = wb.solve(wb.SoftMargin(), Inexact([[0.0], [1.0]], [0, 1]))
    result = verify(solution.certificate.save(tmp_path / "c"))
    assert result["proven"]
    assert (result["arithmetic"], result["reason"]) == ("rational", None)
    assert "Inexact brings no exact decoder" in exact.optimum(solution.certificate).remark


# ── the exact optimum ─────────────────────────────────────────────────────────────────────────────


def test_the_optimum_as_a_fraction(tmp_path):
    """Two points at ±1: λv² + (1 − 2v)₊ is least at v = min(1/λ, 1/2), which gives 1 − 1/λ for λ ≥ 2, else λ/4."""
    problem = wb.Multiclass([[1.0], [-1.0]], ["+", "-"])
    for lam, optimum in ((4.0, Fraction(3, 4)), (2.0, Fraction(1, 2)), (0.5, Fraction(1, 8))):
        certificate = exact.optimum(wb.solve(wb.SoftMargin(lam=lam), problem).certificate)
        assert certificate.optimum == optimum, certificate.remark
        result = verify(certificate.save(tmp_path / "two"))
        assert result["proven"]
        assert result["lower_exact"] == result["upper_exact"] == result["optimum"] == str(optimum)
        assert result["gap_exact"] == "0"
    X, y = np.array([[0.0, 1], [1, 1], [4, 1], [5, 1]]), [0, 0, 1, 1]
    certificate = exact.optimum(wb.solve(wb.HardMargin(), wb.Multiclass(X, y)).certificate)
    assert certificate.optimum == Fraction(29, 36)


@pytest.mark.parametrize(("output", "name"), SQUARED)
def test_most_tiny_optima_are_found_exactly(output, name):
    tried = found = 0
    for seed in range(16):
        rng = np.random.default_rng([seed, 10])
        problem = instance(output, rng)
        formulation = some_formulation(name, problem, rng)
        try:
            before = wb.solve(formulation, problem, max_rounds=100).certificate
        except wb.NotSeparable:
            continue
        if np.isinf(before.upper):
            continue  # hard margins that no weights reach, nearly: there is no optimum to find
        after, tried = exact.optimum(before), tried + 1
        if after.optimum is None:
            assert after.remark.startswith("No exact optimum: ")
            assert after.theta is before.theta
            continue
        found += 1
        assert before.lower <= after.optimum <= before.upper
        assert after.lower <= after.optimum <= after.upper
        assert exact.exact_optimum(ExactBounds(formulation, problem), after) == (after.optimum, after.optimum)
    assert found >= 0.8 * tried > 0, (found, tried)


def test_a_rough_certificate_is_led_to_the_optimum():
    rng = np.random.default_rng(3)
    problem = wb.Multiclass(np.round(rng.normal(size=(30, 3)), 1), rng.integers(0, 3, 30))
    rough = wb.solve(wb.SoftMargin(lam=0.1), problem, gap=1e-2)
    assert rough.gap > 1e-9
    fine = wb.solve(wb.SoftMargin(lam=0.1), problem, gap=1e-10)
    certificate = exact.optimum(rough.certificate)
    assert certificate.optimum is not None, certificate.remark
    assert fine.lower <= certificate.optimum <= fine.upper


def test_what_is_too_large_is_left_as_it_is(monkeypatch):
    monkeypatch.setattr(exact, "MOST_UNKNOWNS", 1)
    rng = np.random.default_rng(0)
    certificate = wb.solve(wb.SoftMargin(), wb.Multiclass(rng.normal(size=(20, 4)), rng.integers(0, 3, 20))).certificate
    after = exact.optimum(certificate)
    assert after.optimum is None
    assert "limited to 1" in after.remark


# ── arithmetic ────────────────────────────────────────────────────────────────────────────────────

floats = st.floats(allow_nan=False, allow_infinity=False)
wholes = st.integers(-(10**40), 10**40) | st.integers(-3, 3)


@given(st.lists(floats))
def test_floats_become_the_same_rationals(values):
    assert ratios(np.array(values)).fractions().tolist() == list(map(Fraction, values))


def test_floats_are_never_cut_to_whole_numbers():
    """`as_ratios` takes whole numbers; what would lose digits is refused."""
    assert as_ratios(np.array([1, 2])).fractions().tolist() == [1, 2]
    assert as_ratios(np.array([True])).fractions().tolist() == [1]
    with pytest.raises(TypeError, match="An array of float64 holds no whole numbers"):
        as_ratios(np.array([0.5, 1.5]))


@given(st.lists(st.fractions(), min_size=1))
def test_fractions_over_one_denominator(values):
    assert common(values).fractions().tolist() == values


@given(st.lists(wholes, min_size=1), st.integers(1, 50))
def test_pieces_add_up(values, bits):
    parts = pieces(np.array([*values, None], object)[:-1], bits)
    assert [sum(int(p[j]) << (bits * level) for level, p in enumerate(parts)) for j in range(len(values))] == values
    assert max(abs(p).max() for p in parts) < 2**bits


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 4), st.data())
def test_products_are_exact(m, inner, k, data):
    entries = data.draw(st.lists(wholes, min_size=(m + k) * inner, max_size=(m + k) * inner))
    flat = np.array([*entries, None], object)[:-1]
    left, right = flat[: m * inner].reshape(m, inner), flat[m * inner :].reshape(inner, k)
    assert (product(left.ravel(), lambda piece: piece.reshape(m, inner), right) == left @ right).all()


def test_entries_combine_and_repeat():
    entries = Entries(np.array([0, 0, 1, 1]), np.array([2, 0, 2, 2]), np.array([3, 1, 5, 7], object), 1)
    assert entries.combined(np.array([2, 10], object), 4).tolist() == [2, 0, 126, 0]
    assert Entries(*(part[:0] for part in entries[:3]), 1).combined(np.array([], object), 2).tolist() == [0, 0]


def test_rounding_to_floats_is_outward():
    third = Fraction(1, 3)
    assert below(third) < third < above(third)
    assert below(Fraction(1, 2)) == above(Fraction(1, 2)) == 0.5
    assert above(Fraction(10) ** 400) == float("inf")
    assert below(Fraction(10) ** 400) == sys.float_info.max
    assert len(text(Fraction(10**6000, 7))) == 6003
