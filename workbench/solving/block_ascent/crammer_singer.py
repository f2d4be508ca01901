"""Block dual ascent for Crammer and Singer's machine: single labels, slopes (e_y − e_t) ⊗ x_i, nothing but the weights.

    F(W) = μ/2 ‖W‖² + Σ_i p_i max_y ∇_iy,    ∇_iy = o_iy + ⟨W_y − W_t, x_i⟩
    D(β) = Σ_iy β_iy o_iy − μ/2 ‖W(β)‖²,     W_y(β) = Σ_i (p_i [y = t_i] − β_iy) x_i/μ,    Σ_y β_iy = p_i,  β ≥ 0

As a function of β_i alone, D is ⟨∇_i, β_i⟩ − q/2 ‖β_i − β_i⁰‖² with q = ‖x_i‖²/μ: a **visit** moves β_i to its
maximum, the projection of β_i⁰ + ∇_i/q onto the simplex of mass p_i, over all labels at once (Keerthi, Sundararajan,
Chang, Hsieh, Lin 2008). The projection is that of Michelot (1986): a level, raised to τ while labels fall below it.

A **pass** sweeps again and again over the samples whose last visit met a gap of at least a tenth of the mean
(shrinking), then may take a step in the plane of its own move and the move before it, and then **scores** every sample
at the W that stands. The scores give the next pass its samples, and F and D at the same W and β, so a caller knows
without another sweep what a proof would find. They are averaged along with W, so F of the mean, which mostly lies below
F(W), costs no product with the data.

With several threads, the inputs are dealt out to as many lanes (crammer_singer_loops.py), which share every visit, each
seen to by a thread of its own, or all by one (crammer_singer_crew.py); the scores by which a pass ends are shared by
samples.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import numpy as np

from workbench.arithmetic import compiled as machine
from workbench.arithmetic.intervals import TINY
from workbench.arithmetic.lines import LINE, lined
from workbench.arithmetic.products import Spread, serially
from workbench.contracts import Floats, Ints, Listing
from workbench.solvers._common import Late, never
from workbench.solving.block_ascent import crammer_singer_loops as loops
from workbench.solving.block_ascent.crammer_singer_crew import crew_of, lanes_for
from workbench.solving.block_ascent.crammer_singer_lines import pushed, scored
from workbench.solving.block_ascent.crammer_singer_tables import (
    GROUP,
    RUNS,
    Desk,
    Weights,
    lanes_of,
    memory_of,
    parted,
    width_of,
)
from workbench.solving.block_ascent.labels import busy
from workbench.system.memory import keep_freed

SWEEPS = 20  # of a pass, at most
SHARE = 0.1  # of the gap at the pass's first W, at which its sweeps end
NEAR = 0.85  # of the gap that is wanted: sweeps end there, too, since what they met tells little of other samples
LAST = 4  # passes that are likely left, from which on a step in the plane is worth its time
AGAIN = 16  # passes after which meetings of threads are timed again
BRIEF = 5_000_000  # products of visits, after which a pass looks at the clock
LONG = 2**62  # visits of a pass that nobody waits for


Loop = Callable[..., Any]  # they return numbers or arrays, or nothing


class Loops(NamedTuple):
    """The loops of a pass: `climb` is called with those up to `plane`."""

    climb: Loop
    busy: Loop
    shuffled: Loop
    scored: Loop
    pushed: Loop
    ahead: Loop
    say: Loop
    sweep: Loop
    plane: Loop
    score: Loop
    meetings: Loop
    claim: Loop

    @property
    def visits(self) -> tuple[Loop, Loop, Loop, Loop]:
        """What a sweep calls."""
        return self.scored, self.pushed, self.ahead, self.say


class CrammerSinger:
    """The state of an ascent; `gap` is F − D, with F the least so far of W's and of means.

    prices : (n,) finite; samples of price 0 are left out;  listing : a plain one;  curvature : μ
    threads, pool : how many lanes and runs of samples work side by side, and by which threads
    spread : which has functions of runs of samples called by the same threads
    wanted : the gap, relative to F, that is asked for; passes get there, and beyond, with 0, too
    known, theta : the least F so far, and where; `at` is the array that holds it, (p, w)
    shares : of F that the gap was after the last two passes
    """

    risk = peak = np.inf
    at: Floats
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
        spread: Spread = serially,
    ):
        keep_freed()
        self.wanted, self.pool = wanted, pool
        self.curvature, self.prices, self.samples = curvature, prices, np.flatnonzero(prices)
        n, k, p = len(prices), listing.scale.shape[1], listing.inputs
        count = threads if compiled and pool and len(self.samples) >= threads else 1
        self.count = lanes_for(listing, len(self.samples), count)
        self.listing, parts = parted(listing, self.count, spread)
        width = width_of(k)
        self.state = Weights(lined(n, width), lined(p, width), np.zeros(n), np.zeros(n, np.int64), parts)
        self.desk = Desk(lined(n, width), lined(p, width), lined(RUNS, LINE))
        self.lanes = lanes_of(k, self.count, count)
        self.seed, self.sweeps = np.ones(1, np.int64), SWEEPS
        self.meeting = machine.exchange if compiled else loops.alone
        self.mark = np.zeros(8)
        self.begun()
        visits, sweep = (scored, pushed, loops.nothing, loops.silent), loops.sweeping(self.count > 1)
        plain = Loops(
            loops.climb, busy, loops.shuffled, *visits, sweep, loops.plane, loops.score, loops.meetings, loops.claimed
        )
        self.loops = self.compiled(plain) if compiled else plain

    def restart(self, curvature: float) -> None:
        """From nothing again, at this μ: the state of a new ascent."""
        self.curvature = curvature
        self.begun()

    def begun(self) -> None:
        """All weight on the truths, and all else zero."""
        arrays = *self.state[:2], *self.desk
        self.beside(len(self.lanes), lambda k: (loops.cleared, arrays))
        self.mark[6], self.crew = GROUP, 0
        self.passes, self.order, self.at, self.seed[:] = 0, self.samples.copy(), self.desk.mean, 1
        self.laid(self.state.beta, self.samples, self.truth[self.samples], self.prices[self.samples])
        self.forgotten(0)
        self.state.gap[:] = self.prices * self.listing.offset.max(axis=1)[self.listing.kind]
        self.known = self.total = float(self.state.gap.sum())
        self.gap, self.found = np.inf, None

    @property
    def truth(self) -> Ints:
        """(n,) the true labels."""
        return self.listing.truth[self.listing.kind]

    def forgotten(self, turns: int) -> None:
        """Nothing is known of passes before this W, of which so many are in the mean."""
        self.turns, self.shares = turns, (1.0, 1.0)
        self.memory = memory_of(0, 0, self.state.W.shape[1])

    def laid(self, beta: Floats, samples: Ints, labels: Ints, weights: Floats) -> None:
        """Weights added to β (n, w)."""
        np.add.at(beta.reshape(-1), samples * beta.shape[1] + labels, weights)  # faster than in two dimensions

    @property
    def beta(self) -> Floats:
        """β (n, k)."""
        return self.state.beta[:, : self.listing.scale.shape[1]]

    @property
    def W(self) -> Floats:
        """W (p, k)."""
        return self.state.W[:, : self.listing.scale.shape[1]]

    def advance(self, late: Late = never) -> None:
        """Sweeps over the samples that are worth a visit, perhaps a step in the plane, and the scores of all samples.

        When `late`, the pass ends after the sweep that it is in, and a pass of a few milliseconds as ever.
        """
        beta, W = self.state[:2]
        if self.at is W:
            best = lined(*W.shape)
            self.beside(len(self.lanes), lambda k: (loops.copied, (best,), (W,)))
            self.at = best
        if self.crew == 0 or self.passes % AGAIN == 0:
            self.crew = self.manned()
        end = max(SHARE * self.total, NEAR * self.wanted * self.known)
        if (steps := self.stepping()) and not len(self.memory.beta):
            self.memory, self.state.moved[:] = memory_of(len(self.prices), *W.shape), 0
            memory = self.memory
            self.beside(len(self.lanes), lambda k: (loops.copied, (memory.beta, memory.W), (beta, W)))
            self.beside(len(self.lanes), lambda k: (loops.cleared, (memory.beta_step, memory.W_step)))
        self.mark[:4] = len(self.order), self.total, end, 0 if late() else self.sweeps
        self.mark[5], self.mark[7] = steps, np.inf
        climb, count = self.loops.climb, self.crew
        place = self.listing, self.samples, self.order, self.seed, self.mark
        after = self.prices, self.curvature, self.state, self.memory
        size = W.shape[1] * len(self.listing.values)
        most = LONG if late is never else max(BRIEF * len(self.prices) // max(size, 1), 1)
        while (said := self.beside(count, lambda k: (climb, *self.loops[1:-3], *place, most, count, *after))) == 2:
            self.mark[3] *= not late()
        if said == 3:
            step = self.loops.plane, self.loops.pushed, self.listing, self.samples
            self.beside(self.count, lambda k: (*step, *after))
        self.passes, self.turns = self.passes + 1, self.turns + 1
        self.tell(4 / (self.turns + 3))

    def manned(self) -> int:
        """How many threads see to the lanes: one to each, or one to all of them."""
        return crew_of(self.count, self.listing, len(self.samples), int(self.mark[6]), self.beside, self.loops.meetings)

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

        others: list[Future[float]] = []
        try:
            for k in range(1, count):
                assert self.pool is not None
                others.append(self.pool.submit(thread, k))
            found = thread(0)
        finally:
            leave(gate)  # also where a thread could not be started
            wait(others)
        for each in others:
            each.result()
        return found

    def stepping(self) -> bool:
        """Whether a step in the plane pays, which takes the time of a sweep and serves the passes after it.

        Not in a first pass, nor where the gap that is wanted is near at the rate of the last pass.
        """
        before, now = self.shares
        if self.turns == 0:
            return False
        return not 0 < now < before or np.log(now / max(self.wanted, TINY)) > LAST * np.log(before / now)

    def tell(self, share: float) -> None:
        """F and D at W, and F at the mean, which moves by `share`."""
        mean, W = self.desk.mean, self.state.W
        place = self.listing, self.samples, self.prices, share, self.state, self.desk
        self.beside(len(self.lanes), lambda k: (self.loops.score, self.loops.scored, self.loops.claim, *place))
        sums, self.found = self.desk.sums[:, :6].sum(axis=0), None
        self.total, risk, mean_risk, held, square, mean_square = sums.tolist()
        ends = risk + self.curvature / 2 * square, mean_risk + self.curvature / 2 * mean_square
        if min(ends) < self.known:
            self.known, self.at = min(ends), mean if ends[1] <= ends[0] else W
        elif self.at is mean:  # the mean before, which is zero before the first W
            self.at = (mean - share * W) / (1 - share) if share < 1 else np.zeros_like(mean)
        self.gap, self.order = self.known - (held - self.curvature / 2 * square), self.samples.copy()
        self.shares = self.shares[1], self.gap / max(self.known, TINY)

    def begin(self, samples: Ints, witnesses: Ints, weights: Floats, push: Floats, offsets: Floats) -> None:
        """Go on from dual weights μ of cuts, `push` = Σ_k μ_k a_k (p,); their offsets stand in the tables."""
        self.state.beta[:] = 0.0
        self.laid(self.state.beta, samples, witnesses[:, 0], weights)
        self.prices[self.samples] = np.bincount(samples, weights, len(self.prices))[self.samples]
        self.W[:] = -push.reshape(-1, self.listing.inputs).T / self.curvature
        self.forgotten(1)
        self.passes, self.known, self.at = 0, np.inf, self.desk.mean
        self.tell(1.0)

    def raised(self, factor: float) -> None:
        """Prices times a factor; what is added lies on the truths, so θ stays."""
        added = self.samples, self.truth[self.samples], (factor - 1) * self.prices[self.samples]
        for beta in (self.state.beta, self.memory.beta):
            if len(beta):
                self.laid(beta, *added)
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
            found = np.empty((self.listing.scale.shape[1], len(self.at)))
            self.beside(len(self.lanes), lambda k: (loops.labelled, self.at, found))
            self.found = found.ravel()
        return self.found

    @property
    def mean(self) -> Floats:
        """`theta`, among which means are already."""
        return self.theta

    def duals(self) -> tuple[Ints, Ints, Floats]:
        """(samples, witnesses, weights μ = p α) of the cuts with weight."""
        beta = self.state.beta
        held = np.flatnonzero(beta != 0.0)  # faster than places in two dimensions, with zeros behind the labels
        samples, labels = np.divmod(held, beta.shape[1])
        return samples, labels[:, None], beta.reshape(-1)[held]

    def compiled(self, plain: Loops) -> Loops:
        """The loops of a pass, compiled."""
        build, ints, prices, number = machine.compiled_function, np.zeros(1, np.int64), self.prices, np.zeros(1)
        place, crossed = (prices, 1.0, self.state), (self.meeting(1)[0], ints, 0, 0, self.lanes[0])
        entries, lines = (ints, number, self.state.parts, ints), np.zeros((1, 1, LINE))
        score_lines = build(plain.scored, (*entries, 0, 0, 0, 0, lines, lines), "void", packed=True)
        push_lines = build(plain.pushed, (*entries, *[0] * 6, lines, lines), "void", packed=True)
        visits = score_lines, push_lines, machine.ahead(), machine.say()
        own = (
            build(plain.busy, (ints, prices, 1.0), "int64"),
            build(plain.shuffled, (ints, 1, ints), "void"),
            *visits,
            build(plain.sweep, (*visits, self.listing, ints, 1, 1, 1, *place, *crossed), "boolean", packed=True),
            build(plain.plane, (push_lines, self.listing, ints, *place, self.memory, *crossed), "int64"),
        )
        climb = build(
            plain.climb, (*own, self.listing, *[ints] * 3, number, 1, 1, *place, self.memory, *crossed), "int64"
        )
        told = score_lines, machine.claim(), self.listing, ints, prices, 1.0, self.state, self.desk, *crossed
        meetings = machine.direct(build(plain.meetings, (1, *crossed)))
        score = machine.direct(build(plain.score, told, packed=True))
        return Loops(machine.direct(climb), *own, score, meetings, machine.claim())
