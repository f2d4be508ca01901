"""Nodes of search trees, one by one, against the second checker: boxes, reaches and bounds (plain functions)."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
from chance.certificates import case_of
from second_checker.formulations import program
from second_checker.trees import Search, read_tree

from workbench.proofs.checker import normal
from workbench.proofs.checker.kinds._box import Box
from workbench.proofs.checker.kinds._boxes import Boxes
from workbench.proofs.checker.kinds._nodes import Tree
from workbench.proofs.checker.kinds.tree import SearchTree, value_at
from workbench.proofs.checker.whole import Whole, objects

INFINITE = float("inf")
SAME = Fraction(1, 10**20)


def replayed(form, arrays, output):
    """Of each node the second checker's box before and after it is shrunk, and D."""
    found = program("self-paced", form, arrays, output)
    search = Search(found)
    rows, multipliers = read_tree(arrays, search)
    top = search.objective([Fraction(x) for x in arrays["theta"].tolist()])
    nodes, seen = [], []
    for v, (parent, branch, cutoff) in enumerate(rows):
        node = nodes[parent].child() if v else search.root()
        if v and branch >= 0:
            search.choose(node, branch)
        elif not v:
            search.shrink(node, [Fraction(0)] * search.size, 2 * max(cutoff, top))
        before, (point, D) = node.child(), search.bound(node, multipliers[v])
        if D > -INFINITE:
            search.shrink(node, point, 2 * max(max(cutoff, top) - D, 0))
        nodes.append(node)
        seen.append((before, D, node))
    return search, seen


def near(found, expected, grid):
    """A whole number over the grid, −1 for ∞."""
    return expected == INFINITE if found < 0 else abs(Fraction(int(found), grid) - expected) <= SAME


def check_box(box, node, search, grid, name):
    for ends, others in ((box.low, node.low), (box.high, node.high)):
        assert all(near(*pair, grid) for pair in zip(ends, others, strict=True)), name
    assert not any(end for end, other in zip(box.low, node.low, strict=True) if other == 0), name
    assert all(near(box.reach[j], node.reach[j], grid) for j in search.means), name
    assert box.active.tolist() == node.stands, name


def test_nodes_are_those_of_the_second_checker():
    for seed in range(18):
        rng = np.random.default_rng([8, seed])
        settings = {"C": float(rng.choice([0.5, 3.0, 20.0])), "K": float(rng.choice([0.3, 2.0]))}
        output, words = (("motif", {"hidden": True}), ("views", {"hidden": True}), ("linear", {}))[seed % 3]
        case = case_of(rng, "self-paced", output, settings, **words)
        case.arrays["theta"] = case.arrays["theta"] * rng.choice([0.0, 0.01, 1.0])
        case.arrays["tree_data"] = case.arrays["tree_data"] * rng.choice([0.1, 1.0, 8.0])
        stated, tree, terms = SearchTree.prepare(normal(case.header)[0], case.arrays)[1]
        search, seen = replayed(settings, case.arrays, output)
        boxes, ours = Boxes(stated.formulation, terms, value_at(stated, stated.theta)), {}
        for v, (before, D, after) in enumerate(seen):
            box = boxes.inherited(tree, v, ours)
            check_box(box, before, search, boxes.grid, case.name)
            own = boxes.value(tree, v, box)
            assert own == D or box.empty() or abs(own - D) <= SAME, case.name
            ours[v] = next(iter(boxes.shrunk_by(tree, [0], [v], [own], [box])))
            if not box.empty():
                check_box(ours[v], after, search, boxes.grid, case.name)
            kept = Box(box.low, 0 * box.high, 0 * box.reach, box.active)
            again = next(iter(boxes.shrunk_by(tree, [0], [v], [own], [kept])))
            assert not again.high.any(), case.name
            assert not again.reach.any(), case.name
        assert boxes.high_caps.tolist() == [math.ceil(cap * boxes.grid) for cap in boxes.caps]
        assert boxes.radius(0.0, boxes.upper + 1) == 0
        assert boxes.radius(INFINITE, Fraction(0)) is boxes.radius(0.0, -INFINITE) is None


def test_numbers_beyond_floats_leave_a_node_without_a_bound():
    case = case_of(np.random.default_rng(9), "self-paced", "linear", {"C": 3.0, "K": 2.0})
    case.arrays["tree_data"][:], case.arrays["tree_cutoffs"][:] = 1e300, INFINITE
    stated, tree, terms = SearchTree.prepare(normal(case.header)[0], case.arrays)[1]
    boxes = Boxes(stated.formulation, terms, value_at(stated, stated.theta))
    assert boxes.value(tree, 0, boxes.inherited(tree, 0, {})) == -INFINITE


class Told(Boxes):
    """Nodes whose D and whose boxes' being empty are told; a box is the number of its node."""

    def __init__(self, bounds, empty):
        self.told, self.without = bounds, empty
        self.terms = SimpleNamespace(firsts=np.arange(4))

    def inherited(self, tree, node, boxes):
        assert not node or int(tree.parents[node]) in boxes
        return SimpleNamespace(node=node, empty=lambda: False)

    def value(self, tree, node, box):
        assert box.node == node
        return self.told[node]

    def shrunk_by(self, tree, chosen, nodes, bounds, boxes):
        for k in chosen:
            assert (nodes[k], bounds[k]) == (boxes[k].node, self.told[nodes[k]])
            yield SimpleNamespace(node=nodes[k], empty=lambda k=k: nodes[k] in self.without)


def test_the_least_bound_of_nodes_that_are_not_covered():
    rng = np.random.default_rng(0)
    for _ in range(200):
        m = int(rng.integers(1, 9))
        parents = np.array([0, *(int(rng.integers(v)) for v in range(1, m))])
        branches = np.array([-1, *rng.integers(-1, 4, m - 1)])
        bounds = [Fraction(int(x)) for x in rng.permutation(m)]
        empty = set(np.flatnonzero(rng.random(m) < 0.4).tolist())
        tree = Tree(parents, branches, np.zeros(m), np.zeros(m + 1), np.zeros(0), Whole(objects([])))
        covered = tree.covered(np.arange(4))
        found: list = []
        for v in range(m):
            own = INFINITE if v in empty else bounds[v]
            found.append(max(own, found[parents[v]]) if v else own)
        expected = min((each for each, inside in zip(found, covered, strict=True) if not inside), default=INFINITE)
        assert Told(bounds, empty).proven(tree) == expected


# ── boxes ─────────────────────────────────────────────────────────────────────────────────────────


def box(low, high, reach=(0,), active=(0,)):
    return Box(*(objects(each) for each in (low, high, reach)), np.array(active))


def test_a_box_is_empty_where_one_low_end_is_above_a_finite_high_end():
    for low, high, empty in (
        ([0, 3], [-1, 2], True),
        ([0, 2], [-1, 2], False),
        ([1], [0], True),
        ([0], [0], False),
        ([5], [-1], False),
        ([5, 0], [4, 1], True),
    ):
        assert box(low, high).empty() is empty, (low, high)


def test_a_branch_bounds_all_states_from_below_or_one_from_above():
    """Sample 1 has the states 1 and 2; state 0 is another sample's."""
    for high, ends in (
        ([5, -1, -1], 9),
        ([5, 7, -1], 7),
        ([5, -1, 0], 0),
        ([5, 0, 8], 0),
        ([5, 12, -1], 9),
        ([5, -1, 1], 1),
    ):
        for state in (1, 2):
            whole = box([0, 2, 6], high, [-1, -1], [0, 3])
            kept = whole.on(2 * state, 1, slice(1, 3), 4, 9)
            expected = [end if k != state else ends for k, end in enumerate(high)]
            assert (kept.high.tolist(), kept.low.tolist()) == (expected, [0, 2, 6])
            assert kept.active.tolist() == [0, state]
            assert (whole.high.tolist(), whole.active.tolist()) == (high, [0, 3])
    left = box([0, 2, 6], [5, -1, -1], [-1, -1], [0, 3]).on(3, 1, slice(1, 3), 4, 9)
    assert (left.low.tolist(), left.high.tolist(), left.active.tolist()) == ([0, 4, 6], [5, -1, -1], [0, 1])


def least(low, high, mass, cost, cap, reach):
    """min over t ∈ [low, high] of min(t, κ) − Λt/c, by its three corners, after the ends moved down by cR."""
    if mass and INFINITE in (high, reach):
        return -INFINITE
    low, high = (max(end - cost * reach, 0) if reach < INFINITE else 0 for end in (low, high))
    ends = [min(t, cap) - mass / cost * t if t < INFINITE else cap for t in (low, high)]
    return min(ends) - (mass * reach if mass else 0)


def test_the_least_of_a_capped_term():
    """Terms 0 and 1 are states, 2 is the mean state of sample 0."""
    cap, cost = Fraction(5, 2), Fraction(2)
    for low, high, mass, term, reach in (
        (low, high, mass, term, reach)
        for low in (0, 1, 3, 12)
        for high in (-1, 0, 1, 6, 20)
        for mass in (Fraction(0), Fraction(1, 3), Fraction(7))
        for term in (0, 1, 2)
        for reach in (-1, 0, 1, 3)
    ):
        if 0 <= high < low:
            continue
        given = box(
            [low if k == term else 7 for k in range(3)], [high if k == term else 7 for k in range(3)], [reach], [term]
        )
        away = Fraction(0) if term < 2 else Fraction(reach, 4) if reach >= 0 else INFINITE
        ends = Fraction(low, 4), Fraction(high, 4) if high >= 0 else INFINITE
        found = given.least(0, mass, cost, cap, 2, 4)
        assert found == least(*ends, mass, cost, cap, away), (low, high, mass, term, reach)
