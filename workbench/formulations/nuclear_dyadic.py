"""Nuclear dyadic: bilinear scores of pairs, squared norms as regularizer; the problem is not convex, its bound is.

    min over A_c (f_left, k), B_c (f_right, k), w_c of
        λ/2 Σ_c (‖A_c‖² + ‖B_c‖² + ‖w_c‖²) + Σ_i p_i Σ_c ℓ(p_c(i), ±1),     p_i = weight_i / Σ weights

    p_c(i) = ⟨a + 1, b + 1⟩ − k + ⟨w_c, x_i⟩,  a = A_cᵀ l_i,  b = B_cᵀ r_i

Two classes have one score with target +1 for the second; more classes have one score each, with target +1 where the
class is the label (one against all). λ = `lam`, k = `dimensions`, ℓ is the hinge or half the square.

*Dual.* For two classes, over one slope g_i for each pair, ω_i = p_i g_i, S = Σ ω_i l_i r_iᵀ with ‖S‖₂ < λ,
c = ½ Σ ω_i (l_i, r_i), Q = ½ [[λI, S], [Sᵀ, λI]], and ℓ* the conjugate of ℓ in its first argument (dyads/dual.py):

    max   −Σ_i p_i ℓ*(g_i, ±1) − k cᵀQ⁻¹c − ‖Σ_i ω_i x_i‖²/(2λ)

a bound from below on every model in k dimensions; for more classes the sum of such bounds.

All but the rank depends on Gram matrices, of which the objective is convex (dyads/nuclear.py). So any slopes prove a
lower bound (dyads/dual.py), any (A, B, w) is an upper bound, and `solve` returns the interval between the best of both
that were found. Where the interval closes, the model is a proven global optimum in k dimensions; where it does not, the
rest is the price of the rank, of the search for the model, or of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from workbench.contracts import Blocks, Floats, Ints, Paired, Prices, Problem, Row
from workbench.dyads.pairs import Dyads, Factors
from workbench.errors import MissingCapability, checked_choice, checked_positive, checked_whole


class Scores:
    """A view of pairs by θ = (A, B, W): sizes, and what θ predicts."""

    kind = "exact"

    def __init__(self, problem: Paired, dimensions: int):
        self.problem, self.pairs = problem, of_mean_one(problem.dyads)
        self.n_samples, self.width = self.pairs.n_samples, 1
        pairs, count = self.pairs, self.pairs.scores_per_pair
        sides = {"A": (pairs.left.shape[1], count, dimensions), "B": (pairs.right.shape[1], count, dimensions)}
        self.blocks = Blocks(**sides, W=(pairs.linear.shape[1], count))
        self.dim = self.blocks.dim

    def factors(self, theta: Floats) -> Factors:
        return Factors(**self.blocks.split(theta))

    def joined(self, factors: Factors) -> Floats:
        """θ of factors; inverse of `factors`."""
        return self.blocks.join(factors._asdict())

    def decode(self, theta: Floats, samples: Ints) -> Ints:
        part = self.pairs.take(samples)
        return part.decide(part.scores(self.factors(theta)))[:, None]


@dataclass(frozen=True)
class NuclearDyadic:
    """min λ/2 (‖A‖² + ‖B‖² + ‖W‖²) + Σ p_i Σ_c ℓ(p_c(i), ±1), p_c = ⟨A_cᵀl + 1, B_cᵀr + 1⟩ − k + ⟨w_c, x⟩.

    Parameters
    ----------
    lam : λ > 0
    dimensions : k ≥ 1; the linear model (k = 0) is a case of the formulations with linear scores
    loss : hinge, or squared: (p ∓ 1)²/2

    Raises
    ------
    BadInput : a setting out of its range
    """

    lam: float = 0.01
    dimensions: int = 1
    loss: Literal["hinge", "squared"] = "hinge"

    def __post_init__(self) -> None:
        checked_positive(lam=self.lam)
        checked_whole(1, dimensions=self.dimensions)
        checked_choice("hinge", "squared", loss=self.loss)

    def blocks(self, problem: Problem) -> Blocks:
        return self.oracle(problem).blocks

    def weight_names(self, problem: Problem) -> dict[str, list[str]]:
        """For A and B LABEL: SIDE NAME [DIMENSION], for W LABEL: NAME; of two classes the one score is the second's."""
        pairs, places = self.oracle(problem).pairs, range(self.dimensions)
        labels = pairs.classes[-1:] if pairs.scores_per_pair == 1 else pairs.classes
        found = {"W": [f"{label}: {name}" for name in pairs.linear_columns() for label in labels]}
        for block, side in (("A", "left"), ("B", "right")):
            names = pairs.side_columns(side)
            found[block] = [f"{label}: {name} [{place}]" for name in names for label in labels for place in places]
        return found

    def prices(self, problem: Problem) -> Prices:
        return Prices.of_mean(problem.weights)

    def oracle(self, problem: Problem) -> Scores:
        if not isinstance(problem, Paired):
            raise MissingCapability(
                f"nuclear-dyadic needs pairs of two sides and {type(problem).__name__} has none; give pairs, as the "
                "problem bluebird."
            )
        return Scores(problem, self.dimensions)

    def relations(self) -> Row:
        """None: relations are certified by dual weights of cuts, and slopes are none."""
        return {}

    def binary(self, problem: Problem) -> list[Dyads]:
        """The problems in two classes of which F is the sum: one, or for several classes each against all."""
        pairs = self.oracle(problem).pairs
        return [pairs] if pairs.scores_per_pair == 1 else [pairs.against(c) for c in range(len(pairs.classes))]


def of_mean_one(pairs: Dyads) -> Dyads:
    """The same pairs with importances of mean 1, so that importance/n are the prices."""
    part = pairs.take(slice(None))
    part.importance = part.importance * (part.n_samples / part.importance.sum())
    return part


def targets(pairs: Dyads) -> Floats:
    """(n, L) of ±1."""
    if pairs.scores_per_pair == 1:
        return pairs.targets[:, None]
    return np.where(pairs.labels[:, None] == np.arange(len(pairs.classes)), 1.0, -1.0)


NAMES = {"nuclear-dyadic": NuclearDyadic}
