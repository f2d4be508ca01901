"""Nothing of a backend's talk reaches stdout, from Python or from C."""

from __future__ import annotations

import subprocess
import sys

import pytest

FIRST_MODELS = {
    "a linear program": "workbench.prove(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1]))",
    "whole numbers": "solve_cvxpy(cp.Problem(cp.Minimize(cp.sum(n)), [n >= 0.5]), 'HIGHS')",
    "through CVXPY": "solve_cvxpy(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1]), 'HIGHS')",
    "a file": "read_model(Path('small.lp'))",
}
SCRIPT = """
from pathlib import Path
import cvxpy as cp, workbench
from workbench.backends.model_files import *
from workbench.backends.through_cvxpy import solve_cvxpy
x, n = cp.Variable(2), cp.Variable(2, integer=True)
{}
print('done')
"""


@pytest.mark.parametrize("first", FIRST_MODELS)
def test_the_first_model_of_a_process_prints_nothing(first, tmp_path):
    """HiGHS 1.16 prints a banner when a process makes its first model, whatever its options."""
    (tmp_path / "small.lp").write_text("min\n x\nst\n c: x >= 1\nend\n")
    script = SCRIPT.format(FIRST_MODELS[first])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("done\n", "")
