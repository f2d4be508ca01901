"""AdaGrad: proximal steps and the projection against convex programs, deferred against prompt steps, its optima."""

from __future__ import annotations

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.arithmetic import compiled as machine
from workbench.arithmetic.compiled import entirely
from workbench.command.cli import cli
from workbench.errors import BadInput, MissingCapability, UnknownName
from workbench.objectives import regularizers
from workbench.objectives.costs import LearnedCost
from workbench.objectives.regularizers import Box, CountedCosts, ElasticNet, Simplex, SquaredNorm, Stacked, projected
from workbench.registries import registry
from workbench.solvers import adagrad
from workbench.solvers.adagrad import AdaGrad
from workbench.solving.stochastic import run

seeds = st.integers(0, 2**32 - 1)
needs_numba = pytest.mark.skipif(not machine.available(), reason="numba is an optional dependency")
alternating = registry("learner").get("adagrad-alternating")().fit


def clouds(seed=0, n=30, k=3):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.choice(k, n - k, p=np.arange(k, 0, -1) / (k * (k + 1) / 2))])
    return wb.Multiclass(rng.normal(size=(n, 4)) + np.eye(k, 4)[y], y)


# ── the projection and the proximal steps ─────────────────────────────────────────────────────────


def cases(count, seed=0):
    """(u, H) of 1 to 12 entries: metrics over eight decades, points far and near, ties, points already there."""
    rng = np.random.default_rng(seed)
    for t in range(count):
        m = int(rng.integers(1, 13))
        metric = np.exp(rng.uniform(-9, 9, m) * rng.choice([0.0, 1 / 9, 1.0]))
        u = rng.normal(size=m) * 10 ** rng.uniform(-2, 2)
        if t % 5 == 0:
            u = np.round(u) / metric
        yield (np.abs(u) / np.abs(u).sum() if t % 7 == 0 and u.any() else u), metric


def test_the_projection_satisfies_the_optimality_conditions():
    """Σ v = 1, v ≥ 0, and one multiplier θ with H(u − v) = θ where v > 0 and Hu ≤ θ where v = 0: 10,000 cases."""
    for u, metric in cases(10_000):
        v = projected(u, metric)
        size = max(1.0, float(np.abs(u).max()))
        assert v.min() >= 0
        assert abs(v.sum() - 1) <= 1e-12 * size * len(u)
        pull, held = metric * (u - v), v > 0
        theta = np.average(pull[held], weights=1 / metric[held])
        scale = 1e-9 * size * metric.max()
        assert np.abs(pull[held] - theta).max() <= scale
        assert (metric[~held] * u[~held] <= theta + scale).all()


def test_the_projection_equals_a_convex_program():
    """To 1e-9 in v, by an active-set solver; eight cases a program, since CVXPY's own work is most of the time."""
    pytest.importorskip("daqp")
    drawn = [(np.clip(u, -3, 3), np.exp(np.log(metric) / 9)) for u, metric in cases(400, seed=1)]
    for part in (drawn[k : k + 8] for k in range(0, len(drawn), 8)):
        u, metric = (np.concatenate(each) for each in zip(*part, strict=True))
        case = np.repeat(np.arange(len(part)), [len(each) for each, _ in part])
        v, sums = cp.Variable(len(u)), (case == np.arange(len(part))[:, None]).astype(float)
        near = cp.sum_squares(cp.multiply(np.sqrt(metric), v - u))
        program = cp.Problem(cp.Minimize(near), [v >= 0, sums @ v == 1])
        program.solve(solver=cp.DAQP, primal_tol=1e-12, dual_tol=1e-12)
        np.testing.assert_allclose(np.concatenate([projected(*each) for each in part]), v.value, rtol=0, atol=1e-9)


def exact_projection(u, metric):
    """By enumeration of supports, in fractions: the one whose point satisfies the conditions."""
    u, metric = [Fraction(x) for x in u], [Fraction(x) for x in metric]
    for mask in range(1, 2 ** len(u)):
        held = [i for i in range(len(u)) if mask >> i & 1]
        theta = (sum(u[i] for i in held) - 1) / sum(1 / metric[i] for i in held)
        v = [u[i] - theta / metric[i] if i in held else Fraction(0) for i in range(len(u))]
        if all(x >= 0 for x in v) and all(metric[i] * u[i] <= theta for i in range(len(u)) if i not in held):
            return np.array([float(x) for x in v])
    raise AssertionError("no support satisfies the conditions")


def test_the_projection_equals_enumeration_in_fractions():
    for u, metric in cases(400, seed=2):
        if len(u) <= 5:
            np.testing.assert_allclose(
                projected(u, metric), exact_projection(u, metric), atol=1e-9 * max(1, abs(u).max())
            )


def test_the_projection_stays_in_the_simplex_from_far_away():
    """As exact as u is, and a sum of 1 to rounding, for |u| up to 1e17 and metrics of 1e-8 to 1e8."""
    rng = np.random.default_rng(4)
    for _ in range(600):
        m = int(rng.integers(1, 6))
        u, metric = rng.normal(size=m) * 10 ** rng.uniform(-3, 17), 10 ** rng.uniform(-8, 8, m)
        v = projected(u, metric)
        assert v.min() >= 0
        assert v.sum() == pytest.approx(1, abs=1e-12)
        np.testing.assert_allclose(v, exact_projection(u, metric), atol=1e-15 * max(1, abs(u).max()))


REGULARIZERS = [
    SquaredNorm(0.7),
    ElasticNet(0.3, 0.5),
    ElasticNet(1e-3, 2.0),
    Box(5.0),
    Simplex(np.array([True, True, False, True])),
    CountedCosts(2.0, np.array([0.5, 3.0, 0.0, 1.0])),
    Stacked((1, 1, 2), (ElasticNet(0.3, 0.5), Box(2.0), CountedCosts(1.5, np.array([2.0, 0.3])))),
]


def declared(regularizer, x):
    """(r, constraints) of a variable, in CVXPY."""
    match regularizer:
        case SquaredNorm():
            return regularizer.lam / 2 * cp.sum_squares(x), []
        case ElasticNet():
            return regularizer.lam2 * cp.sum_squares(x) + regularizer.lam1 * cp.norm1(x), []
        case Box():
            return 0, []
        case Simplex():
            return 0, [x >= 0, cp.sum(x) == 1, x[np.flatnonzero(~regularizer.live)] == 0]
        case CountedCosts():
            dead = np.flatnonzero(~regularizer.live)
            cost = regularizer.K / 2 * cp.sum(cp.multiply(regularizer.n, cp.square(1 - x)))
            return cost, [x >= 0] + ([x[dead] == 0] if len(dead) else [])
    ends, value, constraints = np.cumsum(regularizer.sizes), 0, []
    for part, size, end in zip(regularizer.parts, regularizer.sizes, ends, strict=True):
        each, more = declared(part, x[end - size : end])
        value, constraints = value + each, constraints + more
    return value, constraints


@pytest.mark.parametrize("regularizer", REGULARIZERS, ids=lambda r: type(r).__name__)
def test_a_proximal_step_equals_its_program(regularizer):
    rng = np.random.default_rng(3)
    for _ in range(8):
        u, metric, step = 2 * rng.normal(size=4), rng.uniform(0.2, 5, 4), rng.uniform(0.1, 2)
        x = cp.Variable(4)
        value, constraints = declared(regularizer, x)
        near = cp.sum_squares(cp.multiply(np.sqrt(metric), x - u)) / 2
        program = cp.Problem(cp.Minimize(near + step * value), constraints)
        program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
        np.testing.assert_allclose(regularizer.prox(u, metric, step), x.value, atol=1e-6)


def test_a_regularizer_without_a_shape_is_refused():
    with pytest.raises(MissingCapability, match="Regularizer has no proximal step"):
        regularizers.Regularizer().prox(np.zeros(2), np.ones(2), 1.0)


# ── the cost kernels ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["simplex-cost-learning", "normalized-cost-learning", "fixed-cost"])
@pytest.mark.parametrize("output", ["multiclass", "chain"])
@pytest.mark.parametrize("factoring", ["ordered", "unordered", "input"])
@given(seed=seeds)
@settings(max_examples=8)
def test_the_cost_kernel_is_the_cost_oracle(name, output, factoring, seed):
    """Maximum, slope, its entries and what is read, against the oracle's own rows."""
    rng = np.random.default_rng(seed)
    problem = registry("output").get(output).tiny(rng)
    oracle = registry("formulation").get(name)(K=1.5, factoring=factoring).oracle(problem)
    kernel = oracle.kernel()
    for i in range(problem.n_samples):
        theta, out, moved = rng.normal(size=oracle.dim), np.zeros(problem.width, np.int64), np.zeros(oracle.dim)
        value = kernel.argmax_into(kernel.data, theta, i, out)
        slopes, offsets = oracle.rows(np.array([i]), out[None])
        assert value == pytest.approx((slopes @ theta)[0] + offsets[0], abs=1e-9)
        best = oracle.rows(np.array([i]), oracle.argmax(theta, np.array([i])))
        assert value == pytest.approx((best[0] @ theta)[0] + best[1][0], abs=1e-9)
        kernel.add_slope(kernel.data, i, out, 2.0, moved)
        np.testing.assert_allclose(moved, 2 * slopes.toarray()[0], atol=1e-12)
        indices, values = np.zeros(kernel.most, np.int64), np.zeros(kernel.most)
        count = kernel.slope_into(kernel.data, i, out, indices, values)
        entries = np.zeros(oracle.dim)
        np.add.at(entries, indices[:count], values[:count])
        np.testing.assert_allclose(entries, slopes.toarray()[0], atol=1e-12)
        if kernel.reads_into:
            asked = np.zeros(kernel.widest, np.int64)
            asked = asked[: kernel.reads_into(kernel.data, i, asked)]
            assert set(indices[:count].tolist()) <= set(asked.tolist())
            other = rng.normal(size=oracle.dim)
            other[asked] = theta[asked]
            assert kernel.argmax_into(kernel.data, other, i, out) == value


@needs_numba
def test_kernels_within_kernels_are_compiled_to_the_same_bits():
    problem = clouds()
    kernel = wb.NormalizedCostLearning(factoring="ordered").oracle(problem).kernel()
    fast, theta = entirely(kernel), np.random.default_rng(0).normal(size=12 + 3 + 6)
    for i in range(problem.n_samples):
        outs = np.zeros((2, 1), np.int64)
        values = [k.argmax_into(k.data, theta, i, out) for k, out in zip((kernel, fast), outs, strict=True)]
        assert values[0] == values[1]
        assert outs[0] == outs[1]


# ── deferred steps ────────────────────────────────────────────────────────────────────────────────


def prompt(formulation, problem, order, step, decay, delta):
    """The method by its definition: every entry takes its step at every visit."""
    regularizer, oracle = formulation.regularizer(problem), formulation.oracle(problem)
    prices = formulation.prices(problem).floats()
    n = int(np.count_nonzero(prices))
    theta, squares = regularizer.argmin(np.zeros(oracle.dim)) + 0.0, np.zeros(oracle.dim)
    for visit, i in enumerate(order):
        slope, _ = oracle.rows(np.array([i]), oracle.argmax(theta, np.array([i])))
        g = slope.toarray()[0] * n * prices[i] / prices.sum()
        squares += g * g
        metric, rate = delta + np.sqrt(squares), step / (visit // n + 1) ** decay
        theta = regularizer.prox(theta - rate * g / metric, metric, rate / prices.sum())
    return theta


@pytest.mark.parametrize(
    "formulation",
    [
        wb.SoftMargin(lam=0.2),
        wb.SimplexCostLearning(lam2=0.5, lam1=0.3, factoring="ordered"),
        wb.NormalizedCostLearning(lam2=0.5, lam1=0.3),
        wb.FixedCostLearning(lam2=1e-9, lam1=0.3, K=2.0),
    ],
    ids=lambda f: type(f).__name__,
)
def test_deferred_steps_are_prompt_steps(formulation):
    """On sparse data, where most weights wait most of the time; δ = 1, since equal first steps would make ties."""
    problem = wb.load_problem("synthetic-text")(n=25, seed=3)
    rng = np.random.default_rng(5)
    order = np.concatenate([rng.permutation(25) for _ in range(3)])
    expected = prompt(formulation, problem, order, 0.2, 0.5, 1.0)
    solver = AdaGrad(average="last", step=0.2, decay=0.5, delta=1.0)
    found = run(solver, formulation, problem, passes=3, rng=5, order="permutation", compiled=False).thetas[-1]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    assert (found == 0).any()


def test_a_visit_costs_what_the_sample_holds_however_many_weights_there_are(monkeypatch):
    asked = []
    settle = adagrad.settle
    monkeypatch.setattr(
        adagrad, "settle", lambda now, j, count, state: asked.append(count) or settle(now, j, count, state)
    )
    problem = wb.load_problem("synthetic-text")(n=40)
    form = wb.NormalizedCostLearning()
    run(AdaGrad(), form, problem, passes=1, rng=0, compiled=False)
    d, k, m = form.oracle(problem).sizes
    assert asked[-1] == d + k + m  # at the end of the pass
    longest = int(np.diff(problem.X.indptr).max())
    assert max(asked[:-1]) <= k * longest + k + m < d / 4


@pytest.mark.parametrize("wrong", [{"average": "uniform"}, {"step": 0.0}, {"delta": -1.0}, {"decay": 2.0}])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(BadInput, match=next(iter(wrong))):
        AdaGrad(**wrong)


# ── it finds certified optima, and planted bugs do not ────────────────────────────────────────────

BUDGET = 1500


@pytest.fixture(scope="module")
def toy():
    """Objectives (1) and (10) on the toy problem, certified."""
    problem = wb.load_problem("toy")()
    forms = wb.SimplexCostLearning(lam2=3.0, K=3.0), wb.NormalizedCostLearning(lam2=3.0, K=2.0)
    return problem, [wb.solve(form, problem, gap=1e-5) for form in forms]


def excess(solution, problem, passes=BUDGET, seed=0):
    trace = run(AdaGrad(), solution.formulation, problem, passes, seed, [passes], order="permutation")
    return wb.crosscheck(trace, solution, tolerance=1e-3)


@needs_numba
@pytest.mark.parametrize("seed", range(3))
def test_it_agrees_on_both_objectives(toy, seed):
    problem, solutions = toy
    for solution in solutions:
        assert excess(solution, problem, seed=seed).verdict == "agrees"


def flipped(self, size):
    """The sign of −K⟨v, n⟩ the wrong way round."""
    shape = SHAPE(self, size)
    return shape._replace(linear=-shape.linear)


def without_k(self):
    """Errors at cost 1 in place of K."""
    kernel = KERNEL(self)
    return kernel._replace(data=(*kernel.data[:-1], 1.0))


SHAPE, KERNEL = CountedCosts.shape, LearnedCost.kernel
BUGS = {
    "costs without K, (1)": (LearnedCost, "kernel", without_k, 0),
    "costs without K, (10)": (LearnedCost, "kernel", without_k, 1),
    "sign of −K⟨v, n⟩": (CountedCosts, "shape", flipped, 1),
}


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_do_not_agree(bug, toy, monkeypatch):
    """The reference stays as it was; the run is interpreted, for what is planted calls other functions."""
    owner, name, planted, which = BUGS[bug]
    problem, solutions = toy
    form, passes = solutions[which].formulation, 150
    monkeypatch.setattr(owner, name, planted)
    trace = run(AdaGrad(), form, problem, passes, 0, [passes], compiled=False, order="permutation")
    monkeypatch.undo()
    clean = run(AdaGrad(), form, problem, passes, 0, [passes], order="permutation")
    bounds, lower = wb.Bounds(form, problem), solutions[which].lower
    excesses = [bounds.gap(bounds.upper(each.thetas[-1]), lower) for each in (clean, trace)]
    assert excesses[0] < 3e-3
    assert excesses[1] > 10 * excesses[0]
    assert wb.crosscheck(trace, solutions[which], tolerance=1e-3).verdict != "agrees"


@pytest.mark.parametrize("metric", [np.ones_like, np.square], ids=["Euclidean", "G"])
def test_a_projection_in_another_metric_is_noticed(metric, monkeypatch):
    """It moves the optimum too little for a verdict to tell, so the steps themselves are compared."""
    problem, form = clouds(1, n=40), wb.SimplexCostLearning(lam2=1.0, K=3.0)
    order = np.random.default_rng(5).permutation(40)
    solver, expected = AdaGrad(average="last", delta=1.0), prompt(form, problem, order, 0.3, 0.5, 1.0)[-3:]
    clean = run(solver, form, problem, passes=1, rng=5, order="permutation", compiled=False).thetas[-1][-3:]
    monkeypatch.setattr(adagrad, "projected", lambda u, H: projected(u, metric(H)))
    wrong = run(solver, form, problem, passes=1, rng=5, order="permutation", compiled=False).thetas[-1][-3:]
    np.testing.assert_allclose(clean, expected, atol=1e-9)
    assert np.abs(wrong - expected).max() > 1e-3


# ── adagrad-alternating ───────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def difficult():
    problem, form = wb.load_problem("toy")(), wb.KappaDifficulty(lam2=2.0, K=3.0)
    return problem, form, wb.solve(form, problem, gap=1e-4)


@needs_numba
def test_alternation_by_steps_ends_where_the_exact_one_does(difficult):
    problem, form, reference = difficult
    assert reference.status == "stationary"
    found = alternating(problem, form, 120, 0)
    verdict = wb.crosscheck([(120, found)], reference, tolerance=1e-2)
    assert verdict.verdict == "agrees"
    assert set(verdict.evidence) == {"excess", "moved", "reference_gap"}
    np.testing.assert_allclose(found[-3:], reference.history[-1]["v"], atol=1e-3)


def test_both_residuals_are_needed(difficult):
    problem, form, reference = difficult
    exact = np.concatenate([reference.theta_flat, reference.history[-1]["v"]])
    assert wb.crosscheck(exact, reference, 1e-3).verdict == "agrees"
    moved, other = exact.copy(), np.roll(exact[-3:], 1)
    moved[0] += 0.5
    assert wb.crosscheck(moved, reference, 1e-3).evidence["excess"] > 1e-3
    best = wb.solve(form.fixed(other), problem, gap=1e-5).theta_flat
    verdict = wb.crosscheck(np.concatenate([best, other]), reference, 1e-3)
    assert verdict.verdict == "not converged"
    assert verdict.evidence["excess"] <= 1e-3 < verdict.evidence["moved"]
    outside = np.concatenate([reference.theta_flat, [2.0, -1.0, 0.0]])
    assert wb.crosscheck(outside, reference, 1e-3).verdict == "disagrees"
    assert wb.crosscheck(exact[:-1], reference, 1e-3).verdict == "failed"


@needs_numba
def test_the_command_judges_it():
    words = "crosscheck toy kappa-difficulty --set lam2=2 --set K=3 --gap 1e-4 --passes 60 --tolerance 0.01"
    done = CliRunner().invoke(cli, [*words.split(), "--learners", "adagrad-alternating"])
    assert done.exit_code == 0, done.output
    assert "no joint optimum" in done.output
    assert "agrees" in done.output


def test_what_cannot_be_alternated_is_refused(difficult):
    problem, _, _ = difficult
    with pytest.raises(MissingCapability, match="use adagrad"):
        alternating(problem, wb.SoftMargin(lam=0.1), 1, 0)
    with pytest.raises(MissingCapability, match="no certified solutions"):
        alternating(problem, wb.KappaDifficulty(difficulty="stability"), 1, 0)


# ── the table of cost learning ────────────────────────────────────────────────────────────────────

bench = registry("benchmark").modules["cost-table"]


def test_the_table_has_all_its_rows():
    made = wb.load_problem("synthetic-text")
    problem, test = made(n=60, labels=3), made(n=60, labels=3, split="test")
    rows = bench.table("text", problem, test, (0.1,), 1e-2, 3)
    assert len(rows) == 15
    authors = [row for row in rows if row["method"] == "adagrad-alternating"]
    assert all(row["lower"] <= row["upper"] for row in authors)
    assert {row["lam2"] for row in rows} == {0.1}
    assert max(row["gap"] for row in rows) <= 1e-2
    assert all(row["accuracy_low"] <= row["accuracy"] <= row["accuracy_high"] for row in rows)
    assert rows[0]["p"] == 1
    assert rows[0]["won"] == rows[0]["lost"] == 0
    assert len(bench.judged("text", rows)) == 3
    assert bench.mcnemar(np.array([True] * 8), np.array([False] * 8)) == {"won": 8, "lost": 0, "p": 2 / 256}


def test_every_row_chooses_its_lambda_on_the_held_out_part():
    made = wb.load_problem("synthetic-text")
    problem, form = made(n=80, labels=3), wb.FixedCostLearning(lam2=1.0)
    chosen = bench.chosen_lam("svm", form, problem, (1e-3, 1e3), 1)
    assert chosen == 1e-3  # with λ₂ = 1000 the commonest topic is always said
    assert bench.chosen_lam("svm", form, problem, (1e3, 2e3), 1) == 2e3  # of equals the largest


@pytest.mark.parametrize("name", bench.SUITES)
def test_the_table_takes_the_synthetic_suite(name):
    problem, test = bench.datasets(name, 32, None)
    assert (problem.n_samples, test.n_samples) == (32, 16_000)
    assert problem.classes.tolist() == test.classes.tolist()
    share = {form.K for method, _, _, form in bench.cells(problem, 0.1) if method == "objective 1"}
    known = len(np.unique(problem.labels))
    assert share == {known * (known - 1), known * (known - 1) / 2}


def test_data_that_the_table_does_not_know_are_refused():
    with pytest.raises(UnknownName, match="no data set called 'mnist'"):
        bench.cost_table(only="mnist")
