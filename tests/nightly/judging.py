"""What judging costs beside the learners: CPU seconds of `cutbench crosscheck` on digits with eight learners.

    python tests/nightly/judging.py [--set lam=0.01 …]

This file holds the eight learners, as a user would write them: two are right, five minimise something else, and one is
slow. Each counts the CPU seconds of its fits, those of further passes and of related problems included, and the file
counts those of its own imports. The rest of all processes of the command is the judge's. Exit code 1 if that is more
than the learners' own and ten seconds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BEGAN = time.process_time()

import numpy as np  # noqa: E402 (the imports of a user's file count as the learner's)
from sklearn.linear_model import LogisticRegression, SGDClassifier  # noqa: E402
from sklearn.svm import LinearSVC  # noqa: E402

COUNTED = "CUTBENCH_LEARNERS_SECONDS"  # the file to which each fit adds a line
ROOM = 10.0  # seconds


def machine(problem, formulation, budget, rng, X=None, times=1.0, joint=True, **settings):
    """LinearSVC with C = times/(λn), of twenty iterations a pass."""
    kind = {"multi_class": "crammer_singer"} if joint else {}
    limits = {"max_iter": 20 * budget, "random_state": rng, "fit_intercept": False}
    C = times / (formulation.lam * problem.n_samples)
    learner = LinearSVC(C=C, **kind, **limits, **settings)
    return learner.fit(problem.X if X is None else X, problem.labels).coef_.ravel()


def balanced(*asked):
    return machine(*asked, class_weight="balanced")


def twice(*asked):
    return machine(*asked, times=0.5)


def rest(*asked):
    return machine(*asked, joint=False)


def standardised(problem, *asked):
    X = problem.X.toarray()
    spread = X.std(axis=0)
    return machine(problem, *asked, X=(X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def logistic(problem, formulation, budget, rng):
    C = 1 / (formulation.lam * problem.n_samples)
    return LogisticRegression(C=C, fit_intercept=False, max_iter=budget).fit(problem.X, problem.labels).coef_.ravel()


def averaged(problem, formulation, budget, rng):
    settings = {"fit_intercept": False, "average": True, "max_iter": budget, "tol": None, "random_state": rng}
    return SGDClassifier(alpha=formulation.lam, **settings).fit(problem.X, problem.labels).coef_.ravel()


def steps(problem, formulation, budget, rng):
    """Subgradient steps of 1/(λ (t + 10)), a sample at a time."""
    X, labels, lam, draws = problem.X.toarray(), problem.labels, formulation.lam, np.random.default_rng(rng)
    W, t = np.zeros((int(labels.max()) + 1, X.shape[1])), 0
    for _ in range(budget):
        for i in draws.permutation(len(X)):
            scores, t = W @ X[i] + 1.0, t + 1
            scores[labels[i]] -= 1.0
            W *= 1 - 1 / (t + 10)
            rival = int(scores.argmax())
            W[rival] -= X[i] / (lam * (t + 10))
            W[labels[i]] += X[i] / (lam * (t + 10))
    return W.ravel()


def counting(fit):
    """The learner, which notes its seconds."""

    def counted(problem, formulation, budget, rng):
        began = time.process_time()
        try:
            return fit(problem, formulation, budget, rng)
        finally:
            note(time.process_time() - began)

    return counted


def note(seconds):
    if COUNTED in os.environ:
        with open(os.environ[COUNTED], "a", encoding="utf-8") as file:
            file.write(f"{seconds}\n")


FITS = {"joint": machine, "balanced": balanced, "twice": twice, "rest": rest, "standardised": standardised}
FITS |= {"logistic": logistic, "averaged": averaged, "steps": steps}
NAMES = {name: counting(fit) for name, fit in FITS.items()}


def main() -> int:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "seconds")
        command = [sys.executable, "-m", "workbench.command.cli", "crosscheck", "digits", "soft-margin"]
        command += [*(sys.argv[1:] or ["--set", "lam=0.01"]), "--learners", __file__]
        began = os.times()
        subprocess.run(command, env={**os.environ, COUNTED: str(file), "PYTHONWARNINGS": "ignore"}, check=False)
        ended = os.times()
        inside = sum(map(float, file.read_text(encoding="utf-8").split()))
    outside = sum(ended[2:4]) - sum(began[2:4]) - inside
    print(f"CPU seconds: learners {inside:.1f}, judge {outside:.1f} (at most {inside + ROOM:.1f})")
    return int(outside > inside + ROOM)


if __name__ == "__main__":
    raise SystemExit(main())
note(time.process_time() - BEGAN)
