"""The regularisation path: an optimum at every λ of a range, proven to a relative gap ε.

    F_λ(θ) = λ/2 ‖θ‖² + Σ_i p_i h_i(θ)

The two ends of the range are solved first. Between two solved values mixtures of both points and of both duals prove
bounds for every λ (proofs/stretches.py). Where no mixture reaches ε, a value between the two is solved, too, from the
mixture: prices and cuts do not depend on λ, so dual weights stay feasible. On long problems (masters/choice.py), and
where outputs are labels and the gap is no finer than COARSE, a few passes of block dual ascent solve it, else rounds of
cut generation with the cuts of all solves so far.

*Cross-validation* (`validated`): a fold is held out by weights of 0. One path a fold gives θ at every λ; the interval
is Student's for the mean of the folds' losses, m ± t·s/√K with K − 1 degrees of freedom at 95 %, cut off at 0. Folds
share samples, so the interval is a convention and no proof.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from workbench.arithmetic.arrays import generator, summed
from workbench.contracts import CutForm, Cuts, Floats, Formulation, Ints, Problem, SmoothForm
from workbench.errors import BackendFailed, BadInput, MissingCapability, checked_positive, checked_whole, counted
from workbench.proofs.any_bounds import bounds_for
from workbench.proofs.bounds import Bounds
from workbench.proofs.dyadic import DyadicBounds
from workbench.proofs.listed import Tables
from workbench.proofs.smooth import SmoothBounds
from workbench.proofs.stretches import Cells, Knot, Stretch, knot, refuse_others, stop
from workbench.solvers._common import never
from workbench.solving.block_ascent.crammer_singer import CrammerSinger
from workbench.solving.cutting_planes import generate
from workbench.solving.family import Family
from workbench.solving.masters.choice import choose, large, make_master
from workbench.solving.masters.finish import standing
from workbench.solving.masters.passes import (
    HOPE,
    LOOKS,
    PassMethod,
    averaged,
    estimated,
    looks,
    pass_method,
    passable,
)
from workbench.solving.progress import Clock, Observe, Record, checked_calls
from workbench.solving.request import Request, checked_formulation
from workbench.solving.smooth import descend

SHARE = 0.7  # of ε: the gap at the solved values, so that mixtures have room
LEAST = 0.1  # of ε: the room between the gap of knots and ε at least, where the room is thought of
COARSE = 1e-5  # gap from which Crammer and Singer's machine is solved by passes, however short the problem is
NEAR = 1e-6  # ratio of two values of λ, less 1, between which no further one is solved
MOST_PIECES = 6  # in which a stretch is thought to be parted: the law of its gap holds for small ones
MOST = 1000  # solved values, after which ε counts as out of reach


class Point(NamedTuple):
    """What is proven at one λ: lower ≤ min F_λ ≤ upper, attained by θ (p,) up to rounding, and the relative gap."""

    lam: float
    theta: Floats
    lower: float
    upper: float
    gap: float


@dataclass
class Path:
    """Optima for every λ in [least, greatest], proven to the relative gap `gap`.

    knots : the solved values, by rising λ;  stretches, cells : what is proven between each two
    records : one dict a solved value: lam, lower, upper, gap, rounds (or passes), cuts, cpu_seconds
    """

    formulation: Formulation
    problem: Problem
    epsilon: float
    knots: list[Knot]
    stretches: list[Stretch]
    cells: list[Cells]
    records: list[Record] = field(default_factory=list)
    cpu_seconds: float = 0.0

    def __repr__(self) -> str:
        least, greatest = self.knots[0].lam, self.knots[-1].lam
        return f"Path({least:g} ≤ λ ≤ {greatest:g}: {counted(len(self.knots), 'solve')}, gap {self.gap:.2g})"

    @property
    def gap(self) -> float:
        """The greatest proven relative gap over all λ of the range."""
        return max(float(each.gap.max()) for each in self.cells)

    @property
    def pieces(self) -> int:
        """How many ranges of λ have a proof of their own."""
        return sum(len(each.gap) for each in self.cells)

    def at(self, lam: float) -> Point:
        """What is proven at λ; `BadInput` outside of the range."""
        k = within(self.knots, lam)
        cells, stretch = self.cells[k], self.stretches[k]
        c = min(int(np.searchsorted(cells.high, lam)), len(cells.high) - 1)
        at, s, t = np.array([lam]), cells.s[c : c + 1], cells.t[c : c + 1]
        ends = float(stretch.lower(at, t).lo[0]), float(stretch.upper(at, s).hi[0])
        return Point(lam, stretch.theta(float(s[0])), *ends, float(cells.gap[c]))


def within(knots: list[Knot], lam: float) -> int:
    """The number of the stretch between two knots in which λ lies; `BadInput` outside of them."""
    least, greatest = knots[0].lam, knots[-1].lam
    if not least <= lam <= greatest:
        raise BadInput(f"lam is {lam:g}, outside of the path; choose one from {least:g} to {greatest:g}.")
    return max(int(np.searchsorted([each.lam for each in knots], lam)) - 1, 0)


def path(
    formulation: Formulation,
    problem: Problem,
    greatest: float = 10.0,
    least: float = 1e-3,
    epsilon: float = 1e-2,
    observe: Observe | None = None,
) -> Path:
    """The path of a formulation with λ/2 ‖w‖², from the greatest λ down to the least.

    epsilon : the relative gap to prove for every λ in the range
    observe : called with the record of each solved value

    Raises
    ------
    MissingCapability : r is no λ/2‖θ‖², or constraints are hard
    BadInput : no range, no positive ε, or an `observe` that cannot be called
    BackendFailed : ε is out of reach, at some λ or between two
    """
    checked_positive(greatest=greatest, least=least, epsilon=epsilon)
    if least >= greatest:
        raise BadInput(f"least is {least:g} and greatest {greatest:g}; give a range such as least=0.001, greatest=10.")
    checked_calls(observe=observe)
    formulation = checked_formulation(formulation, problem, "path")
    if not isinstance(formulation, CutForm | SmoothForm):
        name = type(formulation).__name__
        raise MissingCapability(f"{name} has no λ to vary; take soft-margin, crf or weighted-risk.")
    clock, walk = Clock(), Walk(formulation, problem, SHARE * epsilon, observe)
    last = walk.solved(greatest)
    knots = walk.solved(least), last  # from nothing: θ = −push/λ of the other end is far away
    stretches, cells = [], []
    for stretch, own in walk.covered(*knots, epsilon):
        stretches.append(stretch)
        cells.append(own)
    every = [stretches[0].first, *(each.last for each in stretches)]
    records = sorted(walk.records, key=lambda each: each["lam"])
    return Path(formulation, problem, epsilon, every, stretches, cells, records, clock.cpu_seconds)


def validated(
    formulation: Formulation,
    problem: Problem,
    lams: Sequence[float],
    folds: int = 5,
    epsilon: float = 1e-2,
    rng: int = 0,
) -> list[dict[str, float]]:
    """Cross-validation along paths: one dict a λ, with the mean held-out `loss` of the folds, and `low`, `high`.

    rng : the seed by which samples are dealt to folds
    """
    checked_whole(2, folds=folds)
    formulation = checked_formulation(formulation, problem, "validated")
    used = np.flatnonzero(problem.weights > 0)
    if folds > len(used):
        raise BadInput(f"folds is {folds}, more than the {len(used)} samples; give at most that many.")
    dealt = np.array_split(generator(rng).permutation(used), folds)
    table = np.array([held_out(formulation, problem, fold, lams, epsilon) for fold in dealt])
    mean, spread = table.mean(axis=0), table.std(axis=0, ddof=1) / np.sqrt(folds) * student(folds - 1)
    rows = zip(lams, mean, np.maximum(mean - spread, 0.0), mean + spread, strict=True)
    return [dict(zip(("lam", "loss", "low", "high"), map(float, row), strict=True)) for row in rows]


def held_out(
    formulation: Formulation, problem: Problem, fold: Ints, lams: Sequence[float], epsilon: float
) -> list[float]:
    """The weighted mean loss on a fold, at each λ, of the path of the other samples."""
    others = copy.copy(problem)
    others.weights = np.where(np.isin(np.arange(problem.n_samples), fold), 0.0, problem.weights)
    found, weights = path(formulation, others, max(lams), min(lams), epsilon), problem.weights[fold]
    oracle = bounds_for(found.formulation, others).oracle
    outputs = [oracle.decode(found.at(lam).theta, fold) for lam in lams]
    return [float(problem.loss(fold, each) @ weights / weights.sum()) for each in outputs]


def student(freedom: int) -> float:
    """The quantile of Student's t for a two-sided interval of 95 %."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))


class Guess(NamedTuple):
    """Where a solve begins: θ (p,), and a dual by cuts; a cut may stand there twice.

    samples (K,), witnesses (K, width), weights μ (K,), offsets o (K,);  push : Σ_k μ_k a_k (p,)
    """

    theta: Floats
    samples: Ints
    witnesses: Ints
    weights: Floats
    offsets: Floats
    push: Floats

    @classmethod
    def of(cls, found: Knot, cuts: Cuts, weights: Floats, tables: Tables | None = None) -> Guess:
        """A knot, and the cuts with weight by which it was proven; `tables` hold offsets of cuts not written down."""
        held = np.flatnonzero(weights > 0)
        samples, witnesses = cuts.samples[held], cuts.witnesses[held]
        offsets = tables.offsets(samples, witnesses[:, 0]) if tables else cuts.offsets[held]
        return cls(found.theta, samples, witnesses, weights[held], offsets, -(found.push.lo + found.push.hi) / 2)


class Walk:
    """Solves at one λ after the other; `guesses` tell where they ended, and `pool` holds cuts of rounds."""

    def __init__(self, formulation: Formulation, problem: Problem, gap: float, observe: Observe | None):
        self.problem, self.observe, self.request = problem, observe, Request(gap=gap)
        bounds = bounds_for(formulation, problem)
        refuse_others(bounds)
        assert not isinstance(bounds, DyadicBounds)  # which is refused: its r is no λ/2‖θ‖²
        self.bounds: Bounds | SmoothBounds = bounds
        self.pool: Cuts | None = None
        self.climb: PassMethod | None = None  # what made the last passes
        self.guesses: dict[float, Guess] = {}
        self.records = list[Record]()

    def bounds_at(self, lam: float) -> Bounds | SmoothBounds:
        """The bounds at λ; all but the regularizer is shared, and F(0), their scale, does not depend on λ."""
        bounds = copy.copy(self.bounds)
        form = bounds.formulation
        assert is_dataclass(form)
        assert not isinstance(form, type)  # an object with the setting lam, as `refuse_others` made sure
        other: Any = replace(form, lam=lam)  # of the same class, with another λ
        bounds.formulation = other
        bounds.regularizer = bounds.formulation.regularizer(self.problem)
        return bounds

    def solved(self, lam: float, guess: Guess | None = None) -> Knot:
        """The knot at λ; `BackendFailed` if its gap is out of reach."""
        clock, bounds = Clock(), self.bounds_at(lam)
        if isinstance(bounds, SmoothBounds):
            state = descend(bounds, self.request, start=guess and guess.theta)
            found, numbers = knot(bounds, state.theta), (state.history[-1]["round"], 0)
            nothing = Cuts(bounds.oracle.dim, 1)
            self.guesses[lam] = Guess.of(found, nothing, nothing.offsets)
        else:
            found, numbers = self.by_passes(lam, bounds, guess) or self.by_rounds(lam, bounds, guess)
        lower, upper = found.ends
        if (gap := bounds.gap(upper, lower)) > self.request.gap:
            raise BackendFailed(f"At lam={lam:g} the gap stays at {gap:.1e}; ask for a larger --epsilon.")
        entry = {"lam": lam, "lower": lower, "upper": upper, "gap": gap}
        entry |= {"rounds": numbers[0], "cuts": numbers[1], "cpu_seconds": clock.cpu_seconds}
        self.records.append(entry)
        if self.observe:
            self.observe(entry)
        return found

    @cached_property
    def has_passes(self) -> bool:
        """Whether passes solve the problem at every λ, or rounds of cuts."""
        bounds = self.bounds
        if not isinstance(bounds, Bounds):
            return False
        kind = choose(bounds, len(bounds.samples), None, None)[0]
        coarse = self.request.gap >= COARSE and of_labels(bounds)
        return kind == "dual-block" and (coarse or large(bounds))

    def climbing(self, lam: float, bounds: Bounds) -> PassMethod | None:
        """What makes passes at λ, of the bounds; None where rounds of cuts are faster.

        The tables of Crammer and Singer's machine do not depend on λ: one ascent serves the whole path.
        """
        if not self.has_passes:
            return None
        if isinstance(self.climb, CrammerSinger):
            self.climb.restart(lam)
        else:
            self.climb = pass_method(bounds)
        return self.climb

    def by_passes(self, lam: float, bounds: Bounds, guess: Guess | None) -> tuple[Knot, tuple[int, int]] | None:
        """The knot by passes of block dual ascent, with their number and that of its cuts.

        None where rounds are faster, and where passes stand still; `guesses` then tell where.
        """
        climb = self.climbing(lam, bounds)
        if climb is None:
            return None
        trusted, estimates = self.request.gap, list[tuple[int, float]]()
        look, patient = looks(climb)
        if guess is not None:
            climb.begin(*guess[1:4], guess.push, guess.offsets)
        mean = climb.theta
        while not standing(estimates, climb.passes, patient):
            climb.advance(never)
            estimate, points = estimated(climb, bounds), [climb.theta]
            if np.isinf(climb.known):
                mean = averaged(mean, climb)
                points.append(mean)
            estimates.append((climb.passes, estimate))
            if estimate > trusted and climb.passes < look:
                continue
            look = max(look, LOOKS * climb.passes)
            samples, witnesses, weights = climb.duals()
            cuts = Cuts.later(bounds.oracle.dim, samples, witnesses, bounds.oracle.rows)
            for theta in points:
                found = knot(bounds, theta, cuts, weights)
                self.guesses[lam] = Guess.of(found, cuts, weights, bounds.tables)
                if (gap := bounds.gap(*found.ends[::-1])) <= self.request.gap:
                    return found, (climb.passes, len(cuts))
            trusted = HOPE * estimate * self.request.gap / gap
        return None

    def by_rounds(self, lam: float, bounds: Bounds, guess: Guess | None) -> tuple[Knot, tuple[int, int]]:
        """The knot by cut generation that begins with the guess's cuts, with the numbers of rounds and cuts."""
        guess = self.guesses.get(lam, guess)  # passes have come so far
        family = Family(bounds, len(bounds.samples), cuts=self.pool)
        kind, chosen = choose(bounds, family.n_groups, None, None)
        master = make_master("ascent" if kind == "dual-block" else kind, family, chosen)
        held, warm, self.pool = [], None, family.cuts
        if guess is not None:
            ids = family.cuts.add(guess.samples, guess.witnesses, bounds.oracle.rows)
            weights = summed(ids, guess.weights, len(family.cuts))
            support = np.flatnonzero(weights)
            held, warm = list(support[:, None]), (weights[support], guess.theta)
        state = generate(family, master, self.request, held, warm=warm)
        weights = padded(state.weights, len(family.cuts))
        found = knot(bounds, state.theta, family.cuts, weights, state.upper)
        self.guesses[lam] = Guess.of(found, family.cuts, weights)
        return found, (state.history[-1]["round"], len(held))

    def covered(self, first: Knot, last: Knot, epsilon: float) -> Iterator[tuple[Stretch, Cells]]:
        """Stretches from `first` to `last` with cells of gap ≤ ε, with further knots where they are needed.

        Between knots of the gap g₀ a stretch has the gap g₀ + cd² about, d = log(last/first), and g₀ + cd²/2 with a
        stop. So a stretch of the gap g takes about m = √((g − g₀)/2(ε − g₀)) pieces, and the next knot stands after
        ⌊m/2⌋ of them.
        """
        stretch, own = Stretch(first, last, self.bounds.floor), (first.gap + last.gap) / 2
        gap = stretch.middle()
        cells = stretch.cells(epsilon) if gap <= epsilon else None
        pieces = np.sqrt(max(gap / (1 + gap) - own, 0.0) / (2 * max(epsilon - own, LEAST * epsilon)))
        if cells is None and pieces <= 1:
            stretch = Stretch(first, last, self.bounds.floor, [stop(self.bounds, stretch.best())])
            cells = stretch.cells(epsilon)
        if cells is not None:
            yield stretch, cells
            return
        if len(self.records) >= MOST or first.lam * (1 + NEAR) >= last.lam:
            told = f"between lam={first.lam:g} and {last.lam:g}, after {len(self.records)} solves"
            raise BackendFailed(f"A gap of {epsilon:g} is out of reach {told}; ask for a larger --epsilon.")
        pieces = np.clip(np.ceil(pieces), 2, MOST_PIECES)
        share = (pieces // 2) / pieces
        lam = float(first.lam ** (1 - share) * last.lam**share)
        middle = self.solved(lam, self.mixture(stretch, lam))
        yield from self.covered(first, middle, epsilon)
        yield from self.covered(middle, last, epsilon)

    def mixture(self, stretch: Stretch, lam: float) -> Guess:
        """The best mixture of both ends of a stretch at λ, where a solve begins."""
        s, t = (float(each[0]) for each in stretch.mixtures(np.array([lam])))
        low, high = (self.guesses[end.lam] for end in (stretch.first, stretch.last))
        samples = np.concatenate([low.samples, high.samples])
        witnesses = np.concatenate([low.witnesses, high.witnesses])
        offsets = np.concatenate([low.offsets, high.offsets])
        weights = np.concatenate([(1 - t) * low.weights, t * high.weights])
        return Guess(stretch.theta(s), samples, witnesses, weights, offsets, (1 - t) * low.push + t * high.push)


def of_labels(bounds: Bounds) -> bool:
    """Whether the problem is Crammer and Singer's machine, with passes of its own."""
    return passable(bounds) and bounds.listing is not None and bounds.listing.plain


def padded(weights: Floats, size: int) -> Floats:
    """The weights with zeros for the cuts that came after them."""
    return np.append(weights, np.zeros(max(size - len(weights), 0)))
