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
from workbench.solving.recording import Checkpoints
from workbench.system.journal import Entry, Journal


class Passes:
    """Passes of `dual-block` until its certified gap is reached or stands still.

    The gap stands still when it has not halved while the passes grew by half.
    """

    PATIENT = 60  # passes before the gap may count as standing still

    def __init__(self, family: Family, gap: float, journal: Journal | None = None):
        self.family, self.gap, self.solver = family, gap, DualBlock()
        self.checkpoints = Checkpoints(journal, "passes")
        self.gaps: list[tuple[int, float]] = []  # the gap after so many passes
        self.before = (0.0, 0.0)  # seconds and CPU seconds of earlier sessions
        bounds = family.bounds
        kernel, prices = bounds.oracle.kernel(), bounds.prices.floats()
        compiled = available() and bool(kernel.data)
        self.state = self.solver.init(bounds.formulation, bounds.problem)
        if self.checkpoints.last:
            self.restore(self.checkpoints.last, compiled)
        self.visit = self.solver.visitor(kernel, prices, self.state, compiled)

    def run(self, time_limit: float | None) -> tuple[list[Ints], tuple[Floats, Floats], float | None]:
        """Rows as the family's handles, (their multipliers, θ), and the seconds that are left."""
        clock, rng, upper, lower = Clock(time_limit), np.random.default_rng(self.state.passes), np.inf, -np.inf
        while True:
            look = 1 if not self.gaps else 1 + self.gaps[-1][0] * 6 // 5
            with clock.ends_with_memory():
                while self.state.passes < look and clock.left > 0 and not self.ended:
                    self.visit(rng.permutation(self.family.samples))
                    if self.checkpoints.due:
                        self.checkpoint(clock)
            theta, ids, weights = self.handed()
            if self.ended:
                break
            upper = min(upper, self.family.bounds.upper(theta))
            lower = max(lower, self.family.bounds.lower(self.family.cuts, weights))
            self.gaps.append((self.state.passes, self.family.gap(upper, lower)))
            if self.ended or clock.left <= 0:
                break
        self.checkpoint(clock)
        left = None if time_limit is None else max(clock.left, 1e-3)
        return list(ids[:, None]), (weights[ids], theta), left

    def checkpoint(self, clock: Clock) -> None:
        """Keep the weighted cuts, and the gaps so far."""
        samples, witnesses, weights = self.solver.duals(self.state)
        seconds = [before + now for before, now in zip(self.before, clock.spent, strict=True)]
        numbers = {"passes": self.state.passes, "gaps": self.gaps, "seconds": seconds}
        self.checkpoints.keep(numbers, weights=weights, **self.family.packed(samples, witnesses))

    def restore(self, last: Entry, compiled: bool) -> None:
        """Go on from a checkpoint: its weights, and the cuts rebuilt from the data."""
        arrays, bounds = last.arrays(), self.family.bounds
        held = *self.family.unpacked(arrays), arrays["weights"]
        self.state = self.solver.start(bounds.formulation, bounds.problem, *held, compiled=compiled)
        self.state.passes, seconds = last.numbers["passes"], last.numbers["seconds"]
        self.gaps, self.before = [(int(k), gap) for k, gap in last.numbers["gaps"]], (seconds[0], seconds[1])

    def handed(self) -> tuple[Floats, Ints, Floats]:
        """θ, the atoms with weight, and the weights of all atoms of the family."""
        samples, witnesses, weights = self.solver.duals(self.state)
        ids = self.family.cuts.add(samples, witnesses, self.family.bounds.oracle.rows)
        return self.solver.report(self.state), ids, summed(ids, weights, len(self.family.cuts))

    @property
    def ended(self) -> bool:
        """Whether the gap is reached or stands still; see the class's docstring."""
        if not self.gaps:
            return False
        passes, last = self.gaps[-1]
        earlier = [gap for before, gap in self.gaps if 3 * before <= 2 * passes]
        stands = passes > self.PATIENT and bool(earlier) and last > 0.5 * earlier[-1]
        return last <= self.gap or stands
