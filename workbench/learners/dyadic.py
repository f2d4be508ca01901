"""The dyadic learner of Mineiro (2011) as a learner of `nuclear-dyadic`: importance-aware updates of bilinear scores.

A visit follows the exact flow of one pair's loss, and shrinks by e^{−λη}: both flows together follow F
(workbench/dyads/dyadic.py). Several classes are learned one against all, whose objective F is. `reduction=tree` learns
a scoring filter tree, which minimises another objective: `nuclear-dyadic` has no bound for it, and the pair is refused;
`cutbench bench tree-regret` measures the tree's regret against that of its nodes.

The step at visit t of n pairs is step/(1 + t/n)^power, importances have mean 1. F is not convex in (A, B, W): the
learner may end at a stationary point above the proven interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from workbench.contracts import Factored, Floats
from workbench.dyads.dyadic import Dyadic
from workbench.errors import MissingCapability


class DyadicLearner:
    """The bilinear learner with `step`, `power`, `spread` of the first perturbation, and `reduction`."""

    def __init__(self, step: float = 0.3, power: float = 0.75, spread: float = 0.5, reduction: str = "one-against-all"):
        self.step, self.power, self.spread, self.reduction = step, power, spread, reduction
        Dyadic(1, step=step, power=power, spread=spread, reduction=reduction)  # type: ignore[arg-type] # checks them

    def misfit(self, formulation: Any, problem: Any) -> str | None:
        """Why it does not fit the pair, or None."""
        if not isinstance(formulation, Factored):
            return f"dyadic learns bilinear scores of pairs and {type(formulation).__name__} has none; use another."
        if self.reduction == "tree" and len(problem.classes) > 2:
            return "a filter tree minimises no sum over classes, which nuclear-dyadic is; leave reduction out."
        return None

    def fit(self, problem: Any, formulation: Any, budget: int, rng: Any) -> Iterator[tuple[int, Floats]]:
        """Checkpoints (passes, θ)."""
        if sentence := self.misfit(formulation, problem):
            raise MissingCapability(sentence)
        view, random = formulation.oracle(problem), np.random.default_rng(rng)
        learner = self.of(formulation, int(random.integers(1 << 31)))
        for passes, factors in enumerate(learner.epochs(view.pairs, budget), 1):
            yield passes, view.joined(factors)

    def of(self, formulation: Any, seed: int = 0) -> Dyadic:
        """The learner of this library with the settings of both."""
        settings = {"step": self.step, "power": self.power, "spread": self.spread, "reduction": self.reduction}
        return Dyadic(formulation.dimensions, formulation.loss, lam=formulation.lam, seed=seed, **settings)

    def flow(self, problem: Any, formulation: Any, theta: Floats, i: int, importance: float) -> Floats:
        """θ after one visit of pair i at step 1, without shrinkage: what the audit compares with the equation."""
        view = formulation.oracle(problem)
        return view.joined(self.of(formulation).flowed(view.pairs, view.factors(theta), i, importance))


NAMES = {"dyadic": DyadicLearner}
