"""Whom active learning asks, and what a scoring filter tree loses: the benchmarks' own measures, by other means."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.integrate import solve_ivp

from workbench.dyads.dyadic import Dyadic, least_importances
from workbench.dyads.pairs import Dyads, simulated, simulated_chances
from workbench.registries import registry

active = registry("benchmark").modules["active-dyads"]
tree = registry("benchmark").modules["tree-regret"]


def test_the_random_rater_is_rewarded():
    """The source's remark: asking where h_min is least gives raters who answer at random more than their share."""
    found = active.active_dyads(classes=4, seeds=6, rounds=6, budget=1200, passes=10)
    assert found["reward_h_min"] > 1 + 3 * found["deviation"]
    assert abs(found["reward_random"] - 1) < 0.1


def test_the_least_importance_turns_a_prediction_of_several_classes():
    """The differential equation of the node of predicted label u and label c, integrated in all its parameters.

    θ′ = −∇q(θ), q = p_u − p_c, for h_min·(1 ∓ 10⁻³): until then no label c turns the prediction, then one has.
    """
    dyads = simulated(30, 4, 10, classes=3, seed=1)
    factors = Dyadic(2, step=0.2, seed=0).fit(dyads, 8).factors
    least, scores = least_importances(dyads, factors), dyads.scores(factors)
    assert (least > 0).all()
    for i in np.argsort(least)[[0, 5, 30, -1]]:
        u = int(scores[i].argmax())
        for share, turns in ((0.999, False), (1.001, True)):
            ends = [difference_after(share * least[i], dyads, factors, i, u, c) for c in range(3) if c != u]
            assert (min(ends) < 0) == turns


def difference_after(importance, dyads, factors, i, u, c):
    """p_u − p_c of pair i after its flow towards label c."""
    left, right, x = (part[[i]].toarray()[0] for part in (dyads.left, dyads.right, dyads.linear))
    start = [[factors.A[:, label], factors.B[:, label], factors.W[:, label]] for label in (u, c)]
    shapes = [part.shape for label in start for part in label]
    cuts = np.cumsum([np.prod(shape) for shape in shapes])[:-1]

    def parts(flat):
        return [each.reshape(shape) for each, shape in zip(np.split(flat, cuts), shapes, strict=True)]

    def gradient(A, B, W):
        return np.outer(left, right @ B + 1), np.outer(right, left @ A + 1), x

    def falls(_, flat):
        all_parts = parts(flat)
        slopes = [-each for each in gradient(*all_parts[:3])] + list(gradient(*all_parts[3:]))
        return np.concatenate([each.ravel() for each in slopes])

    flat = np.concatenate([part.ravel() for label in start for part in label])
    end = parts(solve_ivp(falls, (0, importance), flat, rtol=1e-10, atol=1e-12).y[:, -1])
    score = [((left @ A + 1) @ (right @ B + 1)) - A.shape[1] + x @ W for A, B, W in (end[:3], end[3:])]
    return score[0] - score[1]


def test_two_named_classes_have_one_score_and_its_h_min():
    dyads = simulated(30, 4, 10, classes=2, seed=1)
    learner = Dyadic(1, step=0.2, seed=0).fit(dyads, 8)
    least, p = learner.least_importances(dyads), dyads.scores(learner.factors)[:, 0]
    i = int(np.argmin(least))
    for share, turns in ((0.999, False), (1.001, True)):
        one = Dyads(["u"], ["t"], [0], classes=[0, 1]).take([0])
        a, b = learner.factors.A[dyads.left[[i]].indices[0], 0], learner.factors.B[dyads.right[[i]].indices[0], 0]
        ours = Dyadic(1, step=1.0, power=0.0, seed=0)
        state = ours.start(one)
        state.latent[:2] = np.stack([a, b])
        weights = dyads.linear[[i]] @ learner.factors.W
        state.weights[:] = weights[0, 0] / 3
        one.labels[:], one.importance[:] = int(p[i] < 0), share * least[i]
        from workbench.dyads.dyadic import pairs_of

        visit, *helpers = ours.prepared(pairs_of(one), state)
        visit(*helpers, pairs_of(one), np.array([0]), state)
        after = one.scores(ours.settled(state, one))[0, 0]
        assert (np.sign(after) != np.sign(p[i])) == turns


def test_no_tournament_loses_more_than_its_nodes():
    rng = np.random.default_rng(0)
    for classes in range(2, 10):
        chances, scores = rng.dirichlet(np.ones(classes), 200), rng.normal(size=(200, classes))
        whole, nodes = tree.regrets(chances, scores)
        assert (whole <= nodes + 1e-12).all()
        np.testing.assert_allclose(whole, chances.max(axis=1) - chances[np.arange(200), scores.argmax(axis=1)])
        assert (tree.regrets(chances, chances)[1] == 0).all()
    assert any(
        tree.regrets(np.array([p]), np.array([s], float))[0][0] > 0
        for p, s in itertools.product([(0.5, 0.3, 0.2)], itertools.permutations(range(3)))
    )


def test_the_chances_are_those_of_the_labels():
    dyads, chances = simulated_chances(3000, 4, 50, classes=3, seed=2)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    hits = chances[np.arange(dyads.n_samples), dyads.labels]
    expected = (chances**2).sum(axis=1)
    assert abs(hits.mean() - expected.mean()) < 4 * np.std(hits) / dyads.n_samples**0.5
    assert (simulated(3000, 4, 50, classes=3, seed=2).labels == dyads.labels).all()
