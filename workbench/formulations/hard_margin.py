"""Hard-margin structural SVM (docs/mathematics.md §2).

    min over w   λ/2 ‖w‖²    s.t.  ⟨w, ψ_i(y)⟩ ≥ ℓ_i(y)  for all i and y ≠ y_i

The same cuts as the soft margin at price p_i = ∞: h_i(w) ≤ 0.

*Dual.* Over one weight α_i(y) ≥ 0 for each output of each sample, without an upper limit:

    max   Σ_i Σ_y α_i(y) ℓ_i(y) − ‖Σ_i Σ_y α_i(y) ψ_i(y)‖²/(2λ)

without a maximum where a Farkas ray α ≥ 0, Σαψ = 0, Σαℓ > 0 exists; data are separable if none does.

Primal repair. If w misses every margin by at most ε < ℓ_min (the least positive loss), then
c·w with c = ℓ_min/(ℓ_min − ε) is feasible: ⟨w,ψ⟩ ≥ ℓ − ε ≥ ℓ(ℓ_min − ε)/ℓ_min for every ℓ ≥ ℓ_min.
Outputs of zero loss other than the truth need ⟨w,ψ⟩ ≥ 0 on their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.arithmetic.intervals import down, up
from workbench.contracts import OF_MARGINS, ListedPerhaps, Prices, Row
from workbench.formulations._ridge import Ridge
from workbench.objectives.oracles import MarginRescaling


@dataclass(frozen=True)
class HardMargin(Ridge):
    """Hard-margin structural SVM; `lam` scales the objective only (lam = 1 is the usual ½‖w‖²)."""

    lam: float = 1.0

    def prices(self, problem: Any) -> Prices:
        return Prices(problem.weights, 0.0)

    def oracle(self, problem: Any) -> MarginRescaling:
        if problem.free_outputs and isinstance(problem, ListedPerhaps):  # else no w is known to be feasible
            problem.listed()
        return MarginRescaling(problem)

    def relations(self) -> Row:
        """How its optimum moves with the data (contracts/relations.py)."""
        return OF_MARGINS

    def program(self, problem: Any, cuts: Any) -> Any:
        import cvxpy as cp

        w = cp.Variable(problem.n_features)
        return cp.Problem(cp.Minimize(self.lam / 2 * cp.sum_squares(w)), cuts([w]))

    def feasible_scale(self, problem: Any, violation: float) -> float:
        """c ≥ 1 such that c·w is feasible when w misses no margin by more than `violation`; ∞ if none is."""
        if violation <= 0:
            return 1.0
        least = down(self.oracle(problem).least_loss)  # which may itself be rounded
        return up(least / down(least - violation)) if violation < least else float("inf")


NAMES = {"hard-margin": HardMargin}
