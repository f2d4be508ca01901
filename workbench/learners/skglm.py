"""skglm's LinearSVC: the dual of the hinge by coordinate descent with working sets, compiled by numba.

    theirs   min ½‖c‖² + C Σ_i (1 − y_i⟨c, x_i⟩)₊
    ours     min μ/2 ‖w‖² + 1/n Σ_i h_i(w),    C = 1/(μn), with μ/2 for μ where c stands for two rows (`_peers`)

No intercept, no sample weights, two labels. `budget` is the number of working sets; the tolerance is 10⁻¹⁰.
"""

# Where the package is absent, pyright takes this file, which has its name, for it:
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import warnings

import numpy as np

from workbench.learners._peers import equal, hinge, needs, rows_of, signs_of


@needs("skglm", "skglm")
def fit(problem, formulation, budget, rng):
    """skglm.LinearSVC, the hinge of two labels."""
    from skglm import LinearSVC
    from sklearn.exceptions import ConvergenceWarning

    risk = hinge(formulation, problem, "skglm")
    X, signs, share, unfold = signs_of(problem, risk, "skglm")
    n, held = equal(risk, "skglm"), risk.samples
    model = LinearSVC(C=1 / (share * risk.mu * n), max_iter=budget, tol=1e-10, fit_intercept=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return unfold(model.fit(np.asarray(rows_of(X, held).toarray()), signs[held]).coef_.ravel())


NAMES = {"skglm": fit}
