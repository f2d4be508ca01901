"""OSQP: operator splitting (ADMM) for quadratic programs, then a polish."""

from __future__ import annotations

import time

from scipy import sparse

from workbench.backends.adapter import LINEAR, Backend, Options, dialect
from workbench.backends.cone import Answer, ConeProgram, as_csc
from workbench.backends.silence import aside

WORK = 5e8  # entries of P and A that the iterations of one rung may touch: a second or two
FEWEST, MOST = 1_000, 200_000  # iterations of a rung


def run(program: ConeProgram, options: Options, hint: Answer | None) -> Answer:
    """Climb to the tolerance in rungs: polishing makes an answer exact, but only one that ADMM calls solved.

    Asked for 1e-10 at once ADMM can stall for ever; from 1e-4 or 1e-6 the polish jumps to rounding error. Iterations
    are limited by what they cost, so that a run without a time limit ends, too.
    """
    import osqp

    tolerance, spent = options["eps_abs"], 0
    deadline = time.perf_counter() + options.get("time_limit", 1e9)
    solver, P, A = osqp.OSQP(), as_csc(sparse.triu(program.P)), as_csc(program.A)
    most = int(min(max(WORK / max(P.nnz + A.nnz, 1), FEWEST), MOST))
    solver.setup(P, program.q, A, program.below, program.b, verbose=False, max_iter=most, **options)
    if hint is not None:
        solver.warm_start(hint.x, hint.z)
    for rung in [*(eps for eps in (1e-4, 1e-6, 1e-8) if eps > tolerance), tolerance]:
        left = max(deadline - time.perf_counter(), 1e-3)
        solver.update_settings(eps_abs=rung, eps_rel=rung, time_limit=left)
        with aside():
            found = solver.solve(raise_error=False)
        spent += found.info.iter
        residuals = found.info.prim_res, found.info.dual_res, abs(found.info.duality_gap)
        if found.info.status != "solved" or max(residuals) <= tolerance:
            break
    infeasible = found.info.status.startswith("primal infeasible")
    return Answer.said(found.x, found.prim_inf_cert if infeasible else found.y, found.info.status, infeasible, spent)


OPTIONS = dialect("eps_abs", "eps_rel", eps_prim_inf=1e-10, polishing=True)

NAMES = {"osqp": Backend("OSQP", "osqp", run, OPTIONS, LINEAR, delivers=1e-9, hinted=True, rays=True)}
