"""Sum-product on forests: the likelihood of a `Tree`, from the leaves to the roots and back.

    V_v(b) = θ_v(b) + Σ_{children c} log Σ_{b′} exp(V_c(b′) + θ_vc(b, b′)),     log Z = Σ_{roots} log Σ_b exp V_root(b)

in logarithms, and back by the chain rule in probabilities, as for chains (outputs/_marginals.py): the shares
s_c(b′ | b) = exp(V_c(b′) + θ_vc(b, b′))/Σ of it, which the way up has in hand, give q_vc(b, b′) = q_v(b) s_c(b′ | b)
and q_c(b′) = Σ_b q_vc(b, b′). T = V_i log-sum-exps over K numbers each: the rounding bounds of
workbench/objectives/likelihoods.py hold as for a chain of that length.
"""

from __future__ import annotations

from functools import cached_property
from math import exp, log
from typing import Any

import numpy as np
from scipy import sparse

from workbench.arithmetic.arrays import compiled_rows
from workbench.arithmetic.compiled import available, compiled_kernel
from workbench.arithmetic.intervals import TINY, gamma
from workbench.contracts import Floats, Ints, Kernel, LogPartition
from workbench.objectives.likelihoods import Likelihood, Sizes
from workbench.outputs._marginals import score_sizes


class TreeSums(Likelihood):
    """The likelihood of a `Tree`: a conditional random field on forests."""

    @cached_property
    def ready(self) -> Kernel:
        """The kernel, compiled if it can be."""
        return compiled_kernel(self.kernel()) if available() else self.kernel()

    def evaluate(self, theta: Floats, samples: Ints, weights: Floats) -> tuple[Floats, Floats]:
        kernel, values, gradient = self.ready, np.empty(len(samples)), np.zeros(self.dim)
        nothing = np.empty(0, np.int64)
        theta = np.ascontiguousarray(theta, float)
        for m, (i, weight) in enumerate(zip(samples.tolist(), weights.tolist(), strict=True)):
            values[m] = kernel.argmax_into(kernel.data, theta, i, nothing)
            kernel.add_slope(kernel.data, i, nothing, weight, gradient)
        return values, gradient

    def sizes(self, theta: Floats, samples: Ints) -> Sizes:
        tree, k = self.problem, self.problem.n_classes
        W, A = tree.split(theta)
        nodes, edges = (score_sizes(sparse.csr_array(X), V) for X, V in ((tree.nodes, W), (tree.pairs, A)))
        sums = [
            np.bincount(owner, each, tree.n_samples)[samples]
            for owner, pair in (
                (np.repeat(np.arange(tree.n_samples), tree.sizes), nodes),
                (tree.sample_of_edges, edges),
            )
            for each in pair
        ]
        steps = tree.sizes[samples]
        numbers = sums[0] + sums[2] + steps * np.log(k) + 1
        error = (sums[1] + sums[3]) * (1 + gamma(2 * steps + 8)) + TINY
        additions = int(steps.sum()) + 8
        return Sizes(error, numbers * (1 + gamma(2 * steps + 8)), steps, np.full(len(samples), k), additions)

    def kernel(self) -> Kernel:
        tree, k = self.problem, self.problem.n_classes
        X, N, count = tree.nodes, len(tree.labels), max(len(tree.edges), 1)
        table = compiled_rows(X)
        rooted = tree.offsets, tree.order, tree.above, tree.link
        data = (*rooted, *table, tree.pairs, tree.labels, tree.n_inputs, np.zeros((N, k)), np.zeros((count, k, k)))
        return Kernel(data, tree_into, add_tree)

    def declared(self, w: Any) -> LogPartition:
        """One message per node and label, m_v(b) ≥ θ_v(b) + Σ_c log Σ_b′ exp(θ_vc(b, b′) + m_c(b′)), by depth."""
        import cvxpy as cp

        tree, (k, p, q) = self.problem, (self.problem.n_classes, self.problem.n_inputs, self.problem.n_pairs)
        W, A = cp.reshape(w[: k * p], (k, p), order="C"), cp.reshape(w[k * p :], (k * k, q), order="C")
        scores, message, constraints = tree.nodes @ W.T, cp.Variable((len(tree.labels), k)), []
        first = tree.offsets[tree.sample_of_edges]
        parent, child = tree.edges[:, 0] + first, tree.edges[:, 1] + first
        arrived = scores
        if len(tree.edges):
            tables, repeat = cp.reshape(tree.pairs @ A.T, (len(tree.edges) * k, k), order="C"), np.repeat(child, k)
            onward = cp.reshape(cp.log_sum_exp(tables + message[repeat], axis=1), (len(tree.edges), k), order="C")
            onto = sparse.csr_array(
                (np.ones(len(parent)), (parent, np.arange(len(parent)))), (len(tree.labels), len(parent))
            )
            arrived = scores + onto @ onward
        constraints.append(message >= arrived)
        roots = np.flatnonzero(tree.above < 0)
        owner = np.repeat(np.arange(tree.n_samples), tree.sizes)[roots]
        sums = sparse.csr_array((np.ones(len(roots)), (owner, np.arange(len(roots)))), (tree.n_samples, len(roots)))
        return LogPartition(sums @ cp.log_sum_exp(message[roots], axis=1), constraints)


def tree_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """h_i(w); leaves q_v(b) and q_e(a, b) in the two scratch arrays at the end of `data`."""
    starts, order, above, link, indptr, indices, values, pairs, truth, p, single, pair = data
    first, size, k, q = starts[i], starts[i + 1] - starts[i], single.shape[1], pairs.shape[1]
    own, total = 0.0, 0.0
    for v in range(first, first + size):
        for b in range(k):
            score = 0.0
            for j in range(indptr[v], indptr[v + 1]):
                score += theta[b * p + indices[j]] * values[j]
            single[v, b] = score
            own += score if b == truth[v] else 0.0
    for t in range(size):
        v = order[first + t]
        u = above[first + v]
        if u < 0:
            greatest, mass = -np.inf, 0.0
            for b in range(k):
                greatest = max(greatest, single[first + v, b])
            for b in range(k):
                single[first + v, b] = exp(single[first + v, b] - greatest)
                mass += single[first + v, b]
            for b in range(k):
                single[first + v, b] /= mass
            total += greatest + log(mass)
            continue
        e = link[first + v]
        for a in range(k):
            greatest, mass = -np.inf, 0.0
            for b in range(k):
                score = 0.0
                for j in range(q):
                    score += theta[k * p + (a * k + b) * q + j] * pairs[e, j]
                own += score if a == truth[first + u] and b == truth[first + v] else 0.0
                pair[e, a, b] = single[first + v, b] + score
                greatest = max(greatest, pair[e, a, b])
            for b in range(k):
                pair[e, a, b] = exp(pair[e, a, b] - greatest)
                mass += pair[e, a, b]
            for b in range(k):
                pair[e, a, b] /= mass
            single[first + u, a] += greatest + log(mass)
    for t in range(size - 1, -1, -1):
        v = order[first + t]
        u = above[first + v]
        if u >= 0:
            e = link[first + v]
            for b in range(k):
                single[first + v, b] = 0.0
            for a in range(k):
                for b in range(k):
                    pair[e, a, b] *= single[first + u, a]
                    single[first + v, b] += pair[e, a, b]
    return total - own


def add_tree(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
    """θ += scale · ∇h_i at the weights of the last `tree_into`."""
    starts, _, above, link, indptr, indices, values, pairs, truth, p, single, pair = data
    first, k, q = starts[i], single.shape[1], pairs.shape[1]
    for v in range(first, starts[i + 1]):
        for b in range(k):
            share = scale * (single[v, b] - (1.0 if b == truth[v] else 0.0))
            for j in range(indptr[v], indptr[v + 1]):
                theta[b * p + indices[j]] += share * values[j]
        if above[v] >= 0:
            e, label = link[v], truth[first + above[v]]
            for a in range(k):
                for b in range(k):
                    share = scale * (pair[e, a, b] - (1.0 if a == label and b == truth[v] else 0.0))
                    for j in range(q):
                        theta[k * p + (a * k + b) * q + j] += share * pairs[e, j]
