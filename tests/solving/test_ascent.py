"""Block ascent: its steps, its optima against another master's, and when `solve` chooses it about a moving centre."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import workbench as wb
from workbench.arithmetic import compiled as machine
from workbench.contracts import Rows
from workbench.objectives.regularizers import (
    CountedCosts,
    ElasticNet,
    Shape,
    Simplex,
    SquaredNorm,
    Stacked,
    plain,
    projected,
)
from workbench.proofs.bounds import Bounds
from workbench.solving import routes
from workbench.solving.masters import ascent, choice
from workbench.solving.masters.ascent import SWEEPS, AscentMaster, Centred, Dual, fill, grouped, pairwise, sweep

needs_numba = pytest.mark.skipif(not machine.available(), reason="numba is an optional dependency")
KINDS = {
    "squares": SquaredNorm(0.7).shape(6),
    "sparse": ElasticNet(0.3, 0.4).shape(6),
    "counted": Stacked((3, 3), (ElasticNet(0.3, 0.1), CountedCosts(2.0, np.array([0.5, 0.0, 2.0])))).shape(6),
    "simplex": Stacked((2, 4), (ElasticNet(0.3, 0.0), Simplex(np.array([True, True, False, True])))).shape(6),
    "free": Shape(*(np.concatenate(each) for each in zip(plain(4, square=0.5), plain(2), strict=True))),
}


def random_rows(rng, groups=4, each=3, dim=6):
    """`each` rows a group, half of their entries 0, the first of each a truth: slope and offset 0."""
    slopes = rng.normal(size=(groups * each, dim)) * (rng.random((groups * each, dim)) < 0.5)
    offsets, group = rng.uniform(0, 2, groups * each), np.tile(np.arange(groups), each)
    slopes[:groups], offsets[:groups] = 0, 0
    return Rows(sparse.csr_array(slopes), offsets, group)


def begun(shape, seed):
    """A master with random rows, and all that a sweep needs."""
    rng = np.random.default_rng(seed)
    prices = rng.uniform(0.2, 2, 4)
    master = AscentMaster(shape, prices, np.zeros(6))
    master.centre = rng.normal(size=6) * ~np.isinf(shape.square)
    master.append(random_rows(rng))
    sigma = master.sigma()
    blocks, beta = grouped(master.rows, prices, np.zeros(12))
    metric, push = 2 * shape.square + sigma, master.rows.slopes.T @ beta
    fill(blocks, metric, np.zeros(6))
    centred = Centred(metric, sigma * master.centre - shape.linear, shape.absolute, shape.floor, master.simplex)
    return master, sigma, blocks, centred, Dual(beta, push, master.implied(push, sigma)), rng


def dual_value(master, sigma, dual):
    """⟨o, β⟩ + min over x of r(x) + ½Σσ(x − x⁰)² + ⟨d, x⟩, the minimiser being θ."""
    square, linear, absolute, _, _ = master.shape
    x, known = dual.theta, np.isfinite(square)
    r = (square[known] * x[known] ** 2).sum() + linear[known] @ x[known] + absolute @ np.abs(x)
    return master.rows.offsets @ dual.beta + r + sigma @ (x - master.centre) ** 2 / 2 + dual.push @ x


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_a_sweep_raises_the_dual_and_keeps_what_follows_from_it(kind, seed):
    master, sigma, blocks, centred, dual, rng = begun(KINDS[kind], seed)
    values = [dual_value(master, sigma, dual)]
    for _ in range(6):
        gap = sweep(pairwise, projected, blocks, centred, dual, rng.permutation(4)[None], 0.0)
        values.append(dual_value(master, sigma, dual))
    assert np.diff(values).min() >= -1e-10
    np.testing.assert_allclose(dual.push, master.rows.slopes.T @ dual.beta, atol=1e-10)
    np.testing.assert_allclose(dual.theta, master.implied(dual.push, sigma), atol=1e-10)
    np.testing.assert_allclose(np.bincount(master.rows.groups, dual.beta), master.prices, rtol=1e-12)
    assert dual.beta.min() >= 0
    assert gap >= -1e-10


@pytest.mark.parametrize("kind", ["counted", "simplex", "free"])
def test_a_wrong_metric_would_lower_the_dual(kind):
    """What keeps the steps safe is h: with an h a tenth of it some sweep goes down."""
    falls = 0
    for seed in range(20):
        master, sigma, blocks, centred, dual, rng = begun(KINDS[kind], seed)
        fill(blocks, 10 * centred.metric, np.zeros(6))
        before = dual_value(master, sigma, dual)
        for _ in range(4):
            sweep(pairwise, projected, blocks, centred, dual, rng.permutation(4)[None], 0.0)
            after = dual_value(master, sigma, dual)
            falls += after < before - 1e-9
            before = after
    assert falls > 0


@needs_numba
@pytest.mark.parametrize("kind", ["counted", "simplex"])
def test_compiled_steps_are_the_interpreted_ones(kind):
    found = []
    for steps in (ascent.compiled(projected), (fill, sweep, pairwise, projected)):
        _, _, blocks, centred, dual, rng = begun(KINDS[kind], 3)
        steps[0](blocks, centred.metric, np.zeros(6))
        orders = np.array([rng.permutation(4) for _ in range(SWEEPS)])
        gap = steps[1](steps[2], steps[3], blocks, centred, dual, orders, 1e-9)
        found.append(np.concatenate([[gap], blocks.gram, *dual]))
    np.testing.assert_array_equal(*found)


def clouds(seed=1, n=40, k=3):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.choice(k, n - k, p=np.arange(k, 0, -1) / (k * (k + 1) / 2))])
    return wb.Multiclass(rng.normal(size=(n, 4)) + np.eye(k, 4)[y], y)


@needs_numba
@pytest.mark.parametrize(
    "form",
    [
        wb.FixedCostLearning(lam2=0.5, lam1=0.2),
        wb.SimplexCostLearning(lam2=0.5, K=6.0, factoring="ordered"),
        wb.NormalizedCostLearning(lam2=0.5, lam1=0.1),
        wb.NormalizedCostLearning(lam2=0.5, counts="none", factoring="ordered"),
    ],
    ids=["fixed", "simplex", "expected", "none"],
)
@pytest.mark.parametrize("most", [0, 10**6], ids=["asked", "all"])
def test_it_certifies_what_the_compiled_master_certifies(form, most, monkeypatch):
    """By itself: no successor has to help. Rows are asked for, or all there from the start."""
    monkeypatch.setattr(routes, "MOST", most)
    problem = clouds()
    own, other = wb.solve(form, problem, gap=1e-3, master="ascent"), wb.solve(form, problem, gap=1e-7)
    assert (own.status, own.master) == ("optimal", "ascent")
    assert "then" not in own.backend
    assert own.lower <= other.upper
    assert other.lower <= own.upper
    assert Bounds(form, problem).upper(own.theta_flat) == pytest.approx(own.upper, rel=1e-12)


@needs_numba
def test_chains_and_proofs(tmp_path):
    problem = wb.load_problem("synthetic-chain")(n=12)
    solution = wb.solve(wb.NormalizedCostLearning(factoring="ordered"), problem, gap=1e-4, master="ascent")
    assert solution.status == "optimal"
    assert wb.verify(solution.certificate.save(tmp_path / "c"))["proven"]


@needs_numba
def test_it_is_chosen_where_data_are_long_and_refused_where_it_does_not_fit(monkeypatch):
    problem = clouds()
    monkeypatch.setattr(choice, "LONG", 100)
    assert wb.solve(wb.NormalizedCostLearning(), problem, gap=1e-2).master == "dual-block"
    assert wb.solve(wb.NormalizedCostLearning(lam1=0.1), problem, gap=1e-2).master == "ascent"
    assert wb.solve(wb.NormalizedCostLearning(), problem, gap=1e-2, groups="one").master == "compiled"
    assert wb.solve(wb.NormalizedCostLearning(), problem, gap=1e-2, backend="CLARABEL").master == "compiled"
    for form, words in ((wb.HardMargin(), {}), (wb.NormalizedCostLearning(), {"backend": "CLARABEL"})):
        with pytest.raises(wb.BadInput, match="does not fit here"):
            wb.solve(form, problem, master="ascent", **words)


def test_rows_that_are_negligible_together_move_the_gap_by_a_thousandth():
    """Prices are 1 a sample here, not 1/n: n violations of a size add up to n times it."""
    from workbench.solving.cutting_planes import Generation
    from workbench.solving.family import Family
    from workbench.solving.request import Request

    problem = clouds()
    family = Family(Bounds(wb.NormalizedCostLearning(), problem), problem.n_samples)
    master = AscentMaster(plain(family.cuts.dim, 1.0), family.prices, family.start)
    run = Generation(family, master, Request(gap=1e-3))
    run.state.upper, run.state.lower = 7.0, 3.0
    assert run.negligible * family.prices.sum() == pytest.approx(1e-3 * 4.0)
