"""Memory that arrays leave: whether the next ones find it, measured by the pages that the system has to give."""

from __future__ import annotations

import platform
import subprocess
import sys

import numpy as np
import pytest

from workbench.system import memory

PAGES = 6 * 2048  # of six arrays of 8 MiB

ROUNDS = """
import resource
import numpy as np
from workbench.system.memory import keep_freed

keep_freed()
for turn in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    arrays = [np.ones(2**20) for _ in range(6)]
    given = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    del arrays
print(given)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only the malloc of glibc keeps memory so")
def test_arrays_find_the_memory_that_others_left():
    """In a process of its own, in the third round; without `keep_freed` many of the pages are new."""
    found = subprocess.run([sys.executable, "-c", ROUNDS], capture_output=True, text=True, check=True)
    assert int(found.stdout) <= PAGES // 20


def test_a_block_that_there_is_no_memory_for_ends_no_run(monkeypatch):
    asked = []

    def empty(*place):
        asked.append(place)
        raise MemoryError("no room")

    monkeypatch.setattr(np, "empty", empty)
    memory.keep_freed.__wrapped__()
    assert asked == [(memory.BLOCK, np.uint8)]
