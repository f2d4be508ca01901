"""What an output structure declares about proofs: with the member `exact`, that its certificates are proven.

A structure without `exact` is as legitimate: its certificates are conditional on its own file. No test asks for more.
"""

from __future__ import annotations

from workbench.contracts import Exact
from workbench.registries import registry


def proven_structures() -> list[str]:
    """The names of the structures that have `exact`, in the order of the registry."""
    return [name for name, kind in registry("output").items() if issubclass(kind, Exact)]
