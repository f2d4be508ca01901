"""Motif problems with hidden positions, small enough to list them, for the tests that share them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

import workbench as wb


def tiny(seed: int) -> tuple[wb.Motif, np.random.Generator]:
    """Random sequences of random lengths, sometimes weighted; and the generator that drew them."""
    rng = np.random.default_rng(seed)
    problem = wb.Motif.tiny(rng)
    texts = [problem.text(i) for i in range(problem.n_samples)]
    return wb.Motif(texts, problem.labels, problem.length, problem.truth[:, 1], problem.weights), rng


def small(seed: int, n: int = 4, span: int = 5) -> wb.Motif:
    """A planted motif of three letters."""
    return wb.load_problem("motif")(n=n, length=3, span=span, draw=seed)


def completions(problem: wb.Motif) -> Iterator[tuple[int, ...]]:
    """All states (n,)."""
    return itertools.product(*(problem.hidden(i) for i in range(problem.n_samples)))
