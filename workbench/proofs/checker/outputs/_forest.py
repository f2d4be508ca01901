"""Sum-product on forests over whole numbers, every number enclosed: lo ≤ x·2^P ≤ hi.

    α_v(b) = u_v(b) Π_{children c} M_c(b),    M_c(b) = Σ_b′ E_c(b, b′) α_c(b′)       u = exp(θ_v), E = exp(θ_vc), scaled
    q_root = α/Σα,    q_vc(b, b′) = q_v(b) E_c(b, b′) α_c(b′)/M_c(b),    q_c(b′) = Σ_b q_vc(b, b′)

The greatest entry of every row of θ_vc goes to θ_v, the greatest of every θ_v to the offset of log Z, so all
exponentials are in (0, 1]. Each α is shifted to P bits; by how much is counted for log Z.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from workbench.proofs.checker.balls import exp, log, logs
from workbench.proofs.checker.contracts import Sums
from workbench.proofs.checker.faults import Imprecise
from workbench.proofs.checker.outputs._sums import Ball
from workbench.proofs.checker.whole import Array, Whole, objects, zeros


def forest_sums(tree: Any, w: Whole, samples: Array, masses: Array | None, P: int) -> Sums:
    """h_i and Σ mass_i ∇h_i of the samples; masses are whole numbers, None for no gradient."""
    lows, highs, nodes, edges = [], [], [], []
    for m, i in enumerate(samples.tolist()):
        unary, pairs, unit = tree.plain_scores(w, i)
        labels = tree.labels[slice(*tree.offsets[i : i + 2])]
        own = tree.value(unary, pairs, i, labels)
        (low, high), (q, joint) = one_sum(tree, unary, pairs, i, unit, P, masses is not None)
        lows.append(low + ((-own << P) // unit))
        highs.append(high - ((own << P) // unit))
        if masses is not None:
            nodes.append((i, int(masses[m]), q))
            edges.append((i, int(masses[m]), joint))
    ends = Whole(objects(lows), 1 << P), Whole(objects(highs), 1 << P)
    if masses is None:
        return Sums(*ends, Whole(zeros(0)), Fraction(0))
    return Sums(*ends, *gradient_of(tree, nodes, edges, P))


def one_sum(tree: Any, unary: Array, pairs: Array, i: int, unit: int, P: int, asked: bool) -> tuple[Any, Any]:
    """(lo, hi) of log Z at 2^P, and the marginals of nodes (V, K) and edges (E, K, K)."""
    k, ends, order = tree.k, tree.edges[slice(*tree.ends[i : i + 2])].tolist(), tree.leaves_first(i)
    tables, unary, total = pairs.reshape(-1, k, k), unary.copy(), 0
    tops = tables.max(axis=2)
    for e, (u, _) in enumerate(ends):
        unary[u] += tops[e]
    high = unary.max(axis=1)
    total = int(high.sum())
    alpha = Ball(*(each.reshape(-1, k) for each in exp((unary - high[:, None]).ravel(), unit, P)))
    E = Ball(*(each.reshape(-1, k, k) for each in exp((tables - tops[:, :, None]).ravel(), unit, P)))
    shift, sums = [-P] * len(unary), {}
    for e in order:
        u, v = ends[e]
        sums[e] = Ball(E.lo[e] @ alpha.lo[v], E.hi[e] @ alpha.hi[v])
        message, moved = sums[e].shifted(P)
        found, again = alpha[u].times(message).shifted(P)
        alpha.put(u, found)
        shift[u] += shift[v] - P + moved + again
    roots = np.setdiff1d(np.arange(len(unary)), [v for _, v in ends]).tolist()
    lo, hi = logs(*zip(*(alpha[r].sum() for r in roots), strict=True), P, 0)
    moved = sum(shift[r] for r in roots)
    twos = [moved * two for two in log(2, P)]
    value = (total << P) // unit + int(lo.sum()) + min(twos), -((-total << P) // unit) + int(hi.sum()) + max(twos)
    return value, down(alpha, E, sums, ends, order, roots, P) if asked else (None, None)


def down(alpha: Ball, E: Ball, sums: dict[int, Ball], ends: Any, order: list[int], roots: list[int], P: int) -> Any:
    """q_v (V, K) and q_e (E, K, K), at 2^P."""
    q, joint = Ball.empty(*alpha.lo.shape), Ball.empty(*E.lo.shape)
    for r in roots:
        q.put(r, alpha[r].scaled(1 << P).over(*alpha[r].sum()))
    for e in reversed(order):
        u, v = ends[e]
        if not sums[e].lo.all():
            raise Imprecise
        part = Ball(E.lo[e] * alpha.lo[v] * q.lo[u][:, None], E.hi[e] * alpha.hi[v] * q.hi[u][:, None])
        found = Ball(part.lo // sums[e].hi[:, None], -((-part.hi) // sums[e].lo[:, None]))
        joint.put(e, found)
        q.put(v, Ball(found.lo.sum(axis=0), found.hi.sum(axis=0)))
    return q, joint


def gradient_of(tree: Any, nodes: list[Any], edges: list[Any], P: int) -> tuple[Whole, Fraction]:
    """Σ mass_i ∇h_i over 2^P, but for `radius`."""
    k, q, units = tree.k, tree.q, (tree.X.unit << P, tree.pairs.unit << P)
    sizes, unary, table, radii = tree.X.sizes(), zeros(tree.dim), zeros(tree.dim), [0, 0]
    for i, mass, ball in nodes:
        rows = np.arange(*tree.offsets[i : i + 2])
        middle = (ball.lo + ball.hi) >> 1
        middle[np.arange(len(rows)), tree.labels[rows]] -= 1 << P
        at, blocks = np.divmod(np.arange(middle.size), k)
        unary[: tree.inner] += tree.X.spread(rows[at], blocks, (middle * mass).ravel(), k)
        radii[0] += int((((ball.hi - ball.lo).sum(axis=1) + k) * sizes[rows]).sum()) * mass
    for i, mass, ball in edges:
        features, first = tree.pairs.values[slice(*tree.ends[i : i + 2])], int(tree.offsets[i])
        middle = (ball.lo + ball.hi) >> 1
        for e, (u, v) in enumerate(tree.edges[slice(*tree.ends[i : i + 2])].tolist()):
            middle[e, tree.labels[first + u], tree.labels[first + v]] -= 1 << P
        if len(middle):
            table[tree.inner :] += (middle.reshape(-1, k * k).T @ features).ravel() * mass
            width = (ball.hi - ball.lo).sum(axis=(1, 2)) + k * k
            radii[1] += int((width * abs(features).sum(axis=1)).sum()) * mass
    radius = Fraction(radii[0], units[0]) + Fraction(radii[1], units[1])
    return Whole(unary, units[0]) + Whole(table, units[1]), radius
