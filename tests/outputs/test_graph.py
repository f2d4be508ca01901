"""Graph and Tree: cuts and max-sum against enumeration, chains and a linear program; what inexact oracles bound."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

import workbench as wb
from workbench.arithmetic.compiled import available, compiled_kernel
from workbench.arithmetic.rationals import ratios
from workbench.objectives.regularizers import SignedNorm
from workbench.outputs._graph.labels import SHARES, relaxed
from workbench.outputs.graph import Graph
from workbench.outputs.tree import Tree


def admitted(problem, rng, whole=False):
    w = rng.integers(-2, 3, problem.n_features) * 1.0 if whole else rng.normal(size=problem.n_features)
    return np.where(problem.signed, np.abs(w), w) if isinstance(problem, Graph) else w


def score(problem, w, i, y):
    """⟨w, φ(x_i, y)⟩ node by node and edge by edge."""
    k, p = problem.n_classes, problem.n_inputs
    W, A, first = w[: k * p].reshape(k, p), w[k * p :].reshape(-1, problem.n_pairs), problem.offsets[i]
    X = problem.nodes.toarray()
    total = sum(float(W[y[v]] @ X[first + v]) for v in range(problem.sizes[i]))
    for e in range(problem.ends[i], problem.ends[i + 1]):
        a, b = (int(y[v]) for v in problem.edges[e])
        if isinstance(problem, Tree):
            total += float(A[a * k + b] @ problem.pairs[e])
        elif a == b:
            total += float(A[0] @ problem.pairs[e])
    return total


@pytest.mark.parametrize("kind", [Graph, Tree])
def test_oracles_equal_a_scan_with_scores_by_loops(kind):
    rng = np.random.default_rng(0)
    for _ in range(25):
        problem = kind.random(rng, 3, 4, 2)
        w, everyone = admitted(problem, rng, whole=bool(rng.random() < 0.5)), np.arange(3)
        exact = problem.exact().margin(ratios(w), everyone).fractions()
        for augment in (False, True):
            found = problem.argmax(w, everyone, augment)
            for i in range(3):
                outputs = problem.outputs(i)
                values = [score(problem, w, i, y) for y in outputs]
                if augment:
                    truth = problem.truth[i, : problem.sizes[i]]
                    values += (
                        np.array([problem.cost[truth, y[: len(truth)]].sum() for y in outputs]) / problem.divisors[i]
                    )
                at = int((outputs == found[i]).all(axis=1).argmax())
                assert values[at] == pytest.approx(max(values), abs=1e-9)
            hinge = max(values) - score(problem, w, 2, problem.truth[2])
        assert float(exact[2]) == pytest.approx(hinge, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_a_chain_is_a_tree_of_parents_one_before(seed):
    rng = np.random.default_rng(seed)
    lengths, k = rng.integers(1, 7, 3), int(rng.integers(2, 4))
    letters = [np.round(8 * rng.normal(size=(t, 2))) / 8 for t in lengths]
    truth = [rng.integers(0, k, t) for t in lengths]
    chain = wb.Chain(letters, truth, classes=np.arange(k))
    backward = [np.stack([np.arange(t - 1), np.arange(1, t)], axis=1) for t in lengths]
    tree = Tree(letters, backward, truth, classes=np.arange(k))
    w, everyone = rng.normal(size=chain.n_features), np.arange(3)
    np.testing.assert_array_equal(tree.argmax(w, everyone), chain.argmax(w, everyone))
    one, other = (each.exact().margin(ratios(w), everyone).fractions() for each in (chain, tree))
    assert list(one) == list(other)
    weights = rng.random(3)
    pairs = [each.marginals().evaluate(w, everyone, weights) for each in (chain, tree)]
    for a, b in zip(*pairs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_any_root_gives_the_same_maxima():
    """The same tree hung from another node, its tables transposed where an edge turns round."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        size, k = 6, 3
        x, truth = rng.normal(size=(size, 2)), rng.integers(0, k, size)
        undirected = [(int(rng.integers(0, v)), v) for v in range(1, size)]
        w = rng.normal(size=k * 2 + k * k)
        root, known, values = int(rng.integers(size)), [], []
        for start in (0, root):
            edges, seen = [], [start]
            while len(edges) < size - 1:
                edges += [(a, b) for u, v in undirected for a, b in ((u, v), (v, u)) if a in seen and b not in seen][:1]
                seen.append(edges[-1][1])
            known.append(edges)
        for edges in known:
            same = [1.0 if (u, v) in undirected else 0.0 for u, v in edges]
            turned = np.column_stack([same, 1 - np.array(same)])
            tree = Tree([x], [np.array(edges)], [truth], [turned], classes=np.arange(k))
            A = w[2 * k :].reshape(k, k)
            both = np.stack([A, A.T], axis=2).ravel()
            theta = np.concatenate([w[: 2 * k], both])
            best = tree.argmax(theta, np.array([0]))
            values.append((tree.features(np.array([0]), best) @ theta + tree.loss(np.array([0]), best))[0])
        assert values[0] == pytest.approx(values[1], abs=1e-9)


@pytest.mark.skipif(not available(), reason="numba is absent")
@pytest.mark.parametrize("kind", [Graph, Tree])
def test_compiled_and_interpreted_kernels_agree_to_the_last_bit(kind):
    rng = np.random.default_rng(5)
    for _ in range(30):
        problem = kind.random(rng, 3, 4, 3)
        w, plain, fast = admitted(problem, rng), problem.kernel(), compiled_kernel(problem.kernel())
        for i in range(3):
            outs = np.empty((2, problem.width), np.int64)
            assert plain.argmax_into(plain.data, w, i, outs[0]) == fast.argmax_into(fast.data, w, i, outs[1])
            np.testing.assert_array_equal(*outs)


def test_cuts_of_a_picture_equal_its_linear_program():
    """The local polytope of two associative labels is integral: HiGHS must come to the cut's value."""
    problem = wb.load_problem("grid")(n=2, size=7)
    rng, (E, N) = np.random.default_rng(1), (len(problem.edges) // 2, 49)
    for _ in range(6):
        w = admitted(problem, rng)
        unary, pairs = problem.scores(w, augment=True)
        for i in range(2):
            u, v = problem.edges[E * i : E * i + E].T
            theta, c = pairs[E * i : E * i + E, 0], unary[N * i : N * i + N]
            each = np.arange(E)
            D = sparse.csr_array((np.tile([1.0, -1.0], E), (np.repeat(each, 2), np.stack([u, v], 1).ravel())), (E, N))
            A = sparse.vstack([sparse.hstack([D, -sparse.eye_array(E)]), sparse.hstack([-D, -sparse.eye_array(E)])])
            gain = np.concatenate([c[:, 1] - c[:, 0], -theta])  # |y_u − y_v| ≤ t_e
            found = linprog(-gain, A, np.zeros(2 * E), bounds=[(0, 1)] * N + [(0, None)] * E)
            best = c[:, 0].sum() + theta.sum() - found.fun
            y = problem.argmax(w, np.array([i]))
            value = (problem.features(np.array([i]), y) @ w + problem.loss(np.array([i]), y))[0]
            assert value == pytest.approx(best, rel=1e-9)
        exact = problem.exact().margin(ratios(w), np.arange(2)).fractions()
        assert float(exact[1]) == pytest.approx(best - score(problem, w, 1, problem.truth[1]), rel=1e-9)


def test_gains_of_all_sizes_are_cut_exactly_in_whole_numbers():
    """Capacities that differ by 2¹⁰⁰: floats lose the small ones, rounds of bits do not."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        problem = Graph(
            [rng.choice([1.0, 2.0**-60, 3 * 2.0**-90], (5, 2)) * rng.integers(-3, 4, (5, 2))],
            [np.array([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2)])],
            [[0, 1, 0, 1, 1]],
            [rng.choice([1.0, 2.0**-60, 2.0**-90], (6, 1))],
            "hamming",
        )
        w = np.abs(rng.integers(1, 5, problem.n_features) * 1.0)
        best = max(scored(problem, w, y) for y in problem.outputs(0))
        assert problem.exact().margin(ratios(w), np.array([0])).fractions()[0] == best


def scored(problem, w, y):
    """ℓ − ⟨w, ψ⟩ of one labelling as a fraction, node by node and edge by edge."""
    exact, X, truth = list(map(Fraction, w.tolist())), problem.nodes.toarray().tolist(), problem.truth[0]
    total = Fraction(int((y != truth).sum()))
    for sign, labels in ((1, y), (-1, truth)):
        total += sign * sum(exact[2 * labels[v] + j] * Fraction(X[v][j]) for v in range(5) for j in range(2))
        alike = labels[problem.edges[:, 0]] == labels[problem.edges[:, 1]]
        total += sign * sum(exact[4] * Fraction(f) for f in problem.pairs[alike, 0].tolist())
    return total


def test_the_cone_is_part_of_the_regularizer():
    r = SignedNorm(0.5, np.array([False, True, True]))
    s, rng = np.array([1.0, 2.0, -3.0]), np.random.default_rng(0)
    w = r.argmin(s)
    np.testing.assert_array_equal(w, [2.0, 4.0, 0.0])
    assert r.conjugate(s) == pytest.approx(s @ w - r.value(w))
    for _ in range(50):
        other = r.feasible(rng.normal(size=3) * 5)
        assert (other[1:] >= 0).all()
        assert s @ other - r.value(other) <= r.conjugate(s) + 1e-12
        np.testing.assert_allclose(
            r.prox(other, np.ones(3), 0.1), np.where(r.signed, np.maximum(other, 0), other) / 1.05
        )


def test_learned_pictures_are_proven_in_whole_numbers_and_beat_single_pixels(tmp_path):
    problem = wb.load_problem("grid")(n=3, size=10)
    solution = wb.solve(wb.SoftMargin(lam=10.0), problem, gap=1e-6)
    found = wb.verify(solution.certificate.save(tmp_path / "pictures"))
    assert (found["proven"], found["arithmetic"]) == (True, "rational")
    assert (solution.theta_flat[problem.signed] >= 0).all()
    noisy = problem.nodes.toarray()[:, 0] > 0
    assert solution.train_error < (noisy != problem.labels).mean() * 100


@pytest.mark.parametrize("kind", [Graph, Tree])
def test_cutting_planes_equal_the_compact_program(kind):
    for seed in range(6):
        problem = kind.random(np.random.default_rng(seed), 4, 4, 2 + (kind is Tree))
        cuts, compact = (wb.solve(wb.SoftMargin(lam=0.5, declare=d), problem, gap=1e-9) for d in ("cuts", "compact"))
        assert compact.upper == pytest.approx(cuts.upper, rel=1e-8, abs=1e-10)
        assert compact.gap < 1e-6, "the peeled labellings prove the compact program's value"


# ── more than two labels ──────────────────────────────────────────────────────────────────────────


def three_labels(seed, oracle, size=3, n=4):
    rng = np.random.default_rng(seed)
    at = np.arange(size * size).reshape(size, size)
    edges = np.concatenate(
        [np.stack([a.ravel(), b.ravel()], 1) for a, b in ((at[:, :-1], at[:, 1:]), (at[:-1], at[1:]))]
    )
    truth, nodes = [], []
    for _ in range(n):
        y = rng.integers(0, 3, (size, size))
        y[1] = y[0]
        truth.append(y.ravel())
        nodes.append(np.eye(3)[y.ravel()] + rng.normal(size=(size * size, 3)))
    return Graph(nodes, [edges] * n, truth, loss="hamming", classes=[0, 1, 2], oracle=oracle)


@pytest.fixture(scope="module")
def four():
    """Seed 3: α-expansion misses a maximum where it counts."""
    form = wb.SoftMargin(lam=0.5)
    return {o: wb.solve(form, three_labels(3, o), gap=1e-6) for o in ("exact", "under", "relaxed", "enclosed")}


def test_what_inexact_oracles_bound_is_what_they_say(four):
    best = four["exact"]
    assert best.status == "optimal"
    assert four["under"].lower <= best.upper
    assert four["under"].upper < best.lower, "what α-expansion calls an upper bound is none"
    assert four["relaxed"].upper >= best.lower
    low, high = four["enclosed"].lower, four["enclosed"].upper
    assert low <= best.upper
    assert best.lower <= high


def test_verify_says_in_words_what_an_inexact_oracle_bounds(four, tmp_path):
    words = {
        "under": "the lower bound holds and the upper one does not",
        "relaxed": "the upper bound holds for the problem",
    }
    for oracle, solution in four.items():
        found = wb.verify(solution.certificate.save(tmp_path / oracle))
        assert found["proven"] == (oracle in ("exact", "enclosed"))
        assert words.get(oracle, "") in (found["reason"] or "")
    header = json.loads((tmp_path / "under.json").read_text())
    (tmp_path / "under.json").write_text(json.dumps(header | {"oracle": "exact"}))
    assert not wb.verify(tmp_path / "under")["proven"]


def test_expansions_never_beat_the_dual_of_the_relaxation():
    rng = np.random.default_rng(8)
    problems = {o: three_labels(1, o) for o in ("exact", "under", "relaxed", "enclosed")}
    everyone = np.arange(4)
    for _ in range(4):
        w = admitted(problems["exact"], rng)
        unary, pairs = problems["exact"].scores(w, augment=True)
        found = {o: problems[o].argmax(w, everyone) for o in problems}
        for i in range(4):
            scores = problems["exact"].part(unary, pairs, i)
            best = scores.value(found["exact"][i, :9])
            shares, dual = relaxed(scores)
            assert (shares.sum(axis=1) == SHARES).all()
            assert scores.value(found["under"][i, :9]) <= best + 1e-9
            assert scores.value(found["enclosed"][i, :9]) <= best + 1e-9
            assert best <= scores.bound(dual) + 1e-9
            assert scores.worth(shares) <= scores.bound(dual) + 1e-9
            assert best <= scores.bound(rng.random(dual.shape)) + 1e-9
            assert best <= scores.value(found["enclosed"][i, :9]) + problems["enclosed"].missed(w)[i] + 1e-9


def test_relaxed_outputs_score_as_their_shares():
    problem = three_labels(2, "relaxed")
    w, everyone = admitted(problem, np.random.default_rng(0)), np.arange(4)
    rows = problem.argmax(w, everyone)
    unary, pairs = problem.scores(w, augment=True)
    values = problem.features(everyone, rows) @ w + problem.loss(everyone, rows)
    for i in range(4):
        assert values[i] == pytest.approx(problem.part(unary, pairs, i).worth(problem.shares(i, rows[i])), rel=1e-9)
    assert (problem.loss(everyone, problem.truth) == 0).all()
    whole = three_labels(2, "exact")
    np.testing.assert_allclose(problem.truth_features.toarray(), whole.truth_features.toarray(), atol=1e-9)


# ── faults ────────────────────────────────────────────────────────────────────────────────────────

X, Y, EDGES = [np.ones((3, 1))], [[0, 1, 0]], [np.array([(0, 1), (1, 2)])]


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (Graph, {"pairs": [[[1.0], [-1.0]]]}, "Edge 1 of graph 0 has a negative feature"),
        (Graph, {"edges": [[(0, 3)]]}, r"Edge \(0, 3\) of graph 0 is none"),
        (Graph, {"edges": [[(1, 1)]]}, r"Edge \(1, 1\)"),
        (Graph, {"edges": [[(0.5, 1)]]}, "pairs .u, v. of whole numbers"),
        (Graph, {"pairs": [[[1.0]]]}, r"shape \(1, 1\); give \(2, q\)"),
        (Graph, {"pairs": [[[1.0], [np.inf]]]}, "infinite, missing or beyond"),
        (Graph, {"loss": "zero-one"}, "no loss called 'zero-one'"),
        (Graph, {"oracle": "magic"}, "no oracle called 'magic'"),
        (Graph, {"oracle": "relaxed"}, "use oracle=exact in place of relaxed"),
        (Tree, {"edges": [[(0, 1), (2, 1)]]}, "Node 1 of graph 0 has 2 parents"),
        (Tree, {"edges": [[(0, 1), (1, 0)]]}, "lies on or below a circle"),
        (Tree, {"edges": []}, "give one table of edges each"),
    ],
)
def test_faults_are_one_sentence(kind, settings, message):
    given = {"nodes": X, "edges": EDGES, "labels": Y} | settings
    with pytest.raises(wb.BadInput, match=message):
        kind(given.pop("nodes"), given.pop("edges"), given.pop("labels"), **given)


def test_predictions_are_labels_of_the_graphs_given():
    problem = wb.load_problem("tree")(n=3, size=6)
    w = np.random.default_rng(0).normal(size=problem.n_features)
    nodes = [problem.nodes[a:b] for a, b in pairwise(problem.offsets)]
    edges, pairs = ([t[a:b] for a, b in pairwise(problem.ends)] for t in (problem.edges, problem.pairs))
    rows = problem.argmax(w, np.arange(3), augment=False)
    for found, row in zip(problem.predict(w, nodes, edges, pairs), rows, strict=True):
        np.testing.assert_array_equal(found, problem.classes[row[: len(found)]])
    with pytest.raises(wb.BadInput, match="but the weights were learned on"):
        problem.predict(w, nodes, edges)
