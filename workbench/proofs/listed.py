"""`Tables`: what bounds ask of all cuts at once, where outputs are single labels; no cut is written down.

With X the rows of the data, W the weights (p, k) and t_i the true label, the cuts (e_y − e_t) ⊗ x_i of a plain listing
(contracts/listings.py) give

    h_i(θ) = max over y of o_iy + (XW)_iy − (XW)_it,      −Σ_iy μ_iy a_iy = XᵀM,      M_iy = [y = t_i] Σ_z μ_iz − μ_iy

Each is one product of X with a matrix, which takes a fraction of the time of the same cuts as rows of a sparse matrix.

Of m entries of x_i, the score of a label errs by γ_m ‖x_i‖₁ ‖θ‖_∞ at most. A difference of two scores and its sum with
an offset round twice more, so that a computed height errs by γ_{m+4} (2 ‖x_i‖₁ ‖θ‖_∞ + o_iy) at most, and so does the
maximum of all. A point that differs from θ by up to δ in each entry moves a height by 2 ‖x_i‖₁ δ at most.

A problem may have functions of its own beside tables that it inherits. So tables are taken only from a class that has
all functions for which they stand from itself or from its bases.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import sparse

from workbench.arithmetic.arrays import taken
from workbench.arithmetic.intervals import SPARE, TINY, Interval, down, gamma, grouped_sum, matvec, up
from workbench.arithmetic.products import Few, Spread, highest, serially, survey, turned
from workbench.contracts import Floats, Ints, Listing, Oracle, Problem

Ends = tuple[Ints, Floats, Floats]  # labels of highest score, and both ends of h_i

FAR = 1e100  # of a weight, beyond which scores might overflow
FULL = 400  # labels for each cut of a sample in M, up to which its product takes less time than its cuts, written down

STANDS_FOR = ("argmax", "rows", "features", "loss", "rounding", "slope_error", "offset_error")


class Tables:
    """The products of a plain listing with weights and with dual weights, enclosed."""

    def __init__(self, listing: Listing, spread: Spread = serially):
        self.listing, (_, self.k) = listing, listing.scale.shape
        self.n, self.truth = len(listing.kind), listing.truth[listing.kind]
        rows = listing.values, listing.indices, listing.indptr
        self.X = sparse.csr_array(rows, shape=(self.n, listing.inputs))
        self.longest = int(np.diff(listing.indptr).max(initial=0))
        sizes, self.entries = survey(self.X, spread)
        self.sizes: Floats = sizes * (1 + gamma(self.longest + 1)) + self.longest * TINY  # ‖x_i‖₁ at least
        self.told: tuple[Floats | None, Ints, Ints] | None = None  # W, samples, labels of highest score, of the last

    def hinges(self, theta: Floats, away: float, samples: Ints, spread: Spread) -> Interval | None:
        """Encloses h_i (m,) at every point that differs from θ by at most `away`; None for weights beyond floats."""
        size = float(max(theta.max(), -theta.min()))  # without an array of all sizes
        if not (size < FAR and away < FAR and self.sizes.max(initial=0.0) < FAR):
            return None
        if size > 0:
            W = np.empty((self.listing.inputs, self.k))  # a copy in any case, which nobody else changes

            def turn(some: Ints) -> None:
                run = slice(some[0], some[-1] + 1)
                W[run] = theta.reshape(self.k, -1)[:, run].T

            spread(turn, np.arange(self.listing.inputs))
            runs = spread(partial(self.ends, W, size, away), samples)
            labels, low, high = map(np.concatenate, zip(*runs, strict=True))
        else:
            W, (labels, low, high) = None, self.ends(None, size, away, samples)
        self.told = W, samples, labels
        return Interval(low, high)

    def at_zero(self, samples: Ints) -> Interval:
        """h_i (m,) at θ = 0."""
        _, low, high = self.ends(None, 0.0, 0.0, samples)
        return Interval(low, high)

    def decoded(self, theta: Floats, spread: Spread = serially) -> Ints | None:
        """The label of highest score (n,) of all samples at θ, if the last product was theirs."""
        if self.told is None or len(self.told[1]) < self.n:
            return None
        told, _, labels = self.told

        def same(some: Ints) -> bool:
            run = slice(some[0], some[-1] + 1)
            W = theta.reshape(self.k, -1)[:, run].T
            return not W.any() if told is None else np.array_equal(told[run], W)

        return labels if all(spread(same, np.arange(self.listing.inputs))) else None

    def ends(self, W: Floats | None, size: float, away: float, samples: Ints) -> Ends:
        """Labels of highest score, and both ends of h_i, at weights of at most this size; None stands for W = 0."""
        kinds, truths, offset = self.listing.kind, self.listing.truth, self.listing.offset
        kind, sizes = kinds[samples], self.sizes[samples]
        most = np.abs(offset).max(axis=1)[kind]
        if W is None:
            labels, found = np.zeros(len(samples), np.int64), offset.max(axis=1)[kind]
        else:
            labels, found = highest(self.X, samples, W, offset, kinds, truths)
        error = gamma(self.longest + SPARE) * (2 * sizes * size + most) + self.longest * TINY if size > 0 else 0.0
        error = up(error + up(2 * sizes * away)) if away > 0 else error
        return labels, down(found - error), up(found + error)

    def full(self, samples: Ints, labels: Ints) -> bool:
        """Whether M, of cuts of these samples and labels, is full enough for its product with X."""
        others = samples[labels != self.truth[samples]]
        return self.k * np.count_nonzero(np.bincount(others)) <= FULL * len(others)

    def push(self, samples: Ints, labels: Ints, weights: Interval, spread: Spread = serially) -> Interval:
        """Encloses −Σ_k μ_k a_k (k · p,) of cuts of these samples and labels and of weights μ ≥ 0 (K,)."""
        keys = samples * self.k + labels
        if (np.diff(keys) <= 0).any():
            keys, places = np.unique(keys, return_inverse=True)
            weights = grouped_sum(weights, places, len(keys))
        samples, labels = np.divmod(keys, self.k)
        some = (labels != self.truth[samples]) & (weights.hi > 0)  # mostly few, and most rows of M have none
        samples, labels, weights = samples[some], labels[some], weights[some]
        first = np.flatnonzero(np.diff(samples, prepend=-1))
        held, rows = samples[first], np.repeat(np.arange(len(first)), np.diff(first, append=len(samples)))
        masses = grouped_sum(weights, rows, len(held))
        rows, labels = np.append(rows, np.arange(len(held))), np.append(labels, self.truth[held])
        M = Interval(np.append(-weights.hi, masses.lo), np.append(-weights.lo, masses.hi))
        if found := turned(self.X, held, Few(rows, labels, M, self.k), self.entries, spread):
            return found
        dense = Few(rows, labels, M, self.k).dense(len(held))
        by_inputs = matvec(taken(self.X, held).T, dense, longest=int(self.entries.max()))
        return Interval(by_inputs.lo.T.ravel(), by_inputs.hi.T.ravel())

    def offsets(self, samples: Ints, labels: Ints) -> Floats:
        """o of cuts of these samples and labels."""
        return self.listing.offset[self.listing.kind[samples], labels]


def tables_of(oracle: Oracle, problem: Problem, listing: Listing | None, spread: Spread = serially) -> Tables | None:
    """`Tables` of a plain listing that speaks for its oracle and problem, whose cuts are free of rounding."""
    if listing is None or not listing.plain or oracle.kind != "exact" or not (speaks(oracle) and speaks(problem)):
        return None
    if not np.array_equal(listing.truth[listing.kind], problem.truth[:, 0]):
        return None
    everyone = np.arange(problem.n_samples)
    rounded = oracle.slope_error(everyone).any() or oracle.offset_error(everyone).any()
    return None if rounded else Tables(listing, spread)


def speaks(listed: object) -> bool:
    """Whether `listing` was defined with, or after, every function for which its tables stand."""
    own = getattr(listed, "__dict__", {})  # a user's own object may have functions, or no place for any
    order = [own, *map(vars, type(listed).__mro__)]
    place = next((at for at, each in enumerate(order) if "listing" in each), None)
    return place is not None and not any(name in each for each in order[:place] for name in STANDS_FOR)
