"""The hinges of all wrong labels: optima that CVXPY finds, and slopes by differences."""

from __future__ import annotations

from functools import cache

import cvxpy as cp
import numpy as np
import pytest

import workbench as wb
from workbench.judging.conventions import all_rivals as module
from workbench.judging.conventions.all_rivals import Rivals, all_rivals
from workbench.judging.conventions.detective import explain
from workbench.judging.conventions.neighbours import Suspect
from workbench.judging.conventions.one_vs_rest import one_vs_rest
from workbench.judging.reference import reference_of

LAM = 0.05


@cache
def data(k=3, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 4)), rng.permutation(np.arange(30) % k)
    X[:, :2] += 1.5 * np.eye(k, 2)[y]
    return wb.Multiclass(X, y, weights=rng.integers(1, 4, 30).astype(float))


def optimum(problem, mu):
    """argmin of F′ (k p,), by CVXPY."""
    X, y, k = problem.X.toarray(), problem.labels, len(problem.classes)
    W, shares = cp.Variable((k, X.shape[1])), problem.weights / problem.weights.sum()
    scores = X @ W.T
    own = cp.sum(cp.multiply(scores, np.eye(k)[y]), axis=1, keepdims=True)
    hinges = cp.multiply(1 - np.eye(k)[y], cp.pos(1 + scores - own @ np.ones((1, k))))
    cp.Problem(cp.Minimize(mu / 2 * cp.sum_squares(W) + shares @ cp.sum(hinges, axis=1))).solve(cp.CLARABEL)
    return W.value.ravel()


@cache
def solution(k=3):
    return wb.solve(wb.SoftMargin(lam=LAM), data(k), gap=1e-9)


@pytest.mark.parametrize(
    ("times", "told"),
    [
        (1, "where the highest one counts"),
        (4, "where the highest one counts and divides by the number of labels"),
        (3, "where the highest one counts and divides by the number of wrong labels"),
        (1.7, "where the highest one counts, with λ 1.7 times as large"),
    ],
)
def test_the_sum_of_all_hinges_is_named(times, told):
    found = explain(optimum(data(4), times * LAM), solution(4))
    assert (found.name, found.confident) == ("all rivals", True)
    assert f"sums up the hinges of all wrong labels (Weston and Watkins), {told}: its weights" in found.sentence
    assert found.evidence["lam"] == pytest.approx(times * LAM, rel=1e-3)
    assert found.evidence["excess"] <= 1e-6


def test_the_optimum_that_was_asked_for_is_not_named():
    assert explain(solution().theta_flat, solution()) is None
    suspect = Suspect(solution().theta_flat, reference_of(solution()))
    (fit,) = all_rivals(suspect)
    assert fit.most > 0.01  # this residual is far from 0, and a better point is found
    assert fit.least > 1e-3


def test_two_labels_and_too_many_hinges_are_left_out(monkeypatch):
    two = wb.Multiclass(np.eye(4), [0, 1, 0, 1])
    reference = reference_of(wb.solve(wb.SoftMargin(lam=LAM), two))
    assert not list(all_rivals(Suspect(np.ones(8), reference)))
    theta, reference = optimum(data(), LAM), reference_of(solution())
    assert not list(all_rivals(Suspect(0 * theta, reference)))
    monkeypatch.setattr(module, "ROOM", 0)
    assert not list(all_rivals(Suspect(theta, reference)))


def test_shares_make_a_subgradient():
    """With shares 1 of the positive hinges, the slope bounds the sum from below."""
    problem, rng = data(4), np.random.default_rng(1)
    rivals = Rivals(problem.X, problem.labels, problem.weights / problem.weights.sum())
    W = rng.normal(size=(4, 4))
    heights = rivals.heights(W)
    G = rivals.slope((heights > 0).astype(float))
    for V in (W + rng.normal(size=(4, 4)) for _ in range(20)):
        assert rivals.risk(rivals.heights(V)) >= rivals.risk(heights) + (G * (V - W)).sum() - 1e-12
    samples, labels = np.nonzero(heights > 0)
    np.testing.assert_allclose(rivals.columns(samples, labels, 4).sum(axis=1), G.ravel(), atol=1e-12)
    assert rivals.columns(samples[:0], labels[:0], 4).shape == (16, 0)  # no hinge near its kink


def test_the_constants():
    assert (module.ROOM, module.TURNS, module.SETTLED, module.CHANCE) == (2_000_000, 10, 1e-6, 1.2)
    assert module.OF_WRONG == " and divides by the number of wrong labels"


def test_the_risk_is_the_sum_of_positive_heights():
    rivals = Rivals(np.eye(2), np.array([0, 1]), np.array([0.25, 0.75]))
    heights = np.array([[-np.inf, 2.0, -1.0], [0.5, -np.inf, 0.25]])
    assert rivals.risk(heights) == 0.25 * 2.0 + 0.75 * 0.75


def test_room_is_for_so_many_entries(monkeypatch):
    theta, reference = optimum(data(), LAM), reference_of(solution())
    rivals = Rivals(data().X, data().labels, data().weights / data().weights.sum())
    near = np.count_nonzero(abs(rivals.heights(theta.reshape(3, 4))) <= module.ON)
    for room, tried in ((near * 12, 1), (near * 12 - 1, 0)):
        monkeypatch.setattr(module, "ROOM", room)
        assert len(list(all_rivals(Suspect(theta, reference)))) == tried


def test_sequences_and_other_penalties_have_no_such_sum():
    sequences = wb.Chain([np.eye(3)[:2], np.eye(3)], [[0, 1], [2, 0, 1]])
    reference = reference_of(wb.solve(wb.SoftMargin(lam=0.1), sequences, gap=1e-6))
    assert not list(all_rivals(Suspect(np.ones(18), reference)))
    learned = reference_of(wb.solve(wb.NormalizedCostLearning(), data(), gap=1e-3))
    assert not list(all_rivals(Suspect(np.ones(learned.formulation.blocks(data()).dim), learned)))


def test_single_positions_with_weights_of_pairs_are_no_single_labels():
    """A chain whose sequences have one position each has weights of transitions besides."""
    problem = wb.Chain([np.eye(3)[[k]] for k in (0, 1, 2)], [[0], [1], [2]])
    reference = reference_of(wb.solve(wb.SoftMargin(lam=0.1), problem, gap=1e-6))
    suspect = Suspect(np.ones(18), reference)
    assert not list(all_rivals(suspect))
    assert not list(one_vs_rest(suspect))
