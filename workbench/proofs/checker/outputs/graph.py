"""Labels at the nodes of any graph, equal neighbours scored, w_e ≥ 0 and f_e ≥ 0 (docs/certificate-format.md §3).

Two labels. With c_v = θ_v(1) − θ_v(0) and any flow f of f_uv = −f_vu, |f_uv| ≤ θ_uv,

    Σ_v θ_v(y_v) + Σ_uv θ_uv [y_u = y_v] ≤ Σ_v θ_v(0) + Σ_uv θ_uv + Σ_v (c_v − Σ_u f_vu)₊

since y_v (c_v − Σ_u f_vu) ≤ (…)₊ and Σ_v y_v Σ_u f_vu = Σ_uv f_uv (y_u − y_v) ≤ Σ_uv θ_uv |y_u − y_v|. A largest flow
attains the maximum (`_cuts`). More labels: all labellings are listed; other oracles are not known here.
"""

from __future__ import annotations

import numpy as np

from workbench.proofs.checker.archive import Fields
from workbench.proofs.checker.faults import Unknown, demand
from workbench.proofs.checker.outputs._cuts import excesses
from workbench.proofs.checker.outputs._pairwise import Pairwise
from workbench.proofs.checker.whole import Array


class Graph(Pairwise):
    name = "graph"

    def __init__(self, fields: Fields):
        super().__init__(fields)
        if int(fields.ints("oracle", within=(0, 3))):
            raise Unknown(self.what, "graph of more than two labels with an oracle that is not exact", 1, [self.name])
        demand((self.pairs.values >= 0).all(), f"{fields.of}pairs hold a negative feature")
        self.signed = np.arange(self.dim) >= self.inner

    def classes_of(self, k: int) -> Array:
        return np.where(np.eye(k, dtype=bool), 0, -1)

    def bound(self, unary: Array, pairs: Array, i: int) -> int:
        if self.k > 2:
            return max(self.value(unary, pairs, i, y[: self.sizes[i]]) for y in self.outputs(i))
        edges, theta = self.edges[slice(*self.ends[i : i + 2])], np.maximum(pairs[:, 0], 0).tolist()
        left = excesses((unary[:, 1] - unary[:, 0]).tolist(), edges.tolist(), theta)
        return int(unary[:, 0].sum()) + sum(theta) + sum(max(each, 0) for each in left)
