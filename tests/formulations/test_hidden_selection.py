"""Equation (2) over hidden states: the search against enumeration and SCIP; what nodes prove; false trees."""

from __future__ import annotations

import itertools
import json
import os
from dataclasses import replace
from fractions import Fraction

import motif_helpers
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.command.cli import cli
from workbench.formulations.latent_ssvm import CompletedSSVM, hinges, imputed
from workbench.formulations.self_paced import SelfPaced
from workbench.proofs.capped import CappedBounds
from workbench.proofs.certificate import load
from workbench.proofs.tree import Tree
from workbench.proofs.verify import verify
from workbench.solving.capped_terms import CappedTerms
from workbench.system.journal import Journal

NIGHTLY = bool(os.environ.get("CUTBENCH_NIGHTLY"))
CASES = range(100 if NIGHTLY else 4)


def hidden(seed, n=4, span=5):
    """Planted motifs of three letters, their positions withheld, and settings; every third problem is weighted."""
    rng, planted = np.random.default_rng(seed), motif_helpers.small(seed, n, span)
    weights = rng.integers(1, 4, n) if seed % 3 == 2 else None
    problem = wb.Motif([planted.text(i) for i in range(n)], planted.labels, 3, weights=weights)
    return SelfPaced(C=float(rng.uniform(2, 20)), K=float(rng.uniform(0.3, 3))), problem


def enumerated(form, problem):
    """min over selections v and states h of the certified convex optimum plus the charges."""
    best = sum(map(float, form.charges(problem)[1]))
    options = [[None, *problem.hidden(i)] for i in range(problem.n_samples)]
    for chosen in itertools.product(*options):
        kept = np.array([each is not None for each in chosen])
        states = [problem.hidden(i)[0] if each is None else each for i, each in enumerate(chosen)]
        best = min(best, completed(form, problem, states, kept.astype(int), best))
    return best


def completed(form, problem, states, kept, least=np.inf):
    """The certified optimum of the samples kept in these states plus the charges of the others, if below `least`."""
    kappa = np.array([float(each) for each in form.charges(problem)[1]])
    paid = kappa[np.equal(kept, 0)].sum()
    if not np.any(kept) or paid >= least:
        return paid
    return paid + wb.solve(CompletedSSVM(form.C, states, kept), problem, gap=1e-9).upper


# ── the optimum ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", CASES)
def test_search_is_enumeration_and_scip(seed):
    pytest.importorskip("pyscipopt")
    form, problem = hidden(seed)
    solution = wb.solve(form, problem)
    assert solution.status == "optimal"
    assert 0 <= solution.gap <= 1e-9
    assert solution.upper == pytest.approx(enumerated(form, problem), rel=1e-8)
    mixed = wb.LatentSSVM(form.C).mixed_program(problem, form.K)
    mixed.program.solve(solver="SCIP")
    assert solution.upper == pytest.approx(mixed.program.value, rel=1e-4)  # SCIP's own value, not believed
    assert solution.upper == pytest.approx(completed(form, problem, *mixed.chosen()), rel=1e-6)
    assert CappedBounds(form, problem).upper(np.asarray(mixed.w.value)) >= solution.lower


def test_the_declared_program_is_that_of_the_latent_svm_with_charges():
    pytest.importorskip("pyscipopt")
    form, problem = hidden(1)
    program, w, v = form.mixed_program(problem)
    program.solve(solver="SCIP")
    terms = CappedTerms(CappedBounds(form, problem))
    np.testing.assert_array_equal(v.value > 0.5, terms.values(w.value) < terms.caps)


def test_one_state_each_is_the_search_without_states():
    """Where every positive sequence is as long as the motif, hiding positions hides nothing."""
    rng = np.random.default_rng(0)
    texts, labels = ["".join(rng.choice(list("ACGT"), 4)) for _ in range(8)], [1, 0] * 4
    known = wb.Motif(texts, labels, 4, [0, -1] * 4)
    form = SelfPaced(C=6.0, K=2.0)
    assert wb.solve(form, wb.Motif(texts, labels, 4)).upper == pytest.approx(wb.solve(form, known).upper, rel=1e-9)


def test_nobody_left_out_is_the_latent_svm():
    """At a charge above every slack F is that of latent-ssvm, and no alternation ends below its proven minimum."""
    _, problem = hidden(1)
    solution = wb.solve(SelfPaced(C=10.0, K=1e-3), problem)
    assert solution.status == "optimal"
    form = wb.LatentSSVM(10.0, starts=3)
    assert solution.upper == pytest.approx(form.value(problem, solution.theta_flat), rel=1e-9)
    assert wb.solve(form, problem).upper >= solution.lower * (1 - 1e-9)


def test_weight_three_is_three_samples_and_weight_zero_is_none():
    form, problem = hidden(0)
    texts, labels = [problem.text(i) for i in range(4)], problem.labels
    copies = np.array([3, 1, 1, 0])
    weighted = wb.Motif(texts, labels, 3, weights=copies)
    copied = wb.Motif(np.repeat(texts, copies).tolist(), np.repeat(labels, copies), 3)
    assert wb.solve(form, weighted).upper == pytest.approx(wb.solve(form, copied).upper, rel=1e-8)


# ── bounds ────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_any_weights_bound_every_point_of_their_box(seed):
    """D(λ) ≤ F(w) for w in the box, whichever states have been chosen for w; and the box keeps every w of F(w) ≤ U."""
    form, problem = hidden(seed % 1000)
    rng, bounds = np.random.default_rng(seed), CappedBounds(form, problem)
    terms = CappedTerms(bounds)
    table = bounds.cuts
    points = rng.normal(size=(6, terms.dim)) * rng.choice([0.01, 0.3, 3.0], size=(6, 1))
    cutoff = max(bounds.upper(w) for w in points)
    start = bounds.start_box(cutoff)
    for w in points:
        best = terms.at_best(w)[1]
        values = terms.values(w)
        assert bounds.upper(w) == pytest.approx(terms.objective(w, values), rel=1e-12)
        assert float(bounds.exact_upper(w)) == pytest.approx(bounds.upper(w), rel=1e-12)
        chosen = rng.random(len(best)) < 0.5
        branches = np.where(values < terms.caps, 2 * best, 2 * table.firsts[:-1] + 1)[chosen]
        box = start.copy()
        for branch in branches:
            bounds.choose(box, np.array([branch]))
        weights = rng.exponential(size=(1, len(table.offsets))) * (rng.random(len(table.offsets)) < 0.3)
        value, after = bounds.checked(weights * terms.cuts.costs.mean(), box, np.array([cutoff]))
        assert value[0] <= bounds.upper(w)
        heights = np.maximum(np.maximum.reduceat(table.slopes @ w + table.offsets, table.starts[:-1]), 0)
        raw = terms.cuts.costs * heights
        assert (after.low[0] <= raw + 1e-12).all()
        assert (raw <= after.high[0] * (1 + 1e-12) + 1e-12).all()
        away = np.maximum.reduceat(table.spread @ w, table.firsts[:-1])
        assert (away <= after.reach[0] + 1e-12).all()


def test_a_mean_state_less_its_reach_lies_below_every_state():
    """l_i(w) ≤ t_i(w) at random w within the ball, and R cannot be less than the farthest state at w."""
    form, problem = hidden(2)
    bounds = CappedBounds(form, problem)
    terms, table = CappedTerms(bounds), bounds.cuts
    box = bounds.start_box(bounds.upper(bounds.start))
    view = terms.view(box.node(0))
    rng = np.random.default_rng(0)
    for w in rng.normal(size=(200, terms.dim)):
        w *= rng.random() * np.sqrt(2 * bounds.upper(bounds.start)) / np.linalg.norm(w)
        heights = np.maximum.reduceat(view.cuts.slopes @ w + view.cuts.offsets, view.cuts.starts[:-1])
        assert (view.cuts.costs * np.maximum(heights, 0) <= terms.values(w) + 1e-12).all()
    assert len(table.several) == 2


def test_values_are_the_definition():
    form, problem = hidden(3)
    terms, rng = CappedTerms(CappedBounds(form, problem)), np.random.default_rng(3)
    for w in rng.normal(size=(10, terms.dim)):
        states = imputed(problem, w, problem.impute(w))
        own = np.array([float(each) for each in form.charges(problem)[0]]) * hinges(problem, w, states)
        np.testing.assert_allclose(terms.values(w), own, atol=1e-12)


# ── certificates ──────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def proved():
    form, problem = hidden(0)
    return wb.solve(form, problem)


def test_certificates_hold_what_they_claim(proved, tmp_path):
    path = proved.certificate.save(tmp_path / "c")
    proof = verify(path)
    assert proof["proven"]
    assert (proof["proof"], proof["arithmetic"], proof["conditional_on"]) == ("tree", "rational", [])
    assert proved.lower <= Fraction(proof["lower_exact"]) <= Fraction(proof["upper_exact"]) <= proved.upper
    again, _ = load(path)
    assert again.recheck() == proved.certificate.recheck()


def test_a_tree_that_lacks_a_leaf_proves_less(proved, tmp_path):
    """Also one that lacks a state: the branches of the other states and of leaving out cover nothing."""
    tree, bounds = proved.certificate.tree, CappedBounds(proved.formulation, proved.problem)
    leaves = np.flatnonzero((tree.branches >= 0) & ~np.isin(np.arange(len(tree.parents)), tree.parents))
    assert (np.diff(bounds.cuts.firsts) > 1).any()
    for leaf in leaves[:: max(len(leaves) // 6, 1)]:
        keep = np.arange(len(tree.parents)) != leaf
        place = np.cumsum(keep) - 1
        cropped = Tree(place[tree.parents[keep]], tree.branches[keep], tree.cutoffs[keep], tree.weights[keep])
        assert bounds.proven(cropped, proved.upper) < proved.lower * (1 - 1e-6)
        assert not verify(replace(proved.certificate, tree=cropped).save(tmp_path / "c"))["proven"]


@pytest.mark.parametrize("change", ["weights", "branches", "cutoffs", "swapped"])
def test_a_tree_of_another_search_is_not_believed(proved, change, tmp_path):
    """Tampered trees may prove bounds, but never one above the optimum."""
    tree, bounds = proved.certificate.tree, CappedBounds(proved.formulation, proved.problem)
    if change == "weights":
        tree = tree._replace(weights=tree.weights * 1.5)
    elif change == "branches":
        even = (tree.branches >= 0) & (tree.branches % 2 == 0)
        tree = tree._replace(
            branches=np.where(even, (tree.branches + 2) % (2 * len(bounds.cuts.spread)), tree.branches)
        )
    elif change == "cutoffs":
        tree = tree._replace(cutoffs=np.zeros_like(tree.cutoffs))
    else:
        tree = tree._replace(weights=tree.weights[::-1])
    proof = verify(replace(proved.certificate, tree=tree).save(tmp_path / "c"))
    assert proof["lower"] <= proved.upper
    assert proof["proven"] == (change == "cutoffs")
    assert bounds.proven(tree, proved.upper) <= proved.upper


def test_a_branch_that_leaves_out_no_sample_is_refused(proved, tmp_path):
    tree, bounds = proved.certificate.tree, CappedBounds(proved.formulation, proved.problem)
    second = int(bounds.cuts.firsts[bounds.cuts.several[0]]) + 1
    branches = tree.branches.copy()
    branches[-1] = 2 * second + 1
    forged = replace(proved.certificate, tree=tree._replace(branches=branches))
    with pytest.raises(wb.BadInput, match="other cuts"):
        forged.recheck()
    with pytest.raises(wb.BadInput, match="not a sample's first"):
        verify(forged.save(tmp_path / "c"))


def test_an_interrupted_search_proves_an_interval_and_goes_on(tmp_path):
    form, problem = hidden(4, n=6, span=6)
    whole = wb.solve(form, problem)
    first = wb.solve(form, problem, max_rounds=3, journal=tmp_path / "run")
    assert first.status == "limit"
    assert 0 < first.lower < whole.lower <= whole.upper <= first.upper
    assert verify(first.certificate.save(tmp_path / "c"))["proven"]
    resumed = wb.solve(form, problem, journal=Journal.resume(tmp_path / "run"))
    assert resumed.status == "optimal"
    assert resumed.upper == pytest.approx(whole.upper, rel=1e-9)


# ── the command ───────────────────────────────────────────────────────────────────────────────────


def test_promoters_from_the_command_line(tmp_path):
    """Ten promoters at default settings: a lower bound above 0 after a few splits, what was learned, and its proof."""
    words = ["solve", "promoters", "self-paced", "--set", "n=10", "--max-rounds", "4"]
    done = CliRunner().invoke(cli, [*words, "--out", str(tmp_path), "--json"])
    assert done.exit_code == 3, done.output
    record = json.loads(done.stdout)
    assert 0 < record["lower"] < record["upper"]
    assert set(record["learned"]["states"]) == {"0", "2", "4", "6", "8"}
    assert "left_out" in record["learned"]
    checked = CliRunner().invoke(cli, ["verify", str(tmp_path), "--json"])
    assert json.loads(checked.stdout)["proven"], checked.output
    judged = ["crosscheck", "promoters", "self-paced", "--set", "n=4", "--gap", "1e-2", "--passes", "40", "--json"]
    rows = json.loads(CliRunner().invoke(cli, judged).stdout)["learners"]
    assert [row["name"] for row in rows] == ["alternation"]
    assert rows[0]["excess"] >= 0
