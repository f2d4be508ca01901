"""Pairwise models one sample at a time: the loops behind the kernels of `Graph` and `Tree`, in numba's subset.

    best_tree   θ_v(a) and θ_e(a, b) as gains. Max-sum from the leaves to the roots:
                V_u(a) = θ_u(a) + Σ_{children v} max_b V_v(b) + θ_uv(a, b), then back; O(V K²)
    best_cut    θ_v(0), θ_v(1), and for each edge (u, v) what is lost where (y_u, y_v) = (1, 0) and where (0, 1), ≥ 0.
                The labelling of greatest Σ_v θ_v(y_v) − losses is a minimum cut: with c_v = θ_v(1) − θ_v(0), nodes of
                c_v > 0 are fed from the source, of c_v < 0 drained to the sink; 1 is the source's side

The flow: shortest augmenting paths, a blocking flow a phase (Dinic 1970), with sources and sinks kept as excesses of
nodes, > 0 and < 0. Gains are put on a grid so coarse, (x + L) − L with L four times all capacities, that no sum
or difference rounds: the cut is a minimum one for the gains on the grid, and of whole gains whose capacities sum to
less than 2⁵⁰ it is exactly one. `cap` and `excess` are left as the flow leaves them: Σ_v (excess_v)₊ is what the cut
wins over y = 0, and bounds every labelling (outputs/_graph/exact.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.contracts import Floats, Ints


def best_tree(data: Any, gains: Any, i: int, out: Ints) -> Any:
    """The greatest score of a labelling of sample i, and one into `out` (width,); of ties the lowest labels."""
    starts, order, above, link, k, pairs, best = data
    first, size = starts[i], starts[i + 1] - starts[i]
    out[:] = -1
    for j in range(first * k, (first + size) * k):
        best[j] = gains[j]
    for t in range(size):
        v = order[first + t]
        u, own = above[first + v], (first + v) * k
        if u >= 0:
            table = pairs + link[first + v] * k * k
            for a in range(k):
                top = best[own] + gains[table + a * k]
                for b in range(1, k):
                    top = max(top, best[own + b] + gains[table + a * k + b])
                best[(first + u) * k + a] += top
    value = gains[first * k] - gains[first * k]
    for t in range(size - 1, -1, -1):
        v = order[first + t]
        u, own = above[first + v], (first + v) * k
        table = pairs + link[first + v] * k * k + out[u] * k
        label, top = 0, best[own] + gains[table] if u >= 0 else best[own]
        for b in range(1, k):
            here = best[own + b] + gains[table + b] if u >= 0 else best[own + b]
            if here > top:
                label, top = b, here
        out[v] = label
        if u < 0:
            value += top
    return value


def best_cut(data: Any, gains: Floats, i: int, out: Ints) -> float:
    """The greatest Σ_v θ_v(y_v) − losses of sample i, and a labelling of it into `out` (width,)."""
    starts, ends, first_arc, head, back, edges, losses, cap, excess = data
    base, size = starts[i], starts[i + 1] - starts[i]
    total = 0.0
    for v in range(base, base + size):
        excess[v] = gains[2 * v + 1] - gains[2 * v]
        total += abs(excess[v])
    for e in range(2 * ends[i], 2 * ends[i + 1]):
        total += gains[losses + e]
    lift = 4.0 * total
    for v in range(base, base + size):
        excess[v] = (excess[v] + lift) - lift
        for a in range(first_arc[v], first_arc[v + 1]):
            cap[a] = (gains[losses + edges[a]] + lift) - lift
    level, turn = np.full(size, -1), np.zeros(size, np.int64)
    queue, path = np.zeros(size, np.int64), np.zeros(size + 1, np.int64)
    while True:
        count, found = 0, False
        level[:] = -1
        for v in range(size):
            turn[v] = first_arc[base + v]
            if excess[base + v] > 0.0:
                level[v] = 0
                queue[count] = v
                count += 1
        reached = 0
        while reached < count:
            v = queue[reached]
            reached += 1
            for a in range(first_arc[base + v], first_arc[base + v + 1]):
                if cap[a] > 0.0 and level[head[a]] < 0:
                    level[head[a]] = level[v] + 1
                    found = found or excess[base + head[a]] < 0.0
                    queue[count] = head[a]
                    count += 1
        if not found:
            break
        for source in range(size):
            here, depth = source, 0
            while excess[base + source] > 0.0:
                if excess[base + here] < 0.0:
                    amount = min(excess[base + source], -excess[base + here])
                    for s in range(depth):
                        amount = min(amount, cap[path[s]])
                    for s in range(depth):
                        cap[path[s]] -= amount
                        cap[back[path[s]]] += amount
                    excess[base + source] -= amount
                    excess[base + here] += amount
                    here, depth = source, 0
                    continue
                while turn[here] < first_arc[base + here + 1]:
                    a = turn[here]
                    if cap[a] > 0.0 and level[head[a]] == level[here] + 1:
                        break
                    turn[here] += 1
                if turn[here] < first_arc[base + here + 1]:
                    path[depth] = turn[here]
                    here = head[turn[here]]
                    depth += 1
                elif depth > 0:
                    depth -= 1
                    here = head[back[path[depth]]]
                    turn[here] += 1
                else:
                    break
    out[:] = -1
    value = 0.0
    for v in range(size):
        out[v] = 1 if level[v] >= 0 else 0
        value += gains[2 * (base + v) + out[v]]
    for v in range(size):
        for a in range(first_arc[base + v], first_arc[base + v + 1]):
            if out[v] == 1 and out[head[a]] == 0:
                value -= gains[losses + edges[a]]
    return float(value)


def tree_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """h_i(w) of a `Tree`, its witness into `out`."""
    inner, gains, starts, ends, indptr, indices, values, edges, pairs, truth, cost, scale, table, p, _ = data
    k, q, nodes = cost.shape[0], pairs.shape[1], starts[len(starts) - 1]
    own = 0.0
    for v in range(starts[i], starts[i + 1]):
        for a in range(k):
            score = 0.0
            for j in range(indptr[v], indptr[v + 1]):
                score += theta[a * p + indices[j]] * values[j]
            own += score if a == truth[v] else 0.0
            gains[v * k + a] = score + cost[truth[v], a] * scale[i]
    for e in range(ends[i], ends[i + 1]):
        for c in range(k * k):
            score = 0.0
            for j in range(q):
                score += theta[k * p + c * q + j] * pairs[e, j]
            gains[nodes * k + e * k * k + c] = score
        kind = table[truth[starts[i] + edges[e, 0]], truth[starts[i] + edges[e, 1]]]
        own += gains[nodes * k + e * k * k + kind]
    return inner[1](inner[0], gains, i, out) - own


def cut_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """h_i(w) of a `Graph` of two labels, its witness into `out`."""
    inner, gains, starts, ends, indptr, indices, values, edges, pairs, truth, cost, scale, _, p, _ = data
    q, nodes = pairs.shape[1], starts[len(starts) - 1]
    own, together = 0.0, 0.0
    for v in range(starts[i], starts[i + 1]):
        for a in range(2):
            score = 0.0
            for j in range(indptr[v], indptr[v + 1]):
                score += theta[a * p + indices[j]] * values[j]
            own += score if a == truth[v] else 0.0
            gains[2 * v + a] = score + cost[truth[v], a] * scale[i]
    for e in range(ends[i], ends[i + 1]):
        score = 0.0
        for j in range(q):
            score += theta[2 * p + j] * pairs[e, j]
        score = max(score, 0.0)
        together += score
        gains[2 * nodes + 2 * e], gains[2 * nodes + 2 * e + 1] = score, score
        if truth[starts[i] + edges[e, 0]] == truth[starts[i] + edges[e, 1]]:
            own += score
    return inner[1](inner[0], gains, i, out) + together - own


def add_slope(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
    """θ += scale · (φ(x_i, out) − φ(x_i, y_i)), in place."""
    _, _, starts, ends, indptr, indices, values, edges, pairs, truth, cost, _, table, p, _ = data
    k, q, first = cost.shape[0], pairs.shape[1], starts[i]
    for v in range(first, starts[i + 1]):
        label, other = truth[v], out[v - first]
        if label != other:
            for j in range(indptr[v], indptr[v + 1]):
                theta[other * p + indices[j]] += scale * values[j]
                theta[label * p + indices[j]] -= scale * values[j]
    for e in range(ends[i], ends[i + 1]):
        u, v = edges[e, 0], edges[e, 1]
        kind, other = table[truth[first + u], truth[first + v]], table[out[u], out[v]]
        if kind != other:
            for j in range(q):
                if other >= 0:
                    theta[k * p + other * q + j] += scale * pairs[e, j]
                if kind >= 0:
                    theta[k * p + kind * q + j] -= scale * pairs[e, j]


def slope_into(data: Any, i: int, out: Ints, places: Ints, entries: Floats) -> int:
    """The entries of φ(x_i, out) − φ(x_i, y_i) into (places, entries); their number. Equal places are summed."""
    _, _, starts, ends, indptr, indices, values, edges, pairs, truth, cost, _, table, p, d = data
    k, q, first = cost.shape[0], pairs.shape[1], starts[i]
    for j in range(d):
        places[j], entries[j] = j, 0.0
    for v in range(first, starts[i + 1]):
        label, other = truth[v], out[v - first]
        if label != other:
            for j in range(indptr[v], indptr[v + 1]):
                entries[other * p + indices[j]] += values[j]
                entries[label * p + indices[j]] -= values[j]
    for e in range(ends[i], ends[i + 1]):
        u, v = edges[e, 0], edges[e, 1]
        kind, other = table[truth[first + u], truth[first + v]], table[out[u], out[v]]
        if kind != other:
            for j in range(q):
                if other >= 0:
                    entries[k * p + other * q + j] += pairs[e, j]
                if kind >= 0:
                    entries[k * p + kind * q + j] -= pairs[e, j]
    return d


def add_labelling(data: Any, i: int, out: Ints, scale: float, gains: Floats) -> None:
    """gains += scale where `best_tree` reads them for the labelling `out`."""
    starts, _, above, link, k, pairs, _ = data
    first = starts[i]
    for v in range(starts[i + 1] - first):
        gains[(first + v) * k + out[v]] += scale
        if above[first + v] >= 0:
            gains[pairs + link[first + v] * k * k + out[above[first + v]] * k + out[v]] += scale


def add_side(data: Any, i: int, out: Ints, scale: float, gains: Floats) -> None:
    """gains += scale where `best_cut` reads them for the labelling `out`, − scale for losses."""
    starts, _, first_arc, head, _, edges, losses, _, _ = data
    base = starts[i]
    for v in range(starts[i + 1] - base):
        gains[2 * (base + v) + out[v]] += scale
        for a in range(first_arc[base + v], first_arc[base + v + 1]):
            if out[v] == 1 and out[head[a]] == 0:
                gains[losses + edges[a]] -= scale
