"""Small data on which the catalogue is measured, one pair a case, the same for every fault.

They are made so that mistakes show: a rare class, inputs of unequal scale, sequences of length 1 and of very unequal
length, a last sample of its own, targets with a mean.
"""

from __future__ import annotations

import numpy as np

from workbench.contracts import Floats, Formulation, Problem
from workbench.formulations.crf import CRF
from workbench.formulations.soft_margin import SoftMargin
from workbench.formulations.weighted_risk import WeightedRisk
from workbench.judging.faults.second.contract import Case
from workbench.outputs.chain import Chain
from workbench.outputs.linear import Linear
from workbench.outputs.multiclass import Multiclass

FORMULATIONS = {"soft-margin": SoftMargin, "crf": CRF}


def example(
    case: Case, seed: int = 0, lam: float = 0.1, n: int = 32, weighted: bool = False
) -> tuple[Problem, Formulation]:
    """A problem of the case with n samples, and its formulation."""
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.3, 1.0, 4.0], n) if weighted else None
    problem = {"multiclass": labels, "chain": sequences, "linear": scores}[case.problem](rng, n, weights)
    if case.formulation == "weighted-risk":
        return problem, WeightedRisk(lam=lam, loss=case.loss)
    return problem, FORMULATIONS[case.formulation](lam=lam)


SCALES = np.array([2.0, 1.0, 1.0, 0.4, 1.0])


def labels(rng: np.random.Generator, n: int, weights: Floats | None) -> Multiclass:
    """Four classes, the last one rare, around centres; the first sample of every class is seen."""
    y = np.concatenate([np.arange(4), rng.choice(4, n - 4, p=[0.35, 0.35, 0.2, 0.1])])
    centres = rng.normal(size=(4, 5))
    X = (centres[y] + 0.9 * rng.normal(size=(n, 5))) * SCALES + 0.3
    return Multiclass(X, y, weights=weights)


def sequences(rng: np.random.Generator, n: int, weights: Floats | None) -> Chain:
    """Three labels that follow one another in turn, a third of the sequences of length 1, others up to 6."""
    lengths = np.where(rng.random(n) < 0.35, 1, rng.integers(2, 7, n))
    chains = [(rng.choice(3, p=[0.2, 0.5, 0.3]) + np.cumsum(rng.random(T) < 0.7)) % 3 for T in lengths]
    centres = rng.normal(size=(3, 5))
    inputs = [(centres[y] + 1.2 * rng.normal(size=(len(y), 5))) * SCALES + 0.3 for y in chains]
    return Chain(inputs, chains, weights=weights)


def scores(rng: np.random.Generator, n: int, weights: Floats | None) -> Linear:
    """Labels ±1, three in four positive, by a noisy linear score with an offset."""
    X = rng.normal(size=(n, 5)) * SCALES + 0.3
    p = X @ (rng.normal(size=5) / SCALES) + rng.normal(size=n)
    return Linear(X, np.where(p >= np.quantile(p, 0.25), 1.0, -1.0), weights)
