"""`dual-block` against the clock: CPU to certified relative gaps, in seconds and in exact oracle passes.

    cutbench bench dual-block                 words to 1e-6, digits against liblinear
    cutbench bench routes                     whole solves, begun with passes of dual-block or not

The unit is one exact compiled pass, a batched Viterbi over all words at the last θ, measured in the same
run between the passes of the solver: machines and their load differ, ratios less. Compilation is excluded.
The clock stops while `Bounds` certifies: upper and lower are recomputed from θ, the witnesses
and the data. Digits are timed against liblinear (scikit-learn's Crammer–Singer) to the same excess.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

from workbench.arithmetic.compiled import available
from workbench.data.datasets import MissingData
from workbench.data.loading import load_problem
from workbench.errors import BadInput, checked_whole
from workbench.formulations.soft_margin import SoftMargin
from workbench.proofs.bounds import Bounds
from workbench.solvers.dual_block import DualBlock
from workbench.solving.solve import solve
from workbench.solving.stochastic import Handed

GAPS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
LOOKS = 1.2  # every how much more work a bound is computed


def curve(solver: DualBlock, form: SoftMargin, problem: Any, gap: float, budget: float) -> dict[str, Any]:
    """CPU seconds to each of GAPS down to `gap`, the unit in seconds, and the bounds at the end."""
    bounds, state = Bounds(form, problem), solver.init(form, problem)
    prices, kernel = bounds.prices.floats(), bounds.oracle.kernel()
    visit = solver.visitor(kernel, prices, state, available())
    handed, rng = Handed(bounds, lambda: solver.duals(state)), np.random.default_rng(0)
    spent, passes, look, upper, lower = 0.0, 0, 1.0, np.inf, -np.inf
    reached: dict[float, tuple[float, int]] = {}
    units = []
    while spent < budget and gap not in reached:
        for _ in range(int(np.ceil(look)) - passes):
            order = rng.permutation(bounds.samples)
            began = time.process_time()
            visit(order)
            spent += time.process_time() - began
            passes += 1
        look = max(passes + 1, LOOKS * passes) if passes < 20 else passes + 4
        theta = solver.report(state)
        for _ in range(5):
            began = time.process_time()
            bounds.oracle.argmax(theta, bounds.samples)
            units.append(time.process_time() - began)
        upper = min(upper, bounds.upper(theta))
        lower = max(lower, handed.grade(theta)[0])
        for each in GAPS:
            if bounds.gap(upper, lower) <= each:
                reached.setdefault(each, (spent, passes))
    return {"reached": reached, "unit": statistics.median(units), "upper": upper, "lower": lower}


def liblinear(form: SoftMargin, problem: Any, excess: float, optimum: float) -> float:
    """CPU seconds of scikit-learn at its loosest tolerance that gets to the relative excess."""
    from sklearn.svm import LinearSVC

    bounds, X = Bounds(form, problem), problem.X.toarray()
    for tolerance in 10.0 ** -np.arange(1, 8):
        machine = LinearSVC(
            multi_class="crammer_singer",
            C=1 / (form.lam * problem.n_samples),
            fit_intercept=False,
            tol=tolerance,
            max_iter=100_000,
            random_state=0,
        )
        began = time.process_time()
        machine.fit(X, problem.labels)
        spent = time.process_time() - began
        if bounds.upper(machine.coef_.ravel()) <= optimum * (1 + excess):
            return spent
    return float("nan")


def written(n: int) -> tuple[str, Any]:
    """Handwritten words, or generated ones if the data are not at hand."""
    try:
        return "ocr", load_problem("ocr")(n=n)
    except MissingData:
        return "generated", load_problem("synthetic-chain")(n=n, labels=26, length=8)


def dual_block(
    n: int = 626, lam: float = 0.01, gap: float = 1e-6, budget: float = 120.0, digits_n: int = 1797
) -> dict[str, Any]:
    """Words: seconds_GAP, units_GAP, passes_GAP. Digits at λ = 1/n to 1e-4: their seconds and liblinear's.

    lam : 0 stands for 1/n;  n : words;  gap : one of GAPS;  budget : CPU seconds at most
    unit_ms : one exact pass;  upper, lower : certified at the end
    """
    checked_whole(1, n=n, digits_n=digits_n)
    if gap not in GAPS:
        raise BadInput(f"gap is {gap}; choose one of {', '.join(f'{each:.0e}' for each in GAPS)}.")
    source, words = written(n)
    lam = lam or 1 / n
    curve(DualBlock(), SoftMargin(lam), load_problem("digits")(n=20), 1e-1, 1.0)  # imports are nobody's
    found = curve(DualBlock(), SoftMargin(lam), words, gap, budget)
    record: dict[str, Any] = {"words": source, "n": n, "lam": lam, "unit_ms": 1e3 * found["unit"]}
    for each, (seconds, passes) in found["reached"].items():
        record |= {f"seconds_{each:.0e}": seconds, f"units_{each:.0e}": seconds / found["unit"]}
        record[f"passes_{each:.0e}"] = passes
    record |= {"upper": found["upper"], "lower": found["lower"]}
    digits = load_problem("digits")(n=digits_n)
    form = SoftMargin(1 / digits.n_samples)
    ours = curve(DualBlock(), form, digits, 1e-4, budget)
    theirs = liblinear(form, digits, 1e-4, ours["lower"])
    record |= {"digits_n": digits.n_samples, "digits_upper": ours["upper"], "digits_lower": ours["lower"]}
    record |= {"digits_seconds": ours["reached"].get(1e-4, (float("nan"), 0))[0], "liblinear_seconds": theirs}
    return record | {"digits_ratio": record["digits_seconds"] / theirs}


def routes(small: int = 300, large: int = 1797, few: int = 200, many: int = 626, limit: float = 60.0) -> dict[str, Any]:
    """CPU seconds of solve(…, master=…) with "dual-block" and with "ascent", and their ratio, for each case.

    digits_small, digits_large : λ = 1/n to 1e-9, 1e-6;  words_few, words_many : λ = 0.01 to 1e-6;
    words_rough : the many with λ = 1/n;  limit : seconds, `status` then says limit
    """
    checked_whole(1, small=small, large=large, few=few, many=many)
    digits, words = load_problem("digits"), written
    cases = {
        "digits_small": (digits(n=small), 1 / small, 1e-9),
        "digits_large": (digits(n=large), 1 / large, 1e-6),
        "words_few": (words(few)[1], 0.01, 1e-6),
        "words_many": (words(many)[1], 0.01, 1e-6),
        "words_rough": (words(many)[1], 1 / many, 1e-6),
    }
    record: dict[str, Any] = {}
    for name, (problem, lam, gap) in cases.items():
        for master in ("dual-block", "ascent"):
            found = solve(SoftMargin(lam), problem, gap=gap, master=master, time_limit=limit)
            key = f"{name}_{master.replace('-', '_')}"
            record |= {f"{key}_cpu": found.cpu_seconds, f"{key}_status": found.status, f"{key}_gap": found.gap}
        record[f"{name}_ratio"] = record[f"{name}_ascent_cpu"] / record[f"{name}_dual_block_cpu"]
    return record


NAMES = {"dual-block": dual_block, "routes": routes}
