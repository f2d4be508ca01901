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

from dataclasses import dataclass

import numpy as np

from workbench.arithmetic.intervals import Interval, down, inner, up
from workbench.contracts import Cuts, Floats, Squared
from workbench.errors import MissingCapability
from workbench.objectives.regularizers import SquaredNorm
from workbench.proofs.bounds import Bounds
from workbench.proofs.dyadic import DyadicBounds
from workbench.proofs.smooth import SmoothBounds

CELLS = 16  # with which a stretch begins
DEPTH = 10  # times that a cell is halved, at most


@dataclass(frozen=True)
class Knot:
    """λ, θ (p,), R(θ), ō and v (p,); ō and v are enclosed, and R(θ) lies below `risk.hi`."""

    lam: float
    theta: Floats
    risk: Interval
    offset: Interval
    push: Interval

    @property
    def ends(self) -> tuple[float, float]:
        """(lower, upper) at its own λ."""
        lower = self.offset - dot(self.push, self.push) / (2 * Interval(self.lam))
        upper = dot(Interval(self.theta), Interval(self.theta)) * self.lam / 2 + self.risk
        return float(lower.lo), float(upper.hi)


@dataclass(frozen=True)
class Cells:
    """Adjacent ranges of λ, each with its mixtures and its proven relative gap: low, high, s, t, gap (m,)."""

    low: Floats
    high: Floats
    s: Floats
    t: Floats
    gap: Floats


def knot(
    bounds: Bounds | SmoothBounds, theta: Floats, upper: float, cuts: Cuts | None = None, weights: Floats | None = None
) -> Knot:
    """The knot of a point with F(θ) ≤ `upper` and, unless the terms are smooth, of weights of cuts, at the bounds' λ.

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
    size = dot(Interval(theta), Interval(theta)) * lam / 2
    return Knot(lam, theta, upper - size, *found)


def refuse_others(bounds: Bounds | SmoothBounds | DyadicBounds) -> None:
    """`MissingCapability` unless r is λ/2‖θ‖² with the setting lam for λ, and no constraint is hard."""
    form = bounds.formulation
    if not isinstance(bounds.regularizer, SquaredNorm) or bounds.prices.hard or not isinstance(form, Squared):
        name = f"{type(form).__name__} on {type(bounds.problem).__name__}"
        raise MissingCapability(f"A path needs λ/2 ‖w‖² and finite prices, which {name} does not have; use solve.")


class Stretch:
    """The λ between two knots, of which `first` has the smaller one."""

    def __init__(self, first: Knot, last: Knot, floor: float):
        self.first, self.last, self.floor = first, last, floor
        thetas = Interval(first.theta), Interval(last.theta)
        self.sizes = Quadratic.of(*thetas)
        self.pushes = Quadratic.of(first.push, last.push)

    def mixtures(self, lam: Floats) -> tuple[Floats, Floats]:
        """Best s and t at each λ: the vertices of U in s and of L in t, within [0, 1]."""
        rise, gain = float(mid(self.last.risk - self.first.risk)), float(mid(self.last.offset - self.first.offset))
        s = self.sizes.vertex(2 * rise / lam)
        return s, self.pushes.vertex(-2 * lam * gain)

    def upper(self, lam: Floats, s: Floats) -> Interval:
        return self.sizes.at(s) * Interval(lam) / 2 + mixed(self.first.risk, self.last.risk, s)

    def lower(self, lam: Floats, t: Floats) -> Interval:
        return mixed(self.first.offset, self.last.offset, t) - self.pushes.at(t) / (2 * Interval(lam))

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

    def least_gaps(self, lam: Floats) -> Floats:
        """The proven relative gap at each λ by its own best mixtures."""
        widths, lower = self.widths(lam, *self.mixtures(lam))
        return up(widths / np.maximum(lower, self.floor))

    def cells(self, epsilon: float) -> Cells | None:
        """Cells over the whole stretch, halved until their gap is at most ε; None if no halving leads there."""
        if self.least_gaps(np.sqrt(np.array([self.first.lam * self.last.lam])))[0] > epsilon:
            return None
        ends = np.geomspace(self.first.lam, self.last.lam, CELLS + 1)
        ends[0], ends[-1] = self.first.lam, self.last.lam
        low, high = ends[:-1], ends[1:]
        for _ in range(DEPTH):
            middle = np.sqrt(low * high)
            if (self.least_gaps(middle) > epsilon).any():
                return None
            s, t = self.mixtures(middle)
            cells = Cells(low, high, s, t, self.gaps(low, high, s, t))
            wide = cells.gap > epsilon
            if not wide.any():
                return cells
            low = np.sort(np.concatenate([low, middle[wide]]))
            high = np.sort(np.concatenate([high, middle[wide]]))
        return None

    def theta(self, s: float) -> Floats:
        return (1 - s) * self.first.theta + s * self.last.theta


@dataclass(frozen=True)
class Quadratic:
    """q(s) = ‖(1 − s)x + s y‖², by its three inner products, enclosed."""

    xx: Interval
    xy: Interval
    yy: Interval

    @classmethod
    def of(cls, x: Interval, y: Interval) -> Quadratic:
        return cls(inner(x, x), inner(x, y), inner(y, y))

    def at(self, s: Floats) -> Interval:
        here, rest = Interval(s), 1 + -Interval(s)
        return rest * rest * self.xx + rest * here * self.xy * 2 + here * here * self.yy

    def vertex(self, slope: Floats) -> Floats:
        """argmin over s in [0, 1] of q(s) + slope · s."""
        xx, xy, yy = (float(mid(each)) for each in (self.xx, self.xy, self.yy))
        curve = xx - 2 * xy + yy
        if curve <= 0:
            return np.where(2 * (xy - xx) + slope < 0, 1.0, 0.0)
        return np.clip((2 * (xx - xy) - slope) / (2 * curve), 0.0, 1.0)


def dot(x: Interval, y: Interval) -> Interval:
    return (x * y).sum()


def mid(x: Interval) -> Floats:
    return (x.lo + x.hi) / 2


def mixed(x: Interval, y: Interval, s: Floats) -> Interval:
    """(1 − s)x + s y."""
    return (1 + -Interval(s)) * x + Interval(s) * y
