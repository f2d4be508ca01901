"""What a learner's `fit` returned, read as reports: weights after so many passes, with the learner's claims about them.

`fit` may return

    θ                      weights (p,), dense or sparse, or a dict of the blocks of θ by their names
    (θ, report)            a report is a dict: `objective`, `lower`, `gap`, `dual` are recomputed and contradicted if
                           false (judging/claims.py); `iterate` and `share` let the average be replayed
                           (judging/audits.py)
    checkpoints            each (passes, θ) or a report with `weights` and perhaps `passes`

Passes must not decrease; checkpoints without passes count as spaced evenly over the budget. Reading ends with the
first checkpoint that exceeds the budget, and after ENDLESS checkpoints. Any other answer raises `BadAnswer` with one
sentence.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Blocks, Floats
from workbench.errors import BadInput

T = TypeVar("T")

KEPT = 500  # checkpoints that are kept when there are twice as many
ENDLESS = 100_000  # checkpoints
KEYS = ("weights", "passes", "objective", "lower", "gap", "dual", "iterate", "share")
NUMBERS = ("objective", "lower", "gap", "share")


class Report(NamedTuple):
    """Weights after `passes`, and what the learner says of them (`claims`: objective, lower, gap, dual, …).

    remarks : sentences about the report itself, for the user
    shape : of the weights as they were handed over
    """

    passes: float
    theta: Floats
    claims: Mapping[str, Any] = {}  # numbers and arrays, by key
    remarks: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()


class BadAnswer(BadInput):
    """A learner returned an answer that the contract does not allow."""


def reports_of(
    returned: Any,  # by a user's learner
    budget: int,
    until: float = np.inf,
    blocks: Blocks | None = None,
) -> list[Report]:
    """Whatever a `fit` returned, as reports in the order of passes; `BadAnswer` for what the contract does not know.

    until : when to stop reading, as `time.perf_counter` has it
    blocks : those of θ; a dict with exactly their names is θ, as `Solution.theta` is
    """
    if is_theta(returned, blocks):
        returned = {"weights": returned}
    if isinstance(returned, Mapping):
        reports = [report_of(returned, blocks)]
    elif isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], Mapping):
        reports = [report_of({**returned[1], "weights": returned[0]}, blocks)]
    elif isinstance(returned, Iterator) or (isinstance(returned, list | tuple) and is_checkpoint((*returned, None)[0])):
        return checkpoints(returned, budget, until, blocks)
    else:
        reports = [report_of({"weights": returned}, blocks)]
    return [each._replace(passes=float(budget)) if np.isnan(each.passes) else each for each in reports]


def checkpoints(
    returned: Iterable[Any],  # by a user's learner
    budget: int,
    until: float,
    blocks: Blocks | None = None,
) -> list[Report]:
    """The checkpoints up to the budget, 2 · KEPT at most; all of them if iterates are reported for the audit."""
    numbered: list[tuple[int, Report]] = []
    began, ended = time.perf_counter(), True
    for count, told in enumerate(returned, 1):
        numbered.append((count, report_of(told, blocks)))
        passes = numbered[-1][1].passes
        if passes > budget:
            break
        if count == ENDLESS or time.perf_counter() > until:
            ended = False
            break
        if len(numbered) == 2 * KEPT and "iterate" not in numbered[-1][1].claims:
            numbered = thinned(numbered, [k for k, _ in numbered], KEPT)
    if not numbered:
        raise BadAnswer("The learner yielded nothing; yield (passes, weights) at least once.")
    if not ended and any(np.isnan(each.passes) for _, each in numbered):
        raise BadAnswer(f"The learner yielded {count} checkpoints and no end, without their passes; tell those.")
    reports = [e._replace(passes=budget * k / count) if np.isnan(e.passes) else e for k, e in numbered]
    for before, after in pairwise(reports):
        if after.passes < before.passes or after.passes == 0:
            raise BadAnswer(f"The learner's passes go from {before.passes:g} to {after.passes:g}; count them upwards.")
    if not ended:
        took = f"{time.perf_counter() - began:.2g} s"
        told = f"It was stopped after {took} and {count} checkpoints, at pass {passes:g} of {budget}."
        reports[-1] = reports[-1]._replace(remarks=(*reports[-1].remarks, told))
    return reports


def thinned(held: list[T], places: Sequence[float], most: int) -> list[T]:
    """At most so many things of a list that grows, of increasing places, all parts of the way among them.

    The last fifth of `most` stay, and of those before the first in each of so many cells: two fifths even in the places
    and two fifths even in their logarithm, of widths that double, so that the first in a cell stays the first in one.
    """
    old, cells = len(held) - most // 5, 2 * most // 5 - 1
    place = np.maximum(np.asarray(places[:old], float), 1e-9)
    kept = {0}
    for scale in (place, np.log(place)):
        width = 2.0 ** np.ceil(np.log2(max(scale[-1] - scale[0], 1e-9) / cells))
        kept.update((1 + np.flatnonzero(np.diff(np.floor(scale / width)))).tolist())
    return [*(held[k] for k in sorted(kept)), *held[old:]]


def is_checkpoint(thing: Any) -> bool:  # what a user's learner says
    pair = isinstance(thing, tuple) and len(thing) == 2 and np.ndim(thing[0]) == 0
    return isinstance(thing, Mapping) or (pair and not np.isscalar(thing[1]))


def report_of(told: Any, blocks: Blocks | None = None) -> Report:  # what a user's learner says
    """One checkpoint; its passes are NaN if they are not told."""
    if isinstance(told, tuple) and len(told) == 2:
        told = {"passes": told[0], "weights": told[1]}
    if not isinstance(told, Mapping) or is_theta(told, blocks):
        told = {"weights": told}
    if "weights" not in told:
        only = ", ".join(map(str, told)) or "nothing"
        own = "" if blocks is None else f", as one flat array or as a dict of {', '.join(blocks)}"
        raise BadAnswer(f"A report of the learner has no weights, only {only}; add them{own}.")
    claims: dict[str, Any] = {}  # numbers and arrays, by key
    claims |= {key: number(key, told[key]) for key in NUMBERS if told.get(key) is not None}
    if told.get("iterate") is not None:
        claims["iterate"] = flat(told["iterate"], blocks)
    if told.get("dual") is not None:
        claims["dual"] = dual_of(told["dual"])
    passes = np.nan if told.get("passes") is None else counted(told["passes"])
    return Report(passes, flat(told["weights"], blocks), claims, tuple(unread(told, claims)), np.shape(told["weights"]))


def unread(told: Mapping[str, Any], claims: Mapping[str, Any]) -> Iterator[str]:  # what a user's learner says
    """The keys of a report that the judge does not read, a sentence each."""
    for key in sorted(map(str, told.keys() - {*KEYS})):
        near = get_close_matches(key.lower(), KEYS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(KEYS)}."
        yield f"Its report says {key!r}, which nobody reads; {hint}"
    for key in ("lower", "gap", "share"):
        if not np.isfinite(claims.get(key, 0.0)):
            yield f"The {key} it reports is {claims[key]:g}, which claims nothing; leave it out."


def dual_of(told: Any) -> NDArray | tuple[NDArray, ...]:  # what a user's learner says
    """(samples, outputs, μ), or a table of all outputs."""
    try:
        if isinstance(told, tuple | list) and len(told) == 3:
            samples, outputs, mu = (np.asarray(part) for part in told)
            return np.asarray(samples, np.int64), np.asarray(outputs, np.int64), np.asarray(mu, float)
        return np.asarray(told, float)
    except (TypeError, ValueError):
        kind = type(told).__name__
        raise BadAnswer(f"The learner's dual is a {kind}, no weights; give (samples, outputs, μ) or a table.") from None


def number(key: str, value: Any) -> float:  # what a user's learner says
    try:
        return float(value)
    except (TypeError, ValueError):
        raise BadAnswer(f"The learner's {key} is a {type(value).__name__}, no number; write it as one.") from None


def counted(passes: Any) -> float:  # what a user's learner says
    """Passes as a number, from 0 on."""
    told = number("passes", passes)
    if not 0 <= told < np.inf:
        raise BadAnswer(f"The learner's passes are {told:g}; count them from 0 on.")
    return told


def blocks_of(formulation: object, problem: object) -> Blocks | None:
    """The blocks of θ, None where the formulation is a text, which tells them with its solution alone."""
    told: Any = getattr(formulation, "blocks", None)  # of any form; a text has none
    return None if told is None else told(problem)


def is_theta(told: Any, blocks: Blocks | None) -> bool:  # what a user's learner says
    """Whether a dict holds the blocks of θ by their names, and nothing else."""
    return isinstance(told, Mapping) and blocks is not None and set(told) == set(blocks)


def flat(weights: Any, blocks: Blocks | None = None) -> Floats:  # what a user's learner says
    """A copy of the weights as one float array; of a dict of the blocks of θ, these one behind the other."""
    if weights is None:
        raise BadAnswer("The learner returned nothing; end it with `return weights`.")
    if blocks is not None and is_theta(weights, blocks):
        parts = {name: flat(weights[name]) for name in blocks}
        for name, shape in blocks.items():
            if len(parts[name]) != (size := int(np.prod(shape))):
                raise BadAnswer(f"The block {name} of the weights has {len(parts[name])} entries; give {size}.")
        return blocks.join(parts)
    if isinstance(weights, Mapping):
        keys = ", ".join(map(str, weights)) or "nothing"
        wanted = "" if blocks is None else f", or a dict of exactly {', '.join(blocks)}"
        raise BadAnswer(f"The weights are a dict of {keys}; give one flat array, such as theta_flat{wanted}.")
    dense = weights.toarray() if hasattr(weights, "toarray") else weights  # sparse ones of any library
    if np.ma.is_masked(dense):
        raise BadAnswer(
            f"{np.ma.count_masked(dense)} of the weights are masked; give numbers, as weights.filled(0) is."
        )
    try:
        if not np.iscomplexobj(dense):
            return np.array(dense, float).ravel()
    except (TypeError, ValueError):
        kind = type(weights).__name__
        raise BadAnswer(
            f"The learner returned a {kind}, no array of weights; return a flat array of numbers."
        ) from None
    raise BadAnswer("The learner returned complex weights; return real ones.")
