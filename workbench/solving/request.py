"""`Request`: the arguments of `solve`, checked once and handed to every route unchanged."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from inspect import isclass

import numpy as np

from workbench.backends import backend as installed_backend
from workbench.contracts import Formulation, Numbers, Problem
from workbench.errors import BadInput, MissingCapability, checked_limits, checked_whole
from workbench.solving.progress import Observe, checked_calls
from workbench.system.workers import parsed

THREADS = 4  # for each core, at most
OPTIONS = ("gap", "backend", "groups", "master", "polish")  # in the first line of a journal


@dataclass(frozen=True)
class Request:
    """The arguments of `solve` except formulation, problem and journal; the docstring of `solve` explains each.

    Raises `BadInput` if gap or a limit is not positive, for `groups`, `parallel` or `threads` that cannot be had, for
    an `observe` that cannot be called, and for a `source` that is no dict; `UnknownName` or `MissingCapability` for a
    backend.
    """

    gap: float = 1e-9
    backend: str | None = None
    groups: int | str | None = None
    master: str | None = None
    time_limit: float | None = None
    max_rounds: int | None = None
    observe: Observe | None = None
    polish: bool = False
    parallel: str | None = None
    threads: int | None = None
    source: Numbers = field(default_factory=dict)

    def __post_init__(self) -> None:
        checked_limits(gap=self.gap, time_limit=self.time_limit, max_rounds=self.max_rounds)
        checked_calls(observe=self.observe)
        if not isinstance(self.source, Mapping) or not all(isinstance(name, str) for name in self.source):
            fix = 'give a dict such as source={"name": "iris", "settings": {}}'
            raise BadInput(f"source is {self.source!r}; {fix}.")
        self.group_count(1)
        if self.backend not in (None, "all"):
            installed_backend(str(self.backend))
        if self.parallel is not None:
            parsed(self.parallel)
        if self.threads is not None:
            most = THREADS * (os.cpu_count() or 1)
            checked_whole(1, threads=self.threads)
            if self.threads > most:
                raise BadInput(f"threads is {self.threads}; give a whole number from 1 to {most}, {THREADS} a core.")

    @property
    def options(self) -> Numbers:
        """The arguments that a journal keeps."""
        return {name: value for name, value in vars(self).items() if name in OPTIONS}

    def within(self, time_limit: float | None) -> Request:
        """The same request with another time limit."""
        return replace(self, time_limit=time_limit)

    def group_count(self, n: int) -> int:
        """The number of groups that `groups` asks for among n samples."""
        words: dict[int | str | None, int] = {None: n, "all": n, "one": 1}
        try:
            wanted = self.groups
            count = words[wanted] if wanted in words else 0 if isinstance(wanted, bool | float) else int(wanted or 0)
        except (TypeError, ValueError):
            count = 0
        if count < 1:
            raise BadInput(f"groups is {self.groups!r}; give one, all or a positive number.")
        return min(count, n)

    def refuse_workers(self, formulation: Formulation) -> None:
        """`MissingCapability` if workers or threads are asked for where there are no sweeps of an oracle to share."""
        if self.parallel is not None or self.threads is not None:
            name, option = type(formulation).__name__, "threads" if self.parallel is None else "parallel"
            raise MissingCapability(f"{name} is not solved by rounds of cuts, which workers share; leave out {option}.")

    def refuse_cuts(self, formulation: Formulation) -> None:
        """`BadInput` if groups or master are given for a formulation without cuts."""
        if self.groups is not None or self.master is not None:
            name = type(formulation).__name__
            raise BadInput(f"{name} has no cuts, so groups and master mean nothing; leave them out.")


def checked_formulation(formulation: object, problem: object, door: str = "solve") -> Formulation:
    """The formulation with Python's own numbers as settings; `BadInput` for arguments that no route could use.

    door : the public function that was called, for the message
    """
    if isclass(formulation) or isinstance(formulation, Problem):
        raise BadInput(f"{door} takes a formulation, then a problem; write for example {door}(SoftMargin(), problem).")
    if isclass(problem) or not isinstance(problem, Problem):
        thing = f"class {problem.__name__}" if isclass(problem) else type(problem).__name__
        raise BadInput(f"The problem is a {thing}; give an output structure with data, e.g. Multiclass(X, y).")
    if not isinstance(formulation, Formulation):
        thing = type(formulation).__name__
        raise MissingCapability(f"{thing} cannot be solved; give {door} a formulation such as SoftMargin().")
    return plain_settings(formulation)


def plain_settings(formulation: Formulation) -> Formulation:
    """The formulation with NumPy's numbers among its settings turned into Python's own, since fractions need these."""
    if not is_dataclass(formulation) or isinstance(formulation, type):
        return formulation
    numpys = {name: each.item() for name, each in vars(formulation).items() if isinstance(each, np.generic)}
    return replace(formulation, **numpys) if numpys else formulation
