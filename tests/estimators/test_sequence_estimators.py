"""Estimators of sequences and of any structure: conventions of sklearn-crfsuite, optima of `solve`."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight

import workbench as wb
from workbench.estimators import ChainCRF, ChainSVC, StructuredSVC, metrics


def words(n=12, seed=0):
    """Sequences as lists of dicts and as arrays, and their labels."""
    rng, letters = np.random.default_rng(seed), "uvw"
    texts = ["".join(rng.choice(list(letters), rng.integers(2, 6))) for _ in range(n)]
    labels = [
        ["BIO"[(letters.index(c) + (t and rng.random() < 0.2)) % 3] for t, c in enumerate(text)] for text in texts
    ]
    dicts = [[{"letter": c, "bias": 1.0, "first": t == 0} for t, c in enumerate(text)] for text in texts]
    tables = [np.array([[1.0, t == 0, *(c == u for u in letters)] for t, c in enumerate(text)]) for text in texts]
    return dicts, tables, labels


@pytest.mark.parametrize("model", [ChainSVC(C=2.0), ChainCRF(C=2.0), ChainSVC(rescaling="slack")])
def test_dicts_arrays_and_sparse_arrays_are_the_same(model):
    dicts, tables, labels = words()
    fits = [clone(model).fit(X, labels) for X in (dicts, tables, [sparse.csr_array(X) for X in tables])]
    assert fits[0].feature_names_ == ["bias", "first", "letter:u", "letter:v", "letter:w"]
    for each in fits[1:]:
        assert each.upper_ == pytest.approx(fits[0].upper_, rel=1e-5)
    assert fits[0].predict(dicts) == fits[1].predict(tables)
    assert fits[0].predict_single(dicts[0]) == fits[0].predict(dicts)[0]
    assert fits[0].score(dicts, labels) == metrics.flat_accuracy_score(labels, fits[0].predict(dicts)) > 0.7
    unseen = [[{"letter": "z", "bias": 1.0, "other": ["a", "b"]}]]
    assert fits[0].predict(unseen)[0][0] in "BIO"


def test_sequences_of_pandas_are_sequences():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    _, tables, labels = words()
    frames, series = [pandas.DataFrame(each) for each in tables], [pandas.Series(each) for each in labels]
    plain, model = ChainSVC().fit(tables, labels), ChainSVC().fit(pandas.Series(frames), pandas.Series(series))
    np.testing.assert_array_equal(plain.coef_, model.coef_)
    assert model.predict(frames) == plain.predict(tables)


def test_intercepts_of_labels_have_no_price():
    _, tables, labels = words()
    plain, free = ChainSVC(C=0.1).fit(tables, labels), ChainSVC(C=0.1, fit_intercept=True).fit(tables, labels)
    moved = ChainSVC(C=0.1, fit_intercept=True).fit([each + 7.0 for each in tables], labels)
    assert not plain.intercept_.any()
    assert free.intercept_.any()
    assert free.upper_ == pytest.approx(moved.upper_, rel=1e-4)
    assert free.upper_ <= plain.upper_
    assert free.predict(tables) == moved.predict([each + 7.0 for each in tables])
    with pytest.raises(wb.BadInput, match="intercepts need rescaling=margin"):
        ChainSVC(rescaling="slack", fit_intercept=True).fit(tables, labels)


def test_the_optimum_is_that_of_solve():
    _, tables, labels = words()
    for model, form in ((ChainSVC, wb.SoftMargin), (ChainCRF, wb.CRF)):
        fitted = model(C=0.5, gap=1e-8).fit(tables, labels)
        reference = wb.solve(form(lam=1 / (0.5 * len(labels))), wb.Chain(tables, labels, "hamming"), gap=1e-8)
        assert fitted.upper_ == pytest.approx(reference.upper, rel=1e-7)
        assert fitted.coef_.shape == (3, 5)
        assert fitted.transitions_.shape == (3, 3)


def test_weight_two_is_the_sequence_twice_and_weight_zero_none():
    _, tables, labels = words()
    weights = np.array([0, 2] + [1] * 10)
    one = ChainSVC().fit(tables, labels, sample_weight=weights)
    two = ChainSVC().fit(tables[1:] + tables[1:2], labels[1:] + labels[1:2])
    assert one.upper_ == pytest.approx(two.upper_, rel=1e-5)


@pytest.mark.parametrize("given", ["balanced", {"B": 3.0, "O": 0.5}])
def test_class_weights_of_chains_are_prices_of_the_true_labels(given):
    _, tables, labels = words()
    factors = compute_class_weight(given, classes=np.array(list("BIO")), y=np.concatenate(labels))
    factors = np.array(factors if given == "balanced" else [3.0, 1.0, 0.5])
    for cost in (None, np.array([[0, 1, 2.0], [3, 0, 1], [1, 1, 0]])):
        model = ChainSVC(C=0.7, cost=cost, class_weight=given, gap=1e-8).fit(tables, labels)
        scaled = factors[:, None] * (1 - np.eye(3) if cost is None else cost)
        lists = [[*itertools.product(range(3), repeat=len(x))] for x in tables]
        w = np.concatenate([model.coef_.ravel(), model.transitions_.ravel()])
        chain, risk = model.chain_, 0.0
        for i, (x, y) in enumerate(zip(tables, labels, strict=True)):  # by hand: factors at the true positions
            truth, outputs = ["BIO".index(each) for each in y], np.array(lists[i])
            at = np.full(len(outputs), i)
            padded = np.full((len(outputs), chain.width), -1)
            padded[:, : len(x)] = outputs
            margins = (chain.features(at, padded) - chain.features(at, chain.truth[at])) @ w
            risk += max(margins + [sum(scaled[a, b] for a, b in zip(truth, z, strict=True)) for z in outputs])
        assert w @ w / 2 + 0.7 * risk == pytest.approx(0.7 * len(labels) * model.upper_, rel=1e-9)
    assert ChainSVC(class_weight={}).fit(tables, labels).upper_ == pytest.approx(
        ChainSVC().fit(tables, labels).upper_, rel=2e-6
    )


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (ChainSVC(class_weight={"X": 2.0}), "The class 'X' in class_weight is none of the data"),
        (ChainSVC(class_weight={"B": -2.0}), "The weight of class 'B' is -2.0"),
        (ChainSVC(class_weight="heavy"), "class_weight is 'heavy'; give balanced"),
        (ChainCRF(class_weight="balanced"), "ChainCRF has no class_weight; give `fit` a sample_weight"),
        (ChainSVC(fit_intercept="yes"), "fit_intercept is 'yes'; give True or False"),
        (ChainSVC(rescaling="both"), "rescaling is 'both'; choose margin or slack"),
        (ChainSVC(class_weight={"B": 0.5}, rescaling="slack"), "needs integer costs"),
    ],
)
def test_bad_settings_are_one_sentence(model, sentence):
    _, tables, labels = words()
    with pytest.raises(wb.CutbenchError, match=sentence):
        model.fit(tables, labels)


def test_scores_over_positions():
    truth, found = [["B", "I"], ["O"]], [["B", "O"], ["O"]]
    assert metrics.flat_accuracy_score(truth, found) == pytest.approx(2 / 3)
    assert metrics.sequence_accuracy_score(truth, found) == 0.5
    assert 0 < metrics.flat_f1_score(truth, found, average="macro", zero_division=0) < 1
    assert "precision" in metrics.flat_classification_report(truth, found, zero_division=0)


def test_structured_svc_by_three_functions(tmp_path):
    _, tables, labels = words()

    def features(x, y):
        index = ["BIO".index(each) for each in y]
        out = np.zeros((3, 5))
        np.add.at(out, index, x)
        pairs = np.zeros((3, 3))
        np.add.at(pairs, (index[:-1], index[1:]), 1)
        return np.append(out, pairs)

    def loss(y, z):
        return sum(a != b for a, b in zip(y, z, strict=True))

    def candidates(x):
        return (list(each) for each in itertools.product("BIO", repeat=len(x)))

    model = StructuredSVC(features, loss, candidates=candidates, C=0.5).fit(tables, labels)
    chain = ChainSVC(C=0.5).fit(tables, labels)
    assert model.upper_ == pytest.approx(chain.upper_, rel=2e-6)
    assert model.score(tables, labels) == -np.mean(
        [loss(a, b) for a, b in zip(labels, model.predict(tables), strict=True)]
    )
    assert wb.verify(model.certificate_.save(tmp_path / "c"))["proven"]
    assert clone(model).C == 0.5


def test_limits_warn_and_faults_are_one_sentence():
    dicts, tables, labels = words()
    with pytest.warns(ConvergenceWarning, match="status limit"):
        ChainSVC(C=50.0, max_rounds=1).fit(dicts, labels)
    for X, y, sentence in (
        ([[{}]], [["B"]], "No position of the sequences has a feature"),
        ([[{"a": object()}]], [["B"]], "The feature a is <object"),
        ([[{"a": 1}, 3]], [["B", "I"]], "A position is a int, no dict"),
        (tables, labels[:-1], "give one label sequence each"),
    ):
        with pytest.raises(wb.BadInput, match=sentence):
            ChainSVC().fit(X, y)
