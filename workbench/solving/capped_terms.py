"""Capped terms min(t_i(w), κ_i) within a box: lower bounds by dual ascent, shrinking boxes, and alternation.

*Dual ascent.* λ ≥ 0 has one entry a cut, w = −Σ λa. In λ_z alone D is a parabola of curvature ‖a_z‖² with one kink,
where Λ_i reaches the slope of the chord, c_i (min(high, κ) − min(low, κ))/(high − low): there the derivative
s_z − low_i/c_i, s_z = ⟨a_z, w⟩ + o_z, falls to s_z − high_i/c_i. So a step goes to its top in closed form. At the kink
weight moves between the highest cut of a sample and the lowest one in use.

*Alternation* (Kumar, Packer & Koller 2010, Algorithm 2): keep the samples with t_i < κ_i, minimise over w with
these alone, each in its best state, and again, while F falls. F never rises: each step minimises over its own part.

Where samples hide states, the box of a node says by its `active` terms which cuts stand for which sample
(proofs/capped.py); a `View` holds these cuts alone, and the ascent knows no difference.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.compiled import available, compiled_function
from workbench.contracts import Floats, Ints, Problem
from workbench.contracts import Search as Searched
from workbench.proofs.bounds import checked_theta
from workbench.proofs.capped import Box, CappedBounds

HUGE = 1e30
SWEEPS = 400  # of one node's ascent, at most
FINISHES = 50  # steps to the optimum of a face, at most
FINE = 1e-15  # the accuracy of finished ascents, relative


class CappedCuts(NamedTuple):
    """All R cuts of T terms, term by term: those of i have places starts[i] … starts[i + 1]."""

    slopes: Floats  # (R, p)
    offsets: Floats  # (R,)
    squares: Floats  # (R,) ‖a‖²
    norms: Floats  # (R,) ‖a‖
    starts: Ints  # (T + 1,)
    costs: Floats  # (T,) c
    caps: Floats  # (T,) κ


class DualPoint(NamedTuple):
    """λ = `weights` (R,), with w (p,) and t = `terms` (n,) that follow from λ; changed in place."""

    weights: Floats
    w: Floats
    terms: Floats


class View(NamedTuple):
    """The terms that stand for the n samples in a box: their cuts, lowered by the reach, and between which ends."""

    cuts: CappedCuts
    rows: Ints | slice  # which of all cuts
    low: Floats  # (n,)
    high: Floats  # (n,)


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
        self.bounds, self.table = bounds, bounds.cuts
        table, squares = bounds.cuts, (bounds.cuts.slopes**2).sum(axis=1)
        costs, self.caps = ((each.lo + each.hi) / 2 for each in (bounds.costs, bounds.caps))
        of_terms = costs[table.owner], self.caps[table.owner]
        starts = table.starts.astype(np.int64)
        self.cuts = CappedCuts(table.slopes, table.offsets, squares, np.sqrt(squares), starts, *of_terms)
        self.hidden = len(table.several) > 0
        self.count, self.dim = len(costs), table.slopes.shape[1]
        self.ascend, self.shrink = ascend, shrink
        if available():
            low, high = np.zeros(len(table.owner)), np.ones(len(table.owner))
            dual = DualPoint(np.zeros(len(table.offsets)), np.zeros(self.dim), np.zeros(len(table.owner)))
            self.ascend = compiled_function(ascend, (self.cuts, low, high, dual, 0.0, 0.0, 1))
            self.shrink = compiled_function(shrink, (self.cuts, low, high, dual.w, 0.0))

    def view(self, box: Box) -> View:
        """The cuts that stand for the samples in the box of one node."""
        if not self.hidden:
            return View(self.cuts, slice(None), box.low, box.high)
        reach, starts = np.where(box.active >= len(self.table.spread), box.reach, 0.0), self.cuts.starts
        sizes = (starts[1:] - starts[:-1])[box.active]
        ends = np.append(0, np.cumsum(sizes))
        rows = np.arange(ends[-1]) + np.repeat(starts[box.active] - ends[:-1], sizes)
        squares, costs = self.cuts.squares[rows], self.cuts.costs[box.active]
        offsets = self.cuts.offsets[rows] - np.repeat(reach, sizes)
        caps = self.cuts.caps[box.active]
        cuts = CappedCuts(self.cuts.slopes[rows], offsets, squares, np.sqrt(squares), ends, costs, caps)
        low, high = (np.maximum(each[box.active] - costs * reach, 0.0) for each in (box.low, box.high))
        return View(cuts, rows, low, high)

    def bound(
        self, view: View, weights: Floats, target: float, accuracy: float, caps: Floats | None = None
    ) -> tuple[float, Floats, Floats]:
        """(D, w, t) after an ascent from λ = `weights` (R,), changed in place; `caps` (n,) replaces κ."""
        dual = DualPoint(np.ascontiguousarray(weights[view.rows]), np.zeros(self.dim), np.zeros(self.count))
        cuts = view.cuts if caps is None else view.cuts._replace(caps=caps)
        value = self.ascend(cuts, view.low, view.high, dual, float(target), float(accuracy), SWEEPS)
        weights[view.rows] = dual.weights
        return value, dual.w, dual.terms

    def finish(
        self, view: View, weights: Floats, target: float = np.inf, caps: Floats | None = None
    ) -> tuple[float, Floats, Floats]:
        """As `bound`, to the last digits: between ascents a step to the optimum of the face that λ lies on."""
        best = self.bound(view, weights, target, 0.0, caps)
        for _ in range(FINISHES):
            self.cross(view, weights, view.cuts.caps if caps is None else caps, best[1])
            value = best[0]
            best = self.bound(view, weights, target, 0.0, caps)
            if not value + FINE * abs(value) < best[0] < target:
                break
        return best

    def cross(self, view: View, weights: Floats, caps: Floats, w: Floats) -> None:
        """Newton's step in the entries λ > 0, Λ_i fixed where it is at its kink, as far as λ ≥ 0 and kinks allow.

        D is quadratic there: with rows A of these entries and E the sums that are fixed, the step δ solves
        A Aᵀ δ + Eᵀ μ = ∇D, E δ = 0.
        """
        cuts, low, high, own = view.cuts, view.low, view.high, weights[view.rows]
        used = np.flatnonzero((own > 0) & (cuts.squares > 0))
        samples = np.searchsorted(cuts.starts, used, side="right") - 1
        width = high - low
        kinks = cuts.costs * np.divide(
            np.minimum(high, caps) - np.minimum(low, caps), width, where=width > 0, out=0 * low
        )
        mass = np.bincount(samples, own[used], self.count)
        at_kink = (mass > 0) & (np.abs(mass - kinks) <= 1e-12 * kinks)
        side = np.where(mass < kinks, low, high) / cuts.costs
        rows = cuts.slopes[used]
        gradient = rows @ w + cuts.offsets[used] - np.where(at_kink, 0.0, side)[samples]
        fixed = np.flatnonzero(at_kink)
        E = (samples == fixed[:, None]) + 0.0
        system = np.block([[rows @ rows.T, E.T], [E, np.zeros((len(fixed),) * 2)]])
        step = np.linalg.lstsq(system, np.append(gradient, np.zeros(len(fixed))), rcond=1e-13)[0][: len(used)]
        change = np.bincount(samples, step, self.count) * ~at_kink
        ends = [-own[used][step < 0] / step[step < 0]]
        towards = (kinks - mass) * change > 0
        ends.append((kinks - mass)[towards] / change[towards])
        own[used] = np.maximum(own[used] + min(1.0, *np.concatenate([*ends, [1.0]])) * step, 0.0)
        weights[view.rows] = own

    def narrow(self, box: Box, w: Floats, radius: float) -> float:
        """Shrink the box of one node in place by ‖w* − w‖ ≤ radius; as `shrink`."""
        gained = self.shrink(self.cuts, box.low, box.high, w, radius)
        if self.hidden:
            farthest = self.table.spread @ w + np.linalg.norm(self.table.spread, axis=1) * radius
            farthest = np.maximum.reduceat(farthest, self.table.firsts[:-1])
            box.reach[:] = np.minimum(box.reach, np.maximum(farthest, 0.0))
        return gained

    def values(self, w: Floats) -> Floats:
        """t (n,) at w, each sample in its best state."""
        return self.cuts.costs[self.table.firsts[:-1]] * np.maximum(self.at_best(w)[0], 0.0)

    def at_best(self, w: Floats) -> tuple[Floats, Ints]:
        """The least max_z Δ_z + ⟨w, Φ_z − Φ_h⟩ over the states (n,), and the number of the state."""
        heights = np.maximum.reduceat(self.cuts.slopes @ w + self.cuts.offsets, self.cuts.starts[:-1])
        heights, firsts = heights[: len(self.table.spread)], self.table.firsts
        best = np.array([a + heights[a:b].argmin() for a, b in itertools.pairwise(firsts.tolist())])
        return heights[best], best

    def objective(self, w: Floats, terms: Floats) -> float:
        return float(w @ w / 2 + np.minimum(terms, self.caps).sum())

    def learned(self, kept: NDArray[np.bool_], states: Ints | None = None) -> Floats:
        """argmin ½‖w‖² + Σ t_ih over the samples with `kept` (n,), in the `states` (n,), to rounding."""
        T, states = len(self.table.owner), self.table.firsts[:-1] if states is None else states
        box = Box(np.zeros(T), np.full(T, HUGE), np.zeros(self.count), states)
        return self.finish(self.view(box), np.zeros(len(self.cuts.offsets)), caps=np.where(kept, HUGE, 0.0))[1]

    def alternate(self, w: Floats) -> tuple[Floats, list[float]]:
        """Alternation from w: the last w that was better than the one before, and F at each."""
        terms = self.values(w)
        history = [self.objective(w, terms)]
        while True:
            new = self.learned(terms < self.caps, self.at_best(w)[1])
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
