"""Arrays by lines of the cache: where they begin, and what they share."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.arithmetic.lines import LINE, apart, lined


def lines_of(array):
    first = array.ctypes.data // (8 * LINE)
    return set(range(first, (array.ctypes.data + array.nbytes - 1) // (8 * LINE) + 1))


@pytest.mark.parametrize("rows", [1, 2, 7])
@pytest.mark.parametrize("width", [LINE, 3 * LINE])
def test_rows_begin_with_a_line_and_share_none(rows, width):
    room = lined(rows, width)
    assert room.shape == (rows, width)
    assert all(row.ctypes.data % (8 * LINE) == 0 for row in room)
    assert sum(len(lines_of(row)) for row in room) == len(set.union(*map(lines_of, room))) == rows * width // LINE


@pytest.mark.parametrize("width", [1, 7, 8, 9, 20, 24])
def test_numbers_of_one_thread_stand_apart(width):
    """Of many arrays made one after the other, none is in a line of another; each holds whole lines."""
    arrays = [apart(width) for _ in range(50)]
    assert all(each.shape == (width,) and not each.any() for each in arrays)
    assert sum(len(lines_of(each)) for each in arrays) == len(set.union(*map(lines_of, arrays)))
    for each in arrays:
        room = np.asarray(each.base)
        assert room.ctypes.data <= min(lines_of(each)) * 8 * LINE
        assert (max(lines_of(each)) + 1) * 8 * LINE <= room.ctypes.data + room.nbytes
