"""DAQP: a dual active-set method for dense quadratic programs."""

from __future__ import annotations

import numpy as np

from workbench.backends.adapter import LINEAR, Backend, Options, dialect
from workbench.backends.cone import Answer, ConeProgram, as_dense, price_of_bounds

EQUALITY = 5  # DAQP's code for l = u


def run(program: ConeProgram, options: Options, hint: Answer | None) -> Answer:
    """Rows l ≤ Ax ≤ u; limits beyond the rows of A, which come first, are bounds on x."""
    import daqp

    n = program.q.size if program.lower_zero else 0
    upper, lower = np.append(np.full(n, np.inf), program.b), np.append(np.zeros(n), program.below)
    kinds = np.repeat([0, EQUALITY, 0], [n, program.zero, program.nonneg]).astype(np.int32)
    if hint is not None:
        dual = np.append(-price_of_bounds(program, hint)[:n], hint.z)
        options = options | {"primal_start": hint.x, "dual_start": dual}
    data = as_dense(program.P), program.q, as_dense(program.A), upper, lower, kinds
    x, _, flag, info = daqp.solve(*data, **options)
    z = None if flag == -1 else info["lam"][n:]  # in place of a ray DAQP leaves uninitialised memory
    return Answer.said(x, z, f"exit flag {flag}", flag == -1, info["iterations"])


# At exactly its default of 1e-12 DAQP delivers 1e-6. The automatic proximal weight took 76,000 steps to 1e-11 on a
# singular Gram matrix; a weight of 1e-7 failed on three small programs in 300; 1e-3 took 750 steps and never failed.
OPTIONS = dialect("primal_tol", "dual_tol", floor=1e-11, eps_prox=1e-3, iter_limit=100_000)

NAMES = {
    "daqp": Backend("DAQP", "daqp", run, OPTIONS, LINEAR, bounds=True, warms=True, delivers=1e-9, hinted=True),
}
