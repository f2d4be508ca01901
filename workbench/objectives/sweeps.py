"""Sweeps of a compiled oracle over many samples, in threads.

A sweep asks for the highest cut of each sample at one θ. Samples do not depend on one another, so the witnesses are
the same, to the last bit, for any number of threads: thread k of N answers for the k-th of N runs of samples. The
oracle is the kernel that stochastic methods call (contracts/oracles.py). Each thread has a kernel of its own, because
a search may write to the arrays in its data. A sweep shorter than EVEN seconds stays in one thread.

Where every output is one label, the oracle's own sweep is one product of matrices, and faster than such kernels. Each
thread makes this product for its samples, and bounds enclose their cuts in the same threads (`spread`); where there are
few entries, all of this stays in one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from workbench.arithmetic.compiled import available, compiled_function, compiled_kernel
from workbench.contracts import Asking, Floats, Ints, Kernel, Listed, Listing, Oracle, Problem
from workbench.system.threads import Threads

EVEN = 1e-3  # seconds: handing a share of a sweep to a thread takes some 0.1 ms
TIMED = 64  # samples of which the first sweep learns how long it takes
WORK = 2_000_000  # entries of the inputs times labels, from which products of matrices are shared

T = TypeVar("T")


class Sweeps:
    """The oracle's compiled kernel in `threads` threads; `argmax` answers as `Oracle.argmax` does.

    listing : of an oracle of labels, whose own `argmax` and `rows` then answer for each thread's samples
    hands : the threads;  shared : whether several of them may call the oracle's own functions at a time
    """

    def __init__(self, oracle: Oracle, threads: int, listing: Listing | None = None, shared: bool = False):
        self.oracle, self.width, self.threads, self.seconds = oracle, oracle.width, threads, 0.0
        self.listing, self.hands, self.shared = listing, Threads(threads), shared
        self.kernels: list[Kernel] = []
        if listing is not None:
            return
        self.kernels = [compiled_kernel(oracle.kernel()) for _ in range(threads)]
        argmax, data = self.kernels[0].argmax_into, self.kernels[0].data
        example = argmax, data, np.zeros(1), np.zeros(1, np.int64), np.zeros((1, 1), np.int64)
        self.ask = compiled_function(highest, example, "int64")

    def argmax(self, theta: Floats, samples: Ints) -> Ints:
        """Witnesses (m, width)."""
        if self.listing is not None:
            return np.concatenate(self.spread(lambda some: self.oracle.argmax(theta, some), samples))
        if not self.seconds and len(samples) > TIMED:
            return np.concatenate([self.argmax(theta, some) for some in (samples[:TIMED], samples[TIMED:])])
        began, found = time.perf_counter(), np.empty((len(samples), self.width), np.int64)
        theta, samples = np.array(theta, float), np.array(samples, np.int64)  # compiled code wants contiguous ones
        count = self.threads if self.seconds * len(samples) >= EVEN else 1
        parts = list(zip(self.kernels, np.array_split(samples, count), np.array_split(found, count), strict=False))
        self.hands.share([partial(self.answer, theta, *part) for part in parts])
        self.seconds = (time.perf_counter() - began) * count / max(len(samples), 1)  # of a sample, about
        return found

    def spread(self, function: Callable[..., T], *arrays: Any) -> list[T]:
        """`function` of runs of these arrays, in threads if they may, in the order of the runs."""
        return self.hands.spread(function, *arrays) if self.shared else [function(*arrays)]

    def answer(self, theta: Floats, kernel: Kernel, samples: Ints, found: Ints) -> None:
        self.ask(kernel.argmax_into, kernel.data, theta, samples, found)

    def end(self) -> None:
        self.hands.end()


def highest(argmax_into: Any, data: Any, theta: Floats, samples: Ints, found: Ints) -> int:
    """Witnesses of `samples` at θ into the rows of `found`; how many."""
    for row in range(len(samples)):
        found[row, :] = -1
        argmax_into(data, theta, samples[row], found[row])
    return len(samples)


def unfit(oracle: Oracle, listing: Listing | None) -> str:
    """Why the oracle, whose outputs `listing` may list, cannot be asked in threads; an empty text if it can."""
    if not available():
        return "one thread, because numba is not installed"
    if listing is not None:
        few = len(listing.indices) * listing.scale.shape[1] < WORK
        return "one thread, because every output is one label and a sweep one product of matrices" if few else ""
    if not oracle.kernel().data:
        return "one thread, because the oracle is no compiled code; --parallel local:N takes processes"
    return ""


def concurrent(oracle: Oracle, problem: Problem) -> bool:
    """Whether several threads may ask this oracle for its cuts at a time, and the problem that it asks."""
    return vouched(oracle) and vouched(oracle.problem if isinstance(oracle, Asking) else problem)


def vouched(told: object) -> bool:
    """Whether several threads may call its functions at a time: its class says so (`Concurrent`), and has no others."""
    own = getattr(told, "__dict__", {})
    said = vars(type(told)).get("concurrent"), own.get("concurrent", True)
    return said == (True, True) and not any(map(callable, own.values()))


def listing_of(oracle: Oracle) -> Listing | None:
    """All cuts as tables, if every output is one label."""
    return oracle.listing() if isinstance(oracle, Listed) else None
