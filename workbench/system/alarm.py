"""Alarms for Python code that may not come back: `alarm` for one call, `time_limit` for a whole command."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

AGAIN = 3.0  # seconds after which the alarm goes off again, if Python dropped the first one


class Late(BaseException):
    """The alarm went off; no `except Exception` on the way catches it."""


class TimeIsUp(BaseException):
    """The time limit of the whole command came; alarms inside the command do not catch this."""


@contextmanager
def alarm(seconds: float, raised: type[BaseException] = Late) -> Iterator[None]:
    """Raise `raised` inside the block after `seconds`; without effect outside the main thread, and where there are no
    alarms. Native code is interrupted when it returns to Python. Alarms nest: an outer one still goes off at its time.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    began = time.monotonic()
    outer = signal.getitimer(signal.ITIMER_REAL)[0]
    before = signal.getsignal(signal.SIGALRM)

    def ring(number: int, frame: Any) -> None:
        if outer and time.monotonic() - began >= outer and callable(before):
            before(number, frame)
        raise raised

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, min(seconds, outer) if outer else seconds, AGAIN)
    try:
        with quiet_destructors():
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if outer:
            signal.setitimer(signal.ITIMER_REAL, max(outer - (time.monotonic() - began), 1e-6), AGAIN)


@contextmanager
def processor_alarm(seconds: float, raised: type[BaseException] = Late) -> Iterator[None]:
    """`alarm` by the seconds that this process's processor works; such alarms do not nest."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: Any) -> None:
        raise raised

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN)
    try:
        with quiet_destructors(raised):
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def quiet_destructors(*others: type[BaseException]) -> Iterator[None]:
    """Print nothing of an alarm that goes off inside a destructor, where Python can only drop the exception.

    others : what alarms raise besides `Late` and `TimeIsUp`
    """
    before = sys.unraisablehook

    def hook(dropped: Any) -> None:
        if not isinstance(dropped.exc_value, (Late, TimeIsUp, *others)):
            before(dropped)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise `TimeIsUp` inside the block after `seconds`; None sets no limit."""
    if seconds is None:
        yield
        return
    with alarm(seconds, TimeIsUp):
        yield
