"""Compact forms of the hinges of pairwise models: linear-programming duality once more (docs/mathematics.md §3).

    trees    N_e(a) ≥ θ_e(a, b) + θ_v(b) + Σ_{edges e′ below v} N_e′(b)   for every edge e = (u, v), a and b
             ν_r ≥ θ_r(a) + Σ_{edges e below r} N_e(a)                    for every root r and a
             h_i = Σ_r ν_r − ⟨w, φ(x_i, y_i)⟩ at the least ν
    graphs   two labels: s_v ≥ c_v − Σ_e f_ve,  s ≥ 0,  |f_e| ≤ θ_e,   c_v = θ_v(1) − θ_v(0), f_ve leaves v along e
             h_i = Σ_v θ_v(0) + Σ_e θ_e + Σ_v s_v − ⟨w, φ(x_i, y_i)⟩ at the least s

θ are augmented by the loss. Multipliers are marginals: of trees the shares of pairs, from which labellings are peeled,
the widest first; of graphs the shares of label 1, whose level sets {v : share > τ}, τ uniform, are a mixture with these
marginals and the same share of equal neighbours.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from workbench.contracts import CompactHinge, Floats, Ints, multipliers


def picked(rows: Ints, shape: tuple[int, int]) -> sparse.csr_array:
    """The matrix that adds entry j of a vector into row rows[j]."""
    return sparse.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=shape)


def ends_of(problem: Any) -> tuple[Ints, Ints]:
    """The two nodes of every edge, counted over all samples."""
    first = problem.offsets[problem.sample_of_edges]
    return problem.edges[:, 0] + first, problem.edges[:, 1] + first


def rows_of(samples: list[int], labels: list[Ints], weights: list[float], width: int) -> tuple[Ints, Ints, Floats]:
    """Atoms as `CompactHinge` wants them."""
    padded = np.full((len(labels), width), -1, np.int64)
    for row, y in zip(padded, labels, strict=True):
        row[: len(y)] = y
    return np.array(samples), padded, np.array(weights)


# ── graphs ────────────────────────────────────────────────────────────────────────────────────────


def graph(problem: Any, w: Any) -> CompactHinge:
    """The hinges of a `Graph` of two labels as a program in the CVXPY variable w (d,), w_e ≥ 0."""
    import cvxpy as cp

    p, N, E = problem.n_inputs, len(problem.labels), len(problem.edges)
    u, v = ends_of(problem)
    loss, owner = problem.augmentation, np.repeat(np.arange(problem.n_samples), problem.sizes)
    off, on = (problem.nodes @ w[a * p : (a + 1) * p] + loss[:, a] for a in (0, 1))
    s, sums, constraints, leaving = cp.Variable(N), picked(owner, (problem.n_samples, N)), [], 0
    total = sums @ (off + s)
    if E:
        f, theta = cp.Variable(E), problem.pairs @ w[2 * p :]
        leaving = (picked(u, (N, E)) - picked(v, (N, E))) @ f
        constraints = [f <= theta, -f <= theta]
        total = total + picked(problem.sample_of_edges, (problem.n_samples, E)) @ theta
    covered, bounded = s >= on - off - leaving, s >= 0

    def atoms() -> tuple[Ints, Ints, Floats]:
        one, zero = multipliers(covered), multipliers(bounded)
        samples, labels, weights = [], [], []
        for i in range(problem.n_samples):
            nodes = slice(*problem.offsets[i : i + 2])
            mass = one[nodes] + zero[nodes]
            share = one[nodes] / np.maximum(mass, 1e-300)
            levels = np.unique(np.concatenate([[0.0], share, [1.0]]))
            for low, high in pairwise(levels.tolist()):
                samples.append(i)
                labels.append((share > low).astype(np.int64))
                weights.append(float((high - low) * mass.mean()))
        return rows_of(samples, labels, weights, problem.width)

    return CompactHinge(total - problem.truth_features @ w, [covered, bounded, *constraints], atoms)


# ── trees ─────────────────────────────────────────────────────────────────────────────────────────


def tree(problem: Any, w: Any) -> CompactHinge:
    """The hinges of a `Tree` as a program in the CVXPY variable w (d,)."""
    import cvxpy as cp

    k, p, N, E = problem.n_classes, problem.n_inputs, len(problem.labels), len(problem.edges)
    u, v = ends_of(problem)
    roots = np.flatnonzero(problem.above < 0)
    owner = np.repeat(np.arange(problem.n_samples), problem.sizes)[roots]
    W = cp.reshape(w[: k * p], (k, p), order="C")
    nu, scores, constraints = cp.Variable(len(roots)), problem.nodes @ W.T + problem.augmentation, []
    if E:
        A, below = cp.reshape(w[k * p :], (k * k, problem.n_pairs), order="C"), cp.Variable((E, k))
        scores = scores + picked(u, (N, E)) @ below
        tables = cp.reshape(problem.pairs @ A.T, (E * k, k), order="C")
        column = cp.reshape(cp.vec(below.T, order="F"), (E * k, 1), order="C")
        constraints.append(column @ np.ones((1, k)) >= tables + scores[np.repeat(v, k)])
    top = cp.reshape(nu, (len(roots), 1), order="C") @ np.ones((1, k)) >= scores[roots]
    hinge = picked(owner, (problem.n_samples, len(roots))) @ nu - problem.truth_features @ w

    def atoms() -> tuple[Ints, Ints, Floats]:
        joint = multipliers(constraints[0]).reshape(E, k, k) if E else np.zeros((0, k, k))
        single, samples, labels, weights = np.zeros((N, k)), [], [], []
        single[roots] = multipliers(top).reshape(len(roots), k)
        for i in range(problem.n_samples):
            for y, weight in peeled(problem, i, single, joint):
                samples.append(i)
                labels.append(y)
                weights.append(weight)
        return rows_of(samples, labels, weights, problem.width)

    return CompactHinge(hinge, [top, *constraints], atoms)


def peeled(problem: Any, i: int, single: Floats, joint: Floats, tolerance: float = 1e-12) -> list[tuple[Ints, float]]:
    """Labellings with weights whose sums are the marginals of sample i, nearly: the widest labelling first.

    single (N, K) : shares of the labels of roots;  joint (E, K, K) : shares of the pairs on edges; both are used up.
    Marginals that do not quite agree (a backend's duals) leave a remainder, which is dropped.
    """
    nodes = slice(*problem.offsets[i : i + 2])
    order, above, link = problem.order[nodes], problem.above[nodes], problem.link[nodes]
    shares, found = single[nodes], []
    floor = tolerance * shares.sum()
    while True:
        width = np.where((above < 0)[:, None], shares, np.inf)
        for v in order:
            if above[v] >= 0:
                through = np.minimum(joint[link[v]], width[v]).max(axis=1)
                width[above[v]] = np.minimum(width[above[v]], through)
        y, weight = np.zeros(len(order), np.int64), np.inf
        for v in order[::-1]:
            here = width[v] if above[v] < 0 else np.minimum(joint[link[v], y[above[v]]], width[v])
            y[v] = here.argmax()
            weight = min(weight, float(here[y[v]]))
        if not weight > floor:
            return found
        found.append((y, weight))
        for v in order:
            if above[v] < 0:
                shares[v, y[v]] -= weight
            else:
                joint[link[v], y[above[v]], y[v]] -= weight
