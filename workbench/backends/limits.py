"""Limits that hold for a backend: a process of its own, which an alarm kills even inside native code.

The first solve under a limit starts one process for the backend, in half a second; the process then answers one program
after another. Threads that solve at once have processes of their own, for a pipe holds one question at a time. A
program is sent as arrays and numbers, the adapter's function as the names of its module and itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse

from workbench.backends.cone import Answer, ConeProgram, Matrix
from workbench.system.processes import Message, OutOfTime, Process

Adapter = Callable[[ConeProgram, dict[str, Any], Answer | None], Answer]
Key = tuple[str, Adapter, int | None]  # a backend's name, its function, and the thread that asks

STOPPED = "did not return within"
PARTS = ("data", "indices", "indptr")


class Watched(Process):
    """An adapter's function in a process of its own, which answers until an alarm kills the process."""

    def __init__(self, key: Key):
        super().__init__(answered)
        self.key = key
        self.name, self.run, _ = key

    def answer(
        self, program: ConeProgram, options: Mapping[str, object], hint: Answer | None, limit: float | None
    ) -> Answer:
        """The adapter's answer, without x if the limit of seconds came first."""
        numbers, arrays = packed(program, hint)
        numbers |= {"options": dict(options), "adapter": [self.run.__module__, self.run.__qualname__]}
        try:
            numbers, arrays = self.ask(numbers, arrays, limit)
        except OutOfTime:
            return Answer.said(None, None, f"{self.name} {STOPPED} {limit:.3g} s", False, None)
        return Answer(arrays["x"], arrays["z"], **numbers)

    def end(self) -> int:
        _RUNNING.pop(self.key, None)
        return super().end()


_RUNNING: dict[Key, Watched] = {}


def watched(name: str, run: Adapter) -> Watched:
    """The process of an adapter for this thread, started at the first call, and again if it has ended or is a parent's.

    Processes of threads that have ended end when another one is started.
    """
    key = name, run, threading.current_thread().ident
    process = _RUNNING.get(key)
    if process is None or not process.alive:
        threads = {each.ident for each in threading.enumerate()}
        for other in [each for each in list(_RUNNING.values()) if each.key[2] not in threads]:
            other.end()
        process = _RUNNING[key] = Watched(key)
    return process


def answered(numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> Message:
    """The work of a `Watched` process: the adapter's answer to the packed program."""
    module, name = numbers["adapter"]
    program, hint = unpacked(numbers, arrays)
    found = vars(import_module(module))[name](program, numbers["options"], hint)
    reply = {"status": found.status, "infeasible": found.infeasible, "iterations": found.iterations}
    return reply, {"x": found.x, "z": found.z}


def packed(program: ConeProgram, hint: Answer | None) -> Message:
    """A program and a hint as numbers and arrays; a sparse matrix as its three arrays."""
    numbers: dict[str, Any] = {"hint": hint is not None}
    arrays: dict[str, np.ndarray] = {}
    for name, value in vars(program).items():  # every field, so that a new field is sent, too
        if isinstance(value, sparse.sparray):
            matrix = sparse.csc_array(value)
            numbers[name] = matrix.shape
            arrays |= {f"{name}_{part}": array for part, array in zip(PARTS, parts(matrix), strict=True)}
        elif isinstance(value, np.ndarray):
            arrays[name] = value
        else:
            numbers[name] = value
    return numbers, arrays | ({"x": hint.x, "z": hint.z} if hint else {})


def parts(matrix: sparse.csc_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The three arrays of a sparse matrix, named PARTS."""
    return matrix.data, matrix.indices, matrix.indptr


def unpacked(numbers: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> tuple[ConeProgram, Answer | None]:
    """The inverse of `packed`."""

    def matrix(name: str) -> Matrix:
        if name in arrays:
            return arrays[name]
        return sparse.csc_array(tuple(arrays[f"{name}_{part}"] for part in PARTS), shape=numbers[name])

    plain = {name: numbers[name] for name in ("zero", "nonneg", "exp", "lower_zero")}
    program = ConeProgram(matrix("P"), arrays["q"], matrix("A"), arrays["b"], soc=tuple(numbers["soc"]), **plain)
    return program, Answer.said(arrays["x"], arrays["z"], "", False, None) if numbers["hint"] else None
