"""Importance-aware stochastic steps for `weighted-risk` (Karampatziakis & Langford 2011).

A visit follows two gradient flows, one after the other, for time η_t = log((t + 1)/t)/λ: that of λ/2‖w‖², which
scales w by t/(t + 1), and that of n p_i ℓ(⟨w, x_i⟩, y_i), in closed form (dyads/flows.py, `TRAVEL`):

    w ← t/(t + 1) · w,      w ← w − s x_i,      s = (p − p(τ))/‖x_i‖²,  τ = η_t n p_i ‖x_i‖²

    hinge      p − p(τ) = −y min(τ, (1 − yp)₊)
    squared    p − p(τ) = (p − y)(1 − e^{−τ})
    logistic   p − p(τ) = −yδ,   δ + e^{yp} expm1(δ) = τ

η_t is near 1/(λt), as in the subgradient method, but no step overshoots, however large the importance: an
importance of 2 is the step for importance 1, twice. With v_t = (t + 1) w_t the shrinking costs nothing and updates
are as sparse as x. Reported: the last w, or the average with weights t + 1,

    w̄_T = 2/(T(T + 3)) Σ_{t≤T} v_t,      Σ_{t≤T} v_t = (T + 1) v_T − Σ_t t (v_t − v_{t−1}).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, log, log1p
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from workbench.contracts import CutForm, Floats, Ints, Kernel, LinearRisk, LinearScores, SmoothForm, Solver
from workbench.solvers._common import checked_average

LOSSES = ("hinge", "squared", "logistic")


def score_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """⟨θ, x_i⟩."""
    indptr, indices, values = data
    score = 0.0
    for j in range(indptr[i], indptr[i + 1]):
        score += theta[indices[j]] * values[j]
    return score


def add_input(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
    """θ += scale · x_i."""
    indptr, indices, values = data
    for j in range(indptr[i], indptr[i + 1]):
        theta[indices[j]] += scale * values[j]


@dataclass(frozen=True)
class Scores:
    """The oracle that the solver asks: no maximum, just ⟨w, x_i⟩."""

    problem: LinearScores
    width: ClassVar[int] = 0

    def kernel(self) -> Kernel:
        X = self.problem.X
        return Kernel((X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data), score_into, add_input)


class State(NamedTuple):
    v: Floats
    late: Floats  # Σ t (v_t − v_{t−1})
    visits: Ints
    targets: Floats
    squares: Floats  # ‖x_i‖²
    lam: float
    n: int
    loss: int  # index in LOSSES
    averaged: bool


def sweep(argmax_into, add_slope, data, order, prices, witnesses, steps, state: State) -> None:
    """Visits the samples in `order`; the travels are those of dyads/flows.py, inlined."""
    v, late, visits, targets, squares, lam, n, loss, averaged = state
    nothing = np.empty(0, np.int64)  # a score has no witness
    for k in range(len(order)):
        i, t = order[k], visits[0] + 1
        visits[0] = t
        square, y = squares[i], targets[i]
        tau = log1p(1.0 / t) / lam * n * prices[i] * square
        if tau > 0:
            p = argmax_into(data, v, i, nothing) / (t + 1)
            if loss == 0:
                travel = -y * min(tau, max(1 - y * p, 0.0))
            elif loss == 1:
                travel = -(p - y) * expm1(-tau)
            else:
                m = y * p
                unit, c = exp(-max(m, 0.0)), exp(min(m, 0.0))
                goal = unit * tau
                delta = goal / (unit + c)
                if goal > c:
                    delta = min(delta, log(c + goal) - min(m, 0.0))
                for _ in range(20):
                    grown = c * expm1(delta) if delta < 1 else exp(min(m, 0.0) + delta) - c
                    away, slope = unit * delta + grown - goal, unit + grown + c
                    change = away / (slope - 0.5 * away * (grown + c) / slope)
                    delta -= change
                    if abs(change) <= 1e-15 * abs(delta):
                        break
                travel = -y * delta
            if travel != 0:
                scale = -travel / square * (t + 1)
                add_slope(data, i, nothing, scale, v)
                if averaged:
                    add_slope(data, i, nothing, t * scale, late)


@dataclass(frozen=True)
class ImportanceAware(Solver):
    """Importance-aware stochastic steps; have no dual, hence no lower bound of their own."""

    average: Literal["weighted", "last"] = "weighted"

    name: ClassVar[str] = "importance-aware"
    dual: ClassVar[bool] = False
    sweep = staticmethod(sweep)

    def __post_init__(self) -> None:
        checked_average(self.average)

    def misfit(self, formulation: Any, problem: Any) -> str | None:
        risk = formulation if isinstance(formulation, LinearRisk) else None
        known = risk is not None and risk.loss in LOSSES and isinstance(formulation, CutForm | SmoothForm)
        if known and isinstance(problem, LinearScores):
            return None
        name = type(formulation).__name__
        return f"importance-aware updates minimise weighted-risk of linear scores, {name} is another objective."

    def oracle(self, problem: Any) -> Scores:
        return Scores(problem)

    def init(self, formulation: Any, problem: Any) -> State:
        v, late = np.zeros((2, problem.n_features))
        squares = np.asarray(problem.X.multiply(problem.X).sum(axis=1)).ravel()
        n = int(np.count_nonzero(problem.weights))
        loss, averaged = LOSSES.index(formulation.loss), self.average == "weighted"
        targets = problem.targets if formulation.loss == "squared" else problem.signs
        return State(v, late, np.zeros(1, np.int64), targets, squares, float(formulation.lam), n, loss, averaged)

    def report(self, state: State) -> Floats:
        t = int(state.visits[0])
        if self.average == "last" or t == 0:
            return state.v / (t + 1)
        return 2.0 / (t * (t + 3.0)) * ((t + 1.0) * state.v - state.late)


NAMES = {"importance-aware": ImportanceAware}
