"""Alternation as a learner: passes of dual ascent on the convex program of a state, then the next state.

    latent-ssvm         state: hidden h      convex program F(·; h)                      next: h at its best (CCCP)
    self-paced-latent   state: pace          the same over the samples that are kept     next: Algorithms 1 and 2
    self-paced          state: v ∈ {0, 1}ⁿ   ½‖w‖² + Σ v_i c_i ξ_i                       next: v_i = 1[c_i ξ_i < κ_i]
                        and h, where samples hide states: as above, and h at its best

The programs are not solved: `inner` passes of dual-block (solvers/dual_block.py) go to one state, then the state moves,
or, if it would stay, the same ascent goes on. A state that stays for `patience` times `inner` passes ends a start; the
next start begins at other random states. The learner yields the best weights so far by the objective of the whole,

    F(w) = ½‖w‖² + Σ c_i ξ_i(w)   or   ½‖w‖² + Σ min(c_i ξ_i(w), κ_i),

so F never rises on the way. The starting point is w = 0. Each end is a local optimum at best; the judge says how far it
is from the search's proven optimum (`self-paced`), or whether it is stationary (judging/stationary.py).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.arithmetic.compiled import available
from workbench.contracts import Floats, Ints
from workbench.errors import MissingCapability, checked_whole
from workbench.formulations.latent_ssvm import CompletedSSVM, LatentSSVM, drawn, imputed
from workbench.formulations.self_paced import SelfPaced
from workbench.formulations.self_paced_latent import SelfPacedLatent
from workbench.objectives.criteria import slack
from workbench.objectives.oracles import hides
from workbench.solvers.dual_block import DualBlock


class Way:
    """An alternation of the two latent formulations: states, their convex programs, and F."""

    def __init__(self, formulation: Any, problem: Any):
        self.form, self.problem = formulation, problem

    def start(self, number: int) -> Floats:
        return self.form.first(self.problem, number)

    def surrogate(self, state: Floats) -> CompletedSSVM:
        return self.form.surrogate(self.problem, state)

    def step(self, theta: Floats, state: Floats) -> Floats:
        return self.form.step(self.problem, theta, state, unasked)[0]

    def value(self, theta: Floats) -> float:
        return self.form.value(self.problem, theta)


class Selecting(Way):
    """The alternation of `self-paced`, whose state is v (n,), then the hidden states (n,) if there are any."""

    def __init__(self, formulation: Any, problem: Any):
        super().__init__(formulation, problem)
        self.caps = np.array([float(each) for each in formulation.charges(problem)[1]])
        self.everyone: Ints = np.arange(problem.n_samples)
        self.hidden = hides(problem)

    def start(self, number: int) -> Floats:
        """All samples, then random halves; hidden states at their best for random weights."""
        states = drawn(self.problem, 0, number).astype(float) if self.hidden else np.empty(0)
        if number == 0:
            return np.append(np.ones(self.problem.n_samples), states)
        kept = np.random.default_rng(number).permutation(self.everyone) % 2 == 0
        return np.append(np.where(self.problem.weights > 0, kept, 1.0), states)

    def surrogate(self, state: Floats) -> CompletedSSVM:
        kept, states = np.split(state.astype(int), [self.problem.n_samples])
        return CompletedSSVM(self.form.C, tuple(states.tolist()) if self.hidden else None, tuple(kept.tolist()))

    def step(self, theta: Floats, state: Floats) -> Floats:
        """The next state, or the state as it is where nobody would be kept: the best w is then 0, where the learner
        began.
        """
        kept = slack(self.form, self.problem, theta, self.everyone) < self.caps
        if not (kept & (self.problem.weights > 0)).any():
            return state
        states = imputed(self.problem, theta, state[len(kept) :].astype(np.int64)) if self.hidden else ()
        return np.append(np.where(self.problem.weights > 0, kept, 1.0), states)

    def value(self, theta: Floats) -> float:
        terms = slack(self.form, self.problem, theta, self.everyone)
        return float(theta @ theta / 2 + np.minimum(terms, self.caps).sum())


@dataclass(frozen=True)
class Alternation:
    """Dual ascent on the convex program of a state, then the next state; from several starts, the best by F.

    inner : passes to one state;  patience : how often the state may stay before another start begins
    """

    inner: int = 5
    patience: int = 8

    def __post_init__(self) -> None:
        checked_whole(1, inner=self.inner, patience=self.patience)

    def misfit(self, formulation: Any, problem: Any) -> str | None:
        """Why it does not fit the pair, or None."""
        if not isinstance(formulation, SelfPaced | LatentSSVM | SelfPacedLatent):
            name = type(formulation).__name__
            return f"alternation chooses hidden states or samples and {name} has neither to choose; use dual-block."
        way = way_of(formulation, problem)
        return DualBlock().misfit(way.surrogate(way.start(0)), problem)

    def fit(self, problem: Any, formulation: Any, budget: int, rng: Any) -> Any:
        """Checkpoints (passes, the best w so far)."""
        if sentence := self.misfit(formulation, problem):
            raise MissingCapability(sentence)
        way, random, spent = way_of(formulation, problem), np.random.default_rng(rng), 0
        best = np.zeros(problem.n_features)
        least = way.value(best)
        for number in itertools.count():
            state, left = way.start(number), self.patience
            ascend = ascent(way.surrogate(state), problem, random)
            while left and spent < budget:
                passes = min(self.inner, budget - spent)
                theta, spent = ascend(passes), spent + passes
                if (value := way.value(theta)) < least:
                    best, least = theta, value
                yield spent, best
                after = way.step(theta, state)
                if np.array_equal(after, state):
                    left -= 1
                else:
                    state, left = after, self.patience
                    ascend = ascent(way.surrogate(state), problem, random)
            if spent >= budget:
                return


def way_of(formulation: Any, problem: Any) -> Way:
    return (Selecting if isinstance(formulation, SelfPaced) else Way)(formulation, problem)


def ascent(convex: CompletedSSVM, problem: Any, random: np.random.Generator) -> Callable[[int], Floats]:
    """ascend(passes): w after so many further passes of dual-block on the convex program."""
    solver, oracle, prices = DualBlock(), convex.oracle(problem), convex.prices(problem).floats()
    state, kernel = solver.init(convex, oracle.problem), oracle.kernel()
    visit = solver.visitor(kernel, prices, state, available() and bool(kernel.data))

    def ascend(passes: int) -> Floats:
        for _ in range(passes):
            visit(random.permutation(np.flatnonzero(prices)))
        return solver.report(state)

    return ascend


def unasked(convex: Any) -> Any:
    """In place of a solver: no step of these alternations asks for a certified solution."""
    raise MissingCapability("alternation has no certified solutions to offer.")


NAMES = {"alternation": Alternation}
