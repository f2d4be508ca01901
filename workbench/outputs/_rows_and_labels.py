"""What is refused of X and y before they are read: swapped, of a shape that a `reshape` mends, labels that are none."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.arrays import as_number
from workbench.errors import BadInput

MANY, SHARE = 20, 5  # so many classes may be fractions, and with so many samples each they may be, too


def refuse_amounts(labels: NDArray, kinds: NDArray) -> None:
    """`BadInput` for labels (n,) that are amounts, as of a regression, with `kinds` the different ones.

    Amounts are numbers, or words that are numbers, some of them fractions, more than MANY and than n/SHARE different.
    """
    if len(kinds) <= MANY or SHARE * len(kinds) <= len(labels) or kinds.dtype.kind not in "fU":
        return
    values = list(map(as_number, kinds.tolist())) if kinds.dtype.kind == "U" else kinds.tolist()
    numbers = [value for value in values if value is not None and np.isfinite(value)]
    if len(numbers) == len(kinds) and any(value % 1 for value in numbers):
        told = f"the labels have {len(kinds):,} different values in {len(labels):,} samples"
        raise BadInput(f"Classification needs classes, and {told}; round or bin them.")


def refuse_shapes(name: str, X: Any, y: Any) -> None:
    """`BadInput` for X and y that are swapped, missing, or of a shape that a `reshape` mends; `name` of the class."""
    for called, what, given in (("X", "an (n, p) array", X), ("y", "a label for each row of X", y)):
        if given is None:
            raise BadInput(f"{called} is None; give {what}.")
    try:
        rows, labels = (tuple(getattr(each, "shape", ())) or np.shape(each) for each in (X, y))
    except ValueError:
        return  # ragged lists, of which more is said later
    if len(rows) == 1 and len(labels) == 2 and rows[0] == labels[0] and labels[1] > 1:
        raise BadInput(f"X has shape {rows} and y has shape {labels}, as if swapped; write {name}(X, y), rows first.")
    if len(labels) == 2 and labels[1] == 1:
        raise BadInput(f"y has shape {labels}; give one label per row, y.ravel().")
    if len(rows) == 1 and len(labels) == 1 and rows[0] == labels[0] > 1:
        raise BadInput(f"X has shape {rows}, one number for each label; if it is one column, give X.reshape(-1, 1).")


def refuse_mixtures(y: Any) -> None:
    """`BadInput` for labels of which some are texts and others numbers, which NumPy would turn into texts unasked."""
    found = y if isinstance(y, list | tuple) else np.asarray(y)
    if isinstance(found, np.ndarray) and found.dtype.kind != "O":
        return
    texts = [each for each in found if isinstance(each, str)]
    others = [(i, each) for i, each in enumerate(found) if isinstance(each, Number)]
    if not (texts and others):
        return
    at, other = others[0]
    if other != other:
        raise BadInput(f"The label of sample {at} is missing; remove the sample or repair its label.")
    raise BadInput(
        f"The labels mix texts and numbers, {texts[0]!r} and {other!r}; write all as texts, [str(k) for k in y]."
    )
