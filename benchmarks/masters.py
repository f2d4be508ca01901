"""What a compiled master saves: one loop of cut generation, three ways to hand its rows to a convex solver.

    compiled   the CVXPY program without cuts compiled once, rows appended natively (workbench/lazy.py)
    stacked    a CVXPY problem rebuilt each round, all rows in one constraint
    scalar     a CVXPY problem rebuilt each round, one constraint a row, as tutorials do

Rows, pruning, bounds and stopping come from the same loop (`generate`) and the backend with its
tolerance is the same, so the three differ in nothing but that.
"""
