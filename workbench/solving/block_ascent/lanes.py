"""Passes of dual-block in threads: N lanes of samples side by side, which meet many times a sweep.

Every lane has its own samples, every N-th one, and its own pool of cuts (_pool.py). In a **round** each lane visits the
next few of its samples, as `dual_block` does, from the θ that all lanes share. Rounds have as many entries of cuts, and
parts of outputs for the oracle, in one lane as in another, so none waits for long. The visits of lane k raise D alone
by ρ_k and move θ by m_k. As all lanes start at the same β, and D is quadratic, the share c of all changes raises D by

    c G − c² Q/2,      G = Σ_k (ρ_k + μ/2 ‖m_k‖²),      Q = μ ‖Σ_k m_k‖²

and the lanes take c = 1 where that raises D by a fifth of Σ_k ρ_k or more, the best c = G/Q elsewhere. So D never
falls, and with rounds of few samples a sweep of N lanes raises D almost as far as one after another would. The steps in
the plane (_dual_block.py) are common to all lanes; a pass and its cached sweeps are those of `dual_block`.

A thread reads what others wrote when all of them have met (arithmetic/meeting.py), and sums are taken in the order of
the lanes: the result depends on N, and on no thread's speed.

Lanes exchange all of θ in every round. Where samples are few, or θ is long, this takes longer than the visits, and one
thread is as fast (`misfit`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from workbench.arithmetic import compiled as machine
from workbench.contracts import Floats, Ints, Oracle
from workbench.solvers._common import Late, never
from workbench.solvers._pool import Point
from workbench.solvers.dual_block import (
    BRIEF,
    BRISK,
    DONE,
    FULL,
    LONG,
    Loops,
    State,
    begun,
    grown,
    moved,
    prepared,
    seated,
)
from workbench.solving.block_ascent import lane_loops
from workbench.system.threads import Threads

ROUNDS = 64  # of a sweep, at most
FEW = 4  # visits of a lane in a round, at least
MANY = 2000  # samples from which threads save time
PIECE = 4  # rounds after which a run with a time limit looks at its clock at first
ALL = 10**6  # rounds: more than a pass and its cached sweeps have

T = TypeVar("T")


def misfit(samples: int, dim: int) -> str:
    """Why passes over so many samples stay in one thread; an empty text if threads save time."""
    if samples < MANY:
        return f"passes in one, because there are fewer than {MANY:,} samples"
    return f"passes in one, because θ has {LONG:,} entries or more" if dim >= LONG else ""


class Lane(NamedTuple):
    """The samples of a lane, their prices (n,), its run of dual-block, and where its thread stands (lane_loops.py).

    ends : (rounds + 1,) where rounds of a sweep begin and end;  work : (n,) how long visits take
    """

    samples: Ints
    prices: Floats
    state: State
    tools: Loops
    own: Floats
    moved: Floats
    ends: Ints
    work: Ints
    mark: Floats


class Lanes:
    """Passes of dual-block for `solve` in threads, where there are no extra entries; as `CachedBlocks` in one thread.

    prices : (n,) finite;  curvature : μ of r = μ/2 ‖θ‖²
    hands : N ≥ 2 threads, for as many samples at least
    """

    known, tells = np.inf, True

    def __init__(self, oracle: Oracle, truth: Ints, prices: Floats, curvature: float, hands: Threads):
        self.method, self.hands, self.piece = BRISK, hands, PIECE
        self.prices, self.samples, self.curvature = prices, np.flatnonzero(prices), curvature
        count = min(hands.count, len(self.samples))
        rounds = int(np.clip(len(self.samples) // (FEW * count), 1, ROUNDS))
        self.lanes = [self.lane(oracle, truth, self.samples[k::count].copy(), rounds, k) for k in range(count)]
        self.point = Point(*np.zeros((5, oracle.dim)))
        self.table, self.told = np.zeros((2, count, oracle.dim)), np.zeros((2, count, 2))
        self.sums, kernel = np.zeros((count, 9)), oracle.kernel(arranged=True)
        self.place = slice(None) if kernel.place is None else kernel.place
        self.loops, self.cross = self.compiled()
        self.passes, self.gap, self.risk, self.peak = 0, np.inf, np.inf, np.inf

    def lane(self, oracle: Oracle, truth: Ints, samples: Ints, rounds: int, seed: int) -> Lane:
        """The lane of these samples, all weight on their truths."""
        prices, kernel = np.zeros(len(self.prices)), oracle.kernel(arranged=True)
        prices[samples] = self.prices[samples]
        state = begun(oracle, truth, prices, self.curvature, seed)
        own, moved = np.zeros((2, oracle.dim))
        tools = prepared(kernel, prices, state, True)
        ends, work = np.zeros(rounds + 1, np.int64), np.zeros(len(prices), np.int64)
        return Lane(samples, prices, state, tools, own, moved, ends, work, np.zeros(lane_loops.APART))

    def advance(self, late: Late = never) -> None:
        """A pass over the oracle, and cached sweeps while D rises as fast as since the pass began."""
        if self.passes and self.passes % self.method.period == 0:
            self.repack(self.method.patience)
        sweeps, piece = self.method.sweeps + 1, self.piece if late is not never else ALL
        orders: list[Ints | None] = [None] * len(self.lanes)
        for each in self.lanes:
            each.mark[:] = 0.0
        while True:
            began = time.perf_counter()
            said = self.crossed(orders, sweeps, piece)
            if said == DONE or (said != FULL and late()):
                break
            if said == FULL:
                self.each(lambda lane: grown(lane.state))
            elif time.perf_counter() - began < BRIEF:
                piece = self.piece = 2 * piece
        whole = all(each.mark[lane_loops.SWEEP] > 0 for each in self.lanes)
        met = [each.state.desk.met for each in self.lanes]
        self.gap = sum(float(each.mark[lane_loops.MET]) for each in self.lanes) if whole else np.inf
        self.risk, self.peak = sum(float(each[1]) for each in met), max(float(each[2]) for each in met)
        self.passes += 1

    def crossed(self, orders: list[Ints | None], sweeps: int, piece: int) -> int:
        """What the lanes' threads say; the first lane's thread is this one.

        orders : of each lane, of so many sweeps; its thread draws it where there is none
        """
        meet, gate, leave = machine.barrier()

        def thread(k: int) -> int:
            try:
                samples, rng, order = self.lanes[k].samples, self.lanes[k].state.rng, orders[k]
                if order is None:
                    orders[k] = order = rng.permuted(np.tile(samples, (sweeps, 1)), axis=1)
                return self.cross(*self.arguments(k, order, piece, meet), gate)
            finally:
                leave(gate)

        others = [self.hands.pool.submit(thread, k) for k in range(1, len(self.lanes))]
        try:
            said = thread(0)
        finally:
            wait(others)
        said = [said] + [each.result() for each in others]
        return FULL if FULL in said else said[0]

    def arguments(
        self, k: int, orders: Ints, piece: int, meet: Callable[..., int]
    ) -> tuple[Any, ...]:  # arrays and numbers
        """Those of `cross` for lane k, but for the gate."""
        _, _, state, tools, own, move, ends, work, mark = self.lanes[k]
        kernel, search = (tools.argmax_into, tools.slope_into, tools.parts_into), (tools.insert, tools.place_of)
        own_loops, method = (tools.asked, tools.sweep, tools.proposed, meet, *self.loops), self.method
        constants = method.worth, method.steps, method.settled, self.prices, self.curvature
        place = state.pool, state.desk, state.extras, self.point, self.table, own, move, self.told, self.sums
        return *kernel, *search, *own_loops, tools.data, k, orders, ends, piece, *constants, *place, work, mark

    def repack(self, patience: int) -> None:
        """The pools without idle cuts; θ is computed anew."""
        self.each(lambda lane: moved(lane.tools, lane.state, patience))
        theta = np.sum([each.state.point.theta for each in self.lanes], axis=0)
        for each in self.lanes:
            each.own[:] = theta
        self.point.step[:] = 0.0

    def compiled(self) -> tuple[tuple[Callable[..., Any], ...], Callable[..., int]]:  # they return numbers or nothing
        """How moves are joined, taken in part, and gone on with in the plane; and `cross`."""
        (meet, gate, _), build, point = machine.barrier(), machine.compiled_function, self.point
        _, _, state, tools, own, move, ends, work, _ = self.lanes[0]
        moves, mu, desk = (self.table[0], own, move), self.curvature, state.desk
        row = self.table[0, 0]
        place = gate, 0, self.prices, mu, state.pool, point, desk, self.table[0], own, self.sums
        self.loops = (
            build(lane_loops.weighed, (state.pool, True, work), "none"),
            build(lane_loops.dealt, (self.samples, work, ends), "none"),
            build(lane_loops.joined, (row, row, own, move), packed=True),
            build(lane_loops.added, (row, own, move), packed=True),
            build(lane_loops.portion, (*moves, 0.0, mu, desk.met)),
            build(lane_loops.stepped, (tools.proposed, meet, *place), "int64"),
        )
        arguments = self.arguments(0, np.empty((1, 1), np.int64), PIECE, meet)
        return self.loops, machine.direct(build(lane_loops.cross, (*arguments, gate), "int64"))

    def begin(self, samples: Ints, witnesses: Ints, weights: Floats, push: Floats, offsets: Floats) -> None:
        """Go on from dual weights μ of cuts of these offsets, `push` = Σ_k μ_k a_k (p,)."""
        self.prices[self.samples] = np.bincount(samples, weights, len(self.prices))[self.samples]
        theta = np.zeros(len(push))
        theta[self.place] = -push / self.curvature
        for mine, prices, state, tools, own, *_ in self.lanes:
            state.pool.weight[:], own[:] = 0.0, theta
            prices[mine] = self.prices[mine]
            for k in np.flatnonzero(np.isin(samples, mine)):
                cut = seated(tools, state, int(samples[k]), witnesses[k])
                state.pool.offset[cut] = offsets[k]
                state.pool.weight[cut] += weights[k]
        self.restart()

    def raised(self, factor: float) -> None:
        """Prices times a factor; what is added lies on the truths, so θ stays."""
        self.prices *= factor
        for mine, prices, state, *_ in self.lanes:
            state.pool.weight[state.pool.member[mine, 0]] += (factor - 1) * prices[mine]
            prices *= factor
        self.restart()

    def restart(self) -> None:
        """No last move for the plane."""
        self.point.step[:] = 0.0
        for each in self.lanes:
            each.state.pool.step[:] = 0.0

    @property
    def saturated(self) -> bool:
        """Whether some sample has no weight left on its truth."""
        held = [(each.state.pool.weight[each.state.pool.member[each.samples, 0]], each) for each in self.lanes]
        return any(bool((weight <= 1e-6 * each.prices[each.samples]).any()) for weight, each in held)

    @property
    def theta(self) -> Floats:
        """θ of now."""
        return self.lanes[0].own[self.place]

    @property
    def mean(self) -> Floats:
        """The mean of θ over moments of the last pass; θ if there were none."""
        moments = self.lanes[0].mark[lane_loops.MOMENT]
        return self.point.total[self.place] / moments if moments else self.theta

    def duals(self) -> tuple[Ints, Ints, Floats]:
        """(samples, witnesses, weights μ = p α) of the cuts with weight."""
        found = [self.method.duals(each.state) for each in self.lanes]
        samples, witnesses, weights = (np.concatenate(each) for each in zip(*found, strict=True))
        return samples, witnesses, weights

    def risks(self, points: Sequence[Floats]) -> Floats:
        """Σ_i p_i h_i at each of these θ, in floats."""
        at = np.zeros((len(points), len(self.point.theta)))
        at[:, self.place] = points

        def asked(lane: Lane) -> list[float]:
            tools, answer = lane.tools, lane.state.desk.answer
            place = tools.data, lane.samples, lane.prices
            return [tools.risk(tools.argmax_into, *place, theta, answer) for theta in at]

        return np.sum(self.each(asked), axis=0)

    def each(self, function: Callable[[Lane], T]) -> list[T]:
        """What a function says of each lane, in threads."""
        return self.hands.share([partial(function, lane) for lane in self.lanes])

    @property
    def floor(self) -> float:
        """D, in floats."""
        theta, pools = self.lanes[0].own, [each.state.pool for each in self.lanes]
        return sum(float(each.offset @ each.weight) for each in pools) - self.curvature / 2 * float(theta @ theta)
