"""Modules of at most 450 lines, functions of at most 60; what is longer has its reason in docs/rooms.md."""

from __future__ import annotations

import ast
import re

from house import PACKAGE, modules

MOST_OF_A_MODULE, MOST_OF_A_FUNCTION = 450, 60
PAGE = PACKAGE.parent / "docs" / "rooms.md"


def long_functions(text: str) -> dict[str, int]:
    """Functions of more than 60 lines, docstrings aside, and how many they have: the longest of each name."""
    found: dict[str, int] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = node.end_lineno - node.lineno + 1
            first = node.body[0]
            if ast.get_docstring(node) is not None:
                lines -= first.end_lineno - first.lineno + 1
            if lines > MOST_OF_A_FUNCTION:
                found[node.name] = max(lines, found.get(node.name, 0))
    return found


def test_no_module_is_longer_than_450_lines():
    counts = {str(path.relative_to(PACKAGE)): path.read_text().count("\n") for path in modules()}
    assert {name: lines for name, lines in counts.items() if lines > MOST_OF_A_MODULE} == {}


def test_functions_of_more_than_60_lines_are_listed_with_a_reason():
    """A listed function that is short by now leaves the list, too."""
    listed = {}
    for line in PAGE.read_text().splitlines():
        if row := re.fullmatch(r"\| `([^`]+\.py)` `(\w+)` \| (\d+) \| (.+) \|", line):
            listed[row[1], row[2]] = int(row[3])
            assert len(row[4].split()) >= 5, f"the reason for {row[2]} is too short to be one"
    measured = {
        (str(path.relative_to(PACKAGE)), name): lines
        for path in modules()
        for name, lines in long_functions(path.read_text()).items()
    }
    assert measured.keys() == listed.keys()
    assert all(lines <= listed[name] for name, lines in measured.items()), measured


def test_a_long_function_is_found_and_its_docstring_is_not_counted():
    body = "".join(f"    x = {k}\n" for k in range(60))
    assert long_functions(f"def f():\n{body}") == {"f": 61}
    assert long_functions("def f():\n" + '    """One\n\n    two.\n    """\n' + body[: -len("    x = 59\n")]) == {}
