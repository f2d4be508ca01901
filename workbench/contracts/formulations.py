"""The kinds of formulation. `solve` dispatches on the kind and never on a name.

CutForm     min r(θ) + Σ p_i h_i(θ), the h_i maxima over cuts      ends with a certified gap
SmoothForm  the same with smooth h_i                               ends with a certified gap, proven by θ alone
Majorized   a convex program at fixed state, then the next state   ends at a fixed point or a cycle
Search      terms that may be given up at a charge                 ends with a certified gap, proven by a tree
Factored    bilinear scores of pairs, not convex        ends with a proven interval, between a dual bound and a model
TextForm    a CVXPY program with lazy cuts and no closed form      ends with a gap that is proven if the oracle is right
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from workbench.contracts.cuts import Blocks, Floats, Ints, Prices
from workbench.contracts.oracles import Oracle, Terms
from workbench.contracts.problems import Problem
from workbench.contracts.regularizers import Regularizer

if TYPE_CHECKING:
    import cvxpy as cp


class CutConstraints(Protocol):
    """What stands in a declaration for its constraints ξ_g ≥ ⟨a, θ⟩ + o (solving/masters/declared.py).

    θ = units · the variables `theta`, one unit a variable, and ξ = unit · the variable `xi`; without `xi` the rows
    read 0 ≥ ⟨a, θ⟩ + o.
    """

    def __call__(
        self, theta: list[cp.Variable], xi: cp.Variable | None = None, units: Sequence[float] = (), unit: float = 1.0
    ) -> list[cp.Constraint]: ...


class TextConstraints(Protocol):
    """What stands in a text for its constraints, which a `TextForm` states over θ and ξ without units."""

    def __call__(self, theta: list[cp.Variable], xi: cp.Variable | None = None) -> list[cp.Constraint]: ...


class Optimum(Protocol):
    """What an alternation reads of a solved convex program: θ (p,), lower ≤ F* ≤ F(θ) ≤ upper, and the relative gap."""

    theta_flat: Floats
    upper: float
    lower: float
    gap: float


@runtime_checkable
class CutForm(Protocol):
    """min r(θ) + Σ p_i h_i(θ), stated twice: in closed forms, and as a CVXPY declaration with lazy cuts."""

    def blocks(self, problem: Problem) -> Blocks: ...

    def regularizer(self, problem: Problem) -> Regularizer:
        """r with its conjugate."""
        ...

    def prices(self, problem: Problem) -> Prices: ...

    def oracle(self, problem: Problem) -> Oracle: ...

    def program(self, problem: Problem, cuts: CutConstraints) -> cp.Problem:
        """The CVXPY program, in which `cuts(θ-variables, ξ)` stands for the family of constraints."""
        ...


@runtime_checkable
class SmoothForm(Protocol):
    """min r(θ) + Σ p_i h_i(θ) with smooth h_i and r = μ/2 ‖θ‖² (`curvature` μ), stated in both ways, too."""

    def blocks(self, problem: Problem) -> Blocks: ...

    def regularizer(self, problem: Problem) -> Regularizer: ...

    def prices(self, problem: Problem) -> Prices: ...

    def terms(self, problem: Problem) -> Terms: ...

    def program(self, problem: Problem) -> tuple[cp.Problem, cp.Variable]:
        """The CVXPY program and its variable θ (p,)."""
        ...


@runtime_checkable
class Majorized(Protocol):
    """Alternates between a convex program at fixed state and a step of the state (solving/majorize.py).

    The state is one float array: completed latent variables, selected samples, costs. If the convex
    programs majorise one objective, `monotone` says so and the loop raises an error where that objective rises.
    """

    monotone: bool

    def start(self, problem: Problem) -> Floats:
        """The first state."""
        ...

    def surrogate(self, problem: Problem, state: Floats) -> CutForm:
        """The convex program in θ at this state."""
        ...

    def step(
        self, problem: Problem, theta: Floats, state: Floats, solve: Callable[[CutForm], Optimum]
    ) -> tuple[Floats, dict[str, Any]]:  # numbers and words, whatever a formulation reports
        """The next state, and entries for the round's record; `solve` answers further convex programs."""
        ...

    def value(self, problem: Problem, theta: Floats) -> float:
        """The objective at θ, NaN if the alternation has none."""
        ...


@runtime_checkable
class Intercepted(Protocol):
    """A formulation with the setting `intercept`: biases that r does not penalise."""

    intercept: bool


@runtime_checkable
class Completing(Majorized, Protocol):
    """An alternation that lowers F(θ) = min over the hidden states s of a convex F(θ; s), s of all samples together.

    F(·; s) ≥ F, with equality at θ for the best states of θ, so θ is stationary if it minimises F(·; s) for these. A
    learner of θ is judged by this (judging/stationary.py).
    """

    def completed(self, states: Ints) -> CutForm:
        """The convex program F(·; s), states s (n,)."""
        ...


@runtime_checkable
class Stateful(Majorized, Protocol):
    """An alternation whose state is learned beside the weights and lowers no objective.

    A learner of both is judged by how far each is from what the other asks for (judging/alternations.py).
    """

    def parted(self, problem: Problem, theta: Floats) -> tuple[Floats, Floats]:
        """What a learner returns, (weights, state)."""
        ...

    def outside(self, problem: Problem, state: Floats) -> str:
        """Why the state is not allowed, in a sentence; "" if it is."""
        ...


@runtime_checkable
class Search(Protocol):
    """min ½‖θ‖² + Σ_i min(c_i h_i(θ), κ_i): terms that may be given up at a charge, found by exhaustive search."""

    def blocks(self, problem: Problem) -> Blocks: ...

    def regularizer(self, problem: Problem) -> Regularizer:
        """½‖θ‖²."""
        ...

    def prices(self, problem: Problem) -> Prices:
        """The samples' shares p_i; c_i and κ_i are proportional to them."""
        ...

    def oracle(self, problem: Problem) -> Oracle: ...

    def every(self, problem: Problem, samples: Ints) -> tuple[Ints, Ints]:
        """All witnesses of all terms of `samples`, sample by sample: samples (R,) and witnesses (R, width)."""
        ...

    def charges(self, problem: Problem) -> tuple[list[Fraction], list[Fraction]]:
        """c (n,) and κ (n,), exactly."""
        ...

    def mixed_program(self, problem: Problem) -> tuple[cp.Problem, cp.Variable, cp.Variable]:
        """The mixed-integer CVXPY program, its variable θ (p,) and its binary selection v (n,)."""
        ...


@runtime_checkable
class Scalable(Protocol):
    """A `CutForm` with hard constraints h_i(θ) ≤ 0, which c·θ satisfies for some c ≥ 1 where θ nearly does."""

    def feasible_scale(self, problem: Problem, violation: float) -> float:
        """c such that c·θ is feasible when h_i(θ) ≤ `violation` for all i; ∞ if there is none."""
        ...


@runtime_checkable
class TextForm(Protocol):
    """A convex program by its CVXPY text alone: no conjugate, no regularizer; slower than a `CutForm`.

    `cuts([θ-variables], ξ)` stands for ξ_g ≥ max_y ℓ_i(y) − ⟨θ, ψ_i(y)⟩ of the g-th sample i of positive weight, and
    without ξ for 0 ≥ the same. θ are vectors of as many entries as the problem has features, and `cuts.prices` are
    weight_i / Σ weights. The optional methods `oracle` and `prices` of `CutForm` stand for other cuts and prices.
    """

    def program(self, problem: Problem, cuts: TextConstraints) -> cp.Problem: ...


@runtime_checkable
class Factored(Protocol):
    """min λ/2 ‖θ‖² + Σ p_i ℓ_i(θ) with scores bilinear in θ = (A, B, W); slopes prove a bound from below."""

    lam: float
    dimensions: int
    loss: str

    def blocks(self, problem: Problem) -> Blocks: ...

    def prices(self, problem: Problem) -> Prices: ...

    def oracle(self, problem: Problem) -> Any:  # a view of pairs, of a wing above
        """Sizes of θ, and what θ predicts."""
        ...

    def binary(self, problem: Problem) -> list[Any]:  # of dyads/pairs.py, a wing above
        """The problems in two classes of which the objective is the sum."""
        ...


@runtime_checkable
class Squared(Protocol):
    """A formulation with r = λ/2 ‖w‖² for its setting λ."""

    lam: float


@runtime_checkable
class LinearRisk(Protocol):
    """A formulation of linear scores ⟨w, x⟩, or its terms, whose `loss` is "hinge", "squared" or "logistic"."""

    loss: str


@runtime_checkable
class Restarted(Protocol):
    """An alternation that is run from further starts."""

    def restarts(self, problem: Problem) -> list[Floats]:
        """The first states of the further starts."""
        ...


@runtime_checkable
class Declared(Protocol):
    """A `CutForm` that can also be declared by the problem's compact program."""

    declare: str  # "cuts" or "compact"

    def compact_program(
        self, problem: Problem
    ) -> tuple[cp.Problem, cp.Variable, Callable[[], tuple[Ints, Ints, Floats]]]:
        """The CVXPY program without lazy cuts, its variable θ (p,), and `CompactHinge.atoms`."""
        ...


Formulation = CutForm | SmoothForm | Search | Majorized | Factored | TextForm


def text_alone(formulation: object) -> bool:
    """Whether this is a `TextForm` and nothing more."""
    return isinstance(formulation, TextForm) and not isinstance(
        formulation, CutForm | SmoothForm | Search | Majorized | Factored
    )


@runtime_checkable
class NamingBlocks(Protocol):
    """A formulation that names the weights of its own blocks in the user's words."""

    def weight_names(self, problem: Problem) -> dict[str, list[str]]:
        """One name for each entry of each block, in order."""
        ...
