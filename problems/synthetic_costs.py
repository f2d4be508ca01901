"""Labels drawn from a known softmax model over {−1, 1}⁴: the synthetic suite for learned costs.

X holds each of the 16 vectors x ∈ {−1, 1}⁴ `copies` times. A label y is drawn with probability proportional to
exp(⟨w_y, x⟩ + b_y), where w_0 = w_1 = s·(1, 2, 4, 8), w_2 = w_3 = −s·(1, 2, 4, 8) and b = 0. No input tells 0 from 1,
nor 2 from 3: to confuse these is as hard as can be, and other confusions grow harder as s falls.

    suite             s      further labels, of no weights and a bias each
    exp               1
    exp-small         0.1
    exp-mini          0.01
    plus-rare         0.1    4: −3
    plus-many-rare    0.1    4: −3    5: −3.2    6: −3.4

The source leaves open the number of copies, s in the suites with rare labels, and the weights of rare labels. 25
copies, weights 0 and s = 0.1 are choices made here: with s = 1 a label of bias −3 would be drawn once in a thousand
times. `copies` and `scale` change these choices. A label that is never drawn remains a class. split=test has other
labels at the same inputs, from the same model.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

import workbench as wb

SUITES = {
    "exp": (1.0, ()),
    "exp-small": (0.1, ()),
    "exp-mini": (0.01, ()),
    "plus-rare": (0.1, (-3.0,)),
    "plus-many-rare": (0.1, (-3.0, -3.2, -3.4)),
}


def synthetic_costs(
    suite: Literal["exp", "exp-small", "exp-mini", "plus-rare", "plus-many-rare"] = "exp",
    copies: int = 25,
    scale: float | None = None,
    split: Literal["train", "test"] = "train",
    seed: int = 0,
) -> wb.Multiclass:
    """16 · `copies` samples of four features ±1; `scale` in place of the suite's s."""
    if suite not in SUITES or split not in ("train", "test"):
        raise wb.BadInput(f"suite={suite!r} of split={split!r} is unknown; choose {', '.join(SUITES)}, train or test.")
    s, rare = SUITES[suite]
    s = s if scale is None else scale
    if not 1 <= copies <= 10_000 or not 0 <= s <= 100 or seed < 0:
        raise wb.BadInput(
            f"copies={copies}, scale={s}, seed={seed}: give 1 to 10000 copies, a scale to 100, a seed ≥ 0."
        )
    vectors = 2.0 * (np.indices((2,) * 4).reshape(4, -1).T) - 1
    X, w = np.tile(vectors, (copies, 1)), s * np.array([1.0, 2, 4, 8])
    scores = np.column_stack([X @ w, X @ w, -X @ w, -X @ w, *(np.full(len(X), bias) for bias in rare)])
    random = np.random.default_rng([seed, split == "test"])
    labels = (scores + random.gumbel(size=scores.shape)).argmax(axis=1)  # a draw from the softmax (Gumbel 1954)
    return wb.Multiclass(X, labels, classes=np.arange(scores.shape[1]))


NAMES = {"synthetic-costs": synthetic_costs}
