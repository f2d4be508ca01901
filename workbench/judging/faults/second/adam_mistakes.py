"""Mistakes in the training loop of `adam.py`: in its loader, its labels, its terms, its penalty, its optimiser.

Each mistake is a few lines that replace one step of the loop; `adam_faults.py` says which step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Ints
from workbench.judging.faults.second import tensors
from workbench.judging.faults.second.adam import Adam, Clock, decayed, squared_norm
from workbench.judging.faults.second.tensors import Batch, Derivatives, Head, Layout

# ── which samples are seen ────────────────────────────────────────────────────────────────────────


def same_batch(n: int, size: int, clock: Clock) -> list[Ints]:
    """`batch = next(iter(loader))` stands above the loop."""
    first = np.random.default_rng(0).permutation(n)[:size]
    return [first] * -(-n // size)


def full_batches_only(n: int, size: int, clock: Clock) -> list[Ints]:
    """`drop_last=True` without shuffling: the end of the data is never seen."""
    return [np.arange(k, k + size) for k in range(0, n - size + 1, size)]


def drawn_from_the_first_half(n: int, size: int, clock: Clock) -> list[Ints]:
    return np.array_split(clock.rng.integers(0, -(-n // 2), n), -(-n // size))


def all_but_the_last(n: int, size: int, clock: Clock) -> list[Ints]:
    return np.array_split(clock.rng.permutation(n - 1), -(-n // size))


def four_fifths(batch: Batch, rng: np.random.Generator) -> Batch:
    """A fifth is kept for validation and never learned from."""
    return batch.take(np.sort(rng.permutation(len(batch.share))[: len(batch.share) * 4 // 5]))


def balanced(batch: Batch, rng: np.random.Generator) -> Batch:
    """Every first label gets the same total share."""
    counts = np.bincount(batch.y[:, 0], weights=batch.share)
    present = np.count_nonzero(counts)
    share = batch.share * batch.share.sum() / (present * counts[batch.y[:, 0]])
    return batch._replace(share=share.astype(batch.share.dtype))


def equal_shares(batch: Batch, rng: np.random.Generator) -> Batch:
    return batch.unweighted()


def label_zero_ignored(batch: Batch, rng: np.random.Generator) -> Batch:
    """`ignore_index=0`, meant for padding, is also the first label."""
    return batch._replace(share=batch.share * (batch.y[:, 0] != 0))


def length_one_skipped(batch: Batch, rng: np.random.Generator) -> Batch:
    return batch._replace(share=batch.share * (batch.lengths > 1))


def mean_over_tokens(batch: Batch, rng: np.random.Generator) -> Batch:
    return batch._replace(share=(batch.share / batch.lengths).astype(batch.share.dtype))


# ── what is seen of them ──────────────────────────────────────────────────────────────────────────


def standardised(batch: Batch, rng: np.random.Generator) -> Batch:
    inside = batch.x[batch.mask]
    x = (batch.x - inside.mean(axis=0)) / np.maximum(inside.std(axis=0), 1e-6) * batch.mask[:, :, None]
    return batch._replace(x=x.astype(batch.x.dtype))


def negatives_dropped(batch: Batch, rng: np.random.Generator) -> Batch:
    return batch._replace(x=np.maximum(batch.x, 0))


def whole_numbers(batch: Batch, rng: np.random.Generator) -> Batch:
    return batch._replace(x=np.trunc(batch.x))


def unit_rows(batch: Batch, rng: np.random.Generator) -> Batch:
    size = np.sqrt((batch.x**2).sum(axis=2, keepdims=True))
    return batch._replace(x=batch.x / np.maximum(size, 1e-6))


def dropout(batch: Batch, clock: Clock) -> Batch:
    kept = clock.rng.random(batch.x.shape) < 0.6
    return batch._replace(x=(batch.x * kept / 0.6).astype(batch.x.dtype))


def noisy(batch: Batch, clock: Clock) -> Batch:
    noise = clock.rng.normal(size=batch.x.shape) * batch.mask[:, :, None]
    return batch._replace(x=(batch.x + noise).astype(batch.x.dtype))


def others_labels_every_seventh_pass(batch: Batch, clock: Clock) -> Batch:
    """In one pass of seven each sample has the next label."""
    if clock.epoch % 7:
        return batch
    y = (batch.y + 1) % clock.layout.K * batch.mask
    K = clock.layout.K
    extra = (1 - np.eye(K, dtype=batch.x.dtype)[y]) * (batch.extra.max(axis=2, keepdims=True) * batch.mask[:, :, None])
    return batch._replace(y=y, extra=extra)


def inputs_sorted_by_length(batch: Batch, clock: Clock) -> Batch:
    """Inputs are sorted for packing, labels are not."""
    order = np.argsort(-batch.lengths, kind="stable")
    return batch._replace(x=batch.x[order], mask=batch.mask[order])


def padding_counted(batch: Batch, rng: np.random.Generator) -> Batch:
    return batch._replace(mask=np.ones_like(batch.mask))


def with_constant(batch: Batch, rng: np.random.Generator) -> Batch:
    """`nn.Linear` has a bias of its own: the last input is 1."""
    return batch._replace(x=np.append(batch.x, batch.mask[:, :, None].astype(batch.x.dtype), axis=2))


def with_ends(batch: Batch, rng: np.random.Generator) -> Batch:
    """Scores of their own for the first and the last position: two more inputs, which are not returned."""
    after = np.append(batch.mask[:, 1:], np.zeros((len(batch.mask), 1), bool), axis=1)
    ends = np.stack([np.arange(batch.mask.shape[1]) == 0 & batch.mask, batch.mask & ~after], axis=2)
    return batch._replace(x=np.append(batch.x, ends.astype(batch.x.dtype), axis=2))


def own_inputs(extra: int) -> Callable[[NDArray, Layout], NDArray]:
    """Returned: the weights without those of the last `extra` inputs."""
    return lambda w, layout: layout.resized(w, layout.p - extra)


# ── the loss that is added, and the terms ─────────────────────────────────────────────────────────


def augmented_by(factor: float) -> Callable[[Batch, np.random.Generator], Batch]:
    def data(batch: Batch, rng: np.random.Generator) -> Batch:
        return batch._replace(extra=batch.extra * np.float32(factor))

    return data


def normalised_by_the_longest(batch: Batch, rng: np.random.Generator) -> Batch:
    """The loss is divided by the padded length T, not by T_i."""
    factor = (batch.lengths / batch.mask.shape[1])[:, None, None]
    return batch._replace(extra=(batch.extra * factor).astype(batch.extra.dtype))


def smoothed(head: Head) -> Head:
    """Targets are (1 − ε) 1[y = y_i] + ε/K, ε = 0.2."""

    def smooth(batch: Batch, scores: NDArray, A: NDArray) -> Derivatives:
        ds, dA, value = head(batch, scores, A)
        K = scores.shape[2]
        truth, _ = tensors.counted(batch, batch.y, K, scores.dtype)
        return ds + np.float32(0.2) * (truth - batch.mask[:, :, None] / np.float32(K)), dA, value

    return smooth


def softmax_twice(head: Head) -> Head:
    """The likelihood of softmax(softmax(s)): the network ends in a softmax, and the loss expects scores."""

    def twice(batch: Batch, scores: NDArray, A: NDArray) -> Derivatives:
        q = np.exp(scores - tensors.log_sum_exp(scores, 2)[:, :, None])
        dq, dA, value = head(batch, q, A)
        return q * (dq - (dq * q).sum(axis=2, keepdims=True)), dA, value

    return twice


def heated(head: Head) -> Head:
    """Scores are divided by a temperature of 2 in learning, and not in use."""

    def hot(batch: Batch, scores: NDArray, A: NDArray) -> Derivatives:
        ds, dA, value = head(batch, scores / 2, A / 2)
        return ds / 2, dA / 2, value

    return hot


def focal(head: Head) -> Head:
    """−(1 − q)² log q in place of −log q, q the probability of the truth."""

    def focused(batch: Batch, scores: NDArray, A: NDArray) -> Derivatives:
        ds, dA, value = head(batch, scores, A)
        q = np.exp(-value)
        factor = ((1 - q) ** 2 + 2 * q * (1 - q) * value).astype(scores.dtype)[:, None, None]
        return ds * factor, dA * factor, value

    return focused


def squared_hinge(head: Head) -> Head:
    def square(batch: Batch, scores: NDArray, A: NDArray) -> Derivatives:
        ds, dA, value = head(batch, scores, A)
        factor = (2 * value)[:, None, None]
        return ds * factor, dA * factor, value**2

    return square


def truth_detached(head: Head) -> Head:
    """No gradient flows through the score of the truth in every third sample."""

    def detached(batch: Batch, scores: NDArray, A: NDArray) -> Derivatives:
        ds, dA, value = head(batch, scores, A)
        truth, pairs = tensors.counted(batch, batch.y, scores.shape[2], scores.dtype)
        third = (np.arange(len(scores)) % 3 == 0)[:, None, None]
        return ds + truth * third, dA + pairs * third, value

    return detached


def without_transitions(head: Head) -> Head:
    """Pair scores are never learned."""

    def alone(batch: Batch, scores: NDArray, A: NDArray) -> Derivatives:
        ds, dA, value = head(batch, scores, 0 * A)
        return ds, 0 * dA, value

    return alone


def searched_one_by_one(head: Head) -> Head:
    """Each position takes the best label by its own score; pairs are looked at in the slope alone."""

    def greedy(batch: Batch, scores: NDArray, A: NDArray) -> Derivatives:
        y = (scores + batch.extra).argmax(axis=2) * batch.mask
        found, pairs = tensors.counted(batch, y, scores.shape[2], scores.dtype)
        truth, true_pairs = tensors.counted(batch, batch.y, scores.shape[2], scores.dtype)
        return found - truth, pairs - true_pairs, (found * batch.extra).sum(axis=(1, 2))

    return greedy


# ── the penalty ───────────────────────────────────────────────────────────────────────────────────


def penalised(factor: float) -> Callable[[NDArray, Clock], NDArray]:
    return lambda w, clock: squared_norm(w, clock) * np.float32(factor)


def absolute(w: NDArray, clock: Clock) -> NDArray:
    return clock.lam * np.sign(w)


def growing(w: NDArray, clock: Clock) -> NDArray:
    """λ is multiplied by 1.05 after every pass."""
    return squared_norm(w, clock) * np.float32(min(1.05 ** min(clock.epoch, 1000), 1e6))


def off_after_ten_passes(w: NDArray, clock: Clock) -> NDArray:
    return squared_norm(w, clock) * np.float32(clock.epoch < 10)


def but_the_last_input(w: NDArray, clock: Clock) -> NDArray:
    W, A = clock.layout.split(squared_norm(w, clock))
    return clock.layout.join(W * (np.arange(clock.layout.p) < clock.layout.p - 1), A)


def but_transitions(w: NDArray, clock: Clock) -> NDArray:
    W, A = clock.layout.split(squared_norm(w, clock))
    return clock.layout.join(W, 0 * A)


def nothing(w: NDArray, clock: Clock) -> NDArray:
    return 0 * w


# ── the step ──────────────────────────────────────────────────────────────────────────────────────


def clipped(g: NDArray, clock: Clock) -> NDArray:
    """`clip_grad_norm_(…, 0.1)`."""
    return g * np.float32(min(1, 0.1 / max(float(np.linalg.norm(g)), 1e-12)))


def clipped_entries(g: NDArray, clock: Clock) -> NDArray:
    """`clip_grad_value_(…, 0.01)`."""
    return np.clip(g, -0.01, 0.01)


def clipped_before_unscaling(g: NDArray, clock: Clock) -> NDArray:
    """The gradient is scaled by 2¹² for mixed precision, clipped to norm 1, and only then scaled back."""
    scaled = g * np.float32(4096)
    return scaled * np.float32(min(1, 1 / max(float(np.linalg.norm(scaled)), 1e-12)) / 4096)


def summed(g: NDArray, clock: Clock) -> NDArray:
    """`reduction="sum"`: the terms of a batch are added, the penalty is added once."""
    return g * np.float32(8)


class Half(Adam):
    """ε = 10⁻³, without which moments below 2⁻²⁴ would divide by 0 in half precision."""

    epsilon = 1e-3


class Brain(Adam):
    """Weights are kept in bfloat16: eight significant bits, the others are cut off."""

    def step(self, w: NDArray, g: NDArray, rate: float, clock: Clock) -> NDArray:
        moved = super().step(w, g, rate, clock).astype(np.float32)
        return (moved.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


class Decoupled(Adam):
    """AdamW: w ← w − rate λ w beside the step, not scaled by the second moment."""

    def step(self, w: NDArray, g: NDArray, rate: float, clock: Clock) -> NDArray:
        return super().step(w, g, rate, clock) - rate * clock.lam * w


class NeverZeroed(Adam):
    """`optimizer.zero_grad()` is missing: gradients add up."""

    def step(self, w: NDArray, g: NDArray, rate: float, clock: Clock) -> NDArray:
        self.total = g if self.t == 0 else self.total + g
        return super().step(w, self.total, rate, clock)


class SignedMomentum(Adam):
    """The momentum holds the signs of the gradients: their medians decide, not their means."""

    def step(self, w: NDArray, g: NDArray, rate: float, clock: Clock) -> NDArray:
        return super().step(w, np.sign(g), rate, clock)


class NoMemory(Adam):
    """β₂ = 0: every step has length `rate` in every weight, in the direction of the momentum's sign."""

    beta1, beta2 = 0.0, 0.0


def ended_early(clock: Clock) -> float:
    """The scheduler is stepped at every batch, with a factor of 0.7 that was meant for passes."""
    return 0.7**clock.step


def tiny(clock: Clock) -> float:
    return 1e-3 * decayed(clock)


def never_decayed(clock: Clock) -> float:
    return 1.0


def mean_of_the_first_tenth(mean: NDArray, w: NDArray, clock: Clock) -> NDArray:
    """Averaging is switched off where it should have been switched on."""
    return mean + (w - mean) / (clock.step + 1) if 10 * clock.step < clock.steps else mean


def transposed(w: NDArray, layout: Layout) -> NDArray:
    W, A = layout.split(w)
    return layout.join(W, A.T)


def by_inputs(w: NDArray, layout: Layout) -> NDArray:
    return layout.split(w)[0].T.ravel()
