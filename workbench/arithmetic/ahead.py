"""Rows of a table that a loop needs next, brought near by the memory while the loop does something else.

`ahead(table, rows, start, stop)` asks for the rows table[rows[start:stop]], line by line of the cache, and does not
wait. Nothing is read or written, so no result depends on it.

This file is imported by `compiled.py` only, when something is compiled.
"""

# numba passes the typing context of an intrinsic itself, which no stub knows
# pyright: reportCallIssue=false

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from workbench.contracts import Floats, Ints

LINE = 8  # numbers in a line of the cache
FOR_WRITING, SOON, DATA = 1, 3, 1  # LLVM's words: the line will be written to, stays in all caches, and is no code


@intrinsic
def fetched(typing: Any, array: Any, place: Any) -> Any:
    """Asks for the line of the cache that holds the number at this place of the array's memory."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base = make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, word = cgutils.voidptr_t, ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        at = builder.bitcast(builder.gep(base, [arguments[1]]), byte)
        builder.call(function, [at, word(FOR_WRITING), word(SOON), word(DATA)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


def ahead(table: Floats, rows: Ints, start: int, stop: int) -> None:
    """Asks for table[rows[start:stop]], of a table whose rows lie one behind another."""
    width = table.shape[1]
    for j in range(start, stop):
        first = rows[j] * width
        for at in range(first, first + width, LINE):
            fetched(table, at)
