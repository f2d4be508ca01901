"""The verdict on a learner of costs set by difficulty: θ = (w, b, v) minimises no objective and has two residuals.

    excess   F(w, b, v) less the certified minimum over (w, b) at its own v, relative
    moved    ‖v − step(D(w, b), v)‖

The learner `agrees` if both residuals are within the tolerance, `disagrees` if v is no point of the simplex, and is
`not converged` otherwise: cosine and dot steps jump, so a clean run may cycle without end (docs/mathematics.md §5).
"""

from __future__ import annotations

import numpy as np

from workbench.contracts import Floats, Problem
from workbench.formulations.kappa_difficulty import KappaDifficulty
from workbench.judging.claims import DRIFT
from workbench.judging.words import AGREES, DISAGREES, FAILED, NOT_CONVERGED, Verdict
from workbench.proofs.any_bounds import bounds_for
from workbench.solving.solve import solve


def alternated(theta: Floats, form: KappaDifficulty, problem: Problem, tolerance: float) -> Verdict:
    """The verdict on (w, b, v) of a learner whose costs follow difficulty."""
    m = len(form.classes(problem).names)
    weights, v = np.split(theta, [-m])
    inner = form.surrogate(problem, np.maximum(np.nan_to_num(v), 0))
    bounds = bounds_for(inner, problem)
    if weights.shape != (bounds.oracle.dim,) or not np.isfinite(theta).all():
        sentence = f"The weights must be {bounds.oracle.dim + m} finite numbers: w, b and v."
        return Verdict(FAILED, np.inf, sentence, rule="weights")
    if v.min() < -DRIFT or abs(v.sum() - 1) > DRIFT:
        sentence = f"Its costs are not on the simplex: least {v.min():.1e}, sum {v.sum():.6g}."
        return Verdict(DISAGREES, np.inf, sentence, rule="feasibility")
    best = solve(inner, problem, gap=tolerance / 3)
    excess = bounds.relative(bounds.upper(weights), best.lower)
    moved, _ = form.step(problem, weights, v, lambda other: solve(other, problem, gap=tolerance / 3))
    evidence = {"excess": excess, "moved": float(np.linalg.norm(moved - v)), "reference_gap": best.gap}
    near = excess <= tolerance and evidence["moved"] <= tolerance
    sentence = f"At its own costs it is {excess:.1e} (relative) above the proven optimum; the next costs are {{}} away."
    sentence = sentence.format(f"{evidence['moved']:.1e}")
    return Verdict(AGREES if near else NOT_CONVERGED, excess, sentence, evidence, "residuals")
