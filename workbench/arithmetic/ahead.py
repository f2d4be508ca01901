"""Asking memory early for what a compiled loop needs next, so that it comes while the loop still works.

A loop that visits rows of a matrix in random order waits for each row, since no processor guesses the next one.

This file is imported by `compiled.py` only, when something is compiled.
"""

# numba passes the typing context of an intrinsic itself, which no stub knows
# pyright: reportCallIssue=false

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from workbench.arithmetic.lines import LINE
from workbench.contracts import Floats, Ints

READ, NEAR, DATA = 0, 3, 1  # for reading, into the nearest cache, no code: the arguments of LLVM's `prefetch`


@intrinsic
def fetched(typing: Any, array: Any, place: Any) -> Any:
    """The line of the cache that holds array[place] is on its way; nothing is read, and no place is wrong."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base = make_array(signature.args[0])(context, builder, arguments[0]).data
        line = builder.bitcast(builder.gep(base, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [line.type, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [line.type], kind)
        builder.call(prefetch, [line, number(READ), number(NEAR), number(DATA)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


def ahead(
    indices: Ints, values: Floats, parts: Ints, order: Ints, first: int, last: int, lane: int, until: int, table: Floats
) -> None:
    """Entries of a matrix's rows i = order[first], …, order[last − 1], and rows i of a table, are on their way.

    The entries of row i are those from parts[i, lane] to before parts[i, until].
    """
    for place in range(first, last):
        i = order[place]
        for j in range(parts[i, lane], parts[i, until], LINE):
            fetched(indices, j)
            fetched(values, j)
        row = table[i]
        for j in range(0, len(row), LINE):
            fetched(row, j)
