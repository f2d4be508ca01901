"""A CVXPY program whose constraints come later: compiled once, with rows appended to the compiled form.

CVXPY has no constraint generation: to add a constraint, the problem has to be built and compiled
anew. Here the base is compiled once to

    min ½xᵀPx + qᵀx   s.t.  b − Ax ∈ K

and a row  ⟨a, θ⟩ + o ≤ ξ_g  (or ≤ 0)  is spliced in behind the base's non-negative rows.

`program(problem, cuts)` of a formulation calls `cuts([θ variables], ξ)` in the place of its constraint family
(`CutConstraints`). The class of `cuts` decides what stands there:

    LazyCuts      no rows yet; the object remembers the variables, and rows are appended later
    WrittenCuts   all given rows as one stacked CVXPY constraint: the fully written program
"""

# CVXPY types comparisons as bool, SciPy the parts of a sparse matrix as any array.
# pyright: reportReturnType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import cvxpy as cp
import numpy as np
from cvxpy.reductions.matrix_stuffing import extract_mip_idx
from scipy import sparse

from workbench.backends import ConeProgram
from workbench.contracts import CutForm, Enumerable, Floats, Ints, Problem, Rows, enumerated
from workbench.errors import MissingCapability


class LazyCuts:
    """The family ξ_g ≥ ⟨a, θ⟩ + o of a declaration, before any row of the family is known.

    A declaration may be scaled for the backend's sake: θ = units · its variables, one unit a variable, and
    ξ = unit · its variable; rows and multipliers are converted.
    """

    def __init__(self, prices: Floats):
        self.prices, self.groups = prices, len(prices)
        self.theta: list[cp.Variable] = []
        self.xi: cp.Variable | None = None
        self.units, self.unit = np.empty(0), 1.0

    def __call__(
        self, theta: list[cp.Variable], xi: cp.Variable | None = None, units: Sequence[float] = (), unit: float = 1.0
    ) -> list[cp.Constraint]:
        self.remember(theta, xi, units, unit)
        # CVXPY compiles only variables that occur, and b may occur in lazy rows alone.
        return [0 * cp.sum(variable) <= 1 for variable in self.theta]

    def remember(self, theta: list[cp.Variable], xi: cp.Variable | None, units: Sequence[float], unit: float) -> None:
        self.theta, self.xi, self.unit = list(theta), xi, unit
        self.units = np.repeat(np.asarray(units or np.ones(len(theta))), [each.size for each in theta])


class WrittenCuts(LazyCuts):
    """The family written out: Rows as one stacked CVXPY constraint, kept in `constraints` for its dual values."""

    def __init__(self, prices: Floats, rows: Rows):
        super().__init__(prices)
        self.rows = rows
        self.constraints: list[cp.Constraint] = []

    def __call__(
        self, theta: list[cp.Variable], xi: cp.Variable | None = None, units: Sequence[float] = (), unit: float = 1.0
    ) -> list[cp.Constraint]:
        self.remember(theta, xi, units, unit)
        value = self.rows.slopes @ cp.multiply(self.units, cp.hstack(self.theta)) + self.rows.offsets
        self.constraints = [value <= (0 if xi is None else self.rows.membership(self.groups) @ (unit * xi))]
        return self.constraints


def written(formulation: CutForm, problem: Problem) -> tuple[cp.Problem, WrittenCuts]:
    """The program with every cut of every output in one stacked constraint (enumerable outputs only).

    Samples of weight 0 are left out: at price ∞ their cuts would be constraints like those of other samples.
    """
    if not isinstance(problem, Enumerable):
        raise MissingCapability(f"The outputs of {type(problem).__name__} cannot be listed; solve the program by cuts.")
    oracle, prices = formulation.oracle(problem), formulation.prices(problem)
    samples, outputs = enumerated(problem, np.flatnonzero(prices.weights > 0))
    slopes, offsets = oracle.rows(samples, outputs)
    groups = np.full(len(samples), -1) if prices.hard else samples
    cuts = WrittenCuts(np.empty(0) if prices.hard else prices.floats(), Rows(slopes, offsets, groups))
    return formulation.program(problem, cuts), cuts


def relaxed(
    objective: cp.Minimize | cp.Maximize, constraints: list[cp.Constraint], variables: list[cp.Variable], cuts: LazyCuts
) -> tuple[cp.Problem, Ints]:
    """The program over continuous variables, with 0 ≤ x ≤ 1 for boolean ones, and the numbers of the integer entries.

    A program without integer variables is itself. Numbers count the entries of all variables, one after the other.
    """
    whole = [np.concatenate([[], *found]).astype(np.int64) for found in extract_mip_idx(variables)]
    if not len(whole[0]) and not len(whole[1]):
        return cp.Problem(objective, [*constraints, *cuts(variables)]), np.empty(0, np.int64)
    twins = [cp.Variable(v.shape, name=v.name()) for v in variables]
    stands = {id(v): twin for v, twin in zip(variables, twins, strict=True)}
    every = cp.hstack([cp.vec(twin, order="F") for twin in twins])
    bounds = [every[whole[0]] >= 0, every[whole[0]] <= 1] if len(whole[0]) else []
    aim, kept = objective.tree_copy(stands), [each.tree_copy(stands) for each in constraints]
    return cp.Problem(aim, [*kept, *bounds, *cuts(twins)]), np.union1d(*whole)


class CompiledBase:
    """A cp.Problem compiled once, with the columns of its θ and ξ, ready for more rows."""

    def __init__(self, problem: cp.Problem, cuts: LazyCuts):
        self.problem = problem
        data, _, _ = problem.get_problem_data(cp.CLARABEL, solver_opts={})
        dims, columns = data["dims"], data["param_prob"].var_id_to_col
        if dims.psd or dims.p3d or dims.pnd:
            raise MissingCapability(
                "The program has semidefinite or power cones, which no master takes; use linear, quadratic, "
                "second-order or exponential ones, or generate uᵀMu ≥ 0 as cuts."
            )
        self.cone = ConeProgram(
            P=sparse.csc_array((len(data["c"]),) * 2) if data.get("P") is None else sparse.csc_array(data["P"]),
            q=np.asarray(data["c"], float),
            A=sparse.csc_array(data["A"]),
            b=np.asarray(data["b"], float),
            zero=dims.zero,
            nonneg=dims.nonneg,
            soc=tuple(dims.soc),
            exp=dims.exp,
        )
        self.parts = cut(sparse.csr_array(self.cone.A), dims.zero + dims.nonneg)
        # (c, d, A, b) or (P, c, d, A, b): d is the objective's constant
        self.offset = float(data["param_prob"].apply_parameters(quad_obj="P" in data)[-3])
        self.theta = np.concatenate([np.arange(v.size) + columns[v.id] for v in cuts.theta])
        self.xi = np.empty(0, np.int64) if cuts.xi is None else np.arange(cuts.xi.size) + columns[cuts.xi.id]
        self.units, self.unit = cuts.units, cuts.unit

    def read(self, x: Floats) -> Floats:
        """θ of a solution x."""
        return x[self.theta] * self.units

    def native(self, rows: Rows) -> tuple[Ints, Ints, Floats]:
        """The rows over the columns of x, a at θ's and −1 at ξ_g's, as CSR: lengths, columns, values."""
        held = np.flatnonzero(rows.groups >= 0)
        ends, lengths = rows.slopes.indptr[1:][held], np.diff(rows.slopes.indptr)
        lengths[held] += 1
        columns = np.insert(self.theta[rows.slopes.indices], ends, self.xi[rows.groups[held]])
        values = rows.slopes.data * self.units[rows.slopes.indices] / self.unit
        return lengths, columns, np.insert(values, ends, -1.0)

    def extended(self, rows: Rows) -> tuple[ConeProgram, slice]:
        """The cone program with the rows spliced in, and their places.

        Arrays are joined by hand: SciPy's stacking takes longer than many a solver on a few hundred rows.
        """
        base, m = self.cone, len(rows.offsets)
        split = base.zero + base.nonneg
        (above, below), middle = self.parts, self.native(rows)
        lengths, columns, values = (np.concatenate(each) for each in zip(above, middle, below, strict=True))
        ends = np.concatenate([[0], np.cumsum(lengths)])
        A = sparse.csr_array((values, columns, ends), shape=(len(lengths), len(base.q)))
        grown = replace(
            base,
            A=sparse.csc_array(A),
            b=np.concatenate([base.b[:split], -rows.offsets / self.unit, base.b[split:]]),
            nonneg=base.nonneg + m,
        )
        return grown, slice(split, split + m)


def cut(A: sparse.csr_array, split: int) -> list[tuple[Ints, Ints, Floats]]:
    """The rows before `split` and from it on, each as CSR: lengths, columns, values."""
    at, lengths = A.indptr[split], np.diff(A.indptr)
    return [(lengths[:split], A.indices[:at], A.data[:at]), (lengths[split:], A.indices[at:], A.data[at:])]
