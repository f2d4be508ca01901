"""Kernels whose data are of one type, so that a loop over kernels is compiled once for all output structures.

numba compiles a loop anew for every type of its arguments, and the data of each structure's kernel are a tuple of its
own type. A sealed kernel has one array of 64-bit words as data: where its arrays stand in memory, their lengths and
strides, its numbers, and where its compiled functions begin. Each of its functions first opens the words, which takes
nanoseconds, and then calls the kernel's own function on the data of before. Nothing is copied: the arrays stay where
they are, and the words keep them alive.

This file is imported by `compiled.py` only, when something is compiled.
"""

# numba passes the typing context of an intrinsic itself; its types and ctypes' arrays have members that no stub knows
# pyright: reportCallIssue=false, reportAttributeAccessIssue=false, reportArgumentType=false

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from workbench.contracts import Floats, Ints

# a table begins with the addresses of these
ROLES: tuple[str, ...] = ("argmax_into", "add_slope", "slope_into", "reads_into", "parts_into")
KINDS: dict[str, Any] = {}  # what `opened` has to know while it is compiled: (type of the data, of the function, role)


def table(data: Any, kind: Any, functions: dict[str, Any]) -> Ints:
    """The words of compiled functions, by their roles, and of data of this type, which the array keeps alive."""
    numbers = [address(functions[role]) if role in functions else 0 for role in ROLES]
    numbers += words(data, kind)
    held = (ctypes.c_int64 * len(numbers))(*numbers)
    held.kept = data, functions
    return np.frombuffer(held, np.int64)


def address(function: Any) -> int:
    """Where a compiled function begins."""
    found = function.get_compile_result(function.nopython_signatures[0])
    return found.library.get_pointer_to_function(found.fndesc.llvm_func_name)


def words(value: Any, kind: Any) -> Iterator[int]:
    """The words of a value of this type, in the order in which `read` reads them."""
    if isinstance(kind, types.BaseTuple):
        for each, its in zip(value, kind.types, strict=True):
            yield from words(each, its)
    elif isinstance(kind, types.Array):
        yield from (value.ctypes.data, *value.shape, *value.strides)
    elif isinstance(kind, types.FunctionType):
        yield address(value)
    elif isinstance(kind, types.Float):
        yield int(np.float64(value).view(np.int64))
    elif isinstance(kind, types.Integer | types.Boolean):
        yield int(value)
    elif not isinstance(kind, types.NoneType):
        raise TypeError(f"a kernel's data hold arrays, numbers, tuples and functions, and no {kind}.")


def read(context: Any, builder: Any, kind: Any, base: Any, place: Iterator[int]) -> Any:
    """Machine code for a value of this type from the next words at `base`."""

    def word() -> Any:
        return builder.load(builder.gep(base, [context.get_constant(types.intp, next(place))]))

    if isinstance(kind, types.BaseTuple):
        return context.make_tuple(builder, kind, [read(context, builder, each, base, place) for each in kind.types])
    if isinstance(kind, types.Array):
        array = make_array(kind)(context, builder)
        data, *sides = (word() for _ in range(1 + 2 * kind.ndim))
        size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
        where = builder.inttoptr(data, array.data.type)
        populate_array(array, where, sides[: kind.ndim], sides[kind.ndim :], size, None)
        return array._getvalue()
    if isinstance(kind, types.FunctionType):
        function = cgutils.create_struct_proxy(kind)(context, builder)
        function.jit_addr = builder.inttoptr(word(), function.jit_addr.type)
        return function._getvalue()
    if isinstance(kind, types.NoneType):
        return context.get_dummy_value()
    wanted, held = context.get_value_type(kind), word()
    if isinstance(kind, types.Float):
        return builder.bitcast(held, wanted)
    return held if wanted == held.type else builder.trunc(held, wanted)


@intrinsic(prefer_literal=True)
def opened(typing: Any, table: Any, name: Any) -> Any:
    """(data, function) whose words stand in the table, of the types KINDS[name]."""
    data, function, role = KINDS[name.literal_value]
    both = types.Tuple((data, function))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base = make_array(table)(context, builder, arguments[0]).data
        held = read(context, builder, data, base, count(len(ROLES)))
        called = read(context, builder, function, base, count(ROLES.index(role)))
        return context.make_tuple(builder, both, (held, called))

    return both(table, name), generate


@cache
def opener(role: str, data: Any, signature: Any) -> Callable[..., Any]:
    """role(sealed data, …), which calls the function of this role and signature on data of this type; not yet compiled.

    Other types have other names, so that each has a file of its own on disk: processes that save at once then save the
    same.
    """
    name = hashlib.sha256(f"{role} {data}".encode()).hexdigest()[:16]
    KINDS[name] = data, types.FunctionType(signature), role

    def argmax_into(sealed: Any, theta: Floats, i: int, out: Ints) -> float:
        data, function = opened(sealed[0], name)
        return function(data, theta, i, out)

    def add_slope(sealed: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
        data, function = opened(sealed[0], name)
        function(data, i, out, scale, theta)

    def slope_into(sealed: Any, i: int, out: Ints, indices: Ints, values: Floats) -> int:
        data, function = opened(sealed[0], name)
        return function(data, i, out, indices, values)

    def reads_into(sealed: Any, i: int, indices: Ints) -> int:
        data, function = opened(sealed[0], name)
        return function(data, i, indices)

    def parts_into(sealed: Any, i: int, base: Ints, out: Ints, parts: Ints, offsets: Floats) -> int:
        data, function = opened(sealed[0], name)
        return function(data, i, base, out, parts, offsets)

    found = dict(zip(ROLES, (argmax_into, add_slope, slope_into, reads_into, parts_into), strict=True))[role]
    found.__qualname__ = f"{role}_{name}"
    return found
