"""The one search loop: capped objectives F(w) = ½‖w‖² + Σ_i min(t_i(w), κ_i) to a proven optimum.

    repeat   take the open node of least bound
             split its box at t_i = κ_i: sample i is kept, or it is left out
             bound each half by dual ascent, shrink its box, bound again while that shrinks much
    until    the least bound is within the gap of the best F(w) seen

The bound D(λ), the boxes and how they shrink are those of proofs/capped.py, where the finished tree is checked
again; that check alone says what `lower` is. i is the sample whose chord lies furthest below min(t_i, κ_i) at w(λ).

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
from workbench.proofs.capped import CappedBounds
from workbench.proofs.tree import AGAIN, Tree
from workbench.solving.capped_terms import FINE, CappedTerms
from workbench.solving.progress import Clock, Progress
from workbench.solving.recording import Checkpoints
from workbench.solving.request import Request
from workbench.system.journal import Entry, Journal

ROUNDS = 3  # in which a node is bounded again
SHRINKAGE = 0.1  # of the open terms' widths together, in units of one: what is worth another round
ACCURACY = 0.02  # of a node's ascent, relative to what is left to the best F
MARGIN = 1e-11  # relative, by which boxes are left larger: a smaller box only raises D, so the check will hold
STARTS = 10  # random ones of the alternation, besides 0


class Node(NamedTuple):
    """An open node: its place in the tree, its box, λ, and the sample to split at."""

    place: int
    low: Floats
    high: Floats
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
            low, high = self.bounds.start_box((1 + MARGIN) * self.cutoff)
            weights = np.zeros(len(self.terms.cuts.offsets))
            self.explore(0, AGAIN, low[0].copy(), high[0].copy(), weights, 0.0)
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
        return self.value - 0.9 * self.gap * max(self.value, 1e-6 * self.bounds.scale)

    @property
    def stopped(self) -> bool:
        return self.clock.over(self.rounds)

    def improve(self, w: Floats) -> None:
        """Alternate from w, and keep what that finds if it is the best so far."""
        w, history = self.terms.alternate(w)
        if history[-1] < self.value:
            self.theta, self.value, self.cutoff = w, history[-1], max(self.bounds.upper(w), history[-1])

    def split(self, bound: float, place: int, node: Node) -> None:
        """Both halves of the first open node, and a line for the record now and then."""
        self.rounds += 1
        heapq.heappop(self.open)
        try:
            self.halve(bound, node)
        except (MemoryError, OutOfMemory):
            heapq.heappush(self.open, (bound, place, node))
            raise
        if self.clock.seconds - self.shown > 0.1:
            self.record()
        self.checkpoint()

    def halve(self, bound: float, node: Node) -> None:
        for side in (0, 1):
            low, high = node.low.copy(), node.high.copy()
            (high, low)[side][node.sample] = (self.bounds.caps.hi, self.bounds.caps.lo)[side][node.sample]
            self.explore(node.place, 2 * node.sample + side, low, high, node.weights.copy(), bound)

    def explore(self, parent: int, branch: int, low: Floats, high: Floats, weights: Floats, bound: float) -> None:
        """Bound a new node, shrink it and bound it again, and leave it open unless that closes it."""
        for rounds in itertools.count(1):
            place, undecided = len(self.parents), len(self.undecided(low, high)) > 0
            if undecided:
                accuracy = max(ACCURACY * (self.value - bound), FINE * self.value)
                value, w, terms = self.terms.bound(low, high, weights, self.target, accuracy)
            else:
                value, w, terms = self.terms.finish(low, high, weights, self.target)
            if self.terms.objective(w, terms) < self.value * (1 - 1e-12):
                self.improve(w)
            self.grow(parent, branch, weights)
            bound = max(bound, value)
            if bound >= self.target:
                return
            radius = np.sqrt(2 * (max(self.cutoff - value, 0.0) + MARGIN * self.cutoff))
            gained = self.terms.shrink(self.terms.cuts, low, high, w, radius)
            if gained < 0.0:
                return
            if not undecided:
                self.closed = min(self.closed, bound)
                return
            if len(self.undecided(low, high)) and (gained < SHRINKAGE or rounds == ROUNDS):
                break
            parent, branch = place, AGAIN
        self.leave(place, low, high, weights, bound, terms)

    def undecided(self, low: Floats, high: Floats) -> Ints:
        """The samples whose terms may be on either side of their caps."""
        return np.flatnonzero((low < self.bounds.caps.lo) & (self.bounds.caps.hi < high))

    def grow(self, parent: int, branch: int, weights: Floats) -> None:
        """Put a node on the tree, with the cutoff by which its box is to be shrunk."""
        used = np.flatnonzero(weights)
        self.parents.append(parent)
        self.branches.append(branch)
        self.cutoffs.append(self.cutoff)
        self.rows.append((used, weights[used]))

    def leave(self, place: int, low: Floats, high: Floats, weights: Floats, bound: float, terms: Floats) -> None:
        """Leave a node open, with the sample whose chord is furthest below its term."""
        caps, free = self.terms.cuts.caps, self.undecided(low, high)
        low_, high_, cap, term = low[free], high[free], caps[free], np.clip(terms[free], low[free], high[free])
        chord = low_ + (cap - low_) / (high_ - low_) * (term - low_)
        sample = int(free[np.argmax(np.minimum(term, cap) - chord)])
        heapq.heappush(self.open, (bound, place, Node(place, low, high, weights, sample)))

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
        for name in ("place", "sample", "low", "high"):
            arrays[name] = np.array([getattr(node, name) for node in nodes])  # the fields of `Node`
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
        for bound, place, sample, low, high in zip(
            *(arrays[name] for name in ("bounds", "place", "sample", "low", "high")), strict=True
        ):
            weights = np.zeros(tree.weights.shape[1])
            used, held = self.rows[place]
            weights[used] = held
            heapq.heappush(self.open, (float(bound), int(place), Node(int(place), low, high, weights, int(sample))))

    def record(self) -> None:
        """The record of a round; its lower bound is the search's own, in floats."""
        state, seconds = self.state, self.clock.seconds
        state.upper = self.value
        state.lower = min(self.open[0][0] if self.open else np.inf, self.closed, self.target)
        gap, self.shown = self.bounds.gap(state.upper, state.lower), seconds
        times = seconds, 0.0, seconds
        state.record(state.entry(self.rounds, gap, len(self.terms.cuts.offsets), len(self.open), times), self.observe)
