"""Mixed-integer cone programs by the search tree of HiGHS (linear ones) or of SCIP (quadratic, second-order cones).

    minimise  ½xᵀPx + qᵀx   subject to   b − Ax ∈ {0}^zero × R₊^nonneg × SOC(k₁) × …,   x_j ∈ ℤ for some j

Both ends are the solver's word. The bound of a tree rests on many linear programs in floats, each right up to a
tolerance, and no vector of the answer lets anybody check it: nothing here is a proof.
"""

# HiGHS and SCIP have no types that hold for all their versions.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportMissingImports=false

from __future__ import annotations

from importlib import util
from typing import Any, NamedTuple

import numpy as np

from workbench.backends.cone import ConeProgram, Floats, as_csc
from workbench.backends.silence import highs_model
from workbench.contracts import Ints
from workbench.errors import BackendFailed, MissingCapability
from workbench.system.versions import installed_version

PACKAGES = {"HIGHS": "highspy", "SCIP": "pyscipopt"}
TIGHT = 1e-9  # by how much rows, and whole numbers, may be missed


class TreeAnswer(NamedTuple):
    """x (n,), NaN without a point;  bound : on the minimum, the solver's word, as is `status`."""

    x: Floats
    bound: float
    status: str
    infeasible: bool


def tree_backend(cone: ConeProgram, name: str | None = None) -> str:
    """The solver that searches this program: the one named, else HiGHS if all is linear, else SCIP.

    Raises `MissingCapability` if that solver cannot, or is not installed.
    """
    linear = not (cone.P.nnz or cone.soc or cone.exp)
    chosen = (name or ("HIGHS" if linear and util.find_spec("highspy") else "SCIP")).upper()
    if chosen not in PACKAGES:
        raise MissingCapability(f"{chosen} searches no tree for integer variables here; use HIGHS or SCIP.")
    if chosen == "HIGHS" and not linear:
        raise MissingCapability("HIGHS takes integer variables in linear programs only; use SCIP.")
    if cone.exp:
        raise MissingCapability("No tree here takes integer variables with exponential cones; relax the variables.")
    if util.find_spec(PACKAGES[chosen]) is None:
        raise MissingCapability(f"{chosen} is not installed; pip install {PACKAGES[chosen]}.")
    return chosen


def versioned_tree(name: str) -> str:
    """The solver with its version."""
    return f"{name} {installed_version(PACKAGES[name])}"


def search_tree(
    name: str, cone: ConeProgram, whole: Ints, tolerance: float, time_limit: float | None = None
) -> TreeAnswer:
    """The answer of a solver of `tree_backend`; `whole` are the columns of integer variables.

    tolerance : the relative distance of point and bound at which the solver may stop
    """
    try:
        return {"HIGHS": by_highs, "SCIP": by_scip}[name](cone, whole, tolerance, time_limit)
    except Exception as error:
        fault = f"{type(error).__name__}: {error}".splitlines()[0]
        raise BackendFailed(f"{name} failed on {len(cone.q)} variables ({fault}); try another backend.") from error


def by_highs(cone: ConeProgram, whole: Ints, tolerance: float, time_limit: float | None) -> TreeAnswer:
    import highspy

    m, n, A = cone.b.size, cone.q.size, as_csc(cone.A)
    kinds, free = np.zeros(n, np.int32), np.full(n, np.inf)
    kinds[whole] = 1
    # Not `threads`: HiGHS refuses another number than the process's first model had.
    options: dict[str, Any] = {"parallel": "off", "random_seed": 0, "mip_abs_gap": 0.0}
    options |= {"mip_rel_gap": tolerance, "mip_feasibility_tolerance": TIGHT, "primal_feasibility_tolerance": TIGHT}
    options |= {} if time_limit is None else {"time_limit": float(time_limit)}
    solver, none = highs_model(), (np.zeros(n + 1, np.int32), np.empty(0, np.int32), np.empty(0))
    for key, value in options.items():
        solver.setOptionValue(key, value)
    matrices = A.indptr, A.indices, A.data, *none
    solver.passModel(n, m, A.nnz, 0, 1, 1, 1, 0.0, cone.q, -free, free, cone.below, cone.b, *matrices, kinds)
    solver.run()
    status, info = solver.modelStatusToString(solver.getModelStatus()), solver.getInfo()
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    x = np.asarray(solver.getSolution().col_value, float) if found else np.full(n, np.nan)
    return TreeAnswer(x, float(info.mip_dual_bound) if found else -np.inf, status, status == "Infeasible")


def by_scip(cone: ConeProgram, whole: Ints, tolerance: float, time_limit: float | None) -> TreeAnswer:
    """The quadratic objective becomes a row ½xᵀPx + qᵀx ≤ t, a second-order cone ‖u‖² ≤ s² with s ≥ 0."""
    from pyscipopt import Model, quicksum

    model, n = Model(), cone.q.size
    model.hideOutput()
    model.setParam("numerics/feastol", TIGHT)
    model.setParam("limits/gap", tolerance)
    if time_limit is not None:
        model.setParam("limits/time", float(time_limit))
    kinds = np.full(n, "C")
    kinds[whole] = "I"
    x = [model.addVar(vtype=str(kind), lb=None, ub=None) for kind in kinds]
    A, P = as_csc(cone.A).tocsr(), as_csc(cone.P).tocoo()
    slack = [
        float(cone.b[k]) - quicksum(float(a) * x[j] for j, a in zip(row.indices, row.data, strict=True))
        for k, row in enumerate(A[[k]] for k in range(cone.b.size))
    ]
    for k in range(cone.zero + cone.nonneg):
        model.addCons(slack[k] == 0 if k < cone.zero else slack[k] >= 0)
    at = cone.zero + cone.nonneg
    for size in cone.soc:
        s = model.addVar(lb=0)
        model.addCons(s == slack[at])
        u = [model.addVar(lb=None) for _ in range(size - 1)]
        for entry, row in zip(u, slack[at + 1 : at + size], strict=True):
            model.addCons(entry == row)
        model.addCons(quicksum(entry * entry for entry in u) <= s * s)
        at += size
    value = quicksum(float(c) * each for c, each in zip(cone.q, x, strict=True))
    if P.nnz:
        t = model.addVar(lb=None)
        triples = zip(P.row, P.col, P.data, strict=True)
        model.addCons(quicksum(float(p) / 2 * x[i] * x[j] for i, j, p in triples) + value <= t)
        value = t
    model.setObjective(value, "minimize")
    model.optimize()
    status, best = model.getStatus(), model.getBestSol() if model.getNSols() else None
    point = np.full(n, np.nan) if best is None else np.array([model.getSolVal(best, each) for each in x])
    bound = -np.inf if best is None or abs(model.getDualbound()) >= model.infinity() else model.getDualbound()
    return TreeAnswer(point, float(bound), status, status == "infeasible")
