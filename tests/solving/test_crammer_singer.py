"""The ascent for single labels: visits against enumeration, F and D as told against the bounds, the same optima."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, cycle

import numpy as np
import pytest
from scipy import sparse

from workbench.arithmetic import compiled as machine
from workbench.arithmetic.intervals import Interval
from workbench.formulations.fixed_cost import FixedCostLearning
from workbench.formulations.soft_margin import SoftMargin
from workbench.learners.sklearn_crammer_singer import fit
from workbench.outputs.multiclass import Multiclass
from workbench.proofs.bounds import Bounds
from workbench.solving.block_ascent import crammer_singer, crammer_singer_loops
from workbench.solving.block_ascent import crammer_singer_crew as crew
from workbench.solving.block_ascent.crammer_singer import CrammerSinger
from workbench.solving.block_ascent.crammer_singer_lines import pushed, scored
from workbench.solving.block_ascent.crammer_singer_loops import alone, nothing, silent, sweeping
from workbench.solving.block_ascent.crammer_singer_tables import GROUP, PAIR, parted
from workbench.solving.block_ascent.labels import LabelBlocks
from workbench.solving.masters.passes import pass_method
from workbench.solving.solve import solve

needs_numba = pytest.mark.skipif(not machine.available(), reason="numba is an optional dependency")


def labels(n=30, k=4, p=6, seed=0, cost=False, weights=None):
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    costs = rng.uniform(0.5, 2, (k, k)) * (1 - np.eye(k)) if cost else None
    return Multiclass(np.eye(k, p)[y] + rng.normal(size=(n, p)), y, costs, weights)


def ascent_of(problem, lam=0.02, kind=CrammerSinger, compiled=False, threads=1):
    bounds = Bounds(SoftMargin(lam), problem)
    listing, prices = bounds.oracle.listing(), bounds.prices.floats()
    if kind is CrammerSinger:
        return bounds, kind(
            listing, lam, prices, compiled, threads, ThreadPoolExecutor(threads) if threads > 1 else None
        )
    slopes, _ = bounds.oracle.rows(bounds.samples[:1], bounds.problem.truth[:1])
    shape = bounds.regularizer.shape(bounds.oracle.dim)
    return bounds, kind(listing, shape, prices, bounds.start, slopes, compiled)


def projection(v, mass):
    """The point of the simplex {β ≥ 0, Σ β = mass} nearest to v, by trying every support."""
    best, found = np.inf, v
    for size in range(1, len(v) + 1):
        for support in combinations(range(len(v)), size):
            held = list(support)
            beta = np.zeros(len(v))
            beta[held] = v[held] - (v[held].sum() - mass) / size
            if beta.min() >= 0 and np.square(beta - v).sum() < best:
                best, found = np.square(beta - v).sum(), beta
    return found


@pytest.mark.parametrize("scale", [0.03, 1.0, 1e3])
def test_a_visit_moves_to_the_maximum_over_all_labels(scale):
    problem = labels(12, seed=3, cost=True)
    problem = Multiclass(problem.X * scale, problem.labels, problem.cost)
    bounds, blocks = ascent_of(problem, 0.05)
    blocks.advance()
    for i in range(12):
        W, beta = blocks.W.T.copy(), blocks.beta[i].copy()
        x, t = problem.X.toarray()[i], problem.labels[i]
        heights, q = problem.cost[t] + (W - W[t]) @ x, x @ x / 0.05
        place = blocks.listing, np.array([i]), 1, 1, 1, blocks.prices, blocks.curvature, blocks.state
        sweeping(False)(scored, pushed, nothing, silent, *place, *alone(1)[:2], 0, 0, blocks.lanes[0])
        np.testing.assert_allclose(blocks.beta[i], projection(beta + heights / q, 1 / 12), atol=1e-12)
        change = np.outer(blocks.beta[i] - beta, x) / 0.05
        np.testing.assert_allclose(blocks.W.T, W - change, atol=1e-9 * abs(W).max())
    assert bounds.problem is problem


@pytest.mark.parametrize("begun", [False, True])
def test_an_ascent_that_restarts_does_what_a_new_one_does(begun):
    """After passes at another μ, and from given weights or from nothing."""
    problem = labels(30, seed=5)
    used, new = ascent_of(problem, 0.5)[1], ascent_of(problem, 0.02)[1]
    for _ in range(3):
        used.advance()
    given = used.duals()
    used.restart(0.02)
    if begun:
        slopes, offsets = Bounds(SoftMargin(0.02), problem).oracle.rows(*given[:2])
        for each in (used, new):
            each.begin(*given, slopes.T @ given[2], offsets)
    for _ in range(4):
        assert (used.passes, used.known, used.gap) == (new.passes, new.known, new.gap)
        assert (used.theta == new.theta).all()
        for each in (used, new):
            each.advance()


@pytest.fixture
def shared(monkeypatch):
    """Lanes also where a visit is too short for them to save time, and a thread for each."""
    monkeypatch.setattr(crew, "SAVED", -np.inf)


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
@pytest.mark.parametrize("weights", [None, "some"])
@pytest.mark.usefixtures("shared")
def test_what_a_pass_tells_is_what_the_bounds_prove(weights, threads):
    """Of eight inputs, in lanes of unequal sizes."""
    weights = np.arange(30) % 4 + 0.0 if weights else None
    bounds, blocks = ascent_of(labels(k=7, p=8, cost=True, weights=weights), compiled=threads > 1, threads=threads)
    assert blocks.count == threads
    for _ in range(6):
        blocks.advance()
        upper, (samples, witnesses, mass) = bounds.upper(blocks.theta), blocks.duals()
        cuts = bounds.oracle.rows(samples, witnesses)
        lower = cuts[1] @ mass - np.square(cuts[0].T @ mass).sum() / 0.04
        assert blocks.known == pytest.approx(upper, rel=1e-9)
        assert blocks.gap == pytest.approx(upper - lower, rel=1e-6, abs=1e-12)
        np.testing.assert_allclose(blocks.beta.sum(axis=1), bounds.prices.floats(), atol=1e-15)


def at_once(problem, order, lam, times, group):
    """β (n, k) and W (p, k) after sweeps that move so many samples at a time, all from the same W, by enumeration."""
    X, t, n, k = problem.X.toarray(), problem.labels, problem.n_samples, len(problem.classes)
    beta, W = np.eye(k)[t] / n, np.zeros((X.shape[1], k))
    for some in [order[a : a + group] for _ in range(times) for a in range(0, len(order), group)]:
        moves = np.zeros_like(W)
        for i in some:
            heights, q = problem.cost[t[i]] + X[i] @ W - X[i] @ W[:, t[i]], X[i] @ X[i] / lam
            after = projection(beta[i] + heights / q, 1 / n)
            moves -= np.outer(X[i], after - beta[i]) / lam
            beta[i] = after
        W += moves
    return beta, W


@needs_numba
@pytest.mark.parametrize("n", [12, 13])
@pytest.mark.parametrize("group", [PAIR, 3, GROUP])
@pytest.mark.parametrize("lanes", [2, 3])
@pytest.mark.usefixtures("shared")
def test_lanes_visit_a_group_of_samples_at_a_time(lanes, group, n):
    problem = labels(n, k=4, p=8, seed=4, cost=True)
    order = np.random.default_rng(1).permutation(n)
    _, blocks = ascent_of(problem, 0.1, compiled=True, threads=lanes)
    assert blocks.count == lanes
    place = *blocks.loops.visits, blocks.listing, order, n, group, lanes, blocks.prices, 0.1, blocks.state
    for _ in range(3):
        blocks.beside(lanes, lambda k: (blocks.loops.sweep, *place))
    beta, W = at_once(problem, order, 0.1, 3, group)
    np.testing.assert_allclose(blocks.beta, beta, atol=1e-12)
    np.testing.assert_allclose(blocks.W, W, atol=1e-11)


@needs_numba
@pytest.mark.usefixtures("shared")
def test_no_visit_of_two_equal_samples_lowers_the_lower_end():
    """The worst case for two moves from the same W: one would have done, and the second takes all of its gain back."""
    X = np.repeat(np.random.default_rng(2).normal(size=(10, 6)), 2, axis=0)
    problem = Multiclass(X, np.repeat(np.arange(10) % 3, 2))
    _, blocks = ascent_of(problem, 1e-3, compiled=True, threads=2)
    place = (
        blocks.loops.sweep,
        *blocks.loops.visits,
        blocks.listing,
        np.arange(20),
        20,
        PAIR,
        2,
        blocks.prices,
        1e-3,
        blocks.state,
    )
    ends = []
    for _ in range(200):
        blocks.beside(2, lambda k: place)
        offsets = blocks.listing.offset[blocks.listing.kind]
        ends.append((blocks.beta * offsets).sum() - 1e-3 / 2 * np.square(blocks.W).sum())
    assert (np.diff(ends) >= -1e-12).all()


@needs_numba
@pytest.mark.parametrize("n", [20, 90])
def test_where_threads_share_scores_alone_they_change_no_bit(n, monkeypatch):
    """However few samples there are for 32 runs, and by loops that are not compiled, too."""
    monkeypatch.setattr(crew, "SAVED", np.inf)
    problem, found = labels(n, k=7, p=12, seed=3, cost=True), []
    for threads, compiled in ((1, False), (1, True), (2, True), (3, True)):
        _, blocks = ascent_of(problem, 1e-2, compiled=compiled, threads=threads)
        assert blocks.count == 1
        for _ in range(4):
            blocks.advance()
        found.append((blocks.beta.tolist(), blocks.W.tolist(), blocks.known, blocks.gap, blocks.theta.tolist()))
    assert found[0] == found[1] == found[2] == found[3]


@needs_numba
@pytest.mark.parametrize("threads", [1, 3])
def test_each_run_is_claimed_once_whoever_claims_it(threads):
    _, blocks = ascent_of(labels(60, k=3, p=8), 0.1, compiled=True, threads=threads)
    taken, claim = [[] for _ in range(threads)], machine.claim()

    def told(k):
        def take(exchange, gate, k, number, lane):
            while (run := claim(gate)) < 40:
                taken[k].append(run)
            return 0.0

        return (take,)

    blocks.beside(threads, told)
    assert sorted(run for each in taken for run in each) == list(range(40))
    assert all(each == sorted(each) for each in taken)


@needs_numba
@pytest.mark.parametrize("lanes", [2, 3])
@pytest.mark.parametrize("weights", [None, "some"])
@pytest.mark.usefixtures("shared")
def test_one_thread_for_all_lanes_finds_the_same_bits(lanes, weights, monkeypatch):
    """Also where threads change places between passes, and with steps in the plane."""
    weights = np.arange(90) % 4 + 0.0 if weights else None
    problem, found = labels(90, k=7, p=12, seed=3, cost=True, weights=weights), []
    monkeypatch.setattr(crammer_singer, "AGAIN", 1)
    for turns in ([lanes], [1], [1, lanes]):
        _, blocks = ascent_of(problem, 1e-3, compiled=True, threads=lanes)
        steps = 0
        for _, count in zip(range(12), cycle(turns), strict=False):
            monkeypatch.setattr(blocks, "manned", lambda count=count: count)
            blocks.advance()
            steps += blocks.mark[5] > 0
        assert blocks.crew == turns[-1]
        assert steps > 3
        found.append((blocks.beta.tolist(), blocks.W.tolist(), blocks.known, blocks.gap))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(("far", "count"), [(False, 2), (True, 2), (False, 3)])
def test_what_threads_save_is_their_part_of_the_visits_less_their_meetings(far, count, monkeypatch):
    """Times by hand: nine labels take two lines of W for each of the four entries of a sample."""
    problem = labels(36, k=9, p=4)
    listing = ascent_of(problem)[0].listing._replace(indices=np.zeros(36 * 4, np.int64))
    given = {"VISIT": 2.0, "LABEL": 0.5, "NEARBY": 0.25, "DISTANT": 0.75, "SHARED": 0.125, "MEETINGS": 12.0}
    for name, value in {**given, "CACHE": 4 * 16 * 8 + (not far)}.items():
        monkeypatch.setattr(crew, name, value)
    visit = 2 + 9 * 0.5 + 4 * 2 * (0.75 if far else 0.25)
    wanted = 10 * (visit * (1 - 1 / count) - 0.125 - 3 * 0.5)
    assert crew.saving(listing, 10, count, 4, 0.5) == pytest.approx(wanted, rel=1e-12)


@needs_numba
@pytest.mark.parametrize(("took", "wanted"), [(0.0, 2), (1e9, 1)])
def test_threads_that_would_wait_longer_than_they_save_leave_visits_to_one(took, wanted, monkeypatch):
    monkeypatch.setattr(crew, "VISIT", 1.0)
    monkeypatch.setattr(crew, "meeting", lambda *_: took)
    _, blocks = ascent_of(labels(60, k=7, p=8), 0.1, compiled=True, threads=2)
    assert blocks.count == 2
    blocks.advance()
    assert blocks.crew == wanted


@needs_numba
@pytest.mark.parametrize(("visit", "p", "count"), [(1.0, 8, 2), (1.0, 1, 1), (0.0, 8, 1)])
def test_lanes_that_save_nothing_are_not_made(visit, p, count, monkeypatch):
    """Nor more lanes than inputs."""
    monkeypatch.setattr(crew, "VISIT", visit)
    assert ascent_of(labels(60, k=7, p=p), 0.1, compiled=True, threads=2)[1].count == count


@needs_numba
@pytest.mark.usefixtures("shared")
def test_no_lanes_are_made_for_inputs_that_are_all_zero():
    problem = Multiclass(sparse.csr_array((60, 8)), np.arange(60) % 3)
    assert ascent_of(problem, 0.1, compiled=True, threads=2)[1].count == 1


@needs_numba
@pytest.mark.parametrize(
    ("slow", "some"), [(np.inf, [1, crew.FEW, crew.FEW, crew.MANY]), (0.0, [1, crew.FEW, crew.FEW])]
)
@pytest.mark.parametrize("lanes", [2, 3])
@pytest.mark.usefixtures("shared")
def test_many_meetings_are_timed_where_few_are_fast(slow, some, lanes, monkeypatch):
    _, blocks = ascent_of(labels(60, k=7, p=8), 0.1, compiled=True, threads=lanes)
    monkeypatch.setattr(crew, "SLOW", slow)
    asked, sound = [[] for _ in range(lanes)], blocks.loops.meetings

    def meetings(count, exchange, gate, k, number, lane):
        assert number == sum(asked[k])
        asked[k].append(count)
        return sound(count, exchange, gate, k, number, lane)

    assert 0 < crew.meeting(blocks.beside, meetings, lanes) < 1
    assert asked == [some, *[[1 + 2 * crew.FEW + crew.MANY]] * (lanes - 1)]  # others ask for Python's lock once


@needs_numba
@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("passes", [1, 5, 16])
def test_an_ascent_goes_on_after_so_many_passes(passes):
    """As from a journal: `begin`, and then the passes of before are told."""
    _, blocks = ascent_of(labels(60, k=7, p=8), 0.1, compiled=True, threads=2)
    blocks.passes = passes
    blocks.advance()
    assert (blocks.passes, blocks.crew) == (passes + 1, 2)


@needs_numba
@pytest.mark.usefixtures("shared")
def test_meetings_are_timed_again_after_some_passes(monkeypatch):
    _, blocks = ascent_of(labels(60, k=7, p=8), 0.1, compiled=True, threads=2)
    asked = []
    monkeypatch.setattr(blocks, "manned", lambda: asked.append(blocks.passes) or 2)
    for _ in range(34):
        blocks.advance()
    assert asked == [0, 16, 32]


def test_one_lane_has_no_meetings(monkeypatch):
    _, blocks = ascent_of(labels(60))
    monkeypatch.setattr(blocks, "beside", None)
    assert blocks.manned() == 1


@needs_numba
@pytest.mark.usefixtures("shared")
def test_eight_at_a_time_as_long_as_the_gap_falls():
    """Where eight equal samples follow one another, moves from the same W undo one another, and two go on."""
    rng = np.random.default_rng(2)
    X, t = np.repeat(rng.normal(size=(40, 6)), 8, axis=0), np.repeat(rng.integers(0, 3, 40), 8)
    for problem, lam, wanted in ((Multiclass(X, t), 1e-3, PAIR), (labels(400, k=4, p=40, seed=1), 10.0, GROUP)):
        bounds, blocks = ascent_of(problem, lam, compiled=True, threads=2)
        assert blocks.mark[6] == GROUP
        blocks.advance()
        assert blocks.mark[6] == wanted
        while blocks.gap > 1e-7 * blocks.known:
            blocks.advance()
        assert bounds.upper(blocks.theta) == pytest.approx(blocks.known, rel=1e-9)
        blocks.restart(lam)
        assert blocks.mark[6] == GROUP


@pytest.mark.parametrize(
    ("before", "group", "wanted"),
    [(np.inf, 8, 8), (1, 8, 8), (0.5, 8, 4), (0.25, 8, 4), (1, 4, 4), (0.5, 4, 2), (1, 2, 2), (0.5, 2, 2)],
)
def test_a_sweep_that_meets_no_smaller_gap_halves_the_visits_at_a_time(before, group, wanted):
    """A sweep that meets a gap of 0.5, told in `mark`, after one that met `before`."""
    blocks, seen = ascent_of(labels(20), 0.1)[1], []
    blocks.mark[:] = 20, 0.1, 0.0, 1, 0, 0, group, before

    def sweep(*place):
        seen.append(place[7])
        blocks.state.gap[:] = (np.arange(20) < 16) / 32
        return True

    climb, memory = crammer_singer_loops.climb, blocks.memory
    functions = busy_all, lambda *_: None, *blocks.loops.visits, sweep, None
    own = blocks.listing, blocks.samples, blocks.samples.copy(), blocks.seed, blocks.mark
    ascent = blocks.prices, 0.1, blocks.state, memory
    assert climb(*functions, *own, 1, 1, *ascent, *alone(1)[:2], 0, 0, blocks.lanes[0]) == 2
    assert seen == [group]
    assert (blocks.mark[1], blocks.mark[6], blocks.mark[7]) == (0.5, wanted, 0.5)


@pytest.mark.parametrize(("most", "sweeps"), [(1, 1), (20, 1), (21, 2), (40, 2), (41, 3), (60, 3), (1000, 3)])
def test_a_pass_asks_for_the_time_after_so_many_visits(most, sweeps):
    """Of sweeps of twenty each, three of which are left."""
    blocks, seen = ascent_of(labels(20), 0.1)[1], []
    blocks.mark[:] = 20, 0.1, 0.0, 3, 0, 0, GROUP, 1

    def sweep(*place):
        seen.append(place[6])
        blocks.state.gap[:] = (np.arange(20) < 16) / 32
        return True

    functions = busy_all, lambda *_: None, *blocks.loops.visits, sweep, None
    own = blocks.listing, blocks.samples, blocks.samples.copy(), blocks.seed, blocks.mark
    place = most, 1, blocks.prices, 0.1, blocks.state, blocks.memory, *alone(1)[:2], 0, 0, blocks.lanes[0]
    assert crammer_singer_loops.climb(*functions, *own, *place) == (2 if most <= 60 else 0)
    assert seen == [20] * sweeps


def busy_all(order, *_):
    return len(order)


@needs_numba
@pytest.mark.usefixtures("shared")
def test_inputs_in_any_order_are_dealt_out_to_lanes():
    """Each entry of a sample to one lane, and each input to one lane, whatever the order in which a row names them."""
    ordered = sparse.random_array((40, 30), density=0.3, rng=np.random.default_rng(1), format="csr")
    indices, values = ordered.indices.copy(), ordered.data.copy()
    for i in range(40):
        at = slice(ordered.indptr[i], ordered.indptr[i + 1])
        indices[at], values[at] = indices[at][::-1], values[at][::-1]
    mixed = sparse.csr_array((values, indices, ordered.indptr), shape=(40, 30))
    found = [ascent_of(Multiclass(X, np.arange(40) % 3), 0.1, compiled=True, threads=3)[1] for X in (ordered, mixed)]
    for each in found:
        parts, columns = each.state.parts, each.listing.indices
        assert (parts[:, 0] == ordered.indptr[:-1]).all()
        assert (parts[:, 3] == ordered.indptr[1:]).all()
        owners = [set(np.concatenate([columns[a:b] for a, b in parts[:, k : k + 2]])) for k in range(3)]
        assert sum(map(len, owners)) == len(set.union(*owners))
        assert min(np.diff(parts).sum(axis=0)) > 0.8 * ordered.nnz / 3
        each.advance()
    assert found[0].beta.tobytes() == found[1].beta.tobytes()


@needs_numba
@pytest.mark.parametrize("threads", [2, 3, 4])
@pytest.mark.usefixtures("shared")
def test_threads_end_at_the_same_bits_each_time(threads):
    problem, found = labels(90, k=7, p=8, seed=6), []
    for _ in range(3):
        _, blocks = ascent_of(problem, 1 / 90, compiled=True, threads=threads)
        for _ in range(5):
            blocks.advance()
        found.append((blocks.known, blocks.gap, blocks.beta.tobytes(), blocks.theta.tobytes()))
    assert found[0] == found[1] == found[2]


@needs_numba
@pytest.mark.usefixtures("shared")
def test_a_lane_that_fails_holds_nobody_up():
    """The other lane says that it has left, and its error comes through."""
    _, blocks = ascent_of(labels(60, k=7, p=8), 1 / 60, compiled=True, threads=2)
    said = []

    def told(k):
        def loop(*arguments):
            if k == 1:
                raise ValueError("lane 1")
            said.append(blocks.loops.sweep(*arguments))
            return said[-1]

        return (
            loop,
            *blocks.loops.visits,
            blocks.listing,
            blocks.order,
            60,
            GROUP,
            2,
            blocks.prices,
            blocks.curvature,
            blocks.state,
        )

    with pytest.raises(ValueError, match="lane 1"):
        blocks.beside(2, told)
    assert said == [False]


@pytest.mark.parametrize(("after", "brief", "made"), [(0, 0, 0), (1, 0, 1), (3, 0, 3), (0, 10**9, 0), (1, 10**9, 20)])
def test_a_pass_that_is_late_ends_after_its_sweep_unless_all_its_sweeps_are_brief(monkeypatch, after, brief, made):
    """And goes on to the step in the plane and the scores."""
    monkeypatch.setattr(crammer_singer, "BRIEF", brief)
    monkeypatch.setattr(crammer_singer, "SHARE", 0.0)
    _, blocks = ascent_of(labels(60, seed=5), 1 / 60)
    asked, visited = [], blocks.loops.sweep

    def late():
        asked.append(True)
        return len(asked) > after

    sweeps = []
    blocks.loops = blocks.loops._replace(sweep=lambda *place: sweeps.append(1) or visited(*place))
    blocks.advance(late)
    assert len(sweeps) == made
    assert blocks.passes == 1
    assert np.isfinite(blocks.gap)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.usefixtures("shared")
def test_values_only_fall_and_lower_ends_only_rise(threads):
    _, blocks = ascent_of(labels(60, seed=5), 1 / 60, compiled=threads > 1, threads=threads)
    ends = []
    for _ in range(30):
        blocks.advance()
        ends.append((blocks.known, blocks.known - blocks.gap))
    values, lowers = np.array(ends).T
    assert (np.diff(values) <= 0).all()
    assert (np.diff(lowers) >= -1e-12).all()


@needs_numba
@pytest.mark.parametrize("k", [3, 8, 11])
def test_compiled_and_interpreted_passes_are_equal_to_the_last_bit(k):
    (_, fast), (_, slow) = (ascent_of(labels(k=k, cost=True), compiled=how) for how in (True, False))
    for _ in range(3):
        fast.advance()
        slow.advance()
    assert fast.beta.tobytes() == slow.beta.tobytes()
    assert fast.theta.tobytes() == slow.theta.tobytes()
    assert fast.gap == slow.gap


@pytest.mark.parametrize("lam", [1e-3, 1 / 60, 1e4])
def test_the_ascent_with_pairwise_steps_has_the_same_optimum(lam):
    problem = labels(60, seed=7)
    found, pairwise = (ascent_of(problem, lam, kind, machine.available()) for kind in (CrammerSinger, LabelBlocks))
    for _, blocks in (found, pairwise):
        blocks.sweeps = 10
        for _ in range(300):
            blocks.advance()
    bounds, blocks = found
    assert bounds.upper(blocks.theta) == pytest.approx(bounds.upper(pairwise[1].theta), rel=2e-3)
    other = solve(SoftMargin(lam), problem, gap=1e-7, master="ascent")
    assert other.lower <= bounds.upper(blocks.theta)
    assert blocks.known - blocks.gap <= other.upper


def test_liblinear_has_the_same_optimum():
    pytest.importorskip("sklearn")
    problem, form = labels(50, seed=9), SoftMargin(0.02)
    found = solve(form, problem, gap=1e-7, master="dual-block")
    theirs = Bounds(form, problem).upper(fit(problem, form, 1000, 0))
    assert found.lower <= theirs <= found.upper * (1 + 1e-4)


@pytest.mark.parametrize("X", [np.zeros((4, 3)), np.ones((4, 3)), np.array([[1e-170, 0, 0]] * 4)], ids=str)
def test_samples_without_a_length_and_equal_samples(X):
    problem = Multiclass(X, [0, 1, 2, 0])
    found = solve(SoftMargin(0.1), problem, gap=1e-6, master="dual-block")
    assert found.status == "optimal"
    if X.max() < 1:
        assert found.upper == pytest.approx(1.0)


def test_a_long_sparse_problem_goes_on_from_where_it_was():
    X = sparse.random_array((40, 5000), density=0.01, rng=np.random.default_rng(1), format="csr")
    bounds, blocks = ascent_of(Multiclass(X, np.arange(40) % 3), 1 / 40)
    for _ in range(5):
        blocks.advance()
    samples, witnesses, weights = blocks.duals()
    other = pass_method(bounds)
    slopes, offsets = bounds.oracle.rows(samples, witnesses)
    other.begin(samples, witnesses, weights, slopes.T @ weights, offsets)
    assert isinstance(other, CrammerSinger)
    assert other.known >= blocks.known * (1 - 1e-9)
    assert other.known - other.gap == pytest.approx(blocks.known - blocks.gap)


def test_other_formulations_keep_their_ascent():
    problem = labels(cost=True)
    for form in (SoftMargin(0.02, rescaling="slack"), FixedCostLearning(lam2=0.1, K=5.0)):
        bounds = Bounds(form, problem)
        assert not bounds.oracle.listing().plain
        assert type(pass_method(bounds)) is LabelBlocks


@pytest.mark.parametrize("width", [0.0, 1e-9, 1.0])
def test_sums_of_many_squares_are_enclosed(width):
    rng = np.random.default_rng(2)
    lo = rng.normal(size=1500) * 10.0 ** rng.integers(-160, 6, 1500)
    hi = lo + width * rng.random(1500)
    found = (Interval(lo, hi) if width else Interval(lo)).squared()
    exact = (Interval(lo, hi) if width else Interval(lo)) * Interval(lo, hi if width else lo)
    inside = sum(x * x for x in map(int, (lo * 2.0**60).round()))
    assert float(found.lo) * (1 - 1e-12) <= inside / 2**120 <= float(found.hi) * (1 + 1e-12)
    assert float(found.hi) <= float(exact.sum().hi) * (1 + 1e-12) + 1e-300


def test_weights_stay_at_their_prices_however_many_plane_steps():
    """Steps extrapolate what the weights miss of their price; after 700 passes D had passed F, and none would end."""
    rng, y = np.random.default_rng(0), np.arange(40) % 3
    X = np.c_[rng.normal(size=(40, 2)) + 1.5 * np.eye(3)[y][:, :2], np.ones(40)]
    _, found = ascent_of(Multiclass(X, y), 2e-4, compiled=machine.available())
    for _ in range(1500):
        found.advance()
        assert np.allclose(found.beta.sum(axis=1), found.prices, rtol=3e-14, atol=0)
        assert found.gap > -1e-13 * found.known


@pytest.mark.parametrize("p", [1, 6])
def test_weights_are_made_once_a_pass_and_anew_after_it(p):
    """The turn of W, label by label, takes longer than a bound's own sums on large text; one input needs no turn."""
    drawn = labels(60, cost=True)
    _, blocks = ascent_of(Multiclass(drawn.X.toarray()[:, :p], drawn.labels, drawn.cost))
    blocks.advance()
    first = blocks.theta
    assert blocks.theta is first
    blocks.advance()
    assert not np.array_equal(blocks.theta, first)
    blocks.restart(0.02)
    assert not blocks.theta.any()
    assert first.any()


# ── lanes, the cache, and steps in the plane ──────────────────────────────────────────────────────


@needs_numba
@pytest.mark.parametrize("lanes", [2, 3, 4])
@pytest.mark.parametrize(("n", "p"), [(20_000, 6), (1250, 96), (999, 101)])
def test_dense_inputs_are_dealt_out_evenly(n, p, lanes):
    """However many entries there are: the inputs of a sample of them stand for all."""
    X = np.random.default_rng(p).random((n, p)) + 1.0
    _, parts = parted(SoftMargin(0.1).oracle(Multiclass(X, np.arange(n) % 2)).listing(), lanes)
    shares = np.diff(parts, axis=1)
    assert (shares == shares[0]).all()
    assert shares[0].sum() == p
    assert abs(shares[0] - p / lanes).max() <= 1 + p / 100


@needs_numba
def test_rows_out_of_order_are_dealt_out_in_order():
    problem = labels(60, p=12, seed=3)
    listing = SoftMargin(0.1).oracle(problem).listing()
    order = np.random.default_rng(0).permuted(np.arange(720).reshape(60, 12), axis=1).ravel()
    mixed = listing._replace(indices=listing.indices[order], values=listing.values[order])
    found, parts = parted(mixed, 3)
    assert found.indices.tolist() == listing.indices.tolist()
    assert found.values.tolist() == listing.values.tolist()
    shares = np.diff(parts, axis=1)
    assert (shares == shares[0]).all()
    assert shares[0].sum() == 12


@needs_numba
@pytest.mark.parametrize("mixed", [None, 0, 29, 30, 59])
def test_threads_deal_inputs_out_as_one_does(mixed):
    """Each thread its run of samples, one of which may have its inputs out of order."""
    listing = SoftMargin(0.1).oracle(labels(60, p=12, seed=3)).listing()
    given, wanted = listing, parted(listing, 3)[1].tolist()
    if mixed is not None:
        indices, values, row = listing.indices.copy(), listing.values.copy(), slice(12 * mixed, 12 * mixed + 12)
        indices[row], values[row] = indices[row][::-1], values[row][::-1]
        given = listing._replace(indices=indices, values=values)
    before = given.indices.tolist()
    found, parts = parted(given, 3, lambda function, some: [function(run) for run in np.array_split(some, 2)])
    assert parts.tolist() == wanted
    assert (found.indices.tolist(), found.values.tolist()) == (listing.indices.tolist(), listing.values.tolist())
    assert given.indices.tolist() == before  # the user's arrays stay as they are


def test_samples_are_asked_for_three_visits_before_their_own(monkeypatch):
    monkeypatch.setattr(crammer_singer_loops, "CACHED", 0)
    problem = labels(9, seed=2)
    (_, one), (_, other) = ascent_of(problem), ascent_of(problem)
    asked, order = [], np.random.default_rng(0).permutation(9)
    place = order, 9, 1, 1, one.prices, one.curvature
    for blocks, ahead in ((one, lambda *told: asked.append(told[4:8])), (other, nothing)):
        at = scored, pushed, ahead, silent, blocks.listing, *place, blocks.state
        sweeping(False)(*at, *alone(1)[:2], 0, 0, blocks.lanes[0])
    assert asked == [(place, min(place + 1, 9), 0, 1) for place in range(3, 12)]
    assert one.beta.tolist() == other.beta.tolist()


@needs_numba
def test_to_ask_ahead_changes_nothing():
    """Not even where the last line of the cache ends behind the array."""
    indices, values, table = np.arange(11), np.random.default_rng(0).random(11), np.arange(24.0).reshape(3, 8)
    before = indices.copy(), values.copy(), table.copy()
    parts, order = np.array([[0, 10, 11], [3, 3, 3], [10, 11, 11]]), np.array([2, 0, 1])
    for place in ((0, 3, 0, 2), (1, 2, 0, 1), (0, 1, 1, 2), (5, 3, 0, 2)):
        machine.ahead()(indices, values, parts, order, *place, table)
    for each, old in zip((indices, values, table), before, strict=True):
        np.testing.assert_array_equal(each, old)


def test_a_step_in_the_plane_where_it_pays():
    """Not in a first pass, and not where four passes more like the last one reach the gap that is wanted."""
    _, blocks = ascent_of(labels(40, seed=1))
    blocks.wanted = 1e-4
    assert not blocks.stepping()
    blocks.advance()
    assert len(blocks.memory.beta) == 0
    for shares, steps in (
        ((1.0, 0.11), False),  # 1e-5 after four passes
        ((1.0, 0.2), True),  # 3e-4
        ((0.5, 0.5), True),
        ((0.1, 0.2), True),
        ((0.1, 0.0), True),
        ((0.1, np.nan), True),
    ):
        blocks.shares = shares
        assert blocks.stepping() == steps, shares
    blocks.shares, blocks.wanted = (1.0, 0.01), 0.0
    assert blocks.stepping()
    blocks.advance()
    assert len(blocks.memory.beta) == 40
    blocks.restart(0.1)
    assert len(blocks.memory.beta) == 0


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_numba)])
def test_known_is_f_at_theta_whichever_array_holds_it(compiled):
    """W, the mean, or the best before: a mean that a worse pass has moved on is taken back."""
    bounds, blocks = ascent_of(labels(50, k=5, p=12, seed=6), 1e-3, compiled=compiled)
    held = set()
    for _ in range(60):
        blocks.advance()
        arrays = {"W": blocks.state.W, "mean": blocks.desk.mean}
        held |= {name for name, each in arrays.items() if each is blocks.at} or {"before"}
        assert bounds.upper(blocks.theta) == pytest.approx(blocks.known, rel=1e-9)
    assert held == {"W", "mean", "before"}
