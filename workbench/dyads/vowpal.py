"""The text format of Vowpal Wabbit, read and written: one example a line.

    label [importance [base]] [tag]|namespace[:scale] feature[:value] … |namespace …

    2 2|rater r_2737 |task t_89 |id r_2737 t_89

A last word before the first bar is a tag if it touches the bar or begins with ', as in the line above; an
importance stands apart from the bar. Without numbers, importance, scale and value are 1. A name holds no blank,
bar or colon. Features named twice in a namespace add up. Nothing is hashed: names stay what they are.

The file as a problem: data/readers.py for linear scores, `Dyads.of_examples` for pairs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TypeVar

import numpy as np
from scipy import sparse

from workbench.arithmetic.arrays import as_number
from workbench.errors import BadInput

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True)
class Example:
    """One line. `label` is as written, None if there is none; `namespaces` maps names to {feature: value}."""

    label: str | None
    namespaces: dict[str, dict[str, float]]
    importance: float = 1.0
    base: float = 0.0
    tag: str = field(default="")


def read(path: str | Path) -> list[Example]:
    """All examples of a file; blank lines separate nothing and are passed over.

    Raises `BadInput` that names the file and the line.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}); check the path.") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not UTF-8 text; convert it, and unpack it if it is packed.") from None
    found = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                found.append(parsed(line))
            except ValueError as error:
                raise BadInput(f"Line {number} of {path} {error}") from None
    if not found:
        raise BadInput(f"{path} holds no example; give one a line.")
    return found


def parsed(line: str) -> Example:
    """The example that a line writes, or ValueError."""
    head, bar, rest = line.partition("|")
    if not bar:
        raise ValueError("has no |; put one before the features.")
    words, tag = head.split(), ""
    if words and (words[-1].startswith("'") or not head[-1].isspace()) and (len(words) > 1 or words[0].startswith("'")):
        tag = words.pop()
    if len(words) > 3:
        raise ValueError(f"has {len(words)} words before its features; give label, importance and base at most.")
    label = words[0] if words else None
    importance, base = words[1] if len(words) > 1 else "1", words[2] if len(words) > 2 else "0"
    weight = number("importance", importance)
    if weight < 0:
        raise ValueError(f"has the importance {importance}; give a number of at least 0.")
    namespaces: dict[str, dict[str, float]] = {}
    for part in rest.split("|"):
        name, scale = "", 1.0
        if part and not part[0].isspace():
            first, *features = part.split()
            name, scale = named("namespace", first)
        else:
            features = part.split()
        values = namespaces.setdefault(name, {})
        for word in features:
            feature, value = named("feature", word)
            values[feature] = values.get(feature, 0.0) + scale * value
    return Example(label, namespaces, weight, number("base", base), tag)


def named(what: str, word: str) -> tuple[str, float]:
    """(name, number) of name[:number], or ValueError."""
    name, colon, text = word.partition(":")
    if not name or (colon and not text):
        raise ValueError(f"has the {what} {word!r}; write name or name:number.")
    return name, number(what, text) if colon else 1.0


def number(what: str, text: str) -> float:
    """The finite number that `text` writes, or ValueError."""
    value = as_number(text)
    if value is None or not isfinite(value):
        raise ValueError(f"has {text!r} as the number of its {what}; write a finite number.")
    return value


def written(example: Example) -> str:
    """The line of an example; numbers in the shortest form that reads back the same."""
    head = []
    if example.label is not None:
        head.append(example.label)
        if example.importance != 1 or example.base:
            head += [repr(float(example.importance))] + [repr(float(example.base))] * bool(example.base)
    elif example.importance != 1 or example.base:
        raise BadInput("An example without a label has an importance or a base; the format has no place for that.")
    spaces = []
    for name, features in example.namespaces.items():
        for word in (name, *features):
            if any(mark in word for mark in "|:") or word.split() != [word] * bool(word):
                raise BadInput(f"The name {word!r} holds a blank, a bar or a colon; rename it.")
        texts = [each if value == 1 else f"{each}:{float(value)!r}" for each, value in features.items()]
        spaces.append(" ".join([f"|{name}", *texts]))
    start = " ".join([*head, example.tag]) if example.tag else "".join(f"{word} " for word in head)
    return start + " ".join(spaces or ["|"])


def write(path: str | Path, examples: Iterable[Example]) -> None:
    """Writes one example a line."""
    Path(path).write_text("".join(f"{written(each)}\n" for each in examples), encoding="utf-8")


def taught(example: Example, where: str) -> None:
    """`BadInput` unless the example has a label, and no base to start from."""
    if example.label is None:
        raise BadInput(f"{where} has no label; give one before its features.")
    if example.base:
        raise BadInput(f"{where} has the base {example.base:g}; predictions here start from nothing, so remove it.")


def columns(rows: Sequence[Mapping[Name, float]]) -> tuple[sparse.csr_array, list[Name]]:
    """(n, f) of n dictionaries with f ≥ 1 keys in all, and the keys as first seen; (n, 1) without keys."""
    column: dict[Name, int] = {}
    at = [column.setdefault(name, len(column)) for row in rows for name in row]
    ends = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    values = np.array([value for row in rows for value in row.values()], float)
    return sparse.csr_array((values, np.array(at, np.int64), ends), shape=(len(rows), max(len(column), 1))), list(
        column
    )
