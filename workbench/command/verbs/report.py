"""Write one HTML page about a run.

RUN is a folder that `solve`, `crosscheck` or `prove` wrote with --out, its record (solve.json, crosscheck.json,
prove.json), a file with what --json printed, or a certificate: one of its two files, or their stem. The certificate is
verified anew. The page is one file that loads nothing: formulas, proof, verdicts with reasons and causes, figures,
versions, digests, commands to repeat.

    cutbench report runs/iris-soft-margin
    cutbench report judged --out verdicts.html
"""

from __future__ import annotations

import click

import workbench.command.terminal as terminal
from workbench.command.words import json_option, verb


@verb(__doc__)
@click.argument("run")
@click.option("--out", metavar="FILE.html", help="The page.  [default: report.html beside the record]")
@json_option
def command(run: str, out: str | None, as_json: bool) -> int:
    from workbench.command.records import run_at
    from workbench.command.reporting.contents import write_report

    found = run_at(run)
    page = terminal.usable_file(out or found.path.with_name("report.html"), "--out")
    with terminal.stdout_kept(), terminal.status(f"{found.path}: verifying …"):
        write_report(found.path, page)
    told = {"kind": found.kind, "record": terminal.shown_path(found.path), "report": terminal.shown_path(page)}
    terminal.emit(told) if as_json else click.echo(told["report"])
    return 0
