"""The output of the command line: one JSON object or text on stdout, everything else on stderr.

Nothing heavy is imported; rich is imported only on a terminal.
"""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workbench.errors import BadInput, counted, printed
from workbench.system.streams import stdout_to

if TYPE_CHECKING:
    from rich.text import Text

WIDE, NARROW = 140, 50  # columns of a table in a pipe, and of its last column at least
ROUNDING = 1e-12  # up to which a number near 1 is shown as 0
ShowRound = Callable[[dict[str, Any]], None]  # called with the record of each round


def emit(record: Mapping[str, Any]) -> None:
    """The one object of `--json`: strict JSON, so a number that is not finite becomes null."""
    click.echo(json.dumps(plain(record), allow_nan=False))


def keep(record: Mapping[str, Any], path: Path) -> None:
    """The object of `emit` as a file, replaced as a whole so that the file is never half written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(plain(record), allow_nan=False, indent=2) + "\n", encoding="utf-8")
    part.replace(path)


def plain(value: Any) -> Any:
    """`value` in JSON's own types; arrays and NumPy's numbers included."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # NumPy's, which this module does not import
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def table(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table: by rich on a terminal, folded where that is narrow; in a pipe as text, the last column wrapped."""
    cells = [["" if cell is None else printed(str(cell)) for cell in row] for row in rows]
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        shown = Table()
        for header in headers:
            shown.add_column(header, overflow="fold")  # a number that is cut off would be another one
        for row in cells:
            shown.add_row(*map(Text, row))
        Console().print(shown)
        return
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)][:-1]
    for row in [headers, *cells]:
        line(row, widths)
    click.echo()


def line(row: Sequence[str], widths: Sequence[int]) -> None:
    """Print one row of a table at once, whose columns but the last have these widths; the last is wrapped.

    On a terminal the last column ends where the terminal does, and where that leaves too little room, it goes below.
    """
    *first, last = row
    start, indent = "".join(f"  {cell.ljust(width)}" for cell, width in zip(first, widths, strict=True)) + "  ", 2
    indent += sum(widths) + 2 * len(widths)
    wide = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDE
    if wide - indent < min(len(last), NARROW, wide // 2):
        click.echo(start.rstrip())
        start, indent = " " * 6, 6
    wrapped = textwrap.wrap(last, max(wide - indent, 20), break_long_words=False, break_on_hyphens=False) or [""]
    for number, piece in enumerate(wrapped):
        click.echo(f"{start if number == 0 else ' ' * indent}{piece}".rstrip())


@contextlib.contextmanager
def status(text: str) -> Iterator[Callable[[str], None] | None]:
    """A line on stderr with the seconds that have passed, while the block runs, if stderr is a terminal; else nothing.

    Yields a function that replaces the text, or None.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    shown = Timed(text)
    with Console(stderr=True).status(shown):
        yield shown.say


class Timed:
    """A text and the seconds since its line appeared, which rich draws anew several times a second."""

    def __init__(self, text: str):
        self.text, self.began = text, time.monotonic()

    def say(self, text: str) -> None:
        self.text = text

    def __rich__(self) -> Text:
        from rich.text import Text

        seconds = f"{time.monotonic() - self.began:.0f} s"
        return Text(f"{seconds}  {self.text}", overflow="ellipsis", no_wrap=True)  # a long text is cut at its end


@contextlib.contextmanager
def progress(text: str, gap: float | None = None) -> Iterator[ShowRound | None]:
    """A status line for a `solve` to a gap; yields what `solve` calls with each round's record, or None."""
    with status(f"{text}: compiling (once) …") as show:
        if show is None:
            yield None
            return

        def observe(round_: dict[str, Any]) -> None:
            interval = f"[{round_['lower']:.6g}, {round_['upper']:.6g}]"
            work = f"round {round_['round']}, {counted(round_['cuts'], 'cut')}, gap {round_['gap']:.1e}"
            rounds.append((round_["seconds"], round_["gap"]))
            show(f"{text}: {work}{remaining(rounds, gap)}, optimum in {interval}")

        rounds: list[tuple[float, float]] = []
        yield observe


def remaining(rounds: Sequence[tuple[float, float]], gap: float | None) -> str:
    """` of 1e-09, about 12 s left`, by the pace of log gap over the second half of (seconds, gap); no promise."""
    if gap is None:
        return ""
    recent = [(at, math.log(each)) for at, each in rounds[len(rounds) // 2 :] if 0 < each < math.inf]
    if len(recent) < 3 or recent[-1][1] >= recent[0][1]:
        return f" of {gap:.0e}"
    pace = (recent[0][1] - recent[-1][1]) / max(recent[-1][0] - recent[0][0], 1e-9)
    left = max(recent[-1][1] - math.log(gap), 0.0) / pace
    return f" of {gap:.0e}, about {left:.0f} s left" if left < 86_400 else f" of {gap:.0e}, more than a day left"


@contextlib.contextmanager
def stdout_kept() -> Iterator[None]:
    """Send to stderr what the block prints on stdout, from Python or from C libraries."""
    with stdout_to(2), contextlib.redirect_stdout(sys.stderr):
        yield


def usable_folder(path: str | Path, option: str = "--out", what: str = "folder") -> Path:
    """`path` if files can be written there, else `BadInput`; the test leaves no files and folders.

    option : that names another place;  what : the kind of place it names
    """
    if not str(path).strip():
        raise BadInput("The name of the folder is empty; write --out DIR.")
    path = Path(path)
    missing = [folder for folder in [path, *path.parents] if not folder.exists()]
    made: list[Path] = []
    try:
        for folder in reversed(missing):
            folder.mkdir()
            made.append(folder)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise BadInput(f"Cannot write to {path} ({error.strerror}); choose another {what} with {option}.") from None
    finally:
        for folder in reversed(made):
            folder.rmdir()
    return path


def usable_file(path: str | Path, option: str) -> Path:
    """`path` if a file can be written there, else `BadInput`; `option` named the file."""
    if not str(path).strip():
        raise BadInput(f"The name of the file is empty; write {option} FILE.")
    path = Path(path)
    if path.is_dir():
        raise BadInput(f"{path} is a folder; give {option} the name of a file in it.")
    usable_folder(path.parent, option, "file")
    return path


def shown_path(path: Path) -> str:
    """A path to print: relative to the current folder if it lies below."""
    with contextlib.suppress(ValueError):
        return str(path.resolve().relative_to(Path.cwd()))
    return str(path)


def facts(record: Mapping[str, Any]) -> None:
    """Print `name  value` lines, and below them each list: rows as a table, sentences a line each.

    Rows need not have the same keys: a cell is empty where its row has none.
    """
    flat = {key: value for key, value in record.items() if not isinstance(value, (list, tuple))}
    longest = max(map(len, flat), default=0)
    for key, value in flat.items():
        click.echo(
            f"  {key:<{longest}}  {value:.6g}"
            if isinstance(value, float)
            else f"  {key:<{longest}}  {printed(str(value))}"
        )
    for rows in (value for key, value in record.items() if key not in flat and value):
        if all(isinstance(row, Mapping) for row in rows):
            keys = list(dict.fromkeys(key for row in rows for key in row))
            table(keys, [[cell(row[key]) if key in row else "" for key in keys] for row in rows])
        else:
            click.echo("\n".join(f"  {printed(cell(row))}" for row in rows) + "\n")


def cell(value: Any) -> str:
    """A float to three digits, any other value in full."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


# ── numbers as text ───────────────────────────────────────────────────────────────────────────────


def shortened(fraction: str, longest: int = 200) -> str:
    """A fraction's text; of a long one both ends and the number of digits."""
    if len(fraction) <= longest:
        return fraction
    parts = [f"{part[:12]}…{part[-12:]}" if len(part) > 30 else part for part in fraction.split("/")]
    digits = " over ".join(str(len(part.lstrip("-"))) for part in fraction.split("/"))
    return f"{'/'.join(parts)} ({digits} digits; --json prints all)"


def interval(row: Mapping[str, Any]) -> str:
    """The proven interval in 12 digits, rounded outward so that the printed interval is proven, too."""
    return f"[{below(row['lower'])}, {above(row['upper'])}]"


def below(value: float | None) -> str:
    return digits(value, ROUND_FLOOR)


def above(value: float | None) -> str:
    return digits(value, ROUND_CEILING)


def digits(value: float | None, rounding: str) -> str:
    if value is None or not math.isfinite(value):
        return "unknown"
    return f"{float(Context(prec=12, rounding=rounding).create_decimal_from_float(value)):.12g}"


def tidy(value: float) -> str:
    """A number of four digits; rounding as 0."""
    return f"{0.0 if abs(value) < ROUNDING else value:.4g}"


def small(value: float | None) -> str:
    return "not certified" if value is None else f"{value:.1e}"
