"""Block dual ascent where every output is one label: all k cuts of every sample at once, their slopes never written.

    max D(β) = Σ_iy β_iy o_iy − r*(−Σ_iy β_iy a_iy)     s.t.  Σ_y β_iy = p_i,  β ≥ 0       (contracts/listings.py: a, o)

With weights W, of curvature μ in r, and the extra entries x behind them (_extras.py), the heights ∇_y = o_y + ⟨a_y, θ⟩
of sample i cost one product x_iᵀWᵀ; W is kept feature by feature (p, k), so that one row of W serves all labels. Two
cuts y, z ≠ t of one sample have the inner product, weighted by 1/h,

    H_yz = s_y s_z (1 + [y = z]) (‖x_i‖²/μ + B/h_b) + [S_y = S_z] K²/h_S

and the truth has H = 0. A visit maximises D over β_i by pairwise steps: weight moves from the label of least ∇ among
β > 0 to the label of greatest ∇, by δ = min(β, (∇⁺ − ∇⁻)/(H₊₊ + H₋₋ − 2H₊₋)) (Crammer, Singer 2001; Keerthi et al.
2008; the steps of pairwise Frank–Wolfe, Lacoste-Julien, Jaggi 2015).

A **pass** visits all samples once. **Repeated sweeps** visit only the samples whose last visit met a gap of at least a
tenth of the mean (shrinking), while the gap that they meet is above a share of that of the pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from workbench.arithmetic import compiled as machine
from workbench.contracts import Floats, Ints, Listing, Shape
from workbench.objectives.regularizers import projected, projection
from workbench.solvers import _extras
from workbench.solvers._common import Late, never
from workbench.solvers._dual_block import DRIFT, LEAST, LONGEST

BUSY = 0.1  # share of the mean gap of a sweep's visits, from which a sample is visited again
TIE = 256  # visits between two projections onto the simplex


class Weights(NamedTuple):
    """β (n, k), W (p, k), and the gap that the last visit of each sample met (n,)."""

    beta: Floats
    W: Floats
    gap: Floats


class Memory(NamedTuple):
    """β, W and d of the extra entries: as they were, their last step, and on trial in the plane."""

    beta: Floats
    W: Floats
    push: Floats
    beta_step: Floats
    W_step: Floats
    push_step: Floats
    beta_trial: Floats
    W_trial: Floats
    push_trial: Floats


class Bench(NamedTuple):
    """Working space for one visit: k numbers each, and the labels whose weight changed.

    met : (2,) Σ_i p_i max_y ∇_y and max_iy ∇_y over the visits
    """

    score: Floats
    height: Floats
    start: Floats
    moved: Ints
    met: Floats


def bench(k: int) -> Bench:
    return Bench(np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k, np.int64), np.zeros(2))


def sweep(listing, order, prices, curvature, steps, weights, extras, bench):
    """Visits the samples in `order`; the gap that the visits met, Σ_i p_i max_y ∇_y − ⟨β_i, ∇⟩.

    bench.met takes in what it says of these visits.
    """
    indptr, indices, values, square, kinds, truths, scales, offsets, biased, classes, K, _ = listing
    beta, W, gaps = weights
    metric, _, pull, floor, push, x, _, _ = extras
    score, height, start, moved, met = bench
    k, total = W.shape[1], 0.0
    first = k * biased
    for i in order:
        kind = kinds[i]
        t = truths[kind]
        scale, offset, label_class = scales[kind], offsets[kind], classes[kind]
        for y in range(k):
            score[y] = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            value, row = values[j], W[indices[j]]
            for y in range(k):
                score[y] += value * row[y]
        if biased:
            for y in range(k):
                score[y] += x[y]
        own, held, price = score[t], 0.0, prices[i]
        high, low, weight = 0, -1, beta[i]
        for y in range(k):
            height[y] = scale[y] * (score[y] - own) + offset[y]
            if label_class[y] >= 0:
                height[y] += K * x[first + label_class[y]]
            if height[y] > height[high]:
                high = y
            if weight[y] > 0.0:
                held += weight[y] * height[y]
                if low < 0 or height[y] < height[low]:
                    low = y
        gap = price * height[high] - held
        total += gap
        met[0] += price * height[high]
        met[1] = max(met[1], height[high])
        gaps[i] = gap
        if gap <= 0.0:
            continue
        for y in range(k):
            start[y] = weight[y]
        size = square[i] / curvature + (1.0 / metric[t] + 0.0 if biased else 0.0)
        for _ in range(steps):
            rise = height[high] - height[low]
            if rise <= 0.0:
                break
            plus, minus = scale[high] * size, scale[low] * size
            costly = label_class[high] >= 0 and label_class[low] >= 0 and label_class[high] == label_class[low]
            up_cost = K * K / metric[first + label_class[high]] if label_class[high] >= 0 else 0.0
            low_cost = K * K / metric[first + label_class[low]] if label_class[low] >= 0 else 0.0
            curve = 2.0 * scale[high] * plus + 2.0 * scale[low] * minus - 2.0 * scale[high] * minus
            curve += up_cost + low_cost - (2.0 * up_cost if costly else 0.0)
            move = weight[low]
            if curve * move > rise:
                move = rise / curve
                weight[low] -= move
            else:
                weight[low] = 0.0
            weight[high] += move
            change = move * (plus - minus)
            above, below = high, low
            for y in range(k):
                height[y] -= scale[y] * change
                if y == above:
                    height[y] -= move * scale[y] * plus
                elif y == below:
                    height[y] += move * scale[y] * minus
                if label_class[y] >= 0:
                    if up_cost > 0.0 and label_class[y] == label_class[above]:
                        height[y] -= move * up_cost
                    if low_cost > 0.0 and label_class[y] == label_class[below]:
                        height[y] += move * low_cost
            high, low = 0, -1
            for y in range(k):
                if height[y] > height[high]:
                    high = y
                if weight[y] > 0.0 and (low < 0 or height[y] < height[low]):
                    low = y
        count, back = 0, 0.0
        for y in range(k):
            change = weight[y] - start[y]
            if change != 0.0 and y != t:
                moved[count] = y
                start[y] = scale[y] * change / curvature
                back += start[y]
                count += 1
                if biased:
                    push[y] += scale[y] * change
                    push[t] -= scale[y] * change
                    x[y] = (pull[y] - push[y]) / metric[y]
                if label_class[y] >= 0:
                    c = first + label_class[y]
                    push[c] += K * change
                    x[c] = max((pull[c] - push[c]) / metric[c], floor[c])
        if count > 0:
            if biased:
                x[t] = (pull[t] - push[t]) / metric[t]
            for j in range(indptr[i], indptr[i + 1]):
                value, row = values[j], W[indices[j]]
                row[t] += value * back
                for c in range(count):
                    row[moved[c]] -= value * start[moved[c]]
    return total


def busy(order, gap, total):
    """How many samples of `order` are worth another visit; they stand first in `order` then, in the same order."""
    least, count = BUSY * total / len(order), 0
    for a in range(len(order)):
        if gap[order[a]] > least:
            order[count] = order[a]
            count += 1
    return count


def plane(listing, samples, prices, curvature, weights, extras, memory):
    """The best step β + a u + c v in the plane of the sweep's displacement u and the step before it, v; 1 if taken.

    As in `_dual_block.plane`; extra entries that are above their floor count as a part of the quadratic D.
    """
    indptr, indices, values, _, kinds, truths, scales, offsets, biased, classes, K, _ = listing
    beta, W, _ = weights
    metric, _, pull, floor, push, x, _, _ = extras
    old, oldW, oldpush, step, stepW, steppush, trial, trialW, trialpush = memory
    k = W.shape[1]
    along, across, size, square = 0.0, 0.0, 0.0, 0.0
    for i in samples:
        offset = offsets[kinds[i]]
        for y in range(k):
            size += abs(offset[y]) * beta[i, y]
            along += offset[y] * (beta[i, y] - old[i, y])
            across += offset[y] * step[i, y]
    uu, uv, vv, wu, wv = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(len(W)):
        for y in range(k):
            move, last = W[j, y] - oldW[j, y], stepW[j, y]
            uu += move * move
            uv += move * last
            vv += last * last
            wu += W[j, y] * move
            wv += W[j, y] * last
            square += W[j, y] * W[j, y]
    uu, uv, vv = curvature * uu, curvature * uv, curvature * vv
    along, across, value = along - curvature * wu, across - curvature * wv, curvature / 2.0 * square
    for j in range(len(x)):
        move, last = push[j] - oldpush[j], steppush[j]
        along += x[j] * move
        across += x[j] * last
        value += (pull[j] - push[j]) * x[j] - metric[j] / 2.0 * x[j] * x[j] if x[j] != 0.0 else 0.0
        if x[j] > floor[j]:
            uu += move * move / metric[j]
            uv += move * last / metric[j]
            vv += last * last / metric[j]
    a, c, area = 0.0, 0.0, uu * vv - uv * uv
    if area > 1e-10 * uu * vv:
        a, c = (along * vv - across * uv) / area, (across * uu - along * uv) / area
    elif uu > 0.0:
        a = along / uu
    if not (abs(a) <= LONGEST and abs(c) <= LONGEST):
        a, c = 0.0, 0.0
    for j in range(len(W)):
        for y in range(k):
            trialW[j, y] = W[j, y] + a * (W[j, y] - oldW[j, y]) + c * stepW[j, y]
    for j in range(len(x)):
        trialpush[j] = push[j] + a * (push[j] - oldpush[j]) + c * steppush[j]
    rise = 0.0
    for i in samples:
        kind = kinds[i]
        t, mass, clipped = truths[kind], 0.0, False
        for y in range(k):
            trial[i, y] = beta[i, y] + a * (beta[i, y] - old[i, y]) + c * step[i, y]
            clipped = clipped or trial[i, y] < 0.0
            mass += max(trial[i, y], 0.0)
        if clipped or abs(mass - prices[i]) > DRIFT * prices[i]:
            for y in range(k):
                share = max(trial[i, y], 0.0) * (prices[i] / mass)
                change = share - trial[i, y]
                trial[i, y] = share
                if change != 0.0 and y != t:
                    move = scales[kind, y] * change / curvature
                    for j in range(indptr[i], indptr[i + 1]):
                        trialW[indices[j], y] -= values[j] * move
                        trialW[indices[j], t] += values[j] * move
                    if biased:
                        trialpush[y] += scales[kind, y] * change
                        trialpush[t] -= scales[kind, y] * change
                    if classes[kind, y] >= 0:
                        trialpush[k * biased + classes[kind, y]] += K * change
        for y in range(k):
            rise += offsets[kind, y] * (trial[i, y] - beta[i, y])
    longer, tried = 0.0, 0.0
    for j in range(len(W)):
        for y in range(k):
            longer += trialW[j, y] * trialW[j, y]
    for j in range(len(x)):
        at = max((pull[j] - trialpush[j]) / metric[j], floor[j])
        tried += (pull[j] - trialpush[j]) * at - metric[j] / 2.0 * at * at if at != 0.0 else 0.0
    tried += curvature / 2.0 * longer
    better = rise - (tried - value) > LEAST * (size + abs(value))
    if better:
        for i in range(len(beta)):
            for y in range(k):
                beta[i, y] = trial[i, y]
        for j in range(len(W)):
            for y in range(k):
                W[j, y] = trialW[j, y]
        for j in range(len(x)):
            push[j] = trialpush[j]
            x[j] = max((pull[j] - push[j]) / metric[j], floor[j])
    for i in range(len(beta)):
        for y in range(k):
            step[i, y] = beta[i, y] - old[i, y]
    for j in range(len(W)):
        for y in range(k):
            stepW[j, y] = W[j, y] - oldW[j, y]
    for j in range(len(x)):
        steppush[j] = push[j] - oldpush[j]
    return 1 if better else 0


SWEEPS = 5  # after a pass, at most
SHARE = 0.1  # of the gap of the pass, at which its repeated sweeps end
STEPS = 10  # of a visit


class LabelBlocks:
    """The state of an ascent; of the last pass's visits: `gap`, `risk` Σ_i p_i max_y ∇_y, and `peak`, the highest ∇_y.

    prices : (n,) finite; samples of price 0 are left out
    start : θ (p,), of which the extra entries, behind the k · p weights, are taken as they are and the weights are 0
    slopes : (m, p) of some cuts, for the scale of the extra entries
    """

    known = np.inf

    def __init__(
        self, listing: Listing, shape: Shape, prices: Floats, start: Floats, slopes: sparse.csr_array, compiled: bool
    ):
        n, k, inputs = len(prices), listing.scale.shape[1], listing.inputs
        self.listing, self.prices, self.samples = listing, prices, np.flatnonzero(prices)
        self.curvature = 2 * float(shape.square[0])
        self.extras = _extras.extras_of(shape, k * inputs, start[k * inputs :].copy(), slopes)
        self.state = Weights(np.zeros((n, k)), np.zeros((inputs, k)), np.zeros(n))
        self.state.beta[np.arange(n), listing.truth[listing.kind]] = prices
        self.bench, self.rng, self.passes, self.gap, self.risk = bench(k), np.random.default_rng(0), 0, np.inf, np.inf
        self.peak = np.inf
        self.memory = Memory(*(np.zeros_like(each) for _ in range(3) for each in (*self.state[:2], self.extras.push)))
        self.tools = prepared(self) if compiled else (sweep, plane, busy, _extras.retie, projected)
        self.sweeps = SWEEPS

    def advance(self, late: Late = never) -> None:
        """A pass over all samples, repeated sweeps over those that were worth their visits, and a step in the plane.

        When `late`, the pass ends after the sweep that it is in.
        """
        _, plane, busy, retie, projected = self.tools
        order, memory = self.rng.permutation(self.samples), self.memory
        if extras := len(self.extras.x) > 0:
            _extras.recentre(self.extras)
            retie(projected, self.extras)
        memory.beta[:], memory.W[:], memory.push[:] = self.state.beta, self.state.W, self.extras.push
        self.bench.met[:] = 0.0
        met = self.gap = self.swept(order)
        (self.risk, self.peak), self.passes = self.bench.met.tolist(), self.passes + 1
        for _ in range(self.sweeps):
            order = self.rng.permutation(order[: busy(order, self.state.gap, met)])
            if not len(order) or met <= SHARE * self.gap or late():
                break
            met = self.swept(order)
        plane(self.listing, self.samples, self.prices, self.curvature, self.state, self.extras, memory)
        if extras:
            retie(projected, self.extras)

    def begin(self, samples: Ints, witnesses: Ints, weights: Floats, push: Floats, offsets: Floats) -> None:
        """Go on from dual weights μ of cuts, `push` = Σ_k μ_k a_k (p,); their offsets stand in the tables."""
        inputs, k = self.state.W.shape
        self.state.beta[:] = 0.0
        np.add.at(self.state.beta, (samples, witnesses[:, 0]), weights)
        self.prices[self.samples] = self.state.beta.sum(axis=1)[self.samples]
        self.state.W[:] = -push[: k * inputs].reshape(k, inputs).T / self.curvature
        self.extras.push[:] = push[k * inputs :]
        _, _, _, retie, projected = self.tools
        retie(projected, self.extras)

    def swept(self, order: Ints) -> float:
        sweep, _, _, retie, projected = self.tools
        met, tied = 0.0, len(self.extras.simplex) > 0
        for piece in np.split(order, range(TIE, len(order), TIE)) if tied else [order]:
            met += sweep(self.listing, piece, self.prices, self.curvature, STEPS, self.state, self.extras, self.bench)
            if tied:
                retie(projected, self.extras)
        return met

    def raised(self, factor: float) -> None:
        """Prices times a factor; what is added lies on the truths, so θ and the slopes' weights stay."""
        n = self.samples
        self.state.beta[n, self.listing.truth[self.listing.kind[n]]] += (factor - 1) * self.prices[n]
        self.prices *= factor

    @property
    def saturated(self) -> bool:
        """Whether some sample has no weight left on its truth."""
        n = self.samples
        return bool((self.state.beta[n, self.listing.truth[self.listing.kind[n]]] <= 1e-6 * self.prices[n]).any())

    @property
    def theta(self) -> Floats:
        """θ of now."""
        return np.concatenate([self.state.W.T.ravel(), self.extras.x])

    @property
    def mean(self) -> Floats:
        """θ of now."""
        return self.theta

    def duals(self) -> tuple[Ints, Ints, Floats]:
        """(samples, witnesses, weights μ = p α) of the cuts with weight."""
        samples, labels = np.nonzero(self.state.beta)
        return samples, labels[:, None], self.state.beta[samples, labels]


def prepared(blocks: LabelBlocks) -> tuple[Callable[..., Any], ...]:  # they return numbers or arrays, or nothing
    """The loops, compiled."""
    build, ints = machine.compiled_function, np.zeros(1, np.int64)
    onto = build(projection(blocks.extras.simplex), (blocks.prices, blocks.prices), "floats")
    tie = build(_extras.retie, (onto, blocks.extras))
    place = ints, blocks.prices, blocks.curvature, STEPS, blocks.state, blocks.extras, blocks.bench
    step = build(plane, (blocks.listing, ints, *place[1:3], blocks.state, blocks.extras, blocks.memory), "int64")
    return build(sweep, (blocks.listing, *place)), step, build(busy, (ints, blocks.prices, 1.0), "int64"), tie, onto
