"""Samples and outputs as pictures, on a terminal and in a page.

Such a problem says `pixels` = [rows, columns]. A sample that is one row of inputs, as a digit, or a row a place, as the
letters of a word, shows the first rows · columns inputs of each row as a picture. A sample whose places are themselves
the pixels, as the nodes of a grid, shows the first input of each. Shades run from 0 to 1 over a sample's pictures.

An alignment, which is a matching, is a table of its two sides with its links in black. Tracks are a row each, over the
first detections in the order of time: black where a track has one.

A sequence from CoNLL text is told in the words of its first column, which the names of its features hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHADES, HALVES = " ░▒▓█", " ▀▄█"
SMALL = 12  # rows of a picture, up to which a pixel takes two characters; from there on a character takes two pixels
WIDE = 110  # characters of a line of pictures


def pictures(problem: Any, sample: int) -> list[NDArray[np.float64]]:
    """The sample's pictures (rows, columns), shades from 0 to 1; none where the problem has no pixels."""
    from workbench.contracts import Sourced

    told = problem.pixels if isinstance(problem, Sourced) else None
    entries = inputs(problem, sample) if is_size(told) else None
    if told is None or entries is None:
        return []
    rows, columns = told
    size = rows * columns
    if entries.shape[0] == size > 1:
        found = [entries[:, 0]]
    elif entries.shape[1] >= size:
        found = list(entries[:, :size])
    else:
        return []
    low, high = min(each.min() for each in found), max(each.max() for each in found)
    return [((each - low) / (high - low or 1.0)).reshape(rows, columns) for each in found]


def is_size(told: Any) -> bool:
    """Whether `pixels`, which a certificate may tell, are two whole numbers from 1 on."""
    return isinstance(told, list) and len(told) == 2 and all(type(each) is int and each > 0 for each in told)


def output_picture(problem: Any, sample: int, output: Sequence[int]) -> list[NDArray[np.float64]]:
    """An output as one picture (rows, columns), where outputs are matchings or tracks; else none."""
    from workbench.outputs.flow import Flow, tracks_of
    from workbench.outputs.matching import ITSELF, Matching

    numbers = np.asarray(output, np.int64)
    if isinstance(problem, Matching):
        shape = int(problem.heights[sample]), int(problem.widths[sample])
        if numbers[0] == ITSELF:
            return [problem.gold[slice(*problem.starts[sample : sample + 2])].reshape(shape).astype(float)]
        table, linked = np.zeros(shape), np.flatnonzero(numbers[: shape[0]] >= 0)
        table[linked, numbers[linked]] = 1.0
        return [table]
    if isinstance(problem, Flow):
        size = int(problem.sizes[sample])
        tracks = tracks_of(numbers[:size])
        table = np.zeros((max(len(tracks), 1), size))
        for row, track in zip(table, tracks, strict=False):
            row[track] = 1.0
        begun = table[:, :WIDE]
        return [begun[begun.any(axis=1)]] if begun.any() else []
    return []


def words(problem: Any, sample: int) -> str:
    """The words of a sequence from CoNLL text; empty where the problem is another one."""
    from workbench.data.tables.conll import named
    from workbench.outputs.chain import Chain

    if not (isinstance(problem, Chain) and problem.names):
        return ""
    names = problem.names
    letters = problem.letters[slice(*problem.offsets[sample : sample + 2])]
    rows = np.split(letters.indices, letters.indptr[1:-1])
    first = named(0, 0, "")
    own = [[names[j].removeprefix(first) for j in row.tolist() if names[j].startswith(first)] for row in rows]
    return " ".join(each[0] for each in own) if all(len(each) == 1 for each in own) else ""


def inputs(problem: Any, sample: int) -> NDArray[np.float64] | None:
    """The sample's inputs, a row a place."""
    from workbench.outputs._graph.pairwise import Pairwise
    from workbench.outputs.chain import Chain
    from workbench.outputs.linear import Linear
    from workbench.outputs.multiclass import Multiclass

    if isinstance(problem, Chain | Pairwise):
        rows = problem.letters if isinstance(problem, Chain) else problem.nodes
        return rows[slice(*problem.offsets[sample : sample + 2])].toarray()
    return problem.X[[sample]].toarray() if isinstance(problem, Multiclass | Linear) else None


def lines(found: list[NDArray[np.float64]]) -> list[str]:
    """Pictures side by side as text; those beyond WIDE characters are left out, and '…' says so."""
    if not found:
        return []
    blocks = [shaded(each) if len(each) <= SMALL else halved(each) for each in found]
    fits = max(1, WIDE // (len(blocks[0][0]) + 1))
    shown = [" ".join(row).rstrip() for row in zip(*blocks[:fits], strict=True)]
    return [*shown, *["…"] * (fits < len(blocks))]


def shaded(picture: NDArray[np.float64]) -> list[str]:
    return ["".join(2 * SHADES[round(4 * each)] for each in row) for row in picture]


def halved(picture: NDArray[np.float64]) -> list[str]:
    """Two rows a line, black from ½ on."""
    black = np.concatenate([picture, np.zeros((len(picture) % 2, picture.shape[1]))]) >= 0.5
    codes = black[::2] + 2 * black[1::2]
    return ["".join(HALVES[each] for each in row) for row in codes.tolist()]
