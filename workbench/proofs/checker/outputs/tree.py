"""Labels at the nodes of rooted forests, every pair of labels scored (docs/certificate-format.md §3).

V_u(a) = θ_u(a) + Σ_{children v} max_b V_v(b) + θ_uv(a, b), and the maximum is Σ_{roots} max_a V(a): max-sum from the
leaves to the roots.
"""

from __future__ import annotations

import numpy as np

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.contracts import Sums
from workbench.proofs.checker.faults import demand
from workbench.proofs.checker.outputs._forest import forest_sums
from workbench.proofs.checker.outputs._pairwise import Pairwise
from workbench.proofs.checker.whole import Array, Whole


class Tree(Pairwise):
    name = "tree"

    def __init__(self, fields: Fields):
        super().__init__(fields)
        child = self.edges[:, 1] + self.offsets[self.sample]
        demand(len(np.unique(child)) == len(child), f"{fields.of}edges give a node two parents")
        for i in range(self.n):
            demand(len(self.leaves_first(i)) == len(range(*self.ends[i : i + 2])), f"{fields.of}edges close a circle")

    def classes_of(self, k: int) -> Array:
        return np.arange(k * k).reshape(k, k)

    def leaves_first(self, i: int) -> list[int]:
        """The edges of a sample (numbers among its own), each after those below it; circles are left out."""
        edges = self.edges[slice(*self.ends[i : i + 2])].tolist()
        waiting = np.bincount([u for u, _ in edges], minlength=int(self.sizes[i])).tolist()
        above = {v: e for e, (_, v) in enumerate(edges)}
        ready, found = [v for v in above if not waiting[v]], []
        while ready:
            e = above[ready.pop()]
            found.append(e)
            u = edges[e][0]
            waiting[u] -= 1
            if not waiting[u] and u in above:
                ready.append(u)
        return found

    def log_sums(self, w: Whole, samples: Array, masses: Array | None, P: int) -> Sums:
        return forest_sums(self, w, samples, masses, P)

    def bound(self, unary: Array, pairs: Array, i: int) -> int:
        edges, best = self.edges[slice(*self.ends[i : i + 2])], unary.copy()
        for e in self.leaves_first(i):
            u, v = edges[e]
            best[u] += (best[v] + pairs[e].reshape(self.k, self.k)).max(axis=1)
        roots = np.setdiff1d(np.arange(len(best)), edges[:, 1])
        return int(best[roots].max(axis=1).sum())
