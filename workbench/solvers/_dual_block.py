"""The loops of `dual_block`: sweeps over a pool of cached cuts (_pool.py), and the step in a plane.

Plain loops within numba's subset, which share nothing but their arguments, so that threads may call them side by side.
A function that calls another takes it as an argument.
"""

from __future__ import annotations

import numpy as np

LONGEST = 1e3  # lengths of u and v in a plane step; a longer one would magnify their rounding errors
DRIFT = 1e-14  # relative; weights that miss their price by more are rescaled: plane steps magnify what they miss
MOMENTS = 8  # of a pass at which θ enters the mean
LEAST = 1e-13  # by how much of its own size D has to rise in the plane: less may be rounding


def sweep(
    argmax_into, slope_into, parts_into, insert, place_of, asked, data, order, asking, steps, settled,
    prices, curvature, pool, desk, extras, theta,
):  # fmt: skip
    """Visits the samples in `order`, asking the oracle first if `asking`; how many visits were made.

    Fewer than `order` asks for says that the pool has no room for the next cut. A visit makes at most
    `steps` pairwise steps; desk.met takes in what the visit found.
    """
    count, member = pool.count, pool.member
    offset, weight, idle = pool.offset, pool.weight, pool.idle
    parent, first, last, index, value = pool.parent, pool.first, pool.last, pool.index, pool.value
    row, product = pool.row, pool.product
    score, height, start, change = desk.score, desk.height, desk.start, desk.change
    metric, pull, floor, push = extras.metric, extras.pull, extras.floor, extras.push
    plain, top = len(theta) - len(push), 0.0
    for visit in range(len(order)):
        i = order[visit]
        m = count[i]
        if m == 1 and not asking:
            continue
        if asking:
            top = asked(argmax_into, slope_into, parts_into, insert, place_of, data, i, theta, pool, desk)
            if top == -np.inf:
                return visit
            m = count[i]
        own = 0.0
        for a in range(m):
            r, s, z = member[i, a], 0.0, 0.0
            if parent[r] >= 0:
                s = score[parent[r]]
            odd = (last[r] - first[r]) % 2
            if odd > 0:
                z = value[first[r]] * theta[index[first[r]]]
            for k in range(first[r] + odd, last[r], 2):
                s += value[k] * theta[index[k]]
                z += value[k + 1] * theta[index[k + 1]]
            s += z
            score[a], height[a], start[a] = s, s + offset[r], weight[r]
            own += height[a] * weight[r]
        highest = height[0]
        for a in range(m):
            highest = max(highest, height[a])
        if asking:
            highest = max(highest, top)
        desk.met[0] += prices[i] * highest - own
        if asking:
            desk.met[1] += prices[i] * highest
            desk.met[2] = max(desk.met[2], highest)
        least = 0.0
        for _ in range(steps):
            high, low = 0, -1
            for a in range(m):
                if height[a] > height[high]:
                    high = a
                if weight[member[i, a]] > 0.0 and (low < 0 or height[a] < height[low]):
                    low = a
            rise = height[high] - height[low]
            if rise <= least:
                break
            least = max(least, settled * rise)
            plus, minus = member[i, high], member[i, low]
            cross = product[row[plus] + low] if low < high else product[row[minus] + high]
            curve = (product[row[plus] + high] - 2.0 * cross + product[row[minus] + low]) / curvature
            move = weight[minus]
            if curve * move > rise:
                move = rise / curve
                weight[minus] -= move
            else:
                weight[minus] = 0.0
            weight[plus] += move
            desk.met[3] += move * (rise - curve * move / 2.0)
            fall = move / curvature
            for a in range(m):
                other = row[member[i, a]]
                gained = product[row[plus] + a] if a < high else product[other + high]
                lost = product[row[minus] + a] if a < low else product[other + low]
                height[a] -= fall * (gained - lost)
        for a in range(m):
            r = member[i, a]
            change[a] = weight[r] - start[a]
            if weight[r] > 0.0:
                idle[r] = 0
            elif asking:
                idle[r] += 1
        for a in range(m - 1, -1, -1):
            r = member[i, a]
            if change[a] != 0.0:
                if parent[r] >= 0:
                    change[parent[r]] += change[a]
                step = change[a] / curvature
                for k in range(first[r], last[r]):
                    j = index[k]
                    if j < plain:
                        theta[j] -= step * value[k]
                    else:
                        push[j - plain] += change[a] * value[k]
                        theta[j] = max((pull[j - plain] - push[j - plain]) / metric[j - plain], floor[j - plain])
    return len(order)


def risk(argmax_into, data, samples, prices, theta, answer):
    """Σ_i p_i h_i at θ."""
    total = 0.0
    for a in range(len(samples)):
        total += prices[samples[a]] * argmax_into(data, theta, samples[a], answer)
    return total


def turn(
    argmax_into, slope_into, parts_into, insert, place_of, asked, sweep, proposed, plane, retie, projected,
    data, orders, worth, steps, settled, prices, curvature, pool, point, desk, extras, mark,
):  # fmt: skip
    """One pass in orders[0], then cached sweeps in the others while D rises as fast as in all of this turn; 1 if done.

    A pass takes as long as `worth` cached sweeps. 0 says that the pool has no room for the next cut, 2 that
    mark[4] visits are made; mark (6,) then tells where to go on: the sweep, the visit, the gap of the pass, the rise of
    D before this sweep, and the moments that point.total adds up. These are MOMENTS in the pass and the ends of sweeps.
    A step in the plane follows every sweep. Where θ is longer than the pool, only the last sweep has either.
    """
    met, theta, fresh, most, total = desk.met, point.theta, True, int(mark[4]), point.total
    left = most
    while int(mark[0]) < len(orders):
        number, visit = int(mark[0]), int(mark[1])
        asking, short = number == 0, len(theta) <= len(pool.index)
        if visit == 0:
            if fresh:
                plain = len(theta) - len(extras.push)
                for r in range(len(pool.weight)):
                    pool.before[r] = pool.weight[r]
                for j in range(len(theta)):
                    point.before[j] = theta[j] if j < plain else extras.push[j - plain]
            met[0], met[3] = 0.0, 0.0
            if asking:
                met[1], met[2], mark[3], mark[5] = 0.0, -np.inf, 0.0, 0.0
                total[:] = 0.0
        piece = min(left, orders.shape[1] // MOMENTS + 1) if asking and short else left
        order = orders[number, visit : visit + piece]
        done = sweep(
            argmax_into, slope_into, parts_into, insert, place_of, asked, data, order, asking, steps, settled,
            prices, curvature, pool, desk, extras, theta,
        )  # fmt: skip
        if visit + done < orders.shape[1]:
            mark[1], left = mark[1] + done, left - done
            if done < len(order):
                return 0
            if left == 0:
                return 2
            mark[5] += 1.0
            total += theta
            continue
        left = most
        if len(extras.simplex) > 0:
            retie(projected, extras)
        if asking:
            mark[2] = met[0]
        last = number + 1 == len(orders)
        fresh = last or len(theta) <= pool.used[1]
        if fresh:
            plane(proposed, prices, curvature, pool, point, desk, extras)
            if len(extras.simplex) > 0:
                retie(projected, extras)
        mark[3] += met[3]
        if not asking and not last and met[3] * (worth + number) < mark[3]:
            last = True
            if not fresh:
                plane(proposed, prices, curvature, pool, point, desk, extras)
                fresh = True
        if fresh:
            mark[5] += 1.0
            total += theta
        mark[0], mark[1] = len(orders) if last else number + 1, 0.0
    return 1


def plane(proposed, prices, curvature, pool, point, desk, extras):
    """The best step β + a u + c v in the plane of the sweep's displacement u and the step before it, v.

    D is quadratic, so (a, c) solves two equations. Extra entries above their floor count as a part of the quadratic D.
    Taken if D rises, which it tells; v becomes β minus `before` in any case.
    """
    used, offset, weight = pool.used, pool.offset, pool.weight
    before, step, trial = pool.before, pool.step, pool.trial
    theta, old, previous, tried = point.theta, point.before, point.step, point.trial
    metric, pull, floor, push = extras.metric, extras.pull, extras.floor, extras.push
    plain, along, across, size = len(theta) - len(push), 0.0, 0.0, 0.0
    for r in range(used[0]):
        size += abs(offset[r]) * weight[r]
        along += offset[r] * (weight[r] - before[r])
        across += offset[r] * step[r]
    uu, uv, vv, square = 0.0, 0.0, 0.0, 0.0
    for j in range(plain):
        move = theta[j] - old[j]
        uu += move * move
        uv += move * previous[j]
        vv += previous[j] * previous[j]
        square += theta[j] * theta[j]
        along -= curvature * theta[j] * move
        across -= curvature * theta[j] * previous[j]
    value_now = curvature / 2.0 * square
    for j in range(len(push)):
        at, move, past = theta[plain + j], push[j] - old[plain + j], previous[plain + j]
        along += at * move
        across += at * past
        if at != 0.0:
            value_now += (pull[j] - push[j]) * at - metric[j] / 2.0 * at * at
        if at > floor[j]:
            uu += move * move / metric[j] / curvature
            uv += move * past / metric[j] / curvature
            vv += past * past / metric[j] / curvature
    a, c, area = 0.0, 0.0, uu * vv - uv * uv
    if area > 1e-10 * uu * vv:
        a = (along * vv - across * uv) / area / curvature
        c = (across * uu - along * uv) / area / curvature
    elif uu > 0.0:
        a = along / uu / curvature
    if not (abs(a) <= LONGEST and abs(c) <= LONGEST):
        a, c = 0.0, 0.0
    for j in range(plain):
        tried[j] = theta[j] + a * (theta[j] - old[j]) + c * previous[j]
    for j in range(len(push)):
        tried[plain + j] = push[j] + a * (push[j] - old[plain + j]) + c * previous[plain + j]
    rise = proposed(prices, curvature, a, c, pool, desk, plain, tried)
    longer, value_then = 0.0, 0.0
    for j in range(plain):
        longer += tried[j] * tried[j]
    for j in range(len(push)):
        at = max((pull[j] - tried[plain + j]) / metric[j], floor[j])
        if at != 0.0:
            value_then += (pull[j] - tried[plain + j]) * at - metric[j] / 2.0 * at * at
    value_then += curvature / 2.0 * longer
    rise -= value_then - value_now
    better = rise > LEAST * (size + abs(value_now))
    if better:
        desk.met[3] += rise
        for r in range(used[0]):
            weight[r] = trial[r]
        for j in range(plain):
            theta[j] = tried[j]
        for j in range(len(push)):
            push[j] = tried[plain + j]
            theta[plain + j] = max((pull[j] - push[j]) / metric[j], floor[j])
    for r in range(used[0]):
        step[r] = weight[r] - before[r]
    for j in range(plain):
        previous[j] = theta[j] - old[j]
    for j in range(len(push)):
        previous[plain + j] = push[j] - old[plain + j]
    return 1 if better else 0


def proposed(prices, curvature, a, c, pool, desk, plain, tried):
    """Weights β + a u + c v on trial, which add to `tried` what clipping does to θ and the push; Σ_r o_r by how much.

    Samples whose weights would turn negative are clipped and rescaled to their price, as are those that have drifted.
    """
    count, member, offset = pool.count, pool.member, pool.offset
    parent, first, last, index, value = pool.parent, pool.first, pool.last, pool.index, pool.value
    weight, before, step, trial, change = pool.weight, pool.before, pool.step, pool.trial, desk.change
    rise = 0.0
    for i in range(len(count)):
        mass, clipped, m = 0.0, False, count[i]
        for k in range(m):
            r = member[i, k]
            trial[r] = weight[r] + a * (weight[r] - before[r]) + c * step[r]
            clipped = clipped or trial[r] < 0.0
            mass += max(trial[r], 0.0)
        if clipped or abs(mass - prices[i]) > DRIFT * prices[i]:
            for k in range(m):
                r = member[i, k]
                share = max(trial[r], 0.0) * (prices[i] / mass)
                change[k], trial[r] = share - trial[r], share
            for k in range(m - 1, -1, -1):
                r = member[i, k]
                if change[k] != 0.0:
                    if parent[r] >= 0:
                        change[parent[r]] += change[k]
                    shift = change[k] / curvature
                    for z in range(first[r], last[r]):
                        if index[z] < plain:
                            tried[index[z]] -= shift * value[z]
                        else:
                            tried[index[z]] += change[k] * value[z]
        for k in range(m):
            r = member[i, k]
            rise += offset[r] * (trial[r] - weight[r])
    return rise


def repack(slope_into, insert, moved_in, data, patience, curvature, same, old, new, desk, extras, theta):
    """Copy each sample's first cut, those with weight, and those idle for at most `patience` visits; 1 if they fit.

    θ is computed anew, free of the rounding errors of its many moves. A cut whose parent stays is nearest to it still,
    and moves as it is.
    same : 1 if inner products are what they were, 0 if the extra entries weigh in them otherwise by now
    """
    push, plain = extras.push, len(theta) - len(extras.push)
    kept, known = np.zeros(old.member.shape[1], np.int64), desk.height
    now = np.zeros(old.member.shape[1], np.int64)  # where a cut stands, −1 if it is gone
    for j in range(len(theta)):
        theta[j] = 0.0
    for j in range(len(push)):
        push[j] = 0.0
    for i in range(len(old.count)):
        for a in range(old.count[i]):
            r, now[a] = old.member[i, a], -1
            if a == 0 or old.weight[r] > 0.0 or old.idle[r] <= patience:
                m, above = new.count[i], old.parent[r]
                if same == 1 and m < len(known):
                    kept[m] = a
                    for b in range(m + 1):
                        known[b] = old.product[old.row[r] + kept[b]]
                above = now[above] if above >= 0 else -1
                if same == 1 and m < len(known) and (above >= 0 or old.parent[r] < 0):
                    place = moved_in(old, r, above, i, new, known)
                else:
                    place = insert(slope_into, data, i, old.witness[r], new, desk, known[: same * (m + 1)])
                if place < 0:
                    return 0
                s, now[a] = new.member[i, place], place
                new.offset[s], new.weight[s], new.idle[s] = old.offset[r], old.weight[r], old.idle[r]
                desk.change[place] = old.weight[r]
        for a in range(new.count[i] - 1, -1, -1):
            r, change = new.member[i, a], desk.change[a]
            if change != 0.0:
                if new.parent[r] >= 0:
                    desk.change[new.parent[r]] += change
                step = change / curvature
                for k in range(new.first[r], new.last[r]):
                    j = new.index[k]
                    if j < plain:
                        theta[j] -= step * new.value[k]
                    else:
                        push[j - plain] += change * new.value[k]
    for j in range(len(push)):
        theta[plain + j] = max((extras.pull[j] - push[j]) / extras.metric[j], extras.floor[j])
    return 1
