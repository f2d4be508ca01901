"""structsvm's BundleMethod: cutting planes of the whole risk, one per round, and SCIP for their programs.

    theirs   min λ/2 ‖w‖² + L(w)         L by its value and gradient, in the user's hands
    ours     min μ/2 ‖w‖² + Σ_i p_i h_i(w)         λ = μ, L = Σ_i p_i h_i, by our oracle

The package's own SoftMarginLoss, whose outputs are 0/1 programs, takes no part. `budget` is the number of rounds,
each a pass over the samples. The method ends at an absolute gap of 1e-6 by its own account, and returns the last w,
not the best. SCIP accepts rows that are violated by less than 1e-6, which limits the accuracy of w.
"""

from __future__ import annotations

import numpy as np

from workbench.contracts import CutForm
from workbench.errors import MissingCapability
from workbench.learners._peers import needs, ridge

EPSILON = 1e-6  # nearer, SCIP's own tolerance decides


def observed(problem, formulation, budget, observe=None, epsilon=EPSILON, aside=None):
    """The weights; before that `observe(w)` is called with every w at which the risk is asked for; `aside` never."""
    from structsvm import BundleMethod

    risk = ridge(formulation, problem, "structsvm")
    if not isinstance(formulation, CutForm):
        raise MissingCapability("structsvm needs cuts of the risk, which have no curvature; use soft-margin.")
    oracle, samples, prices = formulation.oracle(problem), risk.samples, risk.prices[risk.samples]

    def value_and_gradient(w):
        if observe:
            observe(w)
        slopes, offsets = oracle.rows(samples, oracle.argmax(w, samples))
        gradient = slopes.T @ prices
        return float(gradient @ w + prices @ offsets), gradient

    method = BundleMethod(value_and_gradient, oracle.dim, risk.mu, epsilon)
    method._solver.set_verbose(False)  # it prints SCIP's log, and has no public switch
    return method.optimize(budget)


@needs("structsvm", "structsvm")
def fit(problem, formulation, budget, rng):
    """BundleMethod, cutting planes of the whole risk with SCIP."""
    return np.array(observed(problem, formulation, budget))


fit.observed = observed

NAMES = {"structsvm": fit}
