"""The share of time that the judge takes for itself: audits, the detective and clean runs, beside a learner's fits.

With `spent` the seconds of the learner's fits, further passes included, and S the limit of seconds of all its runs,

    allowed = min(max(spent, LEAST), S − spent)    on problems of n·p ≥ LARGE
    allowed = S − spent                            on smaller ones, which are audited in full

so the judge's own work at most doubles the learner's time, and a limit of seconds covers the audits. Where the learner
is accused already, the search for the cause may take SEARCH seconds: a verdict without its cause helps nobody.
Seconds are the processor's, so that a busy machine does not end an audit. Work asks `spend` between its steps;
`OutOfTime` ends the work, and the judge remarks what was left out.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from workbench.system.processes import OutOfTime

LARGE = 10_000_000  # samples times weights; audits of less take a few seconds
LEAST = 3.0  # seconds of audits after any fit
SEARCH = 120.0  # seconds of the search for the cause of an accusation


class Allowance:
    """Seconds of a clock from now on, by default of this process's processor; `skipped` names what did not fit."""

    def __init__(self, seconds: float = math.inf, clock: Callable[[], float] = time.process_time):
        self.clock, self.ends = clock, clock() + seconds
        self.skipped: list[str] = []

    @property
    def left(self) -> float:
        return max(self.ends - self.clock(), 0.0)

    def spend(self) -> None:
        """Raise `OutOfTime` if no seconds are left."""
        if self.left <= 0:
            raise OutOfTime


def allowed(spent: float, limit: float | None, size: float, least: float = LEAST) -> float:
    """Seconds for the judge's own work after fits of `spent` seconds on n·p = `size`, under a limit for both."""
    share = max(spent, least) if size >= LARGE else math.inf
    return share if limit is None else max(min(share, limit - spent), 0.0)


def skipping(names: list[str], seconds: float) -> str:
    """The remark on work that did not fit."""
    told = f"{', '.join(names)} did not fit into the {seconds:.2g} s that audits may take beside the fits"
    return f"Of the audits, {told}; more --seconds or passes leave more time."
