"""How many lanes visit the samples of single labels, and how many threads see to them (crammer_singer.py).

N threads that share each visit, a group of visits at a time, take a part of its time off and add the time of their
meetings:

    saved = visits · ((1 − 1/N) · visit − SHARED − MEETINGS/group · meeting)

The time of a visit is assumed from the data. Lanes are made where two cores would save SAVED seconds of a sweep over
all samples. How long a meeting takes is timed: cores may be far apart, or busy with something else. Where threads
would save less, one thread sees to all lanes, to the same bits.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from workbench.arithmetic.lines import LINE
from workbench.contracts import Ints, Listing
from workbench.solving.block_ascent.crammer_singer_tables import GROUP, Lane

Loop = Callable[..., float]
Beside = Callable[[int, Callable[[int], tuple[Loop]]], float]

VISIT, LABEL = 0.1e-6, 8e-9  # seconds of a visit, and for each label
NEARBY, DISTANT = 2e-9, 5e-9  # and for each line of W that a visit reads, in a near cache or not
CACHE = 500_000  # bytes of W, up to which a near cache holds them
SHARED = 0.04e-6  # seconds by which a visit that is shared takes longer, its meetings apart
MEETINGS = 1.0  # for which a lane waits in each group of visits: half of two, since it works before it waits
USUAL = 0.2e-6  # seconds of a meeting of two cores
SAVED = 0.5e-3  # of a sweep, from which threads are worth their calls, which take 0.1 ms each
FEW, MANY = 8, 128  # meetings that are timed: the few twice, and many if these took less than SLOW seconds
SLOW = 5e-6


def saving(listing: Listing, visits: int, count: int, group: int, meeting: float) -> float:
    """Seconds that so many threads save of so many visits, a group at a time, if a meeting of theirs takes so long."""
    labels = listing.scale.shape[1]
    width = -(-labels // LINE)
    read = NEARBY if 8 * LINE * width * listing.inputs < CACHE else DISTANT
    visit = VISIT + LABEL * labels + read * width * len(listing.indices) / len(listing.kind)
    return visits * (visit * (1 - 1 / count) - SHARED - MEETINGS / group * meeting)


def lanes_for(listing: Listing, visits: int, threads: int) -> int:
    """One lane a thread, or one, for so many visits of a sweep."""
    worth = (
        min(listing.inputs, len(listing.indices)) >= threads and saving(listing, visits, threads, GROUP, USUAL) > SAVED
    )
    return threads if worth else 1


def crew_of(lanes: int, listing: Listing, visits: int, group: int, beside: Beside, meetings: Loop) -> int:
    """How many threads see to so many lanes now: one to each, or one to all; arguments as of the other functions."""
    worth = lanes > 1 and saving(listing, visits, lanes, group, meeting(beside, meetings, lanes)) > SAVED
    return lanes if worth else 1


def meeting(beside: Beside, meetings: Loop, count: int) -> float:
    """Seconds of a meeting of so many threads, each of which `beside` has call a function with what meetings take."""
    took = np.zeros(1)

    def timed(exchange: Loop, gate: Ints, k: int, number: int, lane: Lane) -> float:
        if k > 0:  # meets until the first thread leaves, and does not ask for Python's lock in between
            return meetings(1 + 2 * FEW + MANY, exchange, gate, k, number, lane)
        found = meetings(1, exchange, gate, k, number, lane)  # no thread is only about to start
        number += 1
        for some in (FEW, FEW, MANY):  # once more, since a core may have been taken away for a moment
            began = time.perf_counter()
            found = meetings(some, exchange, gate, k, number, lane)
            now, before = (time.perf_counter() - began) / some, took[0]
            took[0], number = now, number + some
            if min(now, before) > SLOW:
                break
        return found

    beside(count, lambda k: (timed,))
    return float(took[0])
