"""What the loops share: a clock with limits, a stopwatch, and the progress of a run.

Cut generation, smooth descent, alternation, search and the stochastic loop take different steps. They agree in three
things: each reads a `Clock` or a `Stopwatch`; the loops that `solve` runs keep their best bounds and one record a round
in a `Progress`, or, for an alternation, one record a round of each start; and each calls an `Observe` after a round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from workbench.contracts import Floats, Ints, Numbers
from workbench.errors import BadInput, OutOfMemory

Record = Numbers  # of one round
Observe = Callable[[Record], object]  # called with the record of each round


def checked_calls(**functions: object) -> None:
    """Raise `BadInput` for the first that is neither None nor can be called."""
    for name, each in functions.items():
        if each is not None and not callable(each):
            raise BadInput(f"{name} is {each!r}; give a function of one argument, such as {name}=print.")


class Deadline(Exception):
    """The time limit came in the middle of a round, whose work is dropped."""


class Clock:
    """Wall and CPU seconds of a run, and its limits.

    Attributes
    ----------
    deadline : seconds at which the run is to end, ∞ without a limit
    last_round : the round after which the run is to end, ∞ without a limit
    exhausted : what ran out of memory, if anything did
    """

    def __init__(self, time_limit: float | None = None, max_rounds: int | None = None):
        self.wall, self.cpu = time.perf_counter(), time.process_time()
        self.deadline = np.inf if time_limit is None else time_limit
        self.last_round = np.inf if max_rounds is None else max_rounds
        self.exhausted = ""

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.wall

    @property
    def cpu_seconds(self) -> float:
        return time.process_time() - self.cpu

    @property
    def spent(self) -> tuple[float, float]:
        """Wall and CPU seconds so far."""
        return self.seconds, self.cpu_seconds

    @property
    def left(self) -> float:
        """Seconds until the deadline; negative after the deadline."""
        return self.deadline - self.seconds

    @contextmanager
    def ends_with_memory(self) -> Iterator[None]:
        """A `MemoryError` or `OutOfMemory` in the block counts as the deadline: `exhausted` says why."""
        try:
            yield
        except (MemoryError, OutOfMemory) as error:
            self.exhausted = " ".join(f"out of memory: {error}".split())
            self.deadline = -np.inf

    def check(self) -> None:
        """Raise `Deadline` after the deadline."""
        if self.left <= 0:
            raise Deadline

    def over(self, rounds: int) -> bool:
        """Whether `rounds` or the time reached a limit."""
        return rounds >= self.last_round or self.left <= 0

    def resume(self, seconds: float, cpu_seconds: float, rounds: int = 0) -> None:
        """Add the seconds and rounds of earlier sessions of the run; the limits count from here on."""
        self.wall, self.cpu = self.wall - seconds, self.cpu - cpu_seconds
        self.deadline, self.last_round = self.deadline + seconds, self.last_round + rounds


class Stopwatch:
    """The wall seconds spent inside its `with` blocks, added up."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self.began = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self.began


class Predicted(NamedTuple):
    """Outputs (n, width) that θ (p,) predicts for all samples."""

    theta: Floats
    outputs: Ints


@dataclass
class Progress:
    """How far a run has come: its best bounds, the points that attain these, and a record of each round.

    theta attains `upper`, the weights of cuts `weights` attain `lower`; `latest` is the θ of the last round.
    status : optimal, stalled or limit;  masters : the masters of the run, in order
    said : the backend's own last status;  parallel : what became of the workers, or why there were none
    before : seconds and CPU seconds of earlier sessions of the run
    predicted : the workers' predictions, or None
    """

    theta: Floats
    latest: Floats
    weights: Floats = field(default_factory=lambda: np.empty(0))
    upper: float = np.inf
    lower: float = -np.inf
    status: str = "limit"
    history: list[Record] = field(default_factory=list)
    masters: list[str] = field(default_factory=list)
    said: str = ""
    parallel: str = ""
    before: tuple[float, float] = (0.0, 0.0)
    predicted: Predicted | None = None

    def entry(self, rounds: int, gap: float, cuts: int, active: int, seconds: tuple[float, float, float]) -> Record:
        """The record of a round; `seconds` in all, of the oracle, and of the master."""
        ends = {"round": rounds, "upper": self.upper, "lower": self.lower, "gap": gap, "cuts": cuts, "active": active}
        return ends | dict(zip(("seconds", "oracle_seconds", "master_seconds"), seconds, strict=True))

    def kept(self, clock: Clock) -> Record:
        """The record of the run for a checkpoint; `take_up` reads it."""
        seconds, cpu = clock.spent
        return {"history": self.history, "masters": self.masters, "seconds": seconds, "cpu_seconds": cpu}

    def take_up(self, numbers: Record, clock: Clock) -> None:
        """Continue the record and the clock of an earlier session."""
        self.history, self.masters = list(numbers["history"]), list(numbers["masters"])
        self.before = numbers["seconds"], numbers["cpu_seconds"]
        clock.resume(*self.before, self.history[-1]["round"] if self.history else 0)

    def record(self, entry: Record, observe: Observe | None) -> None:
        """Append the record of a round to the history and call `observe` with it."""
        self.history.append(entry)
        if observe:
            observe(entry)
