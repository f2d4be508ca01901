"""Regularizers r with the closed forms that a certified bound needs.

    value(θ)       r(θ), +∞ outside its domain
    conjugate(s)   r*(s) = max over θ of ⟨s, θ⟩ − r(θ)
    argmin(s)      a θ that attains r*(s), i.e. minimises r(θ) − ⟨s, θ⟩
    curvature      μ > 0 if r(θ) = μ/2 ‖θ‖² exactly (the dual is then a QP over a Gram matrix), else None

`value` and `conjugate` use only + − × / abs sum, so they run unchanged on float arrays, on
`Interval`s (a proven enclosure) and on object arrays of `Fraction` (exact, after `over(Fraction)`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any


@dataclass(frozen=True)
class Regularizer:
    def over(self, number: type) -> Any:
        """The same regularizer with its constants in another arithmetic, e.g. `Fraction`."""
        return replace(self, **{f.name: number(getattr(self, f.name)) for f in fields(self)})


@dataclass(frozen=True)
class SquaredNorm(Regularizer):
    """r(w) = λ/2 ‖w‖²;  r*(s) = ‖s‖²/(2λ);  argmin s/λ.  (docs/mathematics.md §2)"""

    lam: Any

    @property
    def curvature(self) -> Any:
        return self.lam

    def value(self, w: Any) -> Any:
        return (w * w).sum() * self.lam / 2

    def conjugate(self, s: Any) -> Any:
        return (s * s).sum() / self.lam / 2

    def argmin(self, s: Any) -> Any:
        return s / self.lam
