"""Joint likelihood by counts: the most modelling end of the continuum (docs/mathematics.md §4).

A hidden Markov model with Bernoulli features, for a label a sample (`Multiclass`: naive Bayes) or a sequence (`Chain`):

    p(x, y) = π_{y_1} Π_t p(y_{t+1} | y_t) p(end | y_T) Π_t Π_j μ_{y_t j}^{x_tj} (1 − μ_{y_t j})^{1 − x_tj}

The maximum of log p + log prior, with a pseudo-observations of everything (Beta(a + 1, a + 1) and Dirichlet(a + 1)):

    μ_yj = (n_yj + a)/(n_y + 2a)      π_y = (first_y + a)/(n + Ka)      p(b | a′) = (n_{a′b} + a)/(n_{a′} + (K + 1)a)

With a constant feature 1, and for chains the features `first` and `last` of the first and the last letter,
log p(x, y) = ⟨w, φ(x, y)⟩ for every x and y:

    W_yj = log μ_yj/(1 − μ_yj)   W_y,1 = Σ_j log(1 − μ_yj) [+ log π_y]   W_y,first = log π_y   W_y,last = log p(end | y)

and A_ab = log p(b | a). The same w is scored by every other objective and may start every solver. `program` says the
problem once more, convex in log-odds; tests prove the two equal. Sample weights count samples.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from workbench.arithmetic.arrays import summed
from workbench.contracts import Floats, Ints
from workbench.errors import MissingCapability
from workbench.outputs.chain import Chain
from workbench.outputs.multiclass import Multiclass

PRIOR = 1.0


class Counts(NamedTuple):
    """What is counted, weighted by samples, with the pseudo-observations in.

    ones, zeros (K, m) of the m binary features;  starts (K,);  steps (K, K + 1), the last column ends, or None
    """

    ones: Floats
    zeros: Floats
    starts: Floats
    steps: Floats | None


def fit(problem: Any, formulation: Any, budget: int, rng: Any) -> Floats:
    """Naive Bayes and hidden Markov models in closed form, with one pseudo-observation of everything."""
    return counted(problem, PRIOR)


def counted(problem: Any, prior: float) -> Floats:
    """w (d,) with log p(x, y) = ⟨w, φ(x, y)⟩ at the most probable parameters; prior a > 0.

    Raises
    ------
    MissingCapability : features that are not 0 and 1, no constant one, chains without marks of first and last letters
    """
    columns, own = roles(problem)
    ones, zeros, starts, steps = counts(problem, prior, own)
    k, p = starts.size, problem.inputs.shape[1]
    W = np.zeros((k, p))
    W[:, own] = np.log(ones) - np.log(zeros)
    W[:, columns[0]] = (np.log(zeros) - np.log(ones + zeros)).sum(axis=1)
    first = np.log(starts) - np.log(starts.sum())
    if steps is None:
        W[:, columns[0]] += first
        return W.ravel()
    A = np.log(steps) - np.log(steps.sum(axis=1, keepdims=True))
    W[:, columns[1]], W[:, columns[2]] = first, A[:, -1]
    return np.concatenate([W.ravel(), A[:, :-1].ravel()])


def counts(problem: Any, prior: float, own: Ints) -> Counts:
    """Everything counted over the samples with weight."""
    k, labels = len(problem.classes), problem.labels
    number, places = problem.places(np.arange(problem.n_samples))
    weight = np.zeros(len(labels))
    weight[places] = problem.weights[number]
    here = np.zeros((k, len(labels)))
    here[labels, np.arange(len(labels))] = weight
    ones = here @ problem.inputs[:, own]
    zeros = here.sum(axis=1, keepdims=True) - ones
    if isinstance(problem, Multiclass):
        return Counts(ones + prior, zeros + prior, here.sum(axis=1) + prior, None)
    begins, ends = problem.offsets[:-1], problem.offsets[1:] - 1
    starts, steps = np.zeros(k), np.zeros((k, k + 1))
    np.add.at(starts, labels[begins], problem.weights)
    np.add.at(steps, (labels[ends], k), problem.weights)
    inner = np.setdiff1d(np.arange(len(labels)), ends)
    np.add.at(steps, (labels[inner], labels[inner + 1]), weight[inner])
    return Counts(ones + prior, zeros + prior, starts + prior, steps + prior)


def roles(problem: Any) -> tuple[list[int], Ints]:
    """The columns of the constant, and for chains of `first` and `last`; and those of the other features."""
    if not isinstance(problem, Chain | Multiclass):
        raise MissingCapability(
            f"generative counts labels and {type(problem).__name__} has none; use a chain or table."
        )
    if isinstance(problem, Chain) and problem.paired:
        raise MissingCapability("generative has no model of features of pairs; leave `pairs` out.")
    X = problem.inputs
    if not np.isin(X.data, (0.0, 1.0)).all():
        raise MissingCapability("generative needs features that are 0 or 1; make the problem's binary.")
    patterns: list[Floats] = [np.ones(X.shape[0])]
    if isinstance(problem, Chain):
        for edge in (problem.offsets[:-1], problem.offsets[1:] - 1):
            patterns.append(summed(edge, None, X.shape[0]))
    found: list[int] = []
    totals = np.asarray(X.sum(axis=0)).ravel()
    for name, pattern in zip(
        ("a constant 1", "a mark of first letters", "a mark of last letters"), patterns, strict=False
    ):
        alike = [
            j
            for j in np.flatnonzero(totals == pattern.sum())[::-1].tolist()
            if j not in found and np.array_equal(X[:, [j]].toarray().ravel(), pattern)
        ]
        if not alike:
            raise MissingCapability(f"generative needs {name} among the features; add that column.")
        found.append(alike[-1] if len(found) == 1 else alike[0])
    return found, np.setdiff1d(np.arange(X.shape[1]), found)


def program(problem: Any, prior: float) -> Any:
    """The same as a convex program in log-odds β and logits θ; its least value is −(log p + log prior) at the counts.

    min Σ_yj (ones + zeros) log(1 + e^β) − ones β + Σ over distributions of N log Σ e^θ − ⟨counts, θ⟩
    """
    import cvxpy as cp

    ones, zeros, starts, steps = counts(problem, prior, roles(problem)[1])
    beta, first = cp.Variable(ones.shape), cp.Variable(starts.size)
    total = cp.sum(cp.multiply(ones + zeros, cp.logistic(beta)) - cp.multiply(ones, beta))
    total += starts.sum() * cp.log_sum_exp(first) - starts @ first
    if steps is not None:
        theta = cp.Variable(steps.shape)
        total += steps.sum(axis=1) @ cp.log_sum_exp(theta, axis=1) - cp.sum(cp.multiply(steps, theta))
    return cp.Problem(cp.Minimize(total))


def loss(problem: Any, prior: float) -> float:
    """The value of `program` at the closed form."""
    ones, zeros, starts, steps = counts(problem, prior, roles(problem)[1])
    value = -(ones * np.log(ones / (ones + zeros)) + zeros * np.log(zeros / (ones + zeros))).sum()
    value -= (starts * np.log(starts / starts.sum())).sum()
    if steps is not None:
        value -= (steps * np.log(steps / steps.sum(axis=1, keepdims=True))).sum()
    return float(value)


NAMES = {"generative": fit}
