"""Noisy pictures: one label a pixel, neighbours rather alike, as a `Graph`; two labels or more.

    x_v = [what is seen at pixel v, 1]      two labels: ±1 + noise · N(0, 1); more: the label's e_y + noise · N(0, I)
    f_e = [1, likeness of the two pixels]   likeness (1 − ‖x_u − x_v‖/4)₊

Discs of random size and label lie on a ground of label 0. Edges join pixels side by side. The loss is the number of
wrong pixels. Values are rounded to 1/64, so sums of features are exact. Two labels have an exact oracle, a minimum cut;
with more, `oracle` chooses (`cutbench list graph`), by default the one whose bounds both hold, `enclosed`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

import workbench as wb

GRID = 64


def grid(
    n: int = 6,
    size: int = 16,
    labels: int = 2,
    noise: float = 1.5,
    seed: int = 0,
    oracle: Literal["exact", "under", "relaxed", "enclosed"] | None = None,
) -> wb.Graph:
    """n generated pictures of size × size pixels."""
    if n < 1 or size < 2 or labels < 2 or not 0 <= noise < 1e6 or seed < 0:
        raise wb.BadInput(
            f"n={n}, size={size}, labels={labels}, noise={noise}, seed={seed} generate nothing; keep n ≥ 1, size ≥ 2, "
            "labels ≥ 2, noise ≥ 0 and seed ≥ 0."
        )
    rng = np.random.default_rng(seed)
    truth = [discs(rng, size, labels).ravel() for _ in range(n)]
    seen = [observed(rng, each, labels, noise) for each in truth]
    edges = neighbours(size)
    pairs = [likeness(x, edges) for x in seen]
    nodes = [np.column_stack([x, np.ones(size * size)]) for x in seen]
    chosen = oracle or ("exact" if labels == 2 else "enclosed")
    every = np.arange(labels)
    problem = wb.Graph(nodes, [edges] * n, truth, pairs, "hamming", classes=every, oracle=chosen)
    problem.pixels = [size, size]
    return problem


def discs(rng: np.random.Generator, size: int, labels: int) -> np.ndarray:
    """A picture (size, size) of labels."""
    picture, (rows, columns) = np.zeros((size, size), np.int64), np.mgrid[:size, :size]
    for _ in range(3 * (labels - 1)):
        centre, radius = rng.uniform(0, size, 2), rng.uniform(size / 12, size / 4)
        inside = (rows - centre[0]) ** 2 + (columns - centre[1]) ** 2 < radius**2
        picture[inside] = rng.integers(1, labels)
    return picture


def observed(rng: np.random.Generator, y: np.ndarray, labels: int, noise: float) -> np.ndarray:
    """What is seen at each pixel, (V, 1) or (V, labels)."""
    clean = 2.0 * y[:, None] - 1 if labels == 2 else np.eye(labels)[y]
    return np.round(GRID * (clean + noise * rng.normal(size=clean.shape))) / GRID


def neighbours(size: int) -> np.ndarray:
    """The edges (E, 2) of a square grid, counted row by row."""
    at = np.arange(size * size).reshape(size, size)
    across, down = (at[:, :-1], at[:, 1:]), (at[:-1], at[1:])
    return np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in (across, down)])


def likeness(x: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """f (E, 2)."""
    distance = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
    return np.column_stack([np.ones(len(edges)), np.round(GRID * np.maximum(1 - distance / 4, 0)) / GRID])


NAMES = {"grid": grid}
