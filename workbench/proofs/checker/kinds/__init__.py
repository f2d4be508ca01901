"""The kinds of proof that the checker knows; importing a file registers its definition."""

from workbench.proofs.checker.kinds import cuts, program, slopes, tangent, tree

DEFINITIONS = (cuts, program, slopes, tangent, tree)
