"""Show which samples and cuts hold an optimum.

CERTIFICATE is the JSON file, the npz file beside it, or the folder of both. A sample holds the optimum if outputs other
than the truth have dual weight: these are the support vectors of a structured model. Each is shown with its outputs,
their dual weights, and proven bounds on the change of the optimum, and of the weights, if the sample left; as a
picture, too, where its inputs are pixels, and with its line or file, where these are known. Of long outputs the two
ends are shown; --json has them whole.

    cutbench explain runs/iris-soft-margin
    cutbench explain runs/digits-soft-margin --most 3 --json
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

import workbench.command.terminal as terminal
from workbench.command.terminal import interval, small, tidy
from workbench.command.words import certificate_path, json_option, positive, verb
from workbench.errors import shortened

SHOWN = 120  # characters of an output
DISTRIBUTION = "the model's distribution"  # what stands for the outputs of a likelihood (proofs/support.py)


@verb(__doc__)
@click.argument("certificate")
@click.option("--most", default=10, show_default=True, metavar="N", help="Samples shown, by falling pull.")
@json_option
def command(certificate: str, most: int, as_json: bool) -> int:
    from workbench.contracts import Sourced
    from workbench.proofs.certificate import load
    from workbench.proofs.support import explain

    path = certificate_path(certificate)
    held, header = load(path)
    with terminal.stdout_kept(), terminal.status(f"{path} …"):
        found = explain(held, positive("most", most))
    record = {"certificate": terminal.shown_path(path), "formulation": header["formulation"]["name"]}
    record["about"] = header.get("alternation")
    record |= {"settings": header["formulation"]["settings"], "data_sha256": header["data_sha256"]} | asdict(found)
    if isinstance(held.problem, Sourced):
        for each in record["samples"]:
            each["where"] = held.problem.where(each["sample"])
    terminal.emit(record) if as_json else show(record, held.problem)
    return 0


def show(record: dict[str, Any], problem: Any) -> None:
    """Print the counts, then each sample with its picture, where it has one, and its outputs."""
    from workbench.command.drawn import lines, output_picture, pictures, words

    click.echo(f"{record['formulation']}: optimum in {interval(record)}")
    if record["about"]:
        click.echo(f"  of the last convex program of {record['about']['formulation']}, which is not proven as a whole")
    held, full = record["support"], record["full"]
    smooth = any(cut["output"].startswith(DISTRIBUTION) for each in record["samples"] for cut in each["cuts"])
    which = f"{held} of {record['n_samples']} samples"
    parts = f"{full} with all of their weight, {held - full} with a part"
    if smooth:
        click.echo(f"  {which} hold the optimum: in a likelihood each has all of its weight on {DISTRIBUTION}")
    else:
        click.echo(f"  {which} are support vectors, with {record['cuts']} cuts: {parts}")
    if record["samples"]:
        click.echo("  pull: how strongly a sample moves θ; h: the sample's term of the objective; samples count from 0")
        click.echo("  " + ("h = −log p(truth)" if smooth else "at θ: the height of a cut"))
    for each in record["samples"]:
        share = "" if smooth else f"{100 * each['share']:.3g} % of its weight on other outputs, "
        truth, numbers = shortened(each["truth"], SHOWN), f"pull {each['pull']:.2e}, h = {tidy(each['hinge'])}"
        where = f" ({shortened(each['where'], SHOWN)})" if each.get("where") else ""
        click.echo(f"\n  sample {each['sample']}{where}: {truth}; {share}{numbers}")
        sample = each["sample"]
        if text := words(problem, sample):
            click.echo(f"      {shortened(text, SHOWN)}")
        for line in lines(pictures(problem, sample) or output_picture(problem, sample, problem.truth[sample])):
            click.echo(f"      {line}".rstrip())
        for cut in each["cuts"]:
            click.echo(f"    {cut_line(cut, smooth)}")
            for line in lines(output_picture(problem, sample, cut["witness"])):
                click.echo(f"      {line}".rstrip())
        click.echo(f"    without it: {leaving(each['left'])}")
    if (more := held - len(record["samples"])) > 0:
        click.echo(f"\n  and {more} more; --most {held} shows all")


def cut_line(cut: dict[str, Any], smooth: bool) -> str:
    """An output that has weight, or the likeliest one of a likelihood."""
    output, loss = cut["output"].removeprefix(f"{DISTRIBUTION}, "), f"loss {cut['loss']:.4g}"
    if smooth:
        return f"{shortened(output, SHOWN)}: {loss}"
    return f"against {shortened(output, SHOWN)}: share {cut['share']:.3f}, {loss}, at θ {tidy(cut['height'])}"


def leaving(left: dict[str, Any] | None) -> str:
    """What is proven of the optimum without a sample, in words."""
    if left is None:
        return "no sample would be left"
    least, greatest = left["change"]
    moved = "" if left["moved"] is None else f", the weights move by at most {small(left['moved'])}"
    return f"the optimum changes by {least:+.3e} to {greatest:+.3e}{moved}"
