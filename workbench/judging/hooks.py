"""What a learner lends for audits: single steps of its own, as functions of numbers alone.

A solver of ours lends the kernel of what it asks; a user's object lends the functions and attributes that it has by
these names, called with the problem and the formulation first (judging/learners.py). judging/audits.py compares them
with what must hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.contracts import Floats, Ints, Oracle, Problem, Solver, Terms
from workbench.judging.reference import Formulation
from workbench.judging.share import Allowance
from workbench.proofs.any_bounds import bounds_for
from workbench.proofs.dyadic import DyadicBounds
from workbench.solvers.importance_aware import Scores


@dataclass(frozen=True)
class Hooks:
    """The functions that a learner lends, None for those that it does not lend.

    asked : the oracle that the learner asks in place of the formulation's
    allowance : the seconds that the audits may take, asked between their steps

    oracle(θ, i) -> z (width,);  subgradient(θ, i) -> g (p,);  prox(u, H, η) -> x (p,)
    push(i, z, μ, g) adds μ a_i(z) to g (p,)
    iterates() -> (θ̄_t, θ_t, s_t) after each visit t: the average, the iterate and its share
    flow(θ, i, h) -> θ′ (p,): after the update by pair i with importance h, without step size and regularizer
    """

    oracle: Callable[[Floats, int], Ints] | None = None
    subgradient: Callable[[Floats, int], Floats] | None = None
    push: Callable[[int, Ints, float, Floats], None] | None = None
    prox: Callable[[Floats, Floats, float], Floats] | None = None
    iterates: Callable[[], Iterable[tuple[Floats, Floats, float]]] | None = None
    flow: Callable[[Floats, int, float], Floats] | None = None
    solver: Solver | None = None
    asked: Oracle | None = None
    allowance: Allowance = field(default_factory=Allowance)


def hooks_of(learner: Any, formulation: Formulation, problem: Problem) -> Hooks:  # learner: a user's object
    """What a solver of ours, or an object or function with these attributes, lends on this pair."""
    if isinstance(learner, Solver):
        return hooks_of_solver(learner, formulation, problem)

    def lent(name: str) -> Callable[..., np.ndarray] | None:
        function = getattr(learner, name, None)  # a user's object lends what it has
        return function and (lambda *arguments: np.asarray(function(problem, formulation, *arguments)).ravel())

    shown = getattr(learner, "iterates", None)  # a user's object lends what it has
    iterates = shown and (lambda: shown(problem, formulation))
    return Hooks(lent("oracle"), lent("subgradient"), prox=lent("prox"), flow=lent("flow"), iterates=iterates)


def hooks_of_solver(solver: Solver, formulation: Formulation, problem: Problem) -> Hooks:
    """The kernel of what a solver asks, as oracle and subgradient."""
    if solver.misfit(formulation, problem):
        return Hooks()
    bounds = bounds_for(formulation, problem)
    if isinstance(bounds, DyadicBounds):
        return Hooks(solver=solver)
    asked = solver.oracle(problem) or bounds.oracle
    if isinstance(asked, Scores):  # there is no maximum
        return Hooks(solver=solver)
    kernel = asked.kernel()

    def oracle(theta: Floats, i: int) -> Ints:
        found = np.zeros(asked.width, np.int64)
        kernel.argmax_into(kernel.data, theta, i, found)
        return found

    def push(i: int, witness: Ints, weight: float, into: Floats) -> None:
        kernel.add_slope(kernel.data, i, witness, weight, into)

    def subgradient(theta: Floats, i: int) -> Floats:
        found = np.zeros(asked.dim)
        push(i, oracle(theta, i), 1.0, found)
        return found

    if isinstance(asked, Terms):
        return Hooks(subgradient=subgradient, solver=solver)
    return Hooks(oracle, subgradient, push, solver=solver, asked=asked)
