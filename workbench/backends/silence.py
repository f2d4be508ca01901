"""Solvers that speak unasked: what they print goes to stderr, since stdout may carry JSON."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

_SPEAKING = threading.Lock()  # sys.stdout belongs to all threads


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """What is printed through sys.stdout goes to stderr; OSQP told to be silent still says "Polishing not needed"."""
    with _SPEAKING, contextlib.redirect_stdout(sys.stderr):
        yield
