"""Diagonal AdaGrad with composite steps, on sparse slopes (Duchi, Hazan, Singer 2011, §3 and §5).

With F = r + Σ p_i h_i, P = Σ p_i, i uniform among the n samples of positive price and z the argmax at θ,

    g = (n p_i/P) a_i(z),   G ← G + g²,   H = δ + √G
    θ ← argmin over x of ½ Σ_j H_j (x_j − u_j)² + η r(x)/P,     u = θ − η g/H

so F/P is minimised, by the regularizer's own proximal step in the metric H *of the step*, after g has entered it
(objectives/regularizers.py): L1 shrinks by ηλ₁/(P H_j), L2 divides by 1 + 2ηλ₂/(P H_j) (the exact step of both;
a gradient step on λ₂‖w‖² would enter G and has to be small against H/λ₂), costs v are projected onto the
simplex in the metric H or drawn towards 1 and clipped at 0, biases b are free.

**Deferred steps.** H_j changes only when g_j ≠ 0, so a weight that k visits left alone has k equal steps due.
Where r_j = a x² + l|x| they are one: with y = 1 + 2ηa/(P H) and t = ηl/(P H)

    |x| ← (y^{−k} |x| − t Σ_{i=1..k} y^{−i})₊,      Σ y^{−i} = (1 − y^{−k})/(y − 1)

for x ↦ (x − t)/y rises with x and leaves the negative numbers among themselves: cutting at the end is cutting at
every step. (k for the sum where k(y − 1) < 10⁻⁸, right to that share; y^{−k} = exp(−k log y), log y kept until H_j or
η changes.) So a visit costs what the kernel says that h_i depends on (`Kernel.reads_into`), however many weights there
are; entries with a floor, a linear term or on the simplex, that is v, take their step at every visit.

Reported: the last θ, or the mean of the θ at the ends of the passes 1, 2, …, T with weights 1, 2, …, T. In pass t
η is `step`/t^`decay`: decay=0 is the method of the paper, whose steps fall like t^−½ with √G; with decay=½ steps
fall like 1/t, as strong convexity in w allows, which was faster in benchmarks/adagrad.py. The regret
of constant η is least at η = D/√2, D the greatest distance of a weight (Theorem 5): step is of the size of weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from workbench.arithmetic import compiled as machine
from workbench.contracts import CutForm, Floats, Ints, Kernel, Shape, Solver
from workbench.errors import BadInput, checked_positive
from workbench.objectives.regularizers import projected, projection, separated
from workbench.solvers._common import everything

SHORT = 1e-8  # k(y − 1) below which Σ y^{−i} is taken for k


class Waiting(NamedTuple):
    """r/P where steps can wait: a and l, both (p,), 0 elsewhere."""

    square: Floats
    absolute: Floats


class Prompt(NamedTuple):
    """r/P where steps cannot wait: its terms (q,) at the entries `where`, and the entries of the simplex (s,)."""

    where: Ints
    square: Floats
    linear: Floats
    absolute: Floats
    floor: Floats
    simplex: Ints


class Desk(NamedTuple):
    """Room for what `reads_into` and `slope_into` write."""

    asked: Ints
    indices: Ints
    values: Floats


class State(NamedTuple):
    theta: Floats
    squares: Floats  # G
    since: Ints  # visits whose steps each entry has taken; of no meaning where θ_j = 0
    logs: Floats  # log y of the steps that wait, at this pass's η
    gradient: Floats  # scratch, 0 between visits
    witness: Ints
    visits: Ints
    average: Floats
    passes: Ints
    waiting: Waiting
    prompt: Prompt
    rate: Floats  # η of this pass
    n: int
    step: float
    decay: float
    delta: float


def settle(now: int, asked: Ints, count: int, state: State) -> None:
    """The steps due of the first `count` entries `asked` before visit `now`."""
    theta, squares, since, logs = state.theta, state.squares, state.since, state.logs
    (square, absolute), rate, delta = state.waiting, state.rate[0], state.delta
    for position in range(count):
        j = asked[position]
        if theta[j] == 0.0:  # it stays 0, and its steps count from when `follow` moves it
            continue
        due, since[j] = now - since[j], now
        if due > 0 and square[j] + absolute[j] > 0.0:
            kept = math.exp(-due * logs[j])
            size = abs(theta[j]) * kept
            if absolute[j] > 0.0:
                metric = delta + np.sqrt(squares[j])
                growth = 2.0 * rate * square[j] / metric
                total = float(due) if growth * due < SHORT else (1.0 - kept) / growth
                size = max(size - rate * absolute[j] / metric * total, 0.0)
            theta[j] = size if theta[j] > 0.0 else -size


def follow(count: int, weight: float, indices: Ints, values: Floats, state: State) -> None:
    """θ ← θ − η g/H for g = weight · a, a slope of `count` entries, H with g in it."""
    theta, squares, gradient, rate, delta = state.theta, state.squares, state.gradient, state.rate[0], state.delta
    since, logs, square, now = state.since, state.logs, state.waiting.square, state.visits[0]
    for position in range(count):
        gradient[indices[position]] += weight * values[position]
    for position in range(count):
        j = indices[position]
        if gradient[j] != 0.0:
            squares[j] += gradient[j] * gradient[j]
            metric = delta + np.sqrt(squares[j])
            theta[j] -= rate * gradient[j] / metric
            logs[j] = math.log1p(2.0 * rate * square[j] / metric)
            gradient[j], since[j] = 0.0, now


def rated(state: State) -> None:
    """η of the pass that begins, and log y of every entry."""
    theta, squares, logs, square = state.theta, state.squares, state.logs, state.waiting.square
    state.rate[0] = rate = state.step / float(state.passes[0] + 1) ** state.decay
    for j in range(len(theta)):
        if theta[j] != 0.0:
            logs[j] = math.log1p(2.0 * rate * square[j] / (state.delta + np.sqrt(squares[j])))


def promptly(separated, projected, state: State) -> None:
    """The steps of the entries that cannot wait."""
    theta, squares, rate, delta = state.theta, state.squares, state.rate[0], state.delta
    where, square, linear, absolute, floor, simplex = state.prompt
    if len(where) > 0:
        metric = delta + np.sqrt(squares[where])
        moved = separated(theta[where], metric, rate * square, rate * linear, rate * absolute, floor)
        for k in range(len(where)):
            theta[where[k]] = moved[k]
    if len(simplex) > 0:
        shares = projected(theta[simplex], delta + np.sqrt(squares[simplex]))
        for k in range(len(simplex)):
            theta[simplex[k]] = shares[k]


def sweep(
    argmax_into, slope_into, reads_into, rated, settle, follow, promptly, separated, projected, data,
    order: Ints, weights: Floats, desk: Desk, state: State,
) -> int:  # fmt: skip
    """Visits the samples in `order`, n p_i/P in `weights`; takes what is due at the end of each pass; the visits."""
    asked, indices, values = desk
    theta, visits, passes, witness, n = state.theta, state.visits, state.passes, state.witness, state.n
    for i in order:
        if visits[0] % n == 0:
            rated(state)
        settle(visits[0], asked, reads_into(data, i, asked), state)
        argmax_into(data, theta, i, witness)
        follow(slope_into(data, i, witness, indices, values), weights[i], indices, values, state)
        promptly(separated, projected, state)
        visits[0] += 1
        if visits[0] % n == 0:
            settle(visits[0], np.arange(len(theta)), len(theta), state)
            passes[0] += 1
            share = 2.0 / float(passes[0] + 1)
            for j in range(len(theta)):
                state.average[j] += share * (theta[j] - state.average[j])
    return visits[0]


def split(shape: Shape, scale: float) -> tuple[Waiting, Prompt]:
    """The regularizer times `scale`, as entries whose steps can wait, and entries that are stepped at once."""
    prompt = ~shape.simplex & ((shape.linear != 0) | np.isfinite(shape.floor) | np.isinf(shape.square))
    waits = ~(prompt | shape.simplex)
    waiting = Waiting(*(np.where(waits, each, 0.0) * scale for each in (shape.square, shape.absolute)))
    square, linear, absolute = (each[prompt] * scale for each in (shape.square, shape.linear, shape.absolute))
    where, simplex = np.flatnonzero(prompt), np.flatnonzero(shape.simplex)
    return waiting, Prompt(where, square, linear, absolute, shape.floor[prompt], simplex)


@dataclass(frozen=True)
class AdaGrad(Solver):
    """Diagonal AdaGrad with the regularizer's proximal step; has no dual, hence no lower bound of its own."""

    average: Literal["passes", "last"] = "passes"
    step: float = 0.3
    decay: float = 0.5
    delta: float = 1e-8

    name: ClassVar[str] = "adagrad"
    dual: ClassVar[bool] = False
    sweep = staticmethod(sweep)

    def __post_init__(self) -> None:
        if self.average not in ("passes", "last"):
            raise BadInput(f"average is {self.average!r}; choose 'passes' or 'last'.")
        checked_positive(step=self.step, delta=self.delta)
        if not 0 <= self.decay <= 1:
            raise BadInput(f"decay is {self.decay!r}; the power by which steps fall is from 0 to 1, e.g. decay=0.")

    def misfit(self, formulation: Any, problem: Any) -> str | None:
        if not isinstance(formulation, CutForm):
            return f"adagrad needs cuts and {type(formulation).__name__} has none; choose a formulation with cuts."
        if formulation.prices(problem).hard:
            return "adagrad needs finite prices and hard constraints have none; use the soft margin."
        if formulation.regularizer(problem).shape(formulation.blocks(problem).dim) is None:
            return (
                f"adagrad needs a regularizer with a proximal step and that of {type(formulation).__name__} has none."
            )
        return None

    def init(self, formulation: Any, problem: Any) -> State:
        """From the minimiser of r: w = b = 0, v uniform or 1."""
        oracle, regularizer = formulation.oracle(problem), formulation.regularizer(problem)
        theta = regularizer.argmin(np.zeros(oracle.dim)) + 0.0
        squares, logs, gradient, average = np.zeros((4, oracle.dim))
        since, visits, passes = (np.zeros(size, np.int64) for size in (oracle.dim, 1, 1))
        prices = formulation.prices(problem).floats()
        terms, n = split(regularizer.shape(oracle.dim), 1 / float(prices.sum())), int(np.count_nonzero(prices))
        begun = theta, squares, since, logs, gradient, np.zeros(oracle.width, np.int64), visits, average, passes
        return State(*begun, *terms, np.zeros(1), n, float(self.step), float(self.decay), float(self.delta))

    def report(self, state: State) -> Floats:
        last = self.average == "last" or state.passes[0] == 0
        return (state.theta if last else state.average).copy()

    def visitor(self, kernel: Kernel, prices: Floats, state: State, compiled: bool) -> Callable[[Ints], Any]:
        """visit(order): a pass ends with each n-th visit."""
        return prepared(kernel, prices * (state.n / prices.sum()), state, compiled)


def prepared(kernel: Kernel, weights: Floats, state: State, compiled: bool) -> Callable[[Ints], int]:
    """visit(order) through this kernel."""
    dim = len(state.theta)
    reads, widest = (kernel.reads_into, kernel.widest) if kernel.reads_into else (everything, dim)
    kernel = kernel._replace(reads_into=reads)
    desk = Desk(np.arange(widest), np.empty(kernel.most, np.int64), np.empty(kernel.most))
    steps, swept = (rated, settle, follow, promptly, separated, projected), sweep
    if compiled:
        build, kernel = machine.compiled_function, machine.sealed(kernel, "argmax_into", "slope_into", "reads_into")
        some, floats = desk.asked, state.theta
        apart = build(separated, (floats,) * 6, "floats")
        onto = build(projection(state.prompt.simplex), (floats,) * 2, "floats")
        wait, go = build(settle, (1, some, 1, state), "void"), build(follow, (1, 1.0, some, floats, state), "void")
        steps = build(rated, (state,), "void"), wait, go, build(promptly, (apart, onto, state), "void"), apart, onto
        functions = kernel.argmax_into, kernel.slope_into, kernel.reads_into
        swept = build(sweep, (*functions, *steps, kernel.data, some, weights, desk, state), "int64")
    functions = kernel.argmax_into, kernel.slope_into, kernel.reads_into
    return lambda order: swept(*functions, *steps, kernel.data, order, weights, desk, state)


NAMES = {"adagrad": AdaGrad}
