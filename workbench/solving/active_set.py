"""The optimum over finitely many cuts at one λ, and the line in λ on which it lies, by an active set.

    min over θ   λ/2 ‖θ‖² + Σ_i p_i max over the cuts k of sample i of ⟨a_k, θ⟩ + o_k

The dual has prices β ≥ 0 of cuts, with Σ β_k = p_i over the cuts of sample i, and v = λθ = −Σ_k β_k a_k. All cuts of an
active set S that belong to one sample are equally high at the optimum: with ζ_i = λh_i,

    ⟨a_k, v⟩ + λo_k = ζ_i  for k in S,        Σ_{k∈S∩i} β_k = p_i.

One cut of each sample is its reference; v₀ = −Σ_i p_i a_ref, and D and δ hold what slopes and offsets of the other cuts
of S have above it. Then D Dᵀ β = D v₀ + λδ: β, v and ζ are affine in λ, a *line* (Best 1996, of quadratic programs).

*An active set settles* at λ from any prices: they move to those of its line until one reaches 0, and that cut leaves;
where none does, the highest of the other cuts enters. If its row depends on the rows of D, prices move along the
dependency, which leaves v as it is, until a cut leaves in exchange; so D keeps full rank, and lines are unique.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from workbench.contracts import Cuts, Floats, Ints
from workbench.errors import BackendFailed

LEVEL = 1e-11  # of the largest offset: a cut higher by less is level with the others
DEPENDENT = 1e-9  # of a row's square: what is left of it beside the others if it depends on them
FEW = 800  # dependent rows up to which least squares are taken
STEPS = 2_000  # of the active set, after which it counts as unsettled


class Line(NamedTuple):
    """Prices β (2, m) of the cuts `held` (m,), v (2, p) and ζ (2, n) along a line: x[0] + λ x[1] at λ."""

    held: Ints
    prices: Floats
    push: Floats
    heights: Floats


def at(pair: Floats, lam: float) -> Floats:
    """The value at λ of x[0] + λ x[1]."""
    return pair[0] + lam * pair[1]


class ActiveSet:
    """Active sets over `cuts`, which may grow, for samples of the prices `masses` (n,)."""

    def __init__(self, cuts: Cuts, masses: Floats):
        self.cuts, self.masses = cuts, masses

    @property
    def level(self) -> float:
        """The height by which a cut may exceed the others."""
        return LEVEL * float(np.abs(self.cuts.offsets).max(initial=0.0))

    def excess(self, line: Line) -> Floats:
        """⟨a_k, v⟩ + λo_k − ζ_i (2, K) along a line; −∞ for the cuts that hold it."""
        excess = (self.cuts.slopes @ line.push.T).T - line.heights[:, self.cuts.samples]
        excess[1] += self.cuts.offsets
        excess[:, line.held] = np.array([[-np.inf], [0.0]])
        return excess

    def settled(self, held: Ints, prices: Floats, lam: float) -> Line | None:
        """The line that is the optimum over `cuts` at λ, by an active set from prices; None after STEPS steps."""
        for _ in range(STEPS):
            line = self.line(held)
            target = at(line.prices, lam)
            sinks = np.flatnonzero(target < 0)
            if len(sinks):
                ratios = prices[sinks] / (prices[sinks] - target[sinks])
                leaves = sinks[ratios.argmin()]
                prices = np.maximum(prices + ratios.min() * (target - prices), 0.0)
                held, prices = np.delete(held, leaves), np.delete(prices, leaves)
                continue
            excess = at(self.excess(line), lam)
            if excess.max(initial=-np.inf) <= self.level * lam:
                return line
            held, prices = self.entered(held, target, int(excess.argmax()))
        return None

    def entered(self, held: Ints, prices: Floats, cut: int) -> tuple[Ints, Floats]:
        """The active set with another cut; in exchange for one of its own where their rows depend on one another."""
        free, back = self.parted(held)
        rows, own = self.above(held, free, back), self.cuts.samples[cut]
        reference = int(np.flatnonzero(self.cuts.samples[held] == own)[0])
        row = (self.cuts.slopes[[cut]] - self.cuts.slopes[[held[reference]]]).toarray()[0]
        share = weighed(rows, rows @ row)
        left = row - share @ rows
        if left @ left > DEPENDENT * (row @ row):
            return np.append(held, cut), np.append(prices, 0.0)
        move = np.zeros(len(held))
        move[free] = -share
        np.add.at(move, back, share)
        move[reference] -= 1.0
        ratios = np.full(len(held), np.inf)
        np.divide(prices, -move, out=ratios, where=move < -1e-9)
        leaves = int(ratios.argmin())
        prices = np.maximum(prices + ratios[leaves] * move, 0.0)
        return np.append(np.delete(held, leaves), cut), np.append(np.delete(prices, leaves), ratios[leaves])

    def parted(self, held: Ints) -> tuple[Ints, Ints]:
        """Places in `held` of the cuts that are no reference, and of their references."""
        samples = self.cuts.samples[held]
        own, first = np.unique(samples, return_index=True)
        free = np.setdiff1d(np.arange(len(held)), first)
        return free, first[np.searchsorted(own, samples[free])]

    def above(self, held: Ints, free: Ints, back: Ints) -> Floats:
        """D: what slopes have above those of their references."""
        return (self.cuts.slopes[held[free]] - self.cuts.slopes[held[back]]).toarray()

    def line(self, held: Ints) -> Line:
        """The line of an active set."""
        free, back = self.parted(held)
        rows, samples = self.above(held, free, back), self.cuts.samples[held]
        first = np.setdiff1d(np.arange(len(held)), free)
        masses = self.masses[samples[first]]
        base = -(self.cuts.slopes[held[first]].T @ masses)
        lift = self.cuts.offsets[held[free]] - self.cuts.offsets[held[back]]
        own = weighed(rows, np.stack([rows @ base, lift], axis=1))
        prices, push = np.zeros((2, len(held))), np.stack([base, np.zeros(len(base))])
        prices[0, first] = masses
        prices[:, free] = own.T
        for k in range(2):
            np.subtract.at(prices[k], back, own[:, k])
            push[k] -= own[:, k] @ rows
        heights = np.zeros((2, len(self.masses)))
        heights[:, samples[first]] = (self.cuts.slopes[held[first]] @ push.T).T
        heights[1, samples[first]] += self.cuts.offsets[held[first]]
        return Line(held, prices, push, heights)


def weighed(rows: Floats, right: Floats) -> Floats:
    """x with D Dᵀ x = right."""
    found = solved(rows @ rows.T, right)
    if found is None:
        raise BackendFailed(f"{len(rows)} dependent cuts hold the optimum, too many to be told apart; use solve.")
    return found


def solved(matrix: Floats, right: Floats) -> Floats | None:
    """M⁻¹ right by Cholesky with one refinement, by least squares where M is singular and small."""
    if not len(right):
        return right
    if (factor := cholesky(matrix)) is None:
        return linalg.lstsq(matrix, right, lapack_driver="gelsy")[0] if len(right) <= FEW else None
    first = linalg.cho_solve(factor, right)
    return first + linalg.cho_solve(factor, right - matrix @ first)


def cholesky(matrix: Floats) -> tuple[Floats, bool] | None:
    """The factor, or None where the matrix is numerically singular: rows may depend on one another."""
    try:
        factor = linalg.cho_factor(matrix)
    except linalg.LinAlgError:
        return None
    return factor if np.diag(factor[0]).min() ** 2 > 1e-12 * np.diag(matrix).max() else None
