"""Bounds on the optimum at every λ between two values of λ at which a point and dual weights are known.

    F_λ(θ) = λ/2 ‖θ‖² + R(θ),      R(θ) = Σ_i p_i h_i(θ)

A **knot** is a λ with its θ, and with the numbers of its dual: ō = Σ_k μ_k o_k and v = −Σ_k μ_k a_k (of smooth terms:
of the tangent at θ). Prices, cuts and R do not depend on λ, so θ and μ prove bounds at *every* λ > 0,

    o − ‖v‖²/(2λ)  ≤  min F_λ  ≤  λ/2 ‖θ‖² + R(θ),

whose difference is a rational function of λ, as of Giesen, Jaggi & Laue (2012). Between two knots a and b mixtures
prove more: R is convex and the duals are linear in μ, so for all s, t in [0, 1], with θ_s = (1 − s)θ_a + sθ_b,

    min F_λ  ≤  U(λ, s) = λ/2 ‖θ_s‖² + (1 − s)R_a + sR_b
    min F_λ  ≥  L(λ, t) = (1 − t)ō_a + tō_b − ‖(1 − t)v_a + tv_b‖²/(2λ).

Best s and t at a λ have closed forms, since both are parabolas. Where the same cuts hold the optimum at both knots, the
mixtures are the optimum itself: there α is affine in λ and θ in 1/λ.

**Stops.** R bends between the knots, and the chord over it lies above R by as much. So θ_s may pass *stops* where R is
known: it goes from one to the next, and each leg has its own chord. A stop costs one look at all terms and no solve.
With one in the middle, the chords are a quarter as far from R.

**All λ of a cell.** For fixed s and t, U − L is convex in λ, so on a cell [λ₁, λ₂] the difference is at most the larger
of those at λ₁ and λ₂; and L grows with λ. Hence the relative gap on the cell is at most
max(U − L at λ₁, U − L at λ₂)/max(L(λ₁), floor). Cells are halved until this is at most ε. All numbers are intervals.

**A whole stretch at once.** With t = (λ − a)/(b − a) and s = tb/λ both λθ_s = y_t and v_t are affine in λ, and
(1 − t)a = (1 − s)λ. From ‖x_t‖² = (1 − t)‖x_a‖² + t‖x_b‖² − t(1 − t)‖x_b − x_a‖², of y and of v, follows

    U(λ, s) − L(λ, t) = (1 − s) g_a + s g_b + t(1 − t) c/λ,    c = (b − a)(ō_b − ō_a) − ½‖y_b − y_a‖² − ½‖v_b − v_a‖²

with g the difference at the knots. t(1 − t)/λ is greatest at λ² = ab, 1/(√a + √b)². Where one set of cuts holds the
optimum on the whole stretch, c = 0 but for rounding: two solves prove every λ between them (`Stretch.straight`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from workbench.arithmetic.intervals import TINY, Interval, down, inner, up
from workbench.contracts import Cuts, Floats, Ints, Squared
from workbench.errors import MissingCapability
from workbench.objectives.regularizers import SquaredNorm
from workbench.proofs.bounds import Bounds
from workbench.proofs.dyadic import DyadicBounds
from workbench.proofs.smooth import SmoothBounds

CELLS = 16  # with which a stretch begins
DEPTH = 10  # times that a cell is halved, at most

Numbers = Any  # intervals or arrays of numbers: proofs and guesses are one formula


@dataclass(frozen=True)
class Knot:
    """λ, θ (p,), R(θ), ō and v (p,); ō and v are enclosed, and R(θ) lies below `risk.hi`."""

    lam: float
    theta: Floats
    risk: Interval
    offset: Interval
    push: Interval

    @cached_property
    def ends(self) -> tuple[float, float]:
        """(lower, upper) at its own λ."""
        lower = self.offset - dot(self.push, self.push) / (2 * Interval(self.lam))
        upper = dot(Interval(self.theta), Interval(self.theta)) * self.lam / 2 + self.risk
        return float(lower.lo), float(upper.hi)

    @property
    def gap(self) -> float:
        """The relative gap at its own λ, to its upper end."""
        lower, upper = self.ends
        return (upper - lower) / upper


@dataclass(frozen=True)
class Cells:
    """Adjacent ranges of λ, each with its mixtures and its proven relative gap: low, high, s, t, gap (m,)."""

    low: Floats
    high: Floats
    s: Floats
    t: Floats
    gap: Floats


def knot(
    bounds: Bounds | SmoothBounds,
    theta: Floats,
    cuts: Cuts | None = None,
    weights: Floats | None = None,
    upper: float | None = None,
) -> Knot:
    """The knot of a point and, unless the terms are smooth, of weights of cuts, at the bounds' λ.

    upper : F(θ) from above, if it is known

    Raises
    ------
    MissingCapability : a sample has no dual weight
    """
    assert isinstance(bounds.regularizer, SquaredNorm)  # as `refuse_others` made sure
    lam = float(bounds.regularizer.lam)
    if isinstance(bounds, SmoothBounds):
        risk, gradient = bounds.tangent(theta)
        return Knot(lam, theta, risk, risk - dot(gradient, Interval(theta)), -gradient)
    found = None if cuts is None or weights is None else bounds.dual(cuts, weights)
    if found is None:
        raise MissingCapability("A path needs dual weights for every sample, which this answer does not have.")
    if upper is None:
        return Knot(lam, theta, stop(bounds, theta).risk, *found)
    size = dot(Interval(theta), Interval(theta)) * lam / 2
    return Knot(lam, theta, upper - size, *found)


def refuse_others(bounds: Bounds | SmoothBounds | DyadicBounds) -> None:
    """`MissingCapability` unless r is λ/2‖θ‖² with the setting lam for λ, and no constraint is hard."""
    form = bounds.formulation
    if not isinstance(bounds.regularizer, SquaredNorm) or bounds.prices.hard or not isinstance(form, Squared):
        name = f"{form} on {type(bounds.problem).__name__}"
        raise MissingCapability(f"A path needs λ/2 ‖w‖² and finite prices, which {name} does not have; use solve.")


@dataclass(frozen=True)
class Stop:
    """θ (p,), and an enclosed number below which R(θ) lies."""

    theta: Floats
    risk: Interval


def stop(bounds: Bounds | SmoothBounds, theta: Floats) -> Stop:
    """The stop at a θ, from the terms at it."""
    if isinstance(bounds, SmoothBounds):
        return Stop(theta, bounds.tangent(theta)[0])
    return Stop(theta, bounds.risk(bounds.hinges(theta, None)))


class Stretch:
    """The λ between two knots, of which `first` has the smaller one; θ_s goes from knot to knot, or from stop to stop.

    stops : between the knots, m − 1 of them, so that s goes from 0 to m and θ_s is the k-th of them at s = k
    """

    def __init__(self, first: Knot, last: Knot, floor: float, stops: Sequence[Stop] = ()):
        self.first, self.last, self.floor = first, last, floor
        self.points: list[Knot | Stop] = [first, *stops, last]

    @cached_property
    def proven(self) -> Curves:
        """The curves of U and L, enclosed."""
        return Curves.of(self.points, self.first, self.last, lambda number: number)

    @cached_property
    def rough(self) -> Curves:
        """The same in floats."""
        return Curves.of(self.points, self.first, self.last, mid)

    def legs(self, s: Floats) -> tuple[Ints, Floats]:
        """From which of the points θ_s goes to the next one, and the share of the way; exact."""
        leg = np.minimum(s.astype(int), len(self.points) - 2)
        return leg, s - leg

    def mixtures(self, lam: Floats) -> tuple[Floats, Floats]:
        """Best s and t at each λ: the vertices of U in s, leg by leg, and of L in t."""
        rough, every = self.rough, np.arange(len(self.points) - 1)[:, None]
        sizes, risks = rough.sizes.of(every), rough.risks.of(every)
        u = vertex(sizes.slope * lam / 2 + risks.slope, sizes.bend * lam)
        leg = rough.upper(lam, every, u).argmin(axis=0)
        t = vertex(rough.pushes.slope / (2 * lam) - rough.offsets.slope, rough.pushes.bend / lam)
        return leg + u[leg, np.arange(len(lam))], t

    def upper(self, lam: Floats, s: Floats) -> Interval:
        leg, u = self.legs(s)
        return self.proven.upper(Interval(lam), leg, Interval(u))

    def lower(self, lam: Floats, t: Floats) -> Interval:
        return self.proven.lower(Interval(lam), Interval(t))

    def widths(self, lam: Floats, s: Floats, t: Floats) -> tuple[Floats, Floats]:
        """U(λ, s) − L(λ, t) and L(λ, t), rounded outward."""
        lower = self.lower(lam, t).lo
        return up(self.upper(lam, s).hi - lower), lower

    def gaps(self, low: Floats, high: Floats, s: Floats, t: Floats) -> Floats:
        """The proven relative gap of each cell, as the module's docstring says."""
        widths, lower = self.widths(np.concatenate([low, high]), np.tile(s, 2), np.tile(t, 2))
        return up(widths.reshape(2, -1).max(axis=0) / np.maximum(lower[: len(low)], self.floor))

    @property
    def straight(self) -> float:
        """The proven relative gap at every λ by the mixtures that make λθ and v affine in λ."""
        a, b = Interval(self.first.lam), Interval(self.last.lam)
        bend = (b - a) * (self.last.offset - self.first.offset)
        turns = Interval(self.last.theta) * b - Interval(self.first.theta) * a, self.last.push - self.first.push
        for each in turns:
            bend = bend - dot(each, each) / 2
        roots = np.sqrt(self.first.lam) + np.sqrt(self.last.lam)
        ends = (up(upper - lower) for lower, upper in (self.first.ends, self.last.ends))
        width = up(max(ends) + up(max(float(bend.hi), 0.0) / down(down(roots) ** 2)))
        return float(up(width / max(down(self.first.ends[0] - width), self.floor)))

    def guessed(self, lam: Floats, s: Floats, t: Floats) -> Floats:
        """The relative gap at each λ by its mixtures, in floats: what a proof may find, which this is not."""
        lower = self.rough.lower(lam, t)
        return (self.rough.upper(lam, *self.legs(s)) - lower) / np.maximum(lower, self.floor)

    def middle(self) -> float:
        """The relative gap at √(λ_a λ_b), `guessed`."""
        return float(self.guessed(self.halfway, *self.mixtures(self.halfway))[0])

    def best(self) -> Floats:
        """The θ_s of least U at √(λ_a λ_b)."""
        return self.theta(float(self.mixtures(self.halfway)[0][0]))

    @property
    def halfway(self) -> Floats:
        """√(λ_a λ_b), as an array (1,)."""
        return np.sqrt(np.array([self.first.lam * self.last.lam]))

    def cells(self, epsilon: float) -> Cells | None:
        """Cells over the whole stretch, halved until their gap is at most ε; None if no halving leads there."""
        ends = np.geomspace(self.first.lam, self.last.lam, CELLS + 1)
        ends[0], ends[-1] = self.first.lam, self.last.lam
        low, high = ends[:-1], ends[1:]
        for _ in range(DEPTH):
            middle = np.sqrt(low * high)
            s, t = self.mixtures(middle)
            if (self.guessed(middle, s, t) > epsilon).any():
                return None
            cells = Cells(low, high, s, t, self.gaps(low, high, s, t))
            wide = cells.gap > epsilon
            if not wide.any():
                return cells
            low = np.sort(np.concatenate([low, middle[wide]]))
            high = np.sort(np.concatenate([high, middle[wide]]))
        return None

    def theta(self, s: float) -> Floats:
        (leg,), (u,) = self.legs(np.array([s]))
        return (1 - u) * self.points[leg].theta + u * self.points[leg + 1].theta


class Curve(NamedTuple):
    """c(u) = start + slope·u + bend·u² for u in [0, 1], of intervals or floats, or of arrays of them."""

    start: Numbers
    slope: Numbers
    bend: Numbers

    @classmethod
    def square(cls, x: Numbers, y: Numbers) -> Curve:
        """‖x + u(y − x)‖²."""
        product: Callable[..., Numbers] = inner if isinstance(x, Interval) else np.dot
        step = y - x
        return cls(product(x, x), product(x, step) * 2, product(step, step))

    @classmethod
    def line(cls, x: Numbers, y: Numbers) -> Curve:
        """x + u(y − x)."""
        return cls(x, y - x, 0.0 * x)

    @classmethod
    def stacked(cls, curves: Iterable[Curve]) -> Curve:
        """One curve of arrays."""
        return cls(*map(stacked, zip(*curves, strict=True)))

    def at(self, u: Numbers) -> Numbers:
        return self.start + (self.slope + self.bend * u) * u

    def of(self, places: Ints) -> Curve:
        """The curves at these places of the arrays."""
        return Curve(*(each[places] for each in self))


class Curves(NamedTuple):
    """‖θ_s‖² and R, leg by leg, ‖v_t‖² and ō_t; of intervals or of floats, as the numbers that they are given."""

    sizes: Curve
    risks: Curve
    pushes: Curve
    offsets: Curve

    @classmethod
    def of(cls, points: Sequence[Knot | Stop], first: Knot, last: Knot, told: Callable[[Interval], Numbers]) -> Curves:
        """The curves from point to point and from knot to knot, with every number as `told` tells it."""
        legs = [
            (told(Interval(a.theta)), told(Interval(b.theta)), told(a.risk), told(b.risk)) for a, b in pairwise(points)
        ]
        sizes = Curve.stacked(Curve.square(x, y) for x, y, _, _ in legs)
        risks = Curve.stacked(Curve.line(x, y) for _, _, x, y in legs)
        pushes = Curve.square(told(first.push), told(last.push))
        return cls(sizes, risks, pushes, Curve.line(told(first.offset), told(last.offset)))

    def upper(self, lam: Numbers, leg: Ints, u: Numbers) -> Numbers:
        """U at the share u of the way along these legs."""
        return self.sizes.of(leg).at(u) * lam * 0.5 + self.risks.of(leg).at(u)

    def lower(self, lam: Numbers, t: Numbers) -> Numbers:
        """L."""
        return self.offsets.at(t) - self.pushes.at(t) * 0.5 / lam


def stacked(numbers: Sequence[Numbers]) -> Numbers:
    """One array of them, of intervals or of floats."""
    if isinstance(numbers[0], Interval):
        return Interval([each.lo for each in numbers], [each.hi for each in numbers])
    return np.array(numbers)


def vertex(slope: Floats, bend: Floats) -> Floats:
    """argmin over u in [0, 1] of slope·u + bend·u²/2, in floats."""
    fall = np.maximum(-slope, 0.0)
    return fall / np.maximum(np.maximum(bend, fall), TINY)


def dot(x: Interval, y: Interval) -> Interval:
    return (x * y).sum()


def mid(x: Interval) -> Floats:
    return (x.lo + x.hi) / 2
