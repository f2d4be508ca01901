"""The journal of a `solve`: begun in a folder, or continued for the same data, formulation and groups; checkpoints.

Cut generation and alternations write a line for each finished round. The convex programs of an alternation's round at
work have journals of their own inside (`Journal.inner`), which belong to that round and need no comparison. A loop
without such rounds keeps a **checkpoint**: numbers and arrays from which the loop goes on, one file that is replaced as
a whole.

    loop      keeps                                                            in
    passes    witnesses and weights of the cuts of dual-block, gaps so far     masters/passes.py
    descent   θ, the rounds so far                                             smooth.py
    search    the tree, the open boxes, the best θ                             branch_and_bound.py

A checkpoint is due every EVERY seconds, or as seldom as keeps the time for writing below a tenth. A loop trusts no
bound of a checkpoint: θ, witnesses, weights and trees are a start, and bounds are computed anew from the data.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numpy.typing import NDArray

from workbench.contracts import Formulation, Numbers, Problem
from workbench.errors import BadInput, CutbenchError, NotSeparable
from workbench.proofs.certificate import arrays_of, data_sha256, named, versions
from workbench.solving.request import Request
from workbench.system.journal import PROGRAMS, Entry, Journal

EVERY = 2.0  # seconds between two checkpoints


class Checkpoints:
    """The checkpoints of one loop; without a journal none is kept and none is due.

    last : the checkpoint from which the loop goes on, None at the beginning of a run
    """

    def __init__(self, journal: Journal | None, loop: str):
        self.journal, self.loop = journal, loop
        self.last: Entry | None = journal.standing(loop) if journal else None
        self.ready = time.perf_counter() + EVERY

    @property
    def due(self) -> bool:
        return self.journal is not None and time.perf_counter() >= self.ready

    def keep(self, numbers: Numbers, **arrays: NDArray) -> None:
        """Replace the checkpoint of the loop."""
        if self.journal is None:
            return
        began = time.perf_counter()
        self.journal.checkpoint(self.loop, numbers, arrays)
        now = time.perf_counter()
        self.ready = now + max(EVERY, 10 * (now - began))


@contextmanager
def journalled(
    journal: str | Path | Journal | None, formulation: Formulation, problem: Problem, request: Request
) -> Iterator[Journal | None]:
    """The journal of this run, begun or continued; after an error a journal that holds no work is deleted."""
    if journal is None:
        yield None
        return
    with opened(journal, formulation, problem, request) as record:
        try:
            yield record
        except CutbenchError as error:
            if isinstance(error, NotSeparable) or record.empty:
                record.discard()
            raise


def opened(journal: str | Path | Journal, formulation: Formulation, problem: Problem, request: Request) -> Journal:
    """The journal of this request: a new journal in a folder, or the `Journal` itself.

    Raises `BadInput` if that `Journal` is about other data or another formulation.
    """
    if isinstance(journal, Journal) and journal.settings.get("command") == PROGRAMS:
        return journal
    settings = {"command": "solve", "folder": os.getcwd(), "source": request.source, "options": request.options}
    settings |= {
        "formulation": named(formulation),
        "data_sha256": data_sha256(arrays_of(problem)),
        "versions": versions(),
    }
    if isinstance(journal, str | Path):
        return Journal.create(journal, settings)
    if not isinstance(journal, Journal):
        raise BadInput(f"journal is {journal!r}; give the name of a folder.")
    with journal.closed_on_error():
        same_run(journal, settings)
    return journal


def same_run(journal: Journal, settings: Numbers) -> None:
    """`BadInput` unless the journal is about the data, formulation and groups of `settings`."""
    old, new = journal.settings, settings
    if old["data_sha256"] != new["data_sha256"]:
        raise BadInput(
            f"The data have changed since the run in {journal.run} began (sha256 {new['data_sha256'][:12]}… instead "
            f"of {old['data_sha256'][:12]}…); restore the data, or solve again into another folder."
        )
    for what, before, now in (
        ("formulation", old["formulation"], new["formulation"]),
        ("groups", old["options"]["groups"], new["options"]["groups"]),
    ):
        if before != now:
            raise BadInput(
                f"The run in {journal.run} has the {what} {before}, not {now}; continue the run with these, or solve "
                f"into another folder."
            )
