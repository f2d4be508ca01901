"""CSV: a sample a line, cells separated by commas, semicolons or tabs.

The first line is a header if none of its cells is a number or one of them is called label, target, class or y.
Labels are the column that the user names (by its name, or by its number from 1 on); else the column called label,
target, class or y; else the one column of words; else the last column, which must then hold whole numbers. Columns
that the user drops are not read. All other columns are numbers, with decimal points throughout or, as in many
countries, with commas throughout.
"""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.arrays import as_number
from workbench.data.tables.table import LABEL_NAMES, Asked, Table, tidied
from workbench.errors import BadInput, UnknownName

MISSING = ("nan", "na", "n/a", "null", "none", "?", "-")  # what files write for a cell without a value
COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)  # 36,42
NUMBERING = re.compile(r"(.*[ _.-])?(id|no|nr|num|number|index|key|uuid)|unnamed: 0|(?-i:.*[a-z]I[Dd])", re.IGNORECASE)
FEW = 5  # samples, below which different numbers say nothing
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+", re.ASCII)  # 1,234 may be 1234
GROUPED = re.compile(r"[+-]?\d{1,3}([ ,'’]\d{3})+(\.\d+)?", re.ASCII)  # 1,234.5 and 1 234
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}


class Sheet(NamedTuple):
    """The cells of a file: the names in its header, if there is one, and (line number, cells) of each sample."""

    path: Path
    header: list[str] | None
    rows: list[tuple[int, list[str]]]
    commas: bool = False  # whether decimal commas were read

    @property
    def width(self) -> int:
        return len(self.rows[0][1])

    @property
    def names(self) -> list[str]:
        """The header, or `column 1`, `column 2`, … without one."""
        return self.header or [f"column {j + 1}" for j in range(self.width)]

    def called(self, column: int) -> str:
        """`column species`, or `column 3` without a header."""
        return f"column {self.word(column)}"

    def word(self, column: int) -> str:
        """The column's name in the settings `label` and `drop`."""
        return self.names[column].removeprefix("column ")

    def of_words(self, column: int) -> bool:
        """Whether no cell of the column is a number, and some cell is not empty."""
        cells = self.filled(column)
        return bool(cells) and all(as_number(cell) is None for cell in cells)

    def of_names(self, column: int) -> bool:
        """Whether the words of a column all differ, as those that number the samples do."""
        cells = self.filled(column)
        return len(cells) > 2 and len(set(cells)) == len(cells)

    def filled(self, column: int) -> list[str]:
        """The cells of a column that have a value."""
        return [cells[column] for _, cells in self.rows if cells[column].lower() not in ("", *MISSING)]


def read(path: Path, asked: Asked) -> Table:
    """The inputs as floats; labels as whole numbers or texts."""
    sheet, known = without(sheet_of(path), asked.drop), asked.n_inputs
    learned = asked.columns if isinstance(asked.columns, list) else []
    if learned and (sheet.header or set(learned) <= set(sheet.names)):
        labels, inputs = matched(sheet, learned, asked)
    elif known is not None and sheet.width not in (known, known + 1):
        raise BadInput(f"{path} has {sheet.width} columns but the weights were learned on {known}; match them.")
    else:
        labels = label_column(sheet, asked)
        inputs = [j for j in range(sheet.width) if j != labels]
    X = np.empty((len(sheet.rows), len(inputs)))
    for i, (line, cells) in enumerate(sheet.rows):
        for k, j in enumerate(inputs):
            X[i, k] = finite_cell(sheet, line, j, cells[j], labels, asked.label)
    own = [sheet.names[j] for j in inputs] if sheet.header or asked.label or asked.drop else None
    if labels is None:
        return Table(X, None, own, remark=unlabelled(sheet, inputs, asked))
    for line, cells in sheet.rows:
        if cells[labels].lower() in ("", "nan"):
            raise BadInput(f"{path} line {line}: the label is missing; add it or remove the line.")
    y = tidied(np.array([cells[labels] for _, cells in sheet.rows]))
    place = sheet.called(labels) + (", the last" if labels == sheet.width - 1 else "")
    remarks = ["decimal commas read as points"] if sheet.commas else []
    numbered = [] if learned else [j for k, j in enumerate(inputs) if counts(sheet.header, j, X[:, k])]
    remarks += [numbering(sheet, j) for j in numbered]
    return Table(X, y, own, place, "; ".join(remarks))


def unlabelled(sheet: Sheet, inputs: list[int], asked: Asked) -> str:
    """Why no column is taken for the labels, if there is any beside the inputs."""
    if not (others := [j for j in range(sheet.width) if j not in inputs]):
        return ""
    if likely := likely_labels(sheet, others, asked):
        return f"{' and '.join(map(sheet.called, likely))} may hold the labels; name them by --set label=NAME"
    holds = f"{' and '.join(map(sheet.called, others))} {'hold' if len(others) > 1 else 'holds'}"
    return f"{holds} no labels that the weights know; name the labels by --set label=NAME"


# ── lines and cells ───────────────────────────────────────────────────────────────────────────────


def sheet_of(path: Path) -> Sheet:
    """The header, if there is one, and every other line that is not blank, all of one width."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows, commas = with_points(split(path, file.readlines()))
    header = rows.pop(0)[1] if rows and is_header(rows[0][1]) else None
    if not rows:
        raise BadInput(f"{path} holds no samples; write one line each.")
    width = len(header or rows[0][1])
    for line, cells in rows:
        if len(cells) != width:
            raise BadInput(f"{path} line {line} has {len(cells)} cells where {width} are expected; repair the line.")
    if width == 1:
        raise BadInput(f"{path} has one column; separate labels and inputs by {', '.join(SEPARATORS.values())}.")
    header = header and [name or f"column {j}" for j, name in enumerate(header, 1)]
    if header and len(set(header)) < len(header):
        twice = next(name for j, name in enumerate(header) if name in header[:j])
        raise BadInput(f"{path}: two columns are called {twice}; rename one.")
    return Sheet(path, header, rows, commas)


def split(path: Path, lines: list[str]) -> list[tuple[int, list[str]]]:
    """(line number, cells) of every line that is not blank, by the separator in the first line.

    If two separators both give lines of equal width, as in `1,5;2,5`, the file is refused, since a wrong guess would
    change the numbers.
    """
    first = next((line for line in lines if line.strip()), "")
    found: dict[str, list[tuple[int, list[str]]]] = {}
    for mark in sorted(SEPARATORS, key=first.count, reverse=True):
        if mark in first or not found:
            reader = csv.reader(lines, delimiter=mark, skipinitialspace=True, strict=True)
            try:
                rows = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader if any(cells)]
            except csv.Error as error:
                raise BadInput(f"{path} line {reader.line_num}: {error}; repair the line.") from None
            if not found or (len(rows[0][1]) > 1 and len({len(cells) for _, cells in rows}) == 1):
                found[mark] = rows
    likely, *others = found
    if others and len({len(cells) for _, cells in found[likely]}) > 1:
        return found[others[0]]
    if others:
        both = f"{SEPARATORS[likely]} and {SEPARATORS[others[0]]}"
        raise BadInput(f"{path} could be split at {both} alike; use one, and points in decimal numbers.")
    return found[likely]


def with_points(rows: list[tuple[int, list[str]]]) -> tuple[list[tuple[int, list[str]]], bool]:
    """The cells with 36,42 as 36.42, and whether any was so; unchanged where a comma may be no decimal comma.

    It may part thousands if some number of the file has a point, or if exactly three digits follow each comma.
    """
    cells = [cell for _, row in rows for cell in row]
    found = [cell for cell in cells if COMMA.fullmatch(cell)]
    points = any("." in cell and as_number(cell) is not None for cell in cells)
    if points or all(THOUSANDS.fullmatch(cell) for cell in found):
        return rows, False
    return [
        (line, [cell.replace(",", ".") if COMMA.fullmatch(cell) else cell for cell in row]) for line, row in rows
    ], True


def is_header(cells: list[str]) -> bool:
    """Whether no cell is a number, or one is the name of a label."""
    return all(as_number(cell) is None for cell in cells) or any(cell.lower() in LABEL_NAMES for cell in cells)


def finite_cell(sheet: Sheet, line: int, column: int, cell: str, labels: int | None, named: str | None) -> float:
    """The number in a cell of an input; `labels`: the column of labels, which the user may have named."""
    value = as_number(cell)
    if value is not None and math.isfinite(value):
        return value
    where, name = f"{sheet.path} line {line}: {sheet.called(column)}", sheet.word(column)
    if not cell or cell.lower() in MISSING:
        shown = f"{cell!r}, a missing value" if cell else "empty"
        filled = "pandas: table.fillna(table.mean(numeric_only=True))"
        remedy = f"fill it, e.g. with the column's mean ({filled}), or remove the line or the column"
        raise BadInput(f"{where} is {shown}, and no method here guesses one; {remedy}.")
    if COMMA.fullmatch(cell) or THOUSANDS.fullmatch(cell):
        raise BadInput(
            f"{where} is {cell[:60]!r}, which may be a fraction or thousands; write numbers with points only."
        )
    if GROUPED.fullmatch(cell):
        plain = re.sub("[ ,'’]", "", cell)
        raise BadInput(f"{where} is {cell[:60]!r}, with thousands set apart; write {plain[:60]}.")
    if sheet.of_words(column):
        chosen = "" if named is not None else f", or say --set label={name} if these are the labels"
        others = [j for j in range(sheet.width) if sheet.of_words(j) and j != labels]
        raise BadInput(f"{where} is {cell[:60]!r}, and inputs are numbers; {one_hot(sheet, others)}{chosen}.")
    raise BadInput(f"{where} is {cell[:60]!r}; give a finite number.")


def one_hot(sheet: Sheet, columns: list[int]) -> str:
    """How columns of words become numbers; those that only name the samples are better dropped."""
    names = [j for j in columns if sheet.of_names(j)]
    kinds = [(sheet.header[j] if sheet.header else j) for j in columns if j not in names]
    how = f" (--set drop={','.join(map(sheet.word, names))})"
    drop = f"drop {', '.join(map(sheet.called, names))}, whose words all differ{how}" if names else ""
    write = (
        f"write one 0/1 column for each word (pandas.get_dummies(table, columns={kinds}, dtype=int))" if kinds else ""
    )
    return ", and ".join(filter(None, (drop, write)))


def without(sheet: Sheet, words: tuple[str, ...]) -> Sheet:
    """The sheet without the columns that these words mean; the others keep their names."""
    if not words:
        return sheet
    gone = {chosen_column(sheet, word) for word in words}
    kept = [j for j in range(sheet.width) if j not in gone]
    if len(kept) < 2:
        raise BadInput(f"{sheet.path}: drop leaves {len(kept)} of {sheet.width} columns; leave labels and an input.")
    header = [sheet.names[j] for j in kept]
    return Sheet(sheet.path, header, [(line, [cells[j] for j in kept]) for line, cells in sheet.rows], sheet.commas)


def counts(header: list[str] | None, column: int, numbers: NDArray[np.float64]) -> bool:
    """Whether a column seems to number the samples: one after the other, or different ones below a name such as id."""
    if len(numbers) < FEW:
        return False
    named = header is not None and NUMBERING.fullmatch(header[column]) is not None
    return bool((np.diff(numbers) == 1).all()) or (named and len(np.unique(numbers)) == len(numbers))


def numbering(sheet: Sheet, column: int) -> str:
    told = f"{sheet.called(column)} seems to number the samples and is read as an input"
    return f"{told} (leave it out by --set drop={sheet.word(column)})"


# ── which column is which ─────────────────────────────────────────────────────────────────────────


def label_column(sheet: Sheet, asked: Asked) -> int | None:
    """The column of the labels; None if the file has as many columns as inputs."""
    if asked.label is not None:
        return chosen_column(sheet, asked.label)
    named = [j for name in LABEL_NAMES for j, column in enumerate(sheet.header or []) if column.lower() == name]
    if named:
        return named[0]
    if sheet.width == asked.n_inputs:
        return None
    words = [j for j in range(sheet.width) if sheet.of_words(j)]
    if len(words) > 1:
        words.sort(key=sheet.of_names)  # labels come again
        both = " and ".join(sheet.called(j) for j in words[:2])
        raise BadInput(
            f"{sheet.path}: {both} both hold words, so either may be the labels; choose one, or another column, with "
            f"--set label={sheet.word(words[0])}, and for the rest {one_hot(sheet, words[1:])}, or drop them."
        )
    if words:
        return words[0]
    for line, cells in sheet.rows:
        value = as_number(cells[-1])
        if value is None or value != value // 1:
            where, number = f"{sheet.path} line {line}", "choose the column by its number, e.g. --set label=1"
            remedy = "choose by --set label=NAME" if sheet.header else number
            raise BadInput(f"{where}: the last column holds {cells[-1][:60]}, no class; {remedy}.")
    return sheet.width - 1


def chosen_column(sheet: Sheet, label: str) -> int:
    """The column that the user's word means: a name in the header, else a number from 1 on."""
    if label in sheet.names:
        return sheet.names.index(label)
    if sheet.header and label.lower() in (lowered := [name.lower() for name in sheet.header]):
        return lowered.index(label.lower())
    if f"column {label}" in sheet.names:
        return sheet.names.index(f"column {label}")
    if not sheet.header and label.isascii() and label.isdecimal() and 1 <= int(label[:9]) <= sheet.width:
        return int(label) - 1
    raise UnknownName(f"column of {sheet.path}", label, sheet.header or map(str, range(1, sheet.width + 1)))


def likely_labels(sheet: Sheet, columns: list[int], asked: Asked) -> list[int]:
    """Those of the columns of which more than half of the cells are labels that the weights know."""
    return [j for j in columns if 2 * sum(cell in asked.classes for cell in sheet.filled(j)) > len(sheet.rows)]


def matched(sheet: Sheet, learned: list[str], asked: Asked) -> tuple[int | None, list[int]]:
    """The column of labels, if there is one, and those of the inputs, in the order in which the weights know them.

    Of the columns that are no inputs the labels are the one that the user names; else the one with the name that the
    labels had when the weights were learned; else the one called label, target, class or y; else the only one of which
    more than half of the cells are labels that the weights know.
    """
    if missing := [name for name in learned if name not in sheet.names]:
        called = missing[0] if missing[0].startswith("column ") else f"column {missing[0]}"
        raise BadInput(f"{sheet.path} has no {called}, which the weights were learned on; name columns as there.")
    inputs = [sheet.names.index(name) for name in learned]
    if asked.label is not None:
        chosen = chosen_column(sheet, asked.label)
        if chosen in inputs:
            raise BadInput(f"{sheet.path}: {sheet.called(chosen)} is an input of the weights; name the labels' column.")
        return chosen, inputs
    others = [j for j in range(sheet.width) if j not in inputs]
    named = [j for j in others if sheet.names[j] == asked.learned_label]
    named += [j for word in LABEL_NAMES for j in others if sheet.names[j].lower() == word]
    likely = likely_labels(sheet, others, asked)
    return next(iter(named or (likely if len(likely) == 1 else [])), None), inputs
