"""Linear rows in other variables, where floats cannot tell the columns apart.

With J a largest set of independent columns and any invertible T,

    A x ≤ b for some x   ⟺   (A_J T) z ≤ b for some z, x_J = T z,          Aᵀy = 0   ⟺   (A_J T)ᵀ y = 0.

If columns are linearly dependent up to rounding, every basis that holds them is numerically singular. With R of the QR
factorisation of A_J's floats and T = R⁻¹, the exact A_J T has columns that are better apart by a factor of about 1e15,
however poor R is; so T is multiplied by such factors until floats can tell them apart (Rump
2009, Inversion of extremely ill-conditioned matrices in floating-point). Duplicated samples with contradictory labels
make such rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from workbench.arithmetic.matrices import Matrix, leading, pivots_modulo
from workbench.arithmetic.rationals import Ratios, product, ratios
from workbench.contracts import Floats, Ints
from workbench.programs.linear import spread
from workbench.programs.program import Exact

ENTRIES = 250_000  # of dense rows, above which other variables cost too much
FINE = 1e6  # condition number of scaled columns that floats can tell apart
ROUNDS = 12  # factors of T


class Conditioned(NamedTuple):
    """Rows in other variables, without an objective; T (k, k) is `back` over its unit."""

    e: Exact
    columns: Ints
    back: Ratios

    def point(self, z: Ratios | None, size: int) -> Ratios | None:
        """x (size,) of z."""
        return z and spread(Ratios(self.back.whole @ z.whole, self.back.unit * z.unit), self.columns, size)


def conditioned(e: Exact) -> Conditioned | None:
    """e's rows in other variables; None where floats can tell its columns apart anyway, or where no T was found."""
    m = e.shape[0]
    if e.A.shape[0] * e.A.shape[1] > ENTRIES or not len(e.A.rows):
        return None
    columns = pivots_modulo(e.A)
    k = len(columns)
    part = e.A.take(columns=columns)
    work = np.concatenate([np.zeros((m, k), object), np.diag(np.ones(k, object))])  # A_J T above T
    work[part.rows, part.columns] = part.whole
    for turn in range(ROUNDS):
        bits = np.array([max(abs(value).bit_length() for value in column) for column in work[:m].T.tolist()], np.int64)
        near = np.array([[leading(value, int(up)) for value, up in zip(row, bits, strict=True)] for row in work[:m]])
        if np.linalg.cond(near) < FINE:
            return (
                Conditioned(of_rows(e, work[:m], int(bits.max())), columns, turned(work[m:], e, bits)) if turn else None
            )
        factor = inverse(near)
        if factor is None:
            return None
        work = times(work << (bits.max() - bits).astype(object), factor)
    return None


def inverse(near: Floats) -> NDArray | None:
    """R⁻¹ as whole numbers over any unit, of the columns' QR factorisation; None where R is singular."""
    R = linalg.qr(near, mode="r")[0][: near.shape[1]]
    if not np.diag(R).all():
        return None
    found = linalg.solve_triangular(R, np.eye(len(R)))
    return ratios(found.ravel()).whole.reshape(found.shape) if np.isfinite(found).all() else None


def times(left: NDArray, right: NDArray) -> NDArray:
    return product(left.ravel(), lambda piece: piece.reshape(left.shape), right)


def of_rows(e: Exact, work: NDArray, up: int) -> Exact:
    """Rows work / 2^up ≤ b without an objective."""
    places, k = np.nonzero(work), work.shape[1]
    A = Matrix(places[0].astype(np.int64), places[1].astype(np.int64), work[places], 1 << up, work.shape)
    none = np.empty(0, np.int64)
    return e._replace(P=Matrix(none, none, np.empty(0, object), 1, (k, k)), q=Ratios(np.zeros(k, object), 1), A=A)


def turned(work: NDArray, e: Exact, bits: Ints) -> Ratios:
    """T in the unit in which A_J T is work / 2^up."""
    return Ratios(work * e.A.unit, 1 << int(bits.max()))
