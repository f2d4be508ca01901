"""Other losses: squared, rescaled, unaugmented, of another size; the likelihood for the hinge."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from workbench.contracts import CutForm, Floats
from workbench.formulations.crf import CRF
from workbench.formulations.soft_margin import SoftMargin
from workbench.judging.conventions.neighbours import ALONG, Neighbour, Suspect
from workbench.objectives.oracles import Decoding, UnitMargin
from workbench.objectives.variants import SquaredHinge, Variant
from workbench.proofs.bounds import Bounds


def squares(suspect: Suspect) -> Iterator[Neighbour]:
    """h_i². The bound on ‖w‖ is rounded up to a power of two, so that learners of like size share one objective."""
    if suspect.plain and isinstance(suspect.form, CutForm):
        far = 2.0 ** math.ceil(math.log2(farthest(suspect)))
        form = Variant(suspect.form, lambda inner: SquaredHinge(inner, far))
        yield Neighbour(
            "squared hinge", "squares the hinge", form, suspect.problem, suspect.theta, objective=("squares", far)
        )


def farthest(suspect: Suspect) -> float:
    """A bound on ‖w‖ for every w better than 0, λ/2 ‖w‖² ≤ Σ p_i (max ℓ_i)², and on θ and its multiples."""
    start = float(suspect.form.prices(suspect.problem).floats() @ suspect.problem.max_loss**2)
    best = np.sqrt(2 * start / suspect.form.regularizer(suspect.problem).lam)
    return 2 * max(float(best), max(ALONG) * float(np.abs(suspect.theta).max(initial=0.0)))


def units(suspect: Suspect) -> Iterator[Neighbour]:
    """Unit margins for all wrong outputs; where an output has one place, `no cost matrix` is the same."""
    if suspect.plain and isinstance(suspect.form, CutForm) and suspect.problem.width > 1:
        form = Variant(suspect.form, lambda inner: UnitMargin(inner.problem))
        yield Neighbour(
            "unit loss", "has every wrong output cost 1, however wrong", form, suspect.problem, suspect.theta
        )


def rescaling(suspect: Suspect) -> Iterator[Neighbour]:
    if suspect.plain and isinstance(suspect.form, SoftMargin):
        other = "margin" if suspect.form.rescaling == "slack" else "slack"
        said = f"rescales {other}s by the loss, not {suspect.form.rescaling}s"
        yield Neighbour(
            f"{other} rescaling", said, replace(suspect.form, rescaling=other), suspect.problem, suspect.theta
        )


def sizes(suspect: Suspect) -> Iterator[Neighbour]:
    """Losses cℓ under margin rescaling: h′(w) = c h(w/c), so of u = w/c it is F′ = c (cλ/2 ‖u‖² + R(u)).

    With c = 1/λ, u is the optimum of ½ ‖u‖² + R: it comes from a Gram matrix ⟨a, a′⟩ where ⟨a, a′⟩/λ was meant.
    Evidence `active`: where every h_i is positive at u, all larger losses have the same optimum, and so has a hinge
    that is not clipped at 0.
    """
    if not suspect.plain or not isinstance(suspect.form, SoftMargin) or suspect.form.rescaling != "margin":
        return
    named = {
        2.0: ("loss twice", "has a loss (and margin) twice as large"),
        0.5: ("loss half", "has a loss (and margin) half as large"),
    }
    without = "divides its weights by λ, but not its Gram matrix (as if losses were ℓ/λ)"
    if suspect.form.lam != 1:
        named.setdefault(1 / float(suspect.form.lam), ("Gram matrix without λ", without))
    for c, (name, said) in named.items():
        u, form = suspect.theta / c, replace(suspect.form, lam=c * suspect.form.lam)
        active = c > 1 and all_positive(suspect, u)
        yield Neighbour(name, said, form, suspect.problem, u, evidence={"active": 1.0} if active else {})


def all_positive(suspect: Suspect, theta: Floats) -> bool:
    """Whether every h_i(θ) is above 0."""
    bounds = suspect.reference.bounds
    if not isinstance(bounds, Bounds):
        return False
    slopes, offsets = bounds.rows(bounds.samples, bounds.oracle.argmax(theta, bounds.samples))
    return bool((slopes @ theta + offsets > 0).all())


def unaugmented(suspect: Suspect) -> Iterator[Neighbour]:
    """The minimum is 0, at w = 0, so excesses are relative to F(0) of the objective that was asked for."""
    if suspect.plain and isinstance(suspect.form, CutForm):
        start = suspect.reference.bounds.scale
        said = "minimises without loss augmentation, to which zero weights are best (or has not moved from them)"
        form = Variant(suspect.form, lambda inner: Decoding(inner.problem))
        yield Neighbour("no loss augmentation", said, form, suspect.problem, suspect.theta, start)


def likelihood(suspect: Suspect) -> Iterator[Neighbour]:
    """The conditional likelihood for the hinge, and the other way round, on outputs that have both."""
    for given, other, name in ((SoftMargin, CRF, "likelihood"), (CRF, SoftMargin, "hinge")):
        if suspect.plain and type(suspect.form) is given:
            said = f"minimises the {'conditional likelihood' if name == 'likelihood' else name}, with the same λ"
            yield Neighbour(f"{name} loss", said, other(lam=suspect.form.lam), suspect.problem, suspect.theta)


def other_loss(name: object) -> str:
    """The normalised Hamming loss for the plain one, and the other way round."""
    return {"hamming": "hamming-normalised"}.get(str(name), "hamming")
