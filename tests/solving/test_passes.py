"""Passes of block ascent as a route of `solve`: the same certified optima as other routes, boundary cases, limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from workbench.arithmetic import compiled as machine
from workbench.backends import BACKENDS
from workbench.contracts import Cuts
from workbench.data.loading import load_problem
from workbench.errors import BadInput, NotSeparable, OutOfMemory
from workbench.formulations.cost_learning import NormalizedCostLearning, SimplexCostLearning
from workbench.formulations.fixed_cost import FixedCostLearning
from workbench.formulations.hard_margin import HardMargin
from workbench.formulations.perceptron import Separation
from workbench.formulations.soft_margin import SoftMargin
from workbench.objectives.oracles import SlackRescaling, UnitMargin
from workbench.outputs.chain import Chain
from workbench.outputs.multiclass import Multiclass
from workbench.proofs.bounds import Bounds
from workbench.solvers import _extras, dual_block
from workbench.solvers._common import never
from workbench.solvers.dual_block import CachedBlocks
from workbench.solving import routes
from workbench.solving.block_ascent.labels import LabelBlocks
from workbench.solving.cutting_planes import generate
from workbench.solving.family import Family
from workbench.solving.masters import needs
from workbench.solving.masters.finish import Finish, standing
from workbench.solving.masters.passes import Passes, pass_method, passable
from workbench.solving.solve import solve

COSTS = {"lam2": 0.1, "K": 5.0}
FORMS = {
    "margin": SoftMargin(0.02),
    "slack": SoftMargin(0.02, rescaling="slack"),
    "simplex": SimplexCostLearning(**COSTS),
    "small": SimplexCostLearning(lam2=0.02, K=1.0),
    "ordered": SimplexCostLearning(**COSTS, factoring="ordered"),
    "true": NormalizedCostLearning(**COSTS, factoring="true"),
    "normalized": NormalizedCostLearning(**COSTS),
    "fixed": FixedCostLearning(**COSTS),
}


def labels(n=24, k=3, p=6, seed=0, cost=False, weights=None):
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    X = np.eye(k, p)[y] + rng.normal(size=(n, p))
    return Multiclass(X, y, rng.uniform(0.5, 2, (k, k)) * (1 - np.eye(k)) if cost else None, weights)


def words(n=8, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = [rng.integers(k, size=rng.integers(1, 5)) for _ in range(n)]
    return Chain([np.eye(k, 4)[each] + rng.normal(size=(len(each), 4)) for each in y], y, classes=np.arange(k))


PROBLEMS = {"labels": labels(), "costs": labels(cost=True), "words": words()}


def by_passes(form, problem, **options):
    return solve(form, problem, gap=1e-5, master="dual-block", **options)


def overlap(one, other):
    """Two pairs of proven ends of one optimum."""
    return max(one.lower, other.lower) <= min(one.upper, other.upper)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("form", FORMS)
def test_every_route_has_the_same_optimum(form, problem):
    found = by_passes(FORMS[form], PROBLEMS[problem])
    other = solve(FORMS[form], PROBLEMS[problem], gap=1e-7, master="ascent")
    assert found.status == other.status == "optimal"
    assert overlap(found, other)
    assert "dual-block" in found.backend


@pytest.mark.parametrize("seed", range(3))
def test_hard_margins_by_finite_prices(seed):
    rng = np.random.default_rng(seed)
    y = np.arange(12) % 3
    problem = Multiclass(4 * np.eye(3, 8)[y] + 0.3 * rng.normal(size=(12, 8)), y)
    found, other = by_passes(HardMargin(), problem), solve(HardMargin(), problem, gap=1e-8)
    assert found.status == "optimal"
    assert overlap(found, other)


def test_hard_margins_that_contradict_are_found_out():
    with pytest.raises(NotSeparable, match="Farkas"):
        by_passes(HardMargin(), Multiclass([[1.0], [1.0], [2.0]], [0, 1, 1]))


@pytest.mark.parametrize("form", [HardMargin(), Separation()])
def test_passes_alone_find_contradictions(monkeypatch, form):
    """Two of many sentences tell the same word apart between the same neighbours; no round begins."""
    monkeypatch.setattr(routes, "generate", None)
    word, others = np.eye(80)[70:75], [np.eye(80)[5 * i : 5 * i + 5] for i in range(10)]
    y = [0, 1, 2, 0, 1]
    problem = Chain([*others, word, word], [*([y] * 10), [0, 1, 0, 2, 1], [0, 1, 1, 2, 1]])
    with pytest.raises(NotSeparable, match="2 contradictory") as caught:
        by_passes(form, problem)
    assert sorted(caught.value.samples) == [10, 11]
    assert caught.value.norm == 0


def test_the_search_for_a_contradiction_ends_with_the_limit(monkeypatch):
    """Two equal samples have two labels: the backend has what is left of the limit, and is not asked where none is."""
    asked, backend = [], BACKENDS["HIGHS"]

    class Listening:
        installed, name = True, "HIGHS"

        def solve(self, program, tolerance, time_limit=None):
            asked.append(time_limit)
            return backend.solve(program, tolerance)

    monkeypatch.setitem(BACKENDS, "HIGHS", Listening())
    problem = Multiclass(np.eye(3)[[0, 1, 2, 0]], [0, 1, 2, 1])
    for limit in (None, 20.0):
        with pytest.raises(NotSeparable):
            by_passes(HardMargin(), problem, time_limit=limit)
    assert asked[0] is None
    assert 0 < asked[-1] < 20
    family, before = Family(Bounds(HardMargin(), problem), 4), len(asked)
    equal = np.array([0, 3]), np.array([[1], [0]]), np.ones(2)
    family.examine(*equal, 0.0)
    assert len(asked) == before
    with pytest.raises(NotSeparable):
        family.examine(*equal, 1.0)


@pytest.mark.parametrize(
    ("X", "y", "weights"),
    [
        (np.ones((1, 2)), [0], None),
        (np.zeros((4, 2)), [0, 1, 2, 0], None),
        (np.repeat([[1.0, 2.0], [2.0, 1.0]], 3, axis=0), [0, 1, 2, 0, 1, 2], None),
        (np.array([[1.0, 2.0], [0.0, 0.0], [3.0, 1.0], [1.0, 1.0]]), [0, 1, 2, 1], [1, 0, 2, 3]),
        (sparse.csr_array(([1.0, 2.0], ([0, 1], [0, 199_999])), shape=(3, 200_000)), [0, 1, 1], None),
    ],
    ids=["one-sample", "empty-rows", "duplicates", "weights", "long"],
)
@pytest.mark.parametrize("form", ["margin", "slack", "fixed"])
def test_boundary_cases(X, y, weights, form):
    problem = Multiclass(X, y, weights=weights, classes=[0, 1, 2])
    found = by_passes(FORMS[form], problem)
    assert found.status == "optimal"
    assert found.lower <= found.upper
    assert found.upper >= 0


def test_one_class_is_refused():
    with pytest.raises(BadInput, match="at least two classes"):
        Multiclass(np.eye(2), [1, 1])


def test_weights_are_copies():
    problem, times = labels(12), np.arange(12) % 3 + 1
    weighted = Multiclass(problem.X, problem.labels, weights=times)
    copied = Multiclass(problem.X.toarray().repeat(times, axis=0), problem.labels.repeat(times))
    assert overlap(*(by_passes(FORMS["margin"], each) for each in (weighted, copied)))


@pytest.mark.parametrize("form", ["margin", "simplex"])
@pytest.mark.parametrize("problem", ["labels", "words"])
def test_a_time_limit_ends_with_proven_ends(form, problem):
    found = solve(FORMS[form], PROBLEMS[problem], gap=1e-14, master="dual-block", time_limit=0.01)
    assert found.status in ("limit", "optimal")
    assert np.isfinite(found.upper - found.lower)


def test_rounds_are_recorded_with_ends_that_only_improve():
    rounds = []
    found = by_passes(FORMS["margin"], labels(60, seed=3), observe=rounds.append)
    assert [each["round"] for each in rounds] == list(range(1, len(rounds) + 1))
    assert found.rounds == len(rounds)
    assert (np.diff([each["upper"] for each in rounds]) <= 0).all()
    assert (np.diff([each["lower"] for each in rounds]) >= 0).all()


@pytest.mark.skipif(not machine.available(), reason="numba is an optional dependency")
@pytest.mark.parametrize("form", ["margin", "slack", "simplex", "normalized"])
def test_compiled_and_interpreted_passes_are_equal_to_the_last_bit(form):
    problem = PROBLEMS["costs"]
    bounds, every = Bounds(FORMS[form], problem), np.arange(problem.n_samples)
    place = bounds.oracle.listing(), bounds.regularizer.shape(bounds.oracle.dim), bounds.prices.floats(), bounds.start
    slopes, _ = bounds.oracle.rows(every, bounds.oracle.argmax(bounds.start, every))
    fast, slow = (LabelBlocks(*place, slopes, how) for how in (True, False))
    for each in (fast, slow):
        for _ in range(4):
            each.advance()
    for ours, theirs in zip((fast.theta, *fast.duals()), (slow.theta, *slow.duals()), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("form", FORMS)
def test_a_listing_is_the_rows_of_the_data(form):
    """Slope and offset of every output of every sample, written out from the tables."""
    problem = PROBLEMS["costs"]
    oracle, k = FORMS[form].oracle(problem), len(problem.classes)
    oracles = [oracle, UnitMargin(problem)] if form == "margin" else [oracle]
    for each in oracles:
        L = each.listing()
        for i, y in np.ndindex(problem.n_samples, k):
            slope, x, c = np.zeros(each.dim), problem.X[[i]].toarray()[0], L.kind[i]
            t, d = L.truth[c], k * L.inputs
            np.testing.assert_allclose(L.square[i], x @ x)
            if y != t:
                W = slope[:d].reshape(k, -1)
                W[y], W[t] = L.scale[c, y] * x, -L.scale[c, y] * x
                if L.biased:
                    slope[d + y], slope[d + t] = 1, -1
                if L.classes[c, y] >= 0:
                    slope[d + k * L.biased + L.classes[c, y]] += L.K
            rows, offsets = each.rows(np.array([i]), np.array([[y]]))
            np.testing.assert_allclose(rows.toarray()[0], slope, atol=1e-14)
            np.testing.assert_allclose(offsets[0], L.offset[c, y])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("kind", "structure"), [(SlackRescaling, Chain), (SlackRescaling, Multiclass), (UnitMargin, Chain)]
)
def test_kernels_of_other_margins_are_the_oracle(kind, structure, seed):
    rng = np.random.default_rng(seed)
    problem = structure.tiny(rng)
    oracle, w = kind(problem), rng.normal(size=problem.n_features)
    kernel, out = oracle.kernel(), np.zeros(problem.width, np.int64)
    for i in range(problem.n_samples):
        at = np.array([i])
        value = kernel.argmax_into(kernel.data, w, i, out)
        np.testing.assert_array_equal(out, oracle.argmax(w, at)[0])
        slopes, offsets = oracle.rows(at, out[None])
        assert value == pytest.approx((slopes @ w + offsets)[0], abs=1e-9)
        theta, again = np.zeros(problem.n_features), np.zeros(problem.n_features)
        kernel.add_slope(kernel.data, i, out, 1.0, theta)
        indices, values = np.zeros(kernel.most, np.int64), np.zeros(kernel.most)
        count = kernel.slope_into(kernel.data, i, out, indices, values)
        np.add.at(again, indices[:count], values[:count])
        for each in (theta, again):
            np.testing.assert_allclose(each, slopes.toarray()[0], atol=1e-12)


def test_distinct_cuts_can_be_added_to():
    problem = labels(6)
    oracle, every = FORMS["margin"].oracle(problem), np.arange(6)
    cuts = Cuts.distinct(every, problem.truth, *oracle.rows(every, problem.truth))
    assert len(cuts) == 6
    assert cuts.add(every, problem.truth, oracle.rows).tolist() == every.tolist()
    other = (problem.truth + 1) % 3
    assert cuts.add(every, other, oracle.rows).tolist() == (6 + every).tolist()
    assert cuts.slopes.shape == (12, problem.n_features)


def test_prices_are_raised_without_moving_the_weights():
    for problem in (labels(9), words(4)):
        blocks = pass_method(Bounds(FORMS["margin"], problem))
        blocks.advance()
        theta, (_, _, before) = blocks.theta, blocks.duals()
        blocks.raised(10.0)
        np.testing.assert_array_equal(blocks.theta, theta)
        assert blocks.duals()[2].sum() == pytest.approx(10 * before.sum())


@pytest.mark.skipif(not machine.available(), reason="numba is an optional dependency")
def test_costs_are_held_while_the_weights_are_poor(monkeypatch):
    """Many classes of errors: costs that are learned from the start lead the first passes astray."""
    problem = load_problem("synthetic-tags")(n=150, labels=23, length=30, words=3000, endings=900)
    bounds, reached = Bounds(SimplexCostLearning(lam2=0.5, K=190.0), problem), []
    for held in (_extras.HOLD, 1.0):
        monkeypatch.setattr(_extras, "HOLD", held)
        blocks = pass_method(bounds)
        for _ in range(10):
            blocks.advance()
        reached.append(bounds.upper(blocks.theta))
    assert reached[0] < 0.7 * reached[1]


def test_costs_are_let_go_without_moving_the_weights():
    problem = words(8)
    blocks = pass_method(Bounds(FORMS["simplex"], problem))
    assert isinstance(blocks, CachedBlocks)
    blocks.advance()
    theta, held = blocks.theta, blocks.held
    blocks.release(3.0)
    assert blocks.held == held / 3 == _extras.HOLD / 3
    np.testing.assert_allclose(blocks.theta, theta, atol=1e-12)
    while blocks.held > 1 and blocks.passes < 300:
        blocks.advance()
    assert blocks.held == 1


def test_what_cannot_be_passed_over_is_refused():
    assert not passable(Bounds(SimplexCostLearning(lam1=0.1, **COSTS), labels(9)))
    with pytest.raises(BadInput, match="dual-block"):
        by_passes(SimplexCostLearning(lam1=0.1, **COSTS), labels(9))


def test_passes_that_stand_still_say_so():
    problem = labels(12)
    passes = Passes(Family(Bounds(FORMS["margin"], problem), 12), 1e-3)
    passes.ascent.passes, passes.finishing.patient = 90, 60
    for gaps, stands in (([0.5, 0.4], False), ([1e-3, 0.9e-3], True), ([1e-3, 1e-4], False)):
        passes.finishing.fresh = [(30, gaps[0]), (80, gaps[1])]
        assert passes.stands is stands


def test_a_time_limit_ends_within_a_pass(monkeypatch):
    """The clock is asked between pieces of a pass; both ends of a pass that was cut short are proven."""
    asked = []

    def late():
        asked.append(True)
        return len(asked) > 3

    monkeypatch.setattr(dual_block, "BRIEF", 0.0)  # every piece is long
    problem, form = words(n=40), SoftMargin(0.001)
    family = Family(Bounds(form, problem), 40)
    blocks = pass_method(family.bounds)
    blocks.advance(late)
    assert len(asked) == 4
    assert blocks.gap == np.inf
    samples, witnesses, weights = blocks.duals()
    visited = samples[(witnesses != problem.truth[samples]).any(axis=1)]
    assert 0 < len(np.unique(visited)) < 30
    cuts = Cuts.distinct(samples, witnesses, *family.bounds.oracle.rows(samples, witnesses))
    best = solve(form, problem, gap=1e-6)
    assert 0 < family.bounds.lower(cuts, weights) <= best.upper
    assert family.bounds.upper(blocks.theta) >= best.lower
    whole, pieces = pass_method(family.bounds), pass_method(family.bounds)
    for _ in range(3):
        whole.advance(never)
        pieces.advance(lambda: False)
    assert np.array_equal(whole.theta, pieces.theta)


def test_the_clock_is_asked_rarely_where_pieces_are_short(monkeypatch):
    """A time limit on a small problem costs next to nothing: each call of the compiled loops takes a millisecond."""
    bounds, asked = Bounds(SoftMargin(0.001), words(n=40)), {}
    for seconds in (0.0, np.inf):
        monkeypatch.setattr(dual_block, "BRIEF", seconds)
        blocks, asked[seconds] = pass_method(bounds), []
        for _ in range(3):
            blocks.advance(lambda kept=asked[seconds]: bool(kept.append(True)))
    assert len(asked[np.inf]) <= 5
    assert len(asked[0.0]) > 100


def test_an_ascent_tells_both_ends_in_floats():
    """`risks` and `floor` are F and D of the bounds, whatever the order in which the ascent keeps its weights."""
    problem, form = words(n=20), SoftMargin(0.01)
    family = Family(Bounds(form, problem), 20)
    blocks, points = pass_method(family.bounds), []
    for _ in range(4):
        blocks.advance(never)
        points.append(blocks.theta)
    values = blocks.risks(points) + [0.01 / 2 * point @ point for point in points]
    assert values == pytest.approx([family.bounds.upper(point) for point in points], rel=1e-9)
    samples, witnesses, weights = blocks.duals()
    cuts = Cuts.distinct(samples, witnesses, *family.bounds.oracle.rows(samples, witnesses))
    assert blocks.floor == pytest.approx(family.bounds.lower(cuts, weights), rel=1e-9)


def test_where_rounds_crawl_passes_go_on(monkeypatch):
    """Rounds that do not halve the gap in PATIENT rounds give way to passes, which begin at the best weights."""
    runs = []

    def crawling(family, master, request, held, journal, warm, after):
        runs.append(after.lower)
        return replace(after, status="crawls", masters=["ascent"])

    monkeypatch.setattr(routes, "generate", crawling)
    monkeypatch.setattr(Passes, "stands", property(lambda self: self.ascent.passes >= self.finishing.patient))
    monkeypatch.setattr(Finish, "due", lambda *given: False)
    monkeypatch.setattr("workbench.solving.masters.passes.PATIENT", 5)
    found = solve(SoftMargin(0.02), PROBLEMS["words"], gap=1e-6, master="dual-block")
    assert runs
    assert found.status == "optimal"
    assert [entry["lower"] for entry in found.history] == sorted(entry["lower"] for entry in found.history)


@pytest.mark.parametrize("name", ["words", "costs"])
def test_rounds_of_a_long_point_leave_half_the_time_to_passes(monkeypatch, name):
    """A master that was named and does not come far: what it proved is kept, and passes go on from both ends."""
    problem, asked = PROBLEMS[name], []

    def slow(family, master, request, held=(), journal=None):
        asked.append(request.time_limit)
        state = generate(family, master, replace(request, max_rounds=1), held)
        return replace(state, status="limit")

    monkeypatch.setattr(routes, "HUGE", 1)
    monkeypatch.setattr(routes, "generate", slow)
    found = solve(SoftMargin(0.02), problem, gap=1e-5, master="gram", time_limit=30.0)
    assert asked == [pytest.approx(15.0, abs=1.0)]
    assert asked[0] < 15
    assert found.status == "optimal"
    assert found.backend.endswith("dual-block")
    assert overlap(found, solve(SoftMargin(0.02), problem, gap=1e-5, master="ascent"))
    for end, sign in (("lower", 1), ("upper", -1)):
        ends = [sign * entry[end] for entry in found.history]
        assert ends == sorted(ends)
    for other in ({"groups": 2}, {"max_rounds": 3}, {"backend": "CLARABEL"}):
        found = solve(SoftMargin(0.02), problem, gap=1e-5, master="gram", time_limit=30.0, **other)
        assert asked[-1] == 30.0
        assert "dual-block" not in found.backend


def test_without_memory_for_rounds_passes_go_on(monkeypatch):
    """The inner products of hard rows that do not fit: no bound is lost, and the words say why there are no rounds."""
    problem = labels(n=30, k=3, p=40, seed=1)
    best = solve(HardMargin(), problem, gap=1e-6)
    monkeypatch.setattr(Passes, "stands", lambda self, patient: self.ascent.passes >= 2)

    def demanded(kind, bounds, rows):
        if kind == "gram":
            raise OutOfMemory(f"The inner products of {rows} rows would take much; take fewer samples.")

    monkeypatch.setattr(routes, "demanded", demanded)
    found = solve(HardMargin(), problem, gap=1e-12, master="dual-block")
    assert found.own_status.startswith("only passes: The inner products of")
    assert found.status in ("optimal", "stalled")
    assert overlap(found, best)


def test_a_limit_before_the_first_master_leaves_both_ends():
    found = solve(SoftMargin(0.01), labels(n=400, k=5, p=30), master="gram", time_limit=1e-6)
    assert found.status == "limit"
    assert -1e-300 < found.lower <= 0
    assert np.isfinite(found.gap)
    assert found.certificate.recheck()[0] <= 0


def test_inner_products_that_do_not_fit_take_fewer_groups(monkeypatch):
    problem, form = labels(n=300, k=3), SoftMargin(0.1)
    best = solve(form, problem, gap=1e-6)
    monkeypatch.setattr(needs, "room", lambda: 2 * 40 * (10 * needs.ROUNDS) ** 2)
    found = solve(form, problem, gap=1e-5, master="gram")
    assert "10 groups for want of memory" in found.backend
    assert found.status == "optimal"
    assert overlap(found, best)
    monkeypatch.setattr("workbench.system.memory.room", lambda: 1000)
    with pytest.raises(OutOfMemory, match=r"The inner products of 300 rows would take .*; take fewer samples"):
        solve(form, problem, master="gram", groups="all")


@pytest.mark.parametrize("kind", ["ascent", "gram", "compiled", "dual-block"])
def test_the_memory_of_a_master_is_estimated_within_a_factor(kind):
    """What an estimate counts grows as the rows do; Python's own objects take less than a few megabytes here."""
    bounds = Bounds(SoftMargin(0.1), labels(n=300, k=3))
    one, ten = needs.needed(kind, bounds, 300), needs.needed(kind, bounds, 3000)
    assert one < ten <= (100 if kind == "gram" else 10) * one


@pytest.mark.parametrize("left", [0.0, -2.8e-9])
def test_a_gap_that_is_all_rounding_stands_still(left):
    """Half of a gap below 0 is above it, so the passes never ended."""
    estimates = [(k, k**-2.0 if k < 100 else left) for k in range(1, 1000)]
    assert not standing(estimates[:99], 99, 60)
    assert standing(estimates, 999, 60)
