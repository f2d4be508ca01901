"""The one search loop: capped objectives F(w) = ½‖w‖² + Σ_i min(t_i(w), κ_i) to a proven optimum.

    repeat   take the open node of least bound
             split its box: sample i is kept, t_i ≤ κ_i, in one of its states, or it is left out, t_i ≥ κ_i
             bound each part by dual ascent, shrink its box, bound again while that shrinks much
    until    the least bound is within the gap of the best F(w) seen

The bound D(λ), the boxes and how they shrink are those of proofs/capped.py, where the finished tree is checked
again; that check alone says what `lower` is. i is the sample whose chord lies furthest below min(t_i, κ_i) at w(λ).
A sample that hides nothing has one state; t_i(w) is the least term over the states, not convex if there are several.

The bounds of a box, by dual ascent, and the alternation from which the search starts are those of capped_terms.py. The
alternation runs again from any node's w(λ) that is better than all before.

A checkpoint (recording.py) holds the tree, the boxes of the open nodes and the best θ, so the search goes on as if
it had never ended; what the tree proves is computed anew by proofs/capped.py.
"""

from __future__ import annotations

import heapq
import itertools
from typing import NamedTuple

import numpy as np
from scipy import sparse

from workbench.contracts import Floats, Ints
from workbench.errors import OutOfMemory
from workbench.proofs.capped import Box, CappedBounds
from workbench.proofs.tree import AGAIN, Tree
from workbench.solving.capped_terms import FINE, CappedTerms
from workbench.solving.progress import Clock, Progress
from workbench.solving.recording import Checkpoints
from workbench.solving.request import Request
from workbench.system.journal import Entry, Journal

ROUNDS = 3  # in which a node is bounded again
SHRINKAGE = 0.1  # of the open terms' widths together, in units of one: what is worth another round
ACCURACY = 0.02  # accuracy of the ascent at a node, as a share of the distance from the node's bound to the best F
MARGIN = 1e-11  # relative, by which boxes are left larger: a smaller box only raises D, so the check will hold
STARTS = 10  # random ones of the alternation, besides 0


class Node(NamedTuple):
    """An open node: its place in the tree, its box, λ, and the sample to split at."""

    place: int
    box: Box
    weights: Floats
    sample: int


def search(
    bounds: CappedBounds, request: Request, journal: Journal | None = None
) -> tuple[Progress, Tree, tuple[float, float]]:
    """Search until the gap is proven, or a limit of splits or seconds of the request is reached.

    Returns where the search ended, the tree that proves its `lower`, and compilation's wall and CPU seconds.
    """
    run = Searching(bounds, request, journal)
    return (*run.run(), run.spent)


class Searching:
    """The state of one search."""

    def __init__(self, bounds: CappedBounds, request: Request, journal: Journal | None):
        compiling = Clock()
        self.terms = CappedTerms(bounds)
        self.spent = compiling.spent
        self.bounds, self.gap, self.observe = bounds, request.gap, request.observe
        self.clock = Clock(request.time_limit, request.max_rounds)
        self.theta, self.value = bounds.start, bounds.upper(bounds.start)
        self.cutoff = self.value  # F at θ as the check will have it
        self.parents, self.branches, self.cutoffs, self.rows = [], [], [], []
        self.open: list[tuple[float, int, Node]] = []
        self.closed = np.inf  # least bound of the nodes that can be split no more
        self.rounds, self.shown = 0, -np.inf
        self.started = 0  # the starts from which alternation has run
        self.state = Progress(self.theta, self.theta)
        self.checkpoints = Checkpoints(journal, "search")

    def run(self) -> tuple[Progress, Tree]:
        self.restore(self.checkpoints.last)
        rng = np.random.default_rng(0)
        scale = np.sqrt(2 * self.bounds.upper(self.bounds.start) / self.terms.dim)
        starts = [self.bounds.start, *(scale * rng.normal(size=(STARTS, self.terms.dim)))]
        for start in starts[self.started :]:
            if self.started and self.stopped:
                break
            self.improve(start)
            self.started += 1
            self.checkpoint()
        if not self.parents:
            box = self.bounds.start_box((1 + MARGIN) * self.cutoff).node(0).copy()
            self.explore(0, AGAIN, box, np.zeros(len(self.terms.cuts.offsets)), 0.0)
        with self.clock.ends_with_memory():
            while self.open and self.open[0][0] < self.target and not self.stopped:
                self.split(*self.open[0])
        self.state.said = self.clock.exhausted
        self.record()
        self.checkpoint(at_once=True)
        state, tree = self.state, self.tree()
        state.theta = state.latest = self.theta
        state.upper = self.bounds.upper(self.theta)
        state.lower = self.bounds.proven(tree, state.upper)
        gap = self.bounds.gap(state.upper, state.lower)
        state.history[-1] |= {"upper": state.upper, "lower": state.lower, "gap": gap}
        state.status = "optimal" if gap <= self.gap else "limit" if self.stopped else "stalled"
        return state, tree

    @property
    def target(self) -> float:
        """A node that reaches it need not be split: a little more than the gap asks for."""
        return self.value - 0.9 * self.gap * self.bounds.size(self.value)

    @property
    def stopped(self) -> bool:
        return self.clock.over(self.rounds)

    def improve(self, w: Floats) -> None:
        """Alternate from w, and keep what that finds if it is the best so far."""
        w, history = self.terms.alternate(w)
        if history[-1] < self.value:
            self.theta, self.value, self.cutoff = w, history[-1], max(self.bounds.upper(w), history[-1])

    def split(self, bound: float, place: int, node: Node) -> None:
        """All parts of the first open node, and a line for the record now and then."""
        self.rounds += 1
        heapq.heappop(self.open)
        try:
            self.divide(bound, node)
        except (MemoryError, OutOfMemory):
            heapq.heappush(self.open, (bound, place, node))
            raise
        if self.clock.seconds - self.shown > 0.1:
            self.record()
        self.checkpoint()

    def divide(self, bound: float, node: Node) -> None:
        """A child for each state of the node's sample, and one without the sample."""
        table, i = self.terms.table, node.sample
        for branch in (*range(2 * table.firsts[i], 2 * table.firsts[i + 1], 2), 2 * int(table.firsts[i]) + 1):
            box, weights = node.box.copy(), node.weights.copy()
            standing = self.standing(box, i)
            self.bounds.choose(box.node(None), np.array([branch]))
            if table.firsts[i + 1] - table.firsts[i] > 1:  # λ of the cuts of the mean go to those of the state
                held = weights[standing] * (branch % 2 == 0)
                weights[standing] = 0.0
                weights[self.standing(box, i)] = held
            self.explore(node.place, branch, box, weights, bound)

    def standing(self, box: Box, i: int) -> slice:
        """The cuts of the term that stands for sample i."""
        return slice(*self.terms.table.starts[box.active[i] : box.active[i] + 2])

    def explore(self, parent: int, branch: int, box: Box, weights: Floats, bound: float) -> None:
        """Bound a new node, shrink it and bound it again, and leave it open unless that closes it."""
        if (box.low > box.high).any():
            self.grow(parent, branch, 0 * weights)
            return
        for rounds in itertools.count(1):
            place, undecided = len(self.parents), len(self.undecided(box)) > 0
            view = self.terms.view(box)
            if undecided:
                accuracy = max(ACCURACY * (self.value - bound), FINE * self.value)
                value, w, terms = self.terms.bound(view, weights, self.target, accuracy)
            else:
                value, w, terms = self.terms.finish(view, weights, self.target)
            reached = self.terms.values(w) if self.terms.hidden else terms
            if self.terms.objective(w, reached) < self.value * (1 - 1e-12):
                self.improve(w)
            self.grow(parent, branch, weights)
            bound = max(bound, value)
            if bound >= self.target:
                return
            radius = np.sqrt(2 * (max(self.cutoff - value, 0.0) + MARGIN * self.cutoff))
            gained = self.terms.narrow(box, w, radius)
            if gained < 0.0:
                return
            if not undecided:
                self.closed = min(self.closed, bound)
                return
            if len(self.undecided(box)) and (gained < SHRINKAGE or rounds == ROUNDS):
                break
            parent, branch = place, AGAIN
        self.leave(place, box, weights, bound, terms, reached)

    def undecided(self, box: Box) -> Ints:
        """The samples whose states are not chosen, or whose terms may be on either side of their caps."""
        low, high = box.low[box.active], box.high[box.active]
        either = (low < self.bounds.caps.lo) & (self.bounds.caps.hi < high)
        return np.flatnonzero(either | (box.active >= len(self.terms.table.spread)))

    def grow(self, parent: int, branch: int, weights: Floats) -> None:
        """Put a node on the tree, with the cutoff by which its box is to be shrunk."""
        used = np.flatnonzero(weights)
        self.parents.append(parent)
        self.branches.append(branch)
        self.cutoffs.append(self.cutoff)
        self.rows.append((used, weights[used]))

    def leave(self, place: int, box: Box, weights: Floats, bound: float, terms: Floats, reached: Floats) -> None:
        """Leave a node open, with the sample whose chord at its standing term is furthest below min(t_i, κ_i)."""
        view, free = self.terms.view(box), self.undecided(box)
        low, high, caps = view.low[free], view.high[free], self.terms.caps[free]
        term = np.clip(terms[free], low, high)
        first, last = np.minimum(low, caps), np.minimum(high, caps)
        chord = first + (last - first) * np.divide(term - low, high - low, where=high > low, out=0 * low)
        reached = reached[free] if self.terms.hidden else term
        sample = int(free[np.argmax(np.minimum(reached, caps) - chord)])
        heapq.heappush(self.open, (bound, place, Node(place, box, weights, sample)))

    def tree(self) -> Tree:
        lengths = [len(used) for used, _ in self.rows]
        columns, values = (np.concatenate(each) for each in zip(*self.rows, strict=True))
        ends = np.concatenate([[0], np.cumsum(lengths)])
        weights = sparse.csr_array((values, columns, ends), shape=(len(lengths), len(self.terms.cuts.offsets)))
        return Tree(np.array(self.parents), np.array(self.branches), np.array(self.cutoffs), weights)

    def checkpoint(self, at_once: bool = False) -> None:
        """Keep where the search stands, if that is due."""
        if not (at_once or self.checkpoints.due):
            return
        nodes, numbers = [node for _, _, node in self.open], self.state.kept(self.clock)
        numbers |= {"value": self.value, "cutoff": self.cutoff, "closed": self.closed, "rounds": self.rounds}
        arrays = {"theta": self.theta, "bounds": np.array([bound for bound, *_ in self.open])}
        for name in ("place", "sample"):
            arrays[name] = np.array([getattr(node, name) for node in nodes])  # the fields of `Node`
        for k, name in enumerate(Box._fields):
            arrays[name] = np.array([node.box[k] for node in nodes])
        tree = self.tree().arrays() if self.parents else {}
        self.checkpoints.keep(numbers | {"started": self.started, "tree": list(tree)}, **arrays, **tree)

    def restore(self, last: Entry | None) -> None:
        """Go on from a checkpoint, if there is one."""
        if last is None:
            return
        numbers, arrays = last.numbers, last.arrays()
        self.state.take_up(dict(numbers), self.clock)
        self.theta, self.value, self.cutoff = arrays["theta"], numbers["value"], numbers["cutoff"]
        self.closed, self.rounds, self.started = numbers["closed"], numbers["rounds"], numbers["started"]
        if not numbers["tree"]:
            return
        tree = Tree.of_arrays({name: arrays[name] for name in numbers["tree"]})
        self.parents, self.branches, self.cutoffs = tree.parents.tolist(), tree.branches.tolist(), tree.cutoffs.tolist()
        ends = itertools.pairwise(tree.weights.indptr)
        self.rows = [(tree.weights.indices[a:b], tree.weights.data[a:b]) for a, b in ends]
        names = ("bounds", "place", "sample", *Box._fields)
        for bound, place, sample, low, high, reach, active in zip(*(arrays[name] for name in names), strict=True):
            weights = np.zeros(tree.weights.shape[1])
            used, held = self.rows[place]
            weights[used] = held
            node = Node(int(place), Box(low, high, reach, active), weights, int(sample))
            heapq.heappush(self.open, (float(bound), int(place), node))

    def record(self) -> None:
        """The record of a round; its lower bound is the search's own, in floats."""
        state, seconds = self.state, self.clock.seconds
        state.upper = self.value
        state.lower = min(self.open[0][0] if self.open else np.inf, self.closed, self.target)
        gap, self.shown = self.bounds.gap(state.upper, state.lower), seconds
        times = seconds, 0.0, seconds
        state.record(state.entry(self.rounds, gap, len(self.terms.cuts.offsets), len(self.open), times), self.observe)
