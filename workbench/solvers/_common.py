"""What several solvers ask before they start: of their own settings, and of a formulation with r = λ/2 ‖w‖²."""

from __future__ import annotations

from collections.abc import Callable

from workbench.contracts import CutForm, Formulation, Intercepted, Ints, Problem, SmoothForm
from workbench.errors import BadInput
from workbench.objectives.regularizers import SquaredNorm

Late = Callable[[], bool]  # whether the time is over, asked between pieces of a pass


def never() -> bool:
    return False


def checked_average(average: str) -> None:
    """`BadInput` unless the returned weights are to be the weighted average of the iterates or the last one."""
    if average not in ("weighted", "last"):
        raise BadInput(f"average is {average!r}; choose 'weighted' or 'last'.")


def misfit_of_ridge(name: str, formulation: Formulation, problem: Problem, smooth: bool = False) -> str | None:
    """Why a solver for r = λ/2 ‖w‖² and finite prices cannot work on the pair, or None.

    smooth : whether the solver takes smooth terms besides cuts
    """
    words = "cuts or smooth terms" if smooth else "cuts"
    if (
        not isinstance(formulation, CutForm | SmoothForm)
        or not (smooth or isinstance(formulation, CutForm))
        or not isinstance(formulation.regularizer(problem), SquaredNorm)
    ):
        if isinstance(formulation, Intercepted) and formulation.intercept:
            return (
                f"{name} would penalise the intercepts, which is another objective: that of a constant feature in the "
                "data, with intercept=false."
            )
        return f"{name} needs {words} and the regularizer λ/2 ‖w‖², {type(formulation).__name__} has another form."
    if formulation.prices(problem).hard:
        return f"{name} needs finite prices and hard constraints have none; use the soft margin."
    return None


def everything(data: object, i: int, indices: Ints) -> int:
    """`Kernel.reads_into` of a visit that may read every weight; `indices` counts from 0 already."""
    return len(indices)
