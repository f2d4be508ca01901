"""One label against the rest: k separate problems of two labels, as liblinear and SGD solve multiclass data.

    F′(W) = μ/2 ‖W‖² + Σ_i p_i Σ_y f(s_iy (⟨W_y, x_i⟩ + b_y)),      s_iy = +1 where y is the label of sample i, else −1

    hinge f(m) = (1 − m)₊        squared hinge f(m) = (1 − m)₊²        squared loss f(m) = (1 − m)²
    likelihood f(m) = log(1 + e^−m)

**No solving.** F′ is μ-strongly convex in W, so with the residual ρ = ‖μW + G‖, G any subgradient of the risk at W,

    F′(W) − min F′ ≤ ρ²/(2μ),      ‖W − W*‖ ≤ ρ/μ,      and ρ is least at μ = −⟨W, G⟩/‖W‖²:

so the weights W determine the μ at which they are stationary, and how near they are to the optimum. For the hinge a
sample whose margin is 1 within ON has a share α from 0 to 1, by bounded least squares, label by label: that is an
ε-subgradient with ε = Σ p_i ((1 − m)₊ − α (1 − m)), and F′(W) − min F′ ≤ ρ²/(2μ) + ε = μ/2 D², D the bound on ‖W −
W*‖.

Intercepts b that a learner has and does not report are those of its optimum, with μ/2 ‖b‖² or without, and G is the
slope at (W, b(W)); Newton steps find them, one number a label. The hinge is tried without.

**C.** Packages weigh ½‖W‖² + C Σ_i s_i f, so that μ = 1/(C Σ s): C = 1 is their default, C = 1/(2λn) doubles λ.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.contracts import Floats, Labelled, SmoothForm
from workbench.judging.conventions.layouts import balanced
from workbench.judging.conventions.neighbours import SHARE, Fit, Neighbour, Suspect
from workbench.judging.conventions.scaling import ratios
from workbench.judging.conventions.standardised import views

ON = 0.02  # of the margin 1: a learner that has converged to 1e-3 has its support vectors within it
SAME = 0.02  # |log μ/μ₀| of a multiple of λ that is meant
TURNS = 25  # between μ and the shares of samples on the margin
LEAST = 1e-8  # μ
NEWTON = 60  # steps for intercepts, each of at most 1
ROOM = 4_000_000  # entries of the least squares for a hinge's shares; where there are more, the hinge is not tried
LOSSES = {"squared hinge": "a squared hinge", "squared loss": "a squared loss", "hinge": "a hinge"}
LOSSES["likelihood"] = "a likelihood of its own"
BIASES = ("", "a free intercept", "a penalised intercept")
STEPS = 2.0 ** np.arange(-12, 3)  # of 1/μ, along which a better point is looked for


@dataclass(frozen=True)
class Rows:
    """Data of single labels: inputs X (n, p), signs s (n, k), shares p_i of samples (n,); the loss by its name.

    scored : [W, X Wᵀ] of the last weights W that were asked about, for many questions are about the same ones
    """

    X: Floats | sparse.csr_array
    signs: Floats
    prices: Floats
    loss: str
    scored: list[Floats] = field(default_factory=list, compare=False, repr=False)

    def scores(self, W: Floats) -> Floats:
        """X Wᵀ (n, k)."""
        if not self.scored or self.scored[0] is not W:
            self.scored[:] = W, self.X @ W.T
        return self.scored[1]

    def margins(self, W: Floats, b: Floats) -> Floats:
        return self.signs * (self.scores(W) + b)

    def risk(self, margins: Floats) -> float:
        """Σ_i p_i Σ_y f(m_iy)."""
        if self.loss == "likelihood":
            return float((self.prices @ np.logaddexp(0, -margins)).sum())
        if self.loss == "squared loss":
            return float((self.prices @ (1 - margins) ** 2).sum())
        return float((self.prices @ np.maximum(1 - margins, 0) ** (2 if self.loss == "squared hinge" else 1)).sum())

    def risks(self, W: Floats, b: Floats, down: Floats, steps: NDArray[np.floating]) -> list[float]:
        """The risk at W and at W − t `down` for each step t."""
        here, change = self.margins(W, b), self.signs * (self.X @ down.T)
        return [self.risk(here - step * change) for step in (0.0, *steps)]

    def pulls(self, m: Floats) -> tuple[Floats, Floats]:
        """−f′(m) and f″(m) ≥ 0; of the hinge 1 below the margin, and 0."""
        if self.loss == "squared hinge":
            return 2 * np.maximum(1 - m, 0), 2 * (m < 1).astype(float)
        if self.loss == "squared loss":
            return 2 * (1 - m), np.full_like(m, 2.0)
        if self.loss == "likelihood":
            pull = np.exp(-np.logaddexp(0, m))
            return pull, pull * (1 - pull)
        return (m < 1).astype(float), np.zeros_like(m)

    def slope(self, W: Floats, b: Floats) -> Floats:
        """G (k, p)."""
        pulls, _ = self.pulls(self.margins(W, b))
        return -(self.prices[:, None] * self.signs * pulls).T @ self.X

    def rise(self, W: Floats, b: Floats) -> float:
        """⟨W, G⟩ = Σ_i p_i Σ_y s_iy f′(m_iy) ⟨W_y, x_i⟩, from the scores alone."""
        pulls, _ = self.pulls(self.margins(W, b))
        return -float(self.prices @ (self.signs * pulls * self.scores(W)).sum(axis=1))

    def intercepts(self, W: Floats, mu: float) -> Floats:
        """argmin over b of the risk + μ/2 ‖b‖², by damped Newton steps."""
        b = np.zeros(len(W))
        for _ in range(NEWTON):
            pulls, bends = self.pulls(self.margins(W, b))
            slope = mu * b - self.prices @ (self.signs * pulls)
            step = np.clip(-slope / np.maximum(self.prices @ bends + mu, 1e-12), -1.0, 1.0)
            b = b + step
            if np.abs(step).max() < 1e-12:
                break
        return b

    def hinge_slope(self, W: Floats, mu: float) -> tuple[Floats, float]:
        """The ε-subgradient G of the hinge's risk that is nearest to −μW, label by label, and ε."""
        from scipy.optimize import lsq_linear

        m, G, epsilon = self.margins(W, np.zeros(len(W))), np.zeros_like(W), 0.0
        for y, margins in enumerate(m.T):
            pulls = -self.prices * self.signs[:, y]
            on = np.flatnonzero(abs(margins - 1) <= ON)
            G[y] = (pulls * (margins < 1 - ON)) @ self.X
            if not len(on):
                continue
            rows = self.X[on]
            rows = rows if isinstance(rows, np.ndarray) else rows.toarray()
            A = (pulls[on, None] * rows).T
            shares = lsq_linear(A, -mu * W[y] - G[y], (0.0, 1.0), tol=1e-12).x
            G[y] += A @ shares
            missing = 1 - margins[on]
            epsilon += float(self.prices[on] @ (np.maximum(missing, 0) - shares * missing))
        return G, epsilon


def one_vs_rest(suspect: Suspect) -> Iterator[Fit]:
    """Every loss, with and without an intercept of its own, on features as they are and as they are often changed."""
    if not single_labels(suspect):
        return
    labelled = suspect.labelled
    W = suspect.theta.reshape(len(labelled.classes), -1)
    signs = 2.0 * (labelled.labels[:, None] == np.arange(len(W))) - 1
    for changed, X, prices in readings(suspect):
        for loss in LOSSES:
            if loss == "hinge" and (changed or X.shape[0] * X.shape[1] > ROOM):
                continue
            rows = Rows(X, signs, prices, loss)
            for bias in BIASES if loss != "hinge" else BIASES[:1]:
                point = stationary(rows, W, bias)
                if point.mu > 0:
                    yield fit(rows, W, point, described(loss, bias, changed, suspect, point.mu), suspect)


def single_labels(suspect: Suspect) -> bool:
    """Whether the weights, not all 0, are a row for each of three labels or more, and nothing besides.

    A chain whose sequences have one position each has weights of transitions, too.
    """
    problem = suspect.problem
    if not (suspect.plain and isinstance(problem, Labelled)) or problem.width > 1 or len(problem.classes) < 3:
        return False
    return suspect.theta.size == suspect.edges and suspect.length > 0


def readings(suspect: Suspect) -> Iterator[tuple[str, Floats | sparse.csr_array, Floats]]:
    """For each way to read the data: its name, the rows X, and the shares of the samples."""
    weights, inputs = suspect.problem.weights, suspect.labelled.inputs
    mean = weights / weights.sum()
    for changed, X in views(inputs):
        yield changed, X, mean
        if not changed:
            evened = balanced(weights, suspect.problem)
            if not np.allclose(evened, weights):
                yield "balanced classes", X, evened / weights.sum()


class Point(NamedTuple):
    """μ, intercepts b (k,) and the ε-subgradient G (k, p) at which weights are most nearly stationary."""

    mu: float
    b: Floats
    G: Floats
    epsilon: float


def stationary(rows: Rows, W: Floats, bias: str) -> Point:
    """Where μ is the one that fits G, and G the one at μ."""
    b = rows.intercepts(W, 0.0) if bias else np.zeros(len(W))
    G, epsilon = rows.slope(W, b), 0.0
    mu = fitting(W, G)
    if bias == "a penalised intercept":
        mu = penalised(rows, W, mu)
        b = rows.intercepts(W, mu)
        return Point(mu, b, rows.slope(W, b), 0.0)
    for _ in range(TURNS if rows.loss == "hinge" and mu > 0 else 0):
        before, (G, epsilon) = mu, rows.hinge_slope(W, mu)
        mu = fitting(W, G)
        if not mu > 0 or abs(mu - before) <= 1e-9 * mu:
            break
    return Point(mu, b, G, epsilon)


def penalised(rows: Rows, W: Floats, free: float) -> float:
    """The μ that fits the slope at (W, b(μ)), by bisection in log μ, 0 if none does; `free` fits without penalty."""
    from scipy.optimize import root_scalar

    squared = float((W * W).sum())

    def off(log_mu: float) -> float:
        return -rows.rise(W, rows.intercepts(W, math.exp(log_mu))) / squared - math.exp(log_mu)

    ends = math.log(LEAST), math.log(max(10 * free, 1.0))
    if not off(ends[0]) > 0 > off(ends[1]):
        return 0.0
    return math.exp(root_scalar(off, bracket=ends, method="brentq", xtol=1e-10).root)


def fitting(W: Floats, G: Floats) -> float:
    """The μ at which ‖μW + G‖ is least."""
    return float(-(W * G).sum() / float((W * W).sum()))


def fit(rows: Rows, W: Floats, point: Point, said: tuple[str, str], suspect: Suspect) -> Fit:
    """e and D by the residual; e₋ by the best point that is found along it."""
    mu, residual = point.mu, point.mu * W + point.G
    squared, steps = float((W * W).sum()), STEPS / mu
    size = SHARE * mu / 2 * squared
    costs = [mu / 2 * squared, *(mu / 2 * float(((W - step * residual) ** 2).sum()) for step in steps)]
    here, *others = (cost + risk for cost, risk in zip(costs, rows.risks(W, point.b, residual, steps), strict=True))
    best = min(here, *others)
    most = float((residual * residual).sum()) / (2 * mu) + point.epsilon
    told = {"lam": mu} if reasoned(suspect, mu) else {"lam": mu, "free": 1.0}
    neighbour = Neighbour(*said, suspect.form, suspect.problem, suspect.theta, evidence=told)
    return Fit(neighbour, most / size, max(here - best, 0.0) / size, float(np.sqrt(2 * most / mu)))


def reasoned(suspect: Suspect, mu: float) -> bool:
    """Whether μ is λ, or λ times a ratio that has a name, as that of C = 1 has."""
    usual = (1.0, *(ratio for ratio, _, _ in ratios(suspect)))
    return any(abs(np.log(mu / (ratio * float(suspect.form.lam)))) <= SAME for ratio in usual)


def described(loss: str, bias: str, changed: str, suspect: Suspect, mu: float) -> tuple[str, str]:
    """Its name and its sentence, with the multiple of λ that it comes to."""
    said = f"learns one label against the rest, each by {LOSSES[loss]}"
    said += f" with {bias} that it does not report" if bias else ""
    said += f", with {changed}" if changed else ""
    if abs(np.log(mu * suspect.n)) < SAME:
        said += ", with C = 1 whatever λ is"
    elif abs(np.log(mu / float(suspect.form.lam))) > SAME:
        said += f", with λ {mu / float(suspect.form.lam):.3g} times as large"
    smooth = isinstance(suspect.form, SmoothForm)
    joint = "LogisticRegression without OneVsRestClassifier" if smooth else 'multi_class="crammer_singer"'
    said += f" (the joint problem is {joint}, with C = 1/(λn), in scikit-learn)"
    return ", ".join(filter(None, ("one-vs-rest", loss, changed))), said
