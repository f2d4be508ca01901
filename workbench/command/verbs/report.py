"""Write one HTML page about a run.

RUN is a folder that `solve`, `crosscheck` or `prove` wrote with --out, its record (solve.json, crosscheck.json,
prove.json), a file with what --json printed, or a certificate: one of its two files, or their stem. The certificate is
verified anew. The page is one file that loads nothing: formulas, proof, verdicts with reasons and causes, figures,
versions, digests, commands to repeat.

Without --out the page stands beside the record: report.html in the folder of a run, else NAME.html for NAME.json.

    cutbench report runs/iris-soft-margin
    cutbench report judged --out verdicts.html
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import workbench.command.terminal as terminal
from workbench.command.words import json_option, overwrite_option, verb

if TYPE_CHECKING:
    from workbench.command.records import Run


@verb(__doc__)
@click.argument("run")
@click.option("--out", metavar="FILE.html", help="The page.  [default: beside the record, as report.html]")
@overwrite_option
@json_option
def command(run: str, out: str | None, overwrite: bool, as_json: bool) -> int:
    from workbench.command.places import spare_page
    from workbench.command.records import run_at
    from workbench.command.reporting.contents import write_report

    found = run_at(run)
    place = found.path.with_name(page_name(run, found)) if out is None else Path(out)
    told = "" if out is not None else f"this page replaces the one in {terminal.shown_path(place)}; --out keeps both"
    page = spare_page(place, "--out", overwrite, read_for(found), told)
    with terminal.stdout_kept(), terminal.status(f"{found.path}: verifying …"):
        write_report(found.path, page)
    told = {"kind": found.kind, "record": terminal.shown_path(found.path), "report": terminal.shown_path(page)}
    terminal.emit(told) if as_json else click.echo(told["report"])
    return 0


def page_name(word: str, found: Run) -> str:
    """report.html for the one run of a folder; NAME.html for the file NAME.json, of which a folder can hold several."""
    from workbench.command.records import runs_in

    if Path(word).is_dir():
        return "report.html"
    alone = found.path.stem == found.kind and [each.path for each in runs_in(found.path.parent)] == [found.path]
    return "report.html" if alone else f"{found.path.stem}.html"


def read_for(found: Run) -> list[Path]:
    """The files that the page is written from: the record, and both files of the certificate."""
    from workbench.proofs.files import files_of

    return [found.path, *(files_of(found.certificate) if found.certificate else ())]
