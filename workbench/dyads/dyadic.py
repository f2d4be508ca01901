"""The dyadic learner: importance-aware updates of a bilinear model, one exact flow a visit.

A visit of pair i with target y follows the gradient flow of h_i ℓ(p_i, y) for time η. With |l|² = Σ l_f², likewise
|r|², the latent vectors ã = a + 1, b̃ = b + 1 move by ã' = −F|l|² b̃, b̃' = −F|r|² ã. Scaled, â = ã/|l|, b̂ = b̃/|r|,
γ = |l||r|, that is the flow of dyads/flows.py on the curve

    p(s) = p + ¼ γ [‖â + b̂‖² expm1(−2s) − ‖â − b̂‖² expm1(2s)] − s|x|²/γ,       T = γηh

and A_f ← A_f + l_f Δâ/|l|, B_f ← B_f + r_f Δb̂/|r|, w ← w − (s/γ) x.

*Several classes.* A **scoring filter tree** is a tournament bottom-up: the winner of two labels is the one with
the higher score, a node trains only if one of its entrants is the true label, on the difference p_u − p_v of two
dyads with vectors of their own. There v moves with −s, which swaps its U and V: the curve has U = U_u + V_v,
V = V_u + U_v and twice the |x|². All nodes share the scores, so the prediction is their argmax.
**One against all** updates each label's score towards ±1.

*Symmetry.* At the start A = B = 0, so ã = b̃: the hyperdiagonal, which no flow leaves. On the first visit a row of A
or B is perturbed by `spread` times a seeded normal number; rows that are never visited stay 0.

*Shrinkage.* λ/2(‖A‖² + ‖B‖² + ‖w‖²) adds the flow A' = −λA between visits, that is a factor e^{−λη} a visit; a row
takes the factors that are due at its next visit. Both flows together follow λ/2 ‖·‖² + (1/n) Σ h_i ℓ_i, the risk that
dyads/nuclear.py bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import exp
from time import perf_counter, process_time
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from workbench.arithmetic import compiled as machine
from workbench.arithmetic.arrays import compiled_rows
from workbench.contracts import Floats, Ints
from workbench.dyads import flows
from workbench.dyads.pairs import Dyads, Factors, Names
from workbench.errors import BadInput


class Pairs(NamedTuple):
    """What a sweep reads. Row 2i of the sides is the left of pair i, row 2i + 1 its right, numbered after all lefts."""

    ends: Ints  # the sides, CSR
    at: Ints
    values: Floats
    linear_ends: Ints  # x, CSR
    linear_at: Ints
    linear: Floats
    sizes: Floats  # (n, 3) |l|, |r|, |x|²
    labels: Ints
    importance: Floats


class State(NamedTuple):
    """What a sweep changes. Row (feature, label), label fastest, is one vector or weight."""

    latent: Floats  # (F L, k) A and below it B; what a row starts from counts from its first visit on
    weights: Floats  # (f L,)
    seen: Floats  # (F L,) the clock at the last visit, −1 before the first
    linear_seen: Floats  # (f L,)
    clock: Floats  # (2,) Σ η over visits; visits
    numbers: Floats  # step, power, λ, n
    count: int  # L
    alone: bool  # every score by itself, or a tournament


def sweep(step, first, second, pairs: Pairs, order, state: State) -> None:
    """Visits the pairs in `order`: scores all labels, then plays the tournament or updates each; `step` is a
    flow with two helpers.
    """
    ends, at, values, linear_ends, linear_at, linear, sizes, labels, importance = pairs
    latent, weights, seen, linear_seen, clock, numbers, count, alone = state
    k, lam = latent.shape[1], numbers[2]
    sides, change, alive = np.empty((2, count, k)), np.empty((2, k)), np.empty(count, np.int64)
    score, plus, minus = np.empty(count), np.empty(count), np.empty(count)
    for i in order:
        now, rate = clock[0], numbers[0] / (1 + clock[1] / numbers[3]) ** numbers[1]
        gamma = sizes[i, 0] * sizes[i, 1]
        for label in range(count):
            if lam > 0:
                for j in range(ends[2 * i], ends[2 * i + 2]):
                    row = at[j] * count + label
                    if seen[row] >= 0:
                        fade = exp(lam * (seen[row] - now))
                        for d in range(k):
                            latent[row, d] *= fade
                    seen[row] = now
                for j in range(linear_ends[i], linear_ends[i + 1]):
                    row = linear_at[j] * count + label
                    weights[row] *= exp(lam * (linear_seen[row] - now))
                    linear_seen[row] = now
            for side in range(2):
                for d in range(k):
                    sides[side, label, d] = 1.0
                for j in range(ends[2 * i + side], ends[2 * i + side + 1]):
                    row, value = at[j] * count + label, values[j]
                    for d in range(k):
                        sides[side, label, d] += value * latent[row, d]
                for d in range(k):
                    sides[side, label, d] /= sizes[i, side]
            total, risen, fallen = 0.0, 0.0, 0.0
            for d in range(k):
                a, b = sides[0, label, d], sides[1, label, d]
                total += gamma * a * b - 1
                risen += gamma * (a + b) * (a + b)
                fallen += gamma * (a - b) * (a - b)
            for j in range(linear_ends[i], linear_ends[i + 1]):
                total += linear[j] * weights[linear_at[j] * count + label]
            score[label], plus[label], minus[label], alive[label] = total, risen, fallen, label
        left, T, X = count, gamma * rate * importance[i], sizes[i, 2] / gamma
        while left > 0:
            for j in range(0, left, 1 if alone else 2):
                u, v = alive[j], alive[j] if alone or j + 1 == left else alive[j + 1]
                own = labels[i] == (u if count > 1 else 1)
                if alone or (u != v and (own or labels[i] == v)):
                    y = 1.0 if own else -1.0
                    if alone:
                        s = step(first, second, score[u], plus[u], minus[u], X, y, T)
                    else:
                        U, V = plus[u] + minus[v], minus[u] + plus[v]
                        s = step(first, second, score[u] - score[v], U, V, 2 * X, y, T)
                    for turn in range(0 if s == 0 else 1 if alone else 2):
                        label, r = (u, s) if turn == 0 else (v, -s)
                        grown = exp(r) if k > 0 else 1.0
                        shrunk = 1 / grown
                        before = plus[label] - minus[label]
                        plus[label] *= shrunk * shrunk
                        minus[label] *= grown * grown
                        score[label] += 0.25 * (plus[label] - minus[label] - before) - r * X
                        for d in range(k):
                            a, b = sides[0, label, d], sides[1, label, d]
                            rise, fall = 0.5 * (a + b) * shrunk, 0.5 * (a - b) * grown
                            sides[0, label, d], sides[1, label, d] = rise + fall, rise - fall
                            change[0, d] = (rise + fall - a) / sizes[i, 0]
                            change[1, d] = (rise - fall - b) / sizes[i, 1]
                        for side in range(2):
                            for e in range(ends[2 * i + side], ends[2 * i + side + 1]):
                                row, value = at[e] * count + label, values[e]
                                for d in range(k):
                                    latent[row, d] += value * change[side, d]
                        slide = r / gamma
                        for e in range(linear_ends[i], linear_ends[i + 1]):
                            weights[linear_at[e] * count + label] -= slide * linear[e]
                alive[j // 2] = u if score[u] >= score[v] else v
            left = 0 if alone or left <= 2 else (left + 1) // 2
        clock[0] += rate
        clock[1] += 1


@dataclass
class Dyadic:
    """Dyadic learner with `dimensions` latent dimensions (0: linear); `fit`, then `factors`, `predict`.

    Parameters
    ----------
    loss : hinge, squared, logistic, or another of flows.SLOPE
    step, power : η at visit t of n pairs is step/(1 + t/n)^power
    lam : λ of the shrinkage
    reduction : of several classes to binary problems; two classes have one score
    spread, seed : of the perturbation on first touch; the seed also draws the order of visits
    fast : compiled or not; None: if numba is there
    """

    dimensions: int = 1
    loss: str = "hinge"
    step: float = 0.3
    power: float = 0.5
    lam: float = 0.0
    reduction: Literal["tree", "one-against-all"] = "tree"
    spread: float = 0.1
    seed: int = 0
    fast: bool | None = None
    factors: Factors | None = field(default=None, init=False)
    names: Names | None = field(default=None, init=False)
    seconds: float = field(default=0.0, init=False)
    cpu_seconds: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        if self.dimensions < 0 or int(self.dimensions) != self.dimensions:
            raise BadInput(f"dimensions is {self.dimensions}; give a whole number of at least 0.")
        if not (0 < self.step < np.inf and 0 <= self.lam < np.inf and self.power >= 0 and self.spread >= 0):
            raise BadInput(f"step is {self.step}, lam {self.lam}, power {self.power}; give step > 0, the others ≥ 0.")
        if self.loss not in flows.SLOPE:
            raise BadInput(f"There is no loss {self.loss!r}; choose one of {', '.join(flows.SLOPE)}.")
        if self.reduction not in ("tree", "one-against-all"):
            raise BadInput(f"reduction is {self.reduction!r}; choose tree or one-against-all.")

    def start(self, dyads: Dyads) -> State:
        """The state before the first visit."""
        rng, count, k = np.random.default_rng(self.seed), dyads.scores_per_pair, int(self.dimensions)
        rows = count * (dyads.left.shape[1] + dyads.right.shape[1])
        weights, linear_seen = np.zeros((2, count * dyads.linear.shape[1]))
        visited = [np.bincount(part.indices, minlength=part.shape[1]) > 0 for part in (dyads.left, dyads.right)]
        noise = self.spread * rng.normal(size=(rows, k)) * np.repeat(np.concatenate(visited), count)[:, None]
        numbers = np.array([self.step, self.power, self.lam, dyads.n_samples], float)
        alone = count == 1 or self.reduction == "one-against-all"
        return State(noise, weights, -np.ones(rows), linear_seen, np.zeros(2), numbers, count, alone)

    def fit(self, dyads: Dyads, passes: int = 10, observe: Any = None) -> Dyadic:
        """`passes` sweeps in random order; `observe(pass, factors)` after each. Seconds exclude compilation."""
        if passes < 1:
            raise BadInput(f"passes is {passes}; give a whole number of at least 1.")
        for number, factors in enumerate(self.epochs(dyads, passes, together=not observe), 1):
            if observe:
                observe(number, factors)
        return self

    def epochs(self, dyads: Dyads, passes: int, together: bool = False) -> Iterator[Factors]:
        """The factors after each of `passes` sweeps from the start, or after all `together`."""
        pairs, state, rng = pairs_of(dyads), self.start(dyads), np.random.default_rng([self.seed, 1])
        self.names = dyads.names
        visit, *helpers = self.prepared(pairs, state)
        orders = [rng.permutation(dyads.n_samples) for _ in range(passes)]
        self.seconds = self.cpu_seconds = 0.0
        for order in [np.concatenate(orders)] if together else orders:
            clock, cpu = perf_counter(), process_time()
            visit(*helpers, pairs, order, state)
            self.seconds += perf_counter() - clock
            self.cpu_seconds += process_time() - cpu
            self.factors = self.settled(state, dyads)
            yield self.factors

    def flowed(self, dyads: Dyads, factors: Factors, i: int, importance: float) -> Factors:
        """The parameters after one visit of pair i with this importance, at step 1 and without shrinkage."""
        alone = replace(self, step=1.0, power=0.0, lam=0.0)
        pairs, state = pairs_of(dyads), alone.start(dyads)
        latent = [part.reshape(-1, int(self.dimensions)) for part in (factors.A, factors.B)]
        state.latent[:], state.weights[:], state.seen[:] = np.concatenate(latent), factors.W.ravel(), 0.0
        visit, *helpers = alone.prepared(pairs, state)
        pairs = pairs._replace(importance=np.full(dyads.n_samples, float(importance)))
        visit(*helpers, pairs, np.array([i]), state)
        return alone.settled(state, dyads)

    def prepared(self, pairs: Pairs, state: State) -> tuple[Any, ...]:
        """The sweep, its step and the step's two helpers, compiled or not."""
        fast = machine.available() if self.fast is None else self.fast
        step, *names = flows.parts(self.loss)
        tools = flows.machine(fast)
        helpers = [getattr(tools, name) for name in names]
        if not fast:
            return sweep, getattr(tools, step), *helpers
        kinds = map(flows.signature, (step, *names))
        whole = machine.signed(None, *kinds, pairs, np.empty(0, np.int64), state)
        return machine.compiled(sweep, whole), getattr(tools, step), *helpers

    def settled(self, state: State, dyads: Dyads) -> Factors:
        """All parameters brought up to the clock."""
        latent = state.latent * np.exp(self.lam * (np.maximum(state.seen, 0) - state.clock[0]))[:, None]
        weights = state.weights * np.exp(self.lam * (state.linear_seen - state.clock[0]))
        cut, shape = state.count * dyads.left.shape[1], (state.count, int(self.dimensions))
        A, B = (part.reshape(len(part) // state.count, *shape) for part in (latent[:cut], latent[cut:]))
        return Factors(A, B, weights.reshape(-1, state.count))

    def learned(self, dyads: Dyads) -> tuple[Dyads, Factors]:
        """The pairs with the columns that were learned, found by name, and the parameters."""
        if self.factors is None or self.names is None:
            raise BadInput("This learner has not learned yet; call fit first.")
        return dyads.placed(self.names), self.factors

    def predict(self, dyads: Dyads) -> Ints:
        """Indices of the predicted classes. Raises `BadInput` for identities that were not learned."""
        pairs, factors = self.learned(dyads)
        return pairs.decide(pairs.scores(factors))

    def least_importances(self, dyads: Dyads) -> Floats:
        """(n,) h_min: the least importance with which the hinge turns a prediction, at η = 1.

        Two classes: |p⁻¹(0)|/γ, what a label contrary to the prediction would have to weigh (dyads/flows.py). Several:
        the least over the other labels c of |q⁻¹(0)|/γ, q = p_u − p_c the difference that a node with the predicted
        label u and c as entrants is trained on.
        """
        return least_importances(*self.learned(dyads), fast=self.fast)


def least_importances(dyads: Dyads, factors: Factors, fast: bool | None = None) -> Floats:
    """h_min (n,) of pairs at these parameters, see `Dyadic.least_importances`."""
    sizes, reach = pairs_of(dyads).sizes, flows.machine(fast).reach
    f_left, count, k = factors.A.shape
    shape, gamma = (dyads.n_samples, count, k), sizes[:, 0] * sizes[:, 1]
    a = (dyads.left @ factors.A.reshape(f_left, -1)).reshape(shape) + 1
    b = (dyads.right @ factors.B.reshape(len(factors.B), -1)).reshape(shape) + 1
    sides = a / sizes[:, :1, None], b / sizes[:, 1:2, None]
    U, V = (gamma[:, None] * ((sides[0] + sign * sides[1]) ** 2).sum(axis=2) for sign in (1, -1))
    p, X = dyads.scores(factors), sizes[:, 2] / gamma
    if count == 1:
        return np.abs([reach(0.0, *map(float, c)) for c in zip(p[:, 0], U[:, 0], V[:, 0], X, strict=True)]) / gamma
    least, every, top = np.full(dyads.n_samples, np.inf), np.arange(dyads.n_samples), dyads.decide(p)
    for c in range(count):
        i = every[top != c]
        u = top[i]
        curves = zip(p[i, u] - p[i, c], U[i, u] + V[i, c], V[i, u] + U[i, c], 2 * X[i], strict=True)
        least[i] = np.minimum(least[i], np.abs([reach(0.0, *map(float, curve)) for curve in curves]) / gamma[i])
    return least


def pairs_of(dyads: Dyads) -> Pairs:
    """The arrays of a sweep."""
    n = dyads.n_samples
    both = sparse.csr_array(sparse.block_diag([dyads.left, dyads.right], format="csr"))
    both = both[np.arange(2 * n).reshape(2, n).T.ravel()]
    ends, at, values = compiled_rows(both)
    linear_ends, linear_at, linear_values = compiled_rows(dyads.linear)
    left, right, linear = (
        np.asarray(matrix.multiply(matrix).sum(axis=1), float).ravel()
        for matrix in (dyads.left, dyads.right, dyads.linear)
    )
    sizes = np.column_stack([np.sqrt(left), np.sqrt(right), linear])
    rows = ends, at, values, linear_ends, linear_at, linear_values
    return Pairs(*rows, sizes, dyads.labels, dyads.importance)


def regularised_risk(dyads: Dyads, factors: Factors, lam: float, loss: str = "hinge") -> float:
    """λ/2(‖A‖² + ‖B‖² + ‖W‖²) + Σ h_i ℓ(p_i, ±1)/n of two classes."""
    p, y = dyads.scores(factors)[:, 0], dyads.targets
    value = {
        "hinge": np.maximum(1 - y * p, 0),
        "squared": (p - y) ** 2 / 2,
        "logistic": np.logaddexp(0, -y * p),
    }[loss]
    return float(lam / 2 * sum((part**2).sum() for part in factors) + dyads.importance @ value / dyads.n_samples)
