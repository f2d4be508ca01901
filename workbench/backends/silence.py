"""Solvers that print even when silent: their text goes to stderr, since stdout may carry JSON."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

_SPEAKING = threading.Lock()  # sys.stdout belongs to all threads


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """Redirect sys.stdout to stderr; OSQP with verbose=False still prints "Polishing not needed"."""
    with _SPEAKING, contextlib.redirect_stdout(sys.stderr):
        yield
