"""A convex program: the most profit of two products within hours and material, proven by `cutbench prove`."""

import cvxpy as cp
import numpy as np

PROFIT = np.array([30.0, 20.0])  # of a unit of each product; replace these numbers by yours
HOURS, MATERIAL = np.array([2.0, 1.0]), np.array([1.0, 3.0])


def program():
    """its-name: maximise PROFIT · x  s.t.  HOURS · x ≤ 8,  MATERIAL · x ≤ 15,  x ≥ 1."""
    x = cp.Variable(2, name="x")
    constraints = {  # the labels are the names in proofs, prices and contradictions
        "hours": HOURS @ x <= 8,
        "material": MATERIAL @ x <= 15,
        "least": x >= 1,
    }
    for label, constraint in constraints.items():
        constraint.set_label(label)
    return cp.Problem(cp.Maximize(PROFIT @ x), list(constraints.values()))
