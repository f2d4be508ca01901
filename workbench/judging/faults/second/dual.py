"""Dual coordinate ascent for the hinge on labels and linear scores, in float64, and mistakes in its steps.

With α_i in the simplex over sample i's labels, W = −(1/λ) Σ p_i Σ_r α_i(r) (φ(x_i, r) − φ(x_i, y_i)), the dual is

    D(α) = Σ p_i Σ_r α_i(r) ℓ_i(r) − λ/2 ‖W‖²,     ∂D/∂α_i(r) = p_i g_r,  g_r = ℓ_i(r) + ⟨W, φ(x_i, r) − φ(x_i, y_i)⟩.

A visit moves mass γ from the worst label a with α_i(a) > 0 to the best label b: γ = λ (g_b − g_a)/(p_i ‖φ_b − φ_a‖²),
at most α_i(a). D never falls.

The search for b is lent for audits. No average is: one fault keeps the weights of a pass, and none keeps a mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from workbench.contracts import Floats, Formulation, Ints, Problem
from workbench.errors import MissingCapability
from workbench.judging.faults.second import tensors
from workbench.judging.faults.second.adam import unchanged
from workbench.judging.faults.second.contract import HINGE_LABELS, HINGE_RISK, HINGE_SCORES, Fault, Host, loss_of
from workbench.judging.faults.second.tensors import Batch, Layout


class Visit(NamedTuple):
    """Sample i in pass t = 0, 1, …: its row x, its label y, n samples, and how often each label occurs."""

    t: int
    i: int
    x: Floats
    y: int
    n: int
    counts: Floats
    rng: np.random.Generator


def clipped(step: float, most: float) -> float:
    return min(step, most)


def end_of_pass(W: Floats, t: int) -> Floats:
    return W


def last(mean: Floats, W: Floats, t: int) -> Floats:
    return W


@dataclass(frozen=True)
class Ascent:
    """The method; each field is a step of it.

    gains(g, visit) : g (K,) as the search sees it;  step(γ, α_i(a)) : the mass moved;  row(x, visit) : what W gains
    after(W, t), keep(mean, W, t) : at the end of a pass, what becomes of W, and what is returned
    """

    gains: Callable[[Floats, Visit], Floats] = unchanged
    step: Callable[[float, float], float] = clipped
    row: Callable[[Floats, Visit], Floats] = unchanged
    after: Callable[[Floats, int], Floats] = end_of_pass
    keep: Callable[[Floats, Floats, int], Floats] = last

    def __call__(
        self, problem: Problem, formulation: Formulation, budget: int, rng: int | np.random.Generator
    ) -> Floats:
        """Weights (d,) after `budget` passes."""
        samples, layout = self._gathered(problem, formulation)
        X, y, extra, rng = samples.x[:, 0], samples.y[:, 0], samples.extra[:, 0], np.random.default_rng(rng)
        n, lam, norms = len(y), float(formulation.lam), (X**2).sum(axis=1)
        curvature = samples.share / n * norms * (1 if layout.kind == "linear" else 2) / lam
        alpha, W, counts = np.eye(layout.K)[y], np.zeros((layout.K, layout.p)), np.bincount(y, minlength=layout.K)
        mean, free = W, np.arange(layout.K) if layout.kind == "multiclass" else np.array([1])
        moves = np.zeros(layout.K)
        for t in range(budget):
            for i in rng.permutation(n):
                visit = Visit(t, i, X[i], int(y[i]), n, counts, rng)
                g = self.gains(W @ X[i] + extra[i], visit)
                a, b = np.where(alpha[i] > 0, g, np.inf).argmin(), g.argmax()
                if a == b or curvature[i] == 0:
                    continue
                step = self.step((g[b] - g[a]) / curvature[i], alpha[i, a])
                alpha[i, a], alpha[i, b] = alpha[i, a] - step, alpha[i, b] + step
                moves[:] = 0
                moves[b], moves[a] = -step, step
                W = W.copy()
                W[free] += np.outer(moves[free], self.row(X[i], visit) * (samples.share[i] / n / lam))
            W = self.after(W, t)
            mean = self.keep(mean, W, t)
        return mean[free].ravel()

    @staticmethod
    def _gathered(problem: Problem, formulation: Formulation) -> tuple[Batch, Layout]:
        if problem.name == "chain" or loss_of(problem, formulation) != "hinge":
            raise MissingCapability("this ascent is made for the hinge of labels and scores; choose one of these.")
        return tensors.gathered(problem, formulation, float), tensors.layout_of(problem)

    def oracle(self, problem: Problem, formulation: Formulation, theta: Floats, i: int) -> Ints:
        """The best label b (1,) of sample i at weights θ (d,), as the search of the first pass finds it."""
        samples, layout = self._gathered(problem, formulation)
        y, (W, _) = samples.y[:, 0], layout.split(theta)
        counts = np.bincount(y, minlength=layout.K)
        visit = Visit(0, i, samples.x[i, 0], int(y[i]), len(y), counts, np.random.default_rng(i))
        return self.gains(W @ visit.x + samples.extra[i, 0], visit).argmax(keepdims=True)


# ── mistakes ──────────────────────────────────────────────────────────────────────────────────────


def unlossed_every_seventh_pass(g: Floats, visit: Visit) -> Floats:
    """In one pass of seven the loss is missing: 1 is added to the truth as well."""
    return g + (np.arange(len(g)) == visit.y) * (visit.t % 7 == 6)


def rare_unlossed(g: Floats, visit: Visit) -> Floats:
    """Samples of the rarest label are learned from without a loss."""
    return g + (np.arange(len(g)) == visit.y) * (visit.y == visit.counts.argmin())


def first_labels_only(g: Floats, visit: Visit) -> Floats:
    """`range(K − 1)`: the last label is no rival."""
    g = g.copy()
    if visit.y != len(g) - 1:
        g[-1] = g.min() - 1e-9
    return g


def last_sample_wrong(x: Floats, visit: Visit) -> Floats:
    """The last sample, alone, is added with the wrong sign."""
    return -x if visit.i == visit.n - 1 else x


def absolute_rows(x: Floats, visit: Visit) -> Floats:
    """Unsigned storage: negative inputs lose their sign in the update."""
    return np.abs(x)


def lost_updates(x: Floats, visit: Visit) -> Floats:
    """A race: one update in five is overwritten by another thread, and the dual variables do not know."""
    return x * (visit.rng.random() >= 0.2)


def shrunk_after_forty(W: Floats, t: int) -> Floats:
    """From pass 40 on, weights are decayed by 2 % a pass beside the penalty."""
    return W * 0.98 if t >= 40 else W


def shrunk_every_seventh(W: Floats, t: int) -> Floats:
    """In one pass of seven a checkpoint is written, and read back at a tenth less."""
    return W * 0.9 if t % 7 == 6 else W


def rounded(W: Floats, t: int) -> Floats:
    """At the end of a pass weights are rounded to one of 17 values."""
    size = max(float(np.abs(W).max()), 1e-12) / 8
    return np.round(W / size) * size


def never_updated(mean: Floats, W: Floats, t: int) -> Floats:
    """The best model so far is kept, and `<` is the wrong way round: the first pass wins."""
    return W if t == 0 else mean


def unclipped(step: float, most: float) -> float:
    return step


def timid(step: float, most: float) -> float:
    """A fixed small step."""
    return min(step, most, 1e-3)


CASES = (HINGE_LABELS, HINGE_SCORES, HINGE_RISK)
HOST = Host("dual-ascent", "Dual coordinate ascent in float64.", CASES, 800, Ascent())


def _fault(
    name: str,
    sentence: str,
    amounts_to: str,
    applies: tuple = CASES,
    **steps: Any,  # fields of Ascent
) -> Fault:
    return Fault(f"dual-{name}", sentence, applies, HOST, Ascent(**steps), tuple(amounts_to.split(", ")))


FAULTS = (
    _fault(
        "seventh-pass",
        "In one pass of seven the loss is missing.",
        "loss augmentation, argmax",
        gains=unlossed_every_seventh_pass,
    ),
    _fault(
        "rare", "The rarest label is learned without a loss.", "loss augmentation, class weights", gains=rare_unlossed
    ),
    _fault("last-label", "The last label is never a rival.", "argmax", (HINGE_LABELS,), gains=first_labels_only),
    _fault(
        "last-sample",
        "The last sample is added with the wrong sign.",
        "gradient, dual feasibility, data used, labels",
        row=last_sample_wrong,
    ),
    _fault(
        "unsigned",
        "Negative inputs lose their sign in the update.",
        "gradient, dual feasibility, features",
        row=absolute_rows,
    ),
    _fault("lost-updates", "One update in five is lost.", "gradient, dual feasibility", row=lost_updates),
    _fault(
        "after-forty",
        "After pass 40 weights are decayed beside the penalty.",
        "regularisation constant, dual feasibility",
        after=shrunk_after_forty,
    ),
    _fault(
        "checkpoint",
        "In one pass of seven weights lose a tenth.",
        "regularisation constant, dual feasibility",
        after=shrunk_every_seventh,
    ),
    _fault("seventeen-values", "Weights are rounded after every pass.", "arithmetic, dual feasibility", after=rounded),
    _fault(
        "first-kept",
        "The weights after the first pass are returned.",
        "weights returned, early stopping",
        keep=never_updated,
    ),
    _fault("unclipped", "Steps are not clipped.", "dual feasibility, step size", step=unclipped),
    _fault("timid", "Steps have a fixed small length.", "step size", step=timid),
)
