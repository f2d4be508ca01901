"""Passes of the learner `dual-block` before the rounds of cut generation.

The learner asks the oracle sample by sample and finds rows on the way (solvers/dual_block.py); the first master of cut
generation inherits these rows with their weights.
"""

from __future__ import annotations

import numpy as np

from workbench.arithmetic.arrays import summed
from workbench.arithmetic.compiled import available
from workbench.contracts import Floats, Ints
from workbench.solvers.dual_block import DualBlock
from workbench.solving.family import Family
from workbench.solving.progress import Clock


class Passes:
    """Passes of `dual-block` until its certified gap is reached or stands still.

    The gap stands still when it has not halved while the passes grew by half.
    """

    PATIENT = 60  # passes before the gap may count as standing still

    def __init__(self, family: Family, gap: float):
        self.family, self.gap, self.solver = family, gap, DualBlock()
        bounds = family.bounds
        self.state = self.solver.init(bounds.formulation, bounds.problem)
        kernel, prices = bounds.oracle.kernel(), bounds.prices.floats()
        self.visit = self.solver.visitor(kernel, prices, self.state, available() and bool(kernel.data))

    def run(self, time_limit: float | None) -> tuple[list[Ints], tuple[Floats, Floats], float | None]:
        """Rows as the family's handles, (their multipliers, θ), and the seconds that are left."""
        clock, rng, look, upper, lower = Clock(time_limit), np.random.default_rng(0), 1, np.inf, -np.inf
        gaps: list[tuple[int, float]] = []
        while True:
            while self.state.passes < look and clock.left > 0:
                self.visit(rng.permutation(self.family.samples))
            theta, ids, weights = self.handed()
            upper = min(upper, self.family.bounds.upper(theta))
            lower = max(lower, self.family.bounds.lower(self.family.cuts, weights))
            gaps.append((self.state.passes, self.family.gap(upper, lower)))
            if gaps[-1][1] <= self.gap or self.stands(gaps) or clock.left <= 0:
                break
            look = 1 + look * 6 // 5
        left = None if time_limit is None else max(clock.left, 1e-3)
        return list(ids[:, None]), (weights[ids], theta), left

    def handed(self) -> tuple[Floats, Ints, Floats]:
        """θ, the atoms with weight, and the weights of all atoms of the family."""
        samples, witnesses, weights = self.solver.duals(self.state)
        ids = self.family.cuts.add(samples, witnesses, self.family.bounds.oracle.rows)
        return self.solver.report(self.state), ids, summed(ids, weights, len(self.family.cuts))

    def stands(self, gaps: list[tuple[int, float]]) -> bool:
        """Whether the gap stands still; see the class's docstring."""
        passes, last = gaps[-1]
        earlier = [gap for before, gap in gaps if 3 * before <= 2 * passes]
        return passes > self.PATIENT and bool(earlier) and last > 0.5 * earlier[-1]
