"""Bilinear models of pairs: slopes for the lower bound, factors for the upper one, class by class.

Several classes are one problem each, against the others, since nothing joins their parameters. For each,

    slopes    an ascent of the concave dual (dyads/dual.py); where both sides have more than DENSE features, the
              subgradients at the factors learned. They are scaled by the best τ ≤ 1, which keeps ‖S‖₂ < λ
    factors   the model that the slopes speak for, then learned ones (dyads/dyadic.py) of several seeds; each improved
              by convex alternation: best B and w given A, best A and w given B

until the interval is as narrow as asked. Where the slopes' own model attains the bound, that model is a proven global
optimum of a problem that is not convex. Elsewhere the run ends `stalled`, with the interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from workbench.contracts import Cuts, Floats
from workbench.dyads.dual import DENSE, Parts, attaining, lower_at, risen
from workbench.dyads.dyadic import Dyadic, regularised_risk
from workbench.dyads.nuclear import alternate, best_scaled
from workbench.dyads.pairs import Dyads, Factors
from workbench.proofs.dyadic import DyadicBounds
from workbench.solving.progress import Clock, Progress
from workbench.solving.request import Request
from workbench.solving.solution import Outcome, versioned

SEEDS = 3  # learned models from which alternations start
PASSES = 60  # of the learner
ROUNDS = 30  # of an alternation
SLOW = 1e-4  # relative gain of a round below which an alternation ends
INTERVAL = "a proven interval: slopes of the convex bound below, the best model found above"


@dataclass
class Found:
    """Slopes (n,) and factors of one class, `lower` and the risk of the factors."""

    slopes: Floats
    factors: Factors
    lower: float
    risk: float

    @property
    def gap(self) -> float:
        return (self.risk - self.lower) / max(abs(self.risk), 1e-300)


def factored(bounds: DyadicBounds, request: Request) -> Outcome:
    """The best interval found, and the model of its upper end."""
    request.refuse_cuts(bounds.formulation)
    clock, form = Clock(request.time_limit), bounds.form
    found = [
        searched(pairs, part, form.lam, form.dimensions, form.loss, request.gap, clock)
        for pairs, part in zip(form.binary(bounds.problem), bounds.parts, strict=True)
    ]
    slopes = np.column_stack([each.slopes for each in found])
    parts = zip(*(each.factors for each in found), strict=True)
    theta = bounds.oracle.joined(Factors(*(np.concatenate(part, axis=1) for part in parts)))
    state = Progress(theta, theta, upper=bounds.upper(theta), lower=bounds.lower(slopes))
    state.status = "limit" if clock.left <= 0 else "stalled"
    gap = bounds.gap(state.upper, state.lower)
    state.record(state.entry(1, gap, 0, 0, (clock.seconds, 0.0, clock.seconds)), request.observe)
    cuts = Cuts(bounds.oracle.dim, bounds.oracle.width)
    return Outcome(state, cuts, versioned("dual ascent and alternation"), "factored", slopes=slopes)


def searched(pairs: Dyads, parts: Parts, lam: float, k: int, loss: str, gap: float, clock: Clock) -> Found:
    """Slopes and factors of pairs in two classes, until their gap is a quarter of `gap` or nothing more is gained."""
    starts = learned(pairs, lam, k, loss)
    if min(pairs.left.shape[1], pairs.right.shape[1]) <= DENSE:
        raised = risen(parts, lam, k, loss)
        first = attaining(parts, lam, k, loss, raised)
    else:
        first = next(starts)
        raised = slopes_at(pairs, first, loss)
    scaled = best_scaled(parts, lam, k, loss, raised)
    slopes = max((raised, scaled), key=lambda g: lower_at(parts, lam, k, loss, g))
    lower = lower_at(parts, lam, k, loss, slopes)
    best = Found(slopes, first, lower, regularised_risk(pairs, first, lam, loss))
    best = improved(best, pairs, lam, loss, gap, clock)
    for start in starts:
        if best.gap <= gap / 4 or clock.left <= 0:
            break
        other = Found(slopes, start, lower, regularised_risk(pairs, start, lam, loss))
        best = min(best, improved(other, pairs, lam, loss, gap, clock), key=lambda each: each.risk)
    return best


def learned(pairs: Dyads, lam: float, k: int, loss: str) -> Iterator[Factors]:
    """Factors that the learner finds, from SEEDS seeds."""
    for seed in range(SEEDS):
        learner = Dyadic(k, loss, step=min(0.3, 0.3 / lam), power=0.75, lam=lam, spread=0.5, seed=seed)
        learner.fit(pairs, PASSES)
        assert learner.factors is not None  # `fit` sets them
        yield learner.factors


def improved(found: Found, pairs: Dyads, lam: float, loss: str, gap: float, clock: Clock) -> Found:
    """The factors after rounds of alternation."""
    for _ in range(ROUNDS):
        if found.gap <= gap / 4 or clock.left <= 0:
            break
        factors = alternate(pairs, found.factors, lam, 1, loss)[-1]
        risk = regularised_risk(pairs, factors, lam, loss)
        if not risk < found.risk:
            break
        still = found.risk - risk <= SLOW * risk
        found = Found(found.slopes, factors, found.lower, risk)
        if still:
            break
    return found


def slopes_at(pairs: Dyads, factors: Factors, loss: str) -> Floats:
    """ℓ′(p_i), or for the hinge a subgradient."""
    p, y = pairs.scores(factors)[:, 0], pairs.targets
    return p - y if loss == "squared" else -y * (y * p < 1)
