"""Predict for a data file with certified weights.

RESULT is a certificate, DATA a svmlight, CSV or npz file. Columns with names are matched by name,
svmlight's indices count from 0 or 1 as in the file learned from. Prints one output a line; if the
file holds labels too, the share of wrong ones goes to stderr.

    cutbench predict runs/train-soft-margin new.csv
"""

from __future__ import annotations

from typing import Any

import click

import workbench.command.terminal as terminal
from workbench.command.words import certificate_path, json_option, verb
from workbench.errors import MissingCapability


@verb(__doc__)
@click.argument("result")
@click.argument("data")
@json_option
def command(result: str, data: str, as_json: bool) -> int:
    from workbench.data.readers import read
    from workbench.outputs.multiclass import Multiclass
    from workbench.proofs.certificate import load

    path = certificate_path(result)
    certificate, _ = load(path)
    problem = certificate.problem
    if not isinstance(problem, Multiclass):
        raise MissingCapability(f"{path} is about {type(problem).__name__} outputs; predict reads tables only.")
    table = read(data, problem.n_inputs, problem.columns)
    parts = certificate.formulation.blocks(problem).split(certificate.theta)
    predictions = problem.predict(parts["w"], table.X, parts.get("b"))
    error = error_rate(predictions, table.y, problem.classes)
    if as_json:
        terminal.emit({"n_samples": len(predictions), "predictions": predictions, "error": error})
    else:
        click.echo("\n".join(map(str, predictions)))
        compare(error, len(predictions), table.y, problem.classes, data)
    return 0


def error_rate(predictions: Any, labels: Any, classes: Any) -> float | None:
    """The share of wrong predictions; None without labels, or with labels unknown to the weights."""
    if labels is None or len(labels) != len(predictions) or not set(labels.tolist()) <= set(classes.tolist()):
        return None
    return float((predictions != labels).mean())


def compare(error: float | None, count: int, labels: Any, classes: Any, data: str) -> None:
    """One line on stderr about the labels in the file: the share of wrong predictions, or why they were not compared."""
    if error is not None:
        click.echo(f"{100 * error:.2f} % of {count} differ from the labels in {data}", err=True)
    elif labels is not None and len(given := set(labels.tolist())) > 1:  # one label for all stands for none
        strange = sorted(map(str, given - set(classes.tolist())))
        click.echo(f"not compared with the labels in {data}: the weights do not know {', '.join(strange)}", err=True)
