"""Block dual ascent: our own warm-started solver of the master with r = μ/2‖θ‖².

    max D(β) = ⟨o, β⟩ − ‖Σ_r β_r a_r‖²/(2μ)    s.t.  Σ_{r∈g} β_r = p_g,  β ≥ 0
    θ = −Σ_r β_r a_r/μ,    ∇_r = o_r + ⟨a_r, θ⟩

A visit to group g maximises D over the weights of its rows alone, by pairwise steps on the block of
the Gram matrix H_g = A_g A_gᵀ/μ: weight moves from the row r⁻ with least ∇ among β_r > 0 to the row
r⁺ with greatest ∇, by δ = min(β_{r⁻}, (∇_{r⁺} − ∇_{r⁻})/(H_{++} + H_{−−} − 2H_{+−})) (the steps of
pairwise Frank–Wolfe, Lacoste-Julien & Jaggi 2015). Groups are visited in a new random order each
sweep: a fixed order is far slower. A visit reads the group's rows and θ, so a sweep costs a pass over
the rows' nonzeros, whatever their number squared; the slopes stay sparse.

    D(β*) − D(β) ≤ Σ_g p_g max_{r∈g} ∇_r − ⟨∇, β⟩

summed over the visits of a sweep estimates the gap that decides when to stop; `Bounds` has the last
word on D. An interior-point method solves each master from scratch, this starts from the last β; and
weights leave at exactly zero, which keeps the support small for the active-set finish (polish.py).

`Blocks` comes before the rounds: passes of the learner `dual-block`, which asks the oracle sample by
sample, finds its rows on the way (workbench/solvers/dual_block.py) and leaves them with their weights.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from workbench.compiled import available, compiled_function
from workbench.solvers.dual_block import DualBlock
from workbench.structures import Floats, Ints, Rows

SWEEPS = 100  # at most, before the oracle is asked again


def sweep(indptr, indices, values, offsets, rows, starts, orders, prices, curvature, beta, theta, dense, target):
    """Sweeps over the groups, one per row of `orders`, until the gap is at most `target`; the gap."""
    blocks = np.zeros(len(starts), np.int64)
    for g in range(len(starts) - 1):
        blocks[g + 1] = blocks[g] + (starts[g + 1] - starts[g]) ** 2
    gram = np.empty(blocks[-1])
    for g in range(len(starts) - 1):
        first, m = starts[g], starts[g + 1] - starts[g]
        for a in range(m):
            r = rows[first + a]
            for k in range(indptr[r], indptr[r + 1]):
                dense[indices[k]] = values[k]
            for b in range(a + 1):
                s, dot = rows[first + b], 0.0
                for k in range(indptr[s], indptr[s + 1]):
                    dot += values[k] * dense[indices[k]]
                gram[blocks[g] + a * m + b] = gram[blocks[g] + b * m + a] = dot / curvature
            for k in range(indptr[r], indptr[r + 1]):
                dense[indices[k]] = 0.0
    gradient, weight, before = np.empty(len(beta)), np.empty(len(beta)), np.empty(len(beta))
    gap = np.inf
    for order in orders:
        gap = 0.0
        for g in order:
            first, m, block = starts[g], starts[g + 1] - starts[g], blocks[g]
            top = -np.inf
            for a in range(m):
                r = rows[first + a]
                value = offsets[r]
                for k in range(indptr[r], indptr[r + 1]):
                    value += values[k] * theta[indices[k]]
                gradient[a], weight[a], before[a] = value, beta[r], beta[r]
                top = max(top, value)
                gap -= value * beta[r]
            gap += prices[g] * top
            for _ in range(4 * m):
                high, low, rise = 0, -1, 0.0
                for a in range(m):
                    if gradient[a] > gradient[high]:
                        high = a
                    if weight[a] > 0.0 and (low < 0 or gradient[a] < gradient[low]):
                        low = a
                rise = gradient[high] - gradient[low]
                if rise <= 0.1 * target:
                    break
                plus, minus = block + high * m, block + low * m
                curve = gram[plus + high] + gram[minus + low] - 2.0 * gram[plus + low]
                step = weight[low]
                if curve * step > rise:
                    step = rise / curve
                    weight[low] -= step
                else:
                    weight[low] = 0.0
                weight[high] += step
                for a in range(m):
                    gradient[a] -= step * (gram[plus + a] - gram[minus + a])
            for a in range(m):
                r, change = rows[first + a], weight[a] - before[a]
                if change != 0.0:
                    beta[r] = weight[a]
                    for k in range(indptr[r], indptr[r + 1]):
                        theta[indices[k]] -= change * values[k] / curvature
        if gap <= target:
            break
    return gap


def ascend(
    rows: Rows, prices: Floats, curvature: float, beta: Floats, target: float, rng: np.random.Generator
) -> tuple[Floats, float]:
    """β (rows,) within `target` of the master's optimum, or after SWEEPS, from a warm start; the gap left.

    Every group has a row; prices (groups,).
    """
    order = np.argsort(rows.groups, kind="stable")
    starts = np.searchsorted(rows.groups[order], np.arange(len(prices) + 1))
    mass = np.bincount(rows.groups, beta, len(prices))
    empty = mass <= 0
    beta = np.where(empty[rows.groups], 0.0, beta * (prices / np.where(empty, 1.0, mass))[rows.groups])
    beta[order[starts[:-1][empty]]] = prices[empty]
    theta = -(rows.slopes.T @ beta) / curvature
    orders = np.array([rng.permutation(len(prices)) for _ in range(SWEEPS)])
    arguments = typed(rows, order, starts, orders, prices, curvature, beta, theta, target)
    run = compiled_function(sweep, arguments) if available() else sweep
    return beta, run(*arguments)


def typed(rows, order, starts, orders, prices, curvature, beta, theta, target) -> tuple:
    """The arguments of `sweep`, in the types it is compiled for."""
    slopes = rows.slopes
    index = slopes.indptr.astype(np.int64), slopes.indices.astype(np.int64)
    dense = np.zeros(len(theta))
    constants = float(curvature), beta, theta, dense, float(target)
    return (*index, slopes.data, rows.offsets, order, starts, orders, prices, *constants)


def prepare() -> None:
    """Compile `sweep` now, so that its seconds are not taken for the solver's."""
    if available():
        none, numbers = np.empty(0), np.zeros(1, np.int64)
        compiled_function(sweep, typed(Rows.none(1), numbers, numbers, numbers[None], none, 1, none, none, 0))


class Blocks:
    """Passes of `dual-block` until its certified gap is reached or stands still.

    The gap stands still when it has not halved while the passes grew by half.
    """

    PATIENT = 60  # passes before it may

    def __init__(self, family: Any, gap: float):
        self.family, self.gap, self.solver = family, gap, DualBlock()
        bounds = family.bounds
        self.state = self.solver.init(bounds.formulation, bounds.problem)
        kernel, prices = bounds.oracle.kernel(), bounds.prices.floats()
        self.visit = self.solver.visitor(kernel, prices, self.state, available() and bool(kernel.data))

    def run(self, time_limit: float | None) -> tuple[list[Ints], tuple[Floats, Floats], float | None]:
        """Rows as the family's handles, (their multipliers, θ), and the seconds that are left."""
        began, rng, look, upper, lower = time.perf_counter(), np.random.default_rng(0), 1, np.inf, -np.inf
        gaps: list[tuple[int, float]] = []
        end = began + (time_limit or np.inf)
        while True:
            while self.state.passes < look and time.perf_counter() < end:
                self.visit(rng.permutation(self.family.samples))
            theta, ids, weights = self.handed()
            upper = min(upper, self.family.bounds.upper(theta))
            lower = max(lower, self.family.bounds.lower(self.family.cuts, weights))
            gaps.append((self.state.passes, self.family.gap(upper, lower)))
            if gaps[-1][1] <= self.gap or self.stands(gaps) or time.perf_counter() >= end:
                break
            look = 1 + look * 6 // 5
        left = None if time_limit is None else max(end - time.perf_counter(), 1e-3)
        return list(ids[:, None]), (weights[ids], theta), left

    def handed(self) -> tuple[Floats, Ints, Floats]:
        """θ, the atoms with weight, and the weights of all atoms of the family."""
        samples, witnesses, weights = self.solver.duals(self.state)
        ids = self.family.cuts.add(samples, witnesses, self.family.bounds.oracle.rows)
        return self.solver.report(self.state), ids, np.bincount(ids, weights, len(self.family.cuts))

    def stands(self, gaps: list[tuple[int, float]]) -> bool:
        passes, last = gaps[-1]
        earlier = [gap for before, gap in gaps if 3 * before <= 2 * passes]
        return passes > self.PATIENT and bool(earlier) and last > 0.5 * earlier[-1]
