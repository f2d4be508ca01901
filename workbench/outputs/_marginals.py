"""Sum-product where `Viterbi` is max-product: likelihoods of labels and of label sequences.

    Softmax          log Σ_y exp⟨W_y, x⟩                                                          O(K p)
    ForwardBackward  α_1(b) = θ_1(b),   α_t(b) = θ_t(b) + log Σ_a exp(α_{t−1}(a) + A_ab),
                     log Z = log Σ_b exp α_T(b),  θ_t(b) = ⟨W_b, x_t⟩                             O(T K²)

Each is written twice. In NumPy over a whole batch, the recursion of chains in `_forward_backward.py`; and as the
kernel's loop over one sample, in numba's subset, which for chains goes forward in logarithms and back in
probabilities: with the shares s_t(a | b) = exp(α_{t−1}(a) + A_ab)/Σ_a′ exp(α_{t−1}(a′) + A_a′b),

    q_T(b) = exp(α_T(b) − log Z),     q_t(a, b) = s_t(a | b) q_t(b),     q_{t−1}(a) = Σ_b q_t(a, b),

derivatives of the nested log-sum-exps by the chain rule, all of them in [0, 1], and no second exponential.
The rounding errors of either are bounded in objectives/likelihoods.py.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log
from typing import Any, NamedTuple

import numpy as np

from workbench.arithmetic.arrays import taken
from workbench.arithmetic.intervals import TINY, gamma
from workbench.contracts import Floats, Ints, Kernel, LogPartition
from workbench.objectives.conditioning import root, shape
from workbench.objectives.likelihoods import Likelihood, Sizes
from workbench.outputs._forward_backward import Steps, summed

LinearMap = Callable[[Floats], Floats]  # x ↦ C x, objectives/conditioning.py


def score_sizes(rows: Any, W: Floats) -> tuple[Floats, Floats]:
    """For ⟨W_b, x⟩, one row x each: bounds on |score| over all b (m,), and on its rounding error."""
    counts = np.diff(rows.indptr)
    largest = (abs(rows) @ np.abs(W).T).max(axis=1) * (1 + 2 * gamma(counts + 2)) + (counts + 1) * TINY
    return largest, gamma(counts + 2) * largest + (counts + 1) * TINY


def of_labels(X: Any, weights: Floats, k: int, mu: float) -> LinearMap | None:
    """C for θ = [W (k, p), …] and softmax terms of scores W x, at θ = 0 of curvature (k − 1)/k² each."""
    C = root(X, weights, k, shape(X, weights, mu, (k - 1) / k**2))
    if C is None:
        return None
    p = len(C)

    def change(x: Floats) -> Floats:
        return np.concatenate([(x[: k * p].reshape(k, p) @ C).ravel(), x[k * p :]])

    return change


# ── labels ────────────────────────────────────────────────────────────────────────────────────────


class Softmax(Likelihood):
    """The likelihood of a `Multiclass` problem: multinomial logistic regression."""

    def evaluate(self, theta: Floats, samples: Ints, weights: Floats) -> tuple[Floats, Floats]:
        X, every = taken(self.problem.X, samples), np.arange(len(samples))
        scores, truth = self.problem.scores(theta, X), self.problem.labels[samples]
        greatest, own = scores.max(axis=1), scores[every, truth]
        shares = np.exp(scores - greatest[:, None])
        sums = shares.sum(axis=1)
        shares /= sums[:, None]
        shares[every, truth] -= 1
        return greatest + np.log(sums) - own, (X.T @ (shares * weights[:, None])).T.ravel()

    def conditioner(self, samples: Ints, weights: Floats, mu: float) -> LinearMap | None:
        return of_labels(taken(self.problem.X, samples), weights, len(self.problem.classes), mu)

    def sizes(self, theta: Floats, samples: Ints) -> Sizes:
        k, m = len(self.problem.classes), len(samples)
        largest, error = score_sizes(taken(self.problem.X, samples), theta.reshape(k, -1))
        one = np.ones(m, np.int64)
        return Sizes(error, largest + np.log(k) + 1, one, k * one, m + 8)

    def kernel(self) -> Kernel:
        X, k = self.problem.X, len(self.problem.classes)
        indices = X.indptr.astype(np.int64), X.indices.astype(np.int64)
        data = (*indices, X.data, self.problem.labels, self.problem.n_inputs, np.zeros(k))
        return Kernel(data, softmax_into, add_softmax)

    def declared(self, w: Any) -> LogPartition:
        import cvxpy as cp

        W = cp.reshape(w, (len(self.problem.classes), self.problem.n_inputs), order="C")
        return LogPartition(cp.log_sum_exp(self.problem.X @ W.T, axis=1), [])


def softmax_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """h_i(W); leaves q in the scratch array at the end of `data`."""
    indptr, indices, values, truth, p, shares = data
    greatest, total = -np.inf, 0.0
    for label in range(len(shares)):
        score = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            score += theta[label * p + indices[j]] * values[j]
        shares[label] = score
        greatest = max(greatest, score)
    own = shares[truth[i]]
    for label in range(len(shares)):
        shares[label] = exp(shares[label] - greatest)
        total += shares[label]
    for label in range(len(shares)):
        shares[label] /= total
    return greatest + log(total) - own


def add_softmax(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
    """θ += scale · ∇h_i at the weights of the last `softmax_into`."""
    indptr, indices, values, truth, p, shares = data
    for label in range(len(shares)):
        share = scale * (shares[label] - (1.0 if label == truth[i] else 0.0))
        for j in range(indptr[i], indptr[i + 1]):
            theta[label * p + indices[j]] += share * values[j]


# ── chains ────────────────────────────────────────────────────────────────────────────────────────


class Batch(NamedTuple):
    """Sequences step by step: letters (N, p), labels (N,), and for each position after a first one the row before."""

    samples: Ints
    steps: Steps
    letters: Any
    truth: Ints
    before: Ints


class ForwardBackward(Likelihood):
    """The likelihood of a `Chain`: a linear-chain conditional random field."""

    roundings = 16  # per number of the recursion: _forward_backward.py

    def __init__(self, problem: Any):
        super().__init__(problem)
        self.last: Batch | None = None

    def batch(self, samples: Ints) -> Batch:
        """The positions of a batch, step by step; the last answer is remembered."""
        if self.last is None or not np.array_equal(self.last.samples, samples):
            at, offsets = self.problem.positions(samples)
            steps = Steps.of(offsets)
            rows = np.arange(len(self.problem.labels))[at][steps.order]
            letters = self.problem.letters[rows]
            self.last = Batch(samples.copy(), steps, letters, self.problem.labels[rows], steps.before)
        return self.last

    def evaluate(self, theta: Floats, samples: Ints, weights: Floats) -> tuple[Floats, Floats]:
        _, steps, letters, truth, before = self.batch(samples)
        W, A = self.problem.split(theta)
        scores = letters @ W.T
        scores -= scores.max(axis=1, keepdims=True)
        A -= A.max()
        weight, every, later = weights[steps.owners], np.arange(len(truth)), np.arange(len(samples), len(truth))
        edges = truth[before], truth[later]
        norms, singles, pairs = summed(scores, A, steps, weight)
        norms -= scores[every, truth]
        norms[later] -= A[edges]
        singles[every, truth] -= 1
        singles *= weight[:, None]
        k = len(A)
        pairs -= np.bincount(edges[0] * k + edges[1], weight[later], k * k).reshape(k, k)
        values = np.bincount(steps.owners, norms, len(samples)).astype(float, copy=False)
        return values, np.concatenate([(letters.T @ singles).T.ravel(), pairs.ravel()])

    def conditioner(self, samples: Ints, weights: Floats, mu: float) -> LinearMap | None:
        """Of the scores of letters; transitions are left as they are."""
        batch = self.batch(samples)
        return of_labels(batch.letters, weights[batch.steps.owners], self.problem.n_classes, mu)

    def sizes(self, theta: Floats, samples: Ints) -> Sizes:
        chain, k = self.problem, self.problem.n_classes
        at, offsets = chain.positions(samples)
        W, A = chain.split(theta)
        letters = chain.letters if isinstance(at, slice) else chain.letters[at]
        largest, error = (np.add.reduceat(each, offsets[:-1]) for each in score_sizes(letters, W))
        steps = np.diff(offsets)
        numbers = largest + steps * (np.abs(A).max() + np.log(k)) + 1
        return Sizes(error, numbers * (1 + gamma(steps + 8)), steps, np.full(len(samples), k), int(steps.sum()) + 8)

    def kernel(self) -> Kernel:
        chain, X = self.problem, self.problem.letters
        k, longest = chain.n_classes, chain.width
        indices = chain.offsets, X.indptr.astype(np.int64), X.indices.astype(np.int64)
        scratch = np.zeros((longest, k)), np.zeros((longest, k, k))
        return Kernel((*indices, X.data, chain.labels, chain.n_inputs, *scratch), sequence_into, add_sequence)

    def declared(self, w: Any) -> LogPartition:
        """One message per position and label, m_t(a) ≥ θ_t(a) + log Σ_b exp(A_ab + m_{t+1}(b)); log Z at the head."""
        import cvxpy as cp

        chain, k = self.problem, self.problem.n_classes
        first, last = chain.offsets[:-1], chain.offsets[1:] - 1
        inner = np.setdiff1d(np.arange(len(chain.labels)), last)
        W = cp.reshape(w[: k * chain.n_inputs], (k, chain.n_inputs), order="C")
        A, scores = cp.reshape(w[k * chain.n_inputs :], (k, k), order="C"), chain.letters @ W.T
        message = cp.Variable((len(chain.labels), k))
        constraints = [message[last] >= scores[last]]
        if len(inner):
            follow, repeat = np.kron(np.ones((len(inner), 1)), np.eye(k)), np.repeat(inner + 1, k)
            onward = cp.log_sum_exp(follow @ A + message[repeat], axis=1)
            constraints.append(message[inner] >= scores[inner] + cp.reshape(onward, (len(inner), k), order="C"))
        return LogPartition(cp.log_sum_exp(message[first], axis=1), constraints)


def sequence_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """Return h_i(w), and write the marginals q_t(b) and q_t(a, b) into the last two arrays of `data`."""
    offsets, indptr, indices, values, truth, p, single, pair = data
    first, length, k = offsets[i], offsets[i + 1] - offsets[i], single.shape[1]
    W, A = theta[: k * p].reshape((k, p)), theta[k * p :].reshape((k, k))
    greatest, sums = np.zeros(k), np.zeros(k)
    own = 0.0
    for t in range(length):
        alpha, label = single[t], truth[first + t]
        alpha[:] = 0.0
        for j in range(indptr[first + t], indptr[first + t + 1]):
            column, value = W[:, indices[j]], values[j]
            for b in range(k):
                alpha[b] += column[b] * value
        own += alpha[label]
        if t > 0:
            own += A[truth[first + t - 1], label]
            before, joint = single[t - 1], pair[t]
            greatest[:], sums[:] = -np.inf, 0.0
            for a in range(k):
                for b in range(k):
                    joint[a, b] = before[a] + A[a, b]
                    greatest[b] = max(greatest[b], joint[a, b])
            for a in range(k):
                for b in range(k):
                    joint[a, b] = exp(joint[a, b] - greatest[b])
                    sums[b] += joint[a, b]
            for b in range(k):
                alpha[b] += greatest[b] + log(sums[b])
            for a in range(k):
                for b in range(k):
                    joint[a, b] /= sums[b]
    q, highest, total = single[length - 1], -np.inf, 0.0
    for b in range(k):
        highest = max(highest, q[b])
    for b in range(k):
        q[b] = exp(q[b] - highest)
        total += q[b]
    for b in range(k):
        q[b] /= total
    for t in range(length - 1, 0, -1):
        q, before, joint = single[t], single[t - 1], pair[t]
        for a in range(k):
            before[a] = 0.0
            for b in range(k):
                joint[a, b] *= q[b]
                before[a] += joint[a, b]
    return highest + log(total) - own


def add_sequence(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
    """θ += scale · ∇h_i at the weights of the last `sequence_into`."""
    offsets, indptr, indices, values, truth, p, single, pair = data
    first, k = offsets[i], single.shape[1]
    for t in range(offsets[i + 1] - first):
        label = truth[first + t]
        for b in range(k):
            share = scale * (single[t, b] - (1.0 if b == label else 0.0))
            for j in range(indptr[first + t], indptr[first + t + 1]):
                theta[b * p + indices[j]] += share * values[j]
        if t > 0:
            for a in range(k):
                for b in range(k):
                    theta[k * p + a * k + b] += scale * pair[t, a, b]
            theta[k * p + truth[first + t - 1] * k + label] -= scale
