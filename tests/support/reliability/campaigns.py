"""One category of trials in this process: a JSON line for each trial, the CPU seconds last."""

from __future__ import annotations

import json
import os
import sys
import time
from importlib import import_module

from reliability.runs import RUNS


def main(module: str, size: str, seed: str) -> None:
    """Run the campaign of a module; `size` is its number of trials, or its share, where it has one."""
    began = time.process_time()
    lines = os.fdopen(os.dup(1), "w")  # trials may close or fill stdout
    os.dup2(2, 1)
    sizes = {"fire": (int(float(size)), int(seed), list(RUNS)), "soak": (float(size),)}
    for trial in import_module(f"reliability.{module}").campaign(*sizes.get(module, ())):
        print(json.dumps({"kind": trial.kind, "survived": trial.survived, "told": trial.told}), file=lines, flush=True)
    spent = time.process_time() - began + sum(os.times()[2:4])
    print(json.dumps({"cpu_seconds": round(spent, 1)}), file=lines, flush=True)
    sys.stdout.flush()
