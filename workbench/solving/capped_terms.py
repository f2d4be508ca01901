"""Capped terms min(t_i(w), κ_i) within a box: lower bounds by dual ascent, shrinking boxes, and alternation.

*Dual ascent.* λ ≥ 0 has one entry a cut, w = −Σ λa. In λ_z alone D is a parabola of curvature ‖a_z‖² with one kink,
where Λ_i reaches the slope of the chord, c_i (min(high, κ) − min(low, κ))/(high − low): there the derivative
s_z − low_i/c_i, s_z = ⟨a_z, w⟩ + o_z, falls to s_z − high_i/c_i. So a step goes to its top in closed form. At the kink
weight moves between the highest cut of a sample and the lowest one in use.

*Alternation* (Kumar, Packer & Koller 2010, Algorithm 2): keep the samples with t_i < κ_i, minimise over w with
these alone, and again, while F falls. It never rises: each half step minimises over its own part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.compiled import available, compiled_function
from workbench.contracts import Floats, Ints, Problem
from workbench.contracts import Search as Searched
from workbench.proofs.bounds import checked_theta
from workbench.proofs.capped import CappedBounds

HUGE = 1e30
SWEEPS = 400  # of one node's ascent, at most
FINISHES = 50  # steps to the optimum of a face, at most
FINE = 1e-15  # the accuracy of finished ascents, relative


class CappedCuts(NamedTuple):
    """All R cuts of the n samples, sample by sample: those of i have places starts[i] … starts[i + 1]."""

    slopes: Floats  # (R, p)
    offsets: Floats  # (R,)
    squares: Floats  # (R,) ‖a‖²
    norms: Floats  # (R,) ‖a‖
    starts: Ints  # (n + 1,)
    costs: Floats  # (n,) c
    caps: Floats  # (n,) κ


class DualPoint(NamedTuple):
    """λ = `weights` (R,), with w (p,) and t = `terms` (n,) that follow from λ; changed in place."""

    weights: Floats
    w: Floats
    terms: Floats


def ascend(
    cuts: CappedCuts, low: Floats, high: Floats, dual: DualPoint, target: float, accuracy: float, sweeps: int
) -> float:
    """Raise D from λ in place, until D reaches `target`, is known to `accuracy`, or for `sweeps`; D."""
    slopes, offsets, squares, _, starts, costs, caps = cuts
    weights, w, terms = dual
    n, p = len(costs), len(w)
    room, constant, value, before = np.empty(n), 0.0, -np.inf, -np.inf
    for i in range(n):
        first, last = min(low[i], caps[i]), min(high[i], caps[i])
        room[i] = (last - first) / (high[i] - low[i]) if high[i] > low[i] else 0.0
        constant += first - room[i] * low[i]
        room[i] *= costs[i]
    w[:] = 0.0
    for r in range(len(offsets)):
        if weights[r] > 0.0:
            for j in range(p):
                w[j] -= weights[r] * slopes[r, j]
    for sweep in range(sweeps):
        for i in range(n):
            mass, top, bottom, highest, lowest = 0.0, -1, -1, -np.inf, np.inf
            for r in range(starts[i], starts[i + 1]):
                mass += weights[r]
            for r in range(starts[i], starts[i + 1]):
                if squares[r] == 0.0:
                    continue
                score = offsets[r]
                for j in range(p):
                    score += slopes[r, j] * w[j]
                if score > highest:
                    highest, top = score, r
                if weights[r] > 0.0 and score < lowest:
                    lowest, bottom = score, r
                kink = room[i] - (mass - weights[r])
                new = weights[r] + (score - low[i] / costs[i]) / squares[r]
                if new > kink:
                    new = max(kink, weights[r] + (score - high[i] / costs[i]) / squares[r])
                change = max(new, 0.0) - weights[r]
                if change != 0.0:
                    weights[r] += change
                    mass += change
                    for j in range(p):
                        w[j] -= change * slopes[r, j]
            if top >= 0 and bottom >= 0 and top != bottom:
                rise, curve = offsets[top] - offsets[bottom], 0.0
                for j in range(p):
                    apart = slopes[top, j] - slopes[bottom, j]
                    rise += apart * w[j]
                    curve += apart * apart
                if curve > 0.0:
                    change = min(max(rise / curve, -weights[top]), weights[bottom])
                    weights[top] += change
                    weights[bottom] -= change
                    for j in range(p):
                        w[j] -= change * (slopes[top, j] - slopes[bottom, j])
        if sweep % 4 < 3 and sweep + 1 < sweeps:
            continue
        square, relaxed, inside = 0.0, constant, True
        for j in range(p):
            square += 0.5 * w[j] * w[j]
        value = -square
        for i in range(n):
            mass, highest = 0.0, 0.0
            for r in range(starts[i], starts[i + 1]):
                mass += weights[r]
                value += weights[r] * offsets[r]
                score = offsets[r]
                for j in range(p):
                    score += slopes[r, j] * w[j]
                highest = max(highest, score)
            terms[i] = costs[i] * highest
            ratio = mass / costs[i]
            value += min(min(low[i], caps[i]) - ratio * low[i], min(high[i], caps[i]) - ratio * high[i])
            relaxed += room[i] / costs[i] * max(terms[i], low[i])
            inside = inside and terms[i] <= high[i]
        if value >= target or (inside and relaxed + square - value <= accuracy) or value - before <= 0.1 * accuracy:
            break
        before = value
    return value


def shrink(cuts: CappedCuts, low: Floats, high: Floats, w: Floats, radius: float) -> float:
    """Shrink the box in place by ‖w* − w‖ ≤ radius; by how many widths of open terms, −1 if the box becomes empty."""
    slopes, offsets, _, norms, starts, costs, caps = cuts
    gained = 0.0
    for i in range(len(costs)):
        above, below = 0.0, 0.0
        for r in range(starts[i], starts[i + 1]):
            score = offsets[r]
            for j in range(len(w)):
                score += slopes[r, j] * w[j]
            above = max(above, costs[i] * (score + norms[r] * radius))
            below = max(below, costs[i] * (score - norms[r] * radius))
        above, below = min(above, high[i]), max(below, low[i])
        if below > above:
            return -1.0
        if low[i] < caps[i] and caps[i] < high[i]:
            gained += 1.0 - (above - below) / (high[i] - low[i])
        low[i], high[i] = below, above
    return gained


class CappedTerms:
    """The terms t_i as arrays, with `ascend` and `shrink` compiled for these arrays where numba is installed."""

    def __init__(self, bounds: CappedBounds):
        self.bounds = bounds
        (slopes, offsets, starts), squares = bounds.cuts, (bounds.cuts.slopes**2).sum(axis=1)
        costs, caps = ((each.lo + each.hi) / 2 for each in (bounds.costs, bounds.caps))
        self.cuts = CappedCuts(slopes, offsets, squares, np.sqrt(squares), starts.astype(np.int64), costs, caps)
        self.count, self.dim = len(costs), slopes.shape[1]
        self.ascend, self.shrink = ascend, shrink
        if available():
            low, high = np.zeros(self.count), np.ones(self.count)
            dual = self.dual(np.zeros(len(offsets)))
            self.ascend = compiled_function(ascend, (self.cuts, low, high, dual, 0.0, 0.0, 1))
            self.shrink = compiled_function(shrink, (self.cuts, low, high, dual.w, 0.0))

    def dual(self, weights: Floats) -> DualPoint:
        return DualPoint(weights, np.zeros(self.dim), np.zeros(self.count))

    def bound(
        self,
        low: Floats,
        high: Floats,
        weights: Floats,
        target: float,
        accuracy: float,
        caps: Floats | None = None,
    ) -> tuple[float, Floats, Floats]:
        """(D, w, t) after an ascent from λ = `weights`, changed in place; `caps` (n,) replaces κ."""
        dual, cuts = self.dual(weights), self.cuts if caps is None else self.cuts._replace(caps=caps)
        value = self.ascend(cuts, low, high, dual, float(target), float(accuracy), SWEEPS)
        return value, dual.w, dual.terms

    def finish(
        self, low: Floats, high: Floats, weights: Floats, target: float = np.inf, caps: Floats | None = None
    ) -> tuple[float, Floats, Floats]:
        """As `bound`, to the last digits: between ascents a step to the optimum of the face that λ lies on."""
        best = self.bound(low, high, weights, target, 0.0, caps)
        for _ in range(FINISHES):
            self.cross(low, high, weights, self.cuts.caps if caps is None else caps, best[1])
            value = best[0]
            best = self.bound(low, high, weights, target, 0.0, caps)
            if not value + FINE * abs(value) < best[0] < target:
                break
        return best

    def cross(self, low: Floats, high: Floats, weights: Floats, caps: Floats, w: Floats) -> None:
        """Newton's step in the entries λ > 0, Λ_i fixed where it is at its kink, as far as λ ≥ 0 and kinks allow.

        D is quadratic there: with rows A of these entries and E the sums that are fixed, the step δ solves
        A Aᵀ δ + Eᵀ μ = ∇D, E δ = 0.
        """
        used = np.flatnonzero((weights > 0) & (self.cuts.squares > 0))
        samples = np.searchsorted(self.cuts.starts, used, side="right") - 1
        width = high - low
        kinks = self.cuts.costs * np.divide(
            np.minimum(high, caps) - np.minimum(low, caps), width, where=width > 0, out=0 * low
        )
        mass = np.bincount(samples, weights[used], self.count)
        at_kink = (mass > 0) & (np.abs(mass - kinks) <= 1e-12 * kinks)
        side = np.where(mass < kinks, low, high) / self.cuts.costs
        rows = self.cuts.slopes[used]
        gradient = rows @ w + self.cuts.offsets[used] - np.where(at_kink, 0.0, side)[samples]
        fixed = np.flatnonzero(at_kink)
        E = (samples == fixed[:, None]) + 0.0
        system = np.block([[rows @ rows.T, E.T], [E, np.zeros((len(fixed),) * 2)]])
        step = np.linalg.lstsq(system, np.append(gradient, np.zeros(len(fixed))), rcond=1e-13)[0][: len(used)]
        change = np.bincount(samples, step, self.count) * ~at_kink
        ends = [-weights[used][step < 0] / step[step < 0]]
        towards = (kinks - mass) * change > 0
        ends.append((kinks - mass)[towards] / change[towards])
        weights[used] = np.maximum(weights[used] + min(1.0, *np.concatenate([*ends, [1.0]])) * step, 0.0)

    def values(self, w: Floats) -> Floats:
        """t (n,) at w; every sample's own cut is 0."""
        return self.cuts.costs * np.maximum.reduceat(self.cuts.slopes @ w + self.cuts.offsets, self.cuts.starts[:-1])

    def objective(self, w: Floats, terms: Floats) -> float:
        return float(w @ w / 2 + np.minimum(terms, self.cuts.caps).sum())

    def learned(self, kept: NDArray[np.bool_]) -> Floats:
        """argmin ½‖w‖² + Σ t_i over the samples with `kept` (n,), to rounding."""
        low, high = np.zeros(self.count), np.full(self.count, HUGE)
        return self.finish(low, high, np.zeros(len(self.cuts.offsets)), caps=np.where(kept, HUGE, 0.0))[1]

    def alternate(self, w: Floats) -> tuple[Floats, list[float]]:
        """Alternation from w: the last w that was better than the one before, and F at each."""
        terms = self.values(w)
        history = [self.objective(w, terms)]
        while True:
            new = self.learned(terms < self.cuts.caps)
            new_terms = self.values(new)
            value = self.objective(new, new_terms)
            if not value < history[-1] - 1e-13 * abs(history[-1]):
                return w, history
            w, terms = new, new_terms
            history.append(value)


def alternation(formulation: Searched, problem: Problem, w: Floats) -> tuple[Floats, list[float]]:
    """Where alternation from w ends, and F at each of its steps: a local answer without a bound."""
    bounds = CappedBounds(formulation, problem)
    return CappedTerms(bounds).alternate(checked_theta(w, bounds.oracle.dim))
