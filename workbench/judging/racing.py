"""Races: CPU seconds to a certified gap, methods of ours and of others on one problem, one after the other in one run.

    gap(w) = (F(w) − L)/size                (`Bounds.gap`)

F(w) is recomputed by `Bounds` from the weights w that a method shows, rounded up; L is the best lower bound that
`solve` proved beforehand. Nothing that a method says of itself enters, its own lower bound included.

The clock counts CPU seconds of this process over all threads, so neither more threads nor a busy machine changes a
time. The clock stops while weights are graded, and starts after a rehearsal on a tiny problem, so imports and numba's
compilation are not counted. Times are also given in units of one exact pass of the compiled oracle (of the sums, for
smooth terms) over all samples, the median of several: such ratios differ less between machines than seconds do.

How a method is timed depends on whether the method shows weights on the way:

    solvers of ours    their passes, graded in between; certifying is not on the clock
    dlib, structsvm    runs from scratch that end by themselves at gaps of 1e-1, 1e-2, …; each w at which one asks
                       the oracle is graded, by the learner's own `observed`
    other learners     fits from scratch with 1, 2, 4, … passes and with numbers between, each by a clock of its own
    solve, one-slack   solves from scratch to 1e-1, 1e-2, …; certifying is on the clock, it is part of the job
    cvxpy              the program with every constraint written out, and CLARABEL as CVXPY calls it

`refusal` says in one sentence why a method does not take part.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Protocol, runtime_checkable

import numpy as np

from workbench.backends import solve_cvxpy
from workbench.contracts import CutForm, Enumerable, Floats, Problem, Solver
from workbench.data.datasets import MissingData
from workbench.data.loading import load_problem
from workbench.errors import BackendFailed, BadInput, MissingCapability, UnknownName, checked_positive
from workbench.judging.reference import Formulation
from workbench.proofs.any_bounds import AnyBounds, bounds_for
from workbench.proofs.dyadic import DyadicBounds
from workbench.proofs.smooth import SmoothBounds
from workbench.registries import registry
from workbench.solving.request import checked_formulation
from workbench.solving.solve import solve
from workbench.solving.stochastic import compilable, oracle_of, visitor

LOOKS = 1.15  # every how much more work a solver shows its weights
PASSES = 10**9  # more than anybody makes; the seconds end a race
WRITTEN = 6000  # constraints that are written out for CVXPY at most
TOLERANCE = 1e-8  # of CLARABEL, its own default
UNITS = 3  # oracle passes measured at every showing


@dataclass(frozen=True)
class Race:
    """A race that is run again and again: a problem, what stands in where its data are not at hand, and the field.

    n : samples, None for all;  lam : 0 stands for 1/n
    """

    problem: str
    standby: str
    formulation: str
    n: int | None
    lam: float
    methods: tuple[str, ...]

    def built(self, n: int | None = None) -> tuple[str, Formulation, Problem]:
        """(name of the data, formulation, problem) with n samples."""
        settings = {} if (n or self.n) is None else {"n": n or self.n}
        try:
            name, problem = self.problem, load_problem(self.problem)(**settings)
        except MissingData:
            name, problem = self.standby, load_problem(self.standby)(**settings)
        form = registry("formulation").get(self.formulation)
        return name, form(lam=self.lam or 1 / problem.n_samples), problem


OURS = ("dual-block", "bcfw", "solve", "one-slack")
PEERS = ("sklearn-crammer-singer", "liblinear-crammer-singer", "dlib")
CRF = ("solve", "crf-lbfgs", "crf-stochastic")
RACES = {
    "digits": Race("digits", "digits", "soft-margin", 1797, 0, (*OURS, *PEERS, "cvxpy")),
    "few-digits": Race("digits", "digits", "soft-margin", 300, 0.1, (*OURS, *PEERS, "structsvm", "cvxpy")),
    "words": Race("ocr", "synthetic-chain", "soft-margin", 626, 0.01, (*OURS, "dlib", "cvxpy")),
    "rough-words": Race("ocr", "synthetic-chain", "soft-margin", 626, 0, (*OURS, "dlib", "cvxpy")),
    "bitext": Race("hansards", "synthetic-bitext", "soft-margin", None, 0.01, (*OURS, "dlib", "cvxpy")),
    "text": Race("reuters", "synthetic-text", "soft-margin", None, 0.01, (*OURS, *PEERS)),
    "rough-text": Race("reuters", "synthetic-text", "soft-margin", None, 0, (*OURS, *PEERS)),
    "word-crf": Race("ocr", "synthetic-chain", "crf", 626, 0.01, (*CRF, "python-crfsuite-full")),
    "rough-word-crf": Race("ocr", "synthetic-chain", "crf", 626, 0, (*CRF, "python-crfsuite-full")),
    "digit-crf": Race("digits", "digits", "crf", 1797, 0, (*CRF, "sklearn-logistic")),
}


@runtime_checkable
class Observed(Protocol):
    """A learner that shows its weights on the way."""

    def observed(
        self,
        problem: Problem,
        formulation: Formulation,
        budget: int,
        observe: Callable[[Floats], None] | None = None,
        epsilon: float = 0.0,
        aside: Callable[[float], None] | None = None,
    ) -> Floats:
        """The weights at a gap of `epsilon`; before that, `observe(w)` is called with each w that is asked about.

        `aside` is told CPU seconds that went into handing questions and answers over in Python, as they come.
        """
        ...


class Enough(Exception):
    """The goal is reached, or the seconds are spent."""


@dataclass
class Track:
    """One method's run: the clock, and (seconds, gap) of every w it showed.

    goal : the gap at which it ends;  seconds : CPU after which it ends;  units : seconds of oracle passes
    glue : of `spent`, what a learner in another language lost to handing over in Python, so far as told
    """

    bounds: AnyBounds
    lower: float
    goal: float
    seconds: float
    laps: list[tuple[float, float]] = field(default_factory=list)
    units: list[float] = field(default_factory=list)
    refusal: str = ""
    spent: float = 0.0
    glue: float = 0.0
    began: float = field(default_factory=time.process_time)

    def again(self) -> None:
        """The next w is found from scratch."""
        self.spent, self.glue, self.began = 0.0, 0.0, time.process_time()

    def aside(self, seconds: float) -> None:
        self.glue += seconds

    def show(self, w: Floats) -> None:
        """Grade w with the clock stopped; `Enough` if this ends the run."""
        self.spent += time.process_time() - self.began
        self.laps.append((self.spent, self.bounds.gap(self.bounds.upper(w), self.lower)))
        for _ in range(UNITS):
            began = time.process_time()
            one_pass(self.bounds, w)
            self.units.append(time.process_time() - began)
        if self.laps[-1][1] <= self.goal or self.spent >= self.seconds:
            raise Enough
        self.began = time.process_time()

    def reached(self, gap: float) -> float | None:
        """The least CPU seconds in which the gap was reached, None if it was not."""
        return min((spent for spent, each in self.laps if each <= gap), default=None)


Go = Callable[[Formulation, Problem, Track], None]  # runs one method until it or the track ends


def race(
    formulation: Formulation, problem: Problem, methods: Iterable[str], gap: float = 1e-4, seconds: float = 60.0
) -> dict[str, Track]:
    """The tracks of these methods by name: solvers, learners, `solve`, `one-slack`, `cvxpy`.

    gap : the gap at which a method has arrived;  seconds : CPU that each may take, one fit or solve more or less
    """
    formulation = checked_formulation(formulation, problem, "race")
    checked_positive(gap=gap, seconds=seconds)
    if not isinstance(methods, Iterable):
        told = f"The methods of race are a {type(methods).__name__}"
        raise BadInput(f'{told}; give a list of their names, such as ["bcfw", "solve"].')
    methods = {name: runner(name) for name in ([methods] if isinstance(methods, str) else methods)}
    bounds = bounds_for(formulation, problem)
    lower = solve(formulation, problem, gap=gap / 10, time_limit=4 * seconds).lower
    kind: Any = type(problem)  # each kind has a `tiny` of its own
    tiny = kind.tiny(np.random.default_rng(0))
    rehearsal = bounds_for(formulation, tiny)
    tracks = {}
    for name, go in methods.items():
        with contextlib.suppress(MissingCapability):  # what the tiny problem has and this one lacks is no refusal
            go(formulation, tiny, Track(rehearsal, 0.0, np.inf, 1.0))
        tracks[name] = track = Track(bounds, lower, gap, seconds)
        track.again()
        try:
            go(formulation, problem, track)
        except MissingCapability as refusal:
            track.refusal = str(refusal)
    return tracks


def unit(tracks: dict[str, Track]) -> float:
    """CPU seconds of one exact pass, in a race; NaN if no method took part."""
    return statistics.median([each for track in tracks.values() for each in track.units] or [np.nan])


def one_pass(bounds: AnyBounds, w: Floats) -> None:
    if isinstance(bounds, SmoothBounds):
        bounds.oracle.evaluate(w, bounds.samples, bounds.prices.weights[bounds.samples])
    elif isinstance(bounds, DyadicBounds):
        bounds.upper(w)
    else:
        bounds.oracle.argmax(w, bounds.samples)


# ── how each kind of method runs ──────────────────────────────────────────────────────────────────


def runner(name: str) -> Go:
    """go(formulation, problem, track) of a method by name; ends by itself or with the track."""
    own = {"solve": solves(None), "one-slack": solves("one"), "cvxpy": written_out}
    solvers, learners = registry("solver"), registry("learner")
    if not isinstance(name, str) or name not in {*own, *solvers.objects, *learners.objects}:
        raise UnknownName("method", str(name), [*own, *solvers.objects, *learners.objects])
    if name in own:
        go = own[name]
    elif name in solvers.objects:
        go = passes(solvers.get(name)())
    else:
        learner = learners.get(name)
        go = watched(learner) if isinstance(learner, Observed) else fits(learner)

    def ended(formulation: Formulation, problem: Problem, track: Track) -> None:
        with contextlib.suppress(Enough):
            go(formulation, problem, track)

    return ended


def passes(solver: Solver) -> Go:
    """Passes of a solver of ours, in new random orders."""

    def go(formulation: Formulation, problem: Problem, track: Track) -> None:
        if why := solver.misfit(formulation, problem):
            raise MissingCapability(why)
        bounds, state = track.bounds, solver.init(formulation, problem)
        kernel, prices, width = oracle_of(bounds).kernel(), bounds.prices.floats(), bounds.oracle.width
        visit = visitor(solver, kernel, width, prices, state, compilable(kernel, None))
        rng, n = np.random.default_rng(0), len(bounds.samples)
        witnesses, steps = np.zeros((n, width), np.int64), np.zeros((n, 2))
        track.again()  # the compilation is over
        for more in growing(LOOKS):
            for _ in range(more):
                visit(rng.permutation(bounds.samples), witnesses, steps)
            track.show(solver.report(state))

    return go


def growing(factor: float) -> Iterator[int]:
    """How many passes until the next look: the sums grow by the factor."""
    done = 0
    while True:
        more = max(1, int(done * (factor - 1)))
        done += more
        yield more


def fits(learner: Callable[..., Floats]) -> Go:
    """Fits from scratch with doubled budgets, while the next may end in time and the last has changed anything.

    Then the smallest budgets that reach 1e-1, 1e-2, … are found to 15 %, by fits between a miss and a hit.
    """

    def go(formulation: Formulation, problem: Problem, track: Track) -> None:
        laps: dict[int, tuple[float, float]] = {}

        def fitted(budget: int) -> Floats:
            track.again()
            w = learner(problem, formulation, budget, 0)
            with contextlib.suppress(Enough):
                track.show(w)
            laps[budget] = track.laps[-1]
            return w

        budget, w, before = 1, fitted(1), np.empty(0)
        while laps[budget][1] > track.goal and 2 * track.spent <= track.seconds and not np.array_equal(w, before):
            budget *= 2
            before, w = w, fitted(budget)
        for k in range(1, 17):
            while 10.0**-k >= 0.99 * track.goal and (middle := between(laps, 10.0**-k)):
                fitted(middle)
        track.laps[:] = [laps[each] for each in sorted(laps)]

    return go


def between(laps: dict[int, tuple[float, float]], gap: float) -> int | None:
    """The budget to try between the smallest that reached the gap and the next smaller one; None if these are near."""
    hit = min((budget for budget, (_, each) in laps.items() if each <= gap), default=0)
    miss = max((budget for budget in laps if budget < hit), default=0)
    middle = round((miss * hit) ** 0.5)
    return middle if miss < middle < hit and hit > LOOKS * miss else None


def watched(learner: Observed) -> Go:
    """Fits from scratch that end by themselves at 1e-1, 1e-2, …, and show their weights on the way.

    A method's own tolerance changes its path: dlib with a tolerance of 1e-9 spends its time on cached cuts.
    """

    def go(formulation: Formulation, problem: Problem, track: Track) -> None:
        size = track.bounds.size(track.lower)
        for k in range(1, 17):
            track.again()
            epsilon = 10.0**-k * size
            track.show(learner.observed(problem, formulation, PASSES, track.show, epsilon, track.aside))

    return go


def solves(groups: str | None) -> Go:
    """Solves from scratch to 1e-1, 1e-2, …, down to the goal."""

    def go(formulation: Formulation, problem: Problem, track: Track) -> None:
        if groups and not isinstance(formulation, CutForm):
            raise MissingCapability("one-slack needs cuts; use solve.")
        for k in range(1, 17):
            track.again()
            track.show(solve(formulation, problem, gap=10.0**-k, groups=groups, time_limit=track.seconds).theta_flat)

    return go


def written_out(formulation: Formulation, problem: Problem, track: Track) -> None:
    """The whole program, compiled and solved by CVXPY."""
    from workbench.solving.masters.declared import written

    if not isinstance(formulation, CutForm) or not isinstance(problem, Enumerable):
        raise MissingCapability("cvxpy writes out cuts of outputs that can be listed; use solve.")
    if any(rows > WRITTEN for rows in accumulate(len(problem.outputs(i)) for i in track.bounds.samples)):
        raise MissingCapability(f"cvxpy would get more than {WRITTEN} constraints; take fewer samples, or solve.")
    program, cuts = written(formulation, problem)
    status = solve_cvxpy(program, "CLARABEL", TOLERANCE, track.seconds)
    if any(each.value is None for each in cuts.theta):
        raise BackendFailed(f"CLARABEL ended the whole program with {status!r}; use solve.")
    track.show(np.concatenate([np.ravel(np.asarray(each.value, float)) for each in cuts.theta]))
