"""Convex solvers behind one cone program and one answer."""

from __future__ import annotations

from workbench.backends.solvers import BACKENDS, Answer, Backend, ConeProgram, backend, solve_cvxpy, supports

__all__ = ["BACKENDS", "Answer", "Backend", "ConeProgram", "backend", "solve_cvxpy", "supports"]
