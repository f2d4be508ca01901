"""Prove the optimum of a convex program, or why it has none.

FILE is a program in MPS, QPS or LP format (also .gz), a Maros–Mészáros .mat, an .npz with P, q, A, b and cones, or a
Python file with a function program() that returns a cp.Problem; a Python file runs with your rights.

    cutbench prove afiro.mps.gz
    cutbench prove mine.py --backend all --json
"""

from __future__ import annotations

from typing import Any

import click

import workbench.command.records as records
import workbench.command.terminal as terminal
from workbench.command.exits import complain
from workbench.command.places import spare_folder
from workbench.command.words import json_option, overwrite_option, short_name, verb
from workbench.errors import counted

READING = click.Choice(["decimal", "float"])
UNSURE = 1e-6  # gap of a proven interval above which exit code 3 says that more is wanted


@verb(__doc__)
@click.argument("file")
@click.option("--reading", type=READING, help="What a float means.  [default: decimal in texts, float elsewhere]")
@click.option("--backend", metavar="NAME|all", help="The backend that proposes; `all` shows the error of each answer.")
@click.option("--time-limit", type=float, metavar="S", help="Seconds for the backends.")
@click.option("--out", metavar="DIR", help="Folder of the certificate.")
@overwrite_option
@json_option
def command(
    file: str,
    reading: str | None,
    backend: str | None,
    time_limit: float | None,
    out: str | None,
    overwrite: bool,
    as_json: bool,
) -> int:
    folder = None if out is None else spare_folder(out, overwrite, "prove.json", certificates=["certificate"])
    from workbench.programs.certificate import record
    from workbench.programs.prove import prove

    every = backend is not None and backend.lower() == "all"
    with terminal.stdout_kept(), terminal.status(f"{file} …"):
        program, own = found_in(file, reading)
        proof = prove(program, reading or own, None if every else backend, time_limit)
        fields = record(proof) | {"certificate": None}
        if folder is not None and proof.kind != "unknown":
            fields["certificate"] = terminal.shown_path(proof.save(folder / "certificate"))
        if every:
            from workbench.programs.accuracy import accuracy

            fields["rows"] = accuracy(proof, time_limit)
    if folder is not None and proof.kind != "unknown":
        records.keep("prove", {"program": short_name(file)} | fields, folder)
    terminal.emit(fields) if as_json else show(fields)
    if fields["kind"] == "infeasible" and not as_json:
        click.echo(f"  causes   cutbench infeasible {file}")
    return code_of(fields)


def found_in(file: str, wanted: str | None = None) -> tuple[Any, str]:
    """The compiled program of a file, and the reading that the file's format suggests; `wanted` comes first."""
    from workbench.programs.files import program_in

    program, reading = program_in(file)
    return compiled_of(program, wanted or reading), reading


def compiled_of(problem: Any, reading: str) -> Any:
    """The `Program` of a cp.Problem; a `Program` as it is."""
    from workbench.programs.program import Program

    if isinstance(problem, Program):
        return problem
    from workbench.programs.compiled import compiled

    return compiled(problem, reading).program


def code_of(fields: dict[str, Any]) -> int:
    if fields["kind"] == "unknown":
        return complain(f"{fields['remark']}; try another --backend or --reading, or `cutbench infeasible`.", 3)
    if fields["kind"] == "bounded" and (fields["gap"] is None or fields["gap"] > UNSURE):
        why = f" ({fields['remark']})" if fields["remark"] else ""
        return complain(f"the interval is wide{why}; bound all variables, or try another --backend.", 3)
    return 0


def sized(sizes: dict[str, int]) -> str:
    """The size of a program in words."""
    words = [counted(sizes[f"{one}s"], one) for one in ("variable", "row")]
    entries, objective = (counted(sizes[each], "entry") for each in ("entries", "objective_entries"))
    return f"{', '.join(words)}, {entries}, {objective} in the objective (bounds of variables are rows)"


def show(fields: dict[str, Any]) -> None:
    from workbench.programs.proof import FEW, LONG

    click.echo(fields["statement"])
    click.echo(f"  sizes    {sized(fields['sizes'])}")
    if fields["optimum"] is not None and len(fields["optimum"]) > LONG:
        shorter = "" if fields["reading"] == "decimal" else "; --reading decimal may give a shorter one"
        click.echo(f"  exactly  --json prints the whole fraction{shorter}")
    if fields["gap"] is not None and fields["optimum"] is None:
        click.echo(f"  gap      {terminal.small(fields['gap'])} relative")
    held = dict(sorted((fields["prices"] or {}).items(), key=lambda each: -abs(each[1])))
    for title, numbers, between in (("at", fields["solution"] or {}, " "), ("prices", held, ": ")):
        shown = ", ".join(f"{name}{between}{value:.6g}" for name, value in list(numbers.items())[:FEW])
        more = f", and {len(numbers) - FEW} more; --json prints all" if len(numbers) > FEW else ""
        if numbers:
            click.echo(f"  {title:<8} {shown}{more}")
    for sentence in fields["rounded"][:FEW]:
        click.echo(f"  rounded  {sentence}")
    if len(fields["rounded"]) > FEW:
        click.echo(f"  rounded  {len(fields['rounded']) - FEW} more; --json prints all")
    if fields["certificate"]:
        click.echo(f"  proof    {fields['certificate']}")
        click.echo(f"  check it: cutbench verify {fields['certificate']}")
    elif fields["proven"]:
        click.echo("  proof    nothing was written; --out DIR writes the certificate")
    click.echo(f"  program  sha256 {fields['program_sha256']}")
    if rows := fields.get("rows"):
        precise = [row | {"value": f"{row['value']:.12g}"} if isinstance(row["value"], float) else row for row in rows]
        terminal.table(list(rows[0]), [[terminal.cell(value) for value in row.values()] for row in precise])
