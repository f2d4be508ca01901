"""The proven lower bound of a `LazyProblem`: the exact optimum, or a proven lower bound, of its last master.

Leaving rows of a family out can only lower a minimum, so a proven lower bound of the base with the generated rows is a
lower bound of the whole program; these rows are part of the certificate. The oracle alone says that these rows belong
to the family, and that the answer violates no further row.
"""

from __future__ import annotations

from workbench.contracts import Numbers, Rows
from workbench.programs.program import program_of
from workbench.programs.proof import Proof
from workbench.programs.prove import prove_program
from workbench.proofs.ends import below
from workbench.solving.masters.declared import CompiledBase


def proven_master(base: CompiledBase, rows: Rows, sign: int, backend: str, seconds: float | None) -> Proof:
    """The proof about the base with these rows, with the sign of the user's objective."""
    cone, place = base.extended(rows) if len(rows.offsets) else (base.cone, slice(0, 0))
    names = [f"generated {k - place.start + 1}" if place.start <= k < place.stop else "" for k in range(len(cone.b))]
    words: Numbers = {"zero": cone.zero, "nonneg": cone.nonneg, "soc": cone.soc, "exp": cone.exp}
    words |= {"constant": base.offset, "sign": sign, "rows": names, "name": "the base with its generated rows"}
    words["source"] = {"generated": str(len(rows.offsets))}
    program = program_of(cone.P, cone.q, cone.A, cone.b, **words)
    return prove_program(program, backend=None if program.linear else backend, time_limit=seconds)


def lower_end(proof: Proof) -> float:
    """The proven lower bound of the minimisation, rounded down; −∞ without one."""
    end = proof.lower if proof.program.sign > 0 else proof.upper
    return -float("inf") if end is None else below(proof.program.sign * end)
