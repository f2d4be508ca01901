"""What the nodes of a search tree prove, over whole numbers (docs/certificate-format.md §7).

D and the points are exact; boxes stand on a grid of 2^−g with g = 160 − log₂ U, low ends rounded down and high ends
and reaches up, square roots up. A high end of ∞ is held as −1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np

from workbench.proofs.checker.kinds._box import Box
from workbench.proofs.checker.kinds._nodes import AGAIN, Tree
from workbench.proofs.checker.kinds._terms import Capped, Terms, grid_of, lengths
from workbench.proofs.checker.whole import Array, Whole, dense_product, grouped, objects, root_up, zeros

MOST_AT_ONCE = 256  # nodes that are checked at a time
INFINITE = float("inf")
Bound = Fraction | float


class Boxes:
    """All cuts of a program, and what nodes prove, given a proven upper bound."""

    def __init__(self, form: Capped, terms: Terms, upper: Fraction):
        self.upper, self.terms, self.costs, self.caps = upper, terms, form.costs, form.caps.fractions()
        self.n = len(self.caps)
        self.several = np.diff(terms.firsts) > 1
        self.grid = grid_of(upper)
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
            for part in (nodes[at : at + MOST_AT_ONCE] for at in range(0, len(nodes), MOST_AT_ONCE)):
                inherited = [self.inherited(tree, node, boxes) for node in part]
                own = [self.value(tree, node, box) for node, box in zip(part, inherited, strict=True)]
                for node, bound in zip(part, own, strict=True):
                    bounds[node] = max(bound, bounds[int(tree.parents[node])])
                again = [k for k, node in enumerate(part) if inner[node]]
                for k, box in zip(again, self.shrunk_by(tree, again, part, own, inherited), strict=True):
                    boxes[part[k]] = box
                    bounds[part[k]] = INFINITE if box.empty() else bounds[part[k]]
        open_ = np.flatnonzero(~tree.covered(self.terms.firsts)).tolist()
        return self.least(tree, sorted((bounds[node], node) for node in open_), inner, boxes)

    def least(self, tree: Tree, nodes: list[tuple[Bound, int]], inner: Array, boxes: dict[int, Box]) -> Bound:
        """The least bound of (bound, node), in order, among those whose boxes are not empty."""
        for bound, node in nodes:
            if inner[node] or bound == INFINITE:
                return bound
            box = self.inherited(tree, node, boxes)
            own = [self.value(tree, node, box)]
            if not next(iter(self.shrunk_by(tree, [0], [node], own, [box]))).empty():
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
        i = int(self.terms.owner[branch // 2])
        return box.on(branch, i, self.terms.states_of(i), self.low_caps[i], self.high_caps[i])

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
        """D, or ∞ for an empty box; −∞ where a term has no least."""
        if box.empty():
            return INFINITE
        cuts, weights, terms = self.standing(tree, node, box)
        push = Whole(weights @ self.terms.slopes.values[cuts], tree.weights.unit * self.terms.slopes.unit)
        paid = Whole(weights * self.terms.offsets.values[cuts], tree.weights.unit * self.terms.offsets.unit).sum()
        mass = Whole(grouped(weights, self.terms.owner[terms], self.n), tree.weights.unit).fractions()
        prices = zip(mass, self.costs.fractions(), self.caps, strict=True)
        least = [box.least(i, *each, self.terms.states, self.grid) for i, each in enumerate(prices)]
        if -INFINITE in least:  # to which no number is added that may be too large for a float
            return -INFINITE
        return sum(least) + paid - push.squares() / 2

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
