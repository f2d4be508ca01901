"""A regularisation path over four decades of λ on digits, against single solves; and its gap at random λ.

    cpu, solved       CPU seconds of the path, and the values of λ that it solved
    dearest           the CPU seconds of the dearest single solve of ten λ of the range, at solve's own gap 1e-9
    ratio             cpu/dearest
    dearest_same_gap  the same at the gap ε of the path;  ratio_same_gap  cpu/dearest_same_gap
    tried, beyond     random λ of the range, and how many of them had a gap above ε by the full bounds

`failed` counts λ beyond ε, and a ratio above MOST. Compilation is excluded by a first run of both.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import workbench as wb
from workbench.errors import checked_whole

MOST = 3.0  # a path may cost so many of its dearest single solves
SINGLE = 10  # values of λ that are solved alone


def path(n: int = 1797, epsilon: float = 1e-2, tried: int = 1000, greatest: float = 10.0, least: float = 1e-3) -> Any:
    """One record, flat."""
    checked_whole(20, n=n)
    checked_whole(1, tried=tried)
    problem = wb.load_problem("digits")(n=n)
    wb.path(wb.SoftMargin(), problem, greatest, greatest / 2, 0.1)
    alone(problem, greatest, 1e-9)
    began = time.process_time()
    found = wb.path(wb.SoftMargin(), problem, greatest, least, epsilon)
    cpu = time.process_time() - began
    single = np.geomspace(greatest, least, SINGLE)
    dearest = [max(alone(problem, lam, gap) for lam in single) for gap in (1e-9, epsilon)]
    lams = np.exp(np.random.default_rng(0).uniform(np.log(least), np.log(greatest), tried))
    gaps = [true_gap(found, float(lam)) for lam in np.clip(lams, least, greatest)]
    beyond = sum(gap > epsilon * (1 + 1e-9) for gap in gaps)
    record = {"n": n, "epsilon": epsilon, "gap": found.gap, "solved": len(found.knots), "cpu": cpu}
    record |= {"dearest": dearest[0], "ratio": cpu / dearest[0]}
    record |= {"dearest_same_gap": dearest[1], "ratio_same_gap": cpu / dearest[1]}
    record |= {"tried": tried, "beyond": beyond, "worst": max(gaps)}
    return record | {"failed": beyond + (n == 1797 and record["ratio"] > MOST)}


def alone(problem: Any, lam: float, gap: float) -> float:
    """CPU seconds of one solve from nothing."""
    began = time.process_time()
    wb.solve(wb.SoftMargin(lam=float(lam)), problem, gap=gap)
    return time.process_time() - began


def true_gap(found: Any, lam: float) -> float:
    """The relative gap at λ, with F(θ) by the full bounds."""
    point, bounds = found.at(lam), wb.Bounds(wb.SoftMargin(lam=lam), found.problem)
    return bounds.relative(bounds.upper(point.theta), point.lower)


NAMES = {"path": path}
