"""Small runs of every kind, each in a folder from which it can be continued; `RUNS` names them.

A run takes its folder and what is called after each round, begins or continues there, and returns the ends that it
proves: (lower, upper) of F*, or the number by which two results of the same run are compared, twice.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import workbench as wb
from workbench.command.cli import cli
from workbench.command.continuing import going_on
from workbench.command.exits import INTERRUPTED
from workbench.registries import registry
from workbench.system.journal import LINES

Ends = tuple[float, float]
Observe = Callable[[dict[str, Any]], object]
EXACT = 1e-11  # gap of runs whose ends are compared to 1e-10


@cache
def clouds(n: int = 40, seed: int = 0, noise: bool = False) -> wb.Multiclass:
    """Three overlapping clouds in the plane, or labels without any pattern."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n) if noise else np.arange(n) % 3
    return wb.Multiclass(np.c_[rng.normal(size=(n, 2)) + 1.5 * np.eye(3)[np.arange(n) % 3][:, :2], np.ones(n)], y)


@cache
def apart() -> wb.Multiclass:
    """Three clouds that a hyperplane separates."""
    y = np.repeat([0, 1, 2], 10)
    X = np.c_[np.random.default_rng(1).normal(size=(30, 2)) + 12 * np.eye(3)[y][:, :2], np.ones(30)]
    return wb.Multiclass(X, y)


@cache
def scaled() -> wb.Multiclass:
    """600 samples of 40 features on scales from .1 to 3, with labels at random."""
    rng = np.random.default_rng(5)
    X = np.c_[rng.normal(size=(600, 40)) * 10.0 ** rng.uniform(-1, 0.5, 40), np.ones(600)]
    return wb.Multiclass(X, rng.integers(0, 6, 600))


@cache
def motifs() -> wb.Motif:
    return registry("problem").get("motif")(n=12, span=12)


def solving(form: Any, problem: Callable[[], Any], options: dict[str, Any], folder: Path, observe: Observe) -> Ends:
    journal = going_on(folder)
    found = wb.solve(form, problem(), **{"gap": EXACT, **options}, journal=journal, observe=observe)
    if not isinstance(journal, Path):
        journal.close()
    if found.lower_kind == "none":
        return found.upper, found.upper
    if found.status != "optimal":
        raise AssertionError(f"the run ended {found.status}")
    return found.lower, found.upper


def commanded(words: list[str], number: Callable[[dict[str, Any]], float], folder: Path, _: Observe) -> Ends:
    """A command with --out, or `resume` if its folder holds a journal."""
    lines = folder / "journal" / LINES
    begun = lines.is_file() and b"\n" in lines.read_bytes()
    words = ["resume", str(folder)] if begun else [*words, "--out", str(folder)]
    out = io.StringIO()
    with contextlib.redirect_stdout(out), open(os.devnull, "w") as nothing, contextlib.redirect_stderr(nothing):
        code = cli.main([*words, "--json"], standalone_mode=False)
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    if code not in (0, 3):
        raise AssertionError(f"the command ended with {code}")
    value = number(json.loads(out.getvalue()))
    return value, value


def reference(record: dict[str, Any]) -> float:
    rows = record["learners"]
    if [row["name"] for row in rows] != ["bcfw", "dual-block", "subgradient"]:
        raise AssertionError(f"rows are missing: {[row['name'] for row in rows]}")
    return record["reference"]["upper"] + sum(row["excess"] for row in rows)


def counted(record: dict[str, Any]) -> float:
    return float(len(record)) if not any("error" in each for each in record.values()) else np.nan


CROSSCHECK = ["crosscheck", "toy", "soft-margin", "--learners", "bcfw,dual-block,subgradient", "--passes", "5"]
BENCH = ["bench", "flows", "masters", "--set", "n=8", "--set", "repeats=1"]
RUNS: dict[str, Callable[[Path, Observe], Ends]] = {
    "cuts": partial(solving, wb.SoftMargin(lam=0.05), clouds, {"groups": "one"}),
    "cuts, all groups": partial(solving, wb.SoftMargin(lam=0.003), clouds, {}),
    "cuts, compiled master": partial(solving, wb.SoftMargin(lam=0.05), clouds, {"master": "compiled"}),
    "hard margins": partial(solving, wb.HardMargin(), apart, {"gap": 1e-9}),
    "passes": partial(solving, wb.SoftMargin(lam=0.0002), clouds, {"master": "dual-block"}),
    "smooth": partial(solving, wb.CRF(lam=1e-4), scaled, {}),
    "alternation": partial(solving, wb.LatentSSVM(C=10.0, starts=4), motifs, {"gap": EXACT}),
    "search": partial(solving, wb.SelfPaced(C=20.0, K=2.0), partial(clouds, 24, 3, True), {}),
    "compact": partial(solving, wb.SoftMargin(lam=0.05, declare="compact"), clouds, {"gap": 1e-9}),
    "crosscheck": partial(commanded, CROSSCHECK, reference),
    "bench": partial(commanded, BENCH, counted),
}
ONCE = ("compact", "bench")  # a single call of a backend, or benchmarks as wholes, which begin again
LOOSE = {"hard margins": 1e-8, "compact": 1e-8}  # relative, where the gap asked for is larger
