"""K is unnecessary: over a grid of (K, λ₂), the optimum is that of K = 1 at Kλ₂ with weights K times as large.

    F(Kw, Kb, v; λ₂, λ₁, K) = K F(w, b, v; Kλ₂, λ₁, 1)          (docs/mathematics.md §5, with the proof)

Each cell of the grid is solved twice, with K and without it, for objectives (1) and (10). A row has the proven bounds
of F/K from both, how far the weights differ (‖w_K/K − w_1‖ and the spread of b_K/K − b_1), what ‖w − w*‖ ≤ √(gap/λ₂)
allows for w, and on how many of the samples, and of others never learned from, the two predict differently. `failed`
counts the cells whose intervals do not meet, or whose predictions differ.

A backend is handed the declaration in units of K, which makes one program of both. That its solution is optimal for
either objective is what the bounds prove; they are computed from θ, λ₂, λ₁ and K as they are.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from workbench.data.loading import load_problem
from workbench.errors import checked_whole
from workbench.formulations.cost_learning import NormalizedCostLearning, SimplexCostLearning
from workbench.registries import load_file
from workbench.solving.solution import Solution
from workbench.solving.solve import solve

settings = load_file(Path(__file__).with_name("_settings.py"), "benchmark")


def k_scaling(
    scales: str = "0.1,1,10,100", lam2s: str = "0.02,0.2,2", lam1: float = 0.05, n: int = 60, gap: float = 1e-9
) -> dict[str, Any]:
    """The grid on `toy`, n points; `scales` are the K."""
    checked_whole(1, n=n)
    problem, others = (load_problem("toy")(n=n, rng=seed) for seed in (0, 1))
    rows = []
    for kind in (SimplexCostLearning, NormalizedCostLearning):
        for K in settings.numbers(scales, "scales"):
            for lam2 in settings.numbers(lam2s, "lam2s"):
                one, plain = (
                    solve(kind(each, lam1, scale), problem, gap=gap) for each, scale in ((lam2, K), (K * lam2, 1.0))
                )
                w, b = one.theta["w"] / K, one.theta["b"] / K
                away = np.linalg.norm(w - plain.theta["w"]) + np.ptp(b - plain.theta["b"])
                rows.append(
                    {
                        "objective": kind.__name__,
                        "K": K,
                        "lam2": lam2,
                        "lower": one.lower / K,
                        "upper": one.upper / K,
                        "lower_without": plain.lower,
                        "upper_without": plain.upper,
                        "weights_apart": float(away),
                        "allowed": math.sqrt((one.upper - one.lower) / lam2) / K
                        + math.sqrt((plain.upper - plain.lower) / (K * lam2)),
                        "costs_apart": float(np.abs(one.theta["v"] - plain.theta["v"]).max()),
                        "differ": sum(
                            int((predicted(one, X) != predicted(plain, X)).sum()) for X in (problem.X, others.X)
                        ),
                    }
                )
    meet = [r["lower"] <= r["upper_without"] and r["lower_without"] <= r["upper"] for r in rows]
    return {"rows": rows, "failed": sum(not ok or r["differ"] > 0 for ok, r in zip(meet, rows, strict=True))}


def predicted(solution: Solution, X: Any) -> Any:
    return solution.problem.predict(solution.theta["w"], X, solution.theta["b"])


NAMES = {"k-scaling": k_scaling}
