"""What a step of a compiled stochastic solver costs beside the oracle call inside it.

Each sweep visits the samples in the same order and is timed against a sweep that calls the oracle and
does nothing else, at weights where the solver has been; the pairs take turns, and a ratio is the median
over the repetitions. CPU time of one thread; compilation is apart: a fresh process with an empty cache,
then a second one.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.contracts import Solver
from workbench.data.datasets import MissingData
from workbench.data.loading import load_problem
from workbench.errors import checked_whole
from workbench.formulations.soft_margin import SoftMargin
from workbench.proofs.bounds import Bounds
from workbench.solvers.bcfw import BCFW
from workbench.solvers.subgradient import Subgradient
from workbench.solving.stochastic import prepared

SOLVERS = (Subgradient(), BCFW())
START = """
import json, time
import workbench as wb
from workbench.data.loading import load_problem
problem = load_problem("synthetic-chain")(n=4)
began = time.perf_counter()
traces = [wb.run(solver, wb.SoftMargin(), problem, passes=1) for solver in (wb.Subgradient(), wb.BCFW())]
print(json.dumps([sum(t.compile_seconds for t in traces), time.perf_counter() - began]))
"""


def oracle_alone(argmax_into, add_slope, data, order, prices, witnesses, steps, w):
    """A sweep that only asks the oracle."""
    for k in range(len(order)):
        argmax_into(data, w, order[k], witnesses[k])


def words(n: int) -> tuple[str, Any]:
    """The OCR words, or generated chains of as many labels where the data are not at hand."""
    try:
        return "ocr", load_problem("ocr")(n=n)
    except MissingData:
        return "generated", load_problem("synthetic-chain")(n=n, labels=26, length=14)


def per_visit(problem: Any, lam: float, passes: int, repeats: int) -> dict[str, float]:
    """CPU microseconds of an oracle call and of each solver's step, and the steps' ratios to it."""
    form, rng = SoftMargin(lam), np.random.default_rng(0)
    bounds = Bounds(form, problem)
    prices, kernel, width = bounds.prices.floats(), bounds.oracle.kernel(), bounds.oracle.width
    order = rng.integers(problem.n_samples, size=passes * problem.n_samples)
    witnesses, steps = np.zeros((len(order), width), np.int64), np.zeros((len(order), 2))
    w = np.zeros(bounds.oracle.dim)
    ask, fast = prepared(oracle_alone, kernel, width, prices, w)

    def cost(visit: Callable[..., object], state: Any) -> float:
        began = time.process_time()
        visit(fast.argmax_into, fast.add_slope, fast.data, order, prices, witnesses, steps, state)
        return 1e6 * (time.process_time() - began) / len(order)

    def visiting(solver: Solver, state: Any) -> Callable[..., object]:
        """The solver's own visit, or its sweep, as a function of the same arguments."""
        if own := solver.visitor(kernel, prices, state, True):
            return lambda *_: own(order)
        return prepared(solver.sweep, kernel, width, prices, state)[0]

    record = {}
    asked: list[float] = []
    for solver in SOLVERS:
        state = solver.init(form, problem)
        visit = visiting(solver, state)
        cost(visit, state)  # from the start to where most visits are spent
        pairs = [(cost(visit, state), cost(ask, solver.report(state))) for _ in range(repeats)]
        asked += [oracle for _, oracle in pairs]
        record[f"{solver.name}_us"] = statistics.median(step for step, _ in pairs)
        record[f"{solver.name}_over_oracle"] = statistics.median(step / oracle for step, oracle in pairs)
    return {"oracle_us": statistics.median(asked)} | record


def started() -> tuple[list[float], list[float]]:
    """(seconds of compilation, seconds of two small runs) in a first and in a second process."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        told = [subprocess.check_output([sys.executable, "-c", START], env=environment) for _ in range(2)]
    first, second = map(json.loads, told)
    return first, second


def steps(n: int = 200, lam: float = 0.01, passes: int = 20, repeats: int = 7, start: bool = True) -> dict[str, Any]:
    """Cost of subgradient and Frank–Wolfe steps on words and digits, and of starting.

    words                        ocr, or generated if the data are not at hand
    words_oracle_us, words_SOLVER_us, words_SOLVER_over_oracle; the same for digits
    first_compile_seconds, second_compile_seconds   in a fresh process, cache empty, then filled
    first_run_seconds, second_run_seconds           two solvers on four chains, compilation included
    start                        whether the last four are measured
    """
    checked_whole(1, n=n, passes=passes, repeats=repeats)
    source, chains = words(n)
    record: dict[str, Any] = {"n": n, "words": source}
    for name, problem in (("words", chains), ("digits", load_problem("digits")(n=n))):
        record |= {f"{name}_{key}": value for key, value in per_visit(problem, lam, passes, repeats).items()}
    for name, (compiling, running) in zip(("first", "second"), started() if start else (), strict=start):
        record |= {f"{name}_compile_seconds": compiling, f"{name}_run_seconds": running}
    return record


NAMES = {"steps": steps}
