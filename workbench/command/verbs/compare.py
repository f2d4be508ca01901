"""Compare two runs: settings, bounds, verdicts.

RUN is a folder that --out named, a record in it, or a certificate; certificates are verified anew. Both are runs of
`solve` or `crosscheck`, or both of `prove`. If both runs are
about the same data, formulation and settings, proven intervals that share no point are a contradiction: exit code 1.

    cutbench compare runs/iris-soft-margin other/iris-soft-margin
    cutbench compare monday/crosscheck.json tuesday/crosscheck.json --json
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import workbench.command.terminal as terminal
from workbench.command.exits import complain
from workbench.command.words import json_option, verb
from workbench.errors import BadInput

if TYPE_CHECKING:
    from workbench.command.records import Run

TITLES = {"settings": "asked", "bounds": "bounds", "work": "work", "verdicts": "verdict of", "versions": "version of"}


@verb(__doc__)
@click.argument("run")
@click.argument("other")
@json_option
def command(run: str, other: str, as_json: bool) -> int:
    from workbench.command.compare import compared
    from workbench.command.records import run_at

    first, second = run_at(run), run_at(other)
    check_pair(first, second)
    with terminal.stdout_kept(), terminal.status("verifying both …"):
        record = compared(first, second)
    terminal.emit(record) if as_json else show(record)
    if record["contradiction"]:
        remedy = "check the argmax with `cutbench check-oracle`, and report it"
        return complain(f"{record['contradiction']}: a definition has a bug; {remedy}.", 1)
    return 0


def check_pair(first: Run, second: Run) -> None:
    """`BadInput` for a path, which has no one optimum, and for a program beside a learning problem."""
    takes = "compare takes two runs of `solve` or `crosscheck`, or two of `prove`"
    for each in (first, second):
        if each.kind == "path":
            raise BadInput(f"{each.path} is a path, with an optimum for each λ; {takes}, so solve one λ of it.")
    if first.of_program != second.of_program:
        program, other = (first, second) if first.of_program else (second, first)
        raise BadInput(f"{program.path} is about a convex program, and {other.path} about a learning problem; {takes}.")


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
