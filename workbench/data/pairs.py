"""A user's pairs from a file: CSV with a header, a pair a line, or Vowpal Wabbit's text with a namespace a side.

    left,right,label                     2 |left ann |right bird7
    ann,bird7,2                          1 0.5 |left bob |right bird7 colour:0.3

A CSV names each side by an identity. A column `importance`, if there is one, holds weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from workbench.arithmetic.arrays import as_number
from workbench.data.readers import NAMED, SHEETS
from workbench.data.tables.sheet import Sheet, sheet_of
from workbench.data.tables.table import Table, checked_names, tidied
from workbench.dyads import vowpal
from workbench.dyads.pairs import Dyads
from workbench.errors import BadInput

IMPORTANCE = "importance"


def read_pairs(
    path: str | Path, left: str = "left", right: str = "right", label: str = "label", classes: Sequence[str] = ()
) -> Dyads:
    """The pairs of a file; `left`, `right` and `label` are columns of a CSV, or the first two namespaces.

    classes : labels to admit besides those in the file

    Raises
    ------
    BadInput : no such file, another format, no such column or namespace, or what is wrong in it and where
    """
    return found(Path(path), left, right, label, classes)[0]


def to_predict(
    path: str | Path, classes: Sequence[str], left: str = "left", right: str = "right", label: str = "label"
) -> tuple[Dyads, bool]:
    """The pairs of a file for weights that know `classes`, and whether the file has labels.

    A file without labels has no such column, or nothing in it; each of its pairs is given the first class. Errors as of
    `read_pairs`.
    """
    pairs, labelled = found(Path(path), left, right, label, classes, first=classes[0])
    if strange := [each for each in map(str, pairs.classes.tolist()) if each not in classes]:
        raise BadInput(
            f"{path} has the label {strange[0]!r}, which the weights do not know; leave its pairs out, or all labels."
        )
    return pairs, labelled


def found(
    path: Path, left: str, right: str, label: str, classes: Sequence[str], first: str | None = None
) -> tuple[Dyads, bool]:
    """The pairs, and whether they have labels; `first` is the label of pairs without, None refuses these."""
    if not path.is_file():
        raise BadInput(f"There is no file {path}; check its path.")
    suffix = path.suffix.lower()
    if suffix not in (*SHEETS, NAMED):
        raise BadInput(f"{path} is in no known format of pairs; give a .csv or .tsv with a header, or a {NAMED} file.")
    try:
        if suffix == NAMED:
            examples, labelled = vowpal.read(path), True
            if first is not None and all(each.label is None for each in examples):
                examples, labelled = [replace(each, label=first) for each in examples], False
            return whole_labels(Dyads.of_examples(examples, left, right, classes=classes)), labelled
        sheet, labelled = (sheet_of(path), True) if first is None else filled(sheet_of(path), label, first)
        return of_sheet(sheet, left, right, label, classes), labelled
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not text in UTF-8; save it again as UTF-8.") from None
    except BadInput as error:
        raise (error if str(path) in str(error) else BadInput(f"{path}: {error}")) from None


def filled(sheet: Sheet, label: str, first: str) -> tuple[Sheet, bool]:
    """A table with `first` in its column of labels if it has none there, and whether it has some."""
    names = sheet.header or []
    if label not in names:
        rows = [(line, [*cells, first]) for line, cells in sheet.rows]
        return sheet._replace(header=[*names, label], rows=rows), False
    at = names.index(label)
    if any(cells[at] for _, cells in sheet.rows):
        return sheet, True
    return sheet._replace(rows=[(line, [*cells[:at], first, *cells[at + 1 :]]) for line, cells in sheet.rows]), False


def whole_labels(pairs: Dyads) -> Dyads:
    """The same pairs with labels that are all whole numbers as integers, in their order."""
    names = tidied(pairs.classes)
    order = np.argsort(names)
    pairs.classes, pairs.labels = names[order], np.argsort(order)[pairs.labels]
    return pairs


def of_sheet(sheet: Sheet, left: str, right: str, label: str, classes: Sequence[str]) -> Dyads:
    """The pairs of a table with names in its first line."""
    names = sheet.header or []
    missing = [name for name in (left, right, label) if name not in names]
    if missing:
        raise BadInput(
            f"{sheet.path} has no column {missing[0]!r}; its first line must name one, or choose another by --set "
            f"left=NAME, right=NAME, label=NAME."
        )
    columns = {name: np.array([cells[at] for _, cells in sheet.rows]) for at, name in enumerate(names)}
    for name in (left, right, label):
        if empty := [line for line, cells in sheet.rows if not cells[names.index(name)]]:
            raise BadInput(f"{sheet.path} line {empty[0]}: {name} is missing; add it or remove the line.")
        checked_names(sheet.path, Table(np.empty((0, 0)), columns[name]))
    weights = None
    if IMPORTANCE in names:
        weights = np.array([weight_of(sheet, line, cells[names.index(IMPORTANCE)]) for line, cells in sheet.rows])
    every = tidied(np.array([*columns[label], *classes]))  # of one type
    labels, known = every[: len(sheet.rows)], np.unique(every)
    return Dyads(columns[left], columns[right], labels, importance=weights, classes=known)


def weight_of(sheet: Sheet, line: int, cell: str) -> float:
    """The weight that a cell writes."""
    value = as_number(cell)
    if value is None or not 0 <= value < np.inf:
        raise BadInput(f"{sheet.path} line {line}: importance is {cell!r}; give a number of at least 0.")
    return value
