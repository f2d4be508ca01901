"""The solution of a proven program, by the names of the user's variables."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from click.testing import CliRunner

import workbench as wb
from workbench.command.cli import cli


def lasso():
    """min ½‖w − (3, ½)‖² + ‖w‖₁ has its minimum at the soft threshold (2, 0), and CVXPY adds variables of its own."""
    w = cp.Variable(2, name="w")
    return cp.Problem(cp.Minimize(cp.sum_squares(w - [3, 0.5]) / 2 + cp.norm1(w)))


def test_the_solution_has_the_users_names_alone():
    proof = wb.prove(lasso())
    assert proof.solution == pytest.approx({"w[0]": 2.0, "w[1]": 0.0}, abs=1e-7)
    assert len(proof.x) > 2


def test_without_an_optimum_there_is_no_solution():
    x = cp.Variable(name="x")
    assert wb.prove(cp.Problem(cp.Minimize(x), [x <= 0])).solution is None
    assert wb.prove(cp.Problem(cp.Minimize(x), [x <= 0, x >= 1])).solution is None


def test_the_command_prints_the_first_entries(tmp_path):
    rows = "\n".join(f" L  r{k}" for k in range(12))
    columns = "\n".join(f"    x{k}  cost  -1  r{k}  1" for k in range(12))
    bounds = "\n".join(f"    rhs  r{k}  {k}" for k in range(12))
    path = tmp_path / "p.mps"
    path.write_text(f"NAME p\nROWS\n N  cost\n{rows}\nCOLUMNS\n{columns}\nRHS\n{bounds}\nENDATA\n")
    told = CliRunner().invoke(cli, ["prove", str(path)]).stdout
    assert "at       x0 0, x1 1, x2 2, x3 3, x4 4, x5 5, x6 6, x7 7, and 4 more; --json prints all" in told
    assert "prices   r0: 1, r1: 1, r2: 1, r3: 1, r4: 1, r5: 1, r6: 1, r7: 1, and 4 more; --json prints all" in told


# ── prices ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sense", [cp.Minimize, cp.Maximize])
def test_prices_are_the_dual_values_that_cvxpy_finds(sense, seed):
    """Of a strictly convex program with a single dual optimum, in CVXPY's order and signs."""
    rng = np.random.default_rng(seed)
    x, sign = cp.Variable(4, name="x"), 1 if sense is cp.Minimize else -1
    target, slopes = rng.normal(size=4).round(2), rng.normal(size=(2, 4)).round(2)
    rules = [cp.sum(x) == 1.0, slopes @ x <= np.array([-0.5, 0.25]), x <= 0.75]
    for rule, label in zip(rules, "abc", strict=True):
        rule.set_label(label)
    problem = cp.Problem(sense(sign * (cp.sum_squares(x - target) + target @ x)), rules)
    proof = wb.prove(problem)
    problem.solve(solver=cp.CLARABEL)
    if problem.status != "optimal":
        assert proof.prices is None
        return
    own = [rule.dual_value for rule in rules]
    priced = [[price for name, price in proof.prices.items() if name[0] == label] for label in "abc"]
    for dual, prices in zip(own, priced, strict=True):
        wanted = np.ravel(dual)
        assert np.array(prices) == pytest.approx(wanted[np.abs(wanted) > 1e-5], abs=1e-5)


def test_a_price_tells_what_loosening_brings():
    def program(room):
        x = cp.Variable(2, name="x")
        need = cp.sum(x) >= 1
        need.set_label("need")
        return cp.Problem(cp.Minimize(0.5 * x[0] + 2 * x[1]), [need, x >= 0, x[0] <= room])

    proof = wb.prove(program(0.25))
    assert proof.prices == {"need": 2.0, "x[0] <= 0.25": 1.5}
    assert float(proof.optimum - wb.prove(program(0.5)).optimum) == 0.25 * proof.prices["x[0] <= 0.25"]


def test_rows_of_one_constraint_are_counted_and_those_without_a_price_left_out():
    x = cp.Variable(3, name="x")
    proof = wb.prove(cp.Problem(cp.Minimize(x[0] + 3 * x[2]), [x >= 0, x[1] <= 5]))
    assert proof.prices == {"0.0 <= x [0]": 1.0, "0.0 <= x [2]": 3.0}


def test_without_an_optimum_there_are_no_prices():
    x = cp.Variable(name="x")
    assert wb.prove(cp.Problem(cp.Minimize(x), [x <= 0])).prices is None
    assert wb.prove(cp.Problem(cp.Minimize(x), [x <= 0, x >= 1])).prices is None
