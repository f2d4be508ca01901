"""Planted motifs: sequences over A, C, G, T, half of which hold one motif at a random place (docs/latent.md).

    background   independent letters, G or C with probability `gc`
    motif        `length` letters drawn once; every planted copy has each letter drawn anew with probability `mutation`
    decoys       each negative sequence, with probability `decoys`, holds the motif with its letters shuffled: the right
                 letters in the wrong order

The planted places are kept in `truth`, for comparison with the positions that a learner finds; `hide` removes them from
the problem. latent-ssvm never reads them.
"""

from __future__ import annotations

import numpy as np

import workbench as wb


def motif(
    n: int = 60,
    length: int = 8,
    span: int = 30,
    mutation: float = 0.1,
    gc: float = 0.5,
    decoys: float = 0.5,
    draw: int = 0,
    hide: bool = False,
) -> wb.Motif:
    """n sequences of `span` letters as a `Motif`, the second half positive."""
    shares = (mutation, gc, decoys)
    if n < 2 or not 1 <= length <= span or not all(0 <= share <= 1 for share in shares):
        raise wb.BadInput(
            f"n={n}, length={length}, span={span}, mutation={mutation}, gc={gc}, decoys={decoys} plant nothing; keep "
            "n ≥ 2, 1 ≤ length ≤ span and the others from 0 to 1."
        )
    rng = np.random.default_rng(draw)
    shares = np.array([1 - gc, gc, gc, 1 - gc]) / 2
    pattern, labels = rng.choice(4, length, p=shares), (np.arange(n) >= n // 2).astype(int)
    shuffled = rng.permutation(pattern)
    letters, positions = rng.choice(4, (n, span), p=shares), rng.integers(0, span - length + 1, n)
    for i in range(n):
        copy = np.where(rng.random(length) < mutation, rng.choice(4, length, p=shares), pattern)
        if labels[i] or rng.random() < decoys:
            letters[i, positions[i] : positions[i] + length] = copy if labels[i] else shuffled
    texts = ["".join("ACGT"[x] for x in row) for row in letters]
    return wb.Motif(texts, labels, length, None if hide else np.where(labels == 1, positions, -1))


NAMES = {"motif": motif}
