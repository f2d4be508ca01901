"""Small real data: proven, cross-checked, drawn.

Certificates and figures are left in the folder of --out.

    cutbench demo --out runs/demo
"""

from __future__ import annotations

from pathlib import Path

import click

import workbench.command.terminal as terminal
from workbench.command.words import overwrite_option, verb

DEFAULT = "runs/demo"


@verb(__doc__)
@click.option("--out", metavar="DIR", help=f"Folder of its files.  [default: {DEFAULT}]")
@overwrite_option
def command(out: str | None, overwrite: bool) -> int:
    folder = terminal.usable_folder(DEFAULT if out is None else out)
    from workbench.command.demo import FIGURES, main
    from workbench.command.places import spare

    told = f"this story replaces the one in {terminal.shown_path(folder)}; --out keeps both" if out is None else ""
    spare(held_in(folder, FIGURES), "--out", overwrite, told, what="folder", goods="the story", ours=ours)
    return main(folder)


def held_in(folder: Path, figures: tuple[str, ...]) -> list[Path]:
    """The files of the folder that the story could replace: certificates, and figures of these names."""
    certificates = [path for path in sorted((folder / "certificates").glob("*")) if path.suffix in (".json", ".npz")]
    return certificates + [path for path in sorted((folder / "figures").glob("*")) if path.stem in figures]


def ours(path: Path) -> bool:
    from workbench.command.places import is_figure, is_ours

    return is_ours(path) if path.parent.name == "certificates" else is_figure(path)
