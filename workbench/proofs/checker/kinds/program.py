"""Proof about a convex program that stands in the certificate (docs/certificate-format.md §11).

    data_P_data, data_P_indices, data_P_indptr    P by columns, rows rising (n, n); A the same (m, n)
    data_q (n,), data_b (m,), data_constant ()    data_cones: zero, nonneg, exp, then the sizes of second-order cones
    x, w, y, d                                    text: a unit, then whole numbers, in hexadecimal digits, one a line
    root                                          a factor of P, row by row

Settings: `conclusion` (programs.py); `reading` of the floats: `float`, the number that is stored, or `decimal`, the
shortest decimal that rounds to it; `sense`: of `maximise` the program is the negative, and so are the ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from workbench.proofs.checker.archive import Fields, Header
from workbench.proofs.checker.cones import Cones
from workbench.proofs.checker.contracts import Ends, Proof, Setting, Statement, one_of, settled
from workbench.proofs.checker.faults import Malformed, demand
from workbench.proofs.checker.programs import KINDS, Claim, Finding, Numbers, Vector, check
from workbench.proofs.checker.whole import Array, exact

Reading = Callable[[Array], Vector]  # of floats as whole numbers over one unit
INFINITE = float("inf")
START = Fraction(10**6)  # gaps are relative to 1 at least
MOST_CURVED = 3000
WORDS = {
    "optimal": "the optimum is the one fraction at which both ends meet",
    "bounded": "the optimum lies between the ends",
    "infeasible": "no x satisfies the constraints",
    "unbounded": "the objective has no finite optimum: it improves without end along a ray of feasible points",
    "nonconvex": "the objective is not convex: it bends the wrong way along a direction",
}


class ProgramProof(Proof):
    name = "program"
    settings: ClassVar[dict[str, Setting]] = {
        "conclusion": Setting(one_of(*KINDS), None),
        "reading": Setting(one_of("float", "decimal"), None),
        "sense": Setting(one_of("minimise", "maximise"), None),
    }  # fmt: skip

    @classmethod
    def attains(cls, header: Header, arrays: dict[str, Array]) -> bool:
        return header["formulation"]["settings"]["conclusion"] == "optimal"

    @classmethod
    def prepare(cls, header: Header, arrays: dict[str, Array]) -> tuple[Statement, Any]:  # each kind its own
        for part, key in (("formulation", "name"), ("problem", "output")):
            named = (header[part][key], header[part]["version"])
            demand(named == ("program", 1), f"its {part} is {str(named)[:60]}, not a program")
        given = settled(cls, header["formulation"]["settings"])
        own, rest = ({}, {})
        for name, array in arrays.items():
            (own if name.startswith("data_") else rest)[name.removeprefix("data_")] = array
        program = numbers(Fields(own, "data_"), given["reading"])
        found = check(program, given["conclusion"], claim(Fields(rest), program))
        demand(found.proven or given["conclusion"] != "nonconvex", "its direction does not show that P is not convex")
        cones, n = program.cones, len(program.q[0])
        words = f"{n} variables, {cones.zero} equalities, {cones.nonneg} inequalities"
        words += f", {len(cones.soc)} second-order and {cones.exp} exponential cones" if cones.soc or cones.exp else ""
        if found.rows:
            words += (
                f"; rows {', '.join(map(str, found.rows))} (from 0 on) contradict one another, and no fewer of them do"
            )
        formula = f"{given['sense']} ½xᵀPx + qᵀx + constant subject to b − Ax in K: {WORDS[given['conclusion']]}"
        statement = Statement("program", given, formula, words, cones.size, n, "exact", False, ())
        return statement, (given, found)

    @classmethod
    def ends(cls, prepared: Any, claim: Callable[[Ends], bool]) -> Ends:  # prepared: each kind its own
        given, found = prepared
        lower, upper = ends_of(given["conclusion"], found)
        if given["sense"] == "maximise":
            lower, upper = -upper, -lower
        return Ends(lower, upper, upper, START, "rational")


def ends_of(conclusion: str, found: Finding) -> tuple[Fraction | float, Fraction | float]:
    """Ends of the minimum: that over nothing is ∞, that of an unbounded objective −∞."""
    if conclusion in ("infeasible", "unbounded") and found.proven:
        value = INFINITE if conclusion == "infeasible" else -INFINITE
        return value, value
    lower = -INFINITE if found.lower is None else found.lower
    return lower, INFINITE if found.upper is None else found.upper


def numbers(fields: Fields, reading: str) -> Numbers:
    """The program that the data arrays hold, under a reading."""
    read = decimal if reading == "decimal" else stored
    q, b, constant = fields.floats("q", None), fields.floats("b", None), fields.floats("constant")
    sizes = fields.ints("cones", None, within=(0, 1 << 30)).tolist()
    demand(len(sizes) >= 3, "its cones are fewer than three numbers")
    cones = Cones(sizes[0], sizes[1], tuple(sizes[3:]), sizes[2])
    demand(min(sizes[3:], default=1) > 0 and cones.size == len(b), f"its cones do not add up to its {len(b)} rows")
    P, A = matrix(fields, "P", len(q), len(q), read), matrix(fields, "A", len(b), len(q), read)
    demand(len({row for row, *_ in P[0]}) <= MOST_CURVED, f"P has more than {MOST_CURVED} rows that are not 0")
    fields.done()
    whole, unit = read(constant.reshape(1))
    return Numbers(P, read(q), A, read(b), Fraction(whole[0], unit), cones)


def matrix(fields: Fields, name: str, m: int, n: int, read: Reading) -> tuple[list[tuple[int, int, int]], int]:
    """The entries of a matrix by columns."""
    data, starts = fields.floats(f"{name}_data", None), fields.ints(f"{name}_indptr", n + 1)
    indices = fields.ints(f"{name}_indices", len(data), within=(0, m - 1))
    columns = np.repeat(np.arange(n), np.maximum(np.diff(starts), 0))
    fits = starts[0] == 0 and (np.diff(starts) >= 0).all() and len(columns) == len(data)
    demand(fits, f"data_{name}_indptr does not say where the {n} columns end")
    demand((np.diff(columns * m + indices) > 0).all(), f"the rows of a column of {name} do not rise")
    whole, unit = read(data)
    return list(zip(indices.tolist(), columns.tolist(), whole, strict=True)), unit


def stored(values: Array) -> Vector:
    found = exact(values)
    return [int(value) for value in found.values], found.unit


def decimal(values: Array) -> Vector:
    """Each float as the shortest decimal that rounds to it, as Python writes it."""
    parts = [re.fullmatch(r"(-?\d+)(?:\.(\d+))?(?:e([-+]\d+))?", repr(value)) for value in values.tolist()]
    read = [(int(p[1] + (p[2] or "")), int(p[3] or 0) - len(p[2] or "")) for p in parts if p]
    least = min([0, *(power for digits, power in read if digits)])
    return [digits * 10 ** (power - least) if digits else 0 for digits, power in read], 10**-least


def claim(fields: Fields, program: Numbers) -> Claim:
    """The vectors that the certificate gives."""
    n, m = len(program.q[0]), program.cones.size
    found = {name: vector(fields, name, size) for name, size in (("x", n), ("w", n), ("y", m), ("d", n))}
    root = stored(fields.floats("root", None)) if fields.has("root") else None
    fields.done()
    return Claim(**found, root=root)


def vector(fields: Fields, name: str, size: int) -> Vector | None:
    if not fields.has(name):
        return None
    try:
        lines = fields.ints(name, None, kind="|u1").astype(np.uint8).tobytes().decode("ascii").split("\n")
    except UnicodeDecodeError:
        raise Malformed(f"{name} is no text") from None
    demand(len(lines) == size + 1, f"{name} has {len(lines) - 1} numbers, not {size}")
    demand(all(re.fullmatch(r"-?[0-9a-f]+", line) for line in lines), f"{name} holds a line that is no whole number")
    unit, *whole = (int(line, 16) for line in lines)
    demand(unit > 0, f"the unit of {name} is not positive")
    return whole, unit
