"""The one alternating loop: a convex program for fixed state, then a step of the state.

    θ_t ← argmin F(·; state_t)  to a certified gap          (workbench/solving.py, any CutForm)
    state_{t+1} ← step(θ_t, state_t)

With a majorant F(·; state(θ)) ≥ F, tight at θ, this is the majorise–minimise scheme (CCCP: Yuille &
Rangarajan 2003), and F(θ_t) never rises: a formulation that says `monotone` is held to it. One that goes through
stages, each with an objective of its own, is held to it within each. Others, such as costs set by difficulty, have
no joint objective; there only the inner programs carry certificates.

Ends: `stationary` when the state repeats the last one, or when a round lowers F by no more than the gap of its own
program: what rounding did and what the state did cannot be told apart then. `cycle` when the state repeats an earlier
one (its length is `cycle`), `limit` after `max_rounds` or `time_limit`. So with a majorant every round but the last
makes F smaller, and it ends. The alternation as a whole proves nothing about a global optimum and says so: no gap. With
several starts, the best end is reported and the history tells of all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from workbench.errors import CutbenchError
from workbench.structures import Floats

SAME = 1e-7  # states closer than this are one
MOST_ROUNDS = 1000


@dataclass
class Alternation:
    """Where the loop ended: states (t + 1, …), the values and certified gaps of each round, the last solution.

    history : the rounds of all starts, `start` says of which;  value : F at the end, NaN if there is none
    """

    states: list[Floats]
    inner: Any
    status: str = "limit"
    cycle: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    value: float = float("nan")


def alternate(
    formulation: Any,
    problem: Any,
    solve: Callable[[Any, Any], Any],
    max_rounds: int | None = None,
    time_limit: float | None = None,
    observe: Callable[[dict[str, Any]], object] | None = None,
) -> Alternation:
    """Run the loop from every start; `solve(convex, problem)` returns a certified solution of a surrogate.

    max_rounds : of one start;  time_limit : of all, in seconds; one round is always made

    Raises
    ------
    CutbenchError : a formulation that says it is monotone rises by more than its inner gaps allow
    """
    clock, history, best = time.perf_counter(), [], None
    restarts = getattr(formulation, "restarts", lambda _: [])
    for start, first in enumerate([formulation.start(problem), *restarts(problem)]):
        left = (time_limit or np.inf) - (time.perf_counter() - clock)
        if best is not None and left <= 0:
            break
        found = descended(formulation, problem, solve, first, max_rounds or MOST_ROUNDS, left, observe, start)
        history += found.history
        if best is None or found.value < best.value:
            best = found
    return replace(best, history=history)


def descended(
    formulation: Any,
    problem: Any,
    solve: Callable[[Any, Any], Any],
    first: Floats,
    max_rounds: int,
    time_limit: float,
    observe: Callable[[dict[str, Any]], object] | None,
    start: int,
) -> Alternation:
    """The loop from one start."""
    clock, states = time.perf_counter(), [first]
    found = Alternation(states, None)
    while found.status == "limit":
        found.inner = inner = solve(formulation.surrogate(problem, states[-1]), problem)
        found.value = value = formulation.value(problem, inner.theta_flat)
        state, told = formulation.step(problem, inner.theta_flat, states[-1], lambda form: solve(form, problem))
        last = found.history[-1]["value"] if found.history else np.inf
        settled = told.pop("majorant", formulation.monotone) and value >= last - (inner.upper - inner.lower)
        entry = {"round": len(states), "upper": inner.upper, "lower": inner.lower, "gap": inner.gap, "value": value}
        entry |= told | {"start": start, "cuts": inner.cuts, "seconds": time.perf_counter() - clock}
        check_descent(formulation, found.history, entry)
        found.history.append(entry)
        if observe:
            observe(entry)
        back = next((t for t, old in enumerate(reversed(states)) if np.abs(old - state).max(initial=0) <= SAME), None)
        if settled or back == 0:
            found.status = "stationary"
        elif back is not None:
            found.status, found.cycle = "cycle", back + 1
        states.append(states[-1] if settled else state)
        if len(found.history) >= max_rounds or entry["seconds"] > time_limit:
            break
    return found


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
