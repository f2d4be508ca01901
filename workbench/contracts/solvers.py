"""The contract of a stochastic solver of ours, and the trace that a run of one leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from workbench.contracts.cuts import Floats, Ints


class Solver(Protocol):
    """A stochastic method: frozen hyper-parameters, explicit state, one function that sweeps.

    name, dual : its command name; whether it works on dual weights (then its log is replayed)
    sweep(argmax_into, add_slope, data, order, prices, witnesses, steps, state) : a module-level
        function in numba's subset (solving/stochastic.py); visits the samples in `order`, logs
        witnesses[k] and, if dual, steps[k] = (γ, ρ)
    A solver never grades itself; `rate(norms, prices, scale, state)`, its published bound, is optional,
    and so is `oracle(problem)`, the oracle it asks if that is not the formulation's. One that keeps its
    cuts brings `visitor` and `duals` in place of the log (solving/stochastic.py). A dual method whose D never
    falls promises to stay at an optimum by `start(formulation, problem, samples, witnesses, weights)`, the state at
    dual weights μ (K,) of the cuts of these outputs; the fixed-point audit holds it to that (judging/audits.py).
    """

    name: str
    dual: bool
    sweep: Callable[..., None]

    def misfit(self, formulation: Any, problem: Any) -> str | None:
        """Why this solver cannot work on the pair, or None."""
        ...

    def init(self, formulation: Any, problem: Any) -> Any:
        """The state: a NamedTuple of arrays and numbers."""
        ...

    def report(self, state: Any) -> Floats:
        """The θ it claims."""
        ...


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
