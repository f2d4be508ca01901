"""Both bounds of any kind of formulation: the one function that says which class computes them.

    kind        bounds            lower bound proven by
    CutForm     `Bounds`          dual weights of cuts
    SmoothForm  `SmoothBounds`    θ alone
    Search      `CappedBounds`    a search tree
    TextForm    `TextBounds`      `solve`, about the program with the cuts found
    Factored    `DyadicBounds`    slopes of a convex dual
    Majorized   none: an alternation proves no bound of its whole

`wb.Bounds(formulation, problem)` is this function under its public name.
"""

from __future__ import annotations

from typing import overload

from workbench.contracts import CutForm, Factored, Formulation, Majorized, Problem, Search, SmoothForm, text_alone
from workbench.errors import BadInput, MissingCapability
from workbench.proofs.bounds import Bounds as CutBounds
from workbench.proofs.capped import CappedBounds
from workbench.proofs.dyadic import DyadicBounds
from workbench.proofs.smooth import SmoothBounds
from workbench.proofs.text import TextBounds

AnyBounds = CutBounds | SmoothBounds | CappedBounds | DyadicBounds


@overload
def bounds_for(formulation: Search, problem: Problem) -> CappedBounds: ...


@overload
def bounds_for(formulation: SmoothForm, problem: Problem) -> SmoothBounds: ...


@overload
def bounds_for(formulation: CutForm, problem: Problem) -> CutBounds: ...


@overload
def bounds_for(formulation: Formulation, problem: Problem) -> AnyBounds: ...


def bounds_for(formulation: Formulation, problem: Problem) -> AnyBounds:
    """The bounds that the formulation's kind asks for.

    Raises
    ------
    MissingCapability : the formulation is an alternation, which has no bounds, or it does not fit the problem
    BadInput : what is given as formulation is none
    """
    if isinstance(formulation, Search):
        return CappedBounds(formulation, problem)
    if isinstance(formulation, SmoothForm):
        return SmoothBounds(formulation, problem)
    if isinstance(formulation, CutForm):
        return CutBounds(formulation, problem)
    name = type(formulation).__name__
    if isinstance(formulation, Majorized):
        raise MissingCapability(
            f"{name} alternates between convex programs and has no bounds of its whole; ask for those of its "
            f"convex program, {name}(…).surrogate(problem, state)."
        )
    if isinstance(formulation, Factored):
        return DyadicBounds(formulation, problem)
    if text_alone(formulation):
        return TextBounds(formulation, problem)
    raise BadInput(f"{name} is no formulation; write for example Bounds(SoftMargin(), problem).")


Bounds = bounds_for
