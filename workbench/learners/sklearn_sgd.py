"""scikit-learn's SGDClassifier(loss="hinge"): Bottou's averaged stochastic subgradient, two classes.

    theirs   min α/2 ‖c‖² + 1/n Σ_i s_i (1 − y_i⟨c, x_i⟩)₊,    steps 1/(α (t₀ + t)), c averaged over all steps
    ours     min μ/2 ‖c‖² + Σ_i p_i h_i(c),                     α = μ, s_i = n p_i

n counts the samples with s_i > 0. fit_intercept=False: the intercept of SGDClassifier is not penalised and moves
at a rate of its own. Multiclass problems of two classes: c = W_1 − W_0 and α is half of μ (`_peers`); with more
classes SGDClassifier learns one against the rest, another objective. `budget` counts passes, each in a new random
order.

Subgradient steps reach an excess of 1e-4 slowly: the excess of the average falls no faster than log t/t, and there is
no dual that would prove a gap. docs/peers.md measures the excess.
"""

from __future__ import annotations

from typing import Any

from workbench.learners._peers import hinge, needs, rows_of, seed_of, signs_of


@needs("sklearn", "scikit-learn")
def fit(problem, formulation, budget, rng):
    """SGDClassifier with the hinge loss, averaged."""
    from sklearn.linear_model import SGDClassifier

    risk = hinge(formulation, problem, "sklearn-sgd")
    X, y, share, unfold = signs_of(problem, risk, "sklearn-sgd")
    held = risk.samples
    settings = {"loss": "hinge", "alpha": share * risk.mu, "fit_intercept": False, "average": True}
    endless: Any = None  # scikit-learn takes None for no tolerance; its annotation says float
    learner = SGDClassifier(**settings, max_iter=budget, tol=endless, random_state=seed_of(rng))
    learner.fit(rows_of(X, held), y[held], sample_weight=len(held) * risk.prices[held])
    return unfold(learner.coef_[0])


NAMES = {"sklearn-sgd": fit}
