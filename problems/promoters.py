"""Promoters of E. coli: is a stretch of 57 bases one, and where is the motif that gives it away?

53 promoters, 53 other stretches (Towell, Shavlik & Noordewier 1990). Nobody says where the motif is, so positions are
hidden and latent-ssvm is the formulation that fits; biologists know two boxes, 35 and 10 bases ahead of the gene
(TTGACA and TATAAT), the gene starting at base 51 of 57.
"""

from __future__ import annotations

import numpy as np

import workbench as wb


def promoters(n: int = 106, length: int = 6, data: str | None = None) -> wb.Motif:
    """n of the sequences, positive and negative in turn; `data` is the folder that holds promoters.data."""
    found = wb.datasets.promoters(data)
    positive = found.labels == 1
    order = np.argsort(np.where(positive, np.cumsum(positive), np.cumsum(~positive)), kind="stable")
    if not 2 <= n <= len(order):
        raise wb.BadInput(f"n is {n} but there are {len(order)} sequences; choose n from 2 to that.")
    chosen = order[:n]
    return wb.Motif([found.texts[i] for i in chosen], found.labels[chosen], length)


NAMES = {"promoters": promoters}
