"""Both bounds where the h_i are smooth and r = μ/2‖θ‖²: θ alone proves them.

    upper(θ) = F(θ) = r(θ) + Σ_i p_i h_i(θ)
    lower(θ) = F(θ) − ‖∇F(θ)‖²/(2μ)

*Proof.* F is μ-strongly convex: F(θ′) ≥ F(θ) + ⟨∇F(θ), θ′ − θ⟩ + μ/2‖θ′ − θ‖², whose least value over θ′ is
that number. It is also lower(α) of bounds.py with the tangents of h_i at θ as the only cuts, a = ∇h_i(θ) and
o = h_i(θ) − ⟨∇h_i(θ), θ⟩: Σ p_i o_i − ‖Σ p_i a_i‖²/(2μ) = F(θ) − ‖μθ + Σ p_i a_i‖²/(2μ). For likelihoods
o is the entropy of the model's own distribution (docs/mathematics.md §4). ∎
"""

from __future__ import annotations

import numpy as np

from workbench.arithmetic.intervals import Interval, length
from workbench.contracts import Floats, Problem, SmoothForm, Terms
from workbench.errors import MissingCapability
from workbench.proofs.bounds import Both, Evidence

FAR = 1e100  # of θ, beyond which squares and scores overflow


class SmoothBounds(Both):
    """Upper and lower bounds of one (formulation, problem) pair with smooth terms; θ proves both."""

    formulation: SmoothForm
    oracle: Terms

    def __init__(self, formulation: SmoothForm, problem: Problem):
        self.asked: tuple[bytes, Floats, Floats] | None = None
        self.proven: tuple[bytes, Interval, float] | None = None
        super().__init__(formulation, problem, formulation.terms(problem))

    @property
    def arithmetic(self) -> str:
        return f"interval ({self.oracle.assumption})"

    @property
    def curvature(self) -> float:
        """μ of r = μ/2‖θ‖²."""
        curvature = self.regularizer.curvature
        if curvature is None:
            raise MissingCapability(f"{type(self.formulation).__name__} has smooth terms, which need r = μ/2‖θ‖².")
        return curvature

    def evaluate(self, theta: Floats) -> tuple[Floats, Floats]:
        """h_i(θ) of `samples` (m,) and Σ_i s_i ∇h_i(θ) (p,) with p_i = s_i/total; the last answer is remembered."""
        key = theta.tobytes()
        if self.asked is None or self.asked[0] != key:
            with np.errstate(over="ignore", invalid="ignore"):  # far out scores overflow; the bounds say ∞
                found = self.oracle.evaluate(theta, self.samples, self.prices.weights[self.samples])
            self.asked = key, *found
        return self.asked[1:]

    def value_and_gradient(self, theta: Floats) -> tuple[float, Floats]:
        """F(θ) and ∇F(θ) as floats, for a method that looks for θ."""
        values, gradient = self.evaluate(theta)
        risk = float(self.prices.weights[self.samples] @ values) / self.prices.total
        slope = self.curvature * theta + gradient / self.prices.total
        return float(self.regularizer.value(theta)) + risk, slope

    def enclosed(self, theta: Floats) -> tuple[Interval, float]:
        """Encloses F(θ), and bounds ‖∇F(θ)‖ from above; all of ℝ and ∞ for θ so large that floats end.

        The last answer is remembered.
        """
        key = theta.tobytes()
        if self.proven is None or self.proven[0] != key:
            self.proven = key, *self._enclosed(theta)
        return self.proven[1:]

    def _enclosed(self, theta: Floats) -> tuple[Interval, float]:
        values, gradient = self.evaluate(theta)
        if not ((np.abs(theta) < FAR).all() and np.isfinite(values).all()):
            return Interval(-np.inf, np.inf), np.inf
        value_error, error = self.oracle.errors(theta, self.samples, self.prices.weights[self.samples])
        risk = self.risk(Interval(values) + Interval(-value_error, value_error))
        slope = Interval(theta) * self.curvature + Interval(gradient) / self.total
        norm = length(slope) + Interval(error) / self.total
        return self.regularizer.value(Interval(theta)) + risk, float(norm.hi)

    def tangent(self, theta: Floats) -> tuple[Interval, Interval]:
        """R(θ) = Σ_i p_i h_i(θ) and ∇R(θ) (p,), enclosed."""
        values, gradient = self.evaluate(theta)
        value_error, error = self.oracle.errors(theta, self.samples, self.prices.weights[self.samples])
        risk = self.risk(Interval(values) + Interval(-value_error, value_error))
        return risk, (Interval(gradient) + Interval(-error, error)) / self.total

    def upper(self, theta: Floats) -> float:
        """F(θ), rounded up."""
        return float(self.enclosed(theta)[0].hi)

    def lower_at(self, theta: Floats) -> float:
        """F(θ) − ‖∇F(θ)‖²/(2μ), rounded down."""
        return self.ends(*self.enclosed(theta))[0]

    def recheck(self, evidence: Evidence) -> tuple[float, float]:
        return self.ends(*self.enclosed(evidence.theta))

    def ends(self, value: Interval, norm: float) -> tuple[float, float]:
        """(lower, upper) from an enclosed F(θ) and a bound on ‖∇F(θ)‖."""
        if not np.isfinite(norm):
            return -np.inf, np.inf
        square = Interval(norm) * norm
        return float((value - square / self.curvature / 2).lo), float(value.hi)
