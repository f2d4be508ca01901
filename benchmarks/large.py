"""Large generated data: what every formulation reaches by every route within a time limit, and in how much memory.

    cutbench bench large --set limit=30                         about an hour
    cutbench bench large --set only=text --set formulations=soft-margin,crf --set limit=10

`synthetic-text` and `synthetic-tags`, in the sizes of `cutbench bench large-speed`. Each pair of formulation and route
is solved in a process of its own under a memory limit of 4 GiB, and its peak memory is read at the end. The route is
the master of cut generation, the compact declaration, or `own` for formulations that are not solved by cuts. Soft
margins and the CRF have λ = 1/n.

    keeps       the seconds used are at most `limit` + 10 % + 2 s; waiting for a busy machine counts, but not with
                clock=processor, where limits and seconds are those of the process's processor (backends that run in
                processes of their own count theirs not)
    improves    the run is optimal, or both ends are proven and the gap at the end is below the one half way
    predicts    an answer that the limit cut off has at most the training error of the soft margin, the first row of
                the same data, + 0.5 %
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from workbench.contracts import CutForm, Declared
from workbench.data.loading import load_problem
from workbench.errors import BadInput, CutbenchError, MissingCapability, OutOfMemory
from workbench.registries import load_file, misfit, registry
from workbench.solving import progress
from workbench.solving.masters.choice import choose
from workbench.solving.solve import solve
from workbench.system.memory import limited_to

settings = load_file(Path(__file__).with_name("_settings.py"), "benchmark")
ROOT = Path(__file__).resolve().parents[1]
SIZES = {
    "text": ("synthetic-text", {"n": 11314, "labels": 20, "words": 48000, "length": 240}),
    "tags": ("synthetic-tags", {"n": 1500, "labels": 23, "length": 43, "words": 9000, "endings": 2822}),
}
SMALL = {"text": {"n": 40, "labels": 3}, "tags": {"n": 10, "labels": 3}}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {"slack-rescaling": ("soft-margin", {"rescaling": "slack"})}
SETTINGS: dict[str, dict[str, Any]] = {
    "simplex-cost-learning": {"lam2": 0.5, "K": 190.0},
    "normalized-cost-learning": {"lam2": 0.5, "K": 190.0},
}
MASTERS = ("dual-block", "ascent", "gram", "compiled")
GAP = 1e-6
MEMORY = 4 * 2**30  # bytes that a solve may take, as by --memory-limit
PATIENCE, SETTING_UP = 4.0, 240.0  # times the limit, and seconds more: what takes longer is killed, as its row says


def large(
    limit: float = 30.0,
    only: str = "",
    formulations: str = "",
    routes: str = "",
    small: bool = False,
    clock: str = "wall",
) -> Iterator[dict[str, Any]]:
    """A row for each data set, formulation and route.

    limit : seconds asked of each solve;  only, formulations, routes : names with commas, all if empty
    small : a few samples of each data set;  clock : wall or processor
    status, lower, upper, gap, error of a row : the solve's, `error` the mean training loss;  half : the gap half way
    soft : the soft margin's error, None before its row
    asked, seconds, cpu : the limit, the seconds of the clock and of the processor;  peak_mb : of the process
    remark : why there is no answer;  keeps, improves, predicts : the demands above, None where they do not apply
    late, stuck, large, worse : how many rows miss one of the demands, or take more than 4 GiB
    """
    if not limit > 0:
        raise BadInput(f"limit is {limit:g}; give seconds above 0.")
    if clock not in ("wall", "processor"):
        raise BadInput(f"clock is {clock!r}; choose wall or processor.")
    record: dict[str, Any] = {"rows": []}
    asked = (only, SIZES), (formulations, every()), (routes, all_routes())
    for data, name, route in pairs(*(settings.chosen(words, known, "name") for words, known in asked)):
        row = {"data": data, "formulation": name, "route": route, "asked": limit}
        record["rows"].append(judged(row | measured(row | {"small": small, "clock": clock}), record["rows"]))
        yield record | totals(record["rows"]) | {"finished": f"{data} {name} {route}"}


def every() -> list[str]:
    """The formulations; soft margins first, which others are compared with."""
    known = [each for each in registry("formulation").names() if each != "soft-margin"]
    return ["soft-margin", *VARIANTS, *known]


def all_routes() -> list[str]:
    return [*MASTERS, "compact", "own"]


def pairs(datasets: list[str], names: list[str], routes: list[str]) -> Iterator[tuple[str, str, str]]:
    """Those of the pairs that fit a data set of a few samples."""
    for data in datasets:
        problem = load_problem(SIZES[data][0])(**SMALL[data])
        for name in names:
            form = formulation(name, problem)
            if misfit(form, problem) is None:
                yield from ((data, name, route) for route in routes if fits(form, problem, route))


def formulation(name: str, problem: Any, route: str = "own") -> Any:
    """The formulation of this name, with λ = 1/n where it takes λ; declared as a whole for the compact route."""
    name, settings = VARIANTS.get(name, (name, SETTINGS.get(name, {})))
    kind = registry("formulation").get(name)
    if name in ("soft-margin", "crf"):
        settings = settings | {"lam": 1 / problem.n_samples}
    return kind(**settings, **({"declare": "compact"} if route == "compact" else {}))


def fits(form: Any, problem: Any, route: str) -> bool:
    """Whether the route is one of the formulation's."""
    from workbench.proofs.any_bounds import bounds_for
    from workbench.proofs.bounds import Bounds

    try:
        bounds = bounds_for(form, problem)
    except MissingCapability:
        return route == "own"  # an alternation has no bounds of its whole
    if not isinstance(bounds, Bounds) or not isinstance(form, CutForm):
        return route == "own"
    if route == "compact":
        return isinstance(form, Declared)
    try:
        return route in MASTERS and bool(choose(bounds, len(bounds.samples), route, None))
    except BadInput:
        return False


# ── one row ───────────────────────────────────────────────────────────────────────────────────────


def measured(asked: dict[str, Any]) -> dict[str, Any]:
    """What `solved` says in a process of its own, or why the process says nothing."""
    nothing = {"status": "refused", "lower": None, "upper": None, "gap": None, "half": None, "error": None}
    nothing |= {"seconds": None, "cpu": None, "peak_mb": None, "remark": ""}
    command = [sys.executable, __file__, json.dumps(asked)]
    path = os.pathsep.join(folder or os.getcwd() for folder in [str(ROOT), *sys.path])
    within = PATIENCE * asked["asked"] + SETTING_UP
    env = os.environ | {"PYTHONPATH": path}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env, start_new_session=True) as process:
        try:
            answer, _ = process.communicate(timeout=within)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return nothing | {"status": "killed", "remark": f"it did not end within {within:g} s"}
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        return nothing | {"status": "failed", "remark": f"its process ended with exit code {process.returncode}"}
    return nothing | json.loads(answer)


class Processor:
    """The clocks that a run reads, both the processor's."""

    perf_counter = process_time = staticmethod(time.process_time)


def solved(asked: dict[str, Any]) -> dict[str, Any]:
    """The row of one solve, made in the process that is measured."""
    name, sizes = SIZES[asked["data"]]
    problem = load_problem(name)(**(SMALL[asked["data"]] if asked["small"] else sizes))
    rehearsal = load_problem(name)(**SMALL[asked["data"]])
    limited_to(MEMORY)
    if asked["clock"] == "processor":
        progress.time = Processor
    master = asked["route"] if asked["route"] in MASTERS else None
    attempt(formulation(asked["formulation"], rehearsal, asked["route"]), rehearsal, master, 5.0)  # compiles
    return attempt(formulation(asked["formulation"], problem, asked["route"]), problem, master, asked["asked"])


def attempt(form: Any, problem: Any, master: str | None, limit: float) -> dict[str, Any]:
    """What a solve reaches, or the sentence of its refusal."""
    seen: list[tuple[float, float]] = []
    began, cpu = progress.time.perf_counter(), time.process_time()

    def observe(entry: dict[str, Any]) -> None:
        seen.append((progress.time.perf_counter() - began, entry.get("gap", np.nan)))

    row: dict[str, Any] = {"status": "refused"}
    try:
        found = solve(form, problem, gap=GAP, master=master, time_limit=limit, observe=observe)
        row = {"status": found.status, "lower": found.lower, "upper": found.upper, "gap": found.gap}
        row |= {"error": found.train_error, "remark": f"{found.rounds} rounds, {found.backend}"}
    except OutOfMemory as refusal:
        row |= {"remark": f"memory: {refusal}"}
    except CutbenchError as refusal:
        row |= {"remark": f"{type(refusal).__name__}: {refusal}"}
    row |= {"seconds": progress.time.perf_counter() - began, "cpu": time.process_time() - cpu}
    early = [gap for at, gap in seen if at <= row["seconds"] / 2]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return row | {"peak_mb": peak, "half": early[-1] if early else None}


def judged(row: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The row with whether it meets the demands."""
    keeps = row["seconds"] is not None and row["seconds"] <= 1.1 * row["asked"] + 2
    improves = row["status"] == "optimal" or None
    if improves is None and row["status"] in ("limit", "stalled"):
        proven = all(each is not None and np.isfinite(each) for each in (row["lower"], row["upper"], row["gap"]))
        improves = proven and (row["half"] is None or row["gap"] < row["half"])
    soft = [each for each in rows if each["data"] == row["data"] and each["formulation"] == "soft-margin"]
    first = next((each["error"] for each in soft if each["error"] is not None), None)
    cut_off = row["status"] == "limit" and first is not None
    predicts = row["error"] <= first + 0.005 if cut_off else None
    return row | {"soft": first, "keeps": keeps, "improves": improves, "predicts": predicts}


def totals(rows: list[dict[str, Any]]) -> dict[str, int]:
    return {
        "late": sum(not row["keeps"] for row in rows if row["status"] != "failed"),
        "stuck": sum(row["improves"] is False or row["status"] in ("failed", "killed") for row in rows),
        "large": sum((row["peak_mb"] or 0) > 4096 for row in rows),
        "worse": sum(row["predicts"] is False for row in rows),
    }


NAMES = {"large": large}

if __name__ == "__main__":
    print(json.dumps(solved(json.loads(sys.argv[1])), default=float))
