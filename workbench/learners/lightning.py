"""lightning's LinearSVC (sklearn-contrib-lightning): the dual of the hinge by coordinate descent, two labels.

    theirs   min ½‖c‖² + C Σ_i (1 − y_i⟨c, x_i⟩)₊
    ours     min μ/2 ‖w‖² + 1/n Σ_i h_i(w),    C = 1/(μn), with μ/2 for μ where c stands for two rows (`_peers`)

No intercept, no sample weights. `budget` is the number of passes; the tolerance is 10⁻¹⁰. There are wheels for few
Pythons, and a build wants NumPy, Cython and setuptools first, so no extra of ours brings the package (docs/peers.md).
"""

from __future__ import annotations

import numpy as np

from workbench.errors import MissingCapability
from workbench.learners._peers import equal, hinge, needs, rows_of, seed_of, signs_of

WHEEL = "sklearn-contrib-lightning"


@needs("lightning", WHEEL)
def fit(problem, formulation, budget, rng):
    """lightning.classification.LinearSVC, the hinge of two labels."""
    risk = hinge(formulation, problem, "lightning")
    X, signs, share, unfold = signs_of(problem, risk, "lightning")
    n, held = equal(risk, "lightning"), risk.samples
    try:
        from lightning.classification import LinearSVC
    except ModuleNotFoundError:
        raise MissingCapability(f"The package lightning here is another's; pip install {WHEEL}.") from None
    settings = {"C": 1 / (share * risk.mu * n), "loss": "hinge", "max_iter": budget, "tol": 1e-10}
    model = LinearSVC(**settings, random_state=seed_of(rng))
    return unfold(model.fit(np.asarray(rows_of(X, held).toarray()), signs[held]).coef_.ravel())


NAMES = {"lightning": fit}
