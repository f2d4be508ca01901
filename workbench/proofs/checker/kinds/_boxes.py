"""What the nodes of a search tree prove, over whole numbers (docs/certificate-format.md §7).

D and the points are exact; boxes stand on a grid of 2^−g with g = 160 − log₂ U, low ends rounded down and high ends
and reaches up, square roots up. A high end of ∞ is held as −1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple, Protocol

import numpy as np

from workbench.proofs.checker.contracts import Structure
from workbench.proofs.checker.whole import Array, Whole, common, dense_product, grouped, objects, root_up, zeros

AGAIN = -1  # the branch of a node that takes its parent's box over whole
CHUNK = 256  # nodes that are checked at a time
INFINITE = float("inf")
Bound = Fraction | float


class Tree(NamedTuple):
    """Nodes, parents first; λ of node v is weights[starts[v]:starts[v + 1]] at the cuts of that number."""

    parents: Array
    branches: Array
    cutoffs: Array
    starts: Array
    cuts: Array
    weights: Whole

    def covered(self, firsts: Array) -> Array:
        """(nodes,) whether the children of each cover it."""
        children: list[set[int]] = [set() for _ in self.parents]
        for parent, branch in zip(self.parents[1:].tolist(), self.branches[1:].tolist(), strict=True):
            children[parent].add(branch)
        return np.array([AGAIN in branches or covers(branches, firsts) for branches in children], bool)

    def row(self, node: int) -> tuple[Array, Array]:
        """The cuts and weights of a node."""
        own = slice(self.starts[node], self.starts[node + 1])
        return self.cuts[own], self.weights.values[own]

    def levels(self) -> list[Array]:
        depth = np.zeros(len(self.parents), np.int64)
        for node, parent in enumerate(self.parents.tolist()):
            depth[node] = depth[parent] + (node > 0)
        order = np.argsort(depth, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)


def covers(branches: set[int], firsts: Array) -> bool:
    """Whether the branches hold all states of one sample, and its being left out."""
    samples = np.searchsorted(firsts, sorted(branch // 2 for branch in branches), side="right") - 1
    ends = ((int(firsts[i]), int(firsts[i + 1])) for i in np.unique(samples).tolist())
    wholes = ({2 * first + 1, *range(2 * first, 2 * last, 2)} for first, last in ends)
    return any(whole <= branches for whole in wholes)


class Capped(Protocol):
    """What is asked of a formulation: c_i and κ_i (n,) of its `samples`, and the outputs' features and losses."""

    structure: Structure
    dim: int
    costs: Whole
    caps: Whole

    @property
    def samples(self) -> Array: ...


class Terms(NamedTuple):
    """The T convex terms: of all states, sample by sample, then of the mean state of each sample that has several.

    slopes (R, d), offsets (R,): cuts, term by term; term j has those from starts[j] on
    owner (T,): whose term;  firsts (n + 1,): where a sample's states start;  means (n,): the term of its mean state
    spread (states, d): φ(t) − mean φ, 0 for the only state
    """

    slopes: Whole
    offsets: Whole
    starts: Array
    owner: Array
    firsts: Array
    means: Array
    spread: Whole

    @property
    def states(self) -> int:
        return int(self.firsts[-1])

    @property
    def cuts(self) -> int:
        return len(self.slopes)


def terms_of(form: Capped, owners: Array, outputs: Array, truths: Array | None) -> Terms:
    """From all cuts of a `SelfPaced` of formulations/self_paced.py."""
    slopes, offsets = form.structure.dense(owners, outputs), form.structure.loss(owners, outputs)
    fresh = np.diff(owners, prepend=-1) != 0
    if truths is not None:
        slopes = slopes - form.structure.dense(owners, truths)
        fresh[1:] |= (truths[1:] != truths[:-1]).any(axis=1)
    starts = np.append(np.flatnonzero(fresh), len(owners))
    owner = np.searchsorted(form.samples, owners[starts[:-1]])
    firsts = np.append(np.flatnonzero(np.diff(owner, prepend=-1)), len(owner))
    counts, means = np.diff(firsts), firsts[:-1].copy()
    unit = math.lcm(1, *counts.tolist())
    values, spread = slopes.values * unit, zeros(len(owner), form.dim)
    rows, heights, sizes, whose = [values], [offsets.values], list(np.diff(starts)), owner.tolist()
    for i in np.flatnonzero(counts > 1).tolist():
        first, last = int(firsts[i]), int(firsts[i + 1])
        own = values[starts[first] : starts[last]].reshape(last - first, -1, form.dim)
        mean = own.sum(axis=0) // (last - first)
        spread[first:last] = mean[0] - own[:, 0]
        means[i] = len(whose)
        rows.append(mean)
        heights.append(offsets.values[starts[first] : starts[first + 1]])
        sizes.append(len(mean))
        whose.append(i)
    unit = unit * slopes.unit
    starts = np.append(0, np.cumsum(sizes))
    offsets = Whole(np.concatenate(heights), offsets.unit)
    return Terms(
        Whole(np.concatenate(rows), unit), offsets, starts, np.array(whose), firsts, means, Whole(spread, unit)
    )


class Box(NamedTuple):
    """What holds at one node: ends of the terms (T,) and reaches (n,), whole numbers over the grid; and the terms that
    stand for the samples (n,). An infinite high end or reach is −1.
    """

    low: Array
    high: Array
    reach: Array
    active: Array


class Boxes:
    """All cuts of a program, and what nodes prove, given a proven upper bound."""

    def __init__(self, form: Capped, terms: Terms, upper: Fraction):
        self.upper, self.terms, self.costs, self.caps = upper, terms, form.costs, form.caps.fractions()
        self.n = len(self.caps)
        self.several = np.diff(terms.firsts) > 1
        self.grid = 1 << max(160 + size_of(upper), 0)
        self.norms, self.widths = lengths(terms.slopes), lengths(terms.spread)
        self.low_caps = objects(int(cap * self.grid) for cap in self.caps)
        self.high_caps = objects(-int(-cap * self.grid // 1) for cap in self.caps)

    def proven(self, tree: Tree) -> Bound:
        """The lower bound that the tree proves.

        A leaf is shrunk, which may show that nothing is in it, only if its D is the least of all.
        """
        bounds: list[Bound] = [-INFINITE] * len(tree.parents)
        boxes: dict[int, Box] = {}
        inner = np.isin(np.arange(len(tree.parents)), tree.parents[1:])
        for level in tree.levels():
            nodes = [int(node) for node in level]
            for part in (nodes[at : at + CHUNK] for at in range(0, len(nodes), CHUNK)):
                inherited = [self.inherited(tree, node, boxes) for node in part]
                own = [self.value(tree, node, box) for node, box in zip(part, inherited, strict=True)]
                for node, bound in zip(part, own, strict=True):
                    bounds[node] = max(bound, bounds[int(tree.parents[node])])
                again = [k for k, node in enumerate(part) if inner[node]]
                for k, box in zip(again, self.shrunk_by(tree, again, part, own, inherited), strict=True):
                    boxes[part[k]] = box
                    bounds[part[k]] = INFINITE if empty(box) else bounds[part[k]]
        open_ = np.flatnonzero(~tree.covered(self.terms.firsts)).tolist()
        return self.least(tree, sorted((bounds[node], node) for node in open_), inner, boxes)

    def least(self, tree: Tree, nodes: list[tuple[Bound, int]], inner: Array, boxes: dict[int, Box]) -> Bound:
        """The least bound of (bound, node), in order, among those whose boxes are not empty."""
        for bound, node in nodes:
            if inner[node] or bound == INFINITE:
                return bound
            box = self.inherited(tree, node, boxes)
            own = [self.value(tree, node, box)]
            if not empty(next(iter(self.shrunk_by(tree, [0], [node], own, [box])))):
                return bound
        return INFINITE

    def inherited(self, tree: Tree, node: int, boxes: dict[int, Box]) -> Box:
        """The box of a node before its own weights count."""
        if node == 0:
            T, several = len(self.terms.owner), np.where(self.several, -1, 0).astype(object)
            whole = Box(zeros(T), zeros(T) - 1, several, self.terms.means)
            point, radius = (
                Whole(zeros(1, self.terms.slopes.values.shape[1])),
                self.radius(tree.cutoffs[0], Fraction(0)),
            )
            return next(iter(self.shrunk(point, [radius], [whole])))
        box, branch = boxes[int(tree.parents[node])], int(tree.branches[node])
        if branch == AGAIN:
            return box
        box = Box(*(part.copy() for part in box))
        state, out = divmod(branch, 2)
        i = int(self.terms.owner[state])
        states = slice(self.terms.firsts[i], self.terms.firsts[i + 1])
        if out:
            box.low[states] = np.maximum(box.low[states], self.low_caps[i])
        else:
            box.high[state] = min([self.high_caps[i], *(end for end in box.high[states].tolist() if end >= 0)])
        box.active[i] = state
        return box

    def radius(self, cutoff: float, bound: Bound) -> Fraction | None:
        """√(2 (max(cutoff, U) − D)) rounded up; None if it is infinite."""
        if cutoff == INFINITE or bound == -INFINITE:
            return None
        top = max(Fraction(cutoff), self.upper) if cutoff > -INFINITE else self.upper
        return root_up(max(2 * (top - Fraction(bound)), Fraction(0)), self.grid)

    def standing(self, tree: Tree, node: int, box: Box) -> tuple[Array, Array, Array]:
        """Cuts, weights and terms of a node, of the terms that stand for their samples in the box."""
        cuts, weights = tree.row(node)
        terms = np.searchsorted(self.terms.starts, cuts, side="right") - 1
        held = box.active[self.terms.owner[terms]] == terms
        return cuts[held], weights[held], terms[held]

    def value(self, tree: Tree, node: int, box: Box) -> Bound:
        """D, or ∞ for an empty box."""
        if empty(box):
            return INFINITE
        cuts, weights, terms = self.standing(tree, node, box)
        push = Whole(weights @ self.terms.slopes.values[cuts], tree.weights.unit * self.terms.slopes.unit)
        paid = Whole(weights * self.terms.offsets.values[cuts], tree.weights.unit * self.terms.offsets.unit).sum()
        mass = Whole(grouped(weights, self.terms.owner[terms], self.n), tree.weights.unit).fractions()
        return self.relaxed(mass, box) + paid - push.squares() / 2

    def relaxed(self, mass: list[Fraction], box: Box) -> Bound:
        """Σ_i [min over t ∈ {low, high} of min(t, κ_i) − Λ_i t/c_i] − Λ_i R_i, R_i = 0 where a state stands for i."""
        total, costs = Fraction(0), self.costs.fractions()
        for i, (each, cost, cap, term) in enumerate(zip(mass, costs, self.caps, box.active.tolist(), strict=True)):
            least, most = (Fraction(int(ends[term]), self.grid) for ends in (box.low, box.high))
            mean = term >= self.terms.states
            if (most < 0 or (mean and box.reach[i] < 0)) and each > 0:
                return -INFINITE
            reach = Fraction(max(int(box.reach[i]), 0), self.grid) if mean else Fraction(0)
            slope, first = each / cost, max(least - cost * reach, Fraction(0))
            last = max(most - cost * reach, Fraction(0))
            end = cap if most < 0 else min(last, cap) - slope * last
            total += min(min(first, cap) - slope * first, end) - each * reach
        return total

    def shrunk_by(
        self, tree: Tree, chosen: list[int], nodes: list[int], bounds: list[Bound], boxes: list[Box]
    ) -> Iterable[Box]:
        """The boxes of the chosen ones among nodes, shrunk around the points of their weights."""
        if not chosen:
            return []
        lam = zeros(len(chosen), self.terms.cuts)
        for row, k in zip(lam, chosen, strict=True):
            cuts, weights, _ = self.standing(tree, nodes[k], boxes[k])
            row += grouped(weights, cuts, len(row))
        push = Whole(dense_product(lam, self.terms.slopes.values), tree.weights.unit * self.terms.slopes.unit)
        radii = [None if bounds[k] == INFINITE else self.radius(tree.cutoffs[nodes[k]], bounds[k]) for k in chosen]
        return self.shrunk(-push, radii, [boxes[k] for k in chosen])

    def shrunk(self, points: Whole, radii: list[Fraction | None], boxes: list[Box]) -> Iterator[Box]:
        """The boxes, given ‖w* − point‖ ≤ radius for points (L, p)."""
        slopes, spread = self.terms.slopes, self.terms.spread
        scores = Whole(dense_product(points.values, slopes.values.T), points.unit * slopes.unit)
        beyond = Whole(dense_product(points.values, spread.values.T), points.unit * spread.unit)
        costs = self.costs.values[self.terms.owner]
        for row, far, radius, box in zip(scores.values, beyond.values, radii, boxes, strict=True):
            if radius is None:
                yield box
                continue
            middle, around = Whole(row, scores.unit) + self.terms.offsets, self.norms * radius
            ends = (
                np.maximum.reduceat(each.values, self.terms.starts[:-1]) for each in (middle - around, middle + around)
            )
            unit = (middle + around).unit * self.costs.unit
            least, most = (np.maximum(each, 0) * costs * self.grid for each in ends)
            down, up, reach = least // unit, -(-most // unit), box.reach
            if self.several.any():
                farthest = Whole(far, beyond.unit) + self.widths * radius
                found = np.maximum.reduceat(farthest.values, self.terms.firsts[:-1])
                found = -(-np.maximum(found, 0) * self.grid // farthest.unit)
                reach = np.where(reach < 0, found, np.minimum(reach, found))
            high = np.where(box.high < 0, up, np.minimum(box.high, up))
            yield Box(np.maximum(box.low, down), high, reach, box.active)


def empty(box: Box) -> bool:
    return bool(((box.low > box.high) & (box.high >= 0)).any())


def lengths(rows: Whole) -> Whole:
    """The norms of the rows, rounded up."""
    squares = Whole((rows.values * rows.values).sum(axis=1), rows.unit**2).fractions()
    return common([root_up(each, 1 << 160 + max(0, size_of(each))) for each in squares])


def size_of(number: Fraction) -> int:
    """About −log₂ of a number ≥ 0."""
    return number.denominator.bit_length() - number.numerator.bit_length() if number else 0
