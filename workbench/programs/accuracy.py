"""How far backends' answers are from a proven optimum, at their own default tolerances and by their own words."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from workbench.backends import BACKENDS, Answer, supports
from workbench.errors import BackendFailed
from workbench.programs.proof import Proof
from workbench.proofs.ends import nearest

SOLVED = {"solved", "optimal", "optimal solution found", "piqp_solved", "exit flag 1"}  # in the backends' own words
DEFAULTS = {"CLARABEL": 1e-8, "OSQP": 1e-5, "ECOS": 1e-8, "SCS": 1e-4, "PIQP": 1e-8, "DAQP": 1e-6, "HIGHS": 1e-7}


def accuracy(proof: Proof, time_limit: float | None = None) -> list[dict[str, Any]]:
    """One row a backend: its word, whether that means solved, its value's error, the largest violation of a row.

    Errors are relative to max(1, |optimum|). The tolerance is the one that CVXPY sets, or the solver's own default
    (`DEFAULTS`).
    """
    names = [name for name in BACKENDS if BACKENDS[name].installed]
    return [one(proof, name, time_limit and time_limit / len(names)) for name in names]


def one(proof: Proof, name: str, time_limit: float | None) -> dict[str, Any]:
    program, cone, began = proof.program, proof.program.cone, time.process_time()
    row: dict[str, Any] = {"backend": name, "says": "", "solved": False, "value": None, "error": None}
    row |= {"violation": None, "seconds": 0.0}
    if reason := supports(BACKENDS[name], cone):
        return row | {"says": reason.partition(";")[0]}
    try:
        answer: Answer = BACKENDS[name].solve(cone, DEFAULTS.get(name, 1e-8), time_limit)
    except BackendFailed as error:
        return row | {"says": str(error).partition(";")[0]}
    row |= {"says": answer.status, "solved": answer.status.lower() in SOLVED, "seconds": time.process_time() - began}
    if not np.isfinite(answer.x).all() or answer.infeasible:
        return row
    x = answer.x
    value = program.sign * float(x @ (cone.P @ x) / 2 + cone.q @ x + program.constant)
    row |= {"value": value, "violation": violation(cone, x)}
    if proof.lower is not None and proof.upper is not None:
        lower, upper = nearest(proof.lower), nearest(proof.upper)
        row["error"] = max(lower - value, value - upper, 0.0) / max(1.0, abs(lower))
    return row


def violation(cone: Any, x: np.ndarray) -> float:
    """The largest violation of a row, in the row's own units; exponential cones are left out."""
    s = cone.b - cone.A @ x
    at = cone.zero + cone.nonneg
    found = [np.abs(s[: cone.zero]).max(initial=0.0), np.maximum(-s[cone.zero : at], 0.0).max(initial=0.0)]
    for size in cone.soc:
        found.append(max(float(np.linalg.norm(s[at + 1 : at + size]) - s[at]), 0.0))
        at += size
    return float(max(found))
