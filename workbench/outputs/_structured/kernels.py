"""Margin rescaling over listed outputs as loops that numba compiles (contract: structures.Kernel).

A witness is the number of a row; the rows of sample i are rows[starts[i]:starts[i + 1]].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.contracts import Floats, Ints, Kernel


def argmax_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """max_y ℓ_i(y) − ⟨w, ψ_i(y)⟩; ties go to the output listed first, the truth."""
    starts, rows, truth, indptr, indices, values, losses = data
    best, own = -np.inf, 0.0
    for k in range(starts[i], starts[i + 1]):
        row = rows[k]
        score = 0.0
        for j in range(indptr[row], indptr[row + 1]):
            score += theta[indices[j]] * values[j]
        if row == truth[i]:
            own = score
        score += losses[row]
        if score > best:
            best, out[0] = score, row
    return best - own


def add_slope(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
    """θ += scale · (φ(x_i, out) − φ(x_i, y_i))."""
    _, _, truth, indptr, indices, values, _ = data
    if out[0] != truth[i]:
        for j in range(indptr[out[0]], indptr[out[0] + 1]):
            theta[indices[j]] += scale * values[j]
        for j in range(indptr[truth[i]], indptr[truth[i] + 1]):
            theta[indices[j]] -= scale * values[j]


def slope_into(data: Any, i: int, out: Ints, indices: Ints, values: Floats) -> int:
    """The entries of φ(x_i, out) − φ(x_i, y_i) into (indices, values); their number."""
    _, _, truth, indptr, columns, entries, _ = data
    count = 0
    if out[0] != truth[i]:
        for j in range(indptr[out[0]], indptr[out[0] + 1]):
            indices[count], values[count] = columns[j], entries[j]
            count += 1
        for j in range(indptr[truth[i]], indptr[truth[i] + 1]):
            indices[count], values[count] = columns[j], -entries[j]
            count += 1
    return count


def listed_kernel(listing: Any, augment: bool) -> Kernel:
    """The kernel of a `Listing`."""
    table = listing.table
    every = table.take(np.arange(len(table)))
    losses = table.losses.copy() if augment else np.zeros(len(table))
    data = (listing.starts, listing.rows, listing.truth, every.indptr.astype(np.int64), every.indices.astype(np.int64))
    return Kernel((*data, every.data, losses), argmax_into, add_slope, slope_into, 2 * table.longest)


def asked_kernel(problem: Any, augment: bool) -> Kernel:
    """A kernel that asks a problem's own functions, one sample at a time (never compiled)."""

    def argmax_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
        out[:] = problem.argmax(theta, np.array([i]), augment)[0]
        columns, values = problem.table.row(out[0])
        own, true = problem.table.row(i)
        loss = problem.table.losses[out[0]] if augment else 0.0
        return float(loss + values @ theta[columns] - true @ theta[own])

    def add_slope(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
        if out[0] != i:
            for row, sign in ((out[0], scale), (i, -scale)):
                columns, values = problem.table.row(row)
                theta[columns] += sign * values

    def slope_into(data: Any, i: int, out: Ints, indices: Ints, values: Floats) -> int:
        if out[0] == i:
            return 0
        (to, more), (fro, less) = problem.table.row(out[0]), problem.table.row(i)
        count = len(to) + len(fro)
        indices[:count], values[:count] = np.concatenate([to, fro]), np.concatenate([more, -less])
        return count

    return Kernel((), argmax_into, add_slope, slope_into, 2 * problem.n_features)
