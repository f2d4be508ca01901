"""Heaviest matchings one sample at a time: the loops behind `Matching`'s kernel, compiled where numba is installed.

For gains g (J, K) ≥ 0 the heaviest matching and the lightest cover are dual (docs/mathematics.md §3):

    max Σ_{(j,k)∈y} g_jk  =  min Σ_j u_j + Σ_k v_k    s.t.  u, v ≥ 0,  u_j + v_k ≥ g_jk

The Hungarian method keeps a cover (u, v) and a matching of which every link is tight, u_j + v_k = g_jk,
every free k has v_k = 0 and every free j that was visited u_j = 0. A new row j starts with the least
u_j that covers it; shortest paths in the slacks u_j + v_k − g_jk, one row after the other, find where its
u_j can be paid off: at a free k, or at a row that gives its link up. O(J² K) in all.

Gains are rounded to whole multiples of one unit so large that every sum and difference below is exact
in floats (`outputs/matching.py`); hence what is found is a heaviest matching of the rounded gains. Where the true
links are no matching (`outside`), they are the answer if they outweigh all matchings.
Source: Kuhn (1955), in the form of shortest augmenting paths (Jonker & Volgenant 1987).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.contracts import Floats, Ints

ITSELF = -2  # in a row: the true links of the sample, which are no matching


def argmax_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """h_i(w) = max_y ℓ_i(y) + ⟨w, φ(x_i, y)⟩ − ⟨w, φ(x_i, y_i)⟩, its witness into `out` (width,)."""
    starts, heights, widths, indptr, indices, values, gold, outside, plus, minus = data
    first, rows, columns = starts[i], heights[i], widths[i]
    gains, own, highest = np.zeros((rows, columns)), 0.0, 0.0
    for j in range(rows):
        for k in range(columns):
            edge, score = first + j * columns + k, 0.0
            for e in range(indptr[edge], indptr[edge + 1]):
                score += theta[indices[e]] * values[e]
            if gold[edge]:
                gains[j, k] = score - minus
                own += gains[j, k]
            else:
                gains[j, k] = score + plus
            highest = max(highest, gains[j, k])
    lift = 8.0 * highest
    rounded = np.zeros((rows, columns))
    for j in range(rows):
        for k in range(columns):
            rounded[j, k] = (max(gains[j, k], 0.0) + lift) - lift

    u, v, mate = np.zeros(rows), np.zeros(columns), np.full(columns, -1)
    out[:] = -1
    for new in range(rows):
        for k in range(columns):
            u[new] = max(u[new], rounded[new, k] - v[k])
        entered, reached = np.full(rows, np.inf), np.full(columns, np.inf)
        parent, settled = np.full(columns, -1), np.zeros(columns, np.bool_)
        row, here, column = new, 0.0, -1
        leaver, length = new, u[new]
        while True:
            entered[row] = here
            if here + u[row] < length:
                leaver, length = row, here + u[row]
            column, nearest = -1, np.inf
            for k in range(columns):
                if not settled[k]:
                    distance = here + ((u[row] + v[k]) - rounded[row, k])
                    if distance < reached[k]:
                        reached[k], parent[k] = distance, row
                    if reached[k] < nearest:
                        column, nearest = k, reached[k]
            if nearest >= length:
                column = -1
                break
            if mate[column] < 0:
                length = nearest
                break
            settled[column] = True
            row, here = mate[column], nearest
        for j in range(rows):
            if entered[j] < np.inf:
                u[j] -= length - entered[j]
        for k in range(columns):
            if settled[k]:
                v[k] += length - reached[k]
        if column < 0:
            column = out[leaver]
            out[leaver] = -1
        while column >= 0:
            row = parent[column]
            former = out[row]
            out[row], mate[column] = column, row
            column = former

    value = 0.0
    for j in range(rows):
        if out[j] >= 0 and rounded[j, out[j]] > 0.0:
            value += gains[j, out[j]]
        else:
            out[j] = -1
    if outside[i] and value < own:
        out[:rows] = ITSELF
        return 0.0
    return value - own


def add_slope(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
    """θ += scale · (φ(x_i, out) − φ(x_i, y_i)), in place; links that both have are skipped."""
    starts, heights, widths, indptr, indices, values, gold, _, _, _ = data
    for j in range(heights[i]):
        row, linked = starts[i] + j * widths[i], out[j]
        if linked >= 0 and not gold[row + linked]:
            for e in range(indptr[row + linked], indptr[row + linked + 1]):
                theta[indices[e]] += scale * values[e]
        for k in range(widths[i]):
            if gold[row + k] and linked != k and linked != ITSELF:
                for e in range(indptr[row + k], indptr[row + k + 1]):
                    theta[indices[e]] -= scale * values[e]


def slope_into(data: Any, i: int, out: Ints, indices: Ints, values: Floats) -> int:
    """The entries of φ(x_i, out) − φ(x_i, y_i) into (indices, values); their number. Equal indices add up."""
    starts, heights, widths, indptr, columns, entries, gold, _, _, _ = data
    count = 0
    for j in range(heights[i]):
        row, linked = starts[i] + j * widths[i], out[j]
        if linked >= 0 and not gold[row + linked]:
            for e in range(indptr[row + linked], indptr[row + linked + 1]):
                indices[count], values[count] = columns[e], entries[e]
                count += 1
        for k in range(widths[i]):
            if gold[row + k] and linked != k and linked != ITSELF:
                for e in range(indptr[row + k], indptr[row + k + 1]):
                    indices[count], values[count] = columns[e], -entries[e]
                    count += 1
    return count
