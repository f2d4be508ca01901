"""Prove a certificate again, without any solver.

CERTIFICATE is the JSON file, the npz file beside it, or the folder of both.

    cutbench verify runs/iris-soft-margin
    cutbench verify runs/mine-hard-margin --data mine.csv
"""

from __future__ import annotations

from typing import Any

import click

import workbench.command.terminal as terminal
from workbench.command.terminal import interval, shortened, small
from workbench.command.words import certificate_path, json_option, verb


@verb(__doc__)
@click.argument("certificate")
@click.option("--data", metavar="FILE", help="Also prove that the certificate is about this data file.")
@json_option
def command(certificate: str, data: str | None, as_json: bool) -> int:
    from workbench.proofs.certificate import verify

    result = verify(certificate_path(certificate), problem_in(data) if data else None, f"the data in {data}")
    terminal.emit(result) if as_json else print_proof(result)
    return 0 if result["proven"] else 1


def problem_in(path: str) -> Any:
    """The problem of a data file."""
    from workbench.data.readers import data_problem

    return data_problem(path)()


def print_proof(result: dict[str, Any]) -> None:
    click.echo(f"{'proven' if result['proven'] else 'NOT PROVEN'} in {result['arithmetic']} arithmetic")
    click.echo(f"  optimum  in {interval(result)}")
    if result["optimum"]:
        click.echo(f"  exactly  {shortened(result['optimum'])}")
    elif result["arithmetic"] == "rational":
        click.echo(f"  lower    {shortened(result['lower_exact'])}")
        click.echo(f"  upper    {shortened(result['upper_exact'])}")
    click.echo(f"  gap      {small(result['gap'])} relative")
    if result["about"]:
        click.echo(f"  of       {result['about']}")
    if result["reason"]:
        click.echo(f"  because  {result['reason']}")
    click.echo(f"  data     sha256 {result['data_sha256']}")
