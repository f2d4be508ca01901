"""`infeasible`: the user's own constraints that contradict one another, no fewer of which do, and what would mend them.

What a program asks for are its constraints and the domains of its atoms: log t in an objective asks for t > 0, as the
requirement log t ≥ s with a new s. First all are proven infeasible together; those whose rows the proof uses are
suspects. Then each is left out in turn (a deletion filter): where the others are still proven infeasible it is dropped
for good, and the suspects shrink to those that the new proof uses; where the others have a proven point it is
necessary. At last a constraint that is necessary for the domains of its atoms alone gives way to these. Bounds that
belong to variables are never left out. The change that would make linear rows feasible is the least Σ|change| of
right-hand sides, an exact linear program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from workbench.errors import Undecided
from workbench.programs.compiled import Compiled, compiled, labels
from workbench.programs.linear import INFEASIBLE
from workbench.programs.program import Program, exact
from workbench.programs.proof import FEW, Proof, rounded_before, with_rows
from workbench.programs.prove import prove_program
from workbench.programs.rays import relaxed
from workbench.programs.roundings import atoms, curved, parts
from workbench.programs.words import worded

ROUNDING = 1e-9  # a change of right-hand sides up to which decimal numbers, read as floats, may be why
FINITE = {  # atoms that are finite everywhere
    *("abs", "max", "maximum", "min", "minimum", "cummax", "norm1", "norm_inf", "sum_largest", "dotsort", "QuadForm"),
    *("exp", "logistic", "log_sum_exp", "huber"),
}


class Demand(NamedTuple):
    """A constraint of the user's, or the domain of an atom as a constraint; `atoms` are those below a constraint."""

    constraint: Any
    name: str
    atoms: tuple[Any, ...] = ()


@dataclass
class Conflict:
    """Constraints that contradict one another.

    names : their labels or expressions, and "the domain of … in …" for what an atom asks for
    constraints : the constraints themselves, a domain as log t ≥ s or the like (of a file: none)
    multipliers : for each, the sum of |multipliers| of its rows in the proof
    irreducible : whether each is proven necessary, so that the others together have a solution
    rows : the names again, `demand [17]` where one row of several contradicts the others; empty where that is not known
    changes : by how much right-hand sides would change, for each constraint; empty where rows are not linear
    """

    names: list[str]
    constraints: list[Any]
    multipliers: list[Fraction]
    irreducible: bool
    proof: Proof = field(repr=False)
    changes: dict[str, Fraction] = field(default_factory=dict)
    rows: list[str] = field(default_factory=list)

    @property
    def rounded(self) -> tuple[str, ...]:
        """What was rounded before the contradiction was proven, in sentences."""
        return self.proof.program.rounded

    def __str__(self) -> str:
        fewer = ", and no fewer of them do" if self.irreducible and len(self.names) > 1 else ""
        verb = "contradict one another" if len(self.names) > 1 else "has no solution within the variables' bounds"
        told = self.rows or self.names
        names = told[:FEW] + [f"{len(told) - FEW} more"] * (len(told) > FEW)
        found = f"{', '.join(names)} {verb}{fewer}." if names else "The bounds of the variables contradict one another."
        if self.changes:
            told = [f"{name} by {float(size):.6g}" for name, size in self.changes.items()][:FEW]
            found += f" Least change of right-hand sides that makes the whole program feasible: {', '.join(told)}."
            if self.proof.reading == "float" and max(map(abs, self.changes.values())) <= ROUNDING:
                found += (
                    " A change so small may be the rounding of decimal numbers; --reading decimal reads 0.1 as 1/10."
                )
        return found + rounded_before(self.proof.program)


def infeasible(problem: Any, reading: str = "float", backend: str | None = None) -> Conflict | None:
    """Why a cp.Problem (or `Program`) has no solution, or None where it is proven to have one.

    Raises what `prove` raises; `Undecided`, a `BadInput`, where neither a contradiction nor a point could be proven.
    """
    if isinstance(problem, Program):
        return of_rows(problem, reading, backend)
    compiled(problem, reading)  # raises what `prove` raises
    asked = demands(problem)

    def proven(chosen: list[Demand]) -> tuple[Compiled, Proof]:
        part = compiled(subproblem(problem, chosen), reading)
        return part, prove_program(part.program, reading, backend)

    whole, proof = proven(asked)
    if proof.kind != INFEASIBLE:
        return settled(proof)
    kept, certain = filtered([asked[k] for k in used(whole, proof)], proven)
    for each in [each for each in kept if each.atoms]:
        weaker = [other for other in kept if other is not each] + inner(each)
        part, found = proven(weaker)
        if found.kind == INFEASIBLE:
            kept, sure = filtered([weaker[k] for k in used(part, found)], proven)
            certain = certain and sure
    final, proof = proven(kept)
    shares = multipliers(final, proof, len(kept))
    names = [each.name for each in kept]
    changes = changes_of(final, names, reading)
    owners = [names[k] if k >= 0 else "" for k in final.owners.tolist()]
    rows = with_rows(owners, proof.rows)
    rows = rows if len(rows) == len(names) else []  # a constraint whose rows are CVXPY's own has none
    return Conflict(names, [each.constraint for each in kept], shares, certain, proof, changes, rows)


def filtered(kept: list[Demand], proven: Callable[[list[Demand]], tuple[Compiled, Proof]]) -> tuple[list[Demand], bool]:
    """Those of contradicting demands that are necessary, and whether each is proven to be.

    What nothing is proven about is asked about again when there are fewer others.
    """
    needed, open_ones = list[Demand](), list[Demand]()
    while rest := [each for each in kept if not among(each, needed + open_ones)]:
        others = [each for each in kept if each is not rest[0]]
        part, found = proven(others)
        if found.kind == INFEASIBLE:
            kept, open_ones = [others[k] for k in used(part, found)], []
        elif has_point(found):
            needed.append(rest[0])
        else:
            open_ones.append(rest[0])
    return kept, not open_ones


def among(one: Demand, several: list[Demand]) -> bool:
    return any(one is each for each in several)


# ── what a program asks for ───────────────────────────────────────────────────────────────────────────


def demands(problem: Any) -> list[Demand]:
    """The constraints, and what the atoms of the objective ask for, the outer ones first."""
    found = []
    for constraint, name in zip(problem.constraints, labels(problem), strict=True):
        below = [atom for part in parts(constraint) for atom in curved_atoms(part)]
        found.append(Demand(constraint, name, tuple(below)))
    return found + domains(curved_atoms(problem.objective.args[0]), "the objective")


def inner(demand: Demand) -> list[Demand]:
    return domains(list(demand.atoms), demand.name)


def domains(atoms_of: list[Any], place: str) -> list[Demand]:
    """For each atom the constraint that its value is finite."""
    import cvxpy as cp

    found = []
    for atom in atoms_of:
        finite = cp.Variable(atom.shape)
        asked = atom <= finite if atom.is_convex() else atom >= finite
        found.append(Demand(asked, f"the domain of {worded(atom)} in {place}"))
    return found


def curved_atoms(expression: Any) -> list[Any]:
    """The atoms of an expression that may be infinite somewhere, the outer ones first."""
    return [atom for atom in atoms(expression) if curved(atom) and type(atom).__name__ not in FINITE]


def settled(proof: Proof) -> None:
    """None if the proof shows a feasible point; else `Undecided`."""
    if not has_point(proof):
        raise Undecided(f"Neither a contradiction nor a feasible point could be proven ({proof.remark or proof.kind}).")


def has_point(proof: Proof) -> bool:
    """Whether the proof holds a point that satisfies all constraints."""
    end = proof.upper if proof.program.sign > 0 else proof.lower
    return end is not None or proof.kind == "unbounded"


def used(whole: Compiled, proof: Proof) -> list[int]:
    """The constraints whose rows carry the contradiction."""
    support = np.flatnonzero([value != 0 for value in contradiction(proof)[0]])
    return sorted({int(k) for k in whole.owners[support] if k >= 0} | (auxiliary(whole, support)))


def contradiction(proof: Proof) -> tuple[list[int], int]:
    """The dual vector y of a proof that no point is feasible: whole numbers, and their unit."""
    assert proof.claim.y is not None  # such a proof rests on it
    return proof.claim.y


def auxiliary(whole: Compiled, support: np.ndarray) -> set[int]:
    """Where rows of no constraint carry it, any constraint may stand behind them."""
    behind = (whole.owners[support] < 0).any()
    return {int(k) for k in whole.owners if k >= 0} if behind else set()


def subproblem(problem: Any, chosen: list[Demand]) -> Any:
    import cvxpy as cp

    zero = 0 * sum(cp.sum(variable) for variable in problem.variables())
    return cp.Problem(cp.Minimize(zero), [each.constraint for each in chosen])


def multipliers(whole: Compiled, proof: Proof, count: int) -> list[Fraction]:
    """Σ|y| over each constraint's rows."""
    shares = [Fraction(0)] * count
    whole_numbers, unit = contradiction(proof)
    for value, owner in zip(whole_numbers, whole.owners.tolist(), strict=True):
        if owner >= 0:
            shares[owner] += Fraction(abs(value), unit)
    return shares


def changes_of(whole: Compiled, names: list[str], reading: str) -> dict[str, Fraction]:
    """The least change of right-hand sides, by name; nothing where rows are not linear or none was found.

    Rows of CVXPY's own, such as −t ≤ x ≤ t of a norm, have no right-hand side that anybody could change.
    """
    told = [names[k] if k >= 0 else bound_name(whole, row) for row, k in enumerate(whole.owners.tolist())]
    return least_changes(whole.program, told, reading)


def bound_name(whole: Compiled, row: int) -> str:
    """Of a row that bounds an entry of a user's variable; "" of any other."""
    entries = sparse.coo_array(sparse.csc_array(whole.program.cone.A)[[row], :])
    owned = [k for part in whole.columns.values() for k in range(part.start, part.stop)]
    return (
        f"the bound of {whole.program.columns[entries.col[0]]}" if entries.nnz == 1 and entries.col[0] in owned else ""
    )


def least_changes(program: Program, names: list[str], reading: str) -> dict[str, Fraction]:
    """Changes of rows that have a name."""
    may = np.flatnonzero([bool(name) for name in names])
    found = relaxed(exact(program, reading), may) if program.linear else None
    changes: dict[str, Fraction] = {}
    if found is None:
        return changes
    for k, value in enumerate(found.changes.whole.tolist()):
        if value:
            changes[names[k]] = changes.get(names[k], Fraction(0)) + Fraction(abs(value), found.changes.unit)
    return changes


def of_rows(program: Program, reading: str, backend: str | None) -> Conflict | None:
    """The same for the rows of a file."""
    proof = prove_program(program, reading, backend)
    if proof.kind == "nonconvex":
        n = len(program.cone.q)
        free = replace(program.cone, P=sparse.csc_array((n, n)), q=np.zeros(n))
        proof = prove_program(replace(program, cone=free), reading, backend)
    if proof.kind != INFEASIBLE:
        return settled(proof)
    whole, unit = contradiction(proof)
    support = list(proof.rows) or [k for k, value in enumerate(whole) if value]
    shares = [Fraction(abs(whole[k]), unit) for k in support]
    names = [name or f"row {k + 1}" for k, name in enumerate(program.rows)]
    told = [names[k] for k in support]
    return Conflict(told, [], shares, bool(proof.rows), proof, least_changes(program, names, reading))
