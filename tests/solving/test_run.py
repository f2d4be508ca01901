"""The stochastic loop: compiled = interpreted, honest bounds, replayed duals, cached compilation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import pytest

import workbench as wb
from workbench.arithmetic import compiled as machine
from workbench.errors import BadInput, MissingCapability
from workbench.formulations.crf import CRF
from workbench.formulations.hard_margin import HardMargin
from workbench.formulations.soft_margin import SoftMargin
from workbench.outputs.linear import Linear
from workbench.outputs.multiclass import Multiclass
from workbench.proofs.bounds import Bounds
from workbench.registries import registry
from workbench.solvers import bcfw
from workbench.solvers.bcfw import BCFW
from workbench.solvers.subgradient import Subgradient
from workbench.solving.stochastic import Replay, run

SOLVERS = [solver() for _, solver in registry("solver").items()]
SOLVERS += [Subgradient(average="last", batch=4), BCFW(average="last")]
SOFT = SoftMargin(lam=0.05)
FORMS = [SOFT, *(formulation() for _, formulation in registry("formulation").items())]
needs_numba = pytest.mark.skipif(not machine.available(), reason="numba is an optional dependency")


def signs() -> Linear:
    """Scores of two signs, whose slack rescaling has no kernel."""
    rng = np.random.default_rng(5)
    return Linear(rng.normal(size=(20, 3)), rng.choice([-1.0, 1.0], 20))


@cache
def blobs(n: int = 40, weighted: bool = False) -> Multiclass:
    """Three overlapping clouds."""
    rng = np.random.default_rng(5)
    y = rng.integers(3, size=n)
    X = rng.normal(size=(n, 4)) + np.eye(3, 4)[y]
    return Multiclass(X, y, weights=rng.integers(0, 4, n) if weighted else None)


@cache
def scores(weighted: bool = False) -> Linear:
    """The first cloud against the others."""
    clouds = blobs(weighted=weighted)
    return Linear(clouds.X, np.where(clouds.labels == 0, 1, -1), clouds.weights)


def own(solver, weighted: bool = False):
    """The first formulation and problem that the solver takes, the soft margin on clouds before others."""
    problems = blobs(weighted=weighted), scores(weighted)
    return next((form, each) for each in problems for form in FORMS if solver.misfit(form, each) is None)


@cache
def nearly_solved(weighted: bool):
    return run(BCFW(), SOFT, blobs(weighted=weighted), passes=1500, checkpoints=[1500])


@needs_numba
@pytest.mark.parametrize("order", ["uniform", "permutation"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_compiled_and_interpreted_runs_are_equal_to_the_last_bit(solver, weighted, order):
    fast, slow = (
        run(solver, *own(solver, weighted), passes=6, rng=3, compiled=how, order=order) for how in (True, False)
    )
    assert (fast.compiled, slow.compiled) == (True, False)
    for name in ("thetas", "upper", "lower", "oracle_calls"):
        np.testing.assert_array_equal(getattr(fast, name), getattr(slow, name))


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_checkpoints_only_look(solver):
    whole = run(solver, *own(solver), passes=7, checkpoints=[7])
    often = run(solver, *own(solver), passes=7, checkpoints=range(1, 8))
    np.testing.assert_array_equal(whole.thetas[-1], often.thetas[-1])
    np.testing.assert_allclose(whole.lower[-1], often.lower[-1], rtol=1e-12)
    assert often.oracle_calls.tolist() == [40 * k for k in range(1, 8)]


def test_log_is_cut_into_chunks_without_effect(monkeypatch):
    whole = run(BCFW(), SOFT, blobs(), passes=8, checkpoints=[8])
    monkeypatch.setattr("workbench.solving.stochastic.LOGGED", 1)
    cut = run(BCFW(), SOFT, blobs(), passes=8, checkpoints=[8])
    np.testing.assert_array_equal(whole.thetas, cut.thetas)
    np.testing.assert_allclose(whole.lower, cut.lower, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", [s for s in SOLVERS if s.misfit(SOFT, blobs()) is None], ids=str)
def test_every_checkpoint_bounds_the_same_optimum(solver, weighted):
    problem, best = blobs(weighted=weighted), nearly_solved(weighted)
    assert (best.upper - best.lower)[0] < 1e-4
    trace = run(solver, SOFT, problem, passes=100)
    assert (trace.upper >= best.lower[0]).all()
    assert trace.upper[-1] - best.lower[0] < 0.1
    if solver.dual:
        assert (trace.lower <= best.upper[0]).all()
        assert (trace.drift < 1e-12).all()
        assert trace.lower[-1] > best.upper[0] - 0.02
    else:
        assert np.isnan(trace.lower).all()
    assert (trace.upper - best.lower[0] <= trace.bound).all()


def test_replay_repeats_the_dual_weights_and_their_average():
    """Against the definition, one visit after the other over dense weights."""
    bounds, rng = Bounds(SOFT, blobs(8)), np.random.default_rng(0)
    replay, alpha = Replay(bounds, compiled=False), np.zeros((8, 3))
    alpha[np.arange(8), bounds.problem.labels] = 1
    mean = alpha.copy()
    for visits in (1, 30, 17):
        order, labels = rng.integers(8, size=visits), rng.integers(3, size=(visits, 1))
        steps = rng.choice([0.0, 1.0, 0.3, 0.7], size=(visits, 2))
        for i, label, (gamma, rho) in zip(order, labels[:, 0], steps, strict=True):
            alpha[i] = (1 - gamma) * alpha[i] + gamma * np.eye(3)[label]
            mean = (1 - rho) * mean + rho * alpha
        replay.advance(order, labels, steps)
        for ours, expected in ((replay.alpha, alpha), (replay.mean, mean)):
            dense = np.zeros((8, 3))
            dense[replay.cuts.samples, replay.cuts.witnesses[:, 0]] = ours
            np.testing.assert_allclose(dense, expected, atol=1e-14)


@dataclass(frozen=True)
class Boaster(BCFW):
    """Reports other weights than those of its dual."""

    name: ClassVar[str] = "bcfw"

    def report(self, state):
        return 1.001 * state.mean


def test_replay_exposes_weights_that_are_not_the_duals():
    trace = run(Boaster(), SOFT, blobs(), passes=20)
    assert trace.drift == pytest.approx(0.001)


def test_replay_is_calm_where_the_cuts_cancel():
    """Two copies with opposite labels: the optimum is w = 0, a sum of large cuts."""
    trace = run(BCFW(), SoftMargin(lam=1e-3), Multiclass(1e3 * np.ones((2, 3)) / 3, [0, 1]), passes=200)
    assert (trace.drift < 1e-7).all()


def test_bcfw_never_decreases_its_dual():
    trace = run(BCFW(average="last"), SOFT, blobs(), passes=60, checkpoints=range(1, 61))
    assert (np.diff(trace.lower) > -1e-12).all()


@pytest.mark.parametrize("solver", [Subgradient(), BCFW()], ids=str)
def test_weights_mean_the_same_as_copies(solver):
    """F is the same function, so both runs approach the same optimum, and samples of weight 0 are never visited."""
    weighted = blobs(weighted=True)
    times = weighted.weights.astype(int)
    copies = Multiclass(weighted.X.toarray().repeat(times, axis=0), weighted.labels.repeat(times))
    runs = [run(solver, SOFT, problem, passes=1000, checkpoints=[1000]) for problem in (weighted, copies)]
    assert runs[0].oracle_calls[-1] == 1000 * np.count_nonzero(times)
    assert runs[0].upper[-1] == pytest.approx(runs[1].upper[-1], abs=2e-3)
    assert Bounds(SOFT, copies).upper(runs[0].thetas[-1]) == pytest.approx(runs[0].upper[-1], rel=1e-12)


def test_a_batch_is_the_mean_of_its_subgradients():
    """One batch of all samples in a permutation is the deterministic subgradient step."""
    problem = blobs()
    trace = run(Subgradient(average="last", batch=40), SOFT, problem, passes=1, order="permutation")
    bounds, zero = Bounds(SOFT, problem), np.zeros(problem.n_features)
    slopes, _ = bounds.oracle.rows(bounds.samples, bounds.oracle.argmax(zero, bounds.samples))
    np.testing.assert_allclose(trace.thetas[0], -slopes.sum(axis=0) / (40 * SOFT.lam), atol=1e-13)


def test_average_of_the_subgradient_method_is_the_weighted_mean_of_its_iterates():
    last = run(Subgradient(average="last", batch=40), SOFT, blobs(), passes=9, checkpoints=range(1, 10))
    mean = run(Subgradient(batch=40), SOFT, blobs(), passes=9, checkpoints=[9])
    np.testing.assert_allclose(mean.thetas[0], np.average(last.thetas, axis=0, weights=np.arange(1, 10)), atol=1e-12)


@pytest.mark.parametrize("problem", [blobs(), signs()], ids=["compiled", "interpreted"])
def test_slack_rescaling_runs_with_and_without_a_kernel(problem):
    trace = run(BCFW(), SoftMargin(lam=0.05, rescaling="slack"), problem, passes=5)
    assert trace.compiled == (isinstance(problem, Multiclass) and machine.available())
    assert trace.lower[-1] > 0
    assert trace.drift[-1] < 1e-12


def test_observe_sees_every_checkpoint_and_can_stop():
    seen = []
    trace = run(BCFW(), SOFT, blobs(), passes=50, observe=lambda row: seen.append(row.passes) or row.passes >= 5)
    assert seen == trace.passes.tolist() == [1, 2, 3, 5]


@pytest.mark.parametrize("solver", [Subgradient(), BCFW()], ids=str)
def test_refusals_say_why(solver):
    with pytest.raises(MissingCapability, match="hard constraints have none"):
        run(solver, HardMargin(), blobs())
    with pytest.raises(MissingCapability, match="kernel"):
        run(solver, SoftMargin(rescaling="slack"), signs(), compiled=True)
    for wrong in ({"passes": 0}, {"checkpoints": [0]}, {"order": "backwards"}):
        with pytest.raises(BadInput):
            run(solver, SOFT, blobs(), **wrong)


def test_bcfw_refuses_weights_that_do_not_fit_in_memory(monkeypatch):
    monkeypatch.setattr(bcfw, "LARGEST", 1000)
    with pytest.raises(MissingCapability, match="GiB"):
        run(BCFW(), SOFT, blobs())


@needs_numba
def test_second_process_starts_without_compiling(tmp_path):
    script = """
import json, pathlib, os, numpy as np
from workbench.arithmetic import compiled as machine
from workbench.formulations.soft_margin import SoftMargin
from workbench.outputs.linear import Linear
from workbench.outputs.multiclass import Multiclass
from workbench.solving.stochastic import run
from workbench.solvers.subgradient import Subgradient
made, plain = [], machine.compiled
def watched(*arguments):
    made.append(plain(*arguments))
    return made[-1]
machine.compiled = watched
run(Subgradient(), SoftMargin(), Multiclass(np.eye(3), [0, 1, 2]), passes=2, compiled=True)
hits = [sum(each.stats.cache_hits.values()) for each in made]
print(json.dumps([hits, len(list(pathlib.Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nbc")))]))
"""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        json.loads(subprocess.check_output([sys.executable, "-c", script], env=environment)) for _ in range(2)
    )
    assert first == [[0] * 7, 7]  # three functions, as many that open their data, and the loop
    assert second == [[1] * 7, 7]


def test_a_name_is_no_solver_and_a_formulation_without_cuts_has_bounds():
    problem = Multiclass(np.eye(3), [0, 1, 2])
    with pytest.raises(BadInput, match="'bcfw' is no solver; give an object such as BCFW"):
        run("bcfw", SoftMargin(lam=0.1), problem)
    assert wb.Bounds(CRF(lam=0.1), problem).upper(np.zeros(9)) == pytest.approx(np.log(3))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"swapped": True}, "run takes a solver, a formulation, a problem; write for example run"),
        ({"passes": "3"}, "passes is '3'; give a whole number of at least 1."),
        ({"passes": 2.5}, "passes is 2.5; give a whole number"),
        ({"rng": "seed"}, "rng is 'seed', no seed; give a whole number from 0 on"),
        ({"rng": -1}, "rng is -1, no seed"),
    ],
)
def test_arguments_of_another_kind_are_one_sentence(arguments, told):
    pair = [SoftMargin(lam=0.1), Multiclass(np.eye(3), [0, 1, 2])]
    if arguments.pop("swapped", False):
        pair.reverse()
    with pytest.raises(BadInput, match=told):
        run(wb.BCFW(), *pair, **arguments)
