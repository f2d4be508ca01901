"""What becomes of columns of words and of cells without a value, where the user says so.

one_hot : a column `site` of the words forest and lake becomes the columns `site=forest` and `site=lake`,

        entry of `site=w` in sample i = 1 if the cell of sample i is w, else 0.

    A cell without a value gives 0 in each of them.
fill = mean : a cell of an input j that has no value becomes the mean of the cells of j that have one.

To predict, a file has the columns and the means that the weights were learned with; a word that was not learned gives 0
in each column.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.arrays import as_number
from workbench.data.tables.sheet import MISSING, Sheet, chosen_column
from workbench.data.tables.table import Asked
from workbench.errors import BadInput, counted


def spread(sheet: Sheet, asked: Asked, learned: list[str]) -> tuple[Sheet, list[str]]:
    """The sheet with columns of 0 and 1 in the places of the columns of words that the user names, and remarks.

    learned : the names of the inputs of the weights, none where weights are still to be learned

    Raises
    ------
    BadInput : no such column, one whose words all differ or of the labels, or a name that another column has
    """
    known = learned_words(asked.one_hot, learned)
    there = [word for word in known if known[word] and known[word].keys() <= set(sheet.names)]  # made by the user
    chosen = {chosen_column(sheet, word): word for word in asked.one_hot if word not in there}
    if not chosen:
        return sheet, []
    if asked.label is not None and chosen_column(sheet, asked.label) in chosen:
        raise BadInput(f"{sheet.path}: column {asked.label} holds the labels; leave it out of one_hot.")
    header: list[str] = []
    added: list[list[str]] = []
    remarks = []
    for j, name in enumerate(sheet.names):
        cells = [row[j] for _, row in sheet.rows]
        if j not in chosen:
            header, added = [*header, name], [*added, cells]
            continue
        if sheet.of_names(j) and not learned:
            raise BadInput(f"{sheet.path}: the words of {sheet.called(j)} all differ; use drop={chosen[j]} instead.")
        made = known[chosen[j]] if learned else {f"{name}={word}": word for word in words_of(sheet, j)}
        header += made
        added += [["1" if cell == word else "0" for cell in cells] for word in made.values()]
        remarks.append(f"{sheet.called(j)} as {counted(len(made), 'column')} of 0 and 1")
        if strange := sorted(set(sheet.filled(j)) - set(made.values())):
            remarks.append(f"{sheet.called(j)}: {', '.join(strange)[:60]} not learned, 0 in each of them")
    if twice := [name for name, count in Counter(header).items() if count > 1]:
        raise BadInput(f"{sheet.path}: one_hot gives a second column {twice[0]}; rename one.")
    rows = [(line, list(cells)) for (line, _), cells in zip(sheet.rows, zip(*added, strict=True), strict=True)]
    return Sheet(sheet.path, header, rows, sheet.commas), remarks


def learned_words(columns: tuple[str, ...], learned: list[str]) -> dict[str, dict[str, str]]:
    """For each of the user's words for columns: {input of the weights: the word of the file that it stands for}.

    Where `a=b=c` may belong to a column `a` or `a=b`, it belongs to the longer one.
    """
    found: dict[str, dict[str, str]] = {word: {} for word in columns}
    for name in learned:
        marks = [(mark, word) for word in columns for mark in (f"{word}=", f"column {word}=")]
        owners = [(len(mark), word) for mark, word in marks if name.lower().startswith(mark.lower())]
        if owners:
            length, word = max(owners)
            found[word][name] = name[length:]
    return found


def words_of(sheet: Sheet, column: int) -> list[str]:
    """The different words of a column, numbers by size and before words."""
    numbers = {word: as_number(word) for word in sheet.filled(column)}
    return sorted(numbers, key=lambda word: (numbers[word] is None, numbers[word] or 0.0, word))


def without_value(cell: str) -> bool:
    """Whether a cell is empty or holds one of the words that stand for a missing value."""
    return cell.lower() in ("", *MISSING)


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
    if means is None:
        if (empty := holes.all(axis=0)).any():
            name = sheet.word(inputs[int(empty.argmax())])
            raise BadInput(f"{sheet.path}: column {name} holds no value to take a mean of; leave it out, drop={name}.")
        means = np.nanmean(X, axis=0)
    cells = f"{counted(int(holes.sum()), 'cell')} without a value filled with the mean of the column"
    return np.where(holes, means, X), [cells]


def gaps_in(sheet: Sheet, inputs: list[int]) -> list[tuple[int, int]]:
    """(line, column) of the cells without a value."""
    return [(line, j) for line, cells in sheet.rows for j in inputs if without_value(cells[j])]
