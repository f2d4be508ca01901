"""What benchmarks ask of their settings."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.errors import BadInput, UnknownName


def chosen(words: str, known: Iterable[str], kind: str) -> list[str]:
    """The names in `words`, with commas between them, in the order of `known`; all of them if there are none.

    Raises `UnknownName` for a name that is not known.
    """
    every, names = list(known), listed(words)
    for name in names:
        if name not in every:
            raise UnknownName(kind, name, every)
    return [name for name in every if name in names] or every


def listed(words: str) -> list[str]:
    return list(filter(None, map(str.strip, words.split(","))))


def numbers(words: str, setting: str) -> list[float]:
    """The positive numbers in `words`, with commas between them."""
    try:
        found = [float(word) for word in listed(words)]
    except ValueError:
        found = []
    if not found or not all(0 < number < float("inf") for number in found):
        raise BadInput(f"{setting} is {words!r}; give positive numbers with commas, such as {setting}=0.1,1.")
    return found
