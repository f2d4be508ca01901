"""Importance-aware updates: one example's gradient flow, reduced to one number s and solved exactly.

An update with importance h is the limit of h/ε updates of importance ε (Karampatziakis & Langford 2011). For a
prediction p with loss ℓ(p, y), step size η and T = ηh it runs for time T along

    ds/dt = F(p(s)),      F = ∂ℓ/∂p,      p(s) = p + ¼ [U expm1(−2s) − V expm1(2s)] − sX       (the **curve**)

(docs/mathematics.md §7). For the bilinear model p = ⟨a, b⟩ + ⟨w, x⟩ the flow of all parameters is

    a ± b ← (a ± b) e^{∓s},      w ← w − s x,      U = ‖a + b‖²,  V = ‖a − b‖²,  X = ‖x‖²,

whatever the loss; the linear model has U = V = 0. p falls in s: K(s) = −dp/ds = ½(U e^{−2s} + V e^{2s}) + X ≥ 0, and
F is nondecreasing in p, so |F| falls along the way and F never changes sign: no update overshoots.

    predicted   p(s)                     reach    s with p(s) = target, ±∞ if there is none
    hinged      the flow of the hinge    flow     the flow of any convex loss, from its slope F
    TRAVEL      closed forms of p − p(T) for linear models      elapsed   ∫ ds/F, the time that a stretch takes

All are scalar functions of floats in numba's subset. A function that calls another takes that function as an argument,
so that the same text runs interpreted and compiled (arithmetic/compiled.py); `machine` compiles all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import exp, expm1, inf, isfinite, log, log1p, nan, sqrt, tanh
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from workbench.arithmetic import compiled
from workbench.contracts import Floats
from workbench.errors import BadInput

STEPS = 60  # safeguarded Newton steps of `reach`, at most
PANELS = 400  # panels of one flow, at most
LEAP = 0.5  # s on the first panel: K changes by e at most; later ones may be as long as all before
TRUSTED = 1e-8  # relative difference of the two quadrature rules on a panel; the better is then near rounding
NEAR = 2e-7  # part of s that a straight F may decide: its own error is of second order
ULP = 2.0**-53
FAR = 700.0  # |s| beyond which e^s would overflow; e^{2s}U and e^{2s}V do not matter there, or are infinite

# Gauss and Kronrod rules of 7 and 15 nodes on [−1, 1] (Laurie 1997 tells how they are computed)
NODES = (
    0.9914553711208126,
    0.9491079123427585,
    0.8648644233597691,
    0.7415311855993945,
    0.5860872354676911,
    0.4058451513773972,
    0.2077849550078985,
    0.0,
)
KRONROD = (
    0.0229353220105292,
    0.0630920926299786,
    0.1047900103222502,
    0.1406532597159259,
    0.1690047266392679,
    0.1903505780647854,
    0.2044329400752989,
    0.2094821410847278,
)
GAUSS = (0.0, 0.1294849661688697, 0.0, 0.2797053914892767, 0.0, 0.3818300505051189, 0.0, 0.4179591836734694)


class Curve(NamedTuple):
    """The four numbers that p(s) depends on."""

    p: float
    U: float
    V: float
    X: float


def curve(a: Floats, b: Floats, w: Floats, x: Floats) -> Curve:
    """The curve of p = ⟨a, b⟩ + ⟨w, x⟩; U and V from the vectors, without cancellation."""
    plus, minus = a + b, a - b
    return Curve(float(a @ b + w @ x), float(plus @ plus), float(minus @ minus), float(x @ x))


def moved(a: Floats, b: Floats, w: Floats, x: Floats, s: float) -> tuple[Floats, Floats, Floats]:
    """(a, b, w) at s: a ± b scaled by e^{∓s}, which keeps each a_i² − b_i²."""
    plus, minus = (a + b) * np.exp(-s), (a - b) * np.exp(s)
    return (plus + minus) / 2, (plus - minus) / 2, w - s * x


# ── the curve and its inverse ─────────────────────────────────────────────────────────────────────


def predicted(s: float, p: float, U: float, V: float, X: float) -> float:
    """p(s). With e = expm1|s|: expm1(2|s|) = e(e + 2) and −expm1(−2|s|) = e(e + 2)/(1 + e)², nothing cancels."""
    e, grows, falls = expm1(min(abs(s), FAR)), V, U
    if s < 0:
        grows, falls = U, V
    change = 0.25 * (grows * e * (e + 2) + falls * (e / (1 + e)) * ((e + 2) / (1 + e))) + abs(s) * X
    return p - change if s > 0 else p + change


def reach(target: float, p: float, U: float, V: float, X: float) -> float:
    """s with p(s) = target; ±∞ if no s gets there.

    With m = |target − p| and (G, S) = (V, U) if p has to fall, else (U, V), |s| = r solves

        f(r) = ¼ [G expm1(2r) − S expm1(−2r)] + rX = m

    by Newton steps inside a bracket [0, r̄]: each term alone and K ≥ X + √(UV) bound r from above,

        r̄ = min(m/(X + √(UV)), ½ log1p(4m/G), −½ log1p(−4m/S) if S > 4m).

    The start is r̄. A step that leaves the bracket, or that does not halve the last one, is replaced by bisection. The
    range is ℝ unless G = X = 0: on the hyperdiagonal p moves by less than S/4.
    """
    m, grows, falls = abs(target - p), V, U
    if target > p:
        grows, falls = U, V
    sign = 1.0 if target < p else -1.0
    if m == 0:
        return 0.0
    steep, high = X + sqrt(U) * sqrt(V), inf
    if steep > 0:
        high = m / steep
    if grows > 0:
        ratio = m / grows
        high = min(high, 0.5 * log1p(4 * ratio) if ratio < 1e300 else 0.5 * (log(m) - log(grows)) + log(2.0))
    if falls > 4 * m:
        high = min(high, -0.5 * log1p(-4 * (m / falls)))
    if high == inf:
        return sign * inf
    low, r, last = 0.0, high, high
    high *= 1 + 8 * ULP
    for _ in range(STEPS):
        e = expm1(min(r, FAR))
        away = 0.25 * (grows * e * (e + 2) + falls * (e / (1 + e)) * ((e + 2) / (1 + e))) + r * X - m
        if away > 0:
            high = r
        else:
            low = r
        slope = 0.5 * (grows * (1 + e) * (1 + e) + falls / (1 + e) / (1 + e)) + X
        step = away / slope if slope > 0 else inf
        if not (low <= r - step <= high) or 2 * abs(step) > last:
            step = r - 0.5 * (low + high)
        last = abs(step)
        r -= step
        if last <= 2 * ULP * r:
            break
    return sign * r


# ── losses: their slopes, and the closed forms of linear models ───────────────────────────────────


def hinge_slope(p: float, y: float) -> float:
    """F of (1 − yp)₊: −y below the margin."""
    return -y if y * p < 1 else 0.0


def squared_slope(p: float, y: float) -> float:
    """F of ½(p − y)²."""
    return p - y


def logistic_slope(p: float, y: float) -> float:
    """F of log(1 + e^{−yp}): −y/(1 + e^{yp})."""
    m = y * p
    return -y / (1 + exp(m)) if m < 0 else -y * exp(-m) / (1 + exp(-m))


def exponential_slope(p: float, y: float) -> float:
    """F of e^{−yp}."""
    return -y * exp(min(-y * p, FAR))


def cosh_slope(p: float, y: float) -> float:
    """F of log cosh(p − y), near |p − y| far out and ½(p − y)² close by."""
    return tanh(p - y)


def hinge_travel(p: float, y: float, tau: float) -> float:
    """p − p(τ) = −y min(τ, (1 − yp)₊): up to the margin and no further."""
    return -y * min(tau, max(1 - y * p, 0.0))


def squared_travel(p: float, y: float, tau: float) -> float:
    """p − p(τ) = (p − y)(1 − e^{−τ})."""
    return -(p - y) * expm1(-tau)


def logistic_travel(p: float, y: float, tau: float) -> float:
    """p − p(τ) = −yδ, where m = yp and m + δ solves m' + e^{m'} = m + e^m + τ.

    That is a Wright omega function; δ itself keeps its digits where it is small:

        δ + e^m expm1(δ) = τ,      δ ≤ min(τ/(1 + e^m), log(e^m + τ) − m),

    convex and increasing in δ, so Halley steps from the upper bound fall to the root. Divided by max(1, e^m).
    """
    m = y * p
    unit, c = exp(-max(m, 0.0)), exp(min(m, 0.0))
    goal = unit * tau
    delta = goal / (unit + c)
    if goal > c:
        delta = min(delta, log(c + goal) - min(m, 0.0))
    for _ in range(STEPS):
        grown = c * expm1(delta) if delta < 1 else exp(min(m, 0.0) + delta) - c
        away, slope = unit * delta + grown - goal, unit + grown + c
        step = away / (slope - 0.5 * away * (grown + c) / slope)
        delta -= step
        if abs(step) <= 2 * ULP * abs(delta):
            break
    return -y * delta


def exponential_travel(p: float, y: float, tau: float) -> float:
    """p − p(τ) = −y log1p(τ e^{−yp})."""
    m = y * p
    return -y * (log1p(tau * exp(-m)) if m > -300 else log(tau) - m if tau > 0 else 0.0)


TRAVEL = {
    "hinge": hinge_travel,
    "squared": squared_travel,
    "logistic": logistic_travel,
    "exponential": exponential_travel,
}
SLOPE = {
    "hinge": hinge_slope,
    "squared": squared_slope,
    "logistic": logistic_slope,
    "exponential": exponential_slope,
    "cosh": cosh_slope,
}


# ── flows on curves ───────────────────────────────────────────────────────────────────────────────


def hinged(reach: Any, predicted: Any, p: float, U: float, V: float, X: float, y: float, T: float) -> float:
    """s after time T under the hinge: −y min(T, −y p⁻¹(y)) while yp < 1, since |F| = 1 on the way.

    The inverse is needed only if time T is enough to pass the margin.
    """
    if y * p >= 1:
        return 0.0
    return -y * (T if y * predicted(-y * T, p, U, V, X) < 1 else min(T, abs(reach(y, p, U, V, X))))


def panel(slope: Any, s: float, p: float, U: float, V: float, X: float, y: float) -> float:
    """∫₀ˢ dσ/F(p(σ)) over one short stretch; NaN if the two rules disagree or F loses its sign."""
    first, fine, coarse = slope(p, y), 0.0, 0.0
    grows, falls = (V, U) if s > 0 else (U, V)
    for j in range(15):
        node = NODES[j] if j < 8 else -NODES[14 - j]
        at = 0.5 * abs(s) * (1 + node)
        e = expm1(2 * at)
        change = 0.25 * (grows * e + falls * (e / (1 + e))) + at * X
        here = slope(p - change if s > 0 else p + change, y)
        if not here * first > 0:
            return nan
        fine += KRONROD[min(j, 14 - j)] / here
        coarse += GAUSS[min(j, 14 - j)] / here
    return 0.5 * s * fine if abs(fine - coarse) <= TRUSTED * abs(fine) else nan


def elapsed(panel: Any, slope: Any, s: float, p: float, U: float, V: float, X: float, y: float) -> float:
    """∫₀ˢ dσ/F(p(σ)), the time ηh that the flow takes to s; ∞ if it never gets there."""
    if s == 0:
        return 0.0
    total, done = 0.0, 0.0
    stretch = s if abs(s) < LEAP else (LEAP if s > 0 else -LEAP)
    for _ in range(PANELS):
        if abs(stretch) > abs(s - done):
            stretch = s - done
        spent = panel(slope, stretch, p, U, V, X, y)
        while not spent > 0:
            stretch *= 0.5
            if abs(stretch) <= ULP * abs(s):
                return inf
            spent = panel(slope, stretch, p, U, V, X, y)
        total, done = total + spent, done + stretch
        if done == s:
            return total
        p += 0.25 * (U * expm1(-2 * stretch) - V * expm1(2 * stretch)) - stretch * X
        U, V = U * exp(-2 * stretch), V * exp(2 * stretch)
        stretch *= 2.0 if abs(stretch) < max(LEAP, min(abs(done), FAR / 8)) else 1.0
    return inf


def flow(panel: Any, slope: Any, p: float, U: float, V: float, X: float, y: float, T: float) -> float:
    """s after time T for any convex loss with slope F: the root of ∫₀ˢ dσ/F = T, which is convex in |s|.

    Panel by panel; each starts the curve anew at its end. With time t left, F at both ends of a trial
    stretch tells the rate κ = −dF/ds, and F(0)(1 − e^{−κt})/κ is where a straight F would lead. A stretch that
    `panel` does not trust is halved; one that went too far is gone back. Near the end, or where p hardly changes
    all the way, the straight F is taken at its word. NaN beyond PANELS panels.
    """
    s, left, small = 0.0, T, 1e-9 * (abs(p) + abs(y))
    for _ in range(PANELS):
        start = slope(p, y)
        if not abs(left * start) > ULP * abs(s) or left == 0:
            return s
        straight, leap = left * start, max(LEAP, min(abs(s), FAR / 4))
        for _ in range(2):
            stretch = min(max(straight, -leap), leap)
            ahead = p + 0.25 * (U * expm1(-2 * stretch) - V * expm1(2 * stretch)) - stretch * X
            if stretch == 0:
                return s
            bent = (start - slope(ahead, y)) / stretch
            straight = -start * expm1(-bent * left) / bent if bent * left > 1e-8 else left * start
        rest = min(max(straight, -FAR / 2), FAR / 2)
        change = 0.25 * (U * expm1(-2 * rest) - V * expm1(2 * rest)) - straight * X
        if abs(straight) <= NEAR * abs(s) or abs(change) <= small:
            return s + straight
        stretch = min(max(straight, -leap), leap)
        spent = panel(slope, stretch, p, U, V, X, y)
        while not isfinite(spent) and abs(stretch) > NEAR * abs(straight):
            stretch *= 0.5
            spent = panel(slope, stretch, p, U, V, X, y)
        if not isfinite(spent):
            return s + straight
        p += 0.25 * (U * expm1(-2 * stretch) - V * expm1(2 * stretch)) - stretch * X
        U, V = U * exp(-2 * stretch), V * exp(2 * stretch)
        s, left = s + stretch, left - spent
        if abs(left) <= 4 * ULP * T:
            return s
    return nan


# ── the same in Python's terms ────────────────────────────────────────────────────────────────────


def machine(fast: bool | None = None) -> SimpleNamespace:
    """All functions of this file by name, compiled if `fast` (default: if numba is there)."""
    names = ("predicted", "reach", "hinged", "panel", "elapsed", "flow")
    plain = {name: globals()[name] for name in names}
    plain |= {f"{name}_slope": slope for name, slope in SLOPE.items()}
    plain |= {f"{name}_travel": travel for name, travel in TRAVEL.items()}
    if not (compiled.available() if fast is None else fast):
        return SimpleNamespace(**plain)
    return SimpleNamespace(**{name: compiled.compiled(each, signature(name)) for name, each in plain.items()})


@cache
def signature(name: str) -> Any:
    """The machine's type of a function of this file."""
    slope, inverse, six = compiled.signed(0.0, 0.0, 0.0), compiled.signed(0.0, *[0.0] * 5), [0.0] * 6
    quadrature = compiled.signed(0.0, slope, *six)
    known = {"predicted": inverse, "reach": inverse, "panel": quadrature}
    known["hinged"] = compiled.signed(0.0, inverse, inverse, *six)
    known |= dict.fromkeys(("elapsed", "flow"), compiled.signed(0.0, quadrature, slope, *six))
    return known.get(name) or (compiled.signed(0.0, 0.0, 0.0, 0.0) if name.endswith("travel") else slope)


def parts(loss: str) -> tuple[str, str, str]:
    """A loss's flow on curves and the two functions that it takes, by their names in `machine`."""
    if loss not in SLOPE:
        raise BadInput(f"There is no loss {loss!r}; choose one of {', '.join(SLOPE)}.")
    return ("hinged", "reach", "predicted") if loss == "hinge" else ("flow", "panel", f"{loss}_slope")


def stepper(loss: str, tools: SimpleNamespace) -> Callable[[float, float, float, float, float, float], float]:
    """(p, U, V, X, y, T) → s for a loss by name."""
    step, *helpers = (getattr(tools, name) for name in parts(loss))
    return lambda *numbers: step(*helpers, *numbers)


def least_importance(target: float, at: Curve, y: float, loss: str = "hinge", step: float = 1.0) -> float:
    """h_min: the least importance h with which the update towards label y brings the prediction to `target`.

    h = (1/η) ∫₀ˢ dσ/F(p(σ)) with s = p⁻¹(target), η = `step`; for the hinge that is −p⁻¹(target)/(ηy) up to the
    margin. ∞ if the flow moves the other way or ends before.
    """
    tools = machine()
    s = tools.reach(float(target), *at)
    if s == 0:
        return 0.0
    if not isfinite(s):
        return inf
    if loss == "hinge":
        return abs(s) / step if s * y < 0 and y * target <= 1 else inf
    slope = getattr(tools, f"{loss}_slope")
    if not slope(at.p, y) * s > 0:
        return inf
    return tools.elapsed(tools.panel, slope, s, *at, float(y)) / step
