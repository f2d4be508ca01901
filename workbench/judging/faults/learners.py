"""Learners as one writes them in an afternoon: NumPy, one small method a decision, so that a fault is one method.

    min over w   λ/2 ‖w‖² + Σ_i p_i h_i(w),      h_i(w) = max_z ⟨a_i(z), w⟩ + ℓ_i(z)   or   log Σ_z e^⟨a_i(z), w⟩

with a_i(z) = φ(x_i, z) − φ(x_i, y_i), and the two programs of cost learning. A `View` (views.py)
reads the data and writes out all outputs of a sample, slopes A_i (Y_i, d) and losses L_i (Y_i,).
A learner is a method and a view (`Subgradient` on `Words`), written for few samples with few outputs.

    Subgradient, Projected       Pegasos (Shalev-Shwartz et al. 2011), averaged with weights 1 … t
    BCFW                         Lacoste-Julien et al. 2013, Algorithm 4
    DualAscent                   exact steps along pairs of outputs, over a stored Gram matrix (Platt 1998)
    Gradient, LBFGS, SAGA        for conditional likelihood; SAGA is Defazio et al. 2014
    AdaGrad                      Duchi et al. 2011, composite steps, for cost learning (docs/mathematics.md §5)

Each has `fit(problem, formulation, budget, rng)`, which yields (passes, weights), and `claim()`, by how much it
believes to be above its own optimum, relative to its own objective; NaN if it cannot know.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import DTypeLike

from workbench.contracts import Floats, Formulation, Ints, Problem
from workbench.formulations.cost_learning import NormalizedCostLearning, SimplexCostLearning
from workbench.judging.faults.views import VIEWS, View


def log_sum_exp(scores: Floats) -> float:
    """log Σ exp, which does not overflow."""
    top = scores.max()
    return top + np.log(np.exp(scores - top).sum())


class Learner(View):
    """`fit` runs passes and looks at 1/64, 1/32, … 1 of the budget. `clean` is this learner without its fault."""

    stopped = False

    @property
    def clean(self) -> super:
        return super(type(self), self)

    def fit(self, problem: Problem, formulation: Formulation, budget: int, rng: int) -> Iterator[tuple[int, Floats]]:
        self.rng, self.budget = np.random.default_rng(rng), budget
        self.lam = self.regularisation(formulation)
        self.read(problem, formulation)
        self.start()
        looks = {budget >> shift for shift in range(7)}
        for k in range(1, budget + 1):
            if not self.stopped:
                self.sweep(k)
            if k in looks:
                yield k, self.report()

    def regularisation(self, formulation: Formulation) -> float:
        return formulation.lam

    def order(self) -> Ints:
        """The samples of a pass."""
        return self.rng.integers(self.n, size=self.n)

    def objective(self, w: Floats) -> float:
        values = [self.slopes[i][z] @ w + self.losses[i][z] for i, z in ((i, self.argmax(i, w)) for i in range(self.n))]
        return self.lam / 2 * (w @ w) + self.p @ values

    def claim(self) -> float:
        return np.nan


class Subgradient(Learner):
    """w ← w − (λw + n p_i a_i(z))/(λt), w̄ ← w̄ + 2/(t + 1) (w − w̄)."""

    def start(self) -> None:
        self.w, self.mean, self.t = np.zeros(self.d), np.zeros(self.d), 0

    def sweep(self, k: int) -> None:
        for i in self.order():
            self.t += 1
            self.move(self.direction(i))
            self.average()

    def direction(self, i: int) -> Floats:
        return self.shrinkage() + self.slope(i)

    def shrinkage(self) -> Floats:
        return self.lam * self.w

    def slope(self, i: int) -> Floats:
        return self.n * self.p[i] * self.slopes[i][self.argmax(i, self.w)]

    def rate(self) -> float:
        return 1 / (self.lam * self.t)

    def move(self, g: Floats) -> None:
        self.w = self.w - self.rate() * g

    def average(self) -> None:
        self.mean = self.mean + 2 / (self.t + 1) * (self.w - self.mean)

    def report(self) -> Floats:
        return self.mean


class Projected(Subgradient):
    """The same with w projected onto ‖w‖ ≤ √(2F(0)/λ) after every step, where the optimum lies."""

    def start(self) -> None:
        super().start()
        self.radius = self.reach()

    def reach(self) -> float:
        return np.sqrt(2 * self.objective(self.w) / self.lam)

    def move(self, g: Floats) -> None:
        super().move(g)
        self.w = self.projected(self.w)

    def projected(self, w: Floats) -> Floats:
        return w * min(1, self.radius / max(np.linalg.norm(w), 1e-300))


class BCFW(Learner):
    """w = Σ w_i and D = Σ o_i − λ/2 ‖w‖²; a visit moves (w_i, o_i) towards (−p_i a_i(z)/λ, p_i ℓ_i(z))."""

    precision: DTypeLike = float

    def start(self) -> None:
        self.w, self.mean, self.t = self.begin(), np.zeros(self.d), 0
        self.blocks, self.offsets = np.zeros((self.n, self.d), self.precision), np.zeros(self.n, self.precision)

    def begin(self) -> Floats:
        return np.zeros(self.d, self.precision)

    def sweep(self, k: int) -> None:
        for i in self.order():
            self.t += 1
            z = self.argmax(i, self.w)
            towards, gain = self.corner(i, z)
            self.move(i, towards - self.blocks[i], gain - self.offsets[i])
            self.mean = self.mean + 2 / (self.t + 1) * (self.w - self.mean)

    def corner(self, i: int, z: int) -> tuple[Floats, float]:
        return -self.p[i] / self.lam * self.slopes[i][z], self.p[i] * self.losses[i][z]

    def move(self, i: int, delta: Floats, gain: float) -> None:
        gamma = self.step(delta, gain)
        self.blocks[i] += gamma * delta
        self.offsets[i] += gamma * gain
        self.w = self.follow(self.w, gamma * delta)

    def follow(self, w: Floats, change: Floats) -> Floats:
        return w + change

    def step(self, delta: Floats, gain: float) -> float:
        """The γ in [0, 1] at which D is largest."""
        return float(np.clip((gain - self.lam * (self.w @ delta)) / max(self.lam * (delta @ delta), 1e-300), 0, 1))

    def report(self) -> Floats:
        return np.asarray(self.mean, float)

    def claim(self) -> float:
        upper, w = self.objective(self.report()), self.blocks.sum(axis=0)
        return float((upper - self.offsets.sum() + self.lam / 2 * (w @ w)) / abs(upper))


class DualAscent(Learner):
    """α_i over the outputs of i, w = −(1/λ) Σ p_i α_i(z) a_i(z); each visit an exact step along its best pair.

    m_i(z) = ⟨a_i(z), w⟩ + ℓ_i(z) of all outputs are kept up to date by the Gram matrix K = AAᵀ/λ.
    """

    precision: DTypeLike = float

    def start(self) -> None:
        self.ends = np.cumsum([0, *map(len, self.slopes)])
        self.A = np.concatenate(self.slopes).astype(self.precision)
        self.K, self.m = self.gram(), np.concatenate(self.losses).astype(self.precision)
        self.alpha = np.zeros(len(self.A), self.precision)
        self.alpha[self.ends[:-1] + self.own] = self.mass(np.arange(self.n))

    def gram(self) -> Floats:
        return self.A @ self.A.T / self.lam

    def mass(self, i: int | Ints) -> Floats:
        """What α_i sums to, before it is multiplied by p_i."""
        return np.ones_like(self.p[i])

    def order(self) -> Ints:
        return self.rng.permutation(self.n)

    def sweep(self, k: int) -> None:
        for i in self.order():
            self.visit(i)

    def visit(self, i: int) -> None:
        rows = np.arange(self.ends[i], self.ends[i + 1])
        up, down = self.pair(rows)
        curvature = self.K[up, up] + self.K[down, down] - 2 * self.K[up, down]
        step = self.clipped((self.m[up] - self.m[down]) / max(self.p[i] * curvature, 1e-300), up, down)
        self.alpha[up] += step
        self.alpha[down] -= step
        self.refresh(self.p[i] * step, up, down)

    def pair(self, rows: Ints) -> tuple[int, int]:
        """The best output, and the worst one with weight."""
        m = self.m[rows]
        return int(rows[m.argmax()]), int(rows[np.where(self.alpha[rows] > 0, m, np.inf).argmin()])

    def clipped(self, step: float, up: int, down: int) -> float:
        return min(step, self.alpha[down])

    def refresh(self, step: float, up: int, down: int) -> None:
        self.m -= step * (self.K[:, up] - self.K[:, down])

    def report(self) -> Floats:
        return -(self.shares() @ self.A) / self.lam

    def shares(self) -> Floats:
        """p_i α_i(z) of all outputs."""
        return np.repeat(self.p, np.diff(self.ends)) * self.alpha

    def claim(self) -> float:
        w, losses = self.report(), np.concatenate(self.losses)
        upper, dual = self.objective(w), self.shares() @ losses - self.lam / 2 * (w @ w)
        return float((upper - dual) / abs(upper))


class Smooth(Learner):
    """h_i(w) = log Σ_z exp⟨a_i(z), w⟩, whose gradient is E a_i under the model."""

    def start(self) -> None:
        self.w = np.zeros(self.d)

    def logits(self, i: int, w: Floats) -> Floats:
        return self.slopes[i] @ w

    def expected(self, i: int, w: Floats) -> Floats:
        scores = self.logits(i, w)
        return np.exp(scores - log_sum_exp(scores)) @ self.slopes[i]

    def objective(self, w: Floats) -> float:
        values = [log_sum_exp(self.logits(i, w)) for i in range(self.n)]
        return self.lam / 2 * (w @ w) + self.p @ values

    def shrinkage(self, w: Floats) -> Floats:
        return self.lam * w

    def gradient(self, w: Floats) -> Floats:
        return self.shrinkage(w) + sum(self.p[i] * self.expected(i, w) for i in range(self.n))

    def steepest(self) -> float:
        """max ‖a_i(z)‖², which no curvature of h_i exceeds."""
        return max((A**2).sum(axis=1).max() for A in self.slopes)

    def report(self) -> Floats:
        return self.w

    def claim(self) -> float:
        g, w = self.gradient(self.w), self.w
        return float(g @ g / (2 * self.lam * abs(self.objective(w))))


class Gradient(Smooth):
    """w ← w − ∇F(w)/L with L = λ + Σ p_i max ‖a_i‖², and momentum (Nesterov's, for strong convexity)."""

    def start(self) -> None:
        super().start()
        self.ahead = self.w
        self.L = self.lam + sum(p * (A**2).sum(axis=1).max() for p, A in zip(self.p, self.slopes, strict=True))
        self.beta = (1 - np.sqrt(self.lam / self.L)) / (1 + np.sqrt(self.lam / self.L))

    def sweep(self, k: int) -> None:
        before, self.w = self.w, self.ahead - self.gradient(self.ahead) / self.L
        self.ahead = self.w + self.beta * (self.w - before)


class LBFGS(Smooth):
    """L-BFGS as SciPy has it, on our value and gradient; one pass an iteration."""

    def start(self) -> None:
        from scipy.optimize import minimize  # a quarter of a second, which most runs do without

        super().start()
        self.path: list[Floats] = []
        options = {"maxiter": self.budget, "ftol": 0.0, "gtol": 1e-10}
        keep = self.path.append
        minimize(self.objective, self.w, jac=self.gradient, method="L-BFGS-B", options=options, callback=keep)

    def sweep(self, k: int) -> None:
        self.w = self.path[min(k, len(self.path)) - 1] if self.path else self.w


class SAGA(Smooth):
    """w ← w − η (n p_i (∇h_i(w) − g_i) + Σ p_j g_j + λw), g_i ← ∇h_i(w), with η = 1/(3 (max n p_i ‖a_i‖² + λ))."""

    def start(self) -> None:
        super().start()
        self.table, self.mean = np.zeros((self.n, self.d)), np.zeros(self.d)
        self.eta = 1 / (3 * (self.n * self.p.max() * self.steepest() + self.lam))

    def sweep(self, k: int) -> None:
        for i in self.order():
            new = self.expected(i, self.w)
            change = new - self.table[i]
            self.w = self.w - self.eta * self.direction(i, change)
            self.mean = self.refreshed(i, change)
            self.table[i] = self.kept(new, i)

    def direction(self, i: int, change: Floats) -> Floats:
        return self.correction(i, change) + self.mean + self.shrinkage(self.w)

    def correction(self, i: int, change: Floats) -> Floats:
        return self.n * self.p[i] * change

    def refreshed(self, i: int, change: Floats) -> Floats:
        return self.mean + self.p[i] * change

    def kept(self, new: Floats, i: int) -> Floats:
        return new


class AdaGrad(Learner):
    """On F/P, P = Σ p_i, all samples at once: G ← G + g², H = δ + √G, a step η/(√k H), the proximal step of r/P in H.

    w is shrunk by λ₁ and λ₂, b is free; v goes to the simplex, or towards 1 and to v ≥ 0.
    Reported: the mean of the iterates, weighted 1, 2, ….
    """

    step, delta = 1.0, 1e-6

    def regularisation(self, formulation: NormalizedCostLearning | SimplexCostLearning) -> float:
        return 2 * formulation.lam2

    def start(self) -> None:
        self.simplex = isinstance(self.formulation, SimplexCostLearning)
        self.ends = self.d - self.k - len(self.pairs), self.d - len(self.pairs)
        self.theta, self.G, self.mean = np.zeros(self.d), np.zeros(self.d), np.zeros(self.d)
        self.theta[self.ends[1] :] = 1 / len(self.pairs) if self.simplex else 1.0
        self.P = self.p.sum()

    def sweep(self, k: int) -> None:
        eta, g = self.rate(k), self.mean_slope()
        self.G = self.G + self.squared(g)
        H = self.metric()
        self.theta = self.proximal(self.theta - eta * g / H, H, eta)
        self.mean = self.mean + 2 / (k + 1) * (self.theta - self.mean)

    def rate(self, k: int) -> float:
        return self.step / np.sqrt(k)

    def mean_slope(self) -> Floats:
        return sum(self.p[i] * self.slope(i) for i in range(self.n)) / self.P

    def slope(self, i: int) -> Floats:
        return self.slopes[i][self.argmax(i, self.theta)]

    def squared(self, g: Floats) -> Floats:
        return g**2

    def metric(self) -> Floats:
        return self.delta + np.sqrt(self.G)

    def proximal(self, u: Floats, H: Floats, eta: float) -> Floats:
        (w, b, v), (Hw, Hb, Hv) = np.split(u, self.ends), np.split(H, self.ends)
        return np.concatenate([self.shrunk(w, eta / Hw), self.biases(b, eta / Hb), self.costs(v, Hv, eta)])

    def shrunk(self, w: Floats, eta: Floats) -> Floats:
        lam1, lam2 = self.formulation.lam1, self.formulation.lam2
        return np.sign(w) * np.maximum(abs(w) - eta * lam1 / self.P, 0) / (1 + 2 * eta * lam2 / self.P)

    def biases(self, b: Floats, eta: Floats) -> Floats:
        return b

    def costs(self, v: Floats, H: Floats, eta: float) -> Floats:
        return self.onto_simplex(v, H) if self.simplex else self.towards_one(v, H, eta)

    def towards_one(self, v: Floats, H: Floats, eta: float) -> Floats:
        pull = eta * self.K * self.expected / self.P
        return np.maximum((H * v + pull) / (H + pull), 0)

    def onto_simplex(self, v: Floats, H: Floats) -> Floats:
        """The nearest point of the simplex in the metric H: v − θ/H, cut at 0, with the θ that makes it sum to 1."""
        order = np.argsort(-H * v)
        levels = (np.cumsum(v[order]) - 1) / np.cumsum(1 / H[order])
        return np.maximum(v - levels[np.flatnonzero((H * v)[order] > levels)[-1]] / H, 0)

    def report(self) -> Floats:
        return self.mean

    def objective(self, w: Floats) -> float:
        form, (weights, _, v) = self.formulation, np.split(w, self.ends)
        risk = self.p @ [self.scores(i, w).max() for i in range(self.n)]
        away = 0.0 if self.simplex else self.K / 2 * self.expected @ (1 - v) ** 2
        return form.lam2 * (weights @ weights) + form.lam1 * abs(weights).sum() + risk + away


METHODS = {
    "subgradient": Subgradient,
    "projected": Projected,
    "bcfw": BCFW,
    "dual-ascent": DualAscent,
    "gradient": Gradient,
    "lbfgs": LBFGS,
    "saga": SAGA,
    "adagrad": AdaGrad,
}


def learner(method: str, family: str, methods: dict[str, object] | None = None) -> Learner:
    """A method on a view, with the `methods` of a fault in place of its own."""
    sound = type(method, (METHODS[method], VIEWS[family]), {})
    return type(method, (sound,), methods or {})()
