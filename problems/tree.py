"""Generated taxonomies: rooted trees whose nodes are labelled, children much like their parents, as a `Tree`.

    y_root uniform; a child has its parent's label with probability `alike`, else the next one (mod K)
    x_v = [e_{y_v} + noise · N(0, I), 1]         f_e = [1, depth of the child ≥ 3]

Neither a node's features nor its place tells its label alone. Values are rounded to 1/64: sums of features are exact.
"""

from __future__ import annotations

import numpy as np

import workbench as wb


def tree(
    n: int = 40, labels: int = 4, size: int = 15, noise: float = 0.9, alike: float = 0.7, seed: int = 0
) -> wb.Tree:
    """n trees of 2 to `size` nodes, with the loss Hamming / number of nodes."""
    if n < 1 or labels < 2 or size < 2 or noise < 0 or not 0 <= alike <= 1 or seed < 0:
        raise wb.BadInput(
            f"n={n}, labels={labels}, size={size}, noise={noise}, alike={alike}, seed={seed} generate nothing; keep "
            "n ≥ 1, labels ≥ 2, size ≥ 2, noise ≥ 0, 0 ≤ alike ≤ 1 and seed ≥ 0."
        )
    rng = np.random.default_rng(seed)
    nodes, edges, pairs, truth = [], [], [], []
    for _ in range(n):
        count = int(rng.integers(2, size + 1))
        above = np.array([int(rng.integers(max(0, v - 4), v)) for v in range(1, count)])
        y, depth = np.zeros(count, np.int64), np.zeros(count, np.int64)
        y[0] = rng.integers(labels)
        for v, u in enumerate(above, 1):
            y[v] = y[u] if rng.random() < alike else (y[u] + 1) % labels
            depth[v] = depth[u] + 1
        x = np.eye(labels)[y] + noise * rng.normal(size=(count, labels))
        nodes.append(np.column_stack([np.round(64 * x) / 64, np.ones(count)]))
        edges.append(np.column_stack([above, np.arange(1, count)]))
        pairs.append(np.column_stack([np.ones(count - 1), depth[1:] >= 3]))
        truth.append(y)
    return wb.Tree(nodes, edges, truth, pairs, classes=np.arange(labels))


NAMES = {"tree": tree}
