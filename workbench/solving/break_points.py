"""The exact path: the break points of λ between which the prices of the cuts are affine in λ (parametric active set).

    F_λ(θ) = λ/2 ‖θ‖² + Σ_i p_i max_z ⟨a_i(z), θ⟩ + o_i(z)

Its dual has prices β ≥ 0 on cuts, with Σ β_k = p_i over the cuts of sample i, and v = λθ = −Σ_k β_k a_k. On an active
set S, the cuts that may have a price, all cuts of a sample are equally high at the optimum: with ζ_i = λh_i,

    ⟨a_k, v⟩ + λ o_k = ζ_i  for k in S,        Σ_{k∈S∩i} β_k = p_i.

One cut of each sample is its reference; v₀ = −Σ_i p_i a_ref, and D and δ hold what slopes and offsets of the other cuts
of S have above it. Then D Dᵀ β = D v₀ + λ δ: β, v and ζ are affine in λ, a *line*, which is the optimum as long as
β ≥ 0 and no cut is higher than ζ_i. Followed downwards, it ends where a price reaches 0 or another cut ζ_i.

*Cuts that nobody has listed.* λ h_i(v/λ) = max_z ⟨a_i(z), v⟩ + λ o_i(z) is convex in λ along a line, and ζ_i is affine.
So no cut is missing on a whole segment if the argmax finds none at both of its ends; one that it finds ends the segment
sooner.

*At a break point* the active set is settled just below it, from the prices there: they move to those of the line until
one reaches 0, and its cut leaves; then the highest of the other cuts enters. If its row depends on the rows of D, prices
move along the dependency, which leaves v as it is, until a cut leaves in exchange. Several events at one λ are settled
in this way, too; where that takes too many steps, the program is solved anew just below the break point.

*Proof.* Nothing of this is trusted: each segment is proven, for all of its λ, from its two ends (`Stretch.straight`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from workbench.contracts import CutForm, Cuts, Floats, Formulation, Ints, Problem
from workbench.errors import BackendFailed, BadInput, MissingCapability, checked_positive
from workbench.proofs.stretches import Knot, Stretch, knot
from workbench.solving.masters.polish import solved
from workbench.solving.path import Point, Walk, within
from workbench.solving.progress import Clock, Observe
from workbench.solving.request import checked_formulation

EXACT = 1e-7  # the relative gap up to which a segment counts as exact
LARGEST = 200_000  # n·p up to which break points are followed
BEYOND = 1e-8  # how far below a break point, relative to λ, the next active set is settled
LEVEL = 1e-11  # of the largest offset: a cut higher by less is level with the others
STILL = 1e-13  # of a sample's mass: a price that falls by less on the way to λ = 0 stands still
DEPENDENT = 1e-9  # of a row's square: what is left of it beside the others if it depends on them
STEPS = 2_000  # of the active set at one break point


class BreakPoint(NamedTuple):
    """λ, and the cuts that enter and leave the active set as λ falls below it, by their numbers in `ExactPath.cuts`.

    active : how many cuts the active set has below λ
    """

    lam: float
    enters: list[int]
    leaves: list[int]
    active: int


@dataclass
class ExactPath:
    """Optima for every λ in [least, greatest]; between two knots the prices are affine in λ, and θ in 1/λ.

    knots : both ends of the range and what lies between two segments, by rising λ;  stretches : the segments
    gaps : the relative gap proven for every λ of each segment
    breaks : the break points, by falling λ;  cuts : the cuts that they name
    """

    formulation: Formulation
    problem: Problem
    knots: list[Knot]
    stretches: list[Stretch]
    gaps: Floats
    breaks: list[BreakPoint]
    cuts: Cuts
    cpu_seconds: float = 0.0

    @property
    def gap(self) -> float:
        """The greatest proven relative gap over all λ of the range."""
        return float(self.gaps.max())

    @property
    def exact(self) -> bool:
        """Whether every segment is proven to EXACT."""
        return self.gap <= EXACT

    def at(self, lam: float) -> Point:
        """What is proven at λ; `BadInput` outside of the range."""
        k = within(self.knots, lam)
        at = np.array([lam])
        s, t = self.stretches[k].mixtures(at)
        ends = float(self.stretches[k].lower(at, t).lo[0]), float(self.stretches[k].upper(at, s).hi[0])
        return Point(lam, self.stretches[k].theta(float(s[0])), *ends, float(self.gaps[k]))


def break_points(
    formulation: Formulation,
    problem: Problem,
    greatest: float = 10.0,
    least: float = 1e-3,
    observe: Observe | None = None,
) -> ExactPath:
    """The exact path of a formulation with λ/2 ‖w‖² and cuts, from the greatest λ down to the least.

    observe : called with the λ of each break point

    Raises
    ------
    MissingCapability : r is no λ/2‖θ‖², constraints are hard, or the terms are smooth: their path has no break points
    BadInput : no range, or a problem with more than LARGEST = n·p
    BackendFailed : the active set does not settle
    """
    checked_positive(greatest=greatest, least=least)
    if least >= greatest:
        raise BadInput(f"least is {least:g} and greatest {greatest:g}; give a range such as least=0.001, greatest=10.")
    formulation = checked_formulation(formulation, problem)
    if not isinstance(formulation, CutForm):
        name = type(formulation).__name__
        raise MissingCapability(f"{name} has no maxima over cuts, so its path has no break points; use path without.")
    clock, follower = Clock(), Follower(formulation, problem, observe)
    knots = list(follower.down(greatest, least))[::-1]
    stretches = [Stretch(*pair, follower.walk.floor) for pair in zip(knots, knots[1:], strict=False)]
    gaps = np.array([each.straight for each in stretches])
    found = formulation, problem, knots, stretches, gaps, follower.breaks, follower.cuts
    return ExactPath(*found, cpu_seconds=clock.cpu_seconds)


class Line(NamedTuple):
    """Prices β (2, m) of the cuts `held` (m,), v (2, p) and ζ (2, n) along a line: x[0] + λ x[1] at λ."""

    held: Ints
    prices: Floats
    push: Floats
    heights: Floats


def at(pair: Floats, lam: float) -> Floats:
    return pair[0] + lam * pair[1]


class Follower:
    """The active sets of one path; `cuts` are the cuts seen so far."""

    def __init__(self, formulation: CutForm, problem: Problem, observe: Observe | None):
        self.walk, self.observe = Walk(formulation, problem, 1e-9, None), observe
        self.bounds = self.walk.bounds
        size = len(self.bounds.samples) * self.bounds.oracle.dim
        if size > LARGEST:
            raise BadInput(
                f"The problem has {size} = samples × weights, more than the {LARGEST} up to which break points are "
                "followed; leave them out, or give fewer samples."
            )
        self.cuts = Cuts(self.bounds.oracle.dim, self.bounds.oracle.width)
        self.masses = self.bounds.prices.floats()
        self.breaks: list[BreakPoint] = []

    def down(self, greatest: float, least: float) -> Iterator[Knot]:
        """The knots at both ends and at every break point, by falling λ."""
        line, lam = self.settled_anew(greatest), greatest
        yield self.knot(line, greatest)
        while lam > least:
            below = lam if lam == greatest else lam * (1 - BEYOND)
            lam = self.end(line, below, least)
            yield self.knot(line, lam)
            if lam > least:
                line = self.turned(line, lam)

    def knot(self, line: Line, lam: float) -> Knot:
        """The knot at λ of a line, by the full bounds."""
        bounds, theta = self.walk.bounds_at(lam), at(line.push, lam) / lam
        weights = np.zeros(len(self.cuts))
        weights[line.held] = np.maximum(at(line.prices, lam), 0.0)
        return knot(bounds, theta, bounds.upper(theta), self.cuts, weights)

    def end(self, line: Line, lam: float, least: float) -> float:
        """The λ at which a line that is the optimum at λ ends, or `least`; asks the argmax there."""
        while True:
            falling = np.concatenate([line.prices, -self.excess(line)], axis=1)
            still = np.concatenate([STILL * self.masses[self.cuts.samples[line.held]] / lam, self.even])
            falling = falling[:, falling[1] > still]
            ends = np.minimum(-falling[0] / falling[1], lam)
            found = float(max(ends.max(initial=least), least))
            if found >= lam or not self.asked(line, found):
                return found

    def excess(self, line: Line) -> Floats:
        """⟨a_k, v⟩ + λ o_k − ζ_i (2, K) of all cuts but those held, which have −∞."""
        excess = (self.cuts.slopes @ line.push.T).T - line.heights[:, self.cuts.samples]
        excess[1] += self.cuts.offsets
        excess[:, line.held] = np.array([[-np.inf], [0.0]])
        return excess

    def asked(self, line: Line, lam: float) -> bool:
        """Whether the argmax finds a cut at λ that is new and too high; it then stands in `cuts`."""
        known, samples = len(self.cuts), self.bounds.samples
        witnesses = self.bounds.highest(at(line.push, lam) / lam, samples)
        self.cuts.add(samples, witnesses, self.bounds.oracle.rows)
        return bool((at(self.excess(line), lam)[known:] > self.level * lam).any())

    @property
    def even(self) -> Floats:
        return np.full(len(self.cuts), self.level)

    @property
    def level(self) -> float:
        return LEVEL * max(float(np.abs(self.cuts.offsets).max(initial=0.0)), 1e-300)

    def turned(self, line: Line, lam: float) -> Line:
        """The line below a break point, which is kept if the active set changes."""
        prices, below = np.maximum(at(line.prices, lam), 0.0), lam * (1 - BEYOND)
        following = self.settled(line.held, prices, below)
        if following is None:
            following = self.settled_anew(below)
        before, after = (set(each.held.tolist()) for each in (line, following))
        if before != after:
            self.breaks.append(BreakPoint(lam, sorted(after - before), sorted(before - after), len(after)))
            if self.observe:
                self.observe({"lam": lam, "breaks": len(self.breaks)})
        return following

    def settled_anew(self, lam: float) -> Line:
        """The line at λ from a solve from nothing, by its heaviest cuts."""
        self.walk.solved(lam)
        guess = self.walk.guesses[lam]
        order = np.lexsort((-guess.weights, guess.samples))
        first = order[np.unique(guess.samples[order], return_index=True)[1]]
        held = self.cuts.add(guess.samples[first], guess.witnesses[first], self.bounds.oracle.rows)
        self.cuts.add(guess.samples, guess.witnesses, self.bounds.oracle.rows)
        prices = self.masses[self.cuts.samples[held]]
        while (line := self.settled(held, prices, lam)) is not None:
            if not self.asked(line, lam):
                return line
            held, prices = line.held, np.maximum(at(line.prices, lam), 0.0)
        raise BackendFailed(f"At lam={lam:.6g} no active set settles in {STEPS} steps; use path without break points.")

    def settled(self, held: Ints, prices: Floats, lam: float) -> Line | None:
        """The line that is the optimum over `cuts` at λ, by an active set from prices; None after STEPS steps."""
        for _ in range(STEPS):
            line = self.line(held)
            target = at(line.prices, lam)
            sinks = np.flatnonzero(target < 0)
            if len(sinks):
                ratios = prices[sinks] / (prices[sinks] - target[sinks])
                leaves = sinks[ratios.argmin()]
                prices = np.maximum(prices + ratios.min() * (target - prices), 0.0)
                held, prices = np.delete(held, leaves), np.delete(prices, leaves)
                continue
            excess = at(self.excess(line), lam)
            if excess.max(initial=-np.inf) <= self.level * lam:
                return line
            held, prices = self.entered(held, target, int(excess.argmax()))
        return None

    def entered(self, held: Ints, prices: Floats, cut: int) -> tuple[Ints, Floats]:
        """The active set with another cut; in exchange for one of its own where their rows depend on one another."""
        free, back = self.parted(held)
        rows, own = self.above(held, free, back), self.cuts.samples[cut]
        reference = int(np.flatnonzero(self.cuts.samples[held] == own)[0])
        row = (self.cuts.slopes[[cut]] - self.cuts.slopes[[held[reference]]]).toarray()[0]
        share = self.share(rows, row)
        left = row - share @ rows
        if left @ left > DEPENDENT * (row @ row):
            return np.append(held, cut), np.append(prices, 0.0)
        move = np.zeros(len(held))
        move[free] = -share
        np.add.at(move, back, share)
        move[reference] -= 1.0
        ratios = np.full(len(held), np.inf)
        np.divide(prices, -move, out=ratios, where=move < -1e-9)
        leaves = int(ratios.argmin())
        prices = np.maximum(prices + ratios[leaves] * move, 0.0)
        return np.append(np.delete(held, leaves), cut), np.append(np.delete(prices, leaves), ratios[leaves])

    @staticmethod
    def share(rows: Floats, row: Floats) -> Floats:
        """x with x·rows next to a row."""
        found = solved(rows @ rows.T, rows @ row)
        assert found is not None  # the rows are few
        return found

    def parted(self, held: Ints) -> tuple[Ints, Ints]:
        """Places in `held` of the cuts that are no reference, and of their references."""
        samples = self.cuts.samples[held]
        own, first = np.unique(samples, return_index=True)
        free = np.setdiff1d(np.arange(len(held)), first)
        return free, first[np.searchsorted(own, samples[free])]

    def above(self, held: Ints, free: Ints, back: Ints) -> Floats:
        """D: what slopes have above those of their references."""
        return (self.cuts.slopes[held[free]] - self.cuts.slopes[held[back]]).toarray()

    def line(self, held: Ints) -> Line:
        """The line of an active set."""
        free, back = self.parted(held)
        rows, samples = self.above(held, free, back), self.cuts.samples[held]
        first = np.setdiff1d(np.arange(len(held)), free)
        masses = self.masses[samples[first]]
        base = -(self.cuts.slopes[held[first]].T @ masses)
        lift = self.cuts.offsets[held[free]] - self.cuts.offsets[held[back]]
        own = solved(rows @ rows.T, np.stack([rows @ base, lift], axis=1))
        assert own is not None  # the rows are few
        prices, push = np.zeros((2, len(held))), np.stack([base, np.zeros(len(base))])
        prices[0, first] = masses
        prices[:, free] = own.T
        for k in range(2):
            np.subtract.at(prices[k], back, own[:, k])
            push[k] -= own[:, k] @ rows
        heights = np.zeros((2, len(self.masses)))
        heights[:, samples[first]] = (self.cuts.slopes[held[first]] @ push.T).T
        heights[1, samples[first]] += self.cuts.offsets[held[first]]
        return Line(held, prices, push, heights)
