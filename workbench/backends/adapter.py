"""`Backend`, which each file of `adapters/` exports, and the one `solve` around all adapters.

An adapter only translates the cone program and the answer. No adapter judges an answer: our bounds do that, from the
problem's own data, so a solver that stops early or claims too much costs rounds and no correctness. A solver's package
is imported at its first solve.

Under a limit of time or memory a backend runs in a process of its own (`watching`). A time limit is passed to the
solver's own clock; an alarm kills the process GRACE seconds later, or at once if the solver has no clock. A solver that
runs out of memory ends its process, and not ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import util
from typing import Any

import numpy as np

from workbench.backends.cone import Answer, ConeProgram, bounds_as_rows, flat, of_length
from workbench.backends.limits import Adapter, watched
from workbench.errors import BackendFailed, MissingCapability, printable
from workbench.system.alarm import Late, TimeIsUp
from workbench.system.memory import limit
from workbench.system.versions import installed_version

Options = dict[str, Any]  # a solver's own names and values

GRACE = 0.5  # seconds after the time limit, in which a solver with a clock may still answer
LINEAR = frozenset({"zero", "nonneg", "quadratic"})
CONIC = LINEAR | {"soc", "exp"}


@dataclass(frozen=True)
class Backend:
    """One solver: `run(program, options, hint)` calls the solver, `options(tolerance)` names the solver's options.

    `delivers`, `hinted` and `rays` are claims, which tests/backends checks on every backend.
    """

    name: str  # in capitals, as CVXPY writes it
    package: str  # on PyPI and in an import statement
    run: Adapter
    options: Callable[[float], Options]
    cones: frozenset[str]  # LINEAR, CONIC, or a set of such words
    bounds: bool = False  # takes x ≥ 0 natively
    clock: str | None = "time_limit"  # the solver's option for seconds; None: a watched process
    warms: bool = False  # a hint from a program with a few rows more or less saves time (benchmarks/lazy.py)
    delivers: float = 1e-8  # worst residual of the optimality conditions at tolerance 1e-10, on small programs
    hinted: bool = False  # the solver's own answer as a hint saves iterations
    rays: bool = False  # reports infeasible programs with a Farkas ray

    @property
    def version(self) -> str:
        return installed_version(self.package) or ""

    @property
    def installed(self) -> bool:
        return util.find_spec(self.package) is not None

    def solve(
        self,
        program: ConeProgram,
        tolerance: float,
        time_limit: float | None = None,
        warm: Answer | None = None,
    ) -> Answer:
        """The backend's answer, its vectors in the lengths of the program.

        warm : the answer to a program of the same shape, as a hint; OSQP, SCS, DAQP and (P = 0) HiGHS take one

        Raises
        ------
        MissingCapability : the backend lacks a cone of the program
        BackendFailed : the backend crashed
        """
        if reason := supports(self, program):
            raise MissingCapability(reason)
        began, linear, borrowed = time.perf_counter(), program.zero + program.nonneg, slice(0)
        posed, hint = program, warm if warm is not None and warm.fits(program) else None
        if program.lower_zero and not self.bounds:
            posed, hint = bounds_as_rows(program, hint)
            borrowed = slice(linear, linear + program.q.size)
        answer = self.asked(posed, self.options(tolerance), hint, time_limit)
        x, z = of_length(answer.x, program.q.size), np.delete(of_length(answer.z, posed.b.size), borrowed)
        z[program.zero : linear] = np.maximum(z[program.zero : linear], 0)  # some backends return −1e-17
        if answer.infeasible:
            x, z = np.full_like(x, np.nan), z / max(np.abs(z).max(initial=0), np.finfo(float).tiny)
        late = time_limit is not None and time.perf_counter() - began > 0.9 * time_limit
        return replace(answer, x=x, z=z, stopped=bool(late and not answer.infeasible and np.isnan(x).any()))

    def asked(self, program: ConeProgram, options: Options, hint: Answer | None, time_limit: float | None) -> Answer:
        """The adapter's answer, unchanged, within the limits; every failure becomes `BackendFailed`."""
        if time_limit is not None and self.clock:
            options[self.clock] = float(time_limit)
        try:
            if time_limit is not None or limit() is not None:
                last = None if time_limit is None else float(time_limit) + (GRACE if self.clock else 0.0)
                return sound(watched(self.name, self.run).answer(program, options, hint, last))
            return sound(self.run(program, options, hint))
        except (KeyboardInterrupt, SystemExit, Late, TimeIsUp):
            raise
        except BaseException as error:  # a Rust panic is no Exception
            fault, size = " ".join(f"{type(error).__name__}: {error}".split()), (program.q.size, program.b.size)
            text = f"{self.name} failed on {size[0]} variables and {size[1]} rows ({fault}); try another backend."
            raise BackendFailed(text) from error


def sound(answer: object) -> Answer:
    """The answer, if its form is that of one: two vectors of floats, and a status that is one printable line."""
    if not isinstance(answer, Answer):
        raise TypeError(f"a {type(answer).__name__} in place of an answer")
    status = " ".join(printable(str(answer.status)).split())
    return replace(answer, x=flat(answer.x), z=flat(answer.z), status=status)


def supports(backend: Backend, program: ConeProgram) -> str | None:
    """Why this backend cannot solve the program, or None; all backends have linear rows and convex quadratics."""
    asked = {"soc": bool(program.soc), "exp": program.exp > 0}
    lacking = [cone for cone, there in asked.items() if there and cone not in backend.cones]
    return f"{backend.name} has no {' or '.join(lacking)} cone; use CLARABEL." if lacking else None


def dialect(*tolerances: str, floor: float = 0.0, **fixed: float) -> Callable[[float], Options]:
    """tolerance ↦ the options {each name of `tolerances`: max(tolerance, floor)} and the fixed ones."""
    return lambda tolerance: dict.fromkeys(tolerances, max(tolerance, floor)) | fixed
