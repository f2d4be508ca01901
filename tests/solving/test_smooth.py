"""Smooth formulations: every one in the folder × every output, the descent's two methods, certificates, runs.

A new smooth formulation in workbench/formulations is picked up here without a line of test. `Ridge` below
is none of the folder's: it shows that bounds, descent and solvers need the contract and nothing else.
"""

from __future__ import annotations

import itertools
import json
import types
from dataclasses import dataclass, replace

import numpy as np
import pytest
from declared import proven_formulations, proven_structures

import workbench as wb
from workbench.arithmetic import compiled as machine
from workbench.arithmetic.intervals import gamma
from workbench.backends import solve_cvxpy
from workbench.contracts import Blocks, Kernel, Prices, SmoothForm
from workbench.objectives.regularizers import SquaredNorm
from workbench.proofs.any_bounds import bounds_for
from workbench.proofs.certificate import load
from workbench.proofs.ends import parsed
from workbench.proofs.smooth import SmoothBounds
from workbench.proofs.verify import verify
from workbench.registries import misfit, registry
from workbench.solving import smooth
from workbench.solving.request import Request
from workbench.solving.smooth import descend

OUTPUTS = dict(registry("output").items())
SMOOTH = {name: kind for name, kind in registry("formulation").items() if isinstance(kind(), SmoothForm)}
PAIRS = [
    (output, name)
    for output, name in itertools.product(OUTPUTS, SMOOTH)
    if misfit(SMOOTH[name](), OUTPUTS[output].tiny(np.random.default_rng(0))) is None
]
SOLVERS = [solver() for _, solver in registry("solver").items()]
TAKING = [s for s in SOLVERS if s.misfit(wb.CRF(), wb.Multiclass.tiny(np.random.default_rng(0))) is None]
NEAR = ("crf-stochastic", "subgradient")  # end near the optimum after 60 passes; another solver may be sound and slow
needs_numba = pytest.mark.skipif(not machine.available(), reason="numba is an optional dependency")


@pytest.fixture(scope="module")
def iris():
    return wb.load_problem("iris")()


# ── a smooth form of another kind ─────────────────────────────────────────────────────────────────


def loss_into(data, theta, i, out):
    """½(⟨x_i, θ⟩ − y_i)²; leaves the residual in `data`."""
    X, y, residual = data
    residual[0] = -y[i]
    for j in range(len(theta)):
        residual[0] += X[i, j] * theta[j]
    return 0.5 * residual[0] * residual[0]


def add_gradient(data, i, out, scale, theta):
    X, _, residual = data
    for j in range(len(theta)):
        theta[j] += scale * residual[0] * X[i, j]


class Squares:
    """h_i(θ) = ½(⟨x_i, θ⟩ − y_i)²."""

    kind, width, assumption = "exact", 0, "nothing but IEEE 754 assumed"

    def __init__(self, X, y):
        self.X, self.y, (self.n_samples, self.dim) = X, y, X.shape

    def evaluate(self, theta, samples, weights):
        residual = self.X[samples] @ theta - self.y[samples]
        return residual**2 / 2, self.X[samples].T @ (weights * residual)

    def errors(self, theta, samples, weights):
        size = np.abs(self.X[samples]) @ np.abs(theta) + np.abs(self.y[samples])
        slope = gamma(self.dim + 8) * size
        norm = np.linalg.norm(self.X[samples], axis=1)
        return slope * size * 4, float(weights @ (norm * (slope + gamma(len(samples) + 8) * size))) * 2

    def norms(self):
        return np.full(self.n_samples, np.inf)

    def kernel(self):
        return Kernel((self.X, self.y, np.zeros(1)), loss_into, add_gradient)


@dataclass(frozen=True)
class Ridge:
    """λ/2 ‖θ‖² + Σ p_i h_i(θ)."""

    lam: float = 0.1

    def blocks(self, problem):
        return Blocks(w=(problem.X.shape[1],))

    def regularizer(self, problem):
        return SquaredNorm(self.lam)

    def prices(self, problem):
        return Prices.of_mean(problem.weights)

    def terms(self, problem):
        return Squares(problem.X, problem.y)

    def program(self, problem):
        raise NotImplementedError


def regression(rng, n=20, p=5, spread=0.0):
    X = rng.normal(size=(n, p)) * 10.0 ** (spread * np.arange(p))
    weights = rng.integers(1, 4, n) + 0.0
    magnitude = np.abs(X).max(axis=1)
    return types.SimpleNamespace(X=X, y=rng.normal(size=n), weights=weights, magnitude=magnitude, n_samples=n)


@pytest.mark.parametrize("seed", range(8))
def test_ridge_regression_is_solved_to_its_closed_form(seed):
    data = regression(np.random.default_rng(seed))
    p = data.weights / data.weights.sum()
    best = np.linalg.solve(data.X.T @ (p[:, None] * data.X) + 0.1 * np.eye(5), data.X.T @ (p * data.y))
    bounds = bounds_for(Ridge(), data)
    assert isinstance(bounds, SmoothBounds)
    state = descend(bounds, Request(gap=1e-11))
    assert state.status == "optimal"
    np.testing.assert_allclose(state.theta, best, atol=1e-6)
    value = 0.05 * best @ best + p @ (data.X @ best - data.y) ** 2 / 2
    assert state.lower - 1e-15 <= value <= state.upper + 1e-15
    assert "nothing but IEEE 754" in bounds.arithmetic


# ── the folder ────────────────────────────────────────────────────────────────────────────────────


def test_the_folder_has_smooth_formulations():
    assert "crf" in SMOOTH
    assert {output for output, _ in PAIRS} >= {"chain", "multiclass"}
    assert {solver.name for solver in TAKING} >= {*NEAR}


@pytest.mark.parametrize(("output", "name"), PAIRS)
@pytest.mark.parametrize("seed", range(3))
def test_descent_reaches_the_declared_optimum_and_its_certificate_is_proven(output, name, seed, tmp_path):
    problem = OUTPUTS[output].tiny(np.random.default_rng(seed))
    formulation = SMOOTH[name]()
    solution = wb.solve(formulation, problem, gap=1e-10, source={"name": "tiny"})
    assert solution.status == "optimal"
    assert 0 <= solution.gap <= 1e-10
    program, variable = formulation.program(problem)
    solve_cvxpy(program, "CLARABEL")
    assert program.value == pytest.approx(solution.upper, rel=1e-7)
    assert variable.size == formulation.blocks(problem).dim == len(solution.theta_flat)
    proof = verify(solution.certificate.save(tmp_path / "c"))
    if output in proven_structures() and name in proven_formulations():
        assert proof["proven"]
        assert proof["arithmetic"].startswith("ball (")
        assert "assumed" not in proof["arithmetic"]
        assert proof["conditional_on"] == []
        assert parsed(proof["lower_exact"]) <= parsed(proof["upper_exact"]), "both ends of the enclosure are fractions"
    else:
        assert (proof["proven"], bool(proof["conditional_on"]), proof["refuted"]) == (False, True, False)
    again, _ = load(tmp_path / "c.json")
    np.testing.assert_array_equal(again.theta, solution.certificate.theta)
    assert len(again.samples) == 0


@pytest.mark.parametrize(("output", "name"), PAIRS)
@pytest.mark.parametrize("seed", range(5))
def test_kernels_are_the_terms(output, name, seed):
    rng = np.random.default_rng(seed)
    problem = OUTPUTS[output].tiny(rng)
    terms = SMOOTH[name]().terms(problem)
    kernel, theta, nothing = terms.kernel(), rng.normal(size=terms.dim), np.empty(terms.width, np.int64)
    for i in range(terms.n_samples):
        values, gradient = terms.evaluate(theta, np.array([i]), np.ones(1))
        assert kernel.argmax_into(kernel.data, theta, i, nothing) == pytest.approx(values[0], rel=1e-10, abs=1e-12)
        moved = theta.copy()
        kernel.add_slope(kernel.data, i, nothing, 0.5, moved)
        np.testing.assert_allclose(moved, theta + 0.5 * gradient, atol=1e-10)
        assert np.linalg.norm(gradient) <= terms.norms()[i] * (1 + 1e-12)
    outputs = terms.decode(theta, np.arange(terms.n_samples))
    assert outputs.shape == problem.truth.shape


# ── how it ends ───────────────────────────────────────────────────────────────────────────────────


def test_limits_end_with_a_valid_interval(iris):
    best = wb.solve(wb.CRF(), iris, gap=1e-11)
    seen = []
    short = wb.solve(wb.CRF(), iris, max_rounds=3, observe=seen.append)
    assert (short.status, short.rounds) == ("limit", 3)
    assert [record["round"] for record in seen] == [1, 2, 3]
    assert short.lower <= best.upper
    assert best.lower <= short.upper
    assert wb.solve(wb.CRF(), iris, time_limit=1e-9).status == "limit"
    gaps = [record["upper"] - record["lower"] for record in best.history]
    assert gaps == sorted(gaps, reverse=True)
    assert (best.cuts, best.rounds, best.master) == (0, len(gaps), "lbfgs")
    assert best.backend.startswith("SciPy")
    assert 0 < best.oracle_seconds <= best.seconds


def test_beyond_rounding_it_is_stalled(iris):
    solution = wb.solve(wb.CRF(), iris, gap=1e-17)
    assert solution.status == "stalled"
    assert solution.gap < 1e-12


@pytest.mark.parametrize("lam", [1.0, 0.1, 1e-3])
def test_newton_alone_finds_the_optimum(iris, lam, monkeypatch):
    best = wb.solve(wb.CRF(lam=lam), iris)
    monkeypatch.setattr(smooth.Descent, "quasi_newton", lambda self: None)
    newton = wb.solve(wb.CRF(lam=lam), iris)
    assert newton.status == "optimal"
    assert newton.rounds < best.rounds
    assert "newton" in newton.backend
    assert newton.upper == pytest.approx(best.upper, rel=1e-9)


def test_an_idle_descent_hands_over(monkeypatch):
    """Features of very different size: with no patience L-BFGS leaves early, and Newton ends it."""
    monkeypatch.setattr(smooth, "PATIENCE", 2)
    state = descend(
        bounds_for(Ridge(1e-4), regression(np.random.default_rng(1), n=40, p=6, spread=0.5)), Request(gap=1e-9)
    )
    assert state.status == "optimal"
    assert state.masters == ["lbfgs", "newton"]


def test_masters_and_groups_mean_nothing_here(iris):
    for words in ({"groups": "one"}, {"master": "gram"}):
        with pytest.raises(wb.BadInput, match="CRF has no cuts, so groups and master mean nothing"):
            wb.solve(wb.CRF(), iris, **words)
    with pytest.raises(wb.BadInput, match="max_rounds"):
        wb.solve(wb.CRF(), iris, max_rounds=0)


def test_there_is_no_rational_optimum(iris):
    solution = wb.solve(wb.CRF(), iris, polish=True)
    assert solution.certificate.optimum is None
    assert "exp and log, which have no rational values" in solution.certificate.remark


def test_squared_terms_are_not_said_to_hold_exp_and_log():
    X = np.random.default_rng(1).normal(size=(20, 3))
    solution = wb.solve(wb.WeightedRisk(lam=0.1, loss="squared"), wb.Linear(X, X.sum(axis=1)), polish=True)
    assert "exp" not in solution.certificate.remark
    assert "exp" not in bounds_for(solution.formulation, solution.problem).arithmetic


# ── certificates ──────────────────────────────────────────────────────────────────────────────────


def test_a_changed_certificate_is_not_proven(iris, tmp_path):
    certificate = wb.solve(wb.CRF(), iris).certificate
    better = certificate.lower + 1e-6
    lies = {
        "theta": replace(certificate, theta=certificate.theta * 1.001),
        "lower": replace(certificate, lower=better, gap=0.0),
        "upper": replace(certificate, upper=certificate.lower - 1e-6, gap=0.0),
        "lam": replace(certificate, formulation=wb.CRF(lam=0.1001)),
    }
    assert verify(certificate.save(tmp_path / "true"))["proven"]
    for name, lie in lies.items():
        assert not verify(lie.save(tmp_path / name))["proven"], name
    path = certificate.save(tmp_path / "data")
    header = json.loads(path.read_text())
    header["problem"]["data_sha256"] = "0" * 64
    path.write_text(json.dumps(header))
    assert not verify(path)["proven"]


# ── runs ──────────────────────────────────────────────────────────────────────────────────────────


def some_chains(n=12):
    return wb.load_problem("synthetic-chain")(n=n, labels=3, length=4)


@needs_numba
@pytest.mark.parametrize("solver", TAKING, ids=lambda solver: solver.name)
@pytest.mark.parametrize("output", ["chain", "multiclass", "matching"])
def test_compiled_and_interpreted_runs_are_equal_to_the_last_bit(solver, output):
    """Labels, chains, and a list of outputs."""
    problem = some_chains(6) if output == "chain" else OUTPUTS[output].tiny(np.random.default_rng(5))
    fast, slow = (wb.run(solver, wb.CRF(lam=0.3), problem, passes=4, rng=3, compiled=how) for how in (True, False))
    assert (fast.compiled, slow.compiled) == (True, False)
    for name in ("thetas", "upper", "lower", "oracle_calls"):
        np.testing.assert_array_equal(getattr(fast, name), getattr(slow, name))


@pytest.mark.parametrize("solver", TAKING, ids=lambda solver: solver.name)
def test_every_checkpoint_encloses_the_optimum(solver, iris):
    best = wb.solve(wb.CRF(), iris, gap=1e-11)
    trace = wb.run(solver, wb.CRF(), iris, passes=60)
    assert (trace.lower <= best.upper).all()
    assert (trace.upper >= best.lower).all()
    assert (trace.upper - best.lower <= trace.bound).all()
    assert trace.upper[-1] - best.lower < 1e-3 or solver.name not in NEAR


@pytest.mark.parametrize("problem", ["iris", "chains"])
def test_the_stochastic_solver_proves_its_own_optimum(problem, iris):
    data = iris if problem == "iris" else some_chains(30)
    trace = wb.run(wb.SAGA(), wb.CRF(), data, passes=150)
    assert (trace.upper - trace.lower)[-1] <= 1e-6 * trace.upper[-1]
    best = wb.solve(wb.CRF(), data)
    assert wb.crosscheck(trace, best).verdict == "agrees"


def test_weights_and_absent_samples_do_not_mislead_the_stochastic_solver():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.integers(3, size=20)
    data = wb.Multiclass(X, y, weights=rng.choice([0.0, 1.0, 10.0], 20), classes=range(3))
    trace = wb.run(wb.SAGA(), wb.CRF(), data, passes=400)
    assert (trace.upper - trace.lower)[-1] <= 1e-6 * trace.upper[-1]


def test_who_refuses_says_so_in_one_sentence(iris):
    with pytest.raises(wb.MissingCapability, match="bcfw needs cuts"):
        wb.run(wb.BCFW(), wb.CRF(), iris)
    with pytest.raises(wb.MissingCapability, match="crf-stochastic needs smooth terms and SoftMargin has cuts"):
        wb.run(wb.SAGA(), wb.SoftMargin(), iris)


def test_a_run_of_another_lambda_is_not_comparable(iris):
    trace = wb.run(wb.SAGA(), wb.CRF(lam=0.2), iris, passes=20)
    assert wb.crosscheck(trace, wb.solve(wb.CRF(lam=0.1), iris)).verdict == "not comparable"
