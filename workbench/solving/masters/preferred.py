"""The backends that masters take where the user names none: the first of each list that is installed."""

from __future__ import annotations

from workbench.backends import BACKENDS, Backend

PREFERRED = {"gram": ("PIQP", "CLARABEL", "OSQP", "SCS"), "compiled": ("CLARABEL", "ECOS", "SCS")}


def first_installed(kind: str) -> Backend | None:
    """The backend for a kind of master; None if none is installed."""
    return next((BACKENDS[name] for name in PREFERRED[kind] if BACKENDS[name].installed), None)
