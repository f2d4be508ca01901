"""The confusion matrix of the convention detective: what learners do instead, and what it says they do.

Each case has data, a certified optimum of the objective asked for, and weights that a learner would return which
minimises another one: found by a convex solver (or L-BFGS, or subgradient steps) from tables of features and losses
written out here, so that nothing of the detective's own transformations is shared; then moved in a random direction
until the excess under *their* objective is between 1e-4 and 1e-3, relative, as of a learner that has converged for
practical purposes. Planted objectives that differ too little on the drawn data (excess below 0.02 under the one
asked for) are drawn again, for there is nothing to see.

    families     multiclass: 60 samples, 3 features and an intercept, 3 labels
                 chain: 20 sequences of 1 to 4 positions, 2 features and an intercept, 3 labels
                 crf: the chains, conditional likelihood asked for
                 costs: the multiclass data, costs of errors learned
    none         runs stopped early, random weights, a wrong sign, shuffled labels, half of the optimum and half of
                 another one, two conventions at once

asked: soft margins with unequal costs and sample weights; λ = 0.05 (chain 0.1).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp

from workbench.backends import solve_cvxpy
from workbench.contracts import Floats
from workbench.errors import BadInput, checked_whole
from workbench.formulations.cost_learning import NormalizedCostLearning, SimplexCostLearning
from workbench.formulations.crf import CRF
from workbench.formulations.soft_margin import SoftMargin
from workbench.judging.conventions.detective import explain
from workbench.outputs.chain import Chain
from workbench.outputs.multiclass import Multiclass
from workbench.proofs.any_bounds import bounds_for
from workbench.registries import load_file
from workbench.solvers.bcfw import BCFW
from workbench.solvers.subgradient import Subgradient
from workbench.solving.solve import solve
from workbench.solving.stochastic import run

settings = load_file(Path(__file__).with_name("_settings.py"), "benchmark")

NONE = "none of these"
VISIBLE = 0.02
NOISE = (-4.0, -3.0)  # log10 of the relative excess of learners
K = 3


@dataclass(frozen=True)
class Data:
    """Sequences of inputs (T, p) with labels (T,), costs (K, K) and sample weights (n,); one position if multiclass."""

    inputs: list[Floats]
    labels: list[Any]
    cost: Floats
    weights: Floats
    chained: bool

    def problem(self, loss: str = "hamming-normalised") -> Any:
        if self.chained:
            return Chain(self.inputs, self.labels, loss, self.cost, self.weights, range(K))
        return Multiclass(np.concatenate(self.inputs), np.concatenate(self.labels), self.cost, self.weights, range(K))


@dataclass(frozen=True)
class Table:
    """λ/2 Σ_j c_j |w_j|^q + Σ_i p_i max over rows r of i of (L_r + ⟨A_r, w⟩)^e, or of log Σ exp⟨A_r, w⟩.

    slopes A (M, d), losses L (M,), owner (M,), prices p (n,), costs c (d,) of weights, kept (d,) those that are not
    held at 0;  q = `power` 1 (then λ|w_j| without the ½) or 2;  e = `hinge` 1 or 2
    """

    slopes: Floats
    losses: Floats
    owner: Any
    prices: Floats
    lam: float
    costs: Floats
    kept: Any
    power: int = 2
    hinge: int = 1
    likelihood: bool = False

    def value(self, w: Floats) -> float:
        scores, starts = self.losses + self.slopes @ w, np.flatnonzero(np.diff(self.owner, prepend=-1))
        if self.likelihood:
            risks = np.array([logsumexp(part) for part in np.split(self.slopes @ w, starts[1:])])
        else:
            risks = np.maximum.reduceat(scores, starts) ** self.hinge
        penalty = self.lam * (abs(w).sum() if self.power == 1 else self.costs @ w**2 / 2)
        return float(penalty + self.prices @ risks)

    def slope(self, w: Floats) -> Floats:
        """A subgradient of the risk (no likelihood, e = 1)."""
        scores, starts = self.losses + self.slopes @ w, np.flatnonzero(np.diff(self.owner, prepend=-1))
        highest = np.flatnonzero(scores == np.maximum.reduceat(scores, starts)[self.owner])
        _, first = np.unique(self.owner[highest], return_index=True)
        return self.prices @ self.slopes[highest[first]]

    def optimum(self) -> Floats:
        return self.most_likely() if self.likelihood else self.least_margin()

    def least_margin(self) -> Floats:
        import cvxpy as cp

        w, xi = cp.Variable(self.slopes.shape[1]), cp.Variable(len(self.prices))
        penalty = cp.norm1(w) if self.power == 1 else cp.sum(cp.multiply(self.costs, cp.square(w))) / 2
        risk = self.prices @ (cp.square(xi) if self.hinge == 2 else xi)
        held = np.flatnonzero(~self.kept)
        rows = [xi[self.owner] >= self.losses + self.slopes @ w, *([w[held] == 0] if len(held) else [])]
        solve_cvxpy(cp.Problem(cp.Minimize(self.lam * penalty + risk), rows), "CLARABEL")
        return np.where(self.kept, w.value, 0.0)

    def most_likely(self) -> Floats:
        from scipy.optimize import minimize

        starts = np.flatnonzero(np.diff(self.owner, prepend=-1))

        def objective(w: Floats) -> tuple[float, Floats]:
            w = np.where(self.kept, w, 0.0)
            parts = np.split(self.slopes @ w, starts[1:])
            shares = np.concatenate(
                [p * np.exp(each - logsumexp(each)) for p, each in zip(self.prices, parts, strict=True)]
            )
            return self.value(w), (self.lam * self.costs * w + self.slopes.T @ shares) * self.kept

        options = {"ftol": 0.0, "gtol": 1e-9, "maxiter": 5000}
        return minimize(objective, np.zeros(self.slopes.shape[1]), jac=True, method="L-BFGS-B", options=options).x

    def moved(self, w: Floats, rng: np.random.Generator) -> Floats:
        """w, with a relative excess drawn from NOISE, in a random direction among the weights that are free."""
        return self.away(w, rng, 10.0 ** rng.uniform(*NOISE))

    def shaken(self, w: Floats, rng: np.random.Generator) -> Floats:
        """An iterate that still shakes: 3 to 6 % above."""
        return self.away(w, rng, rng.uniform(0.03, 0.06))

    def away(self, w: Floats, rng: np.random.Generator, excess: float) -> Floats:
        """w, moved in a random direction until its value is `excess` higher, relative."""
        level, along = self.value(w) * (1 + excess), rng.normal(size=len(w)) * self.kept
        low, high = 0.0, 1.0
        while self.value(w + high * along) < level:
            high *= 2
        for _ in range(15):
            middle = (low + high) / 2
            low, high = (middle, high) if self.value(w + middle * along) < level else (low, middle)
        return w + low * along


# ── data ──────────────────────────────────────────────────────────────────────────────────────────


def drawn(rng: np.random.Generator, chained: bool, binary: bool = False) -> Data:
    """Labels by a random model, noisy and unbalanced."""
    lengths = rng.integers(1, 5, 20) if chained else np.ones(60, int)
    p = (12 if binary else 2) if chained else (12 if binary else 3)
    model, bias, pairs = rng.normal(size=(p, K)) * 1.5, rng.normal(size=K), rng.normal(size=(K, K)) * chained
    inputs, labels = [], []
    for length in lengths:
        X = (rng.random((length, p)) < 0.15) + 0.0 if binary else rng.normal(size=(length, p)) + 0.3
        row: list[int] = []
        for t in range(length):
            scores = X[t] @ model + bias + rng.gumbel(size=K) + (pairs[row[-1]] if row else 0)
            row.append(int(scores.argmax()))
        inputs.append(np.column_stack([X, np.ones(length)]))
        labels.append(np.array(row))
    cost = np.array([[0, 1, 3], [2, 0, 1], [1, 3, 0]], float)[np.ix_(order := rng.permutation(K), order)]
    return Data(inputs, labels, cost, rng.choice([0.5, 1.0, 3.0], len(lengths)), chained)


def table(data: Data, lam: float, normalised: bool = True, slack: bool = False, unit: bool = False) -> Table:
    """Every wrong and the right output of every sample, written out."""
    p, slopes, losses, owner = data.inputs[0].shape[1], [], [], []

    def features(X: Floats, y: Any) -> Floats:
        w, A = np.zeros((K, p)), np.zeros((K, K))
        for t, label in enumerate(y):
            w[label] += X[t]
            if t:
                A[y[t - 1], label] += 1
        return np.concatenate([w.ravel(), A.ravel()]) if data.chained else w.ravel()

    for i, (X, truth) in enumerate(zip(data.inputs, data.labels, strict=True)):
        own = features(X, truth)
        for y in np.indices((K,) * len(truth)).reshape(len(truth), -1).T:
            loss = sum(data.cost[a, b] for a, b in zip(truth, y, strict=True)) / (len(y) if normalised else 1)
            loss = float((y != truth).any()) if unit else loss
            slopes.append((features(X, y) - own) * (loss if slack else 1))
            losses.append(loss)
            owner.append(i)
    d = len(slopes[0])
    prices = data.weights / data.weights.sum()
    return Table(np.array(slopes), np.array(losses), np.array(owner), prices, lam, np.ones(d), np.ones(d, bool))


# ── conventions ───────────────────────────────────────────────────────────────────────────────────


def constant(data: Data) -> Any:
    """(d,) the weights of the intercept: the last input of each label."""
    p = data.inputs[0].shape[1]
    edges = np.tile(np.arange(p) == p - 1, K)
    return np.concatenate([edges, np.zeros(K * K, bool)]) if data.chained else edges


def counts(data: Data) -> tuple[Floats, Any]:
    """Σ_i φ(x_i, y_i), and which of its entries some true output has."""
    p = data.inputs[0].shape[1]
    total, seen = np.zeros((K, p)), np.zeros((K, p), bool)
    pairs = np.zeros((K, K))
    for X, y in zip(data.inputs, data.labels, strict=True):
        for t, label in enumerate(y):
            total[label] += X[t]
            seen[label] |= X[t] != 0
            if t:
                pairs[y[t - 1], label] += 1
    if not data.chained:
        return total.ravel(), seen.ravel()
    return np.concatenate([total.ravel(), pairs.ravel()]), np.concatenate([seen.ravel(), pairs.ravel() > 0])


def balanced(data: Data) -> Data:
    labels = np.concatenate(data.labels)
    return replace(data, weights=data.weights / np.bincount(labels, minlength=K)[labels])


def longer(data: Data) -> Data:
    return replace(data, weights=data.weights * [len(y) for y in data.labels])


def mean_length(data: Data) -> float:
    return float(np.mean([len(y) for y in data.labels]))


Plant = Callable[[Data, float, np.random.Generator], Table]
PLANTS: dict[str, Plant] = {
    "λ twice": lambda data, lam, rng: table(data, 2 * lam),
    "λ half": lambda data, lam, rng: table(data, lam / 2),
    "λ": lambda data, lam, rng: table(data, 10 * lam if data.chained else 20 * lam),
    "sum for mean": lambda data, lam, rng: table(data, lam / data.weights.sum()),
    "mean twice": lambda data, lam, rng: table(data, lam * data.weights.sum()),
    "weights not normalised": lambda data, lam, rng: table(data, lam * len(data.weights) / data.weights.sum()),
    "mean over positions": lambda data, lam, rng: table(data, lam * mean_length(data)),
    "λ read as C": lambda data, lam, rng: table(data, 1 / (lam * data.weights.sum())),
    "λ read as C/n": lambda data, lam, rng: table(data, 1 / lam),
    "slack rescaling": lambda data, lam, rng: table(data, lam, slack=True),
    "squared hinge": lambda data, lam, rng: replace(table(data, lam), hinge=2),
    "absolute penalty": lambda data, lam, rng: replace(table(data, lam), power=1),
    "unit loss": lambda data, lam, rng: table(data, lam, unit=True),
    "no cost matrix": lambda data, lam, rng: table(replace(data, cost=1 - np.eye(K)), lam),
    "transposed costs": lambda data, lam, rng: table(replace(data, cost=data.cost.T), lam),
    "loss twice": lambda data, lam, rng: table(replace(data, cost=2 * data.cost), lam),
    "loss half": lambda data, lam, rng: table(replace(data, cost=data.cost / 2), lam),
    "Gram matrix without λ": lambda data, lam, rng: table(replace(data, cost=data.cost / lam), lam),
    "length": lambda data, lam, rng: table(data, lam, normalised=False),
    "no sample weights": lambda data, lam, rng: table(replace(data, weights=np.ones(len(data.weights))), lam),
    "balanced classes": lambda data, lam, rng: table(balanced(data), lam),
    "weight by length": lambda data, lam, rng: table(longer(data), lam),
    "intercept not penalised": lambda data, lam, rng: replace(table(data, lam), costs=1.0 - constant(data)),
    "no intercept": lambda data, lam, rng: replace(table(data, lam), kept=~constant(data)),
    "no transitions": lambda data, lam, rng: replace(
        table(data, lam), kept=np.arange(len(constant(data))) < len(constant(data)) - K * K
    ),
    "no positive count": lambda data, lam, rng: replace(table(data, lam), kept=counts(data)[0] > 0),
    "unseen features": lambda data, lam, rng: replace(table(data, lam), kept=counts(data)[1]),
    "zero weights": lambda data, lam, rng: replace(table(data, lam), kept=rng.random(len(constant(data))) < 0.6),
    "likelihood loss": lambda data, lam, rng: replace(table(data, lam), likelihood=True),
}
ADDED = ("intercept added", "free intercept added")
CHAIN_ONLY = {"mean over positions", "unit loss", "length", "weight by length", "no transitions"}
MULTICLASS_ONLY = {"balanced classes"}
BINARY = {"unseen features"}
LIKELIHOOD = (
    "λ twice",
    "λ half",
    "λ",
    "sum for mean",
    "mean twice",
    "weights not normalised",
    "λ read as C",
    "no sample weights",
    "intercept not penalised",
    "no intercept",
    "no transitions",
    "no positive count",
    "unseen features",
    "zero weights",
)


@dataclass(frozen=True)
class Planted:
    """A case: the data, the reference, the weights, and what was planted."""

    family: str
    truth: str
    reference: Any
    theta: Floats
    history: Any = ()


def asked(data: Data, family: str) -> Any:
    form = CRF(lam(family)) if family == "crf" else SoftMargin(lam(family))
    return solve(form, data.problem(), gap=1e-6)


def lam(family: str) -> float:
    return 0.05 if family == "multiclass" else 0.1


def excess(theta: Floats, reference: Any) -> float:
    bounds = bounds_for(reference.formulation, reference.problem)
    return bounds.relative(bounds.upper(theta), reference.upper)


def convention(family: str, name: str, rng: np.random.Generator) -> Planted:
    """Weights of a learner with this convention."""
    data = drawn(rng, family != "multiclass", name in BINARY)
    reference, other = asked(data, family), PLANTS[name](data, lam(family), rng)
    if family == "crf":
        other = replace(other, likelihood=True)
    return Planted(family, name, reference, other.moved(other.optimum(), rng))


def other_way(family: str, name: str, rng: np.random.Generator) -> Planted:
    """Conventions that are no minimiser of a table: hinge for likelihood, layouts, averages, no augmentation."""
    data = drawn(rng, family != "multiclass")
    reference, own = asked(data, family), table(data, lam(family))
    if name == "hinge loss":
        return Planted(family, name, reference, own.moved(own.optimum(), rng))
    own = replace(own, likelihood=family == "crf")
    if name == "no loss augmentation":
        perceptron = replace(own, losses=0 * own.losses)
        return Planted(family, name, reference, descent(perceptron, perceptron.slopes[-1], 3000)[-1])
    if name == "last iterate":
        iterates = [own.shaken(best, rng) for best in [own.optimum()] for _ in range(1000)]
        return Planted(family, name, reference, iterates[-1], [(float(t), w) for t, w in enumerate(iterates, 1000)])
    if name == "average from the start":
        start = 5 * rng.normal(size=len(constant(data))) * np.abs(reference.theta_flat).max()
        means = np.cumsum(descent(own, start, 2000, 0.004), axis=0) / np.arange(1, 2001)[:, None]
        return Planted(family, name, reference, means[-1], [(float(t), means[t - 1]) for t in range(100, 2001, 100)])
    theta, p = own.moved(own.optimum(), rng), data.inputs[0].shape[1]
    unary, pairs = theta[: K * p].reshape(K, p), theta[K * p :]
    if name == "feature-major layout":
        return Planted(family, name, reference, np.concatenate([unary.T.ravel(), pairs]))
    if name == "labels permuted":
        order = np.roll(np.arange(K), int(rng.integers(1, K)))
        moved = pairs.reshape(K, K)[np.ix_(order, order)] if len(pairs) else pairs
        return Planted(family, name, reference, np.concatenate([unary[order].ravel(), moved.ravel()]))
    return Planted(family, name, reference, np.concatenate([unary.ravel(), pairs.reshape(K, K).T.ravel()]))


def added(family: str, name: str, rng: np.random.Generator) -> Planted:
    """An intercept of the learner's own, which it does not report, on data without one, or with one already."""
    data = drawn(rng, family != "multiclass")
    if rng.random() < 0.5:
        data = replace(data, inputs=[X[:, :-1] for X in data.inputs])
    wide = replace(data, inputs=[np.column_stack([X, np.ones(len(X))]) for X in data.inputs])
    own = replace(table(wide, lam(family)), likelihood=family == "crf")
    if name == "free intercept added":
        own = replace(own, costs=1.0 - constant(wide))
    theta = own.moved(own.optimum(), rng)
    return Planted(family, name, asked(data, family), theta[~constant(wide)])


def descent(own: Table, w: Floats, steps: int, small: float = 0.0) -> list[Floats]:
    """Subgradient steps 1/(λ t), or small/λ, on the whole sum; w_1, w_2, …"""
    found = []
    for t in range(1, steps + 1):
        step = small / own.lam if small else 1 / (own.lam * t)
        w = w - step * (own.lam * w + own.slope(w))
        found.append(w)
    return found


def no_projection(family: str, name: str, rng: np.random.Generator) -> Planted:
    """Learned costs that do not sum to one, or are negative where the projection makes them zero."""
    data = drawn(rng, False)
    form = SimplexCostLearning(lam2=2.0) if rng.random() < 0.5 else NormalizedCostLearning(lam2=2.0)
    reference = solve(form, data.problem(), gap=1e-6)
    theta, m = reference.theta_flat.copy(), reference.theta["v"].size
    if isinstance(form, SimplexCostLearning):
        theta[-m:] *= rng.uniform(1.2, 2)
    else:
        theta[-m:] -= (theta[-m:] < 1e-9) * rng.uniform(0.1, 1)
    return Planted(family, name, reference, theta)


# ── none of them ──────────────────────────────────────────────────────────────────────────────────


def stopped(data: Data, reference: Any, family: str, rng: np.random.Generator) -> Floats:
    """A clean method with too few passes."""
    from scipy.optimize import minimize

    own = replace(table(data, lam(family)), likelihood=family == "crf")
    if family == "crf":
        return minimize(
            own.value, np.zeros(len(constant(data))), method="L-BFGS-B", options={"maxiter": int(rng.integers(2, 6))}
        ).x
    solver = (Subgradient(), BCFW())[int(rng.integers(2))]
    passes = int(rng.integers(1, 12))
    return run(solver, reference.formulation, reference.problem, passes, int(rng.integers(1000)), [passes]).thetas[-1]


def gently(data: Data, reference: Any, family: str, rng: np.random.Generator) -> Floats:
    """Small steps from zero, stopped early: the path that looks most like strong regularisation."""
    start = np.zeros(len(constant(data)))
    return descent(table(data, lam(family)), start, int(rng.integers(5, 60)), 0.01)[-1]


def randomly(data: Data, reference: Any, family: str, rng: np.random.Generator) -> Floats:
    best = reference.theta_flat
    along = rng.normal(size=len(best))
    return along / np.linalg.norm(along) * np.linalg.norm(best) * rng.uniform(0.3, 1.5)


def flipped(data: Data, reference: Any, family: str, rng: np.random.Generator) -> Floats:
    return -reference.theta_flat


def shuffled(data: Data, reference: Any, family: str, rng: np.random.Generator) -> Floats:
    order = rng.permutation(len(labels := np.concatenate(data.labels)))
    ends = np.cumsum([len(y) for y in data.labels])[:-1]
    other = replace(table(replace(data, labels=np.split(labels[order], ends)), lam(family)), likelihood=family == "crf")
    return other.optimum()


def halfway(data: Data, reference: Any, family: str, rng: np.random.Generator) -> Floats:
    return (reference.theta_flat + shuffled(data, reference, family, rng)) / 2


def two_at_once(data: Data, reference: Any, family: str, rng: np.random.Generator) -> Floats:
    """λ 17 times larger and no intercept."""
    other = replace(table(data, 17 * lam(family)), kept=~constant(data), likelihood=family == "crf")
    return other.optimum()


def astray(data: Data, reference: Any, family: str, rng: np.random.Generator) -> Floats:
    """The optimum, moved in a random direction: 5 to 50 % above."""
    own = replace(table(data, lam(family)), likelihood=family == "crf")
    return own.away(reference.theta_flat, rng, rng.uniform(0.05, 0.5))


NEITHER = {
    "stopped": stopped,
    "gently": gently,
    "random": randomly,
    "wrong sign": flipped,
    "shuffled": shuffled,
    "halfway": halfway,
    "two at once": two_at_once,
    "astray": astray,
}


def neither(family: str, name: str, rng: np.random.Generator) -> Planted:
    data = drawn(rng, family != "multiclass")
    reference = asked(data, family)
    return Planted(family, NONE, reference, NEITHER[name](data, reference, family, rng))


# ── the matrix ────────────────────────────────────────────────────────────────────────────────────


def plans() -> list[tuple[str, str, Any]]:
    """(family, name, maker) of every cell of the matrix."""
    made: list[tuple[str, str, Any]] = []
    for family, without in (("multiclass", CHAIN_ONLY), ("chain", MULTICLASS_ONLY)):
        made += [(family, name, convention) for name in PLANTS if name not in without]
        others = (
            "feature-major layout",
            "labels permuted",
            "no loss augmentation",
            "last iterate",
            "average from the start",
        )
        made += [(family, name, other_way) for name in others]
        made += [(family, name, added) for name in ADDED]
        made += [(family, name, neither) for name in NEITHER]
    made.append(("chain", "transposed transitions", other_way))
    made += [("crf", name, convention) for name in LIKELIHOOD] + [("crf", "hinge loss", other_way)]
    made += [("crf", name, added) for name in ADDED]
    made += [("crf", name, neither) for name in NEITHER if name != "gently"]
    made.append(("costs", "no projection", no_projection))
    return made


def visible(family: str, name: str, maker: Any, seed: int) -> Planted:
    """The first of the seed's draws in which the planted convention shows (costs off their domain: in the weights)."""
    for again in range(50):
        case = maker(family, name, np.random.default_rng([seed, again, *name.encode()]))
        away = np.abs(case.theta - case.reference.theta_flat).max()
        if (away if maker is no_projection else excess(case.theta, case.reference)) >= VISIBLE:
            return case
    raise AssertionError(f"{name} does not show on {family} data")


def detective(seeds: int = 10, only: str = "", family: str = "") -> Iterator[dict[str, Any]]:
    """Rows (one a case), the matrix (one a truth, what was said how often), and its rates, after each case.

    diagonal : share of cases named rightly;  confident : share named so and confident;  false_confident : cases
    off the diagonal that were claimed with confidence;  only, family : part of the matrix
    """
    checked_whole(1, seeds=seeds)
    every = plans()
    names = settings.chosen(only, dict.fromkeys(name for _, name, _ in every), "convention")
    families = settings.chosen(family, dict.fromkeys(where for where, _, _ in every), "family")
    cells = [cell for cell in every if cell[0] in families and cell[1] in names]
    if not cells:
        raise BadInput(f"No cell of the matrix is {only} of {family}; leave one of the two out.")
    rows: list[dict[str, Any]] = []
    for where, name, maker in cells:
        for seed in range(seeds):
            rows.append(judged(visible(where, name, maker, seed)) | {"planted": name, "seed": seed})
            yield {"finished": f"{len(rows)} of {len(cells) * seeds}"} | summary(rows)


def judged(case: Planted) -> dict[str, Any]:
    """What is said of one case."""
    began = time.process_time()
    found = explain(case.theta, case.reference, case.history)
    return {
        "family": case.family,
        "truth": case.truth,
        "said": found.name if found else NONE,
        "confident": bool(found and found.confident),
        "excess": found.evidence["excess"] if found else None,
        "given": excess(case.theta, case.reference),
        "cpu": time.process_time() - began,
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The record of `detective`."""
    right = [row["said"] == row["truth"] for row in rows]
    matrix = [
        {"truth": truth, "said": dict(Counter(row["said"] for row in rows if row["truth"] == truth))}
        for truth in dict.fromkeys(row["truth"] for row in rows)
    ]
    return {
        "cases": len(rows),
        "diagonal": float(np.mean(right)),
        "confident": float(np.mean([row["confident"] and good for row, good in zip(rows, right, strict=True)])),
        "false_confident": sum(row["confident"] and not good for row, good in zip(rows, right, strict=True)),
        "cpu_per_case": float(np.mean([row["cpu"] for row in rows])),
        "matrix": matrix,
        "rows": rows,
    }


NAMES = {"detective": detective}
