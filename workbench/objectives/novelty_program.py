"""The programs behind novelty, declared in CVXPY (docs/mathematics.md §6); `novelty` solves them, with a proof.

Nov_i(w) = min over h of   min ½‖δ‖²   s.t.   Aδ ≥ b,      A = A(i, h),  b = Δ − Aw
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from workbench.contracts import Floats, Problem
from workbench.objectives.least_change import chosen_samples, listed_programs


def least_change_program(rows: Floats, needs: Floats) -> tuple[Any, Any]:
    """min ½‖δ‖² s.t. Aδ ≥ b for one hidden state, A (m, d) and b (m,): the cp.Problem and δ."""
    import cvxpy as cp

    delta = cp.Variable(rows.shape[1])
    return cp.Problem(cp.Minimize(cp.sum_squares(delta) / 2), [rows @ delta >= needs]), delta


def novelty_programs(problem: Problem, theta: ArrayLike, sample: int) -> list[tuple[Any, Any]]:
    """The cp.Problem and its variable δ (d,) of each hidden state of one sample; one of a sample without hidden states.

    The novelty of the sample to the weights θ is the least of their optima, ∞ where all are infeasible. Raises
    `MissingCapability` if outputs cannot be listed, `BadInput` for weights of another size and for no such sample.
    """
    (i,) = chosen_samples([sample], problem.n_samples)
    return [least_change_program(rows, needs) for rows, needs in listed_programs(problem, theta)(i)]
