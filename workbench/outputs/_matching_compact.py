"""The compact form of a matching's hinge (docs/mathematics.md §3; Taskar, Lacoste-Julien & Klein 2005).

The polytope of bipartite matchings is integral, so by linear duality the heaviest matching is the lightest
cover. With the loss-augmented gains θ_jk = ⟨w, x_jk⟩ + c⁺ outside the truth, − c⁻ inside it,

    h_i(w) = min Σ_j a_j + Σ_k b_k + c⁻ |y_i| − ⟨w, φ(x_i, y_i)⟩    s.t.  a, b ≥ 0,  a_j + b_k ≥ θ_jk

The dual values X (J, K) of the covers, with those of a ≥ 0 and b ≥ 0, have the row and column sums p_i:
X/p_i lies in the matching polytope, and `mixture` writes it as a mean of matchings. Where y_i is no matching, the clip
h_i ≥ 0 is one row more; its dual value is the weight of y_i itself, and the sums of X are p_i less that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from workbench.contracts import CompactHinge, Floats, Ints, multipliers


def compact(problem: Any, w: Any) -> CompactHinge:
    """The hinges of a `Matching` as a program in the CVXPY variable w (d,)."""
    import cvxpy as cp

    heights, widths, n = problem.heights, problem.widths, problem.n_samples
    tops, lefts = np.cumsum(heights) - heights, np.cumsum(widths) - widths
    row = np.repeat(np.arange(heights.sum()), np.repeat(widths, heights))
    column = np.concatenate(
        [left + np.tile(np.arange(k), j) for left, j, k in zip(lefts, heights, widths, strict=True)]
    )
    a, b = cp.Variable(int(heights.sum())), cp.Variable(int(widths.sum()))
    rows, columns = a >= 0, b >= 0
    cover = chosen(row, a.size) @ a + chosen(column, b.size) @ b >= problem.edges @ w + problem.augmentation
    sums = grouping(heights) @ a + grouping(widths) @ b
    hinge = sums + problem.false_negative * problem.sizes - problem.truth_features @ w

    outside = np.flatnonzero(problem.outside)
    clip = [hinge[outside] >= 0] if len(outside) else []

    def atoms() -> tuple[Ints, Ints, Floats]:
        links, idle_rows, idle_columns = (multipliers(c) for c in (cover, rows, columns))
        samples, witnesses, weights = [], [], []
        for i in range(n):
            mass = links[problem.starts[i] : problem.starts[i + 1]].reshape(heights[i], widths[i])
            spare = idle_rows[tops[i] :][: heights[i]], idle_columns[lefts[i] :][: widths[i]]
            for mates, weight in mixture(mass, *spare):
                samples.append(i)
                witnesses.append(np.concatenate([mates, np.full(problem.width - len(mates), -1)]))
                weights.append(weight)
        for number, i in enumerate(outside.tolist()):
            samples.append(i)
            witnesses.append(problem.truth[i])
            weights.append(float(multipliers(clip[0]).ravel()[number]))
        return np.array(samples), np.array(witnesses, np.int64), np.array(weights)

    return CompactHinge(hinge, [cover, rows, columns, *clip], atoms)


def chosen(index: Ints, size: int) -> sparse.csr_array:
    """The matrix (m, size) that picks entries `index` (m,)."""
    return sparse.csr_array((np.ones(len(index)), index, np.arange(len(index) + 1)), shape=(len(index), size))


def grouping(lengths: Ints) -> sparse.csr_array:
    """The matrix (n, Σ lengths) that sums consecutive groups."""
    total = int(lengths.sum())
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return sparse.csr_array((np.ones(total), np.arange(total), ends), shape=(len(lengths), total))


def mixture(mass: Floats, rows: Floats, columns: Floats, tolerance: float = 1e-12) -> list[tuple[Ints, float]]:
    """Matchings (J,), k of each j or −1, with weights whose sum is X = `mass` (J, K), nearly.

    `rows` (J,) and `columns` (K,) hold what is missing to one common sum of every row and column. The
    square matrix [[X, diag rows], [diag columns, Xᵀ]] then has that sum everywhere, and Birkhoff and von
    Neumann peel permutations off it: here the one with the greatest product of entries, as often as its
    least entry allows, until that is below `tolerance` of the whole. Sums that do not quite agree (a
    backend's duals) leave a remainder, which is dropped.
    """
    from scipy.optimize import linear_sum_assignment  # a quarter of a second, which most runs do without

    whole = np.block([[mass, np.diag(rows)], [np.diag(columns), mass.T]])
    everyone, floor, found = np.arange(len(whole)), tolerance * whole.sum() / len(whole), []
    while True:
        permutation = linear_sum_assignment(np.log(np.maximum(whole, 1e-300)), maximize=True)[1]
        weight = float(whole[everyone, permutation].min())
        if not weight > floor:
            return found
        whole[everyone, permutation] -= weight
        mates = permutation[: len(mass)]
        found.append((np.where(mates < mass.shape[1], mates, -1), weight))
