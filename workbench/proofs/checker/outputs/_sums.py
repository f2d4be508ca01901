"""Sum-product on chains over whole numbers, every number enclosed: lo ≤ x·2^P ≤ hi.

With u_t(b) = exp(θ_t(b) − max θ_t) and E_ab = exp(A_ab − max A), all in (0, 1],

    α_1 = u_1,  α_t(b) = u_t(b) Σ_a α_{t−1}(a) E_ab        β_T = 1,  β_t(a) = Σ_b E_ab u_{t+1}(b) β_{t+1}(b)
    log Z = log Σ_b α_T(b) + Σ_t max θ_t + (T − 1) max A
    q_t(b) = α_t(b) β_t(b)/Σ_b′ …,      Σ_t q_t(a, b) = E_ab Σ_t α_t(a) u_{t+1}(b) β_{t+1}(b)/Z_t

All numbers are positive, so lower ends multiply and add to lower ends, upper to upper ones. Each α_t and β_t is
shifted to P bits, lower ends rounded down, upper up; the scale of β cancels in q, that of α is counted for Z.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from workbench.proofs.checker.balls import exp, log, logs
from workbench.proofs.checker.contracts import Sums
from workbench.proofs.checker.faults import Imprecise
from workbench.proofs.checker.outputs._viterbi import Chained
from workbench.proofs.checker.whole import Array, Rows, Whole, dense_product, grouped, objects, zeros


@dataclass(frozen=True)
class Ball:
    """lo ≤ x·2^P ≤ hi, arrays of one shape, all ≥ 0."""

    lo: Array
    hi: Array

    @classmethod
    def empty(cls, *shape: int) -> Ball:
        return cls(zeros(*shape), zeros(*shape))

    def put(self, at: Any, other: Ball) -> None:  # whatever NumPy takes
        self.lo[at], self.hi[at] = other.lo, other.hi

    def shifted(self, bits: int) -> tuple[Ball, int]:
        """The same at `bits` bits: rounded outward; and by how many bits that moved it."""
        move = max(int(self.hi.max()).bit_length() - bits, 0)
        return Ball(self.lo >> move, -((-self.hi) >> move)), move

    def __len__(self) -> int:
        return len(self.lo)

    def turned(self) -> Ball:
        return Ball(self.lo.T, self.hi.T)

    def __getitem__(self, index: Any) -> Ball:  # whatever NumPy takes
        return Ball(self.lo[index], self.hi[index])

    def times(self, other: Ball) -> Ball:
        return Ball(self.lo * other.lo, self.hi * other.hi)

    def product(self, other: Ball) -> Ball:
        return Ball(self.lo @ other.lo, self.hi @ other.hi)

    def dense(self, other: Ball) -> Ball:
        return Ball(dense_product(self.lo, other.lo), dense_product(self.hi, other.hi))

    def sum(self) -> tuple[int, int]:
        if not self.lo.any():
            raise Imprecise
        return int(self.lo.sum()), int(self.hi.sum())

    def over(self, low: int, high: int) -> Ball:
        """x/z for z between low and high; the numbers must be shifted up before."""
        return Ball(self.lo // high, -(-self.hi // low))

    def scaled(self, factor: int) -> Ball:
        return Ball(self.lo * factor, self.hi * factor)


def chain_sums(X: Rows, s: Chained, masses: Array | None, P: int) -> Sums:
    """h_i and Σ mass_i ∇h_i of the scored samples, of letters X; masses are whole numbers, None for no gradient."""
    count, k = s.unary.shape
    tops, top = s.unary.max(axis=1), int(s.pairs.max())
    u = Ball(*(each.reshape(count, k) for each in exp((s.unary - tops[:, None]).ravel(), s.unit, P)))
    E = Ball(*(each.reshape(k, k) for each in exp((s.pairs[0] - top).ravel(), s.unit, P)))
    runs = [forward(u[start:stop], E, P) for start, stop in pairwise(s.starts.tolist())]
    steps, moved = np.diff(s.starts), objects(shift for _, shift in runs)
    offset = np.add.reduceat(tops, s.starts[:-1]) + (steps - 1).astype(object) * top - s.own
    lo, hi = logs(*zip(*(alphas[-1].sum() for alphas, _ in runs), strict=True), P, 0)
    twos = [moved * two for two in log(2, P)]
    low = (offset << P) // s.unit + lo + np.minimum(*twos)
    high = -((-offset << P) // s.unit) + hi + np.maximum(*twos)
    ends = Whole(low, 1 << P), Whole(high, 1 << P)
    if masses is None:
        return Sums(*ends, Whole(zeros(0)), Fraction(0))
    q, left, right = (Ball.empty(count, k) for _ in range(3))
    for (alphas, _), mass, (start, stop) in zip(runs, masses.tolist(), pairwise(s.starts.tolist()), strict=True):
        parts = backward(alphas, u[start:stop], E, P, mass)
        for whole, part in zip((q, left, right), parts, strict=True):
            whole.put(slice(start, stop), part)
    return Sums(*ends, *gradient_of(X, s, masses, P, q, E.times(pair_sums(left, right, s.starts))))


def forward(u: Ball, E: Ball, P: int) -> tuple[list[Ball], int]:
    """α_t at P bits each, and the shift: α_T stands in units of 2^shift."""
    alphas, shift = [u[0]], -P
    for t in range(1, len(u)):
        alpha, moved = alphas[-1].product(E).times(u[t]).shifted(P)
        shift += moved - 2 * P
        alphas.append(alpha)
    return alphas, shift


def backward(alphas: list[Ball], u: Ball, E: Ball, P: int, mass: int) -> tuple[Ball, Ball, Ball]:
    """q, α_t mass 2^3P/Z_t for pairs, and u_t β_t, of one sequence."""
    later, one = E.turned(), zeros(len(E)) + (1 << P)
    before = beta = Ball(one, one)
    shares, scaled, onward = (Ball.empty(len(u), len(E)) for _ in range(3))
    for t in reversed(range(len(u))):
        here = alphas[t].times(beta)
        shares.put(t, here.scaled(1 << P).over(*here.sum()))
        scaled.put(t, alphas[t].scaled(mass << 3 * P).over(*alphas[t].times(before).sum()))
        onward.put(t, u[t].times(beta).shifted(P)[0])
        before = onward[t].product(later)
        beta = before.shifted(P)[0]
    return shares, scaled, onward


def pair_sums(left: Ball, right: Ball, starts: Array) -> Ball:
    """Σ_t left_t(a) right_{t+1}(b) within the sequences."""
    first = np.setdiff1d(np.arange(starts[-1]), starts - 1)
    return left[first].turned().dense(right[first + 1])


def gradient_of(X: Rows, s: Chained, masses: Array, P: int, q: Ball, pairs: Ball) -> tuple[Whole, Fraction]:
    """Σ mass_i ∇h_i over 2^P, but for `radius`; pairs: Σ mass_i Σ_t q_t(a, b) over 2^3P."""
    k, mass, unit = s.unary.shape[1], np.repeat(masses, np.diff(s.starts)), X.unit
    middle = (q.lo + q.hi) >> 1
    middle[np.arange(len(middle)), s.labels] -= 1 << P
    rows, blocks = np.divmod(np.arange(middle.size), k)
    unary = X.spread(s.at[rows], blocks, (middle * mass[:, None]).ravel(), k)
    later = np.setdiff1d(np.arange(len(s.at)), s.starts)
    seen = grouped(mass[later], s.labels[later - 1] * k + s.labels[later], k * k)
    low, high = pairs.lo.ravel() >> 2 * P, -((-pairs.hi.ravel()) >> 2 * P)
    counted = (((low + high) >> 1) - (seen << P)) * unit
    sizes = X.sizes()[s.at] * mass
    radius = int((((q.hi - q.lo).sum(axis=1) + k) * sizes).sum()) + int((high - low + 1).sum()) * unit
    return Whole(np.concatenate([unary, counted]), unit << P), Fraction(radius, unit << P)
