"""The exact path: the break points of λ between which the prices of the cuts are affine in λ.

    F_λ(θ) = λ/2 ‖θ‖² + Σ_i p_i max_z ⟨a_i(z), θ⟩ + o_i(z)

The optimum on one active set is a *line* in λ, as long as no price is negative and no other cut higher (active_set.py).
Followed downwards, the line ends where a price reaches 0 or another cut the height of its sample. The active set then
changes: it is settled just below this break point, from the prices at it. Several events at one λ are settled in the
same way; where that takes too many steps, the program is solved anew just below the break point.

*Cuts that nobody has listed.* λh_i(v/λ) = max_z ⟨a_i(z), v⟩ + λo_i(z) is convex in λ where v is affine, and the line's
λh_i is affine. So no cut is missing on a whole segment if the argmax finds none at both of its ends; one that it finds
ends the segment sooner.

*Proof.* Nothing of this is trusted: each segment is proven, for all of its λ, from the bounds at its two ends
(`Stretch.straight`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from workbench.contracts import CutForm, Cuts, Floats, Formulation, Problem
from workbench.errors import BackendFailed, BadInput, MissingCapability, checked_positive
from workbench.proofs.bounds import Bounds
from workbench.proofs.stretches import Knot, Stretch, knot
from workbench.solving.active_set import STEPS, ActiveSet, Line, at
from workbench.solving.path import Point, Walk, within
from workbench.solving.progress import Clock, Observe, checked_calls
from workbench.solving.request import checked_formulation

EXACT = 1e-7  # the relative gap up to which a segment counts as exact
LARGEST = 200_000  # n·p up to which break points are followed
BEYOND = 1e-8  # how far below a break point, relative to λ, the next active set is settled
MOST = 20_000  # segments, so that steps of BEYOND at a time come to an end
STILL = 1e-13  # of a sample's mass: a price that falls by less on the way to λ = 0 stands still


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
    def pieces(self) -> int:
        """How many ranges of λ have a proof of their own."""
        return len(self.stretches)

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
    MissingCapability : r is no λ/2‖θ‖², constraints are hard, n·p is above LARGEST, or the terms are smooth: their path
        has no break points
    BadInput : no range
    BackendFailed : an active set does not settle
    """
    checked_positive(greatest=greatest, least=least)
    checked_calls(observe=observe)
    if least >= greatest:
        raise BadInput(f"least is {least:g} and greatest {greatest:g}; give a range such as least=0.001, greatest=10.")
    formulation = checked_formulation(formulation, problem, "break_points")
    if not isinstance(formulation, CutForm):
        name = type(formulation).__name__
        raise MissingCapability(f"{name} has no maxima over cuts, so its path has no break points; leave them out.")
    clock, follower = Clock(), Follower(formulation, problem, observe)
    knots = list(follower.down(greatest, least))[::-1]
    stretches = [Stretch(*pair, follower.walk.bounds.floor) for pair in pairwise(knots)]
    gaps = np.array([each.straight for each in stretches])
    found = formulation, problem, knots, stretches, gaps, follower.breaks, follower.cuts
    return ExactPath(*found, cpu_seconds=clock.cpu_seconds)


class Follower:
    """The active sets of one path; `cuts` are the cuts seen so far."""

    def __init__(self, formulation: CutForm, problem: Problem, observe: Observe | None):
        self.walk, self.observe = Walk(formulation, problem, 1e-9, None), observe
        bounds = self.walk.bounds
        assert isinstance(bounds, Bounds)  # the form is a `CutForm`
        self.bounds = bounds
        size = len(self.bounds.samples) * self.bounds.oracle.dim
        if size > LARGEST:
            raise MissingCapability(
                f"Break points are followed up to {LARGEST} samples × weights, and here are {size}; give fewer samples."
            )
        self.cuts = Cuts(self.bounds.oracle.dim, self.bounds.oracle.width)
        self.program = ActiveSet(self.cuts, self.bounds.prices.floats())
        self.breaks: list[BreakPoint] = []

    def down(self, greatest: float, least: float) -> Iterator[Knot]:
        """The knots at both ends and at every break point, by falling λ."""
        line, lam, segments = self.settled_anew(greatest), greatest, 0
        yield self.knot(line, greatest)
        while lam > least:
            below = lam if lam == greatest else lam * (1 - BEYOND)
            lam = self.end(line, below, least)
            yield self.knot(line, lam)
            if lam > least:
                line = self.turned(line, lam)
                segments += 1
            if segments > MOST:
                raise BackendFailed(f"{MOST} segments do not lead below lam={lam:.6g}; give a narrower range.")

    def knot(self, line: Line, lam: float) -> Knot:
        """The knot at λ of a line, by the full bounds."""
        bounds, theta = self.walk.bounds_at(lam), at(line.push, lam) / lam
        weights = np.zeros(len(self.cuts))
        weights[line.held] = np.maximum(at(line.prices, lam), 0.0)
        return knot(bounds, theta, self.cuts, weights)

    def end(self, line: Line, lam: float, least: float) -> float:
        """The λ at which a line that is the optimum at λ ends, or `least`; asks the argmax there."""
        while True:
            falling = np.concatenate([line.prices, -self.program.excess(line)], axis=1)
            masses = self.program.masses[self.cuts.samples[line.held]]
            still = np.concatenate([STILL * masses / lam, np.full(len(self.cuts), self.program.level)])
            falling = falling[:, falling[1] > still]
            ends = np.minimum(-falling[0] / falling[1], lam)
            found = float(max(ends.max(initial=least), least))
            if found >= lam or not self.asked(line, found):
                return found

    def asked(self, line: Line, lam: float) -> bool:
        """Whether the argmax finds a cut at λ that is new and too high; it then stands in `cuts`."""
        known, samples = len(self.cuts), self.bounds.samples
        witnesses = self.bounds.highest(at(line.push, lam) / lam, samples)
        self.cuts.add(samples, witnesses, self.bounds.oracle.rows)
        return bool((at(self.program.excess(line), lam)[known:] > self.program.level * lam).any())

    def turned(self, line: Line, lam: float) -> Line:
        """The line below a break point, which is kept if the active set changes."""
        prices, below = np.maximum(at(line.prices, lam), 0.0), lam * (1 - BEYOND)
        following = self.program.settled(line.held, prices, below)
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
        prices = self.program.masses[self.cuts.samples[held]]
        while (line := self.program.settled(held, prices, lam)) is not None:
            if not self.asked(line, lam):
                return line
            held, prices = line.held, np.maximum(at(line.prices, lam), 0.0)
        raise BackendFailed(f"At lam={lam:.6g} no active set settles in {STEPS} steps; leave break points out.")
