"""Dyads: pairs of two sides with labels, as an output structure; linear scores here, bilinear ones by `nuclear-dyadic`.

As a `Multiclass` problem each pair is a sample with the linear features x_i of dyads/pairs.py: by default those of
both sides and a constant, so the score of a label is that of its left, plus that of its right, plus a bias. All
formulations of `Multiclass` take this, the dyadic model in 0 dimensions. The sides stay beside the features:
`nuclear-dyadic` reads them as `dyads`. The columns keep their names, by which other pairs are matched (`like`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.arithmetic.arrays import kept_rows, saved_rows
from workbench.contracts import Floats
from workbench.dyads.pairs import Dyads
from workbench.outputs.multiclass import Multiclass

SIDES = ("left", "right")


class DyadicPairs(Multiclass):
    """Pairs of a left and a right side with labels.

    Parameters
    ----------
    pairs : `Dyads`; its linear features are the inputs, its importances the sample weights
    cost : (k, k) with cost[true, predicted] ≥ 0 and a zero diagonal, for the linear formulations; default 0/1
    """

    name = "dyads"
    concurrent = True

    def __init__(self, pairs: Dyads, cost: ArrayLike | None = None):
        super().__init__(pairs.linear, pairs.classes[pairs.labels], cost, pairs.importance, pairs.classes)
        self.dyads = pairs

    def like(self, learned: DyadicPairs) -> DyadicPairs:
        """These pairs with the columns of those learned, matched by name; `BadInput` for a name not among them."""
        return DyadicPairs(self.dyads.placed(learned.dyads.names), learned.cost)

    def describe(self, sample: int, output: NDArray[np.int64]) -> str:
        return str(self.classes[output[0]])

    def weight_names(self) -> list[str]:
        """LABEL: SIDE NAME for each label and linear feature."""
        return [f"{label}: {name}" for label in self.classes for name in self.dyads.linear_columns()]

    def arrays(self) -> dict[str, NDArray]:
        pairs, found = self.dyads, super().arrays()
        for side in SIDES:
            rows, names = getattr(pairs, side), getattr(pairs, f"{side}_names")
            found |= {f"{side}_{name}": array for name, array in kept_rows(rows.sorted_indices()).items()}
            found[f"{side}_columns"] = np.array(rows.shape[1])
            found |= {} if names is None else {f"{side}_names": names}
        found["of_both"] = np.array(pairs.of_both)
        return found | ({} if pairs.linear_names is None else {"linear_names": pairs.linear_names})

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray]) -> DyadicPairs:
        plain, n = Multiclass.from_arrays(arrays), len(arrays["labels"])
        sides = {}
        for side in SIDES:
            parts = {name: arrays[f"{side}_{name}"] for name in ("data", "indices", "indptr")}
            sides[side] = saved_rows(parts, (n, int(arrays[f"{side}_columns"])))
        names = {f"{side}_names": arrays.get(f"{side}_names") for side in (*SIDES, "linear")}
        labels = plain.classes[plain.labels]
        pairs = Dyads(sides["left"], sides["right"], labels, plain.X, plain.weights, plain.classes, **names)
        pairs.of_both = bool(arrays["of_both"])
        return cls(pairs, plain.cost)

    @classmethod
    def random(cls, rng: np.random.Generator, n: int, d: int, labels: int) -> DyadicPairs:
        """n ≥ 2 pairs of about √d things on each side, of k = `labels` classes, two of which occur."""
        few = max(2, round(d**0.5))
        y = rng.integers(0, labels, n)
        y[1] = y[1] if y[1] != y[0] else (y[0] + 1) % labels
        return cls(Dyads(rng.integers(0, few, n), rng.integers(0, few, n), y, classes=np.arange(labels)))

    @classmethod
    def tiny(cls, rng: np.random.Generator) -> DyadicPairs:
        """A random instance small enough to enumerate, for the conformance tests."""
        left, right, k = int(rng.integers(2, 4)), int(rng.integers(2, 4)), int(rng.integers(2, 4))
        pairs = np.stack(np.meshgrid(np.arange(left), np.arange(right)), axis=-1).reshape(-1, 2)
        while True:  # labels of a linear rule, so that linear scores can separate them, until each class occurs
            alpha, beta = rng.normal(size=(left, k)), rng.normal(size=(right, k))
            labels = (alpha[pairs[:, 0]] + beta[pairs[:, 1]]).argmax(axis=1)
            if len(np.unique(labels)) == k:
                break
        importance: Floats = rng.uniform(0.5, 2, len(labels))
        return cls(Dyads(pairs[:, 0], pairs[:, 1], labels, importance=importance, classes=np.arange(k)))


NAMES = {"dyads": DyadicPairs}
