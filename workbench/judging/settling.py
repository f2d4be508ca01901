"""What a history says about its limit: ended, settled, standing still, or on its way to the optimum.

A history is (passes t, weights θ_t) with excesses e_t = F(θ_t) − L. Nine questions are asked of its last part:

    ended      from half of the passes on, the weights are the same to rounding: the learner has stopped
    settled    of the curves e∞ + c·t^−p fitted to the last checkpoints, the best has e∞ ≥ e/2, and curves that end
               within the tolerance fit significantly worse; with six checkpoints or more, the same must hold when any
               one of them is left out
    went on    of a history and a longer one: the longer one goes through the last weights of the other, and moves
    frozen     with T, 4T and 16T passes the gains towards θ* shrink so fast that their sum stops short of it
    straight   with T, 4T and 16T passes e falls, and the second move has nearly the direction and length of the first
    pauses     earlier on, the weights were the same while the passes doubled, too, and moved afterwards
    downhill   where F has a gradient: the last steps are those of steepest descent of F, up to their lengths
    stands     in eight times the passes no checkpoint divided e by FALL, or in four times the passes none divided e by
               LITTLE; e∞ is taken to be the least e since a quarter of the passes
    on its way the weights still move towards the optimum θ*: with s(t) = ⟨θ_t, θ* − θ_T⟩/‖θ* − θ_T‖² the last three
               doublings of the passes gained a₃, a₂, a₁ > 0, and DOUBLINGS further doublings would cover at least half
               of the way that is left, if each gains q = min(a₁/a₂, a₂/a₃, 2) times as much as the one before; or
               the weights keep their pace, q ≥ STEADY and a₁ ≥ PACE, or the three doublings
               gained the same a pass, up to a factor of EQUAL: steps of equal length, however small they are

A slow learner on badly scaled data has a flat excess, which any fit calls settled, but its weights still move:
gradient steps along a direction of curvature κ ≪ 1/(ηt) have the same length in each pass, so every doubling of the
passes gains twice as much as the one before, q ≈ 2. A learner that settles at another point gains less with every
doubling, q = 2^−p, and gains by noise change their sign. Steps that shrink like 1/t, as AdaGrad's do while its slopes
do not, gain the same with every doubling, q = 1: the weights go like log t, and there is no limit that a fit could see.

Steps c/t follow −∇F in the time log t. Where c is small, e falls like t^−ρ with a small ρ, and four times the passes
move the weights 4^−ρ times as far as the four times before, straight on. What chance throws about turns back, and what
comes to rest at another optimum, by the usual steps or means, moves half as far each time or less.

One checkpoint is no rest. The excess of a sound dual method jumps: that of `dual-block` on iris at λ = 0.01 is 1.5e-3
after 32 passes and 6.3e-3 after 55, and its last values over seeds spread over three decades. A history that ends on a
jump was better in between, so a learner that stands must have been no better at any checkpoint, not only at the last
one; the value that it is said to stay at is its best one lately, not the height of the jump.

A pause may last long. A sound learner that returns its best iterate holds the same weights until it finds
better ones: by chance that takes as many passes again as it had, and more. Its weights looked as if they had ended,
and had not, so the same rest once more proves nothing.

*What is left.* The curve c·t^−p through the last checkpoints needs (e/tolerance)^{1/p} times the passes.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from workbench.contracts import Floats
from workbench.judging.reports import Report
from workbench.proofs.any_bounds import AnyBounds
from workbench.proofs.smooth import SmoothBounds

WINDOW = 16  # the fit uses the checkpoints in the last factor of this many passes: four doublings
POWERS = np.concatenate([np.arange(0.1, 1.0, 0.1), np.arange(1.0, 3.1, 0.25)])
NOISE = 0.01  # relative; checkpoints are never believed to be more regular than this
LEAST = 1e-100  # excess; its inverse can still be squared
GRADED = 120  # checkpoints of a history; an objective costs an argmax for each sample
SIGNIFICANT = 10.0  # how many times the variance, as an F ratio: p < 1 % with three to ten checkpoints
FALL = 1.5  # the factor by which an excess like t^−0.2 shrinks in eight times the passes
LITTLE = 1.15  # the factor by which an excess like t^−0.1 shrinks in four times the passes
STILL = 1e-10  # relative change of weights that is rounding: sums of 10⁶ float64 terms agree to this
MOST = 1e6  # times the passes beyond which no need is told: the fit says nothing there
QUIET = 1e-3  # relative change of weights in half of the passes that is rest
AHEAD = 0.5  # share of the way left that the doublings to come must cover
DOUBLINGS = 10  # to come: a thousand times the passes
STEPS = 3  # the last ones, of steepest descent
STRAIGHT = 0.99  # cosine of the angle to steepest descent
FAINT = 1e-6  # relative change of weights with four times the passes, below which they have not moved
EQUAL = 1.05  # times the least gain a pass: where steps shrink like t^−0.1, a doubling gains 1.07 times less a pass
STEADY = 0.9  # 2^−0.15: no fit sees the limit of a slower fall
KEPT = 0.7  # of a move: 4^−ρ where e falls like t^−ρ with ρ = 1/4; faster falls are seen by a fit
AHEAD_OF = 0.8  # cosine of the angle between two moves; that of two moves by chance from one point to the next is −1/2
PACE = 3e-3  # of the way left, by the last doubling: weights that gain less may be at rest


class Settling(NamedTuple):
    """What a history says about its limit."""

    limit: float  # e∞ of the best curve
    misfit: float  # how much worse curves that end within the tolerance fit (F ratio)
    power: float  # least-squares slope of −log e against log t
    settled: bool


def settling(passes: Floats, excesses: Floats, threshold: float) -> Settling:
    """Fits e(t) = e∞ + c t^−p to the recent checkpoints; from six on, it must be half as clear without any one."""
    recent = np.isfinite(excesses) & (passes >= passes[-1] / WINDOW)
    t, e = passes[recent] / passes[-1], np.maximum(excesses[recent], LEAST)
    if len(np.unique(t)) < 2:
        return Settling(0.0, 0.0, np.nan, False)
    power = float(-np.polyfit(np.log(t), np.log(e), 1)[0])
    if len(e) < 5:
        still = t[0] <= 0.5 and bool(np.abs(e / e[-1] - 1).max() < NOISE)
        return Settling(float(e[-1]) if still else 0.0, np.nan, power, still)
    limit, misfit = fitted(t, e, threshold)
    fits = [(limit, misfit / 2)]
    if len(e) > 5:
        fits += [fitted(np.delete(t, k), np.delete(e, k), threshold) for k in range(len(e))]
    settled = all(end >= e[-1] / 2 and worse > SIGNIFICANT / 2 for end, worse in fits)
    return Settling(limit, misfit, power, settled)


def fitted(t: Floats, e: Floats, threshold: float) -> tuple[float, float]:
    """(limit, misfit) of the curves e∞ + c t^−p, residuals relative to e, over p in POWERS.

    Null curves have 0 ≤ e∞ ≤ threshold and c ≥ 0; p ≥ 0.1, for what is slower needs a thousand
    times its budget to halve and counts as standing still. The general curve has any e∞ ≥ 0 and c.
    """
    null = best = limit = np.inf
    for shape in (t**-p / e for p in POWERS):
        for end in (0.0, threshold / 2, threshold):
            rest = 1 - end / e
            null = min(null, float(np.sum((rest - max(shape @ rest / (shape @ shape), 0) * shape) ** 2)))
        curve = np.stack([1 / e, shape], axis=1)
        end, scale = np.linalg.lstsq(curve, np.ones(len(e)))[0]
        if end < 0:
            end, scale = 0.0, shape.sum() / (shape @ shape)
        residual = float(np.sum((1 - end / e - scale * shape) ** 2))
        if residual < best:
            best, limit = residual, float(min(end, e[-1]))
    return limit, max(null - best, 0) / (best / (len(e) - 3) + NOISE**2)


def stands(passes: Floats, excesses: Floats) -> bool:
    """Whether eight times the passes made no excess FALL times smaller, or four times the passes none LITTLE times."""
    for times, fall in ((8, FALL), (4, LITTLE)):
        before = np.flatnonzero(passes <= passes[-1] / times)
        if before.size and np.min(excesses[before[-1] + 1 :]) * fall > excesses[before[-1]]:
            return True
    return False


def least(passes: Floats, excesses: Floats) -> float:
    """The least excess since a quarter of the passes: what a history without a fitted limit may stay at."""
    return float(np.min(excesses[passes >= passes[-1] / 4]))


def doubling(passes: Floats, excesses: Floats) -> float:
    """How many times smaller the last doubling of the passes has made the excess; NaN without a checkpoint there."""
    before = np.flatnonzero(passes <= passes[-1] / 2)
    return float(excesses[before[-1]] / max(excesses[-1], LEAST)) if before.size else np.nan


def ended(reports: list[Report]) -> float:
    """The passes from which on all weights are the last ones, to rounding, if these are at most half; else NaN."""
    last = reports[-1].theta
    near = STILL * max(float(np.linalg.norm(last)), LEAST)
    first = np.nan
    for each in reversed(reports[:-1]):
        if not float(np.linalg.norm(each.theta - last)) <= near:
            break
        first = each.passes
    return first if first <= reports[-1].passes / 2 else np.nan


def pauses(reports: list[Report]) -> bool:
    """Whether weights that stayed the same, to rounding, while the passes doubled have moved afterwards."""
    start = reports[0]
    for before, each in itertools.pairwise(reports):
        near = STILL * max(float(np.linalg.norm(start.theta)), LEAST)
        if float(np.linalg.norm(each.theta - start.theta)) <= near:
            continue
        if before is not start and before.passes >= 2 * start.passes:
            return True
        start = each
    return False


def frozen(ends: list[Floats], best: Floats) -> bool:
    """Whether weights with T, 4T and 16T passes stop short of θ*, if they go on as they went.

    Along the way from the last ones to θ* the two gains are d₁, d₂ > 0, g = d₂/d₁ < STEADY² (of two doublings), and
    all gains to come, d₂ g/(1 − g), cover less than AHEAD of the way.
    """
    way = best - ends[-1]
    length = float(way @ way)
    if not length > 0:
        return False
    places = [float(theta @ way) / length for theta in ends]
    before, last = places[1] - places[0], max(places[2] - places[1], 0.0)
    if not before > STILL:
        return False
    share = last / before
    return share < STEADY**2 and last * share / (1 - share) < AHEAD


def straight(one: Floats, four: Floats, sixteen: Floats) -> bool:
    """Whether the weights with T, 4T and 16T passes go straight on, the second time KEPT times as far or farther.

    Moves of less than FAINT times the weights are none.
    """
    first, second = four - one, sixteen - four
    before, last = float(np.linalg.norm(first)), float(np.linalg.norm(second))
    moves = last >= KEPT * before > 0 and last > FAINT * float(np.linalg.norm(sixteen))
    return moves and float(first @ second) >= AHEAD_OF * before * last


def went_straight(passes: Floats, thetas: list[Floats], excesses: Floats) -> bool:
    """`straight` of one history whose excess falls: after a sixteenth and a quarter of its passes, and at its end."""
    one, four, last = (
        int(np.searchsorted(passes, passes[-1] / part * (1 + 1e-9), side="right")) - 1 for part in (16, 4, 1)
    )
    falls = 0 <= one < four < last and excesses[one] > excesses[four] > excesses[last]
    return bool(falls) and straight(thetas[one], thetas[four], thetas[last])


def went_on(shorter: list[Report], longer: list[Report]) -> bool:
    """Whether the longer history goes through the last weights of the shorter one, to rounding, and moves on.

    A move by less than FAINT is none: at that pace nobody arrives.
    """
    last = shorter[-1]
    size = max(float(np.linalg.norm(last.theta)), LEAST)
    passed = [each.theta for each in longer if each.passes <= last.passes * (1 + 1e-9)]
    meets = bool(passed) and float(np.linalg.norm(passed[-1] - last.theta)) <= STILL * size
    return meets and float(np.linalg.norm(longer[-1].theta - last.theta)) > FAINT * size


def moving(reports: list[Report]) -> bool:
    """Whether weights of the last half of the passes are farther than QUIET from the last ones."""
    last = reports[-1]
    near = QUIET * float(np.linalg.norm(last.theta))
    late = [each.theta for each in reports[:-1] if each.passes >= last.passes / 2]
    return not late or max(float(np.linalg.norm(theta - last.theta)) for theta in late) > near


def downhill(reports: list[Report], bounds: AnyBounds) -> bool:
    """Whether each of the last STEPS steps s is one of steepest descent of F, up to its length; F has a gradient g.

    −⟨s, g⟩ ≥ STRAIGHT ‖s‖ ‖g‖. At another objective's optimum, where steps shrink, g has no reason to point along them.
    """
    last = reports[-STEPS - 1 :]
    if not isinstance(bounds, SmoothBounds) or len(last) <= STEPS:
        return False
    for before, after in itertools.pairwise(last):
        step, slope = after.theta - before.theta, bounds.value_and_gradient(before.theta)[1]
        if not -(step @ slope) >= STRAIGHT * float(np.linalg.norm(step) * np.linalg.norm(slope)) > 0:
            return False
    return True


def roaming(reports: list[Report], best: Floats) -> float:
    """How far weights of the last three quarters of the passes are from the last ones, which are 1 from the optimum.

    Weights that chance throws about are about as far from one another as from the optimum, whatever the excess.
    """
    last = reports[-1]
    late = [each.theta for each in reports[:-1] if each.passes >= last.passes / 4]
    way = float(np.linalg.norm(last.theta - best))
    return max((float(np.linalg.norm(theta - last.theta)) for theta in late), default=np.inf) / max(way, LEAST)


def on_its_way(passes: Floats, thetas: list[Floats], best: Floats) -> bool:
    """Whether the weights go on towards the optimum, at an even pace or fast enough to cover half of the way left."""
    way = best - thetas[-1]
    length = float(way @ way)
    at = [int(np.searchsorted(passes, passes[-1] / part * (1 + 1e-9), side="right")) - 1 for part in (1, 2, 4, 8)]
    if not length > 0:
        return False
    places = [float(thetas[k] @ way) / length for k in at]
    gains = [later - earlier for later, earlier in itertools.pairwise(places)]
    if not (min(gains) > 0):  # of a history too short a place comes twice, with a gain of 0 or back from the end
        return False
    speeds = [gain / (passes[b] - passes[a]) for gain, (b, a) in zip(gains, itertools.pairwise(at), strict=True)]
    straight = max(speeds) <= EQUAL * min(speeds) and gains[-1] >= STILL
    ratio = min(gains[0] / gains[1], gains[1] / gains[2], 2.0)
    steady = ratio >= STEADY and gains[0] >= PACE
    return straight or steady or gains[0] * float(np.sum(ratio ** np.arange(1, DOUBLINGS + 1))) >= AHEAD


def needed(passes: float, excess: float, threshold: float, curve: Settling) -> float:
    """Passes at which the fitted fall reaches the threshold; ∞ without a fall."""
    if not curve.power > 0 or curve.settled:
        return np.inf
    with np.errstate(over="ignore"):
        return float(passes * np.float64(excess / threshold) ** (1 / curve.power))


def chosen(reports: list[Report]) -> list[Report]:
    """At most GRADED of a history, with the last: half evenly spaced, half evenly in the logarithm of passes."""
    if len(reports) <= GRADED:
        return reports
    passes = np.maximum([each.passes for each in reports], 1e-9)
    even = np.linspace(0, len(reports) - 1, GRADED // 2).astype(int)
    late = np.searchsorted(passes[:-1], np.geomspace(passes[0], passes[-1], GRADED // 2))
    return [reports[k] for k in np.unique(np.concatenate([even, late]))]
