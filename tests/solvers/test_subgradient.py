"""The subgradient method reads only the weights that a sample's scores meet, and its iterates stay the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import workbench as wb
from workbench.contracts import Kernel
from workbench.solvers.subgradient import Subgradient
from workbench.solving.stochastic import run


def few_features(kind=wb.Multiclass, n=30, p=200):
    X = sparse.random_array((n, p), density=0.02, rng=np.random.default_rng(3), format="csr")
    return kind(X, np.arange(n) % 3)


class Reading(wb.Multiclass):
    """Counts the weights that a visit asks for; without `telling`, its kernel does not say which."""

    telling = True
    asked = 0

    def kernel(self) -> Kernel:
        kernel = super().kernel()

        def reads_into(data, i, indices):
            count = kernel.reads_into(data, i, indices)
            self.asked += count
            return count

        return kernel._replace(reads_into=reads_into if self.telling else None)


def test_a_visit_reads_what_its_sample_meets():
    told, silent = (few_features(Reading) for _ in range(2))
    silent.telling = False
    runs = [run(Subgradient(), wb.SoftMargin(0.1), each, passes=4, compiled=False) for each in (told, silent)]
    assert np.array_equal(runs[0].thetas, runs[1].thetas)
    assert 0 < told.asked <= 4 * 30 * 3 * 20
    assert silent.asked == 0


@pytest.mark.parametrize("solver", [Subgradient(), Subgradient(average="last"), Subgradient(batch=7, average="last")])
def test_iterates_are_the_means_that_the_docstring_states(solver):
    """w_t is the mean of the slopes of complete batches, from the argmax at w of the batch's start."""
    problem, lam, passes = few_features(), 0.1, 3
    trace = run(solver, wb.SoftMargin(lam), problem, passes=passes, rng=5)
    drawing, n = np.random.default_rng(5), problem.n_samples
    order = np.concatenate([drawing.integers(n, size=n) for _ in range(passes)])
    oracle = wb.SoftMargin(lam).oracle(problem)
    w, slopes, means = np.zeros(oracle.dim), [], []
    for at, i in enumerate(order):
        slopes.append(-oracle.rows(np.array([i]), oracle.argmax(w, np.array([i])))[0].toarray()[0] / lam)
        if (at + 1) % solver.batch == 0:
            w = np.mean(slopes, axis=0)
            means.append(w)
    weights = np.arange(1, len(means) + 1) if solver.average == "weighted" else np.arange(len(means)) == len(means) - 1
    assert trace.thetas[-1] == pytest.approx(np.average(means, axis=0, weights=weights), abs=1e-9)
