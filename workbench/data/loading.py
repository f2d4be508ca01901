"""From a user's word to the function that builds a problem: a registered name, a Python file, or a data file."""

from __future__ import annotations

from collections.abc import Callable
from os.path import isdir  # False for names that no file can have, too
from pathlib import Path
from typing import Any

from workbench.data.hints import text_command
from workbench.errors import BadInput
from workbench.registries import dashed, is_path, load_user_file, registry


def load_problem(name_or_path: str | Path) -> Callable[..., Any]:
    """The function that builds a problem: that of a registered name, or of a user's .py or data file.

    A Python file runs with the user's rights, and exports NAMES with one entry, or a function, class or object called
    `problem`.
    """
    path = Path(name_or_path)
    named = isinstance(name_or_path, str) and not is_path(name_or_path)
    if name_or_path and isdir(path) and not (named and dashed(str(name_or_path)) in registry("problem").objects):
        raise BadInput(f"{path} is a folder and no problem; {text_command(path)} reads a folder of texts.")
    if named:
        return registry("problem").get(str(name_or_path))
    if path.suffix.lower() != ".py":
        from workbench.data.readers import data_problem  # imports numerical packages

        return data_problem(path)
    found = load_user_file(path, "problem", "problem")
    if len(found) > 1:
        raise BadInput(f"{path} registers {len(found)} problems ({', '.join(sorted(found))}); leave one in NAMES.")
    (problem,) = found.values()
    return problem if callable(problem) else as_function(problem)


def as_function(problem: Any) -> Callable[[], Any]:
    """The function without settings that returns what a user's file calls `problem`, if that is an object."""

    def built() -> Any:
        return problem

    return built
