"""The active-set finish: dual weights brought to the optimum over the rows that have weight, to machine accuracy.

With r = μ/2‖θ‖² and S the rows with weight, the dual of the master over S is

    max over β   ⟨o, β⟩ − ‖Σ_r β_r a_r‖²/(2μ)     s.t.  Σ_{r∈g} β_r = p_g,  β ≥ 0;       θ = −Σ_r β_r a_r/μ

Within the plane of the equations a step d moves weight between each row and the heaviest row of its group, its
reference: with D = a_r − a_ref and heights ∇_r = o_r + ⟨a_r, θ⟩ the best step solves

    M d = ∇_r − ∇_ref,      M = DDᵀ/μ

and makes the rows of a group equally high. (Hard rows have no group: D = a_r, and ∇_r itself becomes zero.)

**Rows that depend on one another.** Long sequences have more cuts with weight than weights θ, so that M is singular.
Cholesky's factor with pivots finds the rows whose D others combine, and for each of them a direction along which θ
stays. β moves along this direction, to the side where ⟨o, β⟩ does not fall, until a weight is zero (as in
Carathéodory's theorem). So each row that leaves costs O(|S|), and no row is left that others combine.

**Weights below zero.** The step is cut where the first weight becomes zero, or taken whole with weights below zero as
zeros and the others of a group scaled to their sum, whichever has the greater dual. The rows of zero weight leave S,
and the rest is solved anew. No step lowers the dual, and each solve but the last loses a row, so this ends.

The answer is a proposal, like that of any master: the bounds are computed from β and the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from workbench.arithmetic.arrays import taken
from workbench.contracts import Floats, Ints, Rows

FEW = 5000  # rows beyond which the finish costs more than another round
SOLVES, EASY = 3, 2000  # at most, and one more for each time that the rows go into EASY; β has gained by then
PIECE = 1000  # rows that are spread out at a time
SINGULAR = 1e-11  # of M's largest diagonal entry: a pivot below it belongs to a row that others combine
FAINT = 1e-6  # of a group's price: the weights that interior-point methods leave on rows that lie below the maximum
LIGHT = 1e-15  # of the largest weight, at which a weight is zero
SLIGHT = 1e-9  # of a direction's largest entry: a smaller one is rounding, and chooses no row that leaves


def settled(rows: Rows, multipliers: Floats, prices: Floats, curvature: float, light: float = 0.0) -> Floats | None:
    """β (rows,), the best weights on the rows that have weight in `multipliers`, or None.

    multipliers : (rows,) ≥ 0;  prices : p (groups,), empty where rows are hard
    light : the share of a group's price, of the largest weight where rows are hard, up to which a weight is none: FAINT
        for interior-point methods, whose weights are never zero
    None : no weights or a group without any, more than FEW rows beside others of their group, or hard rows that
        contradict one another
    """
    hard = not len(prices)
    unit = multipliers.max(initial=0.0) if hard else prices[rows.groups]
    beta = np.where(multipliers > light * unit, multipliers, 0.0)
    held = np.flatnonzero(beta)
    counts = np.bincount(rows.groups[held], minlength=len(prices)) if not hard else np.empty(0)
    if not len(held) or (counts == 0).any():
        return None
    beside = np.ones(len(held), bool) if hard else counts[rows.groups[held]] > 1
    if not hard:
        beta *= (prices / np.bincount(rows.groups, beta, len(prices)))[rows.groups]
    shared, alone = held[beside], held[~beside]
    if not len(shared):
        return beta
    if len(shared) > FEW:
        return None
    slopes = taken(rows.slopes, shared)
    fixed = taken(rows.slopes, alone).T @ beta[alone]
    groups = None if hard else rows.groups[shared]
    face = Face(slopes, rows.offsets[shared], groups, products(slopes, slopes) / curvature, fixed, curvature)
    found = face.best(beta[shared])
    if found is None:
        return None
    if face.dual(found) > face.dual(beta[shared]):  # else nothing was left to gain but rounding
        beta[shared] = found
    return beta


def products(rows: sparse.csr_array, new: sparse.csr_array) -> Floats:
    """All inner products rows · newᵀ, dense (R, m); dense arithmetic where the rows are dense."""
    if new.nnz > 0.1 * new.shape[0] * new.shape[1]:
        right, count = new.toarray().T, rows.shape[0]
        pieces = np.split(np.arange(count), range(PIECE, count, PIECE))
        return np.concatenate([taken(rows, piece).toarray() @ right for piece in pieces])
    return sparse.csr_array(rows @ sparse.csr_array(new.T)).toarray()


@dataclass(frozen=True)
class Face:
    """Rows (m,) of which no group has a single one, and what the other rows add to Σ_r β_r a_r.

    groups : (m,), None where rows are hard;  gram : AAᵀ/μ (m, m);  fixed : (p,)
    """

    slopes: sparse.csr_array
    offsets: Floats
    groups: Ints | None
    gram: Floats
    fixed: Floats
    curvature: float

    def best(self, beta: Floats) -> Floats | None:
        """The best β ≥ 0 with the sums of this one; None where hard rows contradict one another."""
        for _ in range(SOLVES + EASY // len(beta)):
            held = np.flatnonzero(beta)
            free, back = self.references(held, beta)
            if not len(free):
                return beta
            matrix, order, rank = self.factor(free, back)
            if rank < len(free):
                found = self.without(beta, self.directions(matrix, order, rank, free, back))
                if found is None:
                    return None
                beta = found
                continue
            step = self.step(matrix, order, free, back, beta)
            length = longest(beta, step)
            if length >= 1:  # twice, the second time against what rounding left of the heights' differences
                beta = moved(beta, step, 1.0)
                step = self.step(matrix, order, free, back, beta)
                return moved(beta, step, min(longest(beta, step), 1.0))
            beta = max(moved(beta, step, length), self.clipped(beta + step, beta), key=self.dual)
        return beta

    def clipped(self, weights: Floats, beta: Floats) -> Floats:
        """Weights below zero as zeros, the others of a group scaled to its sum of β; β itself where rows are hard."""
        if self.groups is None:
            return beta
        weights = np.maximum(weights, 0.0)
        sums, wanted = np.bincount(self.groups, weights), np.bincount(self.groups, beta)
        return weights * (wanted / np.where(sums > 0, sums, 1.0))[self.groups]

    def dual(self, beta: Floats) -> float:
        """⟨o, β⟩ − ‖Σ_r β_r a_r‖²/(2μ), the rows outside of the face included in the sum."""
        push = self.slopes.T @ beta + self.fixed
        return float(self.offsets @ beta - push @ push / (2 * self.curvature))

    def references(self, held: Ints, beta: Floats) -> tuple[Ints, Ints | None]:
        """The rows that are no references, and the reference of each, the heaviest row of its group."""
        if self.groups is None:
            return held, None
        order = held[np.lexsort((-beta[held], self.groups[held]))]
        first = np.concatenate([[True], self.groups[order[1:]] != self.groups[order[:-1]]])
        return order[~first], order[first][np.cumsum(first) - 1][~first]

    def factor(self, free: Ints, back: Ints | None) -> tuple[Floats, Ints, int]:
        """Cholesky's factor of M with pivots, upper triangular (m, m); the pivots' order; and the rank of M."""
        from scipy.linalg import get_lapack_funcs  # loads much that most runs do without

        matrix = self.gram[np.ix_(free, free)]
        if back is not None:
            cross = self.gram[np.ix_(free, back)]
            matrix += self.gram[np.ix_(back, back)] - cross - cross.T
        least = SINGULAR * np.diag(matrix).max(initial=0.0)
        pstrf: Any = get_lapack_funcs("pstrf", (matrix,))  # this part of SciPy has no types
        factor, order, rank, _ = pstrf(matrix, tol=least, overwrite_a=True)
        return np.triu(factor), order - 1, int(rank)

    def directions(self, factor: Floats, order: Ints, rank: int, free: Ints, back: Ints | None) -> Floats:
        """For each row that others combine, a direction (m,) of weights along which θ stays, as columns."""
        from scipy.linalg import solve_triangular

        combined = order[rank:]
        found = np.zeros((len(self.offsets), len(combined)))
        parts = solve_triangular(factor[:rank, :rank], factor[:rank, rank:]) if rank else np.empty((0, 1))
        found[free[order[:rank]]] = -parts
        found[free[combined], np.arange(len(combined))] = 1.0
        if back is not None:
            np.subtract.at(found, back, found[free])
        return found

    def without(self, beta: Floats, directions: Floats) -> Floats | None:
        """β after a move along each direction until a weight is zero, to the side where ⟨o, β⟩ does not fall.

        A later direction is combined with the earlier ones so that it leaves the weights alone that became zero: these
        entries of the earlier ones are a triangular matrix. Of the rows that become zero at once the one that falls
        fastest leaves, so that no entry on the diagonal is rounding.
        """
        from scipy.linalg import solve_triangular

        start = beta
        count, gone = directions.shape[1], np.empty(directions.shape[1], np.int64)
        ways, corner = np.empty(directions.shape, order="F"), np.zeros((count, count))
        for k in range(count):
            shares = solve_triangular(corner[:k, :k], directions[gone[:k], k], lower=True) if k else np.empty(0)
            way = directions[:, k] - ways[:, :k] @ shares
            way[gone[:k]] = 0.0
            way = -way if self.offsets @ way < 0 else way
            length = longest(beta, way, SLIGHT)
            if np.isinf(length):
                return None
            empty = beta + length * way <= LIGHT * beta.max()
            gone[k] = int(np.argmin(np.where(empty, way, np.inf)))
            beta = moved(beta, way, length)
            beta[gone[k]] = 0.0
            ways[:, k] = way
            corner[k, : k + 1] = ways[gone[k], : k + 1]
        return self.clipped(beta, start)

    def step(self, factor: Floats, order: Ints, free: Ints, back: Ints | None, beta: Floats) -> Floats:
        """d (m,), which makes the rows of each group equally high, hard rows of height 0."""
        from scipy.linalg import cho_solve

        heights = self.offsets - self.slopes @ ((self.slopes.T @ beta + self.fixed) / self.curvature)
        missing = heights[free] if back is None else heights[free] - heights[back]
        found, step = np.empty(len(free)), np.zeros(len(beta))
        found[order] = cho_solve((factor, False), missing[order])
        step[free] = found
        if back is not None:
            np.subtract.at(step, back, found)
        return step


def longest(beta: Floats, step: Floats, least: float = LIGHT) -> float:
    """The largest t with β + t·d ≥ 0, entries of d within `least` of its largest aside; ∞ if there is none."""
    falling = step < -least * np.abs(step).max(initial=0.0)
    return float((beta[falling] / -step[falling]).min(initial=np.inf))


def moved(beta: Floats, step: Floats, length: float) -> Floats:
    """β + t·d, with zeros where weights come to nothing."""
    found = beta + length * step
    return np.where(found > LIGHT * found.max(initial=0.0), found, 0.0)
