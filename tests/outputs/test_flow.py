"""Flow: the search against enumeration, networkx and HiGHS, in floats and in whole numbers; tracks in and out."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import workbench as wb
from workbench.arithmetic.compiled import available, compiled_kernel
from workbench.arithmetic.rationals import ratios
from workbench.outputs._flow.compact import incidence
from workbench.outputs.flow import Detections, Flow, split_tracks, tracks_of

seeds = st.integers(0, 2**32 - 1)


def paths(size, links):
    """All sets of disjoint paths as frozensets of paths, by sets of links: at most one into and one out of a node."""
    found = []
    for chosen in range(2 ** len(links)):
        picked = [link for m, link in enumerate(links) if chosen >> m & 1]
        if len({j for j, _ in picked}) == len(picked) == len({k for _, k in picked}):
            linked = {node for link in picked for node in link}
            alone = [node for node in range(size) if node not in linked]
            for single in range(2 ** len(alone)):
                found.append((frozenset(picked), linked | {v for m, v in enumerate(alone) if single >> m & 1}))
    return found


def weight(graph, w, links, nodes):
    """⟨w, φ⟩ of a set of links and the detections it uses, arc by arc."""
    widths = [np.shape(graph[block])[1] for block in (0, 1, 2, 4)]
    node, entry, leave, link = np.split(w, np.cumsum(widths)[:-1])
    index = {tuple(pair): m for m, pair in enumerate(np.asarray(graph.links).tolist())}
    total = sum(graph.detections[v] @ node for v in nodes) + sum(graph.link_features[index[e]] @ link for e in links)
    total += sum(graph.entries[v] @ entry for v in nodes if v not in {k for _, k in links})
    return total + sum(graph.exits[v] @ leave for v in nodes if v not in {j for j, _ in links})


def random_graph(rng, size, d=2, density=0.6):
    links = [(j, k) for j in range(size) for k in range(j + 1, size) if rng.random() < density]
    draw = (lambda *shape: rng.integers(-3, 4, shape) * 1.0) if rng.random() < 0.5 else (lambda *s: rng.normal(size=s))
    table = np.array(links, np.int64).reshape(-1, 2)
    return Detections(draw(size, d), draw(size, d), draw(size, d), table, draw(len(links), d))


def test_the_search_equals_an_enumeration_of_links():
    """Scores and losses by loops over sets of links: nothing of the class enters but the answer."""
    rng = np.random.default_rng(0)
    for _ in range(120):
        graph = random_graph(rng, int(rng.integers(1, 5)))
        w, plus, minus = rng.integers(-2, 3, 8) * 1.0, *rng.integers(1, 4, 2)
        options = paths(len(graph.detections), [tuple(e) for e in graph.links.tolist()])
        links, nodes = options[rng.integers(len(options))]
        problem = Flow([graph], [tracks_from(links, nodes)], plus, minus)

        def loss(y, links=links, nodes=nodes, plus=plus, minus=minus):
            wrong, missed = len(y[0] - links) + len(y[1] - nodes), len(links - y[0]) + len(nodes - y[1])
            return plus * wrong + minus * missed

        own = weight(graph, w, links, nodes)
        for augment in (False, True):
            best = max(weight(graph, w, *y) + augment * loss(y) for y in options)
            found = tracks_of(problem.argmax(w, np.array([0]), augment)[0])
            picked = {(int(a), int(b)) for t in found for a, b in pairwise(t)}
            used = {int(v) for t in found for v in t}
            assert weight(graph, w, picked, used) + augment * loss((picked, used)) == pytest.approx(best, abs=1e-9)
        hinge = max(weight(graph, w, *y) + loss(y) for y in options) - own
        exact = problem.exact().margin(ratios(w), np.array([0])).fractions()[0]
        assert float(exact) == pytest.approx(hinge, abs=1e-9)


def tracks_from(links, nodes):
    after = dict(links)
    found = []
    for v in sorted(nodes - set(after.values())):
        found.append([v])
        while found[-1][-1] in after:
            found[-1].append(after[found[-1][-1]])
    return found


def test_the_search_equals_a_linear_program_over_circulations():
    """HiGHS on max ⟨c, y⟩ over N y = 0, 0 ≤ y ≤ 1 with detections split in two; N is built here by hand, too."""
    rng = np.random.default_rng(1)
    for _ in range(60):
        graph = random_graph(rng, int(rng.integers(2, 12)), density=0.4)
        problem, w, one = Flow([graph], [[[0]]], *rng.uniform(0.5, 2, 2)), rng.normal(size=8), np.array([0])
        y, size = problem.argmax(w, one), len(graph.detections)
        N = np.zeros((2 * size, problem.arcs.shape[0]))
        for row, (v, place) in enumerate(zip(problem.layout.node_of(), problem.layout.offsets(), strict=True)):
            N[2 * v if place == 2 else 2 * v + 1, row] += place != 0
            N[{0: 2 * v, 2: 2 * v + 1}.get(int(place), 2 * problem.layout.heads[row]), row] -= place != 1
        np.testing.assert_array_equal(N.T, incidence(problem.layout).toarray())
        program = linprog(-(problem.arcs @ w + problem.augmentation), A_eq=N, b_eq=np.zeros(2 * size), bounds=(0, 1))
        value = (problem.features(one, y) @ w + problem.loss(one, y))[0] - problem.false_negative * problem.true_arcs[0]
        assert value == pytest.approx(-program.fun, abs=1e-7)


@pytest.mark.parametrize("power", [-300, 0, 90])
def test_gains_on_their_grid_make_the_search_exact(power):
    """Where gains differ in their last bits only, the optimum is found to the declared rounding."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        graph = random_graph(rng, int(rng.integers(2, 5)))
        tables = [(1 + rng.integers(0, 5, np.shape(t)) * 2.0**-52) * 10.0**power for t in (*graph[:3], graph[4])]
        problem = Flow([Detections(*tables[:3], graph.links, tables[3])], [[]])
        w, one = rng.choice([-1.0, 1.0], 8), np.array([0])
        outputs = problem.outputs(0)
        scores = [
            sum(map(Fraction, row.data * w[row.indices])) for row in problem.features(one.repeat(len(outputs)), outputs)
        ]
        found = problem.argmax(w, one, augment=False)[0]
        at = int((outputs == found).all(axis=1).argmax())
        assert float(max(scores) - scores[at]) <= wb.SoftMargin().oracle(problem).rounding(w)[0]


@pytest.mark.skipif(not available(), reason="numba is absent")
@given(seed=seeds)
def test_compiled_and_interpreted_kernels_agree_to_the_last_bit(seed):
    rng = np.random.default_rng(seed)
    problem = Flow.random(rng, 3, 5, 0)
    w, plain, fast = rng.normal(size=5), problem.kernel(), compiled_kernel(problem.kernel())
    for i in range(3):
        outs = np.empty((2, problem.width), np.int64)
        assert plain.argmax_into(_interpreted(plain.data), w, i, outs[0]) == fast.argmax_into(fast.data, w, i, outs[1])
        np.testing.assert_array_equal(*outs)


def _interpreted(data):
    return (tuple(data[0]), *data[1:])


@given(seed=seeds)
def test_cutting_planes_equal_the_compact_program(seed):
    if seed % 10:  # each solves two programs
        return
    rng = np.random.default_rng(seed)
    problem = Flow.random(rng, 4, 5, 0)
    cuts, compact = (wb.solve(wb.SoftMargin(lam=0.5, declare=d), problem, gap=1e-9) for d in ("cuts", "compact"))
    assert compact.upper == pytest.approx(cuts.upper, rel=1e-8, abs=1e-10)


def test_certificates_verify_over_whole_numbers(tmp_path):
    problem = wb.load_problem("tracking")(n=2, frames=6, objects=4)
    solution = wb.solve(wb.SoftMargin(lam=1.0), problem, gap=1e-8)
    found = wb.verify(solution.certificate.save(tmp_path / "tracks"))
    assert found["proven"]
    assert found["arithmetic"] == "rational"


def test_tracks_and_what_links_allow():
    np.testing.assert_equal([t.tolist() for t in tracks_of(np.array([2, 1, -1, -1]))], [[0, 2], [3]])
    pieces = split_tracks([[0, 1, 4, 6], [2]], [(0, 1), (4, 6), (0, 4)])
    assert [piece.tolist() for piece in pieces] == [[0, 1], [4, 6], [2]]


def test_predictions_are_tracks_of_the_graphs_given():
    problem = wb.load_problem("tracking")(n=2, frames=6, objects=4)
    rng = np.random.default_rng(0)
    graphs = [random_graph(rng, 4, d=1) for _ in range(2)]
    small = Flow(graphs, [[], []])
    w = rng.normal(size=4)
    found = small.predict(w, graphs)
    rows = small.argmax(w, np.arange(2), augment=False)
    assert [[t.tolist() for t in each] for each in found] == [[t.tolist() for t in tracks_of(row)] for row in rows]
    with pytest.raises(wb.BadInput, match="but the weights were learned on"):
        problem.predict(np.zeros(problem.n_features), graphs)


GOOD = Detections(np.ones((3, 1)), np.ones((3, 1)), np.ones((3, 1)), np.array([(0, 1), (1, 2)]), np.ones((2, 1)))


@pytest.mark.parametrize(
    ("graph", "tracks", "message"),
    [
        (GOOD._replace(links=[(1, 0), (1, 2)]), [], "leads backwards"),
        (GOOD._replace(links=[(0, 1), (0, 1)]), [], "comes twice"),
        (GOOD._replace(links=[(0, 1), (1, 5)]), [], "names detection 5"),
        (GOOD._replace(detections=np.ones((2, 1))), [], "make them equal"),
        (GOOD._replace(detections=[[1.0], [np.nan], [1.0]]), [], "of the detection of detection 1 of sample 0 is nan"),
        (GOOD._replace(link_features=np.full((2, 1), 1e200)), [], "of a link of detection 0 of sample 0 is 1e"),
        (GOOD, [[0, 2]], "use split_tracks"),
        (GOOD, [[0], [0, 1]], "share a detection"),
        (GOOD, [[7]], "no list of detections from 0 to 2"),
        (GOOD[:3], [], "is no graph"),
    ],
)
def test_faults_are_one_sentence(graph, tracks, message):
    with pytest.raises(wb.BadInput, match=message):
        Flow([graph], [tracks])


@pytest.mark.parametrize(
    ("name", "value"), [("heads", [0, 2]), ("truth", [[1, 1, -1]]), ("truth", [[2, 1, -1]]), ("sizes", [0])]
)
def test_damaged_arrays_are_refused(name, value):
    arrays = Flow([GOOD], [[[0, 1]]]).arrays()
    with pytest.raises(wb.BadInput):
        Flow.from_arrays(arrays | {name: np.array(value)})
