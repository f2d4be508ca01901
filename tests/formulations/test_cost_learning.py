"""Cost learning: objectives (1) and (10) against programs written here, their duals' properties, their exact proofs."""

from __future__ import annotations

import time

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.contracts import Cuts
from workbench.data.loading import load_problem
from workbench.objectives.factorings import COUNTS, FACTORINGS, classes_of, error_counts, label_counts, reachable
from workbench.proofs.bounds import Bounds

seeds = st.integers(0, 2**32 - 1)


def clouds(seed=0, n=30, k=3, spread=1.0):
    """Overlapping clouds of unequal size; every label occurs."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.choice(k, n - k, p=np.arange(k, 0, -1) / (k * (k + 1) / 2))])
    return wb.Multiclass(spread * rng.normal(size=(n, 4)) + np.eye(k, 4)[y], y)


def by_hand(problem, lam2, lam1, K, kind, pairs="unordered", n=None):
    """The program in textbook variables: W (k, p), b, a matrix of costs; every label of every sample written out."""
    k, p = len(problem.classes), problem.n_inputs
    W, b = cp.Variable((k, p)), cp.Variable(k)
    V = cp.Variable((k, k), symmetric=pairs == "unordered")
    X, y = problem.X.toarray(), problem.labels
    scores = X @ W.T + np.ones((len(y), 1)) @ cp.reshape(b, (1, k), order="C")
    own = cp.reshape(cp.sum(cp.multiply(scores, np.eye(k)[y]), axis=1), (len(y), 1), order="C")
    risk = problem.weights @ cp.max(scores - own @ np.ones((1, k)) + K * (np.eye(k)[y] @ V), axis=1)
    objective = lam2 * cp.sum_squares(W) + lam1 * cp.sum(cp.abs(W)) + risk
    constraints = [V >= 0, cp.diag(V) == 0, cp.sum(b) == 0]
    half = 0.5 if pairs == "unordered" else 1.0
    if kind == "simplex":
        constraints.append(half * cp.sum(V) == 1)
    else:
        objective += K / 2 * half * cp.sum(cp.multiply(n, cp.square(1 - V)))
    program = cp.Problem(cp.Minimize(objective), constraints)
    program.solve(solver=cp.CLARABEL)
    return program.value, V.value


@pytest.mark.parametrize("pairs", ["unordered", "ordered"])
@pytest.mark.parametrize(("lam1", "K"), [(0.0, 1.0), (0.2, 3.0)])
def test_both_objectives_equal_an_independent_program(pairs, lam1, K):
    problem = clouds()
    simplex = wb.solve(wb.SimplexCostLearning(0.3, lam1, K, pairs), problem, gap=1e-8)
    assert simplex.status == "optimal"
    assert simplex.upper == pytest.approx(by_hand(problem, 0.3, lam1, K, "simplex", pairs)[0], rel=1e-7)
    counts = np.bincount(problem.labels)
    expected = np.outer(counts, counts) / counts.sum() * (2 if pairs == "unordered" else 1) * (1 - np.eye(3))
    normal = wb.solve(wb.NormalizedCostLearning(0.3, lam1, K, pairs), problem, gap=1e-8)
    assert normal.status == "optimal"
    assert normal.upper == pytest.approx(by_hand(problem, 0.3, lam1, K, "normal", pairs, expected)[0], rel=1e-7)


@pytest.mark.parametrize("formulation", [wb.SimplexCostLearning(), wb.NormalizedCostLearning()])
def test_digits_are_certified_and_proven_exactly(formulation, tmp_path):
    """The relative gap is taken of an optimum of 5e-4 where F(0) is 7: float bounds alone would not get there."""
    problem = wb.load_problem("digits")(n=100)
    solution = wb.solve(formulation, problem, gap=1e-7)
    assert solution.status == "optimal"
    proof = wb.verify(solution.certificate.save(tmp_path / "c"))
    assert proof["proven"]
    assert proof["arithmetic"] == "rational"
    assert proof["gap"] <= 1e-7


def dual_counts(solution):
    """q (m,): errors of each class, by the certificate's weights."""
    certificate = solution.certificate
    oracle = solution.formulation.oracle(solution.problem)
    slopes, _ = oracle.rows(certificate.samples, certificate.witnesses)
    share = np.bincount(certificate.samples, certificate.weights, solution.problem.n_samples)
    mu = certificate.weights * (solution.problem.weights / share)[certificate.samples]
    return (slopes.T @ mu)[-oracle.sizes[2] :] / oracle.K


@pytest.mark.parametrize("backend", [name for name in ("CLARABEL", "ECOS") if wb.BACKENDS[name].installed])
def test_normalized_costs_are_one_minus_the_share_of_errors(backend):
    """(12) with dual counts, and (9), on an instance with costs at 0 and between 0 and 1."""
    problem = clouds(6, n=24, spread=0.8)
    formulation = wb.NormalizedCostLearning(lam2=0.3, factoring="ordered", counts="expected")
    solution = wb.solve(formulation, problem, gap=1e-12, backend=backend)
    n, v, q = formulation.expected(problem), solution.theta["v"], dual_counts(solution)
    np.testing.assert_allclose(v, np.maximum(1 - q / n, 0), atol=1e-6)
    assert (v < 1e-6).sum() >= 2
    assert ((v > 0.05) & (v < 0.95)).sum() >= 4
    assert (v[q > n + 1e-6] < 1e-6).all()


@pytest.mark.parametrize("seed", [6, 8])
def test_derivatives_of_tied_sequences_are_not_opposite(seed):
    """Observation 3 of the source would make 2q_S whole where 0 < v_S; the counts of the tied sequences enclose q_S."""
    problem = clouds(seed, n=24, spread=0.8)
    solution = wb.solve(wb.NormalizedCostLearning(lam2=0.3, factoring="ordered"), problem, gap=1e-12)
    v, q, certificate = solution.theta["v"], dual_counts(solution), solution.certificate
    oracle = solution.formulation.oracle(problem)
    cuts = oracle.rows(certificate.samples, certificate.witnesses)[0].toarray()[:, -len(v) :]
    tied, most, least = certificate.weights > 1e-6, np.zeros(len(v)), np.zeros(len(v))
    for i in range(problem.n_samples):
        own = cuts[tied & (certificate.samples == i)]
        most, least = most + own.max(axis=0), least + own.min(axis=0)
    assert (least <= q + 1e-3).all()
    assert (q <= most + 1e-3).all()
    assert (abs(2 * q - np.round(2 * q))[v > 0.05] > 0.02).any()


def test_simplex_costs_sit_where_errors_are_fewest():
    problem = clouds(1, n=40, k=4, spread=1.5)
    solution = wb.solve(wb.SimplexCostLearning(lam2=0.5, factoring="ordered"), problem, gap=1e-9)
    v, q = solution.theta["v"], dual_counts(solution)
    assert v.sum() == pytest.approx(1, abs=1e-12)
    assert (v > 1e-3).sum() >= 3
    assert (v < 1e-6).any()
    np.testing.assert_allclose(q[v > 1e-3], q.min(), atol=1e-4)


def test_equal_counts_with_unequal_costs_refute_property_7():
    """All classes of positive cost have equal dual counts while their costs differ: v does not order |S|."""
    problem = clouds(1, n=40, k=4, spread=1.5)
    solution = wb.solve(wb.SimplexCostLearning(lam2=0.5, factoring="ordered"), problem, gap=1e-9)
    v, q = solution.theta["v"], dual_counts(solution)
    held = v > 1e-3
    assert np.ptp(v[held]) > 0.01
    assert np.ptp(q[held]) < 1e-4


@given(seed=seeds, K=st.sampled_from([0.25, 3.0, 10.0]))
@settings(max_examples=8)
def test_the_cost_scale_is_unnecessary(seed, K):
    """F(Kw, Kb, v; λ₂, λ₁, K) = K F(w, b, v; Kλ₂, λ₁, 1), hence the optima and all predictions."""
    problem = clouds(seed % 1000, n=15)
    for kind in (wb.SimplexCostLearning, wb.NormalizedCostLearning):
        scaled, plain = kind(lam2=0.2, lam1=0.1, K=K), kind(lam2=0.2 * K, lam1=0.1, K=1.0)
        theta = np.random.default_rng(seed).uniform(0, 1, Bounds(plain, problem).oracle.dim)
        d, k, _ = plain.oracle(problem).sizes
        moved = np.concatenate([K * theta[: d + k], theta[d + k :]])
        assert Bounds(scaled, problem).upper(moved) == pytest.approx(K * Bounds(plain, problem).upper(theta), rel=1e-9)
        one, other = wb.solve(scaled, problem, gap=1e-8), wb.solve(plain, problem, gap=1e-8)
        assert one.upper == pytest.approx(K * other.upper, rel=1e-6)


@given(seed=seeds)
@settings(max_examples=10)
def test_optimal_biases_lie_in_the_box(seed):
    problem = clouds(seed % 1000, n=12)
    for formulation in (wb.SimplexCostLearning(lam2=0.05), wb.NormalizedCostLearning(lam2=0.05)):
        solution = wb.solve(formulation, problem, gap=1e-6)
        b, box = solution.theta["b"], formulation.box(problem)
        assert np.ptp(b) <= box.within(solution.upper).bound <= box.bound


@given(seed=seeds)
@settings(max_examples=15)
def test_balancing_makes_the_push_vanish(seed):
    rng, problem = np.random.default_rng(seed), clouds(seed % 100)
    bounds = Bounds(wb.NormalizedCostLearning(), problem)
    cuts = Cuts(bounds.oracle.dim, 1)
    everyone = np.repeat(np.arange(problem.n_samples), 3)
    cuts.add(everyone, np.tile(np.arange(3), problem.n_samples)[:, None], bounds.oracle.rows)
    weights = rng.uniform(0.1, 1, len(cuts)) * np.where(cuts.witnesses[:, 0] == problem.labels[cuts.samples], 5, 1)
    free = bounds.regularizer.free
    push = cuts.slopes[:, free].T @ bounds.balanced(cuts, weights)
    assert np.abs(push).max() < 1e-12 < np.abs(cuts.slopes[:, free].T @ weights).max()
    assert bounds.lower(cuts, bounds.balanced(cuts, weights)) > bounds.lower(cuts, weights)


# ── factorings and counts ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("factoring", FACTORINGS)
@pytest.mark.parametrize("output", ["multiclass", "chain"])
@given(seed=seeds)
@settings(max_examples=10)
def test_every_error_belongs_to_one_class(factoring, output, seed):
    problem = wb.registry("output").get(output).tiny(np.random.default_rng(seed))
    classes = classes_of(problem, factoring)
    k = len(problem.classes)
    assert classes.table.shape[1:] == (k, k)
    assert (classes.table[:, np.eye(k, dtype=bool)] == -1).all()
    assert set(np.unique(classes.table[:, ~np.eye(k, dtype=bool)])) == set(range(len(classes.names)))
    oracle = wb.SimplexCostLearning(factoring=factoring, K=2.0).oracle(problem)
    for i in range(problem.n_samples):
        outputs = problem.outputs(i)
        batch = np.full(len(outputs), i)
        slopes = oracle.rows(batch, outputs)[0].toarray()
        wrong = (outputs != problem.truth[i]).sum(axis=1)
        np.testing.assert_allclose(slopes[:, -len(classes.names) :].sum(axis=1), 2.0 * wrong)
        np.testing.assert_allclose(slopes[:, oracle.sizes[0] : oracle.sizes[0] + k].sum(axis=1), 0, atol=1e-12)


def test_the_largest_feature_may_be_one_that_is_zero():
    X = np.array([[-1.0, 0, 0], [-2, -1, -3], [0, 2, 1], [0, 0, 0], [-1, -1, 0]])
    assert classes_of(wb.Multiclass(X, [0, 1, 0, 1, 0]), "input").group.tolist() == [1, 1, 1, 0, 2]


def test_classes_by_the_smallest_feature_by_their_number_and_by_input_and_label():
    X = np.array([[-1.0, 0, 0], [2, 1, 3], [0, 2, 1], [0, 0, 0], [-1, 1, 1]])
    problem = wb.Multiclass(X, [0, 1, 0, 1, 0])
    assert classes_of(problem, "input-smallest").group.tolist() == [0, 1, 0, 0, 0]
    counted = classes_of(problem, "input-count")
    assert counted.names == ["no features", "1 feature", "2 to 3 features"]
    assert counted.group.tolist() == [1, 2, 2, 0, 2]
    both = classes_of(problem, "input-true")
    assert both.names[:3] == ["0→·, largest x[0]", "1→·, largest x[0]", "0→·, largest x[1]"]
    assert both.at(np.arange(5), problem.labels).max(axis=1).tolist() == [2, 5, 2, 1, 2]


def test_non_generalisability_over_folds_is_its_definition():
    """Five models, each learned without one fold: errors on the fold less errors on the others, by class, averaged."""
    problem = wb.load_problem("toy")(n=30)
    form = wb.KappaDifficulty(difficulty="non-generalisability-folds", step_rule="inverted", factoring="true", K=3.0)
    found = wb.solve(form, problem, gap=1e-7, max_rounds=1)
    fold, wanted = np.random.default_rng(5).permutation(np.arange(30) % 5), np.zeros(3)
    for f in range(5):
        kept = fold != f
        part = wb.Multiclass(problem.X[kept], problem.classes[problem.labels[kept]], classes=problem.classes)
        inner = wb.FixedCostLearning(K=3.0, factoring="true", v=(1 / 3, 1 / 3, 1 / 3))
        model = wb.solve(inner, part, gap=1e-7)
        wrong = problem.predict(model.theta["w"], problem.X, model.theta["b"]) != problem.classes[problem.labels]
        for y in range(3):
            err = wrong & (problem.labels == y)
            wanted[y] += (err[~kept].mean() - err[kept].mean()) / 5
    np.testing.assert_allclose(found.history[0]["difficulty"], wanted, atol=1e-12)
    assert np.abs(wanted).max() > 0


def test_counts_are_the_formulas():
    """docs/mathematics.md §5: logical and expected n_S for ordered and unordered pairs."""
    problem = wb.Multiclass(np.arange(10.0)[:, None], [0] * 5 + [1] * 3 + [2] * 2)
    pairs, arrows = classes_of(problem, "unordered"), classes_of(problem, "ordered")
    assert pairs.names == ["0–1", "0–2", "1–2"]
    assert arrows.names == ["0→1", "0→2", "1→0", "1→2", "2→0", "2→1"]
    assert label_counts(problem).tolist() == [5, 3, 2]
    assert COUNTS["logical"](problem, pairs).tolist() == [8, 7, 5]
    assert COUNTS["logical-max"](problem, pairs).tolist() == [5, 5, 3]
    assert COUNTS["logical"](problem, arrows).tolist() == [5, 5, 3, 3, 2, 2]
    np.testing.assert_allclose(COUNTS["expected"](problem, pairs), [3, 2, 1.2])
    np.testing.assert_allclose(COUNTS["expected"](problem, arrows), [1.5, 1, 1.5, 0.6, 1, 0.6])
    assert COUNTS["none"](problem, pairs).tolist() == [1, 1, 1]
    assert COUNTS["total"](problem, pairs).tolist() == [10, 10, 10]
    outputs = np.array([[1], *[[0]] * 4, *[[1]] * 2, [2], [0], [2]])
    assert error_counts(problem, arrows, outputs).tolist() == [1, 0, 0, 1, 1, 0]


def test_counts_of_a_baseline_model():
    """n_S are the errors of the plain SVM; a class in which it makes none gets no cost."""
    problem = clouds(3, n=24, spread=1.2)
    svm = wb.solve(wb.FixedCostLearning(lam2=5.0, factoring="ordered"), problem, gap=1e-6)
    said = svm.formulation.oracle(problem).decode(svm.theta_flat, np.arange(problem.n_samples))
    n = wb.baseline_counts(problem, "ordered", said)
    arrows = [(a, b) for a in range(3) for b in range(3) if a != b]
    assert list(n) == [((problem.labels == a) & (said[:, 0] == b)).sum() for a, b in arrows]
    assert 0 in n
    form = wb.NormalizedCostLearning(lam2=0.3, factoring="ordered", counts="baseline", baseline=n)
    solution = wb.solve(form, problem, gap=1e-8)
    errors = np.zeros((3, 3))
    for (a, b), count in zip(arrows, n, strict=True):
        errors[a, b] = count
    written = Bounds(form, problem)
    v, q = solution.theta["v"], dual_counts(solution)
    assert written.upper(solution.theta_flat) == pytest.approx(solution.upper, rel=1e-9)
    live = np.array(n) > 0
    np.testing.assert_allclose(v[live], np.maximum(1 - q[live] / np.array(n)[live], 0), atol=1e-4)
    assert not v[~live].any()


def test_a_baseline_that_does_not_fit_is_refused():
    for wrong in ({"counts": "baseline"}, {"baseline": (1.0,)}):
        with pytest.raises(wb.BadInput, match="belong together"):
            wb.NormalizedCostLearning(**wrong)
    with pytest.raises(wb.BadInput, match="one finite count"):
        wb.NormalizedCostLearning(counts="baseline", baseline=(-1.0, 2.0))
    with pytest.raises(wb.BadInput, match="2 counts for 3 error classes"):
        wb.solve(wb.NormalizedCostLearning(counts="baseline", baseline=(1.0, 2.0)), clouds())


# ── the synthetic suite ───────────────────────────────────────────────────────────────────────────


def test_synthetic_labels_follow_their_model():
    """Shares of labels at each of the 16 inputs against the softmax, and the bias that makes labels rare."""
    make = wb.load_problem("synthetic-costs")
    for suite, s, rare in (("exp", 1.0, []), ("exp-small", 0.1, []), ("plus-many-rare", 0.1, [-3, -3.2, -3.4])):
        problem = make(suite=suite, copies=2000)
        X, counted = np.unique(problem.X.toarray(), axis=0, return_inverse=True)
        assert X.shape == (16, 4)
        assert set(np.bincount(counted)) == {2000}
        scores = X @ (s * np.array([1, 2, 4, 8]))
        weights = np.exp(np.column_stack([scores, scores, -scores, -scores, *(np.full(16, b) for b in rare)]))
        shares = weights / weights.sum(axis=1, keepdims=True)
        found = np.stack([np.bincount(problem.labels[counted == c], minlength=shares.shape[1]) for c in range(16)])
        assert np.abs(found / 2000 - shares).max() < 5 * np.sqrt(0.25 / 2000)
    one, other = make(seed=1), make(seed=1, split="test")
    assert (one.X != other.X).nnz == 0
    assert (one.labels != other.labels).any()
    np.testing.assert_array_equal(one.labels, make(seed=1).labels)
    for wrong in ({"suite": "huge"}, {"copies": 0}, {"scale": -1.0}, {"seed": -1}):
        with pytest.raises(wb.BadInput, match=next(iter(wrong))):
            make(**wrong)


def test_a_weight_of_two_is_the_sample_twice():
    X, y = clouds(2, n=10).X.toarray(), clouds(2, n=10).labels
    twice = wb.Multiclass(np.concatenate([X, X[:1]]), np.append(y, y[0]))
    weighted = wb.Multiclass(X, y, weights=np.where(np.arange(10) == 0, 2.0, 1.0))
    for formulation in (wb.SimplexCostLearning(), wb.NormalizedCostLearning()):
        one, other = (wb.solve(formulation, problem, gap=1e-8) for problem in (twice, weighted))
        assert one.upper == pytest.approx(other.upper, rel=1e-7)


# ── degenerate data ───────────────────────────────────────────────────────────────────────────────


def test_a_label_that_does_not_occur_takes_no_cost():
    problem = clouds(4)
    more = wb.Multiclass(problem.X, problem.labels, classes=np.arange(5))
    for kind in (wb.SimplexCostLearning, wb.NormalizedCostLearning):
        formulation = kind(lam2=0.3)
        seen, unseen = wb.solve(formulation, problem, gap=1e-8), wb.solve(formulation, more, gap=1e-8)
        live = reachable(more, formulation.classes(more))
        assert live.sum() == 3
        assert unseen.upper == pytest.approx(seen.upper, rel=1e-6)
        assert np.abs(unseen.theta["v"][~live]).max() == 0


def test_one_sample_of_a_class_and_ties():
    X = np.array([[1.0, 0], [1.0, 0], [0, 1.0], [0.5, 0.5], [0.5, 0.5]])
    problem = wb.Multiclass(X, [0, 0, 1, 2, 0])
    for formulation in (wb.SimplexCostLearning(), wb.NormalizedCostLearning(counts="logical")):
        assert wb.solve(formulation, problem, gap=1e-8).status == "optimal"


def test_what_cannot_be_learned_is_refused_in_one_sentence():
    with pytest.raises(wb.BadInput, match="Only one label occurs"):
        wb.solve(wb.SimplexCostLearning(), wb.Multiclass(np.eye(2), [1, 1], classes=[0, 1]))
    for wrong in ({"lam2": 0.0}, {"lam1": -1.0}, {"K": float("inf")}):
        with pytest.raises(wb.BadInput, match=next(iter(wrong))):
            wb.SimplexCostLearning(**wrong)


def test_chains_learn_costs_too(tmp_path):
    problem = wb.load_problem("synthetic-chain")(n=12)
    for formulation in (wb.SimplexCostLearning(), wb.NormalizedCostLearning(factoring="ordered", lam1=0.05)):
        solution = wb.solve(formulation, problem, gap=1e-8)
        assert solution.status == "optimal"
        assert wb.verify(solution.certificate.save(tmp_path / "c"))["proven"]


def test_predictions_use_the_biases():
    problem = clouds()
    solution = wb.solve(wb.NormalizedCostLearning(lam2=5.0, factoring="constant", counts="none"), problem, gap=1e-6)
    w, b = solution.theta["w"], solution.theta["b"]
    scores = problem.X @ w.reshape(3, 4).T
    assert (problem.predict(w, problem.X, b) == (scores + b).argmax(axis=1)).all()
    assert ((scores + b).argmax(axis=1) != scores.argmax(axis=1)).any()
    assert solution.train_error == pytest.approx((problem.predict(w, problem.X, b) != problem.labels).mean())


# ── a user's own factoring ────────────────────────────────────────────────────────────────────────


def by_side(problem):
    """Errors left and right of 0, one class each; an error that takes label 0 for 1 costs nothing."""
    k, right = len(problem.classes), (problem.inputs.toarray()[:, 0] > 0).astype(int)
    table = np.repeat(np.arange(2)[:, None, None], k, axis=1).repeat(k, axis=2)
    table[:, np.arange(k), np.arange(k)] = -1
    table[:, 0, 1] = -1
    return wb.Classes(["left", "right"], table, right)


FORMS = [wb.SimplexCostLearning, wb.NormalizedCostLearning, wb.FixedCostLearning]


@pytest.mark.parametrize("kind", FORMS)
def test_a_function_may_factor_errors(kind):
    """The optimum over all cuts at once, stated in CVXPY from the definition (3) of the source."""
    problem = clouds(2, n=12, spread=1.5)
    form = kind(lam2=0.4, K=2.0, factoring=by_side)
    solution = wb.solve(form, problem, gap=1e-8)
    classes, (n, k) = by_side(problem), (problem.n_samples, len(problem.classes))
    w, b, v, xi = cp.Variable(problem.n_features), cp.Variable(k), cp.Variable(2), cp.Variable(n)
    rows = [xi >= 0]
    for i, y in enumerate(problem.labels):
        for z in set(range(k)) - {int(y)}:
            other, own = (problem.features(np.array([i]), np.array([[label]])) for label in (z, y))
            held = classes.table[classes.group[i], y, z]
            rows.append(xi[i] >= (other - own).toarray()[0] @ w + b[z] - b[y] + (2.0 * v[held] if held >= 0 else 0.0))
    rows += {"SimplexCostLearning": [v >= 0, cp.sum(v) == 1], "FixedCostLearning": [v == 1]}.get(
        kind.__name__, [v >= 0]
    )
    cost = 0.0
    if kind is wb.NormalizedCostLearning:
        cost = cp.sum(cp.multiply(form.expected(problem), cp.square(1 - v)))
    program = cp.Problem(cp.Minimize(0.4 * cp.sum_squares(w) + cp.sum(xi) + cost), rows)
    program.solve(solver="CLARABEL")
    assert solution.upper == pytest.approx(program.value, rel=1e-6)
    assert solution.status == "optimal"


@pytest.mark.parametrize("kind", FORMS)
def test_the_kernel_and_the_rationals_know_an_error_without_a_class(kind):
    problem = clouds(2, n=6)
    oracle, everyone = kind(K=1.5, factoring=by_side).oracle(problem), np.arange(6)
    theta = np.round(np.random.default_rng(0).normal(size=oracle.dim), 2)
    kernel, exact = oracle.kernel(), oracle.exact()
    samples = np.repeat(everyone, 3)
    outputs = np.tile(np.arange(3)[:, None], (6, 1))
    slopes, offsets = oracle.rows(samples, outputs)
    entries, fixed = exact.rows(samples, outputs)
    dense = np.zeros(slopes.shape)
    np.add.at(dense, (entries.rows, entries.columns), (entries.values / entries.unit).astype(float))
    np.testing.assert_allclose(dense, slopes.toarray(), atol=1e-12)
    np.testing.assert_allclose((fixed.whole / fixed.unit).astype(float), offsets, atol=1e-12)
    values = (slopes @ theta + offsets).reshape(6, 3)
    for i in everyone:
        out, moved = np.zeros(1, np.int64), np.zeros(oracle.dim)
        assert kernel.argmax_into(kernel.data, theta, i, out) == pytest.approx(values[i].max())
        kernel.add_slope(kernel.data, i, out, 1.0, moved)
        np.testing.assert_allclose(moved, slopes.toarray()[3 * i + out[0]], atol=1e-12)


def wrong_classes(what):
    def given(problem):
        classes = wb.Classes(["a"], np.zeros((1, 3, 3), int) - np.eye(3, dtype=int), np.zeros(9, int))
        return {
            "none": None,
            "overlap": classes._replace(table=np.ones((1, 3, 3, 2), bool)),
            "shape": classes._replace(table=np.zeros((1, 2, 2), int)),
            "beyond": classes._replace(table=classes.table + 1),
            "diagonal": classes._replace(table=np.zeros((1, 3, 3), int)),
            "group": classes._replace(group=np.ones(9, int)),
        }[what]

    return given


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("none", "returns NoneType; return wb.Classes"),
        ("overlap", "may not overlap, so make each intersection a class of its own"),
        ("shape", r"table of shape \(1, 2, 2\)"),
        ("beyond", "classes outside 0 … 0; write -1"),
        ("diagonal", "a class for a label that is right"),
        ("group", "groups outside 0 … 0"),
    ],
)
def test_a_wrong_factoring_is_one_sentence(what, message):
    with pytest.raises(wb.BadInput, match=message):
        wb.solve(wb.SimplexCostLearning(factoring=wrong_classes(what)), clouds(0, n=9))


def test_an_unknown_factoring_is_one_sentence():
    with pytest.raises(wb.BadInput, match="factoring is 'pairs'; choose unordered, ordered"):
        wb.NormalizedCostLearning(factoring="pairs")
    with pytest.raises(wb.BadInput, match="factoring is 'pairs'"):
        wb.baseline_counts(clouds(0), "pairs", np.zeros((9, 1), int))


def test_a_function_fits_into_no_file(tmp_path):
    problem = clouds(2, n=6)
    solution = wb.solve(wb.SimplexCostLearning(factoring=by_side), problem, gap=1e-6)
    with pytest.raises(wb.BadInput, match="factoring is the function by_side, which no file"):
        solution.certificate.save(tmp_path / "own")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("difficulty", ["non-generalisability-folds", "stability"])
def test_folds_without_a_sample_of_weight_are_refused_in_words(difficulty):
    toy = wb.load_problem("toy")
    form = wb.KappaDifficulty(difficulty=difficulty)
    with pytest.raises(wb.BadInput, match=r"2 of 5 folds of 3 samples hold none .* give at least 5 samples"):
        wb.solve(form, toy(n=3), gap=1e-3)


@pytest.mark.parametrize("kind", [wb.SimplexCostLearning, wb.NormalizedCostLearning])
def test_small_problems_are_solved_at_once_by_default(kind):
    """Iris to 1e-7 by the default route: 2.4 s and more once, where the ascent took 0.3."""
    problem, seconds = load_problem("iris")(), []
    for _ in range(2):  # the first loads what is loaded once
        began = time.process_time()
        assert wb.solve(kind(lam2=0.5, K=5.0), problem, gap=1e-7).status == "optimal"
        seconds.append(time.process_time() - began)
    assert min(seconds) < 1
