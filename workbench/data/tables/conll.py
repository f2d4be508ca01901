"""CoNLL text: a position a line, columns separated by blanks or tabs, the label last; an empty line ends a sequence.

    EU      NNP   B-ORG            the words of a position are the features  COLUMN[OFFSET]:WORD  with value 1,
    rejects VBZ   O                OFFSET from −window to window: its own words and those of its neighbours

Lines that start with -DOCSTART- count as empty. A file to predict has the same columns, or lacks the labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from workbench.errors import BadInput

NAME = re.compile(r"(\d+)\[(-?\d+)\]:")
HERE = re.compile(r"(\d+)\[0\]:")  # of words of the position itself
MOST = 2000  # positions of a file of one sequence, beyond which empty lines seem to be missing
Position = dict[str, float]


def read(path: Path, window: int, columns: int | None = None) -> tuple[list[list[Position]], list[list[str]] | None]:
    """Sequences of features, and their labels, or None if the file has no more than the `columns` of words.

    Raises `BadInput`, to learn from, for a file that is one sequence of more than MOST positions.
    """
    runs: list[list[list[str]]] = [[]]
    width, first = 0, 0
    for number, words, line in lines_of(path):
        if not words:
            runs.append([])
            continue
        if not line.replace("\t", " ").isprintable():
            raise BadInput(f"{path}: line {number}, {line[:60]!r}, has unprintable characters; remove them.")
        width, first = (len(words), number) if not width else (width, first)
        if len(words) != width:
            raise BadInput(
                f"{path}: line {number} has {len(words)} columns but line {first} has {width}; write as many in each."
            )
        runs[-1].append(words)
    runs = [run for run in runs if run]
    if not runs or (width < 2 and columns is None):
        raise BadInput(f"{path} holds no position with a word and a label; write a line for each, words first.")
    if columns is None and len(runs) == 1 and len(runs[0]) > MOST:
        told = f"{path} is one sequence of {len(runs[0]):,} positions"
        raise BadInput(f"{told}, as no empty line parts it; write an empty line behind each sentence.")
    if columns is not None and width not in (columns, columns + 1):
        raise BadInput(f"{path} has {width} columns but the weights know {columns} of words; write these.")
    words_in = width - 1 if columns is None else columns
    labels = [[words[-1] for words in run] for run in runs] if width > words_in else None
    return [positions([words[:words_in] for words in run], window) for run in runs], labels


def lines_of(path: Path) -> Iterator[tuple[int, list[str], str]]:
    """Number, words and text of each line; a line that ends a sequence has no words."""
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), 1):
        yield number, [] if line.startswith("-DOCSTART-") else line.split(), line


def starts(path: Path) -> list[int]:
    """The number of the first line of each sequence."""
    found, inside = list[int](), False
    for number, words, _ in lines_of(path):
        if words and not inside:
            found.append(number)
        inside = bool(words)
    return found


def named(column: int, offset: int, word: str) -> str:
    """The feature of a word in this column, so many places further on."""
    return f"{column}[{offset}]:{word}"


def positions(run: list[list[str]], window: int) -> list[Position]:
    """The features of each position of a sequence of words."""
    found = []
    for t in range(len(run)):
        near = range(max(-window, -t), min(window, len(run) - 1 - t) + 1)
        found.append({named(j, step, word): 1.0 for step in near for j, word in enumerate(run[t + step])})
    return found


def shape_of(names: list[str]) -> tuple[int, int] | None:
    """(columns of words, window) of the features with these names; None if they are no features of CoNLL text."""
    found = [NAME.match(name) for name in names]
    if not names or not all(found):
        return None
    pairs = [(int(each[1]), abs(int(each[2]))) for each in found if each]
    return 1 + max(column for column, _ in pairs), max(step for _, step in pairs)
