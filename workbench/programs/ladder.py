"""Proven ends for programs over any of the cones: float answers of programs moved inwards, corrected exactly.

With e in the interior of K and of K* (nonnegative: 1; second-order: (1, 0); exponential: (−1, 1, 1); equalities: 0):

    upper   solve with b − εe, correct A_E δ = b_E − A_E x exactly, and see whether b − Ax ∈ K
    lower   solve with q + εAᵀe, y ← y + εe, correct [P, A_Jᵀ] δ = −(Pw + q + Aᵀy) exactly, and see whether y ∈ K*

J are the rows whose y has room to move, the most room first; equalities always have. ε climbs until the answer is in.
A program with interior points on a side has a proven end there that is off by about ε.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from scipy import sparse

from workbench.arithmetic.matrices import completed, stacked
from workbench.arithmetic.rationals import Ratios, joined, ratios
from workbench.backends import BACKENDS, Answer, ConeProgram, supports
from workbench.contracts import Floats
from workbench.errors import BackendFailed
from workbench.programs.linear import nothing
from workbench.programs.program import Exact
from workbench.programs.rays import row

RUNGS = (0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
TOLERANCE = 1e-11
FAINT = 1e-6  # of the largest entry of a ray
NOTHING = 1e-100  # a ray that improves less, by its largest entry, proves nothing, and scaling it up would overflow
PLAIN = 1000  # largest denominator of a simple ray
FIRST, LATER = ("CLARABEL", "PIQP"), ("ECOS", "HIGHS", "DAQP", "SCS", "OSQP")


def answers(
    cone: ConeProgram, name: str | None = None, seconds: float | None = None, names: tuple[str, ...] = FIRST + LATER
) -> Iterator[tuple[str, Answer]]:
    """What the backends (or the one of that name) propose, one after the other; those that fail are passed over."""
    for each in (name,) if name else names:
        if BACKENDS[each].installed and supports(BACKENDS[each], cone) is None:
            try:
                yield each, BACKENDS[each].solve(cone, TOLERANCE, seconds)
            except BackendFailed:
                continue


def inner_point(cone: ConeProgram) -> Floats:
    """e (m,) above."""
    parts = [np.zeros(cone.zero), np.ones(cone.nonneg)]
    parts += [np.append(1.0, np.zeros(size - 1)) for size in cone.soc] + [np.array([-1.0, 1.0, 1.0])] * cone.exp
    return np.concatenate(parts)


def room(cone: ConeProgram, y: Floats) -> Floats:
    """How far each entry of y may move within K*, about; equalities as far as they like."""
    at, free = cone.zero + cone.nonneg, 1 + np.abs(y).max(initial=0.0)
    found = [np.full(cone.zero, free), np.maximum(y[cone.zero : at], 0.0)]
    for size in cone.soc:
        found.append(np.full(size, max(y[at] - np.linalg.norm(y[at + 1 : at + size]), 0.0)))
        at += size
    for k in range(at, len(y), 3):
        u, v, w = y[k : k + 3]
        inside = u < 0 < w and np.log(-w / u) - (v / u - 1)
        found.append(np.full(3, max(min(-u, w) * min(inside, 1.0), 0.0) if inside else 0.0))
    return np.concatenate(found)


def upper_point(e: Exact, cone: ConeProgram, epsilon: float, name: str | None, seconds: float | None) -> Ratios | None:
    """x with A_E x = b_E exactly, from the program moved inwards by ε."""
    moved = replace(cone, b=cone.b - epsilon * inner_point(cone))
    for _, answer in answers(moved, name, seconds):
        if np.isfinite(answer.x).all():
            equal = np.arange(e.zero)
            return completed(e.A.take(rows=equal), Ratios(e.b.whole[equal], e.b.unit), answer.x)
    return None


def lower_point(
    e: Exact, cone: ConeProgram, epsilon: float, name: str | None, seconds: float | None, held: np.ndarray | None = None
) -> tuple[Ratios, Ratios] | None:
    """w, y with Pw + q + Aᵀy = 0 exactly, from the program whose prices are moved inwards by ε; those `held` are 0."""
    inwards = inner_point(cone)
    inwards[held if held is not None else []] = 0.0
    moved = replace(cone, q=cone.q + epsilon * (cone.A.T @ inwards))
    for _, answer in answers(moved, name, seconds):
        if np.isfinite(answer.x).all() and np.isfinite(answer.z).all():
            y = answer.z + epsilon * inwards
            y[held if held is not None else []] = 0.0
            return priced(e, cone, answer.x, y)
    return None


def faint(cone: ConeProgram, name: str | None, seconds: float | None) -> np.ndarray | None:
    """Rows of cones that have no price in the first finite answer, as where they bound what the objective leaves out.

    Their prices may have no room to move: they are 0 in every dual point.
    """
    for _, answer in answers(cone, name, seconds):
        if np.isfinite(answer.z).all():
            small = np.abs(answer.z) <= FAINT * np.abs(answer.z).max(initial=0.0)
            small[: cone.zero] = False
            at = cone.zero + cone.nonneg
            for size in (*cone.soc, *[3] * cone.exp):
                small[at : at + size] = small[at : at + size].all()
                at += size
            return small
    return None


def priced(e: Exact, cone: ConeProgram, w: Floats, y: Floats) -> tuple[Ratios, Ratios] | None:
    """w and y corrected to Pw + q + Aᵀy = 0."""
    (m, n), margins = e.shape, room(cone, y)
    curved = np.unique(e.P.rows)
    free = np.flatnonzero(margins > 0)
    still = np.setdiff1d(np.arange(m), free)
    fixed = Ratios(np.where(np.isin(np.arange(m), still), ratios(y).whole, 0), ratios(y).unit)
    system = stacked([[e.P.take(columns=curved), e.A.take(rows=free).T]], [n], [len(curved), len(free)])
    weights = np.append(np.full(len(curved), margins.max(initial=1.0)), margins[free])
    found = completed(system, -(e.q + e.A.T @ fixed), np.append(w[curved], y[free]), weights)
    if found is None:
        return None
    whole = fixed.whole * found.unit
    whole[free] = found.whole[len(curved) :] * fixed.unit
    point = np.zeros(n, object)
    point[curved] = found.whole[: len(curved)]
    return Ratios(point, found.unit), Ratios(whole, found.unit * fixed.unit)


def nearly_farkas(e: Exact, cone: ConeProgram, ray: Floats) -> tuple[Ratios, Ratios] | None:
    """w, y = t · ray with Pw + Aᵀy ≈ 0, corrected, where rows nearly contradict one another: bᵀy < 0, Aᵀy small.

    The end −½wᵀPw − bᵀy is the largest of all t: (bᵀy)² / 2wᵀPw, huge where Aᵀy is a rounding error.
    """
    if not (depth := -(cone.b @ ray)) > NOTHING * np.abs(ray).max(initial=0.0):
        return None
    y = np.maximum(ray / depth, np.where(np.arange(len(ray)) < cone.zero, -np.inf, 0.0))
    P = sparse.csc_array(cone.P).toarray()
    w = np.linalg.lstsq(P, -(cone.A.T @ y), rcond=None)[0]
    curved = float(w @ P @ w)
    return priced(e, cone, w / curved, y / curved) if curved > NOTHING else None


def conic_farkas(e: Exact, cone: ConeProgram, ray: Floats, epsilon: float) -> Ratios | None:
    """y near the ray with Aᵀy = 0, bᵀy = −1 exactly; without ε its faint entries count as 0, on the cones' boundary."""
    m, n = e.shape
    y = np.where(np.abs(ray) > (0.0 if epsilon else FAINT) * np.abs(ray).max(initial=0.0), ray, 0.0)
    if not (depth := -(cone.b @ y)) > NOTHING * np.abs(y).max(initial=0.0):
        return None
    y = y / depth + epsilon * inner_point(cone)
    system = stacked([[e.A.T], [row(e.b)]], [n, 1], [m])
    right = joined([nothing(n), Ratios(np.array([-1], object), 1)])
    return completed(system, right, y, room(cone, y) + 1e-300)


def simple(ray: Floats) -> Ratios:
    """The ray with its largest entry 1 and all others plain.

    On the boundary of a second-order cone such a ray can be right where every correction would leave the cone.
    """
    return plain(ray / (np.abs(ray).max(initial=0.0) or 1.0))


def plain(values: Floats) -> Ratios:
    """The nearest fractions of small denominators."""
    near = [Fraction(value).limit_denominator(PLAIN) for value in values.tolist()]
    unit = math.lcm(*(each.denominator for each in near))
    return Ratios.of((int(each * unit) for each in near), unit)


def plain_pair(cone: ConeProgram, name: str | None, seconds: float | None) -> tuple[Ratios, Ratios] | None:
    """Plain x and y next to the first finite answer, for programs whose only points lie on the cones' boundary."""
    for _, answer in answers(cone, name, seconds):
        if np.isfinite(answer.x).all() and np.isfinite(answer.z).all():
            return plain(answer.x), plain(answer.z)
    return None


def conic_descent(e: Exact, cone: ConeProgram, ray: Floats) -> Ratios | None:
    """d near the ray with Pd = 0, A_E d = 0, qᵀd = −1 exactly."""
    n, equal = e.shape[1], np.arange(e.zero)
    if not (descent := -(cone.q @ ray)) > NOTHING * np.abs(ray).max(initial=0.0):
        return None
    d = ray / descent
    system = stacked([[e.P], [e.A.take(rows=equal)], [row(e.q)]], [n, e.zero, 1], [n])
    return completed(system, joined([nothing(n + e.zero), Ratios(np.array([-1], object), 1)]), d)


def phase_one(cone: ConeProgram) -> ConeProgram:
    """The same constraints without an objective."""
    n = len(cone.q)
    return replace(cone, P=sparse.csc_array((n, n)), q=np.zeros(n))
