"""Transitions swapped in the oracle: outputs written out one by one, and rounding errors in numbers."""

from __future__ import annotations

from itertools import pairwise, product
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

import workbench as wb
from workbench.arithmetic.intervals import gamma
from workbench.judging.conventions.neighbours import Suspect
from workbench.judging.conventions.transposed import SwappedCuts, SwappedTerms, swapped_oracle
from workbench.judging.reference import Reference
from workbench.objectives.variants import Variant

K, P = 3, 2
LABELS = [[0, 1, 1, 2], [2], [2, 0, 2], [1, 0]]
DIM = K * P + K * K


def inputs():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(len(y), P)) for y in LABELS]


def swapped(form, problem=None):
    problem = problem or wb.Chain(inputs(), LABELS)
    return list(swapped_oracle(Suspect(np.ones(DIM), Reference(form, problem, np.ones(DIM), 1.0, 0.0, 1.0))))


def scores(theta, i):
    """h′ of each output of a sequence before losses: its score by swapped transitions less that of the truth."""
    W, T, x, true = theta[: K * P].reshape(K, P), theta[K * P :].reshape(K, K), inputs()[i], LABELS[i]

    def score(z, T):
        return sum(W[b] @ f for b, f in zip(z, x, strict=True)) + sum(T[a, b] for a, b in pairwise(z))

    return {z: score(z, T.T) - score(true, T) for z in product(range(K), repeat=len(true))}


def highest(theta, i):
    """The output of the highest score, as a row of four."""
    return [*max(found := scores(theta, i), key=found.get), -1, -1, -1][:4]


def hinge(theta, i):
    return max(each + np.mean(np.array(z) != LABELS[i]) for z, each in scores(theta, i).items())


def likelihood(theta, i):
    return np.log(np.exp(list(scores(theta, i).values())).sum())


@pytest.mark.parametrize("samples", [[0, 1, 2, 3], [2, 0]])
def test_cuts_are_those_of_outputs_written_out(samples):
    (other,) = swapped(wb.SoftMargin(0.1))
    oracle, rng, samples = other.formulation.oracle(other.problem), np.random.default_rng(1), np.array(samples)
    theta, elsewhere = rng.normal(size=(2, DIM))
    slopes, offsets = oracle.rows(samples, oracle.argmax(theta, samples))
    np.testing.assert_allclose(slopes @ theta + offsets, [hinge(theta, i) for i in samples])
    assert (slopes @ elsewhere + offsets <= np.array([hinge(elsewhere, i) for i in samples]) + 1e-12).all()
    assert oracle.decode(theta, samples).tolist() == [highest(theta, i) for i in samples]


@pytest.mark.parametrize("samples", [[0, 1, 2, 3], [2, 0]])
def test_terms_are_those_of_outputs_written_out(samples):
    """The gradient by central differences."""
    (other,) = swapped(wb.CRF(0.1))
    terms, rng, samples = other.formulation.terms(other.problem), np.random.default_rng(1), np.array(samples)
    theta, weights, step = rng.normal(size=DIM), rng.normal(size=len(samples)), 1e-5
    values, gradient = terms.evaluate(theta, samples, weights)
    np.testing.assert_allclose(values, [likelihood(theta, i) for i in samples])
    ends = [[likelihood(theta + way * e, i) for i in samples] for e in step * np.eye(DIM) for way in (1, -1)]
    np.testing.assert_allclose(gradient, np.reshape(ends, (DIM, 2, -1)) @ weights @ [1, -1] / (2 * step), atol=1e-8)
    assert terms.decode(theta, samples).tolist() == [highest(theta, i) for i in samples]


def test_terms_are_declared_as_they_are():
    (other,) = swapped(wb.CRF(0.1))
    theta = np.random.default_rng(1).normal(size=DIM)
    values, constraints = other.formulation.terms(other.problem).hinges(cp.Constant(theta))
    found = cp.Problem(cp.Minimize(cp.sum(values)), constraints).solve(cp.CLARABEL)
    assert found == pytest.approx(sum(likelihood(theta, i) for i in range(4)), rel=1e-6)


ORDER = np.array([0, 1, 2, 4, 3, 5])
COUNTS = sparse.csr_array([[0, 0, 0, 1.0, -1, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, -2, 2, 0]])
THETA = np.array([1.0, 2, 3, 4, 5, 6])
TINY = 1e-15


def of(samples, *numbers):
    return np.array(numbers)[samples]


@pytest.mark.parametrize("own", [0.0, TINY])
def test_errors_of_cuts_are_those_within_and_of_the_sum(own):
    """Two roundings of a slope's entries: ‖a‖₁ within is at most 5, 3 and 1, ‖c‖₁ = 2, 0 and 4."""
    inner = SimpleNamespace(
        reach=lambda samples: of(samples, 5.0, 3.0, 1.0),
        slope_error=lambda samples: own * of(samples, 1.0, 2.0, 3.0),
        offset_error=lambda samples: own * of(samples, 4.0, 5.0, 6.0),
        rounding=lambda theta: own * (theta == THETA[ORDER]),
    )
    cuts, samples = SwappedCuts(inner, ORDER, COUNTS), np.array([2, 0])
    assert cuts.reach(samples).tolist() == [5.0, 7.0]
    np.testing.assert_allclose(cuts.slope_error(samples), own * np.array([3.0, 1.0]) + gamma(2) * np.array([5.0, 7.0]))
    assert cuts.offset_error(samples).tolist() == [6 * own, 4 * own]
    assert cuts.rounding(THETA).tolist() == [own] * 6


@pytest.mark.parametrize("own", [0.0, TINY])
def test_errors_of_terms_are_those_within_and_of_the_sum(own):
    """For sums of 6 entries and 2 samples, of ‖∇h‖ + ‖c‖₁ = 5 and 7; a norm of c is √8, 0 or √2."""
    inner = SimpleNamespace(
        assumption="a libm",
        norms=lambda: np.array([5.0, 3.0, 1.0]),
        errors=lambda theta, samples, weights: (own * (theta[3:5] + samples), own * float(weights.sum())),
    )
    terms, samples, weights = SwappedTerms(inner, ORDER, COUNTS), np.array([2, 0]), np.array([0.5, -0.25])
    values, gradient = terms.errors(THETA, samples, weights)
    length = np.sqrt(91.0)
    np.testing.assert_allclose(values, own * np.array([7.0, 4.0]) + 2 * gamma(10) * length * np.array([5.0, 7.0]))
    np.testing.assert_allclose(gradient, own * 0.25 + 2 * gamma(10) * (0.5 * 5 + 0.25 * 7))
    np.testing.assert_allclose(terms.norms(), [5 + np.sqrt(2.0), 3.0, 1 + np.sqrt(8.0)])
    assert terms.assumption == "a libm"


@pytest.mark.parametrize("form", [wb.CRF(0.1), wb.SoftMargin(0.1)], ids=["likelihood", "hinge"])
def test_what_has_no_swapped_oracle(form):
    """Weights of transitions that read features, though as many; λ‖w‖₁; other weights; labels that swap to the same."""
    assert len(swapped(form)) == 1
    gaps = [np.ones((len(y) - 1, 1)) for y in LABELS]
    assert wb.Chain(inputs(), LABELS, pairs=gaps).n_features == DIM
    assert not swapped(form, wb.Chain(inputs(), LABELS, pairs=gaps))
    assert not swapped(form, wb.Chain([each[:, :1] for each in inputs()], LABELS))
    assert not swapped(form, wb.Chain(inputs(), [[0, 0, 0, 0], [2], [1, 2, 1], [1, 1]]))


def test_an_absolute_norm_has_no_swapped_oracle():
    assert len(swapped(Variant(wb.SoftMargin(0.1), lambda inner: inner))) == 1
    assert not swapped(Variant(wb.SoftMargin(0.1), lambda inner: inner, absolute=True))
