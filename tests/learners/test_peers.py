"""Other people's learners: their parameters mean what docs/peers.md says, by our certified optima."""

from __future__ import annotations

import importlib.machinery
import json
import re
import sys
import time
import types
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse
from scipy.optimize import minimize

from workbench.command.cli import cli
from workbench.errors import MissingCapability
from workbench.formulations.crf import CRF
from workbench.formulations.hard_margin import HardMargin
from workbench.formulations.soft_margin import SoftMargin
from workbench.formulations.weighted_risk import WeightedRisk
from workbench.judging.verdicts import AGREES, DISAGREES, crosscheck
from workbench.learners import _peers, dlib_structural
from workbench.learners.python_crfsuite import left_out
from workbench.outputs.chain import Chain
from workbench.outputs.linear import Linear
from workbench.outputs.matching import Matching
from workbench.outputs.multiclass import Multiclass
from workbench.proofs.any_bounds import bounds_for
from workbench.registries import registry
from workbench.solving.solve import solve

PACKAGES = {"sklearn": "sklearn", "python": "pycrfsuite", "dlib": "dlib", "vowpal": "vowpalwabbit"}
PACKAGES |= {"structsvm": "structsvm", "pytorch": "torchcrf", "liblinear": "liblinear", "skglm": "skglm"}
PACKAGES |= {
    "chaine": "chaine",
    "dual": "dual_fw_svm",
    "sklearn-crfsuite": "sklearn_crfsuite",
    "jaxopt": "jaxopt",
    "lightning": "lightning",
}
PAGE = Path(__file__).resolve().parents[2] / "docs" / "peers.md"


def learner(name):
    """The learner of that name; the test is skipped, by name, where its package is absent."""
    pytest.importorskip(PACKAGES[name if name in PACKAGES else name.split("-")[0]])
    return registry("learner").get(name)


@cache
def table(kind, weighted=True):
    """60 noisy points with real weights, three of them 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    y = (X @ rng.normal(size=(5, 3)) + rng.gumbel(size=(60, 3))).argmax(axis=1)
    weights = rng.uniform(0, 2, 60) if weighted else np.ones(60)
    weights[:3] *= not weighted
    if kind == "linear":
        return Linear(X, 2.0 * (y > 0) - 1, weights)
    return Multiclass(X, y if kind == "three" else y > 0, weights=weights)


@cache
def words(n=40, k=4, signed=True, weighted=False):
    """Chains that never climb by more than one label; letters −1, 0, 1, … that lean to their own label's column."""
    rng = np.random.default_rng(0)
    sequences, labels = [], []
    for _ in range(n):
        y = rng.integers(k, size=rng.integers(1, 6))
        y = np.minimum(y, np.append(k - 1, y[:-1] + 1))
        x = np.round(0.6 * rng.normal(size=(len(y), 6)))
        x[np.arange(len(y)), y] += 1
        sequences.append(x if signed else abs(x))
        labels.append(y)
    return Chain(sequences, labels, weights=rng.uniform(0, 2, n) if weighted else None, classes=np.arange(k))


@cache
def pairs():
    rng = np.random.default_rng(1)
    return Matching([rng.normal(size=(3, 4, 5)) for _ in range(12)], [[(0, 1), (2, 3)]] * 12)


@cache
def certified(formulation, problem):
    return solve(formulation, problem, gap=1e-9)


def excess(name, formulation, problem, budget, rng=0):
    """Relative, over the proven optimum."""
    w = learner(name)(problem, formulation, budget, rng)
    bounds = bounds_for(formulation, problem)
    return bounds.gap(bounds.upper(w), certified(formulation, problem).lower)


SOFT, LIKELY = SoftMargin(0.05), CRF(0.05)
REACHED = {
    "crammer-singer, three labels": ("sklearn-crammer-singer", SOFT, table("three"), 3000, 1e-7),
    "crammer-singer, two labels": ("sklearn-crammer-singer", SOFT, table("two"), 3000, 1e-7),
    "crammer-singer, slack": (
        "sklearn-crammer-singer",
        SoftMargin(0.05, rescaling="slack"),
        table("three"),
        3000,
        1e-7,
    ),
    "logistic, three labels": ("sklearn-logistic", LIKELY, table("three"), 300, 1e-8),
    "logistic, two labels": ("sklearn-logistic", LIKELY, table("two"), 300, 1e-8),
    "logistic, linear scores": ("sklearn-logistic", LIKELY, table("linear"), 300, 1e-8),
    "logistic, weighted risk": ("sklearn-logistic", WeightedRisk(0.05, "logistic"), table("linear"), 300, 1e-8),
    "crfsuite, every pair": ("python-crfsuite-full", CRF(0.01), words(), 300, 1e-8),
    "sklearn-crfsuite": ("sklearn-crfsuite", CRF(0.01), words(), 300, 1e-8),
    "chaine": ("chaine", CRF(0.01), words(), 300, 1e-8),
    "pytorch-crf": ("pytorch-crf", CRF(0.05), words(12, weighted=True), 60, 1e-8),
    "liblinear's own, three labels": ("liblinear-crammer-singer", SOFT, table("three", False), 10_000, 1e-7),
    "liblinear's own, two labels": ("liblinear-crammer-singer", SOFT, table("two", False), 10_000, 1e-7),
    "liblinear's own, logistic": ("liblinear-logistic", LIKELY, table("two", False), 10_000, 1e-8),
    "liblinear's own, linear": (
        "liblinear-logistic",
        WeightedRisk(0.05, "logistic"),
        table("linear", False),
        10_000,
        1e-8,
    ),
    "skglm, two labels": ("skglm", SOFT, table("two", False), 100, 1e-9),
    "skglm, linear scores": ("skglm", WeightedRisk(0.05), table("linear", False), 100, 1e-9),
    "jaxopt, three labels": ("jaxopt", SOFT, table("three", False), 2000, 1e-8),
    "jaxopt, two labels": ("jaxopt", SOFT, table("two", False), 2000, 1e-8),
    "lightning, two labels": ("lightning", SOFT, table("two", False), 2000, 1e-9),
    "lightning, linear scores": ("lightning", WeightedRisk(0.05), table("linear", False), 2000, 1e-9),
    "dual-fw-svm, blocks": ("dual-fw-svm-blocks", SOFT, table("two", False), 500, 1e-8),
    "dual-fw-svm, three labels": ("dual-fw-svm", SOFT, table("three", False), 5000, 3e-4),
    "dlib, three labels": ("dlib", SOFT, table("three"), 100, 1e-8),
    "dlib, linear scores": ("dlib", WeightedRisk(0.05), table("linear"), 100, 1e-8),
    "dlib, chains": ("dlib", SoftMargin(0.05), words(), 100, 1e-8),
    "dlib, slack": ("dlib", SoftMargin(0.05, rescaling="slack"), words(12), 100, 1e-8),
    "dlib, matchings": ("dlib", SoftMargin(0.05), pairs(), 100, 1e-8),
    "structsvm, three labels": ("structsvm", SOFT, table("three"), 60, 3e-6),
    "structsvm, linear scores": ("structsvm", WeightedRisk(0.05), table("linear"), 60, 3e-6),
    "structsvm, matchings": ("structsvm", SoftMargin(0.05), pairs(), 60, 3e-6),
    "vowpal, logistic": ("vowpal-wabbit", WeightedRisk(0.05, "logistic"), table("linear"), 100, 1e-6),
    "vowpal, likelihood": ("vowpal-wabbit", LIKELY, table("linear"), 100, 1e-6),
    "vowpal, squared": ("vowpal-wabbit", WeightedRisk(0.05, "squared"), table("linear"), 100, 1e-6),
    "vowpal, hinge": ("vowpal-wabbit", WeightedRisk(0.05), table("linear"), 500, 1e-5),
}


@pytest.mark.parametrize("case", REACHED)
def test_reaches_the_certified_optimum(case):
    name, formulation, problem, budget, tolerance = REACHED[case]
    assert excess(name, formulation, problem, budget) <= tolerance


@pytest.mark.parametrize("kind", ["two", "linear"])
def test_averaged_subgradient_steps_are_as_far_as_the_page_says(kind):
    """Between 1e-5 and 3e-4 above the optimum after 5,000 passes, and falling nearly like 1/passes."""
    ends = [np.median([excess("sklearn-sgd", SOFT, table(kind), budget, rng) for rng in range(3)])
            for budget in (50, 5000)]  # fmt: skip
    assert 1e-5 <= ends[1] <= 3e-4
    assert 20 <= ends[0] / ends[1] <= 500


@pytest.mark.parametrize("name", ["sklearn-crammer-singer", "sklearn-sgd"])
def test_a_seed_is_all_that_is_random(name):
    fit, problem = learner(name), table("two")
    np.testing.assert_array_equal(fit(problem, SOFT, 5, 7), fit(problem, SOFT, 5, 7))


def test_indices_of_64_bits_are_no_obstacle():
    problem = Multiclass(table("three").X, table("three").labels)
    problem.X = sparse.csr_array(
        (problem.X.data, problem.X.indices.astype(np.int64), problem.X.indptr.astype(np.int64))
    )
    for name, form in (("sklearn-crammer-singer", SOFT), ("sklearn-logistic", LIKELY)):
        assert problem.X.indices.dtype == np.int64
        assert excess(name, form, problem, 300) <= 1e-4


def test_liblinear_takes_no_notice_of_max_iter():
    """Why the budget sets its tolerance."""
    svm = pytest.importorskip("sklearn.svm")
    problem = table("three", weighted=False)
    machine = svm.LinearSVC(multi_class="crammer_singer", max_iter=1, tol=1e-6, fit_intercept=False, random_state=0)
    with pytest.warns(match="failed to converge"):
        assert machine.fit(problem.X, problem.labels).n_iter_ > 1
    ends = [excess("sklearn-crammer-singer", SOFT, problem, budget) for budget in (1, 10, 1000)]
    assert ends[0] > ends[1] > ends[2]


# ── what CRFsuite leaves out ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("signed", [True, False])
def test_crfsuite_leaves_out_what_it_is_said_to(signed):
    """Its weights are the optimum over the other pairs; that optimum is found here by SciPy alone."""
    problem, form = words(signed=signed), CRF(0.01)
    kept, w = ~left_out(problem), learner("python-crfsuite")(problem, form, 300, 0)
    assert 0 < kept.sum() < len(kept)
    np.testing.assert_array_equal(w[~kept], 0.0)
    bounds = bounds_for(form, problem)

    def restricted(x):
        theta = np.zeros(len(kept))
        theta[kept] = x
        value, slope = bounds.value_and_gradient(theta)
        return value, slope[kept]

    best = minimize(restricted, np.zeros(kept.sum()), jac=True, method="L-BFGS-B", options={"maxiter": 500, "ftol": 0})
    assert bounds.upper(w) == pytest.approx(best.fun, rel=1e-6)
    occurs = np.asarray((problem.features(np.arange(40), problem.truth) != 0).sum(axis=0)).ravel() > 0
    assert (occurs & ~kept).any() == signed, "negative sums are left out, too, where there are any"


@pytest.mark.parametrize(("name", "expected"), [("python-crfsuite", DISAGREES), ("python-crfsuite-full", AGREES)])
def test_the_omission_is_found_and_the_settings_mend_it(name, expected):
    problem, form = words(), CRF(0.01)
    history = [(budget, learner(name)(problem, form, budget, 0)) for budget in (50, 100, 200)]
    assert crosscheck(history, certified(form, problem)).verdict == expected


def test_the_omission_is_named():
    learner("python-crfsuite")
    words = ["crosscheck", "synthetic-chain", "crf", "--learners", "python-crfsuite,python-crfsuite-full", "--json"]
    done = CliRunner().invoke(cli, words)
    rows = {row["name"]: row for row in json.loads(done.stdout)["learners"]}
    assert rows["python-crfsuite-full"]["verdict"] == AGREES
    assert rows["python-crfsuite"]["verdict"] == DISAGREES
    assert "leaves out" in rows["python-crfsuite"]["reason"]


def test_the_dual_that_jaxopt_maximises_is_n_times_ours_at_our_optimum():
    """The mapping of learners/jaxopt.py by its formulas alone, so that it is tested where jaxopt is absent, too."""
    problem, found = table("three", False), certified(SOFT, table("three", False))
    n, k, proof = problem.n_samples, 3, found.certificate
    X, Y, l2reg = problem.X.toarray(), np.eye(k)[problem.labels], 0.05 * problem.n_samples
    beta = np.zeros((n, k))
    np.add.at(beta, (proof.samples, proof.witnesses[:, 0]), n * proof.weights)
    beta += (1 - beta.sum(axis=1, keepdims=True)) * Y
    assert (beta >= -1e-12).all()
    value = (beta * (1 - Y)).sum() - ((X.T @ (Y - beta)) ** 2).sum() / (2 * l2reg)
    assert value == pytest.approx(n * found.upper, rel=1e-8)
    np.testing.assert_allclose(((Y - beta).T @ X).ravel() / l2reg, found.theta["w"], atol=1e-6)


@pytest.mark.parametrize("kind", ["two", "linear"])
def test_what_lightning_minimises_is_nc_times_ours_at_any_weights(kind, monkeypatch):
    """The mapping of learners/lightning.py by the formula alone, so that it is tested where lightning is absent, too:

    ½‖c‖² + C Σ_i (1 − y_i⟨c, x_i⟩)₊ = n C F(w of c), in which C, y and x are what the learner hands over.
    """
    asked = {}

    class LinearSVC:
        def __init__(self, **settings):
            asked.update(settings)

        def fit(self, X, y):
            asked.update(X=X, y=y)
            self.coef_ = np.random.default_rng(1).normal(size=(1, X.shape[1]))
            return self

    for name in ("lightning", "lightning.classification"):
        module = types.ModuleType(name)
        module.__spec__, module.LinearSVC = importlib.machinery.ModuleSpec(name, None), LinearSVC
        monkeypatch.setitem(sys.modules, name, module)
    formulation = SOFT if kind == "two" else WeightedRisk(0.05)
    problem = table(kind, False)
    w = registry("learner").get("lightning")(problem, formulation, 7, 0)
    c = np.random.default_rng(1).normal(size=5)
    theirs = c @ c / 2 + asked["C"] * np.maximum(1 - asked["y"] * (asked["X"] @ c), 0).sum()
    assert (asked["loss"], asked["max_iter"]) == ("hinge", 7)
    assert theirs == pytest.approx(60 * asked["C"] * bounds_for(formulation, problem).upper(w), rel=1e-12)


# ── budgets, refusals, absence ────────────────────────────────────────────────────────────────────


def test_dlib_stops_at_its_budget_and_shows_its_weights():
    learner("dlib")
    problem, form, seen = words(), SoftMargin(1e-3), []
    w = dlib_structural.observed(problem, form, 3, seen.append)
    assert 2 <= len(seen) <= 3 * problem.n_samples
    np.testing.assert_array_equal(w, seen[-1])
    aside, began = [], time.process_time()
    dlib_structural.observed(problem, form, 3, aside=aside.append)
    assert len(aside) == 3 * problem.n_samples
    assert 0 < sum(aside) < time.process_time() - began
    separation = dlib_structural.Separation(problem, form, 1)
    for k in range(problem.n_samples):
        separation.separation_oracle(k, np.zeros(problem.n_features))
    with pytest.raises(dlib_structural.Spent):
        separation.separation_oracle(0, np.zeros(problem.n_features))
    assert separation.questions == problem.n_samples


def test_dlib_sparse_vectors_are_the_dense_ones(monkeypatch):
    learner("dlib")
    problem, form = table("three"), SOFT
    dense = dlib_structural.observed(problem, form, 100)
    monkeypatch.setattr(dlib_structural, "SPARSE", 0)
    assert dlib_structural.Separation(problem, form, 1).use_sparse_feature_vectors
    np.testing.assert_allclose(dlib_structural.observed(problem, form, 100), dense, atol=1e-6)


COSTLY = Multiclass(np.eye(3), [0, 1, 2], cost=2 * (1 - np.eye(3)))
NARROW = Multiclass(np.eye(3), [0, 1, 0], classes=[0, 1, 2])
UNEQUAL = Chain([np.eye(2)] * 2, [[0, 1]] * 2, weights=[1, 2])
REFUSED = [
    ("sklearn-crammer-singer", LIKELY, table("three"), "hinges"),
    ("sklearn-crammer-singer", SOFT, words(), "a label a row"),
    ("sklearn-crammer-singer", SOFT, COSTLY, "losses 0 and 1"),
    ("sklearn-crammer-singer", SOFT, NARROW, "label 2"),
    ("sklearn-crammer-singer", HardMargin(), table("three"), "finite prices"),
    ("sklearn-logistic", SOFT, table("three"), "likelihood"),
    ("sklearn-logistic", WeightedRisk(0.05, "squared"), table("linear"), "likelihood"),
    ("sklearn-logistic", LIKELY, words(), "a label a row"),
    ("sklearn-sgd", SOFT, table("three"), "two classes"),
    ("python-crfsuite", LIKELY, table("three"), "chains"),
    ("python-crfsuite", LIKELY, UNEQUAL, "sample weights"),
    ("sklearn-crfsuite", LIKELY, UNEQUAL, "sample weights"),
    ("chaine", LIKELY, table("three"), "chains"),
    ("chaine", LIKELY, UNEQUAL, "sample weights"),
    ("pytorch-crf", SOFT, words(), "likelihood"),
    ("pytorch-crf", LIKELY, table("three"), "chains"),
    ("liblinear-crammer-singer", SOFT, table("three"), "sample weights"),
    ("liblinear-logistic", LIKELY, table("three", False), "two classes"),
    ("skglm", SOFT, table("three", False), "two classes"),
    ("skglm", SOFT, table("two"), "sample weights"),
    ("dual-fw-svm", SOFT, table("two"), "sample weights"),
    ("dual-fw-svm", SoftMargin(0.05, intercept=True), table("two", False), "regularizer"),
    ("liblinear-crammer-singer", SoftMargin(0.05, intercept=True), table("three", False), "SoftMargin with intercepts"),
    ("lightning", SOFT, table("three", False), "two classes"),
    ("lightning", SOFT, table("two"), "sample weights"),
    ("jaxopt", SOFT, table("three"), "sample weights"),
    ("jaxopt", LIKELY, table("three", False), "hinges"),
    ("dlib", LIKELY, table("three"), "cuts"),
    ("structsvm", LIKELY, table("three"), "cuts"),
    ("vowpal-wabbit", LIKELY, table("two"), "linear scores"),
]


@pytest.mark.parametrize(("name", "formulation", "problem", "word"), REFUSED)
def test_what_does_not_fit_is_refused(name, formulation, problem, word):
    with pytest.raises(MissingCapability, match=word):
        learner(name)(problem, formulation, 5, 0)


def test_an_absent_package_is_a_row_that_says_so(monkeypatch):
    monkeypatch.setattr(_peers, "find_spec", lambda name: None)
    done = CliRunner().invoke(cli, ["crosscheck", "toy", "soft-margin", "--learners", "dlib", "--json"])
    (row,) = json.loads(done.stdout)["learners"]
    assert row["verdict"] == "not comparable"
    assert re.search("dlib-bin is absent here; pip install dlib-bin", row["reason"])
    assert done.exit_code == 3

    @_peers.needs("nothing", "nothing-bin")
    def fit(problem, formulation, budget, rng):
        """What it is."""

    assert fit.__doc__ == "absent (nothing-bin is absent here; pip install nothing-bin): What it is."


def test_the_command_of_the_issue():
    """liblinear agrees, clean learners of ours are not accused, the perceptron has another objective."""
    learner("sklearn-crammer-singer")
    names = "sklearn-crammer-singer,subgradient,bcfw,perceptron"
    done = CliRunner().invoke(cli, ["crosscheck", "digits", "soft-margin", "--learners", names, "--json"])
    verdicts = {row["name"]: row["verdict"] for row in json.loads(done.stdout)["learners"]}
    expected = ("agrees", "not converged", "not converged", "not comparable")
    assert verdicts == dict(zip(names.split(","), expected, strict=True))


def test_the_page_has_a_line_for_every_peer():
    text = PAGE.read_text(encoding="utf-8")
    for name in registry("learner").names():
        if {name, name.split("-")[0]} & PACKAGES.keys():
            assert re.search(rf"^\| `{name}`", text, re.M), f"docs/peers.md has no line for {name}"
