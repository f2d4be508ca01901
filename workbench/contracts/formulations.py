"""The four kinds of formulation. `solve` dispatches on the kind and never on a name.

CutForm     min r(θ) + Σ p_i h_i(θ), the h_i maxima over cuts      ends with a certified gap
SmoothForm  the same with smooth h_i                               ends with a certified gap, proven by θ alone
Majorized   a convex program at fixed state, then the next state   ends at a fixed point or a cycle
Search      terms that may be given up at a charge                 ends with a certified gap, proven by a tree
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

from workbench.contracts.cuts import Blocks, Floats, Ints, Prices
from workbench.contracts.oracles import Oracle, Terms


@runtime_checkable
class CutForm(Protocol):
    """min r(θ) + Σ p_i h_i(θ), said twice: closed forms, and a CVXPY declaration with lazy cuts."""

    def blocks(self, problem: Any) -> Blocks: ...

    def regularizer(self, problem: Any) -> Any:
        """r with its conjugate (objectives/regularizers.py)."""
        ...

    def prices(self, problem: Any) -> Prices: ...

    def oracle(self, problem: Any) -> Oracle: ...

    def program(self, problem: Any, cuts: Any) -> Any:
        """The cp.Problem; `cuts(θ-variables, ξ)` stands for its constraint family (solving/masters/declared.py)."""
        ...


@runtime_checkable
class SmoothForm(Protocol):
    """min r(θ) + Σ p_i h_i(θ) with smooth h_i and r = μ/2 ‖θ‖² (`curvature` μ), said in both ways, too."""

    def blocks(self, problem: Any) -> Blocks: ...

    def regularizer(self, problem: Any) -> Any: ...

    def prices(self, problem: Any) -> Prices: ...

    def terms(self, problem: Any) -> Terms: ...

    def program(self, problem: Any) -> tuple[Any, Any]:
        """The cp.Problem and its variable θ (p,)."""
        ...


@runtime_checkable
class Majorized(Protocol):
    """Alternates between a convex program at fixed state and a step of the state (solving/majorize.py).

    The state is one float array: completed latent variables, selected samples, costs. If the convex
    programs majorise one objective, `monotone` says so and the loop holds it to that.
    """

    monotone: bool

    def start(self, problem: Any) -> Floats:
        """The first state."""
        ...

    def surrogate(self, problem: Any, state: Floats) -> CutForm:
        """The convex program in θ at this state."""
        ...

    def step(
        self, problem: Any, theta: Floats, state: Floats, solve: Callable[[CutForm], Any]
    ) -> tuple[Floats, dict[str, Any]]:
        """The next state, and what to put on record about it; `solve` answers further convex programs."""
        ...

    def value(self, problem: Any, theta: Floats) -> float:
        """The objective at θ, NaN if the alternation has none."""
        ...


@runtime_checkable
class Search(Protocol):
    """min ½‖θ‖² + Σ_i min(c_i h_i(θ), κ_i): terms that may be given up at a charge, found by exhaustive search."""

    def blocks(self, problem: Any) -> Blocks: ...

    def regularizer(self, problem: Any) -> Any:
        """½‖θ‖²."""
        ...

    def prices(self, problem: Any) -> Prices:
        """The samples' shares p_i; c_i and κ_i are proportional to them."""
        ...

    def oracle(self, problem: Any) -> Oracle: ...

    def every(self, problem: Any, samples: Ints) -> tuple[Ints, Ints]:
        """All witnesses of all terms of `samples`, sample by sample: samples (R,) and witnesses (R, width)."""
        ...

    def charges(self, problem: Any) -> tuple[list[Fraction], list[Fraction]]:
        """c (n,) and κ (n,), exactly."""
        ...

    def mixed_program(self, problem: Any) -> tuple[Any, Any, Any]:
        """The mixed-integer cp.Problem, its variable θ (p,) and its binary selection v (n,)."""
        ...


@runtime_checkable
class Restarted(Protocol):
    """An alternation that is run from further starts."""

    def restarts(self, problem: Any) -> list[Floats]:
        """The first states of the further starts."""
        ...


@runtime_checkable
class Declared(Protocol):
    """A `CutForm` that can also be declared by the problem's compact program."""

    declare: str  # "cuts" or "compact"

    def compact_program(self, problem: Any) -> tuple[Any, Any, Any]:
        """The cp.Problem without lazy cuts, its variable θ (p,), and `CompactHinge.atoms`."""
        ...
