"""Programs whose rows contradict one another, or whose prices vanish, up to rounding only."""

from __future__ import annotations

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

import workbench as wb
from workbench.arithmetic.matrices import pivots_modulo, rank_modulo
from workbench.errors import MissingCapability
from workbench.programs.conditioned import conditioned
from workbench.programs.program import exact, program_of
from workbench.programs.rays import farkas, feasible, relaxed


def noisy(rng: np.random.Generator, rows: int, signal: int, n: int) -> np.ndarray:
    """Rows of a few signals in n columns, apart from them by rounding errors."""
    return rng.integers(-4, 5, (rows, signal)) @ rng.integers(-4, 5, (signal, n)) + 1e-16 * rng.normal(size=(rows, n))


def program(A: np.ndarray, b: np.ndarray):
    return program_of(np.eye(A.shape[1]), np.zeros(A.shape[1]), A, b, 0, len(b))


@pytest.mark.parametrize("seed", range(3))
def test_other_variables_have_the_same_rows(seed):
    """A_J T = A', entry by entry in fractions, and floats can tell the columns of A' apart."""
    A = noisy(np.random.default_rng(seed), 30, 3, 8) / 3
    A[:, 5] = 2 * A[:, 1]  # a dependent column
    e = exact(program(A, np.zeros(30)), "float")
    found = conditioned(e)
    assert found is not None
    assert np.linalg.cond(found.e.A.floats().toarray()) < 1e6 < np.linalg.cond(A)
    columns = found.columns.tolist()
    assert len(columns) == rank_modulo(e.A) == 7
    assert 5 not in columns
    T = [[Fraction(int(each), found.back.unit) for each in row] for row in found.back.whole]
    theirs = {(i, j): Fraction(int(v), found.e.A.unit) for i, j, v in zip(*found.e.A[:3], strict=True)}
    for i in (0, 17):
        for j in range(len(columns)):
            ours = sum(Fraction(float(A[i, column])) * T[k][j] for k, column in enumerate(columns))
            assert ours == theirs.get((i, j), 0)


def test_independent_columns_are_the_first_ones():
    A = np.array([[1.0, 2.0, 0.0, 1.0], [2.0, 4.0, 0.0, 1.0]])
    assert pivots_modulo(exact(program(A, np.zeros(2)), "float").A).tolist() == [0, 3]


@pytest.mark.parametrize("seed", range(4))
def test_duplicated_samples_with_contradictory_labels(seed):
    """Margins of ψ and of nearly −ψ: a ray, or weights that live on rounding errors; never nothing."""
    half = noisy(np.random.default_rng(seed), 40, 3, 6) / 7
    A = np.concatenate([-half, np.nextafter(half, np.inf)])
    problem = program(A, -np.ones(80))
    proof = wb.prove(problem)
    e = exact(problem, "float")
    y, change, x = farkas(e), relaxed(e), feasible(e)
    assert (y is None) != (x is None)
    assert proof.kind == "infeasible" if x is None else proof.lower > 10**19
    if y is not None:
        assert not (e.A.T @ y).whole.any()
        assert (e.b.whole * y.whole).sum() < 0
        assert (y.whole >= 0).all()
        assert change is None or change.size > 0
    else:
        assert ((e.b - e.A @ x).whole >= 0).all()
        assert change is None or change.size == 0


def test_a_contradiction_up_to_rounding_has_a_huge_lower_end():
    """x + εy ≥ 1 and −x + εy ≥ 1 ask for y ≥ 1/ε, ε = 2⁻⁵²: the optimum is ½/ε², near or at which the proof ends."""
    tiny = 2.0**-52
    problem = program(np.array([[-1.0, -tiny], [1.0, -tiny]]), -np.ones(2))
    proof = wb.prove(problem)
    truth = Fraction(1, 2) * 2**104
    assert 10**19 < proof.lower <= truth <= proof.upper


def test_prices_that_must_vanish():
    """log Σ eˣ ≤ 9 binds nothing; of an atom outside of the objective all prices are 0, so that none has room."""
    x, t = cp.Variable(3, name="x"), cp.Variable(name="t")
    truth = np.log(3.0)
    proof = wb.prove(cp.Problem(cp.Minimize(cp.log_sum_exp(x)), [cp.sum(x) == 0, cp.log_sum_exp(x) <= t]))
    assert proof.kind == "bounded"
    assert proof.lower <= truth + 1e-15
    assert proof.upper >= truth - 1e-15
    assert proof.width < 1e-6


def test_ends_on_the_boundary_of_cones():
    """Plain points and prices are found where no cone has room: eˣ > 0, Σ kl(x, y) at x = 0, a ball's one point."""
    x, X = cp.Variable(name="x"), cp.Variable(3, name="X")
    least = wb.prove(cp.Problem(cp.Minimize(cp.exp(x))))
    assert least.lower == 0
    assert least.upper < 1e-9
    at_zero = wb.prove(cp.Problem(cp.Minimize(cp.sum(cp.kl_div(X, np.array([1.0, 2.0, 3.0])))), [cp.sum(X) == 0]))
    assert at_zero.upper == 6
    assert 0 <= 6 - at_zero.lower < 1e-6
    assert wb.infeasible(cp.Problem(cp.Minimize(cp.norm(X)), [cp.norm(X) <= 1, X[0] >= 1])) is None


@pytest.mark.parametrize("cone", [lambda X: cp.norm(X[1:]) <= X[0], lambda X: cp.exp(X[1]) <= X[0]])
def test_unbounded_over_cones(cone):
    X = cp.Variable(3)
    assert wb.prove(cp.Problem(cp.Maximize(X[0]), [cone(X)])).kind == "unbounded"


def test_variables_of_cvxpys_own_that_are_boolean():
    x = cp.Variable()
    with pytest.raises(MissingCapability, match="FiniteSet"):
        wb.prove(cp.Problem(cp.Minimize(x), [cp.FiniteSet(x, [1, 2])]))


@pytest.mark.parametrize(
    ("costs", "constraints"),
    [([1, 1], lambda x: [cp.norm(x - np.array([0, 1])) <= 0]), ([1, 0], lambda x: [cp.norm(x) <= 1, x[0] >= 1])],
    ids=["one point", "a tangent"],
)
def test_ends_that_meet_are_an_optimum_whose_certificate_verifies(costs, constraints, tmp_path):
    """The proof said `bounded` with an optimum, which `verify` refused: nothing was claimed to attain it."""
    x = cp.Variable(2)
    proof = wb.prove(cp.Problem(cp.Minimize(np.array(costs) @ x), constraints(x)))
    assert (proof.kind, proof.optimum) == ("optimal", 1)
    proof.save(tmp_path / "c")
    assert wb.verify(tmp_path / "c")["proven"]
