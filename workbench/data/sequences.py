"""Sequences from a user's files, as problems and to predict: CoNLL text and npz.

.conll    a position a line, the label last (tables/conll.py)
.npz      X (N, p), the positions of all sequences one after the other, dense or sparse; offsets (n + 1,), where each
          starts, from 0 to N; and labels y (N,), which a file to predict may lack
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from workbench.data.plain import check_text
from workbench.data.tables import archived, conll
from workbench.data.tables.table import Asked, Table, checked_names, tidied
from workbench.errors import BadInput, counted
from workbench.outputs.chain import Chain
from workbench.system.archive import arrays_in, names_in

TEXT, ENDS = ".conll", "offsets"
MOST_WINDOW = 20
SHOWN, FEWER = (
    10,
    5,
)  # labels that are listed; a column of so many times fewer words than there are labels may be theirs
Loss = Literal["hamming-normalised", "hamming"]


def holds_sequences(path: Path) -> bool:
    """Whether a data file holds sequences: CoNLL text, or an npz with `offsets`."""
    if path.suffix.lower() == TEXT:
        return True
    try:
        return path.suffix.lower() == ".npz" and ENDS in names_in(path)
    except (ValueError, OSError):
        return False


def sequence_problem(path: Path) -> Callable[..., Chain]:
    """The function that builds the `Chain` of a file."""

    def text(window: int = 1, loss: Loss = "hamming-normalised") -> Chain:
        if not 0 <= window <= MOST_WINDOW:
            raise BadInput(f"window is {window}; give how many neighbours on each side count, from 0 to {MOST_WINDOW}.")
        found = chain(path, *of_text(path, window), loss)
        found.reading, found.found_at = reading(path, found), conll.starts(path)
        return found

    def arrays(loss: Loss = "hamming-normalised") -> Chain:
        return chain(path, *of_arrays(path), loss)

    return text if path.suffix.lower() == TEXT else arrays


def chain(path: Path, sequences: Any, labels: Any, loss: Loss) -> Chain:
    if labels is None:
        raise BadInput(f"{path} holds no labels; add an array y, or a last column.")
    try:
        return Chain(sequences, labels, loss)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


def reading(path: Path, problem: Chain) -> str:
    """How CoNLL text was read, in one line, and a question if another column looks more like labels."""
    here = [int(found[1]) for found in map(conll.HERE.match, problem.names or []) if found]
    words, names = np.bincount(here), [str(each) for each in problem.classes[:SHOWN]]
    size = f"{counted(problem.n_samples, 'sequence')}, {counted(len(problem.labels), 'position')}"
    k = len(problem.classes)
    listed = ", ".join(each[:30] for each in names) + (f", … ({k} labels)" if k > SHOWN else "")
    said = f"{path}: {size}; labels from the last of {len(words) + 1} columns: {listed}."
    if k <= SHOWN or FEWER * words.min() > k:
        return said
    few = int(words.argmin())
    told = counted(int(words[few]), "different word")
    return f"{said} Column {few + 1} has {told}: if it holds the labels, write it last."


def of_text(path: Path, window: int, columns: int | None = None) -> tuple[Any, Any]:
    """Sequences of dicts and their labels, if there are any."""
    if not path.is_file():
        raise BadInput(f"There is no file {path}; check its path.")
    check_text(path)
    try:
        return conll.read(path, window, columns)
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not text in UTF-8; save it again as UTF-8.") from None


def of_arrays(path: Path) -> tuple[Any, Any]:
    """Sequences (T, p) and their labels, if there are any."""
    table = checked_names(path, archived.read(path, Asked()))
    X: Any = table.X
    ends, total = np.asarray(arrays_in(path, {ENDS})[ENDS]), X.shape[0]
    fits = ends.ndim == 1 and len(ends) > 1 and ends.dtype.kind in "iu"
    if not (fits and ends[0] == 0 and ends[-1] == total and (np.diff(ends.astype(np.int64)) > 0).all()):
        raise BadInput(f"{path}: offsets are not where each sequence starts, rising from 0 to {total}; write them so.")
    cuts = [slice(int(start), int(stop)) for start, stop in pairwise(ends)]
    return [X[cut] for cut in cuts], labels_in(path, table, cuts, total)


def labels_in(path: Path, table: Table, cuts: list[slice], total: int) -> list[Any] | None:
    if table.y is None:
        return None
    if table.y.shape != (total,):
        raise BadInput(f"{path}: {table.label} has shape {table.y.shape}; give one label a position.")
    y = tidied(table.y)
    return [y[cut] for cut in cuts]


def to_predict(path: Path, problem: Chain) -> tuple[Any, Any]:
    """Sequences for the weights of a problem, and their labels, if there are any."""
    if path.suffix.lower() != TEXT:
        return of_arrays(path)
    shape = conll.shape_of(problem.columns) if isinstance(problem.columns, list) else None
    if shape is None:
        raise BadInput(f"{path} is CoNLL text and the weights were not learned from such; give an npz or a problem.")
    return of_text(path, shape[1], shape[0])
