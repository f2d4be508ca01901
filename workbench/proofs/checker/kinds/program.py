"""Proof about a convex program that stands in the certificate (docs/certificate-format.md §11).

    data_P_data, data_P_indices, data_P_indptr    P by columns, rows rising (n, n); A the same (m, n)
    data_q (n,), data_b (m,), data_constant ()    data_cones: zero, nonneg, exp, then the sizes of second-order cones
    x, w, y, d                                    text: a unit, then whole numbers, in hexadecimal digits, one a line
    root                                          a factor of P, row by row

Settings: `conclusion` (programs.py); `reading` of the floats: `float`, the number that is stored, or `decimal`, the
shortest decimal that rounds to it; `sense`: of `maximise` the program is the negative, and so are the ends.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from workbench.proofs.checker.archive import Fields, Header
from workbench.proofs.checker.cones import Cones
from workbench.proofs.checker.contracts import Ends, Proof, Setting, Statement, one_of, settled
from workbench.proofs.checker.faults import Unknown, demand
from workbench.proofs.checker.kinds._vectors import decimal, stored, vector
from workbench.proofs.checker.programs import KINDS, Claim, Finding, Numbers, Vector, check
from workbench.proofs.checker.whole import Array

Reading = Callable[[Array], Vector]  # of floats as whole numbers over one unit
INFINITE = float("inf")
START = Fraction(10**6)  # gaps are relative to 1 at least
MOST_CURVED = 3000
GENERATED = (
    "the lower end of the whole program, of which rows were left out, if a generated row is none of its rows",
    "the upper end of the whole program, if the point x misses a row that was not generated: the oracle alone says so",
)
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
            named, version = header[part][key], header[part]["version"]
            demand(named == "program", f"its {part} is {named[:60]!r}, not a program")
            if version != 1:
                raise Unknown(part, named, version, ["program"])
        given = settled(cls, header["formulation"]["settings"])
        own, rest = ({}, {})
        for name, array in arrays.items():
            (own if name.startswith("data_") else rest)[name.removeprefix("data_")] = array
        program = numbers(Fields(own, "data_"), given["reading"])
        found = check(program, given["conclusion"], claim(Fields(rest), program))
        cones, n = program.cones, len(program.q[0])
        words = f"{n} variables, {cones.zero} equalities, {cones.nonneg} inequalities"
        words += f", {len(cones.soc)} second-order and {cones.exp} exponential cones" if cones.soc or cones.exp else ""
        rows = ", ".join(map(str, found.rows))
        words += f"; rows {rows} (from 0 on) contradict one another, and no fewer of them do" if rows else ""
        concluded = WORDS[given["conclusion"]]
        if given["sense"] == "maximise":
            concluded = concluded.replace("not convex", "not concave")
        formula = f"{given['sense']} ½xᵀPx + qᵀx + constant subject to b − Ax in K: {concluded}"
        open_ends = GENERATED if "generated" in header["problem"] else ()
        statement = Statement("program", given, formula, words, cones.size, n, "exact", False, open_ends)
        return statement, (given, found)

    @classmethod
    def faults(cls, prepared: Any) -> list[str]:  # each kind its own
        given, found = prepared
        return [] if found.proven else [f"its vectors do not prove that {WORDS[given['conclusion']]}"]

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
    sizes = fields.ints("cones", None, within=(0, len(b))).tolist()
    demand(len(q), "it has no variable")
    demand(len(sizes) >= 3, "its cones are fewer than three numbers")
    cones = Cones(sizes[0], sizes[1], tuple(sizes[3:]), sizes[2])
    demand(0 not in sizes[3:] and cones.size == len(b), f"its cones do not add up to its {len(b)} rows")
    P, A = matrix(fields, "P", len(q), len(q), read), matrix(fields, "A", len(b), len(q), read)
    entries = {(row, column): value for row, column, value in P[0] if value}
    demand(all(entries.get((j, i)) == value for (i, j), value in entries.items()), "P is not symmetric")
    demand(len({row for row, _ in entries}) <= MOST_CURVED, f"P has more than {MOST_CURVED} rows that are not 0")
    fields.done()
    (whole,), unit = read(constant.reshape(1))
    return Numbers(P, read(q), A, read(b), Fraction(whole, unit), cones)


def matrix(fields: Fields, name: str, m: int, n: int, read: Reading) -> tuple[list[tuple[int, int, int]], int]:
    """The entries of a matrix by columns."""
    data, starts = fields.floats(f"{name}_data", None), fields.ints(f"{name}_indptr", n + 1)
    indices = fields.ints(f"{name}_indices", len(data), within=(0, m - 1))
    fits = starts[0] == 0 and starts[-1] == len(data) and (starts[1:] >= starts[:-1]).all()
    demand(fits, f"data_{name}_indptr does not say where the {n} columns end")
    columns = np.repeat(np.arange(n), np.diff(starts))
    demand((np.diff(columns * m + indices) > 0).all(), f"the rows of a column of {name} do not rise")
    whole, unit = read(data)
    return list(zip(indices.tolist(), columns.tolist(), whole, strict=True)), unit


def claim(fields: Fields, program: Numbers) -> Claim:
    """The vectors that the certificate gives."""
    n, m = len(program.q[0]), program.cones.size
    found = {name: vector(fields, name, size) for name, size in (("x", n), ("w", n), ("y", m), ("d", n))}
    size = len({row for row, _, value in program.P[0] if value})
    root = stored(fields.floats("root", size**2)) if fields.has("root") else None
    fields.done()
    return Claim(**found, root=root)
