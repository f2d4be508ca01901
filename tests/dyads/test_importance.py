"""Linear scores: weighted-risk certified, and the importance-aware solver against it."""

from __future__ import annotations

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.backends import solve_cvxpy
from workbench.contracts import CutForm, SmoothForm
from workbench.dyads import flows
from workbench.formulations.weighted_risk import HingeRisk, SmoothRisk, WeightedRisk
from workbench.proofs.any_bounds import bounds_for
from workbench.proofs.bounds import Evidence
from workbench.proofs.smooth import SmoothBounds
from workbench.proofs.verify import verify
from workbench.solvers.importance_aware import LOSSES, ImportanceAware, sweep

seeds = st.integers(0, 2**32 - 1)


def drawn(seed, n=40, d=5, real=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + rng.normal(size=n)
    return wb.Linear(X, y if real else np.sign(y), rng.uniform(0.1, 4, n))


# ── the formulation ───────────────────────────────────────────────────────────────────────────────


def test_one_name_two_kinds():
    assert isinstance(WeightedRisk(), HingeRisk | CutForm)
    for loss in ("squared", "logistic"):
        assert isinstance(WeightedRisk(loss=loss), SmoothRisk)
        assert isinstance(WeightedRisk(loss=loss), SmoothForm)
        assert not isinstance(WeightedRisk(loss=loss), CutForm)
    with pytest.raises(wb.BadInput, match="loss is 'hinje'"):
        WeightedRisk(loss="hinje")
    with pytest.raises(wb.MissingCapability, match="needs linear scores"):
        wb.solve(WeightedRisk(), wb.Multiclass(np.eye(3), [0, 1, 2]))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_the_certified_optimum_is_cvxpys(loss, seed, tmp_path):
    problem = drawn(seed, real=loss == "squared")
    lam = [0.01, 0.1, 1.0][seed]
    w = cp.Variable(problem.n_features)
    p, y = problem.X.toarray() @ w, problem.targets
    terms = {"hinge": cp.pos(1 - cp.multiply(y, p)), "squared": cp.square(p - y) / 2}
    terms["logistic"] = cp.logistic(-cp.multiply(np.sign(y), p))
    risk = problem.weights @ terms[loss] / problem.weights.sum()
    program = cp.Problem(cp.Minimize(lam / 2 * cp.sum_squares(w) + risk))
    solve_cvxpy(program, "CLARABEL")
    solution = wb.solve(WeightedRisk(lam, loss), problem, gap=1e-9)
    assert solution.status == "optimal"
    assert solution.upper == pytest.approx(program.value, rel=1e-7)
    proof = verify(solution.certificate.save(tmp_path / "c"))
    assert proof["proven"]
    assert proof["lower"] <= program.value * (1 + 1e-7)


def test_ridge_in_closed_form():
    problem = drawn(9, real=True)
    p = problem.weights / problem.weights.sum()
    X = problem.X.toarray()
    w = np.linalg.solve(0.3 * np.eye(5) + X.T @ (p[:, None] * X), X.T @ (p * problem.targets))
    solution = wb.solve(WeightedRisk(0.3, "squared"), problem, gap=1e-12)
    np.testing.assert_allclose(solution.theta["w"], w, atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_an_importance_of_three_is_the_sample_three_times(loss):
    once = drawn(1, n=12, real=loss == "squared")
    counts = np.array([1, 3] * 6)
    X, y = once.X.toarray(), once.targets
    weighted, copied = wb.Linear(X, y, counts), wb.Linear(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    values = [wb.solve(WeightedRisk(0.1, loss), each).upper for each in (weighted, copied)]
    assert values[0] == pytest.approx(values[1], rel=1e-8)


def test_hinge_and_logistic_are_soft_margin_and_crf():
    problem = drawn(2)
    for loss, other in (("hinge", wb.SoftMargin(0.1)), ("logistic", wb.CRF(0.1))):
        assert wb.solve(WeightedRisk(0.1, loss), problem).upper == pytest.approx(
            wb.solve(other, problem).upper, rel=1e-8
        )


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@given(seed=seeds, size=st.floats(-6, 6))
def test_smooth_terms_are_enclosed(loss, seed, size):
    """F in rational arithmetic (squared), or in longer floats (logistic), lies in the enclosure; so does ‖∇F‖."""
    problem, rng = drawn(seed, n=6, d=3, real=loss == "squared"), np.random.default_rng(seed)
    theta = rng.normal(size=3) * 10**size
    form = WeightedRisk(0.1, loss)
    bounds = bounds_for(form, problem)
    assert isinstance(bounds, SmoothBounds)
    value, norm = bounds.enclosed(theta)
    exact = np.vectorize(Fraction, otypes=[object])
    X, w, y, h = map(exact, (problem.X.toarray(), theta, bounds.oracle.targets, problem.weights))
    p, prices = X @ w, h / h.sum()
    if loss == "squared":
        true, slopes = (p - y) ** 2 / 2, p - y
    else:
        long = np.longdouble([float(each.numerator) / float(each.denominator) for each in y * p])
        true = exact([float(each) for each in np.logaddexp(0, -long)])
        slopes = -y * exact([float(each) for each in 1 / (1 + np.exp(np.minimum(long, 11000)))])
    slack = 0 if loss == "squared" else Fraction(1, 10**12) * (1 + abs(true).max())
    F = Fraction(form.lam) / 2 * (w @ w) + prices @ true
    assert Fraction(float(value.lo)) - slack <= F <= Fraction(float(value.hi)) + slack
    gradient = Fraction(form.lam) * w + X.T @ (prices * slopes)
    assert gradient @ gradient <= Fraction(norm * (1 + 1e-9)) ** 2 + Fraction(slack) ** 2
    lower, _ = bounds.recheck(Evidence(theta))
    assert lower <= wb.solve(form, problem, gap=1e-6).upper


# ── the solver ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("loss", LOSSES)
def test_each_visit_is_two_exact_flows(loss):
    """The sweep against flows.TRAVEL on whole vectors, and its average against the plain sum."""
    problem = drawn(3, real=loss == "squared")
    form, solver = WeightedRisk(0.05, loss), ImportanceAware()
    trace = wb.run(solver, form, problem, passes=3, rng=4, compiled=False)
    state = solver.init(form, problem)
    rng = np.random.default_rng(4)
    order = np.concatenate([rng.integers(40, size=40) for _ in range(3)])
    w, total, weight = np.zeros(5), np.zeros(5), 0.0
    X, prices = problem.X.toarray(), form.prices(problem).floats()
    for t, i in enumerate(order, 1):
        w *= t / (t + 1)
        eta = np.log((t + 1) / t) / form.lam
        square = X[i] @ X[i]
        travel = flows.TRAVEL[loss](w @ X[i], state.targets[i], eta * 40 * prices[i] * square)
        w -= travel / square * X[i]
        total, weight = total + (t + 1) * w, weight + t + 1
    np.testing.assert_allclose(trace.thetas[-1], total / weight, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_it_comes_to_the_certified_optimum(loss):
    problem = drawn(5, n=60, real=loss == "squared")
    form = WeightedRisk(0.1, loss)
    solution = wb.solve(form, problem)
    trace = wb.run(ImportanceAware(), form, problem, passes=4000, rng=0, checkpoints=[40, 4000])
    excess = (trace.upper - solution.lower) / solution.upper
    assert (excess >= 0).all()
    assert excess[1] < 1e-3
    assert excess[1] < excess[0]
    assert wb.crosscheck(trace, solution, tolerance=2e-3).verdict == "agrees"


@pytest.mark.parametrize("loss", LOSSES)
def test_compiled_is_interpreted(loss):
    problem, form = drawn(6), WeightedRisk(0.01, loss)
    fast, slow = (wb.run(ImportanceAware(), form, problem, passes=2, rng=1, compiled=c) for c in (None, False))
    np.testing.assert_allclose(fast.thetas, slow.thetas, rtol=1e-12)


def test_huge_importances_do_no_harm():
    rng = np.random.default_rng(7)
    problem = wb.Linear(rng.normal(size=(30, 4)), rng.choice([-1.0, 1.0], 30), 10.0 ** rng.uniform(-6, 6, 30))
    for loss in LOSSES:
        trace = wb.run(ImportanceAware("last"), WeightedRisk(1e-6, loss), problem, passes=5)
        assert np.isfinite(trace.thetas).all()
        assert np.abs(trace.thetas).max() < 1e3


def test_a_planted_wrong_step_is_noticed():
    """The same solver with half of every update's time is not at the optimum."""

    def slowed(argmax_into, add_slope, data, order, prices, witnesses, steps, state):
        sweep(argmax_into, add_slope, data, order, prices * (state.targets > 0), witnesses, steps, state)

    class Wrong(ImportanceAware):
        sweep = staticmethod(slowed)

    problem, form = drawn(8), WeightedRisk(0.1, "logistic")
    solution = wb.solve(form, problem)
    trace = wb.run(Wrong(), form, problem, passes=2000, compiled=False)
    assert wb.crosscheck(trace, solution).verdict in ("disagrees", "not converged")
    assert trace.upper[-1] > 1.01 * solution.upper


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.eye(2), [1]), "y has shape"),
        ((np.eye(2), ["a", "b"]), "ragged or not numbers"),
        ((np.eye(2), [1, np.nan]), "target of sample 1 is nan"),
        ((np.eye(2), [1, -1], [0, 0]), "not all zero"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(wb.BadInput, match=message):
        wb.Linear(*arguments)


@pytest.mark.parametrize("loss", LOSSES)
def test_real_data_from_the_command_line(loss):
    """`cutbench crosscheck breast-cancer weighted-risk`: every learner that takes it agrees with the certificate."""
    problem, form = wb.load_problem("breast-cancer")(n=200), WeightedRisk(0.1, loss)
    solution = wb.solve(form, problem, gap=1e-8)
    trace = wb.run(ImportanceAware(), form, problem, passes=300, rng=0)
    assert solution.status == "optimal"
    assert solution.train_error < 0.05
    assert wb.crosscheck(trace, solution, tolerance=1e-2).verdict == "agrees"
    with pytest.raises(wb.BadInput, match="choose n between 2"):
        wb.load_problem("breast-cancer")(n=1)
