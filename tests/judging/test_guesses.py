"""Which causes are guessed for the defaults of common packages, and of chains that are learned wrongly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from workbench.judging.conventions.detective import explain
from workbench.judging.conventions.layouts import by_length
from workbench.judging.conventions.neighbours import Suspect
from workbench.judging.conventions.transposed import swapped_oracle
from workbench.judging.reference import reference_of
from workbench.proofs.any_bounds import bounds_for


def two_rows(estimator):
    """W of a package that has one vector c for two labels."""
    c = estimator.coef_
    return np.concatenate([-c / 2, c / 2]).ravel() if len(c) == 1 else c.ravel()


@pytest.mark.parametrize(("seed", "classes", "n", "p"), [(1, 3, 248, 6), (13, 3, 225, 5), (4, 2, 200, 5)])
def test_logistic_regression_is_the_joint_likelihood_with_a_free_intercept_and_its_own_lambda(seed, classes, n, p):
    """One label against the rest on changed features comes near to such weights by chance."""
    linear_model, datasets = pytest.importorskip("sklearn.linear_model"), pytest.importorskip("sklearn.datasets")
    settings = {"n_informative": 3, "n_redundant": 0, "n_clusters_per_class": 1, "random_state": seed}
    X, y = datasets.make_classification(n, p, n_classes=classes, class_sep=0.5, **settings)
    best = wb.solve(wb.CRF(lam=0.1), wb.Multiclass(X, y), gap=1e-6)
    told = explain(two_rows(linear_model.LogisticRegression(max_iter=10_000).fit(X, y)), best)
    assert told.name == "C = 1, free intercept added"
    assert not told.confident


@pytest.mark.parametrize("lam", [0.01, 1.0])
@pytest.mark.parametrize("seed", [0, 3])
def test_a_hinge_of_two_labels_is_not_explained_by_changed_features(lam, seed):
    svm, datasets = pytest.importorskip("sklearn.svm"), pytest.importorskip("sklearn.datasets")
    X, y = datasets.make_classification(100, 4, n_informative=3, n_redundant=0, random_state=seed)
    best = wb.solve(wb.CRF(lam=lam), wb.Multiclass(X, y), gap=1e-6)
    assert explain(two_rows(svm.LinearSVC(max_iter=100_000).fit(X, y)), best) is None


def chain(seed=0):
    rng = np.random.default_rng(seed)
    T, W = 1.5 * rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    inputs, labels = [], []
    for length in (2, 5, 6, 3, 4, 6, 2, 5, 4, 3):
        y = [int(rng.integers(3))]
        for _ in range(length - 1):
            chances = np.exp(T[y[-1]])
            y.append(int(rng.choice(3, p=chances / chances.sum())))
        inputs.append(0.7 * W[y] + rng.normal(size=(length, 3)))
        labels.append(np.array(y))
    return wb.Chain(inputs, labels)


@pytest.mark.parametrize("form", [wb.CRF(lam=0.1), wb.SoftMargin(lam=0.1)], ids=["likelihood", "hinge"])
def test_transitions_that_are_swapped_in_the_oracle_alone_are_named(form):
    problem = chain()
    asked = wb.solve(form, problem, gap=1e-6)
    (other,) = swapped_oracle(Suspect(asked.theta_flat, reference_of(asked)))
    found = wb.solve(other.formulation, problem, gap=1e-7)
    told = explain(found.theta_flat, asked)
    assert (told.name, told.confident) == ("transitions swapped in the oracle", True)
    assert told.sentence.startswith("The learner scores all outputs by transitions with their two labels swapped")


def test_the_objective_of_a_swapped_oracle_is_that_of_scores_written_out():
    """log Σ_z exp s(z) − s(y), s(z) by the transposed transitions, that of the true y by the right ones."""
    problem, theta = wb.Chain([np.eye(2), np.ones((1, 2))], [[0, 1], [1]]), np.arange(8.0) / 10
    asked = wb.solve(wb.CRF(lam=0.5), problem)
    (other,) = swapped_oracle(Suspect(theta, reference_of(asked)))
    W, T = theta[:4].reshape(2, 2), theta[4:].reshape(2, 2)
    first = np.log(sum(np.exp(W[a, 0] + W[b, 1] + T[b, a]) for a in (0, 1) for b in (0, 1)))
    first -= W[0, 0] + W[1, 1] + T[0, 1]
    second = np.log(np.exp(W.sum(axis=1)).sum()) - W[1].sum()
    wanted = 0.25 * theta @ theta + (first + second) / 2
    assert bounds_for(other.formulation, other.problem).upper(theta) == pytest.approx(wanted)


def test_where_the_pairs_of_labels_are_symmetric_nothing_is_swapped():
    problem = wb.Chain([np.eye(2), np.ones((1, 2))], [[0, 0], [1]])
    asked = wb.solve(wb.CRF(lam=0.5), problem)
    assert not list(swapped_oracle(Suspect(asked.theta_flat, reference_of(asked))))
    single = wb.Multiclass(np.eye(3), np.arange(3))
    asked = wb.solve(wb.CRF(lam=0.5), single)
    assert not list(swapped_oracle(Suspect(asked.theta_flat, reference_of(asked))))


@pytest.mark.parametrize("form", [wb.CRF(lam=0.1), wb.SoftMargin(lam=0.1)], ids=["likelihood", "hinge"])
def test_terms_that_are_divided_by_the_lengths_of_their_sequences_are_named(form):
    """(1/n) Σ h_i/T_i, written out as sample weights 1/T_i under the λ that their sum asks for."""
    problem = chain()
    shares = 1 / problem.lengths
    inputs = np.split(problem.inputs.toarray(), np.cumsum(problem.lengths)[:-1])
    labels = np.split(problem.labels, np.cumsum(problem.lengths)[:-1])
    weighted = wb.Chain(inputs, labels, weights=shares)
    found = wb.solve(replace(form, lam=form.lam * len(shares) / shares.sum()), weighted, gap=1e-7)
    told = explain(found.theta_flat, wb.solve(form, problem, gap=1e-6))
    assert (told.name, told.confident) == ("terms by length", True)
    assert told.sentence.startswith("The learner divides the term of each sequence by its length")
    same = wb.Chain(inputs[:1] * 2, labels[:1] * 2)
    asked = wb.solve(form, same, gap=1e-6)
    assert not list(by_length(Suspect(asked.theta_flat, reference_of(asked))))


def drawn(seed, k, n=150, d=4):
    """Inputs, and labels by the largest of k noisy linear scores."""
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(n, d)), rng.normal(size=(k, d))
    return X, (X @ W.T + rng.gumbel(size=(n, k))).argmax(axis=1)


@pytest.mark.parametrize("form", [wb.SoftMargin(lam=0.1), wb.CRF(lam=0.1)], ids=["hinge", "likelihood"])
@pytest.mark.parametrize(("seed", "classes"), [(1, 3), (3, 4)])
def test_ridge_classifiers_are_least_squares_of_one_label_against_the_rest(form, seed, classes):
    """α‖w‖² + Σ (1 − m)² is n times μ/2 ‖w‖² + the mean, μ = 2α/n."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    X, y = drawn(seed, classes)
    best = wb.solve(form, wb.Multiclass(X, y), gap=1e-6)
    told = explain(linear_model.RidgeClassifier().fit(X, y).coef_.ravel(), best)
    assert (told.name, told.confident) == ("one-vs-rest, squared loss", True)
    assert told.evidence["lam"] == pytest.approx(2 / len(X), rel=1e-6)
    assert "with a free intercept that it does not report" in told.sentence


@pytest.mark.parametrize(
    ("classes", "C", "free", "name"),
    [
        (3, 1 / 15, True, "likelihood loss, free intercept added"),
        (4, 1.0, True, "likelihood loss, C = 1, free intercept added"),
        (2, 1 / 15, False, "likelihood loss, λ"),  # twice: λ/2 of one vector c is λ of both its rows
    ],
)
def test_a_likelihood_with_an_intercept_or_another_lambda_is_found_where_the_hinge_was_asked_for(
    classes, C, free, name
):
    linear_model = pytest.importorskip("sklearn.linear_model")
    X, y = drawn(1, classes)
    best = wb.solve(wb.SoftMargin(lam=0.1), wb.Multiclass(X, y), gap=1e-6)
    learner = linear_model.LogisticRegression(C=C, fit_intercept=free, tol=1e-10, max_iter=10_000).fit(X, y)
    told = explain(two_rows(learner), best)
    assert told.name.startswith(name)
    assert not told.confident
    assert told.sentence.startswith("Perhaps the learner minimises the conditional likelihood")
