"""Graphs of neighbours that are rather alike: edges score ⟨w_e, f_e⟩ 1[y_u = y_v] with f_e, w_e ≥ 0.

Two labels: a flow proves the maximum (`_cuts`). More labels, oracle `exact`: all labellings are looked at. The oracles
`under`, `relaxed` and `enclosed` have no definition: what they bound is conditional (docs/certificate-format.md §3, §8).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.faults import Unknown, demand
from workbench.proofs.checker.outputs._cuts import heaviest_cut
from workbench.proofs.checker.outputs._pairwise import Pairwise, Scored
from workbench.proofs.checker.whole import Array, zeros


class Graph(Pairwise):
    name = "graph"

    def __init__(self, fields: Fields):
        super().__init__(fields)
        said = str(fields.get("oracle")[()])
        if said != "exact":
            raise Unknown("output structure", f"graph with the oracle {said}", self.version, ["graph, oracle exact"])
        demand((self.features >= 0).all(), f"{fields.of}pairs: a feature is negative")
        self.signed = np.arange(self.dim) >= self.k * self.p

    @property
    def kinds(self) -> Array:
        return np.where(np.eye(self.k, dtype=bool), 0, -1)

    def best(self, scored: Scored) -> int:
        if self.k == 2:
            gains = scored.nodes[:, 1] - scored.nodes[:, 0]
            return int(scored.nodes[:, 0].sum()) + heaviest_cut(gains, scored.pairs[:, 0], scored.edges)
        return int(self.listed_scores(scored).max())

    def listed_scores(self, scored: Scored) -> Any:
        """The scores of all labellings."""
        listed = np.indices((self.k,) * len(scored.nodes)).reshape(len(scored.nodes), -1)
        found = zeros(listed.shape[1])
        for node, labels in zip(scored.nodes, listed, strict=True):
            found += node[labels]
        for theta, (u, v) in zip(scored.pairs[:, 0], scored.edges, strict=True):
            found[listed[u] == listed[v]] += theta
        return found
