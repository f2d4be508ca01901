"""Costs given for each class of errors: the inner program of the alternating variants, and the plain SVM with biases.

    min over (w, b)   λ₂‖w‖² + λ₁‖w‖₁ + Σ_i max_y ⟨w, φ(y) − φ(y_i)⟩ + ⟨b, l(y) − l(y_i)⟩ + K⟨v, c_i(y)⟩

*Dual.* With weights α_i on the outputs of each sample, α_i ≥ 0 and Σ_y α_i(y) = 1, d = Σ α(φ(y) − φ(y_i)) and
q_S = Σ α c_S, under the condition Σ α(l(y) − l(y_i)) = 0:

    max   K⟨v, q⟩ − Σ_j (|d_j| − λ₁)₊²/(4λ₂)

and at the optimum w_j = −sign(d_j) (|d_j| − λ₁)₊/(2λ₂) (docs/mathematics.md §5).

With v = 1 for every class this is the margin-rescaled SVM, the baseline of cost learning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.contracts import Blocks, Prices, Row
from workbench.errors import BadInput
from workbench.formulations.cost_learning import CostLearning
from workbench.objectives.costs import FixedCost
from workbench.objectives.factorings import folds_of, label_counts
from workbench.objectives.intercepts import centred
from workbench.objectives.regularizers import ElasticNet, Stacked


@dataclass(frozen=True)
class FixedCostLearning(CostLearning):
    """Fixed cost weights v, one per error class (1 by default); with parts > 0, without the samples of part
    `left_out`.
    """

    v: tuple[float, ...] | None = None
    parts: int = 0
    left_out: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.v is not None:
            v = np.asarray(self.v, float)
            if v.ndim != 1 or not np.isfinite(v).all() or (v < 0).any():
                raise BadInput(f"The costs are {self.v!r}; give one finite number from 0 on for each error class.")
            object.__setattr__(self, "v", tuple(v.tolist()))
        if not (self.parts == self.left_out == 0 or (0 <= self.left_out < self.parts and self.parts > 1)):
            raise BadInput(f"part {self.left_out} of {self.parts} does not exist; count parts from 0, at least two.")

    def oracle(self, problem: Any) -> FixedCost:
        classes = self.classes(problem)
        v = np.ones(len(classes.names)) if self.v is None else np.array(self.v)
        if len(v) != len(classes.names):
            raise BadInput(f"There are {len(v)} costs for {len(classes.names)} error classes; give one for each.")
        return FixedCost(problem, classes, float(self.K), v)

    def blocks(self, problem: Any) -> Blocks:
        d, k, _ = self.oracle(problem).sizes
        return Blocks(w=(d,), b=(k,))

    def prices(self, problem: Any) -> Prices:
        kept = folds_of(problem, self.parts) != self.left_out if self.parts else 1.0
        return Prices(problem.weights * kept, 1.0)

    def regularizer(self, problem: Any) -> Stacked:
        sizes = self.oracle(problem).sizes[:2]
        return Stacked(sizes, (ElasticNet(float(self.lam2), float(self.lam1)), self.box(problem)))

    def relations(self) -> Row:
        """Given costs are about labels by name, and folds about samples in their order."""
        row = super().relations()
        row |= dict.fromkeys(("rename",)) if self.v is not None else {}
        return row | (dict.fromkeys(("duplicate", "split", "permute")) if self.parts else {})

    def start(self, problem: Any) -> tuple[float, float]:
        most = max(self.oracle(problem).v, default=0.0)
        return self.K * most * float(label_counts(problem).sum()), most

    def program(self, problem: Any, cuts: Any) -> Any:
        import cvxpy as cp

        (d, k, _), K = self.oracle(problem).sizes, self.K
        w, b, xi = cp.Variable(d), cp.Variable(k), cp.Variable(cuts.groups)
        objective = K * (K * self.lam2 * cp.sum_squares(w) + self.lam1 * cp.norm1(w) + cuts.prices @ xi)
        return cp.Problem(cp.Minimize(objective), [centred(b), *cuts([w, b], xi, (K, K), K)])


NAMES = {"fixed-cost": FixedCostLearning}
