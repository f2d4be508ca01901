"""Pictures learned: how fast two labels are, and what more labels prove with which oracle.

large      `train` pictures of size × size pixels and two labels: CPU seconds of `solve` to 10⁻⁴, after compiling
intervals  small pictures of three labels, where all labellings can be listed: the exact optimum, and what the under,
           relaxed and enclosed oracles prove of it (workbench/outputs/graph.py)
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from workbench.data.loading import load_problem
from workbench.errors import Contradiction, checked_whole
from workbench.formulations.soft_margin import SoftMargin
from workbench.outputs.graph import KINDS, Graph
from workbench.solving.solve import solve


def pictures(
    size: int = 64, train: int = 6, lam: float = 10.0, cases: int = 20, lams: float = 0.5, gap: float = 1e-7
) -> dict[str, Any]:
    """rows: one a small case: the exact optimum; lower and upper of each oracle; whether the enclosed interval closed.

    large_seconds, large_gap   of the large pictures
    large_error, noisy_error   shares of wrong pixels: learned; single pixels by their sign
    closed, contained          cases in which enclosed proved its gap; in which every bound that is said to hold does
    under_wrong                upper bounds of under that are none;  under_refuted : by its own lower bound, which ended
                               the run
    widest_enclosed, widest_relaxed   (upper − exact)/exact at worst
    """
    checked_whole(1, cases=cases)
    rows = [small(seed, lams, gap) for seed in range(cases)]
    return {
        **large(size, train, lam),
        "cases": cases,
        "closed": sum(row["enclosed_upper"] - row["enclosed_lower"] <= 10 * gap * row["exact"] for row in rows),
        "contained": sum(
            max(row["enclosed_lower"], row["under_lower"]) <= row["exact_upper"]
            and row["exact"] <= min(row["enclosed_upper"], row["relaxed_upper"])
            for row in rows
        ),
        "under_refuted": sum(row["under_refuted"] for row in rows),
        "under_wrong": sum(row["under_upper"] < row["exact"] * (1 - 10 * gap) for row in rows),
        **{f"widest_{o}": max(row[f"{o}_upper"] / row["exact"] - 1 for row in rows) for o in ("enclosed", "relaxed")},
        "rows": rows,
    }


def large(size: int, train: int, lam: float) -> dict[str, float]:
    """Two labels, solved to 10⁻⁴."""
    problem = load_problem("grid")(n=train, size=size)
    problem.argmax(np.zeros(problem.n_features), np.array([0]))  # compiles
    began = time.process_time()
    solution = solve(SoftMargin(lam=lam), problem, gap=1e-4)
    return {
        "large_seconds": time.process_time() - began - solution.compile_seconds,
        "large_gap": solution.gap,
        "large_error": solution.train_error / size**2,
        "noisy_error": float(((problem.nodes.toarray()[:, 0] > 0) != problem.labels).mean()),
    }


def small(seed: int, lam: float, gap: float) -> dict[str, float]:
    """Four 3 × 3 pictures of three labels by every oracle."""
    rng, grid = np.random.default_rng(seed), sys.modules[load_problem("grid").__module__]
    truth = [np.repeat(rng.integers(0, 3, (3, 1)), 3, axis=1).ravel() for _ in range(4)]
    seen = [grid.observed(rng, y, 3, 1.0) for y in truth]
    edges = grid.neighbours(3)
    pairs = [grid.likeness(x, edges) for x in seen]
    row: dict[str, float] = {"seed": seed, "under_refuted": 0}
    for oracle in KINDS:
        problem = Graph(seen, [edges] * 4, truth, pairs, "hamming", classes=np.arange(3), oracle=oracle)
        rounds: list[dict[str, Any]] = []
        try:
            last = vars(solve(SoftMargin(lam=lam), problem, gap=gap, observe=rounds.append))
        except Contradiction:
            if oracle != "under":
                raise
            last, row["under_refuted"] = rounds[-1], 1
        row |= {f"{oracle}_lower": last["lower"], f"{oracle}_upper": last["upper"]}
    return row | {"exact": row["exact_lower"]}


NAMES = {"pictures": pictures}
