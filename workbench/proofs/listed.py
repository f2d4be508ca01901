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

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np
from scipy import sparse

from workbench.arithmetic.arrays import taken
from workbench.arithmetic.intervals import SPARE, TINY, Interval, down, gamma, grouped_sum, magnitudes, matvec, up
from workbench.arithmetic.products import highest, turned
from workbench.contracts import Floats, Ints, Listing, Oracle, Problem

T = TypeVar("T")
Spread = Callable[[Callable[[Ints], T], Ints], list[T]]  # what a function returns for runs of an array, in order
Ends = tuple[Ints, Floats, Floats]  # labels of highest score, and both ends of h_i

FAR = 1e100  # of a weight, beyond which scores might overflow
FULL = 16  # times as many entries as there are cuts in M at most; products with a sparser M take longer than its cuts

STANDS_FOR = ("argmax", "rows", "features", "loss", "rounding", "slope_error", "offset_error")


class Tables:
    """The products of a plain listing with weights and with dual weights, enclosed."""

    def __init__(self, listing: Listing):
        self.listing, (_, self.k) = listing, listing.scale.shape
        self.n, self.truth = len(listing.kind), listing.truth[listing.kind]
        rows = listing.values, listing.indices, listing.indptr
        self.X = sparse.csr_array(rows, shape=(self.n, listing.inputs))
        self.longest = int(np.diff(listing.indptr).max(initial=0))
        sizes = magnitudes(self.X) @ np.ones(listing.inputs)
        self.sizes: Floats = sizes * (1 + gamma(self.longest + 1)) + self.longest * TINY  # ‖x_i‖₁ at least
        self.entries = np.bincount(listing.indices, minlength=listing.inputs)  # of the columns
        self.told: tuple[Floats, Ints, Ints] | None = None  # θ, samples and labels of highest score of the last product

    def hinges(self, theta: Floats, away: float, samples: Ints, spread: Spread[Ends]) -> Interval | None:
        """Encloses h_i (m,) at every point that differs from θ by at most `away`; None for weights beyond floats."""
        size = float(np.abs(theta).max(initial=0.0))
        if not (size < FAR and away < FAR and self.sizes.max(initial=0.0) < FAR):
            return None
        W = np.ascontiguousarray(theta.reshape(self.k, -1).T) if size > 0 else None
        labels, low, high = map(np.concatenate, zip(*spread(partial(self.ends, W, size, away), samples), strict=True))
        self.told = theta.copy(), samples, labels
        return Interval(low, high)

    def decoded(self, theta: Floats) -> Ints | None:
        """The label of highest score (n,) of all samples at θ, if the last product was theirs."""
        if self.told is None or len(self.told[1]) < self.n or not np.array_equal(self.told[0], theta):
            return None
        return self.told[2]

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

    def full(self, count: int) -> bool:
        """Whether M, of so many cuts, is full enough for its product with X."""
        return self.n * self.k <= FULL * count

    def push(self, samples: Ints, labels: Ints, weights: Interval, spread: Spread[None] | None = None) -> Interval:
        """Encloses −Σ_k μ_k a_k (k · p,) of cuts of these samples and labels and of weights μ ≥ 0 (K,)."""
        mass, shape = grouped_sum(weights, samples * self.k + labels, self.n * self.k), (self.n, self.k)
        least, most = mass.lo.reshape(shape), mass.hi.reshape(shape)
        least[np.arange(self.n), self.truth] = most[np.arange(self.n), self.truth] = 0.0
        ones, rounding = np.ones(self.k), gamma(self.k)  # a product sums short rows up faster than NumPy
        sums = most @ ones
        held = np.flatnonzero(sums)  # mostly few: all other rows of M are zero
        low, high, places = -most[held], -least[held], (np.arange(len(held)), self.truth[held])
        low[places], high[places] = down(least[held] @ ones * (1 - rounding)), up(sums[held] * (1 + rounding))
        some = Interval(low, high)
        if found := turned(self.X, held, some, self.entries, spread):
            return found
        by_inputs = matvec(taken(self.X, held).T, some, longest=int(self.entries.max(initial=0)))
        return Interval(by_inputs.lo.T.ravel(), by_inputs.hi.T.ravel())

    def offsets(self, samples: Ints, labels: Ints) -> Floats:
        """o of cuts of these samples and labels."""
        return self.listing.offset[self.listing.kind[samples], labels]


def tables_of(oracle: Oracle, problem: Problem, listing: Listing | None) -> Tables | None:
    """`Tables` of a plain listing that speaks for its oracle and problem, whose cuts are free of rounding."""
    if listing is None or not listing.plain or oracle.kind != "exact" or not (speaks(oracle) and speaks(problem)):
        return None
    if not np.array_equal(listing.truth[listing.kind], problem.truth[:, 0]):
        return None
    everyone = np.arange(problem.n_samples)
    rounded = oracle.slope_error(everyone).any() or oracle.offset_error(everyone).any()
    return None if rounded else Tables(listing)


def speaks(listed: object) -> bool:
    """Whether `listing` was defined with, or after, every function for which its tables stand."""
    own = getattr(listed, "__dict__", {})  # a user's own object may have functions, or no place for any
    order = [own, *map(vars, type(listed).__mro__)]
    place = next((at for at, each in enumerate(order) if "listing" in each), None)
    return place is not None and not any(name in each for each in order[:place] for name in STANDS_FOR)
