"""Check features, loss and argmax of PROBLEM.

The argmax is asked at weights of many kinds, and its answer is compared with every known output. A fault is
certain: the sentence names the sample and the evidence. Without a fault the functions may still be wrong, unless the
problem lists its candidates.

    cutbench check-oracle ./mine.py
    cutbench check-oracle ./mine.py --seconds 60 --json
"""

from __future__ import annotations

from typing import Any

import click

import workbench.command.terminal as terminal
from workbench.command.words import data_option, json_option, positive, problem_of, verb
from workbench.errors import BadInput, checked_whole
from workbench.registries import build, parse_settings


@verb(__doc__)
@click.argument("problem")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the problem.")
@click.option("--seconds", default=10.0, show_default=True, help="Seconds of trials.")
@click.option("--patience", default=10.0, show_default=True, metavar="S", help="Longer calls count as hung.")
@click.option("--seed", default=0, show_default=True, help="Seed of weights and samples.")
@data_option
@json_option
def command(problem: str, settings: tuple[str, ...], seconds: float, patience: float, seed: int, as_json: bool) -> int:
    positive("seconds", seconds)
    positive("patience", patience)
    checked_whole(0, seed=seed)
    with terminal.stdout_kept(), terminal.status(f"{problem} …"):
        report = tried(problem, settings, seconds, patience, seed)
    terminal.emit(report) if as_json else print_report(report)
    return 0 if report["ok"] else 1


def tried(problem: str, settings: tuple[str, ...], seconds: float, patience: float, seed: int) -> dict[str, Any]:
    """The record of `--json`; a problem that fails while it is built has that fault."""
    from workbench.data.loading import load_problem
    from workbench.judging.oracle_check import check
    from workbench.system.alarm import Late, alarm

    source = load_problem(problem)
    values = parse_settings(settings, source)[0]
    try:
        with alarm(6 * patience):
            data = problem_of(build(source, values), problem)
    except Late:
        raise BadInput(f"{problem} was not built within {6 * patience:g} s; check features and loss.") from None
    report = check(data, seconds, seed, patience)
    return {
        "ok": report.ok,
        "faults": [each._asdict() for each in report.faults],
        "answers": report.tried,
        "samples": report.samples,
        "n_samples": report.n_samples,
        "decided": report.decided,
        "summary": str(report),
    }


def print_report(report: dict[str, Any]) -> None:
    for fault in report["faults"]:
        click.echo(f"{fault['name']}: {fault['sentence']}")
    if report["ok"]:
        click.echo(report["summary"])
