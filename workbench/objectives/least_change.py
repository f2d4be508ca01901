"""Novelty: the least change of the weights after which a sample is right with full margins (docs/mathematics.md §6).

    Nov_i(w) = min over h, δ of ½‖δ‖²    s.t.  ⟨w + δ, a_z⟩ ≥ Δ_z  for all rivals z = (ŷ, ĥ), ŷ ≠ y_i

with a_z = Φ(x_i, y_i, h) − Φ(x_i, ŷ, ĥ): one least-distance program a hidden state h,

    min ½‖δ‖²  s.t.  Aδ ≥ b  (b = Δ − Aw),        dual  max over λ ≥ 0 of ⟨b, λ⟩ − ½‖Aᵀλ‖²,      δ = Aᵀλ.

Nov_i = 0 exactly if the slack ξ_i is 0. objectives/novelty_program.py declares this program in CVXPY; the functions
below solve it in batches.

*Proof* (`proven_ends`). An answer counts if it is proven, rounding errors counted against it: `upper` is ½‖δ‖² of a δ
that keeps all rows, `lower` is ⟨b, λ⟩²/(2‖Aᵀλ‖²), the best dual value of a multiple of λ ≥ 0, and both must be alike.

*Search* (novelty_search.py): λ and δ come from an active-set method in floats, with rows b + τ‖a‖ instead of b, τ a few
roundings of ‖δ‖, so that δ surely keeps the rows b. What floats leave open is solved in fractions, and `exact_answer`
recomputes from λ both the optimum and the ray that shows that no δ keeps the rows. States come in the order of their
single-row bounds max_z (b_z)₊²/(2‖a_z‖²).

*Infinite* also stands for practically infinite values: every δ that keeps the rows is at least 1e14 times as long as
the hardest row alone needs. Then ‖Aᵀλ‖ ≤ 1e-14 Σ λ_z‖a_z‖ for a λ ≥ 0, so that rows changed by 1e-14 of their length,
less than rounding may have done, contradict each other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from workbench.arithmetic.compiled import available, compiled_function
from workbench.arithmetic.intervals import U, down, gamma, up
from workbench.arithmetic.rationals import ratios
from workbench.contracts import Enumerable, Floats, Ints, Latent, Oracle, Problem
from workbench.errors import BadInput, MissingCapability
from workbench.objectives.novelty_search import exact_change, least_change

UNIT = 1.2e-16  # of rounding, and some
ALIKE = 1e-9  # the relative width of an interval at which floats are done
CONTRADICTION = 10**14  # times the hardest row's own δ: a length that rounding may have brought about
ORDINARY = 1e-60, 1e60  # sizes whose products neither overflow nor lose digits to underflow
SAME = "a rival has the same features as the truth"
AGAINST = "the rivals' rows contradict each other"
BEYOND = "½‖δ‖² of what keeps the rows is beyond floats"


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
        pairs = [[(aligned(A), aligned(b)) for A, b in states] for states in samples]
    except (TypeError, ValueError):
        message = (
            "Novelty takes a list of samples, each a list of pairs (A, b) of numbers; give e.g. [[([[1, 0]], [1])]]."
        )
        raise BadInput(message) from None
    if any(not states for states in pairs):
        raise BadInput(f"Sample {[not states for states in pairs].index(True)} has no hidden state; give it one.")
    return [[checked_program(i, *pair) for pair in states] for i, states in enumerate(pairs)]


def aligned(numbers: Any) -> Floats:  # whatever a user gives
    """The numbers in the layout that compiled code reads: contiguous, aligned and writable."""
    return np.require(numbers, float, ["C_CONTIGUOUS", "ALIGNED", "WRITEABLE"])


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
        rows, needs = states[state]
        answer = least(rows, needs, float(floors[state]), best.value, steps)
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


def novelty(
    problem: Problem, theta: ArrayLike, samples: ArrayLike | None = None, oracle: Oracle | None = None
) -> Novelty:
    """Novelty of a problem's samples (all of them unless given, as indices or as a mask) to the weights θ.

    There is one program a hidden state, and one a sample without hidden variables. Raises `MissingCapability` if
    outputs cannot be listed.

    oracle : of a formulation with θ = (w, b, …), more weights than features; δ changes w, and the others stay
    """
    programs_of = listed_programs(problem, theta, oracle)
    return novelties([programs_of(i) for i in chosen_samples(samples, problem.n_samples)])


def listed_programs(
    problem: Problem, theta: ArrayLike, oracle: Oracle | None = None
) -> Callable[[int], list[tuple[Floats, Floats]]]:
    """A function of a sample: the rows and needs of each of its programs."""
    if not isinstance(problem, Enumerable):
        raise MissingCapability(f"Novelty needs all outputs listed and {type(problem).__name__} has no `outputs`.")
    w, dim = np.asarray(theta, float).ravel(), problem.n_features if oracle is None else oracle.dim
    if w.shape != (dim,):
        raise BadInput(f"The weights have {w.size} entries but the problem needs {dim}; give that many.")
    programs = hidden_rivals if isinstance(problem, Latent) else one_state
    programs = programs if oracle is None else partial(rivals_beside, oracle)
    return lambda i: programs(problem, w, i)


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


def one_state(problem: Any, w: Floats, i: int) -> list[tuple[Floats, Floats]]:
    return [rivals(problem, w, i)]


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
