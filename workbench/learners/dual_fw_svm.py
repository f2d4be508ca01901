"""dual-fw-svm: Frank–Wolfe on the dual of Crammer and Singer's machine, all samples a step or one at a time.

    theirs   min ½‖W‖² + C Σ_i max_y ([y ≠ y_i] + ⟨W_y − W_{y_i}, x_i⟩)
    ours     min μ/2 ‖W‖² + 1/n Σ_i h_i(W),    C = 1/(μn)

No intercept, no sample weights. `budget` passes: as many steps of `dual-fw-svm`, n times as many of
`dual-fw-svm-blocks`. The gap falls like 1/passes for both.
"""

# Where the package is absent, pyright takes this file, which has its name, for it:
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from scipy import sparse

from workbench.learners._peers import equal, hinge, labels_of, needs, rows_of, seed_of


def trained(problem, formulation, name, method, steps, rng):
    risk = hinge(formulation, problem, name)
    labels, held = labels_of(problem, risk, name), risk.samples
    n = equal(risk, name)
    model = method(C=1 / (risk.mu * n), formulation="cs", max_iter=steps(n), tol=0.0, random_state=seed_of(rng))
    rows = sparse.csr_matrix(rows_of(problem.inputs, held))  # arrays are unknown to the package
    return model.fit(rows, labels[held]).coef_.ravel()


@needs("dual_fw_svm", "dual-fw-svm")
def whole(problem, formulation, budget, rng):
    """MulticlassFrankWolfeSVM: a step moves the dual weights of all samples."""
    from dual_fw_svm import MulticlassFrankWolfeSVM

    return trained(problem, formulation, "dual-fw-svm", MulticlassFrankWolfeSVM, lambda n: budget, rng)


@needs("dual_fw_svm", "dual-fw-svm")
def blocks(problem, formulation, budget, rng):
    """BlockCoordinateFrankWolfeSVM: a step moves the dual weights of one sample."""
    from dual_fw_svm import BlockCoordinateFrankWolfeSVM

    return trained(problem, formulation, "dual-fw-svm-blocks", BlockCoordinateFrankWolfeSVM, lambda n: budget * n, rng)


NAMES = {"dual-fw-svm": whole, "dual-fw-svm-blocks": blocks}
