"""A regularisation path over four decades of λ on digits, against single solves of the same λ; its gap at random λ.

    solved, cpu       values of λ that the path solved, and its CPU seconds
    dearest           CPU seconds of the dearest of `points` single solves, at solve's own gap 1e-9, and its λ
    ratio             cpu/dearest;  dearest_same_gap, ratio_same_gap: the same at the gap ε of the path
    command           CPU seconds of the whole command `cutbench path`, Python's start included
    command_ratio     that over the whole command `cutbench solve` at the dearest λ;  command_ratio_same_gap: at ε
    tried, beyond     random λ of the range, and how many of them had a gap above ε by the full bounds
    worst             the largest of these gaps
    outside           random λ where a solve that knows nothing of the path, to a gap of 1e-5, contradicts its bounds
    farthest          the largest (F(θ) − min F)/F(θ) over the random λ, by the lower bounds of those solves

`failed` counts λ beyond ε or outside, and, on all of digits, a `ratio` or a `command_ratio_same_gap` above MOST.
Compilation is excluded by a first run. Everything is timed twice, and the cheaper run counts.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

import workbench as wb
from workbench.errors import BackendFailed, checked_whole

MOST = 3.0  # a path may cost so many of its dearest single solves
TIGHT = 1e-5  # the gap of the solves that know nothing of the path
ENTRY = "from workbench.command.cli import main; main()"


def path(
    n: int = 1797,
    epsilon: float = 1e-2,
    tried: int = 1000,
    points: int = 50,
    greatest: float = 10.0,
    least: float = 1e-3,
) -> Any:
    """One record, flat."""
    checked_whole(20, n=n)
    checked_whole(1, tried=tried)
    checked_whole(2, points=points)
    problem = wb.load_problem("digits")(n=n)
    wb.path(wb.SoftMargin(), problem, greatest, greatest / 2, 0.1)
    alone(problem, greatest, 1e-9)
    spent = []
    for _ in range(2):
        began = time.process_time()
        found = wb.path(wb.SoftMargin(), problem, greatest, least, epsilon)
        spent.append(time.process_time() - began)
    cpu = min(spent)
    single = np.clip(np.geomspace(greatest, least, points), least, greatest).tolist()
    record = {"n": n, "epsilon": epsilon, "gap": found.gap, "solved": len(found.knots), "cpu": cpu}
    words = "path", "digits", "soft-margin", "--between", str(greatest), str(least), "--epsilon", str(epsilon)
    record["command"] = commanded(*words, "--set", f"n={n}")
    for name, gap in (("", 1e-9), ("_same_gap", epsilon)):
        seconds, lam = max((min(alone(problem, lam, gap) for _ in range(2)), lam) for lam in single)
        words = "solve", "digits", "soft-margin", "--gap", str(gap), "--overwrite"
        whole = commanded(*words, "--set", f"n={n}", "--set", f"lam={lam!r}")
        record |= {f"dearest{name}": seconds, f"dearest_lam{name}": lam, f"ratio{name}": cpu / seconds}
        record |= {f"command_solve{name}": whole, f"command_ratio{name}": record["command"] / whole}
    lams = np.exp(np.random.default_rng(0).uniform(np.log(least), np.log(greatest), tried))
    record |= checked(found, np.clip(lams, least, greatest).tolist())
    dear = n == 1797 and max(record["ratio"], record["command_ratio_same_gap"]) > MOST
    return record | {"failed": record["beyond"] + record["outside"] + dear}


def alone(problem: Any, lam: float, gap: float) -> float:
    """CPU seconds of one solve from nothing."""
    began = time.process_time()
    wb.solve(wb.SoftMargin(lam=lam), problem, gap=gap)
    return time.process_time() - began


def commanded(*words: str) -> float:
    """CPU seconds of a whole command, the less of two runs."""
    spent = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run([sys.executable, "-c", ENTRY, *words], cwd=folder, capture_output=True, text=True)
            if done.returncode:
                raise BackendFailed(f"cutbench {' '.join(words)} ended with {done.returncode}: {done.stderr.strip()}.")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(spent)


def checked(found: Any, lams: list[float]) -> dict[str, float]:
    """What the full bounds and solves from nothing say of the path at each λ."""
    gaps, distances, outside = [], [], 0
    for lam in lams:
        point, form = found.at(lam), wb.SoftMargin(lam=lam)
        bounds, own = wb.Bounds(form, found.problem), wb.solve(form, found.problem, gap=TIGHT)
        value = bounds.upper(point.theta)
        gaps.append(bounds.relative(value, point.lower))
        distances.append(bounds.relative(value, own.lower))
        outside += point.lower > own.upper or own.lower > min(value, point.upper)
    beyond = sum(gap > found.epsilon * (1 + 1e-9) for gap in gaps)
    return {"tried": len(lams), "beyond": beyond, "worst": max(gaps), "outside": outside, "farthest": max(distances)}


NAMES = {"path": path}
