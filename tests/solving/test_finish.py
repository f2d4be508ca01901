"""The finish between passes: the weights on the cuts of the moment, solved for, where more passes would be needed."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.arithmetic.compiled import available
from workbench.contracts import Cuts
from workbench.formulations.cost_learning import SimplexCostLearning
from workbench.formulations.hard_margin import HardMargin
from workbench.formulations.soft_margin import SoftMargin
from workbench.objectives.oracles import MarginRescaling, called_kernel
from workbench.outputs.chain import Chain
from workbench.outputs.multiclass import Multiclass
from workbench.proofs.bounds import Bounds
from workbench.solving.family import Family
from workbench.solving.masters import passes as module
from workbench.solving.masters.passes import Passes, remaining
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
        found.patient = passes
    found.run(clock or Clock())
    return found


@pytest.mark.parametrize("problem", [sentences(), labels()], ids=["sentences", "labels"])
@pytest.mark.parametrize("form", [SoftMargin(0.003), SoftMargin(0.003, rescaling="slack")], ids=["margin", "slack"])
def test_a_finish_reaches_in_few_passes_what_passes_alone_do_not(form, problem, monkeypatch):
    quick = run(form, problem)
    assert quick.reached
    assert quick.since > 0
    monkeypatch.setattr(Passes, "due", lambda self, estimate, clock, still: False)
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


def test_no_finish_where_weights_follow_no_linear_equations():
    assert not Passes(Family(Bounds(HardMargin(), labels(12, 3)), 12), GAP).finishes
    assert not Passes(Family(Bounds(SimplexCostLearning(lam2=0.1, K=5.0), labels(12, 3)), 12), GAP).finishes


def due(monkeypatch=None, passes=60, estimates=((20, 1e-3), (60, 5e-4)), left=np.inf, soon=0, **constants):
    """Whether passes in this state would make a finish."""
    for name, value in constants.items():
        monkeypatch.setattr(module, name, value)
    found = Passes(Family(Bounds(SoftMargin(0.01), sentences()), 20), GAP)
    found.ascent.advance(lambda: False)
    found.ascent.passes, found.estimates, found.fresh = passes, list(estimates), list(estimates)
    found.next_finish = passes + soon
    clock = Clock(None if np.isinf(left) else left)
    return found.due(estimates[-1][1], clock, found.stands(60))


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
