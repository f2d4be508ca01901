"""What the command line says and where: one JSON object or text on stdout, all else on stderr.

Nothing heavy is imported; rich only when a terminal is there to show it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from pathlib import Path
from typing import Any

import click

from workbench.errors import BadInput

Observe = Callable[[dict[str, Any]], None]


def emit(record: Mapping[str, Any]) -> None:
    """The one object of `--json`: strict JSON, so a number that is not finite becomes null."""
    click.echo(json.dumps(plain(record), allow_nan=False))


def keep(record: Mapping[str, Any], path: Path) -> None:
    """The same object as a file, which is whole at any time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(plain(record), allow_nan=False, indent=2) + "\n", encoding="utf-8")
    part.replace(path)


def plain(value: Any) -> Any:
    """`value` in JSON's own types; arrays and NumPy's numbers included."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def table(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table: rich on a terminal, aligned plain text in a pipe."""
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        shown = Table(*headers)
        for row in cells:
            shown.add_row(*map(Text, row))
        Console().print(shown)
        return
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
    for row in [headers, *cells]:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo(f"  {line}".rstrip())
    click.echo()


@contextlib.contextmanager
def status(text: str) -> Iterator[Callable[[str], None] | None]:
    """A line on stderr while something runs, if stderr is a terminal; else nothing.

    Yields what to call with another text, or None.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(escape(text)) as shown:
        yield lambda other: shown.update(escape(other))


@contextlib.contextmanager
def progress(text: str) -> Iterator[Observe | None]:
    """The same for a `solve`: yields what to call with each round's record, or None."""
    with status(f"{text}: compiling (once) …") as show:
        if show is None:
            yield None
            return

        def observe(round_: dict[str, Any]) -> None:
            interval = f"[{round_['lower']:.6g}, {round_['upper']:.6g}]"
            work = f"round {round_['round']}, {round_['cuts']} cuts, gap {round_['gap']:.1e}"
            show(f"{text}: {work}, optimum in {interval}")

        yield observe


@contextlib.contextmanager
def stdout_kept() -> Iterator[None]:
    """Send to stderr what anything inside prints on stdout: Python's prints, and those of C libraries."""
    sys.stdout.flush()
    saved = os.dup(1)
    try:
        os.dup2(2, 1)
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        with contextlib.suppress(Exception):
            ctypes.CDLL(None).fflush(None)  # what C buffered must leave before stdout is back
        os.dup2(saved, 1)
        os.close(saved)


def usable_folder(path: str | Path) -> Path:
    """`path` if files can be written there, else `BadInput`; leaves nothing behind."""
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
        raise BadInput(f"Cannot write to {path} ({error.strerror}); choose another folder with --out.") from None
    finally:
        for folder in reversed(made):
            folder.rmdir()
    return path


def shown_path(path: Path) -> str:
    """A path to print: relative to here if it is below."""
    with contextlib.suppress(ValueError):
        return str(path.resolve().relative_to(Path.cwd()))
    return str(path)


def facts(record: Mapping[str, Any]) -> None:
    """`name  value` lines; a list of rows as a table below them."""
    flat = {key: value for key, value in record.items() if not isinstance(value, (list, tuple))}
    longest = max(map(len, flat), default=0)
    for key, value in flat.items():
        click.echo(f"  {key:<{longest}}  {value:.6g}" if isinstance(value, float) else f"  {key:<{longest}}  {value}")
    for rows in (value for key, value in record.items() if key not in flat and value):
        table(list(rows[0]), [[cell(value) for value in row.values()] for row in rows])


def cell(value: Any) -> str:
    """A number to three digits, anything else as it is."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


# ── readable text ──────────────────────────────────────────────────────────────────────────────────


def print_entries(entries: list[dict[str, Any]]) -> None:
    for each in entries:
        click.echo(f"{each['kind']} {each['name']}: {each['summary']}\n")
        if each["settings"]:
            rows = [[s["key"], s["type"], s["default"]] for s in each["settings"]]
            table(["setting", "type", "default"], rows)
        if each["formula"]:
            click.echo("\n".join(f"  {line}".rstrip() for line in each["formula"].splitlines()) + "\n")


def print_registries(entries: list[dict[str, Any]], pairs: Sequence[Any]) -> None:
    for kind in dict.fromkeys(each["kind"] for each in entries):
        table([kind, "what it is"], [[each["name"], each["summary"]] for each in entries if each["kind"] == kind])
    rows = []
    for pair in pairs:
        takes = ", ".join(name for name, why in pair.solvers.items() if why is None)
        rows.append([pair.output, pair.formulation, pair.why or f"solve; {takes or 'no learner of ours'}"])
    table(["output", "formulation", "what works"], rows)


def print_solution(row: dict[str, Any]) -> None:
    size = f"{row['n_samples']} samples, {row['dim']} weights"
    lines = {
        "optimum": "not proven as a whole: this alternates, and the certificate is of its last convex program"
        if row["lower_kind"] == "none"
        else f"in {interval(row)}",
        "exactly": row.get("optimum") and shortened(row["optimum"]),
        "gap": f"{small(row['gap'])}{'' if row['gap'] is None else ' relative'}, {row['status']}",
        **(alternating(row) if row["lower_kind"] == "none" else {}),
        "work": f"{row['rounds']} rounds, {row['cuts']} cuts, {row['seconds']:.2f} s ({row['cpu_seconds']:.2f} s CPU)",
        **train_loss(row["train_error"]),
        "backend": f"{row['backend']}, {row['oracle']} oracle",
        "certificate": row["certificate"],
        "check it": f"cutbench verify {row['certificate']}",
    }
    click.echo(f"{row['problem']} {row['formulation']}: {size}")
    for name, text in lines.items():
        if text:
            click.echo(f"  {name:<12} {text}")


def alternating(row: Mapping[str, Any]) -> dict[str, str]:
    """Where an alternation ended, and how well its convex programs were solved."""
    ended = {} if row["upper"] is None else {"objective": f"{row['upper']:.12g}, where it ended"}
    missed = f"{row['unsolved']} of {row['programs']} convex programs missed the gap asked for, the worst has"
    solved = f"all {row['programs']} convex programs solved, to"
    return ended | {"inner gap": f"{missed if row['unsolved'] else solved} {small(row['inner_gap'])}"}


def print_backends(rows: list[dict[str, Any]]) -> None:
    columns = ["backend", "status", "gap", "lower", "upper", "own_status", "seconds", "certificate"]
    formats = {"gap": small, "lower": below, "upper": above, "seconds": "{:.2f}".format}
    shown = [[formats.get(key, str)(row[key]) if key in row else "" for key in columns] for row in rows]
    table([column.replace("_", " ") for column in columns], shown)
    for row in rows:
        if row["status"] == "failed":
            click.echo(f"{row['backend']}: {row['evidence']}")


def train_loss(loss: float) -> dict[str, str]:
    """The mean loss on the training samples; a share, in per cent, unless it exceeds 1."""
    return {"train error": f"{100 * loss:.2f} %"} if loss <= 1 else {"train loss": f"{loss:.4g}"}


def print_verdicts(record: dict[str, Any]) -> None:
    reference, rows = record["reference"], record["learners"]
    title = f"{reference['problem']} {reference['formulation']}"
    unproven = reference.get("evidence", "no joint optimum")
    optimum = unproven if reference["upper"] is None else f"optimum in {interval(reference)}"
    click.echo(f"{title}: {optimum.rstrip('.')}, {reference['status']}")
    columns = ["name", "verdict", "excess", "passes", "seconds", "reason"]
    if any(len(row["runs"]) > 1 for row in rows):
        columns.insert(2, "seeds")
        rows = [row | {"seeds": agreeing(row)} for row in rows]
    formats = {"excess": "{:.1e}".format, "passes": "{:g}".format, "seconds": "{:.2f}".format}
    shown = [[row[key] if row[key] is None else formats.get(key, str)(row[key]) for key in columns] for row in rows]
    table(["learner", *columns[1:-1], "because"], shown)


def agreeing(row: Mapping[str, Any]) -> str:
    """How many runs of a learner have its verdict."""
    return f"{sum(run['verdict'] == row['verdict'] for run in row['runs'])} of {len(row['runs'])}"


def print_report(report: dict[str, Any], sentences: list[str]) -> None:
    click.echo(f"cutbench {report['cutbench'] or 'not installed'}, Python {report['python']}, {report['platform']}\n")
    packages = [[p["name"], p["version"] or "missing", p["extra"] or "core"] for p in report["packages"]]
    table(["package", "version", "brought by"], packages)
    backends = [[b["name"], b["version"], b["status"], b["gap"] and small(b["gap"])] for b in report["backends"]]
    table(["backend", "version", "two samples", "certified gap"], backends)
    cache, data = report["numba_cache"], report["data"]
    click.echo(f"compiled code  {cache['folder']} ({'writable' if cache['writable'] else 'NOT writable'})")
    click.echo(f"data folder    {data['folder'] or 'not set; CUTBENCH_DATA=FOLDER names one'}")
    for sentence in sentences:
        click.echo(f"  {sentence}")
    click.echo("The core works." if report["ok"] else "The core does not work.")


def print_proof(result: dict[str, Any]) -> None:
    click.echo(f"{'proven' if result['proven'] else 'NOT PROVEN'} in {result['arithmetic']} arithmetic")
    click.echo(f"  optimum  in {interval(result)}")
    if result["optimum"]:
        click.echo(f"  exactly  {shortened(result['optimum'])}")
    elif result["arithmetic"] == "rational":
        click.echo(f"  lower    {shortened(result['lower_exact'])}")
        click.echo(f"  upper    {shortened(result['upper_exact'])}")
    click.echo(f"  gap      {small(result['gap'])} relative")
    if result["about"]:
        click.echo(f"  of       {result['about']}")
    if result["reason"]:
        click.echo(f"  because  {result['reason']}")
    click.echo(f"  data     sha256 {result['data_sha256']}")


def shortened(fraction: str, longest: int = 200) -> str:
    """A fraction's text; where it is too long to read, its ends and how many digits it has."""
    if len(fraction) <= longest:
        return fraction
    parts = [f"{part[:12]}…{part[-12:]}" if len(part) > 30 else part for part in fraction.split("/")]
    digits = " over ".join(str(len(part.lstrip("-"))) for part in fraction.split("/"))
    return f"{'/'.join(parts)} ({digits} digits; --json prints all)"


def interval(row: Mapping[str, Any]) -> str:
    """The proven interval in 12 digits, rounded outward so that what is printed is proven, too."""
    return f"[{below(row['lower'])}, {above(row['upper'])}]"


def below(value: float | None) -> str:
    return digits(value, ROUND_FLOOR)


def above(value: float | None) -> str:
    return digits(value, ROUND_CEILING)


def digits(value: float | None, rounding: str) -> str:
    if value is None or not math.isfinite(value):
        return "unknown"
    return f"{float(Context(prec=12, rounding=rounding).create_decimal_from_float(value)):.12g}"


def small(value: float | None) -> str:
    return "not certified" if value is None else f"{value:.1e}"
