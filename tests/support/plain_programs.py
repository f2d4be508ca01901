"""A second checker for certificates of programs, written from docs/certificate-format.md §11 in plain fractions.

It shares no line with `workbench.proofs.checker`: fractions one by one, Gaussian elimination, and the series of exp.
"""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np


def checked(path: Path) -> tuple[str, Fraction | None, Fraction | None]:
    """(what is proven, lower, upper) of the minimum in the certificate's own form, or AssertionError."""
    header = json.loads(path.read_text())
    settings = header["formulation"]["settings"]
    with np.load(path.with_suffix(".npz")) as archive:
        arrays = {name: archive[name] for name in archive.files}
    read = number if settings["reading"] == "float" else short
    q, b = ([read(v) for v in arrays[f"data_{name}"].tolist()] for name in "qb")
    P, A = (dense(arrays, name, read, m, len(q)) for name, m in (("P", len(q)), ("A", len(b))))
    constant, cones = read(float(arrays["data_constant"])), [int(size) for size in arrays["data_cones"]]
    x, w, y, d = (vector(arrays[name]) if name in arrays else None for name in "xwyd")
    conclusion = settings["conclusion"]
    if conclusion == "infeasible":
        assert in_dual(y, cones)
        assert not any(along(A, y, len(q)))
        assert dot(b, y) < 0
        return conclusion, None, None
    if conclusion == "nonconvex":
        assert dot(d, times(P, d)) < 0
        return conclusion, None, None
    if x is not None:
        assert in_cone(slack(A, b, x), cones)
    if conclusion == "unbounded":
        assert x is not None
        assert not any(times(P, d))
        assert in_cone([-value for value in times(A, d)], cones)
        assert dot(q, d) < 0
        return conclusion, None, None
    upper = None if x is None else dot(x, times(P, x)) / 2 + dot(q, x) + constant
    lower = None
    if y is not None:
        w = w or x or [Fraction(0)] * len(q)
        assert in_dual(y, cones)
        assert not any(a + g + p for a, g, p in zip(times(P, w), q, along(A, y, len(q)), strict=True))
        assert not any(map(any, P)) or positive(P)
        lower = -dot(w, times(P, w)) / 2 - dot(b, y) + constant
    assert None in (lower, upper) or lower <= upper
    assert conclusion != "optimal" or lower == upper is not None
    return conclusion, lower, upper


def number(value: float) -> Fraction:
    return Fraction(value)


def short(value: float) -> Fraction:
    return Fraction(Decimal(repr(value)))


def vector(raw: np.ndarray) -> list[Fraction]:
    unit, *whole = (int(line, 16) for line in bytes(raw).decode().splitlines())
    return [Fraction(value, unit) for value in whole]


def dense(arrays: dict[str, Any], name: str, read: Any, m: int, n: int) -> list[dict[int, Fraction]]:
    """Rows as dictionaries."""
    data, indices, starts = (arrays[f"data_{name}_{part}"] for part in ("data", "indices", "indptr"))
    rows: list[dict[int, Fraction]] = [{} for _ in range(m)]
    for column in range(n):
        for at in range(starts[column], starts[column + 1]):
            rows[indices[at]][column] = read(float(data[at]))
    return rows


def dot(x: Any, y: Any) -> Fraction:
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))


def times(rows: list[dict[int, Fraction]], x: Any) -> list[Fraction]:
    return [sum((value * x[k] for k, value in row.items()), Fraction(0)) for row in rows]


def along(rows: list[dict[int, Fraction]], y: Any, n: int) -> list[Fraction]:
    """Aᵀy."""
    total: dict[int, Fraction] = {}
    for row, price in zip(rows, y, strict=True):
        for k, value in row.items():
            total[k] = total.get(k, Fraction(0)) + value * price
    return [total.get(k, Fraction(0)) for k in range(n)]


def slack(A: Any, b: Any, x: Any) -> list[Fraction]:
    return [right - left for right, left in zip(b, times(A, x), strict=True)]


def parts(s: Any, cones: list[int]) -> tuple[Any, Any, list[Any], list[Any]]:
    zero, nonneg, exp, *soc = cones
    at, blocks = zero + nonneg, []
    for size in soc:
        blocks.append(s[at : at + size])
        at += size
    return s[:zero], s[zero : zero + nonneg], blocks, [s[at + 3 * k : at + 3 * k + 3] for k in range(exp)]


def in_cone(s: Any, cones: list[int]) -> bool:
    zero, nonneg, soc, exp = parts(s, cones)
    inside = not any(zero) and all(v >= 0 for v in nonneg) and all(map(round_cone, soc))
    return inside and all((r <= 0 <= t) if k == 0 else k > 0 and exp_below(r / k, t / k) for r, k, t in exp)


def in_dual(y: Any, cones: list[int]) -> bool:
    _, nonneg, soc, exp = parts(y, cones)
    inside = all(v >= 0 for v in nonneg) and all(map(round_cone, soc))
    return inside and all((v >= 0 <= w) if u == 0 else u < 0 and exp_below(v / u - 1, -w / u) for u, v, w in exp)


def round_cone(block: Any) -> bool:
    return block[0] >= 0 and dot(block[1:], block[1:]) <= block[0] ** 2


def exp_below(power: Fraction, most: Fraction) -> bool:
    """e^power ≤ most, by the series of e^(power/2^k) with a bound on its rest; entries cut to 200 bits, upward."""
    if most <= 0:
        return False
    halvings = max(0, int(abs(power)).bit_length() + 4)
    small = up(power) / 2**halvings
    terms = 40
    total = sum((small**j / factorial(j) for j in range(terms)), Fraction(0))
    total += 2 * abs(small) ** terms / factorial(terms)
    for _ in range(halvings):
        total = up(total) ** 2
    return total <= most


def up(value: Fraction, bits: int = 260) -> Fraction:
    """A nearby fraction of few bits, not below."""
    size = max(0, value.denominator.bit_length() - value.numerator.bit_length())
    unit = 1 << (bits + size)
    return Fraction(-((-value.numerator * unit) // value.denominator), unit)


def positive(P: list[dict[int, Fraction]]) -> bool:
    """Whether the symmetric P is positive semidefinite: elimination with the largest diagonal entry first."""
    rows = {k: dict(row) for k, row in enumerate(P) if row}
    while rows:
        k = max(rows, key=lambda j: rows[j].get(j, Fraction(0)))
        pivot = rows[k].get(k, Fraction(0))
        if min(row.get(j, Fraction(0)) for j, row in rows.items()) < 0:
            return False
        if pivot == 0:
            return not any(any(row.values()) for row in rows.values())
        first = rows.pop(k)
        for row in rows.values():
            factor = row.pop(k, Fraction(0)) / pivot
            for column, value in first.items() if factor else ():
                if column != k:
                    row[column] = row.get(column, Fraction(0)) - factor * value
    return True
