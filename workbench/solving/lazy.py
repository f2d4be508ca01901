"""Constraints on demand, for any CVXPY program.

    minimise  f(x)   s.t.  x ∈ base,   ⟨a, x⟩ + b ≤ 0  for all (a, b) of families too large to write

    x = cp.Variable(2)
    def oracle(x_value):                        # violated members at this point, or []
        return [(a, b)]                         # rows; or CVXPY constraints such as a @ x + b <= 0
    problem = LazyProblem(cp.Minimize(f), [x >= -1], [LazyConstraint(x, oracle)])
    problem.solve(gap=1e-9)                     # x.value, as in CVXPY; returns a `LazySolution`

The base is compiled once and rows are appended to the compiled form (solving/masters/declared.py), by the loop that
solves our own formulations (solving/cutting_planes.py). Generated rows stay with the problem: a further solve, after
a change of a cp.Parameter of the base, starts with these rows.

*What the answer proves.* Leaving constraints out can only lower the minimum, so a dual value of the base with the rows
so far is a lower bound. The dual value is the backend's, lowered by its dual residual and not enclosed (`lower_kind`
is "numerical"), unless the last master is proven (solving/lazy_proof.py; "proven"). A point that violates neither base
nor families by more than `feasibility` gives the upper bound, which is right if the oracles are. So does `repair`, an
optional function from the variables' values to feasible values; at the end the oracles check the repaired point.

*Integer variables.* With `boolean=True` or `integer=True` each round searches a tree (solving/masters/tree.py). A
tree's bound comes with no multipliers that could be checked: the bound is the backend's, and `lower_kind` says so.

*Changes between solves.* An oracle may write CVXPY inequalities with Parameters: rows from other values of these
Parameters are dropped. Everything else that an oracle reads must stay the same; after a change call `forget`.
"""

# CVXPY types its values as anything or None, and its constraints as bool.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.reductions.cvx_attr2constr import convex_attributes
from scipy import sparse

from workbench.backends import BACKENDS
from workbench.backends import backend as find_backend
from workbench.backends.trees import tree_backend, versioned_tree
from workbench.contracts import Floats, Ints, Rows
from workbench.errors import BackendFailed, BadInput
from workbench.programs.proof import Proof
from workbench.solving.cutting_planes import generate
from workbench.solving.lazy_proof import lower_end, proven_master
from workbench.solving.lazy_rows import LazyRow, LazyRows
from workbench.solving.masters.declared import CompiledBase, LazyCuts, relaxed
from workbench.solving.masters.master import CompiledMaster, Master, MasterAnswer
from workbench.solving.masters.tree import TreeMaster
from workbench.solving.progress import Clock, Observe, Progress, Record
from workbench.solving.request import Request

Repair = Callable[..., Any]  # the user's function


@dataclass(frozen=True)
class LazyConstraint:
    """A family of constraints that an oracle generates.

    variables : the cp.Variables whose values the oracle gets, one argument each
    oracle : values -> an iterable of violated members, [] if there is none. A member is
        an affine CVXPY inequality, of any shape, or
        (a, b) : ⟨a, x⟩ + b ≤ 0 with a of the variable's shape, or one such array for each variable
    """

    variables: cp.Variable | Sequence[cp.Variable]
    oracle: Callable[..., Iterable[Any]]  # the user's function, so its answers may be anything

    def __post_init__(self):
        several = isinstance(self.variables, cp.Variable | Sequence)
        if not callable(self.oracle) or not several or not all(isinstance(v, cp.Variable) for v in self.members()):
            raise BadInput("A LazyConstraint needs a cp.Variable, or several, and a function of their values.")

    def members(self) -> tuple[cp.Variable, ...]:
        """The variables, as a tuple."""
        return (self.variables,) if isinstance(self.variables, cp.Variable) else tuple(self.variables)


@dataclass
class LazySolution:
    """The outcome of `LazyProblem.solve`; the CVXPY variables hold the values of the answer.

    value : the objective at these values;  lower : a bound on the optimum
    lower_kind : proven; numerical, by a backend's multipliers; or "backend's", its word for a tree of integer variables
    upper : a bound that is right if the oracles are, since they alone check that no row is violated
    violation : the largest violation that the oracles report there;  rows : the rows in the last master
    proof : the proof of a proven lower bound; `proof.save` writes a certificate, with the rows that the oracles gave
    """

    value: float
    upper: float
    lower: float
    gap: float
    status: str
    violation: float
    rounds: int
    rows: int
    backend: str
    seconds: float
    compile_seconds: float
    lower_kind: str = "numerical"
    proof: Proof | None = field(default=None, repr=False)
    history: list[Record] = field(default_factory=list, repr=False)


class LazyProblem:
    """An objective and constraints of CVXPY, and lazy families; see the module's docstring."""

    def __init__(
        self,
        objective: cp.Minimize | cp.Maximize,
        constraints: Sequence[cp.Constraint] = (),
        lazy: Sequence[LazyConstraint] = (),
    ):
        if not isinstance(objective, cp.Minimize | cp.Maximize):
            raise BadInput("A LazyProblem's objective is cp.Minimize(…) or cp.Maximize(…), as in CVXPY.")
        given = {"constraints": (constraints, cp.Constraint), "lazy": (lazy, LazyConstraint)}
        for name, (members, kind) in given.items():
            if not isinstance(members, Sequence) or not all(isinstance(each, kind) for each in members):
                raise BadInput(f"A LazyProblem's {name} are a list of {kind.__name__}; write a list.")
        if not lazy:
            raise BadInput("A LazyProblem needs at least one LazyConstraint; solve other programs by CVXPY.")
        written = cp.Problem(objective, list(constraints))
        cuts = LazyCuts(np.empty(0))
        every = {v.id: v for v in (*written.variables(), *(v for family in lazy for v in family.members()))}
        self.variables, self.lazy, self.sign = list(every.values()), list(lazy), 1.0
        if isinstance(objective, cp.Maximize):
            self.sign = -1.0
        if not written.is_dcp():
            raise BadInput("The objective and constraints are not convex by CVXPY's rules; see problem.is_dcp().")
        if named := convex_attributes(self.variables):
            raise BadInput(
                f"A variable has the attribute {named[0]}, which CVXPY compiles to another variable; "
                f"write it as a constraint, such as x >= 0 for nonneg."
            )
        self.objective, self.constraints = objective, list(constraints)
        self.cuts, self.problem, self.whole = cuts, *relaxed(objective, list(constraints), self.variables, cuts)
        self.forget()
        starts = np.cumsum([0, *(v.size for v in self.variables)])
        self.place = {v.id: slice(a, b) for v, a, b in zip(self.variables, starts, starts[1:], strict=False)}

    def forget(self) -> None:
        """Drop the rows so far, which are wrong if anything that an oracle reads has changed."""
        self.pool, self.parameters = LazyRows(sum(v.size for v in self.variables)), dict[cp.Parameter, object]()

    def solve(
        self,
        gap: float = 1e-8,
        backend: str | None = None,
        feasibility: float = 1e-8,
        floor: float = 0.0,
        repair: Repair | None = None,
        max_rounds: int | None = None,
        time_limit: float | None = None,
        observe: Observe | None = None,
        prove: bool = True,
    ) -> LazySolution:
        """Generate constraints until (upper − lower)/max(|upper|, |lower|, floor) ≤ `gap`.

        backend : None takes HiGHS's simplex method for linear programs where installed, else CLARABEL
        feasibility : the largest violation, in the oracles' own units, that counts as feasible
        floor : the objective's unit; an optimum of 0 has no relative gap, and with floor=0 such a run ends `stalled`
        repair : values of all oracles' variables, in order -> as many feasible values; with `repair` every round
            gives an upper bound
        prove : replace the lower bound by a proven bound if the gap stays as small (solving/lazy_proof.py)

        Raises
        ------
        BadInput : an oracle's answer that is no affine inequality in its variables; a repaired point that is infeasible
        BackendFailed : no finite answer, e.g. because the base alone is unbounded
        """
        request = Request(gap, time_limit=time_limit, max_rounds=max_rounds, observe=observe)
        for name, number in (("feasibility", feasibility), ("floor", floor)):
            if not isinstance(number, Real) or not 0 <= number < np.inf:
                raise BadInput(f"{name} is {number!r}; give a number from 0 on, such as 1e-8.")
        self.refresh()
        clock = Clock()
        self.base = base = CompiledBase(self.problem, self.cuts)
        master, family = self.master(base, backend), LazyFamily(self, base.offset, feasibility, floor, repair)
        compile_seconds = clock.seconds
        state = generate(family, master, request, held=self.pool.handles())
        if state.status == "stalled" and state.lower == -np.inf:
            raise BackendFailed(
                f"{master.name} found no dual point of the base with {len(self.pool.rows)} rows, so that it may be "
                "unbounded; bound the variables."
            )
        answer = state.theta if np.isfinite(state.upper) else state.latest
        violation = family.settle(answer)
        if repair and np.isfinite(state.upper) and violation > feasibility:
            raise BadInput(
                f"repair returned a point that the oracles find violated by {violation:.3g}, more than "
                f"feasibility={feasibility}; correct repair."
            )
        low, proof = state.lower, None
        if prove and np.isfinite(state.upper) and not len(self.whole):
            low, proof = self.proven_end(base, family, state, request, master.name)
        upper, lower = sorted((self.sign * state.upper, self.sign * low), reverse=True)
        last = state.history[-1]
        return LazySolution(
            value=float(self.objective.value),
            upper=upper,
            lower=lower,
            gap=family.gap(state.upper, low),
            status=state.status,
            violation=violation,
            rounds=last["round"],
            rows=last["cuts"],
            backend=versioned_tree(master.name)
            if len(self.whole)
            else f"{master.name} {BACKENDS[master.name].version}",
            seconds=clock.seconds - compile_seconds,
            compile_seconds=compile_seconds,
            lower_kind="backend's" if len(self.whole) else "numerical" if proof is None else "proven",
            proof=proof,
            history=state.history,
        )

    def master(self, base: CompiledBase, name: str | None) -> Master:
        """The master of this base, with the backend of that name or the one that suits the base."""
        linear = not (base.cone.P.nnz or base.cone.soc or base.cone.exp) and BACKENDS["HIGHS"].installed
        suited = "HIGHS" if linear else "CLARABEL"
        if not len(self.whole):
            return CompiledMaster(base, find_backend(name or suited))
        return TreeMaster(base, tree_backend(base.cone, name), base.theta[self.whole], find_backend(suited))

    def refresh(self) -> None:
        """Forget the rows if a parameter has another value than they were made with; `BadInput` if it has none."""
        for parameter in self.problem.parameters():
            if parameter.value is None:
                raise BadInput(f"The parameter {parameter.name()} has no value; give it one before solving.")
        if any(not np.array_equal(each.value, value) for each, value in self.parameters.items()):
            self.forget()

    def proven_end(
        self, base: CompiledBase, family: LazyFamily, state: Progress, request: Request, backend: str
    ) -> tuple[float, Proof | None]:
        """The proven lower bound and its proof, if the gap stays as small with it; else the loop's bound and None."""
        rows = self.pool.take(self.pool.handles())
        proof = proven_master(base, rows, int(self.sign), backend, request.time_limit)
        # the upper point may violate rows by `feasibility` and so lie below the proven end, which then is lowered
        end = min(lower_end(proof), state.upper)
        small = family.gap(state.upper, end) <= max(request.gap, family.gap(state.upper, state.lower))
        return (end, proof) if small else (state.lower, None)

    def assign(self, x: Floats) -> None:
        """Give the variables their parts of x."""
        for variable in self.variables:
            part = np.reshape(x[self.place[variable.id]], variable.shape, order="F")
            variable.save_value(part if variable.shape else part[()])

    def violated(self) -> Iterator[LazyRow]:
        """Rows ⟨a, x⟩ + b ≤ 0 from every oracle at the variables' present values."""
        for family in self.lazy:
            members = family.members()
            answers = family.oracle(*copies(members))
            if answers is None:  # of a function that forgets its `return`, whose silence would count as a proof
                raise BadInput("A lazy constraint's oracle returned None; return [] if nothing is violated.")
            if not isinstance(answers, Iterable):
                raise BadInput(
                    f"A lazy constraint's oracle returned {answers!r}; return an iterable of members, [] for none."
                )
            for answer in answers:
                yield from self.read(answer, members)

    def read(self, answer: Any, members: tuple[cp.Variable, ...]) -> Iterable[LazyRow]:  # of the user's function
        """An oracle's answer as rows."""
        if isinstance(answer, cp.constraints.Inequality):
            return self.extracted(answer.expr)
        if not (isinstance(answer, tuple) and len(answer) == 2):
            raise BadInput(
                f"A lazy constraint's oracle returned {type(answer).__name__}; return pairs (a, b) meaning "
                f"⟨a, x⟩ + b <= 0, or CVXPY inequalities."
            )
        parts = [answer[0]] if len(members) == 1 else list(answer[0])
        if len(parts) != len(members):
            raise BadInput(
                f"A lazy constraint's row has {len(parts)} parts for {len(members)} variables; return one for each."
            )
        row = np.zeros(self.pool.dim)
        for variable, part in zip(members, parts, strict=True):
            part = real(part.toarray() if sparse.issparse(part) else part)
            if part.size != variable.size:
                raise BadInput(
                    f"A lazy constraint's row has {part.size} coefficients for {variable.name()} of size "
                    f"{variable.size}; return one for each entry."
                )
            row[self.place[variable.id]] += np.reshape(part, variable.shape).ravel(order="F")
        offset = real(answer[1]).ravel()
        if not (np.isfinite(row).all() and np.isfinite(offset).all() and offset.size == 1):
            raise BadInput("A lazy constraint's oracle returned a row that is not finite; correct the oracle.")
        columns = np.flatnonzero(row)
        return [LazyRow(columns, row[columns], float(offset[0]))]

    def extracted(self, expression: cp.Expression) -> list[LazyRow]:
        """The rows of an affine expression that is to be ≤ 0: its Jacobian and its value at 0."""
        if not expression.is_affine() or any(v.id not in self.place for v in expression.variables()):
            raise BadInput(
                f"The lazy constraint {expression} <= 0 is not affine in the problem's variables; rewrite it."
            )
        if missing := [each.name() for each in expression.parameters() if each.value is None]:
            raise BadInput(f"The parameter {missing[0]} of a lazy constraint has no value; give it one before solving.")
        self.parameters |= {each: np.copy(each.value) for each in expression.parameters()}
        A = sparse.lil_array((expression.size, self.pool.dim))
        x = np.zeros(self.pool.dim)
        for variable, jacobian in expression.grad.items():
            A[:, self.place[variable.id]] = jacobian.T
            x[self.place[variable.id]] = np.ravel(variable.value, order="F")
        A = sparse.csr_array(A)
        offsets, ends = np.ravel(expression.value, order="F") - A @ x, A.indptr
        return [
            LazyRow(A.indices[start:stop].astype(np.int64), A.data[start:stop], float(b))
            for start, stop, b in zip(ends, ends[1:], offsets, strict=False)
        ]


def versioned(backend: str) -> str:
    """A backend's name with its version."""
    return f"{backend} {BACKENDS[backend].version}"


def copies(variables: Iterable[cp.Variable]) -> list[Any]:  # arrays, or numbers of scalar variables
    """Copies of the variables' values, which a user's function may overwrite."""
    return [np.copy(v.value) if v.shape else v.value for v in variables]


def real(numbers: Any) -> Floats:  # anything that a user's oracle returned
    """Numbers of an oracle as an array, or `BadInput`."""
    try:
        if not np.iscomplexobj(numbers):
            return np.asarray(numbers, float)
    except (TypeError, ValueError):
        pass
    raise BadInput(f"A lazy constraint's oracle returned {numbers!r} in a row; return real numbers.")


class LazyFamily:
    """A `LazyProblem` as the family of cut generation: rows at a point, and numerical bounds."""

    hard, proven, n_groups, prices = True, False, 0, np.empty(0)

    def __init__(self, problem: LazyProblem, offset: float, feasibility: float, floor: float, repair: Repair | None):
        self.problem, self.offset, self.feasibility, self.repair = problem, offset, feasibility, repair
        self.floor = floor
        self.negligible = 1.0  # the unit of violations: the size of the optimum, at most 1

    @property
    def start(self) -> Floats:
        """The variables' values where they have any, else 0."""
        parts = [np.zeros(v.size) if v.value is None else np.ravel(v.value, order="F") for v in self.problem.variables]
        return np.concatenate(parts).astype(float)

    def feasible(self, x: Floats) -> Floats:
        """x itself: the base's constraints have no closed-form projection."""
        return x

    def separate(self, x: Floats, _: Clock) -> tuple[float, list[Ints]]:
        problem = self.problem
        problem.assign(x)
        handles: list[Ints] = []
        violation = 0.0
        for row in problem.violated():
            violation = max(violation, row.at(x))
            handles.append(problem.pool.add(row))
        if self.repair:
            self.assign_repaired()
            violation = 0.0
        violation = max([violation, *(float(np.max(c.violation())) for c in problem.constraints)])
        value = problem.sign * float(problem.objective.value) if violation <= self.feasibility else np.inf
        return value, handles

    def assign_repaired(self) -> None:
        """Give the oracles' variables the values that `repair` returns."""
        members = [v for family in self.problem.lazy for v in family.members()]
        assert self.repair is not None
        values = self.repair(*copies(members))
        values = [values] if len(members) == 1 and not isinstance(values, tuple | list) else list(values)
        if len(values) != len(members) or any(np.size(x) != v.size for x, v in zip(values, members, strict=True)):
            shapes = ", ".join(str(v.shape) for v in members)
            raise BadInput(f"repair must return a value for each variable of the oracles, of shapes {shapes}.")
        for variable, value in zip(members, values, strict=True):
            variable.save_value(np.reshape(real(value), variable.shape))

    def settle(self, x: Floats) -> float:
        """Give the variables the values x, repaired where `repair` is given; the violation there."""
        self.problem.assign(x)
        if self.repair:
            self.assign_repaired()
        x = self.start
        return max([0.0, *(row.at(x) for row in self.problem.violated())])

    def rows(self, handles: list[Ints]) -> Rows:
        return self.problem.pool.take(handles)

    def weights(self, handles: list[Ints], multipliers: Floats) -> Floats:
        return multipliers

    def lower(self, weights: Floats, answer: MasterAnswer | None) -> float:
        assert answer is not None  # a LazyProblem keeps no journal
        value = answer.dual + self.offset
        self.negligible = min(max(abs(value), self.floor), 1.0) or 1.0
        return value

    def gap(self, upper: float, lower: float) -> float:
        if not np.isfinite(upper - lower):
            return float("inf")
        return float((upper - lower) / (max(abs(upper), abs(lower), self.floor) or 1.0))

    def polish(self, handles: list[Ints], multipliers: Floats) -> None:
        return None

    def confirmed(self, theta: Floats, upper: float) -> float:
        return upper

    def doubt(self, theta: Floats, wholly: bool) -> bool:
        return False

    def trust(self) -> None:
        """There is nobody else to ask."""

    def check(self, handles: list[Ints], answer: MasterAnswer, _: float) -> None:
        if answer.ray:
            raise BadInput(
                f"The base with {len(handles)} generated rows has no feasible point; the oracles or the base "
                f"contradict one another."
            )
