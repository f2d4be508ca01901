"""The loops of the ascent for single labels (crammer_singer.py), where lanes of labels may work side by side.

The k labels are dealt out to L lanes in runs, of which `firsts` (L + 1,) are the ends, and each lane has a thread. What
belongs to labels stands lane by lane: W (L, p, w) and β (L, n, w), with w the least multiple of eight from ⌈k/L⌉ on.
Behind a lane's last label are zeros. Scores and steps are made for eight labels at a time, a line of the cache, in
eight variables: the compiler computes them side by side (`packing` in arithmetic/compiled.py), sums in the same order.

A visit takes two steps. Each lane computes the scores of its own labels, ⟨W_y, x_i⟩, and tells them to the others
along with its β_iy (`exchange`, arithmetic/meeting.py). Then every lane computes the same projection of all labels, and
moves β and W of its own. So all lanes visit the samples one after the other, and the result is the same, to the last
bit, for any L. A lane may be one visit ahead of another, hence `letters` are two halves.

Plain loops within numba's subset. A function that calls another takes it as an argument. Loops name entries of arrays
that two lanes read, and no rows of them: a row is one more reference, and all threads would write to one counter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from workbench.contracts import Floats, Ints
from workbench.solvers._dual_block import DRIFT, LEAST, LONGEST

MERSENNE = 2**31 - 1
BEFORE, NOW = 1, 2  # bits
LINE = 8  # numbers in a line of the cache, which two lanes had better not share


class Weights(NamedTuple):
    """β (L, n, w), W (L, p, w), the gap that the last visit of each sample met (n,), and the lanes' ends (L + 1,).

    moved (n,) : NOW for samples whose β has moved in this pass, and BEFORE for those with a step in the last one
    """

    beta: Floats
    W: Floats
    gap: Floats
    moved: Ints
    firsts: Ints


class Memory(NamedTuple):
    """β and W as the pass found them, their last step, and on trial in the plane; whether a trial was clipped (n,)."""

    beta: Floats
    W: Floats
    beta_step: Floats
    W_step: Floats
    beta_trial: Floats
    W_trial: Floats
    clipped: Ints


class Lane(NamedTuple):
    """Working space of a lane: three rows of k numbers, and lines behind them.

    letters : (2, L, LINE + …) of all lanes: scores and weights of a visit's sample
    sums : (N, …) of all threads: their parts of sums
    """

    height: Floats
    start: Floats
    now: Floats
    letters: Floats
    sums: Floats


class Desk(NamedTuple):
    """The scores ⟨W_y, x_i⟩ (L, n, w) at W and at its mean, the mean (L, p, w), and the best mean before it."""

    scores: Floats
    mean_scores: Floats
    mean: Floats
    best: Floats


def width_of(labels: int, lanes: int) -> int:
    """The room w for a lane's labels, whole lines."""
    return -(-labels // (lanes * LINE)) * LINE


def lanes_of(labels: int, lanes: int, threads: int) -> list[Lane]:
    """Working space of so many threads for so many labels in so many lanes."""
    width = width_of(labels, lanes)
    shared = np.zeros((2, lanes, (2 * width // LINE + 2) * LINE)), np.zeros((threads, 3 * LINE))
    numbers = labels + 2 * LINE
    return [Lane(np.zeros(numbers), np.zeros(numbers), np.zeros(numbers), *shared) for _ in range(threads)]


def alone(count: int) -> tuple[Callable[..., int], Ints, Callable[[Ints], None]]:
    """`exchange` of one thread, a gate, and `leave`, as `machine.exchange` says them of compiled threads."""
    return lambda gate, k, count, number: 1, np.zeros(0, np.int64), lambda gate: None


def shuffled(order, count, seed):
    """The first `count` places of `order` shuffled by x ← 48271 x mod 2³¹ − 1 (Park, Miller, Stockmeyer 1993)."""
    for a in range(count):
        seed[0] = seed[0] * 48271 % MERSENNE
        b = a + seed[0] * (count - a) // MERSENNE
        i = order[b]
        order[b], order[a] = order[a], i


def sweep(listing, order, count, prices, curvature, weights, exchange, gate, k, number, lane):
    """Lane k's part of visits to the first `count` samples of `order`; the gap that they met, −1 if a lane has left.

    number : of exchanges before
    """
    indptr, indices, values, square, kinds, truths, _, offsets, _, _, _, _ = listing
    beta, Ws, gaps, moved, firsts = weights
    height, start, now, letters, _ = lane
    lanes, labels, width, total = len(Ws), offsets.shape[1], Ws.shape[2], 0.0
    first, own_labels = firsts[k], firsts[k + 1] - firsts[k]
    W, lines = Ws[k].reshape(Ws.shape[1], width // LINE, LINE), height[:width].reshape(width // LINE, LINE)
    for a in range(count):
        i = order[a]
        kind, price, half, q = kinds[i], prices[i], (number + a) % 2, square[i] / curvature
        t = truths[kind]
        for b in range(len(lines)):
            a0, a1, a2, a3, a4, a5, a6, a7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for j in range(indptr[i], indptr[i + 1]):
                value, row = values[j], W[indices[j], b]
                a0 += value * row[0]
                a1 += value * row[1]
                a2 += value * row[2]
                a3 += value * row[3]
                a4 += value * row[4]
                a5 += value * row[5]
                a6 += value * row[6]
                a7 += value * row[7]
            line = lines[b]
            line[0], line[1], line[2], line[3] = a0, a1, a2, a3
            line[4], line[5], line[6], line[7] = a4, a5, a6, a7
        if lanes == 1:
            for y in range(labels):
                start[y] = beta[0, i, y]
        else:
            for y in range(own_labels):
                letters[half, k, y], letters[half, k, width + y] = height[y], beta[k, i, y]
            if exchange(gate, k, lanes, number + a + 1) == 0:
                return -1.0
            for m in range(lanes):
                at = firsts[m]
                for y in range(firsts[m + 1] - at):
                    height[at + y], start[at + y] = letters[half, m, y], letters[half, m, width + y]
        own_score, highest, held = height[t], 0.0, 0.0
        for y in range(labels):
            height[y] += offsets[kind, y] - own_score
            highest = max(highest, height[y])
            held += start[y] * height[y]
        gap = price * highest - held
        total += gap
        if k == 0:
            gaps[i] = gap
        if gap <= 0.0:
            continue
        if k == 0:
            moved[i] |= NOW
        if q > 0.0:
            top, inside = -np.inf, labels + 1
            for y in range(labels):
                height[y] = start[y] + (height[y] - highest) / q
                top = max(top, height[y])
            level = top - price  # at most τ: nothing above it weighs more than the price
            for _ in range(labels):
                mass, above = -price, 0
                for y in range(labels):
                    if height[y] > level:
                        mass += height[y]
                        above += 1
                if above == inside or above == 0:
                    break
                level, inside = mass / above, above
            for y in range(labels):
                now[y] = max(height[y] - level, 0.0)
        else:
            best = 0
            for y in range(labels):
                best = y if height[y] > height[best] else best
                now[y] = 0.0
            now[best] = price
        for y in range(own_labels):
            beta[k, i, y] = now[first + y]
            height[y] = (now[first + y] - start[first + y]) / curvature
        for y in range(own_labels, width):
            height[y] = 0.0
        for b in range(len(lines)):
            line = lines[b]
            a0, a1, a2, a3 = line[0], line[1], line[2], line[3]
            a4, a5, a6, a7 = line[4], line[5], line[6], line[7]
            if abs(a0) + abs(a1) + abs(a2) + abs(a3) + abs(a4) + abs(a5) + abs(a6) + abs(a7) > 0.0:
                for j in range(indptr[i], indptr[i + 1]):
                    value, row = values[j], W[indices[j], b]
                    row[0] -= value * a0
                    row[1] -= value * a1
                    row[2] -= value * a2
                    row[3] -= value * a3
                    row[4] -= value * a4
                    row[5] -= value * a5
                    row[6] -= value * a6
                    row[7] -= value * a7
    return total


def plane(listing, samples, prices, curvature, weights, memory, exchange, gate, k, number, lane):
    """Lane k's part of the best step β + a u + c v in the plane of the pass's displacement u and the step before it, v.

    As in `_dual_block.plane`; 1 if it is taken, −1 if a lane has left. A lane sees to its run of samples in β, where
    all labels count, and to its labels in W.
    """
    indptr, indices, values, _, kinds, _, _, offsets, _, _, _, _ = listing
    beta, Ws, _, moved, firsts = weights
    old, oldWs, step, stepWs, trial, trialWs, clipped = memory
    sums, lanes, width = lane.sums, len(Ws), Ws.shape[2]
    W, oldW, stepW, trialW, mine = Ws[k], oldWs[k], stepWs[k], trialWs[k], sums[k]
    run = samples[len(samples) * k // lanes : len(samples) * (k + 1) // lanes]
    along, across, size = 0.0, 0.0, 0.0
    for i in run:
        if moved[i] == 0:
            continue
        offset = offsets[kinds[i]]
        for m in range(lanes):
            for y in range(firsts[m + 1] - firsts[m]):
                o = offset[firsts[m] + y]
                size += abs(o) * beta[m, i, y]
                along += o * (beta[m, i, y] - old[m, i, y])
                across += o * step[m, i, y]
    uu, uv, vv, wu, wv, square = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(len(W)):
        for y in range(width):
            move, last = W[j, y] - oldW[j, y], stepW[j, y]
            uu += move * move
            uv += move * last
            vv += last * last
            wu += W[j, y] * move
            wv += W[j, y] * last
            square += W[j, y] * W[j, y]
    mine[0], mine[1], mine[2] = along - curvature * wu, across - curvature * wv, size
    mine[3], mine[4], mine[5], mine[6] = curvature * uu, curvature * uv, curvature * vv, curvature / 2.0 * square
    if exchange(gate, k, lanes, number + 1) == 0:
        return -1
    along, across, size, uu, uv, vv, value = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for m in range(lanes):
        along += sums[m, 0]
        across += sums[m, 1]
        size += sums[m, 2]
        uu += sums[m, 3]
        uv += sums[m, 4]
        vv += sums[m, 5]
        value += sums[m, 6]
    a, c, area = 0.0, 0.0, uu * vv - uv * uv
    if area > 1e-10 * uu * vv:
        a, c = (along * vv - across * uv) / area, (across * uu - along * uv) / area
    elif uu > 0.0:
        a = along / uu
    if not (abs(a) <= LONGEST and abs(c) <= LONGEST):
        a, c = 0.0, 0.0
    rise = 0.0
    for i in run:
        clipped[i] = 0
        if moved[i] == 0:
            continue
        offset, mass, less = offsets[kinds[i]], 0.0, False
        for m in range(lanes):
            for y in range(firsts[m + 1] - firsts[m]):
                at = beta[m, i, y] + a * (beta[m, i, y] - old[m, i, y]) + c * step[m, i, y]
                trial[m, i, y] = at
                less = less or at < 0.0
                mass += max(at, 0.0)
        clipped[i] = 1 if less or abs(mass - prices[i]) > DRIFT * prices[i] else 0
        share = prices[i] / mass if clipped[i] == 1 else 1.0
        for m in range(lanes):
            for y in range(firsts[m + 1] - firsts[m]):
                if clipped[i] == 1:
                    trial[m, i, y] = max(trial[m, i, y], 0.0) * share
                rise += offset[firsts[m] + y] * (trial[m, i, y] - beta[m, i, y])
    mine[7] = rise
    if exchange(gate, k, lanes, number + 2) == 0:
        return -1
    for j in range(len(W)):
        for y in range(width):
            trialW[j, y] = W[j, y] + a * (W[j, y] - oldW[j, y]) + c * stepW[j, y]
    for i in samples:
        if clipped[i] == 1:
            for y in range(firsts[k + 1] - firsts[k]):
                at = beta[k, i, y] + a * (beta[k, i, y] - old[k, i, y]) + c * step[k, i, y]
                move = (trial[k, i, y] - at) / curvature
                if move != 0.0:
                    for j in range(indptr[i], indptr[i + 1]):
                        trialW[indices[j], y] -= values[j] * move
    longer = 0.0
    for j in range(len(W)):
        for y in range(width):
            longer += trialW[j, y] * trialW[j, y]
    mine[8] = curvature / 2.0 * longer
    if exchange(gate, k, lanes, number + 3) == 0:
        return -1
    rise, tried = 0.0, 0.0
    for m in range(lanes):
        rise += sums[m, 7]
        tried += sums[m, 8]
    better = rise - (tried - value) > LEAST * (size + abs(value))
    for i in run:
        if moved[i] == 0:
            continue
        moved[i] = BEFORE if better else moved[i] // NOW
        for m in range(lanes):
            for y in range(width):
                if better:
                    beta[m, i, y] = trial[m, i, y]
                step[m, i, y] = beta[m, i, y] - old[m, i, y]
                old[m, i, y] = beta[m, i, y]
    for j in range(len(W)):
        for y in range(width):
            if better:
                W[j, y] = trialW[j, y]
            stepW[j, y] = W[j, y] - oldW[j, y]
            oldW[j, y] = W[j, y]
    return 1 if better else 0


def climb(
    busy, shuffled, sweep, plane, listing, samples, order, seed, mark, most, prices, curvature, weights, memory,
    exchange, gate, k, number, lane,
):  # fmt: skip
    """Lane k's part of the sweeps of a pass and of its step in the plane; 1 if that is taken, else 0.

    2 says that `most` sweeps are made, and −1 that a lane has left.
    mark (5,), of all lanes: how many samples the last sweep visited, the gap that they met, the gap at which sweeps
    end, and how many sweeps are left; then how many are to be visited next.
    """
    while most > 0:
        if k == 0:
            count = 0
            if mark[0] > 0 and mark[1] > mark[2] and mark[3] > 0:
                count = busy(order[: int(mark[0])], weights.gap, mark[1])
                shuffled(order, count, seed)
            mark[4] = count
        number += 1
        if exchange(gate, k, len(weights.W), number) == 0:
            return -1
        count = int(mark[4])
        if count == 0:
            return plane(listing, samples, prices, curvature, weights, memory, exchange, gate, k, number, lane)
        met = sweep(listing, order, count, prices, curvature, weights, exchange, gate, k, number, lane)
        number, most = number + count, most - 1
        if k == 0:
            mark[0], mark[1], mark[3] = count, met, mark[3] - 1.0
    return 2


def score(listing, samples, prices, part, share, keep, weights, desk, exchange, gate, k, number, lane):
    """A thread's part of the scores at W and at its mean, and of what they tell; the gap at W of its run of samples.

    part : (5,) the lane whose scores it computes; the first and the last of the places of `samples` that it scores, and
        of the rows of W whose squares it sums up, the last ones excluded
    The mean moves by `share` towards W; the mean before goes to desk.best if `keep` is 1. weights.gap takes in what
    each sample's visit would meet. −1 if a thread has left.
    """
    indptr, indices, values, _, kinds, truths, _, offsets, _, _, _, _ = listing
    beta, Ws, gaps, _, firsts = weights
    scores, mean_scores, means, bests = desk
    m, sums, threads = part[0], lane.sums, len(lane.sums)
    W, mean, best, mine, own_scores, own_means = Ws[m], means[m], bests[m], sums[k], scores[m], mean_scores[m]
    width, square, mean_square = W.shape[1], 0.0, 0.0
    rows, lines = W.reshape(len(W), width // LINE, LINE), own_scores.reshape(len(own_scores), width // LINE, LINE)
    for j in range(part[3], part[4]):
        for y in range(width):
            before, at = mean[j, y], W[j, y]
            if keep == 1:
                best[j, y] = before
            after = before + share * (at - before)
            mean[j, y] = after
            square += at * at
            mean_square += after * after
    for i in samples[part[1] : part[2]]:
        row, other = own_scores[i], own_means[i]
        for b in range(len(lines[i])):
            a0, a1, a2, a3, a4, a5, a6, a7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for j in range(indptr[i], indptr[i + 1]):
                value, column = values[j], rows[indices[j], b]
                a0 += value * column[0]
                a1 += value * column[1]
                a2 += value * column[2]
                a3 += value * column[3]
                a4 += value * column[4]
                a5 += value * column[5]
                a6 += value * column[6]
                a7 += value * column[7]
            line = lines[i, b]
            line[0], line[1], line[2], line[3] = a0, a1, a2, a3
            line[4], line[5], line[6], line[7] = a4, a5, a6, a7
        for y in range(width):
            other[y] += share * (row[y] - other[y])
    if exchange(gate, k, threads, number + 1) == 0:
        return -1.0
    total, risk, mean_risk, held_offset = 0.0, 0.0, 0.0, 0.0
    for i in samples[len(samples) * k // threads : len(samples) * (k + 1) // threads]:
        kind, price = kinds[i], prices[i]
        t, at = truths[kind], 0
        while t >= firsts[at + 1]:
            at += 1
        own, own_mean = scores[at, i, t - firsts[at]], mean_scores[at, i, t - firsts[at]]
        highest, highest_mean, held = 0.0, 0.0, 0.0
        for m in range(len(firsts) - 1):
            for y in range(firsts[m + 1] - firsts[m]):
                weight, offset = beta[m, i, y], offsets[kind, firsts[m] + y]
                height = offset + scores[m, i, y] - own
                highest = max(highest, height)
                highest_mean = max(highest_mean, offset + mean_scores[m, i, y] - own_mean)
                held += weight * height
                held_offset += weight * offset
        gaps[i] = price * highest - held
        total += gaps[i]
        risk += price * highest
        mean_risk += price * highest_mean
    mine[0], mine[1], mine[2], mine[3], mine[4], mine[5] = total, risk, mean_risk, held_offset, square, mean_square
    return total
