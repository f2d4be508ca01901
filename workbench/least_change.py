"""Novelty: the least change of the weights after which a sample is right with full margins (docs/mathematics.md §6).

    Nov_i(w) = min over h, δ of ½‖δ‖²    s.t.  ⟨w + δ, a_z⟩ ≥ Δ_z  for all rivals z = (ŷ, ĥ), ŷ ≠ y_i

with a_z = Φ(x_i, y_i, h) − Φ(x_i, ŷ, ĥ): one least-distance program a hidden state h,

    min ½‖δ‖²  s.t.  Aδ ≥ b  (b = Δ − Aw),        dual  max over λ ≥ 0 of ⟨b, λ⟩ − ½‖Aᵀλ‖²,      δ = Aᵀλ.

Nov_i = 0 exactly if the slack ξ_i is 0. workbench/formulations/_novelty.py declares it; here it is solved in batches.

*One program.* The dual active-set method of Goldfarb & Idnani (1983) for the identity Hessian: the most violated row
enters, others leave as their λ reaches 0, and D rises at each step, so a state h is given up as soon as its D passes
the best value so far. States come in the order of their single-row bounds max_z (b_z)₊²/(2‖a_z‖²). The rows asked for
are b + τ‖a‖ with a tiny τ, so that δ keeps the rows b in spite of rounding.

*Proof.* Every answer is an interval: `lower` the dual value of its λ for the rows b, `upper` ½‖δ‖² of a δ that keeps
all rows of one state; rounding errors are bounded and counted against both. Where the δ that keep all rows have no
interior, floats find none that surely does, and `upper` is ∞. No δ at all keeps the rows if λ ≥ 0 has Aᵀλ = 0
and ⟨b, λ⟩ > 0; with λ as computed, every δ that does has length ≥ ⟨b, λ⟩/‖Aᵀλ‖, which `reasons` tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from workbench.compiled import available, compiled_function
from workbench.errors import BadInput, MissingCapability
from workbench.intervals import gamma
from workbench.structures import Enumerable, Floats, Ints

EXTRA = 1e-11  # τ, relative to the greatest (b_z)₊/‖a_z‖
CONTRADICTION = 1e6  # times the longest single row's δ: a proven length that means there is none
FOUND, EXCEEDED, INFEASIBLE, UNFINISHED = 0.0, 1.0, 2.0, 3.0


def least_change(rows, needs, extra, allowed, best, weights, delta, ends):
    """Solve one program; how it ended, with λ, δ, and `ends` = (lower, upper, a length that every feasible δ has).

    Rows b + extra·‖a‖ are asked for, and may be missed by `allowed`·‖a‖.
    """
    m, d = rows.shape
    norms, wanted = np.empty(m), np.empty(m)
    for r in range(m):
        square = 0.0
        for j in range(d):
            square += rows[r, j] * rows[r, j]
        norms[r] = np.sqrt(square)
        wanted[r] = needs[r] + extra * norms[r]
    most = min(m, d) + 1
    active, factor, columns = np.empty(most, np.int64), np.zeros((most, most)), np.empty((most, m))
    count, how, slack = 0, 3.0, -wanted
    weights[:] = 0.0
    delta[:] = 0.0
    y, steps = np.empty(most), np.empty(most)
    for _ in range(20 * m + 20):
        entering, worst, dual = -1, 0.0, 0.0
        for r in range(m):
            dual += 0.5 * weights[r] * wanted[r]
            if norms[r] > 0.0 and slack[r] + allowed * norms[r] < worst * norms[r]:
                entering, worst = r, slack[r] / norms[r] + allowed
            if norms[r] == 0.0 and needs[r] > 0.0:
                entering, worst = r, -np.inf
        if entering < 0:
            delta[:] = 0.0
            for k in range(count):
                for j in range(d):
                    delta[j] += weights[active[k]] * rows[active[k], j]
            slack = rows @ delta - wanted
            how = 0.0
            for r in range(m):
                if slack[r] < -2.0 * allowed * norms[r]:
                    how = 3.0
            if how == 0.0:
                break
            continue
        if dual > best:
            how = 1.0
            break
        column = rows @ rows[entering]
        while True:
            left = norms[entering] * norms[entering]
            for k in range(count):
                y[k] = column[active[k]]
                for i in range(k):
                    y[k] -= factor[k, i] * y[i]
                y[k] /= factor[k, k]
                left -= y[k] * y[k]
            for k in range(count - 1, -1, -1):
                steps[k] = y[k]
                for i in range(k + 1, count):
                    steps[k] -= factor[i, k] * steps[i]
                steps[k] /= factor[k, k]
            length, leaving = np.inf, -1
            for k in range(count):
                if steps[k] > 0.0 and weights[active[k]] < length * steps[k]:
                    length, leaving = weights[active[k]] / steps[k], k
            whole = count < most - 1 and left > 1e-12 * norms[entering] * norms[entering]
            if whole and -slack[entering] <= length * left:
                length, leaving = -slack[entering] / left, -1
            elif leaving < 0:
                for k in range(count):
                    weights[active[k]] = max(-steps[k], 0.0)
                weights[entering] = 1.0
                how = 2.0
                break
            for k in range(count):
                weights[active[k]] = max(weights[active[k]] - length * steps[k], 0.0)
            weights[entering] += length
            if whole:
                slack = slack + length * (column - steps[:count] @ columns[:count])
            if leaving < 0:
                active[count] = entering
                columns[count] = column
                for k in range(count):
                    factor[count, k] = y[k]
                factor[count, count] = np.sqrt(left)
                count += 1
                break
            weights[active[leaving]] = 0.0
            for k in range(leaving, count - 1):
                active[k] = active[k + 1]
                columns[k] = columns[k + 1]
                for i in range(k + 2):
                    factor[k, i] = factor[k + 1, i]
                size = np.hypot(factor[k, k], factor[k, k + 1])
                cosine, sine = factor[k, k] / size, factor[k, k + 1] / size
                for i in range(k, count):
                    row = i if i == k else i + 1
                    if row < count:
                        one, other = factor[row, k], factor[row, k + 1]
                        factor[row, k] = cosine * one + sine * other
                        factor[row, k + 1] = cosine * other - sine * one
            count -= 1
        if how == 2.0:
            break
    unit = 1.2e-16
    value, size, square, sizes = 0.0, 0.0, 0.0, 0.0
    for j in range(d):
        entry, bound = 0.0, 0.0
        for r in range(m):
            if weights[r] > 0.0:
                entry += weights[r] * rows[r, j]
                bound += weights[r] * abs(rows[r, j])
        square += entry * entry
        sizes += bound * bound
    for r in range(m):
        value += weights[r] * needs[r]
        size += weights[r] * abs(needs[r])
    pull = np.sqrt(square + 4 * (m + d + 9) * unit * sizes)
    value -= 2 * (m + 9) * unit * size
    ends[0] = max(value - 0.5 * pull * pull * (1 + 9 * unit), 0.0)
    ends[1], ends[2] = np.inf, value / pull if pull > 0.0 and value > 0.0 else 0.0
    if how == 2.0:
        ends[0] = max(0.5 * ends[2] * ends[2] * (1 - 9 * unit), 0.0) if pull > 0.0 else np.inf if value > 0.0 else 0.0
    if how == 0.0:
        length, kept = 0.0, True
        for j in range(d):
            length += delta[j] * delta[j]
        for r in range(m):
            reached, bound = 0.0, 0.0
            for j in range(d):
                reached += rows[r, j] * delta[j]
                bound += abs(rows[r, j] * delta[j])
            kept = kept and reached - 2 * (d + 9) * unit * bound >= needs[r]
        if kept:
            ends[1] = 0.5 * length * (1 + 2 * (d + 9) * unit)
    return how


class Novelty(NamedTuple):
    """One entry a sample: lower ≤ Nov ≤ upper.

    values : Nov (n,), ∞ where no change of the weights is enough
    states : (n,) the hidden state h that attains it, −1 where none does
    changes : (n, d) its δ, 0 where none is
    active : (n,) rows that hold with equality
    reasons : why a value is ∞, else ""
    """

    values: Floats
    lower: Floats
    upper: Floats
    states: Ints
    changes: Floats
    active: Ints
    reasons: list[str]


def novelties(samples: Sequence[Sequence[tuple[ArrayLike, ArrayLike]]]) -> Novelty:
    """Novelty of samples given by their programs: one pair (A (m, d), b (m,)) a hidden state.

    Raises `BadInput` for a sample without states, shapes that do not fit, and numbers that are not finite.
    """
    checked = [[checked_program(i, A, b) for A, b in states] for i, states in enumerate(samples)]
    if any(not states for states in checked):
        raise BadInput(f"Sample {[not states for states in checked].index(True)} has no hidden state; give it one.")
    widths = {A.shape[1] for states in checked for A, _ in states}
    if len(widths) > 1:
        raise BadInput(f"The rows have {sorted(widths)} features; give all of them the same number.")
    found = [best_state(states) for states in checked]
    reasons = [told(each, states) for each, states in zip(found, checked, strict=True)]
    columns = list(zip(*found, strict=True)) or [()] * 6
    values, lower, upper = (np.array(each, float) for each in columns[:3])
    changes = np.array(columns[4]).reshape(len(found), *widths)
    return Novelty(values, lower, upper, np.array(columns[3], int), changes, np.array(columns[5], int), reasons)


def checked_program(i: int, A: ArrayLike, b: ArrayLike) -> tuple[Floats, Floats]:
    rows, needs = np.ascontiguousarray(A, float), np.ascontiguousarray(b, float)
    if rows.ndim != 2 or needs.shape != rows.shape[:1]:
        raise BadInput(f"Sample {i} has rows of shape {rows.shape} and {needs.shape} bounds; give (m, d) and (m,).")
    if not (np.isfinite(rows).all() and np.isfinite(needs).all()):
        raise BadInput(f"Sample {i} has rows that are not finite; repair its features or the weights.")
    return rows, needs


def best_state(states: list[tuple[Floats, Floats]]) -> tuple[float, float, float, int, Floats, int]:
    """(value, lower, upper, state, δ, active rows) over all hidden states of one sample."""
    floors = np.array([floor(*state) for state in states])
    width = states[0][0].shape[1]
    value, lower, upper, chosen, change, active = np.inf, np.inf, np.inf, -1, np.zeros(width), 0
    for state in np.argsort(floors, kind="stable"):
        if floors[state] >= value:
            lower = min(lower, floors[state] * (1 - gamma(width + 8)))
            break  # and so are all that follow
        least = np.sqrt(2 * floors[state]) if np.isfinite(floors[state]) else 0.0
        for extra in (EXTRA * least, 0.0):
            numbers = extra, EXTRA / 4 * least, value
            arguments = *states[state], *numbers, np.zeros(len(states[state][1])), np.zeros(width), np.zeros(3)
            how, (weights, delta, (below, above, length)) = solver(arguments)(*arguments), arguments[-3:]
            if how in (FOUND, EXCEEDED) or length > CONTRADICTION * least:
                break  # else the rows may have a point but no interior
        lower = min(lower, below)
        if how == FOUND and delta @ delta / 2 < value:
            value, upper, chosen = float(delta @ delta / 2), above, int(state)
            change, active = delta, int((weights > 0).sum())
    return value, lower, upper, chosen, change, active


def solver(arguments: tuple[Any, ...]) -> Any:
    return compiled_function(least_change, arguments) if available() else least_change


def floor(rows: Floats, needs: Floats) -> float:
    """max_z (b_z)₊²/(2‖a_z‖²): what the hardest row takes alone."""
    hard = needs > 0
    if not hard.any():
        return 0.0
    squares = np.einsum("rj,rj->r", rows[hard], rows[hard])
    return float(np.inf) if (squares == 0).any() else float((needs[hard] ** 2 / squares).max() / 2)


def told(found: tuple[float, float, float, int, Floats, int], states: list[tuple[Floats, Floats]]) -> str:
    """The reason of an infinite value."""
    if found[0] < np.inf:
        return ""
    if found[1] == np.inf:
        return "in every hidden state a rival has the same features as the truth"
    return (
        f"in all {len(states)} hidden states the rivals' rows contradict each other: whatever would keep them has "
        f"½‖δ‖² ≥ {found[1]:.1e}"
    )


def novelty(problem: Any, theta: ArrayLike, samples: ArrayLike | None = None) -> Novelty:
    """Novelty of a problem's samples (all of them unless given) to the weights θ.

    Without hidden variables there is one program a sample. Raises `MissingCapability` if outputs cannot be listed.
    """
    if not isinstance(problem, Enumerable):
        raise MissingCapability(f"Novelty needs all outputs listed and {type(problem).__name__} has no `outputs`.")
    w = np.asarray(theta, float).ravel()
    if w.shape != (problem.n_features,):
        raise BadInput(f"The weights have {w.size} entries but the problem needs {problem.n_features}; give that many.")
    chosen = np.arange(problem.n_samples) if samples is None else np.asarray(samples, np.int64)
    return novelties([[rivals(problem, w, i)] for i in chosen.tolist()])


def rivals(problem: Any, w: Floats, i: int) -> tuple[Floats, Floats]:
    """Rows a_y = ψ_i(y) and needs ℓ_i(y) − ⟨w, ψ_i(y)⟩ over all outputs y but the truth."""
    outputs = problem.outputs(i)
    others = outputs[(outputs != problem.truth[i]).any(axis=1)]
    batch = np.full(len(others), i)
    psi = (problem.features(batch, problem.truth[batch]) - problem.features(batch, others)).toarray()
    return psi, problem.loss(batch, others) - psi @ w
