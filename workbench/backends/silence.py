"""Solvers that print even when silent: their text goes to stderr, since stdout may carry JSON."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from workbench.system.streams import stdout_to

if TYPE_CHECKING:
    import highspy

_SPEAKING = threading.Lock()  # sys.stdout belongs to all threads


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """Redirect sys.stdout to stderr; OSQP with verbose=False still prints "Polishing not needed"."""
    with _SPEAKING, contextlib.redirect_stdout(sys.stderr):
        yield


def highs_model() -> highspy.Highs:
    """A model of HiGHS that prints nothing."""
    import highspy

    quiet_highs()
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    return model


@cache
def quiet_highs() -> None:
    """Let HiGHS print its banner now, to nobody.

    HiGHS 1.16 prints the banner when a process makes its first model, before any option of that model can be set.
    """
    import highspy

    with _SPEAKING, open(os.devnull, "wb") as nowhere, stdout_to(nowhere.fileno()):
        highspy.Highs()
