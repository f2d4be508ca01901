"""Joint likelihood by counts: its w is log p of every labelling, and the closed form is a convex program's optimum."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.backends import solve_cvxpy
from workbench.learners.generative import counted, loss, program
from workbench.outputs.chain import Chain
from workbench.outputs.multiclass import Multiclass
from workbench.registries import registry


def words(rng, n=5, k=3, m=3, weights=None):
    sequences, labels = [], []
    for t in rng.integers(1, 5, n):
        place = np.zeros((t, 3))
        place[:, 0] = place[0, 1] = place[-1, 2] = 1
        sequences.append(np.hstack([rng.integers(0, 2, (t, m)), place]))
        labels.append(rng.integers(0, k, t))
    return Chain(sequences, labels, weights=weights, classes=np.arange(k))


def table(rng, n=12, k=3, m=4):
    X = np.hstack([rng.integers(0, 2, (n, m)), np.ones((n, 1))])
    return Multiclass(X, rng.integers(0, k, n), classes=np.arange(k))


def test_a_chain_is_scored_by_its_log_probability():
    """p(x, y) multiplied out letter by letter from counts taken by hand."""
    rng = np.random.default_rng(0)
    for prior in (0.5, 2.0):
        problem = words(rng)
        w, k, m = counted(problem, prior), 3, 3
        X, y = problem.letters.toarray()[:, :m], problem.labels
        mu = np.array(
            [[(X[y == a, j].sum() + prior) / ((y == a).sum() + 2 * prior) for j in range(m)] for a in range(k)]
        )
        first = np.array([(y[problem.offsets[:-1]] == a).sum() + prior for a in range(k)])
        step = np.full((k, k + 1), prior)
        for start, stop in zip(problem.offsets[:-1], problem.offsets[1:], strict=True):
            for t in range(start, stop):
                step[y[t], y[t + 1] if t + 1 < stop else k] += 1
        first, step = first / first.sum(), step / step.sum(axis=1, keepdims=True)
        for i in range(problem.n_samples):
            pixels = X[problem.offsets[i] : problem.offsets[i + 1]]
            for output in problem.outputs(i):
                labels = output[: len(pixels)]
                chance = first[labels[0]] * step[labels[-1], k]
                for t, label in enumerate(labels):
                    chance *= np.where(pixels[t] > 0, mu[label], 1 - mu[label]).prod()
                    chance *= step[labels[t - 1], label] if t else 1
                score = (problem.features(np.array([i]), output[None]) @ w)[0]
                assert score == pytest.approx(np.log(chance), abs=1e-10)


@pytest.mark.parametrize("made", [words, table])
def test_the_closed_form_is_the_optimum_of_the_convex_program(made):
    problem = made(np.random.default_rng(1))
    stated = program(problem, 0.7)
    solve_cvxpy(stated, "CLARABEL")
    assert loss(problem, 0.7) == pytest.approx(stated.value, rel=1e-7)


def test_a_sample_of_weight_two_is_the_sample_twice():
    rng = np.random.default_rng(2)
    problem = table(rng)
    doubled = Multiclass(
        np.vstack([problem.X.toarray(), problem.X.toarray()[:3]]), np.append(problem.labels, problem.labels[:3])
    )
    weighted = Multiclass(problem.X, problem.labels, weights=np.append([2, 2, 2], np.ones(9)))
    np.testing.assert_allclose(counted(weighted, 1.0), counted(doubled, 1.0), rtol=1e-12)


def test_what_has_no_counts_is_refused():
    fit = registry("learner").get("generative")
    form = wb.SoftMargin()
    assert fit(table(np.random.default_rng(0)), form, 1, 0).shape == (15,)
    for problem, message in (
        (wb.load_problem("toy")(n=6), "0 or 1"),
        (Multiclass(np.eye(3), [0, 1, 2]), "a constant 1"),
        (Chain([np.ones((2, 1))] * 2, [[0, 1]] * 2), "a mark of first letters"),
        (wb.load_problem("grid")(n=1, size=2), "has none; use a chain"),
    ):
        with pytest.raises(wb.MissingCapability, match=message):
            fit(problem, form, 1, 0)
