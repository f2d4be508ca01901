"""AdaGrad against certified optima: objectives (1) and (10), and the soft margin, on three problems, five seeds each.

A run has `passes` passes, every sample once a pass, in orders drawn from the seed. λ₂ = N/20 for N places, and K is
the number of error classes under (1), where costs share it. A row tells the worst relative excess of the five
seeds above the certified lower bound, the verdicts, and the time of a visit; `failed` counts the runs whose verdict
is not `agrees` at the tolerance.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.data.loading import load_problem
from workbench.errors import checked_whole
from workbench.formulations.cost_learning import NormalizedCostLearning, SimplexCostLearning
from workbench.formulations.soft_margin import SoftMargin
from workbench.judging.verdicts import crosscheck
from workbench.registries import load_file
from workbench.solvers.adagrad import AdaGrad
from workbench.solving.solve import solve
from workbench.solving.stochastic import run

settings = load_file(Path(__file__).with_name("_settings.py"), "benchmark")

PROBLEMS = {"toy": {}, "synthetic-chain": {"n": 20}, "synthetic-text": {"n": 100}}
STEPS = {"toy": 0.5, "synthetic-chain": 1.0, "synthetic-text": 0.5}  # of the size of the weights
SEEDS = range(5)


def forms(problem: Any) -> list[Any]:
    """Objectives (1) and (10), and the soft margin, at about equal regularisation."""
    lam2, k = len(problem.labels) / 20, len(problem.classes)
    share = float(k * (k - 1) // 2)
    return [SimplexCostLearning(lam2=lam2, K=share), NormalizedCostLearning(lam2=lam2), SoftMargin(lam=0.1)]


def adagrad(
    passes: int = 8000, decay: float = 0.5, tolerance: float = 1e-3, only: str = ",".join(PROBLEMS)
) -> dict[str, Any]:
    """Worst excess of five seeds for each problem and objective, at this budget."""
    checked_whole(1, passes=passes)
    rows = []
    for name in settings.chosen(only, PROBLEMS, "problem"):
        problem, solver = load_problem(name)(**PROBLEMS[name]), AdaGrad(step=STEPS[name], decay=decay)
        for form in forms(problem):
            best = solve(form, problem, gap=tolerance / 10)
            traces = [run(solver, form, problem, passes, seed, [passes], order="permutation") for seed in SEEDS]
            seconds = sum(float(trace.seconds[-1]) for trace in traces)
            found = [crosscheck(trace, best, tolerance) for trace in traces]
            rows.append(
                {
                    "problem": name,
                    "objective": type(form).__name__,
                    "optimum": best.upper,
                    "excess": max(verdict.excess for verdict in found),
                    "agrees": sum(verdict.verdict == "agrees" for verdict in found),
                    "microseconds": 1e6 * seconds / (len(SEEDS) * passes * problem.n_samples),
                }
            )
    return {"rows": rows, "failed": sum(len(SEEDS) - row["agrees"] for row in rows)}


NAMES = {"adagrad": adagrad}
