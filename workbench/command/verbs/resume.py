"""Continue an interrupted run.

RUN is the folder of a `solve`, `crosscheck` or `bench` that was interrupted, killed, or ended by a
limit. Problem files are read again and must hold the same data. The limits of that run no longer apply.

    cutbench resume runs/digits-soft-margin --time-limit 60
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import workbench.command.terminal as terminal
from workbench.command.exits import complain
from workbench.command.records import REFERENCE
from workbench.command.solutions import FolderRun, installed_backends, resumable
from workbench.command.words import data_option, json_option, limits, problem_of, short_name, verb
from workbench.data.loading import load_problem
from workbench.errors import BadInput, MissingCapability
from workbench.registries import build, is_path, registry


@verb(__doc__)
@click.argument("run")
@click.option("--gap", type=float, help="Relative gap to prove.  [default: as before]")
@click.option("--time-limit", type=float, metavar="S", help="Stop after S more seconds.")
@click.option("--max-rounds", type=int, metavar="N", help="Stop after N more rounds of cuts.")
@click.option("--parallel", metavar="SPEC", help="Workers: local:N, or dask://HOST:PORT.")
@click.option("--threads", type=int, metavar="N", help="Sweeps and passes of a compiled oracle in N threads.")
@data_option
@json_option
def command(
    run: str,
    gap: float | None,
    time_limit: float | None,
    max_rounds: int | None,
    parallel: str | None,
    threads: int | None,
    as_json: bool,
) -> int:
    from workbench.command.continuing import described, go_on
    from workbench.system.journal import Journal

    given = {key: value for key, value in limits(gap, time_limit, max_rounds).items() if value is not None}
    with resumable(Path(run)), Journal.resume(run) as journal:
        if (verb := described(journal)) != "solve":
            check_certificates(Path(run), [Path(REFERENCE).stem] if verb == "crosscheck" else [])
            return go_on(journal, verb, time_limit, as_json)
        every = journal.settings["options"]["backend"] == "all"
        check_certificates(Path(run), [name.lower() for name in installed_backends()] if every else ["certificate"])
        again, workers = continued(run, journal, as_json), {"parallel": parallel, "threads": threads}
        options = journal.settings["options"] | given | workers
        if journal.finished and (gap is None or gap >= journal.entries[-1].numbers.get("gap", 0)):
            complain(f"the run in {run} is finished; this is its result.", 0)
        if every:
            return again.by_all(options, journal)
        return again.by_one(options | {"journal": journal})


def check_certificates(run: Path, stems: list[str]) -> None:
    """`BadInput` before the work if a file in the place of a certificate of this run is none, as if cut short."""
    from workbench.proofs.files import calls_itself_certificate, files_of, holds_certificate

    for stem in stems:
        for path, sound in zip(files_of(run / stem), (calls_itself_certificate, holds_certificate), strict=True):
            if path.exists() and not sound(path):
                shown = terminal.shown_path(run)
                raise BadInput(
                    f"{terminal.shown_path(path)}, which this run writes, is damaged; delete it and run `cutbench "
                    f"resume {shown}` again."
                )


def continued(run: str, journal: Any, as_json: bool) -> FolderRun:
    """The run that the journal's first line describes; the problem is read again."""
    source, formulation = journal.settings["source"], journal.settings["formulation"]
    if "name" not in source:
        raise MissingCapability(
            f"The run in {run} was begun in Python; continue there, with solve(…, journal=Journal.resume({run!r}))."
        )
    place = Path(journal.settings["folder"], source["name"]) if is_path(source["name"]) else source["name"]
    data = problem_of(build(load_problem(place), source.get("settings", {})), source["name"])
    form = build(registry("formulation").get(formulation["name"]), formulation["settings"])
    names = {"problem": short_name(source["name"]), "formulation": formulation["name"]}
    return FolderRun(Path(run), data, form, names, source, as_json)
