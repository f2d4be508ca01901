"""A convex program in the one form that is proven, and the exact numbers that a reading of it means.

    minimise  ½xᵀPx + qᵀx + constant   subject to   b − Ax ∈ K = {0}^zero × R₊^nonneg × SOC(k₁) × … × EXP^exp

as `backends.ConeProgram`, whose arrays these are. A maximisation is stored negated (`sign` = −1) and told as the user
wrote it: the user's value is sign · (the minimum).

Two readings of a float: the rational number that is stored (`float`), or the shortest decimal that rounds to it
(`decimal`): 0.1 is one tenth in a text file, and a number a little above in memory. A proof names its reading.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from workbench.arithmetic.arrays import size_of
from workbench.arithmetic.matrices import Matrix
from workbench.arithmetic.rationals import Ratios, ratios
from workbench.backends import ConeProgram
from workbench.contracts import Floats
from workbench.errors import BadInput, printed
from workbench.proofs.checker.archive import digest

READINGS = ("float", "decimal")
AUXILIARY = "auxiliary"  # begins the names of variables that CVXPY added


@dataclass(frozen=True, eq=False)
class Program:
    """The form above, with what tells a reader where its rows come from.

    rows : a name for each row of A, "" where a row is auxiliary;  columns : a name for each variable
    rounded : sentences on numbers that were rounded before the program came to be
    source : what else a certificate tells of the program; `generated`, how many of its rows an oracle gave
    """

    cone: ConeProgram
    constant: float = 0.0
    sign: int = 1
    name: str = "program"
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rounded: tuple[str, ...] = ()
    source: dict[str, str] = field(default_factory=dict)

    @property
    def linear(self) -> bool:
        """Rows are linear; the objective may be quadratic."""
        return not (self.cone.soc or self.cone.exp)

    @property
    def sizes(self) -> dict[str, int]:
        """What was read or compiled, counted; bounds of variables are rows."""
        cone = self.cone
        objective = sparse.csc_array(cone.P).nnz + int(np.count_nonzero(cone.q))
        return {
            "variables": len(cone.q),
            "rows": len(cone.b),
            "entries": int(sparse.csc_array(cone.A).nnz),
            "objective_entries": objective,
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays of a certificate that say what the program is (docs/certificate-format.md §11)."""
        cone = self.cone
        parts = {
            f"{name}_{part}": getattr(getattr(cone, name), part) for name in "PA" for part in ("indices", "indptr")
        }
        found = {name: part.astype("<i8") for name, part in parts.items()}
        found |= {"P_data": cone.P.data, "A_data": cone.A.data, "q": cone.q, "b": cone.b}
        sizes = [cone.zero, cone.nonneg, cone.exp, *cone.soc]
        return found | {"constant": np.array(self.constant), "cones": np.array(sizes, "<i8")}

    @cached_property
    def sha256(self) -> str:
        """Of the arrays."""
        return digest(self.arrays())


def program_of(P, q, A, b, zero: int, nonneg: int, soc: tuple[int, ...] = (), exp: int = 0, **told) -> Program:
    """A `Program` from arrays: checked, P symmetric, sparse without stored zeros, rows with b = ∞ left out."""
    q, b = np.asarray(q, float).ravel(), np.asarray(b, float).ravel()
    n, m = len(q), len(b)
    if not n:
        raise BadInput(f"{told.get('name', 'The program')} has no variable, so that there is nothing to prove.")
    P, A = (canonical(part, shape, what) for part, shape, what in ((P, (n, n), "P"), (A, (m, n), "A")))
    rows = list(map(printed, told.pop("rows", ()) or [f"row {k + 1}" for k in range(m)]))
    columns = tuple(map(printed, told.pop("columns", ()) or [f"x{k + 1}" for k in range(n)]))
    constant = float(told.pop("constant", 0.0))
    check_finite(P, q, A, constant, rows, columns)
    free = np.flatnonzero(np.isposinf(b) & (np.arange(m) >= zero) & (np.arange(m) < zero + nonneg))
    finite = np.isfinite(b)
    finite[free] = True
    if not finite.all():
        at = int(np.argmin(finite))
        raise BadInput(f"The right-hand side of {rows[at] or f'row {at + 1}'} is not finite; give a finite number.")
    if abs(P - P.T).sum() != 0:
        raise BadInput("P is not symmetric; give (P + Pᵀ)/2.")
    if len(free):
        A, b = A[np.setdiff1d(np.arange(m), free)], np.delete(b, free)
        rows, nonneg = [name for k, name in enumerate(rows) if k not in set(free.tolist())], nonneg - len(free)
    P, A = sparse.csc_array(P), sparse.csc_array(A)
    for matrix in (P, A):
        matrix.sort_indices()
    cone = ConeProgram(P, q, A, b, zero, nonneg, tuple(soc), exp)
    return Program(cone, constant, rows=tuple(rows), columns=columns, **told)


def check_finite(P, q, A, constant: float, rows: Sequence[str], columns: Sequence[str]) -> None:
    """Raise `BadInput` that names the row and the variable of an entry that is not finite."""
    if not np.isfinite(constant):
        raise BadInput(f"The objective's constant is {constant}; give a finite number.")
    if not np.isfinite(q).all():
        at = int(np.argmin(np.isfinite(q)))
        raise BadInput(f"The objective's coefficient of {columns[at]} is not finite; correct it.")
    for matrix in (P, A):
        entries = sparse.coo_array(matrix)
        if not np.isfinite(entries.data).all():
            at = int(np.argmin(np.isfinite(entries.data)))
            row, column = int(entries.coords[0][at]), columns[int(entries.coords[1][at])]
            where = "the objective" if matrix is P else rows[row] or f"row {row + 1}"
            raise BadInput(f"A coefficient of {column} in {where} is not finite; correct it.")


def canonical(matrix, shape: tuple[int, int], what: str) -> sparse.csr_array:
    if matrix is None:
        return sparse.csr_array(shape)
    matrix = sparse.csr_array(matrix, dtype=float)
    if matrix.shape != shape:
        raise BadInput(f"{what} has shape {matrix.shape}, not {shape}; correct the program's data.")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


# ── exact numbers ─────────────────────────────────────────────────────────────────────────────────────


class Exact(NamedTuple):
    """The program's numbers as rationals; `equal` rows come first, then `inequal`, then cones."""

    P: Matrix
    q: Ratios
    A: Matrix
    b: Ratios
    constant: Fraction
    zero: int
    nonneg: int
    soc: tuple[int, ...]
    exp: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.A.shape


def exact(program: Program, reading: str) -> Exact:
    """The program's numbers under a reading."""
    if reading not in READINGS:
        raise BadInput(f"The reading is {reading!r}; give 'float' (numbers as stored) or 'decimal'.")
    cone, read = program.cone, stored if reading == "float" else decimals
    constant = read(np.array([program.constant]))
    return Exact(
        matrix_of(cone.P, read),
        read(cone.q),
        matrix_of(cone.A, read),
        read(cone.b),
        Fraction(int(constant.whole[0]), constant.unit),
        cone.zero,
        cone.nonneg,
        cone.soc,
        cone.exp,
    )


def stored(values: Floats) -> Ratios:
    return ratios(values)


def decimals(values: Floats) -> Ratios:
    """Each float as the shortest decimal that rounds to it, over one power of ten."""
    parsed = [decimal(value) for value in np.asarray(values, float).tolist()]
    least = min([0, *(power for digits, power in parsed if digits)])
    whole = [digits * 10 ** (power - least) if digits else 0 for digits, power in parsed]
    return Ratios.of(whole, 10**-least)


def decimal(value: float) -> tuple[int, int]:
    """(digits, power) with value = digits · 10^power."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, part = mantissa.partition(".")
    part = part.rstrip("0")
    return int(whole + part), int(exponent or 0) - len(part)


def matrix_of(floats: Floats | sparse.csc_array, read: Callable[[Floats], Ratios]) -> Matrix:
    rows = sparse.csr_array(floats)
    entries, shape = sparse.coo_array(rows), size_of(rows)
    values = read(np.asarray(entries.data, float))
    return Matrix(entries.row.astype(np.int64), entries.col.astype(np.int64), values.whole, values.unit, shape)
