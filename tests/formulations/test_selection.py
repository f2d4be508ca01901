"""Exact self-paced selection: the search against enumeration, MIQP and CVXPY; trees that must not pass."""

from __future__ import annotations

import copy
import itertools
import json
from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from click.testing import CliRunner
from declared import proven_structures
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.backends import solve_cvxpy
from workbench.command.cli import cli
from workbench.contracts import CutForm, Search, SmoothForm
from workbench.formulations.self_paced import SelfPaced, greatest_terms
from workbench.proofs.capped import CappedBounds
from workbench.proofs.certificate import load
from workbench.proofs.tree import AGAIN, Tree
from workbench.proofs.verify import verify
from workbench.registries import misfit, registry
from workbench.solving.branch_and_bound import search
from workbench.solving.capped_terms import HUGE, CappedTerms, alternation
from workbench.solving.request import Request

OUTPUTS = dict(registry("output").items())
seeds = st.integers(0, 2**32 - 1)


def noisy(n, d, seed, flipped=0.25):
    """Two classes cut by a plane, some labels flipped; ξ is the binary hinge 1 − y⟨u, x⟩ of ½‖u‖²."""
    rng = np.random.default_rng(seed)
    X, u = rng.normal(size=(n, d)), rng.normal(size=d)
    y = (X @ u > 0) ^ (rng.random(n) < flipped)
    return wb.Multiclass(X / np.sqrt(2), y.astype(int), classes=[0, 1])


def enumerated_optimum(form, problem):
    """min over v of the certified convex optimum of the samples kept, plus the charges of the others."""
    c, kappa = (np.array(list(map(float, each))) for each in form.charges(problem))
    best, selection = np.inf, None
    for v in itertools.product((False, True), repeat=problem.n_samples):
        kept, rest = np.array(v), kappa[~np.array(v)].sum()
        value = rest
        if kept.any() and rest < best:
            part = copy.copy(problem)
            part.weights = np.where(kept, problem.weights, 0.0)
            total = c[kept].sum()  # ½‖w‖² + Σ c_i ξ_i = total (‖w‖²/(2 total) + Σ p_i ξ_i)
            value = rest + total * wb.solve(wb.SoftMargin(lam=1 / total), part, gap=1e-10).upper
        if value < best:
            best, selection = value, kept
    return best, selection


# ── the optimum ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", range(4))
def test_search_is_enumeration(seed):
    problem = noisy(7, 2, seed)
    form = SelfPaced(C=5.0, K=7 / (1.5 * 5))
    best, _ = enumerated_optimum(form, problem)
    solution = wb.solve(form, problem)
    assert solution.status == "optimal"
    assert 0 <= solution.gap <= 1e-9
    assert solution.upper == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_search_is_the_declared_mixed_program(seed):
    pytest.importorskip("pyscipopt")
    problem = noisy(9, 3, 50 + seed)
    form = SelfPaced(C=8.0, K=9 / 8)
    program, w, v = form.mixed_program(problem)
    program.solve(solver="SCIP")
    solution = wb.solve(form, problem)
    assert solution.upper == pytest.approx(program.value, rel=1e-5)
    bounds = CappedBounds(form, problem)
    assert bounds.upper(np.asarray(w.value)) >= solution.lower
    terms = CappedTerms(bounds).values(solution.theta["w"])
    np.testing.assert_array_equal(v.value > 0.5, terms < bounds.caps.hi)


@pytest.mark.parametrize(
    "output", [name for name in OUTPUTS if misfit(SelfPaced(), OUTPUTS[name].tiny(np.random.default_rng(0))) is None]
)
@pytest.mark.parametrize("seed", range(3))
def test_every_output_structure(output, seed, tmp_path):
    """A search of a tiny instance ends, is verified, and equals the soft margin when nothing is worth leaving out."""
    problem = OUTPUTS[output].tiny(np.random.default_rng(seed))
    solution = wb.solve(SelfPaced(C=3.0, K=1.0), problem)
    assert solution.status == "optimal"
    proof = verify(solution.certificate.save(tmp_path / "search"))  # the lower end, without a look at the upper
    if output in proven_structures():
        assert proof["proven"]
        assert Fraction(proof["lower_exact"]) <= Fraction(proof["upper_exact"])
    else:
        assert (proof["proven"], bool(proof["conditional_on"]), proof["refuted"]) == (False, True, False)
    whole = wb.solve(SelfPaced(C=3.0, K=1e-6), problem)
    convex = wb.solve(wb.SoftMargin(lam=1 / 3.0), problem)
    assert whole.upper == pytest.approx(3.0 * convex.upper, rel=1e-8)
    assert solution.lower <= whole.upper


def test_it_is_a_search_and_nothing_else():
    form = SelfPaced()
    assert isinstance(form, Search)
    assert not isinstance(form, CutForm)
    assert not isinstance(form, SmoothForm)


# ── relations ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", range(3))
def test_relations(seed):
    problem, rng = noisy(12, 2, seed), np.random.default_rng(seed)
    form = SelfPaced(C=6.0, K=3.0)
    value = wb.solve(form, problem).upper
    order = rng.permutation(12)
    X, y = problem.X.toarray(), problem.labels
    rotation = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    assert wb.solve(form, wb.Multiclass(X[order], y[order])).upper == pytest.approx(value, rel=1e-9)
    assert wb.solve(form, wb.Multiclass(X @ rotation, 1 - y)).upper == pytest.approx(value, rel=1e-9)
    twice = wb.Multiclass(np.vstack([X, X]), np.append(y, y))
    assert wb.solve(replace(form, K=6.0), twice).upper == pytest.approx(value, rel=1e-9)
    weighty = wb.Multiclass(X, y, weights=np.where(order < 4, 2.0, 1.0))
    again = np.concatenate([np.arange(12), np.flatnonzero(order < 4)])
    doubled = wb.Multiclass(X[again], y[again])
    assert wb.solve(form, weighty).upper == pytest.approx(wb.solve(form, doubled).upper, rel=1e-9)


def test_samples_without_weight_do_not_count():
    problem = noisy(10, 2, 1)
    part = wb.Multiclass(problem.X.toarray()[:8], problem.labels[:8], classes=[0, 1])
    problem.weights[8:] = 0
    form = SelfPaced(C=5.0, K=2.0)
    assert wb.solve(form, problem).upper == pytest.approx(wb.solve(form, part).upper, rel=1e-10)


# ── bounds ────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=12)
@given(seed=seeds)
def test_any_weights_bound_every_point_of_their_box(seed):
    """D(λ) + ½‖w − w(λ)‖² ≤ F(w) for w in the box, and the box shrinks around all w with F(w) ≤ U."""
    rng = np.random.default_rng(seed)
    problem = OUTPUTS["multiclass"].tiny(rng)
    bounds = CappedBounds(SelfPaced(C=float(rng.uniform(1, 20)), K=float(rng.uniform(0.1, 5))), problem)
    terms = CappedTerms(bounds)
    points = rng.normal(size=(8, terms.dim)) * rng.choice([0.01, 0.3, 3.0], size=(8, 1))
    cutoff = max(bounds.upper(w) for w in points)
    box = bounds.start_box(cutoff)
    weights = rng.exponential(size=(1, len(terms.cuts.offsets))) * (rng.random(len(terms.cuts.offsets)) < 0.3)
    value, (low, high, *_) = bounds.checked(weights * terms.cuts.costs.mean(), box, np.array([cutoff]))
    for w in points:
        at = terms.values(w)
        assert bounds.upper(w) == pytest.approx(terms.objective(w, at), rel=1e-12)
        assert float(bounds.exact_upper(w)) == pytest.approx(bounds.upper(w), rel=1e-12)
        assert bounds.exact_upper(w) <= bounds.upper(w)
        assert value[0] <= bounds.upper(w)
        assert (low[0] <= at + 1e-12).all()
        assert (at <= high[0] * (1 + 1e-12) + 1e-12).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_node_is_its_convex_program(seed):
    """The ascent's D = min ½‖w‖² + Σ chord(t_i) over t ≥ c·cuts, low ≤ t ≤ high, by CVXPY."""
    rng = np.random.default_rng(seed)
    problem = OUTPUTS["multiclass"].tiny(rng)
    bounds = CappedBounds(SelfPaced(C=8.0, K=2.0), problem)
    terms = CappedTerms(bounds)
    box = bounds.start_box(bounds.upper(bounds.start)).node(0).copy()
    low, high = box.low, box.high
    chosen = rng.random(terms.count)
    low[chosen < 0.2] = np.maximum(low, terms.cuts.caps)[chosen < 0.2]
    high[chosen > 0.8] = np.minimum(high, terms.cuts.caps)[chosen > 0.8]
    value, _, _ = terms.finish(terms.view(box), np.zeros(len(terms.cuts.offsets)))
    w, t = cp.Variable(terms.dim), cp.Variable(terms.count)
    first, last = np.minimum(low, terms.cuts.caps), np.minimum(high, terms.cuts.caps)
    chord = first + cp.multiply((last - first) / np.maximum(high - low, 1e-300), t - low)
    owner = np.repeat(np.arange(terms.count), np.diff(terms.cuts.starts))
    rows = cp.multiply(terms.cuts.costs[owner], terms.cuts.slopes @ w + terms.cuts.offsets)
    program = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + cp.sum(chord)), [t[owner] >= rows, t >= low, t <= high])
    solve_cvxpy(program, "CLARABEL")
    assert value == pytest.approx(program.value, rel=1e-7, abs=1e-8)


@given(seed=seeds)
@settings(max_examples=20)
def test_alternation_never_rises(seed):
    rng = np.random.default_rng(seed)
    problem = OUTPUTS["multiclass"].tiny(rng)
    bounds = CappedBounds(SelfPaced(C=float(rng.uniform(1, 50)), K=float(rng.uniform(0.1, 5))), problem)
    start = rng.normal(size=problem.n_features)
    w, history = alternation(bounds.formulation, problem, start)
    assert all(later < earlier for earlier, later in itertools.pairwise(history))
    assert bounds.upper(w) == pytest.approx(history[-1], rel=1e-12)
    assert history[0] == pytest.approx(bounds.upper(start), rel=1e-12)


def test_alternation_can_end_above_the_optimum():
    """From the soft margin on all samples, as the source starts."""
    problem, form = noisy(20, 3, 3), SelfPaced(C=10.0, K=3.0)
    bounds = CappedBounds(form, problem)
    _, history = alternation(form, problem, CappedTerms(bounds).learned(np.ones(20, bool)))
    assert history[-1] > wb.solve(form, problem).upper * (1 + 1e-3)


def test_the_convex_step_is_the_soft_margin():
    problem = noisy(15, 3, 2)
    bounds = CappedBounds(SelfPaced(C=4.0, K=1.0), problem)
    w = CappedTerms(bounds).learned(np.ones(15, bool))
    convex = wb.solve(wb.SoftMargin(lam=0.25), problem, gap=1e-12)
    np.testing.assert_allclose(w, convex.theta["w"], atol=1e-5)
    assert HUGE > 1e20


def test_greatest_terms_hold_where_it_matters():
    problem, form = noisy(9, 2, 3), SelfPaced(C=7.0, K=2.0)
    bounds = CappedBounds(form, problem)
    samples, outputs = form.every(problem, np.arange(9))
    slopes, offsets = form.oracle(problem).rows(samples, outputs)
    most = greatest_terms(bounds.costs.hi, bounds.caps.hi, samples, slopes, offsets)
    assert (CappedTerms(bounds).values(wb.solve(form, problem).theta["w"]) <= most).all()
    rng, start = np.random.default_rng(0), bounds.upper(np.zeros(4))
    for w in rng.normal(size=(50, 4)):
        w *= np.sqrt(2 * start) / np.linalg.norm(w)
        assert (CappedTerms(bounds).values(w) <= most * (1 + 1e-12)).all()


# ── stopping early, certificates ──────────────────────────────────────────────────────────────────


def test_an_interrupted_search_proves_an_interval(tmp_path):
    problem, form = noisy(30, 4, 0), SelfPaced(C=10.0, K=4 * 30 / 10)
    first = wb.solve(form, problem, max_rounds=5)
    later = wb.solve(form, problem, max_rounds=300)
    assert first.status == later.status == "limit"
    assert 0 < first.lower < later.lower < later.upper <= first.upper
    for solution in (first, later):
        proof = verify(solution.certificate.save(tmp_path / "c"))
        assert proof["proven"]
        assert proof["lower"] == pytest.approx(solution.lower, rel=1e-12)


def test_the_check_confirms_the_search_in_spite_of_rounding():
    """Errors of boxes would grow from node to node; the search's boxes are larger than the check's, so none do."""
    problem, form = noisy(40, 5, 1), SelfPaced(C=100.0, K=40 / 25)
    solution = wb.solve(form, problem, max_rounds=150)
    bounds, tree = CappedBounds(form, problem), solution.certificate.tree
    assert solution.lower >= solution.history[-2]["lower"] > 0
    for slip in (1e-14, 1e-13, 1e-12):
        assert bounds.proven(tree, solution.upper * (1 + slip)) == pytest.approx(solution.lower, rel=1e-6)


@pytest.fixture(scope="module")
def proved():
    return wb.solve(SelfPaced(C=10.0, K=2.4), noisy(20, 3, 1))


def test_certificates_hold_what_they_claim(proved, tmp_path):
    path = proved.certificate.save(tmp_path / "c")
    proof = verify(path)
    assert proof["proven"]
    assert proof["gap"] <= 1e-9
    assert (proof["proof"], proof["arithmetic"], proof["reason"]) == ("tree", "rational", None)
    assert proved.lower <= Fraction(proof["lower_exact"]) <= Fraction(proof["upper_exact"]) <= proved.upper
    again, header = load(path)
    assert header["formulation"] == {"name": "self-paced", "version": 1, "settings": {"C": 10.0, "K": 2.4}}
    assert (again.tree.weights != proved.certificate.tree.weights).nnz == 0


def cropped(tree, keep):
    """The tree without some nodes, none of which may have children that stay."""
    place = np.cumsum(keep) - 1
    return Tree(place[tree.parents[keep]], tree.branches[keep], tree.cutoffs[keep], tree.weights[keep])


def test_a_tree_that_lacks_a_leaf_proves_less(proved):
    tree, bounds = proved.certificate.tree, CappedBounds(proved.formulation, proved.problem)
    assert bounds.proven(tree, proved.upper) == pytest.approx(proved.lower, rel=1e-12)
    halves = np.flatnonzero((tree.branches >= 0) & ~np.isin(np.arange(len(tree.parents)), tree.parents))
    for leaf in halves[:: max(len(halves) // 5, 1)]:
        keep = np.arange(len(tree.parents)) != leaf
        assert bounds.proven(cropped(tree, keep), proved.upper) < proved.lower * (1 - 1e-6)


@pytest.mark.parametrize("change", ["weights", "branches", "cutoff", "swapped"])
def test_a_tree_of_another_search_is_not_believed(proved, change, tmp_path):
    """Tampered trees still prove true bounds, but not the claimed ones."""
    tree = proved.certificate.tree
    if change == "weights":
        tree = tree._replace(weights=tree.weights * 0.5)
    elif change == "branches":
        tree = tree._replace(branches=np.where(tree.branches == AGAIN, AGAIN, tree.branches ^ 2 % 40))
    elif change == "cutoff":
        tree = tree._replace(cutoffs=tree.cutoffs * 3)
    else:
        tree = tree._replace(weights=tree.weights[::-1])
    proof = verify(replace(proved.certificate, tree=tree).save(tmp_path / "c"))
    assert not proof["proven"]
    assert proof["lower"] <= proved.upper


def test_a_cutoff_below_the_optimum_shrinks_nothing_too_far(proved, tmp_path):
    """Cutoffs are raised to the proven upper bound, so that a certificate cannot lie about them."""
    tree = proved.certificate.tree._replace(cutoffs=np.zeros_like(proved.certificate.tree.cutoffs))
    proof = verify(replace(proved.certificate, tree=tree).save(tmp_path / "c"))
    assert proof["lower"] <= proved.upper


@pytest.mark.parametrize(
    ("array", "value", "message"),
    [
        ("tree_parents", np.array([0, 5]), "behind their parents|described"),
        ("tree_data", np.array([-1.0]), "not a readable certificate"),
        ("tree_cuts", np.array(3), "not a readable certificate|other cuts"),
    ],
)
def test_damaged_trees_are_one_sentence(proved, array, value, message, tmp_path):
    path = proved.certificate.save(tmp_path / "c")
    with np.load(path.with_suffix(".npz")) as archive:
        parts = {name: archive[name] for name in archive.files}
    np.savez(path.with_suffix(".npz"), **parts | {array: value})
    with pytest.raises(wb.BadInput, match=message):
        verify(path)


def test_a_certificate_without_its_tree_is_refused(proved, tmp_path):
    path = replace(proved.certificate, tree=None).save(tmp_path / "c")
    with pytest.raises(wb.BadInput, match="not proven by cuts but by tree"):
        verify(path)


# ── command, refusals ─────────────────────────────────────────────────────────────────────────────


def test_the_command_solves_and_verifies(tmp_path):
    words = ["solve", "toy", "self-paced", "--set", "n=20", "--set", "C=10", "--set", "K=1.6", "--json"]
    done = CliRunner().invoke(cli, [*words, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["status"] == "optimal"
    assert 0 < record["lower"] <= record["upper"]
    assert record["gap"] <= 1e-9
    checked = CliRunner().invoke(cli, ["verify", str(tmp_path), "--json"])
    assert checked.exit_code == 0
    assert json.loads(checked.stdout)["proven"]


def test_backends_masters_and_groups_are_refused():
    for word in ({"backend": "CLARABEL"}, {"master": "gram"}, {"groups": "one"}):
        with pytest.raises(wb.MissingCapability, match="search of our own"):
            wb.solve(SelfPaced(), noisy(5, 2, 0), **word)


@pytest.mark.parametrize("settings_", [{"C": 0.0}, {"K": -1.0}, {"C": float("inf")}, {"K": True}])
def test_settings_out_of_range(settings_):
    with pytest.raises(wb.BadInput, match="must be positive"):
        SelfPaced(**settings_)


def test_too_many_cuts_are_refused():
    rng = np.random.default_rng(0)
    problem = wb.Multiclass(rng.normal(size=(300, 400)), np.arange(300) % 40)
    with pytest.raises(wb.MissingCapability, match="too many"):
        search(CappedBounds(SelfPaced(), problem), Request())


def test_extremes_end():
    """One sample; all terms capped at once; nothing capped ever; points with no features."""
    one = wb.Multiclass([[1.0, 2.0]], [0], classes=[0, 1])
    flat = wb.Multiclass([[0.0], [0.0], [1.0]], [0, 1, 1])
    forms = SelfPaced(1.0, 1e6), SelfPaced(1.0, 1e-6), SelfPaced(1e3, 1.0)
    for problem, form in itertools.product((one, flat), forms):
        solution = wb.solve(form, problem)
        assert solution.status == "optimal", (problem, form, solution)
