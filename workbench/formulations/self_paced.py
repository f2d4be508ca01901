"""Self-paced selection (Kumar, Packer & Koller 2010; docs/mathematics.md §6): weights, and the samples to learn from.

    min over w, v ∈ {0, 1}ⁿ   ½‖w‖² + (C/n) Σ_i v_i ξ_i(w) + (1/K) Σ_i (1 − v_i)

ξ_i(w) = max_y ℓ_i(y) − ⟨w, ψ_i(y)⟩. The source has −(1/K) Σ v_i in the last place; the constant n/K between them makes
the objective non-negative, so that relative gaps mean something. For given w it is best to keep a sample
whose slack costs less than leaving it out, v_i = 1[(C/n) ξ_i < 1/K], which leaves

    min over w   F(w) = ½‖w‖² + Σ_i min(c_i ξ_i(w), κ_i),          c_i = C s_i/Σs,   κ_i = s_i/K,

s_i the sample weights, 1 unless given. F is not convex. It is solved exactly, by branch and bound
(solving/branch_and_bound.py). Declared, with M_i above every c_i ξ_i(w) that matters, as

    min ½‖w‖² + Σ_i t_i + κ_i (1 − v_i)    s.t.  t_i ≥ c_i (ℓ_i(y) − ⟨w, ψ_i(y)⟩) − M_i (1 − v_i),  t ≥ 0,  v ∈ {0, 1}ⁿ,

M_i = c_i (max ℓ_i + ρ max ‖ψ_i‖) and ρ = √(2F(0)), since ½‖w*‖² ≤ F(0).

*Dual.* F has none without a gap. Within a box low_i ≤ c_i ξ_i(w) ≤ high_i, a node of the search tree
(proofs/capped.py), any weights α_i(y) ≥ 0 bound F from below by

    Σ_i g_i(Σ_y α_i(y)) + Σ_i Σ_y α_i(y) ℓ_i(y) − ½‖Σ_i Σ_y α_i(y) ψ_i(y)‖²
    g_i(Λ) = min over t ∈ {low_i, high_i} of min(t, κ_i) − Λt/c_i

and the least such bound among the leaves of the tree is a bound for all w.

Where samples hide a state h (`Latent`), ξ_i is that of `latent-ssvm`, ξ_i(w) = min over h of the convex hinge at h, and
F is minimised over states and selections jointly, the source's equation (2) for the slack. The search chooses states
as it chooses samples. Declared, the program is `LatentSSVM.mixed_program` with the charges κ_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from workbench.contracts import MEANS, Blocks, Change, Enumerable, Floats, Ints, ListedPerhaps, Prices, Problem, Row
from workbench.errors import BadInput, MissingCapability
from workbench.formulations.latent_ssvm import LatentSSVM
from workbench.objectives.oracles import HiddenMargin, MarginRescaling, hides
from workbench.objectives.regularizers import SquaredNorm


@dataclass(frozen=True)
class SelfPaced:
    """Soft margins on selected samples, hidden states at their best: slack costs `C` = C > 0, leaving a sample out
    1/`K`, K > 0.
    """

    C: float = 10.0
    K: float = 1.0

    def __post_init__(self) -> None:
        for name, value in {"C": self.C, "K": self.K}.items():
            if not isinstance(value, Real) or isinstance(value, bool) or not 1e-100 <= value <= 1e100:
                raise BadInput(f"{name} is {value!r}; it must be positive, from 1e-100 to 1e100, e.g. {name}=1.")

    def blocks(self, problem: Any) -> Blocks:
        return Blocks(w=(problem.n_features,))

    def regularizer(self, problem: Any) -> SquaredNorm:
        return SquaredNorm(1.0)

    def prices(self, problem: Any) -> Prices:
        return Prices.of_mean(problem.weights)

    def relations(self) -> Row:
        """There is no λ, so scales go into C and K; 1/K is paid for each sample, and halves when samples double."""
        row = MEANS | {"duplicate": Change({"K": 1.0}), "features": Change({"C": -2.0, "K": 2.0}, -2.0, -1.0)}
        return row | {"loss": Change({"C": 1.0, "K": -2.0}, 2.0, 1.0)}

    def oracle(self, problem: Problem) -> MarginRescaling:
        if not isinstance(problem, Enumerable):
            name = type(problem).__name__
            raise MissingCapability(f"self-paced needs all outputs listed and {name} has no `outputs`; add it.")
        if isinstance(problem, ListedPerhaps):
            problem.listed()
        return HiddenMargin(problem) if hides(problem) else MarginRescaling(problem)

    def charges(self, problem: Any) -> tuple[list[Fraction], list[Fraction]]:
        shares = [Fraction(each) for each in problem.weights.tolist()]
        total = self.prices(problem).rational_total
        return [Fraction(self.C) * each / total for each in shares], [each / Fraction(self.K) for each in shares]

    def every(self, problem: Any, samples: Ints) -> tuple[Ints, Ints]:
        oracle = self.oracle(problem)
        if isinstance(oracle, HiddenMargin):
            return oracle.every(samples)
        outputs = [problem.outputs(i) for i in samples.tolist()]
        return np.repeat(samples, [len(each) for each in outputs]), np.concatenate(outputs)

    def mixed_program(self, problem: Any) -> tuple[Any, Any, Any]:
        import cvxpy as cp

        if hides(problem):
            mixed = LatentSSVM(self.C).mixed_program(problem, self.K)
            return (
                mixed.program,
                mixed.w,
                (mixed.samples == np.arange(problem.n_samples)[:, None]).astype(float) @ mixed.u,
            )
        c, kappa = (np.array(list(map(float, each))) for each in self.charges(problem))
        samples, outputs = self.every(problem, np.arange(problem.n_samples))
        slopes, offsets = self.oracle(problem).rows(samples, outputs)
        most = greatest_terms(c, kappa, samples, slopes, offsets)
        w, t, v = cp.Variable(problem.n_features), cp.Variable(len(c)), cp.Variable(len(c), boolean=True)
        hinges = cp.multiply(c[samples], slopes @ w + offsets) - cp.multiply(most[samples], 1 - v[samples])
        objective = cp.Minimize(cp.sum_squares(w) / 2 + cp.sum(t) + kappa @ (1 - v))
        return cp.Problem(objective, [t >= 0, t[samples] >= hinges]), w, v


def greatest_terms(c: Floats, kappa: Floats, samples: Ints, slopes: Any, offsets: Floats) -> Floats:
    """M (n,), from all cuts, sample by sample."""
    starts = np.flatnonzero(np.diff(samples, prepend=-1))
    rho = np.sqrt(2 * np.minimum(c * np.maximum.reduceat(offsets, starts), kappa).sum())
    norms = np.sqrt(slopes.multiply(slopes).sum(axis=1))
    return c * np.maximum.reduceat(offsets + rho * norms, starts)


NAMES = {"self-paced": SelfPaced}
