"""scikit-learn's LogisticRegression: conditional random fields over single labels, by L-BFGS.

    theirs   min ½‖W‖² + C Σ_i s_i (log Σ_y exp⟨W_y, x_i⟩ − ⟨W_{y_i}, x_i⟩)         s_i sample weights
    ours     min μ/2 ‖W‖² + Σ_i p_i h_i(W),    C = 1/μ, s_i = p_i;  with p_i = 1/n the same as C = 1/(λn), s_i = 1

fit_intercept=False, for our models have no coordinate that r leaves free; scikit-learn's intercept is not
penalised. Two classes, and linear scores: scikit-learn learns one vector c, whose μ is half of ours (`_peers`).
`budget` is SciPy's number of iterations.
"""

from __future__ import annotations

import warnings

from workbench.contracts import LinearScores
from workbench.learners._peers import labels_of, likelihood, needs, rows_of, signs_of

TOLERANCE = 1e-12  # on the largest entry of the gradient; the budget ends most runs before


@needs("sklearn", "scikit-learn")
def fit(problem, formulation, budget, rng):
    """LogisticRegression, multinomial; nothing in it is random."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    name = "sklearn-logistic"
    risk = likelihood(formulation, problem, name)
    if isinstance(problem, LinearScores) or len(problem.classes) == 2:
        X, y, share, unfold = signs_of(problem, risk, name)
    else:
        X, y, share, unfold = problem.inputs, labels_of(problem, risk, name), 1.0, lambda w: w.ravel()
    held = risk.samples
    learner = LogisticRegression(C=1 / (share * risk.mu), fit_intercept=False, tol=TOLERANCE, max_iter=budget)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # whether it converged is ours to judge
        w = learner.fit(rows_of(X, held), y[held], sample_weight=risk.prices[held]).coef_
    return unfold(w[0] if len(w) == 1 else w)


NAMES = {"sklearn-logistic": fit}
