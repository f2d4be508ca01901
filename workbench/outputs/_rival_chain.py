"""The kernel of unit margins on chains: `_viterbi.runner_up` for one sequence.

    h_i(w) = max(0, 1 + max_{y ≠ y_i} ⟨w, φ(x_i, y) − φ(x_i, y_i)⟩)

V_t(b) are labellings that have left the truth, U_t the truth's own score, as in `_viterbi`; so are ties. Plain loops
within numba's subset.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.contracts import Floats, Ints


def argmax_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """h_i(w), its witness into `out` (width,): the best rival, or the truth where that is farther than 1."""
    _, (offsets, indptr, columns, values, truth, stride, edges, gaps), k = data
    first, length, q = offsets[i], offsets[i + 1] - offsets[i], gaps.shape[1]
    A, step = theta[edges:].reshape((k, k, q)), np.zeros((length, k, k))
    best, own, scores = np.zeros((length, k)), np.zeros(length), np.zeros(k)
    for t in range(length):
        label = truth[first + t]
        scores[:] = 0.0
        for j in range(indptr[first + t], indptr[first + t + 1]):
            column, value = columns[j], values[j]
            for b in range(k):
                scores[b] += theta[column + b * stride] * value
        if t == 0:
            own[0] = scores[label]
            for b in range(k):
                best[0, b] = scores[b]
            best[0, label] = -np.inf
            continue
        before = truth[first + t - 1]
        for a in range(k):
            for b in range(k):
                for j in range(q):
                    step[t, a, b] += A[a, b, j] * gaps[first + t, j]
        for b in range(k):
            best[t, b] = own[t - 1] + step[t, before, b]
        best[t, label] = -np.inf
        for a in range(k):
            for b in range(k):
                best[t, b] = max(best[t, b], best[t - 1, a] + step[t, a, b])
        for b in range(k):
            best[t, b] += scores[b]
        own[t] = own[t - 1] + step[t, before, label] + scores[label]
    here, value, away = 0, -np.inf, True
    for b in range(k):
        if best[length - 1, b] > value:
            here, value = b, best[length - 1, b]
    out[:] = -1
    height = value - own[length - 1] + 1.0
    if not height > 0.0:
        for t in range(length):
            out[t] = truth[first + t]
        return 0.0
    out[length - 1] = here
    for t in range(length - 1, 0, -1):
        before = truth[first + t - 1]
        previous, highest = before, -np.inf
        if away:
            if here != truth[first + t]:
                highest = own[t - 1] + step[t, before, here]
            stay = False
            for a in range(k):
                score = best[t - 1, a] + step[t, a, here]
                if score > highest or (score == highest and not stay and score > -np.inf):
                    previous, highest, stay = a, score, True
            away = stay
        here = previous
        out[t - 1] = here
    return float(height)


def add_slope(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
    """That of margin rescaling."""
    data[0][2](data[0][0], i, out, scale, theta)


def slope_into(data: Any, i: int, out: Ints, indices: Ints, values: Floats) -> int:
    """That of margin rescaling."""
    return data[0][3](data[0][0], i, out, indices, values)


def reads_into(data: Any, i: int, indices: Ints) -> int:
    """What the kernel of margin rescaling reads."""
    return data[0][5](data[0][0], i, indices)


def parts_into(data: Any, i: int, base: Ints, out: Ints, parts: Ints, offsets: Floats) -> int:
    """The parts of margin rescaling, each at margin 1 but the truth, and `out`: margins do not add up."""
    inner, (starts, _, _, _, truth, _, _, _), _ = data
    count = inner[7](inner[0], i, base, out, parts, offsets)
    if count == 0:
        return 0
    for t in range(parts.shape[1]):
        parts[count, t] = out[t]
    for part in range(count + 1):
        offsets[part] = 0.0
        for t in range(starts[i + 1] - starts[i]):
            if parts[part, t] != truth[starts[i] + t]:
                offsets[part] = 1.0
    return count + 1
