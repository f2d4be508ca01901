"""The finish between passes: the weights on the cuts of the moment, solved for, where more passes would be needed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from workbench.arithmetic.compiled import available
from workbench.contracts import Cuts, Rows
from workbench.formulations.cost_learning import SimplexCostLearning
from workbench.formulations.hard_margin import HardMargin
from workbench.formulations.soft_margin import SoftMargin
from workbench.objectives.oracles import MarginRescaling, called_kernel
from workbench.outputs.chain import Chain
from workbench.outputs.multiclass import Multiclass
from workbench.proofs.bounds import Bounds
from workbench.solving.family import Family
from workbench.solving.masters import finish as module
from workbench.solving.masters.finish import Finish, interior, of_lower, remaining
from workbench.solving.masters.master import MasterAnswer
from workbench.solving.masters.passes import Passes
from workbench.solving.progress import Clock
from workbench.solving.solve import solve
from workbench.system.journal import Journal

pytestmark = pytest.mark.skipif(not available(), reason="passes need numba")
GAP = 1e-9


def sentences(n=20, k=4, p=5, longest=9, seed=0):
    """Long outputs and few weights: far more cuts hold the optimum than are independent."""
    rng = np.random.default_rng(seed)
    y = [rng.integers(0, k, rng.integers(2, longest)) for _ in range(n)]
    return Chain([np.eye(k, p)[each] + rng.normal(size=(len(each), p)) for each in y], y, classes=np.arange(k))


def labels(n=60, k=5, p=30, seed=0):
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    return Multiclass(np.eye(k, p)[y] + rng.normal(size=(n, p)), y)


def run(form, problem, gap=GAP, passes=None, clock=None):
    found = Passes(Family(Bounds(form, problem), problem.n_samples), gap)
    if passes is not None:
        found.finishing.patient = passes
    found.run(clock or Clock())
    return found


@pytest.mark.parametrize("problem", [sentences(), labels()], ids=["sentences", "labels"])
@pytest.mark.parametrize("form", [SoftMargin(0.003), SoftMargin(0.003, rescaling="slack")], ids=["margin", "slack"])
def test_a_finish_reaches_in_few_passes_what_passes_alone_do_not(form, problem, monkeypatch):
    quick = run(form, problem)
    assert quick.reached
    assert quick.finishing.since > 0
    monkeypatch.setattr(Finish, "due", lambda *given: False)
    alone = run(form, problem)
    assert not alone.reached or alone.ascent.passes > 1.3 * quick.ascent.passes
    assert max(alone.state.lower, quick.state.lower) <= min(alone.state.upper, quick.state.upper)


@pytest.mark.parametrize("problem", [sentences(), labels()], ids=["sentences", "labels"])
def test_passes_go_on_from_the_weights_of_a_finish(problem):
    """θ follows from the weights that are handed over, and no pass after the finish lowers the dual."""
    form = SoftMargin(0.01)
    passes = Passes(Family(Bounds(form, problem), problem.n_samples), GAP)
    for _ in range(10):
        passes.ascent.advance(lambda: False)
    passes.certify(Clock(), [passes.ascent.theta])
    before = passes.state.lower
    passes.finish(Clock())
    after = passes.state.lower
    samples, witnesses, weights = passes.ascent.duals()
    slopes, _ = passes.bounds.rows(samples, witnesses)
    np.testing.assert_allclose(passes.ascent.theta, -slopes.T @ weights / 0.01, atol=1e-9)
    np.testing.assert_allclose(np.bincount(samples, weights), np.full(problem.n_samples, 1 / problem.n_samples))
    passes.ascent.advance(lambda: False)
    samples, witnesses, weights = passes.ascent.duals()
    cuts = Cuts(passes.bounds.oracle.dim, passes.bounds.oracle.width)
    mu = np.zeros(len(samples))
    np.add.at(mu, cuts.add(samples, witnesses, passes.bounds.oracle.rows), weights)
    assert before < after <= passes.bounds.lower(cuts, mu[: len(cuts)]) + 1e-12


def tall(n=60, k=4, p=12, seed=0):
    """Labels beside a constant feature that outweighs the others."""
    problem = labels(n, k, p, seed)
    return Multiclass(np.hstack([problem.X.toarray(), np.full((n, 1), 300.0)]), problem.labels)


def test_one_feature_that_outweighs_all_others_costs_few_passes(monkeypatch):
    """Each finish of the active set gains little there, and the interior-point method nearly all."""
    form, problem = SoftMargin(0.01), tall()
    quick = run(form, problem, 1e-6)
    assert quick.reached
    monkeypatch.setattr(Finish, "worth", lambda *given: False)
    alone = run(form, problem, 1e-6)
    assert alone.ascent.passes > 2 * quick.ascent.passes
    assert max(alone.state.lower, quick.state.lower) <= min(alone.state.upper, quick.state.upper)


@pytest.mark.parametrize("seed", range(4))
def test_the_interior_point_method_solves_for_groups_of_several_rows(seed):
    """Against CLARABEL on all rows, of which those that are alone in their group keep their weight."""
    cp, rng = pytest.importorskip("cvxpy"), np.random.default_rng(seed)
    groups, curvature = np.array([0, 0, 0, 1, 2, 2, 3, 4, 4, 4]), 0.3
    A, offsets, prices = rng.normal(size=(10, 4)), rng.uniform(size=10), rng.uniform(0.1, 1, 5)
    rows = Rows(sparse.csr_array(A), offsets, groups)
    started = prices[groups] / np.bincount(groups)[groups]
    beta, sums = interior(rows, started, prices, curvature), rows.membership(5).T
    np.testing.assert_allclose(sums @ beta, prices)
    assert (beta >= 0).all()
    best = cp.Variable(10, nonneg=True)
    dual = cp.Maximize(offsets @ best - cp.sum_squares(A.T @ best) / (2 * curvature))
    cp.Problem(dual, [sums @ best == prices]).solve(cp.CLARABEL)
    assert offsets @ beta - np.sum((A.T @ beta) ** 2) / (2 * curvature) == pytest.approx(dual.value, abs=1e-6)


@pytest.mark.parametrize(
    ("rows", "passes", "seconds", "fresh", "worth"),
    [
        (100, 60, np.inf, [(20, 1e-3), (60, 5e-4)], True),
        (100, 9, np.inf, [(20, 1e-3), (60, 5e-4)], False),  # dearer than all passes so far
        (100, 39, np.inf, [(20, 1e-3), (60, 5e-4)], False),  # soon after it gained nothing
        (1501, 600, np.inf, [(20, 1e-3), (60, 5e-4)], False),
        (100, 60, 1e-9, [(20, 1e-3), (60, 5e-4)], False),
        (100, 60, np.inf, [(20, 1e-3), (60, 1.1e-9)], False),  # fewer passes than its cost do the rest
    ],
)
def test_the_interior_point_method_is_tried_where_it_saves_passes(rows, passes, seconds, fresh, worth):
    bounds = Bounds(SoftMargin(0.01), labels(12, 3))
    finish = Finish(bounds, np.arange(12), GAP, 60)
    finish.fresh, finish.next_interior = fresh, 40 if passes == 39 else 0
    given = Rows(sparse.csr_array((rows, 1)), np.zeros(rows), np.zeros(rows, int))
    assert finish.worth(given, passes, seconds) is worth


@pytest.mark.parametrize("answer", [np.nan, 0.0, 1.0])
def test_weights_of_a_backend_that_fails_are_not_taken(answer, monkeypatch):
    rows = Rows(sparse.csr_array(np.eye(4)), np.array([3.0, 0.0, 3.0, 0.0]), np.array([0, 0, 1, 1]))
    found = MasterAnswer(np.zeros(4), np.full(4, answer), "failed")
    monkeypatch.setattr("workbench.solving.masters.master.GramMaster.solve", lambda *given: found)
    best = np.array([1.0, 0.0, 1.0, 0.0])
    assert interior(rows, best, np.ones(2), 5.0) is None


def test_there_is_nothing_to_solve_where_every_row_is_alone_in_its_group():
    rows = Rows(sparse.csr_array(np.eye(2)), np.ones(2), np.arange(2))
    assert interior(rows, np.full(2, 0.5), np.ones(2), 5.0) is None


def test_without_a_backend_for_it_passes_do_without(monkeypatch):
    monkeypatch.setattr(module, "first_installed", lambda kind: None)
    assert run(SoftMargin(0.01), tall(), 1e-3).reached


def test_no_finish_where_weights_follow_no_linear_equations():
    assert not Passes(Family(Bounds(HardMargin(), labels(12, 3)), 12), GAP).finishing.possible
    assert not Passes(Family(Bounds(SimplexCostLearning(lam2=0.1, K=5.0), labels(12, 3)), 12), GAP).finishing.possible


def due(monkeypatch=None, passes=60, estimates=((20, 1e-3), (60, 5e-4)), left=np.inf, soon=0, **constants):
    """Whether passes in this state would make a finish."""
    for name, value in constants.items():
        monkeypatch.setattr(module, name, value)
    found = Passes(Family(Bounds(SoftMargin(0.01), sentences()), 20), GAP)
    found.ascent.advance(lambda: False)
    found.ascent.passes, found.finishing.fresh, found.finishing.next = passes, list(estimates), passes + soon
    return found.finishing.due(found.ascent, estimates[-1][1], left, found.stands)


def test_a_finish_is_due_where_it_saves_passes(monkeypatch):
    assert due()
    assert not due(passes=4, estimates=((2, 1e-3), (4, 5e-4)))  # too soon
    assert not due(estimates=((20, 0.5), (60, 0.09)))  # far from the optimum, and falling
    assert due(estimates=((20, 0.1), (60, 0.09)))  # as far, and slow
    assert not due(estimates=((20, 1e-3), (60, 1.1e-9)))  # two passes more do it
    assert not due(estimates=((20, 1e-3), (60, 1e-10)))  # nothing is left
    assert not due(soon=1)
    assert due(passes=90, estimates=((30, 1e-3), (90, 9e-4)), soon=1)  # else the passes end
    assert not due(monkeypatch, FEW=3)
    assert not due(monkeypatch, FEW=5000, DEAR=0.1)  # dearer than all passes so far
    assert not due(monkeypatch, DEAR=50, PACE=1e-3, left=10.0)
    assert due(monkeypatch, PACE=5e9, left=10.0)
    assert not due(monkeypatch, fits=lambda kind, bounds, rows: False)


def test_passes_that_remain_follow_from_the_last_half():
    assert remaining([(10, 1e-2), (20, 1e-3)], 1e-5) == pytest.approx(20)
    assert remaining([(1, 1.0), (10, 1e-2), (15, 5e-3), (20, 1e-3)], 1e-4) == pytest.approx(10)
    assert remaining([(10, 1e-3), (20, 1e-3)], 1e-5) == np.inf
    assert remaining([(10, 1e-3)], 1e-5) == np.inf
    assert remaining([(10, 1e-3), (20, 0.0)], 1e-5) == np.inf


def test_where_floats_cannot_tell_passes_leave_the_proof_to_fractions(tmp_path, monkeypatch):
    """The argmax claims to miss more than the gap; with a journal one round follows, and a resumed run adds none."""
    monkeypatch.setattr(MarginRescaling, "rounding", lambda self, theta: np.full(self.n_samples, 1e-8))
    problem, form, options = sentences(), SoftMargin(0.01), {"gap": GAP, "master": "dual-block"}
    found = solve(form, problem, **options)
    assert found.status == "optimal"
    assert found.history[-1]["gap"] > GAP >= found.gap
    kept = solve(form, problem, **options, journal=tmp_path / "run")
    assert (kept.status, kept.rounds) == ("optimal", 1)
    with Journal.resume(tmp_path / "run") as journal:
        again = solve(form, problem, **options, journal=journal)
    assert (again.status, again.rounds <= 2) == ("optimal", True)


def test_a_limit_of_rounds_asks_for_rounds():
    counted = solve(SoftMargin(0.01), sentences(n=80), max_rounds=2)
    assert (counted.status, counted.master) == ("limit", "ascent")
    assert solve(SoftMargin(0.01), sentences(n=80)).master == "dual-block"


def test_passes_in_python_do_not_come_first(monkeypatch):
    """Of outputs without a compiled argmax: a pass would ask it sample by sample."""
    problem = sentences(n=80)
    plain = MarginRescaling(problem)
    monkeypatch.setattr(MarginRescaling, "kernel", lambda self, arranged=False: called_kernel(plain))
    assert solve(SoftMargin(0.1), problem, gap=1e-3).master == "ascent"


def test_a_gap_relative_to_the_lower_end():
    assert [of_lower(gap) for gap in (0.0, 0.5, 0.75, 1 - 2.0**-10)] == [0.0, 1.0, 3.0, 1023.0]
    assert [of_lower(gap) for gap in (1 - 1e-7, 1.0, 2.0)] == pytest.approx([1e6, 1e6, 2e6])


@pytest.mark.parametrize(("base", "due"), [(0.9, False), (0.999, True)])
def test_passes_whose_lower_end_grows_from_nothing_are_not_slow(base, due):
    """After 25 passes the gap has not halved; relative to the lower end it falls by a tenth a pass, or hardly."""
    problem = sentences()
    passes = Passes(Family(Bounds(SoftMargin(0.01), problem), problem.n_samples), GAP)
    for k in range(1, 26):
        passes.ascent.advance(lambda: False)
        odds = 50 * base**k
        estimate = odds / (1 + odds)
        passes.finishing.note(k, estimate)
    assert estimate > 0.5 * 50 / 51
    assert passes.finishing.due(passes.ascent, estimate, np.inf, False) == due
