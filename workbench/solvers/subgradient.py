"""Stochastic subgradient method for r = λ/2 ‖w‖² (Pegasos: Shalev-Shwartz et al. 2011).

With i uniform among the n samples of positive price and z the argmax at w_{t−1},

    g_t = −(n p_i/λ) a_i(z)         (the mean over `batch` of them)
    w_t = (1 − 1/t) w_{t−1} + (1/t) g_t,      i.e. a step 1/(λt) along −(λ w_{t−1} + n p_i a_i(z))

w_t is the plain mean of g_1 … g_t. Reported: the last w_t, or the average with weights s = 1 … t,
w̄_t = (1 − 2/(t+1)) w̄_{t−1} + 2/(t+1) w_t. By the sums u = Σ g_s and q = Σ s g_s, sparse to update,

    w_t = u/t,      w̄_t = 2/(t(t+1)) Σ_{s≤t} u_s = 2/(t(t+1)) ((t+1) u − q).

A visit takes from u only the entries of w that the sample's scores read (`Kernel.reads_into`), so the cost of a visit
grows with the sample's features and not with the number of weights.

Rate. R = max n p_i ‖a_i‖ bounds both ‖n p_i a_i‖ and ‖λ w_t‖, so G = 2R bounds every stochastic
subgradient, and E‖w_t − w*‖² ≤ 4G²/(λ²t) (Rakhlin, Shamir, Sridharan 2012, Lemma 1). The one-step
inequality summed with weights s, as in Lacoste-Julien, Schmidt, Bach (2012), then gives

    weighted  E F(w̄_t) − F* ≤ 5G²/(λ(t+1))
    last      E F(w_t) − F* ≤ 17G²(1 + log t)/(λt)                        (Shamir, Zhang 2013)

Lacoste-Julien, Schmidt and Bach prove 2G²/(λ(t+1)) for steps 2/(λ(t+1)); in every measurement of ours those steps were
slower than 1/(λt).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from workbench.arithmetic import compiled as machine
from workbench.contracts import Floats, Ints, Kernel, Solver
from workbench.errors import BadInput
from workbench.solvers._common import checked_average, everything, misfit_of_ridge


class State(NamedTuple):
    w: Floats
    u: Floats
    q: Floats
    visits: Ints
    witness: Ints
    lam: float
    n: int
    batch: int


def sweep(
    argmax_into, add_slope, reads_into, data, order: Ints, prices: Floats, asked: Ints, state: State
) -> int:  # fmt: skip
    """Visits the samples in `order`; an unfinished batch waits in u and q, where it weighs nothing; the visits."""
    w, u, q, visits, witness, lam, n, batch = state
    for i in order:
        t = visits[0] // batch + 1
        if t > 1 and visits[0] % batch == 0:
            shrink = 1.0 / (t - 1)
            for position in range(reads_into(data, i, asked)):
                w[asked[position]] = u[asked[position]] * shrink
        argmax_into(data, w, i, witness)
        scale = -n * prices[i] / (lam * batch)
        add_slope(data, i, witness, scale, u)
        add_slope(data, i, witness, t * scale, q)
        visits[0] += 1
    return visits[0]


@dataclass(frozen=True)
class Subgradient(Solver):
    """Stochastic subgradient method; has no dual, hence no lower bound of its own."""

    average: Literal["weighted", "last"] = "weighted"
    batch: int = 1

    name: ClassVar[str] = "subgradient"
    dual: ClassVar[bool] = False

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
        return State(w, u, q, np.zeros(1, np.int64), np.zeros(problem.width, np.int64), lam, n, self.batch)

    def report(self, state: State) -> Floats:
        t, waiting = divmod(int(state.visits[0]), state.batch)
        if t == 0 or (self.average == "last" and waiting):
            return state.w.copy()
        if self.average == "last":
            return state.u * (1.0 / t)
        return 2.0 / (t * (t + 1.0)) * ((t + 1.0) * state.u - state.q)

    def visitor(self, kernel: Kernel, prices: Floats, state: State, compiled: bool) -> Callable[[Ints], int]:
        """visit(order): a visit reads some weights or, with batches and kernels that do not tell which, all."""
        told = kernel.reads_into is not None and self.batch == 1 and kernel.widest < len(state.w)
        asked = np.arange(kernel.widest if told else len(state.w))
        kernel = kernel._replace(slope_into=None, reads_into=kernel.reads_into if told else everything)
        kernel = machine.sealed(kernel, "argmax_into", "add_slope", "reads_into") if compiled else kernel
        functions, swept = (kernel.argmax_into, kernel.add_slope, kernel.reads_into), sweep
        if compiled:
            place = kernel.data, asked, prices, asked, state
            swept = machine.compiled_function(sweep, (*functions, *place), "int64")
        return lambda order: swept(*functions, kernel.data, order, prices, asked, state)

    def rate(self, norms: Floats, prices: Floats, scale: float, state: State) -> float:
        """Bound on E F − F* of the reported iterate; `norms` (n,) bounds ‖a_i(z)‖."""
        t = max(1, int(state.visits[0]) // self.batch)
        square = (2 * state.n * float((prices * norms).max())) ** 2 / state.lam
        return 5 * square / (t + 1) if self.average == "weighted" else 17 * square * (1 + np.log(t)) / t


NAMES = {"subgradient": Subgradient}
