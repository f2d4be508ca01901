"""The one alternating loop: a convex program for fixed state, then a step of the state.

    θ_t ← argmin F(·; state_t)  to a certified gap          (workbench/solving.py, any CutForm)
    state_{t+1} ← step(θ_t, state_t)

With a majorant F(·; state(θ)) ≥ F, tight at θ, this is the majorise–minimise scheme (CCCP: Yuille &
Rangarajan 2003), and F(θ_t) never rises: a formulation that says `monotone` is held to it. Others, such as
costs set by difficulty, have no joint objective; there only the inner programs carry certificates.

Ends: `stationary` when the state repeats the last one, `cycle` when it repeats an earlier one (its length is
`cycle`), `limit` after `max_rounds` or `time_limit`. The alternation as a whole proves nothing about a
global optimum and says so: no gap.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.errors import CutbenchError
from workbench.structures import Floats

SAME = 1e-7  # states closer than this are one
MOST_ROUNDS = 100


@dataclass
class Alternation:
    """Where the loop ended: states (t + 1, …), the values and certified gaps of each round, the last solution."""

    states: list[Floats]
    inner: Any
    status: str = "limit"
    cycle: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)


def alternate(
    formulation: Any,
    problem: Any,
    solve: Callable[[Any, Any], Any],
    max_rounds: int | None = None,
    time_limit: float | None = None,
    observe: Callable[[dict[str, Any]], object] | None = None,
) -> Alternation:
    """Run the loop; `solve(convex, problem)` returns a certified solution of a surrogate.

    Raises
    ------
    CutbenchError : a formulation that says it is monotone rises by more than its inner gaps allow
    """
    clock, states = time.perf_counter(), [formulation.start(problem)]
    found = Alternation(states, None)
    while found.status == "limit":
        found.inner = inner = solve(formulation.surrogate(problem, states[-1]), problem)
        state, told = formulation.step(problem, inner.theta_flat, states[-1], lambda form: solve(form, problem))
        value = formulation.value(problem, inner.theta_flat)
        entry = {"round": len(states), "upper": inner.upper, "lower": inner.lower, "gap": inner.gap, "value": value}
        entry |= told | {"cuts": inner.cuts, "seconds": time.perf_counter() - clock}
        check_descent(formulation, found.history, entry)
        found.history.append(entry)
        if observe:
            observe(entry)
        back = next((t for t, old in enumerate(reversed(states)) if np.abs(old - state).max(initial=0) <= SAME), None)
        if back is not None:
            found.status, found.cycle = ("stationary", 0) if back == 0 else ("cycle", back + 1)
        states.append(state)
        if len(found.history) >= (max_rounds or MOST_ROUNDS) or entry["seconds"] > (time_limit or np.inf):
            break
    return found


def check_descent(formulation: Any, history: list[dict[str, Any]], entry: dict[str, Any]) -> None:
    """A majorant never lets F rise by more than the inner program's own gap."""
    if formulation.monotone and history:
        before, allowed = (
            history[-1]["value"],
            2 * max(entry["upper"] - entry["lower"], 0) + 1e-12 * abs(entry["value"]),
        )
        if entry["value"] > before + allowed:
            raise CutbenchError(
                f"{type(formulation).__name__} rose from {before!r} to {entry['value']!r} in round {entry['round']}: "
                "its majorant does not lie above its objective; check `surrogate` and `step`."
            )
