"""All backends: each file of the folder `adapters/` exports one."""

from __future__ import annotations

from pathlib import Path

from workbench.backends.adapter import Backend
from workbench.errors import BadInput, MissingCapability, UnknownName
from workbench.registries import Registry

ADAPTERS = Path(__file__).resolve().parent / "adapters"


def found(adapters: Registry) -> dict[str, Backend]:
    """Every backend by its own name, which is the registered name in capitals."""
    for name, each in adapters.items():
        if not isinstance(each, Backend) or each.name != name.upper():
            raise BadInput(
                f"The adapter {name!r} in {adapters.folder} is no Backend called {name.upper()}; correct its NAMES."
            )
    return {each.name: each for _, each in adapters.items()}


BACKENDS: dict[str, Backend] = found(Registry("backend", ADAPTERS, "workbench.backends.adapters"))


def backend(name: str) -> Backend:
    """The installed backend of a name, in capitals or small letters."""
    if not isinstance(name, str) or name.upper() not in BACKENDS:
        raise UnknownName("backend", str(name), BACKENDS)
    chosen = BACKENDS[name.upper()]
    if not chosen.installed:
        raise MissingCapability(f"{chosen.name} is not installed; pip install {chosen.package}.")
    return chosen
