"""Cost learning (McDowell 2014; docs/mathematics.md §5): how much each class of errors should cost, learned.

θ = (w, b, v): feature weights, label biases, cost weights (one per error class S of a factoring).

    (1)   min  λ₂‖w‖² + λ₁‖w‖₁ + Σ_i h_i(θ)                              v ≥ 0, Σ v = 1      simplex
    (10)  min  λ₂‖w‖² + λ₁‖w‖₁ + Σ_i h_i(θ) + (K/2) Σ_S n_S (1 − v_S)²    v ≥ 0               normalized

    h_i(θ) = max_y ⟨w, φ(y) − φ(y_i)⟩ + ⟨b, l(y) − l(y_i)⟩ + K⟨v, c_i(y)⟩

The source's (10) has −K⟨v, n⟩ + (K/2)‖v‖²_n in place of the last term; the constant (K/2)Σ n_S between
them makes the objective non-negative, so that relative gaps mean something. Both are jointly convex
in θ: costs are linear in v.

*Dual.* With weights α_i on the outputs of each sample, α_i ≥ 0 and Σ_y α_i(y) = 1, d = Σ α(φ(y) − φ(y_i)),
q_S = Σ α c_S, and under the condition Σ α(l(y) − l(y_i)) = 0, the maximum of

    (1)   −Σ_j (|d_j| − λ₁)₊²/(4λ₂) + K min_S q_S          (10)   −Σ_j … + (K/2) Σ_S [n_S − (n_S − q_S)₊²/n_S]

and at an optimum  (1) v_S > 0 ⇒ q_S is least;   (10) v_S = (1 − q_S/n_S)₊.

**The box.** b is free, up to a constant added to all of it. With a known U ≥ min F, ρ = √(U/λ₂) ≥ ‖w*‖ and
P_y = Σ p_i over the samples that hold label y: changing one y to k in each of them gives
b_k − b_y ≤ U/P_y + 2ρ max‖φ‖. A label k that no sample holds may be raised to min_y b_y − 2ρ max‖φ‖ − K T max v
without ever being chosen, T the longest sample. So all differences of some optimal b are at most
β = U/min P_y + 4ρ max‖φ‖ + K T max v, and Σ b = 0 puts it into |b| ≤ β. At first U is F(0, 0, v) at one v;
proven upper bounds replace it. The conjugate pays β‖Σ α(l(y) − l(y_i))‖₁ for what `Bounds.balanced` leaves of that sum,
10⁻¹⁵.

The CVXPY text is written in units of K, for F(Kw, Kb, v; λ₂, λ₁, K) = K F(w, b, v; Kλ₂, λ₁, 1): K is unnecessary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from workbench.contracts import OF_SUMS, SAME, Blocks, Floats, Prices, Row
from workbench.errors import BadInput, checked_choice, checked_positive
from workbench.objectives.costs import LearnedCost
from workbench.objectives.factorings import (
    COUNTS,
    Classes,
    Factors,
    checked_factoring,
    classes_of,
    label_counts,
    reachable,
)
from workbench.objectives.intercepts import centred, free_labels
from workbench.objectives.regularizers import Box, CountedCosts, ElasticNet, Regularizer, Simplex, Stacked

Factoring = Literal[
    "unordered",
    "ordered",
    "true",
    "predicted",
    "constant",
    "input",
    "input-smallest",
    "input-count",
    "input-true",
]
Counts = Literal["expected", "logical", "logical-max", "none", "total", "baseline"]


@dataclass(frozen=True)
class CostSettings:
    """The settings of everything about costs; `lam2` = λ₂, `lam1` = λ₁ and `K` as in the source.

    factoring : the name of a factoring, or, in Python, a function from a problem to its error classes (`wb.Classes`)
    """

    lam2: float = 0.1
    lam1: float = 0.0
    K: float = 1.0
    factoring: Factoring | Factors = "unordered"

    def __post_init__(self) -> None:
        checked_positive(lam2=self.lam2, K=self.K)
        checked_factoring(self.factoring)
        if isinstance(self.lam1, bool) or not isinstance(self.lam1, int | float) or not 0 <= self.lam1 <= 1e100:
            raise BadInput(f"lam1 is {self.lam1!r}; it must be a number from 0 to 1e100, e.g. lam1=0.")

    def classes(self, problem: Any) -> Classes:
        """The error classes, names and all."""
        return classes_of(problem, self.factoring)


@dataclass(frozen=True)
class CostLearning(CostSettings):
    """The regularizer of w, the box of b, and the CVXPY declaration, common to objectives (1) and (10)."""

    def blocks(self, problem: Any) -> Blocks:
        d, k, m = self.oracle(problem).sizes
        return Blocks(w=(d,), b=(k,), v=(m,))

    def oracle(self, problem: Any) -> LearnedCost:
        return LearnedCost(problem, self.classes(problem), float(self.K))

    def prices(self, problem: Any) -> Prices:
        return Prices(problem.weights, 1.0)

    def regularizer(self, problem: Any) -> Stacked:
        parts = ElasticNet(float(self.lam2), float(self.lam1)), self.box(problem), self.costs(problem)
        return Stacked(self.oracle(problem).sizes, parts)

    def box(self, problem: Any) -> Box:
        """The box of the docstring for b; U is F(0, 0, v) to begin with."""
        number, _ = problem.places(np.arange(problem.n_samples))
        at_start, most = self.start(problem)
        dearest = float(self.K * np.bincount(number).max() * most)
        return free_labels(problem, self.prices(problem), self.lam2, dearest, at_start)

    def start(self, problem: Any) -> tuple[float, float]:
        """A bound on F(0, 0, v) at one v, and one on max v at an optimum."""
        raise NotImplementedError

    def costs(self, problem: Any) -> Regularizer:
        """r of v."""
        raise NotImplementedError

    def relations(self) -> Row:
        """Sums over samples, so that duplicates double F and its settings; what a function reads is not known."""
        if callable(self.factoring):
            return {}
        return OF_SUMS | {"rotate": None if self.lam1 > 0 or self.factoring.startswith("input") else SAME}

    def program(self, problem: Any, cuts: Any) -> Any:
        import cvxpy as cp

        (d, k, m), K = self.oracle(problem).sizes, self.K
        w, b, v, xi = cp.Variable(d), cp.Variable(k), cp.Variable(m), cp.Variable(cuts.groups)
        objective = K * (K * self.lam2 * cp.sum_squares(w) + self.lam1 * cp.norm1(w) + cuts.prices @ xi)
        cost, domain = self.cost_program(problem, v)
        return cp.Problem(cp.Minimize(objective + cost), [*domain, centred(b), *cuts([w, b, v], xi, (K, K, 1.0), K)])

    def cost_program(self, problem: Any, v: Any) -> tuple[Any, list[Any]]:
        """r of v, and its domain, in CVXPY."""
        raise NotImplementedError


@dataclass(frozen=True)
class SimplexCostLearning(CostLearning):
    """Objective (1): costs share a total of K."""

    def start(self, problem: Any) -> tuple[float, float]:
        """v ≤ 1, so no more than K per place."""
        return self.K * float(label_counts(problem).sum()), 1.0

    def costs(self, problem: Any) -> Simplex:
        live = reachable(problem, self.classes(problem))
        if not live.any():
            raise BadInput("Only one label occurs with positive weight, so no error can be learned from; add others.")
        return Simplex(live)

    def cost_program(self, problem: Any, v: Any) -> tuple[Any, list[Any]]:
        import cvxpy as cp

        unreachable = np.flatnonzero(~self.costs(problem).live)
        return 0, [v >= 0, cp.sum(v) == 1] + ([v[unreachable] == 0] if len(unreachable) else [])


@dataclass(frozen=True)
class NormalizedCostLearning(CostLearning):
    """Objective (10): each cost falls from 1 as its errors approach the number n_S to be expected.

    With counts="baseline" the n_S are given: `baseline`, the errors of another model (`costs.baseline_counts`).
    """

    counts: Counts = "expected"
    baseline: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_choice(*get_args(Counts), counts=self.counts)
        if (self.counts == "baseline") != (self.baseline is not None):
            raise BadInput(
                "counts=baseline and `baseline` belong together; give counts of errors, or a model's certificate, as "
                "baseline=1,0,2 or baseline=runs/svm/certificate.json."
            )
        if self.baseline is not None:
            n = np.asarray(self.baseline, float)
            if n.ndim != 1 or not np.isfinite(n).all() or (n < 0).any():
                raise BadInput(
                    f"The baseline is {self.baseline!r}; give one finite count from 0 on for each error class."
                )
            object.__setattr__(self, "baseline", tuple(n.tolist()))

    def expected(self, problem: Any) -> Floats:
        """n (m,), 0 for classes that no error can reach."""
        classes = self.classes(problem)
        n = COUNTS[self.counts](problem, classes) if self.baseline is None else np.array(self.baseline)
        if len(n) != len(classes.names):
            raise BadInput(f"There are {len(n)} counts for {len(classes.names)} error classes; give one for each.")
        return n * reachable(problem, classes)

    def relations(self) -> Row:
        """A count n_S of 1 stays 1 when samples double."""
        return super().relations() | (dict.fromkeys(("duplicate",)) if self.counts == "none" else {})

    def start(self, problem: Any) -> tuple[float, float]:
        """At v = 0 only (K/2) Σ n_S is left; v* ≤ 1, for beyond both terms grow."""
        return self.K / 2 * float(self.expected(problem).sum()), 1.0

    def costs(self, problem: Any) -> CountedCosts:
        return CountedCosts(float(self.K), self.expected(problem))

    def cost_program(self, problem: Any, v: Any) -> tuple[Any, list[Any]]:
        import cvxpy as cp

        n = self.expected(problem)
        unreachable = np.flatnonzero(n == 0)
        domain = [v >= 0] + ([v[unreachable] == 0] if len(unreachable) else [])
        return self.K / 2 * cp.sum(cp.multiply(n, cp.square(1 - v))), domain


NAMES = {"simplex-cost-learning": SimplexCostLearning, "normalized-cost-learning": NormalizedCostLearning}
