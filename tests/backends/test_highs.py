"""HiGHS in a process whose own models asked for threads first: its scheduler is one for the whole process."""

import subprocess
import sys
import textwrap

import pytest


@pytest.mark.parametrize("threads", [0, 1, 2])
def test_highs_answers_whatever_threads_the_process_began_with(threads):
    code = f"""
        import highspy
        import numpy as np
        from scipy import sparse
        from workbench.backends import ConeProgram
        from workbench.backends.simplex import Simplex
        from workbench.backends.trees import search_tree

        first = highspy.Highs()
        first.setOptionValue("output_flag", False)
        first.setOptionValue("threads", {threads})
        first.addVars(2, np.zeros(2), np.full(2, 9.0))
        first.changeColsIntegrality(2, np.arange(2, dtype=np.int32), np.ones(2, np.uint8))
        first.addRow(3.0, np.inf, 2, np.arange(2, dtype=np.int32), np.array([2.0, 3.0]))
        first.run()

        rows = sparse.csc_array([[-2.0, -3.0], [-1.0, 0.0], [0.0, -1.0]])
        cone = ConeProgram(sparse.csc_array((2, 2)), np.array([1.0, 1.25]), rows, np.array([-4.5, 0.0, 0.0]), 0, 3)
        found = search_tree("HIGHS", cone, np.arange(2), 1e-9)
        assert (found.status, found.x.round(9).tolist()) == ("Optimal", [1.0, 1.0]), found

        status, basis = Simplex(sparse.csr_array(np.eye(1)), 0).solve(np.ones(1), np.ones(1) * 2, np.ones(1) * -3)
        assert status == "Optimal" and basis is not None, status
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
