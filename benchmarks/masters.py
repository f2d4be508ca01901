"""What a compiled master saves: one loop of cut generation, several ways to hand its rows to a convex solver.

    compiled   the CVXPY program without cuts compiled once, rows appended natively (solving/masters/declared.py)
    gram       the dual over the rows' Gram matrix, no CVXPY at all
    stacked    a CVXPY problem rebuilt each round, all rows in one constraint
    scalar     a CVXPY problem rebuilt each round, one constraint a row, as tutorials do
    ascent     our own warm-started dual ascent, which `solve` takes where its passes stand still

The loop (`generate`: which cuts, which are pruned, which bounds, when to stop), the backend and its
tolerance are the same in all. Numbers are CPU seconds of this process, all its threads; the ways take
turns in every repetition, and a ratio is the median over the repetitions.
"""

from __future__ import annotations

import statistics
import time
from functools import cache
from pathlib import Path
from typing import Any

from workbench.backends import backend
from workbench.data.loading import load_problem
from workbench.errors import checked_whole
from workbench.formulations.soft_margin import SoftMargin
from workbench.proofs.bounds import Bounds
from workbench.registries import load_file
from workbench.solving.cutting_planes import generate
from workbench.solving.family import Family
from workbench.solving.masters.choice import make_master
from workbench.solving.request import Request

OURS, REBUILT = ("compiled", "gram"), ("stacked", "scalar")


@cache
def rebuilt() -> Any:
    """The module of the rebuilt masters, which imports CVXPY."""
    return load_file(Path(__file__).with_name("_rebuilt.py"), "benchmark")


def spent(form: SoftMargin, problem: Any, gap: float, way: str, name: str | None) -> tuple[float, Any]:
    """CPU seconds of a whole run, the master's construction included, and its last round."""
    began = time.process_time()
    family = Family(Bounds(form, problem), problem.n_samples)
    if way in REBUILT:
        master = rebuilt().RebuiltMaster(family, name, rebuilt().WRITTEN[way])
    else:
        master = make_master(way, family, backend(name) if name else None)
    state = generate(family, master, Request(gap))
    assert state.status == "optimal", f"{way} {name} ended {state.status}"
    return time.process_time() - began, state.history[-1]


def masters(n: int = 300, lam: float = 0.1, gap: float = 1e-9, repeats: int = 3, backends: str = "PIQP,CLARABEL"):
    """CPU of the masters on the first n digits, and how much dearer rebuilding is, for each backend.

    cpu_WAY_BACKEND, rounds_WAY_BACKEND   medians
    stacked_over_ours_BACKEND, scalar_over_ours_BACKEND   against the cheaper of compiled and gram
    best_backend, stacked_ratio, scalar_ratio   that of the backend which is the cheapest for ours
    stacked_over_default, scalar_over_default   the cheapest backend of the rebuilt ones against ascent
    """
    checked_whole(1, n=n, repeats=repeats)
    problem, form = load_problem("digits")(n=n), SoftMargin(lam)
    names = [name.strip().upper() for name in backends.split(",")]
    cases = [("ascent", None)] + [(way, name) for name in names for way in (*OURS, *REBUILT)]
    small = load_problem("digits")(n=20)
    for way, name in cases:  # imports and compilations are nobody's
        spent(form, small, 1e-3, way, name)
    costs: dict[Any, list[float]] = {case: [] for case in cases}
    rounds: dict[Any, int] = {}
    for _ in range(repeats):
        for case in cases:
            cost, last = spent(form, problem, gap, *case)
            costs[case].append(cost)
            rounds[case] = last["round"]

    def ratio(over: list[tuple], under: list[tuple]) -> float:
        """The cheapest of `over` by the cheapest of `under` in each repetition; the median."""
        best = [[min(costs[case][r] for case in cases) for cases in (over, under)] for r in range(repeats)]
        return statistics.median(a / b for a, b in best)

    record: dict[str, Any] = {"n": n, "lam": lam, "gap": gap, "repeats": repeats}
    for way, name in cases:
        suffix = f"{way}_{name.lower()}" if name else way
        record |= {f"cpu_{suffix}": statistics.median(costs[way, name]), f"rounds_{suffix}": rounds[way, name]}
    for name in names:
        for way in REBUILT:
            record[f"{way}_over_ours_{name.lower()}"] = ratio([(way, name)], [(own, name) for own in OURS])
    record["best_backend"] = min(names, key=lambda name: min(statistics.median(costs[way, name]) for way in OURS))
    for way in REBUILT:
        record[f"{way}_ratio"] = record[f"{way}_over_ours_{record['best_backend'].lower()}"]
        record[f"{way}_over_default"] = ratio([(way, name) for name in names], [("ascent", None)])
    return record


NAMES = {"masters": masters}
