"""Threads of this process that share calls of compiled loops and of NumPy's, which let go of Python's lock.

A call goes to the thread that is free next, and what calls return stands in the order of the calls. So no result
depends on a thread's speed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
One = TypeVar("One")
Other = TypeVar("Other")

FINE = 8  # runs a thread, where some threads come later than others
RUNS: ContextVar[int] = ContextVar("RUNS", default=0)  # that `spread` makes; 0 for one a thread


class Threads:
    """This thread and `count` − 1 others.

    pool : the others
    """

    def __init__(self, count: int):
        self.count, self.pool = count, ThreadPoolExecutor(max(count - 1, 1))

    def share(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        """What these calls return. An error of one is raised when no thread is in any of them."""
        left = iter(range(len(calls)))
        found: dict[int, T] = {}

        def work() -> None:
            try:
                for at in left:  # Python's lock gives each number to one thread
                    found[at] = calls[at]()
            finally:
                for _ in left:  # after an error no further call is made
                    pass

        others = min(self.count, len(calls)) - 1
        started = [self.pool.submit(copy_context().run, work) for _ in range(others)]  # NumPy's error state, too
        try:
            work()
        finally:
            begun = [each for each in started if not each.cancel()]
            wait(begun)
        for each in begun:
            each.result()
        return [found[at] for at in range(len(calls))]

    def spread(self, function: Callable[..., T], *arrays: Any) -> list[T]:
        """`function` of each run of these arrays, in the order of the runs, none of which is empty but a first."""
        return self.share(calls_of(function, max(1, min(RUNS.get() or self.count, len(arrays[0]))), *arrays))

    def together(self, one: Callable[[], One], other: Callable[[], Other]) -> tuple[One, Other]:
        """What two functions return, which work side by side.

        `other` has half of the threads for its own runs, and `one` these, too, as soon as they are through with it.
        """
        half = max(1, self.count // 2)
        apart = copy_context()
        apart.run(RUNS.set, half)
        started = self.pool.submit(apart.run, other)
        token = RUNS.set(FINE * half)
        try:
            found = one()
        finally:
            RUNS.reset(token)
            wait([started])
        return found, started.result()

    def end(self) -> None:
        """Let the others go."""
        self.pool.shutdown()


def calls_of(function: Callable[..., T], count: int, *arrays: Any) -> list[Callable[[], T]]:
    """A call of `function` for each of so many runs of these arrays, which are about as long."""
    return [partial(function, *run) for run in zip(*(np.array_split(each, count) for each in arrays), strict=True)]
