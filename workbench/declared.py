"""A CVXPY program whose constraints come later: compiled once, rows appended natively.

CVXPY has no constraint generation: adding a constraint means building and compiling the problem
anew. Here the base is compiled once to

    min ½xᵀPx + qᵀx   s.t.  b − Ax ∈ K

and a row  ⟨a, θ⟩ + o ≤ ξ_g  (or ≤ 0)  is spliced in behind the base's non-negative rows.

`program(problem, cuts)` of a formulation calls `cuts([θ variables], ξ)` where its constraint family
stands; what that returns decides what becomes of it:

    LazyCuts      nothing yet, only remembers the variables: rows are appended later
    WrittenCuts   all given rows as one stacked CVXPY constraint: the fully written program
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
from scipy import sparse

from workbench.backends import ConeProgram
from workbench.structures import Floats, Rows


class LazyCuts:
    """The family ξ_g ≥ ⟨a, θ⟩ + o of a declaration, before any of its rows is known."""

    def __init__(self, prices: Floats):
        self.prices, self.groups = prices, len(prices)
        self.theta: list[cp.Variable] = []
        self.xi: cp.Variable | None = None

    def __call__(self, theta: list[cp.Variable], xi: cp.Variable | None = None) -> list[cp.Constraint]:
        self.theta, self.xi = list(theta), xi
        # CVXPY compiles only variables that occur, and b may occur in lazy rows alone.
        return [0 * cp.sum(variable) <= 1 for variable in self.theta]


class WrittenCuts(LazyCuts):
    """The family written out: Rows as one stacked CVXPY constraint."""

    def __init__(self, prices: Floats, rows: Rows):
        super().__init__(prices)
        self.rows = rows

    def __call__(self, theta: list[cp.Variable], xi: cp.Variable | None = None) -> list[cp.Constraint]:
        self.theta, self.xi = list(theta), xi
        value = self.rows.slopes @ cp.hstack(self.theta) + self.rows.offsets
        return [value <= 0] if xi is None else [value <= self.rows.membership(self.groups) @ xi]


def written(formulation: Any, problem: Any) -> tuple[cp.Problem, WrittenCuts]:
    """The program with every cut of every output in one stacked constraint (enumerable outputs only)."""
    oracle, prices = formulation.oracle(problem), formulation.prices(problem)
    outputs = [problem.outputs(i) for i in range(problem.n_samples)]
    samples = np.repeat(np.arange(problem.n_samples), [len(o) for o in outputs])
    slopes, offsets = oracle.rows(samples, np.concatenate(outputs))
    groups = np.full(len(samples), -1) if prices.hard else samples
    cuts = WrittenCuts(np.empty(0) if prices.hard else prices.floats(), Rows(slopes, offsets, groups))
    return formulation.program(problem, cuts), cuts


class CompiledBase:
    """A cp.Problem compiled once, with the columns of its θ and ξ, ready for more rows."""

    def __init__(self, problem: cp.Problem, cuts: LazyCuts):
        self.problem = problem
        data, _, _ = problem.get_problem_data(cp.CLARABEL, solver_opts={})
        dims, columns = data["dims"], data["param_prob"].var_id_to_col
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
        # (c, d, A, b) or (P, c, d, A, b): d is the objective's constant
        self.offset = float(data["param_prob"].apply_parameters(quad_obj="P" in data)[-3])
        self.theta = np.concatenate([np.arange(v.size) + columns[v.id] for v in cuts.theta])
        self.xi = np.empty(0, np.int64) if cuts.xi is None else np.arange(cuts.xi.size) + columns[cuts.xi.id]

    def native(self, rows: Rows) -> sparse.csr_array:
        """The rows over the columns of x: a at θ's columns and −1 at ξ_g's."""
        m, n = len(rows.offsets), len(self.cone.q)
        slopes = sparse.coo_array(rows.slopes)
        held = np.flatnonzero(rows.groups >= 0)
        entries = np.concatenate([slopes.data, -np.ones(len(held))])
        where = (
            np.concatenate([slopes.coords[0], held]),
            np.concatenate([self.theta[slopes.coords[1]], self.xi[rows.groups[held]]]),
        )
        return sparse.csr_array((entries, where), shape=(m, n))

    def extended(self, rows: Rows) -> tuple[ConeProgram, slice]:
        """The cone program with the rows spliced in, and where they stand."""
        native, offsets = self.native(rows), rows.offsets
        base, split = self.cone, self.cone.zero + self.cone.nonneg
        A = sparse.csr_array(base.A)
        grown = replace(
            base,
            A=sparse.csc_array(sparse.vstack([A[:split], native, A[split:]])),
            b=np.concatenate([base.b[:split], -offsets, base.b[split:]]),
            nonneg=base.nonneg + len(offsets),
        )
        return grown, slice(split, split + len(offsets))
