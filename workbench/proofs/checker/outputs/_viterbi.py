"""Viterbi on whole numbers, in which no rounding can hide a labelling; θ_t(b) = ⟨W_b, x_t⟩, augmented by the loss:

    margin   V_t(b)    = θ_t(b) + max_a V_{t−1}(a) + A_ab                                       O(T K²)
    slack    V_t(b, e) = θ_t(b) + max_a V_{t−1}(a, e − c_t(b)) + A_ab, whole costs only         O(T K² E)
    rival    V_t(b) over labellings that have left the truth by t, U_t the truth's own score:
             V_t(b) = θ_t(b) + max(max_a V_{t−1}(a) + A_ab, [b ≠ y_t] (U_{t−1} + A_{y_{t−1} b}))

A_ab may differ from gap to gap: `pairs` is (T, K, K), the row of a letter the A of the gap before it, or (1, K, K).
What is forbidden or out of reach scores `floor`, below every labelling by more than any two of them differ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.proofs.checker.whole import Array


class Chained(NamedTuple):
    """Scores of some sequences: θ (N, K), A (1 or N, K, K), each truth's own (m,), over `unit`; rows and labels (N,),
    starts (m + 1,).
    """

    unary: Array
    pairs: Array
    own: Array
    at: Array
    labels: Array
    starts: Array
    unit: int

    @property
    def floor(self) -> int:
        return floor_of(self.unary, self.pairs)


def part(pairs: Array, start: int, stop: int) -> Array:
    """A of the letters from start to stop."""
    return pairs if len(pairs) == 1 else pairs[start:stop]


def later(pairs: Array, unary: Array) -> Array:
    """A (T − 1, K, K) of the gaps between the letters of one sequence."""
    return np.broadcast_to(pairs, (len(unary), *pairs.shape[1:]))[1:]


def floor_of(unary: Array, pairs: Array) -> int:
    """Below every score of a labelling by more than any two of them differ."""
    spread = sum(int(abs(row).max()) for row in unary)
    return -4 * (spread + len(unary) * int(abs(pairs).max())) - 1


def highest(unary: Array, pairs: Array) -> int:
    """The highest score of any labelling of one sequence."""
    best = unary[0]
    for here, step in zip(unary[1:], later(pairs, unary), strict=True):
        best = (best[:, None] + step).max(axis=0) + here
    return best.max()


def highest_other(unary: Array, pairs: Array, truth: Array, floor: int) -> int:
    """The highest score of a labelling other than `truth`; `floor` stands for none."""
    own, best = unary[0, truth[0]], unary[0].copy()
    best[truth[0]] = floor
    for here, step, before, label in zip(unary[1:], later(pairs, unary), truth[:-1], truth[1:], strict=True):
        leaving = own + step[before]
        leaving[label] = floor
        best = np.maximum((best[:, None] + step).max(axis=0), leaving) + here
        own = own + step[before, label] + here[label]
    return best.max()


def by_total_cost(unary: Array, pairs: Array, costs: Array, floor: int) -> Array:
    """The highest score of a labelling of each total cost e = 0, 1, … (E,); far below 0 where there is none."""
    most, labels = int(costs.max(axis=1).sum()), range(unary.shape[1])
    best = np.full((len(labels), most + 1), floor, object)
    best[labels, costs[0]] = unary[0]
    for here, step, spent in zip(unary[1:], later(pairs, unary), costs[1:], strict=True):
        new = np.full(best.shape, floor, object)
        for b in labels:
            arrived = (best + step[:, b][:, None]).max(axis=0)
            new[b, spent[b] :] = arrived[: most + 1 - spent[b]] + here[b]
        best = new
    return best.max(axis=0)
