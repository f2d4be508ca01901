"""The one alternating loop: a convex program for fixed state, then a step of the state.

    θ_t ← argmin F(·; state_t)  to a certified gap          (solving/solve.py, any CutForm)
    state_{t+1} ← step(θ_t, state_t)

With a majorant F(·; state(θ)) ≥ F, tight at θ, this is the majorise–minimise scheme (CCCP: Yuille & Rangarajan 2003),
and F(θ_t) never rises: for a formulation with `monotone` the loop checks that. A formulation that passes through
stages, each with its own objective, is checked within each stage. Formulations without a joint objective, such as
costs set by difficulty, have no F to check; there only the inner programs carry certificates.

A start ends

    stationary   when the state repeats the last state, or when a round lowers F by no more than the gap of its own
                 program, since rounding and the state cannot be told apart below that gap; with a majorant every
                 round but the last makes F smaller, so the start ends
    cycle        when the state repeats an earlier one; `cycle` is the length
    stalled      when the state repeats, but a program of the last round, or of the cycle, missed its gap
    limit        after `max_rounds` or `time_limit`

An alternation proves nothing about a global optimum, so the result has no gap. Of several starts the best end is
reported and the history holds the rounds of all. The status is that of the best end, but `limit` if a limit cut off
any start, or else `stalled` if any start ended so: a longer or more accurate run of that start might have ended better.

With a journal (system/journal.py) each finished round is a line of kind `round`: its numbers as in the history,
`state` (status and cycle of its start; seconds and cpu_seconds of the run so far), `inner` (the numbers and words of
its convex program's solution), and the arrays

    state                         the next state
    theta, samples, witnesses, …  the certificate of the convex program

Each convex program of the round at work keeps a journal inside the run's, until the line of the round is written.
Rounds in the journal are not computed again: a start continues from its last state and knows all its states, so cycles
are found as in an uninterrupted run. F, and the bounds of the reported certificate, are computed anew.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

import numpy as np

from workbench.contracts import CutForm, Floats, Majorized, Problem, Restarted, text_alone
from workbench.errors import CutbenchError
from workbench.solving.progress import Clock, Deadline, Record
from workbench.solving.request import Request
from workbench.solving.solution import Solution
from workbench.system.journal import Entry, Journal

SAME = 1e-7  # states closer than this are one
MOST_ROUNDS = 1000
PLAIN = Request()

Solve = Callable[..., Solution]  # of a surrogate and the problem, perhaps with a time limit
Recall = Callable[[CutForm, Problem, Entry], Solution]


@dataclass
class Alternation:
    """Where the loop ended: the t + 1 states of t rounds, the record of each round, the last solution `inner`.

    history : the rounds of all starts; `start` is the number of the start;  value : F at the end, NaN without an F
    seconds, cpu_seconds : of this run, earlier sessions included
    """

    states: list[Floats]
    inner: Solution | None = None
    status: str = "limit"
    cycle: int = 0
    history: list[Record] = field(default_factory=list)
    value: float = float("nan")
    seconds: float = 0.0
    cpu_seconds: float = 0.0


def alternate(
    formulation: Majorized,
    problem: Problem,
    solve: Solve,
    request: Request = PLAIN,
    journal: Journal | None = None,
    recall: Recall | None = None,
) -> Alternation:
    """Run the loop from every start; `solve(convex, problem)` returns a certified solution of a surrogate.

    request : its `max_rounds` limits each start and its `time_limit` all starts together, both from here on; at least
        one round is run, whole in a session that resumes, else within the time limit
    journal : takes each finished round; the rounds that the journal holds are not run again
    recall : `recall(convex, problem, line)` rebuilds the solution of a surrogate from the journal's line

    Raises
    ------
    CutbenchError : a `monotone` formulation rises by more than its inner gaps allow
    """
    run = Alternating(formulation, problem, solve, request, journal)
    restarts = formulation.restarts(problem) if isinstance(formulation, Restarted) else []
    paths = [Alternation([first]) for first in [formulation.start(problem), *restarts]]
    last = run.restore(paths)
    for start, path in enumerate(paths):
        clock = Clock(max_rounds=request.max_rounds or MOST_ROUNDS)
        clock.resume(path.history[-1]["seconds"] if path.history else 0.0, 0.0, len(path.history))
        while path.status == "limit" and not clock.over(len(path.history)):
            if run.rounds and run.clock.left <= 0:
                break
            try:
                run.advance(path, start, clock)
            except Deadline:  # in the middle of a round, whose work is dropped
                break
    ended = {path.status for path in paths}
    start, best = min(((s, path) for s, path in enumerate(paths) if path.history), key=lambda each: each[1].value)
    if best.inner is None:
        assert recall is not None  # whoever gives a journal gives both
        best.inner = recall(formulation.surrogate(problem, best.states[-2]), problem, last[start])
    history = [entry for path in paths for entry in path.history]
    status = next((each for each in ("limit", "stalled") if each in ended), best.status)
    return replace(best, status=status, history=history, seconds=run.clock.seconds, cpu_seconds=run.clock.cpu_seconds)


class Alternating:
    """The state that the starts of one run share, and the steps of one start."""

    def __init__(
        self,
        formulation: Majorized,
        problem: Problem,
        solve: Solve,
        request: Request,
        journal: Journal | None,
    ):
        self.formulation, self.problem, self.solve = formulation, problem, solve
        self.observe, self.journal = request.observe, journal
        self.clock, self.rounds = Clock(request.time_limit), 0
        self.resumed = bool(journal and journal.entries)

    def advance(self, path: Alternation, start: int, clock: Clock) -> None:
        """One round of one start, and its record."""
        form, problem, old, answers = self.formulation, self.problem, path.states[-1], []

        def ask(convex: CutForm) -> Solution:
            limited = self.rounds or not self.resumed  # a session that resumes makes a round
            left = {"time_limit": max(self.clock.left, 1e-3)} if limited and np.isfinite(self.clock.deadline) else {}
            with self.recorded(convex, len(answers)) as record:
                kept = {} if record is None else {"journal": record}
                answers.append(self.solve(convex, problem, **kept, **left))
            if answers[-1].status == "limit" and self.rounds and self.clock.left <= 0:
                raise Deadline
            return answers[-1]

        path.inner = inner = ask(form.surrogate(problem, old))
        path.value = value = form.value(problem, inner.theta_flat)
        state, notes = form.step(problem, inner.theta_flat, old, ask)
        before = path.history[-1]["value"] if path.history else np.inf
        settled = notes.pop("majorant", form.monotone) and value >= before - (inner.upper - inner.lower)
        entry = {"round": len(path.states), "upper": inner.upper, "lower": inner.lower, "gap": inner.gap}
        entry |= {"value": value, **notes, "start": start, "cuts": inner.cuts, "programs": len(answers)}
        entry |= {"unsolved": sum(each.status != "optimal" for each in answers)}
        entry |= {"inner_gap": max(each.gap for each in answers), "seconds": clock.seconds}
        check_descent(form, path.history, entry)
        path.history.append(entry)
        self.judge(path, state, settled)
        path.states.append(path.states[-1] if settled else state)
        self.rounds += 1
        if self.journal and not any(each.status == "limit" for each in answers):
            self.checkpoint(self.journal, path, inner)
        if self.observe:
            self.observe(entry)

    def recorded(self, convex: CutForm, number: int) -> AbstractContextManager[Journal | None]:
        """The journal of a convex program of the round at work, from which the program goes on after a kill."""
        return nullcontext() if self.journal is None or text_alone(convex) else self.journal.inner(number)

    def judge(self, path: Alternation, state: Floats, settled: bool) -> None:
        """End the start if its state repeats or has settled."""
        olds = enumerate(reversed(path.states))
        back = next((t for t, old in olds if np.abs(old - state).max(initial=0) <= SAME), None)
        if settled or back == 0:
            path.status = "stationary"
        elif back is not None:
            path.status, path.cycle = "cycle", back + 1
        repeated = path.history[-(path.cycle or 1) :]
        if path.status != "limit" and any(entry["unsolved"] for entry in repeated):
            path.status, path.cycle = "stalled", 0

    def checkpoint(self, journal: Journal, path: Alternation, solution: Solution) -> None:
        """The round as a line of the journal; see the module's docstring."""
        state = {"status": path.status, "cycle": path.cycle}
        state |= {"seconds": self.clock.seconds, "cpu_seconds": self.clock.cpu_seconds}
        inner, arrays = solution.kept()
        journal.append("round", path.history[-1] | {"state": state, "inner": inner}, state=path.states[-1], **arrays)
        journal.drop_inner()

    def restore(self, paths: list[Alternation]) -> dict[int, Entry]:
        """Bring each start to the end of its last line in the journal; these last lines by start."""
        last = {}
        for line in self.journal.of("round") if self.journal else []:
            entry = dict(line.numbers)
            state, _ = entry.pop("state"), entry.pop("inner")
            path = paths[entry["start"]]
            path.status, path.cycle, path.value = state["status"], state["cycle"], entry["value"]
            path.history.append(entry)
            path.states.append(line.arrays()["state"])
            last[entry["start"]] = line
        if last:
            assert self.journal is not None
            spent = {**state, **next((line.numbers for line in self.journal.of("end")), {})}
            self.clock.resume(spent["seconds"], spent["cpu_seconds"])
        return last


def check_descent(formulation: Majorized, history: list[Record], entry: Record) -> None:
    """Raise `CutbenchError` if a majorant's objective rose by more than the inner program's gap within one stage."""
    if not formulation.monotone or not history or history[-1].get("stage") != entry.get("stage"):
        return
    before, now = (
        each["value"] if each.get("objective") is None else each["objective"] for each in (history[-1], entry)
    )
    allowed = 2 * max(entry["upper"] - entry["lower"], 0) + 1e-12 * abs(now)
    if now > before + allowed:
        raise CutbenchError(
            f"{type(formulation).__name__} rose from {before!r} to {now!r} in round {entry['round']}: "
            "its majorant does not lie above its objective; check `surrogate` and `step`."
        )
