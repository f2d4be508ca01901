"""Proof by a point alone, for smooth terms and r = λ/2‖θ‖²: F(θ) − ‖∇F(θ)‖²/(2λ) ≤ min F ≤ F(θ).

*Proof.* F is λ-strongly convex: F(θ′) ≥ F(θ) + ⟨∇F(θ), θ′ − θ⟩ + λ/2‖θ′ − θ‖², whose least value over θ′ is the left
side. ∎

Where exp and log enter, both ends are enclosed over whole numbers (balls.py); with ever more bits, until the claim
holds or 1,024 do not suffice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.proofs.checker.archive import Header
from workbench.proofs.checker.contracts import Ends, Proof, Statement
from workbench.proofs.checker.faults import Imprecise, Malformed
from workbench.proofs.checker.learning import Program, read_program
from workbench.proofs.checker.whole import Array, root_up

BITS = (96, 192, 448, 1024)


class Tangent(Proof):
    name = "tangent"

    @classmethod
    def prepare(cls, header: Header, arrays: dict[str, Array]) -> tuple[Statement, Any]:  # each kind its own
        statement, program = read_program(header, arrays, "tangent")
        program.fields.done()
        return statement, program

    @classmethod
    def ends(cls, prepared: Any, claim: Callable[[Ends], bool]) -> Ends:  # prepared: each kind its own
        found = None
        for bits in BITS:
            try:
                found = ends_at(prepared, bits)
            except Imprecise:
                continue
            if found.arithmetic == "rational" or claim(found):
                break
        if found is None:
            raise Malformed(f"its scores lie too far apart to enclose with {BITS[-1]} bits")
        return found


def ends_at(program: Program, bits: int) -> Ends:
    """Both ends, with so many bits behind the point."""
    form = program.formulation
    sums, arithmetic = form.sums(program.theta, bits)
    value = form.regularizer.value(program.theta)
    per_mass = 1 / (form.total * form.weights.unit)
    gradient = program.theta * form.regularizer.lam + sums.gradient * per_mass
    square, radius = gradient.squares(), sums.radius * per_mass
    if radius:
        square = (root_up(square, 1 << bits + square.denominator.bit_length()) + radius) ** 2
    lower = value + form.risk(sums.lo) - square / (2 * form.regularizer.lam)
    start = form.risk(form.sums(program.start(), bits, gradient=False)[0].hi)
    upper = value + form.risk(sums.hi)
    return Ends(lower, upper, upper, start, arithmetic)
