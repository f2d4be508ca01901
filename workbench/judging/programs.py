"""A learner's values for a user's own convex program, against its proven optimum.

The reference is `wb.prove(problem)`: proven ends L ≤ p* ≤ U (a maximisation counts negated). Of the values x handed
over, in the problem's own terms,

    e = f(x) − L,    relative excess e / max(|L|, |U|, 1),    violation = the largest of the constraints

and, in order, the first that holds:

    failed          crashed, values missing, of another shape, or not finite
    not comparable  nothing is proven on the side that is needed
    not converged   (feasibility) the last values violate a constraint by more than the tolerance
    agrees          |relative excess| ≤ max(tolerance, 3 × the reference's gap)
    not converged   otherwise; with a history of checkpoints the sentence says how fast it falls, or that it settled

There are no clean runs on a user's own program, so a history that has settled accuses nobody (judging/verdicts.py says
why a flat history alone proves nothing). A formulation that is its CVXPY text alone is judged by the same rules
(`crosscheck_text`): f(x) is F(θ), and L and U are the ends that `solve` proved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.contracts import Floats
from workbench.judging.reference import Reference
from workbench.judging.reports import Report
from workbench.judging.settling import settling, stands
from workbench.judging.words import AGREES, FAILED, NOT_COMPARABLE, NOT_CONVERGED, Verdict
from workbench.programs.prove import prove
from workbench.proofs.exact import nearest

if TYPE_CHECKING:
    import cvxpy as cp


def crosscheck_program(learned: Any, problem: cp.Problem, tolerance: float = 1e-4) -> Verdict:  # a user's values
    """Judge values of a cp.Problem's variables.

    learned : {variable or its name: values}, an array if there is one variable, a list of (passes, either), or the
        exception a learner died of
    """
    if isinstance(learned, Exception):
        told = " ".join(f"{type(learned).__name__}: {learned}".split())
        return Verdict(FAILED, np.inf, f"The learner crashed: {told}", rule="crash")
    steps = checkpoints(learned)
    for _, values in steps:
        if fault := unusable(values, problem):
            return Verdict(FAILED, np.inf, fault, rule="weights")
    proof, kept = prove(problem), [(variable, variable.value) for variable in problem.variables()]
    try:
        seen = [(passes, *evaluated(values, problem, proof.program.sign)) for passes, values in steps]
    finally:
        for variable, value in kept:
            variable.save_value(value)
    ends = (proof.lower, proof.upper) if proof.program.sign > 0 else (proof.upper, proof.lower)
    lower, upper = (None if end is None else proof.program.sign * nearest(end) for end in ends)
    if lower is None:
        sentence = f"Nothing is proven that the values could be compared with: {proof.remark or proof.statement}"
        return Verdict(NOT_COMPARABLE, np.nan, sentence.rstrip(".") + ".", rule="reference")
    size = max(abs(lower), abs(upper if upper is not None else lower), 1.0)
    return judged(seen, lower, size, proof.gap, tolerance, proof.program.sign)


def crosscheck_text(reports: list[Report], reference: Reference, tolerance: float) -> Verdict:
    """Judge weights θ for a formulation that is its CVXPY text alone; F(θ) = ∞ counts as a violation."""
    values = [reference.value(each.theta) for each in reports]
    seen = [(each.passes, e, 0.0 if np.isfinite(e) else np.inf) for each, e in zip(reports, values, strict=True)]
    return judged(seen, reference.lower, reference.size, reference.gap, tolerance)


def checkpoints(learned: Any) -> list[tuple[float, Any]]:  # a user's values
    """(passes, values), one or several."""
    several = isinstance(learned, Sequence) and not isinstance(learned, str) and len(learned)
    if several and all(isinstance(each, tuple) and len(each) == 2 for each in learned):
        return [(float(passes), values) for passes, values in learned]
    return [(1.0, learned)]


def named(values: Any, problem: cp.Problem) -> dict[Any, Any]:  # a user's values, and keys
    """Values by variable; those that are missing are left out."""
    variables = problem.variables()
    if not isinstance(values, Mapping):
        return {variables[0]: values} if len(variables) == 1 else {}
    by_name = {variable.name(): variable for variable in variables}
    return {by_name.get(key, key) if isinstance(key, str) else key: value for key, value in values.items()}


def unusable(values: Any, problem: cp.Problem) -> str | None:  # a user's values
    """Why these values cannot be judged, in a sentence."""
    keyed = named(values, problem)
    given = {key.id: value for key, value in keyed.items() if hasattr(key, "id")}  # a user's key may be anything
    for variable in problem.variables():
        if variable.id not in given:
            return f"The values of {variable.name()} are missing; give {{variable: values}} for each variable."
        try:
            found = np.asarray(given[variable.id], float)
        except (TypeError, ValueError):
            return f"The values of {variable.name()} are not numbers."
        if found.shape != variable.shape:
            return f"The values of {variable.name()} have shape {found.shape}, not {variable.shape}."
        if not np.isfinite(found).all():
            return f"The values of {variable.name()} are not finite numbers."
    return None


def evaluated(values: Any, problem: cp.Problem, sign: int) -> tuple[float, float]:  # a user's values
    """(objective as of a minimisation, largest violation of a constraint) at the values."""
    for variable, value in named(values, problem).items():
        variable.save_value(np.asarray(value, float))
    objective = problem.objective.value
    missed = [float(np.max(constraint.violation(), initial=0.0)) for constraint in problem.constraints]
    missed += [float(np.max(np.abs(v.value - v.project(v.value)), initial=0.0)) for v in problem.variables()]
    value = np.inf if objective is None else sign * float(np.squeeze(objective))
    return value if np.isfinite(value) else np.inf, max([0.0, *missed])


def judged(
    seen: list[tuple[float, float, float]], lower: float, size: float, gap: float, tolerance: float, sign: int = 1
) -> Verdict:
    """The verdict on (passes, objective, violation) of checkpoints; the reference's `gap` is relative to `size`."""
    passes, objectives, violations = (np.array(part, float) for part in zip(*seen, strict=True))
    excesses: Floats = objectives - lower
    excess, threshold = float(excesses[-1]) / size, max(tolerance, 3 * min(gap, 1.0))
    evidence = {"objective": sign * float(objectives[-1]), "threshold": threshold}
    evidence |= {"reference_lower": lower, "reference_gap": gap, "violation": float(violations[-1])}
    far = f"its objective is {excess:.1e} (relative) above the proven optimum"
    if violations[-1] > tolerance:
        by = f"by {violations[-1]:.1e}" if np.isfinite(violations[-1]) else "that its objective depends on"
        sentence = f"Its values violate a constraint {by}."
        return Verdict(NOT_CONVERGED, excess, sentence, evidence, "feasibility")
    if abs(excess) <= threshold:
        return Verdict(AGREES, excess, f"{far[0].upper()}{far[1:]}, within {threshold:.1e}.", evidence, "optimum")
    if excess < 0:
        told = f"its objective is {-excess:.1e} (relative) below the proven optimum, so its values are infeasible"
        return Verdict(NOT_CONVERGED, excess, f"{told[0].upper()}{told[1:]}.", evidence, "feasibility")
    if len(passes) < 2:
        told = f"{far}; one answer has no history, give those of growing budgets"
    else:
        curve = settling(passes, np.maximum(excesses, 0.0), threshold * size)
        evidence |= {"limit": curve.limit, "power": curve.power}
        still = curve.settled or stands(passes, excesses)
        told = f"{far} and has settled there" if still else f"{far} and falls like passes^-{curve.power:.2g}"
        told += "; no clean run of ours exists for a user's program to compare with" if still else "; run it longer"
    return Verdict(NOT_CONVERGED, excess, f"{told[0].upper()}{told[1:]}.", evidence, "history")
