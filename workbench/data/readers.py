"""A user's data files as problems: svmlight, CSV, npz, Vowpal Wabbit's text. Every error names the file and the line.

    .svm .svmlight .libsvm .txt   `label index:value …` a line; indices count from 1, or from 0 if 0 occurs
    .csv                          a sample a line, separated by commas, semicolons or tabs
    .npz                          arrays X (n, p) and y (n,), written by np.savez; pickled objects are refused
    .vw                           `label importance |namespace name:value …` a line (dyads/vowpal.py)

CSV. The first line is a header if none of its cells is a number or one of them is called label,
target, class or y. Labels are the column of that name; else the one column of words; else the last
column, which must then hold whole numbers. All other columns are numbers.

Labels that are all whole numbers become integers. For `predict` labels may be missing: a file with
as many columns as the weights were learned on has none. svmlight always has a first column; labels
unknown to the weights (0 for all, say) stand for missing ones.

How a file names its columns travels with what was learned from it: whether svmlight's indices count from 0 or 1,
and the names in a CSV's header. The file to predict is read by the same index, and its columns, if they have names,
are matched by name.

Vowpal Wabbit's text names its features: each (namespace, name) is a column, in order of first appearance, and a
constant 1 is the last one, as VW adds it. Labels that are all −1 or 1, or numbers not all whole, are targets of linear
scores (`Linear`); other labels are classes (`Multiclass`). Importances are sample weights. Weights learned from such
a file do not keep the names, so `predict` does not read it.
"""

from __future__ import annotations

import csv
import math
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from workbench.dyads import vowpal
from workbench.errors import BadInput
from workbench.outputs.linear import Linear
from workbench.outputs.multiclass import Multiclass

SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".txt")
TABLES = (*SVMLIGHT, ".csv", ".npz")
NAMED = ".vw"
LABEL_NAMES = ("label", "target", "class", "y")
LARGEST_INDEX = 10**8  # weights of one class then take 0.8 GB

Columns = int | list[str] | None


class Table(NamedTuple):
    """Samples X (n, p), dense or sparse, their labels y (n,) or None if the file has none, and its columns.

    columns : svmlight's first index, 0 or 1; the names of a CSV's inputs; None if they have none
    """

    X: Any
    y: np.ndarray | None
    columns: Columns = None


def data_problem(path: str | Path) -> Callable[[], Multiclass | Linear]:
    """A problem without settings: the file's samples and labels."""

    def problem() -> Multiclass | Linear:
        if Path(path).suffix.lower() == NAMED:
            return named_problem(Path(path))
        table = read(path)
        if table.y is None:
            raise BadInput(f"{path} holds no labels; add a column of them.")
        try:
            found = Multiclass(table.X, table.y)
        except BadInput as error:
            raise BadInput(f"{path}: {error}") from None
        found.columns = table.columns
        return found

    problem.__doc__ = f"The samples and labels of {path}."
    return problem


def read(path: str | Path, n_inputs: int | None = None, columns: Columns = None) -> Table:
    """The samples and labels of a data file.

    n_inputs : how many inputs the weights know, which tells whether labels are there
    columns : those of the file from which the weights were learned
    """
    path = Path(path)
    names = isinstance(columns, list) and len(columns) == n_inputs and all(isinstance(each, str) for each in columns)
    if not (names or columns in (None, 0, 1)):
        raise BadInput(f"The weights for {path} were not learned on {n_inputs} named columns; write them again.")
    if not path.is_file():
        raise BadInput(f"There is no file {path}; check its path.")
    suffix = path.suffix.lower()
    try:
        if suffix in SVMLIGHT:
            return read_svmlight(path, n_inputs, columns)
        if suffix == ".csv":
            return read_csv(path, n_inputs, columns)
        if suffix == ".npz":
            return read_npz(path)
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not text in UTF-8; save it again as UTF-8.") from None
    if suffix == NAMED:
        raise BadInput(f"{path} names its features, and weights do not keep names; write one of {', '.join(TABLES)}.")
    raise BadInput(f"{path} is no data file known here; use one of {', '.join((*TABLES, NAMED))}.")


# ── svmlight ──────────────────────────────────────────────────────────────────────────────────────


def read_svmlight(path: Path, n_inputs: int | None = None, learned: Columns = None) -> Table:
    first = learned if isinstance(learned, int) else None
    labels: list[float] = []
    values: list[float] = []
    columns: list[int] = []
    starts = [0]
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            label, *entries = line.split("#")[0].split() or [""]
            if not label:
                continue
            value = as_number(label)
            if value is None:
                raise BadInput(f"{path} line {number}: the label {label!r} is not a number; write one.")
            labels.append(value)
            for entry in entries:
                if not entry.startswith("qid:"):
                    column, value = svmlight_entry(path, number, entry)
                    if column < (first or 0):
                        raise BadInput(f"{path} line {number}: index 0, but the weights count from 1; renumber all.")
                    if len(columns) > starts[-1] and column <= columns[-1]:
                        raise BadInput(f"{path} line {number}: index {column} follows {columns[-1]}; sort the line.")
                    columns.append(column)
                    values.append(value)
            starts.append(len(columns))
    if not columns:
        raise BadInput(f"{path} holds no samples with features; write one `label index:value …` line each.")
    if first is None:
        first = min(1, min(columns))
    width = max(columns) - first + 1
    if n_inputs is not None and width > n_inputs:
        raise BadInput(f"{path} has features up to {max(columns)} but the weights know {n_inputs}; remove the others.")
    shape = (len(labels), n_inputs or width)
    X = sparse.csr_array((values, np.array(columns) - first, starts), shape=shape)
    return Table(X, tidied(np.array(labels)), first)


def svmlight_entry(path: Path, line: int, entry: str) -> tuple[int, float]:
    """The two numbers of `index:value`."""
    index, _, text = entry.partition(":")
    value = as_number(text)
    if not (index.isascii() and index.isdecimal()) or value is None:
        raise BadInput(f"{path} line {line}: {entry!r} is not index:value; write for example 3:0.25.")
    if len(index) > len(str(LARGEST_INDEX)) or int(index) > LARGEST_INDEX:
        raise BadInput(f"{path} line {line}: index {index} exceeds {LARGEST_INDEX}; number the features from 1 on.")
    if not math.isfinite(value):
        raise BadInput(f"{path} line {line}: feature {index} is {text}; replace or remove it.")
    return int(index), value


# ── CSV ───────────────────────────────────────────────────────────────────────────────────────────


def read_csv(path: Path, n_inputs: int | None = None, learned: Columns = None) -> Table:
    header, rows = csv_rows(path)
    if n_inputs is not None and len(rows[0][1]) not in (n_inputs, n_inputs + 1):
        raise BadInput(f"{path} has {len(rows[0][1])} columns but the weights were learned on {n_inputs}; match them.")
    names = header or [f"{j + 1}" for j in range(len(rows[0][1]))]
    if header and isinstance(learned, list):
        labels, columns = matched(path, header, learned)
    else:
        labels = label_column(path, header, rows, n_inputs)
        columns = [j for j in range(len(names)) if j != labels]
    X = np.empty((len(rows), len(columns)))
    for i, (line, cells) in enumerate(rows):
        for k, j in enumerate(columns):
            X[i, k] = finite_cell(path, line, names[j], cells[j])
    own = [names[j] for j in columns] if header else None
    if labels is None:
        return Table(X, None, own)
    for line, cells in rows:
        if cells[labels].lower() in ("", "nan"):
            raise BadInput(f"{path} line {line}: the label is missing; add it or remove the line.")
    return Table(X, tidied(np.array([cells[labels] for _, cells in rows])), own)


def csv_rows(path: Path) -> tuple[list[str] | None, list[tuple[int, list[str]]]]:
    """The header, if there is one, and (line number, cells) of each other line that is not blank."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = file.readline()
        file.seek(0)
        reader = csv.reader(file, delimiter=max(",;\t", key=first.count), skipinitialspace=True, strict=True)
        try:
            rows = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader if any(cells)]
        except csv.Error as error:
            raise BadInput(f"{path} line {reader.line_num}: {error}; repair the line.") from None
    header = rows.pop(0)[1] if rows and is_header(rows[0][1]) else None
    if not rows:
        raise BadInput(f"{path} holds no samples; write one line each.")
    width = len(header or rows[0][1])
    for line, cells in rows:
        if len(cells) != width:
            raise BadInput(f"{path} line {line} has {len(cells)} cells where {width} are expected; repair the line.")
    if header and "" in header:
        raise BadInput(f"{path}: column {header.index('') + 1} has no name; name it or, if it counts lines, drop it.")
    if header and len(set(header)) < len(header):
        twice = next(name for j, name in enumerate(header) if name in header[:j])
        raise BadInput(f"{path}: two columns are called {twice}; rename one.")
    return header, rows


def is_header(cells: list[str]) -> bool:
    return all(as_number(cell) is None for cell in cells) or any(cell.lower() in LABEL_NAMES for cell in cells)


def label_column(
    path: Path, header: list[str] | None, rows: list[tuple[int, list[str]]], n_inputs: int | None
) -> int | None:
    """Which column holds the labels; None if the file has as many columns as there are inputs."""
    width = len(rows[0][1])
    named = [j for name in LABEL_NAMES for j, column in enumerate(header or []) if column.lower() == name]
    if named:
        return named[0]
    if width == n_inputs:
        return None
    words = [j for j, cell in enumerate(rows[0][1]) if cell and as_number(cell) is None]
    if words:
        return words[0]
    for line, cells in rows:
        value = as_number(cells[-1])
        if value is not None and value != value // 1:
            raise BadInput(f"{path} line {line}: the last column holds {cells[-1]}, no class; name a column `label`.")
    return width - 1


def matched(path: Path, header: list[str], learned: list[str]) -> tuple[int | None, list[int]]:
    """The column of labels, if there is one, and those of the inputs, in the order in which the weights know them."""
    if missing := [name for name in learned if name not in header]:
        raise BadInput(f"{path} has no column {missing[0]}, which the weights were learned on; name columns as there.")
    others = [j for j, name in enumerate(header) if name not in learned]
    return others[0] if others else None, [header.index(name) for name in learned]


def finite_cell(path: Path, line: int, column: str, cell: str) -> float:
    value = as_number(cell)
    if value is None or not math.isfinite(value):
        shown = repr(cell) if cell else "empty"
        raise BadInput(f"{path} line {line}: column {column} is {shown}; give a finite number.")
    return value


# ── npz ───────────────────────────────────────────────────────────────────────────────────────────


def read_npz(path: Path) -> Table:
    """Arrays X and, unless missing, y. Never unpickles: an object array is refused."""
    try:
        with path.open("rb") as raw, np.lib.npyio.NpzFile(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in ("X", "y") if name in file}
            names = ", ".join(file.files) or "none"
    except (ValueError, TypeError, OSError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
        fault = str(error).splitlines()[0] if str(error) else "truncated"
        raise BadInput(f"{path} is not an npz file of plain arrays ({fault}); write it with np.savez.") from None
    if "X" not in arrays:
        raise BadInput(f"{path} holds the arrays {names}, but X is missing; write it with np.savez.")
    return Table(arrays["X"], arrays.get("y"))


# ── Vowpal Wabbit ─────────────────────────────────────────────────────────────────────────────────


def named_problem(path: Path) -> Multiclass | Linear:
    """Linear scores if the labels are −1 and 1 or real numbers, classes otherwise."""
    if not path.is_file():
        raise BadInput(f"There is no file {path}; check its path.")
    examples = vowpal.read(path)
    for at, example in enumerate(examples, 1):
        vowpal.taught(example, f"Example {at} of {path}")
    rows = [
        {(space, name): value for space, features in each.namespaces.items() for name, value in features.items()}
        for each in examples
    ]
    X = sparse.hstack([vowpal.columns(rows), sparse.csr_array(np.ones((len(rows), 1)))]).tocsr()
    labels, importance = [each.label or "" for each in examples], [each.importance for each in examples]
    values = [as_number(label) for label in labels]
    try:
        if None not in values and (set(values) <= {-1, 1} or any(value % 1 for value in values if value is not None)):
            return Linear(X, values, importance)
        return Multiclass(X, tidied(np.array(labels)), weights=importance)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


# ── cells ─────────────────────────────────────────────────────────────────────────────────────────


def as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def tidied(labels: np.ndarray) -> np.ndarray:
    """Labels as integers if all are whole numbers, else as they are."""
    try:
        numbers = labels.astype(float)
    except ValueError:
        return labels
    whole = np.isfinite(numbers).all() and (numbers == np.round(numbers)).all() and (abs(numbers) < 2**53).all()
    return numbers.astype(np.int64) if whole else labels
