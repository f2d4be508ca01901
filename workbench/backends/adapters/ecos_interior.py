"""ECOS: an interior-point method for linear objectives over all our cones; a quadratic becomes one dense cone."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from workbench.backends.adapter import CONIC, Backend, Options, dialect
from workbench.backends.cone import Answer, ConeProgram, Matrix, as_csc, as_dense


def run(program: ConeProgram, options: Options, hint: Answer | None) -> Answer:
    """Minimise t + qᵀx over ½xᵀPx ≤ t, or (t + w, t − w, √(2w)·Rx) ∈ SOC, P = RᵀR.

    Any w > 0 will do; at 1 a large P costs half the digits. ECOS wants Ax = b apart from h − Gx ∈ K, and
    writes the exponential cone (r, t, s).
    """
    import ecos

    R, w = root(program.P), max(1.0, program.P.diagonal().sum() / max(1, program.q.size))
    rank = R.indptr.size - 1
    m, n, zero, tail = program.b.size, program.q.size, program.zero, program.b.size - 3 * program.exp
    order = np.arange(m)
    order[tail:] = order[tail:].reshape(-1, 3)[:, [0, 2, 1]].ravel()  # this permutation is its own inverse
    b, rows = program.b[order], sparse.csr_array(as_csc(program.A))[order]
    rows = sparse.csr_array(sparse.hstack([rows, sparse.csr_array((m, 1))]))
    rise = sparse.csr_array(([-1.0, -1.0], ([0, 1], [n, n])), shape=(2, n + 1))
    curve = sparse.hstack([-np.sqrt(2 * w) * R, sparse.csr_array((rank, 1))])
    G = sparse.csr_array(sparse.vstack([rows[zero:tail], rise, curve, rows[tail:]]))
    h = np.concatenate([b[zero:tail], [w, -w], np.zeros(rank), b[tail:]])
    dims = {"l": program.nonneg, "q": [*program.soc, 2 + rank], "e": program.exp}
    equalities = {"A": as_csc(sparse.csr_array(rows[:zero])), "b": b[:zero]} if zero else {}
    found = ecos.solve(np.append(program.q, 1.0), as_csc(G), h, dims, **equalities, verbose=False, **options)
    z = np.concatenate([found["y"], found["z"][: tail - zero], found["z"][h.size - (m - tail) :]])[order]
    info = found["info"]
    return Answer.said(found["x"][:n], z, info["infostring"], info["exitFlag"] in (1, 11), info["iter"])


def root(P: Matrix) -> sparse.csr_array:
    """R with RᵀR = P, without directions of rounding error: entrywise if P is diagonal, else spectral."""
    values = P.diagonal()
    if isinstance(P, sparse.sparray) and P.count_nonzero() == np.count_nonzero(values):
        return sparse.csr_array(sparse.diags_array(np.sqrt(np.maximum(values, 0))))[values > 0]
    values, vectors = np.linalg.eigh(as_dense(P))
    keep = values > len(values) * np.finfo(float).eps * max(values[-1], 0)
    return sparse.csr_array(np.sqrt(values[keep])[:, None] * vectors[:, keep].T)


OPTIONS = dialect("abstol", "reltol", "feastol", max_iters=200)

# Through the cone, a gap of ε leaves √ε in the gradient Px + q, hence the small `delivers`.
NAMES = {"ecos": Backend("ECOS", "ecos", run, OPTIONS, CONIC - {"quadratic"}, clock=None, delivers=1e-3, rays=True)}
