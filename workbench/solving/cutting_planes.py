"""The one cut-generation loop.

    repeat   θ, β ← master over the rows so far          (solving/masters/master.py)
             upper ← F(θ),  lower ← dual value of β       (proofs/bounds.py: data only)
             ask the oracle for the highest cuts at θ; append those the master does not know
    until    (upper − lower) relative to their size ≤ gap

Pruning: a row with zero dual weight in two consecutive rounds is dropped, if the lower bound rose in the last round. A
row that is generated again after that is never dropped again.
Dropping a row at once can cycle, and so can dropping a row twice near the limits of floating point.

Stopping: `optimal` on the certified gap and on nothing else. When the oracle finds no row that the master lacks, the
backend was not accurate enough: its tolerance is tightened, and if no new row comes of that the run ends `stalled`.
`limit` is a limit of rounds, time or memory.

With a journal (system/journal.py) each finished round is a line of kind `round`: its numbers as in
`Progress.history`, `state` (tolerance, polished, masters, cpu_seconds), and the arrays

    samples, witnesses         the atoms generated since the line before, numbered in the order of generation
    recorded_…                 the outputs behind these witnesses, where outputs are objects of the user
    atoms, lengths             the rows generated since the line before: their atoms, one row after the other
    rows, multipliers, idle    the numbers of the master's rows; β; rounds without weight
    theta                      the master's θ
    best                       the θ that attains `upper`, if that θ changed
    support, weights           the positive atom weights that attain `lower`, if `lower` rose

From these lines `Generation.restore` continues the run after the last round. A line holds no slopes and no offsets:
both are rebuilt from the witnesses and the data, and both bounds are computed anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.arrays import summed
from workbench.contracts import Floats, Ints, Rows
from workbench.errors import BackendFailed
from workbench.solving.family import CutFamily, RebuiltFamily
from workbench.solving.masters.master import Master, MasterAnswer
from workbench.solving.progress import Clock, Deadline, Progress, Record, Stopwatch
from workbench.solving.request import Request
from workbench.system.journal import Journal

TIGHTEST = 1e-13
PATIENT = 5  # rounds that must halve the gap where an earlier phase of passes can go on; else the run ends as `crawls`
SHARE = 0.1  # of the gap: the accuracy to which a master that can stop early is solved


def generate(
    family: CutFamily,
    master: Master,
    request: Request,
    held: Sequence[Ints] = (),
    journal: Journal | None = None,
    warm: tuple[Floats, Floats] | None = None,
    after: Progress | None = None,
) -> Progress:
    """Run the loop on a family of cuts with a master; see the module's docstring.

    request : its gap, its limits (from here on; at least one round is begun) and its `observe` apply
    held : rows that the master starts with, as the family's handles
    journal : takes each finished round; the rounds that the journal holds are not run again
    warm : multipliers of the rows in `held`, and the θ to ask the oracle at first
    after : the progress of an earlier phase (passes of dual-block), whose bounds and history the run continues; the run
        then ends with status `crawls` when PATIENT rounds have not halved the gap and took longer than that phase
    """
    run = Generation(family, master, request, journal, after)
    run.restore()
    if not run.rounds:
        run.append(list(held))
        if warm is not None:
            run.master.warm(warm[0])
            run.theta = warm[1]
    with suppress(Deadline), run.clock.ends_with_memory():
        run.loop()
    if run.clock.exhausted:
        run.state.said = run.clock.exhausted
    if run.reached:
        run.state.status = "optimal"
    return run.finish()


class Generation:
    """The state of one cut-generation run and the steps of its loop."""

    def __init__(
        self,
        family: CutFamily,
        master: Master,
        request: Request,
        journal: Journal | None = None,
        after: Progress | None = None,
    ):
        self.family, self.master, self.journal, self.gap = family, master, journal, request.gap
        self.observe, self.limited = request.observe, request.time_limit is not None
        self.clock, self.oracle, self.mastering = (
            Clock(request.time_limit, request.max_rounds),
            Stopwatch(),
            Stopwatch(),
        )
        self.state = Progress(family.start, family.start, masters=[master.name])
        self.before, self.spent = 0, np.inf  # the rounds of other steps, and their seconds
        if after is not None:
            self.state = replace(after, masters=[master.name], history=list(after.history), status="limit")
            self.before, self.spent = len(after.history), after.history[-1]["seconds"]
        self.theta = family.start
        self.multipliers: Floats = np.empty(0)
        self.held: list[Ints] = []  # the atoms of each row that the master holds
        self.idle: Ints = np.empty(0, np.int64)
        self.dropped: set[bytes] = set()
        self.numbers: Ints = np.empty(0, np.int64)  # of the master's rows, in the order of generation
        self.appended, self.fresh = 0, list[Ints]()  # the count of all rows so far, and the rows not yet in the journal
        self.journalled, self.best = 0, None  # the count of atoms in the journal, and its last `best`
        self.tolerance, self.rose, self.rounds, self.polished = max(0.1 * self.gap, TIGHTEST), False, 0, False

    def loop(self) -> None:
        """Rounds until the gap is reached, no master gains accuracy any more, or a limit comes."""
        query = self.theta
        while True:
            fresh = self.separate(query)
            if self.reached:
                return
            if not (self.solve() if fresh or not self.rounds else self.refine()):
                self.state.status = "stalled"
                return
            if self.reached:
                return
            self.prune()
            query = self.theta
            if self.clock.over(self.rounds):
                return
            if self.crawls:
                self.state.status = "crawls"
                return

    @property
    def relative_gap(self) -> float:
        return self.family.gap(self.state.upper, self.state.lower)

    @property
    def reached(self) -> bool:
        return self.relative_gap <= self.gap

    @property
    def crawls(self) -> bool:
        """Whether PATIENT rounds have not halved the gap and the rounds took longer than the steps before them."""
        if self.rounds < PATIENT or self.clock.seconds < self.spent:
            return False
        return self.relative_gap > 0.5 * self.state.history[-PATIENT]["gap"]

    def separate(self, query: Floats) -> bool:
        """Ask the oracle at `query`, update the upper bound, append new rows; whether there were new rows.

        If the workers report no new row, this process checks a few samples with its own oracle, and all samples before
        the run ends as `stalled`. A row that the workers missed counts as new.
        """
        if self.asked(query) or self.reached:
            return True
        denied = self.family.doubt(query, self.tolerance <= TIGHTEST) and self.asked(query)
        if not denied:
            self.family.trust()
        return denied

    def asked(self, query: Floats) -> bool:
        """One call of the family's oracle, in the workers or in this process; whether it found a new row."""
        with self.oracle:
            query = self.family.feasible(query)
            upper, atoms = self.family.separate(query, self.clock)
        if upper < self.state.upper:
            self.state.upper, self.state.theta = upper, query
            self.confirm()
        known = {a.tobytes() for a in self.held}
        new = [a for a in atoms if a.tobytes() not in known]
        if new:
            missing = self.violations(self.family.rows(new), query) > self.negligible
            new = [a for a, lacking in zip(new, missing, strict=True) if lacking]
        self.append(new)
        return bool(new)

    def confirm(self) -> None:
        """When the gap is reached, compute the upper bound again in this process, whatever workers answered."""
        if self.state.lower >= self.state.upper or self.reached:
            self.state.upper = self.family.confirmed(self.state.theta, self.state.upper)

    def append(self, atoms: list[Ints]) -> None:
        """Give rows to the master."""
        if atoms:
            self.master.append(self.family.rows(atoms))
            self.held += atoms
            self.fresh += atoms
            self.numbers = np.concatenate([self.numbers, self.appended + np.arange(len(atoms))])
            self.appended += len(atoms)
            self.idle = np.concatenate([self.idle, np.zeros(len(atoms), np.int64)])
            self.polished = False

    def violations(self, rows: Rows, theta: Floats) -> Floats:
        """How far each row lies at θ above the master's highest row of its group."""
        known = np.full(self.family.n_groups + 1, -np.inf)  # the last place belongs to group −1
        known[-1] = 0.0
        held = self.master.rows
        np.maximum.at(known, held.groups, held.slopes @ theta + held.offsets)
        if self.family.hard:
            known[-1] = 0.0
        return rows.slopes @ theta + rows.offsets - known[rows.groups]

    @property
    def negligible(self) -> float:
        """The violation of a row that may be ignored: all such violations together move the gap by a thousandth."""
        if self.family.hard:
            return 1e-3 * self.gap * self.family.negligible
        left = self.state.upper - self.state.lower
        return 1e-3 * left / self.family.prices.sum() if np.isfinite(left) else 0.0

    def solve(self) -> bool:
        """Solve the master and update the lower bound; False if the last fallback master (`successors`) failed, too."""
        left = self.state.upper - self.state.lower
        limit = max(self.clock.left, 1e-3) if self.limited else None
        with self.mastering:
            answer = self.master.solve(self.tolerance, SHARE * left if np.isfinite(left) else SHARE, limit)
        self.state.said = answer.status
        if answer.stopped:  # the bounds so far stay
            self.clock.deadline = self.clock.seconds
            return True
        self.family.check(self.held, answer, self.clock.left)
        if np.isfinite(answer.theta).all():
            self.accept(answer)
        elif self.succeed():
            return self.solve()
        elif self.rounds and len(self.state.masters) > 1:
            return False
        else:
            raise BackendFailed(
                f"{self.master.name} returned no weights in round {self.rounds + 1} "
                f"({answer.status}); try another backend."
            )
        return True

    def succeed(self) -> bool:
        """Give the rows to the next master in line, if there is one."""
        if (stronger := self.master.stronger()) is None:
            return False
        self.master, self.tolerance = stronger, max(0.1 * self.gap, TIGHTEST)
        self.state.masters.append(stronger.name)
        return True

    def accept(self, answer: MasterAnswer) -> None:
        """Compute the bounds that θ and the row multipliers of an answer prove, and record the round."""
        multipliers = answer.multipliers
        self.rounds, self.multipliers = self.rounds + 1, multipliers
        self.theta = self.state.latest = answer.theta
        weights = self.family.weights(self.held, multipliers)
        lower = self.family.lower(weights, answer)
        self.rose = lower > self.state.lower
        if self.rose:
            self.state.lower, self.state.weights = lower, weights
            self.confirm()
        if self.state.lower > self.state.upper and not self.family.proven:
            self.state.lower = self.state.upper
        self.family.gap(self.state.upper, self.state.lower)  # raises `Contradiction` before the round is on record
        active = multipliers > 1e-7 * multipliers.max(initial=0.0)
        self.idle = np.where(active, 0, self.idle + 1)
        self.record(int(active.sum()))

    def refine(self) -> bool:
        """When the oracle finds no new row, increase accuracy; False if nothing is left that could.

        First by the active-set finish (face.py), then by a tighter tolerance, then by the next master in `successors`.
        """
        if not self.polished:
            self.polished = True
            if proposal := self.family.polish(self.held, self.multipliers) or self.master.finish():
                self.accept(proposal)
                return True
        if self.tolerance <= TIGHTEST and not self.succeed():
            return False
        self.tolerance, self.polished = max(self.tolerance * 1e-2, TIGHTEST), False
        return self.solve()

    def prune(self) -> None:
        """Drop rows that are idle for two rounds, if the lower bound rose; a row that came back stays."""
        idle = (self.idle >= 2) & np.array([a.tobytes() not in self.dropped for a in self.held], bool)
        if self.rose and idle.any():
            stay = np.flatnonzero(~idle)
            self.dropped |= {self.held[j].tobytes() for j in np.flatnonzero(idle)}
            self.master.keep(stay)
            self.held, self.idle = [self.held[j] for j in stay], self.idle[stay]
            self.multipliers, self.numbers = self.multipliers[stay], self.numbers[stay]

    def finish(self) -> Progress:
        """The final progress, its last record brought up to date with the oracle's last answer."""
        self.state.upper = self.family.confirmed(self.state.theta, self.state.upper)
        if not self.state.history:  # a limit came before the first round's end
            self.state.history.append(self.entry(0))
        last = self.state.history[-1]
        last |= {"upper": self.state.upper, "gap": self.relative_gap, "seconds": self.clock.seconds}
        if self.journal and self.state.status != "limit" and not self.journal.finished:
            self.journal.append("end", {"status": self.state.status} | last)
        return self.state

    def record(self, active: int) -> None:
        entry = self.entry(active)
        if self.journal:
            self.checkpoint(self.journal, entry)
        self.state.record(entry, self.observe)

    def entry(self, active: int) -> Record:
        seconds = self.clock.seconds, self.oracle.seconds, self.mastering.seconds
        return self.state.entry(self.before + self.rounds, self.relative_gap, len(self.held), active, seconds)

    @property
    def rebuilt(self) -> RebuiltFamily:
        """The family as one that can be rebuilt, as every family of a run with a journal can."""
        return cast(RebuiltFamily, self.family)

    def checkpoint(self, journal: Journal, entry: Record) -> None:
        """The round as a line of the journal; see the module's docstring."""
        state = {"tolerance": self.tolerance, "polished": self.polished, "masters": self.state.masters}
        state["cpu_seconds"] = self.clock.cpu_seconds
        arrays = self.rebuilt.atoms_since(self.journalled)
        arrays |= {"atoms": joined(self.fresh), "lengths": np.array([len(a) for a in self.fresh], np.int64)}
        arrays |= {"rows": self.numbers, "multipliers": self.multipliers, "idle": self.idle, "theta": self.theta}
        if self.state.theta is not self.best:
            arrays["best"] = self.best = self.state.theta
        if self.rose:
            arrays["support"] = np.flatnonzero(self.state.weights)
            arrays["weights"] = self.state.weights[arrays["support"]]
        journal.append("round", entry | {"state": state}, **arrays)
        self.fresh, self.journalled = [], self.journalled + len(arrays["samples"])

    def restore(self) -> None:
        """Continue after the last round in the journal, if there is one."""
        lines = self.journal.of("round") if self.journal else []
        if not lines:
            return
        rows: list[Ints] = []
        last: dict[str, NDArray] = {}  # the last array of each name
        for line in lines:
            arrays = line.arrays()
            self.rebuilt.rebuild(arrays)
            rows += np.split(arrays["atoms"], np.cumsum(arrays["lengths"]))[:-1]
            last |= arrays
        history = [dict(line.numbers) for line in lines]
        state = [entry.pop("state") for entry in history][-1]
        for _ in state["masters"][1:]:
            self.master = self.master.stronger() or self.master
        self.append([rows[k] for k in last["rows"]])
        self.dropped = {rows[k].tobytes() for k in np.setdiff1d(np.arange(len(rows)), last["rows"])}
        self.numbers, self.appended, self.fresh, self.journalled = last["rows"], len(rows), [], self.rebuilt.count
        self.idle, self.multipliers, self.rose = last["idle"], last["multipliers"], "support" in arrays
        self.master.warm(self.multipliers)
        self.tolerance, self.polished, self.rounds = state["tolerance"], state["polished"], history[-1]["round"]
        self.theta, self.best = last["theta"], last["best"]
        self.state = Progress(self.best, self.theta, history=history, masters=state["masters"])
        self.state.upper = self.rebuilt.value(self.best)
        if "support" in last:
            self.state.weights = summed(last["support"], last["weights"], self.rebuilt.count)
            self.state.lower = self.family.lower(self.state.weights, None)
        self.state.before = history[-1]["seconds"], state["cpu_seconds"]
        self.clock.resume(*self.state.before, self.rounds)
        self.oracle.seconds, self.mastering.seconds = history[-1]["oracle_seconds"], history[-1]["master_seconds"]
        self.prune()


def joined(parts: list[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
