"""Linear programs solved exactly: the basis of a simplex method, solved in rationals, corrected if it must be.

    minimise  qᵀx   subject to   A x ≤ b, the first `zero` rows with equality

A basis names rows W that hold with equality and as many columns J that may differ from 0. It is optimal if, exactly,

    A_WJ x_J = b_W,   A_WJᵀ y_W = −q_J,   s = b − A x ≥ 0 (= 0 in equalities),   y ≥ 0 (free there),   r = q + Aᵀy = 0.

Where a basis misses this by v_p (s) or v_d (y, r), since simplex methods have tolerances, the program of the correction
is solved next, in units that make the faults large (Gleixner, Steffy and Wolter 2016): Δ_p = 1/v_p, Δ_d = 1/v_d,

    minimise  Δ_d (rᵀδ + yᵀσ)   subject to   A δ + σ = 0,   σ ≥ −Δ_p s   (= in equalities)

It has the bases of the original, and is the original at x = 0, y = 0, Δ = 1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from workbench.arithmetic.matrices import Matrix, floats, solved
from workbench.arithmetic.rationals import Ratios
from workbench.backends.simplex import Simplex
from workbench.contracts import Ints

ROUNDS, ZOOM = 8, 60  # corrections, and bits by which the units may grow in each
SECONDS = 5.0  # of the simplex method in a correction
OPTIMAL, INFEASIBLE, UNBOUNDED = "optimal", "infeasible", "unbounded"
CLAIMS = {"Infeasible": INFEASIBLE, "Unbounded": UNBOUNDED, "Primal infeasible or unbounded": UNBOUNDED}


class Vertex(NamedTuple):
    """x (n,) and y (m,), exact, of an optimal basis and its rows W; or what the simplex method claims instead."""

    status: str
    x: Ratios | None = None
    y: Ratios | None = None
    rows: Ints | None = None


def vertex(q: Ratios, A: Matrix, b: Ratios, zero: int) -> Vertex:
    """An exact optimal vertex with its multipliers, or why there is none here."""
    simplex = Simplex(A.floats(), zero)
    if not simplex.usable:
        return Vertex("coefficients beyond the range of the simplex method")
    first = simplex.solve(floats(q), np.zeros(A.shape[0]), floats(-b))
    if first[1] is None:
        return Vertex(CLAIMS.get(first[0], first[0]))
    claims = []
    for warm in (False, True):
        found = corrected(simplex, q, A, b, first[1], warm)
        if found.status == OPTIMAL:
            return found
        claims.append(found)
    return next((each for each in claims if each.status == INFEASIBLE), claims[0])


def corrected(simplex: Simplex, q: Ratios, A: Matrix, b: Ratios, basis: tuple[Ints, Ints] | None, warm: bool) -> Vertex:
    """The rounds from a first basis on. Costs of many magnitudes upset now a warm start, now a cold one."""
    n, equal, AT = A.shape[1], np.arange(A.shape[0]) < simplex.zero, A.T
    status, primal, dual = "", 0, 0
    for _ in range(ROUNDS):
        if basis is None:
            return Vertex(CLAIMS.get(status, status))
        found = None if len(basis[0]) != len(basis[1]) else solution(q, A, b, *basis)
        if found is None:
            return Vertex("the simplex method's basis is singular")
        x, y = found
        s, r = b - A @ x, q + AT @ y
        faults = missed(s, equal), max(missed(y, equal, free=True), missed(r, np.ones(n, bool)))
        if not any(faults):
            return Vertex(OPTIMAL, x, y, basis[0])
        primal, dual = zoom(faults[0], primal), zoom(faults[1], dual)
        near = [floats(scaled(part, power)) for part, power in ((r, dual), (y, dual), (-s, primal))]
        if not warm:
            simplex.forget()
        status, basis = simplex.solve(*near, limit=SECONDS)
    return Vertex("the corrections did not end")


def solution(q: Ratios, A: Matrix, b: Ratios, rows: Ints, columns: Ints) -> tuple[Ratios, Ratios] | None:
    """x and y of a basis, exactly; None if the basis is singular."""
    square = A.take(rows, columns)
    found = solved(square, Ratios(b.whole[rows], b.unit), Ratios(-q.whole[columns], q.unit))
    return found and (spread(found[0], columns, A.shape[1]), spread(found[1], rows, A.shape[0]))


def missed(values: Ratios, equal: np.ndarray, free: bool = False) -> Fraction:
    """By how much values ≥ 0 fails at most; where `equal`, values = 0 is asked for, or nothing at all if `free`."""
    below = np.where(equal, 0 if free else abs(values.whole), -values.whole)
    return Fraction(max(int(below.max(initial=0)), 0), values.unit)


def zoom(fault: Fraction, last: int) -> int:
    """The exponent of a unit in which the fault has size 1, at most ZOOM above the last one."""
    size = fault.denominator.bit_length() - fault.numerator.bit_length() if fault else last
    return max(min(size, last + ZOOM), last)


def scaled(values: Ratios, power: int) -> Ratios:
    return Ratios(values.whole << power, values.unit) if power else values


def nothing(size: int) -> Ratios:
    return Ratios(np.zeros(size, object), 1)


def spread(values: Ratios, places: Ints, size: int) -> Ratios:
    """The values at their places, 0 elsewhere."""
    whole = np.zeros(size, object)
    whole[places] = values.whole
    return Ratios(whole, values.unit)
