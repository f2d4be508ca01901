"""The contract of a stochastic solver of ours, and the trace that a run of one leaves behind."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from workbench.contracts.cuts import Floats, Ints
from workbench.contracts.oracles import Kernel, Oracle


class Solver:
    """A stochastic method: frozen hyper-parameters, explicit state, one function that sweeps. Solvers derive from it.

    name : the command name
    dual : whether the method works on dual weights, so that its log is replayed (solving/stochastic.py)
    sweep(argmax_into, add_slope, data, order, prices, witnesses, steps, state) : a module-level function in numba's
        subset; visits the samples in `order`, logs witnesses[k] and, if dual, steps[k] = (γ, ρ)

    Every solver brings `misfit`, `init` and `report`, and `sweep` or `visitor`. The other members are optional; their
    defaults say that the solver does without. A solver never grades itself.
    """

    name: ClassVar[str]
    dual: ClassVar[bool] = False
    sweep: ClassVar[Callable[..., None]]

    def misfit(self, formulation: Any, problem: Any) -> str | None:
        """Why this solver cannot work on the pair, or None."""
        raise NotImplementedError

    def init(self, formulation: Any, problem: Any) -> Any:
        """The state: a NamedTuple of arrays and numbers."""
        raise NotImplementedError

    def report(self, state: Any) -> Floats:
        """The θ that the solver claims, (p,)."""
        raise NotImplementedError

    def oracle(self, problem: Any) -> Oracle | None:
        """The oracle that the solver asks, if that is not the formulation's."""
        return None

    def rate(self, norms: Floats, prices: Floats, scale: float, state: Any) -> float:
        """A published bound on E F(θ) − F* after the visits so far; ∞ if there is none."""
        return math.inf

    def visitor(self, kernel: Kernel, prices: Floats, state: Any, compiled: bool) -> Callable[[Ints], Any] | None:
        """visit(order) in place of `sweep`, of a solver that keeps no log."""
        return None

    def duals(self, state: Any) -> tuple[Ints, Ints, Floats] | None:
        """Samples (K,), witnesses (K, width) and dual weights μ (K,), of a solver that keeps its cuts."""
        return None

    def start(self, formulation: Any, problem: Any, samples: Ints, witnesses: Ints, weights: Floats) -> Any:
        """The state at dual weights μ (K,) of the cuts of these outputs, or None.

        A dual method whose D never falls promises to stay at an optimum; the fixed-point audit holds a solver that
        brings this member to that promise (judging/audits.py).
        """
        return None

    def averaging(self, at: Ints, visits: int) -> Floats | None:
        """The shares (K,) in θ of updates made at visits `at` of `visits`, of a solver that learns from mistakes."""
        return None


class Mistakes(NamedTuple):
    """Updates w += ψ_i(y) at mistaken outputs, by the log: samples (K,), witnesses (K, width), counts (K,)."""

    samples: Ints
    witnesses: Ints
    counts: Ints


@dataclass
class Trace:
    """What a run left behind: iterates at m checkpoints, and their grades, computed by us afterwards.

    passes, oracle_calls, seconds : (m,);  thetas : (m, p);  upper : (m,)
    lower : (m,), NaN without a dual, unless the terms are smooth: then θ proves it
    bound : (m,) published bound on E F(θ) − F*, ∞ if there is none
    drift : (m,) ‖θ − θ(ᾱ)‖/‖θ(ᾱ)‖ by replay of the log, NaN without a dual
    method, formulation : the solver with its hyper-parameters, and what it says it minimises
    mistakes : the updates of a solver that learns from its mistakes, else None
    """

    solver: str
    passes: Floats
    oracle_calls: Ints
    seconds: Floats
    thetas: Floats
    upper: Floats
    lower: Floats
    bound: Floats
    drift: Floats
    compiled: bool
    compile_seconds: float
    method: Any
    formulation: Any
    mistakes: Mistakes | None = None
