"""The detective: what is planted is named, what is not planted is not claimed; its objectives are what they say."""

from __future__ import annotations

import json
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from workbench.arithmetic.intervals import Interval
from workbench.backends import solve_cvxpy
from workbench.command.cli import cli
from workbench.contracts import enumerated
from workbench.formulations.crf import CRF
from workbench.formulations.hard_margin import HardMargin
from workbench.formulations.soft_margin import SoftMargin
from workbench.formulations.weighted_risk import WeightedRisk
from workbench.judging.conventions import scaling
from workbench.judging.conventions.detective import CLOSE, explain
from workbench.judging.conventions.features import subspaces
from workbench.judging.conventions.neighbours import Suspect
from workbench.judging.conventions.padding import ROOM, padding
from workbench.judging.conventions.scaling import best_multiple, multiples, open_ones
from workbench.judging.reference import Reference, reference_of
from workbench.objectives.variants import Absolute, Rescaled, RescaledTerms, SmoothVariant, SquaredHinge, Variant
from workbench.outputs.chain import Chain
from workbench.outputs.linear import Linear
from workbench.outputs.multiclass import Multiclass
from workbench.proofs.any_bounds import bounds_for
from workbench.registries import registry
from workbench.solving.solve import solve

LAM = 0.1
planted = registry("benchmark").modules["detective"]  # tables written out and solved without the detective's help


@cache
def chains():
    """Data, their problem, and their table for `LAM`."""
    data = planted.drawn(np.random.default_rng(3), chained=True)
    return data, data.problem(), planted.table(data, LAM)


def agree(form, problem, table, scales=1.0):
    """The certified interval of a form holds the value of the table's optimum, found by another route."""
    theta = table.optimum()
    best, bounds = solve(form, problem, gap=1e-6), bounds_for(form, problem)
    assert best.gap <= 1e-6
    assert bounds.upper(theta / scales) == pytest.approx(table.value(theta), rel=1e-9)
    assert best.lower <= table.value(theta)
    assert table.value(theta) <= best.upper * (1 + 1e-5)


# ── the objectives nearby ─────────────────────────────────────────────────────────────────────────


def test_squared_hinge_is_the_squared_hinge():
    _, problem, table = chains()
    agree(Variant(SoftMargin(LAM), lambda inner: SquaredHinge(inner, 20.0)), problem, planted.replace(table, hinge=2))


def test_absolute_penalty_is_the_absolute_penalty():
    _, problem, table = chains()
    agree(Variant(SoftMargin(LAM), lambda inner: inner, absolute=True), problem, planted.replace(table, power=1))


@pytest.mark.parametrize("likelihood", [False, True], ids=["hinge", "likelihood"])
def test_features_left_out_and_rescaled(likelihood):
    data, problem, table = chains()
    kept = np.random.default_rng(0).random(table.slopes.shape[1]) < 0.7
    heavy = np.where(planted.constant(data), 4.0, 1.0)
    for scales, other in (
        (kept * 1.0, planted.replace(table, kept=kept)),
        (heavy, planted.replace(table, costs=1 / heavy**2)),
    ):
        if likelihood:
            form = SmoothVariant(CRF(LAM), lambda inner, scales=scales: RescaledTerms(inner, scales))
        else:
            form = Variant(SoftMargin(LAM), lambda inner, scales=scales: Rescaled(inner, scales))
        agree(form, problem, planted.replace(other, likelihood=likelihood), np.where(scales > 0, scales, 1.0))


def test_an_absolute_penalty_obeys_fenchel_and_young():
    rng, r = np.random.default_rng(1), Absolute(0.3, 5.0)
    for _ in range(50):
        s, w = rng.normal(size=4), rng.normal(size=4)
        w *= rng.random() * 5.0 / np.abs(w).sum()
        assert r.value(w) + r.conjugate(s) >= s @ w - 1e-12
        best = r.argmin(s)
        assert s @ best - r.value(best) == pytest.approx(r.conjugate(s), abs=1e-12)
        held = r.conjugate(Interval(s))
        assert held.lo <= r.conjugate(s) <= held.hi


def test_beyond_its_reach_a_squared_hinge_proves_nothing():
    _, problem, _ = chains()
    form = Variant(SoftMargin(LAM), lambda inner: SquaredHinge(inner, 2.0))
    assert bounds_for(form, problem).upper(np.full(problem.n_features, 2.1)) == np.inf


# ── the matrix, small (the whole: `cutbench bench detective`) ─────────────────────────────────────


@pytest.mark.parametrize(
    ("family", "name", "maker"),
    [
        ("multiclass", "λ twice", "convention"),
        ("multiclass", "intercept not penalised", "convention"),
        ("multiclass", "transposed costs", "convention"),
        ("chain", "sum for mean", "convention"),
        ("multiclass", "slack rescaling", "convention"),
        ("multiclass", "Gram matrix without λ", "convention"),
        ("chain", "labels permuted", "other_way"),
        ("chain", "length", "convention"),
        ("chain", "average from the start", "other_way"),
        ("chain", "transposed transitions", "other_way"),
        ("crf", "no positive count", "convention"),
        ("costs", "no projection", "no_projection"),
        ("chain", "intercept added", "added"),
        ("crf", "free intercept added", "added"),
    ],
)
def test_what_is_planted_is_named(family, name, maker):
    case = planted.visible(family, name, getattr(planted, maker), 0)
    found = explain(case.theta, case.reference, case.history)
    assert found is not None
    assert found.name == name, found
    assert found.evidence["excess"] <= CLOSE
    assert found.sentence.startswith("The learner " if found.confident else "Perhaps the learner ")
    assert found.confident is not ("(a guess)" in found.sentence)
    assert found.sentence.endswith("asked for.")


@pytest.mark.parametrize("name", ["stopped", "gently", "random", "wrong sign", "two at once"])
def test_nothing_is_claimed_of_a_learner_that_is_at_no_optimum(name):
    case = planted.visible("multiclass", name, planted.neither, 1)
    found = explain(case.theta, case.reference)
    assert found is None or not found.confident, found


def test_features_are_not_left_out_by_a_learner_that_weighs_them():
    """Small transitions cost little to ignore, but a learner that has any does not take positions for independent."""
    _, problem, table = chains()
    reference = solve(SoftMargin(LAM), problem, gap=1e-6)
    theta, pairs = table.optimum(), planted.K**2
    names = {each.name for each in subspaces(Suspect(theta, reference_of(reference)))}
    without = np.append(theta[:-pairs], np.zeros(pairs))
    assert "no transitions" not in names
    assert "no transitions" in {each.name for each in subspaces(Suspect(without, reference_of(reference)))}


@pytest.mark.parametrize("output", ["matching", "linear"])
def test_losses_of_another_size_are_those_of_any_output(output):
    """Against the optimum of weights under doubled losses, found from rows by CVXPY."""
    rng = np.random.default_rng(4)
    problem = registry("output").get(output).tiny(rng)
    reference = solve(SoftMargin(LAM), problem, gap=1e-7)
    theta = doubled(problem, LAM)
    found = explain(theta, reference)
    assert found is not None
    assert found.name == "loss twice"


def doubled(problem, lam):
    """argmin λ/2 ‖w‖² + Σ p_i max_z ⟨a_i(z), w⟩ + 2ℓ_i(z), all outputs written out."""
    import cvxpy as cp

    samples, outputs = enumerated(problem, np.arange(problem.n_samples))
    slopes = problem.features(samples, outputs) - problem.features(samples, problem.truth[samples])
    w, xi = cp.Variable(problem.n_features), cp.Variable(problem.n_samples)
    rows = [xi[samples] >= slopes @ w + 2 * problem.loss(samples, outputs)]
    risk = problem.weights / problem.weights.sum() @ xi
    solve_cvxpy(cp.Problem(cp.Minimize(lam / 2 * cp.sum_squares(w) + risk), rows), "CLARABEL")
    return w.value


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("detective", {"seeds": 0}, "seeds is 0"),
        ("detective", {"only": "nonsense"}, "no convention called 'nonsense'"),
        ("detective", {"only": "no projection", "family": "chain"}, "No cell of the matrix"),
        ("planted-bugs", {"only": "nonsense"}, "no family called 'nonsense'"),
        ("planted-bugs", {"bugs": "nonsense"}, "No bug's name has 'nonsense' in it"),
        ("planted-bugs", {"seeds": 0}, "seeds is 0"),
        ("adagrad", {"only": "nonsense"}, "no problem called 'nonsense'"),
        ("cost-table", {"only": "nonsense"}, "no data set called 'nonsense'"),
        ("criteria", {"only": "iris"}, "no data set called 'iris'"),
        ("k-scaling", {"scales": "1,a"}, "give positive numbers"),
    ],
)
def test_settings_that_choose_nothing_are_one_sentence(name, settings, words):
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    done = CliRunner().invoke(cli, ["bench", name, *options])
    assert (done.exit_code, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_interrupted_matrix_keeps_its_cases(monkeypatch):
    told = []

    def explained(theta, reference, history):
        if told:  # the second case is one too many
            raise KeyboardInterrupt
        told.append(explain(theta, reference, history))
        return told[-1]

    loaded = registry("benchmark").modules["detective"]  # anew, where a recipe of the documents was tried
    monkeypatch.setattr(loaded, "explain", explained)
    done = CliRunner().invoke(cli, ["bench", "detective", "--set", "family=costs", "--set", "seeds=3", "--json"])
    record = json.loads(done.stdout)
    assert done.exit_code == 130
    assert (record["finished"], record["cases"], record["interrupted"]) == ("1 of 3", 1, True)
    assert "interrupted in detective" in done.stderr


# ── other people's learners, on plain data ────────────────────────────────────────────────────────


def plain(n=80):
    """Three noisy classes."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 4))
    return X, (X @ rng.normal(size=(4, 3)) + rng.gumbel(size=(n, 3))).argmax(axis=1)


def test_a_C_that_was_meant_as_lambda():
    svm = pytest.importorskip("sklearn.svm")
    X, y = plain()
    problem = Multiclass(X, y)
    reference = solve(SoftMargin(0.05), problem, gap=1e-7)
    learner = svm.LinearSVC(C=0.05, multi_class="crammer_singer", fit_intercept=False, tol=1e-6, max_iter=100000)
    found = explain(learner.fit(X, y).coef_.ravel(), reference)
    assert (found.name, found.confident) == ("λ read as C", True)


@pytest.mark.parametrize("column", [False, True], ids=["without a constant column", "with one"])
@pytest.mark.parametrize("penalised", [True, False])
def test_an_intercept_of_its_own_that_is_not_reported(penalised, column):
    """liblinear penalises its intercept, L-BFGS leaves it free; `coef_` holds neither."""
    X, y = plain()
    X = np.hstack([X, np.ones((len(y), 1))]) if column else X + np.array([2.0, -1.0, 0.0, 1.0])
    y = np.where(np.arange(len(y)) % 3 == 0, 2, y)
    if penalised:
        svm = pytest.importorskip("sklearn.svm")
        reference = solve(SoftMargin(0.05), Multiclass(X, y), gap=1e-7)
        options = {"multi_class": "crammer_singer", "fit_intercept": True, "tol": 1e-7, "max_iter": 200000}
        learner = svm.LinearSVC(C=1 / (0.05 * len(y)), **options)
    else:
        models = pytest.importorskip("sklearn.linear_model")
        reference = solve(CRF(0.05), Multiclass(X, y), gap=1e-7)
        learner = models.LogisticRegression(C=1 / (0.05 * len(y)), tol=1e-9, max_iter=10000)
    found = explain(learner.fit(X, y).coef_.ravel(), reference)
    assert found is not None
    assert found.name == ("intercept added" if penalised else "free intercept added"), found


def test_the_squared_hinge_that_is_another_packages_default():
    svm = pytest.importorskip("sklearn.svm")
    X, y = plain()
    signs = np.where(y == 0, 1.0, -1.0)
    reference = solve(WeightedRisk(0.02, "hinge"), Linear(X, signs), gap=1e-7)
    learner = svm.LinearSVC(C=1 / (0.02 * len(y)), fit_intercept=False, tol=1e-8, max_iter=100000)
    found = explain(learner.fit(X, signs).coef_.ravel() * 1.0, reference)
    assert found.name == "squared hinge"


# ── the rule ──────────────────────────────────────────────────────────────────────────────────────


def padded(X, labels, longest):
    """Sequences with zero inputs and first labels behind their ends, written out."""
    more = [longest - len(y) for y in labels]
    rows = [np.vstack([x, np.zeros((m, x.shape[1]))]) for x, m in zip(X, more, strict=True)]
    return rows, [np.append(y, np.zeros(m, int)) for y, m in zip(labels, more, strict=True)]


@pytest.mark.parametrize("form", [SoftMargin(0.1), CRF(0.1)], ids=["hinge", "likelihood"])
def test_padding_that_is_counted_is_named(form):
    rng = np.random.default_rng(3)
    labels = [np.append(rng.integers(1, 3, T), i % 3) for i, T in enumerate(rng.integers(0, 4, 20))]
    X = [rng.normal(size=(len(y), 3)) + np.eye(3)[y] for y in labels]
    reference = solve(form, Chain(X, labels), gap=1e-7)
    learned = solve(form, Chain(*padded(X, labels, max(map(len, labels)))), gap=1e-7)
    found = explain(learned.theta_flat, reference)
    assert (found.name, found.confident) == ("padding counted", True)


@pytest.mark.parametrize("longest", [ROOM, ROOM + 1])
def test_one_long_sequence_is_not_what_all_are_padded_to(longest):
    """At most ROOM times as many positions: here n·longest of n + longest − 1."""
    n = 10 * longest  # of length 1, but for one
    labels = [np.zeros(1, int)] * (n - 1) + [np.arange(longest) % 2]
    chain = Chain([np.ones((len(y), 1)) for y in labels], labels)
    times = n * longest / len(chain.labels)
    reference = Reference(SoftMargin(1.0), chain, np.zeros(chain.n_features), 1.0, 0.0, 1.0)
    assert (len(list(padding(Suspect(reference.theta, reference)))) == 1) == (times <= ROOM)


@pytest.mark.parametrize("kappa", [1e-3, 0.2, 7.0, 1e3])
def test_what_is_optimal_for_some_multiple_is_never_out_of_the_question(kappa):
    X, y = plain()
    reference = reference_of(solve(SoftMargin(0.1), Multiclass(X, y), gap=1e-6))
    learned = solve(SoftMargin(0.1 * kappa), Multiclass(X, y), gap=1e-6).theta_flat
    least, most = open_ones(Suspect(learned, reference))
    assert least < np.log(kappa) < most
    assert open_ones(Suspect(-reference.theta, reference)) is None


@pytest.mark.parametrize("kappa", [0.2, 7.0])
def test_the_best_multiple_is_found(kappa):
    X, y = plain()
    reference = solve(SoftMargin(0.1), Multiclass(X, y), gap=1e-6)
    theta = solve(SoftMargin(kappa * 0.1), Multiclass(X, y), gap=1e-8).theta_flat
    suspect = Suspect(theta, reference_of(reference))
    assert best_multiple(suspect, "lam", (-np.inf, np.inf)) == pytest.approx(kappa, rel=0.1)
    assert best_multiple(suspect, "lam", open_ones(suspect)) == pytest.approx(kappa, rel=0.1)


@pytest.mark.parametrize("kappa", [0.2, 7.0])
def test_the_search_for_a_multiple_does_not_go_beyond_its_ends(kappa, monkeypatch):
    X, y = plain()
    reference = reference_of(solve(SoftMargin(0.1), Multiclass(X, y), gap=1e-6))
    theta = solve(SoftMargin(kappa * 0.1), Multiclass(X, y), gap=1e-8).theta_flat
    suspect, asked = Suspect(theta, reference), []

    def recorded(form, *others, **limits):
        asked.append(form.lam / 0.1)
        return solve(form, *others, **limits)

    monkeypatch.setattr(scaling, "solve", recorded)
    for ends in ((-0.5, 0.5), (np.log(kappa) - 1.0, np.log(kappa) - 0.3), (np.log(kappa) + 0.3, np.log(kappa) + 1.0)):
        asked.clear()
        assert best_multiple(suspect, "lam", ends) is None
        assert all(np.exp(ends[0]) * 0.999 < each < np.exp(ends[1]) * 1.001 for each in asked)
    monkeypatch.setattr(scaling, "open_ones", lambda suspect: (-0.5, 0.5))
    assert not list(multiples(suspect))


def test_weights_of_no_size_are_no_overflow():
    """Their penalty is 0, so there is no scale to hold an excess against."""
    problem = registry("output").get("multiclass").tiny(np.random.default_rng(2))
    reference = solve(SoftMargin(LAM), problem, gap=1e-6)
    for size in (1e-120, 1e-170):
        found = explain(np.full(problem.n_features, size), reference)
        assert found is None or not found.confident


def test_optima_zeros_and_what_cannot_be_judged_are_not_explained():
    X, y = plain()
    problem = Multiclass(X, y)
    reference = solve(SoftMargin(0.1), problem, gap=1e-6)
    assert explain(reference.theta_flat, reference) is None
    at_zero = explain(np.zeros(problem.n_features), reference)
    assert at_zero is None or not at_zero.confident
    assert explain(np.zeros(3), reference) is None
    assert explain(np.full(problem.n_features, np.nan), reference) is None
    hard = SimpleNamespace(
        formulation=HardMargin(),
        problem=problem,
        gap=0.0,
        upper=reference.upper,
        lower=reference.lower,
        theta_flat=reference.theta_flat,
    )
    assert explain(reference.theta_flat, hard) is None


@pytest.mark.parametrize(("seed", "alike"), [(0, False), (1, True), (5, True), (7, True)])
def test_two_intercepts_of_which_the_same_weights_are_optimal_are_guesses(seed, alike):
    """Data without a constant column, and weights at the optimum beside an intercept with a penalty."""
    rng, k, n = np.random.default_rng(seed), 3, 60
    y = np.arange(n) % k
    X = rng.normal(size=(k, 4))[y] * 1.2 + rng.normal(size=(n, 4))
    form, narrow = SoftMargin(lam=1e-3), Multiclass(X, y)
    wide = solve(form, Multiclass(np.c_[X, np.ones(n)], y), gap=1e-10).theta_flat.reshape(k, -1)[:, :-1]
    free = solve(SoftMargin(lam=1e-3, intercept=True), narrow, gap=1e-9).theta_flat[: 4 * k].reshape(k, -1)
    assert (np.linalg.norm(wide - free) < 1e-6) == alike
    found = explain(wide.ravel(), solve(form, narrow, gap=1e-8))
    assert found.name in ("intercept added", "free intercept added")
    assert found.confident == (not alike)
    assert found.confident == (found.name == "intercept added" and "(a guess)" not in found.sentence)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda X: 2.0 * X, "features twice as large"),
        (lambda X: X / 2.0, "features half as large"),
        (lambda X: X / abs(X).max(), "features divided by the largest value"),
        (lambda X: X - X.mean(axis=0), "centred features"),
    ],
)
def test_other_units_and_centred_features_are_named_or_guessed(change, name):
    """By their own names, or, where another one fits nearly as well, as a guess."""
    rng, k, n = np.random.default_rng(3), 3, 60
    y = np.arange(n) % k
    X = 3.0 + rng.normal(size=(k, 4))[y] * 0.7 + rng.normal(size=(n, 4))
    form = SoftMargin(lam=0.05)
    theta = solve(form, Multiclass(change(X), y), gap=1e-10).theta_flat
    found = explain(theta, solve(form, Multiclass(X, y), gap=1e-9))
    assert found.name == name or not found.confident, found
    assert found.evidence["excess"] < 1e-5
