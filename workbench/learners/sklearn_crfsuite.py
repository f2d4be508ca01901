"""sklearn-crfsuite: CRFsuite behind scikit-learn's interface; the objective is that of python-crfsuite.

    theirs   min Σ_i h_i(w) + c₂ ‖w‖²           h_i the negative log-likelihood of sequence i
    ours     min λ/2 ‖w‖² + 1/n Σ_i h_i(w),     c₂ = λn/2, c₁ = 0;  n counts the samples, whose weights must be equal

all_possible_states, all_possible_transitions and min_freq = −10³⁰⁰ give every pair a weight, without which CRFsuite
minimises over fewer weights (learners/python_crfsuite.py). `budget` is the number of iterations. A label that no
sequence has is unknown to CRFsuite.
"""

# Where the package is absent, pyright takes this file, which has its name, for it:
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from types import SimpleNamespace

from workbench.learners._peers import needs
from workbench.learners.python_crfsuite import SETTINGS, posed, weights

EVERY_PAIR = {"all_possible_states": True, "all_possible_transitions": True, "min_freq": -1e300}


@needs("sklearn_crfsuite", "sklearn-crfsuite")
def fit(problem, formulation, budget, rng):
    """CRF of sklearn-crfsuite by L-BFGS, `budget` iterations at most; every pair has a weight."""
    from sklearn_crfsuite import CRF

    settings, data = posed(problem, formulation, budget, "sklearn-crfsuite")
    model = CRF(algorithm="lbfgs", **SETTINGS, **settings, **EVERY_PAIR)
    model.fit(*map(list, zip(*data, strict=True)))
    found = SimpleNamespace(state_features=model.state_features_, transitions=model.transition_features_)
    return weights(problem, found)


NAMES = {"sklearn-crfsuite": fit}
