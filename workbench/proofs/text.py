"""F(θ) of a formulation that is its CVXPY text alone, and what such a text must be.

    F(θ) = min over the text's other variables and ξ of its objective,
           s.t. its constraints at θ and ξ_g ≥ H_i,        H_i ≥ h_i(θ) = max over z of ⟨a_i(z), θ⟩ + o_i(z)

The H_i are the oracle's values at θ, rounded outward (`Bounds.hinges`). A point with ξ = H satisfies all cuts, also
those that nobody generated, so its objective is at least min F. That is all that the text must provide: nothing is
assumed about where ξ stands in it. F(θ) is evaluated here in floats, for a learner's weights; what `solve` claims of
an optimum is proven in fractions (solving/text.py).
"""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np

from workbench.arithmetic.rationals import ratios
from workbench.backends import solve_cvxpy
from workbench.contracts import Blocks, Conditional, Floats, Ints, Number, Prices, Problem, TextForm
from workbench.errors import BackendFailed, BadInput, MissingCapability
from workbench.objectives.oracles import MarginRescaling
from workbench.objectives.regularizers import NONE
from workbench.proofs.bounds import Bounds, Evidence, KnownRows
from workbench.proofs.ends import above

FEASIBLE = 1e-7  # the violation of a constraint of the text, in its own units, beyond which F(θ) = ∞
UNNAMED = re.compile(r"var\d+")  # names that CVXPY gives


class TextCuts:
    """What stands in a text for its cuts: remembers the variables θ and ξ, and adds no constraint.

    prices : p (groups,), of the samples of positive weight;  groups : how many these are
    """

    def __init__(self, prices: Floats):
        self.prices, self.groups = prices, len(prices)
        self.theta: list[Any] = []  # cp.Variables; CVXPY has no types
        self.xi: Any = None  # a cp.Variable; CVXPY has no types

    def __call__(self, theta: list[Any], xi: Any = None) -> list[Any]:  # of CVXPY, which has no types
        if self.theta:
            raise BadInput("A text calls cuts twice; call cuts once, with all θ-variables in one list.")
        if not isinstance(theta, list | tuple) or not theta or any(not is_vector(each) for each in theta):
            raise BadInput("cuts takes a list of cp.Variables of one dimension; reshape them where they are used.")
        if xi is not None and not (is_vector(xi) and xi.size == self.groups):
            raise BadInput(f"cuts takes for ξ a cp.Variable of {self.groups} entries; write cp.Variable(cuts.groups).")
        self.theta, self.xi = list(theta), xi
        return []


def is_vector(thing: Any) -> bool:  # a user's object
    """Whether a thing is a cp.Variable of one dimension, or none."""
    variable = hasattr(thing, "save_value") and hasattr(thing, "attributes")  # CVXPY has no types
    return variable and len(thing.shape) <= 1


class Unstated:
    """The regularizer of a text: nothing is known of it."""

    curvature, free = None, NONE

    def feasible(self, x: Number) -> Number:
        return x

    def shape(self, size: int) -> None:
        return None


class TextBounds(Bounds):
    """Bounds of a `TextForm` on a problem: F(θ) in floats; a lower bound takes `solve`.

    program, text : the CVXPY program, and its θ and ξ;  blocks : the names and sizes of θ's parts
    """

    arithmetic = "float"
    formulation: TextForm

    def __init__(self, formulation: TextForm, problem: Problem):
        self.formulation, self.problem = formulation, problem
        self.oracle = own(formulation, "oracle", MarginRescaling)(problem)
        self.prices = own(formulation, "prices", prices_of_mean)(problem)
        self.regularizer = Unstated()
        self.samples: Ints = np.flatnonzero(self.prices.weights > 0)
        self.text = TextCuts(np.empty(0) if self.prices.hard else self.prices.floats()[self.samples])
        self.text.groups = len(self.samples)
        self.program = written(formulation, problem, self.text)
        self.blocks = Blocks(**{named(variable, j): (variable.size,) for j, variable in enumerate(self.text.theta)})
        if self.blocks.dim != self.oracle.dim:
            raise BadInput(
                f"{self.name} gives cuts {self.blocks.dim} weights, but a cut of {type(problem).__name__} has "
                f"{self.oracle.dim}; give the θ-variables problem.n_features entries together."
            )
        known = {each.id for each in (*self.text.theta, *([] if self.text.xi is None else [self.text.xi]))}
        self.others = [each for each in self.program.variables() if each.id not in known]
        self.start: Floats = np.zeros(self.oracle.dim)
        at_start = self.upper(self.start)
        self.scale = at_start if np.isfinite(at_start) else 0.0

    @property
    def name(self) -> str:
        return type(self.formulation).__name__

    @property
    def conditions(self) -> list[str]:
        """What an interval rests on besides the certificate of its convex program."""
        kind, name = self.oracle.kind, type(self.problem).__name__
        upper = f"the upper end: the argmax of {name}, whose values at θ count as the maxima over all outputs"
        if self.oracle.exact() is not None:
            upper = f"the upper end: the decoder of {name}, which finds the maxima over all outputs in fractions"
        lower = "the lower end: the generated rows being cuts of the data, as floats compute them"
        upper += "; it may miss them" if kind == "under" else ""
        lower += ", and attained by outputs, which the oracle relaxes" if kind == "relaxed" else ""
        return [upper, lower, *(self.problem.conditions if isinstance(self.problem, Conditional) else ())]

    def heights(self, theta: Floats) -> Floats:
        """H (groups,) at θ, by intervals."""
        return self.hinges(theta, self.oracle.argmax(theta, self.samples)).hi

    def sharp_heights(self, theta: Floats) -> Floats:
        """H (groups,) at θ, each the exact maximum rounded up where the outputs bring exact arithmetic."""
        exact = self.oracle.exact()
        if exact is None:
            return self.heights(theta)
        return np.array([above(value) for value in exact.highest(ratios(theta), self.samples).fractions()])

    def upper(self, theta: Floats, witnesses: Ints | None = None, rows: KnownRows = None) -> float:
        """F(θ), in floats; ∞ where θ misses a constraint of the text."""
        if not np.isfinite(theta).all():
            return np.inf
        return self.value(theta, self.heights(theta))

    def value(self, theta: Floats, heights: Floats) -> float:
        """The objective at θ and ξ = H, least over the text's other variables."""
        text = self.text
        parts = np.split(theta, np.cumsum([each.size for each in text.theta])[:-1])
        pairs = [(v, x if v.shape else x[0]) for v, x in zip(text.theta, parts, strict=True)]
        if text.xi is not None:
            pairs.append((text.xi, heights if text.xi.shape else heights[0]))
        elif heights.max(initial=0.0) > FEASIBLE:
            return np.inf
        if self.others:
            fixed = type(self.program)(self.program.objective, [*self.program.constraints, *(v == x for v, x in pairs)])
            try:
                solve_cvxpy(fixed, "CLARABEL")
            except BackendFailed:
                return np.inf
            if fixed.value is None or not np.isfinite(fixed.value):
                return np.inf
        for variable, value in pairs:
            variable.save_value(value)
        missed = [float(np.max(each.violation(), initial=0.0)) for each in self.program.constraints]
        value = self.program.objective.value
        fits = max([0.0, *missed]) <= FEASIBLE
        return float(value) if value is not None and fits else np.inf

    def repaired(self, theta: Floats) -> Floats:
        return theta

    def lower(self, *_: object) -> float:
        raise MissingCapability(f"{self.name} is a text without a conjugate; `solve` proves its lower bound.")

    def recheck(self, evidence: Evidence) -> tuple[float, float]:
        return -np.inf, self.upper(evidence.theta)


def own(formulation: Any, method: str, default: Any) -> Any:  # a user's object
    """The method of that name, if the formulation has one."""
    return getattr(formulation, method, default)  # a user's object


def prices_of_mean(problem: Problem) -> Prices:
    return Prices.of_mean(problem.weights)


def written(formulation: TextForm, problem: Problem, text: TextCuts) -> Any:  # of CVXPY, which has no types
    """The program of the text, checked."""
    name = type(formulation).__name__
    try:
        inspect.signature(formulation.program).bind(problem, text)
    except TypeError:
        raise BadInput(
            f"{name}.program does not take (problem, cuts); write def program(self, problem, cuts)."
        ) from None
    program = formulation.program(problem, text)
    if not (hasattr(program, "is_dcp") and hasattr(program, "objective")):  # CVXPY has no types
        raise BadInput(f"{name}.program returns a {type(program).__name__}; return a cp.Problem.")
    if not text.theta:
        raise BadInput(f"{name}.program never calls cuts; put *cuts([w], xi) among its constraints.")
    if type(program.objective).__name__ != "Minimize":
        raise BadInput(f"{name}.program maximises; write cp.Minimize of the negative.")
    if not program.is_dcp():
        raise BadInput(f"{name}.program is not convex by CVXPY's rules; see problem.is_dcp().")
    return program


def named(variable: Any, position: int) -> str:  # of CVXPY, which has no types
    """The name that the user gave, else w, theta2, theta3, …"""
    return variable.name() if not UNNAMED.fullmatch(variable.name()) else f"theta{position + 1}" if position else "w"
