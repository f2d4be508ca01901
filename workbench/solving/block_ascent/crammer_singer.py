"""Block dual ascent for Crammer and Singer's machine: single labels, slopes (e_y − e_t) ⊗ x_i, nothing but the weights.

    F(W) = μ/2 ‖W‖² + Σ_i p_i max_y ∇_iy,    ∇_iy = o_iy + ⟨W_y − W_t, x_i⟩
    D(β) = Σ_iy β_iy o_iy − μ/2 ‖W(β)‖²,     W_y(β) = Σ_i (p_i [y = t_i] − β_iy) x_i/μ,    Σ_y β_iy = p_i,  β ≥ 0

As a function of β_i alone, D is ⟨∇_i, β_i⟩ − q/2 ‖β_i − β_i⁰‖² with q = ‖x_i‖²/μ: a **visit** moves β_i to its
maximum, the projection of β_i⁰ + ∇_i/q onto the simplex of mass p_i, over all labels at once (Keerthi, Sundararajan,
Chang, Hsieh, Lin 2008). The projection is that of Michelot (1986): a level, raised to τ while labels fall below it.

A **pass** sweeps again and again over the samples whose last visit met a gap of at least a tenth of the mean
(shrinking), then takes a step in the plane of its own move and the move before it, and then **scores** every sample at
the W that stands. The scores give the next pass its samples, and F and D at the same W and β, so a caller knows without
another sweep what a proof would find. They are averaged along with W, so F of the mean, which mostly lies below F(W),
costs no product with the data.

With several threads, the inputs are dealt out to as many lanes (crammer_singer_loops.py), which share every visit; the
scores by which a pass ends are shared by samples.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import numpy as np

from workbench.arithmetic import compiled as machine
from workbench.contracts import Floats, Ints, Listing
from workbench.solvers._common import Late, never
from workbench.solving.block_ascent import crammer_singer_loops as loops
from workbench.solving.block_ascent.crammer_singer_tables import (
    LINE,
    PAIR,
    Desk,
    Memory,
    Weights,
    lanes_of,
    parted,
    width_of,
)
from workbench.solving.block_ascent.labels import busy

SWEEPS = 20  # of a pass, at most
SHARE = 0.1  # of the gap at the pass's first W, at which its sweeps end
NEAR = 0.85  # of the gap that is wanted: sweeps end there, too, since what they met tells little of other samples
BRIEF = 5_000_000  # products of a sweep, up to which a pass looks at the clock at its start only
LEAST = 150  # products of a visit for a lane, from which lanes take less time than one thread


Loop = Callable[..., Any]  # they return numbers or arrays, or nothing


class Loops(NamedTuple):
    """The loops of a pass; the first and the last are called, the first one with those between."""

    climb: Loop
    busy: Loop
    shuffled: Loop
    scored: Loop
    sweep: Loop
    plane: Loop
    score: Loop


class CrammerSinger:
    """The state of an ascent; `gap` is F − D, with F the least so far of W's and of means.

    prices : (n,) finite; samples of price 0 are left out;  listing : a plain one;  curvature : μ
    threads, pool : how many lanes and runs of samples work side by side, and by which threads
    wanted : the gap, relative to F, that is asked for; passes get there, and beyond, with 0, too
    known, theta : the least F so far, and where
    """

    risk = peak = np.inf
    found: Floats | None  # `theta` of this pass, once it was asked for

    def __init__(
        self,
        listing: Listing,
        curvature: float,
        prices: Floats,
        compiled: bool,
        threads: int = 1,
        pool: ThreadPoolExecutor | None = None,
        wanted: float = 0.0,
    ):
        self.wanted, self.pool = wanted, pool
        self.curvature, self.prices, self.samples = curvature, prices, np.flatnonzero(prices)
        n, k, p = len(prices), listing.scale.shape[1], listing.inputs
        count = threads if compiled and pool and len(self.samples) >= threads else 1
        self.count = count if len(listing.indices) * k >= LEAST * n * count and p >= count else 1
        self.listing, parts = parted(listing, self.count)
        of_samples, of_inputs = (n, width_of(k)), (p, width_of(k))
        self.state = Weights(np.zeros(of_samples), np.zeros(of_inputs), np.zeros(n), np.zeros(n, np.int64), parts)
        old, step = ((np.zeros(of_samples), np.zeros(of_inputs)) for _ in range(2))
        self.memory = Memory(*old, *step, np.zeros(of_samples), np.zeros(n, np.int64))
        self.desk = Desk(*np.zeros((2, *of_samples)), *np.zeros((2, *of_inputs)))
        self.lanes = lanes_of(k, self.count, count)
        self.seed, self.sweeps = np.ones(1, np.int64), SWEEPS
        self.meeting = machine.exchange if compiled else loops.alone
        sweep = loops.sweeping(PAIR if self.count > 1 else 1)
        plain = Loops(loops.climb, busy, loops.shuffled, loops.scored, sweep, loops.plane, loops.score)
        self.mark, self.loops = np.zeros(5), self.compiled(plain) if compiled else plain
        self.begun()

    def restart(self, curvature: float) -> None:
        """From nothing again, at this μ: the state of a new ascent."""
        for each in (*self.state[:2], self.state.moved, *self.memory, *self.desk):
            each[:] = 0
        self.curvature = curvature
        self.begun()

    def begun(self) -> None:
        """All weight on the truths, where all arrays are zero."""
        self.passes, self.order, self.keep, self.seed[:] = 0, self.samples.copy(), 0, 1
        self.turns = 0  # passes since the mean began
        self.laid(self.samples, self.truth[self.samples], self.prices[self.samples])
        self.state.gap[:] = self.prices * self.listing.offset.max(axis=1)[self.listing.kind]
        self.known = self.total = float(self.state.gap.sum())
        self.gap, self.found = np.inf, None

    @property
    def truth(self) -> Ints:
        """(n,) the true labels."""
        return self.listing.truth[self.listing.kind]

    def laid(self, samples: Ints, labels: Ints, weights: Floats) -> None:
        """Weights added to β, and to the β that the next pass finds."""
        np.add.at(self.state.beta, (samples, labels), weights)
        self.memory.beta[:] = self.state.beta

    @property
    def beta(self) -> Floats:
        """β (n, k)."""
        return self.state.beta[:, : self.listing.scale.shape[1]]

    @property
    def W(self) -> Floats:
        """W (p, k)."""
        return self.state.W[:, : self.listing.scale.shape[1]]

    def advance(self, late: Late = never) -> None:
        """Sweeps over the samples that are worth a visit, a step in the plane, and the scores of all samples.

        When `late`, the pass ends after the sweep that it is in, and a pass of a few milliseconds as ever.
        """
        climb, place = self.loops.climb, (self.listing, self.samples, self.order, self.seed, self.mark)
        after = self.prices, self.curvature, self.state, self.memory
        end = max(SHARE * self.total, NEAR * self.wanted * self.known)
        self.mark[:4] = len(self.order), self.total, end, 0 if late() else self.sweeps
        most = self.sweeps + 1 if late is never or self.state.W.shape[1] * len(self.listing.values) <= BRIEF else 1
        while self.beside(self.count, lambda k: (climb, *self.loops[1:-1], *place, most, *after)) > 1:
            self.mark[3] *= not late()
        self.passes, self.turns = self.passes + 1, self.turns + 1
        self.tell(4 / (self.turns + 3))

    def beside(self, count: int, told: Callable[[int], tuple[Any, ...]]) -> float:  # arrays and numbers
        """The loops and arguments that `told` names for `count` threads, side by side; what the first of them says.

        The first thread is this one.
        """
        exchange, gate, leave = self.meeting(count)

        def thread(k: int) -> float:
            loop, *arguments = told(k)
            try:
                return loop(*arguments, exchange, gate, k, 0, self.lanes[k])
            finally:
                leave(gate)

        others = [self.pool.submit(thread, k) for k in range(1, count)] if self.pool else []
        try:
            found = thread(0)
        finally:
            wait(others)
        for each in others:
            each.result()
        return found

    def tell(self, share: float) -> None:
        """F and D at W, and F at the mean, which moves by `share`."""
        place = self.listing, self.samples, self.prices, share, self.keep, self.state, self.desk
        self.beside(len(self.lanes), lambda k: (self.loops.score, self.loops.scored, *place))
        sums, self.found = self.lanes[0].sums[:, :6].sum(axis=0), None
        self.total, risk, mean_risk, held, square, mean_square = sums.tolist()
        ends, self.keep = (risk + self.curvature / 2 * square, mean_risk + self.curvature / 2 * mean_square), 0
        if min(ends) < self.known:
            self.known, self.keep = min(ends), int(ends[1] < ends[0])
            if not self.keep:
                self.desk.best[:] = self.state.W
        self.gap, self.order = self.known - (held - self.curvature / 2 * square), self.samples.copy()

    def begin(self, samples: Ints, witnesses: Ints, weights: Floats, push: Floats, offsets: Floats) -> None:
        """Go on from dual weights μ of cuts, `push` = Σ_k μ_k a_k (p,); their offsets stand in the tables."""
        self.state.beta[:] = 0.0
        self.laid(samples, witnesses[:, 0], weights)
        self.prices[self.samples] = np.bincount(samples, weights, len(self.prices))[self.samples]
        self.W[:] = -push.reshape(-1, self.listing.inputs).T / self.curvature
        self.memory.W[:] = self.state.W
        self.passes = self.turns = self.keep = 0
        self.known = np.inf
        self.tell(1.0)

    def raised(self, factor: float) -> None:
        """Prices times a factor; what is added lies on the truths, so θ stays."""
        self.laid(self.samples, self.truth[self.samples], (factor - 1) * self.prices[self.samples])
        self.prices *= factor

    @property
    def saturated(self) -> bool:
        """Whether some sample has no weight left on its truth."""
        held = self.beta[self.samples, self.truth[self.samples]]
        return bool((held <= 1e-6 * self.prices[self.samples]).any())

    @property
    def theta(self) -> Floats:
        """The W or the mean of least F so far, label by label; made once a pass."""
        if self.found is None:
            best = self.desk.mean if self.keep else self.desk.best
            self.found = best[:, : self.listing.scale.shape[1]].T.flatten()
        return self.found

    @property
    def mean(self) -> Floats:
        """`theta`, among which means are already."""
        return self.theta

    def duals(self) -> tuple[Ints, Ints, Floats]:
        """(samples, witnesses, weights μ = p α) of the cuts with weight."""
        beta = self.beta
        samples, labels = np.nonzero(beta)
        return samples, labels[:, None], beta[samples, labels]

    def compiled(self, plain: Loops) -> Loops:
        """The loops of a pass, compiled."""
        build, ints, prices, number = machine.compiled_function, np.zeros(1, np.int64), self.prices, np.zeros(1)
        place, crossed = (prices, 1.0, self.state), (self.meeting(1)[0], ints, 0, 0, self.lanes[0])
        W, found = np.zeros((1, 1, LINE)), np.zeros((1, LINE))
        scored = build(plain.scored, (ints, number, 0, 0, W, found), "void", packed=True)
        own = (
            build(plain.busy, (ints, prices, 1.0), "int64"),
            build(plain.shuffled, (ints, 1, ints), "void"),
            scored,
            build(plain.sweep, (scored, self.listing, ints, 1, *place, *crossed), packed=True),
            build(plain.plane, (self.listing, ints, *place, self.memory, *crossed), "int64"),
        )
        climb = build(plain.climb, (*own, self.listing, *[ints] * 3, number, 1, *place, self.memory, *crossed), "int64")
        told = scored, self.listing, ints, prices, 1.0, 0, self.state, self.desk, *crossed
        return Loops(machine.direct(climb), *own, machine.direct(build(plain.score, told, packed=True)))
