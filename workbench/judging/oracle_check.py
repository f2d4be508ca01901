"""`check`: trials of a problem's features, loss and argmax.

    report = wb.check(problem)
    report.ok          no fault was found
    report.faults      each a word, the sample that shows it, and one sentence

The trials are those of workbench/objectives/trials.py. Every fault is certain: the sentence names a better output, two
answers to the same question, or an argument that was changed. A report without faults proves nothing, since trials do
not see outputs that no function has returned. With `candidates` trials see all outputs, and proofs do not need the
argmax.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.contracts import Enumerable, Problem
from workbench.errors import BadInput, checked_positive
from workbench.objectives.trials import Fault, Trial
from workbench.outputs.structured import Structured


@dataclass(frozen=True)
class OracleReport:
    """What trials found: `faults`, in `tried` answers about `samples` samples; `decided` if outputs are listed."""

    faults: list[Fault]
    tried: int
    samples: int
    n_samples: int
    decided: bool

    @property
    def ok(self) -> bool:
        """Whether no fault was found."""
        return not self.faults

    def __str__(self) -> str:
        if self.faults:
            return "\n".join(f"{each.name}: {each.sentence}" for each in self.faults)
        seen = f"{self.tried} answers about {self.samples} of {self.n_samples} samples"
        return f"No fault in {seen}, held against {'all candidates' if self.decided else 'the outputs known'}."


def check(
    problem: Problem, seconds: float = 5.0, rng: int | np.random.Generator = 0, patience: float = 10.0
) -> OracleReport:
    """Try a problem's functions.

    Parameters
    ----------
    seconds : how long to look; at least one sample is tried
    rng : seed of weights and samples
    patience : seconds after which a function that has not returned hangs

    Raises
    ------
    BadInput : what is given is no problem
    """
    checked_positive(seconds=seconds, patience=patience)
    if not isinstance(problem, Problem):
        raise BadInput(f"The problem is a {type(problem).__name__}; give an output structure with data.")
    trial = Trial(problem, rng, patience)
    faults = trial.faults(seconds)
    listed = problem.listing is not None if isinstance(problem, Structured) else isinstance(problem, Enumerable)
    return OracleReport(faults, trial.tried, trial.samples, problem.n_samples, listed)
