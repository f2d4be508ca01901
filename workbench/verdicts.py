"""Verdicts: does a learner reach the proven optimum, and if not, is it on its way?

Every objective is computed here, on the reference's problem, from the weights alone. With the
reference's proven lower bound L ≤ min F, the absolute excess of weights θ is e = F(θ) − L, the
relative one e / max(|F|, |L|, 1e-6·F(0)). In order, the first that holds:

    failed          crashed, weights not finite or of another size
    not comparable  another objective by its own declaration, or a reference without a proven gap
    disagrees       (weights) the θ it reports is not the θ of its own dual weights, replayed by `run`
    agrees          relative excess ≤ max(tolerance, 3 × the reference's gap)
    disagrees       (rate) e > 100 × the solver's published bound on E e: by Markov's inequality a
                    clean run gets there with probability below 1 %
    disagrees       (settled) both of
                      1. its history has settled above the optimum: of the curves
                         e∞ + c·t^−p fitted to its last checkpoints, the best has e∞ ≥ e/2, and
                         those that end within the tolerance fit significantly worse;
                      2. the problem is no excuse: clean runs of ours with the same budget (of the
                         same solver if it is one of ours) all end below e∞/2.
    not converged   otherwise

A solver that learns from its mistakes has no optimum to reach. It is judged by what its log allows: the
weights it reports are the log's, their norm has not outgrown ‖Σψ‖² ≤ Σ‖ψ‖², and it made no more mistakes
than a comparator's bound admits (workbench/solvers/perceptron.py); else it `disagrees`. Where no
weights separate the data (`NotSeparable` in the reference's place) certified soft-margin weights compare.

A learner of costs set by difficulty, (w, b, v), follows no objective and has two residuals: F(w, b, v) less the
certified minimum over (w, b) at its own v, relative, and ‖v − step(D(w, b), v)‖. It `agrees` if both are within the
tolerance, `disagrees` if v is no point of the simplex, and is `not converged` otherwise: cosine and dot steps
jump, so that a clean run may circle for ever (docs/mathematics.md §5).

Why two conditions. On ill-conditioned problems clean methods stand still, too: block-coordinate
Frank–Wolfe on badly scaled data can fall slower than t^−0.05 over a hundred passes, so a flat history
alone proves nothing; there the clean runs stand still with it and nobody is accused. A clean run
alone proves nothing either: luck makes one run ten times better than another near the optimum, and
a slow method is not a wrong one; but it keeps falling. The price is lateness: a learner still
on its way to a wrong limit is `not converged` until it is nearly there.

A bare θ has no history, so above the tolerance it is `not converged` whatever its excess. Pass the
answers under growing budgets, [(passes, θ), …]: with two to four of them, settled means that e
changed by less than 1 % while the budget at least doubled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from workbench.bounds import Bounds, SmoothBounds, bounds_for
from workbench.errors import NotSeparable
from workbench.registries import registry
from workbench.solving import solve
from workbench.stochastic import run
from workbench.structures import Floats, Ints, Majorized, Trace

AGREES, NOT_CONVERGED, DISAGREES = "agrees", "not converged", "disagrees"
NOT_COMPARABLE, FAILED = "not comparable", "failed"
VERDICTS = (AGREES, NOT_CONVERGED, DISAGREES, NOT_COMPARABLE, FAILED)

DRIFT = 1e-6  # relative distance of reported and replayed weights; clean runs stay below 1e-12
MARKOV = 100.0
WINDOW = 16  # the fit uses the checkpoints in the last factor of this many passes
POWERS = np.concatenate([np.arange(0.1, 1.0, 0.1), np.arange(1.0, 3.1, 0.25)])
NOISE = 0.01  # checkpoints are never believed to be more regular than this
SIGNIFICANT = 10.0
SEEDS = (101, 102)
COMPARED = (1e-1, 1e-2, 1e-3)  # λ of soft-margin comparators
BUDGET = 500  # passes of a clean run at most; a smaller budget only makes the judge more lenient


@dataclass(frozen=True)
class Verdict:
    """A verdict, the relative excess, one sentence, and the numbers behind it."""

    verdict: str
    excess: float
    reason: str
    evidence: dict[str, float] = field(default_factory=dict)


class Settling(NamedTuple):
    """What a history says about its limit."""

    limit: float  # e∞ of the best curve
    misfit: float  # how much worse curves that end within the tolerance fit (F ratio)
    power: float  # least-squares slope of −log e against log t
    settled: bool


def crosscheck(learned: Trace | Floats | Sequence[Any] | Exception, solution: Any, tolerance: float = 1e-4) -> Verdict:
    """Judges a trace, weights, a list of (passes, weights), or the exception a learner died of.

    `solution` is a certified reference: upper, lower, gap, theta_flat, formulation, problem.
    """
    if isinstance(learned, Trace) and learned.mistakes is not None:
        return mistaken(learned, solution)
    if isinstance(learned, Exception):
        return Verdict(FAILED, np.inf, f"The learner crashed: {type(learned).__name__}: {learned}")
    trace = learned if isinstance(learned, Trace) else None
    passes, thetas = history(learned)
    if isinstance(solution.formulation, Majorized) and hasattr(solution.formulation, "step_rule"):
        return alternated(thetas[-1], solution.formulation, solution.problem, tolerance)
    bounds = bounds_for(solution.formulation, solution.problem)
    if any(theta.shape != (bounds.oracle.dim,) for theta in thetas):
        return Verdict(FAILED, np.inf, f"The weights have shape {thetas[-1].shape}, not ({bounds.oracle.dim},).")
    if not np.isfinite(thetas[-1]).all():
        bad = int(np.count_nonzero(~np.isfinite(thetas[-1])))
        return Verdict(FAILED, np.inf, f"{bad} of the {bounds.oracle.dim} weights are not finite numbers.")
    own = trace.formulation if trace else None
    if own is not None and objective(own) != objective(solution.formulation):
        return Verdict(NOT_COMPARABLE, np.nan, f"The learner minimises {own}, the reference {solution.formulation}.")
    if solution.gap is None or not np.isfinite(solution.gap):
        return Verdict(NOT_COMPARABLE, np.nan, "The reference has no proven gap; solve it with an exact oracle first.")

    uppers = np.array([bounds.upper(theta) for theta in thetas])
    excesses = uppers - solution.lower
    excess, threshold = bounds.gap(uppers[-1], solution.lower), max(tolerance, 3 * solution.gap)
    evidence = {
        "upper": float(uppers[-1]),
        "reference_lower": float(solution.lower),
        "reference_gap": float(solution.gap),
        "threshold": threshold,
        "passes": float(passes[-1]),
        "distance": float(np.linalg.norm(thetas[-1] - solution.theta_flat)),
    }

    def verdict(name: str, reason: str) -> Verdict:
        return Verdict(name, excess, f"{reason[0].upper()}{reason[1:]}.", evidence)

    far = f"its objective is {excess:.1e} (relative) above the proven optimum"
    if trace:
        told = {"drift": float(trace.drift[-1]), "bound": float(trace.bound[-1])}
        evidence |= {key: number for key, number in told.items() if np.isfinite(number)}
    if (drift := evidence.get("drift", 0.0)) > DRIFT:
        return verdict(DISAGREES, f"the weights it reports are {drift:.1e} (relative) away from its own dual's weights")
    if excess <= threshold:
        return verdict(AGREES, f"{far}, within {threshold:.1e}")
    if excesses[-1] > MARKOV * evidence.get("bound", np.inf):
        return verdict(DISAGREES, f"{far}, and over {MARKOV:.0f} times its published rate")
    if not np.isfinite(uppers[-1]):
        return verdict(NOT_CONVERGED, "its weights are not feasible")
    if len(passes) < 2:
        return verdict(NOT_CONVERGED, f"{far}; one answer has no history, give those of growing budgets")

    curve = settling(passes, excesses, threshold * excesses[-1] / excess)
    evidence |= {"limit": curve.limit, "misfit": curve.misfit, "power": curve.power}
    if not curve.settled:
        trend = f"falls like passes^-{curve.power:.2g}" if curve.power > 0 else "is not falling yet"
        return verdict(NOT_CONVERGED, f"{far} and has not settled ({trend}); run it longer")
    evidence["control"] = control = clean_excess(trace, solution, bounds, int(min(passes[-1], BUDGET)))
    if control >= curve.limit / 2:
        return verdict(NOT_CONVERGED, f"{far} and has settled for now, but clean runs do no better; run it longer")
    return verdict(
        DISAGREES,
        f"{far} and stays (limit {curve.limit:.1e} above L, where clean runs with its budget end at {control:.1e})",
    )


def mistaken(trace: Trace, reference: Any) -> Verdict:
    """The verdict on a solver that learns from its mistakes; `reference` may be a `NotSeparable`."""
    if type(trace.formulation) is not type(reference.formulation):
        return Verdict(NOT_COMPARABLE, np.nan, f"The learner follows {trace.formulation}, not {reference.formulation}.")
    samples, witnesses, counts = trace.mistakes
    slopes, _ = reference.formulation.oracle(reference.problem).rows(samples, witnesses)
    made, squares = int(counts.sum()), float(slopes.multiply(slopes).sum(axis=1) @ counts)
    growth = float(np.linalg.norm(slopes.T @ counts) ** 2 / max(squares, np.finfo(float).tiny))
    bound = min(mistake_bound(u, slopes, counts, squares) for u in comparators(reference))
    evidence = {"mistakes": made, "bound": bound, "growth": growth, "drift": float(trace.drift[-1])}
    faults = [
        (evidence["drift"] > DRIFT, f"The weights it reports are {evidence['drift']:.1e} away from its own updates'."),
        (growth > 1 + DRIFT, f"Its updates were no mistakes: the squared norm grew {growth:.2g} times their squares."),
        (made > bound * (1 + DRIFT), f"It made {made} mistakes where at most {bound:.1f} are possible."),
    ]
    for fault, sentence in faults:
        if fault:
            return Verdict(DISAGREES, np.nan, sentence, evidence)
    return Verdict(
        AGREES, np.nan, f"It made {made} mistakes; comparison with certified weights allows {bound:.1f}.", evidence
    )


def alternated(theta: Floats, form: Any, problem: Any, tolerance: float) -> Verdict:
    """The verdict on (w, b, v) of a learner whose costs follow difficulty."""
    m = len(form.classes(problem).names)
    weights, v = np.split(theta, [-m])
    inner = form.surrogate(problem, np.maximum(np.nan_to_num(v), 0))
    bounds = bounds_for(inner, problem)
    if weights.shape != (bounds.oracle.dim,) or not np.isfinite(theta).all():
        return Verdict(FAILED, np.inf, f"The weights must be {bounds.oracle.dim + m} finite numbers: w, b and v.")
    if v.min() < -DRIFT or abs(v.sum() - 1) > DRIFT:
        return Verdict(DISAGREES, np.inf, f"Its costs are not on the simplex: least {v.min():.1e}, sum {v.sum():.6g}.")
    best = solve(inner, problem, gap=tolerance / 3)
    excess = bounds.gap(bounds.upper(weights), best.lower)
    moved, _ = form.step(problem, weights, v, lambda other: solve(other, problem, gap=tolerance / 3))
    evidence = {"excess": excess, "moved": float(np.linalg.norm(moved - v)), "reference_gap": best.gap}
    near = excess <= tolerance and evidence["moved"] <= tolerance
    sentence = f"At its own costs it is {excess:.1e} (relative) above the proven optimum; the next costs are {{}} away."
    return Verdict(AGREES if near else NOT_CONVERGED, excess, sentence.format(f"{evidence['moved']:.1e}"), evidence)


def mistake_bound(u: Floats, slopes: Any, counts: Ints, squares: float) -> float:
    """Σ_k counts_k (1 − ⟨u, ψ_k⟩)₊ + ‖u‖ √(Σ ‖ψ‖²); the slopes are −ψ."""
    return float(np.maximum(1 + slopes @ u, 0) @ counts + np.linalg.norm(u) * np.sqrt(squares))


def comparators(reference: Any) -> list[Floats]:
    """Weights to compare mistakes with: the certified separating ones, or certified soft-margin ones."""
    if not isinstance(reference, NotSeparable):
        return [reference.theta_flat]
    soft = registry("formulation").get("soft-margin")
    return [solve(soft(lam=lam), reference.problem, gap=1e-3).theta_flat for lam in COMPARED]


def history(learned: Any) -> tuple[Floats, list[Floats]]:
    """(passes, weights) of whatever was learned, in increasing order of passes."""
    if isinstance(learned, Trace):
        return learned.passes, list(learned.thetas)
    if isinstance(learned, Sequence) and learned and not np.isscalar(learned[0]):
        pairs = sorted(learned, key=lambda pair: pair[0])
        return np.array([p for p, _ in pairs], float), [np.asarray(theta, float).ravel() for _, theta in pairs]
    return np.array([np.nan]), [np.asarray(learned, float).ravel()]


def objective(formulation: Any) -> tuple[Any, ...]:
    """What a formulation minimises: its kind and settings, but not how it is declared to CVXPY."""
    settings = [(f.name, getattr(formulation, f.name)) for f in fields(formulation) if f.name != "declare"]
    return type(formulation).__qualname__, *settings


def settling(passes: Floats, excesses: Floats, threshold: float) -> Settling:
    """Fits e(t) = e∞ + c t^−p, residuals relative to e, over p in POWERS.

    Null curves have 0 ≤ e∞ ≤ threshold and c ≥ 0; p ≥ 0.1, for what is slower needs a thousand
    times its budget to halve and counts as standing still. The general curve has any e∞ ≥ 0 and c.
    """
    recent = np.isfinite(excesses) & (passes >= passes[-1] / WINDOW)
    t, e = passes[recent] / passes[-1], np.maximum(excesses[recent], np.finfo(float).tiny)
    if len(e) < 2:
        return Settling(0.0, 0.0, np.nan, False)
    power = float(-np.polyfit(np.log(t), np.log(e), 1)[0])
    if len(e) < 5:
        still = t[0] <= 0.5 and bool(np.abs(e / e[-1] - 1).max() < NOISE)
        return Settling(float(e[-1]) if still else 0.0, np.nan, power, still)
    null, best, limit = np.inf, np.inf, 0.0
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
    misfit = max(null - best, 0) / (best / (len(e) - 3) + NOISE**2)
    return Settling(limit, misfit, power, limit >= e[-1] / 2 and misfit > SIGNIFICANT)


def clean_excess(trace: Trace | None, solution: Any, bounds: Bounds | SmoothBounds, passes: int) -> float:
    """Where clean runs of ours end with this budget: the worst seed of the best solver, ∞ if none fits."""
    ours = registry("solver").objects
    used = trace.method if trace else None
    solvers: list[Any] = [solver() for solver in ours.values()]
    if used is not None and type(used) in ours.values():
        solvers = [used]
    elif trace and trace.solver in ours:
        solvers = [ours[trace.solver]()]
    ends = [np.inf]
    for solver in solvers:
        if solver.misfit(solution.formulation, solution.problem) is None:
            runs = [run(solver, solution.formulation, solution.problem, passes, s, [passes]) for s in SEEDS]
            ends.append(max(bounds.upper(each.thetas[-1]) for each in runs) - solution.lower)
    return float(min(ends))
