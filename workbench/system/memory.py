"""Memory: how much this process may take, how much is left, and a refusal before too much is taken.

`limited_to(bytes)` is `--memory-limit`. The limit is the operating system's own (RLIMIT_DATA: private memory that can
be written, as arrays are), so native code obeys, too, and child processes inherit the limit. What is about to take
much memory asks first: `demand(bytes, what, instead)` raises one sentence in place of an allocation that fails half
way, or of a machine that swaps. `keep_freed()` lets arrays take the place of those that went before.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache

from workbench.errors import BadInput, OutOfMemory

try:
    import resource
except ImportError:  # Windows has no such limits; estimates hold there, too
    resource = None

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
LEAST = 2**28  # bytes below which Python with its numerical packages does not start
MOST = 2**62  # bytes beyond what systems count
BLOCK = 2**25 - 2**16  # bytes of the largest block that makes malloc keep more of what is freed
_LIMIT: list[int] = []  # the last limit that was set, if any


def size_of(text: str) -> int:
    """The bytes in a text such as 2GiB, 500M or 1073741824; `BadInput` otherwise."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE)
    size = float(found[1]) * UNITS[found[2].upper()] if found else 0.0
    if not LEAST <= size < MOST:
        raise BadInput(f"The memory limit is {text!r}; give a size of at least 256MiB, such as 2GiB.")
    return int(size)


def limited_to(size: int) -> Callable[[], None]:
    """Let this process and those that it starts take at most `size` bytes each; the function that ends the limit."""
    before, kept = list(_LIMIT), resource and resource.getrlimit(resource.RLIMIT_DATA)
    _LIMIT[:] = [size]
    if resource is not None and kept is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (size if kept[1] < 0 else min(size, kept[1]), kept[1]))

    def lifted() -> None:
        _LIMIT[:] = before
        if resource is not None and kept is not None:
            resource.setrlimit(resource.RLIMIT_DATA, kept)

    return lifted


def limit() -> int | None:
    """The limit that `limited_to` set, or None."""
    return _LIMIT[0] if _LIMIT else None


def machine() -> int:
    """The bytes of this machine's memory; 8 GiB where the system gives no number."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2**33


def largest_file() -> int:
    """The bytes that one file may take in memory: a quarter of the machine's, or the limit if that is less."""
    return min(machine() // 4, limit() or machine())


def held() -> int:
    """The bytes that this process holds; 0 where the system gives no number."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def available() -> int:
    """The bytes that the machine can still give; three quarters of its memory where the system gives no number."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return machine() * 3 // 4


def room() -> int:
    """The bytes that this process may still take: what the limit leaves, and what the machine can give."""
    own = limit()
    return available() if own is None else max(min(available(), own - held()), 0)


@cache
def keep_freed() -> None:
    """Memory that arrays leave stays at hand for the next ones, up to 64 MB, since new pages take long to come.

    The malloc of glibc gives freed memory back to the system beyond twice the largest block that it has given back so
    far, a block of 32 MiB at most (mallopt(3), M_MMAP_THRESHOLD). So one such block, which nobody touches, is freed.
    Elsewhere, and where memory is short, nothing changes.
    """
    import numpy as np  # takes long, and --help does without

    with suppress(MemoryError):  # no run needs this
        np.empty(BLOCK, np.uint8)


def demand(size: float, what: str, instead: str) -> None:
    """Raise `OutOfMemory`, one sentence, if `what` would take more than there is room for."""
    if size > room():
        raise OutOfMemory(
            f"{what} would take {size / 2**30:.3g} GiB and {room() / 2**30:.3g} GiB of memory are left; {instead}."
        )
