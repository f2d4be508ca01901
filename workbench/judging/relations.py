"""Metamorphic relations: what a change of the data must do to the optimum, known without solving again.

A relation changes a problem, and says for each formulation which settings change with it so that the optimum of the
changed problem follows from the one that is proven. Features that are twice as large, for example, need λ four times
as large: then the weights of the optimum are half as large, all scores stay the same, and so does the optimum's value.

    min F′ = c^q · min F,      settings s′ = c^{p_s} s,      θ′* = the map of θ*

    duplicate   every sample twice, c = 2          split    each sample as two of half its weight ("weight 2 is twice")
    permute     samples in another order           rename   labels by other numbers
    rotate      x → Mᵀx, M orthogonal              features φ → cφ              loss    ℓ → cℓ

A formulation declares (p, q) for each relation (`relations`, contracts/relations.py), `None` where no settings make the
optima correspond (docs/mathematics.md §9): means do not see a duplicate, sums double (and so must r: λ₁ and λ₂), 1/K
halves per sample; a count n_S of 1 stays 1.
A rotation keeps ‖w‖² and not ‖w‖₁, nor which feature is the largest. φ → cφ wants λ → c²λ, λ₁ → cλ₁; ℓ → cℓ wants
λ → λ/c, w → cw under margin rescaling and λ → cλ, w → w under slack rescaling; likelihoods, unit margins and
learned costs do not look at ℓ.

`described` says this of one related problem, for a user who has not heard of relations.

So one certified reference is many: `related` hands them out with their proven bounds, for a learner to be judged by.
A formulation that declares an empty row and an output structure of another layout are checked by no relation.

Where the original has 0/1 losses, or no sample weights, a change may bring others, which not every learner is made for:
such a reference has `beyond`, with the changed problem as it would be without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.arithmetic.arrays import kept_rows
from workbench.contracts import Change, Floats, Ints, Problem, Related
from workbench.judging.reference import Beyond, Reference
from workbench.outputs.chain import Chain
from workbench.outputs.linear import Linear
from workbench.outputs.matching import Matching
from workbench.outputs.multiclass import Multiclass
from workbench.solving.transfer import rebuilt

Arrays = dict[str, NDArray]
COSTS = ("cost", "false_positive", "false_negative")
LAYOUTS = (Multiclass, Chain, Matching, Linear)  # output structures whose `arrays` are understood here
SCALE = 2.0  # c of `features` and `loss`


@dataclass(frozen=True)
class Changed:
    """A changed problem with its c, and what becomes of the blocks of θ."""

    problem: Problem
    c: float = 1.0
    moves: Mapping[str, Callable[[Floats], Floats]] = field(default_factory=dict)


# ── changes of the data ───────────────────────────────────────────────────────────────────────────


def duplicate(problem: Problem) -> Changed | None:
    return Changed(taken(problem, np.tile(np.arange(problem.n_samples), 2)), 2.0)


def split(problem: Problem) -> Changed | None:
    return Changed(taken(problem, np.tile(np.arange(problem.n_samples), 2), 0.5))


def permute(problem: Problem) -> Changed | None:
    return Changed(taken(problem, np.random.default_rng(0).permutation(problem.n_samples)))


def rename(problem: Problem) -> Changed | None:
    """Label y becomes π(y), a cyclic shift."""
    arrays = problem.arrays()
    if "classes" not in arrays:
        return None
    k = len(arrays["classes"])
    to = np.roll(np.arange(k), 1)  # π
    back = np.argsort(to)
    arrays |= {"labels": to[arrays["labels"]], "cost": arrays["cost"][np.ix_(back, back)]}
    edges = k * int(arrays["n_inputs"])

    def renamed(w: Floats) -> Floats:
        unary, pairs = w[:edges].reshape(k, -1)[back], w[edges:]
        return np.append(unary, pairs.reshape(k, k, -1)[np.ix_(back, back)] if len(pairs) else pairs)

    moves = {"w": renamed, "b": lambda b: b[back]}
    return Changed(rebuilt(problem, arrays), moves=moves)


def rotate(problem: Problem) -> Changed | None:
    """x → Mᵀx with a random orthogonal M, w → Mᵀw for each label."""
    arrays = problem.arrays()
    X = inputs(arrays)
    M = np.linalg.qr(np.random.default_rng(0).normal(size=(X.shape[1],) * 2))[0]
    edges = len(arrays["classes"]) * X.shape[1] if "classes" in arrays else X.shape[1]
    turned = rebuilt(problem, arrays | kept_rows(sparse.csr_array(X.toarray() @ M)))
    return Changed(turned, moves={"w": lambda w: np.append((w[:edges].reshape(-1, X.shape[1]) @ M).ravel(), w[edges:])})


def features(problem: Problem) -> Changed | None:
    """φ → cφ; the transitions of chains are features that no data scale."""
    arrays = problem.arrays()
    if "offsets" in arrays:
        return None
    return Changed(rebuilt(problem, arrays | {"data": SCALE * arrays["data"]}), SCALE)


def loss(problem: Problem) -> Changed | None:
    """ℓ → cℓ, where the data have costs."""
    arrays = problem.arrays()
    costs = {key: SCALE * arrays[key] for key in COSTS if key in arrays}
    return Changed(rebuilt(problem, arrays | costs), SCALE) if costs else None


RELATIONS: dict[str, Callable[[Problem], Changed | None]] = {
    each.__name__: each for each in (duplicate, split, permute, rename, rotate, features, loss)
}


SAID = {
    "duplicate": "every sample listed twice",
    "split": "every sample listed twice, each time with half of its weight",
    "permute": "the samples in another order",
    "rename": "the labels numbered in another order",
    "rotate": "the inputs rotated (X @ M, with a random orthogonal M)",
    "features": f"all inputs multiplied by {SCALE:g}",
    "loss": f"all losses multiplied by {SCALE:g}",
}


def described(relation: str, reference: Reference, changed: Reference) -> str:
    """What the changed problem is, its settings, and that its optimum is known, for a sentence."""
    moved = changed_settings(reference, changed).items()
    settings = [f"{key}={now:.6g} instead of {key}={was:.6g}" for key, (was, now) in moved]
    what = " and with ".join([SAID[relation], *settings])
    return f"a copy of this problem with {what}, whose optimum follows from the one that is proven"


def changed_settings(reference: Reference, changed: Reference) -> dict[str, tuple[float, float]]:
    """The settings of the formulation that a relation changes: before and after."""
    before: Any = reference.formulation  # of any kind, whose settings are read by name
    after: Any = changed.formulation  # the same, by name
    now = vars(after)
    return {key: (was, now[key]) for key, was in vars(before).items() if was != now[key]}


def taken(problem: Problem, order: Ints, share: float = 1.0) -> Problem:
    """The problem of the samples in `order`, each with `share` of its weight."""
    arrays = problem.arrays()
    n, rows = problem.n_samples, inputs(arrays).shape[0]
    lengths: Ints = np.diff(arrays["offsets"]) if "offsets" in arrays else np.full(n, rows // n)
    lengths = arrays["shapes"].prod(axis=1) if "shapes" in arrays else lengths
    ends = np.cumsum(lengths)
    at = np.concatenate([np.arange(int(ends[i] - lengths[i]), int(ends[i])) for i in order])
    per_row = {key: arrays[key][at] for key in ("labels",) if key in arrays}
    per_sample = {key: arrays[key][order] for key in ("shapes", "truth", "targets") if key in arrays}
    if "offsets" in arrays:
        per_row["offsets"] = np.append(0, np.cumsum(lengths[order]))
    if "pairs" in arrays:
        links = np.cumsum(lengths - 1)
        per_row["pairs"] = arrays["pairs"][np.concatenate([np.arange(*links[i] - [lengths[i] - 1, 0]) for i in order])]
    if "annotated" in arrays:
        own = [arrays["annotated"][arrays["annotated"][:, 0] == i, 1:] for i in order]
        number = np.repeat(np.arange(len(order)), [len(links) for links in own])
        per_sample["annotated"] = np.column_stack([number, np.concatenate(own)])
    kept = {"weights": share * arrays["weights"][order], **per_row, **per_sample}
    return rebuilt(problem, arrays | kept_rows(inputs(arrays)[at]) | kept)


PLAIN: dict[str, Callable[[Arrays], Arrays]] = {
    "losses other than 0/1": lambda arrays: {key: (arrays[key] != 0) * 1.0 for key in COSTS if key in arrays},
    "sample weights": lambda arrays: {"weights": np.ones_like(arrays["weights"])},
}


def beyond(problem: Problem, changed: Problem) -> Beyond | None:
    before, after = problem.arrays(), changed.arrays()
    for what, plain in PLAIN.items():
        if alike(before, plain(before)) and not alike(after, plain(after)):
            return Beyond(what, rebuilt(changed, after | plain(after)))
    return None


def alike(arrays: Arrays, others: Arrays) -> bool:
    return all(np.array_equal(arrays[key], each) for key, each in others.items())


def inputs(arrays: Arrays) -> sparse.csr_array:
    """The rows of inputs: one a sample, a position or an edge."""
    width = int(arrays["n_inputs"] if "n_inputs" in arrays else arrays["n_features"])
    return sparse.csr_array(
        (arrays["data"], arrays["indices"], arrays["indptr"]), shape=(len(arrays["indptr"]) - 1, width)
    )


# ── relation × formulation ────────────────────────────────────────────────────────────────────────


def related(reference: Reference) -> Iterator[tuple[str, Reference]]:
    """(relation, reference of the changed problem) for all that hold, with the bounds of the original, moved."""
    problem, formulation = reference.problem, reference.formulation
    if not understood(problem) or not isinstance(formulation, Related):
        return
    for name, change in formulation.relations().items():
        if change is not None and (changed := RELATIONS[name](problem)) is not None:
            yield name, moved(reference, changed, change)


def moved(reference: Reference, changed: Changed, change: Change) -> Reference:
    """The certified reference of the changed problem; its θ is NaN where costs of error classes have new places."""
    c = changed.c
    formulation: Any = reference.formulation  # of any kind, whose settings are read by name
    settings = {key: getattr(formulation, key) * c**power for key, power in change.settings.items()}  # settings by name
    factor, blocks = c**change.value, formulation.blocks(reference.problem)
    parts = blocks.split(reference.theta)
    parts = {name: changed.moves.get(name, np.copy)(part.ravel()) for name, part in parts.items()}
    parts["w"] = parts["w"] * c**change.weights
    if "b" in parts:
        parts["b"] = parts["b"] * c**change.intercepts
    if "b" in changed.moves and "v" in parts:
        parts["v"] = np.full(parts["v"].shape, np.nan)
    return Reference(
        formulation=replace(formulation, **settings),
        problem=changed.problem,
        theta=blocks.join(parts),
        upper=reference.upper * factor,
        lower=reference.lower * factor,
        gap=reference.gap,
        missing=reference.missing,
        beyond=beyond(reference.problem, changed.problem),
    )


def understood(problem: Problem) -> bool:
    """Whether the problem's `arrays` have one of the LAYOUTS; a structure made from one of them may have another."""
    return type(problem) in LAYOUTS
