"""svmlight's text: `label index:value …` a line, # before comments; indices count from 1, or from 0 if 0 occurs.

Labels are all numbers or all words. A line to predict may lack its label and begin with `index:value`.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from scipy import sparse

from workbench.arithmetic.arrays import as_number
from workbench.data.hints import labelled_lines, tabbed_words, text_command
from workbench.data.tables.table import LARGEST_INDEX, Asked, Table, tidied
from workbench.errors import BadInput, counted

FROM_0 = "indices count from 0, as 0 occurs"


def read(path: Path, asked: Asked) -> Table:
    """The samples in CSR form; labels as whole numbers, other numbers, or words."""
    first = asked.columns if isinstance(asked.columns, int) else None
    labels: list[str] = []
    labelled: list[int] = []  # the rows that have these labels
    values: list[float] = []
    columns: list[int] = []
    starts, ranked = [0], False
    lines: list[int] = []
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            label, *entries = line.split("#")[0].split() or [""]
            if not label:
                continue
            if ":" in label and asked.n_inputs is not None:
                entries = [label, *entries]
            else:
                labels.append(checked_label(path, number, label, labels))
                labelled.append(len(starts) - 1)
            ranked = ranked or any(entry.startswith("qid:") for entry in entries)
            for entry in entries:
                if not entry.startswith("qid:"):
                    column, value = index_and_value(path, number, entry)
                    if column < (first or 0):
                        raise BadInput(f"{path} line {number}: index 0, but the weights count from 1; renumber all.")
                    if len(columns) > starts[-1] and column <= columns[-1]:
                        fix = "remove one of the two" if column == columns[-1] else "sort the line"
                        raise BadInput(f"{path} line {number}: index {column} follows {columns[-1]}; {fix}.")
                    columns.append(column)
                    values.append(value)
            starts.append(len(columns))
            lines.append(number)
    if not columns:
        raise BadInput(f"{path} holds no samples with features; write one `label index:value …` line each.")
    if first is None:
        first = min(1, min(columns))
    width, known = max(columns) - first + 1, asked.n_inputs
    if known is not None and width > known:
        raise BadInput(f"{path} has features up to {max(columns)} but the weights know {known}; remove the others.")
    count = len(starts) - 1
    X = sparse.csr_array((values, np.array(columns) - first, starts), shape=(count, known or width))
    remarks = ["qid is not used"] if ranked else []
    if asked.columns is None:
        remarks += [FROM_0] if first == 0 else []
    elif first == 0 and min(columns) > 0:
        remarks += ["no index is 0, and they count from 0 as in the data learned from (renumber them if they do not)"]
    if not labels:
        return Table(X, None, first, remark="; ".join(remarks))
    bare = count - len(labels)
    remarks += [f"{counted(bare, 'sample')} without a label"] if bare else []
    numbers = [as_number(label) for label in labels]
    y = np.array(labels) if None in numbers else tidied(np.array(numbers, float))
    remarks += ["the labels are fractions, and each is a class"] if y.dtype.kind == "f" else []
    place = "the first word of each line"
    return Table(X, y, first, place, "; ".join(remarks), np.array(labelled) if bare else None, lines)


def checked_label(path: Path, line: int, label: str, before: list[str]) -> str:
    """The label, if it is of the kind of those before: numbers, or words."""
    value, of_numbers = as_number(label), not before or as_number(before[0]) is not None
    if ":" in label:
        raise BadInput(f"{path} line {line} begins with {label!r}, not with a label; write one before the features.")
    if value is None and before and of_numbers:
        raise BadInput(f"{path} line {line}: the label {label!r} is not a number, those before are; write all alike.")
    if value is not None and not of_numbers:
        raise BadInput(f"{path} line {line}: the label {label!r} is a number, those before are words; write all alike.")
    if value is not None and not math.isfinite(value):
        raise BadInput(f"{path} line {line}: the label is {label}; repair it or remove the line.")
    return label


def index_and_value(path: Path, line: int, entry: str) -> tuple[int, float]:
    """The two numbers of `index:value`."""
    index, _, text = entry.partition(":")
    value = as_number(text)
    if not (index.isascii() and index.isdecimal()) or value is None:
        raise BadInput(f"{path} line {line}: {entry!r} is not index:value; {remedy(path, entry)}.")
    if len(index) > len(str(LARGEST_INDEX)) or int(index) > LARGEST_INDEX:
        raise BadInput(f"{path} line {line}: index {index} exceeds {LARGEST_INDEX}; number the features from 1 on.")
    if not math.isfinite(value):
        raise BadInput(f"{path} line {line}: feature {index} is {text}; replace or remove it.")
    return int(index), value


def remedy(path: Path, entry: str) -> str:
    """What mends a line whose `entry` is not index:value: another name for the file, if it is in another format."""
    if labelled_lines(path):
        return f"lines label<TAB>text are read by {text_command(path)}"
    if path.suffix.lower() == ".txt":
        with path.open(encoding="utf-8-sig") as file:
            lines = [line.split() for line in file]
        if any("|" in word for words in lines for word in words):
            return f"Vowpal Wabbit's format is read from files named .vw, so rename it {path.stem}.vw"
        if [] in lines[:-1] and len({len(words) for words in lines if words}) == 1:
            return f"a word and its label a line is read from files named .conll, so rename it {path.stem}.conll"
    if tabbed_words(path):
        return f"lines label<TAB>text are read by {text_command(path)}"
    return "write for example 3:0.25"
