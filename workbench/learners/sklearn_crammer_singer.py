"""scikit-learn's LinearSVC(multi_class="crammer_singer"): liblinear's multiclass dual coordinate descent.

    theirs   min ½‖W‖² + C Σ_i s_i max_y ([y ≠ y_i] + ⟨W_y − W_{y_i}, x_i⟩)         s_i sample weights
    ours     min μ/2 ‖W‖² + Σ_i p_i h_i(W),    C = 1/μ, s_i = p_i;  with p_i = 1/n the same as C = 1/(λn), s_i = 1

fit_intercept=False, for liblinear would penalise the intercept. With two classes liblinear returns W_1 − W_0
(`_peers`). The dual is that of Crammer & Singer (2001); the method is Keerthi et al. (2008), *A sequential dual method
for large scale multi-class linear SVMs*.

For this objective liblinear ignores max_iter and ends by tol alone, the largest violation of the dual's optimality
conditions. So `budget` sets the tolerance: tol = max(1/budget², 10⁻⁷).
"""

from __future__ import annotations

import warnings

from workbench.learners._peers import hinge, labels_of, needs, rows_of, seed_of, unfolded

LEAST = 1e-7


@needs("sklearn", "scikit-learn")
def fit(problem, formulation, budget, rng):
    """LinearSVC with multi_class="crammer_singer" (liblinear)."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    risk = hinge(formulation, problem, "sklearn-crammer-singer")
    labels, held = labels_of(problem, risk, "sklearn-crammer-singer"), risk.samples
    settings = {"C": 1 / risk.mu, "tol": max(budget**-2.0, LEAST), "random_state": seed_of(rng)}
    learner = LinearSVC(multi_class="crammer_singer", fit_intercept=False, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is about max_iter
        w = learner.fit(rows_of(problem.inputs, held), labels[held], sample_weight=risk.prices[held]).coef_
    return unfolded(w[0]) if len(problem.classes) == 2 else w.ravel()


NAMES = {"sklearn-crammer-singer": fit}
