"""Costs by difficulty with AdaGrad, as the source's author ran it: steps on (w, b), and a step of v once per pass.

    n times   (w, b) ← an AdaGrad step on F(w, b, v) at fixed v     (solvers/adagrad.py, last iterate)
    once      v ← step(D(w, b), v)                                  (objectives/difficulty.py)

F is the inner objective of the formulation kappa-difficulty; `budget` counts passes, each in a new random order.
The metric G stays when v moves, since the features stay. The learner returns (w, b, v) as one array (d + k + m,).
There is no joint objective. Two residuals judge this answer (judging/verdicts.py): F(w, b, v) less its certified
minimum over (w, b), and ‖v − step(D(w, b), v)‖ (docs/mathematics.md §5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.arithmetic.compiled import available
from workbench.errors import MissingCapability
from workbench.formulations.kappa_difficulty import KappaDifficulty
from workbench.solvers.adagrad import AdaGrad

CERTIFIED = ("non-generalisability-folds", "stability", "separability")  # measures that ask for certified solutions
NO_SOLUTIONS = (
    "adagrad-alternating has no certified solutions to offer; choose difficulty=kappa, perceptron or "
    "non-generalisability."
)


@dataclass(frozen=True)
class AdaGradAlternating:
    """AdaGrad on (w, b), and a step of the costs once per pass; `step` and `decay` are those of `adagrad`."""

    step: float = 0.3
    decay: float = 0.5

    def __post_init__(self) -> None:
        self.solver()

    def solver(self):
        """AdaGrad at these steps, which checks them."""
        return AdaGrad(average="last", step=self.step, decay=self.decay)

    def misfit(self, formulation, problem):
        """Why it does not fit the pair, or None."""
        if not isinstance(formulation, KappaDifficulty):
            name = type(formulation).__name__
            return f"adagrad-alternating sets costs by difficulty and {name} does not; use adagrad."
        if formulation.difficulty in CERTIFIED:
            return NO_SOLUTIONS
        return None

    def fit(self, problem, formulation, budget, rng):
        """`budget` passes from w = b = 0 and equal costs."""
        if sentence := self.misfit(formulation, problem):
            raise MissingCapability(sentence)
        return learned(self.solver(), problem, formulation, budget, rng)


def learned(solver, problem, formulation, budget, rng):
    """(w, b, v) as one array after `budget` passes."""
    random, v = np.random.default_rng(rng), formulation.start(problem)
    inner = formulation.surrogate(problem, v)
    state, prices = solver.init(inner, problem), inner.prices(problem).floats()
    kernel = inner.oracle(problem).kernel()
    fast = available() and bool(kernel.data)
    visit = solver.visitor(kernel, prices, state, fast)
    for _ in range(budget):
        visit(random.permutation(np.flatnonzero(prices)))
        v, _ = formulation.step(problem, state.theta, v, refuse)
        oracle = formulation.surrogate(problem, v).oracle(problem)
        if not oracle.recost(kernel):
            visit = solver.visitor(oracle.kernel(), prices, state, fast)
    return np.concatenate([state.theta, v])


def refuse(form):
    """In place of a solver, for measures that ask for certified solutions."""
    raise MissingCapability(NO_SOLUTIONS)


NAMES = {"adagrad-alternating": AdaGradAlternating}
