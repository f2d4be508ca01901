"""Show how hard each sample is: slack, uncertainty, novelty and h-min.

DATA is a certificate (the JSON file, the npz file beside it, or the folder of both), whose weights measure its own
samples; or a PROBLEM, with --set theta=CERTIFICATE for the weights and other --set for the problem's settings. Slack
is the hinge ξ_i(w), hidden states at their best; uncertainty the entropy of the hidden state; novelty the least ½‖δ‖²
after which w + δ has the sample right with full margins, `inf` where no δ does. Self-paced learning compares these with
1/K (docs/latent.md). Where scores are linear or dyadic, h-min alone is shown: the least importance with which an update
of the hinge at η = 1 turns the prediction, |⟨w, x⟩|/‖x‖² of linear scores, the least over the other labels where a pair
may have several (docs/mathematics.md §7). Where intercepts, biases or costs were learned beside w, they count in slack
and novelty, and δ leaves them as they are. Novelty compares the truth with every output: where a sample has too many to
list, slack is shown alone, and stderr says so.

    cutbench difficulty runs/motif-latent-ssvm
    cutbench difficulty motif --set theta=runs/motif-latent-ssvm --set draw=1
    cutbench difficulty breast-cancer --set theta=runs/breast-cancer-weighted-risk --json
"""

from __future__ import annotations

from typing import Any

import click

import workbench.command.terminal as terminal
from workbench.command.given import placed, weights_for
from workbench.command.words import certificate_path, json_option, positive, problem_of, verb
from workbench.data.loading import load_problem
from workbench.errors import BadInput, MissingCapability
from workbench.registries import build, parse_settings


@verb(__doc__)
@click.argument("data")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="theta=CERTIFICATE, or of the PROBLEM.")
@click.option("--steepness", default=1.0, show_default=True, help="k of the uncertainty's σ(kz).")
@json_option
def command(data: str, settings: tuple[str, ...], steepness: float, as_json: bool) -> int:
    from workbench.proofs.certificate import load

    weights = [text.partition("=")[2].strip() for text in settings if of_theta(text)]
    if len(weights) > 1 or (settings and not weights):
        raise BadInput(
            "The weights of a PROBLEM come from one certificate, which `cutbench solve` writes; add --set "
            "theta=CERTIFICATE once."
        )
    path = certificate_path(weights[0] if weights else data)
    held, header = load(path)
    with terminal.stdout_kept(), terminal.status(f"{path} …"):
        problem, theta = asked(data, settings, held) if weights else (held.problem, held.theta)
        values = measured(problem, theta, positive("steepness", steepness), held, header["formulation"]["name"])
    record = {"certificate": terminal.shown_path(path), "formulation": header["formulation"]["name"]} | values
    terminal.emit(terminal.plain(record)) if as_json else show(record)
    return 0


def of_theta(setting: str) -> bool:
    return setting.partition("=")[0].strip() == "theta"


def asked(data: str, settings: tuple[str, ...], held: Any) -> tuple[Any, Any]:
    """The user's PROBLEM, and the certificate's weights as its own."""
    source = load_problem(data)
    own = [text for text in settings if not of_theta(text)]
    problem = problem_of(build(source, *parse_settings(own, source)), data)
    problem = placed(held, problem)
    return problem, weights_for(held, problem, data)


def beside(problem: Any, held: Any, name: str) -> Any:
    """None if θ is one weight for each feature, the oracle if b or more follow w; else `MissingCapability`."""
    from workbench.contracts import CutForm

    if problem.n_features == len(held.theta):
        return None
    blocks = held.formulation.blocks(problem)
    if isinstance(held.formulation, CutForm) and next(iter(blocks.items())) == ("w", (problem.n_features,)):
        return held.formulation.oracle(problem)
    raise MissingCapability(
        f"Difficulty is measured where each feature has a weight, and {name} learned {len(held.theta)} weights for the "
        f"{problem.n_features} features of {type(problem).__name__}; solve soft-margin."
    )


def measured(problem: Any, w: Any, k: float, held: Any, name: str) -> dict[str, list[float]]:
    """Each criterion (n,) by name; uncertainty only where something is hidden, h-min alone of linear and dyadic scores.

    held : the certificate of the weights w, whose formulation has this `name`
    """
    import numpy as np

    from workbench.contracts import Factored, Latent
    from workbench.dyads.dyadic import least_importances
    from workbench.dyads.flows import Curve, least_importance
    from workbench.objectives.criteria import uncertainty
    from workbench.objectives.least_change import novelty
    from workbench.objectives.oracles import MarginRescaling
    from workbench.objectives.pacing import hinges
    from workbench.outputs.linear import Linear

    if isinstance(held.formulation, Factored):
        view = held.formulation.oracle(problem)
        return {"h-min": least_importances(view.pairs, view.factors(w)).tolist()}
    if isinstance(problem, Linear):
        squares = np.asarray(problem.X.multiply(problem.X).sum(axis=1)).ravel()
        curves = (Curve(p, 0.0, 0.0, x) for p, x in zip((problem.X @ w).tolist(), squares.tolist(), strict=True))
        return {"h-min": [least_importance(0.0, at, -np.sign(at.p) or 1.0) for at in curves]}
    oracle, everyone, found = beside(problem, held, name), np.arange(problem.n_samples), {}
    try:
        novelties = {"novelty": novelty(problem, w, oracle=oracle).values.tolist()}  # first: it checks the size of w
    except MissingCapability as refusal:
        if isinstance(problem, Latent):
            raise
        reason = str(refusal).partition(";")[0].rstrip(".")
        click.echo(f"cutbench: novelty, which compares all outputs, is left out ({reason}); slack is shown.", err=True)
        novelties = {}
    if isinstance(problem, Latent):
        found["slack"] = hinges(problem, w, problem.impute(w)).tolist()
        found["uncertainty"] = uncertainty(problem.hidden_scores(w, everyone), k).tolist()
    else:
        oracle = oracle or MarginRescaling(problem)
        slopes, offsets = oracle.rows(everyone, oracle.argmax(w, everyone))
        found["slack"] = np.maximum(slopes @ w + offsets, 0.0).tolist()
    return found | novelties


def show(record: dict[str, Any]) -> None:
    columns = [name for name in ("slack", "uncertainty", "novelty", "h-min") if name in record]
    rows = zip(*(record[name] for name in columns), strict=True)
    terminal.table(["sample", *columns], [[i, *map(terminal.tidy, row)] for i, row in enumerate(rows)])
