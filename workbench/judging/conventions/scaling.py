"""Other trade-offs: λ times a number that has a reason, or times the number that fits best.

**The multiple of λ.** E(κ) = κ r(θ) + R(θ) − min over w of κ r(w) + R(w), r = λ/2 ‖·‖², is convex in κ, for the minimum
of functions linear in κ is concave; its slope is r(θ) − r(w(κ)), so the best κ is the one at which the optimum w(κ) is
as long as θ. For given dual weights the gap κλ/2 ‖θ‖² + ‖g‖²/(2κλ) + … is least at κ = ‖g‖/(λ‖θ‖): as w(κ) = −g/(κλ),
that is κ ← κ ‖w(κ)‖/‖θ‖. It cannot overshoot, for κ‖w(κ)‖ rises and ‖w(κ)‖ falls with κ; the step is lengthened by
the slope that the last two show. Then ratios with a name near it are tried: 2, ½, n, 1/n, 1/(λ²n), …; κ itself is
named where it fits twice as well.

*Several at once.* Packages that have C in place of λ add an intercept, too: data with one more constant column are
tried under the multiple of λ at which the reported weights are as long as θ.

*Out of the question.* For any v, E(κ) ≥ κ (r(θ) − r(v)) + R(θ) − R(v). Where the best of a few v, multiples of θ and of
the reference, shows E(κ) ≥ 3 % of F′(θ), that κ does not explain θ. If this holds for every κ, none is looked for; else
the search does not leave the others, and ends without a κ where ‖w(κ)‖ says that the best one lies beyond them: optima
for λ near 0 take long.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Labelled
from workbench.formulations.crf import CRF
from workbench.formulations.soft_margin import SoftMargin
from workbench.judging.conventions.features import own_intercepts
from workbench.judging.conventions.neighbours import UNNAMED, Neighbour, Suspect
from workbench.outputs.multiclass import Multiclass
from workbench.proofs.dyadic import DyadicBounds
from workbench.solving.solve import solve

ROUGH, SECONDS = 1e-4, 60.0  # gap and seconds of optima on the way to κ
NEAR = 30.0  # of κ, within which named ratios are tried
ELSEWHERE = 1.5  # κ that differs from 1
CLOSE_BY = 0.02  # |log| of two multiples that are told as one
STEPS, LONGEST = 10, 15.0  # towards κ, and |log κ| beyond which the search ends
ALONG, GRID = 2.0 ** np.arange(-6.0, 1.5, 0.5), 0.05  # multiples of points, steps of log κ
FAR = 0.03  # of F′(θ), the detective's WORSE · CLOSE
ALIKE, FLAT = 3e-3, -0.05  # log ‖w(κ)‖/‖w‖ that is none, and its least slope in log κ: small λ hardly matter


def multiples(suspect: Suspect) -> Iterator[Neighbour]:
    """λ times the ratios that have a name and lie near the best κ; else times κ itself."""
    key = next((key for key in ("lam", "lam2") if hasattr(suspect.form, key)), None)  # any form's λ
    if key is None or not np.linalg.norm(suspect.form.blocks(suspect.problem).split(suspect.theta)["w"]) > 0:
        return
    within = open_ones(suspect)
    kappa = None if within is None else best_multiple(suspect, key, within)
    if kappa is None:
        return
    near = [each for each in ratios(suspect) if abs(np.log(each[0] / kappa)) < np.log(NEAR)]
    if abs(np.log(kappa)) > np.log(ELSEWHERE):
        near.append((kappa, UNNAMED, f"with λ {kappa:.3g} times as large"))
    for ratio, name, saying in near:
        form = replace(suspect.form, **{key: ratio * getattr(suspect.form, key)})  # λ or λ₂
        said = f"minimises the same objective {saying}"
        yield Neighbour(
            name, said, form, suspect.problem, suspect.theta, 0.0, {"multiple": kappa, "ratio": ratio}, ("λ", ratio)
        )


def open_ones(suspect: Suspect) -> tuple[float, float] | None:
    """The least and the greatest log κ for which no point is known that is better than θ by FAR · (κ r(θ) + R(θ)).

    None if there is no such κ; −∞ and ∞ where nothing is known, and for the ends of the grid.
    """
    if not suspect.plain:
        return -np.inf, np.inf
    bounds, best = suspect.reference.bounds, suspect.reference.theta
    length, norm = suspect.length, float(np.linalg.norm(best))
    if not norm > 0:
        return -np.inf, np.inf
    points = [t * length / norm * best for t in ALONG] + [t * suspect.theta for t in ALONG]
    assert not isinstance(bounds, DyadicBounds)  # whose weights are no single vector
    costs = np.array([float(bounds.regularizer.value(v)) for v in (suspect.theta, *points)])  # r
    risks = np.array([bounds.upper(v) for v in (suspect.theta, *points)]) - costs
    logs = np.arange(-LONGEST, LONGEST, GRID)
    kappas = np.exp(logs)[:, None]
    better = (kappas * (costs[0] - costs[1:]) + risks[0] - risks[1:]).max(axis=1)
    left = np.flatnonzero(~(better > FAR * (kappas[:, 0] * costs[0] + risks[0])))
    if not len(left):
        return None
    ends = np.concatenate([[-np.inf], logs[1:-1], [np.inf]])
    return float(ends[max(left[0] - 1, 0)]), float(ends[min(left[-1] + 1, len(logs) - 1)])


def ratios(suspect: Suspect) -> list[tuple[float, str, str]]:
    """(κ, name, saying) of the multiples of λ that have a reason."""
    n, total, mean = float(suspect.n), float(suspect.problem.weights.sum()), suspect.form.prices(suspect.problem).mean
    named = [
        (2.0, "λ twice", "with λ twice as large (as λ‖w‖² is, where λ/2 ‖w‖² is meant)"),
        (0.5, "λ half", "with λ half as large (as λ/2 ‖w‖² is, where λ‖w‖² is meant)"),
        (n / total, "weights not normalised", f"with λ {n / total:.3g} times as large (weights divided by n, not Σ s)"),
    ]
    counts = [total] if n == total else [total, n]  # a sum may be one of s_i h_i, or of n s_i h_i/Σ s
    if mean:
        for count in counts:
            summed = f"with λ {count:g} times smaller (the losses' sum, not their mean)"
            named.append((1 / count, "sum for mean", summed))
            named.append((count, "mean twice", f"with λ {count:g} times larger (the losses' mean divided by n again)"))
    else:
        named.append((total, "mean for sum", f"with λ {total:g} times larger (the losses' mean, not their sum)"))
    if isinstance(suspect.problem, Labelled):
        longer = len(suspect.problem.labels) / suspect.problem.n_samples
        named.append((longer, "mean over positions", f"with λ {longer:.3g} times larger (a mean over positions)"))
    if mean and hasattr(suspect.form, "lam"):  # any form's λ
        square = float(suspect.form.lam) ** 2
        for count in counts:
            named.append((1 / (square * count), "λ read as C", "with λ in the place of C in ½‖w‖² + C Σ h"))
        named.append((1 / square, "λ read as C/n", "with λ in the place of C in ½‖w‖² + (C/n) Σ h"))
        common = [(1 / (float(suspect.form.lam) * total), "½‖w‖² + C Σ h")]
        if isinstance(suspect.problem, Multiclass) and len(suspect.problem.classes) == 2:
            common.append((2 / (float(suspect.form.lam) * total), "½‖c‖² + C Σ h, c = w₁ − w₀ for two labels"))
        for usual, objective in common:
            if all(abs(np.log(usual / ratio)) > CLOSE_BY for ratio, _, _ in named):
                saying = f"with λ {usual:.3g} times as large (C = 1, the default of many packages, in {objective})"
                named.append((usual, "C = 1", saying))
    return [(ratio, name, saying) for ratio, name, saying in named if abs(np.log(ratio)) > CLOSE_BY]


def with_intercepts(suspect: Suspect) -> Iterator[Neighbour]:
    """An intercept of the learner's own under another λ, named where it has a reason, else the one that fits best."""
    if not hasattr(suspect.form, "lam"):  # any form's λ
        return
    every = ratios(suspect)
    for wide in own_intercepts(suspect):
        start = np.zeros(len(wide.hidden))
        start[~wide.hidden] = suspect.reference.theta
        there = Suspect(wide.theta, replace(suspect.reference, problem=wide.problem, theta=start))
        kappa = best_multiple(there, "lam", (-np.inf, np.inf), ~wide.hidden)
        if kappa is None or abs(np.log(kappa)) < np.log(ELSEWHERE):
            continue
        best = (kappa, UNNAMED, f"with λ {kappa:.3g} times as large")
        nearest = min(every, key=lambda each, kappa=kappa: abs(np.log(each[0] / kappa)), default=best)
        ratio, name, saying = nearest if abs(np.log(nearest[0] / kappa)) < CLOSE_BY else best
        yield wide._replace(
            name=f"{name}, {wide.name}",
            sentence=f"{wide.sentence}, and minimises the objective {saying}",
            formulation=replace(suspect.form, lam=ratio * suspect.form.lam),
            evidence={"multiple": kappa, "ratio": ratio, "several": 2.0},
            objective=("λ", wide.name, ratio),
        )


def likelihoods(suspect: Suspect) -> Iterator[Neighbour]:
    """The conditional likelihood for the hinge, under another λ, with an intercept of the learner's own, or both."""
    if not (suspect.plain and type(suspect.form) is SoftMargin):
        return
    other = replace(suspect, reference=replace(suspect.reference, formulation=CRF(lam=suspect.form.lam), known={}))
    for each in (*multiples(other), *own_intercepts(other), *with_intercepts(other)):
        rest = each.sentence.removeprefix("minimises the same objective ")
        yield each._replace(
            name=f"likelihood loss, {each.name}",
            sentence=f"minimises the conditional likelihood{' ' if rest.startswith('with') else ', '}{rest}",
            evidence={"several": 2.0} | each.evidence,
            objective=("likelihood", each.objective or each.name),
        )


def best_multiple(
    suspect: Suspect, key: str, within: tuple[float, float], seen: NDArray[np.bool_] | slice = slice(None)
) -> float | None:
    """κ with ‖w(κ)‖ = ‖w‖, by the steps of the module's docstring; None if log κ is not `within` these ends.

    The block w is what λ penalises;  seen : those of its entries that are reported
    """
    blocks, lam = suspect.form.blocks(suspect.problem), float(getattr(suspect.form, key))  # λ or λ₂
    length = float(np.linalg.norm(blocks.split(suspect.theta)["w"][seen]))
    if not length > 0:
        return None
    reached, at, last = suspect.reference.theta, 0.0, None  # w(κ), log κ, and (log κ, log ‖w(κ)‖/‖w‖) before
    for _ in range(STEPS):
        off = float(np.log(np.linalg.norm(blocks.split(reached)["w"][seen]) / length + 1e-300))
        if abs(off) < ALIKE or abs(at) > LONGEST:
            break
        slope = -1.0 if last is None else float(np.clip((off - last[1]) / (at - last[0]), -1.0, FLAT))
        beyond = at - float(np.clip(off / slope, -LONGEST / 2, LONGEST / 2))
        if (at <= within[0] and beyond < at) or (at >= within[1] and beyond > at):
            return None
        at, last = min(max(beyond, within[0]), within[1]), (at, off)
        form = replace(suspect.form, **{key: lam * math.exp(at)})
        reached = solve(form, suspect.problem, ROUGH, time_limit=SECONDS).theta_flat
    return float(np.exp(at))
