"""The one place where bounds are computed: from problem data only, rounded outward.

    upper(θ) = r(θ) + Σ_i p_i h_i(θ)                       (a feasible θ and an exact oracle)
    lower(α) = Σ_i p_i Σ_z α_i(z) o_i(z) − r*(−Σ_i p_i Σ_z α_i(z) a_i(z))   (any α_i in the simplex)

(docs/mathematics.md §1). Weights are passed as μ_k = p_i α_i(z) ≥ 0, one per atom, and renormalised here so
that Σ_{k∈i} μ_k = p_i holds for the numbers that enter the bound. Both bounds are evaluated in
interval arithmetic, so `lower ≤ min F ≤ upper` holds for the real numbers, not just for floats.
Nothing of a backend or of a learner enters but θ and μ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.errors import BadInput
from workbench.intervals import Interval, down, gamma, matvec, up
from workbench.structures import Cuts, Enumerable, Floats, Ints


class Bounds:
    """Upper and lower bounds of one (formulation, problem) pair.

    Attributes
    ----------
    oracle, prices, regularizer : as the formulation gives them
    samples : the samples with a positive price; the others are no part of F
    scale : F at r's minimiser, the size against which a relative gap is floored; 0 if infinite
    """

    def __init__(self, formulation: Any, problem: Any):
        self.formulation, self.problem = formulation, problem
        self.oracle = formulation.oracle(problem)
        self.prices = formulation.prices(problem)
        self.regularizer = formulation.regularizer(problem)
        self.samples: Ints = np.flatnonzero(self.prices.weights > 0)
        total = self.prices.total
        self.total = Interval(down(total), up(total)) if self.prices.rounded else Interval(total)
        self.start: Floats = self.regularizer.argmin(np.zeros(self.oracle.dim)) + 0.0
        at_start = self.upper(self.start)
        self.scale = at_start if np.isfinite(at_start) else 0.0

    def hinges(self, theta: Floats, witnesses: Ints) -> Interval:
        """Encloses h_i(θ) for the oracle's witnesses, the oracle's own rounding included."""
        slopes, offsets = self.oracle.rows(self.samples, witnesses)
        size = float(np.abs(theta).sum())
        values = matvec(slopes, Interval(theta)) + self.enclosed(self.samples, offsets)
        error = up(self.oracle.slope_error(self.samples) * size)
        missed = up(self.oracle.rounding(theta)[self.samples])
        return Interval(down(values.lo - error), up(up(values.hi + error) + missed))

    def enclosed(self, samples: Ints, offsets: Floats) -> Interval:
        """Encloses the offsets that `oracle.rows` returned rounded."""
        error = self.oracle.offset_error(samples)
        return Interval(
            np.where(error > 0, down(offsets - error), offsets), np.where(error > 0, up(offsets + error), offsets)
        )

    def upper(self, theta: Floats, witnesses: Ints | None = None) -> float:
        """F at θ (repaired to feasibility first if the constraints are hard), rounded up.

        `witnesses` are the oracle's answers at θ for `samples`, if they are known already.
        """
        if not np.isfinite(theta).all():
            return np.inf
        if witnesses is None:
            witnesses = self.oracle.argmax(theta, self.samples)
        hinges = self.hinges(theta, witnesses)
        if self.prices.hard:
            scale = self.feasible_scale(theta, hinges)
            return float(self.regularizer.value(Interval(theta) * scale).hi) if np.isfinite(scale) else np.inf
        risk = (hinges * self.prices.weights[self.samples]).sum() / self.total
        return float((self.regularizer.value(Interval(theta)) + risk).hi)

    def feasible_scale(self, theta: Floats, hinges: Interval) -> float:
        """c with c·θ feasible for hard constraints, ∞ if this θ cannot be scaled to feasibility."""
        if self.oracle.free_outputs and not self.keeps_free_outputs(theta):
            return float("inf")
        return self.formulation.feasible_scale(self.problem, float(hinges.hi.max()))

    def keeps_free_outputs(self, theta: Floats) -> bool:
        """Whether ⟨w, ψ⟩ ≥ 0 provably holds for outputs of zero loss, which no scaling repairs.

        They are enumerated: an argmax that returns the truth does not tell by how much it won.
        """
        if not isinstance(self.problem, Enumerable):
            return False
        for i in self.samples:
            outputs = self.problem.outputs(i)
            batch = np.full(len(outputs), i)
            free = (self.problem.loss(batch, outputs) == 0) & (outputs != self.problem.truth[i]).any(axis=1)
            slopes, _ = self.oracle.rows(batch[free], outputs[free])
            error = up(self.oracle.slope_error(batch[free]) * float(np.abs(theta).sum()))
            if (matvec(slopes, Interval(theta)).hi + error > 0).any():
                return False
        return True

    def repaired(self, theta: Floats) -> Floats:
        """θ itself, or c·θ where hard constraints need it."""
        if not self.prices.hard:
            return theta
        scale = self.feasible_scale(theta, self.hinges(theta, self.oracle.argmax(theta, self.samples)))
        return theta * scale if np.isfinite(scale) else theta

    def lower(self, cuts: Cuts, weights: Floats) -> float:
        """The dual value of atom weights μ (K,) ≥ 0, rounded down; −∞ if a sample has no weight at all."""
        used = np.flatnonzero(weights > 0)
        samples, mu = cuts.samples[used], Interval(weights[used])
        if not np.isfinite(weights).all():
            return -np.inf
        if not self.prices.hard:
            mass = grouped_sum(mu, samples, self.oracle.n_samples)
            if (mass.lo[self.samples] <= 0).any():
                return -np.inf
            mu = mu * (Interval(self.prices.weights[samples]) / self.total) / mass[samples]
        transposed = cuts.slopes[used].T.tocsr()
        push = -matvec(transposed, mu, self.oracle.slope_error(samples))
        value = (mu * self.enclosed(samples, cuts.offsets[used])).sum() - self.regularizer.conjugate(push)
        return float(value.lo)

    def gap(self, upper: float, lower: float) -> float:
        """(upper − lower)/max(|upper|, |lower|, 1e-6·F(0)), or the absolute gap if all three vanish."""
        if not np.isfinite(upper - lower):
            return float("inf")
        size = max(abs(upper), abs(lower), 1e-6 * abs(self.scale))
        return float((upper - lower) / size) if size > 0 else float(upper - lower)


def grouped_sum(values: Interval, groups: Ints, n: int) -> Interval:
    """Σ of non-negative `values` within each group, enclosed."""
    slack = 2 * gamma(len(values.lo) + 2)
    lo = np.bincount(groups, values.lo, n) * (1 - slack)
    return Interval(down(lo), up(np.bincount(groups, values.hi, n) * (1 + slack)))


def checked_theta(theta: Floats, dim: int) -> Floats:
    """θ as a float array (dim,), or `BadInput`."""
    theta = np.asarray(theta, float).ravel()
    if theta.shape != (dim,):
        raise BadInput(f"The weights have {theta.size} entries but the problem needs {dim}; check the feature map.")
    return theta
