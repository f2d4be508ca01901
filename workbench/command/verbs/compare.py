"""Compare two runs: settings, bounds, verdicts.

RUN is a folder that --out named, a record in it, or a certificate; certificates are verified anew. If both runs are
about the same data, formulation and settings, proven intervals that share no point are a contradiction: exit code 1.

    cutbench compare runs/iris-soft-margin other/iris-soft-margin
    cutbench compare monday/crosscheck.json tuesday/crosscheck.json --json
"""

from __future__ import annotations

from typing import Any

import click

import workbench.command.terminal as terminal
from workbench.command.exits import complain
from workbench.command.words import json_option, verb

TITLES = {"settings": "asked", "bounds": "bounds", "work": "work", "verdicts": "verdict of", "versions": "version of"}


@verb(__doc__)
@click.argument("run")
@click.argument("other")
@json_option
def command(run: str, other: str, as_json: bool) -> int:
    from workbench.command.compare import compared
    from workbench.command.records import run_at

    first, second = run_at(run), run_at(other)
    with terminal.stdout_kept(), terminal.status("verifying both …"):
        record = compared(first, second)
    terminal.emit(record) if as_json else show(record)
    if record["contradiction"]:
        remedy = "check the argmax with `cutbench check-oracle`, and report it"
        return complain(f"{record['contradiction']}: a definition has a bug; {remedy}.", 1)
    return 0


def show(record: dict[str, Any]) -> None:
    """Print a table for each kind of difference."""
    first, second = record["runs"]
    for key, title in TITLES.items():
        if rows := record[key]:
            columns = ("what", "first", "second")
            terminal.table([title, first, second], [[shown(row[name]) for name in columns] for row in rows])
    same = "the same data, formulation and settings" if record["same_optimum"] else "different optima, as asked"
    click.echo(f"The runs are about {same}.")


def shown(value: Any) -> str:
    return "" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)
