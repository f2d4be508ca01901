"""Generated sentences, a tag for each word, described by sparse binary features: the size of tagging, without its data.

    y_t ~ follows[y_{t−1}],     word_t ~ Zipf over the words of tag y_t, or with probability `strange` over all words
    x_t = e_{word_t} + e_{word_{t−1}} + e_{word_{t+1}} + e_{ending of word_t},     a block of columns for each

Every tag has a few likely followers. Word j belongs to one tag, words of one ending mostly to one tag, too. Columns
that no sentence uses stay, so p = K(3 · words + endings + K) follows from the settings. All features are 0 or 1, so
sums of features are exact. n=1500, labels=23, length=43, words=9000, endings=2822 have p = 686,435 in 24 words a
sentence on average.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

import workbench as wb


def synthetic_tags(
    n: int = 60, labels: int = 5, length: int = 12, words: int = 200, endings: int = 30, strange: float = 0.2,
    seed: int = 0,
) -> wb.Chain:  # fmt: skip
    """n sentences of 5 to `length` words as a `Chain` with the normalised Hamming loss."""
    if n < 1 or labels < 2 or length < 5 or words < labels or endings < 1 or not 0 <= strange <= 1:
        raise wb.BadInput(
            f"n={n}, labels={labels}, length={length}, words={words}, endings={endings}, strange={strange} generate "
            "nothing; keep n ≥ 1, labels ≥ 2, length ≥ 5, words ≥ labels, endings ≥ 1 and 0 ≤ strange ≤ 1."
        )
    rng = np.random.default_rng(seed)
    follows = np.cumsum(rng.dirichlet(np.full(labels, 0.3), size=labels), axis=1)
    tag_of = np.concatenate([np.arange(labels), rng.integers(0, labels, words - labels)])
    common = 1 / np.arange(1.0, words + 1)
    ending_of = (tag_of + labels * rng.integers(0, 1 + endings // labels, words)) % endings
    sentences, tags = [], []
    for _ in range(n):
        size = rng.integers(5, length + 1)
        y = tagged(follows, rng.random(size))
        spoken = np.empty(size, np.int64)
        odd = rng.random(size) < strange
        for t in range(size):
            favour = common * (odd[t] | (tag_of == y[t]))
            spoken[t] = np.searchsorted(np.cumsum(favour), rng.random() * favour.sum(), "right")
        sentences.append(described(spoken, ending_of, words, endings))
        tags.append(y)
    return wb.Chain(sentences, tags, classes=np.arange(labels))


def tagged(follows: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """A path of the Markov chain with cumulated rows `follows`, from uniform draws."""
    labels = len(follows)
    path = np.empty(len(draws), np.int64)
    path[0] = int(draws[0] * labels)
    for t in range(1, len(draws)):
        path[t] = min(np.searchsorted(follows[path[t - 1]], draws[t], "right"), labels - 1)
    return path


def described(spoken: np.ndarray, ending_of: np.ndarray, words: int, endings: int) -> sparse.csr_array:
    """The features (T, 3 · words + endings) of a sentence."""
    size = len(spoken)
    t = np.arange(size)
    rows = np.concatenate([t, t[1:], t[:-1], t])
    columns = np.concatenate([spoken, words + spoken[:-1], 2 * words + spoken[1:], 3 * words + ending_of[spoken]])
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(size, 3 * words + endings))


NAMES = {"synthetic-tags": synthetic_tags}
