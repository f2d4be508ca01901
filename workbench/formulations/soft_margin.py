"""Soft-margin structural SVM (Tsochantaridis et al. 2005; docs/mathematics.md §2).

    min over w   λ/2 ‖w‖² + Σ_i p_i h_i(w)          p_i = 1/n, or weight_i / Σ weights

    margin rescaling   h_i(w) = max_y ℓ_i(y) − ⟨w, ψ_i(y)⟩
    slack rescaling    h_i(w) = max_y ℓ_i(y) (1 − ⟨w, ψ_i(y)⟩)

over w_j ≥ 0 for the weights that a problem calls `signed` (graphs of associative pairs), all other w free. With
`intercept`, for margin rescaling of labels at places, also over a number b_y for each label, which nothing penalises:

    h_i(w, b) = max_y ℓ_i(y) − ⟨w, ψ_i(y)⟩ + ⟨b, l(y) − l(y_i)⟩          l(y) the counts of labels in y

λ = 1/(Cn) maps to ½‖w‖² + C Σ h_i. Two declarations: `cuts` (lazy constraints from the argmax
oracle) and `compact` (the outputs' own polynomial-size program, an independent route).

*Dual.* Over weights α_i on the outputs of each sample, α_i ≥ 0 and Σ_y α_i(y) = 1,

    max   Σ_i p_i Σ_y α_i(y) ℓ_i(y) − ‖d‖²/(2λ),          d = Σ_i p_i Σ_y α_i(y) ψ_i(y)

with ℓ_i(y) ψ_i(y) in place of ψ_i(y) for slack rescaling, (d_j)₊² in place of d_j² where w_j ≥ 0, and, with
`intercept`, under the condition Σ_i p_i Σ_y α_i(y) (l(y) − l(y_i)) = 0. At the optimum w = d/λ, or (d)₊/λ.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from workbench.contracts import DEARER, OF_MARGINS, OF_SLACKS, Blocks, Compact, Problem, Row, Signed
from workbench.errors import BadInput, MissingCapability, checked_choice, checked_switch
from workbench.formulations._ridge import Ridge
from workbench.objectives.intercepts import centred, free_labels, with_intercepts
from workbench.objectives.oracles import MarginRescaling, SlackRescaling
from workbench.objectives.regularizers import SignedNorm, SquaredNorm, Stacked, norm_of


@dataclass(frozen=True)
class SoftMargin(Ridge):
    """Soft-margin structural SVM: min λ/2 ‖w‖² + Σ_i p_i h_i(w), with `lam` = λ > 0 and p_i = 1/n.

    In packages that minimise ½‖w‖² + C Σ_i h_i, C = 1/(λn). `intercept` adds a free number, without penalty, to each
    label.
    """

    rescaling: Literal["margin", "slack"] = "margin"
    declare: Literal["cuts", "compact"] = "cuts"
    intercept: bool = field(default=False, metadata={"version": 2})

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_choice("margin", "slack", rescaling=self.rescaling)
        checked_choice("cuts", "compact", declare=self.declare)
        checked_switch(intercept=self.intercept)
        if self.intercept and (self.rescaling, self.declare) != ("margin", "cuts"):
            raise BadInput(
                f"intercept=true with rescaling={self.rescaling} and declare={self.declare} is not there; intercepts "
                "need rescaling=margin and declare=cuts."
            )

    def blocks(self, problem: Any) -> Blocks:
        w = super().blocks(problem)
        return Blocks(**w, b=(len(problem.classes),)) if self.intercept else w

    def regularizer(self, problem: Any) -> SquaredNorm | SignedNorm | Stacked:
        if not self.intercept:
            return norm_of(problem, self.lam)
        most = float(problem.max_loss.max())
        box = free_labels(problem, self.prices(problem), self.lam / 2, most, most)
        return Stacked(with_intercepts(problem).sizes[:2], (SquaredNorm(self.lam), box))

    def oracle(self, problem: Any) -> MarginRescaling:
        if self.intercept:
            return with_intercepts(problem)
        return (SlackRescaling if self.rescaling == "slack" else MarginRescaling)(problem, cone=True)

    def relations(self) -> Row:
        """How its optimum moves with the data (contracts/relations.py)."""
        if self.intercept:
            return OF_MARGINS | {"loss": DEARER._replace(intercepts=1.0)}
        return OF_SLACKS if self.rescaling == "slack" else OF_MARGINS

    def program(self, problem: Any, cuts: Any) -> Any:
        import cvxpy as cp

        w, xi = cp.Variable(problem.n_features), cp.Variable(cuts.groups)
        objective = cp.Minimize(self.lam / 2 * cp.sum_squares(w) + cuts.prices @ xi)
        if self.intercept:
            b = cp.Variable(len(problem.classes))
            return cp.Problem(objective, [centred(b), *cuts([w, b], xi)])
        return cp.Problem(objective, [*signs(problem, w), *cuts([w], xi)])

    def compact_program(self, problem: Problem) -> Any:
        """The program without cuts: (cp.Problem, w, atoms after the solve)."""
        import cvxpy as cp

        if not isinstance(problem, Compact) or self.rescaling == "slack":
            raise MissingCapability(
                f"declare=compact needs margin rescaling and outputs with a compact form; {type(problem).__name__} "
                f"with rescaling={self.rescaling} has none, use declare=cuts."
            )
        if self.intercept:
            raise MissingCapability("declare=compact has no intercepts; use declare=cuts, or intercept=false.")
        w = cp.Variable(problem.n_features)
        hinge, constraints, atoms = problem.compact(w)
        risk = self.prices(problem).floats() @ hinge
        objective = cp.Minimize(self.lam / 2 * cp.sum_squares(w) + risk)
        return cp.Problem(objective, [*signs(problem, w), *constraints]), w, atoms


def signs(problem: Any, w: Any) -> list[Any]:
    """w_j ≥ 0 where the problem says so."""
    return [w[np.flatnonzero(problem.signed)] >= 0] if isinstance(problem, Signed) else []


NAMES = {"soft-margin": SoftMargin}
