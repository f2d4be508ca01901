"""Show how hard each sample is: slack, uncertainty and novelty.

CERTIFICATE is the JSON file, the npz file beside it, or the folder of both. Slack is the hinge ξ_i(w), hidden states at
their best; uncertainty the entropy of the hidden state; novelty the least ½‖δ‖² after which w + δ has the sample right
with full margins, `inf` where no δ does. Self-paced learning compares these with 1/K (docs/latent.md).

    cutbench difficulty runs/motif-latent-ssvm
    cutbench difficulty runs/iris-soft-margin --json
"""

from __future__ import annotations

from typing import Any

import click

import workbench.command.terminal as terminal
from workbench.command.words import certificate_path, json_option, positive, verb


@verb(__doc__)
@click.argument("certificate")
@click.option("--steepness", default=1.0, show_default=True, help="k of the uncertainty's σ(kz).")
@json_option
def command(certificate: str, steepness: float, as_json: bool) -> int:
    from workbench.proofs.certificate import load

    path = certificate_path(certificate)
    held, header = load(path)
    with terminal.stdout_kept(), terminal.status(f"{path} …"):
        values = measured(held.problem, held.theta, positive("steepness", steepness))
    record = {"certificate": terminal.shown_path(path), "formulation": header["formulation"]["name"]} | values
    terminal.emit(terminal.plain(record)) if as_json else show(record)
    return 0


def measured(problem: Any, w: Any, k: float) -> dict[str, list[float]]:
    """Each criterion (n,) by name; uncertainty only where something is hidden."""
    import numpy as np

    from workbench.contracts import Latent
    from workbench.objectives.criteria import uncertainty
    from workbench.objectives.least_change import novelty
    from workbench.objectives.oracles import MarginRescaling
    from workbench.objectives.pacing import hinges

    everyone, found = np.arange(problem.n_samples), {}
    novelties = novelty(problem, w).values.tolist()  # first: it checks the size of w
    if isinstance(problem, Latent):
        found["slack"] = hinges(problem, w, problem.impute(w)).tolist()
        found["uncertainty"] = uncertainty(problem.hidden_scores(w, everyone), k).tolist()
    else:
        oracle = MarginRescaling(problem)
        slopes, offsets = oracle.rows(everyone, oracle.argmax(w, everyone))
        found["slack"] = np.maximum(slopes @ w + offsets, 0.0).tolist()
    return found | {"novelty": novelties}


def show(record: dict[str, Any]) -> None:
    columns = [name for name in ("slack", "uncertainty", "novelty") if name in record]
    rows = zip(*(record[name] for name in columns), strict=True)
    terminal.table(["sample", *columns], [[i, *(f"{value:.4g}" for value in row)] for i, row in enumerate(rows)])
