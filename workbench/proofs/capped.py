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

*Hidden states.* Where samples hide a state h ∈ H_i, t_i is the least of t_ih(w) = c_i(max_z Δ_z + ⟨w, Φ_z − Φ_h⟩)₊.
The box holds every t_ih, and while neither a state nor leaving out has been chosen for i, t_i is replaced by

    l_i(w) = (τ_i(w) − c_i R_i)₊,    τ_i(w) = c_i (max_z Δ_z + ⟨w, Φ_z − Φ̄_i⟩)₊,    R_i ≥ max_h ⟨w*, Φ_h − Φ̄_i⟩,

with l_i(w*) ≤ t_i(w*), Φ̄_i the mean of the Φ_h: a term like any other, its cuts lower by the *reach* R_i, which
the ball bounds by max_h ⟨w(λ), Φ_h − Φ̄_i⟩ + ρ‖Φ_h − Φ̄_i‖. The children that choose a state (t_ih ≤ κ_i, and
t_ih ≤ t_ih′ for all h′) for each h ∈ H_i, and the child that leaves i out (t_ih ≥ κ_i for all h), cover a node. One
state is the case |H_i| = 1.

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
from workbench.objectives.oracles import HiddenMargin
from workbench.proofs.bounds import Bounds, Evidence
from workbench.proofs.ends import above
from workbench.proofs.tree import Tree

LARGEST = 20_000_000  # entries of all slopes together
CHUNK = 2048  # nodes that are checked at a time


class Table(NamedTuple):
    """All R cuts of the n samples with positive weight, sample by sample, the truth's own (0, 0) among them.

    Cuts belong to T convex *terms*: first those of all J states, sample by sample, of which the sample i has those of
    the numbers firsts[i] … firsts[i + 1] − 1; then, for every sample with several states, that of its mean state.
    """

    slopes: Floats  # (R, p)
    offsets: Floats  # (R,)
    starts: Ints  # (T + 1,) where a term's cuts start
    owner: Ints  # (T,) whose term
    firsts: Ints  # (n + 1,)
    means: Ints  # (n,) the term of the mean state, or of the only one
    spread: Floats  # (J, p) Φ_h − Φ̄, 0 for a state that is the only one

    @property
    def several(self) -> Ints:
        """The samples with several states."""
        return np.flatnonzero(np.diff(self.firsts) > 1)

    @property
    def terms(self) -> Ints:
        """(R,) the term of each cut."""
        return np.repeat(np.arange(len(self.owner)), np.diff(self.starts))


class Box(NamedTuple):
    """What is known about w* at each of L nodes, and which term stands for which sample."""

    low: Floats  # (L, T)
    high: Floats  # (L, T)
    reach: Floats  # (L, n) R, 0 for a sample with one state
    active: Ints  # (L, n) the term of the mean state until a state is chosen

    def copy(self) -> Box:
        return Box(self.low.copy(), self.high.copy(), self.reach.copy(), self.active.copy())

    def node(self, number: int | None) -> Box:
        """One node's part, (T,) and (n,); of the index None the box of one node as that of L = 1 nodes."""
        return Box(self.low[number], self.high[number], self.reach[number], self.active[number])

    @classmethod
    def stacked(cls, nodes: list[Box]) -> Box:
        """The boxes of single nodes as one."""
        low, high, reach, active = (np.array(part) for part in zip(*nodes, strict=True))
        return cls(low, high, reach, active)


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
        fresh = np.diff(samples, prepend=-1) != 0
        if isinstance(self.oracle, HiddenMargin):
            truths = np.hsplit(outputs, 2)[1]
            fresh[1:] |= (truths[1:] != truths[:-1]).any(axis=1)
        starts, errors = np.append(np.flatnonzero(fresh), len(samples)), up(self.oracle.slope_error(samples))
        owner = np.searchsorted(self.samples, samples[starts[:-1]])
        self.cuts, self.slope_error = tabled(slopes.toarray(), offsets, starts, owner, errors)
        offset_error = up(self.oracle.offset_error(samples))
        self.offset_error = np.append(offset_error, np.full(len(self.slope_error) - len(samples), offset_error.max()))
        self.norms = self.lengths(self.cuts.slopes, self.slope_error)
        first = self.cuts.starts[:-1]
        apart = self.slope_error[first[self.cuts.means[self.cuts.owner]]] + self.slope_error[first]
        self.spread_error = 2 * apart[: len(self.cuts.spread)] * (np.diff(self.cuts.firsts) > 1)[self.state_owner]
        self.spread_norms = self.lengths(self.cuts.spread, self.spread_error)

    @property
    def state_owner(self) -> Ints:
        """(J,) whose state."""
        return self.cuts.owner[: self.cuts.firsts[-1]]

    def lengths(self, rows: Floats, errors: Floats) -> Floats:
        """Norms of rows that differ by ≤ errors in each entry, rounded up."""
        squares = (rows**2).sum(axis=1) * (1 + gamma(self.oracle.dim + 2)) + TINY
        return up(up(np.sqrt(up(squares))) + up(up(np.sqrt(self.oracle.dim)) * errors))

    # ── above ──

    def at_start(self) -> float:
        """F at r's minimiser, rounded up; what tables say there is the sum of terms that nothing caps."""
        return self.upper(self.start, self.opening)

    def upper(self, theta: Floats, witnesses: Ints | None = None) -> float:
        """F at θ, rounded up."""
        if not np.isfinite(theta).all():
            return np.inf
        if witnesses is None:
            witnesses = self.oracle.argmax(theta, self.samples)
        terms = self.costs * self.hinges(theta, witnesses)
        capped = Interval(np.minimum(terms.hi, self.caps.hi))
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

    def start_box(self, cutoff: float) -> Box:
        """The root's box, from ½‖w*‖² ≤ cutoff."""
        nothing, T = np.zeros((1, self.oracle.dim)), len(self.cuts.owner)
        reach = np.where(np.diff(self.cuts.firsts) > 1, np.inf, 0.0)[None]
        whole = Box(np.zeros((1, T)), np.full((1, T), np.inf), reach, self.cuts.means[None].copy())
        return self.shrunk(Interval(nothing), np.array([cutoff]), whole)

    def proven(self, tree: Tree, upper: float) -> float:
        """The lower bound that the tree proves, given a proven upper bound; rounded down."""
        J, firsts = len(self.cuts.spread), self.cuts.firsts
        left_out = tree.branches[(tree.branches >= 0) & (tree.branches % 2 == 1)] // 2
        known = (tree.branches < 2 * J).all() and np.isin(left_out, firsts[:-1]).all()
        if not known or tree.weights.shape[1] != len(self.cuts.offsets):
            raise BadInput("The tree is about other cuts than those of the data; write the certificate again.")
        cutoffs = np.maximum(tree.cutoffs, upper)
        bounds, boxes = np.full(len(tree.parents), -np.inf), {}
        chunk = max(1, min(CHUNK, LARGEST // len(self.cuts.offsets)))
        for level in levels(tree.parents):
            found = {}
            for nodes in np.array_split(level, -(-len(level) // chunk)):
                if nodes[0] == 0:
                    box = self.start_box(cutoffs[0])
                else:
                    above = [boxes[parent] for parent in tree.parents[nodes].tolist()]
                    box = Box.stacked(above)
                    self.choose(box, tree.branches[nodes])
                own, box = self.checked(tree.weights[nodes].toarray(), box, cutoffs[nodes])
                bounds[nodes] = np.maximum(own, bounds[tree.parents[nodes]])
                found |= {node: box.node(k) for k, node in enumerate(nodes.tolist())}
            boxes = found
        return float(bounds[~tree.covered(firsts)].min())

    def choose(self, box: Box, branches: Ints) -> None:
        """Apply the branches (L,) to the box, in place: 2j chooses state j, 2j + 1 leaves out the owner of state j."""
        firsts = self.cuts.firsts
        for row, branch in enumerate(branches.tolist()):
            if branch < 0:
                continue
            state, out = divmod(branch, 2)
            i = int(self.cuts.owner[state])
            states = slice(firsts[i], firsts[i + 1])
            if out:
                box.low[row, states] = np.maximum(box.low[row, states], self.caps.lo[i])
            else:
                box.high[row, state] = min(box.high[row, states].min(), self.caps.hi[i])
            box.active[row, i] = state

    def checked(self, weights: Floats, box: Box, cutoffs: Floats) -> tuple[Floats, Box]:
        """D of each node (L,), rounded down, and its box shrunk, rounded outward."""
        table, R = self.cuts, len(self.cuts.offsets)
        weights = self.standing(weights, box)
        size = np.take_along_axis(np.add.reduceat(weights, table.starts[:-1], axis=1), box.active, axis=1)
        error = gamma(R + 2) * size
        mass = widened(size, size, error)
        ratio = mass / self.costs
        low, high = self.ends(box)
        ends = [Interval(np.minimum(t, self.caps.lo)) - ratio * t for t in (low, high)]
        push = product(weights, table.slopes, self.slope_error)
        least = Interval(np.minimum(ends[0].lo, ends[1].lo), ends[0].hi)  # not −∞ to −∞, of which no sum is a number
        value = row_sums(least) - row_sums(push * push) / 2
        value = value + product(weights, table.offsets[:, None], self.offset_error)[:, 0]
        if len(table.several):
            value = value - row_sums(mass * self.lowering(box))
        lower = np.fmax(value.lo, -np.inf)  # not a number with an infinite reach, which proves nothing
        box = self.shrunk(-push, up(cutoffs - lower), box)
        return np.where((box.low > box.high).any(axis=1), np.inf, lower), box

    def standing(self, weights: Floats, box: Box) -> Floats:
        """λ (L, R), 0 at the cuts of terms that stand for no sample."""
        if not len(self.cuts.several):
            return weights
        terms = self.cuts.terms
        return np.where(box.active[:, self.cuts.owner[terms]] == terms, weights, 0.0)

    def ends(self, box: Box) -> tuple[Floats, Floats]:
        """Between which numbers (L, n) the terms lie that stand for the samples, less c_i R_i."""
        low, high = (np.take_along_axis(each, box.active, axis=1) for each in (box.low, box.high))
        if not len(self.cuts.several):
            return low, high
        lowering = self.lowering(box)
        finite = np.where(lowering < np.inf, lowering, 0.0)  # ∞ − ∞ is no number, and a wider end is one
        low, high = Interval(low) - self.costs * lowering, Interval(high) - self.costs * finite
        return low.positive().lo, high.positive().hi

    def lowering(self, box: Box) -> Floats:
        """(L, n) by how much the cuts that stand for a sample are lower: R_i where they are those of a mean state."""
        return np.where(box.active >= len(self.cuts.spread), box.reach, 0.0)

    def shrunk(self, point: Interval, excess: Floats, box: Box) -> Box:
        """The box, given ½‖w* − point‖² ≤ excess (L,) for points (L, p)."""
        table = self.cuts
        radius = np.sqrt(2 * np.maximum(excess, 0.0))[:, None]
        middle = (point.lo + point.hi) / 2
        around = np.maximum(point.hi - middle, middle - point.lo)
        sizes = (np.abs(middle) + around).sum(axis=1, keepdims=True)

        def scored(
            rows: Floats, offsets: Floats, errors: tuple[Floats, Floats], norms: Floats
        ) -> tuple[Floats, Floats]:
            """The values ⟨row, w⟩ + offset (L, rows) around the point, between these."""
            scores = middle @ rows.T + offsets
            error = gamma(self.oracle.dim + 3) * (np.abs(middle) @ np.abs(rows).T + np.abs(offsets))
            error = error + around @ np.abs(rows).T + errors[0] * sizes
            error = (error + errors[1] + radius * norms) * (1 + 4 * gamma(self.oracle.dim + 8)) + TINY
            found = widened(scores, scores, error)
            return found.lo, found.hi

        below, above = scored(table.slopes, table.offsets, (self.slope_error, self.offset_error), self.norms)
        below, above = (np.maximum.reduceat(each, table.starts[:-1], axis=1) for each in (below, above))
        costs = self.costs[table.owner]
        terms = costs * Interval(np.maximum(below, 0.0), np.maximum(above, 0.0))
        low, high = np.maximum(box.low, np.maximum(terms.lo, 0.0)), np.minimum(box.high, terms.hi)
        if not len(table.several):
            return Box(low, high, box.reach, box.active)
        nothing = np.zeros(len(table.spread))
        _, farthest = scored(table.spread, nothing, (self.spread_error, nothing), self.spread_norms)
        farthest = np.maximum.reduceat(farthest, table.firsts[:-1], axis=1)
        return Box(low, high, np.minimum(box.reach, np.maximum(farthest, 0.0)), box.active)


def tabled(slopes: Floats, offsets: Floats, starts: Ints, owner: Ints, errors: Floats) -> tuple[Table, Floats]:
    """All cuts with those of mean states, and by how much each slope may err in an entry.

    Given are the cuts of states (R,), where each state's start (J + 1,), and whose the states are (J,). The states of a
    sample have the same rivals in the same order, so means of their cuts are cuts of their mean.
    """
    J = len(owner)
    firsts = np.append(np.flatnonzero(np.diff(owner, prepend=-1)), J)
    means, spread = firsts[:-1].copy(), np.zeros((J, slopes.shape[1]))
    more = [(slopes, offsets, errors)]
    sizes, owners = np.diff(starts), list(owner)
    for i in np.flatnonzero(np.diff(firsts) > 1).tolist():
        first, last = firsts[i], firsts[i + 1]
        rows = slice(starts[first], starts[last])
        own = slopes[rows].reshape(last - first, -1, slopes.shape[1])
        mean = own.mean(axis=0)
        spread[first:last] = mean[0] - own[:, 0]
        error = np.full(len(mean), up(errors[rows].max() + gamma(len(own) + 3) * np.abs(own).max()))
        more.append((mean, offsets[starts[first] : starts[first + 1]], error))
        means[i] = len(owners)
        sizes, owners = np.append(sizes, len(mean)), [*owners, i]
    slopes, offsets, errors = (np.concatenate(each) for each in zip(*more, strict=True))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return Table(slopes, offsets, starts, np.array(owners), firsts, means, spread), errors


def enclosing(numbers: list[Fraction]) -> Interval:
    """Intervals around fractions."""
    nearest = np.array([float(each) for each in numbers])
    exact = np.array([Fraction(each) == number for each, number in zip(nearest.tolist(), numbers, strict=True)], bool)
    return Interval(np.where(exact, nearest, down(nearest)), np.where(exact, nearest, up(nearest)))


def product(weights: Floats, matrix: Floats, error: Floats) -> Interval:
    """Encloses `weights` (L, R) ≥ 0 times every matrix (R, p) whose row r differs by ≤ error_r in each entry."""
    count = weights.shape[1]
    width = gamma(count + 2) * (weights @ np.abs(matrix)) + (weights @ error)[:, None]
    width = width * (1 + 2 * gamma(count + 4)) + (count + 1) * TINY
    found = weights @ matrix
    return widened(found, found, width)


def row_sums(values: Interval) -> Interval:
    """Encloses the sums of the rows (L, n)."""
    count = values.shape[1]
    width = gamma(2 * count + 8) * abs(values).hi.sum(axis=1)
    return widened(values.lo.sum(axis=1), values.hi.sum(axis=1), width)


def widened(lo: Floats, hi: Floats, width: Floats) -> Interval:
    """From lo − width to hi + width."""
    return Interval(down(lo - width), up(hi + width))


def levels(parents: Ints) -> list[Ints]:
    """The nodes of each depth."""
    depth = np.zeros(len(parents), np.int64)
    for node, parent in enumerate(parents.tolist()):
        depth[node] = depth[parent] + (node > 0)
    order = np.argsort(depth, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)
