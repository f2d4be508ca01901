"""How far above the certified optimum a learner of the catalogue ends, on the catalogue's own small data.

    excess = (F(w) − F*)/F*,     F(w) and F* upper bounds that we compute, F* within 1e-9 of the optimum.

A fault is *harmful* on these data if the excess at `budget` and that at 4 `budget` are both above 1e-2.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from workbench.contracts import Formulation, Problem
from workbench.judging.faults.second.contract import Case, Fault, Fit, Host
from workbench.judging.faults.second.examples import example
from workbench.proofs.any_bounds import AnyBounds, bounds_for
from workbench.solving.solve import solve

HARM = 10 * 1e-3
SHARE = 16  # of the passes of its host a fault gets; four times as many are a quarter of them


class Measured(NamedTuple):
    """The excess at a budget and at four times the budget."""

    end: float
    later: float

    @property
    def harmful(self) -> bool:
        """NaN and ∞ are harm, too."""
        return not min(self) <= HARM


@cache
def certified(case: Case, seed: int, weighted: bool) -> tuple[Problem, Formulation, AnyBounds, float]:
    """A problem, its formulation, the bounds, and F*."""
    problem, formulation = example(case, seed, weighted=weighted)
    return problem, formulation, bounds_for(formulation, problem), solve(formulation, problem, gap=1e-9).upper


def excess(fit: Fit, case: Case, budget: int, seed: int = 0, weighted: bool = False) -> float:
    """The relative excess of one run."""
    problem, formulation, bounds, optimum = certified(case, seed, weighted)
    weights = np.asarray(fit(problem, formulation, budget, seed), float)
    return (bounds.upper(weights) - optimum) / optimum


def measured(fault: Fault, case: Case | None = None, seed: int = 0) -> Measured:
    """A fault on its first case, or on the one that is given; on weighted samples where shares are the mistake."""
    budget, weighted = max(1, fault.host.passes // SHARE), "sample weights" in fault.amounts_to
    case = fault.applies[0] if case is None else case
    return Measured(*(excess(fault.fit, case, times * budget, seed, weighted) for times in (1, 4)))


def installed(learner: Host | Fault) -> bool:
    """Whether the package is here that a host, or the host of a fault, wraps."""
    needs = learner.host.needs if isinstance(learner, Fault) else learner.needs
    return not needs or find_spec(needs) is not None
