"""Work that a kill costs: long runs of every loop are killed, and what they had not yet written is at most LONG.

    python longer.py [RUN]        a JSON line for each trial

Each run of RUNS takes far more than KILLED processor seconds; the system kills the child after so many (RLIMIT_CPU).
The child tells its processor seconds after each line and each checkpoint that is on the disk. A trial survives if the
last such moment is at most LONG seconds before the kill. Processor seconds are at most those of the clock, so the load
of the machine makes a checkpoint no later.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import workbench as wb
from reliability import Trial
from reliability.fire import LONG
from reliability.runs import clouds
from workbench.registries import registry
from workbench.system.journal import Journal

KILLED = 8  # processor seconds


def noise() -> wb.Multiclass:
    """6,000 samples of 80 features on scales from .01 to 3, with labels at random."""
    rng = np.random.default_rng(3)
    return wb.Multiclass(rng.normal(size=(6000, 80)) * 10.0 ** rng.uniform(-2, 0.5, 80), rng.integers(0, 8, 6000))


def motifs() -> Any:
    return registry("problem").get("motif")(n=150, span=40)


RUNS: dict[str, tuple[Any, Callable[[], Any], dict[str, Any]]] = {
    "cuts": (wb.SoftMargin(lam=1e-7), noise, {}),
    "cuts, one group": (wb.SoftMargin(lam=1e-5), noise, {"groups": "one"}),
    "passes": (wb.SoftMargin(lam=1e-7), noise, {"master": "dual-block"}),
    "smooth": (wb.CRF(lam=1e-9), noise, {}),
    "search": (wb.SelfPaced(C=20.0, K=2.0), lambda: clouds(60, 3, True), {}),
    "one program of an alternation": (wb.LatentSSVM(C=1e4), motifs, {}),
}


def killed(run: str, folder: Path) -> tuple[int, float, bool]:
    """How often a child wrote, its processor seconds after the last of them, and whether the kill ended the child."""
    form, make, options = RUNS[run]
    problem = make()
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        put, keep = Journal.write, Journal.checkpoint

        def marked(write: Callable[..., None]) -> Callable[..., None]:
            def marking(self: Journal, *words: Any) -> None:
                write(self, *words)
                os.write(told, f"{time.process_time()}\n".encode())

            return marking

        Journal.write, Journal.checkpoint = marked(put), marked(keep)
        resource.setrlimit(resource.RLIMIT_CPU, (KILLED, KILLED))
        try:
            wb.solve(form, problem, gap=1e-14, journal=folder, **options)
        finally:
            os._exit(0)
    os.close(told)
    with os.fdopen(heard) as pipe:
        moments = [float(line) for line in pipe]
    _, status, used = os.wait4(child, 0)
    lost = used.ru_utime + used.ru_stime - max(moments, default=0.0)
    return len(moments), lost, os.WIFSIGNALED(status)


def campaign(only: str = "") -> Iterator[Trial]:
    for run in RUNS:
        if only not in run:
            continue
        with tempfile.TemporaryDirectory() as place:
            writes, lost, ended = killed(run, Path(place) / "run")
        told = f"{writes} writes, {lost:.2f} s lost{'' if ended else ', but the run ended before the kill'}"
        yield Trial("lost work", run, ended and lost <= LONG, told)


if __name__ == "__main__":
    for trial in campaign(*sys.argv[1:]):
        print(json.dumps(trial), flush=True)
