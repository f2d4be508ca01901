"""Quadratic programs solved exactly: the active set of an interior-point answer, solved in rationals.

    minimise  ½xᵀPx + qᵀx   subject to   A x ≤ b, the first `zero` rows with equality

With W the rows that hold with equality, the optimum solves

    [P  A_Wᵀ] [x  ]   [−q ]
    [A_W  0 ] [y_W] = [b_W],      b − A x ≥ 0,  y_I ≥ 0.

W is read off floats (price above slack). A row missed enters, a row of negative price leaves. Where the matrix is
singular the float answer is corrected on independent rows and columns (`completed`); where that fails, the rows
depend on one another, and W becomes the basis of a linear program that carries their prices (`independent`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from workbench.arithmetic.matrices import completed, solved, stacked
from workbench.arithmetic.rationals import Ratios, joined, ratios
from workbench.contracts import Floats, Ints
from workbench.programs.linear import spread, vertex
from workbench.programs.program import Exact

CHANGES = 5  # of the active set
UNKNOWNS = 4000


def stationary(e: Exact, x: Floats, y: Floats, s: Floats) -> tuple[Ratios, Ratios] | None:
    """The exact optimum (x, y) whose active set the float answer x, y, s suggests, or None."""
    m, n = e.shape
    fixed = np.arange(m) < e.zero
    held, seen = fixed | (y > s), set[bytes]()
    for _ in range(CHANGES):
        if held.tobytes() in seen or n + int(held.sum()) > UNKNOWNS:
            return None
        seen.add(held.tobytes())
        rows = np.flatnonzero(held)
        found = settled(e, rows, x, y)
        for chosen in () if found else independent(e, y, s, rows):
            if found := settled(e, chosen, x, y):
                break
        if found is None:
            return None
        x_exact, y_exact = found
        slack = e.b - e.A @ x_exact
        missed = np.flatnonzero(~held & (slack.whole < 0))
        wrong = np.flatnonzero(held & ~fixed & (y_exact.whole < 0))
        if not len(missed) and not len(wrong):
            return None if slack.whole[fixed].any() else found
        held = held.copy()
        held[missed], held[wrong] = True, False
    return None


def settled(e: Exact, rows: Ints, x: Floats, y: Floats) -> tuple[Ratios, Ratios] | None:
    """x and y of the system above, next to the float ones where it is singular."""
    (m, n), active = e.shape, e.A.take(rows=rows)
    system = stacked([[e.P, active.T], [active, None]], [n, len(rows)], [n, len(rows)])
    right = joined([-e.q, Ratios(e.b.whole[rows], e.b.unit)])
    z = solved(system, right) or completed(system, right, np.concatenate([x, y[rows]]))
    if z is None:
        return None
    return Ratios(z.whole[:n], z.unit), spread(Ratios(z.whole[n:], z.unit), rows, m)


def independent(e: Exact, y: Floats, s: Floats, rows: Ints) -> Iterator[Ints]:
    """Active sets of independent rows that carry the prices ỹ of `rows`, and then those at a corner of their face.

    First the basis of  min −(A_Wᵀỹ)ᵀδ,  A_W δ ≤ s̃_W;  then with it held, P δ = 0, and all other rows.
    """
    (m, n), equal = e.shape, np.arange(e.shape[0]) < e.zero
    prices = np.where(equal, y, np.maximum(y, 0.0))
    room = np.where(equal, 0.0, np.maximum(s, 0.0))
    room = room / (room[rows].max(initial=0.0) or 1.0)
    active = e.A.take(rows=rows)
    found = vertex(-(active.T @ ratios(prices[rows])), active, ratios(room[rows]), int(equal[rows].sum()))
    if found.rows is None:
        return
    chosen = rows[found.rows]
    yield chosen
    curved, others = np.unique(e.P.rows), np.setdiff1d(np.arange(m), np.union1d(chosen, np.flatnonzero(equal)))
    blocks = [[e.P.take(rows=curved)], [e.A.take(rows=chosen)], [e.A.take(rows=others)]]
    heights = [len(curved), len(chosen), len(others)]
    b = ratios(np.concatenate([np.zeros(sum(heights[:2])), room[others]]))
    found = vertex(-(e.A.T @ ratios(prices)), stacked(blocks, heights, [n]), b, sum(heights[:2]))
    if found.rows is not None:
        new = found.rows[found.rows >= sum(heights[:2])] - sum(heights[:2])
        yield np.union1d(chosen, others[new])
