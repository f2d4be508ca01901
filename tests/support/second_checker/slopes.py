"""The kind of proof `slopes` (§12): slopes g of the losses of a dyadic model bound its risk from below.

    min F ≥ Σ_c [Σ p_i(−ℓ*(g_i)) − k cᵀQ⁻¹c − ‖Σ ω_i x_i‖²/(2λ)],    ω_i = p_i g_i,    Q = ½ [[λI, S], [Sᵀ, λI]]

Q ≻ 0 just where ‖S‖₂ < λ (a Schur complement of 2Q is λI − SᵀS/λ), and then the Schur complement of Q in
[[Q, c], [cᵀ, 0]] is −cᵀQ⁻¹c: one elimination in whole numbers decides the former and gives the latter exactly.
A checker which bounds the latter may prove a lower end that is less by `room` (§12).
"""

import itertools
import math
from fractions import Fraction

from .files import exact
from .formulations import INF
from .proofs import Ends, read, take
from .structures import TooGreat

MOST_FEATURES, NEARLY = 200, 1 - Fraction(1, 10**6)
SMALL, GREAT = Fraction(1, 10**30), 10**30


def slopes(problem, arrays):
    theta, _ = read(problem, arrays, "slopes")
    found = exact(take(arrays, "slopes", "<f8", (problem.n, problem.L)))
    if sum(problem.data.columns[side] for side in ("left", "right")) > MOST_FEATURES:
        raise TooGreat(f"the sides have more than {MOST_FEATURES} features")
    bounds = [of_class(problem, c, [row[c] for row in found]) for c in range(problem.L)]
    lower = -INF if any(bound == -INF for bound, _ in bounds) else sum(bound for bound, _ in bounds)
    upper = problem.objective(theta)
    odd = any(near for _, near in bounds) or any(x and not SMALL <= abs(x) <= GREAT for x in sizes(problem, found))
    room = INF if odd or lower == -INF else max(1, abs(lower), abs(upper)) / Fraction(10**18)
    return Ends(lower, upper, upper, problem.objective(problem.start()), room=room)


def sizes(problem, found):
    """λ, the slopes, prices and features."""
    data = problem.data
    rows = (*data.sides["left"], *data.sides["right"], *(places[0][0] for places in data.places))
    return itertools.chain([problem.lam], problem.prices, *found, *(row.values() for row in rows))


def of_class(problem, c, g):
    """The bound of class c, −∞ where a slope is outside the domain of ℓ* or ‖S‖₂ ≥ λ; and whether ‖S‖₂ is nearly λ."""
    lam, data, squared = problem.lam, problem.data, problem.settings["loss"] == "squared"
    left, f = data.columns["left"], data.columns["left"] + data.columns["right"]
    matrix, pushed, total = {(i, i): lam for i in range(f)}, {}, Fraction(0)  # 2Q and 2c, the latter in row f
    for i, price in enumerate(problem.prices):
        if not price:
            continue
        y, omega = problem.target(i, c), price * g[i]
        if not squared and not 0 <= -y * g[i] <= 1:
            return -INF, False
        total += price * (-y * g[i] - (g[i] ** 2 / 2 if squared else 0))
        first, second = data.sides["left"][i], {left + b: x for b, x in data.sides["right"][i].items()}
        for b, r in second.items():
            for a, x in first.items():
                matrix[b, a] = matrix.get((b, a), 0) + omega * x * r
        for a, x in (first | second).items():
            matrix[f, a] = matrix.get((f, a), 0) + omega * x
        for place, x in data.places[i][0][0].items():
            pushed[place] = pushed.get(place, 0) + omega * x
    corner = schur_corner(matrix, f)
    if corner is None:
        return -INF, False
    near = schur_corner(matrix | {(i, i): lam * NEARLY for i in range(f)}, f) is None
    return total + problem.k * corner / 2 - sum(x * x for x in pushed.values()) / (2 * lam), near


def schur_corner(matrix, f):
    """−bᵀM⁻¹b for the symmetric [[M, b], [bᵀ, 0]], given by the places (row ≥ column) that are not 0, M being the first
    f rows; None unless M ≻ 0. Bareiss: each entry is a minor, pivots are the leading ones, all positive just if M ≻ 0.
    """
    unit = math.lcm(*(Fraction(x).denominator for x in matrix.values()))
    rows = [[int(matrix.get((max(i, j), min(i, j)), 0) * unit) for j in range(f + 1)] for i in range(f + 1)]
    last = 1
    for _ in range(f):
        pivot, top = rows[0][0], rows[0]
        if pivot <= 0:
            return None
        rows = [[(pivot * row[j] - row[0] * top[j]) // last for j in range(1, len(top))] for row in rows[1:]]
        last = pivot
    return Fraction(rows[0][0], last * unit)
