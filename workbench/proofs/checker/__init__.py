"""The trusted checker: what says "proven". Its core and kinds are small enough to be read in an afternoon, each output
and regularizer is a short file of its own, and nothing here computes certificates.

    check(NAME)    the verdict about NAME.json and NAME.npz (docs/certificate-format.md)

It imports the standard library and NumPy, and nothing else of the package; the folder works alone wherever it is put.
The core is `check` (the verdict), `archive` (files), `whole` (exact arithmetic), `balls` (exp and log), `contracts`,
`program`, `faults`. Definitions register by name and version: `outputs` (structures), `formulations` with
`regularizers`, `kinds` (of proof).
"""

from workbench.proofs.checker.check import Verdict, check, judged, normal
from workbench.proofs.checker.contracts import Formulation, Labelled, Proof, Structure
from workbench.proofs.checker.faults import Malformed, Unknown
from workbench.proofs.checker.formulations import DEFINITIONS as FORMULATIONS
from workbench.proofs.checker.kinds import DEFINITIONS as KINDS
from workbench.proofs.checker.outputs import DEFINITIONS as OUTPUTS

DEFINITIONS = (*OUTPUTS, *FORMULATIONS, *KINDS)

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
