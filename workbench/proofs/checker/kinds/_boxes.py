"""What the nodes of a search tree prove, over whole numbers (docs/certificate-format.md §7).

D and the points are exact; boxes stand on a grid of 2^−g with g = 160 − log₂ U, low ends rounded down and high ends
up, square roots up. A high end of ∞ is held as −1.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from workbench.proofs.checker.program import Program
from workbench.proofs.checker.whole import Array, Whole, common, dense_product, grouped, objects, root_up, zeros

AGAIN = -1  # the branch of a node that takes its parent's box over whole
MOST_AT_ONCE = 256  # nodes that are checked at a time
INFINITE = float("inf")


class Tree(NamedTuple):
    """Nodes, parents first; λ of node v is weights[starts[v]:starts[v + 1]] at the cuts of that number."""

    parents: Array
    branches: Array
    cutoffs: Array
    starts: Array
    cuts: Array
    weights: Whole

    def covered(self) -> Array:
        """(nodes,) whether the children of each cover it."""
        children = set(zip(self.parents[1:].tolist(), self.branches[1:].tolist(), strict=True))
        whole = {parent for parent, branch in children if branch == AGAIN or (parent, branch ^ 1) in children}
        return np.array([node in whole for node in range(len(self.parents))], bool)

    def levels(self) -> list[Array]:
        depth = np.zeros(len(self.parents), np.int64)
        for node, parent in enumerate(self.parents.tolist()):
            depth[node] = depth[parent] + (node > 0)
        order = np.argsort(depth, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)


Box = tuple[Array, Array]  # the ends low_i and high_i, whole numbers over the grid


class Boxes:
    """All cuts of a program, and what nodes prove, given a proven upper bound."""

    def __init__(self, program: Program, owners: Array, outputs: Array, upper: Fraction):
        form = program.formulation
        self.upper, self.slopes = upper, form.structure.dense(owners, outputs)
        self.offsets, self.costs, self.caps = form.structure.loss(owners, outputs), form.costs, form.caps.fractions()
        self.starts = np.unique(owners, return_index=True)[1]
        self.n, self.owner = (
            len(self.starts),
            np.repeat(np.arange(len(self.starts)), np.diff([*self.starts, len(owners)])),
        )
        self.grid = grid_of(upper)
        squares = Whole((self.slopes.values * self.slopes.values).sum(axis=1), self.slopes.unit**2).fractions()
        self.norms = common([root_up(each, grid_of(each)) for each in squares])
        self.low_caps = objects(int(cap * self.grid) for cap in self.caps)
        self.high_caps = objects(-int(-cap * self.grid // 1) for cap in self.caps)

    def proven(self, tree: Tree) -> Fraction | float:
        """The lower bound that the tree proves."""
        bounds: list[Fraction | float] = [-INFINITE] * len(tree.parents)
        boxes: dict[int, tuple[Array, Array]] = {}
        for level in tree.levels():
            found = {}
            for nodes in np.array_split(level, -(-len(level) // MOST_AT_ONCE)):
                inherited = [self.inherited(tree, node, boxes) for node in nodes.tolist()]
                for node, (bound, box) in zip(nodes.tolist(), self.checked(tree, nodes, inherited), strict=True):
                    bounds[node], found[node] = max(bound, bounds[int(tree.parents[node])]), box
            boxes = found
        return min(bound for bound, covered in zip(bounds, tree.covered().tolist(), strict=True) if not covered)

    def inherited(self, tree: Tree, node: int, boxes: dict[int, tuple[Array, Array]]) -> tuple[Array, Array]:
        """The box of a node before its own weights count."""
        if node == 0:
            point, radius = Whole(zeros(1, self.slopes.values.shape[1])), self.radius(tree.cutoffs[0], Fraction(0))
            return next(self.shrunk(point, [radius], [(zeros(self.n), zeros(self.n) - 1)]))
        (low, high), branch = boxes[int(tree.parents[node])], int(tree.branches[node])
        if branch != AGAIN:
            i, side = divmod(branch, 2)
            low, high = low.copy(), high.copy()
            if side:
                low[i] = max(low[i], self.low_caps[i])
            elif high[i] < 0 or high[i] > self.high_caps[i]:
                high[i] = self.high_caps[i]
        return low, high

    def radius(self, cutoff: float, bound: Fraction | float) -> Fraction | None:
        """√(2 (max(cutoff, U) − D)) rounded up; None if it is infinite."""
        if cutoff == INFINITE or bound == -INFINITE:
            return None
        top = max(Fraction(cutoff), self.upper) if cutoff > -INFINITE else self.upper
        return root_up(max(2 * (top - Fraction(bound)), Fraction(0)), self.grid)

    def checked(self, tree: Tree, nodes: Array, boxes: list[Box]) -> Iterator[tuple[Fraction | float, Box]]:
        """(bound, shrunk box) of each node."""
        lam = zeros(len(nodes), len(self.owner))
        for row, node in zip(lam, nodes.tolist(), strict=True):
            own = slice(tree.starts[node], tree.starts[node + 1])
            row += grouped(tree.weights.values[own], tree.cuts[own], len(row))
        push = Whole(dense_product(lam, self.slopes.values), tree.weights.unit * self.slopes.unit)
        paid = Whole((lam * self.offsets.values).sum(axis=1), tree.weights.unit * self.offsets.unit).fractions()
        mass = Whole(np.add.reduceat(lam, self.starts, axis=1), tree.weights.unit)
        bounds = []
        for row, (low, high) in enumerate(boxes):
            rest = paid[row] - push[row].squares() / 2
            bounds.append(self.relaxed(mass[row].fractions(), low, high) + rest)
        radii = [self.radius(tree.cutoffs[node], bound) for node, bound in zip(nodes.tolist(), bounds, strict=True)]
        for bound, (low, high) in zip(bounds, self.shrunk(-push, radii, boxes), strict=True):
            yield INFINITE if ((low > high) & (high >= 0)).any() else bound, (low, high)

    def relaxed(self, mass: list[Fraction], low: Array, high: Array) -> Fraction | float:
        """Σ_i min over t ∈ {low, high} of min(t, κ_i) − Λ_i t/c_i."""
        total = Fraction(0)
        for each, cost, cap, least, most in zip(mass, self.costs.fractions(), self.caps, low, high, strict=True):
            if most < 0 and each > 0:
                return -INFINITE
            slope, first = each / cost, Fraction(int(least), self.grid)
            last = (
                cap if most < 0 else min(Fraction(int(most), self.grid), cap) - slope * Fraction(int(most), self.grid)
            )
            total += min(min(first, cap) - slope * first, last)
        return total

    def shrunk(self, points: Whole, radii: list[Fraction | None], boxes: list[Box]) -> Iterator[Box]:
        """The boxes, given ‖w* − point‖ ≤ radius for points (L, p)."""
        scores = Whole(dense_product(points.values, self.slopes.values.T), points.unit * self.slopes.unit)
        for row, radius, (low, high) in zip(scores.values, radii, boxes, strict=True):
            if radius is None:
                yield low, high
                continue
            middle, reach = Whole(row, scores.unit) + self.offsets, self.norms * radius
            least, most = (np.maximum.reduceat(each.values, self.starts) for each in (middle - reach, middle + reach))
            unit = (middle + reach).unit * self.costs.unit
            down = np.maximum(least, 0) * self.costs.values * self.grid // unit
            up = -(-np.maximum(most, 0) * self.costs.values * self.grid // unit)
            yield np.maximum(low, down), np.where(high < 0, up, np.minimum(high, up))


def grid_of(number: Fraction) -> int:
    """2^g with g about 160 − log₂ of a number ≥ 0, and at least 0."""
    return 1 << max(160 + size_of(number), 0)


def size_of(number: Fraction) -> int:
    """About −log₂ of a number ≥ 0."""
    return number.denominator.bit_length() - number.numerator.bit_length() if number else 0
