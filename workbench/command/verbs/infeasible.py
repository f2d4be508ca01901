"""Find an irreducible set of constraints that contradict one another.

FILE is read as by `cutbench prove`. Prints the constraints by name, whether each is proven necessary, and the least
change of right-hand sides that would make them agree. Exit code 0 if they are proven to contradict one another, 1 if
the program is proven to have a solution.

    cutbench infeasible mine.py
    cutbench infeasible woodinfe.mps.gz --json
"""

from __future__ import annotations

from typing import Any

import click

import workbench.command.terminal as terminal
from workbench.command.verbs.prove import READING, compiled_of, sized
from workbench.command.words import json_option, verb


@verb(__doc__)
@click.argument("file")
@click.option("--reading", type=READING, help="What a float means.  [default: decimal in texts, float elsewhere]")
@click.option("--backend", metavar="NAME", help="The backend that proposes.")
@json_option
def command(file: str, reading: str | None, backend: str | None, as_json: bool) -> int:
    from workbench.programs.explain import infeasible
    from workbench.programs.files import program_in

    with terminal.stdout_kept(), terminal.status(f"{file} …"):
        program, own = program_in(file)
        conflict = infeasible(program, reading or own, backend)
        sizes = compiled_of(program, reading or own).sizes
    if conflict is None:
        fields: dict[str, Any] = {"kind": "feasible", "proven": True, "because": [], "irreducible": None}
    else:
        parts = {"multipliers": conflict.multipliers, "changes": conflict.changes}
        fields = {"kind": "infeasible", "proven": True, "because": conflict.names, "irreducible": conflict.irreducible}
        fields |= {
            **parts,
            "rounded": list(conflict.rounded),
            "program_sha256": conflict.proof.program.sha256,
            "reading": conflict.proof.reading,
        }
    fields["sizes"] = sizes
    if as_json:
        terminal.emit(fields)
    else:
        click.echo("The constraints have a solution, so none contradict." if conflict is None else str(conflict))
        click.echo(f"  sizes    {sized(sizes)}")
    return 1 if conflict is None else 0
