"""In the wings that judge, `Any` and attributes asked for by name stand only beside a reason.

A line with `Any` is a hole in the types, and a line with `hasattr` or `getattr` asks an object what a type could say.
Both are fine where nobody can know the type: a user's object, a library without types, a value out of a file. The
comment on the line says which of these it is, in words of the list below.
"""

from __future__ import annotations

import io
import re
import tokenize

import pytest
from house import PACKAGE

WINGS = ("contracts", "solving", "proofs", "judging")
ASKED = {"Any", "hasattr", "getattr"}
REASONS = {
    "a user's own": r"\buser'?s?\b|user's own|\bthey\b",
    "a library without types": r"has no types|have no types|any library|NumPy|sparse ones",
    "out of a file or a message": r"JSON|out of the file|a question|a message",
    "known by its name only at run time": r"by (its |their )?(qualified )?name|\bfields of\b|a `partial`|λ|settings",
    "several arithmetics or shapes": r"arrays (and|or|of)|numbers (and|or|of)|whole numbers|or fractions",
    "the fault's own memory": r"own memory",
    "each kind its own": r"each (kind|solver|problem)\b.*\bown\b|class(es)? of the kind",
    "defined in a wing above": r"wing above|are of that type",
    "any of the formulations": r"four kinds|any form",
}


def bare(text: str) -> list[tuple[int, str]]:
    """(number, line) of each line of Python that has one of these words in its code and no reason in its comment."""
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    comments = {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}
    found = {}
    for token in tokens:
        imported = token.line.lstrip().startswith(("from ", "import "))
        if token.type == tokenize.NAME and token.string in ASKED and not imported:
            comment = comments.get(token.start[0], "")
            if not any(re.search(pattern, comment) for pattern in REASONS.values()):
                found[token.start[0]] = token.line.strip()
    return sorted(found.items())


@pytest.mark.parametrize("wing", WINGS)
def test_every_any_and_every_name_asked_for_has_its_reason_beside_it(wing):
    files = sorted((PACKAGE / wing).rglob("*.py"))
    assert files
    found = [f"{path.relative_to(PACKAGE)}:{n}: {line}" for path in files for n, line in bare(path.read_text())]
    assert not found, "\n".join(["give a type, or one of the reasons in tests/test_types.py:", *found])


def test_every_reason_is_needed_somewhere():
    texts = [path.read_text() for wing in WINGS for path in sorted((PACKAGE / wing).rglob("*.py"))]
    lines = [line for text in texts for line in text.splitlines() if re.search(r"\b(Any|hasattr|getattr)\b.*#", line)]
    for reason, pattern in REASONS.items():
        assert any(re.search(pattern, line.split("#", 1)[1]) for line in lines), f"nothing is {reason} any more"


@pytest.mark.parametrize(
    "line",
    [
        "def f(x: Any): ...",
        "def f(x: Any): ...  # noqa",
        "def f(x: Any): ...  # type: ignore",
        "def f(x: Any): ...  # Any",
        "x: dict[str, Any] = {}  # for later",
        "y = getattr(x, 'name', None)",
        "if hasattr(x, 'name'): ...  # perhaps",
        "'a user\\'s object'; z: Any = 1",
    ],
)
def test_a_line_without_a_reason_is_found(line):
    assert [number for number, _ in bare(f"import x\n{line}\n")] == [2]


@pytest.mark.parametrize(
    "line", ["from typing import Any", "x = 1  # Any", "'Any hasattr'", "def f(x: Any): ...  # a user's object"]
)
def test_other_lines_are_not_found(line):
    assert bare(f"{line}\n") == []
