"""A search tree as its certificate holds it: parents, branches, weights, and which nodes their children cover.

Branch 2t keeps a sample to its state t, branch 2t + 1 leaves the sample out, t being its first state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.proofs.checker.whole import Array, Whole

AGAIN = -1  # the branch of a node that takes its parent's box over whole


class Tree(NamedTuple):
    """Nodes, parents first; λ of node v is weights[starts[v]:starts[v + 1]] at the cuts of that number."""

    parents: Array
    branches: Array
    cutoffs: Array
    starts: Array
    cuts: Array
    weights: Whole

    def covered(self, firsts: Array) -> Array:
        """(nodes,) whether the children of each cover it."""
        children: list[set[int]] = [set() for _ in self.parents]
        for parent, branch in zip(self.parents[1:].tolist(), self.branches[1:].tolist(), strict=True):
            children[parent].add(branch)
        return np.array([AGAIN in branches or covers(branches, firsts) for branches in children], bool)

    def row(self, node: int) -> tuple[Array, Array]:
        """The cuts and weights of a node."""
        own = slice(self.starts[node], self.starts[node + 1])
        return self.cuts[own], self.weights.values[own]

    def levels(self) -> list[Array]:
        depth = np.zeros(len(self.parents), np.int64)
        for node, parent in enumerate(self.parents.tolist()):
            depth[node] = depth[parent] + (node > 0)
        order = np.argsort(depth, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)


def covers(branches: set[int], firsts: Array) -> bool:
    """Whether the branches hold all states of one sample, and its being left out."""
    samples = np.searchsorted(firsts, sorted(branch // 2 for branch in branches), side="right") - 1
    ends = ((int(firsts[i]), int(firsts[i + 1])) for i in np.unique(samples).tolist())
    wholes = ({2 * first + 1, *range(2 * first, 2 * last, 2)} for first, last in ends)
    return any(whole <= branches for whole in wholes)
