"""A page: claims and sections as plain data, and the one way they become a self-contained HTML file.

A section is a list of parts: text, formula, command, facts, list, table, chart, folded text, and cards of parts side by
side. `render` fills the template `page.html` with autoescape, so that whatever a file or a learner is called shows as
text. The page's security policy allows no source but the page's own style and script, named by their digests: no
network, no inline handler.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from workbench.command.reporting.charts import Chart
from workbench.system.release import VERSION

HERE = Path(__file__).parent
Mood = Literal["", "good", "bad", "open"]


@dataclass(frozen=True)
class Claim:
    """A sentence at the head of the page; the word says in text what the mood says in colour."""

    mood: Mood
    word: str
    sentence: str


@dataclass(frozen=True)
class Column:
    title: str
    kind: Literal["", "number", "words"] = ""


@dataclass(frozen=True)
class Cell:
    """What a cell shows, what it is sorted by, and whether that is good news."""

    text: str
    sort: Any = ""
    mood: Mood = ""


@dataclass(frozen=True)
class Table:
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class Picture:
    """A sample's picture: its size in pixels, and the pixels (x, y, shade) that are not white."""

    width: int
    height: int
    pixels: Sequence[tuple[int, int, float]]


@dataclass(frozen=True)
class Part:
    """One part of a section; `what` says which of the fields are filled."""

    what: str
    text: str = ""
    title: str = ""
    rows: Sequence[tuple[str, str]] = ()
    items_: Sequence[str] = ()
    table: Table | None = None
    chart: Chart | None = None
    picture: Picture | None = None
    cards: Sequence[Sequence[Part]] = ()
    folded: bool = False


@dataclass
class Section:
    title: str
    parts: list[Part] = field(default_factory=list)


@dataclass
class Page:
    title: str
    verb: str
    claims: list[Claim] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)

    def add(self, title: str, parts: Iterable[Part | None]) -> None:
        """Append a section, unless all its parts are None."""
        kept = [part for part in parts if part is not None]
        if kept:
            self.sections.append(Section(title, kept))


# ── cells ─────────────────────────────────────────────────────────────────────────────────────────


def number(value: Any, shape: str = "{:.4g}") -> Cell:
    """A number, sorted by all its digits; a missing or infinite one is an empty cell or ∞."""
    if not isinstance(value, int | float) or isinstance(value, bool) or math.isnan(value):
        return Cell("" if value is None or isinstance(value, float) else str(value))
    return Cell(shape.format(value) if math.isfinite(value) else "∞", value if math.isfinite(value) else 1e308)


def words(value: Any, mood: Mood = "") -> Cell:
    text = {None: "", True: "yes", False: "no"}[value] if isinstance(value, bool | None) else str(value)
    return Cell(text, text, mood)


# ── HTML ──────────────────────────────────────────────────────────────────────────────────────────


def render(page: Page) -> str:
    """The page as HTML text."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        finalize=harmless,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["zip"] = zip
    style, script = ((HERE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    sources = {"style-src": digest(style), "script-src": digest(script)}
    allowed = [f"{kind} {source}" for kind, source in sources.items()]
    policy = "; ".join(["default-src 'none'", *allowed, "base-uri 'none'", "form-action 'none'"])
    template = environment.get_template("page.html")
    own = {name: Markup(text) for name, text in (("style", style), ("script", script))}
    return template.render(page=page, policy=policy, version=VERSION, **own).lstrip()


def harmless(value: Any) -> Any:
    """A text without characters that a reader does not see, such as those that turn a line around."""
    if not isinstance(value, str) or value.isprintable():
        return value
    return type(value)("".join(c if c.isprintable() or c in "\n\t" else "�" for c in value))


def digest(text: str) -> str:
    """The source of a security policy that allows this text alone."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
