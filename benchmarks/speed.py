"""Ours, CVXPY and other people's learners side by side: CPU seconds to certified gaps, in one run.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 cutbench bench speed
    cutbench bench speed --set only=digits --set n=100 --set gap=1e-2
    cutbench bench large-speed                                generated data of the size of real text and tagging

The races, how they are timed and judged: `judging/racing.py`. The times of a method that reaches no gap are
None, with what it reached in the time as `best`; one that cannot take part, or is absent, says why in `refusal`.
"""

from __future__ import annotations

import resource
import time
from typing import Any, NamedTuple

from workbench.data.loading import load_problem
from workbench.errors import BadInput, UnknownName
from workbench.judging.racing import RACES, race, unit
from workbench.registries import registry
from workbench.solving.solve import solve

GAPS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


def speed(only: str = "", methods: str = "", n: int = 0, gap: float = 1e-4, seconds: float = 60.0) -> dict[str, Any]:
    """A row per race and method: seconds to 1e-1, 1e-2, … down to `gap`; CASE_METHOD_ratio against the first of ours.

    only, methods : names apart by commas, all if empty;  n : samples, 0 stands for each race's own
    seconds : CPU that a method may take, one fit or solve more or less
    cpu_GAP, passes_GAP, ratio_GAP of a row : CPU seconds, exact oracle passes of the same price, times ours
    glue of a row : the part of the last fit's CPU seconds in Python, between dlib's C++ and our compiled code
    CASE_METHOD_ratio : ratio at the smallest gap that both reached;  CASE_unit_ms : CPU of one exact oracle pass
    """
    if gap not in GAPS or n < 0 or not seconds > 0:
        raise BadInput(f"gap={gap}, n={n}, seconds={seconds}; give a gap of 1e-1 to 1e-6, n ≥ 0 and seconds > 0.")
    chosen = named(only) or list(RACES)
    for name in chosen:
        if name not in RACES:
            raise UnknownName("race", name, RACES)
    record: dict[str, Any] = {"rows": []}
    for name in chosen:
        case = RACES[name]
        data, form, problem = case.built(n or None)
        tracks = race(form, problem, named(methods) or case.methods, gap, seconds)
        price, ours = unit(tracks), next(iter(tracks.values()))
        record[f"{name}_unit_ms"] = 1e3 * price
        for method, track in tracks.items():
            row = {"race": name, "data": data, "n": problem.n_samples, "lam": form.lam, "method": method}
            for each in GAPS[: GAPS.index(gap) + 1]:
                spent, own = track.reached(each), ours.reached(each)
                row[f"cpu_{each:.0e}"], row[f"passes_{each:.0e}"] = spent, spent and spent / price
                row[f"ratio_{each:.0e}"] = ratio = spent / own if spent and own else None
                if ratio and track is not ours:
                    record[f"{name}_{method}_ratio"] = ratio
            best = min((each for _, each in track.laps), default=None)
            record["rows"].append(
                row | {"best": best, "glue": track.glue / track.spent if track.spent else 0.0, "refusal": track.refusal}
            )
    return record


TEXT = {"n": 11314, "labels": 20, "words": 48000, "length": 240}
TAGS = {"n": 1500, "labels": 23, "length": 43, "words": 9000, "endings": 2822}
SMALL = {"synthetic-text": {"n": 40, "labels": 3}, "synthetic-tags": {"n": 10, "labels": 3}}


class Large(NamedTuple):
    """A solve of generated data: problem, its settings, formulation, its settings, the gap, and CPU seconds aimed at.

    lam = 0 stands for 1/n.
    """

    problem: str
    sizes: dict[str, Any]
    formulation: str
    settings: dict[str, Any]
    gap: float
    aim: float


def learned(problem: str, sizes: dict[str, Any], kind: str, lam2: float, K: float, aim: float) -> Large:
    return Large(problem, sizes, f"{kind}-cost-learning", {"lam2": lam2, "K": K}, 1e-3, aim)


LARGE = {
    "text-soft": Large("synthetic-text", TEXT, "soft-margin", {"lam": 0.0}, 1e-3, 5),
    "text-slack": Large("synthetic-text", TEXT, "soft-margin", {"lam": 0.0, "rescaling": "slack"}, 1e-3, 15),
    "text-hard": Large("synthetic-text", TEXT | {"n": 1000}, "hard-margin", {}, 1e-3, 30),
    "text-simplex": learned("synthetic-text", TEXT, "simplex", 0.5, 190.0, 20),
    "text-simplex-rough": learned("synthetic-text", TEXT, "simplex", 0.02, 1.0, 60),
    "text-normalized": learned("synthetic-text", TEXT, "normalized", 0.5, 190.0, 20),
    "text-normalized-rough": learned("synthetic-text", TEXT, "normalized", 0.02, 1.0, 60),
    "tags-soft": Large("synthetic-tags", TAGS, "soft-margin", {"lam": 0.01}, 1e-3, 60),
    "tags-soft-rough": Large("synthetic-tags", TAGS, "soft-margin", {"lam": 0.0}, 1e-3, 60),
    "tags-slack": Large("synthetic-tags", TAGS, "soft-margin", {"lam": 0.0, "rescaling": "slack"}, 1e-2, 60),
    "tags-simplex": learned("synthetic-tags", TAGS, "simplex", 0.5, 253.0, 60),
    "tags-normalized": learned("synthetic-tags", TAGS, "normalized", 0.5, 253.0, 60),
}


def large_speed(only: str = "", seconds: float = 600.0, small: bool = False) -> dict[str, Any]:
    """A row for each solve of LARGE: CPU seconds, proof included, against the seconds aimed at.

    only : names apart by commas, all if empty;  seconds : the time limit of a solve;  small : data of a few samples
    cpu, gap, status, lower, upper of a row : the solve's;  peak_mb : of this process so far;  met : within the aim
    """
    record: dict[str, Any] = {"rows": []}
    for name in named(only) or list(LARGE):
        if name not in LARGE:
            raise UnknownName("solve", name, LARGE)
        case = LARGE[name]
        problem = load_problem(case.problem)(**(SMALL[case.problem] if small else case.sizes))
        settings = dict(case.settings)
        if settings.get("lam") == 0.0:
            settings["lam"] = 1 / problem.n_samples
        form = registry("formulation").get(case.formulation)(**settings)
        rehearsal = load_problem(case.problem)(**SMALL[case.problem])
        solve(form, rehearsal, gap=0.5, master="dual-block", time_limit=30)  # numba's compilation is not counted
        began = time.process_time()
        found = solve(form, problem, gap=case.gap, master="dual-block", time_limit=seconds)
        cpu = time.process_time() - began
        row = {"solve": name, "n": problem.n_samples, "dim": len(found.theta_flat), "wanted": case.gap, "cpu": cpu}
        row |= {"aim": case.aim, "gap": found.gap, "status": found.status, "lower": found.lower, "upper": found.upper}
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        record["rows"].append(row | {"peak_mb": peak, "met": found.status == "optimal" and cpu <= case.aim})
    record["met"] = sum(row["met"] for row in record["rows"])
    return record


def named(words: str) -> list[str]:
    return list(filter(None, map(str.strip, words.split(","))))


NAMES = {"speed": speed, "large-speed": large_speed}
