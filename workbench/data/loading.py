"""A user's word for a problem as the function that builds it: a registered name, a Python file, or a data file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.errors import BadInput
from workbench.registries import is_path, load_user_file, registry


def load_problem(name_or_path: str | Path) -> Callable[..., Any]:
    """What builds a problem: a registered name's function, or that of a user's .py or data file.

    A Python file runs with the user's rights. It exports NAMES with one entry, or one function or
    class called `problem`.
    """
    if isinstance(name_or_path, str) and not is_path(name_or_path):
        return registry("problem").get(name_or_path)
    path = Path(name_or_path)
    if path.suffix.lower() != ".py":
        from workbench.data.readers import data_problem  # numerical packages, which `--help` does without

        return data_problem(path)
    found = load_user_file(path, "problem", "problem")
    if len(found) > 1:
        raise BadInput(f"{path} registers {len(found)} problems ({', '.join(sorted(found))}); leave one in NAMES.")
    return next(iter(found.values()))
