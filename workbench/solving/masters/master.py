"""Masters: the convex program over the rows generated so far, solved for θ and row multipliers β.

    min over θ, ξ   r(θ) + Σ_g p_g ξ_g    s.t.  ξ_g ≥ ⟨a_r, θ⟩ + o_r  for every row r of group g

    CompiledMaster   any CVXPY base: compiled once, rows appended natively; β are the rows' duals
    GramMaster       r = μ/2‖θ‖²: the dual, a QP over the Gram matrix H = RRᵀ/μ of the rows,
                     min ½βᵀHβ − ⟨o, β⟩   s.t.  Σ_{r∈g} β_r = p_g,  β ≥ 0;      θ = −Rᵀβ/μ

    AscentMaster     the dual by our own block ascent on sparse rows, from the last β (solving/masters/ascent.py)

For hard rows (no ξ) the dual has no simplex and may be unbounded. It is homogeneous, so the Gram
master solves  min ½αᵀHα  s.t. ⟨o, α⟩ = 1, α ≥ 0  instead, which is always feasible and has the value ρ²/2, and
scales: β = α/ρ². ρ → 0 is a Farkas ray: no θ satisfies the hard rows.

No answer of a master is believed: `Bounds` recomputes both bounds from β, θ and the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from workbench.backends import Answer, Backend, ConeProgram
from workbench.contracts import Floats, Grown, GrownRows, Ints, Rows
from workbench.solving.masters.face import products
from workbench.solving.masters.polish import finished
from workbench.system.memory import demand

if TYPE_CHECKING:  # CVXPY takes a second to import and the Gram master does without
    from workbench.solving.masters.declared import CompiledBase


SMALLEST = 1e-5  # below which an optimal value is no unit: early masters may have 0


@dataclass(frozen=True)
class MasterAnswer:
    """θ (p,), row multipliers β (rows,) and the backend's status; `ray` if the backend claims infeasibility.

    dual : the Lagrangian's least value near x at the backend's multipliers, numerical; for bases whose
        conjugate has no closed form
    stopped : the time limit came before an answer
    """

    theta: Floats
    multipliers: Floats
    status: str
    ray: bool = False
    dual: float = -np.inf
    stopped: bool = False


class Master:
    """The base class of masters: keeps the rows; each subclass solves.

    successors : makers of stronger, costlier masters, in order
    """

    successors: Sequence[Callable[[], Master]] = ()

    def __init__(self, dim: int, name: str):
        self.name, self._slopes = name, GrownRows(dim)
        self._offsets, self._groups = Grown(np.empty(0)), Grown(np.empty(0, np.int64))

    @property
    def rows(self) -> Rows:
        return Rows(self._slopes.view, self._offsets.view, self._groups.view)

    def append(self, rows: Rows) -> None:
        self._slopes.extend(rows.slopes)
        self._offsets.extend(rows.offsets)
        self._groups.extend(rows.groups)

    def solve(self, tolerance: float, shortfall: float, time_limit: float | None = None) -> MasterAnswer:
        """θ and β over the rows so far.

        tolerance : the backend's own
        shortfall : how far the dual value of the answer may stay below the optimum, for masters that can stop early
        time_limit : the backend's, in seconds; a sweep of the ascent is never cut short
        """
        raise NotImplementedError

    def stronger(self) -> Master | None:
        """The next successor with the same rows, for a master that gains no more accuracy; None if there is none."""
        if not self.successors:
            return None
        first, *rest = self.successors
        master = first()
        master.append(self.rows)
        master.successors = rest
        return master

    def finish(self) -> MasterAnswer | None:
        """The last answer brought to machine accuracy by the rows that hold with equality, or None."""
        return None

    def warm(self, multipliers: Floats) -> None:
        """Start from these β of the rows; masters without a warm start ignore them."""

    def keep(self, index: Ints) -> None:
        """Drop all rows but these."""
        kept = self.rows.take(index)
        Master.__init__(self, self._slopes.dim, self.name)
        Master.append(self, kept)


class CompiledMaster(Master):
    """The primal master over a compiled CVXPY base; the last answer is a hint to backends that a hint speeds up.

    size : the last optimal value, at first the declaration's unit; once the tolerance is tightened the
        objective is divided by `size`, since backends treat tolerances partly as absolute
    coarse : the first, coarsest tolerance
    """

    def __init__(self, base: CompiledBase, backend: Backend):
        super().__init__(len(base.theta), backend.name)
        self.base, self.backend = base, backend
        self.last: Answer | None = None  # without the rows' multipliers, which come and go with them
        self.multipliers: Floats = np.empty(0)
        self.size, self.coarse = base.unit, 0.0

    def append(self, rows: Rows) -> None:
        super().append(rows)
        self.multipliers = np.concatenate([self.multipliers, np.zeros(len(rows.offsets))])

    def keep(self, index: Ints) -> None:
        super().keep(index)
        self.multipliers = self.multipliers[index]

    def solve(self, tolerance: float, shortfall: float, time_limit: float | None = None) -> MasterAnswer:
        given, where = self.base.extended(self.rows)
        self.coarse = max(self.coarse, tolerance)
        size = self.size if tolerance < self.coarse else self.base.unit
        program = replace(given, P=given.P / size, q=given.q / size)
        answer = self.backend.solve(program, tolerance, time_limit, self.hint(where.start, size))
        answer = replace(answer, z=answer.z * size)
        self.multipliers = np.maximum(np.nan_to_num(answer.z[where]), 0) / self.base.unit
        self.last = replace(answer, z=np.delete(answer.z, where))
        dual = numerical_dual(given, answer)
        size = abs(dual + self.base.offset)
        self.size = size if SMALLEST * self.base.unit < size < np.inf else self.size
        theta = self.base.read(answer.x)
        return MasterAnswer(theta, self.multipliers, answer.status, answer.infeasible, dual, answer.stopped)

    def finish(self) -> MasterAnswer | None:
        program, where = self.base.extended(self.rows)
        if self.last is None:
            return None
        mine = self.multipliers * self.base.unit
        z = np.concatenate([self.last.z[: where.start], mine, self.last.z[where.start :]])
        found = finished(program, self.last.x, z, self.size)
        if found is None:
            return None
        x, z = found
        answer = replace(self.last, x=x, z=z)
        dual = numerical_dual(program, answer)
        return MasterAnswer(self.base.read(x), z[where] / self.base.unit, "active set", dual=dual)

    def hint(self, split: int, size: float) -> Answer | None:
        """The last answer over the rows of now, which stand behind the first `split` of the base."""
        if self.last is None or not self.backend.warms:
            return None
        z = self.last.z
        mine = self.multipliers * self.base.unit
        return replace(self.last, z=np.concatenate([z[:split], mine, z[split:]]) / size)


GRAMS = 5  # copies of the Gram matrix: while it grows, as a program, in two copies of the backend


class GramMaster(Master):
    """The dual master over the Gram matrix of the rows."""

    def __init__(self, curvature: float, prices: Floats, dim: int, backend: Backend):
        super().__init__(dim, backend.name)
        self.curvature, self.prices, self.backend = curvature, prices, backend
        self.gram: Floats = np.empty((0, 0))

    def append(self, rows: Rows) -> None:
        old, new = len(self.gram), len(self.gram) + len(rows.offsets)
        instead = "take fewer samples, --groups one, or a soft margin with a small lam"
        demand(8 * GRAMS * new**2, f"The inner products of {new} rows", instead)
        super().append(rows)
        grown = np.empty((new, new))
        grown[:old, :old] = self.gram
        grown[:, old:] = products(self.rows.slopes, rows.slopes)
        grown[old:, :old] = grown[:old, old:].T
        self.gram = grown

    def keep(self, index: Ints) -> None:
        super().keep(index)
        self.gram = self.gram[np.ix_(index, index)]

    def solve(self, tolerance: float, shortfall: float, time_limit: float | None = None) -> MasterAnswer:
        hard = len(self.prices) == 0
        answer, beta = (self.homogeneous if hard else self.priced)(tolerance, time_limit)
        theta = -(self.rows.slopes.T @ beta) / self.curvature
        if hard and not answer.stopped:
            square = float(theta @ theta) * self.curvature
            if square <= 0:
                return MasterAnswer(theta, beta, answer.status, ray=True)
            beta, theta = beta / square, theta / square
        return MasterAnswer(theta, beta, answer.status, stopped=answer.stopped)

    def priced(self, tolerance: float, time_limit: float | None) -> tuple[Answer, Floats]:
        # β_r = p_g α_r keeps the variables of order one whatever the number of samples.
        price = self.prices[self.rows.groups]
        scale = max(1.0, float(np.max(np.diag(self.gram) * price**2, initial=0.0)) / self.curvature)
        program = ConeProgram(
            P=self.gram * np.outer(price, price / self.curvature / scale),
            q=-self.rows.offsets * price / scale,
            A=sparse.csc_array(self.rows.membership(len(self.prices)).T),
            b=np.ones(len(self.prices)),
            zero=len(self.prices),
            nonneg=0,
            lower_zero=True,
        )
        answer = self.backend.solve(program, tolerance, time_limit)
        return answer, np.maximum(np.nan_to_num(answer.x), 0) * price

    def homogeneous(self, tolerance: float, time_limit: float | None) -> tuple[Answer, Floats]:
        scale = float(np.mean(np.diag(self.gram))) or 1.0
        program = ConeProgram(
            P=self.gram / scale,
            q=np.zeros(len(self.rows.offsets)),
            A=sparse.csc_array(self.rows.offsets[None, :]),
            b=np.ones(1),
            zero=1,
            nonneg=0,
            lower_zero=True,
        )
        answer = self.backend.solve(program, tolerance, time_limit)
        return answer, np.maximum(np.nan_to_num(answer.x), 0)


def numerical_dual(program: ConeProgram, answer: Answer) -> float:
    """min over x' of the Lagrangian at multipliers z, for x' within D = 1 + 2‖x‖ of x.

    With residual ρ = Px + q + Aᵀz this minimum is at least  −½xᵀPx + ρᵀx − bᵀz − ‖ρ‖D: a small dual residual lowers
    the value. The value is numerical: rounding is not enclosed, and that an optimum lies within D is a guess.
    """
    x, z = answer.x, answer.z
    if not (np.isfinite(x).all() and np.isfinite(z).all()):
        return -np.inf
    curved = program.P @ x
    residual = curved + program.q + program.A.T @ z
    if np.linalg.norm(residual) > 1e-4 * max(1.0, np.linalg.norm(program.q)):
        return -np.inf  # no dual point at all, e.g. because the program is unbounded
    value = -(x @ curved) / 2 + residual @ x - program.b @ z
    return float(value - np.linalg.norm(residual) * (1 + 2 * np.linalg.norm(x)))
