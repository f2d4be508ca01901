"""Block dual ascent for Crammer and Singer's machine: single labels, slopes (e_y − e_t) ⊗ x_i, nothing but the weights.

    F(W) = μ/2 ‖W‖² + Σ_i p_i max_y ∇_iy,    ∇_iy = o_iy + ⟨W_y − W_t, x_i⟩
    D(β) = Σ_iy β_iy o_iy − μ/2 ‖W(β)‖²,     W_y(β) = Σ_i (p_i [y = t_i] − β_iy) x_i/μ,    Σ_y β_iy = p_i,  β ≥ 0

As a function of β_i alone, D is ⟨∇_i, β_i⟩ − q/2 ‖β_i − β_i⁰‖² with q = ‖x_i‖²/μ: a **visit** moves β_i to its
maximum, the projection of β_i⁰ + ∇_i/q onto the simplex of mass p_i, over all labels at once (Keerthi, Sundararajan,
Chang, Hsieh, Lin 2008). The projection is that of Michelot (1986): a level τ, raised while labels fall below τ.

A **pass** sweeps again and again over the samples whose last visit met a gap of at least a tenth of the mean
(shrinking), then takes a step in the plane of its own move and the move before it (`_labels.plane`), and then
**scores** every sample at the W that stands. The scores give the next pass its samples, and F and D at the same W and
β, so a caller knows without another sweep what a proof would find. They are averaged along with W, so F of the mean,
which mostly lies below F(W), costs no product with the data.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from workbench.arithmetic import compiled as machine
from workbench.contracts import Floats, Ints, Listing, Shape
from workbench.solvers._common import Late, never
from workbench.solvers._labels import LabelBlocks, busy, plane

SWEEPS = 10  # of a pass, at most
MERSENNE = 2**31 - 1
SHARE = 0.1  # of the gap at the pass's first W, at which its sweeps end


class Desk(NamedTuple):
    """The scores ⟨W_y, x_i⟩ (n, k) at W and at its mean, the mean (p, k), and two rows of k numbers for a visit.

    told : (5,) Σ_i p_i max_y ∇_iy at W and at the mean, D, ‖W‖² and ‖mean‖²
    seed : (1,) of the shuffles, x ← 48271 x mod 2³¹ − 1 (Park, Miller, Stockmeyer 1993)
    """

    scores: Floats
    mean_scores: Floats
    mean: Floats
    height: Floats
    start: Floats
    told: Floats
    seed: Ints


def sweep(listing, order, count, prices, curvature, weights, desk):
    """Visits the first `count` samples of `order`, shuffled first; the gap that the visits met."""
    indptr, indices, values, square, kinds, truths, _, offsets, _, _, _, _ = listing
    beta, W, gaps = weights
    height, start, seed = desk.height, desk.start, desk.seed
    k, total = W.shape[1], 0.0
    for a in range(count):
        seed[0] = seed[0] * 48271 % MERSENNE
        b = a + seed[0] * (count - a) // MERSENNE
        i = order[b]
        order[b], order[a] = order[a], i
        kind, price = kinds[i], prices[i]
        t, offset, weight, q = truths[kind], offsets[kind], beta[i], square[i] / curvature
        for y in range(k):
            height[y] = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            value, row = values[j], W[indices[j]]
            for y in range(k):
                height[y] += value * row[y]
        own, highest, held = height[t], 0.0, 0.0
        for y in range(k):
            height[y] += offset[y] - own
            highest = max(highest, height[y])
            held += weight[y] * height[y]
        gap = price * highest - held
        total += gap
        gaps[i] = gap
        if gap <= 0.0:
            continue
        for y in range(k):
            start[y] = weight[y]
        if q > 0.0:
            level, inside = -np.inf, k + 1
            for y in range(k):
                height[y] = weight[y] + (height[y] - highest) / q
            for _ in range(k):
                mass, above = -price, 0
                for y in range(k):
                    if height[y] > level:
                        mass += height[y]
                        above += 1
                if above == inside or above == 0:
                    break
                level, inside = mass / above, above
            for y in range(k):
                weight[y] = max(height[y] - level, 0.0)
        else:
            best = 0
            for y in range(k):
                best = y if height[y] > height[best] else best
                weight[y] = 0.0
            weight[best] = price
        for y in range(k):
            step = (weight[y] - start[y]) / curvature
            if step != 0.0:
                for j in range(indptr[i], indptr[i + 1]):
                    W[indices[j], y] -= values[j] * step
    return total


def score(listing, samples, first, last, prices, curvature, share, weights, desk):
    """Scores of `samples` at W, and what they and the rows first ≤ j < last of W add to desk.told; the gap at W.

    The mean moves by `share` towards W. weights.gap takes in what each sample's visit would meet.
    """
    indptr, indices, values, _, kinds, truths, _, offsets, _, _, _, _ = listing
    beta, W, gaps = weights
    scores, mean_scores, mean, _, _, told, _ = desk
    k = W.shape[1]
    for a in range(len(told)):
        told[a] = 0.0
    for j in range(first, last):
        for y in range(k):
            mean[j, y] += share * (W[j, y] - mean[j, y])
            told[3] += W[j, y] * W[j, y]
            told[4] += mean[j, y] * mean[j, y]
    total = 0.0
    for i in samples:
        kind, row, other, weight, price = kinds[i], scores[i], mean_scores[i], beta[i], prices[i]
        t, offset = truths[kind], offsets[kind]
        for y in range(k):
            row[y] = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            value, column = values[j], W[indices[j]]
            for y in range(k):
                row[y] += value * column[y]
        own, highest, held = row[t], 0.0, 0.0
        for y in range(k):
            height = offset[y] + row[y] - own
            highest = max(highest, height)
            held += weight[y] * height
            told[2] += weight[y] * offset[y]
            other[y] += share * (row[y] - other[y])
        gaps[i] = price * highest - held
        total += gaps[i]
        told[0] += price * highest
        own, highest = other[t], 0.0
        for y in range(k):
            highest = max(highest, offset[y] + other[y] - own)
        told[1] += price * highest
    told[2] -= curvature / 2.0 * told[3]
    return total


class CrammerSinger(LabelBlocks):
    """The state of an ascent; see `LabelBlocks`. `gap` is F − D, with F the least so far of W's and of means.

    prices : (n,) finite; samples of price 0 are left out;  listing : a plain one
    threads, pool : how many runs of samples are scored side by side, and by which threads
    known, theta : the least F so far, and where
    """

    def __init__(
        self,
        listing: Listing,
        shape: Shape,
        prices: Floats,
        start: Floats,
        slopes: Any,
        compiled: bool,
        threads: int = 1,
        pool: ThreadPoolExecutor | None = None,
    ):
        super().__init__(listing, shape, prices, start, slopes, False)
        beta, W, gap = self.state
        self.pool, count = pool, threads if compiled and len(self.samples) >= threads else 1
        self.runs = list(zip(np.array_split(self.samples, count), ends(len(W), count), strict=True))
        numbers = np.zeros_like(beta), np.zeros_like(beta), np.zeros_like(W), *np.zeros((2, W.shape[1])), np.zeros(5)
        self.desk, self.order, self.best = Desk(*numbers, np.ones(1, np.int64)), self.samples.copy(), np.zeros_like(W)
        gap[:] = prices * listing.offset.max(axis=1)[listing.kind]
        self.known = self.total = float(gap.sum())
        self.loops = compiled_loops(self) if compiled else (sweep, busy, plane, score)
        self.sweeps = SWEEPS

    def advance(self, late: Late = never) -> None:
        """Sweeps over the samples that are worth a visit, a step in the plane, and the scores of all samples.

        When `late`, the pass ends after the sweep that it is in.
        """
        sweep, busy, plane, _ = self.loops
        place, memory = (self.prices, self.curvature, self.state), self.memory
        order, count, met = self.order, len(self.order), self.total
        memory.beta[:], memory.W[:] = self.state.beta, self.state.W
        for _ in range(self.sweeps):
            count = busy(order[:count], self.state.gap, met) if count else 0
            if not count or met <= SHARE * self.total or late():
                break
            met = sweep(self.listing, order, count, *place, self.desk)
        plane(self.listing, self.samples, *place, self.extras, memory)
        self.passes += 1
        self.tell(4 / (self.passes + 3))

    def tell(self, share: float) -> None:
        """F and D at W, and F at the mean, which moves by `share`."""
        score, place = self.loops[3], (self.prices, self.curvature, share, self.state)

        def told(run: tuple[Ints, tuple[int, int]]) -> list[float]:
            desk = self.desk._replace(told=np.zeros_like(self.desk.told))
            total = score(self.listing, run[0], *run[1], *place, desk)
            return [total, *desk.told.tolist()]

        found = map(told, self.runs) if self.pool is None else self.pool.map(told, self.runs)
        self.total, risk, mean_risk, lower, square, mean_square = np.sum(list(found), axis=0).tolist()
        ends = risk + self.curvature / 2 * square, mean_risk + self.curvature / 2 * mean_square
        if min(ends) < self.known:
            self.known = min(ends)
            self.best[:] = self.state.W if ends[0] <= ends[1] else self.desk.mean
        self.gap, self.order = self.known - lower, self.samples.copy()

    def begin(self, samples: Ints, witnesses: Ints, weights: Floats, push: Floats, offsets: Floats) -> None:
        super().begin(samples, witnesses, weights, push, offsets)
        self.passes, self.known = 0, np.inf
        self.tell(1.0)

    def restart(self, curvature: float) -> None:
        """From nothing again, at another μ: the state of a new ascent."""
        self.curvature, self.passes, self.order = curvature, 0, self.samples.copy()
        self.desk.seed[:] = 1
        beta, W, gap = self.state
        for each in (beta, W, self.best, *self.memory, *self.desk[:3]):
            each[:] = 0.0
        beta[self.samples, self.listing.truth[self.listing.kind[self.samples]]] = self.prices[self.samples]
        gap[:] = self.prices * self.listing.offset.max(axis=1)[self.listing.kind]
        self.known = self.total = float(gap.sum())
        self.gap = np.inf

    @property
    def theta(self) -> Floats:
        """The W or the mean of least F so far."""
        return self.best.T.ravel()


def ends(length: int, count: int) -> list[tuple[int, int]]:
    """`count` ranges, one after the other, of `length` places."""
    return [(length * k // count, length * (k + 1) // count) for k in range(count)]


def compiled_loops(blocks: CrammerSinger) -> tuple[Callable[..., Any], ...]:
    """The loops of a pass, compiled."""
    build, place, order = machine.compiled_function, (blocks.prices, blocks.curvature), blocks.order
    listing, state, desk = blocks.listing, blocks.state, blocks.desk
    return (
        build(sweep, (listing, order, 1, *place, state, desk)),
        build(busy, (order, blocks.prices, 1.0), "int64"),
        build(plane, (listing, order, *place, state, blocks.extras, blocks.memory), "int64"),
        build(score, (listing, order, 0, 1, *place, 1.0, state, desk)),
    )
