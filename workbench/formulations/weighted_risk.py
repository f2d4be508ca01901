"""Regularised risk of linear scores, importances as prices (docs/mathematics.md §7).

    min over w   λ/2 ‖w‖² + Σ_i p_i ℓ(⟨w, x_i⟩, y_i)          p_i = importance_i / Σ importances

    hinge      (1 − yp)₊             cuts: the structured hinge of `linear`
    squared    ½(p − y)²             smooth
    logistic   log(1 + e^{−yp})      smooth

Hinge and logistic loss see the sign of y, ±1. The reference of the importance-aware solver. One name, two kinds:
`WeightedRisk(loss=…)` makes a formulation by cuts or a smooth one, as the loss wants.

*Dual.* Over one slope s_i for each sample, ℓ* the conjugate of the loss in its first argument:

    max   −Σ_i p_i ℓ*(s_i, y_i) − ‖Σ_i p_i s_i x_i‖²/(2λ),          w = −Σ_i p_i s_i x_i / λ at the optimum

    hinge      ℓ*(s, y) = ys                             for −1 ≤ ys ≤ 0
    squared    ℓ*(s, y) = ½s² + sy
    logistic   ℓ*(s, y) = t log t + (1 − t) log(1 − t)   for t = −ys between 0 and 1

so a certificate of a smooth loss holds w alone: the slopes at any w are dual feasible.

Rounding of the smooth terms. Let S = γ_k ‖x‖₁‖w‖_∞ bound the error of a computed score p̂ of k terms and
r = p − y. *Squared*: r̂ is within e = S + 2u(|p̂| + |y|) of r, its square's half within e|r̂| + e²/2 + 4u ĥ.
*Logistic*: 1-Lipschitz in p, and computed by one exp and one log1p, hence within S + γ_{2κ+8} ĥ; its slope is
1-Lipschitz, too. A gradient is the sum of slopes times rows: errors of slopes enter by ‖x_i‖, additions by γ_n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from workbench.arithmetic.intervals import TINY, gamma
from workbench.contracts import OF_MEANS, Floats, Ints, Kernel, LinearScores, Row
from workbench.errors import MissingCapability, checked_choice
from workbench.formulations._ridge import Ridge
from workbench.objectives.conditioning import root, shape
from workbench.objectives.likelihoods import KAPPA, ULPS, declared
from workbench.objectives.oracles import MarginRescaling

UNIT = 2.0**-53


def squared_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """½(p − y)²; leaves its slope in the scratch array at the end of `data`."""
    indptr, indices, values, targets, slope = data
    residual = -targets[i]
    for j in range(indptr[i], indptr[i + 1]):
        residual += theta[indices[j]] * values[j]
    slope[0] = residual
    return 0.5 * residual * residual


def logistic_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """log(1 + e^{−yp}); leaves its slope likewise."""
    indptr, indices, values, targets, slope = data
    margin = 0.0
    for j in range(indptr[i], indptr[i + 1]):
        margin += theta[indices[j]] * values[j]
    margin *= targets[i]
    small = np.exp(-abs(margin))
    slope[0] = -targets[i] * (small if margin > 0 else 1.0) / (1 + small)
    return max(-margin, 0.0) + np.log1p(small)


def add_gradient(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
    """θ += scale · F x_i at the θ of the last evaluation."""
    indptr, indices, values, _, slope = data
    for j in range(indptr[i], indptr[i + 1]):
        theta[indices[j]] += scale * slope[0] * values[j]


class RiskTerms:
    """The terms ℓ(⟨w, x_i⟩, y_i) of a smooth loss (contract: structures.Terms)."""

    kind = "exact"
    width = 0

    def __init__(self, problem: Any, loss: str):
        self.problem, self.loss = problem, loss
        transcendental = f"exp and log correct to {ULPS} units in the last place"
        self.assumption = "arithmetic rounded to nearest" if loss == "squared" else transcendental
        self.targets = problem.targets if loss == "squared" else problem.signs
        self.n_samples, self.dim = problem.n_samples, problem.n_features
        self.lengths: Floats = np.sqrt(np.asarray(problem.X.multiply(problem.X).sum(axis=1)).ravel()) * (1 + 1e-9)

    def decode(self, theta: Floats, samples: Ints) -> Ints:
        """The predicted labels."""
        return self.problem.argmax(theta, samples, augment=False)

    def pieces(self, theta: Floats, samples: Ints) -> tuple[Floats, Floats, Floats]:
        """Scores, values and slopes of a batch, (m,) each."""
        p, y = self.problem.X[samples] @ theta, self.targets[samples]
        if self.loss == "squared":
            return p, (p - y) ** 2 / 2, p - y
        small = np.exp(-np.abs(y * p))
        slope = -y * np.where(y * p > 0, small, 1.0) / (1 + small)
        return p, np.maximum(-y * p, 0.0) + np.log1p(small), slope

    def evaluate(self, theta: Floats, samples: Ints, weights: Floats) -> tuple[Floats, Floats]:
        _, values, slopes = self.pieces(theta, samples)
        return values, self.problem.X[samples].T @ (slopes * weights)

    def errors(self, theta: Floats, samples: Ints, weights: Floats) -> tuple[Floats, float]:
        p, values, slopes = self.pieces(theta, samples)
        score = gamma(self.problem.terms) * self.problem.magnitude[samples] * np.abs(theta).max(initial=0.0)
        if self.loss == "squared":
            slope = score + 2 * UNIT * (np.abs(p) + np.abs(self.targets[samples]))
            value = slope * np.abs(slopes) + slope**2 + 4 * UNIT * values
        else:
            slope = score + gamma(KAPPA + 8) * np.abs(slopes) + TINY
            value = score + gamma(2 * KAPPA + 8) * values + TINY
        added = gamma(len(samples) + 4) * np.abs(slopes)
        gradient = float(weights @ (self.lengths[samples] * (slope + added)))
        return value * (1 + 1e-9) + TINY, gradient * (1 + 1e-9) + TINY

    def conditioner(self, samples: Ints, weights: Floats, mu: float) -> Callable[[Floats], Floats] | None:
        """Of the squared loss, coordinates in which one step of Newton's method is one of descent."""
        X = self.problem.X[samples]
        C = root(X, weights, 1, 1 / mu if self.loss == "squared" else shape(X, weights, mu, 0.25))
        return None if C is None else C.__matmul__

    def norms(self) -> Floats:
        """(n,) bounds on ‖∇h_i(θ)‖ over all θ; the squared loss has none."""
        return self.lengths if self.loss == "logistic" else np.full(self.n_samples, np.inf)

    def kernel(self) -> Kernel:
        X = self.problem.X
        data = X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data, self.targets, np.zeros(1)
        return Kernel(data, squared_into if self.loss == "squared" else logistic_into, add_gradient)

    def hinges(self, theta: Any) -> tuple[Any, list[Any]]:
        import cvxpy as cp

        p, y = self.problem.X @ theta, self.targets
        return (cp.square(p - y) / 2 if self.loss == "squared" else cp.logistic(cp.multiply(-y, p))), []


@dataclass(frozen=True)
class WeightedRisk(Ridge):
    """Regularised risk of linear scores, `lam` = λ > 0, loss hinge, squared or logistic."""

    loss: Literal["hinge", "squared", "logistic"] = "hinge"

    def __new__(cls, lam: float = 0.1, loss: str = "hinge") -> WeightedRisk:
        return object.__new__(HingeRisk if loss == "hinge" else SmoothRisk)

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_choice("hinge", "squared", "logistic", loss=self.loss)

    def relations(self) -> Row:
        """Targets are ±1, so no loss of outputs is looked at."""
        return OF_MEANS


class HingeRisk(WeightedRisk):
    """`WeightedRisk` by cuts."""

    def oracle(self, problem: Any) -> MarginRescaling:
        return MarginRescaling(linear(problem))

    def program(self, problem: Any, cuts: Any) -> Any:
        import cvxpy as cp

        w, xi = cp.Variable(problem.n_features), cp.Variable(cuts.groups)
        return cp.Problem(cp.Minimize(self.lam / 2 * cp.sum_squares(w) + cuts.prices @ xi), cuts([w], xi))


class SmoothRisk(WeightedRisk):
    """`WeightedRisk` with a smooth loss."""

    def terms(self, problem: Any) -> RiskTerms:
        return RiskTerms(linear(problem), self.loss)

    def program(self, problem: Any) -> tuple[Any, Any]:
        return declared(self.lam, problem, self.terms(problem), self.prices(problem).floats())


def linear(problem: Any) -> Any:
    """The problem, if its scores are linear in x."""
    if isinstance(problem, LinearScores):
        return problem
    raise MissingCapability(
        f"weighted-risk needs linear scores with targets and {type(problem).__name__} has none; use Linear(X, y), or "
        "soft-margin or crf."
    )


NAMES = {"weighted-risk": WeightedRisk}
