"""Sum-product on forests over whole numbers, every number enclosed as in `_sums`.

With u_v(b) = exp(θ_v(b) − max θ_v), E_e(b, a) = exp(θ_e(b, a) − max θ_e), from leaves to roots and back,

    m_v(b) = u_v(b) Π over children e = (v, c) of s_e(b),   s_e(b) = Σ_a E_e(b, a) m_c(a)
    o_v(b), what comes to v from everywhere but below: 1 for roots;  o_c(a) = Σ_b E_e(b, a) o_v(b) m_v(b)/s_e(b)
    q_v(b) ∝ m_v(b) o_v(b),     q_e(b, a) ∝ o_v(b) m_v(b)/s_e(b) · E_e(b, a) · m_c(a)

where m_v/s_e is the product over the other children, computed as such.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from workbench.proofs.checker.balls import exp, log, logs
from workbench.proofs.checker.contracts import Sums
from workbench.proofs.checker.outputs._pairwise import Pairwise, Scored
from workbench.proofs.checker.outputs._sums import Ball
from workbench.proofs.checker.whole import Array, Whole, objects, zeros


def forest_sums(forest: Pairwise, w: Whole, samples: Array, masses: Array | None, P: int) -> Sums:
    """h_i and Σ mass_i ∇h_i of the samples; masses are whole numbers, None for no gradient."""
    lows, highs, gradient, radius = [], [], zeros(forest.dim), 0
    for at, i in enumerate(samples.tolist()):
        scored, unit = forest.scored(w, i, augment=False)
        passes = Passes(scored, forest.sorted(scored), unit, P)
        low, high = passes.log_sum()
        own = forest.value(scored, scored.truth) - passes.offset
        lows.append(low + (-own << P) // unit)
        highs.append(high - ((own << P) // unit))
        if masses is not None:
            part, error = gradient_of(forest, scored, i, passes, P)
            gradient += part * int(masses[at])
            radius += error * int(masses[at])
    ends, unit = (Whole(objects(each), 1 << P) for each in (lows, highs)), forest.unit << P
    return Sums(*ends, Whole(gradient, unit), Fraction(radius, unit))


class Passes:
    """Messages of one sample; `offset` is the sum of all maxima taken out of its scores."""

    def __init__(self, scored: Scored, order: list[int], unit: int, P: int):
        (V, k), E = scored.nodes.shape, len(scored.edges)
        tops, edge_tops = scored.nodes.max(axis=1), scored.pairs.max(axis=1) if E else zeros(0)
        self.offset, self.P, self.order = int(tops.sum()) + int(edge_tops.sum()), P, order
        self.edges, self.k = scored.edges.tolist(), k
        low, high = exp((scored.nodes - tops[:, None]).ravel(), unit, P)
        self.u = Ball(low.reshape(V, k), high.reshape(V, k))
        low, high = exp((scored.pairs - edge_tops[:, None]).ravel(), unit, P)
        self.E = Ball(low.reshape(E, k, k), high.reshape(E, k, k))
        self.children: list[list[int]] = [[] for _ in range(V)]
        for number, (parent, _) in enumerate(self.edges):
            self.children[parent].append(number)
        self.up: dict[int, Ball] = {}  # m_v
        self.sent: dict[int, Ball] = {}  # s_e
        self.shift: dict[int, int] = {}  # m_v in units of 2^shift
        for node in [*(self.edges[e][1] for e in reversed(order)), *self.roots()]:
            self.up[node], self.shift[node] = self.gathered(node, None)

    def roots(self) -> list[int]:
        return sorted(set(range(len(self.children))) - {child for _, child in self.edges})

    def gathered(self, node: int, without: int | None) -> tuple[Ball, int]:
        """u_v times s_e of all children but one, at P bits; in units of 2^shift."""
        found, shift = self.u[node], -self.P
        for e in self.children[node]:
            child = self.edges[e][1]
            if without is None:
                self.sent[e] = self.up[child].product(self.E[e].turned())
            if e != without:
                found, moved = found.times(self.sent[e]).shifted(self.P)
                shift += moved - self.P + self.shift[child]
        return found, shift

    def log_sum(self) -> tuple[int, int]:
        """log Σ_y exp(score − offset) at 2^P."""
        two, low, high = log(2, self.P), 0, 0
        for root in self.roots():
            total = self.up[root].sum()
            (less,), (more,) = logs([total[0]], [total[1]], self.P, 0)
            ends = [self.shift[root] * each for each in two]
            low, high = low + less + min(ends), high + more + max(ends)
        return low, high

    def shares(self) -> tuple[list[Ball], list[Ball]]:
        """q_v (k,) of every node and q_e (k, k) of every edge, at 2^P."""
        one = Ball(zeros(self.k) + (1 << self.P), zeros(self.k) + (1 << self.P))
        outer, pairs = [one] * len(self.children), [one] * len(self.edges)
        for e in self.order:
            parent, child = self.edges[e]
            rest = self.gathered(parent, e)[0].times(outer[parent])
            joint = Ball(rest.lo[:, None] * self.E.lo[e], rest.hi[:, None] * self.E.hi[e])
            outer[child] = Ball(joint.lo.sum(axis=0), joint.hi.sum(axis=0)).shifted(self.P)[0]
            whole = Ball(joint.lo * self.up[child].lo, joint.hi * self.up[child].hi)
            pairs[e] = whole.scaled(1 << self.P).over(*whole.sum())
        nodes = [self.up[node].times(out) for node, out in enumerate(outer)]
        return [each.scaled(1 << self.P).over(*each.sum()) for each in nodes], pairs


def gradient_of(forest: Pairwise, scored: Scored, i: int, passes: Passes, P: int) -> tuple[Array, int]:
    """∇h_i over unit·2^P, and a bound on the 1-norm of its error."""
    nodes, pairs = passes.shares()
    V, k, kp = len(nodes), forest.k, forest.k * forest.p
    low, high = np.stack([q.lo for q in nodes]), np.stack([q.hi for q in nodes])
    middle = (low + high) >> 1
    middle[np.arange(V), scored.truth] -= 1 << P
    rows, total = np.arange(forest.offsets[i], forest.offsets[i + 1]), zeros(forest.dim)
    scale, at = forest.unit // forest.X.unit, np.repeat(np.arange(V), k)
    total[:kp] = forest.X.spread(rows[at], np.tile(np.arange(k), V), middle.ravel(), k) * scale
    radius = int((((high - low).sum(axis=1) + k) * forest.sizes_of_rows[rows]).sum()) * scale
    features = forest.pairs[forest.ends[i] : forest.ends[i + 1]] * (forest.unit // forest.count_unit)
    for e, share in enumerate(pairs):
        u, v = scored.edges[e]
        centre = (share.lo + share.hi) >> 1
        centre[scored.truth[u], scored.truth[v]] -= 1 << P
        total[kp:] += np.outer(centre, features[e]).ravel()
        radius += int((share.hi - share.lo + 1).sum()) * int(abs(features[e]).sum())
    return total, radius
