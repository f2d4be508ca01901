"""Threads of NumPy's and SciPy's products of matrices (BLAS): one while the judge computes, those of before in a fit.

Products as small as the judge's take as long in several threads as in one, and threads that wait for a core that other
work has are busy all the while: on a machine at work, judging took four times its CPU seconds. The number is one for a
process, so that products in other threads of a user's process have one thread for so long, too. A judge that does not
run in the main thread leaves the number as it is: there OpenBLAS does not take another one, and judges in several
threads would undo each other's.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from threadpoolctl import LibController, ThreadpoolController

_BEFORE: ContextVar[Sequence[int] | None] = ContextVar("threads before `one_thread`", default=None)


@cache
def libraries() -> list[LibController]:
    """The BLAS libraries of this process."""
    return ThreadpoolController().select(user_api="blas").lib_controllers


def found() -> list[int]:
    """Each library's threads."""
    return [int(each.num_threads or 1) for each in libraries()]


@contextmanager
def threads(numbers: Sequence[int]) -> Iterator[None]:
    """Products of each library in so many threads until the block ends."""
    before = found()
    try:
        for library, number in zip(libraries(), numbers, strict=True):
            library.set_num_threads(number)
        yield
    finally:
        for library, number in zip(libraries(), before, strict=True):
            library.set_num_threads(number)


@contextmanager
def one_thread() -> Iterator[None]:
    """Products in one thread until the block ends, in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    token = _BEFORE.set(found())
    try:
        with threads([1] * len(libraries())):
            yield
    finally:
        _BEFORE.reset(token)


@contextmanager
def threads_of_before() -> Iterator[None]:
    """Within `one_thread`, products in as many threads as before; elsewhere nothing."""
    before = _BEFORE.get()
    if before is None:
        yield
        return
    with threads(before):
        yield
