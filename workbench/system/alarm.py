"""Alarms for Python code that may not come back: `alarm` for one call, `time_limit` for a whole command.

Alarms nest. One list holds those that are set, outermost first, and the one timer of the process waits for the next
of them. A ring raises in the block of the outermost alarm that is due, again every AGAIN seconds until that block has
ended, for code on the way may swallow what is raised. Python drops what is raised inside a destructor, and says so:
such an alarm rings again at once. A ring that comes while an alarm is being set or taken away, or while another ring
is about to raise, waits, and whoever sets or takes away an alarm raises for one that is due: no alarm is lost and
none is left behind.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Any

from workbench.errors import BackendFailed, CutbenchError

AGAIN = 1.5  # seconds after which the alarm goes off again: long enough for the block to end, if it is ending
SOON = 1e-3  # seconds after which a ring that has to wait comes again
LONGEST = 1e6  # seconds for which a timer is set at once; systems refuse numbers beyond their clocks


class Late(BaseException):
    """The alarm went off; no `except Exception` on the way catches it."""


class TimeIsUp(BaseException):
    """The time limit of the whole command came; alarms inside the command do not catch this."""


class alarm:  # noqa: N801  (used as a function is: `with alarm(3.0):`)
    """Raise `raised` inside the block after `seconds`; without effect outside the main thread, and where there are no
    alarms. Native code is interrupted when it returns to Python. Alarms nest: an outer one still goes off at its time.

    rang : whether the alarm has gone off. Native code may turn what is raised into an error of its own, so an error
    that leaves the block afterwards may be another one.
    """

    def __init__(self, seconds: float, raised: type[BaseException] = Late):
        self.seconds, self.raised, self.due, self.rang = seconds, raised, 0.0, False

    def __enter__(self) -> None:
        if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
            if not SET:
                outside.take()
            raise_due()
            self.due = time.monotonic() + self.seconds
            SET.append(self)
            wait()

    def __exit__(self, *error: object) -> None:
        if self in SET:
            del SET[SET.index(self) :]
            wait() if SET else outside.give_back()
            raise_due()


class interruption:  # noqa: N801  (used as `alarm` is)
    """An error that leaves the block after Ctrl-C, or a signal that counts as such, is `KeyboardInterrupt`: native code
    may turn what is raised into an error of its own. A sentence of ours stays. Such blocks nest.
    """

    def __enter__(self) -> interruption:
        self.came, self.before = False, dict[int, Any]()
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                handler = signal.getsignal(number)
                outer = getattr(handler, "__func__", None) is interruption.heard
                if outer or handler is signal.default_int_handler:
                    self.before[number] = handler
                    signal.signal(number, self.heard)
        return self

    def heard(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        raise KeyboardInterrupt

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
        if self.came and isinstance(error, Exception | TimeIsUp) and not tells(error):
            raise KeyboardInterrupt from None


def tells(error: BaseException) -> bool:
    """Whether an error is a sentence of ours; a backend may fail because it was interrupted."""
    return isinstance(error, CutbenchError) and not isinstance(error, BackendFailed)


class Outside:
    """What the process did with the signal and with the errors of destructors before the first alarm was set."""

    due: float | None = None

    def take(self) -> None:
        seconds, self.every = signal.getitimer(signal.ITIMER_REAL)
        self.due = time.monotonic() + seconds if seconds else None
        self.handler, self.hook = signal.signal(signal.SIGALRM, ring), sys.unraisablehook
        sys.unraisablehook = quiet

    def give_back(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.handler)
        sys.unraisablehook = self.hook
        if self.due is not None:
            signal.setitimer(signal.ITIMER_REAL, max(self.due - time.monotonic(), 1e-6), self.every)
            self.due = None

    def ring(self, frame: FrameType | None) -> None:
        """What the timer of the others would have done now."""
        self.due = time.monotonic() + self.every if self.every else None
        if callable(self.handler):
            self.handler(signal.SIGALRM, frame)
        elif self.handler == signal.SIG_DFL:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.raise_signal(signal.SIGALRM)


SET: list[alarm] = []
outside = Outside()


@contextmanager
def processor_alarm(seconds: float, raised: type[BaseException] = Late) -> Iterator[None]:
    """`alarm` by the seconds that this process's processor works; such alarms do not nest."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        if at_work(frame):
            signal.setitimer(signal.ITIMER_PROF, SOON, AGAIN)
            return
        raise raised

    def quiet(dropped: Any) -> None:
        if not isinstance(dropped.exc_value, raised):
            hook(dropped)

    handler, hook = signal.signal(signal.SIGPROF, ring), sys.unraisablehook
    sys.unraisablehook = quiet
    signal.setitimer(signal.ITIMER_PROF, min(seconds, LONGEST), AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
        sys.unraisablehook = hook


def wait() -> None:
    """Set the timer to the next alarm that is due."""
    next_due = min([each.due for each in SET] + ([] if outside.due is None else [outside.due]))
    signal.setitimer(signal.ITIMER_REAL, min(max(next_due - time.monotonic(), 1e-6), LONGEST), AGAIN)


def ring(number: int, frame: FrameType | None) -> None:
    """The handler of the signal: raise for the outermost alarm that is due."""
    if at_work(frame):
        signal.setitimer(signal.ITIMER_REAL, SOON, AGAIN)
        return
    if outside.due is not None and outside.due <= time.monotonic():
        outside.ring(frame)
    raise_due()
    if SET:
        wait()


def raise_due() -> None:
    """Raise for the outermost alarm that is due, if one is."""
    now = time.monotonic()
    first = next((each for each in SET if each.due <= now), None)
    if first is not None:
        first.due, first.rang = now + AGAIN, True
        wait()
        raise first.raised


def at_work(frame: FrameType | None) -> bool:
    """Whether the ring interrupts the setting of an alarm, the taking away of one, or another ring."""
    while frame is not None:
        if frame.f_code in OWN:
            return True
        frame = frame.f_back
    return False


def quiet(dropped: Any) -> None:
    """Ring again, and print nothing, if an alarm went off inside a destructor, where Python drops the exception."""
    if not isinstance(dropped.exc_value, Late | TimeIsUp):
        outside.hook(dropped)
        return
    for each in SET:
        if each.rang and isinstance(dropped.exc_value, each.raised):
            each.due = time.monotonic() + SOON
    if SET:
        wait()


OWN = {each.__code__ for each in (alarm.__enter__, alarm.__exit__, ring, quiet)}

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SET.clear)  # timers are not inherited


def time_limit(seconds: float | None) -> AbstractContextManager[None]:
    """Raise `TimeIsUp` inside the block after `seconds`; None sets no limit."""
    return nullcontext() if seconds is None else alarm(seconds, TimeIsUp)
