"""Both bounds of bilinear models on pairs: factors prove the upper one, slopes the lower one.

    upper(A, B, W) = λ/2 (‖A‖² + ‖B‖² + ‖W‖²) + Σ_i p_i Σ_c ℓ(p_c(i), ±1)
    lower(g) = Σ_c of the dual bound of class c against the others at its slopes g_c (dyads/dual.py)

Both are floats with a-priori bounds on their rounding, γ_n as in arithmetic/intervals.py: upper is never below the real
number, lower never above. Between them lies the least risk of all models in k dimensions.
"""

from __future__ import annotations

import numpy as np

from workbench.arithmetic.intervals import gamma, up
from workbench.contracts import Factored, Floats, Ints, Problem
from workbench.dyads.dual import SPARE, Parts, lower_at, parts_of
from workbench.dyads.pairs import Dyads, Factors
from workbench.errors import BadInput
from workbench.formulations.nuclear_dyadic import Scores, targets
from workbench.objectives.regularizers import NONE
from workbench.proofs.bounds import Both, Evidence


class Unrestricted:
    """What F asks of the regularizer here: every θ is in its domain, and 0 is its minimiser."""

    curvature, free = None, NONE

    def argmin(self, push: Floats) -> Floats:
        return np.zeros_like(push)

    def feasible(self, theta: Floats) -> Floats:
        return theta


class DyadicBounds(Both):
    """Bounds of `nuclear-dyadic` on pairs."""

    arithmetic = "interval"
    oracle: Scores

    def __init__(self, formulation: Factored, problem: Problem):
        self.form, self.problem, self.oracle = formulation, problem, formulation.oracle(problem)
        self.formulation, self.prices, self.regularizer = formulation, formulation.prices(problem), Unrestricted()
        self.samples: Ints = np.flatnonzero(self.prices.weights > 0)
        self.parts: list[Parts] = [parts_of(each) for each in formulation.binary(problem)]
        self.start: Floats = np.zeros(self.oracle.dim)
        self.scale = self.upper(self.start)

    def upper(self, theta: Floats, witnesses: Ints | None = None, rows: object = None) -> float:
        """F of the factors θ, rounded up."""
        if not np.isfinite(theta).all():
            return np.inf
        with np.errstate(over="ignore", invalid="ignore"):
            found = risk_above(self.oracle.pairs, self.oracle.factors(theta), self.form.lam, self.form.loss)
        return found if np.isfinite(found) else np.inf

    def lower(self, slopes: Floats) -> float:
        """The bound that slopes (n, L) prove, rounded down; −∞ if a class has slopes out of the domain."""
        form = self.form
        ends = [
            lower_at(part, form.lam, form.dimensions, form.loss, g)
            for part, g in zip(self.parts, slopes.T, strict=True)
        ]
        return float(np.nextafter(sum(ends) - 4 * len(ends) * 2.0**-53 * sum(map(abs, ends)), -np.inf))

    def lower_at(self, theta: Floats) -> float:
        return np.nan

    def recheck(self, evidence: Evidence) -> tuple[float, float]:
        if evidence.slopes is None or evidence.slopes.shape != (self.problem.n_samples, len(self.parts)):
            raise BadInput(f"A proof about pairs needs slopes of shape ({self.problem.n_samples}, {len(self.parts)}).")
        return self.lower(evidence.slopes), self.upper(evidence.theta)


def risk_above(pairs: Dyads, factors: Factors, lam: float, loss: str) -> float:
    """The regularised risk of factors, rounded up."""
    p, y = pairs.scores(factors), targets(pairs)
    k, parts = factors.A.shape[2], (pairs.left, pairs.right, pairs.linear)
    longest = sum(int(np.diff(part.indptr).max(initial=0)) for part in parts)
    error = 2 * gamma(longest + k + SPARE) * sizes(pairs, factors)
    value = np.maximum(1 - y * p + error + 4e-16, 0) if loss == "hinge" else (np.abs(p - y) + error) ** 2 / 2
    square = sum(float((part**2).sum()) for part in factors)
    terms = float(pairs.importance @ value.sum(axis=1)) / pairs.n_samples
    rounding = gamma(value.size + sum(part.size for part in factors) + SPARE)
    return float(up((lam / 2 * square + terms) * (1 + 2 * rounding)))


def sizes(pairs: Dyads, factors: Factors) -> Floats:
    """(n, L) Σ of the sizes of all products in a score."""
    positive = pairs.take(slice(None))
    positive.left, positive.right, positive.linear = abs(pairs.left), abs(pairs.right), abs(pairs.linear)
    k = factors.A.shape[2]
    return positive.scores(Factors(*map(np.abs, factors))) + 2 * k + 1
