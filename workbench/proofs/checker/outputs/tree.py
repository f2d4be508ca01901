"""Trees: rooted forests whose every pair of labels is scored (docs/certificate-format.md §3).

Max-sum on whole numbers, from the leaves to the roots:  V_v(b) = θ_v(b) + Σ over children u of v of max_a θ_vu(b, a)
+ V_u(a).
"""

from __future__ import annotations

import numpy as np

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.contracts import Sums
from workbench.proofs.checker.faults import demand
from workbench.proofs.checker.outputs._forests import forest_sums
from workbench.proofs.checker.outputs._pairwise import Pairwise, Scored
from workbench.proofs.checker.whole import Array, Whole


class Tree(Pairwise):
    name = "tree"

    def __init__(self, fields: Fields):
        super().__init__(fields)
        children = self.offsets[self.of_edge] + self.edges[:, 1]
        demand(len(np.unique(children)) == len(children), f"{fields.of}edges: a node has two parents")
        for i in range(self.n):
            order = sorted_edges(self.edges[self.ends[i] : self.ends[i + 1]])
            demand(order is not None, f"{fields.of}edges: sample {i} has a circle")

    @property
    def kinds(self) -> Array:
        return np.arange(self.k**2).reshape(self.k, self.k)

    def best(self, scored: Scored) -> int:
        values, k = scored.nodes.copy(), self.k
        order = self.sorted(scored)
        for number in reversed(order):
            parent, child = scored.edges[number]
            values[parent] += (scored.pairs[number].reshape(k, k) + values[child]).max(axis=1)
        roots = np.setdiff1d(np.arange(len(values)), scored.edges[:, 1])
        return int(values[roots].max(axis=1).sum())

    def sorted(self, scored: Scored) -> list[int]:
        return sorted_edges(scored.edges) or []

    def log_sums(self, w: Whole, samples: Array, masses: Array | None, P: int) -> Sums:
        return forest_sums(self, w, samples, masses, P)


def sorted_edges(edges: Array) -> list[int] | None:
    """The edges (E, 2) of a forest so that parents' come before children's; None if there is a circle."""
    pairs, below = edges.tolist(), {}
    for number, (parent, _) in enumerate(pairs):
        below.setdefault(parent, []).append(number)
    waiting, found = sorted(set(below) - {child for _, child in pairs}), []
    while waiting:
        own = below.get(waiting.pop(), [])
        found += own
        waiting += [pairs[number][1] for number in own]
    return found if len(found) == len(pairs) else None
