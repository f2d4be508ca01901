"""Samples as padded arrays, and the terms h_i with their derivatives by the scores: what a deep-learning user writes.

A batch of B sequences of at most T positions, p inputs and K labels has scores s (B, T, K) and transitions A (K, K),

    ⟨w, φ(x, y)⟩ = Σ_t s_t(y_t) + Σ_{t>1} A_{y_{t−1} y_t},      s_t = W x_t,      positions behind the end masked.

Labels are sequences of length 1; a linear score p = ⟨w, x⟩ is two labels with scores 0 and p. A *head* maps scores
to (∂h/∂s (B, T, K), ∂h/∂A (B, K, K), h (B,)); h is a hinge (Viterbi), a likelihood (forward–backward), or ½(p − y)².
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from workbench.contracts import Formulation, Ints, Problem
from workbench.judging.faults.second.contract import loss_of

Derivatives = tuple[NDArray, NDArray, NDArray]


class Batch(NamedTuple):
    """x (B, T, p), y, mask (B, T), extra (B, T, K): what a label adds to the loss; share (B,): n p_i; target (B,)."""

    x: NDArray
    y: Ints
    mask: NDArray
    extra: NDArray
    share: NDArray
    target: NDArray

    def take(self, index: Ints) -> Batch:
        return Batch(*(part[index] for part in self))

    def unweighted(self) -> Batch:
        """The same samples, all of share 1."""
        return self._replace(share=np.ones_like(self.share))

    @property
    def lengths(self) -> Ints:
        return self.mask.sum(axis=1)


class Layout(NamedTuple):
    """How w is laid out: `kind` of problem, K labels, p inputs."""

    kind: str
    K: int
    p: int

    @property
    def dim(self) -> int:
        return {"linear": self.p, "multiclass": self.K * self.p, "chain": self.K * (self.p + self.K)}[self.kind]

    def split(self, w: NDArray) -> tuple[NDArray, NDArray]:
        """W (K, p) and A (K, K); the first row of W is 0 for linear scores, and A is 0 but for chains."""
        W = np.stack([0 * w, w]) if self.kind == "linear" else w[: self.K * self.p].reshape(self.K, self.p)
        A = w[self.K * self.p :] if self.kind == "chain" else np.zeros(self.K * self.K, w.dtype)
        return W, A.reshape(self.K, self.K)

    def join(self, W: NDArray, A: NDArray) -> NDArray:
        """The adjoint of `split`: a gradient by w from gradients by W and A."""
        if self.kind == "linear":
            return W[1]
        return np.concatenate([W.ravel(), A.ravel()]) if self.kind == "chain" else W.ravel()

    def resized(self, w: NDArray, p: int) -> NDArray:
        """w for p inputs: weights of inputs from p on are left out, those of new inputs are 0."""
        W, A = self.split(w)
        kept = W[:, :p]
        return self._replace(p=p).join(np.pad(kept, ((0, 0), (0, p - kept.shape[1]))), A)


Head = Callable[[Batch, NDArray, NDArray], Derivatives]


def layout_of(problem: Problem) -> Layout:
    kind = problem.name
    labels = 2 if kind == "linear" else len(problem.classes)
    return Layout(kind, labels, problem.n_features if kind == "linear" else problem.n_inputs)


def gathered(problem: Problem, formulation: Formulation, dtype: DTypeLike) -> Batch:
    """All samples in one batch."""
    n, layout = problem.n_samples, layout_of(problem)
    share = (formulation.prices(problem).floats() * n).astype(dtype)
    if layout.kind != "chain":
        x, y = problem.X.toarray()[:, None], problem.labels[:, None]
        cost = problem.cost if layout.kind == "multiclass" else 1.0 - np.eye(2)
        target = problem.targets if layout.kind == "linear" else problem.labels
        mask = np.ones((n, 1), bool)
        return Batch(x.astype(dtype), y, mask, cost[y].astype(dtype), share, target.astype(dtype))
    T = int(problem.lengths.max())
    mask = np.arange(T) < problem.lengths[:, None]
    x, extra = np.zeros((n, T, layout.p), dtype), np.zeros((n, T, layout.K), dtype)
    y = np.zeros((n, T), np.int64)
    x[mask], y[mask], extra[mask] = problem.letters.toarray(), problem.labels, problem.augmentation
    return Batch(x, y, mask, extra, share, share)


# ── heads ─────────────────────────────────────────────────────────────────────────────────────────


def counted(batch: Batch, y: Ints, K: int, dtype: DTypeLike) -> tuple[NDArray, NDArray]:
    """How often φ(x, y) holds each label at each position (B, T, K), and each pair (B, K, K)."""
    here = np.eye(K, dtype=dtype)[y] * batch.mask[:, :, None]
    return here, here[:, :-1].transpose(0, 2, 1) @ here[:, 1:]


def viterbi(scores: NDArray, A: NDArray, mask: NDArray) -> Ints:
    """argmax_y of the summed scores, (B, T); the first of equals, 0 behind the end."""
    B, T, _ = scores.shape
    best, back = scores[:, 0], []
    for t in range(1, T):
        total = best[:, :, None] + A
        back.append(total.argmax(axis=1))
        best = np.where(mask[:, t, None], total.max(axis=1) + scores[:, t], best)
    y, every = np.zeros((B, T), np.int64), np.arange(B)
    label = best.argmax(axis=1)
    for t in range(T - 1, -1, -1):
        y[:, t] = np.where(mask[:, t], label, 0)
        if t:
            label = np.where(mask[:, t], back[t - 1][every, label], label)
    return y


def hinge(batch: Batch, scores: NDArray, A: NDArray) -> Derivatives:
    """max_y ℓ(y) + score(y), less the score of the truth."""
    K = scores.shape[2]
    augmented = scores + batch.extra
    found, pairs = counted(batch, viterbi(augmented, A, batch.mask), K, scores.dtype)
    truth, true_pairs = counted(batch, batch.y, K, scores.dtype)
    ds, dA = found - truth, pairs - true_pairs
    value = (found * batch.extra).sum(axis=(1, 2)) + (ds * scores).sum(axis=(1, 2)) + (dA * A).sum(axis=(1, 2))
    return ds, dA, value


def log_sum_exp(values: NDArray, axis: int) -> NDArray:
    top = values.max(axis=axis, keepdims=True)
    return np.squeeze(top, axis) + np.log(np.exp(values - top).sum(axis=axis))


def forward_backward(scores: NDArray, A: NDArray, mask: NDArray) -> Derivatives:
    """Marginals of labels (B, T, K) and of pairs, summed (B, K, K), and log Z (B,)."""
    B, T, K = scores.shape
    forward, backward = np.empty_like(scores), np.zeros_like(scores)
    forward[:, 0] = scores[:, 0]
    for t in range(1, T):
        step = log_sum_exp(forward[:, t - 1, :, None] + A, 1) + scores[:, t]
        forward[:, t] = np.where(mask[:, t, None], step, forward[:, t - 1])
    for t in range(T - 2, -1, -1):
        step = log_sum_exp(A + (scores[:, t + 1] + backward[:, t + 1])[:, None, :], 2)
        backward[:, t] = np.where(mask[:, t + 1, None], step, 0)
    log_z = log_sum_exp(forward[:, -1], 1)
    here = np.exp(forward + backward - log_z[:, None, None]) * mask[:, :, None]
    pairs = np.zeros((B, K, K), scores.dtype)
    for t in range(1, T):
        joint = forward[:, t - 1, :, None] + A + (scores[:, t] + backward[:, t])[:, None, :]
        pairs += np.exp(joint - log_z[:, None, None]) * mask[:, t, None, None]
    return here, pairs, log_z


def likelihood(batch: Batch, scores: NDArray, A: NDArray) -> Derivatives:
    """log Σ_y exp score(y), less the score of the truth."""
    here, pairs, log_z = forward_backward(scores, A, batch.mask)
    truth, true_pairs = counted(batch, batch.y, scores.shape[2], scores.dtype)
    own = (truth * scores).sum(axis=(1, 2)) + (true_pairs * A).sum(axis=(1, 2))
    return here - truth, pairs - true_pairs, log_z - own


def squared(batch: Batch, scores: NDArray, A: NDArray) -> Derivatives:
    """½(p − y)², p the score of the second label."""
    residual = scores[:, 0, 1] - batch.target
    ds = np.zeros_like(scores)
    ds[:, 0, 1] = residual
    return ds, np.zeros((len(scores), *A.shape), scores.dtype), residual**2 / 2


HEADS: dict[str, Head] = {"hinge": hinge, "likelihood": likelihood, "squared": squared}


def head_of(problem: Problem, formulation: Formulation) -> Head:
    return HEADS[loss_of(problem, formulation)]


def mean_slope(layout: Layout, batch: Batch, w: NDArray, head: Head) -> tuple[NDArray, float]:
    """The gradient (d,) and the value of (1/B) Σ n p_i h_i over a batch."""
    W, A = layout.split(w)
    ds, dA, value = head(batch, batch.x @ W.T, A)
    share = batch.share / len(batch.share)
    gradient = np.tensordot(ds * share[:, None, None], batch.x, axes=((0, 1), (0, 1)))
    return layout.join(gradient, np.tensordot(share, dA, axes=1)), float(share @ value)
