"""Bounds by two products of matrices, against the same sums in fractions and against bounds by rows of cuts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from workbench.arithmetic.intervals import Interval
from workbench.contracts import Cuts
from workbench.formulations.soft_margin import SoftMargin
from workbench.objectives.oracles import Decoding, MarginRescaling, SlackRescaling, UnitMargin
from workbench.outputs.multiclass import Multiclass
from workbench.proofs import listed
from workbench.proofs.bounds import Bounds


def labels(n=12, k=3, p=5, seed=0, scale=1.0):
    """Rows of very different sizes, one of them empty, with costs and weights, one of them zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-3, 4, (n, 1)) * (rng.random((n, p)) < 0.6) * scale
    X[-1] = 0.0
    cost = rng.uniform(0.5, 2, (k, k)) * (1 - np.eye(k))
    return Multiclass(X, np.append(np.arange(k), rng.integers(0, k, n - k)), cost, np.arange(n) % 5 + 0.0)


def bounds_of(problem):
    bounds = Bounds(SoftMargin(0.05), problem)
    assert bounds.tables
    return bounds


def heights(problem, theta, i):
    """The heights of all labels of a sample, in fractions."""
    x, t, k = [Fraction(each) for each in problem.X.toarray()[i].tolist()], problem.labels[i], len(problem.classes)
    W = [[Fraction(each) for each in row] for row in theta.reshape(k, -1).tolist()]
    scores = [sum(w * value for w, value in zip(row, x, strict=True)) for row in W]
    return [Fraction(problem.cost[t, y]) + scores[y] - scores[t] for y in range(k)]


@pytest.mark.parametrize("size", [0.0, 1e-200, 1e-3, 1.0, 1e9])
@pytest.mark.parametrize("seed", range(4))
def test_maxima_are_enclosed_narrowly(seed, size):
    problem, rng = labels(seed=seed), np.random.default_rng(seed)
    bounds = bounds_of(problem)
    theta = rng.normal(size=bounds.oracle.dim) * size
    found = bounds.hinges(theta, None)
    for i, low, high in zip(bounds.samples, found.lo, found.hi, strict=True):
        true, reach = max(heights(problem, theta, i)), 1 + size * problem.magnitude[i]
        assert Fraction(low) <= true <= Fraction(high)
        assert high - low <= 1e-13 * reach


def test_maxima_at_every_point_near_by():
    problem, rng = labels(), np.random.default_rng(3)
    bounds = bounds_of(problem)
    theta, away = rng.normal(size=bounds.oracle.dim), 0.01
    found = bounds.hinges(theta, None, Interval(theta - away, theta + away))
    for _ in range(20):
        other = theta + away * rng.choice([-1.0, 1.0], len(theta))
        for i, low, high in zip(bounds.samples, found.lo, found.hi, strict=True):
            assert low <= float(max(heights(problem, other, i))) <= high


def test_weights_beyond_floats_prove_nothing_or_infinity():
    problem = labels()
    bounds = bounds_of(problem)
    with np.errstate(all="ignore"):
        assert not bounds.upper(np.full(bounds.oracle.dim, 1e300)) < 1e300
    assert bounds.tables.hinges(np.full(bounds.oracle.dim, 1e300), 0.0, bounds.samples, bounds.spread) is None


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_sums_of_cuts_are_enclosed_narrowly(seed, twice):
    """The truth's own cut counts for nothing, and a cut may stand there twice."""
    problem, rng, k = labels(seed=seed), np.random.default_rng(seed), 3
    tables = bounds_of(problem).tables
    samples, drawn = np.repeat(np.arange(12), k), np.tile(np.arange(k), 12)
    if twice:
        samples, drawn = np.append(samples, samples[:7]), np.append(drawn, drawn[:7])
    mu = rng.random(len(samples)) * (rng.random(len(samples)) < 0.7)
    weights = Interval(mu, mu * (1 + 1e-15))
    found = tables.push(samples, drawn, weights)
    for ends in (weights.lo, weights.hi):
        true = [[Fraction(0)] * 5 for _ in range(k)]
        for i, y, weight in zip(samples, drawn, map(Fraction, ends.tolist()), strict=True):
            for j, value in enumerate(map(Fraction, problem.X.toarray()[i].tolist())):
                if y != problem.labels[i]:
                    true[y][j] -= weight * value
                    true[problem.labels[i]][j] += weight * value
        flat = [each for row in true for each in row]
        assert all(Fraction(lo) <= each <= Fraction(hi) for lo, each, hi in zip(found.lo, flat, found.hi, strict=True))
    assert (found.hi - found.lo).max() <= 1e-12 * abs(problem.X).sum()


@pytest.mark.parametrize("seed", range(3))
def test_both_ends_are_those_of_rows_of_cuts(seed, monkeypatch):
    """And where few of the weights are positive, the cuts are written down."""
    problem, rng = labels(seed=seed), np.random.default_rng(seed)
    bounds, other = bounds_of(problem), bounds_of(problem)
    other.tables = None
    samples, witnesses = np.repeat(np.arange(12), 3), np.tile(np.arange(3), 12)[:, None]
    weights, theta = rng.random(36), rng.normal(size=bounds.oracle.dim)
    written = []

    def rows(*cuts):
        written.append(cuts)
        return bounds.oracle.rows(*cuts)

    cuts = Cuts.later(bounds.oracle.dim, samples, witnesses, rows)
    lower = bounds.lower(cuts, weights)
    assert not written
    assert other.lower(cuts, weights) == pytest.approx(lower, rel=1e-12)
    assert other.upper(theta) == pytest.approx(bounds.upper(theta), rel=1e-12)
    assert other.scale == pytest.approx(bounds.scale, rel=1e-12)
    assert bounds.scale <= bounds.upper(np.zeros(bounds.oracle.dim)) <= bounds.scale * (1 + 1e-15)
    assert len(written) == 1
    monkeypatch.setattr(listed, "FULL", 0)
    assert bounds.lower(cuts, weights) == other.lower(cuts, weights)


def test_f_at_zero_takes_no_product(monkeypatch):
    """Where 0 is r's minimiser."""
    wanted = bounds_of(labels()).upper(np.zeros(15))
    monkeypatch.setattr(listed.Tables, "hinges", None)
    assert bounds_of(labels()).scale == pytest.approx(wanted, rel=1e-15)


def test_cuts_written_later_are_those_of_the_oracle():
    problem = labels()
    oracle = bounds_of(problem).oracle
    samples, witnesses = np.arange(12), (problem.truth + 1) % 3
    later, cuts = Cuts.later(oracle.dim, samples, witnesses, oracle.rows), Cuts(oracle.dim, oracle.width)
    cuts.add(samples, witnesses, oracle.rows)
    assert len(later) == 12
    assert (later.slopes != cuts.slopes).nnz == 0
    assert (later.offsets == cuts.offsets).all()
    again = Cuts.later(oracle.dim, samples, witnesses, oracle.rows)
    assert again.add(np.array([3, 3]), np.array([witnesses[3], problem.truth[3]]), oracle.rows).tolist() == [3, 12]


# ── whose tables speak ────────────────────────────────────────────────────────────────────────────


class Doubled(Multiclass):
    """Twice the features, with the tables of one."""

    def features(self, samples, outputs):
        return 2 * super().features(samples, outputs)

    def argmax(self, theta, *others, **settings):
        return super().argmax(2 * theta, *others, **settings)


class Told(Doubled):
    """Twice the features, and tables of its own."""

    def listing(self, scale, offset):
        return super().listing(2 * scale, offset)


def tables_in(problem, form=None):
    return Bounds(form or SoftMargin(0.05), problem).tables


def test_tables_speak_for_what_was_defined_before_them():
    X, y = np.eye(3), [0, 1, 2]
    assert tables_in(Multiclass(X, y))
    assert tables_in(Doubled(X, y)) is None
    assert listed.speaks(Told(X, y))
    assert tables_in(Told(X, y)) is None, "these tables are not plain"
    for name in listed.STANDS_FOR:
        own = Multiclass(X, y)
        setattr(own, name, getattr(own, name, None))
        assert not listed.speaks(own), name
    own = Multiclass(X, y)
    own.truth = own.truth[::-1].copy()
    assert tables_in(own) is None


def test_bounds_hold_for_features_beside_inherited_tables():
    """F of twice the features at θ is F of the features at 2θ, but for r."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(9, 2)), np.arange(9) % 3
    for theta in rng.normal(size=(5, 6)):
        own, plain = (Bounds(SoftMargin(1e-9), each(X, y)) for each in (Doubled, Multiclass))
        assert own.upper(theta) == pytest.approx(plain.upper(2 * theta), rel=1e-6)


def test_products_of_losses_and_features_are_rounded():
    assert tables_in(Multiclass(np.eye(3), [0, 1, 2]), SoftMargin(rescaling="slack")) is None


def test_only_exact_oracles_have_tables():
    problem = Multiclass(np.eye(3), [0, 1, 2])
    bounds = Bounds(SoftMargin(0.05), problem)
    assert not listed.speaks(Decoding(problem))
    assert not listed.speaks(object())
    for oracle in (MarginRescaling, SlackRescaling, UnitMargin):
        assert listed.speaks(oracle(problem))
    problem.oracle_kind = "under"
    assert listed.tables_of(bounds.oracle, problem, bounds.listing) is None
