"""Passes in threads: D never falls, the weights stay feasible, and a number of threads gives one result."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

import numpy as np
import pytest

import workbench as wb
from workbench.arithmetic import compiled as machine
from workbench.contracts import Cuts
from workbench.proofs.any_bounds import bounds_for
from workbench.solving.block_ascent import lane_loops
from workbench.solving.block_ascent import lanes as lanes
from workbench.solving.block_ascent.lanes import Lanes, misfit
from workbench.system.journal import Journal
from workbench.system.threads import Threads

pytestmark = pytest.mark.skipif(not machine.available(), reason="numba is not installed: pip install 'cutbench[fast]'")
LAM = 0.02


@pytest.fixture(scope="module")
def hands():
    """So many threads, by their number."""
    found = {count: Threads(count) for count in (2, 3)}
    yield found
    for each in found.values():
        each.end()


def words(n=30, copies=1):
    """A chain of n noisy words of six letters out of five, each of them `copies` times."""
    rng = np.random.default_rng(5)
    letters = rng.integers(5, size=(n, 6))
    looks = np.eye(5)[letters] + rng.normal(scale=0.7, size=(n, 6, 5))
    return wb.Chain(list(looks) * copies, [["abcde"[k] for k in word] for word in letters] * copies)


def ascent_of(problem, hands, count=2, lam=LAM):
    bounds = bounds_for(wb.SoftMargin(lam=lam), problem)
    curvature = float(bounds.regularizer.curvature)
    return bounds, Lanes(bounds.oracle, problem.truth, bounds.prices.floats(), curvature, hands[count])


def passes(problem, hands, count=2, many=6):
    bounds, ascent = ascent_of(problem, hands, count)
    for _ in range(many):
        ascent.advance()
    return bounds, ascent


@pytest.mark.parametrize(("count", "copies"), [(2, 1), (3, 4)])
def test_the_dual_rises_to_the_optimum(hands, count, copies):
    """Copies of one word in several lanes would overshoot, if their moves were added up without a look at D."""
    problem = words(copies=copies)
    bounds, ascent = ascent_of(problem, hands, count)
    before = ascent.floor
    for _ in range(80):
        ascent.advance()
        assert ascent.floor >= before - 1e-12
        before = ascent.floor
    samples, witnesses, weights = ascent.duals()
    slopes, offsets = bounds.oracle.rows(samples, witnesses)
    assert (weights >= 0).all()
    assert np.allclose(np.bincount(samples, weights, len(problem.truth)), bounds.prices.floats(), rtol=1e-9)
    assert np.allclose(ascent.theta, -(slopes.T @ weights) / bounds.regularizer.curvature, atol=1e-9)
    assert ascent.floor == pytest.approx(offsets @ weights - ascent.curvature / 2 * (ascent.theta @ ascent.theta))
    upper, cuts = bounds.upper(ascent.theta), Cuts.distinct(samples, witnesses, slopes, offsets)
    lower = bounds.lower(cuts, bounds.balanced(cuts, weights), upper)
    reference = wb.solve(wb.SoftMargin(lam=LAM), problem, gap=1e-6)
    assert reference.lower * (1 - 1e-3) <= lower <= reference.upper
    assert upper - lower <= 5e-3 * upper
    assert ascent.risks([ascent.theta])[0] + bounds.regularizer.value(ascent.theta) == pytest.approx(upper, rel=1e-9)


def test_a_number_of_threads_gives_one_result(hands):
    """Also where another thread keeps a core busy."""
    quiet = passes(words(), hands)[1]
    over = Event()

    def burn():
        while not over.is_set():
            sum(range(1000))

    busy = Thread(target=burn)
    busy.start()
    try:
        beside = passes(words(), hands)[1]
    finally:
        over.set()
        busy.join()
    assert quiet.theta.tobytes() == beside.theta.tobytes()
    assert quiet.duals()[2].tobytes() == beside.duals()[2].tobytes()


def test_a_clock_between_rounds_changes_nothing(hands):
    """A run that may end anywhere makes the same moves."""
    _, free = ascent_of(words(), hands)
    _, watched = ascent_of(words(), hands)
    for _ in range(8):
        free.advance()
        watched.advance(late=lambda: False)
    assert free.theta.tobytes() == watched.theta.tobytes()
    assert free.gap == watched.gap


def test_a_pass_that_is_late_ends_early(hands, monkeypatch):
    monkeypatch.setattr(lanes, "PIECE", 1)
    _, ascent = ascent_of(words(), hands)
    ascent.advance(late=lambda: True)
    assert ascent.gap == np.inf
    assert ascent.floor > 0


def test_an_error_in_one_thread_stops_all(hands, monkeypatch):
    """Nobody waits for a thread that has left."""
    _, ascent = ascent_of(words(), hands)
    whole = ascent.arguments

    def broken(k, *rest):
        if k == 1:
            raise MemoryError("no room")
        return whole(k, *rest)

    monkeypatch.setattr(ascent, "arguments", broken)
    with pytest.raises(MemoryError, match="no room"):
        ascent.advance()


def test_threads_meet_as_often_as_they_like():
    meet, gate, leave = machine.barrier()
    with ThreadPoolExecutor(3) as threads:
        done = list(threads.map(lambda k: [meet(gate, 3) for _ in range(200)], range(3)))
    assert done == [[1] * 200] * 3
    leave(gate)
    assert meet(gate, 2) == 0


def test_solve_takes_threads_for_passes(monkeypatch, tmp_path):
    monkeypatch.setattr(lanes, "MANY", 10)
    problem, formulation = words(40), wb.SoftMargin(lam=LAM)
    alone = wb.solve(formulation, problem, gap=1e-5, master="dual-block")
    beside = wb.solve(formulation, problem, gap=1e-5, master="dual-block", threads=2, journal=tmp_path / "run")
    assert (beside.status, beside.parallel) == ("optimal", "2 threads")
    assert beside.theta_flat.tobytes() != alone.theta_flat.tobytes()  # lanes, not the one thread's passes
    assert max(alone.lower, beside.lower) <= min(alone.upper, beside.upper)
    path = beside.certificate.save(tmp_path / "certificate")
    assert wb.verify(path, data=problem)["proven"]
    half = wb.solve(formulation, problem, gap=1e-3, master="dual-block", threads=2, journal=tmp_path / "half")
    assert half.status == "optimal"


def test_a_run_of_passes_goes_on_with_other_threads(monkeypatch, tmp_path):
    monkeypatch.setattr(lanes, "MANY", 10)
    problem, formulation = words(40), wb.SoftMargin(lam=LAM)
    first = wb.solve(
        formulation, problem, gap=1e-7, master="dual-block", threads=3, time_limit=1e-3, journal=tmp_path / "run"
    )
    assert first.status == "limit"
    with Journal.resume(tmp_path / "run") as journal:
        found = wb.solve(formulation, problem, gap=1e-7, master="dual-block", threads=2, journal=journal)
    assert found.status == "optimal"


def test_hard_margins_take_threads(monkeypatch):
    monkeypatch.setattr(lanes, "MANY", 10)
    problem = words(12)
    alone, beside = (wb.solve(wb.HardMargin(), problem, gap=1e-4, master="dual-block", threads=k) for k in (1, 2))
    assert alone.status == beside.status == "optimal"
    assert max(alone.lower, beside.lower) <= min(alone.upper, beside.upper)


@pytest.mark.parametrize("asking", [True, False])
def test_rounds_take_equally_long(hands, asking):
    """But for the visit on which one ends; the oracle takes the longer the longer a sequence is."""
    problem = wb.load_problem("synthetic-chain")(n=150, labels=4, length=9)
    _, ascent = passes(problem, hands, many=3)
    for lane in ascent.lanes:
        state, rounds = lane.state.pool, len(lane.ends) - 1
        work, ends = np.full(len(problem.truth), -1), np.full(rounds + 1, -1)
        lane_loops.weighed(state, asking, work)
        for i in lane.samples:
            r = state.member[i, : state.count[i]]
            entries = lane_loops.VISIT + lane_loops.CUT * len(r) + int((state.last[r] - state.first[r]).sum())
            if asking:
                assert work[i] == entries + lane_loops.PART * problem.lengths[i]
            else:
                assert work[i] == (entries if len(r) > 1 else 0)
        lane_loops.dealt(lane.samples, work, ends)
        assert ends[0] == 0
        assert ends[-1] == len(lane.samples)
        done, share = np.append(0, np.cumsum(work[lane.samples])), work[lane.samples].sum() / rounds
        assert (np.abs(done[ends] - share * np.arange(rounds + 1)) <= work.max()).all()
        assert (np.diff(ends) >= 0).all()


def test_samples_of_one_cut_are_dealt_to_one_round():
    """No visit takes any time then."""
    ends = np.full(4, -1)
    lane_loops.dealt(np.arange(6), np.zeros(6, int), ends)
    assert ends.tolist() == [0, 1, 1, 6]


@pytest.mark.parametrize("length", [1, 4, 7, 8, 4082])
def test_moves_of_three_lanes_are_added(length):
    """And the inner products of each two."""
    own, *theta = np.random.default_rng(length).normal(size=(4, length))
    moves, moved = [each - own for each in theta], np.full(length, np.nan)
    first = lane_loops.joined(theta[0], theta[1], own, moved)
    assert first == pytest.approx(moves[0] @ moves[1])
    np.testing.assert_allclose(moved, moves[0] + moves[1])
    second = lane_loops.added(theta[2], own, moved)
    assert second == pytest.approx(moves[0] @ moves[2] + moves[1] @ moves[2])
    np.testing.assert_allclose(moved, moves[0] + moves[1] + moves[2])


def test_a_repacked_pool_takes_the_memory_of_the_one_before(hands):
    """And the passes are the same as in new memory, to the last bit."""
    thetas, places = [], {True: set(), False: set()}
    for spare in (True, False):
        _, ascent = ascent_of(words(60), hands)
        kept = []
        for _ in range(40):
            for lane in ascent.lanes:
                places[spare].add(lane.state.pool.product.ctypes.data)
                kept.append(lane.state.pool)  # so that no address comes twice unless the memory is the same
                lane.state.spare = lane.state.spare if spare else None
            ascent.advance()
        thetas.append(ascent.theta.tobytes())
    assert thetas[0] == thetas[1]
    assert len(places[True]) < len(places[False])


def test_where_one_thread_is_as_fast():
    assert misfit(10_000, 4082) == ""
    assert "fewer than 2,000 samples" in misfit(626, 4082)
    assert "100,000 entries" in misfit(10_000, 686_435)
