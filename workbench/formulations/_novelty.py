"""The program behind novelty, declared (docs/mathematics.md §6); solved in batches by objectives/least_change.py."""

from __future__ import annotations

from typing import Any

from workbench.contracts import Floats


def least_change_program(rows: Floats, needs: Floats) -> tuple[Any, Any]:
    """min ½‖δ‖² s.t. Aδ ≥ b for one hidden state, A (m, d) and b (m,): the cp.Problem and δ."""
    import cvxpy as cp

    delta = cp.Variable(rows.shape[1])
    return cp.Problem(cp.Minimize(cp.sum_squares(delta) / 2), [rows @ delta >= needs]), delta
