"""The one alternating loop: a convex program for fixed state, then a step of the state.

    θ_t ← argmin F(·; state_t)  to a certified gap          (solving/solve.py, any CutForm)
    state_{t+1} ← step(θ_t, state_t)

With a majorant F(·; state(θ)) ≥ F, tight at θ, this is the majorise–minimise scheme (CCCP: Yuille &
Rangarajan 2003), and F(θ_t) never rises: a formulation that says `monotone` is held to it. One that goes through
stages, each with an objective of its own, is held to it within each. Others, such as costs set by difficulty, have
no joint objective; there only the inner programs carry certificates.

Ends of a start: `stationary` when the state repeats the last one, or when a round lowers F by no more than the gap of
its own program: what rounding did and what the state did cannot be told apart then. `cycle` when the state repeats an
earlier one (its length is `cycle`), `limit` after `max_rounds` or `time_limit`. So with a majorant every round but the
last makes F smaller, and it ends. Either repetition says something only of programs that were solved: if one of the
last round, or of the cycle, missed its gap, the end is `stalled`.

The alternation as a whole proves nothing about a global optimum and says so: no gap. With several starts, the best end
is reported and the history tells of all. The status is that of the best end, but `limit` if a limit cut off any start,
or else `stalled` if any start ended so: who knows what it would have found.

With a journal (system/journal.py) each finished round is a line of kind `round`: its numbers as in the history,
`state` (how its start stands: status, cycle; seconds and cpu_seconds of the run so far), `inner` (what its convex
program's solution says of itself), and the arrays

    state    the next state;  the others are those of the convex program's certificate

What it holds is not computed again: a start goes on from its last state, and the states before it, so that cycles are
found as if nothing had happened. F, and the bounds of the certificate that is reported, are computed anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from workbench.contracts import Floats, Majorized, Restarted
from workbench.errors import CutbenchError
from workbench.solving.progress import Clock
from workbench.solving.request import Request
from workbench.system.journal import Entry, Journal

SAME = 1e-7  # states closer than this are one
MOST_ROUNDS = 1000
PLAIN = Request()


@dataclass
class Alternation:
    """Where the loop ended: states (t + 1, …), the values and certified gaps of each round, the last solution.

    history : the rounds of all starts, `start` says of which;  value : F at the end, NaN if there is none
    seconds, cpu_seconds : of this run and those that its journal tells of
    """

    states: list[Floats]
    inner: Any = None
    status: str = "limit"
    cycle: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    value: float = float("nan")
    seconds: float = 0.0
    cpu_seconds: float = 0.0


def alternate(
    formulation: Majorized,
    problem: Any,
    solve: Callable[[Any, Any], Any],
    request: Request = PLAIN,
    journal: Journal | None = None,
    recall: Callable[[Any, Any, Entry], Any] | None = None,
) -> Alternation:
    """Run the loop from every start; `solve(convex, problem)` returns a certified solution of a surrogate.

    request : its `max_rounds` limits one start and its `time_limit` all, both from here on; one round is always made
    journal : takes each finished round; the rounds that it holds are not run again
    recall : `recall(convex, problem, line)` is the solution of the surrogate that the journal's line is about

    Raises
    ------
    CutbenchError : a formulation that says it is monotone rises by more than its inner gaps allow
    """
    run = Alternating(formulation, problem, solve, request, journal)
    restarts = formulation.restarts(problem) if isinstance(formulation, Restarted) else []
    ends = [Alternation([first]) for first in [formulation.start(problem), *restarts]]
    last = run.restore(ends)
    for start, found in enumerate(ends):
        rounds = len(found.history) + (request.max_rounds or MOST_ROUNDS)
        clock = time.perf_counter() - (found.history[-1]["seconds"] if found.history else 0.0)
        while found.status == "limit" and len(found.history) < rounds:
            if run.rounds and run.clock.left <= 0:
                break
            run.advance(found, start, clock)
    ended = {found.status for found in ends}
    start, best = min(((s, found) for s, found in enumerate(ends) if found.history), key=lambda each: each[1].value)
    if best.inner is None:
        assert recall is not None  # whoever gives a journal gives both
        best.inner = recall(formulation.surrogate(problem, best.states[-2]), problem, last[start])
    history = [entry for found in ends for entry in found.history]
    status = next((each for each in ("limit", "stalled") if each in ended), best.status)
    return replace(best, status=status, history=history, seconds=run.clock.seconds, cpu_seconds=run.clock.cpu_seconds)


class Alternating:
    """What the starts of one run share."""

    def __init__(
        self,
        formulation: Majorized,
        problem: Any,
        solve: Callable[[Any, Any], Any],
        request: Request,
        journal: Journal | None,
    ):
        self.formulation, self.problem, self.solve = formulation, problem, solve
        self.observe, self.journal = request.observe, journal
        self.clock, self.rounds = Clock(request.time_limit), 0

    def advance(self, found: Alternation, start: int, clock: float) -> None:
        """One round from one start, put on record."""
        form, problem, old, answers = self.formulation, self.problem, found.states[-1], []

        def ask(convex: Any) -> Any:
            answers.append(self.solve(convex, problem))
            return answers[-1]

        found.inner = inner = ask(form.surrogate(problem, old))
        found.value = value = form.value(problem, inner.theta_flat)
        state, told = form.step(problem, inner.theta_flat, old, ask)
        before = found.history[-1]["value"] if found.history else np.inf
        settled = told.pop("majorant", form.monotone) and value >= before - (inner.upper - inner.lower)
        entry = {"round": len(found.states), "upper": inner.upper, "lower": inner.lower, "gap": inner.gap}
        entry |= {"value": value, **told, "start": start, "cuts": inner.cuts, "programs": len(answers)}
        entry |= {"unsolved": sum(each.status != "optimal" for each in answers)}
        entry |= {"inner_gap": max(each.gap for each in answers), "seconds": time.perf_counter() - clock}
        check_descent(form, found.history, entry)
        found.history.append(entry)
        self.judge(found, state, settled)
        found.states.append(found.states[-1] if settled else state)
        self.rounds += 1
        if self.journal:
            self.checkpoint(found)
        if self.observe:
            self.observe(entry)

    def judge(self, found: Alternation, state: Floats, settled: bool) -> None:
        """Whether the start ends here, and how."""
        olds = enumerate(reversed(found.states))
        back = next((t for t, old in olds if np.abs(old - state).max(initial=0) <= SAME), None)
        if settled or back == 0:
            found.status = "stationary"
        elif back is not None:
            found.status, found.cycle = "cycle", back + 1
        repeated = found.history[-(found.cycle or 1) :]
        if found.status != "limit" and any(entry["unsolved"] for entry in repeated):
            found.status, found.cycle = "stalled", 0

    def checkpoint(self, found: Alternation) -> None:
        """The round as a line of the journal; see the module's docstring."""
        state = {"status": found.status, "cycle": found.cycle}
        state |= {"seconds": self.clock.seconds, "cpu_seconds": self.clock.cpu_seconds}
        inner, arrays = found.inner.kept()
        self.journal.append(
            "round", found.history[-1] | {"state": state, "inner": inner}, state=found.states[-1], **arrays
        )

    def restore(self, ends: list[Alternation]) -> dict[int, Entry]:
        """Let each start stand where the journal's last line about it ended; that line of each start."""
        last = {}
        for line in self.journal.of("round") if self.journal else []:
            entry = dict(line.numbers)
            state, _ = entry.pop("state"), entry.pop("inner")
            found = ends[entry["start"]]
            found.status, found.cycle, found.value = state["status"], state["cycle"], entry["value"]
            found.history.append(entry)
            found.states.append(line.arrays()["state"])
            last[entry["start"]] = line
        if last:
            self.clock.resume(state["seconds"], state["cpu_seconds"])
        return last


def check_descent(formulation: Any, history: list[dict[str, Any]], entry: dict[str, Any]) -> None:
    """A majorant never lets its objective rise by more than the inner program's own gap, within one stage."""
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
