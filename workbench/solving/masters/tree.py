"""The master with integer variables: the rows so far, searched by the tree of HiGHS or SCIP.

    min ½xᵀPx + qᵀx   s.t.  b − Ax ∈ K,  rows,  x_j ∈ ℤ for the columns `whole`

The tree's bound takes the place of a dual value. It is the backend's word: no vector comes with the bound that would
let anybody check it. The integers of the answer are rounded, and the other variables are solved for again with these
integers fixed, since a tree stops at tolerances that are coarser than those of a convex program.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from workbench.backends import Backend, ConeProgram
from workbench.backends.trees import search_tree
from workbench.contracts import Floats, Ints
from workbench.errors import BackendFailed
from workbench.solving.masters.declared import CompiledBase
from workbench.solving.masters.master import Master, MasterAnswer


class TreeMaster(Master):
    """Rows over a compiled base whose columns `whole` are integer; `backend` solves for the others."""

    def __init__(self, base: CompiledBase, tree: str, whole: Ints, backend: Backend):
        super().__init__(len(base.theta), tree)
        self.base, self.tree, self.whole, self.backend = base, tree, whole, backend

    def solve(self, tolerance: float, shortfall: float, time_limit: float | None = None) -> MasterAnswer:
        program, _ = self.base.extended(self.rows)
        found = search_tree(self.tree, program, self.whole, tolerance, time_limit)
        x = found.x if np.isnan(found.x).any() else self.settled(program, found.x, tolerance)
        stopped = bool(np.isnan(x).any() and not found.infeasible and time_limit is not None)
        used = np.ones(len(self.rows.offsets))  # a tree tells no multipliers, so no row counts as idle
        return MasterAnswer(self.base.read(x), used, found.status, found.infeasible, found.bound, stopped)

    def settled(self, program: ConeProgram, x: Floats, tolerance: float) -> Floats:
        """x with its integers rounded, and the other variables solved for at these."""
        free = np.setdiff1d(np.arange(len(x)), self.whole)
        x = x.copy()
        x[self.whole] = np.round(x[self.whole])
        if not len(free):
            return x
        P, A = sparse.csc_array(program.P), sparse.csc_array(program.A)
        fixed = x[self.whole]
        parts = {"P": P[free][:, free], "q": program.q[free] + P[free][:, self.whole] @ fixed}
        parts |= {"A": A[:, free], "b": program.b - A[:, self.whole] @ fixed}
        cones = {"zero": program.zero, "nonneg": program.nonneg, "soc": program.soc, "exp": program.exp}
        try:
            found = self.backend.solve(ConeProgram(**parts, **cones), tolerance)
        except BackendFailed:
            return x
        if np.isfinite(found.x).all():
            x[free] = found.x
        return x
