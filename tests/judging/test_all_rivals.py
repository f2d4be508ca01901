"""The hinges of all wrong labels: optima that CVXPY finds, and slopes by differences."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest

import workbench as wb
from workbench.judging.conventions import all_rivals as module
from workbench.judging.conventions.all_rivals import Kinks, Point, Rivals, all_rivals, fit
from workbench.judging.conventions.detective import explain
from workbench.judging.conventions.neighbours import SHARE, Suspect
from workbench.judging.conventions.one_vs_rest import one_vs_rest
from workbench.judging.reference import Reference, reference_of

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
        (1.7, "where the highest one counts, with λ 1.7 times as large (a guess)"),
    ],
)
def test_the_sum_of_all_hinges_is_named(times, told):
    """With confidence, but for a multiple of λ that has no reason."""
    found = explain(optimum(data(4), times * LAM), solution(4))
    assert (found.name, found.confident) == ("all rivals", times != 1.7)
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


# ── optima that are known exactly ─────────────────────────────────────────────────────────────────


def four(theta, lam):
    """Four inputs e_i with the labels 0, 1, 2, 2 of three."""
    problem = wb.Multiclass(np.eye(4), [0, 1, 2, 2])
    return Suspect(np.ravel(theta), Reference(wb.SoftMargin(lam), problem, np.ravel(theta), 1.0, 0.0, 1.0))


PULL = -np.array([[-2, 1, 1, 1], [1, -2, 1, 1], [1, 1, -2, -2]]) / 4  # −G where all hinges are above 0: ‖G‖² = 1.5


@pytest.mark.parametrize("mu", [2.0, 8.0, 64.0])
@pytest.mark.parametrize(("off", "named"), [(0.0, True), (0.005, True), (0.006, False)])
def test_a_multiple_of_lambda_that_is_meant_lies_within_the_tolerance(mu, off, named):
    """W = −G/μ is the optimum at μ; at λ = μ/(1 + δ) it costs about δ²μ/2 ‖W‖², of a size of SHARE times μ/2 ‖W‖²."""
    (found,) = all_rivals(four(PULL / mu, mu / (1 + off)))
    assert found.neighbour.sentence == module.SAID + ("" if named else ", with λ 1.01 times as large")
    assert found.most == pytest.approx(off**2 / SHARE if named else 0.0, rel=0.02, abs=1e-15)
    assert found.least == pytest.approx(off**2 / SHARE if named else 0.0, rel=0.02, abs=1e-15)
    assert found.distance == pytest.approx(off * np.sqrt(1.5) / mu if named else 0.0, rel=0.02, abs=1e-15)
    evidence = {"lam": mu / (1 + off)} if named else {"lam": mu, "several": 2.0}
    assert found.neighbour.evidence == pytest.approx(evidence)


def test_without_any_tolerance_an_exact_optimum_is_that_of_its_lambda(monkeypatch):
    monkeypatch.setattr(module, "SETTLED", 0.0)
    (found,) = all_rivals(four(PULL / 8, 8.0))
    assert (found.neighbour.sentence, found.most) == (module.SAID, 0.0)


def test_weights_that_no_multiple_fits_are_left_out():
    """Up the slope of the hinges, or where no hinge is left."""
    assert list(all_rivals(four(0.25 * PULL, 1.0)))
    assert not list(all_rivals(four(-2.0 * PULL, 1.0)))  # μ = −1/2
    assert not list(all_rivals(four(8.0 * PULL, 1.0)))  # μ = 0


@pytest.mark.parametrize("height", [-0.25, 0.25, 0.125])
def test_a_hinge_at_the_end_of_the_kink_has_a_share(height, monkeypatch):
    """Heights of 0.25 and less lie on the kink, all other ones here are 1."""
    seen = []
    monkeypatch.setattr(module, "ON", 0.25)
    monkeypatch.setattr(module, "Kinks", lambda *given: seen.append(Kinks(*given)) or seen[-1])
    W = np.zeros((3, 4))
    W[1, 0] = height - 1
    list(all_rivals(four(W, 1.0)))
    (near,) = seen
    assert (near.over.tolist(), near.prices.tolist()) == ([height], [0.25])
    missing = np.zeros((3, 4))
    missing[:2, 0] = -0.25, 0.25
    np.testing.assert_array_equal(near.columns, missing.reshape(12, 1))
    np.testing.assert_array_equal(near.fixed, -PULL - missing)


def test_shares_lie_between_0_and_1():
    """Of the slope that comes nearest to −μW; the bound adds what a share misses of its hinge."""
    W = np.array([[1.0, 0.0]])
    near = Kinks(W, np.array([[-1.0, 1.0]]), np.array([[-2.0], [0.0]]), np.array([0.01]), np.array([0.5]))
    for mu, share in ((0.5, 0.0), (2.0, 0.5), (4.0, 1.0)):
        point = near.at(mu)
        np.testing.assert_allclose(point.G, [[-1.0 - 2 * share, 1.0]], atol=1e-9)
        rest = (mu - 1 - 2 * share) ** 2 + 1
        assert point.most == pytest.approx(rest / (2 * mu) + 0.5 * 0.01 * (1 - share))
        assert (point.mu, point.size) == (mu, SHARE * mu / 2)
    below = near._replace(over=np.array([-0.01])).at(4.0)
    assert below.most == pytest.approx(2.0 / 8 + 0.5 * 0.01)
    assert near.at(0.0).most == near.at(-0.5).most == np.inf
    alone = Kinks(3 * W, -W, np.zeros((2, 0)), np.zeros(0), np.zeros(0)).at(0.5)
    assert (alone.most, alone.size) == (0.25, SHARE * 9 / 4)  # ‖0.5 · 3 − 1‖² = 0.25, over 2μ = 1


def turns(follow, first, over=0.01, column=0.0):
    """The μ that are asked about, and the one returned, where G at μ is −`follow`(μ) W, and −`first` W before."""
    asked, W = [], np.ones((1, 2))

    def at(mu):
        asked.append(mu)
        return Point(mu, -follow(mu) * W, 0.0, 1.0)

    near = SimpleNamespace(W=W, fixed=-first * W, columns=np.full((2, 1), -column), over=np.array([over]), at=at)
    return asked, Kinks.fitting(near).mu


def test_the_multiple_and_the_shares_are_found_in_turns():
    """Until the multiple changes by 1e-6 of itself, 10 times at most."""
    asked, mu = turns(lambda mu: 0.4 + mu / 2, 0.1)
    assert asked[:3] == pytest.approx([0.1, 0.45, 0.625])
    assert (len(asked), mu) == (11, asked[-1])
    for unit in (1e-3, 1.0, 1e3):
        asked, mu = turns(lambda mu, unit=unit: 0.4 * unit + 1e-3 * mu, 0.1 * unit)
        assert asked == pytest.approx([0.1 * unit, 0.4001 * unit, 0.4004001 * unit], rel=1e-9)
        assert mu == asked[-1]  # the next one is 3e-7 higher
    asked, mu = turns(lambda mu: 0.4 + 1e-3 * mu, 10.0)
    assert asked == pytest.approx([10.0, 0.41, 0.40041, 0.40040041])  # from above


def test_a_change_of_exactly_the_tolerance_ends_the_turns(monkeypatch):
    monkeypatch.setattr(module, "SETTLED", 0.5)
    assert turns(lambda mu: mu + 1, 1.0) == ([1.0], 1.0)


def test_turns_end_where_no_multiple_fits():
    for first in (0.0, -0.25):
        assert turns(lambda mu: 1.0, first) == ([first], first)
        assert turns(lambda mu, first=first: first, 1.0) == ([1.0, first], first)


@pytest.mark.parametrize(("over", "start"), [(0.01, 3.0), (0.0, 1.0), (-0.01, 1.0)])
def test_turns_begin_with_the_hinges_above_0(over, start):
    asked, _ = turns(lambda mu: 1.0, 1.0, over, 2.0)
    assert asked[0] == start


@pytest.mark.parametrize("mu", [0.5, 2.0])
def test_the_excess_the_distance_and_a_better_point(mu):
    """Of the size; the least value along −ρ, at steps of 2^−12/μ to 4/μ."""
    W, seen = np.array([[3.0, -4.0]]), []
    point, suspect = Point(mu, np.array([[0.5, 0.5]]) - mu * W, 0.75, 100.0), four(np.ones(12), 1.0)
    told = SimpleNamespace(heights=lambda V: seen.append(V) or V, risk=lambda V: 2.0 * float(V[0, 0]))
    found = fit(told, W, point, "its words", suspect)
    assert (found.most, found.distance) == pytest.approx((0.0075, np.sqrt(1.5 / mu)))
    np.testing.assert_allclose(seen, [W, *(W - 0.5 * 2.0**k / mu for k in range(-12, 3))])
    values = [mu / 2 * float((each * each).sum()) + 2.0 * each[0, 0] for each in seen]
    assert found.least == pytest.approx((values[0] - min(values)) / 100.0)
    assert (found.neighbour.sentence, found.neighbour.evidence) == ("its words", {"lam": mu})
    level = SimpleNamespace(heights=lambda V: V, risk=lambda V: 1e3 * float(((V - W) ** 2).sum()))
    assert fit(level, W, point, "", suspect).least == 0.0
