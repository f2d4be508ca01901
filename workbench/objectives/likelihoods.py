"""Likelihoods: sums over all outputs where `oracles` take maxima, as the terms of a smooth formulation.

    h_i(w) = log Σ_y exp⟨w, φ(x_i, y)⟩ − ⟨w, φ(x_i, y_i)⟩
    ∇h_i(w) = E_q φ(x_i, y) − φ(x_i, y_i),     q(y) ∝ exp⟨w, φ(x_i, y)⟩       (docs/mathematics.md §4)

A `Likelihood` evaluates h_i and ∇h_i. An output structure brings a `Likelihood` as `marginals()`
(outputs/_marginals.py: labels, chains); for a structure without `marginals`, `Enumerated` lists all outputs, if they
are few.

Rounding. Every `Likelihood` runs the same recursion: T log-sum-exps over at most K numbers each, then
probabilities from those, as products of T quotients. Assumed of the machine: exp and log are correct to
ULPS units in the last place, a relative error of at most κu, κ = 2·ULPS. Let M bound every number in
the recursion, S the error of the scores, u = 2⁻⁵³ and γ_k = ku/(1 − ku).

*Values.* log-sum-exp is 1-Lipschitz in the largest entry's change, so errors of its arguments pass
unamplified. Its own: rounding the K arguments ≤ uM; their differences d_a to the greatest, weighted by
e^{d_a}/Σe^d, ≤ u·log K (an entropy); exp ≤ κu; the sum ≤ γ_K, one u for what underflows; log ≤ κu log K; two
more additions ≤ 2uM. With the score of the truth, ≤ 2T additions and the same S, all in all

    |ĥ − h| ≤ 2S + (T + 1)(γ_a M + γ_{K + 4 + κ(3 + log K)}),     a = 8.

The sums over chains in products have their own analysis and keep to this bound with a = 16
(outputs/_forward_backward.py).

*Gradients.* Numerators and denominators of each quotient have logarithms within |ĥ − h| + γ₈M +
γ_{K+κ+8} =: ε of the true ones, so every marginal is within a factor e^{±2(T+1)ε} of the true one, and

    ‖Σ_i c_i (∇ĥ_i − ∇h_i)‖₂ ≤ Σ_i c_i ‖φ_i‖₁ (expm1(2(T + 1)ε) + 2γ_{N + 1}),    ‖φ_i‖₁ = max_y ‖φ(x_i, y)‖₁,

where N counts the additions into one entry. A marginal that underflows adds at most 2⁻¹⁰²² per product, all of them
less than the 1 beside N.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import exp, log
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from workbench.arithmetic.arrays import compiled_rows
from workbench.arithmetic.intervals import gamma
from workbench.contracts import Enumerable, Floats, Ints, Kernel, LogPartition, Terms, Unsummable
from workbench.errors import MissingCapability
from workbench.objectives.regularizers import unsigned

ULPS = 4  # assumed accuracy of exp and log
KAPPA = 2 * ULPS
MOST_ENTRIES = 20_000_000  # of the listed feature vectors


def declared(lam: float, problem: Any, terms: Terms, prices: Floats) -> tuple[Any, Any]:
    """The CVXPY program min λ/2 ‖w‖² + Σ_i p_i h_i(w), and its variable w."""
    import cvxpy as cp

    w = cp.Variable(problem.n_features)
    values, constraints = terms.hinges(w)
    return cp.Problem(cp.Minimize(lam / 2 * cp.sum_squares(w) + prices @ values), constraints), w


class Sizes(NamedTuple):
    """What the error bounds of a batch rest on; see the module's docstring."""

    scores: Floats  # (m,) S
    numbers: Floats  # (m,) M
    steps: Ints  # (m,) T
    fan: Ints  # (m,) K
    additions: int  # N


class Likelihood(ABC):
    """The terms h_i of a log-linear model over a problem's outputs; θ is its weight vector w (d,)."""

    kind = "exact"
    width = 0  # nothing to remember but θ itself
    roundings = 8  # a in the bound below on values, at least 8
    assumption = f"exp and log assumed correct to {ULPS} units in the last place"

    def __init__(self, problem: Any):
        self.problem = problem
        self.n_samples, self.dim = problem.n_samples, problem.n_features

    def decode(self, theta: Floats, samples: Ints) -> Ints:
        """The most likely outputs (m, width)."""
        return self.problem.argmax(theta, samples, augment=False)

    @abstractmethod
    def evaluate(self, theta: Floats, samples: Ints, weights: Floats) -> tuple[Floats, Floats]:
        """h_i(θ) for a batch (m,), and Σ_k weights_k ∇h_k(θ) (d,)."""

    @abstractmethod
    def sizes(self, theta: Floats, samples: Ints) -> Sizes: ...

    @abstractmethod
    def kernel(self) -> Kernel: ...

    @abstractmethod
    def declared(self, w: Any) -> LogPartition:
        """log Σ_y exp⟨w, φ(x_i, y)⟩ as a program in the CVXPY variable w (d,)."""

    def hinges(self, theta: Any) -> tuple[Any, list[Any]]:
        """h (n,) as a convex CVXPY expression, and the constraints that it needs."""
        partition, constraints = self.declared(theta)
        every = np.arange(self.n_samples)
        return partition - self.problem.features(every, self.problem.truth) @ theta, constraints

    def errors(self, theta: Floats, samples: Ints, weights: Floats) -> tuple[Floats, float]:
        """Bounds on the rounding errors of `evaluate`: in each value (m,), in the gradient's Euclidean norm."""
        scores, numbers, steps, fan, additions = self.sizes(theta, samples)
        own = gamma(self.roundings) * numbers + gamma(fan + 4 + KAPPA * (3 + np.log(fan)))
        value = 2 * scores + (steps + 1) * own
        epsilon = value + gamma(8) * numbers + gamma(fan + KAPPA + 8)
        with np.errstate(over="ignore"):
            relative = np.expm1(2 * (steps + 1) * epsilon) + 2 * gamma(additions + 1)
            gradient = float(weights @ (self.problem.magnitude[samples] * relative))
        return value * (1 + 1e-12), gradient * (1 + 1e-9)  # these few sums round, too

    def norms(self) -> Floats:
        """(n,) bounds on ‖∇h_i‖ ≤ max_y ‖ψ_i(y)‖."""
        return 2 * self.problem.magnitude


# ── by enumeration ────────────────────────────────────────────────────────────────────────────────


class Enumerated(Likelihood):
    """A likelihood over listed outputs: one row φ(x_i, y) for each y ∈ 𝒴_i.

    Raises
    ------
    MissingCapability : the outputs cannot be listed, or are too many
    """

    def __init__(self, problem: Any):
        super().__init__(unsigned(problem))
        listed = [listed_outputs(problem, i) for i in range(problem.n_samples)]
        self.counts: Ints = np.array([len(outputs) for outputs in listed])
        if self.counts.sum() * (np.mean(problem.magnitude > 0) + problem.terms) > MOST_ENTRIES:
            raise refusal(problem, f"{self.counts.sum()} outputs are too many to sum over")
        self.starts: Ints = np.concatenate([[0], np.cumsum(self.counts)])
        samples = np.repeat(np.arange(problem.n_samples), self.counts)
        self.rows = sparse.csr_array(problem.features(samples, np.concatenate(listed)))
        problem.features(np.arange(problem.n_samples), problem.truth)  # a truth that is partly hidden is refused here
        same = [(outputs == truth).all(axis=1) for outputs, truth in zip(listed, problem.truth, strict=True)]
        self.truth: Ints = self.starts[:-1] + np.array([np.flatnonzero(each)[0] for each in same])

    def evaluate(self, theta: Floats, samples: Ints, weights: Floats) -> tuple[Floats, Floats]:
        counts = self.counts[samples]
        first = np.concatenate([[0], np.cumsum(counts)[:-1]])
        chosen = np.repeat(self.starts[samples] - first, counts) + np.arange(counts.sum())
        rows = self.rows[chosen]
        scores = rows @ theta
        greatest = np.maximum.reduceat(scores, first)
        shares = np.exp(scores - np.repeat(greatest, counts))
        sums = np.add.reduceat(shares, first)
        shares /= np.repeat(sums, counts)
        truth = self.truth[samples] - self.starts[samples] + first
        values = greatest + np.log(sums) - scores[truth]
        shares[truth] -= 1
        return values, rows.T @ (shares * np.repeat(weights, counts))

    def sizes(self, theta: Floats, samples: Ints) -> Sizes:
        largest = np.abs(theta).max() * self.problem.magnitude[samples]
        hidden = gamma(2 * self.problem.terms + 4)  # of the feature map and of its product with θ
        fan = self.counts[samples]
        additions = int(fan.sum()) + self.problem.terms + 8
        return Sizes(hidden * largest, largest + np.log(fan) + 1, np.ones(len(samples), np.int64), fan, additions)

    def kernel(self) -> Kernel:
        rows = self.rows
        data = (
            self.starts,
            *compiled_rows(rows),
            self.truth,
            np.zeros(int(self.counts.max())),
        )
        return Kernel(data, sum_into, add_gradient)

    def declared(self, w: Any) -> LogPartition:
        import cvxpy as cp

        pieces = [self.rows[slice(*self.starts[i : i + 2])] for i in range(self.n_samples)]
        return LogPartition(cp.hstack([cp.log_sum_exp(piece @ w) for piece in pieces]), [])


def sum_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """h_i(θ) over listed outputs; leaves q in the scratch array at the end of `data`."""
    starts, indptr, indices, values, truth, shares = data
    first, count = starts[i], starts[i + 1] - starts[i]
    greatest, total = -np.inf, 0.0
    for y in range(count):
        score = 0.0
        for j in range(indptr[first + y], indptr[first + y + 1]):
            score += theta[indices[j]] * values[j]
        shares[y] = score
        greatest = max(greatest, score)
    own = shares[truth[i] - first]
    for y in range(count):
        shares[y] = exp(shares[y] - greatest)
        total += shares[y]
    for y in range(count):
        shares[y] /= total
    return greatest + log(total) - own


def add_gradient(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
    """θ += scale · ∇h_i at the θ of the last `sum_into`."""
    starts, indptr, indices, values, truth, shares = data
    for row in range(starts[i], starts[i + 1]):
        share = shares[row - starts[i]] - (1.0 if row == truth[i] else 0.0)
        for j in range(indptr[row], indptr[row + 1]):
            theta[indices[j]] += scale * share * values[j]


def listed_outputs(problem: Any, sample: int) -> Ints:
    """All outputs of a sample, or a refusal in one sentence."""
    if not isinstance(problem, Enumerable):
        raise refusal(problem, "its outputs cannot be listed either")
    try:
        return problem.outputs(sample)
    except MissingCapability as reason:
        raise refusal(problem, f"its outputs are too many to list: {reason}") from None


def refusal(problem: Any, reason: str) -> MissingCapability:
    name = type(problem).__name__
    why = problem.no_marginals if isinstance(problem, Unsummable) else ""
    return MissingCapability(
        f"crf needs marginals; {name} has none{f' ({why})' * bool(why)}, and {reason.rstrip('.')}."
    )
