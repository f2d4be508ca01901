"""Generated chains: a hidden Markov model whose letters are noisy one-hot codes of their labels.

    y_1 uniform, y_t = y_{t−1} + 1 (mod K) with probability `order`, else uniform
    x_t = [e_{y_t} + noise · N(0, I), 1]         rounded to 1/64, so that sums of features are exact

With pairs=true the order shows only where the input says so: g_t ∈ {0, 1} a fair coin before each letter after the
first, y_t = y_{t−1} + 1 (mod K) only if g_t = 1 besides, and the features of a pair are f_t = [1, g_t].

Neither the letters nor the order tells the labels alone; a stand-in where no real data are at hand.
"""

from __future__ import annotations

import numpy as np

import workbench as wb


def synthetic_chain(
    n: int = 60,
    labels: int = 5,
    length: int = 8,
    noise: float = 0.7,
    order: float = 0.6,
    seed: int = 0,
    pairs: bool = False,
) -> wb.Chain:
    """n sequences of 2 to `length` positions as a `Chain` with the normalised Hamming loss."""
    if n < 1 or labels < 2 or length < 2 or noise < 0 or not 0 <= order <= 1:
        raise wb.BadInput(
            f"n={n}, labels={labels}, length={length}, noise={noise}, order={order} generate nothing; "
            "keep n ≥ 1, labels ≥ 2, length ≥ 2, noise ≥ 0 and 0 ≤ order ≤ 1."
        )
    rng = np.random.default_rng(seed)
    sequences, answers, gaps = [], [], []
    for _ in range(n):
        y = rng.integers(0, labels, rng.integers(2, length + 1))
        follows = rng.random(len(y)) < order
        told = rng.integers(0, 2, len(y)) if pairs else np.ones(len(y), np.int64)
        follows &= told == 1
        for t in range(1, len(y)):
            if follows[t]:
                y[t] = (y[t - 1] + 1) % labels
        x = np.eye(labels)[y] + noise * rng.normal(size=(len(y), labels))
        sequences.append(np.hstack([np.round(64 * x) / 64, np.ones((len(y), 1))]))
        answers.append(y)
        gaps.append(np.column_stack([np.ones(len(y) - 1), told[1:]]))
    return wb.Chain(sequences, answers, classes=np.arange(labels), pairs=gaps if pairs else None)


NAMES = {"synthetic-chain": synthetic_chain}
