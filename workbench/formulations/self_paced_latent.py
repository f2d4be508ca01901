"""Self-paced learning of latent structural SVMs (Kumar, Packer & Koller 2010; docs/mathematics.md §6).

The objective F(w) is that of `latent-ssvm`; the order in which samples enter differs. Each round solves a convex
program (`completed-ssvm`) over the samples that are easy enough, and then updates the states h, the selection v and the
thresholds κ = 1/K (objectives/pacing.py).

    warm-up   two rounds of CCCP on all samples give w₀; K₀ lets half of the samples enter
    stage t   h ← argmax, κ ← μκ until h or v has changed, v by the criterion;
              with slack alone v and w alternate until A(w, v) stops falling
    last      all samples: CCCP to its stationary point

A(w, v) = ½‖w‖² + Σ v_i c_i ξ_i + Σ (1 − v_i) s_i/K is least over v at v_i = 1[c_i ξ_i < s_i/K] and over w at the
program's optimum, so A never rises within a stage; the loop asserts this descent. Uncertainty and novelty are no terms
of A, and v is frozen within their stages. Of a sample of weight 0 nothing is ever asked: v_i = 1 and h_i stay.

*Dual.* None for the schedule. That of each round's convex program is the dual of `completed-ssvm`, over the samples
that are selected.

*Termination.* A stage that changes neither h nor v would repeat the round before, so thresholds grow by factors μ until
h or v changes; only such changes count as stages, and a small μ admits sample after sample. All samples enter when no
further sample can (infinite novelty), or after MOST_STAGES stages. An empty selection ends its stage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.contracts import Floats, Ints
from workbench.errors import BadInput, checked_choice, checked_positive, checked_whole
from workbench.formulations.latent_ssvm import CompletedSSVM, Restarted, drawn, imputed, latent, objective
from workbench.objectives.pacing import (
    admitted,
    checked_shares,
    costs,
    difficulties,
    first_thresholds,
    hinges,
    unit_cost,
)

WARM, LAST = -2, 1_000_000  # stages; 0, 1, … are those of Algorithm 1
MOST_STAGES = 100
LEAST_GROWTH = 1.001  # of thresholds; with less, they would take millions of steps to change anything


class Pace(NamedTuple):
    """The state of the alternation: the stage, thresholds κ (3,), states h (n,), selection v (n,) of 0 and 1."""

    stage: int
    kappa: Floats
    states: Ints
    kept: Ints

    def packed(self) -> Floats:
        return np.concatenate([[self.stage], self.kappa, self.states, self.kept]).astype(float)

    @classmethod
    def of(cls, state: Floats) -> Pace:
        states, kept = np.split(state[4:].astype(np.int64), 2)
        return cls(int(state[0]), state[1:4], states, kept)


@dataclass(frozen=True)
class SelfPacedLatent(Restarted):
    """Easy samples first, by shares of `slack`, `uncertainty` and `novelty`; thresholds grow by `mu` a stage.

    Shares are relative, and the share of slack is 1 unless given: novelty=1 mixes slack and novelty in equal shares,
    novelty=1 with slack=0 takes novelty alone.

    combine : mix or all, see objectives/pacing.py;  steepness : k of the uncertainty's σ
    tolerance : relative decrease of A below which a stage ends
    """

    C: float = 10.0
    slack: float = 1.0
    uncertainty: float = 0.0
    novelty: float = 0.0
    combine: Literal["mix", "all"] = "mix"
    mu: float = 1.3
    steepness: float = 1.0
    tolerance: float = 1e-6
    starts: int = 5
    start_seed: int = 0

    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_positive(C=self.C, steepness=self.steepness, tolerance=self.tolerance)
        checked_whole(1, starts=self.starts)
        checked_whole(0, start_seed=self.start_seed)
        checked_choice("mix", "all", combine=self.combine)
        if not isinstance(self.mu, Real) or not LEAST_GROWTH <= self.mu <= 1e100:
            raise BadInput(f"mu is {self.mu!r}; thresholds grow by it: give {LEAST_GROWTH} to 1e100, e.g. mu=1.3.")
        checked_shares(slack=self.slack, uncertainty=self.uncertainty, novelty=self.novelty)

    @property
    def shares(self) -> Floats:
        """The shares of slack, uncertainty and novelty in the criterion, (3,)."""
        return checked_shares(slack=self.slack, uncertainty=self.uncertainty, novelty=self.novelty)

    @property
    def by_slack(self) -> bool:
        """Whether the slack alone selects samples."""
        return self.shares[0] == 1

    def first(self, problem: Any, number: int) -> Floats:
        """The first state of the start with this number, drawn from the seed."""
        everyone = np.ones(latent(problem).n_samples, np.int64)
        return Pace(WARM, np.zeros(3), drawn(problem, self.start_seed, number), everyone).packed()

    def surrogate(self, problem: Any, state: Floats) -> CompletedSSVM:
        pace = Pace.of(state)
        return CompletedSSVM(self.C, tuple(pace.states), None if pace.kept.all() else tuple(pace.kept))

    def value(self, problem: Any, theta: Floats) -> float:
        return objective(problem, theta, self.C)

    def difficulties(self, problem: Any, theta: Floats) -> Floats:
        """f (3, n) by slack, uncertainty and novelty at the best states for θ, whatever the shares."""
        return difficulties(
            problem, theta, problem.impute(theta), unit_cost(problem, self.C), np.ones(3) / 3, self.steepness
        )

    def step(
        self, problem: Any, theta: Floats, state: Floats, solve: Callable[[Any], Any]
    ) -> tuple[Floats, dict[str, Any]]:
        pace = Pace.of(state)
        paced, told = 0 <= pace.stage < LAST, {"stage": pace.stage, "kept": pace.kept.tolist()}
        told |= {"K": (1 / pace.kappa[self.shares > 0]).tolist() if paced else None}
        told |= {"majorant": pace.stage == LAST, "objective": np.nan if pace.stage < LAST else None}
        if paced and self.by_slack:
            xi = hinges(problem, theta, pace.states)
            told["objective"] = float(theta @ theta / 2 + self.capped(problem, xi, pace))
            easier = self.reselected(problem, theta, xi, pace)
            if easier is not None:
                return easier.packed(), told
        return self.next_stage(problem, theta, pace).packed(), told

    def capped(self, problem: Any, xi: Floats, pace: Pace) -> float:
        """Σ v_i c_i ξ_i + Σ (1 − v_i) s_i/K."""
        return float(np.where(pace.kept, costs(problem, self.C) * xi, problem.weights * pace.kappa[0]).sum())

    def reselected(self, problem: Any, theta: Floats, xi: Floats, pace: Pace) -> Pace | None:
        """The pace with the best v at these weights, if A falls by more than the tolerance; else None."""
        enters = unit_cost(problem, self.C) * xi < pace.kappa[0]
        easier = pace._replace(kept=selection(problem, enters))
        before = self.capped(problem, xi, pace)
        falls = before - self.capped(problem, xi, easier) > self.tolerance * (theta @ theta / 2 + before)
        return easier if falls and learnable(problem, easier.kept) else None

    def next_stage(self, problem: Any, theta: Floats, pace: Pace) -> Pace:
        """h at its best, larger thresholds, and who enters."""
        states = imputed(problem, theta, pace.states)
        everyone = Pace(LAST, pace.kappa, states, np.ones_like(pace.kept))
        if pace.stage == LAST:
            return everyone
        if pace.stage < -1:
            return Pace(pace.stage + 1, pace.kappa, states, pace.kept)
        f = difficulties(problem, theta, states, unit_cost(problem, self.C), self.shares, self.steepness)
        opening = pace.stage < 0
        kappa = first_thresholds(f, problem.n_hidden > 1, problem.weights) if opening else self.mu * pace.kappa
        while pace.stage + 1 < MOST_STAGES:
            kept = selection(problem, admitted(f, kappa, self.shares, self.combine))
            if kept.all() or not np.isfinite(f[:, kept == 0]).all(axis=0).any():
                break
            moved = opening or (kept != pace.kept).any() or (states != pace.states).any()
            if moved and learnable(problem, kept):
                return Pace(pace.stage + 1, kappa, states, kept)
            kappa = self.mu * kappa
        return everyone


def selection(problem: Any, enters: NDArray[np.bool_]) -> Ints:
    """v (n,): 1 for a sample that enters, and 1 for every sample of weight 0, which enters no count."""
    return np.where(problem.weights > 0, enters, 1).astype(np.int64)


def learnable(problem: Any, kept: Ints) -> bool:
    """Whether a sample with weight is kept."""
    return bool((problem.weights * kept).any())


NAMES = {"self-paced-latent": SelfPacedLatent}
