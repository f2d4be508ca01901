"""Passes in threads (solving/block_ascent/lanes.py): seconds of the clock with one thread and with N, the same problem.

    cutbench bench threads --set n=6251 --set lam=0.01 --set gap=1e-4
    cutbench bench threads --set data=text --set n=11314 --set lam=0 --set repeats=9
    cutbench bench threads --set data=text --set n=60000 --set labels=5 --set length=80

Threads share the cores with whatever else runs, so the figures are those of a quiet machine.
"""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from workbench.data.datasets import MissingData
from workbench.data.loading import load_problem
from workbench.errors import UnknownName, checked_whole
from workbench.formulations.soft_margin import SoftMargin
from workbench.solving.solve import solve


def threads(
    n: int = 6251,
    lam: float = 0.01,
    gap: float = 1e-4,
    counts: str = "1,2",
    repeats: int = 3,
    data: str = "words",
    labels: int = 20,
    length: int = 240,
) -> dict[str, Any]:
    """Handwritten words of nine folds, or generated ones if the data are not at hand, to a certified gap.

    Medians over repetitions, taken in turns.

    data : words, or text, generated documents;  n : words or documents;  lam : λ, 0 for 1/n
    labels, length : topics of generated documents, and words of the longest
    counts : numbers of threads
    seconds : of `solve`, by the clock;  cpu_seconds : of all its threads;  ratio : seconds with the first count / these
    ceiling : what the machine has to give: how much more N threads do than one, each with exponentials of its own
    """
    checked_whole(1, n=n, repeats=repeats, labels=labels, length=length)
    source, problem = named(data, n, labels, length)
    formulation, rows = SoftMargin(lam=lam or 1 / n), {}
    for count in map(int, counts.split(",")):
        solve(formulation, problem, gap=0.5, master="dual-block", threads=count)  # compiles
        rows[count] = []
    for _ in range(repeats):
        for count, row in rows.items():
            began, busy = time.perf_counter(), time.process_time()
            found = solve(formulation, problem, gap=gap, master="dual-block", threads=count)
            spent = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - busy}
            row.append(spent | {"gap": found.gap, "upper": found.upper, "lower": found.lower, "told": found.parallel})
    table: list[dict[str, Any]] = []
    for count, row in rows.items():
        seconds = statistics.median(each["seconds"] for each in row)
        cpu = statistics.median(each["cpu_seconds"] for each in row)
        best = {"threads": count, "told": row[0]["told"], "seconds": seconds, "cpu_seconds": cpu}
        best |= {key: row[0][key] for key in ("gap", "upper", "lower")}
        ratio = table[0]["seconds"] / seconds if table else 1.0
        table.append(best | {"ratio": ratio, "ceiling": ceiling(count, repeats)})
    crossed = max(each["lower"] for each in table) > min(each["upper"] for each in table)
    return {"words": source, "n": n, "lam": formulation.lam, "asked": gap, "crossed": crossed, "rows": table}


def ceiling(count: int, repeats: int) -> float:
    """`count` times the seconds in which one thread does its work, over those in which so many do it side by side."""

    def work(_: int) -> None:
        x, out = np.linspace(-1, 1, 65536), np.empty(65536)  # fewer would have threads wait for Python's lock
        for _ in range(500):
            np.exp(x, out=out)

    def seconds(number: int) -> float:
        with ThreadPoolExecutor(number) as pool:
            began = time.perf_counter()
            list(pool.map(work, range(number)))
            return time.perf_counter() - began

    return statistics.median(count * seconds(1) / seconds(count) for _ in range(repeats))


def named(data: str, n: int, labels: int, length: int) -> tuple[str, Any]:
    if data == "text":
        return "text", load_problem("synthetic-text")(n=n, labels=labels, words=48000, length=length)
    if data != "words":
        raise UnknownName("data", data, ["words", "text"])
    try:
        return "ocr", load_problem("ocr")(n=n, fold=-1)
    except MissingData:
        return "generated", load_problem("synthetic-chain")(n=n, labels=26, length=14)


NAMES = {"threads": threads}
