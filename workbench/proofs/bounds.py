"""Both bounds of a formulation with cuts, from problem data only, rounded outward.

    upper(θ) = r(θ) + Σ_i p_i h_i(θ)                       (a feasible θ and an exact oracle)
    lower(α) = Σ_i p_i Σ_z α_i(z) o_i(z) − r*(−Σ_i p_i Σ_z α_i(z) a_i(z))   (any α_i in the simplex)

(docs/mathematics.md §1). Weights are passed as μ_k = p_i α_i(z) ≥ 0, one per atom, and renormalised here so
that Σ_{k∈i} μ_k = p_i holds for the numbers that enter the bound. Both bounds are evaluated in
interval arithmetic, so `lower ≤ min F ≤ upper` holds for the real numbers, not just for floats.
The only inputs from a backend or a learner are θ and μ.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from scipy import sparse

from workbench.arithmetic.arrays import taken
from workbench.arithmetic.intervals import TINY, Interval, down, grouped_sum, matvec, up
from workbench.contracts import (
    Asking,
    CutForm,
    Cuts,
    Enumerable,
    Floats,
    Ints,
    Listing,
    Oracle,
    Problem,
    Regularizer,
    Scalable,
    Search,
    Shape,
    SmoothForm,
    Terms,
)
from workbench.errors import BadInput, Contradiction
from workbench.objectives.regularizers import SquaredNorm
from workbench.objectives.sweeps import Sweeps, concurrent, listing_of
from workbench.proofs.listed import Tables, tables_of
from workbench.proofs.tree import Tree
from workbench.system.threads import calls_of

BALANCING = 4  # rounds of `Bounds.balanced`
RUN = 2000  # samples whose cuts are written down at a time, at most: arrays that fit a processor's memory
EVEN = 4  # runs, or a multiple, so that two threads or four have as many each
SEEN = 200  # samples whose cuts at the start tell the entries of a row

T = TypeVar("T")
KnownRows = tuple[sparse.csr_array, Floats] | None  # what `Oracle.rows` returned for some witnesses


class Evidence(NamedTuple):
    """The evidence in a certificate: θ (p,) for the upper bound; for the lower one cuts, a tree, slopes, or θ alone.

    samples (K,), witnesses (K, width) and weights μ (K,) ≥ 0 are the cuts; `tree` is that of a search; `slopes` (n, L)
    are those of dyads.
    """

    theta: Floats
    samples: Ints = np.empty(0, np.int64)
    witnesses: Ints = np.empty((0, 0), np.int64)
    weights: Floats = np.empty(0)
    tree: Tree | None = None
    slopes: Floats | None = None


class Both(ABC):
    """The base class of `Bounds`, `SmoothBounds` and `DyadicBounds`.

    Attributes
    ----------
    oracle : the formulation's view of the problem, an `Oracle` or `Terms`
    prices, regularizer : as the formulation gives them
    samples : the samples with a positive price; the others are no part of F
    arithmetic : the arithmetic in which both bounds are computed, with its assumptions, in words
    start, central : r's minimiser, and whether that is 0, with r(0) = 0
    """

    def __init__(self, formulation: CutForm | SmoothForm | Search, problem: Problem, oracle: Oracle | Terms):
        self.formulation, self.problem, self.oracle = formulation, problem, oracle
        self.prices = formulation.prices(problem)
        self.regularizer = formulation.regularizer(problem)
        self.samples: Ints = np.flatnonzero(self.prices.weights > 0)
        total = self.prices.total
        self.total = Interval(down(total), up(total)) if self.prices.rounded else Interval(total)
        zeros, r = np.zeros(self.oracle.dim), self.regularizer
        self.central = type(r) is SquaredNorm and np.isfinite(float(r.lam))
        self.start: Floats = zeros if self.central else r.argmin(zeros) + 0.0

    @cached_property
    def scale(self) -> float:
        """F at r's minimiser; 1e-6 of it is the least denominator of a relative gap. 0 if F is infinite there."""
        at_start = self.at_start()
        return at_start if np.isfinite(at_start) else 0.0

    def at_start(self) -> float:
        """F at r's minimiser, rounded up."""
        return self.upper(self.start)

    def tried(self) -> float:
        """Compute `scale` now, so that an error in the user's code is raised before the run writes anything."""
        return self.scale

    @abstractmethod
    def upper(self, theta: Floats) -> float: ...

    @abstractmethod
    def lower_at(self, theta: Floats) -> float:
        """The lower bound that θ alone proves; NaN if it takes dual weights."""

    @abstractmethod
    def recheck(self, evidence: Evidence) -> tuple[float, Fraction | float]:
        """(lower, upper) that the evidence of a certificate proves."""

    def risk(self, values: Interval) -> Interval:
        """Σ_i p_i h_i of enclosed h_i, `values` (m,) of `samples`."""
        return (values * self.prices.weights[self.samples]).sum() / self.total

    def repaired(self, theta: Floats) -> Floats:
        """θ, made feasible: in r's domain."""
        return self.regularizer.feasible(theta)

    def gap(self, upper: float, lower: float) -> float:
        """`relative(upper, lower)` of an upper and a lower bound on min F, both proven.

        Raises
        ------
        Contradiction : lower > upper, which no rounding can cause, since both ends are rounded outward: a bug, or an
            oracle of kind under that missed the maximum
        """
        if lower > upper:
            name, told = type(self.problem).__name__, f"The proven lower bound {lower!r} lies above"
            if self.problem.oracle_kind == "under":
                raise Contradiction(
                    f"{told} the value {upper!r} of the highest cuts that the argmax of {name} found, which is of "
                    "kind under: it missed higher ones, so nothing bounds the optimum from above; use an exact argmax."
                )
            raise Contradiction(
                f"{told} the proven upper bound {upper!r}: there is a bug in the "
                f"argmax, features or loss of {name}, in {type(self.formulation).__name__}, or in our bounds; try the "
                "argmax with `cutbench check-oracle PROBLEM`, or in Python with wb.check(problem)."
            )
        return self.relative(upper, lower)

    def relative(self, upper: float, lower: float) -> float:
        """(upper − lower)/max(|upper|, |lower|, 1e-6·|F(0)|), or 0 if all three vanish; ∞ if not finite."""
        if not np.isfinite(upper - lower):
            return float("inf")
        size = self.size(upper, lower)
        return float((upper - lower) / size) if size > 0 else 0.0

    @property
    def floor(self) -> float:
        """1e-6·|F(0)|, the least size that a gap or an excess is relative to: F may be 0 at its minimum."""
        return 1e-6 * abs(self.scale)

    def size(self, *values: float) -> float:
        """max(|values|, floor), what differences of these values of F are relative to; 0 only if all vanish."""
        return max(self.floor, *map(abs, values))


class Bounds(Both):
    """Upper and lower bounds of one (formulation, problem) pair whose terms are maxima over cuts."""

    arithmetic = "interval"
    formulation: CutForm
    oracle: Oracle
    sweeps: Sweeps | None = None
    shaped: tuple[Regularizer, Shape | None] | None = None  # the regularizer last asked for its shape
    opened: Ints | None = None  # the oracle's answers at r's minimiser, once they are known

    def __init__(self, formulation: CutForm | Search, problem: Problem):
        super().__init__(formulation, problem, formulation.oracle(problem))

    @property
    def opening(self) -> Ints:
        """The oracle's answers for `samples` at r's minimiser, asked for once; or the answers that `open_with` gave."""
        if self.opened is None:
            self.opened = self.highest(self.start, self.samples)
        return self.opened

    def open_with(self, witnesses: Ints) -> None:
        """Take the answers of workers for `opening`.

        Answers below the maximum make `scale` smaller, and so a relative gap larger; no final bound depends on them.
        """
        self.opened = witnesses

    @contextmanager
    def sweeping(self, threads: int) -> Iterator[None]:
        """Sweeps of the oracle in so many threads until the block ends."""
        self.sweeps = sweeps = Sweeps(self.oracle, threads, self.listing, self.concurrent)
        try:
            yield
        finally:
            sweeps.end()
            self.sweeps = None

    @cached_property
    def truth(self) -> Ints:
        """(n, width) the true outputs of the problem that the oracle asks, which knows states that another hides."""
        return (self.oracle.problem if isinstance(self.oracle, Asking) else self.problem).truth

    @cached_property
    def row_entries(self) -> float:
        """The mean number of entries of a cut at the start, over SEEN samples; of tables, over all cuts."""
        if self.tables:
            return 2 * self.tables.X.nnz / self.tables.n
        some = np.linspace(0, len(self.samples) - 1, min(SEEN, len(self.samples))).astype(int)
        known = self.opened is not None
        witnesses = self.opening[some] if known else self.highest(self.start, self.samples[some])
        slopes, _ = self.oracle.rows(self.samples[some], witnesses)
        return slopes.nnz / max(len(some), 1)

    @property
    def shape(self) -> Shape | None:
        """That of r over all entries of θ, remembered as long as r is the same object."""
        if self.shaped is None or self.shaped[0] is not self.regularizer:
            self.shaped = self.regularizer, self.regularizer.shape(self.oracle.dim)
        return self.shaped[1]

    @cached_property
    def listing(self) -> Listing | None:
        """All cuts as tables, where every output is one label."""
        return listing_of(self.oracle)

    @cached_property
    def tables(self) -> Tables | None:
        """The products of all cuts at once, where tables hold them and speak for them."""
        return tables_of(self.oracle, self.problem, self.listing, self.spread)

    def at_start(self) -> float:
        if self.tables and self.central and not self.prices.hard:
            return float(self.risk(self.tables.at_zero(self.samples)).hi)  # r(0) = 0
        return self.upper(self.start, None if self.tables else self.opening)

    def hinges(
        self, theta: Floats, witnesses: Ints | None, point: Interval | None = None, rows: KnownRows = None
    ) -> Interval:
        """Encloses h_i at θ, or at a `point` near it, for the oracle's witnesses at θ, if known, and their `rows`.

        The enclosure includes the oracle's rounding error, and by how much another witness may be higher at `point`.
        Tables need no witnesses, so that a bound is the same number whoever asks for it.
        """
        at = Interval(theta) if point is None else point
        exact = at.lo is theta and at.hi is theta
        away = 0.0 if exact else float(np.maximum(at.hi - theta, theta - at.lo).max(initial=0.0))
        told = self.tables.hinges(theta, away, self.samples, self.spread) if self.tables else None
        if told is not None:
            return told
        if witnesses is None:
            witnesses = self.highest(theta, self.samples)
        missed = self.oracle.rounding(theta)
        errors, size = self.oracle.slope_error(self.samples), 0.0
        if errors.any():
            size = float(Interval(np.maximum(np.abs(at.lo), np.abs(at.hi))).sum().hi)

        def enclosed(samples: Ints, witnesses: Ints, errors: Floats, rows: KnownRows = None) -> Interval:
            slopes, offsets = rows or self.oracle.rows(samples, witnesses)
            values = matvec(slopes, at) + self.enclosed(samples, offsets)
            error, lower = up(errors * size), missed[samples]
            if away > 0:
                lower = up(lower + up(2 * self.oracle.reach(samples) * up(away)))
            return values + Interval(-error, error) + Interval(np.zeros(len(lower)), lower)

        if rows is None:
            parts = self.spread(enclosed, self.samples, witnesses, errors)
            return Interval(np.concatenate([each.lo for each in parts]), np.concatenate([each.hi for each in parts]))
        return enclosed(self.samples, witnesses, errors, rows)

    @cached_property
    def concurrent(self) -> bool:
        """Whether several threads may ask for cuts at a time."""
        return concurrent(self.oracle, self.problem)

    @property
    def beside(self) -> Sweeps | None:
        """The threads that share more than the oracle's sweeps: those of labels, whose cuts are made by NumPy."""
        sweeps = self.sweeps
        return sweeps if sweeps and sweeps.listing is not None and sweeps.shared and sweeps.threads > 1 else None

    def spread(self, function: Callable[..., T], *arrays: Ints | Floats) -> list[T]:
        """`function` of these arrays, or of runs of them in threads, in order.

        Runs of cuts that threads may write down are as long for any number of threads, but for single labels.
        """
        size = len(arrays[0])
        if not self.concurrent or self.listing is not None or size <= RUN:
            return self.beside.spread(function, *arrays) if self.beside else [function(*arrays)]
        calls = calls_of(function, -(-size // (EVEN * RUN)) * EVEN, *arrays)
        return self.sweeps.hands.share(calls) if self.sweeps else [call() for call in calls]

    def rows(self, samples: Ints, witnesses: Ints) -> tuple[sparse.csr_array, Floats]:
        """`Oracle.rows`, in threads where that saves time."""
        parts = self.spread(self.oracle.rows, samples, witnesses)
        if len(parts) == 1:
            return parts[0]
        slopes, offsets = zip(*parts, strict=True)
        return sparse.csr_array(sparse.vstack(slopes, format="csr")), np.concatenate(offsets)

    def highest(self, theta: Floats, samples: Ints) -> Ints:
        """The oracle's witnesses at θ, in threads if `sweeps` are set."""
        return (self.sweeps or self.oracle).argmax(theta, samples)

    def enclosed(self, samples: Ints, offsets: Floats) -> Interval:
        """Encloses the offsets that `oracle.rows` returned rounded."""
        error = self.oracle.offset_error(samples)
        return Interval(
            np.where(error > 0, down(offsets - error), offsets), np.where(error > 0, up(offsets + error), offsets)
        )

    def upper(self, theta: Floats, witnesses: Ints | None = None, rows: KnownRows = None) -> float:
        """F at θ, repaired to feasibility first, rounded up.

        `witnesses` are the oracle's answers at θ for `samples`, and `rows` their cuts, if they are known already.
        """
        if not np.isfinite(theta).all():
            return np.inf
        if witnesses is None:
            theta = self.regularizer.feasible(theta)
        point = self.regularizer.feasible(Interval(theta))
        hinges = self.hinges(theta, witnesses, point, rows)
        if self.prices.hard:
            scale = self.feasible_scale(theta, hinges)
            return float(self.regularizer.value(Interval(theta) * scale).hi) if np.isfinite(scale) else np.inf
        return float((self.regularizer.value(point) + self.risk(hinges)).hi)

    def feasible_scale(self, theta: Floats, hinges: Interval) -> float:
        """c with c·θ feasible for hard constraints, ∞ if this θ cannot be scaled to feasibility."""
        if self.oracle.free_outputs and not self.keeps_free_outputs(theta):
            return float("inf")
        if not isinstance(self.formulation, Scalable):
            return float("inf")
        return self.formulation.feasible_scale(self.problem, float(hinges.hi.max()))

    def keeps_free_outputs(self, theta: Floats) -> bool:
        """Whether ⟨w, φ(x_i, y_i) − φ(x_i, y)⟩ ≥ 0 provably holds for all outputs y ≠ y_i of zero loss.

        If it does not, scaling w cannot help.

        They are enumerated: an argmax that returns the truth does not tell by how much it won.
        """
        if not isinstance(self.problem, Enumerable):
            return False
        for i in self.samples:
            outputs = self.problem.outputs(i)
            batch = np.full(len(outputs), i)
            free = (self.problem.loss(batch, outputs) == 0) & (outputs != self.problem.truth[i]).any(axis=1)
            slopes, _ = self.oracle.rows(batch[free], outputs[free])
            error = up(self.oracle.slope_error(batch[free]) * float(Interval(np.abs(theta)).sum().hi))
            if (matvec(slopes, Interval(theta)).hi + error > 0).any():
                return False
        return True

    def repaired(self, theta: Floats) -> Floats:
        """θ in r's domain, or c·θ where hard constraints need it."""
        theta = super().repaired(theta)
        if not self.prices.hard:
            return theta
        scale = self.feasible_scale(theta, self.hinges(theta, None))
        return theta * scale if np.isfinite(scale) else theta

    def balanced(self, cuts: Cuts, weights: Floats) -> Floats:
        """Dual weights close to μ (K,) ≥ 0 for which Σ_k μ_k a_k vanishes in the entries that r does not penalise
        (`regularizer.free`), so that r* stays small there.

        With L_k the free entries of slope k, the least Σ δ_k²/μ_k² subject to Σ_{k∈i} δ_k = 0 and
        Σ_k (μ_k + δ_k) L_k = 0 is δ_k = μ_k² ⟨L_k − L̄_i, y⟩, L̄_i the μ²-weighted mean of sample i. Any
        weights are valid, so this need not succeed; weights that would turn negative become 0.
        """
        free, used = self.regularizer.free, np.flatnonzero(weights > 0)
        if not len(free) or not len(used):
            return weights
        samples, mu = cuts.samples[used], weights[used]
        slopes = taken(cuts.slopes, used)[:, free].toarray()
        prices = self.prices.floats()
        for _ in range(BALANCING):
            mu = mu * (prices / np.maximum(np.bincount(samples, mu, len(prices)), TINY))[samples]
            total = np.maximum(np.bincount(samples, mu**2, len(prices)), TINY)
            means = np.stack([np.bincount(samples, mu**2 * each, len(prices)) / total for each in slopes.T], axis=1)
            centred = slopes - means[samples]
            gram = (centred * (mu**2)[:, None]).T @ centred
            mu = np.maximum(mu - mu**2 * (centred @ (np.linalg.pinv(gram, hermitian=True) @ (slopes.T @ mu))), 0.0)
        found = np.zeros(len(weights))
        found[used] = mu
        return found

    def lower(self, cuts: Cuts, weights: Floats, upper: float = np.inf) -> float:
        """The dual value of atom weights μ (K,) ≥ 0, rounded down; −∞ if a sample has no weight at all.

        Cuts of samples without a price are no part of F, and count for nothing. `upper` is a proven upper bound,
        if one is known: it bounds the range of the entries that r does not penalise.
        """
        found = self.dual(cuts, weights)
        if found is None:
            return -np.inf
        offset, push = found
        return float((offset - self.regularizer.within(upper).conjugate(push)).lo)

    def dual(self, cuts: Cuts, weights: Floats) -> tuple[Interval, Interval] | None:
        """Σ_k μ_k o_k and −Σ_k μ_k a_k (p,), enclosed, of renormalised weights; None if a sample has none at all."""
        used = np.flatnonzero((weights > 0) & (self.prices.weights[cuts.samples] > 0))
        samples, mu = cuts.samples[used], Interval(weights[used])
        if not np.isfinite(weights).all():
            return None
        if not self.prices.hard:
            mass = grouped_sum(mu, samples, self.oracle.n_samples)
            if (mass.lo[self.samples] <= 0).any():
                return None
            mu = mu * (Interval(self.prices.weights[samples]) / self.total) / mass[samples]
        if self.tables and not len(self.regularizer.free):
            labels = cuts.witnesses[used, 0]
            if self.tables.full(samples, labels):
                push = self.tables.push(samples, labels, mu, self.spread)
                return (mu * self.tables.offsets(samples, labels)).sum(), push
        slopes, free = taken(cuts.slopes, used), self.regularizer.free
        push = -matvec(slopes.T, mu, self.oracle.slope_error(samples))
        columns = slopes[:, free].toarray().T if len(free) else ()
        for entry, column in zip(free, columns, strict=True):  # one rounding a sum is slow, so only of the free entries
            exact = -(mu * column).sum()
            push.lo[entry], push.hi[entry] = exact.lo, exact.hi
        return (mu * self.enclosed(samples, cuts.offsets[used])).sum(), push

    def lower_at(self, theta: Floats) -> float:
        return np.nan

    def recheck(self, evidence: Evidence) -> tuple[float, Fraction | float]:
        cuts = Cuts(self.oracle.dim, self.oracle.width)
        ids = cuts.add(evidence.samples, evidence.witnesses, self.oracle.rows)
        upper = self.upper(evidence.theta)
        weights = np.bincount(ids, evidence.weights, len(cuts)).astype(float)
        return self.lower(cuts, weights, upper), upper


def checked_theta(theta: Floats, dim: int) -> Floats:
    """θ as a float array (dim,), or `BadInput`."""
    theta = np.asarray(theta, float).ravel()
    if theta.shape != (dim,):
        raise BadInput(f"The weights have {theta.size} entries but the problem needs {dim}; check the feature map.")
    return theta
