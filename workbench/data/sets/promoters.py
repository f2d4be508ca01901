"""53 promoters of E. coli and 53 other stretches of 57 bases: UCI's Molecular Biology (Promoter Gene Sequences).

Collected by C. Harley and R. Reynolds, given by M. Noordewier and J. Shavlik.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.data import store


class Sequences(NamedTuple):
    """Named texts over A, C, G, T and their labels 1 or −1, in the order of the file."""

    names: list[str]
    labels: NDArray[np.int64]
    texts: list[str]


def promoters(folder: str | Path | None = None) -> Sequences:
    """The promoter sequences from `promoters.data`; errors as `store.load`.

    A line is `+,name,sequence` or `-,name,sequence`; white space does not count.
    """
    rows = [stretch(line) for line in store.lines_of(store.load(PROMOTERS, folder))]
    signs, names, texts = zip(*rows, strict=True)
    return Sequences(list(names), np.where(np.array(signs) == "+", 1, -1), list(texts))


def stretch(line: str) -> tuple[str, str, str]:
    """Sign, name and letters of a line, or ValueError."""
    parts = ["".join(part.split()) for part in line.split(",")]
    if len(parts) != 3 or parts[0] not in ("+", "-") or not re.fullmatch("[acgtACGT]+", parts[2]):
        raise ValueError("is not of the form +,name,sequence or -,name,sequence over a, c, g, t")
    return parts[0], parts[1], parts[2].upper()


PROMOTERS = store.Source(
    readers={"promoters.npz": store.read_packed_lines, "promoters.data": store.read_lines(stretch)},
    url="https://archive.ics.uci.edu/ml/machine-learning-databases/molecular-biology/promoter-gene-sequences/"
    "promoters.data",
    digest="7984e993bf743b281e950b07f4e23fe4cf95d38751ec1136623ba06acdde042b",
    pack=lambda arrays: arrays,
)
