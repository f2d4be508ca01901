"""Chain: every route to the best labelling against enumeration, φ and ℓ against loops, the compact form."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy import sparse

import workbench as wb
from workbench.arithmetic.compiled import available, compiled_kernel
from workbench.arithmetic.rationals import ratios
from workbench.contracts import Cuts, Nested
from workbench.formulations.soft_margin import SoftMargin
from workbench.objectives.oracles import MarginRescaling
from workbench.outputs import _messages, _viterbi, chain
from workbench.outputs.chain import Chain
from workbench.proofs.bounds import Bounds

LOSSES = ("hamming", "hamming-normalised")


def random_chain(rng, integers=False, n=None, longest=4, k=None, cost="any", loss=None):
    """A small chain; integer features (with integer weights) make many ties."""
    n, k = n or int(rng.integers(1, 5)), k or int(rng.integers(2, 5))
    p = int(rng.integers(1, 4))
    lengths = rng.integers(1, longest + 1, n)
    if integers:
        sequences = [rng.integers(-1, 2, (t, p)).astype(float) for t in lengths]
    else:
        sequences = [rng.normal(size=(t, p)) for t in lengths]
    if rng.random() < 0.3:
        sequences = [sparse.csr_array(s) for s in sequences]
    kinds = {"any": rng.integers(3), "none": 0, "integer": rng.integers(2)}[cost]
    matrix = (None, rng.integers(0, 3, (k, k)) * (1 - np.eye(k)), rng.uniform(0, 2, (k, k)) * (1 - np.eye(k)))[kinds]
    labels = [rng.integers(0, k, t) for t in lengths]
    return Chain(sequences, labels, loss or LOSSES[rng.integers(2)], matrix, classes=np.arange(k))


def random_weights(rng, problem, integers=False):
    d = problem.n_features
    return rng.integers(-2, 3, d).astype(float) if integers else rng.normal(size=d)


@cache
def dense(problem):
    return problem.letters.toarray().tolist()


def plain_score(problem, w, i, y):
    """⟨w, φ(x_i, y)⟩ by its definition, position by position."""
    k, p, x = problem.n_classes, problem.n_inputs, dense(problem)[problem.offsets[i] : problem.offsets[i + 1]]
    unary = sum(w[y[t] * p + j] * x[t][j] for t in range(len(x)) for j in range(p))
    return unary + sum(w[k * p + y[t - 1] * k + y[t]] for t in range(1, len(x)))


def plain_loss(problem, i, y):
    length = int(problem.lengths[i])
    total = sum(problem.cost[problem.truth[i, t], y[t]] for t in range(length))
    return total / length if problem.loss_name == "hamming-normalised" else total


def tabulated(problem, w):
    """Per sample, every labelling with its plain, augmented and slack-rescaled value, by brute force."""
    tables = []
    for i, length in enumerate(problem.lengths.tolist()):
        own, tables = plain_score(problem, w, i, problem.truth[i]), [*tables, {}]
        for y in itertools.product(range(problem.n_classes), repeat=length):
            score, loss = plain_score(problem, w, i, y), plain_loss(problem, i, y)
            tables[i][y] = {"score": score, "augmented": score + loss, "slack": loss * (1 - own + score)}
    return tables


def routes(problem, w, monkeypatch):
    """Every way to the three maxima: (route, what is maximised, outputs (n, width))."""
    every = np.arange(problem.n_samples)
    for route, fast in [("numpy", False)] + [("numba", True)] * available():
        monkeypatch.setattr(chain, "available", lambda fast=fast: fast)
        yield route, "augmented", problem.argmax(w, every)
        yield route, "score", problem.argmax(w, every, augment=False)
        if not (problem.cost % 1).any():
            yield route, "slack", problem.slack_argmax(w, every)
    monkeypatch.undo()
    for route, kernel in kernels(problem):
        found = np.full((problem.n_samples, problem.width), 7, np.int64)
        for i in every:
            found_value = kernel.argmax_into(kernel.data, w, i, found[i])
            hinge = plain_score(problem, w, i, found[i]) - plain_score(problem, w, i, problem.truth[i])
            assert found_value == pytest.approx(hinge + plain_loss(problem, i, found[i]), abs=1e-10)
            assert found_value >= 0
        yield route, "augmented", found


def kernels(problem):
    yield "kernel", problem.kernel()
    if available():
        yield "compiled kernel", compiled_kernel(problem.kernel())


def check_all_routes(problem, w, monkeypatch):
    tables = tabulated(problem, w)
    best = [{what: max(row[what] for row in t.values()) for what in ("score", "augmented", "slack")} for t in tables]
    for route, what, outputs in routes(problem, w, monkeypatch):
        for i, y in enumerate(outputs.tolist()):
            length = int(problem.lengths[i])
            assert y[length:] == [-1] * (problem.width - length)
            assert tables[i][tuple(y[:length])][what] == pytest.approx(best[i][what], abs=1e-10), (route, what, i)


@pytest.mark.parametrize("integers", [False, True], ids=["reals", "ties"])
def test_every_argmax_equals_enumeration(integers, monkeypatch):
    rng, cases = np.random.default_rng(11 + integers), 0
    while cases < 600:
        problem = random_chain(rng, integers, k=int(rng.integers(2, 4)))
        check_all_routes(problem, random_weights(rng, problem, integers), monkeypatch)
        cases += problem.n_samples


@pytest.mark.parametrize(("longest", "k"), [(1, 2), (1, 5), (6, 2)], ids=["T=1,K=2", "T=1,K=5", "T<=6,K=2"])
def test_shortest_and_narrowest_chains(longest, k, monkeypatch):
    rng = np.random.default_rng(k)
    for _ in range(12):
        problem = random_chain(rng, longest=longest, k=k)
        check_all_routes(problem, random_weights(rng, problem), monkeypatch)


def test_ties_are_broken_alike_on_every_route(monkeypatch):
    """Integer weights: no rounding, so the labellings are the same, and the documented ones."""
    rng = np.random.default_rng(5)
    for _ in range(60):
        problem = random_chain(rng, integers=True, cost="none", loss="hamming")
        w = random_weights(rng, problem, integers=True)
        found: dict[str, list] = {}
        for _, what, outputs in routes(problem, w, monkeypatch):
            found.setdefault(what, []).append(outputs)
        for what, outputs in found.items():
            assert all(np.array_equal(outputs[0], other) for other in outputs)
            for i, table in enumerate(tabulated(problem, w)):
                best = max(row[what] for row in table.values())
                tied = [y for y, row in table.items() if row[what] == best]
                levels = [(plain_loss(problem, i, y) if what == "slack" else 0, y[::-1]) for y in tied]
                assert tuple(outputs[0][i, : problem.lengths[i]]) == min(levels)[1][::-1]


def test_slack_argmax_counts_errors_where_margin_argmax_does_not(monkeypatch):
    """Long margins make the two rescalings disagree; without that, the test above could not tell them apart."""
    rng, differ = np.random.default_rng(0), 0
    for _ in range(40):
        problem = random_chain(rng, cost="none")
        w, every = 3 * random_weights(rng, problem), np.arange(problem.n_samples)
        differ += (problem.argmax(w, every) != problem.slack_argmax(w, every)).any()
    assert differ > 5


def test_a_batch_equals_its_parts_in_any_order(monkeypatch):
    rng = np.random.default_rng(3)
    for fast in {False, available()}:
        monkeypatch.setattr(chain, "available", lambda fast=fast: fast)
        problem = random_chain(rng, n=9, cost="integer")
        w, samples = random_weights(rng, problem), rng.integers(0, 9, 14)
        for argmax in (problem.argmax, problem.slack_argmax):
            assert np.array_equal(argmax(w, samples), argmax(w, np.arange(9))[samples])
        monkeypatch.setattr(chain, "CHUNK", 1)
        assert np.array_equal(problem.argmax(w, samples), problem.argmax(w, np.arange(9))[samples])


# ── features, loss, kernel ────────────────────────────────────────────────────────────────────────


def test_features_and_loss_follow_their_formulas():
    rng = np.random.default_rng(1)
    for _ in range(60):
        problem = random_chain(rng)
        w, samples = random_weights(rng, problem), rng.integers(0, problem.n_samples, 5)
        outputs = np.stack([problem.outputs(i)[rng.integers(len(problem.outputs(i)))] for i in samples])
        rows = problem.features(samples, outputs)
        assert rows.shape == (5, problem.n_features)
        assert rows.has_canonical_format
        np.testing.assert_allclose(
            rows @ w, [plain_score(problem, w, i, y) for i, y in zip(samples, outputs, strict=True)], atol=1e-12
        )
        loss = [plain_loss(problem, i, y) for i, y in zip(samples, outputs, strict=True)]
        np.testing.assert_allclose(problem.loss(samples, outputs), loss, atol=1e-15)
        assert (problem.loss(samples, outputs) <= problem.max_loss[samples] + 1e-15).all()
        assert (abs(rows).sum(axis=1) <= problem.magnitude[samples]).all()
        truth = problem.truth[samples]
        assert not problem.loss(samples, truth).any()
        assert abs(problem.features(samples, truth) - problem._features(samples, truth)).sum() == 0


def test_least_loss_and_free_outputs_equal_enumeration():
    rng = np.random.default_rng(8)
    for _ in range(60):
        problem = random_chain(rng, cost="integer")
        losses, free = [], False
        for i in range(problem.n_samples):
            outputs = problem.outputs(i)
            loss = problem.loss(np.full(len(outputs), i), outputs)
            losses.append(loss[loss > 0].min(initial=np.inf))
            free |= bool(((loss == 0) & (outputs != problem.truth[i]).any(axis=1)).any())
        assert problem.least_loss == pytest.approx(min(losses))
        assert problem.free_outputs == free


def test_kernel_slope_is_the_difference_of_features():
    rng = np.random.default_rng(2)
    for _ in range(40):
        problem = random_chain(rng)
        kernel = problem.kernel()
        for i in range(problem.n_samples):
            y = problem.outputs(i)[rng.integers(len(problem.outputs(i)))]
            theta = np.zeros(problem.n_features)
            kernel.add_slope(kernel.data, i, y, -2.5, theta)
            samples = np.array([i])
            slope = problem.features(samples, y[None]) - problem.features(samples, problem.truth[samples])
            np.testing.assert_allclose(theta, -2.5 * slope.toarray()[0], atol=1e-12)


@pytest.mark.skipif(not available(), reason="numba is not installed")
def test_compiled_and_interpreted_kernels_agree_to_the_last_bit():
    rng = np.random.default_rng(4)
    for _ in range(8):
        problem = random_chain(rng, n=6, longest=6)
        plain, fast = problem.kernel(), compiled_kernel(problem.kernel())
        thetas = [random_weights(rng, problem)] * 2
        thetas[1] = thetas[0].copy()
        outs = np.empty((2, problem.width), np.int64)
        for i in rng.integers(0, 6, 40):
            values = [k.argmax_into(k.data, t, i, o) for k, t, o in zip((plain, fast), thetas, outs, strict=True)]
            for k, t, o in zip((plain, fast), thetas, outs, strict=True):
                k.add_slope(k.data, i, o, -0.37, t)
            assert values[0] == values[1]
            assert np.array_equal(*outs)
            assert np.array_equal(*thetas)


@pytest.mark.skipif(not available(), reason="numba is not installed")
def test_numpy_and_numba_loops_agree_to_the_last_bit(monkeypatch):
    rng = np.random.default_rng(6)
    for _ in range(25):
        problem = random_chain(rng, n=7, longest=7, k=4, cost="integer")
        w, every = random_weights(rng, problem), np.arange(7)
        answers = []
        for fast in (False, True):
            monkeypatch.setattr(chain, "available", lambda fast=fast: fast)
            answers.append(np.hstack([problem.argmax(w, every), problem.slack_argmax(w, every)]))
        assert np.array_equal(*answers)


def test_interpreted_loops_are_the_compiled_ones():
    rng = np.random.default_rng(9)
    scores, offsets = rng.normal(size=(9, 3)), np.array([0, 4, 5, 9])
    transitions, cost = rng.normal(size=(1, 3, 3)), (1 - np.eye(3)).astype(np.int64)
    levels, losses, own = cost[rng.integers(0, 3, 9)], np.arange(5.0) * np.ones((3, 1)), rng.normal(size=3)
    outs = np.full((4, 3, 4), -1)
    _viterbi.viterbi(scores, transitions, offsets, outs[0])
    _viterbi.decode(scores, transitions, offsets, outs[1])
    _viterbi.slack_viterbi(scores, transitions, offsets, levels, losses, own, outs[2])
    _viterbi.decode(scores, transitions, offsets, outs[3], levels, losses, own)
    assert np.array_equal(outs[0], outs[1])
    assert np.array_equal(outs[2], outs[3])


def test_exact_features_only_where_sums_are_exact():
    labels = [[0, 1], [1]]
    assert Chain([[[1, 2], [3, 4]], [[5, 6]]], labels).exact_features
    assert Chain([[[0.25, 1 / 64], [3, 4]], [[5, 6]]], labels).exact_features
    assert not Chain([[[0.1, 2], [3, 4]], [[5, 6]]], labels).exact_features
    assert not Chain([[[2.0**52, 2], [3, 4]], [[5, 6]]], labels).exact_features
    assert not Chain([[[2.0**30, 2.0**-30], [3, 4]], [[5, 6]]], labels).exact_features


# ── relations that need no reference ──────────────────────────────────────────────────────────────


def parts(rng, n=6, k=3, p=2):
    lengths = rng.integers(1, 5, n)
    return [rng.normal(size=(t, p)) for t in lengths], [rng.integers(0, k, t) for t in lengths], np.arange(k)


def test_permuted_sequences_and_renamed_labels_permute_the_argmax():
    rng = np.random.default_rng(12)
    for _ in range(20):
        sequences, labels, classes = parts(rng)
        a = Chain(sequences, labels, classes=classes)
        w, order, names = random_weights(rng, a), rng.permutation(6), rng.permutation(3)
        b = Chain([sequences[i] for i in order], [names[labels[i]] for i in order], classes=classes)
        unary, transitions = a.split(w)
        back = np.argsort(names)
        v = np.concatenate([unary[back].ravel(), transitions[np.ix_(back, back)].ravel()])
        mine, other = a.argmax(w, order), b.argmax(v, np.arange(6))
        assert np.array_equal(np.where(mine < 0, -1, names[mine]), other)


def test_reversed_sequences_with_transposed_transitions():
    rng = np.random.default_rng(13)
    for _ in range(20):
        sequences, labels, classes = parts(rng)
        a = Chain(sequences, labels, classes=classes)
        b = Chain([s[::-1] for s in sequences], [y[::-1] for y in labels], classes=classes)
        w = random_weights(rng, a)
        unary, transitions = a.split(w)
        v = np.concatenate([unary.ravel(), transitions.T.ravel()])
        for mine, other, length in zip(a.argmax(w, np.arange(6)), b.argmax(v, np.arange(6)), a.lengths, strict=True):
            assert np.array_equal(mine[:length], other[:length][::-1])


def test_without_transitions_every_position_is_multiclass():
    rng = np.random.default_rng(14)
    sequences, labels, classes = parts(rng, n=8)
    a = Chain(sequences, labels, loss="hamming", classes=classes)
    b = wb.Multiclass(np.concatenate(sequences), np.concatenate(labels), classes=classes)
    w = rng.normal(size=b.n_features)
    flat = a.argmax(np.concatenate([w, np.zeros(9)]), np.arange(8))
    assert np.array_equal(flat[flat >= 0], b.argmax(w, np.arange(b.n_samples))[:, 0])


def test_scaled_features_with_rescaled_weights():
    rng = np.random.default_rng(15)
    sequences, labels, classes = parts(rng)
    a, b = (Chain([c * s for s in sequences], labels, classes=classes) for c in (1, 4))
    w = random_weights(rng, a)
    v = w.copy()
    v[: a.n_classes * a.n_inputs] /= 4
    assert np.array_equal(a.argmax(w, np.arange(6)), b.argmax(v, np.arange(6)))


def test_dense_and_sparse_letters_are_the_same_problem():
    rng = np.random.default_rng(16)
    sequences, labels, classes = parts(rng)
    a = Chain(sequences, labels, classes=classes)
    mixed = [sparse.csc_matrix(s) if i % 2 else s.tolist() for i, s in enumerate(sequences)]
    b = Chain(mixed, labels, classes=classes)
    assert (a.letters != b.letters).nnz == 0
    w = random_weights(rng, a)
    assert np.array_equal(a.argmax(w, np.arange(6)), b.argmax(w, np.arange(6)))


# ── compact form ──────────────────────────────────────────────────────────────────────────────────

TIGHT = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


def enumerated_optimum(problem, lam):
    """The soft margin with every labelling as a constraint, written here and nowhere else."""
    import cvxpy as cp

    w, xi = cp.Variable(problem.n_features), cp.Variable(problem.n_samples)
    constraints = []
    for i in range(problem.n_samples):
        outputs = problem.outputs(i)
        ours = np.full(len(outputs), i)
        own = problem.features(ours, problem.truth[ours])
        slopes = (problem.features(ours, outputs) - own).toarray()
        constraints.append(xi[i] >= slopes @ w + problem.loss(ours, outputs))
    share = problem.weights / problem.weights.sum()
    program = cp.Problem(cp.Minimize(lam / 2 * cp.sum_squares(w) + share @ xi), constraints)
    return program.solve(solver=cp.CLARABEL, **TIGHT)


@pytest.mark.parametrize("seed", range(8))
def test_compact_equals_enumeration_and_its_duals_certify_it(seed):
    import cvxpy as cp

    rng = np.random.default_rng(100 + seed)
    problem = random_chain(rng, n=4, k=3, longest=1 if seed == 0 else 4, cost="integer")
    problem.weights[:] = rng.integers(1, 4, 4)
    formulation = SoftMargin(lam=float(10 ** rng.uniform(-2, 0)), declare="compact")
    program, w, atoms = formulation.compact_program(problem)
    best = program.solve(solver=cp.CLARABEL, **TIGHT)
    assert best == pytest.approx(enumerated_optimum(problem, formulation.lam), rel=1e-8, abs=1e-10)

    samples, witnesses, weights = atoms()
    assert (weights >= 0).all()
    bounds, cuts = Bounds(formulation, problem), Cuts(problem.n_features, problem.width)
    ids = cuts.add(samples, witnesses, bounds.oracle.rows)
    lower, upper = bounds.lower(cuts, np.bincount(ids, weights, len(cuts))), bounds.upper(w.value)
    assert lower <= upper
    assert best - lower <= 1e-7 * max(1, abs(best))
    assert upper - best <= 1e-7 * max(1, abs(best))


def test_peeling_returns_the_marginals_of_a_mixture():
    rng = np.random.default_rng(21)
    for length, k in ((1, 2), (4, 3), (7, 5)):
        paths, weights = rng.integers(0, k, (6, length)), rng.dirichlet(np.ones(6))
        heads, tails, pairs = np.zeros(k), np.zeros(k), np.zeros((length - 1, k, k))
        for y, weight in zip(paths, weights, strict=True):
            heads[y[0]] += weight
            tails[y[-1]] += weight
            pairs[np.arange(length - 1), y[:-1], y[1:]] += weight
        again = [np.zeros_like(a) for a in (heads, tails, pairs)]
        for y, weight in _messages.peeled(heads, pairs, tails):
            assert weight > 0
            again[0][y[0]] += weight
            again[1][y[-1]] += weight
            again[2][np.arange(length - 1), y[:-1], y[1:]] += weight
        for before, after in zip((heads, tails, pairs), again, strict=True):
            np.testing.assert_allclose(before, after, atol=1e-10)


# ── files, prediction, words ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("names", [list("xyz"), ["in", "on", "at"], [3, 5, 9], [0.5, 1.5, 2.5]], ids=str)
def test_arrays_rebuild_the_problem(names, tmp_path):
    rng = np.random.default_rng(31)
    sequences, labels, _ = parts(rng)
    named = np.array(names)
    cost = rng.uniform(size=(3, 3)) * (1 - np.eye(3))
    a = Chain(sequences, [named[y] for y in labels], "hamming", cost, np.arange(1.0, 7), named)
    np.savez(tmp_path / "a.npz", **a.arrays())
    with np.load(tmp_path / "a.npz", allow_pickle=False) as file:
        b = Chain.from_arrays(dict(file))
    for key, array in a.arrays().items():
        assert np.array_equal(array, b.arrays()[key]), key
        assert array.dtype == b.arrays()[key].dtype
    w = random_weights(rng, a)
    assert np.array_equal(a.argmax(w, np.arange(6)), b.argmax(w, np.arange(6)))


def test_predict_gives_label_arrays_in_the_users_words():
    rng = np.random.default_rng(32)
    sequences, labels, _ = parts(rng)
    a = Chain(sequences, ["".join("abc"[c] for c in y) for y in labels], classes=list("abc"))
    w = random_weights(rng, a)
    best = a.argmax(w, np.arange(6), augment=False)
    for y, expected, length in zip(a.predict(w, sequences), best, a.lengths, strict=True):
        assert y.shape == (length,)
        assert np.array_equal(y, a.classes[expected[:length]])
    longer = a.predict(w, [np.concatenate(sequences)])[0]
    assert longer.shape == (int(a.lengths.sum()),)
    assert a.describe(0, a.truth[0]) == f'labels "{"".join(a.classes[labels[0]])}"'
    b = Chain([[[1.0]] * 2], [["cat", "dog"]])
    assert b.describe(0, b.truth[0]) == "labels cat dog"


def test_tiny_instances_are_enumerable():
    for seed in range(20):
        problem = Chain.tiny(np.random.default_rng(seed))
        assert all(len(problem.outputs(i)) <= 27 for i in range(problem.n_samples))
        assert problem.n_features == problem.n_classes * (problem.n_inputs + problem.n_classes * problem.n_pairs)
    draws = [Chain.tiny(np.random.default_rng(seed)).paired for seed in range(60)]
    draws += [Chain.random(np.random.default_rng(seed), 3, 2, 3).paired for seed in range(60)]
    assert 20 < sum(draws) < 60


def test_synthetic_chain_is_seeded_and_learnable_only_by_both_parts():
    from workbench.data.loading import load_problem

    build = load_problem("synthetic-chain")
    a, b, c = build(seed=1), build(seed=1), build(seed=2)
    assert np.array_equal(a.letters.data, b.letters.data)
    assert not np.array_equal(a.labels[:20], c.labels[:20])
    assert a.exact_features
    k = a.n_classes
    letters_only = np.concatenate([np.hstack([np.eye(k), np.zeros((k, 1))]).ravel(), np.zeros(k * k)])
    both = letters_only.copy()
    both[-k * k :] = np.roll(np.eye(k), 1, axis=1).ravel()
    every = np.arange(a.n_samples)
    wrong = [a.loss(every, a.argmax(w, every, augment=False)).mean() for w in (letters_only, both)]
    assert wrong[1] < wrong[0] < 0.6
    with pytest.raises(wb.BadInput, match="labels=1"):
        build(labels=1)


# ── bad input ─────────────────────────────────────────────────────────────────────────────────────

GOOD, Y = [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]], [[0, 1], [1]]

BAD = {
    "no list": ((5, Y), {}, "The sequences are not a list"),
    "one matrix": ((sparse.eye_array(3), Y), {}, "The sequences are not a list"),
    "none": (([], []), {}, "There are no sequences"),
    "ragged": (([GOOD[0], [[1.0], [2.0, 3.0]]], Y), {}, "Sequence 1 is ragged, its rows have 1 to 2 features"),
    "empty": (([GOOD[0], []], Y), {}, "Sequence 1 is empty; remove it."),
    "empty array": (([GOOD[0], np.empty((0, 2))], Y), {}, "Sequence 1 is empty; remove it."),
    "no features": (([np.empty((2, 0)), np.empty((1, 0))], Y), {}, r"Sequence 0 has shape \(2, 0\)"),
    "flat": (([[1.0, 2.0], [3.0]], Y), {}, r"Sequence 0 has shape \(2,\)"),
    "scalar": (([GOOD[0], 3.0], Y), {}, r"Sequence 1 has shape \(\)"),
    "words": (([GOOD[0], [["a", "b"]]], Y), {}, "Sequence 1 is not a numeric"),
    "complex": (([GOOD[0], np.array([[1j, 2]])], Y), {}, "Sequence 1 holds complex"),
    "widths": (([GOOD[0], [[1.0]]], Y), {}, "Sequence 1 has 1 features per position but sequence 0 has 2"),
    "nan": (([GOOD[0], [[1.0, np.nan]]], Y), {}, "Feature 1 at position 0 of sequence 1 is nan"),
    "inf": (([[[1, 2], [np.inf, 1]], GOOD[1]], Y), {}, "Feature 0 at position 1 of sequence 0 is inf"),
    "label count": ((GOOD, [[0, 1]]), {}, "There are 2 sequences but 1 label sequences"),
    "no labels": ((GOOD, None), {}, "There are 2 sequences but no list of label sequences"),
    "label length": ((GOOD, [[0, 1], [1, 0]]), {}, "Sequence 1 has 1 positions but its labels have shape"),
    "label ragged": ((GOOD, [[0, 1], [[1], [2, 3]]]), {}, "Sequence 1 has 1 positions but its labels have shape"),
    "label kind": ((GOOD, Y), {"classes": list("ab")}, "Label 0 at position 0 of sequence 0 is not among"),
    "label nan": ((GOOD, [[0, 1], [np.nan]]), {}, "The label at position 0 of sequence 1 is missing"),
    "unknown": ((GOOD, [[0, 1], [7]]), {"classes": [0, 1]}, "Label 7 at position 0 of sequence 1 is not among"),
    "unknown word": ((GOOD, ["ab", "q"]), {"classes": list("ab")}, "Label 'q' at position 0 of sequence 1"),
    "one label": ((GOOD, [[1, 1], [1]]), {}, "All labels are 1; a learning problem needs at least two"),
    "loss": ((GOOD, Y), {"loss": "zero-one"}, "There is no loss called 'zero-one' for chains"),
    "cost": ((GOOD, Y), {"cost": np.eye(2)}, "The cost matrix must be finite and non-negative"),
    "cost shape": ((GOOD, Y), {"cost": np.eye(3)}, "The cost matrix has shape"),
    "weights": ((GOOD, Y), {"weights": [1.0, -1.0]}, "Sample weights must be finite"),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_bad_input_is_one_sentence_that_names_the_place(case):
    arguments, options, message = BAD[case]
    with pytest.raises(wb.BadInput, match=message) as caught:
        Chain(*arguments, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith((".", "`."))


def test_refusals():
    long = Chain([np.ones((30, 1))], [[0, 1] * 15])
    with pytest.raises(wb.MissingCapability, match=r"Sequence 0 has 2\^30 labellings"):
        long.outputs(0)
    half = Chain(GOOD, Y, cost=[[0, 0.5], [1, 0]])
    with pytest.raises(wb.MissingCapability, match="integer costs"):
        half.slack_argmax(np.zeros(half.n_features), np.arange(2))
    with pytest.raises(wb.BadInput, match="3 features per position but the weights were learned on 2"):
        half.predict(np.zeros(half.n_features), [np.ones((2, 3))])


def nearly_tied(rng, loss):
    """A chain and weights whose labels score alike but for the last bits: the same numbers in another order."""
    k, p, length = int(rng.integers(2, 4)), int(rng.integers(2, 30)), int(rng.integers(2, 40))
    problem = Chain([np.ones((length, p)), np.ones((1, p))], [rng.integers(0, k, length), [0]], loss, classes=range(k))
    numbers = rng.normal(size=p) * 10.0 ** rng.integers(-6, 3, p)
    w = np.concatenate([*(rng.permutation(numbers) for _ in range(k)), np.zeros(k * k)])
    w[rng.integers(0, k * p, k)] *= 1 + 2.0**-52
    return problem, w


def test_the_argmax_misses_no_more_than_its_depth_of_roundings():
    rng, missed = np.random.default_rng(8), 0
    for turn in range(60):
        problem, w = nearly_tied(rng, LOSSES[turn % 2])
        oracle, everyone = MarginRescaling(problem), np.arange(2)
        assert isinstance(problem, Nested)
        found = oracle.argmax(w, everyone)
        exact = oracle.exact()
        slopes, losses = exact.rows(everyone, found)
        highest = exact.highest(ratios(w), everyone).fractions()
        given = [each + loss for each, loss in zip(dotted(slopes, w), losses.fractions(), strict=True)]
        short = [most - value for most, value in zip(highest, given, strict=True)]
        assert all(0 <= miss <= Fraction(bound) for miss, bound in zip(short, oracle.rounding(w).tolist(), strict=True))
        missed += max(short) > 0
    assert missed > 5


def dotted(slopes, w):
    """⟨a_i, w⟩ of exact rows a, as fractions."""
    sums = [Fraction(0), Fraction(0)]
    for row, column, value in zip(slopes.rows.tolist(), slopes.columns.tolist(), slopes.values.tolist(), strict=True):
        sums[row] += Fraction(int(value), int(slopes.unit)) * Fraction(float(w[column]))
    return sums


def test_the_depth_is_that_of_the_widest_letter_and_of_the_length():
    sparse_letters = [sparse.csr_array(np.eye(4)[:3]), sparse.csr_array([[1.0, 1.0, 0.0, 1.0]])]
    plain = Chain(sparse_letters, [[0, 1, 0], [1]])
    assert plain.depth.tolist() == [1 + 4 * 3 + 8, 3 + 4 + 8]
    paired = Chain(sparse_letters, [[0, 1, 0], [1]], pairs=[np.ones((2, 2)), np.empty((0, 2))])
    assert paired.depth.tolist() == [2 * paired.terms + 8] * 2
