"""What holds at a node of a search tree: ends of its terms on a grid (docs/certificate-format.md §7)."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from workbench.proofs.checker.whole import Array


class Box(NamedTuple):
    """What holds at one node: ends of the terms (T,) and reaches (n,), whole numbers over the grid; and the terms that
    stand for the samples (n,). An infinite high end or reach is −1.
    """

    low: Array
    high: Array
    reach: Array
    active: Array

    def empty(self) -> bool:
        return bool(((self.low > self.high) & (self.high >= 0)).any())

    def on(self, branch: int, i: int, states: slice, low_cap: int, high_cap: int) -> Box:
        """The child on a branch of sample i, which has these states: one of them below its cap, or all above."""
        box = Box(*(part.copy() for part in self))
        state, out = divmod(branch, 2)
        if out:
            box.low[states] = np.maximum(box.low[states], low_cap)
        else:
            box.high[state] = min([high_cap, *(end for end in box.high[states].tolist() if end >= 0)])
        box.active[i] = state
        return box

    def least(self, i: int, mass: Fraction, cost: Fraction, cap: Fraction, states: int, grid: int) -> Fraction | float:
        """min over t ∈ {low, high} of min(t, κ_i) − Λ_i t/c_i, less Λ_i R_i; R_i = 0 where a state stands for i."""
        term = int(self.active[i])
        least, most = (Fraction(int(ends[term]), grid) for ends in (self.low, self.high))
        mean = term >= states
        unbounded = mean and self.reach[i] < 0
        if mass > 0 and (most < 0 or unbounded):
            return -float("inf")
        if unbounded:
            return Fraction(0)
        reach = Fraction(int(self.reach[i]), grid) if mean else Fraction(0)
        slope, first = mass / cost, max(least - cost * reach, Fraction(0))
        last = max(most - cost * reach, Fraction(0))
        end = cap if most < 0 else min(last, cap) - slope * last
        return min(min(first, cap) - slope * first, end) - mass * reach
