"""Block dual ascent over cached cuts, with steps in the plane of the last two moves, for r = μ/2 ‖θ‖².

Every sample keeps the cuts that the oracle found for it, and weights β of them:

    max D(β) = Σ_r β_r o_r − ‖Σ_r β_r a_r‖²/(2μ)    s.t.  Σ_{r∈i} β_r = p_i,  β ≥ 0      (docs/mathematics.md §2)
    θ = −Σ_r β_r a_r/μ,     ∇_r = o_r + ⟨a_r, θ⟩,     F(θ) − D(β) = Σ_i p_i h_i(θ) − ⟨β, ∇⟩

**A visit** of sample i moves weight from its cut r⁻ of least ∇ among β_r > 0 to the cut r⁺ of greatest ∇,
by δ = min(β_{r⁻}, μ (∇_{r⁺} − ∇_{r⁻})/‖a_{r⁺} − a_{r⁻}‖²), which maximises D, up to `steps` times (pairwise
Frank–Wolfe: Lacoste-Julien, Jaggi 2015, Algorithm 2), while ∇_{r⁺} − ∇_{r⁻} is above `settled` times its largest.
In a pass over the oracle each visit first asks for the highest cut at the θ of that moment and keeps it if it is new.

**Cached sweeps** visit the samples again in new random orders, without the oracle. At most `sweeps` follow a pass, and
they go on while D rises per unit of time as fast as since the pass began; a pass counts as `worth` cached sweeps (Shah,
Kolmogorov, Lampert 2015 measure the time instead).

**The plane.** A sweep displaces β by u; the sweep before it, with its own plane step, by v. D is quadratic,
so its maximum over β + a u + c v solves two equations in scalar products of θ's moves: O(K + p). As in
nonlinear conjugate gradients the pair carries the curvature seen so far. Weights that would turn negative
are clipped, and a step is taken only if D rises by more than rounding could.

**Pruning.** Every `period` passes, cuts without weight for more than `patience` visits of the oracle are
removed, and the remaining cuts are moved together in memory. β does not change, so D never falls.

**Extra entries** of θ, such as biases and costs, stand behind the weights (_extras.py); `solve` makes passes with
them, the learner does not.

The report is the last θ. The duals handed over are the pool's witnesses and weights; `run` rebuilds the
cuts from the data, so nothing computed here enters a bound. `solve` can begin with these passes, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from workbench.arithmetic import compiled as machine
from workbench.contracts import Floats, Ints, Kernel, Shape, Solver
from workbench.errors import BadInput
from workbench.objectives.regularizers import projected, projection
from workbench.solvers import _dual_block as loops
from workbench.solvers import _extras, _pool
from workbench.solvers._common import Late, misfit_of_ridge, never
from workbench.solvers._extras import Extras
from workbench.solvers._pool import Desk, Point, Pool

FACTOR = 2  # by which the pool outgrows what it holds
FULL, DONE, VISITED = 0, 1, 2  # what `turn` says
PIECES = 16  # of a pass or a cached sweep, after which a run with a time limit looks at its clock at first
BRIEF = 0.02  # seconds: a piece that takes less is doubled the next time, since calls of compiled loops take 1 ms
SMALL, EASE = 0.1, 10.0  # the relative gap from which on costs are held less, and how much less
HELD = 30  # passes after which costs are held less in any case
LONG = 100_000  # entries of θ from which a cached sweep, and a step in the plane, are dear beside a pass


@dataclass
class State:
    """Where a run stands; `passes` over the oracle so far.

    base : what θ has besides −Σ_r β_r a_r/μ: the cuts of other machines (solving/shards.py)
    piece : visits of a pass or a cached sweep between two looks at the clock
    moments : of the last pass and its cached sweeps, whose θ point.total adds up
    spare : the pool before it was repacked, for the next one to take its place
    """

    curvature: float
    pool: Pool
    point: Point
    desk: Desk
    most: int
    rng: np.random.Generator
    extras: Extras
    passes: int = 0
    gap: float = np.inf  # that the visits of the last pass met
    base: Floats | float = 0.0
    piece: int = 0
    moments: float = 0.0
    spare: Pool | None = None


class Loops(NamedTuple):
    """The loops of `_dual_block` and `_pool` and the kernel's functions, compiled or as they are."""

    argmax_into: Callable[..., float]
    slope_into: Callable[..., int]
    parts_into: Callable[..., int]
    data: tuple[Any, ...]
    insert: Callable[..., int]
    moved_in: Callable[..., int]
    place_of: Callable[..., int]
    asked: Callable[..., float]
    sweep: Callable[..., int]
    proposed: Callable[..., float]
    plane: Callable[..., int]
    repack: Callable[..., int]
    turn: Callable[..., int]
    retie: Callable[..., float]
    projected: Callable[..., Floats]
    risk: Callable[..., float]


@dataclass(frozen=True)
class DualBlock(Solver):
    """Block dual ascent over cached cuts, accelerated in the plane of its last two moves."""

    sweeps: int = 20
    worth: float = 3.0
    steps: int = 10
    settled: float = 0.0
    patience: int = 5
    period: int = 10
    seed: int = 0

    name: ClassVar[str] = "dual-block"
    dual: ClassVar[bool] = True
    sweep = staticmethod(loops.sweep)

    def __post_init__(self) -> None:
        least = {"sweeps": 0, "worth": 0, "steps": 1, "settled": 0, "patience": 0, "period": 1}
        for key, bound in least.items():
            if not getattr(self, key) >= bound:
                raise BadInput(f"{key} is {getattr(self, key)}; give a number of at least {bound}.")

    def misfit(self, formulation: Any, problem: Any) -> str | None:
        if sentence := misfit_of_ridge(self.name, formulation, problem):
            return sentence
        if formulation.oracle(problem).kernel().slope_into is None:
            return f"dual-block needs slope_into and the kernel of {type(problem).__name__} has none; use bcfw."
        return None

    def init(self, formulation: Any, problem: Any) -> State:
        """All weight on the truth, whose cut is zero; samples of price 0 have no cuts."""
        oracle, prices = formulation.oracle(problem), formulation.prices(problem).floats()
        curvature = float(formulation.regularizer(problem).curvature)
        return begun(oracle, problem.truth, prices, curvature, self.seed)

    def start(
        self, formulation: Any, problem: Any, samples: Ints, witnesses: Ints, weights: Floats, compiled: bool = False
    ) -> State:
        """The state at dual weights β_k of K cuts: their pool, and θ = −Σ β_k a_k/μ."""
        state, oracle = self.init(formulation, problem), formulation.oracle(problem)
        tools = prepared(oracle.kernel(), formulation.prices(problem).floats(), state, compiled)
        state.pool.weight[:] = 0.0
        slopes, offsets = oracle.rows(samples, witnesses)
        for i, witness, offset, weight in zip(samples, witnesses, offsets, weights, strict=True):
            if weight > 0:
                cut = seated(tools, state, int(i), witness)
                state.pool.offset[cut] = offset
                state.pool.weight[cut] += weight
        state.point.theta[:] = -(slopes.T @ weights) / state.curvature
        remember(state)
        return state

    def report(self, state: State) -> Floats:
        return state.point.theta.copy()

    def duals(self, state: State) -> tuple[Ints, Ints, Floats]:
        """(samples, witnesses, weights μ = p α) of the cuts with weight."""
        pool = state.pool
        samples = np.repeat(np.arange(len(pool.count)), pool.count)
        cuts = pool.member[np.arange(pool.member.shape[1]) < pool.count[:, None]]
        held = pool.weight[cuts] > 0
        return samples[held], pool.witness[cuts[held]], pool.weight[cuts[held]]

    def visitor(self, kernel: Kernel, prices: Floats, state: State, compiled: bool) -> Callable[[Ints], None]:
        """visit(order): as many passes over the oracle as `order` is long, n visits each."""
        return partial(self.advance, prepared(kernel, prices, state, compiled), prices, state)

    def advance(self, tools: Loops, prices: Floats, state: State, order: Ints, late: Late = never) -> None:
        """Visit the samples of `order`, one pass at a time; when `late`, the pass ends where it is, its gap unknown."""
        everyone = np.flatnonzero(prices)
        for piece in np.split(order, range(len(everyone), len(order), len(everyone))):
            if state.passes and state.passes % self.period == 0:
                moved(tools, state, self.patience)
            again = [state.rng.permutation(everyone[: len(piece)]) for _ in range(self.sweeps)]
            self.turn(tools, prices, state, np.array([piece, *again]), late)
            state.passes += 1

    def turn(self, tools: Loops, prices: Floats, state: State, orders: Ints, late: Late = never) -> None:
        """One pass and its cached sweeps; `late` is asked PIECES times in each, less often if these are short."""
        n = orders.shape[1]
        state.piece = state.piece or n // PIECES + 1
        mark = np.array([0.0, 0.0, np.inf, 0.0, n if late is never else state.piece, 0.0])
        while True:
            began = time.perf_counter()
            constants = self.worth, self.steps, self.settled, prices, state.curvature
            place = state.pool, state.point, state.desk, state.extras, mark
            kernel, own = (tools.argmax_into, tools.slope_into, tools.parts_into), (tools.insert, tools.place_of)
            loops = tools.asked, tools.sweep, tools.proposed, tools.plane, tools.retie, tools.projected
            said = tools.turn(*kernel, *own, *loops, tools.data, orders, *constants, *place)
            if said == DONE or (said == VISITED and late()):
                break
            if said == FULL:
                grown(state)
            elif late is not never and time.perf_counter() - began < BRIEF:
                mark[4] = state.piece = min(2 * state.piece, n)
        state.gap, state.moments = float(mark[2]), float(mark[5])


BRISK = DualBlock(worth=5.0, settled=0.3, patience=2, period=5)  # the passes that `solve` makes
LENGTHY = DualBlock(sweeps=5, steps=5, worth=3.0, settled=0.3)  # those with LONG θ


def begun(oracle: Any, truth: Ints, prices: Floats, curvature: float, seed: int) -> State:
    """All weight on the truth, no extra entries."""
    kernel, samples, (n, m) = oracle.kernel(), np.flatnonzero(prices), (len(prices), int((prices > 0).sum()))
    most = kernel.most
    pool = _pool.empty_pool(n, oracle.width, 8, 8 * n, 64 * n + 2 * most, 32 * n)
    pool.used[:] = m, 0, m
    pool.count[samples], pool.member[samples, 0], pool.row[:m] = 1, np.arange(m), np.arange(m)
    pool.witness[:m], pool.parent[:m], pool.weight[:m] = truth[samples], -1, prices[samples]
    point = Point(*np.zeros((5, oracle.dim)))
    desk = _pool.desk(oracle.dim, oracle.width, most, 8, np.zeros(0), kernel.parts)
    return State(curvature, pool, point, desk, most, np.random.default_rng(seed), _extras.none())


class CachedBlocks:
    """Passes of dual-block for `solve`, with extra entries: biases and costs (_extras.py).

    Of the last pass's visits: `gap`, `risk` Σ_i p_i max_r ∇_r, and `peak`, the highest ∇_r.
    prices : (n,) finite;  start : θ (p,), of which the extra entries are taken as they are and the weights are 0
    slopes : (m, p) of some cuts, for the scale of the extra entries
    tells : whether `risks` and `floor` take less time than proofs do
    """

    known = np.inf

    def __init__(self, oracle: Any, truth: Ints, shape: Shape, prices: Floats, start: Floats, slopes: Any, d: int):
        self.method = BRISK if oracle.dim < LONG else LENGTHY
        self.prices, self.samples, kernel = prices, np.flatnonzero(prices), oracle.kernel(arranged=True)
        self.state = state = begun(oracle, truth, prices, 2 * float(shape.square[0]), 0)
        if oracle.dim > d:
            state.point.theta[d:] = start[d:]
            state.extras = _extras.extras_of(shape, d, state.point.theta[d:], slopes)
            _extras.hold(state.extras, _extras.HOLD)
            state.desk = state.desk._replace(ratio=state.curvature / state.extras.metric)
        self.held, self.eased = _extras.HOLD if len(state.extras.simplex) else 1.0, 0  # costs, since this pass
        self.place = slice(None) if kernel.place is None else kernel.place
        compiled = machine.available() and bool(kernel.data)
        self.tools, self.tells = prepared(kernel, prices, state, compiled), compiled and oracle.dim == d < LONG
        self.rng, self.passes, self.gap, self.risk, self.peak = np.random.default_rng(1), 0, np.inf, np.inf, np.inf

    def advance(self, late: Late = never) -> None:
        state = self.state
        if self.held > 1 and self.ready:
            self.release(min(EASE, self.held))
        if len(state.extras.x):
            _extras.recentre(state.extras)
            self.tools.retie(self.tools.projected, state.extras)
        self.method.advance(self.tools, self.prices, state, self.rng.permutation(self.samples), late)
        self.passes, self.gap = state.passes, state.gap
        self.risk, self.peak = float(state.desk.met[1]), float(state.desk.met[2])

    @property
    def ready(self) -> bool:
        """Whether costs may be held less: the last pass met a small gap for that, or they were held so for long."""
        weights = self.state.point.theta[: len(self.state.point.theta) - len(self.state.extras.x)]
        size = self.state.curvature / 2 * float(weights @ weights) + self.risk
        small = self.gap <= SMALL * np.sqrt(self.held / _extras.HOLD) * size < np.inf
        return bool(small or self.passes >= self.eased + HELD)

    def release(self, factor: float) -> None:
        """Costs held less by a factor, at the same θ; products of cuts count them by the new σ."""
        state, self.held, self.eased = self.state, self.held / factor, self.passes
        kept = state.extras.x.copy()
        _extras.hold(state.extras, 1 / factor)
        state.desk = state.desk._replace(ratio=state.curvature / state.extras.metric)
        moved(self.tools, state, self.method.patience, same=False)
        state.extras.x[:] = state.point.theta[len(state.point.theta) - len(kept) :] = kept

    def begin(self, samples: Ints, witnesses: Ints, weights: Floats, push: Floats, offsets: Floats) -> None:
        """Go on from dual weights μ of cuts of these offsets, `push` = Σ_k μ_k a_k (p,)."""
        if self.held > 1:
            self.release(self.held)
        state, public = self.state, push
        push = np.zeros(len(public))
        push[self.place] = public
        state.pool.weight[:] = 0.0
        for i, witness, offset, weight in zip(samples, witnesses, offsets, weights, strict=True):
            cut = seated(self.tools, state, int(i), witness)
            state.pool.offset[cut] = offset
            state.pool.weight[cut] += weight
        self.prices[self.samples] = np.bincount(samples, weights, len(self.prices))[self.samples]
        d = len(push) - len(state.extras.x)
        state.point.theta[:d], state.extras.push[:] = -push[:d] / state.curvature, push[d:]
        self.tools.retie(self.tools.projected, state.extras)
        remember(state)

    def raised(self, factor: float) -> None:
        """Prices times a factor; what is added lies on the truths, so θ stays."""
        pool = self.state.pool
        pool.weight[pool.member[self.samples, 0]] += (factor - 1) * self.prices[self.samples]
        self.prices *= factor
        pool.step[:] = 0.0
        self.state.point.step[:] = 0.0

    @property
    def saturated(self) -> bool:
        """Whether some sample has no weight left on its truth."""
        pool, samples = self.state.pool, self.samples
        return bool((pool.weight[pool.member[samples, 0]] <= 1e-6 * self.prices[samples]).any())

    @property
    def theta(self) -> Floats:
        """θ of now."""
        return self.method.report(self.state)[self.place]

    @property
    def mean(self) -> Floats:
        """The mean of θ over moments of the last pass; θ if there were none."""
        state = self.state
        return state.point.total[self.place] / state.moments if state.moments else self.theta

    def duals(self) -> tuple[Ints, Ints, Floats]:
        """(samples, witnesses, weights μ = p α) of the cuts with weight."""
        return self.method.duals(self.state)

    def risks(self, points: Sequence[Floats]) -> Floats:
        """Σ_i p_i h_i at each of these θ, in floats."""
        tools, place = self.tools, (self.tools.data, self.samples, self.prices)
        at = np.zeros_like(self.state.point.theta)
        found = []
        for theta in points:
            at[self.place] = theta
            found.append(tools.risk(tools.argmax_into, *place, at, self.state.desk.answer))
        return np.array(found)

    @property
    def floor(self) -> float:
        """D, in floats, where there are no extra entries."""
        pool, theta = self.state.pool, self.state.point.theta
        return float(pool.offset @ pool.weight - self.state.curvature / 2 * (theta @ theta))


def remember(state: State) -> None:
    """`before` becomes what is now."""
    state.pool.before[:] = state.pool.weight
    state.point.before[:] = state.point.theta
    if len(state.extras.push):
        state.point.before[-len(state.extras.push) :] = state.extras.push


def seated(tools: Loops, state: State, i: int, witness: Ints) -> int:
    """The cut of `witness` in the pool, put there if it is new."""
    known = state.pool.member[i, : state.pool.count[i]]
    same = known[(state.pool.witness[known] == witness).all(axis=1)]
    if len(same):
        return int(same[0])
    while (place := tools.insert(tools.slope_into, tools.data, i, witness, state.pool, state.desk, np.zeros(0))) < 0:
        moved(tools, state, 0)
    return int(state.pool.member[i, place])


def moved(tools: Loops, state: State, patience: int, same: bool = True) -> None:
    """The pool without idle cuts, in one piece and with room to grow; the plane starts anew.

    same : whether cuts have the inner products that they had
    """
    old, factor = state.pool, FACTOR
    while True:
        new = roomier(state, factor)
        place = state.curvature, int(same), old, new, state.desk, state.extras, state.point.theta
        if tools.repack(tools.slope_into, tools.insert, tools.moved_in, tools.data, patience, *place):
            break
        factor *= 2
    state.pool, state.spare = new, old
    state.point.theta[:] += state.base
    state.point.step[:] = 0.0
    remember(state)


def grown(state: State) -> None:
    """The pool as it is, with room to grow."""
    old, state.pool = state.pool, roomier(state, FACTOR)
    for held, new in zip(old, state.pool, strict=True):
        both = tuple(slice(min(sizes)) for sizes in zip(held.shape, new.shape, strict=True))
        new[both] = held[both]


def roomier(state: State, factor: int) -> Pool:
    """An empty pool with `factor` times the room that the pool uses, and a desk to go with it."""
    old, n, news = state.pool, len(state.pool.count), 1 + len(state.desk.parts)  # cuts of one visit
    slots = factor * int(old.count.max()) + news
    cuts, entries, products = (factor * int(used) + n for used in old.used)
    entries, products = entries + (factor + news) * 2 * state.most, products + news * slots
    spare, state.spare = state.spare, None
    width, room = old.witness.shape[1], (slots, cuts + news, entries, products)
    pool = (spare and _pool.emptied(spare, *room)) or _pool.empty_pool(n, width, *room)
    slots = pool.member.shape[1]
    desk = _pool.desk(len(state.point.theta), width, state.most, slots, state.desk.ratio, news - 1)
    desk.met[:] = state.desk.met
    state.desk = desk
    return pool


def prepared(kernel: Kernel, prices: Floats, state: State, compiled: bool) -> Loops:
    """The loops for this kernel."""
    slope, parts = kernel.slope_into, kernel.parts_into or _pool.whole
    assert slope is not None  # as `misfit`, or who chose the master, made sure
    if not compiled:
        search = _pool.insert, _pool.moved_in, _pool.place_of, _pool.asked
        own = loops.sweep, loops.proposed, loops.plane, loops.repack, loops.turn
        plain = *search, *own, _extras.retie, projected, loops.risk
        return Loops(kernel.argmax_into, slope, parts, kernel.data, *plain)
    kernel = machine.sealed(kernel._replace(parts_into=parts), "argmax_into", "slope_into", "parts_into")
    build, data, i, argmax = machine.compiled_function, kernel.data, 0, kernel.argmax_into
    slope, parts = kernel.slope_into or slope, kernel.parts_into or parts  # compiled
    pool, desk, point, mu = state.pool, state.desk, state.point, state.curvature
    insert = build(_pool.insert, (slope, data, i, desk.answer, pool, desk, prices), "int64")
    moved_in = build(_pool.moved_in, (pool, 1, 1, i, pool, prices), "int64")
    order, extras = np.empty(1, np.int64), state.extras
    place_of = build(_pool.place_of, (desk.answer, i, pool), "int64")
    asked = build(_pool.asked, (argmax, slope, parts, insert, place_of, data, i, point.theta, pool, desk))
    functions = argmax, slope, parts, insert, place_of, asked
    place = pool, desk, extras, point.theta
    sweep = build(loops.sweep, (*functions, data, order, True, 1, 0.1, prices, mu, *place), "int64")
    proposed = build(loops.proposed, (prices, mu, 0.1, 0.1, pool, desk, 1, point.trial))
    plane = build(loops.plane, (proposed, prices, mu, pool, point, desk, extras), "int64")
    filled = 1, mu, 1, pool, pool, desk, extras, point.theta
    repack = build(loops.repack, (slope, insert, moved_in, data, *filled), "int64")
    onto = build(projection(state.extras.simplex), (prices, prices), "floats")
    retie = build(_extras.retie, (onto, extras))
    place = order[None], 0.1, 1, 0.1, prices, mu, pool, point, desk, extras, prices
    turn = build(loops.turn, (*functions, sweep, proposed, plane, retie, onto, data, *place), "int64")
    risk = build(loops.risk, (argmax, data, order, prices, point.theta, desk.answer))
    told = asked, sweep, proposed, plane, repack, turn, retie, onto, risk
    return Loops(argmax, slope, parts, data, insert, moved_in, place_of, *told)


NAMES = {"dual-block": DualBlock}
