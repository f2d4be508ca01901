"""An own model by three functions in plain Python, against the built-in structure of the same problem.

Soft margin, λ = 0.02, to a gap of 1e-10: CPU seconds of the second solve of each, so that code is compiled and
functions are tried. `growth`, the seconds of four times the samples over those of the samples, tells whether the cost
grows with the square.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import workbench as wb
from workbench.errors import checked_whole

SUPPORT = str(Path(__file__).resolve().parents[1] / "tests" / "support")
if SUPPORT not in sys.path:
    sys.path.insert(0, SUPPORT)

from own_pairs import PAIRS  # noqa: E402  found by the line above


def own_models(n: int = 60, seed: int = 0) -> dict[str, Any]:
    """For n and 4n samples of labels, chains and matchings.

    rows : pair, samples, seconds_built_in, seconds_own, slower (their ratio), difference (of the optima, relative)
    slowest : the largest `slower`;  growth : the largest ratio of seconds_own at 4n to those at n
    """
    checked_whole(8, n=n)
    rows = [compared(name, size, seed) for name in PAIRS for size in (n, 4 * n)]
    growth = [many["seconds_own"] / few["seconds_own"] for few, many in zip(rows[::2], rows[1::2], strict=True)]
    return {"slowest": max(row["slower"] for row in rows), "growth": max(growth), "rows": rows}


def compared(name: str, n: int, seed: int) -> dict[str, Any]:
    seconds, optima = [], []
    for problem in PAIRS[name](n, np.random.default_rng(seed)):
        wb.solve(wb.SoftMargin(lam=10.0), problem)
        began = time.process_time()
        optima.append(wb.solve(wb.SoftMargin(lam=0.02), problem, gap=1e-10).upper)
        seconds.append(time.process_time() - began)
    row = {"pair": name, "samples": n, "seconds_built_in": seconds[0], "seconds_own": seconds[1]}
    return row | {"slower": seconds[1] / seconds[0], "difference": abs(optima[1] / optima[0] - 1)}


NAMES = {"own-models": own_models}
