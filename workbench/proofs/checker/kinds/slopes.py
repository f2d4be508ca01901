"""Proof by slopes, for bilinear scores of pairs: any slopes bound F from below, any factors from above.

With ω_i = p_i g_i, S = Σ ω_i l_i r_iᵀ, c = ½ Σ ω_i (l_i, r_i), Q = ½ [[λI, S], [Sᵀ, λI]], ‖S‖₂ ≤ s < λ, for each class

    lower = Σ p_i (−ℓ*(g_i)) − k cᵀQ⁻¹c − ‖Σ ω_i x_i‖²/(2λ)

(docs/certificate-format.md §12, with the proof). s² I − SᵀS ⪰ 0 is proven exactly (convexity.py). For any z and
ρ = c − Qz, cᵀQ⁻¹c ≤ zᵀ(c + ρ) + ‖ρ‖²/σ with σ = (λ − s)/2. The floats that propose s, z and a Cholesky factor prove
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from workbench.proofs.checker.archive import Header
from workbench.proofs.checker.contracts import Ends, Proof, Statement
from workbench.proofs.checker.convexity import semidefinite
from workbench.proofs.checker.faults import demand
from workbench.proofs.checker.formulations.nuclear_dyadic import NuclearDyadic
from workbench.proofs.checker.learning import Program, read_program
from workbench.proofs.checker.whole import Array, Rows, Whole, exact, grouped, zeros

MOST_SIDE = 400  # of the smaller side
MOST_CELLS = 1 << 20  # of S
MARGIN = 1e-9  # s over the norm in floats
SHIFT = 1e-9  # ε over s²
ROOT = 1 << 60  # the unit of a factor
LARGEST = 10**290  # of the numbers that are turned into floats; z is at most 10^10 times as large
INFINITE = float("inf")


class Coupling(NamedTuple):
    """S = sides/unit, (f_left, f_right), and 2c = (left, right)/unit, whole numbers."""

    sides: Array
    left: Array
    right: Array
    unit: int


class Slopes(Proof):
    name = "slopes"

    @classmethod
    def prepare(cls, header: Header, arrays: dict[str, Array]) -> tuple[Statement, Any]:  # each kind its own
        statement, program = read_program(header, arrays, "slopes")
        form = program.formulation
        assert isinstance(form, NuclearDyadic)  # the one formulation that slopes prove
        slopes = program.fields.floats("slopes", form.pairs.n, form.count)
        program.fields.done()
        sizes = form.pairs.left.columns, form.pairs.right.columns
        fits = min(sizes) <= MOST_SIDE and sizes[0] * sizes[1] <= MOST_CELLS
        demand(fits, f"its sides have {sizes[0]} and {sizes[1]} features, more than this proof is carried out for")
        return statement, (program, slopes)

    @classmethod
    def ends(cls, prepared: Any, claim: Callable[[Ends], bool]) -> Ends:  # prepared: each kind its own
        program, slopes = prepared
        upper, start = value(program, program.theta), value(program, Whole(zeros(program.formulation.dim)))
        classes = [lower(program.formulation, exact(g), c) for c, g in enumerate(slopes.T)]
        found = -INFINITE if None in classes else sum(classes)
        return Ends(found, upper, upper, start, "rational")


def value(program: Program, theta: Whole) -> Fraction:
    """F(θ)."""
    form = program.formulation
    return Fraction(form.given["lam"]) / 2 * theta.squares() + form.risk(form.losses(form.scores(theta))[form.samples])


def lower(form: NuclearDyadic, g: Whole, c: int) -> Fraction | None:
    """The bound of class c at its slopes g (n,); None if a slope is out of the domain, or ‖S‖₂ < λ is not shown."""
    lam, y, priced = Fraction(form.given["lam"]), form.targets[:, c], form.samples
    gains = Whole(-y * g.values, g.unit)
    if form.loss == "hinge" and not ((gains.values >= 0) & (gains.values <= gains.unit))[priced].all():
        return None
    if form.loss == "squared":
        gains = gains + Whole(-g.values * g.values, 2 * g.unit**2)
    weights = form.weights * g  # over Σ weights, a fraction that is divided out below
    coupling, share = coupled(form, weights), 1 / form.total
    bent = inverse_form(coupling, lam, share)
    if bent is None:
        return None
    push = Whole(spread(form.pairs.X, weights.values, form.pairs.p), form.pairs.X.unit * weights.unit)
    return form.risk(gains[priced]) - form.k * bent - push.squares() * share**2 / (2 * lam)


def coupled(form: NuclearDyadic, weights: Whole) -> Coupling:
    """S and 2c times Σ weights."""
    L, R = form.pairs.left, form.pairs.right
    found = zeros(L.columns, R.columns)
    for i in np.flatnonzero(weights.values):
        ours, theirs = slice(*L.indptr[i : i + 2]), slice(*R.indptr[i : i + 2])
        block = np.outer(L.values[ours] * weights.values[i], R.values[theirs])
        found[np.ix_(L.indices[ours], R.indices[theirs])] += block
    ends = spread(L, weights.values, L.columns) * R.unit, spread(R, weights.values, R.columns) * L.unit
    return Coupling(found, *ends, weights.unit * L.unit * R.unit)


def spread(rows: Rows, weights: Array, columns: int) -> Array:
    """Σ weight_i row_i."""
    number, at = rows.entries(np.arange(len(weights)))
    return grouped(rows.values[at] * weights[number], rows.indices[at], columns)


def inverse_form(coupling: Coupling, lam: Fraction, share: Fraction) -> Fraction | None:
    """An upper bound on cᵀQ⁻¹c; None if ‖S‖₂ < λ is not shown."""
    p, q, t = lam.numerator * share.denominator, lam.denominator * share.numerator, coupling.unit
    S, C = coupling.sides * q, np.concatenate([coupling.left, coupling.right]) * q  # over p·t: λ is 1 there
    one = p * t
    if (abs(S) >= one).any() or (abs(C) >= one * LARGEST).any():  # an entry is no more than the norm
        return None
    floats = np.array([[float(Fraction(each, one)) for each in row] for row in S.tolist()]).reshape(S.shape)
    s = Fraction(float(np.linalg.norm(floats, 2) * (1 + MARGIN)))
    if not s < 1 or not bounded(max(S, S.T, key=len), one, s):
        return None
    cut = len(S)
    Q = np.block([[np.eye(cut), floats], [floats.T, np.eye(S.shape[1])]])
    z = exact(np.linalg.solve(Q, np.array([float(Fraction(each, one)) for each in C.tolist()])))
    moved = np.concatenate([S @ z.values[cut:], S.T @ z.values[:cut]])
    left = Whole(C * z.unit - z.values * one - moved, one * z.unit)  # 2ρ/λ, and z is that of Q over λ/2
    total = (z * (Whole(C, one) + left)).sum() / 2 + left.squares() / (2 * (1 - s))
    return total * lam


def bounded(S: Array, one: int, s: Fraction) -> bool:
    """Whether s² I − SᵀS ⪰ 0 for S/one is proven."""
    M = -(S.T @ S) * s.denominator**2
    M[np.diag_indices(len(M))] += (s.numerator * one) ** 2
    unit, n = (s.denominator * one) ** 2, len(M)
    floats = np.array([[float(Fraction(each, unit)) for each in row] for row in M.tolist()]).reshape(n, n)
    try:
        L = np.linalg.cholesky(floats - SHIFT * float(s) ** 2 * np.eye(n))
        root = [round(each * ROOT) for each in L.ravel().tolist()], ROOT
    except np.linalg.LinAlgError:
        root = None
    entries = [(i, j, int(M[i, j])) for i in range(n) for j in range(n)]
    return semidefinite(entries, unit, n, root)
