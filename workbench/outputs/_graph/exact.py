"""Pairwise models in rational arithmetic: max-sum on whole numbers; minimum cuts, a few dozen bits at a time.

Scores of nodes and edges are whole over u·v·f (units of features and of weights), losses over c·t with t the lcm of
the numbers of nodes.

Cuts. With c_v = θ_v(1) − θ_v(0), capacities θ_e ≥ 0 and any flow f, |f_e| ≤ θ_e, what flows into v takes from or adds
to its excess c_v, and for every labelling

    Σ_v θ_v(y_v) + Σ_e θ_e [y_u = y_v]  ≤  Σ_v θ_v(0) + Σ_e θ_e + Σ_v (c_v − Σ_e f_ve)₊          f_ve leaves v

since Σ_v y_v (c_v − Σ_e f_ve) + Σ_e f_e (y_u − y_v) − θ_e |y_u − y_v| ≤ Σ_v (c_v − Σ_e f_ve)₊. So the flow proves the
maximum whoever found it. It is found by `best_cut` on the leading bits of the residual network; what is left to flow
is then less than one unit an arc, and the same again on the next bits. At one unit the flow is a maximum one.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.rationals import Entries, Ratios, Rows, common, objects, ratios
from workbench.contracts import Ints
from workbench.outputs._graph.kernels import best_tree
from workbench.outputs._graph.labels import Scores, relaxed

BITS = 48  # of all capacities together, in a call of `best_cut`


class ExactPairwise:
    """The exact view of a `Tree`, or of a `Graph` by `ExactGraph` (contract: rationals.ExactOutputs)."""

    def __init__(self, problem: Any):
        self.problem, self.nodes, self.cost = problem, Rows(problem.nodes), ratios(problem.cost)
        self.pairs = ratios(problem.pairs)
        divisors = [int(d) for d in problem.divisors]
        self.lcm = math.lcm(*divisors)
        self.shares = objects(self.lcm // d for d in divisors)
        self.unit = math.lcm(self.nodes.unit, self.pairs.unit)
        least = np.where(self.cost.whole > 0, self.cost.whole, 1 << 2000).min(axis=1)[problem.labels]
        lows = zip(divisors, np.minimum.reduceat(least, problem.offsets[:-1]), strict=True)
        self.least_loss = min(Fraction(int(c), self.cost.unit * d) for d, c in lows)

    def fault(self, samples: Ints, outputs: Ints) -> int | None:
        within = self.problem.within(samples)
        wrong = np.where(within, (outputs < 0) | (outputs >= self.problem.n_classes), outputs != -1).any(axis=1)
        return int(wrong.argmax()) if wrong.any() else None

    def slopes(self, samples: Ints, outputs: Ints) -> Entries:
        """Nodes, then edges, whose class differs: once added and once taken away."""
        problem, truth = self.problem, self.problem.truth[samples]
        k, p, q = problem.n_classes, problem.n_inputs, problem.n_pairs
        cut, v = np.nonzero(outputs != truth)
        number, columns, values = self.nodes.entries(problem.offsets[samples[cut]] + v)
        values = values * (self.unit // self.nodes.unit)
        there, here = outputs[cut, v][number], truth[cut, v][number]
        rows, places = [cut[number], cut[number]], [columns + there * p, columns + here * p]
        parts = [values, -values]
        chosen, edges = problem.rows(samples, problem.ends)
        kinds = [problem.classes_at(chosen, edges, each) for each in (outputs, truth)]
        for sign, own in zip((1, -1), kinds, strict=True):
            kept = np.flatnonzero((kinds[0] != kinds[1]) & (own >= 0))
            rows.append(np.repeat(chosen[kept], q))
            places.append((k * p + own[kept][:, None] * q + np.arange(q)).ravel())
            parts.append(self.pairs.whole[edges[kept]].ravel() * (sign * (self.unit // self.pairs.unit)))
        return Entries(np.concatenate(rows), np.concatenate(places), np.concatenate(parts), self.unit)

    def loss(self, samples: Ints, outputs: Ints) -> Ratios:
        within = self.problem.within(samples)
        costs = np.zeros(outputs.shape, object)
        costs[within] = self.cost.whole[self.problem.truth[samples][within], outputs[within]]
        return Ratios(costs.sum(axis=1) * self.shares[samples], self.cost.unit * self.lcm)

    def scores(self, w: Ratios) -> tuple[NDArray, NDArray, int]:
        """θ_v(a) (N, K) and θ_e(c) (E, C) of all samples, whole over one unit."""
        problem, (k, p, q) = self.problem, (self.problem.n_classes, self.problem.n_inputs, self.problem.n_pairs)
        unary = self.nodes.scores(np.arange(len(problem.labels)), w.whole[: k * p].reshape(k, p))
        pairs = self.pairs.whole @ w.whole[k * p :].reshape(-1, q).T
        scale = self.unit // self.nodes.unit, self.unit // self.pairs.unit
        return unary * scale[0], pairs * scale[1], self.unit * w.unit

    def margin(self, w: Ratios, samples: Ints) -> Ratios:
        unary, pairs, unit = self.scores(w)
        shares = np.repeat(self.shares, self.problem.sizes)
        losses = self.cost.whole[self.problem.labels] * shares[:, None]
        other = self.cost.unit * self.lcm
        return self.highest(unary * other + losses * unit, pairs * other, samples, unit * other)

    def free(self, w: Ratios, samples: Ints) -> Ratios:
        unary, pairs, unit = self.scores(w)
        reach = int(abs(unary).sum()) + int(abs(pairs).sum())  # no two labellings differ by more
        barred = np.where(self.cost.whole[self.problem.labels] > 0, np.array(reach, object), 0)
        return self.highest(unary - barred, pairs, samples, unit)

    def rival(self, w: Ratios, samples: Ints) -> Ratios:
        """The best labelling but the truth differs from it at some node, whose true label is barred."""
        unary, pairs, unit = self.scores(w)
        reach = int(abs(unary).sum()) + int(abs(pairs).sum())  # no two labellings differ by more
        found = []
        for i in samples.tolist():
            own, best = self.own(unary, pairs, i), []
            for v in range(*self.problem.offsets[i : i + 2]):
                barred = unary.copy()
                barred[v, self.problem.labels[v]] -= reach
                best.append(self.best(barred, pairs, i))
            found.append(Fraction(max(best) - own, unit))
        return common(found)

    def highest(self, unary: NDArray, pairs: NDArray, samples: Ints, unit: int) -> Ratios:
        """max_y Σ θ_v(y_v) + Σ θ_e(c(y_u, y_v)), less the same at the truth (m,)."""
        found = [Fraction(self.best(unary, pairs, i) - self.own(unary, pairs, i), unit) for i in samples.tolist()]
        return common(found)

    def own(self, unary: NDArray, pairs: NDArray, i: int) -> int:
        """The truth's score."""
        problem, nodes = self.problem, slice(*self.problem.offsets[i : i + 2])
        edges = np.arange(*problem.ends[i : i + 2])
        kinds = problem.classes_at(np.full(len(edges), i), edges, problem.truth)
        total = unary[np.arange(nodes.start, nodes.stop), problem.labels[nodes]].sum()
        return int(total) + int(sum(pairs[e, c] for e, c in zip(edges, kinds, strict=True) if c >= 0))

    def best(self, unary: NDArray, pairs: NDArray, i: int) -> int:
        starts, order, above, link, k, base, best = self.problem.search().data
        data = starts, order, above, link, k, base, np.zeros(len(best), object)
        gains = np.concatenate([unary.ravel(), pairs.ravel()])
        return best_tree(data, gains, i, np.empty(self.problem.width, np.int64))


class ExactGraph(ExactPairwise):
    """The exact view of a `Graph` of two labels, or of few labellings."""

    def best(self, unary: NDArray, pairs: NDArray, i: int) -> int:
        problem = self.problem
        if problem.n_classes > 2:
            outputs = problem.outputs(i)
            return max(self.score(unary, pairs, i, y) for y in outputs)
        nodes, edges = slice(*problem.offsets[i : i + 2]), slice(*problem.ends[i : i + 2])
        theta = np.maximum(pairs[edges].ravel(), 0)
        excess = largest_flow(problem, i, unary[nodes, 1] - unary[nodes, 0], theta)
        return int(unary[nodes, 0].sum() + theta.sum() + np.maximum(excess, 0).sum())

    def score(self, unary: NDArray, pairs: NDArray, i: int, y: Ints) -> int:
        """The score of one labelling."""
        problem, first = self.problem, int(self.problem.offsets[i])
        total = sum(int(unary[first + v, y[v]]) for v in range(int(problem.sizes[i])))
        u, v = problem.edges[slice(*problem.ends[i : i + 2])].T
        return total + int(pairs[slice(*problem.ends[i : i + 2])].ravel()[y[u] == y[v]].sum())


class EnclosedExact(ExactGraph):
    """Upper bounds of the maxima by the relaxation's dual, λ taken from floats and exact from there on."""

    def best(self, unary: NDArray, pairs: NDArray, i: int) -> Fraction:
        """Σ_v max_a (θ_v(a) + Σ_{e∋v} λ_ev(a)) with λ_eu(a) = s_e(a) θ_e, λ_ev(a) = (1 − s_e(a)) θ_e."""
        problem = self.problem
        nodes, edges = slice(*problem.offsets[i : i + 2]), slice(*problem.ends[i : i + 2])
        theta, ends = np.maximum(pairs[edges].ravel(), 0), problem.edges[edges]
        scale = Fraction(1, max(int(abs(unary[nodes]).max()), int(theta.max(initial=0)), 1))
        near = [(x * scale.numerator / scale.denominator).astype(float) for x in (unary[nodes], theta)]
        share = ratios(relaxed(Scores(near[0], near[1], ends))[1])
        total = unary[nodes] * share.unit
        np.add.at(total, ends[:, 0], share.whole * theta[:, None])
        np.add.at(total, ends[:, 1], (share.unit - share.whole) * theta[:, None])
        return Fraction(int(total.max(axis=1).sum()), share.unit)


def largest_flow(problem: Any, i: int, excess: NDArray, theta: NDArray) -> NDArray:
    """The excesses (V,) that a largest flow leaves, for whole excesses (V,) and capacities θ (E,) ≥ 0 of sample i."""
    kernel, excess, room = problem.ready, excess.copy(), np.repeat(theta, 2)
    starts, ends, first_arc, _, _, edges, losses, cap, _ = kernel.data
    first, last = int(starts[i]), int(starts[i + 1])
    arcs = np.arange(first_arc[first], first_arc[last])
    place, tail = edges[arcs] - 2 * ends[i], np.repeat(np.arange(len(excess)), np.diff(first_arc[first : last + 1]))
    gains, count = np.zeros(int(losses) + len(edges)), len(excess) + len(room)
    bound = int(abs(excess).sum() + room.sum())  # no more can flow
    while True:
        shift = max((bound * count).bit_length() - BITS, 0)
        near = np.minimum(abs(excess), bound) >> shift
        gains[2 * first + 1 : 2 * last : 2] = (np.sign(excess) * near).astype(float)
        sent = (np.minimum(room, bound) >> shift).astype(float)
        gains[losses + 2 * ends[i] : losses + 2 * ends[i + 1]] = sent
        kernel.argmax_into(kernel.data, gains, i, np.empty(problem.width, np.int64))
        flow = sent[place] - cap[arcs]  # out of each arc's tail, negative where it comes in
        whole = objects(int(f) << shift for f in flow)
        np.subtract.at(room, place, whole)
        np.subtract.at(excess, tail, whole)
        if shift == 0:
            return excess
        bound = count << shift
