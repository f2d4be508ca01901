"""sklearn-crfsuite: CRFsuite behind scikit-learn's interface; the objective is that of python-crfsuite.

    theirs   min Σ_i h_i(w) + c₂ ‖w‖²           h_i the negative log-likelihood of sequence i
    ours     min λ/2 ‖w‖² + 1/n Σ_i h_i(w),     c₂ = λn/2, c₁ = 0;  n counts the samples, whose weights must be equal

all_possible_states, all_possible_transitions and min_freq = −10³⁰⁰ give every pair a weight, without which CRFsuite
minimises over fewer weights (learners/python_crfsuite.py). `budget` is the number of iterations. A label that no
sequence has is unknown to CRFsuite.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from workbench.learners._peers import equal, likelihood, needs
from workbench.learners.python_crfsuite import attributes, shape, weights

SETTINGS = {"all_possible_states": True, "all_possible_transitions": True, "min_freq": -1e300}


@needs("sklearn_crfsuite", "sklearn-crfsuite")
def fit(problem, formulation, budget, rng):
    """CRF of sklearn-crfsuite by L-BFGS, `budget` iterations at most; every pair has a weight."""
    from sklearn_crfsuite import CRF

    risk = likelihood(formulation, problem, "sklearn-crfsuite")
    shape(problem)
    n = equal(risk, "sklearn-crfsuite")
    runs = [problem.places(np.array([i]))[1] for i in risk.samples]
    settings = SETTINGS | {"c1": 0.0, "c2": risk.mu * n / 2, "max_iterations": budget, "epsilon": 1e-9, "delta": 0.0}
    model = CRF(algorithm="lbfgs", **settings)
    model.fit([attributes(problem.inputs[run]) for run in runs], [list(map(str, problem.labels[run])) for run in runs])
    found = SimpleNamespace(state_features=model.state_features_, transitions=model.transition_features_)
    return weights(problem, found)


NAMES = {"sklearn-crfsuite": fit}
