"""What was tried against the package, and what survived: docs/reliability.md says how each category is judged.

    kills          runs of every kind, killed, interrupted, on broken disks, and continued     kills=N
    input          bad and extreme files, arrays and settings
    entries        damaged files and bad options at every entry of the command line
    limits         commands and backends under limits of time and memory
    oracles        oracles with a fault, through the door of three functions
    backends       backends that lie, crash or hang
    hostile files  files that want to be executed, to fill the memory or to write elsewhere
    soak           long work in one process                                                     soak=SHARE

`tried` counts the attempts, `survived` those whose promise held, `lost` the others; `failed` is `lost`. `only` names
categories, `seed` the random draws. Each category runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.errors import BackendFailed, checked_positive, checked_whole
from workbench.registries import load_file

settings = load_file(Path(__file__).with_name("_settings.py"), "benchmark")
ROOT = Path(__file__).resolve().parents[1]
SUPPORT = ROOT / "tests" / "support"
CATEGORIES = {
    "kills": "fire",
    "input": "inputs",
    "entries": "entries",
    "limits": "limits",
    "oracles": "oracles",
    "backends": "backends",
    "hostile files": "hostile",
    "soak": "soak",
}
RUN = "import sys; from reliability.campaigns import main; main(*sys.argv[1:])"


def reliability(kills: int = 300, soak: float = 0.02, only: str = "", seed: int = 0) -> Iterator[dict[str, Any]]:
    """A table of what was tried and what survived."""
    checked_whole(1, kills=kills)
    checked_whole(0, seed=seed)
    checked_positive(soak=soak)
    rows, findings, began = [], [], time.perf_counter()
    for category in settings.chosen(only, CATEGORIES, "category"):
        row = {"category": category, "tried": 0, "survived": 0, "lost": 0, "cpu_seconds": 0.0}
        rows.append(row)
        for trial in trials(category, {"kills": kills, "soak": soak}.get(category, 0), seed):
            if "cpu_seconds" in trial:
                row |= trial
                continue
            row["tried"] += 1
            row["survived" if trial["survived"] else "lost"] += 1
            if not trial["survived"]:
                findings.append({"category": category, "trial": trial["kind"], "told": trial["told"]})
            if row["tried"] % 20 == 0:
                yield {"finished": f"{row['tried']} of {category}"} | summary(rows, findings, began)
    yield summary(rows, findings, began)


def trials(category: str, size: float, seed: int) -> Iterator[dict[str, Any]]:
    """The trials of a category, then its CPU seconds, from a process of its own."""
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    paths = os.pathsep.join([str(ROOT), str(SUPPORT)])
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, CATEGORIES[category], str(size), str(seed)],
            stdout=subprocess.PIPE,
            stderr=errors,
            env=os.environ | single | {"PYTHONPATH": paths},
            text=True,
        )
        assert process.stdout is not None  # a pipe, as asked
        try:
            for line in process.stdout:
                yield json.loads(line)
            if process.wait():
                errors.seek(0)
                told = errors.read().strip().splitlines()[-1:]
                raise BackendFailed(f"The category {category} ended with {process.returncode}: {' '.join(told)}.")
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def summary(rows: list[dict[str, Any]], findings: list[dict[str, str]], began: float) -> dict[str, Any]:
    total = {key: sum(row[key] for row in rows) for key in ("tried", "survived", "lost")}
    seconds = {"failed": total["lost"], "seconds": time.perf_counter() - began}
    return {**total, **seconds, "findings": findings[:50], "rows": rows}


NAMES = {"reliability": reliability}
