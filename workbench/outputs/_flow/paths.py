"""Best disjoint paths through a graph in time order: the loops behind `Flow`'s kernel.

Every node is split into in → out; source and sink are one node, so paths are a circulation with capacities 1. With
gains g of entries, exits, detections and links, match the `out` of a node with the `in` of what follows:

    out_j – in_k  gains  g_jk − g_exit,j − g_entry,k          j goes on to k
    out_j – in_j  gains  −(g_entry,j + g_node,j + g_exit,j)   j is left out

These gains are added to Σ_j (g_entry + g_node + g_exit)_j, the weight where each detection is a track of its own. Sets
of disjoint paths are the matchings of that sparse bipartite graph, one to one, and the weights agree. Node potentials
are its covers u, v ≥ 0 with u_j + v_k ≥ gain of out_j – in_k: whatever found them, base + Σu + Σv bounds every
circulation. The search is that of `outputs/_matching_kernel.py`, over lists of links in place of tables: shortest
augmenting paths, one detection after the other in time order. Most searches end within a few detections, so
one more track seldom costs a pass over the whole sequence.

Gains are put on a grid so coarse that sums and differences are exact in floats: (g + L) − L with L = 8 max g.
On whole numbers (outputs/_flow/exact.py) the same text runs, and the grid changes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.contracts import Floats, Ints


def best_paths(data: Any, gains: Floats, i: int, out: Ints) -> Any:
    """The weight of the best paths of sample i at these gains (R,) of all arcs. Writes to `out` what follows each node.

    Leaves in the scratch arrays `u`, `v` the cover, `edges` the gains of the matching.
    """
    starts, first, heads, edges, u, v, reached, entered = data
    base, size = starts[i], starts[i + 1] - starts[i]
    zero = gains[first[base]] - gains[first[base]]
    value, highest = zero, zero
    for j in range(size):
        row = first[base + j]
        value += gains[row] + gains[row + 1] + gains[row + 2]
        edges[row + 2] = -(gains[row] + gains[row + 1] + gains[row + 2])
        highest = max(highest, edges[row + 2])
        for e in range(row + 3, first[base + j + 1]):
            edges[e] = gains[e] - gains[row + 1] - gains[first[base + heads[e]]]
            highest = max(highest, edges[e])
        u[j], v[j], reached[j] = zero, zero, np.inf
    lift = highest * 8
    for e in range(first[base], first[base + size]):
        edges[e] = (max(edges[e], zero) + lift) - lift

    mate, parent, settled = np.full(size, -1), np.full(size, -1), np.zeros(size, np.bool_)
    touched, inside = np.full(size, -1), np.full(size + 1, -1)
    out[:] = -1
    for new in range(size):
        for e in range(first[base + new] + 2, first[base + new + 1]):
            u[new] = max(u[new], edges[e] - v[heads[e]])
        row, here, column, leaver, length = new, zero, -1, new, u[new]
        near, steps = 0, 0
        while length > here:
            inside[steps], entered[steps] = row, here
            steps += 1
            if here + u[row] < length:
                leaver, length = row, here + u[row]
            for e in range(first[base + row] + 2, first[base + row + 1]):
                k = heads[e]
                if edges[e] > zero and not settled[k]:
                    distance = here + ((u[row] + v[k]) - edges[e])
                    if reached[k] == np.inf:
                        touched[near] = k
                        near += 1
                    if distance < reached[k]:
                        reached[k], parent[k] = distance, row
            column, nearest = -1, length
            for s in range(near):
                k = touched[s]
                if not settled[k] and reached[k] < nearest:
                    column, nearest = k, reached[k]
            if column < 0:
                break
            if mate[column] < 0:
                length = nearest
                break
            settled[column] = True
            row, here = mate[column], nearest
        for s in range(steps):
            u[inside[s]] -= length - entered[s]
        for s in range(near):
            k = touched[s]
            if settled[k]:
                v[k] += length - reached[k]
            reached[k], settled[k] = np.inf, False
        if column < 0:
            column = out[leaver]
            out[leaver] = -1
        while column >= 0:
            row = parent[column]
            former = out[row]
            out[row], mate[column] = column, row
            column = former

    for j in range(size):
        row = first[base + j]
        if out[j] == j:
            value -= gains[row] + gains[row + 1] + gains[row + 2]
        elif out[j] >= 0:
            e = row + 3
            while heads[e] != out[j]:
                e += 1
            value += gains[e] - gains[row + 1] - gains[first[base + out[j]]]
    return value


def add_paths(data: Any, i: int, out: Ints, scale: float, gains: Floats) -> None:
    """gains += scale on every arc of the paths `out`."""
    starts, first, heads, _, _, _, _, _ = data
    base, size = starts[i], starts[i + 1] - starts[i]
    begins = np.ones(size, np.bool_)
    for j in range(size):
        if out[j] >= 0:
            begins[out[j]] = False
    for j in range(size):
        row = first[base + j]
        if out[j] != j:
            gains[row + 2] += scale
            if begins[j]:
                gains[row] += scale
            if out[j] < 0:
                gains[row + 1] += scale
            else:
                e = row + 3
                while heads[e] != out[j]:
                    e += 1
                gains[e] += scale


def argmax_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """h_i(w) = max_y ℓ_i(y) + ⟨w, φ(x_i, y)⟩ − ⟨w, φ(x_i, y_i)⟩, its witness into `out` (width,)."""
    paths, gains, indptr, indices, values, extra, truth, _, _ = data
    starts, first = paths[0][0], paths[0][1]
    begin, end = first[starts[i]], first[starts[i + 1]]
    for row in range(begin, end):
        score = extra[row]
        for e in range(indptr[row], indptr[row + 1]):
            score += theta[indices[e]] * values[e]
        gains[row] = score
    own = 0.0
    for row in range(begin, end):
        if truth[row] > 0.0:
            own += gains[row]
    return paths[1](paths[0], gains, i, out) - own


def add_slope(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
    """θ += scale · (φ(x_i, out) − φ(x_i, y_i)), in place; arcs that both have are skipped."""
    paths, _, indptr, indices, values, _, truth, change, _ = data
    begin, end = paths[0][1][paths[0][0][i]], paths[0][1][paths[0][0][i + 1]]
    for row in range(begin, end):
        change[row] = -truth[row]
    paths[2](paths[0], i, out, 1.0, change)
    for row in range(begin, end):
        if change[row] != 0.0:
            for e in range(indptr[row], indptr[row + 1]):
                theta[indices[e]] += scale * change[row] * values[e]


def slope_into(data: Any, i: int, out: Ints, indices: Ints, values: Floats) -> int:
    """The entries of φ(x_i, out) − φ(x_i, y_i) into (indices, values); their number. Equal indices are summed."""
    paths, _, indptr, columns, entries, _, truth, change, d = data
    begin, end = paths[0][1][paths[0][0][i]], paths[0][1][paths[0][0][i + 1]]
    for row in range(begin, end):
        change[row] = -truth[row]
    paths[2](paths[0], i, out, 1.0, change)
    for j in range(d):
        indices[j], values[j] = j, 0.0
    for row in range(begin, end):
        if change[row] != 0.0:
            for e in range(indptr[row], indptr[row + 1]):
                values[columns[e]] += change[row] * entries[e]
    return d
