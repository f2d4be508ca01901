"""CSV: a sample a line, cells separated by commas, semicolons or tabs (`sheet`).

Labels are the column that the user names (by its name, or by its number from 1 on); else the column called label,
target, class or y; else the one column of words; else the last column, which must then hold whole numbers. Columns
that the user drops are not read. All other columns are numbers, or become numbers as the user says (`prepared`). Rows
without a label are refused unless the user leaves them out, and then nothing of them is read.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.arrays import as_number
from workbench.data.hints import labelled_lines, text_command
from workbench.data.tables.prepared import filled, gaps_in, learned_words, one_word, spread
from workbench.data.tables.sheet import (
    COMMA,
    MISSING,
    THOUSANDS,
    Sheet,
    chosen_column,
    joined,
    sheet_of,
    without,
    without_value,
)
from workbench.data.tables.table import LABEL_NAMES, Asked, Table, tidied
from workbench.errors import BadInput, counted

NUMBERING = re.compile(r"(.*[ _.-])?(id|no|nr|num|number|index|key|uuid)|unnamed: 0|(?-i:.*[a-z]I[Dd])", re.IGNORECASE)
UNLABELLED = ("", *(word for word in MISSING if word not in ("none", "-")))  # these two may well be classes
LEAVE_OUT = "unlabelled=drop"
FEW = 5  # samples, below which different numbers say nothing
GROUPED = re.compile(r"[+-]?\d{1,3}([ ,'’]\d{3})+(\.\d+)?", re.ASCII)  # 1,234.5 and 1 234


def read(path: Path, asked: Asked) -> Table:
    """The inputs as floats; labels as whole numbers or texts."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # numbers too large are refused in words later
            return numbers_of(path, asked)
    except BadInput as error:
        if asked.n_inputs is None and labelled_lines(path):
            hint = f"if its lines are label<TAB>text, {text_command(path)} reads them"
            raise BadInput(f"{str(error).removesuffix('.')}; {hint}.") from None
        raise


def numbers_of(path: Path, asked: Asked) -> Table:
    """What `read` returns, with errors that take the file for a table."""
    learned, whole = asked.columns if isinstance(asked.columns, list) else [], sheet_of(path)
    source = whole if learned else without(whole, checked_drop(whole, asked))
    sheet, made, remarks = spread(source, asked, learned)
    labels, inputs = columns_of(sheet, learned, asked, made)
    if asked.unlabelled and asked.n_inputs is None and labels is not None and not all(labelled := given(sheet, labels)):
        if not any(labelled):
            raise BadInput(
                f"{path}: {sheet.called(labels)} holds no label at all; name other labels by --set label=NAME."
            )
        name, rows = sheet.names[labels], [row for row, has in zip(source.rows, labelled, strict=True) if has]
        sheet, _, remarks = spread(source._replace(rows=rows), asked, learned)
        labels = sheet.names.index(name)
        inputs = [j for j in range(sheet.width) if j != labels]
        gone = labelled.count(False)
        remarks.append(f"{counted(gone, 'sample')} without a label in {sheet.called(labels)} left out")
    if sheet.commas:
        remarks.append("decimal commas read as points")
    if learned and whole.header is None:
        remarks.append(in_places(whole, learned, asked))
    numbers_only(sheet, inputs, labels, asked)
    X = np.empty((len(sheet.rows), len(inputs)))
    for i, (line, cells) in enumerate(sheet.rows):
        for k, j in enumerate(inputs):
            X[i, k] = finite_cell(sheet, line, j, cells[j])
    X, told = filled(X, asked.means, sheet, inputs)
    remarks += told
    lines, called = [line for line, _ in sheet.rows], [sheet.called(j) for j in inputs]
    own = [sheet.names[j] for j in inputs] if sheet.header or asked.label or asked.drop else None
    if labels is None:
        told = "; ".join(filter(None, (*remarks, unlabelled(sheet, inputs, asked))))
        return Table(X, None, own, remark=told, lines=lines, called=called)
    labelled = np.array(given(sheet, labels))
    if not labelled.all():
        if asked.n_inputs is None:
            raise BadInput(f"{path} {missing_labels(sheet, labels)}")
        missing = int(np.count_nonzero(~labelled))
        remarks.append(f"{counted(missing, 'sample')} without a label in {sheet.called(labels)}")
    if not labelled.any():
        return Table(X, None, own, remark="; ".join(remarks), lines=lines, called=called)
    y = tidied(np.array([cells[labels] for (_, cells), has in zip(sheet.rows, labelled, strict=True) if has]))
    place = sheet.called(labels) + (", the last" if labels == sheet.width - 1 else "")
    numbered = [] if learned else [j for k, j in enumerate(inputs) if counts(sheet.header, j, X[:, k])]
    remarks += [*([] if learned else classes_like_gaps(sheet, labels)), *(numbering(sheet, j) for j in numbered)]
    told = "; ".join(filter(None, remarks))
    return Table(X, y, own, place, told, None if labelled.all() else np.flatnonzero(labelled), lines, called)


def checked_drop(sheet: Sheet, asked: Asked) -> tuple[str, ...]:
    """The words for the columns to drop; `BadInput` if one of these is to hold the labels or to be spread out."""
    gone = {chosen_column(sheet, word) for word in asked.drop}
    if gone and asked.label is not None and (labels := chosen_column(sheet, asked.label)) in gone:
        raise BadInput(f"{sheet.path}: {sheet.called(labels)} is both label and drop; leave it out of one of them.")
    for word in asked.one_hot if gone else ():
        if (column := chosen_column(sheet, word)) in gone:
            raise BadInput(
                f"{sheet.path}: {sheet.called(column)} is in drop and in one_hot; leave it out of one of them."
            )
    return asked.drop


def given(sheet: Sheet, labels: int) -> list[bool]:
    """Whether each row has a label in the column `labels`."""
    return [cells[labels].lower() not in UNLABELLED for _, cells in sheet.rows]


def first_missing(sheet: Sheet, labels: int) -> str:
    """Where the first label is missing."""
    line, cells = sheet.rows[given(sheet, labels).index(False)]
    return f"line {line}: the label is {f'{cells[labels]!r}, a missing value' if cells[labels] else 'missing'}"


def missing_labels(sheet: Sheet, labels: int) -> str:
    """Where the first label is missing, how many are, and what mends it."""
    count = given(sheet, labels).count(False)
    fix = "add it or leave the row out" if count == 1 else f"add all {count} such labels or leave the rows out"
    return f"{first_missing(sheet, labels)}; {fix} by --set {LEAVE_OUT}."


def classes_like_gaps(sheet: Sheet, labels: int) -> list[str]:
    """A remark on each label that may stand for a missing one, as a dash does, and is taken for a class."""
    words = [cells[labels] for _, cells in sheet.rows]
    return [
        f"{counted(words.count(word), 'label')} {word!r} taken for a class (if it means a missing label, remove the "
        f"{'line' if words.count(word) == 1 else 'lines'})"
        for word in sorted(set(words))
        if without_value(word)
    ]


def columns_of(sheet: Sheet, learned: list[str], asked: Asked, made: list[str]) -> tuple[int | None, list[int]]:
    """The column of labels, if there is one, and those of the inputs.

    learned : the names that the weights know;  made : the names of columns of 0 and 1 that the file does not have
    """
    known = asked.n_inputs
    if learned and (sheet.header or set(learned) <= set(sheet.names)):
        return matched(sheet, learned, asked)
    if known is not None and sheet.width not in (known, known + 1):
        raise BadInput(f"{sheet.path} has {sheet.width} columns but the weights were learned on {known}; match them.")
    labels = label_column(sheet, asked, made)
    return labels, [j for j in range(sheet.width) if j != labels]


def in_places(sheet: Sheet, learned: list[str], asked: Asked) -> str:
    """A remark on columns known by their places; `BadInput` unless the file has all columns or the inputs alone."""
    if any(not name.startswith("column ") for name in learned):
        return "no header, so columns are taken in the order of those learned from"
    spread_out = sum(len(each) - 1 for each in learned_words(asked.one_hot, learned).values())
    alone = len(learned) - spread_out
    before = alone + 1 + len(asked.drop)
    if sheet.width not in (before, alone):
        raise BadInput(
            f"{sheet.path} has {sheet.width} columns and no header, and the file learned from had {before}; write all "
            f"columns, or the {alone} inputs alone, in the same order."
        )
    return ""


def unlabelled(sheet: Sheet, inputs: list[int], asked: Asked) -> str:
    """Why no column is taken for the labels, if there is any beside the inputs and those that learning left out."""
    if not (others := [j for j in beside(sheet, inputs, asked) if sheet.filled(j)]):
        return ""
    if likely := likely_labels(sheet, others, asked):
        return f"{' and '.join(map(sheet.called, likely))} may hold the labels; name them by --set label=NAME"
    holds = f"{' and '.join(map(sheet.called, others))} {'hold' if len(others) > 1 else 'holds'}"
    return f"{holds} no labels that the weights know; name the labels by --set label=NAME"


def beside(sheet: Sheet, inputs: list[int], asked: Asked) -> list[int]:
    """The columns that may hold labels: neither inputs, nor dropped in learning, nor words of columns of 0 and 1."""
    unread = {word.lower() for word in (*asked.drop, *asked.one_hot)}
    return [j for j in range(sheet.width) if j not in inputs and sheet.word(j).lower() not in unread]


# ── what is no number ─────────────────────────────────────────────────────────────────────────────


def numbers_only(sheet: Sheet, inputs: list[int], labels: int | None, asked: Asked) -> None:
    """Refuse inputs of words, and inputs without a value that the user does not have filled, all in one sentence.

    The sentence also names labels that are missing, and cells that are infinite or not written as numbers are, which
    alone are refused later (`missing_labels`, `finite_cell`).
    """
    if asked.n_inputs is not None:
        words = []  # weights know the columns: a word among them is a fault of its cell
    else:
        words = [j for j in inputs if sheet.of_words(j) and not any(map(ill_written, sheet.filled(j)))]
    holes = [] if asked.fill else [(line, j) for line, j in gaps_in(sheet, inputs) if j not in words]
    if not (words or holes):
        return
    found, fixes = [], []
    if words:
        found += [first_word(sheet, j) for j in words]
        fixes += as_numbers(sheet, words)
    if holes:
        found.append(empty_cells(sheet, holes))
        fixes.append("--set fill=mean")
    strange = [(line, j, cells[j]) for line, cells in sheet.rows for j in inputs if j not in words and odd(cells[j])]
    if strange:
        line, column, cell = strange[0]
        more = f", one of {len(strange)} such cells" if len(strange) > 1 else ""
        found.append(f"line {line}: {sheet.called(column)} is {cell[:60]!r}{more}")
    likely = [j for j in words if not sheet.of_names(j)] if labels is not None and asked.label is None else []
    bare = 0 if labels is None or asked.n_inputs is not None else given(sheet, labels).count(False)
    told = f"{sheet.path} {' and '.join(found)}, and inputs are numbers"
    if labels is not None and bare:
        told += f", and {first_missing(sheet, labels)}" + (f", one of {bare} such labels" if bare > 1 else "")
        fixes.append(f"--set {LEAVE_OUT} to leave {'such rows' if bare > 1 else 'that row'} out")
    if likely:
        fixes.append(f"or --set label={sheet.word(likely[0])} if these are the labels")
    there = f", and write finite numbers with points in line {strange[0][0]} and the like" if strange else ""
    raise BadInput(f"{told}; say {', '.join(fixes)}{there}.")


def odd(cell: str) -> bool:
    """Whether a cell holds an infinite number, or one that is not written as a number is read."""
    return ill_written(cell) or ((value := as_number(cell)) is not None and math.isinf(value))


def ill_written(cell: str) -> bool:
    """Whether a cell is a number to a reader's eye, but not written as one is read."""
    return any(each.fullmatch(cell) for each in (COMMA, THOUSANDS, GROUPED))


def first_word(sheet: Sheet, column: int) -> str:
    """Where the first word of a column stands."""
    line, cells = next((line, cells) for line, cells in sheet.rows if not without_value(cells[column]))
    return f"line {line}: {sheet.called(column)} is {cells[column][:60]!r}"


def empty_cells(sheet: Sheet, holes: list[tuple[int, int]]) -> str:
    """Where the first cell without a value stands, and how many there are."""
    line, column = holes[0]
    cell = next(cells[column] for at, cells in sheet.rows if at == line)
    where = f"line {line}: {sheet.called(column)} is {f'{cell!r}, a missing value' if cell else 'empty'}"
    return where if len(holes) == 1 else f"{where}, one of {len(holes)} such cells"


def as_numbers(sheet: Sheet, columns: list[int]) -> list[str]:
    """The settings by which columns of words become numbers, or are dropped where they only name the samples."""
    names = [j for j in columns if sheet.of_names(j)]
    kinds = [j for j in columns if j not in names]
    fixes = [f"--set drop={joined(map(sheet.word, names))} (its words all differ)"] if names else []
    return fixes + ([f"--set one_hot={joined(map(sheet.word, kinds))} (a column of 0 and 1 a word)"] if kinds else [])


def listed(sheet: Sheet, columns: list[int]) -> str:
    """`column site and column name`."""
    return " and ".join(map(sheet.called, columns))


def finite_cell(sheet: Sheet, line: int, column: int, cell: str) -> float:
    """The number in a cell of an input; NaN for a cell without a value."""
    value = as_number(cell)
    if value is not None and math.isfinite(value):
        return value
    if without_value(cell):
        return math.nan
    where = f"{sheet.path} line {line}: {sheet.called(column)}"
    if COMMA.fullmatch(cell) or THOUSANDS.fullmatch(cell):
        raise BadInput(
            f"{where} is {cell[:60]!r}, which may be a fraction or thousands; write numbers with points only."
        )
    if GROUPED.fullmatch(cell):
        plain = re.sub("[ ,'’]", "", cell)
        raise BadInput(f"{where} is {cell[:60]!r}, with thousands set apart; write {plain[:60]}.")
    raise BadInput(f"{where} is {cell[:60]!r}; give a finite number.")


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


def label_column(sheet: Sheet, asked: Asked, made: list[str]) -> int | None:
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
        raise BadInput(undecided(sheet, words, asked))
    if words:
        return words[0]
    if sheet.names[-1] in made:
        raise BadInput(f"{sheet.path}: no column is left that holds labels; name one by --set label=NAME.")
    for line, cells in sheet.rows:
        value = as_number(cells[-1])
        if without_value(cells[-1]):
            continue  # a missing label, not another kind of column
        if value is None or value != value // 1:
            where, number = f"{sheet.path} line {line}", "choose the column by its number, e.g. --set label=1"
            remedy = "choose by --set label=NAME" if sheet.header else number
            raise BadInput(f"{where}: the last column holds {cells[-1][:60]}, no class; {remedy}.")
    return sheet.width - 1


def undecided(sheet: Sheet, words: list[int], asked: Asked) -> str:
    """What to say where several columns of words may be the labels, and which other settings the file needs."""
    kinds = [j for j in words if not sheet.of_names(j)] or words  # labels come again
    names = [j for j in words if j not in kinds]
    holes = gaps_in(sheet, [j for j in range(sheet.width) if j not in words]) if asked.fill is None else []
    fixes = [" or ".join(f"--set label={sheet.word(j)}" for j in kinds)]
    fixes += ["--set one_hot=NAME for the others (a column of 0 and 1 a word)"] if len(kinds) > 1 else []
    fixes += as_numbers(sheet, names) + (["--set fill=mean"] if holes else [])
    both = "both hold words, so either" if len(words) == 2 else "hold words, so each"
    found = f"{listed(sheet, words)} {both} may be the labels" + (f", and {empty_cells(sheet, holes)}" if holes else "")
    return f"{sheet.path}: {found}; say {', '.join(fixes)}."


def likely_labels(sheet: Sheet, columns: list[int], asked: Asked) -> list[int]:
    """Those of the columns of which more than half of the cells with a value are labels that the weights know."""
    known = {one_word(each) for each in asked.classes}

    def share(words: list[str]) -> float:
        return sum(one_word(each) in known for each in words) / max(len(words), 1)

    return [j for j in columns if share(sheet.filled(j)) > 1 / 2]


def matched(sheet: Sheet, learned: list[str], asked: Asked) -> tuple[int | None, list[int]]:
    """The column of labels, if there is one, and those of the inputs, in the order in which the weights know them.

    Of the columns that are no inputs the labels are the one that the user names; else, of those that learning did not
    leave out, the one with the name that the labels had when the weights were learned; else the one called label,
    target, class or y; else the only one of which more than half of the cells with a value are labels that the weights
    know.
    """
    if missing := [name for name in learned if name not in sheet.names]:
        called = missing[0] if missing[0].startswith("column ") else f"column {missing[0]}"
        words = [name for j, name in enumerate(sheet.names) if sheet.of_words(j) and missing[0].startswith(name)]
        fix = f"make columns of 0 and 1 of column {words[0]} as there" if words else "name columns as there"
        if alike := [name for name in sheet.names if name.lower() == missing[0].lower()]:
            fix = f"it has {alike[0]}, so rename that"
        raise BadInput(f"{sheet.path} has no {called}, which the weights were learned on; {fix}.")
    inputs = [sheet.names.index(name) for name in learned]
    if asked.label is not None:
        chosen = chosen_column(sheet, asked.label)
        if chosen in inputs:
            raise BadInput(f"{sheet.path}: {sheet.called(chosen)} is an input of the weights; name the labels' column.")
        return chosen, inputs
    others = beside(sheet, inputs, asked)
    named = [j for j in others if sheet.names[j] == asked.learned_label]
    named += [j for word in LABEL_NAMES for j in others if sheet.names[j].lower() == word]
    likely = likely_labels(sheet, others, asked)
    return next(iter(named or (likely if len(likely) == 1 else [])), None), inputs
