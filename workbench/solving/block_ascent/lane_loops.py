"""The loop of one lane (lanes.py): its share of a pass and of the cached sweeps, meeting the other lanes all the time.

A plain loop within numba's subset; N threads run one each. A function that calls another takes it as an argument.
"""

from __future__ import annotations

import numpy as np

from workbench.solvers._dual_block import LEAST, LONGEST, MOMENTS

# Where a lane goes on: the sweep, its round, the visits of this round, whether the sweep has begun, its rise of D, the
# rise of the sweeps before it, the gap that the pass met, the half of the table that comes next, and the moments that
# point.total adds up.
SWEEP, ROUND, VISITS, BEGUN, RISE, TOTAL, MET, NEXT, MOMENT = range(9)
APART = 24  # numbers that hold a lane's mark: three lines of the cache, so that no two lanes write to one line
VISIT, CUT = 60, 30  # entries of cuts that a visit takes as long as, besides those of its cuts; and each of its cuts
PART = 300  # the same of a part of the output that the oracle finds
EVEN = 0.2  # of what the lanes' rises add up to; a round that raises D by less is taken in part


def weighed(pool, asking, work):
    """How long a visit of each sample takes, in entries of θ: that of its cached cuts, and of the oracle if `asking`.

    An oracle takes the longer the more parts an output has, padding (−1) aside.
    """
    for i in range(len(work)):
        work[i] = 0
        if pool.count[i] > 1 or (asking and pool.count[i] > 0):
            work[i] = VISIT + CUT * pool.count[i]
            for a in range(pool.count[i]):
                r = pool.member[i, a]
                work[i] += pool.last[r] - pool.first[r]
            if asking:
                for part in pool.witness[pool.member[i, 0]]:
                    work[i] += PART * (part >= 0)


def dealt(order, work, ends):
    """ends (rounds + 1,): where rounds end that take equally long; they begin where the one before ends."""
    total, done, number, rounds = 0, 0, 1, len(ends) - 1
    for visit in range(len(order)):
        total += work[order[visit]]
    for visit in range(len(order)):
        done += work[order[visit]]
        while number < rounds and done * rounds >= total * number:
            ends[number] = visit + 1
            number += 1
    ends[0], ends[rounds] = 0, len(order)


def joined(one, two, own, moved):
    """⟨m₁, m₂⟩ of the moves m = θ − own of two lanes, whose sum goes to `moved`.

    Four sums side by side take a fourth of the time of one.
    """
    length, s0, s1, s2, s3 = len(own), 0.0, 0.0, 0.0, 0.0
    even = length - length % 4
    for j in range(0, even, 4):
        a0, a1, a2, a3 = one[j] - own[j], one[j + 1] - own[j + 1], one[j + 2] - own[j + 2], one[j + 3] - own[j + 3]
        b0, b1, b2, b3 = two[j] - own[j], two[j + 1] - own[j + 1], two[j + 2] - own[j + 2], two[j + 3] - own[j + 3]
        s0 += b0 * a0
        s1 += b1 * a1
        s2 += b2 * a2
        s3 += b3 * a3
        moved[j], moved[j + 1], moved[j + 2], moved[j + 3] = a0 + b0, a1 + b1, a2 + b2, a3 + b3
    for j in range(even, length):
        a0, b0 = one[j] - own[j], two[j] - own[j]
        s0 += b0 * a0
        moved[j] = a0 + b0
    return (s0 + s1) + (s2 + s3)


def added(other, own, moved):
    """⟨m, moved⟩ of the move m = θ − own of another lane, which is added to `moved`."""
    length, s0, s1, s2, s3 = len(own), 0.0, 0.0, 0.0, 0.0
    even = length - length % 4
    for j in range(0, even, 4):
        m0, m1, m2, m3 = (
            other[j] - own[j], other[j + 1] - own[j + 1], other[j + 2] - own[j + 2], other[j + 3] - own[j + 3],
        )  # fmt: skip
        s0 += m0 * moved[j]
        s1 += m1 * moved[j + 1]
        s2 += m2 * moved[j + 2]
        s3 += m3 * moved[j + 3]
        moved[j] += m0
        moved[j + 1] += m1
        moved[j + 2] += m2
        moved[j + 3] += m3
    for j in range(even, length):
        m0 = other[j] - own[j]
        s0 += m0 * moved[j]
        moved[j] += m0
    return (s0 + s1) + (s2 + s3)


def portion(arrived, own, moved, gains, curvature, met):
    """The share c = G/Q of the lanes' moves that raises D most; by how much, c G − c² Q/2, goes to met[3]."""
    alone, square = 0.0, 0.0
    for k in range(len(arrived)):
        for j in range(len(own)):
            alone += (arrived[k, j] - own[j]) ** 2
    for j in range(len(own)):
        square += moved[j] * moved[j]
    gains, square = gains + curvature / 2.0 * alone, curvature * square
    share = max(gains, 0.0) / square
    met[3] = share * gains - share * share * square / 2.0
    return share


def stepped(proposed, meet, gate, k, prices, curvature, pool, point, desk, table, own, sums):
    """The step of `_dual_block.plane`, where each lane sees to its cuts and to a part of θ; 0 if a lane has left.

    By how much D rises goes to met[3];  table (N, p): what clipping does to θ;  sums (N, 9): of the lanes
    """
    offset, weight, before, step, trial = pool.offset, pool.weight, pool.before, pool.step, pool.trial
    old, previous, tried, lanes, used = point.before, point.step, point.trial, len(table), pool.used[0]
    start, stop, mine = len(own) * k // lanes, len(own) * (k + 1) // lanes, sums[k]
    for s in range(len(mine)):
        mine[s] = 0.0
    for r in range(used):
        mine[0] += abs(offset[r]) * weight[r]
        mine[1] += offset[r] * (weight[r] - before[r])
        mine[2] += offset[r] * step[r]
    uu, uv, vv, square, along, across = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(start, stop):
        move = own[j] - old[j]
        uu += move * move
        uv += move * previous[j]
        vv += previous[j] * previous[j]
        square += own[j] * own[j]
        along += own[j] * move
        across += own[j] * previous[j]
    mine[1] -= curvature * along
    mine[2] -= curvature * across
    mine[3], mine[4], mine[5], mine[6] = uu, uv, vv, square
    if meet(gate, lanes) == 0:
        return 0
    size, along, across, uu, uv, vv, square = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for lane in range(lanes):
        size += sums[lane, 0]
        along += sums[lane, 1]
        across += sums[lane, 2]
        uu += sums[lane, 3]
        uv += sums[lane, 4]
        vv += sums[lane, 5]
        square += sums[lane, 6]
    a, c, area = 0.0, 0.0, uu * vv - uv * uv
    if area > 1e-10 * uu * vv:
        a = (along * vv - across * uv) / area / curvature
        c = (across * uu - along * uv) / area / curvature
    elif uu > 0.0:
        a = along / uu / curvature
    if not (abs(a) <= LONGEST and abs(c) <= LONGEST):
        a, c = 0.0, 0.0
    for j in range(len(own)):
        table[k, j] = 0.0
    mine[7] = proposed(prices, curvature, a, c, pool, desk, len(own), table[k])
    if meet(gate, lanes) == 0:
        return 0
    for j in range(start, stop):
        at = own[j] + a * (own[j] - old[j]) + c * previous[j]
        for lane in range(lanes):
            at += table[lane, j]
        tried[j] = at
        mine[8] += at * at
    if meet(gate, lanes) == 0:
        return 0
    rise, size = curvature / 2.0 * square, size + curvature / 2.0 * square
    for lane in range(lanes):
        rise += sums[lane, 7] - curvature / 2.0 * sums[lane, 8]
    better = rise > LEAST * size
    desk.met[3] = rise if better else 0.0
    for r in range(used):
        if better:
            weight[r] = trial[r]
        step[r] = weight[r] - before[r]
    for j in range(start, stop):
        previous[j] = (tried[j] if better else own[j]) - old[j]
    if better:
        for j in range(len(own)):
            own[j] = tried[j]
    return 1


def cross(
    argmax_into, slope_into, parts_into, insert, place_of, asked, sweep, proposed, meet, weighed, dealt, joined, added,
    portion, stepped, data, k, orders, ends, most, worth, steps, settled, prices, curvature, pool, desk, extras, point,
    table, own, moved, told, sums, work, mark, gate,
):  # fmt: skip
    """A pass in orders[0], then cached sweeps in the others while D rises as fast as in all of this turn; 1 if done.

    0 says that a lane's pool has no room for the next cut, 2 that `most` rounds are made, −1 that a lane has left.
    mark (APART,) of this lane tells where to go on, by the names at the top of this file.
    ends (rounds + 1,): see `dealt`;  work (n,): see `weighed`
    table (2, N, p): the θ at which lanes arrive, one half a round;  own, moved (p,): the common θ, and its move
    told (2, N, 2): a lane's rise of D in its round, and whether its pool is full;  sums (N, 9): see `stepped`
    """
    used, count, member, weight = pool.used, pool.count, pool.member, pool.weight
    before, trial, met = pool.before, pool.trial, desk.met
    lanes, rounds, left = table.shape[1], len(ends) - 1, most
    first, beyond = len(own) * k // lanes, len(own) * (k + 1) // lanes
    total = point.total[first:beyond]
    while int(mark[SWEEP]) < len(orders):
        number, half = int(mark[SWEEP]), int(mark[NEXT])
        asking = number == 0
        if mark[BEGUN] == 0.0:
            mark[BEGUN], mark[RISE], met[0] = 1.0, 0.0, 0.0
            for r in range(used[0]):
                before[r] = weight[r]
            point.before[first:beyond] = own[first:beyond]
            if number <= 1:
                weighed(pool, asking, work)
            dealt(orders[number], work, ends)
            if asking:
                met[1], met[2], mark[TOTAL], mark[MOMENT] = 0.0, -np.inf, 0.0, 0.0
                total[:] = 0.0
        start, stop = ends[int(mark[ROUND])] + int(mark[VISITS]), ends[int(mark[ROUND]) + 1]
        order, known, mine = orders[number, start:stop], used[0], table[half, k]
        for j in range(len(own)):
            mine[j] = own[j]
        for visit in range(len(order)):
            for a in range(count[order[visit]]):
                r = member[order[visit], a]
                trial[r] = weight[r]
        met[3] = 0.0
        done = sweep(
            argmax_into, slope_into, parts_into, insert, place_of, asked, data, order, asking, steps, settled,
            prices, curvature, pool, desk, extras, mine,
        )  # fmt: skip
        told[half, k, 0], told[half, k, 1] = met[3], 1.0 if done < len(order) else 0.0
        if meet(gate, lanes) == 0:
            return -1
        gains, full = 0.0, False
        for lane in range(lanes):
            gains += told[half, lane, 0]
            full = full or told[half, lane, 1] > 0.0
        across = joined(table[half, 0], table[half, 1], own, moved)
        for lane in range(2, lanes):
            across += added(table[half, lane], own, moved)
        rise, share = gains - curvature * across, 1.0
        if rise < EVEN * gains:
            share = portion(table[half], own, moved, gains, curvature, met)
            rise = met[3]
            for visit in range(done):
                for a in range(count[order[visit]]):
                    r = member[order[visit], a]
                    old = trial[r] if r < known else 0.0
                    weight[r] = old + share * (weight[r] - old)
        for j in range(len(own)):
            own[j] += share * moved[j]
        mark[RISE] += rise
        mark[NEXT] = 1.0 - half
        if full:
            mark[VISITS] += done
            return 0
        mark[ROUND] += 1.0
        mark[VISITS], left = 0.0, left - 1
        if int(mark[ROUND]) < rounds:
            if asking and int(mark[ROUND]) % (rounds // MOMENTS + 1) == 0:
                mark[MOMENT] += 1.0
                total += own[first:beyond]
            if left <= 0:
                return 2
            continue
        if asking:
            mark[MET] = met[0]
        if stepped(proposed, meet, gate, k, prices, curvature, pool, point, desk, table[0], own, sums) == 0:
            return -1
        mark[MOMENT] += 1.0
        total += own[first:beyond]
        rise = mark[RISE] + met[3]
        mark[TOTAL] += rise
        last = not asking and rise * (worth + number) < mark[TOTAL]
        mark[SWEEP], mark[ROUND], mark[BEGUN] = len(orders) if last else number + 1, 0.0, 0.0
    return 1
