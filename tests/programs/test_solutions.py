"""The solution of a proven program, by the names of the user's variables."""

from __future__ import annotations

import cvxpy as cp
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
