"""Soft-margin structural SVM (Tsochantaridis et al. 2005; docs/mathematics.md §2).

    min over w   λ/2 ‖w‖² + Σ_i p_i h_i(w)          p_i = 1/n, or weight_i / Σ weights

    margin rescaling   h_i(w) = max_y ℓ_i(y) − ⟨w, ψ_i(y)⟩
    slack rescaling    h_i(w) = max_y ℓ_i(y) (1 − ⟨w, ψ_i(y)⟩)

over w_j ≥ 0 for the weights that a problem calls `signed` (graphs of associative pairs), all other w free.

λ = 1/(Cn) maps to ½‖w‖² + C Σ h_i. Two declarations: `cuts` (lazy constraints from the argmax
oracle) and `compact` (the outputs' own polynomial-size program, an independent route).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from workbench.contracts import OF_MARGINS, OF_SLACKS, Compact, Row, Signed
from workbench.errors import MissingCapability
from workbench.formulations._ridge import Ridge
from workbench.objectives.oracles import MarginRescaling, SlackRescaling
from workbench.objectives.regularizers import SignedNorm, SquaredNorm, norm_of


@dataclass(frozen=True)
class SoftMargin(Ridge):
    """Soft-margin structural SVM with regularisation `lam` = λ > 0."""

    rescaling: Literal["margin", "slack"] = "margin"
    declare: Literal["cuts", "compact"] = "cuts"

    def regularizer(self, problem: Any) -> SquaredNorm | SignedNorm:
        return norm_of(problem, self.lam)

    def oracle(self, problem: Any) -> MarginRescaling:
        return (SlackRescaling if self.rescaling == "slack" else MarginRescaling)(problem, cone=True)

    def relations(self) -> Row:
        """How its optimum moves with the data (contracts/relations.py)."""
        return OF_SLACKS if self.rescaling == "slack" else OF_MARGINS

    def program(self, problem: Any, cuts: Any) -> Any:
        import cvxpy as cp

        w, xi = cp.Variable(problem.n_features), cp.Variable(cuts.groups)
        objective = cp.Minimize(self.lam / 2 * cp.sum_squares(w) + cuts.prices @ xi)
        return cp.Problem(objective, [*signs(problem, w), *cuts([w], xi)])

    def compact_program(self, problem: Any) -> Any:
        """The program without cuts: (cp.Problem, w, atoms after the solve)."""
        import cvxpy as cp

        if not isinstance(problem, Compact) or self.rescaling == "slack":
            raise MissingCapability(
                f"declare=compact needs margin rescaling and outputs with a compact form; {type(problem).__name__} "
                f"with rescaling={self.rescaling} has none, use declare=cuts."
            )
        w = cp.Variable(problem.n_features)
        hinge, constraints, atoms = problem.compact(w)
        risk = self.prices(problem).floats() @ hinge
        objective = cp.Minimize(self.lam / 2 * cp.sum_squares(w) + risk)
        return cp.Problem(objective, [*signs(problem, w), *constraints]), w, atoms


def signs(problem: Any, w: Any) -> list[Any]:
    """w_j ≥ 0 where the problem says so."""
    return [w[np.flatnonzero(problem.signed)] >= 0] if isinstance(problem, Signed) else []


NAMES = {"soft-margin": SoftMargin}
