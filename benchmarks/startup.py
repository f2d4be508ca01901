"""Seconds from the return key to the answer, for the commands of the first five minutes.

    help     cutbench --help                      imports nothing heavy
    list     cutbench list                        imports every registry
    solve    cutbench solve iris soft-margin      to a relative gap of 1e-9, certificate included
    verify   cutbench verify CERTIFICATE          of that solve, in rational arithmetic
    demo     cutbench demo                        only with the setting demo=yes

Each runs as a process of its own, once unmeasured, so that compiled code is at hand, and then `repeats` times in
turn with the others. NAME is the median of the wall clock, NAME_cpu that of the CPU time of the process and its
children: on a busy machine only the latter says something.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from workbench.errors import BackendFailed, checked_whole

COMMAND = "from workbench.command.cli import main; main()"
WORDS = {
    "help": ("--help",),
    "list": ("list",),
    "solve": ("solve", "iris", "soft-margin", "--out", "run", "--overwrite"),
    "verify": ("verify", "run"),
    "demo": ("demo", "--out", "story", "--overwrite"),
}


def startup(repeats: int = 7, demo: bool = False) -> dict[str, float]:
    """Medians of wall and CPU seconds of `repeats` runs of each command."""
    checked_whole(repeats=repeats, least=1)
    names = [name for name in WORDS if demo or name != "demo"]
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            measured(name, Path(folder))
        runs = [{name: measured(name, Path(folder)) for name in names} for _ in range(repeats)]
    return {
        f"{name}{suffix}": statistics.median(run[name][which] for run in runs)
        for name in names
        for which, suffix in enumerate(("", "_cpu"))
    }


def measured(name: str, folder: Path) -> tuple[float, float]:
    """Wall and CPU seconds of one run of a command inside the folder."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *WORDS[name]], cwd=folder, env=environment(), capture_output=True, text=True
    )
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise BackendFailed(f"cutbench {' '.join(WORDS[name])} ended with {done.returncode}: {done.stderr.strip()}.")
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def environment() -> dict[str, str]:
    """This process's environment, with the checkout importable and compiled modules kept."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPATH": str(Path(__file__).resolve().parents[1])}


NAMES = {"startup": startup}
