"""Threads of NumPy's and SciPy's products of matrices (BLAS): one while the judge computes, those of before in a fit.

Products as small as the judge's take as long in several threads as in one, and threads that wait for a core that other
work has are busy all the while: on a machine at work, judging took four times its CPU seconds. The number is one for a
process, so that products in other threads of a user's process have one thread for so long, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from threadpoolctl import ThreadpoolController

_BEFORE: ContextVar[int | None] = ContextVar("threads before `one_thread`", default=None)


@cache
def libraries() -> ThreadpoolController:
    """The BLAS libraries of this process."""
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_thread() -> Iterator[None]:
    """Products in one thread until the block ends."""
    threads = max((each["num_threads"] for each in libraries().info()), default=1)
    token = _BEFORE.set(threads)
    try:
        with libraries().limit(limits=1):
            yield
    finally:
        _BEFORE.reset(token)


@contextmanager
def threads_of_before() -> Iterator[None]:
    """Within `one_thread`, products in as many threads as before; elsewhere nothing."""
    threads = _BEFORE.get()
    if threads is None:
        yield
        return
    with libraries().limit(limits=threads):
        yield
