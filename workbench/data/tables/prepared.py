"""What becomes of columns of words and of cells without a value, where the user says so.

one_hot : a column `site` of the words forest and lake becomes the columns `site=forest` and `site=lake`,

        entry of `site=w` in sample i = 1 if the cell of sample i is w, else 0.

    A cell without a value gives 0 in each of them. Numbers are one word however they are written: 1, 1.0 and 01.
fill = mean : a cell of an input j that has no value becomes the mean of the cells of j that have one.

To predict, a file has the columns and the means that the weights were learned with; a word that was not learned gives 0
in each column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.arrays import as_number
from workbench.data.tables.sheet import Sheet, chosen_column, without_value
from workbench.data.tables.table import LABEL_NAMES, Asked
from workbench.errors import BadInput, counted


class Spread(NamedTuple):
    """A sheet with columns of 0 and 1, the names of those `made` here, and what else the user should know."""

    sheet: Sheet
    made: list[str]
    remarks: list[str]


def spread(sheet: Sheet, asked: Asked, learned: list[str]) -> Spread:
    """The sheet with columns of 0 and 1 in the places of the columns of words that the user names.

    learned : the names of the inputs of the weights, none where weights are still to be learned

    Raises
    ------
    BadInput : no such column, one whose words all differ or of the labels, or one that another column's name begins
        like
    """
    known = learned_words(asked.one_hot, learned)
    there = [word for word in known if known[word] and known[word].keys() <= set(sheet.names)]  # made by the user
    chosen = {chosen_column(sheet, word): word for word in asked.one_hot if word not in there}
    if not learned:
        check_chosen(sheet, chosen, asked)
    header: list[str] = []
    added: list[list[str]] = []
    made: list[str] = []
    remarks: list[str] = []
    for j, name in enumerate(sheet.names):
        cells = [row[j] for _, row in sheet.rows]
        if j not in chosen:
            header, added = [*header, name], [*added, cells]
            continue
        words = [None if without_value(cell) else one_word(cell) for cell in cells]
        columns = known[chosen[j]] if learned else {f"{name}={word}": word for word in in_order(words)}
        header, made = [*header, *columns], [*made, *columns]
        added += [["1" if word == own else "0" for word in words] for own in columns.values()]
        remarks.append(f"{sheet.called(j)} as {counted(len(columns), 'column')} of 0 and 1")
        if None in words:
            remarks[-1] += f", 0 in each for {counted(words.count(None), 'cell')} without a word"
        if strange := sorted({word for word in words if word is not None} - set(columns.values())):
            remarks.append(f"{sheet.called(j)}: {', '.join(strange)[:60]} not learned, 0 in each of them")
    if not chosen:
        return Spread(sheet, [], [])
    rows = [(line, list(cells)) for (line, _), cells in zip(sheet.rows, zip(*added, strict=True), strict=True)]
    return Spread(Sheet(sheet.path, header, rows, sheet.commas), made, remarks)


def check_chosen(sheet: Sheet, chosen: dict[int, str], asked: Asked) -> None:
    """Raise `BadInput` if a chosen column holds the labels or only names the samples, or if names could be confused."""
    labels = None if asked.label is None else chosen_column(sheet, asked.label)
    for j, word in chosen.items():
        name = sheet.names[j]
        if j == labels or (labels is None and name.lower() in LABEL_NAMES):
            other = "" if j == labels else ", or name other labels by --set label=NAME"
            raise BadInput(f"{sheet.path}: {sheet.called(j)} holds the labels; leave it out of one_hot{other}.")
        if sheet.of_names(j) and sheet.of_words(j):
            raise BadInput(f"{sheet.path}: the words of {sheet.called(j)} all differ; use drop={word} instead.")
        if alike := [each for each in sheet.names if each.lower().startswith(f"{name.lower()}=")]:
            raise BadInput(f"{sheet.path}: one_hot makes columns {name}=… and there is {alike[0]}; rename one.")


def learned_words(columns: tuple[str, ...], learned: list[str]) -> dict[str, dict[str, str]]:
    """For each of the user's words for columns: {input of the weights: the word of the file that it stands for}."""
    found: dict[str, dict[str, str]] = {word: {} for word in columns}
    for name in learned:
        marks = [(mark, word) for word in columns for mark in (f"{word}=", f"column {word}=")]
        exact = [(mark, word) for mark, word in marks if name.startswith(mark)]
        for mark, word in exact or [each for each in marks if name.lower().startswith(each[0].lower())]:
            found[word][name] = name[len(mark) :]
    return found


def one_word(cell: str) -> str:
    """The cell, a number in one way of writing."""
    value = as_number(cell)
    if value is None or not np.isfinite(value):
        return cell
    return str(int(value)) if value == value // 1 else repr(value)


def in_order(words: list[str | None]) -> list[str]:
    """The different words, numbers by size and before others."""
    numbers = {word: as_number(word) for word in words if word is not None}
    return sorted(numbers, key=lambda word: (numbers[word] is None, numbers[word] or 0.0, word))


def filled(
    X: NDArray[np.float64], means: NDArray[np.float64] | None, sheet: Sheet, inputs: list[int]
) -> tuple[NDArray[np.float64], list[str]]:
    """X (n, p) with each NaN as the mean of its column's numbers, or as `means` (p,) where given, and a remark.

    Raises
    ------
    BadInput : a column that has no number at all
    """
    holes = np.isnan(X)
    if not holes.any():
        return X, []
    if means is None and (empty := holes.all(axis=0)).any():
        name = sheet.word(inputs[int(empty.argmax())])
        raise BadInput(f"{sheet.path}: column {name} holds no value to take a mean of; leave it out, drop={name}.")
    taken = np.nanmean(X, axis=0) if means is None else means
    cells = f"{counted(int(holes.sum()), 'cell')} without a value filled with the mean of the column"
    cells += "" if means is None else " in the data learned from"
    return np.where(holes, taken, X), [cells]


def gaps_in(sheet: Sheet, inputs: list[int]) -> list[tuple[int, int]]:
    """(line, column) of the cells without a value."""
    return [(line, j) for line, cells in sheet.rows for j in inputs if without_value(cells[j])]
