"""The contract between a formulation and a problem: `Oracle` finds the highest cut, `Kernel` is its compiled form.

An oracle answers argmax over z of ⟨a_i(z), θ⟩ + o_i(z). `Terms` is the contract of smooth h_i, whose highest cut at
θ is the tangent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from scipy import sparse

from workbench.contracts.cuts import Floats, Ints

if TYPE_CHECKING:
    import cvxpy as cp


class Kernel(NamedTuple):
    """A problem's argmax and feature map as plain functions over arrays.

    argmax_into(data, theta, i, out) -> value of h_i(θ), writes the witness into `out` (width,);
    add_slope(data, i, out, scale, theta) adds scale · a_i(out) to θ in place;
    slope_into(data, i, out, indices, values) -> count, optional, writes the at most `most` entries of a_i(out);
    entries with the same index add up;
    reads_into(data, i, indices) -> count, optional, writes the at most `widest` entries of θ on which h_i may
    depend, some perhaps twice; without `reads_into` h_i may depend on every entry;
    parts_into(data, i, base, out, parts, offsets) -> count, optional, writes the at most `parts` witnesses that agree
    with `out` in one part and with the witness `base` elsewhere, `out` itself where their heights do not add up, and
    the o_i of these; none if all of `out` is one part;
    place : where the functions expect each entry of θ, and where they write those of a_i; None stands for 0, 1, 2, …
    `data` may hold further kernels, whose functions these call. All of them stay within numba's subset of Python,
    so a compiled and an interpreted run agree to the last bit.
    """

    data: tuple[Any, ...]  # arrays and numbers of each problem's own
    argmax_into: Callable[..., float]
    add_slope: Callable[..., None]
    slope_into: Callable[..., int] | None = None
    most: int = 0
    reads_into: Callable[..., int] | None = None
    widest: int = 0
    parts_into: Callable[..., int] | None = None
    parts: int = 0
    place: Ints | None = None


class Oracle(Protocol):
    """A formulation's view of a problem: finds, for θ, the cut that is highest for each sample.

    `kind` is what the search guarantees: exact, under (may miss the maximum: only lower bounds
    hold) or relaxed (maximises over more: only upper bounds of the true problem hold).
    `least_loss` and `free_outputs` describe the oracle's offsets, as the members of these names in `Problem`
    describe losses; hard constraints need both.
    """

    @property
    def kind(self) -> str: ...

    @property
    def n_samples(self) -> int: ...

    @property
    def dim(self) -> int: ...

    @property
    def width(self) -> int: ...

    @property
    def least_loss(self) -> float: ...

    @property
    def free_outputs(self) -> bool: ...

    def argmax(self, theta: Floats, samples: Ints) -> Ints:
        """Witnesses (m, width) maximising ⟨a_i(z), θ⟩ + o_i(z)."""
        ...

    def rows(self, samples: Ints, witnesses: Ints) -> tuple[sparse.csr_array, Floats]:
        """Slopes (m, p) and offsets (m,) of the cuts with these witnesses, from the data."""
        ...

    def slope_error(self, samples: Ints) -> Floats:
        """(m,) bound on the rounding error in each entry of a slope that `rows` returned."""
        ...

    def offset_error(self, samples: Ints) -> Floats:
        """(m,) bound on the rounding error in the offsets that `rows` returned."""
        ...

    def exact(self) -> Any:  # an `ExactOracle` of arithmetic/rationals.py, a wing above
        """The same cuts and maxima in rational arithmetic, or None."""
        ...

    def decode(self, theta: Floats, samples: Ints) -> Ints:
        """What θ predicts, (m, width)."""
        ...

    def rounding(self, theta: Floats) -> Floats:
        """(n,) bounds on how far below h_i(θ) rounding may have put the value of the cut that `argmax` found."""
        ...

    def reach(self, samples: Ints) -> Floats:
        """(m,) bound on ‖a_i(z)‖₁ over all z."""
        ...

    def kernel(self, arranged: bool = False) -> Kernel:
        """`arranged`: perhaps for θ in another order, `Kernel.place`: what is read together stands together."""
        ...


@runtime_checkable
class Conditioned(Protocol):
    """Terms that know coordinates in which their sum is nearer to a sphere (objectives/conditioning.py)."""

    def conditioner(self, samples: Ints, weights: Floats, mu: float) -> Callable[[Floats], Floats] | None:
        """x ↦ C x (p,), C symmetric and positive definite, for μ/2 ‖θ‖² + Σ_k weights_k h_k; None for C = I."""
        ...


@runtime_checkable
class Terms(Protocol):
    """The terms h_i of a smooth formulation, convex and differentiable, and their gradients.

    kind : "exact"; what `evaluate` computes is h_i up to rounding
    width : 0; a term needs no witness, its gradient belongs to θ itself
    assumption : what the bounds on rounding assume about the machine, in words
    """

    kind: str
    n_samples: int
    dim: int
    width: int
    assumption: str

    def evaluate(self, theta: Floats, samples: Ints, weights: Floats) -> tuple[Floats, Floats]:
        """h_i(θ) for a batch (m,), and Σ_k weights_k ∇h_k(θ) (p,)."""
        ...

    def errors(self, theta: Floats, samples: Ints, weights: Floats) -> tuple[Floats, float]:
        """Bounds on the rounding errors of `evaluate`: in each value (m,), in the gradient's Euclidean norm."""
        ...

    def decode(self, theta: Floats, samples: Ints) -> Ints:
        """What θ predicts, (m, width of the problem)."""
        ...

    def norms(self) -> Floats:
        """(n,) bounds on ‖∇h_i(θ)‖ over all θ."""
        ...

    def kernel(self) -> Kernel:
        """`argmax_into` returns h_i(θ) and leaves in `data` what `add_slope` adds the gradient from.

        The gradient serves as slope: ⟨∇h_i(θ), ·⟩ is the highest cut at θ, so solvers treat both kinds alike.
        """
        ...

    def hinges(self, theta: cp.Variable) -> tuple[cp.Expression, list[cp.Constraint]]:
        """h (n,) as a convex CVXPY expression in the variable θ (p,), and the constraints of that expression."""
        ...
