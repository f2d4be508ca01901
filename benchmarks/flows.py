"""Updates a second on one core, compilation excluded, 30 non-zeros a sample; by CPU time."""

from __future__ import annotations

from time import process_time
from typing import Any

import numpy as np
from scipy import sparse

from workbench.dyads import flows as closed
from workbench.dyads.dyadic import Dyadic
from workbench.dyads.pairs import Dyads
from workbench.errors import checked_whole

LOSSES = ("hinge", "squared", "logistic")


def drawn(rng: np.random.Generator, n: int, f: int, count: int) -> sparse.csr_array:
    """n rows of `count` normal numbers at random among f columns, of length 1."""
    values = rng.normal(size=(n, count)) / np.sqrt(count)
    ends = np.arange(n + 1) * count
    return sparse.csr_array((values.ravel(), rng.integers(0, f, n * count), ends), shape=(n, f))


def flows(n: int = 2000, columns: int = 500, passes: int = 50, k: int = 3, repeats: int = 3) -> dict[str, Any]:
    """Million updates a second (best of `repeats`), of linear and of dyadic models.

    linear_LOSS    30 linear features, through the importance-aware solver's sweep, last iterate
    dyadic_LOSS    10 features on each side with k dimensions, and 10 linear ones
    reach_us       microseconds of one p⁻¹, over random curves and targets
    """
    checked_whole(1, n=n, columns=columns, passes=passes, k=k, repeats=repeats)
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], n)
    dyads = Dyads(*(drawn(rng, n, columns, 10) for _ in range(2)), y, drawn(rng, n, columns, 10))
    record: dict[str, Any] = {"n": n, "passes": passes, "k": k}
    for loss in LOSSES:
        fits = [Dyadic(k, loss, step=0.05).fit(dyads, passes).cpu_seconds for _ in range(repeats)]
        record[f"dyadic_{loss}"] = 1e-6 * n * passes / min(fits)
    return record | linear_speed(drawn(rng, n, columns, 30), y, passes, repeats) | {"reach_us": reach_cost(rng)}


def linear_speed(X: sparse.csr_array, y: Any, passes: int, repeats: int) -> dict[str, float]:
    """The solver's sweep alone, a pass at a time."""
    from workbench.formulations.weighted_risk import WeightedRisk
    from workbench.outputs.linear import Linear
    from workbench.solvers.importance_aware import ImportanceAware
    from workbench.solving.stochastic import prepared

    problem, solver, found = Linear(X, y), ImportanceAware("last"), {}
    order = np.random.default_rng(1).integers(len(y), size=passes * len(y))
    witnesses, steps = np.zeros((len(order), 0), np.int64), np.zeros((len(order), 2))
    for loss in LOSSES:
        form = WeightedRisk(loss=loss)
        kernel, prices, state = solver.oracle(problem).kernel(), np.full(len(y), 1 / len(y)), solver.init(form, problem)
        visit, machine = prepared(solver.sweep, kernel, 0, prices, state)
        times = []
        for _ in range(repeats):
            state, began = solver.init(form, problem), process_time()
            visit(machine.argmax_into, machine.add_slope, machine.data, order, prices, witnesses, steps, state)
            times.append(process_time() - began)
        found[f"linear_{loss}"] = 1e-6 * len(order) / min(times)
    return found


def each(function: Any, target: Any, p: Any, U: Any, V: Any, X: Any, out: Any) -> None:
    for i in range(len(p)):
        out[i] = function(target[i], p[i], U[i], V[i], X[i])


def reach_cost(rng: np.random.Generator, count: int = 200_000) -> float:
    """Microseconds of an inverse."""
    from workbench.arithmetic.compiled import compiled, signed

    numbers = rng.normal(size=(2, count)), np.exp(2 * rng.normal(size=(3, count)))
    arrays = [*numbers[0], *numbers[1], np.empty(count)]
    loop = compiled(each, signed(None, closed.signature("reach"), *arrays))
    began = process_time()
    loop(closed.machine().reach, *arrays)
    return 1e6 * (process_time() - began) / count


NAMES = {"flows": flows}
