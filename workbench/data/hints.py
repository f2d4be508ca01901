"""Which command reads a user's labelled texts, for those who hand them to a reader of tables.

`labelled_lines` tells such a file from a table of numbers, and `text_command` names the command.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

PAIR = re.compile(r"\d+:[-+.\deE]+")  # index:value, as svmlight writes it
NUMBER = re.compile(r"[-+]?[\d.,]+(e[-+]?\d+)?", re.IGNORECASE)


def text_command(path: str | Path) -> str:
    """The command that learns from the texts of a folder or file."""
    return f"`cutbench solve text FORMULATION --set path={shlex.quote(str(path))}`"


def labelled_lines(path: Path) -> bool:
    """Whether each line of a file is label<TAB>text: one tab, and behind most of the tabs several words.

    Numbers and svmlight's index:value are no words. A file that is not UTF-8 is no such file.
    """
    try:
        lines = [line.strip("\r\n") for line in path.read_text(encoding="utf-8-sig").split("\n") if line.strip()]
    except (OSError, UnicodeDecodeError):
        return False
    if not lines or any(line.count("\t") != 1 or not all(map(str.strip, line.split("\t"))) for line in lines):
        return False
    sentences = [line.split("\t")[1].split() for line in lines]
    return sum(map(several_words, sentences)) > len(lines) / 2


def tabbed_words(path: Path) -> bool:
    """Whether each line of a file is label<TAB>words, perhaps a single word or none, and no word is a number.

    Such a file may be another table of words, so it is asked about where a table of numbers has been ruled out.
    """
    try:
        lines = [line.strip("\r\n") for line in path.read_text(encoding="utf-8-sig").split("\n") if line.strip()]
    except (OSError, UnicodeDecodeError):
        return False
    words = [word for line in lines for word in line.partition("\t")[2].split()]
    return all(line.partition("\t")[0].strip() and "\t" in line for line in lines) and not any(
        PAIR.fullmatch(word) or NUMBER.fullmatch(word) for word in words
    )


def several_words(cells: list[str]) -> bool:
    """Whether two or more of the cells are words."""
    return sum(not (PAIR.fullmatch(cell) or NUMBER.fullmatch(cell)) for cell in cells) > 1


def pairs_alone(path: Path) -> bool:
    """Whether each line of a file that is neither blank nor a comment is svmlight's: index:value after a word or none.

    A file that holds no line, or is not UTF-8, is none of svmlight.
    """
    try:
        lines = [line.split("#")[0].split() for line in path.read_text(encoding="utf-8-sig").split("\n")]
    except (OSError, UnicodeDecodeError):
        return False
    lines = [words for words in lines if words]
    pairs = [words if PAIR.fullmatch(words[0]) else words[1:] for words in lines]
    return any(pairs) and all(PAIR.fullmatch(word) for words in pairs for word in words)
