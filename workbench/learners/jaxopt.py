"""jaxopt's multiclass SVM: the dual of Crammer and Singer, by proximal block coordinate descent, with JAX.

    theirs   max over β_i on the simplex   Σ_i ⟨β_i, 1 − e_{y_i}⟩ − ‖W‖²/(2 l2reg),   W = Xᵀ(Y − β)
    ours     min μ/2 ‖W‖² + 1/n Σ_i h_i(W),    l2reg = μn, their maximum is nF*, and the weights are (Y − β)ᵀX/(μn)

No intercept, no sample weights. `budget` is the number of passes over the samples; the tolerance is 10⁻¹⁰, in float64.
jaxopt needs all of JAX, so that no extra of ours but `jax` brings it.
"""

# Where the package is absent, pyright takes this file, which has its name, for it:
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np

from workbench.learners._peers import equal, hinge, labels_of, needs, rows_of


def maximum(X, Y, l2reg, budget):
    """β (n, k) after at most `budget` passes, in float64, which JAX has switched off by default."""
    import jax
    from jaxopt import BlockCoordinateDescent, objective, projection, prox

    onto_simplex = prox.make_prox_from_projection(projection.projection_simplex)
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        method = BlockCoordinateDescent(objective.multiclass_linear_svm_dual, onto_simplex, maxiter=budget, tol=1e-10)
        found = method.run(np.full(Y.shape, 1 / Y.shape[1]), hyperparams_prox=None, l2reg=l2reg, data=(X, Y))
        return np.asarray(found.params)
    finally:
        jax.config.update("jax_enable_x64", before)


@needs("jaxopt", "jaxopt")
def fit(problem, formulation, budget, rng):
    """jaxopt.BlockCoordinateDescent on multiclass_linear_svm_dual, one label per sample."""
    risk = hinge(formulation, problem, "jaxopt")
    y, held = labels_of(problem, risk, "jaxopt"), risk.samples
    n, k = equal(risk, "jaxopt"), len(problem.classes)
    X, Y = np.asarray(rows_of(problem.inputs, held).toarray()), np.eye(k)[y[held]]
    return ((Y - maximum(X, Y, risk.mu * n, budget)).T @ X).ravel() / (risk.mu * n)


NAMES = {"jaxopt": fit}
