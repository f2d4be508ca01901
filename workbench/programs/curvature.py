"""What shows that a quadratic form is convex, or that it is not: vectors that the checker takes.

convex       a float factor of P that is nearly its Cholesky factor
not convex   d with dᵀPd < 0: a float eigenvector, or the first wrong pivot of exact elimination
"""

from __future__ import annotations

import numpy as np

from workbench.arithmetic.matrices import Matrix, inner, solved
from workbench.arithmetic.rationals import Ratios, ratios
from workbench.programs.linear import spread
from workbench.programs.program import Exact

EPS = 2.0**-52  # of entries of at most 1


def factor(e: Exact) -> tuple[list[int], int] | None:
    """A float Cholesky factor of P less a little of its diagonal, for `semidefinite`; None where there is none."""
    places = np.unique(e.P.rows)
    P = e.P.take(places, places).floats().toarray()
    diagonal = np.diag(P)
    if (diagonal <= 0).any() or not np.isfinite(P).all():
        return None
    scale = np.exp2(np.round(np.log2(diagonal) / 2))
    scaled = P / scale[:, None] / scale
    try:
        root = np.linalg.cholesky(scaled - 1e-12 * len(P) * np.eye(len(P)))
    except np.linalg.LinAlgError:
        return None
    found = ratios((np.rint(root / EPS) * EPS * scale[:, None]).ravel())  # tiny entries would make whole numbers long
    return found.whole.tolist(), found.unit


def bent(e: Exact) -> Ratios:
    """A direction of least curvature: an eigenvector of P, scaled to a diagonal of ones."""
    places = np.unique(e.P.rows)
    P = e.P.take(places, places).floats().toarray()
    size = np.sqrt(np.maximum(np.abs(np.diag(P)), np.abs(P).max() * 1e-12))
    vector = np.linalg.eigh(P / size[:, None] / size)[1][:, 0] / size
    return spread(ratios(vector / np.abs(vector).max()), places, e.shape[1])


def bent_exactly(e: Exact) -> Ratios | None:
    """d with dᵀPd < 0, the first step of exact elimination whose pivot is negative."""
    places, n = np.unique(e.P.rows), e.shape[1]
    block = e.P.take(places, places)
    found = (spread(minor, places, n) for k in range(len(places)) if (minor := wrong_minor(block, k)))
    return next((d for d in found if inner(d, e.P @ d) < 0), None)


def wrong_minor(block: Matrix, k: int) -> Ratios | None:
    """(−P_SS⁻¹P_Sk, 1) for S the first k rows: dᵀPd is the k-th pivot of elimination."""
    first, last = np.arange(k), block.take(columns=np.array([k])).take(rows=np.arange(k))
    right = np.zeros(k, object)
    right[last.rows] = -last.whole
    head = solved(block.take(first, first), Ratios(right, last.unit)) if k else Ratios(right, 1)
    if head is None:
        return None
    whole = np.zeros(block.shape[0], object)
    whole[:k], whole[k] = head.whole, head.unit
    return Ratios(whole, head.unit)
