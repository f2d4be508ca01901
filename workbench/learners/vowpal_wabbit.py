"""Vowpal Wabbit's batch learner (--bfgs) on linear scores with labels ±1 or real targets.

    theirs   min Σ_i s_i ℓ(⟨w, x_i⟩, y_i) + l₂/2 ‖w‖²,         s_i importances; squared loss (p − y)²
    ours     min μ/2 ‖w‖² + Σ_i p_i ℓ_i(⟨w, x_i⟩),             s_i = p_i/max p
             l₂ = μ/max p for logistic and hinge, l₂ = 2μ/max p for squared, where ours is ½(p − y)²

VW's defaults minimise another objective, hence these options: --holdout_off, else every tenth sample is left out when
there are several passes; --noconstant; --min_prediction and --max_prediction, else predictions are clipped to the range
of the targets, and what lies beyond costs nothing. Weights and inputs are 32-bit floats.

VW computes the length of its steps from the curvature of the loss, and the hinge has none: how near VW comes to the
optimum of a hinge differs from problem to problem (docs/peers.md). VW's online updates are not used: with --l2 they do
not converge to the optimum of this objective. `budget` is the number of passes over the data; VW takes about one an
iteration.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from workbench.contracts import CutForm, LinearRisk, LinearScores
from workbench.errors import MissingCapability
from workbench.learners._peers import hinge, likelihood, needs, ridge

LOSSES = {"hinge": 1.0, "logistic": 1.0, "squared": 2.0}  # their loss is so many times ours
FAR = 1e30


@needs("vowpalwabbit", "vowpalwabbit")
def fit(problem, formulation, budget, rng):
    """VW's L-BFGS on weighted risk; nothing in it is random."""
    from vowpalwabbit import Workspace

    loss, risk = told(problem, formulation)
    size, bits = risk.prices.max(), max(int(problem.n_features).bit_length(), 8)
    if bits > 30:
        raise MissingCapability(f"vowpal-wabbit has 2³⁰ weights at most and there are {problem.n_features}; use fewer.")
    words = ["--bfgs", "--quiet", "--noconstant", "--holdout_off", "--termination", "0", "--kill_cache"]
    words += ["--loss_function", loss, "--min_prediction", str(-FAR), "--max_prediction", str(FAR)]
    words += ["--passes", str(budget), "--bit_precision", str(bits), "--l2", f"{LOSSES[loss] * risk.mu / size:.9g}"]
    targets = problem.targets if loss == "squared" else problem.signs
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.write_text("\n".join(lines(problem, targets, risk.prices / size)) + "\n", encoding="utf-8")
        machine = Workspace(arg_list=[*words, "--data", str(data), "--cache_file", str(Path(folder) / "cache")])
        w = np.array([machine.get_weight(j) for j in range(problem.n_features)])
        machine.finish()
    return w


def told(problem, formulation):
    """The loss, and μ and p."""
    if not isinstance(problem, LinearScores):
        raise MissingCapability(f"vowpal-wabbit takes linear scores and {type(problem).__name__} has none; use Linear.")
    name = "vowpal-wabbit"
    if isinstance(formulation, CutForm):
        return "hinge", hinge(formulation, problem, name)
    if isinstance(formulation, LinearRisk) and formulation.loss == "squared":
        return "squared", ridge(formulation, problem, name)
    return "logistic", likelihood(formulation, problem, name)


def lines(problem, targets, importances):
    """The samples in VW's text format; a feature whose name is a number is that number."""
    X = problem.X
    for i in np.flatnonzero(importances):
        cut = slice(X.indptr[i], X.indptr[i + 1])
        entries = " ".join(f"{j}:{x:.9g}" for j, x in zip(X.indices[cut], X.data[cut], strict=True))
        yield f"{targets[i]:.9g} {importances[i]:.9g} | {entries}"


NAMES = {"vowpal-wabbit": fit}
