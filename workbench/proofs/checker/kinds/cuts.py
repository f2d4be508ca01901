"""Proof by weighted cuts: any dual weights on the simplex bound F from below, a feasible point from above.

    lower = Σ β_k o_k − r*(−Σ β_k a_k)        β_k ≥ 0, Σ_{k∈i} β_k = p_i; only hard samples are exempt
    upper = r(θ) + Σ_i p_i h_i(θ)             h_i the exact maximum over all outputs

(docs/certificate-format.md §5, with the proof).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from workbench.proofs.checker.archive import Header
from workbench.proofs.checker.contracts import Ends, Proof, Statement
from workbench.proofs.checker.faults import Malformed, demand
from workbench.proofs.checker.learning import Program, read_program
from workbench.proofs.checker.regularizers import SquaredNorm
from workbench.proofs.checker.whole import Array, Whole, common, exact, grouped

GRID = 128  # bits of a share
MOST_BITS = 250_000  # of the common denominator of fractions
MOST_TEXT = 1 << 22  # of all fractions
MOST_DIGITS = 62_500  # of p and of q: divisors are found in quadratic time
MOST_TOGETHER = 1 << 31  # bits of all fractions over their common denominator
INFINITE = float("inf")


class Cuts(Proof):
    name = "cuts"

    @classmethod
    def prepare(cls, header: Header, arrays: dict[str, Array]) -> tuple[Statement, Any]:  # each kind its own
        statement, program = read_program(header, arrays, "cuts")
        fields, beta = program.fields, None
        if fields.has("fractions"):
            beta = read_fractions(fields.typed("fractions", "|u1", (None,)), len(program.samples))
            squared = isinstance(program.formulation.regularizer, SquaredNorm)
            demand(squared, "fractions are for squared norms only")
        fields.done()
        program.check_outputs()
        priced = np.isin(program.samples, program.formulation.samples)
        weightless = (program.weights == 0) if beta is None else (beta.values == 0) & (program.weights == 0)
        if not (priced | weightless).all():
            wrong = int((~(priced | weightless)).argmax())
            raise Malformed(f"cut {wrong} has weight but its sample {program.samples[wrong]} has price 0")
        return statement, (program, beta)

    @classmethod
    def ends(cls, prepared: Any, claim: Callable[[Ends], bool]) -> Ends:  # prepared: each kind its own
        program, beta = prepared
        form, reached = program.formulation, upper_end(program, program.theta)
        start = upper_end(program, program.start())
        upper, shares = reached, simplex(program) if beta is None else checked(program, beta)
        if shares is None:
            return Ends(-INFINITE, upper, reached, start, "rational")
        push, offset = form.push(program.samples, program.witnesses, shares)
        regularizer = form.regularizer.within(upper)
        if beta is not None:
            upper = upper_end(program, regularizer.argmax(-push))
        lower = offset - regularizer.conjugate(-push)
        return Ends(lower, upper, reached, start if start < INFINITE else 0, "rational")


def read_fractions(array: Array, count: int) -> Whole:
    """ "p/q" in hexadecimal digits, one a line, as many as there are cuts."""
    demand(len(array) <= MOST_TEXT, f"fractions are longer than {MOST_TEXT} bytes")
    try:
        lines = array.tobytes().decode("ascii").split("\n") if len(array) else []
    except UnicodeDecodeError:
        raise Malformed("fractions are no text") from None
    demand(len(lines) == count, f"there are {count} cuts but {len(lines)} fractions")
    demand(
        all(re.fullmatch("-?[0-9a-f]+/0*[1-9a-f][0-9a-f]*", line) for line in lines), "fractions are not written as p/q"
    )
    pairs = [line.split("/") for line in lines]
    short = all(len(each.lstrip("-")) <= MOST_DIGITS for pair in pairs for each in pair)
    demand(short, f"a fraction has more than {MOST_DIGITS} digits")
    found = [Fraction(int(p, 16), int(q, 16)) for p, q in pairs]
    return common(found, min(MOST_BITS, MOST_TOGETHER // max(len(found), 1)))


def simplex(program: Program) -> Whole | None:
    """β from float weights: shares on a grid of 2⁻¹²⁸, the rest to a sample's heaviest cut; None if a sample has
    none.
    """
    form, parts, samples = program.formulation, exact(program.weights), program.samples
    if form.hard:
        return parts
    mass = grouped(parts.values, samples, form.structure.n)
    if not mass[form.samples].all():
        return None
    alpha = (parts.values << GRID) // np.maximum(mass, 1)[samples]
    order = np.lexsort((-program.weights, samples))  # stable: the first of equals
    heaviest = order[np.unique(samples[order], return_index=True)[1]]
    alpha[heaviest] += (1 << GRID) - grouped(alpha, samples, form.structure.n)[samples[heaviest]]
    return Whole(alpha * form.weights.values[samples], form.weights.unit << GRID) * (1 / form.total)


def checked(program: Program, beta: Whole) -> Whole:
    """β given as fractions, if they are on the simplex to the last digit."""
    form = program.formulation
    demand((beta.values >= 0).all(), "a fraction is negative")
    if not form.hard:
        mass = grouped(beta.values, program.samples, form.structure.n) * (form.total.numerator * form.weights.unit)
        wrong = mass != form.weights.values * (beta.unit * form.total.denominator)
        demand(not wrong.any(), f"the fractions of sample {int(wrong.argmax())} do not add up to its price")
    return beta


def upper_end(program: Program, point: Whole) -> Fraction | float:
    """F at the point, moved into r's domain and, if constraints are hard, scaled to feasibility; ∞ if that fails."""
    form = program.formulation
    point = form.regularizer.feasible(point)
    values = form.highest(point, form.samples)
    if not form.hard:
        return form.regularizer.value(point) + form.risk(values)
    missed, least = values.max(), form.least_offset(form.samples)
    if missed > 0:
        if least is None or missed >= least:
            return INFINITE
        point = point * (least / (least - missed))
        if form.highest(point, form.samples).max() > 0:
            return INFINITE
    return form.regularizer.value(point)
