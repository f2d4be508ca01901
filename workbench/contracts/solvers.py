"""The contract of a stochastic solver of ours, and `Trace`, the record of its run."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from workbench.contracts.cuts import Floats, Ints
from workbench.contracts.formulations import Formulation
from workbench.contracts.oracles import Kernel, Oracle
from workbench.contracts.problems import Problem

State = Any  # each solver's own: a NamedTuple of arrays and numbers, or a class that its visitor changes


class Solver:
    """The base class of stochastic methods: frozen hyper-parameters, explicit state, one function that sweeps.

    name : the command name
    dual : whether the method works on dual weights, so that its log is replayed (solving/stochastic.py)
    sweep(argmax_into, add_slope, data, order, prices, witnesses, steps, state) : a module-level function in numba's
        subset; visits the samples in `order`, logs witnesses[k] and, if dual, steps[k] = (γ, ρ)

    Every solver defines `misfit`, `init` and `report`, and either `sweep` or `visitor`. The other members are
    optional. A solver never grades itself.
    """

    name: ClassVar[str]
    dual: ClassVar[bool] = False
    sweep: ClassVar[Callable[..., object]]

    def misfit(self, formulation: Formulation, problem: Problem) -> str | None:
        """Why this solver cannot work on the pair, or None."""
        raise NotImplementedError

    def init(self, formulation: Formulation, problem: Problem) -> State:
        """The first state: a NamedTuple of arrays and numbers, or an object that `visitor` changes in place."""
        raise NotImplementedError

    def report(self, state: State) -> Floats:
        """The θ that the solver claims, (p,)."""
        raise NotImplementedError

    def oracle(self, problem: Problem) -> Oracle | None:
        """The oracle that the solver asks in place of the formulation's, or None."""
        return None

    def rate(self, norms: Floats, prices: Floats, scale: float, state: State) -> float:
        """A published bound on E F(θ) − F* after the visits so far; ∞ if there is none."""
        return math.inf

    def visitor(self, kernel: Kernel, prices: Floats, state: State, compiled: bool) -> Callable[[Ints], object] | None:
        """The function visit(order) that a solver without a log runs in place of `sweep`, or None."""
        return None

    def duals(self, state: State) -> tuple[Ints, Ints, Floats] | None:
        """Samples (K,), witnesses (K, width) and dual weights μ (K,) of the cuts, if the solver keeps its cuts."""
        return None

    def start(
        self, formulation: Formulation, problem: Problem, samples: Ints, witnesses: Ints, weights: Floats
    ) -> State | None:
        """The state at dual weights μ (K,) of the cuts of these outputs, or None.

        A dual method whose D never falls stays at an optimum. The fixed-point audit checks this property of every
        solver that defines `start` (judging/audits.py).
        """
        return None

    def averaging(self, at: Ints, visits: int) -> Floats | None:
        """The shares (K,) in θ of the updates made at visits `at` of `visits`, if the solver learns from mistakes."""
        return None

    @property
    def learns_from_mistakes(self) -> bool:
        """Whether the solver defines `averaging`."""
        return self.averaging(np.zeros(0, np.int64), 1) is not None


class Mistakes(NamedTuple):
    """The log of updates w += ψ_i(y) at mistaken outputs: samples (K,), witnesses (K, width), counts (K,)."""

    samples: Ints
    witnesses: Ints
    counts: Ints


@dataclass
class Trace:
    """The iterates of a run at m checkpoints, and the bounds that we computed at each.

    passes, oracle_calls, seconds : (m,);  thetas : (m, p);  upper : (m,)
    lower : (m,), NaN without a dual, unless the terms are smooth: then θ alone proves a lower bound
    bound : (m,) published bound on E F(θ) − F*, ∞ if there is none
    drift : (m,) ‖θ − θ(ᾱ)‖/‖θ(ᾱ)‖ by replay of the log, NaN without a dual
    method, formulation : the solver with its hyper-parameters, and the formulation that the run was given
    mistakes : the updates of a solver that learns from mistakes, else None
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
    method: Solver
    formulation: Formulation
    mistakes: Mistakes | None = None
