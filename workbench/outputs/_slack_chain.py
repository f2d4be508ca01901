"""The kernel of slack rescaling on chains: `_viterbi.slack_viterbi` for one sequence, and slopes times their loss.

    h_i(w) = max_y ℓ_i(y)(1 + ⟨w, φ(x_i, y) − φ(x_i, y_i)⟩)
    V_t(b, e) = θ_t(b) + max_a V_{t−1}(a, e − c_t(b)) + ⟨A_ab, f_t⟩

Plain loops within numba's subset; ties as in `_viterbi`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.contracts import Floats, Ints


def argmax_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """h_i(w), its witness into `out` (width,)."""
    _, levels, most, (offsets, indptr, columns, values, truth, scale, stride, edges, gaps) = data
    first, length, k, q = offsets[i], offsets[i + 1] - offsets[i], levels.shape[0], gaps.shape[1]
    A, step = theta[edges:].reshape((k, k, q)), np.zeros((length, k, k))
    best, scores = np.full((length, most[i] + 1, k), -np.inf), np.zeros(k)
    arrived = np.zeros(k)
    own, top = 0.0, 0
    for t in range(length):
        label, before = truth[first + t], top
        scores[:] = 0.0
        for j in range(indptr[first + t], indptr[first + t + 1]):
            column, value = columns[j], values[j]
            for b in range(k):
                scores[b] += theta[column + b * stride] * value
        own += scores[label]
        if t > 0:
            for a in range(k):
                for b in range(k):
                    for j in range(q):
                        step[t, a, b] += A[a, b, j] * gaps[first + t, j]
            own += step[t, truth[first + t - 1], label]
        for b in range(k):
            top = max(top, before + levels[label, b])
        for e in range(before + 1):
            if t == 0:
                arrived[:] = 0.0
            else:
                arrived[:] = -np.inf
                for a in range(k):
                    reached = best[t - 1, e, a]
                    if reached > -np.inf:
                        for b in range(k):
                            arrived[b] = max(arrived[b], reached + step[t, a, b])
            for b in range(k):
                best[t, e + levels[label, b], b] = max(best[t, e + levels[label, b], b], arrived[b] + scores[b])
    here, level, value = 0, 0, -np.inf
    for e in range(top + 1):
        highest, label = -np.inf, 0
        for b in range(k):
            if best[length - 1, e, b] > highest:
                highest, label = best[length - 1, e, b], b
        if highest > -np.inf and e * scale[i] * (1.0 - own + highest) > value:
            here, level, value = label, e, e * scale[i] * (1.0 - own + highest)
    out[:] = -1
    out[length - 1] = here
    for t in range(length - 1, 0, -1):
        level -= levels[truth[first + t], here]
        previous, highest = 0, -np.inf
        for a in range(k):
            score = best[t - 1, level, a] + step[t, a, here]
            if score > highest:
                previous, highest = a, score
        here = previous
        out[t - 1] = here
    return value


def add_slope(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
    """θ += scale · ℓ_i(out) (φ(x_i, out) − φ(x_i, y_i))."""
    inner, levels, _, (offsets, _, _, _, truth, share, _, _, _) = data
    cost = 0
    for t in range(offsets[i + 1] - offsets[i]):
        cost += levels[truth[offsets[i] + t], out[t]]
    if cost > 0:
        inner[2](inner[0], i, out, scale * cost * share[i], theta)


def slope_into(data: Any, i: int, out: Ints, indices: Ints, values: Floats) -> int:
    """The entries of the same slope into (indices, values); their number."""
    inner, levels, _, (offsets, _, _, _, truth, share, _, _, _) = data
    cost = 0
    for t in range(offsets[i + 1] - offsets[i]):
        cost += levels[truth[offsets[i] + t], out[t]]
    if cost == 0:
        return 0
    count = inner[3](inner[0], i, out, indices, values)
    for j in range(count):
        values[j] *= cost * share[i]
    return count


def parts_into(data: Any, i: int, base: Ints, out: Ints, parts: Ints, offsets: Floats) -> int:
    """The parts of margin rescaling, whose losses are the offsets here, too, and `out`: slack cuts do not add up."""
    inner, levels, _, (starts, _, _, _, truth, share, _, _, _) = data
    count, cost = inner[7](inner[0], i, base, out, parts, offsets), 0
    if count == 0:
        return 0
    for t in range(parts.shape[1]):
        parts[count, t] = out[t]
    for t in range(starts[i + 1] - starts[i]):
        cost += levels[truth[starts[i] + t], out[t]]
    offsets[count] = cost * share[i]
    return count + 1


def reads_into(data: Any, i: int, indices: Ints) -> int:
    """What the kernel of margin rescaling reads."""
    return data[0][5](data[0][0], i, indices)
