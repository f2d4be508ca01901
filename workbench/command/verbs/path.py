"""Optima for every λ of a range, proven to a gap, with cross-validation.

Few values of λ are solved; mixtures of their points and duals prove bounds at all values in between, so the printed
ones are samples of the path. --folds K adds the mean held-out loss of K folds with a 95 % interval. --break-points
follows the exact path of a small problem (samples × weights up to 200000): between its break points dual weights are
affine in λ, and each segment is proven.

    cutbench path digits soft-margin --between 10 0.001 --epsilon 0.01
    cutbench path iris soft-margin --break-points --points 10
    cutbench path iris crf --points 20 --folds 5 --out paths/iris
"""

from __future__ import annotations

from typing import Any

import click

import workbench.command.records as records
import workbench.command.terminal as terminal
from workbench.command.places import spare_folder
from workbench.command.solutions import all_settings
from workbench.command.words import (
    data_option,
    json_option,
    names_of,
    overwrite_option,
    pair,
    pair_arguments,
    positive,
    verb,
)
from workbench.errors import BackendFailed, BadInput, MissingCapability, printed, shortened

SHOWN = {"lam": "{:.4g}".format, "lower": terminal.below, "upper": terminal.above, "gap": "{:.1e}".format}
SHOWN |= {"train_error": "{:.4g}".format}
LONGEST, MOST_CUTS = 24, 3  # characters of an output, and cuts of a break point, that a line shows
VALIDATED = dict.fromkeys(("loss", "low", "high"), "{:.4g}".format)


@verb(__doc__)
@pair_arguments
@click.option("--between", nargs=2, type=float, default=(10.0, 1e-3), show_default=True, help="The range of λ.")
@click.option(
    "--epsilon",
    "--gap",
    "epsilon",
    default=1e-2,
    show_default=True,
    help="Relative gap to prove for every λ of the range.",
)
@click.option("--points", default=50, show_default=True, help="Values of λ to print, at equal ratios.")
@click.option("--folds", type=int, metavar="K", help="Folds of a cross-validation.")
@click.option("--seed", default=0, show_default=True, help="Seed by which samples are dealt to folds.")
@click.option("--break-points", is_flag=True, help="Follow and list the exact break points of a small problem.")
@click.option("--out", metavar="DIR", help="Folder for the record, path.json, and the weights, path.npz.")
@overwrite_option
@data_option
@json_option
def command(
    problem: str,
    formulation: str,
    settings: tuple[str, ...],
    between: tuple[float, float],
    points: int,
    out: str | None,
    overwrite: bool,
    as_json: bool,
    **options: Any,
) -> int:
    data, form, source = pair(problem, formulation, settings)
    if any(each.partition("=")[0].strip() == "lam" for each in settings):
        raise BadInput("--set lam means nothing on a path, which has every λ; give the range by --between.")
    if not 2 <= points <= 100_000:
        raise BadInput(f"--points is {points}; give a whole number from 2 to 100000.")
    ends = positive("between", max(between)), positive("between", min(between))
    folder = None if out is None else spare_folder(out, overwrite, "path.json", "path.npz")
    record, thetas = followed(form, data, ends, points, options)
    kept = all_settings(form, {"settings": source})
    kept.pop("lam", None)
    record = names_of(problem, formulation) | {"n_samples": data.n_samples, "settings": kept} | record
    if folder is not None:
        save(folder, record, thetas)
    terminal.emit(record) if as_json else show(record)
    return 0


def followed(
    form: Any, data: Any, ends: tuple[float, float], points: int, options: dict[str, Any]
) -> tuple[dict[str, Any], Any]:
    """The record of a path, and θ at each printed λ (points, p)."""
    import numpy as np

    from workbench.solving.path import validated

    epsilon, folds = positive("epsilon", options["epsilon"]), options["folds"]
    with terminal.stdout_kept(), terminal.status("path …") as tell:

        def observe(entry: dict[str, Any]) -> None:
            if tell is not None:
                known = f"gap {entry['gap']:.1e}" if "gap" in entry else f"{entry['breaks']} break points"
                tell(f"path: λ = {entry['lam']:.4g}, {known}")

        found, broken = with_breaks(form, data, ends, epsilon, options["break_points"], observe)
        lams = np.clip(np.geomspace(*ends, points), ends[1], ends[0]).tolist()
        rows = [found.at(lam) for lam in lams]
        table = [{"lam": e.lam, "lower": e.lower, "upper": e.upper, "gap": e.gap} for e in rows]
        for row, error in zip(table, errors(found, rows), strict=True):
            row["train_error"] = error
        if folds is not None:
            if tell is not None:
                tell(f"{folds} folds …")
            told = validated(form, data, lams, folds, epsilon, options["seed"])
            table = [row | {key: each[key] for key in VALIDATED} for row, each in zip(table, told, strict=True)]
    record = {"epsilon": epsilon, "gap": found.gap, "greatest": ends[0], "least": ends[1]}
    record |= {"solved": len(found.knots), "cells": found.pieces} | broken
    return record | {"cpu_seconds": found.cpu_seconds, "points": table}, np.array([each.theta for each in rows])


def with_breaks(
    form: Any, data: Any, ends: tuple[float, float], epsilon: float, wanted: bool, observe: Any
) -> tuple[Any, dict[str, Any]]:
    """The path, exact if break points are asked for and exist, and what the record says about break points."""
    from workbench.solving.break_points import break_points
    from workbench.solving.path import path

    told: dict[str, Any] = {}
    if wanted:
        try:
            found = break_points(form, data, *ends, observe=observe)
            return found, {"exact": found.exact, "break_points": listed(found)}
        except (MissingCapability, BackendFailed) as missing:
            told = {"exact": False, "break_points_missing": str(missing)}
    return path(form, data, *ends, epsilon=epsilon, observe=observe), told


def listed(found: Any) -> list[dict[str, Any]]:
    """One dict a break point, by falling λ: the cuts that enter and leave, as sample and output, and how many hold."""
    cuts, problem = found.cuts, found.problem

    def words(ids: list[int]) -> list[dict[str, Any]]:
        samples = cuts.samples[ids].tolist()
        outputs = [printed(problem.describe(i, cuts.witnesses[k])) for i, k in zip(samples, ids, strict=True)]
        return [{"sample": i, "output": each} for i, each in zip(samples, outputs, strict=True)]

    rows = [{"lam": each.lam, "enters": words(each.enters), "leaves": words(each.leaves)} for each in found.breaks]
    return [row | {"active": each.active} for row, each in zip(rows, found.breaks, strict=True)]


def errors(found: Any, points: list[Any]) -> list[float]:
    """The mean training loss at each point."""
    import numpy as np

    from workbench.proofs.any_bounds import bounds_for

    problem, everyone = found.problem, np.arange(found.problem.n_samples)
    oracle = bounds_for(found.formulation, problem).oracle
    return [float(problem.loss(everyone, oracle.decode(each.theta, everyone)).mean()) for each in points]


def save(folder: Any, record: dict[str, Any], thetas: Any) -> None:
    """Write path.json and path.npz, in which `theta` (points, p) belongs to `lam` (points,)."""
    import io

    import numpy as np

    from workbench.proofs.files import write_whole

    buffer = io.BytesIO()
    np.savez_compressed(buffer, lam=np.array([row["lam"] for row in record["points"]]), theta=thetas)
    records.keep("path", record, folder)
    write_whole(folder / "path.npz", buffer.getvalue())


def show(record: dict[str, Any]) -> None:
    """Print the table, and what is proven of the whole range."""
    shapes = SHOWN | (VALIDATED if "loss" in record["points"][0] else {})
    names = {"loss": "held-out loss", "low": "from", "high": "to", "train_error": "train error"}
    cells = [[shape(row[key]) for key, shape in shapes.items()] for row in record["points"]]
    if record.get("break_points"):
        show_breaks(record["break_points"])
    terminal.table([names.get(key, key) for key in shapes], cells)
    if "break_points_missing" in record:
        click.echo(f"No break points: {record['break_points_missing']}")
    range_ = f"every λ from {record['least']:g} to {record['greatest']:g}"
    click.echo(f"{record['problem']} {record['formulation']}: {range_} to a relative gap of {record['gap']:.1e},")
    if "break_points" in record:
        kind = "exact" if record["exact"] else "not exact to 1e-7"
        click.echo(
            f"{len(record['break_points'])} break points, {kind} between them; {record['cpu_seconds']:.2f} s CPU"
        )
    else:
        click.echo(f"by {record['solved']} solved values and mixtures of them; {record['cpu_seconds']:.2f} s CPU")
    if "loss" in record["points"][0]:
        best = min(record["points"], key=lambda row: row["loss"])
        around = f"in [{best['low']:.4g}, {best['high']:.4g}]"
        click.echo(f"least held-out loss {best['loss']:.4g}, {around}, at λ = {best['lam']:.4g}")


def show_breaks(rows: list[dict[str, Any]]) -> None:
    """Print the break points by falling λ; the cuts as sample and output."""

    def words(cuts: list[dict[str, Any]]) -> str:
        told = [f"{cut['sample']}: {shortened(cut['output'], LONGEST)}" for cut in cuts[:MOST_CUTS]]
        return ", ".join(told) + (f" and {len(cuts) - MOST_CUTS} more" if len(cuts) > MOST_CUTS else "")

    cells = [[f"{row['lam']:.10g}", words(row["enters"]), words(row["leaves"]), str(row["active"])] for row in rows]
    terminal.table(["break point λ", "cuts that enter", "cuts that leave", "active"], cells)
