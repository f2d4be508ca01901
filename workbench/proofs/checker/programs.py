"""What is proven about a convex program, from its numbers and a few rational vectors alone.

    minimise  f(x) = ½xᵀPx + qᵀx + constant   subject to   b − Ax ∈ K

    upper       x with b − Ax ∈ K:                           min f ≤ f(x)
    lower       w, y with Pw + q + Aᵀy = 0, y ∈ K*, P ⪰ 0:    min f ≥ −½wᵀPw − bᵀy + constant
    optimal     both ends are the same fraction
    infeasible  y ∈ K* with Aᵀy = 0, bᵀy < 0: no x satisfies the constraints, for then 0 ≤ yᵀ(b − Ax) = bᵀy
    irreducible the support S of such a y, rows of {0} and R₊ only, with rank [A_Sᵀ; b_Sᵀ] = |S|: y is then the only
                such vector on S up to its length, so that every proper subset of S has a solution (Farkas)
    unbounded   x as above and d with Pd = 0, −Ad ∈ K, qᵀd < 0: f(x + td) → −∞
    nonconvex   d with dᵀPd < 0

The proof of the lower end: ½xᵀPx ≥ wᵀPx − ½wᵀPw since P ⪰ 0, so f(x) ≥ (Pw + q)ᵀx − ½wᵀPw + constant
= −yᵀAx − ½wᵀPw + constant ≥ −yᵀb − ½wᵀPw + constant, since yᵀ(b − Ax) ≥ 0.

All numbers are whole numbers over a unit: vectors are (list, unit), matrices (entries, unit).
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from workbench.proofs.checker.cones import Cones
from workbench.proofs.checker.convexity import Entries, semidefinite

Vector = tuple[list[int], int]
PRIME = (1 << 61) - 1
MOST_STEPS = 3 * 10**7  # of an elimination, each on one number
KINDS = ("optimal", "bounded", "infeasible", "unbounded", "nonconvex")


class Numbers(NamedTuple):
    """The program: P and A as (entries, unit), the vectors q and b, and the cones."""

    P: tuple[Entries, int]
    q: Vector
    A: tuple[Entries, int]
    b: Vector
    constant: Fraction
    cones: Cones


class Claim(NamedTuple):
    """The vectors that a certificate gives: x, w (None: w = x), y, d, and the root of P; None where it has none."""

    x: Vector | None = None
    w: Vector | None = None
    y: Vector | None = None
    d: Vector | None = None
    root: Vector | None = None


class Finding(NamedTuple):
    """What is proven of the minimum; None for an end that is not. `rows` : the irreducible rows, else empty."""

    proven: bool
    lower: Fraction | None = None
    upper: Fraction | None = None
    rows: tuple[int, ...] = ()


def check(program: Numbers, kind: str, claim: Claim) -> Finding:
    """Whether the vectors prove what `kind` says of the program."""
    if kind == "infeasible":
        good = farkas(program, claim.y)
        return Finding(good, rows=irreducible(program, claim.y) if good else ())
    if kind == "unbounded":
        return Finding(upper_end(program, claim.x) is not None and descends(program, claim.d))
    if kind == "nonconvex":
        return Finding(claim.d is not None and form(program.P, claim.d) < 0)
    upper = upper_end(program, claim.x)
    lower = lower_end(program, claim.w or claim.x, claim.y, claim.root)
    if kind == "optimal":
        return Finding(lower is not None and lower == upper, lower, upper)
    shown = [(claim.x is None) == (upper is None), (claim.y is None) == (lower is None)]
    return Finding(all(shown) and (lower, upper) != (None, None), lower, upper)


def upper_end(program: Numbers, x: Vector | None) -> Fraction | None:
    """f(x), if x satisfies the constraints."""
    if x is None or not program.cones.holds(plus(program.b, scaled(times(program.A, x, program.cones.size), -1))[0]):
        return None
    return form(program.P, x) / 2 + inner(program.q, x) + program.constant


def lower_end(program: Numbers, w: Vector | None, y: Vector | None, root: Vector | None) -> Fraction | None:
    """−½wᵀPw − bᵀy + constant, if w and y are as above."""
    n, curved = len(program.q[0]), any(value for *_, value in program.P[0])
    if y is None or (curved and w is None) or not program.cones.holds(y[0], dual=True):
        return None
    rest = plus(program.q, times(turned(program.A), y, n))
    if curved:
        rest = plus(rest, times(program.P, w, n))
        if not semidefinite(*program.P, n, root):
            return None
    if any(rest[0]):
        return None
    return -inner(program.b, y) - (form(program.P, w) / 2 if curved else 0) + program.constant


def farkas(program: Numbers, y: Vector | None) -> bool:
    """y ∈ K*, Aᵀy = 0, bᵀy < 0."""
    if y is None or not program.cones.holds(y[0], dual=True):
        return False
    return not any(times(turned(program.A), y, len(program.q[0]))[0]) and inner(program.b, y) < 0


def irreducible(program: Numbers, y: Vector | None) -> tuple[int, ...]:
    """The support of y if it is irreducible; nothing if it is not, or if MOST_STEPS do not tell. A rank modulo a prime
    is never above the true one.
    """
    support = [k for k, value in enumerate(y[0] if y else []) if value]
    if not support or support[-1] >= program.cones.zero + program.cones.nonneg:
        return ()
    rows: dict[int, dict[int | None, int]] = {k: {None: program.b[0][k] % PRIME} for k in support}
    for row, column, value in program.A[0]:
        if row in rows:
            rows[row][column] = value % PRIME
    rank = steps = 0
    while rows and steps < MOST_STEPS:
        row = {place: value for place, value in rows.pop(min(rows, key=lambda k: len(rows[k]))).items() if value}
        if not row:
            continue
        rank, pivot = rank + 1, next(iter(row))
        inverse, steps = pow(row[pivot], -1, PRIME), steps + len(rows)
        for other in rows.values():
            if factor := other.get(pivot, 0) * inverse % PRIME:
                steps += len(row)
                for place, value in row.items():
                    other[place] = (other.get(place, 0) - factor * value) % PRIME
    return tuple(support) if rank == len(support) else ()


def descends(program: Numbers, d: Vector | None) -> bool:
    """Pd = 0, −Ad ∈ K, qᵀd < 0."""
    if d is None or any(times(program.P, d, len(program.q[0]))[0]) or inner(program.q, d) >= 0:
        return False
    return program.cones.holds([-value for value in times(program.A, d, program.cones.size)[0]])


# ── whole numbers over a unit ─────────────────────────────────────────────────────────────────────────


def times(matrix: tuple[Entries, int], x: Vector, size: int) -> Vector:
    total = [0] * size
    for row, column, value in matrix[0]:
        total[row] += value * x[0][column]
    return total, matrix[1] * x[1]


def turned(matrix: tuple[Entries, int]) -> tuple[Entries, int]:
    return [(column, row, value) for row, column, value in matrix[0]], matrix[1]


def plus(x: Vector, y: Vector) -> Vector:
    return [a * y[1] + b * x[1] for a, b in zip(x[0], y[0], strict=True)], x[1] * y[1]


def scaled(x: Vector, factor: int) -> Vector:
    return [factor * value for value in x[0]], x[1]


def inner(x: Vector, y: Vector) -> Fraction:
    return Fraction(sum(a * b for a, b in zip(x[0], y[0], strict=True)), x[1] * y[1])


def form(matrix: tuple[Entries, int], x: Vector) -> Fraction:
    """xᵀMx."""
    return inner(x, times(matrix, x, len(x[0])))
