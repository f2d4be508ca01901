"""A structured problem by three functions: sequences of letters, each with a label "a" or "b"."""

from itertools import pairwise

import numpy as np

import workbench as wb

LABELS = "ab"


def features(x, y):
    """φ(x, y) as a dict: each letter with its label, and neighbouring labels."""
    found = {}
    for name in [*zip(x, y, strict=True), *pairwise(y)]:
        found[name] = found.get(name, 0) + 1
    return found


def loss(truth, y):
    """How many labels are wrong."""
    return sum(a != b for a, b in zip(truth, y, strict=True))


def argmax(w, x, y=None):
    """The best labels by dynamic programming; with the truth y, the best with the loss added."""
    best = {"": (0.0, "")}
    for t, letter in enumerate(x):
        best = {
            label: max(
                (score + w[letter, label] + w[last, label] + (y is not None and y[t] != label), path + label)
                for last, (score, path) in best.items()
            )
            for label in LABELS
        }
    return max(best.values())[1]


def problem(n: int = 20, seed: int = 0):
    """Replace this by your data."""
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(list("xyz"), rng.integers(2, 7))) for _ in range(n)]
    labels = ["".join("a" if letter == "x" or rng.random() < 0.2 else "b" for letter in word) for word in words]
    return wb.Structured(words, labels, features, loss, argmax)


NAMES = {"its-name": problem}
