"""The program that a certificate is about: a formulation over the data inside, with θ and weighted cuts, read and
checked.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from workbench.proofs.checker.archive import Fields, Header
from workbench.proofs.checker.contracts import Formulation, Statement, Structure, settled
from workbench.proofs.checker.faults import demand
from workbench.proofs.checker.whole import Array, Whole, exact


class Program(NamedTuple):
    """A formulation over its data, the point θ (p,), and cuts: samples (M,), witnesses (M, width), weights (M,) ≥ 0."""

    formulation: Formulation
    theta: Whole
    samples: Array
    witnesses: Array
    weights: Array
    fields: Fields

    def start(self) -> Whole:
        """The minimiser of r."""
        return self.formulation.regularizer.start(self.formulation.dim)

    def check_outputs(self) -> None:
        """Every witness is an output of its sample."""
        structure = self.formulation.structure
        outputs = structure.is_output(self.samples, self.witnesses)
        if not outputs.all():
            wrong = int((~outputs).argmax())
            shown, sample = str(self.witnesses[wrong].tolist())[:60], self.samples[wrong]
            demand(False, f"cut {wrong} has the witness {shown}, which is no output of sample {sample}")


def structure_of(kind: type[Structure], arrays: dict[str, Array]) -> Structure:
    """The output structure over the certificate's own data."""
    data = {name.removeprefix("data_"): array for name, array in arrays.items() if name.startswith("data_")}
    fields = Fields(data, "data_")
    structure = kind(fields)
    fields.done()
    return structure


def read_program(header: Header, arrays: dict[str, Array], proof: str) -> tuple[Statement, Program]:
    """What the certificate is about; its formulation must be one that this kind of proof is for."""
    said = header["formulation"]
    kind = Formulation.find(said["name"], said["version"])
    output = Structure.find(header["problem"]["output"], header["problem"]["version"])
    given = settled(kind, said["settings"])
    chosen = kind.chosen(given)
    demand(chosen.proof == proof, f"{kind.name} is not proven by {proof} but by {chosen.proof}")
    structure = structure_of(output, arrays)
    formulation = chosen(structure, given)
    fields = Fields({name: array for name, array in arrays.items() if not name.startswith("data_")})
    theta = fields.floats("theta", None)
    demand(
        len(theta) == formulation.dim, f"it has {len(theta)} weights in theta but its problem needs {formulation.dim}"
    )
    weights = fields.floats("weights", None, least=0.0)
    samples = fields.ints("samples", len(weights), within=(0, structure.n - 1))
    witnesses = fields.ints("witnesses", len(weights), structure.width)
    demand(proof == "cuts" or not len(weights), f"it has cuts, which a proof by {proof} does not use")
    structure.read_hints(fields)
    program = Program(formulation, exact(theta), samples, witnesses, weights, fields)
    statement = Statement(
        kind.name, given, formulation.formula, structure.words(), structure.n, formulation.dim, structure.oracle,
        chosen.rounded_claims, chosen.open,
    )  # fmt: skip
    return statement, program


def relative_gap(upper: Fraction | float, lower: Fraction | float, start: Fraction | float) -> Fraction | float:
    """(upper − lower)/max(|upper|, |lower|, 10⁻⁶ |F at the start|); absolute if all three are 0."""
    if float("inf") in (abs(upper), abs(lower)):
        return float("inf")
    size = max(abs(Fraction(upper)), abs(Fraction(lower)), abs(Fraction(start)) / 10**6)
    return (Fraction(upper) - Fraction(lower)) / (size or 1)
