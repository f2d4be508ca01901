"""Backends that lie, each an adapter `run(program, options, hint) -> Answer` around an honest answer."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np

from workbench.backends import BACKENDS
from workbench.backends.cone import Answer, ConeProgram

RNG = np.random.default_rng(0)
LIES: dict[str, Callable[..., Any]] = {}
ENDS: dict[str, Callable[..., Any]] = {}  # those that hang or end their process, for runs under a time limit


class Panic(BaseException):
    """As of a library in another language; no `Exception`."""


def honest(program: ConeProgram, options: dict[str, Any], hint: Answer | None) -> Answer:
    chosen = BACKENDS["CLARABEL" if program.soc or program.exp else "PIQP"]
    return chosen.run(program, chosen.options(1e-12), None)


def lie(name: str) -> Callable[[Callable[[Answer, ConeProgram], Any]], Callable[..., Any]]:
    """Register an adapter that answers `change(honest answer, program)`."""

    def registered(change: Callable[[Answer, ConeProgram], Any]) -> Callable[..., Any]:
        @wraps(change)
        def run(program: ConeProgram, options: dict[str, Any], hint: Answer | None) -> Any:
            return change(honest(program, options, hint), program)

        LIES[name] = run
        return run

    return registered


def x_and_z(name: str, x: Callable[[Any], Any] = lambda x: x, z: Callable[[Any], Any] = lambda z: z) -> None:
    lie(name)(lambda answer, _: replace(answer, x=x(answer.x), z=z(answer.z)))


def noisy(scale: float) -> Callable[[Any], Any]:
    return lambda v: v + scale * RNG.normal(size=v.shape)


def one_nan(v: Any) -> Any:
    return np.concatenate([v[:-1], [np.nan]])


x_and_z("right")
x_and_z("x a little wrong", noisy(1e-3))
x_and_z("x plainly wrong", noisy(10.0))
x_and_z("x zero", np.zeros_like)
x_and_z("x of the other sign", np.negative)
x_and_z("x huge", lambda x: np.full_like(x, 1e300))
x_and_z("x infinite", lambda x: np.full_like(x, np.inf))
x_and_z("x NaN", lambda x: np.full_like(x, np.nan))
x_and_z("x with one NaN", one_nan)
x_and_z("x too short", lambda x: x[:-1])
x_and_z("x too long", lambda x: np.append(x, 1.0))
x_and_z("x empty", lambda x: x[:0])
x_and_z("x permuted", lambda x: x[::-1].copy())
x_and_z("x in single precision", lambda x: x.astype(np.float32))
x_and_z("x whole numbers", lambda x: x.astype(np.int64))
x_and_z("x subnormal", lambda x: np.full_like(x, 5e-324))
x_and_z("z wrong", z=noisy(1.0))
x_and_z("z zero", z=np.zeros_like)
x_and_z("z negative", z=lambda z: -np.abs(z) - 1)
x_and_z("z a million times", z=lambda z: 1e6 * z)
x_and_z("z NaN", z=lambda z: np.full_like(z, np.nan))
x_and_z("z infinite", z=lambda z: np.full_like(z, np.inf))
x_and_z("z of another length", z=lambda z: z[:0])
x_and_z("x and z exchanged", lambda x: x, lambda z: z[::-1].copy())
x_and_z("x and z wrong", noisy(1.0), noisy(1.0))
lie("status of failure")(lambda answer, _: replace(answer, status="failed horribly"))
lie("status of success, no answer")(lambda answer, _: replace(answer, x=answer.x * np.nan, status="optimal"))
lie("status of success, zeros")(lambda answer, _: replace(answer, x=0 * answer.x, z=0 * answer.z, status="optimal"))
lie("status with escapes")(lambda answer, _: replace(answer, x=answer.x * np.nan, status="\x1b[31mfine\n\x07"))
lie("infeasible, a ray at random")(
    lambda answer, _: replace(answer, infeasible=True, z=np.abs(RNG.normal(size=answer.z.shape)), status="infeasible")
)
lie("infeasible, no ray")(lambda answer, _: replace(answer, infeasible=True, z=0 * answer.z, status="infeasible"))
lie("infeasible, a NaN ray")(lambda answer, _: replace(answer, infeasible=True, z=answer.z * np.nan))
lie("says that it was stopped")(lambda answer, _: replace(answer, stopped=True, status="limit"))
lie("iterations negative")(lambda answer, _: replace(answer, iterations=-7))
lie("None")(lambda answer, _: None)
lie("a word")(lambda answer, _: "optimal")
lie("a tuple")(lambda answer, _: (answer.x, answer.z))


@lie("right every other time")
def alternating(answer: Answer, _: ConeProgram) -> Answer:
    return answer if RNG.random() < 0.5 else replace(answer, x=answer.x * RNG.normal(), z=answer.z * RNG.random())


@lie("prints to stdout")
def printing(answer: Answer, _: ConeProgram) -> Answer:
    os.write(1, b"I am a backend\n")
    return answer


@lie("spoils the program")
def spoiling(answer: Answer, program: ConeProgram) -> Answer:
    program.q[:], program.b[:] = np.nan, 7.0
    return answer


def raising(name: str, error: BaseException) -> None:
    @lie(f"raises {name}")
    def run(answer: Answer, _: ConeProgram) -> Any:
        raise error


raising("ValueError", ValueError("two\nlines and \x1b[31m red"))
raising("ZeroDivisionError", ZeroDivisionError())
raising("MemoryError", MemoryError("too much"))
raising("RecursionError", RecursionError())
raising("a panic", Panic("unreachable code"))
raising("StopIteration", StopIteration())
raising("AssertionError", AssertionError())


def ending(function: Callable[..., Any]) -> Callable[..., Any]:
    ENDS[function.__name__] = function
    return function


@ending
def hangs(program: Any, options: Any, hint: Any) -> Any:
    time.sleep(600)


@ending
def hangs_busily(program: Any, options: Any, hint: Any) -> Any:
    while True:
        np.linalg.norm(np.ones(10**6))


@ending
def leaves(program: Any, options: Any, hint: Any) -> Any:
    os._exit(7)


@ending
def exits(program: Any, options: Any, hint: Any) -> Any:
    sys.exit("enough")


@ending
def crashes(program: Any, options: Any, hint: Any) -> Any:
    os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(600)


@ending
def aborts(program: Any, options: Any, hint: Any) -> Any:
    os.abort()


@ending
def answers_late(program: Any, options: Any, hint: Any) -> Any:
    time.sleep(1.3)
    return honest(program, options, hint)


@ending
def writes_to_the_pipe(program: Any, options: Any, hint: Any) -> Any:
    os.write(1, b"\x00" * 64)
    return honest(program, options, hint)
