"""The search for the least change of weights: λ and δ of one program, which prove nothing (least_change.py does).

    min ½‖δ‖²  s.t.  Aδ ≥ b,        dual  max over λ ≥ 0 of D = ⟨b, λ⟩ − ½‖Aᵀλ‖²,      δ = Aᵀλ

*In floats* (`least_change`): the dual active-set method of Goldfarb & Idnani (1983) for the identity Hessian. The most
violated row enters, others leave as their λ reaches 0, and D rises at each step, so a program is given up as soon as
its D passes the best value so far. The active rows are held as A_K = LQ with orthonormal Q, never as A_K A_Kᵀ, whose
condition is the square of theirs; δ = Qᵀc with Lc = b_K.

*In rationals* (`exact_change`): what floats leave open - rows nearly dependent, rows met by a single δ, numbers beyond
1e±60 - is solved exactly, from the λ that floats ended with: towards the optimum of the active rows until a λ is 0,
which drops its row; at that optimum the most violated row enters. D rises strictly from optimum to optimum, so it ends:
at the optimum, or at a λ ≥ 0 with Aᵀλ = 0 and ⟨b, λ⟩ > 0, which shows that no δ keeps the rows (Farkas).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.lifting import dependent_row, solve_whole
from workbench.arithmetic.rationals import common, product


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
            if longest is None and not ends:
                return laid_out(dict(zip(weights, direction, strict=True)), len(b))
            step = min(ends if longest is None else [*ends, longest])
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
    found = common([weights.get(r, Fraction(0)) for r in range(m)])
    return found.whole, found.unit


def uphill(gram: NDArray, right: NDArray, weights: list[Fraction]) -> tuple[list[Fraction], Fraction | None]:
    """A direction in which D rises or stays, and how far: 1 to the optimum; None if rows are dependent, without end."""
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
    return [Fraction(-each if against else each) for each in along], None
