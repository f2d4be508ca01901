"""Entries of the detective's table against their formulas, and their constants on both sides of the boundary."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import workbench as wb
from workbench.judging.conventions import features, layouts, neighbours, standardised
from workbench.judging.conventions.losses import (
    all_positive,
    farthest,
    other_loss,
    rescaling,
    sizes,
    squares,
    unaugmented,
    units,
)
from workbench.judging.conventions.losses import likelihood as likelihoods
from workbench.judging.conventions.neighbours import Explanation, Fit, Neighbour, Suspect, data, viewed
from workbench.judging.conventions.padding import padding
from workbench.judging.reference import Reference
from workbench.objectives.variants import SmoothVariant, Variant

ZERO, LIGHT = 1e-6, 64.0  # written out, not imported


def suspected(problem, theta=None, form=None, best=None, history=()):
    form = form or wb.SoftMargin(0.5)
    dim = form.blocks(problem).dim
    theta = np.arange(1.0, dim + 1) if theta is None else np.asarray(theta, float)
    best = theta if best is None else np.asarray(best, float)
    return Suspect(theta, Reference(form, problem, best, 1.0, 0.0, 1.0), history)


def singles(X=None, weights=None, n=6, cost=None):
    X = np.random.default_rng(0).normal(size=(n, 2)) if X is None else np.asarray(X, float)
    return wb.Multiclass(X, np.arange(len(X)) % 3, weights=weights, **({} if cost is None else {"cost": cost}))


def chain(lengths=(3, 1, 2), p=2):
    rng = np.random.default_rng(0)
    return wb.Chain([rng.normal(size=(T, p)) for T in lengths], [np.arange(T) % 2 for T in lengths])


def linear(X=None):
    X = np.random.default_rng(0).normal(size=(6, 2)) if X is None else np.asarray(X, float)
    return wb.Linear(X, np.where(np.arange(len(X)) % 2, 1.0, -1.0))


COSTS = wb.SimplexCostLearning  # its weights have more than one block, so they are not plain


def by_name(found):
    return {each.name: each for each in found}


# ── layouts ───────────────────────────────────────────────────────────────────────────────────────


def test_the_nearest_order_is_the_one_of_least_distance():
    rows = np.random.default_rng(0).normal(size=(4, 3))
    order = np.array([2, 0, 3, 1])
    best = rows[order] + 0.01
    np.testing.assert_array_equal(layouts.nearest_order(rows, best), order)


def test_weights_in_other_layouts():
    """Three labels of two features: both ways to mix up rows and columns, and another order of labels."""
    theta = np.arange(1.0, 7.0)
    found = list(layouts.layouts(suspected(singles(), theta, best=[3.0, 4.0, 5.0, 6.0, 1.0, 2.0])))
    assert [each.name for each in found] == ["feature-major layout"] * 2 + ["labels permuted"]
    assert found[0].theta.tolist() == [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]
    assert found[1].theta.tolist() == [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]
    assert found[0].sentence == "lays its weights out feature by feature, not label by label"
    assert found[2].theta.tolist() == [3.0, 4.0, 5.0, 6.0, 1.0, 2.0]
    assert "[1, 2, 0]" in found[2].sentence
    assert {(each.objective, each.size) for each in found} == {("as asked for", 0.0)}
    assert "labels permuted" not in by_name(layouts.layouts(suspected(singles(), theta)))
    two = by_name(layouts.layouts(suspected(singles(), theta, best=[1.0, 2.0, 5.0, 6.0, 3.0, 4.0])))
    assert "[0, 2, 1]" in two["labels permuted"].sentence


def test_transitions_in_other_layouts():
    theta = np.arange(1.0, 9.0)  # two labels of two features, four pairs
    found = by_name(layouts.layouts(suspected(chain(), theta, best=[3.0, 4.0, 1.0, 2.0, 0, 0, 0, 0])))
    assert found["labels permuted"].theta.tolist() == [3.0, 4.0, 1.0, 2.0, 8.0, 7.0, 6.0, 5.0]
    assert found["transposed transitions"].theta.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 6.0, 8.0]
    assert found["feature-major layout"].theta.tolist() == [1.0, 3.0, 2.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    two = wb.Chain([np.ones((3, 1))], [np.array([0, 1, 0])], pairs=[np.ones((2, 2))])
    theta = np.arange(1.0, 3.0 + two.n_features - 2)  # each pair of labels has a weight for each feature
    pairs = theta[2:].reshape(2, 2, -1)
    found = by_name(layouts.layouts(suspected(two, theta, best=[2.0, 1.0, *np.zeros(len(theta) - 2)])))
    wanted = [[[pairs[b, a, j] for j in range(pairs.shape[2])] for b in (0, 1)] for a in (0, 1)]
    np.testing.assert_array_equal(found["transposed transitions"].theta[2:], np.ravel(wanted))
    theta = theta * np.append([2.0, 0.25], np.ones(len(theta) - 2))
    found = by_name(layouts.layouts(suspected(two, theta, best=[1.0, 2.0, *np.zeros(len(theta) - 2)])))
    np.testing.assert_array_equal(found["labels permuted"].theta[2:], pairs[::-1, ::-1].ravel())


def test_what_has_no_layouts():
    assert not list(layouts.layouts(suspected(linear())))
    problem = singles()
    assert not list(layouts.layouts(suspected(problem, form=COSTS())))


@pytest.mark.parametrize(("away", "said"), [(2e-9, True), (5e-10, False), (-2e-9, True)])
def test_weights_off_the_domain_are_projected(away, said):
    repair = SimpleNamespace(feasible=lambda theta: theta - away)
    form = SimpleNamespace(regularizer=lambda problem: repair)
    suspect = SimpleNamespace(
        form=form, problem=None, theta=np.zeros(2), same=lambda *told, **evidence: (told, evidence)
    )
    found = list(layouts.projection(suspect))
    assert bool(found) == said
    assert not said or found[0][1] == {"away": abs(away)}
    suspect.theta = np.ones(2)
    assert bool(list(layouts.projection(suspect))) == said
    repair.feasible = lambda theta: theta - 0.0
    assert not list(layouts.projection(suspect))
    suspect.theta = np.zeros(2)
    repair.feasible = lambda theta: theta - 1e-9  # no rounding is larger
    assert not list(layouts.projection(suspect))
    suspect.theta = np.zeros(0)
    assert not list(layouts.projection(suspect))


def averaged(history):
    theta = np.asarray(history[-1][1], float) if history else np.zeros(6)
    return by_name(layouts.averages(suspected(singles(), theta, history=history)))


def test_averages_of_what_was_reported():
    """(t x̄_t − s x̄_s)/(t − s) with s the last checkpoint up to t/2, and the mean of those from t/2 on."""
    one = np.eye(6)[0]
    history = [(1.0, 8 * one), (4.0, 6 * one), (5.0, 4 * one), (10.0, 2 * one)]
    found = averaged(history)
    assert found["last iterate"].theta[0] == pytest.approx(3.0)
    assert found["average from the start"].theta[0] == pytest.approx((10 * 2 - 5 * 4) / 5)
    found = averaged([(1.0, 8 * one), (4.0, 6 * one), (10.0, 2 * one)])
    assert "last iterate" not in found  # there is one alone
    assert found["average from the start"].theta[0] == pytest.approx((20 - 24) / 6)
    assert averaged([]) == averaged([(10.0, one)]) == {}
    found = averaged([(8.0, 4 * one), (10.0, 2 * one)])
    assert set(found) == {"last iterate"}
    found = averaged([(5.0, 4 * one), (10.0, 2 * one)])
    assert set(found) == {"last iterate", "average from the start"}
    assert set(averaged([(0.0, one), (0.0, one)])) == {"last iterate"}  # no passes at all


def test_classes_that_count_alike():
    """n/(k n_y) for k classes that occur."""
    X = np.zeros((5, 1))
    problem = wb.Multiclass(X, np.array([0, 0, 0, 1, 2]), weights=np.array([1.0, 2.0, 1.0, 1.0, 1.0]))
    np.testing.assert_allclose(layouts.balanced(problem.weights, problem), np.array([1, 2, 1, 3, 3]) * 5 / 9)
    rare = SimpleNamespace(labels=np.array([0, 0, 0, 2]), classes=np.arange(3), width=1, n_samples=4, **MORE)
    np.testing.assert_allclose(layouts.balanced(np.ones(4), rare), np.array([1, 1, 1, 3]) * 4 / 6)
    for sequences in (chain(), chain((2, 2, 1))):
        assert layouts.balanced(sequences.weights, sequences) is sequences.weights
    assert layouts.balanced(sequences.weights, sequences) is sequences.weights
    signs = linear()
    assert layouts.balanced(signs.weights, signs) is signs.weights


MORE = {"inputs": None, "places": lambda samples: None}  # what else makes a problem one of labels


# ── losses ────────────────────────────────────────────────────────────────────────────────────────


def test_losses_of_another_size_have_another_lambda_and_weights():
    found = by_name(sizes(suspected(singles(), form=wb.SoftMargin(0.25))))
    theta = np.arange(1.0, 7.0)
    wanted = {"loss twice": 2.0, "loss half": 0.5, "Gram matrix without λ": 4.0}
    assert set(found) == set(wanted)
    for name, c in wanted.items():
        assert found[name].formulation.lam == pytest.approx(0.25 * c)
        np.testing.assert_allclose(found[name].theta, theta / c)
    assert "Gram matrix without λ" not in by_name(sizes(suspected(singles(), form=wb.SoftMargin(1.0))))
    assert set(by_name(sizes(suspected(singles(), form=wb.SoftMargin(0.5))))) == {"loss twice", "loss half"}
    assert not list(sizes(suspected(singles(), form=wb.SoftMargin(0.25, rescaling="slack"))))
    assert not list(sizes(suspected(linear(), form=wb.WeightedRisk(0.25, "hinge"))))


@pytest.mark.parametrize(("scores", "active"), [(1.0, False), (0.99, True), (-3.0, True), (3.0, False)])
def test_a_larger_loss_where_all_terms_are_positive_is_one_of_many(scores, active):
    """h_i = 1 − ‖x_i‖² `scores` at θ/2, for margins of 1; with λ = 1/4 there are a loss twice, half, and four times."""
    problem = wb.Multiclass(np.eye(2), [0, 1])
    theta = scores * np.array([1.0, -1.0, -1.0, 1.0]) / 2
    for times, name in ((2.0, "loss twice"), (4.0, "Gram matrix without λ"), (0.5, "loss half")):
        suspect = suspected(problem, times * theta, wb.SoftMargin(0.25))
        told = by_name(sizes(suspect))[name].evidence
        assert told == ({"active": 1.0} if active and times > 1 else {})
    one = np.array([1.0, -1.0, -1.0, 0.5])  # of two terms one is positive
    assert not all_positive(suspect, 0.6 * one)
    assert all_positive(suspect, 0 * theta)
    assert not all_positive(suspected(problem, theta, wb.CRF(0.25)), 0 * theta)  # terms that are no maxima of cuts


def test_the_other_rescaling():
    (found,) = rescaling(suspected(singles(), form=wb.SoftMargin(0.25)))
    assert (found.name, found.formulation.rescaling) == ("slack rescaling", "slack")
    assert found.sentence == "rescales slacks by the loss, not margins"
    (found,) = rescaling(suspected(singles(), form=wb.SoftMargin(0.25, rescaling="slack")))
    assert (found.name, found.formulation.rescaling) == ("margin rescaling", "margin")
    assert not list(rescaling(suspected(singles(), form=wb.CRF(0.25))))


def test_a_likelihood_for_a_hinge_and_a_hinge_for_a_likelihood():
    (found,) = likelihoods(suspected(singles(), form=wb.SoftMargin(0.25)))
    assert (found.name, type(found.formulation), found.formulation.lam) == ("likelihood loss", wb.CRF, 0.25)
    assert found.sentence == "minimises the conditional likelihood, with the same λ"
    (found,) = likelihoods(suspected(singles(), form=wb.CRF(0.25)))
    assert (found.name, type(found.formulation), found.formulation.lam) == ("hinge loss", wb.SoftMargin, 0.25)
    assert found.sentence == "minimises the hinge, with the same λ"
    assert not list(likelihoods(suspected(linear(), form=wb.WeightedRisk(0.25, "hinge"))))


def test_how_far_weights_can_be_that_are_better_than_0():
    """λ/2 ‖w‖² ≤ Σ p_i (max ℓ_i)², doubled; or 1.4 times the largest weight, doubled."""
    cost = np.array([[0.0, 1.0, 3.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    weights = np.array([1.0, 1.0, 2.0, 0.0, 0.0, 0.0])
    suspect = suspected(singles(weights=weights, cost=cost), np.full(6, 1e-3), wb.SoftMargin(0.5))
    mean = (9.0 + 4.0 + 2 * 1.0) / 4
    assert farthest(suspect) == pytest.approx(2 * np.sqrt(2 * mean / 0.5))
    assert farthest(suspected(singles(), np.full(6, 1e-3), wb.SoftMargin(100.0))) == pytest.approx(2 * np.sqrt(0.02))
    theta = np.array([1.0, -50.0, 0, 0, 0, 0])
    assert farthest(suspected(singles(), theta)) == pytest.approx(2 * 1.4 * 50.0)


@pytest.mark.parametrize(("size", "far"), [(16 / 2.8, 16.0), (16.1 / 2.8, 32.0), (31.9 / 2.8, 32.0), (1e-9, 4.0)])
def test_squares_reach_to_a_power_of_two(size, far):
    (found,) = squares(suspected(singles(), size * np.ones(6)))
    assert (found.name, found.objective) == ("squared hinge", ("squares", far))
    assert not list(squares(suspected(singles(), form=wb.CRF(0.5))))


def test_losses_of_1_where_an_output_has_several_places():
    for problem in (chain(), chain((2, 2, 1))):
        assert [each.name for each in units(suspected(problem))] == ["unit loss"]
    assert not list(units(suspected(singles())))
    assert not list(units(suspected(chain(), form=wb.CRF(0.5))))


def test_without_losses_the_size_is_that_of_0():
    suspect = suspected(singles())
    (found,) = unaugmented(suspect)
    assert (found.name, found.size) == ("no loss augmentation", suspect.reference.bounds.scale)
    assert not list(unaugmented(suspected(singles(), form=wb.CRF(0.5))))


def test_the_other_length():
    assert [other_loss(name) for name in ("hamming", "hamming-normalised", "else")] == [
        "hamming-normalised",
        "hamming",
        "hamming",
    ]


# ── features ──────────────────────────────────────────────────────────────────────────────────────


def constant(p=2, value=1.0):
    return np.hstack([np.random.default_rng(0).normal(size=(6, p)), np.full((6, 1), value)])


def test_which_weights_are_intercepts():
    """Those of inputs that never vary and are not 0, of every label; pairs of labels are none."""
    assert suspected(singles(constant())).intercepts.tolist() == [False, False, True] * 3
    assert suspected(singles(constant(value=0.0))).intercepts.tolist() == [False] * 9
    assert suspected(singles(constant(value=-2.0))).intercepts.tolist() == [False, False, True] * 3
    assert suspected(linear(constant())).intercepts.tolist() == [False, False, True]
    rows = constant()
    sequences = wb.Chain([rows[:4], rows[4:]], [np.arange(4) % 2, np.arange(2)])
    assert suspected(sequences).intercepts.tolist() == [False, False, True] * 2 + [False] * 4
    other = SimpleNamespace(theta=np.ones(3), problem=object())
    assert Suspect.intercepts.func(other).tolist() == [False] * 3


def test_intercepts_and_transitions_that_cost_next_to_nothing():
    theta = np.arange(1.0, 10.0)
    (found,) = features.intercepts(suspected(singles(constant()), theta))
    scales = np.array([1.0, 1.0, LIGHT] * 3)
    np.testing.assert_allclose(found.theta, theta / scales)
    assert (found.name, found.objective) == ("intercept not penalised", ("features", scales.tobytes()))
    assert isinstance(found.formulation, Variant)
    assert not list(features.intercepts(suspected(singles())))
    assert not list(features.intercepts(suspected(singles(np.ones((6, 2))))))  # all are
    assert not list(features.intercepts(suspected(singles(constant()), form=COSTS())))
    (found,) = features.free_transitions(suspected(chain(), np.arange(1.0, 9.0), wb.CRF(0.5)))
    np.testing.assert_allclose(found.theta, np.arange(1.0, 9.0) / [1, 1, 1, 1, 512, 512, 512, 512])
    assert isinstance(found.formulation, SmoothVariant)
    assert not list(features.free_transitions(suspected(singles())))
    assert not list(features.free_transitions(suspected(linear())))


def test_a_feature_left_out_is_no_division_by_0():
    found = suspected(singles(), np.arange(1.0, 7.0)).seen("", "", np.array([1.0, 0.0, 2.0, 0.5, 1.0, 0.0]))
    assert found.theta.tolist() == [1.0, 0.0, 1.5, 8.0, 5.0, 0.0]


def test_an_intercept_of_its_own_widens_the_data():
    problem = singles()
    theta = np.arange(1.0, 7.0)
    found = by_name(features.own_intercepts(suspected(problem, theta)))
    for name, value in (("intercept added", 1.0), ("free intercept added", LIGHT)):
        wide = found[name]
        np.testing.assert_allclose(wide.problem.X.toarray(), np.hstack([problem.X.toarray(), np.full((6, 1), value)]))
        assert wide.hidden.tolist() == [False, False, True] * 3
        assert wide.theta.tolist() == [1.0, 2.0, 0.0, 3.0, 4.0, 0.0, 5.0, 6.0, 0.0]
    found = by_name(features.own_intercepts(suspected(linear(), [1.0, 2.0])))
    assert found["intercept added"].hidden.tolist() == [False, False, True]
    assert found["intercept added"].theta.tolist() == [1.0, 2.0, 0.0]
    found = by_name(features.own_intercepts(suspected(chain(), np.arange(1.0, 9.0))))
    assert found["intercept added"].hidden.tolist() == [False, False, True] * 2 + [False] * 4
    assert not list(features.own_intercepts(suspected(problem, form=COSTS())))


def test_weights_of_the_ends_of_sequences():
    """Columns of 1 at the first and at the last position, which is the same for a sequence of length 1."""
    problem = chain((3, 1, 2))
    (found,) = features.own_ends(suspected(problem, np.arange(1.0, 9.0)))
    more = found.problem.inputs.toarray()[:, 2:]
    assert more.tolist() == [[1, 0], [0, 0], [0, 1], [1, 1], [1, 0], [0, 1]]
    assert found.hidden.tolist() == [False, False, True, True] * 2 + [False] * 4
    assert not list(features.own_ends(suspected(singles())))
    assert not list(features.own_ends(suspected(linear())))


def test_subspaces_are_those_in_which_the_weights_lie():
    """Within ZERO of the largest weight; each subspace once, by the first of its descriptions.

    None that holds the reference's weights, too: it has the same optimum.
    """
    X = np.hstack([constant(), np.zeros((6, 1))])  # three features vary, are constant, or are never seen
    X[:, 0] = -np.abs(X[:, 0])
    problem = singles(X)
    theta, full = np.tile([1.0, 2.0, 0.0, 0.0], 3), np.ones(12)
    found = by_name(features.subspaces(suspected(problem, theta, best=full)))
    assert set(found) == {"no intercept", "unseen features", "zero weights"}
    assert found["unseen features"].sentence == "leaves out the 3 of 12 features that no true output has"
    assert found["zero weights"].sentence == ("keeps 6 of 12 weights at zero, and is optimal among such weights")
    for light, names in ((0.9, {"no intercept", "zero weights"}), (1.1, set(found))):
        best = np.tile([1.0, 1.0, 1.0, light * ZERO], 3)
        assert set(by_name(features.subspaces(suspected(problem, theta, best=best)))) == names
    theta = np.tile([0.0, 2.0, 1.0, 0.0], 3)
    kept = (np.asarray(problem.features(np.arange(6), problem.truth).sum(axis=0)).ravel() > 0) * 1.0
    theta = theta * kept + 0.0
    found = by_name(features.subspaces(suspected(problem, theta, best=full)))
    left = 12 - int(kept.sum())
    assert found["no positive count"].evidence == {"ways": math.comb(12, min(left, 12 - left, 3))}
    assert "zero weights" not in found or int(kept.sum()) != np.count_nonzero(theta)
    for light, said in ((0.9, True), (1.0, True), (1.1, False)):
        some = np.tile([3.0, -4.0, -light * 4.0 * ZERO, 0.0], 3)
        assert ("no intercept" in by_name(features.subspaces(suspected(problem, some, best=full)))) == said
    assert "zero weights" not in by_name(features.subspaces(suspected(problem, np.zeros(12), best=full)))
    assert not list(features.subspaces(suspected(problem, form=COSTS())))
    pairs = np.append(np.ones(4), np.zeros(4))
    found = by_name(features.subspaces(suspected(chain(), pairs, best=np.ones(8))))
    assert found["no transitions"].sentence == "takes positions for independent, its transitions are zero"
    assert "zero weights" not in found  # which are the same


@pytest.mark.parametrize(
    ("d", "k", "ways"), [(9, 1, 9), (9, 8, 9), (18, 3, 816), (20, 3, 1140), (20, 17, 1140), (20, 10, 1140), (5, 0, 1)]
)
def test_ways_to_leave_features_out_are_counted_up_to_three(d, k, ways):
    assert features.at_least(d, k) == ways


# ── standardised ──────────────────────────────────────────────────────────────────────────────────


def test_views_of_features():
    X = constant() * [2.0, 3.0, 1.0] + [1.0, 0.0, 0.0]
    found = dict(standardised.views(sparse.csr_array(X)))
    sigma = np.append(X[:, :2].std(axis=0), 1.0)
    np.testing.assert_allclose(standardised.deviations(sparse.csr_array(X)), sigma)
    np.testing.assert_array_equal(found[""], X)
    np.testing.assert_allclose(found["standardised features"], (X - X.mean(axis=0)) / sigma, atol=1e-12)
    np.testing.assert_allclose(found["scaled features"], X / sigma)
    np.testing.assert_allclose(found["normalised rows"], X / np.linalg.norm(X, axis=1)[:, None])
    zero = np.vstack([X, np.zeros(3)])
    assert dict(standardised.views(sparse.csr_array(zero)))["normalised rows"][-1].tolist() == [0.0, 0.0, 0.0]


def test_features_that_are_standardised_are_not_standardised_again():
    signs = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    assert list(dict(standardised.views(sparse.csr_array(signs)))) == [""]
    assert list(dict(standardised.views(sparse.csr_array(signs * [1.0, 1 + 1e-8])))) == [
        "",
        "standardised features",
        "scaled features",
    ]
    assert list(dict(standardised.views(sparse.csr_array(signs * [1.0, 1 + 1e-10])))) == [""]
    rows = np.array([[1.0], [1.0 + 1e-8]])
    assert "normalised rows" in dict(standardised.views(sparse.csr_array(rows)))
    rows = np.array([[1.0], [1.0 + 1e-10]])
    assert "normalised rows" not in dict(standardised.views(sparse.csr_array(rows)))
    rows = np.array([[1e6], [1e6 + 1e-4]])
    assert "normalised rows" not in dict(standardised.views(sparse.csr_array(rows)))


@pytest.mark.parametrize("size", [1.0, 1000.0, 1e-3])
@pytest.mark.parametrize(("spread", "varies"), [(2.1e-6, True), (1.9e-6, False)])
def test_a_column_varies_by_more_than_rounding(spread, varies, size):
    """Its variance is (spread/2)², of a mean square of 1."""
    X = sparse.csr_array(size * np.array([[1.0, 0.0], [1.0 + spread, 0.0]]))
    assert (standardised.deviations(X)[0] != 1.0) == varies
    assert standardised.deviations(X)[1] == 1.0


def test_rows_shorter_than_1_are_normalised_by_their_own_length():
    rows = 1e-3 * np.array([[1.0, 0.0], [0.0, 1.0 + 1e-8]])
    found = dict(standardised.views(sparse.csr_array(rows)))["normalised rows"]
    np.testing.assert_allclose(found, np.eye(2), rtol=1e-12)


def test_large_inputs_stay_sparse_and_uncentred(monkeypatch):
    X = constant()
    for room, dense in ((X.size, True), (X.size - 1, False)):
        monkeypatch.setattr(standardised, "ROOM", room)
        found = dict(standardised.views(sparse.csr_array(X)))
        assert ("standardised features" in found) == dense
        assert {sparse.issparse(each) for each in found.values()} == {not dense}
        np.testing.assert_allclose(
            sparse.csr_array(found["scaled features"]).toarray() * standardised.deviations(sparse.csr_array(X)), X
        )
    monkeypatch.undo()
    assert standardised.ROOM == 4_000_000


def test_the_same_objective_on_changed_features():
    problem, theta = singles(), np.arange(1.0, 7.0)
    found = list(standardised.changed_features(suspected(problem, theta)))
    assert [each.name for each in found] == [
        "standardised features",
        "standardised features, undone",
        "scaled features",
        "scaled features, undone",
        "normalised rows",
        "centred features",
        "features twice as large",
        "features half as large",
        "features divided by the largest value",
    ]
    sigma = standardised.deviations(problem.inputs)
    np.testing.assert_allclose(found[1].theta, (theta.reshape(3, 2) * sigma).ravel())
    np.testing.assert_array_equal(found[0].theta, theta)
    np.testing.assert_allclose(found[2].problem.X.toarray(), problem.X.toarray() / sigma)
    assert [each.objective for each in found] == [
        ("standardised features",),
        ("standardised features",),
        ("scaled features",),
        ("scaled features",),
        ("normalised rows",),
        *[(each.name,) for each in found[5:]],
    ]
    X = problem.X.toarray()
    for each, wanted in zip(found[5:], (X - X.mean(axis=0), 2 * X, X / 2, X / abs(X).max()), strict=True):
        np.testing.assert_allclose(each.problem.X.toarray(), wanted, atol=1e-15)
        np.testing.assert_array_equal(each.theta, theta)
    found = list(standardised.changed_features(suspected(chain(), np.arange(1.0, 9.0))))
    np.testing.assert_array_equal(found[1].theta[4:], [5.0, 6.0, 7.0, 8.0])
    assert not list(standardised.changed_features(suspected(linear())))
    assert not list(standardised.changed_features(suspected(problem, form=COSTS())))


# ── padding ───────────────────────────────────────────────────────────────────────────────────────


def test_sequences_are_filled_up_to_the_longest():
    problem = chain((3, 1, 2))
    (found,) = padding(suspected(problem))
    inputs, places = problem.inputs.toarray(), [0, 1, 2, 3, None, None, 4, 5, None]
    wanted = [np.zeros(2) if each is None else inputs[each] for each in places]
    np.testing.assert_array_equal(found.problem.inputs.toarray(), wanted)
    assert found.problem.labels.tolist() == [0 if each is None else problem.labels[each] for each in places]
    assert found.problem.lengths.tolist() == [3, 3, 3]
    assert not list(padding(suspected(chain((2, 2)))))
    assert list(padding(suspected(chain((20, *[1] * 18)))))  # 19 times 20 are ten times as many as 38
    assert not list(padding(suspected(chain((21, *[1] * 19)))))  # and 20 times 21 more than ten times 40
    assert not list(padding(suspected(singles())))


def test_features_of_pairs_of_positions_are_0_in_the_padding():
    rng = np.random.default_rng(0)
    X, labels = [rng.normal(size=(T, 2)) for T in (3, 2)], [np.arange(T) % 2 for T in (3, 2)]
    pairs = [rng.normal(size=(T - 1, 1)) for T in (3, 2)]
    problem = wb.Chain(X, labels, pairs=pairs)
    (found,) = padding(suspected(problem))
    wanted = np.concatenate([pairs[0], pairs[1], np.zeros((1, 1))])
    np.testing.assert_array_equal(found.problem.arrays()["pairs"], wanted)


# ── the nouns ─────────────────────────────────────────────────────────────────────────────────────


def test_a_suspect_counts_samples_that_have_a_weight():
    suspect = suspected(singles(weights=np.array([1.0, 2.0, 0.0, 1.0, 1.0, 1.0])), [3.0, 4.0, 0, 0, 0, 0])
    assert (suspect.n, suspect.length, suspect.edges) == (5, 5.0, 6)
    assert suspected(singles()).plain
    assert not suspected(singles(), form=COSTS()).plain


def test_data_are_changed_where_that_changes_anything():
    entry = data("name", "says", "weights", lambda weights, problem: np.ones_like(weights))
    (found,) = entry(suspected(singles(weights=np.arange(1.0, 7.0))))
    assert (found.name, found.sentence, found.problem.weights.tolist()) == ("name", "says", [1.0] * 6)
    assert not list(entry(suspected(singles())))
    assert not list(data("", "", "nothing", lambda *given: 1)(suspected(singles())))


def test_another_view_is_one_of_cuts_with_one_block():
    entry = viewed("name", "says", lambda inner: inner, absolute=True)
    (found,) = entry(suspected(singles()))
    assert (found.name, found.sentence, found.formulation.absolute) == ("name", "says", True)
    assert not list(entry(suspected(singles(), form=wb.CRF(0.5))))
    assert not list(entry(suspected(singles(), form=COSTS())))


def test_what_is_not_said_of_a_neighbour():
    assert Explanation("", "").confident is False
    assert (Fit(None, 1.0, 1.0).distance, Fit(None, 1.0, 1.0).apart) == (np.inf, 0.0)
    assert (Neighbour("", "", None, None, None).size, len(Neighbour("", "", None, None, None).hidden)) == (0.0, 0)


def test_the_numbers_of_the_table():
    assert (neighbours.SHARE, neighbours.ALONG, neighbours.UNNAMED) == (30.0, (0.7, 1.4), "λ")
    assert features.LIGHTER == 512.0
    assert (features.ZERO, features.LIGHT, standardised.SMALL, standardised.VARIES) == (ZERO, LIGHT, 1e-12, 1e-9)


@pytest.mark.parametrize(
    ("X", "names"),
    [
        ([[1.0, -1.0], [-1.0, 1.0]], ["twice as large", "half as large"]),  # centred, the largest 1
        ([[2.0], [-2.0]], ["twice as large", "half as large"]),  # divided by the largest is half as large
        ([[4.0], [-4.0]], ["twice as large", "half as large", "divided by the largest value"]),
        ([[0.0], [0.0]], ["twice as large", "half as large"]),
        ([[1.0], [1.0 - 1e-8]], ["centred", "twice as large", "half as large"]),
        ([[1e-9], [1.0], [-1.0]], ["twice as large", "half as large"]),
    ],
)
def test_units_that_change_nothing_are_no_change(X, names):
    found = [name.removeprefix("features ").removesuffix(" features") for name, _ in standardised.units(np.array(X))]
    assert found == names


def test_large_inputs_are_not_centred(monkeypatch):
    for room, count in ((5, 3), (6, 4)):
        monkeypatch.setattr(standardised, "ROOM", room)
        assert len(list(standardised.units(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])))) == count
