"""The change of variables: the matrix that it says, refused where dear, and fewer rounds to the same optimum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import sqrtm

import workbench as wb
from workbench.contracts import Conditioned
from workbench.formulations.weighted_risk import RiskTerms
from workbench.objectives.conditioning import PART, SHAPE, root, shape
from workbench.outputs._marginals import ForwardBackward, Softmax


@pytest.mark.parametrize("density", [0.05, 0.9])
@pytest.mark.parametrize("kappa", [0.0, 0.3, 1e6])
def test_the_root_is_that_of_the_inverse(density, kappa):
    rng = np.random.default_rng(1)
    X, w = sparse.random_array((80, 5), density=density, format="csr", rng=rng), rng.random(80)
    found = root(X, w, 5, kappa)
    gram = X.toarray().T @ (w[:, None] * X.toarray())
    np.testing.assert_allclose(found @ found @ (np.eye(5) + kappa * gram), np.eye(5), atol=1e-8)
    np.testing.assert_allclose(found, np.real(sqrtm(np.linalg.inv(np.eye(5) + kappa * gram))), atol=1e-8)
    np.testing.assert_allclose(found, found.T, atol=1e-12)


def test_many_columns_are_too_dear():
    X = sparse.random_array((50, 400), density=0.01, format="csr", rng=np.random.default_rng(0))
    assert root(X, np.ones(50), 3, 1.0) is None


def test_the_shape_is_bounded_by_curvature_and_by_trace():
    X = sparse.csr_array(np.diag([1.0, 2.0]))
    assert shape(X, np.ones(2), 100.0, 0.25) == pytest.approx(PART * 0.25 / 100)
    assert shape(X, np.ones(2), 1e-9, 0.25) == pytest.approx(SHAPE / 5)
    assert shape(0 * X, np.ones(2), 1e-9, 0.25) == 0.0


def without(*kinds):
    """Contexts in which terms of these kinds know no change of variables."""
    patch = pytest.MonkeyPatch()
    for kind in kinds:
        patch.setattr(kind, "conditioner", lambda self, samples, weights, mu: None)
    return patch


@pytest.mark.parametrize("lam", [0.1, 1e-3, 1e-5])
@pytest.mark.parametrize("name", ["iris", "chains", "two"])
def test_it_saves_rounds_and_changes_no_optimum(name, lam):
    rng, form = np.random.default_rng(3), wb.CRF(lam=lam)
    if name == "iris":
        problem = wb.load_problem("iris")()
    elif name == "chains":  # with features of unlike sizes that are not centred
        sequences = [rng.normal(size=(t, 6)) * [8, 4, 2, 1, 1, 1] + 2 for t in rng.integers(2, 7, 30)]
        problem = wb.Chain(sequences, [rng.integers(0, 3, len(s)) for s in sequences])
    else:
        X = rng.normal(size=(200, 30)) * np.geomspace(9, 0.3, 30) + 1
        problem, form = wb.Linear(X, np.sign(X[:, 0] + rng.normal(size=200))), wb.WeightedRisk(lam=lam, loss="logistic")
    assert isinstance(form.terms(problem), Conditioned)
    fast = wb.solve(form, problem, gap=1e-8)
    patch = without(Softmax, ForwardBackward, RiskTerms)
    slow = wb.solve(form, problem, gap=1e-8)
    patch.undo()
    assert fast.status == slow.status == "optimal"
    assert fast.rounds < slow.rounds
    assert fast.lower <= slow.upper
    assert slow.lower <= fast.upper


def test_squared_risk_takes_one_step():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 7)) * 10.0 ** np.arange(-3, 4)
    best = wb.solve(wb.WeightedRisk(lam=1e-3, loss="squared"), wb.Linear(X, rng.normal(size=100)), gap=1e-9)
    assert best.status == "optimal"
    assert best.rounds <= 5
