"""A learner of hidden states (`Completing`: `latent-ssvm`, `self-paced-latent`) is judged by stationarity of the whole.

F is a difference of convex functions. With the states h at their best for θ, F(·; h) ≥ F is convex and touches F at θ
(formulations/latent_ssvm.py). θ is stationary, where CCCP ends, if θ minimises F(·; h):

    excess   F(θ) less the certified minimum of F(·; h), relative

It `agrees` if the excess is within the tolerance, and `disagrees` if it is not and the learner has ended: its weights
are the same from half of its passes on. Otherwise it is `not converged`, and the sentence says whether F rose from its
first checkpoint to its last. Stationary points differ, so the sentence also says how far F(θ) is from the reference's
end, and, where at most MOST completions exist, how far above min F itself.
"""

from __future__ import annotations

import itertools
import math
from typing import Protocol, cast

import numpy as np

from workbench.contracts import Completing, Latent, Problem
from workbench.judging.reference import Reference
from workbench.judging.reports import Report
from workbench.judging.settling import ended
from workbench.judging.words import AGREES, DISAGREES, FAILED, NOT_CONVERGED, Verdict
from workbench.proofs.any_bounds import bounds_for
from workbench.solving.solve import solve

MOST = 100  # completions that are enumerated


class Hiding(Problem, Latent, Protocol):
    """A problem that hides states."""


def stationary(reports: list[Report], form: Completing, reference: Reference, tolerance: float) -> Verdict:
    """The verdict on the weights of a learner whose samples hide variables."""
    problem, theta = cast("Hiding", reference.problem), reports[-1].theta
    if theta.shape != (problem.n_features,) or not np.isfinite(theta).all():
        sentence = f"The weights must be {problem.n_features} finite numbers."
        return Verdict(FAILED, np.inf, sentence, rule="weights")
    convex = form.completed(problem.impute(theta))
    bounds, best = bounds_for(convex, problem), solve(convex, problem, gap=tolerance / 3)
    value = bounds.upper(theta)
    excess, absolute = bounds.relative(value, best.lower), value - best.lower
    threshold = max(tolerance, 3 * best.gap)
    evidence = {"upper": value, "stationarity": excess, "threshold": threshold, "reference_gap": best.gap}
    evidence |= {"passes": float(reports[-1].passes), "beyond_reference": bounds.relative(value, reference.upper)}
    told = f"at its own best states it is {excess:.1e} (relative) above the proven optimum of the convex program"
    told = f"{told}; its objective {value:.6g} is {apart(evidence['beyond_reference'])} the end of the certified CCCP"
    if (least := over_completions(form, reference, tolerance)) is not None:
        evidence["beyond_optimum"] = bounds.relative(value, least)
        told += f", {evidence['beyond_optimum']:.1e} above the optimum over all states"
    if excess <= threshold:
        return Verdict(AGREES, excess, f"Stationary: {told}.", evidence, "residuals", absolute)
    if not np.isnan(ended(reports)):
        return Verdict(DISAGREES, excess, f"It stops where nothing is stationary: {told}.", evidence, "ended", absolute)
    rise = form.value(problem, theta) - form.value(problem, reports[0].theta)
    if rise > tolerance * abs(value):
        sentence = f"Its objective rose by {rise:.1e} from its first checkpoint to its last; {told}."
        return Verdict(NOT_CONVERGED, excess, sentence, evidence, "history", absolute)
    return Verdict(NOT_CONVERGED, excess, f"Not stationary yet: {told}; run it longer.", evidence, "history", absolute)


def apart(relative: float) -> str:
    return f"{abs(relative):.1e} {'above' if relative > 0 else 'below'}"


def over_completions(form: Completing, reference: Reference, tolerance: float) -> float | None:
    """A proven lower bound on min F by enumeration of all states, or None where there are more than MOST."""
    problem = cast("Hiding", reference.problem)
    known = reference.known
    there = problem.weights > 0
    if math.prod(np.where(there, problem.n_hidden, 1).tolist()) > MOST:
        return None
    if "over completions" not in known:
        choices = [problem.hidden(i) if there[i] else problem.hidden(i)[:1] for i in range(problem.n_samples)]
        every = itertools.product(*choices)
        known["over completions"] = min(optimum(form, states, reference, tolerance) for states in every)
    return known["over completions"]


def optimum(form: Completing, states: tuple[int, ...], reference: Reference, tolerance: float) -> float:
    """The proven lower bound at given states."""
    return solve(form.completed(np.array(states, np.int64)), reference.problem, gap=tolerance / 3).lower
