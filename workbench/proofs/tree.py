"""The tree of a search, which proves a lower bound of an objective with capped terms (proofs/capped.py computes it)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.arithmetic.arrays import saved_rows
from workbench.contracts import Floats, Ints
from workbench.errors import BadInput

AGAIN = -1  # the branch of a node that takes its parent's box over whole


class Tree(NamedTuple):
    """Nodes in an order in which parents come first; the first is the root, its own parent.

    branches : 2j for state j of its sample i, t_i = t_j ≤ κ_i; 2j + 1, j the first state of i, for t_i ≥ κ_i, which
        leaves i out; AGAIN for the parent's box. States are counted over the samples of positive weight only, where
        a sample that hides nothing has one
    weights : λ (nodes, cuts) ≥ 0, sparse; the cuts are `CappedBounds.cuts`, in order
    """

    parents: Ints
    branches: Ints
    cutoffs: Floats
    weights: sparse.csr_array

    def arrays(self) -> dict[str, NDArray]:
        """Plain arrays, for files; `of_arrays` is the inverse."""
        held = {"parents": self.parents, "branches": self.branches, "cutoffs": self.cutoffs}
        held |= {"cuts": np.array(self.weights.shape[1])}
        parts = self.weights.data, self.weights.indices.astype(np.int64), self.weights.indptr.astype(np.int64)
        return held | dict(zip(("data", "indices", "indptr"), parts, strict=True))

    @classmethod
    def of_arrays(cls, arrays: dict[str, NDArray]) -> Tree:
        """The tree, or `BadInput` if the arrays are none."""
        parents, branches, cutoffs = (arrays[name] for name in ("parents", "branches", "cutoffs"))
        count = len(parents)
        shape = branches.shape == cutoffs.shape == parents.shape == (count,)
        types = parents.dtype == branches.dtype == np.int64 and cutoffs.dtype == arrays["data"].dtype == np.float64
        if not (shape and types and count and parents[0] == 0 and (parents >= 0).all()):
            raise BadInput("the tree's nodes are not described as they should be")
        if (parents[1:] >= np.arange(1, count)).any() or branches[0] != AGAIN or (branches < AGAIN).any():
            raise BadInput("the tree's nodes do not stand behind their parents")
        weights = saved_rows(arrays, (count, int(arrays["cuts"])))
        if not np.isfinite(weights.data).all() or (weights.data < 0).any() or np.isnan(cutoffs).any():
            raise BadInput("a weight or a cutoff of the tree is negative or no number")
        return cls(parents, branches, cutoffs, weights)

    def covered(self, firsts: Ints) -> NDArray[np.bool_]:
        """(nodes,) whether the children of each cover it; sample i has the states firsts[i] … firsts[i + 1] − 1."""
        children: dict[int, set[int]] = {}
        for parent, branch in zip(self.parents[1:].tolist(), self.branches[1:].tolist(), strict=True):
            children.setdefault(parent, set()).add(branch)
        found = np.zeros(len(self.parents), bool)
        for parent, branches in children.items():
            states = [branch // 2 for branch in branches if branch != AGAIN]
            samples = set((np.searchsorted(firsts, states, side="right") - 1).tolist())
            found[parent] = AGAIN in branches or any(
                {2 * first + 1, *range(2 * first, 2 * last, 2)} <= branches
                for first, last in ((int(firsts[i]), int(firsts[i + 1])) for i in samples)
            )
        return found
