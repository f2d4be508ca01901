"""The promised solve of the handwritten words, as a user runs it, and where its time goes.

    cutbench solve ocr soft-margin --set lam=0.01 --set n=200 --gap 1e-6 --json

Machines differ, so the cost is also told in exact oracle passes: one batched Viterbi over all words.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

from workbench.data.datasets import MissingData
from workbench.data.loading import load_problem
from workbench.errors import checked_whole
from workbench.objectives.oracles import MarginRescaling
from workbench.proofs.certificate import load

COMMAND = "from workbench.command.cli import main; main()"


def ocr(n: int = 200, lam: float = 0.01, gap: float = 1e-6, repeats: int = 1) -> dict[str, Any]:
    """The solve's own record and its cost; medians over the repetitions.

    words                ocr, or generated (synthetic-chain, 26 labels) if the data are not at hand
    cpu_seconds          of the solve, compilation apart;  process_cpu_seconds: of the whole command
    oracle_share, master_share   of the solve's seconds
    oracle_pass_ms       CPU of one exact batched pass;  oracle_passes: cpu_seconds in such passes
    """
    checked_whole(1, n=n, repeats=repeats)
    try:
        load_problem("ocr")(n=1)
        source, problem, settings = "ocr", "ocr", [f"n={n}"]
    except MissingData:
        source, problem, settings = "generated", "synthetic-chain", [f"n={n}", "labels=26", "length=14"]
    words = ["solve", problem, "soft-margin", "--gap", str(gap), "--json"]
    for setting in (f"lam={lam}", *settings):
        words += ["--set", setting]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeats):
            before = children()
            done = subprocess.run(
                [sys.executable, "-c", COMMAND, *words, "--out", folder], capture_output=True, text=True, check=True
            )
            rows.append(json.loads(done.stdout) | {"process_cpu_seconds": children() - before})
        certificate, _ = load(os.path.join(folder, "certificate.json"))
    chains, everyone = MarginRescaling(certificate.problem), np.arange(n)
    passes = []
    for _ in range(20):
        began = time.process_time()
        chains.argmax(certificate.theta, everyone)
        passes.append(1e3 * (time.process_time() - began))
    last, cpu = rows[-1], statistics.median(row["cpu_seconds"] for row in rows)
    record = {"words": source, "n": n, "lam": lam} | {key: last[key] for key in ("status", "upper", "lower", "gap")}
    record |= {"rounds": last["rounds"], "cuts": last["cuts"], "backend": last["backend"], "cpu_seconds": cpu}
    record["process_cpu_seconds"] = statistics.median(row["process_cpu_seconds"] for row in rows)
    for part in ("oracle", "master"):
        record[f"{part}_share"] = statistics.median(row[f"{part}_seconds"] / row["seconds"] for row in rows)
    spent = statistics.median(passes)
    return record | {"oracle_pass_ms": spent, "oracle_passes": 1e3 * cpu / spent}


def children() -> float:
    """CPU seconds of the processes started so far."""
    times = os.times()
    return times.children_user + times.children_system


NAMES = {"ocr": ocr}
