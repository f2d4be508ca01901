"""The hinges of all wrong labels summed up, in place of the highest one (Weston, Watkins 1999).

F′(W) = μ/2 ‖W‖² + Σ_i p_i Σ_{y ≠ t_i} h_iy,      h_iy = (1 + ⟨W_y − W_t, x_i⟩)₊

Packages divide the sum by the number of labels K (`torch.nn.MultiMarginLoss`) or of wrong labels K − 1, which makes μ
as many times as large. Nothing is solved: with any ε-subgradient G of the sum, ρ = ‖μW + G‖ bounds F′(W) − min F′ by
ρ²/(2μ) + ε, as for one label against the rest (one_vs_rest.py), and μ = −⟨W, G⟩/‖W‖² is the one that fits W. A hinge
within ON of its kink has a share from 0 to 1, by bounded least squares over all labels at once, for hinges share the
rows of W.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

from workbench.contracts import Floats, Ints
from workbench.judging.conventions.neighbours import SHARE, Fit, Neighbour, Suspect
from workbench.judging.conventions.one_vs_rest import ON, STEPS, fitting, single_labels

ROOM = 2_000_000  # entries of the least squares for shares; where there are more, the hinges are not tried
TURNS = 10  # between μ and the shares
SETTLED = 1e-6  # relative change of μ, and of F′
CHANCE = 1.2  # times the least bound, up to which a μ that has a reason goes before the one that fits best
SAID = "sums up the hinges of all wrong labels (Weston and Watkins), where the highest one counts"
OF_WRONG = " and divides by the number of wrong labels"


class Rivals(NamedTuple):
    """Data of single labels: inputs X (n, p), true labels t (n,), shares p_i of samples (n,)."""

    X: Floats | sparse.csr_array
    truth: Ints
    prices: Floats

    def heights(self, W: Floats) -> Floats:
        """1 + ⟨W_y − W_t, x_i⟩ (n, k), −∞ of the true labels."""
        scores, every = np.asarray(self.X @ W.T), np.arange(len(self.truth))
        heights = 1 + scores - scores[every, self.truth][:, None]
        heights[every, self.truth] = -np.inf
        return heights

    def risk(self, heights: Floats) -> float:
        """Σ_i p_i Σ_y h_iy."""
        return float(self.prices @ np.maximum(heights, 0).sum(axis=1))

    def slope(self, shares: Floats) -> Floats:
        """Σ_iy p_i c_iy (e_y − e_t) ⊗ x_i (k, p) of shares c (n, k), which are 0 of the true labels."""
        moved = self.prices[:, None] * shares
        moved[np.arange(len(self.truth)), self.truth] = -moved.sum(axis=1)
        return np.asarray(moved.T @ self.X)

    def columns(self, samples: Ints, labels: Ints, k: int) -> Floats:
        """p_i (e_y − e_t) ⊗ x_i of these pairs, (k p, m)."""
        rows = self.X[samples]
        rows = (rows if isinstance(rows, np.ndarray) else rows.toarray()) * self.prices[samples, None]
        found = np.zeros((len(samples), k, rows.shape[1]))
        at = np.arange(len(samples))
        found[at, labels], found[at, self.truth[samples]] = rows, -rows
        return found.reshape(len(samples), k * rows.shape[1]).T


def all_rivals(suspect: Suspect) -> Iterator[Fit]:
    """The sum of all wrong labels' hinges, at a μ that has a reason if it fits as well as the one that fits best."""
    if not single_labels(suspect):
        return
    labelled = suspect.labelled
    W, weights = suspect.theta.reshape(len(labelled.classes), -1), suspect.problem.weights
    rivals = Rivals(labelled.inputs, labelled.labels, weights / weights.sum())
    heights = rivals.heights(W)
    samples, labels = np.nonzero(abs(heights) <= ON)
    if len(samples) * W.size > ROOM:
        return
    fixed, columns = rivals.slope((heights > ON).astype(float)), rivals.columns(samples, labels, len(W))
    near = Kinks(W, fixed, columns, heights[samples, labels], rivals.prices[samples])
    best = near.fitting()
    if not best.mu > 0:
        return
    lam, k = float(suspect.form.lam), len(W)
    for multiple, words in {1: "", k: " and divides by the number of labels", k - 1: OF_WRONG}.items():
        if (point := near.at(multiple * lam)).most <= CHANCE * best.most + SETTLED * best.size:
            yield fit(rivals, W, point, SAID + words, suspect)
            return
    yield fit(rivals, W, best, f"{SAID}, with λ {best.mu / lam:.3g} times as large", suspect, {"several": 2.0})


class Point(NamedTuple):
    """μ, an ε-subgradient G (k, p) of the sum, and the bound `most` on F′(W) − min F′; `size` of F′."""

    mu: float
    G: Floats
    most: float
    size: float


class Kinks(NamedTuple):
    """Weights W (k, p), the slope `fixed` (k, p) of hinges away from their kink, and the m hinges near their kink.

    columns (k p, m), over (m,), prices (m,) : what a share of 1 adds to the slope, 1 + ⟨W_y − W_t, x_i⟩, and p_i
    """

    W: Floats
    fixed: Floats
    columns: Floats
    over: Floats
    prices: Floats

    def at(self, mu: float) -> Point:
        """With the G that is nearest to −μW."""
        from scipy.optimize import lsq_linear

        G, epsilon = self.fixed, 0.0
        if len(self.over):
            shares = lsq_linear(self.columns, -(mu * self.W + G).ravel(), (0.0, 1.0), tol=1e-12).x
            G = G + (self.columns @ shares).reshape(self.W.shape)
            epsilon = float(self.prices @ (np.maximum(self.over, 0) - shares * self.over))
        residual = mu * self.W + G
        most = float((residual * residual).sum()) / (2 * mu) + epsilon if mu > 0 else np.inf
        return Point(mu, G, most, SHARE * mu / 2 * float((self.W * self.W).sum()))

    def fitting(self) -> Point:
        """Where μ is the one that fits G, and G the one at μ."""
        mu = fitting(self.W, self.fixed + (self.columns @ (self.over > 0)).reshape(self.W.shape))
        for _ in range(TURNS):
            if not mu > 0:
                break
            point = self.at(mu)
            before, mu = mu, fitting(self.W, point.G)
            if abs(mu - before) <= SETTLED * mu:
                return point
        return self.at(mu)


def fit(
    rivals: Rivals, W: Floats, point: Point, sentence: str, suspect: Suspect, more: dict[str, float] | None = None
) -> Fit:
    """e and D by the residual; e₋ by the best point that is found along it; `more` evidence."""
    residual, mu = point.mu * W + point.G, point.mu
    points = (W, *(W - step * residual for step in STEPS / mu))
    here, *others = (mu / 2 * float((V * V).sum()) + rivals.risk(rivals.heights(V)) for V in points)
    told = Neighbour(
        "all rivals", sentence, suspect.form, suspect.problem, suspect.theta, evidence={"lam": mu} | (more or {})
    )
    least = max(here - min(others), 0.0) / point.size
    return Fit(told, point.most / point.size, least, float(np.sqrt(2 * point.most / mu)))
