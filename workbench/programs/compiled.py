"""A cp.Problem as the program that is proven: compiled once by CVXPY, with its rows traced to the user's constraints.

What is proven is the compiled program. `rounded` says what CVXPY rounded or approximated on the way (roundings.py).

Rows find their constraints through CVXPY's own way back: the numbers 1 … m of the rows are handed over as dual values,
so that each constraint's dual value holds the numbers of its rows. Rows of no constraint are auxiliary.
"""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from workbench.errors import BadInput, MissingCapability, printed
from workbench.programs.program import AUXILIARY, Program, program_of
from workbench.programs.refusals import check_problem, other_cones, without_words
from workbench.programs.roundings import Canonical, roundings
from workbench.programs.words import worded


class Compiled(NamedTuple):
    """The program, and for each row of it the number of the user's constraint, −1 for auxiliary rows.

    start : x and multipliers of the rows, as the problem's variables and constraints hold them from somebody's solve,
        where all columns are the user's; else None. Nobody believes them.
    """

    program: Program
    owners: np.ndarray
    columns: dict[int, slice]
    start: tuple[np.ndarray, np.ndarray] | None = None

    def assign(self, problem: Any, x: np.ndarray) -> None:
        """Give the problem's variables their parts of a compiled point x, as far as they are compiled as they are."""
        for variable in problem.variables():
            if variable.id in self.columns:
                part = np.reshape(x[self.columns[variable.id]], variable.shape, order="F")
                variable.save_value(part if variable.shape else part[()])


def compiled(problem: Any, reading: str = "float") -> Compiled:
    """The program that CVXPY compiles, or `BadInput`, `MissingCapability` with what stands in the way.

    What was rounded on the way is told of the numbers as `reading` takes them.
    """
    import cvxpy as cp

    check_problem(problem)
    data, chain, inverse = by_cvxpy(problem, cp)
    if not (isinstance(data, dict) and "c" in data and len(data["c"])):
        raise BadInput("The problem depends on no variable, so that there is nothing to prove; give it one.")
    if found := [v for v in data["param_prob"].variables if v.attributes["integer"] or v.attributes["boolean"]]:
        raise MissingCapability(
            f"CVXPY gives the problem {len(found)} integer or boolean variables of its own, as for cp.FiniteSet, and "
            "only continuous programs are proven; relax these constraints."
        )
    dims = data["dims"]
    if dims.psd or dims.p3d or dims.pnd:
        raise MissingCapability(other_cones(problem, "semidefinite" if dims.psd else "power"))
    q, b, n = np.asarray(data["c"], float), np.asarray(data["b"], float), len(data["c"])
    P = sparse.csc_array((n, n)) if data.get("P") is None else data["P"]
    sign, columns = -1 if isinstance(problem.objective, cp.Maximize) else 1, places_of(problem, chain, data)
    told = numbered_rows(chain, inverse, n, len(b))
    owners = owners_of(problem, told, len(b))
    own = labels(problem)
    names = [own[k] if k >= 0 else "" for k in owners.tolist()]
    keep = ~(np.isposinf(b) & (np.arange(len(b)) >= dims.zero) & (np.arange(len(b)) < dims.zero + dims.nonneg))
    program = program_of(
        sparse.csr_array(P), q, sparse.csr_array(data["A"]), b, dims.zero, dims.nonneg, tuple(dims.soc), dims.exp,
        constant=float(data["param_prob"].apply_parameters(quad_obj="P" in data)[-3]),
        sign=sign, rows=names, columns=columns_of(columns, problem, n), name="the problem",
    )  # fmt: skip
    told_of = roundings(problem, affine_form(problem, chain, data["param_prob"]), program, reading)
    program = replace(program, rounded=told_of)
    return Compiled(program, owners[keep], columns, start_of(problem, told, columns, n, keep))


def by_cvxpy(problem: Any, cp: Any) -> Any:
    """CVXPY's data, chain and inverse data; whatever CVXPY raises as one sentence.

    CVXPY's advice on speed and approximations is passed over: what is approximated is told by `rounded`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return problem.get_problem_data(cp.CLARABEL, solver_opts={})
        except Exception as error:  # CVXPY raises many kinds of errors for what its canonicalizers do not take
            words = " ".join(str(error).split())[:WORDS].rstrip(".") or without_words(problem, error)
            raise BadInput(f"CVXPY cannot compile the problem: {words}; rewrite that part.") from error


def affine_form(problem: Any, chain: Any, stuffed: Any) -> Canonical | None:
    """The problem as CVXPY has it before its numbers are computed; None if its variables are not those compiled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same advice as before
        for reduction in chain.reductions:
            if type(reduction).__name__ == "ConeMatrixStuffing":
                break
            problem, _ = apart(reduction).apply(problem)
    pairs = list(zip(problem.variables(), stuffed.variables, strict=False))
    alike = len(problem.variables()) == len(stuffed.variables) and all(a.shape == b.shape for a, b in pairs)
    return Canonical(problem, {a.id: stuffed.var_id_to_col[b.id] for a, b in pairs}) if alike else None


def apart(reduction: Any) -> Any:
    """A copy of one of CVXPY's reductions, whose notes on the problem stay as the next solve needs them."""
    fresh = copy(reduction)
    vars(fresh).update({key: dict(value) for key, value in vars(reduction).items() if isinstance(value, dict)})
    return fresh


WORDS = 200  # characters of an error of CVXPY's


def labels(problem: Any) -> list[str]:
    """For each constraint the user's label, else its expression; where several are the same, with its number."""
    found = [printed(each.label or worded(each) or "constraint") for each in problem.constraints]
    return [f"{name} (constraint {k + 1})" if found.count(name) > 1 else name for k, name in enumerate(found)]


def numbered_rows(chain: Any, inverse: Any, n: int, m: int) -> dict[int, Any]:
    """The rows' numbers from 1 on, with a sign, in the shape of a constraint's dual value, by the constraint's id."""
    told = {"obj_val": 0.0, "solve_time": 0.0, "iterations": 0}
    numbers = SimpleNamespace(status="Solved", x=np.zeros(n), z=np.arange(1.0, m + 1), s=np.zeros(m), **told)
    return chain.invert(numbers, inverse).dual_vars


def start_of(problem: Any, told: dict[int, Any], columns: dict[int, slice], n: int, keep: np.ndarray) -> Any:
    """x and z that the variables and the constraints' dual values hold; None where a column has no finite value."""
    x, z = np.full(n, np.nan), np.zeros(len(keep))
    for variable in problem.variables():
        if variable.id in columns and (values := numbers_of(variable.value, variable.shape)) is not None:
            x[columns[variable.id]] = values
    if not np.isfinite(x).all():
        return None
    for constraint in problem.constraints:
        given = constraint.dual_value
        given = given if isinstance(given, list | tuple) else [given]
        for places, value in zip(flat(told.get(constraint.id)), given, strict=False):
            used = (places != 0) & (np.abs(places) <= len(keep))
            if (duals := numbers_of(value, np.shape(value))) is not None and duals.shape == places.shape:
                z[np.abs(places[used]).round().astype(int) - 1] = np.sign(places[used]) * duals[used]
    return x, np.nan_to_num(z[keep], posinf=0.0, neginf=0.0)


def numbers_of(value: Any, shape: tuple[int, ...]) -> np.ndarray | None:  # whatever stands in a variable
    """A value as a flat array of floats, None where somebody saved something else."""
    value = value.toarray() if sparse.issparse(value) else value
    try:
        found = None if value is None or np.iscomplexobj(value) else np.asarray(value, float)
    except (TypeError, ValueError):
        return None
    return None if found is None or found.shape != shape else np.ravel(found, order="F")


def owners_of(problem: Any, told: dict[int, Any], m: int) -> np.ndarray:
    """(m,) the number of the constraint that each row belongs to, −1 for none."""
    owners = np.full(m, -1)
    for k, constraint in enumerate(problem.constraints):
        for part in flat(told.get(constraint.id)):
            rows = np.abs(part[(part != 0) & (np.abs(part) <= m)]).round().astype(int) - 1
            owners[rows] = k
    return owners


def flat(value: Any) -> list[np.ndarray]:
    """The numbers in a dual value, which may be an array, a sparse one, or a list of such."""
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return [each for part in value for each in flat(part)]
    return [np.ravel(value.toarray() if sparse.issparse(value) else np.asarray(value, float))]


def places_of(problem: Any, chain: Any, data: Any) -> dict[int, slice]:
    """The columns of each variable, by its id; CVXPY puts variables without bounds in the place of those with."""
    places, again = data["param_prob"].var_id_to_col, chain.compose_var_id_map()
    found = {}
    for variable in problem.variables():
        known = [each for each in again.get(variable.id, [variable.id]) if each in places]
        if len(known) == 1:
            found[variable.id] = slice(places[known[0]], places[known[0]] + variable.size)
    return found


def columns_of(places: dict[int, slice], problem: Any, n: int) -> list[str]:
    """Names of the compiled variables: the user's, with the entry's place; where two have one name, with a number."""
    names, variables = [""] * n, problem.variables()
    given = [variable.name() for variable in variables]
    for number, variable in enumerate(variables, 1):
        if variable.id not in places:
            continue
        alike = given.count(variable.name()) > 1
        for k, place in enumerate(entries_of(variable.shape)):
            name = f"{variable.name()}{place}" + (f" (variable {number})" if alike else "")
            names[places[variable.id].start + k] = name
    return [name or f"{AUXILIARY} {k + 1}" for k, name in enumerate(names)]


def entries_of(shape: tuple[int, ...]) -> list[str]:
    """`[0,1]` and so on for each entry, by columns as CVXPY compiles them; "" for the only one."""
    size = int(np.prod(shape))
    if size == 1:
        return [""]
    places = np.unravel_index(np.arange(size), shape, order="F")
    return [f"[{','.join(map(str, place))}]" for place in zip(*places, strict=True)]
