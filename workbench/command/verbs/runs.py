"""List the runs in a folder and the folders inside.

A run is a record that `solve`, `crosscheck`, `prove` or `path` wrote, or a certificate, or a run that was
interrupted. Nothing is verified: `cutbench verify` and `cutbench report` do that.

    cutbench runs
    cutbench runs experiments --json
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click

import workbench.command.terminal as terminal
from workbench.command.words import json_option, verb
from workbench.errors import BadInput, CutbenchError


@verb(__doc__)
@click.argument("folder", default="runs")
@json_option
def command(folder: str, as_json: bool) -> int:
    from workbench.command.records import below

    if not Path(folder).is_dir():
        raise BadInput(f"There is no folder {folder}; name one that holds runs.")
    rows = [row_of(path, run) for path, run in below(Path(folder))]
    if as_json:
        terminal.emit({"folder": folder, "runs": rows})
    else:
        show(rows, folder)
    return 0


def row_of(path: Path, run: Any) -> dict[str, Any]:
    """The row of a run, or of a file that could not be read."""
    if isinstance(run, CutbenchError):
        return {"path": str(path), "kind": "unreadable", "error": str(run)}
    if isinstance(run, str):
        ends = {"lower": None, "upper": None, "gap": None}
        command = f"cutbench resume {path}"
        return {"path": str(path), "kind": run, "title": "", "status": "unfinished", **ends, "command": command}
    told = run.told
    verdicts = Counter(row["verdict"] for row in run.record.get("learners", []))
    status = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()) or told.get("status")
    if run.kind == "prove":
        status = told["kind"]
    if run.kind == "path":
        status = f"{told['least']:g} ≤ λ ≤ {told['greatest']:g}"
    row = {"path": str(path), "kind": run.kind, "title": run.title, "status": status}
    return row | {key: told.get(key) for key in ("lower", "upper", "gap")} | {"command": run.about.get("command")}


def end_of(row: dict[str, Any]) -> str:
    """The interval of the optimum in words; of a path, the greatest gap of its optima."""
    if None not in (row["lower"], row["upper"]):
        return terminal.interval(row)
    return f"optima to a gap of {row['gap']:.1e}" if row["kind"] == "path" else ""


def show(rows: list[dict[str, Any]], folder: str) -> None:
    """Print a table, and below it what could not be read."""
    readable = [row for row in rows if "error" not in row]
    if not readable:
        click.echo(f"{folder} holds no runs.")
    else:
        ends = [end_of(row) for row in readable]
        cells = [
            [row["path"], row["kind"], row["title"], row["status"], end]
            for row, end in zip(readable, ends, strict=True)
        ]
        terminal.table(["run", "verb", "about", "status", "optimum in"], cells)
    for row in rows:
        if "error" in row:
            click.echo(f"unreadable: {row['error']}")
        elif row["status"] == "unfinished":
            click.echo(f"unfinished: `{row['command']}` continues it.")
