"""Small real data: proven, cross-checked, drawn.

Certificates and figures are left in the folder of --out.

    cutbench demo --out runs/demo
"""

from __future__ import annotations

import click

import workbench.command.terminal as terminal
from workbench.command.words import verb


@verb(__doc__)
@click.option("--out", default="runs/demo", show_default=True, metavar="DIR", help="Folder of its files.")
def command(out: str) -> int:
    folder = terminal.usable_folder(out)
    from workbench.command.demo import main

    return main(folder)
