"""A CVXPY problem written out in full, solved by a backend through CVXPY's own interface to it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from workbench.backends.registry import BACKENDS, backend
from workbench.backends.silence import aside, quiet_highs
from workbench.errors import BackendFailed, MissingCapability

if TYPE_CHECKING:
    from cvxpy import Problem


def solve_cvxpy(
    problem: Problem, name: str = "CLARABEL", tolerance: float = 1e-10, time_limit: float | None = None
) -> str:
    """Solve a fully written CVXPY problem through an installed backend; returns CVXPY's final status.

    Raises
    ------
    MissingCapability : CVXPY does not know the backend, or a time limit is given for a backend without a clock
    BackendFailed : the backend crashed, or refused the problem
    """
    from cvxpy import installed_solvers
    from cvxpy.error import SolverError

    chosen = backend(name)
    if chosen.name not in installed_solvers():
        raise MissingCapability(f"CVXPY does not know {chosen.name}; use CLARABEL.")
    options = chosen.options(tolerance)
    if time_limit is not None:
        if chosen.clock is None:
            able = " or ".join(each.name for each in BACKENDS.values() if each.clock)
            raise MissingCapability(f"{chosen.name} has no clock that CVXPY could set; use {able}, or no time limit.")
        options[chosen.clock] = float(time_limit)
    if chosen.name == "HIGHS":
        quiet_highs()
    try:
        with aside(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Solution may be inaccurate")  # the status says so
            problem.solve(solver=chosen.name, **options)
    except SolverError as error:
        text = f"{chosen.name} failed on a CVXPY problem ({error}); try another backend."
        raise BackendFailed(text) from error
    return str(problem.status)
