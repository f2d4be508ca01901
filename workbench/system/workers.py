"""Workers that answer the same kind of question side by side, on this machine or on a cluster.

    with assembled("local:2", work, opening) as workers:
        answers = workers.ask([({"do": "argmax", "shard": 0}, {"theta": theta}), …], limit=5.0)

`work(numbers, arrays) -> (numbers, arrays)` is a function of a module, as in processes.py. The `opening` holds the
data: each worker gets them once, before its first question, and again when it was replaced, or when its work raises
`Unopened`. A worker that dies, raises or exceeds the limit gives the answer None, so it costs time and nothing else;
what answers claim is for the asker to check.

    local:N            N processes of this machine
    here:N             N workers in this process, one after the other, for simulations
    dask://HOST:PORT   the workers of a dask cluster (the extra `cluster`); tasks travel as bytes of NumPy's npz
"""

from __future__ import annotations

import io
import logging
import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from workbench.errors import BadInput, MissingCapability
from workbench.system.processes import Died, Message, OutOfTime, Process, Raised, Work, received, sent

MOST = 1024  # workers on one machine
OPENING = 600.0  # seconds that a process may take to start and to read the opening
REACH = 10.0  # seconds in which a scheduler must answer
SENDING = 300.0  # seconds in which the data must be with the workers
LOUD = ("distributed", "tornado")  # the loggers of a client
PATIENT = 3  # failures without an answer between them, after which a worker is given up


class Unopened(LookupError):
    """The work does not know the opening that a question is about."""


class Workers(ABC):
    """`size` workers; `lost` counts the answers that did not come, `why` says what became of the last of them."""

    size: int
    lost: int = 0
    why: str = ""

    @abstractmethod
    def ask(self, questions: Sequence[Message], limit: float | None = None) -> list[Message | None]:
        """The answers, in the order of the questions; None where there is none. `limit` in seconds for each."""

    @abstractmethod
    def end(self) -> None:
        """Let the workers go."""

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *failure: object) -> None:
        self.end()


class LocalWorkers(Workers):
    """Processes of this machine; question k goes to process k mod N."""

    def __init__(self, count: int, work: Work, opening: Message):
        self.size, self.work, self.opening = count, work, opening
        self.members: list[Process | None] = [None] * count
        self.failures = [0] * count
        self.pool = ThreadPoolExecutor(count)

    def ask(self, questions: Sequence[Message], limit: float | None = None) -> list[Message | None]:
        shares = [questions[k :: self.size] for k in range(self.size)]
        found = list(self.pool.map(lambda k: [self.one(k, each, limit) for each in shares[k]], range(self.size)))
        answers = [found[k % self.size][k // self.size] for k in range(len(questions))]
        self.lost += sum(each is None for each in answers)
        return answers

    def one(self, k: int, question: Message, limit: float | None) -> Message | None:
        """The answer of process k, which is started, or started again, if need be."""
        if self.failures[k] >= PATIENT:
            return None
        try:
            member = self.members[k]
            if member is None or not member.alive:
                member = self.members[k] = Process(self.work)
                member.ask(*self.opening, OPENING)
            answer = member.ask(*question, limit)
        except (OutOfTime, Died, Raised) as error:
            self.failures[k] += 1
            self.why = str(error) or "no answer in time"
            self.dismiss(k)
            return None
        self.failures[k] = 0
        return answer

    def dismiss(self, k: int) -> None:
        if member := self.members[k]:
            member.end()
        self.members[k] = None

    def end(self) -> None:
        self.failures = [PATIENT] * self.size
        with ThreadPoolExecutor(self.size) as pool:  # each takes a while to go
            list(pool.map(self.dismiss, range(self.size)))
        self.pool.shutdown()
        for k in range(self.size):  # who was starting just now
            self.dismiss(k)


class Here(Workers):
    """N workers in this process, one after the other: for simulations and tests."""

    def __init__(self, count: int, work: Work, opening: Message):
        self.size, self.work = count, work
        work(*opening)

    def ask(self, questions: Sequence[Message], limit: float | None = None) -> list[Message | None]:
        return [self.work(dict(numbers), arrays) for numbers, arrays in questions]

    def end(self) -> None:
        """Nobody has to go."""


class DaskWorkers(Workers):
    """The workers of a dask cluster; question k prefers worker k mod N, and any other takes it if that one is gone.

    dask writes tracebacks to its log when the cluster goes, and when Ctrl-C finds the client looking for it. `why` says
    what became of the workers, so the log stays silent.
    """

    def __init__(self, address: str, work: Work, opening: Message):
        from distributed import Client

        self.hush = ExitStack()
        self.hush.enter_context(muted(*LOUD))
        try:
            self.client = Client(address, timeout=REACH)
        except OSError as error:
            self.hush.close()
            raise BadInput(
                f"No dask scheduler answers at {address} ({type(error).__name__}); start one there."
            ) from None
        self.name, self.packed = [work.__module__, work.__qualname__], packed(opening)
        self.size = max(len(self.workers), 1)
        self.placed: Any = None

    @property
    def workers(self) -> list[str]:
        return sorted(self.client.scheduler_info(n_workers=-1)["workers"])

    def ask(self, questions: Sequence[Message], limit: float | None = None) -> list[Message | None]:
        end = None if limit is None else time.monotonic() + limit
        try:
            tasks = self.submitted(questions)
        except Exception as error:  # the last worker goes while the data are sent, or the scheduler has gone
            self.why, self.placed, tasks = f"{type(error).__name__}: {error}", None, []
        if not tasks:
            self.lost += len(questions)
            return [None] * len(questions)
        answers = [self.answer(task, end and max(end - time.monotonic(), 0.0)) for task in tasks]
        missing = sum(each is None for each in answers)
        if missing:  # whoever went may have held the only copy
            self.placed = None
        self.lost += missing
        return answers

    def submitted(self, questions: Sequence[Message]) -> list[Any]:
        """The tasks that the questions are, none without a worker."""
        workers = self.workers
        if not workers:
            return []
        if self.placed is None:
            self.placed = self.client.scatter(self.packed, broadcast=True, hash=False, timeout=SENDING)
        return [
            self.client.submit(
                carried, self.name, self.placed, packed(question),
                workers=[workers[k % len(workers)]], allow_other_workers=True, pure=False, retries=0,
            )
            for k, question in enumerate(questions)
        ]  # fmt: skip

    def answer(self, task: Any, limit: float | None) -> Message | None:  # of dask
        from distributed import TimeoutError as TooLate

        try:
            return read(task.result(timeout=limit))
        except TooLate:
            task.cancel()
            self.why = "no answer in time"
        except Exception as error:  # whatever the work or the cluster raises: there is no answer
            self.why = f"{type(error).__name__}: {error}"
        return None

    def end(self) -> None:
        try:
            self.client.close()
        finally:
            self.hush.close()


@contextmanager
def muted(*names: str) -> Iterator[None]:
    """No logger of these names, and none below them, writes anything in the block."""
    known = [each for each in logging.root.manager.loggerDict if each.startswith(tuple(f"{name}." for name in names))]
    loggers = [logging.getLogger(name) for name in (*names, *known)]
    before = [(each.handlers, each.propagate) for each in loggers]
    for each in loggers:
        each.handlers, each.propagate = [logging.NullHandler()], False
    try:
        yield
    finally:
        for each, (handlers, propagate) in zip(loggers, before, strict=True):
            each.handlers, each.propagate = handlers, propagate


def carried(name: list[str], opening: bytes, question: bytes) -> bytes:
    """The task of a dask worker: the work's answer, after the opening if that is new here."""
    work: Callable[..., Message] = vars(import_module(name[0]))[name[1]]
    try:
        return packed(work(*read(question)))
    except Unopened:
        work(*read(opening))
        return packed(work(*read(question)))


def packed(message: Message) -> bytes:
    buffer = io.BytesIO()
    sent(buffer, *message)
    return buffer.getvalue()


def read(content: bytes) -> Message:
    """The message that `packed` packed."""
    message = received(io.BytesIO(content))
    assert message is not None  # it is whole
    return message


def parsed(spec: str) -> tuple[str, int | str]:
    """("local", N) or ("dask", HOST:PORT) of a `spec`; `BadInput` for any other."""
    if found := re.fullmatch(r"(local|here)(?::(\d+))?", spec):
        count = int(found[2]) if found[2] else os.cpu_count() or 1
        if not 1 <= count <= MOST:
            raise BadInput(f"parallel is {spec!r}; give from 1 to {MOST} processes, for example local:2.")
        return found[1], count
    if found := re.fullmatch(r"dask://([^\s/:]+:\d+)", spec):
        return "dask", found[1]
    raise BadInput(f"parallel is {spec!r}; write local:N or dask://HOST:PORT.")


def assembled(spec: str, work: Work, opening: Message) -> Workers:
    """The workers that `spec` describes; see the module's docstring.

    Raises `BadInput` for another spec or a scheduler that does not answer, `MissingCapability` without dask.
    """
    kind, place = parsed(spec)
    if isinstance(place, int):
        return (LocalWorkers if kind == "local" else Here)(place, work, opening)
    if find_spec("distributed") is None:
        raise MissingCapability("dask:// needs the package distributed; pip install 'cutbench[cluster]'.")
    return DaskWorkers(f"tcp://{place}", work, opening)
