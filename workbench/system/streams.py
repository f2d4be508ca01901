"""Where a process's standard output goes, text from C libraries included."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def stdout_to(descriptor: int) -> Iterator[None]:
    """What the block prints from C on stdout goes to this file descriptor; Python's `sys.stdout` shares the way."""
    sys.stdout.flush()
    saved = os.dup(1)
    try:
        os.dup2(descriptor, 1)
        yield
    finally:
        with contextlib.suppress(Exception):
            ctypes.CDLL(None).fflush(None)  # C's buffer must be empty before stdout is back
        os.dup2(saved, 1)
        os.close(saved)
