"""Solve PROBLEM under FORMULATION to a proven gap.

The journal in the folder keeps each finished round: `cutbench resume` continues a run that was
interrupted, killed or ended by a limit. FORMULATION may be a Python file with a class whose only
method is program(problem, cuts), a CVXPY text; it runs with your rights.

    cutbench solve iris soft-margin --set lam=0.01 --gap 1e-6
    cutbench solve mine.csv hard-margin --backend all
    cutbench solve mine.csv ./sparse_margin.py
"""

from __future__ import annotations

from pathlib import Path

import click

import workbench.command.places as places
from workbench.command.solutions import FolderRun, installed_backends, resumable
from workbench.command.words import (
    data_option,
    json_option,
    limits,
    nameable,
    names_of,
    overwrite_option,
    pair,
    pair_arguments,
    verb,
)


@verb(__doc__)
@pair_arguments
@click.option("--gap", default=1e-9, show_default=True, help="Relative gap to prove.")
@click.option("--backend", metavar="NAME|all", help="The convex solver; `all` asks every installed backend.")
@click.option("--groups", metavar="one|all|N", help="Rows a round: one (one-slack) to all (n-slack, the default).")
@click.option("--time-limit", type=float, metavar="S", help="Stop after S seconds.")
@click.option("--max-rounds", type=int, metavar="N", help="Stop after N rounds of cuts.")
@click.option("--parallel", metavar="SPEC", help="Workers: local:N, or dask://HOST:PORT.")
@click.option("--threads", type=int, metavar="N", help="Sweeps and passes of a compiled oracle in N threads.")
@click.option("--polish", is_flag=True, help="Afterwards look for the exact optimum, a fraction.")
@click.option("--out", metavar="DIR", help="Folder of the certificate.  [default: runs/PROBLEM-FORMULATION]")
@overwrite_option
@data_option
@json_option
def command(
    problem: str,
    formulation: str,
    settings: tuple[str, ...],
    gap: float,
    backend: str | None,
    groups: str | None,
    time_limit: float | None,
    max_rounds: int | None,
    parallel: str | None,
    threads: int | None,
    polish: bool,
    out: str | None,
    overwrite: bool,
    as_json: bool,
) -> int:
    from workbench.contracts import text_alone
    from workbench.solving.request import Request

    data, form, source = pair(problem, formulation, settings)
    nameable(data, form)
    names = names_of(problem, formulation)
    options = limits(gap, time_limit, max_rounds) | {"groups": groups, "polish": polish}
    options |= {"parallel": parallel, "threads": threads}
    every = backend is not None and backend.lower() == "all"
    Request(backend=None if every else backend, **options)  # refuses before the folder is touched
    stems = ["certificate", *(each.lower() for each in installed_backends() if every)]
    folder = own_folder(out, names, overwrite, stems)
    run = FolderRun(folder, data, form, names, {"name": problem, "settings": source}, as_json)
    with resumable(folder):
        if every:
            return run.by_all(options)
        kept = {} if text_alone(form) else {"journal": folder}
        return run.by_one({"backend": backend, **options, **kept})


def own_folder(out: str | None, names: dict[str, str], overwrite: bool, stems: list[str]) -> Path:
    """The folder of --out, or the default one, in which this run's files may be written."""
    place = Path("runs") / "-".join(names.values()) if out is None else out
    files = "certificate.json", "solve.json", "learned.npz"
    return places.spare_folder(place, overwrite, *files, default=out is None, certificates=stems)
