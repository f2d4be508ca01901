"""liblinear's own Python package, liblinear-official: Crammer and Singer's machine, and logistic regression.

    -s 4     min ½‖W‖² + C Σ_i max_y ([y ≠ y_i] + ⟨W_y − W_{y_i}, x_i⟩)         dual coordinate descent
    -s 0     min ½‖c‖² + C Σ_i log(1 + exp(−y_i⟨c, x_i⟩))                        trust region Newton, two labels
    ours     min μ/2 ‖w‖² + 1/n Σ_i h_i(w),    C = 1/(μn), with μ/2 for μ where c stands for two rows (`_peers`)

The package takes no sample weights, and no bias is added. `budget` sets the tolerance: -e max(1/budget², 10⁻⁷), since
its number of iterations cannot be set.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from workbench.learners._peers import equal, hinge, labels_of, likelihood, needs, rows_of, signs_of

LEAST = 1e-7


def trained(X, y, kind, C, budget):
    """(labels in liblinear's order, weights (features, columns))."""
    from liblinear.liblinearutil import train

    rows = sparse.csr_matrix(rows_of(X, np.arange(X.shape[0])))  # arrays are unknown to the package
    model = train(y.astype(float), rows, f"-q -s {kind} -c {C!r} -e {tolerance(budget)!r}")
    labels = np.array(model.get_labels(), int)
    columns = len(labels) if kind == 4 or len(labels) > 2 else 1
    size = model.nr_feature * columns
    return labels, np.array(model.w[:size]).reshape(model.nr_feature, columns)


def tolerance(budget):
    return max(float(budget) ** -2, LEAST)


@needs("liblinear", "liblinear-official")
def crammer_singer(problem, formulation, budget, rng):
    """liblinear -s 4, Crammer and Singer's machine."""
    risk = hinge(formulation, problem, "liblinear-crammer-singer")
    y, held = labels_of(problem, risk, "liblinear-crammer-singer"), risk.samples
    n = equal(risk, "liblinear-crammer-singer")
    labels, found = trained(problem.inputs[held], y[held], 4, 1 / (risk.mu * n), budget)
    W = np.zeros((len(problem.classes), problem.inputs.shape[1]))
    W[labels, : len(found)] = found.T  # columns behind the last that is not 0 are unknown to liblinear
    return W.ravel()


@needs("liblinear", "liblinear-official")
def logistic(problem, formulation, budget, rng):
    """liblinear -s 0, logistic regression of two labels."""
    risk = likelihood(formulation, problem, "liblinear-logistic")
    X, signs, share, unfold = signs_of(problem, risk, "liblinear-logistic")
    n, held = equal(risk, "liblinear-logistic"), risk.samples
    labels, found = trained(X[held], signs[held], 0, 1 / (share * risk.mu * n), budget)
    c = np.zeros(X.shape[1])
    c[: len(found)] = found[:, 0] * labels[0]  # the score is of the label that came first
    return unfold(c)


NAMES = {"liblinear-crammer-singer": crammer_singer, "liblinear-logistic": logistic}
