"""Regularizers r with the closed forms that a certified bound needs.

    value(θ)       r(θ) at a feasible θ
    conjugate(s)   r*(s) = max over θ of ⟨s, θ⟩ − r(θ)
    argmin(s)      a θ that attains r*(s), i.e. minimises r(θ) − ⟨s, θ⟩
    feasible(θ)    a point of r's domain, θ itself if it is one
    curvature      μ > 0 if r(θ) = μ/2 ‖θ‖² exactly (the dual is then a QP over a Gram matrix), else None
    free           entries of θ that r leaves free up to a box: dual weights are worth balancing there
    shape(size)    r as a `Shape`, or None: all that a proximal step under a diagonal metric needs to know
    prox(u, H, η)  argmin over x of ½ Σ_j H_j (x_j − u_j)² + η r(x), H > 0

All but `argmin` and `prox` use only + − × / abs max sum, so they run unchanged on float arrays, on `Interval`s (a
proven enclosure), and after `over(Fraction)`, exactly, on `Ratios` and on object arrays of `Fraction`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.intervals import Interval, positive, squared
from workbench.arithmetic.rationals import Ratios, joined, objects
from workbench.contracts import Floats, Ints, Shape, Signed
from workbench.errors import MissingCapability

NONE: Ints = np.empty(0, np.int64)


def plain(size: int, square: Any = 0.0, linear: Any = 0.0, absolute: float = 0.0, floor: float = -np.inf) -> Shape:
    """A shape without simplex; numbers stand for every entry."""
    a, c, least, f = (np.full(size, each, float) for each in (square, linear, absolute, floor))
    return Shape(a, c, least, f, np.zeros(size, bool))


def separated(u: Any, metric: Any, square: Any, linear: Any, absolute: Any, floor: Any) -> Any:
    """argmin over x ≥ f of ½ H (x − u)² + a x² + c x + l|x|, entry by entry (numba's subset, as `projected`)

        x = max(f, sign(z)(|z| − l)₊/(H + 2a)),      z = Hu − c

    a convex parabola with a kink at 0, cut at f ≤ 0.
    """
    z = metric * u - linear
    return np.maximum(np.sign(z) * np.maximum(np.abs(z) - absolute, 0.0) / (metric + 2.0 * square), floor)


def projected(u: Any, metric: Any) -> Any:
    """argmin over the simplex of ½ Σ H_i (v_i − u_i)², u finite, H > 0, in O(m log m)  (docs/mathematics.md §5).

    With H_i u_i in falling order and θ_ρ = (Σ_{i≤ρ} u_i − 1)/Σ_{i≤ρ} 1/H_i, the last ρ with H_ρ u_ρ > θ_ρ gives
    v_i = (u_i − θ_ρ/H_i)₊. For H = 1 it is the Euclidean projection of Duchi et al. (2008, Figure 1). A Newton step on
    Σ v = 1 takes back what rounding left over, which is all there is where u is far away. Within numba's subset,
    and the order of ties is fixed, so compiled runs are the same to the last bit.
    """
    pull = metric * u
    total, inverse, multiplier = -1.0, 0.0, np.inf
    for i in np.argsort(-pull, kind="mergesort"):
        total += u[i]
        inverse += 1.0 / metric[i]
        if multiplier < np.inf and pull[i] <= total / inverse:
            break
        multiplier = total / inverse
    v = u - multiplier / metric
    total, inverse, least = -1.0, 0.0, min(0.0, v.max())
    for i in range(len(v)):
        if v[i] >= least:
            total += v[i]
            inverse += 1.0 / metric[i]
    return np.maximum(v - total / inverse / metric, 0.0)


def projection(simplex: Ints) -> Callable[[Any, Any], Any]:
    """What compiled loops take as `projected`: where nothing lies on the simplex, what compiles in a moment."""
    return projected if len(simplex) else kept


def kept(u: Any, metric: Any) -> Any:
    """u, and never called."""
    return u


@dataclass(frozen=True)
class Regularizer:
    """What regularizers share (contract: contracts/regularizers.py); `value`, `conjugate`, `argmin` are each's own."""

    curvature = None
    free = NONE

    def value(self, x: Any) -> Any:
        raise NotImplementedError

    def conjugate(self, s: Any) -> Any:
        raise NotImplementedError

    def argmin(self, s: Any) -> Any:
        raise NotImplementedError

    def over(self, number: type) -> Any:
        """The same regularizer with its constants in another arithmetic, e.g. `Fraction`."""
        return replace(self, **{f.name: converted(getattr(self, f.name), number) for f in fields(self)})

    def feasible(self, x: Any) -> Any:
        return x

    def within(self, upper: Any) -> Any:
        """The same where min F ≤ `upper` is known: free entries then have less room."""
        return self

    def shape(self, size: int) -> Shape | None:
        return None

    def prox(self, u: Floats, metric: Floats, step: float) -> Floats:
        shape = self.shape(len(u))
        if shape is None:
            raise MissingCapability(f"{type(self).__name__} has no proximal step; give it a `shape`.")
        x = separated(u, metric, step * shape.square, step * shape.linear, step * shape.absolute, shape.floor)
        if shape.simplex.any():
            x[shape.simplex] = projected(u[shape.simplex], metric[shape.simplex])
        return x


def converted(constant: Any, number: type) -> Any:
    """Numbers, arrays of them and regularizers in another arithmetic; sizes and masks stay as they are."""
    if isinstance(constant, Regularizer):
        return constant.over(number)
    if isinstance(constant, tuple):
        return tuple(converted(each, number) for each in constant)
    if isinstance(constant, np.ndarray) and constant.dtype != bool:
        return objects(map(number, constant.tolist()))
    return constant if isinstance(constant, int | np.ndarray) else number(constant)


def masked(x: Any, live: NDArray[np.bool_]) -> Any:
    """x with 0 off the live entries; among fractions NumPy's own whole numbers would turn into floats."""
    return x * (live.astype(object) if isinstance(x, np.ndarray) and x.dtype == object else live)


def greatest(x: Any) -> Any:
    """The greatest entry."""
    return Interval(x.lo.max(), x.hi.max()) if isinstance(x, Interval) else x.max()


@dataclass(frozen=True)
class SquaredNorm(Regularizer):
    """r(w) = λ/2 ‖w‖²;  r*(s) = ‖s‖²/(2λ);  argmin s/λ.  (docs/mathematics.md §2)"""

    lam: Any
    concurrent: ClassVar[bool] = True

    @property
    def curvature(self) -> Any:
        return self.lam

    def value(self, w: Any) -> Any:
        return squared(w) * self.lam / 2

    def conjugate(self, s: Any) -> Any:
        return squared(s) / self.lam / 2

    def argmin(self, s: Any) -> Any:
        return s / self.lam

    def shape(self, size: int) -> Shape:
        return plain(size, square=self.lam / 2)


@dataclass(frozen=True)
class SignedNorm(Regularizer):
    """r(w) = λ/2 ‖w‖² on w_j ≥ 0, j ∈ J;  r*(s) = (Σ_{j∉J} s_j² + Σ_{j∈J} (s_j)₊²)/(2λ);  argmin s/λ, (s_j)₊/λ on J.

    *Proof.* r separates; max over w_j ≥ 0 of s_j w_j − λ/2 w_j² is (s_j)₊²/(2λ), at w_j = (s_j)₊/λ. ∎
    `signed` (p,) says which entries J are. There F = ∞ where one of them is negative.
    """

    lam: Any
    signed: NDArray[np.bool_]
    concurrent: ClassVar[bool] = True

    def value(self, w: Any) -> Any:
        return squared(w) * self.lam / 2

    def conjugate(self, s: Any) -> Any:
        free, held = s[~self.signed], positive(s[self.signed])
        return ((free * free).sum() + (held * held).sum()) / self.lam / 2

    def argmin(self, s: Any) -> Any:
        return self.feasible(s / self.lam)

    def feasible(self, w: Any) -> Any:
        if isinstance(w, Interval):
            return Interval(self.feasible(w.lo), self.feasible(w.hi))
        if isinstance(w, Ratios):
            return Ratios(self.feasible(w.whole), w.unit)
        return np.where(self.signed, np.maximum(w, w * 0), w)

    def shape(self, size: int) -> Shape:
        return plain(size, square=self.lam / 2)._replace(floor=np.where(self.signed, 0.0, -np.inf))


def norm_of(problem: Any, lam: float) -> SquaredNorm | SignedNorm:
    """λ/2 ‖w‖² over the weights that the problem admits: all, or those with w_j ≥ 0 where it is `signed` (d,)."""
    return SignedNorm(lam, problem.signed) if isinstance(problem, Signed) else SquaredNorm(lam)


def unsigned(problem: Any) -> Any:
    """The problem, if it admits all weights."""
    if not isinstance(problem, Signed):
        return problem
    raise MissingCapability(
        f"Weights of any sign are learned here, but {type(problem).__name__} needs some weights ≥ 0; use soft-margin."
    )


@dataclass(frozen=True)
class ElasticNet(Regularizer):
    """r(w) = λ₂‖w‖² + λ₁‖w‖₁;  r*(s) = Σ (|s|−λ₁)₊²/(4λ₂);  argmin sign(s)(|s|−λ₁)₊/(2λ₂)."""

    lam2: Any
    lam1: Any

    def value(self, w: Any) -> Any:
        return (w * w).sum() * self.lam2 + abs(w).sum() * self.lam1

    def conjugate(self, s: Any) -> Any:
        beyond = positive(abs(s) - self.lam1)
        return (beyond * beyond).sum() / self.lam2 / 4

    def argmin(self, s: Any) -> Any:
        return np.sign(s) * positive(abs(s) - self.lam1) / (2 * self.lam2)

    def shape(self, size: int) -> Shape:
        return plain(size, square=self.lam2, absolute=self.lam1)


@dataclass(frozen=True)
class Box(Regularizer):
    """r(b) = 0, with r*(s) = β‖s‖₁ as on |b_k| ≤ β,  β = constant + linear·U + root·√U for a known U ≥ min F.

    For coordinates that nothing penalises: the formulation proves that an optimum lies in the box. Only the
    lower bound needs it; F is what it is outside, too.
    """

    constant: Any
    linear: Any = 0.0
    root: Any = 0.0
    level: Any = 0.0  # U

    @property
    def bound(self) -> Any:
        """β, rounded up."""
        if not self.level:
            return self.constant
        level = float(self.level)
        beta = float(self.constant) + float(self.linear) * level + float(self.root) * math.sqrt(level)
        return type(self.level)(beta * (1 + 1e-9))

    def within(self, upper: Any) -> Box:
        return replace(self, level=min(self.level, type(self.level)(upper))) if 0 < upper < math.inf else self

    def value(self, b: Any) -> Any:
        return (b * 0).sum()

    def conjugate(self, s: Any) -> Any:
        return abs(s).sum() * self.bound

    def argmin(self, s: Any) -> Any:
        return np.sign(s) * self.bound

    def shape(self, size: int) -> Shape:
        return plain(size)


@dataclass(frozen=True)
class Simplex(Regularizer):
    """r(v) = 0 on v ≥ 0, Σ v = 1, v_S = 0 off the live entries;  r*(s) = max_S s_S over these, at a vertex."""

    live: Any  # (m,) bool

    def value(self, v: Any) -> Any:
        return (v * 0).sum()

    def conjugate(self, s: Any) -> Any:
        return greatest(s[self.live])

    def argmin(self, s: Any) -> Any:
        """The mean of the vertices that attain r*."""
        best, v = np.flatnonzero(self.live & (s == s[self.live].max())), s * 0
        v[best] += 1
        return v / len(best)

    def feasible(self, v: Any) -> Any:
        """v₊ / Σ v₊, uniform where that is 0/0."""
        kept = masked(positive(v), self.live)
        total = kept.sum()
        if (total.lo if isinstance(total, Interval) else total) > 0:
            return kept / total
        return masked(kept * 0 + 1, self.live) / int(self.live.sum())

    def shape(self, size: int) -> Shape:
        return plain(size, square=np.where(self.live, 0.0, np.inf), floor=0.0)._replace(simplex=self.live)


@dataclass(frozen=True)
class CountedCosts(Regularizer):
    """r(v) = (K/2) Σ n_S (1 − v_S)² on v ≥ 0, v_S = 0 where n_S = 0  (docs/mathematics.md §5).

    r*(s) = Σ Kn/2 ((1 + s/(Kn))₊² − 1) over n_S > 0, attained at v = (1 + s/(Kn))₊.
    """

    K: Any
    n: Any  # (m,)

    @property
    def live(self) -> Any:
        return np.array([each > 0 for each in self.n], bool)

    def value(self, v: Any) -> Any:
        short = 1 - v[self.live]
        return (short * short * self.n[self.live]).sum() * self.K / 2

    def conjugate(self, s: Any) -> Any:
        kn = self.n[self.live] * self.K
        reach = positive(s[self.live] / kn + 1)
        return ((reach * reach - 1) * kn).sum() / 2

    def argmin(self, s: Any) -> Any:
        v = s * 0
        v[self.live] = positive(s[self.live] / (self.n[self.live] * self.K) + 1)
        return v

    def feasible(self, v: Any) -> Any:
        return masked(positive(v), self.live)

    def shape(self, size: int) -> Shape:
        """(K/2) n_S (1 − v_S)², without its constant."""
        kn = self.K * np.asarray(self.n, float)
        return plain(size, square=np.where(self.live, kn / 2, np.inf), linear=-kn, floor=0.0)


@dataclass(frozen=True)
class Stacked(Regularizer):
    """r(θ) = Σ_j r_j(θ_j) over consecutive blocks of the given sizes."""

    sizes: tuple[int, ...]
    parts: tuple[Regularizer, ...]

    def blocks(self, x: Any) -> list[Any]:
        ends = np.cumsum(self.sizes)
        return [x[end - size : end] for size, end in zip(self.sizes, ends, strict=True)]

    @property
    def free(self) -> Ints:
        """The entries of boxes."""
        starts = np.cumsum((0, *self.sizes))
        boxes = [
            np.arange(start, start + size)
            for start, size, part in zip(starts, self.sizes, self.parts, strict=False)
            if isinstance(part, Box)
        ]
        return np.concatenate(boxes) if boxes else NONE

    def value(self, x: Any) -> Any:
        return sum((part.value(block) for part, block in self.pairs(x)), start=0)

    def conjugate(self, s: Any) -> Any:
        return sum((part.conjugate(block) for part, block in self.pairs(s)), start=0)

    def argmin(self, s: Any) -> Any:
        return np.concatenate([part.argmin(block) for part, block in self.pairs(s)])

    def feasible(self, x: Any) -> Any:
        found = [part.feasible(block) for part, block in self.pairs(x)]
        if isinstance(x, Interval):
            return Interval(np.concatenate([each.lo for each in found]), np.concatenate([each.hi for each in found]))
        return joined(found) if isinstance(x, Ratios) else np.concatenate(found)

    def shape(self, size: int) -> Shape | None:
        shapes = [part.shape(each) for part, each in zip(self.parts, self.sizes, strict=True)]
        if any(shape is None for shape in shapes):
            return None
        return Shape(*map(np.concatenate, zip(*shapes, strict=True)))

    def within(self, upper: Any) -> Stacked:
        return replace(self, parts=tuple(part.within(upper) for part in self.parts))

    def pairs(self, x: Any) -> list[tuple[Regularizer, Any]]:
        return list(zip(self.parts, self.blocks(x), strict=True))
