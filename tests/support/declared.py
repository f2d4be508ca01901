"""Whose certificates are promised to be proven. Tests of proofs ask for a definition in both checkers of these only.

An output structure promises it by its member `exact`. A formulation does by its name in PROMISED, or by the definition
that the checker has already; the certificate of an alternation is about a convex program of another name. What promises
nothing is as legitimate: its certificates are conditional on its own file.
"""

from __future__ import annotations

from workbench.contracts import Exact, Majorized
from workbench.proofs.checker import Formulation
from workbench.registries import registry

PROMISED = {
    "completed-ssvm",
    "crf",
    "fixed-cost",
    "hard-margin",
    "normalized-cost-learning",
    "nuclear-dyadic",
    "perceptron",
    "self-paced",
    "simplex-cost-learning",
    "soft-margin",
    "weighted-risk",
}


def proven_structures() -> list[str]:
    """The names of the output structures that have `exact`, in the order of the registry."""
    return [name for name, kind in registry("output").items() if issubclass(kind, Exact)]


def proven_formulations() -> list[str]:
    """The names of the formulations whose certificates are proven, in the order of the registry."""
    defined = PROMISED | {name for name, _ in Formulation.known}
    return [name for name, kind in registry("formulation").items() if name in defined or isinstance(kind(), Majorized)]
