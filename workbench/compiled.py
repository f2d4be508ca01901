"""numba, used in this file only: ahead-of-time signatures, so that compilation happens once per machine.

A function that takes numba *dispatchers* as arguments is compiled again in every process. Functions
typed by `types.FunctionType` are plain pointers: with explicit signatures the machine code depends on
types alone, numba's disk cache finds it, and a second process starts in milliseconds. Never
`fastmath`: the compiled arithmetic is the interpreted one, to the last bit.

What is compiled may call nothing but its arguments, builtins and numpy; no other Python function.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

from workbench.structures import Kernel


def available() -> bool:
    """Whether numba can be imported (without importing it)."""
    return find_spec("numba") is not None


def compiled_kernel(kernel: Kernel) -> Kernel:
    """The kernel with both functions compiled for the types of its data."""
    slope, argmax = kernel_types(kernel)
    return Kernel(kernel.data, compiled(kernel.argmax_into, argmax), compiled(kernel.add_slope, slope))


def compiled_sweep(sweep: Callable[..., None], kernel: Kernel, arguments: tuple[Any, ...]) -> Callable[..., None]:
    """sweep(argmax_into, add_slope, data, *arguments), compiled for the types of the arguments."""
    from numba import typeof, types

    slope, argmax = kernel_types(kernel)
    functions = types.FunctionType(argmax), types.FunctionType(slope)
    return compiled(sweep, types.void(*functions, typeof(kernel.data), *map(typeof, arguments)))


def compiled_function(function: Callable[..., float], arguments: tuple[Any, ...]) -> Callable[..., float]:
    """A function from arrays to one float, compiled for the types of its arguments."""
    from numba import typeof, types

    return compiled(function, types.float64(*map(typeof, arguments)))


def kernel_types(kernel: Kernel) -> tuple[Any, Any]:
    """Signatures of (add_slope, argmax_into), see `structures.Kernel`."""
    from numba import typeof, types

    data, theta, witness = typeof(kernel.data), types.float64[::1], types.int64[::1]
    slope = types.void(data, types.int64, witness, types.float64, theta)
    return slope, types.float64(data, theta, types.int64, witness)


@cache
def compiled(function: Callable[..., Any], signature: Any) -> Callable[..., Any]:
    """njit with one explicit signature, on disk where the function has a file, once per process."""
    import numba

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", numba.NumbaExperimentalFeatureWarning)  # first-class functions
        try:
            return numba.njit(signature, cache=True)(function)
        except RuntimeError as error:  # typed at a prompt, or nowhere to write: compile for this process
            if "cannot cache" not in str(error):
                raise
            return numba.njit(signature)(function)
