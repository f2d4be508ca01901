"""Max-sum over label sequences: the loops behind `Chain`, compiled where numba is installed.

A batch of m sequences is stored as its letters one after the other: `scores` (N, K) holds θ_t(b),
`offsets` (m + 1,) where each sequence starts, `transitions` (M, K, K) from previous to next label: M = 1, one A for
all gaps, or M = N, the A of the gap before each letter.

    viterbi         V_t(b) = θ_t(b) + max_a V_{t−1}(a) + A_ab                                O(T K²)
    slack_viterbi   V_t(b, e) = θ_t(b) + max_a V_{t−1}(a, e − c_t(b)) + A_ab,   O(T² K²) for 0/1 costs
                    then the level e of total cost that maximises ℓ(e) (1 − own + max_b V_T(b, e))
    runner_up       V_t(b) over the labellings that have left the truth, U_t the truth's own score:
                    V_t(b) = θ_t(b) + max(max_a V_{t−1}(a) + A_ab, [b ≠ y_t] (U_{t−1} + A_{y_{t−1} b}))   O(T K²)
    decode          the first two, in NumPy over all sequences at once: the route without numba

Ties. All four loops, and the kernel, choose the lowest last label, then, going backwards, the lowest
previous label; slack rescaling first chooses the lowest level e. No back-pointers are stored: the
backward pass searches again for the label that attained the maximum, on the same numbers.

Plain loops within numba's subset; sums are taken in one fixed order, so a compiled and an
interpreted call agree to the last bit. Source: Viterbi (1967); the level state is docs/mathematics.md §2's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.contracts import Floats, Ints


def argmax_into(data: Any, theta: Floats, i: int, out: Ints) -> float:
    """h_i(w) = max_y ℓ_i(y) + ⟨w, φ(x_i, y)⟩ − ⟨w, φ(x_i, y_i)⟩, its witness into `out` (width,)."""
    offsets, indptr, columns, values, truth, cost, scale, stride, edges = data
    first, length, k = offsets[i], offsets[i + 1] - offsets[i], cost.shape[0]
    transitions = theta[edges:].reshape((k, k))
    best, arrived = np.zeros((length, k)), np.zeros(k)
    own = 0.0
    for t in range(length):
        scores, label = best[t], truth[first + t]
        for j in range(indptr[first + t], indptr[first + t + 1]):
            column, value = columns[j], values[j]
            for b in range(k):
                scores[b] += theta[column + b * stride] * value
        if t > 0:
            own = own + transitions[truth[first + t - 1], label]
            arrived[:] = -np.inf
            for a in range(k):
                before, step = best[t - 1, a], transitions[a]
                for b in range(k):
                    arrived[b] = max(arrived[b], before + step[b])
        own = own + scores[label]
        for b in range(k):
            scores[b] = arrived[b] + (scores[b] + cost[label, b] * scale[i])
    here, value = 0, -np.inf
    for b in range(k):
        if best[length - 1, b] > value:
            here, value = b, best[length - 1, b]
    out[:] = -1
    out[length - 1] = here
    for t in range(length - 1, 0, -1):
        previous, highest = 0, -np.inf
        for a in range(k):
            score = best[t - 1, a] + transitions[a, here]
            if score > highest:
                previous, highest = a, score
        here = previous
        out[t - 1] = here
    return value - own


def add_slope(data: Any, i: int, out: Ints, scale: float, theta: Floats) -> None:
    """θ += scale · (φ(x_i, out) − φ(x_i, y_i)), in place; letters labelled alike are skipped."""
    offsets, indptr, columns, values, truth, cost, _, stride, edges = data
    first, k = offsets[i], cost.shape[0]
    for t in range(offsets[i + 1] - first):
        label, other = truth[first + t], out[t]
        if label != other:
            for j in range(indptr[first + t], indptr[first + t + 1]):
                theta[other * stride + columns[j]] += scale * values[j]
                theta[label * stride + columns[j]] -= scale * values[j]
        if t > 0 and (label != other or truth[first + t - 1] != out[t - 1]):
            theta[edges + out[t - 1] * k + other] += scale
            theta[edges + truth[first + t - 1] * k + label] -= scale


def slope_into(data: Any, i: int, out: Ints, indices: Ints, values: Floats) -> int:
    """The entries of φ(x_i, out) − φ(x_i, y_i) into (indices, values); their number. Equal indices add up."""
    offsets, indptr, columns, entries, truth, cost, _, stride, edges = data
    first, k, count = offsets[i], cost.shape[0], 0
    for t in range(offsets[i + 1] - first):
        label, other = truth[first + t], out[t]
        if label != other:
            for j in range(indptr[first + t], indptr[first + t + 1]):
                indices[count], values[count] = other * stride + columns[j], entries[j]
                indices[count + 1], values[count + 1] = label * stride + columns[j], -entries[j]
                count += 2
        if t > 0 and (label != other or truth[first + t - 1] != out[t - 1]):
            indices[count], values[count] = edges + out[t - 1] * k + other, 1.0
            indices[count + 1], values[count + 1] = edges + truth[first + t - 1] * k + label, -1.0
            count += 2
    return count


def parts_into(data: Any, i: int, base: Ints, out: Ints, parts: Ints, offsets: Floats) -> int:
    """The labellings that are `out` on one run of positions where `base` differs, and their losses; none of one run."""
    start, _, _, _, truth, cost, scale, _, _ = data
    first, length, count = start[i], start[i + 1] - start[i], 0
    for t in range(length):
        if base[t] == out[t]:
            continue
        if t == 0 or base[t - 1] == out[t - 1]:
            for s in range(parts.shape[1]):
                parts[count, s] = base[s]
            count += 1
        parts[count - 1, t] = out[t]
    for part in range(count):
        offsets[part] = 0.0
        for t in range(length):
            offsets[part] += cost[truth[first + t], parts[part, t]] * scale[i]
    return count if count > 1 else 0


def reads_into(data: Any, i: int, indices: Ints) -> int:
    """The letter weights that sample i's features meet, of every label, and all transitions; their number."""
    offsets, indptr, columns, _, _, cost, _, stride, edges = data
    k, count = cost.shape[0], 0
    for label in range(k):
        for j in range(indptr[offsets[i]], indptr[offsets[i + 1]]):
            indices[count] = label * stride + columns[j]
            count += 1
    for pair in range(k * k):
        indices[count] = edges + pair
        count += 1
    return count


def viterbi(scores: Floats, transitions: Floats, offsets: Ints, out: Ints) -> None:
    """The best labelling of every sequence of a batch into `out` (m, width), prefilled with −1."""
    k = scores.shape[1]
    best = np.empty((out.shape[1], k))
    arrived, each = np.empty(k), 1 if len(transitions) > 1 else 0
    for i in range(len(out)):
        first, length = offsets[i], offsets[i + 1] - offsets[i]
        for b in range(k):
            best[0, b] = scores[first, b]
        for t in range(1, length):
            arrived[:], step = -np.inf, transitions[each * (first + t)]
            for a in range(k):
                for b in range(k):
                    arrived[b] = max(arrived[b], best[t - 1, a] + step[a, b])
            for b in range(k):
                best[t, b] = arrived[b] + scores[first + t, b]
        here, value = 0, -np.inf
        for b in range(k):
            if best[length - 1, b] > value:
                here, value = b, best[length - 1, b]
        out[i, length - 1] = here
        for t in range(length - 1, 0, -1):
            previous, highest, step = 0, -np.inf, transitions[each * (first + t)]
            for a in range(k):
                score = best[t - 1, a] + step[a, here]
                if score > highest:
                    previous, highest = a, score
            here = previous
            out[i, t - 1] = here


def runner_up(scores: Floats, transitions: Floats, offsets: Ints, truth: Ints, out: Ints) -> None:
    """The best labelling but `truth` (N,) of every sequence of a batch, into `out` (m, width), prefilled with −1.

    Ties: going backwards, to stay away from the truth comes before having just left it.
    """
    k = scores.shape[1]
    best, own = np.empty((out.shape[1], k)), np.empty(out.shape[1])
    each = 1 if len(transitions) > 1 else 0
    for i in range(len(out)):
        first, length = offsets[i], offsets[i + 1] - offsets[i]
        own[0] = scores[first, truth[first]]
        for b in range(k):
            best[0, b] = scores[first, b] if b != truth[first] else -np.inf
        for t in range(1, length):
            before, label, step = truth[first + t - 1], truth[first + t], transitions[each * (first + t)]
            for b in range(k):
                arrived = own[t - 1] + step[before, b] if b != label else -np.inf
                for a in range(k):
                    arrived = max(arrived, best[t - 1, a] + step[a, b])
                best[t, b] = arrived + scores[first + t, b]
            own[t] = own[t - 1] + step[before, label] + scores[first + t, label]
        here, value = 0, -np.inf
        for b in range(k):
            if best[length - 1, b] > value:
                here, value = b, best[length - 1, b]
        away = True
        out[i, length - 1] = here
        for t in range(length - 1, 0, -1):
            before, step = truth[first + t - 1], transitions[each * (first + t)]
            previous, highest = before, -np.inf
            if away:
                if here != truth[first + t]:
                    highest = own[t - 1] + step[before, here]
                stay = False
                for a in range(k):
                    score = best[t - 1, a] + step[a, here]
                    if score > highest or (score == highest and not stay and score > -np.inf):
                        previous, highest, stay = a, score, True
                away = stay
            here = previous
            out[i, t - 1] = here


def slack_viterbi(
    scores: Floats, transitions: Floats, offsets: Ints, levels: Ints, losses: Floats, own: Floats, out: Ints
) -> None:
    """argmax_y ℓ(y) (1 − own_i + score(y)) for a batch, into `out` (m, width), prefilled with −1.

    levels : (N, K) integer cost of each label at each position;  losses : (m, E) ℓ at total cost e,
    E above every total;  own : (m,) score of the truth.
    """
    k, n_levels = scores.shape[1], losses.shape[1]
    best = np.empty((out.shape[1], k, n_levels))
    arrived, each = np.empty(n_levels), 1 if len(transitions) > 1 else 0
    for i in range(len(out)):
        first, length = offsets[i], offsets[i + 1] - offsets[i]
        top = 0  # no labelling up to here costs more
        best[:length] = -np.inf
        for b in range(k):
            best[0, b, levels[first, b]] = scores[first, b]
            top = max(top, levels[first, b])
        for t in range(1, length):
            highest_cost = 0
            for b in range(k):
                cost = levels[first + t, b]
                highest_cost = max(highest_cost, cost)
                arrived[:] = -np.inf
                for a in range(k):
                    step = transitions[each * (first + t), a, b]
                    for e in range(top + 1):
                        arrived[e] = max(arrived[e], best[t - 1, a, e] + step)
                for e in range(top + 1):
                    best[t, b, e + cost] = arrived[e] + scores[first + t, b]
            top += highest_cost
        here, level, value = 0, 0, -np.inf
        for e in range(top + 1):
            highest, label = -np.inf, 0
            for b in range(k):
                if best[length - 1, b, e] > highest:
                    highest, label = best[length - 1, b, e], b
            if highest > -np.inf and losses[i, e] * (1.0 - own[i] + highest) > value:
                here, level, value = label, e, losses[i, e] * (1.0 - own[i] + highest)
        out[i, length - 1] = here
        for t in range(length - 1, 0, -1):
            level -= levels[first + t, here]
            previous, highest = 0, -np.inf
            for a in range(k):
                score = best[t - 1, a, level] + transitions[each * (first + t), a, here]
                if score > highest:
                    previous, highest = a, score
            here = previous
            out[i, t - 1] = here


def decode(
    scores: Floats,
    transitions: Floats,
    offsets: Ints,
    out: Ints,
    levels: Ints | None = None,
    losses: Floats | None = None,
    own: Floats | None = None,
) -> None:
    """`viterbi` (levels absent) or `slack_viterbi`, vectorised over the sequences of the batch.

    Sequences are visited longest first, so that those still alive at position t are the first `live`.
    """
    lengths, k = np.diff(offsets), scores.shape[1]
    order = np.argsort(-lengths, kind="stable")
    starts, lengths = offsets[order], lengths[order]
    m, width, n_levels = len(out), int(lengths[0]), 1 if losses is None else losses.shape[1]
    best = np.full((width, m, k, n_levels), -np.inf)
    reach, steps = np.arange(n_levels), np.broadcast_to(transitions, (len(scores), k, k))

    def enter(t: int, live: int, before: Floats) -> None:
        """best[t, :live] from `before` (live, K, E), the best ways to arrive, by spending the cost of t."""
        at = starts[:live] + t
        if levels is not None:
            spent = reach - levels[at][:, :, None]
            before = np.where(spent >= 0, np.take_along_axis(before, np.maximum(spent, 0), axis=2), -np.inf)
        best[t, :live] = before + scores[at][:, :, None]

    enter(0, m, np.where(reach == 0, 0.0, -np.inf) + np.zeros((m, k, 1)))
    for t in range(1, width):
        live = int(np.searchsorted(-lengths, -t, side="left"))
        arrived, step = np.full((live, k, n_levels), -np.inf), steps[starts[:live] + t]
        for a in range(k):
            np.maximum(arrived, best[t - 1, :live, a, None] + step[:, a, :, None], out=arrived)
        enter(t, live, arrived)
    every = np.arange(m)
    last = best[lengths - 1, every]
    level = np.zeros(m, np.int64)
    if losses is not None and own is not None:
        highest = last.max(axis=1)
        with np.errstate(invalid="ignore"):
            value = np.where(highest > -np.inf, losses[order] * (1.0 - own[order][:, None] + highest), -np.inf)
        level = value.argmax(axis=1)
    here = last[every, :, level].argmax(axis=1)
    out[order, lengths - 1] = here
    for t in range(width - 1, 0, -1):
        live = int(np.searchsorted(-lengths, -t, side="left"))
        if levels is not None:
            level[:live] -= levels[starts[:live] + t, here[:live]]
        back = best[t - 1, every[:live], :, level[:live]] + steps[starts[:live] + t, :, here[:live]]
        here[:live] = back.argmax(axis=1)
        out[order[:live], t - 1] = here[:live]
