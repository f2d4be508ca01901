"""The kinds of proof `cuts` and `tangent` (§5, §6): L ≤ min F ≤ U from data, θ and weights; what all kinds read."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .enclosures import Positive, exp, log
from .files import exact, need, read_fractions
from .formulations import INF
from .structures import dot

GRID = 1 << 128


class Refused(Exception):
    """A structural condition of the proof does not hold: not proven."""


def demand(condition, sentence):
    if not condition:
        raise Refused(sentence)


@dataclass
class Ends:
    """L, U, F(θ) at the saved θ, F(θ₀), whether there are fractions; by how much another checker's L may be lower."""

    lower: Fraction | float
    upper: Fraction | float
    saved: Fraction | float
    start: Fraction | float
    fractions: bool = False
    room: Fraction | float | None = None


def take(arrays, name, dtype, shape):
    need(name in arrays, f"{name} is missing")
    found = arrays[name]
    fits = found.ndim == len(shape) and all(a in (None, b) for a, b in zip(shape, found.shape, strict=True))
    need(found.dtype.str == dtype and fits, f"{name} is {found.dtype.str} {found.shape}")
    need(dtype != "<f8" or name == "tree_cutoffs" or bool(np.isfinite(found).all()), f"{name} is not finite")
    return found


COMMON, TREE = ("theta", "samples", "witnesses", "weights"), "parents branches cutoffs cuts data indices indptr"


def read(problem, arrays, kind):
    """θ and the cuts (sample, witness, weight); refuses arrays that the kind of proof does not have."""
    allowed = {*COMMON, *({"fractions"} if kind == "cuts" else ())}
    allowed |= {f"tree_{name}" for name in TREE.split()} if kind == "tree" else {"slopes"} & {kind}
    other = {name for name in arrays if not name.startswith(("data_", "hint_"))} - allowed
    need(not other, f"arrays are not allowed: {sorted(other)}")
    theta = exact(take(arrays, "theta", "<f8", (problem.size,)))
    samples = take(arrays, "samples", "<i8", (None,)).tolist()
    M = len(samples)
    need(all(0 <= i < problem.n for i in samples), "a cut has a sample out of range")
    witnesses = [tuple(z) for z in take(arrays, "witnesses", "<i8", (M, problem.data.width)).tolist()]
    weights = exact(take(arrays, "weights", "<f8", (M,)))
    need(all(x >= 0 for x in weights), "a weight is negative")
    need(kind == "cuts" or not any(name.startswith("hint_") for name in arrays), "hints are for cuts")
    need(kind == "cuts" or M == 0, "this kind of proof has no cuts")
    return theta, list(zip(samples, witnesses, weights, strict=True))


# ------------------------------------------------------------------------------------------------- cuts


def cuts(problem, arrays):
    theta, found = read(problem, arrays, "cuts")
    beta = duals(problem, found, arrays)
    fractions = "fractions" in arrays
    slope, offset = [Fraction(0)] * problem.size, Fraction(0)
    for (i, z, _), b in zip(found, [0] * len(found) if beta is None else beta, strict=True):
        if b:
            a, o = problem.cut(i, z)
            offset += b * o
            for place, number in a.items():
                slope[place] -= b * number
    saved = worth(problem, theta)
    start = worth(problem, problem.start())
    lower = -INF if beta is None else offset - problem.conjugate(slope, saved)
    upper = worth(problem, [x / problem.lam for x in slope]) if fractions else saved
    if problem.hard and start == INF:
        start = Fraction(0)
    return Ends(lower, upper, saved, start, fractions)


def duals(problem, found, arrays):
    """β_k, one per cut (§5); None if a priced sample has no weight."""
    prices, whole = problem.prices, [Fraction(0)] * problem.n
    given = None
    if "fractions" in arrays:
        need(problem.quadratic, "fractions are for r = λ/2‖θ‖²")
        given = read_fractions(arrays["fractions"], len(found))
    for i, z, weight in found:
        need(problem.data.is_output(i, z), f"the witness {z} is no output of sample {i}")
        need(prices[i] or not weight, f"a weight stands on sample {i}, whose price is 0")
        whole[i] += weight
    if given is not None:
        sums = [Fraction(0)] * problem.n
        for (i, _, _), b in zip(found, given, strict=True):
            need(b >= 0, "a fraction is negative")
            sums[i] += b
        need(all(p in (INF, b) for p, b in zip(prices, sums, strict=True)), "fractions do not sum to the price")
        return given
    if problem.hard:
        return [weight for _, _, weight in found]
    if any(p and not total for p, total in zip(prices, whole, strict=True)):
        return None
    alpha = [Fraction(math.floor(GRID * x / whole[i]), GRID) if x else Fraction(0) for i, _, x in found]
    first, lack = {}, [Fraction(1)] * problem.n
    for k, (i, _, weight) in enumerate(found):
        lack[i] -= alpha[k]
        if i not in first or weight > found[first[i]][2]:
            first[i] = k
    for i, k in first.items():
        if prices[i]:
            alpha[k] += lack[i]
    return [prices[i] * a for (i, _, _), a in zip(found, alpha, strict=True)]


def worth(problem, theta):
    """U of §5 at a point: F there, after the way into r's domain; for hard constraints r at the scaled point, or ∞."""
    theta = problem.project(theta)
    if not problem.hard:
        return problem.objective(theta)
    priced = [i for i, p in enumerate(problem.prices) if p]
    excess = max(problem.height(i, theta) for i in priced)
    if problem.kind == "zero-one":
        least = Fraction(1)
    else:
        least = min((x for i in priced if (x := problem.data.least_loss(i)) is not None), default=None)
    if excess <= 0:
        return problem.r(theta)
    if least is None or excess >= least:
        return INF
    scale = least / (least - excess)
    theta = [scale * x for x in theta]
    return problem.r(theta) if all(problem.height(i, theta) <= 0 for i in priced) else INF


# ---------------------------------------------------------------------------------------------- tangent


def tangent(problem, arrays):
    theta, _ = read(problem, arrays, "tangent")
    bits = 256
    while True:
        F, G = around(problem, theta, bits)
        low, high = F[0] - G[1] / (2 * problem.lam), F[1]
        width = F[1] - F[0] + (G[1] - G[0]) / (2 * problem.lam)
        if width <= Fraction(1, 1 << 110) * min(abs(low), abs(high)) or bits >= 4096:
            break
        bits *= 2
    start = around(problem, problem.start(), bits)[0][1]
    return Ends(low, high, high, start)


def around(problem, theta, bits):
    """Intervals of F(θ) and of ‖∇F(θ)‖²."""
    value, gradient = [Fraction(0)] * 2, [[problem.lam * x] * 2 for x in theta]
    term = squared if problem.settings.get("loss") == "squared" else entropy
    for i, p in enumerate(problem.prices):
        if not p:
            continue
        h, slope = term(problem, i, theta, bits)
        for side in (0, 1):
            value[side] += p * h[side]
            for place, interval in slope.items():
                gradient[place][side] += p * interval[side]
    r = problem.r(theta)
    most = sum((max(low * low, high * high) for low, high in gradient), Fraction(0))
    least = sum((min(low * low, high * high) for low, high in gradient if low * high > 0), Fraction(0))
    return (r + value[0], r + value[1]), (least, most)


def squared(problem, i, theta, bits):
    row = problem.data.rows[i]
    miss = dot(theta, row) - problem.data.targets[i]
    return [miss * miss / 2] * 2, {place: [miss * x] * 2 for place, x in row.items()}


def entropy(problem, i, theta, bits):
    """log Σ exp⟨θ, Δ⟩ and its gradient Σ share·Δ, over all outputs; the logistic loss: over Δ = 0 and −sign·x."""
    data = problem.data
    if problem.name == "weighted-risk":
        sign = 1 if data.targets[i] >= 0 else -1
        terms = [{}, {place: -sign * x for place, x in data.rows[i].items()}]
    elif getattr(data, "chain", False):
        return sum_product(data, i, theta, bits)
    else:
        terms = [data.delta(i, z) for z in data.listed(i)]
    masses = [exp(dot(theta, delta), bits) for delta in terms]
    total = add(masses)
    slope = {}
    for delta, mass in zip(terms, masses, strict=True):
        spread(slope, delta, mass.share(total))
    return log(total), slope


def spread(slope, delta, share):
    """slope += share·delta, an interval times rationals."""
    for place, x in delta.items():
        interval = slope.setdefault(place, [Fraction(0), Fraction(0)])
        interval[0] += x * share[x < 0]
        interval[1] += x * share[x >= 0]


def add(masses):
    total = masses[0]
    for mass in masses[1:]:
        total = total + mass
    return total


def sum_product(data, i, theta, bits):
    """Forward and backward sums of a chain, and the shares of labels and of pairs of neighbours."""
    nodes, edges = data.scores(i, theta)
    p, labels = data.p, range(data.k)
    mass = [[exp(score, bits) for score in node] for node in nodes]
    pairs = [[[exp(score, bits) for score in row] for row in edge] for edge in edges]
    forward, backward = [mass[0]], [[Positive(1 << bits, 1 << bits, -bits, bits)] * data.k]
    for node, pair in zip(mass[1:], pairs, strict=True):
        last = forward[-1]
        forward.append([add([last[y] * pair[y][z] for y in labels]) * node[z] for z in labels])
    for node, pair in zip(reversed(mass[1:]), reversed(pairs), strict=True):
        after = backward[0]
        backward.insert(0, [add([pair[y][z] * node[z] * after[z] for z in labels]) for y in labels])
    total = add(forward[-1])
    slope = {}
    true = data.features(i, data.truth(i))
    spread(slope, {place: -x for place, x in true.items()}, (Fraction(1), Fraction(1)))
    for t, (row, _) in enumerate(data.places[i]):
        for y in labels:
            share = (forward[t][y] * backward[t][y]).share(total)
            spread(slope, {y * p + j: x for j, x in row.items()}, share)
            for z in labels if t else ():
                share = (forward[t - 1][y] * pairs[t - 1][y][z] * mass[t][z] * backward[t][z]).share(total)
                spread(slope, {data.pair_place(y, z) + j: x for j, x in enumerate(data.gaps[i][t - 1])}, share)
    score = dot(theta, true)
    return [end - score for end in log(total)], slope
