"""Examine the installation: packages, backends, arithmetic, caches, data.

Each backend solves a problem of two samples, and floats must be those of IEEE 754. A remedy is
printed for everything that does not work.

    cutbench doctor
"""

from __future__ import annotations

from typing import Any

import click

import workbench.command.terminal as terminal
from workbench.command.terminal import small
from workbench.command.words import json_option, verb


@verb(__doc__)
@json_option
def command(as_json: bool) -> int:
    from workbench.command.doctor import examine, remedies

    with terminal.stdout_kept():
        report = examine()
    terminal.emit(report) if as_json else print_report(report, remedies(report))
    return 0 if report["ok"] else 1


def print_report(report: dict[str, Any], sentences: list[str]) -> None:
    click.echo(f"cutbench {report['cutbench'] or 'not installed'}, Python {report['python']}, {report['platform']}\n")
    packages = [[p["name"], p["version"] or "missing", p["extra"] or "core"] for p in report["packages"]]
    terminal.table(["package", "version", "brought by"], packages)
    backends = [[b["name"], b["version"], b["status"], b["gap"] and small(b["gap"])] for b in report["backends"]]
    terminal.table(["backend", "version", "two samples", "certified gap"], backends)
    floats = {where: each or "as IEEE 754 has them" for where, each in report["arithmetic"].items()}
    click.echo(f"floats         {', '.join(f'{where}: {each}' for where, each in floats.items())}")
    cache, data = report["numba_cache"], report["data"]
    click.echo(f"compiled code  {cache['folder']} ({'writable' if cache['writable'] else 'NOT writable'})")
    click.echo(f"data folder    {data['folder'] or 'not set; CUTBENCH_DATA=FOLDER names one'}")
    for sentence in sentences:
        click.echo(f"  {sentence}")
    click.echo("The core works." if report["ok"] else "The core does not work.")
