"""Linear programs solved exactly: the basis of a simplex method, solved in rationals, corrected if it must be.

    minimise  qᵀx   subject to   A x ≤ b, the first `zero` rows with equality

A basis names rows W that hold with equality and as many columns J that may differ from 0. It is optimal if, exactly,

    A_WJ x_J = b_W,   A_WJᵀ y_W = −q_J,   s = b − A x ≥ 0 (= 0 in equalities),   y ≥ 0 (free there),   r = q + Aᵀy = 0.

Where a basis misses this by v_p (s) or v_d (y, r), since simplex methods have tolerances, the program of the correction
is solved next, in units that make the faults large (Gleixner, Steffy and Wolter 2016): Δ_p = 1/v_p, Δ_d = 1/v_d,

    minimise  Δ_d (rᵀδ + yᵀσ)   subject to   A δ + σ = 0,   σ ≥ −Δ_p s   (= in equalities)

It has the bases of the original, and is the original at x = 0, y = 0, Δ = 1.

Where entries lie beyond the range of the simplex method, rows and columns are first multiplied by powers of two.
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
EVENED = 4  # sweeps over rows and columns
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
    if simplex.usable:
        return of_bases(simplex, q, A, b)
    rows, columns = equilibrated(A)
    entries = powered(Ratios(A.whole, A.unit), rows[A.rows] + columns[A.columns])
    A, q, b = A._replace(whole=entries.whole, unit=entries.unit), powered(q, columns), powered(b, rows)
    simplex, large = Simplex(A.floats(), zero), [max(exponents(part), default=0) for part in (q, b)]
    if not simplex.usable:
        return Vertex("coefficients beyond the range of the simplex method")
    found = of_bases(simplex, powered(q, -large[0]), A, powered(b, -large[1]))
    if found.x is None or found.y is None:
        return found
    return found._replace(x=powered(found.x, columns + large[1]), y=powered(found.y, rows + large[0]))


def of_bases(simplex: Simplex, q: Ratios, A: Matrix, b: Ratios) -> Vertex:
    """From the first basis that the simplex method proposes, with its corrections."""
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
    """The largest violation of values ≥ 0. Entries in `equal` must be 0 instead; with `free` they may be anything."""
    below = np.where(equal, 0 if free else abs(values.whole), -values.whole)
    return Fraction(max(int(below.max(initial=0)), 0), values.unit)


def zoom(fault: Fraction, last: int) -> int:
    """The exponent of a unit in which the fault has size 1, at most ZOOM above the last one."""
    size = fault.denominator.bit_length() - fault.numerator.bit_length() if fault else last
    return max(min(size, last + ZOOM), last)


def scaled(values: Ratios, power: int) -> Ratios:
    return Ratios(values.whole << power, values.unit) if power else values


# ── units ─────────────────────────────────────────────────────────────────────────────────────────────


def equilibrated(A: Matrix) -> tuple[Ints, Ints]:
    """Exponents of powers of two for rows and columns that bring the entries' sizes towards 1."""
    size, powers = exponents(Ratios(A.whole, A.unit)), [np.zeros(each, np.int64) for each in A.shape]
    for _ in range(EVENED):
        for axis, places in enumerate((A.rows, A.columns)):
            now = size + powers[0][A.rows] + powers[1][A.columns]
            high, low = np.full(A.shape[axis], -(10**6)), np.full(A.shape[axis], 10**6)
            np.maximum.at(high, places, now)
            np.minimum.at(low, places, now)
            powers[axis] -= np.where(high < low, 0, (high + low) // 2)
    return powers[0], powers[1]


def exponents(values: Ratios) -> Ints:
    """About log₂ of each value's size, 0 for 0."""
    bits, unit = (abs(each).bit_length() for each in values.whole.tolist()), values.unit.bit_length()
    return np.array([each - unit if each else 0 for each in bits], np.int64)


def powered(values: Ratios, powers: Ints | int) -> Ratios:
    """Each value times its power of two."""
    powers = np.broadcast_to(np.asarray(powers, np.int64), values.whole.shape)
    low = min(int(powers.min(initial=0)), 0)
    shifts = [value << power for value, power in zip(values.whole.tolist(), (powers - low).tolist(), strict=True)]
    return Ratios.of(shifts, values.unit << -low)


def nothing(size: int) -> Ratios:
    return Ratios(np.zeros(size, object), 1)


def spread(values: Ratios, places: Ints, size: int) -> Ratios:
    """The values at their places, 0 elsewhere."""
    whole = np.zeros(size, object)
    whole[places] = values.whole
    return Ratios(whole, values.unit)
