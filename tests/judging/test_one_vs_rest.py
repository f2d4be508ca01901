"""One label against the rest, and changed features: what another solver finds is named, and the ball holds it."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest

import workbench as wb
from workbench.data.datasets import MissingData
from workbench.data.loading import load_problem
from workbench.judging.conventions.detective import NEARBY, Detective
from workbench.judging.conventions.neighbours import Suspect
from workbench.judging.conventions.one_vs_rest import one_vs_rest
from workbench.judging.conventions.standardised import deviations, views
from workbench.judging.judge import judge
from workbench.judging.reference import reference_of
from workbench.registries import registry

cp = pytest.importorskip("cvxpy")
planted = registry("benchmark").modules["detective"]
LAM, K = 0.05, 4


@cache
def reference():
    rng = np.random.default_rng(2)
    y = np.append(np.arange(K), rng.integers(0, K, 36))
    X = (rng.normal(size=(40, 3)) + rng.normal(size=(K, 3))[y]) * np.array([1.0, 3.0, 0.4]) + 0.5
    return reference_of(wb.solve(wb.SoftMargin(LAM), wb.Multiclass(X, y), gap=1e-8))


def solved(power=2, lam=LAM, X=None, bias="", likelihood=False):
    """The weights (K, p) of K programs of two labels each, by CLARABEL."""
    problem, rows = reference().problem, []
    X = problem.X.toarray() if X is None else X
    for label in range(K):
        signs = np.where(problem.labels == label, 1.0, -1.0)
        w, b = cp.Variable(X.shape[1]), cp.Variable()
        m = cp.multiply(signs, X @ w + (b if bias else 0))
        losses = cp.logistic(-m) if likelihood else cp.square(cp.pos(1 - m)) if power == 2 else cp.pos(1 - m)
        size = cp.sum_squares(w) + (cp.square(b) if bias == "penalised" else 0)
        cp.Problem(cp.Minimize(lam / 2 * size + cp.sum(losses) / len(X))).solve(cp.CLARABEL)
        rows.append(w.value)
    return np.array(rows)


NAMED = {
    "one-vs-rest, squared hinge": {},
    "one-vs-rest, hinge": {"power": 1},
    "one-vs-rest, likelihood": {"likelihood": True},
}


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("times", [1.0, 3.0])
def test_one_label_against_the_rest_is_named_with_its_multiple_of_lambda(name, times):
    found = Detective(reference()).explain(solved(lam=times * LAM, **NAMED[name]).ravel())
    assert found.name == name
    assert found.evidence["lam"] == pytest.approx(times * LAM, rel=0.02)
    assert ("3 times as large" in found.sentence) == (times == 3.0)


@pytest.mark.parametrize("bias", ["free", "penalised"])
def test_an_intercept_that_is_not_reported_is_told(bias):
    found = Detective(reference()).explain(solved(bias=bias).ravel())
    assert found.name == "one-vs-rest, squared hinge"
    assert f"a {bias} intercept" in found.sentence
    default = Detective(reference()).explain(solved(lam=1 / 40, bias="penalised").ravel())
    assert "C = 1 whatever λ is" in default.sentence


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("noise", [1e-3, 1e-2])
def test_the_distance_is_a_bound(name, noise):
    """‖W − W*‖ ≤ ρ/μ for weights beside the optimum, at the μ that fits them: solved anew at that μ."""
    W = solved(**NAMED[name])
    W = W + noise * np.random.default_rng(0).normal(size=W.shape)
    suspect = Suspect(W.ravel(), reference())
    fit = next(each for each in one_vs_rest(suspect) if each.neighbour.name == name)
    best = solved(lam=fit.neighbour.evidence["lam"], **NAMED[name])
    assert np.linalg.norm(W - best) <= fit.distance * (1 + 1e-6) + 1e-6
    assert fit.least <= fit.most * (1 + 1e-6)


def test_the_joint_optimum_is_no_sum_of_problems_of_two_labels():
    assert Detective(reference()).explain(reference().theta) is None
    fits = [each for each in one_vs_rest(Suspect(reference().theta, reference())) if each.most <= 3e-3]
    assert fits == []


@pytest.mark.parametrize("undone", [False, True])
def test_standardised_features_are_named(undone):
    problem = reference().problem
    sigma = deviations(problem.inputs)
    np.testing.assert_allclose(sigma, problem.X.toarray().std(axis=0))
    changed = dict(views(problem.inputs))["standardised features"]
    best = wb.solve(wb.SoftMargin(LAM), wb.Multiclass(changed, problem.labels), gap=1e-8).theta["w"].reshape(K, -1)
    found = Detective(reference()).explain((best / sigma if undone else best).ravel())
    assert found.name.startswith("standardised features" if not undone else ("standardised", "scaled"))
    assert found.name.endswith("undone") == undone


@pytest.mark.parametrize("name", ["transitions not penalised", "ends added"])
def test_transitions_and_ends_of_sequences(name):
    data = planted.drawn(np.random.default_rng(3), chained=True)
    best = reference_of(wb.solve(wb.SoftMargin(LAM), data.problem(), gap=1e-6))
    p = data.inputs[0].shape[1]
    if name == "ends added":
        ends = [np.column_stack([np.arange(len(X)) == 0, np.arange(len(X)) == len(X) - 1]) for X in data.inputs]
        wide = planted.replace(data, inputs=[np.hstack([X, end]) for X, end in zip(data.inputs, ends, strict=True)])
        theta, k = planted.table(wide, LAM).optimum(), planted.K
        kept = np.concatenate([np.tile(np.arange(p + 2) < p, k), np.ones(k * k, bool)])
        theta = theta[kept]
    else:
        own = planted.table(data, LAM)
        theta = planted.replace(own, costs=np.where(np.arange(len(best.theta)) < p * planted.K, 1.0, 0.0)).optimum()
    assert Detective(best).explain(theta).name == name


def test_identity_is_certain_only_of_weights_that_stay_and_are_far():
    W = solved().ravel()
    detective = Detective(reference())
    stays = [(50.0, W), (100.0, W * (1 + 1e-4))]
    found = detective.identity(stays)
    assert (found.name, found.confident) == ("one-vs-rest, squared hinge", True)
    assert detective.identity([(50.0, W * (1 + 1.1 * NEARBY)), (100.0, W)]) is None
    assert detective.identity([(100.0, W)]) is None
    assert detective.identity([(10.0, W), (100.0, W)]) is None
    near = reference().theta * (1 + 1e-3)
    assert detective.identity([(50.0, near), (100.0, near)]) is None


# ── the commonest mistakes, as a package makes them ───────────────────────────────────────────────


@cache
def certified(name):
    """The optimum on plain data at λ = 0.01; newswire stories are generated where the true ones are not at hand."""
    try:
        problem = load_problem(name)(**({} if name == "wine" else {"n": 150}))
    except MissingData:
        problem = load_problem("synthetic-text")(n=150)
    return reference_of(wb.solve(wb.SoftMargin(0.01), problem, gap=1e-8))


def liblinear(**settings):
    """`fit` of its own classifier; `times` is C in units of 1/(λn), 1 without it."""
    svm = pytest.importorskip("sklearn.svm")

    def fit(problem, formulation, budget, rng):
        told = {key: value for key, value in settings.items() if key != "times"}
        if "times" in settings:
            told["C"] = settings["times"] / (formulation.lam * problem.n_samples)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says that it has not converged
            learner = svm.LinearSVC(max_iter=budget, random_state=rng, **told).fit(problem.X, problem.labels)
        return learner.coef_.ravel()

    return fit


@pytest.mark.parametrize("name", ["wine", "digits", "reuters"])
def test_the_defaults_of_liblinear_are_named(name):
    found = judge(liblinear(), certified(name), passes=200)
    assert found.verdict == "disagrees"
    assert [cause.name for cause in found.causes] == ["one-vs-rest, squared hinge"]


@pytest.mark.parametrize("passes", [50, 200, 1000])
@pytest.mark.parametrize(("times", "weighed", "name"), [(0.5, None, "λ twice"), (1.0, "balanced", "balanced classes")])
def test_who_has_ended_elsewhere_is_accused_at_any_budget(times, weighed, name, passes):
    """Slower methods of ours are no excuse: its weights are the same from a fraction of the passes on."""
    joint = {"multi_class": "crammer_singer", "fit_intercept": False, "class_weight": weighed}
    found = judge(liblinear(times=times, **joint), certified("wine"), passes=passes)
    assert (found.verdict, found.rule) == ("disagrees", "ended")
    assert [(cause.name, cause.confident) for cause in found.causes] == [(name, True)]
