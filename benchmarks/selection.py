"""Exact selection: the search against enumeration, a mixed-integer solver and alternation; novelty against CVXPY.

Data: x normal in ℝᵈ, labels by a random plane, some flipped; ½‖u‖² + Σ min((C/n)(1 − y⟨u, x⟩)₊, 1/K), as in
Kumar, Packer & Koller's self-paced learning with nothing hidden.

    search     n = 40, d = 5, 15 % flipped, C ∈ {10, 100}, 1/K ∈ {1, 2}·C/n, five seeds, to a gap of 1e-9; then
               1/K = C/4n, stopped early: its interval
    small      n ≤ 12, 1/K drawn so that the optimum keeps 40 to 90 %. By the search; by trying every selection; by SCIP
               on the declared mixed-integer program (its selection is kept, its value is not: the convex rest
               is solved again); and by alternation from the soft margin of all samples
    novelty    samples of 20 hidden states, 15 rivals each, in ℝ⁴⁰: the batch against one CVXPY program a state;
               and programs of 200 rows in ℝ⁵⁰⁰

Seconds are CPU seconds of this process; compilation, once a machine, is left out.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from workbench.backends import solve_cvxpy
from workbench.contracts import Floats
from workbench.errors import BackendFailed, checked_whole
from workbench.formulations.self_paced import SelfPaced
from workbench.objectives.least_change import floor, novelties
from workbench.objectives.novelty_program import least_change_program
from workbench.outputs.multiclass import Multiclass
from workbench.proofs.capped import CappedBounds
from workbench.solving.capped_terms import CappedTerms, alternation
from workbench.solving.solve import solve

AGREED = 1e-6


def flipped_plane(n: int, d: int, noise: float, rng: np.random.Generator) -> Multiclass:
    """Two classes; φ is scaled so that ½‖w‖² is ½‖u‖² and margins are y⟨u, x⟩."""
    X, plane = rng.normal(size=(n, d)), rng.normal(size=d)
    return Multiclass(X / np.sqrt(2), ((X @ plane > 0) ^ (rng.random(n) < noise)).astype(int), classes=[0, 1])


def searches(n: int, seeds: int, limit: float) -> list[dict[str, Any]]:
    rows = []
    for C, ratio, seed in itertools.product((10.0, 100.0), (1.0, 2.0, 0.25), range(seeds)):
        problem = flipped_plane(n, 5, 0.15, np.random.default_rng(seed))
        began = time.process_time()
        answer = solve(SelfPaced(C, n / (ratio * C)), problem, time_limit=60.0 if ratio >= 1 else limit)
        spent = time.process_time() - began - answer.compile_seconds
        row = {"C": C, "ratio": ratio, "seed": seed, "status": answer.status, "lower": answer.lower}
        row |= {"upper": answer.upper, "gap": answer.gap, "splits": answer.rounds, "cpu": max(spent, 0.0)}
        rows.append(row)
    return rows


def every_selection(terms: CappedTerms) -> tuple[float, float]:
    """The least F over all selections, each the convex optimum of what it keeps, and the share kept."""
    best, share = np.inf, 0.0
    for kept in sorted(itertools.product((True, False), repeat=terms.count), key=sum, reverse=True):
        if terms.cuts.caps[~np.array(kept)].sum() >= best:
            continue
        w = terms.learned(np.array(kept))
        value = w @ w / 2 + terms.values(w)[np.array(kept)].sum() + terms.cuts.caps[~np.array(kept)].sum()
        if value < best:
            best, share = float(value), float(np.mean(kept))
    return best, share


def mixed(form: SelfPaced, problem: Multiclass, terms: CappedTerms) -> float:
    """F with the selection that SCIP finds."""
    program, _, v = form.mixed_program(problem)
    program.solve(solver="SCIP")
    w = terms.learned(v.value > 0.5)
    return terms.objective(w, terms.values(w))


def instances(count: int, most: int) -> Iterator[tuple[SelfPaced, Multiclass, float]]:
    """Instances whose optimum keeps 40 to 90 % of the samples, and that optimum by trying every selection."""
    rng = np.random.default_rng(0)
    while count:
        n, d, C = int(rng.integers(6, most + 1)), int(rng.integers(2, 5)), float(rng.choice([5.0, 20.0, 100.0]))
        problem = flipped_plane(n, d, 0.3, rng)
        form = SelfPaced(C, n / (C * float(rng.uniform(0.3, 1.5))))
        best, share = every_selection(CappedTerms(CappedBounds(form, problem)))
        if 0.4 <= share <= 0.9:
            count -= 1
            yield form, problem, best


def small(count: int, most: int) -> list[dict[str, float]]:
    rows, scip = [], find_spec("pyscipopt") is not None
    for form, problem, best in instances(count, most):
        bounds = CappedBounds(form, problem)
        terms = CappedTerms(bounds)
        answer = solve(form, problem)
        local = alternation(form, problem, terms.learned(np.ones(terms.count, bool)))[1][-1]
        row = {"n": problem.n_samples, "enumeration": best, "search": abs(answer.upper / best - 1), "gap": answer.gap}
        row |= {"scip": abs(mixed(form, problem, terms) / best - 1)} if scip else {}
        rows.append(row | {"alternation": local / best - 1})
    return rows


def hidden(rng: np.random.Generator, states: int, rivals: int, d: int) -> list[tuple[Floats, Floats]]:
    """States of one sample; in each some δ keeps all rows."""
    drawn = [rng.normal(size=(rivals, d)) for _ in range(states)]
    return [(rows, rows @ rng.normal(size=d) - rng.exponential(size=rivals)) for rows in drawn]


def declared(states: list[tuple[Floats, Floats]]) -> float:
    """Each program in units of its hardest row alone: a backend's tolerances are partly absolute."""
    values = []
    for rows, needs in states:
        unit = np.sqrt(2 * floor(rows, needs)) or 1.0
        program, _ = least_change_program(rows, needs / unit)
        first_that_answers(program)
        values.append(unit**2 * program.value)
    return min(values)


def first_that_answers(program: Any) -> None:
    """CLARABEL, or, where it gives up (one program in some ten thousand), another; `BackendFailed` if both do."""
    try:
        solve_cvxpy(program, "CLARABEL")
    except BackendFailed:
        solve_cvxpy(program, "PIQP")


def relative(one: Floats, other: Floats) -> float:
    """The worst relative difference; samples that are right already have novelty 0, hence the floor."""
    return float((np.abs(one - other) / np.maximum(np.abs(other), 1e-6)).max())


def novelty(samples: int, programs: int) -> dict[str, float]:
    rng = np.random.default_rng(0)
    cases = [hidden(rng, 20, 15, 40) for _ in range(samples)]
    large = [hidden(rng, 1, 200, 500) for _ in range(programs)]
    novelties(cases[:1])
    times = [time.process_time()]
    found = novelties(cases)
    times.append(time.process_time())
    values = np.array([declared(states) for states in cases])
    times.append(time.process_time())
    wide = novelties(large)
    times.append(time.process_time())
    ours, theirs, alone = np.diff(times)
    return {
        "novelty_samples": samples,
        "novelty_difference": relative(found.values, values),
        "novelty_width": relative(found.upper, found.lower),
        "novelty_several_active": float((found.active > 1).mean()),
        "novelty_cpu": float(ours),
        "novelty_cvxpy_cpu": float(theirs),
        "novelty_ratio": float(theirs / max(ours, 1e-9)),
        "large_programs": programs,
        "large_cpu": float(alone),
        "large_width": relative(wide.upper, wide.lower),
        "large_active": float(wide.active.mean()),
    }


def selection(
    n: int = 40, seeds: int = 5, limit: float = 5.0, count: int = 100, most: int = 12, samples: int = 1000
) -> dict[str, Any]:
    """What the search proves and how fast; where SCIP, enumeration and alternation end; novelty's speed.

    proven, slowest_cpu : searches that reached the gap, and the slowest;  early_gap : the widest early interval
    *_agreed : small instances on which two routes differ by at most 1e-6;  alternation_worse : on which it ends above
    """
    checked_whole(1, n=n, seeds=seeds, count=count, most=most, samples=samples)
    runs, few = searches(n, seeds, limit), small(count, most)
    whole = [row for row in runs if row["ratio"] >= 1]
    record: dict[str, Any] = {
        "searches": len(whole),
        "proven": sum(row["status"] == "optimal" for row in whole),
        "slowest_cpu": max(row["cpu"] for row in whole),
        "early_gap": max(row["gap"] for row in runs if row["ratio"] < 1),
        "instances": len(few),
        "search_agreed": sum(row["search"] <= AGREED and row["gap"] <= 1e-9 for row in few),
        "scip_agreed": sum(row["scip"] <= AGREED for row in few if "scip" in row),
        "scip_instances": sum("scip" in row for row in few),
        "alternation_worse": sum(row["alternation"] > AGREED for row in few),
        "alternation_worst": max(row["alternation"] for row in few),
    }
    return record | novelty(samples, samples) | {"rows": runs, "small": few}


NAMES = {"selection": selection}
