"""`infeasible`: the user's own constraints that contradict one another, no fewer of which do, and what would mend them.

First the program is proven infeasible; the constraints whose rows the proof uses are suspects. Then each is left out
in turn (a deletion filter): where the others are still proven infeasible it is dropped for good, and the suspects
shrink to those that the new proof uses; where the others have a proven point it is necessary. Bounds that belong to
variables are never left out. The change that would make linear rows feasible is the least Σ|change| of right-hand
sides, an exact linear program.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from workbench.errors import BadInput
from workbench.programs.compiled import Compiled, compiled, label
from workbench.programs.linear import INFEASIBLE
from workbench.programs.program import Program, exact
from workbench.programs.prove import FEW, Proof, prove_program
from workbench.programs.rays import relaxed


@dataclass
class Conflict:
    """Constraints that contradict one another.

    names : their labels or expressions;  constraints : the constraints themselves (of a file: none)
    multipliers : for each, the sum of |multipliers| of its rows in the proof
    irreducible : whether each is proven necessary, so that the others together have a solution
    changes : by how much right-hand sides would change, for each constraint; empty where rows are not linear
    """

    names: list[str]
    constraints: list[Any]
    multipliers: list[Fraction]
    irreducible: bool
    proof: Proof = field(repr=False)
    changes: dict[str, Fraction] = field(default_factory=dict)

    def __str__(self) -> str:
        if not self.names:
            return "The bounds of the variables contradict one another."
        fewer = ", and no fewer of them do" if self.irreducible and len(self.names) > 1 else ""
        verb = "contradict one another" if len(self.names) > 1 else "has no solution within the variables' bounds"
        names = self.names[:FEW] + [f"{len(self.names) - FEW} more"] * (len(self.names) > FEW)
        found = f"{', '.join(names)} {verb}{fewer}."
        if self.changes:
            told = [f"{name} by {float(size):.6g}" for name, size in self.changes.items()][:FEW]
            found += f" Least change of right-hand sides that mends them: {', '.join(told)}."
        return found


def infeasible(problem: Any, reading: str = "float", backend: str | None = None) -> Conflict | None:
    """Why a cp.Problem (or `Program`) has no solution, or None where it is proven to have one, or nothing is proven.

    Raises what `prove` raises; `BadInput` where neither a contradiction nor a point could be proven.
    """
    if isinstance(problem, Program):
        return of_rows(problem, reading, backend)
    whole = compiled(problem)
    proof = prove_program(whole.program, reading, backend)
    if proof.kind != INFEASIBLE:
        return settled(proof)
    kept, certain = used(whole, proof), True
    tried: set[int] = set()
    while rest := [k for k in kept if k not in tried]:
        one = rest[0]
        tried.add(one)
        others = [k for k in kept if k != one]
        part = compiled(subproblem(problem, others))
        found = prove_program(part.program, reading, backend)
        if has_point(found):
            continue
        if found.kind != INFEASIBLE:
            certain = False
            continue
        kept = [others[k] for k in used(part, found)]
    constraints = [problem.constraints[k] for k in kept]
    final = compiled(subproblem(problem, kept))
    proof = prove_program(final.program, reading, backend)
    shares = multipliers(final, proof, len(kept))
    names = [label(problem.constraints[k], k) for k in kept]
    return Conflict(names, constraints, shares, certain, proof, changes_of(final.program, reading))


def settled(proof: Proof) -> None:
    """None if the proof shows a feasible point; else `BadInput`."""
    if not has_point(proof):
        raise BadInput(f"Neither a contradiction nor a feasible point could be proven ({proof.remark or proof.kind}).")


def has_point(proof: Proof) -> bool:
    """Whether the proof holds a point that satisfies all constraints."""
    end = proof.upper if proof.program.sign > 0 else proof.lower
    return end is not None or proof.kind == "unbounded"


def used(whole: Compiled, proof: Proof) -> list[int]:
    """The constraints whose rows carry the contradiction."""
    support = np.flatnonzero([value != 0 for value in proof.claim.y[0]])
    return sorted({int(k) for k in whole.owners[support] if k >= 0} | (auxiliary(whole, support)))


def auxiliary(whole: Compiled, support: np.ndarray) -> set[int]:
    """Where rows of no constraint carry it, any constraint may stand behind them."""
    behind = (whole.owners[support] < 0).any()
    return {int(k) for k in whole.owners if k >= 0} if behind else set()


def subproblem(problem: Any, chosen: list[int]) -> Any:
    import cvxpy as cp

    zero = 0 * sum(cp.sum(variable) for variable in problem.variables())
    return cp.Problem(cp.Minimize(zero), [problem.constraints[k] for k in chosen])


def multipliers(whole: Compiled, proof: Proof, count: int) -> list[Fraction]:
    """Σ|y| over each constraint's rows."""
    shares = [Fraction(0)] * count
    whole_numbers, unit = proof.claim.y
    for value, owner in zip(whole_numbers, whole.owners.tolist(), strict=True):
        if owner >= 0:
            shares[owner] += Fraction(abs(value), unit)
    return shares


def changes_of(program: Program, reading: str) -> dict[str, Fraction]:
    """The least change of right-hand sides, by name; nothing where rows are not linear or none was found."""
    found = relaxed(exact(program, reading)) if program.linear else None
    changes: dict[str, Fraction] = {}
    for k, value in enumerate(found.changes.whole.tolist() if found else []):
        if value:
            name = program.rows[k] or "a variable's own bound"
            changes[name] = changes.get(name, Fraction(0)) + Fraction(abs(value), found.changes.unit)
    return changes


def of_rows(program: Program, reading: str, backend: str | None) -> Conflict | None:
    """The same for the rows of a file."""
    proof = prove_program(program, reading, backend)
    if proof.kind != INFEASIBLE:
        return settled(proof)
    whole, unit = proof.claim.y
    support = list(proof.rows) or [k for k, value in enumerate(whole) if value]
    shares = [Fraction(abs(whole[k]), unit) for k in support]
    names = [program.rows[k] or f"row {k + 1}" for k in support]
    return Conflict(names, [], shares, bool(proof.rows), proof, changes_of(program, reading))
