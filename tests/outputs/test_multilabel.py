"""Sets of labels: what users may give, predictions, and libsvm's optimum label by label."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import workbench as wb
from workbench.arithmetic.rationals import ratios
from workbench.proofs.verify import verify


def some(n=30, k=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X @ rng.normal(size=(4, k)) + 0.5 * rng.normal(size=(n, k)) > 0.3).astype(int)


def test_sets_lists_and_zeros_and_ones_are_the_same():
    X, Y = some()
    names = np.array(["art", "law", "war"])
    table = wb.Multilabel(X, Y, classes=names)
    for sets in ([set(names[row == 1].tolist()) for row in Y], [names[row == 1].tolist() for row in Y]):
        np.testing.assert_array_equal(wb.Multilabel(sparse.csr_array(X), sets).truth, table.truth)
    np.testing.assert_array_equal(wb.Multilabel(X, sparse.csr_array(Y)).truth, table.truth)
    assert table.describe(0, np.array([1, 0, 1])) == "labels art, war"
    assert table.describe(0, np.zeros(3, int)) == "labels none"
    assert table.weight_names()[4] == "law: x[0]"


@pytest.mark.parametrize(
    ("X", "Y", "classes", "sentence"),
    [
        ([[1.0], [2.0]], [["a"], "bc"], None, "The labels of sample 1 are 'bc'; give a list or set"),
        ([[1.0], [2.0]], [["a"], 3], None, "The labels of sample 1 are 3"),
        ([[1.0], [2.0]], [["a"], ["a"]], None, r"The labels are \['a'\]; give two different ones"),
        ([[1.0], [2.0]], [["a"], ["c"]], ["a", "b"], "Label 'c' of sample 1 is not among the given classes"),
        ([[1.0], [2.0]], [["a"], [1]], None, "Label 1 of sample 1 mixes texts and numbers"),
        ([[1.0], [2.0]], [["a"], [None]], None, "Label None of sample 1 is neither a text nor a number"),
        ([[1.0], [2.0]], np.array([[0, 1], [2, 0]]), None, "The labels of sample 1 are not zeros and ones"),
        ([[1.0], [2.0]], np.array([[0, 1], [1, 0]]), ["a"], r"Y has 2 columns but `classes` has shape \(1,\)"),
        ([[1.0], [2.0]], [["a"]], None, "X has 2 rows but there are 1 sets"),
        ([[1.0], [2.0]], None, None, "no list of sets"),
        ([[1.0], [np.nan]], [["a"], ["b"]], None, "Feature 0 of sample 1 is nan"),
    ],
)
def test_bad_data_are_one_sentence(X, Y, classes, sentence):
    with pytest.raises(wb.BadInput, match=sentence):
        wb.Multilabel(X, Y, classes=classes)


def test_each_label_is_a_support_vector_machine_of_its_own(tmp_path):
    """½‖v‖² + C Σ hinge has C = 1/(λ n); labels share no weight, so F* is the sum of the labels' optima."""
    X, Y = some()
    solution = wb.solve(wb.SoftMargin(lam=0.05), wb.Multilabel(X, Y), gap=1e-9)
    alone = [wb.solve(wb.SoftMargin(lam=0.05), wb.Linear(X, 2 * y - 1), gap=1e-9) for y in Y.T]
    assert solution.upper == pytest.approx(sum(each.upper for each in alone), rel=1e-8)
    np.testing.assert_allclose(solution.theta["w"].reshape(3, 4), [each.theta["w"] for each in alone], atol=1e-4)
    np.testing.assert_array_equal(solution.predict(X), (X @ solution.theta["w"].reshape(3, 4).T > 0).astype(int))
    assert verify(solution.certificate.save(tmp_path / "c"))["proven"]
    svm = pytest.importorskip("sklearn.svm", reason="scikit-learn is not installed")
    theirs = svm.LinearSVC(loss="hinge", C=1 / (0.05 * 30), fit_intercept=False, tol=1e-9, max_iter=10**6)
    np.testing.assert_allclose(theirs.fit(X, Y[:, 1]).coef_[0], alone[1].theta["w"], atol=1e-3)


@pytest.mark.parametrize("formulation", ["soft-margin", "perceptron", "crf"])
def test_other_formulations_are_proven_too(formulation, tmp_path):
    X, _ = some()
    Y = (X[:, :3] > 0).astype(int)
    form = wb.registry("formulation").get(formulation)
    settings = {"rescaling": "slack"} if formulation == "soft-margin" else {}
    solution = wb.solve(form(lam=0.1, **settings), wb.Multilabel(X, Y), gap=1e-7)
    assert solution.status == "optimal"
    assert verify(solution.certificate.save(tmp_path / "c"))["proven"]


@pytest.mark.parametrize("seed", range(5))
def test_rational_maxima_are_those_of_a_list(seed):
    problem, rng = wb.Multilabel.tiny(np.random.default_rng(seed)), np.random.default_rng(seed)
    w = np.round(2 * rng.normal(size=problem.n_features)) / 2  # ties are likely
    exact, weights = problem.exact(), ratios(w)
    for i in range(problem.n_samples):
        outputs, at = problem.outputs(i), np.array([i])
        batch, other = np.full(len(outputs), i), (outputs != problem.truth[i]).any(axis=1)
        gains = problem.features(batch, outputs) @ w - (problem.features(at, problem.truth[at]) @ w)[0]
        losses = problem.loss(batch, outputs)
        found = {"margin": losses + gains, "slack": losses * (1 + gains), "rival": gains[other]}
        for name, values in found.items():
            whole, unit = getattr(exact, name)(weights, at)
            assert float(whole[0]) / unit == pytest.approx(values.max(), abs=1e-12), name


def test_too_many_labels_are_not_listed_but_solved():
    X, Y = some(k=20)
    problem = wb.Multilabel(X, Y)
    assert wb.solve(wb.SoftMargin(lam=0.1), problem, gap=1e-6).status == "optimal"
    with pytest.raises(wb.MissingCapability, match=r"2\^20 sets of 20 labels"):
        wb.solve(wb.CRF(lam=0.1), problem)
