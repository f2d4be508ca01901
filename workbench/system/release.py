"""The release of this package, in a module that imports nothing: `cutbench --version` and reports need no more."""

from __future__ import annotations

VERSION = "0.1.0"
