"""Do learned costs fall as errors grow more frequent? Property (7) of McDowell (2014), measured.

    (7)   v_S ≤ v_S′  ⇔  |S| ≥ |S′|          for objective (1), |S| the number of predictions that err in class S

The source says that (7) "tends to be true". Objective (1) is solved on random clouds of points and on real data, each
to the gap. A row has, over the classes S that an error can reach,

    rank         Spearman's rank correlation of v_S and |S|: negative where frequent errors cost less
    rank_dual    the same with q_S, errors of cost-augmented maxima in the shares of the dual (docs/mathematics.md §5)
    discordant   the share of pairs (S, S′) with v_S < v_S′ − 0.001 and |S| < |S′|: counterexamples to (7)

A correlation is missing where all costs or all counts are equal. `random_rank` is the mean over the random problems,
`random_deviation` the standard deviation, `random_negative` the number of random problems with a negative correlation,
`random_counted` that of random problems with one. `failed` counts problems above the gap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.contracts import Floats
from workbench.data.datasets import MissingData
from workbench.data.loading import load_problem
from workbench.errors import checked_whole
from workbench.formulations.cost_learning import SimplexCostLearning
from workbench.objectives.factorings import error_counts, reachable
from workbench.outputs.multiclass import Multiclass
from workbench.solving.solution import Solution
from workbench.solving.solve import solve

REAL = {"iris": {}, "wine": {}, "digits": {"n": 300}, "reuters": {"n": 300}, "synthetic-costs": {"suite": "plus-rare"}}
SEPARATED = {"digits": 400.0, "reuters": 400.0}  # times λ₂: with less, no training error is left to be counted
DIFFERENT = 1e-3  # of two costs
PAIRS = ("ordered", "unordered")


def clouds(seed: int, n: int) -> Multiclass:
    """n points of 3 to 6 labels with random shares, normal about random centres in 4 dimensions."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(3, 7))
    labels = np.concatenate([np.arange(k), rng.choice(k, n - k, p=rng.dirichlet(np.full(k, 3.0)))])
    centres, spread = rng.normal(size=(k, 4)), rng.uniform(0.5, 1.5)
    return Multiclass(centres[labels] + spread * rng.normal(size=(n, 4)), labels)


def error_counts_table(
    count: int = 60, n: int = 60, lam2: float = 0.5, gap: float = 1e-6, real: bool = True
) -> dict[str, Any]:
    """`count` random problems of n points, then the real ones, each with ordered and with unordered pairs."""
    checked_whole(1, count=count)
    checked_whole(6, n=n)
    problems = {f"random {seed}": clouds(seed, n) for seed in range(count)}
    if real:
        problems |= real_problems()
    rows = [
        row(name, problem, pairs, SEPARATED.get(name, 1.0) * lam2, gap)
        for name, problem in problems.items()
        for pairs in PAIRS
    ]
    drawn = [each["rank"] for each in rows if each["problem"].startswith("random") and each["rank"] is not None]
    return {
        "rows": rows,
        "random_rank": float(np.mean(drawn)) if drawn else 0.0,
        "random_deviation": float(np.std(drawn)) if drawn else 0.0,
        "random_negative": sum(each < 0 for each in drawn),
        "random_counted": len(drawn),
        "failed": sum(each["gap"] > gap for each in rows),
    }


def real_problems() -> dict[str, Multiclass]:
    """By name; Reuters only where the data are at hand."""
    found = {}
    for name, settings in REAL.items():
        try:
            found[name] = load_problem(name)(**settings)
        except MissingData:
            continue
    return found


def row(name: str, problem: Multiclass, pairs: str, lam2: float, gap: float) -> dict[str, Any]:
    form = SimplexCostLearning(lam2=lam2, factoring=pairs)  # type: ignore[arg-type]
    solution = solve(form, problem, gap=gap)
    classes, oracle = form.classes(problem), form.oracle(problem)
    live = reachable(problem, classes)
    said = oracle.decode(solution.theta_flat, np.arange(problem.n_samples))
    v, errors = solution.theta["v"][live], error_counts(problem, classes, said)[live]
    counted = {"problem": name, "pairs": pairs, "classes": int(live.sum()), "errors": float(errors.sum())}
    counted |= {"rank": correlation(v, errors), "rank_dual": correlation(v, dual_counts(solution)[live])}
    return counted | {"discordant": discordant(v, errors), "gap": solution.gap}


def dual_counts(solution: Solution) -> Floats:
    """q (m,): errors of each class in the shares of the certificate's weights."""
    certificate, oracle = solution.certificate, solution.formulation.oracle(solution.problem)
    slopes, _ = oracle.rows(certificate.samples, certificate.witnesses)
    return (slopes.T @ certificate.weights)[-oracle.sizes[2] :] / oracle.K


def correlation(one: Floats, other: Floats) -> float | None:
    """Spearman's rank correlation of costs, to three digits, with counts; None where either are all equal."""
    from scipy.stats import spearmanr

    one, other = np.round(one, 3), np.round(other, 3)
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(spearmanr(one, other).statistic)


def discordant(v: Floats, errors: Floats) -> float:
    cheaper, rarer = v[:, None] < v - DIFFERENT, errors[:, None] < errors
    pairs = len(v) * (len(v) - 1) / 2
    return float((cheaper & rarer).sum() / max(pairs, 1))


NAMES = {"error-counts": error_counts_table}
