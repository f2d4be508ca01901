"""HiGHS: simplex for linear programs, an active-set method for quadratic ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from workbench.backends.adapter import LINEAR, Backend, Options, dialect
from workbench.backends.cone import Answer, ConeProgram, Matrix, as_csc
from workbench.backends.silence import highs_model


def run(program: ConeProgram, options: Options, hint: Answer | None) -> Answer:
    """Rows l ≤ Ax ≤ u and bounds on x; P by its lower triangle.

    By default HiGHS adds 1e-7·I to P, an error that no tolerance removes; with nothing added HiGHS gives up or
    cycles on many a singular P. A ridge relative to P keeps both harms small, not nil.
    """
    import highspy

    curved = as_csc(sparse.tril(program.P) if has_entries(program.P) else program.P)
    m, n, A, P = program.b.size, program.q.size, as_csc(program.A), curved
    columnwise, triangular, minimise, offset, continuous = 1, 1, 1, 0.0, np.zeros(n, np.int32)
    sizes = n, m, A.nnz, P.nnz, columnwise, triangular, minimise, offset
    bounds = np.full(n, 0.0 if program.lower_zero else -np.inf), np.full(n, np.inf)
    vectors = program.q, *bounds, program.below, program.b
    matrices = A.indptr, A.indices, A.data, P.indptr, P.indices, P.data
    solver = highs_model()
    options = options | {"qp_regularization_value": 1e-11 * P.diagonal().max()}
    done = [solver.setOptionValue(key, value) for key, value in options.items()]
    done += [solver.passModel(*sizes, *vectors, *matrices, continuous)]  # pyright: ignore[reportArgumentType] (stubs)
    if hint is not None and not P.nnz:
        done += [solver.setBasis(basis_of(program, hint))]
    done += [solver.run()]
    status = solver.modelStatusToString(solver.getModelStatus())
    if highspy.HighsStatus.kError in done:
        raise RuntimeError(f"model status {status}")
    found, info, infeasible = solver.getSolution(), solver.getInfo(), status == "Infeasible"
    ray = solver.getDualRay()[2] if infeasible else None  # pyright: ignore[reportAttributeAccessIssue] (not in stubs)
    prices = found.row_dual if ray is None else ray  # ∂ objective / ∂b, which is −z
    spent = max(info.qp_iteration_count, 0) + max(info.simplex_iteration_count, 0)
    return Answer.said(found.col_value, -np.asarray(prices), status, infeasible, spent)


def has_entries(P: Matrix) -> bool:
    return P.nnz > 0 if isinstance(P, sparse.sparray) else bool(P.any())


def basis_of(program: ConeProgram, hint: Answer) -> Any:
    """The simplex basis that a hint suggests: rows with a price and equations are nonbasic, columns at 0 may be."""
    import highspy

    kind, basis = highspy.HighsBasisStatus, highspy.HighsBasis()
    priced = (hint.z > 0) | (np.arange(program.b.size) < program.zero)
    basis.row_status = [kind.kUpper if row else kind.kBasic for row in priced.tolist()]
    bound = (hint.x <= 0) & program.lower_zero
    basis.col_status = [kind.kLower if column else kind.kBasic for column in bound.tolist()]
    basis.valid = basis.alien = True  # alien: HiGHS completes a basis of doubtful rank
    return basis


TOLERANCES = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
OPTIONS = dialect(*TOLERANCES, floor=1e-10, qp_iteration_limit=100_000)

NAMES = {
    "highs": Backend("HIGHS", "highspy", run, OPTIONS, LINEAR, bounds=True, warms=True, delivers=1e-9, rays=True),
}
