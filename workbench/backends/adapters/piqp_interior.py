"""PIQP: a proximal interior-point method for quadratic programs, dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.backends.adapter import LINEAR, Backend, Options, dialect
from workbench.backends.cone import Answer, ConeProgram, Matrix, as_csc, as_dense, configured


def run(program: ConeProgram, options: Options, hint: Answer | None) -> Answer:
    """Equations apart from inequalities; dense algebra, by columns, if P is dense."""
    import piqp

    dense = isinstance(program.P, np.ndarray)
    solver = piqp.DenseSolver() if dense else piqp.SparseSolver()

    def convert(matrix: Matrix) -> Any:  # the type that this solver takes
        return np.asfortranarray(as_dense(matrix)) if dense else as_csc(matrix)

    configured(solver.settings, options)
    A, b, zero = program.A, program.b, program.zero
    lower = np.zeros(program.q.size) if program.lower_zero else None
    rows = convert(A[:zero]), b[:zero], convert(A[zero:]), None, b[zero:]
    solver.setup(convert(program.P), program.q, *rows, lower, None)
    status, found = solver.solve(), solver.result
    z = np.append(found.y, found.z_u)
    return Answer.said(found.x, z, status.name, status == piqp.PIQP_PRIMAL_INFEASIBLE, found.info.iter)


OPTIONS = dialect("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel", max_iter=250)

NAMES = {"piqp": Backend("PIQP", "piqp", run, OPTIONS, LINEAR, bounds=True, clock=None)}
