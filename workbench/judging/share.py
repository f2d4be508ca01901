"""A share: the time that the judge takes for itself, beside a learner's fits: audits, the detective, clean runs.

With `fits` the seconds of the learner's fits, `spent` those of the judging so far, which include the fits, grading and
further passes, and S the limit of seconds of all its runs,

    allowed = min(fits, MOST) − (spent − fits), at least LEAST    on problems of n·p ≥ LARGE
    allowed = S − spent, if that is less                          there, and on smaller ones, which are audited in full

so on large problems the judge's own work takes at most as long as the fits, and MOST seconds: the user waits
for the learners rather than for the judge. There further passes (judging/patience.py) are made for a learner that its
history accuses, or if a patience is asked for; `audit=True` asks for full audits. Where the learner is accused already,
the search for the cause may take SEARCH seconds: a verdict without its cause helps nobody.

Seconds are the processor's, so that a busy machine does not end an audit. Work asks `spend` between its steps, and
`held` ends steps that are long themselves; `OutOfTime` ends the work, and the judge remarks what was left out.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from workbench.system.alarm import alarm, processor_alarm
from workbench.system.processes import OutOfTime

LARGE = 10_000_000  # samples times weights; audits of less take a few seconds
LEAST, MOST = 0.3, 2.0  # seconds of audits after any fit
SEARCH = 120.0  # seconds of the search for the cause of an accusation
OPEN_SEARCH = 15.0  # seconds of the search for another objective where nobody is accused yet


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

    @contextmanager
    def held(self) -> Iterator[None]:
        """Raise `OutOfTime` in the block when the seconds are spent, be it in the middle of a step of ours."""
        self.spend()
        alarms = {time.process_time: processor_alarm, time.perf_counter: alarm}
        if self.left == math.inf or self.clock not in alarms:
            yield
            return
        try:
            with alarms[self.clock](self.left, Spent):
                yield
        except Spent:
            raise OutOfTime from None
        except Exception:
            if self.left > 0:
                raise
            raise OutOfTime from None  # native code may turn what is raised into an error of its own


class Spent(BaseException):
    """The seconds of an allowance are spent; no `except Exception` on the way catches this."""


def allowed(fits: float, spent: float, limit: float | None, size: float, least: float = LEAST) -> float:
    """Seconds for the judge's own work on n·p = `size`, after fits of `fits` of the `spent` seconds, under a limit."""
    share = max(min(fits, MOST) - (spent - fits), least) if size >= LARGE else math.inf
    return share if limit is None else max(min(share, limit - spent), 0.0)


def skipping(names: list[str], seconds: float) -> str:
    """The remark on work that did not fit."""
    told = f"{', '.join(names)} were left out, since audits may take {seconds:.2g} s, no longer than the fits"
    return f"Of the audits, {told}; --audit makes them all."
