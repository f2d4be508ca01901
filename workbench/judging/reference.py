"""`Reference`: the proven optimum that learners are judged by, or the reason why there is none.

A reference is made once, from the solution that `solve` returned or from the `NotSeparable` that `solve` raised. Every
module of this wing takes a reference. Two numbers of a learner are measured by the reference:

    absolute   F(θ) − L, with the proven lower bound L ≤ min F
    excess     (F(θ) − L)/size,  size = max(|U|, |L|, 1e-6·F(0))        U ≥ min F the proven upper bound

The size depends on the optimum alone: a learner at twenty times the optimum has excess 19.

If L exceeds U by more than rounding, one of argmax, loss and features is wrong, and no learner can be judged by the
reference (`Contradiction`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from workbench.arithmetic.arrays import LARGEST
from workbench.contracts import CutForm, Factored, Floats, Majorized, Problem, Search, SmoothForm, TextForm, text_alone
from workbench.errors import BadInput, Contradiction, NotSeparable
from workbench.proofs.any_bounds import AnyBounds, bounds_for
from workbench.proofs.certificate import Certificate

Formulation = CutForm | SmoothForm | Majorized | Search | Factored | TextForm
CROSSED = 1e-9  # of the size: bounds of sound oracles are rounded outward and cross by nothing at all


class Beyond(NamedTuple):
    """What a changed problem has and the original had not, and the changed problem without it."""

    what: str
    without: Problem


@runtime_checkable
class Certified(Protocol):
    """What a reference is made of; a `Solution` is one. A `certificate` is used where there is one."""

    @property
    def formulation(self) -> Formulation: ...

    @property
    def problem(self) -> Problem: ...

    @property
    def theta_flat(self) -> Floats: ...

    @property
    def upper(self) -> float: ...

    @property
    def lower(self) -> float: ...

    @property
    def gap(self) -> float | None: ...


@dataclass(frozen=True)
class Reference:
    """A certified optimum: lower ≤ min F ≤ upper, and weights θ (p,) that attain `upper`.

    gap : relative, see `Bounds.gap`;  certificate : the dual weights behind `lower`, where they are at hand
    missing : why there is no proven optimum, in one sentence; "" where there is one
    ray : the proof that hard margins cannot be met, in place of an optimum
    beyond : of a reference that a relation made, what its problem has and the original had not
    known : what was found out on this reference and serves the next learner: clean runs, the detective's optima
    """

    formulation: Formulation
    problem: Problem
    theta: Floats
    upper: float
    lower: float
    gap: float
    certificate: Certificate | None = None
    missing: str = ""
    ray: NotSeparable | None = None
    beyond: Beyond | None = None
    known: dict[object, Any] = field(default_factory=dict, compare=False, repr=False)  # each kind its own

    @cached_property
    def bounds(self) -> AnyBounds:
        return bounds_for(self.formulation, self.problem)

    @cached_property
    def size(self) -> float:
        """What an excess is divided by."""
        return self.bounds.size(self.upper, self.lower) or 1.0

    @property
    def certified(self) -> bool:
        """Whether it is an optimum that comes with its proof."""
        return self.certificate is not None and not self.missing

    def value(self, theta: Floats) -> float:
        """F(θ), rounded up; ∞ for weights of another size, or too large for F to be computed.

        Raises `Contradiction` if F(θ) lies below the proven lower bound by more than rounding.
        """
        if theta.shape != (self.bounds.oracle.dim,) or not (np.abs(theta) <= LARGEST).all():
            return np.inf
        key = "value", digest(theta)
        if key not in self.known:
            self.known[key] = float(self.bounds.upper(theta))
        value = self.known[key]
        if not self.missing and self.lower - value > CROSSED * self.size:
            self.bounds.gap(value, self.lower)
        return value

    def graded(self, thetas: Sequence[Floats] | Floats, uppers: Sequence[float] | Floats) -> None:
        """Keep F(θ) of points that a run of ours has graded already, by the same bounds."""
        self.known.update((("value", digest(theta)), float(upper)) for theta, upper in zip(thetas, uppers, strict=True))

    def excess(self, value: float) -> float:
        """(value − L)/size."""
        return (value - self.lower) / self.size if np.isfinite(value) else np.inf


ALTERNATION = "The reference is an alternation, which proves no optimum; take the formulation of its inner programs."
NO_GAP = "The reference has no proven gap; solve it with an exact oracle first."


def digest(theta: Floats) -> bytes:
    return blake2b(np.ascontiguousarray(theta, float).tobytes(), digest_size=16).digest()


def reference_of(thing: Reference | Certified | NotSeparable) -> Reference:
    """A reference of what `solve` returned or raised; `Contradiction` if its two bounds contradict each other."""
    if isinstance(thing, Reference):
        return thing
    if isinstance(thing, NotSeparable):
        empty = np.zeros(0)
        return Reference(thing.formulation, thing.problem, empty, np.inf, np.inf, np.inf, missing=str(thing), ray=thing)
    if not isinstance(thing, Certified):
        wanted = "what `solve` returned, or the cp.Problem itself"
        raise BadInput(f"A {type(thing).__name__} is nothing to compare with; give {wanted}.")
    missing = ALTERNATION if isinstance(thing.formulation, Majorized) else ""
    if not missing and (thing.gap is None or not np.isfinite(thing.gap)):
        missing = NO_GAP
    gap = np.nan if thing.gap is None else float(thing.gap)
    certificate = getattr(thing, "certificate", None)  # a user's own reference may have none
    if text_alone(thing.formulation) or isinstance(thing.formulation, Factored):
        certificate = None  # its dual weights are of a convex program, and no cuts that audits could ask for
    ends = float(thing.upper), float(thing.lower)
    found = Reference(thing.formulation, thing.problem, thing.theta_flat, *ends, gap, certificate, missing)
    if not missing:
        uncrossed(found)
    return found


def uncrossed(reference: Reference) -> None:
    """Raise `Contradiction` for a lower bound that lies above the upper one by more than rounding."""
    if reference.lower - reference.upper > CROSSED * reference.size:
        ends = f"lower bound {reference.lower:.9g} lies above its upper bound {reference.upper:.9g}"
        raise Contradiction(
            f"The reference's {ends}: argmax, loss and features of {type(reference.problem).__name__} contradict one "
            f"another; check them on small enumerable data."
        )
