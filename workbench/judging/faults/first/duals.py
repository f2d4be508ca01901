"""Faults of the dual: weights, offsets, the Gram matrix, SAGA's table of gradients."""

from __future__ import annotations

import numpy as np

from workbench.contracts import Ints
from workbench.judging.faults.learners import DualAscent
from workbench.judging.faults.planting import fault


def sample_of(self: DualAscent, row: int) -> int:
    """The sample that an output's row belongs to."""
    return int(np.searchsorted(self.ends, row, side="right")) - 1


def of_sample(self: DualAscent, step: float, up: int, down: int) -> None:
    """Refreshes the margins of one sample's outputs only."""
    rows = slice(*self.ends[(i := sample_of(self, up)) : i + 2])
    self.m[rows] -= step * (self.K[rows, up] - self.K[rows, down])


def active(self: DualAscent) -> Ints:
    """The samples that had a mistake in the first pass."""
    if not hasattr(self, "kept"):  # the fault's own memory, empty at first
        self.kept = np.arange(self.n)
    elif len(self.kept) == self.n:
        self.kept = np.flatnonzero(self.alpha[self.ends[:-1] + self.own] < 1)
    return self.rng.permutation(self.kept)


DUALS = [
    # ── dual ──────────────────────────────────────────────────────────────────────────────────────
    fault(
        "steps not cut at α = 0",
        "dual",
        "dual-ascent: multiclass linear",
        evidence="dual",
        clipped=lambda self, step, up, down: step,
    ),
    fault(
        "α sums to 1/n, not to 1",
        "dual",
        "dual-ascent: multiclass matching",
        evidence="mean twice, dual",
        mass=lambda self, i: np.full(np.shape(i), 1 / self.n),
    ),
    fault(
        "Gram matrix without λ",
        "dual",
        "dual-ascent: chain linear",
        evidence="Gram matrix without λ, loss half",  # losses ℓ/λ, and λ is 2 on chains
        gram=lambda self: self.A @ self.A.T,
    ),
    fault("margins of other samples stale", "dual", "dual-ascent: multiclass linear", refresh=of_sample),
    fault(
        "loser's column forgotten",
        "dual",
        "dual-ascent: multiclass matching",
        refresh=lambda self, step, up, down: self.m.__isub__(step * self.K[:, up]),
    ),
    fault("shrinking never undone", "dual", "dual-ascent: multiclass linear", order=active),
    fault(
        "w starts at random, blocks at zero",
        "dual",
        "bcfw: multiclass chain",
        begin=lambda self: self.rng.normal(size=self.d),
    ),
    fault(
        "offsets without weights",
        "dual",
        "bcfw: multiclass matching",
        corner=lambda self, i, z: (self.clean.corner(i, z)[0], self.losses[i][z]),
    ),
    fault("mean gradient not refreshed", "dual", "saga: multiclass chain", refreshed=lambda self, i, change: self.mean),
    fault(
        "mean gradient refreshed without weights",
        "dual",
        "saga: multiclass linear",
        evidence="no sample weights",  # its table settles, and then mean + λw = 0
        refreshed=lambda self, i, change: self.mean + change / self.n,
    ),
    fault("table keeps changes", "dual", "saga: multiclass linear", kept=lambda self, new, i: new - self.table[i]),
]
