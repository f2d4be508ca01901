"""The multiclass estimators pass every check of scikit-learn, and their optimum is the proven one."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import parametrize_with_checks

import workbench as wb
from workbench.data.loading import load_problem
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


@pytest.mark.parametrize("given", ["balanced", {"red": 3.0, "blue": 0.5}])
def test_class_weights_are_those_of_scikit_learn_everywhere(given, tmp_path):
    X, y = blobs()
    X, y = X[y != "red"][:30], y[y != "red"][:30]
    X, y = np.concatenate([X, blobs(seed=1)[0][:9:3]]), np.concatenate([y, ["red"] * 3])
    s = np.random.default_rng(0).uniform(0.5, 2, len(y))
    factors = compute_sample_weight(given, y)
    np.testing.assert_allclose(wb.Multiclass(X, y, weights=s, class_weight=given).weights, s * factors)
    one = MulticlassSVC(class_weight=given).fit(X, y, sample_weight=s)
    other = MulticlassSVC().fit(X, y, sample_weight=s * factors)
    assert one.upper_ == pytest.approx(other.upper_, rel=1e-8)
    if given == "balanced":
        np.savez(tmp_path / "data.npz", X=X, y=y)
        source = load_problem(str(tmp_path / "data.npz"))
        np.testing.assert_allclose(source(class_weight="balanced").weights, factors)
        assert (source().weights == 1).all()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("heavy", "class_weight is 'heavy'; give balanced"),
        ({"violet": 1.0}, "The class 'violet' in class_weight is none of the data"),
        ({"red": -1.0}, "The weight of class 'red' is -1.0"),
        ({"red": np.nan}, "The weight of class 'red' is nan"),
        (dict.fromkeys(("red", "green", "blue"), 0.0), "not all zero"),
    ],
)
def test_bad_class_weights_are_one_sentence(given, sentence):
    X, y = blobs()
    with pytest.raises(wb.BadInput, match=sentence):
        wb.Multiclass(X, y, class_weight=given)


def test_tables_of_pandas_keep_their_names_and_refuse_others():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    X, y = blobs()
    frame, names = pandas.DataFrame(X, columns=list("abcd"), index=range(100, 160)), pandas.Series(y, name="colour")
    frame["d"] = frame["d"].astype("float32")
    plain, model = MulticlassSVC().fit(frame.to_numpy(), y), MulticlassSVC().fit(frame, names)
    np.testing.assert_array_equal(plain.coef_, model.coef_)
    assert model.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(model.predict(frame), plain.predict(frame.to_numpy()))
    np.testing.assert_array_equal(
        MulticlassSVC().fit(frame, names.astype("category"), sample_weight=pandas.Series(np.ones(60))).coef_,
        model.coef_,
    )
    thin = frame.round().astype(pandas.SparseDtype(float, 0.0))
    np.testing.assert_allclose(
        MulticlassSVC().fit(thin, names).coef_, MulticlassSVC().fit(frame.round(), names).coef_, atol=1e-6
    )
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c", "d"]])
    with pytest.raises(ValueError, match="could not convert string to float"):
        MulticlassSVC().fit(frame.assign(d="x"), names)


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


def test_a_gap_that_floats_cannot_reach_is_said_to_be_too_small():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="status stalled.*give a larger gap"):
        MulticlassSVC(C=1e6).fit(X[::3], y[::3])


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
        (MulticlassSVC(fit_intercept="yes"), "fit_intercept is 'yes'; give True or False"),
        (SelfPacedSVC(fit_intercept=None), "fit_intercept is None; give True or False"),
        (CostLearningSVC(counts="some"), "counts is 'some'; choose expected, logical"),
        (CostLearningSVC(factoring="some"), "factoring is 'some'; choose"),
    ],
)
def test_bad_settings_are_one_sentence(model, sentence):
    with pytest.raises(wb.BadInput, match=sentence):
        model.fit(*blobs())
