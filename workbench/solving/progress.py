"""What the loops share: a clock with limits, and where a run stands.

Cut generation, smooth descent, alternation and search differ in their steps. They agree in three things: each reads one
`Clock`, each keeps the best bounds and a record of its rounds in one `Progress` or like it, and each tells an `Observe`
of every round.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.contracts import Floats

Observe = Callable[[dict[str, Any]], object]  # is given the record of each round


class Clock:
    """Wall and CPU seconds of a run, and its limits.

    Attributes
    ----------
    deadline : seconds at which the run is to end, ∞ without a limit
    last_round : the round after which the run is to end, ∞ without a limit
    """

    def __init__(self, time_limit: float | None = None, max_rounds: int | None = None):
        self.wall, self.cpu = time.perf_counter(), time.process_time()
        self.deadline = np.inf if time_limit is None else time_limit
        self.last_round = np.inf if max_rounds is None else max_rounds

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.wall

    @property
    def cpu_seconds(self) -> float:
        return time.process_time() - self.cpu

    @property
    def left(self) -> float:
        """Seconds until the deadline; negative beyond."""
        return self.deadline - self.seconds

    def over(self, rounds: int) -> bool:
        """Whether `rounds` or the time reached a limit."""
        return rounds >= self.last_round or self.left <= 0

    def resume(self, seconds: float, cpu_seconds: float, rounds: int = 0) -> None:
        """Count what earlier sessions of the run took; the limits hold from here on."""
        self.wall, self.cpu = self.wall - seconds, self.cpu - cpu_seconds
        self.deadline, self.last_round = self.deadline + seconds, self.last_round + rounds

    def exclude(self, seconds: float, cpu_seconds: float) -> None:
        """Leave out what compilation took."""
        self.wall, self.cpu = self.wall + seconds, self.cpu + cpu_seconds


@dataclass
class Progress:
    """Where a run stands: the best bounds, what attains them, and a record of each round.

    theta attains `upper`, the weights of cuts `weights` attain `lower`; `latest` is the θ of the last round.
    status : optimal, stalled or limit;  masters : those that took part, in order
    said : the last word of the backend about itself;  before : seconds and CPU seconds of earlier sessions of the run
    """

    theta: Floats
    latest: Floats
    weights: Floats = field(default_factory=lambda: np.empty(0))
    upper: float = np.inf
    lower: float = -np.inf
    status: str = "limit"
    history: list[dict[str, Any]] = field(default_factory=list)
    masters: list[str] = field(default_factory=list)
    said: str = ""
    before: tuple[float, float] = (0.0, 0.0)

    def entry(
        self, rounds: int, gap: float, cuts: int, active: int, seconds: tuple[float, float, float]
    ) -> dict[str, Any]:
        """The record of a round; `seconds` in all, of the oracle, and of the master."""
        ends = {"round": rounds, "upper": self.upper, "lower": self.lower, "gap": gap, "cuts": cuts, "active": active}
        return ends | dict(zip(("seconds", "oracle_seconds", "master_seconds"), seconds, strict=True))

    def record(self, entry: dict[str, Any], observe: Observe | None) -> None:
        """Put a round on record and tell of it."""
        self.history.append(entry)
        if observe:
            observe(entry)
