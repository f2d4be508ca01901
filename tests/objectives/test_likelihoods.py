"""What likelihoods promise of their rounding, against the formulas of the module's docstring in forty digits."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.objectives import likelihoods
from workbench.objectives.likelihoods import Enumerated, Likelihood, Sizes, listed_outputs

U, KAPPA = Decimal(2) ** -53, 8  # exp and log are correct to 4 units in the last place, of 2u each


def gamma(k: Any) -> Any:
    return k * U / (1 - k * U)


class Told(Likelihood):
    """A likelihood whose sizes are given."""

    def __init__(self, problem: Any, sizes: Sizes):
        super().__init__(problem)
        self.told = sizes

    def sizes(self, theta: Any, samples: Any) -> Sizes:
        return self.told

    evaluate = kernel = declared = None  # type: ignore[assignment]


def one_sample(value: float = 3.0) -> Any:
    return wb.Multiclass([[value, -1.0], [0.5, 0.25]], ["a", "b"], classes=["a", "b", "c"])


@pytest.mark.parametrize(
    ("scores", "numbers", "steps", "fan", "additions"),
    [
        (0.0, 0.0, 1, 1, 0),
        (0.0, 7.0, 1, 2, 1),
        (1e-15, 3.0, 4, 5, 30),
        (1e-12, 1e3, 50, 26, 10_000),
        (1e-6, 1e4, 9, 3, 100),
    ],
)
@pytest.mark.parametrize("roundings", [8, 16])
def test_errors_are_those_of_the_analysis_and_rounded_up(scores, numbers, steps, fan, additions, roundings):
    """|ĥ − h| ≤ 2S + (T + 1)(γ_a M + γ_{K+4+κ(3+log K)}) and Σ c_i ‖φ_i‖₁ (expm1(2(T + 1)ε) + 2γ_{N+1})."""
    problem = one_sample()
    batch, weights = np.array([1, 0]), np.array([0.75, 2.0])
    sizes = Sizes(np.full(2, scores), np.full(2, numbers), np.full(2, steps), np.full(2, fan), additions)
    told = Told(problem, sizes)
    assert told.roundings == 8
    told.roundings = roundings
    values, gradient = told.errors(np.zeros(6), batch, weights)
    with localcontext(prec=60):
        m, t = Decimal(numbers), steps + 1
        value = 2 * Decimal(scores) + t * (gamma(roundings) * m + gamma(fan + 4 + KAPPA * (3 + Decimal(fan).ln())))
        epsilon = value + gamma(8) * m + gamma(fan + KAPPA + 8)
        relative = (2 * t * epsilon).exp() - 1 + 2 * gamma(additions + 1)
        true = relative * sum(Decimal(c) * Decimal(s) for c, s in zip(weights, problem.magnitude[batch], strict=True))
        assert all(value <= Decimal(each) <= value * (1 + Decimal("1.5e-12")) for each in values)
        assert true <= Decimal(gradient) <= true * (1 + Decimal("1.5e-9"))


def test_sizes_of_listed_outputs_are_those_of_their_definitions():
    """S = γ_{2t+4} ‖w‖_∞ ‖φ‖₁ for t terms a feature, M = ‖w‖_∞ ‖φ‖₁ + log K + 1, T = 1, N all outputs, t and 8."""
    problem = one_sample()
    problem.terms = 3
    theta, batch = np.array([0.5, -2.0, 1.0, 0, 0, 0]), np.array([1, 0, 1])
    sizes = Enumerated(problem).sizes(theta, batch)
    reach = 2.0 * problem.magnitude[batch]
    np.testing.assert_array_equal(sizes.numbers, reach + np.log(3) + 1)
    np.testing.assert_allclose(sizes.scores, [float(gamma(10)) * each for each in reach], rtol=1e-15)
    assert (sizes.steps.tolist(), sizes.fan.tolist(), sizes.additions) == ([1] * 3, [3] * 3, 9 + 3 + 8)


def test_what_is_listed_is_counted_before():
    """Six outputs, of samples of which one has no features at all: 6 · (1/2 + terms) entries."""
    problem = wb.Multiclass([[0.5], [0.0]], ["a", "b"], classes=["a", "b", "c"])
    entries = 6 * (0.5 + problem.terms)
    for most, fits in ((entries, True), (np.nextafter(entries, 0), False)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(likelihoods, "MOST_ENTRIES", most)
            if fits:
                assert Enumerated(problem).counts.tolist() == [3, 3]
            else:
                with pytest.raises(wb.MissingCapability, match="6 outputs are too many to sum over"):
                    Enumerated(problem)


def test_a_hidden_truth_is_refused():
    views = wb.Views(np.eye(4), ["a", "b"], [0, 2, 4])
    with pytest.raises(wb.MissingCapability, match="is hidden"):
        Enumerated(views)


def test_the_most_likely_output_counts_no_loss():
    problem = one_sample()
    terms, theta = Enumerated(problem), np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert terms.decode(theta, np.array([0])).tolist() == [[0]]
    assert problem.argmax(theta, np.array([0])).tolist() != [[0]]
    assert terms.width == 0
    np.testing.assert_array_equal(terms.norms(), 2 * problem.magnitude)


@pytest.mark.parametrize("kind", [wb.Multiclass, wb.Chain, wb.Matching, wb.Tree])
def test_values_and_slopes_are_those_of_all_outputs(kind):
    """log Σ exp and the mean under q, by Python's own sums; a batch in any order, a sample twice; the kernel's, too."""
    problem = kind.tiny(np.random.default_rng(5))
    terms = Enumerated(problem)
    kernel = terms.kernel()
    for scale, seed in ((1.0, 0), (30.0, 1), (3000.0, 2)):
        rng = np.random.default_rng(seed)
        theta, batch = rng.normal(size=problem.n_features) * scale, np.array([1, 0, 1])
        weights, slope = np.array([0.5, 2.0, 1.0]), np.zeros(problem.n_features)
        values, gradient = terms.evaluate(theta, batch, weights)
        for i, c, value in zip(batch.tolist(), weights.tolist(), values.tolist(), strict=True):
            outputs = problem.outputs(i)
            rows = problem.features(np.full(len(outputs), i), outputs).toarray()
            truth = problem.features(np.array([i]), problem.truth[[i]]).toarray()[0]
            scores = (rows @ theta).tolist()
            top = max(scores)
            total = math.fsum(math.exp(each - top) for each in scores)
            assert value == pytest.approx(top + math.log(total) - float(truth @ theta), rel=1e-9, abs=1e-9)
            q = [math.exp(each - top) / total for each in scores]
            own = np.array([math.fsum(a * b for a, b in zip(q, column, strict=True)) for column in rows.T]) - truth
            slope += c * own
            assert kernel.argmax_into(kernel.data, theta, i, np.empty(0, np.int64)) == pytest.approx(value, abs=1e-9)
            moved = theta.copy()
            kernel.add_slope(kernel.data, i, np.empty(0, np.int64), -0.25, moved)
            np.testing.assert_allclose(moved, theta - 0.25 * own, atol=1e-9)
        np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-9)


def test_the_declaration_is_the_value():
    problem = wb.Multiclass.tiny(np.random.default_rng(2))
    terms, theta, every = Enumerated(problem), np.linspace(-1, 2, problem.n_features), np.arange(problem.n_samples)
    hinges, constraints = terms.hinges(theta)
    assert not constraints
    np.testing.assert_allclose(hinges.value, terms.evaluate(theta, every, np.ones(len(every)))[0], atol=1e-12)


def test_what_cannot_be_summed_says_why():
    class Bare:
        n_samples, magnitude = 1, np.ones(1)

    with pytest.raises(wb.MissingCapability, match="Bare has none, and its outputs cannot be listed either"):
        listed_outputs(Bare(), 0)
    matching = wb.Matching([np.ones((30, 30, 1))], [np.array([(0, 0)])])
    with pytest.raises(wb.MissingCapability, match=r"Matching has none \(.*\), and its outputs are too many to list: "):
        listed_outputs(matching, 0)
