"""Trees that prove lower bounds of objectives with capped terms, re-checked in interval arithmetic.

    F(w) = ½‖w‖² + Σ_i min(t_i(w), κ_i),    t_i(w) = c_i max_z ⟨a_i(z), w⟩ + o_i(z),        F* = min F = F(w*)

(docs/mathematics.md §6). A node of the tree is a box: low_i ≤ t_i(w*) ≤ high_i for all i. Any dual weights λ ≥ 0,
one per cut, bound F from below for every w in it, by Lagrange's relaxation of t_i ≥ c_i(⟨a_i(z), w⟩ + o_i(z)):

    D(λ) = Σ_i g_i(Λ_i) + ⟨o, λ⟩ − ½‖Σ λa‖²,      g_i(Λ) = min over t ∈ {low_i, high_i} of min(t, κ_i) − Λt/c_i,

Λ_i = Σ_z λ_i(z); the minimum over the whole interval is at an end since min(t, κ) − Λt/c is concave. More is true,
F(w) ≥ D(λ) + ½‖w − w(λ)‖² with w(λ) = −Σ λa. So with any upper bound U ≥ F* (a *cutoff*)

    ‖w* − w(λ)‖ ≤ ρ = √(2(U − D(λ))),      c_i max_z(s_z − ρ‖a_z‖)₊ ≤ t_i(w*) ≤ c_i max_z(s_z + ρ‖a_z‖)₊,

s_z = ⟨a_z, w(λ)⟩ + o_z: the box shrinks. The children of a node inherit it, all shrunk, and either cover it in two
halves, t_i ≤ κ_i (sample i is kept) and t_i ≥ κ_i (it is left out), or there is one child with the whole box, which
other dual weights then shrink further. A node bounds F* by the greater of its own D and its parent's, and by ∞ if
its box has become empty; F* is at least the least bound among the nodes that their children do not cover.

Nothing of the search enters but the tree: parents, branches, cutoffs and λ. Everything is computed here anew, all
nodes of one depth at a time, every rounding error bounded.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from workbench.arithmetic.intervals import TINY, Interval, down, gamma, up
from workbench.arithmetic.rationals import Ratios, ratios
from workbench.contracts import Cuts, Floats, Ints, Problem, Search
from workbench.errors import BadInput, Contradiction, MissingCapability
from workbench.proofs.bounds import Bounds, Evidence
from workbench.proofs.exact import above
from workbench.proofs.tree import Tree

LARGEST = 20_000_000  # entries of all slopes together
CHUNK = 2048  # nodes that are checked at a time


class Table(NamedTuple):
    """All R cuts of the n samples with positive weight, sample by sample, the truth's own (0, 0) among them."""

    slopes: Floats  # (R, p)
    offsets: Floats  # (R,)
    starts: Ints  # (n + 1,)


class CappedBounds(Bounds):
    """Upper and lower bounds of one (formulation, problem) pair whose terms are capped (a `Search`)."""

    formulation: Search

    def __init__(self, formulation: Search, problem: Problem):
        held = problem.weights > 0
        self.exact_charges = [
            [each for each, used in zip(part, held, strict=True) if used] for part in formulation.charges(problem)
        ]
        self.costs, self.caps = map(enclosing, self.exact_charges)
        super().__init__(formulation, problem)
        samples, outputs = formulation.every(problem, self.samples)
        if len(samples) * self.oracle.dim > LARGEST:
            raise MissingCapability(
                f"The search holds every cut, {len(samples)} of {self.oracle.dim} entries, which is too many; give it "
                "fewer samples or smaller outputs."
            )
        slopes, offsets = self.oracle.rows(samples, outputs)
        starts = np.append(np.flatnonzero(np.diff(samples, prepend=-1)), len(samples))
        self.cuts = Table(slopes.toarray(), offsets, starts)
        self.slope_error = up(self.oracle.slope_error(samples))
        self.offset_error = up(self.oracle.offset_error(samples))
        squares = (self.cuts.slopes**2).sum(axis=1) * (1 + gamma(self.oracle.dim + 2)) + TINY
        self.norms = up(up(np.sqrt(up(squares))) + up(np.sqrt(self.oracle.dim) * self.slope_error * (1 + 1e-15)))

    # ── above ──

    def upper(self, theta: Floats, witnesses: Ints | None = None) -> float:
        """F at θ, rounded up."""
        if not np.isfinite(theta).all():
            return np.inf
        if witnesses is None:
            witnesses = self.oracle.argmax(theta, self.samples)
        terms = self.costs * self.hinges(theta, witnesses)
        capped = Interval(np.minimum(terms.lo, self.caps.lo), np.minimum(terms.hi, self.caps.hi))
        return float((self.regularizer.value(Interval(theta)) + capped.sum()).hi)

    def exact_upper(self, theta: Floats) -> Fraction:
        """F at θ as a fraction; `MissingCapability` if the output structure has no exact decoder."""
        exact = self.oracle.exact()
        if exact is None:
            raise MissingCapability(f"{type(self.problem).__name__} brings no exact decoder (a method `exact`)")
        point = ratios(theta)
        heights: Ratios = exact.highest(point, self.samples)
        terms = zip(self.exact_charges[0], heights.fractions(), self.exact_charges[1], strict=True)
        kept = (min(cost * height, cap) for cost, height, cap in terms)
        start: Fraction = self.regularizer.over(Fraction).value(point)
        return sum(kept, start)

    def recheck(self, evidence: Evidence) -> tuple[float, Fraction | float]:
        """(lower, upper) of a point and a tree; the upper bound is exact where there is an exact decoder."""
        if evidence.tree is None:
            raise BadInput("A search is proven by its tree, and there is none; write the certificate again.")
        try:
            upper: Fraction | float = self.exact_upper(evidence.theta)
        except MissingCapability:
            upper = self.upper(evidence.theta)
        lower = self.proven(evidence.tree, above(upper))
        if lower > upper:
            raise Contradiction(
                f"The tree proves {lower!r}, above the proven upper bound {above(upper)!r}: there is a bug in the "
                f"argmax, features or loss of {type(self.problem).__name__}, or in our search trees; compare with "
                "enumeration."
            )
        return lower, upper

    # ── below ──

    def lower(self, cuts: Cuts, weights: Floats, upper: float = np.inf) -> float:
        """No dual value of cuts bounds capped terms; raises `MissingCapability`."""
        raise MissingCapability(
            "The terms of a search are capped, so weights of cuts prove no lower bound; use proven(tree, upper)."
        )

    def start_box(self, cutoff: float) -> tuple[Floats, Floats]:
        """The root's box, from ½‖w*‖² ≤ cutoff; (1, n) each."""
        nothing, n = np.zeros((1, self.oracle.dim)), len(self.samples)
        return self.shrunk(Interval(nothing), np.array([cutoff]), np.zeros((1, n)), np.full((1, n), np.inf))

    def proven(self, tree: Tree, upper: float) -> float:
        """The lower bound that the tree proves, given a proven upper bound; rounded down."""
        if (tree.branches >= 2 * len(self.samples)).any() or tree.weights.shape[1] != len(self.cuts.offsets):
            raise BadInput("The tree is about other cuts than those of the data; write the certificate again.")
        cutoffs = np.maximum(tree.cutoffs, upper)
        bounds, boxes = np.full(len(tree.parents), -np.inf), {}
        for level in levels(tree.parents):
            found = {}
            for nodes in np.array_split(level, -(-len(level) // CHUNK)):
                if nodes[0] == 0:
                    low, high = self.start_box(cutoffs[0])
                else:
                    above = tree.parents[nodes].tolist()
                    low, high = (np.array([boxes[parent][side] for parent in above]) for side in (0, 1))
                    self.halve(low, high, tree.branches[nodes])
                own, low, high = self.checked(tree.weights[nodes].toarray(), low, high, cutoffs[nodes])
                bounds[nodes] = np.maximum(own, bounds[tree.parents[nodes]])
                found |= dict(zip(nodes.tolist(), zip(low, high, strict=True), strict=True))
            boxes = found
        return float(bounds[~tree.covered()].min())

    def halve(self, low: Floats, high: Floats, branches: Ints) -> None:
        """Apply the branches (L,) to the boxes (L, n), in place."""
        for side, ends, caps, tighter in ((0, high, self.caps.hi, np.minimum), (1, low, self.caps.lo, np.maximum)):
            rows = np.flatnonzero((branches >= 0) & (branches % 2 == side))
            where = rows, branches[rows] // 2
            ends[where] = tighter(ends[where], caps[where[1]])

    def checked(self, weights: Floats, low: Floats, high: Floats, cutoffs: Floats) -> tuple[Floats, Floats, Floats]:
        """D of each node (L,), rounded down, and its box (L, n) shrunk, rounded outward."""
        table, R = self.cuts, len(self.cuts.offsets)
        size = np.add.reduceat(weights, table.starts[:-1], axis=1)
        error = up(gamma(R + 2) * size)
        ratio = Interval(down(size - error), up(size + error)) / self.costs
        ends = [(Interval(np.minimum(t, self.caps.lo)) - ratio * t).lo for t in (low, high)]
        push = product(weights, table.slopes, self.slope_error)
        value = row_sums(Interval(np.minimum(*ends))) - row_sums(push * push) / 2
        value = value + product(weights, table.offsets[:, None], self.offset_error)[:, 0]
        low, high = self.shrunk(-push, up(cutoffs - value.lo), low, high)
        return np.where((low > high).any(axis=1), np.inf, value.lo), low, high

    def shrunk(self, point: Interval, excess: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The boxes (L, n), given ½‖w* − point‖² ≤ excess (L,) for points (L, p)."""
        table = self.cuts
        radius = up(np.sqrt(up(2 * np.maximum(excess, 0.0))))[:, None]
        middle = (point.lo + point.hi) / 2
        around = up(np.maximum(up(point.hi - middle), up(middle - point.lo)))
        scores, sizes = middle @ table.slopes.T + table.offsets, np.abs(middle) + around
        error = gamma(self.oracle.dim + 3) * (np.abs(middle) @ np.abs(table.slopes).T + np.abs(table.offsets))
        error = error + around @ np.abs(table.slopes).T + self.slope_error * sizes.sum(axis=1, keepdims=True)
        error = (error + self.offset_error + radius * self.norms) * (1 + 4 * gamma(self.oracle.dim + 8)) + TINY
        above = np.maximum.reduceat(up(scores + error), table.starts[:-1], axis=1)
        below = np.maximum.reduceat(down(scores - error), table.starts[:-1], axis=1)
        terms = self.costs * Interval(np.maximum(below, 0.0), np.maximum(above, 0.0))
        return np.maximum(low, np.maximum(terms.lo, 0.0)), np.minimum(high, terms.hi)


def enclosing(numbers: list[Fraction]) -> Interval:
    """Intervals around fractions."""
    nearest = np.array([float(each) for each in numbers])
    exact = np.array([Fraction(each) == number for each, number in zip(nearest.tolist(), numbers, strict=True)], bool)
    return Interval(np.where(exact, nearest, down(nearest)), np.where(exact, nearest, up(nearest)))


def product(weights: Floats, matrix: Floats, error: Floats) -> Interval:
    """Encloses `weights` (L, R) ≥ 0 times every matrix (R, p) whose row r differs by ≤ error_r in each entry."""
    count = weights.shape[1]
    width = gamma(count + 2) * (weights @ np.abs(matrix)) + (weights @ error)[:, None]
    width = up(width * (1 + 2 * gamma(count + 4)) + (count + 1) * TINY)
    centre = weights @ matrix
    return Interval(down(centre - width), up(centre + width))


def row_sums(values: Interval) -> Interval:
    """Encloses the sums of the rows (L, n)."""
    count = values.shape[1]
    width = up(gamma(count + 2) * np.maximum(np.abs(values.lo), np.abs(values.hi)).sum(axis=1) * (1 + gamma(count + 4)))
    return Interval(down(values.lo.sum(axis=1) - width), up(values.hi.sum(axis=1) + width))


def levels(parents: Ints) -> list[Ints]:
    """The nodes of each depth."""
    depth = np.zeros(len(parents), np.int64)
    for node, parent in enumerate(parents.tolist()):
        depth[node] = depth[parent] + (node > 0)
    order = np.argsort(depth, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)
