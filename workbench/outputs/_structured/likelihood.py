"""The likelihood of a structure whose owner sums over outputs: `marginals(w, x)` -> (log Z, E φ).

    h_i(w) = log Z_i(w) − ⟨w, φ(x_i, y_i)⟩,        ∇h_i(w) = E φ(x_i, ŷ) − φ(x_i, y_i)

Nothing is known of how the function computes, so its rounding is assumed: that of a recursion of d steps over d
numbers each (workbench/objectives/likelihoods.py), d the number of features.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.arithmetic.intervals import gamma
from workbench.contracts import Floats, Ints, Kernel, LogPartition
from workbench.errors import BadInput, MissingCapability
from workbench.objectives.likelihoods import ULPS, Likelihood, Sizes
from workbench.outputs._structured.functions import entries_of, numeric


class Supplied(Likelihood):
    """The likelihood by the `marginals` of a `Structured` problem."""

    assumption = f"marginals assumed to come of d sums over d numbers, exp and log correct to {ULPS} units"

    def one(self, weights: Any, theta: Floats, sample: int) -> tuple[float, Ints, Floats]:
        """h_i(θ), and ∇h_i(θ) as columns and values, perhaps some twice."""
        problem = self.problem
        answer = problem.functions.call("marginals", sample, weights, problem.xs[sample])
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise BadInput(f"marginals at sample {sample} returns no pair; return (log-partition, expected features).")
        partition = float(numeric(answer[0], f"of marginals at sample {sample}"))
        at, values = entries_of(answer[1], problem.vocabulary, problem.dim, f"of marginals at sample {sample}")
        own, true = problem.table.row(sample)
        return partition - float(true @ theta[own]), np.concatenate([at, own]), np.concatenate([values, -true])

    def evaluate(self, theta: Floats, samples: Ints, weights: Floats) -> tuple[Floats, Floats]:
        lent, values, gradient = self.problem.lent(theta), np.empty(len(samples)), np.zeros(self.dim)
        for k, i in enumerate(samples.tolist()):
            values[k], at, slope = self.one(lent, theta, i)
            np.add.at(gradient, at, weights[k] * slope)
        return values, gradient

    def sizes(self, theta: Floats, samples: Ints) -> Sizes:
        largest = np.abs(theta).max(initial=0.0) * self.problem.magnitude[samples]
        steps, d = np.ones(len(samples), np.int64), max(self.dim, 2)
        numbers = largest + d * np.log(d)
        return Sizes(gamma(2 * self.problem.terms + 4) * largest, numbers, steps * d, steps * d, len(samples) * d)

    def kernel(self) -> Kernel:
        left: list[tuple[Ints, Floats]] = []

        def argmax_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
            value, at, slope = self.one(self.problem.lent(theta), theta, i)
            left[:] = [(at, slope)]
            return value

        def add_slope(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
            at, slope = left[0]
            np.add.at(theta, at, scale * slope)

        return Kernel((), argmax_into, add_slope)

    def declared(self, w: Any) -> LogPartition:
        raise MissingCapability("marginals of your own cannot be written in CVXPY; leave out --backend.")
