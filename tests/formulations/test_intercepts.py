"""soft-margin with intercept=true: against programs written by hand and libsvm, in rationals, and its proofs."""

from __future__ import annotations

import json
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
import second_checker
from both_checkers import both
from forging.campaign import opened

import workbench as wb
from workbench.arithmetic.rationals import ratios
from workbench.backends import solve_cvxpy
from workbench.contracts import Cuts
from workbench.proofs.bounds import Bounds
from workbench.proofs.certificate import load
from workbench.proofs.verify import verify
from workbench.registries import registry

LABELS = ("multiclass", "chain")
OTHERS = sorted(set(registry("output").names()) - {*LABELS, "dyads"})  # dyads are labels, too


def tiny(output, seed):
    return registry("output").get(output).tiny(np.random.default_rng(seed))


def by_hand(problem, lam):
    """Every output listed; the counts of labels taken from the outputs themselves. The least F."""
    k, number = (
        len(problem.classes),
        np.repeat(np.arange(problem.n_samples), [len(problem.outputs(i)) for i in every(problem)]),
    )
    outputs = np.concatenate([problem.outputs(i) for i in every(problem)])
    counts = np.stack([(outputs == y).sum(axis=1) for y in range(k)], axis=1)
    true = np.stack([(problem.truth == y).sum(axis=1) for y in range(k)], axis=1)[number]
    changes = problem.features(number, outputs) - problem.features(number, problem.truth[number])
    w, b, xi = cp.Variable(problem.n_features), cp.Variable(k), cp.Variable(problem.n_samples)
    shares = problem.weights / problem.weights.sum()
    rows = xi[number] >= problem.loss(number, outputs) + changes @ w + (counts - true) @ b
    program = cp.Problem(cp.Minimize(lam / 2 * cp.sum_squares(w) + shares @ xi), [rows, cp.sum(b) == 0])
    assert solve_cvxpy(program, "CLARABEL") == cp.OPTIMAL
    return program.value


def every(problem):
    return range(problem.n_samples)


@pytest.mark.parametrize("output", LABELS)
@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_is_that_of_a_program_written_by_hand_and_proven(output, seed, tmp_path):
    problem = tiny(output, seed)
    lam = float(10.0 ** np.random.default_rng(seed).uniform(-2, 0.5))
    for settings in ({"groups": "all"}, {"groups": "one"}, {"master": "compiled"}):
        solution = wb.solve(wb.SoftMargin(lam=lam, intercept=True), problem, gap=1e-9, **settings)
        assert solution.status == "optimal"
        assert solution.upper == pytest.approx(by_hand(problem, lam), rel=2e-8, abs=1e-9)
    assert solution.upper <= wb.solve(wb.SoftMargin(lam=lam), problem).upper * (1 + 1e-9)
    path = solution.certificate.save(tmp_path / "c")
    verdict = verify(path)
    assert verdict["proven"]
    assert verdict["gap"] <= 1e-9
    second = second_checker.check(tmp_path / "c")
    assert second.word == "proven"
    assert Fraction(verdict["lower_exact"]) == second.lower
    assert Fraction(verdict["upper_exact"]) == second.upper


def test_two_classes_are_a_support_vector_machine_of_libsvm():
    """λ/2 (‖w₀‖² + ‖w₁‖²) is λ/4 ‖v‖² of v = w₁ − w₀, so ½‖v‖² + C Σ hinge has C = 2/(λ n)."""
    svm = pytest.importorskip("sklearn.svm", reason="scikit-learn is not installed")
    rng, lam = np.random.default_rng(3), 0.05
    X = rng.normal(size=(40, 3)) + 4
    y = (X[:, 0] + 0.5 * rng.normal(size=40) > 4.3).astype(int)
    ours = wb.solve(wb.SoftMargin(lam=lam, intercept=True), wb.Multiclass(X, y), gap=1e-9)
    theirs = svm.SVC(kernel="linear", C=2 / (lam * 40), tol=1e-9).fit(X, y)
    W, b = ours.theta["w"].reshape(2, 3), ours.theta["b"]
    np.testing.assert_allclose(W[1] - W[0], theirs.coef_[0], rtol=1e-4)
    assert b[1] - b[0] == pytest.approx(theirs.intercept_[0], rel=1e-3)


def test_a_shift_of_all_inputs_changes_nothing_but_the_intercepts():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 4)), rng.integers(0, 3, 30)
    form, c = wb.SoftMargin(lam=0.1, intercept=True), np.array([3.0, -1.0, 0.5, 20.0])
    one, other = (wb.solve(form, wb.Multiclass(each, y), gap=1e-9) for each in (X, X + c))
    assert one.upper == pytest.approx(other.upper, rel=1e-8)
    np.testing.assert_array_equal(one.predict(X), other.predict(X + c))
    without = [wb.solve(wb.SoftMargin(lam=0.1), wb.Multiclass(each, y)).upper for each in (X, X + c)]
    assert without[0] > without[1] * 1.01 or without[1] > without[0] * 1.01


def test_predictions_add_the_intercepts():
    X, y = np.array([[1.0], [2.0], [3.0], [4.0], [-1.0]]), np.array(["a", "a", "b", "b", "c"])
    solution = wb.solve(wb.SoftMargin(lam=1e-3, intercept=True), wb.Multiclass(X, y))
    W, b = solution.theta["w"].reshape(3, 1), solution.theta["b"]
    assert solution.predict(X).tolist() == [["a", "b", "c"][k] for k in (X @ W.T + b).argmax(axis=1)] == y.tolist()


@pytest.mark.parametrize("output", LABELS)
@pytest.mark.parametrize("seed", range(4))
def test_rational_maxima_are_those_of_a_list(output, seed):
    problem, rng = tiny(output, seed), np.random.default_rng(seed)
    oracle = wb.SoftMargin(intercept=True).oracle(problem)
    exact, theta = oracle.exact(), np.round(4 * rng.normal(size=oracle.dim)) / 4
    everyone = np.arange(problem.n_samples)
    highest = exact.highest(ratios(theta), everyone)
    for i in everyone:
        outputs = problem.outputs(i)
        entries, offsets = exact.rows(np.full(len(outputs), i), outputs)
        values = offsets.whole * Fraction(1, offsets.unit)
        for row, column, value in zip(entries.rows, entries.columns, entries.values, strict=True):
            values[row] += Fraction(int(value), entries.unit) * Fraction(theta[column])
        assert Fraction(int(highest.whole[i]), highest.unit) == max(values)
        slopes, floats = oracle.rows(np.full(len(outputs), i), outputs)
        np.testing.assert_allclose((slopes @ theta + floats).max(), float(max(values)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("output", LABELS)
@pytest.mark.parametrize("seed", range(5))
def test_the_kernel_is_the_oracle_and_weak_duality_holds(output, seed):
    problem, rng = tiny(output, seed), np.random.default_rng(seed)
    bounds = Bounds(wb.SoftMargin(lam=0.4, intercept=True), problem)
    oracle, kernel = bounds.oracle, bounds.oracle.kernel()
    cuts = Cuts(oracle.dim, oracle.width)
    for _ in range(3):
        theta = rng.normal(size=oracle.dim)
        found = oracle.argmax(theta, bounds.samples)
        ids = cuts.add(bounds.samples, found, oracle.rows)
        assert len(ids) == len(found)
        for i, witness in zip(bounds.samples, found, strict=True):
            out, (slope, offset) = np.empty(oracle.width, np.int64), oracle.rows(np.array([i]), witness[None])
            assert kernel.argmax_into(kernel.data, theta, i, out) == pytest.approx((slope @ theta + offset)[0])
    weights = bounds.balanced(cuts, rng.random(len(cuts)))
    assert bounds.lower(cuts, weights) <= bounds.upper(rng.normal(size=oracle.dim))


@pytest.mark.parametrize("output", LABELS)
def test_a_label_that_no_sample_of_weight_holds_is_never_chosen_and_proven(output, tmp_path):
    rng = np.random.default_rng(5)
    if output == "multiclass":
        problem = wb.Multiclass(rng.normal(size=(9, 2)), rng.integers(0, 2, 9), classes=[0, 1, 2, 3])
    else:
        words = [rng.normal(size=(t, 2)) for t in (1, 3, 2, 4)]
        problem = wb.Chain(words, [rng.integers(0, 2, len(each)) for each in words], classes=[0, 1, 2])
    solution = wb.solve(wb.SoftMargin(lam=0.1, intercept=True), problem, gap=1e-9)
    assert solution.gap <= 1e-9
    assert verify(solution.certificate.save(tmp_path / "c"))["proven"]


def test_certificates_say_version_2_and_those_without_intercepts_stay_as_they_were(tmp_path):
    problem = tiny("multiclass", 0)
    plain, free = (
        json.loads(wb.solve(form, problem).certificate.save(tmp_path / name).read_text())["formulation"]
        for name, form in (("a", wb.SoftMargin()), ("b", wb.SoftMargin(intercept=True)))
    )
    settings = {"lam": 0.1, "rescaling": "margin", "declare": "cuts"}
    assert plain == {"name": "soft-margin", "version": 1, "settings": settings}
    assert free == {"name": "soft-margin", "version": 2, "settings": settings | {"intercept": True}}
    certificate, _ = load(tmp_path / "b")
    assert certificate.formulation == wb.SoftMargin(intercept=True)
    lower, upper = certificate.recheck()
    assert certificate.lower <= lower <= upper <= certificate.upper


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"version": 1}, "malformed"),
        ({"version": 3}, "conditional"),
        ({"settings": {"intercept": False}}, "malformed"),
        ({"settings": {"intercept": 1}}, "malformed"),
        ({"settings": {"rescaling": "slack"}}, "malformed"),
        ({"settings": {"declare": "compact"}}, "malformed"),
        ({"settings": {"lam": 0.2}}, "not proven"),
        ({"version": 1, "settings": {}}, "malformed"),
    ],
)
def test_forged_headers_prove_nothing_for_either_checker(change, word, tmp_path):
    forged = opened(wb.solve(wb.SoftMargin(intercept=True), tiny("chain", 1)).certificate)
    said = forged.header["formulation"]
    settings = said["settings"] | change.get("settings", {})
    if change == {"version": 1, "settings": {}}:
        del settings["intercept"]
    forged.header["formulation"] = said | change | {"settings": settings}
    forged.write(tmp_path / "c")
    said = both(str(tmp_path / "c"))
    assert said["first"] == said["second"] == word, said["why"]


@pytest.mark.parametrize("output", OTHERS)
def test_outputs_without_labels_at_places_refuse_in_a_sentence(output):
    with pytest.raises(wb.MissingCapability, match="intercepts belong to labels at places"):
        wb.solve(wb.SoftMargin(intercept=True), tiny(output, 0))


@pytest.mark.parametrize("settings", [{"rescaling": "slack"}, {"declare": "compact"}])
def test_settings_that_intercepts_do_not_have_are_refused(settings):
    with pytest.raises(wb.BadInput, match="intercepts need rescaling=margin and declare=cuts"):
        wb.SoftMargin(intercept=True, **settings)


@pytest.mark.parametrize("output", LABELS)
def test_the_compact_program_has_no_intercepts_and_says_so(output):
    """It left b out in silence: on random chains its optimum was up to 90 % above the one with b."""
    with pytest.raises(wb.MissingCapability, match="compact has no intercepts"):
        wb.SoftMargin(intercept=True).compact_program(tiny(output, 0))
