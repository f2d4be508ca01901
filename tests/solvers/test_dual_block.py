"""dual-block: reference optima, a dual that never falls, cuts forgotten without loss, faults found out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import pytest

from workbench.arithmetic import compiled as machine
from workbench.contracts import Cuts
from workbench.errors import BadInput, MissingCapability
from workbench.formulations.soft_margin import SoftMargin
from workbench.judging.verdicts import AGREES, crosscheck
from workbench.outputs.chain import Chain
from workbench.outputs.multiclass import Multiclass
from workbench.proofs.bounds import Bounds
from workbench.registries import registry
from workbench.solvers import _pool
from workbench.solvers.dual_block import DualBlock, moved, prepared, remember
from workbench.solving.solve import solve
from workbench.solving.stochastic import run

OUTPUTS = dict(registry("output").items())
FITTING = [  # the soft margin's r is λ/2 ‖w‖² there; elsewhere the method refuses, tests/test_registry.py
    name for name in OUTPUTS if DualBlock().misfit(SoftMargin(), OUTPUTS[name].tiny(np.random.default_rng(0))) is None
]


def started(problem, form, solver, compiled=False):
    """(tools, prices, state) of a run that has not begun."""
    bounds, state = Bounds(form, problem), solver.init(form, problem)
    prices = bounds.prices.floats()
    return prepared(bounds.oracle.kernel(), prices, state, compiled), prices, state


def dual(state):
    pool = state.pool
    held = slice(pool.used[0])
    theta = state.point.theta
    return float(pool.weight[held] @ pool.offset[held] - state.curvature / 2 * theta @ theta)


@cache
def words(n=12, k=3, seed=0):
    """Noisy chains with labels that tie the letters together."""
    rng = np.random.default_rng(seed)
    labels = [rng.integers(k, size=rng.integers(1, 6)) for _ in range(n)]
    return Chain([np.eye(k, 4)[y] + rng.normal(size=(len(y), 4)) for y in labels], labels, classes=np.arange(k))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", FITTING)
def test_reaches_the_optimum_over_all_listed_cuts(name, seed):
    """The reference lists every output and leaves the program to CVXPY."""
    cp = pytest.importorskip("cvxpy")
    problem, form = OUTPUTS[name].tiny(np.random.default_rng(seed)), SoftMargin(0.1)
    bounds = Bounds(form, problem)
    outputs = [problem.outputs(i) for i in range(problem.n_samples)]
    samples = np.repeat(np.arange(problem.n_samples), [len(y) for y in outputs])
    slopes, offsets = bounds.oracle.rows(samples, np.concatenate(outputs))
    w, xi = cp.Variable(problem.n_features), cp.Variable(problem.n_samples)
    risk = cp.sum_squares(w) * 0.05 + bounds.prices.floats() @ xi
    best = cp.Problem(cp.Minimize(risk), [xi[samples] >= slopes @ w + offsets]).solve(cp.CLARABEL)
    trace = run(DualBlock(), form, problem, passes=60, checkpoints=[60], order="permutation")
    assert trace.lower[-1] <= best + 1e-7
    assert trace.upper[-1] >= best - 1e-7
    assert trace.upper[-1] - trace.lower[-1] <= 1e-5 * max(1.0, best)
    assert trace.drift[-1] < 1e-10


@pytest.mark.parametrize(
    "solver", [DualBlock(), DualBlock(sweeps=2, steps=1, period=1, patience=0)], ids=["usual", "forgetful"]
)
def test_the_dual_never_falls(solver):
    """Neither in visits, nor in the plane, nor when cuts are forgotten."""
    tools, prices, state = started(words(), SoftMargin(0.02), solver)
    rng, values, sizes = np.random.default_rng(0), [], []
    for _ in range(30):
        solver.advance(tools, prices, state, rng.permutation(12))
        values.append(dual(state))
        sizes.append(int(state.pool.used[0]))
    assert (np.diff(values) >= -1e-14).all()
    assert values[-1] > 0
    assert solver.period > 1 or (np.diff(sizes) < 0).any()


def test_forgetting_leaves_weights_and_bound_alone():
    solver, problem, form = DualBlock(period=1000), words(), SoftMargin(0.02)
    tools, prices, state = started(problem, form, solver)
    for _ in range(8):
        solver.advance(tools, prices, state, np.arange(12))
    before, cuts = solver.duals(state), int(state.pool.used[0])
    moved(tools, state, 0)
    after = solver.duals(state)
    assert state.pool.used[0] < cuts
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old, new)


def test_cuts_are_differences_from_their_parents():
    """Slopes, offsets and inner products put together from the pool are those of the data."""
    solver, problem, form = DualBlock(), words(), SoftMargin(0.02)
    tools, prices, state = started(problem, form, solver)
    for _ in range(13):
        solver.advance(tools, prices, state, np.arange(12))
    pool, oracle = state.pool, Bounds(form, problem).oracle
    assert (pool.parent[: pool.used[0]] >= 0).any()
    for i in range(12):
        members = pool.member[i, : pool.count[i]]
        slopes, offsets = oracle.rows(np.full(len(members), i), pool.witness[members])
        found = np.zeros(slopes.shape)
        for a, r in enumerate(members):
            found[a] = found[pool.parent[r]] if pool.parent[r] >= 0 else 0
            np.add.at(found[a], pool.index[pool.first[r] : pool.last[r]], pool.value[pool.first[r] : pool.last[r]])
            np.testing.assert_allclose(pool.product[pool.row[r] :][: a + 1], found[: a + 1] @ found[a], atol=1e-10)
        np.testing.assert_allclose(found, slopes.toarray(), atol=1e-12)
        np.testing.assert_allclose(pool.offset[members], offsets, atol=1e-10)


@pytest.mark.parametrize("passes", [3, 4, 5])
def test_the_plane_step_is_the_best_in_its_plane(passes):
    """Against least squares over the plane, where no weight would turn negative; else it only gains."""
    solver, problem, form = DualBlock(sweeps=0, steps=1), words(), SoftMargin(0.02)
    tools, prices, state = started(problem, form, solver)
    for _ in range(passes):
        solver.advance(tools, prices, state, np.arange(12))
    remember(state)
    pool, point, mu = state.pool, state.point, state.curvature
    place = True, 1, 0.0, prices, mu, pool, state.desk, state.extras, point.theta
    kernel, own = (tools.argmax_into, tools.slope_into, tools.parts_into), (tools.insert, tools.place_of, tools.asked)
    tools.sweep(*kernel, *own, tools.data, np.arange(12), *place)
    moves = np.array([point.theta - point.before, point.step])
    displaced = np.array([pool.weight - pool.before, pool.step])
    rise = displaced @ pool.offset - mu * moves @ point.theta
    best = np.linalg.solve(mu * moves @ moves.T, rise)
    before, ideal = dual(state), dual(state) + best @ rise / 2
    unclipped = (pool.weight + best @ displaced).min() >= 0
    taken = tools.plane(tools.proposed, prices, mu, pool, point, state.desk, state.extras)
    assert dual(state) == pytest.approx(ideal, rel=1e-9) if unclipped else dual(state) <= ideal + 1e-12
    assert dual(state) > before if taken else dual(state) == before
    assert (pool.weight >= 0).all()
    held = (
        np.repeat(np.arange(12), pool.count),
        pool.weight[pool.member[np.arange(pool.member.shape[1]) < pool.count[:, None]]],
    )
    np.testing.assert_allclose(np.bincount(*held), prices, rtol=1e-12)


@pytest.mark.skipif(not machine.available(), reason="numba is an optional dependency")
@pytest.mark.parametrize("name", FITTING)
def test_compiled_and_interpreted_pools_are_equal_to_the_last_bit(name):
    problem, solver = OUTPUTS[name].tiny(np.random.default_rng(7)), DualBlock(period=2, patience=0)
    fast, slow = (started(problem, SoftMargin(0.01), solver, how) for how in (True, False))
    for tools, prices, state in (fast, slow):
        for _ in range(5):
            solver.advance(tools, prices, state, np.flatnonzero(prices))
    for ours, theirs in zip((*fast[2].pool, *fast[2].point), (*slow[2].pool, *slow[2].point), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_room_is_made_in_the_midst_of_a_sweep():
    """A pool that starts with no room to spare does the same as one that has plenty, but for rounding."""
    solver, problem, form = DualBlock(period=1000, patience=1000), words(), SoftMargin(0.02)
    thetas = []
    for tight in (True, False):
        tools, prices, state = started(problem, form, solver)
        if tight:
            n, most = 12, 2 * state.most
            small = _pool.empty_pool(n, problem.width, 2, n + 1, most + 1, n + 2)
            assert tools.repack(
                *(tools.slope_into, tools.insert, tools.moved_in, tools.data, 0, 1.0, 1, state.pool, small, state.desk),
                state.extras,
                state.point.theta,
            )
            state.pool = small
        for _ in range(60):
            solver.advance(tools, prices, state, np.arange(12))
        thetas.append(state.point.theta)
    np.testing.assert_allclose(*thetas, atol=1e-4)


def test_a_pool_in_one_piece_is_the_same_with_inner_products_copied_and_computed():
    solver, form = DualBlock(period=1000, patience=1000), SoftMargin(0.02)
    tools, prices, state = started(words(), form, solver)
    for _ in range(30):
        solver.advance(tools, prices, state, np.arange(12))
    old = state.pool
    assert old.count.max() > 4
    pools = []
    for same in (True, False):
        state.pool = old
        moved(tools, state, 2, same)
        pools.append(state.pool)
    copied, computed = pools
    assert copied.used[0] < old.used[0], "some cut was left out"
    for name in ("used", "count", "member", "witness", "parent", "first", "last", "index", "value", "row", "weight"):
        np.testing.assert_array_equal(getattr(copied, name), getattr(computed, name), err_msg=name)
    np.testing.assert_allclose(copied.product, computed.product, atol=1e-12)
    slopes = copied_slopes(copied, form.oracle(words()))
    for i in range(12):
        cuts = copied.member[i, : copied.count[i]]
        for a, r in enumerate(cuts):
            wanted = slopes[cuts[: a + 1]] @ slopes[r]
            np.testing.assert_allclose(copied.product[copied.row[r] :][: a + 1], wanted, atol=1e-12)


def copied_slopes(pool, oracle):
    """The slopes of the pool's cuts (K, p), from their witnesses."""
    cuts = pool.used[0]
    samples = np.zeros(cuts, np.int64)
    for i, count in enumerate(pool.count):
        samples[pool.member[i, :count]] = i
    return oracle.rows(samples, pool.witness[:cuts])[0].toarray()


def test_weights_are_copies_and_weight_zero_is_absence():
    rng = np.random.default_rng(3)
    X, y, times = rng.normal(size=(9, 3)), np.arange(9) % 3, np.arange(9) % 4
    form = SoftMargin(0.1)
    problems = Multiclass(X, y, weights=times), Multiclass(X.repeat(times, axis=0), y.repeat(times))
    runs = [run(DualBlock(), form, problem, passes=80, checkpoints=[80]) for problem in problems]
    assert runs[0].upper[-1] == pytest.approx(runs[1].upper[-1], abs=1e-7)
    assert runs[0].upper[-1] - runs[0].lower[-1] < 1e-6


@pytest.mark.parametrize("X", [np.zeros((6, 2)), np.ones((6, 2)), np.repeat([[1.0, 2.0], [2.0, 1.0]], 3, axis=0)])
def test_degenerate_data(X):
    """No features at all, indistinguishable samples, copies with other labels: cuts coincide, curvature vanishes."""
    problem = Multiclass(X, np.arange(6) % 3)
    trace = run(DualBlock(), SoftMargin(0.01), problem, passes=100, checkpoints=[100])
    assert trace.upper[-1] - trace.lower[-1] < 1e-6


def test_slack_rescaling_compiled_and_interpreted_are_the_same():
    form, options = SoftMargin(0.05, rescaling="slack"), {"passes": 40, "checkpoints": [40]}
    traces = [run(DualBlock(), form, words(), **options, compiled=each) for each in (machine.available(), False)]
    assert np.array_equal(traces[0].thetas, traces[1].thetas)
    assert traces[0].upper[-1] - traces[0].lower[-1] < 1e-4


@dataclass(frozen=True)
class Careless(DualBlock):
    """Keeps a wrong entry in every difference of slopes."""

    def visitor(self, kernel, prices, state, compiled):
        def insert(slope_into, data, i, witness, pool, desk, known):
            place = _pool.insert(slope_into, data, i, witness, pool, desk, known)
            newest = pool.used[0] - 1
            if place >= 0 and pool.last[newest] > pool.first[newest]:
                pool.value[pool.first[newest]] *= 1.5
            return place

        return partial(self.advance, prepared(kernel, prices, state, False)._replace(insert=insert), prices, state)


def test_a_wrong_slope_in_the_pool_shows_as_drift():
    """θ then is no longer that of the witnesses and weights handed over; the lower bound holds all the same."""
    clean, faulty = (
        run(solver, SoftMargin(0.02), words(), passes=5, checkpoints=[5], compiled=False)
        for solver in (DualBlock(), Careless())
    )
    assert clean.drift[-1] < 1e-12
    assert faulty.drift[-1] > 1e-3
    assert faulty.lower[-1] <= clean.upper[-1]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", OUTPUTS)
def test_slopes_in_entries_are_the_rows_of_the_data(name, seed):
    """What `slope_into` writes, added up, for every output of every sample; never more than `most`."""
    problem = OUTPUTS[name].tiny(np.random.default_rng(seed))
    oracle = SoftMargin().oracle(problem)
    kernel = oracle.kernel()
    for i in range(problem.n_samples):
        outputs = problem.outputs(i)
        slopes, _ = oracle.rows(np.full(len(outputs), i), outputs)
        for output, expected in zip(outputs, slopes.toarray(), strict=True):
            indices, values, dense = np.zeros(kernel.most, np.int64), np.zeros(kernel.most), np.zeros(oracle.dim)
            count = kernel.slope_into(kernel.data, i, output, indices, values)
            np.add.at(dense, indices[:count], values[:count])
            np.testing.assert_allclose(dense, expected, atol=1e-14)


@pytest.mark.parametrize("gap", [1e-4, 1e-8, 1e-11])
def test_solve_may_begin_with_its_passes(gap):
    """Reached by the passes alone, or by the rounds that go on from their rows and weights."""
    problem, form = words(40, seed=1), SoftMargin(0.05)
    found, other = solve(form, problem, gap=gap, master="dual-block"), solve(form, problem, gap=1e-10, master="gram")
    assert found.status == "optimal"
    assert max(found.lower, other.lower) <= min(found.upper, other.upper)
    assert "dual-block" in found.backend


def test_solve_ends_at_its_time_limit_with_what_is_proven():
    found = solve(SoftMargin(1e-4), words(60, seed=2), gap=1e-13, master="dual-block", time_limit=0.02)
    assert found.status == "limit"
    assert np.isfinite(found.upper - found.lower)


def test_a_kernel_without_entries_is_refused():
    class Bare(Multiclass):
        def kernel(self, augment=True):
            return super().kernel(augment)._replace(slope_into=None)

    problem = Bare(np.eye(3), [0, 1, 2])
    with pytest.raises(MissingCapability, match="slope_into"):
        run(DualBlock(), SoftMargin(), problem)
    assert solve(SoftMargin(), problem).status == "optimal"


def test_passes_need_a_row_a_sample():
    for wrong in ({"groups": "one"}, {"backend": "CLARABEL"}):
        with pytest.raises(BadInput, match="dual-block"):
            solve(SoftMargin(), words(), master="dual-block", **wrong)


def test_agrees_with_a_reference_and_settings_are_checked():
    problem, form = words(), SoftMargin(0.05)
    reference = solve(form, problem, gap=1e-7, master="gram")
    assert crosscheck(run(DualBlock(), form, problem, passes=60), reference).verdict == AGREES
    for wrong in ({"steps": 0}, {"sweeps": -1}, {"worth": float("nan")}, {"period": 0}, {"patience": -1}):
        with pytest.raises(BadInput, match=next(iter(wrong))):
            DualBlock(**wrong)


def test_duals_are_weights_on_the_simplex_of_distinct_cuts():
    solver, problem, form = DualBlock(), words(), SoftMargin(0.02)
    tools, prices, state = started(problem, form, solver)
    for _ in range(12):
        solver.advance(tools, prices, state, np.arange(12))
    samples, witnesses, weights = solver.duals(state)
    cuts = Cuts(problem.n_features, problem.width)
    cuts.add(samples, witnesses, Bounds(form, problem).oracle.rows)
    assert len(cuts) == len(samples)
    assert (weights > 0).all()
    np.testing.assert_allclose(np.bincount(samples, weights), prices, rtol=1e-12)
