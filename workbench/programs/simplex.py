"""Linear programs solved exactly: the basis of a simplex method, solved in rationals, corrected if it must be.

    minimise  qᵀx   subject to   A x ≤ b, rows E with equality                       y: A_Eᵀy_E + A_Iᵀy_I = −q, y_I ≥ 0

A basis names rows W that hold with equality and as many columns J that may differ from 0. It is optimal if, exactly,

    A_WJ x_J = b_W,   A_WJᵀ y_W = −q_J,   s = b − A x,  s_I ≥ 0,  s_E = 0,   y_I ≥ 0,   r = q + Aᵀy = 0.

Where the basis misses one of these by v_p or v_d, since a simplex method has tolerances, the program for the correction
is solved next, in units that make the faults large (Gleixner, Steffy, Wolter 2016): Δ_p = 1/v_p, Δ_d = 1/v_d and

    minimise  Δ_d (rᵀδ + yᵀσ)   subject to   A δ + σ = 0,   σ_I ≥ −Δ_p s_I,   σ_E = −Δ_p s_E.

It has the bases of the original; at x = 0, y = 0, Δ = 1 it is the original.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from workbench.programs.matrices import Matrix, floats, leading, solved
from workbench.rationals import Ratios
from workbench.structures import Ints

ROUNDS, ZOOM = 8, 1 << 40
UNTRIED, OPTIMAL, INFEASIBLE, UNBOUNDED = "untried", "optimal", "infeasible", "unbounded"


class Vertex(NamedTuple):
    """x (n,) and y (m,), exact, of an optimal basis; or `status` says what the simplex method claims instead.

    support : the basis's rows W
    """

    status: str
    x: Ratios | None = None
    y: Ratios | None = None
    support: Ints | None = None


def vertex(q: Ratios, A: Matrix, b: Ratios, zero: int) -> Vertex:
    """An exact optimal vertex and its multipliers, or what kept the simplex method from one."""
    simplex, exact = Simplex(A, zero), Faults(q, A, b, zero)
    status, basis = simplex.solve(exact, 0, 0)
    for _ in range(ROUNDS):
        if basis is None:
            return Vertex(status)
        point = solution(q, A, b, *basis)
        if point is None:
            return Vertex("singular basis")
        primal, dual = exact.measure(*point)
        if not primal and not dual:
            return Vertex(OPTIMAL, *point, basis[0])
        zooms = [min(reciprocal(fault), ZOOM * max(last, 1)) for fault, last in ((primal, simplex.up), (dual, simplex.dual))]
        status, basis = simplex.solve(exact, *zooms)
    return Vertex("corrections did not end")


def reciprocal(fault: Fraction) -> int:
    """A power of two near 1/fault, or 2⁴⁰ and more where there is no fault; its exponent."""
    return 0


def solution(q: Ratios, A: Matrix, b: Ratios, rows: Ints, columns: Ints) -> tuple[Ratios, Ratios] | None:
    """x and y of the basis, exactly."""
    found = solved(A.take(rows, columns), Ratios(b.whole[rows], b.unit), Ratios(-q.whole[columns], q.unit))
    if found is None:
        return None
    return spread(found[0], columns, A.shape[1]), spread(found[1], rows, A.shape[0])


def spread(values: Ratios, places: Ints, size: int) -> Ratios:
    """The values at their places, 0 elsewhere."""
    whole = np.zeros(size, object)
    whole[places] = values.whole
    return Ratios(whole, values.unit)
