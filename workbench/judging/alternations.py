"""The verdict on a learner of a state beside its weights (`Stateful`): it minimises no objective and has two residuals.

    excess   of its weights over the certified minimum of the convex program at its own state, relative
    moved    ‖state − the step from its weights and state‖

With costs set by difficulty, for example, θ = (w, b, v), the weights are (w, b) and the state v. The learner `agrees`
if both residuals are within the tolerance, `disagrees` if the state is not allowed, and is `not converged` otherwise:
steps may jump, so a clean run may cycle without end (docs/mathematics.md §5).
"""

from __future__ import annotations

import numpy as np

from workbench.contracts import Floats, Problem, Stateful
from workbench.judging.words import AGREES, DISAGREES, FAILED, NOT_CONVERGED, Verdict
from workbench.proofs.any_bounds import bounds_for
from workbench.solving.solve import solve


def alternated(theta: Floats, form: Stateful, problem: Problem, tolerance: float) -> Verdict:
    """The verdict on θ, weights and state, of a learner that alternates between both."""
    extra = len(form.start(problem))
    weights, state = form.parted(problem, theta) if len(theta) >= extra else (theta, np.zeros(extra))
    inner = form.surrogate(problem, np.maximum(np.nan_to_num(state), 0))
    bounds = bounds_for(inner, problem)
    if weights.shape != (bounds.oracle.dim,) or not np.isfinite(theta).all():
        count = bounds.oracle.dim + extra
        sentence = f"The weights must be {count} finite numbers, the last {extra} of them the state."
        return Verdict(FAILED, np.inf, sentence, rule="weights")
    if sentence := form.outside(problem, state):
        return Verdict(DISAGREES, np.inf, sentence, rule="feasibility")
    best = solve(inner, problem, gap=tolerance / 3)
    excess = bounds.relative(bounds.upper(weights), best.lower)
    following, _ = form.step(problem, weights, state, lambda other: solve(other, problem, gap=tolerance / 3))
    evidence = {"excess": excess, "moved": float(np.linalg.norm(following - state)), "reference_gap": best.gap}
    near = excess <= tolerance and evidence["moved"] <= tolerance
    sentence = f"At its own state it is {excess:.1e} (relative) above the proven optimum; "
    sentence += f"the next state is {evidence['moved']:.1e} away."
    return Verdict(AGREES if near else NOT_CONVERGED, excess, sentence, evidence, "residuals")
