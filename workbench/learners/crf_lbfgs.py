"""L-BFGS by SciPy on a smooth formulation, as a user would call it: `budget` iterations from θ = 0 or a `start`.

`solve` certifies as it goes and has a Newton finish; this learner stops where SciPy stops and claims nothing.
One iteration takes about one pass over the data. Its objective is the formulation's own,
F(θ) = μ/2 ‖θ‖² + Σ_i p_i h_i(θ), with no parameter to translate.
"""

from __future__ import annotations

import numpy as np

from workbench.contracts import SmoothForm
from workbench.errors import MissingCapability


def fit(problem, formulation, budget, rng, start=None):
    """SciPy's L-BFGS-B, `budget` iterations at most; nothing in it is random, and at an optimum it stays."""
    from scipy.optimize import minimize

    if not isinstance(formulation, SmoothForm):
        raise MissingCapability(f"crf-lbfgs needs smooth terms and {type(formulation).__name__} has cuts; use crf.")
    terms, regularizer = formulation.terms(problem), formulation.regularizer(problem)
    prices = formulation.prices(problem).floats()
    samples = np.flatnonzero(prices)

    def objective(theta):
        values, slope = terms.evaluate(theta, samples, prices[samples])
        return regularizer.value(theta) + prices[samples] @ values, regularizer.curvature * theta + slope

    options = {"maxiter": budget, "maxfun": 20 * budget, "ftol": 0.0, "gtol": 1e-12}
    begin = np.zeros(terms.dim) if start is None else start["weights"]
    return minimize(objective, begin, jac=True, method="L-BFGS-B", options=options).x


NAMES = {"crf-lbfgs": fit}
