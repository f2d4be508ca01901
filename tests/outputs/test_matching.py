"""Matching: every route to the heaviest matching against enumeration, φ and ℓ against loops, the compact form."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linear_sum_assignment

import workbench as wb
from workbench.arithmetic.compiled import available, compiled, compiled_kernel
from workbench.arithmetic.rationals import ratios
from workbench.contracts import Cuts
from workbench.outputs import _exact_matching, _matching_compact, _matching_kernel
from workbench.outputs._parts import summed_exactly
from workbench.outputs.matching import (
    Matching,
    heaviest_matching,
    heaviest_rival,
    links_of,
    nearest_matching,
)
from workbench.proofs.bounds import Bounds
from workbench.proofs.verify import verify

seeds = st.integers(0, 2**32 - 1)


def matchings(rows, columns):
    """All matchings of a rows × columns table as sets of links, by choosing rows, then columns for them."""
    for size in range(min(rows, columns) + 1):
        for chosen in itertools.combinations(range(rows), size):
            for partners in itertools.permutations(range(columns), size):
                yield frozenset(zip(chosen, partners, strict=True))


def links(mates):
    return frozenset((j, int(k)) for j, k in enumerate(mates) if k >= 0)


def weight(gains, y):
    return sum(gains[j, k] for j, k in y)


def is_matching(y):
    return len({j for j, _ in y}) == len(y) == len({k for _, k in y})


def random_gains(rng, most=4, integers=None):
    shape = rng.integers(1, most + 1, 2)
    integers = rng.random() < 0.5 if integers is None else integers
    return rng.integers(-2, 3, shape).astype(float) if integers else rng.normal(size=shape)


def random_matching(rng, integers=False, n=None, most=4, separable=False):
    """A small problem; whole features (with whole weights) make many ties."""
    n, d = n or int(rng.integers(1, 5)), int(rng.integers(1, 4))
    features = [
        rng.integers(-1, 2, (j, k, d)).astype(float) if integers else rng.normal(size=(j, k, d))
        for j, k in rng.integers(1, most + 1, (n, 2))
    ]
    hidden = rng.normal(size=d)
    gold = [
        links_of(heaviest_matching(x @ hidden))
        if separable
        else nearest_matching(np.argwhere(rng.random(x.shape[:2]) < 0.4), x.shape[:2])
        for x in features
    ]
    costs = rng.integers(1, 4, 2) if integers else rng.uniform(0.2, 3, 2)
    weights = rng.integers(1, 4, n) if rng.random() < 0.3 else None
    return Matching(features, gold, *costs, weights), features, [frozenset(map(tuple, g.tolist())) for g in gold]


def kernels(problem):
    yield problem.kernel()
    if available():
        yield compiled_kernel(problem.kernel())


# ── the heaviest matching ─────────────────────────────────────────────────────────────────────────


def test_heaviest_matchings_and_their_rivals_equal_enumeration():
    rng = np.random.default_rng(1)
    for _ in range(2500):
        gains = random_gains(rng)
        table = {y: weight(gains, y) for y in matchings(*gains.shape)}
        found = links(heaviest_matching(gains))
        assert is_matching(found)
        assert table[found] == pytest.approx(max(table.values()), abs=1e-12)
        assert all(gains[link] > 0 for link in found)
        other = list(table)[rng.integers(len(table))] if rng.random() < 0.7 else found
        mates = np.full(len(gains), -1)
        for j, k in other:
            mates[j] = k
        rival = links(heaviest_rival(gains, mates))
        best = max(value for y, value in table.items() if y != other)
        assert rival != other
        assert table[rival] == pytest.approx(best, abs=1e-12)
        whole = np.round(64 * gains).astype(int).astype(object)
        exact = {y: weight(whole, y) for y in table}
        assert _exact_matching.heaviest(whole) == max(exact.values())
        assert _exact_matching.heaviest_rival(whole, mates) == max(v for y, v in exact.items() if y != other)


TABLES = {
    "reals": lambda rng, shape: rng.normal(size=shape),
    "few values": lambda rng, shape: rng.integers(-1, 3, shape) * 1.0,
    "one value": lambda rng, shape: np.full(shape, 1.5),
    "sparse": lambda rng, shape: rng.random(shape) * (rng.random(shape) < 0.1),
    "huge and small": lambda rng, shape: rng.choice([1e12, 1.0, 1e-12], shape) * rng.integers(-1, 2, shape),
    "no gain": lambda rng, shape: -rng.random(shape),
}


@pytest.mark.parametrize("kind", TABLES)
def test_the_hungarian_kernel_equals_scipy(kind):
    """One sample, one feature that is the gain itself: shapes up to 25 × 25, ties and degenerate tables."""
    rng = np.random.default_rng(len(kind))
    argmax = [*kernels(one_table(np.ones((2, 2))))][-1].argmax_into
    for _ in range(400):
        shape = rng.integers(1, 26 if available() else 7, 2)
        gains = TABLES[kind](rng, shape)
        problem, out = one_table(gains), np.empty(shape[0], np.int64)
        value = argmax(problem.kernel(augment=False).data, np.ones(1), 0, out)
        rows, columns = linear_sum_assignment(np.maximum(gains, 0), maximize=True)
        near = {"abs": 1e-13 * len(gains) * np.abs(gains).max()}
        assert value == pytest.approx(np.maximum(gains, 0)[rows, columns].sum(), **near)
        for found in (out, heaviest_matching(gains)):
            assert is_matching(links(found))
            assert weight(gains, links(found)) == pytest.approx(value, **near)


def one_table(gains):
    return Matching([gains[:, :, None]], [[]])


@pytest.mark.parametrize("power", [-300, 0, 90])
def test_gains_on_their_grid_make_the_search_exact(power):
    """Where all gains are equal to a few last bits, the optimum is still found to the declared rounding."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        shape = rng.integers(2, 5, 2)
        gains = (1 + rng.integers(0, 5, shape) * 2.0**-52) * 10.0**power
        problem = one_table(gains)
        fractions = {(j, k): Fraction(gains[j, k]) for j, k in np.ndindex(*shape)}
        values = {y: sum((fractions[link] for link in y), Fraction(0)) for y in matchings(*shape)}
        missed = max(values.values()) - values[links(heaviest_matching(gains))]
        assert 0 <= missed <= wb.SoftMargin().oracle(problem).rounding(np.ones(1))[0]


def test_weights_of_a_cover_bound_every_matching_whatever_was_found():
    """The exact decoder returns a dual value: it is the optimum also where tables are large."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        shape = rng.integers(1, 14, 2)
        whole = rng.integers(-50, 50, shape)
        rows, columns = linear_sum_assignment(np.maximum(whole, 0), maximize=True)
        best = int(np.maximum(whole, 0)[rows, columns].sum())
        assert _exact_matching.heaviest(whole.astype(object) * 3**200) == best * 3**200


@given(seed=seeds)
def test_every_argmax_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    problem, features, gold = random_matching(rng, integers=bool(seed % 2), most=3)
    w = rng.integers(-2, 3, problem.n_features) * 1.0 if seed % 2 else rng.normal(size=problem.n_features)
    every = np.arange(problem.n_samples)
    plain, augmented, rivals = (
        problem.argmax(w, every, augment=False),
        problem.argmax(w, every),
        problem.runner_up(w, every),
    )
    exact = problem.exact()
    margins, gaps = (f(ratios(w), every).fractions() for f in (exact.margin, exact.rival))
    for i in every:
        gains = features[i] @ w
        score = {y: weight(gains, y) for y in matchings(*gains.shape)}
        loss = {y: problem.false_positive * len(y - gold[i]) + problem.false_negative * len(gold[i] - y) for y in score}
        hinge = max(loss[y] + score[y] for y in score)
        assert score[links(plain[i])] == pytest.approx(max(score.values()), abs=1e-10)
        assert loss[links(augmented[i])] + score[links(augmented[i])] == pytest.approx(hinge, abs=1e-10)
        rival = max(value for y, value in score.items() if y != gold[i])
        assert links(rivals[i]) != gold[i]
        assert score[links(rivals[i])] == pytest.approx(rival, abs=1e-10)
        assert float(margins[i]) == pytest.approx(hinge - score[gold[i]], abs=1e-10)
        assert float(gaps[i]) == pytest.approx(rival - score[gold[i]], abs=1e-10)
        for kernel in kernels(problem):
            out = np.full(problem.width, 7, np.int64)
            value = kernel.argmax_into(kernel.data, w, i, out)
            assert value == pytest.approx(hinge - score[gold[i]], abs=1e-10)
            assert loss[links(out)] + score[links(out)] == pytest.approx(hinge, abs=1e-10)
            assert (out[len(gains) :] == -1).all()


def test_a_batch_equals_its_parts_in_any_order():
    rng = np.random.default_rng(5)
    problem, _, _ = random_matching(rng, n=9)
    w, samples = rng.normal(size=problem.n_features), rng.integers(0, 9, 14)
    for argmax in (problem.argmax, problem.runner_up, lambda w, s: problem.argmax(w, s, augment=False)):
        assert np.array_equal(argmax(w, samples), argmax(w, np.arange(9))[samples])


# ── features, loss, kernel ────────────────────────────────────────────────────────────────────────


@given(seed=seeds)
def test_features_loss_and_sizes_follow_their_formulas(seed):
    rng = np.random.default_rng(seed)
    problem, features, gold = random_matching(rng)
    losses, exact = [], problem.exact()
    for i in range(problem.n_samples):
        outputs = problem.outputs(i)
        batch = np.full(len(outputs), i)
        sets = [links(y) for y in outputs]
        assert sorted(map(sorted, sets)) == sorted(map(sorted, matchings(*features[i].shape[:2])))
        phi, loss = problem.features(batch, outputs), problem.loss(batch, outputs)
        expected = [sum((features[i][link] for link in y), np.zeros(problem.n_features)) for y in sets]
        np.testing.assert_allclose(phi.toarray(), expected, atol=1e-12)
        costs = [problem.false_positive * len(y - gold[i]) + problem.false_negative * len(gold[i] - y) for y in sets]
        np.testing.assert_allclose(loss, costs, atol=1e-12)
        np.testing.assert_allclose([float(x) for x in exact.loss(batch, outputs).fractions()], loss, atol=1e-12)
        assert (abs(phi).sum(axis=1) <= problem.magnitude[i]).all()
        assert (loss <= problem.max_loss[i]).all()
        losses += loss[loss > 0].tolist()
        assert exact.fault(batch, outputs) is None
    assert problem.least_loss == pytest.approx(min(losses))


def test_kernel_slopes_are_the_difference_of_features():
    rng = np.random.default_rng(6)
    for _ in range(40):
        problem, _, _ = random_matching(rng)
        for kernel in kernels(problem):
            for i in range(problem.n_samples):
                outputs = problem.outputs(i)
                y, sample = outputs[rng.integers(len(outputs))], np.array([i])
                slope = (problem.features(sample, y[None]) - problem.truth_features[sample]).toarray()[0]
                theta = np.zeros(problem.n_features)
                kernel.add_slope(kernel.data, i, y, -2.5, theta)
                np.testing.assert_allclose(theta, -2.5 * slope, atol=1e-12)
                indices, values = np.empty(99, np.int64), np.empty(99)
                count = _matching_kernel.slope_into(kernel.data, i, y, indices, values)
                dense = np.bincount(indices[:count], values[:count], problem.n_features)
                np.testing.assert_allclose(dense, slope, atol=1e-12)


@pytest.mark.skipif(not available(), reason="numba is not installed")
def test_compiled_and_interpreted_kernels_agree_to_the_last_bit():
    from numba import typeof, types

    rng = np.random.default_rng(7)
    problem, _, _ = random_matching(rng, n=6, most=6)
    plain, fast = problem.kernel(), compiled_kernel(problem.kernel())
    numbers = types.int64[::1], types.int64[::1], types.float64[::1]
    slope = compiled(_matching_kernel.slope_into, types.int64(typeof(plain.data), types.int64, *numbers))
    theta, outs = rng.normal(size=problem.n_features), np.empty((2, problem.width), np.int64)
    other = theta.copy()
    for i in rng.integers(0, 6, 60):
        values = [k.argmax_into(k.data, t, i, o) for k, t, o in zip((plain, fast), (theta, other), outs, strict=True)]
        for k, t, o in zip((plain, fast), (theta, other), outs, strict=True):
            k.add_slope(k.data, i, o, -0.37, t)
        assert values[0] == values[1]
        assert np.array_equal(*outs)
        assert np.array_equal(theta, other)
        entries = [(np.zeros(99, np.int64), np.zeros(99)) for _ in range(2)]
        counts = [
            f(plain.data, i, outs[0], *e) for f, e in zip((_matching_kernel.slope_into, slope), entries, strict=True)
        ]
        assert counts[0] == counts[1]
        assert all(np.array_equal(a, b) for a, b in zip(*entries, strict=True))


def test_sums_are_called_exact_only_where_they_are():
    assert summed_exactly(np.array([1.0, 2.0, 1 / 1024]), 100.0)
    assert not summed_exactly(np.array([0.1]), 100.0)
    assert not summed_exactly(np.array([1.0]), 2.0**53)
    assert Matching([[[[0.5]]]], [[]]).exact_features
    assert not Matching([[[[0.1]]]], [[]]).exact_features
    assert Matching([[[[0.5]]]], [[]], 0.75, 3).exact_loss
    assert not Matching([[[[0.5]]]], [[]], 0.1).exact_loss


# ── relations that need no reference ──────────────────────────────────────────────────────────────


@given(seed=seeds)
def test_transposing_permuting_and_tabulating_change_nothing(seed):
    rng = np.random.default_rng(seed)
    a, features, gold = random_matching(rng, n=3)
    w, form = rng.normal(size=a.n_features), wb.SoftMargin(lam=0.3)
    costs = a.false_positive, a.false_negative
    turned = Matching(
        [x.transpose(1, 0, 2) for x in features], [[(k, j) for j, k in y] for y in gold], *costs, a.weights
    )
    orders = [(rng.permutation(x.shape[0]), rng.permutation(x.shape[1])) for x in features]
    moved = Matching(
        [x[np.ix_(*order)] for x, order in zip(features, orders, strict=True)],
        [
            [(int(np.argsort(rows)[j]), int(np.argsort(columns)[k])) for j, k in y]
            for y, (rows, columns) in zip(gold, orders, strict=True)
        ],
        *costs,
        a.weights,
    )
    flat = [sparse.csc_matrix(x.reshape(-1, a.n_features)) for x in features]
    tabled = Matching(flat, [sorted(y) for y in gold], *costs, a.weights, shapes=[x.shape[:2] for x in features])
    assert {k: v.tobytes() for k, v in tabled.arrays().items()} == {k: v.tobytes() for k, v in a.arrays().items()}
    risks = [Bounds(form, problem).upper(w) for problem in (a, turned, moved)]
    assert risks == pytest.approx([risks[0]] * 3, rel=1e-12)


def test_scaled_losses_and_scaled_features_scale_the_optimum():
    rng = np.random.default_rng(8)
    _, features, sets = random_matching(rng, n=5)
    gold = [sorted(y) for y in sets]
    one = wb.solve(wb.SoftMargin(lam=0.2), Matching(features, gold, 1, 2), gap=1e-10)
    losses = wb.solve(wb.SoftMargin(lam=0.05), Matching(features, gold, 4, 8), gap=1e-10)
    scaled = wb.solve(wb.SoftMargin(lam=0.8), Matching([2 * x for x in features], gold, 1, 2), gap=1e-10)
    assert losses.upper == pytest.approx(4 * one.upper, rel=1e-8)
    assert scaled.upper == pytest.approx(one.upper, rel=1e-8)


def test_one_row_is_multiclass_with_a_label_for_no_link():
    rng = np.random.default_rng(9)
    features = [rng.normal(size=(1, 3, 2)) for _ in range(6)]
    labels = rng.integers(0, 4, 6)
    problem = Matching(features, [[(0, k)] if k < 3 else [] for k in labels], 1, 1)
    w = rng.normal(size=2)
    for i, mates in enumerate(problem.argmax(w, np.arange(6))):
        scores = np.append(features[i][0] @ w, 0.0)
        cost = np.where(np.arange(4) == 3, 1.0, 2.0) if labels[i] < 3 else np.ones(4)
        cost[labels[i]] = 0.0
        assert mates[0] % 4 == (scores + cost).argmax()


# ── compact form, certificates ────────────────────────────────────────────────────────────────────

TIGHT = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


@pytest.mark.parametrize("seed", range(8))
def test_compact_equals_enumeration_and_cutting_planes_and_its_duals_certify_it(seed):
    import cvxpy as cp

    rng = np.random.default_rng(100 + seed)
    problem, features, gold = random_matching(rng, n=4, most=1 if seed == 0 else 4)
    formulation = wb.SoftMargin(lam=float(10 ** rng.uniform(-2, 0)), declare="compact")
    program, w, atoms = formulation.compact_program(problem)
    best = program.solve(solver=cp.CLARABEL, **TIGHT)

    theta, xi, constraints = cp.Variable(problem.n_features), cp.Variable(4), []
    for i, x in enumerate(features):
        for y in matchings(*x.shape[:2]):
            loss = problem.false_positive * len(y - gold[i]) + problem.false_negative * len(gold[i] - y)
            phi = [sum((x[link] for link in z), np.zeros(problem.n_features)) for z in (y, gold[i])]
            slope = phi[0] - phi[1]
            constraints.append(xi[i] >= slope @ theta + loss)
    share = problem.weights / problem.weights.sum()
    listed = cp.Problem(cp.Minimize(formulation.lam / 2 * cp.sum_squares(theta) + share @ xi), constraints)
    assert best == pytest.approx(listed.solve(solver=cp.CLARABEL, **TIGHT), rel=1e-8, abs=1e-10)
    assert best == pytest.approx(wb.solve(wb.SoftMargin(lam=formulation.lam), problem, gap=1e-10).upper, rel=1e-8)

    samples, witnesses, weights = atoms()
    assert (weights >= 0).all()
    bounds, cuts = Bounds(formulation, problem), Cuts(problem.n_features, problem.width)
    ids = cuts.add(samples, witnesses, bounds.oracle.rows)
    lower, upper = bounds.lower(cuts, np.bincount(ids, weights, len(cuts))), bounds.upper(w.value)
    assert lower <= upper
    assert best - lower <= 1e-7 * max(1, abs(best))
    assert upper - best <= 1e-7 * max(1, abs(best))


def test_mixtures_are_peeled_into_matchings_with_the_same_mean():
    rng = np.random.default_rng(11)
    for shape in ((1, 1), (3, 5), (7, 4), (6, 6)):
        mean, total = np.zeros(shape), 0.7
        for share in total * rng.dirichlet(np.ones(8)):
            for link in links(heaviest_matching(rng.normal(size=shape))):
                mean[link] += share
        again, weights = np.zeros(shape), []
        for mates, share in _matching_compact.mixture(mean, total - mean.sum(axis=1), total - mean.sum(axis=0)):
            assert is_matching(links(mates))
            for link in links(mates):
                again[link] += share
            weights.append(share)
        np.testing.assert_allclose(again, mean, atol=1e-9)
        assert sum(weights) == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("name", ["soft-margin", "hard-margin"])
def test_certificates_verify_in_rational_arithmetic(name, tmp_path):
    problem, _, _ = random_matching(np.random.default_rng(12), n=5, separable=True)
    formulation = {"soft-margin": wb.SoftMargin(lam=0.1), "hard-margin": wb.registry("formulation").get(name)()}[name]
    solution = wb.solve(formulation, problem, gap=1e-9)
    proof = verify(solution.certificate.save(tmp_path / name))
    assert proof["proven"]
    assert proof["arithmetic"] == "rational"
    assert proof["gap"] <= 1e-9


def test_faulty_witnesses_are_seen():
    problem = Matching([np.ones((2, 3, 1)), np.ones((1, 2, 1))], [[(0, 0)], []])
    exact, samples = problem.exact(), np.array([0, 1])
    good = np.array([[2, -1], [1, -1]])
    assert exact.fault(samples, good) is None
    for i, row in ((0, [0, 0]), (0, [3, -1]), (0, [-2, 0]), (1, [2, -1]), (1, [0, 1])):
        wrong = good.copy()
        wrong[i] = row
        assert exact.fault(samples, wrong) == i, row


# ── files, prediction, words ──────────────────────────────────────────────────────────────────────


def test_arrays_rebuild_the_problem(tmp_path):
    problem, _, _ = random_matching(np.random.default_rng(13), n=5)
    np.savez(tmp_path / "a.npz", **problem.arrays())
    with np.load(tmp_path / "a.npz", allow_pickle=False) as file:
        again = Matching.from_arrays(dict(file))
    assert {k: v.tobytes() for k, v in again.arrays().items()} == {k: v.tobytes() for k, v in problem.arrays().items()}


def test_prediction_gives_links_and_words_name_them():
    rng = np.random.default_rng(14)
    problem, features, _ = random_matching(rng, n=5)
    w = rng.normal(size=problem.n_features)
    for found, mates in zip(problem.predict(w, features), problem.argmax(w, np.arange(5), augment=False), strict=True):
        assert links(mates) == {tuple(link) for link in found.tolist()}
    with pytest.raises(wb.BadInput, match="The edges have 9 features but the weights were learned on"):
        problem.predict(w, [np.ones((2, 2, 9))])
    small = Matching([np.ones((2, 3, 1))], [[(1, 2), (0, 0)]])
    assert small.describe(0, small.truth[0]) == "links 0-0 1-2"
    assert small.describe(0, np.array([-1, -1])) == "no links"


def test_nearest_matchings_are_largest_and_near_the_diagonal():
    rng = np.random.default_rng(15)
    for _ in range(400):
        rows, columns = rng.integers(1, 5, 2)
        given_links = np.argwhere(rng.random((rows, columns)) < 0.5)
        found = frozenset(map(tuple, nearest_matching(given_links, (rows, columns)).tolist()))
        inside = [y for y in matchings(rows, columns) if y <= frozenset(map(tuple, given_links.tolist()))]
        largest = max(map(len, inside))
        far = {y: sum(abs(j * columns - k * rows) for j, k in y) for y in inside if len(y) == largest}
        assert far[found] == min(far.values())
    assert nearest_matching([(2, 1), (0, 3)], (3, 4)).tolist() == [[0, 3], [2, 1]]
    assert wb.nearest_matching([], (3, 4)).shape == (0, 2)


# ── bad input ─────────────────────────────────────────────────────────────────────────────────────

X = [np.ones((2, 3, 2)), np.ones((1, 2, 2))]
GOLD = [[(0, 0)], []]

BAD = {
    "no list": ((5, GOLD), {}, "The edge features are not a list"),
    "no samples": (([], []), {}, "There are no samples"),
    "flat": (([np.ones((2, 3)), X[1]], GOLD), {}, r"sample 0 have shape \(2, 3\); give \(J, K, d\)"),
    "empty": (([X[0], np.ones((0, 2, 2))], GOLD), {}, r"sample 1 have shape \(0, 2, 2\)"),
    "ragged": (([[[[1, 2]], [[1]]], X[1]], GOLD), {}, "sample 0 are ragged or not numbers"),
    "words": (([[[["a"]]], X[1]], GOLD), {}, "sample 0 are ragged or not numbers"),
    "complex": (([X[0] * 1j, X[1]], GOLD), {}, "sample 0 are complex"),
    "widths differ": (([X[0], np.ones((1, 2, 3))], GOLD), {}, "Sample 1 has 3 features per edge but sample 0 has 2"),
    "sparse": (([sparse.eye_array(6), X[1]], GOLD), {}, "sample 0 are sparse; give `shapes`"),
    "bad shapes": ((X, GOLD), {"shapes": [(2, 3)]}, "The shapes are not 2 pairs"),
    "wrong shapes": (([np.ones((5, 2)), np.ones((2, 2))], GOLD), {"shapes": [(2, 3), (1, 2)]}, r"give \(6, d\)"),
    "no gold": ((X, None), {}, "There are 2 samples but no list of links"),
    "too few": ((X, [[]]), {}, "There are 2 samples but 1 lists of links"),
    "outside": ((X, [[(2, 0)], []]), {}, r"Link \(2, 0\) of sample 0 lies outside its 2 × 3 edges"),
    "negative": ((X, [[], [(0, -1)]]), {}, r"Link \(0, -1\) of sample 1 lies outside"),
    "twice": ((X, [[(0, 1), (0, 1)], []]), {}, r"Link \(0, 1\) of sample 0 is given twice"),
    "row shared": ((X, [[(0, 1), (0, 2)], []]), {}, "sample 0 are no matching: row 0 has 2 of them"),
    "column shared": ((X, [[(0, 1), (1, 1)], []]), {}, "column 1 has 2 of them; drop some, take nearest_matching"),
    "no pairs": ((X, [[(0, 1, 2)], []]), {}, "give pairs"),
    "fractions": ((X, [[(0.5, 1.0)], []]), {}, "give pairs"),
    "ragged links": ((X, [[(0, 1), (1,)], []]), {}, "The links of sample 0 are ragged"),
    "free": ((X, GOLD), {"false_positive": 0}, "false_positive is 0; it must be positive"),
    "infinite": ((X, GOLD), {"false_negative": np.inf}, "false_negative is inf"),
    "no number": ((X, GOLD), {"false_negative": "a"}, "false_negative is 'a'"),
    "weights": ((X, GOLD), {"weights": [1]}, "2 samples but the weights have shape"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(case):
    given_parts, settings, message = BAD[case]
    with pytest.raises(wb.BadInput, match=message) as caught:
        Matching(*given_parts, **settings)
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_none_are_located(value):
    features = [x.copy() for x in X]
    features[1][0, 1, 1] = value
    with pytest.raises(wb.BadInput, match=rf"Feature 1 of edge \(0, 1\) of sample 1 is {value}"):
        Matching(features, GOLD)


def test_what_is_missing_says_so():
    problem = Matching([np.ones((9, 9, 1))], [[]])
    with pytest.raises(wb.MissingCapability, match="9 × 9 edges, too many matchings to list"):
        problem.outputs(0)
    with pytest.raises(wb.MissingCapability, match="slack rescaling needs slack_argmax and Matching has none"):
        wb.SoftMargin(rescaling="slack").oracle(problem)
