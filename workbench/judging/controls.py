"""Clean runs on the same reference: do correct solvers look settled on this problem, too?

A history that looks settled (judging/settling.py) accuses a learner only if correct solvers do not look settled on the
same problem with the same budget.

    one of our solvers        eight clean runs of the same solver must all end below half of the learner's limit, or
                              below a tenth of it if the learner only stands still
    any other learner         two clean runs of every solver that fits are asked the same questions; the learner is
                              excused if one of these runs also looks settled above half of the learner's limit, or
                              stands still above a tenth of the limit
    weights that still move   every clean run must end below the learner's limit

The method of another learner may be slow, and slowness is no fault, so no clean run has to be fast. Standing still is
weaker evidence than having settled, because the objective of a dual method rises and falls; hence the tenth.

The histories of clean runs are kept with the reference and shared by all learners that the reference judges.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from workbench.contracts import Floats, Solver, Trace
from workbench.judging.reference import Reference
from workbench.judging.settling import on_its_way, settling, stands
from workbench.registries import registry
from workbench.solving.stochastic import Checkpoint, run

SEEDS = tuple(range(101, 109))  # of clean runs of the same solver: a ninth ends above all eight with probability 1/9
FEW = 2  # seeds of each other solver
SETTLED, STANDING = 2.0, 10.0  # how many times lower clean runs must end
STOP = 1e-6  # relative excess at which a clean run has told enough: below any tolerance that is asked for
BUDGET = 500  # passes of a clean run at most; a smaller budget only makes the judge more lenient
SECONDS = 5.0  # of the processor after its first checkpoint, for one clean run at most, for the same reason


class CleanRun(NamedTuple):
    """A run of ours: excesses F(θ_t) − L (m,) after `passes` (m,), and where the questions would leave it."""

    passes: Floats
    excesses: Floats
    settled: bool

    @property
    def end(self) -> float:
        return float(self.excesses[-1])


class Control(NamedTuple):
    """The excess at which the worst clean run ends (∞ if no solver fits), and whether clean runs excuse the learner."""

    end: float
    excuses: bool


class Asked(NamedTuple):
    """The question to clean runs: a learner's history has settled, or stands still, at `limit` after so many passes.

    moves : whether the learner's weights still move;  tolerance : relative, above which clean runs count
    """

    passes: float
    limit: float
    stands: bool
    moves: bool
    tolerance: float


def control(trace: Trace | None, reference: Reference, asked: Asked) -> Control:
    """Whether clean runs excuse a learner; `trace` is of a solver, or None."""
    budget, limit = max(int(min(asked.passes, BUDGET)), 1), asked.limit
    margin = STANDING if asked.stands else SETTLED
    if trace is not None and (solver := own_solver(trace)) is not None:
        end = max(clean(solver, reference, budget, seed, asked.tolerance).end for seed in SEEDS)
        return Control(end, not end < limit / margin)
    every = [(each, seed) for each in fitting(reference) for seed in SEEDS[:FEW]]
    runs = [clean(each, reference, budget, seed, asked.tolerance) for each, seed in every]
    end = max((each.end for each in runs), default=np.inf)
    if trace is not None and asked.stands:
        return Control(end, not end < limit / margin)
    alike = any(each.settled and each.end >= limit / margin for each in runs)
    return Control(end, not runs or alike or (asked.moves and end >= limit))


def own_solver(trace: Trace) -> Solver | None:
    """The registered solver that left the trace, with its settings; None for a solver that no registry holds."""
    ours = registry("solver").objects
    if type(trace.method) in ours.values():
        return trace.method
    return ours[trace.solver]() if trace.solver in ours else None


def fitting(reference: Reference) -> Iterator[Solver]:
    """All solvers of ours that take the pair."""
    for solver in registry("solver").objects.values():
        if solver().misfit(reference.formulation, reference.problem) is None:
            yield solver()


def clean(solver: Solver, reference: Reference, passes: int, seed: int, tolerance: float) -> CleanRun:
    """One clean run, until STOP at the latest; remembered with the reference."""
    key = repr(solver), passes, seed, tolerance
    if key not in reference.known:
        began: list[float] = []

        def near(row: Checkpoint) -> bool:
            began.append(time.process_time())
            return reference.excess(row.upper) <= STOP or began[-1] - began[0] > SECONDS

        trace = run(solver, reference.formulation, reference.problem, passes, seed, observe=near)
        excesses = np.array([reference.bounds.upper(theta) for theta in trace.thetas]) - reference.lower
        reference.known[key] = CleanRun(trace.passes, excesses, seems_settled(trace, excesses, reference, tolerance))
    return reference.known[key]


def seems_settled(trace: Trace, excesses: Floats, reference: Reference, tolerance: float) -> bool:
    """Whether the history of a clean run above the tolerance looks like that of a wrong one."""
    threshold = tolerance * reference.size
    if not threshold < excesses[-1] < np.inf:
        return False
    still = settling(trace.passes, excesses, threshold).settled or stands(trace.passes, excesses)
    return still and not on_its_way(trace.passes, list(trace.thetas), reference.theta)
