"""Backends: convex solvers, called through one form of program and one form of answer.

    from workbench.backends import ConeProgram, backend
    answer = backend("clarabel").solve(ConeProgram(P, q, A, b, zero=1, nonneg=4), tolerance=1e-10)

The modules, in the order of reading:

    cone            the program, its optimality conditions, the answer
    adapter         `Backend`: one solver, and `solve` around its adapter
    adapters/       one file a solver; the folder is the list of backends
    watching        time limits for a solver without a clock
    registry        BACKENDS, all backends by name
    through_cvxpy   the same solvers through CVXPY
"""

from __future__ import annotations

from workbench.backends.adapter import Backend, supports
from workbench.backends.cone import Answer, ConeProgram
from workbench.backends.limits import STOPPED, watched
from workbench.backends.registry import BACKENDS, backend
from workbench.backends.through_cvxpy import solve_cvxpy

__all__ = ["BACKENDS", "STOPPED", "Answer", "Backend", "ConeProgram", "backend", "solve_cvxpy", "supports", "watched"]
