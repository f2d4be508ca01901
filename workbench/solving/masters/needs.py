"""The memory that a master needs, estimated from sizes before anything is taken.

    R rows of E entries each, p weights:          bytes, at 8 a number and 8 an index
    ascent        16 R E + 64 p                   the rows twice over: the pool's, and grouped
    dual-block    32 R E + 128 p                  the pool grows by doubling; θ, its moves, and their memory
    gram          40 R² + 16 R E                  GRAMS copies of the inner products, and the rows
    compiled      640 (R E + R + p)               CVXPY's copies, the backend's matrix, and its factor with the fill

R is at least the number of groups, since each has a row after the first round; hard rows R are those handed over.
Estimates are meant to be right within a factor of two: `demand` then refuses in one sentence what the machine, or
--memory-limit, has no room for, before time is spent and instead of an allocation that fails half way.
"""

from __future__ import annotations

import numpy as np

from workbench.proofs.bounds import Bounds
from workbench.solving.masters.master import GRAMS
from workbench.system.memory import demand, room

DECLARED = 640  # bytes of 40 copies of an entry, 16 each: CVXPY's own, the backend's matrix, its factor with the fill
NAMES = {"gram": "The inner products of {0} rows", "compiled": "A declared program with {0} rows"}
ADVICE = "take fewer samples, fewer --groups, or no master by name"
ROUNDS = 20  # of rows that fewer groups leave room for


def needed(kind: str, bounds: Bounds, rows: int) -> float:
    """Bytes for so many rows."""
    entries = rows * bounds.row_entries
    return {
        "ascent": 16 * entries + 64 * bounds.oracle.dim,
        "gram": 8 * GRAMS * float(rows) ** 2 + 16 * entries,
        "compiled": DECLARED * (entries + rows + bounds.oracle.dim),
    }.get(kind, 32 * entries + 128 * bounds.oracle.dim)


def demanded(kind: str, bounds: Bounds, rows: int) -> None:
    """Raise `OutOfMemory`, one sentence, where a master of so many rows does not fit."""
    what = NAMES.get(kind, "The cached cuts of {0} samples").format(rows)
    demand(needed(kind, bounds, rows), what, ADVICE)


def fits(kind: str, bounds: Bounds, rows: int) -> bool:
    return needed(kind, bounds, rows) <= room()


def fewer(bounds: Bounds, groups: int) -> int:
    """So few groups that the inner products of ROUNDS rows of each fit; all where those of three rounds fit anyway."""
    if fits("gram", bounds, 3 * groups):
        return groups
    return max(min(groups, int(np.sqrt(room() / 2 / (8 * GRAMS)) / ROUNDS)), 1)
