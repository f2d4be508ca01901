"""Faults at the end: what is returned is not what was learned, has too few digits, or comes too early."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from workbench.judging.faults.learners import Learner, Smooth
from workbench.judging.faults.planting import both, fault


def stop_if_same(self: Smooth, k: int) -> None:
    """Stops once a pass changed no prediction."""
    guess = [int((A @ self.w).argmax()) for A in self.slopes]
    self.stopped, self.guess = guess == getattr(self, "guess", None), guess  # the fault's own memory


def stop_if(small: Callable[[Learner], bool]) -> Callable[[Learner, int], None]:
    def check(self: Learner, k: int) -> None:
        self.stopped = small(self)

    return check


ENDINGS = [
    # ── report ────────────────────────────────────────────────────────────────────────────────────
    fault(
        "rows of W in reverse",
        "report",
        "bcfw: multiclass; lbfgs: multiclass",
        evidence="labels permuted, averaging",
        report=lambda self: self.clean.report().reshape(self.k, -1)[::-1].ravel(),
    ),
    fault(
        "W read column by column",
        "report",
        "bcfw: multiclass; lbfgs: multiclass",
        evidence="feature-major layout, averaging",
        report=lambda self: self.clean.report().reshape(-1, self.k).T.ravel(),
    ),
    fault(
        "last block left out",
        "report",
        "bcfw: multiclass linear",
        evidence="averaging",
        report=lambda self: self.blocks[:-1].sum(axis=0),
    ),
    fault(
        "weights without 1/λ",
        "report",
        "dual-ascent: chain matching",
        evidence="dual",
        report=lambda self: self.lam * self.clean.report(),
    ),
    fault(
        "weights of length 1",
        "report",
        "subgradient: multiclass linear",
        evidence="averaging",
        report=lambda self: self.mean / max(np.linalg.norm(self.mean), 1e-300),
    ),
    fault(
        "weights rounded to one digit",
        "report",
        "dual-ascent: multiclass linear",
        evidence="dual",
        report=lambda self: np.round(self.clean.report(), 1),
    ),
    # ── number ────────────────────────────────────────────────────────────────────────────────────
    fault(
        "half precision weights",
        "number",
        "subgradient: multiclass chain",
        move=both(lambda self, g: self.clean.move(g), lambda self, g: setattr(self, "w", self.w.astype(np.float16))),
    ),
    fault(
        "half precision scores",
        "number",
        "lbfgs: uncentred",
        evidence="subgradient",
        logits=lambda self, i, w: (self.slopes[i].astype(np.float16) @ w.astype(np.float16)).astype(float),
    ),
    # ── stop ──────────────────────────────────────────────────────────────────────────────────────
    fault(
        "stops once predictions stay",
        "stop",
        "gradient: multiclass linear; saga: linear",
        sweep=both(lambda self, k: self.clean.sweep(k), stop_if_same),
    ),
    fault(
        "stops at a gap divided by n",
        "stop",
        "bcfw: multiclass linear",
        sweep=both(lambda self, k: self.clean.sweep(k), stop_if(lambda self: self.claim() / self.n < 1e-2)),
    ),
    fault(
        "stops on its upper bound alone",
        "stop",
        "bcfw: multiclass linear",
        sweep=both(
            lambda self, k: self.clean.sweep(k),
            stop_if(lambda self: self.objective(self.report()) < self.objective(np.zeros(self.d))),
        ),
    ),
]
