"""Long work in one process: memory stays flat after a warm-up, and no file handle is left open.

    python soak.py SCALE [KIND]     SCALE = 1: 10⁵ cuts, 10⁶ oracle calls, 10⁴ solves; a JSON line for each trial

Each kind of work runs PARTS times as long as its warm-up, in parts. A trial survives if the process holds, after the
last part, at most SLACK bytes more than after the warm-up, and as many file handles. Work that grows by design, as a
pool of cuts does, is made anew for each part.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator

import numpy as np

import workbench as wb
from reliability import Trial
from reliability.runs import clouds
from workbench.contracts import Cuts
from workbench.proofs.any_bounds import bounds_for
from workbench.system import memory

PARTS, SLACK = 10, 24 * 2**20
FORM = wb.SoftMargin(lam=0.05)


def cuts(count: int) -> None:
    """Cuts added to a pool and bounds of them, until there were `count`."""
    problem, rng = clouds(200), np.random.default_rng(0)
    bounds, done = bounds_for(FORM, problem), 0
    while done < count:
        pool = Cuts(bounds.oracle.dim, bounds.oracle.width)
        for _ in range(5):
            witnesses = rng.integers(0, 3, size=(problem.n_samples, 1))
            ids = pool.add(np.arange(problem.n_samples), witnesses, bounds.oracle.rows)
            done += len(ids)
        bounds.lower(pool, np.zeros(len(pool)))


def calls(count: int) -> None:
    """Oracle calls: one for each sample of a vectorised argmax, and as many of a user's own function."""
    problem, rng = clouds(500), np.random.default_rng(0)
    oracle, samples = FORM.oracle(problem), np.arange(500)
    for _ in range(count // 1000):
        oracle.argmax(rng.normal(size=oracle.dim), samples)
    own = wb.Structured([0, 1] * 25, [0, 1] * 25, phi, zero_one, best)
    asked = FORM.oracle(own)
    for _ in range(count // 100):
        asked.argmax(rng.normal(size=asked.dim), np.arange(50))


def phi(x: int, y: int) -> np.ndarray:
    return np.array([float(x == y), float(y), 1.0])


def zero_one(y: int, z: int) -> float:
    return float(y != z)


def best(w: np.ndarray, x: int, y: int | None = None) -> int:
    return max((0, 1), key=lambda z: w @ phi(x, z) + (0 if y is None else zero_one(y, z)))


def solves(count: int) -> None:
    """Small solves by every kind of loop, every tenth one with a journal, saved and verified now and then."""
    forms = [(FORM, clouds(6)), (wb.CRF(lam=0.1), clouds(6)), (wb.SelfPaced(C=1.0, K=1.0), clouds(4))]
    with tempfile.TemporaryDirectory() as place:
        for k in range(count):
            form, problem = forms[k % len(forms)]
            found = wb.solve(form, problem, gap=1e-2, journal=None if k % 10 else f"{place}/run")
            if k % 25 == 0:
                wb.verify(found.certificate.save(f"{place}/certificate"))


KINDS: dict[str, tuple[Callable[[int], None], int]] = {
    "cuts": (cuts, 10**5),
    "oracle calls": (calls, 10**6),
    "solves": (solves, 10**4),
}


def handles() -> int:
    return len(os.listdir("/proc/self/fd"))


def campaign(scale: float = 0.02, only: str = "") -> Iterator[Trial]:
    for name, (work, whole) in KINDS.items():
        if only not in name:
            continue
        part = max(int(scale * whole / PARTS), 30)
        work(part)
        gc.collect()
        held, opened = memory.held(), handles()
        for _ in range(PARTS):
            work(part)
        gc.collect()
        grown, left = memory.held() - held, handles() - opened
        said = [f"{grown / 2**20:.1f} MiB more"] * (grown > SLACK) + [f"{left} handles more"] * (left > 0)
        told = "; ".join(said) or f"{grown / 2**20:+.1f} MiB, {left:+d} handles after {PARTS * part} {name}"
        yield Trial("soak", f"{PARTS * part} {name}", not said, told)


if __name__ == "__main__":
    for trial in campaign(float(sys.argv[1]) if sys.argv[1:] else 1.0, *sys.argv[2:]):
        print(json.dumps(trial), flush=True)
