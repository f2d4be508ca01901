"""The kind of proof `program` (§11): what is so of minimise ½xᵀPx + qᵀx + constant, b − Ax ∈ K, by a few vectors.

Every condition is decided in whole numbers or fractions; only exp is enclosed, with more and more bits until the
enclosure decides. P ⪰ 0 is decided by elimination without fractions, block by block, or by `root` where that is enough.
"""

import itertools
import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from .enclosures import exp
from .files import exact, need
from .formulations import INF
from .proofs import Ends, demand, take
from .structures import TooGreat

MATRIX = ("data", "indices", "indptr")
DATA = {*(f"data_{matrix}_{part}" for matrix in "PA" for part in MATRIX), "data_q", "data_b", "data_constant"}
VECTORS = ("x", "w", "d", "y")
WORDS = {
    "conclusion": ("optimal", "bounded", "infeasible", "unbounded", "nonconvex"),
    "reading": ("float", "decimal"),
    "sense": ("minimise", "maximise"),
}
MOST_BITS, MOST_VARIABLES = 1 << 16, 1000


def shortest(array):
    """The numbers of a float64 array, each as the shortest decimal that rounds to it."""
    return [Fraction(Decimal(repr(x))) for x in array.tolist()]


@dataclass
class Vector:
    """numbers/unit, all whole; unit > 0."""

    unit: int
    numbers: list

    def __iter__(self):
        return (Fraction(number, self.unit) for number in self.numbers)

    def over(self, unit):
        return Vector(unit, [number * (unit // self.unit) for number in self.numbers])


def common(values):
    """Fractions as a Vector."""
    unit = math.lcm(*(value.denominator for value in values))
    return Vector(unit, [value.numerator * (unit // value.denominator) for value in values])


def inner(left, right):
    """⟨left, right⟩."""
    total = sum(a * b for a, b in zip(left.numbers, right.numbers, strict=True) if a and b)
    return Fraction(total, left.unit * right.unit)


def plus(*terms):
    """The sum of vectors over one unit."""
    unit = math.lcm(*(term.unit for term in terms))
    lifted = [term.over(unit).numbers for term in terms]
    return Vector(unit, [sum(numbers) for numbers in zip(*lifted, strict=True)])


def negative(vector):
    return Vector(vector.unit, [-number for number in vector.numbers])


class Matrix:
    """A sparse matrix of m rows, by columns: a list of (row, whole number) for each, over one unit."""

    def __init__(self, arrays, name, reading, m, n):
        data, indices, indptr = (f"data_{name}_{part}" for part in MATRIX)
        starts = take(arrays, indptr, "<i8", (n + 1,)).tolist()
        places = take(arrays, indices, "<i8", (None,)).tolist()
        values = common(reading(take(arrays, data, "<f8", (None,))))
        need(starts[0] == 0 and starts[-1] == len(places) == len(values.numbers), f"{indptr} has wrong ends")
        need(all(a <= b for a, b in itertools.pairwise(starts)), f"{indptr} falls")
        need(all(0 <= i < m for i in places), f"{indices} has a row out of range")
        self.unit, self.m, self.columns = values.unit, m, []
        for first, last in itertools.pairwise(starts):
            need(all(a < b for a, b in itertools.pairwise(places[first:last])), f"{indices} does not rise in a column")
            self.columns.append(list(zip(places[first:last], values.numbers[first:last], strict=True)))

    def times(self, vector):
        total = [0] * self.m
        for column, factor in zip(self.columns, vector.numbers, strict=True):
            for i, number in column if factor else ():
                total[i] += number * factor
        return Vector(self.unit * vector.unit, total)

    def transposed_times(self, vector):
        total = [sum(number * vector.numbers[i] for i, number in column) for column in self.columns]
        return Vector(self.unit * vector.unit, total)

    def entries(self):
        return {(i, j): number for j, column in enumerate(self.columns) for i, number in column if number}


def read_vector(arrays, name, length):
    """x, w, d or y; None where the archive has none."""
    if name not in arrays:
        return None
    text = take(arrays, name, "|u1", (None,)).tobytes()
    need(re.fullmatch(rb"[0-9a-f]+(\n-?[0-9a-f]+)*", text), f"{name} is no unit with whole numbers")
    unit, *numbers = (int(line, 16) for line in text.split(b"\n"))
    need(unit > 0 and len(numbers) == length, f"{name} is no unit with {length} whole numbers")
    return Vector(unit, numbers)


class Convex:
    """The program of a certificate and its vectors."""

    def __init__(self, settings, arrays):
        need(set(settings) == set(WORDS), f"program has the settings {sorted(WORDS)}")
        for key, words in WORDS.items():
            need(isinstance(settings[key], str) and settings[key] in words, f"{key} is none of {words}")
        other = set(arrays) - DATA - {"data_cones", "root", *VECTORS}
        need(not other, f"arrays are not allowed: {sorted(other)}")
        self.settings, reading = settings, exact if settings["reading"] == "float" else shortest
        self.q = common(reading(take(arrays, "data_q", "<f8", (None,))))
        self.b = common(reading(take(arrays, "data_b", "<f8", (None,))))
        (self.constant,) = reading(np.atleast_1d(take(arrays, "data_constant", "<f8", ())))
        self.n, self.m = len(self.q.numbers), len(self.b.numbers)
        need(self.n >= 1, "there is no variable")
        self.P = Matrix(arrays, "P", reading, self.n, self.n)
        self.A = Matrix(arrays, "A", reading, self.m, self.n)
        entries = self.P.entries()
        need(all(entries.get((j, i)) == number for (i, j), number in entries.items()), "P is not symmetric")
        self.cones = self.read_cones(take(arrays, "data_cones", "<i8", (None,)).tolist())
        sizes = {"x": self.n, "w": self.n, "d": self.n, "y": self.m}
        self.x, self.w, self.d, self.y = (read_vector(arrays, name, sizes[name]) for name in VECTORS)
        self.rows = sorted({i for i, _ in entries})
        self.root = None
        if "root" in arrays:
            found = take(arrays, "root", "<f8", (len(self.rows) ** 2,))
            self.root = common(exact(found))

    def read_cones(self, sizes):
        need(len(sizes) >= 3 and min(sizes) >= 0 and 0 not in sizes[3:], "the cones are no sizes")
        zero, nonneg, triples, *balls = sizes
        need(zero + nonneg + sum(balls) + 3 * triples == self.m, "the cones do not sum to the rows of A")
        return zero, nonneg, balls, triples

    # ── cones ─────────────────────────────────────────────────────────────────────────────────────

    def blocks(self, vector):
        """(rows of {0}, rows of R₊, second-order blocks, exponential blocks) of a vector's whole numbers."""
        zero, nonneg, balls, triples = self.cones
        ends = itertools.accumulate([zero, nonneg, *balls, *[3] * triples], initial=0)
        found = [vector.numbers[a:b] for a, b in itertools.pairwise(ends)]
        return found[0], found[1], found[2 : 2 + len(balls)], found[2 + len(balls) :]

    def inside(self, vector):
        """vector ∈ K; the unit does not matter."""
        zeros, signs, balls, triples = self.blocks(vector)
        return not any(zeros) and min(signs, default=0) >= 0 and all(map(ball, balls)) and all(map(triple, triples))

    def inside_dual(self, vector):
        """vector ∈ K*."""
        _, signs, balls, triples = self.blocks(vector)
        return min(signs, default=0) >= 0 and all(map(ball, balls)) and all(map(dual_triple, triples))

    # ── conclusions ───────────────────────────────────────────────────────────────────────────────

    def given(self, name):
        found = getattr(self, name)
        demand(found is not None, f"there is no {name}")
        return found

    def feasible(self, x):
        demand(self.inside(plus(self.b, negative(self.A.times(x)))), "x does not satisfy the constraints")

    def form(self, x):
        """xᵀPx."""
        return inner(x, self.P.times(x))

    def ends(self):
        """(L, U) of the minimum."""
        return getattr(self, self.settings["conclusion"])()

    def bounded(self):
        demand(self.x is not None or self.y is not None, "there is neither x nor y")
        lower, upper = -INF, INF
        if self.x is not None:
            self.feasible(self.x)
            upper = self.form(self.x) / 2 + inner(self.q, self.x) + self.constant
        if self.y is not None:
            w = self.w or self.x or (None if self.rows else Vector(1, [0] * self.n))
            demand(w is not None, "there is neither w nor x")
            demand(self.inside_dual(self.y), "y is not in K*")
            rest = plus(self.P.times(w), self.q, self.A.transposed_times(self.y))
            demand(not any(rest.numbers), "Pw + q + Aᵀy is not 0")
            demand(self.convex(), "P is not positive semidefinite")
            lower = -self.form(w) / 2 - inner(self.b, self.y) + self.constant
        return lower, upper

    def optimal(self):
        self.given("x"), self.given("y")
        lower, upper = self.bounded()
        demand(lower >= upper, "the ends are not equal")
        return lower, upper

    def infeasible(self):
        y = self.given("y")
        demand(self.inside_dual(y), "y is not in K*")
        demand(not any(self.A.transposed_times(y).numbers), "Aᵀy is not 0")
        demand(inner(self.b, y) < 0, "bᵀy is not negative")
        return INF, INF

    def unbounded(self):
        self.feasible(self.given("x"))
        d = self.given("d")
        demand(not any(self.P.times(d).numbers), "Pd is not 0")
        demand(self.inside(negative(self.A.times(d))), "−Ad is not in K")
        demand(inner(self.q, d) < 0, "qᵀd is not negative")
        return -INF, -INF

    def nonconvex(self):
        demand(self.form(self.given("d")) < 0, "dᵀPd is not negative")
        return -INF, INF

    # ── P ⪰ 0 ─────────────────────────────────────────────────────────────────────────────────────

    def convex(self):
        number, k = {i: at for at, i in enumerate(self.rows)}, len(self.rows)
        full = [[0] * k for _ in range(k)]
        for (i, j), value in self.P.entries().items():
            full[number[i]][number[j]] = value
        return dominated(full, self.P.unit, self.root) or all(map(semidefinite, split(full)))


def dominated(P, unit, root):
    """Whether the diagonal of E = P/unit − LLᵀ outweighs its rows, L = root or 0."""
    k = len(P)
    if root:
        L = [root.numbers[i * k : (i + 1) * k] for i in range(k)]
        square = root.unit**2
        P = [[P[i][j] * square - unit * sum(a * b for a, b in zip(L[i], L[j], strict=True)) for j in range(k)]
             for i in range(k)]  # fmt: skip
    return all(row[i] >= sum(map(abs, row)) - abs(row[i]) for i, row in enumerate(P))


def split(P):
    """The blocks of a symmetric matrix that no entry joins."""
    waiting = set(range(len(P)))
    while waiting:
        found = {waiting.pop()}
        border = list(found)
        while border:
            i = border.pop()
            fresh = {j for j in waiting if P[i][j]}
            waiting -= fresh
            found |= fresh
            border += fresh
        block = sorted(found)
        yield [[P[i][j] for j in block] for i in block]


def semidefinite(P):
    """Whether a symmetric matrix of whole numbers is ⪰ 0: elimination without fractions (Bareiss).

    After some pivots each entry is the Schur complement's times a positive minor, so signs are those of the complement.
    """
    if len(P) > MOST_VARIABLES:
        raise TooGreat(f"a quadratic form joins more than {MOST_VARIABLES} variables")
    last = 1
    while P:
        diagonal = [row[i] for i, row in enumerate(P)]
        if min(diagonal) < 0:
            return False
        pivot = max(diagonal)
        if pivot == 0:
            return not any(map(any, P))
        k = diagonal.index(pivot)
        top = P[k]
        others = [i for i in range(len(P)) if i != k]
        P = [[(pivot * P[i][j] - P[i][k] * top[j]) // last for j in others] for i in others]
        last = pivot
    return True


# ── cones of a block ──────────────────────────────────────────────────────────────────────────────


def ball(block):
    """‖u‖ ≤ t for the block (t, u)."""
    return block[0] >= 0 and sum(u * u for u in block[1:]) <= block[0] ** 2


def triple(block):
    """s·exp(r/s) ≤ t for the block (r, s, t), s > 0; for s = 0: r ≤ 0 ≤ t."""
    r, s, t = block
    if s == 0:
        return r <= 0 <= t
    return s > 0 and exp_at_most(Fraction(r, s), Fraction(t, s))


def dual_triple(block):
    """−u·exp(v/u) ≤ e·w for the block (u, v, w), u < 0; for u = 0: v ≥ 0 and w ≥ 0."""
    u, v, w = block
    if u == 0:
        return v >= 0 and w >= 0
    return u < 0 and exp_at_most(Fraction(v, u) - 1, Fraction(w, -u))


def exp_at_most(x, most):
    """exp(x) ≤ most. Both are equal at x = 0 only, since exp of another fraction is no fraction."""
    if most <= 0 or x == 0:
        return x == 0 and most >= 1
    size = most.numerator.bit_length() - most.denominator.bit_length()  # 2^(size − 1) < most < 2^(size + 1)
    if x > max(0, size + 1) or x < min(0, size - 1):  # exp(x) > 2^x for x > 0, exp(x) < 2^x for x < 0
        return x < 0
    bits = 128
    while bits <= MOST_BITS:
        found = exp(x, bits)
        scale = Fraction(2) ** found.e
        if found.high * scale <= most:
            return True
        if found.low * scale > most:
            return False
        bits *= 2
    raise TooGreat("exp is too close to a bound")


def prove(settings, arrays):
    """The Ends of the user's program; its gap is relative to 1 at least."""
    program = Convex(settings, arrays)
    lower, upper = program.ends()
    if settings["sense"] == "maximise":
        lower, upper = -upper, -lower
    return Ends(lower, upper, upper, Fraction(10**6), settings["conclusion"] == "optimal")
