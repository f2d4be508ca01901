"""More than two labels on a graph of associative pairs: α-expansion, the local polytope's optimum, and its dual bound.

For one graph with scores θ_v(a) (V, K) and θ_e ≥ 0 (E,) of ends with equal labels:

    relaxed   max Σ θ_v(a) µ_v(a) + Σ_e θ_e Σ_a z_e(a)    s.t.  Σ_a µ_v(a) = 1,  0 ≤ z_e(a) ≤ µ_u(a), µ_v(a)
    dual      min Σ_v max_a (θ_v(a) + Σ_{e∋v} λ_ev(a))    s.t.  λ ≥ 0,  λ_eu(a) + λ_ev(a) = θ_e

(the local polytope of a Potts model; Kleinberg & Tardos 2002 have the same program). Any λ of the second line bounds
every labelling. HiGHS proposes µ and λ, by SciPy; λ is made feasible here, so nothing rests on HiGHS but how tight the
bound is.

α-expansion: from a labelling y, every node may switch to α or stay; with x_v = 1 for a switch an edge gains
A = θ_e[y_u = y_v] if both stay, B = θ_e[y_u = α] if v switches alone, C = θ_e[y_v = α] if u does, D = θ_e if both do.
Since A + D ≥ B + C this is a cut: A + (C − A)x_u + (D − C)x_v − (A + D − B − C)[x_u < x_v].
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from workbench.contracts import Floats, Ints

SHARES = 720_720  # units of a node's mass: every share with a denominator up to 16 is a whole number of them


class Scores(NamedTuple):
    """One graph's scores: nodes θ_v(a) (V, K), edges θ_e (E,) and their ends (E, 2)."""

    nodes: Floats
    pairs: Floats
    edges: Ints

    def value(self, y: Ints) -> float:
        """The score of a labelling (V,)."""
        u, v = self.edges.T
        return float(self.nodes[np.arange(len(y)), y].sum() + self.pairs[y[u] == y[v]].sum())

    def worth(self, shares: Ints) -> float:
        """The score of node shares (V, K), in units of 1/SHARES."""
        u, v = self.edges.T
        return float((self.nodes * shares).sum() + self.pairs @ np.minimum(shares[u], shares[v]).sum(axis=1)) / SHARES

    def bound(self, share: Floats) -> float:
        """The dual bound of λ_eu(a) = share_e(a) θ_e, λ_ev(a) = (1 − share_e(a)) θ_e, 0 ≤ share ≤ 1 (E, K)."""
        total = self.nodes.copy()
        np.add.at(total, self.edges[:, 0], share * self.pairs[:, None])
        np.add.at(total, self.edges[:, 1], (1 - share) * self.pairs[:, None])
        return float(total.max(axis=1).sum())


def relaxed(scores: Scores) -> tuple[Ints, Floats]:
    """Node shares (V, K) near the local polytope's optimum, and λ as shares of θ_e (E, K)."""
    (V, K), E = scores.nodes.shape, len(scores.pairs)
    each = np.arange(E * K)
    columns = (scores.edges[:, :, None] * K + np.arange(K)).transpose(1, 0, 2).reshape(2, -1)
    above = (
        sparse.vstack(
            [
                sparse.csr_array(
                    (
                        np.concatenate([np.ones(E * K), -np.ones(E * K)]),
                        (np.tile(each, 2), np.concatenate([V * K + each, end])),
                    ),
                    shape=(E * K, (V + E) * K),
                )
                for end in columns
            ]
        )
        if E
        else None
    )
    mass = sparse.csr_array((np.ones(V * K), (np.repeat(np.arange(V), K), np.arange(V * K))), shape=(V, (V + E) * K))
    gain = np.concatenate([scores.nodes.ravel(), np.repeat(scores.pairs, K)])
    from scipy.optimize import linprog  # a fifth of a second, for the relaxed and enclosed oracles only

    found = linprog(-gain, above, None if above is None else np.zeros(2 * E * K), mass, np.ones(V), method="highs")
    if found.x is None:
        shares, dual = np.tile(np.eye(K)[0], (V, 1)), np.full((E, K), 0.5)
    else:
        shares = np.maximum(found.x[: V * K].reshape(V, K), 0)
        price = -found.ineqlin.marginals[: E * K].reshape(E, K) if E else np.zeros((0, K))
        dual = np.clip(price / np.where(scores.pairs > 0, scores.pairs, 1)[:, None], 0, 1)
    return whole_shares(shares), dual


def whole_shares(shares: Floats) -> Ints:
    """Shares (V, K) ≥ 0 as whole numbers that sum to SHARES in each row: rounded, the rest to the greatest."""
    rounded = np.rint(SHARES * shares / shares.sum(axis=1, keepdims=True)).astype(np.int64)
    rounded[np.arange(len(rounded)), rounded.argmax(axis=1)] += SHARES - rounded.sum(axis=1)
    return rounded


def expanded(scores: Scores, y: Ints, cut: Any) -> Ints:
    """A labelling from y on that no expansion improves; `cut(unary (V, 2), losses (E, 2))` finds a best one of two."""
    best, (u, v), K = scores.value(y), scores.edges.T, scores.nodes.shape[1]
    improved = True
    while improved:
        improved = False
        for alpha in range(K):
            A, D = scores.pairs * (y[u] == y[v]), scores.pairs
            B, C = scores.pairs * (y[u] == alpha), scores.pairs * (y[v] == alpha)
            unary = np.stack([scores.nodes[np.arange(len(y)), y], scores.nodes[:, alpha]], axis=1)
            np.add.at(unary[:, 1], u, C - A)
            np.add.at(unary[:, 1], v, D - C)
            losses = np.stack([np.zeros(len(u)), np.maximum(A + D - B - C, 0)], axis=1)
            moved = np.where(cut(unary, losses) == 1, alpha, y)
            if (value := scores.value(moved)) > best + 1e-12 * (1 + abs(best)):
                y, best, improved = moved, value, True
    return y
