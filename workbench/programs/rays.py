"""Why a linear program has no optimum, exactly: rays found as vertices of linear programs.

infeasible   y, ≥ 0 on inequalities, with Aᵀy = 0, bᵀy < 0; that of a vertex has an irreducible support
unbounded    d with Pd = 0, A_E d = 0, A_I d ≤ 0, qᵀd = −1, and a point x that satisfies the constraints

Where no vertex is found for rows alone, they are looked at in other variables once more (conditioned.py).
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from workbench.arithmetic.matrices import Matrix, independent, solved, stacked
from workbench.arithmetic.rationals import Ratios, joined, ratios
from workbench.contracts import Floats, Ints
from workbench.programs.conditioned import conditioned
from workbench.programs.linear import nothing, vertex
from workbench.programs.program import Exact


def farkas(e: Exact) -> Ratios | None:
    """y (m,) of an infeasible program with linear rows, or None."""
    y = ray(e)
    return ray(other.e) if y is None and (other := conditioned(e)) else y


def ray(e: Exact) -> Ratios | None:
    """The least bᵀy over Aᵀy = 0, Σ|y| = 1, if it is < 0.

    The prices of equalities are split by sign. At a vertex y is the only such vector on its support.
    """
    m, n = e.shape
    equal, size = np.arange(e.zero), m + e.zero
    rows = stacked([[e.A.T, negated(e.A.take(rows=equal).T)]], [n], [m, e.zero])
    sums = Matrix(np.zeros(size, np.int64), np.arange(size), ones(size), 1, (1, size))
    A = stacked([[rows], [sums], [negated(identity(size))]], [n, 1, size], [size])
    b = joined([nothing(n), Ratios(ones(1), 1), nothing(size)])
    found = vertex(joined([e.b, Ratios(-e.b.whole[equal], e.b.unit)]), A, b, n + 1)
    if found.x is None:
        return contradiction(e)
    whole = found.x.whole[:m].copy()
    whole[equal] = whole[equal] - found.x.whole[m:]
    return Ratios(whole, found.x.unit) if (e.b.whole * whole).sum() < 0 else None


def contradiction(e: Exact) -> Ratios | None:
    """The same among the equalities alone: one that is a combination of independent others but for its right side."""
    equal = e.A.take(rows=np.arange(e.zero))
    if (pivots := independent(equal)) is None:
        return None
    rows, columns = pivots
    square, others = equal.take(rows, columns).T, np.setdiff1d(np.arange(e.zero), rows)
    for k in others.tolist():
        target = spread_row(equal, k)
        c = solved(square, Ratios(target.whole[columns], target.unit))
        if c is None:
            return None
        y = nothing(e.shape[0])
        y.whole[rows], y.whole[k] = -c.whole, c.unit
        if not (e.A.T @ y).whole.any() and (rest := (e.b.whole * y.whole).sum()):
            return Ratios(y.whole * (-1 if rest > 0 else 1), c.unit)
    return None


def spread_row(matrix: Matrix, k: int) -> Ratios:
    """Row k as a vector."""
    one = matrix.take(rows=np.array([k]))
    found = nothing(matrix.shape[1])
    found.whole[one.columns] = one.whole
    return Ratios(found.whole, one.unit)


def descent(e: Exact) -> Ratios | None:
    """d (n,) along which the objective falls without end, or None."""
    m, n = e.shape
    equal, rest = np.arange(e.zero), np.arange(e.zero, m)
    curved = np.unique(e.P.rows)
    blocks = [[e.P.take(rows=curved)], [row(e.q)], [e.A.take(rows=equal)], [e.A.take(rows=rest)]]
    heights = [len(curved), 1, e.zero, m - e.zero]
    b = joined([nothing(len(curved)), Ratios(-ones(1), 1), nothing(m)])
    return vertex(nothing(n), stacked(blocks, heights, [n]), b, sum(heights[:3])).x


class Relaxed(NamedTuple):
    """The least Σ|change| of right-hand sides that makes linear rows feasible: x, changes (m,), prices y (m,)."""

    x: Ratios
    changes: Ratios
    y: Ratios

    @property
    def size(self) -> float:
        """Σ|change|."""
        return float(Fraction(int(abs(self.changes.whole).sum()), self.changes.unit))


def relaxed(e: Exact, may: Ints | None = None) -> Relaxed | None:
    """min Σ(t + u)  over  A x − t + u ≤ b (u for equalities only), t, u ≥ 0; y of Σ > 0 proves infeasibility.

    may : the rows that may change, all by default
    """
    found = least(e, may)
    if found is None and (other := conditioned(e)) and (found := least(other.e, may)):
        return found._replace(x=other.point(found.x, e.shape[1]))
    return found


def least(e: Exact, may: Ints | None) -> Relaxed | None:
    """The same, in the variables of e."""
    m, n = e.shape
    may = np.arange(m) if may is None else may
    equal, one = may[may < e.zero], identity(m)
    size = len(may) + len(equal)
    changes = stacked([[negated(one.take(columns=may)), one.take(columns=equal)]], [m], [len(may), len(equal)])
    A = stacked([[e.A, changes], [None, negated(identity(size))]], [m, size], [n, size])
    q = joined([nothing(n), Ratios(ones(size), 1)])
    found = vertex(q, A, joined([e.b, nothing(size)]), e.zero)
    if found.x is None or found.y is None:
        return None
    part = np.zeros(m, object)
    part[may] = found.x.whole[n : n + len(may)]
    part[equal] = part[equal] - found.x.whole[n + len(may) :]
    x, changes = Ratios(found.x.whole[:n], found.x.unit), Ratios(part, found.x.unit)
    return Relaxed(x, changes, Ratios(found.y.whole[:m], found.y.unit))


def feasible(e: Exact) -> Ratios | None:
    """A point x (n,) that satisfies linear rows, or None."""
    x = vertex(nothing(e.shape[1]), e.A, e.b, e.zero).x
    if x is None and (other := conditioned(e)):
        return other.point(vertex(other.e.q, other.e.A, e.b, e.zero).x, e.shape[1])
    return x


def projected(e: Exact, x: Floats) -> Ratios | None:
    """The point that satisfies linear rows and is nearest to x in the 1-norm: min Σt, A z ≤ b, −t ≤ z − x ≤ t."""
    m, n = e.shape
    one, near = identity(n), ratios(x)
    A = stacked([[e.A, None], [one, negated(one)], [negated(one), negated(one)]], [m, n, n], [n, n])
    found = vertex(joined([nothing(n), Ratios(ones(n), 1)]), A, joined([e.b, near, -near]), e.zero).x
    return None if found is None else Ratios(found.whole[:n], found.unit)


def ones(size: int) -> np.ndarray:
    return nothing(size).whole + 1


def row(x: Ratios) -> Matrix:
    """A vector as a matrix of one row."""
    places = np.flatnonzero(x.whole)
    return Matrix(np.zeros(len(places), np.int64), places, x.whole[places], x.unit, (1, len(x.whole)))


def identity(size: int) -> Matrix:
    return Matrix(np.arange(size), np.arange(size), ones(size), 1, (size, size))


def negated(matrix: Matrix) -> Matrix:
    return matrix._replace(whole=-matrix.whole)
