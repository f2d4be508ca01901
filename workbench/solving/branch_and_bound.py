"""The one search loop: capped objectives F(w) = ½‖w‖² + Σ_i min(t_i(w), κ_i) to a proven optimum.

    repeat   take the open node of least bound
             split its box at t_i = κ_i: sample i is kept, or it is left out
             bound each half by dual ascent, shrink its box, bound again while that shrinks much
    until    the least bound is within the gap of the best F(w) seen

The bound D(λ), the boxes and how they shrink are those of proofs/capped.py, where the finished tree is checked
again; that check alone says what `lower` is. i is the sample whose chord lies furthest below min(t_i, κ_i) at w(λ).

*Dual ascent.* λ ≥ 0 has one entry a cut, w = −Σ λa. In λ_z alone D is a parabola of curvature ‖a_z‖² with one kink,
where Λ_i reaches the slope of the chord, c_i (min(high, κ) − min(low, κ))/(high − low): there the derivative
s_z − low_i/c_i, s_z = ⟨a_z, w⟩ + o_z, falls to s_z − high_i/c_i. So a step goes to its top in closed form. At the kink
weight moves between the highest cut of a sample and the lowest one in use.

*Alternation* (Kumar, Packer & Koller 2010, Algorithm 2): keep the samples with t_i < κ_i, minimise over w with
these alone, and again, while F falls. It never rises: each half step minimises over its own part. The search
starts from it, and runs it from any node's w(λ) that is better than all before.

A checkpoint (recording.py) holds the tree, the boxes of the open nodes and the best θ, so the search goes on as if
it had never ended; what the tree proves is computed anew by proofs/capped.py.
"""

from __future__ import annotations

import heapq
import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.arithmetic.compiled import available, compiled_function
from workbench.contracts import Floats, Ints, Problem
from workbench.contracts import Search as Searched
from workbench.errors import OutOfMemory
from workbench.proofs.bounds import checked_theta
from workbench.proofs.capped import CappedBounds
from workbench.proofs.tree import AGAIN, Tree
from workbench.solving.progress import Clock, Progress
from workbench.solving.recording import Checkpoints
from workbench.solving.request import Request
from workbench.system.journal import Entry, Journal

HUGE = 1e30
SWEEPS = 400  # of one node's ascent, at most
FINISHES = 50  # steps to the optimum of a face, at most
FINE = 1e-15  # the accuracy of finished ascents, relative
ROUNDS = 3  # in which a node is bounded again
SHRINKAGE = 0.1  # of the open terms' widths together, in units of one: what is worth another round
ACCURACY = 0.02  # of a node's ascent, relative to what is left to the best F
MARGIN = 1e-11  # relative, by which boxes are left larger: a smaller box only raises D, so the check will hold
STARTS = 10  # random ones of the alternation, besides 0


class CappedCuts(NamedTuple):
    """All R cuts of the n samples, sample by sample: those of i have places starts[i] … starts[i + 1]."""

    slopes: Floats  # (R, p)
    offsets: Floats  # (R,)
    squares: Floats  # (R,) ‖a‖²
    norms: Floats  # (R,) ‖a‖
    starts: Ints  # (n + 1,)
    costs: Floats  # (n,) c
    caps: Floats  # (n,) κ


class DualPoint(NamedTuple):
    """λ = `weights` (R,), with w (p,) and t = `terms` (n,) that follow from λ; changed in place."""

    weights: Floats
    w: Floats
    terms: Floats


def ascend(
    cuts: CappedCuts, low: Floats, high: Floats, dual: DualPoint, target: float, accuracy: float, sweeps: int
) -> float:
    """Raise D from λ in place, until D reaches `target`, is known to `accuracy`, or for `sweeps`; D."""
    slopes, offsets, squares, _, starts, costs, caps = cuts
    weights, w, terms = dual
    n, p = len(costs), len(w)
    room, constant, value, before = np.empty(n), 0.0, -np.inf, -np.inf
    for i in range(n):
        first, last = min(low[i], caps[i]), min(high[i], caps[i])
        room[i] = (last - first) / (high[i] - low[i]) if high[i] > low[i] else 0.0
        constant += first - room[i] * low[i]
        room[i] *= costs[i]
    w[:] = 0.0
    for r in range(len(offsets)):
        if weights[r] > 0.0:
            for j in range(p):
                w[j] -= weights[r] * slopes[r, j]
    for sweep in range(sweeps):
        for i in range(n):
            mass, top, bottom, highest, lowest = 0.0, -1, -1, -np.inf, np.inf
            for r in range(starts[i], starts[i + 1]):
                mass += weights[r]
            for r in range(starts[i], starts[i + 1]):
                if squares[r] == 0.0:
                    continue
                score = offsets[r]
                for j in range(p):
                    score += slopes[r, j] * w[j]
                if score > highest:
                    highest, top = score, r
                if weights[r] > 0.0 and score < lowest:
                    lowest, bottom = score, r
                kink = room[i] - (mass - weights[r])
                new = weights[r] + (score - low[i] / costs[i]) / squares[r]
                if new > kink:
                    new = max(kink, weights[r] + (score - high[i] / costs[i]) / squares[r])
                change = max(new, 0.0) - weights[r]
                if change != 0.0:
                    weights[r] += change
                    mass += change
                    for j in range(p):
                        w[j] -= change * slopes[r, j]
            if top >= 0 and bottom >= 0 and top != bottom:
                rise, curve = offsets[top] - offsets[bottom], 0.0
                for j in range(p):
                    apart = slopes[top, j] - slopes[bottom, j]
                    rise += apart * w[j]
                    curve += apart * apart
                if curve > 0.0:
                    change = min(max(rise / curve, -weights[top]), weights[bottom])
                    weights[top] += change
                    weights[bottom] -= change
                    for j in range(p):
                        w[j] -= change * (slopes[top, j] - slopes[bottom, j])
        if sweep % 4 < 3 and sweep + 1 < sweeps:
            continue
        square, relaxed, inside = 0.0, constant, True
        for j in range(p):
            square += 0.5 * w[j] * w[j]
        value = -square
        for i in range(n):
            mass, highest = 0.0, 0.0
            for r in range(starts[i], starts[i + 1]):
                mass += weights[r]
                value += weights[r] * offsets[r]
                score = offsets[r]
                for j in range(p):
                    score += slopes[r, j] * w[j]
                highest = max(highest, score)
            terms[i] = costs[i] * highest
            ratio = mass / costs[i]
            value += min(min(low[i], caps[i]) - ratio * low[i], min(high[i], caps[i]) - ratio * high[i])
            relaxed += room[i] / costs[i] * max(terms[i], low[i])
            inside = inside and terms[i] <= high[i]
        if value >= target or (inside and relaxed + square - value <= accuracy) or value - before <= 0.1 * accuracy:
            break
        before = value
    return value


def shrink(cuts: CappedCuts, low: Floats, high: Floats, w: Floats, radius: float) -> float:
    """Shrink the box in place by ‖w* − w‖ ≤ radius; by how many widths of open terms, −1 if the box becomes empty."""
    slopes, offsets, _, norms, starts, costs, caps = cuts
    gained = 0.0
    for i in range(len(costs)):
        above, below = 0.0, 0.0
        for r in range(starts[i], starts[i + 1]):
            score = offsets[r]
            for j in range(len(w)):
                score += slopes[r, j] * w[j]
            above = max(above, costs[i] * (score + norms[r] * radius))
            below = max(below, costs[i] * (score - norms[r] * radius))
        above, below = min(above, high[i]), max(below, low[i])
        if below > above:
            return -1.0
        if low[i] < caps[i] and caps[i] < high[i]:
            gained += 1.0 - (above - below) / (high[i] - low[i])
        low[i], high[i] = below, above
    return gained


class CappedTerms:
    """The terms t_i as arrays, with `ascend` and `shrink` compiled for these arrays where numba is installed."""

    def __init__(self, bounds: CappedBounds):
        self.bounds = bounds
        (slopes, offsets, starts), squares = bounds.cuts, (bounds.cuts.slopes**2).sum(axis=1)
        costs, caps = ((each.lo + each.hi) / 2 for each in (bounds.costs, bounds.caps))
        self.cuts = CappedCuts(slopes, offsets, squares, np.sqrt(squares), starts.astype(np.int64), costs, caps)
        self.count, self.dim = len(costs), slopes.shape[1]
        self.ascend, self.shrink = ascend, shrink
        if available():
            low, high = np.zeros(self.count), np.ones(self.count)
            dual = self.dual(np.zeros(len(offsets)))
            self.ascend = compiled_function(ascend, (self.cuts, low, high, dual, 0.0, 0.0, 1))
            self.shrink = compiled_function(shrink, (self.cuts, low, high, dual.w, 0.0))

    def dual(self, weights: Floats) -> DualPoint:
        return DualPoint(weights, np.zeros(self.dim), np.zeros(self.count))

    def bound(
        self,
        low: Floats,
        high: Floats,
        weights: Floats,
        target: float,
        accuracy: float,
        caps: Floats | None = None,
    ) -> tuple[float, Floats, Floats]:
        """(D, w, t) after an ascent from λ = `weights`, changed in place; `caps` (n,) replaces κ."""
        dual, cuts = self.dual(weights), self.cuts if caps is None else self.cuts._replace(caps=caps)
        value = self.ascend(cuts, low, high, dual, float(target), float(accuracy), SWEEPS)
        return value, dual.w, dual.terms

    def finish(
        self, low: Floats, high: Floats, weights: Floats, target: float = np.inf, caps: Floats | None = None
    ) -> tuple[float, Floats, Floats]:
        """As `bound`, to the last digits: between ascents a step to the optimum of the face that λ lies on."""
        best = self.bound(low, high, weights, target, 0.0, caps)
        for _ in range(FINISHES):
            self.cross(low, high, weights, self.cuts.caps if caps is None else caps, best[1])
            value = best[0]
            best = self.bound(low, high, weights, target, 0.0, caps)
            if not value + FINE * abs(value) < best[0] < target:
                break
        return best

    def cross(self, low: Floats, high: Floats, weights: Floats, caps: Floats, w: Floats) -> None:
        """Newton's step in the entries λ > 0, Λ_i fixed where it is at its kink, as far as λ ≥ 0 and kinks allow.

        D is quadratic there: with rows A of these entries and E the sums that are fixed, the step δ solves
        A Aᵀ δ + Eᵀ μ = ∇D, E δ = 0.
        """
        used = np.flatnonzero((weights > 0) & (self.cuts.squares > 0))
        samples = np.searchsorted(self.cuts.starts, used, side="right") - 1
        width = high - low
        kinks = self.cuts.costs * np.divide(
            np.minimum(high, caps) - np.minimum(low, caps), width, where=width > 0, out=0 * low
        )
        mass = np.bincount(samples, weights[used], self.count)
        at_kink = (mass > 0) & (np.abs(mass - kinks) <= 1e-12 * kinks)
        side = np.where(mass < kinks, low, high) / self.cuts.costs
        rows = self.cuts.slopes[used]
        gradient = rows @ w + self.cuts.offsets[used] - np.where(at_kink, 0.0, side)[samples]
        fixed = np.flatnonzero(at_kink)
        E = (samples == fixed[:, None]) + 0.0
        system = np.block([[rows @ rows.T, E.T], [E, np.zeros((len(fixed),) * 2)]])
        step = np.linalg.lstsq(system, np.append(gradient, np.zeros(len(fixed))), rcond=1e-13)[0][: len(used)]
        change = np.bincount(samples, step, self.count) * ~at_kink
        ends = [-weights[used][step < 0] / step[step < 0]]
        towards = (kinks - mass) * change > 0
        ends.append((kinks - mass)[towards] / change[towards])
        weights[used] = np.maximum(weights[used] + min(1.0, *np.concatenate([*ends, [1.0]])) * step, 0.0)

    def values(self, w: Floats) -> Floats:
        """t (n,) at w; every sample's own cut is 0."""
        return self.cuts.costs * np.maximum.reduceat(self.cuts.slopes @ w + self.cuts.offsets, self.cuts.starts[:-1])

    def objective(self, w: Floats, terms: Floats) -> float:
        return float(w @ w / 2 + np.minimum(terms, self.cuts.caps).sum())

    def learned(self, kept: NDArray[np.bool_]) -> Floats:
        """argmin ½‖w‖² + Σ t_i over the samples with `kept` (n,), to rounding."""
        low, high = np.zeros(self.count), np.full(self.count, HUGE)
        return self.finish(low, high, np.zeros(len(self.cuts.offsets)), caps=np.where(kept, HUGE, 0.0))[1]

    def alternate(self, w: Floats) -> tuple[Floats, list[float]]:
        """Alternation from w: the last w that was better than the one before, and F at each."""
        terms = self.values(w)
        history = [self.objective(w, terms)]
        while True:
            new = self.learned(terms < self.cuts.caps)
            new_terms = self.values(new)
            value = self.objective(new, new_terms)
            if not value < history[-1] - 1e-13 * abs(history[-1]):
                return w, history
            w, terms = new, new_terms
            history.append(value)


def alternation(formulation: Searched, problem: Problem, w: Floats) -> tuple[Floats, list[float]]:
    """Where alternation from w ends, and F at each of its steps: a local answer without a bound."""
    bounds = CappedBounds(formulation, problem)
    return CappedTerms(bounds).alternate(checked_theta(w, bounds.oracle.dim))


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
