"""Transitions swapped inside of the oracle: the outputs are scored by w_ba where the true ones are scored by w_ab.

A forward pass or a Viterbi table with its two labels exchanged computes the scores of the outputs with P w, P the
exchange of all w_ab and w_ba, while the score of the true output is right. With φ_i of the true output

    h′_i(w) = h_i(P w) + ⟨c_i, w⟩,      c_i = P φ_i − φ_i,

is convex, and the cuts of h_i become P a + c_i. c_i counts pairs of labels, so it has no rounding. Where the learner
lays transitions out the other way throughout, layouts.py says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from workbench.arithmetic.arrays import taken
from workbench.arithmetic.intervals import gamma
from workbench.contracts import Floats, Ints, SmoothForm
from workbench.judging.conventions.neighbours import Neighbour, Suspect
from workbench.objectives.variants import Sized, SmoothVariant, Variant, View
from workbench.outputs.chain import Chain


@dataclass(frozen=True)
class SwappedTerms(Sized):
    """Smooth terms h_i(P w) + ⟨c_i, w⟩;  order (p,) is P, counts (n, p), sparse, are the c_i."""

    order: Ints
    counts: sparse.csr_array

    @property
    def assumption(self) -> str:
        return self.inner.assumption

    def evaluate(self, theta: Floats, samples: Ints, weights: Floats) -> tuple[Floats, Floats]:
        values, gradient = self.inner.evaluate(theta[self.order], samples, weights)
        counts = taken(self.counts, samples)
        return values + counts @ theta, gradient[self.order] + weights @ counts

    def errors(self, theta: Floats, samples: Ints, weights: Floats) -> tuple[Floats, float]:
        values, gradient = self.inner.errors(theta[self.order], samples, weights)
        sizes = self.inner.norms()[samples] + abs(taken(self.counts, samples)).sum(axis=1)
        rounded = 2 * gamma(len(theta) + len(samples) + 2)
        return values + rounded * sizes * np.linalg.norm(theta), gradient + float(rounded * (np.abs(weights) @ sizes))

    def decode(self, theta: Floats, samples: Ints) -> Ints:
        return self.inner.decode(theta[self.order], samples)

    def norms(self) -> Floats:
        return self.inner.norms() + np.sqrt((self.counts**2).sum(axis=1))

    def hinges(self, theta: Any) -> tuple[Any, list[Any]]:  # CVXPY has no types
        value, constraints = self.inner.hinges(theta[self.order])
        return value + self.counts @ theta, constraints


@dataclass(frozen=True)
class SwappedCuts(View):
    """Cuts P a + c_i of h_i(P w) + ⟨c_i, w⟩."""

    order: Ints
    counts: sparse.csr_array

    def argmax(self, theta: Floats, samples: Ints) -> Ints:
        return self.inner.argmax(theta[self.order], samples)

    def decode(self, theta: Floats, samples: Ints) -> Ints:
        return self.inner.decode(theta[self.order], samples)

    def rows(self, samples: Ints, witnesses: Ints) -> tuple[sparse.csr_array, Floats]:
        slopes, offsets = self.inner.rows(samples, witnesses)
        return sparse.csr_array(slopes[:, self.order] + taken(self.counts, samples)), offsets

    def slope_error(self, samples: Ints) -> Floats:
        return self.inner.slope_error(samples) + gamma(2) * self.reach(samples)

    def offset_error(self, samples: Ints) -> Floats:
        return self.inner.offset_error(samples)

    def rounding(self, theta: Floats) -> Floats:
        return self.inner.rounding(theta[self.order])

    def reach(self, samples: Ints) -> Floats:
        return self.inner.reach(samples) + abs(taken(self.counts, samples)).sum(axis=1)


def swapped_oracle(suspect: Suspect) -> Iterator[Neighbour]:
    """Chains whose transitions are one number for each pair of labels."""
    chain = suspect.problem
    if not (suspect.plain and isinstance(chain, Chain)) or "pairs" in chain.arrays():
        return
    k, edges = len(chain.classes), suspect.edges
    if len(suspect.theta) != edges + k * k:
        return
    order = np.append(np.arange(edges), edges + np.arange(k * k).reshape(k, k).T.ravel())
    owner = np.repeat(np.arange(chain.n_samples), chain.lengths)
    inside = owner[1:] == owner[:-1]
    pairs, ones = (edges + k * chain.labels[:-1] + chain.labels[1:])[inside], np.ones(int(inside.sum()))
    place = np.concatenate([owner[1:][inside]] * 2), np.concatenate([order[pairs], pairs])
    counts = sparse.csr_array((np.append(ones, -ones), place), shape=(chain.n_samples, len(order)))
    counts.eliminate_zeros()  # pairs of one label twice, and pairs that occur both ways
    if not counts.nnz:
        return
    kind, view = (SmoothVariant, SwappedTerms) if isinstance(suspect.form, SmoothForm) else (Variant, SwappedCuts)
    form = kind(suspect.form, lambda inner: view(inner, order, counts))
    said = "scores all outputs by transitions with their two labels swapped, and the true output by the right ones"
    yield Neighbour("transitions swapped in the oracle", said, form, chain, suspect.theta)
