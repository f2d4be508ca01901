"""What was tried against the package, and what survived: docs/reliability.md says how each category is judged.

    kills          runs of every kind, killed, interrupted, on broken disks, and continued     kills=N
    lost work      long runs of every loop, killed: the seconds since the last write
    input          bad and extreme files, arrays and settings
    entries        damaged files and bad options at every entry of the command line
    limits         commands and backends under limits of time and memory
    oracles        oracles with a fault, of problems given as three functions
    backends       backends that lie, crash or hang
    hostile files  files that want to be executed, to fill the memory or to write elsewhere
    soak           long work in one process                                                     soak=SHARE

`tried` counts the attempts, `survived` those whose promise held, `lost` the others; `failed` is `lost`. `only` names
categories, `seed` the random draws. Each category runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from workbench.errors import BackendFailed, checked_positive, checked_whole
from workbench.registries import load_file

settings = load_file(Path(__file__).with_name("_settings.py"), "benchmark")
ROOT = Path(__file__).resolve().parents[1]
SUPPORT = ROOT / "tests" / "support"
CATEGORIES = {
    "kills": "fire",
    "lost work": "longer",
    "input": "inputs",
    "entries": "entries",
    "limits": "limits",
    "oracles": "oracles",
    "backends": "backends",
    "hostile files": "hostile",
    "soak": "soak",
}
RUN = "import sys; from reliability.campaigns import main; main(*sys.argv[1:])"
PIECE = 125  # kills in one process


def reliability(
    kills: int = 300, soak: float = 0.02, only: str = "", seed: int = 0, jobs: int = 1
) -> Iterator[dict[str, Any]]:
    """A table of what was tried and what survived."""
    checked_whole(1, kills=kills, jobs=jobs)
    checked_whole(0, seed=seed)
    checked_positive(soak=soak)
    findings, began = [], time.perf_counter()
    rows = {
        category: {"category": category, "tried": 0, "survived": 0, "lost": 0, "cpu_seconds": 0.0}
        for category in settings.chosen(only, CATEGORIES, "category")
    }
    for category, trial in side_by_side(pieces(list(rows), kills, soak, seed), jobs):
        row = rows[category]
        if "cpu_seconds" in trial:
            row["cpu_seconds"] = round(row["cpu_seconds"] + trial["cpu_seconds"], 1)
            continue
        row["tried"] += 1
        row["survived" if trial["survived"] else "lost"] += 1
        if not trial["survived"]:
            findings.append({"category": category, "trial": trial["kind"], "told": trial["told"]})
        if row["tried"] % 20 == 0:
            yield {"finished": f"{row['tried']} of {category}"} | summary(list(rows.values()), findings, began)
    yield summary(list(rows.values()), findings, began)


def pieces(categories: list[str], kills: int, soak: float, seed: int) -> list[tuple[str, float, int]]:
    """(category, size, seed) of each process."""
    found = []
    for category in categories:
        if category == "kills":
            counts = [min(PIECE, kills - done) for done in range(0, kills, PIECE)]
            found += [(category, count, seed + k) for k, count in enumerate(counts)]
        else:
            found.append((category, soak if category == "soak" else 0, seed))
    return found


def side_by_side(work: list[tuple[str, float, int]], jobs: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The trials of all processes with their categories, as they come, `jobs` processes at a time."""
    left, at_work = iter(work), list[Piece]()
    try:
        while True:
            at_work += [Piece(*each) for each in islice(left, jobs - len(at_work))]
            if not at_work:
                return
            for piece in select.select(at_work, [], [])[0]:
                trials = piece.told()
                yield from ((piece.category, trial) for trial in trials)
                if not trials:
                    at_work.remove(piece)
                    piece.ended()
    finally:
        for piece in at_work:
            piece.stop()


class Piece:
    """Trials of a category in a process of its own, which tells each as a line of JSON, its CPU seconds last."""

    def __init__(self, category: str, size: float, seed: int):
        single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        paths = os.pathsep.join([str(ROOT), str(SUPPORT)])
        self.category, self.rest, self.errors = category, b"", tempfile.TemporaryFile("w+")  # noqa: SIM115  (`stop`)
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUN, CATEGORIES[category], str(size), str(seed)],
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=os.environ | single | {"PYTHONPATH": paths},
        )

    def fileno(self) -> int:
        assert self.process.stdout is not None  # a pipe, as asked
        return self.process.stdout.fileno()

    def told(self) -> list[dict[str, Any]]:
        """The next trials; none only at the end."""
        lines: list[bytes] = []
        while not lines and (more := os.read(self.fileno(), 2**16)):
            *lines, self.rest = (self.rest + more).split(b"\n")
        return [json.loads(line) for line in lines]

    def ended(self) -> None:
        """Raise `BackendFailed` unless the process came to its end."""
        code = self.process.wait()
        self.errors.seek(0)
        told = self.errors.read().strip().splitlines()[-1:]
        self.stop()
        if code:
            raise BackendFailed(f"The category {self.category} ended with {code}: {' '.join(told)}.")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.errors.close()
        if self.process.stdout is not None:
            self.process.stdout.close()


def summary(rows: list[dict[str, Any]], findings: list[dict[str, str]], began: float) -> dict[str, Any]:
    total = {key: sum(row[key] for row in rows) for key in ("tried", "survived", "lost")}
    seconds = {"failed": total["lost"], "seconds": time.perf_counter() - began}
    return {**total, **seconds, "findings": findings[:50], "rows": rows}


NAMES = {"reliability": reliability}
