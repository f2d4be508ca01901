"""An alarm for Python code that may not come back."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Late(BaseException):
    """The alarm went off; no `except Exception` on the way catches it."""


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise `Late` inside the block after `seconds`; without effect outside the main thread, and where there are no
    alarms. Native code is interrupted when it returns to Python.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_: Any) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
