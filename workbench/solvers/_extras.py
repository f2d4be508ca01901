"""Extra entries of θ, behind the weights: biases, which no term penalises, and costs, on the simplex or normalised.

Where r(x) = a x² + c x on x ≥ f, block ascent needs a > 0. Biases and costs on the simplex have a = 0; r gets the term
½σ(x − x⁰)² there, whose centre x⁰ moves to x after each pass (the proximal method of multipliers; Rockafellar 1976).
With h = 2a + σ and the push d = Σ_r β_r a_r,

    x_j = max(f_j, (σx⁰_j − c_j − d_j − τ)/h_j),      τ = 0 but on the simplex, where Σ x = 1 determines τ

τ is the multiplier of Σ x = 1, one more block of the dual: `retie` sets τ to the maximum, the projection of
(σx⁰ − c − d)/h onto the simplex in the metric h, while visits of samples keep τ. Entries with a = ∞ stay 0.

Extra entries move about as fast as the weights if cuts have the same mean square in both, measured by h: σ is the mean
of Σ_j a_j² over the extra entries, over the mean of Σ_j a_j²/(2a_j) over the weights; one σ for the simplex, one for
the other extra entries. No σ and no x⁰ enters a bound.

**Held costs.** Costs that are learned from poor weights mislead them. So passes begin with costs on the simplex that
move HOLD times as slowly, by a σ that is HOLD times as large; σ falls as the gap of the passes does, and after a while.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from workbench.contracts import Floats, Ints, Shape

HOLD = 300.0  # times σ at the start


class Extras(NamedTuple):
    """q entries of θ behind the weights: h, σ, σx⁰ − c − τ, f, d and x (q,), τ (1,), and those on the simplex (s,)."""

    metric: Floats
    sigma: Floats
    pull: Floats
    floor: Floats
    push: Floats
    x: Floats
    tie: Floats
    simplex: Ints


def none() -> Extras:
    """No extra entries."""
    metric, sigma, pull, floor, push, x = np.zeros((6, 0))
    return Extras(metric, sigma, pull, floor, push, x, tie=np.zeros(1), simplex=np.zeros(0, np.int64))


def extras_of(shape: Shape, first: int, x: Floats, slopes: sparse.csr_array) -> Extras:
    """The entries of θ from `first` on, which stand at x (q,); σ as the `slopes` (m, p) of some cuts want it."""
    square, onto = shape.square[first:], shape.simplex[first:]
    sizes = np.asarray(slopes.multiply(slopes).sum(axis=0)).ravel()
    rest, live = float((sizes[:first] / (2 * shape.square[:first])).sum()), np.isfinite(square)
    sigma = np.zeros(len(square))
    for kind in (onto & live, (square == 0) & ~onto):
        total = sizes[first:][kind].sum()
        sigma[kind] = total / rest if total * rest > 0 else 1.0
    floor = np.where(live, shape.floor[first:], 0.0)
    pull = sigma * x - shape.linear[first:]
    return Extras(2 * square + sigma, sigma, pull, floor, np.zeros(len(x)), x, np.zeros(1), np.flatnonzero(onto))


def hold(extras: Extras, factor: float) -> None:
    """σ of the simplex times a factor."""
    for each in (extras.metric, extras.sigma, extras.pull):
        each[extras.simplex] *= factor


def recentre(extras: Extras) -> None:
    """x⁰ becomes x; x itself follows at the next `retie`."""
    free = extras.sigma > 0
    extras.pull[free] = (extras.sigma * extras.x)[free]
    extras.tie[0] = 0.0


def retie(projected, extras):
    """τ by the projection onto the simplex, then x of all extra entries; τ."""
    metric, _, pull, floor, push, x, tie, simplex = extras
    if len(simplex) > 0:
        for j in simplex:
            pull[j] += tie[0]
        v = projected((pull[simplex] - push[simplex]) / metric[simplex], metric[simplex])
        best = v.argmax()
        j = simplex[best]
        tie[0] = pull[j] - push[j] - metric[j] * v[best]
        for j in simplex:
            pull[j] -= tie[0]
    for j in range(len(x)):
        x[j] = max((pull[j] - push[j]) / metric[j], floor[j])
    return tie[0]
