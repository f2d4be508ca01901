"""Versions of installed packages, each looked up once: the search takes as long as a small solve."""

from __future__ import annotations

from functools import cache
from importlib import metadata


@cache
def installed_version(package: str) -> str | None:
    """The version of an installed package; None where it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
