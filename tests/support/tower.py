"""Draws the house from its one list of wings, and lists its rooms by the first lines of their docstrings.

`python tests/support/tower.py` rewrites the tower of docs/architecture.md, the lists of docs/rooms.md, and
docs/images/layers.svg; `tests/test_docs.py` fails if one of them is out of date.
"""

from __future__ import annotations

import ast
import re
from html import escape
from pathlib import Path

from house import FLOORS, PACKAGE, wing_of

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, ROOMS, PICTURE = DOCS / "architecture.md", DOCS / "rooms.md", DOCS / "images" / "layers.svg"
OPEN = {"outputs", "formulations", "solvers", "learners"}  # front doors: one new file is one new entry
SENTENCE = re.compile(r"(?<!\b[A-Z])(?<!\bet al)\. ")  # the end of a sentence, not of an initial
LONGEST = 160  # characters of a row
STYLE = """
    text { font-family: "DejaVu Sans", Verdana, sans-serif; fill: #1a1a1a; }
    .room { font-size: 14px; font-weight: bold; }
    .what { font-size: 12px; fill: #444444; }
    .head { font-size: 15px; font-weight: bold; }
    .floor { fill: #ffffff; stroke: #1a1a1a; stroke-width: 1; }
    .open { fill: #dddddd; stroke: #1a1a1a; stroke-width: 2; }
"""


def shown() -> list[dict[str, str]]:
    """The floors, top first, without the package's own `__init__`."""
    return [floor for floor in reversed(FLOORS) if "__init__" not in floor]


def tower() -> str:
    """The floors as text: a line for each wing, an empty line between floors."""
    floors = ["\n".join(f"{wing:<16}{what}" for wing, what in floor.items()) for floor in shown()]
    return "```text\n" + "\n\n".join(floors) + "\n```"


def picture() -> str:
    """The floors as SVG: a box for each wing, grey where a new file is a new entry."""
    lines, y = [], 64
    for floor in shown():
        for wing, what in floor.items():
            kind = "open" if wing in OPEN else "floor"
            lines.append(f'  <rect class="{kind}" x="20" y="{y}" width="160" height="30" rx="3"/>')
            lines.append(f'  <text class="room" x="100" y="{y + 20}" text-anchor="middle">{wing}</text>')
            lines.append(f'  <text class="what" x="196" y="{y + 20}">{escape(what)}</text>')
            y += 34
        y += 12
    size = f'viewBox="0 0 760 {y}" width="760" height="{y}"'
    head = f"""<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title desc">
  <title id="title">The floors of the package workbench</title>
  <desc id="desc">{len(shown())} floors, the command at the top, errors at the bottom. Each wing imports only from \
floors below its own.</desc>
  <style>{STYLE}  </style>
  <rect width="760" height="{y}" fill="#ffffff"/>
  <text class="head" x="20" y="28">workbench: imports run downwards only</text>
  <text class="what" x="20" y="48">Grey: folders where one new file is one new entry.</text>"""
    return "\n".join([head, *lines, "</svg>", ""])


def summary(path: Path) -> str:
    """The first sentence of a module's docstring, at most LONGEST characters of it; "" if there is none."""
    doc = ast.get_docstring(ast.parse(path.read_text())) or ""
    paragraph = re.sub(r"(?<=\w-)\n\s*", "", doc.partition("\n\n")[0])  # a word that goes on in the next line
    sentence = SENTENCE.split(" ".join(paragraph.split()), maxsplit=1)[0].rstrip(".:;,")
    if len(sentence) > LONGEST:
        sentence = sentence[:LONGEST].rpartition(" ")[0].rstrip(".:;,") + " …"
    return sentence.replace("|", "\\|")


def rooms() -> str:
    """A table for each wing: its files, and what each says of itself. Helpers with an underscore are left out."""
    parts = []
    for wing in [wing for floor in reversed(shown()) for wing in floor]:
        folder = PACKAGE / wing
        if not folder.is_dir():
            continue
        inside = {p: p.relative_to(folder) for p in sorted(folder.rglob("*.py"))}
        own = {p: place for p, place in inside.items() if wing_of(p) == wing}
        files = [p for p, place in own.items() if not any(part.startswith("_") for part in place.parts)]
        lines = [f"| `{p.relative_to(folder)}` | {summary(p)} |" for p in files]
        parts.append("\n".join([f"**{wing}/**", "", "| file | holds |", "|---|---|", *lines]))
    return "\n\n".join(parts)


def renewed(page: Path, name: str, part: str) -> str:
    """The text of `page` with `part` between the marks `name: begin` and `name: end`."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, _, rest = page.read_text().partition(begin)
    return f"{head}{begin}\n{part}\n{end}{rest.partition(end)[2]}"


def pages() -> dict[Path, str]:
    """docs/architecture.md with its tower, and docs/rooms.md with its lists, as the code is now."""
    return {PAGE: renewed(PAGE, "tower", tower()), ROOMS: renewed(ROOMS, "rooms", rooms())}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
    PICTURE.write_text(picture())
