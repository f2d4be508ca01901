"""Sound training loops under schedules of learning rates: how many `wb.watch` accuses.

A loop takes full-batch steps on the likelihood of labels, the right objective, and is given to `wb.watch` after each
epoch. A schedule multiplies the learning rate by a number that depends on the share t of the epochs that are over:

    constant 1      cosine (1 + cos πt)/2      linear 1 − t      exponential 0.01^t

Many of these loops have too few epochs, and end far from the optimum with steps near 0. More epochs would bring all of
them there, so `disagrees` is false, and counts as `failed`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import workbench as wb
from workbench.contracts import Floats, Ints
from workbench.errors import checked_whole
from workbench.registries import load_file

settings = load_file(Path(__file__).with_name("_settings.py"), "benchmark")

SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda t: 1.0,
    "cosine": lambda t: (1 + math.cos(math.pi * t)) / 2,
    "linear": lambda t: 1 - t,
    "exponential": lambda t: 0.01**t,
}
LAMBDAS, EPOCHS = (1e-3, 1e-2, 1e-1), (60, 150, 300)
RATES = {"descent": 1.5, "momentum": 0.15, "adagrad": 0.05, "adam": 0.01}  # the first two in units of 1/L


def schedules(loops: int = 6, only: str = "", rng: int = 0) -> dict[str, Any]:
    """rows: one a method and schedule: loops, accused, agree; then sums over all.

    loops : of each method under each schedule, each with data, λ and a number of epochs of its own
    only : methods apart by commas, all if empty
    """
    checked_whole(1, loops=loops)
    draw, rows = np.random.default_rng(rng), []
    for method in settings.chosen(only, RATES, "method"):
        for name, schedule in SCHEDULES.items():
            verdicts = Counter(watched(method, schedule, draw) for _ in range(loops))
            row = {"method": method, "schedule": name, "loops": loops}
            rows.append(row | {"accused": verdicts["disagrees"], "agree": verdicts["agrees"]})
    total = {key: sum(each[key] for each in rows) for key in ("loops", "accused", "agree")}
    return {"rows": rows, **total, "failed": total["accused"]}


def watched(method: str, schedule: Callable[[float], float], draw: np.random.Generator) -> str:
    """The verdict on one loop."""
    problem, lam, epochs = drawn(draw), float(draw.choice(LAMBDAS)), int(draw.choice(EPOCHS))
    X = problem.X.toarray()
    curvature = lam + np.linalg.norm(X, 2) ** 2 / len(X) / 2
    rate = RATES[method] / (curvature if method in ("descent", "momentum") else 1.0)
    watch = wb.watch(problem, wb.CRF(lam=lam))
    rates = (rate * schedule(epoch / epochs) for epoch in range(epochs))
    for weights in weights_of(method, rates, X, problem.labels, lam, len(problem.classes)):
        watch.step(weights)
    return watch.verdict().verdict


def drawn(draw: np.random.Generator) -> wb.Multiclass:
    """Flowers, wines, or random samples of three labels, as they are or with features of very different sizes."""
    kind = draw.integers(4)
    if kind < 2:
        return wb.load_problem(("iris", "wine")[kind])()
    X, W = draw.normal(size=(60, 5)), draw.normal(size=(3, 5))
    labels = (X @ W.T + draw.normal(size=(60, 3))).argmax(axis=1)
    return wb.Multiclass(X * (10.0 ** draw.uniform(-1, 1, 5) if kind == 3 else 1.0), labels)


def weights_of(method: str, rates: Iterator[float], X: Floats, labels: Ints, lam: float, k: int) -> Iterator[Floats]:
    """W (k, p) after each epoch: W ← W − η step, with step from the slopes so far (Kingma, Ba 2015 for Adam)."""
    W, truth = np.zeros((k, X.shape[1])), np.eye(k)[labels]
    mean, square = 0 * W, 0 * W
    for t, rate in enumerate(rates, 1):
        scores = X @ W.T
        likely = np.exp(scores - scores.max(axis=1, keepdims=True))
        slope = (likely / likely.sum(axis=1, keepdims=True) - truth).T @ X / len(X) + lam * W
        if method == "descent":
            step = slope
        elif method == "momentum":
            step = mean = 0.9 * mean + slope
        elif method == "adagrad":
            square = square + slope**2
            step = slope / (np.sqrt(square) + 1e-10)
        else:
            mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
            step = mean / (1 - 0.9**t) / (np.sqrt(square / (1 - 0.999**t)) + 1e-8)
        W = W - rate * step
        yield W


NAMES = {"schedules": schedules}
