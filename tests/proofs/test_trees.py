"""Search trees as files hold them: what is no tree is one sentence, and which nodes are covered, by enumeration."""

from __future__ import annotations

from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from workbench.errors import BadInput
from workbench.proofs.tree import AGAIN, Tree


def three_nodes() -> Tree:
    """A root with two children; two cuts."""
    weights = sparse.csr_array(np.array([[0.5, 0.0], [0.0, 0.25], [1.0, 2.0]]))
    return Tree(np.array([0, 0, 1]), np.array([AGAIN, 0, 3]), np.array([np.inf, 1.0, -np.inf]), weights)


def test_a_tree_comes_back_from_its_arrays():
    tree, again = three_nodes(), Tree.of_arrays(three_nodes().arrays())
    for ours, theirs in zip(tree[:3], again[:3], strict=True):
        assert ours.tolist() == theirs.tolist()
    assert again.weights.toarray().tolist() == tree.weights.toarray().tolist()


def test_the_root_alone_with_weights_of_zero_is_a_tree():
    tree = Tree(np.zeros(1, int), np.array([AGAIN]), np.zeros(1), sparse.csr_array(np.zeros((1, 2))))
    tree = tree._replace(weights=sparse.csr_array((np.zeros(1), np.zeros(1, int), np.array([0, 1])), shape=(1, 2)))
    assert Tree.of_arrays(tree.arrays()).weights.data.tolist() == [0.0]


NODES, BEHIND, NUMBERS = "nodes are not described", "do not stand behind", "negative or no number"
FAULTS: list[tuple[str, Any, str]] = [
    ("parents", np.array([1, 0, 1]), NODES),
    ("parents", np.array([-1, 0, 1]), NODES),
    ("parents", np.array([0, 0, -1]), NODES),
    ("parents", np.array([0.0, 0.0, 1.0]), NODES),
    ("parents", np.array([0, 0]), NODES),
    ("parents", np.zeros((3, 1), int), NODES),
    ("parents", np.array([0, 1, 1]), BEHIND),
    ("parents", np.array([0, 0, 2]), BEHIND),
    ("branches", np.array([AGAIN, 0]), NODES),
    ("branches", np.array([-1.0, 0.0, 3.0]), NODES),
    ("branches", np.array([0, 0, 3]), BEHIND),
    ("branches", np.array([AGAIN, 0, -2]), BEHIND),
    ("branches", np.array([-2, 0, 3]), BEHIND),
    ("cutoffs", np.zeros(2), NODES),
    ("cutoffs", np.zeros(3, int), NODES),
    ("cutoffs", np.zeros(3, np.float32), NODES),
    ("cutoffs", np.array([0.0, np.nan, 1.0]), NUMBERS),
    ("data", np.array([1, 1, 1, 1]), NODES),
    ("data", np.array([1.0, -1e-300, 1.0, 1.0]), NUMBERS),
    ("data", np.array([1.0, np.inf, 1.0, 1.0]), NUMBERS),
    ("data", np.array([1.0, 1.0, 1.0, np.nan]), NUMBERS),
]


@pytest.mark.parametrize(("name", "array", "words"), FAULTS)
def test_what_is_no_tree_is_one_sentence(name, array, words):
    with pytest.raises(BadInput, match=words):
        Tree.of_arrays(three_nodes().arrays() | {name: array})


def test_no_node_is_no_tree():
    none = {name: np.zeros(0, int) for name in ("parents", "branches", "indices")}
    rest = {"cutoffs": np.zeros(0), "data": np.zeros(0), "indptr": np.zeros(1, int), "cuts": np.array(2)}
    with pytest.raises(BadInput, match=NODES):
        Tree.of_arrays(none | rest)


def subsets(of: list[int]) -> Any:
    return chain.from_iterable(combinations(of, r) for r in range(len(of) + 1))


def test_children_cover_a_node_if_they_have_all_of_one_sample_or_its_box():
    """Samples with 1, 2 and 1 states: every set of branches against the definition."""
    firsts, samples = np.array([0, 1, 3, 4]), [[0], [1, 2], [3]]
    for branches in subsets([AGAIN, 0, 1, 2, 3, 4, 6, 7]):
        whole = [{2 * state for state in own} | {2 * own[0] + 1} for own in samples]
        wanted = AGAIN in branches or any(each <= set(branches) for each in whole)
        nodes = [AGAIN, *branches]
        tree = Tree(np.zeros(len(nodes), int), np.array(nodes), np.zeros(len(nodes)), sparse.csr_array((len(nodes), 1)))
        assert tree.covered(firsts).tolist() == [wanted, *[False] * len(branches)], branches
