"""Intercepts: one number b_y for each label, which nothing penalises, beside the weights w; θ = (w, b).

    h_i(w, b) = max_y ℓ_i(y) + ⟨w, φ(y) − φ(y_i)⟩ + ⟨b, l(y) − l(y_i)⟩

l(y) ∈ ℕ^k counts the labels of y, and ℓ_i(y) = Σ_t cost[y_it, y_t] / s_i. So the costs of a place are those of a
given cost (objectives/costs.py) with one error class for each entry of cost / s_i; only the loss itself is the
problem's own number, which that division may round.

**The box.** F does not change when one number is added to all of b. With U ≥ min F, λ/2 ‖w*‖² ≤ U, ρ = √(2U/λ),
φ = max ‖φ(x, ·)‖, M = max ℓ and P_y = Σ p_i over the samples that hold label y: changing one y to y′ in each of
these samples gives b_y′ − b_y ≤ U/P_y + 2ρφ, since losses are ≥ 0. A label that no sample of positive price holds may
be raised to min_y b_y − 2ρφ − M without ever being chosen. So all differences of some optimal b are at most
U/min P_y + 4ρφ + M, and Σ b = 0 puts every |b_y| below that. At first U is F(0, 0) ≤ M Σ p_i.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from workbench.arithmetic.rationals import Entries, Ratios, ratios
from workbench.contracts import Divided, Exact, Floats, Ints, Prices, Problem
from workbench.errors import BadInput, MissingCapability
from workbench.objectives.costs import ExactLearnedCost, FixedCost
from workbench.objectives.factorings import Classes, label_counts, ordered
from workbench.objectives.oracles import MarginRescaling
from workbench.objectives.regularizers import Box


def centred(b: Any) -> Any:
    """Σ_y b_y = 0 of CVXPY's variable b (k,): only differences of intercepts enter a score."""
    import cvxpy as cp

    return cp.sum(b) == 0


def free_labels(problem: Any, prices: Prices, lam2: float, most: float, start: float) -> Box:
    """The box of a b that nothing penalises, beside λ₂‖w‖²; `most` bounds a loss, `start` is a bound on min F."""
    if (label_counts(problem) == 0).all():
        raise BadInput("All sample weights are 0; give at least one a positive weight.")
    number, places = problem.places(np.arange(problem.n_samples))
    holds = np.zeros((problem.n_samples, len(problem.classes)))
    holds[number, problem.labels[places]] = 1
    shares = prices.floats() @ holds
    root = 4 * math.sqrt(1 / lam2) * float(problem.magnitude.max())
    return Box(most, float(1 / shares[shares > 0].min()), root, start)


@dataclass(frozen=True)
class Intercepts(FixedCost):
    """Margin rescaling by the problem's own loss with intercepts; made by `with_intercepts`."""

    concurrent: ClassVar[bool] = True
    by_parts: ClassVar[bool] = True

    @property
    def least_loss(self) -> float:
        return self.problem.least_loss

    @property
    def free_outputs(self) -> bool:
        return self.problem.free_outputs

    def rows(self, samples: Ints, witnesses: Ints) -> tuple[sparse.csr_array, Floats]:
        slopes, _ = super().rows(samples, witnesses)
        return slopes, self.problem.loss(samples, witnesses)

    def offset_error(self, samples: Ints) -> Floats:
        return MarginRescaling.offset_error(self, samples)

    def exact(self) -> ExactIntercepts | None:
        return ExactIntercepts(self, self.problem.exact()) if isinstance(self.problem, Exact) else None


def with_intercepts(problem: Problem) -> Intercepts:
    """The oracle of a problem whose loss is a sum over labels at places; else `MissingCapability`."""
    if not isinstance(problem, Divided):
        raise MissingCapability(
            f"intercepts belong to labels at places and {type(problem).__name__} has none; use intercept=false."
        )
    divisors, group = np.unique(problem.divisors, return_inverse=True)
    pairs, (number, _) = ordered(problem), problem.places(np.arange(problem.n_samples))
    k, off = len(problem.classes), ~np.eye(len(problem.classes), dtype=bool)
    shift = np.where(off, len(pairs.names), 0)
    table = pairs.table + np.arange(len(divisors))[:, None, None] * shift
    names = [f"{pair} of {divisor:g}" for divisor in divisors for pair in pairs.names]
    v = (problem.cost[off][None, :] / divisors[:, None]).ravel()
    assert table.shape == (len(divisors), k, k)  # one table a divisor
    return Intercepts(problem, Classes(names, table, group[number]), 1.0, v)


@dataclass(frozen=True)
class ExactIntercepts(ExactLearnedCost):
    """`Intercepts` in rational arithmetic."""

    def rows(self, samples: Ints, witnesses: Ints) -> tuple[Entries, Ratios]:
        entries, _ = super().rows(samples, witnesses)
        kept = entries.columns < self.floats.dim
        slopes = Entries(entries.rows[kept], entries.columns[kept], entries.values[kept], entries.unit)
        return slopes, self.outputs.loss(samples, witnesses)

    def highest(self, theta: Ratios, samples: Ints) -> Ratios:
        problem, (d, _, _) = self.floats.problem, self.floats.sizes
        number, places = problem.places(samples)
        truth, cost, b = problem.labels[places], ratios(problem.cost), theta.whole[d:]
        divisors = [int(each) for each in problem.divisors]
        lcm = math.lcm(*divisors)
        shares = np.array([lcm // divisors[i] for i in samples], object)[number]
        table = cost.whole[truth] * shares[:, None] * theta.unit
        table = table + (b - b[truth][:, None]) * (cost.unit * lcm)
        unit = theta.unit * cost.unit * lcm
        return self.outputs.augmented(Ratios(theta.whole[:d], theta.unit), samples, Ratios(table, unit))
