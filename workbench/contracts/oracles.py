"""The contract between a formulation and a problem: `Oracle` finds the highest cut, `Kernel` does so in compiled code.

An oracle answers argmax over z of ⟨a_i(z), θ⟩ + o_i(z). `Terms` is the contract of smooth h_i, whose highest cut at
θ is the tangent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

from scipy import sparse

from workbench.contracts.cuts import Floats, Ints


class Kernel(NamedTuple):
    """A problem's argmax and feature map as plain functions over arrays.

    argmax_into(data, theta, i, out) -> value of h_i(θ), writes the witness into `out` (width,);
    add_slope(data, i, out, scale, theta) adds scale · a_i(out) to θ in place;
    slope_into(data, i, out, indices, values) -> count, optional, writes the entries of a_i(out), at most
    `most` of them; entries with the same index add up;
    reads_into(data, i, indices) -> count, optional, writes the entries of θ on which h_i may depend, at most
    `widest` of them, some perhaps twice; without it these are all.
    `data` may hold other kernels, whose functions these call. All stay within what numba compiles, so `run` may
    compile them or call them as they are: the arithmetic, hence the run, is the same to the last bit.
    """

    data: tuple[Any, ...]
    argmax_into: Callable[..., float]
    add_slope: Callable[..., None]
    slope_into: Callable[..., int] | None = None
    most: int = 0
    reads_into: Callable[..., int] | None = None
    widest: int = 0


class Oracle(Protocol):
    """A formulation's view of a problem: finds, for θ, the cut that is highest for each sample.

    `kind` is what the search guarantees: exact, under (may miss the maximum: only lower bounds
    hold) or relaxed (maximises over more: only upper bounds of the true problem hold).
    `least_loss` and `free_outputs` speak of its offsets as the problem's do of its losses; hard
    constraints ask for them.
    """

    kind: str
    n_samples: int
    dim: int
    width: int
    least_loss: float
    free_outputs: bool

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

    def exact(self) -> Any:
        """The same cuts and maxima in rational arithmetic (`rationals.ExactOracle`), or None."""
        ...

    def decode(self, theta: Floats, samples: Ints) -> Ints:
        """What θ predicts, (m, width)."""
        ...

    def rounding(self, theta: Floats) -> Floats:
        """(n,) by how much rounding may have let `argmax` miss h_i(θ)."""
        ...

    def reach(self, samples: Ints) -> Floats:
        """(m,) bound on ‖a_i(z)‖₁ over all z."""
        ...

    def kernel(self) -> Kernel: ...


@runtime_checkable
class Terms(Protocol):
    """What a smooth formulation asks of a problem: its terms h_i, convex and differentiable, and their gradients.

    kind : "exact"; what `evaluate` computes is h_i up to rounding
    width : 0; a term needs no witness, its gradient belongs to θ itself
    assumption : what the bounds on rounding take for granted of the machine, in words
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

        A gradient is a slope: ⟨∇h_i(θ), ·⟩ is the highest cut at θ, so solvers need not know the difference.
        """
        ...

    def hinges(self, theta: Any) -> tuple[Any, list[Any]]:
        """h (n,) as a convex CVXPY expression in the variable θ (p,), and the constraints that it needs."""
        ...
