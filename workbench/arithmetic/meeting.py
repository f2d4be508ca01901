"""Where compiled threads meet: a barrier of plain memory, for loops that meet too often to ask Python each time.

`meet(gate, count)` comes back when `count` threads have called it on the same gate, and says 1; it says 0 if one of
them has left instead (`leave`), so that nobody waits for a thread that ended by an error. A gate is an array of GATE
zeros and serves any number of meetings. A thread that waits for long lets others have its core.

This file is imported by `compiled.py` only, when something is compiled.
"""

# numba passes the typing context of an intrinsic itself, which no stub knows
# pyright: reportCallIssue=false

from __future__ import annotations

import os
from typing import Any

from numba import types
from numba.core.types.functions import ExternalFunction
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from workbench.arithmetic.lines import LINE
from workbench.contracts import Ints

GATE = 24  # a gate's length; its three numbers stand in cache lines of their own
ARRIVED, MEETINGS, LEFT = 0, 8, 16  # the places of these numbers
OWN = 24  # where the lines of single threads begin (`exchange`)
SPINS = 2000  # looks before a thread offers its core

yielded: Any = ExternalFunction("sched_yield", types.int32()) if hasattr(os, "sched_yield") else None


@intrinsic
def added(typing: Any, array: Any, place: Any, number: Any) -> Any:
    """array[place] before `number` was added to it, as one step that no other thread can break."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base = make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.atomic_rmw("add", builder.gep(base, [arguments[1]]), arguments[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), generate


@intrinsic
def seen(typing: Any, array: Any, place: Any) -> Any:
    """array[place] as the memory holds it now, and all that other threads wrote before they wrote that."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base = make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load_atomic(builder.gep(base, [arguments[1]]), "acquire", 8)

    return types.int64(array, types.int64), generate


@intrinsic
def stored(typing: Any, array: Any, place: Any, number: Any) -> Any:
    """`number` into array[place], seen by other threads after all that this thread wrote before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base = make_array(signature.args[0])(context, builder, arguments[0]).data
        builder.store_atomic(arguments[2], builder.gep(base, [arguments[1]]), "release", 8)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), generate


def meet(gate: Ints, count: int) -> int:
    """1 when `count` threads have come, 0 if one has left."""
    meeting = seen(gate, MEETINGS)
    if added(gate, ARRIVED, 1) == count - 1:
        added(gate, ARRIVED, -count)
        added(gate, MEETINGS, 1)
        return 1
    looks = 0
    while seen(gate, MEETINGS) == meeting:
        if seen(gate, LEFT) != 0 and seen(gate, MEETINGS) == meeting:
            return 0
        looks += 1
        if looks > SPINS:
            yielded()
    return 1


def say(gate: Ints, place: int, number: int) -> None:
    """The thread at this place has come to the exchange of this number, for which it does not wait yet."""
    stored(gate, OWN + LINE * place, number)


def exchange(gate: Ints, place: int, count: int, number: int) -> int:
    """1 when `count` threads, each at a place of its own, have come to the exchange of this number; 0 if one has left.

    Numbers grow. What a thread wrote before it came, the others may read after theirs. One line of memory goes from
    each thread to each other, so that two threads meet in a tenth to a third of a microsecond.
    """
    stored(gate, OWN + LINE * place, number)
    for other in range(count):
        looks, at = 0, OWN + LINE * other
        while seen(gate, at) < number:
            if seen(gate, LEFT) != 0 and seen(gate, at) < number:
                return 0
            looks += 1
            if looks > SPINS:
                yielded()
    return 1


def claim(gate: Ints) -> int:
    """How often threads have called this on the gate before; each thread is told another number.

    The number stands where `meet` counts, so a gate serves one of the two.
    """
    return added(gate, ARRIVED, 1)


def leave(gate: Ints) -> None:
    """Nobody waits for this thread any more."""
    gate[LEFT] = 1
