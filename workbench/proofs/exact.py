"""Both bounds in rational arithmetic, and the exact optimum where it can be had. No solver is imported.

    upper = r(θ) + Σ_i p_i h_i(θ)                              θ as saved: floats are rationals
    lower = Σ_k μ_k o_k − r*(−Σ_k μ_k a_k)                     μ_k = p_i α_k ≥ 0, Σ_{k∈i} μ_k = p_i

(docs/mathematics.md §1, §8). Slopes a_k and offsets o_k are rebuilt from the witnesses and the raw data, h_i by
the output structure's exact decoder (`problem.exact()`), p_i = weight_i / Σ weights without rounding.
The saved weights are put on the simplex in rationals: α_k on a grid of 2⁻¹²⁸, what is left goes to the
sample's heaviest cut; any α on the simplex gives a valid bound. Hard constraints (p = ∞) have free
μ ≥ 0, and a θ that misses every margin by at most ε < ℓ_min is scaled by ℓ_min/(ℓ_min − ε).

`optimum` looks for the optimum itself, for r = λ/2‖θ‖². With one base cut per sample and unknown μ_j for
the other cuts that have weight, D_j = a_j − a_base, Δ_j = o_j − o_base, the ties ⟨D_j, θ⟩ + Δ_j = 0 at
θ = −(s₀ + Σ μ_j D_j)/λ, s₀ = Σ_i p_i a_base, are the linear system

    D Dᵀ μ = λ Δ − D s₀                                        (hard constraints: no base, s₀ = 0)

solved in rationals by lifting (arithmetic/lifting.py). Cuts whose μ would turn negative leave one by
one on the way there, dependent ones leave by a step along their dependency (Carathéodory), missing
ones are asked of the oracle. The answer counts only if upper = lower as fractions, which proves it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from workbench.arithmetic.lifting import dependent_row, solve_whole
from workbench.arithmetic.rationals import Entries, ExactMargins, ExactOracle, Ratios, common, product, ratios
from workbench.contracts import CutForm, Exact, Floats, Formulation, Ints, Problem, SmoothForm
from workbench.errors import BadInput, MissingCapability
from workbench.proofs.certificate import Certificate
from workbench.proofs.ends import INFINITE, above, below

GRID = 128  # bits of α
MOST_UNKNOWNS = 600  # beyond which the rational system takes minutes
MOST_STEPS = 100
NEGLIGIBLE = 1e-9  # a share of a sample's weight with which the search for the optimum need not start


class ExactBounds:
    """Upper and lower bounds of one (formulation, problem) pair as fractions.

    Raises
    ------
    MissingCapability : the output structure or the formulation brings no exact arithmetic
    """

    def __init__(self, formulation: Formulation, problem: Problem):
        if isinstance(formulation, SmoothForm):
            transcendental = "exp and log" in formulation.terms(problem).assumption
            held = "hold exp and log, which have no rational values" if transcendental else "are no maxima over cuts"
            raise MissingCapability(f"its terms {held}")
        if not isinstance(formulation, CutForm):
            raise MissingCapability("its terms are no maxima over cuts")
        floats = formulation.oracle(problem)
        exact: ExactOracle | None = floats.exact() if isinstance(floats, Exact) else None
        if exact is None:
            raise MissingCapability(f"{type(problem).__name__} brings no exact decoder (a method `exact`)")
        self.floats, self.oracle = floats, exact
        self.regularizer = formulation.regularizer(problem).over(Fraction)
        self.prices, self.dim = formulation.prices(problem), floats.dim
        self.samples: Ints = np.flatnonzero(self.prices.weights > 0)
        weights = ratios(self.prices.weights)
        self.weights, self.total = weights.whole, self.prices.rational_total * weights.unit  # p_i = weights_i / total

    def multipliers(self, samples: Ints, weights: Floats) -> Ratios | None:
        """Saved float weights as rational μ, on the simplex of each sample; None if a sample has none at all."""
        parts = ratios(weights)
        if self.prices.hard:
            return Ratios(np.where(self.weights[samples] > 0, parts.whole, 0), parts.unit)
        mass = np.zeros(len(self.weights), object)
        np.add.at(mass, samples, parts.whole)
        if not mass[self.samples].all():
            return None
        alpha = (parts.whole << GRID) // np.maximum(mass, 1)[samples]
        order = np.argsort(-weights, kind="stable")
        heaviest = order[np.unique(samples[order], return_index=True)[1]]
        left = np.full(len(self.weights), 1 << GRID, object)
        np.subtract.at(left, samples, alpha)
        alpha[heaviest] += left[samples[heaviest]]
        return Ratios(alpha * self.weights[samples] * self.total.denominator, self.total.numerator << GRID)

    def on_simplex(self, samples: Ints, mu: Ratios) -> bool:
        """Whether μ ≥ 0 and Σ_{k∈i} μ_k = p_i to the last digit, 0 where p_i is; p_i = ∞ asks for no sum."""
        mass = np.zeros(len(self.weights), object)
        np.add.at(mass, samples, mu.whole)
        owed = self.weights * (mu.unit * self.total.denominator)
        equal = (mass == 0) | (self.weights > 0) if self.prices.hard else mass * self.total.numerator == owed
        return bool(equal.all() and (mu.whole >= 0).all())

    def push(self, samples: Ints, witnesses: Ints, mu: Ratios) -> tuple[Ratios, Fraction]:
        """−Σ μ_k a_k (p,) and Σ μ_k o_k."""
        slopes, offsets = self.oracle.rows(samples, witnesses)
        push = Ratios(-slopes.combined(mu.whole, self.dim), slopes.unit * mu.unit)
        return push, Ratios(mu.whole * offsets.whole, mu.unit * offsets.unit).sum()

    def lower(
        self, samples: Ints, witnesses: Ints, mu: Ratios | None, upper: Fraction | float = INFINITE
    ) -> Fraction | float:
        """The dual value of μ; −∞ if there is none. `upper` is a proven upper bound, if one is known."""
        if mu is None:
            return -INFINITE
        push, value = self.push(samples, witnesses, mu)
        return value - self.regularizer.within(upper).conjugate(push)

    def upper(self, theta: Ratios) -> Fraction | float:
        """F(θ), after moving θ into r's domain and scaling it to margins if hard; ∞ if that cannot be done."""
        theta = self.regularizer.feasible(theta)
        values = self.oracle.highest(theta, self.samples)
        if self.prices.hard:
            scale = self.feasible_scale(theta, Fraction(int(values.whole.max()), values.unit))
            return INFINITE if scale is None else self.regularizer.value(theta * scale)
        risk = Ratios(values.whole * self.weights[self.samples], values.unit).sum() / self.total
        return self.regularizer.value(theta) + risk

    def feasible_scale(self, theta: Ratios, violation: Fraction) -> Fraction | None:
        """c with c·θ feasible when θ misses no margin by more than `violation`; None if no c is known."""
        if not isinstance(self.oracle, ExactMargins):
            return None
        least = self.oracle.least_loss
        if violation >= least or self.oracle.free(theta, self.samples).whole.any():
            return None
        return least / (least - max(violation, Fraction(0)))

    def gap(self, upper: Fraction | float, lower: Fraction | float) -> Fraction | float:
        """(upper − lower)/max(|upper|, |lower|, 10⁻⁶ F(start)), or 0 if all three vanish (`Bounds.gap`)."""
        if INFINITE in (upper, -lower):
            return INFINITE
        size = max(abs(upper), abs(lower))
        if size * 10**5 < 1:  # only then can the start matter; it is one more pass of the decoder
            start = self.upper(common(list(self.regularizer.argmin(common([Fraction(0)] * self.dim).fractions()))))
            size = max(size, Fraction(1, 10**6) * abs(start)) if start < INFINITE else size
        return (upper - lower) / size if size else Fraction(0)


def sharpened(certificate: Certificate, gap: float, latest: Floats) -> Certificate:
    """A certificate whose bounds are the rational ones, for a run that floating point's own rounding stopped.

    `latest` is the last θ of that run, which may be the better one: below rounding floats cannot tell.
    The same certificate where the output structure brings no exact arithmetic.
    """
    try:
        rules, lower, upper = exact_bounds(certificate)
    except MissingCapability:
        return certificate
    if (other := rules.upper(ratios(latest))) < upper:
        upper, certificate = other, replace(certificate, theta=latest)
    reached = above(rules.gap(upper, lower))
    ends = {"lower": max(below(lower), certificate.lower), "upper": min(above(upper), certificate.upper)}
    status = "optimal" if reached <= gap else certificate.status
    return replace(certificate, **ends, gap=min(reached, certificate.gap), status=status)


def exact_bounds(certificate: Certificate) -> tuple[ExactBounds, Fraction | float, Fraction | float]:
    """The bounds' rules, and (lower, upper) of a certificate's own θ and weights."""
    rules = ExactBounds(certificate.formulation, certificate.problem)
    check_witnesses(rules, certificate)
    used = np.flatnonzero(certificate.weights > 0)
    samples, witnesses = certificate.samples[used], certificate.witnesses[used]
    mu, upper = rules.multipliers(samples, certificate.weights[used]), rules.upper(ratios(certificate.theta))
    return rules, rules.lower(samples, witnesses, mu, upper), upper


def exact_optimum(rules: ExactBounds, certificate: Certificate) -> tuple[Fraction | float, Fraction | float]:
    """(lower, upper) of a polished certificate's rational weights and the θ that they imply."""
    mu = common(certificate.fractions or [])
    if not rules.on_simplex(certificate.samples, mu):
        return -INFINITE, INFINITE
    push, value = rules.push(certificate.samples, certificate.witnesses, mu)
    lower = value - rules.regularizer.conjugate(push)
    return lower, rules.upper(common(list(rules.regularizer.argmin(push.fractions()))))


def check_witnesses(rules: ExactBounds, certificate: Certificate) -> None:
    """`BadInput` if a cut's witness is no output of its sample."""
    wrong = rules.oracle.outputs.fault(certificate.samples, certificate.witnesses)
    if wrong is not None:
        raise BadInput(
            f"Cut {wrong} has the witness {certificate.witnesses[wrong].tolist()}, which is no output of sample "
            f"{certificate.samples[wrong]}; write the certificate again with `solve`."
        )


# ── the exact optimum ─────────────────────────────────────────────────────────────────────────────


def optimum(certificate: Certificate) -> Certificate:
    """The certificate with the exact optimum in it, or the same one with a `remark` that says why not.

    What is found: `optimum`, F* as a fraction; `fractions`, the rational μ that prove it, with their cuts;
    `theta` and `weights` are the nearest floats, `upper` and `lower` F* and F(theta) rounded outward.
    """
    try:
        return polished(certificate)
    except NotFound as reason:
        return replace(certificate, remark=f"No exact optimum: {reason}.")
    except MissingCapability as reason:
        return replace(certificate, remark=f"No exact optimum: {reason}.")


class NotFound(Exception):
    """Why there is no exact optimum."""


def polished(certificate: Certificate) -> Certificate:
    """The certificate with its exact optimum; `NotFound` says why there is none."""
    rules = ExactBounds(certificate.formulation, certificate.problem)
    if rules.regularizer.curvature is None:
        raise NotFound("it takes a squared-norm regularizer")
    check_witnesses(rules, certificate)
    face = Face(rules, certificate)
    for _ in range(MOST_STEPS):
        mu = face.solve()
        if mu is None or not face.advance(mu):
            continue
        push, value = rules.push(face.samples, face.witnesses, mu)
        lower = value - rules.regularizer.conjugate(push)
        theta = rules.regularizer.argmin(push.fractions())
        if rules.upper(common(list(theta))) == lower:
            return finished(rules, certificate, face, mu, theta, lower)
        face.add(theta.astype(float))
    raise NotFound(f"the cuts with weight did not settle in {MOST_STEPS} steps; ask for a smaller --gap")


def finished(
    rules: ExactBounds, old: Certificate, face: Face, mu: Ratios, theta: NDArray, value: Fraction
) -> Certificate:
    """The old certificate with what was found in place of its floats."""
    used, near = np.flatnonzero(mu.whole != 0), theta.astype(float)
    fractions, reached = mu.fractions()[used], rules.upper(ratios(near))
    if reached == np.inf:
        raise NotFound("the floats nearest to its weights leave an output of zero loss above the truth")
    return replace(
        old,
        theta=near,
        samples=face.samples[used],
        witnesses=face.witnesses[used],
        weights=fractions.astype(float),
        upper=above(reached),
        lower=below(value),
        gap=above(rules.gap(Fraction(above(reached)), Fraction(below(value)))),
        status="optimal",
        optimum=value,
        fractions=list(fractions),
        remark="",
    )


class Face:
    """The cuts thought to carry weight at the optimum, with float weights μ that guide the search.

    samples (K,), witnesses (K, width), weights (K,) > 0, and 0 for cuts that have just come in.
    """

    def __init__(self, rules: ExactBounds, certificate: Certificate):
        self.rules = rules
        pairs = np.column_stack([certificate.samples, certificate.witnesses])
        pairs, at = np.unique(pairs, axis=0, return_inverse=True)
        weights = np.bincount(at.ravel(), certificate.weights, len(pairs)).astype(float)
        self.samples, self.witnesses, self.weights = pairs[:, 0], pairs[:, 1:], weights
        top = np.zeros(len(rules.weights))
        np.maximum.at(top, self.samples, weights)
        scale = top.max(initial=0.0) if rules.prices.hard else top[self.samples]
        self.keep((weights > NEGLIGIBLE * scale) & (rules.prices.weights[self.samples] > 0))
        if not rules.prices.hard:
            mass = np.bincount(self.samples, self.weights, len(rules.weights))
            if not (mass[rules.samples] > 0).all():
                raise NotFound("a sample has no weight at all")
            self.weights *= (rules.prices.floats() / np.where(mass > 0, mass, 1))[self.samples]

    def keep(self, which: Ints | NDArray[np.bool_]) -> None:
        self.samples, self.witnesses, self.weights = self.samples[which], self.witnesses[which], self.weights[which]

    def solve(self) -> Ratios | None:
        """The rational μ (K,) at which all cuts of a sample tie; None if a dependent cut was dropped instead."""
        rules, K = self.rules, len(self.samples)
        order = np.lexsort((-self.weights, self.samples))
        first = np.unique(self.samples[order], return_index=True)[1]
        base = np.zeros(len(rules.weights), np.int64)
        base[self.samples[order[first]]] = order[first]
        fixed = np.empty(0, np.int64) if rules.prices.hard else order[first]
        free = np.setdiff1d(np.arange(K), fixed)
        free = free[np.argsort(-self.weights[free], kind="stable")]
        if len(free) > MOST_UNKNOWNS:
            raise NotFound(f"{len(free)} weights are unknown and the rational system is limited to {MOST_UNKNOWNS}")

        slopes, offsets = rules.oracle.rows(self.samples, self.witnesses)
        shares = np.zeros(K, object)
        shares[fixed] = rules.weights[self.samples[fixed]]
        start = slopes.combined(shares, rules.dim)
        own = base[self.samples[free]] if len(fixed) else None
        D, used = differences(slopes, K, free, own)
        delta = offsets.whole[free] - (offsets.whole[own] if own is not None else 0)
        flat, m = D.ravel(), len(free)
        gram = product(flat, lambda piece: piece.reshape(D.shape), D.T) if m else np.zeros((0, 0), object)
        if (row := dependent_row(gram)) is not None:
            self.slide(free, own, D, row, offsets)
            return None
        lam, price = rules.regularizer.curvature, rules.total if len(fixed) else Fraction(1)
        unit = lam.denominator * offsets.unit * price.numerator  # of the right side
        right = delta * (slopes.unit**2 * lam.numerator * price.numerator)
        right = right - (D @ start[used]) * (price.denominator * lam.denominator * offsets.unit)
        y, q = solve_whole(gram, right)
        whole = shares * (price.denominator * lam.denominator * offsets.unit * q)
        whole[free] = y
        if own is not None:
            np.subtract.at(whole, own, y)
        return Ratios(whole, unit * q)

    def slide(self, free: Ints, own: Ints | None, D: NDArray, row: int, offsets: Ratios) -> None:
        """Move along the dependency of row `row` on those before it, uphill, until a cut has no weight; drop it."""
        D = D.astype(float)
        direction = np.zeros(len(self.samples))
        direction[free[row]] = 1.0
        direction[free[:row]] = -np.linalg.lstsq(D[:row].T, D[row], rcond=None)[0]
        if own is not None:
            np.subtract.at(direction, own, direction[free])
        if direction @ offsets.whole.astype(float) < 0 or (direction >= 0).all():
            direction = -direction
        self.step(direction)

    def advance(self, mu: Ratios) -> bool:
        """Move the float weights to μ if μ ≥ 0; else as far as they stay ≥ 0, and drop what stops them."""
        target = mu.fractions().astype(float)
        if (mu.whole >= 0).all():
            self.weights = target
            return True
        towards: Floats = np.where(mu.whole < 0, np.minimum(target, -1e-300), target)
        self.step(towards - self.weights)
        return False

    def step(self, direction: Floats) -> None:
        """w ← w + t·direction with the largest t that keeps w ≥ 0; cuts that reach 0 leave."""
        falling = np.flatnonzero(direction < 0)
        if not len(falling):
            raise NotFound("the dual is unbounded, so no weights satisfy the constraints")
        ratio = self.weights[falling] / -direction[falling]
        t = ratio.min()
        self.weights = np.maximum(self.weights + t * direction, 0.0)
        self.keep(np.setdiff1d(np.arange(len(self.samples)), falling[ratio <= t]))

    def add(self, theta: Floats) -> None:
        """Append the cuts that the float oracle finds violated at θ."""
        samples, floats = self.rules.samples, self.rules.floats
        witnesses = floats.argmax(theta, samples)
        slopes, offsets = floats.rows(samples, witnesses)
        known = np.zeros(len(self.rules.weights)) if self.rules.prices.hard else self.values(theta)
        above = slopes @ theta + offsets - known[samples]
        new = np.flatnonzero(above > 1e-12 * (1 + np.abs(known[samples])))
        if not len(new):
            raise NotFound("a cut is missing by less than floats can tell")
        self.samples = np.concatenate([self.samples, samples[new]])
        self.witnesses = np.concatenate([self.witnesses, witnesses[new]])
        self.weights = np.concatenate([self.weights, np.zeros(len(new))])

    def values(self, theta: Floats) -> Floats:
        """The highest known cut of every sample at θ."""
        slopes, offsets = self.rules.floats.rows(self.samples, self.witnesses)
        known = np.full(len(self.rules.weights), -np.inf)
        np.maximum.at(known, self.samples, slopes @ theta + offsets)
        return known


def differences(slopes: Entries, K: int, free: Ints, own: Ints | None) -> tuple[NDArray, Ints]:
    """The whole rows a_free − a_own (without `own`: a_free) on the columns they use, and those columns."""
    asked = free if own is None else np.union1d(free, own)
    number = np.full(K, -1)
    number[asked] = np.arange(len(asked))
    held = np.flatnonzero(number[slopes.rows] >= 0)
    used, column = np.unique(slopes.columns[held], return_inverse=True)
    dense = np.zeros((len(asked), len(used)), object)
    np.add.at(dense, (number[slopes.rows[held]], column), slopes.values[held])
    return dense[number[free]] - (0 if own is None else dense[number[own]]), used
