"""The formulations that the checker knows; importing a file registers its definitions."""

from workbench.proofs.checker.formulations import (
    completed,
    costs,
    fixed_cost,
    hard_margin,
    intercepts,
    nuclear_dyadic,
    self_paced,
    smooth,
    soft_margin,
)

DEFINITIONS = (completed, costs, fixed_cost, hard_margin, intercepts, nuclear_dyadic, self_paced, smooth, soft_margin)
