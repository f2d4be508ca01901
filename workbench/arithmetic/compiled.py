"""numba, used here, in sealed.py, meeting.py and ahead.py only: ahead-of-time signatures, compiled once per machine.

A function that takes numba *dispatchers* as arguments is compiled again in every process. Functions
typed by `types.FunctionType` are plain pointers: with explicit signatures the machine code depends on
types alone, numba's disk cache finds it, and a second process starts in milliseconds. Never
`fastmath`: the compiled arithmetic is the interpreted one, to the last bit.

A compiled function may call its arguments, builtins and numpy, and no other Python function. It copies arrays in loops:
`a[:] = b` brings along the text of an error, which takes each process two seconds to compile. Python's lock is free
while the function runs, so threads work side by side; each needs a kernel of its own, whose data may be written to.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from threading import RLock
from typing import Any

import numpy as np

from workbench.contracts import Kernel

FOUND: dict[Any, Callable[..., Any]] = {}  # what `compiled_function` returned
COMPILING = RLock()  # filters of warnings, and what numba is told, are those of all threads
OWNED = 4  # NumPy's flag of an array that owns its memory, which is no part of its type


def available() -> bool:
    """Whether numba can be imported (without importing it)."""
    return find_spec("numba") is not None


def compiled_kernel(kernel: Kernel) -> Kernel:
    """The kernel with its functions compiled for the types of its data, the kernels in its data first."""
    kernel = nested(kernel)
    slope, argmax = kernel_types(kernel)
    found, added = compiled(kernel.argmax_into, argmax), compiled(kernel.add_slope, slope)
    return kernel._replace(argmax_into=found, add_slope=added)


def nested(kernel: Kernel) -> Kernel:
    """The kernel with the kernels in its data compiled entirely; numba knows them as plain tuples."""
    if not any(isinstance(each, Kernel) for each in kernel.data):
        return kernel
    data = tuple(
        tuple(entirely(each)._replace(place=None)) if isinstance(each, Kernel) else each for each in kernel.data
    )
    return kernel._replace(data=data)


def entirely(kernel: Kernel) -> Kernel:
    """The kernel with all functions that it has compiled."""
    kernel = compiled_kernel(kernel)
    slope = kernel.slope_into and compiled(kernel.slope_into, signature(kernel, "slope_into"))
    reads = kernel.reads_into and compiled(kernel.reads_into, signature(kernel, "reads_into"))
    parts = kernel.parts_into and compiled(kernel.parts_into, signature(kernel, "parts_into"))
    return kernel._replace(slope_into=slope, reads_into=reads, parts_into=parts)


def sealed(kernel: Kernel, *names: str) -> Kernel:
    """The kernel with these functions compiled, over data of one type for all kernels; see arithmetic/sealed.py.

    A loop over such kernels is compiled once, and not for every output structure anew.
    """
    from workbench.arithmetic import sealed as words

    kernel = nested(kernel)
    own = {name: compiled(getattr(kernel, name), signature(kernel, name)) for name in names}
    data, held = kind(kernel.data), (words.table(kernel.data, kind(kernel.data), own),)
    openers = {name: words.opener(name, data, each.nopython_signatures[0]) for name, each in own.items()}
    kernel = kernel._replace(data=held)
    return kernel._replace(**{name: compiled(each, signature(kernel, name)) for name, each in openers.items()})


def barrier() -> tuple[Callable[..., int], Any, Callable[[Any], None]]:
    """`meet` of arithmetic/meeting.py, compiled; a gate for it; and `leave`."""
    from numba import types

    from workbench.arithmetic.meeting import GATE, leave, meet

    return compiled(meet, types.int64(types.int64[::1], types.int64)), np.zeros(GATE, np.int64), leave


def exchange(count: int) -> tuple[Callable[..., int], Any, Callable[[Any], None]]:
    """`exchange` of arithmetic/meeting.py, compiled; a gate for so many threads; and `leave`."""
    from workbench.arithmetic.lines import LINE
    from workbench.arithmetic.meeting import OWN, leave

    return exchanging(), np.zeros(OWN + LINE * count, np.int64), leave


@cache
def exchanging() -> Callable[..., int]:
    """The function of `exchange`; numba takes longer to write its signature down than a short loop takes."""
    from numba import types

    from workbench.arithmetic.meeting import exchange as exchanged

    return compiled(exchanged, types.int64(types.int64[::1], *[types.int64] * 3))


@cache
def say() -> Callable[..., None]:
    """`say` of arithmetic/meeting.py, compiled."""
    from numba import types

    from workbench.arithmetic.meeting import say as said

    return compiled(said, types.void(types.int64[::1], types.int64, types.int64))


@cache
def claim() -> Callable[..., int]:
    """`claim` of arithmetic/meeting.py, compiled."""
    from numba import types

    from workbench.arithmetic.meeting import claim as claimed

    return compiled(claimed, types.int64(types.int64[::1]))


@cache
def ahead() -> Callable[..., None]:
    """`ahead` of arithmetic/ahead.py, compiled."""
    from numba import types

    from workbench.arithmetic.ahead import ahead as asked

    whole, table = types.int64[::1], types.float64[:, ::1]
    place = whole, types.float64[::1], types.int64[:, ::1], whole, *[types.int64] * 4, table
    return compiled(asked, types.void(*place))


def compiled_sweep(sweep: Callable[..., object], kernel: Kernel, arguments: tuple[Any, ...]) -> Callable[..., None]:
    """sweep(argmax_into, add_slope, data, *arguments), compiled for the types of the arguments."""
    from numba import typeof, types

    slope, argmax = kernel_types(kernel)
    functions = types.FunctionType(argmax), types.FunctionType(slope)
    return compiled(sweep, types.void(*functions, kind(kernel.data), *map(typeof, arguments)))


def compiled_function(
    function: Callable[..., Any], arguments: tuple[Any, ...], returns: str = "float64", packed: bool = False
) -> Callable[..., Any]:
    """A function to one number, or to "floats", compiled for the types of its arguments, functions among them, too.

    packed : as of `compiled`
    """
    key = function, returns, tuple(map(trait, arguments))
    if key not in FOUND:
        from numba import types

        result = types.float64[::1] if returns == "floats" else getattr(types, returns)
        FOUND[key] = compiled(function, result(*map(kind, arguments)), packed)
    return FOUND[key]


def trait(argument: Any) -> Any:
    """What tells the type of an argument, faster to find and to compare than numba's types."""
    if type(argument) is np.ndarray:
        return argument.dtype, argument.ndim, argument.flags.num & ~OWNED
    if isinstance(argument, tuple):
        return type(argument), *map(trait, argument)
    if hasattr(type(argument), "nopython_signatures"):  # asked of the class: an object makes the list anew
        return argument
    return type(argument) if isinstance(argument, bool | int | float | np.generic) else kind(argument)


@cache
def direct(function: Any) -> Callable[..., Any]:
    """The machine code of a compiled function, for arguments of exactly its types: their types are not looked up again.

    The look-up takes 0.2 ms where functions are among them, and finding the machine code 1 ms.
    """
    return function.overloads[function.nopython_signatures[0].args].entry_point


def kind(argument: Any) -> Any:
    """The type of an argument; of a compiled function, its signature, also inside of tuples."""
    from numba import typeof, types

    if type(argument) is tuple:
        return types.Tuple(tuple(map(kind, argument)))
    signatures = getattr(argument, "nopython_signatures", None)
    return types.FunctionType(signatures[0]) if signatures else typeof(argument)


def signed(result: Any, *examples: Any) -> Any:
    """The signature of a function of such arguments and of such a result; a signature stands for a function."""
    from numba import typeof, types
    from numba.core.typing.templates import Signature

    arguments = [types.FunctionType(each) if isinstance(each, Signature) else typeof(each) for each in examples]
    return (types.void if result is None else typeof(result))(*arguments)


def kernel_types(kernel: Kernel) -> tuple[Any, Any]:
    """Signatures of (add_slope, argmax_into), see `structures.Kernel`."""
    return signature(kernel, "add_slope"), signature(kernel, "argmax_into")


def signature(kernel: Kernel, name: str) -> Any:
    """The signature of one of the kernel's functions, see `structures.Kernel`."""
    from numba import types

    data, i, ints, floats = kind(kernel.data), types.int64, types.int64[::1], types.float64[::1]
    if name == "argmax_into":
        return types.float64(data, floats, i, ints)
    if name == "add_slope":
        return types.void(data, i, ints, types.float64, floats)
    if name == "parts_into":
        return types.int64(data, i, ints, ints, types.int64[:, ::1], floats)
    return types.int64(data, i, ints, ints, floats) if name == "slope_into" else types.int64(data, i, ints)


@contextlib.contextmanager
def packing(wanted: bool) -> Iterator[None]:
    """Like operations on neighbouring numbers become one operation of the processor, if `wanted`.

    numba does so on request only, since LLVM's pass was wrong at times (numba's pull request 8852). So the request is
    for loops that propose weights, and for none that a proof relies on.
    """
    from numba.core import config

    settings = config.__dict__  # where numba puts what it reads of the environment; no name is declared
    before, settings["SLP_VECTORIZE"] = settings["SLP_VECTORIZE"], int(wanted)
    try:
        yield
    finally:
        settings["SLP_VECTORIZE"] = before


@cache
def compiled(function: Callable[..., Any], signature: Any, packed: bool = False) -> Callable[..., Any]:
    """njit with one explicit signature, on disk where the function has a file, once per process.

    packed : eight numbers in eight variables are computed side by side (`packing`)
    """
    import numba
    from numba.core.sigutils import normalize_signature

    with COMPILING, warnings.catch_warnings(), packing(packed):
        warnings.simplefilter("ignore", numba.NumbaExperimentalFeatureWarning)  # first-class functions
        try:
            try:
                found = numba.njit(signature, cache=True, nogil=True)(function)
            except (AttributeError, ImportError):  # the index on disk names a class that has another name by now
                stale = numba.njit(function, cache=True, nogil=True)
                stale._cache.flush()  # pyright: ignore[reportAttributeAccessIssue] (not in numba's types)
                found = numba.njit(signature, cache=True, nogil=True)(function)
            if found.nopython_signatures[0].args == normalize_signature(signature)[0]:
                return known(found)
            # Two processes that save at once may leave numba's index naming the other's code.
        except RuntimeError as error:  # typed at a prompt, or nowhere to write
            if "cannot cache" not in str(error):
                raise
        return known(numba.njit(signature, nogil=True)(function))  # for this process


def known(found: Callable[..., Any]) -> Callable[..., Any]:
    """The compiled function, whose only signature and addresses are known where it is an argument of another.

    Looking the signature up hashes the types of all arguments, which is 0.1 ms for each function that a loop is given;
    one of the two addresses asks the engine, 0.05 ms.
    """
    only = found.overloads[found.nopython_signatures[0].args]
    only.library.get_pointer_to_function = cache(only.library.get_pointer_to_function)
    found.get_compile_result = lambda _: only
    return found
