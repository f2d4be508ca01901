"""Novelty: the least change of the weights after which a sample is right with full margins (docs/mathematics.md §6).

    Nov_i(w) = min over h, δ of ½‖δ‖²    s.t.  ⟨w + δ, a_z⟩ ≥ Δ_z  for all rivals z = (ŷ, ĥ), ŷ ≠ y_i

with a_z = Φ(x_i, y_i, h) − Φ(x_i, ŷ, ĥ): one least-distance program a hidden state h,

    min ½‖δ‖²  s.t.  Aδ ≥ b  (b = Δ − Aw),        dual  max over λ ≥ 0 of ⟨b, λ⟩ − ½‖Aᵀλ‖²,      δ = Aᵀλ.

Nov_i = 0 exactly if the slack ξ_i is 0. formulations/_novelty.py declares this program in CVXPY; the functions below
solve it in batches.

*In floats* (`least_change`): the dual active-set method of Goldfarb & Idnani (1983) for the identity Hessian. The most
violated row enters, others leave as their λ reaches 0, and D rises at each step, so a state h is given up as soon as
its D passes the best value so far. The active rows are held as A_K = LQ with orthonormal Q, never as A_K A_Kᵀ, whose
condition is the square of theirs; δ = Qᵀc with Lc = b_K. States come in the order of their single-row bounds
max_z (b_z)₊²/(2‖a_z‖²). The rows asked for are b + τ‖a‖, τ a few roundings of ‖δ‖, so that δ surely keeps the rows b.

*Proof* (`proven_ends`). An answer counts if it is proven, rounding errors counted against it: `upper` is ½‖δ‖² of a δ
that keeps all rows, `lower` is ⟨b, λ⟩²/(2‖Aᵀλ‖²), the best dual value of a multiple of λ ≥ 0, and both must be alike.

*In rationals* (`exact_change`): what floats leave open - rows nearly dependent, rows met by a single δ, numbers beyond
1e±60 - is solved exactly, from the λ that floats ended with: towards the optimum of the active rows until a λ is 0,
which drops its row; at that optimum the most violated row enters. D rises strictly from optimum to optimum, so it ends:
at the optimum, or at a λ ≥ 0 with Aᵀλ = 0 and ⟨b, λ⟩ > 0, which shows that no δ keeps the rows (Farkas). Both are
recomputed from λ (`exact_answer`).

*Infinite* also stands for practically infinite values: every δ that keeps the rows is at least 1e14 times as long as
the hardest row alone needs. Then ‖Aᵀλ‖ ≤ 1e-14 Σ λ_z‖a_z‖ for a λ ≥ 0, so that rows changed by 1e-14 of their length,
less than rounding may have done, contradict each other.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.arithmetic.compiled import available, compiled_function
from workbench.arithmetic.intervals import U, down, gamma, up
from workbench.arithmetic.lifting import dependent_row, solve_whole
from workbench.arithmetic.rationals import common, product, ratios
from workbench.contracts import Enumerable, Floats, Ints, Latent, Oracle
from workbench.errors import BadInput, MissingCapability

UNIT = 1.2e-16  # of rounding, and some
ALIKE = 1e-9  # the relative width of an interval at which floats are done
CONTRADICTION = 10**14  # times the hardest row's own δ: a length that rounding may have brought about
ORDINARY = 1e-60, 1e60  # sizes whose products neither overflow nor lose digits to underflow
SAME = "a rival has the same features as the truth"
AGAINST = "the rivals' rows contradict each other"
BEYOND = "½‖δ‖² of what keeps the rows is beyond floats"


def least_change(rows, needs, norms, extra, best, weights, delta):
    """Solve one program in floats for λ and δ, which prove nothing until `proven_ends` has looked at them.

    Rows b + extra·‖a‖ are asked for and may be missed by a quarter of that; a program is left once D > best.
    """
    m, d = rows.shape
    most = min(m, d)
    basis, factor, reached = np.empty((most, d)), np.zeros((most, most)), np.empty(most)
    active, inside = np.empty(most, np.int64), np.zeros(m, np.bool_)
    wanted, steps = needs + extra * norms, np.empty(most)
    count, slack, contradicted = 0, -wanted, False
    weights[:] = 0.0
    delta[:] = 0.0
    for _ in range(20 * m + 20):
        if 0.5 * (delta @ delta) > best:
            break
        entering, worst = -1, -0.25 * abs(extra)
        for everywhere in range(2):  # at first among the rows that lacked something when last looked at
            for r in range(m):
                if not inside[r] and (everywhere or slack[r] < 0.0):
                    slack[r] = rows[r] @ delta - wanted[r]
                    if slack[r] < worst * norms[r]:
                        entering, worst = r, slack[r] / norms[r]
            if entering >= 0:
                break
        if entering < 0:
            break
        row, lacking, added, kept = rows[entering], -slack[entering], False, True
        while not added:
            y = basis[:count] @ row
            rest = row - y @ basis[:count]
            left = rest @ rest
            if left < 0.5 * norms[entering] ** 2:  # once more, or rest would not be orthogonal
                again = basis[:count] @ rest
                rest = rest - again @ basis[:count]
                y += again
                left = rest @ rest
            steps[:count] = y
            for k in range(count - 1, -1, -1):
                steps[k] /= factor[k, k]
                for i in range(k):
                    steps[i] -= steps[k] * factor[k, i]
            length, leaving = np.inf, -1
            for k in range(count):
                if steps[k] > 0.0 and weights[active[k]] < length * steps[k]:
                    length, leaving = weights[active[k]] / steps[k], k
            whole = count < most and left > 1e-24 * norms[entering] ** 2
            if whole and lacking <= length * left:
                length, added = lacking / left, True
            elif leaving < 0:
                contradicted = True
                break
            for k in range(count):
                weights[active[k]] = max(weights[active[k]] - length * steps[k], 0.0)
            weights[entering] += length
            lacking -= length * left
            if added:
                size = np.sqrt(left)
                active[count], inside[entering] = entering, True
                basis[count] = rest / size
                factor[count, :count] = y
                factor[count, count] = size
                reached[count] = (wanted[entering] - y @ reached[:count]) / size
                count += 1
                if kept:
                    delta += reached[count - 1] * basis[count - 1]
                else:
                    delta[:] = reached[:count] @ basis[:count]
                continue
            weights[active[leaving]] = 0.0
            inside[active[leaving]] = kept = False
            for k in range(leaving, count - 1):
                active[k] = active[k + 1]
                factor[k, : k + 2] = factor[k + 1, : k + 2]
                size = np.hypot(factor[k, k], factor[k, k + 1])
                cosine, sine = factor[k, k] / size, factor[k, k + 1] / size
                factor[k, k] = size
                for i in range(k + 2, count):
                    one, other = factor[i, k], factor[i, k + 1]
                    factor[i, k] = cosine * one + sine * other
                    factor[i, k + 1] = cosine * other - sine * one
                one, other = reached[k], reached[k + 1]
                reached[k], reached[k + 1] = cosine * one + sine * other, cosine * other - sine * one
                for j in range(d):
                    one, other = basis[k, j], basis[k + 1, j]
                    basis[k, j] = cosine * one + sine * other
                    basis[k + 1, j] = cosine * other - sine * one
            count -= 1
        if contradicted:
            break
    if contradicted:
        noise = 1e-13 * np.abs(steps[:count]).max() if count else 0.0
        for k in range(count):
            weights[active[k]] = -steps[k] if -steps[k] > noise else 0.0
        weights[entering] = 1.0
    return 0.0


def proven_ends(rows, needs, norms, weights, delta, ends):
    """`ends` = (lower, upper), proven by any λ and any δ; the upper is ∞ if δ does not surely keep all rows."""
    m, d = rows.shape
    unit, value, spread, total, pull, count = UNIT, 0.0, 0.0, 0.0, np.zeros(d), 0
    for r in range(m):
        if weights[r] > 0.0:
            count += 1
            value += weights[r] * needs[r]
            spread += weights[r] * abs(needs[r])
            total += weights[r] * norms[r]
            pull += weights[r] * rows[r]
    terms = count + 4
    value -= 2 * terms * unit * spread
    length = np.sqrt(pull @ pull) * (1 + (d + 9) * unit) + 2 * terms * unit * total * (1 + (d + 9) * unit)
    ends[0] = 0.5 * (value / length) ** 2 * (1 - 9 * unit) if value > 0.0 else 0.0
    ends[1] = np.inf
    size = np.sqrt(delta @ delta) * (1 + (d + 9) * unit)
    if (rows @ delta - 2 * (d + 9) * unit * size * norms >= needs).all():
        ends[1] = 0.5 * size * size * (1 + 9 * unit)
    return 0.0


class Novelty(NamedTuple):
    """One entry a sample: lower ≤ Nov ≤ upper; where `values` is finite the two are alike to 1e-9.

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


class Answer(NamedTuple):
    """What one program, or the best of several, takes: as in `Novelty`, why it is infinite included."""

    value: float
    lower: float
    upper: float
    change: Floats
    active: int
    why: str = ""


def novelties(samples: Sequence[Sequence[tuple[ArrayLike, ArrayLike]]]) -> Novelty:
    """Novelty of samples given by their programs: one pair (A (m, d), b (m,)) a hidden state.

    Raises `BadInput` for a sample without states, shapes that do not fit, and numbers that are not finite.
    """
    checked = checked_samples(samples)
    widths = {A.shape[1] for states in checked for A, _ in states}
    if len(widths) > 1:
        raise BadInput(f"The rows have {sorted(widths)} features; give all of them the same number.")
    steps = compiled_once() if available() else (least_change, proven_ends)
    found = [best_state(states, steps) for states in checked]
    answers = [answer for _, answer in found]
    values, lower, upper = (np.array([each[k] for each in answers], float) for k in range(3))
    changes = np.array([each.change for each in answers]).reshape(len(found), *widths)
    states, active = np.array([state for state, _ in found], int), np.array([each.active for each in answers], int)
    return Novelty(values, lower, upper, states, changes, active, [each.why for each in answers])


def checked_samples(samples: Any) -> list[list[tuple[Floats, Floats]]]:
    try:
        kind = float, "CAW"
        pairs = [[(np.require(A, *kind), np.require(b, *kind)) for A, b in states] for states in samples]
    except (TypeError, ValueError):
        message = (
            "Novelty takes a list of samples, each a list of pairs (A, b) of numbers; give e.g. [[([[1, 0]], [1])]]."
        )
        raise BadInput(message) from None
    if any(not states for states in pairs):
        raise BadInput(f"Sample {[not states for states in pairs].index(True)} has no hidden state; give it one.")
    return [[checked_program(i, *pair) for pair in states] for i, states in enumerate(pairs)]


def checked_program(i: int, rows: Floats, needs: Floats) -> tuple[Floats, Floats]:
    if rows.ndim != 2 or needs.shape != rows.shape[:1]:
        raise BadInput(f"Sample {i} has rows of shape {rows.shape} and {needs.shape} bounds; give (m, d) and (m,).")
    if not (np.isfinite(rows).all() and np.isfinite(needs).all()):
        raise BadInput(f"Sample {i} has rows that are not finite; repair its features or the weights.")
    return rows, needs


@cache
def compiled_once() -> Any:
    vector, number = np.zeros(1), 1.0
    program = np.zeros((1, 1)), vector, vector
    search = compiled_function(least_change, (*program, number, number, vector, vector))
    return search, compiled_function(proven_ends, (*program, vector, vector, vector))


def best_state(states: list[tuple[Floats, Floats]], steps: Any) -> tuple[int, Answer]:
    """The hidden state of least value (−1 if all are infinite) and its answer, with the lower bound of all states."""
    floors = np.array([floor(*state) for state in states])
    chosen, best, lowers, reasons = -1, unreachable(len(states[0][0].T), np.inf, ""), [], []
    for state in np.argsort(floors, kind="stable").tolist():
        if chosen >= 0 and floors[state] >= best.value:
            lowers.append(floors[state] * (1 - gamma(len(states[0][0].T) + 8)))
            break  # and so are all that follow
        answer = least(*states[state], floors[state], best.value, steps)
        lowers.append(answer.lower)
        reasons.append(answer.why)
        if answer.value < best.value:
            chosen, best = state, answer
    lower, why = min(lowers), " or ".join(dict.fromkeys(reasons))
    if chosen < 0:
        bound = f": ½‖δ‖² ≥ {lower:.1e}" if lower < np.inf else ""
        return chosen, best._replace(lower=lower, why=f"in every hidden state {why}{bound}")
    return chosen, best._replace(lower=lower, why="")


def unreachable(width: int, lower: float, why: str) -> Answer:
    return Answer(np.inf, lower, np.inf, np.zeros(width), 0, why)


def floor(rows: Floats, needs: Floats) -> float:
    """max_z (b_z)₊²/(2‖a_z‖²): what the hardest row takes alone; 0, a bound too, if sizes are not ordinary."""
    hard = needs > 0
    if not hard.any():
        return 0.0
    squares, (low, high) = np.einsum("rj,rj->r", rows, rows), ORDINARY
    if low**2 <= squares.min() and squares.max() <= high**2 and np.abs(needs).max() <= high:
        alone = float((needs[hard] ** 2 / squares[hard]).max() / 2)
        return alone if alone >= low**4 else 0.0
    return 0.0 if rows[hard].any(axis=1).all() else float(np.inf)


def least(rows: Floats, needs: Floats, alone: float, best: float, steps: Any) -> Answer:
    """One program of single-row bound `alone`, proven; a proof that it is not below `best` is enough.

    In floats with τ from a guess of ‖δ‖, with τ from ‖δ‖, and with −τ, for a λ where rows are met by a single δ.
    """
    m, d = rows.shape
    if alone == np.inf:
        return unreachable(d, np.inf, SAME)
    if not (needs > 0).any():
        return Answer(0.0, 0.0, 0.0, np.zeros(d), 0)
    weights, (solve, prove) = np.zeros(m), steps
    if alone > 0:
        norms, length = np.sqrt(np.einsum("rj,rj->r", rows, rows)), 4 * np.sqrt(2 * alone)
        for sign in (1, 1, -1):
            delta, ends = np.zeros(d), np.zeros(2)
            solve(rows, needs, norms, sign * 32 * (d + 9) * U * length, best, weights, delta)
            prove(rows, needs, norms, weights, delta, ends)
            (lower, upper), length = ends.tolist(), float(np.sqrt(delta @ delta))
            if upper <= lower * (1 + ALIKE):
                value = min(max(length**2 / 2, lower), upper)
                return Answer(value, lower, upper, delta, int((weights > 0).sum()))
            if lower * (1 + ALIKE) >= best:
                return unreachable(d, lower, "")
            if lower >= float(CONTRADICTION) ** 2 * alone:
                return unreachable(d, lower, AGAINST)
    return exact_answer(rows, needs, weights)


def exact_answer(rows: Floats, needs: Floats, weights: Floats) -> Answer:
    """One program in rationals, rounded at the end; some need is positive."""
    (A, a), (b, beta) = ratios(rows), ratios(needs)
    start = np.where(np.isfinite(weights), weights, 0.0).tolist()  # any λ ≥ 0 will do
    weights, q = exact_change(A, b, [Fraction(each) * beta / a**2 for each in start])
    whole, reward = weights @ A, b @ weights  # qδ = qAᵀλ and q⟨b, λ⟩
    active = int((weights > 0).sum())
    if (weights < 0).any() or q <= 0:
        raise ArithmeticError("the search in fractions ended with weights that prove nothing")
    if not whole.any() and reward > 0:  # Farkas: no δ keeps the rows
        return unreachable(len(rows.T), np.inf, AGAINST)
    if (A @ whole < b * q).any() or reward * q != whole @ whole:
        raise ArithmeticError("the search in fractions ended where it is not at the optimum")
    dual = Fraction(reward, 2 * q)  # of λ, and ½‖δ‖² of δ
    unit, squares = Fraction(a, beta), (A * A).sum(axis=1)  # of δ, as A/a and b/β are the rows and needs
    value, most = dual * unit**2, Fraction(sys.float_info.max)
    if 2 * dual >= CONTRADICTION**2 * max(Fraction(b[r] ** 2, squares[r]) for r in np.flatnonzero(b > 0)):
        return unreachable(len(rows.T), down(float(min(value, most))), AGAINST)
    if value >= most:
        return unreachable(len(rows.T), down(float(most)), BEYOND)
    rounded, change = float(value), np.array([float(Fraction(each, q) * unit) for each in whole])
    return Answer(rounded or up(0.0), max(down(rounded), 0.0), up(rounded), change, active)


def exact_change(A: NDArray, b: NDArray, start: list[Fraction]) -> tuple[NDArray, int]:
    """Ascent from λ = start to the optimum of whole rows: (qλ, q); or to a λ that shows that no δ keeps the rows."""
    sizes = [math.isqrt(each) for each in (A * A).sum(axis=1)]
    weights = {r: each for r, each in enumerate(start) if each > 0}
    while True:
        arrived = not weights
        while not arrived:
            slopes = A[list(weights)]
            gram = product(slopes.ravel(), lambda piece, shape=slopes.shape: piece.reshape(shape), slopes.T)
            direction, longest = uphill(gram, b[list(weights)], list(weights.values()))
            ends = [-weight / v for weight, v in zip(weights.values(), direction, strict=True) if v < 0]
            step = min([*ends, longest])
            if step == np.inf:
                return laid_out(dict(zip(weights, direction, strict=True)), len(b))
            moved = zip(weights, weights.values(), direction, strict=True)
            weights = {r: weight + step * v for r, weight, v in moved if weight + step * v > 0}
            arrived = step == longest or not weights
        whole, q = laid_out(weights, len(b))
        lacking = b * q - A @ (whole @ A)
        if (lacking <= 0).all():
            return whole, q
        weights[max(np.flatnonzero(lacking > 0).tolist(), key=lambda r: Fraction(lacking[r], sizes[r]))] = Fraction(0)


def laid_out(weights: dict[int, Fraction], m: int) -> tuple[NDArray, int]:
    """(qλ, q) of all m rows."""
    return common([weights.get(r, Fraction(0)) for r in range(m)])


def uphill(gram: NDArray, right: NDArray, weights: list[Fraction]) -> tuple[list[Fraction], Fraction | float]:
    """A direction in which D rises or stays, and how far: 1 to the optimum, or ∞ if the rows are dependent."""
    row = dependent_row(gram)
    if row is None:
        y, q = solve_whole(gram, right)
        return [Fraction(each, q) - weight for each, weight in zip(y, weights, strict=True)], Fraction(1)
    y, q = solve_whole(gram[:row, :row], gram[:row, row])
    along = np.array([*-y, q, *[0] * (len(right) - row - 1)], object)
    if (gram @ along).any():
        raise ArithmeticError("rows that are dependent modulo three primes are independent")  # pragma: no cover
    rise = right @ along
    against = rise < 0 or (rise == 0 and (along >= 0).all())
    return [Fraction(-each if against else each) for each in along], math.inf


def novelty(problem: Any, theta: ArrayLike, samples: ArrayLike | None = None, oracle: Oracle | None = None) -> Novelty:
    """Novelty of a problem's samples (all of them unless given, as indices or as a mask) to the weights θ.

    There is one program a hidden state, and one a sample without hidden variables. Raises `MissingCapability` if
    outputs cannot be listed.

    oracle : of a formulation with θ = (w, b, …), more weights than features; δ changes w, and the others stay
    """
    if not isinstance(problem, Enumerable):
        raise MissingCapability(f"Novelty needs all outputs listed and {type(problem).__name__} has no `outputs`.")
    w, dim = np.asarray(theta, float).ravel(), problem.n_features if oracle is None else oracle.dim
    if w.shape != (dim,):
        raise BadInput(f"The weights have {w.size} entries but the problem needs {dim}; give that many.")
    programs = hidden_rivals if isinstance(problem, Latent) else lambda *each: [rivals(*each)]
    programs = programs if oracle is None else partial(rivals_beside, oracle)
    return novelties([programs(problem, w, i) for i in chosen_samples(samples, problem.n_samples)])


def chosen_samples(samples: ArrayLike | None, n: int) -> list[int]:
    """Indices from 0 to n − 1: all, those given, or those of a mask."""
    chosen = np.arange(n) if samples is None else np.asarray(samples)
    if chosen.dtype == bool and chosen.shape == (n,):
        chosen = np.flatnonzero(chosen)
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        raise BadInput(f"The samples are {samples!r}; give a list of indices, or a mask of length {n}.")
    outside = chosen[(chosen < 0) | (chosen >= n)]
    if len(outside):
        raise BadInput(f"There is no sample {outside[0]}; give indices from 0 to {n - 1}.")
    return chosen.astype(np.int64).tolist()


def hidden_rivals(problem: Any, w: Floats, i: int) -> list[tuple[Floats, Floats]]:
    """For each state h rows Φ(x_i, y_i, h) − Φ(x_i, ŷ, ĥ) and needs Δ − ⟨w, row⟩ over all rivals, ŷ ≠ y_i."""
    outputs = problem.outputs(i)
    batch = np.full(len(outputs), i)
    features, losses = problem.features(batch, outputs).toarray(), problem.loss(batch, outputs)
    rows = [own - features[losses > 0] for own in features[losses == 0]]
    return [(each, losses[losses > 0] - each @ w) for each in rows]


def rivals(problem: Any, w: Floats, i: int) -> tuple[Floats, Floats]:
    """Rows a_y = ψ_i(y) and needs ℓ_i(y) − ⟨w, ψ_i(y)⟩ over all outputs y but the truth."""
    others, batch = wrong_outputs(problem, i)
    psi = (problem.features(batch, problem.truth[batch]) - problem.features(batch, others)).toarray()
    return psi, problem.loss(batch, others) - psi @ w


def rivals_beside(oracle: Oracle, problem: Any, theta: Floats, i: int) -> list[tuple[Floats, Floats]]:
    """The same of cuts: rows −a, the part of w, and needs ⟨a, θ⟩ + o."""
    others, batch = wrong_outputs(problem, i)
    slopes, offsets = oracle.rows(batch, others)
    return [(-slopes[:, : problem.n_features].toarray(), slopes @ theta + offsets)]


def wrong_outputs(problem: Any, i: int) -> tuple[Ints, Ints]:
    """All outputs of a sample but the truth, (m, width), and its index m times."""
    outputs = problem.outputs(i)
    others = outputs[(outputs != problem.truth[i]).any(axis=1)]
    return others, np.full(len(others), i)
