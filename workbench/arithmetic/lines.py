"""Arrays by lines of the cache: the pieces in which processors read memory, and take it from one another.

Two threads that write to one line, each to numbers of its own, wait for one another at every write. NumPy puts small
arrays side by side, so a thread that computes in a small array takes it from here.
"""

from __future__ import annotations

import numpy as np

from workbench.contracts import Floats

LINE = 8  # numbers in a line


def lined(rows: int, width: int) -> Floats:
    """Room (rows, width), width a multiple of LINE; each row begins with a line of the cache, and shares none."""
    room = np.empty(rows * width + LINE)
    first = -room.ctypes.data // room.itemsize % LINE
    return room[first : first + rows * width].reshape(rows, width)


def apart(width: int) -> Floats:
    """Zeros (width,) that share no line with other numbers."""
    room = lined(1, -(-width // LINE) * LINE)[0, :width]
    room[:] = 0
    return room
