"""The bounds of search trees against those of the trusted checker, on trees as they were found and on spoiled ones."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import motif_helpers
import numpy as np
import pytest
from scipy import sparse

import workbench as wb
from workbench.arithmetic.intervals import Interval
from workbench.errors import Contradiction
from workbench.objectives.oracles import HiddenMargin
from workbench.proofs import capped
from workbench.proofs.bounds import Evidence
from workbench.proofs.capped import CappedBounds, enclosing, levels, product, row_sums, tabled
from workbench.proofs.tree import Tree
from workbench.proofs.verify import verify


@cache
def found(kind: str, seed: int) -> Any:
    """A certificate of a few samples: plain ones, or motifs that hide their place."""
    rng = np.random.default_rng(seed)
    if kind == "plain":
        X, weights = rng.normal(size=(6, 2)), rng.integers(0, 3, 6)
        weights[:2] = 1
        problem: Any = wb.Multiclass(X, [0, 1, 0, 1, *rng.integers(0, 3, 2)], weights=weights, classes=[0, 1, 2])
    else:
        planted = motif_helpers.small(seed, 4, 5)
        texts = [planted.text(i) for i in range(4)]
        problem = wb.Motif(texts, planted.labels, 3, weights=np.array([1, 2, 1, 0 if seed % 2 else 1]))
    return wb.solve(wb.SelfPaced(C=float(rng.uniform(2, 20)), K=float(rng.uniform(0.3, 3))), problem).certificate


def spoiled(tree: Tree, rng: np.random.Generator, kind: int) -> Tree:
    """Other dual weights and cutoffs, which any tree may have, or the tree's upper part alone."""
    if kind == 0:
        return tree
    if kind == 1:
        count = int(rng.integers(1, 1 + len(tree.parents)))
        depth = max(np.flatnonzero(tree.parents[:count] < count), default=0) + 1
        return Tree(tree.parents[:depth], tree.branches[:depth], tree.cutoffs[:depth], tree.weights[:depth])
    weights = tree.weights.copy()
    weights.data = weights.data * rng.uniform(0.3 if kind == 2 else 0.9, 1.1, len(weights.data))
    cutoffs = tree.cutoffs + rng.choice([0.0, 0.5, 3.0], len(tree.cutoffs)) * (kind == 3)
    return Tree(tree.parents, tree.branches, cutoffs, weights)


@pytest.mark.parametrize("seed", range(4))
def test_f_at_zero_is_that_of_capped_terms(seed):
    """Every h_i is 1 there, and costs more than its cap."""
    certificate = found("plain", seed)
    bounds = CappedBounds(certificate.formulation, certificate.problem)
    assert bounds.tables
    assert bounds.scale == pytest.approx(bounds.caps.hi.sum())
    assert bounds.caps.hi.sum() < 0.9 * bounds.costs.hi.sum()


@pytest.mark.parametrize("kind", ["plain", "hidden"])
@pytest.mark.parametrize("seed", range(4))
def test_trees_prove_what_the_checker_says(kind, seed, tmp_path):
    """Both ends are near the checker's, which adds whole numbers, and never beyond them."""
    certificate, rng = found(kind, seed), np.random.default_rng([seed, 3])
    bounds, finite = CappedBounds(certificate.formulation, certificate.problem), 0
    for change in (0, 1, 1, 2, 2, 3, 3):
        tree, theta = spoiled(certificate.tree, rng, change), certificate.theta * rng.choice([1.0, 0.5, 0.0])
        open_ends = {"lower": -np.inf, "upper": np.inf, "gap": np.inf}
        told = verify(replace(certificate, tree=tree, theta=theta, **open_ends).save(tmp_path / "c"))
        lower, upper = bounds.recheck(Evidence(theta, tree=tree))
        assert upper == Fraction(told["upper_exact"])
        assert bounds.upper(theta) == pytest.approx(float(upper), rel=1e-9)
        assert bounds.upper(theta) >= upper
        if lower == -np.inf:
            continue
        true = Fraction(told["lower_exact"])
        assert lower <= true
        assert lower == pytest.approx(float(true), rel=1e-7, abs=1e-9)
        finite += 1
    assert finite >= 3


def bounds_of(kind: str, seed: int = 0) -> tuple[CappedBounds, Any]:
    certificate = found(kind, seed)
    return CappedBounds(certificate.formulation, certificate.problem), certificate


@pytest.mark.parametrize("kind", ["plain", "hidden"])
@pytest.mark.parametrize("chunk", [1, 2, 3])
def test_nodes_may_be_checked_a_few_at_a_time(kind, chunk, monkeypatch):
    bounds, certificate = bounds_of(kind)
    upper = float(certificate.upper)
    whole = bounds.proven(certificate.tree, upper)
    with monkeypatch.context() as patch:
        patch.setattr(capped, "CHUNK", chunk)
        assert bounds.proven(certificate.tree, upper) == pytest.approx(whole, rel=1e-12)
    monkeypatch.setattr(capped, "LARGEST", chunk * len(bounds.cuts.offsets))
    assert bounds.proven(certificate.tree, upper) == pytest.approx(whole, rel=1e-12)


def test_a_tree_that_proves_more_than_the_value_is_a_contradiction(monkeypatch):
    bounds, certificate = bounds_of("plain")
    evidence = Evidence(certificate.theta, tree=certificate.tree)
    _, upper = bounds.recheck(evidence)
    for above, fits in ((upper, True), (upper + Fraction(1, 10**9), False)):
        monkeypatch.setattr(bounds, "proven", lambda tree, upper, above=above: above)
        if fits:
            assert bounds.recheck(evidence) == (upper, upper)
        else:
            with pytest.raises(Contradiction, match="there is a bug in the argmax"):
                bounds.recheck(evidence)
    with pytest.raises(wb.BadInput, match="there is none; write the certificate again"):
        bounds.recheck(Evidence(certificate.theta))
    with pytest.raises(wb.MissingCapability, match=r"use proven\(tree, upper\)"):
        bounds.lower(None, None)
    assert bounds.upper(np.array([np.nan, *certificate.theta[1:]])) == np.inf


@pytest.mark.parametrize("kind", ["plain", "hidden"])
def test_trees_about_other_cuts_are_refused(kind):
    bounds, _ = bounds_of(kind)
    J, cuts = len(bounds.cuts.spread), len(bounds.cuts.offsets)
    seconds = sorted(set(range(J)) - set(bounds.cuts.firsts[:-1].tolist()))

    def tree(branch: int, width: int = cuts) -> Tree:
        return Tree(np.zeros(2, int), np.array([-1, branch]), np.full(2, 1e3), sparse.csr_array((2, width)))

    for good in (-1, 0, 1, 2 * J - 2, 2 * bounds.cuts.firsts[-2] + 1, *(2 * j for j in seconds)):
        assert np.isfinite(bounds.proven(tree(int(good)), 1e3))
    bad = [tree(2 * J), tree(2 * J + 1), tree(0, cuts + 1), tree(0, cuts - 1), *(tree(2 * j + 1) for j in seconds)]
    for each in bad:
        with pytest.raises(wb.BadInput, match="about other cuts"):
            bounds.proven(each, 1e3)
    assert bool(seconds) == (kind == "hidden")


def test_searches_of_too_many_cuts_are_refused(monkeypatch):
    bounds, certificate = bounds_of("plain")
    entries = len(bounds.cuts.offsets) * bounds.oracle.dim
    monkeypatch.setattr(capped, "LARGEST", entries)
    CappedBounds(certificate.formulation, certificate.problem)
    monkeypatch.setattr(capped, "LARGEST", entries - 1)
    with pytest.raises(wb.MissingCapability, match=f"every cut, {len(bounds.cuts.offsets)} of {bounds.oracle.dim}"):
        CappedBounds(certificate.formulation, certificate.problem)


@pytest.mark.parametrize("kind", ["plain", "hidden"])
@pytest.mark.parametrize("seed", range(3))
def test_boxes_hold_what_lies_in_the_ball_and_shrink_to_its_centre(kind, seed):
    """Of ½‖w* − p‖² ≤ e each term's value at w*, and the reach of its states; at e = 0 no more than these."""
    bounds, _ = bounds_of(kind, seed)
    table, rng = bounds.cuts, np.random.default_rng(seed)
    costs = (bounds.costs.lo + bounds.costs.hi) / 2
    several = np.isin(np.arange(len(table.means)), table.several)
    for _ in range(6):
        w = rng.normal(size=bounds.oracle.dim) * 10.0 ** rng.integers(-2, 2)
        heights = np.maximum.reduceat(table.slopes @ w + table.offsets, table.starts[:-1])
        terms = costs[table.owner] * np.maximum(heights, 0)
        reach = np.maximum(np.maximum.reduceat(table.spread @ w, table.firsts[:-1]), 0) * several
        whole = bounds.start_box(float(w @ w) / 2 * (1 + 1e-12))
        near, tight = 1e-9 * (1 + abs(terms)), 1e-9 * (1 + abs(reach))
        for away in (1e-3, 1.0, 0.0):
            point = w + away * rng.normal(size=len(w))
            middle, radius = point[None], rng.choice([0.0, 1e-6]) * (away > 0)
            excess = np.array([float((w - point) @ (w - point)) / 2 * (1 + 1e-9) + (away > 0) * 1e-5 * abs(w).sum()])
            box = bounds.shrunk(Interval(middle - radius, middle + radius), excess, whole)
            for each in (whole, box):
                assert ((each.low[0] <= terms + near) & (terms - near <= each.high[0])).all()
                assert (each.reach[0] >= reach - tight).all()
            assert (box.low >= whole.low).all()
            assert (box.high <= whole.high).all()
            assert (box.reach <= whole.reach).all()
        assert (abs(box.low[0] - terms) <= near).all()
        assert (abs(box.high[0] - terms) <= near).all()
        assert (abs(box.reach[0] - reach) <= tight).all()
        assert (box.low[0] <= terms).all()
        assert (box.reach[0] >= reach).all()


def test_norms_of_rows_that_may_be_off_are_rounded_up():
    bounds, _ = bounds_of("plain")
    rng, dim = np.random.default_rng(0), bounds.oracle.dim
    rows, errors = rng.normal(size=(40, dim)), np.concatenate([np.zeros(20), rng.random(20)])
    for row, error, norm in zip(rows, errors.tolist(), bounds.lengths(rows, errors).tolist(), strict=True):
        square = sum(Fraction(each) ** 2 for each in row.tolist())
        if not error:
            assert square <= Fraction(norm) ** 2 <= square * (1 + Fraction(1, 10**13))
        assert norm >= (np.linalg.norm(row) + np.sqrt(dim) * error) * (1 - 1e-15)
        assert norm <= (np.linalg.norm(row) + np.sqrt(dim) * error) * (1 + 1e-13)


# ── sums of tables ────────────────────────────────────────────────────────────────────────────────


def test_products_and_sums_of_rows_are_enclosed_and_little_more():
    """4,000 equal terms err to one side; the matrix may be off by a part, and what underflows counts."""
    for x in np.linspace(0.1, 0.9, 9):
        for sign in (1, -1):
            true = sign * 4000 * Fraction(0.1) * Fraction(x)
            result = product(np.full((2, 4000), 0.1), np.full((4000, 1), sign * x), np.zeros(4000))
            wide = product(np.full((1, 4000), 0.1), np.full((4000, 1), sign * x), np.full(4000, 0.25))
            part = 4000 * Fraction(0.1) / 4
            sums = row_sums(Interval(np.full((2, 4000), sign * x), np.full((2, 4000), sign * x + 0.5)))
            ends = [sum([Fraction(each)] * 4000) for each in (sign * x, sign * x + 0.5)]
            for lo, hi, least, most in (
                *((a, b, true, true) for a, b in zip(result.lo[:, 0], result.hi[:, 0], strict=True)),
                (wide.lo[0, 0], wide.hi[0, 0], true - part, true + part),
                *((a, b, *ends) for a, b in zip(sums.lo, sums.hi, strict=True)),
            ):
                room = 5000 * Fraction(1, 10**11)
                assert least - room <= Fraction(float(lo)) <= least
                assert most <= Fraction(float(hi)) <= most + room
    for x in np.linspace(0.1, 0.9, 9):  # columns that are added one after the other
        sums, true = row_sums(Interval(np.full((2, 4000), x, order="F"))), sum([Fraction(x)] * 4000)
        assert all(Fraction(float(lo)) <= true <= Fraction(float(hi)) for lo, hi in zip(sums.lo, sums.hi, strict=True))
    tiny = product(np.full((1, 40), 0.4), np.full((40, 1), 2.0**-1074), np.zeros(40))
    assert Fraction(float(tiny.hi[0, 0])) >= 40 * Fraction(0.4) * Fraction(2.0**-1074)


def test_fractions_are_enclosed_by_the_floats_beside_them():
    found = enclosing([Fraction(1, 3), Fraction(2, 3), Fraction(1, 2), Fraction(7)])
    for number, lo, hi in zip((Fraction(1, 3), Fraction(2, 3)), found.lo, found.hi, strict=False):
        assert Fraction(float(lo)) < number < Fraction(float(hi))
        assert hi <= np.nextafter(np.nextafter(lo, 1), 1)
    assert found.lo[2:].tolist() == found.hi[2:].tolist() == [0.5, 7]


def test_nodes_of_each_depth():
    parents = np.array([0, 0, 1, 0, 2, 3])
    assert [each.tolist() for each in levels(parents)] == [[0], [1, 3], [2, 5], [4]]
    assert [each.tolist() for each in levels(np.zeros(1, int))] == [[0]]


def test_cuts_of_mean_states_are_the_means_of_their_states_cuts():
    """Two samples; the first hides which of three states it is in, each with the same two rivals."""
    rng = np.random.default_rng(1)
    slopes, offsets = rng.normal(size=(8, 3)), np.array([0.0, 1, 0, 1, 0, 1, 0, 2])
    starts, owner, errors = np.array([0, 2, 4, 6, 8]), np.array([0, 0, 0, 1]), np.full(8, 0.125)
    errors[3] = 0.5
    table, error = tabled(slopes, offsets, starts, owner, errors)
    own = slopes[:6].reshape(3, 2, 3)
    np.testing.assert_array_equal(table.slopes, np.concatenate([slopes, own.mean(axis=0)]))
    assert table.offsets.tolist() == [0, 1, 0, 1, 0, 1, 0, 2, 0, 1]
    assert table.starts.tolist() == [0, 2, 4, 6, 8, 10]
    assert table.owner.tolist() == [0, 0, 0, 1, 0]
    assert (table.firsts.tolist(), table.means.tolist(), table.several.tolist()) == ([0, 3, 4], [4, 3], [0])
    assert table.terms.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    np.testing.assert_allclose(table.spread, np.concatenate([own.mean(axis=0)[0] - own[:, 0], np.zeros((1, 3))]))
    assert error[:8].tolist() == errors.tolist()
    most = 0.5 + 3 * 2.0**-53 * np.abs(own).max()
    assert (most < error[8:]).all()
    assert (error[8:] <= 0.5 + 1e-14).all()


@pytest.mark.parametrize("kind", ["plain", "hidden"])
def test_boxes_count_what_the_centre_and_the_cuts_may_be_off(kind, monkeypatch):
    """The point's own interval, to one side or the other; offsets off by 1/2; slopes off by 1/8 an entry."""
    bounds, _ = bounds_of(kind)
    table, rng = bounds.cuts, np.random.default_rng(7)
    costs, ball = (bounds.costs.lo + bounds.costs.hi) / 2, np.array([0.125])  # of the radius 1/2
    whole = bounds.start_box(1e6)
    for _ in range(4):
        w = rng.normal(size=bounds.oracle.dim) * 3
        scores = table.slopes @ w + table.offsets
        size, shift = np.abs(w).sum(), 0.25 * rng.random(len(w))

        def ends(off: Any, scores: Any = scores) -> Any:
            off = off + 0.5 * bounds.norms
            both = (np.maximum.reduceat(scores + sign * off, table.starts[:-1]) for sign in (-1, 1))
            return [costs[table.owner] * np.maximum(each, 0) for each in both]

        for lo, hi in ((w - 2 * shift, w), (w, w + 2 * shift)):
            box, (low, high) = bounds.shrunk(Interval(lo[None], hi[None]), ball, whole), ends(0.0)
            assert (box.low[0] <= low + 1e-9).all()
            assert (box.high[0] >= high - 1e-9).all()
        for name, value, off in (("offset_error", 0.5, 0.5), ("slope_error", 0.125, size / 8)):
            with monkeypatch.context() as patch:
                patch.setattr(bounds, name, np.full(len(scores), value))
                box, (low, high) = bounds.shrunk(Interval(w[None]), ball, whole), ends(off)
            np.testing.assert_allclose(box.low[0], low, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(box.high[0], high, rtol=1e-9, atol=1e-9)


def test_two_states_are_several(monkeypatch):
    """The word of four letters hides which of two places its three letters have; what its mean may be off counts."""
    problem = wb.Motif(["ACGT", "ACG", "CGA"], [1, 1, -1], 3)
    monkeypatch.setattr(HiddenMargin, "slope_error", lambda self, samples: np.ones(len(samples)))
    bounds = CappedBounds(wb.SelfPaced(), problem)
    assert bounds.cuts.several.tolist() == [0]
    wide = bounds.state_owner == 0
    assert (bounds.spread_error[~wide] == 0).all()
    assert ((bounds.spread_error[wide] >= 4) & (bounds.spread_error[wide] < 4.1)).all()
    assert wide.sum() == 2


def test_means_of_cuts_err_as_often_as_there_are_states(monkeypatch):
    monkeypatch.setattr(capped, "gamma", lambda k: k / 100)
    slopes = np.array([[0.0, 0], [1, -4], [0, 0], [2, 2]])
    _, error = tabled(slopes, np.zeros(4), np.array([0, 2, 4]), np.zeros(2, int), np.array([0, 0.5, 0, 0.25]))
    np.testing.assert_allclose(error[4:], 0.5 + 5 / 100 * 4)


def test_a_reach_without_bound_proves_nothing():
    bounds, _ = bounds_of("hidden")
    box = bounds.start_box(1e3)
    box = box._replace(reach=np.full_like(box.reach, np.inf))
    for size in (0.0, 1e-3):
        with np.errstate(invalid="ignore", over="ignore"):
            lower, _ = bounds.checked(np.full((1, len(bounds.cuts.offsets)), size), box, np.array([1e3]))
        assert lower.tolist() == [-np.inf]


def test_the_first_sample_may_have_no_weight():
    problem = wb.Multiclass(np.eye(3), [0, 1, 0], weights=[0.0, 1.0, 1.0])
    table = CappedBounds(wb.SelfPaced(), problem).cuts
    assert table.starts.tolist() == [0, 2, 4]
    assert table.owner.tolist() == [0, 1]
