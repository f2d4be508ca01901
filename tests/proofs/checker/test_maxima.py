"""Maxima of the trusted checker over all outputs against listing them, on small whole numbers with many ties (plain
functions).
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from chance.against import limited, refusal
from chance.certificates import certificates

from workbench.proofs.checker import whole
from workbench.proofs.checker.contracts import Structure
from workbench.proofs.checker.learning import structure_of
from workbench.proofs.checker.outputs import _cuts, _pairwise, chain, flow, graph, matching, multilabel
from workbench.proofs.checker.outputs._cuts import heaviest_cut, largest_flow
from workbench.proofs.checker.outputs._hungarian import heaviest, heaviest_rival, worth
from workbench.proofs.checker.outputs._viterbi import by_total_cost, floor_of, highest, highest_other
from workbench.proofs.checker.whole import Whole, objects


def structure(name, **arrays):
    """The output structure of a certificate by chance, some of its data changed."""
    case = next(case for case in certificates() if case.name == f"soft-margin of {name}").copy("changed")
    case.arrays |= {f"data_{key}": np.array(value) for key, value in arrays.items()}
    return structure_of(Structure.find(case.header["problem"]["output"], 1), case.arrays)


# ── matchings ─────────────────────────────────────────────────────────────────────────────────────


def matchings(rows, columns):
    for mates in itertools.product(range(-1, columns), repeat=rows):
        used = [k for k in mates if k >= 0]
        if len(set(used)) == len(used):
            yield np.array(mates)


def test_the_heaviest_matching_is_that_of_listing_all():
    rng = np.random.default_rng(0)
    for rows, columns in itertools.product((1, 2, 3, 4), (1, 2, 3, 4)):
        listed = list(matchings(rows, columns))
        for least, most in ((-3, 4), (0, 3), (-9, 1), (-2, 30), (0, 1)):
            gains = rng.integers(least, most, (rows, columns)).astype(object)
            weights = [sum(gains[j, k] for j, k in enumerate(mates.tolist()) if k >= 0) for mates in listed]
            assert heaviest(gains) == max(weights), gains
            assert [worth(gains, mates) for mates in listed] == weights
            for at in rng.integers(len(listed), size=3).tolist():
                assert heaviest_rival(gains, listed[at]) == max(weights[:at] + weights[at + 1 :]), (gains, listed[at])
    for size in (6, 9, 14):  # against the same with rows as columns, and with rows in another order
        for most in (4, 50, 10**30):
            gains = np.array(
                [[int(x) * (most // 4) + int(y) for x, y in rng.integers(0, 4, (size, 2))] for _ in range(size)], object
            )
            found = heaviest(gains)
            assert found == heaviest(gains.T) == heaviest(gains[::-1]) == heaviest(gains[:, ::-1])
            greedy, order = 0, gains.copy()
            while order.size:
                j, k = np.unravel_index(int(order.argmax()), order.shape)
                greedy, order = greedy + order[j, k], np.delete(np.delete(order, j, axis=0), k, axis=1)
            assert greedy <= found <= gains.max(axis=1).sum()


def test_matchings_of_a_sample_are_listed_or_too_many():
    for shapes in ([[1, 1]], [[1, 3]], [[3, 1]], [[2, 3]], [[3, 3]]):
        rows, columns = shapes[0]
        cells = rows * columns
        arrays = {"shapes": shapes, "truth": [[-1] * rows], "weights": [1.0], "data": np.ones(cells)}
        arrays |= {"indices": np.zeros(cells, np.int64), "indptr": np.arange(cells + 1)}
        found = structure("matching", **arrays)
        expected = sorted(mates.tolist() for mates in matchings(rows, columns))
        assert sorted(found.outputs(0).tolist()) == expected
        told = f"sample 0 has {rows} × {columns} edges, too many matchings to list"
        with limited(matching, MOST_OUTPUTS=len(expected)):
            assert not refusal(found.outputs, 0)
        with limited(matching, MOST_OUTPUTS=len(expected) - 1):
            assert refusal(found.outputs, 0) == told
    for rows, columns, fits in ((1, 32767, True), (2, 300, True), (2, 400, False), (2, 32768, False), (9, 9, False)):
        told = "" if fits else f"sample 0 has {rows} × {columns} edges, too many matchings to list"
        arrays = {"shapes": [[rows, columns]], "truth": [[-1] * rows], "weights": [1.0], "data": np.ones(0)}
        arrays |= {"indices": np.zeros(0, np.int64), "indptr": np.zeros(rows * columns + 1, np.int64)}
        assert refusal(structure("matching", **arrays).outputs, 0) == told


def test_matchings_and_their_least_loss():
    base = {
        "weights": [1.0],
        "false_positive": 2.0,
        "false_negative": 3.0,
        "data": [],
        "indices": np.zeros(0, np.int64),
    }
    for shape, truth, least in (
        ((1, 1), [-1], 2), ((1, 1), [0], 3), ((2, 1), [0, -1], 3), ((1, 2), [1], 3), ((2, 2), [1, -1], 2),
        ((2, 2), [1, 0], 3),
    ):  # fmt: skip
        cells = shape[0] * shape[1]
        found = structure("matching", shapes=[shape], truth=[truth], indptr=np.zeros(cells + 1, np.int64), **base)
        assert found.least_loss(np.array([0])) == least, (shape, truth)
    two = structure("matching", shapes=[[1, 1], [1, 2]], truth=[[-1], [1]], indptr=np.zeros(4, np.int64),
                    **(base | {"weights": [1.0, 1.0], "false_positive": 5.0}))  # fmt: skip
    assert two.least_loss(np.array([0, 1])) == two.least_loss(np.array([1])) == 3
    assert two.least_loss(np.array([0])) == 5
    for name in ("false_positive", "false_negative"):
        assert not refusal(structure, "matching", **{name: 5e-324})
        assert not refusal(structure, "flow", **{name: 5e-324})
        for output in ("matching", "flow"):
            assert refusal(structure, output, **{name: 0.0}) == f"data_{name} holds a number below 4.94066e-324"
    assert refusal(structure, "matching", shapes=[[0, 1]] * 3).startswith(
        "data_shapes holds a number that is not in 1 … 32768"
    )
    assert refusal(structure, "matching", shapes=[[1, 32769]] * 3).startswith("data_shapes holds a number that is not")
    at_most = {"indptr": np.zeros(32769, np.int64), "data": [], "indices": np.zeros(0, np.int64), "weights": [1.0]}
    wide = structure("matching", shapes=[[1, 32768]], truth=[[-1]], **at_most)
    assert wide.is_output(np.zeros(3, int), np.array([[32767], [32768], [-2]])).tolist() == [True, False, False]
    told = "data_truth: a row is no matching"
    square = {"shapes": [[2, 2]], "indptr": np.zeros(5, np.int64)}
    for truth in ([0, 0], [2, -1], [-2, 0], [1, 1]):
        assert refusal(structure, "matching", truth=[truth], **square, **base) == told
    found = structure("matching", truth=[[-1, -1]], **square, **base)
    rows = np.array(list(itertools.product(range(-2, 4), repeat=2)))
    inside = [all(-1 <= k < 2 for k in row) and (row[0] != row[1] or row[0] == -1) for row in rows.tolist()]
    assert found.is_output(np.zeros(len(rows), int), rows).tolist() == inside


# ── labels ────────────────────────────────────────────────────────────────────────────────────────


def test_two_labels_are_cut_as_by_listing_all():
    rng = np.random.default_rng(1)
    for nodes in (1, 2, 3, 4, 5, 6):
        ends = [(u, v) for u in range(nodes) for v in range(nodes) if u != v]
        labels = np.array(list(itertools.product((0, 1), repeat=nodes)))
        for most in (1, 3, 9):
            for _ in range(8):
                edges = np.array(
                    [ends[k] for k in rng.integers(len(ends), size=min(len(ends), nodes + 2))] if ends else [], int
                )
                edges = edges.reshape(-1, 2)
                gains, theta = (
                    rng.integers(-6, 7, nodes).astype(object),
                    rng.integers(0, most + 1, len(edges)).astype(object),
                )
                alike = labels[:, edges[:, 0]] == labels[:, edges[:, 1]]
                scores = labels.astype(object) @ gains + alike.astype(object) @ theta
                assert heaviest_cut(gains, theta, edges) == scores.max(), (gains, theta, edges)
                given = gains.tolist()
                flows = largest_flow(given, theta.tolist(), edges.tolist())
                assert all(abs(f) <= t for f, t in zip(flows, theta.tolist(), strict=True))


def test_two_labels_of_many_nodes_need_no_listing():
    n = 40
    found = structure(
        "graph", classes=[0, 1], cost=[[0.0, 1.0], [1.0, 0.0]], labels=[0] * n, offsets=[0, n], weights=[1.0],
        n_inputs=1, ends=[0, n - 1], edges=[(v, v + 1) for v in range(n - 1)], pairs=np.ones((n - 1, 1)),
        data=np.ones(n), indices=[0] * n, indptr=range(n + 1), loss="hamming",
    )  # fmt: skip
    assert found.margin(Whole(objects([0, 1, 5])), np.array([0])).fractions() == [2 * n]
    assert found.margin(Whole(objects([0, -3, 5])), np.array([0])).fractions() == [0]


def test_a_flow_beyond_its_capacities_is_a_bug():
    kept, told = _cuts.largest_flow, "a flow exceeds its capacities, which is a bug of the checker"
    gains, theta, edges = objects([1, -1]), objects([2]), np.array([[0, 1]])
    try:
        for value in (-3, -2, 2, 3):
            _cuts.largest_flow = lambda *given, value=value: [value]
            assert refusal(heaviest_cut, gains, theta, edges) == (told if abs(value) > 2 else "")
    finally:
        _cuts.largest_flow = kept


def test_a_long_path_of_neighbours_is_cut():
    """Blocking flows over many levels, both ways round; all pushes to one end."""
    n = 60
    edges = np.array([(v, v + 1) if v % 3 else (v + 1, v) for v in range(n - 1)])
    gains = objects([7 * n] + [1] * (n - 2) + [-9 * n])
    theta = objects([10 * n] * (n - 1))
    assert heaviest_cut(gains, theta, edges) == int(theta.sum()) + max(0, int(gains.sum()))
    assert heaviest_cut(-gains, theta, edges) == int(theta.sum()) + max(0, -int(gains.sum()))
    weak = objects([10 * n] * 30 + [3] + [10 * n] * (n - 32))
    assert heaviest_cut(gains, weak, edges) == int(weak.sum()) - 3 + int(gains[:31].sum())


def test_chains_are_labelled_as_by_listing_all():
    rng = np.random.default_rng(2)
    for length, k, varying in itertools.product((1, 2, 3, 4), (2, 3), (False, True)):
        labels = np.array(list(itertools.product(range(k), repeat=length)))
        for size in (2, 9):
            shapes = (length, k), (length if varying else 1, k, k)
            unary, pairs = (rng.integers(-size, size + 1, shape).astype(object) for shape in shapes)
            scores = np.array([score(unary, pairs, y) for y in labels.tolist()], object)
            assert highest(unary, pairs) == scores.max()
            floor = floor_of(unary, pairs)
            assert floor < scores.min() - (scores.max() - scores.min())
            assert floor // 2 < scores.min()
            for at in range(0, len(labels), 5):
                others = np.delete(scores, at)
                assert highest_other(unary, pairs, labels[at], floor) == others.max()
            costs = rng.integers(0, 3, (length, k))
            totals = [int(costs[range(length), y].sum()) for y in labels.tolist()]
            found = by_total_cost(unary, pairs, costs, floor)
            assert len(found) == costs.max(axis=1).sum() + 1
            for e, value in enumerate(found):
                own = [s for s, total in zip(scores, totals, strict=True) if total == e]
                assert value == max(own) if own else value < floor // 2
    none, one = np.zeros((2, 2), object), np.array([[0, 50], [0, 0]], object)
    assert max(floor_of(one, none), floor_of(none, one), floor_of(none, -one), floor_of(-one, none)) < -100
    alone = np.array([[5, 7]], object)
    assert highest_other(alone, np.zeros((1, 2, 2), object), np.array([1]), -100) == 5


def score(unary, pairs, y):
    gaps = ((pairs[t if len(pairs) > 1 else 0], ends) for t, ends in enumerate(itertools.pairwise(y), 1))
    return sum(unary[t, b] for t, b in enumerate(y)) + sum(table[ends] for table, ends in gaps)


def test_the_floor_of_equal_scores_is_below_them():
    """Else a total cost that no labelling has would count as one that a labelling has."""
    nothing = objects([0, 0, 0, 0]).reshape(2, 2)
    assert floor_of(nothing, nothing[None]) < 0
    costs = np.array([[0, 2], [2, 0]])
    assert by_total_cost(nothing, nothing[None], costs, floor_of(nothing, nothing[None]))[1] < 0


def test_labellings_are_listed_or_too_many():
    for name, module in (("chain", chain), ("tree", _pairwise), ("graph of three labels", _pairwise)):
        found = structure(name)
        sizes = found.lengths if name == "chain" else found.sizes
        for i in range(found.n):
            count = found.k ** int(sizes[i])
            listed = found.outputs(i)
            assert listed.shape == (count, found.width)
            assert len({tuple(row) for row in listed.tolist()}) == count
            with limited(module, MOST_OUTPUTS=count):
                assert not refusal(found.outputs, i)
            with limited(module, MOST_OUTPUTS=count - 1):
                told = refusal(found.outputs, i)
                assert told.startswith(
                    f"s{'equence' if name == 'chain' else 'ample'} {i} has {found.k}^{sizes[i]} labellings"
                )
    three = structure("graph of three labels")
    w = Whole(objects(range(three.dim)), 1)
    at = int(three.sizes.argmax())
    for most, fits in ((3 ** int(three.sizes[at]), True), (3 ** int(three.sizes[at]) - 1, False)):
        with limited(graph, MOST_OUTPUTS=most):
            told = refusal(three.margin, w, np.array([at]))
            assert told == ("" if fits else f"sample {at} has too many labellings to look at all of them")


def test_paths_of_a_sample_are_listed_or_too_many():
    found = structure("flow")
    for i in range(found.n):
        count = len(found.outputs(i))
        with limited(flow, MOST_OUTPUTS=count):
            assert len(found.outputs(i)) == count
        with limited(flow, MOST_OUTPUTS=max(count - 1, 1)):
            assert refusal(found.outputs, i) == f"sample {i} has too many sets of paths to list"


def test_listing_stops_at_the_limit_whatever_the_number_of_links():
    """Two detections with 50,000 links each would have 2.5·10⁹ sets of paths."""
    size = 50_002
    heads = np.concatenate([np.arange(1, size), np.arange(2, size)])
    counts = np.array([size - 1, size - 2] + [0] * (size - 2))
    arrays = {
        "sizes": [size],
        "counts": counts,
        "heads": heads,
        "weights": [1.0],
        "blocks": [1, 0, 0, 0],
        "truth": [[-1] * size],
    }
    arrays |= {"data": [], "indices": np.zeros(0, np.int64), "indptr": np.zeros(3 * size + len(heads) + 1, np.int64)}
    assert refusal(structure("flow", **arrays).outputs, 0) == "sample 0 has too many sets of paths to list"


def test_annotations_that_are_no_matchings():
    """Two samples of 2 × 2 and 2 × 3 edges; the second's links are annotated."""

    def read(links, **arrays):
        base = {"shapes": [[2, 2], [2, 3]], "truth": [[0, 1], [-2, -2]], "weights": [1.0, 1.0], "n_inputs": 1}
        base |= {"data": [], "indices": np.zeros(0, np.int64), "indptr": [0] * 11, "annotated": links}
        return structure("matching", **(base | {"false_positive": 1.0, "false_negative": 0.5} | arrays))

    outside = "data_annotated: a link lies outside, or there is none"
    for wrong in ([1, 2, 0], [1, -1, 0], [1, 0, 3], [1, 0, -1], [2, 0, 0], [-1, 0, 0]):
        links = sorted([wrong, [1, 0, 0], [1, 0, 1]])
        assert refusal(read, links) == outside, wrong
    assert refusal(read, np.zeros((0, 3), np.int64)) == outside
    again = "data_annotated: links are not in order, or come twice"
    assert refusal(read, [[1, 0, 0], [1, 0, 0]]) == refusal(read, [[1, 0, 1], [1, 0, 0]]) == again
    for links, alone in (([[1, 0, 0], [1, 1, 2]], True), ([[1, 0, 0]], True), ([[1, 0, 0], [1, 0, 2]], False),
                         ([[1, 0, 1], [1, 1, 1]], False)):  # fmt: skip
        told = "data_annotated: the links of sample 1 are a matching"
        assert refusal(read, links) == (told if alone else ""), links
    for links, least in (([[1, 0, 0], [1, 0, 2]], 1), ([[1, 0, 0], [1, 0, 2], [1, 1, 0]], 1),
                         ([[1, 0, 0], [1, 0, 1], [1, 0, 2]], 2)):  # fmt: skip
        found = read(links)
        assert found.least_loss(np.array([1])) == Fraction(least, 2), links
        assert found.least_loss(np.array([0, 1])) == Fraction(1, 2), links
    mixed = read([[1, 0, 0], [1, 0, 2]], truth=[[0, -1], [-2, -2]], false_negative=9.0)
    assert mixed.least_loss(np.array([0])) == mixed.least_loss(np.array([0, 1])) == 1
    three = {"shapes": [[2, 2], [2, 2], [2, 3]], "truth": [[0, 1], [0, -1], [-2, -2]], "weights": [1.0] * 3}
    many = read([[2, 0, 0], [2, 0, 2]], **three, indptr=[0] * 15, false_negative=9.0)
    assert many.least_loss(np.arange(2)) == 1
    assert many.least_loss(np.arange(1)) == 9
    starred = read([[1, 0, 0], [1, 0, 2]], data=[10.0, 10.0], indices=[0, 0], indptr=[0] * 5 + [1, 1] + [2] * 4)
    for w, most in ((1, 0), (-1, 2 + 1 + 20)):  # of w = −1: two links too many, both true ones missed
        assert starred.margin(Whole(objects([w])), np.array([1])).fractions() == [most], w


# ── what data are refused, in which words ─────────────────────────────────────────────────────────


def changed(name, key, at, value):
    """One entry of an array of a structure changed."""
    base = next(case for case in certificates() if case.name == f"soft-margin of {name}")
    array = base.arrays[f"data_{key}"].copy()
    array.reshape(-1)[at] = value
    return refusal(structure, name, **{key: array})


def test_what_trees_and_graphs_must_say_has_no_default():
    for call, given in ((_pairwise.Pairwise.kinds.fget, 1), (_pairwise.Pairwise.best, 2)):
        try:
            call(*[None] * given)
        except NotImplementedError:
            continue
        raise AssertionError(call)


def test_data_that_are_refused():
    for name in ("multiclass", "chain", "linear", "matching", "tree", "graph", "flow", "structured"):
        base = next(case for case in certificates() if case.name == f"soft-margin of {name}")
        rows = len(base.arrays["data_indptr"]) - 1
        held = len(base.arrays["data_data"])
        ends = f"data_indptr does not say where the {rows} rows end"
        for at, value in ((0, 1), (0, -1), (-1, held - 1), (-1, held + 1), (1, held + 1), (1, -1)):
            assert changed(name, "indptr", at, value) == ends, (name, at, value)
        per_row = np.diff(base.arrays["data_indptr"])
        first = int(base.arrays["data_indptr"][int(np.flatnonzero(per_row > 1)[0])])
        again = base.arrays["data_indices"][first]
        assert changed(name, "indices", first + 1, again) == "data_indices do not rise within a row"
        assert changed(name, "indices", 0, -1).startswith("data_indices holds a number that is not in 0 … ")
        assert changed(name, "indices", 0, 99).startswith("data_indices holds a number that is not in 0 … ")
        weights = base.arrays["data_weights"]
        assert refusal(structure, name, weights=weights * 0) == "all sample weights are 0"
        assert refusal(structure, name, weights=-weights) == "data_weights holds a number below 0"
        single = np.zeros(len(weights))
        single[-1] = 5e-324
        assert not refusal(structure, name, weights=single)
    for name in ("multiclass", "chain", "tree", "graph"):
        base = next(case for case in certificates() if case.name == f"soft-margin of {name}")
        k = len(base.arrays["data_classes"])
        told = "data_classes are not two or more different labels"
        for classes in ([0] * k, [float("nan"), *range(1, k)], 3, [[0, 1]], [0], [], ["a"] * k):
            assert refusal(structure, name, classes=classes) == told, classes
        assert not refusal(structure, name, classes=["a", "b", "c"][:k])
        assert changed(name, "cost", 0, 1.0) == changed(name, "cost", -1, 1.0) == "data_cost prices a right label"
        assert changed(name, "cost", 1, -1.0) == "data_cost holds a number below 0"
        for value in (-1, k):
            assert changed(name, "labels", 0, value) == f"data_labels holds a number that is not in 0 … {k - 1}"
    places = len(structure("chain").labels)
    for name in ("chain", "tree", "graph"):
        told = f"data_offsets do not say where s{'equences' if name == 'chain' else 'amples'} start"
        for at, value in ((0, 1), (-1, 0), (-1, 99), (1, 0)):
            assert changed(name, "offsets", at, value) == told
        assert refusal(structure, name, loss="x") == "data_loss is none that is known"
        for word in ("hamming", "hamming-normalised"):
            assert not refusal(structure, name, loss=word)
    assert refusal(structure, "chain", offsets=[0]) == refusal(structure, "chain", offsets=np.zeros(0, np.int64))
    assert not refusal(structure, "chain", offsets=[0, places], weights=[1.0])
    nothing = {
        "labels": np.zeros(0, np.int64),
        "offsets": [0],
        "data": [],
        "indices": np.zeros(0, np.int64),
        "indptr": [0],
    }
    nothing |= {"weights": np.zeros(0)}
    assert refusal(structure, "chain", **nothing) == "data_offsets do not say where sequences start"
    nothing |= {"edges": np.zeros((0, 2), np.int64), "ends": [0], "pairs": np.zeros((0, 1))}
    for name in ("tree", "graph"):
        assert refusal(structure, name, **nothing) == "data_offsets do not say where samples start"
    for name in ("tree", "graph"):
        for at, value in ((0, 1), (-1, 0), (-1, 99), (1, 9)):
            assert changed(name, "ends", at, value) == "data_ends do not say where samples start"
        found = structure(name)
        for part in ("offsets", "ends"):  # differences that wrap around are not below 0
            wrapped = np.array(getattr(found, part))
            assert len(wrapped) >= 4
            wrapped[1:3] = 2**63 - 1, int(wrapped[3]) + 1 - 2**63
            assert (np.diff(wrapped[:4]) > 0).all()
            assert refusal(structure, name, **{part: wrapped}) == f"data_{part} do not say where samples start"
        told, other = "data_edges: an edge is none", found.edges[0, 1]
        for at, value in ((0, -1), (0, found.width), (1, -1), (1, 99), (0, other)):
            assert changed(name, "edges", at, value) == told
        edges = len(found.edges)
        assert refusal(structure, name, pairs=np.zeros((edges, 0))) == "data_pairs have no features"
    assert changed("graph", "pairs", 0, -0.5) == "data_pairs: a feature is negative"
    assert changed("graph", "pairs", 0, 0.0) == ""


def forest(edges, size):
    """A tree structure of one sample with these edges."""
    return refusal(
        structure, "tree", labels=[0] * size, offsets=[0, size], weights=[1.0], ends=[0, len(edges)], data=[],
        edges=np.array(edges, int).reshape(-1, 2), pairs=np.ones((len(edges), 1)), indices=np.zeros(0, np.int64),
        indptr=[0] * (size + 1),
    )  # fmt: skip


def test_trees_of_three_labels_are_labelled_as_by_listing_all():
    rng = np.random.default_rng(4)
    for loss in ("hamming", "hamming-normalised"):
        for edges in ([(0, 1), (1, 2), (1, 3)], [(3, 0), (0, 2)], [], [(0, 1), (2, 3)]):
            cost = np.where(np.eye(3, dtype=bool), 0.0, rng.choice([0.5, 1.0, 2.0], (3, 3)))
            found = structure(
                "tree", classes=[0, 1, 2], cost=cost, labels=[0, 1, 2, 1], offsets=[0, 4], weights=[1.0],
                ends=[0, len(edges)], n_inputs=1, loss=loss,
                edges=np.array(edges, int).reshape(-1, 2), pairs=rng.choice([-1.0, 0.5, 2.0], (len(edges), 2)),
                data=rng.choice([-1.0, 0.25, 1.0], 4), indices=[0] * 4, indptr=range(5),
            )  # fmt: skip
            listed = found.outputs(0)
            own, at = np.zeros(len(listed), int), np.array([0])
            for _ in range(3):
                w = Whole(objects(rng.integers(-4, 5, found.dim).tolist()), 3)
                total = found.gains(w, own, listed).fractions()
                highest = max(a + b for a, b in zip(total, found.loss(own, listed).fractions(), strict=True))
                assert found.margin(w, at).fractions() == [highest], (loss, edges)


def test_chains_cost_what_their_loss_says():
    """The costs of all letters, divided by their number or not; and the maximum over all labellings."""
    rng = np.random.default_rng(5)
    for loss in ("hamming", "hamming-normalised"):
        cost = np.array([[0.0, 1.0, 3.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
        found = structure(
            "chain", classes=[0, 1, 2], cost=cost, labels=[0, 1, 2, 1], offsets=[0, 3, 4], weights=[1.0, 1.0],
            n_inputs=1, data=[1.0, -1.0, 0.5, 2.0], indices=[0] * 4, indptr=range(5), loss=loss,
        )  # fmt: skip
        for i, truth in ((0, [0, 1, 2]), (1, [1])):
            listed, parts = found.outputs(i), len(truth) if "normal" in loss else 1
            own, at = np.full(len(listed), i), np.array([i])
            losses = [
                Fraction(int(sum(cost[a, b] for a, b in zip(truth, y, strict=False))), parts) for y in listed.tolist()
            ]
            assert found.loss(own, listed).fractions() == losses
            table, places = found.place_losses(at), range(len(truth))
            assert [Fraction(int(sum(table.values[t, y[t]] for t in places)), table.unit) for y in listed] == losses
            assert found.least_loss(at) == min(each for each in losses if each)
            for _ in range(3):
                w = Whole(objects(rng.integers(-4, 5, found.dim).tolist()), 3)
                gains = found.gains(w, own, listed).fractions()
                assert found.margin(w, at).fractions() == [max(a + b for a, b in zip(gains, losses, strict=True))]
                assert found.slack(w, at).fractions() == [max(b * (1 + a) for a, b in zip(gains, losses, strict=True))]


def test_trees_are_forests():
    assert (
        forest([], 1) == forest([(0, 1)], 2) == forest([(2, 1), (1, 0)], 4) == forest([(0, 1), (0, 2), (2, 3)], 4) == ""
    )
    pair = {
        "labels": [0] * 6,
        "offsets": [0, 2, 6],
        "edges": [[0, 1], [0, 3]],
        "ends": [0, 1, 2],
        "pairs": [[1.0], [1.0]],
    }
    pair |= {"weights": [1.0, 1.0], "data": [], "indices": np.zeros(0, np.int64), "indptr": [0] * 7}
    assert not refusal(structure, "tree", **pair)
    assert forest([(0, 2), (1, 2)], 3) == "data_edges: a node has two parents"
    assert forest([(0, 1), (1, 0)], 2) == forest([(0, 1), (1, 2), (2, 0)], 4) == "data_edges: sample 0 has a circle"


def test_graphs_of_other_oracles_are_unknown():
    assert refusal(structure, "graph", oracle="under") == (
        "no output structure called 'graph with the oracle under', version 1, is known; "
        "known: graph with the oracle exact or enclosed"
    )


def test_listed_outputs_that_are_refused():
    found = structure("structured")
    n, rows = found.n, len(found.owners)
    told = "its first rows are not the true outputs in order"
    assert changed("structured", "owners", 0, 1) == changed("structured", "owners", n - 1, 0) == told
    assert changed("structured", "losses", 0, 0.5) == changed("structured", "losses", n - 1, 5e-324) == told
    for value in (-1, n):
        assert (
            changed("structured", "owners", rows - 1, value) == f"data_owners holds a number that is not in 0 … {n - 1}"
        )
    assert "no output structure called 'structured whose outputs are not listed'" in refusal(
        structure, "structured", listed=False
    )
    few = {"owners": np.arange(n), "losses": np.zeros(n), "data": [], "indices": np.zeros(0, np.int64)}
    alone = structure("structured", indptr=np.zeros(n + 1, np.int64), **few)
    assert alone.least_loss(np.arange(n)) is None
    assert alone.margin(Whole(objects([1, 2, 3])), np.arange(n)).fractions() == [0] * n
    short = {key: value[: n - 1] if key in ("owners", "losses") else value for key, value in few.items()}
    assert refusal(structure, "structured", indptr=np.zeros(n, np.int64), **short) == told


def test_rivals_among_listed_outputs():
    """Where all gains are far below 0, the truth is none of the rivals all the same."""
    found = structure("structured")
    for scale in (1, -1, 1000, -1000):
        w = Whole(objects([3 * scale, -2 * scale, scale]), 7)
        for i in range(found.n):
            others = [k for k in found.outputs(i).ravel().tolist() if k != i]
            if others:
                gains = found.gains(w, np.full(len(others), i), np.array(others)[:, None]).fractions()
                assert found.rival(w, np.array([i])).fractions() == [max(gains)]
    lonely = structure("structured", owners=[0, 1, 2, 0], losses=[0.0, 0, 0, 1], data=[1.0], indices=[0],
                       indptr=[0, 0, 0, 0, 1])  # fmt: skip
    for value in (-5, 5):
        w = Whole(objects([value, 0, 0]), 1)
        assert lonely.rival(w, np.array([0])).fractions() == [value]
    zero = Whole(objects([0, 0, 0]), 1)
    assert lonely.rival(zero, np.array([0])).fractions() == [0]


# ── motifs ────────────────────────────────────────────────────────────────────────────────────────


def motif(**arrays):
    """One positive and one negative sequence of four letters, and a motif of two."""
    base = {"length": 2, "labels": [1, 0], "lengths": [4, 4], "spans": [[0, 2], [1, 2]], "positions": [1, -1]}
    base |= {"letters": np.array([0, 1, 2, 3, 3, 2, 1, 0], np.uint8), "weights": [1.0, 1.0]}
    return structure("motif", **(base | arrays))


def test_every_view_of_a_true_label_is_an_output_where_it_is_hidden():
    base = next(case for case in certificates() if case.name == "soft-margin of views").arrays
    views = np.diff(base["data_offsets"])
    at = int(np.flatnonzero(views > 1)[0])
    states = base["data_states"].copy()
    outputs = np.array([[base["data_labels"][at], view] for view in range(views[at])])
    for state, allowed in ((0, 1), (1, 1), (-1, views[at])):
        states[at] = state
        assert structure("views", states=states).is_output(np.full(len(outputs), at), outputs).sum() == allowed, state


def test_views_that_are_refused():
    """Samples of one, two and three views; labels 0, 1, 2."""

    def views(**arrays):
        base = {"classes": [0, 1, 2], "offsets": [0, 1, 3, 6], "labels": [0, 1, 2], "states": [0, 1, 2], "n_inputs": 1}
        base |= {"weights": [1.0] * 3, "data": [], "indices": np.zeros(0, np.int64), "indptr": [0] * 7}
        return structure("views", **(base | arrays))

    assert views().views.tolist() == [1, 2, 3]
    for offsets in ([1, 1, 3, 6], [0, 3, 3, 6], [0, 4, 3, 6]):
        assert refusal(views, offsets=offsets) == "data_offsets do not rise from 0", offsets
    for states, refused in (([-1, 1, 2], True), ([0, -1, -1], False), ([1, 1, 2], True), ([0, 2, 2], True),
                            ([0, 1, 3], True), ([0, -2, 2], True), ([0, 0, 0], False)):  # fmt: skip
        assert refusal(views, states=states) == ("data_states: a state is no view" if refused else ""), states
    half = views(states=[0, -1, 2])
    assert refusal(half.usable) == "the view of sample 1 is hidden"
    assert not refusal(views().usable)
    assert views().revealed() is None
    assert half.revealed().truth.tolist() == [[0, 0], [1, 0], [2, 2]]
    for states, refused in (([0, 0, 2], False), ([0, 1, 2], False), ([0, 2, 2], True), ([0, -1, 2], True),
                            ([0, 0, 1], True), ([1, 0, 2], True)):  # fmt: skip
        told = refusal(half.completed, np.array(states))
        assert told == ("a state is no view of its sample" if refused else ""), states
        assert refused or half.completed(np.array(states)).truth.tolist() == [[y, h] for y, h in enumerate(states)]


def test_sets_of_labels_are_listed_or_too_many():
    arrays = {"classes": [0, 1], "truth": [[0, 0]], "n_inputs": 1, "weights": [1.0], "data": [1.0], "indices": [0]}
    found = structure("multilabel", **arrays, indptr=[0, 1])
    assert found.outputs(0).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    for most, told in ((2, ""), (1, "sample 0 has 2^2 sets of labels, too many to list")):
        with limited(multilabel, MOST_LABELS=most):
            assert refusal(found.outputs, 0) == told
    for w, best in (([1, 1], 2), ([1, 0], 1), ([0, 0], 0), ([-1, -2], -1), ([3, -1], 3)):
        assert found.rival(Whole(objects(w), 1), np.array([0])).fractions() == [best], w


def test_an_alphabet_has_two_letters_or_more():
    told = "data_alphabet has no two letters, or one twice"
    letters = next(case for case in certificates() if case.name == "soft-margin of motif").arrays["data_letters"] % 2
    for codes, q in (([7, 3], 2), ([7], 0), ([], 0), ([7, 7], 0), ([7, 3, 7], 0), ([0, 1, 9], 3)):
        arrays = {"letters": letters, "alphabet": np.array(codes, np.uint8)}
        assert refusal(structure, "motif", **arrays) == ("" if q else told), codes
        assert not q or structure("motif", **arrays).q == q


def test_motifs_that_are_refused():
    assert motif(length=1).dim == 8
    assert motif(length=4, spans=[[0, 0], [0, 0]], positions=[0, -1]).dim == 20
    lengths, span, position = (
        "data_lengths do not add up to the letters",
        "data_spans: a span is none",
        "data_positions: a ",
    )
    position += "position lies outside its span"
    for arrays, told in (
        ({"length": 0}, f"data_length holds a number that is not in 1 … {1 << 40}"),
        ({"labels": [2, 0]}, "data_labels holds a number that is not in 0 … 1"),
        ({"labels": [-1, 0]}, "data_labels holds a number that is not in 0 … 1"),
        ({"letters": np.array([4] * 8, np.uint8)}, "data_letters holds a number that is not in 0 … 3"),
        ({"lengths": [4, 3]}, lengths),
        ({"lengths": [1, 7]}, "data_lengths holds a number that is not in 2 … 8"),
        ({"lengths": [9, 4]}, "data_lengths holds a number that is not in 2 … 8"),
        ({"spans": [[-1, 2], [1, 2]]}, span),
        ({"spans": [[0, 3], [1, 2]]}, span),
        ({"spans": [[2, 1], [1, 2]], "positions": [-1, -1]}, span),
        ({"positions": [3, -1]}, position),
        ({"spans": [[1, 2], [1, 2]], "positions": [0, -1]}, position),
        ({"positions": [-2, -1]}, position),
        ({"positions": [1, 1]}, position),
    ):
        assert refusal(motif, **arrays) == told, arrays
    assert not refusal(motif(spans=[[1, 1], [1, 2]]).usable)
    assert refusal(motif(positions=[-1, -1]).usable) == "the position of sample 0 is hidden"
    hidden = motif(labels=[0, 1], positions=[-1, -1])
    assert refusal(hidden.usable) == "the position of sample 1 is hidden"
    assert hidden.completed(np.array([-1, 2])).truth.tolist() == [[0, -1], [1, 2]]
    assert hidden.completed(np.array([-1, 1])).spans.tolist() == [[0, 2], [1, 1]]
    for states in ([0, 2], [-1, 0], [-1, 3], [-1, -1]):
        assert refusal(hidden.completed, np.array(states)) == "a state lies outside its span", states
    found = motif()
    rows = np.array(list(itertools.product((-1, 0, 1, 2), range(-2, 5))))
    for i, last in ((0, 2), (1, 2)):
        inside = [y == (0, -1) or (y[0] == 1 and (0, 1)[i] <= y[1] <= last) for y in map(tuple, rows.tolist())]
        assert found.is_output(np.full(len(rows), i), rows).tolist() == inside
    assert found.least_loss(np.array([0])) == 1
    assert found.least_loss(np.zeros(0, int)) is None
    assert found.magnitudes().tolist() == [4, 4]
    single = motif(spans=[[1, 1], [2, 2]])
    for value in (3, -3):
        w = Whole(objects([value * (j == 1) for j in range(12)]), 1)
        assert single.rival(w, np.arange(2)).fractions() == [-value, value]


# ── flows ─────────────────────────────────────────────────────────────────────────────────────────


def test_flows_that_are_refused():
    found = structure("flow")
    links = "data_heads: a link leads backwards, outside, or comes twice"
    sizes, counts = found.sizes, np.diff(found.first) - 3
    node = int(np.flatnonzero(counts)[0])
    at = int(counts[:node].sum())
    last = at + int(counts[node]) - 1
    for place, value in ((at, int(found.own[node])), (at, -1), (last, int(found.size_at[3 * node])), (last, 99)):
        assert changed("flow", "heads", place, value) == links
    many = int(np.flatnonzero(counts > 1)[0])
    at = int(counts[:many].sum())
    heads = next(case for case in certificates() if case.name == "soft-margin of flow").arrays["data_heads"]
    assert changed("flow", "heads", at + 1, heads[at]) == links
    apart = "data_sizes, counts and heads do not fit together"
    assert changed("flow", "sizes", 0, int(sizes[0]) + 1) == changed("flow", "counts", 0, int(counts[0]) + 1) == apart
    assert refusal(structure, "flow", blocks=[0, 0, 0, 0]) == "data_sizes or blocks are empty"
    none = {key: np.zeros(0, np.int64) for key in ("sizes", "counts", "heads")}
    assert refusal(structure, "flow", **none) == "data_sizes or blocks are empty"
    for key, least in (("sizes", 1), ("counts", 0), ("blocks", 0)):
        assert changed("flow", key, 0, least - 1).startswith(f"data_{key} holds a number that is not in {least} … ")
    wide = {"blocks": [1 << 30, 0, 0, 0]}
    assert structure("flow", **wide).dim == 1 << 30
    assert refusal(structure, "flow", blocks=[(1 << 30) + 1, 0, 0, 0]).startswith(
        "data_blocks holds a number that is not in 0 … "
    )
    told = "data_truth: a row is no set of paths"
    wide = int(found.sizes.argmax())
    for row in ([1, 1, -1, -1], [4, -1, -1, -1], [-2, -1, -1, -1], [-1, 0, -1, -1]):
        assert changed("flow", "truth", range(wide * 4, wide * 4 + 4), row) == told, row
    single = int(found.sizes.argmin())
    assert changed("flow", "truth", single * 4 + 1, 0) == told


def test_no_detection_beyond_a_sample_follows():
    """Behind the two detections of sample 0 stands the first of sample 1, which has links."""
    base = {
        "sizes": [2, 3],
        "counts": [0, 0, 2, 1, 0],
        "heads": [1, 2, 2],
        "weights": [1.0, 1.0],
        "blocks": [1, 0, 0, 0],
    }
    base |= {"truth": [[0, 1, -1], [0, 1, 2]], "data": [], "indices": np.zeros(0, np.int64), "indptr": [0] * 19}
    outputs = np.array([[-1, -1, -1], [-1, -1, 1], [0, 1, 1], [-1, -1, 0], [-1, -1, 2]])
    found = structure("flow", **base)
    assert found.is_output(np.zeros(5, int), outputs).tolist() == [True] + [False] * 4
    w, one = Whole(objects([0]), 1), np.array([1])
    for most, told in ((27, ""), (26, "checking would take 27 products of pieces, more than 26")):
        with limited(whole, MOST_WORK=most):
            assert refusal(found.margin, w, one) == told


def test_matchings_that_would_take_too_long_are_refused():
    """3 rows and 5 columns: 3² · 5 = 45 steps."""
    shapes, indptr = [[3, 5]], np.zeros(16, np.int64)
    base = {"weights": [1.0], "data": [], "indices": np.zeros(0, np.int64), "truth": [[0, -1, 4]]}
    found = structure("matching", shapes=shapes, indptr=indptr, **base)
    w, one = Whole(objects([0] * found.dim), 1), np.array([0])
    for most, told in ((45, ""), (44, "checking would take 45 products of pieces, more than 44")):
        with limited(whole, MOST_WORK=most):
            assert refusal(found.margin, w, one) == told


def test_slack_of_chains_takes_whole_costs_that_are_not_too_large():
    def sentence(cost, *, most=10_000):
        found = structure(
            "chain", classes=[0, 1, 2], cost=[[0.0, cost, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]],
            labels=[1, 0, 0], offsets=[0, 1, 3],
            weights=[1.0, 1.0], n_inputs=1, data=[], indices=np.zeros(0, np.int64), indptr=[0] * 4, loss="hamming",
        )  # fmt: skip
        with limited(chain, MOST_COST=most):
            return refusal(found.slack, Whole(objects([0] * found.dim), 1), np.arange(2))

    told = "slack rescaling of chains takes whole costs that add up to {} at most"
    assert not sentence(3.0, most=6)
    assert sentence(3.0, most=5) == told.format(5)
    assert sentence(1.5, most=6) == told.format(6)
    with limited(whole, MOST_WORK=3 * 9 * 7):
        assert not sentence(3.0)
    with limited(whole, MOST_WORK=3 * 9 * 7 - 1):
        assert sentence(3.0) == "checking would take 189 products of pieces, more than 188"


def test_each_side_of_pairs_has_a_column():
    for name, columns, refused in (("left", 0, True), ("left", 1, False), ("right", 0, True), ("right", 1, False)):
        none = {f"{name}_data": [], f"{name}_indices": np.zeros(0, np.int64), f"{name}_columns": columns}
        base = next(case for case in certificates() if case.name == "soft-margin of dyads").copy("few columns")
        none[f"{name}_indptr"] = 0 * base.arrays[f"data_{name}_indptr"]
        none["left_names"] = np.array(["a", "b"][:columns]) if name == "left" else base.arrays["data_left_names"]
        told = refusal(structure, "dyads", **none)
        assert told == (f"data_{name}_columns holds a number that is not in 1 … {1 << 40}" if refused else ""), name


def test_where_nothing_is_linked_nothing_follows():
    base = {"sizes": [2], "counts": [0, 0], "heads": np.zeros(0, np.int64), "weights": [1.0], "blocks": [1, 0, 0, 0]}
    base |= {"truth": [[0, -1]], "data": [], "indices": np.zeros(0, np.int64), "indptr": np.zeros(7, np.int64)}
    outputs = np.array([[-1, -1], [0, -1], [0, 1], [1, -1], [1, 1]])
    assert structure("flow", **base).is_output(np.zeros(5, int), outputs).tolist() == [True] * 3 + [False] * 2


def test_the_rivals_of_detections_that_nothing_links():
    base = {"sizes": [2], "counts": [0, 0], "heads": np.zeros(0, np.int64), "weights": [1.0], "blocks": [1, 0, 0, 0]}
    base |= {"data": [1.0] * 6, "indices": [0] * 6, "indptr": np.arange(7)}
    for truth, bests in (([[-1, -1]], (-3, 6)), ([[0, -1]], (3, 3)), ([[0, 1]], (6, -3))):
        found, one = structure("flow", truth=truth, **base), np.array([0])
        for sign, best in zip((1, -1), bests, strict=True):
            assert found.rival(Whole(objects([sign])), one).fractions() == [best], (truth, sign)


def test_flows_and_their_least_loss():
    """Every arc of a track that is no true one costs 2, every true arc that is missed 3 or 1."""
    base = {
        "sizes": [1],
        "counts": [0],
        "heads": np.zeros(0, np.int64),
        "weights": [1.0],
        "blocks": [1, 0, 0, 0],
        "false_positive": 2.0,
    }
    base |= {"data": [], "indices": np.zeros(0, np.int64), "indptr": np.zeros(4, np.int64)}
    for truth, minus, least in (([[0]], 3.0, 2), ([[-1]], 3.0, 2), ([[-1]], 1.0, 1), ([[0]], 1.0, 2)):
        found = structure("flow", truth=truth, false_negative=minus, **base)
        assert found.least_loss(np.array([0])) == least, (truth, minus)
    assert found.least_loss(np.zeros(0, int)) is None
