"""What the learners of `learners.py` lend to audits: single steps by their own methods, faults and all.

A `Lender` follows the contract of judging/learners.py. It lends what its method really computes:

    oracle        subgradient, projected, bcfw, adagrad: the output of `argmax`
    subgradient   the slope they take there, of h_i without its weight; of likelihoods the expected slope
    prox          adagrad: its composite step, whose η is for F/P
    iterates      subgradient, projected, bcfw: (average, w, t) after visit t; adagrad after pass t

and `dual`, of dual ascent, p_i α_i(z) of all outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import numpy as np

from workbench.contracts import Floats, Formulation, Ints, Problem
from workbench.judging.faults.learners import Learner
from workbench.judging.faults.views import Output

PEGASOS, COSTS, SMOOTH = ("subgradient", "projected"), ("adagrad",), ("gradient", "lbfgs", "saga")


class Lender:
    """`make()` gives the learner, new; what its method does not compute, this has not as an attribute."""

    def __init__(self, make: Callable[[], Learner], method: str):
        self.make, self.method, self.host = make, method, None
        self.first: Learner | None = None  # the learner of the first fit, as the fit left it
        if method in (*PEGASOS, "bcfw", *COSTS):
            self.oracle, self.iterates = self.answer, self.averaged
        if method != "dual-ascent":
            self.subgradient = self.slope
        if method in COSTS:
            self.prox = self.proximal

    def fit(self, problem: Problem, formulation: Formulation, budget: int, rng: int) -> Iterator[tuple[int, Floats]]:
        """A fit by a new learner: a fault may remember what it has seen."""
        host = self.make()
        self.first = self.first or host
        return host.fit(problem, formulation, budget, rng)

    def ready(self, problem: Problem, formulation: Formulation) -> Learner:
        """The learner after it has read the data."""
        if self.host is None:
            self.host = begun(self.make, problem, formulation)
        return self.host

    def answer(self, problem: Problem, formulation: Formulation, theta: Floats, i: int) -> Ints:
        host = self.ready(problem, formulation)
        return witness(host.outputs(i)[host.argmax(i, theta)], problem.width)

    def slope(self, problem: Problem, formulation: Formulation, theta: Floats, i: int) -> Floats:
        host = self.ready(problem, formulation)
        if self.method in SMOOTH:
            return host.expected(i, theta)
        if self.method == "bcfw":
            return host.slopes[i][host.argmax(i, theta)]
        if self.method in COSTS:
            host.theta = theta
            return host.slope(i)
        host.w = theta
        return host.slope(i) / (host.n * host.p[i])

    def proximal(self, problem: Problem, formulation: Formulation, u: Floats, metric: Floats, step: float) -> Floats:
        host = self.ready(problem, formulation)
        host.theta = u
        return host.proximal(u, metric, step * host.P)

    def averaged(self, problem: Problem, formulation: Formulation) -> Iterator[tuple[Floats, Floats, float]]:
        host, rng = begun(self.make, problem, formulation), np.random.default_rng(0)
        for t in count(1):
            i = int(rng.integers(host.n))
            if self.method in PEGASOS:
                host.t = t
                host.move(host.direction(i))
                host.average()
            else:
                host.order = lambda i=i: np.array([i])
                host.sweep(t)
            yield np.array(host.report()), np.array(host.theta if self.method in COSTS else host.w, float), float(t)


def dual(host: Learner, width: int) -> tuple[Ints, Ints, Floats]:
    """(samples, outputs, μ) of dual ascent."""
    listed = [(i, witness(output, width)) for i in range(host.n) for output in host.outputs(i)]
    return np.array([i for i, _ in listed]), np.array([output for _, output in listed]), host.shares()


def begun(make: Callable[[], Learner], problem: Problem, formulation: Formulation) -> Learner:
    host = make()
    list(host.fit(problem, formulation, 0, 0))
    return host


def witness(output: Output, width: int) -> Ints:
    """An output of the plain views, as the workbench writes it: −1 where there is no place."""
    places = np.atleast_1d(output)
    return np.append(places, np.full(width - len(places), -1))
