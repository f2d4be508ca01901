"""What every format of tables gives, what a reader may be asked, and how cells become numbers and labels."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

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

    columns : svmlight's first index, 0 or 1; the names of a CSV's inputs; None if they have none
    label : where the labels stand, in words such as `column species`
    """

    X: ArrayLike | sparse.sparray
    y: NDArray | None
    columns: Columns = None
    label: str = ""


class Asked(NamedTuple):
    """What a reader is asked for besides the samples.

    n_inputs : how many inputs the weights know, which tells whether labels are there
    columns : those of the file from which the weights were learned
    label : the user's word for where the labels stand
    """

    n_inputs: int | None = None
    columns: Columns = None
    label: str | None = None


def tidied(labels: NDArray) -> NDArray:
    """Labels as integers if all are whole numbers, else as they are."""
    given = [as_number(each) for each in labels.tolist()] if labels.dtype.kind == "U" else labels.tolist()
    if not all(each is not None and math.isfinite(each) and each == each // 1 and abs(each) < 2**53 for each in given):
        return labels
    return np.array(given).astype(np.int64)


def checked_names(path: Path, table: Table) -> Table:
    """The table, unless a label or a column's name has unprintable characters, which would play tricks when shown."""
    names = table.columns if isinstance(table.columns, list) else []
    words = table.y.ravel().tolist() if table.y is not None and table.y.dtype.kind == "U" else []
    for what, texts in (("name of input", names), ("label of sample", words)):
        for number, text in enumerate(texts, 1):
            if not text.isprintable():
                raise BadInput(f"{path}: the {what} {number}, {text[:60]!r}, has unprintable characters; remove them.")
    return table
