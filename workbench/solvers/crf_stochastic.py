"""SAGA (Defazio, Bach & Lacoste-Julien 2014) for smooth terms: variance-reduced stochastic gradients.

With f_i(w) = n p_i h_i(w) + μ/2 ‖w‖², F = (1/n) Σ f_i over the n samples of positive price, and a table of the last
seen gradients g_i of h_i, a visit of a uniform i takes

    d = ∇h_i(w) − g_i,      w ← w − η (n p_i d + Σ_j p_j g_j + μ w),      g_i ← ∇h_i(w before)

The direction is unbiased and its variance vanishes at the optimum, so a constant η converges linearly. For
η = 1/(3L), L a Lipschitz constant of all ∇f_i, and a table of true gradients (Corollary 1 there)

    E‖w_k − w*‖² ≤ (1 − min(1/(4n), μ/(3L)))^k · (‖w_0 − w*‖² + (2n/(3L)) (F(w_0) − ⟨∇F(w*), w_0 − w*⟩ − F(w*))).

The table starts at zero, not at gradients, and L is estimated, so `rate` claims no such bound.

*Step.* ∇h_i is Lipschitz with max_y ‖φ(x_i, y)‖² (a covariance), far above what is met. As Schmidt et al. (2015,
§3.3) do for SAG, Λ estimates it from below: where h_i(w − ∇h_i/Λ) > h_i(w) − ‖∇h_i‖²/(2Λ), Λ is doubled, never
past the proven bound; every visit it shrinks by 2^(−1/n). A visit evaluates h_i twice, η = 1/(3Λ max n p_i + 3μ).
Testing Λ on fewer visits saves half of the evaluations and was unstable: between two tests Λ shrinks too far.
Reported: the last w.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from workbench.contracts import Floats, SmoothForm, Solver

LARGEST = 2 << 30  # bytes of the table, (n, d): 2 GiB
TELLING = 1e-8  # a predicted fall of h_i, in nats, that rounding cannot hide


class State(NamedTuple):
    w: Floats
    table: Floats
    mean: Floats
    slope: Floats
    ahead: Floats
    curvature: Floats  # Λ and the bound that it never passes
    mu: float
    n: int
    heaviest: float  # max n p_i


def sweep(argmax_into, add_slope, data, order, prices, witnesses, steps, state: State) -> None:
    """Visits the samples in `order`."""
    w, table, mean, slope, ahead, curvature, mu, n, heaviest = state
    for k in range(len(order)):
        i = order[k]
        value = argmax_into(data, w, i, witnesses[k])
        for j in range(len(w)):
            slope[j] = 0.0
        add_slope(data, i, witnesses[k], 1.0, slope)
        curvature[0] *= 2.0 ** (-1.0 / n)
        square = 0.0
        for j in range(len(w)):
            square += slope[j] * slope[j]
        while square > 2.0 * curvature[0] * TELLING and curvature[0] < curvature[1]:
            for j in range(len(w)):
                ahead[j] = w[j] - slope[j] / curvature[0]
            if argmax_into(data, ahead, i, witnesses[k]) <= value - square / (2.0 * curvature[0]):
                break
            curvature[0] = min(2.0 * curvature[0], curvature[1])
        rate = 1.0 / (3.0 * (curvature[0] * heaviest + mu))
        for j in range(len(w)):
            change = prices[i] * (slope[j] - table[i, j])
            table[i, j] = slope[j]
            w[j] -= rate * (n * change + mean[j] + mu * w[j])
            mean[j] += change


@dataclass(frozen=True)
class SAGA(Solver):
    """SAGA with an adaptive step; has no dual, but with smooth terms every θ proves a lower bound."""

    name: ClassVar[str] = "crf-stochastic"
    dual: ClassVar[bool] = False
    sweep = staticmethod(sweep)

    def misfit(self, formulation: Any, problem: Any) -> str | None:
        if not isinstance(formulation, SmoothForm):
            return f"crf-stochastic needs smooth terms and {type(formulation).__name__} has cuts; use crf."
        n, d = problem.n_samples, formulation.blocks(problem).dim
        if 8 * n * d > LARGEST:
            return f"crf-stochastic keeps {n} × {d} numbers, {8 * n * d / 2**30:.1f} GiB of at most 2; use crf-lbfgs."
        return None

    def init(self, formulation: Any, problem: Any) -> State:
        n, d = problem.n_samples, formulation.blocks(problem).dim
        prices = formulation.prices(problem).floats()
        visited, bound = int(np.count_nonzero(prices)), max(float(problem.magnitude.max()) ** 2, 1e-100)
        w, mean, slope, ahead = np.zeros((4, d))
        curvature = np.array([min(1.0, bound), bound])
        mu, heaviest = float(formulation.regularizer(problem).curvature), float(visited * prices.max())
        return State(w, np.zeros((n, d)), mean, slope, ahead, curvature, mu, visited, heaviest)

    def report(self, state: State) -> Floats:
        return state.w.copy()


NAMES = {"crf-stochastic": SAGA}
