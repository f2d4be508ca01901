"""Block-coordinate Frank–Wolfe (Lacoste-Julien, Jaggi, Schmidt, Pletscher 2013, Algorithm 4).

Sample i owns a share of the dual point: w_i = −(p_i/λ) Σ_z α_i(z) a_i(z) and o_i = p_i Σ_z α_i(z) o_i(z).
With w = Σ w_i the dual is D(α) = Σ o_i − λ/2 ‖w‖², and min F = max D. A visit of i with argmax z,
w_s = −(p_i/λ) a_i(z) and o_s = p_i o_i(z), moves the share by the step that maximises D on the segment:

    δ = w_s − w_i,     γ = clip[0,1] of  (o_s − o_i − λ⟨w, δ⟩) / (λ‖δ‖²)
    w_i += γ δ,   w += γ δ,   o_i += γ (o_s − o_i),   α_i ← (1 − γ) α_i + γ e_z

o_s = p_i h_i(w) + λ⟨w, w_s⟩ comes from the argmax's value. Start: all weight on the truth, whose cut
is zero. Reported: the average w̄_k = (1 − 2/(k+1)) w̄_{k−1} + 2/(k+1) w_k over visits k, or the last w.
(γ, weight of the visit in the average) goes into `steps`, so that `run` can replay α and ᾱ.

Rate. Curvature C = Σ_i λ diam²_i with diam_i ≤ 2 p_i R_i/λ, i.e. C = (4/λ) Σ p_i² R_i², and
h_0 = max D − D(0) ≤ F(0): E h_k ≤ 2n/(k+2n) (C + h_0) (their Theorem 2, whose C is 4R²/(λn) for
p_i = 1/n). The duality gap g satisfies E h_{k+1} ≤ E h_k − (γ/n) E g_k + γ²C/(2n) for every γ; with
γ = 2n/(k+2n), summed with weights k, and g being convex in α:   E g(ᾱ_k) ≤ 2n (3C + 2h_0)/(k+1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse

from workbench.contracts import Floats, Ints, Solver
from workbench.solvers._common import checked_average, misfit_of_ridge

LARGEST = 2 << 30  # bytes of w_i, (n, d): 2 GiB


class State(NamedTuple):
    w: Floats
    mean: Floats
    blocks: Floats
    offsets: Floats
    delta: Floats
    visits: Ints
    lam: float
    averaged: bool


def sweep(argmax_into, add_slope, data, order, prices, witnesses, steps, state: State) -> None:
    """Visits the samples in `order`; logs each visit's witness and its (γ, weight in the average)."""
    w, mean, blocks, offsets, delta, visits, lam, averaged = state
    for k in range(len(order)):
        i = order[k]
        block = blocks[i]
        value = argmax_into(data, w, i, witnesses[k])
        for j in range(len(w)):
            delta[j] = -block[j]
        add_slope(data, i, witnesses[k], -prices[i] / lam, delta)
        along, own, square = 0.0, 0.0, 0.0
        for j in range(len(w)):
            along += w[j] * delta[j]
            own += w[j] * block[j]
            square += delta[j] * delta[j]
        rise = prices[i] * value + lam * (along + own) - offsets[i]
        slope = rise - lam * along
        gamma = 0.0
        if slope > 0.0:
            gamma = slope / (lam * square) if slope < lam * square else 1.0
        visits[0] += 1
        rho = 2.0 / (visits[0] + 1.0) if averaged else 1.0
        offsets[i] += gamma * rise
        for j in range(len(w)):
            step = gamma * delta[j]
            block[j] += step
            w[j] += step
            mean[j] += rho * (w[j] - mean[j])
        steps[k, 0], steps[k, 1] = gamma, rho


@dataclass(frozen=True)
class BCFW(Solver):
    """Block-coordinate Frank–Wolfe with exact line search."""

    average: Literal["weighted", "last"] = "weighted"

    name: ClassVar[str] = "bcfw"
    dual: ClassVar[bool] = True
    sweep = staticmethod(sweep)

    def __post_init__(self) -> None:
        checked_average(self.average)

    def misfit(self, formulation: Any, problem: Any) -> str | None:
        if sentence := misfit_of_ridge(self.name, formulation, problem):
            return sentence
        n, d = problem.n_samples, formulation.blocks(problem).dim
        if 8 * n * d > LARGEST:
            return (
                f"bcfw keeps {n} × {d} numbers, {8 * n * d / 2**30:.1f} GiB of at most 2; use the subgradient method."
            )
        return None

    def init(self, formulation: Any, problem: Any) -> State:
        n, d = problem.n_samples, formulation.blocks(problem).dim
        w, mean, delta = np.zeros((3, d))
        lam, averaged = float(formulation.regularizer(problem).lam), self.average == "weighted"
        return State(w, mean, np.zeros((n, d)), np.zeros(n), delta, np.zeros(1, np.int64), lam, averaged)

    def start(self, formulation: Any, problem: Any, samples: Ints, witnesses: Ints, weights: Floats) -> State:
        """The state at dual weights μ_k = p_i α_i(z_k) of K cuts: w_i = −Σ μ_k a_k/λ, o_i = Σ μ_k o_k."""
        state, (slopes, offsets) = self.init(formulation, problem), formulation.oracle(problem).rows(samples, witnesses)
        places = samples, np.arange(len(samples))
        spread = sparse.csr_array((-weights / state.lam, places), shape=(len(state.blocks), len(samples)))
        moved = sparse.coo_array(spread @ slopes)
        state.blocks[moved.coords] = moved.data
        np.add.at(state.offsets, samples, weights * offsets)
        state.w[:] = state.mean[:] = state.blocks.sum(axis=0)
        return state

    def report(self, state: State) -> Floats:
        return state.mean.copy()

    def rate(self, norms: Floats, prices: Floats, scale: float, state: State) -> float:
        """Bound on E F − F* of the reported iterate; `norms` (n,) bounds ‖a_i(z)‖, `scale` is F(0)."""
        curvature = 4 / state.lam * float(((prices * norms) ** 2).sum())
        n, k = int(np.count_nonzero(prices)), int(state.visits[0])
        return 2 * n * (3 * curvature + 2 * scale) / (k + 1) if state.averaged else np.inf


NAMES = {"bcfw": BCFW}
