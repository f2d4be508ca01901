"""The regularisation path: an optimum at every λ of a range, proven to a relative gap ε.

    F_λ(θ) = λ/2 ‖θ‖² + Σ_i p_i h_i(θ)

The two ends of the range are solved first. Between two solved values mixtures of both points and of both duals prove
bounds for every λ (proofs/stretches.py). Where no mixture reaches ε, the geometric mean of the two values is solved,
too, from the mixture and with the cuts of all solves so far: prices and cuts do not depend on λ, so dual weights stay
feasible.

*Cross-validation* (`validated`): a fold is held out by weights of 0. One path a fold gives θ at every λ; the interval
is Student's for the mean of the folds' losses, m ± t·s/√K with K − 1 degrees of freedom at 95 %. Folds share samples,
so the interval is a convention and no proof.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from workbench.contracts import CutForm, Cuts, Floats, Formulation, Ints, Problem, SmoothForm
from workbench.errors import BackendFailed, BadInput, MissingCapability, checked_positive, checked_whole
from workbench.proofs.bounds import Bounds, SmoothBounds
from workbench.proofs.door import bounds_for
from workbench.proofs.stretches import Cells, Knot, Stretch, knot, refuse_others
from workbench.solving.cutting_planes import generate
from workbench.solving.family import Family
from workbench.solving.masters.choice import choose, make_master
from workbench.solving.progress import Clock, Observe, Progress, Record
from workbench.solving.request import Request, checked_formulation
from workbench.solving.smooth import descend

SHARE = 0.25  # of ε: the gap at the solved values, so that mixtures have room
NEAR = 1e-6  # ratio of two values of λ, less 1, between which no further one is solved
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
    records : one dict a solved value: lam, lower, upper, gap, train_error, rounds, cuts, cpu_seconds
    """

    formulation: Formulation
    problem: Problem
    epsilon: float
    knots: list[Knot]
    stretches: list[Stretch]
    cells: list[Cells]
    records: list[Record] = field(default_factory=list)
    cpu_seconds: float = 0.0

    @property
    def gap(self) -> float:
        """The greatest proven relative gap over all λ of the range."""
        return max(float(each.gap.max()) for each in self.cells)

    def at(self, lam: float) -> Point:
        """What is proven at λ; `BadInput` outside of the range."""
        least, greatest = self.knots[0].lam, self.knots[-1].lam
        if not least <= lam <= greatest:
            raise BadInput(f"lam is {lam:g}, outside of the path; choose one from {least:g} to {greatest:g}.")
        k = min(max(int(np.searchsorted([each.lam for each in self.knots], lam)) - 1, 0), len(self.cells) - 1)
        cells, stretch = self.cells[k], self.stretches[k]
        c = min(int(np.searchsorted(cells.high, lam)), len(cells.high) - 1)
        at, s, t = np.array([lam]), cells.s[c : c + 1], cells.t[c : c + 1]
        ends = float(stretch.lower(at, t).lo[0]), float(stretch.upper(at, s).hi[0])
        return Point(lam, stretch.theta(float(s[0])), *ends, float(cells.gap[c]))


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
    BadInput : no range, or no positive ε
    BackendFailed : ε is out of reach, at some λ or between two
    """
    checked_positive(greatest=greatest, least=least, epsilon=epsilon)
    if least >= greatest:
        raise BadInput(f"least is {least:g} and greatest {greatest:g}; give a range such as least=0.001, greatest=10.")
    formulation = checked_formulation(formulation, problem)
    if not isinstance(formulation, CutForm | SmoothForm):
        name = type(formulation).__name__
        raise MissingCapability(f"{name} has no λ to vary; take soft-margin, crf or weighted-risk.")
    clock, walk = Clock(), Walk(formulation, problem, SHARE * epsilon, observe)
    last = walk.solved(greatest)
    knots = walk.solved(least, walk.guesses[greatest]), last
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
    used = np.flatnonzero(problem.weights > 0)
    if folds > len(used):
        raise BadInput(f"folds is {folds}, more than the {len(used)} samples; give at most that many.")
    dealt = np.array_split(np.random.default_rng(rng).permutation(used), folds)
    table = np.array([held_out(formulation, problem, fold, lams, epsilon) for fold in dealt])
    mean, spread = table.mean(axis=0), table.std(axis=0, ddof=1) / np.sqrt(folds) * student(folds - 1)
    rows = zip(lams, mean, mean - spread, mean + spread, strict=True)
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
    """Where a solve begins: θ (p,) and dual weights of the pool's cuts."""

    theta: Floats
    weights: Floats


class Walk:
    """Solves at one λ after the other, with one pool of cuts; `guesses` are the ends of the solves, by λ."""

    def __init__(self, formulation: Formulation, problem: Problem, gap: float, observe: Observe | None):
        self.problem, self.observe, self.request = problem, observe, Request(gap=gap)
        self.bounds = bounds_for(formulation, problem)
        refuse_others(self.bounds)
        self.pool: Cuts | None = None
        self.guesses: dict[float, Guess] = {}
        self.floor, self.records = 1e-6 * abs(self.bounds.scale), list[Record]()

    def bounds_at(self, lam: float) -> Bounds | SmoothBounds:
        """The bounds at λ; all but the regularizer is shared, and F(0), their scale, does not depend on λ."""
        bounds = copy.copy(self.bounds)
        bounds.formulation = replace(bounds.formulation, lam=lam)
        bounds.regularizer = bounds.formulation.regularizer(self.problem)
        return bounds

    def solved(self, lam: float, guess: Guess | None = None) -> Knot:
        """The knot at λ; `BackendFailed` if its gap is out of reach."""
        clock, bounds = Clock(), self.bounds_at(lam)
        if isinstance(bounds, SmoothBounds):
            state = descend(bounds, self.request, start=guess and guess.theta)
            found, weights = knot(bounds, state.theta, state.upper), state.weights
        else:
            state = self.by_cuts(bounds, guess)
            weights = padded(state.weights, len(self.pool or ()))
            found = knot(bounds, state.theta, state.upper, self.pool, weights)
        if state.status != "optimal":
            told = f"{bounds.gap(state.upper, state.lower):.1e}"
            raise BackendFailed(f"At lam={lam:g} the gap stays at {told}; ask for a larger --epsilon.")
        self.guesses[lam] = Guess(state.theta, weights)
        self.record(lam, bounds, state, clock)
        return found

    def by_cuts(self, bounds: Bounds, guess: Guess | None) -> Progress:
        """Cut generation that begins with the cuts to which the guess gives weight."""
        n = len(bounds.samples)
        family = Family(bounds, n, cuts=self.pool)
        kind, chosen = choose(bounds, n, None, None)
        master = make_master("ascent" if kind == "dual-block" else kind, family, chosen)
        held, warm = [], None
        if guess is not None:
            support = np.flatnonzero(guess.weights > 0)
            held, warm = list(support[:, None]), (guess.weights[support], guess.theta)
        self.pool = family.cuts
        return generate(family, master, self.request, held, warm=warm)

    def record(self, lam: float, bounds: Bounds | SmoothBounds, state: Progress, clock: Clock) -> None:
        everyone, last = np.arange(self.problem.n_samples), state.history[-1]
        error = float(self.problem.loss(everyone, bounds.oracle.decode(state.theta, everyone)).mean())
        entry = {"lam": lam, "lower": state.lower, "upper": state.upper, "gap": bounds.gap(state.upper, state.lower)}
        entry |= {"train_error": error, "rounds": last["round"], "cuts": last["cuts"], "cpu_seconds": clock.cpu_seconds}
        self.records.append(entry)
        if self.observe:
            self.observe(entry)

    def covered(self, first: Knot, last: Knot, epsilon: float) -> Iterator[tuple[Stretch, Cells]]:
        """Stretches from `first` to `last` with cells of gap ≤ ε, with further knots where they are needed."""
        stretch = Stretch(first, last, self.floor)
        if (cells := stretch.cells(epsilon)) is not None:
            yield stretch, cells
            return
        if len(self.records) >= MOST or first.lam * (1 + NEAR) >= last.lam:
            told = f"between lam={first.lam:g} and {last.lam:g}, after {len(self.records)} solves"
            raise BackendFailed(f"A gap of {epsilon:g} is out of reach {told}; ask for a larger --epsilon.")
        lam = float(np.sqrt(first.lam * last.lam))
        middle = self.solved(lam, self.mixture(stretch, lam))
        yield from self.covered(first, middle, epsilon)
        yield from self.covered(middle, last, epsilon)

    def mixture(self, stretch: Stretch, lam: float) -> Guess:
        """The best mixture of both ends of a stretch at λ, where a solve begins."""
        s, t = (float(each[0]) for each in stretch.mixtures(np.array([lam])))
        size = len(self.pool or ())
        low, high = (padded(self.guesses[end.lam].weights, size) for end in (stretch.first, stretch.last))
        return Guess(stretch.theta(s), (1 - t) * low + t * high)


def padded(weights: Floats, size: int) -> Floats:
    """The weights with zeros for the cuts that came after them."""
    return np.append(weights, np.zeros(max(size - len(weights), 0)))
