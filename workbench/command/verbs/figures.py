"""Draw figures: PNG, SVG, and their data as CSV.

Without a NAME all figures are drawn. With --run those that fit are drawn from runs of your own, and the tables in
their records are written as CSV, too: histories, learners, points of a path, backends. Everything goes to runs/figures,
not beside the run, unless --out names another folder.

    cutbench figures gap-curves --out runs/figures
    cutbench figures judged --run runs/iris-soft-margin --run judged
"""

from __future__ import annotations

import click

import workbench.command.terminal as terminal
from workbench.command.words import verb
from workbench.registries import registry


@verb(__doc__)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--run", "runs", multiple=True, metavar="RUN", help="Draw from this folder or record; may be repeated.")
@click.option("--out", default="runs/figures", show_default=True, metavar="DIR", help="Folder of the pictures.")
def command(names: tuple[str, ...], runs: tuple[str, ...], out: str) -> int:
    known = registry("figure")
    chosen = {name: known.get(name) for name in names or known.names()}
    folder = terminal.usable_folder(out)
    from workbench.command.pictures import make, make_of
    from workbench.command.records import run_at
    from workbench.command.tables import write_tables

    if runs:
        found = [run_at(word) for word in runs]
        paths = [*make_of(list(chosen) if names else None, [each.record for each in found], folder)]
        paths += write_tables(found, folder)
    else:
        paths = make(list(chosen), folder)
    for path in paths:
        click.echo(terminal.shown_path(path))
    return 0
