"""Variants of the registered objectives, which a learner may minimise by mistake or by another convention.

    Rescaled, RescaledTerms   h'_i(w) = h_i(D w), D diagonal ≥ 0     D_j = 0 leaves a feature out, and
                                                                     λ/2 w_j² costs λ/2 (D w)_j²/D_j²
    SquaredHinge              h'_i(w) = h_i(w)² = max over z, s ≥ 0 of  2s (⟨a_i(z), w⟩ + o_i(z)) − s²
    Absolute                  r(w) = λ‖w‖₁ in place of λ/2 ‖w‖²

Powers of two as D rescale slopes without rounding. A squared hinge is a maximum over cuts, too: for s ≥ 0,
(h − s)² ≥ 0 says h² ≥ 2sh − s² with equality at s = h, so a witness is (z, s), s as the bits of a float. Each of them
follows the contracts of contracts/, so that masters and proven bounds take them as they take
any other (docs/mathematics.md §10).

*Absolute.* F(0) = Σ p_i h_i(0) ≥ F(w*) ≥ λ‖w*‖₁, so the optimum lies in ‖w‖₁ ≤ B = F(0)/λ and the conjugate over that
ball, B(‖s‖_∞ − λ)₊, proves lower bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from workbench.arithmetic.intervals import gamma, positive
from workbench.contracts import Blocks, Floats, Ints, Kernel, Prices
from workbench.objectives.likelihoods import declared
from workbench.objectives.oracles import called_kernel
from workbench.objectives.regularizers import Regularizer, greatest


@dataclass(frozen=True)
class Sized:
    """An oracle of the same sizes as the oracle `inner` that it wraps."""

    inner: Any

    @property
    def kind(self) -> str:
        return self.inner.kind

    @property
    def n_samples(self) -> int:
        return self.inner.n_samples

    @property
    def dim(self) -> int:
        return self.inner.dim

    @property
    def width(self) -> int:
        return self.inner.width


@dataclass(frozen=True)
class View(Sized):
    """An oracle that asks another one; what is not said here is as there."""

    @property
    def least_loss(self) -> float:
        return self.inner.least_loss

    @property
    def free_outputs(self) -> bool:
        return self.inner.free_outputs

    def exact(self) -> None:
        return None

    def kernel(self, arranged: bool = False) -> Kernel:
        return called_kernel(self)


@dataclass(frozen=True)
class Rescaled(View):
    """h_i(D w); scales D (p,), zeros and powers of two."""

    scales: Floats

    def argmax(self, theta: Floats, samples: Ints) -> Ints:
        return self.inner.argmax(self.scales * theta, samples)

    def decode(self, theta: Floats, samples: Ints) -> Ints:
        return self.inner.decode(self.scales * theta, samples)

    def rows(self, samples: Ints, witnesses: Ints) -> tuple[sparse.csr_array, Floats]:
        slopes, offsets = self.inner.rows(samples, witnesses)
        return sparse.csr_array(slopes @ sparse.diags_array(self.scales)), offsets

    def slope_error(self, samples: Ints) -> Floats:
        return self.inner.slope_error(samples) * self.scales.max()

    def offset_error(self, samples: Ints) -> Floats:
        return self.inner.offset_error(samples)

    def rounding(self, theta: Floats) -> Floats:
        return self.inner.rounding(self.scales * theta)

    def reach(self, samples: Ints) -> Floats:
        return self.inner.reach(samples) * self.scales.max()


@dataclass(frozen=True)
class SquaredHinge(View):
    """h_i(w)²; a witness is one of h_i and the bits of s. `farthest` bounds ‖w‖_∞, beyond which nothing is proven."""

    farthest: float

    @property
    def width(self) -> int:
        return self.inner.width + 1

    def highest(self, samples: Ints) -> Floats:
        """(m,) bound on h_i(w), hence on s."""
        return self.inner.reach(samples) * self.farthest + self.inner.problem.max_loss[samples]

    def argmax(self, theta: Floats, samples: Ints) -> Ints:
        witnesses = self.inner.argmax(theta, samples)
        slopes, offsets = self.inner.rows(samples, witnesses)
        s = np.clip(slopes @ theta + offsets, 0.0, self.highest(samples))
        return np.column_stack([witnesses, s.view(np.int64)])

    def decode(self, theta: Floats, samples: Ints) -> Ints:
        return self.inner.decode(theta, samples)

    def rows(self, samples: Ints, witnesses: Ints) -> tuple[sparse.csr_array, Floats]:
        slopes, offsets = self.inner.rows(samples, np.ascontiguousarray(witnesses[:, :-1]))
        s = np.ascontiguousarray(witnesses[:, -1]).view(np.float64)
        return sparse.csr_array(slopes.multiply(2 * s[:, None])), s * (2 * offsets - s)

    def slope_error(self, samples: Ints) -> Floats:
        return 2 * self.highest(samples) * (self.inner.slope_error(samples) + gamma(2) * self.inner.reach(samples))

    def offset_error(self, samples: Ints) -> Floats:
        s = self.highest(samples)
        return s * (2 * self.inner.offset_error(samples) + gamma(4) * (2 * self.inner.problem.max_loss[samples] + s))

    def rounding(self, theta: Floats) -> Floats:
        """Missing h by δ misses h² by at most (2h + δ)δ."""
        size = np.abs(theta).max(initial=0.0)
        if size > self.farthest:
            return np.full(self.n_samples, np.inf)
        h = self.inner.reach(np.arange(self.n_samples)) * size + self.inner.problem.max_loss
        missed = self.inner.rounding(theta) + gamma(self.inner.problem.terms + 4) * h
        return (2 * h + missed) * missed

    def reach(self, samples: Ints) -> Floats:
        return 2 * self.highest(samples) * self.inner.reach(samples)


@dataclass(frozen=True)
class RescaledTerms(Sized):
    """Smooth terms h_i(D w), with what bounds and descent ask of them; scales D (p,)."""

    scales: Floats

    @property
    def assumption(self) -> str:
        return self.inner.assumption

    def evaluate(self, theta: Floats, samples: Ints, weights: Floats) -> tuple[Floats, Floats]:
        values, gradient = self.inner.evaluate(self.scales * theta, samples, weights)
        return values, self.scales * gradient

    def errors(self, theta: Floats, samples: Ints, weights: Floats) -> tuple[Floats, float]:
        values, gradient = self.inner.errors(self.scales * theta, samples, weights)
        return values, gradient * float(self.scales.max())

    def decode(self, theta: Floats, samples: Ints) -> Ints:
        return self.inner.decode(self.scales * theta, samples)

    def norms(self) -> Floats:
        return self.inner.norms() * self.scales.max()

    def hinges(self, theta: Any) -> tuple[Any, list[Any]]:
        import cvxpy as cp

        return self.inner.hinges(cp.multiply(self.scales, theta))


@dataclass(frozen=True)
class Absolute(Regularizer):
    """r(w) = λ‖w‖₁, its conjugate over ‖w‖₁ ≤ `bound`."""

    lam: Any
    bound: Any

    def value(self, w: Any) -> Any:
        return abs(w).sum() * self.lam

    def conjugate(self, s: Any) -> Any:
        return positive(greatest(abs(s)) - self.lam) * self.bound

    def argmin(self, s: Any) -> Any:
        """A vertex of the ball, or its centre."""
        best = abs(s).argmax()
        w = s * 0
        w[best] = np.sign(s[best]) * self.bound if abs(s[best]) > self.lam else 0
        return w


# ── formulations made of them ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Variant:
    """A formulation by cuts with r = λ/2 ‖w‖², seen another way: `view` of its oracle, `absolute` for λ‖w‖₁."""

    base: Any
    view: Callable[[Any], Any]
    absolute: bool = False

    def blocks(self, problem: Any) -> Blocks:
        return self.base.blocks(problem)

    def prices(self, problem: Any) -> Prices:
        return self.base.prices(problem)

    def oracle(self, problem: Any) -> Any:
        return self.view(self.base.oracle(problem))

    def regularizer(self, problem: Any) -> Regularizer:
        squared = self.base.regularizer(problem)
        if not self.absolute:
            return squared
        start = float(self.prices(problem).floats() @ problem.max_loss)
        return Absolute(squared.lam, start / squared.lam * (1 + 1e-9))

    def program(self, problem: Any, cuts: Any) -> Any:
        import cvxpy as cp

        w, xi, lam = cp.Variable(problem.n_features), cp.Variable(cuts.groups), self.base.regularizer(problem).lam
        penalty = lam * cp.norm1(w) if self.absolute else lam / 2 * cp.sum_squares(w)
        return cp.Problem(cp.Minimize(penalty + cuts.prices @ xi), cuts([w], xi))


@dataclass(frozen=True)
class SmoothVariant:
    """A smooth formulation with r = λ/2 ‖w‖² and its terms seen another way."""

    base: Any
    view: Callable[[Any], Any]

    def blocks(self, problem: Any) -> Blocks:
        return self.base.blocks(problem)

    def prices(self, problem: Any) -> Prices:
        return self.base.prices(problem)

    def terms(self, problem: Any) -> Any:
        return self.view(self.base.terms(problem))

    def regularizer(self, problem: Any) -> Regularizer:
        return self.base.regularizer(problem)

    def program(self, problem: Any) -> tuple[Any, Any]:
        lam = self.base.regularizer(problem).lam
        return declared(lam, problem, self.terms(problem), self.prices(problem).floats())
