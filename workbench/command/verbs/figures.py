"""Draw figures: PNG, SVG, and their data as CSV.

Without a NAME all figures are drawn.

    cutbench figures objective --out runs/figures
"""

from __future__ import annotations

import click

import workbench.command.terminal as terminal
from workbench.command.words import verb
from workbench.registries import registry


@verb(__doc__)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--out", default="runs/figures", show_default=True, metavar="DIR", help="Folder of the pictures.")
def command(names: tuple[str, ...], out: str) -> int:
    known = registry("figure")
    chosen = {name: known.get(name) for name in names or known.names()}
    folder = terminal.usable_folder(out)
    from workbench.command.pictures import make

    for path in make(list(chosen), folder):
        click.echo(terminal.shown_path(path))
    return 0
