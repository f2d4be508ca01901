"""The multiclass estimators pass every check of scikit-learn, and their optimum is the proven one."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import workbench as wb
from workbench.estimators import CostLearningSVC, MulticlassSVC, SelfPacedSVC

ESTIMATORS = [
    MulticlassSVC(),
    MulticlassSVC(rescaling="slack"),
    CostLearningSVC(),
    SelfPacedSVC(max_rounds=1),
]


@parametrize_with_checks(ESTIMATORS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def blobs(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.array(["red", "green", "blue"])[np.arange(n) % 3]
    return rng.normal(size=(n, 4)) + 1.5 * np.eye(4)[np.arange(n) % 3], y


def test_the_optimum_is_that_of_solve():
    X, y = blobs()
    model = MulticlassSVC(C=0.3, fit_intercept=False).fit(X, y)
    reference = wb.solve(wb.SoftMargin(lam=1 / (0.3 * len(y))), wb.Multiclass(X, y))
    assert model.converged_
    assert model.gap_ <= 1e-9
    assert model.upper_ == pytest.approx(reference.upper, rel=1e-9)
    np.testing.assert_allclose(model.coef_.ravel(), reference.theta["w"], atol=1e-4)
    np.testing.assert_array_equal(model.classes_[model.decision_function(X).argmax(axis=1)], model.predict(X))


def test_costs_in_margins_and_intercepts():
    X, y = blobs()
    cost = np.array([[0, 1, 9.0], [1, 0, 9.0], [1, 1, 0]])
    for settings in ({}, {"fit_intercept": False}, {"rescaling": "slack"}):
        plain, dear = MulticlassSVC(**settings).fit(X, y), MulticlassSVC(cost=cost, **settings).fit(X, y)
        assert (dear.predict(X) == "red").sum() < (plain.predict(X) == "red").sum()  # the class that is dear to guess
    shifted = X + 100.0  # intercepts without a price make up for any shift
    one, two = MulticlassSVC().fit(X, y), MulticlassSVC().fit(shifted, y)
    assert one.upper_ == pytest.approx(two.upper_, rel=1e-6)


def test_sparse_pipelines_grids_clones_and_pickles():
    X, y = blobs()
    dense, thin = MulticlassSVC().fit(X, y), MulticlassSVC().fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(dense.decision_function(X), thin.decision_function(sparse.csr_matrix(X)), atol=1e-6)
    grid = GridSearchCV(make_pipeline(StandardScaler(), MulticlassSVC()), {"multiclasssvc__C": [1e-3, 1.0]}, cv=3)
    assert grid.fit(X, y).best_score_ > 0.6
    again = pickle.loads(pickle.dumps(dense))
    np.testing.assert_array_equal(again.predict(X), dense.predict(X))
    assert again.certificate_.upper == dense.certificate_.upper
    assert not hasattr(clone(dense), "coef_")


def test_a_limit_warns_and_leaves_what_is_proven(tmp_path):
    X, y = blobs()
    with pytest.warns(ConvergenceWarning, match=r"status limit: the proven gap is .*, not 1e-09; raise the limits"):
        model = MulticlassSVC(C=100.0, max_rounds=2).fit(X, y)
    assert not model.converged_
    assert model.lower_ <= MulticlassSVC(C=100.0).fit(X, y).upper_ <= model.upper_
    proof = wb.verify(model.certificate_.save(tmp_path / "partial"))
    assert proof["proven"]


def test_learned_costs_and_selection():
    X, y = blobs(45)
    model = CostLearningSVC(lam2=0.05).fit(X, y)
    assert dict(zip(model.cost_names_, model.costs_, strict=True)).keys() == set(model.cost_names_)
    assert ((model.costs_ >= 0) & (model.costs_ <= 1)).all()
    few = SelfPacedSVC(C=5.0, K=20.0, max_rounds=3)
    with pytest.warns(ConvergenceWarning):
        few.fit(X, y)
    assert few.selected_.sum() < len(y)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (MulticlassSVC(C=0), "C is 0"),
        (MulticlassSVC(rescaling="both"), "rescaling is 'both'; choose margin or slack"),
        (CostLearningSVC("other"), "objective is 'other'; choose normalized or simplex"),
        (MulticlassSVC(cost=np.ones((2, 2))), "make it"),
    ],
)
def test_bad_settings_are_one_sentence(model, sentence):
    with pytest.raises(wb.BadInput, match=sentence):
        model.fit(*blobs())
