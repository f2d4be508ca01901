"""A problem and a formulation in another process: how it finds their classes, and builds the problem again.

problem of ours, or of a user's module     its class, by module or file, and its arrays
problem of a user's functions              its problem file with the settings, which runs there again
formulation                                its class and its settings
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Formulation, Numbers, Problem, Recording
from workbench.errors import MissingCapability
from workbench.proofs.certificate import written
from workbench.registries import load_file, load_user_file, see_beside

Arrays = dict[str, NDArray]


def address(thing: Any) -> list[str]:  # a user's class or function, or one of ours
    """[how, place, name] by which another process finds a class or a function.

    Raises `MissingCapability` for what stands in no module or file, as in a notebook.
    """
    module = getattr(thing, "__module__", "__main__")  # a user's object may have no names
    name = getattr(thing, "__qualname__", type(thing).__name__)  # a user's object may have no names
    home = sys.modules.get(module)
    found: object = home
    for part in name.split("."):
        found = getattr(found, part, None)  # by its qualified name
    if home is None or found is not thing or module == "__main__":
        raise MissingCapability(
            f"{name} is in no module that another process could import; put it into a file, or set no limit of seconds."
        )
    return ["path", str(home.__file__), name] if module.startswith("_cutbench_") else ["module", module, name]


def found_at(how: str, place: str, name: str) -> Any:  # a user's class or function, or one of ours
    """What `address` is about."""
    if how == "path":
        see_beside(Path(place))
    found: object = load_file(Path(place), "sent") if how == "path" else import_module(place)
    for part in name.split("."):
        found = getattr(found, part)  # by its qualified name
    return found


def origin(problem: Problem) -> list[Any]:  # words, and the settings of a problem file
    """[how, place, name or settings] by which another process builds the problem, with its arrays or its file."""
    if not isinstance(problem, Recording):
        return address(type(problem))
    if problem.origin is None:
        raise MissingCapability(
            "A problem of your own functions reaches another process by its file only; put it into a problem file and "
            "use cutbench crosscheck, or judge a function, without a limit of seconds."
        )
    return ["build", *problem.origin]


def problem_at(how: str, place: str, name: Any, arrays: Arrays) -> Problem:  # settings, or a name
    """The problem that `origin` is about."""
    if how == "build":
        return next(iter(load_user_file(place, "problem", "problem").values()))(**name)
    return rebuilt(found_at(how, place, name), arrays)


def rebuilt(problem: Problem | type, arrays: Arrays) -> Problem:
    """A problem of the same kind from these arrays; indices of 32 bits where they suffice, as others want it."""
    kind: Any = problem if isinstance(problem, type) else type(problem)  # a user's class, too
    sizes = {key: arrays[key] for key in ("indices", "indptr") if key in arrays and len(arrays["data"]) < 2**31}
    return kind.from_arrays(arrays | {key: each.astype(np.int32) for key, each in sizes.items()})


def sent(formulation: Formulation, problem: Problem) -> tuple[Numbers, Arrays]:
    """The pair in words and arrays; `received` builds it again."""
    words = {"formulation": [address(type(formulation)), written(formulation)], "problem": origin(problem)}
    return words, {} if isinstance(problem, Recording) else problem.arrays()


def received(words: Numbers, arrays: Arrays) -> tuple[Formulation, Problem]:
    """The pair that `sent` sent."""
    kind, settings = words["formulation"]
    how, place, name = words["problem"]
    return found_at(*kind)(**settings), problem_at(how, place, name, arrays)
