"""What formulations of one vector w with a squared norm have in common.

min over w   λ/2 ‖w‖² + Σ_i p_i h_i(w)          p_i = 1/n or weight_i / Σ weights by default
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.contracts import Blocks, Prices
from workbench.errors import checked_positive
from workbench.objectives.regularizers import SquaredNorm


@dataclass(frozen=True)
class Ridge:
    """λ/2 ‖w‖² with `lam` = λ > 0, and the prices of a mean."""

    lam: float = 0.1

    def __post_init__(self) -> None:
        checked_positive(lam=self.lam)

    def blocks(self, problem: Any) -> Blocks:
        return Blocks(w=(problem.n_features,))

    def regularizer(self, problem: Any) -> SquaredNorm:
        return SquaredNorm(self.lam)

    def prices(self, problem: Any) -> Prices:
        return Prices.of_mean(problem.weights)
