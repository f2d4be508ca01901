"""Optima that begin where another ended: at another λ, or with other samples of the same problem.

A smooth form begins at the other's θ. A form with cuts begins at the other's dual weights β, which λ does not
constrain: those of a sample are scaled until they sum to its price p_i, and a sample that had none puts all of p_i on
its truth. So β is feasible, and passes of block ascent (solving/block_ascent/labels.py) go on from there. Chains begin
with all weight on the truths: with cuts of another λ their passes took 1.4 times as long (400 words, λ = 1/n to
1000/n).

Both bounds come from the data alone, wherever a run began.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from workbench.contracts import Floats, Ints, Listed
from workbench.proofs.any_bounds import bounds_for
from workbench.proofs.bounds import Bounds
from workbench.proofs.smooth import SmoothBounds
from workbench.solving.family import Family
from workbench.solving.masters.passes import Passes
from workbench.solving.progress import Clock
from workbench.solving.request import Request
from workbench.solving.smooth import descend
from workbench.solving.solve import solve


class Found(NamedTuple):
    """θ (p,), what is proven of the optimum, and the dual weights (K,) of cuts, none of a smooth form."""

    theta: Floats
    lower: float
    upper: float
    gap: float
    samples: Ints
    witnesses: Ints
    weights: Floats


def solved(formulation: Any, problem: Any, gap: float, start: Found | None = None) -> Found:
    """The optimum of a ridge-regularized formulation to the relative gap, or as near as the loops come."""
    bounds = bounds_for(formulation, problem)
    if isinstance(bounds, SmoothBounds):
        state = descend(bounds, Request(gap=gap), start=None if start is None else start.theta)
        duals = np.empty(0, np.int64), np.empty((0, 1), np.int64), np.empty(0)
        return Found(state.theta, state.lower, state.upper, bounds.gap(state.upper, state.lower), *duals)
    passes = Passes(Family(bounds, len(bounds.samples)), gap)
    if start is not None and isinstance(bounds.oracle, Listed):
        passes.ascent.begin(*placed(bounds, start))
    passes.run(Clock())
    if passes.reached:
        return Found(passes.state.theta, passes.state.lower, passes.state.upper, passes.gap, *passes.duals)
    proof = solve(formulation, problem, gap=gap).certificate
    return Found(proof.theta, proof.lower, proof.upper, proof.gap, proof.samples, proof.witnesses, proof.weights)


def placed(bounds: Bounds, start: Found) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Samples, witnesses and weights μ of another optimum, feasible here; Σ_k μ_k a_k (p,) and the cuts' offsets."""
    prices = bounds.prices.floats()
    mass = np.bincount(start.samples, start.weights, len(prices))
    kept = (prices[start.samples] > 0) & (start.weights > 0)
    samples, new = start.samples[kept], np.flatnonzero((prices > 0) & (mass == 0))
    weights = np.concatenate([start.weights[kept] * prices[samples] / mass[samples], prices[new]])
    witnesses = np.concatenate([start.witnesses[kept], bounds.problem.truth[new]])
    samples = np.concatenate([samples, new])
    slopes, offsets = bounds.oracle.rows(samples, witnesses)
    return samples, witnesses, weights, slopes.T @ weights, offsets
