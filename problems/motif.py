"""Planted motifs: sequences of DNA or protein, half of which hold one motif at a random place (docs/latent.md).

    background   independent letters: G or C with probability `gc`; amino acids by their shares in Swiss-Prot
    motif        `length` letters drawn once; every planted copy has each letter drawn anew with probability `mutation`
    decoys       each negative sequence, with probability `decoys`, holds the motif with its letters shuffled: the right
                 letters in the wrong order

The planted places are kept in `truth`, for comparison with the positions that a learner finds; `hide` removes them from
the problem. latent-ssvm never reads them.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

import workbench as wb

SWISS_PROT = (  # per cent of each letter of wb.Motif.alphabets["protein"] in UniProtKB/Swiss-Prot
    *(8.25, 1.38, 5.46, 6.72, 3.86, 7.07, 2.27, 5.91, 5.80, 9.65),
    *(2.41, 4.06, 4.74, 3.93, 5.53, 6.65, 5.36, 6.86, 1.10, 2.92),
)


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
    return planted(n, length, span, mutation, np.array([1 - gc, gc, gc, 1 - gc]) / 2, decoys, draw, hide, "dna")


def proteins(
    n: int = 40,
    length: int = 6,
    span: int = 40,
    mutation: float = 0.1,
    decoys: float = 0.5,
    draw: int = 0,
    hide: bool = True,
) -> wb.Motif:
    """n sequences of `span` amino acids as a `Motif`, the second half positive; letters by their shares in proteins."""
    if n < 2 or not 1 <= length <= span or not all(0 <= share <= 1 for share in (mutation, decoys)):
        raise wb.BadInput(
            f"n={n}, length={length}, span={span}, mutation={mutation}, decoys={decoys} plant nothing; keep n ≥ 2, "
            "1 ≤ length ≤ span and the others from 0 to 1."
        )
    shares = np.array(SWISS_PROT) / sum(SWISS_PROT)
    return planted(n, length, span, mutation, shares, decoys, draw, hide, "protein")


def planted(
    n: int,
    length: int,
    span: int,
    mutation: float,
    shares: np.ndarray,
    decoys: float,
    draw: int,
    hide: bool,
    alphabet: Literal["dna", "protein"],
) -> wb.Motif:
    """Sequences whose letters have these shares, a motif in the second half."""
    rng, q = np.random.default_rng(draw), len(shares)
    pattern, labels = rng.choice(q, length, p=shares), (np.arange(n) >= n // 2).astype(int)
    shuffled = rng.permutation(pattern)
    letters, positions = rng.choice(q, (n, span), p=shares), rng.integers(0, span - length + 1, n)
    for i in range(n):
        copy = np.where(rng.random(length) < mutation, rng.choice(q, length, p=shares), pattern)
        if labels[i] or rng.random() < decoys:
            letters[i, positions[i] : positions[i] + length] = copy if labels[i] else shuffled
    texts = ["".join(wb.Motif.alphabets[alphabet][x] for x in row) for row in letters]
    return wb.Motif(texts, labels, length, None if hide else np.where(labels == 1, positions, -1), alphabet=alphabet)


NAMES = {"motif": motif, "proteins": proteins}
