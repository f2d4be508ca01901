"""Run benchmarks of a checkout.

Without a NAME all benchmarks run. The exit code is 1 if a benchmark reports failures; a benchmark that
cannot run prints the reason, and the next one starts. Ctrl-C and --time-limit keep the results so far;
with --out `cutbench resume` goes on with the benchmarks that are missing.

    cutbench bench speed --json
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

import workbench.command.terminal as terminal
from workbench.command.continuing import begun
from workbench.command.exits import INTERRUPTED, complain
from workbench.command.places import spare_folder
from workbench.command.solutions import resumable
from workbench.command.verbs.list import entry
from workbench.command.words import json_option, overwrite_option, verb
from workbench.errors import CutbenchError
from workbench.registries import build, parse_settings, present, registry
from workbench.system.alarm import TimeIsUp

if TYPE_CHECKING:
    from workbench.system.journal import Journal


class Benchmarks(click.Command):
    """A verb whose help ends with the benchmarks of this installation."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        found = registry("benchmark").items() if present("benchmark") else []
        with formatter.section("Benchmarks"):
            formatter.write_dl([(name, entry("benchmark", name, obj)["summary"]) for name, obj in found])


@verb(__doc__, cls=Benchmarks)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the benchmark.")
@click.option("--out", metavar="DIR", help="Folder for the results, which `cutbench resume` continues.")
@overwrite_option
@json_option
def command(names: tuple[str, ...], settings: tuple[str, ...], out: str | None, overwrite: bool, as_json: bool) -> int:
    words = {"names": names, "settings": settings}
    if out is None:
        return continued(words, None, as_json)
    from workbench.system.journal import LINES

    folder = spare_folder(out, overwrite, f"journal/{LINES}")
    with resumable(folder), begun(folder, "bench", words) as journal:
        return continued(words, journal, as_json)


def continued(words: dict[str, Any], journal: Journal | None, as_json: bool) -> int:
    """Run the benchmarks of which the journal has no record, and print all; returns the exit code."""
    names, settings = words["names"], words["settings"]
    known = registry("benchmark")
    chosen = {name: known.get(name) for name in names or known.names()}
    plans = [(name, obj, parse_settings(settings, obj)[0]) for name, obj in chosen.items()]
    done = {line.numbers["name"]: line.numbers["record"] for line in journal.of("row")} if journal else {}
    results: dict[str, dict[str, Any]] = {}
    late, code = "", INTERRUPTED
    for name, obj, given in plans:
        fresh = False
        try:
            for record in [done[name]] if name in done else watched(name, obj, given):
                results[name] = record
            fresh = name not in done
        except KeyboardInterrupt:
            late, results[name] = name, results.get(name, {}) | {"interrupted": True}
        except TimeIsUp:
            late, code, results[name] = name, 3, results.get(name, {}) | {"limit": True}
        except CutbenchError as error:
            if len(plans) == 1:
                raise
            results[name] = {"failed": 1, "error": str(error)}
        if not as_json:
            click.echo(name)
            terminal.facts(results[name])
        if journal and fresh:  # a disk that is full is no failure of the benchmark
            journal.append("row", {"name": name, "record": terminal.plain(results[name])})
        if late:
            break
    if as_json:
        terminal.emit(results[names[0]] if len(names) == 1 else results)
    if late:
        what = "interrupted" if code == INTERRUPTED else "the time limit came"
        return complain(f"{what} in {late}, benchmark {len(results)} of {len(plans)}.", code)
    if journal and not journal.finished:
        journal.append("end", {})
    return int(any(result.get("failed") for result in results.values()))


def watched(name: str, benchmark: Any, settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The records of one benchmark, each more complete than the last, with progress on a terminal."""
    with terminal.stdout_kept(), terminal.status(f"{name} …") as show:
        made = build(benchmark, settings)
        records: Any = made if inspect.isgenerator(made) else [made]
        for record in records:
            if show and "finished" in record:
                show(f"{name}: {record['finished']} …")
            yield record
