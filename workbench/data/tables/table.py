"""`Table`, the result of every reader of tables, `Asked`, the options of a reader, and the reading of cells."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from workbench.arithmetic.arrays import as_number
from workbench.errors import BadInput

LABEL_NAMES = ("label", "target", "class", "y")
LARGEST_INDEX = 10**8  # weights of one class then take 0.8 GB

Columns = int | list[str] | None


class Table(NamedTuple):
    """Samples X (n, p), dense or sparse, their labels y (n,) or None if the file has none, and its columns.

    To predict, labels of a CSV or of svmlight may be missing: then y (m,) are those of the samples `labelled` (m,).

    columns : svmlight's first index, 0 or 1; the names of a CSV's inputs; None without names
    label : the place of the labels in words, such as `column species`
    remark : what else the user should know of the reading
    lines : the number of the line of each sample, where the file has lines
    called : what a message calls each input, None for its number
    """

    X: ArrayLike | sparse.sparray
    y: NDArray | None
    columns: Columns = None
    label: str = ""
    remark: str = ""
    labelled: NDArray[np.intp] | None = None
    lines: list[int] | None = None
    called: list[str] | None = None

    def place(self, sample: int) -> str:
        """Where a sample stands, for a message."""
        return f"line {self.lines[sample]}" if self.lines else f"sample {sample + 1}"

    def name(self, column: int) -> str:
        """What a message calls an input; features of svmlight are counted from their first index on."""
        first = self.columns if isinstance(self.columns, int) else 1
        return self.called[column] if self.called else f"feature {column + first}"


class Asked(NamedTuple):
    """The options of a reader.

    n_inputs : the number of inputs of the weights, from which a file without labels is recognised
    columns : the columns of the file from which the weights were learned
    label : the user's word for the column or array of labels
    drop : the user's words for the columns that are neither labels nor inputs
    classes : the labels that the weights know, as words; a column of others is none of labels
    learned_label : the name of the column of labels from which the weights were learned, if it is known
    one_hot : the user's words for the columns of a CSV that become a column of 0 and 1 a word
    fill : `mean` to fill cells of a CSV without a value, None to refuse them
    means : (n_inputs,) with which to fill; None for the means of the file itself
    unlabelled : `drop` to leave out the rows of a CSV to learn from that have no label, None to refuse them
    """

    n_inputs: int | None = None
    columns: Columns = None
    label: str | None = None
    drop: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    learned_label: str | None = None
    one_hot: tuple[str, ...] = ()
    fill: Literal["mean"] | None = None
    means: NDArray[np.float64] | None = None
    unlabelled: Literal["drop"] | None = None


def tidied(labels: NDArray) -> NDArray:
    """The labels as integers if all are whole numbers, else unchanged."""
    values = [as_number(each) for each in labels.tolist()] if labels.dtype.kind == "U" else labels.tolist()
    if not all(each is not None and math.isfinite(each) and each == each // 1 and abs(each) < 2**53 for each in values):
        return labels
    return np.array(values).astype(np.int64)


def checked_names(path: Path, table: Table) -> Table:
    """The table, unless a label or a column's name has unprintable characters, which could steer a terminal."""
    names = table.columns if isinstance(table.columns, list) else []
    words = table.y.ravel().tolist() if table.y is not None and table.y.dtype.kind == "U" else []
    for number, text in enumerate(names, 1):
        if not text.isprintable():
            raise BadInput(
                f"{path}: the name of input {number}, {text[:60]!r}, has unprintable characters; remove them."
            )
    for at, text in enumerate(words):
        if not text.isprintable():
            sample = at if table.labelled is None else int(table.labelled[at])
            told = f"{path} {table.place(sample)}: the label {text[:60]!r} has unprintable characters"
            raise BadInput(f"{told}; remove them.")
    return table
