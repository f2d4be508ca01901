"""Constraints on demand against building the CVXPY program anew: one loop of exchange, three ways to run it.

    min over c, t   t    s.t.   |Σ_k c_k T_k(x) − f(x)| ≤ t    for all x in [−1, 1]

The best uniform approximation by polynomials, a linear program with a constraint for each of `points`
points, of which a handful matter (Remez's exchange; T_k are Chebyshev's polynomials). A round solves over
the points so far and adds the one of greatest error, on the side where it is; it ends when that error is
within `gap` of t.

    lazy      wb.LazyProblem: compiled once, rows appended natively
    stacked   a CVXPY problem built anew each round, its points in one constraint
    scalar    a CVXPY problem built anew each round, a constraint a point, as it is usually written

Backend and tolerance are the same in all. Numbers are CPU seconds of this process; what the solver's own
call takes is measured around that very call, in all ways, and the rest is what a way adds. The ways take
turns in every repetition, and a ratio is the median over the repetitions.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from workbench.backends import BACKENDS, backend, solve_cvxpy
from workbench.contracts import Floats
from workbench.errors import BadInput, checked_whole

REBUILT = ("stacked", "scalar")


class Exchange:
    """Values of the polynomials V (m, degree + 1) and of f (m,) at the points, and where the error is greatest."""

    def __init__(self, degree: int, points: int):
        x = np.cos(np.linspace(0, np.pi, points))
        self.V, self.f = np.polynomial.chebyshev.chebvander(x, degree), np.abs(x - 0.3) + np.exp(x) * np.sin(5 * x)

    def worst(self, c: Floats) -> tuple[int, float, float]:
        """The point of the greatest error, its sign, its size."""
        error = self.V @ c - self.f
        j = int(np.abs(error).argmax())
        return j, float(np.sign(error[j])), abs(float(error[j]))

    def lazy(self, name: str, tolerance: float, gap: float) -> tuple[float, int]:
        import cvxpy as cp

        from workbench.solving.lazy import LazyConstraint, LazyProblem

        c, t = cp.Variable(self.V.shape[1]), cp.Variable()

        def oracle(c_value: Floats, t_value: float) -> Iterator[Any]:
            j, sign, size = self.worst(c_value)
            if size > t_value:
                yield (sign * self.V[j], -1.0), -sign * self.f[j]

        def repair(c_value: Floats, t_value: float) -> tuple[Floats, float]:
            return c_value, self.worst(c_value)[2]

        problem = LazyProblem(cp.Minimize(t), [t >= 0, c >= -99, c <= 99], [LazyConstraint([c, t], oracle)])
        solution = problem.solve(gap=gap, backend=name, repair=repair)
        return solution.upper, solution.rounds

    def rebuilt(self, name: str, tolerance: float, gap: float, way: str) -> tuple[float, int]:
        import cvxpy as cp

        c, t = cp.Variable(self.V.shape[1]), cp.Variable()
        rows, sides, rounds, best = [], [], 0, np.inf
        c.value = np.zeros(c.size)
        while True:
            j, sign, size = self.worst(c.value)
            best = min(best, size)
            if rounds and best - t.value <= gap * best:
                return best, rounds
            rows.append(sign * self.V[j])
            sides.append(sign * self.f[j])
            if way == "stacked":
                family = [np.array(rows) @ c - np.array(sides) <= t]
            else:
                family = [row @ c - side <= t for row, side in zip(rows, sides, strict=True)]
            solve_cvxpy(cp.Problem(cp.Minimize(t), [t >= 0, c >= -99, c <= 99, *family]), name, tolerance)
            rounds += 1

    def run(self, way: str, *given: Any) -> tuple[float, int]:
        return self.lazy(*given) if way == "lazy" else self.rebuilt(*given, way)


@contextlib.contextmanager
def solver_time(name: str) -> Iterator[list[float]]:
    """CPU seconds of every call that solves, however it is reached."""
    spent: list[float] = []

    def timed(call: Any) -> Any:
        def measured(*given: Any) -> Any:
            began = time.process_time()
            result = call(*given)
            spent.append(time.process_time() - began)
            return result

        return measured

    if name == "HIGHS":
        import highspy as module

        place, attribute, former = module.Highs, "run", module.Highs.run
        wrapped = timed(former)
    elif name == "CLARABEL":
        import clarabel as module

        place, attribute, former = module, "DefaultSolver", module.DefaultSolver

        class wrapped:  # noqa: N801, it stands for a class
            def __init__(self, *data: Any):
                self.solver = former(*data)

            @timed
            def solve(self) -> Any:
                return self.solver.solve()
    else:
        raise BadInput(f"The time inside {name} is not measured; use backend=HIGHS or backend=CLARABEL.")
    setattr(place, attribute, wrapped)
    try:
        yield spent
    finally:
        setattr(place, attribute, former)


def lazy(
    degree: int = 30, points: int = 5001, gap: float = 1e-8, repeats: int = 3, backend_name: str = ""
) -> dict[str, Any]:
    """CPU of the exchange by each way, and how much dearer rebuilding is.

    value, rounds                     the error of the best polynomial, and of how many points it took (all ways)
    cpu_WAY, solver_WAY, round_ms_WAY seconds; of them inside the solver; milliseconds a round outside it
    stacked_ratio, scalar_ratio       total CPU of rebuilding over ours
    stacked_overhead, scalar_overhead CPU a round outside the solver, of rebuilding over ours
    """
    checked_whole(1, degree=degree, points=points, repeats=repeats)
    name = backend_name.upper() or ("HIGHS" if BACKENDS["HIGHS"].installed else "CLARABEL")
    backend(name)
    ways = ("lazy", *REBUILT)
    for way in ways:  # imports are nobody's
        Exchange(2, 20).run(way, name, 0.1 * gap, 1e-3)
    task = Exchange(degree, points)
    totals: dict[str, list[float]] = {way: [] for way in ways}
    inside: dict[str, list[float]] = {way: [] for way in ways}
    answers: dict[str, tuple[float, int]] = {}
    for _ in range(repeats):
        for way in ways:
            with solver_time(name) as spent:
                began = time.process_time()
                answers[way] = task.run(way, name, 0.1 * gap, gap)
                totals[way].append(time.process_time() - began)
            inside[way].append(sum(spent))
    record: dict[str, Any] = {"degree": degree, "points": points, "gap": gap, "backend": name, "repeats": repeats}
    outside = {way: [(t - s) / answers[way][1] for t, s in zip(totals[way], inside[way], strict=True)] for way in ways}
    for way in ways:
        record |= {f"value_{way}": answers[way][0], f"rounds_{way}": answers[way][1]}
        record |= {f"cpu_{way}": statistics.median(totals[way]), f"solver_{way}": statistics.median(inside[way])}
        record[f"round_ms_{way}"] = 1e3 * statistics.median(outside[way])
    for way in REBUILT:
        for key, costs in (("ratio", totals), ("overhead", outside)):
            record[f"{way}_{key}"] = statistics.median(a / b for a, b in zip(costs[way], costs["lazy"], strict=True))
    return record


NAMES = {"lazy": lazy}
