"""The loops of the ascent for single labels (crammer_singer.py), where lanes of inputs may work side by side.

The p inputs are dealt out to L lanes in runs, which as many threads see to, or one thread to all: a lane adds up
⟨W_y, x_i⟩ over its inputs, and moves the rows of W that belong to them. `parts` (n, L + 1) says which entries of a
sample are whose.

One lane visits one sample after another. Several lanes visit eight at a time: each lane tells its parts of their scores
to the others (`exchange`, arithmetic/meeting.py). One of them adds up those of a sample in the order of the lanes,
moves its β_i, and tells the move, with which each lane moves its own rows of W. The result depends on L, and on no
thread's speed. Nobody writes scores or moves before all have read those of the visit before, since another exchange
lies between. Before it waits for the others, a lane does what it can: it asks for the rows of later visits, and applies
to its rows of W the moves that it has computed itself.

All moves of a visit start from the same W, where each move m raises D by μ/2 ‖m‖² at least. So two moves m and m' raise
D by

    μ/2 (‖m‖² + ‖m'‖²) − μ ⟨m, m'⟩ = μ/2 ‖m − m'‖² ≥ 0

at least. Eight may lower D where their samples are alike. So lanes visit eight at a time as long as each sweep of a
pass meets a smaller gap than the sweep before, and half as many, though two at least, after a sweep that does not.

Plain loops within numba's subset. A function that calls another takes it as an argument.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from workbench.arithmetic.lines import LINE
from workbench.contracts import Ints
from workbench.solvers._dual_block import DRIFT, LEAST, LONGEST
from workbench.solving.block_ascent.crammer_singer_tables import PAIR

MERSENNE = 2**31 - 1
BEFORE, NOW = 1, 2  # bits
CACHED = 100_000  # entries, up to which the nearest caches hold them, so that none is asked for early
EARLY = 3  # visits before its own, at which a sample's row and weights are asked for
SOONER = 8  # the same of several lanes


def alone(count: int) -> tuple[Callable[..., int], Ints, Callable[[Ints], None]]:
    """`exchange` of one thread, a gate, and `leave`, as `machine.exchange` says them of compiled threads."""
    return lambda gate, k, count, number: 1, np.zeros(1, np.int64), lambda gate: None


def claimed(gate):
    """`claim` where nothing is compiled."""
    gate[0] += 1
    return gate[0] - 1


def silent(gate, k, number):
    """`say` where nothing is compiled."""


def nothing(indices, values, parts, order, first, last, lane, until, table):
    """`ahead` where nothing is compiled."""


def meetings(count, exchange, gate, k, number, lane):
    """Thread k's part of so many exchanges, and nothing else; −1 if a thread has left."""
    for each in range(count):
        if exchange(gate, k, len(lane.told), number + each + 1) == 0:
            return -1.0
    return 0.0


def cleared(arrays, exchange, gate, k, number, lane):
    """Thread k's part of zeros for these arrays; the system finds their memory for all threads at a time."""
    threads = len(lane.sums)
    for each in arrays:
        each[len(each) * k // threads : len(each) * (k + 1) // threads] = 0


def copied(found, given, exchange, gate, k, number, lane):
    """Thread k's part of copies of the arrays `given` in `found`."""
    threads = len(lane.sums)
    for each, other in zip(found, given, strict=True):
        run = slice(len(each) * k // threads, len(each) * (k + 1) // threads)
        each[run] = other[run]


def labelled(W, found, exchange, gate, k, number, lane):
    """Thread k's part of found (labels, p) = Wᵀ, label by label: its run of inputs."""
    threads, (labels, inputs) = len(lane.sums), found.shape
    run = slice(inputs * k // threads, inputs * (k + 1) // threads)
    found[:, run] = W[run, :labels].T


def shuffled(order, count, seed):
    """The first `count` places of `order` shuffled by x ← 48271 x mod 2³¹ − 1 (Park, Miller, Stockmeyer 1993)."""
    for a in range(count):
        seed[0] = seed[0] * 48271 % MERSENNE
        b = a + seed[0] * (count - a) // MERSENNE
        i = order[b]
        order[b], order[a] = order[a], i


@cache
def sweeping(several):
    """The sweep of several lanes, or of one, whose visits are faster where the compiler knows that there is one."""

    def sweep(
        scored, pushed, ahead, say, listing, order, count, group, crew, prices, curvature, weights,
        exchange, gate, k, number, space,
    ):  # fmt: skip
        """Thread k's part of visits to the first `count` samples of `order`; False if a thread has left.

        Each visit leaves the gap that it met in weights.gap.

        group : how many samples several lanes visit at a time, at least 2
        crew : how many threads see to the lanes, one a lane, or 1 to all of them
        number : of exchanges before; at most `count` and one come here
        """
        _, indices, values, square, kinds, truths, _, offsets, _, _, _, _ = listing
        beta, table, gaps, moved, parts = weights
        height, start, _, told, moves, _ = space
        lanes, labels, width, place = len(told), offsets.shape[1], table.shape[1], 0
        blocks = width // LINE
        W, lines = table.reshape(len(table), blocks, LINE), told.reshape(lanes, told.shape[1], blocks, LINE)
        last = lanes if several else 1
        until = k + 1 if crew > 1 else last
        asked, early = count if len(values) > CACHED else 0, SOONER if several else EARLY
        steps = moves.reshape(len(moves), moves.shape[1] // LINE, LINE)
        while place < count:
            some = min(group, count - place) if several else 1
            for lane in range(k, last, crew):
                scored(indices, values, parts, order, place, some, lane, lane + 1, W, lines[lane])
            if several:
                number += 1
                say(gate, k, number)
            ahead(indices, values, parts, order, place + early, min(place + early + some, asked), k, until, beta)
            if several and exchange(gate, k, crew, number) == 0:
                return False
            for g in range(k, some, crew):
                i = order[place + g]
                kind, price, q = kinds[i], prices[i], square[i] / curvature
                for y in range(labels):
                    height[y], start[y] = told[0, g, y], beta[i, y]
                for m in range(1, lanes):
                    for y in range(labels):
                        height[y] += told[m, g, y]
                own_score, highest, held = height[truths[kind]], 0.0, 0.0
                for y in range(labels):
                    height[y] += offsets[kind, y] - own_score
                    highest = max(highest, height[y])
                    held += start[y] * height[y]
                gaps[i] = price * highest - held
                if gaps[i] <= 0.0:
                    for y in range(labels):
                        moves[g, y] = 0.0
                    continue
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
                        height[y] = max(height[y] - level, 0.0)
                else:
                    best = 0
                    for y in range(labels):
                        best = y if height[y] > height[best] else best
                    for y in range(labels):
                        height[y] = price if y == best else 0.0
                moved[i] |= NOW
                for y in range(labels):
                    beta[i, y] = height[y]
                    moves[g, y] = (height[y] - start[y]) / curvature
            if several:
                number += 1
                say(gate, k, number)
            for lane in range(k, last, crew):
                pushed(indices, values, parts, order, place, lane, some, lanes, lane, lane + 1, steps, W)
            if several and exchange(gate, k, crew, number) == 0:
                return False
            for lane in range(k, last, crew):
                for other in range(last):
                    if other != lane:
                        pushed(indices, values, parts, order, place, other, some, lanes, lane, lane + 1, steps, W)
            place += some
        return True

    return sweep


def plane(pushed, listing, samples, prices, curvature, weights, memory, exchange, gate, k, number, lane):
    """Lane k's part of the best step β + a u + c v in the plane of the pass's displacement u and the step before it, v.

    As in `_dual_block.plane`; 1 if it is taken, −1 if a lane has left. A lane sees to its run of samples in β and to as
    many rows of W as the others, but where a step is clipped, to its part of the sample. W on trial takes the place of
    the step before it.
    """
    _, indices, values, _, kinds, _, _, offsets, _, _, _, _ = listing
    beta, W, _, moved, parts = weights
    old, oldW, step, stepW, trial, clipped = memory
    sums, lanes, labels, width = lane.sums, len(lane.told), offsets.shape[1], W.shape[1]
    mine, run = sums[k], samples[len(samples) * k // lanes : len(samples) * (k + 1) // lanes]
    low, high = len(W) * k // lanes, len(W) * (k + 1) // lanes
    blocks, back = width // LINE, lane.height
    rows = stepW.reshape(len(W), blocks, LINE)
    along, across, size = 0.0, 0.0, 0.0
    for i in run:
        if moved[i] == 0:
            continue
        offset = offsets[kinds[i]]
        for y in range(labels):
            o = offset[y]
            size += abs(o) * beta[i, y]
            along += o * (beta[i, y] - old[i, y])
            across += o * step[i, y]
    uu, uv, vv, wu, wv, square = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(low, high):
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
        for y in range(labels):
            at = beta[i, y] + a * (beta[i, y] - old[i, y]) + c * step[i, y]
            trial[i, y] = at
            less = less or at < 0.0
            mass += max(at, 0.0)
        clipped[i] = 1 if less or abs(mass - prices[i]) > DRIFT * prices[i] else 0
        share = prices[i] / mass if clipped[i] == 1 else 1.0
        for y in range(labels):
            if clipped[i] == 1:
                trial[i, y] = max(trial[i, y], 0.0) * share
            rise += offset[y] * (trial[i, y] - beta[i, y])
    for j in range(low, high):
        for y in range(width):
            stepW[j, y] = W[j, y] + a * (W[j, y] - oldW[j, y]) + c * stepW[j, y]
    mine[7] = rise
    if exchange(gate, k, lanes, number + 2) == 0:
        return -1
    for place in range(len(samples)):
        i = samples[place]
        if clipped[i] == 1:
            for y in range(labels):
                at = beta[i, y] + a * (beta[i, y] - old[i, y]) + c * step[i, y]
                back[y] = (trial[i, y] - at) / curvature
            pushed(indices, values, parts, samples, place, 0, 1, 1, k, k + 1, back.reshape(1, blocks, LINE), rows)
    if exchange(gate, k, lanes, number + 3) == 0:
        return -1
    longer = 0.0
    for j in range(low, high):
        for y in range(width):
            longer += stepW[j, y] * stepW[j, y]
    mine[8] = curvature / 2.0 * longer
    if exchange(gate, k, lanes, number + 4) == 0:
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
        for y in range(labels):
            if better:
                beta[i, y] = trial[i, y]
            step[i, y] = beta[i, y] - old[i, y]
            old[i, y] = beta[i, y]
    for j in range(low, high):
        for y in range(width):
            if better:
                W[j, y] = stepW[j, y]
            stepW[j, y] = W[j, y] - oldW[j, y]
            oldW[j, y] = W[j, y]
    return 1 if better else 0


def climb(
    busy, shuffled, scored, pushed, ahead, say, sweep, plane, listing, samples, order, seed, mark, most, crew, prices,
    curvature, weights, memory, exchange, gate, k, number, lane,
):  # fmt: skip
    """Thread k's part of the sweeps of a pass and of its step in the plane; 1 if that is taken, else 0.

    2 says that `most` visits are made, 3 that the step is left to threads for all lanes, and −1 that a thread has left.
    crew : how many threads there are, one a lane, or 1
    mark (8,), of all lanes: how many samples the last sweep visited, the gap that they met, the gap at which sweeps
    end, and how many sweeps are left; how many are to be visited next; 1 if a step in the plane follows, else 0; how
    many samples are visited at a time; and the gap that the last sweep of this pass met, ∞ before the first.
    """
    while most > 0:
        if k == 0:
            count = 0
            if mark[0] > 0 and mark[1] > mark[2] and mark[3] > 0:
                count = busy(order[: int(mark[0])], weights.gap, mark[1])
                shuffled(order, count, seed)
            mark[4] = count
        number += 1
        if exchange(gate, k, crew, number) == 0:
            return -1
        count = int(mark[4])
        if count == 0:
            if mark[5] == 0.0:
                return 0
            if crew < len(lane.told):
                return 3
            return plane(pushed, listing, samples, prices, curvature, weights, memory, exchange, gate, k, number, lane)
        place = listing, order, count, int(mark[6]), crew, prices, curvature, weights
        if not sweep(scored, pushed, ahead, say, *place, exchange, gate, k, number, lane):
            return -1
        number, most = number + count + 2, most - count
        if exchange(gate, k, crew, number) == 0:  # all are through with `order` as it was
            return -1
        if k == 0:
            met = 0.0  # lanes do not read the others' gaps, which would have to come from another core
            for i in order[:count]:
                met += weights.gap[i]
            mark[6] = mark[6] if met < mark[7] else max(PAIR, mark[6] // 2)
            mark[0], mark[1], mark[3], mark[7] = count, met, mark[3] - 1.0, met
    return 2


def score(scored, claim, listing, samples, prices, share, weights, desk, exchange, gate, k, number, lane):
    """A thread's part of the scores at W and at its mean, and of what they tell: runs of samples and of rows of W.

    A thread takes the next run when it is through with one, so that a slow one takes fewer. The mean moves by `share`
    towards W. weights.gap takes in what each sample's visit would meet. The sums of run r go to desk.sums[r].
    """
    _, indices, values, _, kinds, truths, _, offsets, _, _, _, _ = listing
    beta, W, gaps, _, parts = weights
    mean_scores, mean, sums = desk
    runs, labels, width, last = len(sums), offsets.shape[1], W.shape[1], parts.shape[1] - 1
    found, rows = lane.scores, W.reshape(len(W), width // LINE, LINE)
    lines = found.reshape(len(found), width // LINE, LINE)
    run = claim(gate)
    while run < runs:
        square, mean_square, total, risk, mean_risk, held_offset = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(len(W) * run // runs, len(W) * (run + 1) // runs):
            for y in range(width):
                before, at = mean[j, y], W[j, y]
                after = before + share * (at - before)
                mean[j, y] = after
                square += at * at
                mean_square += after * after
        place, end = len(samples) * run // runs, len(samples) * (run + 1) // runs
        while place < end:
            some = min(len(found), end - place)
            scored(indices, values, parts, samples, place, some, 0, last, rows, lines)
            for g in range(some):
                i = samples[place + g]
                row, other, kind, price = found[g], mean_scores[i], kinds[i], prices[i]
                for y in range(width):
                    other[y] += share * (row[y] - other[y])
                own, own_mean = row[truths[kind]], other[truths[kind]]
                highest, highest_mean, held = 0.0, 0.0, 0.0
                for y in range(labels):
                    weight, o = beta[i, y], offsets[kind, y]
                    height = o + row[y] - own
                    highest = max(highest, height)
                    highest_mean = max(highest_mean, o + other[y] - own_mean)
                    held += weight * height
                    held_offset += weight * o
                gaps[i] = price * highest - held
                total += gaps[i]
                risk += price * highest
                mean_risk += price * highest_mean
            place += some
        mine = sums[run]
        mine[0], mine[1], mine[2], mine[3], mine[4], mine[5] = total, risk, mean_risk, held_offset, square, mean_square
        run = claim(gate)
    return 0.0
