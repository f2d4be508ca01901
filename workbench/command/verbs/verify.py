"""Prove a certificate again, without any solver.

CERTIFICATE is the JSON file, the npz file beside it, or the folder of both.

    cutbench verify runs/iris-soft-margin
    cutbench verify runs/mine-hard-margin --data mine.csv
    cutbench verify runs/trees-soft-margin --problem trees.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import workbench.command.terminal as terminal
from workbench.command.terminal import interval, shortened, small
from workbench.command.words import certificate_path, json_option, problem_of, verb
from workbench.errors import BadInput
from workbench.registries import build


@verb(__doc__)
@click.argument("certificate")
@click.option("--data", metavar="FILE", help="Also prove that the certificate is about this data file.")
@click.option("--problem", metavar="FILE", help="Also prove that it is about the problem of this Python file.")
@json_option
def command(certificate: str, data: str | None, problem: str | None, as_json: bool) -> int:
    from workbench.proofs.certificate import verify

    path = certificate_path(certificate)
    if data and problem:
        raise BadInput("Both --data and --problem say what the certificate is about; give one.")
    given = problem_in(data) if data else problem_of_file(problem, path) if problem else None
    result = verify(path, given, f"the data in {data or problem}")
    terminal.emit(result) if as_json else print_proof(result)
    return 0 if result["proven"] else 1


def problem_in(path: str) -> Any:
    """The problem of a data file."""
    from workbench.data.readers import data_problem

    return data_problem(path)()


def problem_of_file(problem: str, path: Path) -> Any:
    """The problem of a Python file, built with the settings that the certificate names."""
    from workbench.data.loading import load_problem
    from workbench.proofs.certificate import header_of

    source = load_problem(problem)
    settings = header_of(path)["problem"].get("settings", {})
    with terminal.stdout_kept():
        return problem_of(build(source, settings if isinstance(settings, dict) else {}), problem)


def print_proof(result: dict[str, Any]) -> None:
    conditional = result["conditional_on"] and not result["faults"]
    word = "proven" if result["proven"] else "CONDITIONAL" if conditional else "NOT PROVEN"
    click.echo(f"{word} in {result['arithmetic']} arithmetic")
    click.echo(f"  optimum  in {interval(result)}")
    if result["optimum"]:
        click.echo(f"  exactly  {shortened(result['optimum'])}")
    elif result["arithmetic"] == "rational":
        click.echo(f"  lower    {shortened(result['lower_exact'])}")
        click.echo(f"  upper    {shortened(result['upper_exact'])}")
    click.echo(f"  gap      {small(result['gap'])} relative")
    if result["about"]:
        click.echo(f"  of       {result['about']}")
    for condition in result["conditional_on"]:
        click.echo(f"  if       {condition}")
    if result["reason"]:
        click.echo(f"  because  {result['reason']}")
    click.echo(f"  data     sha256 {result['data_sha256']}")
