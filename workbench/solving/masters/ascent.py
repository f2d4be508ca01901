"""Block dual ascent: our own warm-started master for any regularizer with a `Shape` and finite prices.

    min over θ   r(θ) + Σ_g p_g max_{r∈g} (⟨a_r, θ⟩ + o_r),      r(x) = Σ_j a_j x_j² + c_j x_j + l_j|x_j| on x ≥ f,
                                                                 some entries on the simplex (regularizers.Shape)

Its dual is over β ≥ 0 with Σ_{r∈g} β_r = p_g, and d = Σ_r β_r a_r. Where every a_j > 0, with h_j = 2a_j and z = −c − d,

    θ_j = max(f_j, sign(z_j)(|z_j| − l_j)₊/h_j),      ∇_r = o_r + ⟨a_r, θ⟩,

and θ_j is Lipschitz in d_j with constant 1/h_j. So D falls below its tangent by at most the form of the Gram matrix
H_rs = Σ_j a_rj a_sj/h_j. A visit to group g maximises (tangent − that quadratic form) over the weights of its own
rows, by pairwise steps: weight moves from the row r⁻ with least ∇ among β_r > 0 to the row r⁺ with greatest ∇, by
δ = min(β_{r⁻}, (∇_{r⁺} − ∇_{r⁻})/(H_{++} + H_{−−} − 2H_{+−})) (the steps of pairwise Frank–Wolfe, Lacoste-Julien &
Jaggi 2015). For a squared norm, H = AAᵀ/μ and the model is D itself. Groups are visited in a new random order each
sweep: a fixed order is far slower. A sweep costs a pass over the rows' nonzeros; the slopes stay sparse. An
interior-point method solves each master from scratch, the ascent starts from the last β. Its weights become exactly
zero, which keeps the support small for the active-set finish (face.py).

**Entries without curvature.** Where a_j = 0, as for biases b, which no term penalises, and for costs v on the simplex,
θ does not follow from β. There r gets the term ½σ_j(x_j − x⁰_j)², whose centre x⁰ moves to x every few sweeps (the
proximal method of multipliers; Rockafellar 1976): h_j = 2a_j + σ_j, z = σx⁰ − c − d, and on the simplex θ is the
projection of x⁰ − d/σ. These entries move about as fast as the others if rows have the same mean square in both,
measured by h: σ is the mean of Σ_j a_rj² over these entries, over the mean of Σ_j a_rj²/(2a_j) over the rest; one σ for
the simplex, one for the entries that no term penalises.

**When to stop.** D* − D(β) ≤ Σ_g p_g max_{r∈g} ∇_r − ⟨∇, β⟩, summed over the visits of a sweep, and what the centre
still contributes: ⟨d, v⟩ − min d on the simplex, elsewhere Σ_j |σ_j(x_j − x⁰_j)| times the distance to the optimum,
estimated by max |x_j|. This estimate only decides when the oracle is asked again; no σ and no x⁰ enters `Bounds`, which
balances β until free entries have no push.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from workbench.arithmetic.compiled import available, compiled_function
from workbench.contracts import Floats, Ints, Rows, Shape
from workbench.objectives.regularizers import projected, projection, separated
from workbench.solving.masters.master import Master, MasterAnswer
from workbench.solving.progress import Clock

SWEEPS = 8  # between two moves of the centre, or looks at the gap
MOVES = 16  # of the centre, at most, before the oracle is asked again


class GroupedRows(NamedTuple):
    """Rows as arrays, `order`ed by group: g has the places starts[g] … starts[g + 1]; the Gram matrix of each group."""

    indptr: Ints
    indices: Ints
    values: Floats
    offsets: Floats
    order: Ints
    starts: Ints
    prices: Floats
    corners: Ints  # where the Gram matrix of a group begins in `gram`
    gram: Floats


class Centred(NamedTuple):
    """r with its proximal terms: h, σx⁰ − c, l, f (p,), and the entries of the simplex (s,)."""

    metric: Floats
    pull: Floats
    absolute: Floats
    floor: Floats
    simplex: Ints


class Dual(NamedTuple):
    """β (rows,), and d and θ (p,) that follow from it."""

    beta: Floats
    push: Floats
    theta: Floats


def fill(blocks: GroupedRows, metric: Floats, dense: Floats) -> None:
    """Fill in the Gram matrix of each group, one row at a time spread out into `dense` (p,), 0 before and after."""
    indptr, indices, values, _, order, starts, _, corners, gram = blocks
    for g in range(len(starts) - 1):
        first, m = starts[g], starts[g + 1] - starts[g]
        for a in range(m):
            r = order[first + a]
            for k in range(indptr[r], indptr[r + 1]):
                dense[indices[k]] = values[k] / metric[indices[k]]
            for b in range(a + 1):
                s, dot = order[first + b], 0.0
                for k in range(indptr[s], indptr[s + 1]):
                    dot += values[k] * dense[indices[k]]
                gram[corners[g] + a * m + b] = gram[corners[g] + b * m + a] = dot
            for k in range(indptr[r], indptr[r + 1]):
                dense[indices[k]] = 0.0


def pairwise(gram: Floats, gradient: Floats, weight: Floats, least: float) -> None:
    """Steps on the quadratic model of a group, from the row of least gradient with weight to that of the greatest."""
    m = len(weight)
    for _ in range(4 * m):
        high, low = 0, -1
        for a in range(m):
            if gradient[a] > gradient[high]:
                high = a
            if weight[a] > 0.0 and (low < 0 or gradient[a] < gradient[low]):
                low = a
        rise = gradient[high] - gradient[low]
        if rise <= least:
            break
        curve = gram[high * m + high] + gram[low * m + low] - 2.0 * gram[high * m + low]
        step = weight[low]
        if curve * step > rise:
            step = rise / curve
            weight[low] -= step
        else:
            weight[low] = 0.0
        weight[high] += step
        for a in range(m):
            gradient[a] -= step * (gram[high * m + a] - gram[low * m + a])


def sweep(
    pairwise: Callable[..., None],
    projected: Callable[..., Floats],
    blocks: GroupedRows,
    centred: Centred,
    dual: Dual,
    orders: Ints,
    target: float,
) -> float:
    """One sweep over the groups for each row of `orders`; the gap at this centre.

    The first sweep computes the gap, and is the last one if that gap is at most `target`. Later sweeps leave out the
    groups in which the first sweep found nothing to improve.
    """
    indptr, indices, values, offsets, order, starts, prices, corners, gram = blocks
    metric, pull, absolute, floor, simplex = centred
    beta, push, theta = dual
    gap, least, busy = 0.0, 0.1 * target / prices.sum(), np.ones(len(prices))
    for turn in range(len(orders)):
        for g in orders[turn]:
            if busy[g] == 0.0:
                continue
            first, m = starts[g], starts[g + 1] - starts[g]
            gradient, weight, held = np.empty(m), np.empty(m), 0.0
            for a in range(m):
                r = order[first + a]
                value = offsets[r]
                for k in range(indptr[r], indptr[r + 1]):
                    value += values[k] * theta[indices[k]]
                gradient[a], weight[a] = value, beta[r]
                held += value * beta[r]
            rise = prices[g] * gradient.max() - held
            if turn == 0:
                gap += rise
                busy[g] = 1.0 if rise > least * prices[g] else 0.0
            pairwise(gram[corners[g] : corners[g] + m * m], gradient, weight, least)
            moved = False
            for a in range(m):
                r, change = order[first + a], weight[a] - beta[order[first + a]]
                if change != 0.0:
                    beta[r], moved = weight[a], len(simplex) > 0
                    for k in range(indptr[r], indptr[r + 1]):
                        j = indices[k]
                        push[j] += change * values[k]
                        z = pull[j] - push[j]
                        theta[j] = max(np.sign(z) * max(abs(z) - absolute[j], 0.0) / metric[j], floor[j])
            if moved:
                shares = projected((pull[simplex] - push[simplex]) / metric[simplex], metric[simplex])
                for k in range(len(simplex)):
                    theta[simplex[k]] = shares[k]
        if gap <= target:
            break
    return gap


class AscentMaster(Master):
    """The master that ascends the dual over sparse rows from its last β (rows,) and centre, groups in seeded orders."""

    def __init__(self, shape: Shape, prices: Floats, start: Floats):
        super().__init__(len(start), "ascent")
        self.prices, self.beta, self.rng = prices, np.empty(0), np.random.default_rng(0)
        self.shape, self.centre = shape, start.copy()
        self.simplex, self.unpenalised = np.flatnonzero(shape.simplex), (shape.square == 0) & ~shape.simplex
        self.steps = compiled(projection(self.simplex)) if available() else (fill, sweep, pairwise, projected)

    def append(self, rows: Rows) -> None:
        super().append(rows)
        self.beta = np.concatenate([self.beta, np.zeros(len(rows.offsets))])

    def warm(self, multipliers: Floats) -> None:
        self.beta = multipliers

    def keep(self, index: Ints) -> None:
        super().keep(index)
        self.beta = self.beta[index]

    def solve(self, tolerance: float, shortfall: float, time_limit: float | None = None) -> MasterAnswer:
        clock = Clock(time_limit)
        fill, sweep, pairwise, projected = self.steps
        rows, sigma, estimate = self.rows, self.sigma(), np.inf
        blocks, beta = grouped(rows, self.prices, self.beta)
        metric, push = 2 * self.shape.square + sigma, rows.slopes.T @ beta
        fill(blocks, metric, np.zeros(len(sigma)))
        for _ in range(MOVES):
            theta = self.implied(push, sigma)
            pull = sigma * self.centre - self.shape.linear
            centred = Centred(metric, pull, self.shape.absolute, self.shape.floor, self.simplex)
            orders = np.array([self.rng.permutation(len(self.prices)) for _ in range(SWEEPS)])
            gap = sweep(pairwise, projected, blocks, centred, Dual(beta, push, theta), orders, 0.5 * shortfall)
            estimate = gap + self.missed(theta, push, sigma)
            self.centre = np.where(sigma > 0, theta, 0.0)
            if estimate <= shortfall or clock.left <= 0:
                break
        self.beta = beta
        return MasterAnswer(theta, beta, f"gap about {estimate:.1e}")

    def sigma(self) -> Floats:
        """σ (p,), 0 where r is strongly convex."""
        squares = np.asarray(self.rows.slopes.power(2).sum(axis=0)).ravel()
        curved = ~self.unpenalised & ~self.shape.simplex & np.isfinite(self.shape.square)
        rest, sigma = (squares[curved] / (2 * self.shape.square[curved])).sum(), np.zeros(len(squares))
        for kind in (self.unpenalised, self.shape.simplex):
            total = squares[kind].sum()
            sigma[kind] = total / rest if total * rest > 0 else 1.0
        return sigma

    def implied(self, push: Floats, sigma: Floats) -> Floats:
        """θ of d = `push`."""
        square, linear, absolute, floor, _ = self.shape
        theta = separated(self.centre, sigma, square, linear + push, absolute, floor)
        own = self.simplex
        if len(own):
            theta[own] = projected(self.centre[own] - push[own] / sigma[own], sigma[own])
        return theta

    def missed(self, theta: Floats, push: Floats, sigma: Floats) -> float:
        """The part of the gap estimate that the centre x⁰ causes; see the module's docstring."""
        away = np.abs(sigma * (theta - self.centre))[self.unpenalised].sum()
        costs = theta[self.simplex] @ push[self.simplex] - push[self.simplex].min() if len(self.simplex) else 0.0
        return float(away * np.abs(theta[self.unpenalised]).max(initial=0.0) + costs)


def grouped(rows: Rows, prices: Floats, beta: Floats) -> tuple[GroupedRows, Floats]:
    """The rows by group with room for their Gram matrices, and β scaled to the prices; every group has a row."""
    order = np.argsort(rows.groups, kind="stable")
    starts = np.searchsorted(rows.groups[order], np.arange(len(prices) + 1))
    mass = np.bincount(rows.groups, beta, len(prices))
    empty = mass <= 0
    beta = np.where(empty[rows.groups], 0.0, beta * (prices / np.where(empty, 1.0, mass))[rows.groups])
    beta[order[starts[:-1][empty]]] = prices[empty]
    corners = np.concatenate([[0], np.cumsum(np.diff(starts) ** 2)])
    index = rows.slopes.indptr.astype(np.int64), rows.slopes.indices.astype(np.int64)
    values: Floats = np.asarray(rows.slopes.data, float)
    return GroupedRows(*index, values, rows.offsets, order, starts, prices, corners[:-1], np.empty(corners[-1])), beta


def compiled(
    onto: Callable[..., Floats],
) -> tuple[Callable[..., None], Callable[..., float], Callable[..., None], Callable[..., Floats]]:
    """`fill`, `sweep` and the two functions that `sweep` calls, `pairwise` and `onto`, compiled."""
    floats, ints = np.zeros(1), np.zeros(1, np.int64)
    blocks = GroupedRows(ints, ints, floats, floats, ints, ints, floats, ints, floats)
    centred, dual = Centred(floats, floats, floats, floats, ints), Dual(floats, floats, floats)
    onto = compiled_function(onto, (floats, floats), "floats")
    steps = compiled_function(pairwise, (floats, floats, floats, 0.0), "void")
    swept = compiled_function(sweep, (steps, onto, blocks, centred, dual, ints[None], 0.0))
    return compiled_function(fill, (blocks, floats, floats), "void"), swept, steps, onto
