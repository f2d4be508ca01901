"""Draw figures: PNG, SVG, and their data as CSV.

Without a NAME all figures are drawn. With --run those that fit are drawn from runs of your own, and the tables in
their records are written as CSV, too: histories, learners, points of a path, backends. Everything goes to runs/figures,
not beside the run, unless --out names another folder.

    cutbench figures gap-curves --out runs/figures
    cutbench figures judged --run runs/iris-soft-margin --run judged
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import workbench.command.terminal as terminal
from workbench.command.words import overwrite_option, verb
from workbench.registries import registry

if TYPE_CHECKING:
    from workbench.command.pictures import Arrays

DEFAULT = "runs/figures"


@verb(__doc__)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--run", "runs", multiple=True, metavar="RUN", help="Draw from this folder or record; may be repeated.")
@click.option("--out", metavar="DIR", help=f"Folder of the pictures.  [default: {DEFAULT}]")
@overwrite_option
def command(names: tuple[str, ...], runs: tuple[str, ...], out: str | None, overwrite: bool) -> int:
    known = registry("figure")
    chosen = {name: known.get(name) for name in names or known.names()}
    folder = terminal.usable_folder(DEFAULT if out is None else out)
    from workbench.command.pictures import draw_all, fitting, make
    from workbench.command.records import run_at
    from workbench.command.tables import save_tables, tables_of

    drawn: dict[str, Arrays] = {}
    tables: dict[str, str] = {}
    if runs:
        found = [run_at(word) for word in runs]
        drawn, tables = fitting(list(chosen) if names else None, [each.record for each in found]), tables_of(found)
    spare_pictures(folder, list(drawn or chosen), tables, overwrite, default=out is None)
    for path in draw_all(drawn, folder) + save_tables(tables, folder) if runs else make(list(chosen), folder):
        click.echo(terminal.shown_path(path))
    return 0


def spare_pictures(folder: Path, names: list[str], tables: dict[str, str], overwrite: bool, default: bool) -> None:
    """`BadInput` unless the files of these figures and tables may be written; in the default folder they replace
    figures of three files, and tables with the same columns.
    """
    from workbench.command.pictures import SUFFIXES
    from workbench.command.places import is_figure, spare

    def ours(path: Path) -> bool:
        if path.name not in tables:
            return is_figure(path)
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline().rstrip() == tables[path.name].partition("\n")[0].rstrip()

    told = f"these figures replace those in {terminal.shown_path(folder)}; --out keeps both" if default else ""
    files = [*(f"{name}.{suffix}" for name in names for suffix in SUFFIXES), *tables]
    spare([folder / name for name in files], "--out", overwrite, told, what="folder", goods="them", ours=ours)
