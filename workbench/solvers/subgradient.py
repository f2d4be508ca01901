"""Stochastic subgradient method for r = λ/2 ‖w‖² (Pegasos: Shalev-Shwartz et al. 2011).

With i uniform among the n samples of positive price and z the argmax at w_{t−1},

    g_t = −(n p_i/λ) a_i(z)         (the mean over `batch` of them)
    w_t = (1 − 1/t) w_{t−1} + (1/t) g_t,      i.e. a step 1/(λt) along −(λ w_{t−1} + n p_i a_i(z))

w_t is the plain mean of g_1 … g_t. Reported: the last w_t, or the average with weights s = 1 … t,
w̄_t = (1 − 2/(t+1)) w̄_{t−1} + 2/(t+1) w_t. By the sums u = Σ g_s and q = Σ s g_s, sparse to update,

    w_t = u/t,      w̄_t = 2/(t(t+1)) Σ_{s≤t} u_s = 2/(t(t+1)) ((t+1) u − q).

Rate. R = max n p_i ‖a_i‖ bounds both ‖n p_i a_i‖ and ‖λ w_t‖, so G = 2R bounds every stochastic
subgradient, and E‖w_t − w*‖² ≤ 4G²/(λ²t) (Rakhlin, Shamir, Sridharan 2012, Lemma 1). The one-step
inequality summed with weights s, as in Lacoste-Julien, Schmidt, Bach (2012), then gives

    weighted  E F(w̄_t) − F* ≤ 5G²/(λ(t+1))
    last      E F(w_t) − F* ≤ 17G²(1 + log t)/(λt)                        (Shamir, Zhang 2013)

Lacoste-Julien, Schmidt and Bach prove 2G²/(λ(t+1)) for steps 2/(λ(t+1)); in every measurement of ours those steps were
slower than 1/(λt).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from workbench.contracts import Floats, Ints, Solver
from workbench.errors import BadInput
from workbench.solvers._common import checked_average, misfit_of_ridge


class State(NamedTuple):
    w: Floats
    u: Floats
    q: Floats
    visits: Ints
    lam: float
    n: int
    batch: int


def sweep(argmax_into, add_slope, data, order, prices, witnesses, steps, state: State) -> None:
    """Visits the samples in `order`; an unfinished batch waits in u and q, where it weighs nothing."""
    w, u, q, visits, lam, n, batch = state
    for k in range(len(order)):
        i, t = order[k], visits[0] // batch + 1
        argmax_into(data, w, i, witnesses[k])
        scale = -n * prices[i] / (lam * batch)
        add_slope(data, i, witnesses[k], scale, u)
        add_slope(data, i, witnesses[k], t * scale, q)
        visits[0] += 1
        if visits[0] % batch == 0:
            shrink = 1.0 / t
            for j in range(len(w)):
                w[j] = u[j] * shrink


@dataclass(frozen=True)
class Subgradient(Solver):
    """Stochastic subgradient method; has no dual, hence no lower bound of its own."""

    average: Literal["weighted", "last"] = "weighted"
    batch: int = 1

    name: ClassVar[str] = "subgradient"
    dual: ClassVar[bool] = False
    sweep = staticmethod(sweep)

    def __post_init__(self) -> None:
        checked_average(self.average)
        if self.batch < 1:
            raise BadInput(f"batch is {self.batch}; visit at least one sample a step, batch=1.")

    def misfit(self, formulation: Any, problem: Any) -> str | None:
        return misfit_of_ridge(self.name, formulation, problem, smooth=True)

    def init(self, formulation: Any, problem: Any) -> State:
        w, u, q = np.zeros((3, formulation.blocks(problem).dim))
        lam = float(formulation.regularizer(problem).lam)
        n = int(np.count_nonzero(formulation.prices(problem).weights))
        return State(w, u, q, np.zeros(1, np.int64), lam, n, self.batch)

    def report(self, state: State) -> Floats:
        t = state.visits[0] // state.batch
        if self.average == "last" or t == 0:
            return state.w.copy()
        return 2.0 / (t * (t + 1.0)) * ((t + 1.0) * state.u - state.q)

    def rate(self, norms: Floats, prices: Floats, scale: float, state: State) -> float:
        """Bound on E F − F* of the reported iterate; `norms` (n,) bounds ‖a_i(z)‖."""
        t = max(1, int(state.visits[0]) // self.batch)
        square = (2 * state.n * float((prices * norms).max())) ** 2 / state.lam
        return 5 * square / (t + 1) if self.average == "weighted" else 17 * square * (1 + np.log(t)) / t


NAMES = {"subgradient": Subgradient}
