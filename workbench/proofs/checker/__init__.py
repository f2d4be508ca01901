"""The trusted checker: what says "proven", small enough to be read in an hour, and free of everything that computes
certificates.

    check(NAME)    the verdict about NAME.json and NAME.npz (docs/certificate-format.md)

It imports the standard library and NumPy, and nothing else of the package; the folder works alone wherever it is put.
The core is `check` (the verdict), `archive` (files), `whole` (exact arithmetic), `balls` (exp and log), `contracts`,
`program`, `faults`. Definitions register by name and version: `outputs` (structures), `formulations` with
`regularizers`, `kinds` (of proof).
"""

from workbench.proofs.checker.check import Verdict, check, judged, normal
from workbench.proofs.checker.contracts import Formulation, Labelled, Proof, Structure
from workbench.proofs.checker.faults import Malformed, Unknown
from workbench.proofs.checker.formulations import (
    completed,
    costs,
    fixed_cost,
    hard_margin,
    nuclear_dyadic,
    self_paced,
    smooth,
    soft_margin,
)
from workbench.proofs.checker.kinds import cuts, program, slopes, tangent
from workbench.proofs.checker.kinds import tree as searched
from workbench.proofs.checker.outputs import chain, flow, graph, linear, matching, motif, multiclass, structured, tree
from workbench.proofs.checker.outputs import dyads as pairs

DEFINITIONS = (
    *(pairs, chain, flow, graph, linear, matching, motif, multiclass, structured, tree),
    *(completed, costs, fixed_cost, hard_margin, nuclear_dyadic, self_paced, smooth, soft_margin),
    *(cuts, program, slopes, tangent, searched),
)

__all__ = [
    "Formulation",
    "Labelled",
    "Malformed",
    "Proof",
    "Structure",
    "Unknown",
    "Verdict",
    "check",
    "judged",
    "normal",
]
