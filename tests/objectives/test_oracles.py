"""Oracles: every cut is the one of its definition, and their own errors are the formulas that bound them."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import workbench as wb
from workbench.arithmetic.rationals import Entries, Ratios, ratios
from workbench.errors import MissingCapability
from workbench.objectives.oracles import (
    Decoding,
    ExactSlack,
    ExactUnit,
    HiddenMargin,
    MarginRescaling,
    SlackRescaling,
    UnitMargin,
    called_kernel,
    exact_loss,
    hides,
)

U = Fraction(1, 2**53)


class Numbers:
    """A problem of which only the sizes are known."""

    oracle_kind, n_samples, n_features, width, least_loss, free_outputs = "exact", 3, 4, 3, 0.5, False
    terms = 5
    magnitude, max_loss = np.array([1.0, 2.5, 7.0]), np.array([0.5, 1.0, 3.0])

    def __init__(self, exact_features: bool = False, exact_loss: bool = False):
        self.exact_features, self.exact_loss = exact_features, exact_loss

    def slack_argmax(self, theta: Any, samples: Any) -> Any: ...

    def runner_up(self, theta: Any, samples: Any) -> Any: ...


class Bounded(Numbers):
    feature_error = np.array([1e-9, 2e-9, 0.0])


class Lossy(Numbers):
    def missed(self, theta: Any) -> Any:
        return np.array([0.25, 0.0, 0.5])


def gamma(k: int) -> Fraction:
    return k * U / (1 - k * U)


def alike(found: Any, wanted: list[Fraction]) -> None:
    """At least what is wanted, and no more than a few units in the last place above."""
    for ours, theirs in zip(np.asarray(found, float).tolist(), wanted, strict=True):
        assert theirs * (1 - Fraction(1, 10**14)) <= Fraction(ours) <= theirs * (1 + Fraction(1, 10**12))


SAMPLES = np.array([2, 0])
M, L = [Fraction(7), Fraction(1)], [Fraction(3), Fraction(1, 2)]


def test_errors_of_slopes_are_those_of_two_sums_of_terms():
    for problem, k in ((Numbers(), 5), (Numbers(exact_features=True), 0)):
        alike(MarginRescaling(problem).slope_error(SAMPLES), [gamma(k) * 2 * m for m in M])
    assert MarginRescaling(Bounded()).slope_error(SAMPLES).tolist() == [0.0, 1e-9]


def test_errors_of_slack_rescaled_slopes_hold_the_product_with_the_loss():
    for problem, k in ((Numbers(), 11), (Numbers(True), 11), (Numbers(False, True), 11), (Numbers(True, True), 1)):
        sizes = [2 * m * most for m, most in zip(M, L, strict=True)]
        alike(SlackRescaling(problem).slope_error(SAMPLES), [gamma(k) * each for each in sizes])
    errors = [Fraction(0), Fraction(1e-9)]
    sums = [e * most + gamma(4) * 2 * m * most for e, m, most in zip(errors, M, L, strict=True)]
    alike(SlackRescaling(Bounded()).slope_error(SAMPLES), sums)


def test_errors_of_offsets():
    for oracle in (MarginRescaling, SlackRescaling):
        alike(oracle(Numbers()).offset_error(SAMPLES), [gamma(5) * each for each in L])
        assert oracle(Numbers(exact_loss=True)).offset_error(SAMPLES).tolist() == [0.0, 0.0]
    for oracle in (UnitMargin, Decoding):
        assert oracle(Numbers()).offset_error(SAMPLES).tolist() == [0.0, 0.0]


def test_what_an_argmax_may_miss_by_rounding():
    theta = np.array([0.5, -2.0, 1.0, 0.0])
    sizes, losses = [Fraction(1), Fraction(5, 2), Fraction(7)], [Fraction(1, 2), Fraction(1), Fraction(3)]
    margin = [2 * gamma(18) * (2 * m + most) for m, most in zip(sizes, losses, strict=True)]
    alike(MarginRescaling(Numbers()).rounding(theta), margin)
    alike(MarginRescaling(Numbers()).rounding(np.zeros(0)), [2 * gamma(18) * each for each in losses])
    more = [Fraction(1, 4), Fraction(0), Fraction(1, 2)]
    alike(MarginRescaling(Lossy()).rounding(theta), [a + b for a, b in zip(margin, more, strict=True)])
    alike(
        SlackRescaling(Numbers()).rounding(theta),
        [a * 2 * max(1, most) for a, most in zip(margin, losses, strict=True)],
    )
    alike(UnitMargin(Numbers()).rounding(theta), [4 * gamma(18) * (2 * m + 1) for m in sizes])
    alike(UnitMargin(Numbers()).rounding(np.zeros(0)), [4 * gamma(18)] * 3)


def test_nested_scores_meet_fewer_roundings_but_not_those_of_products_with_losses():
    nested = Numbers()
    nested.depth = np.array([3, 4, 5])
    sizes = [(Fraction(1), Fraction(1, 2)), (Fraction(5, 2), Fraction(1)), (Fraction(7), Fraction(3))]
    theta, depths = np.array([1.0, -1.0]), nested.depth.tolist()
    alike(MarginRescaling(nested).rounding(theta), [2 * gamma(k) * sum(s) for k, s in zip(depths, sizes, strict=True)])
    alike(SlackRescaling(nested).rounding(theta), [4 * gamma(18) * sum(s) * max(1, s[1]) for s in sizes])


def test_how_far_a_slope_reaches():
    assert MarginRescaling(Numbers()).reach(SAMPLES).tolist() == [14.0, 2.0]
    assert SlackRescaling(Numbers()).reach(SAMPLES).tolist() == [42.0, 1.0]


def test_the_sizes_are_the_problems():
    problem = Numbers()
    oracle = MarginRescaling(problem)
    told = oracle.kind, oracle.n_samples, oracle.dim, oracle.width, oracle.least_loss, oracle.free_outputs
    assert told == ("exact", 3, 4, 3, 0.5, False)
    assert HiddenMargin(problem).width == 6
    assert (UnitMargin(problem).least_loss, UnitMargin(problem).free_outputs) == (1.0, False)
    assert exact_loss(Numbers(exact_loss=True))
    assert not exact_loss(problem)
    assert not hides(problem)
    assert not exact_loss(SimpleNamespace())


def test_an_argmax_on_a_cone_is_refused_elsewhere():
    signed = wb.Graph([np.ones((2, 1))], [np.array([[0, 1]])], [[0, 1]])
    for oracle in (MarginRescaling, UnitMargin):
        with pytest.raises(MissingCapability, match="Weights of any sign are learned here, but Graph"):
            oracle(signed)
        assert oracle(signed, cone=True).cone


# ── cuts ──────────────────────────────────────────────────────────────────────────────────────────


def three() -> Any:
    cost = np.array([[0.0, 1, 3], [2, 0, 1], [0, 2, 0]])
    X = np.array([[1.0, 0.5], [-1.0, 2.0], [0.25, 1.0], [2.0, -1.0], [0.0, 1.0]])
    return wb.Multiclass(X, ["a", "b", "c", "a", "c"], cost)


def every(problem: Any) -> Any:
    n = problem.n_samples
    return np.repeat(np.arange(n), 3), np.tile(np.arange(3), n)[:, None]


def psi(problem: Any, samples: Any, outputs: Any) -> Any:
    wanted = problem.features(samples, outputs) - problem.features(samples, problem.truth[samples])
    return wanted.toarray()


@pytest.mark.parametrize("share", [0, 1, 2, 3, 5, 8])
def test_rows_are_differences_of_features_however_many_are_wrong(share):
    """Few wrong witnesses take another way than many; a batch of truths alone a third."""
    problem = three()
    samples, outputs = every(problem)
    right = np.flatnonzero((outputs == problem.truth[samples]).all(axis=1))
    wrong = np.setdiff1d(np.arange(len(samples)), right)
    batch = np.sort(np.concatenate([right, wrong[:share]]))
    for oracle, factor, offset in (
        (MarginRescaling(problem), None, None),
        (SlackRescaling(problem), "loss", None),
        (UnitMargin(problem), None, "one"),
        (Decoding(problem), None, "none"),
    ):
        slopes, offsets = oracle.rows(samples[batch], outputs[batch])
        loss = problem.loss(samples[batch], outputs[batch])
        wanted = psi(problem, samples[batch], outputs[batch]) * (loss[:, None] if factor else 1)
        assert isinstance(slopes, sparse.csr_array)
        assert slopes.toarray().tolist() == wanted.tolist()
        other = (outputs[batch] != problem.truth[samples[batch]]).any(axis=1)
        assert offsets.tolist() == {None: loss, "one": other * 1.0, "none": loss * 0}[offset].tolist()


@pytest.mark.parametrize("seed", range(12))
def test_the_highest_cut_is_that_of_all_outputs(seed):
    rng, problem = np.random.default_rng(seed), three()
    theta, everyone = rng.normal(size=6), np.arange(5)
    samples, outputs = every(problem)
    for oracle in (MarginRescaling(problem), SlackRescaling(problem), UnitMargin(problem), Decoding(problem)):
        slopes, offsets = oracle.rows(samples, outputs)
        best = (slopes @ theta + offsets).reshape(5, 3).max(axis=1)
        slopes, offsets = oracle.rows(everyone, oracle.argmax(theta, everyone))
        assert slopes @ theta + offsets == pytest.approx(best)
        if not isinstance(oracle, Decoding):
            exact = oracle.exact()
            assert exact is not None
            found = exact.highest(ratios(theta), everyone).fractions()
            assert found.astype(float) == pytest.approx(best)
            entries, heights = exact.rows(samples, outputs)
            dense = entries.matrix((15, 6)).astype(float) / entries.unit
            told, at = oracle.rows(samples, outputs)
            assert dense.tolist() == told.toarray().tolist()
            assert heights.fractions().astype(float).tolist() == at.tolist()
            assert exact.least_loss == Fraction(oracle.least_loss)
            free = exact.free(ratios(theta), everyone).fractions().astype(float)
            losses, gains = problem.loss(samples, outputs), psi(problem, samples, outputs) @ theta
            wanted = np.where(losses.reshape(5, 3) == 0, gains.reshape(5, 3), 0).max(axis=1)
            assert free == pytest.approx(wanted * (not isinstance(oracle, UnitMargin)))
    assert Decoding(problem).exact() is None


def test_a_runner_up_at_a_distance_of_one_is_the_truth():
    """At ⟨w, ψ⟩ = 1 both cuts are worth 0."""
    problem = wb.Multiclass([[1.0]], ["a"], classes=["a", "b"])
    for own, chosen in ((1.0, 0), (0.999, 1), (1.5, 0), (-1.0, 1)):
        assert UnitMargin(problem).argmax(np.array([own, 0.0]), np.array([0])).tolist() == [[chosen]]


def test_what_a_structure_lacks_is_said():
    bare = SimpleNamespace(oracle_kind="exact", n_features=4)
    with pytest.raises(MissingCapability, match="slack rescaling needs slack_argmax and SimpleNamespace has none"):
        SlackRescaling(bare)
    with pytest.raises(MissingCapability, match=r"unit margins need .* SimpleNamespace has no runner_up"):
        UnitMargin(bare)
    for oracle in (MarginRescaling(bare), Decoding(bare), HiddenMargin(bare)):
        assert oracle.listing() is None
        assert oracle.exact() is None
        assert oracle.kernel().data == ()
    assert SlackRescaling(Numbers()).listing() is None
    assert UnitMargin(Numbers()).listing() is None
    assert SlackRescaling(Numbers()).exact() is UnitMargin(Numbers()).exact() is None


def test_listings_hold_every_cut():
    problem = three()
    samples, outputs = every(problem)
    for oracle in (MarginRescaling(problem), SlackRescaling(problem), UnitMargin(problem)):
        listing = oracle.listing()
        slopes, offsets = oracle.rows(samples, outputs)
        labels = listing.kind[samples]
        assert listing.offset[labels, outputs[:, 0]].tolist() == offsets.tolist()
        factors = listing.scale[labels, outputs[:, 0]]
        unit = psi(problem, samples, outputs)
        at = np.arange(len(listing.truth))
        assert not listing.scale[at, listing.truth].any()
        assert (factors[:, None] * unit).tolist() == slopes.toarray().tolist()


def test_a_called_kernel_is_its_oracle():
    problem = three()
    for oracle in (SlackRescaling(problem), UnitMargin(problem)):
        theta, kernel, out = np.array([0.5, 1.0, -1.0, 0.25, 0.75, 0.0]), called_kernel(oracle), np.zeros(1, int)
        for i in range(5):
            value = kernel.argmax_into(kernel.data, theta, i, out)
            one = np.array([i])
            assert out.tolist() == oracle.argmax(theta, one)[0].tolist()
            slopes, offsets = oracle.rows(one, out[None, :])
            assert value == pytest.approx((slopes @ theta + offsets)[0])
            moved, indices, values = theta.copy(), np.zeros(6, int), np.zeros(6)
            kernel.add_slope(kernel.data, i, out, -0.5, moved)
            assert moved == pytest.approx(theta - 0.5 * slopes.toarray()[0])
            count = kernel.slope_into(kernel.data, i, out, indices, values)
            dense = np.zeros(6)
            np.add.at(dense, indices[:count], values[:count])
            assert dense.tolist() == slopes.toarray()[0].tolist()


def test_an_output_of_which_a_part_is_right_is_another_output():
    problem = wb.Chain([np.eye(2), np.ones((1, 2))], [["a", "b"], ["b"]], "hamming")
    samples, outputs = np.array([0, 0, 0, 0, 1, 1]), np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0, -1], [1, -1]])
    for oracle in (MarginRescaling(problem), UnitMargin(problem)):
        for batch in (np.arange(6), np.array([0, 1, 5])):  # most are wrong, and few
            slopes, offsets = oracle.rows(samples[batch], outputs[batch])
            assert slopes.toarray().tolist() == psi(problem, samples[batch], outputs[batch]).tolist()
            unit = isinstance(oracle, UnitMargin)
            assert offsets.tolist() == np.array([1, 0, 1 if unit else 2, 1, 1, 0])[batch].tolist()
            told = oracle.exact().rows(samples[batch], outputs[batch])[1].fractions()
            assert told.tolist() == offsets.tolist()


def test_a_kernel_is_of_weights_in_another_order_only_where_that_is_asked_for():
    class Known(Numbers):
        def kernel(self, augment: bool = True) -> Any:
            return "plain", augment

        def slack_kernel(self) -> Any:
            return "slack"

    class Ordered(Known):
        def arranged(self, augment: bool = True, slack: bool = False) -> Any:
            return "arranged", slack

        def rival_kernel(self, arranged: bool = False) -> Any:
            return "rival", arranged

    known, ordered = Known(), Ordered()
    assert MarginRescaling(ordered).kernel() == MarginRescaling(known).kernel(arranged=True) == ("plain", True)
    assert SlackRescaling(ordered).kernel() == SlackRescaling(known).kernel(arranged=True) == "slack"
    assert MarginRescaling(ordered).kernel(arranged=True) == ("arranged", False)
    assert SlackRescaling(ordered).kernel(arranged=True) == ("arranged", True)
    assert Decoding(ordered).kernel() == ("plain", False)
    assert (UnitMargin(ordered).kernel(), UnitMargin(ordered).kernel(arranged=True)) == (
        ("rival", False),
        ("rival", True),
    )


# ── hidden states, and truths that are no outputs ─────────────────────────────────────────────────


def views() -> Any:
    rng = np.random.default_rng(3)
    return wb.Views(rng.integers(-8, 9, (6, 2)) / 4, ["a", "b", "a"], [0, 2, 5, 6])


@pytest.mark.parametrize("seed", range(6))
def test_hidden_hinges_are_least_over_the_states_of_the_greatest_over_the_rivals(seed):
    problem, theta, everyone = views(), np.random.default_rng(seed).normal(size=4), np.arange(3)
    oracle = HiddenMargin(problem)
    assert hides(problem)
    samples, witnesses = oracle.every(everyone)
    slopes, offsets = oracle.rows(samples, witnesses)
    rivals, truths = np.hsplit(witnesses, 2)
    told = problem.features(samples, rivals).toarray() - problem.features(samples, truths).toarray()
    assert slopes.toarray().tolist() == told.tolist()
    assert offsets.tolist() == problem.loss(samples, rivals).tolist()
    values, wanted = slopes @ theta + offsets, []
    for i in range(3):
        own = samples == i
        states = {tuple(each) for each in truths[own].tolist()}
        outputs = problem.outputs(i)
        losses = problem.loss(np.full(len(outputs), i), outputs)
        assert len(states) == (losses == 0).sum()
        assert own.sum() == (losses == 0).sum() * (losses > 0).sum()
        wanted.append(max(0, min(max(values[own & (truths == each).all(axis=1)]) for each in states)))
    found = oracle.argmax(theta, everyone)
    slopes, offsets = oracle.rows(everyone, found)
    assert np.maximum(slopes @ theta + offsets, 0) == pytest.approx(np.array(wanted))
    exact = oracle.exact().highest(ratios(theta), everyone).fractions().astype(float)
    assert exact == pytest.approx(np.array(wanted))


def test_a_prediction_below_a_truth_that_is_none_is_clipped():
    """Of a truth that is no matching the prediction may lie below, where the risk counts 0."""

    class Outside(wb.Multiclass):
        outside = np.array([True, False])

        def argmax(self, theta: Any, samples: Any, augment: bool) -> Any:
            return 1 - self.truth[samples]

    problem = Outside([[1.0], [1.0]], ["a", "a"], classes=["a", "b"])
    for w, chosen in (([1.0, 0.0], [0, 1]), ([0.0, 1.0], [1, 1]), ([1.0, 1.0], [1, 1])):
        assert Decoding(problem).argmax(np.array(w), np.arange(2)).ravel().tolist() == chosen


def test_exact_rows_of_slack_and_unit_margins():
    outputs = SimpleNamespace(
        slopes=lambda samples, witnesses: Entries(np.array([0, 1]), np.array([1, 0]), np.array([3, 5], object), 2),
        loss=lambda samples, witnesses: Ratios(np.array([7, 11], object), 5),
        rival=lambda theta, samples: Ratios(np.array([-7, -2, 4], object), 3),
    )
    entries, loss = ExactSlack(outputs).rows(np.arange(2), np.zeros((2, 1), int))
    assert (entries.values.tolist(), entries.unit, loss.unit) == ([21, 55], 10, 5)
    unit = ExactUnit(outputs, np.array([[0], [1]]))
    assert unit.rows(np.arange(2), np.zeros((2, 1), int))[1].fractions().tolist() == [0, 1]
    assert unit.highest(ratios(np.zeros(1)), np.arange(3)).fractions().tolist() == [0, Fraction(1, 3), Fraction(7, 3)]
    assert unit.free(ratios(np.zeros(1)), np.arange(3)).fractions().tolist() == [0, 0, 0]
