"""Passes of block dual ascent before, and between, the rounds of cut generation.

Five ascents make passes:

    over cached cuts, which the oracle finds sample by sample        solvers/dual_block.py
    the same in several threads                                      solving/block_ascent/lanes.py
    over all labels of every sample, where outputs are labels        solving/block_ascent/labels.py
    the same where nothing but one weight vector a label is learned  solving/block_ascent/crammer_singer.py
    on shards of the samples, by workers                             solving/shards.py

An ascent estimates its gap; what counts are the bounds. They certify a pass when the estimate is small enough, when the
passes have trebled, and at the end. Most estimates are the gap that the pass's own visits met. An ascent that knows F
and D, or that tells them when asked, has a better one.

**The finish.** Passes take long to find the weights of the cuts that hold the optimum. Where r = μ/2‖θ‖² other methods
propose these weights in between (masters/finish.py), and passes go on from them.

**Hard constraints** have p_i = ∞. The dual of a soft margin at finite prices B is that of the hard margin with
Σ_r β_r ≤ B besides, so the passes run at finite prices, and B is raised while a sample has no weight left on its truth.
Cuts that contradict one another take all weight that they can get, so the heaviest are examined before B is raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np

from workbench.arithmetic.arrays import summed
from workbench.arithmetic.compiled import available
from workbench.contracts import Cuts, Floats, Ints, Prices
from workbench.objectives.sweeps import vouched
from workbench.proofs.bounds import Bounds
from workbench.solvers._common import Late, never
from workbench.solvers.dual_block import CachedBlocks
from workbench.solving.block_ascent.crammer_singer import CrammerSinger
from workbench.solving.block_ascent.labels import LabelBlocks
from workbench.solving.block_ascent.lanes import Lanes, misfit
from workbench.solving.family import Family
from workbench.solving.masters.finish import ENOUGH, GAIN, Finish
from workbench.solving.progress import Clock, Observe, Progress
from workbench.solving.recording import Checkpoints
from workbench.solving.shards import ShardAscent, Shards
from workbench.system.journal import Entry, Journal

PATIENT = 60  # passes before the gap may count as standing still
FIRST_LOOK, LOOKS = 4, 3  # the passes after which bounds are computed in any case, and by which factor they grow
FIRST_KNOWN, PATIENT_KNOWN = 32, 400  # the same of an ascent that knows F, whose passes are short
FLOOR = 0.5  # of the gap asked for: at an estimate below this share both bounds are computed in any case
FIRST = 10.0  # the first price of a hard constraint, in units of the largest weight that one sample alone would take
RAISE = 10.0  # by which such prices grow, at most RAISES times
RAISES = 8
LAST = 12  # the last of so many parts of the passes counts most in their mean
EARLY = 2.0  # times the asked gap: an ascent that tells F is asked from there on, since means are better
HOPE = 0.95  # of the estimate to which the asked gap corresponds, as the last certified gap to its own estimate


class PassMethod(Protocol):
    """What makes passes; `gap` is Σ_i p_i max_r ∇_r − ⟨β, ∇⟩ in a pass, `risk` its first term, `peak` max ∇.

    known : F at `theta`, which then is the best of the last pass, means included, and `gap` is F − D; ∞ if unknown
    """

    known: float
    passes: int
    gap: float
    risk: float
    peak: float

    def advance(self, late: Late) -> None:
        """A pass; one that turns `late` may end before all samples are visited, with the gap ∞ or of less visits."""
        ...

    def begin(self, samples: Ints, witnesses: Ints, weights: Floats, push: Floats, offsets: Floats) -> None:
        """Go on from dual weights μ (K,) of cuts, of which one may stand there twice; `push` is Σ_k μ_k a_k (p,)."""
        ...

    def raised(self, factor: float) -> None:
        """Prices times a factor, at the same θ."""
        ...

    @property
    def saturated(self) -> bool:
        """Whether a sample has no weight left on its truth."""
        ...

    @property
    def theta(self) -> Floats: ...

    @property
    def mean(self) -> Floats:
        """The mean of θ over moments of the last pass, or θ of now."""
        ...

    def duals(self) -> tuple[Ints, Ints, Floats]:
        """Samples, witnesses and weights of the cuts with weight."""
        ...


@runtime_checkable
class Telling(Protocol):
    """An ascent that knows F and D itself, as floats.

    tells : whether `risks` and `floor` take less time than proofs do
    """

    tells: bool

    def risks(self, points: Sequence[Floats]) -> Floats:
        """R at each point."""
        ...

    @property
    def floor(self) -> float:
        """D."""
        ...


class Passes:
    """Passes until the certified gap is reached, or until they stand still.

    They stand still when the gap that their visits meet has not halved while the passes grew by half.
    """

    def __init__(
        self,
        family: Family,
        gap: float,
        observe: Observe | None = None,
        journal: Journal | None = None,
        shards: Shards | None = None,
    ):
        self.family, self.bounds, self.wanted, self.observe = family, family.bounds, gap, observe
        self.ascent: PassMethod = ShardAscent(shards, family.cuts) if shards else pass_method(self.bounds, gap)
        (self.first, patient), self.raises = looks(self.ascent), RAISES
        held, tells = self.ascent, not self.bounds.prices.hard
        self.telling = held if tells and isinstance(held, Telling) and held.tells else None
        self.first = FIRST_KNOWN if self.telling else self.first
        self.looking, self.late = 0.0, False  # seconds that both bounds took at most; no time for another pass
        self.trusted = EARLY * gap if self.telling else gap  # the estimate at which the next pass is certified
        self.state = Progress(family.start, family.start, masters=["dual-block"])
        self.estimates: list[tuple[int, float]] = []
        self.finishing = Finish(self.bounds, family.position, gap, patient)
        self.rounded = False  # whether only the rounding of floats keeps the certified gap from the one asked for
        self.mean: Floats = family.start  # counts for nothing once a pass is in it
        everyone = self.bounds.samples  # duals: samples, witnesses and weights of the best lower bound
        self.duals = everyone, self.bounds.truth[everyone], np.zeros(len(everyone))
        self.best: Cuts | None = None  # their cuts, if they are at hand
        self.checkpoints, self.before = Checkpoints(journal, "passes"), (0.0, 0.0)  # seconds of earlier sessions
        if self.checkpoints.last:
            self.restore(self.checkpoints.last)

    def checkpoint(self, clock: Clock) -> None:
        """Keep the weighted cuts, and the estimates so far, if there is a journal."""
        if self.checkpoints.journal is None:
            return
        samples, witnesses, weights = self.ascent.duals()
        seconds = [before + now for before, now in zip(self.before, clock.spent, strict=True)]
        numbers = {"passes": self.ascent.passes, "estimates": self.estimates, "seconds": seconds}
        self.checkpoints.keep(numbers, weights=weights, **self.family.packed(samples, witnesses))

    def restore(self, last: Entry) -> None:
        """Go on from a checkpoint: its weights, and the cuts rebuilt from the data."""
        arrays, seconds = last.arrays(), last.numbers["seconds"]
        samples, witnesses = self.family.unpacked(arrays)
        self.begin(samples, witnesses, arrays["weights"])
        self.ascent.passes, self.before = last.numbers["passes"], (seconds[0], seconds[1])
        self.estimates = [(int(passes), gap) for passes, gap in last.numbers["estimates"]]
        self.finishing.fresh = self.estimates.copy()

    def begin(self, samples: Ints, witnesses: Ints, weights: Floats) -> None:
        """Go on from dual weights of cuts."""
        slopes, offsets = self.bounds.rows(samples, witnesses)
        self.ascent.begin(samples, witnesses, weights, slopes.T @ weights, offsets)
        self.mean = self.ascent.theta

    @property
    def gap(self) -> float:
        return self.bounds.gap(self.state.upper, self.state.lower)

    @property
    def reached(self) -> bool:
        return self.gap <= self.wanted

    @property
    def blurred(self) -> bool:
        """Whether what floats leave open of the cuts at the best θ may be half of the certified gap; finite prices."""
        if self.bounds.prices.hard:
            return False
        oracle, samples, theta = self.bounds.oracle, self.bounds.samples, self.state.theta
        width = oracle.rounding(theta)[samples] + 2 * oracle.offset_error(samples)
        width += 2 * oracle.slope_error(samples) * np.abs(theta).sum()
        return bool(self.bounds.prices.floats()[samples] @ width >= 0.5 * (self.state.upper - self.state.lower))

    def run(self, clock: Clock) -> None:
        """Passes until the gap is reached, the passes stand still, or the time is over."""
        look = self.first if not self.estimates else self.ascent.passes + 1
        slowest = 0.0
        while True:
            began = clock.seconds
            with clock.ends_with_memory():
                self.ascent.advance(never if np.isinf(clock.deadline) else lambda: clock.left <= self.looking)
                if np.isinf(self.ascent.known):
                    self.mean = averaged(self.mean, self.ascent, self.finishing.last)
                if self.checkpoints.due:
                    self.checkpoint(clock)
            estimate = self.estimate(clock)
            if np.isfinite(estimate):  # that of a pass which the clock cut short is not
                self.estimates.append((self.ascent.passes, estimate))
                self.finishing.note(self.ascent.passes, estimate)
            self.late = clock.left <= slowest
            standing = self.stands
            if not self.late and self.finishing.due(self.ascent, estimate, clock.left, standing):
                self.finish(clock)
                standing = self.stands
            ending = self.late or standing
            due = self.ascent.passes >= look or ending
            points, enough = self.promising(estimate) if due or estimate <= self.trusted else ([], False)
            if due or enough:
                look, looked = max(look, LOOKS * self.ascent.passes), clock.seconds
                self.certify(clock, points)
                self.looking = max(self.looking, clock.seconds - looked)
                self.rounded = estimate <= FLOOR * self.wanted and not self.reached and self.blurred
            slowest = max(slowest, clock.seconds - began)
            if self.reached or ending or self.rounded:
                self.checkpoint(clock)
                break

    def estimate(self, clock: Clock) -> float:
        """The relative gap as the visits of the last pass met it."""
        if self.bounds.prices.hard:
            self.keep_prices_up(clock.left - self.looking)
            return 2 * max(self.ascent.peak, 0.0) / self.bounds.oracle.least_loss
        return estimated(self.ascent, self.bounds)

    def keep_prices_up(self, seconds: float) -> None:
        """Higher prices where a sample has no weight left on its truth, unless its cuts contradict one another."""
        if self.ascent.saturated and self.raises > 0:
            self.family.examine(*self.ascent.duals(), seconds)
            self.raises -= 1
            self.ascent.raised(RAISE)

    def promising(self, estimate: float) -> tuple[list[Floats], bool]:
        """θ and its mean, or the better one by floats if the ascent tells F; whether its gap may be small enough.

        If not, that says how far to trust estimates.
        """
        ascent, bounds = self.ascent, self.bounds
        points = [ascent.theta]
        if ascent.passes > 1 and np.isinf(ascent.known):
            points.append(self.mean.copy())
        if self.telling is None:
            return points, True
        values = self.telling.risks(points) + [float(bounds.regularizer.value(point)) for point in points]
        gap = bounds.relative(float(values.min()), self.telling.floor)
        if gap > self.wanted and np.isfinite(estimate):
            self.trusted = HOPE * estimate * self.wanted / gap
        return [points[int(values.argmin())]], gap <= self.wanted

    def certify(self, clock: Clock, points: Sequence[Floats]) -> None:
        """Both bounds, the upper one at these θ, the lower one at the ascent's weights, and a record of them."""
        began, state = clock.seconds, self.state
        samples, witnesses, weights = self.ascent.duals()
        cuts = Cuts.later(self.bounds.oracle.dim, samples, witnesses, self.bounds.rows)
        weights = self.bounds.balanced(cuts, weights)
        uppers, lower = self.ends(points, cuts, weights)
        for upper, point in zip(uppers, points, strict=True):
            if upper < state.upper:
                state.upper, state.theta = upper, point
                self.family.least = min(self.family.least, upper)
        if lower > state.lower:
            state.lower, self.duals, self.best = lower, (samples, witnesses, weights), cuts
        state.latest = self.ascent.theta
        estimate = self.estimates[-1][1] if self.estimates else np.inf
        known = np.isfinite(self.ascent.known) and estimate > self.trusted
        if self.gap > self.wanted and np.isfinite(self.gap) and FLOOR * self.wanted < estimate < np.inf and not known:
            self.trusted = max(HOPE * estimate / self.gap, FLOOR) * self.wanted
        seconds = clock.seconds, clock.seconds - began, 0.0
        state.record(state.entry(len(state.history) + 1, self.gap, len(cuts), len(cuts), seconds), self.observe)

    def ends(self, points: Sequence[Floats], cuts: Cuts, weights: Floats) -> tuple[list[float], float]:
        """Upper bounds at these θ, and the lower bound of these weights, side by side where threads share cuts."""
        bounds, least = self.bounds, self.family.least

        def above() -> list[float]:
            return [bounds.upper(point) for point in points]

        ours = vouched(bounds.regularizer) and type(bounds.prices) is Prices
        apart = ours and not len(bounds.regularizer.free)  # then no lower bound asks for `least`
        if bounds.beside and bounds.tables and apart:
            return bounds.beside.hands.together(above, lambda: bounds.lower(cuts, weights))
        uppers = above()
        return uppers, bounds.lower(cuts, weights, min([least, *uppers]))

    @property
    def cuts(self) -> Cuts:
        """The cuts of the best lower bound."""
        samples, witnesses, _ = self.duals
        return self.best or Cuts.later(self.bounds.oracle.dim, samples, witnesses, self.bounds.rows)

    def ended(self) -> Progress:
        """The progress, its weights those of `cuts`."""
        status = "optimal" if self.reached else "limit"
        return replace(self.state, weights=self.duals[2], status=status)

    def handed(self) -> tuple[list[Ints], tuple[Floats, Floats], Progress]:
        """Rows of the best lower bound as the family's handles; their multipliers and the ascent's θ; the progress."""
        samples, witnesses, weights = self.duals
        ids = self.family.cuts.add(samples, witnesses, self.bounds.oracle.rows)
        state = replace(self.state, weights=summed(ids, weights, len(self.family.cuts)))
        held = weights > 0
        if self.family.hard:  # the truth's own row says 0 ≤ 0
            held &= (witnesses != self.bounds.truth[samples]).any(axis=1)
        return list(ids[held, None]), (weights[held], self.state.latest), state

    def learn(self, state: Progress) -> None:
        """Take over the bounds that rounds of cut generation found, and their records."""
        cuts, held = self.family.cuts, np.flatnonzero(state.weights)
        if state.lower > self.state.lower:
            self.duals, self.best = (cuts.samples[held], cuts.witnesses[held], state.weights[held]), None
        self.state = replace(state, masters=self.state.masters, weights=np.empty(0), status="limit")

    @property
    def stands(self) -> bool:
        """Whether the gap stands still since the last finish; see the class's docstring."""
        if self.bounds.prices.hard and self.raises == 0 and self.ascent.saturated:
            return True
        return self.finishing.stands(self.ascent.passes)

    def finish(self, clock: Clock) -> None:
        """Weights that the finish proposes, certified, until some leave little of the gap; passes go on from them."""
        before, passes = self.gap, self.ascent.passes
        for proposal in self.finishing.proposals(self.ascent, clock.left):
            self.ascent.begin(*proposal)
            self.ascent.passes = passes
            self.mean, trusted = self.ascent.theta, self.trusted
            self.certify(clock, [self.mean])
            self.trusted = trusted  # the last estimate is from before
            if self.gap < ENOUGH * before:
                break
        self.finishing.ended(passes, self.gap < GAIN * before)


def looks(ascent: PassMethod) -> tuple[int, int]:
    """The pass after which bounds are computed in any case, and the passes before the gap may count as standing still.

    Passes of an ascent that knows F are short, and it says itself when a look is worth its time.
    """
    return (FIRST_LOOK, PATIENT) if np.isinf(ascent.known) else (FIRST_KNOWN, PATIENT_KNOWN)


def averaged(mean: Floats, ascent: PassMethod, begun: int = 0) -> Floats:
    """θ̄ + LAST (m − θ̄)/(k + LAST − 1) after pass k since `begun`, m the pass's own mean.

    Single passes swing about θ̄, in which the last of LAST parts of the passes counts most. An ascent that knows F
    averages by itself.
    """
    return mean + (ascent.mean - mean) * (LAST / (ascent.passes - begun + LAST - 1))


def estimated(ascent: PassMethod, bounds: Bounds) -> float:
    """The relative gap as the visits of an ascent's last pass met it, each at the θ of its moment; finite prices."""
    size = ascent.known
    if np.isinf(size):
        size = float(bounds.regularizer.value(bounds.regularizer.feasible(ascent.theta))) + ascent.risk
    return ascent.gap / max(bounds.size(size), np.finfo(float).tiny)


def pass_method(bounds: Bounds, wanted: float = 0.0) -> PassMethod:
    """The ascent for these bounds, all weight on the truths; `wanted` is the gap asked for."""
    prices, sweeps, listing, samples = bounds.prices.floats(), bounds.sweeps, bounds.listing, bounds.samples
    curvature = bounds.regularizer.curvature
    if listing is not None and listing.plain and not bounds.prices.hard and curvature is not None:
        side = (sweeps.threads, sweeps.hands.pool) if sweeps else (1, None)
        return CrammerSinger(listing, float(curvature), prices, available(), *side, wanted, bounds.spread)
    shape = bounds.shape
    assert shape is not None  # the route asks for a regularizer with a shape
    scaled = bounds.prices.hard or bounds.oracle.dim > bounds.problem.n_features  # some slopes give the scale then
    asked = samples if scaled else samples[:1]
    slopes, _ = bounds.oracle.rows(asked, bounds.oracle.argmax(bounds.start, asked))
    if bounds.prices.hard:
        squares = np.asarray(slopes.multiply(slopes).sum(axis=1)).ravel()
        least = float(squares[squares > 0].min(initial=np.inf))
        scale = FIRST * 2 * float(shape.square[0]) / least if least < np.inf else 1.0
        prices = np.where(bounds.prices.weights > 0, scale, 0.0)
    if listing is not None:
        return LabelBlocks(listing, shape, prices, bounds.start, slopes, available())
    dim = bounds.oracle.dim
    if sweeps and sweeps.threads > 1 and dim == bounds.problem.n_features and not misfit(len(samples), dim):
        return Lanes(bounds.oracle, bounds.truth, prices, 2 * float(shape.square[0]), sweeps.hands)
    place = shape, prices, bounds.start, slopes, bounds.problem.n_features
    return CachedBlocks(bounds.oracle, bounds.truth, *place)


def passable(bounds: Bounds) -> bool:
    """Whether passes can be made: a proximal r whose weights have one curvature, and cuts as entries or as tables."""
    if bounds.regularizer.curvature is not None:
        return bounds.listing is not None or bounds.oracle.kernel().slope_into is not None
    shape = bounds.shape
    if shape is None or shape.absolute.any():
        return False
    weights = bounds.problem.n_features
    plain = np.isneginf(shape.floor[:weights]).all() and not shape.linear[:weights].any()
    even = (shape.square[:weights] == shape.square[0]).all() and 0 < shape.square[0] < np.inf
    return bool(plain and even) and bounds.oracle.kernel().slope_into is not None
