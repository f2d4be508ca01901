"""Graphs of neighbours that are rather alike: edges score ⟨w_e, f_e⟩ 1[y_u = y_v] with f_e, w_e ≥ 0.

Two labels: a flow proves the maximum (`_cuts`). More labels, oracle `exact`: all labellings are looked at. Oracle
`enclosed`: any shares s_e(a) ∈ [0, 1] of the edges' scores prove a bound, and the certificate brings some that make
it small,

    max_y Σ θ_v(y_v) + Σ θ_e [y_u = y_v] ≤ Σ_v max_a (θ_v(a) + Σ_{e∋v} λ_ev(a)),   λ_eu = s_e θ_e, λ_ev = (1 − s_e) θ_e,

for θ_e = λ_eu(a) + λ_ev(a) where y_u = y_v = a, and 0 ≤ λ elsewhere. `under` and `relaxed` prove one end only, and
have no definition (docs/certificate-format.md §3, §8).
"""

from __future__ import annotations

import numpy as np

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.faults import Unknown, demand
from workbench.proofs.checker.outputs._cuts import heaviest_cut
from workbench.proofs.checker.outputs._pairwise import MOST_OUTPUTS, Pairwise, Scored
from workbench.proofs.checker.whole import Array, exact, zeros


class Graph(Pairwise):
    name = "graph"
    shares: Array | None = None

    def __init__(self, fields: Fields):
        self.asked = fields.word("oracle")
        if self.asked not in ("exact", "enclosed"):
            known = ["graph with the oracle exact or enclosed"]
            raise Unknown("output structure", f"graph with the oracle {self.asked}", self.version, known)
        super().__init__(fields)
        demand((self.features >= 0).all(), f"{fields.of}pairs: a feature is negative")
        self.signed = np.arange(self.dim) >= self.k * self.p

    def read_hints(self, fields: Fields) -> None:
        if self.asked == "enclosed":
            shares = fields.floats("hint_shares", len(self.edges), self.k, least=0.0)
            demand((shares <= 1).all(), "hint_shares holds a number above 1")
            whole = exact(shares)
            self.shares, self.best_unit = whole.values, whole.unit

    @property
    def kinds(self) -> Array:
        return np.where(np.eye(self.k, dtype=bool), 0, -1)

    def best(self, scored: Scored) -> int:
        if self.shares is not None:
            return self.bound(scored, self.shares[self.ends[scored.sample] : self.ends[scored.sample + 1]])
        if self.k == 2:
            gains = scored.nodes[:, 1] - scored.nodes[:, 0]
            return int(scored.nodes[:, 0].sum()) + heaviest_cut(gains, scored.pairs.ravel(), scored.edges)
        return int(self.listed_scores(scored).max())

    def bound(self, scored: Scored, shares: Array) -> int:
        """Σ_v max_a (θ_v(a) + Σ λ_ev(a)), for whole shares (E, K) over `best_unit`."""
        total = scored.nodes * self.best_unit
        for share, theta, (u, v) in zip(shares, scored.pairs.ravel(), scored.edges, strict=True):
            total[u] += share * theta
            total[v] += (self.best_unit - share) * theta
        return int(total.max(axis=1).sum())

    def listed_scores(self, scored: Scored) -> Array:
        """The scores of all labellings."""
        few = self.k ** min(len(scored.nodes), MOST_OUTPUTS) <= MOST_OUTPUTS
        demand(few, f"sample {scored.sample} has too many labellings to look at all of them")
        listed = np.indices((self.k,) * len(scored.nodes)).reshape(len(scored.nodes), self.k ** len(scored.nodes))
        found = zeros(listed.shape[1])
        for node, labels in zip(scored.nodes, listed, strict=True):
            found += node[labels]
        for theta, (u, v) in zip(scored.pairs.ravel(), scored.edges, strict=True):
            found[listed[u] == listed[v]] += theta
        return found
