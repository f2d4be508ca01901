"""The cells of a CSV file: lines, separators, the header, and columns by the user's words.

The first line is a header if none of its cells is a number or one of them is called label, target, class or y. Cells
are separated by commas, semicolons or tabs; numbers have decimal points throughout or, as in many countries, decimal
commas throughout.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from workbench.arithmetic.arrays import as_number
from workbench.data.tables.table import LABEL_NAMES
from workbench.errors import BadInput, UnknownName

MISSING = ("nan", "na", "n/a", "null", "none", "?", "-")  # what files write for a cell without a value
COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)  # 36,42
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+", re.ASCII)  # 1,234 may be 1234
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
        return [cells[column] for _, cells in self.rows if not without_value(cells[column])]


def without_value(cell: str) -> bool:
    """Whether a cell is empty or holds one of the words that stand for a missing value."""
    return cell.lower() in ("", *MISSING)


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
        line = ", or write a header above the samples" if all(map(header.__contains__, rows[0][1])) else ""
        raise BadInput(f"{path}: two columns are called {twice}; rename one{line}.")
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


def words_in(setting: object) -> tuple[str, ...]:
    """The words of a setting such as `site,name`, or `site,"plot, north"` where a name has a comma."""
    words = next(csv.reader([setting], skipinitialspace=True), []) if isinstance(setting, str) else []
    return tuple(filter(None, map(str.strip, words)))


def joined(words: Iterable[str]) -> str:
    """Words as a setting that `words_in` reads."""
    return ",".join(f'"{word}"' if "," in word else word for word in words)


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
