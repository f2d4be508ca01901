"""A learner: averaged subgradient steps 1/(λt) on λ/2 ‖w‖² + mean of the hinges."""

import numpy as np

import workbench as wb


def fit(problem, formulation, budget, rng, shift: float = 1.0):
    """Weights θ after `budget` passes; each step asks the argmax for one sample."""
    if not isinstance(formulation, wb.SoftMargin):
        raise wb.MissingCapability("its-name minimises soft-margin only.")
    w, mean, lam = np.zeros(problem.n_features), np.zeros(problem.n_features), formulation.lam
    visits = np.random.default_rng(rng).integers(0, problem.n_samples, budget * problem.n_samples)
    for t, i in enumerate(visits, 1):
        one = np.array([i])
        wrong = problem.features(one, problem.argmax(w, one)) - problem.features(one, problem.truth[one])
        w = w - (lam * w + wrong.toarray().ravel()) / (lam * (t + shift))
        mean += (w - mean) * 2 / (t + 1)
    return mean


NAMES = {"its-name": fit}
