"""The contract of a regularizer r, the term of F that depends on no sample (ours: objectives/regularizers.py)."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.contracts.cuts import Floats, Ints

Number = (
    Any  # floats, `Interval`s, `Ratios` or fractions, one number or an array: the arithmetic is the caller's choice
)


class Shape(NamedTuple):
    """r(x) = Σ_j a_j x_j² + c_j x_j + l_j |x_j| on x_j ≥ f_j ≤ 0, up to a constant; a_j = ∞ keeps x_j at 0.

    The entries of `simplex` have x ≥ 0 and Σ x = 1 in place of these terms.
    square a, linear c, absolute l, floor f : (p,);  simplex : (p,) bool
    """

    square: Floats
    linear: Floats
    absolute: Floats
    floor: Floats
    simplex: NDArray[np.bool_]


class Regularizer(Protocol):
    """r with the closed forms that a certified bound needs.

    curvature : μ > 0 if r(θ) = μ/2 ‖θ‖² exactly, else None
    free : the entries of θ that r leaves free up to a box
    """

    @property
    def curvature(self) -> float | None: ...

    @property
    def free(self) -> Ints: ...

    def value(self, x: Number, /) -> Number:
        """r(x) at a feasible x."""
        ...

    def conjugate(self, s: Number, /) -> Number:
        """r*(s) = max over x of ⟨s, x⟩ − r(x)."""
        ...

    def argmin(self, s: Floats, /) -> Floats:
        """An x that minimises r(x) − ⟨s, x⟩."""
        ...

    def feasible(self, x: Number, /) -> Number:
        """A point of r's domain, x itself if x is one."""
        ...

    def over(self, number: type) -> Any:  # a `Regularizer` whose constants, `curvature` too, are of that type
        """The same regularizer with its constants in another arithmetic, e.g. `Fraction`."""
        ...

    def within(self, upper: Number, /) -> Regularizer:
        """The same regularizer where min F ≤ `upper` is known: free entries then have less room."""
        ...

    def shape(self, size: int) -> Shape | None:
        """r as a `Shape` of `size` entries, or None."""
        ...

    def prox(self, u: Floats, metric: Floats, step: float) -> Floats:
        """argmin over x of ½ Σ_j metric_j (x_j − u_j)² + step · r(x)."""
        ...
