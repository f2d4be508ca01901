"""What a certificate says of data other than its own: weights, predictions, costs v, hidden states, counts of errors.

Features, labels and sides that have names are compared by name; classes of errors, too.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import BadInput
from workbench.registries import build, is_path

if TYPE_CHECKING:
    from workbench.contracts import Problem

LEARNED = ("v", "states", "baseline")  # settings that a certificate can give


def placed(certificate: Any, problem: Any) -> Any:
    """Pairs with the columns of those learned, matched by name; any other problem as it is."""
    from workbench.outputs.dyads import DyadicPairs

    both = isinstance(problem, DyadicPairs) and isinstance(certificate.problem, DyadicPairs)
    return problem.like(certificate.problem) if both else problem


def weights_for(certificate: Any, problem: Any, data: str) -> Any:
    """The certificate's θ as weights of another problem, matched by the names of features if they have names."""
    from workbench.outputs._structured.rowed import Recorded
    from workbench.outputs.motif import Motif
    from workbench.outputs.structured import Structured

    held = certificate.problem
    if isinstance(held, Recorded) and isinstance(problem, Structured):  # matched by the names of features
        return problem.renamed(held, certificate.theta)
    other = BadInput(
        f"{data} gives a {type(problem).__name__} with {problem.n_features} features, the certificate is about a "
        f"{type(held).__name__} with {held.n_features}; give a problem of the same kind."
    )
    if type(held) is not type(problem) or held.n_features != problem.n_features:
        raise other
    if isinstance(held, Motif) and isinstance(problem, Motif) and problem.alphabet != held.alphabet:
        raise BadInput(
            f"{data} holds {problem.alphabet}, the weights are about {held.alphabet}; give sequences of that."
        )
    for mine, learned in zip_longest(*names(problem, held)):
        if mine != learned:
            raise BadInput(
                f"{data} has the name {mine!r} where {learned!r} was learned; give the same features and labels."
            )
    if certificate.formulation.blocks(problem).dim != len(certificate.theta):
        raise other
    return certificate.theta


def names(*problems: Any) -> list[list[Any]]:
    """What each problem calls its features, if all of them know, and its labels, if they have any."""
    from workbench.contracts import Sourced

    columns = [each.names if isinstance(each, Sourced) else None for each in problems]
    known = all(each is not None for each in columns)
    labels = [getattr(each, "classes", None) for each in problems]  # of many kinds of problems, by name
    held = all(each is not None for each in labels)
    return [
        [*((column or ()) if known else ()), *(() if label is None or not held else label.tolist())]
        for column, label in zip(columns, labels, strict=True)
    ]


def outputs_of(certificate: Any, problem: Problem, theta: Any) -> Any:
    """(n, width) what θ predicts for a problem of the certificate's kind."""
    import numpy as np

    from workbench.contracts import Latent, SmoothForm

    every, form = np.arange(problem.n_samples), certificate.formulation
    if isinstance(problem, Latent):  # the states in the certificate are those of the samples learned from
        return problem.argmax(theta, every, augment=False)
    view = form.terms(problem) if isinstance(form, SmoothForm) else form.oracle(problem)
    return view.decode(theta, every)


# ── settings ──────────────────────────────────────────────────────────────────────────────────────


def certificates_among(settings: tuple[str, ...]) -> tuple[dict[str, str], list[str]]:
    """The settings of `LEARNED` whose value is the path of a certificate, by key; and the texts of all others."""
    paths: dict[str, str] = {}
    others, keys = [], [text.partition("=")[0].strip() for text in settings]
    for key, text in zip(keys, settings, strict=True):
        value = text.partition("=")[2].strip()
        if key in LEARNED and names_certificate(value):
            paths[key] = value
        else:
            others.append(text)
    if twice := [key for key in paths if keys.count(key) > 1]:
        raise BadInput(f"The setting {twice[0]!r} is given twice; keep one.")
    return paths, others


def names_certificate(value: str) -> bool:
    """Whether the value of a setting of `LEARNED` is a path: no numbers, no `none`, and no list unless it exists."""
    if value.lower() == "none" or re.fullmatch(r"[\s\d.,+\-eE()\[\]]*", value):
        return False
    return is_path(value) or Path(value).exists() or not re.search(r"[,;\s]", value)


def setting_from(
    key: str, path: Path, data: Problem, name: str, form: Any, settings: dict[str, Any]
) -> tuple[Any, ...]:
    """A setting of `LEARNED` by the certificate at PATH: costs v, hidden states at their best, counts of errors.

    data, name : the problem of which the setting is to be, and the user's word for it
    """
    from workbench.contracts import Labelled, Latent
    from workbench.objectives.factorings import baseline_counts, classes_of
    from workbench.proofs.certificate import load

    held, _ = load(path)
    factoring = {each: value for each, value in settings.items() if each == "factoring"}
    if key == "v":
        return costs_of(held, path, classes_of(data, build(form, factoring).factoring).names)
    latent = data if isinstance(data, Latent) and key == "states" else None
    if latent is None and (key == "states" or not isinstance(data, Labelled)):
        raise BadInput(f"{type(data).__name__} has no {key} that a certificate could give; leave {key} out.")
    theta = weights_for(held, data, name)
    if latent is not None:
        return tuple(latent.impute(theta).tolist())
    return baseline_counts(data, build(form, factoring).factoring, outputs_of(held, data, theta))


def costs_of(held: Any, path: Path, classes: list[str]) -> tuple[float, ...]:
    """The costs v of a certificate, of the same `classes` of errors."""
    form = held.formulation
    blocks = form.blocks(held.problem)
    v = blocks.split(held.theta).get("v", getattr(form, "v", None))
    if v is None:
        raise BadInput(
            f"{path} is about {type(form).__name__}, which learns no costs; give v by numbers, as v=1,0.5,1."
        )
    for mine, learned in zip_longest(classes, form.classes(held.problem).names):
        if mine != learned:
            raise BadInput(
                f"{path} has costs for other classes of errors ({learned!r} where these data have {mine!r}); choose "
                "its factoring, or give v by numbers."
            )
    return tuple(map(float, v))
