"""Commands under --time-limit and --memory-limit: they end in time, and say what is proven so far.

A trial survives if the command ends with 0 or 3 (1 for a verdict), within 1.1 T + 2 CPU seconds of a child that has
imported everything, takes at most the memory limit, prints no traceback, and proves an interval that is none the worse:
lower ≤ upper wherever both are printed.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import workbench as wb
from reliability import Trial
from reliability.entries import MPS
from reliability.inputs import commanded, folder
from reliability.runs import clouds
from workbench.backends import BACKENDS
from workbench.command.cli import cli
from workbench.registries import registry
from workbench.system import memory

ENOUGH = 30.0  # CPU seconds for a run without a limit
SPARE = 1.1, 2.0  # CPU seconds: SPARE[0] · limit + SPARE[1]
HARD = [  # problems that take longer than the limits here
    ["solve", "digits", "soft-margin", "--set", "lam=1e-7", "--gap", "1e-13"],
    ["solve", "digits", "soft-margin", "--set", "lam=1e-6", "--set", "rescaling=slack", "--gap", "1e-13"],
    ["solve", "digits", "crf", "--set", "lam=1e-9", "--gap", "1e-14"],
    ["solve", "digits", "hard-margin", "--gap", "1e-12"],
    ["solve", "digits", "soft-margin", "--set", "declare=compact", "--gap", "1e-9"],
    ["solve", "synthetic-costs", "simplex-cost-learning", "--gap", "1e-12"],
    ["solve", "motif", "latent-ssvm", "--set", "starts=50"],
    ["solve", "motif", "self-paced-latent", "--set", "starts=50"],
    ["solve", "iris", "self-paced", "--set", "C=20", "--set", "K=1", "--gap", "1e-12"],
    ["solve", "synthetic-chain", "soft-margin", "--set", "lam=1e-7", "--gap", "1e-13"],
    ["solve", "synthetic-tags", "soft-margin", "--set", "n=400", "--set", "lam=1e-6", "--gap", "1e-13"],
    ["solve", "synthetic-text", "soft-margin", "--set", "n=1000", "--set", "lam=1e-7", "--gap", "1e-13"],
    ["solve", "digits", "soft-margin", "--set", "lam=1e-6", "--backend", "all", "--gap", "1e-12"],
    ["crosscheck", "digits", "soft-margin", "--set", "lam=1e-5", "--learners", "bcfw,subgradient", "--passes", "9999"],
    ["check-oracle", "synthetic-chain", "--seconds", "600"],
    ["bench", "flows", "--set", "n=2000", "--set", "passes=50"],
]
SLOW = [  # every other verb, on work that would take longer
    ["path", "digits", "soft-margin", "--between", "10", "1e-9", "--epsilon", "1e-6"],
    ["difficulty", "run"],
    ["figures"],
    ["demo"],
    ["doctor"],
    ["list"],
    ["verify", "run"],
    ["explain", "run", "--most", "1000"],
    ["report", "run"],
    ["compare", "run", "run"],
    ["predict", "run", "toy"],
    ["prove", "./a.mps"],
    ["infeasible", "./a.mps"],
    ["runs", "."],
]
COSTS = ["solve", "synthetic-costs", "simplex-cost-learning", "--gap", "1e-9"]
DIGITS = ["solve", "digits", "soft-margin", "--set", "lam=1e-6", "--gap", "1e-13"]
MASTERS = [[*DIGITS, "--backend", name] for name in BACKENDS]


def in_child(words: list[str], limit: float) -> dict[str, Any]:
    """Exit code, output, CPU seconds (of the child and of its own children) and bytes of a command."""
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(heard)
        os.setpgid(0, 0)
        began = time.process_time()
        found: dict[str, Any] = {}
        try:
            code, out, err = commanded(words)
            found = {"code": code, "out": out, "err": err}
        except BaseException as error:
            found = {"code": -1, "out": "", "err": repr(error)[:500]}
        found["cpu"] = time.process_time() - began
        found["bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        with os.fdopen(told, "wb") as pipe:
            pipe.write(json.dumps(found).encode())
        os._exit(0)
    os.close(told)
    end, content = time.monotonic() + 20 * limit + 60, b""
    with os.fdopen(heard, "rb", buffering=0) as pipe:
        while time.monotonic() < end:
            if select.select([pipe], [], [], 1.0)[0]:
                if not (more := pipe.read(2**16)):
                    break
                content += more
    if not content:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return json.loads(content) if content else {"code": -9, "out": "", "err": "no end", "cpu": 0, "bytes": 0}


def faults(found: dict[str, Any], limit: float, most: float) -> list[str]:
    said = []
    if found["code"] not in (0, 1, 3):
        said.append(f"exit code {found['code']}: {found['err'][-300:]}")
    if "Traceback" in found["err"] or "bug of ours" in found["err"]:
        said.append(found["err"][-300:])
    if found["cpu"] > SPARE[0] * limit + SPARE[1]:
        said.append(f"{found['cpu']:.1f} CPU seconds with a limit of {limit:g}")
    if found["bytes"] > most:
        said.append(f"{found['bytes'] / 2**20:.0f} MiB with a limit of {most / 2**20:.0f}")
    lines = found["out"].splitlines()
    record = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {}
    for row in (record, *record.get("rows", [])):
        lower, upper = row.get("lower"), row.get("upper")
        if lower is not None and upper is not None and not lower <= upper:
            said.append(f"[{lower}, {upper}]")
    return said


def written() -> None:
    """A run and a model file in the working folder."""
    problem = registry("problem").get("toy")()
    wb.solve(wb.SoftMargin(lam=0.1), problem, gap=1e-3).certificate.save("run/certificate")
    Path("a.mps").write_text(MPS)


def campaign(seconds: float = 3.0) -> Iterator[Trial]:
    yield from commands(seconds)
    yield from verbs(seconds)
    yield from benchmarks(seconds)
    yield from defaults()


def verbs(seconds: float) -> Iterator[Trial]:
    """Every other verb under both limits."""
    for words in SLOW:
        with folder():
            written()
            json_too = ["--json"] if any("--json" in option.opts for option in cli.commands[words[0]].params) else []
            size = max(memory.held() + 2**29, memory.LEAST)
            limits = ["--time-limit", f"{seconds:g}", "--memory-limit", str(size)]
            found = in_child([*words, *limits, *json_too], seconds)
        said = faults(found, seconds, float("inf"))
        yield Trial("limits", f"verb: {' '.join(words)}", not said, "; ".join(said))


def benchmarks(seconds: float) -> Iterator[Trial]:
    """Every benchmark in time."""
    for name in registry("benchmark").names():
        if name != "reliability":
            with folder():
                found = in_child(["bench", name, "--time-limit", f"{seconds:g}", "--json"], seconds)
            said = faults(found, seconds, float("inf"))
            yield Trial("limits", f"bench: {name}", not said, "; ".join(said))


def defaults() -> Iterator[Trial]:
    """Learned costs by every backend without any limit: the run ends."""
    for name in BACKENDS:
        with folder():
            found = in_child([*COSTS, "--backend", name, "--json"], ENOUGH)
        said = faults(found, ENOUGH, float("inf"))
        yield Trial("limits", f"no limit: learned costs, {name}", not said, "; ".join(said))


def commands(seconds: float) -> Iterator[Trial]:
    """Every hard command under a limit of time, and under one of memory; every backend in time."""
    wb.solve(wb.SoftMargin(lam=0.1), clouds(12), gap=1e-3)
    size = memory.held() + 2**29
    for words in (*HARD, *MASTERS):
        cases = {"time": ["--time-limit", f"{seconds:g}"]}
        if words in HARD:
            cases["memory"] = ["--memory-limit", str(max(size, memory.LEAST)), "--time-limit", f"{seconds:g}"]
        for kind, limits in cases.items():
            with folder():
                found = in_child([*words, *limits, "--json"], seconds)
            said = faults(found, seconds, size + 2**29 if kind == "memory" else float("inf"))
            yield Trial("limits", f"{kind}: {' '.join(words)}", not said, "; ".join(said))
