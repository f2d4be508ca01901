"""The numbers that a learner reports of itself, recomputed: `objective`, `lower`, `gap`, `dual`.

A number is contradicted if it is false by more than rounding (CLAIM, relative):

    objective   is not F(θ); under hard constraints, is not r(θ)
    lower       lies above the proven upper bound
    gap         is negative, or less than F(θ) − upper both as an absolute and as a relative gap
    dual        violates μ ≥ 0 or Σ_z μ_i(z) = p_i, or implies another θ = argmin r + ⟨Σ μ a, ·⟩ than the one reported

An objective of NaN is false. A gap of NaN or ∞, and a lower bound of NaN or −∞, claim nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from workbench.contracts import Cuts, Enumerable, Floats, enumerated
from workbench.judging.reference import Reference
from workbench.judging.reports import Report
from workbench.proofs.any_bounds import AnyBounds
from workbench.proofs.dyadic import DyadicBounds
from workbench.proofs.smooth import SmoothBounds
from workbench.proofs.text import TextBounds
from workbench.solving.stochastic import graded

UNSTATED = TextBounds, DyadicBounds  # of whose r no closed form is known
CLAIM = 1e-6  # relative; a sum of floats in another order is nearer, a sum of float32 is not
DRIFT = 1e-6  # relative distance of reported and replayed weights; clean runs stay below 1e-12


def contradicted(reports: Sequence[Report], uppers: Floats, reference: Reference) -> tuple[str, dict[str, float]]:
    """What is false about the reports, as a sentence or "", and the numbers that say so."""
    theta, sentence, bounds = reports[-1].theta, "", reference.bounds
    away = float(np.linalg.norm(theta - bounds.regularizer.feasible(theta)) / max(np.linalg.norm(theta), 1.0))
    evidence = {"outside": away} if away > 0 else {}
    if bounds.prices.hard and not np.isfinite(uppers[-1]):
        assert not isinstance(bounds, SmoothBounds | DyadicBounds)  # whose prices are not hard
        witnesses = bounds.oracle.argmax(theta, bounds.samples)
        slopes, offsets = bounds.oracle.rows(bounds.samples, witnesses)
        evidence["violation"] = float((slopes @ theta + offsets).max())
    for report, upper in zip(reports, uppers, strict=True):
        claims = {key: float(report.claims[key]) for key in ("objective", "lower", "gap") if key in report.claims}
        if claims and not sentence:
            r = bounds.regularizer if bounds.prices.hard and not isinstance(bounds, UNSTATED) else None
            value = float(upper if r is None else r.value(report.theta))
            sentence = false_claim(claims, value, reference, bounds.size(value, reference.upper))
        evidence |= {f"reported_{key}": number for key, number in claims.items() if np.isfinite(number)}
    if reports[-1].claims.get("dual") is not None:
        fault, found = dual_fault(reports[-1], bounds)
        claimed = evidence.get("reported_lower", np.nan)
        if claimed - found.get("dual", np.inf) > CLAIM * max(abs(claimed), abs(reference.upper)):
            fault = fault or f"it reports the lower bound {claimed:.9g}, its dual weights prove {found['dual']:.9g}"
        sentence, evidence = sentence or fault, evidence | found
    return sentence, evidence


def false_claim(claims: Mapping[str, float], value: float, reference: Reference, size: float) -> str:
    """Which of the numbers `objective`, `lower`, `gap` cannot be true of weights with F = `value`, or ""."""
    objective, lower, gap = (claims.get(key, np.nan) for key in ("objective", "lower", "gap"))
    missing = value - reference.upper
    if "objective" in claims and objective != value and not abs(objective - value) <= CLAIM * size:
        return f"it reports the objective {objective:.9g}, its weights have {value:.9g}"
    if lower - reference.upper > CLAIM * size:
        return f"it reports the lower bound {lower:.9g}, but weights with {reference.upper:.9g} are known"
    if gap < -CLAIM * size:
        return f"it reports the gap {gap:.3g}, and no gap is negative"
    if missing - gap * max(1.0, size) > CLAIM * size:
        return f"it reports the gap {gap:.3g}, but {missing:.3g} is proven to be missing"
    return ""


def dual_fault(report: Report, bounds: AnyBounds) -> tuple[str, dict[str, float]]:
    """What is wrong with dual weights handed over, or ""; their `drift`, as `run` measures it, and their `dual` value.

    They are (samples (K,), outputs (K, width), μ (K,)), or an array (n, k) over all outputs of a small problem.
    Nothing is said of the dual weights of a text or of bilinear scores, of whose r no closed form is known.
    """
    if isinstance(bounds, UNSTATED):
        return "", {}
    if isinstance(bounds, SmoothBounds):
        return "", {"dual": bounds.lower_at(report.theta)}
    dual, problem, prices = report.claims["dual"], bounds.problem, bounds.prices.floats()
    if isinstance(dual, np.ndarray) and isinstance(problem, Enumerable):
        samples, outputs = enumerated(problem, np.arange(problem.n_samples))
        weights = dual.ravel()
    else:
        try:
            with np.errstate(invalid="ignore"):  # what is not finite becomes a sample that there is not
                first, second, third = dual
                samples, outputs = np.array(first, np.int64), np.array(second, np.int64)
                weights = np.array(third, np.float64)
        except (OverflowError, TypeError, ValueError):
            return "its dual weights are not three arrays of numbers, (samples, outputs, weights)", {}
    shapes = samples.shape, outputs.shape[:1], weights.shape
    if weights.ndim != 1 or len(set(shapes)) > 1:
        return f"its dual weights have shape {shapes[2]}, for samples {shapes[0]} and outputs {outputs.shape}", {}
    outputs = outputs.reshape(len(samples), int(np.prod(outputs.shape[1:])))
    if outputs.shape != (len(weights), bounds.oracle.width):
        return f"its {len(weights)} dual weights have outputs of shape {outputs.shape}", {}
    if not np.isfinite(weights).all():
        return f"{np.count_nonzero(~np.isfinite(weights))} of its dual weights are not finite numbers", {}
    if len(strange := samples[(samples < 0) | (samples >= problem.n_samples)]):
        return f"its dual weights are about sample {strange[0]}, and there are {problem.n_samples}", {}
    if (weights < -DRIFT * weights.max(initial=0.0)).any():
        return f"a dual weight it reports is {weights.min():.3g}, and none may be negative", {}
    mass = np.bincount(samples, weights, problem.n_samples)
    worst = int(np.argmax(np.abs(mass - prices)))
    if not bounds.prices.hard and abs(mass[worst] - prices[worst]) > DRIFT * max(prices[worst], 1e-300):
        return f"its dual weights of sample {worst} sum to {mass[worst]:.6g}, not to {prices[worst]:.6g}", {}
    cuts = Cuts(bounds.oracle.dim, bounds.oracle.width)
    try:
        ids = cuts.add(samples, outputs, bounds.oracle.rows)
    except (IndexError, ValueError) as error:
        return f"its dual weights are about outputs that there are not ({error})", {}
    mu = np.bincount(ids, np.maximum(weights, 0.0), len(cuts)).astype(float)
    value, drift = graded(bounds, cuts, mu, report.theta)
    return "", {"dual": value} | ({"drift": drift} if bounds.regularizer.curvature is not None else {})
